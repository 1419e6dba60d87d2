/* fp64_sum: what a sum of products may come to that is added up in FP64, in whatever order, and rounded to FP32 once. For tests of results
 * whose order of k is the matrix unit's own. */
#ifndef TESTS_FP64_SUM_H
#define TESTS_FP64_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

struct fp64_sum {
    double value, magnitude; /* of the products, added up here; of all their magnitudes */
    int64_t products;
};

static inline void fp64_add(struct fp64_sum *s, float a, float b) {
    const double product = (double)a * (double)b;
    s->value += product;
    s->magnitude += fabs(product);
    s->products++;
}

/* alpha * sum + beta * old; beta 0 does not read it. */
static inline float fp64_result(double sum, float alpha, float beta, float old) {
    const float v = alpha * (float)sum;
    return beta != 0.0f ? fmaf(beta, old, v) : v;
}

/* Whether `got` is such a result: both sums may be off by 2^-53 of the magnitudes for each product. */
static inline int fp64_is(const struct fp64_sum *s, float alpha, float beta, float old, float got) {
    const double room = isfinite(s->magnitude) ? 2 * (double)s->products * 0x1p-53 * s->magnitude : 0;
    const float want = fp64_result(s->value, alpha, beta, old);
    const float one = fp64_result(s->value - room, alpha, beta, old), other = fp64_result(s->value + room, alpha, beta, old);
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return memcmp(&want, &got, sizeof want) == 0 || (got >= fminf(one, other) && got <= fmaxf(one, other));
}

#endif
