/* again: a product of either type once more, to the same bits: by another schedule of the simulator, as a graph, in another
 * floating-point environment, in a child of the process. */
#ifndef TESTS_FUZZ_AGAIN_H
#define TESTS_FUZZ_AGAIN_H

#include "../../runtime/halftone.h"
#include "matrix.h"

/* A product of a problem's on its handle, into its C; and whether that has the bits that it had. */
typedef int again_multiply(const void *problem, const void *scalars);
typedef void again_check(const void *problem, const void *want, const char *what);

struct again {
    halftone *h;
    again_multiply *multiply;
    again_check *check;
    const void *problem, *scalars;
    const struct matrix *c;
    const void *want;
};

struct again_totals {
    int64_t repeated, captured, elsewhere, forked;
};

/* No result may depend on the schedule of the simulator's warps. */
void again_set_schedule(int64_t seed);

/* Some of these ways, or none. */
void again_run(struct fuzz_rng *r, const struct again *call, struct again_totals *t);

void again_report(const struct again_totals *t);

#endif
