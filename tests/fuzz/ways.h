/* ways: what a product may be asked for besides: where results are computed again, how many were, a site's name, matrices in host memory. */
#ifndef TESTS_FUZZ_WAYS_H
#define TESTS_FUZZ_WAYS_H

#include "../../runtime/halftone.h"
#include "calls.h"
#include "fuzz.h"
#include "problem.h"
#include "truth.h"

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
