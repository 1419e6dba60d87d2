"""The BLAS face before a BLAS of ours, Debian's libblas-test and NumPy, with the simulator behind it: which calls are served, and that
all results, errors and the program's own output are as without it."""
import collections
import os
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT, numpy_python, rows
from dropin_programs import HERE, SET, cc, run

BLAT = pathlib.Path("/usr/lib/x86_64-linux-gnu/blas")
SERVED_NAMES, ALL_NAMES, CALLS = 20, 40, 18
LACKS, ARGUMENTS, SMALL, NESTED = "no scheme of libhalftone.so", "arguments that only the original judges", "smaller than HALFTONE_MIN", "called by the library"
needs_blat = pytest.mark.skipif(not (BLAT / "xblat3s").is_file(), reason="Debian's libblas-test is not installed (sh tests/setup.sh)")


@pytest.fixture(scope="module")
def face():
    for name in ("libhalftone_blas.so", "libhalftone-sim.so"):
        assert (SET / name).is_file(), f"no {name}: make GPU=t4 test-set"
    return SET / "libhalftone_blas.so"


def has_fp64():
    """Sets of few SCHEMES are without native64."""
    return "native64" in (SET / "manifest").read_text()


class Programs:
    """`main` is linked to fake.so, `client` (loaded by `loader`) too, `alone` only to the face."""

    def __init__(self, folder, face):
        self.fake, self.client, self.main, self.loader, self.alone, self.failing = (
            folder / name for name in ("libfake.so", "client.so", "main", "loader", "alone", "failing.so"))
        cc("-shared", "-O2", HERE / "fake_blas.c", "-o", self.fake)
        cc("-shared", "-O2", HERE / "blas_client.c", self.fake, f"-Wl,-rpath,{folder}", "-o", self.client, "-lpthread", "-lm")
        cc("-O2", "-DMAIN", HERE / "blas_client.c", self.fake, f"-Wl,-rpath,{folder}", "-o", self.main, "-ldl", "-lpthread", "-lm")
        cc("-DCALLS=\"client\"", HERE / "linker.c", "-o", self.loader, "-ldl")
        cc("-O2", "-DMAIN", HERE / "blas_client.c", face, f"-Wl,-rpath,{face.parent}", "-o", self.alone, "-ldl", "-lpthread", "-lm")
        cc("-shared", HERE / "blas_failing.c", "-o", self.failing, "-ldl")


@pytest.fixture(scope="module")
def programs(tmp_path_factory, face):
    return Programs(tmp_path_factory.mktemp("blas"), face)


def counts(done):
    """Calls, wrong results, served, original."""
    return [int(word) for word in done.stdout.splitlines()[-1].split()[-4:]]


def reasons(log):
    """(name, why) -> calls, of a log with HALFTONE=record."""
    return collections.Counter((row["api"], "served" if row["served"] == "1" else re.split(": |; ", row["why"])[0]) for row in rows(pathlib.Path(log)))


def test_the_face_needs_libc_alone_and_has_the_table_s_names(face):
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", str(face)], capture_output=True, text=True).stdout)
    assert needed == ["libc.so.6"] and face.stat().st_size < 100_000
    exported = subprocess.run(["nm", "-D", "--defined-only", "-P", str(face)], capture_output=True, text=True).stdout
    names = {line.split()[0] for line in exported.splitlines()}
    own = {name for name in names if name.startswith("halftone_dropin_")}
    prefixes = [(f, "") for f in ("{}_", "{}", "{}_64_", "scipy_{}_", "scipy_{}_64_", "cblas_{}", "cblas_{}64_", "cblas_{}_64", "scipy_cblas_{}", "scipy_cblas_{}64_")]
    assert names - own == {f.format(t + r) for f, _ in prefixes for t in "sd" for r in ("gemm", "syrk")}


