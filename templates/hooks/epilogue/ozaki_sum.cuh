// epilogue/ozaki_sum: sums of what products of slices say, in FP64 or exactly.

// v 2^e, rounded once; v has 24 bits and is 0 or at least 2^-22, |e| at most 2200.
HT_DEVICE double ht_oz_scaled(double v, int e)
{
    const int most = e > 1200 ? 1200 : e < -1200 ? -1200 : e; // Inf and 0 as beyond
    return v * ht_oz_pow2(most / 2) * ht_oz_pow2(most - most / 2);
}

// sum + v 2^e, rounded once where the product is neither subnormal nor too large.
HT_DEVICE double ht_oz_add(double sum, float v, int e)
{
    if (e >= -1000 && e <= 1000)
        return __fma_rn((double)v, ht_oz_pow2(e), sum);
    return sum + ht_oz_scaled((double)v, e);
}

// An exact sum: limb i counts 2^(32 i), and carries wait until all is added (2^30 terms at most).
constexpr int OZ_LIMBS = 148; // of 4,196 bits between the largest and the smallest product, 25 + 14 of their sum

HT_DEVICE void ht_oz_add_exactly(long long *limb, int integer, int at)
{
    const long long shifted = (long long)integer * (1ll << at % 32);
    limb[at / 32] += (long long)((unsigned long long)shifted & 0xffffffffull);
    limb[at / 32 + 1] += shifted >> 32;
}

// Bits of (-1)^sign m 2^(e - 63), rounded to nearest, ties to even; m has its highest bit; below: there is more.
HT_DEVICE unsigned long long ht_oz_round(unsigned long long m, bool below, int e, unsigned long long sign)
{
    const int shift = e >= -1022 ? 11 : 11 - 1022 - e;
    unsigned long long bits = 0;
    if (e > 1023)
        return sign << 63 | 0x7ff0000000000000ull;
    if (shift <= 64) {
        const bool half = m >> (shift - 1) & 1;
        const bool less = below || (m & ((1ull << (shift - 1)) - 1)) != 0;
        bits = shift == 64 ? 0 : m >> shift;
        bits += half && (less || (bits & 1));
    }
    if (e >= -1022)
        bits += (unsigned long long)(e + 1022) << 52; // a carry raises the exponent, to Inf if need be
    return sign << 63 | bits;
}

// The double nearest to (-1)^sign 2^unit times the sum of `count` limbs, which become digits.
HT_DEVICE unsigned long long ht_oz_round_limbs(long long *limb, int count, int unit, unsigned long long sign)
{
    long long carry = 0;
    for (int i = 0; i < count; i++) {
        const long long v = limb[i] + carry;
        limb[i] = (long long)((unsigned long long)v & 0xffffffffull);
        carry = v >> 32;
    }
    if (carry < 0) { // the sum is negative: its two's complement
        sign ^= 1;
        carry = 1;
        for (int i = 0; i < count; i++) {
            const long long v = (limb[i] ^ 0xffffffffll) + carry;
            limb[i] = (long long)((unsigned long long)v & 0xffffffffull);
            carry = v >> 32;
        }
    }
    int top = count - 1;
    while (top >= 0 && limb[top] == 0)
        top--;
    if (top < 0)
        return 0;
    const unsigned long long high = (unsigned long long)limb[top],
                             middle = top > 0 ? (unsigned long long)limb[top - 1] : 0,
                             low = top > 1 ? (unsigned long long)limb[top - 2] : 0;
    const int zeros = ht_clz((unsigned)high);
    const unsigned long long m = (high << 32 | middle) << zeros | low << zeros >> 32;
    bool below = (low << zeros & 0xffffffffull) != 0;
    for (int i = 0; i < top - 2 && !below; i++)
        below = limb[i] != 0;
    return ht_oz_round(m, below, unit + top * 32 + 31 - zeros, sign);
}
