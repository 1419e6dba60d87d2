/* test_workspace: where the runtime takes memory from: workspaces, streams, captures, pools. Without generator, simulator or GPU: fake_set.h. */
#include <math.h>

#include "fake_set.h"

/* ---- workspace ---- */

API_TEST(test_the_second_call_allocates_nothing) {
    struct problem p = problem_of('N', 'N', 100, 100, 100, 0);
    check(h, &p);
    EQUAL({dev.allocs, 2}, /* workspace, and where blocks meet */
          {dev.memsets, 1}, {dev.alarms, 1});
    long syncs = dev.syncs;
    check(h, &p);
    p = problem_of('T', 'N', 50, 60, 70, 0);
    check(h, &p);
    EQUAL({dev.allocs, 2}, {dev.memsets, 1}, {dev.syncs, syncs},
          {dev.inits[0] + dev.inits[1], 1 + (dev.inits[0] == dev.inits[1])}, {dev.pack_inits, 1});
    p = problem_of('N', 'N', 300, 300, 300, 0); /* grows once more */
    check(h, &p);
    EQUAL({dev.allocs, 3}, {dev.alarms, 2}, {dev.frees, 0}); /* a graph may hold it: nobody asked */
    size_t need;
    OK(halftone_workspace_bytes(h, 'N', 'N', 300, 300, 300, 1, &need));
    assert_int_equal(dev.last_alloc_bytes, need);
}

/* Packing blocks meet in memory of the handle that holds -1 between launches; it is made so again after a launch that
 * failed. Calls on a user's workspace meet in it, and short rows nowhere. */
API_TEST(test_where_packing_blocks_meet) {
    float one = 1, zero = 0, *x = matrix(4 * 100), c[16];
    OK(halftone_sgemm(h, 'N', 'N', 4, 4, 64, &one, x, 4, x, 64, &zero, c, 4));
    assert_true(dev.memsets == 0 && dev.allocs == 1 && dev.pack_log[0].exchange_is_reset);
    OK(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4));
    assert_true(dev.memsets == 1 && dev.pack_log[0].exchange_is_reset && dev.pack_log[1].exchange_is_reset);
    const int *place = dev.pack_log[1].absmax_exchange;
    assert_int_equal(dev.pack_log[0].absmax_exchange - place, dev.pack_log[1].exchange_stride); /* A's, then B's */
    assert_true(dev.pack_log[1].exchange_stride >= ht_exchange_ints(&fake_schemes[1], 4, 65));
    dev.launch_code = 1;
    assert_int_not_equal(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4), HALFTONE_OK);
    dev.launch_code = 0;
    OK(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4));
    assert_true(dev.memsets == 2 && dev.pack_log[1].absmax_exchange == place);
    char *memory = kept(1 << 20);
    OK(halftone_set_workspace(h, memory, 1 << 20));
    OK(halftone_sgemm(h, 'N', 'N', 4, 4, 65, &one, x, 4, x, 65, &zero, c, 4));
    assert_true(!dev.pack_log[0].exchange_is_reset && (char *)dev.pack_log[0].absmax_exchange > memory &&
                (char *)dev.pack_log[0].absmax_exchange < memory + (1 << 20));
}

API_TEST(test_user_workspace) {
    float one = 1, zero = 0, a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 0, 1, 0},
          c[4] = {NAN, NAN, NAN, NAN};
    size_t need;
    OK(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 3, 1, &need));
    assert_true(need > 0 && need % 1024 == 0);
    char *memory = kept(need);
    memset(memory, 0x5a, need);
    assert_int_equal(halftone_set_workspace(h, memory + 1, need), -18);
    OK(halftone_set_workspace(h, memory, need - 1));
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2), HALFTONE_WORKSPACE);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(c[i]));
    for (size_t i = 0; i < need; i++)
        assert_int_equal(memory[i], 0x5a);
    assert_int_equal(dev.launches, 0);
    OK(halftone_set_workspace(h, memory, need));
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2));
    assert_true(c[0] == 1 && c[1] == 2 && c[2] == 3 && c[3] == 4);
    assert_int_equal(dev.allocs, 0);
    OK(halftone_set_workspace(h, NULL, 0));
    struct problem p = problem_of('N', 'N', 9, 9, 9, 0);
    check(h, &p);
    assert_int_equal(dev.allocs, 1);
}

