/* ht_bound.h: the a-priori error bound of a scheme. */
#ifndef HT_BOUND_H
#define HT_BOUND_H

#include "ht_abi.h"

/* A-priori error bound: |C - (alpha A B + beta C0)| <= units * 2^-24 |alpha| |A||B| + 2^-24 |beta C0|, componentwise,
 * for one product of length k, split-K included. Derivation, range, absolute terms: the project's notes. With exact
 * sums (exact_k > 0) |A||B| stands for k * largest of the row of A * largest of the column of B.
 *   align_units: what the chain of the main accumulator loses per mma_k, all its products together, relative to the
 *   running sum of magnitudes;
 *   an addition outside the matrix unit rounds by one unit of its result: one for each interval but the first;
 *   1/25 more: slices are up to 2^-9 larger than what they stand for, and corrections with an accumulator of their
 *   own lose at most 1/28 unit per mma_k;
 *   4: alpha, beta, the accumulators' combination, and everything that stays below one unit.
 *
 * Worked example (a test holds it): split_units 8, mma_k 16, align_units 10, promote 64, k = 4096: a chain of 4 steps loses
 * 40, 64 intervals are 63 additions; 8 + 103 + 103 / 25 + 4 = 119. */
static inline int64_t ht_bound_units(const struct ht_scheme_desc *s, int64_t k) {
    if (s->exact_k > 0) /* no chain loses anything */
        return s->split_units + 4;
    if (k <= s->simt_k_max) /* k rounded FMAs; one more addition and alpha, beta */
        return k + 4;
    int64_t chain_k = s->promote_k > 0 && s->promote_k < k ? s->promote_k : k;
    int64_t chain = (int64_t)s->align_units * ht_ceil_div(chain_k, s->mma_k);
    int64_t adds = s->promote_k > 0 ? ht_ceil_div(k, s->promote_k) - 1 : 0;
    int64_t lost = chain + adds;
    return s->split_units + lost + lost / 25 + 4;
}

#endif
