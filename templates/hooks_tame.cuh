// hooks_tame: the verdict of the data check on a 64 x 64 block of C. For each piece of k, pack counts how many numbers of a
// row are large beside the row's largest, and keeps the least count of 64 rows; where the counts of A and B overlap by a
// third of the piece, the scheme keeps FP32's accuracy (bench/ERROR_BOUNDS.md).
HT_DEVICE bool ht_is_tame(const ht_gemm_args &g, int entry, int row_block, int column_block)
{
    const int *a = g.a_tame + entry * g.a_tame_stride + (long long)row_block * g.pieces;
    const int *b = g.b_tame + entry * g.b_tame_stride + (long long)column_block * g.pieces;
    int wild = 0;
    for (int p = (int)threadIdx.x & (WAVE - 1); p < g.pieces; p += WAVE) {
        const int left = g.k - p * g.piece_k, length = left < g.piece_k ? left : g.piece_k;
        wild |= 3 * (ht_ldg_i32(a + p) + ht_ldg_i32(b + p)) < 4 * length;
    }
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2)
        wild |= ht_shfl_xor(wild, lanes);
    return wild == 0;
}
