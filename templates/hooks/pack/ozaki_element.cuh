// pack/ozaki_element: one step of algorithm 1 (Mukunoki et al. 2020) on one element, and numbers as bits.
HT_DEVICE double ht_oz_double(unsigned long long bits)
{
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

HT_DEVICE unsigned long long ht_oz_bits(double x)
{
    unsigned long long bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

HT_DEVICE double ht_oz_load(const double *p)
{
    return ht_oz_double((unsigned long long)ht_ldg_i64((const long long *)(const void *)p));
}

// Of the caller's, which is a float or a double.
HT_DEVICE double ht_oz_element(const void *from, long long at, int of_floats)
{
    return of_floats ? (double)ht_ldg4((const float *)from + at) : ht_oz_load((const double *)from + at);
}

// |x| as an integer, which is in the same order.
HT_DEVICE unsigned long long ht_oz_magnitude(double x)
{
    return ht_oz_bits(x) & 0x7fffffffffffffffull;
}

HT_DEVICE bool ht_oz_is_finite(unsigned long long magnitude)
{
    return magnitude < 0x7ff0000000000000ull;
}

HT_DEVICE int ht_oz_clz64(unsigned long long x)
{
    const unsigned high = (unsigned)(x >> 32);
    return high != 0 ? ht_clz(high) : 32 + ht_clz((unsigned)x);
}

// ceil(log2(x)) of a positive number, from its bits. Example: 1 gives 0, 1.5 gives 1, 2^-1074 gives -1074.
HT_DEVICE int ht_oz_ceil_log2(unsigned long long magnitude)
{
    const int field = (int)(magnitude >> 52);
    const unsigned long long fraction = magnitude & 0xfffffffffffffull;
    if (field > 0)
        return field - 1023 + (fraction != 0);
    return 63 - ht_oz_clz64(fraction) - 1074 + ((fraction & (fraction - 1)) != 0);
}

// 2^e, e from -1022 to 1023.
HT_DEVICE double ht_oz_pow2(int e)
{
    return ht_oz_double((unsigned long long)(e + 1023) << 52);
}

// 2^e as two factors, so that neither is out of range: |e| <= 2044.
struct ht_oz_scale {
    double first, second;
};

HT_DEVICE ht_oz_scale ht_oz_scale_of(int e)
{
    const ht_oz_scale s = {ht_oz_pow2(e / 2), ht_oz_pow2(e - e / 2)};
    return s;
}

// tau of the row's largest and sigma = 2^rho relative to 2^tau. What is split is x 2^-tau: so sigma overflows for no
// tau. Products by powers of two are exact but where x 2^-tau is subnormal, far below what sigma keeps.
struct ht_oz_step {
    ht_oz_scale down, up;
    double sigma;
};

HT_DEVICE ht_oz_step ht_oz_step_of(int tau, int bits)
{
    const ht_oz_step s = {ht_oz_scale_of(-tau), ht_oz_scale_of(tau), ht_oz_pow2(53 - bits)};
    return s;
}

// Takes the slice's value, times 2^-tau, off x.
HT_DEVICE double ht_oz_take(double *x, const ht_oz_step &s)
{
    const double scaled = *x * s.down.first * s.down.second;
    const double slice = (scaled + s.sigma) - s.sigma;
    if (slice != 0.0)
        *x = (scaled - slice) * s.up.first * s.up.second;
    return slice;
}
