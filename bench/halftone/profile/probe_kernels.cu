/* probe_kernels.cu: what `halftone probe` measures on an NVIDIA GPU; see probe.h for the list. Compiled for sm_80
 * (PTX too), sm_90a and PTX of sm_75; linked into the command's GPU build only.
 *
 * Rates are counted in clocks of the SM's own counter, so that they do not depend on the clock of the moment; only
 * bandwidths and launches are times. Operands are values in [1, 2) from a hash, not zeros: zeros draw less power. */
#include <cuda_runtime_api.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "profile/probe.h"

namespace {

enum { RATE_THREADS = 512, MMA_CHAINS = 4, MMA_STEPS = 512, CHASE_HOPS = 4096 };

__device__ unsigned hash(unsigned x) {
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}
/* Two FP16 (or BF16) numbers in [1, 2); as TF32 or INT8 still a number, as good as any. */
__device__ unsigned halves(unsigned x) {
    return (hash(x) & 0x03ff03ffu) | 0x3c003c00u;
}

/* ---- MMAs: one type and shape each; FMA is that of a whole warp's instruction ---- */

#define MMA(NAME, ARCH, SHAPE, ACC, C, M, N, K, A_REGS, B_REGS, ...)                                         \
    struct NAME {                                                                                            \
        enum { FMA = M * N * K, LEAST = ARCH };                                                              \
        typedef ACC acc;                                                                                     \
        static __device__ void run(ACC (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {            \
            asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, " A_REGS ", " B_REGS ", {%0,%1,%2,%3};"   \
                         : C(d[0]), C(d[1]), C(d[2]), C(d[3])                                                \
                         : __VA_ARGS__);                                                                     \
        }                                                                                                    \
    };
#define A2B1 "{%4,%5}", "{%6}", "r"(a[0]), "r"(a[1]), "r"(b[0])
#define A4B2 "{%4,%5,%6,%7}", "{%8,%9}", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define EXPAND(MACRO, ...) MACRO(__VA_ARGS__)

EXPAND(MMA, f16_k8, 75, "m16n8k8.row.col.f32.f16.f16.f32", float, "+f", 16, 8, 8, A2B1)
EXPAND(MMA, f16_k16, 80, "m16n8k16.row.col.f32.f16.f16.f32", float, "+f", 16, 8, 16, A4B2)
EXPAND(MMA, bf16_k16, 80, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "+f", 16, 8, 16, A4B2)
EXPAND(MMA, tf32_k4, 80, "m16n8k4.row.col.f32.tf32.tf32.f32", float, "+f", 16, 8, 4, A2B1)
EXPAND(MMA, tf32_k8, 80, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "+f", 16, 8, 8, A4B2)
EXPAND(MMA, s8_k16, 80, "m16n8k16.row.col.s32.s8.s8.s32", int, "+r", 16, 8, 16, A2B1)
EXPAND(MMA, s8_k32, 80, "m16n8k32.row.col.s32.s8.s8.s32", int, "+r", 16, 8, 32, A4B2)

struct s8_m8 {
    enum { FMA = 8 * 8 * 16, LEAST = 75 };
    typedef int acc;
    static __device__ void run(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(a[0]), "r"(b[0]));
    }
};

template <class MMA> __device__ void operands(unsigned (&a)[4], unsigned (&b)[2]) {
    for (int i = 0; i < 4; i++)
        a[i] = halves(threadIdx.x * 8 + i);
    for (int i = 0; i < 2; i++)
        b[i] = halves(threadIdx.x * 8 + 4 + i);
}

/* Clocks of each block; the sink is written only when the sum is a value that it never is. */
template <class MMA> __global__ void mma_rate(long long *clocks, int steps, float *sink) {
#if __CUDA_ARCH__ < 800
    if constexpr (MMA::LEAST <= 75)
#endif
    {
        typename MMA::acc d[MMA_CHAINS][4] = {};
        unsigned a[4], b[2];
        operands<MMA>(a, b);
        __syncthreads();
        const long long start = clock64();
        for (int s = 0; s < steps; s++) {
#pragma unroll
            for (int u = 0; u < 4; u++) {
#pragma unroll
                for (int c = 0; c < MMA_CHAINS; c++)
                    MMA::run(d[c], a, b);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0)
            clocks[blockIdx.x] = clock64() - start;
        for (int c = 0; c < MMA_CHAINS; c++)
            if (d[c][0] == (typename MMA::acc) - 12345)
                *sink = 1;
    }
}

template <class MMA> __global__ void mma_chain(long long *clocks, float *sink) {
#if __CUDA_ARCH__ < 800
    if constexpr (MMA::LEAST <= 75)
#endif
    {
        typename MMA::acc d[4] = {};
        unsigned a[4], b[2];
        operands<MMA>(a, b);
        const long long start = clock64();
#pragma unroll 16
        for (int s = 0; s < MMA_STEPS; s++)
            MMA::run(d, a, b);
        const long long end = clock64();
        if (threadIdx.x == 0)
            clocks[0] = end - start;
        if (d[0] == (typename MMA::acc) - 12345)
            *sink = 1;
    }
}

/* ---- FP32, shared memory ---- */

__global__ void fp32_rate(long long *clocks, int steps, float factor, float *sink) {
    float d[8];
    for (int i = 0; i < 8; i++)
        d[i] = (float)(threadIdx.x + i);
    __syncthreads();
    const long long start = clock64();
    for (int s = 0; s < steps; s++) {
#pragma unroll
        for (int u = 0; u < 16; u++) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(d[i]) : "f"(factor));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    for (int i = 0; i < 8; i++)
        if (d[i] == -12345.0f)
            *sink = 1;
}

enum { SMEM_WORDS = 4096, SMEM_LOADS = 16 };

__device__ unsigned smem_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void smem_rate(long long *clocks, int steps, float *sink) {
    __shared__ __align__(16) unsigned words[SMEM_WORDS];
    for (int i = threadIdx.x; i < SMEM_WORDS; i += blockDim.x)
        words[i] = i;
    __syncthreads();
    const unsigned at = smem_address(words) + threadIdx.x % (SMEM_WORDS / 4) * 16;
    unsigned sum = 0;
    const long long start = clock64();
    for (int s = 0; s < steps; s++) {
#pragma unroll
        for (int i = 0; i < SMEM_LOADS; i++) {
            unsigned x, y, z, w;
            asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(at));
            sum += x ^ y ^ z ^ w;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    if (sum == 12345u)
        *sink = 1;
}

__global__ void smem_chase(long long *clocks, float *sink) {
    __shared__ unsigned words[1024];
    for (int i = 0; i < 1024; i++)
        words[i] = smem_address(&words[(i + 33) % 1024]);
    unsigned at = smem_address(words);
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < 1024; i++)
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    clocks[0] = clock64() - start;
    if (at == 12345u)
        *sink = 1;
}

/* ---- L2 and device memory ---- */

/* Every block reads all `chunks` (16 bytes per thread of one block) from a start of its own; .cg passes L1. */
__global__ void l2_read(const uint4 *data, int chunks, float *sink) {
    unsigned sum = 0;
    int at = (int)((long long)chunks * blockIdx.x / gridDim.x);
#pragma unroll 8
    for (int i = 0; i < chunks; i++) {
        uint4 v;
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(data + (size_t)at * blockDim.x + threadIdx.x));
        sum += v.x ^ v.y ^ v.z ^ v.w;
        at = at + 1 == chunks ? 0 : at + 1;
    }
    if (sum == 12345u)
        *sink = 1;
}

/* Writes the ring: line i points to line (i + jump) % lines, `stride` bytes apart. jump and lines have no common factor. */
__global__ void ring_write(char *data, long long lines, long long stride, long long jump) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < lines; i += (long long)gridDim.x * blockDim.x)
        *(char **)(data + i * stride) = data + (i + jump) % lines * stride;
}

__global__ void chase(long long *clocks, const char *from, int hops, float *sink) {
    const char *at = from;
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < hops; i++)
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
    clocks[0] = clock64() - start;
    if (at == (const char *)12345)
        *sink = 1;
}

__global__ void nothing() {}

/* ---- clock under load ---- */

/* MMAs and shared-memory loads together, as a kernel of ours has them; block 0 tells clocks and nanoseconds. */
__global__ void load_clock(long long *result, int steps, float *sink) {
    __shared__ __align__(16) unsigned words[SMEM_WORDS];
    for (int i = threadIdx.x; i < SMEM_WORDS; i += blockDim.x)
        words[i] = halves(i);
    __syncthreads();
    const unsigned at = smem_address(words) + threadIdx.x % (SMEM_WORDS / 4) * 16;
    float d[MMA_CHAINS][4] = {};
    unsigned a[4], b[2] = {halves(threadIdx.x), halves(threadIdx.x + 9999)};
    unsigned long long start_ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns));
    const long long start = clock64();
    for (int s = 0; s < steps; s++) {
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
#pragma unroll
        for (int u = 0; u < 4; u++) {
#pragma unroll
            for (int c = 0; c < MMA_CHAINS; c++) {
#if __CUDA_ARCH__ >= 800
                f16_k16::run(d[c], a, b);
#else
                f16_k8::run(d[c], a, b);
#endif
            }
        }
    }
    const long long end = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result[0] = end - start;
        result[1] = (long long)(end_ns - start_ns);
    }
    for (int c = 0; c < MMA_CHAINS; c++)
        if (d[c][0] == -12345.0f)
            *sink = 1;
}

