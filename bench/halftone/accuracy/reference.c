/* reference: products in FP64 and in twice its precision, |A||B|, and the plain FP32 product, with threads. See reference.h.
 *
 * The FP64 kernel holds TILE_ROWS x TILE_COLS sums and magnitudes in registers and runs over all of k, with A
 * repacked as [row tile][k][TILE_ROWS] doubles so that the compiler can use vector loads. */
#include "accuracy/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

enum { TILE_ROWS = 4, TILE_COLS = 2 };

struct view { /* op(X), element (i, j) = data[i * row_step + j * col_step] */
    const float *data;
    int64_t row_step, col_step;
};

struct job {
    const struct reference *out;
    struct view b;
    int64_t k;
    const double *a_tiles; /* [row tile][k][TILE_ROWS] */
    const float *a_rows;   /* [k][rows] */
};

static struct view view_of(char trans, const float *data, int64_t ld) {
    struct view v = {data, 1, ld};
    if (trans != 'N' && trans != 'n') {
        v.row_step = ld;
        v.col_step = 1;
    }
    return v;
}

static void tile_product(const double *a, const double *b, int64_t k, double sum[TILE_COLS][TILE_ROWS],
                         double magnitude[TILE_COLS][TILE_ROWS]) {
    double s[TILE_COLS][TILE_ROWS] = {{0}}, t[TILE_COLS][TILE_ROWS] = {{0}};
    for (int64_t l = 0; l < k; l++)
        for (int j = 0; j < TILE_COLS; j++)
            for (int i = 0; i < TILE_ROWS; i++) {
                double product = a[l * TILE_ROWS + i] * b[l * TILE_COLS + j];
                s[j][i] += product;
                t[j][i] += fabs(product);
            }
    memcpy(sum, s, sizeof s);
    memcpy(magnitude, t, sizeof t);
}

static void exact_columns(const struct job *w, int64_t col, int cols, double *b_tile) {
    const struct reference *r = w->out;
    for (int64_t l = 0; l < w->k; l++)
        for (int j = 0; j < TILE_COLS; j++)
            b_tile[l * TILE_COLS + j] =
                j < cols ? (double)w->b.data[l * w->b.row_step + (col + j) * w->b.col_step] : 0.0;
    for (int64_t row = 0; row < r->rows; row += TILE_ROWS) {
        double sum[TILE_COLS][TILE_ROWS], magnitude[TILE_COLS][TILE_ROWS];
        tile_product(w->a_tiles + row * w->k, b_tile, w->k, sum, magnitude);
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < TILE_ROWS && row + i < r->rows; i++) {
                r->exact[(col + j) * r->rows + row + i] = sum[j][i];
                r->magnitude[(col + j) * r->rows + row + i] = magnitude[j][i];
            }
    }
}

/* One column of the FP32 product: adds A's columns in the order of k, each product rounded before it is
 * added. */
static void single_column(const struct job *w, int64_t col) {
    int64_t rows = w->out->rows;
    float *c = w->out->single + col * rows;
    for (int64_t i = 0; i < rows; i++)
        c[i] = 0.0f;
    for (int64_t l = 0; l < w->k; l++) {
        float b = w->b.data[l * w->b.row_step + col * w->b.col_step];
        const float *a = w->a_rows + l * rows;
        for (int64_t i = 0; i < rows; i++)
            c[i] += a[i] * b;
    }
}

static int work(void *context, int64_t first_col, int64_t last_col) {
    const struct job *w = context;
    double *b_tile = malloc((size_t)(w->k > 0 ? w->k : 1) * TILE_COLS * sizeof *b_tile);
    if (b_tile == NULL)
        return -1;
    for (int64_t col = first_col; col < last_col; col += TILE_COLS) {
        int cols = last_col - col < TILE_COLS ? (int)(last_col - col) : TILE_COLS;
        exact_columns(w, col, cols, b_tile);
        for (int j = 0; j < cols; j++)
            single_column(w, col + j);
    }
    free(b_tile);
    return 0;
}

