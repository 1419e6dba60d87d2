/* mma_warp_step: one bk step of a warp of mma_warp as text. A step is K_STEPS fragment steps.
 * Fragment step s runs the scheme's products on fragments loaded earlier, while the fragments of s + 1 are
 * loaded and the stage PREFETCH_STAGES ahead is copied. The last fragment step first advances the ring
 * (release, complete, commit, wait, barrier; in some kernels the copies): its successor reads the next stage.
 *
 * It interleaves loads with MMAs. The order is fixed by counting: the copies of a stage go first, load
 * l of L goes before MMA number l * span / L. Spans of a third were best on the H200 (bench/decisions/002):
 * loads all at the start stall the warp on the queue of the shared-memory pipe, late ones arrive when they
 * are needed. */
#include <string.h>

#include "family/rows.h"

enum { ATOM_BYTES = 8192, LOADS_MAX = 256 };
enum { LOAD_SHARE = 3 }; /* one of this many MMAs is issued while fragments are loaded */

/* A step as it is written. */
struct step {
    const struct plan *p;
    struct text *out;
    int indent;
    int mi, ni, k_steps; /* MMA tiles of a warp, fragment steps */
    int parts;           /* of 16 bytes that a thread copies of a stage */
    int mmas, loads, copies; /* written so far, of a warp; copies of a thread */
};

/* An MMA row tile of A, or the first of the isa's b_tiles MMA column tiles of B that are loaded together. */
struct load {
    char operand;
    int slice, tile;
};

static struct step step_of(const struct plan *p, struct text *out, int indent) {
    const struct tile *t = &p->tile;
    return (struct step){.p = p, .out = out, .indent = indent, .mi = t->wm / p->on.mma->m,
                         .ni = t->wn / p->on.mma->n, .k_steps = t->bk / target_fragment_k(&p->on),
                         .parts = tile_stage_bytes(t, p->on.s) / (tile_threads(t, &p->on) * 16)};
}

#define LINE(s, ...) text_line((s)->out, (s)->indent, __VA_ARGS__)
#define INNER(s, ...) text_line((s)->out, (s)->indent + 4, __VA_ARGS__)

/* The loads of one fragment step: the first product's operands first, so that its MMAs can start. */
static int list_loads(const struct step *s, struct load load[LOADS_MAX]) {
    const struct scheme *scheme = s->p->on.s;
    int n = 0;
    for (int slice = scheme->slices - 1; slice >= 0; slice--) {
        for (int j = 0; j < s->ni && scheme_multiplies(scheme, 1, slice); j += s->p->on.mma->b_tiles)
            load[n++] = (struct load){'b', slice, j};
        for (int i = 0; i < s->mi && scheme_multiplies(scheme, 0, slice); i++)
            load[n++] = (struct load){'a', slice, i};
    }
    return n;
}

/* Atoms of one row block in a stage. */
static int k_atoms(const struct plan *p) {
    return p->tile.bk / scheme_atom_k(p->on.s) * scheme_atom_group(p->on.s);
}

/* Of fragment step f, from the stage at `base`. */
static void write_load(struct step *s, int f, const struct load *l, const char *base) {
    const struct plan *p = s->p;
    const int pairs = scheme_atom_k(p->on.s) / target_fragment_k(&p->on), beside = p->on.s->atom_slices;
    const int atom = f / pairs * scheme_atom_group(p->on.s) + l->slice / beside;
    const int row = l->tile * (l->operand == 'a' ? p->on.mma->m : p->on.mma->n); /* as ht_stage_row */
    const int offset = (atom + row / 64 * k_atoms(p)) * ATOM_BYTES + row % 64 * 128;
    s->loads++;
    LINE(s, "ht_load_%c(%c[%d][%d][%d], %c_at[%d]%s%s + %d);", l->operand, l->operand, f % 2, l->slice,
         l->tile, l->operand, l->slice % beside * pairs + f % pairs, *base ? " + " : "", base, offset);
}

/* One product of a tile of 32 k into its level; around all of them the levels are opened and added up. */
static void write_level_mma(const struct step *s, int half, int product, int i, int j) {
    const struct product *q = &s->p->on.s->product[product];
    if (product == 0 && i == 0 && j == 0)
        LINE(s, "ht_load_scales(&scales, lane);");
    if (product == 0)
        LINE(s, "ht_open_levels(level, scales);");
    LINE(s, "ht_mma(level[%d], a[%d][%d][%d], b[%d][%d][%d]);", q->a + q->b, half, q->a, i, half, q->b, j);
    if (product == s->p->on.s->products - 1)
        LINE(s, "ht_close_levels(acc[0][%d][%d], level, &scales, %d, %d);", i, j, i, j);
}

