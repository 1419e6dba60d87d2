/* truth64: see truth.h. */
#include "truth.h"

#include <math.h>
#include <string.h>

#include "../kernels/exact_sum.h"
#include "../unit/fp64_reference.c"

enum { PRODUCTS_OF_SAMPLES = 100000, LEAST_SAMPLES = 4 };

/* As bits; NaN is NaN. */
static int same(double x, double y) {
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

/* An element of C, what it is made of, and sums in FP64 of it. */
struct element {
    const struct problem *p;
    int64_t entry, i, j;
    struct line64 a, b;
    double old, got;
    double sum, magnitude, base, norms; /* A B; |A||B|; what the bound is of; of section 14, without 2^-L */
    double finite;                      /* |A||B| of finite elements */
    int is_finite;
};

static struct element element_of(const struct problem *p, const struct promise64 *what, const double *c, int64_t entry, int64_t i, int64_t j) {
    struct element e = {p, entry, i, j, problem_row(p, entry, i), problem_column(p, entry, j), p->beta != 0 ? problem_c(p, entry, i, j) : 0, c[matrix_at(&p->c, entry, i, j)], 0, 0, 0, 0, 0, 1};
    double most_a = 0, most_b = 0;
    for (int64_t l = 0; l < p->k; l++) {
        const double x = e.a.at[l * e.a.step], y = e.b.at[l * e.b.step];
        e.is_finite = e.is_finite && isfinite(x) && isfinite(y);
        e.sum += x * y;
        e.magnitude += fabs(x * y);
        e.finite += isfinite(x) && isfinite(y) ? fabs(x * y) : 0;
        most_a = fmax(most_a, fabs(x));
        most_b = fmax(most_b, fabs(y));
    }
    e.base = what->fixed_point ? (double)p->k * most_a * most_b : e.magnitude;
    return e;
}

/* What may be lost for each product, or result, that is subnormal. */
static double least_of(const struct element *e) {
    return ldexp((double)(e->p->k + 4) * fmax(1, fabs(e->p->alpha)), -1074);
}

static double tolerance_of(const struct element *e, const struct promise64 *what) {
    return fabs(e->p->alpha) * (what->error * e->base) * (1 + 0x1p-40) + 0x1p-52 * fabs(e->p->beta * e->old) + least_of(e);
}

/* Whether no arithmetic on the way may overflow. */
static int is_within_range(const struct element *e) {
    return e->is_finite && e->base < 0x1p1020 && fabs(e->p->alpha) * e->base < 0x1p1020 && fabs(e->p->beta * e->old) < 0x1p1020;
}

static void fail_element(const struct element *e, const char *what, double want, double tolerance) {
    fuzz_fail("entry %lld, row %lld, column %lld: %a, %s %a (+- %a), |A||B| %a, C was %a", (long long)e->entry, (long long)e->i, (long long)e->j, e->got,
              what, want, tolerance, e->magnitude, e->old);
}

/* Sums in FP64, of all elements: that nothing is in a wrong place. */
static void check_roughly(const struct element *e, const struct promise64 *what) {
    const double alpha = e->p->alpha, want = alpha * e->sum + (e->p->beta != 0 ? e->p->beta * e->old : 0),
                 tolerance = tolerance_of(e, what) + fabs(alpha) * ((double)(e->p->k + 4) * 0x1p-52 * e->magnitude) + 0x1p-50 * fabs(want);
    if (isfinite(alpha) && isfinite(e->p->beta) && isfinite(e->old) && is_within_range(e) && !(fabs(e->got - want) <= tolerance))
        fail_element(e, "roughly", want, tolerance);
}

static void check_bound(const struct element *e, const struct promise64 *what, int64_t index, struct truth64_totals *totals) {
    const struct problem *p = e->p;
    const double want = exact_dot_product(p->k, p->alpha, e->a.at, e->a.step, e->b.at, e->b.step, p->beta, e->old), tolerance = tolerance_of(e, what);
    if (!isfinite(p->alpha) || !isfinite(p->beta) || !isfinite(e->old) || !e->is_finite) {
        if (what->kind == TRUTH64_BOUND && fmax(1, fabs(p->alpha)) * e->finite < 0x1p1020 && isfinite(p->alpha) && !same(want, e->got))
            fail_element(e, "as IEEE has it", want, 0);
        return;
    }
    if (!is_within_range(e)) {
        totals->undecided++;
        return;
    }
    const double off = fabs(e->got - want) - 0x1p-53 * fabs(want);
    if (!(off <= tolerance))
        fail_element(e, "exactly", want, tolerance);
    if (off / tolerance > totals->worst) {
        totals->worst = off / tolerance;
        totals->worst_index = index;
    }
}

static void check_residues(const struct element *e, int moduli) {
    const struct problem *p = e->p;
    const struct fp64_operand a = {e->a.at, 0, e->a.step}, b = {e->b.at, 0, e->b.step};
    double want = e->old;
    const int code = fp64_reference(moduli, 1, 1, (int)p->k, p->alpha, &a, &b, p->beta, &want, 1);
    FUZZ_CHECK(code == 0, "entry %lld, row %lld, column %lld: the reference ends with %d", (long long)e->entry, (long long)e->i, (long long)e->j, code);
    if (!same(want, e->got))
        fail_element(e, "by the reference", want, 0);
}

/* Slices that do not end give NaN. A B is rounded first where alpha and beta ask for more than a shift. */
static void check_slices(const struct element *e) {
    const struct problem *p = e->p;
    int exponent;
    if (isnan(e->got) || !e->is_finite)
        return;
    const int is_shift = p->beta == 0 && fabs(frexp(p->alpha, &exponent)) == 0.5;
    const double product = exact_dot_product(p->k, is_shift ? p->alpha : 1, e->a.at, e->a.step, e->b.at, e->b.step, 0, 0),
                 want = is_shift ? product : fma(p->alpha, product, p->beta != 0 ? p->beta * e->old : 0);
    if (!same(want, e->got) && !(want == 0 && e->got == 0))
        fail_element(e, "of slices", want, 0);
}

static void check_element(const struct element *e, const struct promise64 *what, int64_t index, struct truth64_totals *totals) {
    const struct problem *p = e->p;
    totals->checked++;
    if (what->kind == TRUTH64_RESIDUES) {
        check_residues(e, what->moduli);
    } else if (what->kind == TRUTH64_EXACT) {
        const double want = exact_dot_product(p->k, p->alpha, e->a.at, e->a.step, e->b.at, e->b.step, p->beta, e->old);
        if (!same(want, e->got))
            fail_element(e, "correctly rounded", want, 0);
    } else if (what->kind == TRUTH64_SLICES_EXACT) {
        check_slices(e);
    } else if (what->kind != TRUTH64_SLICES) {
        check_bound(e, what, index, totals);
    }
}

void truth64_check(const struct problem *p, const struct promise64 *what, const double *c, struct fuzz_rng *r, int64_t index,
                   struct truth64_totals *totals) {
    const int64_t all = p->m * p->n * p->batch, fit = PRODUCTS_OF_SAMPLES / p->k, samples = fit > LEAST_SAMPLES ? fit : LEAST_SAMPLES;
    totals->elements += all;
    for (int64_t entry = 0; entry < p->batch; entry++) {
        for (int64_t j = 0; j < p->n; j++) {
            for (int64_t i = 0; i < p->m; i++) {
                const struct element e = element_of(p, what, c, entry, i, j);
                if (what->kind < TRUTH64_SLICES)
                    check_roughly(&e, what);
                if (fuzz_below(r, all) < samples)
                    check_element(&e, what, index, totals);
            }
        }
    }
}
