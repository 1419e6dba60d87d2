/* timing: how long one asynchronous call takes when it runs back to back, with its spread. Knows nothing of
 * what it calls. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include "facts.h"
#include "fault.h"

struct timing {
    double median_s, least_s, most_s; /* of one call, over the batches; negative: not measured */
    double clock_mhz, power_watts;    /* read while the last batch ran; negative: unknown */
};

struct timing_plan {
    double seconds; /* sustained measurement, split into equal batches */
    int simulated;  /* one call, no warm-up: the result is CPU time of the simulator */
    const struct device_facts *facts;
};

extern const struct timing timing_none;

int timing_measure(const struct timing_plan *plan, int (*call)(void *context, struct fault *f), void *context,
                   struct timing *out, struct fault *f);

#endif
