/* cmd_demo: `halftone demo`: Gram matrix and nearest neighbours of handwritten digits with every scheme. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "accuracy/families.h"
#include "accuracy/metrics.h"
#include "measure/baseline_cublas.h"
#include "io/npy.h"
#include "io/outfile.h"
#include "io/page.h"
#include "io/progress.h"
#include "io/tsv.h"

enum { SIMULATOR_ROWS = 384, SIMULATOR_K = 4096, GENERATED_ROWS = 1797, FEATURES = 64, TIMED_RUNS = 5, NEIGHBOURS = 10, ITEMS_SHOWN = 10 };
#define SHOWN_METHOD "half" /* whose wrong neighbours the page shows */

enum { COLUMNS = 7 };
/* Of X X', whose rows are items, and of X'X, whose rows are features. */
static const struct tsv_column item_columns[COLUMNS] = {
    {"method", 1},  {"rel_frobenius", 1},    {"grade", 1}, {"bound", 1},
    {"max_abs", 1}, {"other neighbours", 1}, {"ms", 1}};
static const struct tsv_column feature_columns[COLUMNS] = {
    {"method", 1},  {"rel_frobenius", 1},    {"grade", 1}, {"bound", 1},
    {"max_abs", 1}, {"other neighbours", 0}, {"ms", 1}};

/* What is computed: X X' of the data as they are, or with each column at variance 1 and this mean; or X'X. */
static const struct version {
    const char *title;
    int standard, by_feature;
    float mean;
} versions[] = {
    {"X X' of the data as they are", 0, 0, 0},
    {"X X' of columns with mean 10 and variance 1: distances are small beside the numbers", 1, 0, 10},
    {"X'X of columns with mean 0 and variance 1 (correlations): longer sums, in which rounding errors add up", 1, 1, 0},
};
enum { NEIGHBOUR_VERSION = 1, VERSIONS = sizeof versions / sizeof versions[0] };

/* What the last lines speak of. */
struct outcome {
    const char *method;
    double rel_frobenius;
    int64_t changed;
};
enum { OUTCOMES_MOST = METHODS_MOST + 2 };

struct demo {
    struct session session;
    struct baseline *baseline;
    struct npy_matrix x; /* row-major: one digit per row */
    int64_t items;       /* rows whose neighbours are looked for: the first ones */
    int64_t k[VERSIONS];
    struct outcome outcome[VERSIONS][OUTCOMES_MOST]; /* native first */
    struct progress progress;
    FILE *page; /* its table; NULL: no page is asked for */
};

/* Everything about one version of the data. */
struct gram {
    int64_t rows, k; /* the result is rows x rows */
    int by_feature;
    struct reference reference;
    struct metrics_truth truth;
    struct session_problem problem;
    int64_t *neighbour; /* NEIGHBOURS of each row, nearest first, by the FP64 Gram matrix */
    float *result;
    struct tsv table;
    struct outcome *outcome;
    FILE *page; /* NULL but for the method of the page */
};

/* The nearest other rows by |x|^2 + |y|^2 - 2 xy in FP64, so that only the Gram matrix differs; ties: the smaller index
 * first. */
static void nearest(const double *norm, const double *column, int64_t rows, int64_t self, int64_t found[NEIGHBOURS]) {
    double distance[NEIGHBOURS];
    int count = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double d = norm[i] + norm[self] - 2 * column[i];
        if (i == self || (count == NEIGHBOURS && !(d < distance[count - 1])))
            continue;
        int at = count < NEIGHBOURS ? count++ : count - 1;
        for (; at > 0 && d < distance[at - 1]; at--) {
            distance[at] = distance[at - 1];
            found[at] = found[at - 1];
        }
        distance[at] = d;
        found[at] = i;
    }
    for (; count < NEIGHBOURS; count++)
        found[count] = -1;
}

static void write_item(FILE *page, int64_t item, const int64_t *exact, const int64_t *found) {
    fprintf(page, "%lld", (long long)item);
    for (int i = 0; i < 2 * NEIGHBOURS; i++)
        fprintf(page, "%c%lld", i % NEIGHBOURS == 0 ? '\t' : ' ', (long long)(i < NEIGHBOURS ? exact[i] : found[i - NEIGHBOURS]));
    fputc('\n', page);
}

