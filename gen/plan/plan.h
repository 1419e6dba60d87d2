/* plan: which kernels a GPU gets, decided completely before a byte of source is written.
 *
 * For each scheme the model's picks over a fixed list of shapes, the papers' own tiles, and the papers'
 * ablations. A plan is immutable and has every answer of the models: emit and manifest only read it. */
#ifndef HT_PLAN_H
#define HT_PLAN_H

#include "family/family.h"
#include "plan/rank.h"

enum { PLANS_MAX = 256 };

struct plan_set {
    int count;
    struct plan plan[PLANS_MAX];
};

const char *variant_name(enum variant v); /* "" | "nopipeline" | "nointerleave" | "handpicked" | "fallback" */

/* Whether a list reads "128x128x32_w64x32_s4,..."; err_user if not. */
bool plan_tiles_ok(const char *list);
/* Appends plans for those tiles of the list that the scheme has and the GPU holds: what `emit --tiles` adds
 * for comparisons. */
void plan_tiles(struct plan_set *set, const struct gpu *g, const struct isa *isa, const struct scheme *s,
                const char *list);
/* wk aside, not as an ablation */
bool plan_has_tile(const struct plan_set *set, const struct tile *t, bool of_warpgroups);
/* Reports why the scheme has no such kernel on this GPU: the model's reason, or the nearest tiles. */
void plan_refuse_tile(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                      const struct tile *t, bool of_warpgroups);

/* Appends the plans of one scheme to the set. */
void plan_scheme(struct plan_set *set, const struct gpu *g, const struct isa *isa, const struct scheme *s);

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
#endif
