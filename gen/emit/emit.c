/* emit.c: banner, holes and launcher around an expanded template. */
#include "emit/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "emit/tpl.h"
#include "../../runtime/ht_cost.h"
#include "../../runtime/ht_crt.h"

enum { PATH_MAX_BYTES = 4096, FILE_BYTES = 256, PARAMS_MAX = 192 };
/* Texts of a kernel: its family's hooks, then these; the inlay goes into a hole of the template. */
enum { PART_ABI = FAMILY_HOOKS_MAX, PART_PRIM, PART_CRT_PRIM, PART_INLAY, PART_TEMPLATE, PARTS };

/* A source as it is made. */
struct frame {
    const struct emit_context *c;
    const struct isa *isa;
    const struct family *family;
    const struct recipe *recipe;
    const struct recipe_kernel *kernel;
    const struct scheme *scheme; /* NULL: any whose sums are FP32 */
    const struct plan *plan;     /* NULL: no kernel of products */
    char name[PLAN_NAME_MAX];
    struct tpl_param param[PARAMS_MAX]; /* the first ones stand at the top of the text, */
    int written, params;                /* so many of all that the expander knows */
    struct text part[PARTS];
};

const struct recipe_kernel *emit_recipe(enum kernel_kind kind, const struct plan *p) {
    return &(p ? p->on.s->recipe : &recipe_table[RECIPE_ANY])->kernel[kind];
}

bool emit_has(const struct emit_context *c, enum kernel_kind kind, const struct plan *p) {
    const bool cuts_as_it_reads = kind == KERNEL_FEW_ROWS || kind == KERNEL_ONE_ROW;
    return emit_recipe(kind, p)->args && (!cuts_as_it_reads || isa_mma_sync(c->isa));
}

void emit_kernel_name(char *name, size_t size, const struct emit_context *c, enum kernel_kind kind,
                      const struct plan *p) {
    const struct recipe_kernel *const k = emit_recipe(kind, p);
    const struct tile *const t = p ? &p->tile : NULL;
    if (kind == KERNEL_PRODUCT)
        snprintf(name, size, "%s", p->name);
    else if (!emit_has(c, kind, p))
        name[0] = '\0';
    else if (k->of_tile)
        snprintf(name, size, "ht_%s_%s_%dx%d_w%dx%d_%s", p->on.s->name, k->word, t->bm, t->bn, t->wm, t->wn,
                 p->on.isa->suffix);
    else
        snprintf(name, size, "ht_%s_%s%s%s", k->word, p ? p->on.s->name : "", p ? "_" : "", c->isa->suffix);
}

const char *emit_range_text(const struct scheme *s, const struct isa *isa) {
    return isa->flushes_subnormals && s->flushed_range_text ? s->flushed_range_text : s->range_text;
}

void emit_bound_text(struct text *out, const struct scheme *s, const struct isa *isa) {
    text_add(out, s->bound_text);
    if (isa->unverified && s->slice != SLICE_S8) /* integer sums have no rounding */
        text_addf(out, "; %s", isa->unverified);
}

/* ---- files of the repository */

bool emit_read(struct text *out, const char *root, const char *folder, const char *name) {
    char path[PATH_MAX_BYTES];
    const int n = snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    const bool ok = n < PATH_MAX_BYTES && text_read_file(out, path);
    if (!ok)
        err_user(path, 0, "cannot read this file; --root names the folder of gen/, runtime/ and templates/");
    return ok;
}

static bool read_section(struct text *out, const char *root, const char *name, const char *section) {
    struct text file = {0};
    const bool ok =
        emit_read(&file, root, "runtime", name) && tpl_section(out, name, file.data, file.len, section);
    text_free(&file);
    return ok;
}

static bool read_abi(struct text *out, const char *root, enum number_type matrices) {
    return read_section(out, root, "ht_abi.h", "shared") &&
           read_section(out, root, matrices == NUMBER_F64 ? "ht_abi64.h" : "ht_abi.h", "abi");
}

bool emit_read_headers(struct text *abi, struct text *headers, const char *root) {
    static const char *const names[] = {"ht_abi.h", "ht_abi64.h", "ht_cost.h", "ht_bound.h"};
    bool ok = read_abi(abi, root, NUMBER_F32) && read_abi(abi, root, NUMBER_F64);
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++)
        ok = emit_read(headers, root, "runtime", names[i]);
    return ok;
}


