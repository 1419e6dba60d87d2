/* cmd_bench: `halftone bench`: TFLOPS of every scheme, end to end and kernel only, beside cuBLAS in the same
 * run. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/bench_operands.h"
#include "io/shapes.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "measure/baseline_cublas.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "cmd/stamp.h"
#include "measure/sample.h"
#include "measure/timing.h"
#include "io/tsv.h"

enum {
    SAMPLED_ROWS = 64,
    SINGLES = 7,
    PAD_MOST = 4096,
    COMMENT_BYTES = 2048
};

/* end: end to end with packing; kernel: from packed operands; single: one call in an idle device, the others sustained. least
 * and most are over the batches, or the single calls, of one measurement. */
static const struct tsv_column bench_columns[] = {
    {"m", 1}, {"n", 1}, {"k", 1}, {"trans", 1}, {"pad", 0}, {"method", 1}, {"kernel", 1}, {"end_tflops", 1},
    {"end_least", 0}, {"end_most", 0}, {"kernel_tflops", 1}, {"kernel_least", 0}, {"kernel_most", 0},
    {"end_single_tflops", 1}, {"end_single_least", 0}, {"end_single_most", 0}, {"kernel_single_tflops", 1},
    {"end_single/sgemm", 1}, {"end/sgemm", 1}, {"kernel/sgemm", 0}, {"end/tf32", 1}, {"end/fp16", 0},
    {"limit_tflops", 1}, {"of_limit", 1}, {"pack_gbps", 1}, {"pack/copy", 1}, {"pack_us", 0}, {"pack_single_us", 0},
    {"rel_frobenius", 1}, {"grade", 1}, {"spread_%", 1}, {"predicted_us", 0}, {"clock_mhz", 1}, {"power_w", 1}};
static const struct tsv_column wide_columns[] = {
    {"m", 1}, {"n", 1}, {"k", 1}, {"trans", 1}, {"method", 1}, {"kernel", 1}, {"tflops", 1}, {"least", 0}, {"most", 0}, {"single_tflops", 1},
    {"tflops/dgemm", 1}, {"single/dgemm", 1}, {"rel_frobenius", 1}, {"grade", 1}, {"bound", 1}, {"spread_%", 1}, {"predicted_us", 1},
    {"workspace_mib", 1}, {"clock_mhz", 1}, {"power_w", 1}};

struct bench {
    int type; /* of the products */
    struct session session;
    struct baseline *baseline;
    struct device_info *facts;
    const char *out;
    struct stamp stamp;
    struct shape_list shapes;
    const char *trans[SHAPES_TRANS_MOST]; /* "NN", "NT", ...: each shape runs with each of them */
    int transes;
    bool times[BASELINE_TIMED]; /* which of cuBLAS' modes, of FP64 its own product as the first; none where there is no cuBLAS */
    const struct family *family;
    enum baseline_mode inputs; /* of our products: BASELINE_FP16, BASELINE_BF16 as cuBLAS has them, else floats */
    int64_t pad; /* leading dimensions of A and B are their rows and this */
    float beta;  /* of what is timed */
    struct methods methods;
    int all_kernels;
    struct timing_plan plan;
    struct tsv table;
    struct progress progress;
    char comments[COMMENT_BYTES];
};

/* One shape: both sides work on the same device memory. */
struct round {
    struct bench *bench;
    struct shape shape;
    const char *trans;
    struct sample sample;
    struct cast16 half, brain; /* FP16 and BF16 for cuBLAS */
    enum baseline_mode mode;
    double baseline_tflops[BASELINE_TIMED]; /* -1: not measured */
    double native_single_tflops;
    double copy_gbps;                       /* of A and B, bytes read and written; -1: not measured */
};

/* What one row shows; negative: n/a. */
struct line {
    const char *method, *kernel;
    struct timing end, product, pack;
    double predicted_us, pack_bytes;
    double bound, workspace_mib; /* FP64 */
    double limit_tflops; /* of the product alone: what cuBLAS reaches on the slices' type over their products */
};

static struct line line_of(const char *method) {
    return (struct line){method, "-", timing_none, timing_none, timing_none, -1, 0, -1, -1, -1};
}

static int is_wide(const struct bench *b) {
    return b->type == HALFTONE_FP64;
}

