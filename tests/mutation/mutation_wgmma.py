"""wgmma_ss in the simulator: right as it is, whatever the order of warps and copies, and each broken copy is caught by
the rule that it breaks (tests/mutation/wgmma_product.cpp says what right is)."""
import os
import re
import shutil
import subprocess

import mutate
import pytest
from conftest import ROOT, SIM, SIM_OBJECTS, bench_objects, gen
from mutate import before, change, drop

# 4 chunks of k for a ring of two: slots are used again
CASE = ("100", "70", "256", "1", "0.5", "1")

# what is broken: edits of places that wgmma_ss.cu and sm90.cuh name (mutate.py), what the simulator says
BREAKS = {
    "no wait for an empty stage": (drop("wait-empty"), "has all its arrivals already"),
    "no wait for a full stage": (drop("wait-full"), "without having waited for the ht_bulk_copy"),
    "producer starts with the other parity": (change("producer-phase", "phase = 1", "phase = 0"), "deadlock"),
    "consumer starts with the other parity": (change("consumer-phase", " phase = 0", " phase = 1"), "reads uninitialised shared memory|without having waited for the ht_bulk_copy"),
    "consumer never changes parity": (drop("consumer-parity"), "without having waited for the ht_bulk_copy|deadlock"),
    "no fence": (drop("fence"), "without ht_wgmma_fence"),
    "no commit": (drop("commit"), "6 wgmmas not committed|12 wgmmas not committed"),
    "no wait": (drop("wait-chain"), "ht_wgmma_fence_operand of accumulators in flight"),
    "neither wait nor pin": (drop("wait-chain", "pin"), "in flight still reads|in flight, 0 of them not committed"),
    "waits for one group too few": (change("wait-chain", "<0>", "<1>"), "ht_wgmma_fence_operand of accumulators in flight"),
    "promotes before the wait": (before("wait-chain", "promote"), "element \\d+:|grade nan"),
    "releases before the wait": (before("promote", "wait-chain", "pin"), "in flight still reads|with nothing between them that orders the two"),
    "releases by a lane that did not wait": (change("release", "EMPTY", "FULL"), "deadlock|has all its arrivals already|without this ht_bulk_copy|without having waited"),
    "descriptor one chunk off": (change("mma-ab", "a + 4", "a + 5"), "element \\d+:|the start's offset"),
    "descriptor in the next row": (change("mma-ba", "b + 4", "b + 8"), "the start's offset from a multiple of 1024 bytes"),
    "descriptor of the other slice": (change("mma-ba", "b + 4", "b"), "grade|element"),
    "descriptor of the next stage": (change("descriptor-b", "k * 2", "k * 2 + STAGE_BYTES / 16"), "without having waited|uninitialised"),
    "no swizzle in the descriptor": (change("descriptor", "1ull << 62 | ", ""), "the swizzle code"),
    "wrong stride in the descriptor": (change("descriptor", "1024", "512"), "the stride"),
    "no leading offset in the descriptor": (change("leading-offset", "1u << 16 | ", ""), "the leading offset"),
    "chain goes on instead of starting afresh": (change("mma-ab", "c + k > 0", "1"), "element \\d+:|grade"),
    "a product left out": (drop("mma-ba"), "element \\d+:|grade"),
    "too few arrivals counted": (change("arrivals-of-stage", "CONSUMER_WARPGROUPS * 4", "CONSUMER_WARPGROUPS * 3"), "overwrites shared byte|has all its arrivals already"),
    "too many arrivals counted": (change("arrivals-of-stage", "CONSUMER_WARPGROUPS * 4", "CONSUMER_WARPGROUPS * 4 + 1"), "deadlock"),
    "all lanes arrive": (drop("turn-lane"), "deadlock|in flight|grade|element"),
    "turns are not handed on": (drop("turn-lane", "turn"), "deadlock"),
    "too few bytes announced": (change("announce", "STAGE_BYTES", "STAGE_BYTES - 8192"), "completes without this ht_bulk_copy"),
    "too many bytes announced": (change("announce", "STAGE_BYTES", "STAGE_BYTES + 16"), "deadlock"),
    "a copy left out": (change("copies", "B_BLOCKS", "B_BLOCKS - 1"), "deadlock"),
    "copies one stage too far": (change("stage", "(unsigned)stage * STAGE_BYTES", "(unsigned)(stage + 1) * STAGE_BYTES"), "out of bounds|inside an mbarrier|uninitialised|overwrites"),
    "a copy from beyond the panels": (change("copy", "(unsigned)k)", "(unsigned)k + 1)"), "global memory access out of bounds|element"),
    "mbarriers not published": (drop("published"), "which the copy engine was not told of|was not told of"),
    "no barrier after the initialisation": (drop("meet"), "no mbarrier was initialised|with no barrier since"),
    "registers that are not there": ((change("registers", "232", "240"), drop("registers-fit")), "a block of 384 threads starts with 64512"),
    "one warp goes its own way": (change("consumers", "consume(", "if (threadIdx.x / 32 != 5) consume("), "deadlock"),
    "one warp skips a wait": (change("wait-chain", "ht_wgmma", "if (threadIdx.x / 32 != 5) ht_wgmma"), "divergent|ht_wgmma_fence_operand of"),
    "half a warp multiplies": (change("mma-hi", "ht_wgmma(", "if (lane < 16) ht_wgmma("), "divergent"),
}

