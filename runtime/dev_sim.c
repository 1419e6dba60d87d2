/* dev_sim.c: the device layer on the simulator: device memory is host memory that the simulator is told
 * about, streams run at once unless a test holds or captures them, events are wall clocks. Meaning: ht_dev.h.
 * Knows the simulator only through sim/sim_api.h.
 *
 * New memory is filled with NaN, so that a result that depends on it shows. The simulated card has 4 GiB:
 * requests beyond any sense fail as they would on a card, instead of dragging the host into swapping. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ht_dev.h"
#include "sim/sim_api.h"

enum { BLOCK_ALIGNMENT = 1024 }; /* also the space before a block, where its size is kept */
static const size_t CARD_BYTES = (size_t)4 << 30;

static HT_THREAD_LOCAL char detail[1024];
static size_t used_bytes; /* by __atomic alone, which C and C++ have */

const char *ht_dev_detail(void) {
    return detail;
}

static int report(int code, const char *text) {
    snprintf(detail, sizeof detail, "%s", text);
    return code;
}

int ht_dev_check(int backend_code) {
    if (ht_sim_error()[0] != '\0') {
        int code = report(backend_code == HT_SIM_NO_MEMORY ? HT_DEV_MEMORY : HT_DEV_VIOLATION, ht_sim_error());
        ht_sim_clear_error();
        return code;
    }
    if (backend_code == 0)
        return HT_DEV_OK;
    snprintf(detail, sizeof detail, "simulated launch failed with code %d", backend_code);
    return HT_DEV_FAILED;
}

static int lend(const struct ht_dev_lent *what, void *stream, int back);

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    memset(info, 0, sizeof *info);
    info->backend = "simulator";
    const int refused = ht_sim_set_model(set->sim_model);
    if (refused != 0)
        return report(HT_DEV_FAILED, refused == HT_SIM_BAD_ENVIRONMENT ? HT_SIM_BAD_MODEL
                                                                       : "the simulator has no matrix arithmetic of this name");
    snprintf(info->name, sizeof info->name, "simulator of %s (%s)", set->gpu, set->sim_model);
    info->capability = set->arch;
    info->sms = set->sms;
    info->memory_bytes = (int64_t)CARD_BYTES;
    info->simulated = info->has_pool = 1;
    info->lend = lend;
    return HT_DEV_OK;
}

static int allocate_block(void **memory, size_t bytes) {
    *memory = NULL;
    if (bytes > CARD_BYTES - BLOCK_ALIGNMENT)
        return report(HT_DEV_MEMORY, "allocation: more than the simulated card has");
    size_t padded = (bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT + BLOCK_ALIGNMENT;
    if (__atomic_fetch_add(&used_bytes, padded, __ATOMIC_RELAXED) > CARD_BYTES - padded) {
        __atomic_fetch_sub(&used_bytes, padded, __ATOMIC_RELAXED);
        return report(HT_DEV_MEMORY, "allocation: the simulated card is full");
    }
    char *block = (char *)aligned_alloc(BLOCK_ALIGNMENT, padded);
    if (block == NULL) {
        __atomic_fetch_sub(&used_bytes, padded, __ATOMIC_RELAXED);
        return report(HT_DEV_MEMORY, "allocation: the host has no memory left");
    }
    memset(block, 0xff, padded);
    memcpy(block, &padded, sizeof padded);
    if (ht_sim_register(block + BLOCK_ALIGNMENT, bytes) != 0) {
        __atomic_fetch_sub(&used_bytes, padded, __ATOMIC_RELAXED);
        free(block);
        return report(HT_DEV_MEMORY, "allocation: the host has no memory left");
    }
    *memory = block + BLOCK_ALIGNMENT;
    return HT_DEV_OK;
}

/* A GPU's runtime refuses it while a stream is captured, and spoils the capture. */
int ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    if (ht_sim_any_capture())
        return report(HT_DEV_FAILED, "allocation: not permitted while a stream is captured");
    return allocate_block(memory, bytes);
}

