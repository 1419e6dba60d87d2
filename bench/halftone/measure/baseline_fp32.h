/* baseline_fp32: the plain FP32 product that everything is held against: cuBLAS SGEMM where it is, else the CPU's
 * loop. */
#ifndef BENCH_BASELINE_FP32_H
#define BENCH_BASELINE_FP32_H

#include "measure/session.h"
#include "accuracy/reference.h"
#include "measure/baseline_cublas.h"

/* Short name for tables: "cublas-sgemm" or "cpu-fp32". */
const char *baseline_fp32_name(const struct baseline *y);
/* The sampled rows of the product into `out` (r->rows * r->cols); whole: m * n scratch floats. y NULL: from
 * r. */
int baseline_fp32_sample(struct baseline *y, const struct session_problem *p, const struct reference *r,
                  float *whole, float *out, struct cli_error *f);

#endif
