/* ht_crt.h: constants of Ozaki-II on INT8 (FP64 products by residues, schemes crt14 ... crt20), made from
 * the list of moduli by exact integer arithmetic. Pure C without state: the generator writes them into
 * kernels, the runtime and the tests' reference read them. What they mean, and why they suffice:
 * ACCURACY64.md, section 14.
 *
 * A row of A times 2^s, rounded to integers, and a column of B times 2^t have an exact product X below P/2,
 * P the product of N pairwise coprime moduli up to 256. So X follows from X mod p of each modulus p, N
 * products of INT8 with INT32 sums:
 *
 *   element -> integer of digit_words x 4 signed digits, base 256 -> residues (element, start, inverse)
 *   INT8 product of each modulus -> INT32 sums
 *   INT32 sum c -> its residue c - p round(c barrett / 2^38), a signed byte
 *   residues r -> Z = sum of r_l W_l, digit by digit (weight) -> X = Z - P round(Z / P) (quotient) -> FP64
 *
 * W_l is 1 mod p_l and 0 mod the others, between -P/2 and P/2. */
#ifndef HT_CRT_H
#define HT_CRT_H

#include <stdint.h>
#include <string.h>

enum {
    HT_CRT_LEAST = 14, /* moduli */
    HT_CRT_MOST = 20,
    HT_CRT_FEWEST = 4, /* of them that a product of HT_CRT_MOST is left with where the data need no more */
    HT_CRT_WORDS = 8,     /* of 32 bits, the arithmetic below: more than any number here takes */
    /* words of tables, at most: */
    HT_CRT_VALUE_WORDS = 6,                      /* of P, or of X with its sign */
    HT_CRT_ELEMENT_WORDS = 3,                    /* of an element's digits, four to a word */
    HT_CRT_WEIGHT_WORDS = (HT_CRT_MOST + 3) / 4, /* of a digit of all W_l, four moduli to a word */
    HT_CRT_SEGMENT = 512, /* k of a row whose elements are measured together */
    HT_CRT_EXACT_K =
        130560, /* k after which INT32 sums are replaced by their residues: segments that 2^31 / 128^2 = 131,072 is more than */
    HT_CRT_POISONED = 1 << 20, /* exponent of a row with NaN or Inf; far above what two others add up to */
    HT_CRT_K_MOST = 1 << 29 /* beyond that integers may be too large for the moduli (ACCURACY64.md, section 14) */
};

struct ht_crt {
    int moduli;              /* N */
    int product_bits;        /* floor(log2 P) + 1 */
    int digit_words;         /* words of four signed digits that hold a scaled element */
    int value_words;         /* 32-bit words that hold X with its sign */
    int sum_words;           /* the same for Z */
    int top_word, top_shift; /* Z >> (32 top_word + top_shift) has 31 bits and a sign ... */
    int32_t quotient;        /* ... and times this, divided by 2^50 and rounded, is round(Z / P) */
    uint64_t limit_mantissa; /* limit on (2^s |row|)^2: mantissa of 64 bits, the first of which is 1 ... */
    int limit_exponent;      /* ... times 2^this */
    uint32_t product[HT_CRT_VALUE_WORDS]; /* P, lowest word first */
    int32_t modulus[HT_CRT_MOST];
    int32_t barrett[HT_CRT_MOST]; /* 2^38 / p, to nearest */
    int32_t start
        [HT_CRT_MOST]; /* of the sum of digits times `element`: bits of a float that is a multiple of p */
    uint32_t inverse[HT_CRT_MOST];    /* 1 / p to nearest, as bits of a float */
    uint32_t element[HT_CRT_MOST][HT_CRT_ELEMENT_WORDS]; /* 256^j mod p, between -p/2 and p/2, as signed bytes */
    /* [b][l / 4]: digit b of W_l, as signed bytes of four moduli; moduli beyond N: 0 */
    uint32_t weight[HT_CRT_MOST][HT_CRT_WEIGHT_WORDS];
};

/* Largest pairwise coprime numbers up to 256. */
static const int32_t ht_crt_moduli[HT_CRT_MOST] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                                   223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

