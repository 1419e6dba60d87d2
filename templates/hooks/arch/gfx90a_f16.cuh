// arch/gfx90a_f16: MFMA on FP16, two instructions for each fragment.
#ifndef HT_SIMULATOR
typedef _Float16 ht_f16x4 __attribute__((ext_vector_type(4)));
HT_MFMA(f32_32x32x8f16, ht_f16x4, ht_f32x16, float)
HT_MFMA(f32_16x16x16f16, ht_f16x4, ht_f32x4, float)
#endif

HT_DEVICE void ht_mma_half(float *d, const unsigned *a, const unsigned *b)
{
    if constexpr (MMA_M == 32)
        ht_mfma_f32_32x32x8f16(d, a, b);
    else
        ht_mfma_f32_16x16x16f16(d, a, b);
}

// d += a * b over a fragment's k; b comes first, see frag/mfma.
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_half(d, b, a);
    ht_mma_half(d, b + 2, a + 2);
}
