/* bench_operands: methods on stored operand pairs beside native products. See bench_operands.h. */
#include "cmd/bench_operands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/methods.h"
#include "accuracy/metrics.h"
#include "measure/baseline_cublas.h"
#include "measure/operands.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "accuracy/reference.h"
#include "measure/timing.h"
#include "io/tsv.h"

/* Of each product's C as column-major calls have it; of a batch so many products. */
enum { ROWS_GRADED = 64, BATCH_GRADED = 4, SINGLE_CALLS = 7, HEAD_BYTES = STAMP_BYTES + 1024 };

#define COLUMNS(native)                                                                                       \
    {"product", 1}, {"m", 1}, {"n", 1}, {"k", 1}, {"batch", 1}, {"trans", 0}, {"method", 1}, {"scheme", 0},        \
        {"kernel", 0}, {"us", 1}, {"us_least", 0}, {"us_most", 0}, {"single_us", 0}, {native "/us", 1},            \
        {"rel_frobenius", 1}, {"rel_frobenius/" native, 1}, {"grade", 1}, {"grade/" native, 1}
static const struct tsv_column columns[] = {COLUMNS("sgemm")}, wide_columns[] = {COLUMNS("dgemm")};

/* What one method came to over all products. */
struct total {
    const char *name;
    double us, native_us;
    int products, slower, smaller, grade_no_larger;
    double least_ratio, most_grade, most_grade_ratio;
};

struct bench {
    const struct bench_operands *what;
    struct session *session;
    struct baseline *baseline;
    struct device_info *facts;
    struct operands operands;
    struct methods methods;
    struct timing_plan plan;
    struct progress progress;
    struct tsv table;
    struct total total[METHODS_MOST];
    char head[HEAD_BYTES];
};

/* One product: matrices on the device, the truth about a sample of its results. */
struct round {
    struct bench *bench;
    const struct operands_product *product;
    struct pair pair;
    struct session_problem problem;
    struct reference reference[BATCH_GRADED];
    int64_t graded[BATCH_GRADED]; /* which of the batch */
    int references;
    double *exact, *magnitude;
    float *single, *sample;
    void *whole; /* of the problem's type */
    struct metrics_truth truth;
    struct metrics native; /* of FP64 without cuBLAS: NaN */
    double native_us;      /* -1: not timed */
};

static int is_wide(const struct bench *b) {
    return b->what->type == HALFTONE_FP64;
}

static const char *native_name(const struct bench *b) {
    return is_wide(b) ? "cublas-dgemm" : baseline_fp32_name(b->baseline);
}

static int64_t batch_of(const struct round *r) {
    return r->problem.batch > 1 ? r->problem.batch : 1;
}

static int make_wide_reference(struct round *r, struct cli_error *f) {
    const struct session_problem *p = &r->problem;
    r->references = 1;
    r->whole = malloc((size_t)(p->m * p->n) * sizeof(double));
    if (r->whole == NULL || reference_make_wide(&r->reference[0], p->trans_a, p->trans_b, p->m, p->n, p->k, r->pair.x[1].wide, p->lda,
                                                r->pair.x[0].wide, p->ldb, ROWS_GRADED) != 0)
        return cli_error_memory(f, 8.0 * (double)p->n * (double)(p->m + 3 * ROWS_GRADED), "a reference");
    return 0;
}

static int make_references(struct round *r, struct cli_error *f) {
    const struct session_problem *p = &r->problem;
    const int64_t batch = batch_of(r);
    r->references = batch < BATCH_GRADED ? (int)batch : BATCH_GRADED;
    for (int i = 0; i < r->references; i++) {
        const int64_t at = r->references > 1 ? i * (batch - 1) / (r->references - 1) : 0;
        r->graded[i] = at;
        if (reference_make(&r->reference[i], p->trans_a, p->trans_b, p->m, p->n, p->k,
                           r->pair.x[1].data + at * p->k * p->m, p->lda, r->pair.x[0].data + at * p->k * p->n,
                           p->ldb, ROWS_GRADED, 0) != 0)
            return cli_error_memory(f, 32.0 * (double)(ROWS_GRADED * p->n), "a reference");
    }
    return 0;
}

