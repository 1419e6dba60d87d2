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

bool model_better(enum model_kind kind, const struct cost *x, const struct tile *tx, const struct cost *y,
                  const struct tile *ty) {
    enum { ENOUGH_STAGES = 3, RULES = 6 };
    const int sx = tx->stages < ENOUGH_STAGES ? tx->stages : ENOUGH_STAGES,
              sy = ty->stages < ENOUGH_STAGES ? ty->stages : ENOUGH_STAGES;
    const int score = larger(x->score, y->score), k = larger(tx->bk, ty->bk), tall = larger(tx->wm, ty->wm);
    const int rules[][RULES] = {
        /* Ours, measured on the H200: a third stage never lost and more gained nothing (bench/decisions/001);
         * the taller warp is 0.4 to 1.5 % ahead at 32 k. */
        [MODEL_HALFTONE] = {score, larger(sx, sy), tall},
        /* EGEMM-TC: larger w_m * w_n ("we aim to increase (w_m, w_n)", section 6.2); smaller w_m + w_n (less
         * T_Mem2 at equal area, eq. 7); larger b_k (ours: eq. 4 does not depend on it, and each b_k costs one
         * barrier and one burst of STS; the paper asks for a small b_k only where that buys a larger b_m,
         * b_n); fewer stages (ours: the paper has one buffer); larger w_m (ours: C is column-major, so a
         * taller warp tile stores longer runs). */
        [MODEL_EGEMM] = {score, larger((int64_t)tx->wm * tx->wn, (int64_t)ty->wm * ty->wn),
                         larger(ty->wm + ty->wn, tx->wm + tx->wn), k, larger(ty->stages, tx->stages), tall},
        /* LE-GEMM: larger T_K (section 4.3: it is reduced only to prevent overflow); less work per thread
         * ("to avoid excessive workload", section 4.2). */
        [MODEL_LEGEMM] = {score, k, larger(y->regs_per_thread, x->regs_per_thread)}};
    for (int i = 0; i < RULES; i++)
        if (rules[kind][i] != 0)
            return rules[kind][i] > 0;
    return tile_compare(tx, ty) < 0;
}
