/* cmd_contract: `halftone contract`: whether the default keeps the accuracy contract (ACCURACY.md, section 13), beside native
 * FP32 on the same data, and FP64 products the bound that halftone_dquery gives. Shows what is, and fails where a promise is broken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "measure/baseline_cublas.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "cmd/special_values.h"
#include "cmd/stamp.h"
#include "measure/sample.h"
#include "io/tsv.h"

enum { SIZES_MOST = 16, HEAD_BYTES = 2 * STAMP_BYTES };

static const struct tsv_column contract_columns[] = {
    {"family", 1}, {"n", 1}, {"k", 1}, {"rel_frobenius", 1}, {"native_rel_frobenius", 1},
    {"rel_frobenius_ratio", 1}, {"grade", 1}, {"native_grade", 1}, {"grade_ratio", 1}, {"allowed", 1},
    {"places", 1}, {"verdict", 1}};

static const struct tsv_column wide_columns[] = {
    {"family", 1}, {"n", 1}, {"k", 1}, {"scheme", 1}, {"bound", 1}, {"of", 1}, {"worst/bound", 1},
    {"wrong_class", 1}, {"verdict", 1}};

struct contract {
    int type; /* of the products */
    struct session session;
    struct baseline *baseline;
    struct device_info *facts;
    struct stamp stamp;
    const char *out, *scheme;
    int64_t n[SIZES_MOST], k[SIZES_MOST], rows;
    int ns, ks, families;
    const struct family *family[SAMPLE_FAMILIES_MOST];
    struct tsv table, broken; /* all rows; those that break the contract */
    struct progress progress;
    char head[HEAD_BYTES];
    int violations[SAMPLE_FAMILIES_MOST], trials;
};

/* Errors as large as native FP32's are allowed on these, twice that on all others. */
static double allowed_of(const struct family *family) {
    static const char *const friendly[] = {"uniform", "uniform01", "llm", "normal"};
    for (size_t i = 0; i < sizeof friendly / sizeof *friendly; i++)
        if (strcmp(family->name, friendly[i]) == 0)
            return 1;
    return 2;
}

static int64_t count_places(const float *ours, const float *native, int64_t count) {
    int64_t different = 0;
    for (int64_t i = 0; i < count; i++)
        different += metrics_class(ours[i]) != metrics_class(native[i]);
    return different;
}

/* Where native FP32 itself is not finite, or the truth is not, there is no error to compare: both count as exact. */
static void leave_out(const struct sample *t, float *ours, float *native) {
    for (int64_t i = 0; i < t->truth.count; i++)
        if (metrics_class(native[i]) != 0 || metrics_class((float)t->truth.exact[i]) != 0) {
            ours[i] = native[i] = 0;
            t->reference.exact[i] = t->reference.magnitude[i] = 0;
        }
}

/* A ratio of errors; an exact native result allows no error. */
static double ratio_of(double ours, double native) {
    return ours == 0 ? 0 : ours / native;
}

static void cells(struct tsv *table, const struct sample *t, const struct metrics *ours,
                  const struct metrics *native, int64_t places, const char *verdict) {
    tsv_text(table, t->family->name);
    tsv_integer(table, t->problem.n);
    tsv_integer(table, t->problem.k);
    tsv_real(table, ours->rel_frobenius, 3);
    tsv_real(table, native->rel_frobenius, 3);
    tsv_real(table, ratio_of(ours->rel_frobenius, native->rel_frobenius), 3);
    tsv_real(table, ours->grade, 4);
    tsv_real(table, native->grade, 4);
    tsv_real(table, ratio_of(ours->grade, native->grade), 3);
    tsv_real(table, allowed_of(t->family), 3);
    tsv_integer(table, places);
    tsv_text(table, verdict);
    tsv_end_row(table);
}

/* Not `>`: NaN must not pass. */
static int is_worse(double ours, double native, double allowed) {
    return !(ours <= allowed * native);
}

static int judge(struct contract *c, const struct sample *t, const float *native_sample_, int64_t places) {
    struct metrics ours, native;
    char verdict[48] = "";
    const double allowed = allowed_of(t->family);
    metrics_compute(&t->truth, t->rows, &ours);
    metrics_compute(&t->truth, native_sample_, &native);
    if (is_worse(ours.rel_frobenius, native.rel_frobenius, allowed))
        strcat(verdict, "rel_frobenius ");
    if (is_worse(ours.grade, native.grade, allowed))
        strcat(verdict, "grade ");
    if (places > 0)
        strcat(verdict, "places ");
    const int broken = verdict[0] != '\0';
    verdict[broken ? strlen(verdict) - 1 : 0] = '\0';
    cells(&c->table, t, &ours, &native, places, broken ? verdict : "kept");
    if (broken)
        cells(&c->broken, t, &ours, &native, places, verdict);
    return broken;
}

