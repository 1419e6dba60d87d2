/* dev_cuda.c: the device layer on NVIDIA GPUs: CUDA's names for dev_gpu.h. Compile with -I$CUDA/include, link with
 * -lcudart_static -ldl -lrt -lpthread. */
#include <cuda_runtime_api.h>
#include <stdint.h>

#define GPU_BACKEND "CUDA"
#define GPU(name) cuda##name
#define GPU_HOST_ALLOC(memory, bytes) cudaHostAlloc(memory, bytes, cudaHostAllocDefault)
#define GPU_HOST_FREE cudaFreeHost
#define GPU_HAS_POOLS cudaDevAttrMemoryPoolsSupported
#define GPU_NO_MEMORY_ERROR cudaErrorMemoryAllocation
#define GPU_NO_DEVICE_ERRORS                                                                                 \
    cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorStubLibrary, cudaErrorInitializationError,      \
        cudaErrorSystemNotReady, cudaErrorSystemDriverMismatch, cudaErrorDevicesUnavailable

typedef struct cudaDeviceProp gpu_properties;
typedef struct cudaMemPoolProps gpu_pool_properties;
typedef enum cudaStreamCaptureStatus gpu_capture_status;

static int gpu_capability(const gpu_properties *p) {
    return p->major * 100 + p->minor * 10;
}

static int64_t gpu_smem_per_block(const gpu_properties *p) {
    return (int64_t)p->sharedMemPerBlockOptin;
}

#include "dev_gpu.h"
