// scheme f16x3: the row is scaled by a power of two so that its absmax is near the top of FP16; both halves
// are rounded to nearest and share that scale, so all three products may share one chain.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rn(x);
    slice[1] = ht_f16_rn(__fadd_rn(x, -ht_f16_value((unsigned short)slice[0])));
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
