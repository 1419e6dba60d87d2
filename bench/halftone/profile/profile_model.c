/* profile_model.c: the table of dimensions and what each choice computes. See profile_model.h. */
#include "profile/profile_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/sim/sim_f16.h"

/* ---- the table ---- */

struct choice {
    int value;
    const char *text;
};
enum { CHOICES_MOST = 14 };

/* The first value is what is assumed until inputs tell otherwise. */
static const struct {
    enum { REST, MAIN, MAIN_UNSAID } role; /* unsaid: a name leaves out its first value */
    struct choice choice[CHOICES_MOST];    /* ends with a NULL text */
} dimension_table[PROFILE_DIMENSIONS] = {
    [DIM_KIND] = {REST,
                  {{KIND_ALIGNED, "aligned sums"},
                   {KIND_FMA_UP, "FP32 FMA chain, first k first"},
                   {KIND_FMA_DOWN, "FP32 FMA chain, last k first"},
                   {KIND_TREE, "FP32 additions in pairs, c last"},
                   {KIND_HALF, "FP16 products and sums"}}},
    [DIM_WIDTH] = {MAIN,
                   {{23, "23 bits"}, {24, "24 bits"}, {25, "25 bits"}, {26, "26 bits"}, {27, "27 bits"}}},
    [DIM_CUT] = {MAIN,
                 {{CUT_TO_ZERO, "cut toward zero"}, {CUT_NEAREST, "to nearest"}, {CUT_DOWN, "cut down"}}},
    [DIM_GROUP] = {MAIN, {{2, "groups of 2"}, {4, "groups of 4"}, {8, "groups of 8"}, {16, "groups of 16"}}},
    [DIM_ORDER] = {MAIN_UNSAID,
                   {{ORDER_UP, "first k first"},
                    {ORDER_DOWN, "last group first"},
                    {ORDER_STRIDED, "groups of distant k"}}},
    [DIM_ADDEND] = {REST,
                    {{ADDEND_JOINS, "c in the first group"}, {ADDEND_AFTER, "c added by FP32 afterwards"}}},
    [DIM_RESULT] = {REST, {{CUT_TO_ZERO, "result cut"}, {CUT_NEAREST, "result to nearest"}}},
    [DIM_LEAST] = {REST,
                   {{PROFILE_NO_LEAST, "no least exponent"},
                    {-126, "aligned at -126 or above"},
                    {-127, "aligned at -127 or above"},
                    {-128, "aligned at -128 or above"},
                    {-129, "aligned at -129 or above"},
                    {-130, "aligned at -130 or above"},
                    {-131, "aligned at -131 or above"},
                    {-132, "aligned at -132 or above"},
                    {-133, "aligned at -133 or above"},
                    {-134, "aligned at -134 or above"},
                    {-136, "aligned at -136 or above"},
                    {-140, "aligned at -140 or above"},
                    {-149, "aligned at -149 or above"}}},
    [DIM_ZERO] = {REST, {{0, "zero products do not align"}, {1, "zero products align"}}},
    [DIM_PRODUCT] = {REST, {{0, "products as they are"}, {1, "products normalised"}}},
    [DIM_INPUT_SUBNORMAL] = {REST,
                             {{SUBNORMAL_LEAST, "subnormal inputs kept"},
                              {SUBNORMAL_NORMALISED, "subnormal inputs normalised"},
                              {SUBNORMAL_FLUSHED, "subnormal inputs flushed"}}},
    [DIM_ADDEND_SUBNORMAL] = {REST,
                              {{SUBNORMAL_LEAST, "subnormal c kept"},
                               {SUBNORMAL_FLUSHED, "subnormal c flushed"},
                               {SUBNORMAL_NORMALISED, "subnormal c normalised"}}},
    [DIM_RESULT_SUBNORMAL] = {REST, {{0, "subnormal results kept"}, {1, "subnormal results flushed"}}},
    [DIM_OVERFLOW] = {REST, {{0, "overflow is infinity"}, {1, "overflow is the largest number"}}},
    [DIM_NAN] = {REST, {{0x7fffffff, "NaN 7fffffff"}, {0x7fc00000, "NaN 7fc00000"}}},
    [DIM_ZERO_SIGN] = {REST,
                       {{ZERO_PLUS, "zero sums are +0"},
                        {ZERO_OF_ZEROS, "sums of -0 are -0"},
                        {ZERO_KEEPS, "sums cut to nothing keep their sign"}}},
    [DIM_LOW_BITS] = {REST,
                      {{LOW_CUT, "low 13 bits cut"},
                       {LOW_NEAREST, "low 13 bits rounded to nearest even"},
                       {LOW_AWAY, "low 13 bits rounded to nearest, ties away"},
                       {LOW_USED, "all 32 bits used"}}},
    [DIM_LOW_NAN] = {REST, {{0, "NaN of low bits only is infinity"}, {1, "NaN of low bits only is NaN"}}},
    [DIM_INTEGER] = {MAIN,
                     {{INTEGER_WRAPS, "exact, wraps beyond 32 bits"},
                      {INTEGER_SATURATES, "exact, saturates beyond 32 bits"},
                      {INTEGER_FP32, "sums in FP32"},
                      {INTEGER_UNSIGNED, "unsigned bytes"},
                      {INTEGER_24_BITS, "sums of 24 bits"}}},
};

