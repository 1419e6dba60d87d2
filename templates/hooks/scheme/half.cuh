// scheme half: one FP16 slice, round to nearest; no refinement.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rn(x);
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
