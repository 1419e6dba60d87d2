/* tile_outliers: which tiles of two matrices MixPert's levels leave to the fallback (bench/ACCURACY.md, section 16): tiles of 16 rows x
 * 32 k of A and 32 k x 8 columns of B. On the host; packing's own rule is templates/hooks/pack/outlier_tiles.cuh. */
#ifndef BENCH_TILE_OUTLIERS_H
#define BENCH_TILE_OUTLIERS_H

#include "accuracy/data_check.h"

struct tile_outliers {
    int64_t tiles[2], outliers[2];    /* of A and B */
    int64_t blocks, blocks_recomputed; /* 64 x 64 of C: those that meet an outlier */
};

/* With is_b_first the call computes (A B)^T as B^T A^T, so that B has the tiles of 16. 0, or -1 without memory. */
int tile_outliers_count(const struct data_view *a, const struct data_view *b, int64_t k, int is_b_first, struct tile_outliers *out);

#endif
