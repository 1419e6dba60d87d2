// samples/simt_small_k.h: what the generator puts before simt_small_k, so that the template compiles (and runs in the simulator) by
// itself: a block of 64 x 64.
#include "machine.h"
constexpr int ELEMENT_BYTES = 4, BM = 64, BN = 64, BK = 16, WM = 64, WN = 16, STAGES = 2;
constexpr int WAVE = 32, MIN_BLOCKS = 2, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "sums.h"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/epilogue/lane_transpose.cuh"
