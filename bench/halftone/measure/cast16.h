/* cast16: two operands in 16 bits on the device, as cuBLAS' FP16 and BF16 products read them. */
#ifndef BENCH_CAST16_H
#define BENCH_CAST16_H

#include <stdint.h>

#include "io/cli_error.h"
#include "measure/baseline_cublas.h"

struct cast16 {
    void *a, *b; /* device; NULL before cast16_open and after cast16_close */
};

/* a and b are host arrays of so many numbers; mode: BASELINE_FP16 or BASELINE_BF16. After a failure cast16_close is still due. */
int cast16_open(struct cast16 *n, enum baseline_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct cli_error *f);
void cast16_close(struct cast16 *n);

#endif
