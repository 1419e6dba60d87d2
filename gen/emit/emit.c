/* emit.c: banner, holes and launcher around an expanded template. */
#include "emit/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit/emit_wgmma.h"
#include "base/err.h"
#include "plan/sched.h"
#include "emit/tpl.h"
#include "../../runtime/ht_cost.h"

enum { PATH_MAX_BYTES = 4096, FILE_BYTES = 256, PARAMS_MAX = 192 };

struct params {
    struct tpl_param list[PARAMS_MAX];
    int count;
};

struct hole_context {
    const struct plan *plan;
    const struct sched *sched;
    const struct text *inlay;
};

void emit_pack_name(char *name, size_t size, const struct scheme *s, const struct isa *isa) {
    snprintf(name, size, "ht_pack_%s_%s", s->name, isa->suffix);
}

void emit_reduce_name(char *name, size_t size, const struct scheme *s, const struct isa *isa) {
    snprintf(name, size, "ht_reduce_%s%s%s", s ? s->name : "", s ? "_" : "", isa->suffix);
}

void emit_bound_text(struct text *out, const struct scheme *s, const struct isa *isa) {
    text_add(out, s->bound_text);
    if (isa->unverified && !scheme_is_exact(s)) /* integer sums have no rounding */
        text_addf(out, "; %s", isa->unverified);
}

const char *emit_range_text(const struct scheme *s, const struct isa *isa) {
    return isa->flushes_subnormals && s->flushed_range_text ? s->flushed_range_text : s->range_text;
}

/* ---- reading templates */

/* Without the ` //@mutate NAME` at ends of lines, which tests edit (tests/mutate.py). */
bool emit_read(struct text *out, const char *root, const char *folder, const char *name) {
    char path[PATH_MAX_BYTES];
    const int n = snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    const bool ok = n < PATH_MAX_BYTES && text_read_file(out, path);
    if (!ok)
        err_user(path, 0, "cannot read this file; --root names the folder of gen/, runtime/ and templates/");
    return ok;
}

static bool read_template(struct text *out, const struct emit_context *c, const char *folder,
                          const char *name, const char *ext) {
    char file[FILE_BYTES];
    snprintf(file, sizeof file, "%s/%s.%s", folder, name, ext);
    const bool ok = emit_read(out, c->root, "templates", file);
    for (char *tag = out->data; ok && tag && (tag = strstr(tag, " //@mutate ")); out->len = strlen(out->data))
        memmove(tag, tag + strcspn(tag, "\n"), strlen(tag + strcspn(tag, "\n")) + 1);
    return ok;
}

bool emit_read_abi(struct text *out, const char *root) {
    struct text file = {0};
    const bool ok = emit_read(&file, root, "runtime", "ht_abi.h") &&
                    tpl_section(out, "runtime/ht_abi.h", file.data, file.len, "abi");
    text_free(&file);
    return ok;
}

/* ---- parameters */

static void param(struct params *p, const char *name, long value) {
    if (p->count == PARAMS_MAX)
        err_bug("more template parameters than PARAMS_MAX");
    p->list[p->count++] = (struct tpl_param){name, 0, value, false};
}

static void scheme_params(struct params *p, const struct scheme *s) {
    param(p, "SLICES", s->slices);
    param(p, "SLICE_BYTES", scheme_slice_bytes(s));
    param(p, "ATOM_SLICES", s->atom_slices);
    param(p, "ATOM_K", scheme_atom_k(s));
    param(p, "ACCS", s->accumulators);
    param(p, "SCALES_ROWS", s->scale == SCALE_ROW);
    param(p, "SCALE_LOW", s->scale_low);
    param(p, "SCALE_HIGH", s->scale_high);
    param(p, "SCALE_ROOM", s->scale_room);
    param(p, "CHECKS", s->checked);
}

static void params_wgmma_ss(struct params *p, const struct plan *plan) {
    const struct tile *t = &plan->tile;
    param(p, "PROMOTE_STEPS", plan->promote_steps);
    param(p, "PROMOTES", plan->promoted[0]);
    param(p, "CHUNK", plan->chunk);
    param(p, "SMS", (long)plan->on.g->sms);
    param(p, "CLUSTER", t->cluster);
    param(p, "SHARES_A", tile_cluster_n(t) > 1);
    param(p, "SHARES_B", tile_cluster_m(t) > 1);
    param(p, "ELECTS", plan->hurries_copies);
    param(p, "RASTER", plan->raster);
}

