/* See fp64_reference.h. Numbers are magnitudes of WIDE words and a sign, so that every double times every
 * power of two that occurs is an exact multiple of 2^LOWEST. */
#include "fp64_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/halftone/accuracy/residue_certificate.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;
enum { WIDE = 256, LOWEST = -4096, VALUE = 8 };

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* |x| = mantissa * 2^exponent. */
static uint64_t mantissa_of(double x, int *exponent) {
    const uint64_t bits = bits_of(x) & ~(UINT64_C(1) << 63), fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int field = (int)(bits >> 52);
    *exponent = field == 0 ? -1074 : field - 1075;
    return field == 0 ? fraction : fraction | UINT64_C(1) << 52;
}

/* The largest, from significand 1 + 0xfdfdf 2^-20 on that of the next binade, is brought to 2^54. */
static int digit_exponent(const double *x, int64_t step, int k) {
    double most = 0;
    int exponent;
    for (int i = 0; i < k; i++) {
        if (!isfinite(x[i * step]))
            return HT_CRT_POISONED;
        most = fabs(x[i * step]) > most ? fabs(x[i * step]) : most;
    }
    if (most == 0)
        return 0;
    return frexp(most, &exponent) >= ldexp(0x1fdfdf, -21) ? 54 - exponent : 55 - exponent;
}

int fp64_row_exponent(int moduli, const double *x, int64_t step, int k) {
    return moduli == FP64_DIGITS ? digit_exponent(x, step, k) : residue_exponent(moduli, x, step, k);
}

void fp64_scaled(double x, int s, uint32_t *words) {
    int exponent;
    u128 n = mantissa_of(x, &exponent);
    const int left = exponent + s;
    if (left >= 0)
        n <<= left;
    else
        n = left < -64 ? 0 : ((n >> (-left - 1)) + 1) >> 1;
    if (x < 0)
        n = -n;
    for (int i = 0; i < 3; i++)
        words[i] = (uint32_t)(n >> 32 * i);
}

