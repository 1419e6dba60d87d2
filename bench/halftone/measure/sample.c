/* sample: a product of a family. See sample.h. */
#include "measure/sample.h"

#include <stdlib.h>
#include <string.h>

void sample_close(struct sample *t) {
    session_problem_close(&t->problem);
    reference_free(&t->reference);
    free(t->a);
    free(t->b);
    free(t->whole);
    free(t->rows);
    memset(t, 0, sizeof *t);
}

/* 0, or -1 without memory. Columns are padded with zeros. */
static int make_matrices(struct sample *t, uint64_t seed, int64_t rows_most) {
    const struct session_problem *const p = &t->problem;
    const int is_wide = p->type == HALFTONE_FP64;
    const size_t bytes = is_wide ? sizeof(double) : sizeof(float);
    t->a = calloc((size_t)(p->lda * (p->trans_a == 'N' ? p->k : p->m)) + 1, bytes);
    t->b = calloc((size_t)(p->ldb * (p->trans_b == 'N' ? p->n : p->k)) + 1, bytes);
    t->whole = malloc(((size_t)(p->m * p->n) + 1) * bytes);
    if (t->a == NULL || t->b == NULL || t->whole == NULL)
        return -1;
    if (is_wide)
        return family_fill_wide(t->family, seed, 'A', p->trans_a, p->m, p->n, p->k, t->a, p->lda) != 0 ||
                       family_fill_wide(t->family, seed, 'B', p->trans_b, p->m, p->n, p->k, t->b, p->ldb) != 0
                   ? -1
                   : reference_make_wide(&t->reference, p->trans_a, p->trans_b, p->m, p->n, p->k, t->a, p->lda, t->b, p->ldb, rows_most);
    family_fill_op(t->family, seed, 'A', p->trans_a, p->m, p->n, p->k, t->a, p->lda);
    family_fill_op(t->family, seed, 'B', p->trans_b, p->m, p->n, p->k, t->b, p->ldb);
    if (reference_make(&t->reference, p->trans_a, p->trans_b, p->m, p->n, p->k, t->a, p->lda, t->b, p->ldb, rows_most, 0) != 0)
        return -1;
    t->truth = reference_truth(&t->reference);
    t->rows = malloc(((size_t)t->truth.count + 1) * sizeof *t->rows);
    return t->rows != NULL ? 0 : -1;
}

int sample_open(struct sample *t, int type, const struct family *family, uint64_t seed, const char *trans,
                const struct shape *shape, int64_t pad, int64_t rows_most, struct cli_error *f) {
    const int64_t m = shape->m, n = shape->n, k = shape->k;
    *t = (struct sample){.family = family,
                         .problem = {.type = type, .trans_a = trans[0], .trans_b = trans[1], .m = m, .n = n, .k = k,
                                     .lda = (trans[0] == 'N' ? m : k) + pad, .ldb = (trans[1] == 'N' ? k : n) + pad}};
    if (make_matrices(t, seed, rows_most) != 0)
        return cli_error_memory(f, (type == HALFTONE_FP64 ? 16.0 : 8.0) * (double)(m * k + k * n + m * n), "matrices and a reference");
    return session_problem_open(&t->problem, t->a, t->b, f);
}

int sample_judge(struct sample *t, struct metrics *out, struct cli_error *f) {
    if (session_problem_result(&t->problem, t->whole, f) != 0)
        return -1;
    if (t->problem.type == HALFTONE_FP64) {
        reference_compare_wide(&t->reference, t->whole, t->problem.m, out);
    } else {
        reference_sample(&t->reference, t->whole, t->problem.m, t->rows);
        metrics_compute(&t->truth, t->rows, out);
    }
    return 0;
}

int sample_families(const char *text, struct name_list *names, const struct family *out[SAMPLE_FAMILIES_MOST], int *count, struct cli_error *f) {
    const int all = text == NULL || strcmp(text, "all") == 0;
    *count = 0;
    for (int i = 0; all && i < family_count; i++)
        out[(*count)++] = &family_table[i];
    if (all)
        return 0;
    if (args_names("--families", text, names, f) != 0)
        return -1;
    if (names->count > SAMPLE_FAMILIES_MOST)
        return cli_error_usage(f, "--families: more than %d names", (int)SAMPLE_FAMILIES_MOST);
    for (int i = 0; i < names->count; i++) {
        out[i] = family_find(names->name[i]);
        if (out[i] == NULL)
            return cli_error_usage(f, "--families: unknown family '%s'; `halftone report --list` prints them",
                               names->name[i]);
    }
    *count = names->count;
    return 0;
}
