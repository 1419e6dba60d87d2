/* families64: the families of families.h in FP64: each element of theirs with 29 more random bits, so that no FP64 bit is zero by the
 * way it was made; whole numbers up to 2^16, zeros, NaN and Inf stay as they are. Exponents are those of FP32. */
#ifndef BENCH_FAMILIES64_H
#define BENCH_FAMILIES64_H

#include "accuracy/families.h"

/* As family_fill_op; 0, or -1 without memory. */
int family64_fill_op(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k, double *out, int64_t ld);

#endif
