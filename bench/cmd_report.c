/* cmd_report: `halftone report`: how wrong every scheme is on every input family, beside native FP32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "contenders.h"
#include "families.h"
#include "metrics.h"
#include "native.h"
#include "outfile.h"
#include "plot.h"
#include "progress.h"
#include "tsv.h"

enum {
    SIZES_MOST = 32,
    BINS = 81,
    ALL_ROWS_UP_TO = 1024,
    SAMPLED_ROWS = 64,
    GRID_COLUMNS = 5
};
enum { NAMES_BYTES = 2048 };

static const struct tsv_column report_columns[] = {
    {"family", 1},        {"exact", 0},     {"n", 1},           {"rows", 0},
    {"contender", 1},     {"frob", 1},      {"grade", 1},       {"bound", 1},
    {"grade/bound", 1},   {"max_error", 1}, {"mred", 1},        {"max_abs", 1},
    {"max_error_cpu", 0}, {"mred_cpu", 0},  {"max_abs_cpu", 0}, {"misplaced", 1}};
static const struct tsv_column histogram_columns[] = {{"family", 1}, {"n", 1},     {"contender", 1},
                                                      {"error", 1},  {"count", 1}, {"fraction", 1}};

struct report {
    struct engine engine;
    struct yardstick *yardstick;
    const char *out, *histogram_family;
    int64_t size[SIZES_MOST], seed, histogram_size;
    int sizes, families;
    const struct family *family[64];
    struct contenders contenders;
    struct tsv table, histogram;
    struct progress progress;
    double largest_error_cpu[CONTENDERS_MOST + 1]; /* where the histogram is taken, native last */
    double mred_cpu[CONTENDERS_MOST + 1];
};

/* One family at one size. */
struct trial {
    const struct family *family;
    int64_t n;
    float *a, *b, *whole, *sample;
    struct reference reference;
    struct metrics_truth truth;
    struct engine_problem problem;
};

static void trial_close(struct trial *t) {
    engine_problem_close(&t->problem);
    reference_free(&t->reference);
    free(t->a);
    free(t->b);
    free(t->whole);
    free(t->sample);
    memset(t, 0, sizeof *t);
}

static int trial_open(struct trial *t, const struct family *family, int64_t n, uint64_t seed,
                      struct fault *f) {
    size_t count = (size_t)(n * n);
    memset(t, 0, sizeof *t);
    t->family = family;
    t->n = n;
    t->a = malloc(count * sizeof *t->a);
    t->b = malloc(count * sizeof *t->b);
    t->whole = malloc(count * sizeof *t->whole);
    t->sample = malloc(count * sizeof *t->sample);
    int status = t->a == NULL || t->b == NULL || t->whole == NULL || t->sample == NULL ? -1 : 0;
    if (status == 0) {
        family_fill(family, seed, 'A', n, n, n, t->a, n);
        family_fill(family, seed, 'B', n, n, n, t->b, n);
        status = reference_make(&t->reference, 'N', 'N', n, n, n, t->a, n, t->b, n,
                                n > ALL_ROWS_UP_TO ? SAMPLED_ROWS : 0, 0);
    }
    if (status != 0) {
        trial_close(t);
        return fault_memory(f, (double)count * 32, "matrices and reference");
    }
    t->truth = reference_truth(&t->reference);
    if (engine_problem_open(&t->problem, 'N', 'N', n, n, n, t->a, n, t->b, n, f) == 0)
        return 0;
    trial_close(t);
    return -1;
}

static void add_histogram(struct report *r, const struct trial *t, const char *contender) {
    int64_t bins[BINS];
    double limit = metrics_histogram(&t->truth, t->sample, 0, bins, BINS);
    for (int i = 0; i < BINS; i++) {
        tsv_text(&r->histogram, t->family->name);
        tsv_integer(&r->histogram, t->n);
        tsv_text(&r->histogram, contender);
        tsv_real(&r->histogram, ((i + 0.5) * 2 / BINS - 1) * limit, 5);
        tsv_integer(&r->histogram, bins[i]);
        tsv_real(&r->histogram, (double)bins[i] / (double)t->truth.count, 5);
        tsv_end_row(&r->histogram);
    }
}

