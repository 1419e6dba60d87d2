/* ht_product.c: the products of halftone.h, of either type, and over ranks: from a call to its plan, its
 * workspace and the launches of its steps; and what frees all that they left. */
#include "ht_call.h"

/* ---- the steps of a plan, each by its kind, which its recipe has ---- */

/* What the plan's kernels need once on a device, before anything is launched. */
static int ready_steps(const struct call *c) {
    int code = HALFTONE_OK;
    for (int i = 0; i < c->plan->steps && code == HALFTONE_OK; i++) {
        const struct step *const s = &c->plan->step[i];
        if (s->kind->ready != NULL)
            code = s->kind->ready(c);
        else if (s->kernel != NO_KERNEL)
            code = ht_make_ready(c->h, c->plan->set->kernel[s->kernel].init, &c->half->ready[s->kernel]);
    }
    return code;
}

/* Split-K partials come to C by the step behind them. */
static bool writes_c(const struct plan *p, const struct step *s) {
    return s->kind->sliced && (s + 1 == p->step + p->steps || !s[1].kind->reduces);
}

static int launch_steps(struct call *c, bool sliced) {
    const struct plan *const p = c->plan;
    int code = HALFTONE_OK;
    for (const struct step *s = p->step; s < p->step + p->steps && code == HALFTONE_OK; s++) {
        if (s->kind->sliced != sliced)
            continue;
        code = s->kind->launch(c, s);
        if ((code == HALFTONE_OK || code == HALFTONE_SIM_VIOLATION) && writes_c(p, s))
            c->h->changed_c = true;
    }
    return code;
}

/* All of them, in the workspace that is open. */
static int run_steps(struct call *c) {
    int code = ready_steps(c);
    AND_THEN(code, launch_steps(c, false));
    for (c->entry = 0; c->entry < c->batch && code == HALFTONE_OK; c->entry += HT_GRID_BATCH) {
        c->entries = grid_batch(c->batch - c->entry);
        code = launch_steps(c, true);
    }
    return code;
}

/* ---- blocks, each a call of its own, into which the limit of the workspace cuts a call (ht_plan.c) ---- */

/* That which begins at a row, a column and an entry. */
static struct call block_at(const struct call *c, const struct plan *p, int64_t row, int64_t col,
                            int64_t entry) {
    const int64_t bytes = (int64_t)element_bytes(c), first[2] = {row, col};
    struct call y = *c;
    y.m = least_of(p->block_m, c->m - row);
    y.n = least_of(p->block_n, c->n - col);
    y.batch = least_of(p->block_batch, c->batch - entry);
    for (int side = 0; side < 2; side++) {
        const struct call_operand *const o = &c->of[side];
        y.of[side].src =
            (const char *)o->src + (first[side] * (k_contiguous(c, side) ? o->ld : 1) + entry * o->stride) *
                                       (int64_t)operand_bytes(c);
    }
    y.c = (char *)c->c + (row + col * c->ldc + entry * c->stride_c) * bytes;
    y.outer = &c->workspace;
    return y;
}

/* The kernels of blocks of all sizes, those at the ends too, which may be cut again. */
static int ready_blocks(const struct call *c) {
    const struct plan p =
        *c->plan; /* blocks have plans of their own, for which the handle may forget this one */
    const int64_t row[] = {0, (c->m - 1) / p.block_m * p.block_m},
                  col[] = {0, (c->n - 1) / p.block_n * p.block_n},
                  entry[] = {0, (c->batch - 1) / p.block_batch * p.block_batch};
    int code = HALFTONE_OK;
    for (int i = 0; i < 8 && code == HALFTONE_OK; i++) {
        struct call y = block_at(c, &p, row[i & 1], col[i >> 1 & 1], entry[i >> 2]);
        code = ht_plan_call(&y, &y.plan);
        AND_THEN(code, y.plan->blocks > 1 ? ready_blocks(&y) : ready_steps(&y));
    }
    return code;
}

static int multiply(struct call *c);

