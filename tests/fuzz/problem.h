/* problem: a random product: shape, layout, scalars and data, in matrices that show who touches what he must not. */
#ifndef TESTS_FUZZ_PROBLEM_H
#define TESTS_FUZZ_PROBLEM_H

#include "matrix.h"

struct problem {
    char ta, tb;
    int64_t m, n, k, batch;
    float alpha, beta;
    const char *data;       /* the kind, for the note */
    int exact;              /* small whole numbers */
    struct matrix a, b, c;
};

/* Element (i, l) of op(A) and (l, j) of op(B). */
float problem_a(const struct problem *p, int64_t entry, int64_t i, int64_t l);
float problem_b(const struct problem *p, int64_t entry, int64_t l, int64_t j);
/* C as it is before the call. */
float problem_c(const struct problem *p, int64_t entry, int64_t i, int64_t j);

/* FMAs of a case are kept near this. */
void problem_make(struct problem *p, struct fuzz_rng *r, int64_t work_most);
void problem_note(const struct problem *p, const char *what, const char *how);
void problem_free(struct problem *p);

/* C again as it is before the call. */
void problem_reset_c(const struct problem *p);
/* All of C's memory as it is now; fails where a byte outside of C changed, or one of A or B. The caller frees it. */
float *problem_read_c(const struct problem *p);

#endif
