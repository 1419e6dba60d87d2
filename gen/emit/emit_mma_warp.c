/* emit_mma_warp.c: one bk step of a warp, in the order of its schedule; see emit/holes.h. */
#include <string.h>

#include "emit/holes.h"

/* Atoms of one row block in a stage, and fragments of one slice in an atom's row. */
static int k_atoms(const struct plan *p) {
    return p->tile.bk / scheme_atom_k(p->on.s) * scheme_atom_group(p->on.s);
}

/* Row of a stage's operand, as ht_stage_row. */
static int stage_row(const struct plan *p, int row) {
    return row / 64 * (k_atoms(p) * 8192) + row % 64 * 128;
}

static void add_slice(struct text *out, char operand, const struct scheme *s, int slice) {
    text_addf(out, "%c", operand);
    if (s->slices == 2)
        text_add(out, slice == 0 ? ".hi" : ".lo");
    else if (s->slices > 2)
        text_addf(out, ".%d", slice);
}

void emit_slices_text(struct text *out, const struct scheme *s, int product) {
    add_slice(out, 'A', s, s->product[product].a);
    text_add(out, " * ");
    add_slice(out, 'B', s, s->product[product].b);
}

void emit_product_text(struct text *out, const struct scheme *s, int product, int k, int depth) {
    emit_slices_text(out, s, product);
    text_addf(out, ", k %d..%d", k, k + depth - 1);
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

static void write_op(struct text *out, int indent, const struct hole *h, const struct op *s, int step) {
    const struct plan *p = h->plan;
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
        write_load(out, indent, p, s, step < 0 ? "" : plain || s->fragment != 0 ? "read" : "next");
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
static bool hole_step(struct text *out, int indent, const struct hole *h) {
    const struct op *last = NULL;
    const int depth = target_fragment_k(&h->plan->on);
    for (int i = 0; i < h->sched->ops; i++) {
        const struct op *s = &h->sched->op[i];
        if (s->kind == OP_MMA && (!last || s->fragment != last->fragment || s->x != last->x)) {
            text_addf(out, "%*s// ", indent, "");
            emit_product_text(out, h->plan->on.s, s->x, s->fragment * depth, depth);
            text_add(out, "\n");
        }
        if (s->kind == OP_MMA)
            last = s;
        write_op(out, indent, h, s, i);
    }
    return true;
}

static bool hole_first(struct text *out, int indent, const struct hole *h) {
    for (int i = 0; i < h->sched->first_ops; i++)
        write_op(out, indent, h, &h->sched->first[i], -1);
    return true;
}

static bool hole_promote(struct text *out, int indent, const struct hole *h) {
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

static bool hole_scales(struct text *out, int indent, const struct hole *h) {
    const struct plan *p = h->plan;
    if (p->on.s->scale != SCALE_TILE)
        return true;
    text_line(out, indent, "int level[%d][D_REGS]; // integer sums of one MMA tile and 32 k",
              scheme_levels(p->on.s));
    text_line(out, indent, "ht_tile_scales scales = ht_tile_scales_of(g, tile_m * BM + warp_row, "
                           "tile_n * BN + warp_col, begin * %d, lane);", p->tile.bk / SCALE_TILE_K);
    return true;
}

bool emit_mma_warp_hole(void *context, const char *name, struct text *out, int indent) {
    const struct hole *h = context;
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
