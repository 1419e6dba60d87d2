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

// Four sums, plus residues of other k.
HT_DEVICE void ht_crt_add_residues(int *c, unsigned old)
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        c[e] += (int)(old << (24 - e * 8)) >> 24;
    }
}

// 16 of a thread's sums as bytes of a plane; adds: to those that are there.
HT_DEVICE void ht_crt_store_residues(unsigned char *to, int *c, bool adds, unsigned modulus, unsigned barrett)
{
    if (adds) {
        const uint4 old = ht_ld16(to);
        ht_crt_add_residues(c, old.x);
        ht_crt_add_residues(c + 4, old.y);
        ht_crt_add_residues(c + 8, old.z);
        ht_crt_add_residues(c + 12, old.w);
    }
    ht_stg16(to, make_uint4(ht_crt_residue_word(c, modulus, barrett), ht_crt_residue_word(c + 4, modulus, barrett),
                            ht_crt_residue_word(c + 8, modulus, barrett), ht_crt_residue_word(c + 12, modulus, barrett)));
}
