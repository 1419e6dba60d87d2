"""The command on FP64 matrices: `mm`, `bench`, `report`, `contract`, `check`, `tune`, `info`, against sums in Python's fractions."""
import random
import re
import struct
import subprocess
from fractions import Fraction

import pytest
from conftest import ROOT

COMMAND = ROOT / "out/a800/halftone-sim"
M, N, K = 21, 17, 40


def halftone(*args, check=True, **options):
    run = subprocess.run([str(COMMAND), *map(str, args)], capture_output=True, text=True, timeout=300, **options)
    assert not check or run.returncode == 0, run.stderr
    return run


def store(path, matrix, fortran=False, kind="d", big_endian=False):
    rows, cols = len(matrix), len(matrix[0])
    order = ">" if big_endian else "<"
    head = f"{{'descr': '{order}f{8 if kind == 'd' else 4}', 'fortran_order': {fortran}, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = [x for line in (zip(*matrix) if fortran else matrix) for x in line]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"{order}{len(data)}{kind}", *data))


def load(path):
    """Type, rows of a C-order file."""
    raw = path.read_bytes()
    head = raw[10:10 + struct.unpack("<H", raw[8:10])[0]].decode()
    rows, cols = map(int, re.search(r"\((\d+), (\d+)\)", head).groups())
    descr = re.search(r"'descr': '(\S+)'", head)[1]
    assert "'fortran_order': False" in head
    flat = struct.unpack(f"<{rows * cols}{'d' if descr == '<f8' else 'f'}", raw[10 + len(head):])
    return descr, [flat[i * cols:(i + 1) * cols] for i in range(rows)]


@pytest.fixture(scope="module")
def operands(tmp_path_factory):
    """Numbers with all 53 bits, some far beyond FP32's range; as they lie in files."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("fp64")
    a, b = ([[draw.uniform(-1, 1) * 2.0 ** draw.randint(-3, 3) for _ in range(cols)] for _ in range(rows)] for rows, cols in ((M, K), (K, N)))
    a[4] = [x * 2.0 ** 400 for x in a[4]]
    store(folder / "a.npy", a)
    store(folder / "b.npy", b)
    store(folder / "at.npy", list(zip(*a)), fortran=True, big_endian=True)
    store(folder / "bt.npy", list(zip(*b)))
    store(folder / "single.npy", [[struct.unpack("<f", struct.pack("<f", x))[0] for x in row] for row in b], kind="f")
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
    (("a.npy", "bt.npy"), ["--tb", "--scheme", "crt15"], "crt15", 2000), (("a.npy", "b.npy"), ["--accuracy", "reproducible"], "crt16", 2000)])
def test_two_files_of_float64_are_multiplied_in_fp64(operands, files, options, scheme, most, tmp_path):
    folder, a, b = operands
    run = halftone("mm", *(folder / name for name in files), *options, "-o", tmp_path / "c.npy")
    descr, c = load(tmp_path / "c.npy")
    assert descr == "<f8" and f"scheme {scheme}, " in run.stdout and 0.05 < worst(a, b, c) <= most


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
    (("single.npy", "bt.npy"), ["--scheme", "crt15"], 1, "single.npy: holds float32"),
    (("a.npy", "b.npy"), ["--accuracy", "bits=60"], 1, "bits=60"), (("a.npy", "b.npy"), ["--scheme", "crt99"], 2, "for FP64 products: native64"),
    (("a.npy", "b.npy"), ["--accuracy", "fp128"], 2, "fp128"), (("a.npy", "a.npy"), [], 1, "the inner sizes")])
def test_what_fp64_cannot_do_has_one_line_and_writes_nothing(operands, files, options, code, says, tmp_path):
    run = halftone("mm", *(operands[0] / name for name in files), *options, "-o", tmp_path / "c.npy", check=False)
    assert run.returncode == code and run.stderr.count("\n") == 1 and says in run.stderr and not (tmp_path / "c.npy").exists(), run.stderr