API_TEST(test_shared_operands_need_less_workspace) {
    float one = 1, zero = 0, a[4] = {1, 2, 3, 4}, b[4 * 5], c[4 * 5];
    fill(b, 20);
    size_t all, single;
    OK(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 2, 5, &all));
    OK(halftone_workspace_bytes(h, 'N', 'N', 2, 2, 2, 1, &single));
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &one, a, 2, 0, b, 2, 4, &zero, c, 2, 4, 5));
    assert_true(dev.last_alloc_bytes > single && dev.last_alloc_bytes < all);
}

API_TEST(test_capture) {
    float one = 1, zero = 0, a = 2, b = 3, c = 0;
    dev.capturing = true;
    REFUSED_FOR(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_WORKSPACE,
                "captured");
    assert_int_equal(dev.allocs + dev.launches + dev.syncs + dev.device_syncs, 0);
    dev.capturing = false;
    OK(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1));
    dev.capturing = true;
    long syncs = dev.syncs;
    OK(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1));
    assert_int_equal(dev.syncs, syncs);
    assert_true(c == 6.0f);
    dev.capturing = false;
}

/* Graphs keep addresses: what a captured call used is not freed before the handle is, whatever is needed later. */
API_TEST(test_what_a_capture_used_is_kept) {
    struct problem small = problem_of('N', 'N', 4, 4, 65, 0), large = problem_of('N', 'N', 300, 300, 300, 0);
    check(h, &small);
    assert_int_equal(dev.allocs, 2); /* workspace, and where blocks meet */
    dev.capturing = true;
    check(h, &small);
    const struct ht_gemm_args captured = dev.last_args;
    const int *met = dev.pack_log[1].absmax_exchange;
    dev.capturing = false;
    check(h, &large);
    check(h, &large);
    assert_true(dev.allocs == 3 && dev.frees == 0 && dev.last_args.a_packed.panels != captured.a_packed.panels);
    struct problem larger = problem_of('N', 'N', 600, 600, 300, 0);
    check(h, &larger); /* nobody asked whether a graph holds the block, so it is kept as well */
    assert_true(dev.allocs == 4 && dev.frees == 0);
    dev.capturing = true;
    check(h, &small);
    dev.capturing = false;
    dev.dry = true; /* 2 x 16 row blocks of k = 8448 meet in more than the 1 MiB that there was */
    float one = 1, zero = 0;
    OK(halftone_sgemm(h, 'N', 'N', 1024, 1024, 8448, &one, &one, 1024, &one, 8448, &zero, &one, 1024));
    assert_true(dev.allocs == 6 && dev.frees == 0 && dev.pack_log[1].absmax_exchange != met);
    dev.dry = false;
    memset(dev.pack_log[1].absmax_exchange, 0xff, 1 << 20);
    memset(captured.a_packed.panels, 0, HT_ATOM_BYTES); /* replayed: still ours to write */
    assert_int_equal(met[0], -1);
    check(h, &small);
}

/* ---- streams and sources ---- */

/* Where the last call of a scheme that exchanges absmax had its memory. */
struct memory_used {
    const void *panels, *exchange;
};

static struct memory_used call_on(halftone *h, void *stream, const struct problem *p) {
    OK(halftone_set_stream(h, stream));
    check(h, p);
    return (struct memory_used){dev.last_args.a_packed.panels, dev.pack_log[1].absmax_exchange};
}

/* Calls on two streams may run at once, so they share no memory; each stream finds its own again, and
 * nobody waits. */
