/* graph: what only the CUDA runtime can show: calls captured in a graph and replayed, one handle and two on two
 * streams, many repeats; always the bits of the plain call. Run by tests/gpu/check_gpu.sh; needs cmocka and a
 * GPU, links with the CUDA library. Must not know schemes or kernels: the default is what users run.
 * HALFTONE_TEST_SMALL=1: only small shapes and few repeats, for the sanitizer. */
#include "../../bench/halftone/accuracy/families.h"
#include "card.h"

struct shape {
    int64_t m, n, k;
    const char *family;
};
/* The second splits k; the last two are large enough for packing, and the last has data that fails the data check. */
static const struct shape shapes[] = {{200, 150, 300, "normal"},
                                      {64, 64, 8192, "normal"},
                                      {513, 257, 1000, "normal"},
                                      {1500, 1300, 1030, "normal"},
                                      {1500, 1300, 1030, "phi4"}};
enum { REPLAYS = 3, REPLAYS_OF_OWN = 1000 };
static int shape_count = sizeof shapes / sizeof *shapes, repeats = 1000, rounds = 20;
static const struct shape small_outside = {300, 257, 1000, "phi4"};

/* One product's handle, stream, workspace and data. */
struct lane {
    struct shape shape;
    halftone *handle;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    float *a, *b, *c;              /* device */
    float *host_a, *host_b, *host; /* host: what C is expected to be, or is */
};

static float *device_floats(int64_t count) {
    void *memory = NULL;
    cuda(cudaMalloc(&memory, (size_t)count * sizeof(float)), "cudaMalloc");
    return memory;
}

static float *host_floats(int64_t count) {
    float *memory = malloc((size_t)count * sizeof(float));
    assert_non_null(memory);
    return memory;
}

/* New numbers into the same device memory; C becomes NaN, so that a call that does nothing shows. */
static void lane_data(struct lane *l, uint64_t seed) {
    const struct shape *s = &l->shape;
    const struct family *family = family_find(s->family);
    family_fill(family, seed, 'A', s->m, s->n, s->k, l->host_a, s->m);
    family_fill(family, seed, 'B', s->m, s->n, s->k, l->host_b, s->k);
    cuda(cudaMemcpy(l->a, l->host_a, (size_t)(s->m * s->k) * sizeof(float), cudaMemcpyHostToDevice),
         "upload");
    cuda(cudaMemcpy(l->b, l->host_b, (size_t)(s->k * s->n) * sizeof(float), cudaMemcpyHostToDevice),
         "upload");
    cuda(cudaMemset(l->c, 0xff, (size_t)(s->m * s->n) * sizeof(float)), "clear");
    cuda(cudaDeviceSynchronize(), "upload");
}

static void lane_open(struct lane *l, struct shape shape, uint64_t seed) {
    memset(l, 0, sizeof *l);
    l->shape = shape;
    cuda(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), "stream");
    ours(halftone_create(&l->handle), NULL, "create");
    ours(halftone_set_stream(l->handle, l->stream), l->handle, "stream");
    ours(halftone_workspace_bytes(l->handle, 'N', 'N', shape.m, shape.n, shape.k, 1, &l->workspace_bytes),
         l->handle, "workspace bytes");
    cuda(cudaMalloc(&l->workspace, l->workspace_bytes), "workspace");
    ours(halftone_set_workspace(l->handle, l->workspace, l->workspace_bytes), l->handle, "workspace");
    l->a = device_floats(shape.m * shape.k);
    l->b = device_floats(shape.k * shape.n);
    l->c = device_floats(shape.m * shape.n);
    l->host_a = host_floats(shape.m * shape.k);
    l->host_b = host_floats(shape.k * shape.n);
    l->host = host_floats(shape.m * shape.n);
    lane_data(l, seed);
}

static void lane_close(struct lane *l) {
    cuda(cudaStreamSynchronize(l->stream), "close");
    ours(halftone_destroy(l->handle), NULL, "destroy");
    cuda(cudaStreamDestroy(l->stream), "close");
    void *const device[] = {l->workspace, l->a, l->b, l->c};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        cuda(cudaFree(device[i]), "close");
    free(l->host_a);
    free(l->host_b);
    free(l->host);
}

static void lane_call(struct lane *l) {
    static const float one = 1, zero = 0;
    const struct shape *s = &l->shape;
    ours(halftone_sgemm(l->handle, 'N', 'N', s->m, s->n, s->k, &one, l->a, s->m, l->b, s->k, &zero, l->c,
                        s->m),
         l->handle, "sgemm");
}

