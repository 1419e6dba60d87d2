/* ht_steps.c: what a call launches: packing, the fallback, the product, the reduction. */
#include "ht_call.h"

static int make_ready(halftone *h, int (*init)(void), unsigned char *ready) {
    if (*ready)
        return HALFTONE_OK;
    int code = ht_fail_device(h, ht_dev_check(init()));
    if (code == HALFTONE_OK)
        *ready = 1;
    return code;
}

static int ready_kernel(halftone *h, int kernel) {
    return make_ready(h, h->set->kernel[kernel].init, &h->ready[kernel]);
}

static int ready_packing(halftone *h, const struct ht_scheme_desc *scheme) {
    return make_ready(h, scheme->pack_init, &h->ready[h->set->kernels + (scheme - h->set->scheme)]);
}

/* ---- packing ---- */

/* Arguments for the entries from `entry` on, as many as a grid can hold. Each entry has room for the
 * exchange behind its rows' absmax. */
static struct ht_pack_args pack_args(const struct ht_scheme_desc *scheme, const struct pack_source *x,
                                     int64_t entry) {
    const struct packed_layout *o = x->layout;
    int64_t batch = o->entries - entry, rows = ht_ceil_div(o->rows, HT_ATOM_ROWS) * HT_ATOM_ROWS;
    int *absmax = scheme->scales_rows ? (int *)(void *)x->absmax + entry * o->absmax_stride : NULL;
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = x->src + entry * x->stride;
    args.panels = (unsigned char *)x->panels + entry * o->panel_stride;
    args.exponents = absmax;
    args.meeting = absmax != NULL ? absmax + rows : NULL;
    args.ld = x->ld;
    args.src_stride = x->stride;
    args.panel_stride = o->panel_stride;
    args.exponent_stride = o->absmax_stride;
    args.meeting_stride = o->absmax_stride;
    args.rows = (int)o->rows;
    args.k = (int)o->k;
    args.k_blocks = (int)ht_k_blocks(scheme, o->k);
    args.k_contiguous = x->k_contiguous;
    args.batch = (int)grid_batch(batch);
    if (x->range_counts == NULL)
        return args;
    args.tame = (int *)(void *)(x->range_counts + FLAG_BYTES) + entry * o->range_stride;
    args.tame_stride = o->range_stride;
    args.alarm = (int *)(void *)x->flag;
    args.copy = (float *)(void *)x->copy;
    args.copy_stride = o->copy_stride;
    args.tiles = x->tiles;
    return args;
}

static int launch_pack(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_source *x,
                       struct ht_pack_args *args, int count) {
    for (int i = 0; i < count; i++)
        args[i].call = h->pack_calls;
    ht_attach_exchange(h, x, args, count);
    int code = ht_fail_device(h, ht_dev_check(scheme->pack(args, count, h->stream)));
    if (code != HALFTONE_OK)
        h->exchange_is_reset = false; /* nobody knows how far it came */
    return code;
}

int ht_pack_operands(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_source *x,
                     int count) {
    const int ready = ready_packing(h, scheme);
    if (ready != HALFTONE_OK)
        return ready;
    h->pack_calls = h->pack_calls < INT32_MAX ? h->pack_calls + 1 : 1;
    if (count == 2 && x[0].layout->entries + x[1].layout->entries <= HT_GRID_BATCH) {
        struct ht_pack_args both[2] = {pack_args(scheme, &x[0], 0), pack_args(scheme, &x[1], 0)};
        return launch_pack(h, scheme, x, both, 2);
    }
    for (int i = 0; i < count; i++) {
        for (int64_t entry = 0; entry < x[i].layout->entries; entry += HT_GRID_BATCH) {
            struct ht_pack_args args = pack_args(scheme, &x[i], entry);
            int code = launch_pack(h, scheme, &x[i], &args, 1);
            if (code != HALFTONE_OK)
                return code;
        }
    }
    return HALFTONE_OK;
}

/* Packs A and B into the workspace. */
static int pack_both(halftone *h, const struct plan *p, const struct gemm_call *x, char *workspace,
                     struct packed_call *out) {
    const bool checked = p->checked;
    char *am = workspace + p->a_absmax_at, *bm = workspace + p->b_absmax_at;
    char *ap = workspace + p->a_panels_at, *bp = workspace + p->b_panels_at;
    char *ar = checked ? workspace + p->a_range_at : NULL, *br = checked ? workspace + p->b_range_at : NULL;
    char *flags = workspace + p->flags_at;
    const struct pack_source sources[2] = {
        {&p->a, x->a, x->lda, x->stride_a, is_trans(x->transa), am, ap, flags, ar, NULL, p->tiles},
        {&p->b, x->b, x->ldb, x->stride_b, !is_trans(x->transb), bm, bp, flags + FLAG_BYTES, br, NULL,
         p->tiles},
    };
    const struct packed_call there = {am, bm, ap, bp, flags, flags + FLAG_BYTES, ar, br, NULL, NULL};
    *out = there;
    return ht_pack_operands(h, p->scheme, sources, 2);
}

