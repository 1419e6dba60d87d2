"""FP64 products by FP64 arithmetic (native64) in the simulator: DMMA of sm_80 and sm_90, FMAs on 32 and 64
lanes; broken copies are noticed; real compilers take them."""
import os
import re
import subprocess

import broken_templates
import pytest
from conftest import ROOT, SIM

DGEMM, FMA, GEMV, SIMT, TALL = "fp64_mma_tile", "fp64_tile", "gemv", "simt_small_k", "tall_skinny"
TYPES_OF_FP64 = (("ELEMENT_BYTES = 4", "ELEMENT_BYTES = 8"), ("real_f32", "real_f64"))
OF_FP64 = (*TYPES_OF_FP64, ("BM = 16, BN = 4, BK = 256", "BM = 16, BN = 4, BK = 128"))
SIMT_TILE, TALL_TILE = "BM = 64, BN = 64, BK = 16, WM = 64, WN = 16", "BM = 128, BN = 4, BK = 64"


def simt_of(bm, bn, wm, wn):
    return (*TYPES_OF_FP64, (SIMT_TILE, f"BM = {bm}, BN = {bn}, BK = 8, WM = {wm}, WN = {wn}"))


def tall_of(columns):
    return (*TYPES_OF_FP64, (TALL_TILE, f"BM = 64, BN = {columns}, BK = 64"))


REDUCE = (("CHECKS = 1", "CHECKS = 0"), ("real_f32", "real_f64"))
ONE_COLUMN = ("ELEMENT_BYTES = 8, BM = 16, BN = 4", "ELEMENT_BYTES = 8, BM = 8, BN = 1")
ARCHS = { # skeleton, what differs from its sample, and whose machine it is
    "sm80": (DGEMM, (), "sm80"),
    "sm90": (DGEMM, (('#include "../hooks/arch/sm80_dmma.cuh"',
                      '#include "../hooks/arch/sm90_dmma.cuh"\n#include "../hooks/arch/sm90_dmma64.cuh"'),), "sm90"),
    "sm90, warps of 64x32": (DGEMM, (("BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 4", "BM = 128, BN = 64, BK = 16, WM = 64, WN = 32, STAGES = 3"),),
                             "sm80"),
    "sm80, warps of 16x16": (DGEMM, (("BM = 64, BN = 64, BK = 16, WM = 32, WN = 32", "BM = 32, BN = 32, BK = 16, WM = 16, WN = 16"),), "sm80"),
    "sm90, 96 rows": (DGEMM, (("BM = 64, BN = 64, BK = 16, WM = 32", "BM = 96, BN = 64, BK = 16, WM = 48"),), "sm90"),
    "sm80, 16 columns": (DGEMM, (("BM = 64, BN = 64, BK = 16, WM = 32, WN = 32", "BM = 64, BN = 16, BK = 16, WM = 16, WN = 16"),), "sm80"),
    "fma": (FMA, (), "sm75"),
    "gemv": (GEMV, (*OF_FP64, ONE_COLUMN), "sm90"),
    "gemv, four columns": (GEMV, OF_FP64, "sm75"),
    "simt, eight columns": (SIMT, simt_of(128, 8, 32, 8), "sm75"),
    "simt, 16 columns": (SIMT, simt_of(128, 16, 32, 16), "sm80"),
    "simt, 32 columns": (SIMT, simt_of(128, 32, 64, 16), "sm75"),
    "simt": (SIMT, simt_of(64, 64, 64, 16), "sm80"),
    "simt of 64 lanes, eight columns": (SIMT, (*simt_of(128, 8, 32, 8), ("constexpr int WAVE = 32", "constexpr int WAVE = 64")), "gfx90a"),
    "simt of 64 lanes": (SIMT, (*simt_of(64, 64, 64, 16), ("constexpr int WAVE = 32", "constexpr int WAVE = 64")), "gfx90a"),
    "tall": (TALL, tall_of(1), "sm90"),
    "tall, two columns": (TALL, tall_of(2), "sm80"),
    "tall, four columns": (TALL, tall_of(4), "sm75"),
    "fma of 64 lanes": (FMA, (("constexpr int WAVE = 32", "constexpr int WAVE = 64"),), "gfx90a"),
}
CASES = ("1 1 1 NN integers 1 0", "70 66 33 NN integers 1 0", "65 3 50 TN wide 1 0", "3 130 17 NT uniform -0.5 0", "66 65 40 TT integers 2 -1",
         "20 30 15 NN uniform 0.3 -1.7", "40 40 20 NN nonfinite 1 0", "40 40 20 NT nonfinite 0 2", "20 20 0 NN uniform 1 1", "33 34 20 TN integers 1 0 3",
         "20 20 10 NN nonfinite 0 0", "61 63 93 NT integers 1 0", "61 63 93 TN integers 1 0", "130 137 129 TN integers 1 0", "137 130 131 NT integers 1 2",
         "150 140 20 NN integers 1 1 1 2", "66 70 20 TN integers 1 0 2 4", "60 60 20 NT uniform 1 0 1 0", "137 139 131 NN integers 1 0",
         "137 139 70 NT integers 1 0", "137 139 133 TT integers 1 0", "137 139 64 NT integers 1 0",
         "130 140 333 TT uniform 0.3 -1.7 2 2", "40 70 20 TN uniform 1 0 1 1", "70 70 20 NT nonfinite 1 0 1 3", "33 40 20 NN nonfinite 1 0 2 2")
