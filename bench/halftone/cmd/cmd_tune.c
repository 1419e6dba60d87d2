/* cmd_tune: `halftone tune`: times every kernel of the set over many shapes and tells what the analytic pick loses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "io/outfile.h"
#include "io/page.h"
#include "io/progress.h"
#include "io/tsv.h"
#include "measure/timing.h"
#include "cmd/tune.h"
#include "../../../runtime/ht_cost.h"
#include "../../../runtime/ht_pick.h"

enum { HEAD_BYTES = 1800, FILL_BYTES = 1 << 22, NO_PARTS = -1 };

struct tuning {
    struct session session;
    struct timing_plan plan;
    struct shape_list shapes;
    struct tune_log log;
    struct progress progress;
    const struct ht_set_desc *set; /* whose kernels are timed: the session's, or its FP64 half */
    int is_fp64;
    void *fill;        /* FILL_BYTES of data, repeated over operands */
    double stop_at;    /* progress_clock; 0: never */
    int every_split;   /* --splits */
    int stopped, measured;
    char head[HEAD_BYTES];
};

struct call {
    struct session *session;
    struct session_problem *problem;
};

static int call_packed(void *context, struct cli_error *f) {
    const struct call *c = context;
    return session_multiply_packed(c->session, c->problem, f);
}

/* Uniform in [-1, 1): a linear congruence is random enough for power and timing. */
static void *make_fill(int is_fp64) {
    void *const fill = malloc(FILL_BYTES);
    uint64_t x = 12345;
    for (int i = 0; fill != NULL && i < FILL_BYTES / (is_fp64 ? 8 : 4); i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (is_fp64)
            ((double *)fill)[i] = (double)(int64_t)x * 0x1p-63;
        else
            ((float *)fill)[i] = (float)(int32_t)(x >> 32) * 0x1p-31f;
    }
    return fill;
}

/* Device memory, filled piece by piece, so that the host needs no copy of a large operand. */
static int allocate(const struct tuning *t, void **memory, int64_t bytes, struct cli_error *f) {
    int status = session_device_check(ht_dev_alloc(memory, (size_t)bytes), "device memory", f);
    for (int64_t at = 0; at < bytes && status == 0; at += FILL_BYTES) {
        const int64_t part = bytes - at < FILL_BYTES ? bytes - at : FILL_BYTES;
        status = session_device_check(ht_dev_upload((char *)*memory + at, t->fill, (size_t)part), "copy to the device", f);
    }
    return status;
}

static int fill_problem(struct tuning *t, struct session_problem *p, struct cli_error *f) {
    const int64_t size = t->is_fp64 ? 8 : 4, bytes[3] = {p->m * p->k * size, p->k * p->n * size, p->m * p->n * size};
    void **const memory[3] = {&p->a, &p->b, &p->c};
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++)
        status = allocate(t, memory[i], bytes[i], f);
    return status;
}

static struct session_problem problem_of(const struct tuning *t, const struct shape *s) {
    return (struct session_problem){.type = t->is_fp64 ? HALFTONE_FP64 : HALFTONE_FP32, .trans_a = 'N', .trans_b = 'N',
                                    .m = s->m, .n = s->n, .k = s->k, .lda = s->m, .ldb = s->k, .alpha = 1};
}

/* What the library does with the shape by this kernel; NULL: by its choice. Later calls run so. */
static int ask(struct tuning *t, const struct session_problem *p, const char *scheme, const char *kernel, struct halftone_plan *plan,
               struct cli_error *f) {
    return session_select(&t->session, p->type, scheme, kernel, f) == 0 ? session_query(&t->session, p, plan, f) : -1;
}

/* NULL: the set has none. */
static const struct ht_kernel_desc *kernel_named(const struct ht_set_desc *set, const char *name) {
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].name, name) == 0)
            return &set->kernel[i];
    return NULL;
}

struct pick {
    const char *kernel;
    int splits;
};

/* What the library picks of the kernels that are timed. Where a matrix would be read as it is (few_rows), which is none of them, its choice
 * for packed operands. */
