"""test_check must disagree when the data check is wrong, and test_product when packing is: the verdict, the kernels that ask for
it, what packing counts, how it reads columns that begin anywhere, and what a product's kernel computes of the blocks that it leaves out
are broken on purpose. About 70 seconds."""
import os
import subprocess

import pytest
from conftest import ROOT, SIM, runtime_objects

GEMM, PACK, REDUCE, FALLBACK = "ht_f16x3_*_64x64x32_*", "ht_pack_f16x3_*", "ht_reduce_sm80*", "ht_*_fallback_*"
TESTS = {GEMM: "kernels_*", PACK: "packing_*", REDUCE: "kernels_*", FALLBACK: "the_fallback_*"}
BREAKS = {
    "no threshold": (GEMM, "return spare >= 0;", "return true;"),
    "the last piece is not looked at": (REDUCE, "p < g.k_segments; p += 32) {\n        const int x", "p < g.k_segments - 1; p += 32) {\n        const int x"),
    "smaller elements count": (PACK, "LARGE_LEAST = 0x58005800u", "LARGE_LEAST = 0x57ff57ffu"),
    "one shortage decides, whatever makes up for it": (GEMM, "if (least >= 0 || least == RANGE_NONFINITE)", "if (least < 1)"),
    "NaN goes unseen": (PACK, "counted < 0x10000 ? counted : NONFINITE", "counted & 0xffff"),
    "padding counts as k": (PACK, "left < at.tiles * 64 ? left : at.tiles * 64", "at.tiles * 64"),
    "the first look passes B over": (FALLBACK, "count = a_count + (g.n + 63) / 64 * numbers;", "count = a_count;"),
    "the first look is at the first entry": (FALLBACK, "ht_any_out_of_range(g, entry, THREADS)", "ht_any_out_of_range(g, 0, THREADS)"),
    "one alarm is enough": (FALLBACK, "ht_flag_is_set(g.a_any_flag) + ht_flag_is_set(g.b_any_flag) > 0", "ht_flag_is_set(g.a_any_flag)"),
    "no alarm for what is short": (PACK, "if (number < 0)", "if (number < -999999)"),
    "one number of four": (GEMM, "return first < second ? first : second;", "return first;"),
    "numbers of 16 rows as of 64": (FALLBACK, "numbers = g.k_segments * g.counts_per_block", "numbers = g.k_segments"),
    "a strip's padding counts as k": (PACK, "left < STRIP_K ? left : STRIP_K", "STRIP_K"),
    "a strip's rows are counted together": (PACK, "at.row0 % 64 / ROWS_OF_BLOCK;", "0;"),
    "a strip looks at its own rows only": (PACK, "write_rows<shape, CHECK, ROOM_OTHERS, ROOM_PARTS>", "write_rows<shape, CHECK, ROOM_MEASURED, shape::PARTS>"),
    "half of a long row is not measured": (PACK, "p < PARTS; p++)\n        most =", "p < 1; p++)\n        most ="),
    "half of a long row is not counted": (PACK, "for (int p = 0; p < SHAPE::PARTS; p++)\n        counted +=", "for (int p = 0; p < 1; p++)\n        counted +="),
    "zeros behind the matrix count": (PACK, "at.row0 + row < g.rows ? count_of(counted)", "at.row0 + row < g.rows + 64 ? count_of(counted)"),
    "the last tile is not walked to": (FALLBACK, "tile < tiles;", "tile < tiles - 1;"),
}
# in a kernel of h200, the first that test_check runs in all layouts
INSIDE = {
    "every part of k stores": ("w.split == 0 && w.m0 % 64", "w.m0 % 64"),
    "only the first warpgroup's columns": ("part_at(w, w.n0 + wg * WN, part)", "part_at(w, w.n0, part)"),
    "rows beyond C": ("if (first + i * 8 < g.m && side + to_side < g.n)", "if (side + to_side < g.n)"),
    "rows beyond A": ("(i * 8 < l.last ? i * 8 : l.last)", "i * 8"),
    "wide whatever the edge": ("l.wide = end <= rows && (", "l.wide = (!k_contiguous || end <= rows) && ("),
    "16 bytes wherever they begin": ("(unsigned long long)ld * 4) % 16 == 0", "(unsigned long long)ld * 4) % 4 == 0"),
    "the last k is left out": ("v[h] = h < left ?", "v[h] = h < left - 1 ?"),
    "k beyond the matrix": ("v[h] = h < left ?", "v[h] = h <= left ?"),
    "the last step of wide lines is left out": ("step <= steps; step++", "step < steps; step++"),
    "sums are rounded to FP32": ("ht_mma_f64_16816(sum[i][j], p[i], q);", "ht_mma_f64_16816(sum[i][j], p[i], q), sum[i][j][0] = (float)sum[i][j][0];"),
    "rows of a fragment exchanged": ("p[i / 2][h * 2 + i % 2]", "p[i / 2][h * 2 + 1 - i % 2]"),
}
LAUNCH = {
    "the last tile is not walked to": ("tile < tiles;", "tile < tiles - 1;"),
    "the first look is at the first entry": ("ht_any_out_of_range(g, entry, THREADS)", "ht_any_out_of_range(g, 0, THREADS)"),
    "one alarm is enough": ("ht_flag_is_set(g.a_any_flag) + ht_flag_is_set(g.b_any_flag) > 0", "ht_flag_is_set(g.a_any_flag)"),
    "rows and columns exchanged": ("row = tile % high, col = tile / high", "row = tile / high, col = tile % high"),
}
SHIFTS = {
    "a word of the wrong piece": ("by_two ? x.high.z : x.high.x", "x.high.x"),
    "all columns begin alike": ("shift = K_MAJOR ? 0 : (int)g.ld", "shift = 0"),
    "read beyond the end of a column": ("start + 64 + 4 <= length", "start + 60 <= length"),
    "one element too many at the end": ("left > 3 ?", "left > 2 ?"),
    "rows read beyond the matrix": ("SHAPE::BY_K ? rows > 0 ? k : 0 :", "SHAPE::BY_K ? k :"),
    "k read beyond the matrix": ("k > 0 ? rows : 0", "rows"),
    "aligned loads of what begins anywhere": ("whole = is_aligned(g, at.src) && at.row0 + SHAPE", "whole = at.row0 + SHAPE"),
    "the rows' last k is left out": ("if (i * SHAPE::FAR < at.padded - at.k)", "if (i * SHAPE::FAR < at.padded - 64 - at.k)"),
    "a strip's numbers go to another row": ("exchange.published + exchange.piece * STRIP_ROWS + row,", "exchange.published + exchange.piece * STRIP_ROWS + (row ^ 1),"),
    "strips leave the meeting half clean": ("i < at.pieces * ROWS; i += 32", "i < at.pieces * ROWS / 2; i += 32"),
}

