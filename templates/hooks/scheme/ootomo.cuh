// scheme ootomo: round to nearest, residual times 2^11 (Ootomo & Yokota 2022). The main product is accumulated outside
// the tensor core, the two corrections inside it; acc[0] main, acc[1] corrections.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rn(x);
    slice[1] = ht_f16_rn(__fmul_rn(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])), 2048.0f));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return __fmaf_rn(acc[1], 1.0f / 2048.0f, acc[0]);
}
