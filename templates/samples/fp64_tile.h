// samples/fp64_tile.h: what the generator puts before fp64_tile, so that the template compiles by itself, for
// nvcc or a HIP compiler.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#elif !defined(HT_SIMULATOR)
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi64.h"
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, MIN_BLOCKS = 2, ALONE_MOST = 48;
#ifndef __HIP__
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#endif
constexpr int WAVE = 32;
#else
#include "../hooks/prim/hip.cuh"
constexpr int WAVE = 64;
#endif
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/fma64.cuh"
#include "../hooks/stage/real_f64.cuh"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/stage/global_f64.cuh"
#include "../hooks/check/crt_counts.cuh"
#include "../hooks/check/crt_rest.cuh"
