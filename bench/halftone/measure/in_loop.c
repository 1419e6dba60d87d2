/* in_loop: see in_loop.h. */
#include "measure/in_loop.h"

#include "../../../runtime/ht_dev.h"
#include "measure/session.h"
#include "io/progress.h"

enum { CALLS = 128, EVENTS = 2 * CALLS + 1 };

struct loop {
    int (*call)(void *context, int half, struct cli_error *f);
    void *context;
    void *event[EVENTS]; /* before the first half, then behind each half */
    int calls;
};

static int record(const struct loop *l, int event, struct cli_error *f) {
    return session_device_check(ht_dev_event_record(l->event[event], NULL), "timing", f);
}

static int run(const struct loop *l, struct cli_error *f) {
    int status = record(l, 0, f);
    for (int i = 0; i < 2 * l->calls && status == 0; i++) {
        status = l->call(l->context, i % 2, f);
        if (status == 0)
            status = record(l, i + 1, f);
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
    struct loop l = {.call = call, .context = context, .calls = simulated ? 1 : CALLS};
    const double start = progress_clock();
    int status = 0;
    for (int i = 0; i <= 2 * l.calls && status == 0; i++)
        status = session_device_check(ht_dev_event_create(&l.event[i]), "timing", f);
    do
        status = status == 0 ? run(&l, f) : status;
    while (status == 0 && !simulated && progress_clock() - start < warm_up);
    if (status == 0)
        status = run(&l, f);
    if (status == 0)
        status = read_back(&l, seconds, f);
    for (int i = 0; i <= 2 * l.calls; i++)
        if (l.event[i] != NULL)
            (void)ht_dev_event_destroy(l.event[i]);
    return status;
}
