/* test_metrics: error measures against values worked out by hand, the CPU reference against a plain triple loop, and what
 * `halftone contract --special` says of single results. */

#include <float.h>
#include <math.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../bench/halftone/accuracy/metrics.h"
#include "../../bench/halftone/accuracy/reference.h"
#include "../../bench/halftone/cmd/special_values.h"
#include "../../runtime/ht_abi.h"
#include "../test.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-12 * fabs(b))

/* R = (3, 4, -2, 8), C = (3, 4.5, -2, 7): |C-R| = (0, 1/2, 0, 1); |A||B| = (3, 8, 4, 16). */
static const double exact[4] = {3, 4, -2, 8}, magnitude[4] = {3, 8, 4, 16};
static const float result[4] = {3, 4.5f, -2, 7}, single[4] = {3, 4, -2.5f, 8};
static const struct metrics_truth truth = {4, exact, magnitude, single};

TEST(hand_computed) {
    struct metrics m;
    metrics_compute(&truth, result, &m);
    NEAR(m.rel_frobenius, sqrt(1.25 / 93.0));
    NEAR(m.grade, 0x1p24 / 16.0);  /* both errors are 1/16 of |A||B| */
    NEAR(m.max_error, 1.0 / 15.0); /* |8-7| / (8+7) > 0.5 / 8.5 */
    NEAR(m.mred, (0.5 / 4 + 1.0 / 8) / 4);
    NEAR(m.max_abs, 1.0);
    NEAR(m.max_error_cpu, 0.5 / 4.5); /* -2 against -2.5 */
    NEAR(m.mred_cpu, (0.5 / 4 + 0.5 / 2.5 + 1.0 / 8) / 4);
    NEAR(m.max_abs_cpu, 1.0);
    assert_int_equal(m.wrong_class, 0);
}

TEST(equal_is_zero) {
    struct metrics m;
    const float same[4] = {3, 4, -2, 8};
    metrics_compute(&truth, same, &m);
    assert_true(m.rel_frobenius == 0 && m.grade == 0 && m.max_error == 0 && m.mred == 0 && m.max_abs == 0);
}

/* A NaN, an infinity, or a finite value in the wrong place fails every bound. */
TEST(a_wrong_class_never_passes) {
    const float wrong[3] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        struct metrics m;
        float c[4] = {3, 4, -2, 8};
        c[2] = wrong[i];
        metrics_compute(&truth, c, &m);
        assert_int_equal(m.wrong_class, 1);
        assert_false(m.rel_frobenius <= 1e30 || m.grade <= 1e30 || m.max_error <= 1e30 || m.mred <= 1e30 ||
                     m.max_abs <= 1e30);
        assert_false(m.max_error_cpu <= 1e30 || m.mred_cpu <= 1e30 || m.max_abs_cpu <= 1e30);
    }
    const double special[4] = {NAN, INFINITY, -INFINITY, 1e39}; /* the last overflows FP32 */
    const struct metrics_truth s = {4, special, magnitude, NULL};
    const float right[4] = {NAN, INFINITY, -INFINITY, INFINITY},
                finite[4] = {0, INFINITY, -INFINITY, INFINITY};
    const float swapped[4] = {NAN, -INFINITY, INFINITY, INFINITY};
    struct metrics m;
    metrics_compute(&s, right, &m);
    assert_true(m.wrong_class == 0 && m.rel_frobenius == 0);
    assert_true(isnan(m.max_error_cpu)); /* no CPU result given */
    metrics_compute(&s, finite, &m);
    assert_int_equal(m.wrong_class, 1);
    metrics_compute(&s, swapped, &m);
    assert_int_equal(m.wrong_class, 2);
}

TEST(zero_magnitude) {
    const double zero = 0;
    const struct metrics_truth z = {1, &zero, &zero, NULL};
    const float good = -0.0f, bad = FLT_MIN;
    struct metrics m;
    metrics_compute(&z, &good, &m);
    assert_true(m.grade == 0 && m.rel_frobenius == 0 && m.mred == 0);
    metrics_compute(&z, &bad, &m);
    assert_true(isinf(m.grade) && isinf(m.rel_frobenius) && isinf(m.mred));
}

