/* check64: what accuracy `fp64` would do with FP64 operands, and what of their numbers decides it. See check64.h. */
#include "cmd/check64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/data_check64.h"
#include "accuracy/families64.h"
#include "cmd/stamp.h"
#include "io/args.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "io/tsv.h"
#include "measure/sample_problem.h"

enum { HEAD_BYTES = STAMP_BYTES + 1024 };

static const struct tsv_column columns[] = {{"data", 1},     {"m", 1},       {"n", 1},      {"k", 1},        {"scheme", 1},   {"counted", 1},
                                            {"large_a", 1},  {"large_b", 1}, {"zero_a", 0}, {"zero_b", 0},   {"least_a", 0},  {"least_b", 0},
                                            {"median_a", 0}, {"median_b", 0}, {"rows_a", 1}, {"rows_b", 1}, {"native64", 1}, {"blocks", 1}};

/* What `fp64` begins with at a shape, and the scheme whose certificate is asked: its own, or where it begins with native64 that of
 * products large enough. */
struct choice {
    struct halftone_plan plan;
    int moduli; /* 0: no scheme of residues is certified at this k */
    int asks;   /* the data decide at this shape */
    struct ht_certificate certificate;
};

/* The command's product is the library's with the operands in each other's place. */
static int ask_plan(struct session *s, const char *method, int64_t m, int64_t n, int64_t k, struct halftone_plan *plan, struct cli_error *f) {
    const struct session64_problem p = {.trans_a = 'N', .trans_b = 'N', .m = n, .n = m, .k = k, .lda = n, .ldb = k};
    return session64_select(s, method, f) == 0 ? session64_query(s, &p, plan, f) : -1;
}

/* The fewest moduli that are certified. Asked at k = 1: a scheme has as many at any k, and some take no longer sums. */
static int choose_least(struct session *s, struct choice *c, int64_t m, int64_t n, int64_t k, struct cli_error *f) {
    const char *name;
    for (int i = 0; (name = halftone_schemes(s->handle, HALFTONE_FP64, i)) != NULL; i++) {
        struct halftone_plan plan;
        struct ht_certificate certificate;
        if (ask_plan(s, name, m, n, 1, &plan, f) != 0)
            return -1;
        if (plan.moduli == 0 || (c->moduli != 0 && plan.moduli >= c->moduli) || !ht_crt_certify(&certificate, plan.moduli, k, (double)k))
            continue;
        c->moduli = plan.moduli;
        c->certificate = certificate;
    }
    return 0;
}

static int choose(struct session *s, int64_t m, int64_t n, int64_t k, struct choice *c, struct cli_error *f) {
    memset(c, 0, sizeof *c);
    if (ask_plan(s, SESSION_ACCURACY "fp64", m, n, k, &c->plan, f) != 0)
        return -1;
    c->moduli = c->plan.moduli;
    c->asks = c->moduli > 0 && ht_crt_certify(&c->certificate, c->moduli, k, (double)k);
    return c->asks ? 0 : choose_least(s, c, m, n, k, f);
}

static int examine(const struct data_view64 *a, const struct data_view64 *b, int64_t k, const struct choice *c, struct data_report64 *r,
                   struct cli_error *f) {
    if (data_check64(a, b, k, c->moduli, &c->certificate, r) != 0)
        return cli_error_memory(f, 48.0 * (double)(a->rows + b->rows), "counts of rows");
    return 0;
}

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- two files: words */

static void print_side(const char *path, const char *op, int64_t rows, int64_t cols, const char *lines, const struct data_side64 *s) {
    printf("%s: %s is %lld x %lld\n  %.4g %% of its elements are large, %.4g %% zeros\n", path, op, (long long)rows, (long long)cols,
           percent(s->large, s->elements), percent(s->zeros, s->elements));
    if (s->rows > s->rows_zero + s->rows_not_finite)
        printf("  large elements of a %s: least %.4g %%, a tenth of them up to %.4g %%, half up to %.4g %%, nine tenths up to %.4g %%, most %.4g %%\n",
               lines, 100 * s->share[0], 100 * s->share[1], 100 * s->share[2], 100 * s->share[3], 100 * s->share[4]);
    printf("  %s: %lld of %lld have half of what is needed, so that all of these pass with each other", lines, (long long)s->rows_half,
           (long long)s->rows);
    if (s->rows_zero > 0)
        printf(", %lld zero", (long long)s->rows_zero);
    if (s->rows_not_finite > 0)
        printf(", %lld with NaN or Inf", (long long)s->rows_not_finite);
    printf("\n");
}

