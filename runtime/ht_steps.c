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
        {&p->a, x->a, x->lda, x->stride_a, is_trans(x->transa), r->a, 0, false, r->args.failed_count},
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
