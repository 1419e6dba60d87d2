"""`halftone check`: what it says of two matrices is what the library does with them, however they are stored."""
import ctypes
import math
import random
import re
import struct
import subprocess

import pytest
from conftest import ROOT, npy, rows, store
from test_certificate import host, single # noqa: F401: a fixture
from test_operands import FILES, write

COMMAND = ROOT / "out/a800/halftone-sim"
WIDE = npy(1, 1, [0.1], "<f8")


def halftone(*args, **options):
    return subprocess.run([str(COMMAND), *map(str, args)], capture_output=True, text=True, timeout=300, **options)


def load(path, count):
    return struct.unpack(f"<{count}f", path.read_bytes()[-4 * count:])


def wide(draw, rows, cols, span):
    return [[single((1 + draw.random()) * 2.0 ** draw.randint(-span, 0) * draw.choice((-1, 1))) for _ in range(cols)] for _ in range(rows)]


@pytest.mark.whole
def test_what_is_not_cleared_is_what_auto_computes_again(tmp_path):
    """Tiles of C that have f16x3's bits under `auto`, and others, are as many as it says."""
    draw, n, k = random.Random(5), 448, 768
    a = [row for block in range(n // 64) for row in wide(draw, 64, k, (2, 30, 28, 12, 36, 9, 24)[block])]
    b = [list(column) for column in zip(*(c for block in range(n // 64) for c in wide(draw, 64, k, (1, 3, 26, 2, 7, 30, 10)[block])))]
    store(tmp_path / "a.npy", a)
    store(tmp_path / "b.npy", b)
    for scheme in "auto", "f16x3":
        assert halftone("mm", "a.npy", "b.npy", "--scheme", scheme, "-o", f"{scheme}.npy", cwd=tmp_path).returncode == 0
    got, plain = (load(tmp_path / f"{s}.npy", n * n) for s in ("auto", "f16x3"))
    differ = {(i // n // 64, i % n // 64) for i in range(n * n) if got[i] != plain[i]}
    said = re.search(r"at 16 units in (\d+) of (\d+) tiles", halftone("check", "a.npy", "b.npy", "--rows", n, cwd=tmp_path).stdout)
    assert (int(said[1]), int(said[2])) == (len(differ), 49) and 5 < len(differ) < 44


def test_the_certificates_share_is_counted_however_matrices_are_stored(host, tmp_path): # noqa: F811
    """Against single elements with the certificate's own functions."""
    draw, m, n, k = random.Random(7), 70, 66, 40
    a, b = wide(draw, m, k, 44), wide(draw, n, k, 44) # b: columns
    a[3] = [0.0] * k
    host.certificate_threshold.restype = ctypes.c_float
    host.certificate_threshold.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_double]
    host.certificate_passes.argtypes = [ctypes.c_float] * 3
    host.certificate_lost.argtypes = [ctypes.c_float, ctypes.c_int, ctypes.c_int]
    def side(x):
        e = host.certificate_exponent(max(map(abs, x)))
        lost = sum(host.certificate_lost(v, e, 0) for v in x)
        return e, host.certificate_threshold(lost, int(not any(x)), 1, 16.0)
    left, right = [side(x) for x in a], [side(x) for x in b]
    failed = sum(not host.certificate_passes(sum(x * y for x, y in zip(a[i], b[j])) * 2.0 ** -(left[i][0] + right[j][0]), left[i][1], right[j][1])
                 for i in range(m) for j in range(n))
    assert m * n // 50 < failed < m * n // 2
    turned = [list(c) for c in zip(*b)]
    (tmp_path / "set").mkdir()
    for order in False, True:
        for ta in False, True:
            for tb in False, True:
                store(tmp_path / "set/a.npy", [list(c) for c in zip(*a)] if ta else a, order)
                store(tmp_path / "set/b.npy", b if tb else turned, not order)
                line = ("x", "a.npy", "NT"[ta], "b.npy", "NT"[tb], 1)
                run = halftone("check", "--operands", write(tmp_path / "set", [line], {}), "--out", tmp_path / "t.tsv")
                assert run.returncode == 0, run.stderr
                (row,) = rows(tmp_path / "t.tsv")
                assert (row["m"], row["n"], row["k"], row["elements"]) == (str(m), str(n), str(k), str(m * n))
                assert float(row["fail_16"]) == pytest.approx(failed / m / n, rel=6e-3)


@pytest.mark.whole
def test_words_for_two_files(tmp_path):
    """At a shape that is checked, from data of one kind: nothing refused and nothing uncleared; NaN is named."""
    draw = random.Random(1)
    x = [[single(draw.uniform(-1, 1)) for _ in range(768)] for _ in range(448)]
    store(tmp_path / "a.npy", x)
    run = halftone("check", "a.npy", "a.npy", "--tb", "--rows", 64, cwd=tmp_path)
    assert run.returncode == 0 and "a.npy: op(B) is 768 x 448" in run.stdout
    assert "of 28672 elements of C looked at, |C| leaves uncleared 0 (0 %) at 4 units, 0 (0 %) at 16 units" in run.stdout
    x[70][5] = float("nan")
    store(tmp_path / "b.npy", x)
    run = halftone("check", "b.npy", "a.npy", "--tb", "--rows", 448, cwd=tmp_path)
    assert "at 16 units in 7 of 49 tiles" in run.stdout and ", 1 with NaN or Inf" in run.stdout
    assert "leaves uncleared 448 (0.223 %) at 4 units, 448 (0.223 %) at 16 units" in run.stdout


def test_a_shape_that_needs_no_check_is_said_to_be_one(tmp_path):
    (tmp_path / "q.npy").write_bytes(FILES["q.npy"])
    run = halftone("check", "q.npy", "q.npy", "--tb", cwd=tmp_path)
    assert run.returncode == 0 and "scheme bf16x6u" in run.stdout and "at this shape bf16x6u takes every input" in run.stdout
    assert "certificate" not in run.stdout


@pytest.mark.parametrize("args,said", [([], "needs two matrices"), (["a.npy"], "needs two matrices"), (["a.npy", "none.npy"], "none.npy: cannot be opened"),
                                       (["a.npy", "a.npy"], "--ta (given or left out) would make them fit"), (["a.npy", "short.npy"], "short.npy: cut short"),
                                       (["a.npy", "b.npy", "--fp64"], "a.npy: holds float"), (["wide.npy", "wide.npy", "--rows", "64"], "of FP64 products all rows"),
                                       (["--families", "all", "--fp64", "--rows", "64"], "leave out --rows"), (["--operands", ".", "--fp64"], "operands.tsv: cannot be opened"),
                                       (["a.npy", "b.npy", "--out", "t"], "needs two matrices"), (["--families", "nope"], "unknown family 'nope'"),
                                       (["--operands", "."], "operands.tsv: cannot be opened"), (["--families", "all", "--operands", "."], "needs two matrices")])
def test_bad_input_is_one_line(args, said, tmp_path):
    for name in "a.npy", "b.npy":
        (tmp_path / name).write_bytes(FILES[name])
    (tmp_path / "short.npy").write_bytes(FILES["b.npy"][:-7])
    (tmp_path / "wide.npy").write_bytes(WIDE)
    run = halftone("check", *args, cwd=tmp_path)
    assert run.returncode in (1, 2) and run.stdout == "" and run.stderr.count("\n") == 1 and said in run.stderr, run.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "b.npy", "short.npy", "wide.npy"]


def outlier_tiles(rows, height):
    """Of rows along which k runs: tiles of `height` x 32, and which blocks of 64 rows hold those that MixPert's packing marks (bench/ACCURACY.md, section 16)."""
    tiles, marked, blocks = 0, 0, set()
    for top in range(0, len(rows), height):
        for left in range(0, len(rows[0]), 32):
            tile = [row[left:left + 32] for row in rows[top:top + height]]
            largest = max(abs(x) for row in tile for x in row)
            power = 2.0 ** (math.frexp(largest)[1] - 1) if largest > 0 else 2.0 ** -120
            power *= 2 if round(largest / power * 2 ** 20) == 2 ** 21 else 1
            bad = not math.isfinite(largest) or any(any(row) and math.sqrt(sum(x * x for x in row) / len(row)) < power / 16 for row in tile)
            tiles, marked = tiles + 1, marked + bad
            blocks |= {top // 64} if bad else set()
    return tiles, marked, blocks


def test_mixperts_outlier_tiles_are_counted(tmp_path):
    draw, m, n, k = random.Random(11), 150, 210, 100
    a, b = wide(draw, m, k, 2), wide(draw, n, k, 1)
    for row, l, size in ((5, 40, 15.0), (70, 99, 90.0), (149, 0, 300.0)):
        a[row][l] = size
    a[20] = [single(x / 1024) for x in a[20]]
    a[21] = [0.0] * k
    b[203][70] = single(4000)
    a[0][1], a[0][2] = single(2 - 2**-22), single(-2**-130)
    store(tmp_path / "a.npy", a)
    store(tmp_path / "b.npy", [list(row) for row in zip(*b)])
    said = halftone("check", "a.npy", "b.npy", cwd=tmp_path).stdout
    (tiles_a, marked_a, blocks_a), (tiles_b, marked_b, blocks_b) = outlier_tiles(a, 8), outlier_tiles(b, 16)
    assert 5 < marked_a < tiles_a // 2 and marked_b == 1 and len(blocks_a) == 3 - (1 not in blocks_a)
    blocks = 3 * 4 - (3 - len(blocks_a)) * (4 - len(blocks_b))
    numbers = re.search(r"mixpert1 to 4: (\d+) of (\d+) tiles of op\(A\) .* (\d+) of (\d+) of op\(B\) .*: (\d+) of (\d+) blocks", said)
    assert list(map(int, numbers.groups())) == [marked_a, tiles_a, marked_b, tiles_b, blocks, 12]