/* The references one after the other, as one truth. */
static int join_references(struct round *r, struct cli_error *f) {
    const int64_t each = r->reference[0].rows * r->reference[0].cols, count = r->references * each;
    r->exact = malloc((size_t)count * sizeof *r->exact);
    r->magnitude = malloc((size_t)count * sizeof *r->magnitude);
    r->single = malloc((size_t)count * sizeof *r->single);
    r->sample = malloc((size_t)count * sizeof *r->sample);
    r->whole = malloc((size_t)(batch_of(r) * r->problem.m * r->problem.n) * sizeof(float));
    if (r->exact == NULL || r->magnitude == NULL || r->single == NULL || r->sample == NULL ||
        r->whole == NULL)
        return cli_error_memory(f, 24.0 * (double)count, "a reference");
    for (int i = 0; i < r->references; i++) {
        memcpy(r->exact + i * each, r->reference[i].exact, (size_t)each * sizeof *r->exact);
        memcpy(r->magnitude + i * each, r->reference[i].magnitude, (size_t)each * sizeof *r->magnitude);
        memcpy(r->single + i * each, r->reference[i].single, (size_t)each * sizeof *r->single);
    }
    r->truth = (struct metrics_truth){count, r->exact, r->magnitude, r->single};
    return 0;
}

static int round_open(struct round *r, struct bench *b, int i, struct cli_error *f) {
    memset(r, 0, sizeof *r);
    r->bench = b;
    r->product = &b->operands.product[i];
    r->native_us = -1;
    r->native.rel_frobenius = r->native.grade = (double)NAN;
    if (operands_load(&b->operands, i, &r->pair, f) != 0 || pair_open_problem(&r->pair, &r->problem, f) != 0)
        return -1;
    if (is_wide(b))
        return make_wide_reference(r, f);
    return make_references(r, f) == 0 ? join_references(r, f) : -1;
}

static void round_close(struct round *r) {
    for (int i = 0; i < r->references; i++)
        reference_free(&r->reference[i]);
    session_problem_close(&r->problem);
    pair_free(&r->pair);
    free(r->exact);
    free(r->magnitude);
    free(r->single);
    free(r->whole);
    free(r->sample);
}

/* Errors of what stands in problem.c. */
static int grade(struct round *r, struct metrics *out, struct cli_error *f) {
    const struct session_problem *p = &r->problem;
    const int64_t each = r->reference[0].rows * r->reference[0].cols;
    if (session_problem_result(p, r->whole, f) != 0)
        return -1;
    if (is_wide(r->bench)) {
        reference_compare_wide(&r->reference[0], r->whole, p->m, out);
        return 0;
    }
    for (int i = 0; i < r->references; i++)
        reference_sample(&r->reference[i], (const float *)r->whole + r->graded[i] * p->m * p->n, p->m, r->sample + i * each);
    metrics_compute(&r->truth, r->sample, out);
    return 0;
}

static double over(double part, double whole) {
    return part == 0 && !isnan(whole) ? 0 : whole > 0 ? part / whole : -1;
}

static double micro(double seconds) {
    return seconds > 0 ? seconds * 1e6 : -1;
}

static void add_row(struct round *r, const char *method, const struct halftone_plan *plan,
                    const struct timing *t, const struct metrics *e) {
    struct tsv *table = &r->bench->table;
    const struct pair *p = &r->pair;
    const char trans[3] = {p->transposed[0] ? 'T' : 'N', p->transposed[1] ? 'T' : 'N', '\0'};
    tsv_text(table, r->product->name);
    tsv_integer(table, pair_rows(p, 0));
    tsv_integer(table, pair_cols(p, 1));
    tsv_integer(table, pair_cols(p, 0));
    tsv_integer(table, batch_of(r));
    tsv_text(table, trans);
    tsv_text(table, method);
    tsv_text(table, plan != NULL ? plan->scheme : "-");
    tsv_text(table, plan != NULL ? plan->kernel : "-");
    tsv_measured(table, micro(t->median_s), 4);
    tsv_measured(table, micro(t->least_s), 4);
    tsv_measured(table, micro(t->most_s), 4);
    tsv_measured(table, micro(t->single.median_s), 4);
    tsv_measured(table, t->median_s > 0 && r->native_us > 0 ? r->native_us / micro(t->median_s) : -1, 4);
    tsv_real(table, e->rel_frobenius, 3);
    tsv_measured(table, over(e->rel_frobenius, r->native.rel_frobenius), 3);
    tsv_real(table, e->grade, 3);
    tsv_measured(table, over(e->grade, r->native.grade), 3);
    tsv_end_row(table);
}

