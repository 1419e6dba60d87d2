/* blas_entries.c: the functions that a program calls, one for each row of blas_names.h. An entry writes its arguments down as a
 * struct blas_call; what is not served goes on as it came, with the lengths of two strings behind it, as gfortran passes them. */
#include "blas_call.h"
#include "blas_names.h"

/* Letters of BLAS, numbers of CBLAS. */
enum { CBLAS_ROW = 101, CBLAS_COL = 102, CBLAS_N = 111, CBLAS_T = 112, CBLAS_C = 113, CBLAS_U = 121, CBLAS_L = 122 };

static char op_of_letter(char t) {
    return t == 'N' || t == 'n' ? 'N' : t == 'T' || t == 't' || t == 'C' || t == 'c' ? 'T' : '\0';
}

static char uplo_of_letter(char t) {
    return t == 'U' || t == 'u' ? 'U' : t == 'L' || t == 'l' ? 'L' : '\0';
}

static char op_of_number(int order, int t) {
    const bool known = order == CBLAS_ROW || order == CBLAS_COL;
    return !known ? '\0' : t == CBLAS_N ? 'N' : t == CBLAS_T || t == CBLAS_C ? 'T' : '\0';
}

/* The triangle of the transpose, where the matrix is row-major. */
static char uplo_of_number(int order, int t) {
    return t == CBLAS_U ? (order == CBLAS_ROW ? 'L' : 'U') : t == CBLAS_L ? (order == CBLAS_ROW ? 'U' : 'L') : '\0';
}

static char other_op(char op) {
    return op == 'N' ? 'T' : op == 'T' ? 'N' : '\0';
}

static void *element(const struct blas_call *x, const void *matrix, int64_t at) {
    return (char *)(uintptr_t)matrix + at * (x->type == BLAS_s ? 4 : 8);
}

/* Where a block's rows of op(A), and columns of op(B), begin. */
static const void *rows_of_a(const struct blas_call *x, int64_t row) {
    return element(x, x->a, x->op_a == 'N' ? row : row * x->lda);
}

static const void *columns_of_b(const struct blas_call *x, int64_t col) {
    return element(x, x->b, x->op_b == 'N' ? col * x->ldb : col);
}

#define TYPE_s float
#define TYPE_d double

/* ---- products ---- */

