/* residue_check: what decides about two FP64 matrices. See residue_check.h. */
#include "accuracy/residue_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"

enum { ROW_COST = 40 };

struct side {
    const struct residue_view *view;
    const struct ht_certificate *certificate;
    int moduli;
    int64_t k;
    struct residue_row *row;
    int64_t *sorted; /* counts of all rows */
};

static int count_rows(void *context, int64_t first, int64_t last) {
    const struct side *const s = context;
    for (int64_t i = first; i < last; i++)
        s->row[i] = residue_of_row(s->moduli, s->certificate, s->view->data + i * s->view->row_step, s->view->k_step, s->k);
    return 0;
}

static int compare(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static int side_open(struct side *s) {
    const int64_t rows = s->view->rows;
    s->row = malloc((size_t)rows * sizeof *s->row);
    s->sorted = malloc((size_t)rows * sizeof *s->sorted);
    if (s->row == NULL || s->sorted == NULL)
        return -1;
    (void)threads_run(threads_count(0, rows, rows * s->k * ROW_COST), rows, count_rows, s);
    for (int64_t i = 0; i < rows; i++)
        s->sorted[i] = s->row[i].count;
    qsort(s->sorted, (size_t)rows, sizeof *s->sorted, compare);
    return 0;
}

static void side_close(struct side *s) {
    free(s->row);
    free(s->sorted);
}

/* Of ordinary rows alone: those with NaN or Inf are the first of the sorted counts, and rows of zeros, which count more than k, the last. */
static void describe_shares(const struct side *s, struct residue_side *out) {
    static const double at[RESIDUE_SHARES] = {0, 0.1, 0.5, 0.9, 1};
    const int64_t ordinary = out->rows - out->rows_not_finite - out->rows_zero;
    for (int i = 0; i < RESIDUE_SHARES && ordinary > 0; i++)
        out->share[i] = (double)s->sorted[out->rows_not_finite + (int64_t)(at[i] * (double)(ordinary - 1) + 0.5)] / (double)s->k;
}

static void describe_side(const struct side *s, struct residue_side *out) {
    out->rows = s->view->rows;
    out->elements = s->view->rows * s->k;
    for (int64_t i = 0; i < s->view->rows; i++) {
        const struct residue_row *const r = &s->row[i];
        out->large += r->large;
        out->zeros += r->zeros;
        out->rows_half += 2 * r->count >= s->certificate->needed;
        out->rows_zero += r->zeros == s->k;
        out->rows_not_finite += r->count == RESIDUE_NONE;
    }
    describe_shares(s, out);
}

/* L - log2(k) / 2 - e. */
static double binades_of(int moduli, int64_t k, int exponent) {
    return (log2(ht_crt_count_limit(moduli)) - log2((double)k)) / 2 - exponent;
}

int residue_check(const struct residue_view *a, const struct residue_view *b, int64_t k, int moduli, const struct ht_certificate *c,
                 struct residue_report *out) {
    struct side x = {.view = a, .certificate = c, .moduli = moduli, .k = k}, y = x;
    y.view = b;
    memset(out, 0, sizeof *out);
    out->m = a->rows;
    out->n = b->rows;
    out->k = k;
    out->certificate = *c;
    out->binades = binades_of(moduli, k, c->exponent);
    const int status = side_open(&x) | side_open(&y);
    if (status == 0) {
        describe_side(&x, &out->side[0]);
        describe_side(&y, &out->side[1]);
        out->least[0] = x.sorted[0];
        out->least[1] = y.sorted[0];
    }
    side_close(&x);
    side_close(&y);
    return status == 0 ? 0 : -1;
}
