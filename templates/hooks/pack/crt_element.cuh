// pack/crt_element: FP64 elements turned into residues, by integer operations and one FFMA
// for each residue; no FP64 instruction, of which many GPUs have one for 64 of FP32. Why the results are
// what they should be: the notes on accuracy, section 14.
constexpr int CRT_MEASURED_BIAS = 1100; // of a segment's binade
constexpr int CRT_MEASURED_NONFINITE = 0xfff;

HT_DEVICE int ht_clz64(unsigned long long x)
{
    const unsigned high = (unsigned)(x >> 32);
    return high != 0 ? ht_clz(high) : 32 + ht_clz((unsigned)x);
}

// The binade of |x| from its bits: the largest e with 2^e <= |x|; for 0 far below all others.
HT_DEVICE int ht_crt_binade(unsigned low, unsigned high)
{
    const int field = (int)(high >> 20 & 0x7ff);
    if (field != 0)
        return field - 1023;
    return -1011 - ht_clz64((unsigned long long)(high & 0xfffff) << 32 | low);
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

HT_DEVICE unsigned long long ht_crt_measured(int binade, unsigned long long sum)
{
    return (unsigned long long)(binade + CRT_MEASURED_BIAS) << 52 | sum;
}

// What a segment's sum is in units of the row's largest binade; field: of `measured` of the row's largest.
HT_DEVICE unsigned long long ht_crt_aligned(unsigned long long measured, int field)
{
    const int own = (int)(measured >> 52), below = 2 * (field - own);
    return own == 0 ? 0 : ((measured & 0xfffffffffffffull) >> (below < 63 ? below : 63)) + 1;
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

// The upper word of |x| from which on a row's element counts: 2^exponent scaled, and a normal number.
HT_DEVICE unsigned ht_crt_count_from(int s, int exponent)
{
    const int field = exponent - s + 1023;
    return (unsigned)(field < 1 ? 1 : field > 2047 ? 2047 : field) << 20;
}

// 1 where an element counts, by its upper word; else 0.
HT_DEVICE int ht_crt_is_counted(unsigned high, unsigned from)
{
    return (high & 0x7fffffffu) >= from;
}

// |x| = (top 53 of 64 bits) 2^-right of a unit of the scaled integers; right is at least 1 - EXTRA, zeros
// apart.
template <int EXTRA>
HT_DEVICE unsigned long long ht_crt_mantissa(unsigned low, unsigned high, int s, int *right)
{
    const int field = (int)(high >> 20 & 0x7ff);
    unsigned long long mantissa = (unsigned long long)(high & 0xfffff) << 32 | low;
    *right = 1086 + EXTRA - s - field;
    if (field != 0)
        return (mantissa | 0x10000000000000ull) << 11;
    if (mantissa == 0) {
        *right = 64 + EXTRA;
        return 0;
    }
    mantissa <<= 11;
    const int left = ht_clz64(mantissa);
    *right = 1085 + EXTRA - s + left;
    return mantissa << left;
}

// x 2^s to nearest, ties away from zero, as CRT_DIGIT_WORDS words of signed digits to base 256: each the
// byte of x 2^s + 0x80...80, less 128.
HT_DEVICE void ht_crt_digits(unsigned low, unsigned high, int s, unsigned *digit)
{
    constexpr unsigned long long HALVES = 0x8080808080808080ull;
    int right;
    if constexpr (CRT_DIGIT_WORDS == 2) {
        const unsigned long long mantissa = ht_crt_mantissa<0>(low, high, s, &right);
        const unsigned long long n = ((right <= 64 ? mantissa >> (right - 1) : 0) + 1) >> 1;
        const unsigned long long both = ((high >> 31 ? 0 - n : n) + HALVES) ^ HALVES;
        digit[0] = (unsigned)both;
        digit[1] = (unsigned)(both >> 32);
    } else {
        unsigned long long below = 0,
                           above = ht_crt_mantissa<32>(low, high, s, &right); // above holds bits 32 to 95
        const int most = right - 1 < 96 ? right - 1 : 96;
        unsigned long long top = above >> 32; // top: bits 64 to 95
        below = above << 32;                  // bits 0 to 63
        if (most >= 64) {
            below = most < 96 ? top >> (most - 64) : 0;
            top = 0;
        } else if (most > 0) {
            below = below >> most | top << (64 - most);
            top = most < 32 ? top >> most : 0;
        }
        below += 1; // half a unit
        top += below == 0;
        below = below >> 1 | top << 63;
        top >>= 1;
        if (high >> 31) {
            below = 0 - below;
            top = ~top + (below == 0);
        }
        const unsigned long long sum = below + HALVES;
        below = sum ^ HALVES;
        digit[0] = (unsigned)below;
        digit[1] = (unsigned)(below >> 32);
        digit[2] = ((unsigned)top + 0x80808080u + (sum < HALVES)) ^ 0x80808080u;
    }
}

// Rows whose subnormal elements are 0 when scaled, and whose numbers are finite.
HT_DEVICE bool ht_crt_is_usual(int s)
{
    return s < 1000;
}

// The same for elements of such a row, 0 and subnormal ones included: their first one is put where a normal number's
// is, and what they are then is still less than 1/2. LEFT: bits of a mantissa's 11 whose shift loses none of the last ones.
//
// n = (2 |x| 2^s + 1) / 2, rounded down, or -n, and what makes digits of it, in one addition and one shift.
HT_DEVICE void ht_crt_usual_digits(unsigned low, unsigned high, int s, unsigned *digit)
{
    if constexpr (CRT_MODULI < 16) {
        constexpr int LEFT = 10;
        const int right = 1074 + LEFT - s - (int)(high >> 20 & 0x7ff);
        const unsigned long long mantissa = (unsigned long long)((high & 0xfffff) | 0x100000) << 32 | low,
                                 sign = (unsigned long long)((long long)((unsigned long long)high << 32) >> 63),
                                 twice = mantissa << LEFT >> (right < 63 ? right : 63);
        const unsigned long long both =
            (unsigned long long)((long long)((twice ^ sign) + 0x0101010101010101ull) >> 1) ^ 0x0080808080808080ull;
        digit[0] = (unsigned)both;
        digit[1] = (unsigned)(both >> 32);
    } else {
        ht_crt_digits(low, high, s, digit);
    }
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
