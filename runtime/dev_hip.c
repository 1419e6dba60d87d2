/* dev_hip.c: the device layer on AMD GPUs, by the HIP runtime's C interface. Meaning: ht_dev.h; the counterpart of
 * dev_cuda.c. Link with -lamdhip64. Never run on a GPU so far: none was at hand. */
#ifndef __HIP_PLATFORM_AMD__ /* hipcc says so for HIP sources, but not for C */
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht_dev.h"

static HT_THREAD_LOCAL char detail[256];

const char *ht_dev_detail(void) {
    return detail;
}

/* Takes the code out of the backend too, so that the user's next hipGetLastError is not answered with our failure. */
static int report(hipError_t error, const char *what) {
    if (error == hipSuccess)
        return HT_DEV_OK;
    (void)hipGetLastError();
    snprintf(detail, sizeof detail, "%s: %s (%s)", what, hipGetErrorString(error), hipGetErrorName(error));
    switch (error) {
    case hipErrorOutOfMemory:
        return HT_DEV_MEMORY;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
    case hipErrorInsufficientDriver:
    case hipErrorNotInitialized:
        return HT_DEV_NONE;
    default:
        return HT_DEV_FAILED;
    }
}

int ht_dev_check(int backend_code) {
    return report((hipError_t)backend_code, "kernel launch");
}

/* "gfx90a:sramecc+:xnack-": what follows gfx, hexadecimal, as in ht_set_desc.arch. */
static int arch_number(const char *name) {
    return strncmp(name, "gfx", 3) == 0 ? (int)strtol(name + 3, NULL, 16) : 0;
}

int ht_dev_open(const struct ht_set_desc *set, struct ht_dev_info *info) {
    (void)set;
    memset(info, 0, sizeof *info);
    info->backend = "HIP";
    int count = 0, device = 0;
    int code = report(hipGetDeviceCount(&count), "looking for GPUs");
    if (code != HT_DEV_OK)
        return HT_DEV_NONE;
    if (count == 0)
        return report(hipErrorNoDevice, "looking for GPUs");
    code = report(hipGetDevice(&device), "current device");
    hipDeviceProp_t properties;
    if (code == HT_DEV_OK)
        code = report(hipGetDeviceProperties(&properties, device), "device properties");
    if (code != HT_DEV_OK)
        return code;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->capability = arch_number(properties.gcnArchName);
    info->sms = properties.multiProcessorCount;
    info->memory_bytes = (int64_t)properties.totalGlobalMem;
    return HT_DEV_OK;
}

int ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    return report(hipMalloc(memory, bytes > 0 ? bytes : 1), "allocation");
}

int ht_dev_free(void *memory) {
    return memory == NULL ? HT_DEV_OK : report(hipFree(memory), "free");
}

int ht_dev_upload_on(void *device, const void *host, size_t bytes, void *stream) {
    const int code = report(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, (hipStream_t)stream), "copy to the device");
    return code == HT_DEV_OK ? report(hipStreamSynchronize((hipStream_t)stream), "copy to the device") : code;
}

int ht_dev_download(void *host, const void *device, size_t bytes) {
    return report(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost), "copy from the device");
}

int ht_dev_memset_async(void *device, int byte, size_t bytes, void *stream) {
    return report(hipMemsetAsync(device, byte, bytes, (hipStream_t)stream), "memset");
}

int ht_dev_stream_create(void **stream) {
    hipStream_t created = NULL;
    int code = report(hipStreamCreateWithFlags(&created, hipStreamNonBlocking), "stream");
    *stream = created;
    return code;
}

int ht_dev_stream_destroy(void *stream) {
    return report(hipStreamDestroy((hipStream_t)stream), "stream");
}

int ht_dev_stream_sync(void *stream) {
    return report(hipStreamSynchronize((hipStream_t)stream), "waiting for the stream");
}

int ht_dev_is_capturing(void *stream, int *capturing) {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    hipError_t error = hipStreamIsCapturing((hipStream_t)stream, &status);
    /* The null stream while another stream captures globally: it may not be used, so it counts as capturing. */
    if (error == hipErrorStreamCaptureImplicit) {
        (void)hipGetLastError();
        *capturing = 1;
        return HT_DEV_OK;
    }
    *capturing = status != hipStreamCaptureStatusNone;
    return report(error, "asking for stream capture");
}

int ht_dev_event_create(void **event) {
    hipEvent_t created = NULL;
    int code = report(hipEventCreate(&created), "event");
    *event = created;
    return code;
}

int ht_dev_event_destroy(void *event) {
    return report(hipEventDestroy((hipEvent_t)event), "event");
}

int ht_dev_event_record(void *event, void *stream) {
    return report(hipEventRecord((hipEvent_t)event, (hipStream_t)stream), "event");
}

int ht_dev_event_elapsed_ms(void *start, void *end, double *ms) {
    float elapsed = 0.0f;
    int code = report(hipEventSynchronize((hipEvent_t)end), "waiting for an event");
    if (code == HT_DEV_OK)
        code = report(hipEventElapsedTime(&elapsed, (hipEvent_t)start, (hipEvent_t)end), "event time");
    *ms = (double)elapsed;
    return code;
}
