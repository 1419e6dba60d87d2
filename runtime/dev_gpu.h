/* dev_gpu.h: the device layer of both vendors' runtimes, whose C interfaces differ in names alone. Meaning:
 * ht_dev.h.
 *
 * dev_cuda.c and dev_hip.c include it behind their vendor's header and what differs: GPU(Name),
 * GPU_HOST_ALLOC, GPU_HOST_FREE, GPU_BACKEND, the types gpu_properties, gpu_pool_properties and gpu_capture_status, gpu_capability and
 * gpu_smem_per_block of a card, the attribute GPU_HAS_POOLS, and the errors GPU_NO_MEMORY_ERROR and
 * GPU_NO_DEVICE_ERRORS. */
#include <stdio.h>
#include <string.h>

#include "ht_dev.h"

typedef GPU(Stream_t) gpu_stream;

static HT_THREAD_LOCAL char detail[256];

const char *ht_dev_detail(void) {
    return detail;
}

/* Takes the code out of the backend too, so that the user's next question for the last error is not
 * answered with our failure. */
static int report(GPU(Error_t) error, const char *what) {
    static const GPU(Error_t) no_device[] = {GPU_NO_DEVICE_ERRORS};
    if (error == GPU(Success))
        return HT_DEV_OK;
    (void)GPU(GetLastError)();
    snprintf(detail, sizeof detail, "%s: %s (%s)", what, GPU(GetErrorString)(error),
             GPU(GetErrorName)(error));
    if (error == GPU_NO_MEMORY_ERROR)
        return HT_DEV_MEMORY;
    for (size_t i = 0; i < sizeof no_device / sizeof *no_device; i++)
        if (error == no_device[i])
            return HT_DEV_NONE;
    return HT_DEV_FAILED;
}

int ht_dev_check(int backend_code) {
    return report((GPU(Error_t))backend_code, "kernel launch");
}

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    (void)set;
    memset(info, 0, sizeof *info);
    info->backend = GPU_BACKEND;
    int count = 0, device = 0;
    int code = report(GPU(GetDeviceCount)(&count), "looking for GPUs");
    if (code != HT_DEV_OK)
        return HT_DEV_NONE;
    if (count == 0)
        return report(GPU(ErrorNoDevice), "looking for GPUs");
    code = report(GPU(GetDevice)(&device), "current device");
    gpu_properties properties;
    if (code == HT_DEV_OK)
        code = report(GPU(GetDeviceProperties)(&properties, device), "device properties");
    if (code != HT_DEV_OK)
        return code;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability = gpu_capability(&properties);
    info->sms = properties.multiProcessorCount;
    info->memory_bytes = (int64_t)properties.totalGlobalMem;
    info->smem_per_block = gpu_smem_per_block(&properties);
    return report(GPU(DeviceGetAttribute)(&info->has_pool, GPU_HAS_POOLS, device), "device properties");
}

int ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    return report(GPU(Malloc)(memory, bytes > 0 ? bytes : 1), "allocation");
}

int ht_dev_free(void *memory) {
    return memory == NULL ? HT_DEV_OK : report(GPU(Free)(memory), "free");
}

/* Its threshold is how much stays when the host waits: all, for the next call would map it again. */
int ht_dev_pool_create(void **pool) {
    GPU(MemPool_t) created = NULL;
    uint64_t threshold = UINT64_MAX;
    gpu_pool_properties p;
    *pool = NULL;
    memset(&p, 0, sizeof p);
    p.allocType = GPU(MemAllocationTypePinned);
    p.handleTypes = GPU(MemHandleTypeNone);
    p.location.type = GPU(MemLocationTypeDevice);
    int code = report(GPU(GetDevice)(&p.location.id), "current device");
    if (code == HT_DEV_OK)
        code = report(GPU(MemPoolCreate)(&created, &p), "memory pool");
    if (code != HT_DEV_OK)
        return code;
    code = report(GPU(MemPoolSetAttribute)(created, GPU(MemPoolAttrReleaseThreshold), &threshold),
                  "memory pool");
    if (code == HT_DEV_OK)
        *pool = created;
    else
        (void)GPU(MemPoolDestroy)(created);
    return code;
}

int ht_dev_pool_destroy(void *pool) {
    return pool == NULL ? HT_DEV_OK : report(GPU(MemPoolDestroy)((GPU(MemPool_t))pool), "memory pool");
}

