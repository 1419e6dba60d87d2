// arch/sm90_bf16: warpgroup MMA on BF16 slices.
#ifndef HT_SIMULATOR
HT_WGMMA_TYPE(bf16, float, "+f", "k16.f32.bf16.bf16", ", 1, 1, 0, 0")
#endif

// d(64 x N) += a(64 x 16) * b(N x 16)^T, 16 k = 32 bytes of each operand row. a, b: ht_operand; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, float *d, unsigned a, unsigned b, int use)
{
    ht_wgmma_bf16(width, d, ht_descriptor(a), ht_descriptor(b), use);
}
