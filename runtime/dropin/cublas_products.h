/* cublas_products.h: the one list of cuBLAS' and cuBLASLt's products: those that the face serves, X(name), and those that it
 * only counts. */
#ifndef DROPIN_CUBLAS_PRODUCTS_H
#define DROPIN_CUBLAS_PRODUCTS_H

#define CUBLAS_PRODUCTS(X)                                                                                   \
    X(cublasSgemm_v2)                                                                                        \
    X(cublasSgemm_v2_64)                                                                                     \
    X(cublasSgemmEx)                                                                                         \
    X(cublasSgemmEx_64)                                                                                      \
    X(cublasGemmEx)                                                                                          \
    X(cublasGemmEx_64)                                                                                       \
    X(cublasSgemmStridedBatched)                                                                             \
    X(cublasSgemmStridedBatched_64)                                                                          \
    X(cublasGemmStridedBatchedEx)                                                                            \
    X(cublasGemmStridedBatchedEx_64)                                                                         \
    X(cublasDgemm_v2)                                                                                        \
    X(cublasDgemm_v2_64)                                                                                     \
    X(cublasDgemmStridedBatched)                                                                             \
    X(cublasDgemmStridedBatched_64)                                                                          \
    X(cublasSgemmBatched)                                                                                    \
    X(cublasSgemmBatched_64)                                                                                 \
    X(cublasDgemmBatched)                                                                                    \
    X(cublasDgemmBatched_64)                                                                                 \
    X(cublasGemmBatchedEx)                                                                                   \
    X(cublasGemmBatchedEx_64)                                                                                \
    X(cublasSsyrk_v2)                                                                                        \
    X(cublasSsyrk_v2_64)                                                                                     \
    X(cublasDsyrk_v2)                                                                                        \
    X(cublasDsyrk_v2_64)                                                                                     \
    X(cublasSsyrkx)                                                                                          \
    X(cublasSsyrkx_64)                                                                                       \
    X(cublasStrsm_v2)                                                                                        \
    X(cublasStrsm_v2_64)
#define CUBLASLT_PRODUCTS(X) X(cublasLtMatmul)

/* Functions that halftone does not compute: their calls are counted, with the reason, and go on. So what a program's time goes into
 * is seen at the end of `halftone run`. Of each its name, the reason, its form, the type of sizes. */
#define CUBLAS_COUNTED(R, X)                                                                                 \
    R(X, cublasStrsmBatched, NO_FORM, TRSM_BATCHED, int)                                                     \
    R(X, cublasStrsmBatched_64, NO_FORM, TRSM_BATCHED, int64_t)

/* Of each form: parameters, the same as arguments, and what of them m, n, k and the batch are. Pointers are passed on
 * unread. */
#define PARAMETERS_TRSM_BATCHED(S)                                                                           \
    void *handle, int side, int uplo, int op, int diag, S m, S n, const void *alpha, const void *a, S lda,   \
        const void *b, S ldb, S batch
#define ARGUMENTS_TRSM_BATCHED handle, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb, batch
#define SIZES_TRSM_BATCHED m, n, side == 0 ? m : n, batch

#endif
