/* problem: see problem.h. */
#include "problem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"

void problem_reset_c(const struct problem *p) {
    matrix_upload(&p->c);
}

float *problem_read_c(const struct problem *p) {
    float *const now = matrix_read(&p->c);
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

static float *element(const struct matrix *x, int64_t at) {
    return (float *)x->host + at;
}

static int64_t at_a(const struct problem *p, int64_t entry, int64_t i, int64_t l) {
    return matrix_is_trans(p->ta) ? matrix_at(&p->a, entry, l, i) : matrix_at(&p->a, entry, i, l);
}

static int64_t at_b(const struct problem *p, int64_t entry, int64_t l, int64_t j) {
    return matrix_is_trans(p->tb) ? matrix_at(&p->b, entry, j, l) : matrix_at(&p->b, entry, l, j);
}

float problem_a(const struct problem *p, int64_t entry, int64_t i, int64_t l) {
    return *element(&p->a, at_a(p, entry, i, l));
}

float problem_b(const struct problem *p, int64_t entry, int64_t l, int64_t j) {
    return *element(&p->b, at_b(p, entry, l, j));
}

float problem_c(const struct problem *p, int64_t entry, int64_t i, int64_t j) {
    return *element(&p->c, matrix_at(&p->c, entry, i, j));
}

/* ---- data. site: outer is the row of A or the column of B. */

struct site {
    uint64_t seed;
    int64_t outer, l;
    int side;
};

static uint64_t bits_of(const struct site *s, uint64_t stream) {
    return family_bits(s->seed, stream + (s->side ? 100 : 0), (uint64_t)s->outer, (uint64_t)s->l);
}

static double signed_unit(const struct site *s) {
    return 2 * family_uniform(bits_of(s, 0)) - 1;
}

/* The same for all of a row of A or column of B. */
static int64_t of_row(const struct site *s, uint64_t stream, int64_t n) {
    return (int64_t)(family_bits(s->seed, stream + (s->side ? 100 : 0), (uint64_t)s->outer, 77) % (uint64_t)n);
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

static const struct kind {
    const char *name;
    double (*value)(const struct site *s);
} kinds[] = {
    {"plain", plain},           {"uniform", signed_unit},         {"any exponent", any_exponent}, {"row exponents", row_exponents},
    {"one-signed", one_signed}, {"powers", powers},               {"sparse", sparse},             {"subnormal", subnormal},
    {"large", near_the_end},    {"outliers", outliers},           {"mixed rows", mixed_rows},     {"zero blocks", zero_blocks},
    {"whole", whole_numbers},   {"large first", one_large_product},   {"near threshold", near_threshold}, {"large and tiny", large_and_tiny},
    {"small edges", small_edges}, {"ends that cancel", ends_that_cancel}, {"opposite ends", opposite_ends}, {"Inf and 0", infinite_and_zero}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct filler {
    const struct kind *kind[2]; /* NULL: the family */
    const struct family *family;
    uint64_t seed;
    int64_t entry;
};

static float value_of(const struct filler *f, const struct problem *p, int side, int64_t outer, int64_t l) {
    const struct site s = {f->seed + (uint64_t)f->entry, outer, l, side};
    if (f->kind[side] != NULL)
        return (float)f->kind[side]->value(&s);
    const struct family_site site = {s.seed,    side ? 'B' : 'A',     p->m, p->n, p->k, side ? l : outer,
                                     side ? outer : l, f->family->parameter, 0};
    return f->family->value(&site);
}

static void fill_entry(struct problem *p, struct filler *f, int64_t entry) {
    f->entry = entry;
    for (int64_t l = 0; l < p->k; l++) {
        for (int64_t i = 0; i < p->m && (entry == 0 || p->a.stride > 0); i++)
            *element(&p->a, at_a(p, entry, i, l)) = value_of(f, p, 0, i, l);
        for (int64_t j = 0; j < p->n && (entry == 0 || p->b.stride > 0); j++)
            *element(&p->b, at_b(p, entry, l, j)) = value_of(f, p, 1, j, l);
    }
}

static float special(struct fuzz_rng *r) {
    static const float values[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, FLT_MIN};
    return FUZZ_PICK(r, values);
}

static void add_specials(struct problem *p, struct fuzz_rng *r) {
    const int64_t count = fuzz_from(r, 1, 3);
    for (int64_t n = 0; n < count; n++) {
        const int64_t entry = fuzz_below(r, p->batch), l = fuzz_below(r, p->k);
        float *const at = fuzz_one_in(r, 2) ? element(&p->a, at_a(p, entry, fuzz_below(r, p->m), l))
                                            : element(&p->b, at_b(p, entry, l, fuzz_below(r, p->n)));
        *at = special(r);
    }
    p->exact = 0;
}

static void fill(struct problem *p, struct fuzz_rng *r) {
    struct filler f = {{NULL, NULL}, NULL, fuzz_next(r) >> 8, 0};
    if (fuzz_one_in(r, 3)) {
        f.family = &family_table[fuzz_below(r, family_count)];
        p->data = f.family->name;
        p->exact = f.family->exact;
    } else {
        f.kind[0] = &kinds[fuzz_below(r, KINDS)];
        f.kind[1] = fuzz_one_in(r, 3) ? &kinds[fuzz_below(r, KINDS)] : f.kind[0];
        p->data = f.kind[0]->name;
        p->exact = f.kind[0]->value == whole_numbers && f.kind[1]->value == whole_numbers;
    }
    for (int64_t entry = 0; entry < p->batch && p->m * p->n * p->k > 0; entry++)
        fill_entry(p, &f, entry);
    if (p->m * p->n * p->k * p->batch > 0 && fuzz_one_in(r, 6))
        add_specials(p, r);
    for (int64_t entry = 0; entry < p->batch; entry++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m && p->beta != 0.0f; i++)
                *element(&p->c, matrix_at(&p->c, entry, i, j)) = fuzz_one_in(r, 500) ? special(r) : (float)fuzz_from(r, -9, 9) * 0.25f;
}

/* ---- shape */

static int64_t random_size(struct fuzz_rng *r) {
    static const int64_t edges[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 255, 256, 257};
    const int64_t kind = fuzz_below(r, 100);
    return kind < 3    ? 0
           : kind < 48 ? fuzz_from(r, 1, 8)
           : kind < 68 ? fuzz_from(r, 1, 48)
           : kind < 90 ? FUZZ_PICK(r, edges)
           : kind < 98 ? fuzz_from(r, 1, 260)
                       : fuzz_from(r, 257, 700);
}

static int64_t random_k(struct fuzz_rng *r) {
    const int64_t kind = fuzz_below(r, 100);
    return kind < 78 ? random_size(r) : kind < 93 ? fuzz_from(r, 200, 700) : kind < 98 ? fuzz_from(r, 700, 5000) : fuzz_from(r, 5000, 70000);
}

static int64_t up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

static void random_shape(struct problem *p, struct fuzz_rng *r, int64_t work_most) {
    p->m = random_size(r);
    p->n = random_size(r);
    p->k = random_k(r);
    p->batch = fuzz_one_in(r, 5) ? fuzz_from(r, 0, 5) : 1;
    while (up(p->m, 64) * up(p->n, 64) * up(p->k, 64) * p->batch > work_most) {
        int64_t *const all[] = {&p->m, &p->n, &p->k};
        int64_t *most = all[fuzz_below(r, 3)];
        *most = *most > 64 ? *most * 2 / 3 : *most;
        p->batch = p->batch > 1 ? p->batch - 1 : 1;
    }
}

static float random_scalar(struct fuzz_rng *r, float usual) {
    static const float odd[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -2.0f, 3.0f, 1e-3f, 1e30f, 1e-30f, FLT_MIN, FLT_TRUE_MIN, 1e-40f, FLT_MAX, NAN, INFINITY, -INFINITY};
    return fuzz_one_in(r, 2) ? usual : fuzz_one_in(r, 2) ? odd[fuzz_below(r, 8)] : FUZZ_PICK(r, odd);
}

void problem_make(struct problem *p, struct fuzz_rng *r, int64_t work_most) {
    static const char ops[] = "NTNTNTntCc";
    memset(p, 0, sizeof *p);
    random_shape(p, r, work_most);
    p->ta = ops[fuzz_below(r, 10)];
    p->tb = ops[fuzz_below(r, 10)];
    p->alpha = random_scalar(r, 1);
    p->beta = random_scalar(r, 0);
    matrix_lay_out(&p->a, sizeof(float), matrix_is_trans(p->ta) ? p->k : p->m, matrix_is_trans(p->ta) ? p->m : p->k, p->batch, 0, r);
    matrix_lay_out(&p->b, sizeof(float), matrix_is_trans(p->tb) ? p->n : p->k, matrix_is_trans(p->tb) ? p->k : p->n, p->batch, 0, r);
    matrix_lay_out(&p->c, sizeof(float), p->m, p->n, p->batch, 1, r);
    struct matrix *const all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++)
        matrix_make(all[i], r);
    fill(p, r);
    for (int i = 0; i < 3; i++)
        matrix_upload(all[i]);
}

void problem_note(const struct problem *p, const char *what, const char *how) {
    fuzz_note("%s %c%c %lld x %lld x %lld, batch %lld, alpha %a, beta %a, ld %lld %lld %lld, strides %lld %lld %lld, leads %lld %lld %lld, data '%s'; %s",
              what, p->ta, p->tb, (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->batch, (double)p->alpha, (double)p->beta,
              (long long)p->a.ld, (long long)p->b.ld, (long long)p->c.ld, (long long)p->a.stride, (long long)p->b.stride,
              (long long)p->c.stride, (long long)p->a.lead, (long long)p->b.lead, (long long)p->c.lead, p->data, how);
}
