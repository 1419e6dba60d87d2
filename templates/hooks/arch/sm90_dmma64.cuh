// arch/sm90_dmma64: what arch/sm80_dmma does, by one MMA of arch/sm90_dmma.
HT_DEVICE void ht_multiply_1688(double *d, const double *a, const double *b)
{
    ht_mma_f64_1688(d, a, b);
}
