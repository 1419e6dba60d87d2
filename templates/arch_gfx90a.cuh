// arch_gfx90a: hooks for CDNA 2 (MI210, MI250X): MFMA, two instructions for each fragment.
#ifndef HT_SIMULATOR
// d += a * b; AB and D are what a lane holds of an operand and of the result.
#define HT_MFMA(NAME, AB, D, T)                                                                                        \
    HT_DEVICE void ht_mfma_##NAME(T *d, const unsigned *a, const unsigned *b)                                          \
    {                                                                                                                  \
        AB x, y;                                                                                                       \
        D z;                                                                                                           \
        __builtin_memcpy(&x, a, sizeof x);                                                                             \
        __builtin_memcpy(&y, b, sizeof y);                                                                             \
        __builtin_memcpy(&z, d, sizeof z);                                                                             \
        z = __builtin_amdgcn_mfma_##NAME(x, y, z, 0, 0, 0);                                                            \
        __builtin_memcpy(d, &z, sizeof z);                                                                             \
    }
typedef _Float16 ht_f16x4 __attribute__((ext_vector_type(4)));
typedef short ht_bf16x4 __attribute__((ext_vector_type(4)));
typedef float ht_f32x4 __attribute__((ext_vector_type(4)));
typedef float ht_f32x16 __attribute__((ext_vector_type(16)));
typedef int ht_i32x16 __attribute__((ext_vector_type(16)));
HT_MFMA(f32_32x32x8f16, ht_f16x4, ht_f32x16, float)
HT_MFMA(f32_16x16x16f16, ht_f16x4, ht_f32x4, float)
HT_MFMA(f32_32x32x8bf16_1k, ht_bf16x4, ht_f32x16, float)
HT_MFMA(i32_32x32x8i8, int, ht_i32x16, int)
#endif

HT_DEVICE void ht_mma_half(float *d, const unsigned *a, const unsigned *b)
{
    if constexpr (MMA_M == 32)
        ht_mfma_f32_32x32x8f16(d, a, b);
    else
        ht_mfma_f32_16x16x16f16(d, a, b);
}

// d += a * b over a fragment's k; b comes first, see frag_mfma.
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_half(d, b, a);
    ht_mma_half(d, b + 2, a + 2);
}
