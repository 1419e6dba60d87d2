/* exact_kernels M N K TRANSPOSES FAMILY ALPHA BETA [BATCH]: C = alpha A B + beta C by the templates of FP64 by
 * residues and of correctly rounded results in the simulator (template_part.cpp: as they are, or broken), against
 * exact_sum.h, bit for bit. How many elements residues did not decide is printed, and how many moduli the product took. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi64.h"
#include "crt_operand.h"
#include "exact_families.h"
#include "exact_sum.h"

/* What correctly rounded results ask of packing. */
static ht_crt_pack_args with_norms(ht_crt_pack_args g, int *spans) {
    g.spans = spans;
    const long long segments = g.to.measured_stride;
    g.to.measured_stride = 2 * segments + (g.of.rows + 63) / 64 * 64;
    g.to.measured = (unsigned long long *)memory((size_t)(g.to.measured_stride * g.batch) * sizeof(long long));
    g.to.norms = g.to.measured + 2 * segments;
    return g;
}

static double old_value(const char *family, long long i, double product) {
    if (strcmp(family, "nonfinite") == 0 && i % 13 == 0)
        return INFINITY;
    return i % 3 == 0 ? product : i % 3 == 1 ? random_uniform() : product * random_uniform(); /* a third cancels but for its last bits */
}

static double expected_of(const ht_view &a, const ht_view &b, int entry, int row, int col, int k, double alpha, double beta, double c) {
    return exact_dot_product(k, alpha, row_of(a, entry, row), step_of(a), row_of(b, entry, col), step_of(b), beta, c);
}

int main(int argc, char **argv) {
    if (argc < 8)
        return 2;
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), batch = argc > 8 ? atoi(argv[8]) : 1,
              moduli = crt_part_shape.moduli;
    const double alpha = strtod(argv[6], NULL), beta = strtod(argv[7], NULL);
    const ht_view a = operand(m, k, argv[4][0] == 'T', batch, [&](int row, int h) { return exact_element(argv[5], 'A', row, h, k); }),
                  b = operand(n, k, argv[4][1] == 'N', batch, [&](int row, int h) { return exact_element(argv[5], 'B', row, h, k); });
    const long long ldc = m + PAD, count = ldc * n * batch;
    double *c = (double *)memory((size_t)count * 8), *expected = (double *)malloc((size_t)count * 8);
    for (long long i = 0; i < count; i++) {
        const int entry = (int)(i / (ldc * n)), col = (int)(i / ldc % n), row = (int)(i % ldc);
        if (row < m && beta != 0)
            c[i] = old_value(argv[5], i, expected_of(a, b, entry, row, col, k, -alpha / beta, 0, 0));
        expected[i] = row < m ? expected_of(a, b, entry, row, col, k, alpha, beta, c[i]) : c[i];
    }
    int *const spans = (int *)memory(64);
    ht_crt_pack_args both[2] = {with_norms(to_pack(a, batch, moduli), spans), with_norms(to_pack(b, batch, moduli), spans)};
    ht_crt_args g = to_multiply(both, moduli, c, ldc, alpha, beta);
    g.undecided_stride = g.plane_modulus_stride / 32;
    g.undecided = (int *)memory((size_t)(g.undecided_stride * batch) * sizeof(int));
    if (crt_part_pack(both, 2) != 0 || crt_part_product(&g) != 0 || crt_part_exact(&g) != 0) {
        printf("kernels: %s\n", ht_sim_error());
        return 1;
    }
    if (differing(c, expected, count) >= 0)
        return 1;
    long long undecided = 0;
    for (long long i = 0; i < g.undecided_stride * batch; i++)
        undecided += __builtin_popcount((unsigned)g.undecided[i]);
    printf("%lld elements, bit for bit; %lld by all bits; %d moduli\n", (long long)m * n * batch, undecided,
           spans[HT_CRT_SPANS_MODULI]);
    return 0;
}
