// scheme egemm: round-split (EGEMM-TC section 3.2, fig. 4b): the upper half is rounded to nearest, so the sign of the
// rest carries one more bit. Four products in one accumulator.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rn(x);
    slice[1] = ht_f16_rn(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