static int ask_pick(struct tuning *t, const struct session_problem *p, const char *scheme, struct pick *pick, struct cli_error *f) {
    const struct ht_shape shape = {p->m, p->n, p->k, 1, 1};
    struct halftone_plan plan;
    if (ask(t, p, scheme, NULL, &plan, f) != 0)
        return -1;
    pick->kernel = plan.kernel;
    pick->splits = plan.splits;
    if (kernel_named(t->set, plan.kernel) == NULL) {
        const struct ht_choice choice = ht_pick(t->set, scheme, shape, HT_PARTIAL_LIMIT_BYTES);
        pick->kernel = t->set->kernel[choice.kernel].name;
        pick->splits = choice.splits;
    }
    return 0;
}

/* Of FP64's the whole call. */
static double predicted_of(const struct tuning *t, const struct halftone_plan *plan) {
    return (double)(t->is_fp64 ? plan->predicted_ns : plan->kernel_ns) / 1000;
}

/* The number of parts of k to time a kernel with after `parts`; before the first and after the last NO_PARTS. As many as the library has,
 * which is 0, or with --splits, where kernels read the operands as they are, all that it weighs. */
static int next_parts(const struct tuning *t, const struct ht_kernel_desc *k, const struct shape *s, int parts) {
    if (!t->every_split || !k->tile.unpacked || k->variant[0] != '\0')
        return parts == NO_PARTS ? 0 : NO_PARTS;
    const struct ht_problem problem = {s->m, s->n, s->k, 1, 1};
    const int next = ht_next_split(&k->tile, &problem, HT_PARTIAL_LIMIT_BYTES, parts == NO_PARTS ? 0 : parts);
    return next > 0 ? next : NO_PARTS;
}

/* What the model says of a kernel in so many parts. */
static double predicted_us(const struct ht_set_desc *set, const struct ht_kernel_desc *k, const struct shape *s, int splits) {
    const struct ht_problem problem = {s->m, s->n, s->k, 1, splits};
    return (double)ht_kernel_ns(set, k, &problem) / 1000;
}

/* On packed operands, of FP64 products the whole call; in as many parts as the library has. */
static int time_own(struct tuning *t, struct session_problem *p, const struct ht_kernel_desc *k, struct timing *timing,
                    struct tune_row *row, struct cli_error *f) {
    struct halftone_plan plan;
    struct call call = {&t->session, p};
    if (ask(t, p, k->scheme, k->name, &plan, f) != 0)
        return -1;
    row->splits = plan.splits;
    row->predicted_us = predicted_of(t, &plan);
    return timing_measure(&t->plan, call_packed, &call, timing, f);
}

/* One call of a kernel that reads the operands as they are, its k in a number of parts of choice, where the library has its own.
 * Neither operand transposed, alpha 1, beta 0. */
struct launch_direct {
    const struct ht_kernel_desc *kernel;
    int (*reduce)(const struct ht_gemm_args *args, void *stream);
    struct ht_gemm_args args;
    void *parts; /* device memory */
};

/* p: its matrices are on the device. launch_direct_close, whatever comes back. */
static int launch_direct_open(struct launch_direct *c, const struct ht_set_desc *set, const struct ht_kernel_desc *kernel,
                    const struct session_problem *p, int splits, struct cli_error *f) {
    struct ht_gemm_args *g = &c->args;
    memset(c, 0, sizeof *c);
    c->kernel = kernel;
    c->reduce = set->reduce;
    for (int i = 0; i < set->schemes; i++)
        if (strcmp(set->scheme[i].name, kernel->scheme) == 0)
            g->fma_only = p->k <= set->scheme[i].simt_k_max;
    const int64_t bytes = ht_partial_bytes(p->m, p->n, 1, splits, 4);
    if (session_device_check(ht_dev_check(kernel->init()), "kernel", f) != 0 ||
        (bytes > 0 && session_device_check(ht_dev_alloc(&c->parts, (size_t)bytes), "device memory", f) != 0))
        return -1;
    g->a = (struct ht_view){.src = p->a, .ld = p->lda, .rows = (int)p->m, .k = (int)p->k};
    g->b = (struct ht_view){.src = p->b, .ld = p->ldb, .rows = (int)p->n, .k = (int)p->k, .k_contiguous = 1};
    g->to = (struct ht_result){.c = p->c, .ldc = p->m, .alpha.f32 = 1};
    g->partial = c->parts;
    g->m = (int)p->m;
    g->n = (int)p->n;
    g->splits = splits;
    g->batch = 1;
    return 0;
}