static double tflops(const struct round *r, double seconds) {
    return seconds > 0 ? 2.0 * (double)r->shape.m * (double)r->shape.n * (double)r->shape.k / seconds / 1e12
                       : -1;
}

static double share(double part, double whole) {
    return part >= 0 && whole > 0 ? part / whole : -1;
}

static void speed_cells(struct tsv *t, const struct round *r, const struct timing *timing) {
    tsv_measured(t, tflops(r, timing->median_s), 4);
    tsv_measured(t, tflops(r, timing->most_s), 4);
    tsv_measured(t, tflops(r, timing->least_s), 4);
}

static void single_cells(struct tsv *t, const struct round *r, const struct line *l) {
    const double end = tflops(r, l->end.single.median_s);
    tsv_measured(t, end, 4);
    tsv_measured(t, tflops(r, l->end.single.most_s), 4);
    tsv_measured(t, tflops(r, l->end.single.least_s), 4);
    tsv_measured(t, tflops(r, l->product.single.median_s), 4);
    tsv_measured(t, share(end, r->native_single_tflops), 4);
}

static void error_cells(struct tsv *t, const struct metrics *e) {
    tsv_real(t, e->rel_frobenius, 3);
    tsv_real(t, e->grade, 3);
}

static void spread_cell(struct tsv *t, const struct timing *end) {
    tsv_measured(t, end->median_s > 0 ? 100 * (end->most_s - end->least_s) / end->median_s : -1, 2);
}

static void power_cells(struct tsv *t, const struct timing *end) {
    tsv_measured(t, end->clock_mhz, 4);
    tsv_measured(t, end->power_watts < 0 ? -1 : floor(end->power_watts + 0.5), 4);
}

static void fp32_cells(struct tsv *t, const struct round *r, const struct line *l, const struct metrics *e) {
    const double *const yard = r->baseline_tflops, end = tflops(r, l->end.median_s), product = tflops(r, l->product.median_s);
    const double pack_gbps = l->pack.median_s > 0 ? l->pack_bytes / l->pack.median_s / 1e9 : -1;
    speed_cells(t, r, &l->product);
    single_cells(t, r, l);
    tsv_measured(t, share(end, yard[BASELINE_SGEMM]), 4);
    tsv_measured(t, share(product, yard[BASELINE_SGEMM]), 4);
    tsv_measured(t, share(end, yard[BASELINE_TF32]), 3);
    tsv_measured(t, share(end, yard[BASELINE_FP16]), 3);
    tsv_measured(t, l->limit_tflops, 4);
    tsv_measured(t, share(product, l->limit_tflops), 3);
    tsv_measured(t, pack_gbps, 4);
    tsv_measured(t, share(pack_gbps, r->copy_gbps), 3);
    tsv_measured(t, l->pack.median_s * 1e6, 4);
    tsv_measured(t, l->pack.single.median_s * 1e6, 4);
    error_cells(t, e);
    spread_cell(t, &l->end);
    tsv_measured(t, l->predicted_us, 5);
}

static void fp64_cells(struct tsv *t, const struct round *r, const struct line *l, const struct metrics *e) {
    const double single = tflops(r, l->end.single.median_s);
    tsv_measured(t, single, 4);
    tsv_measured(t, share(tflops(r, l->end.median_s), r->baseline_tflops[BASELINE_SGEMM]), 4);
    tsv_measured(t, share(single, r->native_single_tflops), 4);
    error_cells(t, e);
    tsv_measured(t, l->bound, 6);
    spread_cell(t, &l->end);
    tsv_measured(t, l->predicted_us, 5);
    tsv_measured(t, l->workspace_mib, 4);
}

/* The result of the method must be in problem.c. */
static int add_line(struct round *r, const struct line *l, struct cli_error *f) {
    struct tsv *const t = &r->bench->table;
    struct metrics e;
    if (sample_judge(&r->sample, &e, f) != 0)
        return -1;
    tsv_integer(t, r->shape.m);
    tsv_integer(t, r->shape.n);
    tsv_integer(t, r->shape.k);
    tsv_text(t, r->trans);
    if (!is_wide(r->bench))
        tsv_integer(t, r->bench->pad);
    tsv_text(t, l->method);
    tsv_text(t, l->kernel);
    speed_cells(t, r, &l->end);
    (is_wide(r->bench) ? fp64_cells : fp32_cells)(t, r, l, &e);
    power_cells(t, &l->end);
    tsv_end_row(t);
    return 0;
}

