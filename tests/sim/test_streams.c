/* test_streams: one handle on several streams, and graphs, with real kernels in the simulator, where the
 * test decides which stream gets on and when. All results must have the bits of a plain call. What only a
 * GPU can show: graph.c. */
#include <limits.h>
#include <sys/mman.h>

#include "../../runtime/halftone.h"
#include "../../runtime/ht_call.h"
#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/cuda/cuda_runtime_api.h"
#include "../../runtime/sim/sim_api.h"
#include "../kernels/handle.h"
#include "../test.h"

enum { M = 70, N = 20, K = 70, C_BYTES = M * N * (int)sizeof(float), WILD = 100 };

/* One product on a stream of its own. */
struct lane {
    void *stream;
    float *a, *b, *c;
    float expected[M * N];
};

/* Elements of one binade with either sign; from seed WILD on of forty, which fail the data check. */
static void fill(float *x, int count, unsigned seed) {
    uint64_t state = seed;
    for (int i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        float v = 1.0f + (float)(state >> 40) * 0x1p-24f;
        for (unsigned e = (unsigned)(state >> 33) % 40; seed >= WILD && e > 0; e--)
            v *= 0.5f;
        x[i] = state >> 63 ? v : -v;
    }
}

static float *device_floats(int count) {
    return kept_on_device((size_t)count * sizeof(float));
}

static int call(halftone *h, const struct lane *l) {
    const float one = 1, zero = 0;
    return halftone_sgemm(h, 'N', 'N', M, N, K, &one, l->a, M, l->b, K, &zero, l->c, M);
}

static void drop_handle(void *h) {
    OK(halftone_destroy(h));
}

/* The default scheme by a kernel that packs and checks its data, whatever the shape. */
static halftone *open_handle(int source) {
    halftone *h = NULL;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    keep(h, drop_handle);
    const struct ht_set_desc *set = set_of_handle();
    for (int i = 0; i < set->kernels; i++) {
        if (strcmp(set->kernel[i].scheme, "f16x3") != 0 || set->kernel[i].variant[0] != '\0')
            continue;
        assert_int_equal(halftone_set_kernel(h, set->kernel[i].name), HALFTONE_OK);
        assert_int_equal(halftone_set_workspace_source(h, source), HALFTONE_OK);
        return h;
    }
    fail_msg("no kernel of f16x3");
    return NULL;
}

/* New data, and what they give by a plain call of another handle, made once for each seed. C becomes NaN. */
static void lane_fill(struct lane *l, unsigned seed) {
    static float known[2 * WILD][M * N];
    static bool is_known[2 * WILD];
    fill(l->a, M * K, seed);
    fill(l->b, K * N, seed + 50);
    if (!is_known[seed]) {
        halftone *plain = open_handle(HALFTONE_OWN);
        assert_int_equal(call(plain, l), HALFTONE_OK);
        memcpy(known[seed], l->c, C_BYTES);
        assert_true(l->c[0] == l->c[0]);
        is_known[seed] = true;
    }
    memcpy(l->expected, known[seed], C_BYTES);
    memset(l->c, 0xff, C_BYTES);
}

static void drop_stream(void *stream) {
    OK(ht_dev_stream_destroy(stream));
}

static void *kept_stream(void) {
    void *stream = NULL;
    OK(ht_dev_stream_create(&stream));
    return keep(stream, drop_stream);
}

static void lane_open(struct lane *l, unsigned seed) {
    l->stream = kept_stream();
    l->a = device_floats(M * K);
    l->b = device_floats(K * N);
    l->c = device_floats(M * N);
    lane_fill(l, seed);
}

static void lane_expect(struct lane *l, const char *what) {
    assert_string_equal(ht_sim_error(), "");
    if (memcmp(l->c, l->expected, C_BYTES) != 0)
        fail_msg("%s: not the bits of the plain call", what);
    memset(l->c, 0xff, C_BYTES);
}

static void call_on(halftone *h, struct lane *l) {
    assert_int_equal(halftone_set_stream(h, l->stream), HALFTONE_OK);
    check_code(call(h, l), "call");
}

/* After each piece of the first stream's work all of the second's. */
static void interleave(halftone *h, struct lane *first, struct lane *second) {
    long pieces = 1;
    for (long before = 0; before <= pieces; before++) {
        assert_int_equal(ht_sim_hold(first->stream) + ht_sim_hold(second->stream), 0);
        call_on(h, first);
        call_on(h, second);
        const long done = ht_sim_run(first->stream, before);
        assert_true(ht_sim_run(second->stream, LONG_MAX) >= 2);
        pieces = done + ht_sim_run(first->stream, LONG_MAX);
        assert_true(pieces >= 2);
        lane_expect(first, "the stream that waited");
        lane_expect(second, "the stream between");
        ht_sim_let_go(first->stream);
        ht_sim_let_go(second->stream);
    }
}

