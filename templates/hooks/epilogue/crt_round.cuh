// epilogue/crt_round: an integer of two's complement as FP64, rounded once, by integer operations alone.

// The upper one of two words shifted to the left by less than 32 bits.
HT_DEVICE unsigned ht_crt_left(unsigned high, unsigned low, int shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << shift >> 32);
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