WHOLE = {
    "one row of four lanes": ("warp / SHAPE::PARTS * 4 + lane / SHAPE::ALONG", "warp / SHAPE::PARTS * 4 + lane / 8"),
    "blocks of whole rows counted as strips": ("g.k_contiguous ? 64 / p.long_rows : 64", "g.k_contiguous ? 64 / STRIP_ROWS : 64"),
    "operands exchanged without their blocks": ("    p->blocks[0] = p->blocks[1];\n", ""),
}


# of who waits for other blocks and does not get their numbers; in the simulator all but the last wait in vain where none may begin
IN_VAIN = {
    "half of a piece is measured": ("k - k0 < at.piece_k && k < g.k", "k - k0 < at.piece_k / 2 && k < g.k"),
    "nobody measures": ("return vain ? measure_pieces(g, src, row0 + row, at, share, THREADS_PER_ROW) : most;", "return most;"),
}
ALONE = {"HALFTONE_SIM_THREADS": "1", "HALFTONE_SIM_BESIDE": "0"}


def run_changed(gpu, pattern, whole, changed, test, tmp_path, env=None):
    """The test program and its arguments, with one kernel source of a set changed."""
    built = ROOT / "out" / gpu
    source = next(built.glob(pattern + ".cu"))
    text = source.read_text()
    assert text.count(whole) == 1, whole
    (tmp_path / "broken.cu").write_text(text.replace(whole, changed))
    subprocess.run([*SIM, "-c", str(tmp_path / "broken.cu"), "-o", str(tmp_path / "broken.o")], check=True)
    objects = [o for o in (built / "sim").glob("*.o") if o.stem != source.stem]
    objects += runtime_objects()
    objects += [ROOT / f"out/obj/bench/{n}.o" for n in ("families", "metrics", "reference", "threads")]
    objects += [*(ROOT / "out/obj/runtime/sim").glob("*.o"), built / "obj/dispatch.o", ROOT / f"out/test/{test[0]}.o", tmp_path / "broken.o"]
    program = tmp_path / test[0]
    subprocess.run(["g++", "-o", str(program), *map(str, objects), "-lcmocka", "-lpthread", "-lm"], check=True)
    return subprocess.run([str(program), *test[1:]], capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})})


