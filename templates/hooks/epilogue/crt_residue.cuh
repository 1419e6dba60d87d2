// epilogue/crt_residue: INT32 sums of products of residues, as residues again.

// c - p round(c / p), within [-128, 127]; modulo 256 c may have wrapped. Both shifts round down, so that
// together they round c barrett / 2^38.
HT_DEVICE int ht_crt_residue(int c, unsigned modulus, unsigned barrett)
{
    const int quotient = ((int)((long long)c * (int)barrett >> 32) + 32) >> 6;
    return c - (int)modulus * quotient;
}

// Four of them as bytes of a word.
HT_DEVICE unsigned ht_crt_residue_word(const int *c, unsigned modulus, unsigned barrett)
{
    unsigned r[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        r[e] = (unsigned)ht_crt_residue(c[e], modulus, barrett);
    }
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}
