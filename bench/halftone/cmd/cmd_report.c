/* cmd_report: `halftone report`: how wrong every scheme is on every input family, beside native FP32 or FP64. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "measure/baseline_cublas.h"
#include "io/outfile.h"
#include "io/page.h"
#include "io/plot.h"
#include "io/progress.h"
#include "cmd/stamp.h"
#include "measure/sample.h"
#include "io/tsv.h"

enum {
    SIZES_MOST = 32,
    BINS = 81,
    ALL_ROWS_UP_TO = 1024,
    WIDE_ROWS_UP_TO = 512, /* of FP64 products */
    SAMPLED_ROWS = 64,
    GRID_COLUMNS = 5
};
enum { NAMES_BYTES = 2048, VENDOR_MODES = 3, COLUMNS_MOST = METHODS_MOST + 1 + VENDOR_MODES };
static const enum baseline_mode vendor_modes[VENDOR_MODES] = {BASELINE_TF32, BASELINE_FP16, BASELINE_BF16X9};

static const struct tsv_column report_columns[] = {
    {"family", 1}, {"exact", 0}, {"n", 1}, {"k", 0}, {"rows", 0}, {"method", 1}, {"rel_frobenius", 1},
    {"grade", 1}, {"bound", 1}, {"grade/bound", 1}, {"max_error", 1}, {"mred", 1}, {"max_abs", 1},
    {"max_error_cpu", 0}, {"mred_cpu", 0}, {"max_abs_cpu", 0}, {"wrong_class", 1}};
static const struct tsv_column wide_columns[] = {
    {"family", 1}, {"n", 1}, {"k", 1}, {"rows", 0}, {"method", 1}, {"scheme", 1}, {"rel_frobenius", 1},
    {"grade", 1}, {"bound", 1}, {"grade/bound", 1}, {"wrong_class", 1}};
static const struct tsv_column histogram_columns[] = {
    {"family", 1}, {"n", 1}, {"method", 1}, {"error", 1}, {"count", 1}, {"fraction", 1}};

struct report {
    int type; /* of the products */
    struct session session;
    struct baseline *baseline;
    struct device_info *facts;
    struct stamp stamp;
    const char *out, *html, *histogram_family;
    char head[2 * STAMP_BYTES];
    int64_t size[SIZES_MOST], seed, histogram_size, outer; /* outer: m and n where they are not the size; 0 */
    int sizes, families;
    const struct family *family[SAMPLE_FAMILIES_MOST];
    struct methods methods;
    struct tsv table, histogram;
    struct progress progress;
    double largest_error_cpu
        [COLUMNS_MOST]; /* where the histogram is taken; native after the schemes, then vendor_modes */
    double mred_cpu[COLUMNS_MOST];
    const char *range[COLUMNS_MOST]; /* of each scheme */
    int bf16x9_trials, bf16x9_as_native;
};

static int is_wide(const struct report *r) {
    return r->type == HALFTONE_FP64;
}

static const char *native_name(const struct report *r) {
    return !is_wide(r) ? baseline_fp32_name(r->baseline) : r->baseline != NULL ? "cublas-dgemm" : "cpu-fp64";
}

static void add_histogram(struct report *r, const struct sample *t, const char *method) {
    int64_t bins[BINS];
    double limit = metrics_histogram(&t->truth, t->rows, 0, bins, BINS);
    for (int i = 0; i < BINS; i++) {
        tsv_text(&r->histogram, t->family->name);
        tsv_integer(&r->histogram, t->problem.n);
        tsv_text(&r->histogram, method);
        tsv_real(&r->histogram, ((2 * i + 1) / (double)BINS - 1) * limit, 5);
        tsv_integer(&r->histogram, bins[i]);
        tsv_real(&r->histogram, (double)bins[i] / (double)t->truth.count, 5);
        tsv_end_row(&r->histogram);
    }
}

static void fp32_cells(struct tsv *table, const struct metrics *e, int64_t bound) {
    const double rest[6] = {e->max_error, e->mred, e->max_abs, e->max_error_cpu, e->mred_cpu, e->max_abs_cpu};
    tsv_real(table, e->rel_frobenius, 3);
    tsv_real(table, e->grade, 4);
    tsv_measured(table, bound > 0 ? (double)bound : -1, 9);
    if (bound > 0)
        tsv_real(table, e->grade / (double)bound, 3);
    else
        tsv_text(table, "n/a");
    for (int i = 0; i < 6; i++)
        tsv_real(table, rest[i], 3);
}

