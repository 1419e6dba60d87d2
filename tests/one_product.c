/* one_product KERNEL: one product on the named kernel in the simulator, held to its bound. Exit 0: right; 1: wrong or
 * the simulator objects, with the reason on the last line. For tests/test_broken.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../bench/families.h"
#include "../bench/metrics.h"
#include "../bench/reference.h"
#include "../runtime/halftone.h"
#include "../runtime/ht_dev.h"

enum { M = 150, N = 140, K = 256 };

static float *device_copy(const float *host, size_t count) {
    void *p = NULL;
    if (ht_dev_alloc(&p, count * sizeof(float)) != HT_DEV_OK ||
        ht_dev_upload(p, host, count * sizeof(float)) != HT_DEV_OK)
        return NULL;
    return p;
}

int main(int argc, char **argv) {
    static float a[M * K], b[K * N], c[M * N];
    const float one = 1, zero = 0;
    struct reference r;
    struct metrics found;
    struct halftone_plan plan;
    halftone *h = NULL;
    int code = argc == 2 ? halftone_create(&h) : HALFTONE_UNKNOWN_KERNEL;
    family_fill(family_find("llm"), 3, 'A', M, N, K, a, M);
    family_fill(family_find("llm"), 3, 'B', M, N, K, b, K);
    for (int i = 0; i < M * N; i++)
        c[i] = NAN;
    float *da = device_copy(a, M * K), *db = device_copy(b, K * N), *dc = device_copy(c, M * N);
    if (code == HALFTONE_OK)
        code = halftone_set_kernel(h, argv[1]);
    if (code == HALFTONE_OK)
        code = halftone_query(h, 'N', 'N', M, N, K, 1, &plan);
    if (code == HALFTONE_OK)
        code = halftone_sgemm(h, 'N', 'N', M, N, K, &one, da, M, db, K, &zero, dc, M);
    if (code == HALFTONE_OK && ht_dev_download(c, dc, sizeof c) != HT_DEV_OK)
        code = HALFTONE_DEVICE_ERROR;
    if (code != HALFTONE_OK) {
        printf("%s: %s\n", halftone_strerror(code), halftone_last_detail(h));
        return 1;
    }
    if (reference_make(&r, 'N', 'N', M, N, K, a, M, b, K, 0, 0) != 0)
        return 1;
    const struct metrics_truth truth = reference_truth(&r);
    metrics_compute(&truth, c, &found);
    printf("grade %g, bound %lld\n", found.grade, (long long)plan.bound_units);
    reference_free(&r);
    return !(found.grade <= (double)plan.bound_units);
}
