/* pair: two .npy files as the operands of a product op(A) op(B), or of a batch of such, for the library's
 * column-major calls. Knows nothing of what is done with them. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "measure/session.h"
#include "io/npy.h"

/* batch > 1: each file holds that many matrices below each other, all with the same number of rows. */
struct pair {
    struct npy_matrix x[2];
    int transposed[2];
    int64_t batch;
};

/* Both files; what was read is the caller's to free, also after a failure. wide: both must be float64, and stay so. */
int pair_read(struct pair *p, const char *const path[2], int wide, struct cli_error *f);
/* Extents and types alone. */
int pair_examine(struct pair *p, const char *const path[2], struct cli_error *f);
void pair_free(struct pair *p);

/* Extents of op(A) and op(B), of one product. */
int64_t pair_rows(const struct pair *p, int which);
int64_t pair_cols(const struct pair *p, int which);
/* Steps from a row of op(A), or a column of op(B), to the next, and along k, in elements of what is stored. */
void pair_steps(const struct pair *p, int which, int64_t *row_step, int64_t *k_step);
/* One line about what does not meet, 0 where everything does: inner extents, a batch that does not divide the
 * rows. `subject` goes before it, and is NULL or "PLACE: ". `is_option`: the cure is --ta or --tb, else the
 * columns of a manifest. */
int pair_check(const struct pair *p, const char *subject, int is_option, struct cli_error *f);

/* A row-major matrix is its transpose in column-major order, so the row-major C = op(A) op(B) is computed as
 * the column-major C' = op(B)' op(A)'. What lies in memory is X' for row-major X and X for Fortran order;
 * op(X)' is needed. */
char pair_trans(const struct pair *p, int which);
int64_t pair_ld(const struct pair *p, int which);
int pair_open_problem(const struct pair *p, struct session_problem *out, struct cli_error *f); /* of the type that was read */

#endif
