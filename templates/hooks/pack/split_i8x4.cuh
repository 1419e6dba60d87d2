// pack/split_i8x4: for packing, four contiguous elements in all slices, as words of each. Of 8-bit digits: bytes
// of one place of four numbers are gathered by permutations, half of what masks and shifts of each number would take.
template <int WORDS> HT_DEVICE void ht_split_four(unsigned (*packed)[WORDS], int first, const float *x)
{
    const unsigned a = ht_carried(x[0]), b = ht_carried(x[1]), c = ht_carried(x[2]), d = ht_carried(x[3]);
    const unsigned low[2] = {__byte_perm(a, b, 0x5140), __byte_perm(c, d, 0x5140)};  // bytes 0 and 1
    const unsigned high[2] = {__byte_perm(a, b, 0x7362), __byte_perm(c, d, 0x7362)}; // bytes 2 and 3
    const unsigned byte[4] = {__byte_perm(low[0], low[1], 0x5410), __byte_perm(low[0], low[1], 0x7632),
                              __byte_perm(high[0], high[1], 0x5410), __byte_perm(high[0], high[1], 0x7632)};
#pragma unroll
    for (int s = 0; s < SLICES; s++)
        packed[s][first] = byte[SLICES - 1 - s] ^ (s > 0 ? 0x80808080u : 0u); // as ht_split has it
}
