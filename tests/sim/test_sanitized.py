"""The simulator's library, and programs of a set in it, built with what RPM builds switch on and with sanitizers: what other builds
do not show. In a folder of its own, whose flags rebuild nothing elsewhere."""
import os
import shutil
import subprocess

import pytest
from conftest import ROOT, copy_of_repository

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS -D_FORTIFY_SOURCE=3 -fno-omit-frame-pointer"
SET = ["GPU=a800", "LEAN=1", "SCHEMES=f16x3,bf16x6u,native64,crt15"]  # a set with cp.async, ldmatrix and FP64 MMAs
PROGRAMS = {"test_product": ("blas_semantics", "errors_small_integers_are_exact"), "test_dgemm": ("scalars_may_be_on_the_device", "arguments_*", "by_residues")}
WITHOUT_SET = ("core", "async", "grid", "rows")
pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def sanitized():
    """The repository in out/test/sanitized, with the library and the programs."""
    folder = ROOT / "out/test/sanitized"
    shutil.rmtree(folder, ignore_errors=True)
    copy_of_repository(folder)
    (folder / "out/bin").mkdir(parents=True)
    shutil.copytree(ROOT / "out/bin", folder / "out/bin", dirs_exist_ok=True)
    shutil.copytree(ROOT / "out/obj/gen", folder / "out/obj/gen")
    makefile = (folder / "Makefile").read_text()
    assert makefile.count("SIM_FLAGS = -std=c++17 -O2") == 1
    (folder / "Makefile").write_text(makefile.replace("SIM_FLAGS = -std=c++17 -O2", "SIM_FLAGS = -std=c++17 -O1"))
    tools = [f"CC=gcc {FLAGS}", f"CXX=g++ {FLAGS}", "CFLAGS=-O1", "WARN=-w", "NVCC=", "DEVICE=0"]  # sanitizers bring warnings
    for goals in (["generate"], ["out/obj/libsim.a", *(f"out/a800/{name}-sim" for name in PROGRAMS)]):
        done = subprocess.run(["make", *SET, *(tools if goals != ["generate"] else []), *goals], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def passes(program, pattern, **env):
    done = subprocess.run([str(program), pattern], capture_output=True, text=True, env={**os.environ, **env})
    assert done.returncode == 0 and "PASSED" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("name, pattern", [(name, pattern) for name, patterns in PROGRAMS.items() for pattern in patterns])
def test_products(sanitized, name, pattern):
    passes(sanitized / f"out/a800/{name}-sim", pattern, HALFTONE_TEST_SMALL="1")


@pytest.mark.parametrize("name", WITHOUT_SET)
def test_the_simulator_alone(sanitized, tmp_path, name):
    """A kernel's threads are fibers, which AddressSanitizer is told of."""
    words = ["g++", *FLAGS.split(), "-std=c++17", "-O1", "-fno-thread-jumps", "-freorder-blocks-algorithm=simple", "-ffp-contract=off",
             *(f"-iquote{ROOT / part}" for part in ("gen", "runtime", "bench/halftone")), str(ROOT / f"tests/sim/test_sim_{name}.cpp"),
             "-o", str(tmp_path / name), str(sanitized / "out/obj/libsim.a"), "-lcmocka", "-ldl", "-lpthread", "-lm"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    passes(tmp_path / name, "*")