/* Neighbours of every row from a Gram matrix that is either exact (FP64; they are kept) or a result (returns the rows whose
 * neighbours, in order, are others). -1: no memory. */
static int64_t neighbours(struct gram *g, const double *exact, const float *result) {
    int64_t rows = g->rows, changed = 0, found[NEIGHBOURS];
    double *norm = malloc(2 * (size_t)rows * sizeof *norm);
    if (norm == NULL)
        return -1;
    double *column = norm + rows;
    for (int64_t i = 0; i < rows; i++)
        norm[i] = exact != NULL ? exact[i * rows + i] : (double)result[i * rows + i];
    for (int64_t j = 0; j < rows; j++) {
        for (int64_t i = 0; i < rows; i++)
            column[i] = exact != NULL ? exact[j * rows + i] : (double)result[j * rows + i];
        nearest(norm, column, rows, j, exact != NULL ? &g->neighbour[NEIGHBOURS * j] : found);
        const int differs = exact == NULL && memcmp(found, &g->neighbour[NEIGHBOURS * j], sizeof found) != 0;
        changed += differs;
        if (differs && g->page != NULL && changed <= ITEMS_SHOWN)
            write_item(g->page, j, &g->neighbour[NEIGHBOURS * j], found);
    }
    free(norm);
    return changed;
}

static int add_row(struct gram *g, const char *method, int64_t bound, double seconds, struct cli_error *f) {
    struct metrics e;
    int64_t changed = g->by_feature ? 0 : neighbours(g, NULL, g->result);
    if (changed < 0)
        return cli_error_memory(f, (double)g->rows * 16, "distances");
    metrics_compute(&g->truth, g->result, &e);
    g->outcome[g->table.rows] = (struct outcome){method, e.rel_frobenius, changed};
    tsv_text(&g->table, method);
    tsv_real(&g->table, e.rel_frobenius, 3);
    tsv_real(&g->table, e.grade, 4);
    tsv_measured(&g->table, bound > 0 ? (double)bound : -1, 9);
    tsv_real(&g->table, e.max_abs, 3);
    tsv_integer(&g->table, changed);
    tsv_measured(&g->table, seconds < 0 ? -1 : 1000 * seconds, 3);
    tsv_end_row(&g->table);
    return 0;
}

/* Time of cuBLAS alone, without the copy back. */
static int time_baseline(struct demo *d, const struct gram *g, double *best, struct cli_error *f) {
    *best = -1;
    for (int i = 0; i < TIMED_RUNS; i++) {
        double start = progress_clock();
        (void)baseline_multiply(d->baseline, BASELINE_SGEMM, &g->problem, NULL); /* its status is checked by baseline_fp32_sample */
        if (session_wait(f) != 0)
            return -1;
        double seconds = progress_clock() - start;
        *best = *best < 0 || seconds < *best ? seconds : *best;
    }
    return 0;
}

static int run_baseline(struct demo *d, struct gram *g, struct cli_error *f) {
    double best = -1;
    float *whole = malloc((size_t)g->truth.count * sizeof *whole);
    if (whole == NULL)
        return cli_error_memory(f, (double)g->truth.count * 4, "a result");
    int status = baseline_fp32_sample(d->baseline, &g->problem, &g->reference, whole, g->result, f);
    free(whole);
    if (status != 0 || time_baseline(d, g, &best, f) != 0)
        return -1;
    return add_row(g, baseline_fp32_name(d->baseline), 0, best, f);
}

static int run_scheme(struct demo *d, struct gram *g, const char *scheme, struct cli_error *f) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    double best = -1;
    progress_step(&d->progress, scheme);
    g->page = g->outcome == d->outcome[NEIGHBOUR_VERSION] && strcmp(scheme, SHOWN_METHOD) == 0 ? d->page : NULL;
    if (session_select(&d->session, HALFTONE_FP32, scheme, NULL, f) != 0 ||
        session_query(&d->session, &g->problem, &plan, f) != 0)
        return -1;
    for (int i = 0; i < (d->session.device.simulated ? 1 : TIMED_RUNS); i++) {
        double start = progress_clock();
        if (session_multiply(&d->session, &g->problem, f) != 0 || session_wait(f) != 0)
            return -1;
        double seconds = progress_clock() - start;
        best = best < 0 || seconds < best ? seconds : best;
    }
    if (session_problem_result(&g->problem, g->result, f) != 0)
        return -1;
    return add_row(g, scheme, plan.fixed_point ? 0 : plan.bound_units, best, f); /* that bound is no grade */
}

