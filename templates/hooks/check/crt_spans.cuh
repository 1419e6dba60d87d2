// check/crt_spans: how many moduli a correctly rounded product takes. Where rows of A and columns of B are integers, times powers
// of two, whose product is below half of the product of fewer moduli, those have all of it, exactly. Packing finds the last bit and
// the size of each row; of the largest of A and of B follows the number. Why: ACCURACY64.md, section 14.
constexpr bool CRT_HAS_FEWER = CRT_FEWEST < CRT_MODULI;
constexpr int CRT_SIZE_MOST = (8 * 4 * CRT_DIGIT_WORDS - 2) * 512; // of integers that digits hold
constexpr int CRT_TOO_LARGE = 1 << 28;                            // size of a row of others: all moduli
constexpr int CRT_NO_BIT = 0xfff;    // last bit of zero

// As packing has left it, of a product.
HT_DEVICE int ht_crt_moduli(const int *spans)
{
    return CRT_HAS_FEWER && spans ? ht_ldg_i32(spans + HT_CRT_SPANS_MODULI) : CRT_MODULI;
}

// From both sizes, by each warp for itself: a lane asks whether so many are enough.
HT_DEVICE int ht_crt_find_moduli(const int *spans)
{
    const int lane = (int)threadIdx.x % WAVE, size = ht_ldg_i32(spans) + ht_ldg_i32(spans + 1);
    int spared = lane < CRT_MODULI - CRT_FEWEST && size <= (int)CRT_FITS[lane < CRT_MODULI - CRT_FEWEST ? lane : 0] ? 1 : 0;
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        spared += ht_shfl_xor(spared, lanes);
    return CRT_MODULI - spared;
}

// The last one of x is 2^(this - 1075).
HT_DEVICE int ht_crt_last_bit(unsigned low, unsigned high)
{
    const int field = (int)(high >> 20 & 0x7ff), first = field > 0 ? field : 1;
    const unsigned upper = (high & 0xfffff) | (field > 0 ? 0x100000u : 0u);
    if (low != 0)
        return first + 31 - ht_clz(low & (0 - low));
    return upper != 0 ? first + 63 - ht_clz(upper & (0 - upper)) : CRT_NO_BIT;
}

// Size of a row: log2 of sum 4^binade, in 1/256 and rounded up: log2(1 + f) is less than f + 0.0861.
HT_DEVICE int ht_crt_size(unsigned long long sum, int binade)
{
    const int zeros = ht_clz64(sum);
    const int fraction = (int)(sum << zeros << 1 >> 56);
    const int size = (63 - zeros + 2 * binade) * 256 + fraction + 24;
    return size <= CRT_SIZE_MOST ? size : CRT_TOO_LARGE;
}