static int call_native(void *context, struct cli_error *f) {
    const struct round *r = context;
    const int status = baseline_multiply(r->bench->baseline, BASELINE_SGEMM, &r->problem, NULL);
    return status == 0 ? 0
                       : cli_error_set(f, "cuBLAS %cGEMM failed with status %d; check that this cuBLAS fits the driver",
                                       is_wide(r->bench) ? 'D' : 'S', status);
}

static int call_ours(void *context, struct cli_error *f) {
    struct round *r = context;
    return session_multiply(r->bench->session, &r->problem, f);
}

/* Without cuBLAS native FP32 is the CPU's loop, which is not timed, and native FP64 is nothing. */
static int run_native(struct round *r, struct cli_error *f) {
    struct bench *b = r->bench;
    struct timing t = timing_none;
    progress_step(&b->progress, r->product->name);
    if (b->baseline == NULL && is_wide(b))
        return 0;
    if (b->baseline == NULL) {
        metrics_compute(&r->truth, r->single, &r->native);
    } else {
        if (timing_measure(&b->plan, call_native, r, &t, f) != 0 || grade(r, &r->native, f) != 0)
            return -1;
        r->native_us = micro(t.median_s);
    }
    add_row(r, native_name(b), NULL, &t, &r->native);
    return 0;
}

static void add_to_total(struct total *sum, const struct round *r, const struct timing *t,
                         const struct metrics *e) {
    const double us = micro(t->median_s), ratio = r->native_us > 0 ? r->native_us / us : -1;
    const double grade_ratio = over(e->grade, r->native.grade);
    sum->us += us;
    sum->native_us += r->native_us;
    sum->slower += ratio > 0 && ratio < 1;
    sum->least_ratio = sum->products == 0 ? ratio : fmin(sum->least_ratio, ratio);
    sum->smaller += e->rel_frobenius < r->native.rel_frobenius || e->rel_frobenius == 0;
    sum->grade_no_larger += e->grade <= r->native.grade;
    sum->most_grade = fmax(sum->most_grade, e->grade);
    sum->most_grade_ratio = fmax(sum->most_grade_ratio, grade_ratio);
    sum->products++;
}

static int run_method(struct round *r, int i, struct cli_error *f) {
    struct bench *b = r->bench;
    const char *name = b->methods.name[i];
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct timing t = timing_none;
    struct metrics e;
    progress_step(&b->progress, r->product->name);
    if (session_select(b->session, b->what->type, name, NULL, f) != 0 || session_query(b->session, &r->problem, &plan, f) != 0 ||
        timing_measure(&b->plan, call_ours, r, &t, f) != 0 || grade(r, &e, f) != 0)
        return -1;
    b->total[i].name = name;
    add_to_total(&b->total[i], r, &t, &e);
    add_row(r, name, &plan, &t, &e);
    return 0;
}

static int run_product(struct bench *b, int i, struct cli_error *f) {
    struct round r;
    int status = round_open(&r, b, i, f);
    AND_THEN(status, run_native(&r, f));
    for (int c = 0; c < b->methods.count && status == 0; c++)
        status = run_method(&r, c, f);
    if (status == 0 && b->what->out != NULL && !outfile_is_stream(b->what->out))
        status = tsv_write(&b->table, b->what->out, b->head, f);
    round_close(&r);
    return status;
}

static void print_totals(const struct bench *b) {
    for (int i = 0; i < b->methods.count; i++) {
        const struct total *t = &b->total[i];
        char speed[RATIO_BYTES];
        if (t->products == 0)
            continue;
        printf("%s: ", t->name);
        if (b->baseline != NULL)
            printf("%.0f us for all %d products where %cGEMM takes %.0f: %s its speed, least %.3f, slower in %d; ", t->us,
                   t->products, is_wide(b) ? 'D' : 'S', t->native_us, ratio_text(speed, "%.3f x", t->native_us, t->us), t->least_ratio,
                   t->slower);
        if (is_wide(b) && b->baseline == NULL)
            printf("largest error of %d products %.3g x 2^-53 |A||B|\n", t->products, t->most_grade);
        else
            printf("relative Frobenius error smaller than %s's in %d of %d, grade no larger in %d, at most %.3g times it\n",
                   native_name(b), t->smaller, t->products, t->grade_no_larger, t->most_grade_ratio);
    }
}