static float *lane_result(struct lane *l) {
    const size_t bytes = (size_t)(l->shape.m * l->shape.n) * sizeof(float);
    float *result = host_floats(l->shape.m * l->shape.n);
    cuda(cudaStreamSynchronize(l->stream), "synchronize");
    cuda(cudaMemcpy(result, l->c, bytes, cudaMemcpyDeviceToHost), "download");
    cuda(cudaMemset(l->c, 0xff, bytes), "clear");
    cuda(cudaDeviceSynchronize(), "clear");
    return result;
}

/* C must be, bit for bit, what the lane expects; `times` names the occasion. */
static void lane_expect(struct lane *l, const char *what, int times) {
    float *result = lane_result(l);
    if (memcmp(result, l->host, (size_t)(l->shape.m * l->shape.n) * sizeof(float)) != 0)
        fail_msg("%s %d of %lldx%lldx%lld differs from the plain call", what, times, (long long)l->shape.m,
                 (long long)l->shape.n, (long long)l->shape.k);
    free(result);
}

/* The plain call becomes what is expected. */
static void lane_learn(struct lane *l) {
    lane_call(l);
    float *result = lane_result(l);
    memcpy(l->host, result, (size_t)(l->shape.m * l->shape.n) * sizeof(float));
    free(result);
    assert_true(l->host[0] == l->host[0]); /* something was written */
}

/* The very first call of a handle is captured, so nothing may have been set up by an earlier one. */
TEST(replays_are_plain_calls) {
    for (int i = 0; i < shape_count; i++) {
        struct lane captured;
        cudaGraph_t graph;
        cudaGraphExec_t program;
        lane_open(&captured, shapes[i], 1);
        cuda(cudaStreamBeginCapture(captured.stream, cudaStreamCaptureModeGlobal), "begin capture");
        lane_call(&captured);
        cuda(cudaStreamEndCapture(captured.stream, &graph), "end capture");
        cuda(cudaGraphInstantiateWithFlags(&program, graph, 0), "instantiate");
        for (int replay = 0; replay < REPLAYS; replay++) {
            lane_data(&captured, (uint64_t)(100 + replay));
            lane_learn(&captured);
            cuda(cudaGraphLaunch(program, captured.stream), "replay");
            lane_expect(&captured, "replay", replay + 1);
        }
        cuda(cudaGraphExecDestroy(program), "destroy");
        cuda(cudaGraphDestroy(graph), "destroy");
        lane_close(&captured);
    }
}

/* Memory that looks as it was left. */
struct decoy {
    unsigned char *at, *seen;
    size_t bytes;
};
enum { DECOY_BYTE = 0x5a };

static void decoy_open(struct decoy *d, size_t bytes) {
    void *memory = NULL;
    cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    cuda(cudaMemset(memory, DECOY_BYTE, bytes), "fill");
    d->at = memory;
    d->bytes = bytes;
    d->seen = malloc(bytes);
    assert_non_null(d->seen);
}

static void decoy_close(struct decoy *d) {
    cuda(cudaMemcpy(d->seen, d->at, d->bytes, cudaMemcpyDeviceToHost), "download");
    for (size_t i = 0; i < d->bytes; i++)
        if (d->seen[i] != DECOY_BYTE)
            fail_msg("a replay wrote into memory that is not the handle's, byte %zu of %zu", i, d->bytes);
    cuda(cudaFree(d->at), "free");
    free(d->seen);
}

/* A call that needs more than all before: of the workspace, and of the place where packing blocks meet. */
static void larger_call(struct lane *l) {
    static const float one = 1, zero = 0;
    const int64_t n = 1024, k = 8448;
    float *x = device_floats(n * k), *c = device_floats(n * n);
    cuda(cudaMemset(x, 0, (size_t)(n * k) * sizeof(float)), "clear");
    cuda(cudaDeviceSynchronize(), "clear");
    ours(halftone_sgemm(l->handle, 'T', 'N', n, n, k, &one, x, k, x, k, &zero, c, n), l->handle, "larger sgemm");
    cuda(cudaStreamSynchronize(l->stream), "larger sgemm");
    cuda(cudaFree(x), "free");
    cuda(cudaFree(c), "free");
}

