/* calls: what every fuzzer of products does: the call, bits held against another's, and the product once more, to the same bits: by
 * another schedule of the simulator, as a graph, in another floating-point environment, in a child of the process. */
#ifndef TESTS_FUZZ_CALLS_H
#define TESTS_FUZZ_CALLS_H

#include "../../runtime/halftone.h"
#include "problem.h"

/* Where the call finds its scalars. */
struct scalars {
    int on_device;
    union {
        float fp32[2];
        double fp64[2];
    } host;
    void *device;
};

/* On the device in one of so many cases. device_free takes the memory back. */
struct scalars scalars_make(halftone *h, struct fuzz_rng *r, const struct problem *p, int64_t on_device_one_in);
const void *scalar(const struct problem *p, const struct scalars *s, int i); /* alpha, beta */

void check_code(halftone *h, int code, const char *what);
int multiply(halftone *h, const struct problem *p, const struct scalars *s);
/* All of C's memory, `now` NULL: as it is on the device. NaN of FP64 is NaN. */
void check_bits(const struct problem *p, const void *now, const void *want, const char *what);

/* Operands packed in guarded memory. */
struct packed {
    char *a, *b;
    size_t bytes_a, bytes_b;
};
struct packed packed_make(size_t bytes_a, size_t bytes_b);
void packed_free(const struct packed *x); /* fails where a guard was written */

/* No result may depend on the schedule of the simulator's warps. */
void set_schedule(int64_t seed);

struct again_totals {
    int64_t repeated, captured, elsewhere, forked;
};

/* Some of these ways, or none. */
void again_run(halftone *h, struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const void *want, struct again_totals *t);
void again_report(const struct again_totals *t);

/* hostile.c: calls and questions with arguments that are wrong, held against the codes that halftone.h gives them. */
void hostile_run(halftone *h, struct fuzz_rng *r);

#endif
