/* truth: what a result may be. FP64 on the CPU, the published bounds and ranges of the schemes (bench/ACCURACY.md),
 * and what native FP32 gives where numbers are not finite. */
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

/* C where nothing is multiplied: beta C. */
void truth_check_scaled(const struct problem *p, const float *c);

/* An estimate of rho, or that it was refused. Sizes and batch are not 0. */
void truth_check_rho(const struct problem *p, int refused, double rho);

#endif