/* Native FP32 of the whole product into `whole` and of the sampled rows into `sample`. Without cuBLAS the CPU's loop has
 * all rows already. */
static int native_product(struct contract *c, struct sample *t, float *whole, float *sample, struct cli_error *f) {
    if (baseline_fp32_sample(c->baseline, &t->problem, &t->reference, whole, sample, f) != 0)
        return -1;
    if (c->baseline == NULL)
        memcpy(whole, sample, (size_t)(t->problem.m * t->problem.n) * sizeof *whole);
    return 0;
}

static int compare(struct contract *c, struct sample *t, int family, float *whole, float *sample,
                   struct cli_error *f) {
    if (native_product(c, t, whole, sample, f) != 0 || session_multiply(&c->session, &t->problem, f) != 0 ||
        session_problem_result(&t->problem, t->whole, f) != 0)
        return -1;
    const int64_t places = count_places(t->whole, whole, t->problem.m * t->problem.n);
    reference_sample(&t->reference, t->whole, t->problem.m, t->rows);
    leave_out(t, t->rows, sample);
    c->violations[family] += judge(c, t, sample, places);
    c->trials++;
    return 0;
}

/* ---- FP64 */

struct finding {
    double worst; /* largest error over the bound */
    int64_t wrong_class;
};

/* Largest magnitude of k elements `step` apart; NaN where one is not finite. */
static double most_of(const double *x, int64_t k, int64_t step) {
    double most = 0;
    for (int64_t l = 0; l < k; l++) {
        const double size = fabs(x[l * step]);
        most = size <= most ? most : isfinite(size) ? size : (double)NAN;
        if (isnan(most))
            break;
    }
    return most;
}

/* The bound is units of 2^-53 |A||B|, or of 2^-53 k max|a| max|b| for schemes that see nothing else: then a row or column with NaN or Inf is NaN. */
static void judge_column(const struct sample *t, const struct halftone_plan *plan, const double *row_most, int64_t j, struct finding *out) {
    const struct session_problem *const p = &t->problem;
    const struct reference *const r = &t->reference;
    const double column_most = plan->fixed_point ? most_of((const double *)t->b + j * p->ldb, p->k, 1) : 0;
    for (int64_t s = 0; s < r->rows; s++) {
        const int64_t at = j * r->rows + s;
        const double result = ((const double *)t->whole)[r->row[s] + j * p->m], largest = row_most[s] * column_most;
        const int is_nan = plan->fixed_point ? isnan(largest) : isnan(r->exact[at]);
        if (is_nan || isinf(r->exact[at])) {
            out->wrong_class += is_nan ? !isnan(result) : result != r->exact[at];
            continue;
        }
        const double allowed = (double)plan->bound_units * 0x1p-53 * (plan->fixed_point ? (double)p->k * largest : r->magnitude[at]) + 0x1p-1074;
        const double error = fabs((result - r->exact[at]) - r->low[at]);
        out->wrong_class += !isfinite(result);
        if (isfinite(result) && error / allowed > out->worst)
            out->worst = error / allowed;
    }
}

static int compare_wide(struct contract *c, struct sample *t, int family, struct cli_error *f) {
    const struct session_problem *const p = &t->problem;
    struct halftone_plan plan;
    struct finding found = {0, 0};
    double *const row_most = malloc(((size_t)t->reference.rows + 1) * sizeof *row_most);
    if (row_most == NULL)
        return cli_error_memory(f, (double)t->reference.rows * 8, "rows");
    int status = session_query(&c->session, p, &plan, f);
    AND_THEN(status, session_multiply(&c->session, p, f));
    AND_THEN(status, session_problem_result(p, t->whole, f));
    for (int64_t s = 0; s < t->reference.rows && status == 0; s++)
        row_most[s] = plan.fixed_point ? most_of((const double *)t->a + t->reference.row[s], p->k, p->lda) : 0;
    for (int64_t j = 0; j < p->n && status == 0; j++)
        judge_column(t, &plan, row_most, j, &found);
    free(row_most);
    if (status != 0)
        return -1;
    const int broken = found.worst > 1 || found.wrong_class > 0;
    tsv_text(&c->table, t->family->name);
    tsv_integer(&c->table, p->n);
    tsv_integer(&c->table, p->k);
    tsv_text(&c->table, plan.scheme);
    tsv_integer(&c->table, plan.bound_units);
    tsv_text(&c->table, plan.fixed_point ? "k max|a| max|b|" : "|A||B|");
    tsv_real(&c->table, found.worst, 3);
    tsv_integer(&c->table, found.wrong_class);
    tsv_text(&c->table, broken ? "broken" : "kept");
    tsv_end_row(&c->table);
    c->violations[family] += broken;
    c->trials++;
    return 0;
}