static const char *baseline_name(const struct bench *b, enum baseline_mode mode) {
    return is_wide(b) ? "cublas-dgemm" : baseline_names[mode];
}

/* A and B in the type of a mode; NULL: they are floats. */
static const struct cast16 *cast_of(const struct round *r, enum baseline_mode mode) {
    return mode == BASELINE_FP16 ? &r->half : mode == BASELINE_BF16 ? &r->brain : NULL;
}

static int call_baseline(void *context, struct cli_error *f) {
    const struct round *r = context;
    const int status = baseline_multiply(r->bench->baseline, r->mode, &r->sample.problem, cast_of(r, r->mode));
    return status == 0 ? 0 : cli_error_set(f, "%s failed with status %d; check that this cuBLAS fits the driver", baseline_name(r->bench, r->mode), status);
}

/* Call contexts for timing: engine and problem. */
static int call_multiply(void *context, struct cli_error *f) {
    struct round *r = context;
    struct session *const session = &r->bench->session;
    const struct cast16 *const cast = cast_of(r, r->bench->inputs);
    const int type = r->bench->inputs == BASELINE_FP16 ? HALFTONE_FP16 : HALFTONE_BF16;
    return cast == NULL ? session_multiply(session, &r->sample.problem, f)
                        : session_multiply_16(session, &r->sample.problem, cast->a, cast->b, type, f);
}

static int call_pack(void *context, struct cli_error *f) {
    struct round *r = context;
    return session_pack(&r->bench->session, &r->sample.problem, f);
}

static int call_packed(void *context, struct cli_error *f) {
    struct round *r = context;
    return session_multiply_packed(&r->bench->session, &r->sample.problem, f);
}

static void step(struct round *r, const char *method) {
    char what[200];
    snprintf(what, sizeof what, "%lld x %lld x %lld %s %s", (long long)r->shape.m, (long long)r->shape.n,
             (long long)r->shape.k, r->trans, method);
    progress_step(&r->bench->progress, what);
}

/* Times a call, and leaves its product in C: with beta C is there before, and is the product alone afterwards. */
static int measure(struct round *r, int (*call)(void *, struct cli_error *), struct timing *timing, struct cli_error *f) {
    float *const beta = &r->sample.problem.beta;
    int status = r->bench->beta != 0 ? call(r, f) : 0;
    *beta = r->bench->beta;
    AND_THEN(status, timing_measure(&r->bench->plan, call, r, timing, f));
    *beta = 0;
    return status == 0 && r->bench->beta != 0 ? call(r, f) : status;
}

static int run_baselines(struct round *r, struct cli_error *f) {
    for (int mode = 0; mode < BASELINE_TIMED; mode++)
        r->baseline_tflops[mode] = -1;
    r->native_single_tflops = -1;
    for (int mode = 0; mode < BASELINE_TIMED; mode++) {
        if (!r->bench->times[mode])
            continue;
        struct line l = line_of(baseline_name(r->bench, (enum baseline_mode)mode));
        r->mode = (enum baseline_mode)mode;
        step(r, l.method);
        if (measure(r, call_baseline, &l.end, f) != 0)
            return -1;
        r->baseline_tflops[mode] = tflops(r, l.end.median_s);
        if (mode == BASELINE_SGEMM)
            r->native_single_tflops = tflops(r, l.end.single.median_s);
        l.product = l.end;
        if (add_line(r, &l, f) != 0)
            return -1;
    }
    return 0;
}

/* What packing must move for one operand: every element read once, every panel byte written once. */
static double pack_bytes(const struct ht_set_desc *set, const char *scheme, int64_t rows, int64_t k) {
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *s = &set->scheme[i];
        const double padded = 64.0 * 64.0 * (double)(ht_ceil_div(rows, 64) * ht_ceil_div(k, 64));
        if (strcmp(s->name, scheme) == 0)
            return 4.0 * (double)rows * (double)k + padded * s->slices * s->slice_bytes;
    }
    return 0;
}

/* The limit of bench/RESULTS.md: the vendor's rate for the slices' type, same round, over the products; -1: not timed (INT8, no cuBLAS), or
 * nothing is timed alone. */
