/* bench/halftone/measure/timing.c with a delay that is only written down: who gets ahead of it counts, who does not is asked again. */
#include <time.h>

#include "../../bench/halftone/measure/delay.h"
#include "../../bench/halftone/measure/timing.h"
#include "../../runtime/ht_abi.h"
#include "../test.h"

const struct ht_set_desc *const ht_sets[] = {NULL}; /* the engine is linked, not used */

enum { DELAYS_MOST = 64 };
static struct {
    unsigned ns[DELAYS_MOST];
    int delays, calls, code;
    long call_ns;
} seen;

int delay_start(unsigned nanoseconds) {
    assert_true(seen.delays < DELAYS_MOST);
    seen.ns[seen.delays++] = nanoseconds;
    return seen.code;
}

static int call(void *context, struct cli_error *f) {
    (void)context, (void)f;
    seen.calls++;
    if (seen.call_ns > 0)
        nanosleep(&(struct timespec){0, seen.call_ns}, NULL);
    return 0;
}

static int measure(int singles, int simulated, long call_ns, struct timing *out) {
    const struct timing_plan plan = {.seconds = 1e-3, .singles = singles, .simulated = simulated};
    struct cli_error f;
    seen.delays = seen.calls = 0;
    seen.call_ns = call_ns;
    return timing_measure(&plan, call, NULL, out, &f);
}

TEST(simulated_is_one_run) {
    struct timing t;
    assert_int_equal(measure(7, 1, 0, &t), 0);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.delays, 0);
    assert_true(t.median_s >= 0 && t.single.median_s == t.median_s && t.single.least_s == t.least_s);
}

TEST(short_calls_are_queued_before_they_start) {
    struct timing_plan plan = {.seconds = 1, .queued = 1};
    struct timing t;
    struct cli_error f;
    seen.delays = seen.calls = 0;
    seen.call_ns = 0;
    assert_int_equal(timing_measure(&plan, call, NULL, &t, &f), 0);
    assert_int_equal(seen.delays, 9); /* batches of 400 calls, 10 us each */
    for (int i = 0; i < seen.delays; i++)
        assert_int_equal(seen.ns[i], 4000000);
    seen.delays = 0;
    seen.call_ns = 200000;
    plan.seconds = 1e-3;
    assert_int_equal(timing_measure(&plan, call, NULL, &t, &f), 0);
    assert_int_equal(seen.delays, 0);
}

TEST(no_singles_unless_asked) {
    struct timing t;
    assert_int_equal(measure(0, 0, 0, &t), 0);
    assert_int_equal(seen.delays, 0);
    assert_true(t.median_s >= 0 && t.single.median_s < 0);
}

TEST(each_single_has_its_delay) {
    struct timing t;
    assert_int_equal(measure(7, 0, 20000, &t), 0);
    assert_true(seen.delays >= 7); /* a busy machine may need more */
    assert_int_equal(seen.ns[0], 100000);
    assert_true(t.single.least_s <= t.single.median_s && t.single.median_s <= t.single.most_s);
    assert_true(t.single.least_s >= 20e-6);
}

TEST(who_is_late_is_asked_again_behind_a_longer_delay) {
    struct timing t;
    assert_int_equal(measure(7, 0, 500000, &t), 0);
    assert_true(seen.delays >= 10); /* 100, 200 and 400 us cannot do */
    for (int i = 0; i < 3; i++)
        assert_true(seen.ns[i + 1] >= 2 * seen.ns[i] - 1 && seen.ns[i + 1] <= 2 * seen.ns[i] + 1);
    assert_true(seen.ns[seen.delays - 7] > 500000);
    assert_true(t.single.median_s >= 500e-6);
}

TEST(without_a_lead_there_is_no_figure) {
    struct timing t;
    assert_int_equal(measure(7, 0, 25000000, &t), 0);
    assert_int_equal(seen.delays, 8); /* 0.1 to 12.8 ms */
    assert_true(t.single.median_s < 0 && t.median_s > 0);
}

TEST(a_failing_delay_is_a_fault) {
    struct timing t;
    seen.code = 1;
    assert_int_equal(measure(7, 0, 0, &t), -1);
    seen.code = 0;
}