def run_broken(*args):
    run = run_changed(*args)
    print([line for line in run.stderr.splitlines() if "ERROR" in line or "holds" in line][:1])
    assert run.returncode == 1, f"nobody noticed\n{run.stdout}{run.stderr}"


@pytest.mark.mutation
@pytest.mark.parametrize("label", BREAKS)
def test_a_broken_check_is_caught(label, tmp_path):
    run_broken("a800", *BREAKS[label], ["test_check", TESTS[BREAKS[label][0]]], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", INSIDE)
def test_a_broken_fallback_inside_a_product_is_caught(label, tmp_path):
    run_broken("h200", "ht_f16x3_*_128x256x32_*", *INSIDE[label], ["test_check", "the_product_*"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", LAUNCH)
def test_a_broken_launch_by_fp64_is_caught(label, tmp_path):
    run_broken("h200", FALLBACK, *LAUNCH[label], ["test_check", "the_fallback_*"], tmp_path)


@pytest.mark.mutation
def test_columns_stored_by_fours_are_caught(tmp_path):
    run_broken("h200", "ht_f16x3_*_32x64x32_*", "i * VEC4_COLUMNS + first", "i * 2 + first", ["test_product", "every_kernel"], tmp_path)


@pytest.mark.mutation
def test_slots_released_twice_are_caught(tmp_path):
    """Of two chunks in flight; with more k than the ring holds."""
    run_broken("h200", "ht_f16x3_*_64x64x32_*", "EMPTY + (second + 0)", "EMPTY + (first + 0)", ["test_product", "every_kernel"], tmp_path)


@pytest.mark.mutation
def test_two_tiles_of_a_block_do_not_both_compute_it(tmp_path):
    run_broken("h200", "ht_f16x3_*_32x64x32_*", "w.split == 0 && w.m0 % 64 == 0 && part", "w.split == 0 && part", ["test_check", "the_product_*"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", SHIFTS)
def test_broken_packing_is_caught(label, tmp_path):
    run_broken("a800", PACK, *SHIFTS[label], ["test_product", "columns_begin_anywhere"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", WHOLE)
def test_broken_whole_rows_are_caught(label, tmp_path):
    run_broken("a800", PACK, *WHOLE[label], ["test_product", "long_rows_are_packed_alike"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", IN_VAIN)
def test_a_broken_wait_is_caught(label, tmp_path):
    run_broken("a800", PACK, *IN_VAIN[label], ["test_product", "columns_begin_anywhere"], tmp_path, ALONE)


def test_strips_that_do_not_stand_by_are_right(tmp_path):
    """As operands beyond L2 are packed, which are too large for the simulator."""
    run = run_changed("h200", PACK, "bytes <= 2.0 * L2_BYTES", "bytes < 0", ["test_product", "columns_begin_anywhere"], tmp_path)
    assert run.returncode == 0 and "PASSED" in run.stdout + run.stderr, run.stdout + run.stderr


def test_who_waits_in_vain_is_right():
    run = subprocess.run([str(ROOT / "out/a800/test_product-sim"), "columns_begin_anywhere"], capture_output=True, text=True, env={**os.environ, **ALONE})
    assert run.returncode == 0, run.stderr
