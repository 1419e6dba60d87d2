/* sample64: a product of a family in FP64. See sample64.h. */
#include "measure/sample64.h"

#include <stdlib.h>
#include <string.h>

int sample64_open(struct sample64 *t, const struct family *family, uint64_t seed, const char *trans, int64_t m, int64_t n, int64_t k,
                  int64_t rows_most, struct cli_error *f) {
    const int64_t lda = trans[0] == 'N' ? m : k, ldb = trans[1] == 'N' ? k : n;
    memset(t, 0, sizeof *t);
    t->a = malloc((size_t)(m * k) * sizeof *t->a);
    t->b = malloc((size_t)(k * n) * sizeof *t->b);
    t->whole = malloc((size_t)(m * n) * sizeof *t->whole);
    if (t->a == NULL || t->b == NULL || t->whole == NULL || family64_fill_op(family, seed, 'A', trans[0], m, n, k, t->a, lda) != 0 ||
        family64_fill_op(family, seed, 'B', trans[1], m, n, k, t->b, ldb) != 0 ||
        reference64_make(&t->reference, trans[0], trans[1], m, n, k, t->a, lda, t->b, ldb, rows_most) != 0)
        return cli_error_memory(f, 8.0 * (double)(m * k + k * n + m * n), "matrices");
    return session64_problem_open(&t->problem, trans[0], trans[1], m, n, k, t->a, lda, t->b, ldb, f);
}

void sample64_close(struct sample64 *t) {
    session64_problem_close(&t->problem);
    reference64_free(&t->reference);
    free(t->a);
    free(t->b);
    free(t->whole);
    memset(t, 0, sizeof *t);
}

int sample64_judge(struct sample64 *t, struct metrics64 *out, struct cli_error *f) {
    if (session64_problem_result(&t->problem, t->whole, f) != 0)
        return -1;
    reference64_compare(&t->reference, t->whole, t->problem.m, out);
    return 0;
}
