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

struct ht_dev_info {
    const char *backend; /* "CUDA", "HIP", "simulator" */
    char name[256];
    int capability; /* like ht_set_desc.arch */
    int sms;
    int64_t memory_bytes;
    int64_t smem_per_block; /* most shared memory that a block may ask for; 0: not known */
    int simulated;
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
/* host -> device behind what the stream already holds, done on return. Never a plain copy: of pageable memory that may return
 * while the device still waits for the data, and nothing orders it before kernels of a stream that does not block. */
HT_LOCAL int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream);
static inline int ht_dev_upload(void *device, const void *host, size_t bytes) {
    return ht_dev_upload_on(device, host, bytes, NULL);
}
HT_LOCAL int ht_dev_download(void *host, const void *device, size_t bytes); /* device -> host, done on return */
HT_LOCAL int ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream);

HT_LOCAL int ht_dev_stream_create(void **stream);
HT_LOCAL int ht_dev_stream_destroy(void *stream);
HT_LOCAL int ht_dev_stream_sync(void *stream);
HT_LOCAL int ht_dev_is_capturing(void *stream, int *capturing);

HT_LOCAL int ht_dev_event_create(void **event);
HT_LOCAL int ht_dev_event_destroy(void *event);
HT_LOCAL int ht_dev_event_record(void *event, void *stream);
/* Waits for `end`; time between the two events. */
HT_LOCAL int ht_dev_event_elapsed_ms(void *start, void *end, double *ms);

#ifdef __cplusplus
}
#endif
#endif
