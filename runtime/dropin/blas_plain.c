/* blas_plain.c: what runs where there is neither halftone nor a BLAS, and the end of a call that failed between two tiles. Slow,
 * and never wrong. */
#include <stdlib.h>

#include "blas_call.h"

static double get(const struct blas_call *x, const void *matrix, int64_t at) {
    return x->type == BLAS_s ? (double)((const float *)matrix)[at] : ((const double *)matrix)[at];
}

static void put(const struct blas_call *x, int64_t at, double value) {
    if (x->type == BLAS_s)
        ((float *)x->c)[at] = (float)value;
    else
        ((double *)x->c)[at] = value;
}

static bool is_in_triangle(const struct blas_call *x, int64_t row, int64_t col) {
    return x->routine == BLAS_gemm || (x->uplo == 'L' ? row >= col : row <= col);
}

void blas_plain(const struct blas_call *x, const struct blas_block *t) {
    const double alpha = get(x, x->alpha, 0), beta = get(x, x->beta, 0);
    for (int64_t col = t->col; col < t->col + t->cols; col++)
        for (int64_t row = t->row; row < t->row + t->rows; row++) {
            if (!is_in_triangle(x, row, col))
                continue;
            double sum = 0;
            for (int64_t i = 0; alpha != 0 && i < x->k; i++)
                sum += get(x, x->a, x->op_a == 'N' ? row + i * x->lda : i + row * x->lda) *
                       get(x, x->b, x->op_b == 'N' ? i + col * x->ldb : col + i * x->ldb);
            const int64_t at = row + col * x->ldc;
            put(x, at, (alpha != 0 ? alpha * sum : 0) + (beta != 0 ? beta * get(x, x->c, at) : 0));
        }
}

/* Of SYRK only a triangle of the block may be written, so the product goes to memory of its own. */
void blas_finish(const struct blas_call *x, const struct blas_block *t, blas_product *product) {
    const double beta = get(x, x->beta, 0);
    const float zero_s = 0;
    const double zero_d = 0;
    void *const function = blas_original(x, x->alike);
    const size_t bytes = (size_t)t->rows * (size_t)t->cols * (x->type == BLAS_s ? sizeof(float) : sizeof(double));
    void *const block = function != NULL ? malloc(bytes) : NULL;
    if (block == NULL) {
        blas_plain(x, t);
        return;
    }
    product(x, t, x->type == BLAS_s ? (const void *)&zero_s : (const void *)&zero_d, block, t->rows, function);
    for (int64_t col = 0; col < t->cols; col++)
        for (int64_t row = 0; row < t->rows; row++) {
            const int64_t at = t->row + row + (t->col + col) * x->ldc;
            if (is_in_triangle(x, t->row + row, t->col + col))
                put(x, at, get(x, block, row + col * t->rows) + (beta != 0 ? beta * get(x, x->c, at) : 0));
        }
    free(block);
}

int blas_wrong_argument(const struct blas_call *x) {
    const bool is_gemm = x->routine == BLAS_gemm;
    const int64_t a_rows = x->op_a == 'N' ? x->m : x->k, b_rows = x->op_b == 'N' ? x->k : x->n;
    const struct {
        int number;
        bool wrong;
    } rules[] = {{1, is_gemm ? x->op_a == '\0' : x->uplo == '\0'},
                 {2, is_gemm ? x->op_b == '\0' : x->op_a == '\0'},
                 {3, x->m < 0},
                 {is_gemm ? 4 : 3, x->n < 0},
                 {is_gemm ? 5 : 4, x->k < 0},
                 {is_gemm ? 8 : 7, x->lda < (a_rows > 1 ? a_rows : 1)},
                 {10, is_gemm && x->ldb < (b_rows > 1 ? b_rows : 1)},
                 {is_gemm ? 13 : 10, x->ldc < (x->m > 1 ? x->m : 1)}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return rules[i].number;
    return 0;
}
