/* test_dev_sim: the simulator's device layer, with the simulator itself replaced by stubs that take notes. */

#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/sim_api.h"
#include "../test.h"

static struct {
    int registered, unregistered;
    void *last;
    size_t last_bytes;
    const char *error, *model;
    int bad_environment, no_memory;
} sim = {.error = ""};

int ht_sim_register(void *p, size_t bytes) {
    sim.registered++;
    sim.last = p;
    sim.last_bytes = bytes;
    return sim.no_memory;
}

static int foreign, lent;

int ht_sim_is_foreign(const void *p, size_t bytes) {
    (void)p, (void)bytes;
    return foreign;
}

int ht_sim_lend(const void *p, size_t bytes) {
    (void)p, (void)bytes;
    lent++;
    return 0;
}

const void *ht_sim_denied(const void *p, size_t bytes, int writes) {
    return writes ? (const char *)p + bytes / 2 : NULL;
}

void ht_sim_take_back(const void *p, size_t bytes) {
    (void)p, (void)bytes;
    lent--;
}

void ht_sim_unregister(void *p) {
    sim.unregistered++;
    sim.last = p;
}

const char *ht_sim_error(void) {
    return sim.error;
}

void ht_sim_clear_error(void) {
    sim.error = "";
}

int ht_sim_set_model(const char *name) {
    sim.model = name;
    return sim.bad_environment ? HT_SIM_BAD_ENVIRONMENT : strcmp(name, "sm80") != 0;
}

TEST(test_open_plays_the_set) {
    struct ht_set_desc set = {.gpu = "a800", .sim_model = "sm80", .arch = 800, .sms = 108};
    struct ht_dev_info info;
    assert_int_equal(ht_dev_open(&set, &info), HT_DEV_OK);
    assert_string_equal(info.name, "simulator of a800 (sm80)");
    assert_string_equal(sim.model, "sm80");
    EQUAL({info.capability, 800}, {info.sms, 108}, {info.simulated, 1});
    struct ht_dev_lent memory = {&set, 64, "X", 0};
    assert_int_equal(info.lend(&memory, NULL, 0), HT_DEV_OK); /* of the device layer's own: stays as it is */
    assert_int_equal(lent, 0);
    foreign = 1;
    assert_int_equal(info.lend(&memory, NULL, 0), HT_DEV_OK);
    assert_int_equal(lent, 1);
    assert_int_equal(info.lend(&memory, NULL, 1), HT_DEV_OK);
    assert_int_equal(lent, 0);
    memory.is_written = 1;
    assert_int_equal(info.lend(&memory, NULL, 0), HT_DEV_VIOLATION);
    assert_int_equal(lent, 0);
    assert_non_null(strstr(ht_dev_detail(), "X: byte 32 of 64 at 0x"));
    foreign = 0;
    set.sim_model = "abacus";
    assert_int_equal(ht_dev_open(&set, &info), HT_DEV_FAILED);
    sim.bad_environment = 1;
    assert_int_equal(ht_dev_open(&set, &info), HT_DEV_FAILED);
    assert_string_equal(ht_dev_detail(), HT_SIM_BAD_MODEL);
    sim.bad_environment = 0;
}

TEST(test_memory) {
    void *p = NULL;
    char back[100];
    assert_int_equal(ht_dev_alloc(&p, 100), HT_DEV_OK);
    assert_int_equal((uintptr_t)p % 256, 0);
    assert_ptr_equal(sim.last, p);
    assert_int_equal(sim.last_bytes, 100);
    assert_int_equal(*(unsigned char *)p, 0xff); /* NaN until written */
    assert_int_equal(ht_dev_memset_async(p, 7, 100, NULL), HT_DEV_OK);
    assert_int_equal(ht_dev_upload(p, "abc", 3), HT_DEV_OK);
    assert_int_equal(ht_dev_download(back, p, 100), HT_DEV_OK);
    assert_memory_equal(back, "abc\7", 4);
    assert_int_equal(back[99], 7);
    assert_int_equal(ht_dev_free(p), HT_DEV_OK);
    assert_int_equal(ht_dev_free(NULL), HT_DEV_OK);
    EQUAL({sim.registered, 1}, {sim.unregistered, 1});
}

