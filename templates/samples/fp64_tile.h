// samples/fp64_tile.h: what the generator puts before fp64_tile, so that the template compiles by itself, for
// nvcc or a HIP compiler.
#include "machine.h"
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, MIN_BLOCKS = 2, ALONE_MOST = 48;
#ifndef __HIP__
constexpr int WAVE = 32;
#else
constexpr int WAVE = 64;
#endif
#include "../hooks/launch/stream.cuh"
#include "../hooks/arch/fma64.cuh"
#include "../hooks/stage/real_f64.cuh"
#include "../hooks/stage/operand_view.cuh"
#include "../hooks/stage/global_f64.cuh"
#include "../hooks/check/crt_counts.cuh"
#include "../hooks/check/crt_rest.cuh"
