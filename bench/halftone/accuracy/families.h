/* families: every input family of the accuracy contract (ACCURACY.md, section 13), by name, in one
 * place for tests and the command alike. Every element is a pure function of (family, seed, side, row,
 * column, k): no state, so any part of any matrix can be made in any order and on any number of threads.
 * Knows nothing of schemes or devices. */
#ifndef BENCH_FAMILIES_H
#define BENCH_FAMILIES_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct family_site { /* one element: op-free A(m x k) or B(k x n) */
    uint64_t seed;
    char side; /* 'A' or 'B' */
    int64_t m, n, k, row, col;
    double parameter;
    double line; /* family.line of the element's row of A or column of B; 0: not known, value computes it */
};

struct family {
    const char *name;
    const char *text; /* one line for help and reports */
    int exact;        /* every scheme must be exact while the sums fit 24 bits */
    int special;      /* holds NaN or Inf */
    double parameter;
    float (*value)(const struct family_site *site);
    double (*line)(const struct family_site *site); /* what a row of A or column of B has in common, at O(k); NULL: nothing */
};

extern const struct family family_table[];
extern const int family_count;
const struct family *family_find(const char *name); /* NULL: none */
void family_list(FILE *out);                        /* a line each, name and text, for --help and --list */

/* Column-major A (m x k) or B (k x n) with leading dimension ld; columns are shared out to threads where there are many elements. */
void family_fill(const struct family *family, uint64_t seed, char side, int64_t m, int64_t n, int64_t k,
                 float *out, int64_t ld);
/* The same matrix as it is stored for trans 'T': its transpose. 'N': as family_fill. */
void family_fill_op(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k,
                    float *out, int64_t ld);
/* The same in FP64: each element with 29 more random bits, so that no FP64 bit is zero by the way it was made; whole numbers up to 2^16,
 * zeros, NaN and Inf stay as they are. Exponents are those of FP32. 0, or -1 without memory. */
int family_fill_wide(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k, double *out, int64_t ld);

/* Random number primitives, for tests that need their own data. */
uint64_t family_bits(uint64_t seed, uint64_t stream, uint64_t row, uint64_t col);
double family_uniform(uint64_t bits); /* [0, 1), 53 bits */

/* Data shaped like the 8 x 8 handwritten digits: `count` rows of 64 whole numbers 0..16, row-major; ten
 * classes. */
void family_digits(uint64_t seed, int64_t count, float *out);

#ifdef __cplusplus
}
#endif
#endif
