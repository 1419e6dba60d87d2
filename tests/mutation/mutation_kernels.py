"""The simulator must disagree when a kernel is wrong: kernels are broken on purpose, each must be caught, and the test
says by what: a rule of the hardware (the simulator objects), the error expected of this data (run_kernel.c), or, last
resort, bits that differ from the unbroken kernel's. The a-priori bound alone would let a missing MMA pass."""
import atexit
import copy
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

import mutate
import mutation_check as check
import mutation_wgmma as wgmma
import pytest
from conftest import ROOT, SIM, bench_objects, set_with
from mutate import change, drop, instance

# set, scheme, what the kernel's name must hold (on the MI210 one with two buffers), transposes
SETS = {"a800": ("a800", "f16x3", ""), "mi210": ("mi210", "f16x3", "_s2_"), "a800-direct": ("a800", "bf16x6u", "_64x64x32_"),
        "a800-fma": ("a800", "bf16x6u", "_64x64x16_"), "a800-thin": ("a800", "bf16x6u", "_16x4x256_"),
        "a800-thin-k": ("a800", "bf16x6u", "_16x4x256_", "TN"), "a800-thin-rows": ("a800", "bf16x6u", "_16x4x256_", "TT"),
        "a800-tall": ("a800", "bf16x6u", "_128x4x64_"), "a800-tall-k": ("a800", "bf16x6u", "_128x4x64_", "TN"),
        "mi210-direct": ("mi210", "bf16x6u", "_64x64x32_"), "h200-direct": ("h200", "bf16x6u", "_64x32x32_w16x32_"),
        "h200-pair": ("h200", "f16x3", "_64x64x32_"), "h200-half": ("h200", "f16x3", "_32x64x32_"), "h200-direct-k": ("h200", "bf16x6u", "_64x32x32_w16x32_", "TN"), "h200-direct-rows": ("h200", "bf16x6u", "_64x64x32_w16x64_", "NT"),
        "h200-thin": ("h200", "bf16x6u", "_16x4x256_"), "h200-dmma": ("h200", "bf16x6u", "_64x64x16_w32x32_s4_"),
        "a800-thin-past": ("a800", "bf16x6u", "_16x4x256_", "TT", "1"), "a800-thin-any": ("a800", "bf16x6u", "_16x4x256_", "TN", "1"),
        "h200-dmma-past": ("h200", "bf16x6u", "_128x32x16_w32x32_s4_", "TN", "1"),
        "h200-dmma-k": ("h200", "bf16x6u", "_128x32x16_w32x32_s4_", "TN"), "h200-dmma-rows": ("h200", "bf16x6u", "_32x32x16_w16x16_s4_", "NT")}


def kernel_name(case, scheme=None, folder=None):
    """Of the set of this case, or in another folder of it."""
    gpu, own, part = SETS[case][:3]

    def names(folder):
        rows = [l.split("\t") for l in (folder / "manifest").read_text().splitlines()[2:]]
        return [r[0] for r in rows if r[1] == (scheme or own) and (scheme or part in r[0])]
    return names(folder or set_with(gpu, names))[0]


PACKED_BREAKS = {
    "no barrier in the ring": instance(r"ht_barrier\(\);", 0, ";"),
    "a missing MMA": instance(r"ht_mma\(acc[^\n]*\n", 5, ""),
    "a copy left out": instance(r"ht_stage_copy_issue\(&staged\[1\][^\n]*\n", 0, ";\n"),
}
LANES = {  # what the types of MFMA share
    "A's chunks exchanged": change("a-chunk", " / MMA_M;", " / MMA_M ^ 1;"),
    "rows of 64 lanes": change("a-row", " % MMA_M;", " / 2;"),
    "columns from registers, not from lanes": change("d-col", "lane / MMA_M * 4 + j % 4", "j % 4 * (64 / MMA_M) + lane / MMA_M"),
}


def mma(registers, *lines):
    """ht_mma as these lines."""
    return instance(rf"HT_DEVICE void ht_mma\({registers} \*d[^;{{]*{{[^}}]*}}", 0,
            f"HT_DEVICE void ht_mma({registers} *d, const unsigned *a, const unsigned *b)\n{{\n    " + "\n    ".join(lines) + "\n}")