int profile_model_is_main(enum profile_dimension dimension) {
    return dimension_table[dimension].role != REST;
}

static int value_of(const struct profile_model *m, enum profile_dimension dimension) {
    return dimension_table[dimension].choice[m->choice[dimension]].value;
}

static const char *text_of(const struct profile_model *m, enum profile_dimension dimension) {
    return dimension_table[dimension].choice[m->choice[dimension]].text;
}

int profile_model_matters(const struct profile_unit *unit, const struct profile_model *model,
                          enum profile_dimension d) {
    if (unit->type == PROFILE_S8)
        return d == DIM_INTEGER;
    if (value_of(model, DIM_KIND) != KIND_ALIGNED)
        return d == DIM_KIND || d == DIM_NAN || d == DIM_LOW_BITS || d == DIM_LOW_NAN;
    if (d == DIM_ADDEND_SUBNORMAL)
        return value_of(model, DIM_ADDEND) == ADDEND_JOINS;
    return d != DIM_ORDER || value_of(model, DIM_GROUP) < unit->k;
}

int profile_model_values(const struct profile_unit *unit, enum profile_dimension dimension) {
    const int is_integer = unit->type == PROFILE_S8;
    int count = 0;
    if (is_integer != (dimension == DIM_INTEGER))
        return 0;
    /* Nonzero products of FP16 are 2^-48 to 2^32: no least exponent and no overflow comes into play, and how a subnormal c
     * aligns beside them does not show, only whether it is flushed where they are zero. */
    if (unit->type == PROFILE_F16 && (dimension == DIM_LEAST || dimension == DIM_OVERFLOW))
        return 0;
    if (unit->type == PROFILE_F16 && (dimension == DIM_ADDEND_SUBNORMAL || dimension == DIM_ZERO_SIGN))
        return 2; /* and no sum is cut to nothing */
    if ((dimension == DIM_LOW_BITS || dimension == DIM_LOW_NAN) && unit->type != PROFILE_TF32)
        return 0;
    while (count < CHOICES_MOST && dimension_table[dimension].choice[count].text != NULL &&
           (dimension != DIM_GROUP || dimension_table[dimension].choice[count].value <= unit->k))
        count++;
    return count;
}

void profile_model_name(const struct profile_unit *unit, const struct profile_model *model, char *text,
                        size_t size) {
    size_t used = 0;
    const int chain = unit->type != PROFILE_S8 && value_of(model, DIM_KIND) != KIND_ALIGNED;
    for (int i = 0; i < PROFILE_DIMENSIONS && used < size; i++) {
        const enum profile_dimension d = (enum profile_dimension)i;
        const int said = dimension_table[d].role == MAIN ? !chain : model->choice[d] != 0;
        if (profile_model_values(unit, d) > 0 && said)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", text_of(model, d));
    }
}

void profile_model_change(const struct profile_model *from, const struct profile_model *model, char *text,
                          size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < PROFILE_DIMENSIONS && used < size; i++)
        if (from->choice[i] != model->choice[i])
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     text_of(model, (enum profile_dimension)i));
}

/* ---- numbers ---- */

/* value = significand * 2^(exponent - fraction bits of the format). */
struct term {
    int64_t significand;
    int exponent;
    int negative;
    enum { TERM_FINITE, TERM_INFINITE, TERM_NAN } is;
};

struct format {
    int exponent_bits, fraction_bits;
};
static const struct format format_f32 = {8, 23};

