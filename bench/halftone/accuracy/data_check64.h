/* data_check64: what decides, of two FP64 matrices, which elements of C accuracy `fp64` leaves to residues: how many elements of a row or
 * column the certificate (certificate64.h) counts as large, and which rows and columns have enough together. On the host. Knows nothing of
 * files or devices. */
#ifndef BENCH_DATA_CHECK64_H
#define BENCH_DATA_CHECK64_H

#include "accuracy/certificate64.h"

/* Element (i, l) of op(A), or column i and row l of op(B), is data[i * row_step + l * k_step]. */
struct data_view64 {
    const double *data;
    int64_t rows, row_step, k_step;
};

/* Large elements of a row, as shares of k, of rows that are neither zero nor not finite: the least, a tenth of the rows from there, the
 * median, nine tenths, the most. */
enum { DATA64_SHARES = 5 };

struct data_side64 {
    int64_t rows, elements, large, zeros;
    int64_t rows_half, rows_zero, rows_not_finite; /* rows_half: with half of what is needed or more, which pass with each other */
    double share[DATA64_SHARES];
};

enum { DATA64_BLOCK = 64 };
struct data_report64 {
    int64_t m, n, k;
    struct ht_certificate certificate;
    double binades; /* from a row's root mean square down to what counts; in rows whose scale is just below its limit up to one less */
    struct data_side64 side[2];
    int64_t elements, left, blocks, blocks_left; /* of C; left: native64's, and blocks of 64 x 64 that hold one */
};

/* 0, or -1 without memory. */
int data_check64(const struct data_view64 *a, const struct data_view64 *b, int64_t k, int moduli, const struct ht_certificate *c,
                 struct data_report64 *out);

#endif
