/* profile_cases.c: see profile_cases.h. A directed case is one dot: pairs a[i], b[i] and c. Its tile is "turned" where places
 * along k matter: row r of A is turned by r places, column n of B by n, so that the dots beside the first are more of its
 * kind. Or it is "repeated": the same dot everywhere, with one of several c in turn. */
#include "profile/profile_cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/families.h"

struct dot {
    uint32_t a[PROFILE_MOST_K], b[PROFILE_MOST_K], c;
};

struct builder {
    struct profile_tiles *t;
    int capacity;
    int failed; /* out of memory; sticky */
};

static const uint32_t F32_ONE = 0x3f800000u, F32_LARGEST = 0x7f7fffffu, F32_INFINITY = 0x7f800000u,
                      SIGN = 0x80000000u;

/* ---- numbers of the unit's type ---- */

static int fraction_bits(const struct profile_unit *u) {
    return u->type == PROFILE_BF16 ? 7 : 10;
}
static int least_exponent(const struct profile_unit *u) {
    return u->type == PROFILE_F16 ? -14 : -126;
}
static int is_wide(const struct profile_unit *u) { /* FP32's exponents */
    return u->type != PROFILE_F16;
}

/* sign, biased exponent and fraction at the unit's widths; TF32 is stored as FP32. */
static uint32_t pack(const struct profile_unit *u, int negative, uint32_t field, uint32_t fraction) {
    const int bits = fraction_bits(u), width = is_wide(u) ? 8 : 5;
    const uint32_t x = (uint32_t)(negative != 0) << (bits + width) | field << bits | fraction;
    return u->type == PROFILE_TF32 ? x << 13 : x;
}
static uint32_t top_field(const struct profile_unit *u) {
    return is_wide(u) ? 255u : 31u;
}
/* +-(1 + fraction / 2^bits) * 2^e; below the normal range a subnormal power of two, whatever the fraction. */
static uint32_t number(const struct profile_unit *u, int negative, int e, uint32_t fraction) {
    const int least = least_exponent(u);
    if (e < least)
        return pack(u, negative, 0,
                    least - e <= fraction_bits(u) ? 1u << (fraction_bits(u) + e - least) : 0u);
    return pack(u, negative, (uint32_t)(e - least + 1), fraction);
}
static uint32_t infinity(const struct profile_unit *u, int negative) {
    return pack(u, negative, top_field(u), 0);
}
static uint32_t largest(const struct profile_unit *u) {
    return pack(u, 0, top_field(u) - 1, (1u << fraction_bits(u)) - 1);
}

/* Product i becomes +-2^e of two numbers, normal ones where both fit. */
static void product(const struct profile_unit *u, struct dot *x, int i, int negative, int e) {
    const int most = is_wide(u) ? 127 : 15;
    int ea = e / 2;
    ea = ea > most ? most : ea;
    x->a[i] = number(u, negative, ea, 0);
    x->b[i] = number(u, 0, e - ea, 0);
}

/* FP32 bits of +-2^e. */
static uint32_t power(int negative, int e) {
    const uint32_t sign = negative ? SIGN : 0;
    return e < -126 ? sign | 1u << (149 + e) : sign | (uint32_t)(e + 127) << 23;
}

/* ---- tiles ---- */

static int more_room(struct builder *s) {
    struct profile_tiles *t = s->t;
    const size_t n = s->capacity > 0 ? 2 * (size_t)s->capacity : 1024;
    void *a = realloc(t->a, n * t->a_bytes), *b, *c, *names;
    if (a != NULL)
        t->a = a;
    if ((b = realloc(t->b, n * t->b_bytes)) != NULL)
        t->b = b;
    if ((c = realloc(t->c, n * t->values * sizeof *t->c)) != NULL)
        t->c = c;
    if ((names = realloc(t->name, n * sizeof *t->name)) != NULL)
        t->name = names;
    s->failed = a == NULL || b == NULL || c == NULL || names == NULL;
    s->capacity = (int)n;
    return s->failed ? -1 : 0;
}