static double limit_of(const struct round *r, const struct ht_set_desc *set, const char *scheme) {
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *s = &set->scheme[i];
        const bool brain = strncmp(s->name, "bf16", 4) == 0;
        const enum baseline_mode mode = s->slice_bytes == 4 ? BASELINE_TF32 : brain ? BASELINE_BF16 : BASELINE_FP16;
        if (strcmp(s->name, scheme) == 0 && s->pack != NULL && s->slice_bytes > 1 && r->baseline_tflops[mode] > 0)
            return r->baseline_tflops[mode] / s->products;
    }
    return -1;
}

/* Packing alone and the product of packed operands; an accuracy has none, but the scheme that it chose has. */
static int time_pieces(struct round *r, struct line *l, const char *kernel, const char *chosen, struct cli_error *f) {
    struct bench *b = r->bench;
    const bool by_accuracy = session_accuracy_of(l->method) != NULL;
    if (by_accuracy && session_select(&b->session, HALFTONE_FP32, chosen, kernel, f) != 0)
        return -1;
    if (b->session.packs &&
        (session_pack_prepare(&b->session, &r->sample.problem, f) != 0 ||
         timing_measure(&b->plan, call_pack, r, &l->pack, f) != 0 ||
         measure(r, call_packed, &l->product, f) != 0))
        return -1;
    return by_accuracy ? session_select(&b->session, HALFTONE_FP32, l->method, kernel, f) : 0;
}

/* kernel NULL: the library's pick; kernels that read the matrices themselves have no pieces. The end-to-end call comes last, so that its result is what is judged. */
static int run_scheme(struct round *r, const char *method, const char *kernel, struct cli_error *f) {
    struct bench *b = r->bench;
    const struct ht_set_desc *set = b->session.set;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct line l = line_of(method);
    size_t workspace = 0;
    step(r, kernel != NULL ? kernel : method);
    if (session_select(&b->session, b->type, method, kernel, f) != 0 || session_query(&b->session, &r->sample.problem, &plan, f) != 0)
        return -1;
    const bool packs = plan.pack_ns > 0 || session_is_one_row(&b->session, &plan); /* which takes packed operands, too */
    if ((is_wide(b) ? session_workspace(&b->session, &r->sample.problem, &workspace, f)
         : packs ? time_pieces(r, &l, kernel, plan.scheme, f)
                 : 0) != 0 ||
        measure(r, call_multiply, &l.end, f) != 0)
        return -1;
    l.kernel = plan.kernel;
    l.predicted_us = (double)plan.predicted_ns / 1000.0;
    l.bound = plan.fixed_point ? -1 : (double)plan.bound_units;
    l.workspace_mib = (double)workspace / 1048576;
    l.pack_bytes = pack_bytes(set, plan.scheme, r->shape.m, r->shape.k) +
                   pack_bytes(set, plan.scheme, r->shape.n, r->shape.k);
    l.limit_tflops = limit_of(r, set, plan.scheme);
    return add_line(r, &l, f);
}

static int run_schemes(struct round *r, struct cli_error *f) {
    struct bench *b = r->bench;
    int status = 0;
    for (int i = 0; i < b->methods.count && status == 0; i++) {
        if (!b->all_kernels)
            status = run_scheme(r, b->methods.name[i], NULL, f);
        for (int k = 0; b->all_kernels && k < b->session.set->kernels && status == 0; k++)
            if (strcmp(b->session.set->kernel[k].scheme, b->methods.name[i]) == 0)
                status = run_scheme(r, b->methods.name[i], b->session.set->kernel[k].name, f);
    }
    return status;
}

static int round_open(struct round *r, struct bench *b, const struct shape *s, const char *trans, struct cli_error *f) {
    const struct session_problem *const p = &r->sample.problem;
    memset(r, 0, sizeof *r);
    r->bench = b;
    r->shape = *s;
    r->trans = trans;
    if (sample_open(&r->sample, b->type, b->family, 1, trans, s, b->pad, SAMPLED_ROWS, f) != 0)
        return -1;
    const int64_t a_count = p->lda * (trans[0] == 'N' ? s->k : s->m), b_count = p->ldb * (trans[1] == 'N' ? s->n : s->k);
    for (int i = 0; i < 2; i++) {
        const enum baseline_mode mode = i == 0 ? BASELINE_FP16 : BASELINE_BF16;
        if ((b->times[mode] || b->inputs == mode) && cast16_open(i == 0 ? &r->half : &r->brain, mode, r->sample.a, a_count, r->sample.b, b_count, f) != 0)
            return -1;
    }
    return 0;
}

