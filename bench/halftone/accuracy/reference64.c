/* reference64: FP64 products in twice the precision. See reference64.h. */
#include "accuracy/reference64.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

enum { COST = 8 };

struct job {
    const struct reference64 *out;
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

static int columns(void *context, int64_t first, int64_t last) {
    const struct job *const w = context;
    const struct reference64 *const r = w->out;
    double *const column = malloc((size_t)(w->k > 0 ? w->k : 1) * sizeof *column);
    if (column == NULL)
        return -1;
    for (int64_t j = first; j < last; j++) {
        for (int64_t l = 0; l < w->k; l++)
            column[l] = w->b[l * w->b_row_step + j * w->b_col_step];
        for (int64_t s = 0; s < r->rows; s++) {
            const int64_t at = j * r->rows + s;
            dot(w->rows + s * w->k, column, w->k, &r->high[at], &r->low[at], &r->magnitude[at]);
        }
    }
    free(column);
    return 0;
}

static int allocate(struct reference64 *r, int64_t m, int64_t n, int64_t rows_most) {
    memset(r, 0, sizeof *r);
    r->rows = rows_most > 0 && rows_most < m ? rows_most : m;
    r->cols = n;
    const size_t count = (size_t)(r->rows * r->cols) + 1;
    r->row = malloc(((size_t)r->rows + 1) * sizeof *r->row);
    r->high = malloc(count * sizeof *r->high);
    r->low = malloc(count * sizeof *r->low);
    r->magnitude = malloc(count * sizeof *r->magnitude);
    if (r->row == NULL || r->high == NULL || r->low == NULL || r->magnitude == NULL)
        return -1;
    for (int64_t s = 0; s < r->rows; s++) /* first and last row are always among them */
        r->row[s] = r->rows > 1 ? s * (m - 1) / (r->rows - 1) : 0;
    return 0;
}

int reference64_make(struct reference64 *r, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                     const double *b, int64_t ldb, int64_t rows_most) {
    const int64_t a_row_step = trans_a == 'N' ? 1 : lda, a_col_step = trans_a == 'N' ? lda : 1;
    int status = allocate(r, m, n, rows_most);
    double *const rows = status == 0 ? malloc(((size_t)(r->rows * k) + 1) * sizeof *rows) : NULL;
    if (rows != NULL) {
        for (int64_t s = 0; s < r->rows; s++)
            for (int64_t l = 0; l < k; l++)
                rows[s * k + l] = a[r->row[s] * a_row_step + l * a_col_step];
        struct job w = {r, rows, b, k, trans_b == 'N' ? 1 : ldb, trans_b == 'N' ? ldb : 1};
        status = threads_run(threads_count(0, n, r->rows * n * k * COST), n, columns, &w);
    } else {
        status = -1;
    }
    free(rows);
    if (status != 0)
        reference64_free(r);
    return status;
}

void reference64_free(struct reference64 *r) {
    free(r->row);
    free(r->high);
    free(r->low);
    free(r->magnitude);
    memset(r, 0, sizeof *r);
}

static int class_of(double x) {
    return isnan(x) ? 3 : isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

void reference64_compare(const struct reference64 *r, const double *c, int64_t ldc, struct metrics64 *out) {
    double error2 = 0, truth2 = 0, scale = 0, grade = 0;
    memset(out, 0, sizeof *out);
    for (int64_t at = 0; at < r->rows * r->cols; at++) /* squares of what is near 2^600 would overflow */
        scale = class_of(r->high[at]) == 0 ? fmax(scale, fabs(r->high[at])) : scale;
    for (int64_t j = 0; j < r->cols; j++)
        for (int64_t s = 0; s < r->rows; s++) {
            const int64_t at = j * r->rows + s;
            const double result = c[j * ldc + r->row[s]];
            if (class_of(result) != class_of(r->high[at])) {
                out->wrong_class++;
                continue;
            }
            if (class_of(result) != 0)
                continue;
            const double error = fabs((result - r->high[at]) - r->low[at]);
            error2 += error / scale * (error / scale);
            truth2 += r->high[at] / scale * (r->high[at] / scale);
            grade = fmax(grade, error == 0 ? 0 : error / (0x1p-53 * r->magnitude[at]));
        }
    out->rel_frobenius = out->wrong_class > 0 ? (double)NAN : error2 > 0 ? sqrt(error2 / truth2) : 0;
    out->grade = out->wrong_class > 0 ? (double)NAN : grade;
}
