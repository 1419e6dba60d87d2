/* ht_recipe_residues.c: FP64 products by residues or digits: layouts of packed operands and of planes, and
 * the launches of a call's steps. What is computed: ACCURACY.md, section 14; kernels' arguments:
 * ht_abi64.h. */
#include "ht_call.h"

enum {
    CRT_ATOM_K = 128,
    /* of the entries of a batch whose residues are kept at once, if one takes less: L2 may keep so many,
     * and they are thousands of tiles, more than any GPU runs at once */
    PLANE_BYTES_MOST = 16 << 20,
    UNDECIDED = 32 /* elements that have an int together, of correctly rounded products */
};

const struct ht_kernel_desc *ht_residues_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, s->name) == 0 && set->kernel[i].panels > 0)
            return &set->kernel[i];
    return NULL;
}

int ht_moduli_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    const struct ht_kernel_desc *const by = ht_residues_of(set, s);
    return by != NULL && by->recipe == HT_RECIPE_RESIDUES ? by->panels : 1;
}

static const struct ht_kernel_desc *kernel_of(const struct call *c) {
    return &c->plan->set->kernel[c->plan->kernel];
}

static int launch_pack(const struct call *c, const struct ht_crt_pack_args *operands, int count) {
    typedef int pack_bytes(const struct ht_crt_pack_args *operands, int count, void *stream);
    return ht_launched(c->h, ((pack_bytes *)kernel_of(c)->launch[HT_PACK])(operands, count, c->h->stream));
}

/* Of 128 k, in the panels that begin with k = first. */
static int blocks_from(const struct call *c, int64_t first) {
    return (int)least_of(ht_ceil_div(c->k - first, CRT_ATOM_K), c->plan->k_blocks);
}

/* ---- layouts ---- */

/* Exponents where others have rows' absmax, measured segments where others have the sums of the
 * certificate; behind those correctly rounded products have as many again, and norms of rows. */
static struct packed_layout residues_layout_of(int moduli, bool is_exact, int64_t rows, int64_t k,
                                               int64_t k_part, int64_t entries) {
    const int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS), padded = row_blocks * HT_ATOM_ROWS,
                  segments = ht_mul(padded, ht_ceil_div(k, HT_CRT_SEGMENT));
    struct packed_layout o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    o.k = k;
    o.entries = entries;
    o.absmax_stride = padded;
    o.norms_at = is_exact ? ht_mul(segments, 2) : 0;
    o.sums_stride = is_exact ? ht_add(o.norms_at, padded) : segments;
    o.panel_stride =
        ht_mul(ht_mul(ht_mul(row_blocks, ht_ceil_div(k_part, CRT_ATOM_K)), HT_ATOM_BYTES), moduli);
    o.absmax_bytes = region_bytes(ht_mul(padded, entries), sizeof(int));
    o.sums_bytes = region_bytes(ht_mul(o.sums_stride, entries), sizeof(uint64_t));
    o.panel_bytes = region_bytes(o.panel_stride, (size_t)entries);
    return o;
}

static void add_counts(struct packed_layout *o) {
    const int64_t each = ht_ceil_div(o->k, 2 * HT_CRT_SEGMENT) + 1; /* of tiles, and of rows */
    o->count_stride =
        ht_add(ht_mul(ht_mul(ht_ceil_div(o->rows, HT_ATOM_ROWS), HT_ATOM_ROWS), each), HT_CRT_COUNTS_AT);
    o->count_bytes = region_bytes(ht_mul(o->count_stride, o->entries), sizeof(int));
}

struct packed_layout ht_residues_layout(int moduli, const struct ht_certificate *certificate, bool has_copy,
                                        int64_t rows, int64_t k) {
    struct packed_layout o = residues_layout_of(moduli, has_copy && certificate->needed == 0, rows, k, k, 1);
    if (certificate->needed > 0)
        add_counts(&o);
    o.copy_ld = round_up(k, 2);
    o.copy_stride = has_copy ? ht_mul(o.absmax_stride, o.copy_ld) : 0;
    o.copy_bytes = region_bytes(o.copy_stride, sizeof(double));
    return o;
}

/* Digits have no planes, and one launch less. */
int64_t ht_residues_ns(const struct call *c, const struct ht_kernel_desc *by) {
    const struct ht_set_desc *const set = c->half->set;
    const int64_t m = at_least_one(c->m), n = at_least_one(c->n),
                  operands = ht_mul(ht_mul(ht_add(m, n), c->k), 16 + by->panels),
                  result = by->recipe == HT_RECIPE_DIGITS ? 0 : ht_mul(ht_mul(m, n), 8 + by->panels);
    return ht_add(ht_mul(ht_add(operands, result), at_least_one(c->batch)) / set->copy_gbps,
                  (by->recipe == HT_RECIPE_DIGITS ? 2 : 3) * set->launch_ns);
}