/* Kernels and workspace are there before the first block is launched. */
static int run_blocks(const struct call *of) {
    const struct plan p = *of->plan; /* as in ready_blocks */
    struct call whole = *of, *const c = &whole;
    c->plan = &p;
    int code = ready_blocks(c);
    if (AND_THEN(code, ht_open_workspace(c)) != HALFTONE_OK)
        return code;
    for (int64_t entry = 0; entry < c->batch && code == HALFTONE_OK; entry += p.block_batch) {
        for (int64_t col = 0; col < c->n && code == HALFTONE_OK; col += p.block_n) {
            for (int64_t row = 0; row < c->m && code == HALFTONE_OK; row += p.block_m) {
                struct call y = block_at(c, &p, row, col, entry);
                code = multiply(&y);
            }
        }
    }
    return ht_close_workspace(c, code);
}

/* ---- a product ---- */

/* Whether triangles of C, all of it X X^T by sums of slices, would differ in last bits; what beta is on the
 * device the kernel sees. */
static bool is_mirrored(const struct call *c) {
    const struct ht_scheme_desc *const s = c->plan->scheme;
    return !c->is_packed && c->outer == NULL && !c->is_fp64 && is_gram(c) && s->slices > 1 && s->exact_k == 0 &&
           (c->h->pointer_mode == HALFTONE_DEVICE || scalar_of(c, c->beta) == 0);
}

static int mirror(const struct call *c) {
    int code = HALFTONE_OK;
    for (int64_t entry = 0; entry < c->batch && code == HALFTONE_OK; entry += HT_GRID_BATCH) {
        struct ht_gemm_args args = HT_ZERO;
        args.to = ht_result_of(c, entry);
        args.m = args.n = (int)c->n;
        args.batch = (int)grid_batch(c->batch - entry);
        args.splits = -1;
        code = ht_launched(c->h, c->half->set->reduce(&args, c->h->stream));
    }
    return code;
}

static int multiply(struct call *c) {
    int code = ht_plan_call(c, &c->plan);
    if (code != HALFTONE_OK)
        return code;
    const bool mirrors = is_mirrored(c);
    if (c->plan->blocks > 1)
        code = run_blocks(c);
    else if (AND_THEN(code, ht_open_workspace(c)) == HALFTONE_OK)
        code = ht_close_workspace(c, run_steps(c));
    return AND_THEN(code, mirrors ? mirror(c) : HALFTONE_OK);
}

/* FP32: C = beta * C needs no scheme. */
static int scale(const struct call *of) {
    struct call c = *of;
    struct plan scaling;
    ht_lay_out_scaling(&scaling);
    c.plan = &scaling;
    return run_steps(&c);
}

HT_IN_OWN_FENV static int run_gemm(void *of) {
    struct call *const c = (struct call *)of;
    int code = ht_check_gemm(c);
    AND_THEN(code, ht_check_extents(c));
    if (code != HALFTONE_OK || c->effect == EFFECT_NONE)
        return code;
    ht_enter_site(c, false);
    ht_settle_zeros(c);
    if (c->effect == EFFECT_NONE)
        return ht_leave_site(c, false, HALFTONE_OK);
    if (c->effect == EFFECT_PRODUCT)
        ht_settle_floats(c);
    if (c->is_packed && c->effect == EFFECT_PRODUCT)
        code = ht_check_packed(c);
    if (c->effect == EFFECT_SCALE && c->is_fp64) { /* a product's scheme scales */
        c->k = 0;
        c->is_packed = false;
    }
    if (AND_THEN(code, ht_lend_call(c, false)) == HALFTONE_OK) {
        code = c->effect == EFFECT_SCALE && !c->is_fp64 ? scale(c) : multiply(c);
        (void)ht_lend_call(c, true);
    }
    return ht_leave_site(c, true, code);
}

int ht_run_gemm(struct call *c) {
    if (!c->is_inner)
        c->h->last_site = 0;
    return ht_in_own_fenv(run_gemm, c);
}

/* ---- the functions of halftone.h ---- */

