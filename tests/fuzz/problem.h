/* problem: a random product of FP32 or FP64: shape, layout, scalars and data, in matrices that show who touches what he must not. */
#ifndef TESTS_FUZZ_PROBLEM_H
#define TESTS_FUZZ_PROBLEM_H

#include "matrix.h"

struct problem {
    int is_fp64;
    char ta, tb;
    int64_t m, n, k, batch;
    double alpha, beta;     /* numbers of the type */
    const char *data[2];    /* kinds, for the note */
    int exact;              /* small whole numbers */
    struct matrix a, b, c;
};

/* Element (i, l) of op(A) and (l, j) of op(B). */
double problem_a(const struct problem *p, int64_t entry, int64_t i, int64_t l);
double problem_b(const struct problem *p, int64_t entry, int64_t l, int64_t j);
/* C as it is before the call. */
double problem_c(const struct problem *p, int64_t entry, int64_t i, int64_t j);

/* Of FP64 a row of op(A) or a column of op(B): element l is at[l * step]. */
struct line64 {
    double *at;
    int64_t step;
};
struct line64 problem_row(const struct problem *p, int64_t entry, int64_t i);
struct line64 problem_column(const struct problem *p, int64_t entry, int64_t j);

/* FMAs of a case are kept near this. */
void problem_make(struct problem *p, struct fuzz_rng *r, int is_fp64, int64_t work_most);
void problem_note(const struct problem *p, const char *how);
void problem_free(struct problem *p);

/* C again as it is before the call. */
void problem_reset_c(const struct problem *p);
/* All of C's memory as it is now; fails where a byte outside of C changed, or one of A or B. The caller frees it. */
void *problem_read_c(const struct problem *p);

#endif
