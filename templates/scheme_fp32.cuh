// scheme fp32: three BF16 slices by truncation, 8 bits each: all 24 bits of an FP32 number that is not small, exactly, and
// never more than the number itself, so that nothing overflows. Two numbers at once, as a fragment's register holds them.
HT_DEVICE void ht_split_pair(float x, float y, unsigned *slice)
{
    for (int s = 0; s < SLICES; s++) {
        const unsigned bits_x = ht_as_uint(x), bits_y = ht_as_uint(y);
        slice[s] = bits_x >> 16 | (bits_y & 0xffff0000u);
        x = __fadd_rn(x, -ht_as_float(bits_x & 0xffff0000u));
        y = __fadd_rn(y, -ht_as_float(bits_y & 0xffff0000u));
    }
}

// Where this is not exact or a chain could overflow: NaN, Inf, and finite numbers outside of [2^-50, 2^50). Twice the
// magnitude's bits are compared; zero is calm, less one it wraps to the largest number.
struct ht_span {
    unsigned most, least;
};

HT_DEVICE void ht_look(ht_span *seen, unsigned bits)
{
    const unsigned magnitude = bits << 1, below = magnitude - 1;
    seen->most = magnitude > seen->most ? magnitude : seen->most;
    seen->least = below < seen->least ? below : seen->least;
}

HT_DEVICE bool ht_is_calm(const ht_span &seen)
{
    constexpr unsigned LOW = (127u - 50u) << 24, HIGH = (127u + 50u) << 24;
    return seen.most < HIGH && seen.least >= LOW - 1;
}
