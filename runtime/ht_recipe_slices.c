/* ht_recipe_slices.c: FP32 products, of packed slices or of unpacked matrices: layouts, steps,
 * launches. */
#include "ht_call.h"
#include "ht_cost.h"

/* ---- layouts ---- */

static struct packed_layout slices_layout_of(const struct ht_scheme_desc *s, int64_t rows, int64_t k,
                                             int64_t entries) {
    const int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS);
    struct packed_layout o = HT_ZERO;
    o.rows = rows;
    o.k = k;
    o.entries = entries;
    o.exchange_ints = s->scales == HT_SCALES_ROWS ? round_up(ht_exchange_ints(s, rows, k), HT_ATOM_ROWS) : 0;
    o.absmax_stride = ht_add(ht_scale_ints(s, rows, k), o.exchange_ints);
    o.panel_stride = ht_mul(ht_mul(row_blocks, ht_k_blocks(s, k)), HT_ATOM_BYTES);
    o.absmax_bytes = region_bytes(ht_mul(o.absmax_stride, entries), sizeof(int));
    o.panel_bytes = region_bytes(o.panel_stride, (size_t)entries);
    return o;
}

/* What packing with the certificate exchanges besides. */
static void widen_exchange(const struct ht_scheme_desc *s, struct packed_layout *o) {
    o->exchange_ints += o->exchange_ints > 0 ? round_up(ht_sum_ints(o->rows), HT_ATOM_ROWS) : 0;
    o->absmax_stride = ht_add(ht_scale_ints(s, o->rows, o->k), o->exchange_ints);
    o->absmax_bytes = region_bytes(ht_mul(o->absmax_stride, o->entries), sizeof(int));
}

/* What the certificate adds to an operand of a call or, if is_kept, to one that the caller keeps and may
 * multiply with any other: there the matrix itself is needed as well. */
static void add_certificate(const struct ht_scheme_desc *s, bool is_kept, struct packed_layout *o) {
    widen_exchange(s, o);
    o->copy_ld = ht_padded_k(s, o->k);
    o->sums_stride = ht_row_sums_ints(o->rows);
    o->copy_stride = is_kept ? ht_mul(ht_ceil_div(o->rows, HT_ATOM_ROWS) * HT_ATOM_ROWS, o->copy_ld) : 0;
    o->sums_bytes = round_up(
        ht_add(ht_mul(ht_mul(o->sums_stride, (int64_t)sizeof(int)), o->entries), FLAG_BYTES), WS_ALIGNMENT);
    o->copy_bytes = region_bytes(ht_mul(o->copy_stride, o->entries), sizeof(float));
}

/* The panels of a scheme that can be certified lie at one place, asked by name or by `auto`, whose
 * operands serve both. */
struct packed_layout ht_slices_layout(const struct call *c, const struct ht_scheme_desc *s, int64_t rows,
                                      int64_t k) {
    struct packed_layout o = slices_layout_of(s, rows, k, 1);
    if (ht_has_check(c, s))
        add_certificate(s, true, &o);
    else if (ht_can_check(c->half->set, s))
        widen_exchange(s, &o);
    return o;
}

/* ---- packing ---- */

/* From `entry` on. */
static struct ht_packed packed_of(const struct ht_scheme_desc *s, const struct packed_layout *o,
                                  const struct packed_place *at, int64_t entry) {
    const bool is_one = o->entries <= 1;
    struct ht_packed x = HT_ZERO;
    x.stride = is_one ? 0 : o->panel_stride;
    x.panels = (unsigned char *)at->panels + entry * x.stride;
    if (s->scales != HT_SCALES_NONE) {
        x.absmax_stride = is_one ? 0 : o->absmax_stride;
        x.row_absmax = (int *)(void *)at->absmax + entry * x.absmax_stride;
    }
    if (at->row_sums != NULL) {
        x.sums_stride = is_one ? 0 : o->sums_stride;
        x.row_sums = (int *)(void *)(at->row_sums + FLAG_BYTES) + entry * x.sums_stride;
        x.any_flag = (int *)(void *)at->flag;
    }
    return x;
}

/* Arguments for the entries from `entry` on, as many as a grid can hold. Each entry has room for the
 * exchange behind its rows' absmax. */
