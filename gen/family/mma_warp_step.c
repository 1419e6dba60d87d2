/* mma_warp_step: one bk step of a warp of mma_warp, as data and as text. A step is K_STEPS fragment steps.
 * Fragment step s runs the scheme's products on fragments loaded earlier, while the fragments of s + 1 are
 * loaded and the stage PREFETCH_STAGES ahead is copied. The last fragment step first advances the ring
 * (land, commit, wait, barrier; in some kernels the copies), because its successor reads the next stage.
 *
 * It interleaves loads with MMAs. The order is fixed by counting: the copies of a stage go first, load
 * l of L goes before MMA number l * span / L. Spans of a third were best on the H200 (bench/decisions/002):
 * loads all at the start stall the warp on the queue of the shared-memory pipe, late ones arrive when they
 * are needed. */
#include <string.h>

#include "base/err.h"
#include "family/rows.h"

enum op_kind {
    OP_COPY,    /* x: 16-byte part of the stage to issue */
    OP_ADVANCE, /* make the next stage readable */
    OP_COMMIT,  /* the copies so far are one group; without refilling OP_ADVANCE does it */
    OP_LOAD_A,  /* x: slice, y: MMA row tile */
    OP_LOAD_B,  /* x: slice, y: first of the isa's b_tiles MMA column tiles that are loaded together */
    OP_MMA,     /* x: product, y: MMA row tile, z: MMA column tile */
    OP_BARRIER, /* everyone has read the stage (plain variant) */
    OP_FETCH    /* issue, land and wait for one whole stage (plain variant) */
};

struct op {
    enum op_kind kind;
    int fragment; /* fragment step its fragments belong to, 0 .. K_STEPS - 1 */
    int x, y, z;
};

enum { SCHED_OPS_MAX = 8192 };

struct sched {
    int ops;
    struct op op[SCHED_OPS_MAX];
    int mmas, loads, copies; /* counts per warp (thread for copies) and bk step, for tests and banners */
};

static int sched_mi(const struct plan *p) {
    return p->tile.wm / p->on.mma->m;
}

static int sched_ni(const struct plan *p) {
    return p->tile.wn / p->on.mma->n;
}

static int sched_k_steps(const struct plan *p) {
    return p->tile.bk / target_fragment_k(&p->on);
}

static int sched_parts(const struct plan *p) {
    return tile_stage_bytes(&p->tile, p->on.s) / (tile_threads(&p->tile, &p->on) * 16);
}

static void add(struct sched *s, struct op op) {
    if (s->ops == SCHED_OPS_MAX)
        err_bug("a step needs more ops than SCHED_OPS_MAX");
    s->op[s->ops++] = op;
    s->mmas += op.kind == OP_MMA;
    s->loads += op.kind == OP_LOAD_A || op.kind == OP_LOAD_B;
    s->copies += op.kind == OP_COPY;
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

/* Copies of fragment step f where they do not refill: all parts are issued in the first half of the step, so
 * that even with two stages the last one has half a step to land in. */
static void copy_range(const struct plan *p, int f, int *from, int *to) {
    const int turns = sched_k_steps(p) > 1 ? sched_k_steps(p) / 2 : 1, parts = sched_parts(p);
    *from = f < turns ? parts * f / turns : parts;
    *to = f < turns ? parts * (f + 1) / turns : parts;
}

/* The next stage becomes readable; the one that has been read is filled again at once. */
static void advance(struct sched *s, const struct plan *p, int f) {
    add(s, (struct op){OP_ADVANCE, f, 0, 0, 0});
    for (int part = 0; p->refills && part < sched_parts(p); part++)
        add(s, (struct op){OP_COPY, f, part, 0, 0});
    if (p->refills)
        add(s, (struct op){OP_COMMIT, f, 0, 0, 0});
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
            add(s, loads[load++]);
        while (copy < copy_end && !p->refills)
            add(s, (struct op){OP_COPY, f, copy++, 0, 0});
        add(s, mmas[m]);
    }
    while (load < load_count)
        add(s, loads[load++]);
}

/* Without the pipeline (LE-GEMM section 5.6): wait for the stage, multiply it, and only then ask for the
 * next. */
static void plain_step(struct sched *s, const struct plan *p) {
    struct op list[2048];
    add(s, (struct op){OP_FETCH, 0, 0, 0, 0});
    for (int f = 0; f < sched_k_steps(p); f++) {
        const int loads = fragment_loads(p, f, list), n = loads + fragment_mmas(p, f, list + loads);
        for (int i = 0; i < n; i++)
            add(s, list[i]);
    }
    add(s, (struct op){OP_BARRIER, 0, 0, 0, 0});
}

static const struct sched *sched_of(const struct plan *p) {
    static struct sched sched; /* of the plan that was asked about last */
    sched.ops = sched.mmas = sched.loads = sched.copies = 0;
    for (int f = 0; f < sched_k_steps(p) && p->variant != VARIANT_NOPIPELINE; f++)
        pipeline_fragment(&sched, p, f);
    if (p->variant == VARIANT_NOPIPELINE)
        plain_step(&sched, p);
    return &sched;
}

