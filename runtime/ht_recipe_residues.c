/* ht_recipe_residues.c: FP64 products by residues or digits: layouts of packed operands and of planes, and
 * the launches of a call's steps. What is computed: ACCURACY64.md, section 14; kernels' arguments:
 * ht_abi64.h. */
#include "ht_call.h"
#include "ht_cost.h"

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

/* Of an operand or of C: moduli or digits, and absolute values. */
static int planes_of(const struct plan *p, const struct ht_kernel_desc *by) {
    return by->panels + (p->is_second ? 1 : 0);
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
    struct packed_layout o = HT_ZERO;
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

/* Sums of absolute values behind exponents. */
static void add_abs(struct packed_layout *o) {
    o->abs_at = o->absmax_stride;
    o->absmax_stride = ht_mul(o->absmax_stride, 2);
    o->absmax_bytes = region_bytes(ht_mul(o->absmax_stride, o->entries), sizeof(int));
}

static void add_counts(struct packed_layout *o) {
    const int64_t each = ht_ceil_div(o->k, 2 * HT_CRT_SEGMENT); /* of tiles */
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

int64_t ht_residues_ns(const struct call *c, const struct ht_kernel_desc *by) {
    const struct ht_set_desc *const set = c->half->set;
    const struct ht_problem p = {at_least_one(c->m), at_least_one(c->n), c->k, at_least_one(c->batch), 1};
    return ht_residue_steps_ns(set->copy_gbps, set->launch_ns, by->panels, by->recipe != HT_RECIPE_DIGITS, &p);
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

/* Of one operand from `entry` on. */
static struct ht_crt_packed packed_of(const struct call *c, int side, int64_t entry) {
    const struct packed_place *const at = &c->of[side].place;
    const struct packed_layout *const o = &c->plan->layout[side];
    const bool is_one = o->entries <= 1;
    struct ht_crt_packed x = HT_ZERO;
    x.stride = is_one ? 0 : o->panel_stride;
    x.modulus_stride = o->panel_stride / planes_of(c->plan, kernel_of(c));
    x.exponent_stride = is_one ? 0 : o->absmax_stride;
    x.measured_stride = is_one ? 0 : o->sums_stride;
    x.panels = (unsigned char *)at->panels + entry * x.stride;
    x.exponents = (int *)(void *)at->absmax + entry * x.exponent_stride;
    x.measured = (unsigned long long *)(void *)at->row_sums + entry * x.measured_stride;
    x.norms = o->norms_at > 0 ? x.measured + o->norms_at : NULL;
    x.sums = o->abs_at > 0 ? (float *)(void *)(x.exponents + o->abs_at) : NULL;
    return x;
}

/* Where panels hold all k. */
static struct ht_crt_sample sample_of(const struct call *c) {
    const struct plan *const p = c->plan;
    struct ht_crt_sample x = HT_ZERO;
    x.asked = p->is_sampled && p->splits == 1;
    if (x.asked == 0 || p->is_second)
        return x;
    x.limit[0] = ht_crt_limit_bits(ht_moduli_of(p->set, p->scheme));
    if (p->second.scheme == NULL)
        return x;
    x.limit[1] = ht_crt_limit_bits(ht_moduli_of(p->set, p->second.scheme));
    x.most = ht_crt_sample_most((double)p->second.most / ((double)c->m * (double)c->n));
    x.factor = p->second.factor;
    return x;
}

/* Entries of one operand from `entry` on, from k = first on. */
static struct ht_crt_pack_args residues_pack_args(const struct call *c, int side, int64_t entry,
                                                  int64_t first) {
    const struct plan *const p = c->plan;
    const struct packed_layout *const o = &p->layout[side];
    const struct ht_crt_counts counts = ht_counts_of(c, entry);
    struct ht_crt_pack_args args = HT_ZERO;
    args.of = ht_view_of(c, side, entry);
    args.to = packed_of(c, side, entry);
    args.copy = (double *)(void *)c->of[side].place.copy;
    args.spans = spans_of(c);
    args.counts = (int *)(side == 0 ? counts.a : counts.b);
    args.sample = sample_of(c);
    args.count_stride = o->count_stride;
    args.count_exponent = p->certificate.exponent;
    args.count_needed = p->certificate.needed;
    args.k_first = (int)first;
    args.k_blocks = blocks_from(c, first);
    args.batch = (int)grid_batch(o->entries - entry);
    if (p->is_second) {
        args.asked = counts;
        if (o->entries == 1 && c->batch > 1) /* of all */
            args.asked.a = args.asked.b = NULL;
        args.counts = NULL;
        args.failed = ht_failed_of(c, side == 0 ? entry : 0);
        args.failed_entries = (int)(o->entries > 1 ? 1 : c->batch);
    }
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

/* A call as its second scheme sees it. Its steps, then native64's, are launched whatever the data; kernels
 * that the counts leave nothing end at once (check/crt_counts). */
static struct call by_second(const struct call *c, struct plan *p) {
    struct call x = *c;
    *p = *c->plan;
    p->scheme = p->second.scheme;
    p->kernel = p->second.kernel;
    p->plane_stride = p->second.plane_stride;
    p->plane_entries = p->second.plane_entries;
    memcpy(p->layout, p->second.layout, sizeof p->layout);
    p->is_second = true;
    x.plan = p;
    for (int side = 0; side < 2; side++) { /* of a packed operand, too, which has its measures, counts and matrix */
        x.of[side].place.absmax = region_of(&x, WS_ABSMAX + side);
        x.of[side].place.panels = region_of(&x, WS_PANELS + side);
        x.of[side].place.copy = NULL;
    }
    return x;
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

static int launch_by(const struct call *c, enum ht_launcher which, const struct ht_crt_args *args) {
    return ht_launched(c->h, HT_LAUNCHER(kernel_of(c), which, ht_crt_args)(args, c->h->stream));
}

/* Products of what is packed, then of all other k, whose residues are added to those of the first. A second
 * scheme's are two launches: absolute values (`tests`), then residues. */
static int launch_products(const struct call *c, struct ht_crt_args *g) {
    int code = HALFTONE_OK;
    for (int64_t first = 0; first < c->k && code == HALFTONE_OK; first += c->plan->k_part) {
        if (first > 0)
            code = pack_residues(c, first);
        g->adds = first > 0;
        g->k_blocks = blocks_from(c, first);
        for (g->tests = c->plan->is_second; g->tests >= 0 && code == HALFTONE_OK; g->tests--)
            code = launch_by(c, HT_PRODUCT, g);
        g->tests = 0;
    }
    return code;
}

/* Correctly rounded products have a bit for each element that residues may leave, where planes end. */
static struct ht_crt_args crt_args_of(const struct call *c, int64_t entry, int64_t count) {
    const struct plan *const p = c->plan;
    const int panels = planes_of(p, kernel_of(c));
    struct ht_crt_args g = HT_ZERO;
    g.a = ht_view_of(c, 0, entry);
    g.b = ht_view_of(c, 1, entry);
    g.a_packed = packed_of(c, 0, entry);
    g.b_packed = packed_of(c, 1, entry);
    g.planes = (unsigned char *)region_of(c, WS_PARTIALS);
    g.plane_stride = p->plane_stride;
    g.plane_modulus_stride = p->plane_stride / panels;
    g.to = ht_result_of(c, entry);
    g.spans = spans_of(c);
    g.undecided_stride = g.plane_modulus_stride / UNDECIDED;
    g.undecided = (int *)(void *)(g.planes + region_bytes(p->plane_stride, (size_t)p->plane_entries));
    g.m = (int)c->m;
    g.n = (int)c->n;
    g.k_blocks = p->k_blocks;
    g.batch = (int)count;
    if (p->is_second)
        g.failed = ht_failed_of(c, entry);
    return g;
}

/* The product of `count` entries from `entry` on, and what puts it together. */
static int launch_entries(const struct call *c, int64_t entry, int64_t count) {
    const struct plan *const p = c->plan;
    const struct ht_crt_counts counts = ht_counts_of(c, entry);
    struct ht_crt_args g = crt_args_of(c, entry, count);
    if (kernel_of(c)->recipe == HT_RECIPE_DIGITS)
        return launch_by(c, HT_PRODUCT, &g);
    if (p->splits == 1 || p->is_second) /* else they are known behind the last k */
        g.counts = counts;
    const int code = launch_products(c, &g);
    if (code != HALFTONE_OK)
        return code;
    g.counts = counts;
    c->h->changed_c = c->h->changed_c || p->is_exact; /* two launches, of which the second may fail */
    return launch_by(c, p->is_exact ? HT_ROUND : HT_COMBINE, &g);
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

static int ready_second(const struct call *c) {
    struct plan p;
    const struct call x = by_second(c, &p);
    const int code = ready_residues(&x);
    return code != HALFTONE_OK ? code : ht_make_ready(c->h, kernel_of(&x)->init, &c->half->ready[p.kernel]);
}

static int launch_second(struct call *c, const struct step *s) {
    struct plan p;
    struct call x = by_second(c, &p);
    const int code = pack_residues(&x, 0);
    return code != HALFTONE_OK ? code : launch_residues(&x, s);
}

static const struct step_kind residues_packing = {launch_residues_packing, ready_residues, false, false},
                              residues_product = {launch_residues, NULL, true, false},
                              residues_second = {launch_second, ready_second, true, false};

/* `panels`: planes of an entry. */
static void lay_out_planes(const struct call *c, const struct ht_kernel_desc *by, int panels, int64_t *stride, int64_t *entries) {
    const struct ht_tile *const t = &by->tile;
    const int64_t tiles = ht_mul(ht_ceil_div(c->m, t->bm), ht_ceil_div(c->n, t->bn));
    *stride = by->recipe == HT_RECIPE_DIGITS ? 0 : ht_mul(ht_mul(tiles, (int64_t)t->bm * t->bn), panels);
    const int64_t most = by->recipe == HT_RECIPE_DIGITS ? HT_GRID_BATCH : HT_GRID_BATCH / panels,
                  fit = *stride > 0 ? PLANE_BYTES_MOST / *stride : most;
    *entries = least_of(c->batch, fit < 1 ? 1 : least_of(fit, most));
}

static void lay_out_second(const struct call *c, struct plan *p) {
    struct second_plan *const x = &p->second;
    const struct ht_kernel_desc *const by = &p->set->kernel[x->kernel];
    struct step *const s = ht_add_step(p, &residues_second, NO_KERNEL);
    for (int side = 0; side < 2; side++) {
        x->layout[side] = residues_layout_of(by->panels + 1, false, rows_of(c, side), c->k, p->k_part,
                                             c->is_packed ? 1 : entries_of(c, side));
        x->layout[side].count_stride = p->layout[side].count_stride;
        add_abs(&x->layout[side]);
        s->needs[WS_ABSMAX + side] = x->layout[side].absmax_bytes;
        s->needs[WS_PANELS + side] = x->layout[side].panel_bytes;
    }
    lay_out_planes(c, by, by->panels + 1, &x->plane_stride, &x->plane_entries);
    s->needs[WS_PARTIALS] = region_bytes(x->plane_stride, (size_t)x->plane_entries);
    s->needs[WS_FAILED] = ht_add(region_bytes(c->batch, sizeof(long long)),
                                 region_bytes(ht_mul(ht_failed_words(c), c->batch), sizeof(unsigned)));
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
    lay_out_planes(c, by, by->panels, &p->plane_stride, &p->plane_entries);
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
        if (p->second.scheme != NULL)
            lay_out_second(c, p);
        ht_add_rest(p);
    }
    return ht_lay_out_workspace(c->h, p);
}