static int compare_fp32(struct contract *c, struct sample *t, int family, struct cli_error *f) {
    const size_t bytes = (size_t)(t->problem.m * t->problem.n) * sizeof(float);
    float *whole = malloc(bytes), *sample = malloc(bytes);
    const int status = whole == NULL || sample == NULL ? cli_error_memory(f, 2 * (double)bytes, "native results")
                                                       : compare(c, t, family, whole, sample, f);
    free(whole);
    free(sample);
    return status;
}

/* ---- both */

static int run_trial(struct contract *c, int family, int64_t n, int64_t k, struct cli_error *f) {
    const int is_wide = c->type == HALFTONE_FP64;
    const struct shape shape = {n, n, k};
    struct sample t;
    char what[96];
    snprintf(what, sizeof what, "%s n = %lld k = %lld", c->family[family]->name, (long long)n, (long long)k);
    progress_step(&c->progress, what);
    /* Odd n: columns that are not aligned. */
    int status = sample_open(&t, c->type, c->family[family], 1, "NN", &shape, is_wide || n % 2 == 0 ? 0 : 2, is_wide || c->baseline != NULL ? c->rows : 0, f);
    AND_THEN(status, (is_wide ? compare_wide : compare_fp32)(c, &t, family, f));
    sample_close(&t);
    return status;
}

static int run_trials(struct contract *c, struct cli_error *f) {
    int status = 0;
    progress_start(&c->progress, c->families * c->ns * c->ks);
    for (int i = 0; i < c->families && status == 0; i++)
        for (int n = 0; n < c->ns && status == 0; n++)
            for (int k = 0; k < c->ks && status == 0; k++)
                status = run_trial(c, i, c->n[n], c->k[k], f);
    progress_end(&c->progress);
    return status;
}

static int count_broken(const struct contract *c) {
    int total = 0;
    for (int i = 0; i < c->families; i++)
        total += c->violations[i];
    return total;
}

/* What breaks the contract, and how often in each family. */
static int print_verdict(struct contract *c, struct cli_error *f) {
    const int total = count_broken(c);
    if (total > 0 && tsv_print(&c->broken, stdout, f) != 0)
        return -1;
    printf("\n%s beside %s: %d of %d trials break the contract", c->scheme, baseline_fp32_name(c->baseline), total,
           c->trials);
    const char *between = ": ";
    for (int i = 0; i < c->families; i++) {
        if (c->violations[i] > 0) {
            printf("%s%s %d", between, c->family[i]->name, c->violations[i]);
            between = ", ";
        }
    }
    printf("\n");
    return total > 0 ? cli_error_set(f, "%d of %d trials break the contract", total, c->trials) : 0;
}

static int run_errors(struct contract *c, struct cli_error *f) {
    const int columns = (int)(sizeof contract_columns / sizeof contract_columns[0]);
    tsv_init(&c->table, contract_columns, columns);
    tsv_init(&c->broken, contract_columns, columns);
    int status = run_trials(c, f);
    AND_THEN(status, tsv_save(&c->table, c->out, c->head, f));
    AND_THEN(status, print_verdict(c, f));
    tsv_free(&c->table);
    tsv_free(&c->broken);
    return status;
}

static int run_special(struct contract *c, int64_t cases, struct cli_error *f) {
    struct special_values s = {.session = &c->session, .baseline = c->baseline, .cases_most = cases};
    s.single_every = c->session.device.simulated ? 8 : 1;
    int status = special_values_run(&s, f);
    AND_THEN(status, tsv_print(&s.table, stdout, f));
    AND_THEN(status, tsv_save(&s.table, c->out, c->head, f));
    if (status == 0) {
        printf("\n%s beside %s: %lld cases; where NaN or Inf goes in %lld results of another class than native, "
               "of finite numbers %lld neither as native nor as the exact result (native itself overflows "
               "on its way in %lld)\n",
               c->scheme, baseline_fp32_name(c->baseline), (long long)s.cases, (long long)s.differences,
               (long long)s.overflows, (long long)s.native_overflows);
        if (s.differences + s.overflows > 0)
            status = cli_error_set(f, "%lld results are NaN, Inf or finite where they must not be",
                               (long long)(s.differences + s.overflows));
    }
    special_values_free(&s);
    return status;
}