/* x = x * factor + carry. */
static inline void ht_crt_multiply(uint32_t *x, uint32_t factor, uint32_t carry) {
    uint64_t rest = carry;
    for (int i = 0; i < HT_CRT_WORDS; i++) {
        rest += (uint64_t)x[i] * factor;
        x[i] = (uint32_t)rest;
        rest >>= 32;
    }
}

/* x = x / divisor; what is left. */
static inline uint32_t ht_crt_divide(uint32_t *x, uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = HT_CRT_WORDS - 1; i >= 0; i--) {
        rest = rest << 32 | x[i];
        x[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint32_t)rest;
}

/* x = x - y, modulo 2^(32 HT_CRT_WORDS); 1 where y is larger. */
static inline int ht_crt_subtract(uint32_t *x, const uint32_t *y) {
    uint64_t borrow = 0;
    for (int i = 0; i < HT_CRT_WORDS; i++) {
        const uint64_t d = (uint64_t)x[i] - y[i] - borrow;
        x[i] = (uint32_t)d;
        borrow = d >> 63;
    }
    return (int)borrow;
}

static inline int ht_crt_bit_length(const uint32_t *x) {
    int bits = 32 * HT_CRT_WORDS;
    while (bits > 0 && !(x[(bits - 1) / 32] >> (bits - 1) % 32 & 1))
        bits--;
    return bits;
}

/* 64 bits of x that end with bit `at`, which may be negative. */
static inline uint64_t ht_crt_bits(const uint32_t *x, int at) {
    uint64_t bits = 0;
    for (int i = 63; i >= 0; i--)
        bits = bits << 1 |
               (at + i < 0 || at + i >= 32 * HT_CRT_WORDS ? 0 : x[(at + i) / 32] >> (at + i) % 32 & 1);
    return bits;
}

/* 2^power / divisor to nearest, by long division; below 2^63. */
static inline uint64_t ht_crt_ratio(int power, const uint32_t *divisor) {
    uint32_t rest[HT_CRT_WORDS] = {1}, other[HT_CRT_WORDS];
    uint64_t ratio = 0;
    for (int i = 0; i <= power; i++) { /* one bit more than needed: it rounds */
        ht_crt_multiply(rest, 2, 0);
        memcpy(other, rest, sizeof other);
        ratio *= 2;
        if (!ht_crt_subtract(other, divisor)) {
            memcpy(rest, other, sizeof rest);
            ratio++;
        }
    }
    return (ratio + 1) / 2;
}

/* x mod p as a number between -p/2 and p/2. */
static inline int32_t ht_crt_centred(int64_t x, int32_t p) {
    const int32_t r = (int32_t)((x % p + p) % p);
    return 2 * r > p || (p == 256 && r == 128) ? r - p : r;
}

/* Modulus l: how INT32 sums and elements get their residues. */
static inline void ht_crt_make_residue(struct ht_crt *c, int l) {
    const int32_t p = ht_crt_moduli[l];
    const uint32_t divisor[HT_CRT_WORDS] = {(uint32_t)p};
    const int digits = 4 * c->digit_words,
              most = digits * 128 * (p == 255 ? 1 : 128); /* sums of digits times `element` */
    int32_t power = 1;
    c->modulus[l] = p;
    c->barrett[l] = (int32_t)ht_crt_ratio(38, divisor);
    const int32_t start = ((1 << 23) + most + p - 1) / p * p; /* so sums stay at 2^23 and above: mantissas */
    c->start[l] = 0x4b000000 + (start - (1 << 23));
    /* 2^31 / p has 24 bits, the first of which a float leaves out. */
    c->inverse[l] = (uint32_t)(127 + 23 - 31) << 23 | ((uint32_t)ht_crt_ratio(31, divisor) & 0x7fffff);
    for (int j = 0; j < digits; j++) {
        c->element[l][j / 4] |= ((uint32_t)ht_crt_centred(power, p) & 255u) << j % 4 * 8;
        power = ht_crt_centred((int64_t)power * 256, p);
    }
}

/* Modulus l: W_l 2^shift, of the product of all moduli, with 128 more in each of its `digits`: what is left of them has no
 * sign. */
