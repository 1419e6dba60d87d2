/* cublas_products.h: the one list of cuBLAS' and cuBLASLt's products that the face serves, X(name); those that are only counted:
 * cublas_counted.h. */
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

#endif
