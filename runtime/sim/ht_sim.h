/* ht_sim: the primitives that generated kernels call, for a host compiler. It is included before the kernel's
 * file: g++ -std=c++17 -x c++ -DHT_SIMULATOR -ffp-contract=off -include runtime/sim/ht_sim.h -c KERNEL.cu
 * Each has the meaning of the instruction behind it in templates/hooks/prim/cuda.cuh, prim/hip.cuh or a hooks/arch file, and a
 * check of what hardware would punish. The last parameter `line` is filled in by the compiler; it goes into messages only.
 */
#ifndef HT_SIM_H
#define HT_SIM_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim_api.h"
#include "sim_f16.h"
#include "sim_mfma.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ __attribute__((unused)) /* fits with and without `inline` beside it */
#define __launch_bounds__(...)
#define HT_DEVICE static inline
#define HT_OUTLINED static

struct ht_sim_dim3 {
    unsigned x, y, z;
};
/* Set whenever a thread starts to run; a thread never changes its host thread. */
extern __thread struct ht_sim_dim3 threadIdx, blockIdx, gridDim, blockDim;

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return uint4{x, y, z, w};
}

/* NVIDIA GPUs give every NaN that FP32 arithmetic makes or passes on these bits (CUDA C++ Programming Guide, "Floating-Point
 * Standard"); a CPU passes an operand's on, and which one its compiler decides. gfx90a also keeps an operand's, but nothing
 * promises which. */
static inline float ht_sim_one_nan(float x) {
    return x == x ? x : __builtin_nanf("0x3fffff"); /* 7fffffff */
}
/* FP32 arithmetic that no compiler flag changes on a host with IEEE registers and -ffp-contract=off. */
static inline float __fadd_rn(float a, float b) {
    return ht_sim_one_nan(a + b);
}
static inline float __fmul_rn(float a, float b) {
    return ht_sim_one_nan(a * b);
}
static inline float __fmaf_rn(float a, float b, float c) {
    return ht_sim_one_nan(fmaf(a, b, c));
}
static inline double __dadd_rn(double a, double b) {
    return a + b;
}
static inline double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
/* Byte i of the result is the byte of y:x that digit i of the selector names. */
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t both = static_cast<uint64_t>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= static_cast<unsigned>(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return result;
}

#define HT_TABLE static const
/* prim/crt_cuda.cuh */
static inline int ht_dp4a(unsigned a, unsigned b, int c) {
    for (int i = 0; i < 32; i += 8)
        c += (signed char)(a >> i & 255) * (signed char)(b >> i & 255);
    return c;
}
static inline unsigned ht_crt_weight(unsigned x) {
    return x;
}
static inline int ht_clz(unsigned x) {
    return x == 0 ? 32 : __builtin_clz(x);
}

