/* cublas_names.h: what of cuBLAS and cuBLASLt the face knows, written down from their manual: the numbers of their enums and the
 * forms of their functions. No header of theirs is needed, so one face serves programs of CUDA 11, 12 and 13. */
#ifndef DROPIN_CUBLAS_NAMES_H
#define DROPIN_CUBLAS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "cublas_products.h"

enum cu_status { CU_SUCCESS = 0, CU_EXECUTION_FAILED = 13, CU_NOT_SUPPORTED = 15 };
enum cu_op { CU_OP_N = 0, CU_OP_T = 1, CU_OP_C = 2 };
enum cu_side { CU_LEFT = 0, CU_RIGHT = 1 };
enum cu_diag { CU_NON_UNIT = 0, CU_UNIT = 1 };
enum cu_fill { CU_LOWER = 0, CU_UPPER = 1 };
enum cu_pointer_mode { CU_POINTER_HOST = 0, CU_POINTER_DEVICE = 1 };
enum cu_type { CU_R_32F = 0, CU_R_64F = 1 };
/* cublasMath_t without its flag for reductions. The two emulated modes may be set together: each says something of its type alone. */
enum cu_math {
    CU_MATH_DEFAULT = 0,
    CU_MATH_TENSOR_OP = 1,
    CU_MATH_PEDANTIC = 2,
    CU_MATH_TF32 = 3,
    CU_MATH_EMULATED_BF16X9 = 4,
    CU_MATH_EMULATED_FIXEDPOINT = 8,
    CU_MATH_MASK = 15
};
/* cublasComputeType_t. Below 64 are cudaDataType's numbers, as functions before CUDA 11 took them. */
enum cu_compute {
    CU_COMPUTE_32F = 68,
    CU_COMPUTE_32F_PEDANTIC = 69,
    CU_COMPUTE_64F = 70,
    CU_COMPUTE_64F_PEDANTIC = 71,
    CU_COMPUTE_32F_FAST_16F = 74,
    CU_COMPUTE_32F_FAST_16BF = 75,
    CU_COMPUTE_32F_FAST_TF32 = 77,
    CU_COMPUTE_32F_EMULATED_16BFX9 = 78,
    CU_COMPUTE_64F_EMULATED_FIXEDPOINT = 79
};

/* cuBLASLt: attributes of a description of a product, and of a matrix. */
enum lt_desc {
    LT_COMPUTE_TYPE = 0,
    LT_SCALE_TYPE = 1,
    LT_POINTER_MODE = 2,
    LT_TRANS_A = 3,
    LT_TRANS_B = 4,
    LT_TRANS_C = 5,
    LT_FILL_MODE = 6,
    LT_EPILOGUE = 7,
    LT_BIAS_POINTER = 8,
    LT_AUX_POINTER = 11,
    LT_SM_COUNT_TARGET = 15,
    LT_A_SCALE_POINTER = 17,
    LT_B_SCALE_POINTER = 18,
    LT_C_SCALE_POINTER = 19,
    LT_D_SCALE_POINTER = 20,
    LT_AMAX_D_POINTER = 21,
    LT_BIAS_DATA_TYPE = 26,
    LT_A_SCALE_MODE = 31,
    LT_B_SCALE_MODE = 32,
    LT_C_SCALE_MODE = 33,
    LT_D_SCALE_MODE = 34,
    LT_D_OUT_SCALE_POINTER = 36,
    LT_EMULATION_DESCRIPTOR = 38
};
enum lt_layout {
    LT_TYPE = 0,
    LT_ORDER = 1,
    LT_ROWS = 2,
    LT_COLS = 3,
    LT_LD = 4,
    LT_BATCH_COUNT = 5,
    LT_BATCH_STRIDE = 6,
    LT_PLANE_OFFSET = 7,
    LT_BATCH_MODE = 8
};
enum lt_order { LT_COL = 0, LT_ROW = 1 };
enum lt_fill { LT_FILL_FULL = 2 };
enum lt_epilogue { LT_EPILOGUE_NONE = 1, LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_GELU = 32 };

/* What the face takes the place of beside products: X(name), functions whose calls tell something about a handle. */
#define CUBLAS_STATE(X) X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasDestroy_v2)
/* Asked, never replaced. */
#define CUBLAS_ASKED(X)                                                                                      \
    X(cublasGetStream_v2) X(cublasGetPointerMode_v2) X(cublasGetMathMode) X(cublasGetSmCountTarget)                             \
    X(cublasStrttp) X(cublasStpttr) X(cublasDtrttp) X(cublasDtpttr)
#define CUBLASLT_ASKED(X)                                                                                    \
    X(cublasLtMatmulDescGetAttribute)                                                                        \
    X(cublasLtMatrixLayoutGetAttribute)                                                                      \
    X(cublasLtMatmulDescCreate)                                                                              \
    X(cublasLtMatmulDescSetAttribute)                                                                        \
    X(cublasLtMatmulDescDestroy)                                                                             \
    X(cublasLtMatrixLayoutCreate)                                                                            \
    X(cublasLtMatrixLayoutSetAttribute)                                                                      \
    X(cublasLtMatrixLayoutDestroy)                                                                           \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                        \
    X(cublasLtMatmulPreferenceCreate)                                                                        \
    X(cublasLtMatmulPreferenceDestroy)
#define CUBLAS_COUNTED_NAME(X, name, why, form, S) X(name)
#define CUBLAS_REPLACED(X)                                                                                   \
    CUBLAS_PRODUCTS(X) CUBLASLT_PRODUCTS(X) CUBLAS_COUNTED(CUBLAS_COUNTED_NAME, X) CUBLAS_STATE(X)
#define CUBLAS_ALL(X) CUBLAS_REPLACED(X) CUBLAS_ASKED(X) CUBLASLT_ASKED(X)

