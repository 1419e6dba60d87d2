/* operand64: matrices of FP64 on the host and on the device, for test_dgemm and test_dcheck, and numbers to fill them. */
#ifndef TESTS_OPERAND64_H
#define TESTS_OPERAND64_H

#include <math.h>

#include "handle.h"

static uint64_t state; /* of uniform */

/* In [-1, 1). */
static double uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)((int64_t)state >> 11) * 0x1p-52;
}

/* An operand on the host: element (row, k) is at[entry * stride + (k_contiguous ? row * ld + k : k * ld + row)]. */
struct operand {
    double *at, *device;
    int64_t ld, stride, count;
    bool k_contiguous;
};

static double *place(const struct operand *x, int64_t entry, int64_t row, int64_t k) {
    return x->at + entry * x->stride + (x->k_contiguous ? row * x->ld + k : k * x->ld + row);
}

static double *allocated(int64_t count) {
    double *x = kept((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++)
        x[i] = NAN;
    return x;
}

static double *on_device(const double *x, int64_t count) {
    double *p = kept_on_device((size_t)count * sizeof *x);
    OK(ht_dev_upload(p, x, (size_t)count * sizeof *x));
    return p;
}

/* x + y as a pair that loses next to nothing. */
static void add(double *high, double *low, double x) {
    const double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

#endif
