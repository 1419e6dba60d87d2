/* timing: single calls behind a delay, then a warm-up and batches of back-to-back calls, all between device events. See
 * timing.h. */
#define _POSIX_C_SOURCE 200809L
#include "measure/timing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "../../../runtime/ht_dev.h"
#include "measure/delay.h"
#include "measure/session.h"
#include "io/progress.h"

enum { BATCHES = 9, CALLS_MOST = 100000, WARM_CALLS = 3 };
/* No longer than the measurement, but 2 ms: of short ones it would be nearly all the time. */
#define WARM_UP_SECONDS 0.05
#define WARM_UP_LEAST 2e-3
#define DELAY_FIRST 100e-6
#define DELAY_MOST 20e-3
/* Before single calls that take so long: the clock stays where a heavy load has left it for some tens of milliseconds
 * (bench/decisions/048: single calls at 2048 to 3072 were as slow as the sustained ones before them, up to 18 %). */
#define REST_SECONDS 0.1
#define REST_CALL 50e-6
/* Below this the host's pace may decide; what it needs for a call at most; calls that a stream takes without waiting. */
#define HOST_BOUND 12e-6
#define HOST_CALL 10e-6
enum { QUEUE_MOST = 400 };

const struct timing timing_none = {-1, -1, -1, {-1, -1, -1}, -1, -1};

struct clockwork {
    void *start, *end; /* device events */
};

struct batch {
    int calls;
    double delay; /* seconds for which it is held back; 0: not */
    int ahead;    /* by then the host had queued all of it */
};

static int time_batch(const struct clockwork *w, int (*call)(void *, struct cli_error *), void *context, struct batch *b,
                      const struct device_info *facts, struct timing *out, double *seconds, struct cli_error *f) {
    const double start = progress_clock();
    double ms = 0;
    if (b->delay > 0 && delay_start((unsigned)(b->delay * 1e9)) != 0)
        return cli_error_set(f, "timing: the delay kernel did not start");
    if (session_device_check(ht_dev_event_record(w->start, NULL), "timing", f) != 0)
        return -1;
    for (int i = 0; i < b->calls; i++)
        if (call(context, f) != 0)
            return -1;
    if (session_device_check(ht_dev_event_record(w->end, NULL), "timing", f) != 0)
        return -1;
    b->ahead = progress_clock() - start < b->delay;
    if (out != NULL) { /* the queue is still busy: what is read now belongs to this call */
        out->clock_mhz = device_info_clock_mhz(facts);
        out->power_watts = device_info_power_watts(facts);
    }
    if (session_device_check(ht_dev_event_elapsed_ms(w->start, w->end, &ms), "timing", f) != 0)
        return -1;
    *seconds = ms / 1000.0 / b->calls;
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double warm_up_seconds(const struct timing_plan *plan) {
    const double most = plan->seconds < WARM_UP_SECONDS ? plan->seconds : WARM_UP_SECONDS;
    return most > WARM_UP_LEAST ? most : WARM_UP_LEAST;
}

/* Doubles the calls until the warm-up is long enough to be believed; *once: seconds of one call. */
static int warm_up(const struct clockwork *w, double least, int (*call)(void *, struct cli_error *), void *context,
                   double *once, struct cli_error *f) {
    for (int calls = 1;; calls *= 2) {
        struct batch b = {calls, 0, 0};
        if (time_batch(w, call, context, &b, NULL, NULL, once, f) != 0)
            return -1;
        if ((calls >= 4 && *once * calls >= least) || calls >= CALLS_MOST / 2)
            return 0;
    }
}

static struct timing_spread spread_of(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof seconds[0], compare);
    return (struct timing_spread){seconds[count / 2], seconds[0], seconds[count - 1]};
}

/* Idle between single calls for three times as long as one takes, so that neither power nor heat of one slows the next; at
 * least 2 ms, at most 50. */
static double pause_after(double seconds) {
    return 3 * seconds < 2e-3 ? 2e-3 : 3 * seconds < 50e-3 ? 3 * seconds : 50e-3;
}

/* Less than a second. */
static void idle(double seconds) {
    nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL);
}

/* Repeats what the host was too slow for with twice the delay; gives up, without a result, where that does not help. */
static int measure_singles(const struct clockwork *w, int wanted, int (*call)(void *, struct cli_error *),
                           void *context, struct timing_spread *out, struct cli_error *f) {
    double seconds[TIMING_SINGLES], once = 0;
    struct batch warm = {WARM_CALLS, 0, 0}, b = {1, DELAY_FIRST, 0};
    int count = 0;
    if (delay_start == NULL || wanted == 0)
        return 0;
    if (time_batch(w, call, context, &warm, NULL, NULL, &once, f) != 0)
        return -1;
    if (once >= REST_CALL)
        idle(REST_SECONDS);
    while (count < wanted && b.delay <= DELAY_MOST) {
        idle(pause_after(once));
        if (time_batch(w, call, context, &b, NULL, NULL, &seconds[count], f) != 0)
            return -1;
        count += b.ahead;
        b.delay *= b.ahead ? 1 : 2;
    }
    if (count == wanted)
        *out = spread_of(seconds, count);
    return 0;
}

