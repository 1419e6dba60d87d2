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


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
def test_parts_of_fast_math_that_clang_has_no_macro_for_are_turned_off(tmp_path):
    """With each flag NaN, -0 and the order of sums stay as they are."""
    (tmp_path / "a.c").write_text("""#include "ht_ieee.h"
int main(int count, char **words) {
    volatile double zero = count - 1, one = count, tiny = 0x1p-60, minus = -zero;
    double nan = zero / zero, sum = one + tiny - one, plus = 0.0 - (-minus);
    (void)words;
    return (nan == nan || !(nan != nan)) + 2 * (sum != 0) + 4 * (1 / plus < 0);
}
""")
    for flag in ("", "-fno-honor-nans", "-fno-honor-infinities", *GCC_FLAGS, "-fassociative-math -fno-signed-zeros -fno-trapping-math"):
        subprocess.run(["clang", "-O2", *flag.split(), "-I", ROOT / "runtime", tmp_path / "a.c", "-o", tmp_path / "a"], check=True)
        assert subprocess.run([tmp_path / "a"]).returncode == 0, flag


def test_no_source_of_the_library_takes_them():
    for source in SOURCES:
        assert SAID in preprocess("gcc", source, "-ffast-math").stderr, source
