// samples/machine.h: what the generator puts before every template, for nvcc, a HIP compiler or the simulator.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#elif !defined(HT_SIMULATOR)
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi64.h"
#ifdef __HIP__
#include "../hooks/prim/hip.cuh"
#include "../hooks/prim/crt_hip.cuh"
#elif !defined(HT_SIMULATOR)
#include "../hooks/prim/cuda.cuh"
#include "../hooks/prim/crt_cuda.cuh"
#endif