/* A and B, each into the same buffer: what packing at least moves, with the same data. */
struct copy {
    const struct round *round;
    void *to;
};

static int call_copy(void *context, struct cli_error *f) {
    const struct copy *c = context;
    const struct session_problem *p = &c->round->sample.problem;
    const struct device_info *facts = c->round->bench->facts;
    const size_t a_bytes = (size_t)(p->m * p->k) * sizeof(float),
                 b_bytes = (size_t)(p->k * p->n) * sizeof(float);
    return device_info_copy(facts, c->to, p->a, a_bytes) == 0 &&
                   device_info_copy(facts, (char *)c->to + a_bytes, p->b, b_bytes) == 0
               ? 0
               : cli_error_set(f, "device copy failed");
}

/* Not being able to measure it is no failure: the columns then say n/a. */
static double measure_copy(const struct round *r) {
    const struct bench *b = r->bench;
    const struct shape *s = &r->shape;
    const size_t bytes = (size_t)(s->m * s->k + s->k * s->n) * sizeof(float);
    struct copy c = {r, NULL};
    struct cli_error ignored;
    struct timing timing = timing_none;
    if (!is_wide(b) && b->facts != NULL && ht_dev_alloc(&c.to, bytes) == HT_DEV_OK)
        (void)timing_measure(&b->plan, call_copy, &c, &timing, &ignored);
    (void)ht_dev_free(c.to);
    return timing.median_s > 0 ? 2.0 * (double)bytes / timing.median_s / 1e9 : -1;
}

/* The file is written after every shape, so that an interrupted run keeps what it measured; a pipe gets it once. */
static int run_shape(struct bench *b, const struct shape *s, const char *trans, struct cli_error *f) {
    struct round r;
    int status = round_open(&r, b, s, trans, f);
    AND_THEN(status, run_baselines(&r, f));
    if (status == 0) {
        r.copy_gbps = measure_copy(&r);
        status = run_schemes(&r, f);
    }
    if (status == 0 && b->out != NULL && !outfile_is_stream(b->out))
        status = tsv_write(&b->table, b->out, b->comments, f);
    cast16_close(&r.half);
    cast16_close(&r.brain);
    sample_close(&r.sample);
    return status;
}

static void make_comments(struct bench *b) {
    static const char simulated[] = "# SIMULATOR: times are CPU time of the simulator and say nothing of a GPU\n";
    char head[STAMP_BYTES], adds[100] = "";
    if (b->beta != 0)
        snprintf(adds, sizeof adds, "# timed: C = op(A) op(B) + %g C; judged: the product alone\n", (double)b->beta);
    stamp_write(head, &b->stamp, &b->session, b->baseline, b->facts);
    const char *const of_simulator = b->session.device.simulated ? simulated : "";
    if (is_wide(b))
        snprintf(b->comments, sizeof b->comments,
                 "%s# FP64 products; data: %s, each element with 29 more random bits; column-major, same memory for all; TFLOPS = 2mnk / time, the whole call\n"
                 "# sustained, back to back: median, least and most over the batches; single: median of %d calls, each in an idle device, queued behind a delay "
                 "that hides launch latency; seconds per measurement: %g\n"
                 "# rel_frobenius; grade: largest error in 2^-53 |A||B|; of %d rows, against sums in twice the precision; bound: a priori, in the same units; n/a: "
                 "relative to norms of rows and columns\n%s%s",
                 head, b->family->text, b->plan.singles, b->plan.seconds, (int)SAMPLED_ROWS, adds, of_simulator);
    else
        snprintf(b->comments, sizeof b->comments,
                 "%s# data: %s, column-major, same memory for all; TFLOPS = 2mnk / time; median, least and most over the batches\n"
                 "# end: with packing%s; kernel: from packed operands; cublas-fp16 and -bf16 get their inputs in that type\n"
                 "# limit_tflops: cublas-fp16, -bf16 or -tf32, whichever has the scheme's slices, over its products; of_limit: "
                 "kernel TFLOPS over that; errors of %d rows against FP64\n"
                 "# sustained (no word in the column's name): back to back; single: median of %d calls, each in an idle device, after the "
                 "same call, queued behind a delay that hides launch latency; all methods alike\n"
                 "# seconds per measurement: %g, sustained; pack/copy: packing A and B against the driver's copy of them, same "
                 "round, bytes read and written\n%s%s",
                 head, b->family->text,
                 b->inputs == BASELINE_FP16   ? ", of inputs in FP16"
                 : b->inputs == BASELINE_BF16 ? ", of inputs in BF16"
                                              : "",
                 (int)SAMPLED_ROWS, b->plan.singles, b->plan.seconds, adds, of_simulator);
}