WITHOUT_COUNTS = tuple(case for case in CASES if len(case.split()) < 9)
# Vectors: one and a few rows or columns, aligned and not, whole loads and the last k, entries, what NaN and Inf reach.
THIN_CASES = tuple(f"{size} {transposes} {rest}" for size, rest in (
    ("1 1 1000", "integers 1 0"), ("260 1 515", "integers 1 0"), ("1 259 514", "integers -1 2"), ("131 3 77", "integers 1 0"), ("2 67 1030", "integers 1 0 3"),
    ("3 70 531", "uniform 0.3 -1.7"), ("4 33 2100", "wide 1 0"), ("75 4 640", "nonfinite 1 0"), ("5 1 9", "nonfinite 1 1"), ("37 2 64", "nonfinite 0 2"),
    ("1 30 0", "uniform 1 1"), ("17 1 3", "integers 1 0 2"), ("16 1 1024", "uniform 1 0"))
    for transposes in ("NN", "NT", "TN", "TT"))
# Many rows whose k is a line at most, which a block takes in sets.
TALL_CASES = tuple(f"{size} {transposes} {rest}" for size, rest in (("17000 3 5", "integers 1 0"), ("17001 2 16", "integers 2 -1"), ("17000 5 8", "nonfinite 1 0"))
                   for transposes in ("NN", "TT"))
# Parts of k: some have a step more, more parts than steps, entries, what NaN and Inf reach.
SPLIT_CASES = tuple(f"{size} {transposes} {rest}" for size, rest in (
    ("33 3 1000", "integers 2 -1 1 -1 5"), ("40 20 333", "uniform 0.3 -1.7 2 -1 18"), ("20 2 600", "nonfinite 1 0 1 -1 3"), ("2 35 90", "integers 1 0 2 -1 7"))
    for transposes in ("NN", "NT", "TN", "TT"))
