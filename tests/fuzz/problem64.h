/* problem64: a random product of FP64, as problem.h has those of FP32: shape, layout, scalars, and data on which residues, digits and
 * slices of FP64 numbers may break. */
#ifndef TESTS_FUZZ_PROBLEM64_H
#define TESTS_FUZZ_PROBLEM64_H

#include "matrix.h"

/* A row of op(A) or a column of op(B): element l is at[l * step]. */
struct line64 {
    double *at;
    int64_t step;
};

struct problem64 {
    char ta, tb;
    int64_t m, n, k, batch;
    double alpha, beta;
    const char *data[2]; /* kinds, for the note */
    struct matrix a, b, c;
};

/* FMAs of a case are kept near this. */
void problem64_make(struct problem64 *p, struct fuzz_rng *r, int64_t work_most);
void problem64_note(const struct problem64 *p, const char *how);
void problem64_free(struct problem64 *p);

struct line64 problem64_row(const struct problem64 *p, int64_t entry, int64_t i);
struct line64 problem64_column(const struct problem64 *p, int64_t entry, int64_t j);

/* C again as it is before the call. */
void problem64_reset_c(const struct problem64 *p);
/* All of C's memory as it is now; fails where a byte outside of C changed, or one of A or B. The caller frees it. */
double *problem64_read_c(const struct problem64 *p);

#endif