/* Without the ` //@mutate NAME` at ends of lines, which tests edit (tests/mutation/mutate.py). No name:
 * nothing. */
static bool read_template(struct text *out, const struct emit_context *c, const char *format,
                          const char *name) {
    char file[FILE_BYTES];
    if (!name)
        return true;
    snprintf(file, sizeof file, format, name);
    const bool ok = emit_read(out, c->root, "templates", file);
    for (char *tag = out->data; ok && tag && (tag = strstr(tag, " //@mutate ")); out->len = strlen(out->data))
        memmove(tag, tag + strcspn(tag, "\n"), strlen(tag + strcspn(tag, "\n")) + 1);
    return ok;
}

/* ---- parameters */

/* Slices of A (side 0) or B of the row's products, two bits for each, for templates that form them
 * themselves. */
static long product_slices(const struct scheme *s, int side) {
    enum { BITS = 2, MOST = 31 / BITS };
    long slices = 0;
    for (int i = 0; i < s->products && i < MOST; i++)
        slices |= (long)(side == 0 ? s->product[i].a : s->product[i].b) << BITS * i;
    return slices;
}

/* The parameters of `names`, with blanks between, in their order; those behind a '*' are foldable. plan:
 * whose tile the kernel knows, or NULL. */
static void add_params(struct frame *f, const char *names, const struct plan *plan) {
    static const struct plan none = {0};
    const struct emit_context *const c = f->c;
    const struct scheme *const scheme = f->scheme;
    /* FP32 parts of any scheme */
    static const struct scheme sums = {.recipe = &recipe_table[RECIPE_ANY], .atom_slices = 1,
                                       .accumulators = 1};
    const struct plan *l = plan ? plan : &none;
    const struct scheme *s = scheme ? scheme : &sums;
    const struct tile *t = &l->tile;
    const struct gpu *g = c->gpu;
    const struct mma_shape *mma = l->on.mma;
    const bool exact = s->recipe->fixed_point;
    const struct scheme *const first =
        scheme_for(scheme_of_role(HT_ROLE_AUTO)->name, c->isa->flushes_subnormals);
    const struct scheme *const rows = scheme ? scheme : first; /* whose results are tested */
    const struct {
        const char *name;
        long value;
    } all[] = {
        {"SLICES", s->slices}, {"SLICE_BYTES", scheme_slice_bytes(s)}, {"ATOM_SLICES", s->atom_slices},
        {"ATOM_K", scheme_atom_k(s)}, {"ACCS", s->accumulators}, {"SCALES_ROWS", s->scale == SCALE_ROW},
        {"SCALE_LOW", rows->scale_low}, {"SCALE_HIGH", rows->scale_high}, {"SCALE_ROOM", rows->scale_room},
        {"CHECKS", rows->checked}, {"PRODUCTS", s->products}, {"PRODUCT_A", product_slices(s, 0)},
        {"PRODUCT_B", product_slices(s, 1)}, {"BM", t->bm}, {"BN", t->bn}, {"BK", t->bk}, {"WM", t->wm},
        {"WN", t->wn}, {"STAGES", t->stages}, {"CLUSTER", t->cluster},
        {"SHARES_A", plan && tile_cluster_n(t) > 1}, {"SHARES_B", plan && tile_cluster_m(t) > 1},
        {"ELEMENT_BYTES", number_bytes(s->in)}, {"PROMOTE_STEPS", l->promote_steps},
        {"PROMOTES", l->promoted[0]}, {"PROMOTE_TILES", l->chunk},
        {"ELECT_PRODUCER", plan && l->on.family->is_tight && l->on.family->is_tight(&l->on, t)},
        {"RASTER", plan ? model_raster_rows(g, t) / tile_cluster_m(t) : 0}, /* in clusters */
        {"REFILL_AFTER_BARRIER", l->refills},
        {"MIN_BLOCKS", l->min_blocks}, {"ALONE_MOST", plan ? model_alone_most(g, s) : 0},
        {"FRAGMENT_K", plan ? target_fragment_k(&l->on) : 0},
        {"WAVE", c->isa->wave_size}, {"PINGPONG_GROUPS", plan ? tile_groups(t, &l->on) : 0},
        {"IS_FALLBACK", l->variant == VARIANT_FALLBACK}, {"A_FROM_REGISTERS", plan && l->on.family->inlay},
        {"SWAP_AB_MIN_GAIN", l->cost.walk.swap_ab_min_gain},
        {"FAST", plan && l->on.family->searched && l->on.isa->mma_bf16},
        {"MMA_M", mma ? mma->m : 0}, {"MMA_N", mma ? mma->n : 0}, {"B_TILES", mma ? mma->b_tiles : 0},
        {"D_COLS", mma ? mma->d_cols : 0}, {"SMS", (long)g->sms},
        {"SMEM_PER_SM", (long)g->smem_per_sm_bytes},
        {"SMEM_RESERVED", (long)g->smem_reserved_per_block_bytes}, {"L2_BYTES", (long)g->l2_bytes},
        /* of packing; integers have no place for NaN and Inf */
        {"FLUSHES_SUBNORMALS", c->isa->flushes_subnormals}, {"HAS_NAN_ROWS", s->slice == SLICE_S8},
        {"SCALES_TILES", s->scale == SCALE_TILE}, {"SMEM_PER_BLOCK", model_pack_smem_most(g, c->isa)},
        {"COPIES_ASYNC", c->isa->async_copy}, {"PACK_TILES", model_pack_tiles(g, s)},
        {"ONE_ROW_K", model_one_row_k(g, c->isa, s)},
        {"PACK_BLOCKS_PER_SM", scheme ? model_pack_blocks_per_sm(g, s) : 0},
        {"SCALES_SUMS", exact}, /* of the reduction, which checks where the first of `auto` does */
        /* what the expander cannot work out: that exact sums have no masters; sizeof */
        {"MASTERS", l->promote_steps > 0 && !exact ? t->wm / mma->m : 1},
        {"SUM_ROWS", plan ? tile_part_rows(t) * number_bytes(s->out) / (long)ht_partial_size(exact) : 0}};
    for (const char *at = names ? names : ""; *at; at += strcspn(at, " "), at += *at == ' ') {
        const bool foldable = *at == '*';
        const size_t len = strcspn(at += foldable, " "), count = sizeof all / sizeof *all;
        size_t i = 0;
        while (i < count && (strlen(all[i].name) != len || memcmp(all[i].name, at, len) != 0))
            i++;
        if (i == count)
            err_bug("a template parameter that nobody knows");
        if (f->params == PARAMS_MAX)
            err_bug("more template parameters than PARAMS_MAX");
        f->param[f->params++] = (struct tpl_param){all[i].name, 0, all[i].value, foldable};
    }
}

