/* ht_residues.c: FP64 products by residues: layouts of packed operands and of planes, and the launches of a
 * call's steps. What is computed: ACCURACY.md, section 14; kernels' arguments: ht_abi64.h. */
#include "ht_call.h"
#include "ht_abi64.h"

enum {
    CRT_ATOM_K = 128,
    /* of the entries of a batch whose residues are kept at once, if one takes less: L2 may keep so many, and they
     * are thousands of tiles, more than any GPU runs at once */
    PLANE_BYTES_MOST = 16 << 20
};

static const struct ht_crt_launch *launchers_of(const struct plan *p) {
    return p->set->kernel[p->kernel].residues;
}

/* Of 128 k, in the panels that begin with k = first. */
static int blocks_from(const struct plan *p, int64_t first) {
    const int64_t left = ht_ceil_div(p->a.k - first, CRT_ATOM_K);
    return (int)(left < p->k_blocks ? left : p->k_blocks);
}

/* Exponents where others have rows' absmax, measured segments where others have the sums of the certificate; behind those
 * correctly rounded products have as many again, and norms of rows. */
static struct packed_layout layout_of(int moduli, bool is_exact, int64_t rows, int64_t k, int64_t k_part, int64_t entries) {
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
    o.panel_stride = ht_mul(ht_mul(ht_mul(row_blocks, ht_ceil_div(k_part, CRT_ATOM_K)), HT_ATOM_BYTES), moduli);
    o.absmax_bytes = round_up(ht_mul(ht_mul(padded, (int64_t)sizeof(int)), entries), WS_ALIGNMENT);
    o.sums_bytes =
        round_up(ht_mul(ht_mul(o.sums_stride, (int64_t)sizeof(uint64_t)), entries), WS_ALIGNMENT);
    o.panel_bytes = round_up(ht_mul(o.panel_stride, entries), WS_ALIGNMENT);
    return o;
}

int ht_plan_residues(halftone *h, const struct plan_key *key, struct plan *p) {
    const struct ht_tile *const t = &p->set->kernel[p->kernel].tile;
    const struct ht_crt_launch *const by = launchers_of(p);
    const int moduli = by->moduli;
    if (key->k > HT_CRT_K_MOST)
        return ht_fail(h, HALFTONE_TOO_LARGE, "k = %lld: the moduli of scheme '%s' hold k up to %d",
                       (long long)key->k, p->scheme->name, (int)HT_CRT_K_MOST);
    const int64_t tiles = ht_mul(ht_ceil_div(key->m, t->bm), ht_ceil_div(key->n, t->bn));
    const int64_t part = key->k_part > 0 ? key->k_part : key->k;
    p->k_part = by->digits != NULL ? 0 : part;
    p->splits = (int)ht_ceil_div(key->k, part);
    p->a = layout_of(moduli, p->is_exact, key->m, key->k, part, key->a_entries);
    p->b = layout_of(moduli, p->is_exact, key->n, key->k, part, key->b_entries);
    p->k_blocks = (int)ht_ceil_div(part, CRT_ATOM_K);
    p->plane_stride = by->digits != NULL ? 0 : ht_mul(ht_mul(tiles, (int64_t)t->bm * t->bn), moduli);
    const int64_t most = by->digits != NULL ? HT_GRID_BATCH : HT_GRID_BATCH / moduli,
                  fit = p->plane_stride > 0 ? PLANE_BYTES_MOST / p->plane_stride : most;
    p->plane_entries = fit < 1 ? 1 : fit < most ? fit : most;
    p->plane_entries = key->batch < p->plane_entries ? key->batch : p->plane_entries;
    p->pack_ns = ht_add(ht_residues_ns(p->set, by, key->m, key->n, key->k, key->batch),
                        ht_mul(p->splits - 1, ht_add(ht_mul(p->plane_stride, 2) / p->set->copy_gbps, 2 * p->set->launch_ns)));
    if (key->a_entries > 0) /* spans lie behind A's measures */
        ht_add_packing(p, STEP_CRT_PACK)->needs[WS_A_SUMS] = ht_add(p->a.sums_bytes, p->is_exact ? WS_ALIGNMENT : 0);
    struct step *const product = ht_add_step(p, STEP_CRT_PRODUCT, p->kernel);
    product->needs[WS_PARTIALS] = ht_add(round_up(ht_mul(p->plane_stride, p->plane_entries), WS_ALIGNMENT),
                                         p->is_exact ? ht_exact_bytes(p, moduli) : 0);
    return ht_lay_out_workspace(h, p);
}