/* ---- Hopper: wgmma, bulk copies. PTX ISA 9.0, "wgmma.mma_async", "cp.async.bulk", "mbarrier" ---- */

enum { WG_THREADS = 256, WG_A_BYTES = 64 * 128, WG_B_BYTES = 256 * 128, WG_BYTES = 2 * WG_A_BYTES + WG_B_BYTES, WG_BATCH = 16 };
enum { BULK_BYTES = 8192, BULK_RING = 16 };

#define WG_REGISTERS                                                                                         \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WG_8(C, d, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3]), C(d[i + 4]), C(d[i + 5]), C(d[i + 6]), C(d[i + 7])
#define WG_32(C, d, i) WG_8(C, d, i), WG_8(C, d, i + 8), WG_8(C, d, i + 16), WG_8(C, d, i + 24)

/* An MMA of a warpgroup, 64 x 256 and 32 bytes deep. TAIL: signs, and for 16-bit types the majorness of A and B. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WGMMA(NAME, SHAPE, TAIL, ACC, C, K)                                                                  \
    struct NAME {                                                                                            \
        enum { FMA = 64 * 256 * K };                                                                         \
        typedef ACC acc;                                                                                     \
        static __device__ void run(acc (&d)[128], unsigned long long a, unsigned long long b) {              \
            asm volatile("wgmma.mma_async.sync.aligned." SHAPE " {" WG_REGISTERS "}, %128, %129, 1" TAIL ";"  \
                         : WG_32(C, d, 0), WG_32(C, d, 32), WG_32(C, d, 64), WG_32(C, d, 96)                 \
                         : "l"(a), "l"(b));                                                                  \
        }                                                                                                    \
    };
#else
#define WGMMA(NAME, SHAPE, TAIL, ACC, C, K)                                                                  \
    struct NAME {                                                                                            \
        enum { FMA = 64 * 256 * K };                                                                         \
        typedef ACC acc;                                                                                     \
    };
#endif

WGMMA(wg_f16, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", float, "+f", 16)
WGMMA(wg_bf16, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", float, "+f", 16)
WGMMA(wg_tf32, "m64n256k8.f32.tf32.tf32", ", 1, 1", float, "+f", 8)
WGMMA(wg_s8, "m64n256k32.s32.s8.s8", "", int, "+r", 32)

/* Shared-memory descriptor (PTX ISA, "Matrix descriptor format"): address / 16, stride between groups of 8 rows 1024
 * bytes, 128-byte swizzle. */