/* Asynchronous; as timing_measure wants it. */
static int launch_direct_run(void *launch, struct cli_error *f) {
    const struct launch_direct *c = launch;
    int code = ht_launch_gemm(c->kernel, &c->args, NULL);
    if (code == 0 && c->args.splits > 1)
        code = c->reduce(&c->args, NULL);
    return session_device_check(ht_dev_check(code), "launch", f);
}

static void launch_direct_close(struct launch_direct *c) {
    (void)ht_dev_stream_sync(NULL);
    if (c->parts != NULL)
        (void)ht_dev_free(c->parts);
}

static int time_parts(struct tuning *t, struct session_problem *p, const struct ht_kernel_desc *k, struct timing *timing,
                      struct tune_row *row, struct cli_error *f) {
    struct launch_direct call;
    row->predicted_us = predicted_us(t->set, k, &row->shape, row->splits);
    int status = launch_direct_open(&call, t->set, k, p, row->splits, f);
    AND_THEN(status, timing_measure(&t->plan, launch_direct_run, &call, timing, f));
    launch_direct_close(&call);
    return status;
}

/* A row of the table. parts 0: the library's. */
static int measure(struct tuning *t, struct session_problem *p, const struct ht_kernel_desc *k, int parts,
                   const struct pick *pick, struct cli_error *f) {
    struct timing timing;
    struct tune_row row = {.shape = {p->m, p->n, p->k}, .splits = parts};
    if ((parts == 0 ? time_own(t, p, k, &timing, &row, f) : time_parts(t, p, k, &timing, &row, f)) != 0)
        return -1;
    row.is_pick = strcmp(k->name, pick->kernel) == 0 && row.splits == pick->splits;
    row.measured_us = timing.median_s * 1e6;
    row.least_us = timing.least_s * 1e6;
    row.most_us = timing.most_s * 1e6;
    row.clock_mhz = timing.clock_mhz;
    snprintf(row.scheme, sizeof row.scheme, "%s", k->scheme);
    snprintf(row.kernel, sizeof row.kernel, "%s", k->name);
    snprintf(row.variant, sizeof row.variant, "%s", k->variant[0] ? k->variant : "-");
    t->measured++;
    return tune_append(&t->log, &row, f);
}

/* What the table lacks of a kernel. */
static int run_kernel(struct tuning *t, struct session_problem *p, const struct ht_kernel_desc *k, const struct pick *pick, int *packed,
                      struct cli_error *f) {
    const struct shape shape = {p->m, p->n, p->k};
    for (int parts = NO_PARTS; (parts = next_parts(t, k, &shape, parts)) != NO_PARTS;) {
        char what[200];
        if (tune_find(&t->log, &shape, k->name, parts) != NULL)
            continue;
        t->stopped = t->stopped || (t->stop_at > 0 && progress_clock() >= t->stop_at);
        if (t->stopped)
            return 0;
        if (p->a == NULL && fill_problem(t, p, f) != 0)
            return -1;
        if (!*packed && (session_pack_prepare(&t->session, p, f) != 0 || session_pack(&t->session, p, f) != 0))
            return -1;
        *packed = 1;
        snprintf(what, sizeof what, "%lld x %lld x %lld %s", (long long)shape.m, (long long)shape.n,
                 (long long)shape.k, k->name);
        progress_step(&t->progress, what);
        if (measure(t, p, k, parts, pick, f) != 0)
            return -1;
    }
    return 0;
}

