// arch/gfx90a_s8: MFMA on signed 8-bit integers. An instruction has the k of FP16's in half the bytes: one register of a lane,
// so a fragment of the same bytes is four of them.
#ifndef HT_SIMULATOR
HT_MFMA(i32_32x32x8i8, int, ht_i32x16, int)
HT_MFMA(i32_16x16x16i8, int, ht_i32x4, int)
#endif

HT_DEVICE void ht_mma_quarter(int *d, const unsigned *a, const unsigned *b)
{
    if constexpr (MMA_M == 32)
        ht_mfma_i32_32x32x8i8(d, a, b);
    else
        ht_mfma_i32_16x16x16i8(d, a, b);
}

// d += a * b over a fragment's k; b comes first, see frag/mfma.
HT_DEVICE void ht_mma(int *d, const unsigned *a, const unsigned *b)
{
    for (int q = 0; q < 4; q++) //@mutate mma-2
        ht_mma_quarter(d, b + q, a + q); //@mutate mma
}
