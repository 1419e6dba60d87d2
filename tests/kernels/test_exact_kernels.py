"""Correctly rounded FP64 products in the simulator: the templates give the bits of exact sums (exact_sum.h, held here to Python's integers) on every
architecture and family, and broken ones do not."""
import ctypes
import random
import re
import subprocess

import broken_templates
import pytest
from conftest import ROOT, SIM
from test_crt_kernels import ARCHS as EVERY_ARCH
from test_crt_kernels import TABLE, Build, parts_of, run, table_text

ARCHS = [arch for arch in EVERY_ARCH if not arch.endswith("digits")]  # no part of fp64-exact
# families, transposes, segments of k, alpha and beta by both ways, batches; behind ":" how many elements are left to all their bits, behind
# "@" how many moduli the data ask for
CASES = ("1 1 1 NN uniform 1 0", "70 66 130 NN uniform 1 0:none@17", "33 40 600 NT uniform 1 0", "40 30 300 TN phi1 1 0", "40 41 130 TT phi2 -2 0",
         "40 40 200 NN phi4 1 0:some@20", "40 30 100 TN scaled 1 0:all", "41 30 100 NT graded 1 0", "40 40 70 TN subnormal 1 0:some", "40 40 70 NN tiny 1 0",
         "30 30 30 NN huge 4 0", "40 30 64 NN cancelling 1 0:none", "40 30 65 TT cancelling 1 0:all", "40 30 200 NN complementary 1 0:all",
         "40 40 2 NN ties 1 0:some", "40 40 2 TN ties 1 1e-300:some", "20 20 600 NN ties 1 0:some", "30 30 64 NN everything 1 0:some@20", "70 66 64 TN integers 0.5 0:none@4",
         "40 20 70 NN nonfinite 1 0:some", "40 20 30 NN nonfinite 2.5 -1:some", "40 9 20 TN nonfinite 0 2:none", "31 20 70 NN uniform 0.3 -1.7", "40 33 40 TT phi2 -1e-300 1e-300",
         "33 30 40 TN tiny 1.5 1", "30 31 40 TT huge 0.5 -1:some", "20 20 20 NN phi1 inf 1", "25 20 20 NN everything 1e300 1e-300:some", "26 20 20 NN subnormal 1e-300 1e-20",
         "30 30 61 NN cancelling 0.1 1:all", "21 20 30 TN scaled -0.7 3:all", "20 20 70 NN phi4 1 0 3", "20 20 20 NN uniform 0 0:none",
         "40 41 600 NT fixed 1 0:none@15", "70 66 130 NN mixed 1 0:none", "40 33 70 TT single -2 0:none@10", "20 20 70 NN single 0.3 1.7 3:none@10", "40 20 70 NN integers 1 1:none@4",
         "20 20 20 NN single 1e-300 1e-20:none@9", "20 20 20 TN integers 1e300 0:none@4", "40 9 2 NN carries 1 0:none")
ALONG_K, EVERYTHING, NONFINITE, TIES, SUBNORMAL = "40 30 100 TN scaled 1 0", "30 30 64 NN everything 1 0", "40 20 70 NN nonfinite 1 0", "40 40 2 NN ties 1 0", "40 40 70 TN subnormal 1 0"
BY_ALPHA, BY_BETA = "25 20 20 NN everything 1e300 1e-300", "21 20 30 TN scaled -0.7 3"

def settles(arch):
    return (*parts_of(arch)[:2], "crt_exact")


class ExactBuild(Build):
    def __init__(self, folder):
        super().__init__(folder)
        subprocess.run([*SIM, "-O1", "-c", str(ROOT / "tests/kernels/exact_kernels.cpp"), "-o", str(folder / "exact.o")], check=True)

    def templates(self, arch, table=TABLE.read_text(), broken=None):
        copy = super().templates(arch, table, broken)
        sample = copy / "samples/crt_exact.h"
        sample.write_text(sample.read_text().replace('"planes_mma_warp.h"', f'"{parts_of(arch)[1]}.h"'))
        return copy

    def exact(self, arch, table=None, broken=None):
        templates = self.templates(arch, table or table_text(20, self.folder), broken)
        other = "crt_pack" if broken and broken[0] in (PACK, SPANS) else "crt_exact"
        objects = [self.of_sample(arch, name, table) if broken and name != other else self.part(name, templates) for name in settles(arch)]
        return broken_templates.linked(templates / "program", self.folder / "exact.o", *objects)

    def of_sample(self, arch, name, table):
        key = arch, name, table
        if key not in self.objects:
            self.objects[key] = self.part(name, self.templates(arch, table or table_text(20, self.folder)))
        return self.objects[key]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return ExactBuild(tmp_path_factory.mktemp("exact"))