static int count_steps(const struct bench *b) {
    int kernels = 0, baselines = 0;
    for (int mode = 0; mode < BASELINE_TIMED; mode++)
        baselines += b->times[mode];
    for (int i = 0; i < b->methods.count && b->all_kernels; i++)
        for (int k = 0; k < b->session.set->kernels; k++)
            kernels += strcmp(b->session.set->kernel[k].scheme, b->methods.name[i]) == 0;
    return b->shapes.count * b->transes * (baselines + (b->all_kernels ? kernels : b->methods.count));
}

static int run_all(struct bench *b, struct cli_error *f) {
    const char *why = "the simulator has no vendor library";
    int status = 0;
    b->plan.simulated = b->session.device.simulated;
    if (!b->session.device.simulated) {
        b->facts = device_info_open();
        b->baseline = baseline_open(&why);
    }
    b->plan.facts = b->facts;
    b->plan.singles = SINGLES;
    make_comments(b);
    if (b->session.device.simulated && !is_wide(b))
        fputs("halftone bench: this is the simulator, whose times say nothing of a GPU; the command `halftone`, built with nvcc, "
              "measures one\n",
              stderr);
    fputs(b->comments, stdout);
    if (b->baseline == NULL) {
        memset(b->times, 0, sizeof b->times);
        printf("# %s: %s\n", is_wide(b) ? "no row of cuBLAS" : "cuBLAS columns are n/a", why);
    }
    fflush(stdout);
    tsv_init(&b->table, is_wide(b) ? wide_columns : bench_columns,
             (int)((is_wide(b) ? sizeof wide_columns : sizeof bench_columns) / sizeof(struct tsv_column)));
    progress_start(&b->progress, count_steps(b));
    for (int i = 0; i < b->shapes.count && status == 0; i++)
        for (int t = 0; t < b->transes && status == 0; t++)
            status = run_shape(b, &b->shapes.shape[i], b->trans[t], f);
    progress_end(&b->progress);
    status = tsv_show(&b->table, status, f);
    AND_THEN(status, tsv_save(&b->table, b->out, b->comments, f));
    tsv_free(&b->table);
    baseline_close(b->baseline);
    device_info_close(b->facts);
    return status;
}

/* The names of kernels are found by the scheme's name. */
static int check_names(const struct bench *b, struct cli_error *f) {
    for (int i = 0; i < b->methods.count && b->all_kernels; i++)
        if (strcmp(b->methods.name[i], "auto") == 0 || session_accuracy_of(b->methods.name[i]) != NULL)
            return cli_error_usage(f, "--kernels all needs scheme names, not %s; `halftone info` lists them",
                               b->methods.name[i]);
    return 0;
}

/* NULL: all of them. */
static int choose_baselines(struct bench *b, const char *text, struct cli_error *f) {
    struct name_list names = {NULL, NULL, 0};
    int status = text != NULL ? args_names("--baselines", text, &names, f) : 0;
    for (int mode = 0; mode < BASELINE_TIMED; mode++)
        b->times[mode] = text == NULL && (!is_wide(b) || mode == BASELINE_SGEMM);
    for (int i = 0; i < names.count && status == 0; i++) {
        int mode = 0;
        while (mode < BASELINE_TIMED && strcmp(baseline_names[mode] + strlen("cublas-"), names.name[i]) != 0)
            mode++;
        if (mode < BASELINE_TIMED)
            b->times[mode] = true;
        else
            status = cli_error_usage(f, "--baselines: '%s' is none of sgemm, tf32, fp16, bf16", names.name[i]);
    }
    args_names_free(&names);
    return status;
}

