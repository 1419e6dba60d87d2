/* problem: a random product of FP32 or FP64: shape, layout, scalars and data, in matrices that show who touches what he must not. */
#ifndef TESTS_FUZZ_PROBLEM_H
#define TESTS_FUZZ_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "fuzz.h"

/* ---- matrix.c: matrices of FP32 and FP64 in device memory that shows who touches what he must not. Gaps between columns, before and behind the
 * matrix hold NaN of one payload; a matrix often ends where its memory ends. */

struct matrix {
    int64_t rows, cols, ld, stride, entries; /* as stored; stride 0: one for all entries */
    int64_t elements, lead;                  /* of the memory; from its beginning to the matrix */
    size_t size;                             /* bytes of an element */
    void *host, *device;                     /* all of it; the host's is what the device's was at first */
};

/* 'T', 't', 'C' or 'c'. */
int matrix_is_trans(char op);

/* A random layout of op-free storage; of A and B entries may overlap. */
void matrix_lay_out(struct matrix *x, size_t size, int64_t rows, int64_t cols, int64_t entries, int is_c, struct fuzz_rng *r);
/* Takes memory for the layout, all of it poisoned. */
void matrix_make(struct matrix *x, struct fuzz_rng *r);
void matrix_free(struct matrix *x);

/* Where element (row, col) is in the memory, in elements. */
int64_t matrix_at(const struct matrix *x, int64_t entry, int64_t row, int64_t col);
/* An element of the memory, of a copy of it. */
double matrix_value(const struct matrix *x, const void *memory, int64_t at);
size_t matrix_bytes(const struct matrix *x); /* of all memory */
void *matrix_data(const struct matrix *x);   /* on the device, as the library is given it */
void *matrix_host(const struct matrix *x);

/* The device's memory becomes what the host's is. */
void matrix_upload(const struct matrix *x);
/* All memory of C as it is now on the device; fails where an element outside of the matrix changed. The caller frees it. */
void *matrix_read(const struct matrix *c);
/* The same of a copy of all memory. */
void matrix_check_outside(const struct matrix *c, const void *now);
/* Fails where anything changed. */
void matrix_check_untouched(const struct matrix *x, const char *name);

void *host_make(size_t bytes); /* free() takes it back */
/* Device memory of exactly so many bytes, filled with 0xff. */
void *device_make(int64_t bytes);
void device_free(void *memory);
/* Device memory with a guard behind it, whose bytes fail the case where they changed. */
void *device_make_guarded(size_t bytes);
void device_check_guard(const void *memory, size_t bytes, const char *name);

/* ---- problems */

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