def check(program, arch, case):
    case, _, expected = case.partition(":")
    expected, _, moduli = expected.partition("@")
    done = run(program, arch, case)
    found = re.fullmatch(r"(\d+) elements, bit for bit; (\d+) by all bits; (\d+) moduli\n", done.stdout)
    assert done.returncode == 0 and found, f"{case}: {done.stdout}{done.stderr}"
    elements, undecided, taken = map(int, found.groups())
    assert not moduli or taken == int(moduli), f"{case}: {done.stdout}"
    assert {"": True, "none": undecided == 0, "some": 0 < undecided, "all": undecided == elements}[expected], f"{case}: {done.stdout}"


@pytest.mark.parametrize("arch", ARCHS)
def test_elements_are_correctly_rounded(build, arch):
    program = build.exact(arch)
    for case in CASES:
        check(program, arch, case)


@pytest.mark.parametrize("moduli", [15, 17])
def test_fewer_moduli_leave_more_and_round_no_worse(build, moduli):
    program = build.exact("sm80", table_text(moduli, build.folder, 4))
    for case in CASES[3:20]:
        check(program, "sm80", case.partition(":")[0] + ("" if moduli > 15 or "phi2" not in case else ":some"))


# what is broken: file, text, replacement, and a case that must notice it
DOT, EXACT, ROUND = "hooks/epilogue/exact_dot.cuh", "skeletons/crt_exact.cu", "hooks/epilogue/crt_round.cuh"
PACK, SPANS, FEWER = "skeletons/crt_pack.cu", "hooks/check/crt_spans.cuh", "hooks/epilogue/crt_fewer.cuh"
FIXED, SINGLE, INTEGERS = "40 41 600 NT fixed 1 0", "40 33 70 TT single -2 0", "70 66 64 TN integers 0.5 0"
BREAKS = {
    "no sticky bit": (DOT, r"word\[0\] \|= below != 0 \? 1u : 0u;", "", TIES),
    "ties away from zero": (ROUND, r"below != 0 \|\| \(bits & 1\)", "true", TIES),
    "no bound": (EXACT, r"return \(\(a & NORM_LOST \?", "return 0 * ((a & NORM_LOST ?", TIES),
    "the bound of A's rounding alone": (EXACT, r"\(b & NORM_LOST \? size_a : 0\)", "0", "40 30 65 TT cancelling 1 0"),
    "one side of the bound": (EXACT, r"shifted<0>\(value, error, side == 1, near\)", "shifted<0>(value, error, false, near)", "20 20 20 NN phi4 1e-300 1e-20"),
    "one side of the bound of normal results": (EXACT, r"round_normal\(value\[e\], error\[e\], true", "round_normal(value[e], error[e], false", TIES),
    "losses not seen": (PACK, r"x\.last - 1075 \+ s < 0 \?", "false ?", SUBNORMAL),
    "one segment's losses": (PACK, r"x\.last = smaller\(x\.last, ", "x.last = at > 0 ? x.last : (", "20 20 600 NN ties 1 0"),
    "one lane's losses": (PACK, r"last = smaller\(last, ht_shfl_xor\(last, lanes\)\);\n    last =", ";\n    last =", "20 20 600 NN ties 1 0"),
    "no absolute values": (PACK, r"x\.ones << -right", "1", "40 30 65 TT cancelling 1 0"),
    "last bits of upper words": (SPANS, r"first \+ 63 - ", "first + 64 - ", INTEGERS),
    "last bits of lower words": (SPANS, r"first \+ 31 - ", "first + 32 - ", FIXED),
    "scale of all moduli": (PACK, r"has_least = CRT_HAS_FEWER && moduli < CRT_MODULI;", "has_least = false;", SINGLE),
    "rows not finite with fewer moduli": (PACK, r"last == 0 \? CRT_POISONED : ", "", NONFINITE),
    "sizes too small": (SPANS, r"\+ fraction \+ 24", "+ fraction - 4096", FIXED),
    "the size of A alone": (SPANS, r"ht_ldg_i32\(spans\) \+ ht_ldg_i32\(spans \+ 1\)", "2 * ht_ldg_i32(spans)", "70 66 130 NN mixed 1 0"),
    "constants of one modulus more": (FEWER, r"moduli - CRT_FEWEST\]", "moduli - CRT_FEWEST + 1]", INTEGERS),
    "no shift": (EXACT, r" \+ ht_crt_shift_of\(r\.constants\) - by\.shift", " - by.shift", SINGLE),
    "no shift of others": (EXACT, r"scale_of\(g, x, e\), scale = own_scale \+ ht_crt_shift_of\(r\.constants\);", "scale_of(g, x, e), scale = own_scale;", "20 20 20 NN single 1e-300 1e-20"),
    "the window alone": (DOT, r"sum->most = unit > sum->most \? unit : sum->most;", ";", ALONG_K),
    "products in two windows": (DOT, r" \|\| unit >= end\)", ")", TIES),
    "windows without their signs": (DOT, r"sum\.word\[EXACT_WORDS - 1\] >> 31 \? 0xffffffffu : 0u", "0u", EVERYTHING),
    "words not moved": (DOT, r"exact_move<2>\(moved, shift\);", "", EVERYTHING),
    "lanes not added": (DOT, r"lanes = WAVE / 2; lanes > 0; lanes /= 2\) {\n        unsigned long long", "lanes = WAVE / 4; lanes > 0; lanes /= 2) {\n        unsigned long long", ALONG_K),
    "infinities of both signs": (DOT, r"special == \(EXACT_IS_PLUS \| EXACT_IS_MINUS\)", "false", NONFINITE),
    "NaN rows by residues": (EXACT, r"if \(has_product && own_scale >= CRT_POISONED / 2\)\s*return false;", "", NONFINITE),
    "alpha's unit": (DOT, r"unit \+= 52;", ";", ALONG_K),
    "alpha's upper word": (DOT, r" \+ \(other >> 32\) \+", " +", BY_BETA),
    "beta c without its sign": (DOT, r"carry = minus & 1;", "carry = 0;", BY_BETA),
    "C read as zero": (EXACT, r"by\.c = \(unsigned long long\)ht_ldg_i64\(c\);", ";", BY_BETA),
}


