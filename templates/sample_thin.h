// sample_thin.h: what the generator puts before thin_direct, so that the template compiles (and runs in the simulator) by
// itself: four columns.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "prim_cuda.cuh"
#endif
constexpr int BM = 16, BN = 4, BK = 256, WAVE = 32, MIN_BLOCKS = 2, SMS = 132, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "launch_plain.cuh"
#include "hooks_scale.cuh"
#include "hooks_sum_f32.cuh"
#include "hooks_tame.cuh"
#include "operands_direct.cuh"