/* What the expander cannot work out: sizeof; that exact sums have no masters. */
static void constants_mma_warp(struct params *p, const struct plan *plan) {
    param(p, "MASTERS", plan->promote_steps > 0 && !scheme_is_exact(plan->on.s) ? sched_mi(plan) : 1);
    p->list[p->count - 1].foldable = true;
}

static void constants_wgmma_ss(struct params *p, const struct plan *plan) {
    param(p, "SUM_ROWS",
          tile_part_rows(&plan->tile) * number_bytes(plan->on.s->out) /
              (long)ht_partial_size(scheme_is_exact(plan->on.s)));
    p->list[p->count - 1].foldable = true;
}

/* The row's products for templates that form them themselves: slices of A and of B, two bits for each. */
static void params_of_products(struct params *p, const struct scheme *s) {
    enum { BITS = 2, MOST = 31 / BITS };
    long slices[2] = {0, 0};
    if (s->products > MOST || s->slices > 1 << BITS)
        err_bug("a list of products that does not fit an int");
    for (int i = 0; i < s->products; i++) {
        slices[0] |= (long)s->product[i].a << BITS * i;
        slices[1] |= (long)s->product[i].b << BITS * i;
    }
    param(p, "PRODUCTS", s->products);
    param(p, "PRODUCT_A", slices[0]);
    p->list[p->count - 1].foldable = true;
    param(p, "PRODUCT_B", slices[1]);
    p->list[p->count - 1].foldable = true;
}

static void params_of_warps(struct params *p, const struct plan *plan) {
    param(p, "MIN_BLOCKS", plan->min_blocks);
    param(p, "WAVE", plan->on.isa->wave_size);
    param(p, "MMA_M", plan->on.mma->m);
    param(p, "MMA_N", plan->on.mma->n);
    param(p, "FRAGMENT_K", target_fragment_k(&plan->on));
    param(p, "B_TILES", plan->on.mma->b_tiles);
    param(p, "D_COLS", plan->on.mma->d_cols);
}

static void params_mma_warp(struct params *p, const struct plan *plan) {
    param(p, "PROMOTE_STEPS", plan->promote_steps);
    params_of_warps(p, plan);
    param(p, "RASTER", plan->raster);
    param(p, "REFILLS", plan->refills);
}

static void params_unpacked(struct params *p, const struct plan *plan) {
    params_of_warps(p, plan);
    param(p, "FAST", plan->on.skeleton->searched && plan->on.isa->mma_bf16);
    param(p, "IS_FALLBACK", plan->variant == VARIANT_FALLBACK);
    param(p, "SMS", (long)plan->on.g->sms);
}

static void params_dmma(struct params *p, const struct plan *plan) {
    params_unpacked(p, plan);
    param(p, "SMEM_PER_SM", (long)plan->on.g->smem_per_sm_bytes);
    param(p, "SMEM_RESERVED", (long)plan->on.g->smem_reserved_per_block_bytes);
    param(p, "SWAP_SHARE", plan->cost.coefficients.swap_share);
}

static void params_unpacked_tile(struct params *p, const struct plan *plan) {
    params_unpacked(p, plan);
    params_of_products(p, plan->on.s);
    param(p, "ROWS_BESIDE", plan->on.skeleton->inlay != NULL); /* fragments of rows in registers */
    param(p, "GROUPS", tile_groups(&plan->tile, &plan->on));
}

/* Atoms of one row block in a stage, and fragments of one slice in an atom's row. */
static int k_atoms(const struct plan *p) {
    return p->tile.bk / scheme_atom_k(p->on.s) * scheme_atom_group(p->on.s);
}

static int k_pairs(const struct plan *p) {
    return scheme_atom_k(p->on.s) / target_fragment_k(&p->on);
}

static void write_params(struct text *out, const struct params *p) {
    if (p->count == 0)
        return;
    text_add(out, "// ---- parameters\nconstexpr int ");
    for (int i = 0; i < p->count; i++)
        text_addf(out, "%s%s = %ld",
                  i == 0       ? ""
                  : i % 6 == 0 ? ",\n              "
                               : ", ",
                  p->list[i].name, p->list[i].value);
    text_add(out, ";\n\n");
}

/* ---- holes of mma_warp */

/* Row of a stage's operand, as stage_row() of the skeleton. */
static int stage_row(const struct plan *p, int row) {
    return row / 64 * (k_atoms(p) * 8192) + row % 64 * 128;
}