static int measure(const struct clockwork *w, const struct timing_plan *plan,
                   int (*call)(void *, struct cli_error *), void *context, struct timing *out, struct cli_error *f) {
    double seconds[BATCHES], once = 0;
    struct batch b = {1, 0, 0};
    const int batches = plan->simulated ? 1 : BATCHES;
    if (!plan->simulated) {
        if (measure_singles(w, plan->singles, call, context, &out->single, f) != 0)
            return -1;
        if (warm_up(w, warm_up_seconds(plan), call, context, &once, f) != 0)
            return -1;
        double wanted = once > 0 ? plan->seconds / (double)BATCHES / once + 1.0 : (double)CALLS_MOST;
        const bool queued = plan->queued && delay_start != NULL && once < HOST_BOUND;
        const int most = queued ? QUEUE_MOST : CALLS_MOST;
        b.calls = wanted < most ? (int)wanted : most;
        b.delay = queued ? b.calls * HOST_CALL : 0;
    }
    for (int i = 0; i < batches; i++)
        if (time_batch(w, call, context, &b, plan->facts, i + 1 == batches ? out : NULL, &seconds[i], f) != 0)
            return -1;
    const struct timing_spread sustained = spread_of(seconds, batches);
    out->least_s = sustained.least_s;
    out->median_s = sustained.median_s;
    out->most_s = sustained.most_s;
    if (plan->simulated)
        out->single = sustained;
    return 0;
}

int timing_measure(const struct timing_plan *plan, int (*call)(void *context, struct cli_error *f), void *context,
                   struct timing *out, struct cli_error *f) {
    struct clockwork w = {NULL, NULL};
    *out = timing_none;
    int status = session_device_check(ht_dev_event_create(&w.start), "timing", f);
    AND_THEN(status, session_device_check(ht_dev_event_create(&w.end), "timing", f));
    AND_THEN(status, measure(&w, plan, call, context, out, f));
    (void)ht_dev_event_destroy(w.start);
    (void)ht_dev_event_destroy(w.end);
    return status;
}

/* ---- a call in a loop, in two */

enum { LOOP_CALLS = 128, LOOP_EVENTS = 2 * LOOP_CALLS + 1 };

struct loop {
    int (*call)(void *context, int half, struct cli_error *f);
    void *context;
    void *event[LOOP_EVENTS]; /* before the first half, then behind each half */
    int calls;
};

static int record_half(const struct loop *l, int event, struct cli_error *f) {
    return session_device_check(ht_dev_event_record(l->event[event], NULL), "timing", f);
}

static int run_loop(const struct loop *l, struct cli_error *f) {
    int status = record_half(l, 0, f);
    for (int i = 0; i < 2 * l->calls && status == 0; i++) {
        status = l->call(l->context, i % 2, f);
        AND_THEN(status, record_half(l, i + 1, f));
    }
    return status == 0 ? session_device_check(ht_dev_stream_sync(NULL), "timing", f) : -1;
}

static int read_back(const struct loop *l, double *seconds, struct cli_error *f) {
    seconds[0] = seconds[1] = 0;
    for (int i = 0; i < 2 * l->calls; i++) {
        double ms;
        if (session_device_check(ht_dev_event_elapsed_ms(l->event[i], l->event[i + 1], &ms), "timing", f) != 0)
            return -1;
        seconds[i % 2] += ms / 1000 / l->calls;
    }
    return 0;
}

int in_loop_measure(int (*call)(void *context, int half, struct cli_error *f), void *context, double warm_up, int simulated, double seconds[2],
                   struct cli_error *f) {
    struct loop l = {.call = call, .context = context, .calls = simulated ? 1 : LOOP_CALLS};
    const double start = progress_clock();
    int status = 0;
    for (int i = 0; i <= 2 * l.calls && status == 0; i++)
        status = session_device_check(ht_dev_event_create(&l.event[i]), "timing", f);
    do
        status = status == 0 ? run_loop(&l, f) : status;
    while (status == 0 && !simulated && progress_clock() - start < warm_up);
    AND_THEN(status, run_loop(&l, f));
    AND_THEN(status, read_back(&l, seconds, f));
    for (int i = 0; i <= 2 * l.calls; i++)
        if (l.event[i] != NULL)
            (void)ht_dev_event_destroy(l.event[i]);
    return status;
}
