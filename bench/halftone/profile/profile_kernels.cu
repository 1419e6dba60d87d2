/* profile_kernels.cu: runs one matrix instruction per tile, for `halftone profile`. The instructions are the hooks of
 * templates/, those that generated kernels use: what is profiled is what they run. Compiled by nvcc for sm_80 (PTX too),
 * sm_90a and PTX of sm_75, and by the host's compiler for the simulator. */
#ifndef HT_SIMULATOR
#include <cuda_runtime.h>
#include "../../../templates/hooks/prim/cuda.cuh"
#endif
#include "../../../templates/hooks/arch/sm90.cuh"
#include "profile/profile.h"

/* Each hook file also defines ht_mma: a namespace keeps them apart. */
namespace sm75_f16 {
#include "../../../templates/hooks/arch/sm75_f16.cuh"
}
namespace sm75_s8 {
#include "../../../templates/hooks/arch/sm75_s8.cuh"
}
namespace sm80_f16 {
#include "../../../templates/hooks/arch/sm80_f16.cuh"
}
namespace sm80_bf16 {
#include "../../../templates/hooks/arch/sm80_bf16.cuh"
}
namespace sm80_tf32 {
#include "../../../templates/hooks/arch/sm80_tf32.cuh"
}
namespace sm80_s8 {
#include "../../../templates/hooks/arch/sm80_s8.cuh"
}

#ifndef HT_SIMULATOR
/* Eight columns, which no kernel of the library asks for: the smallest tile. */
#define LIST "%0, %1, %2, %3"
HT_WGMMA(f16, float, "k16.f32.f16.f16", ", 1, 1, 0, 0", 8, "4", "5", "6", LIST, HT_D4("+f", d, 0))
HT_WGMMA(bf16, float, "k16.f32.bf16.bf16", ", 1, 1, 0, 0", 8, "4", "5", "6", LIST, HT_D4("+f", d, 0))
HT_WGMMA(tf32, float, "k8.f32.tf32.tf32", ", 1, 1", 8, "4", "5", "6", LIST, HT_D4("+f", d, 0))
HT_WGMMA(s8, int, "k32.s32.s8.s8", "", 8, "4", "5", "6", LIST, HT_D4("+r", d, 0))
template <int COUNT> HT_DEVICE void ht_wgmma_fence_operand(float *d) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}
template <int COUNT> HT_DEVICE void ht_wgmma_fence_operand(int *d) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+r"(d[i])::"memory");
}
#endif

/* Registers must be named by literals; the simulator's threads hold arrays, and its collectives may not be copied. */
#ifdef HT_SIMULATOR
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

/* sm_75's code has no bodies for what came later, only sm_90a's has wgmma; nobody launches the empty ones. */
#if defined(HT_SIMULATOR)
#define HAS(ARCH) true
#define HAS_WGMMA 1
#elif defined(__CUDA_ARCH__)
#define HAS(ARCH) (__CUDA_ARCH__ >= 10 * ARCH)
#else
#define HAS(ARCH) false
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#endif