/* One row from t->sample; bound 0: the contender promises none. `index` is the contender's, their count for native. */
static void add_row(struct report *r, const struct trial *t, const char *contender, int64_t bound,
                    int index) {
    struct metrics e;
    metrics_compute(&t->truth, t->sample, &e);
    tsv_text(&r->table, t->family->name);
    tsv_integer(&r->table, t->family->exact);
    tsv_integer(&r->table, t->n);
    tsv_integer(&r->table, t->reference.rows);
    tsv_text(&r->table, contender);
    tsv_real(&r->table, e.frob, 3);
    tsv_real(&r->table, e.grade, 4);
    tsv_measured(&r->table, bound > 0 ? (double)bound : -1, 9);
    if (bound > 0)
        tsv_real(&r->table, e.grade / (double)bound, 3);
    else
        tsv_text(&r->table, "n/a");
    const double rest[6] = {e.max_error, e.mred, e.max_abs, e.max_error_cpu, e.mred_cpu, e.max_abs_cpu};
    for (int i = 0; i < 6; i++)
        tsv_real(&r->table, rest[i], 3);
    tsv_integer(&r->table, e.misplaced);
    tsv_end_row(&r->table);
    if (t->n == r->histogram_size && strcmp(t->family->name, r->histogram_family) == 0) {
        add_histogram(r, t, contender);
        r->largest_error_cpu[index] = e.max_error_cpu;
        r->mred_cpu[index] = e.mred_cpu;
    }
}

static int run_scheme(struct report *r, struct trial *t, int index, struct fault *f) {
    struct halftone_plan plan;
    if (engine_select(&r->engine, r->contenders.name[index], NULL, f) != 0 ||
        engine_query(&r->engine, &t->problem, &plan, f) != 0 ||
        engine_multiply(&r->engine, &t->problem, f) != 0 ||
        engine_problem_result(&t->problem, t->whole, f) != 0)
        return -1;
    reference_sample(&t->reference, t->whole, t->n, t->sample);
    add_row(r, t, r->contenders.name[index], plan.fixed_point ? 0 : plan.bound_units,
            index); /* that bound is no grade */
    return 0;
}

static int run_trial(struct report *r, const struct family *family, int64_t n, struct fault *f) {
    struct trial t;
    char what[160];
    if (trial_open(&t, family, n, (uint64_t)r->seed, f) != 0)
        return -1;
    int status = native_sample(r->yardstick, &t.problem, &t.reference, t.whole, t.sample, f);
    if (status == 0)
        add_row(r, &t, native_name(r->yardstick), 0, r->contenders.count);
    for (int i = 0; i < r->contenders.count && status == 0; i++) {
        snprintf(what, sizeof what, "%s n = %lld %s", family->name, (long long)n, r->contenders.name[i]);
        progress_step(&r->progress, what);
        status = run_scheme(r, &t, i, f);
    }
    trial_close(&t);
    return status;
}

/* The papers' comparison: how many times each contender's error is that of legemm (or of the first scheme).
 */
static void print_ordering(const struct report *r) {
    int base = 0;
    for (int i = 0; i < r->contenders.count; i++)
        if (strcmp(r->contenders.name[i], "legemm") == 0)
            base = i;
    if (r->contenders.count < 2 || r->histogram.rows == 0)
        return;
    printf(
        "\nAgainst the CPU's FP32 result (LE-GEMM eqs. 19, 20), family %s, n = %lld, as multiples of %s:\n",
        r->histogram_family, (long long)r->histogram_size, r->contenders.name[base]);
    for (int i = 0; i <= r->contenders.count; i++)
        printf("  %-14s max_error x %-10.4g mred x %.4g\n",
               i < r->contenders.count ? r->contenders.name[i] : native_name(r->yardstick),
               r->largest_error_cpu[i] / r->largest_error_cpu[base], r->mred_cpu[i] / r->mred_cpu[base]);
}

static void append_word(char *list, const char *word) {
    size_t used = strlen(list), length = strlen(word);
    if (used + length + 2 < NAMES_BYTES) {
        memcpy(list + used, word, length);
        memcpy(list + used + length, " ", 2);
    }
}

