// samples/tall_skinny.h: what the generator puts before tall_skinny, so that the template compiles (and runs in the simulator) by
// itself: four columns.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi.h"
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#endif
constexpr int ELEMENT_BYTES = 4, BM = 128, BN = 4, BK = 64, WAVE = 32, MIN_BLOCKS = 2, SMS = 132, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/scheme/row_scale.cuh"
#include "../hooks/accum/two_sum.cuh"
#include "../hooks/accum/partial_f32.cuh"
#include "../hooks/check/certificate.cuh"
#include "../hooks/stage/operand_view.cuh"