namespace {

HT_DEVICE void from_word(float *d, int word) {
    *d = ht_as_float((unsigned)word);
}
HT_DEVICE void from_word(int *d, int word) {
    *d = word;
}
HT_DEVICE int to_word(float d) {
    return (int)ht_as_uint(d);
}
HT_DEVICE int to_word(int d) {
    return d;
}

/* ---- mma.sync: one tile, one warp. Fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16" and the others; a register is
 * four bytes of a row, whatever the type (the picture is in sim_warp.cpp). ---- */

#define MMA(NAME, TYPE, TILE_ROWS, BYTES, ARCH, CALL)                                                        \
    struct NAME {                                                                                            \
        typedef TYPE acc;                                                                                    \
        enum { ROWS = TILE_ROWS, WORDS = BYTES / 4, LEAST = ARCH };                                          \
        static HT_INSIDE void run(acc *d, const unsigned *a, const unsigned *b) {                            \
            CALL(d, a, b);                                                                                   \
        }                                                                                                    \
    };
#ifdef HT_SIMULATOR
#define HT_INSIDE inline
#define HOOK(SPACE, NAME) NAME /* the simulator's own */
#else
#define HT_INSIDE __device__ __forceinline__
#define HOOK(SPACE, NAME) SPACE::NAME
#endif
MMA(f16_k8, float, 16, 16, 75, HOOK(sm75_f16, ht_mma_f16_1688))
MMA(s8_k16, int, 8, 16, 75, HOOK(sm75_s8, ht_mma_s8_8816))
MMA(f16_k16, float, 16, 32, 80, HOOK(sm80_f16, ht_mma_f16_16816))
MMA(bf16_k16, float, 16, 32, 80, HOOK(sm80_bf16, ht_mma_bf16_16816))
MMA(tf32_k8, float, 16, 32, 80, HOOK(sm80_tf32, ht_mma_tf32_1688))
MMA(s8_k32, int, 16, 32, 80, HOOK(sm80_s8, ht_mma_s8_16832))

template <class UNIT> __global__ void one_mma(profile_args p) {
    enum { TALL = UNIT::ROWS / 8, WIDE = UNIT::WORDS / 4 };
    if constexpr (HAS(UNIT::LEAST)) {
        const int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
        const long long tile = blockIdx.x;
        const int *a_rows = p.a + tile * UNIT::ROWS * UNIT::WORDS, *b_rows = p.b + tile * 8 * UNIT::WORDS;
        const long long out = tile * UNIT::ROWS * 8 + g * 8 + 2 * t;
        unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
        typename UNIT::acc d[4];
        UNROLL
        for (int i = 0; i < TALL * WIDE; i++)
            a[i] = (unsigned)ht_ldg_i32(a_rows + (g + 8 * (i % TALL)) * UNIT::WORDS + t + 4 * (i / TALL));
        UNROLL
        for (int i = 0; i < WIDE; i++)
            b[i] = (unsigned)ht_ldg_i32(b_rows + g * UNIT::WORDS + t + 4 * i);
        UNROLL
        for (int i = 0; i < 2 * TALL; i++)
            from_word(&d[i], ht_ldg_i32(p.c + out + i / 2 * 64 + i % 2));
        UNIT::run(d, a, b);
        UNROLL
        for (int i = 0; i < 2 * TALL; i++)
            ht_stg_i32(p.d + out + i / 2 * 64 + i % 2, to_word(d[i]));
    }
}

/* ---- wgmma: four tiles of 64 x 8, one warpgroup; operands come by a bulk copy as in the library's kernels ---- */

#define WGMMA(NAME, TYPE, CALL)                                                                              \
    struct NAME {                                                                                            \
        typedef TYPE acc;                                                                                    \
        static HT_INSIDE void run(acc *d, unsigned long long a, unsigned long long b) {                      \
            CALL(ht_width<8>(), d, a, b, 1);                                                                 \
        }                                                                                                    \
    };
WGMMA(wide_f16, float, ht_wgmma_f16)
WGMMA(wide_bf16, float, ht_wgmma_bf16)
WGMMA(wide_tf32, float, ht_wgmma_tf32)
WGMMA(wide_s8, int, ht_wgmma_s8)

enum { WARPGROUP = 128, SMEM_BYTES = PROFILE_IMAGE_BYTES + 16 };

#ifdef HAS_WGMMA
/* Brings the block's image; no thread goes on before it is there. */
HT_DEVICE void fetch(unsigned smem, const int *images) {
    const unsigned bar = smem + PROFILE_IMAGE_BYTES;
    if (threadIdx.x == 0) {
        ht_mbar_init(bar, 1);
        ht_mbar_init_done();
    }
    ht_barrier();
    if (threadIdx.x == 0) {
        ht_mbar_arrive_expect_tx(bar, PROFILE_IMAGE_BYTES);
        ht_bulk_copy(smem, (const char *)images + (long long)blockIdx.x * PROFILE_IMAGE_BYTES, PROFILE_IMAGE_BYTES, bar);
    }
    ht_mbar_wait(bar, 0);
}
#endif

template <class UNIT> __global__ void __launch_bounds__(WARPGROUP) one_wgmma(profile_args p) {
#ifdef HAS_WGMMA
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const int warp = (int)threadIdx.x / 32, g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    const long long tile = (long long)blockIdx.x * PROFILE_IMAGE_TILES;
    const long long out = tile * 64 * 8 + (16 * warp + g) * 8 + 2 * t;
    const unsigned long long b = ht_descriptor(ht_operand(smem)), a = ht_descriptor(ht_operand(smem + PROFILE_COLUMNS * PROFILE_IMAGE_ROW));
    typename UNIT::acc d[PROFILE_IMAGE_TILES][4];
    fetch(smem, p.a);
    UNROLL
    for (int i = 0; i < 4 * PROFILE_IMAGE_TILES; i++)
        from_word(&d[i / 4][i % 4], ht_ldg_i32(p.c + out + i / 4 * 512 + i / 2 % 2 * 64 + i % 2));
    ht_wgmma_fence();
    UNROLL
    for (int q = 0; q < PROFILE_IMAGE_TILES; q++)
        UNIT::run(d[q], a + 2 * (unsigned)q, b + 2 * (unsigned)q);
    ht_wgmma_commit();
    ht_wgmma_wait<0>();
    UNROLL
    for (int q = 0; q < PROFILE_IMAGE_TILES; q++)
        ht_wgmma_fence_operand<4>(d[q]);
    UNROLL
    for (int i = 0; i < 4 * PROFILE_IMAGE_TILES; i++)
        ht_stg_i32(p.d + out + i / 4 * 512 + i / 2 % 2 * 64 + i % 2, to_word(d[i / 4][i % 4]));
#endif
}

template <class UNIT> int launch_mma(const profile_args &args, int tiles) {
    return ht_launch(one_mma<UNIT>, (unsigned)tiles, 1, 1, 32, 0, nullptr, args);
}
template <class UNIT> int launch_wgmma(const profile_args &args, int tiles) {
    const int code = ht_allow_smem(one_wgmma<UNIT>, SMEM_BYTES);
    if (code != 0)
        return code;
    return ht_launch(one_wgmma<UNIT>, (unsigned)(tiles / PROFILE_IMAGE_TILES), 1, 1, WARPGROUP, SMEM_BYTES, nullptr, args);
}

} // namespace

extern "C" int profile_launch(int unit, const struct profile_args *args, int tiles) {
    static int (*const launchers[PROFILE_UNITS])(const profile_args &, int) = {
        launch_mma<f16_k8>,    launch_mma<s8_k16>,       launch_mma<f16_k16>,     launch_mma<bf16_k16>,    launch_mma<tf32_k8>,
        launch_mma<s8_k32>,    launch_wgmma<wide_f16>,   launch_wgmma<wide_bf16>, launch_wgmma<wide_tf32>, launch_wgmma<wide_s8>};
    return launchers[unit](*args, tiles);
}
