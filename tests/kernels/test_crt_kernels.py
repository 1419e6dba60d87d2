"""FP64 by residues in the simulator: the templates give the bits of tests/unit/fp64_reference.c on every architecture, for every number of moduli and
for seven digits (i8x28), and broken ones do not. They compile by themselves, and what they compile to holds no FP64 arithmetic."""
import os
import re
import subprocess

import broken_templates
import pytest
from conftest import ROOT, SIM, gen, nvcc

PARTS = ("crt_pack", "planes_mma_warp", "crt_wgmma_ss", "crt_combine", "digits_mma_warp")
TABLE = ROOT / "templates/samples/crt15.h"
SMALL = (("BM = 128, BN = 128, BK = 128, WM = 64, WN = 32", "BM = 64, BN = 64, BK = 128, WM = 32, WN = 32"),)
# architecture: what differs from the sample, and whose arithmetic it is
ARCHS = {
    "sm80": (SMALL, "sm80"),
    "sm75": ((*SMALL, ("STAGES = 3", "STAGES = 2"), ("REFILL_AFTER_BARRIER = 1", "REFILL_AFTER_BARRIER = 0"), ("stage/cp_async", "stage/via_registers"), ("arch/sm80_s8", "arch/sm75_s8")), "sm75"),
    "gfx90a": (((SMALL[0][0], "BM = 64, BN = 128, BK = 128, WM = 32, WN = 64"), ("STAGES = 3", "STAGES = 2"), ("REFILL_AFTER_BARRIER = 1", "REFILL_AFTER_BARRIER = 0"),
                ("WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 32, B_TILES = 2, D_COLS = 2", "WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 32, B_TILES = 1, D_COLS = 16"),
                ("stage/cp_async", "stage/via_registers"), ("frag/ldmatrix", "frag/mfma"), ("arch/sm80_s8", "arch/gfx90a_s8")), "gfx90a"),
    "sm90a": ((("BM = 128, BN = 256, BK = 128, WM = 128, WN = 128, STAGES = 4, RASTER = 8, SMS = 132", "BM = 64, BN = 256, BK = 128, WM = 64, WN = 128, STAGES = 2, RASTER = 8, SMS = 5"),),
              "sm90"),
    "sm80-digits": ((("BM = 64, BN = 64, BK = 32, WM = 32, WN = 16", "BM = 32, BN = 32, BK = 32, WM = 16, WN = 16"),), "sm80"),
    "sm75-digits": ((("STAGES = 3", "STAGES = 2"), ("stage/cp_async", "stage/via_registers"), ("arch/sm80_s8", "arch/sm75_s8")), "sm75"),
    "gfx90a-digits": ((("WM = 32, WN = 16, STAGES = 3", "WM = 32, WN = 32, STAGES = 2"),
                       ("WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 32, B_TILES = 2, D_COLS = 2", "WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 32, B_TILES = 1, D_COLS = 16"),
                       ("stage/cp_async", "stage/via_registers"), ("frag/ldmatrix", "frag/mfma"), ("arch/sm80_s8", "arch/gfx90a_s8")), "gfx90a"),
}


def parts_of(arch):
    if arch.endswith("digits"):
        return ("crt_pack", "digits_mma_warp")
    return ("crt_pack", "crt_wgmma_ss" if arch == "sm90a" else "planes_mma_warp", "crt_combine")


