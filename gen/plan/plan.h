/* plan: which kernels a GPU gets, decided completely before a byte of source is written.
 *
 * For each scheme the model's picks over a fixed list of shapes, the papers' own tiles, and the papers'
 * ablations. A plan is immutable and has every answer of the models: emit and manifest only read it. */
#ifndef HT_PLAN_H
#define HT_PLAN_H

#include "family/family.h"

enum { PLANS_MAX = 256 };

struct plan_set {
    int count;
    struct plan plan[PLANS_MAX];
};

const char *variant_name(enum variant v); /* "" | "nopipeline" | "nointerleave" | "handpicked" | "fallback" */

int plan_index(const struct plan_set *set, const char *name); /* -1: no plan of that name */

/* Whether a list reads "128x128x32_w64x32_s4,..."; err_user if not. */
bool plan_tiles_ok(const char *list);
/* Here and below `on` is the target_main of GPU, instruction set and scheme. Appends plans for those tiles of
 * the list that the scheme has and the GPU holds: what `emit --tiles` adds for comparisons. */
void plan_tiles(struct plan_set *set, struct target on, const char *list);
/* wk aside, not as an ablation */
bool plan_has_tile(const struct plan_set *set, const struct tile *t, bool of_warpgroups);
/* Reports why the scheme has no such kernel on this GPU: the model's reason, or the nearest tiles. */
void plan_refuse_tile(struct target on, const struct tile *t, bool of_warpgroups);

/* Appends the plans of one scheme to the set; false: no tile of it fits. */
bool plan_scheme(struct plan_set *set, struct target on);

/* Where a scheme of the set checks its data and another can compute what fails: the kernel that does, behind
 * the latter's. */
void plan_fallback(struct plan_set *set);
/* Whether the set's `auto` starts from a scheme whose data it cannot check, for want of that kernel. */
bool plan_lacks_fallback(const struct plan_set *set);

/* Of the plans from `first` on, all of one scheme, keeps those that ht_pick takes for some shape of a dense
 * grid, and what plan_fallback needs: LEAN=1. A shape between the grid's points gets the best of what was
 * kept. */
void plan_lean(struct plan_set *set, int first);
/* Likewise, the smallest tile of each family, variant and set of hooks: what tests need to run every line. */
void plan_cover(struct plan_set *set, int first);

/* Whether its bound holds for so small a k: slices are not for what FFMA alone computes (simt_k_max). */
bool plan_takes_k(const struct plan *p, int64_t k);

/* What ht_bound_units needs of a scheme (derivation: bench/ACCURACY.md), and nothing else. */
struct ht_scheme_desc plan_bound_of(const struct target *on);
/* Units of the scheme's a-priori bound on this instruction set, as the library states them
 * (ht_bound_units); -1: it has no kernels there. */
int64_t plan_bound_units(const struct scheme *s, const struct isa *isa, int64_t k);

/* ---- rank.c: costs of a tile by one of three models, and which of two tiles is better */

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
