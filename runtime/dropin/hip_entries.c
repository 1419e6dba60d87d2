/* hip_entries.c: the functions that take the place of hipBLAS' and rocBLAS', one for each row of hip_names.h. */
#include "hip_face.h"

/* clang-format off */
#define TYPES_FP32 .a_type = HIP_TYPE_R_32F, .b_type = HIP_TYPE_R_32F, .c_type = HIP_TYPE_R_32F, .compute = HIP_COMPUTE_32F
#define TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute
#define TYPES_OF_D .a_type = a_type, .b_type = b_type, .c_type = d_type, .compute = compute
#define ONE .batch = 1
#define BATCH .stride_a = stride_a, .stride_b = stride_b, .batch = batch

/* How the parameters of a form stand in struct hip_call. */
#define GEMM_OF_SGEMM TYPES_FP32, ONE, .c = c, .ldc = ldc
#define GEMM_OF_SGEMM_STRIDED TYPES_FP32, BATCH, .c = c, .ldc = ldc, .stride_c = stride_c
#define GEMM_OF_GEMM_EX TYPES_GIVEN, ONE, .c = c, .ldc = ldc
#define GEMM_OF_GEMM_STRIDED_EX TYPES_GIVEN, BATCH, .c = c, .ldc = ldc, .stride_c = stride_c
#define GEMM_OF_ROC_GEMM_EX TYPES_OF_D, ONE, .c = d, .ldc = ldd
#define GEMM_OF_ROC_GEMM_STRIDED_EX TYPES_OF_D, BATCH, .c = d, .ldc = ldd, .stride_c = stride_d
#define REST_OF_SGEMM .old_c = c, .old_c_type = HIP_TYPE_R_32F, .old_ldc = ldc
#define REST_OF_SGEMM_STRIDED REST_OF_SGEMM, .old_stride_c = stride_c
#define REST_OF_GEMM_EX .old_c = c, .old_c_type = c_type, .old_ldc = ldc
#define REST_OF_GEMM_STRIDED_EX REST_OF_GEMM_EX, .old_stride_c = stride_c
#define REST_OF_ROC_GEMM_EX REST_OF_GEMM_EX, .flags = flags
#define REST_OF_ROC_GEMM_STRIDED_EX REST_OF_GEMM_STRIDED_EX, .flags = flags
/* clang-format on */

#define ENTRY(X, fn, library_name, form, S)                                                                  \
    typedef int type_##fn(HIP_##form(S));                                                                    \
    DROPIN_EXPORT int fn(HIP_##form(S)) {                                                                                  \
        const struct hip_call x = {.library = HIP_##library_name,                                            \
                                   .name = #fn,                                                              \
                                   .caller = __builtin_return_address(0),                                    \
                                   .own = (const void *)(uintptr_t)fn,                                       \
                                   .gemm = {.api = DROPIN_API_##fn,                                          \
                                            .handle = handle,                                                \
                                            .op_a = (int)((unsigned)op_a - HIP_OP_N),                        \
                                            .op_b = (int)((unsigned)op_b - HIP_OP_N),                        \
                                            .m = m,                                                          \
                                            .n = n,                                                          \
                                            .k = k,                                                          \
                                            .alpha = alpha,                                                  \
                                            .a = a,                                                          \
                                            .lda = lda,                                                      \
                                            .b = b,                                                          \
                                            .ldb = ldb,                                                      \
                                            .beta = beta,                                                    \
                                            GEMM_OF_##form},                                                 \
                                   REST_OF_##form};                                                          \
        void *original;                                                                                      \
        int status = HIP_STATUS_SUCCESS;                                                                     \
        if (hip_enter(&x, &original, &status) || original == NULL)                                           \
            return status;                                                                                   \
        status = ((type_##fn *)(uintptr_t)original)(HIP_##form##_PASS(S));                                     \
        hip_leave();                                                                                         \
        return status;                                                                                       \
    }

HIP_BLAS_NAMES(ENTRY, )
