/* lt_epilogue.c: bias and activation behind a product of halftone's, by cuBLASLt: D = act(0 0^T + D + bias), a product 1 long of a
 * vector of zeros, which reads and writes D once. So GELU is cuBLASLt's own, and the face needs no kernel. */
#include "cublas_face.h"

struct description {
    void *desc, *a, *b;
};

static void destroy(const struct cublas_origin *o, const struct description *x) {
    if (x->desc != NULL)
        (void)ORIGINAL(o, lt_destroy, cublasLtMatmulDescDestroy)(x->desc);
    if (x->a != NULL)
        (void)ORIGINAL(o, lt_destroy, cublasLtMatrixLayoutDestroy)(x->a);
    if (x->b != NULL)
        (void)ORIGINAL(o, lt_destroy, cublasLtMatrixLayoutDestroy)(x->b);
}

static bool has_functions(const struct cublas_origin *o) {
    for (int i = NAME_cublasLtMatmulDescCreate; i <= NAME_cublasLtMatrixLayoutDestroy; i++)
        if (o->function[i] == NULL)
            return false;
    return true;
}

static bool describe(const struct cublas_origin *o, const struct lt_problem *p, struct description *x) {
    lt_set_attribute *const set = ORIGINAL(o, lt_set_attribute, cublasLtMatmulDescSetAttribute);
    lt_set_attribute *const set_layout = ORIGINAL(o, lt_set_attribute, cublasLtMatrixLayoutSetAttribute);
    lt_create_layout *const create = ORIGINAL(o, lt_create_layout, cublasLtMatrixLayoutCreate);
    const bool by_rows = p->order == LT_ROW;
    bool good = ORIGINAL(o, lt_create_desc, cublasLtMatmulDescCreate)(&x->desc, CU_COMPUTE_32F, CU_R_32F) ==
                    CU_SUCCESS &&
                create(&x->a, CU_R_32F, (uint64_t)p->rows, 1, by_rows ? 1 : p->rows) == CU_SUCCESS &&
                create(&x->b, CU_R_32F, 1, (uint64_t)p->cols, by_rows ? p->cols : 1) == CU_SUCCESS &&
                set(x->desc, LT_EPILOGUE, &p->epilogue, 4) == CU_SUCCESS;
    if (good && p->bias != NULL)
        good = set(x->desc, LT_BIAS_POINTER, &p->bias, 8) == CU_SUCCESS;
    if (good && by_rows)
        good = set_layout(x->a, LT_ORDER, &p->order, 4) == CU_SUCCESS &&
               set_layout(x->b, LT_ORDER, &p->order, 4) == CU_SUCCESS;
    return good;
}

bool lt_apply_epilogue(const struct cublas_origin *o, void *handle, void *d_layout,
                       const struct lt_problem *p) {
    const size_t floats = (size_t)(p->rows > p->cols ? p->rows : p->cols),
                 bytes = (floats * sizeof(float) + 255) / 256 * 256;
    const struct cublas_setting *const s = &p->setting;
    const float zero = 0, one = 1;
    struct description x = {NULL, NULL, NULL};
    const bool fits = s->workspace != NULL && s->workspace_bytes >= bytes;
    char *const rest = fits ? (char *)s->workspace + bytes : NULL;
    void *const zeros = fits ? s->workspace : cublas_allocate(bytes, s->stream);
    bool good =
        zeros != NULL && cublas_clear(zeros, floats, s->stream) && has_functions(o) && describe(o, p, &x);
    if (good)
        good = ORIGINAL(o, lt_matmul, cublasLtMatmul)(
                   handle, x.desc, &zero, zeros, x.a, zeros, x.b, &one, p->gemm.c, d_layout, p->gemm.c,
                   d_layout, NULL, rest, fits ? s->workspace_bytes - bytes : 0, s->stream) == CU_SUCCESS;
    destroy(o, &x);
    if (!fits)
        cublas_free(zeros, s->stream);
    return good;
}