/* To nearest even; beyond the range its end, NaN 0 (PTX ISA, cvt). */
static inline int __float2int_rn(float x) {
    return x >= 2147483648.0f ? INT_MAX : x <= -2147483648.0f ? INT_MIN : x == x ? (int)rintf(x) : 0;
}
static inline float __ll2float_rn(long long x) {
    return (float)x;
}
static inline unsigned ht_as_uint(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float ht_as_float(unsigned bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline unsigned short ht_f16_rn(float x) {
    return sim_f16_rn(x);
}
static inline unsigned short ht_f16_rz(float x) {
    return sim_f16_rz(x);
}
/* Two BF16 to nearest even, x in the low half; NaN is 0x7fff (PTX ISA, cvt). */
static inline unsigned ht_bf16_bits(float x) {
    const unsigned bits = ht_as_uint(x);
    return x == x ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : 0x7fffu;
}
static inline unsigned ht_bf16_pair(float x, float y) {
    return ht_bf16_bits(x) | ht_bf16_bits(y) << 16;
}
static inline float ht_f16_value(unsigned short bits) {
    return sim_f16_value(bits);
}

static inline void ht_count_large_f16x2(unsigned *count, unsigned *odd, unsigned pair, unsigned least) {
    for (int half = 0; half < 32; half += 16) {
        const unsigned bits = pair >> half & 0x7fffu;
        const float one = bits <= 0x7c00u && bits >= (least >> half & 0x7fffu) ? 1.0f : 0.0f;
        const float sum = sim_f16_value((unsigned short)(*count >> half)) + one;
        *count = (*count & ~(0xffffu << half)) | (unsigned)sim_f16_rn(sum) << half;
        *odd |= bits >= 0x7c00u ? 0x7e00u << half : 0u; /* fma with 0 */
    }
}

/* A warp-collective call is told from another one by its return address: it must not be copied by the
 * optimiser. */
#if defined(__clang__)
#define HT_SIM_COLLECTIVE __attribute__((noinline, convergent, noduplicate))
#else
#define HT_SIM_COLLECTIVE __attribute__((noinline, noclone))
#endif

unsigned ht_smem_base(void);
template <int BYTES> static inline unsigned ht_smem_base(void) {
    return ht_smem_base();
}
HT_SIM_COLLECTIVE void ht_barrier(int line = __builtin_LINE());
HT_SIM_COLLECTIVE bool ht_barrier_any(bool yes, int line = __builtin_LINE()); /* of the block's threads */

uint4 ht_ldg16(const void *p, int line = __builtin_LINE());
static inline unsigned long long ht_l2_policy(bool) { /* no L2 here */
    return 0;
}
static inline uint4 ht_ldg16_by(const void *p, unsigned long long, int line = __builtin_LINE()) {
    return ht_ldg16(p, line);
}
uint4 ht_ld16(const void *p, int line = __builtin_LINE());
float ht_ldg4(const float *p, int line = __builtin_LINE());
unsigned short ht_ldg_u16(const unsigned short *p, int line = __builtin_LINE());
int ht_ldg_i32(const int *p, int line = __builtin_LINE());
long long ht_ldg_i64(const long long *p, int line = __builtin_LINE());
void ht_stg16(void *p, uint4 v, int line = __builtin_LINE());
void ht_stg8(void *p, unsigned x, unsigned y, int line = __builtin_LINE());
void ht_stg4(float *p, float v, int line = __builtin_LINE());
void ht_stg_i32(int *p, int v, int line = __builtin_LINE());
void ht_stg_u8(unsigned char *p, unsigned char v, int line = __builtin_LINE());
void ht_stg_i64(long long *p, long long v, int line = __builtin_LINE());
/* Eight bytes, aligned to them. */
struct ht_pair {
    float x, y;
};
ht_pair ht_ld8(const float *p, int line = __builtin_LINE());
void ht_stg8(float *p, ht_pair v, int line = __builtin_LINE());
int ht_ld_relaxed_i32(const int *p, int line = __builtin_LINE());
void ht_st_relaxed_i32(int *p, int v, int line = __builtin_LINE());
int ht_add_relaxed_i32(int *p, int v, int line = __builtin_LINE());
void ht_max_relaxed_i32(int *p, int v, int line = __builtin_LINE());
long long ht_add_relaxed_i64(long long *p, long long v, int line = __builtin_LINE());

template <class T> static inline const T &ht_reload_args(const T &args) {
    return args;
}
static inline uint4 ht_ld16_once(const void *p, bool there, int line = __builtin_LINE()) {
    return there ? ht_ld16(p, line) : make_uint4(0x7fc00000u, 0x7fc00000u, 0x7fc00000u, 0x7fc00000u); // any: NaNs
}
static inline long long ht_opaque(long long x) {
    return x;
}
static inline void ht_prefetch(const void *p) {
    (void)p;
}

uint4 ht_lds16(unsigned s, int line = __builtin_LINE());
float ht_lds4(unsigned s, int line = __builtin_LINE());
double ht_lds_f64(unsigned s, int line = __builtin_LINE());
void ht_sts16(unsigned s, uint4 v, int line = __builtin_LINE());
void ht_sts4(unsigned s, float v, int line = __builtin_LINE());
void ht_sts8(unsigned s, unsigned x, unsigned y, int line = __builtin_LINE());

void ht_cp_async16(unsigned s, const void *g, int line = __builtin_LINE());
void ht_cp_async4_some(unsigned s, const float *g, int bytes, int line = __builtin_LINE());
void ht_cp_async16_some(unsigned s, const float *g, int bytes, bool near, int line = __builtin_LINE());
void ht_cp_async_pair(unsigned s, const double *g, unsigned valid, bool aligned, int line = __builtin_LINE());
void ht_cp_async_commit(void);
void ht_sim_cp_async_wait(int pending_groups);
template <int N> static inline void ht_cp_async_wait(void) {
    static_assert(N >= 0, "number of groups that may stay pending");
    ht_sim_cp_async_wait(N);
}

HT_SIM_COLLECTIVE void ht_ldmatrix_x4(unsigned r[4], unsigned s, int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_ldmatrix_x4_trans(unsigned r[4], unsigned s, int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_f16_16816(float d[4], const unsigned a[4], const unsigned b[2],
                                        int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_f16_1688(float d[4], const unsigned a[2], const unsigned b[1],
                                       int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_bf16_16816(float d[4], const unsigned a[4], const unsigned b[2],
                                         int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_tf32_1688(float d[4], const unsigned a[4], const unsigned b[2],
                                        int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_s8_16832(int d[4], const unsigned a[4], const unsigned b[2],
                                       int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_s8_8816(int d[2], const unsigned a[1], const unsigned b[1],
                                      int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_f64_16816(double d[4], const double a[8], const double b[4], int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_f64_1688(double d[4], const double a[4], const double b[2], int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_mma_f64_884(double d[2], const double a[1], const double b[1], int line = __builtin_LINE());
#define HT_SIM_MFMA(name, row, type)                                                                         \
    HT_SIM_COLLECTIVE void ht_mfma_##name(type *d, const unsigned *a, const unsigned *b,                     \
                                          int line = __builtin_LINE());
HT_SIM_MFMA_CALLS(HT_SIM_MFMA)
#undef HT_SIM_MFMA
HT_SIM_COLLECTIVE int ht_shfl_xor(int v, int lane_mask, int line = __builtin_LINE());
HT_SIM_COLLECTIVE int ht_uniform(int v, int line = __builtin_LINE()); /* fails where lanes differ */
static inline __attribute__((always_inline, unused)) void ht_warp_sync(int line = __builtin_LINE()) {
    (void)ht_uniform(0, line);
}
static inline __attribute__((always_inline, unused)) bool ht_elect(int line = __builtin_LINE()) {
    (void)ht_uniform(0, line); /* a whole warp asks */
    return threadIdx.x % 32 == 0;
}

/* ---- Hopper's asynchronous units (templates/hooks/arch/sm90.cuh; what is modelled and what not: sim_async.h) ---- */
void ht_mbar_init(unsigned bar, int count, int line = __builtin_LINE());
void ht_mbar_init_done(void);
void ht_mbar_arrive_expect_tx(unsigned bar, int bytes, int line = __builtin_LINE());
void ht_mbar_arrive(unsigned bar, int line = __builtin_LINE());
void ht_mbar_wait(unsigned bar, unsigned parity, int line = __builtin_LINE());
void ht_bulk_copy(unsigned to, const void *from, int bytes, unsigned bar, int line = __builtin_LINE());

/* Clusters: a block's rank; a shared address as another block's; copies to the same place of all blocks, completing on the
 * same barrier of each. */
int ht_cluster_rank(void);
unsigned ht_cluster_address(unsigned s, int rank);
HT_SIM_COLLECTIVE void ht_cluster_barrier(int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_cluster_meet(int line = __builtin_LINE()); /* orders device memory, too */
void ht_mbar_arrive_cluster(unsigned bar, int line = __builtin_LINE());
void ht_bulk_copy_multicast(unsigned to, const void *from, int bytes, unsigned bar, int line = __builtin_LINE());

/* One wgmma as a lane asks for it. */
enum ht_sim_slice { HT_SIM_F16, HT_SIM_BF16, HT_SIM_TF32, HT_SIM_S8 };
struct ht_sim_wgmma {
    ht_sim_slice slice;
    int n; /* columns of D */
    void *d;
    unsigned long long a, b; /* descriptors */
    int use;                 /* 0: starts from zero */
    const unsigned *rows;    /* A in registers, this lane's four; NULL: in shared memory */
    int turned;              /* B's lines are of k */
};
HT_SIM_COLLECTIVE void ht_sim_wgmma_issue(const ht_sim_wgmma *call, int line);
HT_SIM_COLLECTIVE void ht_wgmma_fence(int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_wgmma_commit(int line = __builtin_LINE());
HT_SIM_COLLECTIVE void ht_sim_wgmma_wait(int pending_groups, int line);
HT_SIM_COLLECTIVE void ht_sim_registers(int count, int give, int line);
void ht_sim_wgmma_pin(const void *d, int line);

/* Always inline: the collective sees where the kernel calls. */
#define HT_SIM_INLINE static inline __attribute__((always_inline, unused))
template <int N> struct ht_width {};
#define HT_SIM_WGMMA(name, slice, type)                                                                      \
    template <int N>                                                                                         \
    HT_SIM_INLINE void name(ht_width<N>, type *d, unsigned long long a, unsigned long long b, int use,       \
                            int line = __builtin_LINE()) {                                                   \
        static_assert(N % 8 == 0 && N >= 8 && N <= 256, "wgmma has 8 to 256 columns in steps of 8");         \
        const ht_sim_wgmma call = {slice, N, d, a, b, use, nullptr, 0};                                                 \
        ht_sim_wgmma_issue(&call, line);                                                                     \
    }
HT_SIM_WGMMA(ht_wgmma_f16, HT_SIM_F16, float)
HT_SIM_WGMMA(ht_wgmma_bf16, HT_SIM_BF16, float)
HT_SIM_WGMMA(ht_wgmma_tf32, HT_SIM_TF32, float)
HT_SIM_WGMMA(ht_wgmma_s8, HT_SIM_S8, int)
template <int TRANS, int N>
HT_SIM_INLINE void ht_wgmma_bf16_rows(ht_width<N>, float *d, const unsigned *a, unsigned long long b, int use,
                                      int line = __builtin_LINE()) {
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "wgmma has 8 to 256 columns in steps of 8");
    const ht_sim_wgmma call = {HT_SIM_BF16, N, d, 0, b, use, a, TRANS};
    ht_sim_wgmma_issue(&call, line);
}
/* The THREADS threads of one of GROUPS groups. */
void ht_sim_group_barrier(int group, int threads, int line);
template <int GROUPS, int THREADS> HT_SIM_INLINE void ht_group_barrier(int group, int line = __builtin_LINE()) {
    if (GROUPS > 1)
        ht_sim_group_barrier(group, THREADS, line);
    else
        ht_barrier(line);
}
/* What this thread stored is there for the unit, from the next order of threads on. */
void ht_async_fence(int line = __builtin_LINE());
template <int PENDING> HT_SIM_INLINE void ht_wgmma_wait(int line = __builtin_LINE()) {
    static_assert(PENDING >= 0 && PENDING <= 7, "number of groups that may stay pending");
    ht_sim_wgmma_wait(PENDING, line);
}
template <int COUNT, class T> HT_SIM_INLINE void ht_wgmma_fence_operand(T *d, int line = __builtin_LINE()) {
    ht_sim_wgmma_pin(d, line);
}
template <int REGISTERS> HT_SIM_INLINE void ht_reg_dealloc(int line = __builtin_LINE()) {
    ht_sim_registers(REGISTERS, 1, line);
}
template <int REGISTERS> HT_SIM_INLINE void ht_reg_alloc(int line = __builtin_LINE()) {
    ht_sim_registers(REGISTERS, 0, line);
}
/* Launches are synchronous: the predecessor is always done; sim_launch.cpp checks that kernels do not rely on it. Templates, as
 * ht_launch_dependent below: where a kernel brings these functions itself (launch/stream.cuh), its own are the better match. */
void ht_sim_grid_wait(void);
void ht_sim_grid_release(void);
void ht_sim_grid_vouched(int line);
template <class = void> HT_SIM_INLINE void ht_pdl_wait(void) {
    ht_sim_grid_wait();
}
template <class = void> HT_SIM_INLINE void ht_pdl_trigger(void) {
    ht_sim_grid_release();
}
template <class = void> HT_SIM_INLINE void ht_pdl_assume_complete(int line = __builtin_LINE()) {
    ht_sim_grid_vouched(line);
}

/* One launch with its types erased. */
struct ht_sim_launch_info {
    const char *launcher; /* function that contains the call; NULL: unknown */
    const char *call;     /* source text of the call's arguments, the kernel first; NULL: unknown */
    void (*kernel)(void);
    void (*invoke)(void (*kernel)(void), const void *args);
    const void *args;
    size_t args_bytes;
    struct ht_sim_dim3 grid;
    unsigned threads;
    int smem_bytes;
    unsigned cluster; /* blocks along x that share panels */
    bool dependent;   /* may begin before the launch before it in `stream` has ended */
    const void *stream;
};
int ht_sim_launch(const struct ht_sim_launch_info *info);
int ht_sim_allow_smem(void (*kernel)(void), int smem_bytes);

template <class Args> static inline void ht_sim_invoke(void (*kernel)(void), const void *args) {
    reinterpret_cast<void (*)(Args)>(kernel)(*static_cast<const Args *>(args));
}

template <class Args>
static inline int ht_sim_named_launch(const char *launcher, const char *call, void (*kernel)(Args),
                                      unsigned gx, unsigned gy, unsigned gz, unsigned threads, int smem_bytes,
                                      void *stream, const Args &args, int cluster = 1, bool dependent = false) {
    ht_sim_launch_info info = {launcher,
                               call,
                               reinterpret_cast<void (*)(void)>(kernel),
                               ht_sim_invoke<Args>,
                               &args,
                               sizeof args,
                               {gx, gy, gz},
                               threads,
                               smem_bytes,
                               (unsigned)cluster,
                               dependent,
                               stream};
    return ht_sim_launch(&info);
}

template <class Args>
static inline int ht_launch(void (*kernel)(Args), unsigned gx, unsigned gy, unsigned gz, unsigned threads,
                            int smem_bytes, void *stream, const Args &args) {
    return ht_sim_named_launch(nullptr, nullptr, kernel, gx, gy, gz, threads, smem_bytes, stream, args);
}
template <class Args, class Kernel>
static inline int ht_launch_dependent(Kernel kernel, unsigned gx, unsigned gy, unsigned gz, unsigned threads,
                                      int smem_bytes, void *stream, const Args &args, int cluster = 1,
                                      const char *launcher = __builtin_FUNCTION()) {
    return ht_sim_named_launch(launcher, nullptr, kernel, gx, gy, gz, threads, smem_bytes, stream, args, cluster, true);
}
/* The same with the kernel's name for messages. */
#define ht_launch(...) ht_sim_named_launch(__func__, #__VA_ARGS__, __VA_ARGS__)

template <class Args> static inline int ht_allow_smem(void (*kernel)(Args), int smem_bytes) {
    return ht_sim_allow_smem(reinterpret_cast<void (*)(void)>(kernel), smem_bytes);
}
template <class Args> static inline int ht_prefer_smem(void (*kernel)(Args), int smem_bytes) {
    return ht_allow_smem(kernel, smem_bytes);
}
/* So few that in small tests, too, a block gets several pieces. */
template <class Args> static inline int ht_resident_blocks(void (*kernel)(Args), int, int, int smem_most, int) {
    return ht_allow_smem(kernel, smem_most) == 0 ? 6 : 0;
}

#endif
