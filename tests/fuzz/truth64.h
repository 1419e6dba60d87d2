/* truth64: what a result of FP64 may be, by what halftone.h and bench/ACCURACY.md promise: the bits of the references of residues
 * and digits (tests/unit/fp64_reference.h), exact sums rounded once (tests/kernels/exact_sum.h), or the bound that query names. */
#ifndef TESTS_FUZZ_TRUTH64_H
#define TESTS_FUZZ_TRUTH64_H

#include "../../runtime/halftone.h"
#include "problem64.h"

enum truth64_kind { TRUTH64_BOUND, TRUTH64_BOUND_OF_NORMS, TRUTH64_RESIDUES, TRUTH64_EXACT, TRUTH64_SLICES, TRUTH64_SLICES_EXACT };

struct promise64 {
    enum truth64_kind kind;
    int moduli;        /* of TRUTH64_RESIDUES; FP64_DIGITS: of i8x28 */
    double error;      /* of |A||B|, or of k max|a| max|b| */
    int fixed_point;   /* the latter */
};

struct truth64_totals {
    int64_t elements, checked, undecided; /* of undecided ones arithmetic may overflow on the way */
    double worst;                          /* share of a bound */
    int64_t worst_index;
};

/* Holds c (problem64_read_c) against the promise, which is only made where a product is computed. */
void truth64_check(const struct problem64 *p, const struct promise64 *what, const double *c, struct fuzz_rng *r, int64_t index,
                   struct truth64_totals *totals);
/* C where nothing is multiplied: beta C. */
void truth64_check_scaled(const struct problem64 *p, const double *c);
int truth64_same(double x, double y); /* as bits; NaN is NaN */

#endif
