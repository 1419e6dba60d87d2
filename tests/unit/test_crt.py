"""Ozaki-II residues: the constants of runtime/ht_crt.h and the reference that kernels are held to (tests/unit/fp64_reference.c) against Python's
integers: exact products, one rounding, the bound of bench/ACCURACY64.md (section 14), and what a power of two on a row or column may change. The same of seven
digits, scheme i8x28 (section 20)."""
import ctypes
import fractions
import itertools
import math
import random
import struct
import subprocess

import pytest
from conftest import ROOT

MODULI = [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173]
SCHEMES = range(14, 21)
SEGMENT, DIGITS = 512, 7


class Table(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("moduli", "product_bits", "digit_words", "value_words", "sum_words", "top_word", "top_shift")] + [
        ("quotient", ctypes.c_int32), ("limit_mantissa", ctypes.c_uint64), ("limit_exponent", ctypes.c_int), ("product", ctypes.c_uint32 * 6),
        ("modulus", ctypes.c_int32 * 20), ("barrett", ctypes.c_int32 * 20), ("start", ctypes.c_int32 * 20), ("inverse", ctypes.c_uint32 * 20),
        ("element", ctypes.c_uint32 * 3 * 20), ("weight", ctypes.c_uint32 * 5 * 20)]


class Fewer(ctypes.Structure):
    _fields_ = [("fewest", ctypes.c_int), ("rows", ctypes.c_int), ("row_words", ctypes.c_int), ("fits", ctypes.c_uint32 * 17), ("row", ctypes.c_uint32 * 114 * 17)]


class Operand(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("row_step", ctypes.c_int64), ("k_step", ctypes.c_int64)]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("crt") / "reference.so"
    subprocess.run(["gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-o", str(path), str(ROOT / "tests/unit/fp64_reference.c"), "-lm"], check=True)
    library = ctypes.CDLL(str(path))
    library.fp64_reference.argtypes = [ctypes.c_int] * 4 + [ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_int64]
    library.fp64_row_exponent.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    return library


def table_of(reference, moduli):
    table = Table()
    assert reference.fp64_table(moduli, ctypes.byref(table)) == 0
    return table


def signed_bytes(words):
    return [b - 256 if b > 127 else b for w in words for b in struct.pack("<I", w)]