/* 2^-L (|a|_2 |b|_1 + |a|_1 |b|_2) with |x|_2 <= sqrt(k) max|x| and |x|_1 <= k max|x|, and one rounding: 2
 * sqrt(k) 2^-L + 2^-53. 2^2L is the limit. */
double ht_moduli_bound(int moduli, int64_t k) {
    struct ht_crt c;
    if (ht_crt_make(&c, moduli) != 0)
        return 0;
    const int bits = c.limit_exponent + 63;
    const double limit =
        (double)c.limit_mantissa * 0x1p-63 * (1 - 0x1p-40); /* times 2^bits; rounding allowed for */
    double root = root_of(4.0 * (double)k * (bits % 2 != 0 ? 2.0 : 1.0) / limit);
    for (int i = 0; i < (bits + 1) / 2; i++)
        root *= 0.5;
    return root + 0x1p-53;
}

/* ---- packing ---- */

/* Where a call's packing leaves how many moduli it takes; NULL: all. */
static int *spans_of(const struct call *c) {
    const struct packed_layout *const a = &c->plan->layout[0], *const b = &c->plan->layout[1];
    const bool together =
        c->plan->is_exact && a->entries > 0 && b->entries > 0 && a->entries + b->entries <= HT_GRID_BATCH;
    return together ? (int *)(void *)(c->of[0].place.row_sums + a->sums_bytes) : NULL;
}

/* Entries of one operand from `entry` on, from k = first on. */
static struct ht_crt_pack_args residues_pack_args(const struct call *c, int side, int64_t entry,
                                                  int64_t first) {
    const struct plan *const p = c->plan;
    const struct call_operand *const of = &c->of[side];
    const struct packed_layout *const o = &p->layout[side];
    const struct ht_crt_counts counts = ht_counts_of(c, entry);
    struct ht_crt_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = (const double *)of->src + entry * of->stride;
    args.panels = (unsigned char *)of->place.panels + entry * o->panel_stride;
    args.exponents = (int *)(void *)of->place.absmax + entry * o->absmax_stride;
    args.measured = (unsigned long long *)(void *)of->place.row_sums + entry * o->sums_stride;
    args.copy = (double *)(void *)of->place.copy;
    args.ld = of->ld;
    args.src_stride = of->stride;
    args.modulus_stride = o->panel_stride / kernel_of(c)->panels;
    args.panel_stride = o->panel_stride;
    args.exponent_stride = o->absmax_stride;
    args.measured_stride = o->sums_stride;
    args.norms = o->norms_at > 0 ? args.measured + o->norms_at : NULL;
    args.spans = spans_of(c);
    args.counts = (int *)(side == 0 ? counts.a : counts.b);
    args.count_stride = o->count_stride;
    args.count_exponent = p->certificate.exponent;
    args.count_needed = p->certificate.needed;
    args.rows = (int)o->rows;
    args.k = (int)o->k;
    args.k_first = (int)first;
    args.k_blocks = blocks_from(c, first);
    args.k_contiguous = k_contiguous(c, side);
    args.batch = (int)grid_batch(o->entries - entry);
    return args;
}

/* Both operands from k = first on, as much as panels hold. */
static int pack_residues(const struct call *c, int64_t first) {
    const int64_t entries[] = {c->plan->layout[0].entries, c->plan->layout[1].entries};
    if (entries[0] > 0 && entries[1] > 0 && entries[0] + entries[1] <= HT_GRID_BATCH) {
        const struct ht_crt_pack_args both[2] = {residues_pack_args(c, 0, 0, first),
                                                 residues_pack_args(c, 1, 0, first)};
        return launch_pack(c, both, 2);
    }
    int code = HALFTONE_OK;
    for (int side = 0; side < 2; side++) {
        for (int64_t entry = 0; entry < entries[side] && code == HALFTONE_OK; entry += HT_GRID_BATCH) {
            const struct ht_crt_pack_args one = residues_pack_args(c, side, entry, first);
            code = launch_pack(c, &one, 1);
        }
    }
    return code;
}

static int ready_residues(const struct call *c) {
    const struct plan *const p = c->plan;
    return ht_make_ready(c->h, kernel_of(c)->pack_init,
                         &c->half->ready[p->set->kernels + (p->scheme - p->set->scheme)]);
}

int ht_pack_residues(const struct call *c) {
    const int code = ready_residues(c);
    return code != HALFTONE_OK ? code : pack_residues(c, 0);
}

/* ---- products ---- */

