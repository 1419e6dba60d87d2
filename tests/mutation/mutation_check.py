"""test_check must disagree when the data check is wrong, and test_product when packing is: what packing adds up and how it reads columns
that begin anywhere, which results kernels leave, and what computes those, are broken on purpose. About 70 seconds."""
import os
import subprocess

import mutate
import pytest
from conftest import ROOT, SIM, bench_objects, set_with
from mutate import change, drop, instance

GEMM, PACK, REDUCE, FALLBACK = "ht_f16x3_*_64x64x32_*", "ht_pack_f16x3_*", "ht_reduce_sm80*", "ht_*_fallback_*"
KERNELS, MANY, BEHIND = ["test_check", "kernels_leave_*"], ["test_check", "the_reduction*"], ["test_direct", "what_a*"]
EVERY = ["test_product", "errors_every_kernel"]
SYMMETRIC = ["test_product", "x_times_its_transpose_is_symmetric"]
WIDEN, NARROW, NARROW_BATCH = "ht_widen_*", ["test_product", "operands_of_16_bits_give*"], ["test_product", "batches_blocks*"]
COUNTED, OTHER_SCALES = ["test_auto", "what_is_computed*"], ["test_reproducible", "sums_of_other*"]
SAMPLE, TILES = ["test_auto", "a_sample*"], "ht_f16x3_mma_*" # whichever tile runs
BREAKS = {
    "NaN passes": (GEMM, KERNELS, change("is-cleared", "(v < 0.0f ? -v : v) >= __fadd_rn(row_threshold, column_threshold)", "!((v < 0.0f ? -v : v) < __fadd_rn(row_threshold, column_threshold))")),
    "rows alone decide": (GEMM, KERNELS, change("is-cleared", "__fadd_rn(row_threshold, column_threshold)", "row_threshold")),
    "negative results fail": (GEMM, KERNELS, change("is-cleared", "(v < 0.0f ? -v : v)", "v")),
    "rows of few elements are like others": (GEMM, KERNELS, change("is-sparse", "(int)(four.x + four.y + four.z + four.w) < 0", "false")),
    "rows with NaN or Inf are like others": (GEMM, KERNELS, change("threshold", "lost < 0 ? ht_as_float(HT_NAN_BITS) : t", "t")),
    "one flag is enough": (GEMM, KERNELS, change("certificate-needed", " + ht_flag_is_set(g.b_packed.any_flag) > 0", "")),
    "bits of the rows beside": (GEMM, KERNELS, change("failed-bit", "row % 32", "(row + 1) % 32")),
    "the old element of a lane's first row": (GEMM, EVERY, change("mma-old", "row, col", "row0, col")),
    "a lane's bits alone": (GEMM, KERNELS, change("store-failed", "(unsigned)ht_shfl_xor((int)word, m)", "0u & (unsigned)ht_shfl_xor((int)word, m)")),
    "sums are tested with their scales": (REDUCE, KERNELS, change("reduce-cleared", "ht_scale_pow2(sum, -e)", "sum")),
    "a mirror copies what it has not read": (REDUCE, SYMMETRIC, drop("mirror-read")),
    "a mirror is larger than C": (REDUCE, SYMMETRIC, change("mirror-above", " && col < g.n", "")),
    "what lies below the diagonal is copied, too": (REDUCE, SYMMETRIC, change("mirror-above", "row < col && ", "")),
    "8 bytes from anywhere": (WIDEN, NARROW, change("widen-aligned", "is_aligned && ", "")),
    "one element four times": (WIDEN, NARROW, change("widen-some", "from + i)", "from)")),
    "FP16 is BF16": (WIDEN, NARROW, change("widened", "is_bf16 ?", "true ?")),
    "every entry is the first": (WIDEN, NARROW_BATCH, change("widen-entry", "entry * g.src_stride", "0 * entry")),
    "every byte of a word is the first": (REDUCE, MANY, change("failed-byte", " + row % 32 / 8", "")),
    "bits beyond C count": (FALLBACK, BEHIND, change("load-failed", " && col0 + word / 2 < g.n", "")),
    "a few are left out": (FALLBACK, BEHIND, change("tile-of-few", "count > 0 && count <= ELEMENTS_MOST", "count < 0")),
    "half of the terms": (FALLBACK, BEHIND, change("recomputed", "k0 < g.a.k", "k0 < g.a.k - 256")),
    "products' errors are dropped": (FALLBACK, BEHIND, change("recomputed-2", "__fmaf_rn(x, y, -product)", "0.0f")),
    "C's old value is dropped": (FALLBACK, BEHIND, change("recompute-store", "ht_value_of(g.to.beta)", "0.0f")),
    "results alone are counted as blocks": (FALLBACK, COUNTED, change("count-recomputed", "!alone", "1")),
    "blocks beyond C are counted": (FALLBACK, COUNTED, change("count-block", "g.m - row < height ? g.m - row : height", "9 * height")),
    "no entries in the list": (GEMM, KERNELS, drop("list-word")),
    "no entries by the reduction": (REDUCE, KERNELS, drop("list-bits")),
    "a word with several has one entry": (GEMM, KERNELS, change("list-count", "ht_count_bits(bits)", "1")),
    "entries beyond the list": (GEMM, KERNELS, change("list-capacity", " && at < g.failed_capacity", "")),
    "a word's first bit in the list": (GEMM, KERNELS, change("list-entry", "ht_lowest_bit(bits)", "0")),
    "an entry of the list is lost": (FALLBACK, BEHIND, change("failed-count", "ht_ldg_i32(g.failed_count + ht_opaque(0))", "ht_ldg_i32(g.failed_count) - 1")),
    "a list that is too short is taken for all": (FALLBACK, BEHIND, change("is-listed", "count > g.failed_capacity", "g.failed_count == nullptr")),
    "rows and columns of the list exchanged": (FALLBACK, BEHIND, change("listed-column", "inside / 64", "inside % 64")),
    "many of the list are computed one by one": (FALLBACK, BEHIND, change("listed-alone", "<= ELEMENTS_MOST", "<= 64 * 64")),
    "blocks of the list are computed again for each entry": (FALLBACK, BEHIND, change("listed-whole", " && failed / BEFORE == 0", "")),
    "only one turn": (FALLBACK, BEHIND, change("next-place", "((int)(gridDim.x * gridDim.y) - 1) * warps", "(1 << 20)")),
    "groups of blocks take the same entries": (FALLBACK, BEHIND, change("first-place", "blockIdx.y * gridDim.x + blockIdx.x", "blockIdx.x")),
    "the last tile is not walked to": (FALLBACK, BEHIND, change("places-of", "? ht_tiles_of(g)", "? (ht_tiles_of(g) - 1)")),
    "a sample always refuses": (TILES, SAMPLE, change("is-refused", "told > g.sample_most", "told >= 0")),
    "a sample never refuses": (TILES, SAMPLE, change("is-refused", "told > g.sample_most", "told < 0")),
    "what is left has no count": (TILES, SAMPLE, drop("left-count")),
    "parts that nobody has made are added": (REDUCE, SAMPLE, change("no-parts", "has_no_parts(g)", "false")),
    "every result of a sample passes": (PACK, SAMPLE, change("sample-cleared", "fails += !", "fails += 0 & !")),
    "rows of few elements pass in a sample": (PACK, SAMPLE, change("sample-sparse", "ENOUGH_NONZEROS / 2", "0")),
    "those near failure are like others": (PACK, SAMPLE, change("sample-near", "? 0 : SAMPLE_NEAR", "? 0 : 0")),
    "some that fail in a place are none": (PACK, SAMPLE, change("sample-some", "? HT_SAMPLE_SOME", "? 0")),
}
SUMS = {
    "subnormals align as they are": change("lost-alignment", " + LOST_ALIGNMENT", ""),
    "what is lost is rounded down": change("lost-of", " + ((float)whole < lost)", ""),
    "all is large": change("all-large", "large_count.count == f16_pair_of(elements / 2) && ", ""),
    "zeros are large": change("is-large", "small_key(bits) - small < 0xfeffffffu - small", "small_key(bits) >= small"),
    "Inf is large": change("all-large", " && !has_nonfinite(large_count)", ""),
    "half as much is large": change("large-least", "0x34013401u", "0x30013001u"),
    "parts with NaN or Inf are like others": change("add-part", "lost >= (int)NONFINITE", "false"),
    "less is small": change("key-of-limit", "0.25f", "0.125f"),
    "FP16's subnormals count": change("counts-least", "0x0400u", "0x03ffu"),
    "the first piece is the last": change("add-up", "pieces > 1 ? ht_add_relaxed_i64(word, one) + 1 + one : ", ""),
    "words are left as they are": drop("add-up-2"),
    "rows with NaN or Inf are like others": change("store-row-sum", "seen.nonfinite ? 1ll << NONFINITE_SHIFT : seen.lost", "seen.lost"),
    "pieces' bias stays": change("store-products", " - (long long)BIAS * pieces", ""),
    "the count of earlier calls stays": change("begin-flags", "0);", "1);"),
    "no flag for rows of few products": drop("store-products-2"),
    "a strip looks at its own rows only": change("pack-strip-3", "ROOM_OTHERS, ROOM_PARTS", "ROOM_MEASURED, shape::PARTS"),
    "half of a long row is not measured": change("magnitude-of-parts", "< PARTS; ", "< 1; "),
    "half of a long row is not added": change("sum-of-parts", "< SHAPE::PARTS", "< 1"),
}
SPLIT = {
    "ties go to even": change("outward", "rest != 0.0f", "rest != rest"),
    "exact numbers are changed too": change("outward", "rest != 0.0f", "true"),
    "ties go toward zero": change("outward", "(x,", "(-x,"),
    "more than ties": change("outward", "68719476736.0f", "16777216.0f"),
}
# in a kernel of h200
EPILOGUE = {
    "all are cleared": change("all-cleared", "ht_is_cleared(v[p * (PART_ROWS / 2) + i], most, 0.0f)", "true"),
    "rows ask for nothing": change("largest-of-sides", "a.most", "0.0f"),
    "columns ask for nothing": change("largest-of-sides", "b.most", "0.0f"),
    "no bits where all are cleared": change("none-failed", "ht_stg_i32((int *)ht_failed_word(o.g, o.w.entry, row, at.col + column), 0)", ""),
    "rows' thresholds are not added": change("wgmma-cleared", "threshold, ht_column", "0.0f, ht_column"),
    "thresholds of a tile's last rows alone": change("largest-threshold", "larger_threshold(most, threshold)", "larger_threshold(0, threshold)"),
    "rows of few elements are like others in a tile": change("sparse-tile", "HT_NAN_BITS", "0"),
    "thresholds of four rows are the first's": change("wgmma-part", "threshold[q]", "threshold[0]"),
    "columns' thresholds are not added": change("wgmma-part", "asked)", "0.0f)"),
    "no entries of a part": drop("wgmma-list-part"),
    "no bits of a part": change("wgmma-store-part", "ht_stg_i32((int *)to, (int)word)", ""),
    "no entries in the list": drop("wgmma-list"),
    "no bits where one is not": change("wgmma-store-failed", "ht_stg_i32((int *)to, (int)word)", ""),
}
INSIDE = {
    "blocks are computed a row below": change("inside-piece", "row = block.row +", "row = block.row + 1 +"),
    "results alone are left out": drop("inside-count"),
    "whole blocks are left out": drop("inside-whole"),
    "C's old elements are left out": change("vec4-old", "(to.beta, ", "(0.0f, "),
    "what fails is stored over them": change("part-keeps", "fails && ", "false && "),
    "a tile's blocks begin with the first row's": change("inside-block", "w.m0 + at % A_BLOCKS * 64", "w.m0"),
}
# of one that a lone SM runs, a tile after the other, with terms 32 at a time
SERIAL = (instance(r"constexpr int (BM = 32[^;]*)SMS = 132", 0, r"constexpr int \1SMS = 1"), instance("constexpr int TERMS_AT_ONCE = 16", 0, "constexpr int TERMS_AT_ONCE = 1"))
TURNS = {
    "half of a block's words are not looked at": change("inside-words", "col < g.n", "col < col0 + 32"),
    "a result ends with its first terms": change("inside-last", "now.k + TERMS_AT_ONCE * WAVE >= g.a.k", "true"),
    "nobody waits for terms": drop("inside-wait"),
    "nobody waits for notes": drop("inside-noted"),
    "the first tile alone": change("inside-tile", "cluster + at / BLOCKS * clusters", "cluster"),
    "one round": change("inside-rounds", "first < blocks;", "first < 1;"),
}
LAUNCH = {
    "blocks with many results are left out": change("tile-whole", "count > ELEMENTS_MOST", "count > 64 * 64"),
    "rows and columns exchanged": change("tile-at", "tile % high * 64, tile / high % wide * 64", "tile / high % wide * 64, tile % high * 64"),
    "rows beyond C": change("fallback-columns", "first + i * 8 < g.m && ", ""),
    "rows beyond A": change("line", "(i * 8 < l.last ? i * 8 : l.last)", "i * 8"),
    "wide whatever the edge": change("open-lines", "end <= x.rows", "(!x.k_contiguous || end <= x.rows)"),
    "16 bytes wherever they begin": change("open-lines", " % 16 == ", " % 4 == "),
    "the last k is left out": change("load-any", "left ? ht_ldg4", "left - 1 ? ht_ldg4"),
    "k beyond the matrix": change("load-any", " < left ?", " <= left ?"),
    "the last step of wide lines is left out": change("multiply-wide", "<= steps;", "< steps;"),
    "sums are rounded to FP32": change("multiply-column", "p[i], q);", "p[i], q), sum[i][j][0] = (float)sum[i][j][0];"),
    "rows of a fragment exchanged": change("widen-rows", " + i % 2]", " + 1 - i % 2]"),
}
WIDE = "ht_bf16x6u_*_128x64x32_*"
BLOCKS = {
    "tiles exchanged": (WIDE, change("blocks-tile-at", "place % high, place / high % wide", "place / high % wide, place % high")),
    "few are computed whole": (WIDE, change("blocks-many", "> ELEMENTS_MOST", "> 0")),
    "a tile's upper half alone is looked at": (WIDE, change("blocks-parts", "part < BM / 64", "part < 1")),
    "blocks with few are stored too": (WIDE, change("blocks-stored", "if (x.many)", "")),
    "bits are not taken": (WIDE, change("blocks-cleared", "x.col / 64) + thread, 0)", "x.col / 64) + thread, -1)")),
    "bits are taken before all have looked": (WIDE, drop("blocks-cleared-late")),
    "half of the bits are taken": (WIDE, change("blocks-cleared", "+ thread, 0)", "+ thread / 2, 0)")),
    "blocks beyond C are counted": (WIDE, change("blocks-counted", "x.col, 64, 64", "x.col, 128, 64")),
    "only one turn": (WIDE, change("blocks-next", "place += WARPS * apart", "place += WARPS * apart << (place >= 0 ? 8 : 0)")),
    "a warp's tile is the first's": (WIDE, change("blocks-place", "ht_lowest_bit(found) * apart", "0")),
    "what slices cannot hold is stored": (WIDE, change("blocks-left", "have_slices_done", "true || have_slices_done")),
    "all leave at once": (WIDE, change("leaves-early", "!ht_is_from(value_range->least, EXACT_EXPONENT)", "true")),
    "how matrices lie says which is P": (WIDE, change("swap-by-shape", "(TAKES_BLOCKS && g.failed) || ", "")),
    "few in all begin": (WIDE, change("blocks-few", "<= ELEMENTS_MOST", "> ELEMENTS_MOST")),
    "bits that are gone are computed again": (FALLBACK, change("listed-alone", "failed % BEFORE > 0 && ", "")),
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


FEW_ROWS = {
    "rows of fragments are others": change("few-row-of", "i * 8", "i * 4"),
    "what begins anywhere is read by fours": change("few-whole", "is_aligned(w, w.src) && ", ""),
    "few rows: read beyond the matrix": change("few-guard", "left > 0 ? rows : 0", "rows"),
    "two lanes of four measure": drop("few-measure"),
    "a piece tells another row's": change("few-publish", " + row,", " + (row ^ 1),"),
    "the two 16 k of a step exchanged": change("few-fragment", "f % 2 * 2", "(1 - f % 2) * 2"),
    "digits of other k": change("few-chunk", "step * 2 + half", "step + half"),
    "columns of one lane exchanged": change("few-leave", "r % 2", "(1 - r % 2)"),
    "lines of other k": change("few-line", "1 : 13", "1 : 12"),
    "the piece before, once more": change("few-begin", "place_of(p, next)", "place_of(p, next - (int)gridDim.x)"),
    "a block has one piece": change("few-next", "number < p.pieces", "false"),
    "columns before these, once more": change("few-ahead", "q0 + COLS", "q0"),
    "all parts are the first": change("few-part", "(long long)at.piece", "0ll"),
    "rows beyond 64 are the first": change("few-panel", "panels + atom * 8192", "panels + (atom - q0 / 64 * p.g.k_blocks) * 8192"),
}
ONE_ROW = {
    "one row: read beyond the matrix": change("one-guard", ", left)", ", 4)"),
    "k that is not there was fetched": change("one-early", "i * LOAD_K < at.left ?", "true ?"),
    "lanes measure for themselves": change("one-across", "larger_key_across(most, lanes)", "most"),
    "warps measure for themselves": change("one-meet", "(turn, warp)", "(turn, at.warp)"),
    "one row: results side by side": change("one-place", "(p.of_b ? p.to.ldc : 1)", "1"),
    "the row before, once more": change("one-begin", "begin_row(p, at, from)", "(void)0"),
    "another half of a warp's sum": change("one-leave", ", sum)", ", (long long)(int)sum)"),
    "the scale of x left out": change("one-exponent", "own + x_exponent", "own"),
    "one row: what is misaligned is read by fours": change("one-whole", "places % 16 == 0 && ", ""),
    "one packed row: chunks as if it were the first": change("one-chunk", " ^ row % 8", ""),
    "packed rows beyond 64 are the first": change("one-panel", "(long long)(row / 64)", "0ll"),
    "one packed row: atoms of other k": change("one-digit", "i * LOAD_ATOMS", "i"),
    "late warps' digits of x are others": change("one-keep", "digits[s][0])", "digits[s][0] ^ (at.warp > 12 ? 1u : 0u))"),
}
# of who waits for other blocks and does not get their numbers; in the simulator all but the last wait in vain where none may begin
IN_VAIN = {
    "half of a piece is measured": change("measure-pieces", "piece_k && k", "piece_k / 2 && k"),
    "nobody measures": change("collect", "vain ? measure_pieces(g, src, row0 + row, at, share, THREADS_PER_ROW) : ", ""),
}
# of products over ranks
PARTS = {
    "a row larger than its scale keeps that": change("common-absmax", "ht_row_exponent(most) > ht_row_exponent(all) ? HT_FOREIGN_ROW : ", ""),
    "a rank's own scales": change("common-absmax", "HT_FOREIGN_ROW : all", "HT_FOREIGN_ROW : most"),
}
SUMS_OF_RANKS = {
    "other schemes join": change("word-of-scale", "ACCS * 256 + ", ""),
    "scales that are right on average join": change("square-of-scale", "c + (c * c << 24)", "c"),
    "other scales of rows join": change("joined-rows", "ht_ldg_i64(words + row) != ranks * ht_word_of_scale(a)", "false"),
    "other scales of columns join": change("joined-columns", "ht_ldg_i64(words + g.m + col) != ranks * ht_word_of_scale(b)", "false"),
    "any k": change("joined-rows", "k > RANKS_K_MOST", "false"),
}
OTHER = {
    "columns stored by fours": instance(r"i \* VEC4_COLUMNS \+ first", 0, "i * 2 + first"),
    "slots released twice": instance(r"EMPTY \+ \(second \+ 0\)", 0, "EMPTY + (first + 0)"),
    "strips do not stand by": change("launch", "<= 2.0 * L2_BYTES", "< 0"),
}
# of bf16x6u's tiles: which small numbers they keep
SMALL = {
    "half of the least is enough": change("least-exponent", "127 + exponent", "126 + exponent"),
    "products half as large are enough": change("safe-products", "+ PRODUCT_EXPONENT", "+ PRODUCT_EXPONENT - 1"),
    "products must be twice as large": change("safe-products", "+ PRODUCT_EXPONENT", "+ PRODUCT_EXPONENT + 1"),
    "results outweigh one product": change("floor-of-results", "(float)k", "1.0f"),
    "all that is beside small numbers is small": change("floor-of-results", "largest > LEAST ? largest : LEAST", "LEAST"),
    "a warp's least": change("least-of-block", "other < v ? other : v", "v"),
    "results beyond C count": change("results-from", "!there || ", ""),
    "one operand's numbers have no other's beside them": change("is-beside-p", "!ht_is_from(q.least, EXACT_EXPONENT)", "false"),
    "nothing but P beside Q": change("beside-both", "ht_is_from(p.least, EXACT_EXPONENT) || p.largest > beside", "true"),
    "Q beside itself": change("beside-both", "ht_is_from(p.least, EXACT_EXPONENT) || ", ""),
    "nothing large beside subnormal numbers": change("beside", "ht_floor_of(beside, t.k - t.k0)", "ht_floor_of(0, t.k - t.k0)"),
    "half of the steps are looked at": change("extent-steps", "step += AT_ONCE", "step += 2 * AT_ONCE"),
    "Inf is like others": change("is-finite", "!ht_any_of_block<WARPS>(!ht_all_finite<MI * NI * D_REGS>(&sum[0][0][0]), smem, t.tid) &&", ""),
}
VOTE = change("inside-vote", "ht_notes_of(n, w)", "ht_notes_of(n, 0)") # of a small tile, whose first warp may have nothing
OTHER_GROUP = change("has-results", "t.tid < GROUP_THREADS", "true")
ALONE = {"HALFTONE_SIM_THREADS": "1", "HALFTONE_SIM_BESIDE": "0"}


def run_changed(gpu, pattern, edits, test, tmp_path, env=None):
    """The test program and its arguments, with one kernel source of a set broken, or all that a test may take."""
    built = set_with(gpu, lambda folder: any(folder.glob(pattern + ".cu")))
    sources = list(built.glob(pattern + ".cu"))[:None if pattern == TILES else 1]
    for source in sources:
        (tmp_path / source.name).write_text(mutate.kernel(source, gpu, edits))
        subprocess.run([*SIM, "-c", str(tmp_path / source.name), "-o", str(tmp_path / source.stem) + ".o"], check=True)
    objects = [*(tmp_path / f"{source.stem}.o" for source in sources), ROOT / f"out/test/{test[0]}.o", *bench_objects("accuracy/certificate", "accuracy/families", "accuracy/metrics", "accuracy/reference", "io/threads"),
               built / "libhalftone-sim.a"]  # whose own kernel of this name nobody misses
    program = tmp_path / test[0]
    subprocess.run(["g++", "-o", str(program), *map(str, objects), "-lcmocka", "-ldl", "-lpthread", "-lm"], check=True)
    return subprocess.run([str(program), *test[1:]], capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})})


