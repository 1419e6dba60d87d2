// scheme/i8x28: FP64 rows as integers of SLICES signed digits to base 256, relative to their largest, and sums of products of
// digits as one integer. Bound and range: ACCURACY64.md, section 20.
constexpr int CRT_MODULI = SLICES, CRT_DIGIT_WORDS = 2; // panels, one for each digit; words of an element's digits
constexpr int CRT_VALUE_WORDS = 3, CRT_SEGMENT = 512, CRT_POISONED = 1048576;
constexpr int CRT_FEWEST = CRT_MODULI; // digits are never fewer
HT_TABLE unsigned CRT_FITS[1] = {0};
// Weight of the last level in units of the product of two last digits: levels from ACCS on are left out.
constexpr int CRT_LEFT_OUT_BITS = 8 * (2 * SLICES - 1 - ACCS);

// Sums of levels as one integer: level l weighs 256 times level l + 1. |sum| < 2^31, so that the last four are below 2^56
// and the others, with what is carried, below 2^48.
HT_DEVICE void ht_crt_sum_levels(const int *sum, unsigned *value)
{
    long long low = 0, high = 0;
#pragma unroll
    for (int l = 0; l < ACCS; l++) {
        if (l < ACCS - 4)
            high = high * 256 + sum[l];
        else
            low = low * 256 + sum[l];
    }
    high += low >> 32;
    value[0] = (unsigned)low;
    value[1] = (unsigned)high;
    value[2] = (unsigned)(high >> 32);
}
