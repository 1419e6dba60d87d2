/* contract64: errors of FP64 products against their own bounds. See contract64.h. */
#include "cmd/contract64.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/outfile.h"
#include "io/progress.h"
#include "io/tsv.h"
#include "measure/sample64.h"

enum { HEAD_BYTES = 2 * STAMP_BYTES };

static const struct tsv_column columns[] = {{"family", 1}, {"n", 1}, {"k", 1}, {"scheme", 1}, {"bound", 1}, {"of", 1}, {"worst/bound", 1}, {"wrong_class", 1}, {"verdict", 1}};

struct contract {
    const struct contract64 *what;
    struct session *session;
    struct tsv table;
    struct progress progress;
    int broken, trials;
};

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
static void judge_column(const struct sample64 *t, const struct halftone_plan *plan, const double *row_most, int64_t j, struct finding *out) {
    const struct session64_problem *const p = &t->problem;
    const struct reference64 *const r = &t->reference;
    const double column_most = plan->fixed_point ? most_of(t->b + j * p->ldb, p->k, 1) : 0;
    for (int64_t s = 0; s < r->rows; s++) {
        const int64_t at = j * r->rows + s;
        const double result = t->whole[r->row[s] + j * p->m], largest = row_most[s] * column_most;
        const int is_nan = plan->fixed_point ? isnan(largest) : isnan(r->high[at]);
        if (is_nan || isinf(r->high[at])) {
            out->wrong_class += is_nan ? !isnan(result) : result != r->high[at];
            continue;
        }
        const double allowed = (double)plan->bound_units * 0x1p-53 * (plan->fixed_point ? (double)p->k * largest : r->magnitude[at]) + 0x1p-1074;
        const double error = fabs((result - r->high[at]) - r->low[at]);
        out->wrong_class += !isfinite(result);
        if (isfinite(result) && error / allowed > out->worst)
            out->worst = error / allowed;
    }
}

static int judge(struct sample64 *t, const struct halftone_plan *plan, struct finding *out, struct cli_error *f) {
    const struct session64_problem *const p = &t->problem;
    double *const row_most = malloc(((size_t)t->reference.rows + 1) * sizeof *row_most);
    memset(out, 0, sizeof *out);
    if (row_most == NULL)
        return cli_error_memory(f, (double)t->reference.rows * 8, "rows");
    for (int64_t s = 0; s < t->reference.rows; s++)
        row_most[s] = plan->fixed_point ? most_of(t->a + t->reference.row[s], p->k, p->lda) : 0;
    const int status = session64_problem_result(p, t->whole, f);
    for (int64_t j = 0; j < p->n && status == 0; j++)
        judge_column(t, plan, row_most, j, out);
    free(row_most);
    return status;
}

static int run_trial(struct contract *c, const struct family *family, int64_t n, int64_t k, struct cli_error *f) {
    struct sample64 t;
    struct halftone_plan plan;
    struct finding found;
    char what[96];
    snprintf(what, sizeof what, "%s n = %lld k = %lld", family->name, (long long)n, (long long)k);
    progress_step(&c->progress, what);
    int status = sample64_open(&t, family, 1, "NN", n, n, k, c->what->rows, f);
    if (status == 0)
        status = session64_query(c->session, &t.problem, &plan, f);
    if (status == 0)
        status = session64_multiply(c->session, &t.problem, f);
    if (status == 0)
        status = judge(&t, &plan, &found, f);
    if (status == 0) {
        const int broken = found.worst > 1 || found.wrong_class > 0;
        tsv_text(&c->table, family->name);
        tsv_integer(&c->table, n);
        tsv_integer(&c->table, k);
        tsv_text(&c->table, plan.scheme);
        tsv_integer(&c->table, plan.bound_units);
        tsv_text(&c->table, plan.fixed_point ? "k max|a| max|b|" : "|A||B|");
        tsv_real(&c->table, found.worst, 3);
        tsv_integer(&c->table, found.wrong_class);
        tsv_text(&c->table, broken ? "broken" : "kept");
        tsv_end_row(&c->table);
        c->broken += broken;
        c->trials++;
    }
    sample64_close(&t);
    return status;
}

static int run_trials(struct contract *c, struct cli_error *f) {
    const struct contract64 *const w = c->what;
    int status = 0;
    progress_start(&c->progress, w->families * w->ns * w->ks);
    for (int i = 0; i < w->families && status == 0; i++)
        for (int n = 0; n < w->ns && status == 0; n++)
            for (int k = 0; k < w->ks && status == 0; k++)
                status = run_trial(c, w->family[i], w->n[n], w->k[k], f);
    progress_end(&c->progress);
    return status;
}

int contract64_run(const struct contract64 *what, struct session *s, struct cli_error *f) {
    struct contract c = {.what = what, .session = s};
    char stamp[STAMP_BYTES], head[HEAD_BYTES];
    stamp_write(stamp, &what->stamp, s, NULL, NULL);
    snprintf(head, sizeof head,
             "%s# halftone contract of FP64 products: %s; largest error of at most %lld rows over the bound that halftone_dquery gives, in 2^-53 of what `of` "
             "says;\n# elements have 29 more random bits than the families; against sums in twice the precision; wrong_class: NaN, +Inf, -Inf where it must not "
             "be, or not where it must\n",
             stamp, what->method, (long long)what->rows);
    if (session64_select(s, what->method, f) != 0)
        return -1;
    fputs(head, stdout);
    tsv_init(&c.table, columns, (int)(sizeof columns / sizeof columns[0]));
    int status = run_trials(&c, f);
    if (status == 0 && what->out != NULL)
        status = tsv_write(&c.table, what->out, head, f);
    if (status == 0)
        status = tsv_print(&c.table, stdout, f);
    tsv_free(&c.table);
    if (status == 0)
        printf("\n%s: %d of %d trials are beyond their bound\n", what->method, c.broken, c.trials);
    return status == 0 && c.broken > 0 ? cli_error_set(f, "%d of %d trials are beyond their bound", c.broken, c.trials) : status;
}
