// sample_fma.h: what the generator puts before fma_direct, so that the template compiles (and runs in the simulator) by
// itself: a block of 64 x 64.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "prim_cuda.cuh"
#endif
constexpr int BM = 64, BN = 64, BK = 16, WM = 64, WN = 16, STAGES = 2;
constexpr int WAVE = 32, MIN_BLOCKS = 2, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "launch_plain.cuh"
#include "hooks_scale.cuh"
#include "hooks_sum_f32.cuh"
#include "hooks_tame.cuh"
#include "operands_direct.cuh"
#include "turn_direct.cuh"
