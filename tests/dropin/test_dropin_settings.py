"""Every setting of every face: honoured, refused, or said by `halftone run` to be nobody's. The list is DROPIN_VARIABLES of common_lists.h.
And what the faces share: the environment, the site table, the log. Each wrong value is one line on stderr, and nothing is served."""
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from dropin_programs import HERE, SET, Fakes, cc, run, sources
from test_dropin_blas import Programs, counts

LISTS, README = (ROOT / "runtime/dropin/common_lists.h").read_text(), (ROOT / "runtime/dropin/README.md").read_text()
OF = {"DROPIN_OF_CUBLAS": {"cublas"}, "DROPIN_OF_BLAS": {"blas"}, "DROPIN_OF_HIP": {"hip"}, "DROPIN_OF_ALL": {"cublas", "blas", "hip"}}
VARIABLES = {name: set().union(*(OF[word] for word in faces.split(" | "))) for name, faces in re.findall(r"X\((HALFTONE\w*), ([\w |]+)\)", LISTS)}
S, D = "api=Sgemm_v2", "api=Dgemm_v2"

# What shows that a face reads a variable: (its value, words of the program, products served without it, with it).
CUBLAS = {"HALFTONE": ("off", S, 1, 0), "HALFTONE_ACCURACY": ("bits=40", S, 1, 0), "HALFTONE_FP64": ("fp64", D, 0, 1), "HALFTONE_STRATEGY": ("performant", S, 1, 0),
          "HALFTONE_MIN": ("1000", S, 1, 0), "HALFTONE_SITES": ("original\n", S, 1, 0), "HALFTONE_TF32": ("upgrade", S + " math=3", 0, 1),
          "HALFTONE_WORKSPACE_MAX": ("1", S + " m=300 n=300 k=300", 1, 0), "HALFTONE_LIBRARY": ("/nowhere/x.so", S, 1, 0)}
BLAS = {"HALFTONE": ("off", "sgemm_", 18, 0), "HALFTONE_ACCURACY": ("bits=40", "sgemm_", 18, 0), "HALFTONE_FP64": ("original", "dgemm_", 18, 0),
        "HALFTONE_STRATEGY": ("performant", "sgemm_", 18, 0), "HALFTONE_MIN": ("1000", "sgemm_", 18, 0), "HALFTONE_SITES": ("original\n", "sgemm_", 18, 0),
        "HALFTONE_WORKSPACE_MAX": ("1", "sgemm_", 18, None), "HALFTONE_LIBRARY": ("/nowhere/x.so", "sgemm_", 18, 0)}
# By tests of their own: a file that is written, or of the BLAS face what test_dropin_blas.py does with each.
ELSEWHERE = {"HALFTONE_LOG", "HALFTONE_COUNTS", "HALFTONE_DLSYM", *(name for name in VARIABLES if name.startswith("HALFTONE_BLAS_"))}

