// accum/partial_f64: the same as accum/partial_f32 of FP64 products.
typedef double ht_acc; // element of a chain
typedef double ht_sum; // element of a part

// What the lane `lanes` away has.
HT_DEVICE ht_acc ht_shfl_sum(ht_acc v, int lanes)
{
    unsigned half[2];
    __builtin_memcpy(half, &v, sizeof half);
    half[0] = (unsigned)ht_shfl_xor((int)half[0], lanes);
    half[1] = (unsigned)ht_shfl_xor((int)half[1], lanes);
    __builtin_memcpy(&v, half, sizeof v);
    return v;
}

// Two lanes, `lanes` apart, give each other one of two numbers: the upper one keeps the second. Numbers, not places, are chosen from: hipcc would
// keep all of a lane's in memory.
HT_DEVICE void ht_lane_trade(bool upper, ht_acc *v, ht_acc *w, int lanes)
{
    const ht_acc first = *v, second = *w, other = ht_shfl_sum(upper ? first : second, lanes);
    *v = upper ? other : first;
    *w = upper ? second : other;
}

HT_DEVICE ht_sum ht_ldg_sum(const double *parts, long long at)
{
    return ht_load(parts + at);
}

HT_DEVICE double ht_finish(ht_sum v, int exponent)
{
    (void)exponent;
    return v;
}
