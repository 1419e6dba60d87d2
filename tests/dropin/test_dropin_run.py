"""`halftone run`: what it sets up, what it says at the end, and that the command's output, exit code and signals stay its own. `halftone tune-app` of a
program that calls (a fake) cuBLAS: its sites are what the drop-in serves."""
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from dropin_programs import ROOT, SET, fakes, run # noqa: F401 (a fixture)

S, E = "api=Sgemm_v2", "api=GemmEx"


def halftone_run(*words, cwd=None, **env):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))}
    return subprocess.run([SET / "halftone-sim", "run", *map(str, words)], capture_output=True, text=True, cwd=cwd,
                          env={**keep, "HALFTONE_STRATEGY": "eager", **env}, timeout=120)


def test_it_says_what_was_served_and_what_not_and_why(fakes):
    done = halftone_run("--", fakes.main, S, f"{E} k=90", f"{E} compute=77", f"{E} compute=77", f"{S} math=2")
    assert done.returncode == 0 and [line.split()[2:] for line in done.stdout.splitlines()] == [["1", "0"], ["1", "0"], ["0", "1"], ["0", "1"], ["0", "1"]]
    said = done.stderr.splitlines()
    assert said[0] == "halftone run: 2 products served, 3 by the original, in 1 process"
    assert [line.split(None, 2)[:2] for line in said[1:-1]] == [["served", "1"], ["served", "1"], ["original", "2"], ["original", "1"]]
    assert "cublasGemmEx: TF32 is asked for" in said[3] and "cublasSgemm_v2: pedantic" in said[4]
    gflop, predicted, calls, bound = re.fullmatch(r"  (\S+) GFLOP served; predicted (\S+) ms for (\d+) of the calls; error bounds up to (\d+) x .*", said[-1]).groups()
    assert abs(float(gflop) - 2e-9 * (40 ** 3 + 40 * 40 * 90)) < 1e-6 and float(predicted) > 0 and calls == "2" and 10 < int(bound) < 1000


def said_of(done):
    return [line.split(None, 2) for line in done.stderr.splitlines()[1:]]


def small_call(fakes):
    """(calls and reasons that `halftone run` says of one product that is too small, with and without a log.)"""
    words = f"{S} m=17"
    return [said_of(halftone_run(*more, "--", fakes.main, words, HALFTONE_STRATEGY="performant"))[:1] for more in ([], ["--log", fakes.folder / "small.tsv"])]


def test_a_small_call_is_counted_with_its_reason(fakes):
    plain, logged = small_call(fakes)
    assert plain == logged and plain[0][:2] == ["original", "1"] and plain[0][2].startswith("cublasSgemm_v2: smaller than")


def gflop(done):
    return float(done.stderr.splitlines()[-1].split()[0])


def test_a_triangle_counts_half_of_the_square(fakes):
    """Of C, or, of a triangular system, of A."""
    n, k = 517, 9
    square = halftone_run("--", fakes.driven, f"{S} m={n} n={n} k={k}")
    triangles = [halftone_run("--", fakes.driven, words) for words in (f"api=Ssyrk_v2 n={n} k={k}", f"api=Ssyrkx n={n} k={k}", f"api=Strsm_v2 m={n} n={k}")]
    assert abs(gflop(square) - 2e-9 * n * n * k) < 1e-6 and all(abs(gflop(triangle) - 1e-9 * n * n * k) < 1e-6 for triangle in triangles)
    of_square, *of_triangles = (float(re.search(r"predicted (\S+) ms", done.stderr).group(1)) for done in (square, *triangles[:2]))
    assert all(abs(of_triangle - of_square / 2) < 1e-3 * of_square for of_triangle in of_triangles)


def test_counts_are_of_all_processes_together(fakes):
    command = f"'{fakes.main}' '{S}' & '{fakes.main}' '{S}' '{S} math=2' & wait; '{fakes.main}' 'fork' '{S}'; '{fakes.main}' '{S}' exit=0; exit 5"
    done = halftone_run("sh", "-c", command)
    assert done.returncode == 5 and len(done.stdout.splitlines()) == 5
    assert done.stderr.splitlines()[0] == "halftone run: 4 products served, 1 by the original, in 4 processes"