static void store(unsigned char *to, size_t bytes, uint32_t x) {
    const uint16_t narrow = (uint16_t)x;
    const uint8_t byte = (uint8_t)x;
    memcpy(to,
           bytes == 4   ? (const void *)&x
           : bytes == 2 ? (const void *)&narrow
                        : (const void *)&byte,
           bytes);
}

/* A tile without its name; -1 without memory. */
static int add_tile(struct builder *s, const struct dot *x, int turned, const uint32_t *c, int count) {
    struct profile_tiles *t = s->t;
    const struct profile_unit *u = t->unit;
    const size_t element = (size_t)profile_element_bytes(u->type);
    if (s->failed || (t->count == s->capacity && more_room(s) != 0))
        return -1;
    unsigned char *a = t->a + (size_t)t->count * t->a_bytes, *b = t->b + (size_t)t->count * t->b_bytes;
    for (int i = 0; i < u->rows * u->k; i++)
        store(a + (size_t)i * element, element, x->a[(i + turned * (i / u->k)) % u->k]);
    for (int i = 0; i < PROFILE_COLUMNS * u->k; i++)
        store(b + (size_t)i * element, element, x->b[(i + turned * (i / u->k)) % u->k]);
    for (size_t i = 0; i < t->values; i++)
        t->c[(size_t)t->count * t->values + i] = c[i % (size_t)count];
    const int rows = u->k < u->rows ? u->k : u->rows;
    t->name[t->count].period = turned ? rows * PROFILE_COLUMNS : count;
    t->count++;
    return 0;
}

__attribute__((format(printf, 3, 4))) static void add(struct builder *s, const struct dot *x,
                                                      const char *format, ...) {
    va_list arguments;
    if (add_tile(s, x, 1, &x->c, 1) != 0)
        return;
    char *name = s->t->name[s->t->count - 1].name;
    va_start(arguments, format);
    vsnprintf(name, sizeof s->t->name->name, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 5, 6))) static void
repeat(struct builder *s, const struct dot *x, const uint32_t *c, int count, const char *format, ...) {
    va_list arguments;
    if (add_tile(s, x, 0, c, count) != 0)
        return;
    char *name = s->t->name[s->t->count - 1].name;
    va_start(arguments, format);
    vsnprintf(name, sizeof s->t->name->name, format, arguments);
    va_end(arguments);
}

/* ---- directed cases ---- */

/* Alignment width, and how many small terms must come together to be seen. */
static void add_widths(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const int counts[] = {1, 2, 3, u->k - 1};
    for (int shift = 20; shift <= 30; shift++)
        for (int n = 0; n < 4; n++)
            for (int way = 0; way < 4; way++) { /* sign of the small ones; 1 as c or as product */
                struct dot x = {.c = way & 2 ? 0 : F32_ONE};
                if (way & 2)
                    product(u, &x, 0, 0, 0);
                for (int i = 1; i <= counts[n] && i < u->k; i++)
                    product(u, &x, i, way & 1, -shift);
                add(s, &x, "width 1%c%dx2^-%d%s", way & 1 ? '-' : '+', counts[n], shift,
                    way & 2 ? ", no c" : "");
            }
}

/* 1 + 2^-24 + 2^-24 is more than 1 only where both are added at once. */
static void add_groups(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    for (int p = 0; p < u->k; p++)
        for (int q = p + 1; q < u->k; q++) {
            struct dot x = {.c = F32_ONE};
            product(u, &x, p, 0, -24);
            product(u, &x, q, 0, -24);
            add(s, &x, "group of k %d and %d", p, q);
        }
}

/* +1, -1 and something small that only the right order keeps; with -1 as c too. */
static void add_orders(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const int n = u->k;
    for (int i = 0; i < 96; i++) {
        const int p = i % n, q = (p + 1 + i / n % (n - 1)) % n;
        int r = (q + 1 + i * 5 % n) % n;
        while (r == p || r == q)
            r = (r + 1) % n;
        struct dot x = {.c = i % 3 == 0 ? power(1, 0) : 0};
        product(u, &x, p, 0, 0);
        if (i % 3 != 0)
            product(u, &x, q, 1, 0);
        product(u, &x, r, i % 2, -28);
        add(s, &x, "order +1 at %d, -1 at %s%d, small at %d", p, i % 3 ? "" : "c not ", q, r);
    }
}