TEST(histogram) {
    int64_t bins[4];
    /* errors 0, 0.5, 0, -1 over [-1, 1] in bins of 0.5: a value on a border belongs to the right-hand bin */
    NEAR(metrics_histogram(&truth, result, 0, bins, 4), 1.0);
    assert_true(bins[0] == 1 && bins[1] == 0 && bins[2] == 2 && bins[3] == 1);
    NEAR(metrics_histogram(&truth, result, 0.25, bins, 4), 0.25); /* beyond the limit: outermost bins */
    assert_true(bins[0] == 1 && bins[1] == 0 && bins[2] == 2 && bins[3] == 1);
    const float with_nan[4] = {3, NAN, INFINITY, 8};
    metrics_histogram(&truth, with_nan, 0, bins, 4);
    assert_true(bins[0] + bins[1] + bins[2] + bins[3] == 3 && bins[3] == 1);
}

TEST(bitwise) {
    const float a[3] = {0.0f, NAN, 1.0f};
    float b[3];
    memcpy(b, a, sizeof a);
    assert_int_equal(metrics_first_difference(a, b, 3), -1);
    b[0] = -0.0f;
    assert_int_equal(metrics_first_difference(a, b, 3), 0);
}

static const float *at(char trans, const float *x, int64_t ld, int64_t row, int64_t col) {
    return trans == 'N' ? &x[col * ld + row] : &x[row * ld + col];
}

/* Every transpose, odd sizes, ld > extent, sampled rows, one and several threads. */
TEST(reference_against_loop) {
    enum { M = 37, N = 23, K = 129, LD = 140, SIZE = LD * LD };
    float *a = malloc(SIZE * sizeof *a), *b = malloc(SIZE * sizeof *b);
    for (int i = 0; i < SIZE; i++) {
        a[i] = (float)(family_uniform(family_bits(1, 0, 0, (uint64_t)i)) - 0.5);
        b[i] = (float)(family_uniform(family_bits(2, 0, 0, (uint64_t)i)) - 0.5);
    }
    for (int variant = 0; variant < 8; variant++) {
        char ta = variant & 1 ? 'T' : 'N', tb = variant & 2 ? 'T' : 'N';
        struct reference r;
        int64_t rows_most = variant & 4 ? 5 : 0;
        assert_int_equal(reference_make(&r, ta, tb, M, N, K, a, LD, b, LD, rows_most, variant & 4 ? 1 : 3),
                         0);
        assert_true(r.rows == (rows_most ? rows_most : M) && r.cols == N && r.row[r.rows - 1] == M - 1);
        for (int64_t j = 0; j < N; j++)
            for (int64_t s = 0; s < r.rows; s++) {
                double sum = 0, absolute = 0;
                volatile float narrow = 0;
                for (int64_t l = 0; l < K; l++) {
                    float x = *at(ta, a, LD, r.row[s], l), y = *at(tb, b, LD, l, j);
                    volatile float product = x * y;
                    sum += (double)x * (double)y;
                    absolute += fabs((double)x * (double)y);
                    narrow = narrow + product;
                }
                assert_true(r.exact[j * r.rows + s] == sum && r.magnitude[j * r.rows + s] == absolute);
                assert_true(r.single[j * r.rows + s] == narrow);
            }
        reference_free(&r);
    }
    free(a);
    free(b);
}

/* The thread count must not change a bit; k = 0 and empty results are fine. */
TEST(reference_threads_and_empty) {
    enum { N = 90 };
    float *a = malloc(N * N * sizeof *a);
    struct reference one, four, empty;
    family_fill(family_find("normal"), 3, 'A', N, N, N, a, N);
    assert_int_equal(reference_make(&one, 'N', 'T', N, N, N, a, N, a, N, 0, 1), 0);
    assert_int_equal(reference_make(&four, 'N', 'T', N, N, N, a, N, a, N, 0, 4), 0);
    assert_memory_equal(one.exact, four.exact, N * N * sizeof(double));
    assert_memory_equal(one.magnitude, four.magnitude, N * N * sizeof(double));
    assert_memory_equal(one.single, four.single, N * N * sizeof(float));
    reference_free(&one);
    reference_free(&four);
    assert_int_equal(reference_make(&empty, 'N', 'N', 2, 2, 0, a, 2, a, 1, 0, 0), 0);
    assert_true(empty.exact[3] == 0 && empty.single[3] == 0.0f);
    reference_free(&empty);
    assert_int_equal(reference_make(&empty, 'N', 'N', 0, 5, 3, a, 1, a, 3, 0, 0), 0);
    reference_free(&empty);
    free(a);
}