/* Of rows from `entry` on. */
static const unsigned long long *norms_of(const struct call *c, int side, long long stride, int64_t entry) {
    return (const unsigned long long *)(const void *)c->of[side].place.row_sums +
           c->plan->layout[side].norms_at + entry * stride;
}

/* Correctly rounded products: what takes the place of the combination. Residues decide most elements; a
 * bit for each of the others is where planes of residues end. */
static int launch_exact(const struct call *c, int64_t entry, const struct ht_crt_combine_args *to) {
    const struct plan *const p = c->plan;
    const struct call_operand *const a = &c->of[0], *const b = &c->of[1];
    struct ht_crt_exact_args g;
    memset(&g, 0, sizeof g);
    g.to = *to;
    g.a = (const double *)a->src + entry * a->stride;
    g.b = (const double *)b->src + entry * b->stride;
    g.a_ld = a->ld;
    g.b_ld = b->ld;
    g.a_stride = a->stride;
    g.b_stride = b->stride;
    g.k = (int)c->k;
    g.a_k_contiguous = k_contiguous(c, 0);
    g.b_k_contiguous = k_contiguous(c, 1);
    g.a_norm_stride = p->layout[0].entries > 1 ? p->layout[0].sums_stride : 0;
    g.b_norm_stride = p->layout[1].entries > 1 ? p->layout[1].sums_stride : 0;
    g.a_norms = norms_of(c, 0, g.a_norm_stride, entry);
    g.b_norms = norms_of(c, 1, g.b_norm_stride, entry);
    g.spans = spans_of(c);
    g.undecided_stride = p->plane_stride / kernel_of(c)->panels / UNDECIDED;
    g.undecided =
        (int *)(void *)(region_of(c, WS_PARTIALS) + region_bytes(p->plane_stride, (size_t)p->plane_entries));
    return ht_launched(c->h, HT_LAUNCHER(kernel_of(c), HT_ROUND, ht_crt_exact_args)(&g, c->h->stream));
}

/* Products of what is packed, then of all other k, whose residues are added to those of the first. */
static int launch_products(const struct call *c, struct ht_crt_gemm_args *g) {
    int code = HALFTONE_OK;
    for (int64_t first = 0; first < c->k && code == HALFTONE_OK; first += c->plan->k_part) {
        if (first > 0)
            code = pack_residues(c, first);
        g->adds = first > 0;
        g->k_blocks = blocks_from(c, first);
        if (code == HALFTONE_OK)
            code =
                ht_launched(c->h, HT_LAUNCHER(kernel_of(c), HT_PRODUCT, ht_crt_gemm_args)(g, c->h->stream));
    }
    return code;
}

/* The product of `count` entries from `entry` on, and what puts it together. */
static int launch_entries(const struct call *x, int64_t entry, int64_t count) {
    const struct plan *const p = x->plan;
    const struct packed_layout *const a = &p->layout[0], *const b = &p->layout[1];
    const struct packed_place *const a_at = &x->of[0].place, *const b_at = &x->of[1].place;
    const struct ht_kernel_desc *const kernel = kernel_of(x);
    struct ht_crt_gemm_args g;
    struct ht_crt_combine_args c;
    memset(&g, 0, sizeof g);
    memset(&c, 0, sizeof c);
    g.a_stride = a->entries > 1 ? a->panel_stride : 0;
    g.b_stride = b->entries > 1 ? b->panel_stride : 0;
    g.a_panels = (unsigned char *)a_at->panels + entry * g.a_stride;
    g.b_panels = (unsigned char *)b_at->panels + entry * g.b_stride;
    g.a_modulus_stride = a->panel_stride / kernel->panels;
    g.b_modulus_stride = b->panel_stride / kernel->panels;
    g.k_blocks = p->k_blocks;
    g.spans = spans_of(x);
    c.planes = g.planes = (unsigned char *)region_of(x, WS_PARTIALS);
    c.plane_stride = g.plane_stride = p->plane_stride;
    c.plane_modulus_stride = g.plane_modulus_stride = p->plane_stride / kernel->panels;
    c.m = g.m = (int)x->m;
    c.n = g.n = (int)x->n;
    c.batch = g.batch = (int)count;
    c.a_exponent_stride = a->entries > 1 ? a->absmax_stride : 0;
    c.b_exponent_stride = b->entries > 1 ? b->absmax_stride : 0;
    c.a_row_exponents = (int *)(void *)a_at->absmax + entry * c.a_exponent_stride;
    c.b_col_exponents = (int *)(void *)b_at->absmax + entry * c.b_exponent_stride;
    c.counts = ht_counts_of(x, entry);
    if (p->splits == 1) /* else they are known behind the last k */
        g.counts = c.counts;
    c.c = (double *)x->c + entry * x->stride_c;
    c.ldc = x->ldc;
    c.c_stride = x->stride_c;
    ADD_SCALARS(c, double, x);
    const struct ht_digit_args digits = {g, c, (int)x->k};
    if (kernel->recipe == HT_RECIPE_DIGITS)
        return ht_launched(x->h, HT_LAUNCHER(kernel, HT_PRODUCT, ht_digit_args)(&digits, x->h->stream));
    const int code = launch_products(x, &g);
    if (code != HALFTONE_OK)
        return code;
    x->h->changed_c = x->h->changed_c || p->is_exact; /* two launches, of which the second may fail */
    return p->is_exact
               ? launch_exact(x, entry, &c)
               : ht_launched(x->h, HT_LAUNCHER(kernel, HT_COMBINE, ht_crt_combine_args)(&c, x->h->stream));
}

