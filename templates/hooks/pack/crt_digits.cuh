// pack/crt_digits: FP64 elements scaled by a power of two and rounded to integers of signed digits to base 256, by integer
// operations alone; no FP64 instruction, of which many GPUs have one for 64 of FP32.
constexpr int CRT_MEASURED_BIAS = 1100; // of a segment's binade
constexpr int CRT_MEASURED_NONFINITE = 0xfff;

HT_DEVICE int ht_clz64(unsigned long long x)
{
    const unsigned high = (unsigned)(x >> 32);
    return high != 0 ? ht_clz(high) : 32 + ht_clz((unsigned)x);
}

// A segment's binade, sum of parts in units of 2^13, rounded up, and sum of their squares: 12, 12 and 40 bits.
HT_DEVICE unsigned long long ht_crt_measured(int binade, unsigned long long squares, unsigned ones)
{
    return (unsigned long long)(binade + CRT_MEASURED_BIAS) << 52 | (unsigned long long)((ones + 0x1fffu) >> 13) << 40 | squares;
}

// The sum of parts in units of the row's largest binade; field: of `measured` of the row's largest.
HT_DEVICE unsigned ht_crt_aligned_ones(unsigned long long measured, int field)
{
    const int own = (int)(measured >> 52), below = field - own;
    return own == 0 ? 0 : ((unsigned)(measured >> 40 & 0xfff) >> (below < 31 ? below : 31)) + 1;
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
        const unsigned far = (unsigned)right - 1; // of a row with NaN or Inf more than any
        const unsigned long long n = ((far < 64 ? mantissa >> far : 0) + 1) >> 1;
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