TEST(test_one_handle_on_two_streams) {
    static struct lane first, second;
    lane_open(&first, 1);
    lane_open(&second, 2);
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++) {
        halftone *h = open_handle(source);
        interleave(h, &first, &second);
        lane_fill(&first, WILD); /* flags, counts and the fallback of one stream are none of the other's */
        interleave(h, &first, &second);
        interleave(h, &second, &first);
        lane_fill(&first, 1);
        assert_int_equal(halftone_trim(h), HALFTONE_OK);
        interleave(h, &first, &second);
    }
}

static void *captured(halftone *h, struct lane *l) {
    assert_int_equal(ht_sim_capture_begin(l->stream), 0);
    call_on(h, l);
    void *const graph = ht_sim_capture_end(l->stream);
    assert_non_null(graph);
    assert_true(l->c[0] != l->c[0]); /* nothing has run */
    return graph;
}

/* Replays with data that pass the check and that do not, in turn: a flag of an older replay changes no
 * bit. */
static void replay(void *graph, struct lane *l, const char *what) {
    static const unsigned seeds[] = {3, WILD, 4, WILD + 1, WILD + 2, 5, 5};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        lane_fill(l, seeds[i]);
        assert_int_equal(ht_sim_graph_run(graph, l->stream), 0);
        lane_expect(l, what);
    }
}

TEST(test_the_first_call_may_be_captured) {
    static struct lane l, other;
    lane_open(&l, 1);
    lane_open(&other, 2);
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++) {
        const size_t before = kept_count;
        halftone *h = open_handle(source);
        void *const graph = captured(h, &l), *const second = captured(h, &other);
        replay(graph, &l, "replay");
        call_on(h, &l);
        lane_expect(&l, "a call behind replays");
        assert_int_equal(halftone_trim(h), HALFTONE_OK);
        replay(graph, &l, "replay after trim");
        drop_kept(before);
        replay(graph, &l, "replay without the handle"); /* its memory is the graph's */
        ht_sim_graph_free(graph);
        lane_fill(&other, 6);
        replay(second, &other, "replay after another graph is gone");
        ht_sim_graph_free(second);
    }
}

/* Of a product that asks a sample of its data each replay asks anew: one begins with what the product would leave, the next does not. */
TEST(test_each_replay_asks_its_own_sample) {
    enum { ROWS = 130, COLS = 75, DEPTH = 1030, BYTES = ROWS * COLS * (int)sizeof(float) };
    static const bool scaled[] = {false, true, false, false, true}; /* columns of A and rows of B, against one another */
    const float one = 1, zero = 0;
    float *const a = device_floats(ROWS * DEPTH), *const b = device_floats(DEPTH * COLS), *const c = device_floats(ROWS * COLS), *const want = kept(BYTES);
    void *const stream = kept_stream();
    struct ht_set_desc few;
    size_t bytes = 0;
    halftone *h = NULL;
    assert_int_equal(halftone_create(&h), HALFTONE_OK);
    keep(h, drop_handle);
    sampling_set(&few, h->half[0].set, 1);
    h->half[0].set = &few;
    check_code(halftone_workspace_bytes(h, 'N', 'N', ROWS, COLS, DEPTH, 1, &bytes), "workspace bytes");
    char *const workspace = kept_on_device(bytes);
    const int *const told = (const int *)(const void *)(workspace + 3 * FLAG_BYTES);
    check_code(halftone_set_workspace(h, workspace, bytes), "workspace");
    assert_int_equal(halftone_set_stream(h, stream) + ht_sim_capture_begin(stream), 0);
    check_code(halftone_sgemm(h, 'N', 'N', ROWS, COLS, DEPTH, &one, a, ROWS, b, DEPTH, &zero, c, ROWS), "captured");
    void *const graph = ht_sim_capture_end(stream);
    assert_non_null(graph);
    for (unsigned i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        fill(a, ROWS * DEPTH, i);
        fill(b, DEPTH * COLS, i + 50);
        for (int at = 0; scaled[i] && at < ROWS * DEPTH; at++)
            a[at] *= at / ROWS % 2 ? 0x1p-20f : 0x1p20f;
        for (int at = 0; scaled[i] && at < DEPTH * COLS; at++)
            b[at] *= at % DEPTH % 2 ? 0x1p20f : 0x1p-20f;
        check_code(halftone_sgemm(h, 'N', 'N', ROWS, COLS, DEPTH, &one, a, ROWS, b, DEPTH, &zero, c, ROWS), "plain");
        memcpy(want, c, BYTES);
        memset(c, 0xff, BYTES);
        memset(workspace, 0xff, bytes);
        assert_int_equal(ht_sim_graph_run(graph, stream), 0);
        assert_string_equal(ht_sim_error(), "");
        assert_memory_equal(c, want, BYTES);
        assert_int_equal(told[0], scaled[i] ? HT_SAMPLE_ALL : 0);
    }
    ht_sim_graph_free(graph);
}

