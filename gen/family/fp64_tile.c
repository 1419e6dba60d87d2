/* fp64_tile: the caller's FP64 matrices, in tiles by DMMA or by FP64 FMAs
 * (templates/skeletons/fp64_mma_tile.cu, fp64_tile.cu). They wait for FP64's unit, or issue. */
#include "family/rows.h"

enum {
    MMA_OTHER_REGISTERS = 30, MMA_48_REGISTERS = 24, /* more: warps of 48 rows, ptxas 216 to 254 */
    TILE_OTHER_REGISTERS = 68, /* ptxas: addresses of loads that are in flight */
    /* of m16n8k8; of a warp's step: addresses, barrier; of 16 bytes; of an instruction, power included */
    MMA_FMAS = 1024, STEP_INSTRUCTIONS = 40, COPY_CLOCKS = 7, ISSUE_X256 = 320,
    STEP_CLOCKS = 370 /* of a block that is alone, however small: barriers, loads, the MMAs of a warp */
};

const struct fit_unpacked fit_fp64_mma_tile = {{"tune-h200-fp64.tsv h200-fp64-waves.tsv",
    "NVIDIA H200, 700 W",
    "out/h200/halftone-sim tune --again bench/results/tune-h200-fp64.tsv",
    "picks 97 % as fast as the best of 111 shapes, 69 % at worst, by half of them 97 % of the others; "
    "squares of 1024 to 8192 4 %; sums are dmma's"}, .pipe_percent = 88,
    .alone_cycles = 30, .block_start_cycles = 1820, .sum_cycles = 64, .serial_cycles = 760,
    .serial_cycles_per_1024 = 62, .stream_percent = 82};
const struct fit_unpacked fit_fp64_tile = {{"none", "no card", "none",
    "unknown: dmma's row, less what only that has, and the data "
    "sheets' FMAs, beside which the rest issues"}, .pipe_percent = 100, .step_cycles = 107,
    .alone_cycles_per_kb = 90, .block_start_cycles = 1169, .sum_cycles = 64, .serial_cycles = 330,
    .serial_cycles_per_1024 = 62, .stream_percent = 88};

/* Four or eight warps of at most 64 x 32, whose sums leave registers for two sets of fragments; each thread
 * copies a pair of both operands at least. 96 rows fill waves that 64 and 128 do not. */
static bool takes_fp64_mma_tile(const struct target *on, const struct tile *t) {
    enum { SIDE_OF_WARP = 4 };
    const int warps = tile_warps(t), side = t->bm < t->bn ? t->bm : t->bn;
    (void)on;
    return t->wn <= t->wm && t->bm % t->wm + t->bn % t->wn == 0 && (warps == 4 || warps == 8) &&
           warps * SIDE_OF_WARP <= side;
}

/* Warps of 32 x 32, in which an FMA warp's lanes are shared out (arch/fma64); one loads all of a step. */
static bool takes_fp64_tile(const struct target *on, const struct tile *t) {
    (void)on;
    return t->bn <= t->bm && t->bk == (t->bm * t->bn > t->wm * t->wn ? 16 : 8);
}

/* Worked example: 128x128x16, warps of 64x32: 64 sums of two registers, two sets of 16 + 8 numbers, 30 = 254
 * (254). */
static void footprint_fp64_mma_tile(const struct target *on, const struct tile *t, struct cost *cost) {
    enum { SETS = 2, GROUP_K = 8 };
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 2 * SETS * GROUP_K * (t->wm + t->wn) / on->isa->wave_size;
    cost->regs_other = MMA_OTHER_REGISTERS + (t->wm == 48 ? MMA_48_REGISTERS : 0);
    cost->smem_bytes = t->stages * (t->bm + t->bn) * t->bk * number_bytes(on->s->in);
}

/* Worked example: 128x64x16, warps of 32x32, FMA, sm_75: 32 sums of two registers, 4 + 2 copies of four,
 * 4 + 8 pairs of k of a lane (arch/fma64), 68 = 204 (202). */
static void footprint_fp64_tile(const struct target *on, const struct tile *t, struct cost *cost) {
    enum { PAIR_BYTES = 16, PAD = 2 };
    const int pairs = t->bk / 2, fma_lanes = 4 + 256 / on->isa->wave_size;
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 4 * (t->bm + t->bn) * pairs / cost->threads +
                           4 * fma_lanes;
    cost->regs_other = TILE_OTHER_REGISTERS;
    cost->smem_bytes = t->stages * pairs * PAIR_BYTES * (t->bm + t->bn + 2 * PAD);
}

