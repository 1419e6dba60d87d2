/* problem: a random product: shape, layout, scalars and data, and device memory that shows who touches what he must not. Gaps between
 * columns, before and behind the matrices hold NaN of one payload; a matrix often ends where its memory ends. */
#ifndef TESTS_FUZZ_PROBLEM_H
#define TESTS_FUZZ_PROBLEM_H

#include <stdint.h>

#include "fuzz.h"

struct matrix {
    int64_t rows, cols, ld, stride, entries; /* as stored; stride 0: one for all entries */
    int64_t floats, lead;                    /* of the memory; from its beginning to the matrix */
    float *host, *device;                    /* all of it */
};

struct problem {
    char ta, tb;
    int64_t m, n, k, batch;
    float alpha, beta;
    const char *data;       /* the kind, for the note */
    int exact;              /* small whole numbers */
    struct matrix a, b, c;
};

/* Element (row, col) of op-free storage; first float of an entry. */
int64_t matrix_at(const struct matrix *x, int64_t entry, int64_t row, int64_t col);

/* Element (i, l) of op(A) and (l, j) of op(B). */
float problem_a(const struct problem *p, int64_t entry, int64_t i, int64_t l);
float problem_b(const struct problem *p, int64_t entry, int64_t l, int64_t j);
/* C as it is before the call. */
float problem_c(const struct problem *p, int64_t entry, int64_t i, int64_t j);

/* FMAs of a case are kept near this. */
void problem_make(struct problem *p, struct fuzz_rng *r, int64_t work_most);
void problem_note(const struct problem *p, const char *what, const char *how);
void problem_free(struct problem *p);

const float *matrix_data(const struct matrix *x); /* on the device */
/* C again as it is before the call. */
void problem_reset_c(const struct problem *p);
/* All of C's memory as it is now; fails where a byte outside of C changed, or one of A or B. The caller frees it. */
float *problem_read_c(const struct problem *p);

/* Device memory of exactly so many bytes, filled with the payload. */
void *device_make(int64_t bytes);
void device_free(void *memory);

#endif
