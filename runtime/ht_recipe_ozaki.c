/* ht_recipe_ozaki.c: FP64 and FP32 products by FP16 slices (Mukunoki et al. 2020): modes, layouts and blocks of
 * a call, and its launches. What is computed: ACCURACY64.md, section 17; kernels' arguments: ht_abi64.h. */
#include "ht_call.h"
#include "ht_abi64.h"

enum {
    OZAKI_ATOM_K = 64,
    OZAKI_K_MOST = 1 << 18,  /* a slice has three bits there */
    OZAKI_SLICES_MOST = 128, /* pairs of slices are an index of a grid */
    OZAKI_DP_SLICES = 16,
    OZAKI_CR_SLICES = 24,
    OZAKI_BITS_MOST = 11 /* of FP16 */
};
/* Of sums that are kept at once. */
#define OZAKI_PLANE_BYTES (INT64_C(1) << 30)

bool ht_read_ozaki(const char *scheme, const char *name, struct ht_ozaki_mode_name *mode) {
    const char *behind = name + strlen(scheme);
    if (strncmp(name, scheme, strlen(scheme)) != 0 || strlen(name) >= sizeof mode->text)
        return false;
    const bool is_cr = strncmp(behind, "-cr", 3) == 0;
    mode->of_floats = strncmp(behind, "-sp", 3) == 0;
    behind += is_cr || mode->of_floats ? 3 : 0;
    snprintf(mode->text, sizeof mode->text, "%s", name);
    mode->mode = is_cr ? HT_OZAKI_CR : HT_OZAKI_DP;
    mode->most = is_cr ? OZAKI_CR_SLICES : OZAKI_DP_SLICES;
    if (behind[0] == '\0')
        return true;
    mode->mode = is_cr ? HT_OZAKI_CR : HT_OZAKI_FIXED;
    mode->most = strncmp(behind, ":d=", 3) == 0 ? ht_read_count(behind + 3) : 0;
    return mode->most > 0 && mode->most <= OZAKI_SLICES_MOST;
}

void ht_settle_floats(struct call *c) {
    if (c->is_fp64 || c->half->forced != NO_KERNEL || !c->asked->ozaki.of_floats)
        return;
    c->is_fp64 = c->of_floats = true;
    c->half = &c->h->half[1];
}

/* Bits of a slice, 53 - rho: the most with k 2^2bits <= 2^24, so that no sum of k products has more bits than
 * FP32. Example: 1024 gives 7. */
static int bits_of(int64_t k) {
    int bits = OZAKI_BITS_MOST;
    while (bits > 0 && k > (INT64_C(1) << 24) >> 2 * bits)
        bits--;
    return bits;
}

/* Slices of a bit more each, by their signs, of 56 bits (floats: 27), and one: at k = 10240 11, as in the paper
 * for phi = 0.1. */
int64_t ht_ozaki_products(const struct ht_ozaki_mode_name *mode, int64_t k) {
    const int64_t expected = ht_ceil_div(mode->of_floats ? 27 : 56, bits_of(k) + 1) + 1;
    const int64_t d = mode->mode == HT_OZAKI_FIXED || expected > mode->most ? mode->most : expected;
    return mode->mode == HT_OZAKI_CR ? d * d : d * (d + 1) / 2;
}

/* The paper's: as many equal blocks as of `most` rows there must be; whole tiles. */
static int64_t block_of(int64_t rows, int64_t most, int64_t tile) {
    return ht_ceil_div(ht_ceil_div(rows, ht_ceil_div(rows, most)), tile) * tile;
}

static void lay_out_blocks(const struct call *c, struct plan *p) {
    const struct ht_tile *const t = &p->set->kernel[p->kernel].tile;
    struct ozaki_plan *const o = &p->ozaki;
    const int64_t tile = t->bm > t->bn ? t->bm : t->bn;
    int64_t most = tile;
    while ((most + tile) * (most + tile) * o->most * o->most * (int64_t)sizeof(float) <= OZAKI_PLANE_BYTES)
        most += tile;
    o->block_m = block_of(c->m, most, tile);
    o->block_n = block_of(c->n, most, tile);
    o->plane_stride = o->block_m * o->block_n;
}

/* One operand of one entry: exponents and numbers of slices where others have rows' absmax, what is left
 * to split where others have the sums of the certificate. */
