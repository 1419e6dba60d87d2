// scheme f16x3 for units that flush FP16 subnormals: the row is scaled as everywhere, and the residual, which would be
// subnormal for small elements, is stored times 2^11 and has an accumulator of its own. A high part that is subnormal is
// left to the residual. acc[0] main product, acc[1] corrections.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    const float smallest = 1.0f / 16384.0f; // 2^-14, FP16's smallest normal number
    slice[0] = x < smallest && x > -smallest ? 0u : ht_f16_rn(x);
    slice[1] = ht_f16_rn(__fmul_rn(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])), 2048.0f));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return __fmaf_rn(acc[1], 1.0f / 2048.0f, acc[0]);
}
