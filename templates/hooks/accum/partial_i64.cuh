// accum/partial_i64: what split-K partials add up to: exact integers in units of the last digit's level, rounded to
// FP32 once, when all parts are together. So neither tile nor split nor machine shows in the result.
typedef int ht_acc;       // element of a chain
typedef long long ht_sum; // element of a part

HT_DEVICE void ht_add_partial(ht_sum *sum, ht_sum *compensation, ht_sum part)
{
    (void)compensation;
    *sum += part;
}

HT_DEVICE ht_sum ht_sum_of(ht_sum sum, ht_sum compensation)
{
    (void)compensation;
    return sum;
}

HT_DEVICE ht_sum ht_shfl_sum(ht_sum v, int lanes)
{
    const unsigned low = (unsigned)ht_shfl_xor((int)v, lanes), high = (unsigned)ht_shfl_xor((int)(v >> 32), lanes);
    return (long long)((unsigned long long)high << 32 | low);
}

HT_DEVICE ht_sum ht_ldg_sum(const float *parts, long long at)
{
    return ht_ldg_i64((const long long *)(const void *)parts + at);
}

HT_DEVICE void ht_stg_sum(float *parts, long long at, ht_sum v)
{
    ht_stg_i64((long long *)(void *)parts + at, v);
}

HT_DEVICE ht_sum ht_partial(ht_sum v, int exponent)
{
    (void)exponent;
    return v;
}

// One rounding, to nearest even; the powers of two are exact unless the result is subnormal or overflows.
HT_DEVICE float ht_finish(ht_sum v, int exponent)
{
    if (exponent >= HT_NAN_ROW / 2) // the other exponent may be negative
        return ht_as_float(0x7fffffffu);
    return ht_scale_pow2(__fmul_rn(__ll2float_rn(v), ht_pow2(-8 * (ACCS - 1))), exponent);
}

// ht_finish in steps, for scales far from the ends of FP32's range: the same bits. The number that is left to scale by its column, whose
// scale takes the last digit's unit along, and its row.
HT_DEVICE float ht_round(ht_sum v)
{
    return __ll2float_rn(v);
}

HT_DEVICE float ht_round_scale(float column_scale)
{
    return __fmul_rn(column_scale, ht_pow2(-8 * (ACCS - 1)));
}
