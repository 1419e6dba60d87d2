/* engine: the project's own products for the command: a handle, one problem's device memory, and the
 * library's codes turned into one line for the user. The only file of bench that calls halftone_*; device
 * memory elsewhere goes through ht_dev.h. Knows nothing of families, metrics or yardsticks. */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdint.h>

#include "../runtime/halftone.h"
#include "../runtime/ht_dev.h"
#include "fault.h"

struct engine {
    halftone *handle;
    const struct ht_set_desc *set; /* the handle's */
    struct ht_dev_info device;
    int packs; /* the scheme selected now does; 0: its kernels read the matrices as they are */
};

int engine_open(struct engine *e, struct fault *f);
void engine_close(struct engine *e);
/* 0 for code 0, else -1 and the line. */
int engine_check(const struct engine *e, int code, const char *what, struct fault *f);
int engine_device_check(int code, const char *what, struct fault *f); /* the same for enum ht_dev_code */

/* C = op(A) op(B), column-major, C dense; device memory of the three matrices and what packing needs. */
struct engine_problem {
    char trans_a, trans_b;
    int64_t m, n, k, lda, ldb;
    int64_t batch;     /* at most 1: one product, else so many, their matrices one after the other in a, b and c */
    float *a, *b, *c;  /* device */
    float alpha, beta; /* 1 and 0 */
    void *packed_a, *packed_b;
    size_t packed_a_bytes, packed_b_bytes;
};

/* a and b are host arrays of exactly ld x columns elements. */
int engine_problem_open(struct engine_problem *p, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                        const float *a, int64_t lda, const float *b, int64_t ldb, struct fault *f);
/* The same for `batch` products, all of their operands dense. */
int engine_batch_open(struct engine_problem *p, int64_t batch, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                      const float *a, int64_t lda, const float *b, int64_t ldb, struct fault *f);
void engine_problem_close(struct engine_problem *p);
int engine_problem_result(const struct engine_problem *p, float *c, struct fault *f);

/* contender: as in halftone_schemes, "auto", or ENGINE_ACCURACY followed by what halftone_set_accuracy takes. kernel NULL:
 * the library's choice. */
#define ENGINE_ACCURACY "accuracy:"
/* The text behind ENGINE_ACCURACY; NULL: the contender is a scheme. */
const char *engine_accuracy_of(const char *contender);
int engine_select(struct engine *e, const char *contender, const char *kernel, struct fault *f);
int engine_query(struct engine *e, const struct engine_problem *p, struct halftone_plan *plan,
                 struct fault *f);
int engine_multiply(struct engine *e, const struct engine_problem *p, struct fault *f); /* asynchronous */
/* `batch` products of dense operands that lie one after the other; a, b and c of the problem are those of the first. */
int engine_multiply_batch(struct engine *e, const struct engine_problem *p, int64_t batch, struct fault *f);
/* Packed operands for the scheme selected now: sizes and memory, packing alone, product alone. For a scheme that reads the
 * matrices as they are the product alone is the whole call, and packing nothing. */
int engine_pack_prepare(struct engine *e, struct engine_problem *p, struct fault *f);
int engine_pack(struct engine *e, const struct engine_problem *p, struct fault *f);
int engine_multiply_packed(struct engine *e, const struct engine_problem *p, struct fault *f);
int engine_wait(struct fault *f);

/* Names given by the user: checked against the library; an earlier name of a scheme becomes today's. */
int engine_scheme_known(const struct engine *e, const char **scheme, struct fault *f);
int engine_accuracy_known(const struct engine *e, const char *text, struct fault *f);

#endif
