// samples/tall_skinny.h: what the generator puts before tall_skinny, so that the template compiles (and runs in the simulator) by
// itself: four columns.
#include "machine.h"
constexpr int ELEMENT_BYTES = 4, BM = 128, BN = 4, BK = 64, WAVE = 32, MIN_BLOCKS = 2, SMS = 132, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "sums.h"
#include "../hooks/stage/operand_view.cuh"
