/* cmd_check: `halftone check`: what `auto`, or FP64's default, would do with two matrices, and what of their numbers decides it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/ht_pick.h"
#include "io/args.h"
#include "measure/pair.h"
#include "cmd/cmd.h"
#include "accuracy/data_check.h"
#include "accuracy/residue_check.h"
#include "accuracy/families.h"
#include "measure/operands.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "cmd/stamp.h"
#include "measure/sample.h"
#include "io/tsv.h"

enum { HEAD_BYTES = STAMP_BYTES + 1024 };

static const struct tsv_column columns[] = {
    {"data", 1}, {"m", 1}, {"n", 1}, {"k", 1}, {"scheme", 1}, {"small_a", 1}, {"small_b", 1}, {"zero_a", 0},
    {"zero_b", 0}, {"elements", 0}, {"fail_4", 1}, {"fail_16", 1}, {"fail_64", 1}, {"tiles_16", 1},
    {"tiles_few", 0}, {"tiles_some", 0}, {"tiles_many", 0}, {"clean_rows_a", 0}, {"clean_rows_b", 0},
    {"outliers_a", 1}, {"outliers_b", 1}, {"outlier_blocks", 1}};

static const struct tsv_column wide_columns[] = {
    {"data", 1}, {"m", 1}, {"n", 1}, {"k", 1}, {"scheme", 1}, {"counted", 1}, {"large_a", 1},
    {"large_b", 1}, {"zero_a", 0}, {"zero_b", 0}, {"least_a", 0}, {"least_b", 0}, {"median_a", 0},
    {"median_b", 0}, {"rows_a", 1}, {"rows_b", 1}, {"enough", 1}};

#define ALL_ROWS "of FP64 products all rows of C are looked at"

/* What `fp64` begins with at a shape, and the scheme whose certificate is asked: its own, or where it begins with native64 that of
 * products large enough. */
struct choice {
    struct halftone_plan plan;
    int moduli; /* 0: no scheme of residues is certified at this k */
    int asks;   /* the data decide at this shape */
    struct ht_certificate certificate;
};

struct check {
    struct session session;
    const char *path[2], *folder, *families, *out;
    int64_t rows, n, k;
    int is_fp64;
    struct choice choice; /* FP64, at the families' shape */
    const struct option *options; /* those of the command, as they were given */
    struct pair pair;
    struct tsv table;
    struct progress progress;
    char head[HEAD_BYTES];
};

static struct data_view view_of(const struct pair *p, int which) {
    struct data_view v = {p->x[which].data, which == 0 ? pair_rows(p, 0) : pair_cols(p, 1), 0, 0};
    pair_steps(p, which, &v.row_step, &v.k_step);
    return v;
}

static struct data_rules rules_of(const struct check *c) {
    const struct ht_scheme_desc *s = ht_scheme_of(c->session.set, HT_ROLE_AUTO);
    const int flushes = s != NULL && s->flush_exponent != 0;
    return (struct data_rules){.unit = flushes ? CERTIFICATE_FLUSHES : CERTIFICATE_KEEPS, .rows_most = c->rows};
}

/* What the library picks for the command's column-major call, which has the operands change places. */
static int ask_plan(struct session *s, int type, const char *method, int64_t m, int64_t n, int64_t k, struct halftone_plan *plan,
                    struct cli_error *f) {
    const struct session_problem p = {.type = type, .trans_a = 'N', .trans_b = 'N', .m = n, .n = m, .k = k, .lda = n, .ldb = k};
    return session_select(s, type, method, NULL, f) == 0 ? session_query(s, &p, plan, f) : -1;
}

static int examine(struct check *c, const struct data_view *a, const struct data_view *b, int64_t k,
                   struct data_report *r, struct tile_outliers *o, struct halftone_plan *plan, struct cli_error *f) {
    const struct data_rules rules = rules_of(c);
    if (data_check(a, b, k, &rules, r) != 0 || tile_outliers_count(a, b, k, c->families == NULL, o) != 0)
        return cli_error_memory(f, 100.0 * (double)(a->rows + b->rows), "rows, and an FP64 product of 64 rows");
    return ask_plan(&c->session, HALFTONE_FP32, "auto", r->m, r->n, r->k, plan, f);
}

static int is_checked(const struct check *c, const struct halftone_plan *plan) {
    return strcmp(plan->scheme, c->session.set->role[HT_ROLE_AUTO]) == 0;
}

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- two files of FP32: words */

