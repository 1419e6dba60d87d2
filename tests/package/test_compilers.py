"""Compilers under other names, warnings that nobody has seen yet, environments of other programs. And flags under which compilers take it
that there is no NaN: whatever decides on NaN, Inf or -0 is not compiled with them."""
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT, copy_of_repository
from test_package import SET, passes, run

NAMES = "Makefile", "tests/tests.mk", "tests/fuzz/fuzz.mk", "runtime/dropin/dropin.mk"
MAKEFILES = "".join((ROOT / name).read_text() for name in NAMES)
FROM_ENVIRONMENT = re.search(r"FROM_ENVIRONMENT := (.*)", MAKEFILES)[1].split()
KNOWN = re.search(r"KNOWN := ((?:.*\\\n)*.*)", MAKEFILES)[1].replace("\\\n", " ").split()
needs_clang = pytest.mark.skipif(not shutil.which("clang++"), reason="no clang")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return copy_of_repository(tmp_path_factory.mktemp("compilers") / "copy")


def under(folder, name, compiler):
    """A compiler by another name."""
    folder.mkdir()
    (folder / name).write_text(f'#!/bin/sh\nexec {compiler} "$@"\n')
    (folder / name).chmod(0o755)
    return folder / name


@needs_clang
def test_a_compiler_under_another_name_builds_a_set_that_multiplies(copy, tmp_path):
    """clang, without a warning: here they are errors."""
    cc, cxx = (under(tmp_path / name, name, name.replace("other", "clang")) for name in ("other", "other++"))
    for goal in "generate", "out/t4/test_product-sim":
        done = run(["make", *SET, "NVCC=", "WERROR=1", f"CC={cc}", f"CXX={cxx}", "CFLAGS=-O0", goal], copy)
        assert done.returncode == 0 and "warning" not in done.stderr, done.stdout + done.stderr
    assert "test(s) run" in passes(["out/t4/test_product-sim", "*transpose*"], copy)


@pytest.mark.parametrize("compiler, folder", [("g++", "clang"), pytest.param("clang++", "g++", marks=needs_clang)])
def test_a_compiler_s_flags_are_not_read_from_its_name(copy, tmp_path, compiler, folder):
    """In the folder of another compiler it has the simulator's flags of its own kind."""
    def flags(cxx):
        said = passes(["make", "-n", "GPU=t4", "V=1", f"CXX={cxx}", "out/obj/bench/halftone/apps/app_kernels-sim.o"], copy)
        return said.replace(str(cxx), "CXX")
    there = flags(under(tmp_path / folder, "c++", compiler))
    assert there == flags(compiler) and ("-fno-thread-jumps" in there) == (compiler == "g++")


@pytest.mark.parametrize("knows", [True, False])
def test_a_linker_need_not_know_how_to_leave_padding_out(copy, tmp_path, knows):
    """As that of zig, which has clang."""
    cc = under(tmp_path / "own", "cc", "gcc")
    if not knows:
        cc.write_text(cc.read_text().replace("exec", 'case "$*" in *noseparate-code*) exit 1 ;; esac\nexec'))
    said = passes(["make", "-n", "V=1", "GPU=t4", f"CC={cc}", "out/t4/libhalftone_blas.so"], copy)
    assert "-z,nodelete" in said and ("noseparate-code" in said) == knows


def test_warnings_are_errors_in_tests_only(copy):
    warns = ["make", "-B", "out/obj/runtime/card.o", "CC=gcc", "CFLAGS=-Wtraditional"]
    done = run(warns, copy)
    assert done.returncode == 0 and "[-Wtraditional]" in done.stderr, done.stderr
    assert "[-Werror=traditional]" in run([*warns, "WERROR=1"], copy).stderr
    for goal in "test", "test-all", "test-rest":
        said = run(["make", "-n", goal, "TEST_SETS=t4"], copy).stdout  # it ends where a set would have to be there
        assert "\nmake test-build WERROR=1" in said and " -Werror " in said, goal


def test_the_environment_of_other_programs_reaches_no_build():
    """Every name of the makefiles, set to what they would refuse; MAKECMDGOALS is make's own fault."""
    own = {*FROM_ENVIRONMENT, "MAKE", "MAKEFLAGS", "MAKECMDGOALS", "SHELL"}
    names = {*re.findall(r"\$\((?:call |filter-out \d,)?([A-Z][A-Z0-9_]*)[):,]", MAKEFILES), *KNOWN} - own

    def say(words, among=()):
        others = [f"{name}=another" for name in among]
        return passes(["env", "-i", f"PATH={os.environ['PATH']}", *others, "make", *words])

    database = say(["-pn", "help", "GPU=t4"], names)
    assert len(names) > 100 and not re.findall(r"(?m)^(\w+) :?= another$", database)
    for words in [], ["help", "GPU=t4"]:
        assert say(words, names) == say(words)


def test_the_environment_gives_what_help_says(copy):
    """Tools that are empty words there are the usual ones."""
    flags = {"CC": "gcc -pipe", "CFLAGS": "-O0", "CPPFLAGS": "-DONE", "LDFLAGS": "-Wl,-O1"}
    said = passes(["make", "-n", "V=1", "out/bin/card"], copy, **flags)
    assert all(word in said for word in ("gcc -pipe ", " -O0 ", " -DONE ", " -Wl,-O1 "))
    assert "CC holds a line break.  Stop." in run(["make", "-n", "out/bin/card"], copy, CC="gcc\n").stderr
    assert "CC=gcc CXX=g++ AR=ar" in passes(["make", "help"], copy, CC="", CXX="", AR="", PYTHON="")
    assert "Taken from the environment, too: " + " ".join(FROM_ENVIRONMENT) in passes(["make", "help"], copy)


# ---- flags that lose NaN

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
