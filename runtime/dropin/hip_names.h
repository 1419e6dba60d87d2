/* hip_names.h: the one table of the AMD face: functions of hipBLAS and rocBLAS, with the numbers of their enums, written down from
 * their manuals. No header of theirs is needed. Never run before the real libraries: none was at hand.
 *
 * ROW(X, name, library, form, type of sizes). ROCm 7 gave hipblasGemmEx the arguments of hipblasGemmEx_v2; the numbers of types tell
 * the older ones apart. */
#ifndef DROPIN_HIP_NAMES_H
#define DROPIN_HIP_NAMES_H

#include "cublas_names.h"

#define HIP_BLAS_NAMES(ROW, X)                                                                               \
    ROW(X, hipblasSgemm, hipblas, SGEMM, int)                                                                \
    ROW(X, hipblasSgemm_64, hipblas, SGEMM, int64_t)                                                         \
    ROW(X, hipblasSgemmStridedBatched, hipblas, SGEMM_STRIDED, int)                                          \
    ROW(X, hipblasSgemmStridedBatched_64, hipblas, SGEMM_STRIDED, int64_t)                                   \
    ROW(X, hipblasGemmEx, hipblas, GEMM_EX, int)                                                             \
    ROW(X, hipblasGemmEx_v2, hipblas, GEMM_EX, int)                                                          \
    ROW(X, hipblasGemmEx_64, hipblas, GEMM_EX, int64_t)                                                      \
    ROW(X, hipblasGemmEx_v2_64, hipblas, GEMM_EX, int64_t)                                                   \
    ROW(X, hipblasGemmStridedBatchedEx, hipblas, GEMM_STRIDED_EX, int)                                       \
    ROW(X, hipblasGemmStridedBatchedEx_v2, hipblas, GEMM_STRIDED_EX, int)                                    \
    ROW(X, hipblasGemmStridedBatchedEx_64, hipblas, GEMM_STRIDED_EX, int64_t)                                \
    ROW(X, hipblasGemmStridedBatchedEx_v2_64, hipblas, GEMM_STRIDED_EX, int64_t)                             \
    ROW(X, rocblas_sgemm, rocblas, SGEMM, int)                                                               \
    ROW(X, rocblas_sgemm_64, rocblas, SGEMM, int64_t)                                                        \
    ROW(X, rocblas_sgemm_strided_batched, rocblas, SGEMM_STRIDED, int)                                       \
    ROW(X, rocblas_sgemm_strided_batched_64, rocblas, SGEMM_STRIDED, int64_t)                                \
    ROW(X, rocblas_gemm_ex, rocblas, ROC_GEMM_EX, int)                                                       \
    ROW(X, rocblas_gemm_ex_64, rocblas, ROC_GEMM_EX, int64_t)                                                \
    ROW(X, rocblas_gemm_strided_batched_ex, rocblas, ROC_GEMM_STRIDED_EX, int)                               \
    ROW(X, rocblas_gemm_strided_batched_ex_64, rocblas, ROC_GEMM_STRIDED_EX, int64_t)

enum hip_op { HIP_OP_N = 111, HIP_OP_T = 112, HIP_OP_C = 113 };
/* hipDataType; those of hipBLAS before ROCm 7 and of rocBLAS are the second. */
enum hip_type { HIP_TYPE_R_32F = 0, HIP_TYPE_OLD_R_32F = 151 };
enum hip_compute {
    HIP_COMPUTE_32F = 2,
    HIP_COMPUTE_32F_PEDANTIC = 3,
    HIP_COMPUTE_32F_FAST_16F = 4,
    HIP_COMPUTE_32F_FAST_16BF = 5,
    HIP_COMPUTE_32F_FAST_TF32 = 6
};
enum hip_math { HIP_MATH_DEFAULT = 0, HIP_MATH_XF32 = 1, HIP_MATH_PEDANTIC = 2 };
enum hip_status { HIP_STATUS_SUCCESS = 0, HIPBLAS_STATUS_EXECUTION_FAILED = 5, HIPBLAS_STATUS_NOT_SUPPORTED = 7, ROCBLAS_STATUS_NOT_IMPLEMENTED = 2, ROCBLAS_STATUS_INTERNAL_ERROR = 6 };

/* Forms; S: type of sizes. hipBLAS' are cuBLAS'. Behind each how its parameters are passed on. */
#define HIP_SGEMM(S) CUBLAS_GEMM_ARGS(float, S)
#define HIP_SGEMM_PASS(S) CUBLAS_GEMM_VALUES(S)
#define HIP_SGEMM_STRIDED(S) CUBLAS_GEMM_STRIDED_ARGS(float, S)
#define HIP_SGEMM_STRIDED_PASS(S) CUBLAS_GEMM_STRIDED_VALUES(S)
#define HIP_GEMM_EX(S) CUBLAS_GEMM_EX_ARGS(S)
#define HIP_GEMM_EX_PASS(S) CUBLAS_GEMM_EX_VALUES(S)
#define HIP_GEMM_STRIDED_EX(S) CUBLAS_GEMM_STRIDED_EX_ARGS(S)
#define HIP_GEMM_STRIDED_EX_PASS(S) CUBLAS_GEMM_STRIDED_EX_VALUES(S)
#define HIP_ROC_GEMM_EX(S)                                                                                   \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        const void *b, int b_type, S ldb, const void *beta, const void *c, int c_type, S ldc, void *d,       \
        int d_type, S ldd, int compute, int algo, int32_t solution, uint32_t flags
#define HIP_ROC_GEMM_EX_PASS(S)                                                                                 \
    handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, d, d_type,     \
        ldd, compute, algo, solution, flags
#define HIP_ROC_GEMM_STRIDED_EX(S)                                                                           \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        int64_t stride_a, const void *b, int b_type, S ldb, int64_t stride_b, const void *beta,              \
        const void *c, int c_type, S ldc, int64_t stride_c, void *d, int d_type, S ldd, int64_t stride_d,    \
        S batch, int compute, int algo, int32_t solution, uint32_t flags
#define HIP_ROC_GEMM_STRIDED_EX_PASS(S)                                                                         \
    handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta, c, c_type, \
        ldc, stride_c, d, d_type, ldd, stride_d, batch, compute, algo, solution, flags

#endif
