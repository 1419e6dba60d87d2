/* sample_problem: one input family at one size. See sample_problem.h. */
#include "measure/sample_problem.h"

#include <stdlib.h>
#include <string.h>

void sample_problem_close(struct sample_problem *t) {
    session_problem_close(&t->problem);
    reference_free(&t->reference);
    free(t->a);
    free(t->b);
    free(t->whole);
    free(t->sample);
    memset(t, 0, sizeof *t);
}

int sample_problem_open(struct sample_problem *t, const struct family *family, int64_t n, int64_t k, uint64_t seed,
               int64_t rows_most, struct cli_error *f) {
    const int64_t more = n % 2 != 0 ? 2 : 0, lda = n + more, ldb = k + more;
    memset(t, 0, sizeof *t);
    t->family = family;
    t->n = n;
    t->k = k;
    t->a = calloc((size_t)(lda * k), sizeof *t->a);
    t->b = calloc((size_t)(ldb * n), sizeof *t->b);
    t->whole = malloc((size_t)(n * n) * sizeof *t->whole);
    t->sample = malloc((size_t)(n * n) * sizeof *t->sample);
    int status = t->a == NULL || t->b == NULL || t->whole == NULL || t->sample == NULL ? -1 : 0;
    if (status == 0) {
        family_fill(family, seed, 'A', n, n, k, t->a, lda);
        family_fill(family, seed, 'B', n, n, k, t->b, ldb);
        status = reference_make(&t->reference, 'N', 'N', n, n, k, t->a, lda, t->b, ldb, rows_most, 0);
    }
    if (status != 0) {
        sample_problem_close(t);
        return cli_error_memory(f, (double)(lda * k + ldb * n) * 8 + (double)n * (double)n * 24,
                            "matrices and reference");
    }
    t->truth = reference_truth(&t->reference);
    if (session_problem_open(&t->problem, 'N', 'N', n, n, k, t->a, lda, t->b, ldb, f) == 0)
        return 0;
    sample_problem_close(t);
    return -1;
}

int sample_problem_families(const char *text, struct name_list *names, const struct family *out[SAMPLE_FAMILIES_MOST],
                   int *count, struct cli_error *f) {
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
