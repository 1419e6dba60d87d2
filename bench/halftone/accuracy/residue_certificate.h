/* residue_certificate: the certificate of FP64 products by residues (ACCURACY64.md, section 18), as arithmetic on the host: the scale
 * that packing gives a row of A or a column of B (section 14), and how many of its elements count. Which do, and how many are needed, is
 * ht_crt_certify's (runtime/ht_crt.h). Every function is the reference of what kernels compute, bit for bit. Knows nothing of matrices,
 * files or devices. */
#ifndef BENCH_RESIDUE_CERTIFICATE_H
#define BENCH_RESIDUE_CERTIFICATE_H

#include <math.h>
#include <stdint.h>

#include "../../../runtime/ht_crt.h"

enum { BIAS = 1100, NONFINITE = 0xfff, PART_BITS = 14, NO_BINADE = -2000, SUM_BITS = 52 };

static inline int sum_binade(uint64_t x) {
    int binade = -1;
    for (; x != 0; x >>= 1)
        binade++;
    return binade;
}

/* What is known of up to HT_CRT_SEGMENT elements of a row: 0 where all are zero, else the biased exponent of the largest in the upper
 * 12 bits (all ones: NaN or Inf) and below, relative to it, an upper bound of the sum of squares. */
static inline uint64_t residue_measure(const double *x, int64_t step, int64_t count) {
    double most = 0;
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i * step]))
            return (uint64_t)NONFINITE << SUM_BITS;
        most = fmax(most, fabs(x[i * step]));
    }
    if (most == 0)
        return 0;
    const int binade = ilogb(most);
    for (int64_t i = 0; i < count; i++) { /* 15 bits of each, rounded up */
        const uint64_t part = (uint64_t)ldexp(fabs(x[i * step]), PART_BITS - binade) + 1;
        sum += part * part;
    }
    return (uint64_t)(binade + BIAS) << SUM_BITS | sum;
}

/* The largest binade of a row's segments; NO_BINADE: all are zero, NONFINITE: there is NaN or Inf. */
static inline int row_binade(const double *x, int64_t step, int64_t k) {
    double most = 0;
    for (int64_t i = 0; i < k; i++) {
        if (!isfinite(x[i * step]))
            return NONFINITE;
        most = fmax(most, fabs(x[i * step]));
    }
    return most == 0 ? NO_BINADE : ilogb(most);
}

/* An upper bound of the sum of squares of the row's 15 bits. */
static inline uint64_t row_sum(const double *x, int64_t step, int64_t k, int binade) {
    uint64_t sum = 0;
    for (int64_t at = 0; at < k; at += HT_CRT_SEGMENT) {
        const uint64_t measured = residue_measure(x + at * step, step, k - at < HT_CRT_SEGMENT ? k - at : HT_CRT_SEGMENT);
        const int field = (int)(measured >> SUM_BITS), below = 2 * (binade - (field - BIAS));
        if (field != 0)
            sum += ((measured & ((UINT64_C(1) << SUM_BITS) - 1)) >> (below < 63 ? below : 63)) + 1;
    }
    return sum;
}

/* s of a row: its elements times 2^s, rounded to nearest, are the integers; HT_CRT_POISONED where one is NaN or Inf, 0 where all are
 * zero or there is no such scheme. */
static inline int residue_exponent(int moduli, const double *x, int64_t step, int64_t k) {
    struct ht_crt c;
    const int binade = row_binade(x, step, k);
    if (binade == NONFINITE)
        return HT_CRT_POISONED;
    if (binade == NO_BINADE || ht_crt_make(&c, moduli) != 0)
        return 0;
    /* The largest s with sum 2^(2 (binade - 14)) 2^(2s) <= limit. */
    const uint64_t sum = row_sum(x, step, k, binade);
    const int shift = 63 - sum_binade(sum);
    const int twice = c.limit_exponent + shift - (c.limit_mantissa < sum << shift) - 2 * (binade - PART_BITS);
    return twice >= 0 ? twice / 2 : -((1 - twice) / 2);
}

enum { RESIDUE_NONE = -(1 << 30) }; /* the count of a row with NaN or Inf: nothing makes up for it */
struct residue_row {
    int exponent;
    int64_t large, zeros; /* elements that count; those that are 0 */
    int64_t count;        /* what packing stores: `large`; as many as are needed where all are zero */
};
static inline struct residue_row residue_of_row(int moduli, const struct ht_certificate *c, const double *x, int64_t step, int64_t k) {
    struct residue_row r = {residue_exponent(moduli, x, step, k), 0, 0, 0};
    const double least = r.exponent == HT_CRT_POISONED ? INFINITY : fmax(ldexp(1, c->exponent - r.exponent), 0x1p-1022);
    for (int64_t i = 0; i < k; i++) {
        r.large += fabs(x[i * step]) >= least && isfinite(x[i * step]);
        r.zeros += x[i * step] == 0;
    }
    r.count = r.exponent == HT_CRT_POISONED ? RESIDUE_NONE : r.zeros == k ? c->needed : r.large;
    return r;
}

#endif