API_TEST(test_streams_share_no_memory) {
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0);
    char streams[2];
    const struct memory_used none = call_on(h, NULL, &p), first = call_on(h, &streams[0], &p);
    const struct memory_used second = call_on(h, &streams[1], &p);
    const long syncs = dev.syncs, allocs = dev.allocs;
    assert_true(first.panels != second.panels && first.exchange != second.exchange);
    assert_true(first.panels != none.panels && first.exchange != none.exchange);
    for (int i = 0; i < 4; i++) {
        const struct memory_used again = call_on(h, &streams[i % 2], &p);
        assert_ptr_equal(again.panels, i % 2 ? second.panels : first.panels);
        assert_ptr_equal(again.exchange, i % 2 ? second.exchange : first.exchange);
    }
    assert_true(dev.syncs == syncs && dev.device_syncs == 0 && dev.allocs == allocs);
}

/* However many streams come, the handle keeps memory for so many of them; the one that waited longest
 * gives way, when the device is done. */
API_TEST(test_streams_are_bounded) {
    enum { KEPT = 32, STREAMS = 100 };
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[STREAMS];
    struct memory_used used[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        used[i] = call_on(h, &streams[i], &p);
        for (int j = i < KEPT ? 0 : i - KEPT + 1; j < i; j++)
            assert_true(used[i].panels != used[j].panels && used[i].exchange != used[j].exchange);
        assert_int_equal(dev.device_syncs, i < KEPT ? 0 : i - KEPT + 1);
    }
    /* the first block could be in a graph, since nobody asks while there is one stream: it is not given on */
    assert_int_equal(dev.allocs, 2 * KEPT);
    assert_ptr_equal(call_on(h, &streams[STREAMS - KEPT], &p).panels, used[STREAMS - KEPT].panels);
    call_on(h, &streams[0], &p); /* instead of the one that follows in age */
    assert_ptr_equal(call_on(h, &streams[STREAMS - KEPT], &p).panels, used[STREAMS - KEPT].panels);
    EQUAL({dev.device_syncs, STREAMS - KEPT + 1}, {dev.allocs, 2 * KEPT});
}

/* A stream is not touched when calls have gone on to another: it may be destroyed, before or after the
 * handle. */
TEST(test_streams_may_be_gone) {
    halftone *h = NULL;
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[80];
    memset(dev.inits, 0, sizeof dev.inits);
    OK(halftone_create(&h));
    dev.gone = streams;
    for (int i = 0; i < 80; i++) {
        call_on(h, &streams[i], &p);
        dev.gone_count = i + 1;
    }
    OK(halftone_destroy(h));
    assert_int_equal(dev.allocs, dev.frees);
    dev.gone = NULL;
}

/* What a graph holds is not given to another stream. */
API_TEST(test_captured_memory_stays_with_its_stream) {
    struct problem p = problem_of('N', 'N', 20, 20, 130, 0);
    char streams[80];
    call_on(h, &streams[1], &p);
    const struct memory_used held = call_on(h, &streams[0], &p);
    dev.capturing = true;
    assert_ptr_equal(call_on(h, &streams[0], &p).panels, held.panels);
    dev.capturing = false;
    for (int i = 1; i < 80; i++) {
        const struct memory_used other = call_on(h, &streams[i], &p);
        assert_true(other.panels != held.panels && other.exchange != held.exchange);
    }
    const long frees = dev.frees;
    memset((void *)(uintptr_t)held.panels, 1, 64); /* replayed: still ours to write */
    assert_int_equal(frees, 0);
    OK(halftone_trim(h));
    assert_int_equal(dev.frees, dev.allocs);
}

/* The pool serves a capture that comes before any call, and the graph owns what it gave: nothing of the
 * handle's. */
