// scheme/row_scale: power-of-two row scales, for packing and for the epilogue.

// Where fixed point has no place for NaN and Inf, a row that has one carries this exponent: its results become NaN. It is
// far above what two others can add up to, and the sum of two of it is still an int.
constexpr int HT_NAN_ROW = 1 << 20;
constexpr int HT_INFINITE = 0x7f800000; // magnitude of such a row
constexpr int HT_FOREIGN_ROW = 0x7f800001; // of one that is larger than what decides its scale

// Exponent e of a scaled row: x * 2^-e brings the row's largest finite magnitude, its significand enlarged by SCALE_ROOM,
// into binades SCALE_LOW to SCALE_HIGH. `magnitude` holds that absmax as the bits of a float, as pack leaves
// it. Exponents stop at -126, so that 2^e and its inverse are normal floats.
HT_DEVICE int ht_row_exponent(int magnitude)
{
    const int binade = ((magnitude + SCALE_ROOM) >> 23) - 127;
    const int e = binade < SCALE_LOW ? binade - SCALE_LOW : binade > SCALE_HIGH ? binade - SCALE_HIGH : 0;
    if (magnitude >= HT_INFINITE)
        return HT_NAN_ROW;
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