static inline void ht_crt_biased_weight(uint32_t *w, int l, const uint32_t *product, int shift, int digits) {
    const int32_t p = ht_crt_moduli[l];
    uint32_t other[HT_CRT_WORDS], half[HT_CRT_WORDS], bias[HT_CRT_WORDS] = {0};
    memcpy(w, product, sizeof other);
    ht_crt_divide(w, (uint32_t)p);
    memcpy(other, w, sizeof other);
    const int32_t rest = (int32_t)ht_crt_divide(other, (uint32_t)p);
    int32_t inverse = 1;
    while (inverse * rest % p != 1)
        inverse++;
    ht_crt_multiply(w, (uint32_t)inverse, 0);
    memcpy(half, product, sizeof half);
    ht_crt_divide(half, 2);
    if (ht_crt_subtract(half, w)) /* w > P/2 */
        ht_crt_subtract(w, product);
    for (int i = 0; i < shift; i++)
        ht_crt_multiply(w, 2, 0);
    for (int b = 0; b < digits; b++)
        bias[b / 4] |= 128u << b % 4 * 8;
    memset(other, 0, sizeof other);
    ht_crt_subtract(other, bias);
    ht_crt_subtract(w, other);
}

/* W_l as digits, one modulus beside the other: digit b of it in word from[b * width]. */
static inline void ht_crt_make_weight(uint32_t *from, int width, int l, const uint32_t *product, int shift, int digits) {
    uint32_t w[HT_CRT_WORDS];
    ht_crt_biased_weight(w, l, product, shift, digits);
    for (int b = 0; b < digits; b++)
        from[b * width + l / 4] |= ((w[b / 4] >> b % 4 * 8 & 255u) ^ 128u) << l % 4 * 8;
}

/* P (1 - 2^-12) (1 - 2^-40) / 2, within 2^-63 of it. */
static inline void ht_crt_make_limit(struct ht_crt *c, const uint32_t *product) {
    uint32_t x[HT_CRT_WORDS], part[HT_CRT_WORDS];
    memcpy(x, product, sizeof x);
    ht_crt_multiply(x, 1u << 31, 0); /* room below */
    for (int step = 0; step < 2; step++) {
        memcpy(part, x, sizeof part);
        ht_crt_divide(part, step == 0 ? 1u << 12 : 1u << 20);
        if (step == 1)
            ht_crt_divide(part, 1u << 20);
        ht_crt_subtract(x, part);
    }
    const int bits = ht_crt_bit_length(x);
    c->limit_mantissa = ht_crt_bits(x, bits - 64);
    c->limit_exponent = bits - 64 - 32;
}

/* All of it; 0, or 1 where there is no such scheme. */
static inline int ht_crt_make(struct ht_crt *c, int moduli) {
    uint32_t product[HT_CRT_WORDS] = {1};
    memset(c, 0, sizeof *c);
    if (moduli < HT_CRT_LEAST || moduli > HT_CRT_MOST)
        return 1;
    for (int l = 0; l < moduli; l++)
        ht_crt_multiply(product, (uint32_t)ht_crt_moduli[l], 0);
    c->moduli = moduli;
    c->product_bits = ht_crt_bit_length(product);
    c->digit_words = c->product_bits <= 126 ? 2 : 3;
    c->value_words = (c->product_bits + 31) / 32;
    c->sum_words = (moduli + 3) / 4 + 1;
    c->top_word = (c->product_bits - 20) / 32;
    c->top_shift = (c->product_bits - 20) % 32;
    c->quotient = (int32_t)ht_crt_ratio(50 + c->product_bits - 20, product);
    memcpy(c->product, product, sizeof c->product);
    ht_crt_make_limit(c, product);
    for (int l = 0; l < moduli; l++) {
        ht_crt_make_residue(c, l);
        ht_crt_make_weight(c->weight[0], HT_CRT_WEIGHT_WORDS, l, product, 0, moduli);
    }
    return 0;
}

/* ---- a bound of |A||B|: ACCURACY64.md, section 18 ---- */

