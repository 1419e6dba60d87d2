/* data_check: what decides about two matrices. See data_check.h. */
#include "accuracy/data_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/reference.h"
#include "io/threads.h"
#include "../../../runtime/sim/sim_f16.h"

enum { BLOCK = 64, ROW_COST = 40 };

const double data_tau[DATA_TAUS] = {4, 16, 64};

/* What is known of an operand: its rows, and 64 rows together. */
struct operand {
    const struct data_view *view;
    const struct data_rules *rules;
    int64_t k, blocks;
    struct certificate_row *row;
    unsigned char *is_sparse; /* of each 64 rows */
};

static int examine_rows(void *context, int64_t first, int64_t last) {
    const struct operand *o = context;
    for (int64_t i = first; i < last; i++)
        o->row[i] =
            certificate_of_row(o->view->data + i * o->view->row_step, o->k, o->view->k_step, o->rules->unit);
    return 0;
}

static int has_few_nonzeros(const struct operand *o, int64_t block) {
    int64_t normal = 0, live = 0;
    for (int64_t row = block * BLOCK; row < (block + 1) * BLOCK && row < o->view->rows; row++) {
        normal += o->row[row].normal;
        live += o->row[row].most > 0;
    }
    return certificate_is_sparse(normal, live);
}

static int operand_open(struct operand *o, const struct data_view *view, int64_t k,
                        const struct data_rules *rules) {
    memset(o, 0, sizeof *o);
    o->view = view;
    o->rules = rules;
    o->k = k;
    o->blocks = (view->rows + BLOCK - 1) / BLOCK;
    o->row = malloc((size_t)view->rows * sizeof *o->row);
    o->is_sparse = malloc((size_t)o->blocks);
    if (o->row == NULL || o->is_sparse == NULL)
        return -1;
    (void)threads_run(threads_count(0, view->rows, view->rows * k * ROW_COST), view->rows, examine_rows, o);
    for (int64_t block = 0; block < o->blocks; block++)
        o->is_sparse[block] = (unsigned char)has_few_nonzeros(o, block);
    return 0;
}

static void operand_close(struct operand *o) {
    free(o->row);
    free(o->is_sparse);
}

static void describe_side(const struct operand *o, struct data_side *out) {
    out->rows = o->view->rows;
    out->elements = o->view->rows * o->k;
    out->least_exponent = 1 << 10;
    out->most_exponent = -(1 << 10);
    for (int64_t i = 0; i < o->view->rows; i++) {
        const struct certificate_row *r = &o->row[i];
        out->bin[0] += r->nonzero - r->small;
        out->bin[1] += r->small;
        out->bin[2] += o->k - r->nonzero;
        out->rows_clean += r->is_finite && r->lost == 0;
        out->rows_zero += r->is_zero;
        out->rows_not_finite += !r->is_finite;
        if (r->is_zero || !r->is_finite)
            continue;
        const int exponent = ilogbf(r->most);
        out->least_exponent = exponent < out->least_exponent ? exponent : out->least_exponent;
        out->most_exponent = exponent > out->most_exponent ? exponent : out->most_exponent;
        out->worst_lost = fmax(out->worst_lost, (double)r->lost * 0x1p-24);
    }
}

