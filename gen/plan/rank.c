/* rank: costs of a tile by one of three models, and which of two is better; see plan.h. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "family/family.h"

static const char *const model_names[] = {"halftone", "egemm", "legemm"};
enum { MODEL_COUNT = sizeof model_names / sizeof model_names[0] };

const char *model_name(enum model_kind kind) {
    return model_names[kind];
}

bool model_from_name(const char *name, enum model_kind *kind) {
    const size_t i = TEXT_ROW(name, model_names);
    if (i < MODEL_COUNT)
        *kind = (enum model_kind)i;
    return i < MODEL_COUNT;
}

struct target model_target(enum model_kind kind, const struct gpu *g, const struct isa *isa,
                           const struct scheme *s) {
    if (kind == MODEL_HALFTONE || s->in == NUMBER_F64)
        return target_main(g, isa, s);
    int at = 0;
    while (!kernel_families[at]->serves_papers || kernel_families[at]->unpacked != !s->recipe->packs)
        at++;
    return target_of(g, isa, kernel_families[at], s);
}

bool footprint(const struct target *on, const struct tile *t, struct cost *cost) {
    *cost = (struct cost){.fits = true, .threads = tile_threads(t, on)};
    cost->smem_limit = on->g->smem_per_block_bytes;
    on->family->footprint(on, t, cost);
    if (cost->regs_per_thread == 0)
        cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
    const bool fits = cost->fits && footprint_fits(on, cost);
    if (on->family->persistent)
        cost->blocks_per_sm = 1;
    return fits;
}

/* Our own: what the family's functions say. */
static void model_of_family(const struct target *on, const struct tile *t, const struct shape *shape,
                            struct cost *cost) {
    const int interval = on->s->promote[0] == PROMOTE_ISA ? model_promote_k(on, 0) : 0;
    if (interval % t->bk != 0) {
        model_reject(cost, "promotion: every %d k is not after whole steps of %d", interval, t->bk);
        return;
    }
    if (!footprint(on, t, cost))
        return;
    const struct family *family = on->family;
    const bool packed = !on->family->unpacked;
    cost->walk = tile_walk(on, t, cost->blocks_per_sm);
    cost->formula.form = (int32_t)on->family->cost_form;
    family->time(on, t, cost);
    const int64_t ns = model_ns(on, shape, cost),
                  bytes = ht_mul(ht_mul(ht_add(shape->m, shape->n), shape->k), number_bytes(on->s->in));
    const int64_t dram_ns =
        packed ? model_mma_dram_ns(on, t, shape, cost->blocks_per_sm) : 2 * (bytes / on->g->dram_gbps);
    cost->predicted_ns = packed ? model_largest(ns, dram_ns) : ns;
    cost->score = -cost->predicted_ns;
    const char *unit = family->binding ? family->binding(on, t, shape, cost) : cost->unit;
    snprintf(cost->binding, sizeof cost->binding, "%s", dram_ns > ns ? "dram" : unit);
}

void model_cost(enum model_kind kind, const struct target *on, const struct tile *t,
                const struct shape *shape, struct cost *cost) {
    static void (*const models[])(const struct target *, const struct tile *, const struct shape *,
                                  struct cost *) = {
        [MODEL_HALFTONE] = model_of_family, [MODEL_EGEMM] = model_egemm, [MODEL_LEGEMM] = model_legemm};
    *cost = (struct cost){.fits = true, .threads = tile_threads(t, on)};
    if (!model_has_unit(on->g, on->isa, on->s))
        model_reject(cost, "unit: there are no %s kernels for %s", slice_title(on->s->slice), on->isa->name);
    else if ((on->family->unpacked || on->s->in == NUMBER_F64) && kind != MODEL_HALFTONE)
        model_reject(cost, "operands: model %s knows no kernels that read them as they are",
                     model_name(kind));
    else
        models[kind](on, t, shape, cost);
    cost->waves_milli = model_waves_milli(on->g, t, shape, cost->blocks_per_sm) * scheme_alike(on->s);
}

/* +1: x larger, -1: y larger, 0: equal. */
static int larger(int64_t x, int64_t y) {
    return (x > y) - (x < y);
}

/* EGEMM-TC ties, in order: larger w_m * w_n ("we aim to increase (w_m, w_n)", section 6.2); smaller w_m + w_n
 * (less T_Mem2 at equal area, eq. 7); larger b_k (ours: eq. 4 does not depend on it, and each b_k costs one
 * barrier and one burst of STS; the paper asks for a small b_k only where that buys a larger b_m, b_n); fewer
 * stages (ours: the paper has one buffer); larger w_m (ours: C is column-major, so a taller warp tile stores
 * longer runs). */
static int egemm_ties(const struct tile *x, const struct tile *y) {
    const int order[] = {larger((int64_t)x->wm * x->wn, (int64_t)y->wm * y->wn),
                         larger(y->wm + y->wn, x->wm + x->wn), larger(x->bk, y->bk),
                         larger(y->stages, x->stages), larger(x->wm, y->wm)};
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++) {
        if (order[i] != 0)
            return order[i];
    }
    return 0;
}

/* LE-GEMM ties: larger T_K (section 4.3: it is reduced only to prevent overflow); less work per thread ("to
 * avoid excessive workload", section 4.2). */
static int legemm_ties(const struct cost *x, const struct tile *tx, const struct cost *y,
                       const struct tile *ty) {
    int k = larger(tx->bk, ty->bk);
    return k != 0 ? k : larger(y->regs_per_thread, x->regs_per_thread);
}

/* Ours, measured on the H200: a third stage never lost and more gained nothing (bench/decisions/001); the
 * taller warp is 0.4 to 1.5 % ahead at 32 k. */
static int halftone_ties(const struct tile *x, const struct tile *y) {
    enum { ENOUGH_STAGES = 3 };
    const int sx = x->stages < ENOUGH_STAGES ? x->stages : ENOUGH_STAGES;
    const int sy = y->stages < ENOUGH_STAGES ? y->stages : ENOUGH_STAGES;
    return sx != sy ? larger(sx, sy) : larger(x->wm, y->wm);
}

bool model_better(enum model_kind kind, const struct cost *x, const struct tile *tx, const struct cost *y,
                  const struct tile *ty) {
    int order = larger(x->score, y->score);
    if (order == 0 && kind == MODEL_EGEMM)
        order = egemm_ties(tx, ty);
    if (order == 0 && kind == MODEL_HALFTONE)
        order = halftone_ties(tx, ty);
    if (order == 0 && kind == MODEL_LEGEMM)
        order = legemm_ties(x, tx, y, ty);
    return order != 0 ? order > 0 : tile_compare(tx, ty) < 0;
}
