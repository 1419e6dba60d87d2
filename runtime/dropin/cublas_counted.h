/* cublas_counted.h: functions of cuBLAS that halftone does not compute: their calls are counted, with the reason, and go on. So what a
 * program's time goes into is seen at the end of `halftone run`. X(row, name, reason, form, type of sizes). */
#ifndef DROPIN_CUBLAS_COUNTED_H
#define DROPIN_CUBLAS_COUNTED_H

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