/* sum += |x| |y| 2^0 with the sign, modulo 2^(32 VALUE). */
static void add_product(uint32_t *sum, const uint32_t *x, const uint32_t *y) {
    uint32_t factor[2][3], product[VALUE] = {0};
    const uint32_t *const source[2] = {x, y};
    for (int f = 0; f < 2; f++) {
        const uint32_t sign = source[f][2] >> 31 ? 0xffffffffu : 0;
        uint64_t carry = sign & 1;
        for (int i = 0; i < 3; i++) {
            carry += source[f][i] ^ sign;
            factor[f][i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (int i = 0; i < 3; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 3; j++) {
            carry += (uint64_t)factor[0][i] * factor[1][j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + 3] = (uint32_t)carry;
    }
    const uint32_t sign = (x[2] ^ y[2]) >> 31 ? 0xffffffffu : 0;
    uint64_t carry = sign & 1;
    for (int i = 0; i < VALUE; i++) {
        carry += (uint64_t)sum[i] + (product[i] ^ sign);
        sum[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* sum += the products of digits p of x and q of y with p + q < 7, in units of the last of them. */
static void add_digits(uint32_t *sum, const uint32_t *x, const uint32_t *y) {
    int digit[2][FP64_DIGITS];
    const uint32_t *const source[2] = {x, y};
    i128 total = 0;
    for (int f = 0; f < 2; f++) {
        int64_t n = (int64_t)((uint64_t)source[f][1] << 32 | source[f][0]);
        for (int p = FP64_DIGITS - 1; p >= 0; p--) {
            digit[f][p] = (int)((n + 128) & 255) - 128;
            n = (n - digit[f][p]) / 256;
        }
    }
    for (int p = 0; p < FP64_DIGITS; p++)
        for (int q = 0; p + q < FP64_DIGITS; q++)
            total += (i128)(digit[0][p] * digit[1][q]) * ((i128)1 << 8 * (FP64_DIGITS - 1 - p - q));
    u128 carry = 0;
    for (int i = 0; i < VALUE; i++) {
        carry += (u128)sum[i] + (uint32_t)(i < 4 ? total >> 32 * i : total >> 127);
        sum[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* wide += sign * magnitude * factor * 2^exponent, in two's complement. */
static void add_wide(uint32_t *wide, int negative, const uint32_t *magnitude, int words, uint64_t factor,
                     int exponent) {
    static uint32_t term[WIDE];
    const int at = exponent - LOWEST;
    memset(term, 0, sizeof term);
    for (int f = 0; f < 64; f++) {
        for (int i = 0; (factor >> f & 1) && i < words; i++) {
            const int bit = at + f + 32 * i;
            uint64_t carry = (uint64_t)magnitude[i] << bit % 32;
            for (int to = bit / 32; carry != 0 && to < WIDE; to++) {
                carry += term[to];
                term[to] = (uint32_t)carry;
                carry >>= 32;
            }
        }
    }
    uint64_t carry = negative != 0;
    for (int i = 0; i < WIDE; i++) {
        carry += (uint64_t)wide[i] + (negative ? ~term[i] : term[i]);
        wide[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static uint32_t negate(uint32_t *x, int words) {
    const uint32_t negative = x[words - 1] >> 31;
    uint64_t carry = 1;
    for (int i = 0; negative && i < words; i++) {
        carry += (uint32_t)~x[i];
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return negative;
}

/* Rounded to nearest, ties to even; exact zero is +0. */
static double round_wide(uint32_t *wide) {
    const uint32_t negative = negate(wide, WIDE);
    int top = 32 * WIDE - 1;
    while (top >= 0 && !(wide[top / 32] >> top % 32 & 1))
        top--;
    if (top < 0)
        return 0;
    int last = top - 52; /* bit that a double's last is */
    if (last < -1074 - LOWEST)
        last = -1074 - LOWEST;
    uint64_t mantissa = 0;
    for (int bit = top; bit >= last; bit--)
        mantissa = mantissa << 1 | (wide[bit / 32] >> bit % 32 & 1);
    int below = 0;
    for (int bit = 0; bit < last - 1; bit++)
        below |= (int)(wide[bit / 32] >> bit % 32 & 1);
    if ((wide[(last - 1) / 32] >> (last - 1) % 32 & 1) && (below || (mantissa & 1)))
        mantissa++;
    const double x = ldexp((double)mantissa, last + LOWEST); /* exact, or infinite */
    return negative ? -x : x;
}

int fp64_table(int moduli, struct ht_crt *table) {
    return ht_crt_make(table, moduli);
}

/* What 20 moduli or fewer take; words of a row. */
int fp64_fewer(struct ht_crt_fewer *fewer) {
    struct ht_crt all;
    (void)ht_crt_make(&all, HT_CRT_MOST);
    ht_crt_make_fewer(fewer, &all, HT_CRT_FEWEST);
    return fewer->row_words;
}

/* value: X, whose exponent is -scale. */
static double finish(const uint32_t *value, int scale, double alpha, double beta, double c) {
    static uint32_t wide[WIDE];
    uint32_t magnitude[VALUE];
    int exponent;
    memcpy(magnitude, value, sizeof magnitude);
    const uint32_t negative = negate(magnitude, VALUE);
    int is_zero = 1;
    for (int i = 0; i < VALUE; i++)
        is_zero &= magnitude[i] == 0;
    if ((alpha != 0 && scale >= HT_CRT_POISONED / 2) || !isfinite(alpha) ||
        (beta != 0 && !(isfinite(beta) && isfinite(c)))) {
        const double x = alpha == 0                     ? 0
                         : scale >= HT_CRT_POISONED / 2 ? NAN
                                                        : alpha * (is_zero    ? 0
                                                                   : negative ? -1
                                                                              : 1);
        return beta == 0 ? x : fma(beta, c, x); /* beta c alone may overflow beside an alpha of Inf */
    }
    memset(wide, 0, sizeof wide);
    if (alpha != 0) {
        const uint64_t factor = mantissa_of(alpha, &exponent);
        add_wide(wide, (negative != 0) != (alpha < 0), magnitude, VALUE, factor, exponent - scale);
    }
    if (beta != 0) {
        int other;
        const uint64_t factor = mantissa_of(beta, &exponent), old = mantissa_of(c, &other);
        const uint32_t words[2] = {(uint32_t)old, (uint32_t)(old >> 32)};
        add_wide(wide, (beta < 0) != (c < 0), words, 2, factor, exponent + other);
    }
    return round_wide(wide);
}

/* Whether X lies where residues tell it from all others: |X| < limit, with some of the limit's slack left
 * to the estimate of round(Z / P). */
static int is_unique(const struct ht_crt *c, const uint32_t *value) {
    uint32_t twice[HT_CRT_WORDS], product[HT_CRT_WORDS] = {0}, slack[HT_CRT_WORDS];
    memcpy(twice, value, sizeof twice);
    negate(twice, HT_CRT_WORDS);
    ht_crt_multiply(twice, 2, 0);
    memcpy(product, c->product, sizeof c->product);
    memcpy(slack, product, sizeof slack);
    ht_crt_divide(slack, 4096);
    ht_crt_subtract(product, slack);
    return !ht_crt_subtract(product, twice);
}

static uint32_t *scaled_rows(int moduli, const struct fp64_operand *operand, int rows, int k, int *s) {
    uint32_t *words = calloc((size_t)rows * (size_t)(k > 0 ? k : 1), 3 * sizeof *words);
    for (int row = 0; words && row < rows; row++) {
        const double *x = operand->at + row * operand->row_step;
        s[row] = fp64_row_exponent(moduli, x, operand->k_step, k);
        for (int h = 0; s[row] != HT_CRT_POISONED && h < k; h++)
            fp64_scaled(x[h * operand->k_step], s[row], words + ((int64_t)row * k + h) * 3);
    }
    return words;
}

int fp64_reference(int moduli, int m, int n, int k, double alpha, const struct fp64_operand *a,
                   const struct fp64_operand *b, double beta, double *c, int64_t ldc) {
    const int by_digits = moduli == FP64_DIGITS;
    struct ht_crt table;
    if (!by_digits && ht_crt_make(&table, moduli) != 0)
        return 1;
    int *s = calloc((size_t)m + (size_t)n, sizeof *s), code = 0;
    uint32_t *x = scaled_rows(moduli, a, m, k, s), *y = scaled_rows(moduli, b, n, k, s + m);
    for (int i = 0; i < m * n; i++) {
        const int row = i % m, col = i / m;
        uint32_t value[VALUE] = {0};
        for (int h = 0; h < k; h++)
            (by_digits ? add_digits : add_product)(value, x + ((int64_t)row * k + h) * 3, y + ((int64_t)col * k + h) * 3);
        if (!by_digits && !is_unique(&table, value))
            code = 2;
        double *to = c + col * ldc + row;
        *to = finish(value, s[row] + s[m + col] - (by_digits ? 8 * (FP64_DIGITS - 1) : 0), alpha, beta, beta != 0 ? *to : 0);
    }
    free(x);
    free(y);
    free(s);
    return code;
}
