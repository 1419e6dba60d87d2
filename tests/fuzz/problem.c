/* problem: see problem.h. */
#include "problem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"

void problem_reset_c(const struct problem *p) {
    matrix_upload(&p->c);
}

void *problem_read_c(const struct problem *p) {
    void *const now = matrix_read(&p->c);
    matrix_check_untouched(&p->a, "A");
    matrix_check_untouched(&p->b, "B");
    return now;
}

void problem_free(struct problem *p) {
    matrix_free(&p->a);
    matrix_free(&p->b);
    matrix_free(&p->c);
}

/* ---- elements: of the host's memory */

static void set(const struct matrix *x, int64_t at, double value) {
    if (x->size == sizeof(float))
        ((float *)x->host)[at] = (float)value;
    else
        ((double *)x->host)[at] = value;
}

static int64_t at_a(const struct problem *p, int64_t entry, int64_t i, int64_t l) {
    return matrix_is_trans(p->ta) ? matrix_at(&p->a, entry, l, i) : matrix_at(&p->a, entry, i, l);
}

static int64_t at_b(const struct problem *p, int64_t entry, int64_t l, int64_t j) {
    return matrix_is_trans(p->tb) ? matrix_at(&p->b, entry, j, l) : matrix_at(&p->b, entry, l, j);
}

double problem_a(const struct problem *p, int64_t entry, int64_t i, int64_t l) {
    return matrix_value(&p->a, p->a.host, at_a(p, entry, i, l));
}

double problem_b(const struct problem *p, int64_t entry, int64_t l, int64_t j) {
    return matrix_value(&p->b, p->b.host, at_b(p, entry, l, j));
}

double problem_c(const struct problem *p, int64_t entry, int64_t i, int64_t j) {
    return matrix_value(&p->c, p->c.host, matrix_at(&p->c, entry, i, j));
}

struct line64 problem_row(const struct problem *p, int64_t entry, int64_t i) {
    return (struct line64){(double *)p->a.host + at_a(p, entry, i, 0), matrix_is_trans(p->ta) ? 1 : p->a.ld};
}

struct line64 problem_column(const struct problem *p, int64_t entry, int64_t j) {
    return (struct line64){(double *)p->b.host + at_b(p, entry, 0, j), matrix_is_trans(p->tb) ? p->b.ld : 1};
}

/* ---- data. site: outer is the row of A or the column of B. */

struct site {
    uint64_t seed;
    int64_t outer, l, k;
    int side;
};

static uint64_t bits_of(const struct site *s, uint64_t stream) {
    return family_bits(s->seed, stream + (s->side ? 100 : 0), (uint64_t)s->outer, (uint64_t)s->l);
}

/* The same for all of a row of A or column of B. */
static uint64_t row_bits(const struct site *s, uint64_t stream) {
    return family_bits(s->seed, stream + (s->side ? 100 : 0), (uint64_t)s->outer, UINT64_C(1) << 40);
}

/* The same for both sides, of a place along k. */
static uint64_t place_bits(const struct site *s, uint64_t stream) {
    return family_bits(s->seed, stream, UINT64_C(1) << 41, (uint64_t)s->l);
}

static int sign_of(uint64_t bits) {
    return bits >> 63 ? -1 : 1;
}

/* The same for all of a row of A or column of B. */
static int64_t of_row(const struct site *s, uint64_t stream, int64_t n) {
    return (int64_t)(family_bits(s->seed, stream + (s->side ? 100 : 0), (uint64_t)s->outer, 77) % (uint64_t)n);
}

/* ---- kinds of data: of FP32, then of FP64 */

struct kind {
    const char *name;
    double (*value)(const struct site *s);
};

static double signed_unit(const struct site *s) {
    return 2 * family_uniform(bits_of(s, 0)) - 1;
}

/* Any finite number, every exponent as likely as every other. */
static double any_exponent(const struct site *s) {
    const uint64_t b = bits_of(s, 1);
    const uint32_t bits = (uint32_t)(b & 0x807fffff) | (uint32_t)((b >> 32) % 255) << 23;
    float x;
    memcpy(&x, &bits, 4);
    return (double)x;
}