void ht_add_counts(struct packed_layout *o) {
    const int64_t each = ht_ceil_div(o->k, 2 * HT_CRT_SEGMENT) + 1; /* of tiles, and of rows */
    o->count_stride =
        ht_add(ht_mul(ht_mul(ht_ceil_div(o->rows, HT_ATOM_ROWS), HT_ATOM_ROWS), each), HT_CRT_COUNTS_AT);
    o->count_bytes = round_up(ht_mul(ht_mul(o->count_stride, (int64_t)sizeof(int)), o->entries), WS_ALIGNMENT);
}

struct packed_layout ht_residues_layout(int moduli, const struct ht_certificate *c, bool has_copy, int64_t rows,
                                        int64_t k) {
    struct packed_layout o = layout_of(moduli, has_copy && c->needed == 0, rows, k, k, 1);
    if (c->needed > 0)
        ht_add_counts(&o);
    o.copy_stride = has_copy ? ht_mul(o.absmax_stride, round_up(k, 2)) : 0;
    o.copy_bytes = round_up(ht_mul(o.copy_stride, (int64_t)sizeof(double)), WS_ALIGNMENT);
    return o;
}

/* 2^-L (|a|_2 |b|_1 + |a|_1 |b|_2) with |x|_2 <= sqrt(k) max|x| and |x|_1 <= k max|x|, and one rounding: 2 sqrt(k)
 * 2^-L + 2^-53. 2^2L is the limit. */
double ht_moduli_bound(int moduli, int64_t k) {
    struct ht_crt c;
    if (ht_crt_make(&c, moduli) != 0)
        return 0;
    const int bits = c.limit_exponent + 63;
    const double limit =
        (double)c.limit_mantissa * 0x1p-63 * (1 - 0x1p-40); /* times 2^bits; rounding allowed for */
    const double square = 4.0 * (double)k * (bits % 2 != 0 ? 2.0 : 1.0) / limit;
    double root = root_of(square);
    for (int i = 0; i < (bits + 1) / 2; i++)
        root *= 0.5;
    return root + 0x1p-53;
}

double ht_crt_bound(const struct plan *p, int64_t k) {
    const struct ht_crt_launch *const l = launchers_of(p);
    return l != NULL && l->digits == NULL ? ht_moduli_bound(l->moduli, k) : 0;
}

int ht_ready_residues(halftone *h, const struct plan *p, const struct step *s) {
    unsigned char *const ready = &h->ready64[p->set->kernels + (p->scheme - p->set->scheme)];
    (void)s;
    const int code = *ready ? HALFTONE_OK : ht_fail_device(h, ht_dev_check(launchers_of(p)->init()));
    *ready = code == HALFTONE_OK;
    return code;
}

struct ht_crt_counts ht_counts_of(const struct gemm_run *r, int64_t entry) {
    const struct plan *const p = r->plan;
    struct ht_crt_counts counts;
    memset(&counts, 0, sizeof counts);
    if (!p->checked)
        return counts;
    counts.a_stride = p->a.entries > 1 ? p->a.count_stride : 0;
    counts.b_stride = p->b.entries > 1 ? p->b.count_stride : 0;
    counts.a = (int *)(void *)r->a.counts + entry * counts.a_stride;
    counts.b = (int *)(void *)r->b.counts + entry * counts.b_stride;
    counts.needed = p->certificate.needed;
    return counts;
}

