/* split_call: one call of a kernel that reads the operands as they are, its k in a number of parts of choice, where the library has
 * its own. Neither operand transposed, alpha 1, beta 0. */
#ifndef BENCH_SPLIT_CALL_H
#define BENCH_SPLIT_CALL_H

#include "engine.h"

struct split_call {
    const struct ht_kernel_desc *kernel;
    int (*reduce)(const struct ht_gemm_args *args, void *stream);
    struct ht_gemm_args args;
    void *parts; /* device memory */
};

/* p: its matrices are on the device. split_call_close, whatever comes back. */
int split_call_open(struct split_call *c, const struct ht_set_desc *set, const struct ht_kernel_desc *kernel,
                    const struct engine_problem *p, int splits, struct fault *f);
/* Asynchronous; as timing_measure wants it. */
int split_call_run(void *split_call, struct fault *f);
void split_call_close(struct split_call *c);

#endif
