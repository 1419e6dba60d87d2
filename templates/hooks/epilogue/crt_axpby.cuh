// epilogue/crt_axpby: alpha X 2^-scale + beta c as one exact number, rounded to FP64 once, by integer
// operations alone. A product of alpha and X has at most 213 bits, of beta and c 106: in 254 bits either
// stands whole beside 41 more, so that what a shift loses of the smaller is far below the last bit of any
// difference.
constexpr int CRT_TERM_WORDS = 8;
constexpr int CRT_ZERO_EXPONENT = -(1 << 24); // below that of any other term
constexpr unsigned long long CRT_NAN = 0x7fffffffffffffffull, CRT_INFINITY = 0x7ff0000000000000ull;

HT_DEVICE bool ht_crt_is_zero(unsigned long long fp64)
{
    return (fp64 << 1) == 0;
}

HT_DEVICE bool ht_crt_is_finite(unsigned long long fp64)
{
    return (fp64 & CRT_INFINITY) != CRT_INFINITY;
}

HT_DEVICE bool ht_crt_is_nan(unsigned long long fp64)
{
    return (fp64 << 1) > (CRT_INFINITY << 1);
}

HT_DEVICE unsigned ht_crt_sign(unsigned long long fp64)
{
    return (unsigned)(fp64 >> 32) & 0x80000000u;
}

// |x| = mantissa 2^exponent.
HT_DEVICE unsigned long long ht_crt_mantissa_of(unsigned long long fp64, int *exponent)
{
    const int field = (int)(fp64 >> 52 & 0x7ff);
    const unsigned long long fraction = fp64 & 0xfffffffffffffull;
    *exponent = (field > 0 ? field : 1) - 1075;
    return field > 0 ? fraction | 0x10000000000000ull : fraction;
}

struct ht_crt_term {
    unsigned word[CRT_TERM_WORDS]; // a magnitude with its first one on top
    int exponent;                  // of the first one; of 0 CRT_ZERO_EXPONENT
    unsigned sign;
};

// word += magnitude * factor; word[WORDS] is 0 before.
template <int WORDS>
HT_DEVICE void ht_crt_add_product(unsigned *word, const unsigned *magnitude, unsigned factor)
{
    unsigned long long carry = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        carry += (unsigned long long)magnitude[w] * factor + word[w];
        word[w] = (unsigned)carry;
        carry >>= 32;
    }
    word[WORDS] = (unsigned)carry;
}

// magnitude * factor * 2^exponent.
template <int WORDS>
HT_DEVICE void ht_crt_make_term(ht_crt_term *t, const unsigned *magnitude, unsigned long long factor,
                                int exponent, unsigned sign)
{
#pragma unroll
    for (int w = 0; w < CRT_TERM_WORDS; w++) {
        t->word[w] = 0;
    }
    ht_crt_add_product<WORDS>(t->word, magnitude, (unsigned)factor);
    ht_crt_add_product<WORDS>(t->word + 1, magnitude, (unsigned)(factor >> 32));
    const int shift = ht_crt_normalize<CRT_TERM_WORDS>(t->word);
    t->exponent = shift == 32 * CRT_TERM_WORDS ? CRT_ZERO_EXPONENT : exponent + 32 * CRT_TERM_WORDS - 1 - shift;
    t->sign = sign;
}

// Shifts right by any number of bits; whether a one was lost.
HT_DEVICE bool ht_crt_shift(unsigned *word, int bits)
{
    unsigned lost = 0;
#pragma unroll
    for (int i = 0; i < CRT_TERM_WORDS; i++) {
        if (bits >= 32) {
            lost |= word[0];
#pragma unroll
            for (int w = 0; w < CRT_TERM_WORDS - 1; w++) {
                word[w] = word[w + 1];
            }
            word[CRT_TERM_WORDS - 1] = 0;
            bits -= 32;
        }
    }
    bits = bits < 32 ? bits : 0; // else all is lost
    lost |= (unsigned)((unsigned long long)word[0] << 32 >> bits);
#pragma unroll
    for (int w = 0; w < CRT_TERM_WORDS - 1; w++) {
        word[w] = (unsigned)(((unsigned long long)word[w + 1] << 32 | word[w]) >> bits);
    }
    word[CRT_TERM_WORDS - 1] >>= bits;
    return lost != 0;
}

// Exchanges x and y word by word: a choice between two addresses would put both into memory.
HT_DEVICE void ht_crt_order(bool swaps, ht_crt_term *x, ht_crt_term *y)
{
    const int exponents = swaps ? x->exponent ^ y->exponent : 0;
    const unsigned signs = swaps ? x->sign ^ y->sign : 0;
    x->exponent ^= exponents;
    y->exponent ^= exponents;
    x->sign ^= signs;
    y->sign ^= signs;
#pragma unroll
    for (int w = 0; w < CRT_TERM_WORDS; w++) {
        const unsigned words = swaps ? x->word[w] ^ y->word[w] : 0;
        x->word[w] ^= words;
        y->word[w] ^= words;
    }
}