static void print_exceptions(int64_t zero, int64_t not_finite) {
    if (zero > 0)
        printf(", %lld zero", (long long)zero);
    if (not_finite > 0)
        printf(", %lld with NaN or Inf", (long long)not_finite);
    printf("\n");
}

static void print_side(const char *path, const char *op, int64_t rows, int64_t cols, const char *lines,
                       const struct data_side *s) {
    printf("%s: %s is %lld x %lld\n", path, op, (long long)rows, (long long)cols);
    printf("  beside the largest of their %s: %.4g %% of the elements down to 2^-16 (22 bits), %.4g %% "
           "smaller (fewer bits), %.4g %% zeros\n",
           lines, percent(s->bin[0], s->elements), percent(s->bin[1], s->elements),
           percent(s->bin[2], s->elements));
    printf("  %s: %lld of %lld lose nothing beyond 22 bits", lines, (long long)(s->rows_clean),
           (long long)s->rows);
    if (s->least_exponent <= s->most_exponent)
        printf(", largest elements from 2^%d to 2^%d", s->least_exponent, s->most_exponent);
    print_exceptions(s->rows_zero, s->rows_not_finite);
}

static void print_certificate(const struct check *c, const struct data_report *r) {
    printf("certificate: of %lld elements of C looked at, |C| leaves uncleared", (long long)r->elements);
    for (int t = 0; t < DATA_TAUS; t++)
        printf("%s %lld (%.3g %%) at %.0f units", t > 0 ? "," : "", (long long)r->failed[t],
               percent(r->failed[t], r->elements), data_tau[t]);
    printf("; at 16 units in %lld of %lld tiles of 64 x 64: %lld tiles with up to 1/256 of them, %lld up to "
           "1/16, %lld more\n",
           (long long)r->tiles_failed[1], (long long)r->tiles, (long long)r->tiles_by_share[1],
           (long long)r->tiles_by_share[2], (long long)r->tiles_by_share[3]);
    if (r->tiles_sparse > 0)
        printf("  %lld tiles are left whole: fewer than %d nonzero elements a row or column\n",
               (long long)r->tiles_sparse, (int)CERTIFICATE_FEW);
    printf("  auto computes what %d units leave again: more than 16 of a tile by %s's kernel for it, else one by one\n",
           (int)CERTIFICATE_TAU, c->session.set->role[HT_ROLE_FALLBACK]);
}

static void print_outliers(const struct tile_outliers *o) {
    printf("mixpert1 to 4: %lld of %lld tiles of op(A) (%.3g %%) and %lld of %lld of op(B) (%.3g %%) hold outliers: %lld of %lld blocks (%.4g %%) are "
           "recomputed\n",
           (long long)o->outliers[0], (long long)o->tiles[0], percent(o->outliers[0], o->tiles[0]), (long long)o->outliers[1],
           (long long)o->tiles[1], percent(o->outliers[1], o->tiles[1]), (long long)o->blocks_recomputed, (long long)o->blocks,
           percent(o->blocks_recomputed, o->blocks));
}

static void print_report(const struct check *c, const struct data_report *r,
                         const struct halftone_plan *plan) {
    print_side(c->path[0], "op(A)", r->m, r->k, "row", &r->side[0]);
    print_side(c->path[1], "op(B)", r->k, r->n, "column", &r->side[1]);
    printf("auto, %lld x %lld x %lld: scheme %s, %s\n", (long long)r->m, (long long)r->n, (long long)r->k,
           plan->scheme, plan->kernel[0] ? plan->kernel : "no product to run (an extent is 0)");
    printf("  %s\n", plan->why_scheme);
    if (!is_checked(c, plan)) {
        printf("  at this shape %s takes every input: nothing of the data decides\n", plan->scheme);
        return;
    }
    print_certificate(c, r);
}

/* ---- two files of FP64: words */

/* The fewest moduli that are certified. Asked at k = 1: a scheme has as many at any k, and some take no longer sums. */
static int choose_least(struct session *s, struct choice *c, int64_t m, int64_t n, int64_t k, struct cli_error *f) {
    const char *name;
    for (int i = 0; (name = halftone_schemes(s->handle, HALFTONE_FP64, i)) != NULL; i++) {
        struct halftone_plan plan;
        struct ht_certificate certificate;
        if (ask_plan(s, HALFTONE_FP64, name, m, n, 1, &plan, f) != 0)
            return -1;
        if (plan.moduli == 0 || (c->moduli != 0 && plan.moduli >= c->moduli) || !ht_crt_certify(&certificate, plan.moduli, k, (double)k, HT_CRT_COUNT_HALF_BINADES))
            continue;
        c->moduli = plan.moduli;
        c->certificate = certificate;
    }
    return 0;
}