static void write_load(struct text *out, int indent, const struct plan *p, const struct slot *s,
                       const char *base) {
    const int pairs = k_pairs(p), beside = p->on.s->atom_slices;
    const int pair = s->x % beside * pairs + s->fragment % pairs;
    const int atom = (s->fragment / pairs * scheme_atom_group(p->on.s) + s->x / beside) * 8192;
    const bool is_a = s->kind == SLOT_LOAD_A;
    const char operand = is_a ? 'a' : 'b';
    const int offset = atom + stage_row(p, s->y * (is_a ? p->on.mma->m : p->on.mma->n));
    text_line(out, indent, "ht_load_%c(%c[%d][%d][%d], %c_at[%d]%s%s + %d);", operand, operand,
              s->fragment % 2, s->x, s->y, operand, pair, base[0] ? " + " : "", base, offset);
}

static void write_mma(struct text *out, int indent, const struct plan *p, const struct slot *s) {
    const struct product *q = &p->on.s->product[s->x];
    const bool outside = p->on.s->promote[q->acc] == PROMOTE_EACH_MMA;
    text_line(out, indent, "%s(acc[%d][%d][%d], a[%d][%d][%d], b[%d][%d][%d]);",
         outside ? "ht_mma_outside" : "ht_mma", q->acc, s->y, s->z, s->fragment % 2, q->a, s->y,
         s->fragment % 2, q->b, s->z);
}

static void write_copy(struct text *out, int indent, const struct plan *p, int part, const char *to) {
    const int at = part * tile_threads(&p->tile, &p->on) * 16, atoms = k_atoms(p);
    text_line(out, indent, "ht_stage_issue(&staged[%d], %s + %d, src[%d] + copy_from + %d);", part, to, at,
         at / 8192 / atoms, at / 8192 % atoms * 8192 + at % 8192);
}

static void write_land(struct text *out, int indent, const struct plan *p, const char *to) {
    for (int part = 0; part < sched_parts(p); part++)
        text_line(out, indent, "ht_stage_land(&staged[%d], %s + %d);", part, to,
             part * tile_threads(&p->tile, &p->on) * 16);
}

