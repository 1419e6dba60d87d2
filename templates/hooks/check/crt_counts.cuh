// check/crt_counts: whether residues keep all of a product within its bound, by the counts of packing (ht_crt_counts); where they do not, a scheme
// of more moduli computes it, and tests each element (check/crt_abs). Rule and proof: ACCURACY64.md, section 18.

// Whether there are too few.
HT_DEVICE bool ht_crt_asks(const ht_crt_counts &g, long long entry)
{
    return g.a && ht_ldg_i32(g.a + entry * g.a_stride) + ht_ldg_i32(g.b + entry * g.b_stride) < g.needed;
}

// Whether the other scheme computes the product.
HT_DEVICE bool ht_crt_is_idle(const ht_crt_counts &g, long long entry)
{
    return g.a && ht_crt_asks(g, entry) != (g.second != 0);
}

// ---- elements that fail, where the other scheme tests each
constexpr long long CRT_ALL_FAIL = 1ll << 62; // by a sample: none is tested

// Whether a product has so many elements that fail that none is computed by residues. While they are tested only what the sample told:
// their number grows meanwhile, and warps of a block that read it apart would part.
HT_DEVICE bool ht_crt_gives_up(const ht_crt_failed &g, long long entry, bool tests = false)
{
    return g.left && ht_ldg_i64(g.left + entry) > (tests ? CRT_ALL_FAIL - 1 : g.most);
}

constexpr int CRT_FAILED_WORDS = 128; // of 64 x 64 elements: column c has words 2 c and 2 c + 1, of 32 rows each

// The word of 32 rows of a column of C, which has m rows.
HT_DEVICE unsigned *ht_crt_failed_word(const ht_crt_failed &g, long long entry, int m, int row, int col)
{
    const long long block = (long long)(col / 64) * ((m + 63) / 64) + row / 64;
    return g.bits + entry * g.stride + block * CRT_FAILED_WORDS + col % 64 * 2 + row % 64 / 32;
}

// By one thread for each element.
HT_DEVICE void ht_crt_set_failed(const ht_crt_failed &g, long long entry, int m, int row, int col)
{
    ht_add_relaxed_i32((int *)ht_crt_failed_word(g, entry, m, row, col), (int)(1u << row % 32));
}