def caught():
    """What is broken, set, kernels, edits, the test that must notice, environment."""
    wide, narrow, small = "ht_f16x3_*_128x256x32_*", "ht_f16x3_*_32x64x32_*", "ht_bf16x6u_*_64x64x32_*"
    numbers, compute, columns = ["test_direct", "small_numbers*"], ["test_check", "kernels_compute_*"], ["test_product", "columns_begin_anywhere"]
    half = "half of the steps are looked at"
    tables = [
        *(("a800", pattern, {label: edits}, test) for label, (pattern, test, edits) in BREAKS.items()),
        ("a800", small, {label: edits for label, edits in SMALL.items() if label != half}, numbers), ("a800", small, {half: SMALL[half]}, ["test_direct", "the_largest*"]),
        ("h200", "ht_bf16x6u_*_64x32x32_*", {"results of warpgroups that have none": OTHER_GROUP}, numbers),
        ("a800", PACK, SUMS, ["test_check", "packing_*"]), ("a800", PACK, SPLIT, ["test_check", "packing_writes*"]),
        ("h200", wide, EPILOGUE, KERNELS), ("h200", wide, INSIDE, compute),
        ("h200", narrow, {label: (*SERIAL, edits) for label, edits in TURNS.items()}, compute), ("h200", narrow, {"a vote of the first warp": VOTE}, compute),
        ("h200", FALLBACK, LAUNCH, BEHIND), *(("h200", pattern, {label: edits}, ["test_direct", "blocks_*"]) for label, (pattern, edits) in BLOCKS.items()),
        ("h200", narrow, {label: OTHER[label] for label in ["columns stored by fours"]}, EVERY),
        ("h200", "ht_f16x3_*_64x64x32_*", {label: OTHER[label] for label in ["slots released twice"]}, EVERY),  # of two chunks in flight; with more k than the ring holds
        ("a800", "ht_pack_i8x6_*", PARTS, OTHER_SCALES), ("a800", "ht_reduce_i8x6_*", SUMS_OF_RANKS, OTHER_SCALES),
        ("a800", "ht_few_rows_i8x6_*", FEW_ROWS, ["test_reproducible", "few_rows_by*"]), ("a800", "ht_one_row_i8x6_*", ONE_ROW, ["test_reproducible", "one_row_has*"]),
        ("a800", PACK, SHIFTS, columns), ("a800", PACK, WHOLE, ["test_product", "long_rows_are_packed_alike"]), ("a800", PACK, IN_VAIN, columns, ALONE)]
    return [(label, gpu, pattern, edits, test, *env) for gpu, pattern, table, test, *env in tables for label, edits in table.items()]