/* Clocks x256 of a step of a block that has so many schedulers. Worked line: 64x64x16, sm_80: 65536 / 64 =
 * 1024; shared memory 4 x 64 pairs of 16 bytes for each 2 k, 8 x 4096 / 128, 256. */
static int64_t fp64_tile_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t unit = unit_clocks(on, tile_fmas(t), model_fma_per_cycle(on->g, on->s), schedulers);
    const int64_t smem = tile_warps(t) * (int64_t)(t->wm + t->wn) * t->bk * number_bytes(on->s->in) * 256 /
                         on->g->smem_bytes_per_cycle;
    return model_largest(unit, smem);
}

/* The same and what issues beside no MMA (bench/decisions/040), of a warp. Worked example, sm_90a: 64x64x16,
 * warps of 32x32: 32 loads, 8 copies of 7, 16 MMAs of 3 / 2, 40: 152 (in code 111 to 121, a copy 5 / 2: what
 * a byte from L2 costs of the power limit is in it). */
static int64_t fp64_mma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), loads = (int64_t)(t->wm + t->wn) / 8 * t->bk / 4;
    const int64_t copies = (int64_t)(t->bm + t->bn) * t->bk / 2 / tile_threads(t, on),
                  mmas = (int64_t)t->wm * t->wn * t->bk / MMA_FMAS;
    const int64_t issue = loads + copies * COPY_CLOCKS + mmas * 3 / 2 + STEP_INSTRUCTIONS;
    return fp64_tile_pipes(on, t, schedulers) + warps * issue * ISSUE_X256 / schedulers;
}

TIME_OF(fp64_tile, fp64_tile_pipes, "fp64")

static void time_fp64_mma_tile(const struct target *on, const struct tile *t, struct cost *cost) {
    time_unpacked(on, t, cost, &fit_fp64_mma_tile, fp64_mma_pipes, STEP_CLOCKS * 256, 1, "fp64");
}

const struct family family_fp64_mma_tile = {
    FUNCTIONS(fp64_mma_tile), .takes = takes_fp64_mma_tile,
    .grid = {{16, 32, 64, 96, 128}, {16, 32, 64, 96, 128}, {16}, {16, 32, 48, 64}, {16, 32}, {4}, {1}},
    .params = "BM BN BK WM WN STAGES MIN_BLOCKS WAVE ALONE_MOST",
    UNPACKED("fp64_mma_tile", ""), .searched = true, OF_FP64, OF_WARPS, .swap_ab_min_gain = 1,
    .needs = ISA_FP64_MMA, .takes_counts = true, .folds = "MI NI GROUPS QUADS",
    .hooks = {"=launch", "=dmma", "=fp64_mma", "stage/real_f64", "stage/operand_view", "stage/tile_f64",
              "check/crt_counts", "check/crt_rest"},
    .tiles = {{128, 128, 16, 64, 32, 4, ALWAYS, "FP64 tensor cores; many tiles"},
              {96, 128, 16, 48, 32, 4, ALWAYS, "FP64 tensor cores; fuller waves of many tiles"},
              {96, 64, 16, 48, 32, 4, ALWAYS, "FP64 tensor cores; fuller waves of few tiles"},
              {64, 64, 16, 32, 32, 4, ALWAYS, "FP64 tensor cores; few tiles"},
              {64, 16, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; up to 16 columns"},
              {16, 64, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; up to 16 rows"},
              {32, 32, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; very few tiles"}}
};

const struct family family_fp64_tile = {
    FUNCTIONS(fp64_tile), .takes = takes_fp64_tile,
    .grid = {{32, 64, 128}, {32, 64, 128}, {8, 16}, {32}, {32}, {2}, {1}},
    .params = "BM BN BK WM WN MIN_BLOCKS WAVE ALONE_MOST",
    UNPACKED("fp64_tile", ""), .searched = true, OF_FP64, OF_WARPS, .swap_ab_min_gain = 1,
    .needs = ISA_FP64_FMA_ALONE, .takes_counts = true, .has_tiles_of_all_shapes = true,
    .folds = "MI NI PAIRS WARPS_M THREADS MMA_M MMA_N LANE_ROWS LANE_COLUMNS LANE_PAIRS D_REGS",
    .hooks = {"=launch", "arch/fma64", "stage/real_f64", "stage/operand_view", "stage/global_f64",
              "check/crt_counts", "check/crt_rest"},
    .tiles = {{128, 64, 16, 32, 32, 2, ALWAYS, "FP64 arithmetic; many tiles"},
              {64, 64, 16, 32, 32, 2, ALWAYS, "FP64 arithmetic; few tiles"},
              {32, 32, 8, 32, 32, 2, ALWAYS, "FP64 arithmetic; very few tiles"}}
};