/* MMA number m of fragment step f. Product by product, so that consecutive MMAs use different accumulators;
 * columns run back and forth so that neighbours share a fragment. With scales of tiles tile by tile: the sums
 * of one are converted before those of the next need registers. Each product says what it forms. */
static void write_mma(struct step *s, int f, int m) {
    const struct scheme *scheme = s->p->on.s;
    const bool levels = scheme->scale == SCALE_TILE;
    const int inner = levels ? scheme->products : 1, tiles = s->mi * s->ni, at = m / inner % tiles;
    const int product = m / inner / tiles * inner + m % inner, i = at / s->ni, q = at % s->ni;
    const int j = i % 2 ? s->ni - 1 - q : q, half = f % 2, depth = target_fragment_k(&s->p->on);
    const struct product *p = &scheme->product[product];
    s->mmas++;
    if (levels || at == 0) {
        text_addf(s->out, "%*s// ", s->indent, "");
        family_product_text(s->out, scheme, product, f * depth, depth);
        text_add(s->out, "\n");
    }
    if (levels)
        write_level_mma(s, half, product, i, j);
    else
        LINE(s, "%s(acc[%d][%d][%d], a[%d][%d][%d], b[%d][%d][%d]);",
             scheme->promote[p->acc] == PROMOTE_EACH_MMA ? "ht_mma_accumulate_outside" : "ht_mma", p->acc, i,
             j, half, p->a, i, half, p->b, j);
}

static int part_offset(const struct step *s, int part) {
    return part * tile_threads(&s->p->tile, &s->p->on) * 16;
}

static void write_copy(struct step *s, int part, const char *to) {
    const int at = part_offset(s, part), atoms = k_atoms(s->p);
    const bool ahead = s->p->variant != VARIANT_NOPIPELINE;
    s->copies++;
    if (ahead)
        LINE(s, "if (fetch)");
    text_line(s->out, s->indent + 4 * ahead,
              "ht_stage_copy_issue(&staged[%d], %s + %d, src[%d] + copy_from + %d);", part, to, at,
              at / ATOM_BYTES / atoms, at / ATOM_BYTES % atoms * ATOM_BYTES + at % ATOM_BYTES);
}

static void write_land(const struct step *s, int indent, const char *to) {
    for (int part = 0; part < s->parts && !s->p->on.isa->async_copy; part++)
        text_line(s->out, indent, "ht_stage_copy_complete(&staged[%d], %s + %d);", part, to,
                  part_offset(s, part));
}

/* The next stage becomes readable; where copies refill, the one that was read is filled again at once. */
static void write_advance(struct step *s) {
    const bool refills = s->p->refills;
    LINE(s, "// the ring advances: the next stage has landed and everyone may read it");
    LINE(s, "ht_stage_release();");
    if (!s->p->on.isa->async_copy) {
        LINE(s, "if (fetch) {");
        write_land(s, s->indent + 4, "copy_to + write");
        LINE(s, "}");
    }
    if (!refills)
        LINE(s, "ht_stage_commit();");
    LINE(s, "ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>();");
    LINE(s, "ht_barrier();");
    for (int part = 0; refills && part < s->parts; part++)
        write_copy(s, part, "copy_to + write");
    if (refills)
        LINE(s, "ht_stage_commit();");
}

/* Copies that do not refill are issued in the first half of the step, so that even with two stages the last
 * one has half a step to land in. Fragment 0 of the loads belongs to the next stage. */
static void write_fragment(struct step *s, int f) {
    struct load load[LOADS_MAX];
    const int loads = list_loads(s, load), mmas = s->p->on.s->products * s->mi * s->ni;
    const int turns = s->k_steps > 1 ? s->k_steps / 2 : 1, next = (f + 1) % s->k_steps;
    const int copies = s->p->refills || f >= turns ? 0 : s->parts * (f + 1) / turns;
    const int span = mmas >= LOAD_SHARE ? mmas / LOAD_SHARE : 1;
    int copy = s->parts * f / turns, done = 0;
    if (f == s->k_steps - 1)
        write_advance(s);
    for (int m = 0; m < mmas; m++) {
        const bool all = s->p->variant == VARIANT_NOINTERLEAVE;
        for (; done < loads && (all || done * span / loads <= m); done++)
            write_load(s, next, &load[done], next ? "read" : "next");
        for (; copy < copies; copy++)
            write_copy(s, copy, "copy_to + write");
        write_mma(s, f, m);
    }
}

