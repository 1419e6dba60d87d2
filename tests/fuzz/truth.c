/* truth: see truth.h. Numbers of sections are those of bench/ACCURACY.md. */
#include "truth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From where on a scheme's elements keep what its bound says; smaller ones count as if they were that (section 6). */
struct range {
    const char *scheme;
    double least, of_largest;  /* absolute; as a share of the largest in their row of A or column of B */
    double of_small_rows;      /* instead of `least`: in rows whose largest is below 2^-40 */
    double most;               /* larger ones are out of range */
    double flush_least, flush_of_small_rows; /* the same on units that flush subnormals */
    int is_strict;             /* smaller ones are out of range */
    int has_wide_products;     /* products below 2^-126 err as if they were that (section 9) */
};

static const struct range ranges[] = {
    {"half", 0x1p-14, 0, 0, 65504, 0x1p-14, 0, 0, 0},
    {"markidis", 0x1p-3, 0, 0, 65504, 0, 0, 0, 0},
    {"ootomo", 0x1p-13, 0, 0, 65504, 0, 0, 0, 0},
    {"egemm", 0x1p-2, 0, 0, 65504, 0, 0, 0, 0},
    {"legemm", 0x1p-13, 0, 0, 65504, 0, 0, 1, 0},
    {"f16x3", 0x1p-128, 0x1p-16, 0, FLT_MAX, 0x1p-128, 0, 0, 0},
    {"bf16", 0x1p-126, 0, 0, 0x1p128 - 0x1p119 - 0x1p104, 0x1p-126, 0, 0, 1},
    {"tf32", 0x1p-126, 0, 0, 0x1p128 - 0x1p116 - 0x1p104, 0x1p-126, 0, 0, 1},
    {"bf16x3", 0x1p-117, 0, 0x1p-78, FLT_MAX, 0x1p-109, 0x1p-70, 0, 1},
    {"bf16x6", 0x1p-109, 0, 0x1p-70, FLT_MAX, 0x1p-102, 0x1p-63, 0, 1},
    {"bf16x9", 0x1p-109, 0, 0x1p-70, FLT_MAX, 0x1p-102, 0x1p-63, 0, 1},
    {"tf32x3", 0x1p-113, 0, 0x1p-74, FLT_MAX, 0x1p-113, 0x1p-74, 0, 1},
};

/* Every input; the fixed-point ones. */
static const struct range everything = {"", 0, 0, 0, FLT_MAX, 0, 0, 0, 0};

static const struct range *range_of(const struct promise *what) {
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && !what->every_input; i++)
        if (strcmp(ranges[i].scheme, what->name) == 0)
            return &ranges[i];
    return &everything;
}

/* halftone_plan.fixed_point */
enum { OF_ROWS = 1, OF_TILES };

/* ---- one row of A or column of B */

struct line {
    float *x;         /* k of them */
    double *counts;   /* magnitudes as the bound takes them */
    double *flushed;  /* what a unit that flushes may lose beside the bound */
    double largest;
    int is_finite, in_range;
};

static double flushed_of(double x, int exponent) {
    const double least_normal = exponent < -100 ? 0x1p-126 : 0x1p-14, residual = ldexp(1, exponent);
    if (x < least_normal) /* -25, ootomo: a residual of the other sign may remain */
        return x > 0 && exponent == -25 ? x + residual * (1 + 0x1p-11) : x;
    return fmin(x, residual);
}

/* Section 10: what a normal number of the slices' type may lose where rows are not scaled; 0: nothing is flushed. */
static int flush_exponent(const char *scheme) {
    return strcmp(scheme, "legemm") == 0   ? -24
           : strcmp(scheme, "ootomo") == 0 ? -25
           : strcmp(scheme, "bf16") == 0   ? -149
           : strcmp(scheme, "markidis") == 0 || strcmp(scheme, "egemm") == 0 || strcmp(scheme, "half") == 0 ? -14
                                                                                                            : 0;
}

static void line_measure(struct line *l, int64_t k, const struct range *range, const struct promise *what) {
    double least = what->flushes ? range->flush_least : range->least;
    const double of_small = what->flushes ? range->flush_of_small_rows : range->of_small_rows;
    const int exponent = what->flushes && !what->every_input ? flush_exponent(what->name) : 0;
    l->largest = 0;
    l->is_finite = 1;
    for (int64_t i = 0; i < k; i++) {
        l->is_finite = l->is_finite && isfinite(l->x[i]);
        l->largest = fmax(l->largest, fabs((double)l->x[i]));
    }
    if (of_small > 0 && l->largest < 0x1p-40)
        least = of_small * l->largest;
    least = fmax(least, range->of_largest * l->largest);
    l->in_range = l->is_finite && l->largest <= range->most;
    for (int64_t i = 0; i < k; i++) {
        const double x = fabs((double)l->x[i]);
        l->in_range = l->in_range && !(range->is_strict && !what->flushes && x > 0 && x < least);
        l->counts[i] = x > 0 ? fmax(x, least) : 0;
        l->flushed[i] = exponent < 0 ? flushed_of(x, exponent) : 0;
    }
}

