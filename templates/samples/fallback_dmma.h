// samples/fallback_dmma.h: what the generator puts before fallback_dmma, so that the template compiles by itself.
#include "machine.h"
constexpr int BM = 64, BN = 64, WN = 32, WAVE = 32, MIN_BLOCKS = 2, SMS = 132, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0;
#include "../hooks/launch/pdl.cuh"
#include "sums.h"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/arch/sm90_dmma.cuh"
#include "../hooks/check/recompute.cuh"
#include "../hooks/check/fallback_tile.cuh"
#include "../hooks/check/fallback_grid.cuh"
