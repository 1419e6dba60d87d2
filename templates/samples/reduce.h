// samples/reduce.h: what the generator puts before reduce, so that the template compiles (and runs in the simulator) by itself:
// FP32, with the certificate.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#elif !defined(HT_SIMULATOR)
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi.h"
#ifdef __HIP__
constexpr int WAVE = 64;
#include "../hooks/prim/hip.cuh"
#else
constexpr int WAVE = 32;
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#endif
#endif
constexpr int SCALES_SUMS = 0, SCALES_ROWS = 0, ACCS = 1, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0, CHECKS = 1;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "../hooks/scheme/row_scale.cuh"
#include "../hooks/accum/two_sum.cuh"
#include "../hooks/accum/partial_f32.cuh"
#include "../hooks/check/certificate.cuh"