/* All kernels of one scheme; packs once. */
static int run_scheme(struct tuning *t, struct session_problem *p, const char *scheme, struct cli_error *f) {
    struct pick pick;
    int packed = 0, status = 0;
    if (ask_pick(t, p, scheme, &pick, f) != 0)
        return -1;
    for (int i = 0; i < t->set->kernels && status == 0 && !t->stopped; i++)
        if (strcmp(t->set->kernel[i].scheme, scheme) == 0)
            status = run_kernel(t, p, &t->set->kernel[i], &pick, &packed, f);
    return status;
}

static int is_chosen(const struct name_list *schemes, const char *name) {
    for (int i = 0; i < schemes->count; i++)
        if (strcmp(schemes->name[i], name) == 0)
            return 1;
    return schemes->count == 0;
}

/* FP64's integer sums are not cut into parts of k: beyond what they hold there is nothing to time. */
static int takes(const struct tuning *t, const char *scheme, int64_t k) {
    const struct ht_scheme_desc *const s = ht_find_scheme(t->set, scheme);
    return !t->is_fp64 || s->exact_k == 0 || k <= s->exact_k;
}

static int run_shapes(struct tuning *t, const struct name_list *schemes, struct cli_error *f) {
    int status = 0;
    for (int i = 0; i < t->shapes.count && status == 0 && !t->stopped; i++) {
        const struct shape *s = &t->shapes.shape[i];
        struct session_problem p = problem_of(t, s);
        for (int k = 0; k < t->set->schemes && status == 0; k++)
            if (is_chosen(schemes, t->set->scheme[k].name) && takes(t, t->set->scheme[k].name, s->k))
                status = run_scheme(t, &p, t->set->scheme[k].name, f);
        session_problem_close(&p);
    }
    return status;
}

/* What is still to do, and what the table has already. */
static int count_missing(const struct tuning *t, const struct name_list *schemes, int *all) {
    int missing = 0;
    *all = 0;
    for (int i = 0; i < t->shapes.count; i++)
        for (int n = 0; n < t->set->kernels; n++) {
            const struct ht_kernel_desc *k = &t->set->kernel[n];
            const struct shape *s = &t->shapes.shape[i];
            if (!is_chosen(schemes, k->scheme) || !takes(t, k->scheme, s->k))
                continue;
            for (int parts = NO_PARTS; (parts = next_parts(t, k, s, parts)) != NO_PARTS; ++*all)
                missing += tune_find(&t->log, s, k->name, parts) == NULL;
        }
    return missing;
}

static int print_summary(const struct ht_set_desc *set, const struct tune_log *log, struct cli_error *f) {
    char mean[RATIO_BYTES], worst[RATIO_BYTES];
    int count = 0;
    struct tune_case *cases = tune_cases(log, &count);
    if (cases == NULL)
        return cli_error_memory(f, (double)log->rows * (double)sizeof *cases, "a summary");
    printf("%-10s %6s %15s %8s\n", "scheme", "shapes", "pick/best mean", "worst");
    for (int i = -1; i < set->schemes; i++) {
        const struct tune_summary s = tune_summarise(cases, count, i < 0 ? NULL : set->scheme[i].name);
        if (s.cases == 0)
            continue;
        const struct tune_row *w = s.worst_case.pick;
        printf("%-10s %6d %15s %8s  at %lld x %lld x %lld, where %s is best\n",
               i < 0 ? "all" : set->scheme[i].name, s.cases, ratio_text(mean, "%.1f %%", 100 * s.geometric_mean, 1),
               ratio_text(worst, "%.1f %%", 100 * s.worst, 1),
               (long long)w->shape.m, (long long)w->shape.n, (long long)w->shape.k,
               s.worst_case.best->kernel);
    }
    free(cases);
    return 0;
}

/* The table as it stands, whose picks and predictions may be this set's, not the file's. */
static int write_page(const struct tune_log *log, const char *head, const char *path, struct cli_error *f) {
    FILE *table = page_table(f);
    if (table == NULL)
        return -1;
    tune_print(log, head, table);
    const int status = page_write("tune", table, path, f);
    fclose(table);
    return status;
}

static unsigned mark_bytes(unsigned mark, const void *data, size_t size) {
    const unsigned char *c = data;
    while (size-- > 0)
        mark = (mark ^ *c++) * 16777619u;
    return mark;
}

