/* family: what the models know of each kernel family, as functions; with the row of facts/skeleton.c all
 * that is said of it below emit. */
#ifndef HT_FAMILY_H
#define HT_FAMILY_H

#include "model/model.h"

/* Lanes of a warp with different rows; of gemv and tall_skinny bytes of a line that it loads, of a load;
 * registers of a thread's rows of tall_skinny. */
enum { SIMT_ROW_LANES = 16, GEMV_LINE_BYTES = 128, GEMV_LOAD_BYTES = 16, TALL_OWN = 4 };

struct family_model {
    void (*space)(const struct target *on, tile_visit *visit, void *context); /* NULL: planned tiles alone */
    /* Registers and shared memory; what it rejects is what the four limits do not say. */
    void (*needs)(const struct target *on, const struct tile *t, struct cost *cost);
    /* Of a tile that fits: coefficients of the form that the family's row names, and what it waits for
     * where memory does not bind it. */
    void (*time)(const struct target *on, const struct tile *t, struct cost *cost);
    /* The latter where it depends on the shape; NULL: it does not. */
    const char *(*binding)(const struct target *on, const struct tile *t, const struct shape *shape,
                           const struct cost *cost);
    /* NULL: its step is one pipe */
    struct model_step (*step)(const struct target *on, const struct tile *t, int blocks_per_sm);
    /* of a warp and step; NULL: has no such step */
    struct model_counts (*counts)(const struct target *on, const struct tile *t);
};

const struct family_model *family_model(const struct target *on);

#define FAMILY_FUNCTIONS(name)                                                                               \
    void footprint_##name(const struct target *on, const struct tile *t, struct cost *cost);                 \
    void time_##name(const struct target *on, const struct tile *t, struct cost *cost);
FAMILY_FUNCTIONS(wgmma_ss) FAMILY_FUNCTIONS(mma_warp) FAMILY_FUNCTIONS(digits_mma_warp)
FAMILY_FUNCTIONS(unpacked_wgmma) FAMILY_FUNCTIONS(unpacked_mma) FAMILY_FUNCTIONS(dmma)
FAMILY_FUNCTIONS(simt_small_k) FAMILY_FUNCTIONS(gemv) FAMILY_FUNCTIONS(tall_skinny)
FAMILY_FUNCTIONS(fp64_mma_tile) FAMILY_FUNCTIONS(fp64_tile)
const char *binding_mma_warp(const struct target *on, const struct tile *t, const struct shape *shape,
                             const struct cost *cost);
void footprint_crt_mma_warp(const struct target *on, const struct tile *t, struct cost *cost);
void footprint_crt_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost);
void footprint_fallback(const struct target *on, const struct tile *t, struct cost *cost);

/* Of unpacked_mma in FP32, of a warp and step: FMAs or MMAs, and loads of a number for each lane.
 * FMAs: rows are shared by 4 lanes, columns by the others. Worked example: 64x64, warps of 32x32,
 * gfx90a: 2 * 2 tiles, 8 MMAs of 4 k: 32, and 32 loads. */
struct fp32_work {
    int64_t multiplies, loads;
};
struct fp32_work model_fp32_work(const struct target *on, const struct tile *t);
/* 16-byte parts of a stage that a thread moves; warps of a block that have the same rows (K_WARPS of the
 * template); elements that a lane reads from shared memory for each k. */
int model_unpacked_parts(const struct target *on, const struct tile *t);
int model_gemv_spread(const struct target *on, const struct tile *t);
int model_simt_operands(const struct target *on, const struct tile *t);
/* Clocks, x256 or not, of a kernel below the power limit, as clocks at the set's. */
static inline int32_t at_boost(const struct target *on, int64_t clocks) {
    return (int32_t)model_clocks_at_boost(on->g, clocks);
}

#endif