__device__ unsigned long long wg_descriptor(unsigned address) {
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

/* clocks: of every block, and behind those every block's nanoseconds. */
template <class MMA> __global__ void wgmma_rate(long long *clocks, int steps, float *sink) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned *words = (unsigned *)shared;
    for (int i = threadIdx.x; i < WG_BYTES / 4; i += blockDim.x)
        words[i] = halves(i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned base = smem_address(shared), group = threadIdx.x / 128;
    typename MMA::acc d[128] = {};
    unsigned long long start_ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns));
    const long long start = clock64();
    for (int s = 0; s < steps; s++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < WG_BATCH; i++) /* the four k steps of a 128-byte row */
            MMA::run(d, wg_descriptor(base + WG_B_BYTES + group * WG_A_BYTES + i % 4 * 32), wg_descriptor(base + i % 4 * 32));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    __syncthreads();
    const long long end = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
    if (threadIdx.x == 0) {
        clocks[blockIdx.x] = end - start;
        clocks[gridDim.x + blockIdx.x] = (long long)(end_ns - start_ns);
    }
    typename MMA::acc sum = 0;
    for (int i = 0; i < 128; i++)
        sum += d[i];
    if (sum == (typename MMA::acc) - 12345)
        *sink = 1;
#else
    (void)clocks, (void)steps, (void)sink;
