"""test_check must disagree when the data check is wrong, and test_product when packing is: the verdict, the kernels that ask for
it, what packing counts and how it reads columns that begin anywhere are broken on purpose. About 35 seconds."""
import subprocess

import pytest
from conftest import ROOT, SIM

BUILT = ROOT / "out" / "a800"
GEMM, PACK, REDUCE, RESCUE = "ht_f16x3_64x64x32_*", "ht_pack_f16x3_*", "ht_reduce_sm80*", "ht_fp32_*_rescue_*"
TESTS = {GEMM: "kernels_*", PACK: "packing_*", REDUCE: "kernels_*", RESCUE: "the_rescue_*"}
BREAKS = {
    "no threshold": (GEMM, "return spare >= 0;", "return true;"),
    "the last piece is not looked at": (REDUCE, "p < g.pieces; p += 32) {\n        const int x", "p < g.pieces - 1; p += 32) {\n        const int x"),
    "smaller elements count": (PACK, "TALLY_LEAST = 0x58005800u", "TALLY_LEAST = 0x57ff57ffu"),
    "one shortage decides, whatever makes up for it": (GEMM, "if (least >= 0 || least == HT_TAME_WILD)", "if (least < 1)"),
    "NaN goes unseen": (PACK, "seen < 0x10000 ? seen : NONFINITE", "seen & 0xffff"),
    "padding counts as k": (PACK, "left < tiles * 64 ? left", "false ? 0"),
    "the first look passes B over": (RESCUE, "count = a_count + (g.n + 63) / 64 * g.pieces;", "count = a_count;"),
    "the first look is at the first entry": (RESCUE, "skipped = is_all_tame(g, entry)", "skipped = is_all_tame(g, 0)"),
    "one alarm is enough": (RESCUE, "ht_has_alarm(g.a_alarm) + ht_has_alarm(g.b_alarm) > 0", "ht_has_alarm(g.a_alarm)"),
    "no alarm for what is short": (PACK, "if (number < 0)", "if (number < -999999)"),
    "the last tile is not walked to": (RESCUE, "tile < tiles;", "tile < tiles - 1;"),
}
SHIFTS = {
    "a word of the wrong piece": ("by_two ? x.high.z : x.high.x", "x.high.x"),
    "all columns begin alike": ("shift = K_CONTIGUOUS ? 0 : (int)g.ld", "shift = 0"),
    "read beyond the end of a column": ("start + 64 + 4 <= length", "start + 60 <= length"),
    "one element too many at the end": ("left > 3 ?", "left > 2 ?"),
}


def run_broken(pattern, whole, broken, test, tmp_path):
    """The test program and its arguments, with one kernel source changed."""
    source = next(BUILT.glob(pattern + ".cu"))
    text = source.read_text()
    assert text.count(whole) == 1, whole
    (tmp_path / "broken.cu").write_text(text.replace(whole, broken))
    subprocess.run([*SIM, "-c", str(tmp_path / "broken.cu"), "-o", str(tmp_path / "broken.o")], check=True)
    objects = [o for o in (BUILT / "sim").glob("*.o") if o.stem != source.stem]
    objects += [ROOT / f"out/obj/runtime/{n}.o" for n in ("halftone", "ht_accuracy", "ht_pick", "dev_sim")]
    objects += [ROOT / f"out/obj/bench/{n}.o" for n in ("families", "metrics", "reference", "threads")]
    objects += [*(ROOT / "out/obj/runtime/sim").glob("*.o"), BUILT / "obj/dispatch.o", ROOT / f"out/test/{test[0]}.o", tmp_path / "broken.o"]
    program = tmp_path / test[0]
    subprocess.run(["g++", "-o", str(program), *map(str, objects), "-lcmocka", "-lpthread", "-lm"], check=True)
    run = subprocess.run([str(program), *test[1:]], capture_output=True, text=True, timeout=120)
    print([line for line in run.stderr.splitlines() if "ERROR" in line or "holds" in line][:1])
    assert run.returncode == 1, f"nobody noticed\n{run.stdout}{run.stderr}"


@pytest.mark.parametrize("label", BREAKS)
def test_a_broken_check_is_caught(label, tmp_path):
    run_broken(*BREAKS[label], ["test_check", TESTS[BREAKS[label][0]]], tmp_path)


@pytest.mark.parametrize("label", SHIFTS)
def test_broken_packing_is_caught(label, tmp_path):
    run_broken(PACK, *SHIFTS[label], ["test_product", "columns_begin_anywhere"], tmp_path)