static struct line *lines_make(int64_t count, int64_t k) {
    struct line *lines = calloc((size_t)count, sizeof *lines);
    float *x = malloc((size_t)(count * k) * sizeof *x);
    double *counts = malloc((size_t)(count * k) * 2 * sizeof *counts);
    FUZZ_CHECK(lines != NULL && x != NULL && counts != NULL, "no memory for the fuzzer itself");
    for (int64_t i = 0; i < count; i++) {
        lines[i].x = x + i * k;
        lines[i].counts = counts + 2 * i * k;
        lines[i].flushed = lines[i].counts + k;
    }
    return lines;
}

static void lines_free(struct line *lines) {
    free(lines[0].x);
    free(lines[0].counts);
    free(lines);
}

/* MixPert's A' or B': each element counts as the largest of its tile, from 2^-120 on (section 16). */
static void count_by_tiles(struct line *lines, int64_t count, int64_t k, int64_t rows) {
    enum { TILE_K = 32 };
    for (int64_t i = 0; i < count; i += rows)
        for (int64_t l = 0; l < k; l += TILE_K) {
            double most = 0;
            for (int64_t at = 0; at < rows * TILE_K; at++)
                if (i + at / TILE_K < count && l + at % TILE_K < k)
                    most = fmax(most, fabs((double)lines[i + at / TILE_K].x[l + at % TILE_K]));
            for (int64_t at = 0; at < rows * TILE_K; at++)
                if (i + at / TILE_K < count && l + at % TILE_K < k)
                    lines[i + at / TILE_K].counts[l + at % TILE_K] = most > 0 ? fmax(most, 0x1p-120) : 0;
        }
}

/* ---- one element */

struct element {
    double exact, magnitude; /* the latter as the bound takes it */
    double beside;           /* what may be lost beside it, before alpha */
    double above, below;     /* the positive products added up, and the negative ones */
    float native[4];         /* sums in FP32, in four orders */
};

static void add_native(struct element *e, const struct line *a, const struct line *b, int64_t k) {
    float even = 0, odd = 0;
    memset(e->native, 0, sizeof e->native);
    for (int64_t l = 0; l < k; l++) {
        const float product = a->x[l] * b->x[l];
        e->native[0] = fmaf(a->x[l], b->x[l], e->native[0]);
        e->native[1] += product;
        e->native[2] = fmaf(a->x[k - 1 - l], b->x[k - 1 - l], e->native[2]);
        *(l % 2 ? &odd : &even) += product;
    }
    e->native[3] = even + odd;
}

static struct element element_of(const struct line *a, const struct line *b, int64_t k, const struct range *range,
                                 const struct promise *what) {
    struct element e = {0, 0, 0, 0, 0, {0}};
    double flushed = 0;
    for (int64_t l = 0; l < k; l++) {
        const double product = (double)a->x[l] * (double)b->x[l];
        e.exact += product;
        *(product > 0 ? &e.above : &e.below) += product;
        e.magnitude += a->counts[l] * b->counts[l];
        flushed += a->flushed[l] * fabs((double)b->x[l]) + fabs((double)a->x[l]) * b->flushed[l] + a->flushed[l] * b->flushed[l];
    }
    if (what->plan->fixed_point == OF_ROWS) /* rows below 2^-120 keep an absolute error (section 8) */
        e.magnitude = (double)k * fmax(a->largest, 0x1p-120) * fmax(b->largest, 0x1p-120);
    if (range->has_wide_products)
        e.magnitude += 0x1p-124 * (double)(k / 8 + 1);
    e.beside = flushed + (range->has_wide_products && what->flushes ? 0x1p-119 * (double)k : 0) +
               (what->every_input ? 0x1p-149 * (double)k : 0) + (what->plan->fixed_point == OF_TILES ? 0x1p-128 * (double)(k / 32 + 1) : 0) + e.magnitude * (double)k * 0x1p-52; /* the last: FP64's own */
    return e;
}

static double old_of(const struct problem *p, int64_t entry, int64_t i, int64_t j) {
    return p->beta != 0 ? problem_c(p, entry, i, j) : 0;
}