#endif
}

/* Every block copies all `chunks` of BULK_BYTES from a start of its own, BULK_RING of them under way. */
__global__ void l2_bulk(const char *data, int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ unsigned long long full[BULK_RING];
    const int first = (int)((long long)chunks * blockIdx.x / gridDim.x);
    for (int s = 0; s < BULK_RING; s++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem_address(&full[s])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int i = 0; i < chunks + BULK_RING; i++) {
        const unsigned bar = smem_address(&full[i % BULK_RING]), phase = (unsigned)(i / BULK_RING + 1) % 2;
        if (i >= BULK_RING) /* the copy before this one in the ring */
            asm volatile("{\n.reg .pred done;\nagain_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                         "@!done bra again_%=;\n}" ::"r"(bar), "r"(phase) : "memory");
        if (i >= chunks)
            continue;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"((int)BULK_BYTES) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         smem_address(shared) + i % BULK_RING * BULK_BYTES),
                     "l"(__cvta_generic_to_global(data + (size_t)((first + i) % chunks) * BULK_BYTES)), "r"((int)BULK_BYTES), "r"(bar)
                     : "memory");
    }
#else
    (void)data, (void)chunks;
#endif
}

/* ---- host ---- */

/* Everything that measurements share; made by facts(), freed by close(). */
struct bench {
    cudaDeviceProp device;
    long long *clocks; /* device, one per block */
    float *sink;
    cudaEvent_t start, end;
    char *memory; /* device */
    size_t memory_bytes;
} state;

const size_t COPY_BYTES = (size_t)1 << 30;

int check(cudaError_t error, const char *what, struct cli_error *f) {
    if (error == cudaSuccess)
        return 0;
    (void)cudaGetLastError();
    return cli_error_set(f, "%s: %s%s", what, cudaGetErrorString(error),
                     error == cudaErrorMemoryAllocation ? "; close other programs that use this GPU" : "");
}

int attribute(cudaDeviceAttr which) {
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return value;
}

int capability() {
    return state.device.major * 10 + state.device.minor;
}

int prepare(struct cli_error *f) {
    size_t free_bytes = 0, whole = 0;
    if (check(cudaMemGetInfo(&free_bytes, &whole), "device memory", f) != 0)
        return -1;
    state.memory_bytes = 2 * COPY_BYTES;
    while (state.memory_bytes > free_bytes / 10 * 9 && state.memory_bytes > (size_t)64 << 20)
        state.memory_bytes /= 2;
    if (check(cudaMalloc((void **)&state.clocks, sizeof(long long) * (size_t)state.device.multiProcessorCount * 4),
              "device memory", f) != 0 ||
        check(cudaMalloc((void **)&state.sink, sizeof(float)), "device memory", f) != 0 ||
        check(cudaMalloc((void **)&state.memory, state.memory_bytes), "device memory", f) != 0 ||
        check(cudaMemset(state.memory, 1, state.memory_bytes), "device memory", f) != 0 ||
        check(cudaEventCreate(&state.start), "event", f) != 0)
        return -1;
    return check(cudaEventCreate(&state.end), "event", f);
}

