/* mixpert_reference: MixPert's emulated product on the host, written from the paper (Lin, Sun, Zhang and Lu, LCTES 2024) without
 * a look at the kernels: what they must give bit for bit, and what their bound is relative to. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Eq. 2: |x| = 2^p (x0 2^-6 + x1 2^-13 + x2 2^-20), rounded to nearest at the last bit; eq. 7: p is the tile's largest exponent, of
 * its largest magnitude as it is rounded by itself. Exponents stop where 2^(6 - p) would no longer be a float. */
enum { LAST_BIT = 20, LEAST_EXPONENT = -120 };

static int tile_exponent(float largest) {
    int p;
    if (largest == 0.0f)
        return LEAST_EXPONENT;
    (void)frexpf(largest, &p);
    p -= 1; /* 2^p <= largest < 2^(p + 1) */
    if (rint(ldexp((double)largest, LAST_BIT - p)) == ldexp(1, LAST_BIT + 1))
        p += 1;
    return p < LEAST_EXPONENT ? LEAST_EXPONENT : p;
}

/* Root mean square below 2^(p - 4). */
static int is_outlier_line(const float *x, int64_t k_step, int64_t depth, int p) {
    double squares = 0;
    int live = 0;
    for (int64_t k = 0; k < depth; k++) {
        const double v = ldexp((double)x[k * k_step], 6 - p);
        live = live || x[k * k_step] != 0.0f;
        squares += v * v;
    }
    return live && squares < (double)depth * 4.0 * 4.0;
}

static void split_tile(struct mixpert_operand *o, const float *x, int64_t line_step, int64_t k_step, int64_t tile, int64_t k_tile) {
    const int64_t line0 = tile * o->share, k0 = k_tile * MIXPERT_TILE_K;
    float largest = 0;
    int finite = 1;
    for (int64_t l = line0; l < line0 + o->share && l < o->lines; l++) {
        for (int64_t k = k0; k < k0 + MIXPERT_TILE_K && k < o->k; k++) {
            const float v = x[l * line_step + k * k_step];
            finite = finite && isfinite(v);
            largest = fmaxf(largest, fabsf(v));
        }
    }
    const int p = finite ? tile_exponent(largest) : 0;
    o->largest[tile * o->k_tiles + k_tile] = finite ? largest : INFINITY;
    o->scale[tile * o->k_tiles + k_tile] = finite ? ldexpf(1, p - 6) : NAN;
    o->outlier[tile * o->k_tiles + k_tile] = !finite;
    for (int64_t l = line0; finite && l < line0 + o->share && l < o->lines; l++) {
        const int64_t left = o->k - k0;
        if (is_outlier_line(x + l * line_step + k0 * k_step, k_step, left < MIXPERT_TILE_K ? left : MIXPERT_TILE_K, p))
            o->outlier[tile * o->k_tiles + k_tile] = 1;
    }
    for (int64_t l = line0; finite && l < line0 + o->share && l < o->lines; l++) {
        for (int64_t k = k0; k < k0 + MIXPERT_TILE_K && k < o->k; k++) {
            const double v = (double)x[l * line_step + k * k_step];
            const int mantissa = (int)rint(ldexp(fabs(v), LAST_BIT - p)), sign = v < 0 ? -1 : 1;
            const int64_t at = l * o->k_tiles * MIXPERT_TILE_K + k;
            o->segment[0][at] = (int8_t)(sign * (mantissa >> 14));
            o->segment[1][at] = (int8_t)(sign * (mantissa >> 7 & 127));
            o->segment[2][at] = (int8_t)(sign * (mantissa & 127));
        }
    }
}

/* Element (line, k) is x[line * line_step + k * k_step]. Free it with mixpert_free. */
static struct mixpert_operand mixpert_split(const float *x, int64_t lines, int64_t k, int64_t line_step, int64_t k_step, int share) {
    struct mixpert_operand o = {.lines = lines, .k = k, .share = share};
    const int64_t tiles = (lines + share - 1) / share;
    o.k_tiles = (k + MIXPERT_TILE_K - 1) / MIXPERT_TILE_K;
    for (int s = 0; s < MIXPERT_SEGMENTS; s++)
        o.segment[s] = calloc((size_t)(lines * o.k_tiles * MIXPERT_TILE_K), 1);
    o.scale = malloc((size_t)(tiles * o.k_tiles) * sizeof *o.scale);
    o.largest = malloc((size_t)(tiles * o.k_tiles) * sizeof *o.largest);
    o.outlier = malloc((size_t)(tiles * o.k_tiles));
    o.norm = calloc((size_t)lines, sizeof *o.norm);
    for (int64_t l = 0; l < lines; l++) {
        for (int64_t i = 0; i < k; i++)
            o.norm[l] += (double)x[l * line_step + i * k_step] * (double)x[l * line_step + i * k_step];
        o.norm[l] = sqrt(o.norm[l]);
    }
    for (int64_t t = 0; t < tiles; t++)
        for (int64_t kt = 0; kt < o.k_tiles; kt++)
            split_tile(&o, x, line_step, k_step, t, kt);
    return o;
}

