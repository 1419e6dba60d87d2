"""The command on FP64 matrices: `mm`, `bench`, `report`, `contract`, `check`, `tune`, `info`, against sums in Python's fractions."""
import ctypes
import functools
import math
import random
import re
import struct
import subprocess
from fractions import Fraction

import pytest
from conftest import ROOT, load, rows
from conftest import store as store_any

COMMAND = ROOT / "out/a800/halftone-sim"
M, N, K = 21, 17, 40
store = functools.partial(store_any, descr="<f8")


def halftone(*args, check=True, **options):
    run = subprocess.run([str(COMMAND), *map(str, args)], capture_output=True, text=True, timeout=300, **options)
    assert not check or run.returncode == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def operands(tmp_path_factory):
    """Numbers with all 53 bits, some far beyond FP32's range; as they lie in files."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("fp64")
    a, b = ([[draw.uniform(-1, 1) * 2.0 ** draw.randint(-3, 3) for _ in range(cols)] for _ in range(rows)] for rows, cols in ((M, K), (K, N)))
    a[4] = [x * 2.0 ** 400 for x in a[4]]
    store(folder / "a.npy", a)
    store(folder / "b.npy", b)
    store(folder / "at.npy", list(zip(*a)), fortran=True, descr=">f8")
    store(folder / "bt.npy", list(zip(*b)))
    store(folder / "single.npy", [[struct.unpack("<f", struct.pack("<f", x))[0] for x in row] for row in b], descr="<f4")
    return folder, a, b


def worst(a, b, c):
    """Largest error in 2^-53 |A||B|, exactly."""
    def one(i, j):
        products = [Fraction(x) * Fraction(row[j]) for x, row in zip(a[i], b)]
        return abs(Fraction(c[i][j]) - sum(products)) / sum(map(abs, products))
    return float(max(one(i, j) for i in range(M) for j in range(N)) * 2 ** 53)


@pytest.mark.parametrize("files, options, scheme, most", [
    (("a.npy", "b.npy"), [], "native64", K + 4), (("at.npy", "bt.npy"), ["--ta", "--tb"], "native64", K + 4),
    (("a.npy", "b.npy"), ["--accuracy", "fp64"], "native64", K + 4), (("a.npy", "b.npy"), ["--accuracy", "bits=40"], "native64", K + 4),
    (("a.npy", "bt.npy"), ["--tb", "--scheme", "crt16"], "crt16", 2000), (("a.npy", "b.npy"), ["--accuracy", "reproducible"], "crt16", 2000)])
def test_two_files_of_float64_are_multiplied_in_fp64(operands, files, options, scheme, most, tmp_path):
    folder, a, b = operands
    run = halftone("mm", *(folder / name for name in files), *options, "-o", tmp_path / "c.npy")
    descr, c = load(tmp_path / "c.npy")
    assert b"'fortran_order': False" in (tmp_path / "c.npy").read_bytes()[:128]
    assert descr == "<f8" and f"scheme {scheme}, " in run.stdout and 0.05 < worst(a, b, c) <= most


@pytest.mark.parametrize("options, code, says", [
    (["--accuracy", "exact"], 2, "'exact' for FP64 products is none of fp64, fp64-fast, fp64-exact, invariant, reproducible, bits=N"),
    (["--accuracy", "bits=0"], 2, "'bits=0' for FP64 products is none of fp64, fp64-fast, fp64-exact"), (["--accuracy", "fp64:half"], 2, "'half' for FP64 products is none of fp64, "),
    (["--scheme", "nope"], 2, "unknown scheme 'nope'"),
    (["--accuracy", "bits=50"], 1, f"this product: no scheme of this library has that accuracy (bits=50: at k = {K} scheme native64 keeps bits=47, accuracy fp64-exact bits=53"),
    (["--accuracy", "bound=1e-16"], 1, "keeps bits=50"), (["--accuracy", "bits=54"], 1, "bits=54: at k = 1 scheme native64 keeps bits=50)")])
def test_what_fp64_files_cannot_have_is_said_for_their_type(operands, options, code, says, tmp_path):
    folder, exact = operands[0], "crt20" in halftone("info").stdout
    run = halftone("mm", folder / "a.npy", folder / "b.npy", *options, "-o", tmp_path / "c.npy", check=False)
    says = says if exact else says.replace(", accuracy fp64-exact bits=53", "")
    assert run.returncode == code and says in run.stderr and run.stderr.count("\n") == 1 and not any(tmp_path.iterdir()), run.stderr


@pytest.mark.parametrize("args", [["bench", "--fp64", "--accuracy", "exact"], ["report", "--fp64", "--accuracy", "exact"], ["report", "--accuracy", "exact"],
                                  ["contract", "--fp64", "--accuracy", "bits=0"], ["contract", "--fp64", "--scheme", "nope"], ["bench", "--schemes", "nope"]])
def test_a_name_that_nothing_has_is_wrong_usage(args):
    run = halftone(*args, check=False)
    assert run.returncode == 2 and ("fp64-exact" if "--accuracy" in args else "crt15") in run.stderr and run.stderr.count("\n") == 1, run.stderr


def test_a_prefix_chooses_the_type(operands, tmp_path):
    folder, c = operands[0], tmp_path / "c.npy"
    for accuracy, descr in ("fp32:bits=12", "<f4"), ("fp64:bits=12", "<f8"), ("bits=12", "<f8"), ("fp64:fp64-fast", "<f8"):
        halftone("mm", folder / "b.npy", folder / "bt.npy", "--accuracy", accuracy, "-o", c)
        assert load(c)[0] == descr
    run = halftone("mm", folder / "single.npy", folder / "bt.npy", "--accuracy", "bound=1e-10", "-o", c, check=False)
    assert run.returncode == 1 and "2^-24 |A||B|" in run.stderr  # for FP32, which these files are


def test_fp32_is_what_it_was(operands, tmp_path):
    """With a name of FP32's, or where one file is not float64; what float32 cannot hold is refused."""
    folder, c = operands[0], tmp_path / "c.npy"
    for files, options in ((("b.npy", "bt.npy"), ["--accuracy", "fp32"]), (("b.npy", "bt.npy"), ["--scheme", "i8x6"]), (("bt.npy", "single.npy"), [])):
        run = halftone("mm", *(folder / name for name in files), *options, "-o", c)
        assert load(c)[0] == "<f4" and "native64" not in run.stdout
    run = halftone("mm", folder / "a.npy", folder / "b.npy", "--accuracy", "fp32", "-o", c, check=False)
    assert run.returncode == 1 and "too large for float32" in run.stderr