static void write_params(struct text *out, const struct frame *f) {
    text_add(out, f->written > 0 ? "// ---- parameters\nconstexpr int " : "");
    for (int i = 0; i < f->written; i++)
        text_addf(out, "%s%s = %ld", i == 0 ? "" : i % 6 == 0 ? ",\n              " : ", ",
                  f->param[i].name, f->param[i].value);
    text_add(out, f->written > 0 ? ";\n\n" : "");
}

/* Of families whose template forms the products of the row itself. */
static void write_products(struct text *out, const struct scheme *s) {
    text_add(out, "// Products of slices, in the order of their MMAs: ");
    for (int i = 0; i < s->products; i++) {
        text_add(out, i > 0 ? ", " : "");
        family_slices_text(out, s, i);
    }
    text_add(out, "\n\n");
}

/* ---- frame around a template */

/* What the backend's names start with. */
static const char *api_of(const struct isa *isa) {
    return strcmp(isa->vendor, "amd") == 0 ? "hip" : "cuda";
}

static void banner_licence(struct text *out, const struct emit_context *c, uint64_t checksum) {
    text_addf(out,
              "//\n// Contents: arguments, parameters, types and declarations, kernel, functions it calls\n"
              "//\n// Generated by halftone-gen %s; edit the templates, not this file. Licence: MIT-0.\n",
              HT_GENERATOR_VERSION);
    text_addf(out, "// Checksum of budget and templates: %016" PRIx64 "\n", checksum);
    text_addf(out, "// " HT_RECREATE "%s\n\n", c->recreate);
}

static void banner_usage(struct text *out, const char *what, int64_t used, int64_t limit) {
    text_addf(out, "//   %-26s %8" PRId64 " of %8" PRId64 "  (%" PRId64 " %%)\n", what, used, limit,
              limit > 0 ? used * 100 / limit : 0);
}

