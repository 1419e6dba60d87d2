// prim/hip: the only functions through which kernels touch AMD hardware, the counterpart of prim/cuda. The simulator
// (runtime/sim/ht_sim.h) supplies the same names with checks. LDS addresses are 32-bit offsets, as the instructions take
// them; s_waitcnt is the compiler's business, there is no wait to write in HIP.
#define HT_DEVICE static __device__ __forceinline__
#define HT_OUTLINED static __device__ __noinline__
#define HT_GLOBAL __attribute__((address_space(1)))
#define HT_LDS __attribute__((address_space(3)))
typedef unsigned ht_u32x4 __attribute__((ext_vector_type(4)));
typedef unsigned ht_u32x2 __attribute__((ext_vector_type(2)));

// HIP's second bound is the least number of wavefronts on each of a CU's four SIMDs; it decides how many of the 512
// registers a lane may have.
constexpr int ht_bound(int threads, int blocks)
{
    return (blocks * threads / 64 + 3) / 4;
}

// LDS is declared with its size, so that the code object says what a kernel uses. The asm keeps the address from being
// folded into constants: LLVM 15 counts the array twice where it meets it in a vector constant.
template <int BYTES> HT_DEVICE unsigned ht_smem_base(void)
{
    __shared__ __attribute__((aligned(1024))) unsigned char ht_shared[BYTES];
    unsigned base = (unsigned)(unsigned long long)(HT_LDS unsigned char *)ht_shared;
    asm("" : "+s"(base));
    return base;
}

HT_DEVICE void ht_barrier(void)
{
    __syncthreads();
}

// A kernel's only argument, read again from here on: it is loaded into scalar registers at the kernel's start, and what a loop
// around whole tiles keeps of it there, the tile does not have.
template <class T> HT_DEVICE const T &ht_reload_args(const T &)
{
    unsigned long long p = (unsigned long long)__builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(p));
    return *(const T *)(const __attribute__((address_space(4))) T *)p;
}

template <class T> HT_DEVICE T ht_global_load(const void *p)
{
    return *(const HT_GLOBAL T *)p;
}

template <class T> HT_DEVICE void ht_global_store(void *p, T v)
{
    *(HT_GLOBAL T *)p = v;
}

HT_DEVICE uint4 ht_ldg16(const void *p)
{
    const ht_u32x4 v = ht_global_load<ht_u32x4>(p);
    return make_uint4(v.x, v.y, v.z, v.w);
}

HT_DEVICE unsigned long long ht_l2_policy(bool)
{
    return 0;
}

HT_DEVICE uint4 ht_ldg16_by(const void *p, unsigned long long)
{
    return ht_ldg16(p);
}

HT_DEVICE float ht_ldg4(const float *p)
{
    return ht_global_load<float>(p);
}

HT_DEVICE unsigned short ht_ldg_u16(const unsigned short *p)
{
    return ht_global_load<unsigned short>(p);
}

HT_DEVICE int ht_ldg_i32(const int *p)
{
    return ht_global_load<int>(p);
}

HT_DEVICE uint4 ht_ld16(const void *p)
{
    return ht_ldg16(p);
}

HT_DEVICE uint4 ht_ld16_once(const void *p, bool there)
{
    return there ? ht_ldg16(p) : make_uint4(0, 0, 0, 0);
}

HT_DEVICE long long ht_ldg_i64(const long long *p)
{
    return ht_global_load<long long>(p);
}

HT_DEVICE void ht_stg_i64(long long *p, long long v)
{
    ht_global_store(p, v);
}

HT_DEVICE void ht_stg16(void *p, uint4 v)
{
    ht_global_store(p, (ht_u32x4){v.x, v.y, v.z, v.w});
}

HT_DEVICE void ht_stg8(void *p, unsigned x, unsigned y)
{
    ht_global_store(p, (ht_u32x2){x, y});
}

HT_DEVICE void ht_stg4(float *p, float v)
{
    ht_global_store(p, v);
}

HT_DEVICE void ht_stg_u8(unsigned char *p, unsigned char v)
{
    *p = v;
}

HT_DEVICE void ht_stg_i32(int *p, int v)
{
    ht_global_store(p, v);
}

// d += a * b; AB and D are what a lane holds of an operand and of the result.
#define HT_MFMA(NAME, AB, D, T)                                                                                        \
    HT_DEVICE void ht_mfma_##NAME(T *d, const unsigned *a, const unsigned *b)                                          \
    {                                                                                                                  \
        AB x, y;                                                                                                       \
        D z;                                                                                                           \
        __builtin_memcpy(&x, a, sizeof x);                                                                             \
        __builtin_memcpy(&y, b, sizeof y);                                                                             \
        __builtin_memcpy(&z, d, sizeof z);                                                                             \
        z = __builtin_amdgcn_mfma_##NAME(x, y, z, 0, 0, 0);                                                            \
        __builtin_memcpy(d, &z, sizeof z);                                                                             \
    }
