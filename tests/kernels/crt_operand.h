/* crt_operand.h: poisoned memory that the simulator knows, operands as the caller has them, and arguments of packing an operand into residues and of
 * their product, for crt_kernels and exact_kernels. */
#ifndef HT_CRT_OPERAND_H
#define HT_CRT_OPERAND_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi64.h"
#include "template_part.h"

enum { POISON = 0x5a, PAD = 3 };

static void *memory(size_t bytes) {
    unsigned char *p = (unsigned char *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(p, POISON, (bytes + 255) / 256 * 256);
    ht_sim_register(p, bytes);
    return p;
}

/* An operand of batch entries, PAD more than needed between columns, NaN there. */
template <class Element> static ht_view operand(int rows, int k, int k_contiguous, int batch, Element element) {
    const long long ld = (k_contiguous ? k : rows) + PAD, stride = ld * (k_contiguous ? rows : k);
    double *const x = (double *)memory((size_t)(stride * batch) * sizeof(double));
    for (long long i = 0; i < stride * batch; i++)
        x[i] = NAN;
    for (int entry = 0; entry < batch; entry++)
        for (int row = 0; row < rows; row++)
            for (int h = 0; h < k; h++)
                x[entry * stride + (k_contiguous ? row * ld + h : h * ld + row)] = element(row, h);
    return {x, ld, stride, rows, k, k_contiguous};
}

static const double *row_of(const ht_view &x, int entry, int row) {
    return (const double *)x.src + entry * x.stride + row * (x.k_contiguous ? x.ld : 1);
}

static long long step_of(const ht_view &x) {
    return x.k_contiguous ? 1 : x.ld;
}

/* The first element that differs, NaN apart; -1: none. */
static long long differing(const double *c, const double *expected, long long count) {
    for (long long i = 0; i < count; i++) {
        if (memcmp(&c[i], &expected[i], 8) != 0 && !(c[i] != c[i] && expected[i] != expected[i])) {
            printf("element %lld: %a instead of %a\n", i, c[i], expected[i]);
            return i;
        }
    }
    return -1;
}

static ht_crt_pack_args to_pack(const ht_view &x, int batch, int moduli) {
    ht_crt_pack_args g = {};
    const long long row_blocks = (x.rows + 63) / 64, segments = (x.k + 511) / 512;
    g.of = x;
    g.k_blocks = (x.k + 127) / 128;
    g.batch = batch;
    g.to.modulus_stride = row_blocks * g.k_blocks * 8192;
    g.to.stride = g.to.modulus_stride * moduli;
    g.to.exponent_stride = row_blocks * 64;
    g.to.measured_stride = row_blocks * 64 * segments;
    g.to.panels = (unsigned char *)memory((size_t)(g.to.stride * batch));
    g.to.exponents = (int *)memory((size_t)(g.to.exponent_stride * batch) * sizeof(int));
    g.to.measured = (unsigned long long *)memory((size_t)(g.to.measured_stride * batch) * sizeof(long long));
    return g;
}

/* C is ldc x n; with an odd number of rows alpha and beta go by way of the device. */
static ht_crt_args to_multiply(const ht_crt_pack_args *both, int moduli, double *c, long long ldc, double alpha, double beta) {
    ht_crt_args g = {};
    g.a = both[0].of;
    g.b = both[1].of;
    g.m = g.a.rows;
    g.n = g.b.rows;
    g.batch = both[0].batch;
    const long long tiles = (long long)((g.m + crt_part_shape.bm - 1) / crt_part_shape.bm) *
                            ((g.n + crt_part_shape.bn - 1) / crt_part_shape.bn);
    g.a_packed = both[0].to;
    g.b_packed = both[1].to;
    g.plane_modulus_stride = tiles * crt_part_shape.bm * crt_part_shape.bn;
    g.plane_stride = g.plane_modulus_stride * moduli;
    g.planes = (unsigned char *)memory((size_t)(g.plane_stride * g.batch));
    g.k_blocks = both[0].k_blocks;
    g.spans = both[0].spans;
    g.to.c = c;
    g.to.ldc = ldc;
    g.to.stride = ldc * g.n;
    g.to.alpha.f64 = alpha;
    g.to.beta.f64 = beta;
    if (g.m % 2 != 0) {
        double *by = (double *)memory(2 * sizeof(double));
        by[0] = alpha;
        by[1] = beta;
        g.to.alpha.at = by;
        g.to.beta.at = by + 1;
        g.to.alpha.f64 = g.to.beta.f64 = 0;
    }
    return g;
}

#endif