static void print_certificate(const struct choice *c, const struct data_report64 *r) {
    printf("certificate of crt%d: large is from 2^%.3g, in some rows 2^%.3g, of the row's root mean square on; a row and a column need %d such "
           "elements together, of %lld each\n",
           c->moduli, -r->binades, 1 - r->binades, r->certificate.needed, (long long)r->k);
    printf("  of %lld elements of C crt%d keeps %lld (%.4g %%), native64 computes %lld (%.4g %%), in %lld of %lld blocks of 64 x 64\n",
           (long long)r->elements, c->moduli, (long long)(r->elements - r->left), percent(r->elements - r->left, r->elements),
           (long long)r->left, percent(r->left, r->elements), (long long)r->blocks_left, (long long)r->blocks);
}

static void print_report(const char *const path[2], const struct choice *c, const struct data_report64 *r) {
    print_side(path[0], "op(A)", r->m, r->k, "row", &r->side[0]);
    print_side(path[1], "op(B)", r->k, r->n, "column", &r->side[1]);
    print_certificate(c, r);
}

static int examine_pair(const struct pair *p, const struct choice *c, struct data_report64 *r, struct cli_error *f) {
    struct data_view64 view[2];
    for (int i = 0; i < 2; i++) {
        view[i] = (struct data_view64){p->x[i].wide, i == 0 ? pair_rows(p, 0) : pair_cols(p, 1), 0, 0};
        pair_steps(p, i, &view[i].row_step, &view[i].k_step);
    }
    return examine(&view[0], &view[1], pair_cols(p, 0), c, r, f);
}

int check64_left(const struct pair *p, const struct halftone_plan *plan, double units, int64_t *left, struct cli_error *f) {
    struct choice c = {.plan = *plan, .moduli = plan->moduli};
    struct data_report64 r;
    if (!ht_crt_certify(&c.certificate, c.moduli, pair_cols(p, 0), units))
        return cli_error_set(f, "no certificate of %d moduli: a defect of this command", c.moduli);
    const int status = examine_pair(p, &c, &r, f);
    *left = status == 0 ? r.left : 0;
    return status;
}

static int check_pair(struct session *s, const struct pair *p, const char *const path[2], struct cli_error *f) {
    const int64_t m = pair_rows(p, 0), n = pair_cols(p, 1), k = pair_cols(p, 0);
    struct choice c;
    struct data_report64 r;
    if (choose(s, m, n, k, &c, f) != 0 || (c.moduli > 0 && examine_pair(p, &c, &r, f) != 0))
        return -1;
    printf("fp64, %lld x %lld x %lld: scheme %s, %s\n  %s\n", (long long)m, (long long)n, (long long)k, c.plan.scheme, c.plan.kernel,
           c.plan.why_scheme);
    if (!c.asks)
        printf("  at this shape %s takes every input: nothing of the data decides\n", c.plan.scheme);
    if (c.moduli > 0 && !c.asks)
        printf("  where the operands are packed once, or where rows and columns are more, crt%d is asked:\n", c.moduli);
    if (c.moduli > 0)
        print_report(path, &c, &r);
    return 0;
}

int check64_files(struct session *s, struct pair *p, const char *const path[2], struct cli_error *f) {
    if (pair_read(p, path, 1, f) != 0)
        return -1;
    if (pair_rows(p, 0) * pair_cols(p, 1) * pair_cols(p, 0) == 0)
        return cli_error_set(f, "%s: an extent of the product is 0; give matrices with elements", path[0]);
    return check_pair(s, p, path, f);
}