/* Direction: one term with many bits below the cut, either sign, beside either sign of c; ties among them. */
static void add_rounding(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const uint32_t most = (1u << fraction_bits(u)) - 1, fractions[] = {0, most / 2 + 1, most, 1};
    for (int shift = 21; shift <= 28; shift++)
        for (int i = 0; i < 4; i++)
            for (int sign = 0; sign < 2; sign++) {
                const uint32_t ones[] = {F32_ONE, F32_ONE | SIGN};
                struct dot x = {.c = 0};
                product(u, &x, u->k / 2, sign, -shift);
                x.a[u->k / 2] |= u->type == PROFILE_TF32 ? fractions[i] << 13 : fractions[i];
                repeat(s, &x, ones, 2, "rounding 1%c1.%x*2^-%d", sign ? '-' : '+', fractions[i], shift);
            }
}

/* Sums with more bits than FP32: 1 + i * 2^-25 made of products, c zero. */
static void add_results(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    for (int i = 0; i < 32; i++) {
        struct dot x = {.c = 0};
        product(u, &x, 0, i & 1, 0);
        for (int bit = 0; bit < 4; bit++)
            if ((i >> 1) >> bit & 1)
                product(u, &x, 1 + bit % (u->k - 1), i & 1, -25 + bit);
        repeat(s, &x, &x.c, 1, "result %c(1+%d*2^-25)", i & 1 ? '-' : '+', i >> 1);
    }
}

/* A product of 2 or more: does it align as its exponents' sum, or normalised? Zeros: do they align at all? */
static void add_products(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const int big = is_wide(u) ? 127 : 15;
    const uint32_t half = 1u << (fraction_bits(u) - 1), most = 2 * half - 1;
    for (int shift = 20; shift <= 27; shift++)
        for (int way = 0; way < 4; way++) {
            struct dot x = {.c = 0};
            x.a[0] = number(u, way & 1, 0, way & 2 ? half : most);
            x.b[0] = number(u, 0, 0, way & 2 ? half : most);
            for (int i = 1; i < 5; i++)
                product(u, &x, i, way & 1, -shift);
            repeat(s, &x, &x.c, 1, "product of %s, 4x2^-%d", way & 2 ? "1.5s" : "almost 2s", shift);
        }
    for (int e = big - 15; e <= big; e++)
        for (int side = 0; side < 2; side++) { /* 2^-8 - 2^-30 keeps its last bit unless the zero aligns */
            const uint32_t zeros[] = {0, SIGN};
            struct dot x = {.c = 0};
            product(u, &x, 0, 0, -8);
            product(u, &x, 2, 1, -30);
            (side ? x.a : x.b)[1] = number(u, 0, e, 0);
            repeat(s, &x, zeros, 2, "zero times 2^%d", e);
        }
}

/* Subnormal inputs alone, with each other, and what they align as. */
static void add_subnormal_inputs(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const int least = least_exponent(u), bits = fraction_bits(u);
    for (int depth = 0; depth <= bits; depth++) /* 0: the least normal number, a subnormal's neighbour */
        for (int way = 0; way < 4; way++) {
            const uint32_t addends[] = {0, power(0, is_wide(u) ? -126 : -24)};
            struct dot x = {.c = 0};
            const uint32_t small = number(u, way & 1, least - depth, 0);
            (way & 2 ? x.b : x.a)[0] = small;
            (way & 2 ? x.a : x.b)[0] = number(u, 0, 1, 1);
            x.a[1] = x.b[1] = small; /* a subnormal product of subnormals, lost for wide formats */
            repeat(s, &x, addends, 2, "subnormal 2^%d * 2", least - depth);
        }
    for (int depth = 1; depth <= bits && !is_wide(u); depth += 3)
        for (int e = -30; e >= -48; e--) { /* 2^(least-depth) * 1 aligns as `least` or as itself? */
            struct dot x = {.c = 0};
            x.a[0] = number(u, 0, least - depth, 0);
            x.b[0] = number(u, 0, 0, 0);
            product(u, &x, 1, 1, e);
            repeat(s, &x, &x.c, 1, "subnormal 2^%d - 2^%d", least - depth, e);
        }
}

