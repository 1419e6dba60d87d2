/* fake_blas.c: a BLAS with every name of the face's table: loops, exact on small integers. It counts its calls; wrong arguments it
 * counts apart and computes nothing. */
#include <stdint.h>
#include <stddef.h>

#include "../../runtime/dropin/blas_names.h"

extern int fake_blas_calls, fake_blas_wrong;
int fake_blas_calls, fake_blas_wrong;

#define TYPE_s float
#define TYPE_d double

static int op_of(int t) {
    return t == 'N' || t == 'n' || t == 111 ? 'N' : t == 'T' || t == 't' || t == 'C' || t == 'c' || t == 112 || t == 113 ? 'T' : 0;
}

#define LOOPS(t)                                                                                                       \
    static void loops_##t(int uplo, int ta, int tb, int64_t m, int64_t n, int64_t k, TYPE_##t alpha, const TYPE_##t *a, int64_t lda, \
                          const TYPE_##t *b, int64_t ldb, TYPE_##t beta, TYPE_##t *c, int64_t ldc) {                   \
        const int64_t a_rows = ta == 'N' ? m : k, b_rows = tb == 'N' ? k : n;                                          \
        fake_blas_calls++;                                                                                             \
        if (uplo == 0 || ta == 0 || tb == 0 || m < 0 || n < 0 || k < 0 || lda < (a_rows > 1 ? a_rows : 1) ||           \
            ldb < (b_rows > 1 ? b_rows : 1) || ldc < (m > 1 ? m : 1)) {                                                \
            fake_blas_wrong++;                                                                                         \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t j = 0; j < n; j++)                                                                                \
            for (int64_t i = uplo == 'L' ? j : 0; i < (uplo == 'U' ? j + 1 : m); i++) {                                \
                double sum = 0;                                                                                        \
                for (int64_t l = 0; l < k; l++)                                                                        \
                    sum += (double)a[ta == 'N' ? i + l * lda : l + i * lda] * (double)b[tb == 'N' ? l + j * ldb : j + l * ldb]; \
                c[i + j * ldc] = (TYPE_##t)((double)alpha * sum + (beta != 0 ? (double)beta * (double)c[i + j * ldc] : 0)); \
            }                                                                                                          \
    }
LOOPS(s)
LOOPS(d)

static int letter(const char *t) {
    return *t == 'U' || *t == 'u' ? 'U' : *t == 'L' || *t == 'l' ? 'L' : 0;
}

static int triangle(int order, int uplo) {
    return order != 101 && order != 102 ? 0 : (uplo == 121) == (order == 102) ? 'U' : 'L';
}

static int known(int order, int op) {
    return order == 101 || order == 102 ? op : 0;
}

static int turned(int op) {
    return op == 'N' ? 'T' : op == 'T' ? 'N' : 0;
}

#define GEMM_fortran(name, t, INT)                                                                                     \
    void name(const char *ta, const char *tb, const INT *m, const INT *n, const INT *k, const TYPE_##t *alpha, const TYPE_##t *a, \
              const INT *lda, const TYPE_##t *b, const INT *ldb, const TYPE_##t *beta, TYPE_##t *c, const INT *ldc);   \
    void name(const char *ta, const char *tb, const INT *m, const INT *n, const INT *k, const TYPE_##t *alpha, const TYPE_##t *a, \
              const INT *lda, const TYPE_##t *b, const INT *ldb, const TYPE_##t *beta, TYPE_##t *c, const INT *ldc) {  \
        loops_##t('A', op_of(*ta), op_of(*tb), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                  \
    }
#define GEMM_cblas(name, t, INT)                                                                                       \
    void name(int order, int ta, int tb, INT m, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a, INT lda, const TYPE_##t *b, INT ldb, \
              TYPE_##t beta, TYPE_##t *c, INT ldc);                                                                    \
    void name(int order, int ta, int tb, INT m, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a, INT lda, const TYPE_##t *b, INT ldb, \
              TYPE_##t beta, TYPE_##t *c, INT ldc) {                                                                   \
        const int x = known(order, op_of(ta)), y = known(order, op_of(tb));                                            \
        if (order == 101)                                                                                              \
            loops_##t('A', y, x, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);                                        \
        else                                                                                                           \
            loops_##t('A', x, y, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                        \
    }
#define SYRK_fortran(name, t, INT)                                                                                     \
    void name(const char *uplo, const char *trans, const INT *n, const INT *k, const TYPE_##t *alpha, const TYPE_##t *a, const INT *lda, \
              const TYPE_##t *beta, TYPE_##t *c, const INT *ldc);                                                      \
    void name(const char *uplo, const char *trans, const INT *n, const INT *k, const TYPE_##t *alpha, const TYPE_##t *a, const INT *lda, \
              const TYPE_##t *beta, TYPE_##t *c, const INT *ldc) {                                                     \
        const int op = op_of(*trans);                                                                                  \
        loops_##t(letter(uplo), op, turned(op), *n, *n, *k, *alpha, a, *lda, a, *lda, *beta, c, *ldc);                 \
    }
#define SYRK_cblas(name, t, INT)                                                                                       \
    void name(int order, int uplo, int trans, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a, INT lda, TYPE_##t beta, TYPE_##t *c, INT ldc); \
    void name(int order, int uplo, int trans, INT n, INT k, TYPE_##t alpha, const TYPE_##t *a, INT lda, TYPE_##t beta, TYPE_##t *c, INT ldc) { \
        const int op = order == 101 ? turned(op_of(trans)) : op_of(trans);                                             \
        loops_##t(uplo == 121 || uplo == 122 ? triangle(order, uplo) : 0, op, turned(op), n, n, k, alpha, a, lda, a, lda, beta, c, ldc); \
    }

#define DEFINE_gemm(form, name, t, INT) GEMM_##form(name, t, INT)
#define DEFINE_syrk(form, name, t, INT) SYRK_##form(name, t, INT)
#define DEFINE(X, name, t, routine, form, INT, alike) DEFINE_##routine(form, name, t, INT)
BLAS_NAMES(DEFINE, )
