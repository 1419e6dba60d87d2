/* Launches that may begin before the one before them has ended: in the simulator that one always has, so it must notice who relies
 * on it. Streams and graphs with kernels: what waits keeps its arguments and its order, and what a kernel did wrong is said to the thread
 * that ran it. */
#include "kernel_test.h"

#include <limits.h>
#include <thread>
#include "../../runtime/sim/sim_api.h"

enum { THREADS = 64, BLOCKS = 3 };

/* What a kernel does, in this order. */
enum act { END, WAIT, RELEASE, VOUCHED, READ, WRITE, ADD, BLOCK_0 /* only block 0 goes on */ };

struct plan {
    int acts[6];
    int *data;
};

static void perform(const plan p) {
    const unsigned own = blockIdx.x * THREADS + threadIdx.x;
    for (int act : p.acts) {
        if (act == END || (act == BLOCK_0 && blockIdx.x != 0))
            return;
        if (act == WAIT)
            ht_pdl_wait();
        else if (act == RELEASE)
            ht_pdl_trigger();
        else if (act == VOUCHED)
            ht_pdl_assume_complete();
        else if (act == READ)
            (void)ht_ldg_i32(p.data + own);
        else if (act == WRITE)
            ht_stg_i32(p.data + own, 1);
        else if (act == ADD)
            (void)ht_add_relaxed_i32(p.data, 1);
    }
}

static int *numbers() {
    static device_array<int> data(BLOCKS * THREADS);
    return data.v.data();
}

static char streams[64]; /* their addresses */
static int used;

/* A stream in which nothing was launched. */
static void *new_stream() {
    return &streams[used++];
}

static int dependent(void *stream, const plan &p) {
    return ht_launch_dependent(perform, BLOCKS, 1, 1, THREADS, 0, stream, p);
}

#define CAUGHT(launch, part)                                                                                 \
    do {                                                                                                     \
        EXPECT_VIOLATION(launch, part);                                                                      \
        ht_sim_clear_error();                                                                                \
    } while (0)

TEST(behind_the_wait_all_is_allowed) {
    void *stream = new_stream();
    EXPECT_OK(dependent(stream, {{WAIT, RELEASE, READ, WRITE, ADD}, numbers()}));
    EXPECT_OK(dependent(stream, {{RELEASE, WAIT, READ, WRITE, ADD}, numbers()}));
    EXPECT_OK(ht_launch(perform, BLOCKS, 1, 1, THREADS, 0, stream, (plan{{READ, WRITE, ADD}, numbers()}))); /* begins behind all before it */
}

TEST(nothing_is_allowed_before_it) {
    static const char text[] = "before ht_pdl_wait: the launch before this one may still be running; call ht_pdl_wait first";
    void *stream = new_stream();
    const int touches[] = {READ, WRITE, ADD};
    for (int act : touches)
        CAUGHT(dependent(stream, {{act, WAIT}, numbers()}), text);
    CAUGHT(dependent(stream, {{RELEASE, READ, WAIT}, numbers()}), "ht_ldg_i32 before");
}

TEST(somebody_waits) {
    void *stream = new_stream();
    CAUGHT(dependent(stream, {{RELEASE}, numbers()}), "no thread has called ht_pdl_wait");
    EXPECT_OK(dependent(stream, {{BLOCK_0, WAIT, WRITE}, numbers()})); /* the others have nothing to do */
}

TEST(what_was_vouched_for_may_be_read) {
    void *stream = new_stream();
    EXPECT_OK(dependent(stream, {{VOUCHED, READ, WAIT, WRITE}, numbers()})); /* the first launch of all */
    EXPECT_OK(dependent(stream, {{WAIT, RELEASE}, numbers()}));
    EXPECT_OK(dependent(stream, {{VOUCHED, READ, RELEASE, WAIT, WRITE}, numbers()}));
    CAUGHT(dependent(stream, {{VOUCHED}, numbers()}), "released before it waited");
    EXPECT_OK(dependent(stream, {{BLOCK_0, RELEASE, WAIT}, numbers()})); /* the others' end says nothing either */
    CAUGHT(dependent(stream, {{VOUCHED}, numbers()}), "released before it waited");
    EXPECT_OK(dependent(stream, {{WAIT}, numbers()})); /* releases at its end */
    EXPECT_OK(dependent(stream, {{VOUCHED, READ, WAIT}, numbers()}));
    CAUGHT(dependent(stream, {{VOUCHED, WRITE, WAIT}, numbers()}), "ht_stg_i32 before ht_pdl_wait");
    EXPECT_OK(ht_launch(perform, BLOCKS, 1, 1, THREADS, 0, stream, (plan{{RELEASE}, numbers()})));
    EXPECT_OK(dependent(stream, {{VOUCHED, READ, WAIT}, numbers()}));
}

TEST(streams_have_an_order_each) {
    void *one = new_stream(), *other = new_stream();
    EXPECT_OK(dependent(one, {{RELEASE, WAIT}, numbers()}));
    EXPECT_OK(dependent(other, {{WAIT, RELEASE}, numbers()}));
    CAUGHT(dependent(one, {{VOUCHED, WAIT}, numbers()}), "released before it waited");
    EXPECT_OK(dependent(other, {{VOUCHED, READ, WAIT}, numbers()}));
}

/* ---- streams and graphs */

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

ON_MODEL("sm90")
