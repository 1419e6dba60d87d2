/* cmd_demo: `halftone demo`: Gram matrix and nearest neighbours of handwritten digits with every scheme. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cmd.h"
#include "families.h"
#include "metrics.h"
#include "native.h"
#include "npy.h"
#include "progress.h"
#include "tsv.h"

enum { SIMULATOR_ROWS = 384, GENERATED_ROWS = 1797, FEATURES = 64, TIMED_RUNS = 5 };

static const struct tsv_column demo_columns[] = {{"contender", 1}, {"frob", 1},    {"grade", 1},
                                                 {"bound", 1},     {"max_abs", 1}, {"changed neighbours", 1},
                                                 {"ms", 1}};

struct demo {
    struct engine engine;
    struct yardstick *yardstick;
    struct npy_matrix x; /* row-major: one digit per row */
    struct progress progress;
};

/* Everything about one version of the data. */
struct gram {
    int64_t rows, features;
    const float *x;
    struct reference reference;
    struct metrics_truth truth;
    struct engine_problem problem;
    int64_t *neighbour; /* by the FP64 Gram matrix */
    float *result;
    struct tsv table;
};

/* Nearest other row by |x|^2 + |y|^2 - 2 xy in FP64, so that only the Gram matrix differs; ties: the smaller
 * index. */
static int64_t nearest(const double *norm, const double *column, int64_t rows, int64_t self) {
    int64_t best = -1;
    double least = 0;
    for (int64_t i = 0; i < rows; i++) {
        double distance = norm[i] + norm[self] - 2 * column[i];
        if (i != self && (best < 0 || distance < least)) {
            least = distance;
            best = i;
        }
    }
    return best;
}

/* Neighbours of every row from a Gram matrix that is either exact (FP64) or a result (float). -1: no memory.
 */
static int64_t neighbours(const struct gram *g, const double *exact, const float *result, int64_t *out) {
    int64_t rows = g->rows, changed = 0;
    double *norm = malloc(2 * (size_t)rows * sizeof *norm);
    if (norm == NULL)
        return -1;
    double *column = norm + rows;
    for (int64_t i = 0; i < rows; i++)
        norm[i] = exact != NULL ? exact[i * rows + i] : (double)result[i * rows + i];
    for (int64_t j = 0; j < rows; j++) {
        for (int64_t i = 0; i < rows; i++)
            column[i] = exact != NULL ? exact[j * rows + i] : (double)result[j * rows + i];
        int64_t found = nearest(norm, column, rows, j);
        changed += out == NULL && found != g->neighbour[j];
        if (out != NULL)
            out[j] = found;
    }
    free(norm);
    return changed;
}

static int add_row(struct gram *g, const char *contender, int64_t bound, double seconds, struct fault *f) {
    struct metrics e;
    int64_t changed = neighbours(g, NULL, g->result, NULL);
    if (changed < 0)
        return fault_memory(f, (double)g->rows * 16, "distances");
    metrics_compute(&g->truth, g->result, &e);
    tsv_text(&g->table, contender);
    tsv_real(&g->table, e.frob, 3);
    tsv_real(&g->table, e.grade, 4);
    tsv_measured(&g->table, bound > 0 ? (double)bound : -1, 9);
    tsv_real(&g->table, e.max_abs, 3);
    tsv_integer(&g->table, changed);
    tsv_measured(&g->table, seconds < 0 ? -1 : 1000 * seconds, 3);
    tsv_end_row(&g->table);
    return 0;
}

/* Time of cuBLAS alone, without the copy back. */
static int time_yardstick(struct demo *d, const struct gram *g, double *best, struct fault *f) {
    const struct engine_problem *p = &g->problem;
    *best = -1;
    for (int i = 0; i < TIMED_RUNS; i++) {
        double start = progress_clock();
        (void)yardstick_multiply(d->yardstick, YARDSTICK_SGEMM, p->trans_a, p->trans_b, p->m, p->n, p->k,
                                 p->a, p->lda, p->b, p->ldb,
                                 p->c); /* its status is checked by native_sample */
        if (engine_wait(f) != 0)
            return -1;
        double seconds = progress_clock() - start;
        *best = *best < 0 || seconds < *best ? seconds : *best;
    }
    return 0;
}

static int run_yardstick(struct demo *d, struct gram *g, struct fault *f) {
    double best = -1;
    float *whole = malloc((size_t)g->truth.count * sizeof *whole);
    if (whole == NULL)
        return fault_memory(f, (double)g->truth.count * 4, "a result");
    int status = native_sample(d->yardstick, &g->problem, &g->reference, whole, g->result, f);
    free(whole);
    if (status != 0 || time_yardstick(d, g, &best, f) != 0)
        return -1;
    return add_row(g, native_name(d->yardstick), 0, best, f);
}