CAUGHT = caught()


@pytest.mark.mutation
@pytest.mark.parametrize("case", CAUGHT, ids=[case[0] for case in CAUGHT])
def test_what_is_broken_is_caught(case, tmp_path):
    _, gpu, pattern, edits, test, *env = case
    run = run_changed(gpu, pattern, edits, test, tmp_path, *env)
    print([line for line in run.stderr.splitlines() if "ERROR" in line or "holds" in line][:1])
    assert run.returncode == 1, f"nobody noticed\n{run.stdout}{run.stderr}"


def test_turns_inside_a_product_are_right(tmp_path):
    run = run_changed("h200", "ht_f16x3_*_32x64x32_*", SERIAL, ["test_check", "kernels_compute_*"], tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_strips_that_do_not_stand_by_are_right(tmp_path):
    """As operands beyond L2 are packed, which are too large for the simulator."""
    run = run_changed("h200", PACK, OTHER["strips do not stand by"], ["test_product", "columns_begin_anywhere"], tmp_path)
    assert run.returncode == 0 and "PASSED" in run.stdout + run.stderr, run.stdout + run.stderr


@pytest.mark.whole
def test_who_waits_in_vain_is_right():
    run = subprocess.run([str(ROOT / "out/a800/test_product-sim"), "columns_begin_anywhere"], capture_output=True, text=True, env={**os.environ, **ALONE})
    assert run.returncode == 0, run.stderr
