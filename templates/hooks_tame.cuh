// hooks_tame: the data check's verdict. Where rows and columns hold too few elements that are large beside the largest, the
// small ones' absolute errors could show in C; the notes on error bounds, section 11, have the proof. Packing has counted
// (ht_pack_args, tame); all kernels that decide which of two launches stores a block of C ask here.
constexpr int HT_TAME_EMPTY = -1, HT_TAME_WILD = -2;

// Whether rows 64 row_block .. + 63 and columns 64 col_block .. + 63 of C suit the scheme that was packed for: of each row
// and column that meet, large elements are 5/4 of k together, pieces left out where one of the two has only zeros. Asked
// by 32 lanes together, which take pieces side by side.
HT_DEVICE bool ht_is_tame(const ht_gemm_args &g, long long entry, int row_block, int col_block)
{
    const int *a = g.a_tame + entry * g.a_tame_stride + (long long)row_block * g.pieces;
    const int *b = g.b_tame + entry * g.b_tame_stride + (long long)col_block * g.pieces;
    int spare = 0, wild = 0;
#pragma unroll 1 // mostly one round; hipcc would make sixteen, and spill
    for (int p = (int)threadIdx.x % 32; p < g.pieces; p += 32) {
        const int x = ht_ldg_i32(a + p), y = ht_ldg_i32(b + p), left = g.k - p * g.piece_k;
        wild |= x == HT_TAME_WILD || y == HT_TAME_WILD;
        if (x >= 0 && y >= 0)
            spare += 4 * (x + y) - 5 * (left < g.piece_k ? left : g.piece_k);
    }
    for (int m = 16; m > 0; m /= 2) {
        spare += ht_shfl_xor(spare, m);
        wild |= ht_shfl_xor(wild, m);
    }
    return spare >= 0 && wild == 0;
}

// Brings what ht_is_tame will read close.
HT_DEVICE void ht_prefetch_tame(const ht_gemm_args &g, long long entry, int row_block, int col_block)
{
    for (int p = (int)threadIdx.x % 32 * 32; p < g.pieces; p += 32 * 32) {
        ht_prefetch(g.a_tame + entry * g.a_tame_stride + (long long)row_block * g.pieces + p);
        ht_prefetch(g.b_tame + entry * g.b_tame_stride + (long long)col_block * g.pieces + p);
    }
}