// x += y or, where signs differ, x -= y, and rounded. y may change.
HT_DEVICE unsigned long long ht_crt_add_terms(ht_crt_term *x, ht_crt_term *y)
{
    ht_crt_order(x->exponent < y->exponent, x, y);
    ht_crt_shift(x->word, 2); // space for a carry and a sign
    const unsigned lost = ht_crt_shift(y->word, x->exponent - y->exponent + 2),
                   flip = x->sign != y->sign ? 0xffffffffu : 0u;
    unsigned long long carry =
        flip & 1 & ~lost; // a difference is less by what was lost: one unit, then a fraction more
#pragma unroll
    for (int w = 0; w < CRT_TERM_WORDS; w++) {
        carry += (unsigned long long)x->word[w] + (y->word[w] ^ flip);
        x->word[w] = (unsigned)carry;
        carry >>= 32;
    }
    const unsigned sign = x->sign ^ ht_crt_take_sign<CRT_TERM_WORDS>(x->word);
    const int shift = ht_crt_normalize<CRT_TERM_WORDS>(x->word);
    if (shift == 32 * CRT_TERM_WORDS)
        return 0;
    x->word[0] |= lost;
    return ht_crt_round<CRT_TERM_WORDS>(x->word, x->exponent + 2 - shift, sign);
}

// Where alpha, beta, c or a row is not finite: NaN or infinity, as IEEE has it for the exact product.
HT_DEVICE unsigned long long ht_crt_nonfinite(bool has_nan, bool is_zero, unsigned sign,
                                              unsigned long long alpha, unsigned long long beta,
                                              unsigned long long c)
{
    const bool infinite[2] = {!ht_crt_is_finite(alpha),
                              !ht_crt_is_zero(beta) && !(ht_crt_is_finite(beta) && ht_crt_is_finite(c))};
    const unsigned signs[2] = {sign ^ ht_crt_sign(alpha), ht_crt_sign(beta) ^ ht_crt_sign(c)};
    if (has_nan || (infinite[0] && (is_zero || ht_crt_is_nan(alpha))))
        return CRT_NAN;
    if (infinite[1] && (ht_crt_is_nan(beta) || ht_crt_is_nan(c) || ht_crt_is_zero(c)))
        return CRT_NAN;
    if (infinite[0] && infinite[1] && signs[0] != signs[1])
        return CRT_NAN;
    return CRT_INFINITY | (unsigned long long)(infinite[0] ? signs[0] : signs[1]) << 32;
}

// alpha X 2^-scale + beta c; scale of CRT_POISONED and more: NaN in X's place, but where alpha is 0.
HT_DEVICE unsigned long long ht_crt_axpby(unsigned *value, int scale, unsigned long long alpha,
                                          unsigned long long beta, unsigned long long c)
{
    const bool has_product = !ht_crt_is_zero(alpha), has_c = !ht_crt_is_zero(beta),
               poisoned = has_product && scale >= CRT_POISONED / 2;
    const unsigned sign = ht_crt_take_sign<CRT_VALUE_WORDS>(value);
    if (poisoned || !ht_crt_is_finite(alpha) || (has_c && !(ht_crt_is_finite(beta) && ht_crt_is_finite(c)))) {
        unsigned any = 0;
        for (int w = 0; w < CRT_VALUE_WORDS; w++)
            any |= value[w];
        return ht_crt_nonfinite(poisoned, any == 0, sign, alpha, beta, c);
    }
    ht_crt_term x, y;
    int exponent, other;
    const unsigned long long a = ht_crt_mantissa_of(alpha, &exponent);
    ht_crt_make_term<CRT_VALUE_WORDS>(&x, value, a, exponent - scale, sign ^ ht_crt_sign(alpha));
    const unsigned long long b = ht_crt_mantissa_of(beta, &exponent),
                             old = ht_crt_mantissa_of(has_c ? c : 0, &other);
    const unsigned words[2] = {(unsigned)old, (unsigned)(old >> 32)};
    ht_crt_make_term<2>(&y, words, b, exponent + other, ht_crt_sign(beta) ^ ht_crt_sign(c));
    return ht_crt_add_terms(&x, &y);
}

// value += c 2^exponent, of units of value; false, and nothing done, where c is not within value's words or not normal, 0
// apart. Two bits are left on top, so that nothing is lost.
HT_DEVICE bool ht_crt_add_aligned(unsigned *value, unsigned long long c, int exponent, unsigned sign)
{
    const int field = (int)(c >> 52 & 0x7ff), at = field - 1075 + exponent; // of the last bit
    const unsigned low = (unsigned)c, high = ((unsigned)(c >> 32) & 0xfffffu) | 0x100000u,
                   flip = (unsigned)((int)((unsigned)(c >> 32) ^ sign) >> 31);
    if (ht_crt_is_zero(c))
        return true;
    if (field == 0 || field == 0x7ff || at < 0 || at > 32 * CRT_VALUE_WORDS - 2 - 53)
        return false;
    const int first = at / 32, shift = at % 32;
    const unsigned part[3] = {low << shift, ht_crt_left(high, low, shift), ht_crt_left(0, high, shift)};
    unsigned long long carry = flip & 1;
#pragma unroll
    for (int w = 0; w < CRT_VALUE_WORDS; w++) {
        unsigned term = w == first ? part[0] : 0;
        term = w == first + 1 ? part[1] : term;
        term = w == first + 2 ? part[2] : term;
        carry += (unsigned long long)value[w] + (term ^ flip);
        value[w] = (unsigned)carry;
        carry >>= 32;
    }
    return true;
}