static struct packed_layout ozaki_layout_of(const struct plan *p, int64_t rows, int64_t k) {
    const int64_t padded = round_up(rows, HT_ATOM_ROWS);
    struct packed_layout o = HT_ZERO;
    o.rows = rows;
    o.k = k;
    o.entries = 1;
    o.absmax_stride = padded;
    o.panel_stride = ht_mul(ht_mul(padded / HT_ATOM_ROWS, p->k_blocks), HT_ATOM_BYTES);
    o.sums_stride = ht_mul(padded, p->k_blocks * (int64_t)OZAKI_ATOM_K);
    o.absmax_bytes = region_bytes(ht_mul(padded, p->ozaki.most + 1), sizeof(int));
    o.sums_bytes = region_bytes(o.sums_stride, sizeof(double));
    o.panel_bytes = region_bytes(o.panel_stride, (size_t)p->ozaki.most);
    return o;
}

/* Bytes behind what is left of B: weights, fields, what was chosen. */
static int64_t fields_of(const struct plan *p) {
    return ht_mul(p->layout[1].absmax_stride / HT_ATOM_ROWS, 2 * (int64_t)p->k_blocks);
}

static int64_t chosen_bytes(const struct plan *p) {
    const int64_t weights = (int64_t)p->k_blocks * OZAKI_ATOM_K * (int64_t)sizeof(double);
    return ht_add(weights, ht_mul(ht_add(fields_of(p), HT_OZAKI_CHOSEN), (int64_t)sizeof(int)));
}

/* Reading, writing what is left, slices; and sums of all pairs there and back. */
static int64_t ozaki_pack_ns(const struct call *c, const struct plan *p) {
    const int64_t products = ht_ozaki_products(&c->asked->ozaki, c->k), slices = products > 64 ? 12 : 8;
    const int64_t operands = ht_mul(ht_mul(ht_add(c->m, c->n), c->k), 16 + 18 * slices),
                  result = ht_mul(ht_mul(c->m, c->n), 8 + 8 * products);
    return ht_add(ht_mul(ht_add(operands, result), c->batch) / p->set->copy_gbps, 10 * p->set->launch_ns);
}

/* What d slices and fast mode leave out is at most k (d + 1) 2^(-d bits) of the powers of two above both
 * largest, so 4 k (d + 1) 2^(-d bits) of those; each of the products is added with one rounding of at most
 * 8 k of them, far below a float's. */
int64_t ht_ozaki_bound_units(const struct plan *p) {
    const struct ozaki_plan *const o = &p->ozaki;
    if (o->mode == HT_OZAKI_CR)
        return 1;
    const int d = o->mode == HT_OZAKI_FIXED ? o->most : 2; /* the data choose no fewer */
    const int lost = d * o->bits, unit = o->of_floats ? 24 : 53;
    const int64_t left_out = lost > 62 ? 1 : ((INT64_C(4) * (d + 1)) << (unit - (lost < unit ? lost : unit))) + 1;
    return left_out + (o->of_floats ? 1 : 8 * (int64_t)o->most * o->most);
}

/* ---- launches ---- */

static struct ht_ozaki_operand ozaki_operand_of(const struct call *c, int side, int64_t entry) {
    const struct packed_layout *const l = &c->plan->layout[side];
    struct ht_ozaki_operand o = HT_ZERO;
    o.of = ht_view_of(c, side, entry);
    o.panels = (unsigned char *)region_of(c, WS_PANELS + side);
    o.rest = (double *)(void *)region_of(c, WS_SUMS + side);
    o.exponents = (int *)(void *)region_of(c, WS_ABSMAX + side);
    o.slices = o.exponents + l->absmax_stride * c->plan->ozaki.most;
    o.slice_stride = l->panel_stride;
    o.padded = (int)l->absmax_stride;
    return o;
}

static struct ht_ozaki_pack_args ozaki_packing_of(const struct call *c, int64_t entry) {
    const struct plan *const p = c->plan;
    struct ht_ozaki_pack_args args = HT_ZERO;
    args.operand[0] = ozaki_operand_of(c, 0, entry);
    args.operand[1] = ozaki_operand_of(c, 1, entry);
    args.weights = args.operand[1].rest + p->layout[1].sums_bytes / (int64_t)sizeof(double);
    args.fields = (int *)(void *)(args.weights + (int64_t)p->k_blocks * OZAKI_ATOM_K);
    args.chosen = args.fields + fields_of(p);
    args.limit = 2 * root_of((double)c->k) * (c->of_floats ? 0x1p-24 : 0x1p-53);
    args.k_blocks = p->k_blocks;
    args.bits = p->ozaki.bits;
    args.most = p->ozaki.most;
    args.mode = p->ozaki.mode;
    args.of_floats = c->of_floats;
    return args;
}

