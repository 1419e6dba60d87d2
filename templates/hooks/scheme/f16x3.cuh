// scheme f16x3: the row is scaled by a power of two so that its absmax is near the top of FP16; both halves
// are rounded to nearest and share that scale, so all three products may share one chain. Of two residuals that are equally near, as the
// last bit of an element in four makes them, the one away from zero is taken: tensor cores cut their sums toward zero. x 2^-36 is too
// little to do more than that; where nothing is left, nothing is added.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    slice[0] = ht_f16_rn(x);
    const float rest = __fadd_rn(x, -ht_f16_value((unsigned short)slice[0]));
    slice[1] = ht_f16_rn(rest != 0.0f ? __fmaf_rn(x, 1.0f / 68719476736.0f, rest) : rest); //@mutate outward
}

HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