/* ---- steps ---- */

static int launch_residues_packing(struct call *c, const struct step *s) {
    (void)s;
    return pack_residues(c, 0);
}

static int launch_residues(struct call *c, const struct step *s) {
    int code = HALFTONE_OK;
    (void)s;
    for (int64_t done = 0; done < c->entries && code == HALFTONE_OK; done += c->plan->plane_entries) {
        code = launch_entries(c, c->entry + done, least_of(c->entries - done, c->plan->plane_entries));
        c->h->changed_c = c->h->changed_c || code == HALFTONE_OK;
    }
    return code;
}

static const struct step_kind residues_packing = {launch_residues_packing, ready_residues, false, false},
                              residues_product = {launch_residues, NULL, true, false};

static void lay_out_planes(const struct call *c, const struct ht_kernel_desc *by, struct plan *p) {
    const struct ht_tile *const t = &p->set->kernel[p->kernel].tile;
    const int64_t tiles = ht_mul(ht_ceil_div(c->m, t->bm), ht_ceil_div(c->n, t->bn));
    p->plane_stride =
        by->recipe == HT_RECIPE_DIGITS ? 0 : ht_mul(ht_mul(tiles, (int64_t)t->bm * t->bn), by->panels);
    const int64_t most = by->recipe == HT_RECIPE_DIGITS ? HT_GRID_BATCH : HT_GRID_BATCH / by->panels,
                  fit = p->plane_stride > 0 ? PLANE_BYTES_MOST / p->plane_stride : most;
    p->plane_entries = least_of(c->batch, fit < 1 ? 1 : least_of(fit, most));
}

int ht_lay_out_residues(const struct call *c, struct plan *p) {
    const struct ht_kernel_desc *const by = &p->set->kernel[p->kernel];
    const int64_t part = c->k_part > 0 ? c->k_part : c->k;
    if (c->k > HT_CRT_K_MOST)
        return ht_fail(c->h, HALFTONE_TOO_LARGE, "k = %lld: the moduli of scheme '%s' hold k up to %d",
                       (long long)c->k, p->scheme->name, (int)HT_CRT_K_MOST);
    p->k_part = by->recipe == HT_RECIPE_DIGITS ? 0 : part;
    p->splits = (int)ht_ceil_div(c->k, part);
    p->k_blocks = (int)ht_ceil_div(part, CRT_ATOM_K);
    for (int side = 0; side < 2; side++) {
        p->layout[side] =
            residues_layout_of(by->panels, p->is_exact, rows_of(c, side), c->k, part, entries_of(c, side));
        if (p->checked)
            add_counts(&p->layout[side]);
    }
    lay_out_planes(c, by, p);
    p->pack_ns = ht_add(
        ht_residues_ns(c, by),
        ht_mul(p->splits - 1, ht_add(ht_mul(p->plane_stride, 2) / p->set->copy_gbps, 2 * p->set->launch_ns)));
    if (!c->is_packed) /* spans lie behind A's measures */
        ht_add_packing(p, &residues_packing, NO_KERNEL)->needs[WS_SUMS] =
            ht_add(p->layout[0].sums_bytes, p->is_exact ? WS_ALIGNMENT : 0);
    struct step *const product = ht_add_step(p, &residues_product, p->kernel);
    product->needs[WS_PARTIALS] = region_bytes(p->plane_stride, (size_t)p->plane_entries);
    if (p->is_exact)
        product->needs[WS_PARTIALS] = ht_add(
            product->needs[WS_PARTIALS],
            region_bytes(ht_mul(p->plane_stride / by->panels / UNDECIDED, p->plane_entries), sizeof(int)));
    if (p->checked) {
        for (int side = 0; side < 2; side++)
            p->step[0].needs[WS_COUNTS + side] = p->layout[side].count_bytes; /* of packing */
        ht_add_rest(p);
    }
    return ht_lay_out_workspace(c->h, p);
}