TEST(test_replays_on_the_handle_s_block) {
    static struct lane l, other;
    lane_open(&l, 1);
    lane_open(&other, 2);
    halftone *h = open_handle(HALFTONE_OWN);
    call_on(h, &l);
    lane_expect(&l, "plain");
    void *const graph = captured(h, &l);
    replay(graph, &l, "replay");
    assert_int_equal(ht_sim_hold(l.stream) + ht_sim_graph_run(graph, l.stream), 0);
    for (long before = 1; before < 3; before++) { /* another stream's calls come between */
        assert_int_equal(ht_sim_run(l.stream, 1), 1);
        call_on(h, &other);
        lane_expect(&other, "a call within a replay");
    }
    ht_sim_let_go(l.stream);
    lane_expect(&l, "replay with calls between");
    ht_sim_graph_free(graph);
}

/* A call that needs more of the handle's own memory than the lanes do. */
static void larger_call(halftone *h, void *stream, int m) {
    const float one = 1, zero = 0;
    const size_t before = kept_count;
    float *const a = device_floats(m * K), *const b = device_floats(K * m), *const c = device_floats(m * m);
    memset(a, 0, (size_t)(m * K) * sizeof *a);
    memset(b, 0, (size_t)(K * m) * sizeof *b);
    assert_int_equal(halftone_set_stream(h, stream), HALFTONE_OK);
    check_code(halftone_sgemm(h, 'N', 'N', m, m, K, &one, a, m, b, K, &zero, c, m), "a larger call");
    drop_kept(before);
}

/* The handle's own block is outgrown once and again: a graph that captured a call on it goes on writing there, and nobody
 * else gets it. */
TEST(test_replays_behind_a_larger_call) {
    static struct lane l;
    unsigned char *others[4];
    size_t bytes = 0;
    lane_open(&l, 1);
    halftone *h = open_handle(HALFTONE_OWN);
    assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', M, N, K, 1, &bytes), HALFTONE_OK);
    call_on(h, &l);
    lane_expect(&l, "plain");
    void *const graph = captured(h, &l);
    for (int size = 140; size <= 280; size += 70) {
        const size_t before = kept_count;
        larger_call(h, l.stream, size);
        for (int i = 0; i < 4; i++) {
            others[i] = kept_on_device(bytes);
            memset(others[i], 0x5a, bytes);
        }
        replay(graph, &l, "replay behind a larger call");
        for (int i = 0; i < 4; i++)
            for (size_t at = 0; at < bytes; at++)
                assert_int_equal(others[i][at], 0x5a);
        drop_kept(before);
    }
    ht_sim_graph_free(graph);
}

/* Whatever a workspace holds: NaN, ones, which are the first call's epoch in both flags, or -1, an
 * exchange that is reset. */
TEST(test_poisoned_workspaces) {
    static struct lane l;
    static const int poison[] = {-1, 1, 2, 0x7fffffff};
    size_t bytes = 0;
    lane_open(&l, 1);
    for (int outside = 0; outside < 2; outside++)
        for (size_t i = 0; i < sizeof poison / sizeof *poison; i++) {
            halftone *h = open_handle(HALFTONE_OWN);
            lane_fill(&l, outside ? WILD : 1);
            assert_int_equal(halftone_workspace_bytes(h, 'N', 'N', M, N, K, 1, &bytes), HALFTONE_OK);
            int *const block = kept_on_device(bytes);
            for (size_t j = 0; j < bytes / sizeof(int); j++)
                block[j] = poison[i];
            assert_int_equal(halftone_set_workspace(h, block, bytes), HALFTONE_OK);
            call_on(h, &l);
            lane_expect(&l, "a poisoned workspace");
        }
}

