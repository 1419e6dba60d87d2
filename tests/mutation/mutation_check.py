"""test_check must disagree when the data check is wrong, and test_product when packing is: the verdict, the kernels that ask for
it, what packing counts and adds up, how it reads columns that begin anywhere, and what a product's kernel computes of the blocks that it leaves out
are broken on purpose. About 70 seconds."""
import os
import subprocess

import mutate
import pytest
from conftest import ROOT, SIM, runtime_objects
from mutate import change, drop, instance

GEMM, PACK, REDUCE, FALLBACK = "ht_f16x3_*_64x64x32_*", "ht_pack_f16x3_*", "ht_reduce_sm80*", "ht_*_fallback_*"
TESTS = {GEMM: "kernels_*", PACK: "packing_*", REDUCE: "kernels_*", FALLBACK: "the_fallback_*"}
BREAKS = {
    "no threshold": (GEMM, change("in-range", "spare >= 0", "true")),
    "the last piece is not looked at": (REDUCE, change("in-range-2", "k_segments; p +=", "k_segments - 1; p +=")),
    "smaller elements count": (PACK, change("large-count-least", "0x58005800u", "0x57ff57ffu")),
    "one shortage decides, whatever makes up for it": (GEMM, change("one-shortage", "least >= 0 || least == HT_RANGE_NONFINITE", "least < 1")),
    "NaN goes unseen": (PACK, change("count-of", "< 0x10000 ? counted : NONFINITE", "& 0xffff")),
    "padding counts as k": (PACK, change("store-range", "left < at.tiles * 64 ? left : ", "")),
    "the first look passes B over": (FALLBACK, change("out-of-range", " + (g.n + 63) / 64 * numbers", "")),
    "the first look is at the first entry": (FALLBACK, change("fallback", ", entry, ", ", 0, ")),
    "one alarm is enough": (FALLBACK, change("asks", " + ht_flag_is_set(g.b_any_flag) > 0", "")),
    "no alarm for what is short": (PACK, change("store-number", "number < 0)", "number < -999999)")),
    "one number of four": (GEMM, change("least-number", " < second ? first : second", "")),
    "numbers of 16 rows as of 64": (FALLBACK, change("out-of-range", " * g.counts_per_block", "")),
    "a strip's padding counts as k": (PACK, change("pack-strip", "left < STRIP_K ? left : ", "")),
    "a strip's rows are counted together": (PACK, change("pack-strip-2", "at.row0 % 64 / ROWS_OF_BLOCK", "0")),
    "a strip looks at its own rows only": (PACK, change("pack-strip-3", "ROOM_OTHERS, ROOM_PARTS", "ROOM_MEASURED, shape::PARTS")),
    "half of a long row is not measured": (PACK, change("magnitude-of-parts", "< PARTS; ", "< 1; ")),
    "half of a long row is not counted": (PACK, change("store-range-rows", "SHAPE::PARTS", "1")),
    "zeros behind the matrix count": (PACK, change("store-range-rows-2", "rows ? count_of", "rows + 64 ? count_of")),
    "the last tile is not walked to": (FALLBACK, change("fallback-2", "tiles; tile ", "tiles - 1; tile ")),
}
SUMS = {
    "subnormals align as they are": change("lost-alignment", " + LOST_ALIGNMENT", ""),
    "what is lost is rounded down": change("lost-of", " + ((float)whole < lost)", ""),
    "less is small": change("key-of-limit", "0.25f", "0.125f"),
    "FP16's subnormals count": change("normal-least", "0x04000400u", "0x03ff03ffu"),
    "the first piece is the last": change("add-up", "pieces > 1 ? ht_add_relaxed_i64(word, one) + 1 + one : ", ""),
    "words are left as they are": drop("add-up-2"),
    "rows with NaN or Inf are like others": change("store-row-sum", "counted >= 0x10000", "counted < 0"),
    "pieces' bias stays": change("store-products", " - (long long)BIAS * pieces", ""),
    "no flag for rows of few products": drop("store-products-2"),
    "half of a long row is not added": change("sum-of-parts", "< SHAPE::PARTS", "< 1"),
}
# in a kernel of h200, the first that test_check runs in all layouts
INSIDE = {
    "every part of k stores": change("wgmma-ss-fallback", "split == 0 && w.", ""),
    "only the first warpgroup's columns": change("fallback-3", " + wg * WN", ""),
    "rows beyond C": change("fallback-columns", "first + i * 8 < g.m && ", ""),
    "rows beyond A": change("line", "(i * 8 < l.last ? i * 8 : l.last)", "i * 8"),
    "wide whatever the edge": change("open-lines", "end <= rows", "(!k_contiguous || end <= rows)"),
    "16 bytes wherever they begin": change("open-lines", " % 16 == ", " % 4 == "),
    "the last k is left out": change("load-any", "left ? ht_ldg4", "left - 1 ? ht_ldg4"),
    "k beyond the matrix": change("load-any", " < left ?", " <= left ?"),
    "the last step of wide lines is left out": change("multiply-wide", "<= steps;", "< steps;"),
    "sums are rounded to FP32": change("multiply-column", "p[i], q);", "p[i], q), sum[i][j][0] = (float)sum[i][j][0];"),
    "rows of a fragment exchanged": change("widen-rows", " + i % 2]", " + 1 - i % 2]"),
}
LAUNCH = {
    "the last tile is not walked to": change("gemm", "tiles; tile ", "tiles - 1; tile "),
    "the first look is at the first entry": change("gemm-2", ", entry, ", ", 0, "),
    "one alarm is enough": change("asks", " + ht_flag_is_set(g.b_any_flag) > 0", ""),
    "rows and columns exchanged": change("gemm-3", "% high, col = tile /", "/ high, col = tile %"),
}
SHIFTS = {
    "a word of the wrong piece": change("shifted", "by_two ? x.high.z : ", ""),
    "all columns begin alike": change("load-ragged-tiles", "K_MAJOR ? 0 : (int)g.ld", "0"),
    "read beyond the end of a column": change("load-ragged-tiles-2", " 64 + 4 <", " 60 <"),
    "one element too many at the end": change("common-load-some", " > 3 ? ht_as_uint", " > 2 ? ht_as_uint"),
    "rows read beyond the matrix": change("load-ragged-rows", "rows > 0 ? k : 0", "k"),
    "k read beyond the matrix": change("load-ragged-rows", "k > 0 ? rows : 0", "rows"),
    "aligned loads of what begins anywhere": change("load-held", "is_aligned(g, at.src) && ", ""),
    "the rows' last k is left out": change("write-rows", "padded - at.k)", "padded - 64 - at.k)"),
    "a strip's numbers go to another row": change("exchange-rows", "STRIP_ROWS + row,", "STRIP_ROWS + (row ^ 1),"),
    "strips leave the meeting half clean": change("leave-exchange", "ROWS; i +=", "ROWS / 2; i +="),
}