static void fp64_cells(struct tsv *table, const struct metrics *e, int64_t bound, const char *scheme) {
    tsv_text(table, scheme);
    tsv_real(table, e->rel_frobenius, 3);
    tsv_real(table, e->grade, 3);
    tsv_measured(table, bound > 0 ? (double)bound : -1, 6);
    tsv_measured(table, bound > 0 && e->grade >= 0 ? e->grade / (double)bound : -1, 3);
}

/* One row; bound 0: the method promises none in these units. `index` is the method's, their count for native. */
static void add_row(struct report *r, const struct sample *t, const char *method, const char *scheme, int64_t bound, int index, const struct metrics *e) {
    tsv_text(&r->table, t->family->name);
    if (!is_wide(r))
        tsv_integer(&r->table, t->family->exact);
    tsv_integer(&r->table, t->problem.n);
    tsv_integer(&r->table, t->problem.k);
    tsv_integer(&r->table, t->reference.rows);
    tsv_text(&r->table, method);
    if (is_wide(r))
        fp64_cells(&r->table, e, bound, scheme);
    else
        fp32_cells(&r->table, e, bound);
    tsv_integer(&r->table, e->wrong_class);
    tsv_end_row(&r->table);
    if (!is_wide(r) && t->problem.k == r->histogram_size && strcmp(t->family->name, r->histogram_family) == 0) {
        add_histogram(r, t, method);
        r->largest_error_cpu[index] = e->max_error_cpu;
        r->mred_cpu[index] = e->mred_cpu;
    }
}

static int run_scheme(struct report *r, struct sample *t, int index, struct cli_error *f) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct metrics e;
    if (session_select(&r->session, r->type, r->methods.name[index], NULL, f) != 0 || session_query(&r->session, &t->problem, &plan, f) != 0 ||
        session_multiply(&r->session, &t->problem, f) != 0 || sample_judge(t, &e, f) != 0)
        return -1;
    r->range[index] = plan.range;
    add_row(r, t, r->methods.name[index], plan.scheme, plan.fixed_point ? 0 : plan.bound_units, index, &e); /* that bound is no grade */
    return 0;
}

static int run_vendor_mode(struct report *r, struct sample *t, int index, const float *native, struct cli_error *f) {
    const struct session_problem *p = &t->problem;
    const enum baseline_mode mode = vendor_modes[index];
    struct cast16 half = {NULL, NULL};
    struct metrics e;
    if (mode == BASELINE_FP16 && cast16_open(&half, mode, t->a, p->lda * p->k, t->b, p->ldb * p->n, f) != 0) {
        cast16_close(&half);
        return -1;
    }
    const int refused = baseline_multiply(r->baseline, mode, p, half.a != NULL ? &half : NULL);
    const int waited = session_wait(f);
    cast16_close(&half);
    if (refused || waited != 0)
        return waited; /* refused: this cuBLAS has no such mode */
    if (sample_judge(t, &e, f) != 0)
        return -1;
    if (mode == BASELINE_BF16X9) {
        r->bf16x9_trials++;
        r->bf16x9_as_native += metrics_first_difference(t->rows, native, t->truth.count) < 0;
    }
    add_row(r, t, baseline_names[mode], "-", 0, r->methods.count + 1 + index, &e);
    return 0;
}

/* Native FP32 and cuBLAS' own modes. */
static int run_fp32(struct report *r, struct sample *t, struct cli_error *f) {
    struct metrics e;
    int status = baseline_fp32_sample(r->baseline, &t->problem, &t->reference, t->whole, t->rows, f);
    if (status != 0)
        return status;
    metrics_compute(&t->truth, t->rows, &e);
    add_row(r, t, native_name(r), "-", 0, r->methods.count, &e);
    const size_t bytes = (size_t)t->truth.count * sizeof(float);
    float *native = malloc(bytes);
    if (native == NULL)
        return cli_error_memory(f, (double)bytes, "a copy of the result");
    memcpy(native, t->rows, bytes);
    for (int i = 0; i < VENDOR_MODES && r->baseline != NULL && status == 0; i++)
        status = run_vendor_mode(r, t, i, native, f);
    free(native);
    return status;
}