int facts(struct probe_facts *out, struct cli_error *f) {
    int device = 0, version = 0;
    if (check(cudaGetDevice(&device), "no usable GPU", f) != 0 ||
        check(cudaGetDeviceProperties(&state.device, device), "no usable GPU", f) != 0) {
        f->code = EXIT_NO_DEVICE;
        return -1;
    }
    (void)cudaDriverGetVersion(&version);
    snprintf(out->name, sizeof out->name, "%s", state.device.name);
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    out->capability = capability();
    out->sms = state.device.multiProcessorCount;
    out->clock_khz = attribute(cudaDevAttrClockRate);
    out->memory_khz = attribute(cudaDevAttrMemoryClockRate);
    out->memory_bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
    out->fp64_share = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio);
    out->registers_per_sm = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    out->smem_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    out->smem_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    out->smem_reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    out->threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    out->blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    out->threads_per_block = attribute(cudaDevAttrMaxThreadsPerBlock);
    out->l2_bytes = attribute(cudaDevAttrL2CacheSize);
    return prepare(f);
}

void close() {
    (void)cudaFree(state.clocks);
    (void)cudaFree(state.sink);
    (void)cudaFree(state.memory);
    (void)cudaEventDestroy(state.start);
    (void)cudaEventDestroy(state.end);
    memset(&state, 0, sizeof state);
}

