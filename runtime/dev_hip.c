/* dev_hip.c: the device layer on AMD GPUs: HIP's names for dev_gpu.h. Link with -lamdhip64. Never run on a GPU so far:
 * none was at hand. */
#ifndef __HIP_PLATFORM_AMD__ /* hipcc says so for HIP sources, but not for C */
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GPU_BACKEND "HIP"
#define GPU(name) hip##name
#define GPU_HOST_ALLOC(memory, bytes) hipHostMalloc(memory, bytes, hipHostMallocDefault)
#define GPU_HOST_FREE hipHostFree
#define GPU_HAS_POOLS hipDeviceAttributeMemoryPoolsSupported
#define GPU_NO_MEMORY_ERROR hipErrorOutOfMemory
#define GPU_NO_DEVICE_ERRORS                                                                                 \
    hipErrorNoDevice, hipErrorInvalidDevice, hipErrorInsufficientDriver, hipErrorNotInitialized

typedef hipDeviceProp_t gpu_properties;
typedef hipMemPoolProps gpu_pool_properties;
typedef hipStreamCaptureStatus gpu_capture_status;

/* "gfx90a:sramecc+:xnack-": what follows gfx, hexadecimal, as in ht_set_desc.arch. */
static int gpu_capability(const gpu_properties *p) {
    return strncmp(p->gcnArchName, "gfx", 3) == 0 ? (int)strtol(p->gcnArchName + 3, NULL, 16) : 0;
}

/* 0, not known: kernels are for exactly this architecture. */
static int64_t gpu_smem_per_block(const gpu_properties *p) {
    (void)p;
    return 0;
}

#include "dev_gpu.h"
