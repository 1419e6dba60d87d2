/* cublas_counted.h: functions of cuBLAS that halftone does not compute: their calls are counted, with the reason, and go on. So what a
 * program's time goes into is seen at the end of `halftone run`. X(row, name, reason, form, type of sizes). */
#ifndef DROPIN_CUBLAS_COUNTED_H
#define DROPIN_CUBLAS_COUNTED_H

#define CUBLAS_COUNTED(R, X)                                                                                 \
    R(X, cublasSsyrkx, NO_FORM, SYRKX, int)                                                                  \
    R(X, cublasStrsm_v2, NO_FORM, TRSM, int)                                                                 \
    R(X, cublasStrsm_v2_64, NO_FORM, TRSM, int64_t)

/* Of each form: parameters, the same as arguments, and what of them m, n and k are. Pointers are passed on
 * unread. */
#define PARAMETERS_SYRKX(S)                                                                                  \
    void *handle, int uplo, int op, S n, S k, const void *alpha, const void *a, S lda, const void *b, S ldb, \
        const void *beta, void *c, S ldc
#define ARGUMENTS_SYRKX handle, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define SIZES_SYRKX n, n, k

#define PARAMETERS_TRSM(S)                                                                                   \
    void *handle, int side, int uplo, int op, int diag, S m, S n, const void *alpha, const void *a, S lda,   \
        void *b, S ldb
#define ARGUMENTS_TRSM handle, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb
#define SIZES_TRSM m, n, side == 0 ? m : n

#endif