static struct ht_pack_args slices_pack_args(const struct call *c, const struct ht_scheme_desc *scheme,
                                            const struct pack_side *x, int64_t entry) {
    const struct packed_layout *const o = x->layout;
    struct ht_pack_args args = HT_ZERO;
    const struct ht_view of = ht_view_of(c, x->side, entry);
    args.src = (const float *)of.src;
    args.ld = of.ld;
    args.src_stride = of.stride;
    args.rows = of.rows;
    args.k = of.k;
    args.k_contiguous = of.k_contiguous;
    args.to = packed_of(scheme, o, &x->to, entry);
    if (scheme->scales == HT_SCALES_ROWS)
        args.absmax_exchange = args.to.row_absmax + round_up(o->rows, HT_ATOM_ROWS);
    args.exchange_stride = o->absmax_stride;
    args.scale_rows = x->side == 0 ? HT_SCALE_A_ROWS : HT_SCALE_B_COLS;
    if (c->ranks == RANKS_PARTIAL)
        args.absmax_of_all = c->of[x->side].absmax;
    if (c->ranks == RANKS_MAXIMA) {
        args.to.row_absmax = c->of[x->side].absmax;
        args.to.panels = NULL;
    }
    args.k_blocks = (int)ht_k_blocks(scheme, o->k);
    args.batch = (int)grid_batch(o->entries - entry);
    if (args.to.row_sums == NULL)
        return args;
    args.failed_count = x->failed_count;
    args.sample = x->sample;
    args.copy = (float *)(void *)x->to.copy;
    args.copy_stride = o->copy_stride;
    args.tiles = x->tiles;
    return args;
}

/* With scales of tiles blocks write what they find beside zeros (ht_packed, row_sums). */
static int clear_sums(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_side *x,
                      const struct ht_pack_args *args, int count) {
    int code = HALFTONE_OK;
    for (int i = 0; code == HALFTONE_OK && i < count && scheme->scales == HT_SCALES_TILES; i++) {
        const size_t ints = (size_t)x[i].layout->sums_stride * (size_t)args[i].batch;
        int *const sums = args[i].to.row_sums;
        if (sums != NULL)
            code = ht_fail_device(h, ht_dev_memset_async(sums, 0, ints * sizeof(int), h->stream));
    }
    return code;
}

static int launch_slices(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_side *x,
                         struct ht_pack_args *args, int count, enum ws_source memory) {
    struct own_block *exchange = NULL;
    for (int i = 0; i < count; i++)
        args[i].epoch = h->pack_epoch;
    if (memory == SOURCE_HANDLE)
        exchange = ht_attach_exchange(h, x, args, count);
    int code = clear_sums(h, scheme, x, args, count);
    if (code == HALFTONE_OK)
        code = ht_launched(h, scheme->pack(args, count, h->stream));
    if (code != HALFTONE_OK && exchange != NULL)
        exchange->is_reset = false; /* nobody knows how far it came */
    return code;
}

static int ready_scheme(const struct call *c, const struct ht_scheme_desc *scheme) {
    const struct ht_set_desc *const set = c->half->set;
    return ht_make_ready(c->h, scheme->pack_init, &c->half->ready[set->kernels + (scheme - set->scheme)]);
}

int ht_pack_slices(const struct call *c, const struct ht_scheme_desc *scheme, const struct pack_side *x,
                   int count, enum ws_source memory) {
    halftone *const h = c->h;
    int code = ready_scheme(c, scheme);
    if (code != HALFTONE_OK)
        return code;
    h->pack_epoch = h->pack_epoch < INT32_MAX ? h->pack_epoch + 1 : 1;
    if (count == 2 && x[0].layout->entries + x[1].layout->entries <= HT_GRID_BATCH) {
        struct ht_pack_args both[2] = {slices_pack_args(c, scheme, &x[0], 0),
                                       slices_pack_args(c, scheme, &x[1], 0)};
        return launch_slices(h, scheme, x, both, 2, memory);
    }
    for (int i = 0; i < count; i++) {
        for (int64_t entry = 0; entry < x[i].layout->entries && code == HALFTONE_OK; entry += HT_GRID_BATCH) {
            struct ht_pack_args args = slices_pack_args(c, scheme, &x[i], entry);
            code = launch_slices(h, scheme, &x[i], &args, 1, memory);
        }
    }
    return code;
}

/* ---- arguments of the product ---- */

