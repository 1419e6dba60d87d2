"""The simulator must disagree when a kernel is wrong: kernels are broken on purpose, each must be caught, and the test
says by what: a rule of the hardware (the simulator objects), the error expected of this data (one_product.c), or, last
resort, bits that differ from the unbroken kernel's. The a-priori bound alone would let a missing MMA pass."""
import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import ROOT, SIM, runtime_objects

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


def kernel_name(case, scheme=None):
    gpu, own, part = SETS[case][:3]
    rows = [l.split("\t") for l in (ROOT / "out" / gpu / "manifest").read_text().splitlines()[2:]]
    return next(r[0] for r in rows if r[1] == (scheme or own) and (scheme or part in r[0]))


def nth(text, pattern, n, replacement):
    """Replaces the n-th match after the main loop began; a pattern that names a function may lie before it."""
    at = 0 if pattern.startswith(("HT_DEVICE", "constexpr")) else text.index("steady state" if "steady state" in text else "// ---- geometry")
    matches = list(re.finditer(pattern, text[at:]))
    assert len(matches) > n, pattern
    m = matches[n]
    return text[:at + m.start()] + m.expand(replacement) + text[at + m.end():]


PACKED_BREAKS = {
    "no barrier in the ring": (r"ht_barrier\(\);", 0, ";"),
    "a missing MMA": (r"ht_mma\(acc[^\n]*\n", 5, ""),
    "a copy left out": (r"ht_stage_copy_issue\(&staged\[1\][^\n]*\n", 0, ";\n"),
}
LANES = {  # what the types of MFMA share
    "A's chunks exchanged": (r"HT_DEVICE int ht_a_chunk\(int lane\)\s*{\s*return lane / MMA_M;", 0,
                             "HT_DEVICE int ht_a_chunk(int lane)\n{\n    return lane / MMA_M ^ 1;"),
    "rows of 64 lanes": (r"HT_DEVICE int ht_a_row\(int lane\)\s*{\s*return lane % MMA_M;", 0,
                         "HT_DEVICE int ht_a_row(int lane)\n{\n    return lane / 2;"),
    "columns from registers, not from lanes": (r"HT_DEVICE int ht_d_col[^}]*}", 0,
                                               "HT_DEVICE int ht_d_col(int lane, int j)\n{\n"
                                               "    return j / 4 * (256 / MMA_M) + j % 4 * (64 / MMA_M) + lane / MMA_M;\n}"),
}


def mma(registers, *lines):
    """ht_mma as these lines."""
    return (rf"HT_DEVICE void ht_mma\({registers} \*d[^}}]*}}", 0,
            f"HT_DEVICE void ht_mma({registers} *d, const unsigned *a, const unsigned *b)\n{{\n    " + "\n    ".join(lines) + "\n}")


