// samples/reduce.h: what the generator puts before reduce, so that the template compiles (and runs in the simulator) by itself:
// FP32, with the certificate.
#include "machine.h"
#ifdef __HIP__
constexpr int WAVE = 64;
#else
constexpr int WAVE = 32;
#endif
constexpr int SCALES_SUMS = 0, SCALES_ROWS = 0, ACCS = 1, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0, CHECKS = 1;
#include "../hooks/launch/stream.cuh"
#include "../hooks/stage/real_f32.cuh"
#include "sums.h"
