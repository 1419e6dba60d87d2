"""FP64 by FP16 slices (scheme ozaki) in the simulator, against the paper's algorithms in Python's floats and integers (Mukunoki et al. 2020): slices and
exponents by algorithm 1, d by algorithm 3, sums by algorithm 2, correctly rounded ones by exact integers and by NearSum. Broken kernels are noticed."""
import array
import math
import os
import re
import subprocess

import broken_templates
import pytest
from conftest import ROOT, SIM, SIM_OBJECTS, gen, runtime_objects

PARTS = {"ozaki_pack": None, "planes_mma_warp": 6, "ozaki_combine": None} # and which part of template_part.cpp where it is not the usual
SAMPLE = "samples/planes_sums.h"
SMALL = (("BM = 128, BN = 128, BK = 64, WM = 64, WN = 32", "BM = 64, BN = 64, BK = 64, WM = 32, WN = 32"),)
REGISTERS = (("STAGES = 3", "STAGES = 2"), ("REFILL_AFTER_BARRIER = 1", "REFILL_AFTER_BARRIER = 0"), ("stage/cp_async", "stage/via_registers"))
# architecture: what differs from the sample, and whose arithmetic it is
ARCHS = {
    "sm80": (SMALL, "sm80"),
    "sm75": ((*SMALL, *REGISTERS, ("arch/sm80_f16", "arch/sm75_f16")), "sm75"),
    "sm90": (SMALL, "sm90"),
    "gfx90a": (((SMALL[0][0], "BM = 64, BN = 128, BK = 64, WM = 32, WN = 64"), *REGISTERS,
                ("WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, B_TILES = 2, D_COLS = 2", "WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 16, B_TILES = 1, D_COLS = 16"),
                ("frag/ldmatrix", "frag/mfma"), ("arch/sm80_f16", "arch/gfx90a_f16")), "gfx90a"),
}
# m n k transposes family mode most alpha beta
CASES = ("70 66 130 NN phi0.1 dp 12 1 0", "66 3 300 TN phi1 dp 12 1 0", "5 67 70 NT phi2 dp 14 1 0", "65 65 33 TT integers dp 8 1 0", "20 30 64 NN scaled dp 12 -0.25 1.5",
         "30 20 50 TN sparse dp 10 1 0", "10 10 20 NN zeros dp 6 1 1", "20 20 40 NN nonfinite dp 10 1 0", "33 34 70 NN phi1 fixed 4 1 0", "1 1 1 NN uniform dp 10 1 0",
         "70 66 70 NN phi0.1 cr 14 1 0", "66 5 130 TN phi1 cr 16 1 0", "9 67 40 NT phi2 cr 16 2 0", "20 20 30 TT phi4 cr 24 -1 0", "30 30 40 NN scaled cr 12 1 0",
         "12 10 33 TN inner cr 24 1 0", "20 20 30 NN top cr 12 1 0", "20 20 30 NN subnormal cr 12 1 0", "20 20 30 NN tiny cr 12 1 0", "20 20 30 TN huge cr 12 4 0",
         "30 30 40 NN sparse cr 14 1 0", "30 30 40 NN cancel cr 16 1 0", "40 40 2 NN ties cr 14 1 0", "20 20 30 NN extremes cr 16 1 0", "33 20 30 NN phi1 cr 16 0.3 -1.7",
         "12 10 600 NN phi0.1 cr 20 1 0", "8 8 4 NN ones cr 4 1 0", "12 10 70 TN inner dp 30 1 0", "9 40 64 NT integers dp 8 1 0", "20 20 40 NN uneven cr 9 1 0", "40 40 3 NN beside cr 30 1 0",
         "66 66 70 TT uneven cr 16 1 0", "9 9 20 NN rightwide dp 8 1 0", "20 20 40 NN nonfinite dp 10 0 1.5")
POISONED = 1 << 20


def copied_templates(copy):
    """A copy in which the product, too, compiles with the sample of this scheme."""
    templates = broken_templates.copied(copy)
    broken_templates.edit(templates / "skeletons/planes_mma_warp.cu", [("samples/planes_mma_warp.h", SAMPLE)])
    return templates


