/* ht_steps.c: launches the steps of a plan: packing, the fallback, the product, the reduction. */
#include "ht_call.h"

static int make_ready(halftone *h, int (*init)(void), unsigned char *ready) {
    if (*ready)
        return HALFTONE_OK;
    int code = ht_fail_device(h, ht_dev_check(init()));
    if (code == HALFTONE_OK)
        *ready = 1;
    return code;
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
    int *absmax = scheme->scales ? (int *)(void *)x->to.absmax + entry * o->absmax_stride : NULL;
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = (const float *)x->src + entry * x->stride;
    args.panels = (unsigned char *)x->to.panels + entry * o->panel_stride;
    args.row_absmax = absmax;
    args.absmax_exchange = scheme->scales == HT_SCALES_ROWS ? absmax + rows : NULL;
    args.scale_rows = x->is_b ? HT_SCALE_B_COLS : HT_SCALE_A_ROWS;
    args.ld = x->ld;
    args.src_stride = x->stride;
    args.panel_stride = o->panel_stride;
    args.absmax_stride = o->absmax_stride;
    args.exchange_stride = o->absmax_stride;
    args.rows = (int)o->rows;
    args.k = (int)o->k;
    args.k_blocks = (int)ht_k_blocks(scheme, o->k);
    args.k_contiguous = x->k_contiguous;
    args.batch = (int)grid_batch(batch);
    if (x->to.row_sums == NULL)
        return args;
    args.row_sums = (int *)(void *)(x->to.row_sums + FLAG_BYTES) + entry * o->sums_stride;
    args.sums_stride = o->sums_stride;
    args.any_flag = (int *)(void *)x->to.flag;
    args.failed_count = x->failed_count;
    args.copy = (float *)(void *)x->to.copy;
    args.copy_stride = o->copy_stride;
    args.tiles = x->tiles;
    return args;
}

/* With scales of tiles blocks write what they find beside zeros (ht_pack_args, row_sums). */
static int clear_sums(halftone *h, const struct ht_scheme_desc *scheme, const struct ht_pack_args *args, int count) {
    int code = HALFTONE_OK;
    for (int i = 0; code == HALFTONE_OK && i < count && scheme->scales == HT_SCALES_TILES; i++) {
        const size_t ints = (size_t)args[i].sums_stride * (size_t)args[i].batch;
        if (args[i].row_sums != NULL)
            code = ht_fail_device(h, ht_dev_memset_async(args[i].row_sums, 0, ints * sizeof(int), h->stream));
    }
    return code;
}

static int launch_pack(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_source *x,
                       struct ht_pack_args *args, int count, enum ws_source memory) {
    struct context *c = NULL;
    for (int i = 0; i < count; i++)
        args[i].epoch = h->pack_epoch;
    if (memory == SOURCE_HANDLE)
        c = ht_attach_exchange(h, x, args, count);
    int code = clear_sums(h, scheme, args, count);
    if (code == HALFTONE_OK)
        code = ht_fail_device(h, ht_dev_check(scheme->pack(args, count, h->stream)));
    if (code != HALFTONE_OK && c != NULL)
        c->exchange_is_reset = false; /* nobody knows how far it came */
    return code;
}

int ht_pack_operands(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_source *x, int count,
                     enum ws_source memory) {
    const int ready = ready_packing(h, scheme);
    if (ready != HALFTONE_OK)
        return ready;
    h->pack_epoch = h->pack_epoch < INT32_MAX ? h->pack_epoch + 1 : 1;
    if (count == 2 && x[0].layout->entries + x[1].layout->entries <= HT_GRID_BATCH) {
        struct ht_pack_args both[2] = {pack_args(scheme, &x[0], 0), pack_args(scheme, &x[1], 0)};
        return launch_pack(h, scheme, x, both, 2, memory);
    }
    for (int i = 0; i < count; i++) {
        for (int64_t entry = 0; entry < x[i].layout->entries; entry += HT_GRID_BATCH) {
            struct ht_pack_args args = pack_args(scheme, &x[i], entry);
            int code = launch_pack(h, scheme, &x[i], &args, 1, memory);
            if (code != HALFTONE_OK)
                return code;
        }
    }
    return HALFTONE_OK;
}