@pytest.mark.parametrize("files, options, code, says", [
    (("a.npy", "single.npy"), ["--accuracy", "fp64"], 1, "single.npy: holds float32, and FP64 products take float64"),
    (("single.npy", "bt.npy"), ["--scheme", "crt16"], 1, "single.npy: holds float32"),
    (("a.npy", "b.npy"), ["--accuracy", "bits=60"], 1, "bits=60"), (("a.npy", "b.npy"), ["--scheme", "crt99"], 2, "; for FP64 products: "),
    (("a.npy", "b.npy"), ["--accuracy", "fp128"], 2, "fp128"), (("a.npy", "a.npy"), [], 1, "the inner sizes")])
def test_what_fp64_cannot_do_has_one_line_and_writes_nothing(operands, files, options, code, says, tmp_path):
    run = halftone("mm", *(operands[0] / name for name in files), *options, "-o", tmp_path / "c.npy", check=False)
    assert run.returncode == code and run.stderr.count("\n") == 1 and says in run.stderr and not (tmp_path / "c.npy").exists(), run.stderr


# ---- check

def steps(rows, k, large):
    """Rows along k of elements that count, as many as large says, in 1 to 1.25, and of others, in 2^-20; None: a row of zeros, -1: one with NaN."""
    draw = random.Random(rows)
    out = [[draw.choice((-1, 1)) * draw.uniform(1, 1.25) * 2.0 ** (300 - 20 * (l >= (large[i] or 0))) for l in range(k)] for i in range(rows)]
    for i in range(rows):
        draw.shuffle(out[i])
        out[i] = [0.0] * k if large[i] is None else [math.nan] + out[i][1:] if large[i] == -1 else out[i]
    return out