# what each of these reaches: edges, transposes, segments of k, scales, subnormal numbers, alpha and beta, what is not finite, batches
CASES = ("1 1 1 NN uniform 1 0", "70 66 130 NN wide 1 0", "65 3 600 NT uniform 1 0", "30 70 1100 TN segments -0.25 0", "66 65 40 TT scaled 1 0",
         "70 66 70 TN subnormal 1 0", "70 66 70 NN tiny 1 0", "30 30 30 NN huge 4 0", "70 66 129 NT sparse 1 0", "70 20 70 NN uniform 0.3 -1.7",
         "33 34 35 TN wide -1 1", "40 40 40 NN tiny 1.5 1", "40 40 40 TT huge 0.5 -1", "40 9 20 NN nonfinite 1 0", "40 9 20 NN nonfinite 2.5 -1",
         "40 9 20 NN nonfinite 0 2", "20 20 20 TN uniform 0 0", "70 30 140 NN uniform 1 0 3", "20 20 20 NN scaled inf 1", "5 5 5 NN subnormal 1e-300 1e-20",
         "40 40 2 NN ties 1 0", "40 40 2 NN ties 1 1e-300", "40 40 1 NN ties 2 -1e-290", "40 40 2 NN ties 5e-324 0", "40 40 2 NN cancelling -2 0", "9 9 2100 NT segments 1 0", "9 9 3 NT limit 1 0",
         "40 30 20 TN uniform -2 1", "40 30 20 NN wide 0.5 -4", "40 30 20 NN huge 0.25 1", "40 30 20 NN uniform 9.094947017729282e-13 1",
         "40 40 2 NN ties 1 9.332636185032189e-302",
         "70 66 130 NN sparse 1 0 1 50", "66 65 200 TT segments -0.25 1.5 1 55", "40 9 80 NT nonfinite 1 0 2 54", "70 66 70 TN subnormal 1 0 1 52",
         "33 34 130 TN wide 1 1 1 80", "9 20 2100 NT sparse 1 0 1 50", "40 9 2 NN carries 1 0",
         "70 66 130 NN wide 1 0 1 70 200", "66 130 200 TT segments -0.25 1.5 1 70 2.1", "40 9 80 NT nonfinite 1 0 2 70 8", "70 66 70 TN subnormal 1 0 1 70 3",
         "33 34 130 TN sparse 0.3 1 1 70 9", "9 20 2100 NT wide -2 1 1 70 99", "70 20 600 NN uniform 1 0 3 57 4")
EDGES = ("40 40 3 TN edges 1 0", "40 40 70 NT edges 0.5 -1") # where the largest of a row changes its binade, and both ends of the range


def cases_of(arch):
    """Digits are not counted."""
    return (*(c for c in CASES if len(c.split()) < 9), *EDGES) if arch.endswith("digits") else CASES


def built(path, *more):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(more[0], check=True)
    return path


class Build:
    """Objects of parts, of templates with some texts replaced."""

    def __init__(self, folder):
        self.folder, self.made = folder, 0
        subprocess.run(["gcc", "-std=c11", "-O2", "-c", str(ROOT / "tests/unit/fp64_reference.c"), "-o", str(folder / "reference.o")], check=True)
        for name, digits in (("main", []), ("digits", ["-DDIGITS"])):
            subprocess.run([*SIM, *digits, "-c", str(ROOT / "tests/kernels/crt_kernels.cpp"), "-o", str(folder / f"{name}.o")], check=True)
        self.objects = {}

    def templates(self, arch, table=TABLE.read_text(), broken=None):
        """A copy of the templates: the sample as the architecture wants it; broken: file, text, replacement."""
        self.made += 1
        templates = broken_templates.copied(self.folder / f"copy{self.made}")
        for both in ("crt_combine", "crt_pack"):
            broken_templates.edit(templates / f"skeletons/{both}.cu", [("samples/planes_mma_warp.h", f"samples/{parts_of(arch)[1]}.h")])
        broken_templates.edit(templates / f"samples/{parts_of(arch)[1]}.h", ARCHS[arch][0])
        (templates / "samples/crt15.h").write_text(table)
        return broken_templates.break_one(templates, broken)

    def part(self, name, templates):
        return broken_templates.part(templates, name)

    def whole(self, arch, table=None, broken=None, parts=None):
        """A program whose `parts` are compiled anew, the others as the sample has them."""
        templates = self.templates(arch, table or TABLE.read_text(), broken)
        objects = [self.part(name, templates) if parts is None or name in parts else self.usual(arch, name) for name in parts_of(arch)]
        return self.linked(arch, objects, templates)

    def linked(self, arch, objects, templates):
        main = "digits.o" if arch.endswith("digits") else "main.o"
        return broken_templates.linked(templates / "program", self.folder / main, self.folder / "reference.o", *objects)

    def usual(self, arch, name):
        if (arch, name) not in self.objects:
            self.objects[arch, name] = self.part(name, self.templates(arch))
        return self.objects[arch, name]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return Build(tmp_path_factory.mktemp("crt"))


def run(program, arch, case):
    env = {**os.environ, "HALFTONE_SIM_MODEL": ARCHS[arch][1]}
    return subprocess.run([str(program), *case.split()], capture_output=True, text=True, env=env)


def table_text(moduli, folder, fewest=None):
    """The constants for so many moduli, as kernels have them; fewest: of those that it may do with."""
    program = folder / "table"
    if not program.exists():
        subprocess.run(["gcc", "-std=c11", "-o", str(program), str(ROOT / "tests/kernels/crt_table.c")], check=True)
    return subprocess.run([str(program), str(moduli), *([str(fewest)] if fewest else [])], check=True, capture_output=True, text=True).stdout


