/* sim_cuda: the simulator behind the names of the CUDA runtime; see cuda/cuda_runtime_api.h. */
#include "cuda/cuda_runtime_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sim_api.h"

enum { ALIGNMENT = 256 }; /* also the space before a block, where its size is kept */

static __thread cudaError_t last_error;

static cudaError_t keep(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
        return "cudaErrorNoDevice";
    default:
        return "cudaError of the simulator";
    }
}

const char *cudaGetErrorString(cudaError_t error) {
    if (ht_sim_error()[0] != '\0')
        return ht_sim_error();
    return ht_sim_set_model(NULL) == HT_SIM_BAD_ENVIRONMENT ? HT_SIM_BAD_MODEL : cudaGetErrorName(error);
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

/* "sm90" or another word after "sm"; NULL: no device. */
static const char *wished_device(void) {
    const char *wish = getenv("HALFTONE_SIM_DEVICE");
    if (wish == NULL || wish[0] == '\0')
        return "sm80";
    return strncmp(wish, "sm", 2) == 0 && atoi(wish + 2) >= 10 ? wish : NULL;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = wished_device() != NULL;
    return keep(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return keep(wished_device() != NULL ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    const char *wish = wished_device();
    if (wish == NULL || device != 0)
        return keep(cudaErrorNoDevice);
    memset(properties, 0, sizeof *properties);
    snprintf(properties->name, sizeof properties->name, "simulator of %s", wish);
    properties->major = atoi(wish + 2) / 10;
    properties->minor = atoi(wish + 2) % 10;
    properties->multiProcessorCount = 108;
    properties->totalGlobalMem = (size_t)4 << 30;
    return keep(ht_sim_set_model(wish) == HT_SIM_BAD_ENVIRONMENT ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    *value = attribute == cudaDevAttrMemoryPoolsSupported && device == 0;
    return keep(device == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize(void) {
    return keep(ht_sim_error()[0] != '\0' ? cudaErrorLaunchFailure : cudaSuccess);
}

/* Pages of its own: who uses the block when it is free is told. */
cudaError_t cudaMalloc(void **memory, size_t bytes) {
    const size_t size = bytes + ALIGNMENT;
    void *const pages = size > bytes ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    *memory = NULL;
    if (pages == MAP_FAILED)
        return keep(cudaErrorMemoryAllocation);
    memset(pages, 0xff, size); /* NaN: a result that depends on it shows */
    memcpy(pages, &size, sizeof size);
    *memory = (char *)pages + ALIGNMENT;
    if (ht_sim_register(*memory, bytes) == 0)
        return cudaSuccess;
    (void)munmap(pages, size);
    *memory = NULL;
    return keep(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory) {
    size_t size;
    if (memory == NULL)
        return cudaSuccess;
    ht_sim_unregister(memory);
    memcpy(&size, (char *)memory - ALIGNMENT, sizeof size);
    (void)munmap((char *)memory - ALIGNMENT, size);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    *memory = malloc(bytes > 0 ? bytes : 1);
    return keep(*memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory) {
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    (void)pool, (void)stream;
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    (void)stream;
    return cudaFree(memory);
}

/* Nothing is kept: a pool needs an address of its own. */
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    (void)properties;
    *pool = (cudaMemPool_t)malloc(1);
    return keep(*pool != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    free(pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    (void)attribute;
    return keep(pool != NULL && value != NULL ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least) {
    (void)least;
    return keep(pool != NULL ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    (void)kind;
    memcpy(to, from, bytes);
    return cudaDeviceSynchronize();
}

cudaError_t cudaMemset(void *memory, int byte, size_t bytes) {
    memset(memory, byte, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return cudaMemset(memory, byte, bytes);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    (void)flags;
    *stream = (cudaStream_t)malloc(1); /* an address of its own */
    return keep(*stream != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    return cudaDeviceSynchronize();
}

/* Everything was done when it was given. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    (void)stream;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

struct CUevent_st {
    struct timespec time;
};

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return keep(*event != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)stream;
    return keep(timespec_get(&event->time, TIME_UTC) == TIME_UTC ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
    *ms = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 +
                  (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
    return cudaSuccess;
}
