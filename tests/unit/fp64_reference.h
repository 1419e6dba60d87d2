/* fp64_reference: products by Ozaki-II residues (schemes crt14 ... crt20) as the kernels compute them, bit
 * for bit, without residues: the integers that packing makes of the operands, their exact product, one
 * rounding. Slow, and plain enough to be read against bench/ACCURACY64.md, section 14;
 * tests/unit/test_crt.py holds it to Python's integers. */
#ifndef HT_FP64_REFERENCE_H
#define HT_FP64_REFERENCE_H

#include <stdint.h>

/* An operand: element (row, k) is at[row * row_step + k * k_step]; rows are those of A, or columns of B. */
struct fp64_operand {
    const double *at;
    int64_t row_step, k_step;
};

/* In the place of a number of moduli: seven digits to base 256 (i8x28; bench/ACCURACY64.md, section 20). */
enum { FP64_DIGITS = 7 };

/* The exponent s of a row: its elements times 2^s, rounded to nearest, ties away from zero, are the
 * integers. */
int fp64_row_exponent(int moduli, const double *x, int64_t step, int k);

/* round(x 2^s) as 96 bits, lowest word first; s of a finite row. */
void fp64_scaled(double x, int s, uint32_t *words);

/* C = alpha A B + beta C, column-major. 0; 1: no such scheme; 2: a product that residues could not tell
 * from another. */
int fp64_reference(int moduli, int m, int n, int k, double alpha, const struct fp64_operand *a,
                   const struct fp64_operand *b, double beta, double *c, int64_t ldc);

/* The constants, for programs in other languages. */
struct ht_crt;
int fp64_table(int moduli, struct ht_crt *table);

#endif