#define GEMM_fortran(name, t, INT, like)                                                                      \
    typedef void original_##name(const char *, const char *, const INT *, const INT *, const INT *,           \
                                 const TYPE_##t *, const TYPE_##t *, const INT *, const TYPE_##t *,           \
                                 const INT *, const TYPE_##t *, TYPE_##t *, const INT *, size_t, size_t);     \
    static void product_##name(const struct blas_call *x, const struct blas_block *at, const void *beta,      \
                               void *c, int64_t ldc, void *function) {                                        \
        const INT m = (INT)at->rows, n = (INT)at->cols, k = (INT)x->k, lda = (INT)x->lda,                     \
                  ldb = (INT)x->ldb, ld = (INT)ldc;                                                           \
        ((original_##name *)(uintptr_t)function)(&x->op_a, &x->op_b, &m, &n, &k, x->alpha, rows_of_a(x, at->row), &lda,  \
                                      columns_of_b(x, at->col), &ldb, beta, c, &ld, 1, 1);                    \
    }                                                                                                         \
    DROPIN_EXPORT void name(const char *transa, const char *transb, const INT *m, const INT *n, const INT *k,               \
              const TYPE_##t *alpha, const TYPE_##t *a, const INT *lda, const TYPE_##t *b, const INT *ldb,    \
              const TYPE_##t *beta, TYPE_##t *c, const INT *ldc) {                                            \
        const struct blas_call x = {                                                                          \
            DROPIN_API_##name, #name, BLAS_gemm, BLAS_##t, __builtin_return_address(0), (const void *)(uintptr_t)name, #like, \
            'A', op_of_letter(*transa), op_of_letter(*transb), *m, *n, *k, *lda, *ldb, *ldc, alpha, a, b,     \
            beta, c};                                                                                         \
        void *original;                                                                                       \
        if (blas_enter(&x, product_##name, &original))                                                        \
            return;                                                                                           \
        ((original_##name *)(uintptr_t)original)(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);    \
        blas_leave();                                                                                         \
    }

#define GEMM_cblas(name, t, INT, like)                                                                        \
    typedef void original_##name(int, int, int, INT, INT, INT, TYPE_##t, const TYPE_##t *, INT,               \
                                 const TYPE_##t *, INT, TYPE_##t, TYPE_##t *, INT);                           \
    static void product_##name(const struct blas_call *x, const struct blas_block *at, const void *beta,      \
                               void *c, int64_t ldc, void *function) {                                        \
        ((original_##name *)(uintptr_t)function)(CBLAS_COL, x->op_a == 'N' ? CBLAS_N : CBLAS_T,                          \
                                      x->op_b == 'N' ? CBLAS_N : CBLAS_T, (INT)at->rows, (INT)at->cols,       \
                                      (INT)x->k, *(const TYPE_##t *)x->alpha, rows_of_a(x, at->row),          \
                                      (INT)x->lda, columns_of_b(x, at->col), (INT)x->ldb,                     \
                                      *(const TYPE_##t *)beta, c, (INT)ldc);                                  \
    }                                                                                                         \
    DROPIN_EXPORT void name(int order, int transa, int transb, INT m, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a,      \
              INT lda, const TYPE_##t *b, INT ldb, TYPE_##t beta, TYPE_##t *c, INT ldc) {                     \
        const bool row = order == CBLAS_ROW;                                                                  \
        const struct blas_call x = {                                                                          \
            DROPIN_API_##name, #name, BLAS_gemm, BLAS_##t, __builtin_return_address(0), (const void *)(uintptr_t)name, #like, \
            'A', op_of_number(order, row ? transb : transa), op_of_number(order, row ? transa : transb),      \
            row ? n : m, row ? m : n, k, row ? ldb : lda, row ? lda : ldb, ldc, &alpha, row ? b : a,          \
            row ? a : b, &beta, c};                                                                           \
        void *original;                                                                                       \
        if (blas_enter(&x, product_##name, &original))                                                        \
            return;                                                                                           \
        ((original_##name *)(uintptr_t)original)(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);   \
        blas_leave();                                                                                         \
    }

/* ---- symmetric products: op(A) op(A)^T, B is A. Blocks by the product of the same library. ---- */

#define SYRK_fortran(name, t, INT, like)                                                                      \
    typedef void original_##name(const char *, const char *, const INT *, const INT *, const TYPE_##t *,      \
                                 const TYPE_##t *, const INT *, const TYPE_##t *, TYPE_##t *, const INT *,    \
                                 size_t, size_t);                                                             \
    DROPIN_EXPORT void name(const char *uplo, const char *trans, const INT *n, const INT *k, const TYPE_##t *alpha,         \
              const TYPE_##t *a, const INT *lda, const TYPE_##t *beta, TYPE_##t *c, const INT *ldc) {         \
        const char op = op_of_letter(*trans);                                                                 \
        const struct blas_call x = {                                                                          \
            DROPIN_API_##name, #name, BLAS_syrk, BLAS_##t, __builtin_return_address(0), (const void *)(uintptr_t)name, #like, \
            uplo_of_letter(*uplo), op, other_op(op), *n, *n, *k, *lda, *lda, *ldc, alpha, a, a, beta, c};     \
        void *original;                                                                                       \
        if (blas_enter(&x, product_##like, &original))                                                        \
            return;                                                                                           \
        ((original_##name *)(uintptr_t)original)(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, 1, 1);                  \
        blas_leave();                                                                                         \
    }

#define SYRK_cblas(name, t, INT, like)                                                                        \
    typedef void original_##name(int, int, int, INT, INT, TYPE_##t, const TYPE_##t *, INT, TYPE_##t,          \
                                 TYPE_##t *, INT);                                                            \
    DROPIN_EXPORT void name(int order, int uplo, int trans, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a, INT lda,       \
              TYPE_##t beta, TYPE_##t *c, INT ldc) {                                                          \
        const char as_said = op_of_number(order, trans), op = order == CBLAS_ROW ? other_op(as_said) : as_said; \
        const struct blas_call x = {                                                                          \
            DROPIN_API_##name, #name, BLAS_syrk, BLAS_##t, __builtin_return_address(0), (const void *)(uintptr_t)name, #like, \
            uplo_of_number(order, uplo), op, other_op(op), n, n, k, lda, lda, ldc, &alpha, a, a, &beta, c};   \
        void *original;                                                                                       \
        if (blas_enter(&x, product_##like, &original))                                                        \
            return;                                                                                           \
        ((original_##name *)(uintptr_t)original)(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);                 \
        blas_leave();                                                                                         \
    }

#define DEFINE_gemm(form, name, t, INT, like) GEMM_##form(name, t, INT, like)
#define DEFINE_syrk(form, name, t, INT, like) SYRK_##form(name, t, INT, like)
#define DEFINE(X, name, t, routine, form, INT, like) DEFINE_##routine(form, name, t, INT, like)
BLAS_NAMES(DEFINE, )
