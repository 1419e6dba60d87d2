// samples/mma_warp.h: what the generator puts before a template, so that every template compiles (and runs in the simulator) by
// itself. The parameters are one valid choice: scheme f16x3 on sm_80, or on gfx90a for a HIP compiler.
#include "machine.h"
#ifndef __HIP__
constexpr int BM = 128, BN = 128, BK = 32, WM = 64, WN = 32, STAGES = 3;
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, B_TILES = 2, D_COLS = 2;
constexpr int SLICES = 2, SLICE_BYTES = 2, ATOM_SLICES = 2, ATOM_K = 32, ACCS = 1, PROMOTE_STEPS = 1;
constexpr int SCALES_ROWS = 1, SCALE_LOW = 14, SCALE_HIGH = 14, SCALE_ROOM = 0, SCALES_TILES = 0, HAS_NAN_ROWS = 0, SCALES_SUMS = 0, FLUSHES_SUBNORMALS = 0;
constexpr int MIN_BLOCKS = 1, REFILL_AFTER_BARRIER = 1, RASTER = 8, PACK_TILES = 4, PACK_BLOCKS_PER_SM = 2, SMS = 108, CHECKS = 1;
constexpr int SMEM_PER_SM = 167936, SMEM_PER_BLOCK = 166912, SMEM_RESERVED = 1024, L2_BYTES = 41943040;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/cp_async.cuh"
#include "../hooks/frag/ldmatrix.cuh"
#include "../hooks/arch/sm80_f16.cuh"
#else
constexpr int BM = 128, BN = 128, BK = 32, WM = 64, WN = 64, STAGES = 2;
constexpr int WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 16, B_TILES = 1, D_COLS = 16;
constexpr int SLICES = 2, SLICE_BYTES = 2, ATOM_SLICES = 2, ATOM_K = 32, ACCS = 1, PROMOTE_STEPS = 2;
constexpr int SCALES_ROWS = 1, SCALE_LOW = 14, SCALE_HIGH = 14, SCALE_ROOM = 0, SCALES_TILES = 0, HAS_NAN_ROWS = 0, SCALES_SUMS = 0, FLUSHES_SUBNORMALS = 0;
constexpr int MIN_BLOCKS = 1, REFILL_AFTER_BARRIER = 0, RASTER = 8, PACK_TILES = 3, PACK_BLOCKS_PER_SM = 1, SMS = 104, CHECKS = 0;
constexpr int SMEM_PER_SM = 65536, SMEM_PER_BLOCK = 65536, SMEM_RESERVED = 0, L2_BYTES = 8388608;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/via_registers.cuh"
#include "../hooks/frag/mfma.cuh"
#include "../hooks/arch/gfx90a_f16.cuh"
#endif
#include "../hooks/launch/raster.cuh"
#include "sums.h"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/accum/clear.cuh"
#include "../hooks/accum/promote.cuh"
#include "../hooks/scheme/f16x3.cuh"
