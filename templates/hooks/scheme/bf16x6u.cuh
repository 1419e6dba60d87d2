// scheme bf16x6u: three BF16 slices, each what is left rounded to nearest (stage/split_in_smem), hold 24 bits exactly where a number is not
// small; six products. What is too large makes an infinity or NaN, in a slice or in a sum, and the tile's results show it
// (ht_all_finite); what is too small must be looked for: products of nonzero numbers below 2^-50 could be subnormal. Twice
// the magnitude's bits, less one, are compared: zero wraps to the largest number.
struct ht_value_range {
    unsigned least;
};

HT_DEVICE void ht_observe(ht_value_range *value_range, unsigned bits)
{
    const unsigned below = (bits << 1) - 1;
    value_range->least = below < value_range->least ? below : value_range->least;
}

HT_DEVICE bool ht_is_safe_range(const ht_value_range &value_range)
{
    constexpr unsigned LOW = (127u - 50u) << 24;
    return value_range.least >= LOW - 1;
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