BREAKS_OF = {
    "a800": {
        **PACKED_BREAKS,
        "a copy to the wrong place": instance(r"copy_to \+ write \+ 0,", 0, "copy_to + write + 4096,"),
        "a copy beyond the buffer": instance(r"copy_to \+ write \+ 0,", 0, "copy_to + write + SMEM_BYTES,"),
        "no wait for the copies": instance(r"ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>\(\);", 0, ";"),
        "waits for one group too few": instance(r"ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>\(\);", 0, "ht_stage_wait<PREFETCH_STAGES - 1>();"),
        "refills a stage that is read": instance(r"ht_barrier\(\);\n((\s+if \(fetch\)\n[^\n]*\n)+\s+ht_stage_commit\(\);\n)", 0, r"\g<1>ht_barrier();\n"),
        "a wrong fragment": instance(r"b\[0\]\[0\]\[0\]\);", 0, "b[0][0][1]);"),
        "a fragment from the wrong place": instance(r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "a promotion left out": instance(r"ht_promote\(master\[0\]\[1\][^\n]*\n", 0, ""),
        "half a warp leaves": instance(r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 16) ht_mma(acc[0][0][0]"),
    },
    "a800-direct": {
        "a missing MMA": instance(r"ht_mma\(corrections[^\n]*\n", 8, ""),
        "two slices exchanged": instance(r"a\[0\]\[1\], b\[0\]\[2\]\)", 0, "a[0][0], b[1][2])"),
        "no barrier between the stages": instance(r"ht_barrier\(\); // the stage", 0, "; // the stage"),
        "the stage that is read is written": instance(r"(ht_split_vectors<BM, A_PARTS, THREADS, P_K_MAJOR>\()write", 0, r"\g<1>read"),
        "a chain left out": instance(r"ht_promote\(sum\[1\][^\n]*\n", 0, ""),
        "one row too far": change("open-source", "rows - row;", "rows - row + 1;"),
        "the last lines are loaded whole": change("load-some", "there > 3)", "there > -9)"),
        "slices too close": change("cut-bytes", " SLICES *", " 2 *"),
        "a piece beside the one that is meant": change("piece-on", "across * 2)) +", "across * 4)) +"),
        "a column beside its own": change("turned-target", "own * -2;", "own * 2;"),
    },
    "a800-fma": {
        "no barrier between the stages": drop("multiply"),
        "the stage that is read is written": change("multiply-2", ">(write, ", ">(read, "),
        "an FMA left out": instance(r"sum\[1\]\[2\] = ht_fma[^\n]*\n", 0, ""),
        "a wrong row": instance(r"x\[1\] = ht_smem_load\(p \+ \(unsigned\)\(0 \* P_PITCH \+ 1", 0, "x[1] = ht_smem_load(p + (unsigned)(0 * P_PITCH + 2"),
        "lines too close": change("p-pitch", "BM + 2, Q_PITCH", "BM - 2, Q_PITCH"),
        "a chain that is forgotten": instance(r"ht_smem_store\(rest[^\n]*\n", 0, ";\n"),
        "sums that share their place": instance(r"(rest \+ \(unsigned\)\(\()1\)", 0, r"\g<1>2)"),
        "the last column is left out": instance(r"columns = args\.q\.rows - col - ", 1, "columns = args.q.rows - col - 1 - "),
        "halves that keep their rows": instance(r"exchange_halves\(sum\[2\]", 0, "if (own.row < 0) exchange_halves(sum[2]"),
        "a half in the other's rows": change("own-numbers", "? half * ", "? (1 - half) * "),
        "numbers traded with a neighbour": change("trade", "STEP * LANES", "1"),
    },
    "a800-thin": {  # k contiguous in P alone: line by line
        "no barrier before warps are added": drop("multiply-tile"),
        "lanes of a line are not added": change("leave-line-sums", "v = add_lanes(v, lanes);", ";"),
        "a warp left out": change("add-warps", "k_warp = 0", "k_warp = 1"),
        "a block's rows beyond the matrix": change("multiply-tile-2", " < args.p.rows ? own : args.p.rows - 1", ""),
        "a warp's rows beyond the matrix": instance(r"from \+= 0 \+ 1 < t\.rows", 0, "from += 99 > t.rows"),
        "a column beyond the matrix": instance(r"column \+= 1 \+ 1 < t\.cols", 0, "column += 99 > t.cols"),
        "Q's k taken for its columns": change("multiply-lines", "(column);", "(q);"),
    },
    "a800-thin-k": {  # k contiguous in both: 16 bytes at once
        "lanes of a row are not added": change("leave-k-sums", "v = add_lanes(v, lanes);", ";"),
        "an FMA left out": instance(r"HT_DEVICE void multiply_by_vector([\s\S]*?)sum\[1\]\[2\] = ht_fma[^\n]*\n", 0, r"HT_DEVICE void multiply_by_vector\g<1>"),
        "a load too few": instance(r"3 <= last\)", 1, "3 < last)"),
        "a load too far": change("multiply-ahead", "end - k -", "end + 999 - k -"),
    },
    "a800-thin-rows": {  # rows contiguous
        "warps that read the same k": change("multiply-tile-3", "warp * LINES + ", ""),
        "groups of lines in one place": change("leave-row-sums", "warp * LINES + line", "line"),
        "sums of the other half of k": instance(r"sum\[1 % SETS<P_K_MAJOR>\]", 0, "sum[0]"),
    },
    "a800-thin-past": {  # the same, where lines begin anywhere
        "the last line read beyond the matrix": (drop("multiply-tile-4"), change("multiply-tile-5", "t.end--;", ";")),
        "the last line left out": (drop("multiply-tile-6"), change("multiply-tile-7", "multiply_last(sum, t, first);", ";")),
        "the last line in another's sums": instance(r"if \(1 == set\)", 0, "if (2 == set)"),
        "numbers in their neighbours' rows": change("move-to-rows", "past & by ? w[e + by] : ", ""),
        "nothing from the next lane": change("move-to-rows-2", "lane ^ next", "0"),
        "rows that a line has not": change("block-rows", ": MISALIGNED_ROWS;", ": ROWS<P_K_MAJOR>;"),
    },
    "a800-thin-any": {  # k contiguous, lines that begin anywhere
        "the same k again": instance(r"from \+ u \* NEXT<true>", 0, "from"),
        "the same k of Q": drop("multiply-lines-2"),
        "another line's sum": instance(r"HT_DEVICE void multiply_lines([\s\S]*?)sum\[1\]\[2\] = ", 0, r"HT_DEVICE void multiply_lines\g<1>sum[1][1] = "),
        "lanes that begin as those of four numbers": change("multiply-tile-3", "(lines ? lane % LINE : lane % LANES * VEC)", "lane % LANES * VEC"),
    },
    "a800-tall": {  # loads of rows side by side, and one by one at the end
        "no barrier before classes are added": drop("tall-skinny-multiply-tile"),
        "a class left out": change("add-classes", "ht_add", "half < 2 ? v[i] : ht_add"),
        "classes that share their place": change("multiply-tile-8", " * PITCH<", " / 2 * PITCH<"),
        "a row beyond the matrix": change("near-row", " < t.rows ? row : t.rows - 1", ""),
        "a column beyond the matrix": instance(r"column \+= 1 \+ 1 < t\.cols", 0, "column += 99 > t.cols"),
        "an FMA left out": instance(r"chain\[1\] = ht_fma[^\n]*\n", 2, ""),
        "columns in one place": change("find-place", "q_tiles) * BN};", "q_tiles) * 1};"),
        "the same line twice": instance(r"own \+ 1 \* LINE", 0, "own"),
    },
    "a800-tall-k": {  # k contiguous
        "a row in another's place": instance(r"nearest_row<P_K_MAJOR, WIDE>\(t, set, 1\) \* t\.p_line", 0, "nearest_row<P_K_MAJOR, WIDE>(t, set, 0) * t.p_line"),
        "threads of a row that read the same k": change("multiply-tile-9", "k_lane * PER_THREAD", "k_lane / 2 * PER_THREAD"),
    },
    "mi210": {  # copies travel through registers: no wait to forget, it is the landing that has an address
        **PACKED_BREAKS,
        "a copy to the wrong place": instance(r"(ht_stage_copy_complete\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>4096"),
        "a copy beyond the buffer": instance(r"(ht_stage_copy_complete\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>SMEM_BYTES"),
        "a landing left out": instance(r"ht_stage_copy_complete\(&staged\[1\][^\n]*\n", 0, ";\n"),
        "a wrong fragment": instance(r"b\[0\]\[0\]\[0\]\);", 0, "b[0][1][0]);"),
        "a fragment from the wrong place": instance(r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "half a wavefront leaves": instance(r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 32) ht_mma(acc[0][0][0]"),
        # lane layouts
        **LANES,
        "C's columns as on 16 x 16 tiles": change("d-col", "j / 4 * (256 / MMA_M) + lane / MMA_M * 4 + j % 4", "lane / MMA_M * 16 + j"),
        "C transposed in the tile": mma("float", "ht_mma_half(d, a, b);", "ht_mma_half(d, a + 2, b + 2);"),
        "halves of a chunk mixed": mma("float", "ht_mma_half(d, b, a + 2);", "ht_mma_half(d, b + 2, a);"),
        "the other accumulator": instance(r"ht_mma\(acc\[1\]", 0, "ht_mma(acc[0]"),
    },
}
STEP = r"(HT_DEVICE void multiply_sliced[\s\S]*?steps; step \+= 2[\s\S]*?)"  # inside the loop
BREAKS_OF["h200-direct"] = {  # Q's lines are of k
    "no fence before what was stored is multiplied": drop("multiply-cut"),
    "no barrier between the stages": drop("multiply-cut-2"),
    "fragments are cut while they are read": drop("multiply-cut-3"),
    "fragments of the step that is multiplied": change("multiply-cut-4", "[1 - set]", "[set]"),
    "large sums are taken too early": drop("multiply-cut-5"),
    "two stages in the ring": change("ring", "RING = 3;", "RING = 2;"),
    "a product left out": change("corrections", "slice_of_p(p) != slice_of_q(p)", "slice_of_p(p) != slice_of_q(p) && slice_of_q(p) < 2"),
    "a slice in another's place": change("slice-of-correction", "slice_of_q(p) * PLANE", "(slice_of_q(p) > 0) * PLANE"),
    "chains that go on": change("chain-begins", "begun++ > 0", "1"),
    "the groups are not added up": drop("multiply-cut-6"),
    "both groups take the same steps": change("multiply-cut-7", "group * BK", "0"),
    "k in another order": change("place-of-columns", " 1) << 3;", " 1) << 2;"),
    "rows of P in another order": change("d-row", " + i : (lane", " + 1 - i : (lane"),
    "one row too far": change("open-reader", "rows - row;", "rows - row + 1;"),
    "the last lines are loaded whole": change("wgmma-rs-bf16x6-load-some", "there ? ht_ldg4", "there + 9 ? ht_ldg4"),
}
BREAKS_OF["h200-direct-k"] = {  # of rows
    "k in another order": change("cut-columns", "pair[2][s", "pair[1][s"),
    "pieces that are not exchanged": change("place-of-columns-2", "^ ht_bank_swizzle<PITCH>(line)", ""),
    "a descriptor of wider lines": change("columns", "LINE_BYTES == 128 ? 1 : 2", "1"),
}
BREAKS_OF["h200-direct-rows"] = {  # P's lines are of k as well
    "rows exchanged": change("cut-rows", "* 4 + x];", "* 4 + 1 - x];"),
    "the same line of k again": change("load-rows", " + line * ld", ""),
}
EARLY = instance(r"(ht_pdl_wait\(\); // what comes before[^\n]*\n)((?:    if[^\n]*\n    )?    ht_pdl_trigger\(\);[^\n]*\n)(    \w[^\n]*\n)", 0, r"\3\1\2")
BREAKS_OF["h200-thin"] = {"numbers before the launch before has ended": EARLY}
COPIES = r"HT_DEVICE void ht_copy_vectors([\s\S]*?)"
BREAKS_OF["h200-dmma"] = {  # lines of P are of rows, of Q of k
    "numbers before the launch before has ended": instance(r"(    ht_pdl_wait\(\); // what comes before[^\n]*\n    ht_pdl_trigger\(\);\n)([\s\S]*?)"
                                                   r"(#pragma unroll 1\n    for \(int k = range)", 0, r"\2\1\3"),
    "nobody waits": drop("dmma-multiply"),
    "no barrier between the stages": drop("multiply-3"),
    "waits for one copy too few": change("multiply-4", "STAGES - 2>();", "STAGES - 1>();"),
    "the stage that is read is written": change("multiply-5", ">(write, ", ">(read, "),
    "an MMA left out": instance(r"ht_mma_f64_1688\(sum\[1\]\[2\][^\n]*\n", 0, ""),
    "the other k of a lane": instance(r"\+ 1 \* 4 \* P_DEEP", 0, "+ 0 * 4 * P_DEEP"),
    "half a step left out": change("multiply-6", "> MMA_K) ", "> BK) "),
    "lines too close": change("copy-pitch", "ROWS + 8;", "ROWS - 8;"),
    "a line beyond the matrix": change("copy-pieces", "< lines ?", "<= lines ?"),
    "zeros for what exists": change("copy-pieces", " = i * AT_ONCE", " = (i + 1) * AT_ONCE"),
    "no barrier before the tile is stored": drop("store-sums"),
    "columns of sums that share their place": change("sum-pitch", ": BM + 4;", ": BM - 4;"),
    "lines beyond C": change("store-lines", "lines < LINES ? lines : ", ""),
    "a lane's columns side by side with the next one's": change("share-sums", " % 4 * 2;", " % 4;"),
}
BREAKS_OF["h200-dmma-k"] = {  # of k, both
    "the other k of a lane": instance(r"\+ 1 \* 4 \* Q_DEEP", 0, "+ 0 * 4 * Q_DEEP"),
    "k as rows": change("multiply-7", "row * P_PITCH + own", "own * P_PITCH + row"),
}
BREAKS_OF["h200-dmma-past"] = {  # where P's lines begin anywhere
    "lines as if they began at 16 bytes": change("multiply-7", ") + past)", "))"),
    "no copy more": change("copy-past", "ROWS && over != ", ""),
    "copied from where a line begins": drop("copy-past-2"),
    "behind the matrix": change("copy-four", " < 4 && some", " < 1 && some"),
    "zeros for what exists": change("copy-four-2", "there : 4;", "there : 3;"),
}
BREAKS_OF["h200-dmma-rows"] = {  # of rows, both
    "k that the stage has not": change("copy-pieces-2", "< used) {", "< 4) {"),
    "the second half of the first one's k": change("multiply-8", "MMA_K * (Q_K_MAJOR", "0 * (Q_K_MAJOR"),
}
BREAKS_OF["h200-pair"] = {  # two chunks in flight
    "panels before packing has ended": drop("produce"),
    "scales before packing has ended": drop("find-scales"),
    "the first chain is used too early": instance(r"ht_wgmma_wait<1>\(\);", 0, ";"),
    "the second chain is used too early": instance(r"ht_wgmma_wait<0>\(\);", 0, ";"),
    "the second chain is lost": instance(r"ht_promote_chain<ACC_REGS>\(acc\[0\]\[0\], other\);", 0, ";"),
    "the second chunk from the first one's slots": instance(r"\n +at = \(unsigned\)stage[^\n]*", 0, ""),
}
BREAKS_OF["h200-half"] = {  # half of an atom
    "both tiles of a block's rows copy the upper half": change("produce-2", "w.m0 % 64 * 128", "0"),
    "the whole atom": instance(r"copy_atom<PART_ROWS \* 128>", 0, "copy_atom<8192>"),
    "B's atoms where a whole one of A would end": change("a-bytes", "BM * 128;", "8192;"),
    "64 rows leave": change("rows-of-part", "PART_ROWS", "64"),
}
BREAKS_OF["mi210-direct"] = {
    **{label: BREAKS_OF["a800-direct"][label] for label in ("one row too far", "the last lines are loaded whole")},
    "a missing MMA": instance(r"ht_multiply\(compensation[^\n]*\n", 5, ""),
    "a chain left out": instance(r"ht_promote_compensation\(sum\[1\][^\n]*\n", 0, ""),
    "no barrier between the stages": drop("multiply-fp32"),
    "the stage that is read is written": change("multiply-fp32-2", ">(write, ", ">(read, "),
    # lane layouts of v_mfma_f32_16x16x4f32
    "lanes hold four k, as FP16's do": change("own-k", "lane / 16;", "lane / 16 * 4 % 16;"),
    "four rows to a lane's k": change("own-row", "lane % 16;", "lane / 4;"),
    "columns as on 32 x 32 tiles": change("own-col", "lane % 16;", "lane % 32;"),
    "C's columns 16 lanes apart": change("gfx90a-f32-d-col", "lane / 16 * 4 + j", "j * 4 + lane / 16"),
    "C transposed in the tile": change("gfx90a-f32-multiply", " &b, &a);", " &a, &b);"),
}
LAYOUTS = {  # the other types, on both shapes: BF16 on 32 x 32 tiles, INT8 on 16 x 16
    "bf16x6": {
        **LANES,
        "C transposed in the tile": mma("float", "ht_mma_half(d, a, b);", "ht_mma_half(d, a + 2, b + 2);"),
        "halves of a chunk mixed": mma("float", "ht_mma_half(d, b, a + 2);", "ht_mma_half(d, b + 2, a);"),
        # one buffer: a barrier before the next stage lands in it, one after
        "lands in a stage that is read": instance(r"ht_stage_release\(\);", 0, ";"),
        "reads a stage before it landed": instance(r"ht_barrier\(\);", 0, ";"),
        "two k of a lane, as before _1k": mma("float", "ht_mma_half(d, b, a);", "ht_mma_half(d, b + 1, a + 1);"),
    },
    "i8x6": {
        **LANES,
        "C transposed in the tile": change("mma", "b + q, a ", "a + q, b "),
        "quarters of a chunk mixed": change("mma", ", a + q);", ", a + (q ^ 1));"),
        "two quarters, as FP16 has halves": change("mma-2", "< 4; q++)", "< 4; q += 2)"),
    },
}




def dispatch_of(gpu, name, folder):
    """The set's table, in which this kernel takes k whole: in parts it would have two or three steps, and nothing to go round."""
    source = folder / "dispatch.c"
    text, count = re.subn(rf'("{name}", "[\s\S]*?\n +{{[^}}]*, )[01](, \d+}},\n)', r"\g<1>1\2", (ROOT / "out" / gpu / "dispatch.c").read_text(), count=1)
    assert count == 1
    source.write_text(text)
    subprocess.run(["gcc", "-std=c11", f"-I{ROOT}/runtime", "-c", str(source), "-o", str(source.with_suffix(".o"))], check=True)
    return source.with_suffix(".o")


@functools.cache
def harness(gpu, scheme=None):
    """The kernel's source, and what builds and runs another one in its place: everything else of the simulator test."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"broken-{gpu}-{scheme}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name, built = kernel_name(gpu, scheme), ROOT / "out" / SETS[gpu][0]
    objects = [dispatch_of(SETS[gpu][0], name, folder), *bench_objects("accuracy/families", "accuracy/metrics", "accuracy/reference", "io/threads"),
               ROOT / "out/test/run_kernel.o", built / "libhalftone-sim.a"]  # whose own kernel of this name nobody misses

    def build(text, label):
        source = folder / f"{label}.cu"
        source.write_text(text)
        made = subprocess.run([*SIM, "-c", str(source), "-o", str(folder / f"{label}.o")], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        program = folder / label
        subprocess.run(["g++", "-o", str(program), str(folder / f"{label}.o"), *map(str, objects), "-ldl", "-lpthread", "-lm"],
                       check=True)
        return subprocess.run([str(program), name, *SETS[gpu][3:]], capture_output=True, text=True, timeout=120)

    return next(path for path in built.glob(f"{name}.*") if path.suffix in (".cu", ".hip")), build


def last_line(run):
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing printed, exit {run.returncode}"


def bits(run):
    found = re.search(r"bits ([0-9a-f]{16})", run.stdout)
    return found.group(1) if found else None


@functools.cache
def whole(gpu, scheme=None):
    source, build = harness(gpu, scheme)
    return build(source.read_text(), "whole")


def caught_by(run, whole):
    """Why the run is not that of the unbroken kernel, or None."""
    if bits(run) is None:  # no result at all
        return f"the simulator: {last_line(run)}"
    if run.returncode != 0:
        return f"its error: {last_line(run)}"
    if bits(run) != bits(whole):
        return f"its bits: {bits(run)}, whole {bits(whole)}; {last_line(run)}"
    return None


def hold_to_be_caught(gpu, scheme, label, broken):
    source, build = harness(gpu, scheme)
    reason = caught_by(build(mutate.kernel(source, SETS[gpu][0], broken), re.sub(r"\W", "_", label)), whole(gpu, scheme))
    print(f"{label}: caught by {reason}")
    assert reason is not None, f"nobody noticed: {label}"


def wholes(scheme):
    """BF16 in parts is not among the schemes of `make test`."""
    return [pytest.mark.whole] if scheme == "bf16x6" else []


@pytest.mark.parametrize("gpu, scheme", [*((gpu, None) for gpu in SETS), *(pytest.param("mi210", scheme, marks=wholes(scheme)) for scheme in LAYOUTS)])
def test_the_kernel_as_generated_is_right(gpu, scheme):
    run = whole(gpu, scheme)
    assert run.returncode == 0 and bits(run) is not None, run.stdout + run.stderr


@pytest.mark.parametrize("gpu", SETS)
def test_the_same_kernel_twice_is_not_caught(gpu):
    source, build = harness(gpu)
    assert caught_by(build(source.read_text(), "again"), whole(gpu)) is None


@pytest.mark.mutation
@pytest.mark.parametrize("gpu, label", [(gpu, label) for gpu in SETS for label in BREAKS_OF[gpu]])
def test_a_broken_kernel_is_caught(gpu, label):
    hold_to_be_caught(gpu, None, label, BREAKS_OF[gpu][label])


@pytest.mark.mutation
@pytest.mark.parametrize("scheme, label", [pytest.param(scheme, label, marks=wholes(scheme)) for scheme in LAYOUTS for label in LAYOUTS[scheme]])
def test_a_broken_layout_of_another_type_is_caught(scheme, label):
    hold_to_be_caught("mi210", scheme, label, LAYOUTS[scheme][label])


# ---- each place that a template names is broken by some row of a table, and each edit finds its place: said in seconds, before any kernel is compiled

def rows():
    """Edits of every row: (what they break, edits, and of generated kernels set and pattern of the file's name)."""
    for case, table in BREAKS_OF.items():
        yield from ((f"{case}: {label}", edits, (case, None)) for label, edits in table.items())
    for scheme, table in LAYOUTS.items():
        yield from ((f"mi210, {scheme}: {label}", edits, ("mi210", scheme)) for label, edits in table.items())
    yield from ((label, edits, None) for label, (_, _, edits) in check.BREAKS.items())
    for table in (check.EPILOGUE, check.INSIDE, check.TURNS, check.LAUNCH, check.SHIFTS, check.WHOLE, check.FEW_ROWS, check.ONE_ROW, check.IN_VAIN, check.OTHER, check.PARTS, check.SUMS_OF_RANKS, check.SUMS, check.SPLIT, check.SMALL,
                  {"warpgroups without results": check.OTHER_GROUP, "a vote of the first warp": check.VOTE}):
        yield from ((label, edits, None) for label, edits in table.items())
    yield from ((label, edits, None) for label, (_, edits) in check.BLOCKS.items())
    for table in (wgmma.BREAKS, wgmma.PAIR_BREAKS, wgmma.STORE_BREAKS, wgmma.SCALE_BREAKS):
        yield from ((label, edits, None) for label, (edits, _) in table.items())


@pytest.fixture(scope="module")
def templates():
    return mutate.read(ROOT / "templates")


def test_each_place_that_a_template_names_is_broken(templates):
    named = {name for _, edits, _ in rows() for edit in mutate.listed(edits) for name in edit.names}
    assert named == set(mutate.places(templates))


def test_each_edit_finds_its_place(templates, emitted):
    lost = []
    for label, edits, kernel in rows():
        texts, text = copy.deepcopy(templates), None
        for edit in mutate.listed(edits):
            if hasattr(edit, "of_text") and kernel:
                case, scheme = kernel
                folder = emitted(SETS[case][0])
                name = kernel_name(case, scheme, folder)
                text = text or next(p for p in folder.glob(f"{name}.*") if p.suffix in (".cu", ".hip")).read_text()
            try:
                if hasattr(edit, "of_text"):
                    text = edit(text) if text else text
                else:
                    edit(texts)
            except AssertionError as fault:
                lost.append(f"{label}: {fault}")
    assert not lost, "\n".join(lost)