static void banner_bound(struct text *out, const struct scheme *s, const struct isa *isa) {
    enum { K = 4096 };
    text_addf(out, "// Bound (ht_bound_units): at k = %d |C - alpha A B| <= %" PRId64 " * 2^%d |alpha| %s\n",
              K, plan_bound_units(s, isa, K), s->unit_exponent,
              s->recipe->fixed_point ? "k max|a| max|b|" : s->scale == SCALE_TILE ? "A' B'" : "|A||B|");
}

static void banner_gemm(struct text *out, const struct emit_context *c, const struct plan *p) {
    const bool in_fp32 = p->on.family->fp32_accuracy && !p->on.isa->mma_bf16;
    const struct tile *t = &p->tile;
    const struct gpu *g = p->on.g;
    const struct family *k = p->on.family;
    text_addf(out, "// %s\n//\n// C(m x n) = alpha * A * B + beta * C in %s from ", p->name,
              number_title(p->on.s->out));
    if (k->unpacked)
        text_add(out, "the matrices as they are");
    else
        text_addf(out, "packed %s slices", slice_title(p->on.s->slice));
    text_addf(out, ", scheme %s:\n//   %s\n//\n", p->on.s->name,
              in_fp32 ? k->fp32_arithmetic : k->arithmetic ? k->arithmetic : p->on.s->paper);
    text_addf(out, "// Tile: block %d x %d x %d, %s %d x %d, %d stage%s, %d threads%s%s. Chosen: %s.\n",
              t->bm, t->bn, t->bk, k->team, t->wm, t->wn, t->stages, t->stages == 1 ? "" : "s",
              tile_threads(t, &p->on), p->variant == VARIANT_PIPELINE ? "" : ", variant ",
              variant_name(p->variant), p->why);
    if (t->cluster > 1)
        text_addf(out, "// Two blocks, neighbours along %s, share the panels of %s.\n",
                  tile_cluster_m(t) > 1 ? "m" : "n", tile_cluster_m(t) > 1 ? "B" : "A");
    if (k->banner)
        k->banner(out, p);
    text_addf(out, "//\n// Budget of %s (%s), used of limit; at %" PRId64 " x %" PRId64 " x %" PRId64
              " (m x n x k) bound by %s:\n",
              g->name, p->on.isa->name, p->shape.m, p->shape.n, p->shape.k, p->cost.binding);
    banner_usage(out, "registers per thread", p->cost.regs_per_thread, g->registers_per_thread_max);
    if (p->cost.regs_consumer)
        text_addf(out,
                  "//     after setmaxnreg: producer %d, consumers %d: sums %d, chain %d, other %d\n",
                  p->cost.regs_producer, p->cost.regs_consumer, p->cost.regs_accumulators,
                  p->cost.regs_fragments, p->cost.regs_other);
    banner_usage(out, "shared memory, bytes", p->cost.smem_bytes, g->smem_per_block_bytes);
    banner_usage(out, "resident warps per SM",
                 (int64_t)p->cost.blocks_per_sm * (p->cost.threads / p->on.isa->wave_size), g->warps_per_sm);
    text_add(out, "//\n// Accuracy: ");
    if (in_fp32 || k->accuracy)
        text_add(out, in_fp32 ? k->fp32_accuracy : k->accuracy);
    else
        emit_bound_text(out, p->on.s, p->on.isa);
    text_add(out, p->variant == VARIANT_FALLBACK && k->searched ? ", with compensation\n" : "\n");
    if (!recipe_has(p->on.s->recipe, KERNEL_COMBINE))
        banner_bound(out, p->on.s, c->isa);
    text_addf(out, "// Input range: %s\n", emit_range_text(p->on.s, p->on.isa));
    if (p->on.isa->ablation)
        text_addf(out, "// For an ablation only, not as the table of instruction sets has it: %s.\n",
                  p->on.isa->ablation);
    text_addf(out, "//\n// int %s_init(void);                                        once per device\n",
              p->name);
    text_addf(out, "// int %s_launch(%s, void *stream);  0 or a %sError_t\n", p->name,
              emit_recipe(KERNEL_PRODUCT, p)->args, api_of(p->on.isa));
}