/* The call with the matrices that the caller's packed operands hold instead of its own. */
static struct gemm_call with_copies(const struct ht_scheme_desc *scheme, const struct gemm_call *x,
                                    const struct packed_place *a, const struct packed_place *b) {
    struct gemm_call y = *x;
    y.a = (const float *)(void *)a->copy;
    y.b = (const float *)(void *)b->copy;
    y.transa = 'T'; /* k contiguous */
    y.transb = 'N';
    y.lda = y.ldb = ht_padded_k(scheme, x->k);
    return y;
}

/* ---- arguments of the product ---- */

/* Everything about C and the scalars; splits 0 makes reduce scale C. */
static struct ht_gemm_args args_of(const halftone *h, const struct gemm_call *x) {
    bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_gemm_args args;
    memset(&args, 0, sizeof args);
    args.c = (float *)x->c;
    args.alpha_ptr = on_device ? (const float *)x->alpha : NULL;
    args.beta_ptr = on_device ? (const float *)x->beta : NULL;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.alpha = on_device ? 0.0f : *(const float *)x->alpha;
    args.beta = on_device ? 0.0f : *(const float *)x->beta;
    return args;
}

/* The operands of an unpacked kernel. */
static void add_sources(const struct plan *p, const struct gemm_call *x, struct ht_gemm_args *args) {
    args->a_src = (const float *)x->a;
    args->b_src = (const float *)x->b;
    args->a_ld = x->lda;
    args->b_ld = x->ldb;
    args->a_src_stride = x->stride_a;
    args->b_src_stride = x->stride_b;
    args->a_k_contiguous = is_trans(x->transa);
    args->b_k_contiguous = !is_trans(x->transb);
    args->k = (int)x->k;
    args->fma_only = p->fma_only;
}

static void add_panels(const struct plan *p, const struct packed_place *a, const struct packed_place *b,
                       struct ht_gemm_args *args) {
    const bool many_a = p->a.entries > 1, many_b = p->b.entries > 1;
    args->k_blocks = p->k_blocks;
    args->a_panels = (unsigned char *)a->panels;
    args->b_panels = (unsigned char *)b->panels;
    args->a_stride = many_a ? p->a.panel_stride : 0;
    args->b_stride = many_b ? p->b.panel_stride : 0;
    if (p->scheme->scales == HT_SCALES_NONE)
        return;
    args->a_row_absmax = (int *)(void *)a->absmax;
    args->b_col_absmax = (int *)(void *)b->absmax;
    args->a_absmax_stride = many_a ? p->a.absmax_stride : 0;
    args->b_absmax_stride = many_b ? p->b.absmax_stride : 0;
}

/* How many results the launch behind the product finds in the list; NULL: there is none. */
static int *failed_count_of(const struct plan *p, char *workspace) {
    return p->checked && p->fallback != NO_KERNEL ? (int *)(void *)(workspace + p->at[WS_FLAGS] + 2 * FLAG_BYTES) : NULL;
}

/* What the certificate reads, and where it leaves what it has not cleared. */
static void add_sums(const struct plan *p, const struct packed_place *a, const struct packed_place *b,
                     char *workspace, void *recomputed, struct ht_gemm_args *args) {
    args->a_any_flag = (int *)(void *)a->flag;
    args->b_any_flag = (int *)(void *)b->flag;
    args->a_row_sums = (int *)(void *)(a->row_sums + FLAG_BYTES);
    args->b_row_sums = (int *)(void *)(b->row_sums + FLAG_BYTES);
    args->a_sums_stride = p->a.entries > 1 ? p->a.sums_stride : 0;
    args->b_sums_stride = p->b.entries > 1 ? p->b.sums_stride : 0;
    args->failed = (unsigned *)(void *)(workspace + p->at[WS_FAILED]);
    args->failed_list = args->failed + p->failed_blocks * (HT_FAILED_BYTES / (int64_t)sizeof(int));
    args->failed_capacity = (int)ht_failed_capacity(p->failed_blocks);
    args->failed_count = failed_count_of(p, workspace);
    args->fallback_in_kernel = p->fallback == NO_KERNEL;
    args->recomputed = (long long *)recomputed;
    args->scales_tiles = p->scheme->scales == HT_SCALES_TILES;
}

