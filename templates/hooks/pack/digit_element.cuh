// pack/digit_element: exponents of rows by their largest, and digits as they are, in the place of pack/crt_element. What
// stands for a binade there is here e with |x| 2^(DIGITS_MOST - e) at most 0x7f...7f when rounded, whose digits are at most 127:
// from significand 1.fdfdf on the next one.
constexpr int CRT_NONFINITE_BINADE = 1025; // that of the largest numbers may be 1024
constexpr int DIGITS_MOST = 8 * SLICES - 2; // bits

// Of a normal number from its upper word without its sign.
HT_DEVICE int ht_crt_normal_binade(unsigned high)
{
    return high >> 20 == 0x7ff ? CRT_NONFINITE_BINADE : (int)((high + 0x2021u) >> 20) - 1023;
}

// The same of a subnormal number; of 0 -1075.
HT_DEVICE int ht_crt_binade(unsigned low, unsigned high)
{
    const unsigned long long x = (unsigned long long)high << 32 | low;
    const int shift = ht_clz64(x);
    return -1011 - shift + (x != 0 && x << shift >> 43 >= 0x1fdfdfu);
}

// Norms are not asked for.
HT_DEVICE unsigned ht_crt_part(unsigned high, int binade)
{
    (void)high;
    (void)binade;
    return 1;
}

HT_DEVICE unsigned ht_crt_part_subnormal(unsigned low, unsigned high, int binade)
{
    (void)low;
    return ht_crt_part(high, binade);
}

HT_DEVICE unsigned long long ht_crt_aligned(unsigned long long measured, int field)
{
    (void)measured;
    (void)field;
    return 0;
}

// The exponent s of a row from its largest binade, as segments have it.
HT_DEVICE int ht_crt_exponent(int field, unsigned long long sum)
{
    (void)sum;
    return field == CRT_MEASURED_NONFINITE ? CRT_POISONED
           : field == 0                    ? 0
                                           : DIGITS_MOST - (field - CRT_MEASURED_BIAS);
}

// Digit l, the first of all being 0, of four elements, as bytes.
HT_DEVICE unsigned ht_crt_residues(int l, const unsigned (*digit)[CRT_DIGIT_WORDS])
{
    const unsigned at = (unsigned)(SLICES - 1 - l);
    unsigned byte[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        // hipcc's __byte_perm would take its byte from memory
        byte[e] = WAVE == 32 ? __byte_perm(digit[e][0], digit[e][1], at)
                             : (unsigned)(((unsigned long long)digit[e][1] << 32 | digit[e][0]) >> at * 8);
    }
    return __byte_perm(__byte_perm(byte[0], byte[1], 0x0040), __byte_perm(byte[2], byte[3], 0x0040), 0x5410);
}
