// prim/cuda: the only functions through which kernels touch NVIDIA hardware. The simulator
// supplies the same names with checks. Instruction facts: PTX ISA 9.0, sections "ldmatrix", "cp.async", "mma", "cvt".
#define HT_DEVICE static __device__ __forceinline__
#define HT_OUTLINED static __device__ __noinline__

// What __launch_bounds__ takes second: blocks.
constexpr int ht_bound(int, int blocks)
{
    return blocks;
}

template <int BYTES> HT_DEVICE unsigned ht_smem_base(void)
{
    extern __shared__ __align__(1024) unsigned char ht_shared[];
    return (unsigned)__cvta_generic_to_shared(ht_shared);
}

HT_DEVICE void ht_barrier(void)
{
    __syncthreads();
}

// A barrier; whether any thread of the block says yes.
HT_DEVICE bool ht_barrier_any(bool yes)
{
    return __syncthreads_or(yes) != 0;
}

// A kernel's only argument, read again from here on, where it would fill registers (prim/hip). Here it lies in constant memory.
template <class T> HT_DEVICE const T &ht_reload_args(const T &args)
{
    return args;
}

HT_DEVICE uint4 ht_ldg16(const void *p)
{
    return __ldg((const uint4 *)p);
}

// What L2 is to do with what a load brings: as always, or give it up first, because more than L2 holds comes before it is read again.
HT_DEVICE unsigned long long ht_l2_policy(bool passes)
{
    unsigned long long policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (passes)
        asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    else
        asm("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(policy));
#endif
    return policy;
}

HT_DEVICE uint4 ht_ldg16_by(const void *p, unsigned long long policy)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint4 v;
    asm volatile("ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(policy));
    return v;
#else
    return ht_ldg16(p);
#endif
}

// 16 bytes that this or an earlier kernel wrote (ht_ldg16 is for data that nobody writes meanwhile).
HT_DEVICE uint4 ht_ld16(const void *p)
{
    return *(const uint4 *)p;
}

// The same for data that this SM asks for once: it takes no place in L1. Nothing is read, and the result is any, unless it is there: no branch.
HT_DEVICE uint4 ht_ld16_once(const void *p, bool there)
{
    uint4 v;
    asm volatile("{\n.reg .pred there;\nsetp.ne.b32 there, %5, 0;\n"
                 "@there ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(p)), "r"((int)there));
    return v;
}

// Brings the line of p close.
HT_DEVICE void ht_prefetch(const void *p)
{
    asm volatile("prefetch.global.L1 [%0];" ::"l"(__cvta_generic_to_global(p)));
}

HT_DEVICE float ht_ldg4(const float *p)
{
    return *p;
}

HT_DEVICE unsigned short ht_ldg_u16(const unsigned short *p)
{
    return *p;
}

HT_DEVICE int ht_ldg_i32(const int *p)
{
    return *p;
}

HT_DEVICE long long ht_ldg_i64(const long long *p)
{
    return *p;
}

HT_DEVICE void ht_stg16(void *p, uint4 v)
{
    *(uint4 *)p = v;
}

// Eight bytes, aligned to them. As a vector: of a 64-bit integer made of packed halves ptxas 13.0 stored a wrong upper half.
HT_DEVICE void ht_stg8(void *p, unsigned x, unsigned y)
{
    *(uint2 *)p = make_uint2(x, y);
}

HT_DEVICE void ht_stg4(float *p, float v)
{
    *p = v;
}

HT_DEVICE void ht_stg_u8(unsigned char *p, unsigned char v)
{
    *p = v;
}

HT_DEVICE void ht_stg_i32(int *p, int v)
{
    *p = v;
}

HT_DEVICE void ht_stg_i64(long long *p, long long v)
{
    *p = v;
}

// One number from block to block of a launch, without any order between different numbers.
HT_DEVICE int ht_ld_relaxed_i32(const int *p)
{
    int v;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)) : "memory");
    return v;
}

HT_DEVICE void ht_st_relaxed_i32(int *p, int v)
{
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}

// Adds and returns what was there, without any order to other accesses.
HT_DEVICE int ht_add_relaxed_i32(int *p, int v)
{
    int old;
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(__cvta_generic_to_global(p)), "r"(v)
                 : "memory");
    return old;
}

HT_DEVICE long long ht_add_relaxed_i64(long long *p, long long v)
{
    long long old;
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(__cvta_generic_to_global(p)), "l"(v)
                 : "memory");
    return old;
}