static void pack_a(const struct reference *r, const struct view *a, int64_t k, double *tiles, float *rows) {
    int64_t padded = (r->rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    for (int64_t s = 0; s < padded; s++)
        for (int64_t l = 0; l < k; l++) {
            float value = s < r->rows ? a->data[r->row[s] * a->row_step + l * a->col_step] : 0.0f;
            tiles[(s / TILE_ROWS * k + l) * TILE_ROWS + s % TILE_ROWS] = (double)value;
            if (s < r->rows)
                rows[l * r->rows + s] = value;
        }
}

static int allocate(struct reference *r, int is_wide, int64_t m, int64_t n, int64_t rows_most) {
    memset(r, 0, sizeof *r);
    r->rows = rows_most > 0 && rows_most < m ? rows_most : m;
    r->cols = n;
    const size_t count = (size_t)(r->rows * r->cols) + 1;
    r->row = malloc(((size_t)r->rows + 1) * sizeof *r->row);
    r->exact = malloc(count * sizeof *r->exact);
    r->magnitude = malloc(count * sizeof *r->magnitude);
    r->low = is_wide ? malloc(count * sizeof *r->low) : NULL;
    r->single = is_wide ? NULL : malloc(count * sizeof *r->single);
    if (r->row == NULL || r->exact == NULL || r->magnitude == NULL || (is_wide ? r->low == NULL : r->single == NULL))
        return -1;
    for (int64_t s = 0; s < r->rows; s++) /* first and last row are always among them */
        r->row[s] = r->rows > 1 ? s * (m - 1) / (r->rows - 1) : 0;
    return 0;
}

int reference_make(struct reference *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                   const float *a, int64_t lda, const float *b, int64_t ldb, int64_t rows_most, int threads) {
    int status = allocate(r, 0, m, n, rows_most);
    size_t elements = (size_t)((r->rows + TILE_ROWS) * k) + 1;
    double *a_tiles = status == 0 ? malloc(elements * sizeof *a_tiles) : NULL;
    float *a_rows = status == 0 ? malloc(elements * sizeof *a_rows) : NULL;
    if (a_tiles != NULL && a_rows != NULL) {
        struct view a_view = view_of(trans_a, a, lda);
        pack_a(r, &a_view, k, a_tiles, a_rows);
        struct job whole = {r, view_of(trans_b, b, ldb), k, a_tiles, a_rows};
        status = threads_run(threads_count(threads, n, r->rows * n * k), n, work, &whole);
    } else {
        status = -1;
    }
    free(a_tiles);
    free(a_rows);
    if (status != 0)
        reference_free(r);
    return status;
}

void reference_free(struct reference *r) {
    free(r->row);
    free(r->exact);
    free(r->magnitude);
    free(r->low);
    free(r->single);
    memset(r, 0, sizeof *r);
}

void reference_sample(const struct reference *r, const float *c, int64_t ldc, float *out) {
    for (int64_t j = 0; j < r->cols; j++)
        for (int64_t s = 0; s < r->rows; s++)
            out[j * r->rows + s] = c[j * ldc + r->row[s]];
}

struct metrics_truth reference_truth(const struct reference *r) {
    struct metrics_truth truth = {r->rows * r->cols, r->exact, r->magnitude, r->single};
    return truth;
}

/* ---- FP64, in twice the precision */

enum { WIDE_COST = 8 };

struct wide_job {
    const struct reference *out;
    const double *rows; /* [sample][k] */
    const double *b;
    int64_t k, b_row_step, b_col_step;
};

static void dot(const double *x, const double *y, int64_t k, double *high, double *low, double *magnitude) {
    double sum = 0, rest = 0, all = 0, plain = 0;
    for (int64_t l = 0; l < k; l++) {
        const double product = x[l] * y[l], off = fma(x[l], y[l], -product);
        const double next = sum + product, of_product = next - sum;
        rest += off + ((sum - (next - of_product)) + (product - of_product));
        sum = next;
        plain += product;
        all += fabs(product);
    }
    *high = isfinite(plain) ? sum + rest : plain;
    *low = isfinite(plain) ? (sum - *high) + rest : 0;
    *magnitude = all;
}

static int wide_columns(void *context, int64_t first, int64_t last) {
    const struct wide_job *const w = context;
    const struct reference *const r = w->out;
    double *const column = malloc((size_t)(w->k > 0 ? w->k : 1) * sizeof *column);
    if (column == NULL)
        return -1;
    for (int64_t j = first; j < last; j++) {
        for (int64_t l = 0; l < w->k; l++)
            column[l] = w->b[l * w->b_row_step + j * w->b_col_step];
        for (int64_t s = 0; s < r->rows; s++) {
            const int64_t at = j * r->rows + s;
            dot(w->rows + s * w->k, column, w->k, &r->exact[at], &r->low[at], &r->magnitude[at]);
        }
    }
    free(column);
    return 0;
}

int reference_make_wide(struct reference *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                     const double *b, int64_t ldb, int64_t rows_most) {
    const int64_t a_row_step = trans_a == 'N' ? 1 : lda, a_col_step = trans_a == 'N' ? lda : 1;
    int status = allocate(r, 1, m, n, rows_most);
    double *const rows = status == 0 ? malloc(((size_t)(r->rows * k) + 1) * sizeof *rows) : NULL;
    if (rows != NULL) {
        for (int64_t s = 0; s < r->rows; s++)
            for (int64_t l = 0; l < k; l++)
                rows[s * k + l] = a[r->row[s] * a_row_step + l * a_col_step];
        struct wide_job w = {r, rows, b, k, trans_b == 'N' ? 1 : ldb, trans_b == 'N' ? ldb : 1};
        status = threads_run(threads_count(0, n, r->rows * n * k * WIDE_COST), n, wide_columns, &w);
    } else {
        status = -1;
    }
    free(rows);
    if (status != 0)
        reference_free(r);
    return status;
}

static int class_of(double x) {
    return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

void reference_compare_wide(const struct reference *r, const double *c, int64_t ldc, struct metrics *out) {
    double error2 = 0, truth2 = 0, scale = 0, grade = 0;
    *out = (struct metrics){.max_error = (double)NAN, .mred = (double)NAN, .max_abs = (double)NAN,
                            .max_error_cpu = (double)NAN, .mred_cpu = (double)NAN, .max_abs_cpu = (double)NAN};
    for (int64_t at = 0; at < r->rows * r->cols; at++) /* squares of what is near 2^600 would overflow */
        scale = class_of(r->exact[at]) == 0 ? fmax(scale, fabs(r->exact[at])) : scale;
    for (int64_t j = 0; j < r->cols; j++)
        for (int64_t s = 0; s < r->rows; s++) {
            const int64_t at = j * r->rows + s;
            const double result = c[j * ldc + r->row[s]];
            if (class_of(result) != class_of(r->exact[at])) {
                out->wrong_class++;
                continue;
            }
            if (class_of(result) != 0)
                continue;
            const double error = fabs((result - r->exact[at]) - r->low[at]);
            error2 += error / scale * (error / scale);
            truth2 += r->exact[at] / scale * (r->exact[at] / scale);
            grade = fmax(grade, error == 0 ? 0 : error / (0x1p-53 * r->magnitude[at]));
        }
    out->rel_frobenius = out->wrong_class > 0 ? (double)NAN : error2 > 0 ? sqrt(error2 / truth2) : 0;
    out->grade = out->wrong_class > 0 ? (double)NAN : grade;
}