static int run_methods(struct demo *d, struct gram *g, struct cli_error *f) {
    memcpy(g->result, g->reference.single, (size_t)g->truth.count * sizeof *g->result);
    if (add_row(g, "cpu-fp32", 0, -1, f) != 0)
        return -1;
    if (d->baseline != NULL && run_baseline(d, g, f) != 0)
        return -1;
    for (int i = 0; halftone_schemes(d->session.handle, HALFTONE_FP32, i) != NULL; i++)
        if (run_scheme(d, g, halftone_schemes(d->session.handle, HALFTONE_FP32, i), f) != 0)
            return -1;
    return 0;
}

/* X is row-major, so memory holds X' with leading dimension `ld`: X X' is op T times op N, X'X op N times op T. */
static int gram_open(struct gram *g, const struct version *v, const float *x, int64_t ld, int64_t rows, int64_t k,
                     struct cli_error *f) {
    const char left = v->by_feature ? 'N' : 'T', right = v->by_feature ? 'T' : 'N';
    memset(g, 0, sizeof *g);
    g->rows = rows;
    g->k = k;
    g->by_feature = v->by_feature;
    g->neighbour = malloc((size_t)(NEIGHBOURS * rows) * sizeof *g->neighbour);
    g->result = malloc((size_t)(rows * rows) * sizeof *g->result);
    tsv_init(&g->table, v->by_feature ? feature_columns : item_columns, COLUMNS);
    if (g->neighbour == NULL || g->result == NULL ||
        reference_make(&g->reference, left, right, rows, rows, k, x, ld, x, ld, 0, 0) != 0 ||
        neighbours(g, g->reference.exact, NULL) < 0)
        return cli_error_memory(f, (double)(rows * rows) * 24, "the Gram matrix");
    g->truth = reference_truth(&g->reference);
    g->problem = (struct session_problem){.trans_a = left, .trans_b = right, .m = rows, .n = rows, .k = k, .lda = ld, .ldb = ld};
    return session_problem_open(&g->problem, x, x, f);
}

static void gram_close(struct gram *g) {
    session_problem_close(&g->problem);
    reference_free(&g->reference);
    free(g->neighbour);
    free(g->result);
    tsv_free(&g->table);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Whole numbers up to 256 are numbers of FP16 and BF16. */
static int fits_half(const struct npy_matrix *x) {
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        if (fabsf(x->data[i]) > 256.0f || floorf(x->data[i]) != x->data[i])
            return 0;
    return 1;
}

static int is_exact(const struct gram *g) {
    for (int i = 0; i < g->table.rows; i++)
        if (g->outcome[i].rel_frobenius != 0 || g->outcome[i].changed != 0)
            return 0;
    return 1;
}

/* The simulator takes the first rows and columns only, as many as it multiplies in seconds. */
static int run_version(struct demo *d, int version, const float *x, struct cli_error *f) {
    const struct version *v = &versions[version];
    struct gram g;
    const int small = d->session.device.simulated;
    const int64_t rows = !v->by_feature ? d->items : small ? least(d->x.cols, SIMULATOR_ROWS) : d->x.cols;
    const int64_t k = !v->by_feature ? d->x.cols : small ? least(d->x.rows, SIMULATOR_K) : d->x.rows;
    d->k[version] = k;
    int status = gram_open(&g, v, x, d->x.cols, rows, k, f);
    g.outcome = d->outcome[version];
    AND_THEN(status, run_methods(d, &g, f));
    progress_end(&d->progress);
    if (status == 0) {
        printf("\n%s\n%lld x %lld, k = %lld\n", v->title, (long long)rows, (long long)rows, (long long)k);
        if (is_exact(&g))
            printf("all %d are exact here%s\n", g.table.rows,
                   !v->standard && fits_half(&d->x) ? ": small whole numbers, which one FP16 or BF16 holds" : "");
        else
            status = tsv_print(&g.table, stdout, f);
    }
    gram_close(&g);
    return status;
}

/* Every feature to this mean and variance 1; constant features to the mean. */
static void standardise(const struct npy_matrix *x, float wanted, float *out) {
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
                deviation > 0 ? (float)((double)wanted + ((double)x->data[r * x->cols + c] - mean) / deviation) : wanted;
    }
}

