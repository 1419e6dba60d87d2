/* hip_product.c: which products of hipBLAS and rocBLAS are served, and the way there. */
#include <string.h>

#include "hip_face.h"

/* As of cuBLAS' face; on AMD nobody has measured. */
static const double LEAST_WORK = 128.0 * 128.0 * 128.0;

enum { ANY = -1 };

/* The first row that holds decides. */
static const struct {
    int type, compute, math;
    enum dropin_reason why;
} rows[] = {
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, HIP_MATH_DEFAULT, DROPIN_SERVED},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, HIP_MATH_PEDANTIC, DROPIN_PEDANTIC},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F, ANY, DROPIN_TF32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_PEDANTIC, ANY, DROPIN_PEDANTIC},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_TF32, ANY, DROPIN_TF32},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_16F, ANY, DROPIN_HALF},
    {HIP_TYPE_R_32F, HIP_COMPUTE_32F_FAST_16BF, ANY, DROPIN_HALF},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, HIP_MATH_DEFAULT, DROPIN_SERVED},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, HIP_MATH_PEDANTIC, DROPIN_PEDANTIC},
    {HIP_TYPE_OLD_R_32F, HIP_TYPE_OLD_R_32F, ANY, DROPIN_TF32},
};

static enum dropin_reason judge(const struct hip_call *x, int math) {
    const struct cublas_gemm *const g = &x->gemm;
    const int type = g->a_type;
    if ((type != HIP_TYPE_R_32F && type != HIP_TYPE_OLD_R_32F) || g->b_type != type || g->c_type != type ||
        x->old_c_type != type)
        return DROPIN_TYPES;
    /* rocBLAS' flags ask questions or change what is computed; a C apart from D would have to be copied. */
    if (x->flags != 0 || x->old_c != g->c || x->old_ldc != g->ldc || x->old_stride_c != g->stride_c)
        return DROPIN_UNKNOWN_FORM;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type && rows[i].compute == g->compute && (rows[i].math == ANY || rows[i].math == math))
            return rows[i].why == DROPIN_TF32 && dropin_settings()->tf32_upgrade ? DROPIN_SERVED : rows[i].why;
    return DROPIN_UNKNOWN_FORM;
}

/* ---- the handle ---- */

typedef int get_stream(void *handle, void **stream);
typedef int get_int(void *handle, int *value);

static const struct {
    const char *stream, *pointer_mode, *math;
} getters[] = {{"hipblasGetStream", "hipblasGetPointerMode", "hipblasGetMathMode"},
               {"rocblas_get_stream", "rocblas_get_pointer_mode", "rocblas_get_math_mode"}};

/* false: the original must judge the handle. Math modes are newer than the rest. */
static bool ask_handle(const struct hip_call *x, struct cublas_setting *s, int *math) {
    bool nested;
    int mode = CU_POINTER_HOST;
    get_stream *stream;
    get_int *pointer_mode, *math_mode;
    void *found[3] = {hip_original(x->library, x->caller, getters[x->library].stream, NULL, &nested),
                      hip_original(x->library, x->caller, getters[x->library].pointer_mode, NULL, &nested),
                      hip_original(x->library, x->caller, getters[x->library].math, NULL, &nested)};
    memcpy(&stream, &found[0], sizeof stream);
    memcpy(&pointer_mode, &found[1], sizeof pointer_mode);
    memcpy(&math_mode, &found[2], sizeof math_mode);
    memset(s, 0, sizeof *s);
    *math = HIP_MATH_DEFAULT;
    if (stream == NULL || pointer_mode == NULL || x->gemm.handle == NULL)
        return false;
    const bool good = stream(x->gemm.handle, &s->stream) == HIP_STATUS_SUCCESS &&
                      pointer_mode(x->gemm.handle, &mode) == HIP_STATUS_SUCCESS &&
                      (math_mode == NULL || math_mode(x->gemm.handle, math) == HIP_STATUS_SUCCESS);
    s->device_scalars = mode == CU_POINTER_DEVICE;
    return good && (mode == CU_POINTER_HOST || mode == CU_POINTER_DEVICE);
}

static bool are_arguments_judged_here(const struct cublas_gemm *g) {
    const bool has_ops = g->op_a >= HIP_OP_N && g->op_a <= HIP_OP_C && g->op_b >= HIP_OP_N && g->op_b <= HIP_OP_C;
    return has_ops && g->m >= 0 && g->n >= 0 && g->k >= 0 && g->batch >= 0 && g->alpha != NULL && g->beta != NULL;
}

static enum dropin_reason serve(const struct hip_call *x, bool nested) {
    const struct cublas_gemm *const g = &x->gemm;
    const struct dropin_call call = {.api = g->api,
                                     .name = x->name,
                                     .caller = x->caller,
                                     .op_a = g->op_a == HIP_OP_N ? 'N' : 'T',
                                     .op_b = g->op_b == HIP_OP_N ? 'N' : 'T',
                                     .m = g->m,
                                     .n = g->n,
                                     .k = g->k,
                                     .batch = g->batch,
                                     .least_work = LEAST_WORK};
    struct dropin_policy policy = {0};
    struct cublas_setting setting;
    int math = HIP_MATH_DEFAULT;
    enum dropin_reason why = DROPIN_SERVED;
    if (nested)
        why = DROPIN_NESTED;
    else if (dropin_settings()->mode == DROPIN_MODE_OFF)
        why = DROPIN_OFF;
    else if (!are_arguments_judged_here(g) || !ask_handle(x, &setting, &math))
        why = DROPIN_ARGUMENTS;
    else
        why = judge(x, math);
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