/* Moves on to the entries of a batch that the next grid takes. */
static void next_entries(struct ht_gemm_args *args) {
    args->c += HT_GRID_BATCH * args->c_stride;
    if (args->a_panels != NULL) {
        args->a_panels += HT_GRID_BATCH * args->a_stride;
        args->b_panels += HT_GRID_BATCH * args->b_stride;
    }
    if (args->a_row_absmax != NULL) {
        args->a_row_absmax += HT_GRID_BATCH * args->a_absmax_stride;
        args->b_col_absmax += HT_GRID_BATCH * args->b_absmax_stride;
    }
    if (args->a_src != NULL) {
        args->a_src += HT_GRID_BATCH * args->a_src_stride;
        args->b_src += HT_GRID_BATCH * args->b_src_stride;
    }
    if (args->a_row_sums != NULL) {
        args->a_row_sums += HT_GRID_BATCH * args->a_sums_stride;
        args->b_row_sums += HT_GRID_BATCH * args->b_sums_stride;
    }
}

/* ---- steps ---- */

static int ready_pack(halftone *h, const struct plan *p, const struct step *s) {
    (void)s;
    return ready_packing(h, p->scheme);
}

static int launch_pack_step(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct plan *p = r->plan;
    const struct gemm_call *x = r->call;
    const struct pack_source sources[2] = {
        {&p->a, x->a, x->lda, x->stride_a, is_trans(x->transa), r->a, 0, false, failed_count_of(p, r->workspace.at)},
        {&p->b, x->b, x->ldb, x->stride_b, !is_trans(x->transb), r->b, 0, true, NULL},
    };
    (void)s;
    return ht_pack_operands(h, p->scheme, sources, 2, r->workspace.source);
}

static int ready_kernel(halftone *h, const struct plan *p, const struct step *s) {
    return make_ready(h, p->set->kernel[s->kernel].init,
                      (p->set == h->set64 ? h->ready64 : h->ready) + s->kernel);
}

static int launch_fallback(halftone *h, const struct gemm_run *r, const struct step *s) {
    struct ht_gemm_args whole = r->args;
    whole.splits = 1;
    return ht_fail_device(h, ht_dev_check(h->set->kernel[s->kernel].launch(&whole, h->stream)));
}

/* Packing has set the count of failed results to 0 once; what was packed before, and further slices of the batch, need it again. */
static int clear_failed_count(halftone *h, const struct gemm_run *r) {
    if (r->args.failed_count == NULL || (r->plan->step[0].kind == STEP_PACK && r->entry == 0))
        return HALFTONE_OK;
    return ht_fail_device(h, ht_dev_memset_async(r->args.failed_count, 0, sizeof *r->args.failed_count, h->stream));
}

static int launch_gemm(halftone *h, const struct gemm_run *r, const struct step *s) {
    const int code = clear_failed_count(h, r);
    if (code != HALFTONE_OK)
        return code;
    return ht_fail_device(h, ht_dev_check(h->set->kernel[s->kernel].launch(&r->args, h->stream)));
}

static int always_ready(halftone *h, const struct plan *p, const struct step *s) {
    (void)h, (void)p, (void)s;
    return HALFTONE_OK;
}

static int launch_reduce(halftone *h, const struct gemm_run *r, const struct step *s) {
    const struct ht_scheme_desc *scheme = r->plan->scheme; /* NULL: only C is scaled */
    const bool is_own = scheme != NULL && scheme->reduce != NULL;
    (void)s;
    return ht_fail_device(h, ht_dev_check((is_own ? scheme->reduce : h->set->reduce)(&r->args, h->stream)));
}

/* By enum step_kind. */
static const struct {
    int (*ready)(halftone *h, const struct plan *p, const struct step *s); /* before anything is launched */
    int (*launch)(halftone *h, const struct gemm_run *r, const struct step *s);
    bool sliced; /* once for each slice of the batch that a grid can hold; the others come before these */
} step_kinds[] = {{ready_pack, launch_pack_step, false},
                  {ready_kernel, launch_gemm, true},
                  {always_ready, launch_reduce, true},
                  {ready_kernel, launch_fallback, true},
                  {ready_kernel, ht_launch_native64, true},
                  {ht_ready_residues, ht_launch_crt_pack, false},
                  {ready_kernel, ht_launch_crt_product, true},
                  {ready_kernel, ht_launch_ozaki, true},
                  {always_ready, ht_launch_reduce64, true}};

/* Split-K partials come to C by the step behind them. */
static bool writes_c(const struct plan *p, int step) {
    const enum step_kind next = step + 1 < p->steps ? p->step[step + 1].kind : STEP_GEMM;
    return step_kinds[p->step[step].kind].sliced && next != STEP_REDUCE && next != STEP_REDUCE64;
}