static int run_versions(struct demo *d, struct cli_error *f) {
    float *changed = malloc((size_t)(d->x.rows * d->x.cols) * sizeof *changed);
    if (changed == NULL)
        return cli_error_memory(f, (double)(d->x.rows * d->x.cols) * 4, "the standardised data");
    int schemes = 0, status = 0;
    while (halftone_schemes(d->session.handle, HALFTONE_FP32, schemes) != NULL)
        schemes++;
    progress_start(&d->progress, VERSIONS * schemes);
    for (int i = 0; i < VERSIONS && status == 0; i++) {
        const struct version *v = &versions[i];
        if (v->standard)
            standardise(&d->x, v->mean, changed);
        status = run_version(d, i, v->standard ? changed : d->x.data, f);
    }
    free(changed);
    return status;
}

/* Fortran order is turned so that a digit is a row in memory. */
static int load(struct npy_matrix *x, const char *path, struct cli_error *f) {
    if (npy_read(path, x, f) != 0)
        return -1;
    if (x->rows < 2 || x->cols < 1)
        return cli_error_set(f, "%s: is %lld x %lld; give at least two rows, one item each", path,
                         (long long)x->rows, (long long)x->cols);
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        if (!isfinite(x->data[i]))
            return cli_error_set(f, "%s: element %lld is not finite; replace NaN and Inf first", path,
                             (long long)i);
    if (!x->column_major)
        return 0;
    float *turned = malloc((size_t)(x->rows * x->cols) * sizeof *turned);
    if (turned == NULL)
        return cli_error_memory(f, (double)(x->rows * x->cols) * 4, path);
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            turned[r * x->cols + c] = x->data[c * x->rows + r];
    free(x->data);
    x->data = turned;
    x->column_major = 0;
    return 0;
}

static int generate(struct npy_matrix *x, struct cli_error *f) {
    x->rows = GENERATED_ROWS;
    x->cols = FEATURES;
    x->data = malloc(sizeof(float) * GENERATED_ROWS * FEATURES);
    if (x->data == NULL)
        return cli_error_memory(f, (double)(sizeof(float) * GENERATED_ROWS * FEATURES), "the generated set");
    family_digits(1, GENERATED_ROWS, x->data);
    return 0;
}

/* One line of what a version shows, of those methods that this build has. */
static void print_outcome(const struct demo *d, int version, const char *head) {
    static const char *const shown[] = {"half", "bf16", "f16x3"};
    const struct outcome *o = d->outcome[version];
    const int by_feature = versions[version].by_feature;
    printf("%s", head);
    for (int i = 0; i < OUTCOMES_MOST && o[i].method != NULL; i++) {
        int wanted = i == 0;
        for (size_t s = 0; s < sizeof shown / sizeof shown[0]; s++)
            wanted |= strcmp(o[i].method, shown[s]) == 0;
        if (wanted && by_feature)
            printf("%s %s %.2g", i == 0 ? "" : ",", o[i].method, o[i].rel_frobenius);
        else if (wanted)
            printf("%s %s %lld", i == 0 ? "" : ",", o[i].method, (long long)o[i].changed);
    }
    putchar('\n');
}

/* The columns, and what the tables say. */
static void print_legend(const struct demo *d) {
    char head[120];
    printf("\nrel_frobenius: relative Frobenius error; grade: largest error in 2^-24 |A||B|, bound: what is promised of it;\n"
           "other neighbours: rows whose %d nearest, in order, are not those of FP64\n\nWhat to see:\n", NEIGHBOURS);
    snprintf(head, sizeof head, "  rows of %lld with other neighbours, at mean 10:", (long long)d->items);
    print_outcome(d, NEIGHBOUR_VERSION, head);
    snprintf(head, sizeof head, "  relative error of X'X, k = %lld:", (long long)d->k[VERSIONS - 1]);
    print_outcome(d, VERSIONS - 1, head);
    printf("  with k = %lld native FP32 adds few numbers and errs little; its errors grow with k, f16x3's hardly do\n",
           (long long)d->k[0]);
}

static int open_page(struct demo *d, struct cli_error *f) {
    if (session_select(&d->session, HALFTONE_FP32, SHOWN_METHOD, NULL, f) != 0 || (d->page = page_table(f)) == NULL)
        return -1;
    fputs("# " SHOWN_METHOD "\nitem\texact\tfound\n", d->page);
    return 0;
}