/* Without the pipeline (LE-GEMM section 5.6): wait for the stage, multiply it, and only then ask for the
 * next. */
static void write_plain(struct step *s) {
    struct load load[LOADS_MAX];
    const int loads = list_loads(s, load);
    LINE(s, "// no pipeline: the whole stage is fetched and waited for");
    for (int part = 0; part < s->parts; part++)
        write_copy(s, part, "copy_to");
    write_land(s, s->indent, "copy_to");
    LINE(s, "ht_stage_commit();");
    LINE(s, "ht_stage_wait<0>();");
    LINE(s, "ht_barrier();");
    for (int f = 0; f < s->k_steps; f++) {
        for (int l = 0; l < loads; l++)
            write_load(s, f, &load[l], "read");
        for (int m = 0; m < s->p->on.s->products * s->mi * s->ni; m++)
            write_mma(s, f, m);
    }
    LINE(s, "ht_barrier();");
}

static void write_step(struct step *s) {
    if (s->p->variant == VARIANT_NOPIPELINE)
        write_plain(s);
    for (int f = 0; f < s->k_steps && s->p->variant != VARIANT_NOPIPELINE; f++)
        write_fragment(s, f);
}

static void write_first(struct step *s) {
    struct load load[LOADS_MAX];
    const int loads = s->p->variant == VARIANT_NOPIPELINE ? 0 : list_loads(s, load);
    for (int l = 0; l < loads; l++)
        write_load(s, 0, &load[l], "");
}

static void write_promotion(struct step *s) {
    const struct plan *p = s->p;
    const bool exact = p->on.s->recipe->fixed_point;
    const int steps = p->promote_steps, inner = steps > 1 ? s->indent + 4 : s->indent;
    if (steps == 0)
        return;
    LINE(s, exact ? "// every %d k: what exceeds a digit is carried up, before a level overflows"
                  : "// every %d k: the chain is closed and added up in FP32", steps * p->tile.bk);
    if (steps > 1) {
        LINE(s, "if (++chain == PROMOTE_STEPS) {");
        INNER(s, "chain = 0;");
    }
    for (int i = 0; i < s->mi; i++) {
        for (int j = 0; j < s->ni; j++) {
            for (int l = p->on.s->accumulators - 1; exact && l > 0; l--)
                text_line(s->out, inner, "ht_carry(acc[%d][%d][%d], acc[%d][%d][%d]);", l - 1, i, j, l, i, j);
            if (!exact)
                text_line(s->out, inner, "ht_promote(master[%d][%d], acc[0][%d][%d]);", i, j, i, j);
        }
    }
    if (steps > 1)
        LINE(s, "}");
}

static void write_scales(struct step *s) {
    const struct plan *p = s->p;
    if (p->on.s->scale != SCALE_TILE)
        return;
    LINE(s, "int level[%d][D_REGS]; // integer sums of one MMA tile and 32 k", scheme_levels(p->on.s));
    LINE(s, "ht_tile_scales scales = ht_tile_scales_of(g, tile_m * BM + warp_row, tile_n * BN + warp_col, "
            "begin * %d, lane);", p->tile.bk / SCALE_TILE_K);
}

bool holes_mma_warp(void *context, const char *name, struct text *out, int indent) {
    static const struct {
        const char *name;
        void (*write)(struct step *s);
    } holes[] = {{"step", write_step}, {"scales", write_scales}, {"first", write_first},
                 {"promote", write_promotion}};
    const struct plan *p = ((const struct family_hole *)context)->plan;
    struct step s = step_of(p, out, indent);
    const size_t hole = TEXT_ROW(name, holes);
    if (hole < sizeof holes / sizeof *holes)
        return holes[hole].write(&s), true;
    if (strcmp(name, "drain") == 0) /* nothing to drain: the hole stays empty */
        return p->promote_steps == 0 || p->on.s->recipe->fixed_point;
    /* nothing on its way before the first step */
    return strcmp(name, "prologue") == 0 && p->variant == VARIANT_NOPIPELINE;
}

void banner_mma_warp(struct text *out, const struct plan *p) {
    struct text unused = {0};
    struct step s = step_of(p, &unused, 0);
    write_step(&s);
    text_free(&unused);
    text_addf(out, "// A warp runs %d MMAs, %d fragment loads and %d 16-byte copies a thread in each step of "
                   "%d k.\n", s.mmas, s.loads, s.copies, p->tile.bk);
}