class Build:
    def __init__(self, folder):
        self.folder, self.made, self.objects = folder, 0, {}
        subprocess.run([*SIM, "-c", str(ROOT / "tests/kernels/ozaki_kernels.cpp"), "-o", str(folder / "main.o")], check=True)

    def templates(self, arch, broken=None):
        """The sample as the architecture wants it; broken: file, text, replacement."""
        self.made += 1
        templates = copied_templates(self.folder / f"copy{self.made}")
        broken_templates.edit(templates / SAMPLE, ARCHS[arch][0])
        return broken_templates.break_one(templates, broken)

    def part(self, name, templates):
        return broken_templates.part(templates, name, PARTS[name])

    def whole(self, arch, broken=None, part=None):
        templates = self.templates(arch, broken)
        objects = []
        for name in PARTS:
            if part in (None, name):
                objects.append(self.part(name, templates))
            else:
                if (arch, name) not in self.objects:
                    self.objects[arch, name] = self.part(name, self.templates(arch))
                objects.append(self.objects[arch, name])
        return broken_templates.linked(templates / "program", self.folder / "main.o", *objects)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return Build(tmp_path_factory.mktemp("ozaki"))


class Run:
    """What one call left."""

    def __init__(self, program, arch, case, out):
        env = {**os.environ, "HALFTONE_SIM_MODEL": ARCHS[arch][1]}
        done = subprocess.run([str(program), str(out), *case.split()], capture_output=True, text=True, env=env)
        self.case, self.said, self.ok = case, done.stdout + done.stderr, done.returncode == 0
        words = case.split()
        self.mode, self.most, self.alpha, self.beta = words[5], int(words[6]), float(words[7]), float(words[8])
        if not self.ok:
            return
        data = array.array("d", out.read_bytes())
        at = 0

        def take(count):
            nonlocal at
            at += count
            return data[at - count:at]

        self.m, self.n, self.k, self.bits = map(int, take(4))
        self.chosen = list(map(int, take(5)))
        self.sides = []
        for rows, slices in ((self.m, self.chosen[0]), (self.n, self.chosen[1])):
            x = [take(self.k) for _ in range(rows)]
            exponents = [list(map(int, take(rows))) for _ in range(slices)]
            self.sides.append((x, exponents, [[take(self.k) for _ in range(rows)] for _ in range(slices)]))
        self.before = [take(self.m) for _ in range(self.n)]
        self.after = [take(self.m) for _ in range(self.n)]
        assert at == len(data)


def split(x, bits, limit):
    """Algorithm 1: exponents and slices of a row until nothing is left or `limit`; what is left. Exact integers where the paper's sigma or 2^-tau would leave FP64's
    range."""
    rho, x, taus, slices = 53 - bits, list(x), [], []
    while max(map(abs, x)) != 0 and len(taus) < limit:
        mantissa, tau = math.frexp(max(map(abs, x)))
        tau -= mantissa == 0.5
        if -900 < tau < 900:
            sigma = math.ldexp(1, rho + tau)
            taken = [(v + sigma) - sigma for v in x]
            slices.append([t * math.ldexp(1, -tau) for t in taken])
            x = [v - t for v, t in zip(x, taken)]
        else:
            scaled = [to_integer(v) for v in x]  # times 2^1074
            unit = [tau + 1074 - bits + (v > 0) for v in scaled]
            whole = [rounded_shift(v, u) for v, u in zip(scaled, unit)]
            slices.append([math.ldexp(w, -bits + (v > 0)) for w, v in zip(whole, scaled)])
            left = [v - (w << u if u >= 0 else w >> -u) for v, w, u in zip(scaled, whole, unit)]
            x = [to_float(v) for v in left]
        taus.append(tau)
    return taus, slices, x


def to_integer(v):
    n, d = v.as_integer_ratio()
    return (n << 1074) // d


def to_float(n, exponent=-1074):
    """n 2^exponent, to nearest, ties to even."""
    try:
        return n / (1 << -exponent) if exponent < 0 else float(n << exponent)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


def rounded_shift(v, u):
    if u <= 0:
        return v << -u
    whole, rest = v >> u, v & ((1 << u) - 1)
    half = 1 << (u - 1)
    return whole + (rest > half or (rest == half and whole & 1))