#define CUBLAS_NAME(name) NAME_##name,
enum cublas_name { CUBLAS_ALL(CUBLAS_NAME) CUBLAS_NAMES };
#define CUBLAS_ONE(name) +1
enum { CUBLAS_NAMES_REPLACED = 0 CUBLAS_REPLACED(CUBLAS_ONE) }; /* these come first */
#undef CUBLAS_NAME
#undef CUBLAS_ONE

/* Forms of a product: the 32-bit and the 64-bit one differ in S, the type of sizes. */
#define CUBLAS_GEMM_ARGS(T, S)                                                                               \
    void *handle, int op_a, int op_b, S m, S n, S k, const T *alpha, const T *a, S lda, const T *b, S ldb,   \
        const T *beta, T *c, S ldc
#define CUBLAS_GEMM_STRIDED_ARGS(T, S)                                                                       \
    void *handle, int op_a, int op_b, S m, S n, S k, const T *alpha, const T *a, S lda, long long stride_a,  \
        const T *b, S ldb, long long stride_b, const T *beta, T *c, S ldc, long long stride_c, S batch
#define CUBLAS_SGEMM_ARGS(S) CUBLAS_GEMM_ARGS(float, S)
#define CUBLAS_DGEMM_ARGS(S) CUBLAS_GEMM_ARGS(double, S)
#define CUBLAS_SGEMM_STRIDED_ARGS(S) CUBLAS_GEMM_STRIDED_ARGS(float, S)
#define CUBLAS_DGEMM_STRIDED_ARGS(S) CUBLAS_GEMM_STRIDED_ARGS(double, S)
#define CUBLAS_SGEMM_EX_ARGS(S)                                                                              \
    void *handle, int op_a, int op_b, S m, S n, S k, const float *alpha, const void *a, int a_type, S lda,   \
        const void *b, int b_type, S ldb, const float *beta, void *c, int c_type, S ldc
#define CUBLAS_GEMM_EX_ARGS(S)                                                                               \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        const void *b, int b_type, S ldb, const void *beta, void *c, int c_type, S ldc, int compute,         \
        int algo
#define CUBLAS_GEMM_STRIDED_EX_ARGS(S)                                                                       \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *a, int a_type, S lda,    \
        long long stride_a, const void *b, int b_type, S ldb, long long stride_b, const void *beta, void *c, \
        int c_type, S ldc, long long stride_c, S batch, int compute, int algo
/* The same as arguments. */
#define CUBLAS_GEMM_VALUES(S) handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, (S)lda, b, (S)ldb, beta, c, (S)ldc
#define CUBLAS_GEMM_STRIDED_VALUES(S)                                                                                    \
    handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, (S)lda, stride_a, b, (S)ldb, stride_b, beta, c, (S)ldc, stride_c, (S)batch
#define CUBLAS_SGEMM_EX_VALUES(S) handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, a_type, (S)lda, b, b_type, (S)ldb, beta, c, c_type, (S)ldc
#define CUBLAS_GEMM_EX_VALUES(S) CUBLAS_SGEMM_EX_VALUES(S), compute, algo
#define CUBLAS_GEMM_STRIDED_EX_VALUES(S)                                                                                 \
    handle, op_a, op_b, (S)m, (S)n, (S)k, alpha, a, a_type, (S)lda, stride_a, b, b_type, (S)ldb, stride_b,   \
        beta, c, c_type, (S)ldc, stride_c, (S)batch, compute, algo

#define CUBLAS_GEMM_BATCHED_ARGS(T, S)                                                                       \
    void *handle, int op_a, int op_b, S m, S n, S k, const T *alpha, const T *const *a, S lda,               \
        const T *const *b, S ldb, const T *beta, T *const *c, S ldc, S batch
#define CUBLAS_GEMM_BATCHED_EX_ARGS(S)                                                                       \
    void *handle, int op_a, int op_b, S m, S n, S k, const void *alpha, const void *const *a, int a_type,    \
        S lda, const void *const *b, int b_type, S ldb, const void *beta, void *const *c, int c_type, S ldc, \
        S batch, int compute, int algo

#define CUBLAS_SYRK_ARGS(T, S)                                                                               \
    void *handle, int uplo, int op_a, S n, S k, const T *alpha, const T *a, S lda, const T *beta, T *c, S ldc
#define CUBLAS_SYRKX_ARGS(T, S)                                                                              \
    void *handle, int uplo, int op_a, S n, S k, const T *alpha, const T *a, S lda, const T *b, S ldb,        \
        const T *beta, T *c, S ldc

#define CUBLAS_TRSM_ARGS(T, S)                                                                               \
    void *handle, int side, int uplo, int op, int diag, S m, S n, const T *alpha, const T *a, S lda, T *b,   \
        S ldb

#define CUBLASLT_MATMUL_ARGS                                                                                 \
    void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,               \
        void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,            \
        const void *algo, void *workspace, size_t workspace_bytes, void *stream
typedef int lt_matmul(CUBLASLT_MATMUL_ARGS);
typedef int lt_get_attribute(void *of, int attribute, void *value, size_t bytes, size_t *written);
typedef int lt_set_attribute(void *of, int attribute, const void *value, size_t bytes);
typedef int lt_create_desc(void **desc, int compute, int scale_type);
typedef int lt_create_layout(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
typedef int lt_destroy(void *of);
/* cublasLtMatmulHeuristicResult_t. */
struct lt_heuristic {
    uint64_t algo[8];
    size_t workspace_bytes;
    int state; /* a status */
    float waves;
    int reserved[4];
};
typedef int lt_create_preference(void **preference);
typedef int lt_get_heuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                             int wanted, struct lt_heuristic *found, int *count);

#endif