/* The products of a block of C, and their sums. */
static int launch_ozaki_block(const struct call *x, const struct ht_ozaki_pack_args *packed, int64_t entry,
                              int64_t row, int64_t col) {
    const struct plan *const p = x->plan;
    const struct ozaki_plan *const o = &p->ozaki;
    const struct ht_kernel_desc *const kernel = &p->set->kernel[p->kernel];
    struct ht_ozaki_args g = HT_ZERO;
    g.a = packed->operand[0];
    g.b = packed->operand[1];
    g.a.panels += row / HT_ATOM_ROWS * p->k_blocks * HT_ATOM_BYTES;
    g.b.panels += col / HT_ATOM_ROWS * p->k_blocks * HT_ATOM_BYTES;
    g.a.exponents += row;
    g.b.exponents += col;
    g.planes = (float *)(void *)region_of(x, WS_PARTIALS);
    g.chosen = packed->chosen;
    g.plane_stride = o->plane_stride;
    g.to = ht_result_of(x, entry);
    g.to.c = (char *)g.to.c + (col * x->ldc + row) * (int64_t)element_bytes(x);
    g.m = (int)least_of(x->m - row, o->block_m);
    g.n = (int)least_of(x->n - col, o->block_n);
    g.k_blocks = p->k_blocks;
    g.bits = o->bits;
    g.most = o->most;
    g.mode = o->mode;
    g.of_floats = o->of_floats;
    const int code = ht_launched(x->h, HT_LAUNCHER(kernel, HT_PRODUCT, ht_ozaki_args)(&g, x->h->stream));
    return code == HALFTONE_OK
               ? ht_launched(x->h, HT_LAUNCHER(kernel, HT_COMBINE, ht_ozaki_args)(&g, x->h->stream))
               : code;
}

static int launch_ozaki_entry(struct call *c, int64_t entry) {
    const struct plan *const p = c->plan;
    const struct ht_ozaki_pack_args packed = ozaki_packing_of(c, entry);
    const struct ht_kernel_desc *const kernel = &p->set->kernel[p->kernel];
    int code = ht_launched(c->h, HT_LAUNCHER(kernel, HT_PACK, ht_ozaki_pack_args)(&packed, c->h->stream));
    for (int64_t col = 0; col < c->n; col += p->ozaki.block_n)
        for (int64_t row = 0; row < c->m && code == HALFTONE_OK; row += p->ozaki.block_m) {
            code = launch_ozaki_block(c, &packed, entry, row, col);
            c->h->changed_c = c->h->changed_c || code == HALFTONE_OK;
        }
    return code;
}

static int launch_ozaki(struct call *c, const struct step *s) {
    int code = HALFTONE_OK;
    (void)s;
    for (int64_t i = 0; i < c->entries && code == HALFTONE_OK; i++)
        code = launch_ozaki_entry(c, c->entry + i);
    return code;
}

/* One entry of the batch after the other: splits, products and sums. */
static const struct step_kind ozaki_step = {launch_ozaki, NULL, true, false};

int ht_lay_out_ozaki(const struct call *c, struct plan *p) {
    struct ozaki_plan *const o = &p->ozaki;
    if (c->k > OZAKI_K_MOST)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: scheme '%s' has slices for k up to %d",
                       (long long)c->k, p->scheme->name, (int)OZAKI_K_MOST);
    p->splits = 1;
    o->mode = c->asked->ozaki.mode;
    o->most = c->asked->ozaki.most;
    o->of_floats = c->of_floats;
    o->bits = bits_of(c->k);
    p->k_blocks = (int)ht_ceil_div(c->k, OZAKI_ATOM_K);
    for (int side = 0; side < 2; side++)
        p->layout[side] = ozaki_layout_of(p, rows_of(c, side), c->k);
    lay_out_blocks(c, p);
    p->pack_ns = ozaki_pack_ns(c, p);
    struct step *const s = ht_add_packing(p, &ozaki_step, p->kernel);
    s->needs[WS_SUMS + 1] = ht_add(p->layout[1].sums_bytes, round_up(chosen_bytes(p), WS_ALIGNMENT));
    s->needs[WS_PARTIALS] = region_bytes(ht_mul(o->plane_stride, (int64_t)o->most * o->most), sizeof(float));
    return ht_lay_out_workspace(c->h, p);
}