enum tiny_form { TINY_PLAIN, TINY_SUBNORMAL, TINY_RAISED, TINY_HALVES, TINY_FORMS };

/* 2^e - 2^-low is one FP32 step less than 2^e unless 2^-low was cut. 2^e is a product of normal numbers, a subnormal times
 * 1 or 2^6, or two halves. */
static void add_tiny_sum(struct builder *s, enum tiny_form form, int e, int low) {
    static const uint32_t addends[] = {0, 0x80000000u, 1, 0x80000001u, 0x400000, 0x00800000u};
    static const char *const forms[] = {"", " (subnormal)", " (subnormal, raised)", " (two halves)"};
    const struct profile_unit *u = s->t->unit;
    struct dot x = {.c = 0};
    const int raised = form == TINY_RAISED ? 6 : 0,
              is_subnormal = form == TINY_SUBNORMAL || form == TINY_RAISED;
    if (is_subnormal && (e - raised >= -126 || e - raised < -126 - fraction_bits(u)))
        return;
    product(u, &x, 0, 0, form == TINY_HALVES ? e - 1 : e);
    if (form == TINY_HALVES)
        product(u, &x, 1, 0, e - 1);
    if (is_subnormal) {
        x.a[0] = number(u, 0, e - raised, 0);
        x.b[0] = number(u, 0, raised, 0);
    }
    product(u, &x, low % 2 ? 2 : u->k - 1, 1, -low);
    repeat(s, &x, addends, 6, "tiny 2^%d%s - 2^-%d", e, forms[form], low);
}

/* The least exponent of the alignment: beside 2^-149 every place at which it may cut, beside larger ones those of the
 * alignment itself; c zero of either sign, subnormal, normal. */
static void add_tiny_sums(struct builder *s) {
    static const int exponents[] = {-149, -140, -133, -130, -127, -126, -125};
    for (size_t n = 0; n < sizeof exponents / sizeof *exponents; n++) {
        const int e = exponents[n], from = n == 0 ? 148 : 22 - e, to = n == 0 ? 178 : 29 - e;
        for (int low = from; low <= to; low++)
            for (int form = 0; form < TINY_FORMS; form++)
                if (-low < e)
                    add_tiny_sum(s, (enum tiny_form)form, e, low);
    }
}

/* Subnormal c and results. */
static void add_subnormal_results(struct builder *s) {
    static const uint32_t addends[] = {1,           2,           3,           0x1000,      0x7fffff,
                                       0x400000,    0x800000,    0x800001,    0xc00000,    0x1000000,
                                       0x80000001u, 0x80000002u, 0x80000003u, 0x80001000u, 0x807fffffu,
                                       0x80400000u, 0x80800000u, 0x80800001u, 0x80c00000u, 0x81000000u};
    enum { COUNT = sizeof addends / sizeof *addends };
    const struct profile_unit *u = s->t->unit;
    struct dot x = {.c = 0};
    repeat(s, &x, addends, COUNT, "subnormal c alone");
    x.a[0] = number(u, 0, 0, 0);
    repeat(s, &x, addends, COUNT, "subnormal c and 1*0");
    for (int e = -152; e <= -124 && is_wide(u); e++)
        for (int sign = 0; sign < 2; sign++) {
            product(u, &x, 0, sign, e);
            repeat(s, &x, addends, COUNT, "subnormal c %c 2^%d", sign ? '-' : '+', e);
        }
}

