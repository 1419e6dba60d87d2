/* lt_matmul.c: cublasLtMatmul, D = epilogue(alpha op(A) op(B) + beta C + bias). The product is halftone's, with C copied to D before it
 * where they are two matrices; an epilogue is a second pass over D (lt_epilogue.c). Once D is written the original can still do
 * the whole call as long as C is another matrix or not read: other calls with an epilogue are the original's from the start, and without one fail where
 * a launch is refused behind another. */
#include "cublas_face.h"

static bool is_in_place(const struct lt_problem *p) {
    return p->c == p->gemm.c && p->c_ld == p->gemm.ldc &&
           (p->gemm.batch == 1 || p->c_stride == p->gemm.stride_c);
}

static bool reads_c(const struct lt_problem *p) {
    return cublas_reads_c(p->kind, p->gemm.beta, &p->setting);
}

static enum dropin_reason judge_c(const struct lt_problem *p) {
    const bool has_epilogue = p->epilogue != LT_EPILOGUE_NONE;
    if (p->gemm.batch != 1 && has_epilogue)
        return DROPIN_EPILOGUE;
    if (!reads_c(p))
        return DROPIN_SERVED;
    if (is_in_place(p))
        return has_epilogue ? DROPIN_EPILOGUE : DROPIN_SERVED;
    return p->gemm.batch == 1 && p->c != NULL && p->c != p->gemm.c ? DROPIN_SERVED : DROPIN_LAYOUT;
}

static bool copy_c(const struct lt_problem *p) {
    const struct cublas_gemm *const g = &p->gemm;
    const size_t size = cublas_element_bytes(p->kind);
    return cublas_copy_rows(g->c, (size_t)g->ldc * size, p->c, (size_t)p->c_ld * size, (size_t)g->m * size, (size_t)g->n,
                            p->setting.stream);
}

/* What is done around the product: see struct cublas_around. */
struct parts {
    const struct cublas_entry *entry;
    void *d_layout;
    const struct lt_problem *p;
};

static bool before(const void *data) {
    const struct lt_problem *const p = ((const struct parts *)data)->p;
    return !reads_c(p) || is_in_place(p) || p->gemm.m == 0 || p->gemm.n == 0 || copy_c(p);
}

static bool after(const void *data) {
    const struct parts *const x = (const struct parts *)data;
    const struct lt_problem *const p = x->p;
    return p->epilogue == LT_EPILOGUE_NONE || p->gemm.m == 0 || p->gemm.n == 0 ||
           lt_apply_epilogue(x->entry->origin, p->gemm.handle, x->d_layout, p);
}

static int serve(const struct cublas_entry *entry, struct lt_problem *p, void *desc, void *const layouts[4]) {
    struct dropin_policy policy = {0};
    enum dropin_reason why = DROPIN_SERVED;
    if (entry->nested)
        why = DROPIN_NESTED;
    else if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    else if (p->gemm.alpha == NULL || p->gemm.beta == NULL || p->gemm.handle == NULL)
        why = DROPIN_ARGUMENTS;
    else
        why = lt_read(entry->origin, desc, layouts, p);
    if (why == DROPIN_SERVED)
        why = judge_c(p);
    struct dropin_call call = cublas_describe_entry(entry, &p->gemm);
    const struct parts parts = {entry, layouts[3], p};
    const struct cublas_around around = {before, after, &parts};
    call.kind = p->kind;
    p->gemm.keeps_c = !is_in_place(p);
    if (why == DROPIN_SERVED)
        return cublas_status_of(cublas_multiply(&call, &p->gemm, &p->setting, &around, &policy));
    dropin_note(&call, &policy, why, NULL, NULL);
    return CUBLAS_LEFT;
}

DROPIN_EXPORT int cublasLtMatmul(CUBLASLT_MATMUL_ARGS) {
    const struct cublas_entry entry = cublas_enter(__builtin_return_address(0), NAME_cublasLtMatmul);
    void *const layouts[4] = {a_layout, b_layout, c_layout, d_layout};
    struct lt_problem p = {
        .gemm = {.api = DROPIN_API_cublasLtMatmul,
                 .handle = handle,
                 .alpha = alpha,
                 .a = a,
                 .b = b,
                 .beta = beta,
                 .c = d},
        .setting = {.stream = stream, .workspace = workspace, .workspace_bytes = workspace_bytes},
        .c = c};
    if (entry.origin == NULL)
        return cublas_has_no_original(NAME_cublasLtMatmul);
    int status = serve(&entry, &p, desc, layouts);
    if (status != CUBLAS_LEFT)
        return status;
    halftone_dropin_thread.depth++;
    status = ORIGINAL(entry.origin, lt_matmul, cublasLtMatmul)(
        handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo, workspace,
        workspace_bytes, stream);
    halftone_dropin_thread.depth--;
    return status;
}