/* The bound of AB, and of alpha AB + beta C (top of the notes). */
static double room_of_sum(const struct promise *what, const struct element *e) {
    return ldexp((double)what->plan->bound_units * e->magnitude, -24) + e->beside + ldexp((double)what->plan->splits, -150);
}

static double room_of_result(const struct problem *p, const struct promise *what, const struct element *e, double old) {
    return room_of_sum(what, e) * fabs(p->alpha) + ldexp(fabs(p->beta * old), -24) + ldexp(2, -150);
}

static int class_of(double x) {
    return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

static float finish(const struct problem *p, float sum, float old) {
    const float v = (float)p->alpha * sum;
    return p->beta != 0 ? fmaf((float)p->beta, old, v) : v;
}

/* The classes that a sum may have in FP32 where it overflows on the way: in some order all positive products come first, in another all
 * negative ones, and partial sums of both kinds may meet. An Inf that went in stays. */
static int classes_of_orders(const struct problem *p, const struct element *e, double old) {
    const int above = e->above >= (double)FLT_MAX, below = e->below <= -(double)FLT_MAX;
    return (above && !isinf(e->below) ? 1 << class_of((double)finish(p, INFINITY, (float)old)) : 0) |
           (below && !isinf(e->above) ? 1 << class_of((double)finish(p, -INFINITY, (float)old)) : 0) |
           (above && below ? 1 << class_of((double)NAN) : 0);
}

/* Whether NaN or Inf stands where FP32 or the exact result, rounded, has it. */
static int is_as_native(const struct problem *p, struct element *e, const struct line *a, const struct line *b, double old, double room,
                        float got) {
    const double alpha = p->alpha, beta = p->beta, sums[4] = {e->exact, e->exact - room, e->exact + room, fabs(e->exact) <= room ? 0 : e->exact};
    int seen = classes_of_orders(p, e, old);
    add_native(e, a, b, p->k);
    for (int i = 0; i < 4; i++)
        seen |= 1 << class_of((double)finish(p, e->native[i], (float)old));
    for (int i = 0; i < (isfinite(room) ? 4 : 1); i++) {
        const float scaled = (float)(alpha * sums[i]); /* rounded once */
        seen |= 1 << class_of((double)finish(p, (float)sums[i], (float)old));
        seen |= 1 << class_of((double)(p->beta != 0 ? fmaf((float)p->beta, (float)old, scaled) : scaled));
        seen |= 1 << class_of((double)(float)(alpha * sums[i] + (p->beta != 0 ? beta * old : 0)));
    }
    return seen >> class_of((double)got) & 1;
}

static struct worst *worst_of(struct worst worst[TRUTH_SCHEMES], const char *name) {
    int i = 0;
    while (i < TRUTH_SCHEMES - 1 && worst[i].name[0] != '\0' && strcmp(worst[i].name, name) != 0)
        i++;
    strncpy(worst[i].name, name, sizeof worst[i].name - 1);
    return &worst[i];
}

static void check_element(const struct problem *p, const struct promise *what, const struct range *range, const struct line *a,
                          const struct line *b, double old, float got, int64_t at, int64_t index, struct worst *worst) {
    struct element e = element_of(a, b, p->k, range, what);
    const double alpha = p->alpha, beta = p->beta, room = room_of_result(p, what, &e, old);
    const double exact = alpha * e.exact + (p->beta != 0 ? beta * old : 0);
    const double of_product = ldexp((double)what->plan->bound_units * e.magnitude * fabs(alpha), -24);
    const double reach = e.magnitude * 1.02 * fmax(1, fabs(alpha)) + fabs(beta * old);
    const int is_safe = a->is_finite && b->is_finite && isfinite(alpha) && isfinite(beta) && isfinite(old) && reach < (double)FLT_MAX / 2;
    if (what->plan->fixed_point == OF_ROWS && !(a->is_finite && b->is_finite)) {
        FUZZ_CHECK(isnan(got), "%s: element %lld is %a where a row or column has NaN or Inf", what->name, (long long)at, (double)got);
        return;
    }
    if (!is_safe) {
        const int may_overflow = what->plan->fixed_point == OF_TILES && reach >= (double)FLT_MAX / 2; /* scales of tiles multiply to Inf */
        FUZZ_CHECK(!what->every_input || may_overflow || is_as_native(p, &e, a, b, old, room_of_sum(what, &e), got),
                   "%s (%s): element %lld is %a, in FP32 %a, exactly %a", what->name, what->plan->kernel, (long long)at, (double)got,
                   (double)finish(p, e.native[0], (float)old), exact);
        return;
    }
    if (!a->in_range || !b->in_range)
        return;
    const double error = fabs((double)got - exact), share = error / room;
    FUZZ_CHECK(error <= room, "%s (%s): element %lld is %a, not %a: %.4g times the bound of %lld units", what->name, what->plan->kernel,
               (long long)at, (double)got, exact, share, (long long)what->plan->bound_units);
    FUZZ_CHECK(!p->exact || alpha != 1 || p->beta != 0 || (double)got == exact, "%s (%s): element %lld is %a, and exactly %a", what->name,
               what->plan->kernel, (long long)at, (double)got, exact);
    worst->elements++;
    if (share > worst->share && of_product > 0.99 * room) { /* else the roundings of beta C, or of tiny numbers, decide */
        worst->share = share;
        worst->index = index;
    }
}

void truth_check(const struct problem *p, const struct promise *what, const float *c, int64_t index, struct worst worst[TRUTH_SCHEMES]) {
    const struct range *range = range_of(what);
    struct line *const a = lines_make(p->m, p->k), *const b = lines_make(p->n, p->k);
    for (int64_t entry = 0; entry < p->batch; entry++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t l = 0; l < p->k; l++)
                a[i].x[l] = (float)problem_a(p, entry, i, l);
            line_measure(&a[i], p->k, range, what);
        }
        for (int64_t j = 0; j < p->n; j++) {
            for (int64_t l = 0; l < p->k; l++)
                b[j].x[l] = (float)problem_b(p, entry, l, j);
            line_measure(&b[j], p->k, range, what);
        }
        if (what->plan->fixed_point == OF_TILES) {
            count_by_tiles(a, p->m, p->k, 16);
            count_by_tiles(b, p->n, p->k, 8);
        }
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++)
                check_element(p, what, range, &a[i], &b[j], old_of(p, entry, i, j), c[matrix_at(&p->c, entry, i, j)],
                              (entry * p->n + j) * p->m + i, index, worst_of(worst, what->name));
    }
    lines_free(a);
    lines_free(b);
}