BREAKS = { # text of the skeleton or a hook, replacement, case
    "no barrier": ("skeletons/fp64_mma_tile.cu", r"ht_barrier\(\); // the b", "// ", 1),
    "a step too early": ("skeletons/fp64_mma_tile.cu", r"wait<STAGES - 2>\(\);\n    ht_b", "wait<STAGES - 1>();\n    ht_b", 1),
    "copies where others read": ("skeletons/fp64_mma_tile.cu", r"issue<WHOLE>\(a, b, other\)", "issue<WHOLE>(a, b, buffer)", 1),
    "one group twice": ("skeletons/fp64_mma_tile.cu", r"b_lane, s \+ 1\)", "b_lane, 0)", 1),
    "k beyond the matrix": ("hooks/stage/tile_f64.cuh", r"length - place", "2", 2),
    "rows beyond the matrix": ("hooks/stage/tile_f64.cuh", r"ALONG_K \? x\.left : x\.rows", "ALONG_K ? x.left : ROWS", 1),
    "lines beyond the matrix": ("hooks/stage/tile_f64.cuh", r"copy::LINES < lines", "copy::LINES < ROWS", 12),
    "a pair at once that is not aligned": ("hooks/stage/tile_f64.cuh", r" && \(x\.ld & 1\) == 0", "", 1),
    "a pair at once of which half is there": ("hooks/stage/tile_f64.cuh", r"length >= copy::PAIRS \* 2 \|\| length % 2 == 0", "!ALONG_K", 11),
    "a pair at once of the last k": ("hooks/stage/tile_f64.cuh", r"length >= copy::PAIRS \* 2 \|\| length % 2 == 0", "ALONG_K", 12),
    "a whole step of A beyond its rows": ("hooks/stage/tile_f64.cuh", r" && a\.rows >= A_ROWS", "", 20),
    "a whole step of B beyond its rows": ("hooks/stage/tile_f64.cuh", r" && b\.rows >= B_ROWS", "", 21),
    "a whole step that is not aligned": ("hooks/stage/tile_f64.cuh", r"a\.aligned && b\.aligned && ", "", 14),
    "a whole step beyond k": ("hooks/stage/tile_f64.cuh", r"a\.left >= DEPTH;", "a.left > 0;", 19),
    "96: the first part of lines thrice": ("hooks/stage/tile_f64.cuh", r"from \+ past, ht", "from, ht", 19),
    "96: bits of the first part": ("hooks/stage/tile_f64.cuh", r"count - past\)", "count)", 19),
    "alpha of 0 that looks at A": ("skeletons/fp64_mma_tile.cu", r"alpha != 0\.0 \? alpha \* sum", "true ? alpha * sum", 10),
    "beta of 0 that looks at C": ("skeletons/fp64_mma_tile.cu", r"if \(to\.beta != 0\.0\)", "if (true)", 1),
    "C beyond its rows": ("skeletons/fp64_mma_tile.cu", r"if \(at < g\.m && ", "if (", 1),
    "the first entry alone": ("hooks/stage/tile_f64.cuh", r"x\.src \+ entry \* x\.stride", "x.src", 9),
    "rows of C exchanged": ("skeletons/fp64_mma_tile.cu", r"q / 2 \* 8, across = col \+ j \* 8 \+ q % 2;\n                const double product", "8 - q / 2 * 8, across = col + j * 8 + q % 2;\n                const double product", 1),
    "elements that pass": ("skeletons/fp64_mma_tile.cu", r" && \(!CHECKED \|\| all \|\| ht_rest_has\(g, blockIdx\.z, at, across\)\)", "", 15),
    "FMA: elements that pass": ("skeletons/fp64_tile.cu", r"\(!CHECKED \|\| all \|\| ht_rest_has[^\n]*", "true)", 15),
    "counts of the first entry": ("hooks/check/crt_counts.cuh", r"g\.b \+ entry \* g\.b_stride\)", "g.b)", 16),
    "counts that suffice": ("hooks/check/crt_counts.cuh", r"< g\.needed", "<= g.needed", 17),
    "few elements of one lane": ("hooks/check/crt_rest.cuh", r"count \+= ht_shfl_xor\(count, lanes\);", ";", 15),
    "bits of the first entry": ("hooks/check/crt_counts.cuh", r"g\.bits \+ entry \* g\.stride", "g.bits", 22),
    "bits of the first block of rows": ("hooks/check/crt_counts.cuh", r" \+ row / 64;", ";", 15),
    "single elements by half of the warps": ("hooks/check/crt_rest.cuh", r"turn\+\+ % WARPS", "turn++ % (2 * WARPS)", 15),
    "k beyond the first lanes": ("hooks/check/crt_rest.cuh", r"k0 \+= AT_ONCE \* WAVE", "k0 += 2 * AT_ONCE * WAVE", 22),
    "single elements' k beyond the matrix": ("hooks/check/crt_rest.cuh", r"y\[i\] = k < g\.a\.k \? ", "y[i] = true ? ", 22),
    "sums of half a warp": ("hooks/check/crt_rest.cuh", r"lanes < WAVE; lanes \*= 2\) \{", "lanes < WAVE / 2; lanes *= 2) {", 22),
    "single elements without beta": ("hooks/check/crt_rest.cuh", r"ht_axpby\(alpha, sum, beta, c\)", "ht_axpby(alpha, sum, 0.0, c)", 22),
    "bits of what was given up": ("hooks/check/crt_rest.cuh", r" \|\| ht_crt_gives_up\(g\.failed, entry\)", "", 24),
    "uncounted elements": ("hooks/check/crt_rest.cuh", r"ht_rest_note\(g, true, 1\);", "", 22),
    "an MMA left out": ("hooks/arch/sm80_dmma.cuh", r"    ht_mma_f64_884\(d \+ 2, a \+ 3, b \+ 1\);\n", "", 1),
    "FMA: no barrier": ("skeletons/fp64_tile.cu", r"ht_barrier\(\);", "", 1),
    "FMA: one buffer": ("skeletons/fp64_tile.cu", r"other = smem \+ BUFFER_BYTES", "other = smem", 1),
    "FMA: k beyond the matrix": ("hooks/stage/global_f64.cuh", r"\|\| k >= depth", "", 2),
    "FMA: rows beyond the matrix": ("hooks/stage/global_f64.cuh", r"row >= x\.rows \|\| ", "", 2),
    "FMA: one k twice": ("hooks/stage/global_f64.cuh", r"k0 \+ pair \* 2 \+ 1", "k0 + pair * 2", 1),
    "FMA: alpha of 0 that looks at A": ("hooks/stage/real_f64.cuh", r"alpha != 0\.0 \? alpha \* v : 0\.0", "alpha * v", 10),
    "FMA: beta of 0 that looks at C": ("hooks/stage/real_f64.cuh", r"if \(beta != 0\.0\)", "", 1),
    "FMA: C beyond its rows": ("skeletons/fp64_tile.cu", r"row < g\.m && ", "", 1),
    "FMA: the first entry alone": ("hooks/stage/global_f64.cuh", r"x\.src \+ entry \* x\.stride", "x.src", 9),
    "parts of k that begin too early": ("hooks/stage/operand_view.cuh", r"args\.part_steps \* split \+ longer", "args.part_steps * split", SPLIT_CASES[0]),
    "A of the first part": ("skeletons/fp64_mma_tile.cu", r"g\.a, entry, range\.begin", "g.a, entry, 0", SPLIT_CASES[0]),
    "B of the first part": ("skeletons/fp64_mma_tile.cu", r"g\.b, entry, range\.begin", "g.b, entry, 0", SPLIT_CASES[0]),
    "k behind a part": ("skeletons/fp64_mma_tile.cu", r"depth = range\.end - range\.begin", "depth = g.a.k - range.begin", SPLIT_CASES[0]),
    "parts in one place": ("hooks/stage/operand_view.cuh", r"g\.splits \+ split\)", "g.splits)", SPLIT_CASES[0]),
    "alpha of parts": ("hooks/stage/operand_view.cuh", r"to\.alpha = !to\.whole \? 1 : ", "to.alpha = ", SPLIT_CASES[0]),
    "a part left out": ("skeletons/reduce.cu", r"int s = from;", "int s = from + step;", SPLIT_CASES[0]),
    "parts that four lanes share left out": ("skeletons/reduce.cu", r"    if \(shared\) \{[^}]*\}\n", "", SPLIT_CASES[4]),
    "alpha of 1 behind parts": ("skeletons/reduce.cu", r"ht_value_of\(g\.to\.alpha\)", "1", SPLIT_CASES[0]),
    "parts of other entries": ("skeletons/reduce.cu", r"blockIdx\.z \* g\.splits", "0 * g.splits", SPLIT_CASES[4]),
    "FMA: all k in each part": ("skeletons/fp64_tile.cu", r"k = range\.begin; k < range\.end", "k = 0; k < g.a.k", SPLIT_CASES[0]),
    "FMA: k behind a part": ("hooks/stage/operand_view.cuh", r"args\.k - begin < steps \* BK \? args\.k : begin \+ steps \* BK", "args.k", SPLIT_CASES[0]),
    "GEMV: half of a sum": ("hooks/accum/partial_f64.cuh", r"    half\[1\] = [^\n]*\n", "", "131 3 77 NN integers 1 0"),
    "GEMV: sums in their neighbours' rows": ("skeletons/gemv.cu", r"past & by \? w\[e \+ by\] : ", "", "260 1 515 NN integers 1 0"),
    "GEMV: warps of a set in one place": ("skeletons/gemv.cu", r"set \* \(K_LINES / LINE\) \+ k / LINE", "set", "260 1 515 NN integers 1 0"),
    "GEMV: sets of k that are others'": ("skeletons/gemv.cu", r"K_WARPS \* LINE / K_LINES;", "1;", "260 1 515 NN integers 1 0"),
    "GEMV: lanes of one line": ("skeletons/gemv.cu", r"lane / LINE \* VEC : lane / LANES", "0 : lane / LANES", "2 67 1030 TN integers 1 0 3"),
    "GEMV: k of lanes that are beside": ("skeletons/gemv.cu", r"lines \? lane % LINE :", "lines ? lane :", "2 67 1030 TN integers 1 0 3"),
    "GEMV: shares of k left out": ("skeletons/gemv.cu", r"shift > VEC / 2 \? shift : VEC / 2", "true ? shift : 0", "1 1 1000 NN integers 1 0"),
    "GEMV: a last line beyond the matrix": ("skeletons/gemv.cu", r"const bool ends = [^;]*;", "const bool ends = false;", "17 1 3 NN integers 1 0"),
    "GEMV: one k of two": ("hooks/stage/real_f64.cuh", r"v\[1\] = ht_real_of\([^\n]*", "v[1] = v[0];", "131 3 77 TN integers 1 0"),
    "GEMV: no barrier": ("skeletons/gemv.cu", r"ht_barrier\(\);", "", "131 3 77 NN integers 1 0"),
    "GEMV: the first entry alone": ("skeletons/gemv.cu", r"args\.p\.src \+ \(long long\)blockIdx\.z \* args\.p\.stride", "args.p.src", "2 67 1030 NN integers 1 0 3"),
    "SIMT: no barrier": ("skeletons/simt_small_k.cu", r"ht_barrier\(\);", "", "70 66 33 NN integers 1 0"),
    "SIMT: the stage that is read is written": ("skeletons/simt_small_k.cu", r"P_PITCH>\(write, ", "P_PITCH>(read, ", "70 66 33 NN integers 1 0"),
    "SIMT: half of 16 bytes of Q": ("hooks/stage/real_f64.cuh", r"v\[1\] = ht_real_of\([^\n]*", "v[1] = v[0];", "70 66 33 NN integers 1 0"),
    "SIMT: k beyond a part": ("skeletons/simt_small_k.cu", r"int left = range\.end - range\.begin;", "int left = args.k - range.begin;", SPLIT_CASES[0]),
    "SIMT: 16 bytes that are not aligned": ("skeletons/simt_small_k.cu", r"to\.row_step % VEC == 0 && ", "", "66 300 5 NN integers 1 0"),
    "SIMT: the second of 16 bytes lost": ("hooks/stage/real_f64.cuh", r"y = \(unsigned long long\)ht_bits_of\(v\[1\]\)", "y = x", "13 300 5 NN integers 1 0"),
    "SIMT: numbers traded with a neighbour": ("hooks/epilogue/lane_transpose.cuh", r"STEP \* LANES\);", "1);", "131 20 9 NN integers 1 0"),
    "SIMT: half of a number traded": ("hooks/accum/partial_f64.cuh", r"    half\[1\] = [^\n]*\n", "", "131 20 9 NN integers 1 0"),
    "SIMT: alpha of 1 taken for all": ("hooks/stage/real_f64.cuh", r"alpha != 1\.0", "alpha == 0.0", "66 65 40 TT integers 2 -1"),
    "SIMT: alpha of 0 that looks at A": ("skeletons/simt_small_k.cu", r"to\.alpha != 0 \? ", "true ? ", "20 20 10 NN nonfinite 0 0"),
    "SIMT: beta of 0 that looks at C": ("skeletons/simt_small_k.cu", r"to\.beta != 0\)", "true)", "70 66 33 NN integers 1 0"),
    "SIMT: C beyond its rows": ("skeletons/simt_small_k.cu", r"if \(j < count\)", "if (true)", "70 66 33 NN integers 1 0"),
    "SIMT: the first entry alone": ("skeletons/simt_small_k.cu", r"\(long long\)blockIdx\.z \* s\.stride", "0", "33 34 20 TN integers 1 0 3"),
    "TALL: no barrier": ("skeletons/tall_skinny.cu", r"ht_barrier\(\);", "", "131 3 77 NN integers 1 0"),
    "TALL: a class left out": ("skeletons/tall_skinny.cu", r"ht_add\(v\[i\], v\[i \+ half\]\)", "half < 2 ? v[i] : ht_add(v[i], v[i + half])", "131 3 77 NN integers 1 0"),
    "TALL: one k of two": ("hooks/stage/real_f64.cuh", r"v\[1\] = ht_real_of\([^\n]*", "v[1] = v[0];", "131 3 78 NN integers 1 0"),
    "TALL: classes that share their place": ("skeletons/tall_skinny.cu", r"k_lane \* PITCH", "k_lane / 2 * PITCH", "131 3 77 NN integers 1 0"),
    "TALL: sets in one place": ("skeletons/tall_skinny.cu", r"first \+ s, i\)\) \* ELEMENT", "first, i)) * ELEMENT", "17001 2 16 NN integers 2 -1"),
    "TALL: a row beyond the matrix": ("skeletons/tall_skinny.cu", r" < t\.rows \? row : t\.rows - 1", "", "131 3 77 NN integers 1 0"),
    "TALL: columns in one place": ("skeletons/tall_skinny.cu", r"q_tiles\) \* BN\};", "q_tiles) * 1};", "20 30 15 NN uniform 0.3 -1.7"),
    "GEMV: alpha of 0 that looks at A": ("hooks/stage/real_f64.cuh", r"alpha != 0\.0 \? alpha \* v : 0\.0", "alpha * v", 10),
    "GEMV: beta of 0 that looks at C": ("hooks/stage/real_f64.cuh", r"if \(beta != 0\.0\)", "", "131 3 77 NN integers 1 0"),
}


