// samples/fallback_dmma.h: what the generator puts before fallback_dmma, so that the template compiles by itself.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#endif
constexpr int BM = 64, BN = 64, WN = 32, WAVE = 32, MIN_BLOCKS = 2, SMS = 132;
#include "../hooks/launch/pdl.cuh"
#include "../hooks/scheme/row_scale.cuh"
#include "../hooks/accum/partial_f32.cuh"
#include "../hooks/check/certificate.cuh"
#include "../hooks/arch/sm90_dmma.cuh"
#include "../hooks/check/recompute.cuh"
#include "../hooks/check/fallback_tile.cuh"
#include "../hooks/check/fallback_grid.cuh"