/* Entries of one operand from `entry` on, as many as `most`, from k = first on. side: 0 A, 1 B. */
static struct ht_crt_pack_args pack_side(const struct gemm_run *r, int side, int64_t entry, int64_t most, int64_t first) {
    const struct plan *const p = r->plan;
    const struct gemm_call *const x = r->call;
    const struct packed_layout *const o = side == 0 ? &p->a : &p->b;
    const int64_t stride = side == 0 ? x->stride_a : x->stride_b, left = o->entries - entry;
    const struct packed_place *const at = side == 0 ? &r->a : &r->b;
    struct ht_crt_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = (const double *)(side == 0 ? x->a : x->b) + entry * stride;
    args.panels = (unsigned char *)at->panels + entry * o->panel_stride;
    args.exponents = (int *)(void *)at->absmax + entry * o->absmax_stride;
    args.measured = (unsigned long long *)(void *)at->row_sums + entry * o->sums_stride;
    args.copy = (double *)(void *)at->copy;
    args.ld = side == 0 ? x->lda : x->ldb;
    args.src_stride = stride;
    args.modulus_stride = o->panel_stride / launchers_of(p)->moduli;
    args.panel_stride = o->panel_stride;
    args.exponent_stride = o->absmax_stride;
    args.measured_stride = o->sums_stride;
    args.norms = o->norms_at > 0 ? args.measured + o->norms_at : NULL;
    args.spans = ht_spans_of(r);
    args.counts = (int *)(side == 0 ? ht_counts_of(r, entry).a : ht_counts_of(r, entry).b);
    args.count_stride = o->count_stride;
    args.count_exponent = p->certificate.exponent;
    args.count_needed = p->certificate.needed;
    args.rows = (int)o->rows;
    args.k = (int)o->k;
    args.k_first = (int)first;
    args.k_blocks = blocks_from(p, first);
    args.k_contiguous = side == 0 ? is_trans(x->transa) : !is_trans(x->transb);
    args.batch = (int)(left < most ? left : most);
    return args;
}

/* Both operands from k = first on, as much as panels hold. */
static int launch_pack(halftone *h, const struct gemm_run *r, int64_t first) {
    const struct ht_crt_launch *const l = launchers_of(r->plan);
    const struct packed_layout *const sides[2] = {&r->plan->a, &r->plan->b};
    if (sides[0]->entries > 0 && sides[1]->entries > 0 && sides[0]->entries + sides[1]->entries <= HT_GRID_BATCH) {
        const struct ht_crt_pack_args both[2] = {pack_side(r, 0, 0, HT_GRID_BATCH, first),
                                                 pack_side(r, 1, 0, HT_GRID_BATCH, first)};
        return ht_fail_device(h, ht_dev_check(l->pack(both, 2, h->stream)));
    }
    for (int side = 0; side < 2; side++) {
        for (int64_t entry = 0; entry < sides[side]->entries; entry += HT_GRID_BATCH) {
            const struct ht_crt_pack_args one = pack_side(r, side, entry, HT_GRID_BATCH, first);
            const int code = ht_fail_device(h, ht_dev_check(l->pack(&one, 1, h->stream)));
            if (code != HALFTONE_OK)
                return code;
        }
    }
    return HALFTONE_OK;
}

int ht_launch_crt_pack(halftone *h, const struct gemm_run *r, const struct step *s) {
    (void)s;
    return launch_pack(h, r, 0);
}

int ht_pack_residues(halftone *h, struct plan *p, const struct gemm_call *x) {
    struct gemm_run r;
    memset(&r, 0, sizeof r);
    r.plan = p;
    r.call = x;
    if (x->packed_a != NULL) /* one of them at least */
        r.a = r.b = ht_place_in_block(&p->a, (char *)x->packed_a);
    if (x->packed_b != NULL)
        r.b = ht_place_in_block(&p->b, (char *)x->packed_b);
    if (x->packed_a == NULL)
        r.a = r.b;
    const int code = ht_ready_residues(h, p, NULL);
    return code != HALFTONE_OK ? code : launch_pack(h, &r, 0);
}

