/* f16x3_host: one element of a product by scheme f16x3 as NVIDIA's kernels compute it, on the host, bit for
 * bit: splits, MMAs of 16 k in the simulator's arithmetic, promotion. Not split-K. For searches that need
 * millions of single elements. */
#ifndef BENCH_F16X3_HOST_H
#define BENCH_F16X3_HOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct f16x3_host {
    const char *model;     /* as sim_mma_find has them: "sm80", "sm90" */
    int promote_k;         /* k of a chain, at most 128: 32 in sets for sm_80, 64 in those for sm_90 */
    int corrections_first; /* of a whole chain before its main products, as warpgroups have them */
};

/* The sum of a[i] b[i], both scaled as packing does; k is padded with zeros. Before the scales are undone. */
float f16x3_host_dot(const struct f16x3_host *unit, const float *a, const float *b, int k);

#ifdef __cplusplus
}
#endif
#endif
