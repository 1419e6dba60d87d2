/* data_check: what decides, of two matrices, whether `auto` may keep f16x3's results: how large the elements
 * of a row are beside each other, and which elements of C the certificate (certificate.h) does not clear. On
 * the host, in FP64. Knows nothing of files or devices. */
#ifndef BENCH_DATA_CHECK_H
#define BENCH_DATA_CHECK_H

#include <stdint.h>

#include "accuracy/certificate.h"

/* Element (i, l) of op(A), or column i and row l of op(B), is data[i * row_step + l * k_step]. */
struct data_view {
    const float *data;
    int64_t rows, row_step, k_step;
};

enum { DATA_TAUS = 3, DATA_BINS = 3 };
extern const double data_tau[DATA_TAUS]; /* 4, 16, 64 units */

/* One operand. bin: elements by how far below their row's largest they are, scaled to [2^14, 2^15): from 2^-2
 * on (22 bits), smaller ones, zeros. */
struct data_side {
    int64_t rows, elements, bin[DATA_BINS], rows_clean, rows_zero, rows_not_finite;
    int least_exponent, most_exponent; /* binary, of the largest of rows that are neither zero nor not finite;
                                          least > most: none */
    double worst_lost;                 /* largest share that a row loses of its largest, in 2^-24 */
};

struct data_report {
    int64_t m, n, k;
    struct data_side side[2];
    /* Of the rows of C that were looked at, in blocks of 64: elements, and by tau those that are not cleared
     * and tiles that have any. */
    int64_t elements, tiles, tiles_sparse, failed[DATA_TAUS], tiles_failed[DATA_TAUS];
    /* Tiles by their share of elements that are not cleared (tau 16): none, up to 1/256, up to 1/16, more. */
    int64_t tiles_by_share[4];
};

struct data_rules {
    enum certificate_unit unit;
    int64_t rows_most; /* rows of C to look at, rounded up to 64; 0: all */
};

/* 0, or -1 without memory. */
int data_check(const struct data_view *a, const struct data_view *b, int64_t k,
               const struct data_rules *rules, struct data_report *out);

/* Which tiles MixPert's levels leave to the fallback (bench/ACCURACY.md, section 16): tiles of 16 rows x 32 k of A and 32 k x 8
 * columns of B. Packing's own rule is templates/hooks/pack/outlier_tiles.cuh. */
struct tile_outliers {
    int64_t tiles[2], outliers[2];    /* of A and B */
    int64_t blocks, blocks_recomputed; /* 64 x 64 of C: those that meet an outlier */
};

/* With is_b_first the call computes (A B)^T as B^T A^T, so that B has the tiles of 16. 0, or -1 without memory. */
int tile_outliers_count(const struct data_view *a, const struct data_view *b, int64_t k, int is_b_first, struct tile_outliers *out);

#endif