def test_check_counts_large_elements_of_two_files_however_they_are_stored(tmp_path):
    """Against counts that are known."""
    m, n, k, draw = 70, 130, 64, random.Random(5)
    large_a, large_b = [draw.randint(30, k) for _ in range(m)], [draw.choice((16, 40, 48, 49, 64)) for _ in range(n)]
    large_a[0:4], large_a[64:], large_b[:64], large_b[128] = [16, 31, 32, 64], [64, 64, None, 64, 64, 64], [64] * 64, -1
    a, b = steps(m, k, large_a), steps(n, k, large_b)
    count = lambda large: 80 if large is None else -10**6 if large == -1 else large
    for order, ta, tb in ((False, 0, 0), (True, 0, 1), (False, 1, 1), (True, 1, 0)):
        store(tmp_path / "a.npy", list(zip(*a)) if ta else a, order)
        store(tmp_path / "b.npy", b if tb else list(zip(*b)), not order)
        run = halftone("check", "a.npy", "b.npy", *["--ta"] * ta, *["--tb"] * tb, cwd=tmp_path)
        said = run.stdout
        assert "fp64, 70 x 130 x 64: scheme native64" in said and "takes every input: nothing of the data decides" in said
        assert re.search(r"a row and a column need 80 such elements together, of 64 each", said)
        assert "some have fewer: more moduli compute C" in said
        for name, lines, large in (("row", m, large_a), ("column", n, large_b)):
            half, zero, nan = re.search(rf"{name}: (\d+) of {lines} have half[^,]*, so that[^,]*((?:, \d+ zero)?)((?:, \d+ with NaN or Inf)?)\n", said).groups()
            assert int(half) == sum(2 * count(x) >= 80 for x in large) and bool(zero) == (None in large) and bool(nan) == (-1 in large)
            ordinary = sorted(x for x in large if x is not None and x != -1)
            share = [float(x) for x in re.search(rf"large elements of a {name}: least (\S+) %.* tenth of them up to (\S+) %, half up to (\S+) %, nine tenths up to (\S+) %, most (\S+) %", said).groups()]
            expected = [100 * ordinary[int(at * (len(ordinary) - 1) + 0.5)] / k for at in (0, 0.1, 0.5, 0.9, 1)]
            assert share == pytest.approx(expected, rel=1e-3)
        mean = sum(x for x in large_a if x is not None and x != -1) / m / k
        assert float(re.search(r"op\(A\) is 70 x 64\n  (\S+) % of its elements are large", said)[1]) == pytest.approx(100 * mean, rel=1e-3)


def test_check_of_families_in_fp64(tmp_path):
    """Normal data are residues', sparse ones native64's, NaN is one row's and one column's; whose certificate, where one can be had."""
    run = halftone("check", "--fp64", "--families", "normal,sparse,zeros,nan", "--n", 128, "--k", 512, "--out", tmp_path / "t.tsv")
    normal, sparse, zeros, nan = rows(tmp_path / "t.tsv")
    assert run.stderr.count("\n") <= 1 and {row["scheme"] for row in (normal, sparse, zeros, nan)} == {"native64"} and normal["counted"].startswith("crt")
    assert float(normal["large_a"]) > 0.8 and (normal["rows_a"], normal["rows_b"], normal["enough"]) == ("1", "1", "1")
    assert float(sparse["large_a"]) < 0.02 < 0.97 < float(sparse["zero_a"]) and (sparse["rows_a"], sparse["enough"]) == ("0", "0")
    assert (zeros["enough"], zeros["rows_a"], nan["enough"]) == ("1", "1", "0")
    halftone("check", "--fp64", "--families", "normal", "--n", 16, "--k", 1, "--out", tmp_path / "t.tsv")
    (one,) = rows(tmp_path / "t.tsv")
    assert (one["counted"], one["enough"], one["large_a"]) == ("-", "n/a", "n/a")
    halftone("check", "--fp64", "--families", "normal", "--n", 16, "--k", 131073, "--out", tmp_path / "t.tsv")  # more than i8x28's sums hold
    (one,) = rows(tmp_path / "t.tsv")
    assert one["counted"].startswith("crt") and one["enough"] == "1"


# ---- bench and report