def test_every_name_is_served_and_exact(face, programs, tmp_path):
    assert counts(run(programs.main)) == [ALL_NAMES * CALLS, 0, -1, -1]
    log = tmp_path / "log"
    done = run(programs.main, face=face, HALFTONE="record", HALFTONE_LOG=str(log))
    served = ALL_NAMES if has_fp64() else SERVED_NAMES
    assert done.stderr == "" and counts(done)[:2] == [ALL_NAMES * CALLS, 0] and counts(done)[2] >= SERVED_NAMES * CALLS
    assert not has_fp64() or counts(done)[2:] == [ALL_NAMES * CALLS, 0]
    by = {(row["asked"], row["scheme"]) for row in rows(log) if re.search("d(gemm|syrk)", row["api"]) and row["served"] == "1"}
    assert by == ({("fp64", "native64")} if has_fp64() else set())  # residues are not for tiles
    found = reasons(log)
    assert {name for name, _ in found} == {name for name, why in found if why == "served"} and sum(found.values()) == ALL_NAMES * CALLS
    for (name, why), calls in found.items():
        single = re.search(r"(?:^|_)s(?:gemm|syrk)", name)
        assert (why, calls) == ("served", CALLS) if single or has_fp64() else why == "served" or why.startswith(LACKS), (name, why, calls)


def test_tiles_give_the_same_and_a_wrong_size_of_them_serves_nothing(face, programs):
    assert counts(run(programs.main, "sgemm_", face=face, HALFTONE_BLAS_TILE="64"))[1:3] == [0, CALLS]
    assert counts(run(programs.main, "ssyrk_", face=face, HALFTONE_BLAS_TILE="64", HALFTONE_WORKSPACE_MAX="300K"))[1:3] == [0, CALLS]
    assert counts(run(programs.main, "ssyrk_", face=face, HALFTONE_BLAS_TILE="64", HALFTONE_BLAS_THREADS="3"))[1:3] == [0, CALLS]
    for name, bad, least, most in (("TILE", "63", 64, 1048576), ("TILE", "x", 64, 1048576), ("TILE", "64k", 64, 1048576), ("TILE", "99999999999", 64, 1048576),
                                   ("THREADS", "0", 1, 64), ("THREADS", "65", 1, 64), ("CPU_GFLOPS", "1.5", 1, 1000000), ("COPY_GBPS", "0", 1, 10000),
                                   ("START_MS", "-1", 0, 100000)):
        done = run(programs.main, "sgemm_", face=face, **{f"HALFTONE_BLAS_{name}": bad})
        assert counts(done) == [CALLS, 0, 0, CALLS]
        assert done.stderr == f"halftone: HALFTONE_BLAS_{name}={bad} is not an integer from {least} to {most}; nothing is served in this process\n"


def test_a_plugin_reaches_its_own_blas(face, programs):
    done = run(programs.loader, programs.client, "dgemm_", face=face, HALFTONE_STRATEGY="performant")
    assert counts(done)[:3] == [CALLS, 0, 0] and done.stderr == ""
    assert counts(run(programs.loader, programs.client, "scipy_cblas_sgemm64_", face=face)) == [CALLS, 0, CALLS, 0]


@pytest.mark.parametrize("size, env, served", [
    ((63, 63, 63), {"HALFTONE_MIN": "64"}, 0), ((64, 64, 64), {"HALFTONE_MIN": "64"}, 1), ((1, 1, 1), {"HALFTONE_MIN": "0"}, 1),
    ((3, 3, 3), {"HALFTONE_STRATEGY": "eager"}, 1),
    # 0.2 ms, and 300 KB at 1 GB/s, against 2 m n k = 7.5 million at 1 and at 100 GFLOPS; t4's kernels take 10 us
    ((160, 150, 155), {"HALFTONE_BLAS_CPU_GFLOPS": "1", "HALFTONE_BLAS_COPY_GBPS": "1"}, 1), ((160, 150, 155), {"HALFTONE_BLAS_CPU_GFLOPS": "100"}, 0),
    ((160, 150, 155), {"HALFTONE_BLAS_CPU_GFLOPS": "20", "HALFTONE_BLAS_COPY_GBPS": "1"}, 0),
    # by the number of CPUs: 64 GFLOPS each
    ((500, 500, 500), {"OMP_NUM_THREADS": "1"}, 1), ((9000, 3, 9000), {"OMP_NUM_THREADS": "1"}, 0),
    # a process of this one product: it saves 3.5 ms, and the device's start would take 300
    ((500, 500, 500), {"OMP_NUM_THREADS": "1", "HALFTONE_BLAS_START_MS": ""}, 0), ((500, 500, 500), {"OMP_NUM_THREADS": "1", "HALFTONE_BLAS_START_MS": "2"}, 1),
    ((500, 500, 500), {"OMP_NUM_THREADS": "1", "HALFTONE_BLAS_START_MS": "4"}, 0)])