static int choose(struct session *s, int64_t m, int64_t n, int64_t k, struct choice *c, struct cli_error *f) {
    memset(c, 0, sizeof *c);
    if (ask_plan(s, HALFTONE_FP64, SESSION_ACCURACY "fp64", m, n, k, &c->plan, f) != 0)
        return -1;
    c->moduli = c->plan.moduli;
    c->asks = c->moduli > 0 && ht_crt_certify(&c->certificate, c->moduli, k, (double)k, HT_CRT_COUNT_HALF_BINADES);
    return c->asks ? 0 : choose_least(s, c, m, n, k, f);
}

static int examine_wide(const struct residue_view *a, const struct residue_view *b, int64_t k, const struct choice *c, struct residue_report *r,
                   struct cli_error *f) {
    if (residue_check(a, b, k, c->moduli, &c->certificate, r) != 0)
        return cli_error_memory(f, 48.0 * (double)(a->rows + b->rows), "counts of rows");
    return 0;
}

static void print_wide_side(const char *path, const char *op, int64_t rows, int64_t cols, const char *lines, const struct residue_side *s) {
    printf("%s: %s is %lld x %lld\n  %.4g %% of its elements are large, %.4g %% zeros\n", path, op, (long long)rows, (long long)cols,
           percent(s->large, s->elements), percent(s->zeros, s->elements));
    if (s->rows > s->rows_zero + s->rows_not_finite)
        printf("  large elements of a %s: least %.4g %%, a tenth of them up to %.4g %%, half up to %.4g %%, nine tenths up to %.4g %%, most %.4g %%\n",
               lines, 100 * s->share[0], 100 * s->share[1], 100 * s->share[2], 100 * s->share[3], 100 * s->share[4]);
    printf("  %s: %lld of %lld have half of what is needed, so that all of these pass with each other", lines, (long long)s->rows_half,
           (long long)s->rows);
    print_exceptions(s->rows_zero, s->rows_not_finite);
}

/* Whether counts decide for residues. */
static int has_enough(const struct residue_report *r) {
    return r->least[0] + r->least[1] >= r->certificate.needed;
}

static void print_wide_certificate(const struct choice *c, const struct residue_report *r) {
    printf("certificate of crt%d: large is from 2^%.3g, in some rows 2^%.3g, of the row's root mean square on; a row and a column need %d such "
           "elements together, of %lld each\n",
           c->moduli, -r->binades, 1 - r->binades, r->certificate.needed, (long long)r->k);
    if (has_enough(r))
        printf("  all of them have: crt%d computes C\n", c->moduli);
    else
        printf("  some have fewer: more moduli compute C, and native64 what a product of absolute values does not clear (halftone mm counts it)\n");
}

static void print_wide_report(const char *const path[2], const struct choice *c, const struct residue_report *r) {
    print_wide_side(path[0], "op(A)", r->m, r->k, "row", &r->side[0]);
    print_wide_side(path[1], "op(B)", r->k, r->n, "column", &r->side[1]);
    print_wide_certificate(c, r);
}

static int examine_pair(const struct pair *p, const struct choice *c, struct residue_report *r, struct cli_error *f) {
    struct residue_view view[2];
    for (int i = 0; i < 2; i++) {
        view[i] = (struct residue_view){p->x[i].wide, i == 0 ? pair_rows(p, 0) : pair_cols(p, 1), 0, 0};
        pair_steps(p, i, &view[i].row_step, &view[i].k_step);
    }
    return examine_wide(&view[0], &view[1], pair_cols(p, 0), c, r, f);
}

static int check_wide_pair(struct session *s, const struct pair *p, const char *const path[2], struct cli_error *f) {
    const int64_t m = pair_rows(p, 0), n = pair_cols(p, 1), k = pair_cols(p, 0);
    struct choice c;
    struct residue_report r;
    if (choose(s, m, n, k, &c, f) != 0 || (c.moduli > 0 && examine_pair(p, &c, &r, f) != 0))
        return -1;
    printf("fp64, %lld x %lld x %lld: scheme %s, %s\n  %s\n", (long long)m, (long long)n, (long long)k, c.plan.scheme, c.plan.kernel,
           c.plan.why_scheme);
    if (!c.asks)
        printf("  at this shape %s takes every input: nothing of the data decides\n", c.plan.scheme);
    if (c.moduli > 0 && !c.asks)
        printf("  where the operands are packed once, or where rows and columns are more, crt%d is asked:\n", c.moduli);
    if (c.moduli > 0)
        print_wide_report(path, &c, &r);
    return 0;
}

