/* cublas_forms.c: which products are served, as rows: by type, compute type and math mode. The first row that holds decides. `algo` is
 * not asked for: on GPUs since compute capability 8.0 it chooses nothing. */
#include "cublas_face.h"

enum { ANY = -1 };

static const struct {
    signed char type, compute, math, why, kind; /* numbers of the enums */
} rows[] = {
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

enum dropin_reason cublas_judge_form(const struct cublas_gemm *g, int math, enum dropin_kind *kind) {
    const int type = g->a_type;
    *kind = DROPIN_KIND_FP32;
    if ((type != CU_R_32F && type != CU_R_64F) || g->b_type != type || g->c_type != type)
        return DROPIN_TYPES;
    /* of the two emulated modes only the one of this type */
    math &= CU_MATH_MASK & ~(type == CU_R_32F ? CU_MATH_EMULATED_FIXEDPOINT : CU_MATH_EMULATED_BF16X9);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type && rows[i].compute == g->compute && (rows[i].math == ANY || rows[i].math == math)) {
            *kind = (enum dropin_kind)rows[i].kind;
            return rows[i].why == DROPIN_TF32 && dropin_settings()->tf32_upgrade ? DROPIN_SERVED
                                                                                 : (enum dropin_reason)rows[i].why;
        }
    return DROPIN_UNKNOWN_FORM;
}
