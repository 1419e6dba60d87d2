/* mixpert_kernel: schemes mixpert1 .. mixpert4 of a set against the host's reference, bit for bit, and against FP64 within their
 * bound; where the set has the fallback for outliers, blocks of C that meet one against FP64 alone. For tests/kernels/test_mixpert.py. Exit 0: all of it right; the first difference is said. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_dev.h"
#include "mixpert_reference.c"

struct product {
    int64_t m, n, k;
    char ta, tb;
    float alpha, beta;
    const char *family;
    int pad, packed;
};

static halftone *h;

static void stop(const char *what) {
    fprintf(stderr, "%s: %s\n", what, halftone_last_detail(h));
    exit(2);
}

static void check(int code, const char *what) {
    if (code != HALFTONE_OK)
        stop(what);
}

static void *device_bytes(size_t bytes) {
    void *p = NULL;
    if (ht_dev_alloc(&p, bytes + 64) != HT_DEV_OK)
        stop("ht_dev_alloc");
    return p;
}

/* op(X) of the family whatever the transpose; what lies behind a line is NaN. */
static float *operand(const struct product *p, char side, int64_t *ld) {
    const int64_t rows = side == 'A' ? p->m : p->k, cols = side == 'A' ? p->k : p->n;
    const int trans = (side == 'A' ? p->ta : p->tb) == 'T';
    const int64_t lines = trans ? rows : cols;
    *ld = (trans ? cols : rows) + p->pad;
    float *plain = malloc((size_t)(rows * cols) * sizeof *plain), *x = malloc((size_t)(*ld * lines) * sizeof *x);
    family_fill(family_find(p->family), 5, side, p->m, p->n, p->k, plain, rows);
    for (int64_t i = 0; i < *ld * lines; i++)
        x[i] = NAN;
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            x[trans ? r * *ld + c : c * *ld + r] = plain[c * rows + r];
    free(plain);
    return x;
}

static float *uploaded(const float *x, int64_t count, int64_t offset) {
    float *d = (float *)device_bytes((size_t)(count + offset) * sizeof *d) + offset;
    if (ht_dev_upload(d, x, (size_t)count * sizeof *d) != HT_DEV_OK)
        stop("ht_dev_upload");
    return d;
}

static void run(const struct product *p, const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc) {
    if (!p->packed) {
        check(halftone_sgemm(h, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, a, lda, b, ldb, &p->beta, c, ldc), "halftone_sgemm");
        return;
    }
    size_t a_bytes, b_bytes;
    check(halftone_packed_bytes(h, 'A', p->m, p->k, 1, &a_bytes), "halftone_packed_bytes");
    check(halftone_packed_bytes(h, 'B', p->n, p->k, 1, &b_bytes), "halftone_packed_bytes");
    void *pa = device_bytes(a_bytes), *pb = device_bytes(b_bytes);
    check(halftone_pack_a(h, p->ta, p->m, p->k, a, lda, pa), "halftone_pack_a");
    check(halftone_pack_b(h, p->tb, p->k, p->n, b, ldb, pb), "halftone_pack_b");
    check(halftone_sgemm_packed(h, p->m, p->n, p->k, &p->alpha, pa, pb, &p->beta, c, ldc), "halftone_sgemm_packed");
    ht_dev_free(pa);
    ht_dev_free(pb);
}