def program(folder, arch, broken=None):
    templates = broken_templates.copied(folder)
    skeleton, edits, _ = ARCHS[arch]
    for name, of in ((skeleton, edits), ("reduce", REDUCE), ("sums", [("partial_f32", "partial_f64")])):
        broken_templates.edit(templates / f"samples/{name}.h", of)
    broken_templates.break_one(templates, broken)
    subprocess.run([*SIM, "-Wno-unknown-pragmas", f'-DTEMPLATE="{templates}/skeletons/{skeleton}.cu"', f'-DREDUCE="{templates}/skeletons/reduce.cu"', "-c",
                    str(ROOT / "tests/kernels/native64_kernel.cpp"), "-o", str(folder / "t.o")], check=True)
    return broken_templates.linked(folder / "program", folder / "t.o")


def run(path, arch, case):
    return subprocess.run([str(path), *case.split()], capture_output=True, text=True, env={**os.environ, "HALFTONE_SIM_MODEL": ARCHS[arch][2]})


@pytest.mark.parametrize("arch", ARCHS)
def test_products_are_right(arch, tmp_path):
    path = program(tmp_path, arch)
    for case in (*(TALL_CASES if ARCHS[arch][0] == TALL else SPLIT_CASES), *(CASES if ARCHS[arch][0] in (DGEMM, FMA) else (*WITHOUT_COUNTS, *THIN_CASES))):
        done = run(path, arch, case)
        assert done.returncode == 0, f"{case}: {done.stdout}{done.stderr}"


