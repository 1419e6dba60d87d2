/* cublas_solve.h: how TRSM's triangle is cut: in two, again and again,
 * down to blocks that the original solves. */
#ifndef DROPIN_CUBLAS_SOLVE_H
#define DROPIN_CUBLAS_SOLVE_H

#include <stdint.h>

/* Rows of a block; parts begin at multiples, so that what a product reads is aligned where A and B are. */
enum { SOLVE_BLOCK_MOST = 512, SOLVE_BLOCK_MULTIPLE = 64 };

/* Rows of the first of the two parts of so many rows; 0: they are a block. */
static inline int64_t cublas_rows_of_first_part(int64_t rows) {
    return rows <= SOLVE_BLOCK_MOST ? 0 : (rows / 2 + SOLVE_BLOCK_MULTIPLE - 1) / SOLVE_BLOCK_MULTIPLE * SOLVE_BLOCK_MULTIPLE;
}

#endif