/* Whether the kernel reads the matrices themselves. */
static bool reads_matrices(const struct plan *p) {
    return p->set->kernel[p->kernel].tile.unpacked;
}

/* How many results the launch behind the product finds in the list; NULL: there is none. */
static int *failed_count_of(const struct call *c) {
    const struct plan *const p = c->plan;
    return p->checked && p->fallback != NO_KERNEL ? (int *)(void *)(region_of(c, WS_FLAGS) + 2 * FLAG_BYTES)
                                                  : NULL;
}

/* What a sample of the data tells; NULL: nobody asks. */
static int *sample_words_of(const struct call *c) {
    return c->plan->is_sampled ? (int *)(void *)(region_of(c, WS_FLAGS) + 3 * FLAG_BYTES) : NULL;
}

/* Where the certificate leaves what it has not cleared. */
static void add_failed(const struct call *c, struct ht_gemm_args *args) {
    const struct plan *const p = c->plan;
    args->failed = (unsigned *)(void *)region_of(c, WS_FAILED);
    args->failed_list = args->failed + p->failed_blocks * (HT_FAILED_BYTES / (int64_t)sizeof(int));
    args->failed_capacity = (int)ht_failed_capacity(p->failed_blocks);
    args->failed_count = failed_count_of(c);
    args->fallback_in_kernel = p->fallback == NO_KERNEL;
    args->recomputed = (long long *)c->h->recomputed;
    args->scales_tiles = p->scheme->scales == HT_SCALES_TILES;
    args->sample = sample_words_of(c);
    args->sample_most = p->sample_most;
}

/* splits 0 makes reduce scale C, of which all is here. */
static struct ht_gemm_args gemm_args_of(const struct call *c) {
    const struct plan *const p = c->plan;
    struct ht_gemm_args args = HT_ZERO;
    if (c->ranks == RANKS_PARTIAL)
        args.to.c = c->partial;
    else
        args.to = ht_result_of(c, c->entry);
    args.m = (int)c->m;
    args.n = (int)c->n;
    args.batch = (int)c->entries;
    args.splits = p->splits;
    if (p->splits == 0)
        return args;
    args.partial = p->splits > 1 ? (float *)(void *)region_of(c, WS_PARTIALS) : NULL;
    args.a = ht_view_of(c, 0, c->entry);
    args.b = ht_view_of(c, 1, c->entry);
    args.fma_only = p->fma_only;
    if (!reads_matrices(p)) {
        args.k_blocks = p->k_blocks;
        args.a_packed = packed_of(p->scheme, &p->layout[0], &c->of[0].place, c->entry);
        args.b_packed = packed_of(p->scheme, &p->layout[1], &c->of[1].place, c->entry);
    }
    if (p->checked)
        add_failed(c, &args);
    return args;
}

/* ---- steps ---- */

static int ready_slices(const struct call *c) {
    return ready_scheme(c, c->plan->scheme);
}

static int launch_packing(struct call *c, const struct step *s) {
    int *const sample = sample_words_of(c);
    const int tiles = sample != NULL ? (int)HT_PACK_STRIPS : 0;
    const struct pack_side sides[2] = {
        {0, &c->plan->layout[0], c->of[0].place, tiles, failed_count_of(c), sample},
        {1, &c->plan->layout[1], c->of[1].place, tiles, NULL, sample}};
    (void)s;
    return ht_pack_slices(c, c->plan->scheme, sides, 2, c->workspace.source);
}

/* Of operands that were packed before, by their copies of the matrices: they take the route that the plain product takes. */
static int launch_sample(struct call *c, const struct step *s) {
    struct ht_pack_args args[2];
    (void)s;
    for (int side = 0; side < 2; side++) {
        const struct pack_side x = {side, &c->plan->layout[side], c->of[side].place, 0, NULL,
                                    sample_words_of(c)};
        args[side] = slices_pack_args(c, c->plan->scheme, &x, 0);
        args[side].batch = args[side].sample_alone = 1;
    }
    return ht_launched(c->h, c->plan->scheme->pack(args, 2, c->h->stream));
}

static const struct step_kind slices_packing = {launch_packing, ready_slices, false, false},
                              slices_sample = {launch_sample, ready_slices, false, false};

/* Packing has set the count of failed results to 0 once; what was packed before, and further slices of the
 * batch, need it again. */
