/* cublas_names.h: what of cuBLAS and cuBLASLt the face knows, written down from their manual: the numbers of their enums and the
 * forms of their functions. No header of theirs is needed, so one face serves programs of CUDA 11, 12 and 13. */
#ifndef DROPIN_CUBLAS_NAMES_H
#define DROPIN_CUBLAS_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum cu_status { CU_SUCCESS = 0, CU_NOT_SUPPORTED = 15 };
enum cu_op { CU_OP_N = 0, CU_OP_T = 1, CU_OP_C = 2 };
enum cu_pointer_mode { CU_POINTER_HOST = 0, CU_POINTER_DEVICE = 1 };
enum cu_type { CU_R_32F = 0 };
/* cublasMath_t without its flag for reductions. */
enum cu_math {
    CU_MATH_DEFAULT = 0,
    CU_MATH_TENSOR_OP = 1,
    CU_MATH_PEDANTIC = 2,
    CU_MATH_TF32 = 3,
    CU_MATH_EMULATED_BF16X9 = 4,
    CU_MATH_MASK = 15
};
/* cublasComputeType_t. Below 64 are cudaDataType's numbers, as functions before CUDA 11 took them. */
enum cu_compute {
    CU_COMPUTE_32F = 68,
    CU_COMPUTE_32F_PEDANTIC = 69,
    CU_COMPUTE_32F_FAST_16F = 74,
    CU_COMPUTE_32F_FAST_16BF = 75,
    CU_COMPUTE_32F_FAST_TF32 = 77,
    CU_COMPUTE_32F_EMULATED_16BFX9 = 78
};

/* What the face takes the place of: X(name), the products; those whose calls tell something about a handle. */
#define CUBLAS_PRODUCTS(X)                                                                                   \
    X(cublasSgemm_v2)                                                                                        \
    X(cublasSgemm_v2_64)                                                                                     \
    X(cublasGemmEx)                                                                                          \
    X(cublasGemmEx_64)                                                                                       \
    X(cublasSgemmStridedBatched)                                                                             \
    X(cublasSgemmStridedBatched_64)                                                                          \
    X(cublasGemmStridedBatchedEx)                                                                            \
    X(cublasGemmStridedBatchedEx_64)
#define CUBLAS_STATE(X) X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasDestroy_v2)
/* Asked, never replaced. */
#define CUBLAS_ASKED(X)                                                                                      \
    X(cublasGetStream_v2) X(cublasGetPointerMode_v2) X(cublasGetMathMode) X(cublasGetSmCountTarget)
#define CUBLAS_REPLACED(X) CUBLAS_PRODUCTS(X) CUBLAS_STATE(X)
#define CUBLAS_ALL(X) CUBLAS_REPLACED(X) CUBLAS_ASKED(X)

enum cublas_name {
#define CUBLAS_NAME(name) NAME_##name,
    CUBLAS_ALL(CUBLAS_NAME)
#undef CUBLAS_NAME
        CUBLAS_NAMES
};

/* Forms of a product: the 32-bit and the 64-bit one differ in S, the type of sizes. */
#define CUBLAS_SGEMM_ARGS(S)                                                                                 \
    void *handle, int op_a, int op_b, S m, S n, S k, const float *alpha, const float *a, S lda,              \
        const float *b, S ldb, const float *beta, float *c, S ldc
#define CUBLAS_SGEMM_STRIDED_ARGS(S)                                                                         \
    void *handle, int op_a, int op_b, S m, S n, S k, const float *alpha, const float *a, S lda,              \
        long long stride_a, const float *b, S ldb, long long stride_b, const float *beta, float *c, S ldc,   \
        long long stride_c, S batch
#define CUBLAS_GEMM_EX_ARGS(S)                                                                               \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        const void *b, int b_type, S ldb, const void *beta, void *c, int c_type, S ldc, int compute,         \
        int algo
#define CUBLAS_GEMM_STRIDED_EX_ARGS(S)                                                                       \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        long long stride_a, const void *b, int b_type, S ldb, long long stride_b, const void *beta, void *c, \
        int c_type, S ldc, long long stride_c, S batch, int compute, int algo

#endif
