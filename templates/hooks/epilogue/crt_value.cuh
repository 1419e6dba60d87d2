// epilogue/crt_value: from residues to the integer that has them, and from it to FP64 where that is normal, by integer
// operations alone.

// Whole digits that the words of X leave free on top, but for the sign.
constexpr int CRT_PRODUCT_BITS = CRT_TOP_WORD * 32 + CRT_TOP_SHIFT + 20;
constexpr int CRT_FREE_DIGITS = (CRT_VALUE_WORDS * 32 - CRT_PRODUCT_BITS) / 8;
constexpr int CRT_FREE_BITS = CRT_VALUE_WORDS * 32 - CRT_PRODUCT_BITS - CRT_FREE_DIGITS * 8;

// Constants of all moduli, as the kernel knows them; others may be read (epilogue/crt_fewer).
struct ht_crt_known {
};

HT_DEVICE void ht_crt_weights(const ht_crt_known &, int digit, unsigned *weight)
{
#pragma unroll
    for (int g = 0; g < (CRT_MODULI + 3) / 4; g++) {
        weight[g] = ht_crt_weight(CRT_WEIGHT[digit][g]);
    }
}

// 16 bits of P 256^CRT_FREE_DIGITS.
HT_DEVICE int ht_crt_product_pair(const ht_crt_known &, int pair)
{
    const int at = pair * 2 - CRT_FREE_DIGITS; // bytes
    const unsigned high = at + 1 < 0 ? 0 : CRT_PRODUCT[at + 1 < 0 ? 0 : (at + 1) / 4] >> (at + 1) % 4 * 8 & 255,
                   low = at < 0 ? 0 : CRT_PRODUCT[at < 0 ? 0 : at / 4] >> at % 4 * 8 & 255;
    return (int)(high << 8 | low);
}

HT_DEVICE int ht_crt_quotient(const ht_crt_known &)
{
    return CRT_QUOTIENT;
}

// Of COUNT elements the sum of a digit of all weights times the residues, four to a word, and of the next digit
// times 256. Digits below 0 are of zeros. A weight is read for all of them at once.
template <int COUNT, class Constants>
HT_DEVICE void ht_crt_pair(const Constants &of, const unsigned (*residues)[(CRT_MODULI + 3) / 4], int first, int *pair)
{
    int sum[2][COUNT];
#pragma unroll
    for (int d = 0; d < 2; d++) {
        const int digit = first + d;
        const bool is_one = digit >= 0 && digit < CRT_MODULI; // as many digits as moduli
        unsigned weight[(CRT_MODULI + 3) / 4] = {};
        if (is_one)
            ht_crt_weights(of, digit, weight);
#pragma unroll
        for (int e = 0; e < COUNT; e++) {
            sum[d][e] = 0;
        }
#pragma unroll
        for (int g = 0; g < (CRT_MODULI + 3) / 4; g++) {
#pragma unroll
            for (int e = 0; e < COUNT; e++) {
                if (is_one)
                    sum[d][e] = ht_dp4a(residues[e][g], weight[g], sum[d][e]);
            }
        }
    }
#pragma unroll
    for (int e = 0; e < COUNT; e++) {
        pair[e] = sum[0][e] + sum[1][e] * 256;
    }
}

// Word w of COUNT elements of two pairs of Z, less those of the multiple of P; carry: into it, and out of it.
template <int COUNT, class Constants>
HT_DEVICE void ht_crt_word(const Constants &of, int w, const int *low, const int *high, const int *quotient, int *carry,
                           unsigned (*value)[CRT_VALUE_WORDS])
{
    const int part[2] = {ht_crt_product_pair(of, w * 2), ht_crt_product_pair(of, w * 2 + 1)};
#pragma unroll
    for (int e = 0; e < COUNT; e++) {
        const int lower = low[e] - quotient[e] * part[0] + carry[e], upper = high[e] - quotient[e] * part[1];
        value[e][w] = (unsigned)lower + ((unsigned)upper << 16);
        carry[e] = ((lower >> 16) + upper) >> 16;
    }
}

