/* bench64: FP64 products beside cuBLAS DGEMM in the same run. See bench64.h. */
#include "cmd/bench64.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/methods.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "io/tsv.h"
#include "measure/baseline_cublas.h"
#include "measure/sample64.h"
#include "measure/timing.h"

enum { SAMPLED_ROWS = 64, SINGLES = 7, COMMENT_BYTES = 2048 };

static const struct tsv_column columns[] = {
    {"m", 1}, {"n", 1}, {"k", 1}, {"trans", 1}, {"method", 1}, {"kernel", 1}, {"tflops", 1}, {"least", 0}, {"most", 0}, {"single_tflops", 1},
    {"tflops/dgemm", 1}, {"single/dgemm", 1}, {"rel_frobenius", 1}, {"grade", 1}, {"bound", 1}, {"spread_%", 1}, {"predicted_us", 1},
    {"workspace_mib", 1}, {"clock_mhz", 1}, {"power_w", 1}};

struct bench {
    const struct bench64 *what;
    struct session *session;
    struct baseline *baseline;
    struct device_info *facts;
    struct methods methods;
    struct timing_plan plan;
    struct tsv table;
    struct progress progress;
    char comments[COMMENT_BYTES];
};

/* One shape: all methods work on the same device memory. */
struct round {
    struct bench *bench;
    struct shape shape;
    const char *trans;
    struct sample64 sample;
    double dgemm_tflops, dgemm_single_tflops; /* -1: not measured */
};

struct line {
    const char *method, *kernel;
    struct timing time;
    double bound, predicted_us, workspace_mib; /* negative: n/a */
};

static double tflops(const struct round *r, double seconds) {
    return seconds > 0 ? 2e-12 * (double)r->shape.m * (double)r->shape.n * (double)r->shape.k / seconds : -1;
}

static double share(double part, double whole) {
    return part >= 0 && whole > 0 ? part / whole : -1;
}

/* The result of the method must be in problem.c. */
static int add_line(struct round *r, const struct line *l, struct cli_error *f) {
    struct tsv *const t = &r->bench->table;
    const struct timing *const time = &l->time;
    struct metrics64 e;
    if (sample64_judge(&r->sample, &e, f) != 0)
        return -1;
    tsv_integer(t, r->shape.m);
    tsv_integer(t, r->shape.n);
    tsv_integer(t, r->shape.k);
    tsv_text(t, r->trans);
    tsv_text(t, l->method);
    tsv_text(t, l->kernel);
    tsv_measured(t, tflops(r, time->median_s), 4);
    tsv_measured(t, tflops(r, time->most_s), 4);
    tsv_measured(t, tflops(r, time->least_s), 4);
    tsv_measured(t, tflops(r, time->single.median_s), 4);
    tsv_measured(t, share(tflops(r, time->median_s), r->dgemm_tflops), 4);
    tsv_measured(t, share(tflops(r, time->single.median_s), r->dgemm_single_tflops), 4);
    tsv_real(t, e.rel_frobenius, 3);
    tsv_real(t, e.grade, 3);
    tsv_measured(t, l->bound, 6);
    tsv_measured(t, time->median_s > 0 ? 100 * (time->most_s - time->least_s) / time->median_s : -1, 2);
    tsv_measured(t, l->predicted_us, 5);
    tsv_measured(t, l->workspace_mib, 4);
    tsv_measured(t, time->clock_mhz, 4);
    tsv_measured(t, time->power_watts < 0 ? -1 : floor(time->power_watts + 0.5), 4);
    tsv_end_row(t);
    return 0;
}

static void step(struct round *r, const char *method) {
    char what[200];
    snprintf(what, sizeof what, "%lld x %lld x %lld %s %s", (long long)r->shape.m, (long long)r->shape.n, (long long)r->shape.k, r->trans, method);
    progress_step(&r->bench->progress, what);
}

static int call_dgemm(void *context, struct cli_error *f) {
    const struct round *const r = context;
    const struct session64_problem *const p = &r->sample.problem;
    const int status = baseline_dgemm(r->bench->baseline, p->trans_a, p->trans_b, p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb, p->c);
    return status == 0 ? 0 : cli_error_set(f, "cublas-dgemm failed with status %d; check that this cuBLAS fits the driver", status);
}

static int call_multiply(void *context, struct cli_error *f) {
    const struct round *const r = context;
    return session64_multiply(r->bench->session, &r->sample.problem, f);
}

static int run_dgemm(struct round *r, struct cli_error *f) {
    struct line l = {"cublas-dgemm", "-", timing_none, -1, -1, -1};
    r->dgemm_tflops = r->dgemm_single_tflops = -1;
    if (r->bench->baseline == NULL)
        return 0;
    step(r, l.method);
    if (timing_measure(&r->bench->plan, call_dgemm, r, &l.time, f) != 0)
        return -1;
    r->dgemm_tflops = tflops(r, l.time.median_s);
    r->dgemm_single_tflops = tflops(r, l.time.single.median_s);
    return add_line(r, &l, f);
}

