/* tile_outliers: tiles with rows too small for the tile's exponent. See tile_outliers.h. */
#include "accuracy/tile_outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

enum { TILE_K = 32, TILE_A = 16, TILE_B = 8, BLOCK = 64, LAST_BIT = 20, LEAST_EXPONENT = -120 };

struct side {
    const struct data_view *view;
    int64_t k, blocks;
    int tile; /* rows */
    int64_t *tiles, *outliers; /* of each block of 64 rows */
};

static float element(const struct side *s, int64_t row, int64_t k) {
    return s->view->data[row * s->view->row_step + k * s->view->k_step];
}

/* p of the tile's largest magnitude, as it is after rounding. */
static int exponent_of(float largest) {
    if (largest == 0.0f)
        return LEAST_EXPONENT;
    int p = ilogbf(largest);
    p += rint(ldexp((double)largest, LAST_BIT - p)) == ldexp(1, LAST_BIT + 1);
    return p < LEAST_EXPONENT ? LEAST_EXPONENT : p;
}

/* Not zero, and a root mean square below 2^(p - 4). */
static int is_small(const struct side *s, int64_t row, int64_t from, int64_t to, int p) {
    double squares = 0;
    for (int64_t l = from; l < to; l++) {
        const double v = ldexp((double)element(s, row, l), 4 - p);
        squares += v * v;
    }
    return squares > 0 && squares < (double)(to - from);
}

static int is_outlier(const struct side *s, int64_t first, int64_t last, int64_t from, int64_t to) {
    float largest = 0;
    for (int64_t row = first; row < last; row++)
        for (int64_t l = from; l < to; l++) {
            const float x = element(s, row, l);
            if (!isfinite(x))
                return 1;
            largest = fmaxf(largest, fabsf(x));
        }
    const int p = exponent_of(largest);
    for (int64_t row = first; row < last; row++)
        if (is_small(s, row, from, to, p))
            return 1;
    return 0;
}

static int count_blocks(void *context, int64_t first, int64_t last) {
    const struct side *const s = context;
    for (int64_t block = first; block < last; block++) {
        const int64_t end = (block + 1) * BLOCK < s->view->rows ? (block + 1) * BLOCK : s->view->rows;
        for (int64_t row = block * BLOCK; row < end; row += s->tile)
            for (int64_t l = 0; l < s->k; l += TILE_K) {
                s->tiles[block]++;
                s->outliers[block] += is_outlier(s, row, row + s->tile < end ? row + s->tile : end, l, l + TILE_K < s->k ? l + TILE_K : s->k);
            }
    }
    return 0;
}

static int side_open(struct side *s, const struct data_view *view, int64_t k, int tile) {
    *s = (struct side){view, k, (view->rows + BLOCK - 1) / BLOCK, tile, NULL, NULL};
    s->tiles = calloc((size_t)s->blocks + 1, sizeof *s->tiles);
    s->outliers = calloc((size_t)s->blocks + 1, sizeof *s->outliers);
    if (s->tiles == NULL || s->outliers == NULL)
        return -1;
    (void)threads_run(threads_count(0, s->blocks, view->rows * k * 8), s->blocks, count_blocks, s);
    return 0;
}

static int64_t sum(const struct side *s, const int64_t *of_block, int64_t *clean_blocks) {
    int64_t all = 0;
    for (int64_t i = 0; i < s->blocks; i++) {
        all += of_block[i];
        *clean_blocks += of_block[i] == 0;
    }
    return all;
}

int tile_outliers_count(const struct data_view *a, const struct data_view *b, int64_t k, int is_b_first, struct tile_outliers *out) {
    const struct data_view *const view[2] = {a, b};
    struct side side[2];
    int64_t clean[2] = {0, 0}, unused = 0;
    int status = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++)
        if (side_open(&side[i], view[i], k, i == is_b_first ? TILE_A : TILE_B) != 0)
            status = -1;
    for (int i = 0; i < 2 && status == 0; i++) {
        out->tiles[i] = sum(&side[i], side[i].tiles, &unused);
        out->outliers[i] = sum(&side[i], side[i].outliers, &clean[i]);
    }
    out->blocks = side[0].blocks * side[1].blocks;
    out->blocks_recomputed = out->blocks - clean[0] * clean[1];
    for (int i = 0; i < 2; i++) {
        free(side[i].tiles);
        free(side[i].outliers);
    }
    return status;
}
