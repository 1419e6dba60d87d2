/* metrics: how wrong a product is (ACCURACY.md, section 13). Pure arithmetic on host arrays; knows nothing of
 * schemes, devices or files.
 *
 * NaN never passes: where the result's class (NaN, +Inf, -Inf, finite) differs from that of the reference
 * rounded to float, the element is counted in `wrong_class`, and every error of the result is NaN, which fails
 * every `<=`. Where both are the same infinity or both NaN the element is right and left out of the sums. */
#ifndef BENCH_METRICS_H
#define BENCH_METRICS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a result is held against; all arrays are dense column-major, count = rows * cols. */
struct metrics_truth {
    int64_t count;
    const double *exact;     /* FP64 product */
    const double *magnitude; /* |A||B| */
    const float *single;     /* the CPU's FP32 product; may be NULL: its three metrics become NaN */
};

struct metrics {
    double rel_frobenius;            /* ||C - R||_F / ||R||_F (MixPert eq. 10) */
    double grade;                    /* max |C - R| / (2^-24 |A||B|) */
    double max_error, mred, max_abs; /* against FP64: LE-GEMM eqs. 19 and 20, EGEMM-TC eq. 10 */
    double max_error_cpu, mred_cpu,
        max_abs_cpu; /* the same against the CPU's FP32 result, as in the papers */
    int64_t wrong_class;
};

/* 0: finite, 1: +Inf, 2: -Inf, 3: NaN. */
int metrics_class(float x);

void metrics_compute(const struct metrics_truth *truth, const float *result, struct metrics *out);

/* LE-GEMM figs. 12 and 13: how often each signed error C - R occurs, in equal bins over [-limit, limit];
 * errors beyond go to the outermost bins, NaN to none. limit 0: the largest error. Returns the limit used. */
double metrics_histogram(const struct metrics_truth *truth, const float *result, double limit, int64_t *bins,
                         int bin_count);

/* Bit for bit, NaN payloads and the sign of zero included; index of the first difference or -1. */
int64_t metrics_first_difference(const float *a, const float *b, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