static void make_head(struct bench *b) {
    char stamp[STAMP_BYTES];
    stamp_write(stamp, &b->what->stamp, b->session, b->baseline, b->facts);
    snprintf(b->head, sizeof b->head,
             "%s# data: stored operands, %d products; us: a call end to end, back to back, median, least and "
             "most of the "
             "batches; single_us: one call in an idle device; %g seconds a measurement\n"
             "# errors against %s of at most %d rows of the column-major product, of a batch at most %d "
             "products; "
             "%s and all others on the same device memory%s\n",
             stamp, b->operands.count, b->what->seconds, is_wide(b) ? "sums in twice FP64's precision" : "FP64", (int)ROWS_GRADED,
             (int)BATCH_GRADED, is_wide(b) ? "cublas-dgemm" : "cublas-sgemm",
             b->session->device.simulated
                 ? "\n# SIMULATOR: times are CPU time of the simulator and say nothing of a GPU"
                 : "");
}

static int run_all(struct bench *b, struct cli_error *f) {
    int status = 0;
    make_head(b);
    fputs(b->head, stdout);
    fflush(stdout);
    tsv_init(&b->table, is_wide(b) ? wide_columns : columns, (int)(sizeof columns / sizeof columns[0]));
    progress_start(&b->progress, b->operands.count * (1 + b->methods.count));
    for (int i = 0; i < b->operands.count && status == 0; i++)
        status = run_product(b, i, f);
    progress_end(&b->progress);
    status = tsv_show(&b->table, status, f);
    if (status == 0) {
        print_totals(b);
        status = tsv_save(&b->table, b->what->out, b->head, f);
    }
    tsv_free(&b->table);
    return status;
}

/* What the default is made of, as far as the library has it. */
static int choose(struct bench *b, struct cli_error *f) {
    if (is_wide(b)) {
        const bool chosen = b->what->schemes != NULL || b->what->accuracies != NULL;
        const bool has_native = (session_kinds(b->session, "native64") & SESSION_FP64) != 0;
        return methods_choose(&b->methods, b->session, HALFTONE_FP64, false, chosen ? b->what->schemes : has_native ? "native64" : NULL,
                              chosen ? b->what->accuracies : "fp64", f);
    }
    const char *const *const role = b->session->set->role, *const usual[] = {"auto", role[HT_ROLE_FALLBACK], role[HT_ROLE_AUTO]};
    if (b->what->schemes != NULL || b->what->accuracies != NULL)
        return methods_choose(&b->methods, b->session, HALFTONE_FP32, false, b->what->schemes, b->what->accuracies, f);
    char list[64] = "";
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (halftone_set_scheme(b->session->handle, usual[i]) != HALFTONE_OK)
            continue;
        strcat(list, list[0] != '\0' ? "," : "");
        strcat(list, usual[i]);
    }
    return methods_choose(&b->methods, b->session, HALFTONE_FP32, true, list[0] != '\0' ? list : NULL, NULL, f);
}

int bench_operands_run(const struct bench_operands *what, struct session *session, struct cli_error *f) {
    struct bench b = {.what = what, .session = session};
    const char *why = "";
    if (!session->device.simulated) {
        b.facts = device_info_open();
        b.baseline = baseline_open(&why);
        if (b.baseline == NULL)
            fprintf(stderr, "no cuBLAS (%s): %s\n", why, is_wide(&b) ? "no row of DGEMM" : "native FP32 is the CPU's loop");
    }
    b.plan = (struct timing_plan){.seconds = what->seconds,
                                  .singles = SINGLE_CALLS,
                                  .simulated = session->device.simulated,
                                  .facts = b.facts};
    int status = operands_read(&b.operands, what->folder, is_wide(&b), f);
    AND_THEN(status, choose(&b, f));
    AND_THEN(status, run_all(&b, f));
    operands_free(&b.operands);
    methods_free(&b.methods);
    baseline_close(b.baseline);
    device_info_close(b.facts);
    return status;
}
