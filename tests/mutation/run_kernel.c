/* run_kernel KERNEL [NN|NT|TN|TT [PAD]]: one product on the named kernel in the simulator, held to what its errors are
 * expected to be. For tests/mutation/mutation_*.py. The last line says what was found; "bits" is a hash (FNV-1a) of
 * C. Exit 0: right; 1: wrong or the simulator objects.
 *
 * The a-priori bound is a worst case over all inputs (bench/ACCURACY.md): every cut of the matrix unit at
 * its largest, from the first k on. On given data a cut loses half of that on average, relative to a sum that
 * only grows to its full size, and that lies somewhere above a power of two, not on it: 1/2 x 1/2 x 3/4, and
 * the split errors cancel. On this one-signed data the whole kernels' grade is bound / 14. An MMA left out or
 * a chain twice as long as planned can stay below the bound itself, so this program asks for bound /
 * EXPECTED. The relative error of the whole (rel_frobenius) is held to 2^-20: a quarter of the 22 bits that inputs
 * keep. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../bench/halftone/accuracy/metrics.h"
#include "../../bench/halftone/accuracy/reference.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_dev.h"

enum { M = 150, N = 140, K = 256, PAD_MOST = 1, EXPECTED = 8 };

static float *device_copy(const float *host, size_t count) {
    void *p = NULL;
    if (ht_dev_alloc(&p, count * sizeof(float)) != HT_DEV_OK ||
        ht_dev_upload(p, host, count * sizeof(float)) != HT_DEV_OK)
        return NULL;
    return p;
}

static uint64_t hash_of(const float *x, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (int byte = 0; byte < 4; byte++)
            hash = (hash ^ (bits >> (8 * byte) & 0xffu)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int main(int argc, char **argv) {
    static float a[(M + PAD_MOST) * (K + PAD_MOST)], b[(K + PAD_MOST) * (N + PAD_MOST)], c[M * N];
    const float one = 1, zero = 0;
    struct reference r;
    struct metrics found;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    halftone *h = NULL;
    int code = argc >= 2 && argc <= 4 ? halftone_create(&h) : HALFTONE_UNKNOWN_KERNEL;
    const char ta = argc > 2 ? argv[2][0] : 'N', tb = argc > 2 ? argv[2][1] : 'N';
    const int64_t pad = argc > 3 ? PAD_MOST : 0, lda = (ta == 'N' ? M : K) + pad, ldb = (tb == 'N' ? K : N) + pad; /* what lies there is any numbers */
    family_fill(family_find("llm"), 3, 'A', M + pad, N + pad, K + pad, a, M + pad);
    family_fill(family_find("llm"), 3, 'B', M + pad, N + pad, K + pad, b, K + pad);
    for (int i = 0; i < M * N; i++)
        c[i] = NAN;
    float *da = device_copy(a, (size_t)(ta == 'N' ? lda * (K - 1) + M : lda * (M - 1) + K));
    float *db = device_copy(b, (size_t)(tb == 'N' ? ldb * (N - 1) + K : ldb * (K - 1) + N)), *dc = device_copy(c, M * N);
    if (code == HALFTONE_OK)
        code = halftone_set_kernel(h, argv[1]);
    if (code == HALFTONE_OK)
        code = halftone_query(h, ta, tb, M, N, K, 1, &plan);
    if (code == HALFTONE_OK)
        code = halftone_sgemm(h, ta, tb, M, N, K, &one, da, lda, db, ldb, &zero, dc, M);
    if (code == HALFTONE_OK && ht_dev_download(c, dc, sizeof c) != HT_DEV_OK)
        code = HALFTONE_DEVICE_ERROR;
    if (code != HALFTONE_OK) {
        printf("%s: %s\n", halftone_strerror(code), halftone_last_detail(h));
        return 1;
    }
    if (reference_make(&r, ta, tb, M, N, K, a, lda, b, ldb, 0, 0) != 0)
        return 1;
    const struct metrics_truth truth = reference_truth(&r);
    metrics_compute(&truth, c, &found);
    const double expected = (double)plan.bound_units / (double)EXPECTED;
    const int right = found.grade <= expected && found.rel_frobenius <= ldexp(1, -20);
    printf("grade %g (expected below %g, bound %lld), rel_frobenius %.3g, bits %016llx: %s\n", found.grade, expected,
           (long long)plan.bound_units, found.rel_frobenius, (unsigned long long)hash_of(c, M * N),
           right ? "right" : "wrong");
    reference_free(&r);
    return !right;
}
