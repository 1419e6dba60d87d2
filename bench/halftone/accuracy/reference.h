/* reference: the truth about a product, on the CPU: FP64 product, |A||B| and the plain FP32 product,
 * multi-threaded. Knows nothing of schemes or devices.
 *
 * Products of two floats are exact in FP64, so the only error of `exact` is that of adding k terms: at most k
 * * 2^-53 of |A||B|, that is 1e-4 units of the grade at k = 65,536. `single` adds in FP32 in the order of k,
 * each product rounded first: what a BLAS without blocking or fused adds gives. */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include <stdint.h>

#include "accuracy/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

struct reference {
    int64_t rows, cols; /* of the arrays below: sampled rows x n, column-major */
    int64_t *row;       /* row[s]: the row of the product that sample s is */
    double *exact, *magnitude;
    double *low;   /* of FP64 products: the product is exact + low */
    float *single; /* of FP32 products */
};

/* op(A) is m x k and op(B) k x n, column-major; transposes are 'N', 'T' or 'C'. At most `rows_most` evenly
 * spread rows (0: all) are computed. Returns 0, or -1 without memory. threads 0: one per processor. */
int reference_make(struct reference *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb, int64_t rows_most, int threads);
/* The same of an FP64 product, in twice the precision: products by FMA, sums as pairs of doubles (Ogita, Rump and Oishi 2005). Off by at
 * most 2^-104 k^2 |A||B| or so, unless products fall below 2^-969. */
int reference_make_wide(struct reference *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                        const double *b, int64_t ldb, int64_t rows_most);
void reference_free(struct reference *r);

/* Copies the sampled rows of a full column-major result (m x n, ldc) into `out` (rows * cols). */
void reference_sample(const struct reference *r, const float *c, int64_t ldc, float *out);
/* How wrong an FP64 result (m x n, ldc) is: rel_frobenius, the grade in 2^-53 |A||B|, wrong_class; NaN the others, and all where a class is wrong. */
void reference_compare_wide(const struct reference *r, const double *c, int64_t ldc, struct metrics *out);
struct metrics_truth reference_truth(const struct reference *r);

#ifdef __cplusplus
}
#endif
#endif
