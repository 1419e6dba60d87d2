"""Every setting of every face: honoured, refused, or said by `halftone run` to be nobody's. The list is DROPIN_VARIABLES of common_lists.h."""
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from dropin_programs import HERE, SET, Fakes, cc, run
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
    out, lines = said("--blas", "--fp64", asked, "--", sys.executable, HERE / "exact_products.py", HALFTONE_STRATEGY=strategy)
    got = [int(word) for word in out.split()]
    assert lines[0] == "halftone run: 2 products served, 0 by the original, in 1 process" and all(x == y if y is not None else x > 0 for x, y in zip(got, (gemm, syrk))), got


def test_the_summary_tells_bounds_of_fp64_in_its_own_unit(programs):
    def bounds(*words, **env):
        return said(*words, "--", "sh", "-c", f"'{programs[0].main}' '{S}'; '{programs[0].main}' '{D} k=90'", **env)[1][-1].split("error bounds")[1]
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\|", bounds())
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\| for FP32, up to \d+ x 2\^-53 \|A\|\|B\| for FP64", bounds("--fp64", "fp64"))
    assert re.fullmatch(r" up to 94 x 2\^-53 \|A\|\|B\|", said("--sites", "/dev/null", "--", programs[0].main, f"{D} k=90", HALFTONE_FP64="fp64")[1][-1].split("error bounds")[1])
    assert re.fullmatch(r" up to 44 x 2\^-53 \|A\|\|B\|", said("--blas", "--", sys.executable, HERE / "exact_products.py")[1][-1].split("error bounds")[1])


def test_the_summary_tells_bounds_of_fixed_point_apart(programs):
    """They are not of |A||B|."""
    apart = " in fixed point, relative to the largest elements of rows and columns"
    def bounds(*words):
        return said(*words, "--", "sh", "-c", f"'{programs[0].main}' '{S}'; '{programs[0].main}' '{D} k=90'")[1][-1].split("error bounds")[1]
    assert bounds("--accuracy", "reproducible") == f" of 1{apart}"
    assert re.fullmatch(r" up to \d\d x 2\^-24 \|A\|\|B\|; of 1" + apart, bounds("--fp64", "reproducible"))
    assert bounds("--accuracy", "reproducible", "--fp64", "reproducible") == f" of 2{apart}"


def test_a_command_that_ends_in_its_first_product_is_told_so(programs, tmp_path):
    slow = tmp_path / "slow.so"
    cc("-shared", HERE / "slow_library.c", "-o", slow, "-Wl,--no-as-needed", SET / "libhalftone-sim.so", f"-Wl,-rpath,{SET}", "-ldl")
    for where in ("load", "create"):
        held = tmp_path / where
        lines = said("--", "sh", "-c", f"'{programs[0].main}' '{S}' & while [ ! -e '{held}' ]; do sleep 0.01; done; kill -9 $!; true",
                     HALFTONE_LIBRARY=str(slow), SIMULATOR=str(SET / "libhalftone-sim.so"), HOLD=where, HOLD_FILE=str(held))[1]
        assert lines[-1].startswith("halftone run: no product was finished"), lines