/* A graph that captured a call on the handle's own workspace may be replayed after a larger call, which needed a larger one:
 * the old block is still the handle's, and nobody else got it. */
static void replay_after_growth(const char *scheme, struct shape shape) {
    struct lane l;
    struct decoy decoys[4];
    cudaGraph_t graph;
    cudaGraphExec_t program;
    lane_open(&l, shape, 8);
    ours(halftone_set_workspace(l.handle, NULL, 0), l.handle, "no workspace");
    ours(halftone_set_scheme(l.handle, scheme), l.handle, scheme);
    ours(halftone_workspace_bytes(l.handle, 'N', 'N', shape.m, shape.n, shape.k, 1, &l.workspace_bytes), l.handle, scheme);
    assert_true(l.workspace_bytes > 0);
    lane_learn(&l); /* grows the workspace */
    cuda(cudaStreamBeginCapture(l.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    lane_call(&l);
    cuda(cudaStreamEndCapture(l.stream, &graph), "end capture");
    cuda(cudaGraphInstantiateWithFlags(&program, graph, 0), "instantiate");
    larger_call(&l);
    for (int i = 0; i < 4; i++)
        decoy_open(&decoys[i], i % 2 ? (size_t)1 << 20 : l.workspace_bytes);
    for (int replay = 0; replay < REPLAYS_OF_OWN; replay++) {
        cuda(cudaGraphLaunch(program, l.stream), "replay");
        if (replay % 100 == 50)
            larger_call(&l);
        lane_expect(&l, "replay on the handle's own workspace", replay + 1);
    }
    for (int i = 0; i < 4; i++)
        decoy_close(&decoys[i]);
    cuda(cudaGraphExecDestroy(program), "destroy");
    cuda(cudaGraphDestroy(graph), "destroy");
    lane_close(&l);
}

TEST(replays_outlive_the_workspace_they_used) {
    replay_after_growth("f16x3", shapes[0]);
    if (!only_small())
        replay_after_growth("auto", shapes[3]); /* smaller ones may need no workspace */
}

static int has_pools(void) {
    int device = 0, pools = 0;
    cuda(cudaGetDevice(&device), "device");
    cuda(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device), "memory pools");
    return pools;
}

/* A handle's first call, without a workspace, in a graph, whose memory it then is; NULL where the device has no pools. */
static cudaGraph_t capture_first_call(struct lane *l) {
    static const float one = 1, zero = 0;
    const struct shape *s = &l->shape;
    cudaGraph_t graph = NULL;
    size_t nodes = 1;
    ours(halftone_set_workspace(l->handle, NULL, 0), l->handle, "no workspace");
    ours(halftone_set_scheme(l->handle, "f16x3"), l->handle, "a scheme that packs"); /* auto may need none */
    cuda(cudaStreamBeginCapture(l->stream, cudaStreamCaptureModeGlobal), "begin capture");
    const int code = halftone_sgemm(l->handle, 'N', 'N', s->m, s->n, s->k, &one, l->a, s->m, l->b, s->k, &zero, l->c, s->m);
    cuda(cudaStreamEndCapture(l->stream, &graph), "end capture");
    if (has_pools()) {
        ours(code, l->handle, "captured first call");
        return graph;
    }
    assert_int_equal(code, HALFTONE_WORKSPACE); /* and the capture survives */
    cuda(cudaGraphGetNodes(graph, NULL, &nodes), "nodes");
    assert_int_equal(nodes, 0);
    cuda(cudaGraphDestroy(graph), "destroy");
    return NULL;
}

/* Two graphs, each the first call of a handle, replayed at once, also when a handle keeps nothing any more, and when the
 * other graph is gone. */
TEST(first_calls_may_be_captured) {
    struct lane lanes[2];
    cudaGraph_t graphs[2];
    cudaGraphExec_t programs[2];
    for (int i = 0; i < 2; i++) {
        lane_open(&lanes[i], shapes[2 * i], 20 + (uint64_t)i);
        graphs[i] = capture_first_call(&lanes[i]);
        if (graphs[i] != NULL)
            cuda(cudaGraphInstantiateWithFlags(&programs[i], graphs[i], 0), "instantiate");
        lane_learn(&lanes[i]);
    }
    for (int round = 0; graphs[0] != NULL && round < 3 * rounds; round++) {
        if (round == rounds)
            ours(halftone_trim(lanes[0].handle), lanes[0].handle, "trim");
        for (int i = round < 2 * rounds ? 0 : 1; i < 2; i++)
            for (int replay = 0; replay < 5; replay++)
                cuda(cudaGraphLaunch(programs[i], lanes[i].stream), "replay");
        for (int i = round < 2 * rounds ? 0 : 1; i < 2; i++)
            lane_expect(&lanes[i], "replay in the graph's own memory, round", round + 1);
        if (round == 2 * rounds - 1) {
            cuda(cudaGraphExecDestroy(programs[0]), "destroy");
            cuda(cudaGraphDestroy(graphs[0]), "destroy");
        }
    }
    if (graphs[0] != NULL) {
        cuda(cudaGraphExecDestroy(programs[1]), "destroy");
        cuda(cudaGraphDestroy(graphs[1]), "destroy");
    }
    for (int i = 0; i < 2; i++)
        lane_close(&lanes[i]);
}

/* One handle whose calls change from stream to stream, and wait for nothing; then the device has a pool for it as well. */
TEST(one_handle_on_two_streams) {
    struct lane first, second;
    lane_open(&first, only_small() ? shapes[2] : shapes[3], 11);
    lane_open(&second, only_small() ? small_outside : shapes[4], 12);
    lane_learn(&first);
    lane_learn(&second);
    halftone *const h = first.handle;
    ours(halftone_set_workspace(h, NULL, 0), h, "no workspace");
    for (int round = 0; round < 2 * rounds; round++) {
        if (round == rounds && !has_pools())
            break;
        if (round == rounds)
            ours(halftone_set_workspace_source(h, HALFTONE_POOL), h, "pool");
        for (int i = 0; i < 10; i++) {
            struct lane l = i % 2 ? second : first;
            l.handle = h;
            ours(halftone_set_stream(h, l.stream), h, "stream");
            lane_call(&l);
        }
        lane_expect(&first, "first stream of one handle, round", round + 1);
        lane_expect(&second, "second stream of one handle, round", round + 1);
    }
    lane_close(&second); /* its stream is gone before the handle is */
    lane_close(&first);
}

TEST(two_streams_at_once) {
    struct lane first, second;
    lane_open(&first, shapes[1], 3);
    lane_open(&second, shapes[2], 4);
    lane_learn(&first);
    lane_learn(&second);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 5; i++) {
            lane_call(&first);
            lane_call(&second);
        }
        lane_expect(&first, "first stream, round", round + 1);
        lane_expect(&second, "second stream, round", round + 1);
    }
    lane_close(&first);
    lane_close(&second);
}

