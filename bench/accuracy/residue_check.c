/* residue_check: FP64 by residues and its certificate on the host. See residue_check.h. */
#include "accuracy/residue_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_crt.h"
#include "io/threads.h"

enum { TILE = 64, NEVER = 1 << 30 };

/* Of a row: its exponent s, how many elements are large, and its part of E: half of its sum of |a'| and more. */
struct row {
    int scale;
    int64_t count;
    double loss;
    int asked, finite;
};

struct job {
    const struct residue_operand *a, *b;
    struct row *row[2];
    int64_t k;
    double log2_limit, units;
    int exponent; /* of what counts */
    struct residue_report *tile; /* of each row of tiles */
};

static double limit_of(int moduli) {
    double bits = -1;
    for (int l = 0; l < moduli; l++)
        bits += log2(ht_crt_moduli[l]);
    return bits;
}

static struct row row_of(const struct residue_operand *x, int64_t index, const struct job *j) {
    const double *const from = x->at + index * x->row_step;
    struct row r = {0, 0, 0, 1, 1};
    double largest = 0, sum = 0, squares = 0;
    for (int64_t h = 0; h < j->k; h++) {
        const double v = from[h * x->k_step];
        r.finite = r.finite && isfinite(v);
        r.asked = r.asked && !signbit(v);
        largest = fmax(largest, fabs(v));
    }
    if (!r.finite || largest == 0) {
        r.count = r.finite ? 2 * j->k : -NEVER;
        r.asked = 0;
        return r;
    }
    const int binade = ilogb(largest);
    for (int64_t h = 0; h < j->k; h++) {
        const double part = floor(ldexp(fabs(from[h * x->k_step]), 14 - binade)) + 1;
        sum += part;
        squares += part * part;
    }
    r.scale = (int)floor((j->log2_limit - log2(squares)) / 2) + 14 - binade;
    for (int64_t h = 0; h < j->k; h++)
        r.count += fabs(from[h * x->k_step]) >= fmax(ldexp(1, j->exponent - r.scale), 0x1p-1022);
    r.loss = ldexp(sum + 0x1p13 * ceil((double)j->k / HT_CRT_SEGMENT) + 8, binade - 14 + r.scale) / 2;
    r.asked = r.asked && 8 * sum * sum >= (double)j->k * squares;
    return r;
}

static int rows_of(void *context, int64_t first, int64_t last) {
    struct job *const j = context;
    for (int64_t i = first; i < last; i++) {
        const int is_b = i >= j->a->rows;
        const int64_t index = is_b ? i - j->a->rows : i;
        j->row[is_b][index] = row_of(is_b ? j->b : j->a, index, j);
    }
    return 0;
}

/* Whether |X| of an element certifies it. */
static int is_large(const struct job *j, int64_t row, int64_t col) {
    const double *const x = j->a->at + row * j->a->row_step, *const y = j->b->at + col * j->b->row_step;
    const struct row *const r = &j->row[0][row], *const c = &j->row[1][col];
    double sum = 0;
    for (int64_t h = 0; h < j->k; h++)
        sum += ldexp(x[h * j->a->k_step], r->scale / 2) * y[h * j->b->k_step];
    return ldexp(fabs(sum), r->scale - r->scale / 2 + c->scale) >= (r->loss + c->loss) * (1 + 0x1p53 / (j->units - 1));
}

/* An element's way, into the report; 1 where native64 computes it. */
static int add_element(const struct job *j, int64_t row, int64_t col, struct residue_report *r) {
    const struct row *const x = &j->row[0][row], *const y = &j->row[1][col];
    r->elements++;
    if (4 * (x->count + y->count) >= 5 * j->k) {
        r->counted++;
        return 0;
    }
    const int large = x->finite && y->finite && is_large(j, row, col), asked = x->asked && y->asked;
    r->large += large && asked;
    r->large_unasked += large && !asked;
    return !(large && asked);
}

static int tiles_of(void *context, int64_t first, int64_t last) {
    struct job *const j = context;
    for (int64_t t = first; t < last; t++) {
        for (int64_t col0 = 0; col0 < j->b->rows; col0 += TILE) {
            int left = 0;
            for (int64_t col = col0; col < col0 + TILE && col < j->b->rows; col++)
                for (int64_t row = t * TILE; row < (t + 1) * TILE && row < j->a->rows; row++)
                    left |= add_element(j, row, col, &j->tile[t]);
            j->tile[t].tiles++;
            j->tile[t].tiles_left += left;
        }
    }
    return 0;
}

static void add_up(const struct job *j, int64_t tiles, struct residue_report *out) {
    memset(out, 0, sizeof *out);
    for (int64_t t = 0; t < tiles; t++) {
        out->elements += j->tile[t].elements;
        out->counted += j->tile[t].counted;
        out->large += j->tile[t].large;
        out->large_unasked += j->tile[t].large_unasked;
        out->tiles += j->tile[t].tiles;
        out->tiles_left += j->tile[t].tiles_left;
    }
    for (int64_t i = 0; i < j->a->rows; i++)
        out->asked[0] += j->row[0][i].asked;
    for (int64_t i = 0; i < j->b->rows; i++)
        out->asked[1] += j->row[1][i].asked;
}

int residue_check(const struct residue_operand *a, const struct residue_operand *b, int64_t k, int moduli, double units,
                  struct residue_report *out) {
    const int64_t tiles = (a->rows + TILE - 1) / TILE, rows = a->rows + b->rows;
    struct job j = {.a = a, .b = b, .k = k, .log2_limit = limit_of(moduli), .units = units};
    j.exponent = (int)ceil((110 + j.log2_limit - log2((double)k) - 2 * log2(units - 1)) / 4);
    j.row[0] = calloc((size_t)rows, sizeof(struct row));
    j.tile = calloc((size_t)tiles, sizeof *j.tile);
    int status = j.row[0] == NULL || j.tile == NULL ? -1 : 0;
    if (status == 0) {
        j.row[1] = j.row[0] + a->rows;
        status = threads_run(threads_count(0, rows, rows * k * 8), rows, rows_of, &j);
    }
    if (status == 0)
        status = threads_run(threads_count(0, tiles, a->rows * b->rows * k), tiles, tiles_of, &j);
    if (status == 0)
        add_up(&j, tiles, out);
    free(j.row[0]);
    free(j.tile);
    return status;
}
