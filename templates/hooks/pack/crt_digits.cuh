// pack/crt_digits: FP64 elements scaled by a power of two and rounded to integers of signed digits to base 256, by integer
// operations alone; no FP64 instruction, of which many GPUs have one for 64 of FP32.
constexpr int CRT_MEASURED_BIAS = 1100; // of a segment's binade
constexpr int CRT_MEASURED_NONFINITE = 0xfff;
constexpr int CRT_MEASURED_UNIT = 13; // 512 parts of up to 2^15 are 2^11 units

HT_DEVICE int ht_clz64(unsigned long long x)
{
    const unsigned high = (unsigned)(x >> 32);
    return high != 0 ? ht_clz(high) : 32 + ht_clz((unsigned)x);
}

// A segment's binade, 1 where an element is negative, its sum of parts in units of 2^CRT_MEASURED_UNIT, rounded up, less 1,
// and its sum of squares of parts, at most 2^39.
HT_DEVICE unsigned long long ht_crt_measured(int binade, unsigned negative, unsigned parts, unsigned long long sum)
{
    return (unsigned long long)(binade + CRT_MEASURED_BIAS) << 52 | (unsigned long long)negative << 51 |
           (unsigned long long)((parts - 1) >> CRT_MEASURED_UNIT) << 40 | sum;
}

// What a segment's sum of parts is in units of the row's largest binade; field: of `measured` of the row's largest.
HT_DEVICE unsigned long long ht_crt_aligned_parts(unsigned long long measured, int field)
{
    const int own = (int)(measured >> 52), below = field - own;
    const unsigned parts = ((unsigned)(measured >> 40 & 0x7ffu) + 1) << CRT_MEASURED_UNIT;
    return own == 0 ? 0 : (parts >> (below < 31 ? below : 31)) + 1;
}

HT_DEVICE bool ht_crt_has_negative(unsigned long long measured)
{
    return (measured >> 51 & 1) != 0;
}

// Whether parts^2 / sum, the number of elements that make most of a row, is at least k / 8: then those of such a row and column
// are likely to meet. Scaled so that no product overflows.
HT_DEVICE bool ht_crt_is_spread(unsigned long long parts, unsigned long long sum, int k)
{
    const float x = (float)parts * 0x1p-30f, y = (float)sum * 0x1p-60f;
    return 8.0f * (x * x) >= (float)k * y;
}

// (parts + 8) 2^(M + s) factor 2^exponent, rounded up; M: the row's largest binade. Where s is CRT_POISONED it is too large for
// any result. The notes on accuracy, section 18.
HT_DEVICE int ht_crt_threshold(unsigned long long parts, int field, int s, unsigned factor, int exponent)
{
    const unsigned long long more = parts + 8;
    const int drop = ht_clz64(more) < 32 ? 32 - ht_clz64(more) : 0,
              left = exponent + field - CRT_MEASURED_BIAS + s + drop;
    const unsigned long long product = ((more >> drop) + 1) * factor; // below 2^64: factor is below 2^31
    if (left >= 0)
        return HT_CRT_NO_THRESHOLD;
    const unsigned long long threshold = (left > -64 ? product >> -left : 0) + 1;
    return threshold < HT_CRT_NO_THRESHOLD ? (int)threshold : HT_CRT_NO_THRESHOLD;
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