/* An FP64 operand must be known for its products, so that a capture makes it known, unlike one of FP32. */
TEST(test_what_a_graph_packs_of_fp64_is_known) {
    enum { SIZE = 8 };
    const double one = 1, zero = 0;
    size_t bytes = 0;
    halftone *h = open_handle(HALFTONE_OWN);
    if (halftone_set_scheme(h, "crt14") == HALFTONE_OK) {
        check_code(halftone_dpacked_bytes(h, 'A', SIZE, SIZE, 1, &bytes), "bytes");
        double *const x = kept_on_device(SIZE * SIZE * sizeof one), *const c = kept_on_device(SIZE * SIZE * sizeof one);
        void *const packed = kept_on_device(bytes);
        for (int i = 0; i < SIZE * SIZE; i++)
            x[i] = i % (SIZE + 1) == 0 ? 1 : 0;
        assert_int_equal(ht_sim_capture_begin(NULL), 0);
        const int code = halftone_dpack_a(h, 'N', SIZE, SIZE, x, SIZE, packed);
        void *const graph = ht_sim_capture_end(NULL);
        check_code(code, "packing in a graph");
        assert_int_equal(ht_sim_graph_run(graph, NULL), 0);
        check_code(halftone_dgemm_packed(h, SIZE, SIZE, SIZE, &one, packed, packed, &zero, c, SIZE), "the product");
        assert_memory_equal(c, x, SIZE * SIZE * sizeof one);
        ht_sim_graph_free(graph);
    }
}

static int open_all(void **state) {
    (void)state;
    return create_handle();
}

/* ---- memory of the process ---- */

/* Operands that the device layer has not allocated, one behind the other. */
static void lane_of_the_process(struct lane *l, float *block) {
    memset(l, 0, sizeof *l);
    l->stream = kept_stream();
    l->a = block;
    l->b = l->a + M * K;
    l->c = l->b + K * N;
    lane_fill(l, 1);
}

TEST(test_memory_of_the_process) {
    static struct lane l, device;
    float *const block = kept((M * K + K * N + M * N) * sizeof *block);
    lane_open(&device, 1); /* what lane_fill expects was computed there */
    lane_of_the_process(&l, block);
    halftone *h = open_handle(HALFTONE_OWN);
    call_on(h, &l);
    lane_expect(&l, "at once");
    assert_int_equal(ht_sim_hold(l.stream), 0);
    call_on(h, &l);
    assert_true(l.c[0] != l.c[0]);
    ht_sim_let_go(l.stream);
    lane_expect(&l, "held");
    void *const graph = captured(h, &l);
    replay(graph, &l, "replay");
    ht_sim_graph_free(graph);
}

/* X X^T: one matrix twice; scalars, a workspace and packed operands of the process, of FP32 and FP64. */
TEST(test_all_that_a_call_touches) {
    enum { SIZE = 64, BLOCK = 1 << 22 };
    static float x[SIZE * SIZE], c[2][SIZE * SIZE], one = 1, zero = 0;
    static double x64[SIZE * SIZE], c64[SIZE * SIZE];
    char *const block = kept(3 * BLOCK);
    size_t bytes = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
        x64[i] = x[i] = (float)(i % 7 - 3);
    halftone *h = open_handle(HALFTONE_OWN);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_DEVICE), HALFTONE_OK);
    assert_int_equal(halftone_set_workspace(h, block, BLOCK), HALFTONE_OK);
    check_code(halftone_sgemm(h, 'N', 'T', SIZE, SIZE, SIZE, &one, x, SIZE, x, SIZE, &zero, c[0], SIZE), "X X^T");
    assert_int_equal(halftone_packed_bytes(h, 'A', SIZE, SIZE, 1, &bytes), HALFTONE_OK);
    assert_true(bytes <= BLOCK);
    check_code(halftone_pack_ab(h, 'N', 'T', SIZE, SIZE, SIZE, x, SIZE, x, SIZE, block + BLOCK, block + 2 * BLOCK), "pack");
    check_code(halftone_sgemm_packed(h, SIZE, SIZE, SIZE, &one, block + BLOCK, block + 2 * BLOCK, &zero, c[1], SIZE), "packed");
    assert_memory_equal(c[0], c[1], sizeof c[0]);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_HOST), HALFTONE_OK);
    const double one64 = 1, zero64 = 0;
    check_code(halftone_dgemm(h, 'N', 'T', SIZE, SIZE, SIZE, &one64, x64, SIZE, x64, SIZE, &zero64, c64, SIZE), "FP64");
    for (int i = 0; i < SIZE * SIZE; i++)
        assert_true(c64[i] == (double)c[0][i]);
}