int compare(const void *a, const void *b) {
    const long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

/* Median over the blocks of what they counted, after the kernel launched just before. */
int read_clocks(int blocks, double *median, struct cli_error *f) {
    static long long host[4096];
    blocks = blocks < 4096 ? blocks : 4096;
    if (check(cudaGetLastError(), "launch", f) != 0 ||
        check(cudaMemcpy(host, state.clocks, sizeof *host * (size_t)blocks, cudaMemcpyDeviceToHost), "measuring", f) != 0)
        return -1;
    qsort(host, (size_t)blocks, sizeof *host, compare);
    *median = (double)host[blocks / 2];
    return 0;
}

/* Work of each of the blocks in a clock; clocks of each step of one thread. */
int work_per_clock(int blocks, double work, double *value, struct cli_error *f) {
    double clocks = 0;
    if (read_clocks(blocks, &clocks, f) != 0)
        return -1;
    *value = work / clocks;
    return 0;
}

int clocks_per_step(int steps, double *value, struct cli_error *f) {
    if (read_clocks(1, value, f) != 0)
        return -1;
    *value /= steps;
    return 0;
}

template <class MMA> int measure_mma(double *value, struct cli_error *f) {
    const int sms = state.device.multiProcessorCount;
    if (capability() < MMA::LEAST)
        return PROBE_ABSENT;
    mma_rate<MMA><<<sms, RATE_THREADS>>>(state.clocks, MMA_STEPS, state.sink);
    return work_per_clock(sms, (double)MMA::FMA * (RATE_THREADS / 32) * MMA_CHAINS * 4.0 * MMA_STEPS, value, f);
}

/* One launch of wgmma_rate, and what every block tells of it. */
template <class MMA> int run_wgmma(int steps, struct cli_error *f) {
    if (check(cudaFuncSetAttribute((const void *)wgmma_rate<MMA>, cudaFuncAttributeMaxDynamicSharedMemorySize, WG_BYTES),
              "shared memory", f) != 0)
        return -1;
    wgmma_rate<MMA><<<state.device.multiProcessorCount, WG_THREADS, WG_BYTES>>>(state.clocks, steps, state.sink);
    return check(cudaGetLastError(), "launch", f);
}

template <class MMA> int measure_wgmma(double *value, struct cli_error *f) {
    enum { STEPS = 64 };
    if (capability() != 90)
        return PROBE_ABSENT;
    if (run_wgmma<MMA>(STEPS, f) != 0)
        return -1;
    return work_per_clock(state.device.multiProcessorCount, (double)MMA::FMA * (WG_THREADS / 128) * WG_BATCH * STEPS, value, f);
}

int measure_fp32(double *value, struct cli_error *f) {
    enum { STEPS = 256, THREADS = 1024 };
    fp32_rate<<<state.device.multiProcessorCount, THREADS>>>(state.clocks, STEPS, 0.5f, state.sink);
    return work_per_clock(state.device.multiProcessorCount, (double)THREADS * 8 * 16 * STEPS, value, f);
}

int measure_smem(double *value, struct cli_error *f) {
    enum { STEPS = 512, THREADS = 1024 };
    smem_rate<<<state.device.multiProcessorCount, THREADS>>>(state.clocks, STEPS, state.sink);
    return work_per_clock(state.device.multiProcessorCount, 16.0 * THREADS * SMEM_LOADS * STEPS, value, f);
}

int measure_chain(double *value, struct cli_error *f) {
    (capability() >= 80 ? mma_chain<f16_k16> : mma_chain<f16_k8>)<<<1, 32>>>(state.clocks, state.sink);
    return clocks_per_step(MMA_STEPS, value, f);
}

int measure_smem_latency(double *value, struct cli_error *f) {
    smem_chase<<<1, 1>>>(state.clocks, state.sink);
    return clocks_per_step(1024, value, f);
}

/* A ring over 2 MB in 128-byte lines; the first round fills L2. */
int measure_l2_latency(double *value, struct cli_error *f) {
    enum { STRIDE = 128, LINES = (2 << 20) / STRIDE };
    ring_write<<<64, 256>>>(state.memory, LINES, STRIDE, 4099);
    for (int round = 0; round < 2; round++)
        chase<<<1, 1>>>(state.clocks, state.memory, LINES, state.sink);
    return clocks_per_step(LINES, value, f);
}

/* Lines 8 KB apart; writing the upper half of the memory in between throws them out of L2. */
int measure_dram_latency(double *value, struct cli_error *f) {
    const size_t half = state.memory_bytes / 2, stride = 8192;
    ring_write<<<64, 256>>>(state.memory, (long long)(half / stride), (long long)stride, 1);
    if (check(cudaMemsetAsync(state.memory + half, 1, half), "memset", f) != 0)
        return -1;
    const int hops = half / stride < CHASE_HOPS ? (int)(half / stride) : CHASE_HOPS;
    chase<<<1, 1>>>(state.clocks, state.memory, hops, state.sink);
    return clocks_per_step(hops, value, f);
}

/* Nanoseconds between the events around `what`. */
template <class WORK> int time_ns(WORK work, double *ns, struct cli_error *f) {
    float ms = 0;
    if (check(cudaEventRecord(state.start), "event", f) != 0)
        return -1;
    work();
    if (check(cudaEventRecord(state.end), "event", f) != 0 || check(cudaGetLastError(), "launch", f) != 0 ||
        check(cudaEventSynchronize(state.end), "measuring", f) != 0 ||
        check(cudaEventElapsedTime(&ms, state.start, state.end), "event", f) != 0)
        return -1;
    *ns = 1e6 * (double)ms;
    return 0;
}

int measure_copy(double *value, struct cli_error *f) {
    enum { TIMES = 10 };
    const size_t half = state.memory_bytes / 2;
    const auto copy = [half] {
        for (int i = 0; i < TIMES; i++)
            (void)cudaMemcpyAsync(state.memory, state.memory + half, half, cudaMemcpyDeviceToDevice);
    };
    double ns = 0;
    if (time_ns(copy, &ns, f) != 0)
        return -1;
    *value = 2.0 * (double)half * TIMES / ns;
    return 0;
}

int measure_l2(double *value, struct cli_error *f) {
    enum { THREADS = 1024, TIMES = 4 };
    const int blocks = 2 * state.device.multiProcessorCount, threads = THREADS;
    const int chunks = state.device.l2CacheSize / 4 / (THREADS * 16);
    const int per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / THREADS;
    const int used = per_sm >= 2 ? blocks : blocks / 2;
    double ns = 0;
    if (chunks < 1)
        return PROBE_ABSENT;
    const auto read = [=] {
        for (int i = 0; i < TIMES; i++)
            l2_read<<<used, threads>>>((const uint4 *)state.memory, chunks, state.sink);
    };
    if (time_ns(read, &ns, f) != 0 || time_ns(read, &ns, f) != 0) /* the first fills L2 */
        return -1;
    *value = 16.0 * THREADS * chunks * (double)used * TIMES / ns;
    return 0;
}

int measure_l2_bulk(double *value, struct cli_error *f) {
    enum { TIMES = 4, BYTES = BULK_RING * BULK_BYTES };
    const int sms = state.device.multiProcessorCount, chunks = state.device.l2CacheSize / 4 / BULK_BYTES;
    double ns = 0;
    if (capability() != 90 || chunks < 1)
        return PROBE_ABSENT;
    if (check(cudaFuncSetAttribute((const void *)l2_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES), "shared memory",
              f) != 0)
        return -1;
    const auto read = [=] {
        for (int i = 0; i < TIMES; i++)
            l2_bulk<<<sms, 1, BYTES>>>(state.memory, chunks);
    };
    if (time_ns(read, &ns, f) != 0 || time_ns(read, &ns, f) != 0) /* the first fills L2 */
        return -1;
    *value = (double)BULK_BYTES * chunks * (double)sms * TIMES / ns;
    return 0;
}

int measure_launch(double *value, struct cli_error *f) {
    enum { LAUNCHES = 2000 };
    const auto launch = [] {
        for (int i = 0; i < LAUNCHES; i++)
            nothing<<<1, 32>>>();
    };
    if (time_ns(launch, value, f) != 0)
        return -1;
    *value /= LAUNCHES;
    return 0;
}

/* A third of a second of load or more, in launches of about 20 ms (H200); the last one counts. On Hopper the load is
 * wgmma, as in its kernels. */
int measure_clock(double *value, struct cli_error *f) {
    enum { STEPS = 100000, WGMMA_STEPS = 7000, LAUNCHES = 16 };
    const int sms = state.device.multiProcessorCount;
    const bool hopper = capability() == 90;
    long long clocks = 0, ns = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        if (hopper && run_wgmma<wg_f16>(WGMMA_STEPS, f) != 0)
            return -1;
        if (!hopper)
            load_clock<<<sms, RATE_THREADS>>>(state.clocks, STEPS, state.sink);
    }
    if (check(cudaGetLastError(), "launch", f) != 0 ||
        check(cudaMemcpy(&clocks, state.clocks, sizeof clocks, cudaMemcpyDeviceToHost), "measuring", f) != 0 ||
        check(cudaMemcpy(&ns, state.clocks + (hopper ? sms : 1), sizeof ns, cudaMemcpyDeviceToHost), "measuring", f) != 0)
        return -1;
    *value = ns > 0 ? 1000.0 * (double)clocks / (double)ns : 0;
    return 0;
}

int measure(enum probe_what what, double *value, struct cli_error *f) {
    static int (*const in_order[])(double *value, struct cli_error *f) = { /* of PROBE_MEASUREMENTS */
        measure_clock, measure_copy, measure_l2, measure_l2_bulk, measure_smem, measure_mma<f16_k8>,
        measure_mma<f16_k16>, measure_mma<bf16_k16>, measure_mma<tf32_k4>, measure_mma<tf32_k8>,
        measure_mma<s8_m8>, measure_mma<s8_k16>, measure_mma<s8_k32>, measure_fp32, measure_chain,
        measure_smem_latency, measure_l2_latency, measure_dram_latency, measure_launch,
        measure_wgmma<wg_f16>, measure_wgmma<wg_bf16>, measure_wgmma<wg_tf32>, measure_wgmma<wg_s8>,
    };
    static_assert(sizeof in_order / sizeof *in_order == PROBE_COUNT, "a measurement without a function");
    return in_order[what](value, f);
}

} // namespace

extern "C" const struct probe_device probe_device_cuda = {facts, measure, close};