def test_sample_constants_are_those_that_follow_from_the_moduli(tmp_path):
    assert TABLE.read_text() == table_text(15, tmp_path)


@pytest.mark.parametrize("arch", ARCHS)
def test_kernels_give_the_bits_of_the_reference(build, arch):
    program = build.whole(arch)
    for case in cases_of(arch):
        done = run(program, arch, case)
        assert done.returncode == 0, f"{case}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("moduli,arch", [*((moduli, "sm80") for moduli in (14, 16, 17, 18, 19, 20)), (16, "gfx90a")])
def test_any_number_of_moduli(build, moduli, arch):
    program = build.whole(arch, table_text(moduli, build.folder))
    for case in CASES[1:8] if moduli in (16, 17, 20) else CASES[1:4]:
        done = run(program, arch, case)
        assert done.returncode == 0, f"{case}: {done.stdout}{done.stderr}"


def test_no_sum_can_overflow():
    """Modulo 256 all residues of a row and a column may be -128: elements of one value are enough."""
    exact, segment = (int(re.search(rf"{name} = (\d+)", TABLE.read_text())[1]) for name in ("CRT_EXACT_K", "CRT_SEGMENT"))
    assert 128 + exact * 128 * 128 < 2**31 <= 128 + (exact + segment) * 128 * 128
    assert exact % segment == 0  # whole steps and slots of any kernel


@pytest.mark.parametrize("arch", ["sm80", "sm90a"])
def test_sums_are_reduced_before_they_could_overflow(build, arch):
    """After 256 k instead of 130,560: the same bits."""
    short = TABLE.read_text().replace("CRT_EXACT_K = 130560", "CRT_EXACT_K = 256")
    assert short != TABLE.read_text()
    done = run(build.whole(arch, short, parts=parts_of(arch)[1:2]), arch, "66 65 1100 TN wide 1 0")
    assert done.returncode == 0, done.stdout


CARRY = ("samples/digits_mma_warp.h", r"PROMOTE_STEPS = 512", "PROMOTE_STEPS = 2")


@pytest.mark.parametrize("broken", [None, (r"above\[q\] \+= level\[q\] >> 8;", ""), (r"level\[q\] &= 255;", "level[q] &= 127;")])
def test_sums_of_digits_are_carried_before_they_could_overflow(build, broken):
    """After 64 k instead of 16,384: the same bits."""
    templates = build.templates("sm80-digits", broken=CARRY)
    path = templates / "hooks/accum/carry_i32.cuh"
    path.write_text(re.sub(*broken, path.read_text()) if broken else path.read_text())
    done = run(build.linked("sm80-digits", [build.usual("sm80-digits", "crt_pack"), build.part("digits_mma_warp", templates)], templates), "sm80", "66 65 1100 TN wide 1 0")
    assert done.returncode == (broken is not None), done.stdout


def in_parts(build, broken=None):
    """The product by wgmma of 384 k at a time, in the simulator."""
    templates = build.templates("sm90a", broken=("skeletons/crt_wgmma_ss.cu", r"PART_K = 8192", "PART_K = 384"))
    if broken:
        path = templates / broken[0]
        assert broken[1] in path.read_text()
        path.write_text(path.read_text().replace(*broken[1:]))
    objects = [build.part("crt_wgmma_ss", templates), build.usual("sm90a", "crt_pack"), build.usual("sm90a", "crt_combine")]
    return run(build.linked("sm90a", objects, templates), "sm90a", "390 65 1000 TN wide 1 0")


@pytest.mark.parametrize("broken", [None, ("skeletons/crt_wgmma_ss.cu", "+ part.first * 8192ll", "+ 0"),
                                    ("hooks/epilogue/crt_residue.cuh", "old << (24 - e * 8)", "old << 24"), ("skeletons/crt_wgmma_ss.cu", "part.first > 0 || g.adds", "false")])
def test_parts_of_k_add_up(build, broken):
    done = in_parts(build, broken)
    assert done.returncode == (broken is not None), done.stdout + done.stderr


MIXED = "40 9 80 NT mixed 1 0 2 50" # the first entry has enough, the second not

