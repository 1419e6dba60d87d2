/* random64: FP64 numbers to fill matrices with; each thread has a sequence of its own. */
#ifndef TESTS_RANDOM64_H
#define TESTS_RANDOM64_H

#include <stdint.h>

static __thread uint64_t random_state = 1;

/* In [-1, 1], all bits random. */
static inline double random_uniform(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)random_state * 0x1p-63;
}

/* Of mean 0 and variance 1, nearly normal. */
static inline double random_normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_uniform();
    return sum / 2;
}

#endif