void truth_check_scaled(const struct problem *p, const void *c) {
    for (int64_t entry = 0; entry < p->batch; entry++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) {
                const double got = matrix_value(&p->c, c, matrix_at(&p->c, entry, i, j));
                const double scaled = p->beta != 0 ? p->beta * problem_c(p, entry, i, j) : 0, want = p->is_fp64 ? scaled : (double)(float)scaled;
                FUZZ_CHECK(isnan(want) ? isnan(got) : got == want, "scaled: element %lld of entry %lld is %a, not %a",
                           (long long)(j * p->m + i), (long long)entry, got, want);
            }
}

/* ---- how much cancels */

static double norm(const struct line *lines, int64_t count, int64_t k) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t l = 0; l < k; l++)
            sum += (double)lines[i].x[l] * (double)lines[i].x[l];
    return sqrt(sum);
}

static double norm_of_product(const struct problem *p, const struct line *a, const struct line *b) {
    double squares = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++)
            sum += (double)a[i % p->m].x[l] * (double)b[i / p->m].x[l];
        squares += sum * sum;
    }
    return sqrt(squares);
}

/* Four times the promised factor of two, which holds "nearly always"; beyond 10^5 what FP32 leaves of AB decides. */
void truth_check_rho(const struct problem *p, int refused, double rho) {
    enum { FACTOR = 8 };
    const struct halftone_plan no_plan = {0};
    const struct promise what = {"", 1, &no_plan, 0};
    struct line *const a = lines_make(p->m, p->k), *const b = lines_make(p->n, p->k);
    int finite = 1;
    for (int64_t i = 0; i < p->m + p->n; i++) {
        struct line *const line = i < p->m ? &a[i] : &b[i - p->m];
        for (int64_t l = 0; l < p->k; l++)
            line->x[l] = (float)(i < p->m ? problem_a(p, 0, i, l) : problem_b(p, 0, l, i - p->m));
        line_measure(line, p->k, &everything, &what);
        finite = finite && line->is_finite;
    }
    const double of_a = norm(a, p->m, p->k), of_b = norm(b, p->n, p->k), of_ab = norm_of_product(p, a, b);
    const double exact = of_a * of_b > 0 ? of_a * of_b / of_ab : 1;
    lines_free(a);
    lines_free(b);
    FUZZ_CHECK(finite || refused, "rho of matrices with NaN or Inf is %g", rho);
    const double most = exact * (double)FACTOR, least = exact / (double)FACTOR;
    FUZZ_CHECK(refused || !(exact < 1e5) || (rho < most && rho > least), "rho is %g, estimated %g", exact, rho);
    FUZZ_CHECK(!refused || !finite || !(exact < 1e5), "an estimate of rho is refused; norms %a of A, %a of B, %a of AB", of_a, of_b, of_ab);
}
