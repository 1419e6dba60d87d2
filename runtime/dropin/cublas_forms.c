/* cublas_forms.c: which products are served, as rows: by type, compute type and math mode. The first row that holds decides. `algo` is
 * not asked for: on GPUs since compute capability 8.0 it chooses nothing. */
#include "cublas_face.h"

enum { ANY = CUBLAS_ANY };

static const struct cublas_form rows[] = {
    {CU_R_32F, CU_COMPUTE_32F, CU_MATH_DEFAULT, DROPIN_SERVED, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F, CU_MATH_EMULATED_BF16X9, DROPIN_SERVED, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F, CU_MATH_TF32, DROPIN_TF32, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F, CU_MATH_PEDANTIC, DROPIN_PEDANTIC, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F, CU_MATH_TENSOR_OP, DROPIN_HALF, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F_EMULATED_16BFX9, ANY, DROPIN_SERVED, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F_PEDANTIC, ANY, DROPIN_PEDANTIC, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F_FAST_TF32, ANY, DROPIN_TF32, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F_FAST_16F, ANY, DROPIN_HALF, DROPIN_KIND_FP32},
    {CU_R_32F, CU_COMPUTE_32F_FAST_16BF, ANY, DROPIN_HALF, DROPIN_KIND_FP32},
    {CU_R_64F, CU_COMPUTE_64F_EMULATED_FIXEDPOINT, ANY, DROPIN_SERVED, DROPIN_KIND_FP64_EMULATED},
    {CU_R_64F, CU_COMPUTE_64F_PEDANTIC, ANY, DROPIN_PEDANTIC, DROPIN_KIND_FP64},
    {CU_R_64F, CU_COMPUTE_64F, CU_MATH_EMULATED_FIXEDPOINT, DROPIN_SERVED, DROPIN_KIND_FP64_EMULATED},
    {CU_R_64F, CU_COMPUTE_64F, CU_MATH_PEDANTIC, DROPIN_PEDANTIC, DROPIN_KIND_FP64},
    {CU_R_64F, CU_COMPUTE_64F, ANY, DROPIN_SERVED, DROPIN_KIND_FP64},
};

enum dropin_reason cublas_judge_by(const struct cublas_form *row, size_t count, const struct cublas_gemm *g, int math, enum dropin_kind *kind) {
    const int type = g->a_type;
    bool has_type = false;
    *kind = DROPIN_KIND_FP32;
    if (g->b_type != type || g->c_type != type)
        return DROPIN_TYPES;
    for (; count > 0; count--, row++) {
        has_type = has_type || row->type == type;
        if (row->type != type || row->compute != g->compute || (row->math != ANY && row->math != math))
            continue;
        *kind = (enum dropin_kind)row->kind;
        return row->why == DROPIN_TF32 && dropin_settings()->tf32_upgrade ? DROPIN_SERVED : (enum dropin_reason)row->why;
    }
    return has_type ? DROPIN_UNKNOWN_FORM : DROPIN_TYPES;
}

enum dropin_reason cublas_judge_form(const struct cublas_gemm *g, int math, enum dropin_kind *kind) {
    /* of the two emulated modes only the one of this type */
    math &= CU_MATH_MASK & ~(g->a_type == CU_R_32F ? CU_MATH_EMULATED_FIXEDPOINT : CU_MATH_EMULATED_BF16X9);
    return cublas_judge_by(rows, sizeof rows / sizeof *rows, g, math, kind);
}