/* NaN, infinities, zeros and ends of the range, every pair with every c. */
static void add_specials(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    const uint32_t quiet = 1u << (fraction_bits(u) - 1);
    const uint32_t inputs[] = {pack(u, 0, top_field(u), quiet),
                               pack(u, 1, top_field(u), 1),
                               infinity(u, 0),
                               infinity(u, 1),
                               pack(u, 0, 0, 0),
                               pack(u, 1, 0, 0),
                               number(u, 0, 0, 0),
                               largest(u)};
    const uint32_t addends[] = {0,           SIGN,        F32_ONE,     F32_INFINITY,      F32_INFINITY | SIGN,
                                0x7fc00001u, 0xff800001u, F32_LARGEST, F32_LARGEST | SIGN};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            struct dot x = {.c = 0};
            x.a[(i + j) % u->k] = inputs[i];
            x.b[(i + j) % u->k] = inputs[j];
            repeat(s, &x, addends, 9, "special %x*%x", inputs[i], inputs[j]);
        }
    for (int q = 1; q < u->k; q++) { /* inf - inf, together or one after the other */
        struct dot x = {.c = 0};
        x.a[0] = infinity(u, 0);
        x.a[q] = infinity(u, 1);
        x.b[0] = x.b[q] = number(u, 0, 0, 0);
        add(s, &x, "inf at 0, -inf at %d", q);
    }
    for (int way = 0; way < 4; way++) { /* only zeros of known signs */
        struct dot x = {.c = 0};
        for (int i = 0; i < u->k; i++) {
            x.a[i] = pack(u, way & 1, 0, 0);
            x.b[i] = way & 2 ? pack(u, 0, 0, 0) : number(u, 0, 0, 0);
        }
        repeat(s, &x, addends, 2, "zeros, %c", way & 1 ? '-' : '+');
    }
}

/* Beyond FP32: at once, after a while, and where it would cancel. */
static void add_overflows(struct builder *s) {
    const struct profile_unit *u = s->t->unit;
    for (int e = 100; e <= 130; e++)
        for (int sign = 0; sign < 2; sign++) {
            const uint32_t addends[] = {F32_LARGEST, F32_LARGEST | SIGN, 0};
            struct dot x = {.c = 0};
            product(u, &x, 0, sign, e);
            repeat(s, &x, addends, 3, "overflow %c 2^%d", sign ? '-' : '+', e);
        }
    for (int q = 1; q < u->k; q++)
        for (int e = 126; e <= 130; e++) {
            struct dot x = {.c = 0};
            product(u, &x, 0, 0, e);
            product(u, &x, q, 1, e);
            add(s, &x, "2^%d at 0, -2^%d at %d", e, e, q);
        }
}

/* TF32: the 13 bits that FP32 has and TF32 has not. */
static void add_low_bits(struct builder *s) {
    static const uint32_t low[] = {1, 0x0fff, 0x1000, 0x1001, 0x1800, 0x1fff};
    static const uint32_t high[] = {0x3f800000u, 0x3f802000u, 0xbf803fffu, 0,          0x00002000u,
                                    0x007fe000u, 0x7f7fe000u, 0x7f800000u, 0xff800000u};
    static const uint32_t other[] = {0x3f800000u, 0x7e000000u, 0x00800000u, 0x7f800000u, 0};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 9; j++)
            for (int n = 0; n < 10; n++) {
                struct dot x = {.c = 0};
                (n < 5 ? x.a : x.b)[0] = high[j] | low[i];
                (n < 5 ? x.b : x.a)[0] = other[n % 5];
                repeat(s, &x, &x.c, 1, "low bits %08x * %08x", high[j] | low[i], other[n % 5]);
            }
}