# the same for two blocks that share panels
PAIR_BREAKS = {
    "only block 0 hears of empty slots": (change("who-releases", "lane < CLUSTER", "lane < 1"), "deadlock|has all its arrivals already"),
    "consumers speak to their own block only": (change("release-to", "lane", "ht_cluster_rank()"), "with nothing between them that orders the two|without having waited|in flight still reads"),
    "one block's arrivals counted": (change("arrivals-of-stage", " * CLUSTER", ""), "has all its arrivals already|overwrites|without having waited"),
    "only the own copies' bytes announced": (change("announce", "STAGE_BYTES", "STAGE_BYTES - 4096 * B_BLOCKS"), "completes without this ht_bulk_copy|more than were announced"),
    "both copy the upper half": ((change("half-of-panel", "from + ht_cluster_rank() * PART", "from"), change("half-of-panel", "to + (unsigned)(ht_cluster_rank() * PART)", "to")), "which is still on its way|overwrites"),
    "the producer leaves one stage early": (change("stay", "CLUSTER > 1 && s < RING_STAGES", "s < RING_STAGES - 1"), "may have ended when the other block arrives"),
    "blocks do not meet before they begin": (change("meet", "ht_cluster_barrier", "ht_barrier"), "with no cluster barrier since"),
    "mbarriers not published": (drop("published"), "was not told of|with no cluster barrier since|no mbarrier was initialised|with no barrier since"),
    "a block without a tile does not copy": (change("producer-work", ";", "; if (w.m0 >= g.m) continue;"), "deadlock"),
    "a block without a tile does not consume": (change("consumer-work", ";", "; if (w.m0 >= g.m) continue;"), "deadlock|nobody has waited for the copies"),
    "panels beyond the edge": (change("last-panel", "(block < last ? block : last)", "block"), "global memory access out of bounds"),
    "both blocks compute one tile": (change("tile-of-block", "SHARES_B ? ht_cluster_rank() * BM : 0", "0"), "element \\d+:|grade"),
    "an odd grid": (change("grid", "(unsigned)(items < most ? items : most) * CLUSTER", "3"), "in a grid of whole clusters"),
}

