/* dmma: the caller's FP32 matrices by FP64 tensor cores, sums rounded once (templates/skeletons/dmma.cu).
 * Where k is small it waits for C's way out, then for the tensor core. An MMA lets nothing else issue. And
 * the kernel of what the certificate has not cleared, from registers only (fallback_dmma.cu). */
#include "family/rows.h"

enum {
    K_OF_LANE = 2, LINES = 8, /* how far apart a lane's rows lie */
    K_LANES = 4,              /* lanes of the 8 k of an MMA */
    OTHER_REGISTERS = 34, SUMS_BESIDE = 3, /* and one more for so many sums */
    FALLBACK_REGISTERS = 254,              /* all of them */
    /* of FP32 to FP64, of an SM in a clock: CUDA C++ Programming Guide, arithmetic instructions, 9.0 */
    CONVERSIONS = 16
};

#define ROUNDED_ONCE                                                                                         \
    .arithmetic = "exact products by DMMA, FP64 tensor cores",                                               \
    .accuracy = "sums in FP64, off by at most k 2^-53 of |A||B|; rounded to FP32 once, or once for each "    \
                "part of a split k, and the parts added with compensation"

const struct fit_unpacked fit_dmma = {{SPLITS, "15 %"}, .pipe_percent = 116, .step_cycles = 107,
    .alone_cycles_per_kb = 90, .misaligned_cycles = 51, .block_start_cycles = 1169, .sum_cycles = 64,
    .serial_cycles = 330, .serial_cycles_per_1024 = 62, .tall_swap_percent = 119, .stream_percent = 88};

/* Worked examples, ptxas' number where that is what there is: 64x64x16, warps of 32x32: 32 sums of two
 * registers, 8 + 2 operands of two, 34 + 10 = 128 (126); 128x32 the same (128); 32x32x16, warps of 16x16: 16
 * + 12 + 36 = 64 (64). Shared memory: stages, in whose place the tile of sums lies afterwards. */
static void footprint_dmma(const struct target *on, const struct tile *t, struct cost *cost) {
    if (on->g->fp64_fma_per_cycle < 1)
        model_reject(cost, "unit: %s multiplies no FP64 matrices", on->g->name);
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 2 * K_OF_LANE * (t->wm / LINES + 1);
    cost->regs_other = OTHER_REGISTERS + cost->regs_accumulators / 2 / SUMS_BESIDE;
    const int stages = t->stages * 4 * (t->bm + t->bn) * (t->bk + 4);
    const int straight = 4 * t->bn * (t->bm + 4), swapped = 4 * t->bm * (t->bn + 8),
              sums = straight > swapped ? straight : swapped;
    cost->smem_bytes = stages > sums ? stages : sums;
}

/* From registers alone (templates/skeletons/fallback_dmma.cu). */
static void footprint_fallback(const struct target *on, const struct tile *t, struct cost *cost) {
    (void)on, (void)t;
    cost->regs_other = FALLBACK_REGISTERS;
}

/* Clocks x256 of a step of a block that has `schedulers` schedulers. Worked example: 64x64x16, four warps of
 * 32x32: 65536 / 128 = 512; 4 x 32 x 32 conversions, 16 a clock, 256; shared memory 4 x 32 x 128 bytes /
 * 128, 128. */
static int64_t dmma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size,
                  loads = tile_warps(t) * (int64_t)(t->wm + t->wn) / LINES * t->bk / K_LANES;
    const int64_t unit = unit_clocks(on, tile_fmas(t), on->g->fp64_fma_per_cycle, schedulers);
    const int64_t widen = unit_clocks(on, loads * lanes, CONVERSIONS, schedulers);
    const int64_t smem = loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(unit, widen), smem);
}

TIME_OF(dmma, dmma_pipes, "fp64")

const struct family family_dmma = {
    FUNCTIONS(dmma),
    READS(PARAMS_UNPACKED " SMEM_PER_SM SMEM_RESERVED SWAP_AB_MIN_GAIN"),
    UNPACKED("dmma", "dmma"), .swap_ab_min_gain = 8, .needs = ISA_DMMA, .is_fallback_base = true,
    OF_WARPS, ROUNDED_ONCE, .folds = "MI NI ROW_TILES K_PER_LANE",
    .hooks = {"=launch", "=dmma", FP32_SUMS, "stage/operand_view", "stage/cp_async_tile"},
    .tiles = {{64, 64, 16, 32, 32, 4, ALWAYS, "DMMA; a large C with few k"},
              {128, 32, 16, 32, 32, 4, ALWAYS, "DMMA; the same, up to 32 columns"},
              {64, 32, 16, 32, 16, 4, ALWAYS, "DMMA; the same, fewer tiles"},
              {32, 32, 16, 16, 16, 4, ALWAYS, "DMMA; the same, few tiles"}}
};

const struct family family_fallback = {
    .footprint = footprint_fallback, READS(PARAMS_UNPACKED), .rest_k = 16,
    UNPACKED("fallback_dmma", "dmma"), .no_split_k = true, .needs = ISA_DMMA, OF_WARPS, ROUNDED_ONCE,
    FOLDS_SIMT, .smem = "0", .hooks = {"=launch", "=dmma", FP32_SUMS, "check/recompute",
                                       "check/fallback_tile", "check/fallback_grid"}
};
