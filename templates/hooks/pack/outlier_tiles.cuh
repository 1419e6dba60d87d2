// pack/outlier_tiles: which tiles have rows too small for their common exponent (MixPert, LCTES 2024, section 3.3.3, leaves the rule open).
// A tile of largest magnitude in [2^p, 2^(p + 1)) rounds to 2^(p - 21); a row of its 32 k is well served if its root mean square is at
// least 2^(p - 4), or if all of it is zero. Of two tiles that serve all rows, level IV is off by at most (2^(4 + 4) + 2^(8 - 2)) 2^-24 of the
// product of both norms, with its additions less than native FP32's bound from k = 336 on (ACCURACY.md, section 16). Elements come scaled, p = 6.
constexpr float LEAST_SQUARE = 4.0f * 4.0f, MOST_SQUARES = 32.0f * 128.0f * 128.0f;

// Whether a row makes its tile an outlier, as NaN and Inf do; `chunk`: half of its 32 k, the neighbouring lane has the other. left: k
// from the tile's first on; zeros behind the matrix do not count.
HT_DEVICE bool is_outlier_row(const uint4 *chunk, float factor, int left)
{
    float squares = 0.0f;
    unsigned live = 0;
    for (int u = 0; u < CHUNK_K / 4; u++) {
        const unsigned bits[4] = {chunk[u].x, chunk[u].y, chunk[u].z, chunk[u].w};
        for (int i = 0; i < 4; i++) {
            const float x = scaled(bits[i], factor);
            squares = __fmaf_rn(x, x, squares);
            live |= bits[i] * 2;
        }
    }
    squares = __fadd_rn(squares, ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(squares), 1)));
    live |= (unsigned)ht_shfl_xor((int)live, 1);
    return live != 0 && !(squares >= LEAST_SQUARE * (float)(left < 32 ? left : 32) && squares <= MOST_SQUARES);
}

// Where the block has an outlier, the number of its 64 rows becomes negative: the certificate clears nothing of theirs. Everything else of the
// sums stays 0, as the caller has left it, since no block sees all of a row. words: shared memory, one a warp.
HT_DEVICE void store_outliers(const ht_pack_args &g, long long entry, int row_block, unsigned words, bool outlier)
{
    const int warp = (int)threadIdx.x / 32;
    int any = outlier;
    for (int m = 1; m < 32; m *= 2)
        any |= ht_shfl_xor(any, m);
    if (threadIdx.x % 32 == 0)
        ht_sts4(words + (unsigned)warp * 4, ht_as_float((unsigned)any));
    ht_barrier();
    if (threadIdx.x != 0)
        return;
    for (int w = 0; w < PACK_THREADS / 32; w++)
        any |= (int)ht_as_uint(ht_lds4(words + (unsigned)w * 4));
    if (any != 0)
        ht_stg_i32(g.to.row_sums + entry * g.to.sums_stride + row_blocks_of(g) * 64 + row_block * 4, -1);
    raise_flag(g, any != 0);
    if (blockIdx.x == 0)
        begin_flags(g);
}
