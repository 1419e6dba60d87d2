/* fake_hip: a HIP runtime of host memory and one card whose name the test chooses, so that runtime/dev_hip.c and what
 * lies above it run without AMD's. Prints what went wrong; exit 0: nothing. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halftone.h"
#include "ht_dev.h"

static const char *card = "gfx90a:sramecc+:xnack-"; /* NULL: none */
static int pending;                                 /* what hipGetLastError would say */
static int wrong;

static hipError_t say(hipError_t code) {
    pending = (int)code;
    return code;
}

hipError_t hipGetLastError(void) {
    const int code = pending;
    pending = 0;
    return (hipError_t)code;
}
const char *hipGetErrorString(hipError_t error) {
    return error == hipSuccess ? "fine" : "not fine";
}
const char *hipGetErrorName(hipError_t error) {
    return error == hipErrorOutOfMemory ? "hipErrorOutOfMemory" : "some error";
}
hipError_t hipGetDeviceCount(int *count) {
    *count = card != NULL;
    return card != NULL ? hipSuccess : say(hipErrorNoDevice);
}
hipError_t hipGetDevice(int *device) {
    *device = 0;
    return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device) {
    (void)device;
    memset(p, 0, sizeof *p);
    strcpy(p->name, "fake card");
    strcpy(p->gcnArchName, card);
    p->multiProcessorCount = 104;
    p->totalGlobalMem = (size_t)1 << 36;
    return hipSuccess;
}
hipError_t hipMalloc(void **p, size_t bytes) {
    *p = bytes < (size_t)1 << 30 ? malloc(bytes) : NULL;
    return *p != NULL ? hipSuccess : say(hipErrorOutOfMemory);
}
hipError_t hipFree(void *p) {
    free(p);
    return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device) {
    *value = attribute == hipDeviceAttributeMemoryPoolsSupported && device == 0;
    return hipSuccess;
}
hipError_t hipDeviceSynchronize(void) {
    return hipSuccess;
}

/* One pool, whose memory is the stream's that it was allocated on. */
static struct {
    int pools, threshold_is_most, from_pool;
    hipStream_t stream;
} pool;

hipError_t hipMemPoolCreate(hipMemPool_t *created, const hipMemPoolProps *p) {
    const int right = p->allocType == hipMemAllocationTypePinned && p->handleTypes == hipMemHandleTypeNone &&
                      p->location.type == hipMemLocationTypeDevice && p->location.id == 0;
    *created = (hipMemPool_t)(void *)&pool;
    pool.pools += right;
    return right ? hipSuccess : say(hipErrorInvalidValue);
}
hipError_t hipMemPoolDestroy(hipMemPool_t gone) {
    pool.pools--;
    return gone == (hipMemPool_t)(void *)&pool ? hipSuccess : say(hipErrorInvalidValue);
}
hipError_t hipMemPoolSetAttribute(hipMemPool_t of, hipMemPoolAttr attribute, void *value) {
    pool.threshold_is_most = attribute == hipMemPoolAttrReleaseThreshold && *(uint64_t *)value == UINT64_MAX;
    return of == (hipMemPool_t)(void *)&pool ? hipSuccess : say(hipErrorInvalidValue);
}
hipError_t hipMemPoolTrimTo(hipMemPool_t of, size_t least) {
    return of == (hipMemPool_t)(void *)&pool && least == 0 ? hipSuccess : say(hipErrorInvalidValue);
}
hipError_t hipMallocAsync(void **p, size_t bytes, hipStream_t stream) {
    pool.stream = stream;
    pool.from_pool = 0;
    return hipMalloc(p, bytes);
}
hipError_t hipMallocFromPoolAsync(void **p, size_t bytes, hipMemPool_t from, hipStream_t stream) {
    const hipError_t code = hipMallocAsync(p, bytes, stream);
    pool.from_pool = from == (hipMemPool_t)(void *)&pool;
    return code;
}
hipError_t hipFreeAsync(void *p, hipStream_t stream) {
    return stream == pool.stream ? hipFree(p) : say(hipErrorInvalidValue);
}

/* Copies to the card are done when somebody has waited for their stream, as late as the manual allows: also those of
 * hipMemcpy, which returns as soon as pageable memory has been read. */
static struct {
    void *to;
    unsigned char staged[64];
    size_t bytes;
    hipStream_t stream;
} copy;