/* Sums in the order of k, of the rows that are looked at. */
static void fp64_sums(const struct sample *t) {
    const struct session_problem *const p = &t->problem;
    const double *const a = t->a, *const b = t->b;
    double *const c = t->whole;
    for (int64_t s = 0; s < t->reference.rows; s++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++)
                sum += a[t->reference.row[s] + l * p->lda] * b[l + j * p->ldb];
            c[t->reference.row[s] + j * p->m] = sum;
        }
}

/* cuBLAS DGEMM, or where there is none the CPU. */
static int run_fp64(struct report *r, struct sample *t, struct cli_error *f) {
    const struct session_problem *const p = &t->problem;
    struct metrics e;
    if (r->baseline != NULL) {
        const int status = baseline_multiply(r->baseline, BASELINE_SGEMM, p, NULL);
        if (status != 0)
            return cli_error_set(f, "cublas-dgemm failed with status %d; check that this cuBLAS fits the driver", status);
        if (sample_judge(t, &e, f) != 0)
            return -1;
    } else {
        fp64_sums(t);
        reference_compare_wide(&t->reference, t->whole, p->m, &e);
    }
    add_row(r, t, native_name(r), "-", p->k, r->methods.count, &e);
    return 0;
}

static int run_trial(struct report *r, const struct family *family, int64_t size, struct cli_error *f) {
    struct sample t;
    char what[160];
    const int64_t n = r->outer > 0 ? r->outer : size, all = is_wide(r) ? WIDE_ROWS_UP_TO : ALL_ROWS_UP_TO;
    const struct shape shape = {n, n, size};
    /* Odd n: columns that are not aligned. */
    int status = sample_open(&t, r->type, family, (uint64_t)r->seed, "NN", &shape, is_wide(r) || n % 2 == 0 ? 0 : 2, n > all ? SAMPLED_ROWS : 0, f);
    AND_THEN(status, is_wide(r) ? run_fp64(r, &t, f) : run_fp32(r, &t, f));
    for (int i = 0; i < r->methods.count && status == 0; i++) {
        snprintf(what, sizeof what, "%s k = %lld %s", family->name, (long long)size, r->methods.name[i]);
        progress_step(&r->progress, what);
        status = run_scheme(r, &t, i, f);
    }
    sample_close(&t);
    return status;
}

/* The papers' comparison: how many times each method's error is that of legemm (or of the first scheme).
 */
static void print_ordering(const struct report *r) {
    int base = 0;
    for (int i = 0; i < r->methods.count; i++)
        if (strcmp(r->methods.name[i], "legemm") == 0)
            base = i;
    if (r->methods.count < 2 || r->histogram.rows == 0)
        return;
    printf(
        "\nAgainst the CPU's FP32 result (LE-GEMM eqs. 19, 20), family %s, n = %lld, as multiples of %s:\n",
        r->histogram_family, (long long)r->histogram_size, r->methods.name[base]);
    for (int i = 0; i <= r->methods.count; i++)
        printf("  %-14s max_error x %-10.4g mred x %.4g\n",
               i < r->methods.count ? r->methods.name[i] : native_name(r),
               r->largest_error_cpu[i] / r->largest_error_cpu[base], r->mred_cpu[i] / r->mred_cpu[base]);
}

/* Methods in the order of plots; returns how many. */
static int list_methods(const struct report *r, const char **name, const char **range) {
    int count = 0;
    name[count] = native_name(r);
    range[count++] = "";
    for (int i = 0; i < VENDOR_MODES && r->baseline != NULL; i++) {
        name[count] = baseline_names[vendor_modes[i]];
        range[count++] = "";
    }
    for (int i = 0; i < r->methods.count; i++) {
        name[count] = r->methods.name[i];
        range[count++] = r->range[i];
    }
    return count;
}

static void append_word(char *list, const char *word) {
    size_t used = strlen(list), length = strlen(word);
    if (used + length + 2 < NAMES_BYTES) {
        memcpy(list + used, word, length);
        memcpy(list + used + length, " ", 2);
    }
}

/* A picture that cannot be had is a remark, not a failure: the tables are there. */
static int draw(const struct report *r, const char *script, const char *name, const char *settings,
                struct cli_error *f) {
    struct outfile o;
    char *path = outfile_join(r->out, name);
    int status = path == NULL ? cli_error_memory(f, 100, "a file name") : outfile_open(&o, path, f);
    if (status == 0) {
        const char *missing = plot_run(script, settings, r->out, o.stream);
        if (missing != NULL) {
            outfile_discard(&o);
            printf("no %s: %s\n", path, missing);
        } else {
            status = outfile_commit(&o, f);
            if (status == 0)
                printf("wrote %s\n", path);
        }
    }
    free(path);
    return status;
}