# what is broken: part, file, text, replacement, and a case that must notice it
BREAKS = {
    "no barrier before elements are measured": ("crt_pack", "skeletons/crt_pack.cu", r"smem\);\n        ht_barrier\(\);\n        if", "smem);\n        if", 2),
    "a tile loaded while the last is read": ("crt_pack", "skeletons/crt_pack.cu", r"ht_barrier\(\); // before the next tile's loads", "", 39),
    "the first piece of a block alone": ("crt_combine", "skeletons/crt_combine.cu", r"piece \+= gridDim\.x", "piece += pieces_of(g)", 39),
    "the largest of one thread": ("crt_pack", "skeletons/crt_pack.cu", r"most = other > most \? other : most;", ";", 1),
    "blocks of a row that do not meet": ("crt_pack90", "skeletons/crt_pack.cu", r"ht_together_meet\(\);", "", 3),
    "the second launch without its measures": ("crt_pack", "skeletons/crt_pack.cu", r"pack<true, false>, blocks", "pack<false, true>, blocks", 3),
    "a segment measured by the first block alone": ("crt_pack", "skeletons/crt_pack.cu", r"t\.k0 / CRT_SEGMENT \+ part", "part", 3),
    "segments not aligned": ("crt_pack", "hooks/pack/crt_element.cuh", r"below = 2 \* \(field - own\)", "below = field - own", 3),
    "half a binade ignored": ("crt_pack", "hooks/pack/crt_element.cuh", r"- \(CRT_LIMIT < sum << shift\)", "", 1),
    "elements truncated": ("crt_pack", "hooks/pack/crt_digits.cuh", r"0x0101010101010101ull", "0x0101010101010100ull", 1),
    "negative elements off by one": ("crt_pack", "hooks/pack/crt_digits.cuh", r"\(twice \^ sign\) \+", "(twice ^ sign) - sign +", 1),
    "elements of unusual rows truncated": ("crt_pack", "hooks/pack/crt_digits.cuh", r": 0\) \+ 1\) >> 1;", ": 0)) >> 1;", 5),
    "negative elements of unusual rows off by one": ("crt_pack", "hooks/pack/crt_digits.cuh", r"0 - n : n", "~n : n", 5),
    "subnormal elements without their shift": ("crt_pack", "hooks/pack/crt_digits.cuh", r"return mantissa << left;\n}\n\n// x", "return mantissa;\n}\n\n// x", 5),
    "all rows usual": ("crt_pack", "hooks/pack/crt_digits.cuh", r"return s < 1000;", "return true;", 5),
    "small elements that wrap": ("crt_pack", "hooks/pack/crt_digits.cuh", r"right < 63 \? right : 63", "right & 63", 2),
    "digits without their signs": ("crt_pack", "hooks/pack/crt_digits.cuh", r" \^ 0x0080808080808080ull", "", 1),
    "quotients without their bias": ("crt_pack", "hooks/pack/crt_element.cuh", r"12582912\.0f", "16777216.0f", 1),
    "no swizzle": ("crt_pack", "skeletons/crt_pack.cu", r"\(c \^ \(row & 7\)\)", "c", 1),
    "rows and k exchanged": ("crt_pack", "skeletons/crt_pack.cu", r"thread_k = K_MAJOR \? thread : thread / TILE_ROWS;", "thread_k = thread;", 1),
    "rows beyond the matrix": ("crt_pack", "skeletons/crt_pack.cu", r"row \+ i / PER_ROW < t\.rows && ", "", 1),
    "k beyond the matrix": ("crt_pack", "skeletons/crt_pack.cu", r" && k \+ i % PER_ROW \* STEP_K < t\.k", "", 1),
    "all tiles taken for whole": ("crt_pack", "skeletons/crt_pack.cu", r"t\.rows >= TILE_ROWS && t\.k >= TILE_K", "true", 1),
    "zeros beyond the matrix measured": ("crt_pack", "skeletons/crt_pack.cu", r"sum -= [^\n]*", "", 26),
    "odd k measured": ("crt_pack", "skeletons/crt_pack.cu", r"left % 2 != 0 && ", "false && ", 26),
    "no exponents": ("crt_pack", "skeletons/crt_pack.cu", r"ht_stg_i32\(g\.to\.exponents[^\n]*", ";", 1),
    "the second entry's exponents in the first": ("crt_pack", "skeletons/crt_pack.cu", r"g\.to\.exponents \+ t\.entry \* g\.to\.exponent_stride", "g.to.exponents", 17),
    "sums not rounded to residues": ("planes_mma_warp", "hooks/epilogue/crt_residue.cuh", r"\+ 32\) >> 6", ") >> 6", 1),
    "residues of one modulus": ("planes_mma_warp", "hooks/epilogue/planes_residues.cuh", r"!= 0, CRT_MODULUS\[x\.modulus\]", "!= 0, CRT_MODULUS[1]", 1),
    "panels of the first modulus": ("planes_mma_warp", "hooks/epilogue/planes_residues.cuh", r" \+ x\.modulus \* g\.b_packed\.modulus_stride", "", 1),
    "tiles by rows of tiles": ("planes_mma_warp", "skeletons/planes_mma_warp.cu", r"tile_n \* \(\(g\.m \+ BM - 1\) / BM\) \+ tile_m", "tile_m * ((g.n + BN - 1) / BN) + tile_n", 1),
    "no barrier in the ring": ("planes_mma_warp", "hooks/stage/panel_ring.cuh", r"(ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>\(\);)\s*ht_barrier\(\);", r"\1", 3),
    "no wait for a full stage": ("crt_wgmma_ss", "skeletons/crt_wgmma_ss.cu", r"ht_mbar_wait\(smem \+ FULL[^\n]*", "", 3),
    "no wait for an empty stage": ("crt_wgmma_ss", "skeletons/crt_wgmma_ss.cu", r"ht_mbar_wait\(smem \+ EMPTY[^\n]*", "", 3),
    "a stage released too early": ("crt_wgmma_ss", "skeletons/crt_wgmma_ss.cu", r"ht_wgmma_wait<1>", "ht_wgmma_wait<2>", 3),
    "sums read in flight": ("crt_wgmma_ss", "skeletons/crt_wgmma_ss.cu", r"(phase \^= stage == 0;\n        })\n        ht_wgmma_wait<0>\(\);", r"\1", 3),
    "sums of the last tile": ("crt_wgmma_ss", "skeletons/crt_wgmma_ss.cu", r"k \+ i > 0", "1", 3),
    "rows of the other half": ("crt_combine90", "hooks/epilogue/crt_order_wgmma.cuh", r"e / 2 % 2 \* 8", "(1 - e / 2 % 2) * 8", 1),
    "sums not rounded to integers": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"\+ \(1 << \(DROP - 1\)\)", "", 1),
    "a digit left out": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"sum\[0\]\[e\] \+ sum\[1\]\[e\] \* 256", "sum[0][e]", 1),
    "ties away from zero": ("crt_combine", "hooks/epilogue/crt_round.cuh", r"below != 0 \|\| \(bits & 1\)", "true", 23),
    "nothing below the tie": ("crt_combine", "hooks/epilogue/crt_round.cuh", r"below != 0 \|\| \(bits & 1\)", "bits & 1", 21),
    "ties of normal results away from zero": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"0x1ffu \+ \(middle >> 10 & 1u\)", "0x200u", 20),
    "powers of two taken for negative": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"\(\(bits \^ flip\) >> 10\)", "((unsigned long long)((long long)bits >> 10) ^ flip)", 38),
    "nothing below the tie of normal results": ("crt_combine", "hooks/epilogue/crt_value.cuh", r" \| \(below != 0 \? 1u : 0u\)", "", 20),
    "any result taken for normal": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"\(unsigned\)field < 2045u && ", "", 6),
    "results of cancellation taken for others": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"&& \(top != 0 \|\| zero\)", "", 24),
    "zeros with an exponent": ("crt_combine", "hooks/epilogue/crt_value.cuh", r"zero \? 0u : ", "", 24),
    "the first of the elements left": ("crt_combine", "hooks/epilogue/crt_elements.cuh", r"e \* 8 & 255u", "0 & 255u", 6),
    "subnormal results with all their bits": ("crt_combine", "hooks/epilogue/crt_round.cuh", r"11 - 1022 - exponent;", "11;", 6),
    "no infinity": ("crt_combine", "hooks/epilogue/crt_round.cuh", r"exponent > 1023 \|\| bits >> 52 >= 0x7ff", "false", 7),
    "alpha's sign": ("crt_combine", "hooks/epilogue/crt_scalars.cuh", r"by\.sign = ht_crt_sign\(by\.alpha\);", "by.sign = 0;", 3),
    "beta without its sign": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r"ht_crt_sign\(beta\) \^ ht_crt_sign\(c\)\);\n    return", "ht_crt_sign(c));\n    return", 9),
    "a loss forgotten": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r"x->word\[0\] \|= lost;", "", 21),
    "a loss not borrowed": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r"flip & 1 & ~lost", "flip & 1", 22),
    "old elements without alpha's sign": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r"\(c >> 32\) \^ sign\) >> 31", "(c >> 32)) >> 31", 27),
    "large old elements added": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r" \|\| at > 32 \* CRT_VALUE_WORDS - 2 - 53", "", 30),
    "small old elements added": ("crt_combine", "hooks/epilogue/crt_axpby.cuh", r"at < 0 \|\| ", "", 31),
    "old elements lost before they are added": ("crt_combine", "skeletons/crt_combine.cu", r" && \(normal \|\| !ADDS\)", "", 10),
    "one old element for all": ("crt_combine", "skeletons/crt_combine.cu", r"old\[e\], scale", "old[0], scale", 28),
    "the exponent of beta": ("crt_combine", "skeletons/crt_combine.cu", r"\(int\)\(by\.beta >> 52 & 0x7ff\) - 1023 \+ ", "", 28),
    "elements turned": ("crt_combine", "hooks/epilogue/crt_elements.cuh", r"y\[1\] = __byte_perm\(low\[0\], low\[1\], 0x7632\);", "y[1] = __byte_perm(low[0], low[1], 0x3276);", 1),
    "counts of one warp": ("crt_pack", "skeletons/crt_pack.cu", r"for \(int i = 1; i < PACK_WARPS; i\+\+\)\n        count \+=", "for (int i = 1; i < 2; i++)\n        count +=", 32),
    "counts of one lane of four": ("crt_pack", "skeletons/crt_pack.cu", r"count \+= ht_shfl_xor\(count, lanes\);", ";", 33),
    "counts beside a tile that is read": ("crt_pack", "skeletons/crt_pack.cu", r"ht_barrier\(\); // the tile is read", "// the tile is read", 33),
    "counts of the first tile": ("crt_pack", "skeletons/crt_pack.cu", r"counted \+= ht_ldg_i32\(tiles \+ i \* pitch\)", "counted += i == 0 ? ht_ldg_i32(tiles) : 0", 37),
    "counts of every other element": ("crt_pack", "skeletons/crt_pack.cu", r" \+ ht_crt_is_counted\(x\.w, count_from\)", "", 33),
    "counts from another size": ("crt_pack", "hooks/pack/crt_digits.cuh", r"exponent - s \+ 1023", "exponent - s + 1024", 33),
    "subnormal elements counted": ("crt_pack", "hooks/pack/crt_digits.cuh", r"field < 1 \? 1 :", "field < 0 ? 0 :", 35),
    "a row of zeros without its count": ("crt_pack", "skeletons/crt_pack.cu", r"any == 0 \? g\.count_needed : counted", "counted", 32),
    "a row with NaN like others": ("crt_pack", "skeletons/crt_pack.cu", r"return -\(1 << 30\);", "return counted;", 34),
    "the least of one warp": ("crt_pack", "skeletons/crt_pack.cu", r"least = smaller\(least, \(int\)ht_as_uint[^\n]*", ";", "50 9 80 NT late 1 0 1 50"),
    "the least of one lane": ("crt_pack", "skeletons/crt_pack.cu", r"least = smaller\(least, ht_shfl_xor\(least, lanes\)\);", ";", 34),
    "a product without counts": ("crt_combine", "hooks/check/crt_counts.cuh", r"g\.b_stride\) < g\.needed", "g.b_stride) + 1000 < g.needed", 32),
    "the first entry's counts": ("crt_combine", "hooks/check/crt_counts.cuh", r"g\.b \+ entry \* g\.b_stride", "g.b", MIXED),
    "the other scheme's products": ("planes_mma_warp", "hooks/check/crt_counts.cuh", r"!= \(g\.second != 0\)", "!= (g.second == 0)", 39),
    "the other scheme's results": ("crt_combine", "hooks/check/crt_counts.cuh", r"!= \(g\.second != 0\)", "", 39),
    "sums of absolute values of one lane": ("crt_pack", "skeletons/crt_pack.cu", r"ones \+= \(unsigned\)ht_shfl_xor\(\(int\)ones, lanes\);\n    \}\n    const unsigned long long measured", "}\n    const unsigned long long measured", 39),
    "sums of absolute values of a segment in four": ("crt_pack", "skeletons/crt_pack.cu", r"ABS \? \(unsigned\)ht_shfl_xor\(\(int\)ones, lanes\) : 0", "0", 44),
    "segments' sums not aligned": ("crt_pack", "hooks/pack/crt_digits.cuh", r"below = field - own;", "below = 0;", "9 9 2100 NT segments 1 0 1 70 99"),
    "sums of zeros like others": ("crt_pack", "skeletons/crt_pack.cu", r"if \(field == 0\)\n        return CRT_SUM_OF_ZEROS;", "", 43),
    "sums of NaN like others": ("crt_pack", "skeletons/crt_pack.cu", r"return ht_as_float\(0x7fc00000u\);", ";", 41),
    "absolute values of every other element": ("crt_pack", "skeletons/crt_pack.cu", r" \| ht_crt_abs_digit\(x\.w, m\.right, m\.most\) << 8", "", 39),
    "absolute values twice as large": ("crt_pack", "hooks/check/crt_abs.cuh", r"by = right - ", "by = right - 1 - ", 39),
    "absolute values beyond their digits": ("crt_pack", "hooks/check/crt_abs.cuh", r"return d < most \? d : most;", "return d;", 39),
    "bits that are not cleared": ("crt_pack", "skeletons/crt_pack.cu", r"ht_stg_i32\(\(int \*\)g\.failed\.bits[^\n]*", ";", 39),
    "numbers that are not cleared": ("crt_pack", "skeletons/crt_pack.cu", r"ht_stg_i64\(g\.failed\.left[^\n]*", ";", 39),
    "what is needed of the column alone": ("planes_mma_warp", "hooks/check/crt_abs.cuh", r"__fadd_rn\(row, col\)", "col", 39),
    "what is needed in the row's units alone": ("planes_mma_warp", "hooks/check/crt_abs.cuh", r"ht_as_float\(down\[1\] << 23\)", "1.0f", 39),
    "elements beyond the matrix counted": ("planes_mma_warp", "hooks/epilogue/crt_failed.cuh", r"row < g\.m && ", "", 41),
    "the first entry's sums": ("planes_mma_warp", "hooks/epilogue/crt_failed.cuh", r" \+ entry \* g\.a_packed\.exponent_stride", "", "40 30 130 NN wide 1 0 2 70 200"),
    "elements of the first four": ("planes_mma_warp", "hooks/epilogue/crt_failed.cuh", r"failed\[e / 4\]", "failed[0]", 39),
    "bits of the first element": ("crt_combine", "skeletons/crt_combine.cu", r"row = x\.row \+ row_of\(e\)", "row = x.row", 39),
    "elements that fail stored": ("crt_combine", "skeletons/crt_combine.cu", r"kept \|= fails \? 0 : bit", "kept |= bit", 39),
    "elements that fail stored by alpha": ("crt_combine", "skeletons/crt_combine.cu", r"if \(is_kept && \(normal", "if ((normal", 39),
    "elements that fail not asked for their size": ("crt_combine", "skeletons/crt_combine.cu", r"is_doubtful && leaves_element\(g, x, e, value\)", "false", 39),
    "half the size that it takes": ("crt_combine", "hooks/check/crt_abs.cuh", r"127u \+ 32", "128u + 32", 39),
    "the size of negative elements": ("crt_combine", "hooks/check/crt_abs.cuh", r"top >> 63 \? ~top : top", "top", 39),
    "the size that the row's rounding takes": ("crt_combine", "hooks/check/crt_abs.cuh", r"> __fmul_rn\(__fadd_rn\(row, col\)", "> __fmul_rn(row", 39),
    "the size by the first row's sum": ("crt_combine", "skeletons/crt_combine.cu", r"ht_ldg4\(rows \+ row\)", "ht_ldg4(rows)", 39),
    "digits from the last": ("digits", "hooks/pack/digit_element.cuh", r"SLICES - 1 - l\)", "l)", 1),
    "a binade too late": ("digits", "hooks/pack/digit_element.cuh", r"0x2021u", "0x0000u", EDGES[0]),
    "a binade of subnormal numbers too late": ("digits", "hooks/pack/digit_element.cuh", r"0x1fdfdfu", "0x1fffffu", EDGES[0]),
    "all bits of subnormal numbers together": ("digits", "skeletons/crt_pack.cu", r"largest = size > largest \? size : largest;", "largest |= size;", EDGES[1]),
    "the largest numbers taken for infinite": ("digits", "hooks/pack/digit_element.cuh", r"BINADE = 1025", "BINADE = 1024", EDGES[0]),
    "a level left out": ("digits", "skeletons/digits_mma_warp.cu", r"p \+ q < ACCS", "p + q < ACCS - 1", 1),
    "digits of the first panel": ("digits", "skeletons/digits_mma_warp.cu", r"from \+ p \* own\[i\]\.digit_from", "from", 1),
    "chunks in their places": ("digits", "skeletons/digits_mma_warp.cu", r"\(x\.half \^ \(own >> 2 & 1\)\)", "x.half", 1),
    "atoms without swizzle": ("digits", "skeletons/digits_mma_warp.cu", r" \^ own\[i\]\.swizzle", "", 1),
    "the first atom's k": ("digits", "skeletons/digits_mma_warp.cu", r"\(long long\)\(ahead / ATOM_STEPS\) \* 8192", "0", 3),
    "stages filled while they are read": ("digits", "skeletons/digits_mma_warp.cu", r"ht_barrier\(\); // this stage", "// this stage", 3),
    "values where stages are read": ("digits", "skeletons/digits_mma_warp.cu", r"ht_barrier\(\); // stages are read", "// stages are read", "70 66 100 NN wide 1 0"),
    "levels without what is carried": ("digits", "hooks/scheme/i8x28.cuh", r"high \+= low >> 32;", "", 1),
    "another last level": ("digits", "hooks/scheme/i8x28.cuh", r"2 \* SLICES - 1 - ACCS", "2 * SLICES - ACCS", 1),
    "any alpha taken for a power": ("digits", "skeletons/digits_mma_warp.cu", r"by\.is_power && ", "", 9),
    "NaN taken for numbers": ("digits", "skeletons/digits_mma_warp.cu", r" && scale < CRT_POISONED / 2\)", ")", 13),
    "the first entry's C": ("digits", "skeletons/digits_mma_warp.cu", r"blockIdx\.z \* g\.to\.stride", "0", 17),
    "the first entry's exponents": ("digits", "skeletons/digits_mma_warp.cu", r"blockIdx\.z \* g\.a_packed\.exponent_stride", "0", 17),
    "digits beyond rows of C": ("digits", "skeletons/digits_mma_warp.cu", r"row < g\.m && ", "", 1),
    "C beyond its rows": ("crt_combine", "hooks/epilogue/crt_elements.cuh", r"x\.row \+ row_of\(e\) < g\.m && ", "", 1),
}