/* What packing counts of a row: elements of at least 2^exponent in the scaled integers' units. `needed` of a row and a column
 * together certify an element of C. */
struct ht_certificate {
    int exponent, needed;
};

/* Half binades from a row's root mean square down to what counts, at least: 3, and normal data pass; of the second
 * scheme 5.5, so that the product of absolute values clears most elements of real data (ACCURACY64.md, section 18) */
enum { HT_CRT_COUNT_HALF_BINADES = 6, HT_CRT_SECOND_HALF_BINADES = 11 };

/* An upper bound of T, up to which sums of squares of scaled rows may go (limit_mantissa). */
static inline double ht_crt_count_limit(int moduli) {
    double limit = 0.5 * (1 + 0x1p-40);
    for (int l = 0; l < moduli; l++)
        limit *= ht_crt_moduli[l];
    return limit;
}

/* 2^this is at least T. */
static inline int ht_crt_limit_bits(int moduli) {
    double left = ht_crt_count_limit(moduli);
    int bits = 0;
    for (; left > 1; bits++)
        left /= 2;
    return bits;
}

/* Elements that count are at least 2^e scaled, e the least integer with
 * 2^4e >= 2^110 T (1 + 2^-29) / (k (units - 1)^2). 0: they are not so far below the mean, or k is beyond what moduli hold. */
static inline int ht_crt_certify(struct ht_certificate *c, int moduli, int64_t k, double units, int half_binades) {
    const double limit = ht_crt_count_limit(moduli), terms = (double)k;
    double left = 0x1p110 * (1 + 0x1p-29) * limit / terms, large = 1; /* 2^2e */
    if (units < 2 || k < 1 || k > HT_CRT_K_MOST)
        return 0;
    left = left / (units - 1) / (units - 1);
    for (c->exponent = 0; left > 1; c->exponent++) {
        left /= 16;
        large *= 4;
    }
    for (int i = 0; i < half_binades; i++)
        large *= 2;
    c->needed = (int)(k + (k + 3) / 4);
    return large * terms <= limit;
}

/* The verdict on counts, and FP64 arithmetic for what they leave. A sample before them and, idle where counts suffice, five of a
 * second scheme are not predicted. */
enum { HT_CRT_CHECK_LAUNCHES = 2 };

/* Whether a sample of the data decides what is packed at all: where FP64 arithmetic takes less than twice a scheme's time, packing in
 * vain is much of it. */
static inline int ht_crt_is_sampled(int64_t ns, int64_t native_ns) {
    return native_ns < 2 * ns;
}

/* It multiplies so many pairs of rows. Where more than this are beyond the second scheme, that is not tried: an eighth, or twice the
 * share of C's elements that it may leave. */
enum { HT_CRT_SAMPLE_PAIRS = 64 };
static inline int ht_crt_sample_most(double share) {
    return share > 0.5 ? HT_CRT_SAMPLE_PAIRS : share > 0.0625 ? (int)(2 * HT_CRT_SAMPLE_PAIRS * share) : HT_CRT_SAMPLE_PAIRS / 8;
}

/* What a second scheme, of as many moduli as the first or more, saves of FP64 arithmetic's time, a share of it; 0: it is none. It takes
 * a plane more than a product by it, which takes ns. */
static inline double ht_crt_second_gain(int moduli, int first, int64_t ns, int64_t native_ns) {
    const int64_t all = moduli > 0 ? ns + ns / moduli : native_ns;
    return moduli >= first && all < native_ns ? 1 - (double)all / (double)native_ns : 0;
}

/* Of those the one that is taken has the most: the least moduli that leave few elements, else the most. */
static inline int ht_crt_second_rank(int moduli, int64_t k, double units) {
    struct ht_certificate c;
    return ht_crt_certify(&c, moduli, k, units, HT_CRT_SECOND_HALF_BINADES) ? 2 * HT_CRT_MOST - moduli : moduli - HT_CRT_MOST;
}

/* What turns residues of fewer moduli into their integer by the instructions that all moduli take: weights and product times
 * 2^shift, so that their product has as many bits as that of all; moduli that are left out weigh nothing. A row for each number
 * of moduli from `fewest` on: digits of weights, 16 bits each of the product times 256^free digits, quotient, shift. */
