// samples/crt_exact.h: the same as planes_mma_warp.h, and what correctly rounded results take besides.
#include "planes_mma_warp.h"
#include "../hooks/epilogue/crt_fewer.cuh"
#include "../hooks/epilogue/exact_dot.cuh"