static int clear_failed_count(const struct call *c) {
    int *const count = failed_count_of(c);
    if (count == NULL || (!c->is_packed && c->entry == 0))
        return HALFTONE_OK;
    return ht_fail_device(c->h, ht_dev_memset_async(count, 0, sizeof *count, c->h->stream));
}

static int launch_gemm(struct call *c, const struct step *s) {
    const struct ht_gemm_args args = gemm_args_of(c);
    const int code = clear_failed_count(c);
    return code != HALFTONE_OK
               ? code
               : ht_launched(c->h, ht_launch_gemm(&c->half->set->kernel[s->kernel], &args, c->h->stream));
}

static int launch_fallback(struct call *c, const struct step *s) {
    struct ht_gemm_args args = gemm_args_of(c);
    args.splits = 1;
    return ht_launched(c->h, ht_launch_gemm(&c->half->set->kernel[s->kernel], &args, c->h->stream));
}

static int launch_reduce(struct call *c, const struct step *s) {
    const struct ht_gemm_args args = gemm_args_of(c);
    const struct ht_scheme_desc *const scheme = c->plan->scheme; /* NULL: only C is scaled */
    const bool is_own = scheme != NULL && scheme->reduce != NULL;
    (void)s;
    return ht_launched(c->h, (is_own ? scheme->reduce : c->half->set->reduce)(&args, c->h->stream));
}

/* Of the large matrix so many rows from `row` on. */
static int launch_some_rows(const struct call *c, struct ht_pack_args w, struct ht_gemm_args args,
                            int64_t row) {
    const struct plan *const p = c->plan;
    const bool of_b = large_side(c) == 1;
    struct ht_packed *const large = of_b ? &args.b_packed : &args.a_packed;
    int *const rows = of_b ? &args.n : &args.m;
    w.src += row * (w.k_contiguous ? w.ld : 1);
    w.rows = *rows = (int)least_of(p->few_rows, w.rows - row);
    w.to.row_absmax = large->row_absmax += row;
    large->panels = NULL;
    args.to.c = (float *)args.to.c + row * (of_b ? args.to.ldc : 1);
    const int code = ht_launched(c->h, p->scheme->few_rows(&w, &args, c->h->stream));
    if (code != HALFTONE_OK || args.splits == 1)
        return code;
    return ht_launched(c->h, p->scheme->reduce(&args, c->h->stream));
}

/* Packs the few rows, and multiplies. The exchange of both is the handle's, or that of the large matrix is
 * made clean here, first. */
static int launch_few_rows(struct call *c, const struct step *s) {
    halftone *const h = c->h;
    const struct ht_scheme_desc *const scheme = c->plan->scheme;
    const int large = large_side(c);
    const struct packed_layout *const layout = c->plan->layout;
    const struct pack_side sides[2] = {{1 - large, &layout[1 - large], c->of[1 - large].place, 0, NULL, NULL},
                                       {large, &layout[large], c->of[large].place, 0, NULL, NULL}};
    struct ht_pack_args x[2] = {slices_pack_args(c, scheme, &sides[0], 0),
                                slices_pack_args(c, scheme, &sides[1], 0)};
    struct own_block *const exchange =
        c->workspace.source == SOURCE_HANDLE ? ht_attach_exchange(h, sides, x, 2) : NULL;
    const size_t bytes = (size_t)sides[1].layout->exchange_ints * sizeof(int);
    int code = HALFTONE_OK;
    (void)s;
    if (!x[1].exchange_is_reset)
        code = ht_fail_device(h, ht_dev_memset_async(x[1].absmax_exchange, 0xff, bytes, h->stream));
    AND_THEN(code, ht_launched(h, scheme->pack(x, 1, h->stream)));
    for (int64_t row = 0; row < x[1].rows && code == HALFTONE_OK; row += c->plan->few_rows)
        code = launch_some_rows(c, x[1], gemm_args_of(c), row);
    if (code != HALFTONE_OK && exchange != NULL)
        exchange->is_reset = false; /* nobody knows how far they came */
    return code;
}

static int launch_one_row(struct call *c, const struct step *s) {
    struct ht_gemm_args args = gemm_args_of(c);
    (void)s;
    if (!c->is_packed)
        args.a_packed.panels = args.b_packed.panels = NULL;
    return ht_launched(c->h, c->plan->scheme->one_row(&args, c->h->stream));
}

