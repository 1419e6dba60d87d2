// epilogue/crt_value: from residues to the integer that has them, and from it to FP64, by integer
// operations alone.

// X from its residues, four to a word: CRT_VALUE_WORDS words of two's complement. Z = sum of r_l W_l, digit
// by digit; X = Z - P round(Z / P).
HT_DEVICE void ht_crt_value(const unsigned *residues, unsigned *value)
{
    constexpr int GROUPS = (CRT_MODULI + 3) / 4;
    unsigned z[CRT_SUM_WORDS];
    long long rest = 0;
#pragma unroll
    for (int w = 0; w < CRT_SUM_WORDS - 1; w++) {
        int digit[4] = {0, 0, 0, 0};
#pragma unroll
        for (int b = 0; b < 4; b++) {
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                if (w * 4 + b < CRT_MODULI) // as many digits as moduli
                    digit[b] =
                        ht_dp4a(residues[g], CRT_WEIGHT[w * 4 + b < CRT_MODULI ? w * 4 + b : 0][g], digit[b]);
            }
        }
        rest += digit[0] + digit[1] * 256;
        rest += (long long)(digit[2] + digit[3] * 256) * 65536;
        z[w] = (unsigned)rest;
        rest >>= 32;
    }
    z[CRT_SUM_WORDS - 1] = (unsigned)rest;
    const unsigned long long above = (unsigned long long)z[CRT_TOP_WORD + 1] << 32 | z[CRT_TOP_WORD];
    const int top = (int)(unsigned)(above >> CRT_TOP_SHIFT);
    const int quotient = ((int)((long long)top * CRT_QUOTIENT >> 32) + (1 << 17)) >> 18;
    rest = 0;
#pragma unroll
    for (int w = 0; w < CRT_VALUE_WORDS; w++) {
        rest += (long long)z[w] - (long long)quotient * (long long)CRT_PRODUCT[w];
        value[w] = (unsigned)rest;
        rest >>= 32;
    }
}

// The sign of two's complement, whose magnitude is left.
template <int WORDS> HT_DEVICE unsigned ht_crt_take_sign(unsigned *value)
{
    const unsigned sign = value[WORDS - 1] & 0x80000000u, flip = sign ? 0xffffffffu : 0u;
    unsigned long long carry = sign >> 31;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
        carry += value[w] ^ flip;
        value[w] = (unsigned)carry;
        carry >>= 32;
    }
    return sign;
}

// Shifts the first one of a magnitude to the top; by how many bits; all of them where it is 0.
template <int WORDS> HT_DEVICE int ht_crt_normalize(unsigned *magnitude)
{
    int shift = 0;
#pragma unroll
    for (int i = 0; i < WORDS - 1; i++) {
        // by masks: of two elements to choose from hipcc makes two addresses, in memory
        const unsigned whole = magnitude[WORDS - 1] == 0 ? 0xffffffffu : 0u;
#pragma unroll
        for (int w = WORDS - 1; w > 0; w--) {
            magnitude[w] ^= (magnitude[w] ^ magnitude[w - 1]) & whole;
        }
        magnitude[0] &= ~whole;
        shift += (int)(whole & 32);
    }
    const int bits = ht_clz(magnitude[WORDS - 1]);
    if (bits == 32)
        return 32 * WORDS;
#pragma unroll
    for (int w = WORDS - 1; w > 0; w--) {
        magnitude[w] = (unsigned)(((unsigned long long)magnitude[w] << 32 | magnitude[w - 1]) << bits >> 32);
    }
    magnitude[0] <<= bits;
    return shift + bits;
}

// A magnitude with its first one on top, of value 2^exponent there, as FP64: to nearest even once,
// subnormal and infinite results included.
template <int WORDS>
HT_DEVICE unsigned long long ht_crt_round(const unsigned *magnitude, int exponent, unsigned sign)
{
    unsigned long long bits = (unsigned long long)magnitude[WORDS - 1] << 32 | magnitude[WORDS - 2];
    unsigned below = 0;
#pragma unroll
    for (int w = 0; w < WORDS - 2; w++) {
        below |= magnitude[w];
    }
    int drop = 11;          // of 64 bits
    if (exponent < -1022) { // subnormal
        drop = exponent < -1022 - 54 ? 65 : 11 - 1022 - exponent;
        exponent = -1022;
    }
    if (drop > 32) {
        below |= (unsigned)bits;
        bits = drop > 64 ? 0 : bits >> 32;
        drop = drop > 64 ? 1 : drop - 32;
    }
    const unsigned long long half = 1ull << (drop - 1), left = bits & (2 * half - 1);
    bits >>= drop;
    bits += (left > half || (left == half && (below != 0 || (bits & 1)))) ? 1 : 0;
    bits += (unsigned long long)(exponent + 1022) << 52; // the first one of a normal number adds 1
    if (exponent > 1023 || bits >> 52 >= 0x7ff)
        bits = 0x7ff0000000000000ull;
    return bits | (unsigned long long)sign << 32;
}

// X 2^-scale.
HT_DEVICE unsigned long long ht_crt_to_fp64(unsigned *value, int scale, unsigned sign)
{
    sign ^= ht_crt_take_sign<CRT_VALUE_WORDS>(value);
    const int shift = ht_crt_normalize<CRT_VALUE_WORDS>(value);
    if (shift == 32 * CRT_VALUE_WORDS)
        return 0;
    return ht_crt_round<CRT_VALUE_WORDS>(value, 32 * CRT_VALUE_WORDS - 1 - shift - scale, sign);
}
