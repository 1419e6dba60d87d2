/* residue_check: which elements of an FP64 product accuracy fp64 leaves to residues, by the rules of ACCURACY.md, section 18. On the
 * host, in FP64: rows whose scale is within rounding of its limit may be off by one. Knows nothing of files or devices. */
#ifndef BENCH_RESIDUE_CHECK_H
#define BENCH_RESIDUE_CHECK_H

#include <stdint.h>

/* Element (row, k) is at[row * row_step + k * k_step]; rows: of A, or columns of B. */
struct residue_operand {
    const double *at;
    int64_t rows, row_step, k_step;
};

struct residue_report {
    int64_t elements;
    int64_t counted;       /* by counts of large elements */
    int64_t large;         /* of the others, by their size */
    int64_t large_unasked; /* of what is left, would be, were all rows asked */
    int64_t tiles, tiles_left; /* of 64 x 64; with any element that native64 computes */
    int64_t asked[2];          /* rows of A and columns of B whose results are asked for their size */
};

/* units: of 2^-53 |A||B| that may be lost; k for fp64. 0, or -1 without memory. */
int residue_check(const struct residue_operand *a, const struct residue_operand *b, int64_t k, int moduli, double units,
                  struct residue_report *out);

#endif
