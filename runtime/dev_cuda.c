/* dev_cuda.c: the device layer on NVIDIA GPUs, by the CUDA runtime's C interface. Meaning: ht_dev.h. A dev_* file
 * alone sees a vendor header; compile with -I$CUDA/include, link with -lcudart_static -ldl
 * -lrt -lpthread. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "ht_dev.h"

static HT_THREAD_LOCAL char detail[256];

const char *ht_dev_detail(void) {
    return detail;
}

/* Takes the code out of the backend too, so that the user's next cudaGetLastError is not answered with our
 * failure. */
static int report(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return HT_DEV_OK;
    (void)cudaGetLastError();
    snprintf(detail, sizeof detail, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
    switch (error) {
    case cudaErrorMemoryAllocation:
        return HT_DEV_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorInitializationError:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorDevicesUnavailable:
        return HT_DEV_NONE;
    default:
        return HT_DEV_FAILED;
    }
}

int ht_dev_check(int backend_code) {
    return report((cudaError_t)backend_code, "kernel launch");
}

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    (void)set;
    memset(info, 0, sizeof *info);
    info->backend = "CUDA";
    int count = 0, device = 0;
    int code = report(cudaGetDeviceCount(&count), "looking for GPUs");
    if (code != HT_DEV_OK)
        return HT_DEV_NONE;
    if (count == 0)
        return report(cudaErrorNoDevice, "looking for GPUs");
    code = report(cudaGetDevice(&device), "current device");
    struct cudaDeviceProp properties;
    if (code == HT_DEV_OK)
        code = report(cudaGetDeviceProperties(&properties, device), "device properties");
    if (code != HT_DEV_OK)
        return code;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability = properties.major * 100 + properties.minor * 10;
    info->sms = properties.multiProcessorCount;
    info->memory_bytes = (int64_t)properties.totalGlobalMem;
    info->smem_per_block = (int64_t)properties.sharedMemPerBlockOptin;
    return HT_DEV_OK;
}

int ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    return report(cudaMalloc(memory, bytes > 0 ? bytes : 1), "allocation");
}

int ht_dev_free(void *memory) {
    return memory == NULL ? HT_DEV_OK : report(cudaFree(memory), "free");
}

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    const int code = report(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream), "copy to the device");
    return code == HT_DEV_OK ? report(cudaStreamSynchronize((cudaStream_t)stream), "copy to the device") : code;
}

int ht_dev_download(void *host, const void *device, size_t bytes) {
    return report(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

int ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream) {
    return report(cudaMemsetAsync(device, byte, bytes, (cudaStream_t)stream), "memset");
}

int ht_dev_stream_create(void **stream) {
    cudaStream_t created = NULL;
    int code = report(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "stream");
    *stream = created;
    return code;
}

int ht_dev_stream_destroy(void *stream) {
    return report(cudaStreamDestroy((cudaStream_t)stream), "stream");
}

int ht_dev_stream_sync(void *stream) {
    return report(cudaStreamSynchronize((cudaStream_t)stream), "waiting for the stream");
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing((cudaStream_t)stream, &status);
    /* The null stream while another stream captures globally: it may not be used, so it counts as capturing.
     */
    if (error == cudaErrorStreamCaptureImplicit) {
        (void)cudaGetLastError();
        *capturing = 1;
        return HT_DEV_OK;
    }
    *capturing = status != cudaStreamCaptureStatusNone;
    return report(error, "asking for stream capture");
}

int ht_dev_event_create(void **event) {
    cudaEvent_t created = NULL;
    int code = report(cudaEventCreate(&created), "event");
    *event = created;
    return code;
}

int ht_dev_event_destroy(void *event) {
    return report(cudaEventDestroy((cudaEvent_t)event), "event");
}

int ht_dev_event_record(void *event, void *stream) {
    return report(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream), "event");
}

int ht_dev_event_elapsed_ms(void *start, void *end, double *ms) {
    float elapsed = 0.0f;
    int code = report(cudaEventSynchronize((cudaEvent_t)end), "waiting for an event");
    if (code == HT_DEV_OK)
        code = report(cudaEventElapsedTime(&elapsed, (cudaEvent_t)start, (cudaEvent_t)end), "event time");
    *ms = (double)elapsed;
    return code;
}
