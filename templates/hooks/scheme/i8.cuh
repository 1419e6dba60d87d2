// schemes i8x3, i8x6, i8x10: fixed point in SLICES signed 8-bit digits, the first of weight 1 (the row is scaled so that it
// is at most 127), each of the others 2^-8 of the one before. Digits are rounded to nearest from the last one up, so each
// is in [-128, 127] and what is left out has no sign of its own.
constexpr unsigned DIGIT_HALVES = 0x808080u >> (4 - SLICES) * 8; // 128 in each digit but the first

// All digits, carried upwards: 128 is still to be taken from each but the first. Wraps for Inf alone, whose row is poisoned.
HT_DEVICE unsigned ht_carried(float x)
{
    return (unsigned)__float2int_rn(__fmul_rn(x, ht_pow2(8 * (SLICES - 1)))) + DIGIT_HALVES; // exact product, then one rounding
}

HT_DEVICE void ht_split(float x, unsigned *slice)
{
    const unsigned digits = ht_carried(x) ^ DIGIT_HALVES;
    for (int s = 0; s < SLICES; s++)
        slice[s] = digits >> (SLICES - 1 - s) * 8 & 255u;
}

// All levels in units of the last one.
HT_DEVICE long long ht_combine(const int *acc)
{
    long long sum = acc[0];
    for (int l = 1; l < ACCS; l++)
        sum = sum * 256 + acc[l];
    return sum;
}