def exact_products(run):
    """(i, j) to the integer that counts 2^-2148."""
    a, b = ([[to_integer(v) for v in row] for row in side[0]] for side in run.sides)
    return {(i, j): sum(x * y for x, y in zip(a[i], b[j])) for i in range(run.m) for j in range(run.n)}


def finite(row):
    return all(map(math.isfinite, row))


def near_sum(v):
    """Rump, Ogita and Oishi 2008 II, algorithm 7.x: rounded to nearest; None where it leaves FP64's range."""
    u, emin = 2.0**-53, -1022
    if not any(v):
        return 0.0
    big = math.ceil(math.log2(len(v) + 2))

    def transform(v, t):
        tau1, tau2 = t, 0.0
        largest = max(map(abs, v), default=0.0)
        if largest == 0:
            return tau1, 0.0, v, 0.0
        sigma = 2.0 ** (big + math.frexp(largest)[1])
        while True:
            q = [(sigma + x) - sigma for x in v]
            v = [x - y for x, y in zip(v, q)]
            tau = sum(q)
            tau1 = t + tau
            if abs(tau1) >= 2.0 ** (2 * big + 1) * u * sigma or sigma <= 2.0**emin:
                tau2 = tau - (tau1 - t)
                return tau1, tau2, v, sigma
            t = tau1
            if t == 0:
                return transform(v, 0.0)
            sigma *= 2.0**big * u

    def transform_k(v, rest):
        tau1, tau2, v, _ = transform(v, rest)
        result = tau1 + (tau2 + sum(v))
        return result, tau2 - (result - tau1), v

    result, rest, v = transform_k(v, 0.0)
    delta, rest2, v2 = transform_k(v, rest)
    if delta == 0:
        return result
    other = math.nextafter(result, math.inf if delta > 0 else -math.inf)
    mu = (other - result) / 2
    if abs(delta) != abs(mu):
        return result if abs(delta) < abs(mu) else other
    delta2, _, _ = transform_k(v2, rest2)
    if delta2 == 0:
        return result + mu
    return other if (delta2 > 0) == (mu > 0) else result


def check_slices(run):
    """Algorithm 1 for so many slices as were chosen; with what is left they are the element exactly."""
    for side in range(2):
        x, exponents, slices = run.sides[side]
        for row, values in enumerate(x):
            if not finite(values):
                if exponents[0][row] != POISONED:
                    return f"side {side} row {row}: not poisoned"
                continue
            taus, parts, left = split(values, run.bits, run.chosen[side])
            if exponents[0][row] == POISONED:
                if not any(split(values, run.bits, run.most)[2]):
                    return f"side {side} row {row}: poisoned"
                continue
            if run.mode == "cr" and any(left):
                return f"side {side} row {row}: something is left"
            for s in range(run.chosen[side]):
                expected = parts[s] if s < len(taus) else [0.0] * run.k
                if (s < len(taus) and exponents[s][row] != taus[s]) or list(slices[s][row]) != expected:
                    return f"side {side} row {row} slice {s}"
    return None


def chosen_of(run):
    """Algorithm 3 in exact integers: slices of A and B, levels."""
    a, b = run.sides[0][0], run.sides[1][0]
    if run.mode != "dp":
        counts = [max([1] + [len(split(v, run.bits, run.most)[0]) for v in x if finite(v)]) for x in (a, b)]
        return [*counts, run.most if run.mode == "fixed" else 2 * run.most]
    weights = [sum(abs(to_integer(row[h])) for row in b if finite(row)) for h in range(run.k)]
    d = 2
    for row in filter(finite, a):
        taus, slices, _ = split(row, run.bits, run.most)
        s = 2 * math.sqrt(run.k) * 2.0**-53 * to_float(sum(abs(to_integer(v)) * w for v, w in zip(row, weights)), -2148)
        at = 2
        while at <= len(taus):
            t = to_float(sum(abs(to_integer(math.ldexp(v, taus[at - 1]))) * w for v, w in zip(slices[at - 1], weights)), -2148)
            if t == 0 or s > (at + 1) * t:  # 0 > 0 never holds: the paper's loop would not end at a row of zeros
                break
            at += 1
        d = max(d, at)
    fast = any(any(split(row, run.bits, d)[2]) for row in filter(finite, a))
    columns = [len(split(v, run.bits, d if fast else run.most)[0]) for v in b if finite(v)]
    return [d, max([1] + columns), d if fast else 2 * run.most]


