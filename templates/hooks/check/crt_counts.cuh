// check/crt_counts: which elements of C the residues keep within their bound, by the counts of packing (ht_crt_counts) or because X is
// large, and which are left to FP64 arithmetic. Rule and proof: the notes on error bounds, section 18.

// Whether an element may fail, and whether all do.
HT_DEVICE bool ht_crt_asks(const ht_crt_counts &g, long long entry)
{
    return g.a && ht_ldg_i32(g.a + entry * g.a_stride) + ht_ldg_i32(g.b + entry * g.b_stride) < g.needed;
}

// Where ht_crt_asks: whether X may keep an element that counts leave.
HT_DEVICE bool ht_crt_asks_values(const ht_crt_counts &g, long long entry)
{
    return ht_ldg_i32(g.a + entry * g.a_stride + 2) != HT_CRT_NO_THRESHOLD &&
           ht_ldg_i32(g.b + entry * g.b_stride + 2) != HT_CRT_NO_THRESHOLD;
}

HT_DEVICE bool ht_crt_keeps_none(const ht_crt_counts &g, long long entry)
{
    return g.a && !ht_crt_asks_values(g, entry) && ht_ldg_i32(g.a + entry * g.a_stride + 1) + ht_ldg_i32(g.b + entry * g.b_stride + 1) < g.needed;
}

HT_DEVICE int ht_crt_row_count(const int *counts, long long stride, long long entry, int row)
{
    return ht_ldg_i32(counts + entry * stride + HT_CRT_COUNTS_AT + row);
}

// The threshold of a row, of so many.
HT_DEVICE unsigned ht_crt_row_threshold(const int *counts, long long stride, long long entry, int row, int rows)
{
    return (unsigned)ht_crt_row_count(counts, stride, entry, (rows + 63) / 64 * 64 + row);
}

// Where the byte of an element is.
HT_DEVICE unsigned char *ht_crt_left_at(const ht_crt_counts &g, long long entry, int row, int col, int rows)
{
    return g.left + entry * g.left_stride + col * (((long long)rows + 3) / 4 * 4) + row;
}

// Where ht_crt_asks: whether an element's counts are enough.
HT_DEVICE bool ht_crt_passes(const ht_crt_counts &g, long long entry, int row, int col)
{
    return ht_crt_row_count(g.a, g.a_stride, entry, row) + ht_crt_row_count(g.b, g.b_stride, entry, col) >= g.needed;
}

// The least of COUNT rows from `first` on, by each warp for itself.
template <int COUNT> HT_DEVICE int ht_crt_least(const int *counts, long long stride, long long entry, int first, int rows)
{
    int least = 0x7fffffff;
    for (int i = (int)threadIdx.x % WAVE; i < COUNT; i += WAVE) {
        const int count = first + i < rows ? ht_crt_row_count(counts, stride, entry, first + i) : least;
        least = count < least ? count : least;
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2) {
        const int other = ht_shfl_xor(least, lanes);
        least = other < least ? other : least;
    }
    return least;
}

// Whether residues keep an element, once their results are stored.
HT_DEVICE bool ht_crt_kept(const ht_crt_counts &g, long long entry, int row, int col, int rows)
{
    const int at = row % 4 * 8;
    if (!ht_crt_asks(g, entry) || ht_crt_passes(g, entry, row, col))
        return true;
    return ht_crt_asks_values(g, entry) &&
           ((unsigned)ht_ldg_i32((const int *)(const void *)ht_crt_left_at(g, entry, row - row % 4, col, rows)) >> at & 255u) == 0;
}

// Whether they keep all elements of a tile that begins within C; by all threads of a block of THREADS.
template <int ROWS, int COLUMNS, int THREADS>
HT_DEVICE bool ht_crt_tile_kept(const ht_crt_counts &g, long long entry, int m0, int n0, int m, int n)
{
    if (!ht_crt_asks(g, entry))
        return true;
    if (!ht_crt_asks_values(g, entry))
        return ht_crt_least<ROWS>(g.a, g.a_stride, entry, m0, m) + ht_crt_least<COLUMNS>(g.b, g.b_stride, entry, n0, n) >= g.needed;
    int left = 0;
    for (int i = (int)threadIdx.x; i < ROWS / 4 * COLUMNS; i += THREADS) {
        const int row = m0 + i % (ROWS / 4) * 4, col = n0 + i / (ROWS / 4);
        if (row < m && col < n)
            left |= ht_ldg_i32((const int *)(const void *)ht_crt_left_at(g, entry, row, col, m));
    }
    return !ht_barrier_any(left != 0);
}
