// samples/sums.h: scale, FP32 partial sums and certificate.
#include "../hooks/scheme/row_scale.cuh"
#include "../hooks/accum/two_sum.cuh"
#include "../hooks/accum/partial_f32.cuh"
#include "../hooks/check/certificate.cuh"
