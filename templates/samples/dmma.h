// samples/dmma.h: what the generator puts before dmma, so that the template compiles (and runs in the simulator) by
// itself: a block of 64 x 64.
#include "machine.h"
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 4;
constexpr int WAVE = 32, MIN_BLOCKS = 4, SMS = 132, SMEM_PER_SM = 233472, SMEM_RESERVED = 1024, SWAP_AB_MIN_GAIN = 8, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/sm90_dmma.cuh"
#include "sums.h"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/stage/cp_async_tile.cuh"