/* Finds what lies in the caller's packed operands, which were packed for `scheme`. */
static struct packed_call caller_packed(const halftone *h, const struct ht_scheme_desc *scheme,
                                        const struct gemm_call *x) {
    const struct packed_layout a = ht_operand_layout(h, scheme, x->m, x->k),
                               b = ht_operand_layout(h, scheme, x->n, x->k);
    struct packed_call at;
    at.a_absmax = x->packed_a;
    at.b_absmax = x->packed_b;
    at.a_panels = at.a_absmax + a.absmax_bytes;
    at.b_panels = at.b_absmax + b.absmax_bytes;
    at.a_range_counts = at.a_panels + a.panel_bytes;
    at.b_range_counts = at.b_panels + b.panel_bytes;
    at.a_flag = at.a_range_counts;
    at.b_flag = at.b_range_counts;
    at.a_copy = at.a_range_counts + a.range_bytes;
    at.b_copy = at.b_range_counts + b.range_bytes;
    return at;
}

/* The call with the matrices that packed operands hold instead of the caller's. */
static struct gemm_call with_copies(const struct ht_scheme_desc *scheme, const struct gemm_call *x,
                                    const struct packed_call *at) {
    struct gemm_call y = *x;
    y.a = (const float *)(const void *)at->a_copy;
    y.b = (const float *)(const void *)at->b_copy;
    y.transa = 'T'; /* k contiguous */
    y.transb = 'N';
    y.lda = y.ldb = ht_padded_k(scheme, x->k);
    return y;
}

/* ---- product ---- */

/* Everything about C and the scalars; splits 0 makes reduce scale C. */
static struct ht_gemm_args args_of(const halftone *h, const struct gemm_call *x) {
    bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_gemm_args args;
    memset(&args, 0, sizeof args);
    args.c = x->c;
    args.alpha_ptr = on_device ? x->alpha : NULL;
    args.beta_ptr = on_device ? x->beta : NULL;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.alpha = on_device ? 0.0f : *x->alpha;
    args.beta = on_device ? 0.0f : *x->beta;
    return args;
}

/* The operands of an unpacked kernel. */
static void add_sources(const struct plan *p, const struct gemm_call *x, struct ht_gemm_args *args) {
    args->a_src = x->a;
    args->b_src = x->b;
    args->a_ld = x->lda;
    args->b_ld = x->ldb;
    args->a_src_stride = x->stride_a;
    args->b_src_stride = x->stride_b;
    args->a_k_contiguous = is_trans(x->transa);
    args->b_k_contiguous = !is_trans(x->transb);
    args->k = (int)x->k;
    args->fma_only = p->fma_only;
}

static void add_panels(const struct plan *p, const struct packed_call *at, struct ht_gemm_args *args) {
    const bool many_a = p->a.entries > 1, many_b = p->b.entries > 1;
    args->k_blocks = p->k_blocks;
    args->a_panels = (const unsigned char *)at->a_panels;
    args->b_panels = (const unsigned char *)at->b_panels;
    args->a_stride = many_a ? p->a.panel_stride : 0;
    args->b_stride = many_b ? p->b.panel_stride : 0;
    if (!p->scheme->scales_rows)
        return;
    args->a_exponents = (const int *)(const void *)at->a_absmax;
    args->b_exponents = (const int *)(const void *)at->b_absmax;
    args->a_exponent_stride = many_a ? p->a.absmax_stride : 0;
    args->b_exponent_stride = many_b ? p->b.absmax_stride : 0;
}

/* What the data check found, for the kernel that leaves blocks alone and the one that computes them, which
 * may be the same. */
static void add_verdict(const struct plan *p, const struct packed_call *at, int64_t k,
                        struct ht_gemm_args *args) {
    args->a_alarm = (const int *)(const void *)at->a_flag;
    args->b_alarm = (const int *)(const void *)at->b_flag;
    args->a_tame = (const int *)(const void *)(at->a_range_counts + FLAG_BYTES);
    args->b_tame = (const int *)(const void *)(at->b_range_counts + FLAG_BYTES);
    args->a_tame_stride = p->a.entries > 1 ? p->a.range_stride : 0;
    args->b_tame_stride = p->b.entries > 1 ? p->b.range_stride : 0;
    args->pieces = (int)ht_checked_pieces(p->scheme, p->tiles, k);
    args->parts = ht_checked_parts(p->tiles);
    args->rescues = p->fallback == NO_KERNEL;
}