/* Behind the rows with other neighbours, which are written as they are found: each item's numbers from 0 to f. */
static int write_page(struct demo *d, const char *html, struct cli_error *f) {
    const int64_t count = d->items * d->x.cols;
    float low = d->x.data[0], high = low;
    for (int64_t i = 0; i < count; i++) {
        low = fminf(low, d->x.data[i]);
        high = fmaxf(high, d->x.data[i]);
    }
    fputs("# pixels\nitem\tpixels", d->page);
    for (int64_t i = 0; i < count; i++) {
        if (i % d->x.cols == 0)
            fprintf(d->page, "\n%lld\t", (long long)(i / d->x.cols));
        fputc("0123456789abcdef"[high > low ? (int)(15 * ((double)d->x.data[i] - low) / ((double)high - low)) : 0], d->page);
    }
    const int status = page_write("demo", d->page, html, f);
    if (status == 0)
        fprintf(outfile_remarks(html), "wrote %s: neighbours that " SHOWN_METHOD " gets wrong\n", html);
    return status;
}

static int run_demo(struct demo *d, const char *path, int64_t rows, struct cli_error *f) {
    const char *why = "";
    int64_t have = d->x.rows, most = rows > 0 ? rows : d->session.device.simulated ? SIMULATOR_ROWS : have;
    d->items = least(have, most);
    printf("data: %s\n",
           path != NULL ? path : "GENERATED, only shaped like handwritten digits (no --data given)");
    printf("X is %lld x %lld; computes X X' and from it each row's nearest neighbours, then X'X\n", (long long)have,
           (long long)d->x.cols);
    if (d->items < have)
        printf("X X' of the first %lld rows only: --rows takes more\n", (long long)d->items);
    printf("device: %s%s\n", d->session.device.name,
           d->session.device.simulated ? "; ms is CPU time of the simulator" : "");
    d->baseline = d->session.device.simulated ? NULL : baseline_open(&why);
    if (d->baseline == NULL && !d->session.device.simulated)
        printf("cuBLAS: none (%s)\n", why);
    int status = run_versions(d, f);
    baseline_close(d->baseline);
    if (status == 0)
        print_legend(d);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct demo d;
    const char *path = NULL, *rows_text = "0", *html = NULL, *none[1];
    int count = 0;
    int64_t rows = 0;
    const struct option options[] = {
        {"--data", &path, NULL}, {"--rows", &rows_text, NULL}, {"--html", &html, NULL}, {NULL, NULL, NULL}};
    memset(&d, 0, sizeof d);
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        args_number("--rows", rows_text, 0, 100000, &rows, f) != 0)
        return -1;
    if (rows == 1)
        return cli_error_usage(f, "--rows: one row has no neighbour; give 2 or more");
    int status = outfile_apart("--data", path, "--html", html, f);
    AND_THEN(status, page_check(html, f));
    AND_THEN(status, path != NULL ? load(&d.x, path, f) : generate(&d.x, f));
    AND_THEN(status, session_open(&d.session, f));
    if (status == 0) {
        status = html != NULL ? open_page(&d, f) : 0;
        AND_THEN(status, run_demo(&d, path, rows, f));
        AND_THEN(status, html != NULL ? write_page(&d, html, f) : 0);
        if (d.page != NULL)
            fclose(d.page);
        session_close(&d.session);
    }
    npy_free(&d.x);
    return status;
}

const struct command cmd_demo = {
    "demo", "nearest neighbours of handwritten digits with every scheme",
    "Usage: halftone demo [--data X.npy] [--rows N] [--html FILE]\n\n"
    "Computes X X' (one item per row of X) with every scheme and native FP32, and from it each row's ten nearest neighbours\n"
    "by Euclidean distance, for the data as they are and for columns with mean 10 and variance 1; then X'X of columns with\n"
    "mean 0 and variance 1. Prints errors against FP64 and how many rows get other neighbours. Without --data a generated\n"
    "set is used, and the output says so; bench/data/demo.sh fetches the real digits.\n\n"
    "  --data FILE  .npy, at least two rows, all numbers finite\n"
    "  --rows N     how many rows X X' takes; all, in the simulator the first 384, unless given\n"
    "  --html FILE  a page with pictures of neighbours that half gets wrong; needs python3\n",
    run, 0};