/* Runs one script, which writes NAME.tmp, and renames it. */
static int draw(const struct report *r, const char *script, const char *name, const char *settings,
                struct fault *f) {
    char temporary_name[64];
    snprintf(temporary_name, sizeof temporary_name, "%s.tmp", name);
    char *temporary = outfile_join(r->out, temporary_name), *final = outfile_join(r->out, name);
    int status = temporary == NULL || final == NULL ? fault_memory(f, 100, "a file name") : 0;
    if (status == 0) {
        const char *missing = plot_run(script, settings, r->out);
        if (missing == NULL && rename(temporary, final) == 0) {
            printf("wrote %s\n", final);
        } else {
            printf("no %s: %s\n", final, missing != NULL ? missing : "it could not be renamed");
            unlink(temporary);
        }
    }
    free(temporary);
    free(final);
    return status;
}

static int draw_plots(const struct report *r, struct fault *f) {
    char contenders[NAMES_BYTES] = "", families[NAMES_BYTES] = "", settings[3 * NAMES_BYTES];
    append_word(contenders, native_name(r->yardstick));
    for (int i = 0; i < r->contenders.count; i++)
        append_word(contenders, r->contenders.name[i]);
    for (int i = 0; i < r->families; i++)
        append_word(families, r->family[i]->name);
    int columns = r->families < GRID_COLUMNS ? r->families : GRID_COLUMNS;
    snprintf(settings, sizeof settings, "families='%s'; contenders='%s'; columns=%d; rows=%d", families,
             contenders, columns, (r->families + columns - 1) / columns);
    if (draw(r, "error.gp", "error.svg", settings, f) != 0)
        return -1;
    if (r->histogram.rows == 0)
        return 0;
    snprintf(settings, sizeof settings, "family='%s'; n=%lld; contenders='%s'; columns=3; rows=%d",
             r->histogram_family, (long long)r->histogram_size, contenders, (r->contenders.count + 1 + 2) / 3);
    return draw(r, "histogram.gp", "histogram.svg", settings, f);
}

static int write_file(const struct report *r, const struct tsv *table, const char *name, struct fault *f) {
    char *path = outfile_join(r->out, name);
    if (path == NULL)
        return fault_memory(f, 100, "a file name");
    int status = tsv_write(table, path, NULL, f);
    if (status == 0)
        printf("wrote %s\n", path);
    free(path);
    return status;
}

static int write_all(const struct report *r, struct fault *f) {
    if (r->out == NULL)
        return 0;
    if (write_file(r, &r->table, "report.tsv", f) != 0 ||
        write_file(r, &r->histogram, "histogram.tsv", f) != 0)
        return -1;
    return draw_plots(r, f);
}

static int choose_families(struct report *r, const char *text, struct name_list *names, struct fault *f) {
    r->families = 0;
    if (text == NULL) {
        for (int i = 0; i < family_count; i++)
            r->family[r->families++] = &family_table[i];
    } else {
        if (args_names("--families", text, names, f) != 0)
            return -1;
        if (names->count > 64)
            return fault_usage(f, "--families: more than 64 names");
        for (int i = 0; i < names->count; i++) {
            r->family[r->families] = family_find(names->name[i]);
            if (r->family[r->families++] == NULL)
                return fault_usage(f, "--families: unknown family '%s'; `halftone report --list` prints them",
                                   names->name[i]);
        }
    }
    r->histogram_family = r->family[0]->name;
    return 0;
}

