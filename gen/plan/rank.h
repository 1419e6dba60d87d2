/* rank: (Gpu, Isa, Scheme, Tile, Shape) -> Cost or reason of rejection, by one of three models, and which of
 * two tiles is better. */
#ifndef HT_RANK_H
#define HT_RANK_H

#include "model/model.h"

enum model_kind { MODEL_HALFTONE, MODEL_EGEMM, MODEL_LEGEMM };

const char *model_name(enum model_kind kind);
bool model_from_name(const char *name, enum model_kind *kind);

/* The target of a scheme as a model sees it: the papers' models know only warps that hold operands in
 * registers, so for them Hopper is a GPU with mma.sync. target_next goes on from there. */
struct target model_target(enum model_kind kind, const struct gpu *g, const struct isa *isa,
                           const struct scheme *s);

/* Fills *cost for one tile. All three models accept every tile that tile_next yields for a target
 * that model_target begins. */
void model_cost(enum model_kind kind, const struct target *on, const struct tile *t,
                const struct shape *shape, struct cost *cost);

/* Registers, shared memory, threads, blocks per SM of a tile, and whether an SM has room for one:
 * everything in *cost but times. */
bool footprint(const struct target *on, const struct tile *t, struct cost *cost);
/* Whether cost x beats cost y (both fit) under the model's objective; total with tile_compare. */
bool model_better(enum model_kind kind, const struct cost *x, const struct tile *tx, const struct cost *y,
                  const struct tile *ty);

/* The papers' models, of any family's tile as if it were mma_warp's. */
void model_egemm(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost);
void model_legemm(const struct target *on, const struct tile *t, const struct shape *shape,
                  struct cost *cost);

/* EGEMM-TC's quantities, generalised to the scheme's products and slices. */
struct model_egemm_terms {
    int64_t ratio_milli;                        /* eq. 4 */
    int64_t register_bytes;                     /* eq. 8, first constraint */
    int64_t frag_registers;                     /* per thread, section 4's FRAG caching */
    int64_t smem_bytes, smem_bytes_eq8;         /* padding 4 (Table 4) and 8 (eq. 8 as printed) */
    int64_t comp_milli, mem1_milli, mem2_milli; /* eqs. 5, 6, 7: thousandths of a clock */
};
struct model_egemm_terms model_egemm_terms(const struct target *on, const struct tile *t);

/* LE-GEMM's quantities. */
struct model_legemm_terms {
    int64_t tlp, tlp_limit;             /* eq. 12 in threads, and what the GPU can hold */
    int64_t memory_bytes, flops;        /* eqs. 13, 14 per T_K step */
    int64_t ratio_milli;                /* eq. 15 */
    int64_t work_dl_milli, work_cp;     /* eqs. 16, 17, elements per thread */
    int64_t registers;                  /* per thread: eq. 16's elements as registers */
    int64_t registers_two_accumulators; /* the same with every accumulator of the scheme held whole */
};
struct model_legemm_terms model_legemm_terms(const struct target *on, const struct tile *t,
                                             const struct shape *shape);

#endif
