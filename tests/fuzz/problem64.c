/* problem64: see problem64.h. */
#include "problem64.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"

void problem64_reset_c(const struct problem64 *p) {
    matrix_upload(&p->c);
}

double *problem64_read_c(const struct problem64 *p) {
    double *const now = matrix_read(&p->c);
    matrix_check_untouched(&p->a, "A");
    matrix_check_untouched(&p->b, "B");
    return now;
}

void problem64_free(struct problem64 *p) {
    matrix_free(&p->a);
    matrix_free(&p->b);
    matrix_free(&p->c);
}

/* ---- elements: of the host's memory */

struct line64 problem64_row(const struct problem64 *p, int64_t entry, int64_t i) {
    const int trans = matrix_is_trans(p->ta);
    return (struct line64){(double *)p->a.host + matrix_at(&p->a, entry, trans ? 0 : i, trans ? i : 0), trans ? 1 : p->a.ld};
}

struct line64 problem64_column(const struct problem64 *p, int64_t entry, int64_t j) {
    const int trans = matrix_is_trans(p->tb);
    return (struct line64){(double *)p->b.host + matrix_at(&p->b, entry, trans ? j : 0, trans ? 0 : j), trans ? p->b.ld : 1};
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

static double powers(const struct site *s) {
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

static double subnormal(const struct site *s) {
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
static double any_exponent(const struct site *s) {
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

static double sparse(const struct site *s) {
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

static double one_signed(const struct site *s) {
    return 1 + fabs(uniform(s));
}

static double overflowing(const struct site *s) {
    return ldexp(uniform(s), 480 + (int)(row_bits(s, 20) % 64));
}

static double underflowing(const struct site *s) {
    return ldexp(uniform(s), -500 - (int)(row_bits(s, 21) % 64));
}

/* One element far above the others of each segment. */
static double outliers(const struct site *s) {
    return bits_of(s, 22) % 97 == 0 ? ldexp(uniform(s), (int)(bits_of(s, 23) % 130)) : uniform(s);
}

/* Rows that are wide beside rows that are not. */
static double mixed_rows(const struct site *s) {
    return row_bits(s, 24) % 3 == 0 ? 0.0 : row_bits(s, 24) % 3 == 1 ? ldexp(uniform(s), (int)(bits_of(s, 24) % 100)) : uniform(s);
}

static const struct kind {
    const char *name;
    double (*value)(const struct site *s);
} kinds[] = {{"uniform", uniform},         {"normal", normal},           {"all ones", all_ones},     {"powers", powers},
             {"near powers", near_powers}, {"scaled rows", scaled_rows}, {"paired rows", paired_rows}, {"subnormal", subnormal},
             {"whole", whole},             {"ties", ties},               {"carries", carries},       {"cancelling", cancelling},
             {"parallel", parallel},       {"any exponent", any_exponent}, {"wide", wide},           {"along k", along_k},
             {"sparse", sparse},           {"apart", apart},             {"rank one", rank_one},     {"one-signed", one_signed},
             {"overflowing", overflowing}, {"underflowing", underflowing}, {"outliers", outliers},   {"mixed rows", mixed_rows}};

static double special(struct fuzz_rng *r) {
    static const double values[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, DBL_MAX, -DBL_MAX, 0x1p-1074, DBL_MIN};
    return FUZZ_PICK(r, values);
}

static void add_specials(struct problem64 *p, struct fuzz_rng *r) {
    const int64_t count = fuzz_from(r, 1, 3);
    for (int64_t i = 0; i < count; i++) {
        const int64_t entry = fuzz_below(r, p->batch), l = fuzz_below(r, p->k);
        const struct line64 x = fuzz_one_in(r, 2) ? problem64_row(p, entry, fuzz_below(r, p->m)) : problem64_column(p, entry, fuzz_below(r, p->n));
        x.at[l * x.step] = special(r);
    }
}

static void fill_side(struct problem64 *p, const struct kind *kind, int side, uint64_t seed) {
    const struct matrix *x = side ? &p->b : &p->a;
    for (int64_t entry = 0; entry < (x->stride == 0 ? 1 : p->batch); entry++) {
        for (int64_t outer = 0; outer < (side ? p->n : p->m); outer++) {
            const struct line64 to = side ? problem64_column(p, entry, outer) : problem64_row(p, entry, outer);
            for (int64_t l = 0; l < p->k; l++) {
                const struct site s = {seed + (uint64_t)entry, outer, l, p->k, side};
                to.at[l * to.step] = kind->value(&s);
            }
        }
    }
}

/* Before the call: small numbers, any numbers, or such that cancel nearly all of the product. */
static double old_c(const struct problem64 *p, struct fuzz_rng *r, int64_t how, int64_t entry, int64_t i, int64_t j) {
    if (how == 0 || fuzz_one_in(r, 300))
        return fuzz_one_in(r, 20) ? special(r) : (double)fuzz_from(r, -9, 9) * 0.25;
    if (how == 1)
        return ldexp((double)fuzz_from(r, -(INT64_C(1) << 53), INT64_C(1) << 53), (int)fuzz_from(r, -1070, 960));
    const struct line64 x = problem64_row(p, entry, i), y = problem64_column(p, entry, j);
    double sum = 0;
    for (int64_t l = 0; l < p->k; l++)
        sum += x.at[l * x.step] * y.at[l * y.step];
    return -(sum * p->alpha / p->beta) * (1 + ldexp((double)fuzz_from(r, -3, 3), -52));
}

static void fill(struct problem64 *p, struct fuzz_rng *r) {
    const struct kind *kind[2] = {&FUZZ_PICK(r, kinds), NULL};
    const uint64_t seed = fuzz_next(r) >> 8;
    kind[1] = fuzz_one_in(r, 3) ? &FUZZ_PICK(r, kinds) : kind[0];
    for (int side = 0; side < 2; side++) {
        p->data[side] = kind[side]->name;
        if (p->m * p->n * p->k * p->batch > 0)
            fill_side(p, kind[side], side, seed);
    }
    if (p->m * p->n * p->k * p->batch > 0 && fuzz_one_in(r, 5))
        add_specials(p, r);
    const int64_t how = fuzz_below(r, 3);
    for (int64_t entry = 0; entry < p->batch && p->beta != 0.0; entry++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++)
                ((double *)p->c.host)[matrix_at(&p->c, entry, i, j)] = old_c(p, r, how, entry, i, j);
}

/* ---- shape */

static int64_t random_size(struct fuzz_rng *r) {
    static const int64_t edges[] = {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192};
    const int64_t kind = fuzz_below(r, 100);
    return kind < 2    ? 0
           : kind < 45 ? fuzz_from(r, 1, 8)
           : kind < 75 ? fuzz_from(r, 1, 48)
           : kind < 92 ? FUZZ_PICK(r, edges)
                       : fuzz_from(r, 1, 200);
}

/* Around what packing, tiles and carries take at once. */
static int64_t random_k(struct fuzz_rng *r) {
    static const int64_t edges[] = {64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384};
    const int64_t kind = fuzz_below(r, 100);
    return kind < 50 ? random_size(r) : kind < 75 ? fuzz_from(r, 30, 700) : kind < 95 ? FUZZ_PICK(r, edges) + fuzz_from(r, -2, 2) : fuzz_from(r, 700, 9000);
}

static void random_shape(struct problem64 *p, struct fuzz_rng *r, int64_t work_most) {
    p->m = random_size(r);
    p->n = random_size(r);
    p->k = random_k(r);
    p->batch = fuzz_one_in(r, 4) ? fuzz_from(r, 0, 6) : 1;
    while ((p->m + 63) / 64 * ((p->n + 63) / 64) * ((p->k + 127) / 128) * p->batch * (64 * 64 * 128) > work_most) {
        int64_t *const all[] = {&p->m, &p->n, &p->k};
        int64_t *most = all[fuzz_below(r, 3)];
        *most = *most > 64 ? *most * 2 / 3 : *most;
        p->batch = p->batch > 1 ? p->batch - 1 : 1;
    }
}

static double random_scalar(struct fuzz_rng *r, double usual) {
    static const double odd[] = {0.0,     -0.0,      1.0,       -1.0,   0.5,     -2.0,     3.0,     0.1,       0x1.fffffffffffffp0, 1e300,
                                 1e-300,  DBL_MIN,   0x1p-1074, 0x1p-1060, 0x1p1023, DBL_MAX, NAN,    INFINITY,  -INFINITY,           0x1.8p-1070};
    return fuzz_one_in(r, 2) ? usual : fuzz_one_in(r, 2) ? odd[fuzz_below(r, 9)] : fuzz_one_in(r, 3) ? ldexp(1, (int)fuzz_from(r, -200, 200)) : FUZZ_PICK(r, odd);
}

void problem64_make(struct problem64 *p, struct fuzz_rng *r, int64_t work_most) {
    static const char ops[] = "NTNTNTntCc";
    memset(p, 0, sizeof *p);
    random_shape(p, r, work_most);
    p->ta = ops[fuzz_below(r, 10)];
    p->tb = ops[fuzz_below(r, 10)];
    p->alpha = random_scalar(r, 1);
    p->beta = random_scalar(r, 0);
    matrix_lay_out(&p->a, sizeof(double), matrix_is_trans(p->ta) ? p->k : p->m, matrix_is_trans(p->ta) ? p->m : p->k, p->batch, 0, r);
    matrix_lay_out(&p->b, sizeof(double), matrix_is_trans(p->tb) ? p->n : p->k, matrix_is_trans(p->tb) ? p->k : p->n, p->batch, 0, r);
    matrix_lay_out(&p->c, sizeof(double), p->m, p->n, p->batch, 1, r);
    struct matrix *const all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++)
        matrix_make(all[i], r);
    fill(p, r);
    for (int i = 0; i < 3; i++)
        matrix_upload(all[i]);
}

void problem64_note(const struct problem64 *p, const char *how) {
    fuzz_note("%c%c %lld x %lld x %lld, batch %lld, alpha %a, beta %a, ld %lld %lld %lld, strides %lld %lld %lld, leads %lld %lld %lld, data '%s', '%s'; %s",
              p->ta, p->tb, (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->batch, p->alpha, p->beta, (long long)p->a.ld,
              (long long)p->b.ld, (long long)p->c.ld, (long long)p->a.stride, (long long)p->b.stride, (long long)p->c.stride, (long long)p->a.lead,
              (long long)p->b.lead, (long long)p->c.lead, p->data[0], p->data[1], how);
}
