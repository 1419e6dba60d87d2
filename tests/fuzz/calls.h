/* calls: what every fuzzer of products does: the call, bits held against another's, and the product once more, to the same bits: by
 * another schedule of the simulator, as a graph, in another floating-point environment, in a child of the process. */
#ifndef TESTS_FUZZ_CALLS_H
#define TESTS_FUZZ_CALLS_H

#include "../../runtime/halftone.h"
#include "problem.h"
#include "truth.h"

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

/* ---- ways.c: what a product may be asked for besides: where results are computed again, how many were, a site's name, matrices in host memory. */

struct ways_totals {
    int64_t counted, again, hosted, sited;
    int64_t inside, blocks; /* plans by which products compute what fails themselves, or blocks of it in a launch of their own */
};

/* Of all products of a case: what the certificate does not clear is computed where the library would, or, whatever the shape, by the product's
 * own warps, by a launch behind it, or by two. Linked with --wrap=ht_fallback_in_kernel,--wrap=ht_pick_blocks. */
void ways_choose_fallback(struct fuzz_rng *r, struct ways_totals *t);

/* All products in two launches behind the product, where the set has both. */
void ways_put_fallback_in_two_launches(struct ways_totals *t);

/* The product under halftone_last_check, and without the certificate: no more results differ from `want` than were counted. */
void ways_check_counted(halftone *h, const struct problem *p, const struct scalars *s, const float *want, struct ways_totals *t);

/* The product by a line of the site table that asks for the scheme or the accuracy ("scheme=NAME"), on a handle that is set otherwise. */
void ways_check_site(halftone *h, struct fuzz_rng *r, const struct problem *p, const char *asks, const struct scalars *s, const float *want,
                     struct ways_totals *t);

/* The first entry of a product in host memory. */
void ways_check_host(halftone *h, struct fuzz_rng *r, const struct problem *p, const struct promise *promise, int64_t index, struct worst worst[TRUTH_SCHEMES],
                     struct ways_totals *t);

#endif