/* A device block keeps its bounds, and what is not there is refused; neither is known behind the call. */
TEST(test_what_is_lent_ends) {
    static float there[M * K + K * N];
    static struct lane l;
    float *const gone = (float *)16384;
    memset(&l, 0, sizeof l);
    l.a = there;
    l.b = there + M * K;
    l.c = device_floats(M * N - 1); /* one too few */
    halftone *h = open_handle(HALFTONE_OWN);
    assert_int_equal(call(h, &l), HALFTONE_SIM_VIOLATION);
    assert_non_null(strstr(halftone_last_detail(h), "out of bounds"));
    l.c = gone;
    assert_int_equal(call(h, &l), HALFTONE_SIM_VIOLATION);
    assert_non_null(strstr(halftone_last_detail(h), "C: byte 0 of "));
}

enum { MAPPED = M * K * (int)sizeof(float) };

static void lane_of_pages(struct lane *l, const struct lane *filled) {
    float **const operand[] = {&l->a, &l->b, &l->c};
    *l = *filled;
    for (int i = 0; i < 3; i++) {
        *operand[i] = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(*operand[i] != MAP_FAILED);
    }
    lane_fill(l, 1);
}

/* Operands that are freed or not to be touched so, from a page on, after a call that waits and before one that does not. */
TEST(test_memory_that_may_not_be_touched) {
    enum { FREED = -1 };
    static const struct {
        const char *said;
        int which, from, access;
    } bad[] = {{"C: byte 0 of 5600 at 0x", 2, 0, PROT_READ}, {"C: byte 4096 of ", 2, 1, FREED}, {"A: byte 0 of ", 0, 0, FREED},
               {"A: byte 4096 of ", 0, 1, PROT_NONE}, {"B: byte 4096 of ", 1, 1, FREED}};
    static struct lane filled, l;
    lane_open(&filled, 1);
    halftone *h = open_handle(HALFTONE_OWN);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lane_of_pages(&l, &filled);
        float *const of[] = {l.a, l.b, l.c};
        char *const from = (char *)of[bad[i].which] + 4096 * bad[i].from;
        const size_t bytes = (size_t)(MAPPED - 4096 * bad[i].from);
        assert_int_equal(ht_sim_hold(l.stream), 0);
        call_on(h, &l);
        assert_int_equal(bad[i].access == FREED ? munmap(from, bytes) : mprotect(from, bytes, bad[i].access), 0);
        assert_int_equal(halftone_set_stream(h, NULL), HALFTONE_OK);
        assert_int_equal(call(h, &l), HALFTONE_SIM_VIOLATION);
        if (strncmp(halftone_last_detail(h), bad[i].said, strlen(bad[i].said)) != 0)
            fail_msg("'%s' does not begin with '%s'", halftone_last_detail(h), bad[i].said);
        ht_sim_let_go(l.stream);
        assert_non_null(strstr(ht_sim_error(), "out of bounds"));
        ht_sim_clear_error();
        for (int side = 0; side < 3; side++)
            (void)munmap(of[side], MAPPED);
    }
}

/* However small. */
TEST(test_what_cudafree_had_is_gone) {
    static float there[M * K + K * N];
    static struct lane l;
    l.a = there;
    l.b = there + M * K;
    halftone *h = open_handle(HALFTONE_OWN);
    assert_int_equal(cudaMalloc((void **)&l.c, C_BYTES), cudaSuccess);
    check_code(call(h, &l), "call");
    assert_int_equal(cudaFree(l.c), cudaSuccess);
    assert_int_equal(call(h, &l), HALFTONE_SIM_VIOLATION);
    assert_non_null(strstr(halftone_last_detail(h), "C: byte 0 of "));
}

/* C and A of a call that has begun serve others too, which fail. */
TEST(test_calls_that_fail_take_nothing_of_others_back) {
    static struct lane filled, l, fails;
    lane_open(&filled, 1);
    halftone *h = open_handle(HALFTONE_OWN);
    lane_of_pages(&l, &filled);
    fails = l;
    fails.b = (float *)16384;
    assert_int_equal(ht_sim_hold(l.stream), 0);
    call_on(h, &l);
    assert_int_equal(ht_sim_run(l.stream, 3), 3); /* A, B and C are lent */
    assert_int_equal(halftone_set_stream(h, NULL), HALFTONE_OK);
    assert_int_equal(call(h, &fails), HALFTONE_SIM_VIOLATION);
    const double one = 1, zero = 0; /* C of as many bytes; nothing is packed */
    assert_int_equal(halftone_dgemm_packed(h, M, N / 2, K, &one, l.a, l.b, &zero, (double *)(void *)l.c, M), -7);
    ht_sim_let_go(l.stream);
    lane_expect(&l, "beside calls that fail");
    float *const of[] = {l.a, l.b, l.c};
    for (int side = 0; side < 3; side++)
        assert_int_equal(munmap(of[side], MAPPED), 0);
}

FOR_ALL(open_all, close_handle)
