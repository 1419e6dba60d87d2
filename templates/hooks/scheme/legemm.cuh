// scheme legemm: bit-cut (LE-GEMM eqs. 5-8, fig. 4): the exponent is re-biased from 127 to 15 and mantissa bits 13-22
// are copied, no rounding instruction involved; the residual times 2^10 is rounded toward zero. acc[0] main product,
// acc[1] the two corrections; eq. 11 combines them.
HT_DEVICE unsigned short ht_bit_cut(float x)
{
    const unsigned bits = ht_as_uint(x);
    const unsigned sign = bits >> 16 & 0x8000u;
    const int exponent = (int)(bits >> 23 & 0xffu) - 127 + 15;
    const unsigned mantissa = bits >> 13 & 0x3ffu;
    if (exponent <= 0) // below FP16's normal range: the paper's layout has no place for it; the residual takes it all
        return (unsigned short)sign;
    if (exponent >= 31) // above the range: infinite, as documented
        return (unsigned short)(sign | 0x7c00u);
    return (unsigned short)(sign | (unsigned)exponent << 10 | mantissa);
}

HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_bit_cut(x);
    slice[1] = ht_f16_rz(__fmul_rn(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])), 1024.0f));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return __fmaf_rn(acc[1], 1.0f / 1024.0f, acc[0]);
}
