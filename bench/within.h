/* within: how long the two halves of a call take in a loop of such calls, by device events between them: at the clock and from the caches
 * that the other half leaves. */
#ifndef BENCH_WITHIN_H
#define BENCH_WITHIN_H

#include "fault.h"

/* half: 0 or 1. seconds: of each, the mean of the calls of one loop, after a loop that warms up for `warm_up` seconds; simulated: one call. */
int within_measure(int (*call)(void *context, int half, struct fault *f), void *context, double warm_up, int simulated, double seconds[2],
                   struct fault *f);

#endif
