// sample_wgmma.h: what the generator puts before tile_wgmma, so that the template compiles by itself. The parameters are
// one valid choice: scheme f16x3 on sm_90a.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "prim_cuda.cuh"
#endif
constexpr int BM = 192, BN = 128, BK = 32, WM = 192, WN = 64, STAGES = 4;
constexpr int SLICES = 2, SLICE_BYTES = 2, ATOM_SLICES = 2, ATOM_K = 32, ACCS = 1, PROMOTE_STEPS = 2;
constexpr int SCALES_ROWS = 1, SCALE_LOW = 14, SCALE_HIGH = 14, SCALE_ROOM = 0;
constexpr int PROMOTES = 1, CHUNK = 2, RASTER = 8, SMS = 132, CLUSTER = 1, SHARES_A = 0, SHARES_B = 0, ELECTS = 0, CHECKS = 1;
#include "launch_dependent.cuh"
#include "arch_sm90.cuh"
#include "cluster_none.cuh"
#include "arch_sm90_f16.cuh"
#include "hooks_scale.cuh"
#include "hooks_sum_f32.cuh"
#include "hooks_tame.cuh"
#include "hooks_chain_wgmma.cuh"
#include "mma_sm90_dmma.cuh"
#include "fallback_tile.cuh"
#include "scheme_f16x3.cuh"
