// samples/fp64_mma_tile.h: what the generator puts before fp64_mma_tile, so that the template compiles by itself, on sm_80.
#include "machine.h"
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 4, MIN_BLOCKS = 2, ALONE_MOST = 48;
constexpr int WAVE = 32;
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/sm80_dmma.cuh"
#include "../hooks/stage/real_f64.cuh"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/stage/tile_f64.cuh"
#include "../hooks/check/crt_counts.cuh"
#include "../hooks/check/crt_rest.cuh"
