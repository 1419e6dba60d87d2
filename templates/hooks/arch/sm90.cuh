// arch/sm90: hooks for Hopper's asynchronous units: bulk copies on mbarriers, warpgroup MMA. Instruction facts: PTX ISA
// 9.0, sections "mbarrier", "cp.async.bulk", "wgmma.mma_async", "setmaxnreg".
#ifndef HT_SIMULATOR
// ---- mbarriers: a phase completes when `count` arrivals and all announced bytes are there; the parity of the phase is
// what a waiting thread names. A fresh barrier is in phase 0: waiting for parity 1 passes at once.
HT_DEVICE void ht_mbar_init(unsigned bar, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

// Makes initialised barriers known to the copy engine; a block barrier must follow.
HT_DEVICE void ht_mbar_init_done(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives and announces bytes that copies will bring.
HT_DEVICE void ht_mbar_arrive_expect_tx(unsigned bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

HT_DEVICE void ht_mbar_arrive(unsigned bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

HT_DEVICE void ht_mbar_wait(unsigned bar, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again_%=:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again_%=;\n"
                 "}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

// `bytes` from device to shared memory by the copy engine; both ends aligned to 16; completes on bar.
HT_DEVICE void ht_bulk_copy(unsigned to, const void *from, int bytes, unsigned bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar)
                 : "memory");
}

// x of the warp's first lane; tells the compiler that the warp agrees, so that what follows from x lives in uniform registers.
HT_DEVICE int ht_uniform(int x)
{
    return __shfl_sync(0xffffffffu, x, 0);
}

// Whether this is the lane of a whole warp that acts for it. So asked, ptxas knows that it is one, and issues bulk copies from uniform
// registers; behind any other question it writes a loop over lanes around each (13.0, 100 clocks a copy).
HT_DEVICE bool ht_elect(void)
{
    unsigned elected;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}"
                 : "=r"(elected));
    return elected != 0;
}

// Orders the accesses of a warp's lanes to shared memory.
HT_DEVICE void ht_warp_sync(void)
{
    __syncwarp();
}

// A barrier of the THREADS threads of one of GROUPS groups of a block.
template <int GROUPS, int THREADS> HT_DEVICE void ht_group_barrier(int group)
{
    asm volatile("bar.sync %0, %1;" ::"r"(GROUPS > 1 ? group + 1 : 0), "n"(THREADS) : "memory");
}

// ---- registers move between the roles of a block
template <int REGISTERS> HT_DEVICE void ht_reg_dealloc(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> HT_DEVICE void ht_reg_alloc(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// ---- warpgroup MMA: D(64 x N) += A(64 x k) * B(N x k)^T, both operands from shared memory, each row of 128 bytes
// swizzled. Asynchronous: accumulators belong to the unit from the fence before the first MMA to the wait.
HT_DEVICE void ht_wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

HT_DEVICE void ht_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> HT_DEVICE void ht_wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// ---- operands of one warpgroup MMA: up to 128 accumulators, listed for asm
#define HT_D4(C, d, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define HT_D16(C, d, i) HT_D4(C, d, i), HT_D4(C, d, i + 4), HT_D4(C, d, i + 8), HT_D4(C, d, i + 12)
#define HT_D32(C, d, i) HT_D16(C, d, i), HT_D16(C, d, i + 16)
#define HT_D64(C, d) HT_D32(C, d, 0), HT_D32(C, d, 32)
#define HT_D96(C, d) HT_D64(C, d), HT_D32(C, d, 64)
#define HT_D128(C, d) HT_D96(C, d), HT_D32(C, d, 96)
#define HT_R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define HT_R32 \
    HT_R16 \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HT_R64 \
    HT_R32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define HT_R96 \
    HT_R64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define HT_R128 \
    HT_R96 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// N of an MMA, to choose an overload.
template <int N> struct ht_width {
};

// One MMA of a slice type. a, b: descriptors; use: 0 starts from zero, 1 from d.
#define HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, N, A, B, USE, LIST, OUTPUTS)                                              \
    HT_DEVICE void ht_wgmma_##KIND(ht_width<N>, ELEMENT *d, unsigned long long a, unsigned long long b, int use)       \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred use;\nsetp.ne.b32 use, %" USE ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" LIST "}, %" A ", %" B ", use" TAIL ";\n}"         \
                     : OUTPUTS                                                                                         \
                     : "l"(a), "l"(b), "r"(use));                                                                      \
    }

// All that a slice type needs: its MMA for each N, and after a wait a pin, before which the compiler must not move uses of
// d. C: asm constraint of an accumulator; SHAPE, TAIL: the instruction's k and types, and its operands after `use`.
#define HT_WGMMA_TYPE(KIND, ELEMENT, C, SHAPE, TAIL)                                                                   \
    template <int COUNT> HT_DEVICE void ht_wgmma_fence_operand(ELEMENT *d)                                                       \
    {                                                                                                                  \
        _Pragma("unroll") for (int i = 0; i < COUNT; i++)                                                              \
        {                                                                                                              \
            asm volatile("" : C(d[i])::"memory");                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, 32, "16", "17", "18", HT_R16, HT_D16(C, d, 0))                                \
    HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, 64, "32", "33", "34", HT_R32, HT_D32(C, d, 0))                                \
    HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, 128, "64", "65", "66", HT_R64, HT_D64(C, d))                                  \
    HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, 192, "96", "97", "98", HT_R96, HT_D96(C, d))                                  \
    HT_WGMMA(KIND, ELEMENT, SHAPE, TAIL, 256, "128", "129", "130", HT_R128, HT_D128(C, d))
