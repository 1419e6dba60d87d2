/* residue_check: what decides, of two FP64 matrices, which elements of C accuracy `fp64` leaves to residues: how many elements of a
 * row or column the certificate (residue_certificate.h) counts as large, and which rows and columns have enough together. On the host.
 * Knows nothing of files or devices. */
#ifndef BENCH_RESIDUE_CHECK_H
#define BENCH_RESIDUE_CHECK_H

#include "accuracy/residue_certificate.h"

/* Element (i, l) of op(A), or column i and row l of op(B), is data[i * row_step + l * k_step]. */
struct residue_view {
    const double *data;
    int64_t rows, row_step, k_step;
};

/* Large elements of a row, as shares of k, of rows that are neither zero nor not finite: the least, a tenth of the rows from there, the
 * median, nine tenths, the most. */
enum { RESIDUE_SHARES = 5 };

struct residue_side {
    int64_t rows, elements, large, zeros;
    int64_t rows_half, rows_zero, rows_not_finite; /* rows_half: with half of what is needed or more, which pass with each other */
    double share[RESIDUE_SHARES];
};

struct residue_report {
    int64_t m, n, k;
    struct ht_certificate certificate;
    double binades; /* from a row's root mean square down to what counts; in rows whose scale is just below its limit up to one less */
    struct residue_side side[2];
    int64_t least[2]; /* of all rows, of all columns: what `needed` is of */
};

/* 0, or -1 without memory. */
int residue_check(const struct residue_view *a, const struct residue_view *b, int64_t k, int moduli, const struct ht_certificate *c,
                 struct residue_report *out);

#endif