/* ---- special values */

const struct ht_set_desc *const ht_sets[] = {NULL}; /* no kernel is run here */

static const float nan_ = (float)NAN, inf = (float)INFINITY;

/* 1 x 1 x 2: row a, column b. */
static struct special_inputs of(float alpha, float a0, float a1, float b0, float b1, float beta, float c) {
    const float a[2] = {a0, a1}, b[2] = {b0, b1};
    return special_inputs_of(1, 2, 0, alpha, a, b, beta, &c);
}

TEST(nan_and_inf_are_natives) {
    struct special_inputs in = of(1, inf, 1, 1, 1, 0, nan_);
    assert_false(in.finite);
    assert_int_equal(special_values_judge(&in, inf, inf), 0);
    assert_int_equal(special_values_judge(&in, inf, nan_), SPECIAL_DIFFERS);
    assert_int_equal(special_values_judge(&in, nan_, inf), SPECIAL_DIFFERS); /* even where native is the one that is wrong */
    assert_int_equal(special_values_judge(&in, inf, 1), SPECIAL_DIFFERS);
    assert_true(of(1, 1, 1, 1, 1, 0, nan_).finite);     /* C is not read */
    assert_true(of(0, nan_, 1, inf, 1, 1, 1).finite);   /* nor A and B */
    assert_false(of(0, 1, 1, 1, 1, 0.5f, nan_).finite);
}

/* alpha * b overflows, alpha * (a b) does not: the case in which cuBLAS has Inf. */
TEST(an_overflow_on_the_way_is_told_apart) {
    struct special_inputs in = of(-2.5f, 0.25f, 1, FLT_MAX, 1, 0, 0);
    assert_true(in.finite && fabs(in.exact + 0.625 * (double)FLT_MAX + 2.5) < 1e30);
    assert_int_equal(special_values_judge(&in, -inf, -1e38f), SPECIAL_NATIVE_OVERFLOWS);
    assert_int_equal(special_values_judge(&in, -inf, -inf), SPECIAL_NATIVE_OVERFLOWS);
    assert_int_equal(special_values_judge(&in, -1e38f, -inf), SPECIAL_OVERFLOWS);
    assert_int_equal(special_values_judge(&in, -inf, nan_), SPECIAL_OVERFLOWS | SPECIAL_NATIVE_OVERFLOWS);
    in = of(-2.5f, 0.5f, 1, FLT_MAX, 1, 0, 0); /* the result itself overflows */
    assert_int_equal(special_values_judge(&in, -inf, -inf), 0);
    assert_int_equal(special_values_judge(&in, -inf, inf), SPECIAL_OVERFLOWS);
    assert_int_equal(special_values_judge(&in, -1, -inf), SPECIAL_NATIVE_OVERFLOWS);
}

TEST(at_the_end_of_the_range_both_may_be) {
    struct special_inputs in = of(1, 1, 0x1p-25f, FLT_MAX, FLT_MAX, 0, 0); /* half a last bit beyond FLT_MAX */
    assert_int_equal(special_values_judge(&in, inf, FLT_MAX), 0);
    assert_int_equal(special_values_judge(&in, FLT_MAX, inf), 0);
    assert_int_equal(special_values_judge(&in, FLT_MAX, -inf), SPECIAL_OVERFLOWS);
}

/* Row 1 and column 1 of 2 x 2 x 2. */
TEST(an_element_has_its_row_and_column) {
    const float a[4] = {nan_, 2, nan_, 3}, b[4] = {nan_, nan_, 5, 7}, c[4] = {nan_, nan_, nan_, 11};
    const struct special_inputs in = special_inputs_of(2, 2, 3, 2, a, b, 0.5f, c);
    assert_true(in.finite && in.exact == 2 * (2 * 5 + 3 * 7) + 5.5);
}
