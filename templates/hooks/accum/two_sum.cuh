// accum/two_sum: sums with a compensation term, of FP32 or FP64.
HT_DEVICE float ht_plus(float x, float y)
{
    return __fadd_rn(x, y);
}

HT_DEVICE double ht_plus(double x, double y)
{
    return __dadd_rn(x, y);
}

// sum becomes sum + v, to nearest; returns what that rounded off, exactly, whichever is larger (Knuth, TAOCP 2, 4.2.2).
template <class REAL> HT_DEVICE REAL ht_add_exact(REAL *sum, REAL v)
{
    const REAL s = ht_plus(*sum, v), b = ht_plus(s, -*sum);
    const REAL off = ht_plus(ht_plus(*sum, -ht_plus(s, -b)), ht_plus(v, -b));
    *sum = s;
    return off;
}

// A part joins the sum of those before it, what is rounded off is kept beside it; and what both come to. Beside an infinity
// or NaN there is nothing.
template <class REAL> HT_DEVICE void ht_add_partial(REAL *sum, REAL *compensation, REAL part)
{
    *compensation = ht_plus(*compensation, ht_add_exact(sum, part));
}

template <class REAL> HT_DEVICE REAL ht_sum_of(REAL sum, REAL compensation)
{
    return compensation * 0 == 0 ? ht_plus(sum, compensation) : sum;
}
