// samples/planes_sums.h: what the generator puts before the kernels of FP64 by FP16 slices, so that each
// compiles by itself (planes_mma_warp with this in place of its own sample): on sm_80, or on gfx90a for a HIP compiler.
#include "machine.h"
constexpr int SLICES = 1, SLICE_BYTES = 2, ATOM_SLICES = 1, ATOM_K = 64;
#ifndef __HIP__
constexpr int BM = 128, BN = 128, BK = 64, WM = 64, WN = 32, STAGES = 3;
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, B_TILES = 2, D_COLS = 2;
constexpr int MIN_BLOCKS = 1, REFILL_AFTER_BARRIER = 1, RASTER = 8;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/cp_async.cuh"
#include "../hooks/frag/ldmatrix.cuh"
#include "../hooks/arch/sm80_f16.cuh"
#else
constexpr int BM = 128, BN = 128, BK = 64, WM = 64, WN = 64, STAGES = 2;
constexpr int WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 16, B_TILES = 1, D_COLS = 16;
constexpr int MIN_BLOCKS = 1, REFILL_AFTER_BARRIER = 0, RASTER = 8;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/via_registers.cuh"
#include "../hooks/frag/mfma.cuh"
#include "../hooks/arch/gfx90a_f16.cuh"
#endif
#include "../hooks/launch/raster.cuh"
#include "../hooks/epilogue/planes_sums.cuh"
#include "../hooks/pack/ozaki_element.cuh"
#include "../hooks/epilogue/crt_order_mma.cuh"
#include "../hooks/epilogue/ozaki_sum.cuh"
