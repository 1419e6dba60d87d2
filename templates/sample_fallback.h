// sample_fallback.h: what the generator puts before fallback_dmma, so that the template compiles by itself.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "prim_cuda.cuh"
#endif
constexpr int BM = 64, BN = 64, WN = 32, WAVE = 32, MIN_BLOCKS = 2, SMS = 132;
#include "launch_dependent.cuh"
#include "hooks_tame.cuh"
#include "mma_sm90_dmma.cuh"
#include "fallback_tile.cuh"
#include "fallback_grid.cuh"