static void write_advance(struct text *out, int indent, const struct plan *p) {
    text_line(out, indent, "// the ring advances: the next stage has landed and everyone may read it");
    text_line(out, indent, "ht_stage_free();");
    if (!p->on.isa->async_copy) {
        text_line(out, indent, "if (fetch) {");
        write_land(out, indent + 4, p, "copy_to + write");
        text_line(out, indent, "}");
    }
    if (!p->refills)
        text_line(out, indent, "ht_stage_commit();");
    text_line(out, indent, "ht_stage_wait<LOOKAHEAD - 1 - REFILLS>();");
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

static void write_slot(struct text *out, int indent, const struct hole_context *h, const struct slot *s,
                       int step) {
    const struct plan *p = h->plan;
    const bool plain = p->variant == VARIANT_NOPIPELINE;
    switch (s->kind) {
    case SLOT_COPY:
        text_line(out, indent, "if (fetch)");
        write_copy(out, indent + 4, p, s->x, "copy_to + write");
        break;
    case SLOT_ADVANCE:
        write_advance(out, indent, p);
        break;
    case SLOT_COMMIT:
        text_line(out, indent, "ht_stage_commit();");
        break;
    case SLOT_LOAD_A:
    case SLOT_LOAD_B:
        /* in the pipeline fragment 0 belongs to the next stage */
        write_load(out, indent, p, s, step < 0 ? "" : plain || s->fragment != 0 ? "read" : "next");
        break;
    case SLOT_MMA:
        write_mma(out, indent, p, s);
        break;
    case SLOT_BARRIER:
        text_line(out, indent, "ht_barrier();");
        break;
    case SLOT_FETCH:
        write_fetch(out, indent, p);
        break;
    }
}

static bool hole_step(struct text *out, int indent, const struct hole_context *h) {
    int shown = -1;
    for (int i = 0; i < h->sched->slots; i++) {
        const struct slot *s = &h->sched->slot[i];
        if (s->kind == SLOT_MMA && s->fragment != shown) {
            shown = s->fragment;
            text_line(out, indent, "// -- fragment step %d of %d", shown + 1, sched_k_steps(h->plan));
        }
        write_slot(out, indent, h, s, i);
    }
    return true;
}

static bool hole_first(struct text *out, int indent, const struct hole_context *h) {
    for (int i = 0; i < h->sched->first_slots; i++)
        write_slot(out, indent, h, &h->sched->first[i], -1);
    return true;
}

static bool hole_promote(struct text *out, int indent, const struct hole_context *h) {
    const struct plan *p = h->plan;
    if (p->promote_steps == 0)
        return true;
    const int inner = p->promote_steps > 1 ? indent + 4 : indent;
    const bool exact = scheme_is_exact(p->on.s);
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

/* How unpacked_tile multiplies slices: as its template has it, by warpgroups, or not at all. */
static bool hole_slices(struct text *out, const struct hole_context *h) {
    if (h->inlay->len > 0) {
        text_add_bytes(out, h->inlay->data, h->inlay->len);
        return true;
    }
    if (h->plan->on.isa->mma_bf16)
        return false;
    text_add(out, "template <bool P_K, bool Q_K>\nHT_DEVICE void multiply_cut(ht_acc (*)[NI][D_REGS], ht_acc "
                  "(*)[NI][D_REGS], ht_span *, const ht_task &, "
                  "unsigned)\n{\n}\n"); /* FAST is 0: multiply-adds only */
    return true;
}

static bool holes_unpacked(void *context, const char *name, struct text *out, int indent) {
    const struct hole_context *h = context;
    (void)indent;
    if (strcmp(name, "slices") == 0)
        return hole_slices(out, h);
    return strcmp(name, "fallback") == 0 && h->plan->variant != VARIANT_FALLBACK; /* else it stays empty */
}

static bool holes_wgmma_ss(void *context, const char *name, struct text *out, int indent) {
    return emit_wgmma_hole(((const struct hole_context *)context)->plan, name, out, indent);
}

static bool holes_mma_warp(void *context, const char *name, struct text *out, int indent) {
    const struct hole_context *h = context;
    if (strcmp(name, "step") == 0)
        return hole_step(out, indent, h);
    if (strcmp(name, "first") == 0)
        return hole_first(out, indent, h);
    if (strcmp(name, "promote") == 0)
        return hole_promote(out, indent, h);
    if (strcmp(name, "drain") == 0)
        /* nothing to drain: the hole stays empty */
        return h->plan->promote_steps == 0 || scheme_is_exact(h->plan->on.s);
    /* nothing on its way before the first step */
    return strcmp(name, "prologue") == 0 && h->plan->variant == VARIANT_NOPIPELINE;
}

/* What the banner says of a step. */
static void banner_wgmma_ss(struct text *out, const struct plan *p, const struct sched *s) {
    (void)s;
    text_addf(out, "// A warpgroup runs %d wgmmas in each chunk of %d k.\n", emit_wgmma_count(p),
              p->chunk * p->tile.bk);
}

static void banner_mma_warp(struct text *out, const struct plan *p, const struct sched *s) {
    text_addf(
        out,
        "// A warp runs %d MMAs, %d fragment loads and %d 16-byte copies a thread in each step of %d k.\n",
        s->mmas, s->loads, s->copies, p->tile.bk);
}

/* The table of families' functions; with facts/skeleton.c and model/family.c all that is said of a family. */
static const struct family_emit {
    void (*params)(struct params *p, const struct plan *plan),
        (*constants)(struct params *p, const struct plan *plan);
    bool (*holes)(void *context, const char *name, struct text *out, int indent);
    void (*schedule)(struct sched *out, const struct plan *p);
    void (*banner)(struct text *out, const struct plan *p, const struct sched *s);
} families[HT_FAMILIES] = {
    [HT_FAMILY_WGMMA_SS] = {params_wgmma_ss, constants_wgmma_ss, holes_wgmma_ss, NULL, banner_wgmma_ss},
    [HT_FAMILY_MMA_WARP] = {params_mma_warp, constants_mma_warp, holes_mma_warp, sched_plan, banner_mma_warp},
    [HT_FAMILY_UNPACKED_WGMMA] = {params_unpacked_tile, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_UNPACKED_MMA] = {params_unpacked_tile, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_DMMA] = {params_dmma, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_SIMT_SMALL_K] = {params_unpacked, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_GEMV] = {params_unpacked, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_TALL_SKINNY] = {params_unpacked, NULL, holes_unpacked, NULL, NULL},
    [HT_FAMILY_FALLBACK] = {params_unpacked, NULL, holes_unpacked, NULL, NULL},
};

static const struct family_emit *family_of(const struct plan *p) {
    return &families[p->on.skeleton - skeleton_table];
}

static void tile_params(struct params *p, const struct plan *plan) {
    const struct tile *t = &plan->tile;
    param(p, "BM", t->bm);
    param(p, "BN", t->bn);
    param(p, "BK", t->bk);
    param(p, "WM", t->wm);
    param(p, "WN", t->wn);
    param(p, "STAGES", t->stages);
    scheme_params(p, plan->on.s);
    family_of(plan)->params(p, plan);
}

/* ---- frame around a template */

/* What the backend's names start with. */
static const char *api_of(const struct isa *isa) {
    return strcmp(isa->vendor, "amd") == 0 ? "hip" : "cuda";
}

static void banner_licence(struct text *out, const struct emit_context *c, uint64_t checksum) {
    text_addf(out,
              "//\n// Generated by halftone-gen %s; edit the templates, not this file. Licence: MIT-0.\n",
              HT_GENERATOR_VERSION);
    text_addf(out, "// Checksum of budget and templates: %016" PRIx64 "\n", checksum);
    text_addf(out, "// " HT_RECREATE "%s\n\n", c->recreate);
}

static void banner_usage(struct text *out, const char *what, int64_t used, int64_t limit) {
    text_addf(out, "//   %-26s %8" PRId64 " of %8" PRId64 "  (%" PRId64 " %%)\n", what, used, limit,
              limit > 0 ? used * 100 / limit : 0);
}

static void banner_gemm(struct text *out, const struct plan *p, const struct sched *s) {
    const struct tile *t = &p->tile;
    const struct gpu *g = p->on.g;
    const struct skeleton *k = p->on.skeleton;
    text_addf(out, "// %s\n//\n// C(m x n) = alpha * A * B + beta * C in %s from ", p->name,
              number_title(p->on.s->out));
    if (k->unpacked)
        text_add(out, "the matrices as they are");
    else
        text_addf(out, "packed %s slices", slice_title(p->on.s->slice));
    text_addf(out, ", scheme %s:\n//   %s\n//\n", p->on.s->name,
              k->arithmetic ? k->arithmetic : p->on.s->paper);
    text_addf(out, "// Tile: block %d x %d x %d, %s %d x %d, %d stage%s, %d threads%s%s. Chosen: %s.\n",
              t->bm, t->bn, t->bk, k->team, t->wm, t->wn, t->stages, t->stages == 1 ? "" : "s",
              tile_threads(t, &p->on), p->variant == VARIANT_PIPELINE ? "" : ", variant ",
              variant_name(p->variant), p->why);
    if (t->cluster > 1)
        text_addf(out, "// Two blocks, neighbours along %s, share the panels of %s.\n",
                  tile_cluster_m(t) > 1 ? "m" : "n", tile_cluster_m(t) > 1 ? "B" : "A");
    if (family_of(p)->banner)
        family_of(p)->banner(out, p, s);
    text_addf(out, "//\n// Budget of %s (%s), used of limit; bound by %s:\n", g->name, p->on.isa->name,
              p->cost.binding);
    banner_usage(out, "registers per thread", p->cost.regs_per_thread, g->registers_per_thread_max);
    banner_usage(out, "shared memory, bytes", p->cost.smem_bytes, g->smem_per_block_bytes);
    banner_usage(out, "resident warps per SM",
                 (int64_t)p->cost.blocks_per_sm * (p->cost.threads / p->on.isa->wave_size), g->warps_per_sm);
    text_add(out, "//\n// Accuracy: ");
    if (k->accuracy)
        text_add(out, k->accuracy);
    else
        emit_bound_text(out, p->on.s, p->on.isa);
    text_addf(out, "\n// Input range: %s\n", emit_range_text(p->on.s, p->on.isa));
    if (p->on.isa->ablation)
        text_addf(out, "// For an ablation only, not as the table of instruction sets has it: %s.\n",
                  p->on.isa->ablation);
    text_addf(out, "//\n// int %s_init(void);                                        once per device\n",
              p->name);
    text_addf(out, "// int %s_launch(const struct ht_gemm_args *args, void *stream);  0 or a %sError_t\n",
              p->name, api_of(p->on.isa));
}

static void banner_small(struct text *out, const struct isa *isa, const char *name, const char *what,
                         const char *args, const struct scheme *s) {
    text_addf(out, "// %s\n//\n// %s\n", name, what);
    if (s)
        text_addf(out, "// Scheme %s: %s\n// Input range: %s\n", s->name, s->paper, emit_range_text(s, isa));
    text_addf(out, "//\n// int %s_launch(%s, void *stream);  0 or a %sError_t\n", name, args, api_of(isa));
}

struct frame {
    const struct emit_context *c;
    const struct isa *isa;
    const struct skeleton *skeleton;
    const char *name;
    const char *args, *values;   /* the launcher's parameters before the stream, and what it passes on */
    const struct scheme *scheme; /* NULL: any whose sums are FP32 */
    const struct plan *plan;     /* NULL: no GEMM kernel */
    const struct params *written;
    const struct sched *sched;
};

/* Files of a kernel, in their order; the inlay goes into a hole of the template. */
struct parts {
    struct text file[SKELETON_HOOKS_MAX + 4];
};
enum { PART_ABI = SKELETON_HOOKS_MAX, PART_PRIM, PART_INLAY, PART_TEMPLATE }; /* behind the hooks */

bool emit_fallback_in_kernel(const struct plan *p) {
    return p->on.skeleton->has_dmma_fallback && p->on.s->checked;
}

/* The hook that a role of the skeleton table is played by; NULL: none. */
static const char *hook_of(const struct frame *f, const char *name) {
    const struct isa *isa = f->isa;
    const struct scheme *s = f->scheme;
    const bool exact = s && scheme_is_exact(s), inside = f->plan && emit_fallback_in_kernel(f->plan);
    const struct {
        const char *role, *hook;
    } roles[] = {{"=launch", isa->launch},
                 {"=stage", isa->stage},
                 {"=fragment", isa->fragment},
                 {"=wgmma", isa->wgmma},
                 {"=wgmma_rs", isa->wgmma_rs_bf16},
                 {"=dmma", isa->dmma},
                 {"=dmma_inside", inside ? isa->dmma : NULL},
                 {"=fallback_inside", inside ? "check/fallback_tile" : "check/fallback_none"},
                 {"=fallback_grid",
                  f->plan && f->plan->variant == VARIANT_FALLBACK ? "check/fallback_grid" : NULL},
                 {"=cluster", f->plan && f->plan->tile.cluster > 1 ? "launch/cluster_2" : "launch/cluster_1"},
                 {"=mma", s ? isa->mma_hooks[s->slice] : NULL},
                 {"=mma_bf16", isa->mma_bf16 ? isa->mma_bf16 : "arch/simt"},
                 {"=fragment_f32", isa->mfma_f32 ? isa->mfma_f32 : "frag/simt"},
                 {"=cut", isa->mma_bf16 ? "stage/split_in_smem" : "stage/split_none"},
                 {"=chain", exact ? "accum/carry_i32" : "accum/promote"},
                 {"=partial", exact ? "accum/partial_i64" : "accum/partial_f32"},
                 {"=split", exact ? "pack/split_i8x4" : "pack/split_f32x4"},
                 {"=scheme", s ? s->hooks : NULL}};
    for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(name, roles[i].role) == 0)
            return roles[i].hook;
    }
    return name;
}

