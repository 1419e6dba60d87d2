/* family: the table of kernel families' functions; see family.h. */
#include "model/family.h"

#include <stddef.h>

#define FAMILY(name, counts_) .needs = footprint_##name, .time = time_##name, .counts = counts_

static const struct family_model families[HT_FAMILIES] = {
    [HT_FAMILY_WGMMA_SS] = {FAMILY(wgmma_ss, NULL), .space = tile_space_wgmma_ss},
    [HT_FAMILY_MMA_WARP] = {FAMILY(mma_warp, model_mma_counts), .binding = binding_mma_warp,
                         .step = model_mma_step, .space = tile_space_mma_warp},
    [HT_FAMILY_UNPACKED_WGMMA] = {FAMILY(unpacked_wgmma, NULL), .space = tile_space_unpacked_wgmma},
    [HT_FAMILY_UNPACKED_MMA] = {FAMILY(unpacked_mma, model_mfma_counts), .space = tile_space_unpacked_mma},
    [HT_FAMILY_DMMA] = {FAMILY(dmma, NULL)}, [HT_FAMILY_SIMT_SMALL_K] = {FAMILY(simt_small_k, NULL)},
    [HT_FAMILY_GEMV] = {FAMILY(gemv, NULL)}, [HT_FAMILY_TALL_SKINNY] = {FAMILY(tall_skinny, NULL)},
    [HT_FAMILY_FP64_GEMV] = {FAMILY(gemv, NULL)}, [HT_FAMILY_FP64_TALL] = {FAMILY(tall_skinny, NULL)},
    [HT_FAMILY_FP64_SMALL_K] = {FAMILY(simt_small_k, NULL)},
    [HT_FAMILY_FP64_MMA_TILE] = {FAMILY(fp64_mma_tile, NULL), .space = tile_space_fp64_mma_tile},
    [HT_FAMILY_FP64_TILE] = {FAMILY(fp64_tile, NULL), .space = tile_space_fp64_tile},
    [HT_FAMILY_CRT_WGMMA_SS] = {.needs = footprint_crt_wgmma_ss, .time = time_wgmma_ss,
                                .space = tile_space_planned},
    [HT_FAMILY_CRT_MMA_WARP] = {.needs = footprint_crt_mma_warp, .time = time_mma_warp,
                                .binding = binding_mma_warp, .space = tile_space_planned},
    [HT_FAMILY_DIGITS_MMA_WARP] = {FAMILY(digits_mma_warp, NULL), .binding = binding_mma_warp,
                                   .space = tile_space_planned},
    [HT_FAMILY_OZAKI_MMA_WARP] = {.needs = footprint_crt_mma_warp, .time = time_mma_warp,
                                  .binding = binding_mma_warp, .space = tile_space_planned},
    [HT_FAMILY_FALLBACK] = {.needs = footprint_fallback},
};

const struct family_model *family_model(const struct target *on) {
    return &families[on->skeleton - skeleton_table];
}

void tile_enumerate(const struct target *on, tile_visit *visit, void *context) {
    family_model(on)->space(on, visit, context);
}

struct model_counts model_step_counts(const struct target *on, const struct tile *t) {
    return family_model(on)->counts ? family_model(on)->counts(on, t) : (struct model_counts){0};
}

bool model_step_of(const struct target *on, const struct tile *t, int blocks_per_sm,
                   struct model_step *step) {
    const struct model_step none = {0};
    *step = family_model(on)->step ? family_model(on)->step(on, t, blocks_per_sm) : none;
    return family_model(on)->step != NULL;
}