static void make_head(struct contract *c) {
    char stamp[STAMP_BYTES];
    stamp_write(stamp, &c->stamp, &c->session, c->baseline, c->facts);
    snprintf(c->head, sizeof c->head,
             "%s# halftone contract: %s beside %s; errors of at most %lld rows against FP64; places: results "
             "of another class (NaN, "
             "+Inf, -Inf, finite) than native's, of all n x n\n",
             stamp, c->scheme, baseline_fp32_name(c->baseline),
             c->baseline != NULL ? (long long)c->rows : (long long)c->n[c->ns - 1]);
}

static int open_and_run(struct contract *c, int special, int64_t cases, struct cli_error *f) {
    const char *why = "";
    if (session_scheme_known(&c->session, c->scheme, f) != 0)
        return -1;
    if (!c->session.device.simulated) {
        c->baseline = baseline_open(&why);
        c->facts = device_info_open();
        if (c->baseline == NULL)
            fprintf(stderr, "no cuBLAS (%s): native FP32 is the CPU's loop\n", why);
    }
    make_head(c);
    fputs(c->head, stdout);
    int status = session_select(&c->session, HALFTONE_FP32, c->scheme, NULL, f);
    AND_THEN(status, special ? run_special(c, cases, f) : run_errors(c, f));
    baseline_close(c->baseline);
    device_info_close(c->facts);
    return status;
}

/* FP64's names, or --fp64. */
static int run_fp64(struct contract *c, const char *accuracy, struct cli_error *f) {
    char stamp[STAMP_BYTES], method[METHOD_NAME_BYTES];
    snprintf(method, sizeof method, "%s%s", accuracy != NULL ? SESSION_ACCURACY : "", accuracy != NULL ? accuracy : c->scheme);
    stamp_write(stamp, &c->stamp, &c->session, NULL, NULL);
    snprintf(c->head, sizeof c->head,
             "%s# halftone contract of FP64 products: %s; largest error of at most %lld rows over the bound that halftone_dquery gives, in 2^-53 of what `of` "
             "says;\n# elements have 29 more random bits than the families; against sums in twice the precision; wrong_class: NaN, +Inf, -Inf where it must not "
             "be, or not where it must\n",
             stamp, method, (long long)c->rows);
    if (session_select(&c->session, c->type, method, NULL, f) != 0)
        return -1;
    fputs(c->head, stdout);
    tsv_init(&c->table, wide_columns, (int)(sizeof wide_columns / sizeof wide_columns[0]));
    int status = run_trials(c, f);
    if (status == 0 && c->out != NULL)
        status = tsv_write(&c->table, c->out, c->head, f);
    AND_THEN(status, tsv_print(&c->table, stdout, f));
    tsv_free(&c->table);
    const int broken = count_broken(c);
    if (status == 0)
        printf("\n%s: %d of %d trials are beyond their bound\n", method, broken, c->trials);
    return status == 0 && broken > 0 ? cli_error_set(f, "%d of %d trials are beyond their bound", broken, c->trials) : status;
}

