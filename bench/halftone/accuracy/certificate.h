/* certificate: the a-posteriori certificate of scheme f16x3 (ACCURACY.md, section 15), as arithmetic on the
 * host: what packing adds up for a row of A or a column of B, and the test that an element of C passes or
 * not. Every function is the reference of what kernels compute, bit for bit. Knows nothing of matrices, files
 * or devices.
 *
 * Scaled so that its largest is in [2^14, 2^15), a row's elements from 2^-2 on keep 22 bits. Smaller ones
 * keep an absolute error, and FP16's subnormals align as 2^-14 on the matrix unit. `lost` adds both up over a
 * row, in 2^-34; all results of row i and column j together err by at most 2^-19 (lost_i + lost_j) beyond the
 * scheme's bound, scaled. |C_ij| <= (|A||B|)_ij, so that is within tau units of |A||B| wherever |C_ij|,
 * scaled, is at least 2^5 / tau (lost_i + lost_j). */
#ifndef BENCH_CERTIFICATE_H
#define BENCH_CERTIFICATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CERTIFICATE_TAU = 16,        /* what `auto` promises beside f16x3's bound: tau + 1 units */
    CERTIFICATE_K_MOST = 1 << 21 /* up to here `lost` is an int: at most 513 an element */
};

/* Whether the matrix unit keeps FP16's subnormals (NVIDIA) or flushes them (gfx90a, whose residual is stored
 * times 2^11). */
enum certificate_unit { CERTIFICATE_KEEPS, CERTIFICATE_FLUSHES };

/* The exponent e of a row's scale 2^-e (ht_row_exponent), from its largest finite magnitude. */
int certificate_exponent(float most);
/* The slices of a scaled element, as values (CERTIFICATE_KEEPS). */
void certificate_split(float y, float slice[2]);
/* One element's share of `lost`: 0 for zeros and for elements from 2^-2 on, scaled. Of the element before
 * scaling: one that the scale takes below FP32 is not zero. */
int certificate_lost(float x, int exponent, enum certificate_unit unit);

/* What is stored for a row: the threshold of its results. NaN where the row holds NaN or Inf: nothing passes.
 * -FLT_MAX where it is zero: its results are exact, whatever they meet that is finite. */
float certificate_threshold(int64_t lost, int is_zero, int is_finite, double tau);
/* normal: certificate_row's, of all of them. Whether 64 rows are left to the wide scheme whatever they meet, because native FP32 hardly rounds sums of
 * so few products: fewer than CERTIFICATE_FEW such elements a row, zero rows not counted. No bound asks
 * for it; that errors stay below twice native's on permutations and sparse matrices does. */
enum { CERTIFICATE_FEW = 8 };
int certificate_is_sparse(int64_t normal, int64_t live_rows);
/* Whether a result is cleared. `acc` is scaled: before the scales of its row and column are undone, before
 * alpha and beta. NaN is not. */
int certificate_passes(float acc, float a_threshold, float b_threshold);

/* A whole row, strided. */
struct certificate_row {
    int exponent, is_zero, is_finite;
    float most;                   /* largest finite magnitude */
    int64_t lost, nonzero, small; /* elements that are not zero; those of them below 2^-2, scaled */
    int64_t normal;               /* from 2^-14 on, rounded to FP16: products that count, for certificate_is_sparse */
};
struct certificate_row certificate_of_row(const float *x, int64_t k, int64_t step,
                                          enum certificate_unit unit);

#ifdef __cplusplus
}
#endif
#endif
