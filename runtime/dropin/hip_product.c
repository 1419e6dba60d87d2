/* hip_product.c: which products of hipBLAS and rocBLAS are served, and the way there. */
#include <string.h>

#include "hip_face.h"

enum { ANY = CUBLAS_ANY };

static const struct cublas_form rows[] = {
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, HIP_MATH_DEFAULT, DROPIN_SERVED, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, HIP_MATH_PEDANTIC, DROPIN_PEDANTIC, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, ANY, DROPIN_TF32, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_PEDANTIC, ANY, DROPIN_PEDANTIC, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_TF32, ANY, DROPIN_TF32, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_16F, ANY, DROPIN_HALF, DROPIN_KIND_FP32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_16BF, ANY, DROPIN_HALF, DROPIN_KIND_FP32},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, HIP_MATH_DEFAULT, DROPIN_SERVED, DROPIN_KIND_FP32},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, HIP_MATH_PEDANTIC, DROPIN_PEDANTIC, DROPIN_KIND_FP32},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, ANY, DROPIN_TF32, DROPIN_KIND_FP32},
};

static enum dropin_reason judge(const struct hip_call *x, int math, enum dropin_kind *kind) {
    const struct cublas_gemm *const g = &x->gemm;
    const enum dropin_reason why =
        x->old_c_type == g->a_type ? cublas_judge_by(rows, sizeof rows / sizeof *rows, g, math, kind) : DROPIN_TYPES;
    /* rocBLAS' flags ask questions or change what is computed; a C apart from D would have to be copied. */
    const bool is_plain = x->flags == 0 && x->old_c == g->c && x->old_ldc == g->ldc && x->old_stride_c == g->stride_c;
    return is_plain || why == DROPIN_TYPES ? why : DROPIN_UNKNOWN_FORM;
}

/* false: the original must judge the handle. Math modes are newer than the rest. */
static bool ask_handle(const struct hip_call *x, struct cublas_setting *s, int *math) {
    static const char *const getters[][3] = {{"hipblasGetStream", "hipblasGetPointerMode", "hipblasGetMathMode"},
                                             {"rocblas_get_stream", "rocblas_get_pointer_mode", "rocblas_get_math_mode"}};
    void (*get[4])(void) = {NULL};
    bool nested;
    int none;
    for (int i = 0; i < 3; i++) {
        void *const found = hip_original(x->library, x->caller, getters[x->library][i], NULL, &nested);
        memcpy(&get[i], &found, sizeof found);
    }
    return cublas_ask_handle(get, x->gemm.handle, s, math, &none);
}

static enum dropin_reason serve(const struct hip_call *x, bool nested) {
    const struct cublas_gemm *const g = &x->gemm;
    struct dropin_call call = cublas_describe(x->name, x->caller, g);
    struct dropin_policy policy = {0};
    struct cublas_setting setting;
    int math;
    enum dropin_reason why = DROPIN_SERVED;
    if (nested)
        why = DROPIN_NESTED;
    else if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    else if (!cublas_are_arguments_judged_here(g) || !ask_handle(x, &setting, &math))
        why = DROPIN_ARGUMENTS;
    else
        why = judge(x, math, &call.kind);
    if (why == DROPIN_SERVED)
        return cublas_multiply(&call, g, &setting, NULL, &policy);
    dropin_note(&call, &policy, why, NULL, NULL);
    return why;
}

bool hip_enter(const struct hip_call *x, void **original, int *status) {
    bool nested = false;
    *original = hip_original(x->library, x->caller, x->name, x->own, &nested);
    *status = HIP_STATUS_SUCCESS;
    if (*original == NULL) {
        static bool said;
        if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
            dropin_say("%s was called, and no library that has it is loaded: the call fails", x->name);
        *status = x->library == HIP_hipblas ? HIPBLAS_STATUS_NOT_SUPPORTED : ROCBLAS_STATUS_NOT_IMPLEMENTED;
        return false;
    }
    const enum dropin_reason why = serve(x, nested || halftone_dropin_thread.depth > 0);
    if (why == DROPIN_SPOILT)
        *status = x->library == HIP_hipblas ? HIPBLAS_STATUS_EXECUTION_FAILED : ROCBLAS_STATUS_INTERNAL_ERROR;
    if (why == DROPIN_SERVED || why == DROPIN_SPOILT)
        return true;
    halftone_dropin_thread.depth++; /* hipBLAS calls rocBLAS: that is its own */
    return false;
}

void hip_leave(void) {
    halftone_dropin_thread.depth--;
}