TEST(test_capture_without_a_call_before) {
    halftone *h = NULL;
    char stream, streams[64];
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), larger = problem_of('N', 'N', 400, 30, 130, 0);
    dev.has_pool = true;
    OK(halftone_create(&h));
    dev.capturing = true;
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 1 && dev.pool_frees == 1 && dev.allocs == 0 && dev.memsets == 0);
    assert_true(dev.pool_stream == &stream && dev.last_pool == NULL && !dev.pack_log[1].exchange_is_reset);
    dev.capturing = false;
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 1 && dev.allocs == 2);
    dev.capturing = true;
    call_on(h, &stream, &p); /* large enough */
    assert_true(dev.pool_allocs == 1 && dev.pack_log[1].exchange_is_reset);
    call_on(h, &stream, &larger);
    assert_true(dev.pool_allocs == 2 && dev.allocs == 2);
    dev.limit_bytes = 10;
    REFUSED(halftone_sgemm(h, 'N', 'N', 400, 400, 130, &(float){1}, NULL, 400, NULL, 130, &(float){0}, NULL,
            400), -7);
    float x[400];
    REFUSED(halftone_sgemm(h, 'N', 'N', 400, 1, 1, &(float){1}, x, 400, x, 1, &(float){0}, x, 400),
            HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(halftone_last_detail(h), "fake pool is empty");
    dev.limit_bytes = (size_t)1 << 28;
    dev.elsewhere = true; /* it would spoil the other stream's capture */
    REFUSED(halftone_sgemm(h, 'N', 'N', 400, 1, 1, &(float){1}, x, 400, x, 1, &(float){0}, x, 400),
            HALFTONE_WORKSPACE);
    assert_non_null(strstr(halftone_last_detail(h), "capture of another stream"));
    assert_int_equal(dev.pool_allocs, 2);
    dev.elsewhere = dev.capturing = false;
    for (int i = 0; i < 64; i++)
        call_on(h, &streams[i], &p);
    const long syncs = dev.device_syncs;
    dev.capturing = true; /* no room in the table, and nobody may wait */
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 3 && dev.device_syncs == syncs);
    dev.capturing = false;
    OK(halftone_destroy(h));
    assert_true(dev.allocs == dev.frees && dev.pool_allocs == dev.pool_frees);
}

API_TEST(test_memory_of_the_pool) {
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), one = problem_of('N', 'N', 3, 5, 20000, 0);
    static _Alignas(HALFTONE_ALIGNMENT) char block[1 << 20];
    int source = -1;
    char stream;
    assert_int_equal(halftone_get_workspace_source(h, &source) + source, HALFTONE_OWN);
    REFUSED(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(h), "fake device has no stream-ordered memory");
    REFUSED(halftone_set_workspace_source(h, 2), HALFTONE_NOT_SUPPORTED);
    REFUSED(halftone_get_workspace_source(h, NULL), -18);
    dev.has_pool = true;
    OK(halftone_create(&h));
    dev.fail_after = 1;
    REFUSED(halftone_set_workspace_source(h, HALFTONE_POOL), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(halftone_get_workspace_source(h, &source) + source, HALFTONE_OWN);
    for (int i = 0; i < 2; i++)
        OK(halftone_set_workspace_source(h, HALFTONE_POOL));
    OK(halftone_get_workspace_source(h, &source));
    assert_true(source == HALFTONE_POOL && dev.pools == 1);
    for (int i = 0; i < 3; i++) {
        dev.capturing = i == 2;
        call_on(h, &stream, i == 1 ? &one : &p);
        assert_true(dev.pool_allocs == i + 1 && dev.pool_frees == i + 1 && dev.last_pool == &dev.pools);
    }
    dev.capturing = false;
    assert_true(dev.allocs == 0 && dev.asked == 0 && dev.syncs == 0); /* nor does anything wait */
    dev.launch_code = HT_DEV_FAILED;                                  /* what was taken is given back */
    float x[16] = {0};
    REFUSED(halftone_sgemm(h, 'N', 'N', 4, 4, 4, &(float){1}, x, 4, x, 4, &(float){0}, x, 4),
            HALFTONE_DEVICE_ERROR);
    assert_string_equal(halftone_last_detail(h), "fake launch failed");
    assert_int_equal(dev.pool_frees, 4);
    dev.launch_code = 0;
    OK(halftone_set_workspace(h, block, sizeof block)); /* the caller's wins */
    call_on(h, &stream, &p);
    OK(halftone_set_workspace(h, NULL, 0));
    assert_int_equal(dev.pool_allocs, 4);
    OK(halftone_trim(h));
    assert_true(dev.trims == 1 && dev.device_syncs == 0);
    call_on(h, &stream, &p);
    OK(halftone_set_workspace_source(h, HALFTONE_OWN));
    call_on(h, &stream, &p);
    assert_true(dev.pool_allocs == 5 && dev.allocs == 2);
    OK(halftone_destroy(h));
}