static int run_method(struct round *r, const char *method, struct cli_error *f) {
    struct session *const s = r->bench->session;
    struct halftone_plan plan;
    size_t workspace = 0;
    step(r, method);
    if (session64_select(s, method, f) != 0 || session64_query(s, &r->sample.problem, &plan, f) != 0 ||
        session64_workspace(s, &r->sample.problem, &workspace, f) != 0)
        return -1;
    struct line l = {method, plan.kernel, timing_none, plan.fixed_point ? -1 : (double)plan.bound_units, (double)plan.predicted_ns / 1000,
                     (double)workspace / 1048576};
    return timing_measure(&r->bench->plan, call_multiply, r, &l.time, f) == 0 ? add_line(r, &l, f) : -1;
}

/* The file is written after every shape, so that an interrupted run keeps what it measured; a pipe gets it once. */
static int run_shape(struct bench *b, const struct shape *s, const char *trans, struct cli_error *f) {
    struct round r = {.bench = b, .shape = *s, .trans = trans};
    int status = sample64_open(&r.sample, b->what->family, 1, trans, s->m, s->n, s->k, SAMPLED_ROWS, f);
    if (status == 0)
        status = run_dgemm(&r, f);
    for (int i = 0; i < b->methods.count && status == 0; i++)
        status = run_method(&r, b->methods.name[i], f);
    if (status == 0 && b->what->out != NULL && !outfile_is_stream(b->what->out))
        status = tsv_write(&b->table, b->what->out, b->comments, f);
    sample64_close(&r.sample);
    return status;
}

static void make_comments(struct bench *b) {
    char head[STAMP_BYTES];
    stamp_write(head, &b->what->stamp, b->session, b->baseline, b->facts);
    snprintf(b->comments, sizeof b->comments,
             "%s# FP64 products; data: %s, each element with 29 more random bits; column-major, same memory for all; TFLOPS = 2mnk / time, the whole call\n"
             "# sustained, back to back: median, least and most over the batches; single: median of %d calls, each in an idle device, queued behind a delay "
             "that hides launch latency; seconds per measurement: %g\n"
             "# rel_frobenius; grade: largest error in 2^-53 |A||B|; of %d rows, against sums in twice the precision; bound: a priori, in the same units; n/a: "
             "relative to norms of rows and columns\n%s",
             head, b->what->family->text, (int)SINGLES, b->what->seconds, (int)SAMPLED_ROWS,
             b->session->device.simulated ? "# SIMULATOR: times are CPU time of the simulator and say nothing of a GPU\n" : "");
}

static int finish(struct bench *b, int status, struct cli_error *f) {
    struct cli_error print_fault; /* what was measured before a failure is still shown */
    if (tsv_print(&b->table, stdout, &print_fault) != 0 && status == 0) {
        *f = print_fault;
        status = -1;
    }
    if (status == 0 && b->what->out != NULL && outfile_is_stream(b->what->out))
        status = tsv_write(&b->table, b->what->out, b->comments, f);
    if (status == 0 && b->what->out != NULL)
        fprintf(outfile_remarks(b->what->out), "wrote %s\n", b->what->out);
    return status;
}

int bench64_run(const struct bench64 *what, struct session *s, struct cli_error *f) {
    struct bench b = {.what = what, .session = s, .plan = {.seconds = what->seconds, .singles = SINGLES, .simulated = s->device.simulated}};
    const char *why = "the simulator has no vendor library";
    int status = methods_choose64(&b.methods, s, what->schemes, what->accuracies, f);
    if (status == 0 && !s->device.simulated) {
        b.facts = device_info_open();
        b.baseline = baseline_open(&why);
    }
    b.plan.facts = b.facts;
    if (status == 0) {
        make_comments(&b);
        fputs(b.comments, stdout);
        if (b.baseline == NULL)
            printf("# no row of cuBLAS: %s\n", why);
        fflush(stdout);
        tsv_init(&b.table, columns, (int)(sizeof columns / sizeof columns[0]));
        progress_start(&b.progress, what->shapes->count * what->transes * (b.methods.count + (b.baseline != NULL)));
        for (int i = 0; i < what->shapes->count && status == 0; i++)
            for (int t = 0; t < what->transes && status == 0; t++)
                status = run_shape(&b, &what->shapes->shape[i], what->trans[t], f);
        progress_end(&b.progress);
        status = finish(&b, status, f);
        tsv_free(&b.table);
    }
    baseline_close(b.baseline);
    device_info_close(b.facts);
    methods_free(&b.methods);
    return status;
}