typedef float ht_f32x4 __attribute__((ext_vector_type(4)));
typedef float ht_f32x16 __attribute__((ext_vector_type(16)));
typedef int ht_i32x4 __attribute__((ext_vector_type(4)));
typedef int ht_i32x16 __attribute__((ext_vector_type(16)));

// One number from block to block of a launch, without any order between different numbers.
HT_DEVICE int ht_ld_relaxed_i32(const int *p)
{
    return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

HT_DEVICE void ht_st_relaxed_i32(int *p, int v)
{
    __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

HT_DEVICE int ht_add_relaxed_i32(int *p, int v)
{
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

HT_DEVICE long long ht_add_relaxed_i64(long long *p, long long v)
{
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <class T> HT_DEVICE HT_LDS T *ht_lds(unsigned s)
{
    return (HT_LDS T *)(unsigned long long)s;
}

HT_DEVICE uint4 ht_lds16(unsigned s)
{
    const ht_u32x4 v = *ht_lds<ht_u32x4>(s);
    return make_uint4(v.x, v.y, v.z, v.w);
}

HT_DEVICE float ht_lds4(unsigned s)
{
    return *ht_lds<float>(s);
}

HT_DEVICE double ht_lds_f64(unsigned s)
{
    return *ht_lds<double>(s);
}

HT_DEVICE void ht_sts8(unsigned s, unsigned x, unsigned y)
{
    *ht_lds<ht_u32x2>(s) = (ht_u32x2){x, y};
}

HT_DEVICE void ht_sts16(unsigned s, uint4 v)
{
    *ht_lds<ht_u32x4>(s) = (ht_u32x4){v.x, v.y, v.z, v.w};
}

HT_DEVICE void ht_sts4(unsigned s, float v)
{
    *ht_lds<float>(s) = v;
}

HT_DEVICE int ht_shfl_xor(int v, int lane_mask)
{
    return __shfl_xor(v, lane_mask);
}

// c + a.0 b.0 + a.1 b.1 + a.2 b.2 + a.3 b.3 of signed bytes.
HT_DEVICE int ht_dp4a(unsigned a, unsigned b, int c)
{
    return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
}

HT_DEVICE unsigned ht_as_uint(float x)
{
    return __float_as_uint(x);
}

HT_DEVICE float ht_as_float(unsigned x)
{
    return __uint_as_float(x);
}

HT_DEVICE float ht_f16_value(unsigned short h)
{
    return (float)__builtin_bit_cast(_Float16, h);
}

HT_DEVICE unsigned short ht_f16_rn(float x)
{
    return __builtin_bit_cast(unsigned short, (_Float16)x);
}

// Toward zero: the nearest, or the number before it when that is too large (infinity included).
HT_DEVICE unsigned short ht_f16_rz(float x)
{
    const unsigned short h = ht_f16_rn(x);
    return __builtin_fabsf(ht_f16_value(h)) > __builtin_fabsf(x) ? (unsigned short)(h - 1) : h;
}

// Of a pair of FP16 numbers: counts those of magnitude `least` (a pair too) or more in `count`, and leaves NaN in `odd` where
// one is NaN or Inf. Both are pairs of FP16 numbers that begin with 0; counts are exact up to 2048.
HT_DEVICE void ht_count_large_f16x2(unsigned *count, unsigned *odd, unsigned pair, unsigned least)
{
    for (int half = 0; half < 32; half += 16) {
        const unsigned bits = pair >> half & 0x7fffu;
        const float one = bits <= 0x7c00u && bits >= (least >> half & 0x7fffu) ? 1.0f : 0.0f;
        const float sum = ht_f16_value((unsigned short)(*count >> half)) + one;
        *count = (*count & ~(0xffffu << half)) | (unsigned)ht_f16_rn(sum) << half;
        *odd |= bits >= 0x7c00u ? 0x7e00u << half : 0u;
    }
}

// Brings the line of p close: left to the caches here.
HT_DEVICE void ht_prefetch(const void *)
{
}

HT_DEVICE long long ht_opaque(long long x)
{
    return x;
}

template <class Args>
static int ht_launch(void (*kernel)(Args), unsigned gx, unsigned gy, unsigned gz, unsigned threads, int smem_bytes,
                     void *stream, const Args &args)
{
    (void)smem_bytes; // declared by the kernel
    Args copy = args;
    void *list[] = {&copy};
    return (int)hipLaunchKernel((const void *)kernel, dim3(gx, gy, gz), dim3(threads), list, 0, (hipStream_t)stream);
}

template <class Args> static int ht_allow_smem(void (*kernel)(Args), int smem_bytes)
{
    (void)kernel;
    (void)smem_bytes;
    return 0;
}

template <class Args> static int ht_prefer_smem(void (*kernel)(Args), int smem_bytes)
{
    return ht_allow_smem(kernel, smem_bytes);
}