/* Names, tiles and costs of all kernels, which are 32-bit integers: another set or another model is another table (FNV-1a, 32 bits). */
static unsigned set_mark(const struct ht_set_desc *set) {
    unsigned mark = 2166136261u;
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *k = &set->kernel[i];
        mark = mark_bytes(mark, k->name, strlen(k->name));
        mark = mark_bytes(mark, &k->tile, sizeof k->tile);
        mark = mark_bytes(mark, &k->cost, sizeof k->cost);
    }
    return mark;
}

/* Only what must agree for rows to belong together. */
static void make_head(struct tuning *t) {
    const struct ht_set_desc *set = t->set;
    snprintf(t->head, sizeof t->head,
             "# halftone tune: %s, set %s (%s), kernels and model %08x\n# device: %s, %d multiprocessors\n# "
             "%s, split-K "
             "as the library chooses it%s; median, least and most over the batches, whose short calls are queued before they start\n%s",
             halftone_version(), set->gpu, set->isa, set_mark(set), t->session.device.name,
             t->session.device.sms,
             t->is_fp64 ? "FP64 products, whole calls, packing and what puts residues together too" : "kernel only, from packed operands",
             t->every_split ? ", and every other that it weighs where kernels read the operands as they are" : "",
             t->session.device.simulated
                 ? "# SIMULATOR: times are CPU time of the simulator and say nothing of a GPU\n"
                 : "");
}

/* Names of the kind that is timed. */
static int check_schemes(struct tuning *t, const struct name_list *schemes, struct cli_error *f) {
    for (int i = 0; i < schemes->count; i++)
        if (strcmp(schemes->name[i], "auto") == 0)
            return cli_error_usage(f, "--schemes: auto is no scheme of its own; `halftone info` lists them");
        else if (t->is_fp64 ? (session_kinds(&t->session, schemes->name[i]) & SESSION_FP64) == 0 : session_scheme_known(&t->session, schemes->name[i], f) != 0)
            return t->is_fp64 ? session_select(&t->session, HALFTONE_FP64, schemes->name[i], NULL, f) : -1;
    return 0;
}

/* The FP64 half of the session's set, where that is asked for. */
static int choose_set(struct tuning *t, int asked, const char *schemes, struct cli_error *f) {
    if (methods_type(&t->session, asked, schemes, NULL, &t->is_fp64, f) != 0)
        return -1;
    t->set = t->is_fp64 ? t->session.set->fp64 : t->session.set;
    if (t->set == NULL)
        return cli_error_set(f, "this library has no scheme for FP64 products; build the set with SCHEMES=...,native64,crt15");
    return t->is_fp64 && t->every_split
               ? cli_error_usage(f, "--splits: FP32's kernels alone take a number of parts of choice; leave it out for FP64 products")
               : 0;
}

static int run_all(struct tuning *t, const struct name_list *schemes, const char *out, const char *html,
                   struct cli_error *f) {
    int all = 0;
    if (t->set->tuned_count > 0)
        return cli_error_set(f, "this set was built with TUNED=, so its picks are not the model's; build it "
                            "without and run again");
    if (check_schemes(t, schemes, f) != 0)
        return -1;
    make_head(t);
    if (tune_open(&t->log, out, t->head, f) != 0)
        return -1;
    const int missing = count_missing(t, schemes, &all);
    fputs(t->head, stdout);
    printf("# %d shapes, %d measurements", t->shapes.count, all);
    printf(missing < all ? ", of which %s has %d\n" : "\n", out, all - missing);
    fflush(stdout);
    t->fill = make_fill(t->is_fp64);
    progress_start(&t->progress, missing);
    int status = t->fill != NULL ? run_shapes(t, schemes, f) : cli_error_memory(f, FILL_BYTES, "data");
    progress_end(&t->progress);
    free(t->fill);
    if (status == 0 && t->stopped)
        printf("stopped by --budget after %d of %d; the same command goes on from there\n", t->measured,
               missing);
    AND_THEN(status, print_summary(t->set, &t->log, f));
    if (status == 0 && html != NULL)
        status = write_page(&t->log, t->head, html, f);
    tune_close(&t->log);
    return status;
}