static double row_exponents(const struct site *s) {
    return ldexp(signed_unit(s), (int)of_row(s, 2, 250) - 140);
}

static double one_signed(const struct site *s) {
    return 1 + ldexp((double)(bits_of(s, 3) % 5) - 2, -23);
}

static double powers(const struct site *s) {
    const uint64_t b = bits_of(s, 4);
    return ldexp(1 - ldexp((double)(b >> 8 & 1), -24), (int)(b % 14) - 7) * (b >> 9 & 1 ? 1 : -1);
}

static double sparse(const struct site *s) {
    return bits_of(s, 5) % 7 == 0 ? signed_unit(s) : bits_of(s, 5) & 8 ? 0.0 : -0.0;
}

static double subnormal(const struct site *s) {
    return ldexp(signed_unit(s), -126 - (int)(bits_of(s, 6) % 23));
}

static double near_the_end(const struct site *s) {
    return signed_unit(s) * (bits_of(s, 7) % 3 == 0 ? (double)FLT_MAX : 0x1p60);
}

static double outliers(const struct site *s) {
    return bits_of(s, 8) % 23 == 0 ? ldexp(signed_unit(s), (int)(bits_of(s, 8) % 30)) : signed_unit(s);
}

static double plain(const struct site *s) {
    const double x = signed_unit(s);
    return 3 * x + (x < 0 ? -0.5 : 0.5);
}

/* Some rows hold few exponents, others many: verdicts of auto's check differ between blocks of 64. */
static double mixed_rows(const struct site *s) {
    const uint64_t block = family_bits(s->seed, 9, (uint64_t)(s->outer / 64), (uint64_t)s->side);
    return block % 2 == 0 && of_row(s, 9, 9) == 0 ? ldexp(signed_unit(s), (int)(bits_of(s, 9) % 40) - 20) : signed_unit(s);
}

static double zero_blocks(const struct site *s) {
    return family_bits(s->seed, 10, (uint64_t)(s->outer / 16), (uint64_t)(s->l / 64)) % 2 == 0 ? 0.0 : signed_unit(s);
}

static double whole_numbers(const struct site *s) {
    return (double)(bits_of(s, 11) % 17) - 8;
}

static double one_large_product(const struct site *s) {
    return s->l == 0 ? 0x1p12 : ldexp(1 + (double)(bits_of(s, 12) % 2048) * 0x1p-11, -(int)(bits_of(s, 12) >> 20 & 3));
}

/* Products that cancel to near what the certificate asks, beside elements that splitting keeps in part. */
static double near_threshold(const struct site *s) {
    const uint64_t b = bits_of(s, 13);
    const int64_t kept = of_row(s, 13, 24);
    if (s->l % 3 == 2)
        return b % 4 == 0 ? 0 : ldexp(signed_unit(s), -(int)(14 + of_row(s, 14, 4) + (int64_t)(b % 20)));
    return (s->l % 3 == 0 ? 1 : -1) * (1 + ldexp(signed_unit(s), -(int)kept));
}

/* One large element in a row, all others down to nothing beside it. */
static double large_and_tiny(const struct site *s) {
    return s->l == of_row(s, 15, 60) ? 1 + signed_unit(s) / 4 : ldexp(signed_unit(s), -(int)(12 + bits_of(s, 15) % 34));
}

/* About where bf16x6u's slices cannot hold small numbers, and results beside the limit. */
static double small_edges(const struct site *s) {
    static const int edges[] = {49, 50, 58, 60, 66, 99, 108, 109, 110, 115, 116, 120, 126, 133, 134, 148};
    const int base = edges[family_bits(s->seed, 16, (uint64_t)s->side, s->outer % 5 == 0 ? 1 : 0) % (sizeof edges / sizeof *edges)];
    const uint64_t b = bits_of(s, 16);
    return b % 9 == 0 ? ldexp(signed_unit(s), -(int)(b >> 8) % 8) : ldexp(1 + (double)(b >> 40 & 7) / 8, -base + (int)(b >> 16 & 3) - 1) * (b >> 30 & 1 ? 1 : -1);
}