/* The driver is asked whether the stream is captured where memory must grow and, since a block may then
 * change hands, where there are several streams. Calls that find what they need on the only stream ask
 * nothing. */
API_TEST(test_capture_is_asked_where_it_matters) {
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0);
    char streams[2];
    call_on(h, &streams[0], &p);
    assert_int_equal(dev.asked, 1);
    for (int i = 0; i < 5; i++)
        call_on(h, &streams[0], &p);
    assert_int_equal(dev.asked, 1);
    call_on(h, &streams[1], &p);
    assert_int_equal(dev.asked, 2);
    call_on(h, &streams[1], &p);
    assert_int_equal(dev.asked, 3);
    dev.capturing = true;
    call_on(h, &streams[1], &p);
    dev.capturing = false;
    assert_int_equal(dev.asked, 4);
    call_on(h, &streams[1], &p); /* what is known is not asked again */
    assert_int_equal(dev.asked, 4);
}

API_TEST(test_trim) {
    struct problem p = problem_of('N', 'N', 40, 30, 130, 0), larger = problem_of('N', 'N', 100, 100, 200, 0);
    char streams[2];
    REFUSED(halftone_trim(NULL), HALFTONE_NULL_HANDLE);
    OK(halftone_trim(h));
    assert_int_equal(dev.device_syncs, 0);
    for (int i = 0; i < 4; i++)
        call_on(h, &streams[i % 2], i < 2 ? &p : &larger);
    dev.capturing = true;
    REFUSED_FOR(halftone_trim(h), HALFTONE_NOT_SUPPORTED, "captured");
    dev.capturing = false;
    assert_true(dev.held_bytes > 0);
    OK(halftone_trim(h));
    assert_true(dev.held_bytes == 0 && dev.device_syncs == 1);
    call_on(h, &streams[0], &larger);
}

/* Blocks that are kept for graphs are together no larger than the one in use, however the sizes come. */
API_TEST(test_outgrown_blocks_are_bounded) {
    const float one = 1, zero = 0;
    float x = 0;
    dev.dry = true;
    OK(halftone_set_scheme(h, "half")); /* nothing but the workspace */
    for (int n = 64; n <= 4096; n += 64)
        for (int twice = 0; twice < 2; twice++) {
            OK(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n));
            assert_true(dev.held_bytes <= 2 * dev.last_alloc_bytes);
        }
    assert_in_range(dev.allocs, 4, 12);
    /* where the device has no room for more, just what is needed will do, and if not that, the reason is
     * said */
    size_t need = 0;
    int n = 4096;
    for (; need <= dev.last_alloc_bytes; n += 64)
        OK(halftone_workspace_bytes(h, 'N', 'N', n + 64, n + 64, 64, 1, &need));
    assert_true(need < dev.held_bytes);
    dev.limit_bytes = need;
    for (int more = 0; more < 2; more++) {
        const long frees = dev.frees;
        OK(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n));
        assert_int_equal(dev.last_alloc_bytes, need);
        assert_int_equal(halftone_sgemm(h, 'N', 'N', n + 64, n + 64, 64, &one, &x, n + 64, &x, 64, &zero, &x,
                         n + 64), HALFTONE_OUT_OF_DEVICE_MEMORY);
        assert_non_null(strstr(halftone_last_detail(h), "fake card is full; the handle keeps "));
        assert_non_null(strstr(halftone_last_detail(h), "halftone_trim"));
        assert_true(more == 0 || dev.frees == frees); /* what a graph may hold is there still */
        OK(halftone_sgemm(h, 'N', 'N', n, n, 64, &one, &x, n, &x, 64, &zero, &x, n));
    }
}
