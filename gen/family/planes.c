/* planes: FP64 by INT8 or FP16 panels, by mma.sync or MFMA: residues, slices of the Ozaki scheme, digits.
 * They do as mma_warp does. */
#include "family/rows.h"

enum {
    UNSCHEDULED_REGISTERS = 40,
    ELEMENT_INSTRUCTIONS = 520 /* of FP64 by digits: counted in the machine code of sm_89, not measured */
};

/* FP64 by INT8 or FP16 in panels, by mma.sync or MFMA. */
#define PANELS_OF_FP64                                                                                       \
    .label = "_mma", .searched = true, OF_FP64, .needs = ISA_FRAGMENTS, .has_init = true,                    \
    .cost_form = HT_TILED_WAVES, .no_split_k = true, OF_WARPS, FOLDS_RING
#define PANELS_BY_PLANES                                                                                     \
    .footprint = footprint_planes, .time = time_mma_warp, .binding = binding_mma_warp,                 \
    .params = PARAMS_OF_RING PARAMS_OF_ATOM "REFILL_AFTER_BARRIER"
#define PLANES .file = "planes_mma_warp", PANELS_OF_FP64, .leaves_sums = true

/* As its template has loads and MMAs, unscheduled, ptxas takes more: 128x128x128, warps of 64x32, sm_80: 192
 * (210); 64x64x128, warps of 32x32: 144 (128). */
static void footprint_planes(const struct target *on, const struct tile *t, struct cost *cost) {
    footprint_mma_warp(on, t, cost);
    cost->regs_other += UNSCHEDULED_REGISTERS;
}

/* B's fragments and two of A's: 64x64x32, warps of 32x16, sm_80: 112 + 28 + 16 + 52 = 208 (209), sm_75: 28
 * staged, 236 (237); 32x32x32, warps of 16x16: 56 + 28 + 8 + 24 = 116 (112), sm_75: 144 (141). */
static void footprint_digits_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = (on->s->slices * t->wn + 2 * t->wm) * target_fragment_k(on);
    cost->regs_accumulators = on->s->accumulators * t->wm * t->wn / on->isa->wave_size;
    cost->smem_bytes = t->stages * tile_stage_bytes(t, on->s);
    cost->regs_fragments = bytes / 4 / on->isa->wave_size;
    if (!on->isa->async_copy)
        cost->regs_fragments += tile_stage_bytes(t, on->s) / cost->threads / 4;
    cost->regs_other = cost->regs_accumulators / 2 - 4;
}

/* And each element becomes an integer and is rounded, one after the other. */
static void time_digits_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    time_mma_warp(on, t, cost);
    cost->formula.waves.tile_overhead_cycles += ELEMENT_INSTRUCTIONS * t->bm * t->bn / on->isa->wave_size *
                                                cost->blocks_per_sm / (int)on->g->schedulers_per_sm;
}

const struct family family_planes_residues = {
    PANELS_BY_PLANES,
    PLANES, .sum = NUMBER_S32, .hooks = {PANELS, "=tables", OF_RESIDUES, "=crt_order", "epilogue/crt_failed",
                                        "epilogue/planes_residues"},
    .tiles = {{64, 64, 128, 32, 32, 2, ALWAYS, "few"}, {64, 64, 128, 32, 32, 3, ALWAYS, "few"},
              {128, 128, 128, 64, 32, 3, ALWAYS, "many"}, {128, 128, 128, 64, 64, 2, ALWAYS, "many"}}
};

const struct family family_planes_sums = {
    PANELS_BY_PLANES,
    PLANES, .sum = NUMBER_F32, .hooks = {PANELS, "epilogue/planes_sums"},
    .tiles = {{64, 64, 64, 32, 32, 2, ALWAYS, "few"}, {64, 64, 64, 32, 32, 3, ALWAYS, "few"},
              {128, 128, 64, 64, 32, 2, ALWAYS, "many"}, {128, 128, 64, 64, 32, 3, ALWAYS, "many"},
              {128, 128, 64, 64, 64, 2, ALWAYS, "many"}}
};

const struct family family_digits_mma_warp = {
    FUNCTIONS(digits_mma_warp), .binding = binding_mma_warp,
    .params = PARAMS_OF_RING "SLICES ACCS PROMOTE_STEPS",
    .file = "digits_mma_warp", PANELS_OF_FP64, .sum = NUMBER_S32,
    .hooks = {FRAGMENTS, "=tables", "=chain", "epilogue/crt_order_mma", TO_C},
    .tiles = {{32, 32, 32, 16, 16, 2, ALWAYS, "few"}, {32, 32, 32, 16, 16, 3, ALWAYS, "few"},
              {64, 64, 32, 32, 16, 2, ALWAYS, "many"}, {64, 64, 32, 32, 16, 3, ALWAYS, "many"},
              {64, 64, 32, 32, 32, 2, ALWAYS, "MFMA"}}
};