def test_small_products_stay_on_the_cpu(face, programs, size, env, served):
    done = run(programs.main, "size", *size, face=face, **{"HALFTONE_STRATEGY": "performant", "HALFTONE_BLAS_START_MS": "0", **env})
    assert counts(done) == [1, 0, served, 1 - served] and done.stderr == ""


def test_the_device_is_started_when_that_is_won_back(face, programs, tmp_path):
    """Products that would save 0.1 and 1.4 ms, by turns, at 1 GFLOPS: the fourth is served, and what follows."""
    log = tmp_path / "log"
    run(programs.main, "sgemm_", face=face, HALFTONE="record", HALFTONE_LOG=str(log), HALFTONE_STRATEGY="performant", HALFTONE_BLAS_CPU_GFLOPS="1",
        HALFTONE_BLAS_COPY_GBPS="10", HALFTONE_BLAS_START_MS="2")
    whys = [row["why"] if row["served"] == "0" else "served" for row in rows(log)]
    large = [why for why in whys if why != "the CPU is predicted to be faster"]
    first = large.index("served")
    assert first == 3 and set(large[:first]) == {"starting the GPU takes longer than it would have saved so far"} and set(large[first:]) == {"served"} and len(large) == 6, whys


def test_fp64_is_served_where_the_gpu_is_predicted_to_be_faster(face, programs, tmp_path):
    """Of 500 cubed a t4's FP64 takes 2 ms by the model, beside 1 ms of copies; a CPU of so many GFLOPS in FP32 has half of them in FP64: 200 make 2.5 ms."""
    for gflops, served, why in (("1000", 0, "the CPU is predicted to be faster"), ("200", 0, "the CPU is predicted to be faster"), ("20", 1, "served")):
        if not has_fp64() and gflops != "1000":
            served, why = 0, "no scheme of libhalftone.so has this accuracy at this k"
        log = tmp_path / gflops
        done = run(programs.main, "dsize", 500, 500, 500, face=face, HALFTONE="record", HALFTONE_LOG=str(log), HALFTONE_STRATEGY="performant",
                   HALFTONE_BLAS_CPU_GFLOPS=gflops, HALFTONE_BLAS_COPY_GBPS="6", HALFTONE_BLAS_START_MS="0")
        assert counts(done) == [1, 0, served, 1 - served] and done.stderr == "" and reasons(log) == {("dgemm_", why): 1}


def test_wrong_arguments_are_the_original_s(face, programs, tmp_path):
    log = tmp_path / "log"
    assert counts(run(programs.main, "wrong", face=face, HALFTONE="record", HALFTONE_LOG=str(log))) == [16, 0, 0, 16]
    assert {why for _, why in reasons(log)} == {ARGUMENTS}


def test_directed_rounding_is_the_original_s(face, programs, tmp_path):
    """Interval arithmetic."""
    log = tmp_path / "log"
    assert counts(run(programs.main, "rounding", face=face, HALFTONE="record", HALFTONE_LOG=str(log))) == [2 * CALLS, 0, 0, 2 * CALLS]
    assert {why for _, why in reasons(log)} == {"the CPU does not round to nearest"}


def test_threads_and_children(face, programs):
    assert counts(run(programs.main, "threads", face=face)) == [8 * 36, 0, 8 * 36, 0]
    done = run(programs.main, "fork", face=face)
    first, second, parent = done.stdout.splitlines()
    assert [first.split()[1:], second.split()[1:]] == [["18", "0", "18", "0"], ["18", "0", "18", "18"]] # counted from the parent's on
    assert parent.split() == ["36", "0", "36", "0"]