WHOLE = {
    "one row of four lanes": change("find-rows", "SHAPE::ALONG", "8"),
    "blocks of whole rows counted as strips": change("blocks-of-rows", "p.long_rows :", "STRIP_ROWS :"),
    "operands exchanged without their blocks": drop("swap-operands"),
}


# of who waits for other blocks and does not get their numbers; in the simulator all but the last wait in vain where none may begin
IN_VAIN = {
    "half of a piece is measured": change("measure-pieces", "piece_k && k", "piece_k / 2 && k"),
    "nobody measures": change("collect", "vain ? measure_pieces(g, src, row0 + row, at, share, THREADS_PER_ROW) : ", ""),
}
OTHER = {
    "columns stored by fours": instance(r"i \* VEC4_COLUMNS \+ first", 0, "i * 2 + first"),
    "slots released twice": instance(r"EMPTY \+ \(second \+ 0\)", 0, "EMPTY + (first + 0)"),
    "both tiles of a block": change("wgmma-ss-fallback", "w.m0 % 64 == 0 && ", ""),
    "strips do not stand by": change("launch", "<= 2.0 * L2_BYTES", "< 0"),
}
ALONE = {"HALFTONE_SIM_THREADS": "1", "HALFTONE_SIM_BESIDE": "0"}


def run_changed(gpu, pattern, edits, test, tmp_path, env=None):
    """The test program and its arguments, with one kernel source of a set broken."""
    built = ROOT / "out" / gpu
    source = next(built.glob(pattern + ".cu"))
    (tmp_path / "broken.cu").write_text(mutate.kernel(source, gpu, edits))
    subprocess.run([*SIM, "-c", str(tmp_path / "broken.cu"), "-o", str(tmp_path / "broken.o")], check=True)
    objects = [o for o in (built / "sim").glob("*.o") if o.stem != source.stem]
    objects += runtime_objects()
    objects += [ROOT / f"out/obj/bench/{n}.o" for n in ("accuracy/certificate", "accuracy/families", "accuracy/metrics", "accuracy/reference", "io/threads")]
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
@pytest.mark.parametrize("label", SUMS)
def test_broken_sums_are_caught(label, tmp_path):
    run_broken("a800", PACK, SUMS[label], ["test_row_sums", "packing_*"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", INSIDE)
def test_a_broken_fallback_inside_a_product_is_caught(label, tmp_path):
    run_broken("h200", "ht_f16x3_*_128x256x32_*", INSIDE[label], ["test_check", "the_product_*"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", LAUNCH)
def test_a_broken_launch_by_fp64_is_caught(label, tmp_path):
    run_broken("h200", FALLBACK, LAUNCH[label], ["test_check", "the_fallback_*"], tmp_path)


@pytest.mark.mutation
def test_columns_stored_by_fours_are_caught(tmp_path):
    run_broken("h200", "ht_f16x3_*_32x64x32_*", OTHER["columns stored by fours"], ["test_product", "every_kernel"], tmp_path)


@pytest.mark.mutation
def test_slots_released_twice_are_caught(tmp_path):
    """Of two chunks in flight; with more k than the ring holds."""
    run_broken("h200", "ht_f16x3_*_64x64x32_*", OTHER["slots released twice"], ["test_product", "every_kernel"], tmp_path)


@pytest.mark.mutation
def test_two_tiles_of_a_block_do_not_both_compute_it(tmp_path):
    run_broken("h200", "ht_f16x3_*_32x64x32_*", OTHER["both tiles of a block"], ["test_check", "the_product_*"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", SHIFTS)
def test_broken_packing_is_caught(label, tmp_path):
    run_broken("a800", PACK, SHIFTS[label], ["test_product", "columns_begin_anywhere"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", WHOLE)
def test_broken_whole_rows_are_caught(label, tmp_path):
    run_broken("a800", PACK, WHOLE[label], ["test_product", "long_rows_are_packed_alike"], tmp_path)


@pytest.mark.mutation
@pytest.mark.parametrize("label", IN_VAIN)
def test_a_broken_wait_is_caught(label, tmp_path):
    run_broken("a800", PACK, IN_VAIN[label], ["test_product", "columns_begin_anywhere"], tmp_path, ALONE)


def test_strips_that_do_not_stand_by_are_right(tmp_path):
    """As operands beyond L2 are packed, which are too large for the simulator."""
    run = run_changed("h200", PACK, OTHER["strips do not stand by"], ["test_product", "columns_begin_anywhere"], tmp_path)
    assert run.returncode == 0 and "PASSED" in run.stdout + run.stderr, run.stdout + run.stderr


def test_who_waits_in_vain_is_right():
    run = subprocess.run([str(ROOT / "out/a800/test_product-sim"), "columns_begin_anywhere"], capture_output=True, text=True, env={**os.environ, **ALONE})
    assert run.returncode == 0, run.stderr