@pytest.mark.mutation
@pytest.mark.parametrize("name", BREAKS)
def test_broken_kernels_are_noticed(build, name):
    file, text, replacement, case = BREAKS[name]
    done = run(build.exact("sm80", broken=(file, text, replacement)), "sm80", case)
    assert done.returncode == 1 and re.search(r"element \d+|kernels: \S", done.stdout), f"{done.returncode} {done.stdout}{done.stderr}"


# ---- real compilers
@pytest.mark.parametrize("name", ["crt_pack", "crt_exact"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_120"])
def test_nvcc_takes_it_without_spills_or_fp64(build, arch, name, tmp_path):
    templates = build.templates({"sm_75": "sm75", "sm_90a": "sm90a"}.get(arch, "sm80"), table_text(20, build.folder))
    broken_templates.nvcc_takes(templates, name, arch, tmp_path, fp64=False)


@broken_templates.needs_hipcc
def test_hipcc_takes_it_without_fp64(build, tmp_path):
    broken_templates.hipcc_takes(build.templates("gfx90a", table_text(20, build.folder)), "crt_exact", tmp_path, fp64=False)


# ---- the sums that results are held to
def correct(alpha, a, b, beta, c):
    """By Python's integers, whose quotient is correctly rounded."""
    total = 0
    for x, y, z in [(alpha, x, y) for x, y in zip(a, b)] + [(beta, c, 1.0)]:
        parts = [v.as_integer_ratio() for v in (x, y, z)]
        total += (parts[0][0] * parts[1][0] * parts[2][0] << 3300) // (parts[0][1] * parts[1][1] * parts[2][1])
    try:
        return total / (1 << 3300)
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")


def test_exact_sums_are_those_of_pythons_integers(tmp_path):
    source, library = tmp_path / "sum.c", tmp_path / "sum.so"
    source.write_text(f'#include "{ROOT}/tests/kernels/exact_sum.h"\n'
                      "double dot(int64_t k, double alpha, const double *a, const double *b, double beta, double c) "
                      "{ return exact_dot_product(k, alpha, a, 1, b, 1, beta, c); }\n")
    subprocess.run(["gcc", "-std=c11", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"], check=True)
    dot = ctypes.CDLL(str(library)).dot
    dot.restype = ctypes.c_double
    rng = random.Random(1)
    for trial in range(300):
        span, k = rng.choice([3, 50, 1000]), rng.randrange(1, 20)
        number = lambda: rng.uniform(-1, 1) * 2.0 ** rng.randrange(-span, span)  # noqa: E731
        a, b, alpha, beta, c = [number() for _ in range(k)], [number() for _ in range(k)], number(), number(), number()
        if trial % 3 == 0:  # cancels, or a tie
            a, b, c = a + [-x for x in a], b + b, 2.0 ** 53 + rng.randrange(2)
            alpha, beta = rng.choice([1.0, 2.0 ** -1074]), rng.choice([0.5, 3.0, 2.0 ** -1074])
        array = ctypes.c_double * len(a)
        found = dot(ctypes.c_int64(len(a)), ctypes.c_double(alpha), array(*a), array(*b), ctypes.c_double(beta), ctypes.c_double(c))
        assert found == correct(alpha, a, b, beta, c), (trial, a, b, alpha, beta, c)