static const struct step_kind slices_gemm = {launch_gemm, NULL, true, false},
                              slices_one_row = {launch_one_row, NULL, true, false},
                              slices_few_rows = {launch_few_rows, ready_slices, true, false},
                              slices_fallback = {launch_fallback, NULL, true, false},
                              slices_reduce = {launch_reduce, NULL, true, true};

void ht_lay_out_scaling(struct plan *p) {
    memset(p, 0, sizeof *p);
    ht_add_step(p, &slices_reduce, NO_KERNEL);
}

static void lay_out_operands(const struct call *c, struct plan *p) {
    for (int side = 0; side < 2; side++) {
        p->layout[side] = slices_layout_of(p->scheme, rows_of(c, side), c->k, entries_of(c, side));
        if (p->checked)
            add_certificate(p->scheme, false, &p->layout[side]);
    }
    p->k_blocks = (int)ht_k_blocks(p->scheme, c->k);
    if (!p->checked)
        return;
    p->failed_blocks = ht_mul(ht_failed_blocks(c), grid_batch(c->batch));
    const int64_t entries = p->fallback != NO_KERNEL ? ht_failed_capacity(p->failed_blocks) : 0;
    p->failed_bytes = round_up(
        ht_add(ht_mul(p->failed_blocks, HT_FAILED_BYTES), entries * (int64_t)sizeof(int)), WS_ALIGNMENT);
}

static int64_t partials_of(int64_t m, int64_t n, int64_t batch, int splits, const struct plan *p) {
    return round_up(ht_partial_bytes(m, n, grid_batch(batch), splits, ht_partial_size(p->scheme->exact_k)),
                    WS_ALIGNMENT);
}

/* Without a limit a product of packed operands, which has its own parts, must find place as well. */
static int64_t packed_partials_of(const struct call *c, const struct plan *p) {
    return c->h->workspace_limit > 0 ? 0 : partials_of(c->m, c->n, 1, p->packed_splits, p);
}

static int lay_out_one_row(const struct call *c, struct plan *p) {
    if (c->is_packed)
        lay_out_operands(c, p);
    ht_add_step(p, &slices_one_row, NO_KERNEL)->needs[WS_PARTIALS] = packed_partials_of(c, p);
    return ht_lay_out_workspace(c->h, p);
}

static int lay_out_few_rows(const struct call *c, struct plan *p) {
    const int large = large_side(c);
    const int64_t own = partials_of(p->few_rows, rows_of(c, 1 - large), 1, p->splits, p),
                  packed = packed_partials_of(c, p);
    lay_out_operands(c, p);
    p->layout[large].panel_bytes = 0;
    ht_add_packing(p, &slices_few_rows, NO_KERNEL)->needs[WS_PARTIALS] = own > packed ? own : packed;
    return ht_lay_out_workspace(c->h, p);
}

/* ---- operands of 16 bits */

static struct ht_widen_args widen_args_of(const struct call *c, int side, int64_t entry, int64_t most) {
    const struct call_operand *const o = &c->of[side];
    const struct ht_view to = ht_view_of(c, side, entry);
    struct ht_widen_args args = HT_ZERO;
    args.src = (const char *)o->src + entry * o->stride * (int64_t)operand_bytes(c);
    args.to = (float *)(uintptr_t)to.src;
    args.ld = o->ld;
    args.src_stride = o->stride;
    args.to_ld = to.ld;
    args.to_stride = to.stride;
    args.length = (int)stored_rows(c, side);
    args.lines = (int)stored_cols(c, side);
    args.batch = (int)least_of(most, entries_of(c, side) > entry ? entries_of(c, side) - entry : 0);
    args.is_bf16 = c->narrow == HALFTONE_BF16;
    return args;
}

static int launch_widening(struct call *c, const struct step *s) {
    const int64_t most = HT_GRID_BATCH / 2;
    int code = HALFTONE_OK;
    (void)s;
    for (int64_t entry = 0; entry < c->batch && code == HALFTONE_OK; entry += most) {
        const struct ht_widen_args both[2] = {widen_args_of(c, 0, entry, most),
                                              widen_args_of(c, 1, entry, most)};
        if (both[0].batch + both[1].batch > 0)
            code = ht_launched(c->h, c->h->half[0].set->widen(both, 2, c->h->stream));
    }
    return code;
}