def expected_sum(run, i, j):
    """Algorithm 2, q by q."""
    (_, taus, a), (_, deltas, b) = run.sides
    total = 0.0
    for q in range(run.chosen[1]):
        for p in range(min(run.chosen[0], run.chosen[2] - q)):
            total += math.ldexp(sum(x * y for x, y in zip(a[p][i], b[q][j])), taus[p][i] + deltas[q][j])
    return total


def exact_fma(x, y, z):
    (a, b), (c, d), (e, f) = x.as_integer_ratio(), y.as_integer_ratio(), z.as_integer_ratio()
    return (a * c * f + e * b * d) / (b * d * f)


def check(run):
    """None, or what is wrong."""
    if not run.ok:
        return run.said or "failed"
    wrong = check_slices(run)
    if wrong:
        return wrong
    if run.chosen[:3] != chosen_of(run):
        return f"chosen {run.chosen[:3]} instead of {chosen_of(run)}"
    bad = [[e[1][0][row] == POISONED for row in range(len(e[0]))] for e in run.sides]
    products = exact_products(run) if run.mode == "cr" else None
    for j in range(run.n):
        for i in range(run.m):
            found, old = run.after[j][i], run.before[j][i]
            if run.alpha == 0:
                expected = run.beta * old if run.beta != 0 else 0.0
            elif bad[0][i] or bad[1][j]:
                expected = math.nan
            elif run.mode == "cr" and run.beta == 0:
                n, d = run.alpha.as_integer_ratio()
                expected = to_float(products[i, j] * n, -2148 - (d.bit_length() - 1)) if products[i, j] else 0.0
            else:
                total = to_float(products[i, j], -2148) if run.mode == "cr" else expected_sum(run, i, j)
                expected = run.alpha * total if run.beta == 0 else exact_fma(run.alpha, total, run.beta * old)
            if found != expected and not (math.isnan(found) and math.isnan(expected)):
                return f"element ({i}, {j}): {found.hex()} instead of {expected.hex()}"
    return None


@pytest.mark.parametrize("arch", ARCHS)
def test_the_papers_algorithms_bit_for_bit(build, arch):
    program = build.whole(arch)
    for case in CASES:
        assert (check(Run(program, arch, case, build.folder / "run")) or "right") == "right", case


def test_near_sum_gives_the_correctly_rounded_sums(build):
    """The paper's CR mode sums by NearSum; exact sums rounded once are the same."""
    program = build.whole("sm80")
    for case in CASES[10:13] + CASES[21:23]:
        run = Run(program, "sm80", case, build.folder / "run")
        (_, taus, a), (_, deltas, b) = run.sides
        for i in range(0, run.m, 3):
            for j in range(0, run.n, 5):
                addends = [math.ldexp(sum(x * y for x, y in zip(a[p][i], b[q][j])), taus[p][i] + deltas[q][j])
                           for q in range(run.chosen[1]) for p in range(run.chosen[0])]
                assert near_sum(addends) * run.alpha == run.after[j][i], (case, i, j)


@pytest.mark.parametrize("family", ["phi0.1", "phi1", "phi2"])
def test_dp_errors_are_dgemms(build, family):
    """|(C - AB) e| stays below the probabilistic bound that algorithm 3 aims at, 2 sqrt(k) u |A||B| e, in every row."""
    run = Run(build.whole("sm80"), "sm80", f"40 30 256 NN {family} dp 14 1 0", build.folder / "run")
    a, b = run.sides[0][0], run.sides[1][0]
    products = exact_products(run)
    for i in range(run.m):
        error = sum(abs(to_integer(run.after[j][i]) - (products[i, j] >> 1074)) for j in range(run.n))
        size = sum(abs(to_integer(x)) * abs(to_integer(y)) for row in b for x, y in zip(a[i], row)) >> 1074
        assert error <= math.isqrt(4 * run.k * size * size) >> 53, i