static int draw_plots(const struct report *r, struct cli_error *f) {
    char methods[NAMES_BYTES] = "", families[NAMES_BYTES] = "", settings[3 * NAMES_BYTES];
    const char *name[COLUMNS_MOST], *range[COLUMNS_MOST];
    const int count = list_methods(r, name, range);
    for (int i = 0; i < count; i++)
        append_word(methods, name[i]);
    for (int i = 0; i < r->families; i++)
        append_word(families, r->family[i]->name);
    int columns = r->families < GRID_COLUMNS ? r->families : GRID_COLUMNS;
    snprintf(settings, sizeof settings, "families='%s'; methods='%s'; columns=%d; rows=%d", families,
             methods, columns, (r->families + columns - 1) / columns);
    if (draw(r, plot_error, "error.svg", settings, f) != 0)
        return -1;
    if (r->histogram.rows == 0)
        return 0;
    snprintf(settings, sizeof settings, "family='%s'; n=%lld; methods='%s'; columns=3; rows=%d",
             r->histogram_family, (long long)r->histogram_size, methods, (count + 2) / 3);
    return draw(r, plot_histogram, "histogram.svg", settings, f);
}

static void print_note(const struct report *r, FILE *out) {
    if (r->baseline == NULL)
        fputs("Native FP32 is the CPU's loop: there is no cuBLAS here.\n", out);
    else if (r->bf16x9_trials == 0)
        fputs("This cuBLAS has no BF16x9 mode.\n", out);
    else
        fprintf(out, "cuBLAS' BF16x9 mode gave the bits of its native FP32 in %d of %d trials%s.\n", r->bf16x9_as_native,
                r->bf16x9_trials, r->bf16x9_as_native == r->bf16x9_trials ? ": it runs native FP32 on this GPU" : "");
}

/* The table's comment lines; `# about NAME: TEXT` is what its page says of families, schemes and cuBLAS. malloc'ed, NULL without memory. */
static char *make_comments(const struct report *r) {
    const char *name[COLUMNS_MOST], *range[COLUMNS_MOST];
    const int methods = list_methods(r, name, range);
    char *comments = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&comments, &bytes);
    if (out == NULL)
        return NULL;
    fprintf(out, "%s# about cuBLAS: ", r->head);
    print_note(r, out);
    for (int i = 0; i < r->families; i++)
        fprintf(out, "# about %s: %s\n", r->family[i]->name, r->family[i]->text);
    for (int i = 0; i < methods; i++)
        if (range[i][0] != '\0')
            fprintf(out, "# about %s: %s\n", name[i], range[i]);
    if (fclose(out) == 0)
        return comments;
    free(comments);
    return NULL;
}

static int write_page(const struct report *r, const char *comments, struct cli_error *f) {
    FILE *table = page_table(f);
    if (table == NULL)
        return -1;
    int status = tsv_print_raw(&r->table, table, comments, f);
    AND_THEN(status, page_write("report", table, r->html, f));
    fclose(table);
    if (status == 0)
        fprintf(outfile_remarks(r->html), "wrote %s\n", r->html);
    return status;
}

static int write_file(const struct report *r, const struct tsv *table, const char *name, const char *comments, struct cli_error *f) {
    char *path = outfile_join(r->out, name);
    if (path == NULL)
        return cli_error_memory(f, 100, "a file name");
    const int status = tsv_save(table, path, comments, f);
    free(path);
    return status;
}

/* FP64's: the table alone. */
static int write_all(const struct report *r, struct cli_error *f) {
    if (is_wide(r))
        return r->out != NULL ? write_file(r, &r->table, "report.tsv", r->head, f) : 0;
    char *comments = make_comments(r);
    int status = comments == NULL ? cli_error_memory(f, sizeof r->head, "comment lines") : 0;
    if (status == 0 && r->html != NULL)
        status = write_page(r, comments, f);
    if (status == 0 && r->out != NULL)
        status = write_file(r, &r->table, "report.tsv", comments, f);
    if (status == 0 && r->out != NULL)
        status = write_file(r, &r->histogram, "histogram.tsv", r->head, f);
    if (status == 0 && r->out != NULL)
        status = draw_plots(r, f);
    free(comments);
    return status;
}