int ht_dev_free(void *memory) {
    if (memory == NULL)
        return HT_DEV_OK;
    ht_sim_unregister(memory);
    char *block = (char *)memory - BLOCK_ALIGNMENT;
    size_t padded;
    memcpy(&padded, block, sizeof padded);
    __atomic_fetch_sub(&used_bytes, padded, __ATOMIC_RELAXED);
    free(block);
    return HT_DEV_OK;
}

int ht_dev_sync(void) {
    ht_sim_run_all();
    return ht_dev_check(0);
}

/* ---- stream-ordered memory: nothing is kept, so a pool is an address of its own, which exists once ---- */

/* What streams and graphs do later. */
struct later {
    void (*run)(const struct later *w);
    void *memory;
    size_t bytes;
    int byte;
    const void *from;
};

static void run_later(void *data, void *stream) {
    const struct later *const w = (const struct later *)data;
    (void)stream;
    w->run(w);
}

/* At once, unless the stream takes it. */
static int give(void *stream, struct later w) {
    const int taken = ht_sim_later(stream, run_later, &w, sizeof w);
    if (taken == 0)
        w.run(&w);
    return taken >= 0 ? HT_DEV_OK : report(HT_DEV_MEMORY, "stream: the host has no memory left");
}

static void run_fill(const struct later *w) {
    memset(w->memory, w->byte, w->bytes);
}

/* A graph's memory is there from here on, and holds nothing. */
static void run_appear(const struct later *w) {
    run_fill(w);
    (void)ht_sim_register(w->memory, w->bytes);
}

static void run_vanish(const struct later *w) {
    ht_sim_unregister(w->memory);
}

static void run_free(const struct later *w) {
    (void)ht_dev_free(w->memory);
}

int ht_dev_pool_create(void **pool) {
    static char only;
    *pool = &only;
    return HT_DEV_OK;
}

int ht_dev_pool_destroy(void *pool) {
    (void)pool;
    return HT_DEV_OK;
}

int ht_dev_pool_trim(void *pool) {
    (void)pool;
    return HT_DEV_OK;
}

int ht_dev_pool_alloc(void *pool, void **memory, size_t bytes, void *stream) {
    (void)pool;
    const int code = allocate_block(memory, bytes);
    if (code != HT_DEV_OK || !ht_sim_is_capturing(stream))
        return code;
    ht_sim_unregister(*memory);
    const struct later appears = {run_appear, *memory, bytes, 0xff, NULL};
    if (ht_sim_graph_owns(stream, *memory, ht_dev_free) == 0)
        return give(stream, appears); /* on failure the graph has the block */
    (void)ht_dev_free(*memory);
    *memory = NULL;
    return report(HT_DEV_MEMORY, "allocation: the host has no memory left");
}

int ht_dev_pool_free(void *memory, void *stream) {
    const struct later w = {ht_sim_is_capturing(stream) ? run_vanish : run_free, memory, 0, 0, NULL};
    return give(stream, w);
}

/* ---- memory of the caller's ---- */

static void run_lend(const struct later *w) {
    if (ht_sim_denied(w->from, w->bytes, w->byte) == NULL) /* the launch says that it may not go there */
        (void)ht_sim_lend(w->from, w->bytes);
}

static void run_take_back(const struct later *w) {
    ht_sim_take_back(w->from, w->bytes);
}

static int deny(const struct ht_dev_lent *what, const void *denied) {
    snprintf(detail, sizeof detail, "%s: byte %zu of %zu at %p may not be %s; pass memory that is there%s", what->name,
             (size_t)((const char *)denied - (const char *)what->at), what->bytes, what->at,
             what->is_written ? "written" : "read", what->is_written ? " and not read-only" : "");
    return HT_DEV_VIOLATION;
}

/* Memory of this device layer's keeps its bounds. A stream may come to its work after memory has been freed: it looks again. */
static int lend(const struct ht_dev_lent *what, void *stream, int back) {
    const struct later w = {back ? run_take_back : run_lend, NULL, what->bytes, what->is_written, what->at};
    if (!ht_sim_is_foreign(what->at, what->bytes))
        return HT_DEV_OK;
    const void *const denied = back ? NULL : ht_sim_denied(what->at, what->bytes, what->is_written);
    return denied != NULL ? deny(what, denied) : give(stream, w);
}

