/* launch_direct: kernels and the reduction of their set, launched without a handle. See launch_direct.h. */
#include "measure/launch_direct.h"
#include "../../../runtime/ht_cost.h"

#include <string.h>

int launch_direct_open(struct launch_direct *c, const struct ht_set_desc *set, const struct ht_kernel_desc *kernel,
                    const struct session_problem *p, int splits, struct cli_error *f) {
    struct ht_gemm_args *g = &c->args;
    memset(c, 0, sizeof *c);
    c->kernel = kernel;
    c->reduce = set->reduce;
    for (int i = 0; i < set->schemes; i++)
        if (strcmp(set->scheme[i].name, kernel->scheme) == 0)
            g->fma_only = p->k <= set->scheme[i].simt_k_max;
    const int64_t bytes = ht_partial_bytes(p->m, p->n, 1, splits, 4);
    if (session_device_check(ht_dev_check(kernel->init()), "kernel", f) != 0 ||
        (bytes > 0 && session_device_check(ht_dev_alloc(&c->parts, (size_t)bytes), "device memory", f) != 0))
        return -1;
    g->a = (struct ht_view){.src = p->a, .ld = p->lda, .rows = (int)p->m, .k = (int)p->k};
    g->b = (struct ht_view){.src = p->b, .ld = p->ldb, .rows = (int)p->n, .k = (int)p->k, .k_contiguous = 1};
    g->to = (struct ht_result){.c = p->c, .ldc = p->m, .alpha.f32 = 1};
    g->partial = c->parts;
    g->m = (int)p->m;
    g->n = (int)p->n;
    g->splits = splits;
    g->batch = 1;
    return 0;
}

int launch_direct_run(void *launch, struct cli_error *f) {
    const struct launch_direct *c = launch;
    int code = ht_launch_gemm(c->kernel, &c->args, NULL);
    if (code == 0 && c->args.splits > 1)
        code = c->reduce(&c->args, NULL);
    return session_device_check(ht_dev_check(code), "launch", f);
}

void launch_direct_close(struct launch_direct *c) {
    (void)ht_dev_stream_sync(NULL);
    if (c->parts != NULL)
        (void)ht_dev_free(c->parts);
}
