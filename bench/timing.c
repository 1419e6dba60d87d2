/* timing: warm-up, then batches of back-to-back calls between device events. See timing.h. */
#include "timing.h"

#include <stdlib.h>

#include "../runtime/ht_dev.h"
#include "engine.h"

enum { BATCHES = 9, CALLS_MOST = 100000 };
#define WARM_UP_SECONDS 0.05

const struct timing timing_none = {-1, -1, -1, -1, -1};

struct clockwork {
    void *start, *end; /* device events */
};

static int time_batch(const struct clockwork *w, int (*call)(void *, struct fault *), void *context,
                      int calls, const struct device_facts *facts, struct timing *out, double *seconds,
                      struct fault *f) {
    double ms = 0;
    if (engine_device_check(ht_dev_event_record(w->start, NULL), "timing", f) != 0)
        return -1;
    for (int i = 0; i < calls; i++)
        if (call(context, f) != 0)
            return -1;
    if (engine_device_check(ht_dev_event_record(w->end, NULL), "timing", f) != 0)
        return -1;
    if (out != NULL) { /* the queue is still busy: what is read now belongs to this call */
        out->clock_mhz = facts_clock_mhz(facts);
        out->power_watts = facts_power_watts(facts);
    }
    if (engine_device_check(ht_dev_event_elapsed_ms(w->start, w->end, &ms), "timing", f) != 0)
        return -1;
    *seconds = ms / 1000.0 / calls;
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Doubles the calls until the warm-up is long enough to be believed; *once: seconds of one call. */
static int warm_up(const struct clockwork *w, int (*call)(void *, struct fault *), void *context,
                   double *once, struct fault *f) {
    for (int calls = 1;; calls *= 2) {
        if (time_batch(w, call, context, calls, NULL, NULL, once, f) != 0)
            return -1;
        if ((calls >= 4 && *once * calls >= WARM_UP_SECONDS) || calls >= CALLS_MOST / 2)
            return 0;
    }
}

static int measure(const struct clockwork *w, const struct timing_plan *plan,
                   int (*call)(void *, struct fault *), void *context, struct timing *out, struct fault *f) {
    double seconds[BATCHES], once = 0;
    int batches = plan->simulated ? 1 : BATCHES, calls = 1;
    if (!plan->simulated) {
        if (warm_up(w, call, context, &once, f) != 0)
            return -1;
        double wanted = once > 0 ? plan->seconds / BATCHES / once + 1.0 : CALLS_MOST;
        calls = wanted < CALLS_MOST ? (int)wanted : CALLS_MOST;
    }
    for (int i = 0; i < batches; i++)
        if (time_batch(w, call, context, calls, plan->facts, i + 1 == batches ? out : NULL, &seconds[i], f) !=
            0)
            return -1;
    qsort(seconds, (size_t)batches, sizeof seconds[0], compare);
    out->least_s = seconds[0];
    out->median_s = seconds[batches / 2];
    out->most_s = seconds[batches - 1];
    return 0;
}

int timing_measure(const struct timing_plan *plan, int (*call)(void *context, struct fault *f), void *context,
                   struct timing *out, struct fault *f) {
    struct clockwork w = {NULL, NULL};
    *out = timing_none;
    int status = engine_device_check(ht_dev_event_create(&w.start), "timing", f);
    if (status == 0)
        status = engine_device_check(ht_dev_event_create(&w.end), "timing", f);
    if (status == 0)
        status = measure(&w, plan, call, context, out, f);
    (void)ht_dev_event_destroy(w.start);
    (void)ht_dev_event_destroy(w.end);
    return status;
}