static int check_files(struct check *c, struct cli_error *f) {
    struct data_report r;
    struct tile_outliers o;
    struct halftone_plan plan;
    if (pair_examine(&c->pair, c->path, f) != 0 || pair_check(&c->pair, NULL, 1, f) != 0)
        return -1;
    const int is_wide = c->is_fp64 || (c->pair.x[0].is_float64 && c->pair.x[1].is_float64);
    if ((is_wide && args_refuse(c->options, "--rows", ALL_ROWS, f) != 0) || pair_read(&c->pair, c->path, is_wide, f) != 0)
        return -1;
    const int64_t k = pair_cols(&c->pair, 0);
    if (pair_rows(&c->pair, 0) * pair_cols(&c->pair, 1) * k == 0)
        return cli_error_set(f, "%s: an extent of the product is 0; give matrices with elements", c->path[0]);
    if (is_wide)
        return check_wide_pair(&c->session, &c->pair, c->path, f);
    const struct data_view a = view_of(&c->pair, 0), b = view_of(&c->pair, 1);
    if (examine(c, &a, &b, k, &r, &o, &plan, f) != 0)
        return -1;
    print_report(c, &r, &plan);
    print_outliers(&o);
    return 0;
}

/* ---- many: a table */

static void add_row(struct check *c, const char *name, const struct data_report *r, const struct tile_outliers *o,
                    const struct halftone_plan *plan) {
    struct tsv *t = &c->table;
    tsv_text(t, name);
    tsv_integer(t, r->m);
    tsv_integer(t, r->n);
    tsv_integer(t, r->k);
    tsv_text(t, plan->scheme);
    for (int bin = 1; bin < DATA_BINS; bin++)
        for (int i = 0; i < 2; i++)
            tsv_real(t, percent(r->side[i].bin[bin], r->side[i].elements) / 100, 3);
    tsv_integer(t, r->elements);
    for (int tau = 0; tau < DATA_TAUS; tau++)
        tsv_real(t, (double)r->failed[tau] / (double)r->elements, 3);
    tsv_real(t, (double)r->tiles_failed[1] / (double)r->tiles, 3);
    for (int share = 1; share < 4; share++)
        tsv_real(t, (double)r->tiles_by_share[share] / (double)r->tiles, 3);
    for (int i = 0; i < 2; i++)
        tsv_real(t, (double)r->side[i].rows_clean / (double)r->side[i].rows, 3);
    for (int i = 0; i < 2; i++)
        tsv_real(t, percent(o->outliers[i], o->tiles[i]) / 100, 3);
    tsv_real(t, percent(o->blocks_recomputed, o->blocks) / 100, 3);
    tsv_end_row(t);
}

static int add_data(struct check *c, const char *name, const struct data_view *a, const struct data_view *b,
                    int64_t k, struct cli_error *f) {
    struct data_report r;
    struct tile_outliers o;
    struct halftone_plan plan;
    progress_step(&c->progress, name);
    if (examine(c, a, b, k, &r, &o, &plan, f) != 0)
        return -1;
    add_row(c, name, &r, &o, &plan);
    return 0;
}

static void add_wide_row(struct tsv *t, const char *name, const struct choice *c, const struct residue_report *r) {
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
    const struct residue_side *const s = r->side;
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].large, s[i].elements) / 100 : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].zeros, s[i].elements) / 100 : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? s[i].share[0] : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? s[i].share[RESIDUE_SHARES / 2] : -1, 3);
    for (int i = 0; i < 2; i++)
        tsv_measured(t, is_asked ? percent(s[i].rows_half, s[i].rows) / 100 : -1, 3);
    tsv_measured(t, is_asked ? has_enough(r) : -1, 3);
    tsv_end_row(t);
}

static int add_wide_data(struct check *c, const char *name, const struct pair *p, struct cli_error *f) {
    struct choice choice;
    struct residue_report r = {.m = pair_rows(p, 0), .n = pair_cols(p, 1), .k = pair_cols(p, 0)};
    progress_step(&c->progress, name);
    if (choose(&c->session, r.m, r.n, r.k, &choice, f) != 0 || (choice.moduli > 0 && examine_pair(p, &choice, &r, f) != 0))
        return -1;
    add_wide_row(&c->table, name, &choice, &r);
    return 0;
}