/* What this set's model says of a measured row. splits 0: the set has no such kernel. */
static int predict(struct tuning *t, struct tune_row *r, struct cli_error *f) {
    const struct session_problem p = problem_of(t, &r->shape);
    struct halftone_plan plan;
    struct pick pick;
    const struct ht_kernel_desc *const kernel = kernel_named(t->set, r->kernel);
    const int splits = r->splits;
    r->splits = 0;
    if (kernel == NULL)
        return 0;
    if (ask_pick(t, &p, r->scheme, &pick, f) != 0)
        return -1;
    r->is_pick = strcmp(pick.kernel, r->kernel) == 0;
    if (ask(t, &p, r->scheme, r->kernel, &plan, f) != 0)
        return -1;
    r->splits = plan.splits;
    r->predicted_us = predicted_of(t, &plan);
    if (plan.splits != splits && tune_find(&t->log, &r->shape, r->kernel, plan.splits) != NULL) { /* one of several that were timed */
        r->splits = splits;
        r->is_pick = 0;
        r->predicted_us = predicted_us(t->set, kernel, &r->shape, splits);
    }
    return 0;
}

/* The half of the set that a row is of: a table may be FP32's and FP64's, joined. Schemes that nobody knows count as FP32's. */
static void take_half_of(struct tuning *t, const struct tune_row *r) {
    t->is_fp64 = session_kinds(&t->session, r->scheme) == SESSION_FP64;
    t->set = t->is_fp64 ? t->session.set->fp64 : t->session.set;
}

/* What the table says of the rows of each half; of an empty one nothing. */
static int print_halves(struct tuning *t, struct cli_error *f) {
    struct tune_log half = t->log;
    int status = 0;
    half.row = malloc(((size_t)t->log.rows + 1) * sizeof *half.row);
    if (half.row == NULL)
        return cli_error_memory(f, (double)t->log.rows * (double)sizeof *half.row, "a summary");
    for (int is_fp64 = 0; is_fp64 < 2 && status == 0; is_fp64++) {
        half.rows = 0;
        for (int i = 0; i < t->log.rows; i++) {
            take_half_of(t, &t->log.row[i]);
            if (t->is_fp64 == is_fp64)
                half.row[half.rows++] = t->log.row[i];
        }
        if (half.rows > 0)
            status = print_summary(is_fp64 ? t->session.set->fp64 : t->session.set, &half, f);
    }
    free(half.row);
    return status;
}

/* The picks and predictions of this set's model for the times of another run. A row whose kernel would now have another
 * number of parts, which was not timed, is left out and counted, ablation variants by themselves. */
