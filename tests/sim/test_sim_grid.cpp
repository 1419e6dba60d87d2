/* Launches that may begin before the one before them has ended: in the simulator that one always has, so it must notice who relies
 * on it. */
#include "../../runtime/sim/ht_sim.h"
#include "../test.h"

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

static int data[BLOCKS * THREADS];
static char streams[64]; /* their addresses */
static int used;

/* A stream in which nothing was launched. */
static void *new_stream() {
    return &streams[used++];
}

static int dependent(void *stream, const plan &p) {
    return ht_launch_dependent(perform, BLOCKS, 1, 1, THREADS, 0, stream, p);
}

static void expect_ok(int code) {
    assert_string_equal(ht_sim_error(), "");
    assert_int_equal(code, 0);
}

static void expect_violation(int code, const char *part) {
    assert_int_equal(code, HT_SIM_VIOLATION);
    if (strstr(ht_sim_error(), part) == nullptr)
        print_error("'%s' is not in: %s\n", part, ht_sim_error());
    assert_non_null(strstr(ht_sim_error(), part));
    ht_sim_clear_error();
}

static int start(void **) {
    ht_sim_register(data, sizeof data);
    ht_sim_clear_error();
    return ht_sim_set_model("sm90");
}

TEST(behind_the_wait_all_is_allowed) {
    void *stream = new_stream();
    expect_ok(dependent(stream, {{WAIT, RELEASE, READ, WRITE, ADD}, data}));
    expect_ok(dependent(stream, {{RELEASE, WAIT, READ, WRITE, ADD}, data}));
    expect_ok(ht_launch(perform, BLOCKS, 1, 1, THREADS, 0, stream, (plan{{READ, WRITE, ADD}, data}))); /* begins behind all before it */
}

TEST(nothing_is_allowed_before_it) {
    static const char text[] = "before ht_pdl_wait: the launch before this one may still be running; call ht_pdl_wait first";
    void *stream = new_stream();
    const int touches[] = {READ, WRITE, ADD};
    for (int act : touches)
        expect_violation(dependent(stream, {{act, WAIT}, data}), text);
    expect_violation(dependent(stream, {{RELEASE, READ, WAIT}, data}), "ht_ldg_i32 before");
}

TEST(somebody_waits) {
    void *stream = new_stream();
    expect_violation(dependent(stream, {{RELEASE}, data}), "no thread has called ht_pdl_wait");
    expect_ok(dependent(stream, {{BLOCK_0, WAIT, WRITE}, data})); /* the others have nothing to do */
}

TEST(what_was_vouched_for_may_be_read) {
    void *stream = new_stream();
    expect_ok(dependent(stream, {{VOUCHED, READ, WAIT, WRITE}, data})); /* the first launch of all */
    expect_ok(dependent(stream, {{WAIT, RELEASE}, data}));
    expect_ok(dependent(stream, {{VOUCHED, READ, RELEASE, WAIT, WRITE}, data}));
    expect_violation(dependent(stream, {{VOUCHED}, data}), "released before it waited");
    expect_ok(dependent(stream, {{BLOCK_0, RELEASE, WAIT}, data})); /* the others' end says nothing either */
    expect_violation(dependent(stream, {{VOUCHED}, data}), "released before it waited");
    expect_ok(dependent(stream, {{WAIT}, data})); /* releases at its end */
    expect_ok(dependent(stream, {{VOUCHED, READ, WAIT}, data}));
    expect_violation(dependent(stream, {{VOUCHED, WRITE, WAIT}, data}), "ht_stg_i32 before ht_pdl_wait");
    expect_ok(ht_launch(perform, BLOCKS, 1, 1, THREADS, 0, stream, (plan{{RELEASE}, data})));
    expect_ok(dependent(stream, {{VOUCHED, READ, WAIT}, data}));
}

TEST(streams_have_an_order_each) {
    void *one = new_stream(), *other = new_stream();
    expect_ok(dependent(one, {{RELEASE, WAIT}, data}));
    expect_ok(dependent(other, {{WAIT, RELEASE}, data}));
    expect_violation(dependent(one, {{VOUCHED, WAIT}, data}), "released before it waited");
    expect_ok(dependent(other, {{VOUCHED, READ, WAIT}, data}));
}

int main(int argc, char **argv) {
    each_test.before = start;
    return test_main(argc, argv, nullptr, nullptr);
}
