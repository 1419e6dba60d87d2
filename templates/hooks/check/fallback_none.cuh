// check/fallback_none: check/fallback_inside for schemes that have no certificate: nothing of this is ever called.
constexpr int NOTED_BLOCKS_MOST = 1, TERM_BYTES = 1;

template <int BYTES> constexpr int ht_term_buffers = 1;

HT_DEVICE unsigned ht_notes_of(const ht_notes &, int)
{
    return 0;
}

template <int WARPS> HT_DEVICE bool ht_any_of_warps(const ht_notes &, bool)
{
    return false;
}

template <int ROWS> HT_DEVICE void ht_note_block(const ht_gemm_args &, long long, int, int, unsigned, ht_noted_counts *)
{
}

template <int WARPS, int ROWS, int TERM_BUFFERS> HT_DEVICE void ht_fallback_noted(const ht_gemm_args &, const ht_notes &, ht_noted_counts)
{
}
