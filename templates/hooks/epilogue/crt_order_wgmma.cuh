// epilogue/crt_order_wgmma: which element of a tile is the e-th sum of a thread of crt_wgmma_ss, and so the
// e-th byte in a plane. A warp has 16 columns of each 64; lane (q = lane / 4, t = lane % 4) columns q and q
// + 8, and of each 8 rows 2t and 2t + 1 (PTX ISA, "Matrix fragments for wgmma.mma_async", transposed).
constexpr int CRT_THREADS = BN / WN * 128; // that hold a tile
constexpr int CRT_RESIDENT = 768;            // threads of an SM that combine with any alpha and beta: by registers

HT_DEVICE int ht_crt_row(int thread, int e)
{
    return e % (BM / 2) / 4 * 8 + thread % 4 * 2 + e % 2;
}

HT_DEVICE int ht_crt_column(int thread, int e)
{
    return thread / 128 * WN + e / (BM / 2) * 64 + thread / 32 % 4 * 16 + thread % 32 / 4 + e / 2 % 2 * 8;
}