static int run_scheme(struct demo *d, struct gram *g, const char *scheme, struct fault *f) {
    struct halftone_plan plan;
    double best = -1;
    progress_step(&d->progress, scheme);
    if (engine_select(&d->engine, scheme, NULL, f) != 0 ||
        engine_query(&d->engine, &g->problem, &plan, f) != 0)
        return -1;
    for (int i = 0; i < (d->engine.device.simulated ? 1 : TIMED_RUNS); i++) {
        double start = progress_clock();
        if (engine_multiply(&d->engine, &g->problem, f) != 0 || engine_wait(f) != 0)
            return -1;
        double seconds = progress_clock() - start;
        best = best < 0 || seconds < best ? seconds : best;
    }
    if (engine_problem_result(&g->problem, g->result, f) != 0)
        return -1;
    return add_row(g, scheme, plan.fixed_point ? 0 : plan.bound_units, best, f); /* that bound is no grade */
}

static int run_contenders(struct demo *d, struct gram *g, struct fault *f) {
    memcpy(g->result, g->reference.single, (size_t)g->truth.count * sizeof *g->result);
    if (add_row(g, "cpu-fp32", 0, -1, f) != 0)
        return -1;
    if (d->yardstick != NULL && run_yardstick(d, g, f) != 0)
        return -1;
    for (int i = 0; halftone_schemes(d->engine.handle, i) != NULL; i++)
        if (run_scheme(d, g, halftone_schemes(d->engine.handle, i), f) != 0)
            return -1;
    return 0;
}

/* X is row-major rows x features, so memory holds X' with leading dimension `features`: X X' is op T times op
 * N. */
static int gram_open(struct gram *g, const float *x, int64_t rows, int64_t features, struct fault *f) {
    memset(g, 0, sizeof *g);
    g->rows = rows;
    g->features = features;
    g->x = x;
    g->neighbour = malloc((size_t)rows * sizeof *g->neighbour);
    g->result = malloc((size_t)(rows * rows) * sizeof *g->result);
    tsv_init(&g->table, demo_columns, (int)(sizeof demo_columns / sizeof demo_columns[0]));
    if (g->neighbour == NULL || g->result == NULL ||
        reference_make(&g->reference, 'T', 'N', rows, rows, features, x, features, x, features, 0, 0) != 0 ||
        neighbours(g, g->reference.exact, NULL, g->neighbour) < 0)
        return fault_memory(f, (double)(rows * rows) * 24, "the Gram matrix");
    g->truth = reference_truth(&g->reference);
    return engine_problem_open(&g->problem, 'T', 'N', rows, rows, features, x, features, x, features, f);
}

static void gram_close(struct gram *g) {
    engine_problem_close(&g->problem);
    reference_free(&g->reference);
    free(g->neighbour);
    free(g->result);
    tsv_free(&g->table);
}

static int run_version(struct demo *d, const char *title, const float *x, struct fault *f) {
    struct gram g;
    int status = gram_open(&g, x, d->x.rows, d->x.cols, f);
    if (status == 0)
        status = run_contenders(d, &g, f);
    progress_end(&d->progress);
    if (status == 0) {
        printf("\n%s\n", title);
        status = tsv_print(&g.table, stdout, f);
    }
    gram_close(&g);
    return status;
}

/* Every feature to mean 0 and variance 1 (constant features to 0): no longer whole numbers, so the splits
 * matter. */
static void standardise(const struct npy_matrix *x, float *out) {
    for (int64_t c = 0; c < x->cols; c++) {
        double sum = 0, square = 0;
        for (int64_t r = 0; r < x->rows; r++)
            sum += (double)x->data[r * x->cols + c];
        double mean = sum / (double)x->rows;
        for (int64_t r = 0; r < x->rows; r++) {
            double away = (double)x->data[r * x->cols + c] - mean;
            square += away * away;
        }
        double deviation = sqrt(square / (double)x->rows);
        for (int64_t r = 0; r < x->rows; r++)
            out[r * x->cols + c] =
                deviation > 0 ? (float)(((double)x->data[r * x->cols + c] - mean) / deviation) : 0.0f;
    }
}

/* Whole numbers up to 2048 are FP16 numbers. */
static int fits_half(const struct npy_matrix *x) {
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        if (fabsf(x->data[i]) > 2048.0f || floorf(x->data[i]) != x->data[i])
            return 0;
    return 1;
}

