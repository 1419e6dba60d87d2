// sample_direct.h: what the generator puts before tile_direct, so that the template compiles (and runs in the simulator) by
// itself: scheme bf16x6u on sm_80.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "prim_cuda.cuh"
#endif
constexpr int BM = 64, BN = 64, BK = 32, WM = 32, WN = 32, STAGES = 2;
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, D_COLS = 2;
constexpr int SLICES = 3, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0, MIN_BLOCKS = 2, SMS = 108;
constexpr int FAST = 1, RESCUES = 1, ROWS_BESIDE = 0, GROUPS = 1;
#include "launch_plain.cuh"
#include "frag_direct.cuh"
#include "arch_sm80_bf16.cuh"
#include "hooks_chain.cuh"
#include "hooks_scale.cuh"
#include "hooks_sum_f32.cuh"
#include "scheme_bf16x6u.cuh"
#include "turn_direct.cuh"
#include "stage_direct.cuh"
#include "cut_direct.cuh"
#include "hooks_tame.cuh"
#include "fallback_grid.cuh"