static int refuse_others(const struct option *options, int special, struct cli_error *f) {
    return special ? args_refuse(options, "--n --k --families --rows", "--special has products of its own", f)
                   : args_refuse(options, "--cases", "cases are counted by --special", f);
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct contract c = {.stamp = stamp_built()};
    const char *n = NULL, *k = NULL, *families = NULL, *rows = NULL, *cases = NULL, *none[1];
    struct name_list names = {NULL, NULL, 0};
    const char *accuracy = NULL;
    int count = 0, special = 0, fp64 = 0;
    int64_t most = 0;
    const struct option options[] = {{"--n", &n, NULL},
                                     {"--k", &k, NULL},
                                     {"--families", &families, NULL},
                                     {"--scheme", &c.scheme, NULL},
                                     {"--rows", &rows, NULL},
                                     {"--cases", &cases, NULL},
                                     {"--special", NULL, &special},
                                     {"--fp64", NULL, &fp64},
                                     {"--accuracy", &accuracy, NULL},
                                     {"--out", &c.out, NULL},
                                     {"--commit", &c.stamp.commit, NULL},
                                     {"--toolkit", &c.stamp.toolkit, NULL},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 ||
        args_number("--rows", rows != NULL ? rows : "64", 2, 65536, &c.rows, f) != 0 || refuse_others(options, special, f) != 0 ||
        (accuracy != NULL && args_refuse(options, "--scheme", "--accuracy chooses the scheme", f) != 0) || outfile_check(c.out, f) != 0)
        return -1;
    c.scheme = c.scheme != NULL ? c.scheme : "auto";
    if (session_open(&c.session, f) != 0)
        return -1;
    const int simulated = c.session.device.simulated;
    int status = args_numbers("--n", n != NULL ? n : simulated ? "64,65" : "64,257,1024,4096", 1, 16384, c.n, SIZES_MOST, &c.ns, f);
    AND_THEN(status, args_numbers("--k", k != NULL ? k : simulated ? "1,16,257" : "1,16,1000,65536", 1, 262144, c.k, SIZES_MOST, &c.ks, f));
    AND_THEN(status, args_number("--cases", cases != NULL ? cases : simulated ? "60" : "3000", 1, 1000000, &most, f));
    AND_THEN(status, sample_families(families, &names, c.family, &c.families, f));
    AND_THEN(status, methods_type(&c.session, fp64, accuracy == NULL ? c.scheme : NULL, accuracy, &fp64, f));
    if (status == 0 && accuracy != NULL && !fp64)
        status = cli_error_usage(f, "--accuracy takes FP64's: fp64, fp64-fast, or with --fp64 invariant or bits=N; for FP32 name a --scheme");
    if (status == 0 && fp64 && special)
        status = cli_error_usage(f, "--special is for FP32 products");
    c.type = fp64 ? HALFTONE_FP64 : HALFTONE_FP32;
    AND_THEN(status, fp64 ? run_fp64(&c, accuracy, f) : open_and_run(&c, special, most, f));
    session_close(&c.session);
    args_names_free(&names);
    return status;
}

const struct command cmd_contract = {
    "contract", "whether the default keeps the accuracy contract, beside native FP32",
    "Usage: halftone contract [--n 64,257,...] [--k 1,16,...] [--families a,b] [--scheme auto] [--rows N] "
    "[--out FILE.tsv]\n"
    "       halftone contract --special [--cases N] [--scheme auto] [--out FILE.tsv]\n"
    "       halftone contract --fp64 [--scheme S | --accuracy A] [--n N,...] [--k K,...] [--families a,b] [--rows N] [--out FILE.tsv]\n\n"
    "Multiplies n x k by k x n on every input family with the default scheme and native FP32 (cuBLAS SGEMM, "
    "else the\n"
    "CPU) and compares: relative Frobenius error and grade (see `halftone report --help`) at most twice native's, on uniform, "
    "uniform01,\n"
    "llm and normal at most native's; NaN and Inf at the same places. Prints the trials that break this; "
    "fails if any do.\n"
    "--special puts NaN, infinities, the largest numbers and zeros at every place of A, B and C in small "
    "products, with\n"
    "several alpha and beta, batched and one by one, and compares where NaN and Inf come out: as native's where NaN or Inf\n"
    "goes in; where finite numbers overflow, as native's or as the exact result rounded to FP32 (column overflows: neither;\n"
    "native_overflows: native is Inf or NaN where the exact result is finite).\n"
    "--fp64, or a name of FP64's: products of FP64 against the bound that the library gives for each call, on all families; fails\n"
    "where one is broken or NaN or Inf is elsewhere than it must be.\n\n"
    "  --n, --k       default 64,257,1024,4096 and 1,16,1000,65536; in the simulator 64,65 and 1,16,257\n"
    "  --families LIST default all\n"
    "  --rows N       rows whose errors are measured (default 64, evenly spread; without cuBLAS all)\n"
    "  --cases N      of one pattern, alpha and beta at 3 x 3 x 3, a tenth of it at larger sizes; more than "
    "that: a sample\n"
    "                 (default 3000, which is every place and kind of 3 x 3 x 3; in the simulator 60)\n"
    "  --scheme NAME  another scheme in the default's place; not with --accuracy\n"
    "  --out FILE.tsv every trial\n"
    "  --commit TEXT, --toolkit TEXT  for the header lines (default: what the build knew)\n",
    run, 1};