static hipError_t stage(void *to, const void *from, size_t bytes, hipStream_t stream) {
    copy.to = to;
    copy.bytes = bytes < sizeof copy.staged ? bytes : sizeof copy.staged;
    copy.stream = stream;
    memcpy(copy.staged, from, copy.bytes);
    return hipSuccess;
}
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    if (kind == hipMemcpyHostToDevice)
        return stage(to, from, bytes, stream);
    copy.stream = stream;
    memcpy(to, from, bytes);
    return kind == hipMemcpyDeviceToHost ? hipSuccess : say(hipErrorInvalidValue);
}
hipError_t hipHostMalloc(void **p, size_t bytes, unsigned flags) {
    return flags == hipHostMallocDefault ? hipMalloc(p, bytes) : say(hipErrorInvalidValue);
}
hipError_t hipHostFree(void *p) {
    return hipFree(p);
}
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    if (kind == hipMemcpyHostToDevice)
        return stage(to, from, bytes, NULL);
    memcpy(to, from, bytes);
    return hipSuccess;
}
hipError_t hipMemsetAsync(void *to, int byte, size_t bytes, hipStream_t stream) {
    (void)stream;
    memset(to, byte, bytes);
    return hipSuccess;
}
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
    *stream = flags == hipStreamNonBlocking ? (hipStream_t)(void *)&card : NULL;
    return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
    return stream != NULL ? hipSuccess : say(hipErrorInvalidHandle);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
    if (copy.to != NULL && copy.stream == stream) {
        memcpy(copy.to, copy.staged, copy.bytes);
        copy.to = NULL;
    }
    return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
    *status = stream != NULL ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return stream != NULL ? hipSuccess : say(hipErrorStreamCaptureImplicit);
}
hipError_t hipEventCreate(hipEvent_t *event) {
    *event = (hipEvent_t)(void *)&card;
    return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
    (void)event;
    return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    (void)event, (void)stream;
    return hipSuccess;
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
    return stream != NULL && event != NULL && flags == 0 ? hipSuccess : say(hipErrorInvalidHandle);
}
hipError_t hipEventSynchronize(hipEvent_t event) {
    (void)event;
    return hipSuccess;
}
hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t end) {
    (void)start, (void)end;
    *ms = 1.5f;
    return hipSuccess;
}

/* ---- a set without kernels */
static const struct ht_scheme_desc schemes[] = {{.name = "f16x3"}};
static const struct ht_set_desc set = {.gpu = "mi210",
                                       .isa = "gfx90a",
                                       .version = "test",
                                       .arch = 0x90a,
                                       .arch_exact = 1,
                                       .schemes = 1,
                                       .scheme = schemes,
                                       .role = {"f16x3", "bf16x6u"}};
const struct ht_set_desc *const ht_sets[] = {&set, NULL};

static void expect(const char *what, int found, int wanted) {
    if (found == wanted)
        return;
    printf("%s: %d, not %d\n", what, found, wanted);
    wrong = 1;
}

static char detail[256];
static int create(const char *name) {
    halftone *h = NULL;
    card = name;
    const int code = halftone_create(&h);
    snprintf(detail, sizeof detail, "%s", halftone_last_detail(NULL));
    halftone_destroy(h);
    return code;
}

