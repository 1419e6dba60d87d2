// epilogue/crt_order_mma: which element of a tile is the e-th sum of a thread of planes_mma_warp, and so the
// e-th byte in a plane.
constexpr int CRT_THREADS = BM / WM * (BN / WN) * WAVE; // that hold a tile
constexpr int CRT_RESIDENT = 512;                       // threads of an SM that combine with any alpha and beta: by registers

HT_DEVICE int ht_crt_row(int thread, int e)
{
    constexpr int PER_ROW = WN / MMA_N * D_REGS; // of MMA tiles
    return thread / WAVE % (BM / WM) * WM + e / PER_ROW * MMA_M +
           ht_d_row(thread % WAVE, e % D_REGS / D_COLS);
}

HT_DEVICE int ht_crt_column(int thread, int e)
{
    return thread / WAVE / (BM / WM) * WN + e / D_REGS % (WN / MMA_N) * MMA_N +
           ht_d_col(thread % WAVE, e % D_REGS % D_COLS);
}
