// samples/digits_mma_warp.h: what the generator puts before the kernels of FP64 by digits, so that each compiles by itself:
// scheme i8x28, on sm_80, or on gfx90a for a HIP compiler.
#include "machine.h"
constexpr int SLICES = 7, ACCS = 7, PROMOTE_STEPS = 512;
#ifndef __HIP__
constexpr int BM = 64, BN = 64, BK = 32, WM = 32, WN = 16, STAGES = 3;
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 32, B_TILES = 2, D_COLS = 2;
constexpr int MIN_BLOCKS = 1, RASTER = 8;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/cp_async.cuh"
#include "../hooks/frag/ldmatrix.cuh"
#include "../hooks/arch/sm80_s8.cuh"
#else
constexpr int BM = 64, BN = 64, BK = 32, WM = 32, WN = 32, STAGES = 2;
constexpr int WAVE = 64, MMA_M = 32, MMA_N = 32, FRAGMENT_K = 32, B_TILES = 1, D_COLS = 16;
constexpr int MIN_BLOCKS = 1, RASTER = 8;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/via_registers.cuh"
#include "../hooks/frag/mfma.cuh"
#include "../hooks/arch/gfx90a_s8.cuh"
#endif
#include "../hooks/launch/raster.cuh"
#include "../hooks/launch/together_alone.cuh"
#include "../hooks/scheme/i8x28.cuh"
#include "../hooks/accum/clear.cuh"
#include "../hooks/accum/carry_i32.cuh"
#include "../hooks/pack/crt_digits.cuh"
#include "../hooks/check/crt_spans.cuh"
#include "../hooks/check/crt_counts.cuh"
#include "../hooks/check/crt_abs.cuh"
#include "../hooks/check/crt_sample.cuh"
#include "../hooks/pack/digit_element.cuh"
#include "../hooks/epilogue/crt_order_mma.cuh"
#include "../hooks/epilogue/crt_round.cuh"
#include "../hooks/epilogue/crt_axpby.cuh"
#include "../hooks/epilogue/crt_scalars.cuh"
