// scheme markidis: truncation split (Markidis et al. 2018 as EGEMM-TC fig. 4a draws it): the upper half is cut, the
// rest is cut again. Four products in one accumulator.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rz(x);
    slice[1] = ht_f16_rz(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
