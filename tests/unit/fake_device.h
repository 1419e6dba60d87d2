/* fake_device.h: the device layer as host memory, which counts calls, runs out on demand and can pretend to be
 * capturing. */
#ifndef TESTS_FAKE_DEVICE_H
#define TESTS_FAKE_DEVICE_H
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../test.h"

static struct {
    long calls, allocs, frees, syncs, memsets, alarms, launches, packs, gemms, reduces, inits[8], pack_inits, launched[8];
    int last_kernel, last_splits, largest_batch, largest_pack_batch, largest_pack_rows;
    int64_t packed_entries, packed_rows;
    size_t limit_bytes, last_alloc_bytes;
    bool capturing, dry; /* dry: launches are only counted */
    bool has_pool, elsewhere;
    long asked, device_syncs, pool_allocs, pool_frees, pools, trims, fail_after; /* fail_after: allocations; 0: none fails */
    size_t held_bytes;    /* by cudaMalloc, as it were */
    void *pool_stream;    /* of what the pool gave and has not got back */
    const void *last_pool;
    void *stream;        /* where uploads belong */
    const char *gone;    /* so many streams from here on are destroyed */
    long gone_count;
    long uploads_elsewhere;
    int open_code, launch_code, init_code, capability;
    long fail_launch; /* this one from here on, of products and reductions; 0: none */
    long fail_init;   /* likewise of kernels */
    int64_t smem_per_block;
    struct ht_pack_args pack_log[4]; /* the last four, newest first */
    struct ht_gemm_args last_args;
} dev;

static char dev_text[64];

const char *ht_dev_detail(void) {
    return dev_text;
}

static inline int dev_report(int code, const char *text) {
    if (code != HT_DEV_OK)
        snprintf(dev_text, sizeof dev_text, "%s", text);
    return code;
}

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    (void)set;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "fake device");
    info->has_pool = dev.has_pool;
    info->capability = dev.capability;
    info->smem_per_block = dev.smem_per_block;
    return dev_report(dev.open_code, "no driver");
}

int ht_dev_check(int backend_code) {
    return dev_report(backend_code, "fake launch failed");
}

enum { BEFORE_BLOCK = 1024 }; /* where its size is kept */

static inline bool refuses(size_t bytes) {
    return bytes > dev.limit_bytes || (dev.fail_after > 0 && --dev.fail_after == 0);
}

static inline void *block_of(size_t bytes) {
    char *block = aligned_alloc(BEFORE_BLOCK, BEFORE_BLOCK + (bytes + BEFORE_BLOCK - 1) / BEFORE_BLOCK * BEFORE_BLOCK);
    assert_non_null(block);
    memcpy(block, &bytes, sizeof bytes);
    if (!dev.dry)
        memset(block + BEFORE_BLOCK, 0xff, bytes); /* NaN */
    return block + BEFORE_BLOCK;
}

static inline size_t bytes_of(const void *memory) {
    size_t bytes;
    memcpy(&bytes, (const char *)memory - BEFORE_BLOCK, sizeof bytes);
    return bytes;
}

/* What comes next in the same place must not find its old contents. */
static inline void drop_block(void *memory) {
    if (memory == NULL)
        return;
    if (!dev.dry)
        memset(memory, 0xff, bytes_of(memory));
    free((char *)memory - BEFORE_BLOCK);
}

int ht_dev_alloc(void **memory, size_t bytes) {
    dev.calls++;
    *memory = NULL;
    assert_false(dev.capturing);
    if (refuses(bytes))
        return dev_report(HT_DEV_MEMORY, "fake card is full");
    *memory = block_of(bytes);
    dev.allocs++;
    dev.last_alloc_bytes = bytes;
    dev.held_bytes += bytes;
    return HT_DEV_OK;
}

int ht_dev_free(void *memory) {
    dev.calls++;
    dev.frees += memory != NULL;
    dev.held_bytes -= memory != NULL ? bytes_of(memory) : 0;
    drop_block(memory);
    return HT_DEV_OK;
}

int ht_dev_sync(void) {
    dev.calls++;
    dev.device_syncs++;
    assert_false(dev.capturing);
    return HT_DEV_OK;
}

int ht_dev_pool_create(void **pool) {
    dev.calls++;
    *pool = NULL;
    if (refuses(0))
        return dev_report(HT_DEV_MEMORY, "fake card has no room for a pool");
    *pool = &dev.pools;
    dev.pools++;
    return HT_DEV_OK;
}

int ht_dev_pool_destroy(void *pool) {
    dev.pools -= pool != NULL;
    return HT_DEV_OK;
}

int ht_dev_pool_trim(void *pool) {
    dev.trims += pool != NULL;
    return HT_DEV_OK;
}

int ht_dev_pool_alloc(void *pool, void **memory, size_t bytes, void *stream) {
    dev.calls++;
    *memory = NULL;
    if (refuses(bytes))
        return dev_report(HT_DEV_MEMORY, "fake pool is empty");
    *memory = block_of(bytes);
    dev.pool_allocs++;
    dev.pool_stream = stream;
    dev.last_pool = pool;
    return HT_DEV_OK;
}

int ht_dev_pool_free(void *memory, void *stream) {
    dev.calls++;
    dev.pool_frees++;
    assert_non_null(memory);
    assert_ptr_equal(stream, dev.pool_stream);
    drop_block(memory);
    return HT_DEV_OK;
}

int ht_dev_copy_out(void *pinned, const void *memory, size_t bytes, void *stream) {
    (void)stream;
    dev.calls++;
    memcpy(pinned, memory, bytes);
    return HT_DEV_OK;
}

int ht_dev_memset_async(void *memory, int byte, size_t bytes, void *stream) {
    (void)stream;
    dev.calls++;
    dev.memsets += byte != 0; /* a meeting place; a workspace's alarms become 0 */
    dev.alarms += byte == 0;
    if (!dev.dry)
        memset(memory, byte, bytes);
    return HT_DEV_OK;
}

static inline void assert_is_there(const void *stream) {
    assert_false(dev.gone != NULL && (const char *)stream >= dev.gone && (const char *)stream < dev.gone + dev.gone_count);
}

int ht_dev_stream_sync(void *stream) {
    assert_is_there(stream);
    dev.calls++;
    dev.syncs++;
    return HT_DEV_OK;
}

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    dev.calls++;
    dev.uploads_elsewhere += stream != dev.stream;
    memcpy(device, host, bytes);
    return HT_DEV_OK;
}

int ht_dev_download(void *host, const void *device, size_t bytes) {
    dev.calls++;
    memcpy(host, device, bytes);
    return HT_DEV_OK;
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    assert_is_there(stream);
    dev.calls++;
    dev.asked++;
    *capturing = dev.capturing ? dev.elsewhere ? 2 : 1 : 0;
    return HT_DEV_OK;
}

#endif