/* ---- families: a table */

static void add_row(struct tsv *t, const char *name, const struct choice *c, const struct data_report64 *r) {
    char scheme[16] = "-";
    if (c->moduli > 0)
        snprintf(scheme, sizeof scheme, "crt%d", c->moduli);
    tsv_text(t, name);
    tsv_integer(t, r->m);
    tsv_integer(t, r->n);
    tsv_integer(t, r->k);
    tsv_text(t, c->plan.scheme);
    tsv_text(t, scheme);
    const int is_asked = c->moduli > 0;
    const struct data_side64 *const s = r->side;
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].large, s[i].elements) / 100 : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].zeros, s[i].elements) / 100 : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? s[i].share[0] : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? s[i].share[DATA64_SHARES / 2] : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].rows_half, s[i].rows) / 100 : -1, 3);
    tsv_measured(t, is_asked ? percent(r->left, r->elements) / 100 : -1, 3);
    tsv_measured(t, is_asked ? percent(r->blocks_left, r->blocks) / 100 : -1, 3);
    tsv_end_row(t);
}

static int add_family(struct tsv *t, const struct choice *c, const struct family *family, int64_t n, int64_t k, struct cli_error *f) {
    double *const a = malloc((size_t)(n * k) * sizeof *a), *const b = malloc((size_t)(n * k) * sizeof *b);
    const struct data_view64 rows = {a, n, k, 1}, cols = {b, n, k, 1};
    struct data_report64 r = {.m = n, .n = n, .k = k};
    int status = 0;
    if (a == NULL || b == NULL || family64_fill_op(family, 1, 'A', 'T', n, n, k, a, k) != 0 ||
        family64_fill_op(family, 1, 'B', 'N', n, n, k, b, k) != 0)
        status = cli_error_memory(f, 16.0 * (double)n * (double)k, "matrices");
    else if (c->moduli > 0)
        status = examine(&rows, &cols, k, c, &r, f);
    if (status == 0)
        add_row(t, family->name, c, &r);
    free(a);
    free(b);
    return status;
}

static int print_table(const struct tsv *t, const struct session *s, const char *out, struct cli_error *f) {
    const struct stamp built = stamp_built();
    char stamp[STAMP_BYTES], head[HEAD_BYTES];
    stamp_write(stamp, &built, s, NULL, NULL);
    snprintf(head, sizeof head,
             "%s# halftone check of FP64 products; scheme: accuracy fp64 begins with; counted: whose certificate is asked, there or of larger products\n"
             "# shares: large, zero: of elements that count as large, that are 0; least, median: of a row's or column's k that are large; rows: that "
             "have half of what is needed;\n"
             "# native64: of elements of C that residues do not keep; blocks: of 64 x 64 that hold one\n",
             stamp);
    fputs(head, stdout);
    int status = tsv_print(t, stdout, f);
    if (status == 0 && out != NULL)
        status = tsv_write(t, out, head, f);
    if (status == 0 && out != NULL)
        fprintf(outfile_remarks(out), "wrote %s\n", out);
    return status;
}

int check64_families(struct session *s, const char *families, int64_t n, int64_t k, const char *out, struct cli_error *f) {
    struct name_list names = {NULL, NULL, 0};
    const struct family *family[SAMPLE_FAMILIES_MOST];
    struct progress progress;
    struct choice c;
    struct tsv t;
    int count = 0;
    int status = sample_problem_families(families, &names, family, &count, f);
    if (status == 0)
        status = choose(s, n, n, k, &c, f);
    tsv_init(&t, columns, (int)(sizeof columns / sizeof *columns));
    if (status == 0)
        progress_start(&progress, count);
    for (int i = 0; i < count && status == 0; i++) {
        progress_step(&progress, family[i]->name);
        status = add_family(&t, &c, family[i], n, k, f);
    }
    if (status == 0) {
        progress_end(&progress);
        status = print_table(&t, s, out, f);
    }
    tsv_free(&t);
    args_names_free(&names);
    return status;
}
