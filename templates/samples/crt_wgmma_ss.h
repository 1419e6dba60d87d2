// samples/crt_wgmma_ss.h: what the generator puts before crt_wgmma_ss, and before crt_combine behind it, so
// that each compiles by itself: scheme crt15 on sm_90a.
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#endif
#include "../../runtime/ht_abi64.h"
#ifndef HT_SIMULATOR
#include "../hooks/prim/cuda.cuh"
#include "../hooks/prim/crt_cuda.cuh"
#endif
constexpr int BM = 128, BN = 256, BK = 128, WM = 128, WN = 128, STAGES = 4, RASTER = 8, SMS = 132, WAVE = 32;
#include "../hooks/launch/pdl.cuh"
#include "../hooks/arch/sm90.cuh"
#include "../hooks/arch/sm90_s8.cuh"
#include "../hooks/launch/together_cluster.cuh"
#include "crt15.h"
#include "../hooks/pack/crt_digits.cuh"
#include "../hooks/pack/crt_element.cuh"
#include "../hooks/check/crt_counts.cuh"
#include "../hooks/check/crt_abs.cuh"
#include "../hooks/check/crt_spans.cuh"
#include "../hooks/epilogue/crt_residue.cuh"
#include "../hooks/epilogue/crt_order_wgmma.cuh"
#include "../hooks/epilogue/crt_failed.cuh"
#include "../hooks/epilogue/crt_round.cuh"
#include "../hooks/epilogue/crt_value.cuh"
#include "../hooks/epilogue/crt_axpby.cuh"
#include "../hooks/epilogue/crt_scalars.cuh"
#include "../hooks/epilogue/crt_elements.cuh"
