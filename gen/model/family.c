/* family: the table of kernel families' functions; see family.h. */
#include "model/family.h"

#include <stddef.h>

#define FAMILY(name, counts_) .needs = footprint_##name, .time = time_##name, .counts = counts_

static const struct family_model families[FAMILIES] = {
    [FAMILY_WGMMA_SS] = {FAMILY(wgmma_ss, NULL), .space = tile_space_wgmma_ss},
    [FAMILY_MMA_WARP] = {FAMILY(mma_warp, model_halftone_counts), .space = tile_space_mma_warp},
    [FAMILY_UNPACKED_WGMMA] = {FAMILY(unpacked_wgmma, NULL), .space = tile_space_unpacked_wgmma},
    [FAMILY_UNPACKED_MMA] = {FAMILY(unpacked_mma, model_direct_counts), .space = tile_space_unpacked_mma},
    [FAMILY_DMMA] = {FAMILY(dmma, NULL)},
    [FAMILY_SIMT_SMALL_K] = {FAMILY(simt_small_k, NULL)},
    [FAMILY_GEMV] = {FAMILY(gemv, NULL)},
    [FAMILY_TALL_SKINNY] = {FAMILY(tall_skinny, NULL)},
    [FAMILY_FALLBACK] = {.needs = footprint_fallback},
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