/* All but c's scalars and C is there. */
static int multiply_of(struct call c, const void *alpha, const void *beta, void *result, int64_t ldc,
                       int64_t stride_c) {
    const int code = ht_begin(c.h);
    c.alpha = alpha;
    c.beta = beta;
    c.c = result;
    c.ldc = ldc;
    c.stride_c = stride_c;
    return code == HALFTONE_OK ? ht_run_gemm(&c) : code;
}

#define PRODUCTS(gemm, real, is_fp64)                                                                        \
    int gemm##_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,  \
                               const real *alpha, const real *a, int64_t lda, int64_t stride_a,              \
                               const real *b, int64_t ldb, int64_t stride_b, const real *beta, real *c,      \
                               int64_t ldc, int64_t stride_c, int64_t batch) {                               \
        const struct call sizes = call_of(handle, is_fp64, transa, transb, m, n, k, batch);                  \
        return multiply_of(with_operands(sizes, a, lda, stride_a, b, ldb, stride_b), alpha, beta, c, ldc,    \
                           stride_c);                                                                        \
    }                                                                                                        \
    int gemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const real *alpha, \
             const real *a, int64_t lda, const real *b, int64_t ldb, const real *beta, real *c,              \
             int64_t ldc) {                                                                                  \
        return gemm##_strided_batched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, \
                                      ldc, 0, 1);                                                            \
    }                                                                                                        \
    int gemm##_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const real *alpha,                  \
                      const void *packed_a, const void *packed_b, const real *beta, real *c, int64_t ldc) {  \
        struct call x = call_of(handle, is_fp64, 'N', 'N', m, n, k, 1);                                      \
        x.is_packed = true;                                                                                  \
        x.of[0].packed = (const char *)packed_a;                                                             \
        x.of[1].packed = (const char *)packed_b;                                                             \
        return multiply_of(x, alpha, beta, c, ldc, 0);                                                       \
    }
PRODUCTS(halftone_sgemm, float, false)
PRODUCTS(halftone_dgemm, double, true)

int halftone_gemm_ex(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                     const float *alpha, const void *a, int64_t lda, int64_t stride_a, const void *b,
                     int64_t ldb, int64_t stride_b, const float *beta, float *c, int64_t ldc, int64_t stride_c,
                     int64_t batch, int type) {
    struct call x = call_of(handle, false, transa, transb, m, n, k, batch);
    x.narrow = type == HALFTONE_FP32 ? 0 : type == 0 ? -1 : type;
    return multiply_of(with_operands(x, a, lda, stride_a, b, ldb, stride_b), alpha, beta, c, ldc, stride_c);
}

/* ---- products over ranks: of each one's k exact sums, under scales of all k */

/* Where a side has no k its maxima are 0, and where it has no rows it has none. */
static int clear_maxima(const struct call *c) {
    int code = HALFTONE_OK;
    for (int side = 0; side < 2; side++)
        if (c->of[side].packs)
            AND_THEN(code, ht_fail_device(c->h, ht_dev_memset_async(c->of[side].absmax, 0,
                                                                    (size_t)rows_of(c, side) * sizeof(int),
                                                                    c->h->stream)));
    return code;
}

/* A shape must not choose the scheme: ranks' k are several. */
static int plan_ranks(const struct call *c, struct plan *p) {
    int code = ht_packing_scheme(c, p);
    const bool has_scheme = p->scheme != NULL;
    if (code == HALFTONE_NOT_SUPPORTED || (code == HALFTONE_OK && p->scheme->exact_k == 0))
        return ht_fail(
            c->h, HALFTONE_NOT_SUPPORTED, "%s '%s' rounds sums on the way: ask for accuracy invariant",
            has_scheme ? "scheme" : "accuracy", has_scheme ? p->scheme->name : c->asked->accuracy.text);
    if (code != HALFTONE_OK)
        return code;
    code = ht_lay_out_ranks(c, p);
    return code == HALFTONE_OK && c->h->workspace_limit > 0 && p->bytes > c->h->workspace_limit
               ? ht_fail(c->h, HALFTONE_WORKSPACE, "%lld bytes needed, and the limit is %lld",
                         (long long)p->bytes, (long long)c->h->workspace_limit)
               : code;
}