/* Products of what is packed, then of all other k, whose residues are added to those of the first. */
static int launch_products(halftone *h, const struct gemm_run *r, struct ht_crt_gemm_args *g) {
    const struct plan *const p = r->plan;
    int code = HALFTONE_OK;
    for (int64_t first = 0; first < r->call->k && code == HALFTONE_OK; first += p->k_part) {
        if (first > 0)
            code = launch_pack(h, r, first);
        g->adds = first > 0;
        g->k_blocks = blocks_from(p, first);
        if (code == HALFTONE_OK)
            code = ht_fail_device(h, ht_dev_check(launchers_of(p)->gemm(g, h->stream)));
    }
    return code;
}

/* The product of `count` entries from `entry` on, and what puts it together. */
static int launch_entries(halftone *h, const struct gemm_run *r, int64_t entry, int64_t count) {
    const struct plan *const p = r->plan;
    const struct gemm_call *const x = r->call;
    const struct ht_crt_launch *const l = launchers_of(p);
    const bool on_device = h->pointer_mode == HALFTONE_DEVICE, many_a = p->a.entries > 1,
               many_b = p->b.entries > 1;
    struct ht_crt_gemm_args g;
    struct ht_crt_combine_args c;
    memset(&g, 0, sizeof g);
    memset(&c, 0, sizeof c);
    g.a_stride = many_a ? p->a.panel_stride : 0;
    g.b_stride = many_b ? p->b.panel_stride : 0;
    g.a_panels = (unsigned char *)r->a.panels + entry * g.a_stride;
    g.b_panels = (unsigned char *)r->b.panels + entry * g.b_stride;
    g.a_modulus_stride = p->a.panel_stride / l->moduli;
    g.b_modulus_stride = p->b.panel_stride / l->moduli;
    g.k_blocks = p->k_blocks;
    g.spans = ht_spans_of(r);
    c.planes = g.planes = (unsigned char *)r->workspace.at + p->at[WS_PARTIALS];
    c.plane_stride = g.plane_stride = p->plane_stride;
    c.plane_modulus_stride = g.plane_modulus_stride = p->plane_stride / l->moduli;
    c.m = g.m = (int)x->m;
    c.n = g.n = (int)x->n;
    c.batch = g.batch = (int)count;
    c.a_exponent_stride = many_a ? p->a.absmax_stride : 0;
    c.b_exponent_stride = many_b ? p->b.absmax_stride : 0;
    c.a_row_exponents = (int *)(void *)r->a.absmax + entry * c.a_exponent_stride;
    c.b_col_exponents = (int *)(void *)r->b.absmax + entry * c.b_exponent_stride;
    c.counts = ht_counts_of(r, entry);
    if (p->splits == 1) /* else they are known behind the last k */
        g.counts = c.counts;
    c.c = (double *)x->c + entry * x->stride_c;
    c.ldc = x->ldc;
    c.c_stride = x->stride_c;
    c.alpha_ptr = on_device ? (const double *)x->alpha : NULL;
    c.beta_ptr = on_device ? (const double *)x->beta : NULL;
    c.alpha = on_device ? 0.0 : *(const double *)x->alpha;
    c.beta = on_device ? 0.0 : *(const double *)x->beta;
    const struct ht_digit_args digits = {g, c, (int)x->k};
    if (l->digits != NULL)
        return ht_fail_device(h, ht_dev_check(l->digits(&digits, h->stream)));
    const int code = launch_products(h, r, &g);
    if (code != HALFTONE_OK)
        return code;
    h->changed_c = h->changed_c || p->is_exact; /* two launches, of which the second may fail */
    return p->is_exact ? ht_launch_exact(h, r, entry, &c)
                       : ht_fail_device(h, ht_dev_check(l->combine(&c, h->stream)));
}

int ht_launch_crt_product(halftone *h, const struct gemm_run *r, const struct step *s) {
    const int64_t most = r->plan->plane_entries;
    int code = HALFTONE_OK;
    (void)s;
    for (int64_t done = 0; done < r->args.batch && code == HALFTONE_OK; done += most) {
        code =
            launch_entries(h, r, r->entry + done, r->args.batch - done < most ? r->args.batch - done : most);
        h->changed_c = h->changed_c || code == HALFTONE_OK;
    }
    return code;
}