static int launch_kernel(halftone *h, int kernel, const struct ht_gemm_args *args) {
    return kernel == NO_KERNEL
               ? HALFTONE_OK
               : ht_fail_device(h, ht_dev_check(h->set->kernel[kernel].launch(args, h->stream)));
}

/* Moves on to the entries of a batch that the next grid takes. */
static void next_entries(struct ht_gemm_args *args) {
    args->c += HT_GRID_BATCH * args->c_stride;
    if (args->a_panels != NULL) {
        args->a_panels += HT_GRID_BATCH * args->a_stride;
        args->b_panels += HT_GRID_BATCH * args->b_stride;
    }
    if (args->a_exponents != NULL) {
        args->a_exponents += HT_GRID_BATCH * args->a_exponent_stride;
        args->b_exponents += HT_GRID_BATCH * args->b_exponent_stride;
    }
    if (args->a_src != NULL) {
        args->a_src += HT_GRID_BATCH * args->a_src_stride;
        args->b_src += HT_GRID_BATCH * args->b_src_stride;
    }
    if (args->a_tame != NULL) {
        args->a_tame += HT_GRID_BATCH * args->a_tame_stride;
        args->b_tame += HT_GRID_BATCH * args->b_tame_stride;
    }
}

/* Launches fallback, kernel (unless NO_KERNEL) and reduction over slices of the batch that a grid can
 * hold. The fallback comes first: nothing that a launch behind the product has to wait for could begin
 * before the product leaves the SMs. */
static int launch(halftone *h, int kernel, int fallback, struct ht_gemm_args args, int64_t batch) {
    const struct ht_scheme_desc *scheme =
        kernel != NO_KERNEL ? ht_find_scheme(h->set, h->set->kernel[kernel].scheme) : NULL;
    int (*reduce)(const struct ht_gemm_args *, void *) =
        scheme != NULL && scheme->reduce != NULL ? scheme->reduce : h->set->reduce;
    for (int64_t done = 0; done < batch; done += HT_GRID_BATCH) {
        args.batch = (int)grid_batch(batch - done);
        struct ht_gemm_args whole = args;
        whole.splits = 1;
        int code = launch_kernel(h, fallback, &whole);
        if (code == HALFTONE_OK)
            code = launch_kernel(h, kernel, &args);
        if (code == HALFTONE_OK && args.splits != 1)
            code = ht_fail_device(h, ht_dev_check(reduce(&args, h->stream)));
        if (code != HALFTONE_OK)
            return code;
        next_entries(&args);
    }
    return HALFTONE_OK;
}

int ht_scale(halftone *h, const struct gemm_call *x) {
    return launch(h, NO_KERNEL, NO_KERNEL, args_of(h, x), x->batch);
}

int ht_multiply(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *packed_for) {
    const struct plan *p = NULL;
    struct packed_call at;
    char *workspace = NULL;
    const bool is_packed = packed_for != NULL;
    int64_t a_entries = is_packed ? 0 : x->stride_a == 0 ? 1 : x->batch;
    int64_t b_entries = is_packed ? 0 : x->stride_b == 0 ? 1 : x->batch;
    int code = ht_plan_call(h, x, a_entries, b_entries, &p);
    if (code == HALFTONE_OK)
        code = ht_get_workspace(h, (size_t)p->bytes, &workspace);
    if (code == HALFTONE_OK)
        code = ready_kernel(h, p->kernel);
    if (code == HALFTONE_OK && p->fallback != NO_KERNEL)
        code = ready_kernel(h, p->fallback);
    const bool unpacked = code == HALFTONE_OK && h->set->kernel[p->kernel].direct;
    if (code == HALFTONE_OK && is_packed)
        at = caller_packed(h, packed_for, x);
    else if (code == HALFTONE_OK && !unpacked)
        code = pack_both(h, p, x, workspace, &at);
    if (code != HALFTONE_OK)
        return code;
    struct ht_gemm_args args = args_of(h, x);
    args.splits = p->splits;
    args.partial = p->splits > 1 ? (float *)(void *)(workspace + p->partials_at) : NULL;
    const struct gemm_call read =
        is_packed && ht_has_check(h, packed_for) ? with_copies(packed_for, x, &at) : *x;
    if (unpacked || p->checked)
        add_sources(p, &read, &args);
    if (!unpacked)
        add_panels(p, &at, &args);
    if (p->checked)
        add_verdict(p, &at, x->k, &args);
    return launch(h, p->kernel, p->fallback, args, x->batch);
}
