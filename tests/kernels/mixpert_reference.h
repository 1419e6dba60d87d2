/* mixpert_reference: MixPert's emulated product on the host, written from the paper (Lin, Sun, Zhang and Lu, LCTES 2024) without
 * a look at the kernels: what they must give bit for bit, and what their bound is relative to. */
#ifndef TESTS_MIXPERT_REFERENCE_H
#define TESTS_MIXPERT_REFERENCE_H

#include <stdint.h>

enum { MIXPERT_TILE_K = 32, MIXPERT_A_ROWS = 16, MIXPERT_B_COLS = 8, MIXPERT_SEGMENTS = 3 };

/* An operand as lines (rows of A, columns of B) of k elements, split with the exponents of its tiles: `share` lines x 32 k. */
struct mixpert_operand {
    int64_t lines, k, k_tiles;
    int share;
    int8_t *segment[MIXPERT_SEGMENTS]; /* [line * k_tiles * 32 + k], zeros behind k */
    float *scale;                      /* [tile of lines * k_tiles + tile of k]: 2^(p_max - 6), NaN for a tile with NaN or Inf */
    float *largest;                    /* the same place: the tile's largest magnitude */
    unsigned char *outlier; /* the same place: whether a line that is not all zero has a root mean square below 2^(p_max - 4), or NaN, Inf */
    double *norm;           /* [line]: its Euclidean norm */
};

/* Element (line, k) is x[line * line_step + k * k_step]. Free it with mixpert_free. */
struct mixpert_operand mixpert_split(const float *x, int64_t lines, int64_t k, int64_t line_step, int64_t k_step, int share);
void mixpert_free(struct mixpert_operand *x);

/* One element of A B at level 1 .. 4, its k split into `splits` ordered parts of whole steps of `bk`, before alpha and beta. */
float mixpert_element(const struct mixpert_operand *a, const struct mixpert_operand *b, int level, int64_t i, int64_t j, int splits,
                      int bk);
/* Whether element (i, j) of C is in a block of 64 x 64 that meets an outlier. */
int mixpert_meets_outlier(const struct mixpert_operand *a, const struct mixpert_operand *b, int64_t i, int64_t j);
/* Units of 2^-24 ||row of A|| ||column of B|| that the split of a level is off by where no tile is an outlier. */
int64_t mixpert_norm_units(int level);
/* (A' B')_ij, each element of A' and B' the largest magnitude of its tile. */
double mixpert_magnitude(const struct mixpert_operand *a, const struct mixpert_operand *b, int64_t i, int64_t j);

#endif