static int launch_steps(halftone *h, const struct gemm_run *r, bool sliced) {
    int code = HALFTONE_OK;
    for (int i = 0; i < r->plan->steps && code == HALFTONE_OK; i++) {
        const struct step *s = &r->plan->step[i];
        if (step_kinds[s->kind].sliced != sliced)
            continue;
        code = step_kinds[s->kind].launch(h, r, s);
        h->changed_c = h->changed_c || ((code == HALFTONE_OK || code == HALFTONE_SIM_VIOLATION) && writes_c(r->plan, i));
    }
    return code;
}

int ht_ready_plan(halftone *h, const struct plan *p) {
    int code = HALFTONE_OK;
    for (int i = 0; i < p->steps && code == HALFTONE_OK; i++)
        code = step_kinds[p->step[i].kind].ready(h, p, &p->step[i]);
    return code;
}

static int run_steps(halftone *h, struct gemm_run *r) {
    int code = ht_ready_plan(h, r->plan);
    if (code == HALFTONE_OK)
        code = launch_steps(h, r, false);
    for (int64_t done = 0; done < r->call->batch && code == HALFTONE_OK; done += HT_GRID_BATCH) {
        r->entry = done;
        r->args.batch = (int)grid_batch(r->call->batch - done);
        code = launch_steps(h, r, true);
        next_entries(&r->args);
    }
    return code;
}

int ht_run_plan(halftone *h, struct gemm_run *r) {
    return ht_close_workspace(h, &r->workspace, run_steps(h, r));
}

int ht_scale(halftone *h, const struct gemm_call *x) {
    struct plan p;
    struct gemm_run r;
    memset(&p, 0, sizeof p);
    memset(&r, 0, sizeof r);
    p.step[p.steps++].kind = STEP_REDUCE;
    r.plan = &p;
    r.call = x;
    r.args = args_of(h, x);
    return run_steps(h, &r);
}

/* Where the packed operands lie: the caller's, for `packed_for`, which are only read, or the workspace's. */
static void place_operands(const halftone *h, const struct ht_scheme_desc *packed_for, struct gemm_run *r) {
    if (packed_for != NULL) {
        const struct packed_layout a = ht_operand_layout(h, packed_for, r->call->m, r->call->k);
        const struct packed_layout b = ht_operand_layout(h, packed_for, r->call->n, r->call->k);
        r->a = ht_place_in_block(&a, (char *)r->call->packed_a);
        r->b = ht_place_in_block(&b, (char *)r->call->packed_b);
    } else if (!ht_is_unpacked(h->set->kernel[r->plan->kernel].family)) {
        r->a = ht_place_in_workspace(r->plan, r->workspace.at, 0);
        r->b = ht_place_in_workspace(r->plan, r->workspace.at, 1);
    }
}

static int multiply_block(halftone *h, const struct gemm_call *x) {
    return ht_multiply(h, x, NULL);
}

int ht_multiply(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *packed_for) {
    struct gemm_run r;
    const bool is_packed = packed_for != NULL;
    const int64_t a_entries = is_packed ? 0 : entries_of(x, x->stride_a);
    const int64_t b_entries = is_packed ? 0 : entries_of(x, x->stride_b);
    memset(&r, 0, sizeof r);
    r.call = x;
    int code = ht_plan_call(h, x, a_entries, b_entries, &r.plan);
    if (code == HALFTONE_OK && r.plan->blocks > 1)
        return ht_run_blocks(h, x, r.plan, multiply_block);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(h, (size_t)r.plan->bytes, &r.workspace);
    if (code != HALFTONE_OK)
        return code;
    const struct plan *p = r.plan;
    const bool unpacked = ht_is_unpacked(h->set->kernel[p->kernel].family);
    place_operands(h, packed_for, &r);
    r.args = args_of(h, x);
    r.args.splits = p->splits;
    r.args.partial = p->splits > 1 ? (float *)(void *)(r.workspace.at + p->at[WS_PARTIALS]) : NULL;
    const struct gemm_call read = r.a.copy != NULL ? with_copies(packed_for, x, &r.a, &r.b) : *x;
    if (unpacked || p->checked)
        add_sources(p, &read, &r.args);
    if (!unpacked)
        add_panels(p, &r.a, &r.b, &r.args);
    if (p->checked)
        add_sums(p, &r.a, &r.b, r.workspace.at, h->recomputed, &r.args);
    return ht_run_plan(h, &r);
}
