// arch/sm90_s8: warpgroup MMA on INT8 slices.
#ifndef HT_SIMULATOR
HT_WGMMA_TYPE(s8, int, "+r", "k32.s32.s8.s8", "")
#endif

// d(64 x N) += a(64 x 32) * b(N x 32)^T, 32 k = 32 bytes of each operand row. a, b: ht_operand; use: 0 starts from zero.
template <int N> HT_DEVICE void ht_wgmma(ht_width<N> width, int *d, unsigned a, unsigned b, int use)
{
    ht_wgmma_s8(width, d, ht_descriptor(a), ht_descriptor(b), use);
}