def test_a_child_of_a_process_that_is_in_a_product(face, programs):
    """Whatever lock the other thread held."""
    assert counts(run(programs.main, "busyfork", face=face))[:2] == [8, 0]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_exit_while_a_thread_is_in_a_product(face, programs, threads):
    for _ in range(5):
        done = run(programs.main, "exit", face=face, check=False, HALFTONE_BLAS_THREADS=threads)
        assert (done.returncode, done.stdout, done.stderr) == (7, "atexit\n", "")


def test_without_the_library_or_the_accuracy_the_original_runs(face, programs, tmp_path):
    done = run(programs.main, "sgemm_", face=face, HALFTONE_LIBRARY="/nowhere/x.so")
    assert counts(done)[1:3] == [0, 0] and done.stderr.count("\n") == 1 and "/nowhere/x.so" in done.stderr
    assert counts(run(programs.main, "cblas_sgemm", face=face, HALFTONE="off"))[1:3] == [0, 0]
    log = tmp_path / "log"
    done = run(programs.main, "scipy_sgemm_64_", face=face, HALFTONE_ACCURACY="bits=40", HALFTONE="record", HALFTONE_LOG=str(log))
    assert counts(done)[1:3] == [0, 0] and {why for _, why in reasons(log)} == {"no scheme of libhalftone.so has this accuracy at this k"}


def test_the_library_is_told_of_the_tile(face, programs, tmp_path):
    for tile, refused in (("192", 0), ("64", CALLS)):
        log = tmp_path / tile
        run(programs.main, "ssyrk_", face=face, HALFTONE_LIBRARY=str(programs.failing), HALFTONE_BEHIND=str(SET / "libhalftone-sim.so"), HALFTONE_BLAS_TILE=tile,
            EXPECT_TILE="192", HALFTONE="record", HALFTONE_LOG=str(log))
        assert sum(n for (_, why), n in reasons(log).items() if why.startswith("more workspace")) == refused


@pytest.mark.parametrize("name", ["sgemm_", "cblas_sgemm64_", "ssyrk_64_", "scipy_cblas_ssyrk"])
def test_what_a_failure_leaves_the_original_computes(face, programs, name, tmp_path):
    log = tmp_path / "log"
    done = run(programs.main, name, face=face, HALFTONE_LIBRARY=str(programs.failing), HALFTONE_BEHIND=str(SET / "libhalftone-sim.so"), HALFTONE="record", HALFTONE_LOG=str(log))
    assert counts(done)[1] == 0, done.stdout
    assert reasons(log)[name, "libhalftone.so reported an error"] > CALLS // 2


def test_without_a_blas_behind(face, programs):
    done = run(programs.alone, "small", HALFTONE_LIBRARY=str(SET / "libhalftone-sim.so"), check=False)
    assert counts(done)[:2] == [17, 0]
    lines = done.stderr.splitlines()
    assert lines[0] == "halftone: no library of this program has sgemm_: HALFTONE_BLAS_CPU=FILE names a BLAS; slow loops until then"
    assert len(lines) == 17 and lines[1] == "halftone: sgemm_: parameter 1 of the Fortran routine is wrong, and no BLAS is there to say so by xerbla"
    done = run(programs.alone, "small", HALFTONE_BLAS_CPU=str(programs.fake), check=False)
    assert counts(done)[:2] == [17, 0] and done.stderr == ""
    done = run(programs.alone, "dsyrk_64_", HALFTONE_BLAS_CPU="/nowhere/y.so", check=False)
    assert counts(done)[:2] == [CALLS, 0] and done.stderr.count("\n") == 2 and "HALFTONE_BLAS_CPU: /nowhere/y.so" in done.stderr


def test_halftone_run_counts_this_face_too(face, programs):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))}
    done = subprocess.run([SET / "halftone-sim", "run", "--", programs.main, "cblas_sgemm"], env={**env, "LD_PRELOAD": str(face), "HALFTONE_STRATEGY": "eager"},
                          capture_output=True, text=True, timeout=120)
    assert counts(done) == [CALLS, 0, CALLS, 0]
    assert done.stderr.splitlines()[:2] == [f"halftone run: {CALLS} products served, 0 by the original, in 1 process", f"  served           {CALLS}  cblas_sgemm"]


