// samples/fp64_tile.h: what the generator puts before fp64_tile, so that the template compiles by itself: on
// sm_80, or for a HIP compiler on gfx90a.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#elif !defined(HT_SIMULATOR)
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi64.h"
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 3, MIN_BLOCKS = 2;
#ifndef __HIP__
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#endif
constexpr int WAVE = 32;
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/sm80_dmma.cuh"
#include "../hooks/arch/dmma64.cuh"
#else
#include "../hooks/prim/hip.cuh"
constexpr int WAVE = 64;
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/fma64.cuh"
#endif
#ifdef __HIP__
#include "../hooks/stage/global_f64.cuh"
#else
#include "../hooks/stage/cp_async_f64.cuh"
#endif