@pytest.mark.parametrize("moduli", SCHEMES)
def test_constants_are_those_of_exact_arithmetic(reference, moduli):
    t, p = table_of(reference, moduli), MODULI[:moduli]
    product = math.prod(p)
    assert all(math.gcd(x, y) == 1 for x in p for y in p if x != y)
    assert (list(t.modulus[:moduli]), t.product_bits) == (p, product.bit_length())
    assert sum(w << 32 * i for i, w in enumerate(t.product)) == product
    for l, q in enumerate(p):
        assert t.barrett[l] == (2**39 // q + 1) // 2
        assert abs(fractions.Fraction(struct.unpack("<f", struct.pack("<I", t.inverse[l]))[0]) * q - 1) <= fractions.Fraction(1, 2**24)
        assert (struct.unpack("<f", struct.pack("<i", t.start[l]))[0]) % q == 0
        for j, w in enumerate(signed_bytes(t.element[l])[:4 * t.digit_words]):
            assert (w - 256**j) % q == 0 and abs(2 * w) <= q
        weight = sum(signed_bytes(t.weight[b])[l] * 256**b for b in range(moduli))
        assert abs(2 * weight) <= product and all(weight % r == (r == q) for r in p)
    assert all(signed_bytes(t.weight[b])[l] == 0 for b in range(20) for l in range(20) if l >= moduli or b >= moduli)
    limit = fractions.Fraction(product, 2) * (1 - fractions.Fraction(1, 2**12)) * (1 - fractions.Fraction(1, 2**40))
    assert t.limit_mantissa >> 63 == 1 and abs(t.limit_mantissa * fractions.Fraction(2)**t.limit_exponent / limit - 1) < fractions.Fraction(1, 2**62)
    # a scaled element fits its digits, Z its words
    assert limit < (fractions.Fraction(127, 255) * (256**(4 * t.digit_words) - 1))**2
    assert 64 * moduli * product < 2**(32 * t.sum_words - 1) and 64 * moduli * product >> 32 * t.top_word + t.top_shift < 2**31
    shift = t.product_bits - 20
    assert (t.top_word, t.top_shift) == divmod(shift, 32) and t.quotient == (2**(51 + shift) // product + 1) // 2


def test_constants_of_fewer_moduli_have_the_places_of_all(reference):
    """Weights and product times 2^shift, in 20 digits and in the bits of the product of 20 moduli; the last row is that of all of them."""
    fewer, all20 = Fewer(), table_of(reference, 20)
    assert reference.fp64_fewer(ctypes.byref(fewer)) == 112 and (fewer.fewest, fewer.rows, fewer.row_words) == (4, 17, 112)
    for moduli in range(4, 21):
        row, p = list(fewer.row[moduli - 4]), MODULI[:moduli]
        product, quotient, shift = math.prod(p), row[110], row[111]
        wide = product << shift
        assert wide.bit_length() == all20.product_bits
        for l, q in enumerate(p):
            weight = sum(signed_bytes(row[5 * b:5 * b + 5])[l] * 256**b for b in range(20))
            assert weight % 2**shift == 0 and abs(2 * weight) <= wide and all((weight >> shift) % r == (r == q) for r in p)
        assert all(signed_bytes(row[5 * b:5 * b + 5])[l] == 0 for b in range(20) for l in range(moduli, 20))
        free = (32 * all20.value_words - all20.product_bits) // 8
        assert sum(pair << 16 * i for i, pair in enumerate(row[100:110])) == wide << 8 * free
        assert quotient == (2**(51 + all20.product_bits - 20) // wide + 1) // 2
        limit = fractions.Fraction(product, 2) * (1 - fractions.Fraction(1, 2**12)) * (1 - fractions.Fraction(1, 2**40))
        assert 2**fewer.fits[moduli - 4] <= limit**512 < 2**(fewer.fits[moduli - 4] + 48)
    assert shift == 0 and row[:100] == [w for b in all20.weight for w in b] and quotient == all20.quotient


def test_no_other_schemes(reference):
    assert [m for m in range(0, 40) if reference.fp64_table(m, ctypes.byref(Table())) == 0] == list(SCHEMES)


# ---- products
def uniform(rng):
    return rng.uniform(-1, 1)


def graded(phi):
    return lambda rng: (rng.random() - 0.5) * math.exp(phi * rng.gauss(0, 1))


FAMILIES = {"uniform": uniform, "phi 0.1": graded(0.1), "phi 1": graded(1), "phi 2": graded(2), "phi 4": graded(4),
            "integers": lambda rng: float(rng.randint(-9, 9)), "zeros": lambda rng: 0.0 if rng.random() < 0.9 else rng.gauss(0, 1)}


def problem(name, m, n, k, seed):
    """Rows of A, columns of B."""
    rng = random.Random(f"{name} {seed}")
    if name in FAMILIES:
        return [[FAMILIES[name](rng) for _ in range(k)] for _ in range(m)], [[FAMILIES[name](rng) for _ in range(k)] for _ in range(n)]
    a, b = ([[rng.uniform(-1, 1) for _ in range(k)] for _ in range(rows)] for rows in (m, n))
    if name == "D-scaled":  # rows and columns far apart, up to 2^+-300
        return [[math.ldexp(x, e) for x in row] for row in a for e in [rng.randint(-300, 300)]], [[math.ldexp(x, e) for x in row] for row in b for e in [rng.randint(-300, 300)]]
    if name == "subnormal":
        return [[math.ldexp(x, -1040 - i) for x in row] for i, row in enumerate(a)], [[math.ldexp(x, 3) for x in row] for row in b]
    if name == "subnormal results":
        return [[math.ldexp(x, -500) for x in row] for row in a], [[math.ldexp(x, -560 - 3 * j) for x in row] for j, row in enumerate(b)]
    if name == "overflow":
        return [[math.ldexp(x, 500) for x in row] for row in a], [[math.ldexp(x, 520 + j) for x in row] for j, row in enumerate(b)]
    if name == "cancellation":  # sums of terms in pairs that cancel but for 1e-30 of them
        for row, other in zip(a, b):
            for h in range(0, k - 1, 2):
                row[h + 1], other[h + 1] = row[h], -other[h]
            row[k - 1], other[k - 1] = 1e-15, 1e-15
        return a, b
    assert name == "complementary"  # where A is not zero B is
    return [[x if h % 2 else 0.0 for h, x in enumerate(row)] for row in a], [[0.0 if h % 2 else math.ldexp(x, 40) for h, x in enumerate(row)] for row in b]


NAMES = [*FAMILIES, "D-scaled", "subnormal", "subnormal results", "overflow", "cancellation", "complementary"]
U = fractions.Fraction(1, 2**53)


def run(reference, moduli, a, b, alpha=1.0, beta=0.0, c=None):
    m, n, k = len(a), len(b), len(a[0])
    flat = [(ctypes.c_double * (len(rows) * k))(*[x for row in rows for x in row]) for rows in (a, b)]
    out = (ctypes.c_double * (m * n))(*(c if c else [math.nan] * (m * n)))
    operand = [Operand(ctypes.cast(f, ctypes.c_void_p), k, 1) for f in flat]
    assert reference.fp64_reference(moduli, m, n, k, alpha, ctypes.byref(operand[0]), ctypes.byref(operand[1]), beta, out, m) == 0
    steps = lambda f, rows: [reference.fp64_row_exponent(moduli, ctypes.byref(f, 8 * k * i), 1, k) for i in range(rows)]
    return list(out), steps(flat[0], m), steps(flat[1], n)


def integer(x, s):
    """x 2^s to nearest, ties away from zero."""
    n, d = abs(x).as_integer_ratio()
    n, d = (n << s + 1, d) if s >= -1 else (n, d << -s - 1)
    return int(math.copysign(1, x)) * (n // d + 1 >> 1)


def nearest(x):
    """A fraction rounded to double, ties to even, once; Python's int / int does that."""
    if x == 0:
        return 0.0
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def check(reference, moduli, a, b, alpha=1.0, beta=0.0, c=None):
    got, s, t = run(reference, moduli, a, b, alpha, beta, c)
    product, m, k = math.prod(MODULI[:moduli]), len(a), len(a[0])
    rows, cols = ([[integer(x, e) for x in row] for row, e in zip(side, steps)] for side, steps in ((a, s), (b, t)))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            assert 2 * sum(abs(x * y) for x, y in zip(row, col)) < product * (1 - 2.0**-12), "another product has the same residues"
            exact = sum(x * y for x, y in zip(row, col)) * fractions.Fraction(2)**-(s[i] + t[j])
            at = j * m + i
            whole = fractions.Fraction(alpha) * exact + (fractions.Fraction(beta) * fractions.Fraction(c[at]) if beta else 0)
            assert struct.pack("<d", got[at]) == struct.pack("<d", nearest(whole)), (i, j, got[at])
            true = sum(fractions.Fraction(x) * fractions.Fraction(y) for x, y in zip(a[i], b[j]))
            one = lambda v: sum(abs(fractions.Fraction(x)) for x in v)
            half = lambda e: fractions.Fraction(2)**(-e - 1)
            assert abs(exact - true) <= half(s[i]) * one(b[j]) + half(t[j]) * one(a[i]) + k * half(s[i]) * half(t[j])
    return got, s, t


@pytest.mark.parametrize("name", NAMES)
def test_reference_is_the_exact_product_of_scaled_integers_rounded_once(reference, name):
    for moduli in SCHEMES:
        check(reference, moduli, *problem(name, 3, 2, 70, moduli))
    check(reference, 15, *problem(name, 2, 2, 1300, 1))  # three segments


@pytest.mark.parametrize("name", NAMES)
def test_alpha_and_beta_are_in_the_same_rounding(reference, name):
    rng = random.Random(name)
    a, b = problem(name, 3, 3, 40, 2)
    size = max((abs(x) for x in run(reference, 15, a, b)[0] if math.isfinite(x)), default=1.0)
    for alpha, beta in ((-1.0, 0.0), (0.1, 0.0), (1.0, 1.0), (1 / 3, -0.7), (0.0, 1.5), (-2.0**-30, 2.0**40), (5e-324, 1.0)):
        check(reference, 15, a, b, alpha, beta, [rng.uniform(-1, 1) * min(size, 2.0**1000) for _ in range(9)])


@pytest.mark.parametrize("moduli", SCHEMES)
def test_scale_uses_the_room_that_there_is(reference, moduli):
    """|2^s row|^2 is at most the limit, and 2^(2s + 2) |row|^2 more, within what 15 bits of each element and one for each segment leave."""
    t = table_of(reference, moduli)
    limit = t.limit_mantissa * fractions.Fraction(2)**t.limit_exponent
    for name in NAMES:
        a, b = problem(name, 3, 3, 600, moduli)
        for row, s in zip(a + b, sum(run(reference, moduli, a, b)[1:], [])):
            norm = sum(fractions.Fraction(x)**2 for x in row) * fractions.Fraction(4)**s
            assert norm <= limit and (norm == 0 or 4 * norm > limit * (1 - fractions.Fraction(1, 2**9)))


def test_a_power_of_two_on_a_row_or_column_changes_exponents_alone(reference):
    for name, moduli in itertools.product(("uniform", "phi 2", "zeros", "cancellation"), (15, DIGITS)):
        a, b = problem(name, 3, 3, 100, 3)
        plain = run(reference, moduli, a, b)[0]
        by, to = [-400, 0, 391], [7, -300, 250]
        other = run(reference, moduli, [[math.ldexp(x, e) for x in row] for row, e in zip(a, by)], [[math.ldexp(x, e) for x in row] for row, e in zip(b, to)])[0]
        assert other == [math.ldexp(x, by[at % 3] + to[at // 3]) for at, x in enumerate(plain)]


def test_complementary_zeros_give_exact_zeros(reference):
    got = run(reference, 14, *problem("complementary", 3, 3, 64, 1))[0]
    assert [struct.pack("<d", x) for x in got] == [bytes(8)] * 9


@pytest.mark.parametrize("k", (131072, 133144, 200001))
def test_long_sums(reference, k):
    rng = random.Random(k)
    for name in ("ones", "uniform"):
        a, b = ([[1.0 if name == "ones" else rng.uniform(-1, 1) for _ in range(k)]] for _ in range(2))
        got, s, t = run(reference, 15, a, b)
        exact = sum(integer(x, s[0]) * integer(y, t[0]) for x, y in zip(a[0], b[0]))
        assert 2 * abs(exact) < math.prod(MODULI[:15]) * (1 - 2.0**-12)
        assert got[0] == nearest(exact * fractions.Fraction(2)**-(s[0] + t[0]))


def test_what_is_not_finite(reference):
    nan, inf = math.nan, math.inf
    same = lambda got, want: all(x == y or (x != x and y != y) for x, y in zip(got, want))
    a, b = [[1.0, 2.0], [nan, 1.0], [inf, 0.0]], [[1.0, 1.0], [0.0, 0.0]]
    assert same(run(reference, 15, a, b)[0], [3.0, nan, nan, 0.0, nan, nan])
    assert same(run(reference, 15, a, b, 0.0, 2.0, [1.0, 2.0, inf, nan, 0.0, -0.0])[0], [2.0, 4.0, inf, nan, 0.0, 0.0])
    assert same(run(reference, 15, a, b, -inf, 0.0)[0], [-inf, nan, nan, nan, nan, nan])
    assert same(run(reference, 15, a[:1], b, 1.0, -1.0, [inf, inf])[0], [-inf, -inf])
    assert same(run(reference, 15, a[:1], b, inf, 1.0, [-inf, 1.0])[0], [nan, nan])
    assert same(run(reference, 15, a[:1], b, nan, 0.0)[0], [nan, nan])


# ---- seven digits
def digits_of(n):
    """Of a scaled element, the first one first."""
    found = []
    for _ in range(DIGITS):
        found.append((n + 128) % 256 - 128)
        n = (n - found[-1]) // 256
    assert n == 0 and abs(found[-1]) <= 127
    return found[::-1]


def check_digits(reference, a, b, alpha=1.0, beta=0.0, c=None):
    """The largest error in units of 2^-53 k max|a| max|b|, but for the rounding of C."""
    got, s, t = run(reference, DIGITS, a, b, alpha, beta, c)
    rows, cols = ([[digits_of(integer(x, e)) for x in row] for row, e in zip(side, steps)] for side, steps in ((a, s), (b, t)))
    worst = 0
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            kept = sum(x[p] * y[q] * 256**(DIGITS - 1 - p - q) for x, y in zip(row, col) for p in range(DIGITS) for q in range(DIGITS - p))
            exact = kept * fractions.Fraction(2)**(8 * (DIGITS - 1) - s[i] - t[j])
            at = j * len(a) + i
            whole = fractions.Fraction(alpha) * exact + (fractions.Fraction(beta) * fractions.Fraction(c[at]) if beta else 0)
            assert struct.pack("<d", got[at]) == struct.pack("<d", nearest(whole)), (i, j, got[at])
            true = sum(fractions.Fraction(x) * fractions.Fraction(y) for x, y in zip(a[i], b[j]))
            largest = fractions.Fraction(max(map(abs, a[i]))) * fractions.Fraction(max(map(abs, b[j])))
            assert abs(exact - true) <= 4 * U * len(row) * largest
            worst = max(worst, abs(exact - true) / (U * len(row) * largest) if largest else 0)
    return worst


@pytest.mark.parametrize("name", NAMES)
def test_digits_are_the_kept_products_rounded_once(reference, name):
    check_digits(reference, *problem(name, 3, 2, 70, DIGITS))
    rng = random.Random(name)
    a, b = problem(name, 2, 2, 40, 2)
    size = max((abs(x) for x in run(reference, DIGITS, a, b)[0] if math.isfinite(x)), default=1.0)
    for alpha, beta in ((-1.0, 0.0), (0.1, 0.0), (1.0, 1.0), (1 / 3, -0.7), (0.0, 1.5), (5e-324, 1.0)):
        check_digits(reference, a, b, alpha, beta, [rng.uniform(-1, 1) * min(size, 2.0**1000) for _ in range(4)])


def test_the_largest_of_a_row_has_its_place(reference):
    """From significand 1.fdfdf on the next binade's, at both ends of the range: digits of 127 at most, and 63.74 at least of the first."""
    for significand in ("0x1p0", "0x1.fdfdeffffffffp0", "0x1.fdfdfp0", "0x1.fefefefefefefp0", "0x1.fffffffffffffp0"):
        for exponent in (0, 1023, -1022, -1030, -1074):
            x = math.ldexp(float.fromhex(significand), exponent)
            s = reference.fp64_row_exponent(DIGITS, (ctypes.c_double * 1)(-x), 1, 1)
            assert 63.74 < abs(integer(x, s)) / 256**(DIGITS - 1) < 127.5 and abs(digits_of(integer(-x, s))[0]) <= 127


def test_an_adversary_of_digits_keeps_the_bound(reference):
    """What is left out is largest where all digits but the first are -128: 3 of the 4 units, of sums of one sign."""
    all_low = 64 - 128 / 255 * (1 - 256.0**-6)
    row = [63.75] + [all_low] * 63
    assert 2.9 < check_digits(reference, [row, [-x for x in row]], [row]) <= 4


def test_what_is_not_finite_in_digits(reference):
    same = lambda got, want: all(x == y or (x != x and y != y) for x, y in zip(got, want))
    assert same(run(reference, DIGITS, [[1.0, 2.0], [math.nan, 1.0], [math.inf, 0.0]], [[1.0, 1.0], [0.0, 0.0]])[0], [3.0, math.nan, math.nan, 0.0, math.nan, math.nan])
