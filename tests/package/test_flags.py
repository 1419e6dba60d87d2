"""Flags under which compilers take it that there is no NaN: whatever decides on NaN, Inf or -0 is not compiled with them."""
import shutil
import subprocess

import pytest
from conftest import ROOT

FLAGS = ("-ffast-math", "-Ofast", "-ffinite-math-only")
GCC_FLAGS = ("-funsafe-math-optimizations", "-fno-signed-zeros")  # clang has no macro for these
SAID = "NaN, Inf and -0 would be lost: compile without -ffast-math"
SOURCES = sorted(p for folder, names in ((ROOT / "runtime", "ht_*.c"), (ROOT / "runtime/sim", "sim_*.c*")) for p in folder.glob(names)
                 if p.name != "sim_fiber.cpp")  # computes nothing


def preprocess(compiler, source, *flags):
    return subprocess.run([compiler, "-E", *flags, "-I", ROOT / "runtime/sim/cuda", source, "-o", "/dev/null"], text=True, capture_output=True)


@pytest.mark.parametrize("compiler", [c for c in ("gcc", "clang") if shutil.which(c)])
def test_flags_that_lose_nan_are_refused(compiler):
    for flag in FLAGS + (GCC_FLAGS if compiler == "gcc" else ()):
        run = preprocess(compiler, ROOT / "runtime/ht_check.c", flag)
        assert run.returncode != 0 and SAID in run.stderr, (flag, run.stderr)
    for flags in ("-O2", "-Ofast -fno-fast-math", "-fno-trapping-math -fno-math-errno"):
        run = preprocess(compiler, ROOT / "runtime/ht_check.c", *flags.split())
        assert run.returncode == 0, (flags, run.stderr)


def test_no_source_of_the_library_takes_them():
    for source in SOURCES:
        assert SAID in preprocess("gcc", source, "-ffast-math").stderr, source
