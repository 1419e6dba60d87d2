/* timing: how long one asynchronous call takes, alone in an idle device and back to back, with its spread. Knows nothing of
 * what it calls. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include "measure/device_info.h"
#include "io/cli_error.h"

/* Seconds of one call; negative: not measured. */
struct timing_spread {
    double median_s, least_s, most_s;
};

struct timing {
    double median_s, least_s, most_s; /* sustained: over the batches */
    /* One call that the host queued behind a delay, so that no launch waits for it; warm: the same call ran just before.
     * Not measured where there is no delay (bench/halftone/measure/delay.h) or the host never got ahead. */
    struct timing_spread single;
    double clock_mhz, power_watts; /* read while the last batch ran; negative: unknown */
};

enum { TIMING_SINGLES = 9 };

struct timing_plan {
    double seconds; /* sustained measurement, split into equal batches; the warm-up before it is as long, but 2 to 50 ms */
    int singles;    /* single calls before it, at most TIMING_SINGLES; 0: none */
    int queued;     /* batches of calls that are shorter than the host's launches wait until the host has queued them all */
    int simulated;  /* one call, no warm-up: the result, single and sustained, is CPU time of the simulator */
    const struct device_info *facts;
};

extern const struct timing timing_none;

int timing_measure(const struct timing_plan *plan, int (*call)(void *context, struct cli_error *f), void *context,
                   struct timing *out, struct cli_error *f);

/* How long the two halves of a call take in a loop of such calls, by device events between them: at the clock and from the
 * caches that the other half leaves. */
/* half: 0 or 1. seconds: of each, the mean of the calls of one loop, after a loop that warms up for `warm_up` seconds; simulated: one call. */
int in_loop_measure(int (*call)(void *context, int half, struct cli_error *f), void *context, double warm_up, int simulated, double seconds[2],
                   struct cli_error *f);

#endif
