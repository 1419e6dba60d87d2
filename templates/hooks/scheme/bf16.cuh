// schemes bf16, bf16x3, bf16x6, bf16x9: SLICES BF16 numbers, each what is left rounded to nearest. Three hold every FP32
// number of at least 2^-110 exactly: 8 bits each, and the sign of the rest.
HT_DEVICE unsigned ht_bf16_rn(float x)
{
    const unsigned bits = ht_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffu; // NaN, which rounding could turn into Inf
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

HT_DEVICE void ht_split(float x, unsigned *slice)
{
    for (int s = 0; s < SLICES; s++) {
        slice[s] = ht_bf16_rn(x);
        x = __fadd_rn(x, -ht_as_float(slice[s] << 16));
    }
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
