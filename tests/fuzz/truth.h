/* truth: what a result may be, by halftone.h and bench/ACCURACY.md. Of FP32: FP64 on the CPU, the bounds and ranges of the schemes, and what
 * native FP32 gives where numbers are not finite. Of FP64: the bits of the references of residues and digits (tests/unit/fp64_reference.h),
 * exact sums rounded once (tests/kernels/exact_sum.h), or the bound that query names. */
#ifndef TESTS_FUZZ_TRUTH_H
#define TESTS_FUZZ_TRUTH_H

#include <stdint.h>

#include "../../runtime/halftone.h"
#include "problem.h"

enum { TRUTH_SCHEMES = 24 };

/* How close results came to their bounds; one for each scheme that was asked for. */
struct worst {
    char name[24];
    double share;
    int64_t index, elements; /* the case; results that were held against a bound */
};

struct promise {
    const char *name;      /* the scheme, or "auto" */
    int every_input;       /* "auto" and what holds on every input: also NaN, Inf, overflow and underflow */
    const struct halftone_plan *plan;
    int flushes;           /* the matrix unit flushes subnormals */
};

/* Holds c (problem_read_c) against the promise, which is only made where a product is computed. */
void truth_check(const struct problem *p, const struct promise *what, const float *c, int64_t index, struct worst worst[TRUTH_SCHEMES]);

/* Of either type, C where nothing is multiplied: beta C. */
void truth_check_scaled(const struct problem *p, const void *c);

/* An estimate of rho, or that it was refused. Sizes and batch are not 0. */
void truth_check_rho(const struct problem *p, int refused, double rho);

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

void truth64_check(const struct problem *p, const struct promise64 *what, const double *c, struct fuzz_rng *r, int64_t index,
                   struct truth64_totals *totals);

#endif
