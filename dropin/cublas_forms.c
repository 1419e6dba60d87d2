/* cublas_forms.c: which products are served, as rows: by compute type and math mode. The first row that holds decides. `algo` is
 * not asked for: on GPUs since compute capability 8.0 it chooses nothing. */
#include "cublas_face.h"

enum { ANY = -1 };

static const struct {
    int compute, math;
    enum dropin_reason why;
} rows[] = {
    {CU_COMPUTE_32F, CU_MATH_DEFAULT, DROPIN_SERVED},
    {CU_COMPUTE_32F, CU_MATH_EMULATED_BF16X9, DROPIN_SERVED},
    {CU_COMPUTE_32F, CU_MATH_TF32, DROPIN_TF32},
    {CU_COMPUTE_32F, CU_MATH_PEDANTIC, DROPIN_PEDANTIC},
    {CU_COMPUTE_32F, CU_MATH_TENSOR_OP, DROPIN_HALF},
    {CU_COMPUTE_32F_EMULATED_16BFX9, ANY, DROPIN_SERVED},
    {CU_COMPUTE_32F_PEDANTIC, ANY, DROPIN_PEDANTIC},
    {CU_COMPUTE_32F_FAST_TF32, ANY, DROPIN_TF32},
    {CU_COMPUTE_32F_FAST_16F, ANY, DROPIN_HALF},
    {CU_COMPUTE_32F_FAST_16BF, ANY, DROPIN_HALF},
};

enum dropin_reason cublas_judge_form(int compute, int math, bool all_fp32) {
    if (!all_fp32)
        return DROPIN_TYPES;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compute == compute && (rows[i].math == ANY || rows[i].math == (math & CU_MATH_MASK)))
            return rows[i].why == DROPIN_TF32 && dropin_settings()->tf32_upgrade ? DROPIN_SERVED
                                                                                 : rows[i].why;
    return DROPIN_UNKNOWN_FORM;
}
