// stage/split_none: stage/split_in_smem for instruction sets without an MMA that suits: nothing is cut, and nothing of this is ever called.
template <int ROWS> constexpr int ht_slices_bytes = 0;

template <int ROWS, int PARTS, int THREADS, bool K_MAJOR>
HT_DEVICE void ht_split_vectors(unsigned, const uint4 *, const ht_source &, ht_value_range *)
{
}

template <int ROWS, bool K_MAJOR> HT_DEVICE unsigned ht_matrix_at(int, int)
{
    return 0;
}

template <int ROWS, bool K_MAJOR> HT_DEVICE unsigned ht_matrix_on(unsigned, int, int)
{
    return 0;
}

template <int ROWS, bool K_MAJOR, int STRIDE> HT_DEVICE void ht_load_matrices(unsigned *, unsigned)
{
}