/* Of a batch the first product. */
static int check_products(struct check *c, struct cli_error *f) {
    struct operands o;
    int status = operands_read(&o, c->folder, c->is_fp64, f);
    if (status == 0)
        progress_start(&c->progress, o.count);
    for (int i = 0; i < o.count && status == 0; i++) {
        struct pair p;
        status = operands_load(&o, i, &p, f);
        const struct data_view a = view_of(&p, 0), b = view_of(&p, 1);
        AND_THEN(status, c->is_fp64 ? add_wide_data(c, o.product[i].name, &p, f) : add_data(c, o.product[i].name, &a, &b, pair_cols(&p, 0), f));
        pair_free(&p);
    }
    operands_free(&o);
    return status;
}

static int check_family(struct check *c, const struct family *family, struct cli_error *f) {
    float *a = malloc((size_t)(c->n * c->k) * sizeof *a), *b = malloc((size_t)(c->n * c->k) * sizeof *b);
    int status = -1;
    if (a == NULL || b == NULL) {
        (void)cli_error_memory(f, 8.0 * (double)c->n * (double)c->k, "matrices");
    } else {
        family_fill(family, 1, 'A', c->n, c->n, c->k, a, c->n);
        family_fill(family, 1, 'B', c->n, c->n, c->k, b, c->k);
        const struct data_view rows = {a, c->n, 1, c->n}, cols = {b, c->n, c->k, 1};
        status = add_data(c, family->name, &rows, &cols, c->k, f);
    }
    free(a);
    free(b);
    return status;
}

static int check_wide_family(struct check *c, const struct family *family, struct cli_error *f) {
    double *const a = malloc((size_t)(c->n * c->k) * sizeof *a), *const b = malloc((size_t)(c->n * c->k) * sizeof *b);
    const struct residue_view rows = {a, c->n, c->k, 1}, cols = {b, c->n, c->k, 1};
    struct residue_report r = {.m = c->n, .n = c->n, .k = c->k};
    int status = 0;
    progress_step(&c->progress, family->name);
    if (a == NULL || b == NULL || family_fill_wide(family, 1, 'A', 'T', c->n, c->n, c->k, a, c->k) != 0 ||
        family_fill_wide(family, 1, 'B', 'N', c->n, c->n, c->k, b, c->k) != 0)
        status = cli_error_memory(f, 16.0 * (double)c->n * (double)c->k, "matrices");
    else if (c->choice.moduli > 0)
        status = examine_wide(&rows, &cols, c->k, &c->choice, &r, f);
    if (status == 0)
        add_wide_row(&c->table, family->name, &c->choice, &r);
    free(a);
    free(b);
    return status;
}

static int check_families(struct check *c, struct cli_error *f) {
    struct name_list names = {NULL, NULL, 0};
    const struct family *family[SAMPLE_FAMILIES_MOST];
    int count = 0;
    int status = sample_families(c->families, &names, family, &count, f);
    if (status == 0)
        progress_start(&c->progress, count);
    for (int i = 0; i < count && status == 0; i++)
        status = (c->is_fp64 ? check_wide_family : check_family)(c, family[i], f);
    args_names_free(&names);
    return status;
}

static void make_head(struct check *c) {
    const struct stamp built = stamp_built();
    char stamp[STAMP_BYTES];
    stamp_write(stamp, &built, &c->session, NULL, NULL);
    if (c->is_fp64)
        snprintf(c->head, sizeof c->head,
                 "%s# halftone check of FP64 products; scheme: accuracy fp64 begins with; counted: whose certificate is asked, there or of larger products\n"
                 "# shares: large, zero: of elements that count as large, that are 0; least, median: of a row's or column's k that are large; rows: that "
                 "have half of what is needed;\n"
                 "# enough: 1 where all rows and columns have enough together, and residues compute C\n",
                 stamp);
    else
        snprintf(c->head, sizeof c->head,
                 "%s# halftone check; shares: small: of elements below 2^-16 of their row's largest\n"
                 "# fail_4, 16, 64: of elements of C that the certificate does not clear at so many units, in at "
                 "most %lld rows; "
                 "tiles_16: of tiles that have any; few, some, many: up to 1/256, up to 1/16, more\n"
                 "# outliers: of MixPert's tiles, 16 x 32 of A and 32 x 8 of B%s; outlier_blocks: of 64 x 64 blocks that meet one\n",
                 stamp, (long long)c->rows, c->families == NULL ? " (of stored products, in a call that swaps A and B)" : "");
}

