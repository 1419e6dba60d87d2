/* blas_call.h: a call of the BLAS face, whatever its name; shared by blas_*.c. */
#ifndef BLAS_CALL_H
#define BLAS_CALL_H

#include "common.h"

enum blas_routine { BLAS_gemm, BLAS_syrk };
enum blas_type { BLAS_s, BLAS_d };

/* Column-major: a row-major call has A and B, m and n exchanged, or the triangle and the transpose turned. */
struct blas_call {
    enum dropin_api api;
    enum blas_routine routine;
    enum blas_type type;
    const void *caller, *own; /* return address; the face's function */
    const char *alike;        /* blas_names.h */
    char uplo, op_a, op_b;    /* N or T; U or L, of SYRK; 0: none of the letters or numbers of BLAS */
    int64_t m, n, k, lda, ldb, ldc;
    const void *alpha, *a, *b, *beta; /* elements of the type */
    void *c;
};

/* A block of C. */
struct blas_block {
    int64_t row, col, rows, cols;
};

/* C = alpha op(A) op(B) + beta C of a block, by the original product `function` and column-major. */
typedef void blas_product(const struct blas_call *x, const struct blas_block *t, const void *beta, void *c, int64_t ldc,
                          void *function);

/* true: C is complete, by halftone or by what stands in for a missing BLAS. false: call *original, then blas_leave. */
bool blas_enter(const struct blas_call *x, blas_product *product, void **original);
void blas_leave(void);

/* blas_original.c: the function `name`, the call's own or another of the same library, that the caller would have reached
 * without the face; NULL: none. */
void *blas_original(const struct blas_call *x, const char *name);

/* blas_serve.c: whether halftone has computed C, or begun to and `product` ended it; counts the call. */
bool blas_serve(const struct blas_call *x, blas_product *product);

/* blas_plain.c: C by three loops, sums in FP64, for programs that have no BLAS behind the face. */
void blas_plain(const struct blas_call *x, const struct blas_block *t);
/* Computes a block that was left over, by `product` where the caller's library has one. */
void blas_finish(const struct blas_call *x, const struct blas_block *t, blas_product *product);
/* The number of the first wrong argument of the Fortran routine; 0: none. */
int blas_wrong_argument(const struct blas_call *x);

#endif
