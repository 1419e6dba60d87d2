/* exact_sum: sums of products of doubles without an error, rounded once: a fixed-point number that holds all of
 * them, added to digit by digit. Plain and slow; test_exact_kernels.py holds it to Python's integers. */
#ifndef HT_EXACT_SUM_H
#define HT_EXACT_SUM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { EXACT_DIGITS = 204, EXACT_LEAST = -3264 }; /* digits of 32 bits; the first begins with 2^EXACT_LEAST */

struct exact_sum {
    int64_t digit[EXACT_DIGITS]; /* signed, below 2^63: so many products of 2^33 may be added between carries */
    int added;
};

static inline void exact_carry(struct exact_sum *s) {
    int64_t carry = 0;
    for (int i = 0; i < EXACT_DIGITS; i++) {
        const int64_t sum = s->digit[i] + carry;
        s->digit[i] = i < EXACT_DIGITS - 1 ? (int64_t)(sum & 0xffffffff) : sum;
        carry = sum >> 32;
    }
    s->added = 0;
}

/* word *= factor. */
static inline void exact_scale(uint32_t *word, uint64_t factor) {
    uint32_t product[7] = {0};
    for (int j = 0; j < 2; j++) {
        uint64_t carry = 0;
        for (int i = 0; i + j < 7; i++) {
            carry += (uint64_t)word[i] * (uint32_t)(factor >> 32 * j) + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    memcpy(word, product, sizeof product);
}

/* s += x y z, all finite. */
static inline void exact_add_product(struct exact_sum *s, double x, double y, double z) {
    const double factor[3] = {x, y, z};
    uint64_t mantissa[3];
    int exponent = 0, part, negative = 0;
    for (int i = 0; i < 3; i++) {
        mantissa[i] = (uint64_t)ldexp(frexp(fabs(factor[i]), &part), 53);
        exponent += part - 53;
        negative ^= signbit(factor[i]) != 0;
        if (mantissa[i] == 0)
            return;
        while (mantissa[i] % 2 == 0) { /* so that exponents reach no lower than subnormal numbers' */
            mantissa[i] /= 2;
            exponent++;
        }
    }
    const int at = (exponent - EXACT_LEAST) / 32, shift = (exponent - EXACT_LEAST) % 32;
    uint32_t word[7] = {1};
    for (int i = 0; i < 3; i++)
        exact_scale(word, mantissa[i]);
    uint64_t rest = 0;
    for (int i = 0; i < 7; i++) {
        rest |= (uint64_t)word[i] << shift;
        s->digit[at + i] += negative ? -(int64_t)(uint32_t)rest : (int64_t)(uint32_t)rest;
        rest >>= 32;
    }
    if (++s->added == 1 << 30)
        exact_carry(s);
}

/* To nearest even; -1, 0, 1 in sign. s changes. */
static inline double exact_value(struct exact_sum *s, int *sign) {
    exact_carry(s);
    *sign = s->digit[EXACT_DIGITS - 1] < 0 ? -1 : 1;
    for (int i = 0; i < EXACT_DIGITS && *sign < 0; i++)
        s->digit[i] = -s->digit[i];
    exact_carry(s);
    int top = EXACT_DIGITS * 32 - 1;
    while (top >= 0 && (s->digit[top / 32] >> top % 32 & 1) == 0)
        top--;
    if (top < 0) {
        *sign = 0;
        return 0;
    }
    const int first = top - 52 > -1074 - EXACT_LEAST ? top - 52 : -1074 - EXACT_LEAST; /* the last bit that is kept */
    uint64_t kept = 0;
    for (int i = top; i >= first; i--)
        kept = kept << 1 | (uint64_t)(s->digit[i / 32] >> i % 32 & 1);
    const int half = (int)(s->digit[(first - 1) / 32] >> (first - 1) % 32 & 1);
    int below = 0;
    for (int i = 0; i < first - 1; i++)
        below |= (int)(s->digit[i / 32] >> i % 32 & 1);
    kept += half && (below || kept % 2 != 0);
    return *sign * ldexp((double)kept, first + EXACT_LEAST);
}

/* alpha a b + beta c of vectors of k elements, as the library has it: alpha of 0 reads no vector, beta of 0 no c. */
static inline double exact_dot_product(int64_t k, double alpha, const double *a, int64_t a_step, const double *b, int64_t b_step,
                                       double beta, double c) {
    struct exact_sum s;
    double special = 0;
    int sign = 0;
    memset(&s, 0, sizeof s);
    const double by = isfinite(alpha) ? alpha : 1;
    for (int64_t i = 0; i < k && alpha != 0; i++) {
        const double x = a[i * a_step], y = b[i * b_step];
        if (isfinite(x) && isfinite(y))
            exact_add_product(&s, x, y, by);
        else
            special += x * y; /* NaN, or infinite: nothing is rounded */
    }
    const int finite_c = beta == 0 || (isfinite(beta) && isfinite(c));
    if (special == 0 && isfinite(alpha) && finite_c) {
        if (beta != 0)
            exact_add_product(&s, beta, c, 1);
        return exact_value(&s, &sign);
    }
    if (special == 0)
        exact_value(&s, &sign);
    const double product = special != 0 ? alpha * special : !isfinite(alpha) ? alpha * sign : 0;
    return product + (beta != 0 ? finite_c ? 0 : beta * c : 0);
}

/* ---- what a sum of products may come to that is added up in FP64, in whatever order, and rounded to FP32 once: for results whose order of k is the
 * matrix unit's own */

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