TEST(repeats_are_equal) {
    for (int i = 0; i < shape_count; i++) {
        struct lane l;
        lane_open(&l, shapes[i], 5);
        lane_learn(&l);
        for (int repeat = 0; repeat < repeats; repeat++) {
            lane_call(&l);
            lane_expect(&l, "repeat", repeat + 1);
        }
        lane_close(&l);
    }
}

/* One handle whose calls follow each other at once: each packs where the one before may still be reading, were it not waited
 * for, be it the product or the fallback behind it. In the user's workspace and in the handle's. */
TEST(calls_behind_one_another) {
    struct lane inside, outside;
    lane_open(&inside, only_small() ? shapes[2] : shapes[3], 6);
    lane_open(&outside, only_small() ? small_outside : shapes[4], 7);
    const struct lane own = outside;
    outside.handle = inside.handle;
    outside.stream = inside.stream;
    for (int round = 0; round < 4 * rounds; round++) {
        if (round == 2 * rounds)
            ours(halftone_set_workspace(inside.handle, NULL, 0), inside.handle, "no workspace");
        if (round % (2 * rounds) == 0) {
            lane_learn(&inside);
            lane_learn(&outside);
        }
        struct lane *const first = round % 2 ? &inside : &outside, *const second = round % 2 ? &outside : &inside;
        for (int i = 0; i < 3; i++) {
            lane_call(first);
            lane_call(second);
        }
        lane_expect(first, "first of two calls, round", round + 1);
        lane_expect(second, "second of two calls, round", round + 1);
    }
    outside.handle = own.handle;
    outside.stream = own.stream;
    lane_close(&inside);
    lane_close(&outside);
}

static int make_small(void **state) {
    (void)state;
    if (only_small()) {
        shape_count = 3;
        repeats = 20;
        rounds = 2;
    }
    return 0;
}

FOR_ALL(make_small, NULL)