int main(void) {
    struct ht_dev_info info;
    void *memory = NULL, *stream = NULL, *event = NULL, *own = NULL;
    int capturing = 0;
    double ms = 0;
    expect("an MI210", create("gfx90a:sramecc+:xnack-"), HALFTONE_OK);
    expect("an MI100", create("gfx908:sramecc+:xnack-"), HALFTONE_WRONG_GPU);
    expect("what it is", strstr(detail, " has architecture gfx908; this library has kernels for mi210 (gfx90a, gfx90a only)") != NULL, 1);
    expect("an MI300X", create("gfx942"), HALFTONE_WRONG_GPU);
    expect("a card without a name", create(""), HALFTONE_WRONG_GPU);
    expect("no card", create(NULL), HALFTONE_NO_GPU);
    card = "gfx90a";
    expect("open", ht_dev_open(&set, &info), HT_DEV_OK);
    expect("architecture", info.capability, 0x90a);
    expect("CUs", info.sms, 104);
    expect("simulated", info.simulated, 0);
    expect("allocation", ht_dev_alloc(&memory, 16), HT_DEV_OK);
    memset(memory, '?', 16);
    expect("upload", ht_dev_upload(memory, "0123456789abcde", 16), HT_DEV_OK);
    expect("upload is done", memcmp(memory, "0123456789abcde", 16), 0);
    expect("upload on a stream", ht_dev_upload_on((char *)memory + 4, "xxxx", 4, &card), HT_DEV_OK);
    expect("upload on a stream is done", memcmp(memory, "0123xxxx89abcde", 16), 0);
    expect("its stream", copy.stream == (hipStream_t)(void *)&card, 1);
    expect("upload", ht_dev_upload(memory, "0123456789abcde", 16), HT_DEV_OK);
    expect("memset", ht_dev_memset_async(memory, 'x', 4, NULL), HT_DEV_OK);
    char back[16];
    expect("download", ht_dev_download(back, memory, 16), HT_DEV_OK);
    expect("bytes", memcmp(back, "xxxx456789abcde", 16), 0);
    expect("free", ht_dev_free(memory), HT_DEV_OK);
    expect("too much", ht_dev_alloc(&memory, (size_t)1 << 40), HT_DEV_MEMORY);
    expect("its words", strstr(ht_dev_detail(), "hipErrorOutOfMemory") != NULL, 1);
    expect("left behind", pending, 0);
    expect("pools", info.has_pool, 1);
    expect("device's pool", ht_dev_pool_alloc(NULL, &memory, 64, &card) + pool.from_pool, HT_DEV_OK);
    expect("its free", ht_dev_pool_free(memory, &card), HT_DEV_OK);
    expect("own pool", ht_dev_pool_create(&own) + (pool.pools != 1 || !pool.threshold_is_most), HT_DEV_OK);
    expect("from it", ht_dev_pool_alloc(own, &memory, 64, NULL) + !pool.from_pool, HT_DEV_OK);
    expect("its free", ht_dev_pool_free(memory, NULL) + ht_dev_pool_trim(own) + ht_dev_sync(), HT_DEV_OK);
    expect("too much of it", ht_dev_pool_alloc(own, &memory, (size_t)1 << 40, NULL), HT_DEV_MEMORY);
    expect("pool goes", ht_dev_pool_destroy(own) + pool.pools + ht_dev_pool_destroy(NULL), HT_DEV_OK);
    expect("pinned memory", ht_dev_host_alloc(&memory, 8), HT_DEV_OK);
    expect("copy out", ht_dev_copy_out(memory, "01234567", 8, &card) + memcmp(memory, "01234567", 8), 0);
    copy.stream = NULL;
    expect("copy in", ht_dev_copy_in(back, memory, 8, &card) + (copy.stream != (hipStream_t)(void *)&card), 0);
    expect("pinned memory goes", ht_dev_host_free(memory) + ht_dev_host_free(NULL), HT_DEV_OK);
    expect("too much of it", ht_dev_host_alloc(&memory, (size_t)1 << 40), HT_DEV_MEMORY);
    expect("failed launch", ht_dev_check(hipErrorLaunchFailure), HT_DEV_FAILED);
    expect("stream", ht_dev_stream_create(&stream), HT_DEV_OK);
    expect("sync", ht_dev_stream_sync(stream), HT_DEV_OK);
    expect("capture", ht_dev_is_capturing(stream, &capturing) + capturing, 1);
    capturing = 0;
    expect("capture elsewhere", ht_dev_is_capturing(NULL, &capturing) + capturing, 2);
    expect("stream goes", ht_dev_stream_destroy(stream), HT_DEV_OK);
    expect("no stream goes", ht_dev_stream_destroy(NULL), HT_DEV_FAILED);
    expect("event", ht_dev_event_create(&event) + ht_dev_event_record(event, NULL), HT_DEV_OK);
    expect("wait", ht_dev_stream_wait(&card, event) + ht_dev_event_sync(event), HT_DEV_OK);
    expect("no stream waits", ht_dev_stream_wait(NULL, event), HT_DEV_FAILED);
    expect("time", ht_dev_event_elapsed_ms(event, event, &ms) + (ms != 1.5), 0);
    expect("event goes", ht_dev_event_destroy(event), HT_DEV_OK);
    return wrong;
}