HT_IN_OWN_FENV static int run_ranks(void *of) {
    struct call own = *(struct call *)of, *const c = &own; /* whose plan is here */
    const bool measures = c->ranks == RANKS_MAXIMA;
    struct plan plan;
    int code = ht_check_ranks(c);
    for (int side = 0; side < 2; side++)
        c->of[side].packs = c->of[side].packs && rows_of(c, side) > 0;
    AND_THEN(code, plan_ranks(c, &plan));
    if (code != HALFTONE_OK || (measures ? !c->of[0].packs && !c->of[1].packs : c->m == 0 || c->n == 0))
        return code;
    c->effect = c->ranks == RANKS_FINISH || c->k == 0 ? EFFECT_SCALE : EFFECT_PRODUCT;
    c->entries = 1;
    c->plan = &plan;
    if (AND_THEN(code, ht_lend_call(c, false)) != HALFTONE_OK)
        return code;
    if (measures && c->k == 0) {
        code = clear_maxima(c);
    } else if (AND_THEN(code, ht_open_workspace(c)) == HALFTONE_OK) {
        code = ht_close_workspace(c, run_steps(c));
    }
    (void)ht_lend_call(c, true);
    return code;
}

static int step_of_ranks(struct call c, enum rank_step ranks, const float *rowmax, const float *colmax) {
    const int code = ht_begin(c.h);
    c.ranks = ranks;
    c.of[0].absmax = (int *)(uintptr_t)rowmax; /* kernels take floats by their bits */
    c.of[1].absmax = (int *)(uintptr_t)colmax;
    for (int side = 0; side < 2; side++)
        c.of[side].packs = ranks == RANKS_PARTIAL || (ranks == RANKS_MAXIMA && c.of[side].absmax != NULL);
    if (code == HALFTONE_OK && ranks == RANKS_MAXIMA && rowmax == NULL && colmax == NULL)
        return ht_fail(c.h, -18, "rowmax and colmax are NULL");
    return code == HALFTONE_OK ? ht_in_own_fenv(run_ranks, &c) : code;
}

int halftone_sgemm_maxima(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float *rowmax,
                          float *colmax) {
    const struct call c = call_of(handle, false, transa, transb, m, n, k, 1);
    return step_of_ranks(with_operands(c, a, lda, 0, b, ldb, 0), RANKS_MAXIMA, rowmax, colmax);
}

int halftone_sgemm_partial(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                           const float *a, int64_t lda, const float *b, int64_t ldb, const float *rowmax,
                           const float *colmax, int64_t *partial) {
    struct call c = call_of(handle, false, transa, transb, m, n, k, 1);
    c.partial = partial;
    return step_of_ranks(with_operands(c, a, lda, 0, b, ldb, 0), RANKS_PARTIAL, rowmax, colmax);
}

int halftone_sgemm_finish(halftone *handle, int64_t m, int64_t n, const float *alpha, const int64_t *partial,
                          const float *rowmax, const float *colmax, const float *beta, float *c,
                          int64_t ldc) {
    struct call x = call_of(handle, false, 'N', 'N', m, n, 0, 1);
    x.partial = (int64_t *)(uintptr_t)partial;
    x.alpha = alpha;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    return step_of_ranks(with_operands(x, NULL, m > 0 ? m : 1, 0, NULL, 1, 0), RANKS_FINISH, rowmax, colmax);
}

int halftone_trim(halftone *handle) {
    int code = ht_begin(handle);
    AND_THEN(code, ht_ask_capture(handle));
    if (code == HALFTONE_OK && handle->capture != CAPTURE_NONE)
        return ht_fail(handle, HALFTONE_NOT_SUPPORTED,
                       "the stream is being captured: nothing can be freed now");
    if (AND_THEN(code, ht_free_memory(handle)) != HALFTONE_OK)
        return code;
    if (handle->close_host != NULL)
        handle->close_host(handle);
    ht_forget_packed32(handle);
    return handle->pool != NULL ? ht_fail_device(handle, ht_dev_pool_trim(handle->pool)) : HALFTONE_OK;
}
