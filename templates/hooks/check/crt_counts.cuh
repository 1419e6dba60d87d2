// check/crt_counts: which elements of C the residues keep within their bound, by the counts of packing (ht_crt_counts), and which are
// left to FP64 arithmetic. Rule and proof: ACCURACY.md, section 18.

// Whether an element may fail, and whether all do.
HT_DEVICE bool ht_crt_asks(const ht_crt_counts &g, long long entry)
{
    return g.a && ht_ldg_i32(g.a + entry * g.a_stride) + ht_ldg_i32(g.b + entry * g.b_stride) < g.needed;
}

HT_DEVICE bool ht_crt_keeps_none(const ht_crt_counts &g, long long entry)
{
    return g.a && ht_ldg_i32(g.a + entry * g.a_stride + 1) + ht_ldg_i32(g.b + entry * g.b_stride + 1) < g.needed;
}

HT_DEVICE int ht_crt_row_count(const int *counts, long long stride, long long entry, int row)
{
    return ht_ldg_i32(counts + entry * stride + HT_CRT_COUNTS_AT + row);
}

// Where ht_crt_asks: whether an element does not fail.
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

// Whether all elements of a tile that begins within C pass.
template <int ROWS, int COLUMNS>
HT_DEVICE bool ht_crt_tile_passes(const ht_crt_counts &g, long long entry, int m0, int n0, int m, int n)
{
    return !ht_crt_asks(g, entry) ||
           ht_crt_least<ROWS>(g.a, g.a_stride, entry, m0, m) + ht_crt_least<COLUMNS>(g.b, g.b_stride, entry, n0, n) >= g.needed;
}
