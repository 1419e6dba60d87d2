// accum/partial_f32: what split-K partials add up to: FP32 numbers, scaled back before they are stored.
typedef float ht_acc; // element of a chain
typedef float ht_sum; // element of a part

// What the lane `lanes` away has.
HT_DEVICE ht_sum ht_shfl_sum(ht_sum v, int lanes)
{
    return ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(v), lanes));
}

// Two lanes, `lanes` apart, give each other one of two numbers: the upper one keeps the second.
HT_DEVICE void ht_lane_trade(bool upper, ht_acc *v, ht_acc *w, int lanes)
{
    const unsigned mine = ht_as_uint(upper ? *v : *w);
    const float other = ht_as_float((unsigned)ht_shfl_xor((int)mine, lanes));
    *v = upper ? other : *v;
    *w = upper ? *w : other;
}

HT_DEVICE ht_sum ht_ldg_sum(const float *parts, long long at)
{
    return ht_ldg4(parts + at);
}

HT_DEVICE void ht_stg_sum(float *parts, long long at, ht_sum v)
{
    ht_stg4(parts + at, v);
}

// What a chain ends with, with the scales of its row and column (2^exponent) undone as far as a part needs it.
HT_DEVICE ht_sum ht_partial(ht_sum v, int exponent)
{
    return SCALES_ROWS ? ht_scale_pow2(v, exponent) : v;
}

// The product's element from the sum of all parts.
HT_DEVICE float ht_finish(ht_sum v, int exponent)
{
    (void)exponent;
    return v;
}

// ht_finish of ht_partial in steps, for scales far from the ends of FP32's range: the same bits. The number that is left to scale by its
// column, whose scale this is, and its row.
HT_DEVICE float ht_round(ht_sum v)
{
    return v;
}

HT_DEVICE float ht_round_scale(float column_scale)
{
    return column_scale;
}