/* All files that will be written, before anything is measured. */
static int check_outputs(const struct report *r, struct cli_error *f) {
    static const char *const names[] = {"report.tsv", "histogram.tsv", "error.svg", "histogram.svg"};
    int status = page_check(r->html, f);
    if (status == 0 && r->out != NULL)
        status = outfile_folder(r->out, f);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && r->out != NULL && status == 0; i++) {
        char *path = outfile_join(r->out, names[i]);
        status = path == NULL ? cli_error_memory(f, 100, "a file name") : outfile_apart("--out", path, "--html", r->html, f);
        AND_THEN(status, outfile_check(path, f));
        free(path);
    }
    return status;
}

static int compare_sizes(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void make_head(struct report *r) {
    char stamp[STAMP_BYTES];
    stamp_write(stamp, &r->stamp, &r->session, r->baseline, r->facts);
    if (is_wide(r))
        snprintf(r->head, sizeof r->head,
                 "%s# FP64 products n x k x n of families whose elements have 29 more random bits; seed %lld\n# errors of all rows up to n = %d, above of %d rows, "
                 "against sums in twice the precision; grade and bound in 2^-53 |A||B|; bound n/a: relative to norms of rows and columns\n",
                 stamp, (long long)r->seed, (int)WIDE_ROWS_UP_TO, (int)SAMPLED_ROWS);
    else
        snprintf(r->head, sizeof r->head, "%s# halftone report: reference FP64; with more than %d rows the errors are those of %d\n", stamp,
                 (int)ALL_ROWS_UP_TO, (int)SAMPLED_ROWS);
}

static int run_all(struct report *r, struct cli_error *f) {
    const char *why = "";
    int status = 0;
    r->baseline = r->session.device.simulated ? NULL : baseline_open(&why);
    if (r->baseline == NULL && !r->session.device.simulated && !is_wide(r))
        fprintf(stderr, "no cuBLAS (%s): native FP32 is the CPU's loop\n", why);
    r->facts = r->session.device.simulated ? NULL : device_info_open();
    make_head(r);
    tsv_init(&r->table, is_wide(r) ? wide_columns : report_columns,
             (int)((is_wide(r) ? sizeof wide_columns : sizeof report_columns) / sizeof(struct tsv_column)));
    tsv_init(&r->histogram, histogram_columns, (int)(sizeof histogram_columns / sizeof histogram_columns[0]));
    progress_start(&r->progress, r->sizes * r->families * r->methods.count);
    for (int fam = 0; fam < r->families && status == 0; fam++)
        for (int s = 0; s < r->sizes && status == 0; s++)
            status = run_trial(r, r->family[fam], r->size[s], f);
    progress_end(&r->progress);
    if (status == 0) {
        printf(is_wide(r) ? "%s; native FP64: %s; reference in twice the precision; grade in units of 2^-53 |A||B|\n\n"
                          : "%s; native FP32: %s; reference FP64; grade in units of 2^-24 |A||B|\n\n",
               r->session.device.name, native_name(r));
        status = tsv_print(&r->table, stdout, f);
    }
    if (status == 0) {
        print_ordering(r);
        status = write_all(r, f);
    }
    tsv_free(&r->table);
    tsv_free(&r->histogram);
    baseline_close(r->baseline);
    device_info_close(r->facts);
    return status;
}

/* LE-GEMM's size where it is among ours, else the largest. */
static int64_t histogram_size(const struct report *r) {
    for (int i = 0; i < r->sizes; i++)
        if (r->size[i] == 1024)
            return 1024;
    return r->sizes > 0 ? r->size[r->sizes - 1] : 0;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct report r = {.seed = 1, .stamp = stamp_built()};
    const char *sizes = NULL, *families = NULL, *schemes = NULL, *accuracies = NULL, *seed = "1", *outer = NULL, *none[1];
    struct name_list family_names = {NULL, NULL, 0};
    int count = 0, list = 0, fp64 = 0;
    const struct option options[] = {{"--sizes", &sizes, NULL},
                                     {"--fp64", NULL, &fp64},
                                     {"--families", &families, NULL},
                                     {"--schemes", &schemes, NULL},
                                     {"--accuracy", &accuracies, NULL},
                                     {"--seed", &seed, NULL},
                                     {"--out", &r.out, NULL},
                                     {"--list", NULL, &list},
                                     {"--html", &r.html, NULL},
                                     {"--outer", &outer, NULL},
                                     {"--commit", &r.stamp.commit, NULL},
                                     {"--toolkit", &r.stamp.toolkit, NULL},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0)
        return -1;
    if (list && argc > 1)
        return cli_error_usage(f, "--list prints the families and does nothing else: give it alone");
    if (list) {
        family_list(stdout);
        return 0;
    }
    if (args_number("--seed", seed, 0, INT64_MAX, &r.seed, f) != 0)
        return -1;
    if (outer != NULL && args_number("--outer", outer, 1, 32768, &r.outer, f) != 0)
        return -1;
    if (sizes != NULL && args_numbers("--sizes", sizes, 1, 65536, r.size, SIZES_MOST, &r.sizes, f) != 0)
        return -1;
    int status = sample_families(families, &family_names, r.family, &r.families, f);
    if (status == 0)
        r.histogram_family = r.family[0]->name;
    AND_THEN(status, check_outputs(&r, f));
    if (status == 0 && session_open(&r.session, f) == 0) {
        const char *usual = r.session.device.simulated ? "32,64,128" : "64,256,1024,4096";
        if (sizes == NULL)
            status = args_numbers("--sizes", usual, 1, 32768, r.size, SIZES_MOST, &r.sizes, f);
        qsort(r.size, (size_t)r.sizes, sizeof r.size[0], compare_sizes);
        r.histogram_size = histogram_size(&r);
        AND_THEN(status, methods_type(&r.session, fp64, schemes, accuracies, &fp64, f));
        AND_THEN(status, fp64 ? args_refuse(options, "--html", "the page is of FP32 products alone", f) : 0);
        r.type = fp64 ? HALFTONE_FP64 : HALFTONE_FP32;
        AND_THEN(status, methods_choose(&r.methods, &r.session, r.type, true, schemes, accuracies, f));
        AND_THEN(status, run_all(&r, f));
        session_close(&r.session);
    } else {
        status = -1;
    }
    args_names_free(&family_names);
    methods_free(&r.methods);
    return status;
}

const struct command cmd_report = {
    "report", "how wrong every scheme is on every input family, beside native FP32",
    "Usage: halftone report [--sizes 64,256,...] [--families a,b] [--schemes x,y] [--accuracy a,b] "
    "[--seed N] [--out DIR] [--html FILE] [--outer N] [--list] [--fp64]\n\n"
    "Prints for every family, size n (m = n = k) and scheme, beside native FP32 (cuBLAS SGEMM, else the "
    "CPU):\n"
    "  rel_frobenius  ||C-R||_F / ||R||_F, R the FP64 product\n"
    "  grade      max |C-R| / (2^-24 |A||B|); bound: the scheme's own a-priori bound of it, for inputs in "
    "range\n"
    "  max_error, mred, max_abs   LE-GEMM eqs. 19 and 20, EGEMM-TC eq. 10, against FP64; the file has them\n"
    "             against the CPU's FP32 result too (columns _cpu), as in the papers\n"
    "  wrong_class  results whose class (NaN, +Inf, -Inf, finite) is wrong; then every error is nan\n"
    "Above n = 1024 the errors are those of 64 rows. Native FP32's row is followed by those of cuBLAS' TF32, "
    "FP16 (inputs "
    "rounded to FP16 first) and BF16x9 modes, where it has them.\n\n"
    "  --out DIR    also write report.tsv, histogram.tsv and, with gnuplot, error.svg and histogram.svg "
    "there\n"
    "  --html FILE  also write one page with plots: where each scheme's guarantee ends; needs python3\n"
    "  --outer N    sizes are k alone, and m = n = N\n"
    "  --fp64       FP64 products (also where --schemes or --accuracy name FP64's): elements get 29 more random bits, errors are against\n"
    "               sums in twice the precision, in units of 2^-53 |A||B|, beside cuBLAS DGEMM, else the CPU's sums\n"
    "  --sizes      default 64,256,1024,4096; in the simulator 32,64,128\n"
    "  --families   default all; the first one gives the histogram (n = 1024 or the largest). --list prints "
    "them alone\n"
    "  --accuracy   what halftone_set_accuracy takes, beside --schemes: bits=12,fp32-fast\n"
    "  --seed N     another sample of the random families (default 1)\n"
    "  --commit TEXT, --toolkit TEXT  for the header lines (default: what the build knew)\n",
    run, 1};
