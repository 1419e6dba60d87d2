/* emit.c: banner, holes and launcher around an expanded template. */
#include "emit/emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit/emit_wgmma.h"
#include "base/err.h"
#include "plan/sched.h"
#include "emit/tpl.h"
#include "../../runtime/ht_cost.h"

enum { PATH_MAX_BYTES = 1024, PARAMS_MAX = 48 };

struct params {
    struct tpl_param list[PARAMS_MAX];
    int count;
};

struct hole_context {
    const struct plan *plan;
    const struct sched *sched;
    const struct text *slices; /* of a frame that has some */
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

static bool read_template(struct text *out, const struct emit_context *c, const char *name, const char *extension) {
    char path[PATH_MAX_BYTES];
    snprintf(path, sizeof path, "%s/templates/%s.%s", c->root, name, extension);
    if (text_read_file(out, path))
        return true;
    err_user(path, 0, "cannot read this template; --root names the folder that holds gen/ and templates/");
    return false;
}

static bool read_abi(struct text *out, const struct emit_context *c) {
    char path[PATH_MAX_BYTES];
    struct text file = {0};
    snprintf(path, sizeof path, "%s/runtime/ht_abi.h", c->root);
    const bool ok = text_read_file(&file, path) && tpl_section(out, path, file.data, file.len, "abi");
    if (!ok)
        err_user(path, 0, "cannot read the /*@abi*/ section that every kernel carries");
    text_free(&file);
    return ok;
}

/* ---- parameters */

static void param(struct params *p, const char *name, long value) {
    if (p->count == PARAMS_MAX)
        err_bug("more template parameters than PARAMS_MAX");
    p->list[p->count++] = (struct tpl_param){name, value, false};
}

/* What the skeleton computes from its parameters may be folded into offsets; the parameters stay names. */
static void derived(struct params *p, const char *name, long value) {
    param(p, name, value);
    p->list[p->count - 1].foldable = true;
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

/* Blocks that the compiler must leave registers for. ptxas takes what it gets, so where shared memory allows fewer blocks
 * tile_direct still gets no more than planned. */
static long min_blocks(const struct plan *p) {
    const struct cost *c = &p->cost;
    if ((p->isa->direct && p->isa->direct_mma) || p->isa->direct == DIRECT_FMA) /* there a short k needs less of it */
        return model_occupancy(p->gpu, p->isa, c->threads / p->isa->wave_size, c->regs_per_thread, 0, NULL);
    return c->blocks_per_sm > 0 ? c->blocks_per_sm : 1;
}

static void tile_params(struct params *p, const struct plan *plan) {
    const struct tile *t = &plan->tile;
    param(p, "BM", t->bm);
    param(p, "BN", t->bn);
    param(p, "BK", t->bk);
    param(p, "WM", t->wm);
    param(p, "WN", t->wn);
    param(p, "STAGES", t->stages);
    scheme_params(p, plan->scheme);
    if (!scheme_is_direct(plan->scheme)) /* there each step is a chain */
        param(p, "PROMOTE_STEPS", plan->promote_steps);
    if (plan->isa->warpgroup) {
        param(p, "PROMOTES", model_promotes(plan->scheme, plan->isa));
        param(p, "CHUNK", model_chunk(plan->scheme, plan->isa, t));
        param(p, "SMS", (long)plan->gpu->sms);
        param(p, "CLUSTER", t->cluster);
        param(p, "SHARES_A", tile_cluster_n(t) > 1);
        param(p, "SHARES_B", tile_cluster_m(t) > 1);
        param(p, "ELECTS", model_hurries_copies(plan->gpu, plan->scheme, t));
    } else {
        param(p, "MIN_BLOCKS", min_blocks(plan));
        param(p, "WAVE", plan->isa->wave_size);
        param(p, "MMA_M", plan->isa->mi);
        param(p, "MMA_N", plan->isa->ni);
        param(p, "FRAGMENT_K", isa_fragment_k(plan->isa, plan->scheme->slice));
        param(p, "B_TILES", plan->isa->b_tiles);
        param(p, "D_COLS", plan->isa->d_cols);
    }
    if (scheme_is_direct(plan->scheme)) {
        param(p, "FAST", plan->isa->direct_mma != NULL);
        param(p, "RESCUES", plan->variant == VARIANT_RESCUE);
        param(p, "SMS", (long)plan->gpu->sms);
        if (plan->isa->direct == DIRECT_DMMA) {
            param(p, "SMEM_PER_SM", (long)plan->gpu->smem_per_sm_bytes);
            param(p, "SMEM_RESERVED", (long)plan->gpu->smem_reserved_per_block_bytes);
            param(p, "SWAP_SHARE", plan->cost.coefficients.swap_share);
        }
        if (plan->isa->direct <= DIRECT_TILE) {
            param(p, "ROWS_BESIDE", plan->isa->direct == DIRECT_WGMMA);
            param(p, "GROUPS", tile_groups(t, plan->isa));
        }
    } else
        param(p, "RASTER", plan->raster);
    if (!plan->isa->warpgroup && !scheme_is_direct(plan->scheme))
        param(p, "REFILLS", model_refills(plan->scheme, plan->isa, t));
}

static void derived_wgmma(struct params *p, const struct scheme *s, const struct tile *t) {
    derived(p, "WGS", tile_warpgroups(t));
    derived(p, "SUBS", tile_parts(t));
    derived(p, "REGS", tile_part_registers(t));
    const long rows = tile_part_rows(t);
    derived(p, "PART_ROWS", rows);
    derived(p, "SUM_ROWS", rows * 4 / (long)ht_part_bytes(scheme_is_exact(s)));
    derived(p, "WIDE_COLUMNS", 128 / rows);
    derived(p, "A_BLOCKS", t->bm / rows);
    derived(p, "PARTS", tile_parts(t) * t->bm / rows);
    derived(p, "B_BLOCKS", t->bn / 64);
}

/* Atoms of one row block in a stage, and fragments of one slice in an atom's row. */
static int k_atoms(const struct plan *p) {
    return p->tile.bk / scheme_atom_k(p->scheme) * scheme_atom_group(p->scheme);
}

static int k_pairs(const struct plan *p) {
    return scheme_atom_k(p->scheme) / isa_fragment_k(p->isa, p->scheme->slice);
}

static void derived_fma(struct params *p, const struct plan *plan) {
    enum { ROW_LANES = 16, LINE = 32, LANES = 8, OWN = 4 }; /* of fma_direct; of thin_direct and tall_direct */
    const struct tile *t = &plan->tile;
    const int threads = tile_threads(t, plan->isa);
    derived(p, "MI", t->wm / ROW_LANES);
    derived(p, "NI", t->wn * ROW_LANES / plan->isa->wave_size);
    derived(p, "P_PARTS", t->bm * t->bk / threads);
    derived(p, "Q_PARTS", (t->bn * t->bk + threads - 1) / threads);
    derived(p, "AHEAD", t->bk / LINE);
    derived(p, "SPREAD", threads / LANES / t->bm);
    derived(p, "OWN", OWN);
    derived(p, "FEW", threads / LANES / t->bm);
}

static void derived_dmma(struct params *p, const struct tile *t) {
    enum { LINES = 8, OWN_K = 2 }; /* a lane's rows and columns lie so far apart; k that it has of an MMA */
    derived(p, "MI", t->wm / LINES);
    derived(p, "NI", t->wn / LINES);
    derived(p, "ROW_TILES", t->wm / LINES / 2);
    derived(p, "OWN_K", OWN_K);
}

static void derived_direct(struct params *p, const struct plan *plan, int d_regs) {
    const int d_cols = plan->isa->d_cols, d_rows = d_regs / d_cols;
    derived(p, "MI", sched_mi(plan));
    derived(p, "NI", sched_ni(plan));
    derived(p, "K_STEPS", sched_k_steps(plan));
    derived(p, "ROWS_AT_ONCE", model_direct_rows(plan->isa, &plan->tile));
    derived(p, "ROW_GROUPS", sched_mi(plan) / model_direct_rows(plan->isa, &plan->tile));
    derived(p, "B_PAIRS", (sched_ni(plan) + 1) / 2);
    const bool keeps = plan->variant == VARIANT_RESCUE; /* what sums round off, in the registers of a set */
    derived(p, "SETS", keeps ? 1 : model_direct_sets(plan->isa, &plan->tile));
    derived(p, "D_REGS", d_regs);
    derived(p, "D_ROWS", d_rows);
    derived(p, "FP32_STEPS", plan->isa->fp32_mma ? plan->tile.bk / ISA_FP32_MMA_K : 2);
    derived(p, "A_OWN", plan->isa->fp32_mma ? 1 : d_rows);
    derived(p, "B_OWN", plan->isa->fp32_mma ? 1 : d_cols);
    derived(p, "FMA_ROWS", sched_mi(plan) * d_rows);
    derived(p, "TURNED", sched_ni(plan) > 3 ? 8 : sched_ni(plan) * 2);
}

/* Constants that the skeleton derives from its parameters, for loop bounds and folding. */
static void derived_params(struct params *p, const struct plan *plan) {
    const struct tile *t = &plan->tile;
    const int d_regs = plan->isa->mi * plan->isa->ni / plan->isa->wave_size;
    if (plan->isa->direct) {
        if (plan->isa->direct <= DIRECT_TILE)
            derived_direct(p, plan, d_regs);
        else if (plan->isa->direct == DIRECT_DMMA)
            derived_dmma(p, t);
        else
            derived_fma(p, plan);
        return;
    }
    if (plan->isa->warpgroup) {
        derived_wgmma(p, plan->scheme, t);
        return;
    }
    derived(p, "THREADS", tile_threads(t, plan->isa));
    derived(p, "MI", sched_mi(plan));
    derived(p, "NI", sched_ni(plan));
    derived(p, "K_STEPS", sched_k_steps(plan));
    derived(p, "GROUP", scheme_atom_group(plan->scheme));
    derived(p, "K_ATOMS", k_atoms(plan));
    derived(p, "K_PAIRS", k_pairs(plan));
    derived(p, "CHUNK_GROUPS", 64 / plan->isa->fragment_k);
    derived(p, "D_REGS", d_regs);
    derived(p, "D_ROWS", d_regs / plan->isa->d_cols);
    derived(p, "A_BLOCKS", t->bm / 64);
    derived(p, "B_BLOCKS", t->bn / 64);
    derived(p, "STAGE_BYTES", tile_stage_bytes(t, plan->scheme));
    derived(p, "PARTS", sched_parts(plan));
    derived(p, "LOOKAHEAD", t->stages > 1 ? t->stages - 1 + model_refills(plan->scheme, plan->isa, t) : 1);
    derived(p, "MASTERS", plan->promote_steps > 0 && !scheme_is_exact(plan->scheme) ? sched_mi(plan) : 1);
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

/* ---- holes of tile_mma */

static void line(struct text *out, int indent, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void line(struct text *out, int indent, const char *format, ...) {
    char buffer[256];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    text_addf(out, "%*s%s\n", indent, "", buffer);
}

/* Row of a stage's operand, as stage_row() of the skeleton. */
static int stage_row(const struct plan *p, int row) {
    return row / 64 * (k_atoms(p) * 8192) + row % 64 * 128;
}

static void write_load(struct text *out, int indent, const struct plan *p, const struct slot *s, const char *base) {
    const int pairs = k_pairs(p), beside = p->scheme->atom_slices;
    const int pair = s->x % beside * pairs + s->fragment % pairs;
    const int atom = (s->fragment / pairs * scheme_atom_group(p->scheme) + s->x / beside) * 8192;
    const bool is_a = s->kind == SLOT_LOAD_A;
    const char operand = is_a ? 'a' : 'b';
    const int offset = atom + stage_row(p, s->y * (is_a ? p->isa->mi : p->isa->ni));
    line(out, indent, "ht_load_%c(%c[%d][%d][%d], %c_at[%d]%s%s + %d);", operand, operand, s->fragment % 2,
         s->x, s->y, operand, pair, base[0] ? " + " : "", base, offset);
}

static void write_mma(struct text *out, int indent, const struct plan *p, const struct slot *s) {
    const struct product *q = &p->scheme->product[s->x];
    const bool outside = p->scheme->promote[q->acc] == PROMOTE_EACH_MMA;
    line(out, indent, "%s(acc[%d][%d][%d], a[%d][%d][%d], b[%d][%d][%d]);",
         outside ? "ht_mma_outside" : "ht_mma", q->acc, s->y, s->z, s->fragment % 2, q->a, s->y,
         s->fragment % 2, q->b, s->z);
}

static void write_copy(struct text *out, int indent, const struct plan *p, int part, const char *to) {
    const int at = part * tile_threads(&p->tile, p->isa) * 16, atoms = k_atoms(p);
    line(out, indent, "ht_stage_issue(&staged[%d], %s + %d, src[%d] + copy_from + %d);", part, to, at,
         at / 8192 / atoms, at / 8192 % atoms * 8192 + at % 8192);
}

static void write_land(struct text *out, int indent, const struct plan *p, const char *to) {
    for (int part = 0; part < sched_parts(p); part++)
        line(out, indent, "ht_stage_land(&staged[%d], %s + %d);", part, to,
             part * tile_threads(&p->tile, p->isa) * 16);
}

static void write_advance(struct text *out, int indent, const struct plan *p) {
    line(out, indent, "// the ring advances: the next stage has landed and everyone may read it");
    line(out, indent, "ht_stage_free();");
    if (!p->isa->async_copy) {
        line(out, indent, "if (fetch) {");
        write_land(out, indent + 4, p, "copy_to + write");
        line(out, indent, "}");
    }
    if (!model_refills(p->scheme, p->isa, &p->tile))
        line(out, indent, "ht_stage_commit();");
    line(out, indent, "ht_stage_wait<LOOKAHEAD - 1 - REFILLS>();");
    line(out, indent, "ht_barrier();");
}

static void write_fetch(struct text *out, int indent, const struct plan *p) {
    line(out, indent, "// no pipeline: the whole stage is fetched and waited for");
    for (int part = 0; part < sched_parts(p); part++)
        write_copy(out, indent, p, part, "copy_to");
    if (!p->isa->async_copy)
        write_land(out, indent, p, "copy_to");
    line(out, indent, "ht_stage_commit();");
    line(out, indent, "ht_stage_wait<0>();");
    line(out, indent, "ht_barrier();");
}

static void write_slot(struct text *out, int indent, const struct hole_context *h, const struct slot *s,
                       int step) {
    const struct plan *p = h->plan;
    const bool plain = p->variant == VARIANT_PLAIN;
    switch (s->kind) {
    case SLOT_COPY:
        line(out, indent, "if (fetch)");
        write_copy(out, indent + 4, p, s->x, "copy_to + write");
        break;
    case SLOT_ADVANCE:
        write_advance(out, indent, p);
        break;
    case SLOT_COMMIT:
        line(out, indent, "ht_stage_commit();");
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
        line(out, indent, "ht_barrier();");
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
            line(out, indent, "// -- fragment step %d of %d", shown + 1, sched_k_steps(h->plan));
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
    const bool exact = scheme_is_exact(p->scheme);
    line(out, indent,
         exact ? "// every %d k: what exceeds a digit is carried up, before a level overflows"
               : "// every %d k: the chain is closed and added up in FP32",
         p->promote_steps * p->tile.bk);
    if (p->promote_steps > 1) {
        line(out, indent, "if (++chain == PROMOTE_STEPS) {");
        line(out, inner, "chain = 0;");
    }
    for (int i = 0; i < sched_mi(p); i++) {
        for (int j = 0; j < sched_ni(p); j++) {
            for (int l = p->scheme->accumulators - 1; exact && l > 0; l--)
                line(out, inner, "ht_carry(acc[%d][%d][%d], acc[%d][%d][%d]);", l - 1, i, j, l, i, j);
            if (!exact)
                line(out, inner, "ht_promote(master[%d][%d], acc[0][%d][%d]);", i, j, i, j);
        }
    }
    if (p->promote_steps > 1)
        line(out, indent, "}");
    return true;
}

/* How tile_direct multiplies slices: as its template has it, by warpgroups, or not at all. */
static bool hole_slices(struct text *out, const struct hole_context *h) {
    if (h->plan->isa->direct == DIRECT_WGMMA) {
        text_add_bytes(out, h->slices->data, h->slices->len);
        return true;
    }
    if (h->plan->isa->direct_mma)
        return false;
    text_add(out, "template <bool P_K, bool Q_K>\nHT_DEVICE void multiply_cut(ht_acc (*)[NI][D_REGS], ht_acc (*)[NI][D_REGS], "
                  "ht_span *, const ht_task &, unsigned)\n{\n}\n"); /* FAST is 0: multiply-adds only */
    return true;
}

static bool emit_hole(void *context, const char *name, struct text *out, int indent) {
    const struct hole_context *h = context;
    if (h->plan->isa->warpgroup)
        return emit_wgmma_hole(h->plan, name, out, indent);
    if (strcmp(name, "slices") == 0)
        return hole_slices(out, h);
    if (strcmp(name, "rescue") == 0) /* elsewhere it stays empty */
        return h->plan->variant != VARIANT_RESCUE;
    if (strcmp(name, "step") == 0)
        return hole_step(out, indent, h);
    if (strcmp(name, "first") == 0)
        return hole_first(out, indent, h);
    if (strcmp(name, "promote") == 0)
        return hole_promote(out, indent, h);
    if (strcmp(name, "drain") == 0)
        return h->plan->promote_steps == 0 || scheme_is_exact(h->plan->scheme); /* nothing to drain: the hole stays empty */
    if (strcmp(name, "prologue") == 0)
        return h->plan->variant == VARIANT_PLAIN; /* nothing on its way before the first step */
    return false;
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
    const struct gpu *g = p->gpu;
    const bool direct = scheme_is_direct(p->scheme);
    text_addf(out, "// %s\n//\n// C(m x n) = alpha * A * B + beta * C in FP32 from ", p->name);
    if (direct)
        text_add(out, "the matrices as they are");
    else
        text_addf(out, "packed %s slices", slice_title(p->scheme->slice));
    text_addf(out, ", scheme %s:\n//   %s\n//\n", p->scheme->name, p->isa->direct >= DIRECT_DMMA ? "exact products by DMMA, FP64 tensor cores" : p->scheme->paper);
    text_addf(out, "// Tile: block %d x %d x %d, %s %d x %d, %d stage%s, %d threads%s%s. Chosen: %s.\n",
              t->bm, t->bn, t->bk, p->isa->warpgroup ? "warpgroup" : "warp", t->wm, t->wn, t->stages, t->stages == 1 ? "" : "s",
              tile_threads(t, p->isa), p->variant == VARIANT_PIPELINE ? "" : ", variant ",
              variant_name(p->variant), p->why);
    if (t->cluster > 1)
        text_addf(out, "// Two blocks, neighbours along %s, share the panels of %s.\n", tile_cluster_m(t) > 1 ? "m" : "n",
                  tile_cluster_m(t) > 1 ? "B" : "A");
    if (p->isa->warpgroup)
        text_addf(out, "// A warpgroup runs %d wgmmas in each chunk of %d k.\n//\n", emit_wgmma_count(p),
                  model_chunk(p->scheme, p->isa, t) * t->bk);
    else if (direct)
        text_add(out, "//\n");
    else
        text_addf(out,
                  "// A warp runs %d MMAs, %d fragment loads and %d 16-byte copies a thread in each step of %d k.\n//\n",
                  s->mmas, s->loads, s->copies, t->bk);
    text_addf(out, "// Budget of %s (%s), used of limit; bound by %s:\n", g->name, p->isa->name, p->cost.binding);
    banner_usage(out, "registers per thread", p->cost.regs_per_thread, g->registers_per_thread_max);
    banner_usage(out, "shared memory, bytes", p->cost.smem_bytes, g->smem_per_block_bytes);
    banner_usage(out, "resident warps per SM",
                 (int64_t)p->cost.blocks_per_sm * (p->cost.threads / p->isa->wave_size), g->warps_per_sm);
    text_add(out, "//\n// Accuracy: ");
    if (p->isa->direct >= DIRECT_DMMA)
        text_add(out, "sums off by at most k 2^-53 of |A||B|, rounded once");
    else
        emit_bound_text(out, p->scheme, p->isa);
    text_addf(out, "\n// Input range: %s\n", emit_range_text(p->scheme, p->isa));
    if (p->isa->ablation)
        text_addf(out, "// For an ablation only, not as the table of instruction sets has it: %s.\n", p->isa->ablation);
    text_addf(out, "//\n// int %s_init(void);                                        once per device\n", p->name);
    text_addf(out, "// int %s_launch(const struct ht_gemm_args *args, void *stream);  0 or a %sError_t\n",
              p->name, api_of(p->isa));
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
    const char *name, *skeleton;
    const char *args, *values;   /* the launcher's parameters before the stream, and what it passes on */
    const struct scheme *scheme; /* NULL: any whose sums are FP32 */
    const char *cluster, *rescue; /* hooks; NULL: none */
    const struct params *written, *known;
    bool multiplies; /* copies, MMAs, chains */
    bool has_split; /* it needs the scheme's own hooks */
    bool has_sums;  /* it stores or reads parts of k */
    bool packs;
    const struct text *inlay; /* what a hole takes from a template; NULL: nothing */
    bool (*hole)(void *context, const char *name, struct text *out, int indent);
    void *context;
};

enum { OWN_MAX = 5 }; /* files that only one kind of kernel has */

struct parts {
    struct text abi, prim, launch, arch[ISA_HOOKS_MAX], dmma, cluster, mma, scale, sum, tame, rescue, chain, scheme, own[OWN_MAX], skeleton;
};

/* What belongs to the kind of sums a scheme has. NULL: the split-K reduction of all FP32 sums. */
static const char *sum_hooks(const struct scheme *s) {
    return s && scheme_is_exact(s) ? "hooks_sum_s64" : "hooks_sum_f32";
}

static const char *chain_hooks(const struct isa *isa, const struct scheme *s) {
    return isa->warpgroup || isa->direct == DIRECT_WGMMA ? "hooks_chain_wgmma" : scheme_is_exact(s) ? "hooks_carry" : "hooks_chain";
}

/* No MMA of the scheme's slices: its hooks are one file, how operands are read and results stored, or which blocks of C it goes to. */
static bool has_no_slices(const struct frame *f) {
    return f->isa->direct > DIRECT_TILE;
}

/* What belongs to one kind of kernel, in the order in which it stands in the file. */
static bool read_own_parts(struct parts *t, const struct frame *f) {
    const char *const packing[] = {f->packs && scheme_is_exact(f->scheme) ? "split_digits" : "split_fours", "pack_common", "pack_meeting",
                                   "pack_rows", "pack_strips"};
    const bool fma = f->isa->direct == DIRECT_FMA, dmma = f->isa->direct == DIRECT_DMMA;
    const char *const whole[] = {f->rescue ? "fallback_grid" : "operands_direct", fma ? "turn_direct" : "cp_async_tile"};
    const char *const direct[] = {"turn_direct", "stage_direct", f->isa->direct_mma ? "cut_direct" : "cut_none"};
    const char *const *names = f->packs ? packing : has_no_slices(f) ? whole : direct;
    const int count = f->packs ? 5 : has_no_slices(f) ? 1 + (fma || dmma) : f->isa->direct ? 3 : 0;
    bool ok = true;
    for (int i = 0; i < count; i++)
        ok = read_template(&t->own[i], f->c, names[i], "cuh") && ok;
    return ok;
}

static bool has_dmma(const struct frame *f) {
    return f->isa->direct == DIRECT_DMMA || (f->rescue && strcmp(f->rescue, "fallback_tile") == 0);
}

static bool read_parts(struct parts *t, const struct frame *f) {
    const struct isa *isa = f->isa;
    bool ok = read_abi(&t->abi, f->c);
    ok = read_template(&t->prim, f->c, isa->prim, "cuh") && ok;
    ok = read_template(&t->launch, f->c, isa->launch, "cuh") && ok;
    ok = read_template(&t->scale, f->c, "hooks_scale", "cuh") && ok;
    ok = (!f->has_sums || read_template(&t->sum, f->c, sum_hooks(f->scheme), "cuh")) && ok;
    ok = (!f->has_sums || read_template(&t->tame, f->c, "hooks_tame", "cuh")) && ok;
    ok = (!f->rescue || read_template(&t->rescue, f->c, f->rescue, "cuh")) && ok;
    ok = (!has_dmma(f) || read_template(&t->dmma, f->c, isa_find(isa->name)->dmma, "cuh")) && ok;
    if (f->multiplies && !has_no_slices(f)) {
        for (int i = 0; i < ISA_HOOKS_MAX && isa->hooks[i]; i++)
            ok = read_template(&t->arch[i], f->c, isa->hooks[i], "cuh") && ok;
        ok = (!f->cluster || read_template(&t->cluster, f->c, f->cluster, "cuh")) && ok;
        ok = read_template(&t->mma, f->c, isa->mma_hooks[f->scheme->slice], "cuh") && ok;
        ok = read_template(&t->chain, f->c, chain_hooks(isa, f->scheme), "cuh") && ok;
    }
    ok = (!f->has_split || has_no_slices(f) || read_template(&t->scheme, f->c, f->scheme->hooks, "cuh")) && ok;
    ok = read_own_parts(t, f) && ok;
    return read_template(&t->skeleton, f->c, f->skeleton, "cu") && ok;
}

static void free_parts(struct parts *t) {
    text_free(&t->abi);
    text_free(&t->prim);
    text_free(&t->launch);
    for (int i = 0; i < ISA_HOOKS_MAX; i++)
        text_free(&t->arch[i]);
    text_free(&t->dmma);
    text_free(&t->cluster);
    text_free(&t->mma);
    text_free(&t->scale);
    text_free(&t->sum);
    text_free(&t->tame);
    text_free(&t->rescue);
    text_free(&t->chain);
    text_free(&t->scheme);
    for (int i = 0; i < OWN_MAX; i++)
        text_free(&t->own[i]);
    text_free(&t->skeleton);
}

static uint64_t sum_parts(const struct parts *t, const struct frame *f) {
    static const struct text nothing = {0};
    const struct text *const all[] = {&t->abi,   &t->prim, &t->launch, &t->arch[0], &t->arch[1], &t->dmma, &t->cluster, &t->mma,
                                      &t->scale, &t->sum,  &t->tame,   &t->rescue,  &t->chain,   &t->scheme,  &t->own[0],
                                      &t->own[1], &t->own[2], &t->own[3], &t->own[4], &t->skeleton, f->inlay ? f->inlay : &nothing};
    uint64_t sum = f->c->gpu->checksum;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->len > 0)
            sum = text_checksum(sum, all[i]->data, all[i]->len);
    }
    return sum;
}

static void add_part(struct text *out, const struct text *part) {
    text_add_bytes(out, part->data, part->len);
    text_add(out, "\n");
}

/* The vendor's header, and a stop where the code cannot run. */
void emit_head(struct text *out, const struct isa *isa) {
    text_add(out, "#ifndef HT_SIMULATOR // the simulator supplies what this block and the primitives below do\n");
    if (strcmp(isa->vendor, "amd") == 0)
        text_addf(out,
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
        text_add_bytes(out, t->abi.data, t->abi.len);
    }
    text_addf(out, "\nnamespace %s {\n\n", f->name);
    write_params(out, f->written);
    text_add(out, "#ifndef HT_SIMULATOR\n");
    text_add_bytes(out, t->prim.data, t->prim.len);
    text_add(out, "#endif\n\n");
    add_part(out, &t->launch);
    if (f->multiplies) {
        for (int i = 0; i < ISA_HOOKS_MAX && f->isa->hooks[i]; i++)
            add_part(out, &t->arch[i]);
        if (has_dmma(f))
            add_part(out, &t->dmma);
        if (f->cluster)
            add_part(out, &t->cluster);
        add_part(out, &t->mma);
        add_part(out, &t->chain);
    }
}

static void write_tail(struct text *out, const struct frame *f) {
    text_addf(out, "\n} // namespace %s\n\n", f->name);
    const char *linkage = f->c->inner ? "static" : "extern \"C\"";
    if (f->multiplies || f->packs)
        text_addf(out, "%s int %s_init(void)\n{\n    return %s::init();\n}\n\n", linkage, f->name, f->name);
    text_addf(out,
              "%s int %s_launch(%s, void *stream)\n{\n"
              "    return %s::launch(%s, stream);\n}\n",
              linkage, f->name, f->args, f->name, f->values);
}

/* Everything below the banner. `out` already holds it; the checksum line closes it. */
static bool write_file(struct text *out, const struct frame *f) {
    struct parts t = {0};
    const bool ok = read_parts(&t, f);
    if (ok) {
        char path[PATH_MAX_BYTES];
        snprintf(path, sizeof path, "templates/%s.cu", f->skeleton);
        const struct tpl_options options = {.path = path,
                                            .params = f->known->list,
                                            .param_count = f->known->count,
                                            .emit = f->hole,
                                            .context = f->context};
        banner_licence(out, f->c, sum_parts(&t, f));
        write_head(out, f, &t);
        add_part(out, &t.scale);
        if (f->has_sums) {
            add_part(out, &t.sum);
            add_part(out, &t.tame);
        }
        if (f->rescue)
            add_part(out, &t.rescue);
        if (f->has_split)
            add_part(out, &t.scheme);
        for (int i = 0; i < OWN_MAX; i++) {
            if (t.own[i].len > 0)
                add_part(out, &t.own[i]);
        }
        if (tpl_expand(out, t.skeleton.data, t.skeleton.len, &options))
            write_tail(out, f);
    }
    free_parts(&t);
    return ok && err_count() == 0 && !out->failed;
}

static const char *cluster_hooks(const struct plan *p) {
    return !p->isa->warpgroup ? NULL : p->tile.cluster > 1 ? "cluster_pair" : "cluster_none";
}

bool emit_rescues(const struct plan *p) {
    return p->isa->warpgroup && p->scheme->checked;
}

static const char *rescue_hooks(const struct plan *p) {
    if (p->variant == VARIANT_RESCUE && p->isa->direct == DIRECT_TILE)
        return "fallback_grid";
    return p->isa->direct == DIRECT_RESCUE || emit_rescues(p) ? "fallback_tile" : p->isa->warpgroup ? "fallback_none" : NULL;
}

bool emit_gemm(struct text *out, const struct emit_context *c, const struct plan *p) {
    static struct sched sched;
    struct params written = {0}, known;
    if (!p->isa->warpgroup && !scheme_is_direct(p->scheme))
        sched_plan(&sched, p);
    tile_params(&written, p);
    known = written;
    derived_params(&known, p);
    struct text slices = {0};
    struct hole_context holes = {p, &sched, &slices};
    const struct frame f = {.c = c,
                            .isa = p->isa,
                            .name = p->name,
                            .skeleton = p->isa->skeleton,
                            .args = EMIT_GEMM_ARGS,
                            .values = "*args",
                            .scheme = p->scheme,
                            .cluster = cluster_hooks(p),
                            .rescue = rescue_hooks(p),
                            .written = &written,
                            .known = &known,
                            .multiplies = true,
                            .has_split = true,
                            .has_sums = true,
                            .inlay = &slices,
                            .hole = emit_hole,
                            .context = &holes};
    banner_gemm(out, p, &sched);
    const bool ok = (p->isa->direct != DIRECT_WGMMA || read_template(&slices, c, "slices_wgmma", "cuh")) && write_file(out, &f);
    text_free(&slices);
    return ok;
}

/* Tiles of 64 x 64 floats that a packing block keeps in shared memory: large pieces make the exchange of magnitudes
 * cheap, several blocks on an SM load and write while others wait. Three blocks where each then has at least four tiles,
 * else two, else one. Measured on the H200 (bench/decisions/006). */
enum { PACK_ENOUGH = 4, PACK_FEW = 3, PACK_ROOM_BYTES = 13 * 64 * 4, PACK_TILE_BYTES = 64 * 64 * 4 };
static int64_t pack_tiles_beside(const struct gpu *g, int blocks) {
    return (g->smem_per_sm_bytes / blocks - g->smem_reserved_per_block_bytes - PACK_ROOM_BYTES) / PACK_TILE_BYTES;
}

int emit_pack_together(const struct gpu *g) {
    return pack_tiles_beside(g, 3) >= PACK_ENOUGH ? 3 : pack_tiles_beside(g, 2) >= PACK_FEW ? 2 : 1;
}

long emit_pack_tiles(const struct gpu *g) {
    const int blocks = emit_pack_together(g);
    const int64_t alone = (g->smem_per_block_bytes - PACK_ROOM_BYTES) / PACK_TILE_BYTES,
                  tiles = blocks > 1 ? pack_tiles_beside(g, blocks) : alone;
    return (long)(tiles > PACK_ENOUGH ? PACK_ENOUGH : tiles < 1 ? 1 : tiles);
}

/* Shared memory that a packing block may ask for: kernels for sm_80 run on sm_86 and sm_89 too, which have 99 KB for a block (CUDA C++
 * Programming Guide, technical specifications per compute capability). */
static long pack_smem_most(const struct emit_context *c) {
    enum { LEAST_OF_AMPERE = 101376 };
    const long own = (long)c->gpu->smem_per_block_bytes;
    return isa_is_exact(c->isa) || own < LEAST_OF_AMPERE ? own : LEAST_OF_AMPERE;
}

bool emit_pack(struct text *out, const struct emit_context *c, const struct scheme *s) {
    char name[PLAN_NAME_MAX];
    struct params written = {0}, known;
    emit_pack_name(name, sizeof name, s, c->isa);
    scheme_params(&written, s);
    param(&written, "POISONS_ROWS", scheme_is_exact(s)); /* fixed point has no place for NaN and Inf */
    param(&written, "PACK_TILES", s->scale == SCALE_ROW ? emit_pack_tiles(c->gpu) : 1); /* nothing to exchange */
    param(&written, "PACK_TOGETHER", emit_pack_together(c->gpu));
    param(&written, "SMS", (long)c->gpu->sms);
    param(&written, "SMEM_PER_SM", (long)c->gpu->smem_per_sm_bytes);
    param(&written, "SMEM_PER_BLOCK", pack_smem_most(c));
    param(&written, "L2_BYTES", (long)c->gpu->l2_bytes);
    param(&written, "WAVE", c->isa->wave_size);
    known = written;
    derived(&known, "LOADS_AHEAD", 1);
    derived(&known, "CHUNK_K", 16 / scheme_slice_bytes(s));
    derived(&known, "UNITS", scheme_slice_bytes(s)); /* 64 x 64 k in chunks of 16 bytes, 256 threads */
    const struct frame f = {.c = c,
                            .isa = c->isa,
                            .name = name,
                            .skeleton = "pack",
                            .args = EMIT_PACK_ARGS,
                            .values = "operands, count",
                            .scheme = s,
                            .written = &written,
                            .known = &known,
                            .has_split = true,
                            .packs = true};
    banner_small(out, c->isa, name, "Splits one or two operands into slices and writes them as panel atoms.", f.args,
                 s);
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
    param(&written, "CHECKS", !exact && scheme_for("f16x3", c->isa->flushes_subnormals)->checked);
    const struct frame f = {.c = c,
                            .isa = c->isa,
                            .name = name,
                            .skeleton = "reduce",
                            .args = EMIT_GEMM_ARGS,
                            .values = "*args",
                            .scheme = s,
                            .written = &written,
                            .known = &written,
                            .has_sums = true};
    banner_small(out, c->isa, name, "Adds split-K parts in an order that only their number decides: C = alpha * sum + beta * C.", f.args, s);
    return write_file(out, &f);
}