static const struct step_kind widening = {launch_widening, NULL, false, false};

void ht_add_widening(const struct call *c, struct plan *p) {
    struct step *const s = ht_add_step(p, &widening, NO_KERNEL);
    for (int side = 0; side < 2; side++)
        s->needs[WS_WIDE + side] = region_bytes(
            ht_mul(ht_mul(wide_ld(c, side), stored_cols(c, side)), entries_of(c, side)), sizeof(float));
}

/* ---- products over ranks */

static int launch_measuring(struct call *c, const struct step *s) {
    struct pack_side sides[2];
    int count = 0;
    (void)s;
    for (int side = 0; side < 2; side++) {
        const struct pack_side one = {side, &c->plan->layout[side], c->of[side].place, 0, NULL, NULL};
        if (c->of[side].packs)
            sides[count++] = one;
    }
    return ht_pack_slices(c, c->plan->scheme, sides, count, c->workspace.source);
}

/* As the reduction makes it of partials. */
static int launch_finish(struct call *c, const struct step *s) {
    struct ht_gemm_args args = HT_ZERO;
    (void)s;
    args.to = ht_result_of(c, 0);
    args.m = (int)c->m;
    args.n = (int)c->n;
    args.batch = args.splits = 1;
    args.partial = (float *)(void *)c->partial;
    args.a_packed.row_absmax = c->of[0].absmax;
    args.b_packed.row_absmax = c->of[1].absmax;
    return ht_launched(c->h, c->plan->scheme->reduce(&args, c->h->stream));
}

static const struct step_kind ranks_measuring = {launch_measuring, ready_slices, false, false},
                              ranks_finish = {launch_finish, NULL, true, true};

/* The product leaves its sums to the reduction, so it has splits, none of them empty. */
int ht_lay_out_ranks(const struct call *c, struct plan *p) {
    struct call padded = *c;
    int code = HALFTONE_OK;
    if (c->ranks == RANKS_FINISH)
        ht_add_step(p, &ranks_finish, NO_KERNEL);
    if (c->ranks == RANKS_MAXIMA) {
        lay_out_operands(c, p);
        p->layout[0].panel_bytes = p->layout[1].panel_bytes = 0;
        ht_add_packing(p, &ranks_measuring, NO_KERNEL);
    }
    if (c->ranks == RANKS_PARTIAL) {
        padded.k = at_least_one(c->k);
        if ((code = ht_select(&padded, p)) != HALFTONE_OK)
            return code;
        const int64_t least = 2 * (int64_t)p->set->kernel[p->kernel].tile.step_k;
        padded.k = c->k > least ? c->k : least;
        p->splits = p->splits > 1 ? p->splits : 2;
        return ht_lay_out_slices(&padded, p);
    }
    return ht_lay_out_workspace(c->h, p);
}

int ht_lay_out_slices(const struct call *c, struct plan *p) {
    if (p->few_rows > 0)
        return lay_out_few_rows(c, p);
    if (p->is_one_row)
        return lay_out_one_row(c, p);
    if (!reads_matrices(p)) {
        lay_out_operands(c, p);
        if (!c->is_packed)
            ht_add_packing(p, &slices_packing, NO_KERNEL)->needs[WS_FLAGS] = p->checked ? WS_ALIGNMENT : 0;
        else if (p->is_sampled)
            ht_add_step(p, &slices_sample, NO_KERNEL);
    }
    ht_add_step(p, &slices_gemm, p->kernel)->needs[WS_PARTIALS] =
        partials_of(c->m, c->n, c->batch, p->splits, p);
    if (p->splits > 1)
        ht_add_step(p, &slices_reduce, NO_KERNEL);
    if (p->checked && p->before_fallback != NO_KERNEL)
        ht_add_step(p, &slices_fallback, p->before_fallback);
    if (p->checked && p->fallback != NO_KERNEL)
        ht_add_step(p, &slices_fallback, p->fallback);
    if (p->checked) {
        p->step[p->steps - 1].needs[WS_FAILED] = p->failed_bytes;
        p->step[p->steps - 1].needs[WS_FLAGS] = WS_ALIGNMENT;
    }
    return ht_lay_out_workspace(c->h, p);
}
