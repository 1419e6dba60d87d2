/* baseline_cublas: the vendor's own products to measure against (cuBLAS). Everything is looked up
 * at run time with dlopen; what is missing is reported as missing. No vendor header, no link-time dependency.
 * Knows nothing of our schemes. */
#ifndef BENCH_BASELINE_CUBLAS_H
#define BENCH_BASELINE_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

#include "accuracy/reference.h"
#include "io/cli_error.h"
#include "measure/session.h"

/* The last one is cuBLAS' own FP32 emulation: refused by a cuBLAS before 12.9, and native FP32 on GPUs it was not made for
 * (cuBLAS documentation, "Floating Point Emulation"); there is nothing to time then. */
enum baseline_mode {
    BASELINE_SGEMM,
    BASELINE_TF32,
    BASELINE_FP16,
    BASELINE_BF16,
    BASELINE_BF16X9,
    BASELINE_MODES,
    BASELINE_TIMED = BASELINE_BF16X9
};
extern const char *const baseline_names[BASELINE_MODES];

struct baseline; /* NULL everywhere below means: not there */

/* NULL when cuBLAS cannot be loaded; *why then tells it in a few words. */
struct baseline *baseline_open(const char **why);
void baseline_close(struct baseline *y);
int baseline_version(const struct baseline *y); /* as cublasGetVersion, 0: unknown */

/* Two operands in 16 bits on the device, as the FP16 and BF16 products read them. */
struct cast16 {
    void *a, *b; /* device; NULL before cast16_open and after cast16_close */
};

/* The problem's product, of FP32 or FP64, or its batch, asynchronous on the default stream; of one FP32 product each mode, else BASELINE_SGEMM
 * alone. cast: A and B as BASELINE_FP16 and _BF16 read them, else NULL. Returns 0, cuBLAS' status or BASELINE_LACKS where this cuBLAS has no FP64. */
int baseline_multiply(struct baseline *y, enum baseline_mode mode, const struct session_problem *p, const struct cast16 *cast);
enum { BASELINE_LACKS = -1 };

/* C = alpha op(A) op(B) + beta C in native FP32, C with a leading dimension, column-major. */
int baseline_sgemm(struct baseline *y, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                    float *c, int64_t ldc);

/* Rounds to the nearest FP16, ties to even, as the vendor's conversion does; finite numbers to the nearest BF16. */
void baseline_to_half(const float *in, uint16_t *out, size_t count);
void baseline_to_bf16(const float *in, uint16_t *out, size_t count);

/* The plain FP32 product that everything is held against: cuBLAS SGEMM where it is, else the CPU's loop ("cpu-fp32"). */
const char *baseline_fp32_name(const struct baseline *y);
/* The sampled rows of the product into `out` (r->rows * r->cols); whole: m * n scratch floats. y NULL: from r. */
int baseline_fp32_sample(struct baseline *y, const struct session_problem *p, const struct reference *r, float *whole, float *out,
                         struct cli_error *f);

/* a and b are host arrays of so many numbers; mode: BASELINE_FP16 or BASELINE_BF16. After a failure cast16_close is still due. */
int cast16_open(struct cast16 *n, enum baseline_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct cli_error *f);
void cast16_close(struct cast16 *n);

#endif
