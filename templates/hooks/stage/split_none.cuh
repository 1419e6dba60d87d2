// stage/split_none: stage/split_in_smem for instruction sets without an MMA that suits: nothing is cut, and nothing of this is ever called.
template <int ROWS> constexpr int ht_cut_bytes = 0;

template <int ROWS, int PARTS, int THREADS, bool K_CONTIGUOUS>
HT_DEVICE void ht_cut_parts(unsigned, const uint4 *, const ht_source &, ht_span *)
{
}

template <int ROWS, bool K_CONTIGUOUS> HT_DEVICE unsigned ht_piece_at(int, int)
{
    return 0;
}

template <int ROWS, bool K_CONTIGUOUS> HT_DEVICE unsigned ht_piece_on(unsigned, int, int)
{
    return 0;
}

template <int ROWS, bool K_CONTIGUOUS, int STRIDE> HT_DEVICE void ht_load_pieces(unsigned *, unsigned)
{
}
