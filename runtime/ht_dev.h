/* ht_dev.h: the thin device layer. One of dev_cuda.c, dev_hip.c, dev_sim.c (or a fake in a test) is linked; nobody above
 * it includes a vendor header. It knows nothing of schemes, panels or products.
 *
 * Functions return enum ht_dev_code; ht_dev_detail has the backend's words about the thread's last failure.
 * Streams and events are the backend's own handles as void pointers; stream NULL is the default stream. No
 * error stays behind in the backend: what is reported here is cleared there. */
#ifndef HT_DEV_H
#define HT_DEV_H

#include <stddef.h>
#include <stdint.h>

#include "ht_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define HT_THREAD_LOCAL thread_local
#else
#define HT_THREAD_LOCAL _Thread_local
#endif

enum ht_dev_code {
    HT_DEV_OK,
    HT_DEV_NONE,     /* no device, no driver */
    HT_DEV_MEMORY,   /* an allocation failed */
    HT_DEV_FAILED,   /* anything else */
    HT_DEV_VIOLATION /* simulator: a kernel broke a rule */
};

/* Memory of the process that a call touches. */
struct ht_dev_lent {
    const void *at;
    size_t bytes;
    const char *name; /* for messages */
    int is_written;
};

struct ht_dev_info {
    const char *backend; /* "CUDA", "HIP", "simulator" */
    char name[256];
    int capability; /* like ht_set_desc.arch */
    int sms;
    int64_t memory_bytes;
    int64_t smem_per_block; /* most shared memory that a block may ask for; 0: not known */
    int simulated;
    int has_pool; /* stream-ordered memory: ht_dev_pool_alloc */
    /* NULL, or: memory of the process serves as the device's, for what the stream gets from `lend` until `back`. A failure
     * says what may not be touched so. */
    int (*lend)(const struct ht_dev_lent *what, void *stream, int back);
};

/* Looks at the calling thread's current device. The simulator plays the device that the set was made for,
 * with the matrix arithmetic of set->sim_model (sim/sim_api.h says how to ask for another). */
HT_LOCAL int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info);

/* What a generated launcher or init function returned, as a code; also asks the simulator for violations. */
HT_LOCAL int ht_dev_check(int backend_code);

/* Text about the last code other than HT_DEV_OK on this thread; never NULL. */
HT_LOCAL const char *ht_dev_detail(void);

HT_LOCAL int ht_dev_alloc(void **memory, size_t bytes); /* aligned to 256 bytes; *memory NULL on failure */
HT_LOCAL int ht_dev_free(void *memory);                 /* NULL is allowed */
/* Waits for all that the device has been given. */
HT_LOCAL int ht_dev_sync(void);

/* Stream-ordered memory, where ht_dev_info.has_pool. What is allocated may be used by what the stream gets next,
 * and is given back behind what it got before, so nobody waits. While the stream is captured both become nodes of
 * the graph, which then owns the memory: it is there during each replay, and what an earlier one left in it is
 * lost. pool NULL: the device's own, which gives memory back to the system whenever the stream is waited for; a
 * pool of ht_dev_pool_create keeps it until ht_dev_pool_trim. */
HT_LOCAL int ht_dev_pool_create(void **pool); /* of the current device; *pool NULL on failure */
/* NULL is allowed; memory that is not given back yet stays valid. */
HT_LOCAL int ht_dev_pool_destroy(void *pool);
HT_LOCAL int ht_dev_pool_trim(void *pool);
/* Of memory as ht_dev_alloc says. */
HT_LOCAL int ht_dev_pool_alloc(void *pool, void **memory, size_t bytes, void *stream);
HT_LOCAL int ht_dev_pool_free(void *memory, void *stream);

/* host -> device behind what the stream already holds, done on return. Never a plain copy: of pageable memory that may return
 * while the device still waits for the data, and nothing orders it before kernels of a stream that does not block. */
HT_LOCAL int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream);
static inline int ht_dev_upload(void *device, const void *host, size_t bytes) {
    return ht_dev_upload_on(device, host, bytes, NULL);
}
HT_LOCAL int ht_dev_download(void *host, const void *device, size_t bytes); /* device -> host, done on return */
HT_LOCAL int ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream);

/* Host memory that the device reads and writes itself (pinned), while the host goes on. *memory NULL on failure; NULL may be freed. */
HT_LOCAL int ht_dev_host_alloc(void **memory, size_t bytes);
HT_LOCAL int ht_dev_host_free(void *memory);
/* Copies that the host does not wait for; `pinned` is memory of ht_dev_host_alloc. */
HT_LOCAL int ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream);
HT_LOCAL int ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream);

HT_LOCAL int ht_dev_stream_create(void **stream);
HT_LOCAL int ht_dev_stream_destroy(void *stream);
HT_LOCAL int ht_dev_stream_sync(void *stream);
/* *capturing: 0, 1, or 2: another stream's capture forbids this one to be used, which would spoil the capture. */
HT_LOCAL int ht_dev_is_capturing(void *stream, int *capturing);

HT_LOCAL int ht_dev_event_create(void **event);
HT_LOCAL int ht_dev_event_destroy(void *event);
HT_LOCAL int ht_dev_event_record(void *event, void *stream);
/* Lets what the stream gets next, or the host, wait for the event as it was recorded last; one never recorded is over. */
HT_LOCAL int ht_dev_stream_wait(void *stream, void *event);
HT_LOCAL int ht_dev_event_sync(void *event);
/* Waits for `end`; time between the two events. */
HT_LOCAL int ht_dev_event_elapsed_ms(void *start, void *end, double *ms);

#ifdef __cplusplus
}
#endif
#endif