struct profile_decoded {
    const struct profile_unit *unit;
    int value[PROFILE_DIMENSIONS];
    struct format format; /* as decoded: TF32 whose low bits are used is FP32 */
    int special;          /* something is infinite or NaN */
    int order[PROFILE_MOST_K];
    struct term a[PROFILE_MOST_ROWS * PROFILE_MOST_K], b[PROFILE_COLUMNS * PROFILE_MOST_K];
    int8_t integer_a[PROFILE_MOST_ROWS * PROFILE_MOST_K], integer_b[PROFILE_COLUMNS * PROFILE_MOST_K];
};

struct profile_decoded *profile_decoded_new(void) {
    return malloc(sizeof(struct profile_decoded));
}

void profile_decoded_free(struct profile_decoded *d) {
    free(d);
}

static struct term decode(struct format format, uint32_t bits, int subnormals) {
    const int top = (1 << format.exponent_bits) - 1, bias = top / 2;
    const int field = (int)(bits >> format.fraction_bits) & top;
    const int64_t leading = (int64_t)1 << format.fraction_bits, fraction = bits & (uint32_t)(leading - 1);
    struct term t = {fraction, 1 - bias, bits >> (format.exponent_bits + format.fraction_bits) & 1,
                     TERM_FINITE};
    if (field == top) {
        t.is = fraction != 0 ? TERM_NAN : TERM_INFINITE;
        t.significand = 1;
    } else if (field > 0) {
        t.significand += leading;
        t.exponent = field - bias;
    } else if (subnormals == SUBNORMAL_FLUSHED) {
        t.significand = 0;
    } else if (subnormals == SUBNORMAL_NORMALISED) {
        for (; t.significand != 0 && t.significand < leading; t.exponent--)
            t.significand *= 2;
    }
    if (t.negative)
        t.significand = -t.significand;
    return t;
}

static struct term decode_tf32(const struct profile_decoded *d, uint32_t bits) {
    static const struct format tf32 = {8, 10};
    const int low = d->value[DIM_LOW_BITS];
    if ((bits & 0x7fffffffu) > 0x7f800000u && d->value[DIM_LOW_NAN])
        bits |= 0x00400000u;
    if (low == LOW_USED)
        return decode(format_f32, bits, d->value[DIM_INPUT_SUBNORMAL]);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits += low == LOW_AWAY ? 0x1000u : low == LOW_NEAREST ? 0xfffu + (bits >> 13 & 1u) : 0u;
    return decode(tf32, bits >> 13, d->value[DIM_INPUT_SUBNORMAL]);
}

static void decode_matrix(struct profile_decoded *d, int count, const void *from, struct term *to) {
    const unsigned char *bytes = from;
    for (int i = 0; i < count; i++) {
        uint16_t half;
        uint32_t word;
        if (d->unit->type == PROFILE_TF32) {
            memcpy(&word, bytes + 4 * i, sizeof word);
            to[i] = decode_tf32(d, word);
        } else {
            memcpy(&half, bytes + 2 * i, sizeof half);
            to[i] = decode(d->format, half, d->value[DIM_INPUT_SUBNORMAL]);
        }
        d->special |= to[i].is != TERM_FINITE;
    }
}

/* Places along k in the order in which they are added. */
static void make_order(struct profile_decoded *d) {
    const int k = d->unit->k, group = d->value[DIM_GROUP], groups = k / group;
    for (int n = 0; n < k; n++) {
        const int place = d->value[DIM_ORDER] == ORDER_DOWN ? groups - 1 - n / group : n / group;
        d->order[n] =
            d->value[DIM_ORDER] == ORDER_STRIDED ? n % group * groups + n / group : place * group + n % group;
    }
}