/* ---- copies, streams, events ---- */

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    (void)ht_sim_run(stream, LONG_MAX);
    memcpy(device, host, bytes);
    return HT_DEV_OK;
}

int ht_dev_download(void *host, const void *device, size_t bytes) {
    memcpy(host, device, bytes);
    return HT_DEV_OK;
}

int ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream) {
    const struct later w = {run_fill, device, bytes, byte, NULL};
    return give(stream, w);
}

int ht_dev_host_alloc(void **memory, size_t bytes) {
    *memory = malloc(bytes > 0 ? bytes : 1);
    return *memory != NULL ? HT_DEV_OK : report(HT_DEV_MEMORY, "allocation: the host has no memory left");
}

int ht_dev_host_free(void *memory) {
    free(memory);
    return HT_DEV_OK;
}

static void run_copy(const struct later *w) {
    memcpy(w->memory, w->from, w->bytes);
}

int ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream) {
    const struct later w = {run_copy, device, bytes, 0, pinned};
    return give(stream, w);
}

int ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream) {
    return ht_dev_copy_in(pinned, device, bytes, stream);
}

/* A stream needs an address of its own and nothing else. */
int ht_dev_stream_create(void **stream) {
    *stream = malloc(1);
    return *stream != NULL ? HT_DEV_OK : report(HT_DEV_MEMORY, "stream: the host has no memory left");
}

int ht_dev_stream_destroy(void *stream) {
    ht_sim_let_go(stream);
    free(stream);
    return HT_DEV_OK;
}

int ht_dev_stream_sync(void *stream) {
    return ht_sim_run(stream, LONG_MAX) > 0 ? ht_dev_check(0) : HT_DEV_OK;
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    *capturing = ht_sim_is_capturing(stream);
    return HT_DEV_OK;
}

/* Recorded so often, and how many of these its stream has come past. */
struct sim_event {
    struct timespec at;
    void *stream;
    size_t recorded, reached;
};

int ht_dev_event_create(void **event) {
    *event = calloc(1, sizeof(struct sim_event));
    return *event != NULL ? HT_DEV_OK : report(HT_DEV_MEMORY, "event: the host has no memory left");
}

int ht_dev_event_destroy(void *event) {
    free(event);
    return HT_DEV_OK;
}

static void run_reach(const struct later *w) {
    ((struct sim_event *)w->memory)->reached = w->bytes;
}

/* Runs the event's stream no farther than it must. */
static void run_wait(const struct later *w) {
    const struct sim_event *const e = (const struct sim_event *)w->memory;
    while (e->reached < w->bytes && ht_sim_run(e->stream, 1) > 0) {
    }
}

int ht_dev_event_record(void *event, void *stream) {
    struct sim_event *const e = (struct sim_event *)event;
    e->stream = stream;
    const struct later w = {run_reach, e, ++e->recorded, 0, NULL};
    const int code = give(stream, w);
    if (code != HT_DEV_OK)
        return code;
    return timespec_get(&e->at, TIME_UTC) == TIME_UTC ? HT_DEV_OK : report(HT_DEV_FAILED, "event: no clock");
}

int ht_dev_stream_wait(void *stream, void *event) {
    const struct sim_event *const e = (const struct sim_event *)event;
    const struct later w = {run_wait, event, e->recorded, 0, NULL};
    return e->reached == e->recorded ? HT_DEV_OK : give(stream, w);
}

int ht_dev_event_sync(void *event) {
    const struct later w = {run_wait, event, ((const struct sim_event *)event)->recorded, 0, NULL};
    run_wait(&w);
    return ht_dev_check(0);
}

int ht_dev_event_elapsed_ms(void *start, void *end, double *ms) {
    const struct timespec *from = &((const struct sim_event *)start)->at, *to = &((const struct sim_event *)end)->at;
    *ms = (double)(to->tv_sec - from->tv_sec) * 1e3 + (double)(to->tv_nsec - from->tv_nsec) * 1e-6;
    return HT_DEV_OK;
}
