// schemes mixpert1 .. mixpert4: MixPert (LCTES 2024), eq. 2 with eq. 7's common exponent: three segments of 7 bits, each with the sign
// of the whole, which is rounded to nearest at the last; levels that leave the third out (l or r = 1) discard it.
constexpr int SEGMENTS = 3;

// x: scaled, below 128.
HT_DEVICE void ht_split(float x, unsigned *slice)
{
    const int all = __float2int_rn(__fmul_rn(x, ht_pow2(7 * (SEGMENTS - 1)))), sign = all >> 31; // exact product, then one rounding
    const int magnitude = (all ^ sign) - sign;
    for (int s = 0; s < SLICES; s++)
        slice[s] = (unsigned)(((magnitude >> 7 * (SEGMENTS - 1 - s) & 127) ^ sign) - sign) & 255u;
}

// One accumulator has all: accum/tile_levels.
HT_DEVICE float ht_combine(const float *acc)
{
    return acc[0];
}