static bool read_parts(struct parts *t, const struct frame *f) {
    bool ok = emit_read_abi(&t->file[PART_ABI], f->c->root);
    ok = read_template(&t->file[PART_PRIM], f->c, "hooks", f->isa->prim, "cuh") && ok;
    for (int i = 0; i < SKELETON_HOOKS_MAX; i++) {
        const char *hook = hook_of(f, f->skeleton->hooks[i]);
        ok = (!hook || read_template(&t->file[i], f->c, "hooks", hook, "cuh")) && ok;
    }
    const char *inlay = f->skeleton->inlay;
    ok = (!inlay || read_template(&t->file[PART_INLAY], f->c, "skeletons", inlay, "cuh")) && ok;
    return read_template(&t->file[PART_TEMPLATE], f->c, "skeletons", f->skeleton->file, "cu") && ok;
}

static void free_parts(struct parts *t) {
    for (int i = 0; i <= PART_TEMPLATE; i++)
        text_free(&t->file[i]);
}

static uint64_t sum_parts(const struct parts *t, const struct frame *f) {
    uint64_t sum = f->c->gpu->checksum;
    for (int i = 0; i <= PART_TEMPLATE; i++) {
        if (t->file[i].len > 0)
            sum = text_checksum(sum, t->file[i].data, t->file[i].len);
    }
    return sum;
}