HT_DEVICE uint4 ht_lds16(unsigned s)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(s));
    return v;
}

HT_DEVICE float ht_lds4(unsigned s)
{
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(s));
    return v;
}

HT_DEVICE double ht_lds_f64(unsigned s)
{
    double v;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(s));
    return v;
}

HT_DEVICE void ht_sts8(unsigned s, unsigned x, unsigned y)
{
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(s), "r"(x), "r"(y) : "memory");
}

HT_DEVICE void ht_sts16(unsigned s, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(s), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

HT_DEVICE void ht_sts4(unsigned s, float v)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(s), "f"(v) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8.
HT_DEVICE void ht_ldmatrix_x4(unsigned *r, unsigned s)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(s));
}

HT_DEVICE int ht_shfl_xor(int v, int lane_mask)
{
    return __shfl_xor_sync(0xffffffffu, v, lane_mask);
}

// c + a.0 b.0 + a.1 b.1 + a.2 b.2 + a.3 b.3 of signed bytes.
HT_DEVICE int ht_dp4a(unsigned a, unsigned b, int c)
{
    return __dp4a((int)a, (int)b, c);
}

HT_DEVICE unsigned ht_as_uint(float x)
{
    return __float_as_uint(x);
}

HT_DEVICE float ht_as_float(unsigned x)
{
    return __uint_as_float(x);
}

HT_DEVICE unsigned short ht_f16_rn(float x)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

HT_DEVICE unsigned short ht_f16_rz(float x)
{
    unsigned short h;
    asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

HT_DEVICE float ht_f16_value(unsigned short h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

// Of a pair of FP16 numbers: counts those of magnitude `least` (a pair too) or more in `count`, and leaves NaN in `odd` where
// one is NaN or Inf. Both are pairs of FP16 numbers that begin with 0; counts are exact up to 2048.
HT_DEVICE void ht_count_large_f16x2(unsigned *count, unsigned *odd, unsigned pair, unsigned least)
{
    asm("{\n"
        ".reg .b32 t;\n"
        "abs.f16x2 t, %2;\n"
        "set.ge.f16x2.f16x2 t, t, %3;\n"
        "add.rn.f16x2 %0, %0, t;\n"
        "fma.rn.f16x2 %1, %2, %4, %1;\n"
        "}"
        : "+&r"(*count), "+&r"(*odd)
        : "r"(pair), "r"(least), "r"(0u)); // &: else the register of a count that is 0 serves as that 0
}

// x, of which the compiler knows nothing: it would keep what follows from it in registers.
HT_DEVICE long long ht_opaque(long long x)
{
    asm volatile("" : "+l"(x));
    return x;
}

template <class Args>
static int ht_launch(void (*kernel)(Args), unsigned gx, unsigned gy, unsigned gz, unsigned threads, int smem_bytes,
                     void *stream, const Args &args)
{
    Args copy = args;
    void *list[] = {&copy};
    return (int)cudaLaunchKernel((const void *)kernel, dim3(gx, gy, gz), dim3(threads), list, (size_t)smem_bytes,
                                 (cudaStream_t)stream);
}

template <class Args> static int ht_allow_smem(void (*kernel)(Args), int smem_bytes)
{
    return (int)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes);
}

// The same for kernels that follow each other and want one division of an SM's memory: it changes only while the SM is idle, so that
// blocks of the next could not start beside the last ones'.
template <class Args> static int ht_prefer_smem(void (*kernel)(Args), int smem_bytes)
{
    const int code = ht_allow_smem(kernel, smem_bytes);
    return code != 0 ? code
                     : (int)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
}

// Prepares the kernel for shared memory of up to `smem_most` bytes, in all calls the same, since threads launch side by side: how many of its blocks with
// smem_bytes the device then holds at once, 0 where that is fewer than `least` an SM.
template <class Args> static int ht_resident_blocks(void (*kernel)(Args), int threads, int smem_bytes, int smem_most, int least)
{
    int device = 0, sms = 0, each = 0;
    const bool ok = ht_prefer_smem(kernel, smem_most) == 0 && cudaGetDevice(&device) == cudaSuccess &&
                    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
                    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, (size_t)smem_bytes) == cudaSuccess;
    if (!ok)
        (void)cudaGetLastError(); // which is not for the caller
    return ok && each >= least ? sms * each : 0;
}
