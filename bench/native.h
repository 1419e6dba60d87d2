/* native: the plain FP32 product that everything is held against: cuBLAS SGEMM where it is, else the CPU's
 * loop. */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

#include "engine.h"
#include "reference.h"
#include "yardstick.h"

/* Short name for tables: "cublas-sgemm" or "cpu-fp32". */
const char *native_name(const struct yardstick *y);
/* The sampled rows of the product into `out` (r->rows * r->cols); whole: m * n scratch floats. y NULL: from
 * r. */
int native_sample(struct yardstick *y, const struct engine_problem *p, const struct reference *r,
                  float *whole, float *out, struct fault *f);

#endif