/* Tiles of one block of rows of C; exact is column-major, `rows` x n. */
static void judge_tile(const struct operand *a, const struct operand *b, int64_t row0, int64_t col0,
                       int64_t rows, const double *exact, struct data_report *out) {
    const int sparse = a->is_sparse[row0 / BLOCK] || b->is_sparse[col0 / BLOCK];
    int64_t failed[DATA_TAUS] = {0}, elements = 0;
    for (int64_t j = col0; j < col0 + BLOCK && j < b->view->rows; j++)
        for (int64_t i = 0; i < rows; i++, elements++) {
            const struct certificate_row *x = &a->row[row0 + i], *y = &b->row[j];
            const float acc = (float)ldexp(exact[j * rows + i], -(x->exponent + y->exponent));
            for (int t = 0; t < DATA_TAUS; t++)
                failed[t] +=
                    sparse || !certificate_passes(
                                  acc, certificate_threshold(x->lost, x->is_zero, x->is_finite, data_tau[t]),
                                  certificate_threshold(y->lost, y->is_zero, y->is_finite, data_tau[t]));
        }
    for (int t = 0; t < DATA_TAUS; t++) {
        out->failed[t] += failed[t];
        out->tiles_failed[t] += failed[t] > 0;
    }
    const int64_t few = failed[1];
    out->tiles_by_share[few == 0 ? 0 : few * 256 <= elements ? 1 : few * 16 <= elements ? 2 : 3]++;
    out->tiles_sparse += sparse;
    out->elements += elements;
    out->tiles++;
}

/* One block of 64 rows of C in FP64. */
static int judge_rows(const struct operand *a, const struct operand *b, int64_t block,
                      struct data_report *out) {
    const int64_t row0 = block * BLOCK, left = a->view->rows - row0, rows = left < BLOCK ? left : BLOCK;
    const struct data_view *x = a->view, *y = b->view;
    struct reference r;
    const int x_is_trans = x->row_step != 1, y_is_trans = y->k_step != 1;
    if (reference_make(&r, x_is_trans ? 'T' : 'N', y_is_trans ? 'T' : 'N', rows, y->rows, a->k,
                       x->data + row0 * x->row_step, x_is_trans ? x->row_step : x->k_step, y->data,
                       y_is_trans ? y->k_step : y->row_step, 0, 0) != 0) {
        reference_free(&r);
        return -1;
    }
    for (int64_t col = 0; col < y->rows; col += BLOCK)
        judge_tile(a, b, row0, col, rows, r.exact, out);
    reference_free(&r);
    return 0;
}

static int ask_certificate(const struct operand *a, const struct operand *b, struct data_report *out) {
    const int64_t wanted = a->rules->rows_most > 0 ? (a->rules->rows_most + BLOCK - 1) / BLOCK : a->blocks;
    const int64_t blocks = wanted < a->blocks ? wanted : a->blocks;
    int status = 0;
    for (int64_t i = 0; i < blocks && status == 0; i++) /* first and last are among them */
        status = judge_rows(a, b, blocks > 1 ? i * (a->blocks - 1) / (blocks - 1) : 0, out);
    return status;
}

int data_check(const struct data_view *a, const struct data_view *b, int64_t k,
               const struct data_rules *rules, struct data_report *out) {
    struct operand x, y;
    memset(out, 0, sizeof *out);
    out->m = a->rows;
    out->n = b->rows;
    out->k = k;
    int status = operand_open(&x, a, k, rules), other = operand_open(&y, b, k, rules);
    if (status == 0 && other == 0) {
        describe_side(&x, &out->side[0]);
        describe_side(&y, &out->side[1]);
        status = ask_certificate(&x, &y, out);
    }
    operand_close(&x);
    operand_close(&y);
    return status == 0 ? other : status;
}

/* ---- tiles with rows too small for the tile's exponent */

enum { TILE_K = 32, TILE_A = 16, TILE_B = 8, LAST_BIT = 20, LEAST_EXPONENT = -120 };

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

static int64_t sum_blocks(const struct side *s, const int64_t *of_block, int64_t *clean_blocks) {
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
        out->tiles[i] = sum_blocks(&side[i], side[i].tiles, &unused);
        out->outliers[i] = sum_blocks(&side[i], side[i].outliers, &clean[i]);
    }
    out->blocks = side[0].blocks * side[1].blocks;
    out->blocks_recomputed = out->blocks - clean[0] * clean[1];
    for (int i = 0; i < 2; i++) {
        free(side[i].tiles);
        free(side[i].outliers);
    }
    return status;
}
