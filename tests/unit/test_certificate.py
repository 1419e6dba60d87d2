"""The host's emulation of f16x3 (tests/unit/f16x3_host.c), with which tests/unit/test_certificate.c searches for large errors, has the
kernels' bits. And the certificate of FP64 by residues (bench/ACCURACY64.md, section 18) against an adversary, in exact integers: dot products that the rule
lets pass, made to lose as much as they can, stay within their bound; where less counts as large they do not."""
import ctypes
import fractions
import math
import random
import struct
import subprocess

import pytest
from conftest import ROOT, store

SOURCES = ["tests/unit/f16x3_host.c", "bench/halftone/accuracy/certificate.c", *(f"runtime/sim/{n}.c" for n in ("sim_f16", "sim_mma", "sim_mma_wide"))]
M, N, K = 24, 20, 120 # one k-split


class Unit(ctypes.Structure):
    _fields_ = [("model", ctypes.c_char_p), ("promote_k", ctypes.c_int), ("corrections_first", ctypes.c_int)]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    library = tmp_path_factory.mktemp("host") / "host.so"
    subprocess.run(["gcc", "-std=c11", "-O1", "-shared", "-fPIC", "-iquote", str(ROOT / "bench/halftone"), "-o", library, *(ROOT / s for s in SOURCES), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.f16x3_host_dot.restype = ctypes.c_float
    loaded.f16x3_host_dot.argtypes = [ctypes.POINTER(Unit), ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float), ctypes.c_int]
    loaded.certificate_exponent.argtypes = [ctypes.c_float]
    return loaded


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


@pytest.mark.parametrize("gpu,unit", [("a800", Unit(b"sm80", 32, 0)), ("h200", Unit(b"sm90", 64, 1))], ids=["a800", "h200"])
def test_the_hosts_emulation_has_the_kernels_bits(gpu, unit, host, tmp_path):
    """Elements over 40 binades, zeros and FP16's subnormals among them."""
    draw = random.Random(3)
    element = lambda: 0.0 if draw.random() < 0.1 else single((1 + draw.random()) * 2.0 ** draw.randint(-30, 10) * draw.choice((-1, 1)))
    a, b = ([[element() for _ in range(K)] for _ in range(rows)] for rows in (M, N))
    for name, x in ("a", a), ("b", b):
        store(tmp_path / f"{name}.npy", x)
    run = subprocess.run([ROOT / f"out/{gpu}/halftone-sim", "mm", "a.npy", "b.npy", "--tb", "--scheme", "f16x3", "-o", "c.npy"], cwd=tmp_path,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    got = struct.unpack(f"<{M * N}f", (tmp_path / "c.npy").read_bytes()[-4 * M * N:])
    row = lambda x, e: (ctypes.c_float * K)(*(v * 2.0 ** -e for v in x))
    for i in range(M):
        for j in range(N):
            ea, eb = (host.certificate_exponent(max(map(abs, x))) for x in (a[i], b[j]))
            # the command computes the transpose, whose left operand is B
            assert host.f16x3_host_dot(unit, row(b[j], eb), row(a[i], ea), K) * 2.0 ** (ea + eb) == got[i * N + j], (i, j)


# ---- of FP64

MODULI = [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193]


@pytest.fixture(scope="module")
def exponent(tmp_path_factory):
    """s of a row."""
    path = tmp_path_factory.mktemp("crt") / "reference.so"
    subprocess.run(["gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-o", str(path), str(ROOT / "tests/unit/fp64_reference.c"), "-lm"], check=True)
    library = ctypes.CDLL(str(path))
    library.fp64_row_exponent.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    return lambda moduli, row: library.fp64_row_exponent(moduli, (ctypes.c_double * len(row))(*row), 1, len(row))


def limit_of(moduli):
    """T: section 14."""
    return fractions.Fraction(math.prod(MODULI[:moduli]), 2) * (1 - fractions.Fraction(1, 2**12)) * (1 - fractions.Fraction(1, 2**40))


def count_exponent(moduli, k, units):
    e = 0
    while 2**(4 * e) * k * (units - 1)**2 < 2**110 * limit_of(moduli) * (1 + fractions.Fraction(1, 2**29)):
        e += 1
    return e


def scaled_integer(x):
    """To nearest, ties away from zero."""
    return math.floor(abs(x) + fractions.Fraction(1, 2)) * (1 if x > 0 else -1)


def error(exponent, moduli, units, a, b, less):
    """Error of a dot product in units of 2^-53 |A||B| units, and whether it is certified, with elements 2^-less as large counted."""
    k, sides = len(a), []
    e = count_exponent(moduli, k, units) - less
    for row in (a, b):
        s = exponent(moduli, row)
        sides.append([fractions.Fraction(x) * fractions.Fraction(2)**s for x in row])
    certified = 4 * sum(abs(x) >= 2**e for side in sides for x in side) >= 5 * k
    exact = sum(x * y for x, y in zip(*sides))
    size = sum(abs(x * y) for x, y in zip(*sides))
    got = sum(scaled_integer(x) * scaled_integer(y) for x, y in zip(*sides))
    rounded = fractions.Fraction(abs(got), 2**53) # at most
    return (abs(got - exact) + rounded) * 2**53 / (units * size) if size else 0, certified


def sum_of(row, s, k):
    """N: at least; what packing makes it larger by helps nobody."""
    return sum(abs(x) for x in row) + fractions.Fraction(k, 4)


def digits(row, total, k):
    log_k = (k - 1).bit_length()
    halvings = max(0, (log_k - 16) // 2)
    w = fractions.Fraction(2)**(math.floor(math.log2(total)) - log_k - 4 + halvings)
    return w, [min((128 >> halvings) - 1, math.floor(abs(x) / w)) for x in row]


def error_by_element(exponent, moduli, units, a, b, slack, by):
    """The same of what the product of absolute values clears, or the element's own size; slack: a factor that does not belong to the rule."""
    k, sides, totals = len(a), [], []
    for row in (a, b):
        s = exponent(moduli, row)
        sides.append([fractions.Fraction(x) * fractions.Fraction(2)**s for x in row])
        totals.append(sum_of(sides[-1], s, k))
    (w, d), (v, f) = (digits(row, total, k) for row, total in zip(sides, totals))
    exact = sum(x * y for x, y in zip(*sides))
    size = sum(abs(x * y) for x, y in zip(*sides))
    got = sum(scaled_integer(x) * scaled_integer(y) for x, y in zip(*sides))
    least = abs(got) if by == "size" else w * v * sum(x * y for x, y in zip(d, f))
    certified = least * slack > sum(totals) * (2**52 * (1 + fractions.Fraction(1, 2**18)) / fractions.Fraction(units - 1) + 1)
    return (abs(got - exact) + fractions.Fraction(abs(got), 2**53)) * 2**53 / (units * size) if size else 0, certified


def climb(rng, exponent, moduli, units, a, b, steps, slack, by):
    """Changes single elements, by signs, powers of two, half units and places, while what is cleared loses more."""
    worst = 0
    for _ in range(steps):
        other = [list(a), list(b)]
        row, i = rng.choice(other), rng.randrange(len(a))
        row[i] = rng.choice([-row[i], row[i] * 2.0**rng.randrange(-60, 61), row[i] * (1 + rng.random()), row[rng.randrange(len(a))]])
        off, certified = error_by_element(exponent, moduli, units, *other, slack, by)
        if certified and off >= worst:
            worst, a, b = off, *other
    return worst


@pytest.mark.parametrize("by", ["abs", "size"])
@pytest.mark.parametrize("moduli, units", [(15, 3), (16, 2.5), (16, 8)])
def test_what_an_elements_test_clears_is_within_its_bound(exponent, moduli, units, by):
    """From rows that lose half a unit at nearly each place: a few places hold all of |A||B|."""
    rng, worst = random.Random(moduli * units), 0
    for _ in range(6):
        k = rng.choice([16, 40])
        large = [2.0**rng.randrange(0, 8) for _ in range(k)]
        small = [2.0**-(53 + rng.randrange(8)) * rng.choice([1, 1.5]) for _ in range(k)]
        own = [rng.random() < 0.3 for _ in range(k)]
        a, b = ([x if mine == (side == 0) else y for x, y, mine in zip(large, small, own)] for side in (0, 1))
        worst = max(worst, climb(rng, exponent, moduli, units, a, b, 120, 1, by))
    assert 0.2 < worst <= 1, float(worst)


@pytest.mark.parametrize("by", ["abs", "size"])
def test_a_looser_factor_would_not_do(exponent, by):
    rng = random.Random(7)
    a, b = [1.0] * 8 + [2.0**-58] * 8, [2.0**-58] * 7 + [2.0**-30] * 2 + [1.0] * 7
    assert climb(rng, exponent, 15, 3, a, b, 600, 16, by) > 1


def hostile(rng, moduli, k, units, less):
    """Each row has elements near its norm, large ones where the other one is below a unit, and what counts, no more of it than is needed, elsewhere."""
    e, own = count_exponent(moduli, k, units) - less, 3 * k // 8
    both = k - 2 * own
    large = 0.98 * math.sqrt(limit_of(moduli) / own) * rng.choice([1, 1, 0.7])
    tiny = rng.choice([0.5, 0.499, 1.5, 0.25])
    near = [2.0**e * rng.choice([1, 1, 1.0000001]) for _ in range(both)]
    a = [large] * own + near + [tiny] * own
    b = [tiny] * own + near[::-1] + [large] * own
    for _ in range(rng.randrange(4)):
        i = rng.randrange(k)
        a[i], b[i] = a[i] * rng.choice([1, -1, 0.99]), b[i] * rng.choice([1, -1, 1.01])
    sign = [rng.choice([1, -1]) for _ in range(both)] # the sum over what counts may cancel
    return a, [y * (sign[i - own] if own <= i < own + both else 1) for i, y in enumerate(b)]


@pytest.mark.parametrize("moduli", [14, 15, 16])
def test_what_is_certified_is_within_its_bound(exponent, moduli):
    rng, worst, passed = random.Random(moduli), 0, 0
    for _ in range(150):
        k = rng.choice([8, 64, 128, 512])
        units = rng.choice([k, k, 2**17])
        off, certified = error(exponent, moduli, units, *hostile(rng, moduli, k, units, 0), 0)
        if certified:
            passed += 1
            worst = max(worst, off)
    assert passed > 50 and 0.1 < worst <= 1, (passed, float(worst))


def test_smaller_elements_would_not_do(exponent):
    rng = random.Random(1)
    found = [error(exponent, 15, 128, *hostile(rng, 15, 128, 128, 2), 2) for _ in range(40)]
    assert any(certified and off > 1 for off, certified in found)


@pytest.mark.parametrize("moduli", [15, 16])
def test_random_data(exponent, moduli):
    """Data of several spans: whatever passes is within the bound, and normal data do pass."""
    rng = random.Random(moduli)
    for phi in (0, 0.5, 1, 2, 4):
        for k in (256, 1024):
            a, b = ([rng.gauss(0, 1) if phi == 0 else (rng.random() - 0.5) * math.exp(phi * rng.gauss(0, 1)) for _ in range(k)] for _ in "ab")
            off, certified = error(exponent, moduli, k, a, b, 0)
            assert off <= 1 or not certified
            assert certified or phi > 0
