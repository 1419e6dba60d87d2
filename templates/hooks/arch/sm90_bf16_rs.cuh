// arch/sm90_bf16_rs: warpgroup MMA on BF16 with A in registers and B written to shared memory by the block's threads, in either
// orientation. PTX ISA 9.0, "wgmma.mma_async", "Asynchronous Warpgroup Level Matrix Instructions: register fragments, matrix
// descriptor, strides"; "fence.proxy.async".
#ifndef HT_SIMULATOR
// What this thread has stored in shared memory before, the tensor core finds there after a barrier.
HT_DEVICE void ht_async_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int COUNT> HT_DEVICE void ht_wgmma_fence_operand(float *d)
{
    _Pragma("unroll") for (int i = 0; i < COUNT; i++)
    {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

#define HT_D16(C, d, i) HT_D4(C, d, i), HT_D4(C, d, i + 4), HT_D4(C, d, i + 8), HT_D4(C, d, i + 12)
#define HT_R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"

// TRANS: 1 where B's lines are of k. use: 0 starts from zero.
#define HT_WGMMA_ROWS(N, A, B, USE, TURN, LIST, OUTPUTS)                                                               \
    template <int TRANS>                                                                                               \
    HT_DEVICE void ht_wgmma_bf16_rows(ht_width<N>, float *d, const unsigned *a, unsigned long long b, int use)         \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred use;\nsetp.ne.b32 use, %" USE ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" LIST "}, {" A "}, %" B               \
                     ", use, 1, 1, %" TURN ";\n}"                                                                      \
                     : OUTPUTS                                                                                         \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(use), "n"(TRANS));                      \
    }
HT_WGMMA_ROWS(32, "%16, %17, %18, %19", "20", "21", "22", HT_R16, HT_D16("+f", d, 0))
HT_WGMMA_ROWS(64, "%32, %33, %34, %35", "36", "37", "38", HT_R32, HT_D32("+f", d, 0))
#endif

// From a stage of B at shared address `at` to k of it, a multiple of 16.
template <int ROWS, bool K_MAJOR> HT_DEVICE unsigned ht_columns_on(unsigned at, int k)
{
    return at + (unsigned)(k * (K_MAJOR ? 2 : ROWS * 2));
}

// B's descriptor: lines of 128 or 64 bytes, swizzled as far as they are long, in groups of eight.
template <int LINE_BYTES> HT_DEVICE unsigned long long ht_columns(unsigned at)
{
    constexpr unsigned long long SWIZZLE = LINE_BYTES == 128 ? 1 : 2; //@mutate columns
    static_assert(LINE_BYTES == 128 || LINE_BYTES == 64, "what wgmma can find");
    return SWIZZLE << 62 | (unsigned long long)(LINE_BYTES * 8 / 16) << 32 | 1u << 16 | at / 16;
}

// d(64 x N) += a(64 x 16) * b(N x 16)^T. a: this lane's four registers; b: shared address of B's stage, lines of k where that is
// contiguous, else lines of its rows.
template <int N, bool K_MAJOR> HT_DEVICE void ht_wgmma_rows(float *d, const unsigned *a, unsigned b, int use)
{
    constexpr int LINE_BYTES = (K_MAJOR ? BK : N) * 2;
    ht_wgmma_bf16_rows<K_MAJOR ? 0 : 1>(ht_width<N>(), d, a, ht_columns<LINE_BYTES>(b), use);
}