/* The hook that a role of the family table is played by; NULL: none. */
static const char *hook_of(const struct frame *f, const char *name) {
    const struct isa *isa = f->isa;
    const struct scheme *s = f->scheme;
    const bool exact = f->recipe->fixed_point, inside = f->plan && family_fallback_in_kernel(f->plan);
    const struct {
        const char *role, *hook;
    } roles[] = {{"=launch", isa->launch}, {"=stage", isa->stage}, {"=fragment", isa->fragment},
                 {"=wgmma", isa->wgmma}, {"=wgmma_rs", isa->wgmma_rs_bf16}, {"=dmma", isa->dmma},
                 {"=fp64_mma", isa->fp64_mma}, {"=tables", s && s->moduli == 0 ? s->hooks : NULL},
                 {"=element", f->recipe->element},
                 {"=together", isa->wgmma ? "launch/together_cluster" : "launch/together_alone"},
                 {"=crt_order", isa->wgmma ? "epilogue/crt_order_wgmma" : "epilogue/crt_order_mma"},
                 {"=dmma_inside", inside ? isa->dmma : NULL},
                 {"=copies_inside", inside ? "stage/cp_async_tile" : NULL},
                 {"=tile_inside", inside ? "check/fallback_tile" : NULL},
                 {"=fallback_inside", inside ? "check/fallback_inside" : "check/fallback_none"},
                 {"=fallback_grid",
                  inside || (f->plan && f->plan->variant == VARIANT_FALLBACK) ? "check/fallback_grid" : NULL},
                 {"=cluster", f->plan && f->plan->tile.cluster > 1 ? "launch/cluster_2" : "launch/cluster_1"},
                 {"=mma", s ? isa->mma_hooks[s->slice] : NULL},
                 {"=mma_sync", s && isa_mma_sync(isa) ? isa_mma_sync(isa)->mma_hooks[s->slice] : NULL},
                 {"=stage_sync", isa_mma_sync(isa) ? isa_mma_sync(isa)->stage : NULL},
                 {"=mma_bf16", isa->mma_bf16 ? isa->mma_bf16 : "arch/simt"},
                 {"=fragment_f32", isa->mfma_f32 ? isa->mfma_f32 : "frag/simt"},
                 {"=cut", isa->mma_bf16 ? "stage/split_in_smem" : "stage/split_none"},
                 {"=chain", exact                            ? "accum/carry_i32"
                            : s && s->scale == SCALE_TILE ? "accum/tile_levels"
                                                          : "accum/promote"},
                 {"=two_sum", exact ? NULL : "accum/two_sum"},
                 {"=partial", f->recipe->partial},
                 {"=scheme", s ? s->hooks : NULL},
                 {"=split", exact ? "pack/split_i8x4" : "pack/split_f32x4"}};
    for (size_t i = 0; name && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(name, roles[i].role) == 0)
            return roles[i].hook;
    }
    return name && name[0] == '+' ? name + 1 : name;
}

enum { WORDS_A_LINE = 8 };

static void add_table(struct text *out, const struct ht_crt_table *t) {
    const uint32_t *const from = t->words;
    const bool wide = t->used > 1;
    text_addf(out, wide ? "HT_TABLE unsigned CRT_%s[%d][%d] = {" : "HT_TABLE unsigned CRT_%s[%d] = {",
              t->name, t->rows, t->used);
    for (int i = 0, j = 0; i < t->rows * t->used; j = ++i % t->used)
        text_addf(out, "%s%s0x%08x%s", i % WORDS_A_LINE ? " " : "\n    ", wide && j == 0 ? "{" : "",
                  (unsigned)from[i / t->used * t->width + j], wide && j == t->used - 1 ? "}," : ",");
    text_add(out, "\n};\n");
}

