// check/crt_abs: which elements of C residues keep within their bound, told by one more INT8 product. A row has a power of two w, about a
// sixteenth of its mean absolute value, and digits d = min(most, floor(|x| / w)): w_i w_j sum(d_i d_j) is a lower bound of |A||B|, whatever
// w is. What rounding to integers costs is at most half of both rows' sums of absolute values and k / 4. Proof: ACCURACY64.md, section 18.
constexpr float CRT_SUM_OF_ZEROS = -3.402823466e38f; // stands for the sum of a row of zeros, whose results are exact; of NaN and Inf it is NaN

// Digits have 7 bits less this: most^2 k < 2^(14 - 2 this) k <= 2^31.
HT_DEVICE int ht_crt_halvings(int k)
{
    const int left = (32 - ht_clz((unsigned)k - 1) - 16) >> 1;
    return left > 0 ? left : 0;
}

HT_DEVICE unsigned ht_crt_abs_most(int k)
{
    return (128u >> ht_crt_halvings(k)) - 1;
}

// log2 of a row's w, scaled as the row is. sum: of its scaled absolute values.
HT_DEVICE int ht_crt_abs_exponent(float sum, int k)
{
    return (int)(ht_as_uint(sum) >> 23 & 255) - 127 - (32 - ht_clz((unsigned)k - 1) + 4 - ht_crt_halvings(k));
}

// min(most, floor(|x| 2^(s - e))), or less, by the upper word of x; right: 1043 - s + e.
HT_DEVICE unsigned ht_crt_abs_digit(unsigned high, int right, unsigned most)
{
    const int field = (int)(high >> 20 & 0x7ff), by = right - (field > 0 ? field : 1);
    const unsigned top = (high & 0xfffff) | (field > 0 ? 0x100000u : 0u), d = top >> (by < 0 ? 0 : by > 31 ? 31 : by);
    return d < most ? d : most;
}

// What the sum of digits of a row and a column, of which these are the sums of absolute values, has to be more than.
HT_DEVICE float ht_crt_abs_needed(float row, float col, float factor, int k)
{
    const float need = __fmul_rn(__fadd_rn(row, col), factor);
    const unsigned down[2] = {(unsigned)(127 - ht_crt_abs_exponent(row, k)), (unsigned)(127 - ht_crt_abs_exponent(col, k))};
    return __fmul_rn(__fmul_rn(need, ht_as_float(down[0] << 23)), ht_as_float(down[1] << 23));
}

// Whether an element keeps its bound by its own size: |A||B| is at least that less what rounding to integers costs. Of the upper 64 bits
// of X, in two's complement, at most |X| is left.
HT_DEVICE bool ht_crt_is_large(const unsigned *value, float row, float col, float factor)
{
    constexpr int TOP = CRT_VALUE_WORDS - 1;
    const unsigned long long top = (unsigned long long)value[TOP] << 32 | value[TOP - 1];
    const float size = (float)(top >> 63 ? ~top : top), unit = ht_as_float((127u + 32 * (TOP - 1)) << 23);
    return __fmul_rn(size, unit) > __fmul_rn(__fadd_rn(row, col), factor); // of NaN: no
}
