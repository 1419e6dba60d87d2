/* again: a product of either type once more: by another schedule of the simulator, and as a graph. */
#ifndef TESTS_FUZZ_AGAIN_H
#define TESTS_FUZZ_AGAIN_H

#include "../../runtime/halftone.h"
#include "matrix.h"

/* A product of the problem's on the handle, into its C; and whether that has the bits that it had. */
typedef int again_multiply(const void *problem, const void *scalars);
typedef void again_check(const void *problem, const void *want, const char *what);

/* No result may depend on the schedule of the simulator's warps. */
void again_set_schedule(int64_t seed);

/* As a graph that is run twice: with whatever the handle keeps for the stream, or has not yet. */
void again_captured(halftone *h, again_multiply *multiply, again_check *check, const void *problem, const void *scalars, const struct matrix *c,
                    const void *want);

#endif