/* The constants of all kernels of FP64 by residues, as templates/samples/crt15.h has them. */
static void add_crt_tables(struct text *out, const struct scheme *s) {
    struct ht_crt c;
    struct ht_crt_fewer fewer;
    struct ht_crt_table table[HT_CRT_TABLES];
    if (ht_crt_make(&c, s->moduli) != 0)
        err_bug("a scheme whose moduli ht_crt.h does not make");
    ht_crt_make_fewer(&fewer, &c, s->moduli < HT_CRT_MOST ? s->moduli : HT_CRT_FEWEST);
    ht_crt_list(table, &c, &fewer);
    text_addf(out,
              "// What follows from the %d largest pairwise coprime moduli up to 256; 2^%d < their product < "
              "2^%d.\nconstexpr int CRT_MODULI = %d, CRT_DIGIT_WORDS = %d, CRT_VALUE_WORDS = %d, "
              "CRT_SUM_WORDS = %d;\nconstexpr int CRT_TOP_WORD = %d, CRT_TOP_SHIFT = %d, CRT_QUOTIENT = %d;\n"
              "constexpr int CRT_EXACT_K = %d, CRT_SEGMENT = %d, CRT_POISONED = %d;\n"
              "constexpr unsigned long long CRT_LIMIT = 0x%" PRIx64 "ull; // times 2^CRT_LIMIT_EXPONENT\n"
              "constexpr int CRT_LIMIT_EXPONENT = %d, CRT_FEWEST = %d;\n",
              c.moduli, c.product_bits - 1, c.product_bits, c.moduli, c.digit_words, c.value_words,
              c.sum_words, c.top_word, c.top_shift, (int)c.quotient, HT_CRT_EXACT_K, HT_CRT_SEGMENT,
              HT_CRT_POISONED, c.limit_mantissa, c.limit_exponent, fewer.fewest);
    for (int i = 0; i < HT_CRT_TABLES; i++)
        add_table(out, &table[i]);
}

static bool read_parts(struct frame *f) {
    struct text *const part = f->part;
    bool ok = read_abi(&part[PART_ABI], f->c->root, f->scheme ? f->scheme->in : NUMBER_F32) &&
              read_template(&part[PART_PRIM], f->c, "hooks/%s.cuh", f->isa->prim) &&
              read_template(&part[PART_CRT_PRIM], f->c, "hooks/%s.cuh",
                            f->recipe->element ? f->isa->crt_prim : NULL);
    for (int i = 0; ok && i < FAMILY_HOOKS_MAX; i++) {
        const char *const hook = f->family->hooks[i];
        if (hook && strcmp(hook, "=tables") == 0 && f->scheme->moduli > 0)
            add_crt_tables(&part[i], f->scheme);
        ok = read_template(&part[i], f->c, "hooks/%s.cuh", hook_of(f, hook));
    }
    return ok && read_template(&part[PART_INLAY], f->c, "skeletons/%s.cuh", f->family->inlay) &&
           read_template(&part[PART_TEMPLATE], f->c, "skeletons/%s.cu", f->family->file);
}

static void add_part(struct text *out, const struct text *part) {
    text_add_bytes(out, part->data, part->len);
}

void emit_head(struct text *out, const struct isa *isa) {
    text_add(out,
             "#ifndef HT_SIMULATOR // the simulator supplies what this block and the primitives below do\n");
    if (strcmp(isa->vendor, "amd") == 0)
        text_addf(
            out,
            "#include <hip/hip_runtime.h>\n#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx%x__)\n"
            "#error \"this kernel is for gfx%x; compile it with --offload-arch=gfx%x\"\n#endif\n"
            "#pragma clang diagnostic ignored \"-Wunused-function\" // not every overload is used\n"
            "#pragma clang diagnostic ignored \"-Wunused-variable\" // nor every variable of its skeleton\n",
            (unsigned)isa->arch, (unsigned)isa->arch, (unsigned)isa->arch);
    else {
        const int arch = isa->ptx_arch ? isa->ptx_arch : isa->arch;
        text_addf(out,
                  "#include <cuda_runtime.h>\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ %s %d\n"
                  "#error \"this kernel needs compute capability %d.%d%s\"\n#endif\n"
                  "#pragma nv_diag_suppress 177 // not every overload is used\n",
                  isa_is_exact(isa) ? "!=" : "<", arch, arch / 100, arch / 10 % 10,
                  isa_is_exact(isa) ? ", and no other" : " or newer");
    }
    text_add(out, "#endif\n\n");
}

static void write_head(struct text *out, const struct frame *f) {
    if (!f->c->inner) {
        emit_head(out, f->isa);
        add_part(out, &f->part[PART_ABI]);
    }
    text_addf(out, "\nnamespace %s {\n\n", f->name);
    write_params(out, f);
    if (f->plan && strstr(f->family->params, "PRODUCT_A"))
        write_products(out, f->scheme);
}