# Under the BLAS face: DGEMM and DSYRK of 600 elements, prints how many of either are not their sum's nearest double.
PRODUCTS = """import ctypes
import fractions
import random

M, N, K = 30, 20, 40
face, double = ctypes.CDLL(None), ctypes.c_double
r = random.Random(7)
a, b = ([r.uniform(-1, 1) * 2 ** r.randrange(-8, 9) for _ in range(M * K)] for _ in range(2))
x, y, c = (double * len(a))(*a), (double * len(b))(*b), (double * (M * M))()


def wrong(columns, of_b, is_there):
    sums = ((i, j, sum(fractions.Fraction(a[i + M * p]) * fractions.Fraction(of_b(p, j)) for p in range(K))) for j in range(columns) for i in range(M))
    return sum(float(exact) != c[i + M * j] for i, j, exact in sums if is_there(i, j))


face.cblas_dgemm(102, 111, 111, M, N, K, double(1), x, M, y, K, double(0), c, M)
gemm = wrong(N, lambda p, j: b[p + K * j], lambda i, j: True)
face.cblas_dsyrk(102, 122, 111, M, K, double(1), x, M, double(0), c, M)
print(gemm, wrong(M, lambda p, j: a[j + M * p], lambda i, j: i >= j))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    (folder / "cublas").mkdir(), (folder / "blas").mkdir()
    return Fakes(folder / "cublas"), Programs(folder / "blas", SET / "libhalftone_blas.so")


def test_the_list_is_what_the_faces_read():
    """And what the manual has."""
    read = {name for path in (ROOT / "runtime/dropin").glob("*.c") if path.name != "run.c" for name in re.findall(r'"(HALFTONE\w*)"', path.read_text())}
    tables = {name for line in README.splitlines() if line.startswith("| `HALFTONE") for name in re.findall(r"`(HALFTONE\w*)`", line.split("|")[1])}
    assert set(VARIABLES) == read == tables
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    for face, table in (("cublas", CUBLAS), ("blas", BLAS)):
        assert {name for name, faces in VARIABLES.items() if face in faces} <= set(table) | ELSEWHERE, face
    assert all(name in tests or f'"{name.removeprefix("HALFTONE_BLAS_")}"' in tests for name in ELSEWHERE)


def value(name, text, folder):
    if name != "HALFTONE_SITES":
        return text
    (folder / "sites").write_text(text)
    return str(folder / "sites")


@pytest.mark.parametrize("name", CUBLAS)
def test_the_cublas_face_reads_each(programs, tmp_path, name):
    text, words, before, after = CUBLAS[name]
    env = {} if name != "HALFTONE_MIN" else {"HALFTONE_STRATEGY": ""}
    for served, more in ((before, {} if name != "HALFTONE_MIN" else {name: "0"}), (after, {name: value(name, text, tmp_path)})):
        done = run(programs[0].main, words, face=SET / "libhalftone_cublas.so", **{**env, **more})
        assert done.stdout.split()[2] == str(served), (name, more, done.stdout, done.stderr)


@pytest.mark.parametrize("name", BLAS)
def test_the_blas_face_reads_each(programs, tmp_path, name):
    text, words, before, after = BLAS[name]
    env = {} if name != "HALFTONE_MIN" else {"HALFTONE_STRATEGY": ""}
    for served, more in ((before, {} if name != "HALFTONE_MIN" else {name: "0"}), (after, {name: value(name, text, tmp_path)})):
        got = counts(run(programs[1].main, words, face=SET / "libhalftone_blas.so", **{**env, **more}))
        assert got[:2] == [18, 0] and (got[2] == served if served is not None else got[2] < 18), (name, more, got)


def said(*words, **env):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))}
    done = subprocess.run([SET / "halftone-sim", "run", *map(str, words)], capture_output=True, text=True, env={**keep, "HALFTONE_STRATEGY": "eager", **env}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("name", VARIABLES)
def test_run_says_what_no_face_of_the_command_reads(name):
    for words, faces in (([], {"cublas"}), (["--blas"], {"cublas", "blas"})):
        told = [line for line in said(*words, "--", "true", **{name: "1"})[1] if line.startswith(f"  {name}:")]
        assert len(told) == (not faces & VARIABLES[name]), (words, told)


def test_run_says_that_a_name_is_no_variable_s():
    assert "  HALFTONE_ACURACY: no variable of a face is called that" in said("--", "true", HALFTONE_ACURACY="half")[1]
    assert not [line for line in said("--", "true", HALFTONE_SIM_THREADS="2", HALFTONE_FP64="")[1] if line.startswith("  HALFTONE")]


@pytest.mark.whole # of sets with crt20
@pytest.mark.parametrize("strategy, asked, gemm, syrk", [
    ("eager", "fp64-exact", 0, 0), ("eager", "fp64", None, None), ("eager", "emulated", None, None), ("eager", "bits=40", None, None),
    ("performant", "fp64-exact", 0, 0)])
def test_fp64_of_the_host_has_the_accuracy_that_is_asked_for(strategy, asked, gemm, syrk):
    """Against exact sums; what is not `fp64-exact` misses the nearest double here and there. What no other BLAS keeps is served also where that
    does not pay."""
    out, lines = said("--blas", "--fp64", asked, "--", sys.executable, "-c", PRODUCTS, HALFTONE_STRATEGY=strategy)
    got = [int(word) for word in out.split()]
    assert lines[0] == "halftone run: 2 products served, 0 by the original, in 1 process" and all(x == y if y is not None else x > 0 for x, y in zip(got, (gemm, syrk))), got


def test_the_summary_tells_bounds_of_fp64_in_its_own_unit(programs):
    def bounds(*words, **env):
        return said(*words, "--", "sh", "-c", f"'{programs[0].main}' '{S}'; '{programs[0].main}' '{D} k=90'", **env)[1][-1].split("error bounds")[1]
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\|", bounds())
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\| for FP32, up to \d+ x 2\^-53 \|A\|\|B\| for FP64", bounds("--fp64", "fp64"))
    assert re.fullmatch(r" up to 94 x 2\^-53 \|A\|\|B\|", said("--sites", "/dev/null", "--", programs[0].main, f"{D} k=90", HALFTONE_FP64="fp64")[1][-1].split("error bounds")[1])
    assert re.fullmatch(r" up to 44 x 2\^-53 \|A\|\|B\|", said("--blas", "--", sys.executable, "-c", PRODUCTS)[1][-1].split("error bounds")[1])


def test_the_summary_tells_bounds_of_fixed_point_apart(programs):
    """They are not of |A||B|."""
    apart = " in fixed point, relative to the largest elements of rows and columns"
    def bounds(*words):
        return said(*words, "--", "sh", "-c", f"'{programs[0].main}' '{S}'; '{programs[0].main}' '{D} k=90'")[1][-1].split("error bounds")[1]
    assert bounds("--accuracy", "reproducible") == f" of 1{apart}"
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\|; of 1" + apart, bounds("--fp64", "reproducible"))
    assert bounds("--accuracy", "invariant", "--fp64", "invariant") == f" of 2{apart}"


def test_a_command_that_ends_in_its_first_product_is_told_so(programs, tmp_path):
    slow = tmp_path / "slow.so"
    cc("-shared", "-DSLOW_LIBRARY", HERE / "linker.c", "-o", slow, "-Wl,--no-as-needed", SET / "libhalftone-sim.so", f"-Wl,-rpath,{SET}", "-ldl")
    for where in ("load", "create"):
        held = tmp_path / where
        lines = said("--", "sh", "-c", f"'{programs[0].main}' '{S}' & while [ ! -e '{held}' ]; do sleep 0.01; done; kill -9 $!; true",
                     HALFTONE_LIBRARY=str(slow), SIMULATOR=str(SET / "libhalftone-sim.so"), HOLD=where, HOLD_FILE=str(held))[1]
        assert lines[-1].startswith("halftone run: no product was finished"), lines


# ---- the common part of the faces, by itself

@pytest.fixture(scope="module", params=["gcc", "clang"])
def probe(request, tmp_path_factory):
    program = tmp_path_factory.mktemp(request.param) / "probe"
    cc("-fvisibility=hidden", *sources(()), HERE / "common_probe.c", "-o", program, compiler=request.param)

    def run(*words, **env):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "PROBE"))}
        done = subprocess.run([str(program), *words], capture_output=True, text=True, env={**keep, **env})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr
    return run


def test_without_variables_a_call_is_for_halftone_with_accuracy_fp32(probe):
    assert probe("64", "64", "64", "NN") == (["served|fp32|0"], "")


@pytest.mark.parametrize("name, good, bad", [
    ("HALFTONE", "record", "maybe"), ("HALFTONE_STRATEGY", "eager", "fast"), ("HALFTONE_TF32", "upgrade", "1"),
    ("HALFTONE_DLSYM", "1", "yes"), ("HALFTONE_MIN", "12", "-1"), ("HALFTONE_MIN", "0", "12k"), ("HALFTONE_WORKSPACE_MAX", "256M", "256MB"),
    ("HALFTONE_WORKSPACE_MAX", "1024", "1e9"), ("HALFTONE_ACCURACY", "bits=14", "fp64"), ("HALFTONE_ACCURACY", "auto", "bound=x"),
    ("HALFTONE_ACCURACY", "bound=1.5e-6", "relative=1"), ("HALFTONE_ACCURACY", "relative=1e-3:rho=20", "relative=1e-3:rho=0.5"), ("HALFTONE_ACCURACY", "bits=3", "bound=1e"),
    ("HALFTONE_ACCURACY", "bound=.5", "bound=2"), ("HALFTONE_FP64", "auto", "bits=x"), ("HALFTONE_FP64", "bound=1e-9", "bits=0"), ("HALFTONE_ACCURACY", "reproducible:3", "reproducible:4"),
    ("HALFTONE_FP64", "original", "fp32"), ("HALFTONE_FP64", "emulated", "crt15"), ("HALFTONE_FP64", "bits=40", "bits="),
    ("HALFTONE_LOG", "/dev/null", "x" * 2000)], ids=lambda v: v[:24])
def test_a_value_that_a_variable_cannot_have_is_one_line_and_nothing_is_served(probe, name, good, bad):
    lines, said = probe("64", "64", "64", "NN", **{name: good})
    assert lines[0].startswith("served|") and said == ""
    lines, said = probe("64", "64", "64", "NN", "NN", **{name: bad})
    assert [line.startswith("HALFTONE=off, or") for line in lines] == [True, True]
    assert said.startswith(f"halftone: {name}={bad[:200]} is not ") and said.endswith("nothing is served in this process\n") and said.count("\n") == 1


def test_off_says_nothing(probe):
    lines, said = probe("64", "64", "64", "NN", HALFTONE="off")
    assert lines[0].startswith("HALFTONE=off") and said == ""


def test_small_products_are_left_to_the_original_where_that_is_asked_for(probe):
    for least, served in (("64", True), ("65", False)):
        assert probe("64", "64", "64", "NN", HALFTONE_MIN=least)[0][0].startswith("served") == served
    assert probe("64", "64", "64", "NN", HALFTONE_MIN="65", HALFTONE_STRATEGY="eager")[0][0].startswith("served")


def test_accuracy_of_a_thread_goes_before_the_environment_s(probe):
    assert probe("8", "8", "8", "NN", HALFTONE_ACCURACY="half", PROBE_ACCURACY="tf32")[0] == ["accuracy 0", "served|tf32|0"]
    assert probe("8", "8", "8", "NN", HALFTONE_ACCURACY="half", PROBE_ACCURACY="fp61")[0] == ["accuracy -1", "served|half|0"]


def test_the_first_line_of_the_site_table_that_holds_counts(probe, tmp_path):
    table = tmp_path / "sites"
    table.write_text("# layers\n\nsite=program+0x* op=NT m=64 n=1-63 original   # narrow\nop=NT accuracy=fp32-fast\n"
                     "api=cublasSgemm_v2* k=100- scheme=i8x6\nsite=libtorch* original\nordinal=2-3 accuracy=half\n")
    sites = {"HALFTONE_SITES": str(table)}
    original = "the site table says original|fp32|1"
    assert probe("64", "63", "64", "NT", **sites) == ([original], "")
    assert probe("64", "64", "64", "NT", **sites)[0] == ["served|fp32-fast|1"]
    assert probe("64", "64", "100", "NN", **sites)[0] == ["served|i8x6|1"]
    runs = ["NN", "TT", "NN", "NN", "NN", "step", "NN", "NN"]
    assert [line.split("|")[1:] for line in probe("64", "64", "99", *runs, **sites)[0]] == [
        ["fp32", "1"], ["fp32", "1"], ["half", "2"], ["half", "3"], ["fp32", "4"], ["fp32", "1"], ["half", "2"]]


def test_lines_are_of_the_type_that_has_what_they_ask_for(probe, tmp_path):
    table = tmp_path / "sites"
    table.write_text("m=1 scheme=f16x3\nm=1 scheme=crt15\nm=2 scheme=auto\nm=3 accuracy=bits=12\nm=4 accuracy=half\nm=5 scheme=ozaki-sp:d=4\nm=5 scheme=ozaki-cr\n")
    for env, said in (({}, ["f16x3", "auto", "bits=12", "half", "ozaki-sp:d=4"]),
                      ({"PROBE_FP64": "1", "HALFTONE_FP64": "fp64"}, ["crt15", "auto", "bits=12", "fp64", "ozaki-cr"])):
        assert [probe(m, "64", "64", "NN", HALFTONE_SITES=str(table), **env)[0] for m in "12345"] == [[f"served|{text}|0"] for text in said]


@pytest.mark.parametrize("line, word", [("m=64", "m=64"), ("m=64 accuracy=fp61", "accuracy"), ("accuracy=bits=x", "bits=x"), ("accuracy=fp64:bound=2", "bound=2"), ("m=-- original", "m"), ("m=9-2 original", "m"), ("mm=1 original", "mm"),
                                        ("original m=1", "m=1"), ("op=NX original", "op"), ("accuracy= ", "accuracy"), ("originally", "originally"), ("k=1x original", "k")])
def test_a_malformed_site_table_is_one_line_with_its_place(probe, tmp_path, line, word):
    table = tmp_path / "sites"
    table.write_text("op=NT original\n" + line + "\n")
    lines, said = probe("64", "64", "64", "NN", HALFTONE_SITES=str(table))
    assert lines[0].startswith("HALFTONE=off, or") and said.count("\n") == 1
    assert f"{table}:2: '{word}" in said and "site= api=" in said


def test_a_site_table_that_is_not_there_is_one_line(probe):
    lines, said = probe("64", "64", "64", "NN", HALFTONE_SITES="/nowhere/sites")
    assert lines[0].startswith("HALFTONE=off, or") and said == "halftone: HALFTONE_SITES: /nowhere/sites: cannot be read: No such file or directory; nothing is served in this process\n"


def test_the_log_has_calls_that_are_alike_once_and_all_of_them_in_record(probe, tmp_path):
    for mode, calls in (("on", 2), ("record", 4)):
        log = tmp_path / mode
        probe("8", "16", "32", "NN", "NN", "NT", "NN", HALFTONE=mode, HALFTONE_LOG=str(log))
        head, *rows = [line.split("\t") for line in log.read_text().splitlines()]
        assert len(rows) == calls and all(len(row) == len(head) for row in rows)
        first = dict(zip(head, rows[0]))
        assert (first["api"], first["op"], first["m"], first["n"], first["k"], first["batch"]) == ("cublasSgemm_v2", "NN", "8", "16", "32", "1")
        assert first["site"].startswith("program+0x") and first["asked"] == "fp32"


def test_a_log_that_cannot_be_written_is_one_line_and_calls_go_on(probe):
    lines, said = probe("8", "8", "8", "NN", HALFTONE_LOG="/nowhere/log")
    assert lines[0].startswith("served") and said.count("\n") == 1 and "/nowhere/log" in said