static void mixpert_free(struct mixpert_operand *x) {
    for (int s = 0; s < MIXPERT_SEGMENTS; s++)
        free(x->segment[s]);
    free(x->scale);
    free(x->largest);
    free(x->outlier);
    free(x->norm);
}

/* Eq. 8 over one tile of k, in units of 2^(p_a + p_b - 12): sums of segments i and j are exact integers of weight 2^-7(i + j); they
 * are added in FP32 from the smallest weight on. Level IV leaves out x2 y2. */
static float tile_product(const int8_t *const *x, const int8_t *const *y, int l, int r) {
    int64_t sum[2 * MIXPERT_SEGMENTS] = {0};
    float v = 0;
    for (int i = 0; i <= l; i++) {
        for (int j = 0; j <= r && i + j < 4; j++) {
            for (int k = 0; k < MIXPERT_TILE_K; k++)
                sum[i + j] += (int64_t)x[i][k] * y[j][k];
        }
    }
    for (int s = l + r < 3 ? l + r : 3; s >= 0; s--)
        v = fmaf(v, 0x1p-7f, (float)sum[s]);
    return v;
}

static float part(const struct mixpert_operand *a, const struct mixpert_operand *b, int level, int64_t i, int64_t j, int64_t from,
                  int64_t to) {
    const int l = level == 3 || level == 4 ? 2 : 1, r = level == 2 || level == 4 ? 2 : 1;
    float c = 0;
    for (int64_t t = from; t < to && t < a->k_tiles; t++) {
        const int8_t *x[MIXPERT_SEGMENTS], *y[MIXPERT_SEGMENTS];
        for (int s = 0; s < MIXPERT_SEGMENTS; s++) {
            x[s] = a->segment[s] + (i * a->k_tiles + t) * MIXPERT_TILE_K;
            y[s] = b->segment[s] + (j * b->k_tiles + t) * MIXPERT_TILE_K;
        }
        const float scale = a->scale[i / a->share * a->k_tiles + t] * b->scale[j / b->share * b->k_tiles + t];
        c = fmaf(tile_product(x, y, l, r), scale, c);
    }
    return c;
}

/* Parts in order, what each addition rounds off kept beside (Knuth, TAOCP 2, 4.2.2), as every scheme's. */
static float mixpert_element(const struct mixpert_operand *a, const struct mixpert_operand *b, int level, int64_t i, int64_t j, int splits,
                      int bk) {
    const int64_t steps = (a->k + bk - 1) / bk, tiles = bk / MIXPERT_TILE_K;
    float sum = 0, lost = 0;
    for (int s = 0; s < splits; s++) {
        const float v = part(a, b, level, i, j, steps * s / splits * tiles, steps * (s + 1) / splits * tiles);
        const float all = sum + v, of_v = all - sum;
        lost += (sum - (all - of_v)) + (v - of_v);
        sum = all;
    }
    return splits > 1 && lost * 0 == 0 ? sum + lost : sum;
}

static int block_has_outlier(const struct mixpert_operand *x, int64_t line) {
    enum { BLOCK = 64 };
    const int64_t first = line / BLOCK * BLOCK / x->share;
    for (int64_t t = first; t < first + BLOCK / x->share && t * x->share < x->lines; t++) {
        if (memchr(x->outlier + t * x->k_tiles, 1, (size_t)x->k_tiles))
            return 1;
    }
    return 0;
}

/* Whether element (i, j) of C is in a block of 64 x 64 that meets an outlier. */
static int mixpert_meets_outlier(const struct mixpert_operand *a, const struct mixpert_operand *b, int64_t i, int64_t j) {
    return block_has_outlier(a, i) || block_has_outlier(b, j);
}

/* 2^p <= 2^4 ||line|| / sqrt(32) in each tile, and the sum of 32 absolute values is at most sqrt(32) of their norm: an error of e 2^p on one
 * side comes to 2^4 e, of both or of x2 y2 (2^-26) to 2^8 / 4; second order below 1. */
static int64_t mixpert_norm_units(int level) {
    const int64_t rounded = 8, cut = 2048;
    return 16 * ((level == 3 || level == 4 ? rounded : cut) + (level == 2 || level == 4 ? rounded : cut)) + 64 + 1;
}

/* (A' B')_ij, each element of A' and B' the largest magnitude of its tile. */
static double mixpert_magnitude(const struct mixpert_operand *a, const struct mixpert_operand *b, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t t = 0; t < a->k_tiles; t++) {
        const int64_t left = a->k - t * MIXPERT_TILE_K;
        sum += (double)(left < MIXPERT_TILE_K ? left : MIXPERT_TILE_K) *
               (double)a->largest[i / a->share * a->k_tiles + t] * (double)b->largest[j / b->share * b->k_tiles + t];
    }
    return sum;
}