static void add_part(struct text *out, const struct text *part) {
    text_add_bytes(out, part->data, part->len);
    text_add(out, "\n");
}

/* The vendor's header, and a stop where the code cannot run. */
void emit_head(struct text *out, const struct isa *isa) {
    text_add(out,
             "#ifndef HT_SIMULATOR // the simulator supplies what this block and the primitives below do\n");
    if (strcmp(isa->vendor, "amd") == 0)
        text_addf(
            out,
            "#include <hip/hip_runtime.h>\n#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx%x__)\n"
            "#error \"this kernel is for gfx%x; compile it with --offload-arch=gfx%x\"\n#endif\n"
            "#pragma clang diagnostic ignored \"-Wunused-function\" // no kernel uses every primitive\n"
            "#pragma clang diagnostic ignored \"-Wunused-variable\" // nor every variable of its skeleton\n",
            (unsigned)isa->arch, (unsigned)isa->arch, (unsigned)isa->arch);
    else {
        const int arch = isa->ptx_arch ? isa->ptx_arch : isa->arch;
        text_addf(out,
                  "#include <cuda_runtime.h>\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ %s %d\n"
                  "#error \"this kernel needs compute capability %d.%d%s\"\n#endif\n"
                  "#pragma nv_diag_suppress 177 // no kernel uses every primitive\n",
                  isa_is_exact(isa) ? "!=" : "<", arch, arch / 100, arch / 10 % 10,
                  isa_is_exact(isa) ? ", and no other" : " or newer");
    }
    text_add(out, "#endif\n\n");
}