def test_bench_times_fp64_products_and_says_their_errors(tmp_path):
    halftone("bench", "--fp64", "--sizes", 72, "--trans", "NN,TN", "--out", tmp_path / "b.tsv")
    table = rows(tmp_path / "b.tsv")
    methods = [row["method"] for row in table if row["trans"] == "NN"]
    assert {"native64", "crt16"} <= set(methods) and [row["method"] for row in table if row["trans"] == "TN"] == methods
    for row in table:
        if not re.match("native64|crt", row["method"]):
            continue
        assert float(row["tflops"]) > 0 and row["tflops/dgemm"] == "n/a" and 1e-18 < float(row["rel_frobenius"]) < 1e-15, row
        native = row["method"] == "native64"
        assert row["bound"] == ("76" if native else "n/a") and (float(row["workspace_mib"]) == 0) == native and float(row["grade"]) < 76
    assert "2^-53 |A||B|" in (tmp_path / "b.tsv").read_text()


@pytest.mark.parametrize("type_", [[], ["--fp64"]])
def test_with_beta_the_product_alone_is_judged(type_, tmp_path):
    for beta in "0", "0.5":
        halftone("bench", *type_, "--sizes", 40, "--seconds", "0.001", "--beta", beta, "--out", tmp_path / beta)
    without, added = rows(tmp_path / "0"), rows(tmp_path / "0.5")
    assert [(row["kernel"], row["grade"]) for row in without] == [(row["kernel"], row["grade"]) for row in added]
    assert "+ 0.5 C" in (tmp_path / "0.5").read_text() and " C;" not in (tmp_path / "0").read_text()


def test_report_has_every_scheme_on_families_in_fp64(tmp_path):
    run = halftone("report", "--schemes", "native64,crt16", "--accuracy", "fp64-fast", "--sizes", "48", "--families", "uniform,cancel1e6,integers,inf", "--out", tmp_path / "r")
    table = rows(tmp_path / "r/report.tsv")
    assert [row["method"] for row in table[:4]] == ["cpu-fp64", "native64", "crt16", "accuracy:fp64-fast"] and len(table) == 16
    at = {(row["family"], row["method"]): row for row in table}
    assert all(int(row["wrong_class"]) == 0 for row in table if row["family"] != "inf")
    assert all(float(row["grade"]) == 0 for row in table if row["family"] == "integers")
    assert at["inf", "native64"]["wrong_class"] == "0" and int(at["inf", "crt16"]["wrong_class"]) > 0
    assert 1e-14 < float(at["cancel1e6", "native64"]["rel_frobenius"]) < 1e-7 and 0 < float(at["uniform", "native64"]["grade/bound"]) < 1
    assert "native FP64: cpu-fp64" in run.stdout


@pytest.mark.parametrize("args, says", [
    (["bench", "--schemes", "crt16,f16x3"], "'f16x3' and a name before it are"), (["report", "--accuracy", "fp64,fp32"], "FP32's and FP64's together"),
    (["bench", "--fp64", "--accuracy", "tf32"], "--fp64: this build has 'accuracy:tf32' for FP32 alone"),
    (["bench", "--fp64", "--pad", "3"], "leave out --pad"), (["bench", "--fp64", "--schemes", "nothing"], "unknown scheme 'nothing'"),
    (["bench", "--fp64", "--accuracy", "bits=60"], "bits=60"), (["report", "--fp64", "--html", "x.html"], "the page is of FP32 products alone: leave out --html")])
def test_what_bench_and_report_cannot_do_in_fp64_has_one_line(args, says, tmp_path):
    run = halftone(*args, "--sizes", 16, check=False, cwd=tmp_path)
    assert run.returncode in (1, 2) and run.stderr.strip().splitlines()[-1].startswith(f"halftone {args[0]}: ") and says in run.stderr


# ---- the truth that they use

@pytest.fixture(scope="module")
def host(tmp_path_factory):
    out = tmp_path_factory.mktemp("reference") / "reference.so"
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-shared", "-fPIC", "-iquote", str(ROOT / "bench/halftone"), str(ROOT / "bench/halftone/accuracy/reference.c"),
                    str(ROOT / "bench/halftone/io/threads.c"), "-o", str(out), "-lm", "-lpthread"], check=True)
    return ctypes.CDLL(str(out))


class Reference(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_int64), ("cols", ctypes.c_int64), ("row", ctypes.POINTER(ctypes.c_int64)),
                *((name, ctypes.POINTER(ctypes.c_double)) for name in ("exact", "magnitude", "low", "single"))]