/* Sums that leave FP32's range on the way, or would in another order. */
static double ends_that_cancel(const struct site *s) {
    const double x = ldexp(1 + (double)(bits_of(s, 17) % 128) / 128, s->side ? (int)(bits_of(s, 17) >> 20 & 1) : 125);
    return (s->l + s->outer * (1 - s->side)) % 2 == 0 || s->side ? x : -x;
}

/* Large times small: products near 1 of elements whose like may not meet. */
static double opposite_ends(const struct site *s) {
    const int up = s->side ? -1 : 1, e = (int)(family_bits(s->seed, 18, 0, (uint64_t)(s->l % 7)) % 120);
    return ldexp(signed_unit(s), up * e);
}

static double infinite_and_zero(const struct site *s) {
    const uint64_t b = bits_of(s, 19) % 97;
    return b == 0 ? (double)INFINITY : b == 1 ? -(double)INFINITY : b < 50 ? (b % 2 ? 0.0 : -0.0) : signed_unit(s);
}

static const struct kind kinds32[] = {
    {"plain", plain},           {"uniform", signed_unit},         {"any exponent", any_exponent}, {"row exponents", row_exponents},
    {"one-signed", one_signed}, {"powers", powers},               {"sparse", sparse},             {"subnormal", subnormal},
    {"large", near_the_end},    {"outliers", outliers},           {"mixed rows", mixed_rows},     {"zero blocks", zero_blocks},
    {"whole", whole_numbers},   {"large first", one_large_product},   {"near threshold", near_threshold}, {"large and tiny", large_and_tiny},
    {"small edges", small_edges}, {"ends that cancel", ends_that_cancel}, {"opposite ends", opposite_ends}, {"Inf and 0", infinite_and_zero}};

static double uniform(const struct site *s) {
    const uint64_t b = bits_of(s, 0);
    return ldexp((double)(b >> 11), -53) * (b & 1 ? 1 : -1);
}

static double normal(const struct site *s) {
    return uniform(s) * sqrt(-2 * log(family_uniform(bits_of(s, 1)) + 0x1p-60));
}

static double all_ones(const struct site *s) {
    const uint64_t b = bits_of(s, 2);
    return sign_of(b) * ldexp(0x1p53 - 1, -(int)(b % 3) * (int)(row_bits(s, 2) % 3));
}

static double powers64(const struct site *s) {
    const uint64_t b = bits_of(s, 3);
    return sign_of(b) * ldexp(1, (int)(b % 20) * (int)(row_bits(s, 3) % 4));
}

/* Beside powers of two. */
static double near_powers(const struct site *s) {
    const uint64_t b = bits_of(s, 4);
    return sign_of(b) * ldexp(1 + ldexp((double)(b % 7) - 3, -53 + (int)(b >> 8 & 1)), (int)(b >> 9 & 3));
}

static double scaled_rows(const struct site *s) {
    return ldexp(uniform(s), (int)(row_bits(s, 5) % 2090) - 1060);
}

/* Of both sides' rows, so that results stay within range. */
static double paired_rows(const struct site *s) {
    const int e = (int)(row_bits(s, 6) % 60) + (int)(family_bits(s->seed, 6, 1, 1) % 1900) - 950;
    return ldexp(uniform(s), s->side ? -e : e);
}

static double subnormal64(const struct site *s) {
    const uint64_t b = bits_of(s, 7);
    return s->side && family_bits(s->seed, 7, 1, 1) % 2 ? ldexp(uniform(s), (int)(row_bits(s, 7) % 80))
                                                           : sign_of(b) * ldexp((double)(b % (UINT64_C(1) << (1 + b / 64 % 53))), -1074);
}