static void write_head(struct text *out, const struct frame *f, const struct parts *t) {
    if (!f->c->inner) {
        emit_head(out, f->isa);
        text_add_bytes(out, t->file[PART_ABI].data, t->file[PART_ABI].len);
    }
    text_addf(out, "\nnamespace %s {\n\n", f->name);
    write_params(out, f->written);
    text_add(out, "#ifndef HT_SIMULATOR\n");
    text_add_bytes(out, t->file[PART_PRIM].data, t->file[PART_PRIM].len);
    text_add(out, "#endif\n\n");
    for (int i = 0; i < SKELETON_HOOKS_MAX; i++) {
        if (t->file[i].len > 0)
            add_part(out, &t->file[i]);
    }
}

static void write_tail(struct text *out, const struct frame *f) {
    text_addf(out, "\n} // namespace %s\n\n", f->name);
    const char *linkage = f->c->inner ? "static" : "extern \"C\"";
    if (f->skeleton->has_init)
        text_addf(out, "%s int %s_init(void)\n{\n    return %s::init();\n}\n\n", linkage, f->name, f->name);
    text_addf(out,
              "%s int %s_launch(%s, void *stream)\n{\n"
              "    return %s::launch(%s, stream);\n}\n", linkage, f->name, f->args, f->name, f->values);
}

/* Everything below the banner. `out` already holds it; the checksum line closes it. */
static bool write_file(struct text *out, const struct frame *f) {
    struct parts t = {0};
    const bool ok = read_parts(&t, f);
    if (ok) {
        char path[PATH_MAX_BYTES];
        snprintf(path, sizeof path, "templates/skeletons/%s.cu", f->skeleton->file);
        struct params known = *f->written;
        bool read = true;
        if (f->plan && family_of(f->plan)->constants)
            family_of(f->plan)->constants(&known, f->plan);
        for (int i = 0; i <= PART_TEMPLATE; i++)
            read = (i == PART_ABI || tpl_read_constants(t.file[i].data, t.file[i].len, f->skeleton->folds,
                                                        known.list, &known.count, PARAMS_MAX)) &&
                   read;
        if (!read)
            err_bug("more constants in templates than PARAMS_MAX");
        struct hole_context holes = {f->plan, f->sched, &t.file[PART_INLAY]};
        const struct tpl_options options = {.path = path,
                                            .params = known.list,
                                            .param_count = known.count,
                                            .emit = f->plan ? family_of(f->plan)->holes : NULL,
                                            .context = &holes};
        banner_licence(out, f->c, sum_parts(&t, f));
        write_head(out, f, &t);
        if (tpl_expand(out, t.file[PART_TEMPLATE].data, t.file[PART_TEMPLATE].len, &options))
            write_tail(out, f);
    }
    free_parts(&t);
    return ok && err_count() == 0 && !out->failed;
}

bool emit_gemm(struct text *out, const struct emit_context *c, const struct plan *p) {
    static struct sched sched;
    struct params written = {0};
    if (family_of(p)->schedule)
        family_of(p)->schedule(&sched, p);
    tile_params(&written, p);
    const struct frame f = {.c = c,
                            .isa = p->on.isa,
                            .skeleton = p->on.skeleton,
                            .name = p->name,
                            .args = EMIT_GEMM_ARGS,
                            .values = "*args",
                            .scheme = p->on.s,
                            .plan = p,
                            .written = &written, .sched = &sched};
    banner_gemm(out, p, &sched);
    return write_file(out, &f);
}

/* Tiles of 64 x 64 elements that a packing block keeps in shared memory: large pieces make the exchange of
 * magnitudes cheap, several blocks on an SM load and write while others wait. Three blocks where each then
 * has at least four tiles, else two, else one. Measured on the H200 (bench/decisions/006). */
enum { PACK_ENOUGH = 4, PACK_FEW = 3, PACK_TILE = 64 * 64, PACK_ROOM = 13 * 64 };
static int64_t pack_tiles_in(const struct scheme *s, int64_t bytes) {
    return (bytes - PACK_ROOM * number_bytes(s->scale_type)) / (PACK_TILE * number_bytes(s->in));
}