/* ---- text */

/* Atoms of one row block in a stage, and fragments of one slice in an atom's row. */
static int k_atoms(const struct plan *p) {
    return p->tile.bk / scheme_atom_k(p->on.s) * scheme_atom_group(p->on.s);
}

/* Row of a stage's operand, as ht_stage_row. */
static int stage_row(const struct plan *p, int row) {
    return row / 64 * (k_atoms(p) * 8192) + row % 64 * 128;
}

static void write_load(struct text *out, int indent, const struct plan *p, const struct op *s,
                       const char *base) {
    const int pairs = scheme_atom_k(p->on.s) / target_fragment_k(&p->on), beside = p->on.s->atom_slices;
    const int pair = s->x % beside * pairs + s->fragment % pairs;
    const int atom = (s->fragment / pairs * scheme_atom_group(p->on.s) + s->x / beside) * 8192;
    const bool is_a = s->kind == OP_LOAD_A;
    const char operand = is_a ? 'a' : 'b';
    const int offset = atom + stage_row(p, s->y * (is_a ? p->on.mma->m : p->on.mma->n));
    text_line(out, indent, "ht_load_%c(%c[%d][%d][%d], %c_at[%d]%s%s + %d);", operand, operand,
              s->fragment % 2, s->x, s->y, operand, pair, base[0] ? " + " : "", base, offset);
}

/* One product of a tile of 32 k into its level; around all of them the levels are opened and added up. */
static void write_level_mma(struct text *out, int indent, const struct plan *p, const struct op *s) {
    const struct product *q = &p->on.s->product[s->x];
    const int half = s->fragment % 2;
    if (s->x == 0 && s->y == 0 && s->z == 0)
        text_line(out, indent, "ht_load_scales(&scales, lane);");
    if (s->x == 0)
        text_line(out, indent, "ht_open_levels(level, scales);");
    text_line(out, indent, "ht_mma(level[%d], a[%d][%d][%d], b[%d][%d][%d]);", q->a + q->b, half, q->a, s->y,
              half, q->b, s->z);
    if (s->x == p->on.s->products - 1)
        text_line(out, indent, "ht_close_levels(acc[0][%d][%d], level, &scales, %d, %d);", s->y,
                  s->z, s->y, s->z);
}

static void write_mma(struct text *out, int indent, const struct plan *p, const struct op *s) {
    const struct product *q = &p->on.s->product[s->x];
    const bool outside = p->on.s->promote[q->acc] == PROMOTE_EACH_MMA;
    text_line(out, indent, "%s(acc[%d][%d][%d], a[%d][%d][%d], b[%d][%d][%d]);",
         outside ? "ht_mma_accumulate_outside" : "ht_mma", q->acc, s->y, s->z, s->fragment % 2, q->a, s->y,
         s->fragment % 2, q->b, s->z);
}

static void write_copy(struct text *out, int indent, const struct plan *p, int part, const char *to) {
    const int at = part * tile_threads(&p->tile, &p->on) * 16, atoms = k_atoms(p);
    text_line(out, indent, "ht_stage_copy_issue(&staged[%d], %s + %d, src[%d] + copy_from + %d);", part, to,
              at, at / 8192 / atoms, at / 8192 % atoms * 8192 + at % 8192);
}

static void write_land(struct text *out, int indent, const struct plan *p, const char *to) {
    for (int part = 0; part < sched_parts(p); part++)
        text_line(out, indent, "ht_stage_copy_complete(&staged[%d], %s + %d);", part, to,
             part * tile_threads(&p->tile, &p->on) * 16);
}

static void write_advance(struct text *out, int indent, const struct plan *p) {
    text_line(out, indent, "// the ring advances: the next stage has landed and everyone may read it");
    text_line(out, indent, "ht_stage_release();");
    if (!p->on.isa->async_copy) {
        text_line(out, indent, "if (fetch) {");
        write_land(out, indent + 4, p, "copy_to + write");
        text_line(out, indent, "}");
    }
    if (!p->refills)
        text_line(out, indent, "ht_stage_commit();");
    text_line(out, indent, "ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>();");
    text_line(out, indent, "ht_barrier();");
}

static void write_fetch(struct text *out, int indent, const struct plan *p) {
    text_line(out, indent, "// no pipeline: the whole stage is fetched and waited for");
    for (int part = 0; part < sched_parts(p); part++)
        write_copy(out, indent, p, part, "copy_to");
    if (!p->on.isa->async_copy)
        write_land(out, indent, p, "copy_to");
    text_line(out, indent, "ht_stage_commit();");
    text_line(out, indent, "ht_stage_wait<0>();");
    text_line(out, indent, "ht_barrier();");
}

