// samples/unpacked_tile.h: what the generator puts before unpacked_tile, so that the template compiles (and runs in the simulator) by
// itself: scheme bf16x6u on sm_80.
#include "machine.h"
constexpr int BM = 64, BN = 64, BK = 32, WM = 32, WN = 32, STAGES = 2;
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, D_COLS = 2;
constexpr int SLICES = 3, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0, MIN_BLOCKS = 2, SMS = 108;
constexpr int PRODUCTS = 6, PRODUCT_A = 2 | 1 << 2 | 0 << 4 | 1 << 6 | 0 << 8 | 0 << 10; // slices, two bits for each product
constexpr int PRODUCT_B = 0 | 1 << 2 | 2 << 4 | 0 << 6 | 1 << 8 | 0 << 10;
constexpr int FAST = 1, IS_FALLBACK = 1, A_FROM_REGISTERS = 0, PINGPONG_GROUPS = 1;
#include "../hooks/launch/stream.cuh"
#include "../hooks/frag/simt.cuh"
#include "../hooks/arch/sm80_bf16.cuh"
#include "../hooks/accum/clear.cuh"
#include "../hooks/accum/promote.cuh"
#include "sums.h"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/scheme/bf16x6u.cuh"
#include "../hooks/epilogue/lane_transpose.cuh"
#include "../hooks/stage/global_f32.cuh"
#include "../hooks/stage/split_in_smem.cuh"
#include "../hooks/check/recompute.cuh"
#include "../hooks/check/fallback_grid.cuh"
