/* launch_direct: one call of a kernel that reads the operands as they are, its k in a number of parts of choice, where the library has
 * its own. Neither operand transposed, alpha 1, beta 0. */
#ifndef BENCH_LAUNCH_DIRECT_H
#define BENCH_LAUNCH_DIRECT_H

#include "measure/session.h"

struct launch_direct {
    const struct ht_kernel_desc *kernel;
    int (*reduce)(const struct ht_gemm_args *args, void *stream);
    struct ht_gemm_args args;
    void *parts; /* device memory */
};

/* p: its matrices are on the device. launch_direct_close, whatever comes back. */
int launch_direct_open(struct launch_direct *c, const struct ht_set_desc *set, const struct ht_kernel_desc *kernel,
                    const struct session_problem *p, int splits, struct cli_error *f);
/* Asynchronous; as timing_measure wants it. */
int launch_direct_run(void *launch, struct cli_error *f);
void launch_direct_close(struct launch_direct *c);

#endif
