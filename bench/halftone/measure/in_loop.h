/* in_loop: how long the two halves of a call take in a loop of such calls, by device events between them: at the clock and from the caches
 * that the other half leaves. */
#ifndef BENCH_IN_LOOP_H
#define BENCH_IN_LOOP_H

#include "io/cli_error.h"

/* half: 0 or 1. seconds: of each, the mean of the calls of one loop, after a loop that warms up for `warm_up` seconds; simulated: one call. */
int in_loop_measure(int (*call)(void *context, int half, struct cli_error *f), void *context, double warm_up, int simulated, double seconds[2],
                   struct cli_error *f);

#endif