# results on their way through shared memory, to a C whose columns begin anywhere and which no tile fills, not read and read
STORE_CASES = (("387", "66", "64", "1", "0", "1"), ("387", "66", "64", "1", "-1.5", "1"))
STORE_BREAKS = {
    "written before it is read": (drop("part-written"), "with nothing between them that orders lanes"),
    "one buffer for all warps": (change("epi_buffer", "(unsigned)warp * EPI_BUFFER_BYTES", "0"), "of another warp"),
    "rows of the wrong lane": (change("rows-of-lane", "o.lane % 4 * 2", "(3 - o.lane % 4) * 2"), "element \\d+:|grade"),
    "columns of the wrong half": (change("columns-of-half", "h * 8", "(1 - h) * 8"), "element \\d+:|grade"),
    "the same rows again": ((change("part-scaled", " + p * (PART_ROWS / 2)", ""), change("part-sums", " + p * (SUM_ROWS / 2)", "")), "element \\d+:|grade"),
    "rows beyond C": ((change("rows-of-part", " && at.row + row < o.g.m", ""), change("rows-of-c", "at.row + row < o.g.m && ", "")), "element \\d+:|out of bounds|poison"),
    "columns beyond C": ((change("columns-of-part", "column + q < columns", "true"), drop("columns-of-sums")), "element \\d+:|out of bounds|poison"),
    "the first column's scale for all": ((change("scale-of-column", " + column + q", ""), change("first-column", " + o.lane / 4", "")), "element \\d+:|grade"),
}

# scales on their way to the epilogue; one block has all tiles, so that their room is used again
SCALE_CASE = ("387", "130", "64", "1", "0", "1")
SCALE_BREAKS = {
    "read before they are there": (drop("wait-scaled"), "uninitialised|with nothing between them that orders"),
    "written while others read": (change("wait-spent", "ht_mbar_wait(smem + SCALES_EMPTY, phase)", ""), "with nothing between them that orders|has all its arrivals already|deadlock"),
    "nobody is done with them": (change("spent", "ht_mbar_arrive(smem + SCALES_EMPTY)", ""), "deadlock"),
    "consumers never change parity": (drop("scales-parity"), "uninitialised|with nothing between them that orders|deadlock"),
    "rows of the first tile for all": (change("scales-of-rows", "w.m0, g.m", "0, g.m"), "element \\d+:|grade"),
    "columns one further": (change("scales-of-columns", "w.n0, g.n", "w.n0 + 1, g.n"), "element \\d+:|grade"),
}


def pair(templates, shared="B"):
    """The sample as two blocks that share the panels of B, or A."""
    sample = templates / "samples/wgmma_ss.h"
    text = sample.read_text()
    for old, new in (("CLUSTER = 1", "CLUSTER = 2"), (f"SHARES_{shared} = 0", f"SHARES_{shared} = 1"), ("launch/cluster_1", "launch/cluster_2")):
        assert old in text
        text = text.replace(old, new)
    sample.write_text(text)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    judge = tmp_path_factory.mktemp("judge") / "wgmma_product.o"
    subprocess.run([*SIM, "-c", str(ROOT / "tests/mutation/wgmma_product.cpp"), "-o", str(judge)], check=True)
    objects = [judge, *SIM_OBJECTS,
               *bench_objects("accuracy/families", "accuracy/metrics", "accuracy/reference", "io/threads")]

    def make(change=None):
        """wgmma_product on a copy of the templates that `change` edits."""
        folder = tmp_path_factory.mktemp("wgmma")
        shutil.copytree(ROOT / "templates", folder / "templates")
        (folder / "runtime").symlink_to(ROOT / "runtime")
        if change:
            change(folder / "templates")
        template = f'-DTEMPLATE="{folder}/templates/skeletons/wgmma_ss.cu"'
        subprocess.run([*SIM, template, "-c", str(ROOT / "tests/mutation/wgmma_product.cpp"), "-o", str(folder / "p.o")], check=True)
        subprocess.run(["g++", "-o", str(folder / "p"), str(folder / "p.o"), *map(str, objects), "-lpthread", "-lm"], check=True)
        return folder / "p"

    return make


def run(program, *args, seed="0"):
    made = subprocess.run([str(program), *args], capture_output=True, text=True, timeout=300, env={**os.environ, "HALFTONE_SIM_SEED": seed})
    return made.returncode, made.stdout + made.stderr


@pytest.fixture(scope="module")
def whole(build):
    return build()


