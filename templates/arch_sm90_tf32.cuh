// arch_sm90_tf32: warpgroup MMA on TF32 slices.
#ifndef HT_SIMULATOR
// After a wait: the compiler must not move uses of d to before it.
template <int COUNT> HT_DEVICE void ht_wgmma_pin(float *d)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

#define HT_WGMMA(N, A, B, USE, LIST, OUTPUTS)                                                                          \
    HT_DEVICE void ht_wgmma_tf32(ht_width<N>, float *d, unsigned long long a, unsigned long long b, int use)            \
    {                                                                                                                  \
        asm volatile("{\n.reg .pred use;\nsetp.ne.b32 use, %" USE ", 0;\n"                                             \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" LIST "}, %" A ", %" B ", use, 1, 1;\n}"           \
                     : OUTPUTS                                                                                         \
                     : "l"(a), "l"(b), "r"(use));                                                                      \
    }
HT_WGMMA(64, "32", "33", "34", HT_R32, HT_D32("+f", d, 0))
HT_WGMMA(128, "64", "65", "66", HT_R64, HT_D64("+f", d))
HT_WGMMA(192, "96", "97", "98", HT_R96, HT_D96("+f", d))
HT_WGMMA(256, "128", "129", "130", HT_R128, HT_D128("+f", d))
#endif

// d(64 x N) += a(64 x 8) * b(N x 8)^T, 8 k = 32 bytes of each operand row. a, b: descriptors; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, float *d, unsigned long long a, unsigned long long b, int use)
{
    ht_wgmma_tf32(width, d, a, b, use);
}
