/* report64: errors of FP64 products. See report64.h. */
#include "cmd/report64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/methods.h"
#include "io/outfile.h"
#include "io/progress.h"
#include "io/tsv.h"
#include "measure/baseline_cublas.h"
#include "measure/sample64.h"

enum { ALL_ROWS_UP_TO = 512, SAMPLED_ROWS = 64, HEAD_BYTES = 2 * STAMP_BYTES };

static const struct tsv_column columns[] = {{"family", 1}, {"n", 1}, {"k", 1}, {"rows", 0}, {"method", 1}, {"scheme", 1}, {"rel_frobenius", 1},
                                            {"grade", 1}, {"bound", 1}, {"grade/bound", 1}, {"wrong_class", 1}};

struct report {
    const struct report64 *what;
    struct session *session;
    struct baseline *baseline;
    struct methods methods;
    struct tsv table;
    struct progress progress;
};

static const char *native_name(const struct report *r) {
    return r->baseline != NULL ? "cublas-dgemm" : "cpu-fp64";
}

/* One more result of what is in the sample; bound negative: none in these units. */
static void add_row(struct report *r, const struct family *family, const struct sample64 *t, const char *method, const char *scheme, double bound,
                    const struct metrics64 *e) {
    struct tsv *const table = &r->table;
    tsv_text(table, family->name);
    tsv_integer(table, t->problem.n);
    tsv_integer(table, t->problem.k);
    tsv_integer(table, t->reference.rows);
    tsv_text(table, method);
    tsv_text(table, scheme);
    tsv_real(table, e->rel_frobenius, 3);
    tsv_real(table, e->grade, 3);
    tsv_measured(table, bound, 6);
    tsv_measured(table, bound > 0 && e->grade >= 0 ? e->grade / bound : -1, 3);
    tsv_integer(table, e->wrong_class);
    tsv_end_row(table);
}

/* cuBLAS DGEMM, or where there is none sums of the CPU in the order of k, of the rows that are looked at. */
static int run_native(struct report *r, const struct family *family, struct sample64 *t, struct cli_error *f) {
    const struct session64_problem *const p = &t->problem;
    struct metrics64 e;
    if (r->baseline != NULL) {
        const int status = baseline_dgemm(r->baseline, 'N', 'N', p->m, p->n, p->k, p->a, p->lda, p->b, p->ldb, p->c);
        if (status != 0)
            return cli_error_set(f, "cublas-dgemm failed with status %d; check that this cuBLAS fits the driver", status);
        if (sample64_judge(t, &e, f) != 0)
            return -1;
    } else {
        for (int64_t s = 0; s < t->reference.rows; s++)
            for (int64_t j = 0; j < p->n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k; l++)
                    sum += t->a[t->reference.row[s] + l * p->lda] * t->b[l + j * p->ldb];
                t->whole[t->reference.row[s] + j * p->m] = sum;
            }
        reference64_compare(&t->reference, t->whole, p->m, &e);
    }
    add_row(r, family, t, native_name(r), "-", (double)p->k, &e);
    return 0;
}

static int run_method(struct report *r, const struct family *family, struct sample64 *t, const char *method, struct cli_error *f) {
    struct halftone_plan plan;
    struct metrics64 e;
    progress_step(&r->progress, method);
    if (session64_select(r->session, method, f) != 0 || session64_query(r->session, &t->problem, &plan, f) != 0 ||
        session64_multiply(r->session, &t->problem, f) != 0 || sample64_judge(t, &e, f) != 0)
        return -1;
    add_row(r, family, t, method, plan.scheme, plan.fixed_point ? -1 : (double)plan.bound_units, &e);
    return 0;
}

static int run_trial(struct report *r, const struct family *family, int64_t k, struct cli_error *f) {
    const int64_t n = r->what->outer > 0 ? r->what->outer : k;
    struct sample64 t;
    int status = sample64_open(&t, family, (uint64_t)r->what->seed, "NN", n, n, k, n <= ALL_ROWS_UP_TO ? 0 : SAMPLED_ROWS, f);
    if (status == 0)
        status = run_native(r, family, &t, f);
    for (int i = 0; i < r->methods.count && status == 0; i++)
        status = run_method(r, family, &t, r->methods.name[i], f);
    sample64_close(&t);
    return status;
}

static int write_out(struct report *r, const char *head, struct cli_error *f) {
    char *const path = outfile_join(r->what->out, "report.tsv");
    if (path == NULL)
        return cli_error_memory(f, 4096, "a path");
    const int status = tsv_write(&r->table, path, head, f);
    if (status == 0)
        printf("wrote %s\n", path);
    free(path);
    return status;
}

int report64_run(const struct report64 *what, struct session *s, struct cli_error *f) {
    struct report r = {.what = what, .session = s};
    const char *why = "";
    char stamp[STAMP_BYTES], head[HEAD_BYTES];
    int status = methods_choose64(&r.methods, s, what->schemes, what->accuracies, f);
    if (status == 0 && what->out != NULL)
        status = outfile_folder(what->out, f);
    r.baseline = s->device.simulated ? NULL : baseline_open(&why);
    struct device_info *const facts = s->device.simulated ? NULL : device_info_open();
    stamp_write(stamp, &what->stamp, s, r.baseline, facts);
    snprintf(head, sizeof head,
             "%s# FP64 products n x k x n of families whose elements have 29 more random bits; seed %lld\n# errors of all rows up to n = %d, above of %d rows, "
             "against sums in twice the precision; grade and bound in 2^-53 |A||B|; bound n/a: relative to norms of rows and columns\n",
             stamp, (long long)what->seed, (int)ALL_ROWS_UP_TO, (int)SAMPLED_ROWS);
    tsv_init(&r.table, columns, (int)(sizeof columns / sizeof columns[0]));
    progress_start(&r.progress, what->families * what->sizes * r.methods.count);
    for (int i = 0; i < what->families && status == 0; i++)
        for (int j = 0; j < what->sizes && status == 0; j++)
            status = run_trial(&r, what->family[i], what->size[j], f);
    progress_end(&r.progress);
    if (status == 0) {
        printf("%s; native FP64: %s; reference in twice the precision; grade in units of 2^-53 |A||B|\n\n", s->device.name, native_name(&r));
        status = tsv_print(&r.table, stdout, f);
    }
    if (status == 0 && what->out != NULL)
        status = write_out(&r, head, f);
    tsv_free(&r.table);
    methods_free(&r.methods);
    baseline_close(r.baseline);
    device_info_close(facts);
    return status;
}