static int check_many(struct check *c, struct cli_error *f) {
    make_head(c);
    tsv_init(&c->table, c->is_fp64 ? wide_columns : columns, (int)((c->is_fp64 ? sizeof wide_columns : sizeof columns) / sizeof *columns));
    int status = c->is_fp64 && c->families != NULL ? choose(&c->session, c->n, c->n, c->k, &c->choice, f) : 0;
    AND_THEN(status, c->folder != NULL ? check_products(c, f) : check_families(c, f));
    progress_end(&c->progress);
    if (status == 0)
        fputs(c->head, stdout);
    AND_THEN(status, tsv_print(&c->table, stdout, f));
    AND_THEN(status, tsv_save(&c->table, c->out, c->head, f));
    tsv_free(&c->table);
    return status;
}

/* What each kind of input rules out. */
static int refuse_others(const struct check *c, int many, struct cli_error *f) {
    const char *const names = !many ? "--n --k" : c->folder != NULL ? "--ta --tb --n --k" : "--ta --tb";
    const char *const why = !many               ? "two matrices have sizes of their own"
                            : c->folder != NULL ? "the products of --operands are as they are stored"
                                                : "--families makes op(A) and op(B)";
    const int status = args_refuse(c->options, names, why, f);
    return status == 0 && c->is_fp64 ? args_refuse(c->options, "--rows", ALL_ROWS, f) : status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct check c = {.rows = 256};
    const char *rows = NULL, *n = NULL, *k = NULL;
    int count = 0;
    const struct option options[] = {{"--ta", NULL, &c.pair.transposed[0]},
                                     {"--tb", NULL, &c.pair.transposed[1]},
                                     {"--rows", &rows, NULL},
                                     {"--operands", &c.folder, NULL},
                                     {"--families", &c.families, NULL},
                                     {"--n", &n, NULL},
                                     {"--k", &k, NULL},
                                     {"--out", &c.out, NULL},
                                     {"--fp64", NULL, &c.is_fp64},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, c.path, 2, &count, f) != 0 ||
        args_number("--rows", rows != NULL ? rows : "256", 1, INT32_MAX, &c.rows, f) != 0 ||
        args_number("--n", n != NULL ? n : "256", 1, 32768, &c.n, f) != 0 ||
        args_number("--k", k != NULL ? k : "1024", 1, 262144, &c.k, f) != 0)
        return -1;
    const int many = c.folder != NULL || c.families != NULL;
    if (count != (many ? 0 : 2) || (c.folder != NULL && c.families != NULL) || (!many && c.out != NULL))
        return cli_error_usage(f, "needs two matrices (without --out), --operands DIR or --families LIST: halftone check A.npy B.npy");
    c.options = options;
    if (refuse_others(&c, many, f) != 0 || outfile_check(c.out, f) != 0 || session_open(&c.session, f) != 0)
        return -1;
    const int status = many ? check_many(&c, f) : check_files(&c, f);
    pair_free(&c.pair);
    session_close(&c.session);
    return status;
}

const struct command cmd_check = {
    "check", "what auto, or FP64's default, would do with two matrices, and why",
    "Usage: halftone check A.npy B.npy [--ta] [--tb] [--rows N]\n"
    "       halftone check --operands DIR | --families LIST [--n 256] [--k 1024] [--rows N] [--out "
    "FILE.tsv]\n"
    "       halftone check --fp64 --operands DIR | --families LIST [--n 256] [--k 1024] [--out FILE.tsv]\n\n"
    "Prints how large the elements of op(A)'s rows and op(B)'s columns are beside the largest of them, and how "
    "many elements\n"
    "of C the certificate of auto does not clear, which are computed again (bench/ACCURACY.md, section 15), and which tiles and "
    "blocks\n"
    "MixPert's levels would leave to the wider scheme (section 16). Computed on the host, in FP64; the device only says which "
    "set it runs.\n"
    "Of two float64 files, or with --fp64: which share of C's elements accuracy fp64 would leave to residues, by how many elements of rows\n"
    "and columns are large beside the others (section 18), and which native64 would compute.\n\n"
    "  --ta, --tb      transpose A, B\n"
    "  --rows N        rows of C for the certificate, in blocks of 64, evenly spread (default 256)\n"
    "  --operands DIR  each product of a stored set (bench --operands), of a batch the first, as a table\n"
    "  --families LIST input families, or all: n x k times k x n\n"
    "  --out FILE.tsv  the table with all columns\n"
    "  --fp64          FP64 products\n",
    run, 1};