void profile_decode(struct profile_decoded *d, const struct profile_unit *unit,
                    const struct profile_model *model, int rows, const void *a, const void *b) {
    static const struct format formats[] = {
        [PROFILE_F16] = {5, 10}, [PROFILE_BF16] = {8, 7}, [PROFILE_TF32] = {8, 10}, [PROFILE_S8] = {0, 0}};
    d->unit = unit;
    for (int i = 0; i < PROFILE_DIMENSIONS; i++)
        d->value[i] = value_of(model, (enum profile_dimension)i);
    d->format =
        unit->type == PROFILE_TF32 && d->value[DIM_LOW_BITS] == LOW_USED ? format_f32 : formats[unit->type];
    if (unit->type == PROFILE_S8) {
        memcpy(d->integer_a, a, (size_t)(rows * unit->k));
        memcpy(d->integer_b, b, (size_t)(PROFILE_COLUMNS * unit->k));
        return;
    }
    d->special = 0;
    make_order(d);
    decode_matrix(d, rows * unit->k, a, d->a);
    decode_matrix(d, PROFILE_COLUMNS * unit->k, b, d->b);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- aligned sums ---- */

/* value * 2^shift as a whole number. */
static int64_t shifted(int64_t value, int shift, int rule) {
    if (shift >= 0)
        return value * ((int64_t)1 << shift);
    const int down = -shift;
    const int64_t magnitude = value < 0 ? -value : value;
    if (down > 60)
        return rule == CUT_DOWN && value < 0 ? -1 : 0;
    int64_t kept = magnitude >> down;
    const int64_t rest = magnitude & (((int64_t)1 << down) - 1), half = (int64_t)1 << (down - 1);
    if (rule == CUT_NEAREST ? rest > half || (rest == half && (kept & 1))
                            : rule == CUT_DOWN && value < 0 && rest > 0)
        kept++;
    return value < 0 ? -kept : kept;
}

/* sum * 2^unit in FP32. */
static uint32_t to_f32(const struct profile_decoded *d, int64_t sum, int unit) {
    const uint32_t sign = sum < 0 ? 0x80000000u : 0;
    const uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int exponent = unit;
    if (sum == 0)
        return 0;
    for (uint64_t rest = magnitude; rest > 1; rest >>= 1)
        exponent++;
    const int is_normal = exponent >= -126, last = is_normal ? exponent - 23 : -149;
    const uint32_t kept = (uint32_t)shifted((int64_t)magnitude, unit - last, d->value[DIM_RESULT]);
    if (!is_normal && d->value[DIM_RESULT_SUBNORMAL] && kept < 0x00800000u)
        return sign;
    /* Rounding up may carry into the exponent; the sum of fields does the right thing. */
    const uint64_t field = is_normal ? (uint64_t)(exponent + 126) << 23 : 0;
    if (field + kept == 0 && d->value[DIM_ZERO_SIGN] != ZERO_KEEPS)
        return 0;
    if (exponent > 127 || field + kept >= 0x7f800000u)
        return sign | (d->value[DIM_OVERFLOW] ? 0x7f7fffffu : 0x7f800000u);
    return sign | (uint32_t)(field + kept);
}

/* Terms of one addition: c and `count` products of a[at[i]] and b[at[i]]. */
struct group {
    int count;
    const int *at;
    const struct term *a, *b;
    struct term c;
};

/* 1 and the result when something is infinite or NaN. */
static int special(const struct profile_decoded *d, const struct group *g, uint32_t *result) {
    int nan = g->c.is == TERM_NAN, up = g->c.is == TERM_INFINITE && !g->c.negative,
        down = g->c.is == TERM_INFINITE && g->c.negative;
    for (int i = 0; i < g->count; i++) {
        const struct term *a = &g->a[g->at[i]], *b = &g->b[g->at[i]];
        if (a->is == TERM_FINITE && b->is == TERM_FINITE)
            continue;
        nan |= a->is == TERM_NAN || b->is == TERM_NAN || a->significand == 0 || b->significand == 0;
        up |= a->negative == b->negative;
        down |= a->negative != b->negative;
    }
    *result = nan || (up && down) ? (uint32_t)d->value[DIM_NAN] : down ? 0xff800000u : 0x7f800000u;
    return nan || up || down;
}

static int all_negative_zero(const struct group *g) {
    int all = g->c.negative && g->c.significand == 0;
    for (int i = 0; i < g->count; i++) {
        const struct term *a = &g->a[g->at[i]], *b = &g->b[g->at[i]];
        all &= a->significand * b->significand == 0 && a->negative != b->negative;
    }
    return all;
}

static uint32_t add_group(const struct profile_decoded *d, const struct group *g) {
    const int bits = d->value[DIM_WIDTH], rule = d->value[DIM_CUT], fraction = 2 * d->format.fraction_bits;
    const int64_t two = (int64_t)1 << (fraction + 1);
    int64_t product[PROFILE_MOST_K];
    int exponent[PROFILE_MOST_K], nonzero = 0, top = d->value[DIM_LEAST];
    uint32_t result;
    if ((d->special || g->c.is != TERM_FINITE) && special(d, g, &result))
        return result;
    if (g->c.significand != 0 && g->c.exponent > top)
        top = g->c.exponent;
    for (int i = 0; i < g->count; i++) {
        const struct term *a = &g->a[g->at[i]], *b = &g->b[g->at[i]];
        const int64_t p = a->significand * b->significand;
        const int wide = d->value[DIM_PRODUCT] && (p >= two || p <= -two), e = a->exponent + b->exponent;
        if ((p != 0 || d->value[DIM_ZERO]) && e + wide > top)
            top = e + wide;
        product[nonzero] = p;
        exponent[nonzero] = e;
        nonzero += p != 0;
    }
    int64_t sum =
        g->c.significand == 0 ? 0 : shifted(g->c.significand, g->c.exponent - 23 - (top - bits), rule);
    for (int i = 0; i < nonzero; i++)
        sum += shifted(product[i], exponent[i] - fraction - (top - bits), rule);
    if (sum == 0 && d->value[DIM_ZERO_SIGN] == ZERO_OF_ZEROS && all_negative_zero(g))
        return 0x80000000u;
    return to_f32(d, sum, top - bits);
}

static uint32_t aligned_sums(const struct profile_decoded *d, const struct term *a, const struct term *b,
                             uint32_t c) {
    const int after = d->value[DIM_ADDEND] == ADDEND_AFTER, group = d->value[DIM_GROUP];
    for (int first = 0; first < d->unit->k; first += group) {
        const struct group g = {group, d->order + first, a, b,
                                decode(format_f32, after ? 0 : c, d->value[DIM_ADDEND_SUBNORMAL])};
        const uint32_t sum = add_group(d, &g);
        c = after ? bits_of(float_of(c) + float_of(sum)) : sum;
    }
    return (c & 0x7fffffffu) > 0x7f800000u ? (uint32_t)d->value[DIM_NAN] : c;
}

/* ---- ordinary floating point ---- */

static float value_of_term(const struct profile_decoded *d, const struct term *t) {
    if (t->is == TERM_NAN)
        return NAN;
    if (t->is == TERM_INFINITE)
        return t->negative ? -INFINITY : INFINITY;
    const float magnitude = (float)ldexp((double)t->significand, t->exponent - d->format.fraction_bits);
    return t->significand == 0 && t->negative ? -0.0f : magnitude;
}

static float half(float x) {
    return sim_f16_value(sim_f16_rn(x));
}

static uint32_t chain(const struct profile_decoded *d, const struct term *a, const struct term *b,
                      uint32_t c) {
    const int k = d->unit->k, kind = d->value[DIM_KIND];
    float sum = float_of(c), tree[PROFILE_MOST_K];
    for (int n = 0; n < k; n++) {
        const int i = kind == KIND_FMA_DOWN ? k - 1 - n : n;
        const float x = value_of_term(d, &a[i]), y = value_of_term(d, &b[i]);
        tree[i] = x * y;
        sum = kind == KIND_HALF ? half(half(x * y) + half(sum)) : fmaf(x, y, sum);
    }
    if (kind == KIND_TREE) {
        for (int width = k / 2; width > 0; width /= 2)
            for (int i = 0; i < width; i++)
                tree[i] = tree[2 * i] + tree[2 * i + 1];
        sum = tree[0] + float_of(c);
    }
    return isnan(sum) ? (uint32_t)d->value[DIM_NAN] : bits_of(sum);
}

/* ---- integers ---- */

static uint32_t integer_dot(const struct profile_decoded *d, const int8_t *a, const int8_t *b, uint32_t c) {
    const int kind = d->value[DIM_INTEGER];
    int64_t sum = (int32_t)c;
    float rounded = (float)(int32_t)c;
    for (int i = 0; i < d->unit->k; i++) {
        const int product = kind == INTEGER_UNSIGNED ? (uint8_t)a[i] * (uint8_t)b[i] : a[i] * b[i];
        sum += product;
        rounded += (float)product;
    }
    if (kind == INTEGER_SATURATES)
        return (uint32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    if (kind == INTEGER_FP32)
        return (uint32_t)(int64_t)rounded;
    return (uint32_t)(uint64_t)sum & (kind == INTEGER_24_BITS ? 0xffffffu : 0xffffffffu);
}

uint32_t profile_dot(const struct profile_decoded *d, int row, int column, uint32_t c) {
    const int k = d->unit->k;
    if (d->unit->type == PROFILE_S8)
        return integer_dot(d, &d->integer_a[row * k], &d->integer_b[column * k], c);
    if (d->value[DIM_KIND] != KIND_ALIGNED)
        return chain(d, &d->a[row * k], &d->b[column * k], c);
    return aligned_sums(d, &d->a[row * k], &d->b[column * k], c);
}