static int64_t pack_tiles_beside(const struct gpu *g, const struct scheme *s, int blocks) {
    return pack_tiles_in(s, g->smem_per_sm_bytes / blocks - g->smem_reserved_per_block_bytes);
}

int emit_pack_blocks_per_sm(const struct gpu *g, const struct scheme *s) {
    return pack_tiles_beside(g, s, 3) >= PACK_ENOUGH ? 3 : pack_tiles_beside(g, s, 2) >= PACK_FEW ? 2 : 1;
}

long emit_pack_tiles(const struct gpu *g, const struct scheme *s) {
    const int blocks = emit_pack_blocks_per_sm(g, s);
    const int64_t tiles =
        blocks > 1 ? pack_tiles_beside(g, s, blocks) : pack_tiles_in(s, g->smem_per_block_bytes);
    return (long)(tiles > PACK_ENOUGH ? PACK_ENOUGH : tiles < 1 ? 1 : tiles);
}

/* Shared memory that a packing block may ask for: kernels for sm_80 run on sm_86 and sm_89 too, which have 99
 * KB for a block (CUDA C++ Programming Guide, technical specifications per compute capability). */
static long pack_smem_most(const struct emit_context *c) {
    enum { LEAST_OF_AMPERE = 101376 };
    const long own = (long)c->gpu->smem_per_block_bytes;
    return isa_is_exact(c->isa) || own < LEAST_OF_AMPERE ? own : LEAST_OF_AMPERE;
}

bool emit_pack(struct text *out, const struct emit_context *c, const struct scheme *s) {
    char name[PLAN_NAME_MAX];
    struct params written = {0};
    emit_pack_name(name, sizeof name, s, c->isa);
    scheme_params(&written, s);
    param(&written, "POISONS_ROWS", scheme_is_exact(s)); /* fixed point has no place for NaN and Inf */
    /* nothing to exchange */
    param(&written, "PACK_TILES", s->scale == SCALE_ROW ? emit_pack_tiles(c->gpu, s) : 1);
    param(&written, "PACK_BLOCKS_PER_SM", emit_pack_blocks_per_sm(c->gpu, s));
    param(&written, "SMS", (long)c->gpu->sms);
    param(&written, "SMEM_PER_SM", (long)c->gpu->smem_per_sm_bytes);
    param(&written, "SMEM_PER_BLOCK", pack_smem_most(c));
    param(&written, "L2_BYTES", (long)c->gpu->l2_bytes);
    param(&written, "WAVE", c->isa->wave_size);
    const struct frame f = {.c = c,
                            .isa = c->isa,
                            .name = name,
                            .skeleton = &skeleton_table[HT_FAMILY_PACK],
                            .args = EMIT_PACK_ARGS,
                            .values = "operands, count",
                            .scheme = s, .written = &written};
    banner_small(out, c->isa, name, "Splits one or two operands into slices and writes them as panel atoms.",
                 f.args, s);
    text_addf(out, "// int %s_init(void);  before that, once per device\n", name);
    return write_file(out, &f);
}

bool emit_reduce(struct text *out, const struct emit_context *c, const struct scheme *s) {
    char name[PLAN_NAME_MAX];
    struct params written = {0};
    const bool exact = s && scheme_is_exact(s);
    emit_reduce_name(name, sizeof name, s, c->isa);
    param(&written, "WAVE", c->isa->wave_size);
    param(&written, "SCALES_SUMS", exact);
    param(&written, "SCALES_ROWS", exact);
    param(&written, "ACCS", exact ? s->accumulators : 1);
    param(&written, "SCALE_LOW", exact ? s->scale_low : 0);
    param(&written, "SCALE_HIGH", exact ? s->scale_high : 0);
    param(&written, "SCALE_ROOM", exact ? s->scale_room : 0);
    param(&written, "CHECKS",
          !exact && scheme_for(scheme_of_role(AUTO_FIRST), c->isa->flushes_subnormals)->checked);
    const struct frame f = {.c = c,
                            .isa = c->isa,
                            .name = name,
                            .skeleton = &skeleton_table[HT_FAMILY_REDUCE],
                            .args = EMIT_GEMM_ARGS,
                            .values = "*args",
                            .scheme = s, .written = &written};
    banner_small(out, c->isa, name,
                 "Adds split-K parts in an order that only their number decides: C = alpha * sum + beta * C.",
                 f.args, s);
    return write_file(out, &f);
}