@pytest.mark.mutation
@pytest.mark.parametrize("name", BREAKS)
def test_broken_kernels_are_noticed(name, tmp_path):
    arch, case = {"FMA": "fma", "GEMV": "gemv", "96": "sm90, 96 rows", "SIMT": "simt, 16 columns", "TALL": "tall, four columns"}.get(name.split(":")[0], "sm80"), BREAKS[name][3]
    done = run(program(tmp_path, arch, BREAKS[name][:3]), arch, case if isinstance(case, str) else CASES[case])
    assert done.returncode == 1 and re.search(r"element \d+|launch: \S", done.stdout), f"{done.returncode} {done.stdout}{done.stderr}"


@pytest.mark.parametrize("arch", ["sm80", "sm90", "sm90, 96 rows", "fma", "gemv", "gemv, four columns", "simt, 16 columns", "tall, four columns"])
def test_nvcc_takes_them_without_spills(arch, tmp_path):
    program(tmp_path, arch)
    target = {"sm90": "sm_90a", "sm90, 96 rows": "sm_90a", "gemv": "sm_90a", "fma": "sm_75", "gemv, four columns": "sm_75"}.get(arch, "sm_80")
    broken_templates.nvcc_takes(tmp_path / "templates", ARCHS[arch][0], target, tmp_path)


@broken_templates.needs_hipcc
def test_hipcc_takes_them_without_spills(tmp_path):
    assert re.search("v_fmac?_f64", broken_templates.hipcc_takes(ROOT / "templates", "fp64_tile", tmp_path))