TEST(test_the_card_has_an_end) {
    void *p = &p, *q = NULL;
    size_t half = (size_t)2 << 30;
    assert_int_equal(ht_dev_alloc(&p, SIZE_MAX), HT_DEV_MEMORY);
    assert_null(p);
    assert_int_equal(ht_dev_alloc(&p, 2 * half + 1), HT_DEV_MEMORY);
    assert_string_not_equal(ht_dev_detail(), "");
    sim.no_memory = 1;
    assert_int_equal(ht_dev_alloc(&q, 1024), HT_DEV_MEMORY);
    assert_null(q);
    sim.no_memory = 0;
    /* what failed was not counted */
    assert_int_equal(ht_dev_alloc(&q, 1024), HT_DEV_OK);
    assert_int_equal(ht_dev_free(q), HT_DEV_OK);
}

TEST(test_launch_codes) {
    assert_int_equal(ht_dev_check(0), HT_DEV_OK);
    assert_int_equal(ht_dev_check(9), HT_DEV_FAILED);
    sim.error = "gemm: block 0: race";
    assert_int_equal(ht_dev_check(HT_SIM_VIOLATION), HT_DEV_VIOLATION);
    assert_string_equal(ht_dev_detail(), "gemm: block 0: race");
    assert_int_equal(ht_dev_check(0), HT_DEV_OK); /* reported once */
    sim.error = "found late";
    assert_int_equal(ht_dev_check(0), HT_DEV_VIOLATION);
    sim.error = "no memory left for a launch"; /* the host's state, no kernel's fault */
    assert_int_equal(ht_dev_check(HT_SIM_NO_MEMORY), HT_DEV_MEMORY);
    assert_string_equal(ht_dev_detail(), "no memory left for a launch");
    assert_int_equal(ht_dev_check(0), HT_DEV_OK);
}

TEST(test_streams_and_events) {
    void *stream = NULL, *start = NULL, *end = NULL;
    int capturing = 1;
    double ms = -1.0;
    assert_int_equal(ht_dev_stream_create(&stream), HT_DEV_OK);
    assert_non_null(stream);
    assert_int_equal(ht_dev_is_capturing(stream, &capturing), HT_DEV_OK);
    assert_int_equal(capturing, 0);
    assert_int_equal(ht_dev_event_create(&start), HT_DEV_OK);
    assert_int_equal(ht_dev_event_create(&end), HT_DEV_OK);
    assert_int_equal(ht_dev_event_record(start, stream), HT_DEV_OK);
    assert_int_equal(ht_dev_event_record(end, stream), HT_DEV_OK);
    assert_int_equal(ht_dev_event_elapsed_ms(start, end, &ms), HT_DEV_OK);
    assert_true(ms < 10000.0);
    assert_int_equal(ht_dev_event_destroy(start), HT_DEV_OK);
    assert_int_equal(ht_dev_event_destroy(end), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_sync(stream), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_destroy(stream), HT_DEV_OK);
}

/* A held stream does what it was given in order, when it is told to; another one and what it was not given do not wait. */
TEST(test_a_held_stream_waits) {
    unsigned char *p = NULL, *q = NULL;
    void *stream = NULL, *other = NULL;
    assert_int_equal(ht_dev_alloc((void **)&p, 8) + ht_dev_alloc((void **)&q, 8), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_create(&stream) + ht_dev_stream_create(&other), HT_DEV_OK);
    assert_int_equal(ht_sim_hold(stream), 0);
    assert_int_equal(ht_dev_memset_async(p, 1, 8, stream) + ht_dev_memset_async(p, 2, 4, stream), HT_DEV_OK);
    assert_int_equal(ht_dev_memset_async(q, 3, 8, other), HT_DEV_OK);
    assert_true(p[0] == 0xff && q[0] == 3);
    assert_int_equal(ht_sim_run(stream, 1), 1);
    assert_true(p[0] == 1 && p[7] == 1);
    assert_int_equal(ht_dev_stream_sync(stream), HT_DEV_OK);
    assert_true(p[0] == 2 && p[7] == 1);
    assert_int_equal(ht_sim_run(stream, 1) + ht_sim_run(other, 1), 0);
    assert_int_equal(ht_dev_pool_free(p, stream) + ht_dev_memset_async(q, 4, 8, stream), HT_DEV_OK);
    assert_int_equal(p[7], 1); /* still there for what came before */
    assert_int_equal(ht_dev_sync(), HT_DEV_OK);
    assert_int_equal(q[0], 4);
    assert_int_equal(ht_dev_memset_async(q, 5, 8, stream) + ht_dev_stream_destroy(stream), HT_DEV_OK);
    assert_int_equal(q[0], 5); /* what a stream was given is done, also where it is gone */
    assert_int_equal(ht_dev_stream_destroy(other) + ht_dev_free(q), HT_DEV_OK);
}

