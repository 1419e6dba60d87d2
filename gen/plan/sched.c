/* sched.c: interleaves loads with MMAs. The order is fixed by counting: the copies of a stage go first, load
 * l of L goes before MMA number l * span / L. Spans of a third were best on the H200 (bench/decisions/002):
 * loads all at the start stall the warp on the queue of the shared-memory pipe, late ones arrive when they
 * are needed. */
#include "plan/sched.h"

#include "base/err.h"

int sched_mi(const struct plan *p) {
    return p->tile.wm / p->on.mma->m;
}

int sched_ni(const struct plan *p) {
    return p->tile.wn / p->on.mma->n;
}

int sched_k_steps(const struct plan *p) {
    return p->tile.bk / target_fragment_k(&p->on);
}

int sched_parts(const struct plan *p) {
    return tile_stage_bytes(&p->tile, p->on.s) / (tile_threads(&p->tile, &p->on) * 16);
}

static void add(struct sched *s, enum op_kind kind, int fragment, int x, int y, int z) {
    if (s->ops == SCHED_OPS_MAX)
        err_bug("a step needs more ops than SCHED_OPS_MAX");
    s->op[s->ops++] = (struct op){kind, fragment, x, y, z};
    s->mmas += kind == OP_MMA;
    s->loads += kind == OP_LOAD_A || kind == OP_LOAD_B;
    s->copies += kind == OP_COPY;
}

/* The loads of one fragment step: the first product's operands first, so that its MMAs can start. */
static int fragment_loads(const struct plan *p, int fragment, struct op *out) {
    int n = 0;
    for (int slice = p->on.s->slices - 1; slice >= 0; slice--) {
        for (int j = 0; j < sched_ni(p) && scheme_multiplies(p->on.s, 1, slice); j += p->on.mma->b_tiles)
            out[n++] = (struct op){OP_LOAD_B, fragment, slice, j, 0};
        for (int i = 0; i < sched_mi(p) && scheme_multiplies(p->on.s, 0, slice); i++)
            out[n++] = (struct op){OP_LOAD_A, fragment, slice, i, 0};
    }
    return n;
}

/* The MMAs of one fragment step: product by product, so that consecutive MMAs use different accumulators;
 * columns run back and forth so that neighbours share a fragment. With scales of tiles tile by tile: the sums
 * of one are converted before those of the next need registers. */
static int fragment_mmas(const struct plan *p, int fragment, struct op *out) {
    const int inner = p->on.s->scale == SCALE_TILE ? p->on.s->products : 1, ni = sched_ni(p);
    int n = 0;
    for (int product = 0; product < p->on.s->products; product += inner) {
        for (int at = 0; at < sched_mi(p) * ni * inner; at++) {
            const int i = at / inner / ni, q = at / inner % ni;
            out[n++] = (struct op){OP_MMA, fragment, product + at % inner, i, i % 2 ? ni - 1 - q : q};
        }
    }
    return n;
}

static void add_op(struct sched *s, const struct op *x) {
    add(s, x->kind, x->fragment, x->x, x->y, x->z);
}

/* Copies of fragment step f where they do not refill: all parts are issued in the first half of the step, so
 * that even with two stages the last one has half a step to land in. */
static void copy_range(const struct plan *p, int f, int *from, int *to) {
    const int turns = sched_k_steps(p) > 1 ? sched_k_steps(p) / 2 : 1, parts = sched_parts(p);
    *from = f < turns ? parts * f / turns : parts;
    *to = f < turns ? parts * (f + 1) / turns : parts;
}

/* The next stage becomes readable; the one that has been read is filled again at once. */
static void advance(struct sched *s, const struct plan *p, int f) {
    add(s, OP_ADVANCE, f, 0, 0, 0);
    for (int part = 0; p->refills && part < sched_parts(p); part++)
        add(s, OP_COPY, f, part, 0, 0);
    if (p->refills)
        add(s, OP_COMMIT, f, 0, 0, 0);
}

enum { LOAD_SHARE = 3 }; /* one of this many MMAs is issued while fragments are loaded */

static void pipeline_fragment(struct sched *s, const struct plan *p, int f) {
    struct op loads[256], mmas[2048];
    const int k_steps = sched_k_steps(p);
    const int load_count = fragment_loads(p, (f + 1) % k_steps, loads), mma_count = fragment_mmas(p, f, mmas);
    int copy, copy_end, load = 0;
    copy_range(p, f, &copy, &copy_end);
    const int interleave = p->variant != VARIANT_NOINTERLEAVE;
    const int load_span = mma_count >= LOAD_SHARE ? mma_count / LOAD_SHARE : 1;
    if (f == k_steps - 1)
        advance(s, p, f);
    for (int m = 0; m < mma_count; m++) {
        while (load < load_count && (!interleave || load * load_span / load_count <= m))
            add_op(s, &loads[load++]);
        while (copy < copy_end && !p->refills)
            add(s, OP_COPY, f, copy++, 0, 0);
        add_op(s, &mmas[m]);
    }
    while (load < load_count)
        add_op(s, &loads[load++]);
}

/* Without the pipeline (LE-GEMM section 5.6): wait for the stage, multiply it, and only then ask for the
 * next. */
static void plain_step(struct sched *s, const struct plan *p) {
    struct op list[2048];
    add(s, OP_FETCH, 0, 0, 0, 0);
    for (int f = 0; f < sched_k_steps(p); f++) {
        int n = fragment_loads(p, f, list);
        for (int i = 0; i < n; i++)
            add_op(s, &list[i]);
        n = fragment_mmas(p, f, list);
        for (int i = 0; i < n; i++)
            add_op(s, &list[i]);
    }
    add(s, OP_BARRIER, 0, 0, 0, 0);
}

void sched_plan(struct sched *out, const struct plan *p) {
    out->ops = out->first_ops = out->mmas = out->loads = out->copies = 0;
    if (p->variant == VARIANT_NOPIPELINE) {
        plain_step(out, p);
        return;
    }
    out->first_ops = fragment_loads(p, 0, out->first);
    for (int f = 0; f < sched_k_steps(p); f++)
        pipeline_fragment(out, p, f);
}