class Errors(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_double) for name in ("rel_frobenius", "grade", "max_error", "mred", "max_abs", "max_error_cpu", "mred_cpu", "max_abs_cpu")),
                ("wrong_class", ctypes.c_int64)]


def test_the_reference_has_twice_the_precision(host):
    """Sums that cancel to 1e-25 of their terms; errors and classes of a result that is off by known amounts."""
    draw, m, n, k = random.Random(9), 3, 2, 60
    a = [[draw.uniform(-1, 1) for _ in range(k // 2)] for _ in range(m)]
    a = [row + row for row in a]
    half = [[draw.uniform(-1, 1) for _ in range(n)] for _ in range(k // 2)]
    b = half + [[-x * (1 + 2.0 ** -52) + 1e-25 * draw.uniform(-1, 1) if j else -x + 0.0 for j, x in enumerate(row)] for row in half]
    flat = (ctypes.c_double * (m * k))(*[a[i][l] for l in range(k) for i in range(m)]), (ctypes.c_double * (k * n))(*[b[l][j] for j in range(n) for l in range(k)])
    r, i64 = Reference(), ctypes.c_int64
    assert host.reference_make_wide(ctypes.byref(r), ctypes.c_char(b"N"), ctypes.c_char(b"N"), i64(m), i64(n), i64(k), flat[0], i64(m), flat[1], i64(k), i64(0)) == 0
    for i in range(m):
        for j in range(n):
            products = [Fraction(a[i][l]) * Fraction(b[l][j]) for l in range(k)]
            got = Fraction(r.exact[i + j * m]) + Fraction(r.low[i + j * m])
            assert abs(got - sum(products)) <= Fraction(2) ** -98 * sum(map(abs, products))
    c = (ctypes.c_double * (m * n))(*[r.exact[i] for i in range(m * n)])
    errors = Errors()
    c[m + 1] += 1000 * 2.0 ** -53 * r.magnitude[m + 1]
    host.reference_compare_wide(ctypes.byref(r), c, i64(m), ctypes.byref(errors))
    assert errors.grade == pytest.approx(1000, rel=1e-2) and errors.wrong_class == 0
    c[0] = float("inf")
    host.reference_compare_wide(ctypes.byref(r), c, i64(m), ctypes.byref(errors))
    assert errors.wrong_class == 1 and errors.grade != errors.grade
    host.reference_free(ctypes.byref(r))


# ---- contract and info

def test_contract_holds_fp64_products_to_their_bounds(tmp_path):
    """Near enough to the bound that a thousandth of it would not do; NaN and Inf where each scheme says."""
    for options, scheme, of in ((["--accuracy", "fp64"], "native64", "|A||B|"), (["--scheme", "crt16"], "crt16", "k max|a| max|b|")):
        run = halftone("contract", *options, "--n", 33, "--k", "1,70", "--families", "uniform,phi2,inf,nan,cancel1e4", "--out", tmp_path / "c.tsv")
        table = rows(tmp_path / "c.tsv")
        assert len(table) == 10 and {(row["scheme"], row["of"], row["verdict"], row["wrong_class"]) for row in table} == {(scheme, of, "kept", "0")}
        assert 1e-3 < max(float(row["worst/bound"]) for row in table) < 1 and "0 of 10 trials are beyond their bound" in run.stdout
    run = halftone("contract", "--accuracy", "fp32", check=False)
    assert run.returncode == 2 and "--accuracy takes FP64's" in run.stderr
    run = halftone("contract", "--fp64", "--special", check=False)
    assert run.returncode == 2 and "--special is for FP32" in run.stderr


def test_info_lists_fp64_schemes_with_bounds_and_accuracies():
    text = halftone("info").stdout
    assert re.search(r"^native64 +1 +one rounded FP64 FMA for each k", text, re.M) and re.search(r"^crt16 .*2\^-62", text, re.M)
    assert re.search(r"^fp64 +\w+ \(\d+, .* us\)", text, re.M) and re.search(r"^bits=44 +none", text, re.M) and "ht_native64_" in text
    assert "# Schemes for FP64 products\nscheme\tproducts\tbound\trange\n" in halftone("info", "--tsv").stdout