static void add_integers(struct builder *s, int overflow) {
    static const int ends[] = {-128, -127, -1, 0, 1, 127};
    static const uint32_t addends[] = {0, 1, 0xffffffffu, 0x3fffffffu, 0xc0000000u, 0x01000001u};
    const struct profile_unit *u = s->t->unit;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int n = 0; n < (overflow ? 8 : 6); n++) {
                struct dot x = {.c = n == 6 ? 0x7fffffffu : n == 7 ? 0x80000000u : addends[n]};
                for (int p = 0; p < u->k; p++) {
                    x.a[p] = (uint32_t)ends[i];
                    x.b[p] = (uint32_t)ends[p % 3 == 2 && i == j ? n % 6 : j];
                }
                add(s, &x, "ends %d*%d, c %08x", ends[i], ends[j], x.c);
            }
}

static void add_directed(struct builder *s, int overflow) {
    const struct profile_unit *u = s->t->unit;
    if (u->type == PROFILE_S8) {
        add_integers(s, overflow);
        return;
    }
    add_widths(s);
    add_groups(s);
    add_orders(s);
    add_rounding(s);
    add_results(s);
    add_products(s);
    add_subnormal_inputs(s);
    add_subnormal_results(s);
    add_specials(s);
    if (is_wide(u)) {
        add_tiny_sums(s);
        add_overflows(s);
    }
    if (u->type == PROFILE_TF32)
        add_low_bits(s);
}

/* ---- random tiles ---- */

enum { RANDOM_KINDS = 8 };
static const char *const random_kinds[RANDOM_KINDS] = {"any finite bits", "one binade",   "few binades",
                                                       "cancelling",      "wide c",       "subnormal A",
                                                       "many zeros",      "tiny products"};

/* A number of the unit's type whose exponent lies in a band that the kind asks for. */
static uint32_t random_number(const struct profile_unit *u, int kind, int is_a, uint64_t bits) {
    const uint32_t mask = (1u << fraction_bits(u)) - 1, top = top_field(u), one = top / 2;
    const uint32_t fraction = (uint32_t)(bits >> 40) & mask, pick = (uint32_t)(bits >> 8) & 0xffffu;
    uint32_t field = one - 6 + pick % 8;
    switch (kind) {
    case 0: /* any finite */
        field = pick % top;
        break;
    case 1:
        field = one;
        break;
    case 5:
        field = is_a ? pick % 2 : one - pick % 6;
        break;
    case 6:
        if (pick % 3 != 0)
            return pack(u, (int)(bits & 1), 0, 0);
        break;
    case 7: /* exponents that add up to about -140; FP16: as small as it gets */
        field = is_wide(u) ? one - 64 - pick % 16 : pick % 4;
        break;
    default:
        break;
    }
    const uint32_t x = pack(u, (int)(bits & 1), field, fraction);
    return u->type == PROFILE_TF32 ? x | ((uint32_t)(bits >> 20) & 0x1fffu) : x;
}

static uint32_t random_addend(const struct profile_unit *u, int kind, uint64_t bits) {
    const uint32_t x = (uint32_t)(bits >> 32) & 0x807fffffu, pick = (uint32_t)bits & 0xffffu;
    if (u->type == PROFILE_S8) /* far enough from the ends of 32 bits */
        return kind == 0 ? 0 : (uint32_t)((int32_t)(bits >> 32) / 2);
    if (kind == 3 || pick % 5 == 0)
        return 0;
    if (kind == 4)
        return x | (pick % 255) << 23;
    if (is_wide(u) && (kind == 5 || kind == 7))
        return x | (pick % 3) << 23;
    return x | (127 - 8 + pick % 12) << 23;
}

static uint64_t draw(const struct profile_tiles *t, uint64_t seed, int tile, int matrix, size_t i) {
    return family_bits(seed + (uint64_t)(t->unit - profile_units), (uint64_t)matrix, (uint64_t)tile,
                       (uint64_t)i);
}

