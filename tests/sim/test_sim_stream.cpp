/* The simulator's streams and graphs with kernels: what waits keeps its arguments and its order, and what a kernel
 * did wrong is said to the thread that ran it. */
#include "../../runtime/sim/ht_sim.h"

#include <limits.h>
#include <thread>
#include "../../runtime/sim/sim_api.h"
#include "../test.h"

struct step_args {
    int *to;
    int factor, more;
};

/* Not commutative: another order gives another number. */
__global__ void step_kernel(step_args args) {
    ht_stg_i32(args.to, ht_ldg_i32(args.to) * args.factor + args.more);
}

static int launch_step(void *stream, int *to, int factor, int more) {
    const step_args args = {to, factor, more}; /* gone when the caller goes on */
    return ht_launch(step_kernel, 1, 1, 1, 1, 0, stream, args);
}

static int start_test(void **) {
    ht_sim_clear_error();
    return ht_sim_set_model("sm80");
}

TEST(launches_wait_with_their_arguments) {
    int x = 1, first = 0, second = 0;
    assert_int_equal(ht_sim_register(&x, sizeof x), 0);
    assert_int_equal(ht_sim_hold(&first), 0);
    assert_int_equal(launch_step(&first, &x, 10, 1) + launch_step(&first, &x, 10, 2), 0);
    assert_int_equal(x, 1);
    assert_int_equal(launch_step(&second, &x, 2, 0), 0); /* another stream's comes first */
    assert_int_equal(x, 2);
    assert_int_equal(ht_sim_run(&first, 1), 1);
    assert_int_equal(x, 21);
    ht_sim_let_go(&first);
    assert_int_equal(x, 212);
    assert_int_equal(launch_step(&first, &x, 1, 3), 0);
    assert_int_equal(x, 215);
    assert_string_equal(ht_sim_error(), "");
    ht_sim_unregister(&x);
}

TEST(graphs_are_run_again) {
    int x = 1, stream = 0, other = 0;
    assert_int_equal(ht_sim_register(&x, sizeof x), 0);
    assert_int_equal(ht_sim_capture_begin(&stream), 0);
    assert_int_equal(launch_step(&stream, &x, 10, 1) + launch_step(&stream, &x, 10, 2), 0);
    void *const graph = ht_sim_capture_end(&stream);
    assert_true(graph != nullptr && x == 1 && !ht_sim_is_capturing(&stream));
    assert_int_equal(ht_sim_graph_run(graph, &stream), 0);
    assert_int_equal(x, 112);
    assert_int_equal(ht_sim_hold(&other) + ht_sim_graph_run(graph, &other), 0);
    ht_sim_graph_free(graph); /* a replay that was given to a stream needs it no more */
    assert_int_equal(x, 112);
    assert_int_equal(ht_sim_run(&other, LONG_MAX), 2);
    assert_int_equal(x, 11212);
    ht_sim_let_go(&other);
    ht_sim_unregister(&x);
}

/* A thread that has done nothing wrong sees no violation of another's. */
TEST(violations_are_the_launching_thread_s) {
    int x = 1; /* the simulator does not know it */
    std::thread wrong([&x] {
        assert_int_equal(launch_step(nullptr, &x, 2, 0), HT_SIM_VIOLATION);
        assert_string_not_equal(ht_sim_error(), "");
    });
    wrong.join();
    assert_string_equal(ht_sim_error(), "");
    assert_int_equal(ht_sim_hold(&x) + launch_step(&x, &x, 2, 0), 0);
    assert_string_equal(ht_sim_error(), "");
    ht_sim_let_go(&x); /* what waited is said when it runs */
    assert_string_not_equal(ht_sim_error(), "");
    ht_sim_clear_error();
}

int main(int argc, char **argv) {
    each_test.before = start_test;
    return test_main(argc, argv, nullptr, nullptr);
}
