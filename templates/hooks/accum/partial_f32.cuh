// accum/partial_f32: what split-K partials add up to: FP32 numbers, scaled back before they are stored.
typedef float ht_acc; // element of a chain
typedef float ht_sum; // element of a part

// sum becomes sum + v, to nearest; returns what that rounded off, exactly, whichever is larger (Knuth, TAOCP 2, 4.2.2).
HT_DEVICE float ht_add_exact(float *sum, float v)
{
    const float s = __fadd_rn(*sum, v), b = __fadd_rn(s, -*sum);
    const float off = __fadd_rn(__fadd_rn(*sum, -__fadd_rn(s, -b)), __fadd_rn(v, -b));
    *sum = s;
    return off;
}

// A part joins the sum of those before it, what is rounded off is kept beside it; and what both come to. Beside an infinity
// or NaN there is nothing.
HT_DEVICE void ht_add_partial(ht_sum *sum, ht_sum *compensation, ht_sum part)
{
    *compensation = __fadd_rn(*compensation, ht_add_exact(sum, part));
}

HT_DEVICE ht_sum ht_sum_of(ht_sum sum, ht_sum compensation)
{
    return __fmul_rn(compensation, 0.0f) == 0.0f ? __fadd_rn(sum, compensation) : sum;
}

// What the lane `lanes` away has.
HT_DEVICE ht_sum ht_shfl_sum(ht_sum v, int lanes)
{
    return ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(v), lanes));
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
