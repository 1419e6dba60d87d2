// samples/wgmma_ss.h: what the generator puts before wgmma_ss, so that the template compiles by itself. The parameters are
// one valid choice: scheme f16x3 on sm_90a.
#include "machine.h"
constexpr int BM = 192, BN = 128, BK = 32, WM = 192, WN = 64, STAGES = 4;
constexpr int SLICES = 2, SLICE_BYTES = 2, ATOM_SLICES = 2, ATOM_K = 32, ACCS = 1, PROMOTE_STEPS = 2;
constexpr int SCALES_ROWS = 1, SCALE_LOW = 14, SCALE_HIGH = 14, SCALE_ROOM = 0;
constexpr int PROMOTES = 1, PROMOTE_TILES = 2, WAVE = 32, RASTER = 8, SMS = 132, CLUSTER = 1, SHARES_A = 0, SHARES_B = 0, ELECT_PRODUCER = 0, CHECKS = 1;
#include "../hooks/launch/pdl.cuh"
#include "../hooks/arch/sm90.cuh"
#include "../hooks/launch/cluster_1.cuh"
#include "../hooks/arch/sm90_f16.cuh"
#include "sums.h"
#include "../hooks/accum/promote_wgmma.cuh"
#include "../hooks/arch/sm90_dmma.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/stage/cp_async_tile.cuh"
#include "../hooks/check/recompute.cuh"
#include "../hooks/check/fallback_tile.cuh"
#include "../hooks/check/fallback_notes.cuh"
#include "../hooks/check/fallback_inside.cuh"
#include "../hooks/scheme/f16x3.cuh"
