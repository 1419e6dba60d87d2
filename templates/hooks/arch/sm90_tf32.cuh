// arch/sm90_tf32: warpgroup MMA on TF32 slices.
#ifndef HT_SIMULATOR
HT_WGMMA_TYPE(tf32, float, "+f", "k8.f32.tf32.tf32", ", 1, 1")
#endif

// d(64 x N) += a(64 x 8) * b(N x 8)^T, 8 k = 32 bytes of each operand row. a, b: ht_operand; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, float *d, unsigned a, unsigned b, int use)
{
    ht_wgmma_tf32(width, d, ht_descriptor(a), ht_descriptor(b), use);
}
