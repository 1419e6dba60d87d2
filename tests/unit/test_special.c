/* test_special: what `halftone contract --special` says of single results. */

#include <float.h>
#include <math.h>

#include "../../bench/halftone/cmd/special_values.h"
#include "../../runtime/ht_abi.h"
#include "../test.h"

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

int main(int argc, char **argv) {
    return test_main(argc, argv, NULL, NULL);
}