def test_output_exit_codes_and_signals_are_the_command_s(fakes):
    done = halftone_run("sh", "-c", "echo out; echo err >&2; cat; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n") and done.stderr.splitlines()[0] == "err"
    assert "no product was seen" in done.stderr and "HALFTONE_DLSYM=1" in done.stderr and "with --blas" in done.stderr
    assert "no product was seen" in (said := halftone_run("--blas", "--", "true").stderr) and "--blas" not in said and "its BLAS statically" in said
    for sent in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        assert halftone_run("sh", "-c", f"kill -{int(sent)} $$").returncode == -sent


def test_a_signal_reaches_the_command():
    process = subprocess.Popen([SET / "halftone-sim", "run", "sh", "-c", "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.communicate(timeout=30)[0] == "caught\n" and process.returncode == 9


def test_it_says_what_each_line_of_the_site_table_decided(fakes, tmp_path):
    table = tmp_path / "sites"
    table.write_text("# products\nm=40 k=90 scheme=f16x3   # deep\nop=NT accuracy=bits=60\n\nm=17 original\nm=18 original\n")
    command = f"'{fakes.main}' '{E} k=90' '{S} opb=1' & '{fakes.main}' '{E} k=90' '{S} m=17' '{S}' & wait"
    wanted = ["  site              2  line 2: m=40 k=90 scheme=f16x3   ", "  site              1  line 3: op=NT accuracy=bits=60",
              "  site              1  line 5: m=17 original", f"  1 of the 4 lines of {table} decided no product"]
    for words, env in ((["--sites", "sites"], {}), ([], {"HALFTONE_SITES": str(table)})):
        done = halftone_run(*words, "--", "sh", "-c", f"cd /; {command}", cwd=tmp_path, **env)
        assert done.stderr.splitlines()[0] == "halftone run: 3 products served, 2 by the original, in 2 processes"
        assert done.stderr.splitlines()[-4:] == wanted
    assert "site" not in halftone_run("--", fakes.main, S).stderr
    table.write_text("m=17 original\nm=x original\n")
    wrong = halftone_run("--sites", table, "--", "echo", "ran")
    assert wrong.returncode == 1 and wrong.stdout == "" and wrong.stderr.count("\n") == 1 and f"{table}:2: 'm=x' is wrong" in wrong.stderr
    by_variable = halftone_run("--", fakes.main, S, HALFTONE_SITES=str(table)) # the command runs, and says it once
    assert by_variable.returncode == 0 and by_variable.stderr.count("is wrong, given twice or out of place") == 1


def test_fp64_is_an_option_of_its_own(fakes):
    for words, served in ((["--fp64", "emulated"], 1), (["--fp64", "original"], 0), ([], 0)):
        done = halftone_run(*words, "--", fakes.main, "api=Dgemm_v2")
        assert done.stderr.startswith(f"halftone run: {served} products served, {1 - served} by the original")
    wrong = halftone_run("--fp64", "fp32", "--", "true")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1 and "'fp32'" in wrong.stderr


def test_a_command_that_cannot_be_run_is_one_line(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    for command, code in (("/nowhere/command", 127), ("no-such-command-here", 127), (plain, 126)):
        done = halftone_run("--", command)
        assert done.returncode == code and done.stderr.count("\n") == 1 and str(command) in done.stderr and done.stdout == ""


@pytest.mark.parametrize("words, what", [(["--accuracy", "fp64", "--", "true"], "fp64"), (["--acuracy", "fp32", "true"], "--acuracy"), (["--log"], "--log needs a value"), ([], "no command"),
                                         (["--accuracy", "bits=", "true"], "bits="), (["--accuracy", "bound=x", "true"], "bound=x"),
                                         (["--accuracy=relative=1", "true"], "relative=1"), (["--fp64", "bits=x", "true"], "bits=N, bound=X or relative=X:rho=Y"), (["--accuracy=", "true"], "''"),
                                         (["--logs=x", "true"], "--logs"), (["--blas=x", "true"], "--blas=x")])
def test_wrong_words_are_one_line(words, what):
    done = halftone_run(*words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and what in done.stderr


def test_auto_is_the_default_s_name_and_options_take_an_equals_sign(fakes):
    for words, env in ((["--accuracy", "auto"], {}), (["--accuracy=auto"], {}), ([], {"HALFTONE_ACCURACY": "auto"}), (["--accuracy=half"], {}), (["--fp64=auto"], {})):
        done = halftone_run(*words, "--", fakes.main, "api=Dgemm_v2" if words == ["--fp64=auto"] else S, **env)
        assert done.returncode == 0 and done.stderr.startswith("halftone run: 1 products served, 0 by the original"), done.stderr


def test_accuracy_and_log_reach_the_command(fakes, tmp_path):
    done = halftone_run("--accuracy", "bits=12", "--log", "calls.tsv", "--", "sh", "-c", f"cd / && exec '{fakes.main}' '{S}'", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, row = [line.split("\t") for line in (tmp_path / "calls.tsv").read_text().splitlines()]
    assert dict(zip(head, row))["asked"] == "bits=12"


def test_both_faces_share_counters_and_settings(fakes, tmp_path):
    """A program that multiplies by cuBLAS, and by cblas_sgemm of the face where it is there."""
    done = halftone_run("--blas", "sh", "-c", "echo $LD_PRELOAD")
    assert done.stdout == f"{SET}/libhalftone_cublas.so:{SET}/libhalftone_blas.so\n"
    code = ("import ctypes\n"
            "face, x = ctypes.CDLL(None), (ctypes.c_float * 4)(1, 2, 3, 4)\n"
            "f, y = ctypes.c_float, (ctypes.c_float * 4)()\n"
            "face.cblas_sgemm(102, 111, 111, 2, 2, 2, f(1), x, 2, x, 2, f(0), y, 2)\n"
            "n = (ctypes.c_uint64 * 2)()\n"
            "face.halftone_dropin_counters(ctypes.byref(n, 0), ctypes.byref(n, 8))\n"
            "print(list(y), sum(n))\n")
    done = halftone_run("--blas", "--", "sh", "-c", f"'{sys.executable}' -c '{code}' && '{fakes.main}' '{S}'")
    assert done.stdout.splitlines()[0] == "[7.0, 10.0, 15.0, 22.0] 1" and done.stdout.splitlines()[1].split()[2:] == ["1", "0"], done.stderr
    assert "cblas_sgemm" in done.stderr and "cublasSgemm_v2" in done.stderr and "in 2 processes" in done.stderr


def test_nothing_is_left_behind_and_a_full_folder_is_one_line(fakes, tmp_path):
    assert halftone_run("--", fakes.main, S, TMPDIR=str(tmp_path)).returncode == 0 and list(tmp_path.iterdir()) == []
    done = halftone_run("--", fakes.main, S, TMPDIR=str(tmp_path / "none"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "TMPDIR" in done.stderr


def test_others_that_are_preloaded_stay(fakes, tmp_path):
    (tmp_path / "other.c").write_text("int other_preload(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "other.c", "-o", tmp_path / "other.so"], check=True)
    done = halftone_run("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=str(tmp_path / "other.so"))
    assert done.stdout == f"{SET}/libhalftone_cublas.so:{tmp_path}/other.so\n"


def test_the_readme_s_python_runs_under_the_face(fakes, tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "runtime/dropin/README.md").read_text(), re.S).group(1)
    done = halftone_run("--", sys.executable, "-c", code)
    assert done.stdout == "0 products by halftone, 0 by cuBLAS\n", done.stderr
    assert run(sys.executable, "-c", code).stdout == ""


def test_an_installed_command_finds_the_installed_face_and_library(fakes, tmp_path):
    """The simulator's library and command stand for those that nvcc builds."""
    set_, prefix = tmp_path / "set", tmp_path / "prefix"
    set_.mkdir()
    for name, source in (("libhalftone.so", "libhalftone-sim.so"), ("libhalftone-sim.so", "libhalftone-sim.so"), ("halftone", "halftone-sim"), ("halftone-sim", "halftone-sim"), ("halftone.h", "halftone.h"),
                         ("libhalftone_cublas.so", "libhalftone_cublas.so"), ("libhalftone_blas.so", "libhalftone_blas.so")):
        shutil.copy(SET / source, set_ / name)
    for name in ("libhalftone.a", "libhalftone-sim.a"):
        (set_ / name).touch()
    env = {**os.environ, "SET": str(set_), "PREFIX": str(prefix), "LIBDIR": "lib", "DESTDIR": "", "VERSION": "0.2.0", "SONAME": "libhalftone.so.0", "VENDOR": "NVIDIA",
           "CUDA": "/usr", "CUDA_LIB": "lib"}
    subprocess.run(["sh", "runtime/install.sh", "install"], cwd=ROOT, env=env, check=True, capture_output=True)
    done = run(prefix / "bin/halftone", "run", "--blas", "--", fakes.main, f"{S} m=0", HALFTONE_STRATEGY="eager")
    assert done.stdout.split()[2:] == ["1", "0"] and "1 products served" in done.stderr
    subprocess.run(["sh", "runtime/install.sh", "uninstall"], cwd=ROOT, env=env, check=True, capture_output=True)
    assert not [p for p in prefix.rglob("*") if p.is_file()]


# ---- tune-app

CALLS = ["api=Sgemm_v2 m=96 n=96 k=256", "api=GemmEx m=40 n=24 k=64", "api=Sgemm_v2 m=96 n=96 k=256", "api=Sgemm_v2 math=2"]
PROGRAM = """import os, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True, cwd="/")
print("error", 2.0**-24 * sum(float(line.split()[1]) for line in done.stdout.splitlines()))
exec(open(__file__ + ".way").read())
"""


@pytest.fixture
def tune(fakes, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "program.py.way").write_text("")

    def start(*more, levels="f16x3,i8x6,scheme:half", tau="1"):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))}
        command = [SET / "halftone-sim", "tune-app", "--tau", tau, "--out", "table", "--levels", levels, *more, "--",
                   SET / "halftone-sim", "run", "--", sys.executable, tmp_path / "program.py", fakes.main, *CALLS]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, env={**keep, "HALFTONE_STRATEGY": "eager"}, timeout=120)
    return start


def lines_of(table):
    return [line for line in table.read_text().splitlines() if not line.startswith("#")]


def runs_of(journal):
    return [line.split("\t") for line in journal.read_text().splitlines() if not line.startswith("#")]


def test_calls_that_are_alike_are_a_site(tune, fakes, tmp_path):
    """Equal calls are one site, with the time of both; what is not served is none. The drop-in reads the table again: the program has the
    error that the table says."""
    done = tune(tau="1e-4")
    assert done.returncode == 0, done.stderr
    table = tmp_path / "table"
    assert [re.fullmatch(r"site=\S+\+0x\w+ (.*) \S+", line)[1] for line in lines_of(table)] == [
        "api=cublasSgemm_v2 op=NN m=96 n=96 k=256 batch=1", "api=cublasGemmEx op=NN m=40 n=24 k=64 batch=1"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.py", "program.py.way", "table", "table.runs"]
    runs = runs_of(tmp_path / "table.runs")
    assert float(runs[0][3]) > 1.9 * float(runs[0][4]) > 0 and max(float(run[2]) for run in runs) > 100 * float(runs[0][2])
    words = [SET / "halftone-sim", "run", "--", sys.executable, tmp_path / "program.py", fakes.main, *CALLS]
    again = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60,
                           env={**os.environ, "HALFTONE_SITES": str(table), "HALFTONE_STRATEGY": "eager"})
    assert float(again.stdout.split()[1]) == pytest.approx(float(re.search(r"error (\S+);", table.read_text())[1]), rel=1e-8)


def test_a_program_that_no_drop_in_serves_or_whose_products_change(tune, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("sys.argv[1:]", "sys.argv[1:2] + sys.argv[2 + bool(os.environ.get('HALFTONE_SITES')):]"))
    done = tune("--journal", "j")
    assert done.returncode == 0, done.stderr # one of two equal calls is gone: the site is still there
    program.write_text(PROGRAM.replace("sys.argv[1:]", "sys.argv[1:2] + sys.argv[2 + 2 * bool(os.environ.get('HALFTONE_SITES')):]"))
    done = tune()
    assert done.returncode == 1 and "no longer has site 'site=" in done.stderr and "k=64" in done.stderr
    program.write_text("print('error', 1)")
    done = tune()
    assert done.returncode == 1 and "no drop-in served it" in done.stderr and not (tmp_path / "table.calls").exists()
