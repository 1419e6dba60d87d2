/* narrow: two operands in 16 bits on the device, as cuBLAS' FP16 and BF16 products read them. */
#ifndef BENCH_NARROW_H
#define BENCH_NARROW_H

#include <stdint.h>

#include "fault.h"
#include "yardstick.h"

struct narrow {
    void *a, *b; /* device; NULL before narrow_open and after narrow_close */
};

/* a and b are host arrays of so many numbers; mode: YARDSTICK_FP16 or YARDSTICK_BF16. After a failure narrow_close is still due. */
int narrow_open(struct narrow *n, enum yardstick_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct fault *f);
void narrow_close(struct narrow *n);

#endif