static void fill_random(struct profile_tiles *t, int tile, uint64_t seed) {
    const struct profile_unit *u = t->unit;
    const int kind = tile % RANDOM_KINDS, k = u->k;
    const size_t element = (size_t)profile_element_bytes(u->type);
    unsigned char *a = t->a + (size_t)tile * t->a_bytes, *b = t->b + (size_t)tile * t->b_bytes;
    for (int matrix = 0; matrix < 2; matrix++) {
        const int count = (matrix == 0 ? u->rows : PROFILE_COLUMNS) * k;
        for (int i = 0; i < count; i++) {
            /* Cancelling: the second half of k undoes much of the first: the same numbers, A's with another sign. */
            const int from = kind == 3 && i % k >= k / 2 ? i - k / 2 : i;
            uint64_t bits = draw(t, seed, tile, matrix, (size_t)from);
            if (from != i && matrix == 0)
                bits ^= 1;
            store((matrix == 0 ? a : b) + (size_t)i * element, element,
                  u->type == PROFILE_S8 ? (uint32_t)(bits >> 32) : random_number(u, kind, matrix == 0, bits));
        }
    }
    for (size_t i = 0; i < t->values; i++)
        t->c[(size_t)tile * t->values + i] = random_addend(u, kind, draw(t, seed, tile, 2, i));
}

/* ---- all of them ---- */

int profile_tiles_make(struct profile_tiles *t, const struct profile_unit *unit, int random, uint64_t seed,
                       int overflow, struct cli_error *f) {
    struct builder s = {.t = t};
    memset(t, 0, sizeof *t);
    t->unit = unit;
    t->a_bytes = (size_t)(unit->rows * unit->k * profile_element_bytes(unit->type));
    t->b_bytes = (size_t)(PROFILE_COLUMNS * unit->k * profile_element_bytes(unit->type));
    t->values = (size_t)(unit->rows * PROFILE_COLUMNS);
    add_directed(&s, overflow);
    t->directed = t->count;
    t->random = random;
    while (!s.failed && s.capacity < t->directed + random)
        more_room(&s);
    t->d = s.failed ? NULL : calloc((size_t)(t->directed + random) * t->values, sizeof *t->d);
    if (t->d == NULL) {
        profile_tiles_free(t);
        return cli_error_memory(
            f, (double)(t->directed + random) * (double)(t->a_bytes + t->b_bytes + 8 * t->values),
            "the tiles of one instruction");
    }
    for (; t->count < t->directed + random; t->count++)
        fill_random(t, t->count, seed);
    return 0;
}

void profile_tiles_free(struct profile_tiles *t) {
    free(t->a);
    free(t->b);
    free(t->c);
    free(t->d);
    free(t->name);
    memset(t, 0, sizeof *t);
}

int profile_tile_period(const struct profile_tiles *t, int tile) {
    return tile < t->directed ? t->name[tile].period : (int)t->values;
}

void profile_tile_name(const struct profile_tiles *t, int tile, char *text, size_t size) {
    if (tile < t->directed)
        snprintf(text, size, "%s", t->name[tile].name);
    else if (t->unit->type == PROFILE_S8)
        snprintf(text, size, "random %d", tile - t->directed);
    else
        snprintf(text, size, "random %d, %s", tile - t->directed, random_kinds[tile % RANDOM_KINDS]);
}

void profile_tile_dot(const struct profile_tiles *t, int tile, int row, int column, char *text, size_t size) {
    const size_t element = (size_t)profile_element_bytes(t->unit->type);
    const unsigned char *a = t->a + (size_t)tile * t->a_bytes + (size_t)(row * t->unit->k) * element;
    const unsigned char *b = t->b + (size_t)tile * t->b_bytes + (size_t)(column * t->unit->k) * element;
    size_t used = (size_t)snprintf(text, size, "c=%08x",
                                   t->c[(size_t)tile * t->values + (size_t)(row * PROFILE_COLUMNS + column)]);
    for (int i = 0; i < t->unit->k && used < size; i++) {
        uint32_t x = 0, y = 0; /* little-endian hosts, as everywhere in the simulator */
        memcpy(&x, a + (size_t)i * element, element);
        memcpy(&y, b + (size_t)i * element, element);
        if (x != 0 || y != 0)
            used += (size_t)snprintf(text + used, size - used, " k%d:%0*x*%0*x", i, (int)(2 * element), x,
                                     (int)(2 * element), y);
    }
}
