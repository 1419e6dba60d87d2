/* counted.h: for each form of cublas_products.h the arguments as numbers, for a fake that tells what it got by a hash of them, and for a
 * program that calls it with 1, 2, 3, ... */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdint.h>

#include "../../runtime/dropin/cublas_products.h"

#define V(x) (long long)(intptr_t)(x)
#define VALUES_TRSM_BATCHED V(handle), V(side), V(uplo), V(op), V(diag), V(m), V(n), V(alpha), V(a), V(lda), V(b), V(ldb), V(batch)

/* Arguments of a call, each another number, from `base` on. */
#define P(x) (void *)(intptr_t)(base + x)
#define I(x) (int)(base + x)
#define CALL_TRSM_BATCHED P(0), I(1), I(2), I(3), I(4), I(5), I(6), P(7), P(8), I(9), P(10), I(11), I(12)

static inline int hash_of(const long long *values, int count) {
    uint32_t hash = 17;
    for (int i = 0; i < count; i++)
        hash = hash * 31 + (uint32_t)values[i];
    return (int)(hash & 0x7fffffff);
}

#endif
