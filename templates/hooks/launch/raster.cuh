// launch/raster: which tile of C a block has.

static inline unsigned ht_tile_count(int m, int n)
{
    return (unsigned)((m + BM - 1) / BM) * (unsigned)((n + BN - 1) / BN);
}

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that run together
// share panels in L2.
HT_DEVICE void ht_raster_tile(int m, int n, int *tile_m, int *tile_n)
{
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int per_group = RASTER * tiles_n;
    const int first = (int)blockIdx.x / per_group * RASTER, inside = (int)blockIdx.x % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    *tile_m = first + inside % height;
    *tile_n = inside / height;
}