enum {
    HT_CRT_ROW = HT_CRT_MOST * HT_CRT_WEIGHT_WORDS + 2 * HT_CRT_VALUE_WORDS + 2,
    HT_CRT_ROWS = HT_CRT_MOST - HT_CRT_FEWEST + 1
};
struct ht_crt_fewer {
    int fewest, rows, row_words;
    uint32_t fits[HT_CRT_ROWS]; /* for the sum of log2 of both rows' squares, in 1/256, rounded down */
    uint32_t row[HT_CRT_ROWS][HT_CRT_ROW];
};

static inline void ht_crt_make_row(struct ht_crt_fewer *f, const struct ht_crt *c, int moduli) {
    struct ht_crt limit;
    const int groups = (c->moduli + 3) / 4, pairs = 2 * c->value_words, at = moduli - f->fewest;
    const int free_bits = (32 * c->value_words - c->product_bits) / 8 * 8;
    uint32_t product[HT_CRT_WORDS] = {1}, wide[HT_CRT_WORDS], *const row = f->row[at];
    for (int l = 0; l < moduli; l++)
        ht_crt_multiply(product, (uint32_t)ht_crt_moduli[l], 0);
    const int shift = c->product_bits - ht_crt_bit_length(product);
    for (int l = 0; l < moduli; l++)
        ht_crt_make_weight(row, groups, l, product, shift, c->moduli);
    ht_crt_make_limit(&limit, product);
    f->fits[at] = (uint32_t)(2 * ((limit.limit_exponent + 63) * 256 + (int)(limit.limit_mantissa << 1 >> 56)));
    memcpy(wide, product, sizeof wide);
    for (int i = 0; i < shift; i++)
        ht_crt_multiply(wide, 2, 0);
    row[c->moduli * groups + pairs] = (uint32_t)ht_crt_ratio(50 + c->product_bits - 20, wide);
    row[c->moduli * groups + pairs + 1] = (uint32_t)shift;
    for (int i = 0; i < free_bits; i++)
        ht_crt_multiply(wide, 2, 0);
    for (int i = 0; i < pairs; i++)
        row[c->moduli * groups + i] = wide[i / 2] >> i % 2 * 16 & 0xffffu;
}

/* Of a scheme that knows fewer moduli, or the one row of all of its own. */
static inline void ht_crt_make_fewer(struct ht_crt_fewer *f, const struct ht_crt *c, int fewest) {
    memset(f, 0, sizeof *f);
    f->fewest = fewest;
    f->rows = c->moduli - fewest + 1;
    f->row_words = c->moduli * ((c->moduli + 3) / 4) + 2 * c->value_words + 2;
    for (int moduli = fewest; moduli <= c->moduli; moduli++)
        ht_crt_make_row(f, c, moduli);
}

/* All tables, as kernels have them: rows of `width` words, of which `used` are written. */
enum { HT_CRT_TABLES = 9 };
struct ht_crt_table {
    const char *name;
    const void *words;
    int rows, used, width;
};

static inline void ht_crt_list(struct ht_crt_table *to, const struct ht_crt *c, const struct ht_crt_fewer *f) {
    const struct ht_crt_table all[HT_CRT_TABLES] = {{"PRODUCT", c->product, c->value_words, 1, 1},
                                                    {"MODULUS", c->modulus, c->moduli, 1, 1},
                                                    {"BARRETT", c->barrett, c->moduli, 1, 1},
                                                    {"START", c->start, c->moduli, 1, 1},
                                                    {"INVERSE", c->inverse, c->moduli, 1, 1},
                                                    {"ELEMENT", c->element, c->moduli, c->digit_words, HT_CRT_ELEMENT_WORDS},
                                                    {"WEIGHT", c->weight, c->moduli, (c->moduli + 3) / 4, HT_CRT_WEIGHT_WORDS},
                                                    {"FITS", f->fits, f->rows, 1, 1},
                                                    {"FEWER", f->row, f->rows, f->row_words, HT_CRT_ROW}};
    memcpy(to, all, sizeof all);
}

#endif