#endif

// Where an operand starts, a multiple of 1024 in shared memory: the low word of its descriptor, in units of 16 bytes (and the
// leading offset, 1, which the swizzle ignores). Adding bytes / 16 moves it: 32 bytes for the next 16 k of 16-bit slices.
HT_DEVICE unsigned ht_operand(unsigned smem)
{
    return 1u << 16 | smem / 16; //@mutate leading-offset
}

// Its descriptor: rows of 128 bytes in groups of 8 (1024 bytes apart), 128-byte swizzle. Made of the low word only when it is
// used, so that registers hold no copies of the constant high word.
HT_DEVICE unsigned long long ht_descriptor(unsigned operand)
{
    return 1ull << 62 | (unsigned long long)(1024 / 16) << 32 | operand; //@mutate descriptor
}

// ---- sums that pass through shared memory: FP32, or exact in 64 bits
HT_DEVICE void ht_sts_two(unsigned s, float x, float y)
{
    ht_sts8(s, ht_as_uint(x), ht_as_uint(y));
}

HT_DEVICE void ht_sts_two(unsigned s, long long x, long long y)
{
    ht_sts16(s, make_uint4((unsigned)x, (unsigned)(x >> 32), (unsigned)y, (unsigned)(y >> 32)));
}

HT_DEVICE long long ht_make_i64(unsigned low, unsigned high)
{
    return (long long)((unsigned long long)high << 32 | low);
}

HT_DEVICE void ht_lds_one(unsigned s, float *v)
{
    *v = ht_lds4(s);
}

HT_DEVICE void ht_lds_one(unsigned s, long long *v)
{
    *v = ht_make_i64(ht_as_uint(ht_lds4(s)), ht_as_uint(ht_lds4(s + 4)));
}

HT_DEVICE void ht_lds_four(unsigned s, float *v)
{
    const uint4 x = ht_lds16(s);
    v[0] = ht_as_float(x.x);
    v[1] = ht_as_float(x.y);
    v[2] = ht_as_float(x.z);
    v[3] = ht_as_float(x.w);
}

HT_DEVICE void ht_lds_four(unsigned s, long long *v)
{
    const uint4 x = ht_lds16(s), y = ht_lds16(s + 16);
    v[0] = ht_make_i64(x.x, x.y);
    v[1] = ht_make_i64(x.z, x.w);
    v[2] = ht_make_i64(y.x, y.y);
    v[3] = ht_make_i64(y.z, y.w);
}