/* Who waits for an event gets what its stream was given before it, and no more. */
TEST(test_events_order_streams) {
    unsigned char *p = NULL, *q = NULL, back[8];
    void *first = NULL, *second = NULL, *event = NULL, *pinned = NULL;
    assert_int_equal(ht_dev_alloc((void **)&p, 8) + ht_dev_host_alloc(&pinned, 8) + ht_dev_alloc((void **)&q, 8), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_create(&first) + ht_dev_stream_create(&second) + ht_dev_event_create(&event), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_wait(second, event) + ht_dev_event_sync(event), HT_DEV_OK); /* never recorded */
    assert_int_equal(ht_sim_hold(first) + ht_sim_hold(second), 0);
    memset(pinned, 7, 8);
    assert_int_equal(ht_dev_copy_in(p, pinned, 8, first) + ht_dev_event_record(event, first), HT_DEV_OK);
    assert_int_equal(ht_dev_memset_async(p, 8, 8, first) + ht_dev_stream_wait(second, event), HT_DEV_OK);
    assert_int_equal(ht_dev_memset_async(q, 9, 8, second), HT_DEV_OK);
    assert_true(p[0] == 0xff && q[0] == 0xff);
    assert_int_equal(ht_sim_run(second, 1), 1);
    assert_true(p[7] == 7 && q[0] == 0xff);
    assert_int_equal(ht_sim_run(second, 1), 1);
    assert_true(p[7] == 7 && q[0] == 9);
    assert_int_equal(ht_dev_event_record(event, second) + ht_dev_copy_out(back, q, 8, second), HT_DEV_OK);
    memset(back, 0, 8);
    assert_int_equal(ht_dev_event_sync(event), HT_DEV_OK);
    assert_int_equal(back[0], 0);
    assert_int_equal(ht_dev_stream_sync(second), HT_DEV_OK);
    assert_int_equal(back[7], 9);
    assert_int_equal(ht_dev_sync() + ht_dev_event_destroy(event), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_destroy(first) + ht_dev_stream_destroy(second), HT_DEV_OK);
    assert_int_equal(ht_dev_free(p) + ht_dev_host_free(pinned) + ht_dev_free(q), HT_DEV_OK);
}

/* Memory allocated while a stream is captured is the graph's: the device knows it during a replay alone, and each
 * begins with memory that holds nothing. */
TEST(test_a_graph_has_its_memory) {
    unsigned char *p = NULL;
    void *stream = NULL, *pool = NULL;
    int capturing = 0;
    memset(&sim, 0, sizeof sim);
    sim.error = "";
    assert_int_equal(ht_dev_stream_create(&stream) + ht_dev_pool_create(&pool), HT_DEV_OK);
    assert_int_equal(ht_sim_capture_begin(stream), 0);
    assert_int_not_equal(ht_sim_capture_begin(stream), 0);
    assert_int_equal(ht_dev_is_capturing(stream, &capturing), HT_DEV_OK);
    assert_int_equal(capturing, 1);
    assert_int_equal(ht_dev_alloc((void **)&p, 8), HT_DEV_FAILED); /* as on a GPU */
    assert_non_null(strstr(ht_dev_detail(), "captured"));
    assert_int_equal(ht_dev_pool_alloc(pool, (void **)&p, 8, stream), HT_DEV_OK);
    assert_true(sim.registered == 1 && sim.unregistered == 1);
    assert_int_equal(ht_dev_memset_async(p, 7, 4, stream) + ht_dev_pool_free(p, stream), HT_DEV_OK);
    void *const graph = ht_sim_capture_end(stream);
    assert_non_null(graph);
    assert_int_equal(p[0], 0xff); /* captured, not run */
    for (int replay = 0; replay < 2; replay++) {
        p[7] = 9;
        assert_int_equal(ht_sim_graph_run(graph, stream), 0);
        assert_true(p[0] == 7 && p[7] == 0xff);
        assert_true(sim.registered == 2 + replay && sim.unregistered == 2 + replay && sim.last == p);
    }
    assert_int_equal(ht_dev_is_capturing(stream, &capturing), HT_DEV_OK);
    assert_int_equal(capturing, 0);
    ht_sim_graph_free(graph);
    assert_int_equal(ht_dev_pool_trim(pool) + ht_dev_pool_destroy(pool) + ht_dev_stream_destroy(stream), HT_DEV_OK);
}