// X 256^CRT_FREE_DIGITS of COUNT elements from the residues of X, four to a word: CRT_VALUE_WORDS words of two's
// complement, whose top word has the first one of X unless X is as small as results of cancellation are.
//
// Z = sum of r_l W_l, digit by digit; X = Z - P round(Z / P). Two digits make a pair, of 27 bits with its
// sign, two pairs a word, and a multiple of P is subtracted pair by pair, so that no sum needs 64 bits. The
// quotient is that of the upper 31 bits of Z, which two pairs have but for one unit; P has 15 bits there. Those
// pairs come first: the others become words at once, and no registers hold them all.
template <int COUNT, class Constants = ht_crt_known>
HT_DEVICE void ht_crt_aligned_values(const unsigned (*residues)[(CRT_MODULI + 3) / 4], unsigned (*value)[CRT_VALUE_WORDS],
                                     const Constants &of = Constants())
{
    constexpr int TOP = CRT_VALUE_WORDS - 1, DROP = 18 - CRT_FREE_BITS; // of the quotient's product
    int top_low[COUNT], top_high[COUNT], quotient[COUNT], carry[COUNT];
    const int factor = ht_crt_quotient(of);
    ht_crt_pair<COUNT>(of, residues, TOP * 4 - CRT_FREE_DIGITS, top_low);
    ht_crt_pair<COUNT>(of, residues, TOP * 4 + 2 - CRT_FREE_DIGITS, top_high);
#pragma unroll
    for (int e = 0; e < COUNT; e++) {
        const int top = top_high[e] * 16 + (top_low[e] >> 12);
        quotient[e] = ((int)((long long)top * factor >> 32) + (1 << (DROP - 1))) >> DROP;
        carry[e] = 0;
    }
#pragma unroll
    for (int w = 0; w < TOP; w++) {
        int low[COUNT], high[COUNT];
        ht_crt_pair<COUNT>(of, residues, w * 4 - CRT_FREE_DIGITS, low);
        ht_crt_pair<COUNT>(of, residues, w * 4 + 2 - CRT_FREE_DIGITS, high);
        ht_crt_word<COUNT>(of, w, low, high, quotient, carry, value);
    }
    ht_crt_word<COUNT>(of, TOP, top_low, top_high, quotient, carry, value);
}

// X.
template <class Constants = ht_crt_known>
HT_DEVICE void ht_crt_value(const unsigned *residues, unsigned *value, const Constants &of = Constants())
{
    constexpr int GROUPS = (CRT_MODULI + 3) / 4, BITS = CRT_FREE_DIGITS * 8;
    unsigned one[1][GROUPS], aligned[1][CRT_VALUE_WORDS];
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        one[0][g] = residues[g];
    }
    ht_crt_aligned_values<1>(one, aligned, of);
    const unsigned above = aligned[0][CRT_VALUE_WORDS - 1] >> 31 ? 0xffffffffu : 0u;
#pragma unroll
    for (int w = 0; w < CRT_VALUE_WORDS; w++) {
        const unsigned next = w + 1 < CRT_VALUE_WORDS ? aligned[0][w + 1 < CRT_VALUE_WORDS ? w + 1 : w] : above;
        value[w] = (unsigned)(((unsigned long long)next << 32 | aligned[0][w]) >> BITS);
    }
}

// The words of X 2^-scale for a normal result or 0: false where it is neither, or so small that its
// first one is not in the top word. value as ht_crt_aligned_values leave it; sign: to be changed.
//
// In two's complement a shift brings the first one to bit 62, and what is rounded to an even multiple of
// 2^10 has its sign removed behind that: of a negative power of two it lies one bit lower, an exact number.
HT_DEVICE bool ht_crt_normal(const unsigned *value, int scale, unsigned sign, unsigned *low, unsigned *high)
{
    constexpr int TOP = CRT_VALUE_WORDS - 1;
    const unsigned negative = (unsigned)((int)value[TOP] >> 31), top = value[TOP] ^ negative;
    const int shift = ht_clz(top) - 1;
    unsigned below = value[TOP - 2] << shift, all = 0;
#pragma unroll
    for (int w = 0; w < TOP - 2; w++) {
        below |= value[w];
    }
    all = value[TOP - 1] | value[TOP - 2] | below;
    const unsigned upper = ht_crt_left(value[TOP], value[TOP - 1], shift),
                   middle = ht_crt_left(value[TOP - 1], value[TOP - 2], shift) | (below != 0 ? 1u : 0u);
    unsigned long long bits = (unsigned long long)upper << 32 | middle;
    bits += 0x1ffu + (middle >> 10 & 1u);
    const unsigned long long flip = (unsigned long long)negative << 32 | negative;
    bits = ((bits ^ flip) >> 10) - flip; // bit 63 of a positive number is the next power of two, no sign
    const int field = 32 * CRT_VALUE_WORDS - 3 - CRT_FREE_DIGITS * 8 + 1023 - scale - shift; // of the exponent, less 1
    const bool zero = (value[TOP] | all) == 0;
    *low = (unsigned)bits;
    *high = zero ? 0u : ((unsigned)(bits >> 32) + ((unsigned)field << 20)) | ((negative ^ sign) & 0x80000000u);
    return (unsigned)field < 2045u && (top != 0 || zero);
}