static int choose_and_run(struct bench *b, const char *schemes, const char *accuracies, const char *baselines, struct cli_error *f) {
    int status = methods_choose(&b->methods, &b->session, b->type, false, schemes, accuracies, f);
    AND_THEN(status, check_names(b, f));
    AND_THEN(status, choose_baselines(b, baselines, f));
    return status == 0 ? run_all(b, f) : status;
}

static int choose_inputs(struct bench *b, const char *name, struct cli_error *f) {
    const bool half = name != NULL && strcmp(name, "fp16") == 0, brain = name != NULL && strcmp(name, "bf16") == 0;
    b->inputs = half ? BASELINE_FP16 : brain ? BASELINE_BF16 : BASELINE_SGEMM;
    return name == NULL || half || brain ? 0 : cli_error_usage(f, "--inputs: '%s' is neither fp16 nor bf16", name);
}

static int choose_beta(struct bench *b, const char *text, struct cli_error *f) {
    double beta = 0;
    if (text != NULL && (args_real(text, &beta) != 0 || beta > 1))
        return cli_error_usage(f, "--beta: '%s' is no number from 0 to 1", text);
    b->beta = (float)beta;
    return 0;
}

static int refuse_others(const struct option *options, int is_fp64, struct cli_error *f) {
    static const char why[] = "FP64 products are timed whole, of dense matrices, and beside cublas-dgemm alone";
    return is_fp64 ? args_refuse(options, "--kernels --pad --baselines --inputs", why, f) : 0;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct bench b;
    const char *sizes = NULL, *file = NULL, *schemes = NULL, *accuracies = NULL, *kernels = NULL, *seconds = "0.5", *none[1];
    const char *trans = NULL, *pad = NULL, *baselines = NULL, *operands = NULL, *family = NULL, *inputs = NULL, *beta = NULL;
    struct name_list trans_names = {NULL, NULL, 0};
    int count = 0, pads = 0, fp64 = 0;
    memset(&b, 0, sizeof b);
    b.stamp = stamp_built();
    const struct option options[] = {{"--sizes", &sizes, NULL},
                                     {"--shapes", &file, NULL},
                                     {"--schemes", &schemes, NULL},
                                     {"--accuracy", &accuracies, NULL},
                                     {"--kernels", &kernels, NULL},
                                     {"--seconds", &seconds, NULL},
                                     {"--out", &b.out, NULL},
                                     {"--commit", &b.stamp.commit, NULL},
                                     {"--toolkit", &b.stamp.toolkit, NULL},
                                     {"--trans", &trans, NULL},
                                     {"--baselines", &baselines, NULL},
                                     {"--pad", &pad, NULL},
                                     {"--family", &family, NULL},
                                     {"--operands", &operands, NULL},
                                     {"--inputs", &inputs, NULL},
                                     {"--beta", &beta, NULL},
                                     {"--fp64", NULL, &fp64},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        args_seconds("--seconds", seconds, &b.plan.seconds, f) != 0 || choose_inputs(&b, inputs, f) != 0 || choose_beta(&b, beta, f) != 0 ||
        (pad != NULL && args_numbers("--pad", pad, 0, PAD_MOST, &b.pad, 1, &pads, f) != 0))
        return -1;
    b.all_kernels = kernels != NULL && strcmp(kernels, "all") == 0;
    if (kernels != NULL && !b.all_kernels && strcmp(kernels, "pick") != 0)
        return cli_error_usage(f, "--kernels: '%s' is neither all nor pick", kernels);
    b.family = family_find(family != NULL ? family : "uniform");
    if (b.family == NULL)
        return cli_error_usage(f, "no family '%s'; `halftone report --list` prints them", family);
    if (operands != NULL && args_refuse(options, "--sizes --shapes --kernels --trans --pad --family --baselines --inputs --beta",
                                        "--operands brings its own shapes", f) != 0)
        return -1;
    int status = outfile_apart("--shapes", file, "--out", b.out, f) == 0 && outfile_check(b.out, f) == 0 ? session_open(&b.session, f) : -1;
    if (status == 0 && operands != NULL) {
        status = methods_type(&b.session, fp64, schemes, accuracies, &fp64, f);
        const struct bench_operands what = {operands, b.out, schemes, accuracies, fp64 ? HALFTONE_FP64 : HALFTONE_FP32, b.plan.seconds, b.stamp};
        AND_THEN(status, bench_operands_run(&what, &b.session, f));
        session_close(&b.session);
    } else if (status == 0) {
        status = shapes_choose(&b.shapes, sizes, file, b.session.device.simulated ? "64" : "1024,2048,4096,8192", f);
        AND_THEN(status, shapes_trans(trans != NULL ? trans : "NN", &trans_names, b.trans, &b.transes, f));
        AND_THEN(status, methods_type(&b.session, fp64, schemes, accuracies, &fp64, f));
        AND_THEN(status, refuse_others(options, fp64, f));
        b.type = fp64 ? HALFTONE_FP64 : HALFTONE_FP32;
        AND_THEN(status, choose_and_run(&b, schemes, accuracies, baselines, f));
        session_close(&b.session);
    }
    shapes_free(&b.shapes);
    methods_free(&b.methods);
    args_names_free(&trans_names);
    return status;
}

