// pack/crt_element: exponents of rows by their norms, and digits turned into residues, by integer operations and one FFMA
// for each residue. Why the results are what they should be: the notes on accuracy, section 14.
constexpr int CRT_NONFINITE_BINADE = 1024;

// The binade of |x| from its bits: the largest e with 2^e <= |x|; for 0 far below all others.
HT_DEVICE int ht_crt_binade(unsigned low, unsigned high)
{
    const int field = (int)(high >> 20 & 0x7ff);
    if (field != 0)
        return field - 1023;
    return -1011 - ht_clz64((unsigned long long)(high & 0xfffff) << 32 | low);
}

// The binade of a normal number from its upper word without its sign.
HT_DEVICE int ht_crt_normal_binade(unsigned high)
{
    return (int)(high >> 20) - 1023;
}

// floor(|x| 2^(14 - binade)) + 1 for |x| below 2^(binade + 1), which is normal: the upper word of x suffices.
HT_DEVICE unsigned ht_crt_part(unsigned high, int binade)
{
    const int field = (int)(high >> 20 & 0x7ff), right = binade + 1029 - (field > 0 ? field : 1);
    const unsigned top = (high & 0xfffff) | (field > 0 ? 0x100000u : 0u);
    return (right < 32 ? top >> right : 0u) + 1;
}

// The same of a segment that is all subnormal.
HT_DEVICE unsigned ht_crt_part_subnormal(unsigned low, unsigned high, int binade)
{
    const unsigned long long mantissa = (unsigned long long)(high & 0xfffff) << 32 | low;
    const int left = 14 - 1074 - binade;
    return (unsigned)(left >= 0 ? mantissa << left : mantissa >> -left) + 1;
}

// What a segment's sum is in units of the row's largest binade; field: of `measured` of the row's largest.
HT_DEVICE unsigned long long ht_crt_aligned(unsigned long long measured, int field)
{
    const int own = (int)(measured >> 52), below = 2 * (field - own);
    return own == 0 ? 0 : ((measured & 0xffffffffffull) >> (below < 63 ? below : 63)) + 1;
}

// The exponent s of a row: the largest with sum 2^(2 (binade - 14)) 2^(2s) <= CRT_LIMIT 2^CRT_LIMIT_EXPONENT.
HT_DEVICE int ht_crt_exponent(int field, unsigned long long sum)
{
    if (field == CRT_MEASURED_NONFINITE)
        return CRT_POISONED;
    if (field == 0)
        return 0;
    const int shift = ht_clz64(sum);
    return (CRT_LIMIT_EXPONENT + shift - (CRT_LIMIT < sum << shift) - 2 * (field - CRT_MEASURED_BIAS - 14)) >>
           1;
}

// The residues of four elements for modulus l, as bytes. The sum of digits times 256^j mod p is the
// mantissa of a float; so is, at 1.5 2^23, its quotient by p.
HT_DEVICE unsigned ht_crt_residues(int l, const unsigned (*digit)[CRT_DIGIT_WORDS])
{
    unsigned r[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int sum = (int)CRT_START[l];
#pragma unroll
        for (int w = 0; w < CRT_DIGIT_WORDS; w++) {
            sum = ht_dp4a(digit[e][w], CRT_ELEMENT[l][w], sum);
        }
        const float quotient =
            __fmaf_rn(ht_as_float((unsigned)sum), ht_as_float(CRT_INVERSE[l]), 12582912.0f);
        r[e] = (unsigned)sum - CRT_MODULUS[l] * ht_as_uint(quotient);
    }
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}