static int run_again(struct tuning *t, const char *table, const char *html, struct cli_error *f) {
    int kept = 0, lost = 0, lost_picks = 0, variants = 0;
    if (tune_read(&t->log, table, t->head, sizeof t->head, f) != 0)
        return -1;
    for (int i = 0; i < t->log.rows; i++) {
        struct tune_row r = t->log.row[i];
        take_half_of(t, &r);
        if (predict(t, &r, f) != 0)
            return -1;
        if (r.splits == t->log.row[i].splits) {
            t->log.row[kept++] = r;
        } else if (strcmp(r.variant, "-") != 0) { /* which the library never picks */
            variants++;
        } else {
            lost++;
            lost_picks += r.splits > 0 && r.is_pick;
        }
    }
    t->log.rows = kept;
    printf("%s# picks and predictions of today's model; left out, because their kernel is not there or would "
           "be split "
           "otherwise: %d of %d times, %d of them of a pick, and %d of ablation variants\n",
           t->head, lost, kept + lost, lost_picks, variants);
    int status = print_halves(t, f);
    if (status == 0 && html != NULL)
        status = write_page(&t->log, t->head, html, f);
    tune_close(&t->log);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct tuning t;
    const char *again = NULL, *file = NULL, *schemes = NULL, *seconds = NULL, *budget = NULL, *out = NULL,
               *html = NULL, *none[1];
    struct name_list names = {NULL, NULL, 0};
    int count = 0, is_fp64 = 0;
    double budget_seconds = 0;
    const struct option options[] = {{"--shapes", &file, NULL},     {"--out", &out, NULL},
                                     {"--schemes", &schemes, NULL}, {"--seconds", &seconds, NULL},
                                     {"--budget", &budget, NULL},   {"--html", &html, NULL},
                                     {"--again", &again, NULL},     {"--splits", NULL, &t.every_split},
                                     {"--fp64", NULL, &is_fp64},    {NULL, NULL, NULL}};
    memset(&t, 0, sizeof t);
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        args_seconds("--seconds", seconds != NULL ? seconds : "0.05", &t.plan.seconds, f) != 0 ||
        (budget != NULL && args_seconds("--budget", budget, &budget_seconds, f) != 0))
        return -1;
    if (again == NULL && (file == NULL || out == NULL))
        return cli_error_usage(
            f, "--shapes FILE and --out FILE.tsv are needed; bench/shapes/public.txt holds public shapes");
    if (again != NULL && args_refuse(options, "--shapes --out --schemes --seconds --budget --splits --fp64",
                                     "--again measures nothing and takes every row of its table", f) != 0)
        return -1;
    t.stop_at = budget != NULL ? progress_clock() + budget_seconds : 0;
    int status = outfile_apart("--out", out, "--html", html, f);
    AND_THEN(status, outfile_apart(again != NULL ? "--again" : "--shapes", again != NULL ? again : file, "--html", html, f));
    AND_THEN(status, page_check(html, f));
    if (status == 0 && file != NULL)
        status = shapes_read(&t.shapes, file, f);
    if (status == 0 && schemes != NULL)
        status = args_names("--schemes", schemes, &names, f);
    AND_THEN(status, session_open(&t.session, f));
    if (status == 0) {
        struct device_info *facts = t.session.device.simulated ? NULL : device_info_open();
        t.plan.simulated = t.session.device.simulated;
        t.plan.facts = facts;
        t.plan.queued = 1;
        status = again != NULL ? run_again(&t, again, html, f) : choose_set(&t, is_fp64, schemes, f);
        if (status == 0 && again == NULL)
            status = run_all(&t, &names, out, html, f);
        device_info_close(facts);
        session_close(&t.session);
    }
    shapes_free(&t.shapes);
    args_names_free(&names);
    return status;
}

const struct command cmd_tune = {
    "tune", "times every kernel over many shapes; what the analytic pick loses",
    "Usage: halftone tune --shapes FILE --out FILE.tsv [--schemes x,y] [--fp64 | --splits] [--seconds S] [--budget S] "
    "[--html FILE]\n\n"
    "Times every kernel of the set, ablation variants too, from packed operands on every shape, and compares "
    "what the\n"
    "library picks with the fastest kernel it could have picked. Every row of the table is on the disk "
    "before the next\n"
    "measurement: stopped in any way, the same command goes on. `make GPU=... TUNED=FILE.tsv` builds a set "
    "that takes the\n"
    "fastest kernel for these shapes. In the simulator times mean nothing.\n\n"
    "  --shapes FILE  lines `m n k`, # comments (bench/shapes/public.txt)\n"
    "  --fp64         FP64 products, also where --schemes names theirs (native64, crt15): whole calls of every kernel; the table joined\n"
    "                 to another of the same set (cat) is one for TUNED=\n"
    "  --splits       every number of parts of k that the library weighs, where kernels read the operands as they are;\n"
    "                 else each kernel in as many as the model gives it\n"
    "  --seconds S    per measurement, after a warm-up (default 0.05)\n"
    "  --budget S     stops before the measurement that would begin after S seconds\n"
    "  --html FILE    a page: measured against predicted, loss for every shape; needs python3\n"
    "  --again TSV    measures nothing: what this set picks and predicts, held against the times of a table,\n"
    "                 FP32's, FP64's or both joined; takes --html and nothing else\n",
    run, 0};