/* Whole numbers of few bits, times powers of two. */
static double whole(const struct site *s) {
    const int bits = 1 + (int)(family_bits(s->seed, 8, 1, (uint64_t)s->side) % 30);
    const uint64_t b = bits_of(s, 8);
    return ldexp(sign_of(b) * (double)(b % (UINT64_C(1) << bits)), (int)(row_bits(s, 8) % 40) - 20);
}

/* A product of odd numbers of 27 bits lies between two doubles, what follows is next to nothing beside it. */
static double ties(const struct site *s) {
    const uint64_t b = bits_of(s, 9), row = row_bits(s, 9);
    const int far = 20 + (int)(row / 8 % 60);
    return s->l == 0 ? sign_of(row) * (0x1p27 - 1 - (double)(2 * (row % 1000))) : row % 4 == 0 ? 0 : ldexp((double)(b % 3) - 1, -far);
}

/* Sums at powers of two, and next to them. */
static double carries(const struct site *s) {
    const uint64_t b = bits_of(s, 10), row = row_bits(s, 10);
    return s->l == 0   ? sign_of(row) * ldexp(0x1p27 + (s->side ? 1 : -1), -(int)(row % 40))
           : s->l <= 3 ? ldexp((double)(b % 5) - 2, -(int)(row % 40) + (int)(row / 64 % 3))
                       : 0;
}

/* Pairs that cancel, of both sides alike; what is left is small. */
static double cancelling(const struct site *s) {
    const struct site pair = {s->seed, s->outer, s->l / 2, s->k, s->side};
    if (s->l + 1 == s->k && s->k % 2)
        return ldexp(uniform(s), -(int)(row_bits(s, 11) % 110));
    return uniform(&pair) * (s->side && s->l % 2 ? -1 : 1);
}

/* Rows of A that are columns of B: sums as large as norms allow. */
static double parallel(const struct site *s) {
    const uint64_t b = place_bits(s, 12), kind = family_bits(s->seed, 12, 2, 2) % 3;
    const double x = kind == 0 ? 0x1p53 - 1 : kind == 1 ? 0x1p52 + (double)(b >> 12) : (double)(b % 1024);
    return ldexp(sign_of(b) * x, (int)(row_bits(s, 12) % 8));
}

