// hooks_scale: power-of-two row scales, for packing and for the epilogue.


// Exponent of a scaled row: the row's largest finite magnitude is brought into [2^14, 2^15), near the top of FP16.
// `magnitude` holds that largest magnitude as the bits of a float, as pack leaves it. Rows that are zero or below
// 2^-112 stop at -126, so that 2^exponent and its inverse are normal floats.
HT_DEVICE int ht_row_exponent(int magnitude)
{
    const int e = (magnitude >> 23) - 127 - 14;
    return e < -126 ? -126 : e;
}

HT_DEVICE float ht_pow2(int e)
{
    return ht_as_float((unsigned)(e + 127) << 23);
}

// v * 2^e for e in [-252, 254], in two steps so that each factor is a normal float.
HT_DEVICE float ht_scale_pow2(float v, int e)
{
    const int half = e >> 1;
    return __fmul_rn(__fmul_rn(v, ht_pow2(half)), ht_pow2(e - half));
}
