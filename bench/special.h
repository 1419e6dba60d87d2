/* special: NaN, infinities, the largest numbers and zeros at every place of small products, against native FP32: whether NaN
 * and Inf stand at the same places (ACCURACY.md, contract points 2 and 3). */
#ifndef BENCH_SPECIAL_H
#define BENCH_SPECIAL_H

#include "engine.h"
#include "tsv.h"
#include "yardstick.h"

struct special {
    struct engine *engine;
    struct yardstick *yardstick; /* NULL: native FP32 is the CPU's loop */
    int64_t
        cases_most; /* of one pattern and pair of alpha and beta at 3 x 3 x 3, a tenth of it at larger sizes; more: a sample */
    int64_t single_every; /* each case runs in a batch; one in this many also by itself */
    struct tsv table;
    int64_t cases, differences; /* differences: elements of another class than native FP32's */
};

/* Runs everything for the scheme that is selected in the engine, and fills table, cases, differences. */
int special_run(struct special *s, struct fault *f);
void special_free(struct special *s);

#endif
