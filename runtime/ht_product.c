/* ht_product.c: the products of halftone.h: from a call's arguments to its plan, its workspace and its launches. */
#include "ht_call.h"

/* ---- FP32: arguments of the product ---- */

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

/* ---- products ---- */

static int scale(halftone *h, const struct gemm_call *x) {
    struct plan p;
    struct gemm_run r;
    memset(&p, 0, sizeof p);
    memset(&r, 0, sizeof r);
    p.step[p.steps++].kind = STEP_REDUCE;
    r.plan = &p;
    r.call = x;
    r.args = args_of(h, x);
    return ht_run_plan(h, &r);
}

static int multiply32(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *packed_for);

static int multiply_block(halftone *h, const struct gemm_call *x) {
    return multiply32(h, x, NULL);
}

static int multiply32(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *packed_for) {
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

static int multiply64(halftone *h, const struct gemm_call *x) {
    const bool is_packed = x->packed_a != NULL && x->k > 0;
    struct gemm_run r;
    struct gemm_call read;
    memset(&r, 0, sizeof r);
    r.call = x;
    int code = ht_plan_call(h, x, is_packed ? 0 : entries_of(x, x->stride_a), is_packed ? 0 : entries_of(x, x->stride_b), &r.plan);
    if (code == HALFTONE_OK && r.plan->blocks > 1)
        return ht_run_blocks(h, x, r.plan, multiply64);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(h, (size_t)r.plan->bytes, &r.workspace);
    if (code != HALFTONE_OK)
        return code;
    if (is_packed) {
        read = ht_place_packed64(h, &r);
        r.call = &read;
    } else if (r.plan->set->kernel[r.plan->kernel].residues != NULL) {
        r.a = ht_place_in_workspace(r.plan, r.workspace.at, 0);
        r.b = ht_place_in_workspace(r.plan, r.workspace.at, 1);
    }
    return ht_run_plan(h, &r);
}

HT_IN_OWN_FENV static int run_gemm(halftone *h, struct gemm_call *x, bool is_packed) {
    enum call_effect effect = EFFECT_NONE;
    const struct ht_scheme_desc *packed_for = NULL;
    int code = ht_check_gemm(h, x, is_packed, &effect);
    if (code == HALFTONE_OK)
        code = ht_check_extents(h, x, is_packed, effect);
    if (code != HALFTONE_OK || effect == EFFECT_NONE)
        return code;
    ht_enter_site(h, x, is_packed);
    ht_settle_zeros(h, x, is_packed, &effect);
    if (effect == EFFECT_NONE)
        return ht_leave_site(h, false, HALFTONE_OK);
    if (is_packed && effect == EFFECT_PRODUCT)
        code = ht_check_packed(h, x, &packed_for);
    if (effect == EFFECT_SCALE && x->is_fp64)
        x->k = 0; /* a product's scheme scales */
    if (code == HALFTONE_OK)
        code = ht_lend_call(h, x, is_packed, effect, false);
    if (code == HALFTONE_OK && x->is_fp64)
        code = multiply64(h, x);
    else if (code == HALFTONE_OK)
        code = effect == EFFECT_SCALE ? scale(h, x) : multiply32(h, x, packed_for);
    (void)ht_lend_call(h, x, is_packed, effect, true);
    return ht_leave_site(h, true, code);
}

int ht_run_gemm(halftone *h, struct gemm_call *x, bool is_packed) {
    const struct ht_fenv callers = ht_fenv_enter();
    const int code = run_gemm(h, x, is_packed);
    ht_fenv_leave(callers);
    return code;
}
