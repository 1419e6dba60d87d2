/* reference64: the truth about an FP64 product, on the CPU, in twice the precision (products by FMA, sums as pairs of
 * doubles; Ogita, Rump and Oishi 2005), and how wrong a result is beside it. Knows nothing of schemes or devices.
 *
 * high + low is off by at most 2^-104 k^2 |A||B| or so, unless products fall below 2^-969. `magnitude` is |A||B|, rounded. */
#ifndef BENCH_REFERENCE64_H
#define BENCH_REFERENCE64_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reference64 {
    int64_t rows, cols; /* of the arrays below: sampled rows x n, column-major */
    int64_t *row;       /* row[s]: the row of the product that sample s is */
    double *high, *low, *magnitude;
};

/* As reference_make. */
int reference64_make(struct reference64 *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                     const double *b, int64_t ldb, int64_t rows_most);
void reference64_free(struct reference64 *r);

/* As metrics.h has them, the grade in 2^-53 |A||B|; NaN where a result's class is wrong. */
struct metrics64 {
    double rel_frobenius, grade;
    int64_t wrong_class;
};
/* c: the whole result, column-major with ldc. */
void reference64_compare(const struct reference64 *r, const double *c, int64_t ldc, struct metrics64 *out);

#ifdef __cplusplus
}
#endif
#endif