@pytest.mark.parametrize("seed", ["0", "1", "20261121"])
def test_the_template_is_right(whole, seed):
    code, text = run(whole, seed=seed)
    assert code == 0, text


def one_block(templates):
    """A GPU of one SM: its block has all tiles, one after the other."""
    sample = templates / "samples/wgmma_ss.h"
    text = sample.read_text()
    assert "SMS = 132" in text
    sample.write_text(text.replace("SMS = 132", "SMS = 1"))


def test_one_block_has_all_tiles(build):
    code, text = run(build(one_block), *SCALE_CASE)
    assert code == 0, text


@pytest.mark.parametrize("shared", ["A", "B"])
def test_two_blocks_share_panels(build, shared):
    """Bits and FP64 as of one block; an odd edge, where one of the two has no tile, and several items of a cluster."""
    program = build(lambda templates: pair(templates, shared))
    for seed, case in (("0", CASE), ("5", ("193", "129", "130", "1", "-1", "1")), ("7", ("300", "65", "512", "2", "0", "2"))):
        code, text = run(program, *case, seed=seed)
        assert code == 0, text


# what is broken, on which template, seeds and cases that must notice
CAUGHT = [(label, before_it, *row, seeds, cases) for table, before_it, seeds, cases in (
    (BREAKS, None, ("0", "3"), (CASE,)), (STORE_BREAKS, None, ("0",), STORE_CASES), (SCALE_BREAKS, one_block, ("0",), (SCALE_CASE,)), (PAIR_BREAKS, pair, ("0",), (CASE,)))
    for label, row in table.items()]


@pytest.mark.mutation
@pytest.mark.parametrize("label, before_it, edits, expected, seeds, cases", CAUGHT, ids=[row[0] for row in CAUGHT])
def test_a_broken_template_is_caught(build, label, before_it, edits, expected, seeds, cases):
    def change(templates):
        if before_it:
            before_it(templates)
        mutate.apply(templates, *mutate.listed(edits))

    program = build(change)
    for seed, case in ((seed, case) for seed in seeds for case in cases):
        code, text = run(program, *case, seed=seed)
        print(f"{label}, seed {seed}: {text.strip()}")
        assert code == 1, f"nobody noticed: {label}"
        assert re.search(expected, text), text


def test_pairs_of_blocks(tmp_path):
    """A tile of two blocks: its name, banner, parameters and hooks, manifest; the sets of sm_90a have them."""
    gen("emit", "--gpu", "h200", "--scheme", "f16x3", "--tiles", "64x128x32_wg64x64_s8_c2,192x128x32_wg192x64_s4_c2", "--out", tmp_path / "x")
    wide = (tmp_path / "x/ht_f16x3_wgmma_64x128x32_wg64x64_s8_c2_sm90a.cu").read_text()
    assert "CLUSTER = 2, SHARES_A = 0, SHARES_B = 1" in wide and "neighbours along m, share the panels of B." in wide
    assert "multicast::cluster" in wide and "RASTER = 8" in wide
    tall = (tmp_path / "x/ht_f16x3_wgmma_192x128x32_wg192x64_s4_c2_sm90a.cu").read_text()
    assert "CLUSTER = 2, SHARES_A = 1, SHARES_B = 0" in tall and "RASTER = 8" in tall
    clusters = {line.split("\t")[0]: line.split("\t")[17] for line in (tmp_path / "x/manifest").read_text().splitlines() if "sm90a\t" in line}
    assert sorted(name for name, cluster in clusters.items() if cluster == "2") == sorted(n for n in clusters if "_c2_" in n) and len(clusters) > 2
    refused = gen("emit", "--gpu", "h200", "--scheme", "f16x3", "--tiles", "64x128x32_wg64x64_s8_c3", "--out", tmp_path / "y", check=False)
    assert refused.returncode == 1 and "not in the search space" in refused.stderr
    gen("emit", "--gpu", "h200", "--out", tmp_path / "z")
    assert list((tmp_path / "z").glob("ht_f16x3_wgmma_128x256*_c2_*"))