const struct command cmd_bench = {
    "bench", "TFLOPS of every scheme beside cuBLAS in the same run",
    "Usage: halftone bench [--sizes 1024,...] [--shapes FILE] [--schemes x,y] [--accuracy a,b]\n"
    "                      [--kernels pick|all] [--seconds S]\n"
    "                      [--trans NN,NT,TN,TT] [--pad P] [--baselines sgemm,tf32,fp16,bf16] [--inputs fp16|bf16] [--beta B]\n"
    "                      [--out FILE.tsv] [--commit TEXT] [--toolkit TEXT]\n"
    "       halftone bench --fp64 [--schemes native64,crt15] [--accuracy fp64,fp64-fast] ...\n"
    "       halftone bench --operands DIR [--fp64] [--schemes x,y] [--accuracy a,b] [--seconds S] [--out FILE.tsv] ...\n\n"
    "For every shape: cuBLAS SGEMM, TF32 and FP16 (FP16 inputs, FP32 sums), then every scheme, on the same "
    "data\n"
    "(uniform[-1,1], or another family): single, that is 7 calls one by one in an idle device, each queued behind a delay that hides the\n"
    "latency of launches, and sustained, back to back for S seconds in 9 batches after a warm-up. Prints medians end to\n"
    "end (with packing) and from packed operands, ratios, packing against a device copy of A and B, errors "
    "of 64\n"
    "rows, clock and power. Without cuBLAS its columns say n/a. In the simulator times mean nothing.\n"
    "With --fp64, or names of FP64's, the products are FP64's, beside cuBLAS DGEMM: TFLOPS of whole calls, errors against sums in\n"
    "twice the precision in units of 2^-53 |A||B|, workspace.\n"
    "With --operands the products are stored ones, for example those of a model (bench/data/real_data.py writes them): speed and\n"
    "errors of auto, bf16x6u, f16x3 (or --schemes) beside SGEMM on the same data, and what each comes to in sum. With --fp64 they are\n"
    "float64 (real_data.py --fp64), and the methods native64 and accuracy fp64 (or --schemes, --accuracy) beside DGEMM.\n\n"
    "  --shapes FILE  lines `m n k`, # comments; together with --sizes both are run\n"
    "  --accuracy     what halftone_set_accuracy takes, beside --schemes; kernel-only figures are of the scheme it "
    "gives\n"
    "  --family F     of inputs (default uniform)\n"
    "  --kernels all  every kernel of the schemes by name, ablation variants included (default: the "
    "library's pick)\n"
    "  --seconds S    per measurement (default 0.5)\n"
    "  --trans LIST   every shape with each of these (default NN)\n"
    "  --pad P        leading dimensions of A and B are their rows and P more (default 0)\n"
    "  --baselines LIST  which of cuBLAS' modes (default all)\n"
    "  --inputs TYPE  whole products of A and B rounded to it (halftone_gemm_ex)\n"
    "  --beta B       times C = op(A) op(B) + B C, B from 0 to 1; at 1 C grows by each call (default 0)\n"
    "  --out FILE     all columns, with batch extremes, as TSV; rewritten after each shape\n"
    "  --operands DIR .npy files and their manifest operands.tsv; products of their own shapes\n"
    "  --commit TEXT, --toolkit TEXT  for the header lines (default: what the build knew)\n",
    run, 1};
