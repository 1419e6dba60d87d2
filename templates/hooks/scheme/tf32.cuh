// schemes tf32, tf32x3: SLICES TF32 numbers (FP32 bits of which the last 13 are zero), each what is left rounded to nearest:
// left to itself the unit would cut instead.
HT_DEVICE unsigned ht_tf32_rn(float x)
{
    const unsigned bits = ht_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffe000u; // NaN, which rounding could turn into Inf
    return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
}

HT_DEVICE void ht_split(float x, unsigned *slice)
{
    for (int s = 0; s < SLICES; s++) {
        slice[s] = ht_tf32_rn(x);
        x = __fadd_rn(x, -ht_as_float(slice[s]));
    }
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