/* Any finite number, every exponent as likely as every other. */
static double any_exponent64(const struct site *s) {
    const uint64_t b = bits_of(s, 13), bits = (b & UINT64_C(0x800fffffffffffff)) | (family_bits(b, 1, 2, 3) % 2047) << 52;
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* Within a few hundred binades: results rarely overflow. */
static double wide(const struct site *s) {
    const int span = 8 << family_bits(s->seed, 14, 3, 3) % 6;
    return ldexp(uniform(s), (int)(bits_of(s, 14) % (uint64_t)span) - span / 2);
}

/* A D, D^-1 B. */
static double along_k(const struct site *s) {
    const int e = (int)(place_bits(s, 15) % 1200) - 600;
    return ldexp(uniform(s), s->side ? -e : e);
}

static double sparse64(const struct site *s) {
    const uint64_t b = bits_of(s, 16);
    return b % 7 == 0 ? uniform(s) : b & 8 ? 0.0 : -0.0;
}

static double apart(const struct site *s) {
    return (s->l + s->side) % 2 ? uniform(s) : bits_of(s, 17) & 8 ? 0.0 : -0.0;
}

static double rank_one(const struct site *s) {
    const uint64_t row = row_bits(s, 18), place = place_bits(s, 18);
    return sign_of(row) * ldexp((double)(row % 4096 + 1), (int)(place % 30) * (s->side ? -1 : 1)) * (double)(place / 64 % 512 + 1);
}

static double one_signed64(const struct site *s) {
    return 1 + fabs(uniform(s));
}

static double overflowing(const struct site *s) {
    return ldexp(uniform(s), 480 + (int)(row_bits(s, 20) % 64));
}

static double underflowing(const struct site *s) {
    return ldexp(uniform(s), -500 - (int)(row_bits(s, 21) % 64));
}

/* One element far above the others of each segment. */
static double outliers64(const struct site *s) {
    return bits_of(s, 22) % 97 == 0 ? ldexp(uniform(s), (int)(bits_of(s, 23) % 130)) : uniform(s);
}

/* Rows that are wide beside rows that are not. */
static double mixed_rows64(const struct site *s) {
    return row_bits(s, 24) % 3 == 0 ? 0.0 : row_bits(s, 24) % 3 == 1 ? ldexp(uniform(s), (int)(bits_of(s, 24) % 100)) : uniform(s);
}

static const struct kind kinds64[] = {
    {"uniform", uniform},         {"normal", normal},           {"all ones", all_ones},     {"powers", powers64},
    {"near powers", near_powers}, {"scaled rows", scaled_rows}, {"paired rows", paired_rows}, {"subnormal", subnormal64},
    {"whole", whole},             {"ties", ties},               {"carries", carries},       {"cancelling", cancelling},
    {"parallel", parallel},       {"any exponent", any_exponent64}, {"wide", wide},           {"along k", along_k},
    {"sparse", sparse64},           {"apart", apart},             {"rank one", rank_one},     {"one-signed", one_signed64},
    {"overflowing", overflowing}, {"underflowing", underflowing}, {"outliers", outliers64},   {"mixed rows", mixed_rows64}};

/* ---- filling */

static double special(const struct problem *p, struct fuzz_rng *r) {
    static const double of_fp32[] = {NAN, -NAN, INFINITY, -INFINITY, 0, -0.0, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, FLT_MIN},
                        of_fp64[] = {NAN, -NAN, INFINITY, -INFINITY, 0, -0.0, DBL_MAX, -DBL_MAX, 0x1p-1074, DBL_MIN};
    return p->is_fp64 ? FUZZ_PICK(r, of_fp64) : FUZZ_PICK(r, of_fp32);
}

static void add_specials(struct problem *p, struct fuzz_rng *r) {
    const int64_t count = fuzz_from(r, 1, 3);
    for (int64_t n = 0; n < count; n++) {
        const int64_t entry = fuzz_below(r, p->batch), l = fuzz_below(r, p->k);
        const int in_a = fuzz_one_in(r, 2);
        const int64_t at = in_a ? at_a(p, entry, fuzz_below(r, p->m), l) : at_b(p, entry, l, fuzz_below(r, p->n));
        set(in_a ? &p->a : &p->b, at, special(p, r));
    }
    p->exact = 0;
}

struct filler {
    const struct kind *kind[2]; /* NULL: the family, of FP32 */
    const struct family *family;
    uint64_t seed;
};

static struct filler choose32(struct problem *p, struct fuzz_rng *r) {
    struct filler f = {{NULL, NULL}, NULL, fuzz_next(r) >> 8};
    if (fuzz_one_in(r, 3)) {
        f.family = &family_table[fuzz_below(r, family_count)];
        p->exact = f.family->exact;
    } else {
        f.kind[0] = &FUZZ_PICK(r, kinds32);
        f.kind[1] = fuzz_one_in(r, 3) ? &FUZZ_PICK(r, kinds32) : f.kind[0];
        p->exact = f.kind[0]->value == whole_numbers && f.kind[1]->value == whole_numbers;
    }
    return f;
}

static struct filler choose64(struct fuzz_rng *r) {
    struct filler f = {{&FUZZ_PICK(r, kinds64), NULL}, NULL, 0};
    f.seed = fuzz_next(r) >> 8;
    f.kind[1] = fuzz_one_in(r, 3) ? &FUZZ_PICK(r, kinds64) : f.kind[0];
    return f;
}

static double value_of(const struct filler *f, const struct problem *p, const struct site *s) {
    if (f->kind[s->side] != NULL)
        return f->kind[s->side]->value(s);
    const struct family_site site = {s->seed, s->side ? 'B' : 'A', p->m, p->n, p->k, s->side ? s->l : s->outer, s->side ? s->outer : s->l, f->family->parameter, 0};
    return (double)f->family->value(&site);
}

static void fill_side(struct problem *p, const struct filler *f, int side) {
    const struct matrix *const x = side ? &p->b : &p->a;
    for (int64_t entry = 0; entry < (x->stride == 0 ? 1 : p->batch); entry++) {
        for (int64_t outer = 0; outer < (side ? p->n : p->m); outer++) {
            for (int64_t l = 0; l < p->k; l++) {
                const struct site s = {f->seed + (uint64_t)entry, outer, l, p->k, side};
                set(x, side ? at_b(p, entry, l, outer) : at_a(p, entry, outer, l), value_of(f, p, &s));
            }
        }
    }
}

/* Before the call: small numbers, and of FP64 any numbers, or such that cancel nearly all of the product. */
static double old_c(const struct problem *p, struct fuzz_rng *r, int64_t how, int64_t entry, int64_t i, int64_t j) {
    if (!p->is_fp64)
        return fuzz_one_in(r, 500) ? special(p, r) : (double)fuzz_from(r, -9, 9) * 0.25;
    if (how == 0 || fuzz_one_in(r, 300))
        return fuzz_one_in(r, 20) ? special(p, r) : (double)fuzz_from(r, -9, 9) * 0.25;
    if (how == 1)
        return ldexp((double)fuzz_from(r, -(INT64_C(1) << 53), INT64_C(1) << 53), (int)fuzz_from(r, -1070, 960));
    const struct line64 x = problem_row(p, entry, i), y = problem_column(p, entry, j);
    double sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += x.at[l * x.step] * y.at[l * y.step];
    return -(sum * p->alpha / p->beta) * (1 + ldexp((double)fuzz_from(r, -3, 3), -52));
}

static void fill(struct problem *p, struct fuzz_rng *r) {
    const int64_t products = p->m * p->n * p->k * p->batch;
    const struct filler f = p->is_fp64 ? choose64(r) : choose32(p, r);
    for (int side = 0; side < 2; side++) {
        p->data[side] = f.family != NULL ? f.family->name : f.kind[side]->name;
        if (products > 0)
            fill_side(p, &f, side);
    }
    if (products > 0 && fuzz_one_in(r, p->is_fp64 ? 5 : 6))
        add_specials(p, r);
    const int64_t how = p->is_fp64 ? fuzz_below(r, 3) : 0;
    for (int64_t entry = 0; entry < p->batch && p->beta != 0; entry++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++)
                set(&p->c, matrix_at(&p->c, entry, i, j), old_c(p, r, how, entry, i, j));
}

/* ---- shape */

/* Sizes below a share in percent: from and to, or an edge. */
static const struct span {
    int below, from, to;
} spans[2][6] = {{{3, 0, 0}, {48, 1, 8}, {68, 1, 48}, {90, 0, -1}, {98, 1, 260}, {100, 257, 700}},
                 {{2, 0, 0}, {45, 1, 8}, {75, 1, 48}, {92, 0, -1}, {100, 1, 200}}};

static int64_t random_size(struct fuzz_rng *r, int is_fp64) {
    static const int64_t edges32[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 255, 256, 257},
                         edges64[] = {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192};
    const int64_t drawn = fuzz_below(r, 100);
    const struct span *s = spans[is_fp64];
    while (drawn >= s->below)
        s++;
    return s->to > 0 ? fuzz_from(r, s->from, s->to) : s->to == 0 ? 0 : is_fp64 ? FUZZ_PICK(r, edges64) : FUZZ_PICK(r, edges32);
}

/* Of FP64 also around what packing, tiles and carries take at once. */
static int64_t random_k(struct fuzz_rng *r, int is_fp64) {
    static const int64_t edges[] = {64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384};
    const int64_t drawn = fuzz_below(r, 100);
    if (drawn < (is_fp64 ? 50 : 78))
        return random_size(r, is_fp64);
    if (is_fp64)
        return drawn < 75 ? fuzz_from(r, 30, 700) : drawn < 95 ? FUZZ_PICK(r, edges) + fuzz_from(r, -2, 2) : fuzz_from(r, 700, 9000);
    return drawn < 93 ? fuzz_from(r, 200, 700) : drawn < 98 ? fuzz_from(r, 700, 5000) : fuzz_from(r, 5000, 70000);
}

static int64_t up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

static void random_shape(struct problem *p, struct fuzz_rng *r, int64_t work_most) {
    p->m = random_size(r, p->is_fp64);
    p->n = random_size(r, p->is_fp64);
    p->k = random_k(r, p->is_fp64);
    p->batch = fuzz_one_in(r, p->is_fp64 ? 4 : 5) ? fuzz_from(r, 0, p->is_fp64 ? 6 : 5) : 1;
    while (up(p->m, 64) * up(p->n, 64) * up(p->k, p->is_fp64 ? 128 : 64) * p->batch > work_most) {
        int64_t *const all[] = {&p->m, &p->n, &p->k};
        int64_t *most = all[fuzz_below(r, 3)];
        *most = *most > 64 ? *most * 2 / 3 : *most;
        p->batch = p->batch > 1 ? p->batch - 1 : 1;
    }
}

static double random_scalar(struct fuzz_rng *r, int is_fp64, double usual) {
    static const float odd32[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -2.0f, 3.0f, 1e-3f, 1e30f, 1e-30f, FLT_MIN, FLT_TRUE_MIN, 1e-40f, FLT_MAX, NAN, INFINITY, -INFINITY};
    static const double odd64[] = {0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 0.1, 0x1.fffffffffffffp0, 1e300, 1e-300, DBL_MIN, 0x1p-1074, 0x1p-1060,
                                   0x1p1023, DBL_MAX, NAN, INFINITY, -INFINITY, 0x1.8p-1070};
    if (fuzz_one_in(r, 2))
        return usual;
    if (fuzz_one_in(r, 2))
        return is_fp64 ? odd64[fuzz_below(r, 9)] : (double)odd32[fuzz_below(r, 8)];
    if (is_fp64 && fuzz_one_in(r, 3))
        return ldexp(1, (int)fuzz_from(r, -200, 200));
    return is_fp64 ? FUZZ_PICK(r, odd64) : (double)FUZZ_PICK(r, odd32);
}

void problem_make(struct problem *p, struct fuzz_rng *r, int is_fp64, int64_t work_most) {
    static const char ops[] = "NTNTNTntCc";
    const size_t size = is_fp64 ? sizeof(double) : sizeof(float);
    memset(p, 0, sizeof *p);
    p->is_fp64 = is_fp64;
    random_shape(p, r, work_most);
    p->ta = ops[fuzz_below(r, 10)];
    p->tb = ops[fuzz_below(r, 10)];
    p->alpha = random_scalar(r, is_fp64, 1);
    p->beta = random_scalar(r, is_fp64, 0);
    matrix_lay_out(&p->a, size, matrix_is_trans(p->ta) ? p->k : p->m, matrix_is_trans(p->ta) ? p->m : p->k, p->batch, 0, r);
    matrix_lay_out(&p->b, size, matrix_is_trans(p->tb) ? p->n : p->k, matrix_is_trans(p->tb) ? p->k : p->n, p->batch, 0, r);
    matrix_lay_out(&p->c, size, p->m, p->n, p->batch, 1, r);
    struct matrix *const all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++)
        matrix_make(all[i], r);
    fill(p, r);
    for (int i = 0; i < 3; i++)
        matrix_upload(all[i]);
}

void problem_note(const struct problem *p, const char *how) {
    fuzz_note("%c%c %lld x %lld x %lld, batch %lld, alpha %a, beta %a, ld %lld %lld %lld, strides %lld %lld %lld, leads %lld %lld %lld, data '%s', '%s'; %s",
              p->ta, p->tb, (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->batch, p->alpha, p->beta, (long long)p->a.ld,
              (long long)p->b.ld, (long long)p->c.ld, (long long)p->a.stride, (long long)p->b.stride, (long long)p->c.stride, (long long)p->a.lead,
              (long long)p->b.lead, (long long)p->c.lead, p->data[0], p->data[1], how);
}