BREAKS_OF = {
    "a800": {
        **PACKED_BREAKS,
        "a copy to the wrong place": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + 4096,"),
        "a copy beyond the buffer": (r"copy_to \+ write \+ 0,", 0, "copy_to + write + SMEM_BYTES,"),
        "no wait for the copies": (r"ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>\(\);", 0, ";"),
        "waits for one group too few": (r"ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>\(\);", 0, "ht_stage_wait<PREFETCH_STAGES - 1>();"),
        "refills a stage that is read": (r"ht_barrier\(\);\n((\s+if \(fetch\)\n[^\n]*\n)+\s+ht_stage_commit\(\);\n)", 0, r"\g<1>ht_barrier();\n"),
        "a wrong fragment": (r"b\[0\]\[0\]\[0\]\);", 0, "b[0][0][1]);"),
        "a fragment from the wrong place": (r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "a promotion left out": (r"ht_promote\(master\[0\]\[1\][^\n]*\n", 0, ""),
        "half a warp leaves": (r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 16) ht_mma(acc[0][0][0]"),
    },
    "a800-direct": {
        "a missing MMA": (r"ht_mma\(corrections[^\n]*\n", 8, ""),
        "two slices exchanged": (r"a\[0\]\[1\], b\[0\]\[2\]\)", 0, "a[0][0], b[1][2])"),
        "no barrier between the stages": (r"ht_barrier\(\); // the stage", 0, "; // the stage"),
        "the stage that is read is written": (r"(ht_split_vectors<BM, A_PARTS, THREADS, P_K_MAJOR>\()write", 0, r"\g<1>read"),
        "a chain left out": (r"ht_promote\(sum\[1\][^\n]*\n", 0, ""),
        "one row too far": (r"HT_DEVICE ht_source ht_open_source([^}]*?)rows - row;", 0,
                            r"HT_DEVICE ht_source ht_open_source\g<1>rows - row + 1;"),
        "the last lines are loaded whole": (r"HT_DEVICE uint4 ht_load_guarded([^}]*?)there > 3", 0,
                                            r"HT_DEVICE uint4 ht_load_guarded\g<1>there > -9"),
        "slices too close": (r"constexpr int ht_slices_bytes = SLICES", 0, "constexpr int ht_slices_bytes = 2"),
        "a piece beside the one that is meant": (r"HT_DEVICE unsigned ht_matrix_on([^}]*?)across \* 2", 0,
                                                 r"HT_DEVICE unsigned ht_matrix_on\g<1>across * 4"),
        "a column beside its own": (r"own % 2 : own \* -2;", 0, "own % 2 : own * 2;"),
    },
    "a800-fma": {
        "no barrier between the stages": (r"ht_barrier\(\); // the stage", 0, "; // the stage"),
        "the stage that is read is written": (r"(store_parts<BM, P_PARTS, P_PITCH>\()write", 0, r"\g<1>read"),
        "a multiply-add left out": (r"sum\[1\]\[2\] = __fmaf_rn[^\n]*\n", 0, ""),
        "a wrong row": (r"x\[1\] = ht_lds4\(p \+ \(unsigned\)\(0 \* P_PITCH \+ 1", 0, "x[1] = ht_lds4(p + (unsigned)(0 * P_PITCH + 2"),
        "lines too close": (r"P_PITCH = BM \+ 2", 0, "P_PITCH = BM - 2"),
        "a chain that is forgotten": (r"ht_sts4\(rest[^\n]*\n", 0, ";\n"),
        "sums that share their place": (r"(rest \+ \(unsigned\)\(\()1\)", 0, r"\g<1>2)"),
        "the last column is left out": (r"columns = args\.q\.rows - col - ", 1, "columns = args.q.rows - col - 1 - "),
        "halves that keep their rows": (r"exchange_halves\(sum\[2\]", 0, "if (own.row < 0) exchange_halves(sum[2]"),
        "a half in the other's rows": (r"half \* ROW_LANES : ", 0, "(1 - half) * ROW_LANES : "),
        "numbers traded with a neighbour": (r"HT_DEVICE void ht_lane_exchange([^}]*?)STEP \* LANES\)\);", 0, r"HT_DEVICE void ht_lane_exchange\g<1>1));"),
    },
    "a800-thin": {  # k contiguous in P alone: line by line
        "no barrier before warps are added": (r"ht_barrier\(\);", 0, ";"),
        "lanes of a line are not added": (r"HT_DEVICE void leave_line_sums([\s\S]*?)v = add_lanes\(v, lanes\);", 0, r"HT_DEVICE void leave_line_sums\g<1>;"),
        "a warp left out": (r"for \(int k_warp = 0; k_warp < K_WARPS;", 0, "for (int k_warp = 1; k_warp < K_WARPS;"),
        "a block's rows beyond the matrix": (r"own < args\.p\.rows \? own : args\.p\.rows - 1", 0, "own"),
        "a warp's rows beyond the matrix": (r"from \+= 0 \+ 1 < t\.rows", 0, "from += 99 > t.rows"),
        "a column beyond the matrix": (r"column \+= 1 \+ 1 < t\.cols", 0, "column += 99 > t.cols"),
        "Q's k taken for its columns": (r"ht_ldg4\(column\)", 1, "ht_ldg4(q)"),
    },
    "a800-thin-k": {  # k contiguous in both: 16 bytes at once
        "lanes of a row are not added": (r"v = add_lanes\(v, lanes\);", 0, ";"),
        "a multiply-add left out": (r"HT_DEVICE void multiply_by_four([\s\S]*?)sum\[1\]\[2\] = __fmaf_rn[^\n]*\n", 0, r"HT_DEVICE void multiply_by_four\g<1>"),
        "a load too few": (r"3 <= last\)", 1, "3 < last)"),
        "a load too far": (r"const int last = \(t.end - k", 0, "const int last = (t.end + 999 - k"),
    },
    "a800-thin-rows": {  # rows contiguous
        "warps that read the same k": (r"warp \* LINES \+ lane / LANES :", 0, "lane / LANES :"),
        "groups of lines in one place": (r"group = \(warp \* LINES \+ line\) / 4", 0, "group = line / 4"),
        "sums of the other half of k": (r"sum\[1 % SETS<P_K_MAJOR>\]", 0, "sum[0]"),
    },
    "a800-thin-past": {  # the same, where lines begin anywhere
        "the last line read beyond the matrix": (r"if \(ends\)\n +t\.end--;", 0, ";"),
        "the last line left out": (r"if \(ends\)\n +multiply_last[^\n]*", 0, ";"),
        "the last line in another's sums": (r"if \(1 == set\)", 0, "if (2 == set)"),
        "numbers in their neighbours' rows": (r"v\[e\] = past & 2 \? w\[e \+ 2\] : w\[e\]", 0, "v[e] = w[e]"),
        "nothing from the next lane": (r"lane \^ next\)", 0, "0)"),
        "rows that a line has not": (r"rows <= FEW_ROWS \? ROWS<P_K_MAJOR> : MISALIGNED_ROWS", 0, "rows <= FEW_ROWS ? ROWS<P_K_MAJOR> : ROWS<P_K_MAJOR>"),
    },
    "a800-thin-any": {  # k contiguous, lines that begin anywhere
        "the same k again": (r"from \+ u \* NEXT<true>", 0, "from"),
        "the same k of Q": (r"HT_DEVICE void multiply_lines([\s\S]*?)q \+= q_step;", 0, r"HT_DEVICE void multiply_lines\g<1>;"),
        "another line's sum": (r"HT_DEVICE void multiply_lines([\s\S]*?)sum\[1\]\[2\] = ", 0, r"HT_DEVICE void multiply_lines\g<1>sum[1][1] = "),
        "lanes that begin as those of four numbers": (r"\(lines \? lane : lane % LANES \* 4\)", 0, "lane % LANES * 4"),
    },
    "a800-tall": {  # loads of rows side by side, and one by one at the end
        "no barrier before classes are added": (r"ht_barrier\(\);", 0, ";"),
        "a class left out": (r"v\[i\] = __fadd_rn\(v\[i\], v\[i \+ half\]\);", 0, "v[i] = half < 2 ? v[i] : __fadd_rn(v[i], v[i + half]);"),
        "classes that share their place": (r"k_lane \* PITCH<SETS>", 0, "k_lane / 2 * PITCH<SETS>"),
        "a row beyond the matrix": (r"return row < t\.rows \? row : t\.rows - 1;", 0, "return row;"),
        "a column beyond the matrix": (r"column \+= 1 \+ 1 < t\.cols", 0, "column += 99 > t.cols"),
        "a multiply-add left out": (r"chain\[1\] = __fmaf_rn[^\n]*\n", 2, ""),
        "columns in one place": (r"\(x - p_tile \* q_tiles\) \* BN", 0, "(x - p_tile * q_tiles) * 1"),
        "the same line twice": (r"own \+ 1 \* LINE", 0, "own"),
    },
    "a800-tall-k": {  # k contiguous
        "a row in another's place": (r"near_row<P_K_MAJOR, WIDE>\(t, set, 1\) \* t\.p_line", 0, "near_row<P_K_MAJOR, WIDE>(t, set, 0) * t.p_line"),
        "threads of a row that read the same k": (r"t\.lane_k = k_lane \* PER_THREAD;", 0, "t.lane_k = k_lane / 2 * PER_THREAD;"),
    },
    "mi210": {  # copies travel through registers: no wait to forget, it is the landing that has an address
        **PACKED_BREAKS,
        "a copy to the wrong place": (r"(ht_stage_copy_complete\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>4096"),
        "a copy beyond the buffer": (r"(ht_stage_copy_complete\(&staged\[0\], copy_to \+ write \+ )0", 0, r"\g<1>SMEM_BYTES"),
        "a landing left out": (r"ht_stage_copy_complete\(&staged\[1\][^\n]*\n", 0, ";\n"),
        "a wrong fragment": (r"b\[0\]\[0\]\[0\]\);", 0, "b[0][1][0]);"),
        "a fragment from the wrong place": (r"(ht_load_a\(a\[1\]\[0\]\[0\], a_at\[1\] \+ read \+ )0\)", 0, r"\g<1>2048)"),
        "half a wavefront leaves": (r"ht_mma\(acc\[0\]\[0\]\[0\]", 0, "if (lane < 32) ht_mma(acc[0][0][0]"),
        # lane layouts
        **LANES,
        "C's columns as on 16 x 16 tiles": (r"HT_DEVICE int ht_d_col[^}]*}", 0,
                                            "HT_DEVICE int ht_d_col(int lane, int j)\n{\n    return lane / MMA_M * 16 + j;\n}"),
        "C transposed in the tile": mma("float", "ht_mma_half(d, a, b);", "ht_mma_half(d, a + 2, b + 2);"),
        "halves of a chunk mixed": mma("float", "ht_mma_half(d, b, a + 2);", "ht_mma_half(d, b + 2, a);"),
        "the other accumulator": (r"ht_mma\(acc\[1\]", 0, "ht_mma(acc[0]"),
    },
}
STEP = r"(HT_DEVICE void multiply_sliced[\s\S]*?steps; step \+= 2[\s\S]*?)"  # inside the loop
BREAKS_OF["h200-direct"] = {  # Q's lines are of k
    "no fence before what was stored is multiplied": (STEP + r"ht_async_fence\(\);", 0, r"\g<1>;"),
    "no barrier between the stages": (STEP + r"ht_group_barrier[^;]*;", 0, r"\g<1>;"),
    "fragments are cut while they are read": (STEP + r"ht_wgmma_wait<2>\(\);", 0, r"\g<1>;"),
    "fragments of the step that is multiplied": (STEP + r"a\[1 - set\]", 0, r"\g<1>a[set]"),
    "large sums are taken too early": (STEP + r"ht_wgmma_wait<1>\(\);", 0, r"\g<1>;"),
    "two stages in the ring": (r"constexpr int RING = 3", 0, "constexpr int RING = 2"),
    "a product left out": (r"HT_DEVICE void multiply_step([\s\S]*?)slice_of_p\(p\) != slice_of_q\(p\)", 0, r"HT_DEVICE void multiply_step\g<1>p > 0 && slice_of_p(p) != slice_of_q(p)"),
    "a slice in another's place": (r"HT_DEVICE void multiply_step([\s\S]*?)b \+ slice_of_q\(p\) \* PLANE", 0, r"HT_DEVICE void multiply_step\g<1>b + (slice_of_q(p) ^ 1) * PLANE"),
    "chains that go on": (r"HT_DEVICE void multiply_step([\s\S]*?)begun\+\+ > 0\)", 0, r"HT_DEVICE void multiply_step\g<1>1)"),
    "the groups are not added up": (r"(HT_DEVICE void multiply_sliced[\s\S]*?)join_groups\(total[^\n]*\n", 0, r"\g<1>;\n"),
    "both groups take the same steps": (r"(HT_DEVICE void multiply_sliced[\s\S]*?)own.k0 \+= group \* BK", 0, r"\g<1>own.k0 += 0"),
    "k in another order": (r"HT_DEVICE unsigned offset_of_columns([\s\S]*?)\(line >> 1 & 1\) << 3", 0, r"HT_DEVICE unsigned offset_of_columns\g<1>(line >> 1 & 1) << 2"),
    "rows of P in another order": (r"HT_DEVICE int ht_d_row([^}]*?)\(lane >> 2\) \* 2 \+ i", 0, r"HT_DEVICE int ht_d_row\g<1>(lane >> 2) * 2 + 1 - i"),
    "one row too far": (r"HT_DEVICE ht_reader open_reader([\s\S]*?)rows - row;", 0, r"HT_DEVICE ht_reader open_reader\g<1>rows - row + 1;"),
    "the last lines are loaded whole": (r"HT_DEVICE void load_guarded([\s\S]*?)i < there", 0, r"HT_DEVICE void load_guarded\g<1>i < there + 9"),
}
BREAKS_OF["h200-direct-k"] = {  # of rows
    "k in another order": (r"HT_DEVICE void split_columns([\s\S]*?)pair\[2\]\[s\]", 0, r"HT_DEVICE void split_columns\g<1>pair[1][s]"),
    "pieces that are not exchanged": (r"HT_DEVICE unsigned offset_of_columns([\s\S]*?)\^ ht_bank_swizzle<PITCH>\(line\)", 0, r"HT_DEVICE unsigned offset_of_columns\g<1>"),
    "a descriptor of wider lines": (r"HT_DEVICE unsigned long long ht_columns([^}]*?)LINE_BYTES == 128 \? 1 : 2", 0, r"HT_DEVICE unsigned long long ht_columns\g<1>1"),
}
BREAKS_OF["h200-direct-rows"] = {  # P's lines are of k as well
    "rows exchanged": (r"HT_DEVICE void split_rows([\s\S]*?)v\[i\]\[h \* 4 \+ x\]", 0, r"HT_DEVICE void split_rows\g<1>v[i][h * 4 + 1 - x]"),
    "the same line of k again": (r"HT_DEVICE void load_rows([\s\S]*?)from \+ line \* ld", 0, r"HT_DEVICE void load_rows\g<1>from"),
}
EARLY = (r"(ht_pdl_wait\(\); // what comes before[^\n]*\n)((?:    if[^\n]*\n    )?    ht_pdl_trigger\(\);[^\n]*\n)(    \w[^\n]*\n)", 0, r"\3\1\2")
BREAKS_OF["h200-thin"] = {"numbers before the launch before has ended": EARLY}
COPIES = r"HT_DEVICE void ht_copy_vectors([\s\S]*?)"
BREAKS_OF["h200-dmma"] = {  # lines of P are of rows, of Q of k
    "numbers before the launch before has ended": (r"(    ht_pdl_wait\(\); // what comes before[^\n]*\n    ht_pdl_trigger\(\);\n)([\s\S]*?)"
                                                   r"(#pragma unroll 1\n    for \(int k = range)", 0, r"\2\1\3"),
    "nobody waits": (r"ht_pdl_wait\(\);", 0, ";"),
    "no barrier between the stages": (r"ht_barrier\(\); // the stage", 0, "; // the stage"),
    "waits for one copy too few": (r"ht_cp_async_wait<STAGES - 2>", 0, "ht_cp_async_wait<STAGES - 1>"),
    "the stage that is read is written": (r"copy_step<P_K_MAJOR, Q_K_MAJOR>\(write", 1, "copy_step<P_K_MAJOR, Q_K_MAJOR>(read"),
    "an MMA left out": (r"ht_mma_f64_1688\(sum\[1\]\[2\][^\n]*\n", 0, ""),
    "the other k of a lane": (r"\+ 1 \* 4 \* P_DEEP", 0, "+ 0 * 4 * P_DEEP"),
    "half a step left out": (r"range\.end - k > MMA_K\)", 0, "range.end - k > BK)"),
    "lines too close": (r"constexpr int ht_copy_pitch = K_MAJOR \? BK \+ 4 : ROWS \+ 8", 0, "constexpr int ht_copy_pitch = K_MAJOR ? BK + 4 : ROWS - 8"),
    "a line beyond the matrix": (COPIES + r"i \* AT_ONCE < lines", 0, r"HT_DEVICE void ht_copy_vectors\g<1>i * AT_ONCE <= lines"),
    "zeros for what exists": (COPIES + r"i \* AT_ONCE < lines", 0, r"HT_DEVICE void ht_copy_vectors\g<1>(i + 1) * AT_ONCE < lines"),
    "no barrier before the tile is stored": (r"ht_barrier\(\); // all sums are there", 0, ";"),
    "columns of sums that share their place": (r"constexpr int SUM_PITCH = SWAP_AB \? BN \+ 8 : BM \+ 4", 0, "constexpr int SUM_PITCH = SWAP_AB ? BN + 8 : BM - 4"),
    "lines beyond C": (r"lines < LINES \? lines : LINES", 0, "LINES"),
    "a lane's columns side by side with the next one's": (r"HT_DEVICE void share_sums([\s\S]*?)lane % 4 \* 2", 0, r"HT_DEVICE void share_sums\g<1>lane % 4"),
}
BREAKS_OF["h200-dmma-k"] = {  # of k, both
    "the other k of a lane": (r"\+ 1 \* 4 \* Q_DEEP", 0, "+ 0 * 4 * Q_DEEP"),
    "k as rows": (r"P_K_MAJOR \? row \* P_PITCH \+ own", 0, "P_K_MAJOR ? own * P_PITCH + row"),
}
BREAKS_OF["h200-dmma-past"] = {  # where P's lines begin anywhere
    "lines as if they began at 16 bytes": (r"own \* P_PITCH \+ row\) \+ past\) \* 4", 0, "own * P_PITCH + row)) * 4"),
    "no copy more": (r"HT_DEVICE void ht_copy_misaligned([\s\S]*?)own < ROWS && over != 0", 0, r"HT_DEVICE void ht_copy_misaligned\g<1>own < 0"),
    "copied from where a line begins": (r"HT_DEVICE void ht_copy_misaligned([\s\S]*?)at -= past;", 0, r"HT_DEVICE void ht_copy_misaligned\g<1>;"),
    "behind the matrix": (r"HT_DEVICE void ht_copy_vec4([\s\S]*?)lines < 4 && some", 0, r"HT_DEVICE void ht_copy_vec4\g<1>lines < 1 && some"),
    "zeros for what exists": (r"HT_DEVICE void ht_copy_vec4([\s\S]*?)there < 4 \? there : 4", 0, r"HT_DEVICE void ht_copy_vec4\g<1>there < 4 ? there : 3"),
}
BREAKS_OF["h200-dmma-rows"] = {  # of rows, both
    "k that the stage has not": (COPIES + r"line \+ i \* AT_ONCE < used", 0, r"HT_DEVICE void ht_copy_vectors\g<1>line + i * AT_ONCE < 4"),
    "the second half of the first one's k": (r"read \+ at_q \+ MMA_K \*", 0, "read + at_q + 0 *"),
}
BREAKS_OF["h200-pair"] = {  # two chunks in flight
    "panels before packing has ended": (r"ht_pdl_wait\(\); // for packing", 0, "; //"),
    "scales before packing has ended": (r"(HT_DEVICE void load_scales[\s\S]*?)ht_pdl_wait\(\);", 0, r"\g<1>;"),
    "the first chain is used too early": (r"ht_wgmma_wait<1>\(\);", 0, ";"),
    "the second chain is used too early": (r"ht_wgmma_wait<0>\(\);", 0, ";"),
    "the second chain is lost": (r"ht_promote_chain<ACC_REGS>\(acc\[0\]\[0\], other\);", 0, ";"),
    "the second chunk from the first one's slots": (r"\n +at = \(unsigned\)stage[^\n]*", 0, ""),
}
BREAKS_OF["h200-half"] = {  # half of an atom
    "both tiles of a block's rows copy the upper half": (r"w\.m0 % 64 \* 128", 0, "0"),
    "the whole atom": (r"copy_atom<PART_ROWS \* 128>", 0, "copy_atom<8192>"),
    "B's atoms where a whole one of A would end": (r"constexpr int A_BYTES = BM \* 128;", 0, "constexpr int A_BYTES = 8192;"),
    "64 rows leave": (r"row < PART_ROWS && at\.row \+ row < o\.g\.m", 0, "row < 64 && at.row + row < o.g.m"),
}
BREAKS_OF["mi210-direct"] = {
    **{label: BREAKS_OF["a800-direct"][label] for label in ("one row too far", "the last lines are loaded whole")},
    "a missing MMA": (r"ht_multiply\(compensation[^\n]*\n", 5, ""),
    "a chain left out": (r"ht_promote_compensation\(sum\[1\][^\n]*\n", 0, ""),
    "no barrier between the stages": (r"ht_barrier\(\); // the stage", 0, "; // the stage"),
    "the stage that is read is written": (r"(ht_store_vectors<BM, A_PARTS>\()write", 0, r"\g<1>read"),
    # lane layouts of v_mfma_f32_16x16x4f32
    "lanes hold four k, as FP16's do": (r"HT_DEVICE int ht_lane_k\(int lane\)\s*{\s*return lane / 16;", 0,
                                        "HT_DEVICE int ht_lane_k(int lane)\n{\n    return lane / 16 * 4 % 16;"),
    "four rows to a lane's k": (r"HT_DEVICE int ht_lane_row\(int lane, int\)\s*{\s*return lane % 16;", 0,
                                   "HT_DEVICE int ht_lane_row(int lane, int)\n{\n    return lane / 4;"),
    "columns as on 32 x 32 tiles": (r"HT_DEVICE int ht_lane_col\(int lane, int\)\s*{\s*return lane % 16;", 0,
                                    "HT_DEVICE int ht_lane_col(int lane, int)\n{\n    return lane % 32;"),
    "C's columns 16 lanes apart": (r"HT_DEVICE int ht_d_col[^}]*}", 0,
                                   "HT_DEVICE int ht_d_col(int lane, int j)\n{\n    return j * 4 + lane / 16;\n}"),
    "C transposed in the tile": (r"HT_DEVICE void ht_multiply([^}]*?)\(d, &b, &a\)", 0,
                                 r"HT_DEVICE void ht_multiply\g<1>(d, &a, &b)"),
}
LAYOUTS = {  # the other types, on both shapes: BF16 on 32 x 32 tiles, INT8 on 16 x 16
    "bf16x6": {
        **LANES,
        "C transposed in the tile": mma("float", "ht_mma_half(d, a, b);", "ht_mma_half(d, a + 2, b + 2);"),
        "halves of a chunk mixed": mma("float", "ht_mma_half(d, b, a + 2);", "ht_mma_half(d, b + 2, a);"),
        # one buffer: a barrier before the next stage lands in it, one after
        "lands in a stage that is read": (r"ht_stage_release\(\);", 0, ";"),
        "reads a stage before it landed": (r"ht_barrier\(\);", 0, ";"),
        "two k of a lane, as before _1k": mma("float", "ht_mma_half(d, b, a);", "ht_mma_half(d, b + 1, a + 1);"),
    },
    "i8x6": {
        **LANES,
        "C transposed in the tile": mma("int", "for (int q = 0; q < 4; q++)", "    ht_mma_quarter(d, a + q, b + q);"),
        "quarters of a chunk mixed": mma("int", "for (int q = 0; q < 4; q++)", "    ht_mma_quarter(d, b + q, a + (q ^ 1));"),
        "two quarters, as FP16 has halves": mma("int", "for (int q = 0; q < 4; q += 2)", "    ht_mma_quarter(d, b + q, a + q);"),
    },
}




def dispatch_of(gpu, name, folder):
    """The set's table, in which this kernel takes k whole: in parts it would have two or three steps, and nothing to go round."""
    source = folder / "dispatch.c"
    text, count = re.subn(rf"[01](}},\n\s+{name}_init,)", r"1\1", (ROOT / "out" / gpu / "dispatch.c").read_text())
    assert count == 1
    source.write_text(text)
    subprocess.run(["gcc", "-std=c11", f"-I{ROOT}/runtime", "-c", str(source), "-o", str(source.with_suffix(".o"))], check=True)
    return source.with_suffix(".o")


@functools.cache
def harness(gpu, scheme=None):
    """The kernel's text, and what builds and runs another one in its place: everything else of the simulator test."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"broken-{gpu}-{scheme}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name, built = kernel_name(gpu, scheme), ROOT / "out" / SETS[gpu][0]
    other = [o for o in (built / "sim").glob("*.o") if o.stem != name]
    objects = [*runtime_objects(),
               dispatch_of(SETS[gpu][0], name, folder), *(ROOT / "out/obj/runtime/sim").glob("*.o"),
               *[ROOT / f"out/obj/bench/{n}.o" for n in ("families", "metrics", "reference", "threads")],
               ROOT / "out/test/one_product.o"]

    def build(text, label):
        source = folder / f"{label}.cu"
        source.write_text(text)
        made = subprocess.run([*SIM, "-c", str(source), "-o", str(folder / f"{label}.o")], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        program = folder / label
        subprocess.run(["g++", "-o", str(program), str(folder / f"{label}.o"), *map(str, other + objects), "-lpthread", "-lm"],
                       check=True)
        return subprocess.run([str(program), name, *SETS[gpu][3:]], capture_output=True, text=True, timeout=120)

    return next(built.glob(f"{name}.*")).read_text(), build


def last_line(run):
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1] if lines else f"nothing printed, exit {run.returncode}"


def bits(run):
    found = re.search(r"bits ([0-9a-f]{16})", run.stdout)
    return found.group(1) if found else None


@functools.cache
def whole(gpu, scheme=None):
    text, build = harness(gpu, scheme)
    return build(text, "whole")


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
    text, build = harness(gpu, scheme)
    reason = caught_by(build(nth(text, *broken), re.sub(r"\W", "_", label)), whole(gpu, scheme))
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
    text, build = harness(gpu)
    assert caught_by(build(text, "again"), whole(gpu)) is None


@pytest.mark.mutation
@pytest.mark.parametrize("gpu, label", [(gpu, label) for gpu in SETS for label in BREAKS_OF[gpu]])
def test_a_broken_kernel_is_caught(gpu, label):
    hold_to_be_caught(gpu, None, label, BREAKS_OF[gpu][label])


@pytest.mark.mutation
@pytest.mark.parametrize("scheme, label", [pytest.param(scheme, label, marks=wholes(scheme)) for scheme in LAYOUTS for label in LAYOUTS[scheme]])
def test_a_broken_layout_of_another_type_is_caught(scheme, label):
    hold_to_be_caught("mi210", scheme, label, LAYOUTS[scheme][label])