static void write_op(struct text *out, int indent, const struct plan *p, const struct op *s) {
    const bool plain = p->variant == VARIANT_NOPIPELINE;
    switch (s->kind) {
    case OP_COPY:
        text_line(out, indent, "if (fetch)");
        write_copy(out, indent + 4, p, s->x, "copy_to + write");
        break;
    case OP_ADVANCE:
        write_advance(out, indent, p);
        break;
    case OP_COMMIT:
        text_line(out, indent, "ht_stage_commit();");
        break;
    case OP_LOAD_A:
    case OP_LOAD_B:
        /* in the pipeline fragment 0 belongs to the next stage */
        write_load(out, indent, p, s, plain || s->fragment != 0 ? "read" : "next");
        break;
    case OP_MMA:
        (p->on.s->scale == SCALE_TILE ? write_level_mma : write_mma)(out, indent, p, s);
        break;
    case OP_BARRIER:
        text_line(out, indent, "ht_barrier();");
        break;
    case OP_FETCH:
        write_fetch(out, indent, p);
        break;
    }
}

/* Each product of a fragment step says what it forms. */
static bool hole_step(struct text *out, int indent, const struct family_hole *h) {
    const struct sched *const sched = sched_of(h->plan);
    const struct op *last = NULL;
    const int depth = target_fragment_k(&h->plan->on);
    for (int i = 0; i < sched->ops; i++) {
        const struct op *s = &sched->op[i];
        if (s->kind == OP_MMA && (!last || s->fragment != last->fragment || s->x != last->x)) {
            text_addf(out, "%*s// ", indent, "");
            family_product_text(out, h->plan->on.s, s->x, s->fragment * depth, depth);
            text_add(out, "\n");
        }
        if (s->kind == OP_MMA)
            last = s;
        write_op(out, indent, h->plan, s);
    }
    return true;
}

static bool hole_first(struct text *out, int indent, const struct family_hole *h) {
    struct op loads[256];
    const int count = h->plan->variant == VARIANT_NOPIPELINE ? 0 : fragment_loads(h->plan, 0, loads);
    for (int i = 0; i < count; i++)
        write_load(out, indent, h->plan, &loads[i], "");
    return true;
}

static bool hole_promote(struct text *out, int indent, const struct family_hole *h) {
    const struct plan *p = h->plan;
    if (p->promote_steps == 0)
        return true;
    const int inner = p->promote_steps > 1 ? indent + 4 : indent;
    const bool exact = p->on.s->recipe->fixed_point;
    text_line(out, indent,
         exact ? "// every %d k: what exceeds a digit is carried up, before a level overflows"
               : "// every %d k: the chain is closed and added up in FP32",
         p->promote_steps * p->tile.bk);
    if (p->promote_steps > 1) {
        text_line(out, indent, "if (++chain == PROMOTE_STEPS) {");
        text_line(out, inner, "chain = 0;");
    }
    for (int i = 0; i < sched_mi(p); i++) {
        for (int j = 0; j < sched_ni(p); j++) {
            for (int l = p->on.s->accumulators - 1; exact && l > 0; l--)
                text_line(out, inner, "ht_carry(acc[%d][%d][%d], acc[%d][%d][%d]);", l - 1, i, j, l, i, j);
            if (!exact)
                text_line(out, inner, "ht_promote(master[%d][%d], acc[0][%d][%d]);", i, j, i, j);
        }
    }
    if (p->promote_steps > 1)
        text_line(out, indent, "}");
    return true;
}

static bool hole_scales(struct text *out, int indent, const struct family_hole *h) {
    const struct plan *p = h->plan;
    if (p->on.s->scale != SCALE_TILE)
        return true;
    text_line(out, indent, "int level[%d][D_REGS]; // integer sums of one MMA tile and 32 k",
              scheme_levels(p->on.s));
    text_line(out, indent, "ht_tile_scales scales = ht_tile_scales_of(g, tile_m * BM + warp_row, "
                           "tile_n * BN + warp_col, begin * %d, lane);", p->tile.bk / SCALE_TILE_K);
    return true;
}

bool holes_mma_warp(void *context, const char *name, struct text *out, int indent) {
    const struct family_hole *h = context;
    if (strcmp(name, "step") == 0)
        return hole_step(out, indent, h);
    if (strcmp(name, "scales") == 0)
        return hole_scales(out, indent, h);
    if (strcmp(name, "first") == 0)
        return hole_first(out, indent, h);
    if (strcmp(name, "promote") == 0)
        return hole_promote(out, indent, h);
    if (strcmp(name, "drain") == 0)
        /* nothing to drain: the hole stays empty */
        return h->plan->promote_steps == 0 || h->plan->on.s->recipe->fixed_point;
    /* nothing on its way before the first step */
    return strcmp(name, "prologue") == 0 && h->plan->variant == VARIANT_NOPIPELINE;
}

void banner_mma_warp(struct text *out, const struct plan *p) {
    const struct sched *const s = sched_of(p);
    text_addf(out, "// A warp runs %d MMAs, %d fragment loads and %d 16-byte copies a thread in each step of "
                   "%d k.\n", s->mmas, s->loads, s->copies, p->tile.bk);
}