@needs_blat
@pytest.mark.parametrize("program, data, name, sgemms, ssyrks", [
    ("xblat3s", "sblat3.in", "{}_", 17496, 1944), pytest.param("xscblat3", "sin3", "cblas_{}", 2 * 17496, 2 * 1944, marks=pytest.mark.whole)])
def test_blas_test_programs(face, program, data, name, sgemms, ssyrks, tmp_path):
    def blat(**kw):
        text = open(BLAT / data)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HALFTONE", "LD_"))} | kw
        env["LD_LIBRARY_PATH"] = str(BLAT)  # the BLAS these programs were built with: xscblat3 needs its RowMajorStrg, OpenBLAS has none
        done = subprocess.run([str(BLAT / program)], stdin=text, cwd=tmp_path, capture_output=True, text=True, env=env, timeout=300)
        summary = tmp_path / "sblat3.out"
        return done.stdout + (summary.read_text() if summary.exists() else ""), done
    plain, _ = blat()
    log = tmp_path / "log"
    under, done = blat(LD_PRELOAD=str(face), HALFTONE_LIBRARY=str(SET / "libhalftone-sim.so"), HALFTONE_MIN="0", HALFTONE="record", HALFTONE_LOG=str(log))
    assert done.returncode == 0 and done.stderr == "" and under == plain and "FAIL" not in under
    found = reasons(log)
    assert found[name.format("sgemm"), "served"] >= sgemms and found[name.format("ssyrk"), "served"] >= ssyrks
    assert all(why in ("served", ARGUMENTS) or why.startswith(NESTED) for _, why in found)


@needs_blat
@pytest.mark.parametrize("asked", [{}, {"HALFTONE_MIN": "0"}])
def test_dgemm_is_served_where_that_is_asked_for(face, asked, tmp_path):
    env = {**os.environ, "LD_PRELOAD": str(face), "HALFTONE_LIBRARY": str(SET / "libhalftone-sim.so"), "HALFTONE": "record", "HALFTONE_LOG": str(tmp_path / "log"), **asked}
    subprocess.run([str(BLAT / "xblat3d")], stdin=open(BLAT / "dblat3.in"), cwd=tmp_path, env=env, check=True, capture_output=True, timeout=300)
    text = (tmp_path / "dblat3.out").read_text()
    assert text.count("PASSED THE COMPUTATIONAL TESTS") == 6 and "FAIL" not in text
    found = reasons(tmp_path / "log")
    assert {why for _, why in found if why != ARGUMENTS} <= ({"served", "no scheme of libhalftone.so has this accuracy at this k"} if asked else {"the CPU is predicted to be faster"})
    assert not asked or not has_fp64() or (found["dgemm_", "served"] >= 17496 and found["dsyrk_", "served"] >= 1944)


NUMPY = """import numpy as np
r = np.random.default_rng(1)
a, b = r.integers(-7, 8, (65, 70)).astype(np.float32), r.integers(-7, 8, (70, 33)).astype(np.float32)
assert (a @ b == a.astype(int) @ b.astype(int)).all()
assert (a @ a.T == a.astype(int) @ a.T.astype(int)).all()
assert (np.tensordot(a.T, b, (0, 0)) == a.astype(int) @ b.astype(int)).all()
"""


def test_numpy(face, tmp_path):
    python = numpy_python()
    if python is None:
        pytest.skip("no Python here imports numpy")
    log = tmp_path / "log"
    done = run(python, "-c", NUMPY, face=face, HALFTONE="record", HALFTONE_LOG=str(log))
    found = reasons(log)
    assert done.stderr == "" and sum(n for (name, why), n in found.items() if "sgemm" in name and why == "served") >= 2, found
    assert sum(n for (name, why), n in found.items() if "ssyrk" in name and why == "served") == 1, found
