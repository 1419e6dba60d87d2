// arch_sm90_s8: warpgroup MMA on INT8 slices.
#ifndef HT_SIMULATOR
// After a wait: the compiler must not move uses of d to before it.
template <int COUNT> HT_DEVICE void ht_wgmma_pin(int *d)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        asm volatile("" : "+r"(d[i])::"memory");
    }
}

#define HT_WGMMA(N, A, B, USE, LIST, OUTPUTS)                                                                          \
    HT_DEVICE void ht_wgmma_s8(ht_width<N>, int *d, unsigned long long a, unsigned long long b, int use)            \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred use;\nsetp.ne.b32 use, %" USE ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k32.s32.s8.s8 {" LIST "}, %" A ", %" B ", use;\n}"           \
                     : OUTPUTS                                                                                         \
                     : "l"(a), "l"(b), "r"(use));                                                                      \
    }
HT_WGMMA(64, "32", "33", "34", HT_R32, HT_D32("+r", d, 0))
HT_WGMMA(128, "64", "65", "66", HT_R64, HT_D64("+r", d))
HT_WGMMA(192, "96", "97", "98", HT_R96, HT_D96("+r", d))
HT_WGMMA(256, "128", "129", "130", HT_R128, HT_D128("+r", d))
#endif

// d(64 x N) += a(64 x 32) * b(N x 32)^T, 32 k = 32 bytes of each operand row. a, b: descriptors; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, int *d, unsigned long long a, unsigned long long b, int use)
{
    ht_wgmma_s8(width, d, a, b, use);
}
