// arch/gfx90a_bf16: MFMA on BF16, two instructions for each fragment. The _1k instructions are those of full rate; they take
// the four k of a lane that FP16's take.
#ifndef HT_SIMULATOR
typedef short ht_bf16x4 __attribute__((ext_vector_type(4)));
HT_MFMA(f32_32x32x8bf16_1k, ht_bf16x4, ht_f32x16, float)
HT_MFMA(f32_16x16x16bf16_1k, ht_bf16x4, ht_f32x4, float)
#endif

HT_DEVICE void ht_mma_half(float *d, const unsigned *a, const unsigned *b)
{
    if constexpr (MMA_M == 32)
        ht_mfma_f32_32x32x8bf16_1k(d, a, b);
    else
        ht_mfma_f32_16x16x16bf16_1k(d, a, b);
}

// d += a * b over a fragment's k; b comes first, see frag/mfma.
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_half(d, b, a);
    ht_mma_half(d, b + 2, a + 2);
}
