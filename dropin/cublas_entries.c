/* cublas_entries.c: the functions that take the place of cuBLAS'. Each has the form and the name of one there, without its
 * version: a preloaded object that has none satisfies references with any. Where halftone does not serve, the original gets the
 * same arguments. */
#include "cublas_face.h"

/* clang-format off */
#define ALL_FP32 .a_type = CU_R_32F, .b_type = CU_R_32F, .c_type = CU_R_32F, .compute = CU_COMPUTE_32F
#define ALL_FP64 .a_type = CU_R_64F, .b_type = CU_R_64F, .c_type = CU_R_64F, .compute = CU_COMPUTE_64F
#define TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = compute
#define MATRIX_TYPES_GIVEN .a_type = a_type, .b_type = b_type, .c_type = c_type, .compute = CU_COMPUTE_32F
#define ONE_MATRIX .batch = 1
#define BATCH_GIVEN .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch, .strided = true

/* A function with these parameters; behind them how they stand in struct cublas_gemm, and as arguments. */
#define PRODUCT(name, PARAMETERS, TYPES, BATCH, ...)                                                         \
    typedef int type_##name(PARAMETERS);                                                                     \
    DROPIN_EXPORT int name(PARAMETERS);                                                                      \
    int name(PARAMETERS) {                                                                                   \
        PREPARE(name)                                                                                        \
        const struct cublas_gemm g = {.api = DROPIN_API_##name, .handle = handle, .op_a = op_a, .op_b = op_b, \
                                      .m = m, .n = n, .k = k, .alpha = alpha, .a = a, .b = b, .beta = beta,  \
                                      .c = c, .lda = lda, .ldb = ldb, .ldc = ldc, TYPES, BATCH};             \
        if (cublas_serve_gemm(&entry, &g))                                                                   \
            return CU_SUCCESS;                                                                               \
        CALL_ORIGINAL(name, type_##name, __VA_ARGS__)                                                        \
    }

/* The same of arrays of pointers: the original does the products that were not launched. */
#define PRODUCT_OF_ARRAYS(name, PARAMETERS, S, TYPES, ...)                                                   \
    typedef int type_##name(PARAMETERS);                                                                     \
    DROPIN_EXPORT int name(PARAMETERS);                                                                      \
    int name(PARAMETERS) {                                                                                   \
        PREPARE(name)                                                                                        \
        int64_t done = 0;                                                                                    \
        const struct cublas_gemm g = {.api = DROPIN_API_##name, .handle = handle, .op_a = op_a, .op_b = op_b, \
                                      .m = m, .n = n, .k = k, .alpha = alpha, .a = a, .b = b, .beta = beta,  \
                                      .c = (void *)(uintptr_t)c, .lda = lda, .ldb = ldb, .ldc = ldc, TYPES,  \
                                      .batch = batch, .run_arrays = cublas_run_arrays, .done = &done};       \
        if (cublas_serve_gemm(&entry, &g))                                                                   \
            return CU_SUCCESS;                                                                               \
        a += done, b += done, c += done;                                                                     \
        batch -= (S)done;                                                                                    \
        CALL_ORIGINAL(name, type_##name, __VA_ARGS__)                                                        \
    }

#define SGEMM(name, S)                                                                                       \
    PRODUCT(name, CUBLAS_SGEMM_ARGS(S), ALL_FP32, ONE_MATRIX,                                                \
            handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
#define SGEMM_STRIDED(name, S)                                                                               \
    PRODUCT(name, CUBLAS_SGEMM_STRIDED_ARGS(S), ALL_FP32, BATCH_GIVEN,                                       \
            handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch)
#define DGEMM(name, S)                                                                                       \
    PRODUCT(name, CUBLAS_DGEMM_ARGS(S), ALL_FP64, ONE_MATRIX,                                                \
            handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
#define DGEMM_STRIDED(name, S)                                                                               \
    PRODUCT(name, CUBLAS_DGEMM_STRIDED_ARGS(S), ALL_FP64, BATCH_GIVEN,                                       \
            handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch)
#define SGEMM_EX(name, S)                                                                                    \
    PRODUCT(name, CUBLAS_SGEMM_EX_ARGS(S), MATRIX_TYPES_GIVEN, ONE_MATRIX,                                   \
            handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc)
#define GEMM_EX(name, S)                                                                                     \
    PRODUCT(name, CUBLAS_GEMM_EX_ARGS(S), TYPES_GIVEN, ONE_MATRIX,                                           \
            handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute, algo)
#define GEMM_STRIDED_EX(name, S)                                                                             \
    PRODUCT(name, CUBLAS_GEMM_STRIDED_EX_ARGS(S), TYPES_GIVEN, BATCH_GIVEN,                                  \
            handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb, stride_b, beta,    \
            c, c_type, ldc, stride_c, batch, compute, algo)
#define SGEMM_BATCHED(name, S)                                                                               \
    PRODUCT_OF_ARRAYS(name, CUBLAS_SGEMM_BATCHED_ARGS(S), S, ALL_FP32,                                       \
            handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch)
#define GEMM_BATCHED_EX(name, S)                                                                             \
    PRODUCT_OF_ARRAYS(name, CUBLAS_GEMM_BATCHED_EX_ARGS(S), S, TYPES_GIVEN,                                  \
            handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, batch, compute, algo)
/* clang-format on */

SGEMM(cublasSgemm_v2, int)
SGEMM(cublasSgemm_v2_64, int64_t)
SGEMM_STRIDED(cublasSgemmStridedBatched, int)
SGEMM_STRIDED(cublasSgemmStridedBatched_64, int64_t)
SGEMM_EX(cublasSgemmEx, int)
SGEMM_EX(cublasSgemmEx_64, int64_t)
GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
DGEMM(cublasDgemm_v2, int)
DGEMM(cublasDgemm_v2_64, int64_t)
DGEMM_STRIDED(cublasDgemmStridedBatched, int)
DGEMM_STRIDED(cublasDgemmStridedBatched_64, int64_t)
SGEMM_BATCHED(cublasSgemmBatched, int)
GEMM_BATCHED_EX(cublasGemmBatchedEx, int)

/* ---- what tells of a handle's workspace ---- */

typedef int set_stream(void *handle, void *stream);
typedef int set_workspace(void *handle, void *workspace, size_t bytes);
typedef int destroy(void *handle);

DROPIN_EXPORT int cublasSetStream_v2(void *handle, void *stream);
DROPIN_EXPORT int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
DROPIN_EXPORT int cublasDestroy_v2(void *handle);

/* Resets the workspace to cuBLAS' own. */
int cublasSetStream_v2(void *handle, void *stream) {
    PREPARE(cublasSetStream_v2)
    cublas_forget_workspace(handle);
    return ((set_stream *)entry.origin->function[NAME_cublasSetStream_v2])(handle, stream);
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
    PREPARE(cublasSetWorkspace_v2)
    const int status =
        ((set_workspace *)entry.origin->function[NAME_cublasSetWorkspace_v2])(handle, workspace, bytes);
    if (status == CU_SUCCESS && handle != NULL)
        cublas_note_workspace(handle, workspace, bytes);
    return status;
}

int cublasDestroy_v2(void *handle) {
    PREPARE(cublasDestroy_v2)
    cublas_forget_workspace(handle);
    return ((destroy *)entry.origin->function[NAME_cublasDestroy_v2])(handle);
}

void (*const cublas_own[CUBLAS_NAMES])(void) = {
#define ENTRY(name) [NAME_##name] = (void (*)(void))name,
    CUBLAS_REPLACED(ENTRY)
#undef ENTRY
};

/* The products' names, as DROPIN_CUBLAS_APIS has them, and behind them those of all other functions. */
DROPIN_FACE(CUBLAS_ALL, cublasSgemm_v2)

const char *cublas_name_text(enum cublas_name name) {
    return dropin_text_at(dropin_face_names, (int)name);
}

_Static_assert((int)NAME_cublasStrsm_v2_64 == (int)DROPIN_API_cublasStrsm_v2_64 - (int)DROPIN_API_cublasSgemm_v2,
               "names begin as the counted ones");
