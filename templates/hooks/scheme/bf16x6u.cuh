// scheme bf16x6u: three BF16 slices, each what is left rounded to nearest (stage/split_in_smem), hold 24 bits exactly where a number is not
// small; six products. What is too large makes an infinity or NaN, in a slice or in a sum, and the tile's results show it
// (ht_all_finite); what is too small must be looked for. Twice the magnitude's bits, less one, are compared: zero wraps
// to the largest number. The exponents below are those of bench/ACCURACY.md, section 9, "Small numbers".
struct ht_value_range {
    unsigned least;
};

constexpr int CALM_EXPONENT = -50;     // both operands from here on: no bit of a slice's product is below FP32's least
constexpr int EXACT_EXPONENT = -110;   // a number from here on: its slices hold all of it
constexpr int PRODUCT_EXPONENT = -116; // products from here on: what sums cut off below FP32's least is nothing beside them
constexpr int LARGEST_EXPONENT = -20, SPARE_EXPONENT = -100; // ht_floor_of

HT_DEVICE void ht_observe(ht_value_range *value_range, unsigned bits)
{
    const unsigned below = (bits << 1) - 1;
    value_range->least = below < value_range->least ? below : value_range->least;
}

// Whether no number but zero is below 2^exponent, where `least` is the least of a value range.
HT_DEVICE bool ht_is_from(unsigned least, int exponent)
{
    return least >= ((unsigned)(127 + exponent) << 24) - 1; //@mutate least-exponent
}

HT_DEVICE bool ht_is_safe_range(const ht_value_range &value_range)
{
    return ht_is_from(value_range.least, CALM_EXPONENT);
}

// Whether the least numbers of both operands, which slices hold, make products that are large enough, whatever the results are.
HT_DEVICE bool ht_are_safe_products(unsigned least_p, unsigned least_q)
{
    return (int)((least_p >> 24) + (least_q >> 24)) >= 2 * 127 + PRODUCT_EXPONENT; //@mutate safe-products
}

// What a result of `k` products outweighs all that may be lost from. `largest`: twice the bits of the largest magnitude beside numbers that slices
// do not hold.
HT_DEVICE float ht_floor_of(unsigned largest, int k)
{
    constexpr unsigned LEAST = (unsigned)(127 + LARGEST_EXPONENT) << 24;
    const float spare = ht_as_float((unsigned)(127 + SPARE_EXPONENT) << 23);
    return __fmul_rn(__fmul_rn(ht_as_float((largest > LEAST ? largest : LEAST) >> 1), spare), (float)k); //@mutate floor-of-results
}

// Whether none of `count` numbers is an infinity or NaN.
template <int COUNT> HT_DEVICE bool ht_all_finite(const float *v)
{
    float zero = 0.0f;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        zero = __fmaf_rn(v[i], 0.0f, zero);
    return zero == 0.0f;
}

// A chain of the tensor core joins the sum. What is rounded off is kept beside it.
HT_DEVICE void ht_twosum_join(float *sum, float *compensation, const float *chain)
{
    for (int q = 0; q < D_REGS; q++)
        compensation[q] = __fadd_rn(compensation[q], ht_add_exact(sum + q, chain[q]));
}

// What stands beside the sum joins it; beside it remains what that rounds off. Nothing where the sum is infinite or NaN.
HT_DEVICE void ht_promote_compensation(float *sum, float *compensation)
{
    for (int q = 0; q < D_REGS; q++) {
        const float off = ht_add_exact(sum + q, compensation[q]);
        compensation[q] = __fmul_rn(off, 0.0f) == 0.0f ? off : 0.0f;
    }
}