static int compare_sizes(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int run_all(struct report *r, struct fault *f) {
    const char *why = "";
    int status = 0;
    r->yardstick = r->engine.device.simulated ? NULL : yardstick_open(&why);
    if (r->yardstick == NULL && !r->engine.device.simulated)
        fprintf(stderr, "no cuBLAS (%s): native FP32 is the CPU's loop\n", why);
    tsv_init(&r->table, report_columns, (int)(sizeof report_columns / sizeof report_columns[0]));
    tsv_init(&r->histogram, histogram_columns, (int)(sizeof histogram_columns / sizeof histogram_columns[0]));
    progress_start(&r->progress, r->sizes * r->families * r->contenders.count);
    for (int fam = 0; fam < r->families && status == 0; fam++)
        for (int s = 0; s < r->sizes && status == 0; s++)
            status = run_trial(r, r->family[fam], r->size[s], f);
    progress_end(&r->progress);
    if (status == 0) {
        printf("%s; native FP32: %s; reference FP64; grade in units of 2^-24 |A||B|\n\n",
               r->engine.device.name, native_name(r->yardstick));
        status = tsv_print(&r->table, stdout, f);
    }
    if (status == 0) {
        print_ordering(r);
        status = write_all(r, f);
    }
    tsv_free(&r->table);
    tsv_free(&r->histogram);
    yardstick_close(r->yardstick);
    return status;
}

static int list_families(void) {
    for (int i = 0; i < family_count; i++)
        printf("%-12s %s\n", family_table[i].name, family_table[i].text);
    return 0;
}

/* LE-GEMM's size where it is among ours, else the largest. */
static int64_t histogram_size(const struct report *r) {
    for (int i = 0; i < r->sizes; i++)
        if (r->size[i] == 1024)
            return 1024;
    return r->sizes > 0 ? r->size[r->sizes - 1] : 0;
}

static int run(int argc, char **argv, struct fault *f) {
    struct report r = {.seed = 1};
    const char *sizes = NULL, *families = NULL, *schemes = NULL, *accuracies = NULL, *seed = "1", *none[1];
    struct name_list family_names = {NULL, NULL, 0};
    int count = 0, list = 0;
    const struct option options[] = {
        {"--sizes", &sizes, NULL}, {"--families", &families, NULL}, {"--schemes", &schemes, NULL},
        {"--seed", &seed, NULL},   {"--out", &r.out, NULL},         {"--list", NULL, &list},
        {"--accuracy", &accuracies, NULL}, {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0)
        return -1;
    if (list)
        return list_families();
    if (args_number("--seed", seed, 0, INT64_MAX, &r.seed, f) != 0)
        return -1;
    if (sizes != NULL && args_numbers("--sizes", sizes, 1, 32768, r.size, SIZES_MOST, &r.sizes, f) != 0)
        return -1;
    int status = choose_families(&r, families, &family_names, f);
    if (status == 0 && r.out != NULL)
        status = outfile_folder(r.out, f);
    if (status == 0 && engine_open(&r.engine, f) == 0) {
        const char *usual = r.engine.device.simulated ? "32,64,128" : "64,256,1024,4096";
        if (sizes == NULL)
            status = args_numbers("--sizes", usual, 1, 32768, r.size, SIZES_MOST, &r.sizes, f);
        qsort(r.size, (size_t)r.sizes, sizeof r.size[0], compare_sizes);
        r.histogram_size = histogram_size(&r);
        if (status == 0)
            status = contenders_choose(&r.contenders, &r.engine, schemes, accuracies, f);
        if (status == 0)
            status = run_all(&r, f);
        engine_close(&r.engine);
    } else {
        status = -1;
    }
    args_names_free(&family_names);
    contenders_free(&r.contenders);
    return status;
}

const struct command cmd_report = {
    "report", "how wrong every scheme is on every input family, beside native FP32",
    "Usage: halftone report [--sizes 64,256,...] [--families a,b] [--schemes x,y] [--accuracy a,b] "
    "[--seed N] [--out DIR] [--list]\n\n"
    "Prints for every family, size n (m = n = k) and scheme, beside native FP32 (cuBLAS SGEMM, else the "
    "CPU):\n"
    "  frob       ||C-R||_F / ||R||_F, R the FP64 product\n"
    "  grade      max |C-R| / (2^-24 |A||B|); bound: the scheme's own a-priori bound of it, for inputs in "
    "range\n"
    "  max_error, mred, max_abs   LE-GEMM eqs. 19 and 20, EGEMM-TC eq. 10, against FP64; the file has them\n"
    "             against the CPU's FP32 result too (columns _cpu), as in the papers\n"
    "  misplaced  results whose class (NaN, +Inf, -Inf, finite) is wrong; then every error is nan\n"
    "Above n = 1024 the errors are those of 64 rows.\n\n"
    "  --out DIR    also write report.tsv, histogram.tsv and, with gnuplot, error.svg and histogram.svg "
    "there\n"
    "  --sizes      default 64,256,1024,4096; in the simulator 32,64,128\n"
    "  --families   default all; the first one gives the histogram (n = 1024 or the largest). --list prints "
    "their names\n"
    "  --accuracy   what halftone_set_accuracy takes, beside --schemes: bits=12,fp32-fast\n"
    "  --seed N     another sample of the random families (default 1)\n",
    run};
