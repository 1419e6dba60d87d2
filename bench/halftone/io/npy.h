/* npy: NumPy's .npy files (format versions 1.0, 2.0 and 3.0) as matrices in single precision, or in double as they are. Knows
 * nothing of products or devices.
 *
 * Read: float16/32/64, signed and unsigned integers of 1 to 8 bytes and bool, either byte order, C or Fortran
 * order. float64 and integers are rounded to the nearest float32; a finite float64 that would become infinite
 * is refused. A 1-d array of length n is one row (1 x n), as NumPy's left operand; --ta / --tb make a column
 * of it. 0-d, 3-d and more, complex, object, text and structured arrays are refused, each with the cure in
 * the message. npy_read_wide takes float64 alone. Written: float32 or float64, little endian, version 1.0, data aligned to 64
 * bytes, never a partial file.
 */
#ifndef BENCH_NPY_H
#define BENCH_NPY_H

#include <stdint.h>

#include "io/cli_error.h"

struct npy_matrix {
    float *data; /* rows * cols values; never NULL after npy_read, even for an empty matrix */
    int64_t rows, cols;
    int column_major; /* Fortran order: element (i, j) is data[j * rows + i], else data[i * cols + j] */
    int is_float64;   /* the file's elements */
    double *wide;     /* instead of data after npy_read_wide; npy_write writes what is not NULL */
};

int npy_read(const char *path, struct npy_matrix *out, struct cli_error *f);
/* What is not float64 is refused. */
int npy_read_wide(const char *path, struct npy_matrix *out, struct cli_error *f);
/* The same without the elements: data is NULL. Header and length are checked. */
int npy_examine(const char *path, struct npy_matrix *out, struct cli_error *f);
int npy_write(const char *path, const struct npy_matrix *matrix, struct cli_error *f);
void npy_free(struct npy_matrix *matrix);

#endif
