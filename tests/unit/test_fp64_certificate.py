"""The certificate of FP64 by residues (bench/ACCURACY.md, section 18) against an adversary, in exact integers: dot products that the rule lets pass, made
to lose as much as they can, stay within their bound; where less counts as large they do not."""
import ctypes
import fractions
import math
import random
import subprocess

import pytest
from conftest import ROOT

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


# ---- results that certify themselves

def parts_of(row):
    """A row's sum of parts as packing adds it up: units of 2^(M - 14), M the largest binade of the row, and M."""
    segments = [row[i:i + 512] for i in range(0, len(row), 512)]
    largest = [max(abs(x) for x in segment) for segment in segments]
    binade = math.frexp(max(largest))[1] - 1
    total = 0
    for segment, most in zip(segments, largest):
        if most > 0:
            own = math.frexp(most)[1] - 1
            parts = sum(math.floor(abs(fractions.Fraction(x)) * fractions.Fraction(2)**(14 - own)) + 1 for x in segment + [0] * (512 - len(segment)))
            total += (((parts - 1) >> 13) + 1 << 13 >> binade - own) + 1
    return total, binade


def unit_of(moduli):
    """X's top word: words of 32 bits for P, whole bytes of which are free on top."""
    bits = math.prod(MODULI[:moduli]).bit_length()
    words = -(-bits // 32) * 32
    return words - 32 - (words - bits) // 8 * 8


def self_certified(exponent, moduli, units, a, b, less):
    """As `error`, with thresholds 2^-less as large."""
    scaled, thresholds = [], 0
    factor = (1 + (1 + fractions.Fraction(1, 2**53)) * 2**53 / (units - 1)) / 2
    for row in (a, b):
        s, (parts, binade) = exponent(moduli, row), parts_of(row)
        scaled.append([fractions.Fraction(x) * fractions.Fraction(2)**s for x in row])
        thresholds += math.floor((parts + 8) * fractions.Fraction(2)**(binade - 14 + s - unit_of(moduli) - less) * factor) + 1
    got = sum(scaled_integer(x) * scaled_integer(y) for x, y in zip(*scaled))
    exact, size = (sum(x * y for x, y in zip(*scaled)), sum(abs(x * y) for x, y in zip(*scaled)))
    certified = (got if got >= 0 else ~got) >> unit_of(moduli) >= thresholds
    return (abs(got - exact) + fractions.Fraction(abs(got), 2**53)) * 2**53 / (units * size), certified


def cancelling(rng, moduli, k, units, step):
    """Large elements where the other one is half a unit off, and two products that leave 2^step of the scale where they cancel."""
    own = (k - 4) // 2
    large = math.sqrt(float(limit_of(moduli)) / own) * rng.choice([0.6, 0.9, 0.3])
    half = [rng.choice([0.5, 0.499, 1.5, 2.5]) for _ in range(own)]
    a, b = [large] * own + half, half + [large] * own
    near, sign = 2.0**(step / 2), rng.choice([1, -1])
    a += [near, near * rng.choice([0, 0.5, 0.99]), 0, 0]
    b += [sign * near, -sign * near, 0, 0]
    return a, b


@pytest.mark.parametrize("moduli", [14, 15, 16])
def test_what_certifies_itself_is_within_its_bound(exponent, moduli):
    """Climbs to the largest error of a result that still certifies itself: by the step at which it just does."""
    rng, worst, passed, refused = random.Random(moduli), 0, 0, 0
    for _ in range(40):
        k = rng.choice([8, 64, 128])
        units = rng.choice([k, k, 4, 2**17])
        state = rng.getstate()
        low, high = 40.0, 124.0
        while high - low > 0.3:
            rng.setstate(state)
            step = (low + high) / 2
            off, certified = self_certified(exponent, moduli, units, *cancelling(rng, moduli, k, units, step), 0)
            refused, low, high = (refused, low, step) if certified else (refused + 1, step, high)
            if certified:
                passed, worst = passed + 1, max(worst, off)
                assert off <= 1, (k, units, step, float(off))
    assert passed > 60 and refused > 30 and worst > 0.2, (passed, refused, float(worst))


def test_smaller_results_would_not_do(exponent):
    rng = random.Random(2)
    found = [self_certified(exponent, 15, 128, *cancelling(rng, 15, 128, 128, step), 4) for step in range(110, 60, -1) for _ in range(4)]
    assert any(certified and off > 1 for off, certified in found)


@pytest.mark.parametrize("moduli", [15, 16])
def test_random_data_certify_themselves(exponent, moduli):
    """Whatever its signs and span: what passes is within its bound; of one sign all pass where large elements meet."""
    rng = random.Random(moduli)
    for phi in (0, 1, 2, 4):
        for positive in (False, True):
            a, b = ([(rng.random() - 0.5) * math.exp(phi * rng.gauss(0, 1)) for _ in range(512)] for _ in "ab")
            a, b = ([abs(x) for x in row] if positive else row for row in (a, b))
            off, certified = self_certified(exponent, moduli, 512, a, b, 0)
            assert off <= 1 or not certified
            assert certified or not positive or phi > 2