static int same(float x, float y) {
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* |C - R| in units of the bound's, which is what R counts; 0 where the reference is no number. */
static double used_of_bound(const struct product *p, const struct mixpert_operand *x, const struct mixpert_operand *y,
                            const float *a, int64_t a_row, int64_t a_k, const float *b, int64_t b_col, int64_t b_k, float got,
                            float old, int64_t i, int64_t j, int64_t units) {
    double exact = 0, magnitude = mixpert_magnitude(x, y, i, j) * fabs((double)p->alpha);
    for (int64_t k = 0; k < p->k; k++)
        exact += (double)a[i * a_row + k * a_k] * (double)b[j * b_col + k * b_k];
    const double scaled_old = p->beta != 0 ? (double)p->beta * (double)old : 0;
    exact = exact * (double)p->alpha + scaled_old;
    const double allowed = ldexp((double)units * magnitude + fabs(scaled_old), -24) +
                        (double)p->k * 0x1p-126; /* tiles below 2^-120, products below 2^-149 */
    return isfinite(magnitude) && magnitude < 0x1p128 ? fabs((double)got - exact) / allowed : 0;
}

/* With the fallback beside it: |C - R| in units of the norms' bound, which holds whatever the data; a wrong class is 2. */
static double used_of_norms(const struct product *p, int level, const struct mixpert_operand *x, const struct mixpert_operand *y,
                            const float *a, int64_t a_row, int64_t a_k, const float *b, int64_t b_col, int64_t b_k, float got, float old,
                            int64_t i, int64_t j, int64_t units) {
    double exact = 0;
    const double scaled_old = p->beta != 0 ? (double)p->beta * (double)old : 0;
    for (int64_t k = 0; k < p->k; k++)
        exact += (double)a[i * a_row + k * a_k] * (double)b[j * b_col + k * b_k];
    exact = exact * (double)p->alpha + scaled_old;
    if (!isfinite((float)exact) || !isfinite(got))
        return isnan(exact) ? (isnan(got) ? 0 : 2) : (double)got == (double)(float)exact ? 0 : 2;
    const double magnitude = x->norm[i] * y->norm[j] * fabs((double)p->alpha);
    return fabs((double)got - exact) /
           (ldexp((double)(mixpert_norm_units(level) + units) * magnitude + fabs(scaled_old), -24) + (double)p->k * 0x1p-126);
}

static int level_of(const char *scheme) {
    return scheme[strlen(scheme) - 1] - '0';
}

static void check_product(const char *scheme, const char *kernel, const struct product *p) {
    int64_t lda, ldb;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const int64_t ldc = p->m + p->pad, count = ldc * p->n;
    float *a = operand(p, 'A', &lda), *b = operand(p, 'B', &ldb), *c = malloc((size_t)count * sizeof *c);
    for (int64_t i = 0; i < count; i++)
        c[i] = p->beta != 0 ? (float)(i % 7 - 3) : NAN;
    float *da = uploaded(a, lda * (p->ta == 'N' ? p->k : p->m), p->pad), *db = uploaded(b, ldb * (p->tb == 'N' ? p->n : p->k), p->pad),
          *dc = uploaded(c, count, 0);
    check(halftone_set_scheme(h, scheme), "halftone_set_scheme");
    check(halftone_set_kernel(h, kernel), "halftone_set_kernel");
    check(halftone_query(h, p->ta, p->tb, p->m, p->n, p->k, 1, &plan), "halftone_query");
    run(p, da, lda, db, ldb, dc, ldc);
    if (ht_dev_download(c, dc, (size_t)count * sizeof *c) != HT_DEV_OK)
        stop("ht_dev_download");
    const int64_t a_row = p->ta == 'N' ? 1 : lda, a_k = p->ta == 'N' ? lda : 1, b_col = p->tb == 'N' ? ldb : 1,
                  b_k = p->tb == 'N' ? 1 : ldb;
    struct mixpert_operand x = mixpert_split(a, p->m, p->k, a_row, a_k, MIXPERT_A_ROWS),
                           y = mixpert_split(b, p->n, p->k, b_col, b_k, MIXPERT_B_COLS);
    const int checked = strstr(plan.range, "outliers") != NULL;
    int64_t fallen = 0;
    double worst = 0, worst_of_norms = 0;
    for (int64_t at = 0; at < count; at++) {
        const int64_t i = at % ldc, j = at / ldc;
        const float old = p->beta != 0 ? (float)(at % 7 - 3) : NAN;
        float want = i < p->m ? p->alpha * mixpert_element(&x, &y, level_of(scheme), i, j, plan.splits, plan.bk) : old;
        if (i < p->m && p->beta != 0)
            want = fmaf(p->beta, old, want);
        if (checked && i < p->m) {
            worst_of_norms = fmax(worst_of_norms, used_of_norms(p, level_of(scheme), &x, &y, a, a_row, a_k, b, b_col, b_k, c[at], old, i,
                                                                j, plan.bound_units));
            if (mixpert_meets_outlier(&x, &y, i, j)) {
                fallen++;
                continue;
            }
        }
        if (!same(c[at], want)) {
            printf("%s %s %c%c %lld x %lld x %lld, splits %d, %s: C(%lld, %lld) is %a, the reference %a\n", scheme, p->family, p->ta,
                   p->tb, (long long)p->m, (long long)p->n, (long long)p->k, plan.splits, plan.kernel, (long long)i, (long long)j,
                   (double)c[at], (double)want);
            exit(1);
        }
        if (i < p->m)
            worst = fmax(worst, used_of_bound(p, &x, &y, a, a_row, a_k, b, b_col, b_k, c[at], old, i, j, plan.bound_units));
    }
    printf("%s %s %c%c %lldx%lldx%lld %s splits %d: %.3f of the bound\n", scheme, p->family, p->ta, p->tb, (long long)p->m,
           (long long)p->n, (long long)p->k, plan.kernel, plan.splits, worst);
    if (checked)
        printf("  fallback %.0f %% of C; %.4f of the bound of norms\n", 100.0 * (double)fallen / (double)(p->m * p->n), worst_of_norms);
    if (worst > 1 || worst_of_norms > 1) {
        puts("beyond the bound");
        exit(1);
    }
    mixpert_free(&x);
    mixpert_free(&y);
    free(a), free(b), free(c);
    ht_dev_free(da - p->pad), ht_dev_free(db - p->pad), ht_dev_free(dc);
}

static const struct product products[] = {
    {1, 1, 1, 'N', 'N', 1, 0, "uniform", 0, 0},        {33, 17, 5, 'N', 'T', 1, 0, "normal", 1, 0},
    {70, 66, 33, 'T', 'N', 0.3f, -1.7f, "llm", 3, 0},   {65, 9, 100, 'T', 'T', 2, 1, "phi2", 1, 0},
    {64, 64, 128, 'N', 'N', 1, 0, "uniform01", 0, 0},  {150, 140, 257, 'N', 'N', 1, 0, "normal", 2, 0},
    {129, 65, 300, 'T', 'N', -1, 0.5f, "graded", 0, 1}, {16, 8, 2000, 'N', 'T', 1, 0, "uniform", 0, 0},
    {40, 40, 96, 'N', 'N', 1, 0, "subnormal", 0, 0},   {40, 40, 96, 'T', 'T', 1, 0, "hugetiny", 1, 0},
    {40, 41, 70, 'N', 'N', 1, 0, "dscaled60", 0, 0},    {50, 40, 66, 'N', 'N', 1, 0, "nan", 0, 0},
    {50, 40, 66, 'T', 'N', 1, 2, "inf", 1, 1},          {50, 40, 66, 'N', 'T', 1, 0, "huge", 0, 0},
    {20, 24, 40, 'N', 'N', 1, 0, "integers", 0, 0},    {70, 20, 64, 'N', 'N', 1, 1, "outliers", 0, 1},
    {150, 140, 64, 'N', 'N', 1, 0, "nan", 0, 0},       {70, 40, 96, 'T', 'N', 1, 0, "rowscales", 0, 0},
    {70, 40, 2000, 'N', 'T', 1, 0.5f, "nan", 0, 0},
};

/* As it stands, or in all four transposes. */
static void check_transposes(const char *scheme, const char *kernel, const struct product *p, int all) {
    for (int t = 0; t < (all ? 4 : 1); t++) {
        struct product other = *p;
        if (all) {
            other.ta = t / 2 ? 'T' : 'N';
            other.tb = t % 2 ? 'T' : 'N';
        }
        check_product(scheme, kernel, &other);
    }
}

/* With each of its kernels. */
static void check_scheme(const char *scheme, int all) {
    for (int k = 0; halftone_kernels(h, k); k++) {
        const char *kernel = halftone_kernels(h, k);
        for (size_t i = 0; i < sizeof products / sizeof *products && strncmp(kernel + 3, scheme, strlen(scheme)) == 0; i++)
            check_transposes(scheme, kernel, &products[i], all);
    }
}

/* `mixpert_kernel transposes`: every product in every transpose. `mixpert_kernel SCHEME`: of this one. */
int main(int argc, char **argv) {
    const int all = argc > 1 && strcmp(argv[1], "transposes") == 0;
    const char *const only = argc > 1 && !all ? argv[1] : "mixpert";
    check(halftone_create(&h), "halftone_create");
    for (int s = 0; halftone_schemes(h, HALFTONE_FP32, s); s++) {
        if (strncmp(halftone_schemes(h, HALFTONE_FP32, s), only, strlen(only)) == 0)
            check_scheme(halftone_schemes(h, HALFTONE_FP32, s), all);
    }
    return halftone_destroy(h);
}