# what is broken: part, file, text, replacement, and a case that must notice it
BREAKS = {
    "sigma one binade lower": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"53 - bits\)", "52 - bits)", 0),
    "tau of powers of two": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"field - 1023 \+ \(fraction != 0\)", "field - 1022", 26),
    "tau of subnormal numbers": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"63 - ht_oz_clz64\(fraction\) - 1074", "-1022", 17),
    "elements below the slice lost": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"if \(slice != 0\.0\)", "if (true)", 23),
    "nothing taken off": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"scaled - slice", "scaled", 0),
    "one factor for 2^tau": ("ozaki_pack", "hooks/pack/ozaki_element.cuh", r"ht_oz_pow2\(e / 2\), ht_oz_pow2\(e - e / 2\)", "ht_oz_pow2(e), 1.0", 16),
    "no swizzle": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"\(chunk % 8 \^ \(r\.row & 7\)\)", "(chunk % 8)", 0),
    "the largest of one warp": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"for \(int i = 1; i < OZ_WARPS; i\+\+\)", "for (int i = 1; i < 1; i++)", 1),
    "no barrier in a row's join": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"\n    ht_barrier\(\);\n    const unsigned from = smem \+ \(unsigned\)\(warp", "\n    const unsigned from = smem + (unsigned)(warp", 0),
    "what is not finite is split": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"ht_oz_is_finite\(most\)\)\n        return most", "true)\n        return most", 7),
    "weights of other k": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"g\.weights \+ k\)", "g.weights + (k ^ 32))", 27),
    "algorithm 3 without d + 1": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"\(d \+ 1\) \* slice", "slice", 2),
    "algorithm 3 without its slice's scale": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"slice \* ht_oz_pow2\(below\)", "slice", 0),
    "always fast": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"left != 0 \? slices_a : 2 \* g\.most", "slices_a", 3),
    "never fast": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"left != 0 \? slices_a : 2 \* g\.most", "2 * g.most", 0),
    "B to d in any case": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"left != 0 \? slices_a : g\.most", "slices_a", 32),
    "rows that ended leave panels as they were": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"code != 0 \? code : run_split\(g, rest_of_b, stream\);\n\}\n\nstatic int init", "code;\n}\n\nstatic int init", 12),
    "rows too long for their slices": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"\(s\.rule\.needs_all && left != 0\)", "false", 29),
    "rows and k exchanged": ("ozaki_pack", "skeletons/ozaki_pack.cu", r"\(k0 \+ k\) \* o\.of\.ld \+ row0 \+ row", "(row0 + row) * o.of.ld + k0 + k", 0),
    "pairs exchanged": ("planes_mma_warp", "hooks/epilogue/planes_sums.cuh", r"\{\(int\)blockIdx\.z / g\.most, \(int\)blockIdx\.z % g\.most\}", "{(int)blockIdx.z % g.most, (int)blockIdx.z / g.most}", 0),
    "a level left out": ("planes_mma_warp", "hooks/epilogue/planes_sums.cuh", r"x\.slice_a \+ x\.slice_b >= ht", "x.slice_a + x.slice_b + 1 >= ht", 0),
    "panels of the first slice": ("planes_mma_warp", "hooks/epilogue/planes_sums.cuh", r" \+ x\.slice_b \* g\.b\.slice_stride", "", 0),
    "levels of the sum": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"left = x\.levels - q", "left = x.levels - q - 1", 0),
    "p by p": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"sum = ht_oz_add\(sum, sum_of\(g, x, p, q\)", "sum = ht_oz_add(sum, sum_of(g, x, end - 1 - p, q)", 0),
    "poison ignored": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"ht_ldg_i32\(x\.row\) == HT_OZAKI_POISONED \|\| ", "", 7),
    "beta forgotten": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"alpha, sum, old", "alpha, sum, 0.0", 4),
    "beta forgotten beside an alpha of 0": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"ht_oz_bits\(old\)", "ht_oz_bits(0.0)", 33),
    "an alpha of 0 reads A and B": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"if \(alpha == 0\.0\)", "if (false)", 33),
    "alpha's exponent": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"0x7ff\) - 1023, ht_oz_bits\(alpha\) >> 63", "0x7ff) - 1022, ht_oz_bits(alpha) >> 63", 12),
    "alpha's sign": ("ozaki_combine", "skeletons/ozaki_combine.cu", r"- 1023, ht_oz_bits\(alpha\) >> 63", "- 1023, 0", 13),
    "carries of negative limbs": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"carry = 1;", "carry = 0;", 26),
    "a limb too few": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"limb\[at / 32 \+ 1\] \+= shifted >> 32;", ";", 10),
    "ties away from zero": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"\(less \|\| \(bits & 1\)\)", "true", 22),
    "nothing below the tie": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"below = limb\[i\] != 0;", ";", 30),
    "subnormal results with all their bits": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"e >= -1022 \? 11 : 11 - 1022 - e", "11", 18),
    "no infinity": ("ozaki_combine", "hooks/epilogue/ozaki_sum.cuh", r"if \(e > 1023\)", "if (e > 4000)", 19),
}