static int run_versions(struct demo *d, struct fault *f) {
    float *standard = malloc((size_t)(d->x.rows * d->x.cols) * sizeof *standard);
    if (standard == NULL)
        return fault_memory(f, (double)(d->x.rows * d->x.cols) * 4, "the standardised data");
    standardise(&d->x, standard);
    int schemes = 0;
    while (halftone_schemes(d->engine.handle, schemes) != NULL)
        schemes++;
    progress_start(&d->progress, 2 * schemes);
    int status = run_version(
        d, fits_half(&d->x) ? "raw (small whole numbers fit FP16: even one slice is exact)" : "raw",
        d->x.data, f);
    if (status == 0)
        status = run_version(d, "standardised (mean 0, variance 1: now the splits matter)", standard, f);
    free(standard);
    return status;
}

/* Fortran order is turned so that a digit is a row in memory. */
static int load(struct npy_matrix *x, const char *path, struct fault *f) {
    if (npy_read(path, x, f) != 0)
        return -1;
    if (x->rows < 2 || x->cols < 1)
        return fault_set(f, "%s: is %lld x %lld; give at least two rows, one item each", path,
                         (long long)x->rows, (long long)x->cols);
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        if (!isfinite(x->data[i]))
            return fault_set(f, "%s: element %lld is not finite; replace NaN and Inf first", path,
                             (long long)i);
    if (!x->column_major)
        return 0;
    float *turned = malloc((size_t)(x->rows * x->cols) * sizeof *turned);
    if (turned == NULL)
        return fault_memory(f, (double)(x->rows * x->cols) * 4, path);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            turned[r * x->cols + c] = x->data[c * x->rows + r];
    free(x->data);
    x->data = turned;
    x->column_major = 0;
    return 0;
}

static int generate(struct npy_matrix *x, struct fault *f) {
    x->rows = GENERATED_ROWS;
    x->cols = FEATURES;
    x->data = malloc(sizeof(float) * GENERATED_ROWS * FEATURES);
    if (x->data == NULL)
        return fault_memory(f, 4.0 * GENERATED_ROWS * FEATURES, "the generated set");
    family_digits(1, GENERATED_ROWS, x->data);
    return 0;
}

static int run_demo(struct demo *d, const char *path, int64_t rows, struct fault *f) {
    const char *why = "";
    int64_t have = d->x.rows, most = rows > 0 ? rows : d->engine.device.simulated ? SIMULATOR_ROWS : have;
    d->x.rows = have < most ? have : most;
    printf("data: %s\n",
           path != NULL ? path : "GENERATED, only shaped like handwritten digits (no --data given)");
    printf("X is %lld x %lld%s; computes X X' and each row's nearest neighbour\n", (long long)d->x.rows,
           (long long)d->x.cols, d->x.rows < have ? " (the first rows only: --rows takes more)" : "");
    printf("device: %s%s\n", d->engine.device.name,
           d->engine.device.simulated ? "; ms is CPU time of the simulator" : "");
    d->yardstick = d->engine.device.simulated ? NULL : yardstick_open(&why);
    if (d->yardstick == NULL && !d->engine.device.simulated)
        printf("cuBLAS: none (%s)\n", why);
    int status = run_versions(d, f);
    yardstick_close(d->yardstick);
    if (status == 0)
        puts("\nchanged neighbours: rows whose nearest neighbour differs from the one that FP64 finds");
    return status;
}

static int run(int argc, char **argv, struct fault *f) {
    struct demo d;
    const char *path = NULL, *rows_text = "0", *none[1];
    int count = 0;
    int64_t rows = 0;
    const struct option options[] = {
        {"--data", &path, NULL}, {"--rows", &rows_text, NULL}, {NULL, NULL, NULL}};
    memset(&d, 0, sizeof d);
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        args_number("--rows", rows_text, 0, 100000, &rows, f) != 0)
        return -1;
    if (rows == 1)
        return fault_usage(f, "--rows: one row has no neighbour; give 2 or more");
    int status = path != NULL ? load(&d.x, path, f) : generate(&d.x, f);
    if (status == 0)
        status = engine_open(&d.engine, f);
    if (status == 0) {
        status = run_demo(&d, path, rows, f);
        engine_close(&d.engine);
    }
    npy_free(&d.x);
    return status;
}

const struct command cmd_demo = {
    "demo", "nearest neighbours of handwritten digits with every scheme",
    "Usage: halftone demo [--data X.npy] [--rows N]\n\n"
    "Computes X X' (one item per row of X) with every scheme and native FP32, and each row's nearest "
    "neighbour by\n"
    "Euclidean distance; prints errors against FP64 and how many neighbours changed, for the data as it is "
    "and\n"
    "standardised. Without --data a generated set is used, and the output says so; bench/demo/demo.sh "
    "fetches the\n"
    "real digits. In the simulator the first 384 rows are used unless --rows says otherwise.\n",
    run};