@pytest.mark.mutation
@pytest.mark.parametrize("name", BREAKS)
def test_broken_kernels_are_noticed(build, name):
    part, file, text, replacement, case = BREAKS[name]
    arch = "sm80-digits" if part == "digits" else "sm90a" if part in ("crt_wgmma_ss", "crt_combine90", "crt_pack90") else "sm80"
    parts = parts_of(arch) if part == "digits" else (part.removesuffix("90"),)
    done = run(build.whole(arch, broken=(file, text, replacement), parts=parts), arch, case if isinstance(case, str) else CASES[case])
    assert done.returncode == 1 and re.search(r"(element|row) \d+|pack: \S|product: \S|combine: \S", done.stdout), f"{done.returncode} {done.stdout}{done.stderr}"


# ---- real compilers
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
def test_nvcc_takes_them_without_spills_or_fp64(build, name, arch, tmp_path):
    if name == "crt_wgmma_ss" and arch != "sm_90a":
        pytest.skip("not for it")
    templates = build.templates("sm75-digits" if name == "digits_mma_warp" else "sm75") if arch == "sm_75" else ROOT / "templates"
    broken_templates.nvcc_takes(templates, name, arch, tmp_path, fp64=False)


@pytest.mark.parametrize("scheme", ["crt17", "crt20"])
def test_packing_compiled_for_blackwell_itself_has_no_spills(scheme, tmp_path):
    """Sets compile it from PTX for sm_80; who compiles a vendored folder for sm_120 has more moduli than three blocks of an SM have registers for."""
    if not nvcc() or "compute_120" not in subprocess.run([nvcc(), "--list-gpu-arch"], capture_output=True, text=True).stdout:
        pytest.skip("no nvcc that knows sm_120")
    gen("emit", "--gpu", "rtx5090", "--scheme", scheme, "--lean", "--out", tmp_path / "set")
    log = subprocess.run([nvcc(), "-O3", f"-I{ROOT / 'runtime'}", "-gencode=arch=compute_120,code=sm_120", "--cubin", "-Xptxas", "-v", "-Werror", "all-warnings",
                          "-o", tmp_path / "t.cubin", tmp_path / f"set/ht_pack_{scheme}_sm120.cu"], check=True, capture_output=True, text=True).stderr
    assert "Used" in log and not re.search(r"[1-9]\d* bytes (spill|stack)", log), log


@pytest.mark.parametrize("name", (*parts_of("gfx90a"), "digits_mma_warp"))
@broken_templates.needs_hipcc
def test_hipcc_takes_them_without_fp64(name, tmp_path):
    broken_templates.hipcc_takes(ROOT / "templates", name, tmp_path, fp64=False)