@pytest.mark.mutation
@pytest.mark.parametrize("name", BREAKS)
def test_broken_kernels_are_noticed(build, name):
    part, file, text, replacement, case = BREAKS[name]
    assert check(Run(build.whole("sm80", (file, text, replacement), part), "sm80", CASES[case], build.folder / "broken"))


# ---- the library
CARD = { # what ozaki_hashes printed on an H100: set h200 at 6512d5d
    "70 66 130 NN ozaki": "9b13b1dc733d9398", "66 130 300 TN ozaki": "063abd216937665e", "130 67 70 NT ozaki-cr": "d09821aff4cfcf0f", "65 65 200 TT ozaki-cr": "f5c22feb608efafd",
    "150 140 64 NN ozaki:d=5": "ffe88262a2654485", "200 300 33 NN ozaki-cr:d=40": "663d0aa0af5c8c25", "129 129 500 TN ozaki": "1e3742dbee984fbc"}


def library(folder, gpu, *tests):
    """Programs of a set with the scheme, which default sets leave out."""
    gen("emit", "--gpu", gpu, "--scheme", "native64,ozaki", "--out", folder / "set")
    objects = []
    for path in sorted((folder / "set").glob("ht_*")):
        objects.append(str(folder / (path.stem + ".o")))
        subprocess.run([*SIM, "-O1", "-c", str(path), "-o", objects[-1]], check=True)
    for path in (folder / "set/dispatch.c", *(ROOT / f"tests/kernels/{name}.c" for name in tests)):
        subprocess.run(["gcc", "-std=c11", "-D_DEFAULT_SOURCE", f"-I{ROOT}/runtime", "-c", str(path), "-o", str(folder / (path.stem + ".o"))], check=True)
    sim = [*runtime_objects(), *SIM_OBJECTS]
    for name in tests:
        subprocess.run(["g++", "-o", str(folder / name), *objects, str(folder / "dispatch.o"), str(folder / f"{name}.o"), *map(str, sim),
                        *(["-lcmocka"] if name == "test_dgemm" else []), "-lpthread", "-lm"], check=True)


@pytest.mark.skipif(not os.path.exists("/usr/include/cmocka.h"), reason="no cmocka")
def test_the_library_runs_its_modes(tmp_path):
    """by_slices of test_dgemm.c: transposes, batches, blocks of C, names, limits."""
    library(tmp_path, "t4", "test_dgemm")
    done = subprocess.run([str(tmp_path / "test_dgemm"), "*by_slices*"], capture_output=True, text=True)
    assert done.returncode == 0 and "[       OK ] by_slices" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("gpu", ["t4", pytest.param("h200", marks=pytest.mark.whole)])
def test_results_have_a_cards_bits(gpu, tmp_path):
    library(tmp_path, gpu, "ozaki_hashes")
    done = subprocess.run([str(tmp_path / "ozaki_hashes")], check=True, capture_output=True, text=True)
    assert dict(re.findall(r"^(.*) code 0 hash (\w+)", done.stdout, re.M)) == CARD


# ---- real compilers
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
def test_nvcc_takes_them_without_spills(build, name, arch, tmp_path):
    broken_templates.nvcc_takes(build.templates("sm75") if arch == "sm_75" else copied_templates(tmp_path), name, arch, tmp_path, stack=True)


@pytest.mark.parametrize("name", PARTS)
@broken_templates.needs_hipcc
def test_hipcc_takes_them(name, tmp_path):
    broken_templates.hipcc_takes(copied_templates(tmp_path), name, tmp_path, "-ffp-contract=off")