static void write_hooks(struct text *out, const struct frame *f, const struct tpl_options *options) {
    text_add(out, "#ifndef HT_SIMULATOR\n");
    add_part(out, &f->part[PART_PRIM]);
    add_part(out, &f->part[PART_CRT_PRIM]);
    text_add(out, "#endif\n\n");
    for (int i = 0; i < FAMILY_HOOKS_MAX; i++) {
        if (f->part[i].len > 0 && f->family->hooks[i][0] == '+')
            tpl_expand(out, f->part[i].data, f->part[i].len, options);
        else if (f->part[i].len > 0) {
            add_part(out, &f->part[i]);
            text_add(out, "\n");
        }
    }
}

static void write_tail(struct text *out, const struct frame *f) {
    if (f->plan)
        text_addf(out, "\nstatic_assert(THREADS == %d && %s == %d, \"as the banner says\");\n",
                  f->plan->cost.threads, f->family->smem ? f->family->smem : "SMEM_BYTES",
                  f->plan->cost.smem_bytes);
    text_addf(out, "\n} // namespace %s\n\n", f->name);
    const char *linkage = f->c->inner ? "static" : "extern \"C\"";
    if (f->family->has_init)
        text_addf(out, "%s int %s_init(void)\n{\n    return %s::init();\n}\n\n", linkage, f->name, f->name);
    text_addf(out,
              "%s int %s_launch(%s, void *stream)\n{\n"
              "    return %s::launch(%s, stream);\n}\n", linkage, f->name, f->kernel->args, f->name,
              f->kernel->values);
}

/* Everything below the banner, which the checksum's line closes. */
static void write_file(struct text *out, struct frame *f) {
    char path[PATH_MAX_BYTES];
    struct text code = {0}, tail = {0};
    struct family_hole holes = {f->plan, &f->part[PART_INLAY]};
    uint64_t sum = f->c->gpu->checksum;
    for (int i = 0; i < PARTS; i++) {
        const struct text *const part = &f->part[i];
        if (i != PART_ABI && !tpl_read_constants(part->data, part->len, f->family->folds, f->param,
                                                 &f->params, PARAMS_MAX))
            err_bug("more constants in templates than PARAMS_MAX");
        sum = text_checksum(sum, part->data, part->len);
    }
    snprintf(path, sizeof path, "templates/skeletons/%s.cu", f->family->file);
    const struct tpl_options options = {.path = path, .params = f->param, .param_count = f->params,
                                        .emit = f->family->holes, .context = &holes};
    banner_licence(out, f->c, sum);
    write_head(out, f);
    write_hooks(&code, f, &options);
    const size_t library = code.len;
    write_tail(&tail, f);
    if (tpl_expand(&code, f->part[PART_TEMPLATE].data, f->part[PART_TEMPLATE].len, &options))
        reach_add(out, &code, library, &tail);
    add_part(out, &tail);
    text_free_all(&code, &tail);
}

static void banner_step(struct text *out, const struct frame *f) {
    text_addf(out, "// %s\n//\n// %s\n", f->name, f->kernel->what);
    if (f->scheme)
        text_addf(out, "// Scheme %s: %s\n// Input range: %s\n", f->scheme->name, f->scheme->paper,
                  emit_range_text(f->scheme, f->isa));
    text_addf(out, "//\n// int %s_launch(%s, void *stream);  0 or a %sError_t\n", f->name, f->kernel->args,
              api_of(f->isa));
    if (f->family->has_init)
        text_addf(out, "// int %s_init(void);  before that, once per device\n", f->name);
}

void emit_kernel(struct text *out, const struct emit_context *c, enum kernel_kind kind,
                 const struct plan *p) {
    const struct recipe_kernel *const k = emit_recipe(kind, p);
    const bool is_product = kind == KERNEL_PRODUCT;
    const struct plan *const tiled = is_product || k->of_tile ? p : NULL;
    struct frame f = {.c = c, .isa = tiled ? p->on.isa : c->isa, .kernel = k, .scheme = p ? p->on.s : NULL,
                      .recipe = p ? p->on.s->recipe : &recipe_table[RECIPE_ANY],
                      .family = is_product ? p->on.family : family_of(k->family),
                      .plan = is_product ? p : NULL};
    emit_kernel_name(f.name, sizeof f.name, c, kind, p);
    add_params(&f, is_product ? f.family->params : k->params, tiled);
    f.written = f.params;
    add_params(&f, f.family->constants, tiled);
    if (is_product)
        banner_gemm(out, c, p);
    else
        banner_step(out, &f);
    if (read_parts(&f))
        write_file(out, &f);
    for (int i = 0; i < PARTS; i++)
        text_free(&f.part[i]);
}
