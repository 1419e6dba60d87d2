// arch_sm90_tf32: warpgroup MMA on TF32 slices.
#ifndef HT_SIMULATOR
HT_WGMMA_TYPE(tf32, float, "+f", "k8.f32.tf32.tf32", ", 1, 1")
#endif

// d(64 x N) += a(64 x 8) * b(N x 8)^T, 8 k = 32 bytes of each operand row. a, b: descriptors; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, float *d, unsigned long long a, unsigned long long b, int use)
{
    ht_wgmma_tf32(width, d, a, b, use);
}