int ht_dev_pool_alloc(void *pool, void **memory, size_t bytes, void *stream) {
    const size_t some = bytes > 0 ? bytes : 1;
    *memory = NULL;
    return report(pool == NULL
                      ? GPU(MallocAsync)(memory, some, (gpu_stream)stream)
                      : GPU(MallocFromPoolAsync)(memory, some, (GPU(MemPool_t))pool, (gpu_stream)stream),
                  "allocation on the stream");
}

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    const int code =
        report(GPU(MemcpyAsync)(device, host, bytes, GPU(MemcpyHostToDevice), (gpu_stream)stream),
               "copy to the device");
    return code == HT_DEV_OK ? report(GPU(StreamSynchronize)((gpu_stream)stream), "copy to the device")
                             : code;
}

int ht_dev_host_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    return report(GPU_HOST_ALLOC(memory, bytes > 0 ? bytes : 1), "allocation of pinned host memory");
}

int ht_dev_host_free(void *memory) {
    return memory == NULL ? HT_DEV_OK : report(GPU_HOST_FREE(memory), "free of pinned host memory");
}

int ht_dev_stream_create(void **stream) {
    GPU(Stream_t) created = NULL;
    int code = report(GPU(StreamCreateWithFlags)(&created, GPU(StreamNonBlocking)), "stream");
    *stream = created;
    return code;
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    gpu_capture_status status = GPU(StreamCaptureStatusNone);
    GPU(Error_t) error = GPU(StreamIsCapturing)((gpu_stream)stream, &status);
    /* The null stream while another stream captures globally. */
    if (error == GPU(ErrorStreamCaptureImplicit)) {
        (void)GPU(GetLastError)();
        *capturing = 2;
        return HT_DEV_OK;
    }
    *capturing = status != GPU(StreamCaptureStatusNone);
    return report(error, "asking for stream capture");
}

int ht_dev_event_create(void **event) {
    GPU(Event_t) created = NULL;
    int code = report(GPU(EventCreate)(&created), "event");
    *event = created;
    return code;
}

int ht_dev_event_elapsed_ms(void *start, void *end, double *ms) {
    float elapsed = 0.0f;
    int code = report(GPU(EventSynchronize)((GPU(Event_t))end), "waiting for an event");
    if (code == HT_DEV_OK)
        code = report(GPU(EventElapsedTime)(&elapsed, (GPU(Event_t))start, (GPU(Event_t))end), "event time");
    *ms = (double)elapsed;
    return code;
}

/* Functions that are one call of the backend's, and what it is called when it fails. */
#define GPU_CALL(declaration, call, what)                                                                    \
    int declaration {                                                                                        \
        return report(call, what);                                                                           \
    }
GPU_CALL(ht_dev_sync(void), GPU(DeviceSynchronize)(), "waiting for the device")
GPU_CALL(ht_dev_pool_trim(void *pool), GPU(MemPoolTrimTo)((GPU(MemPool_t))pool, 0), "memory pool")
GPU_CALL(ht_dev_pool_free(void *memory, void *stream), GPU(FreeAsync)(memory, (gpu_stream)stream),
         "free on the stream")
GPU_CALL(ht_dev_download(void *host, const void *device, size_t bytes),
         GPU(Memcpy)(host, device, bytes, GPU(MemcpyDeviceToHost)), "copy from the device")
GPU_CALL(ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream),
         GPU(MemsetAsync)(device, byte, bytes, (gpu_stream)stream), "memset")
GPU_CALL(ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream),
         GPU(MemcpyAsync)(device, pinned, bytes, GPU(MemcpyHostToDevice), (gpu_stream)stream),
         "copy to the device")
GPU_CALL(ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream),
         GPU(MemcpyAsync)(pinned, device, bytes, GPU(MemcpyDeviceToHost), (gpu_stream)stream),
         "copy from the device")
GPU_CALL(ht_dev_stream_destroy(void *stream), GPU(StreamDestroy)((gpu_stream)stream), "stream")
GPU_CALL(ht_dev_stream_sync(void *stream), GPU(StreamSynchronize)((gpu_stream)stream),
         "waiting for the stream")
GPU_CALL(ht_dev_event_destroy(void *event), GPU(EventDestroy)((GPU(Event_t))event), "event")
GPU_CALL(ht_dev_event_record(void *event, void *stream),
         GPU(EventRecord)((GPU(Event_t))event, (gpu_stream)stream), "event")
GPU_CALL(ht_dev_stream_wait(void *stream, void *event),
         GPU(StreamWaitEvent)((gpu_stream)stream, (GPU(Event_t))event, 0), "waiting for an event")
GPU_CALL(ht_dev_event_sync(void *event), GPU(EventSynchronize)((GPU(Event_t))event), "waiting for an event")
