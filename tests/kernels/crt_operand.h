/* crt_operand.h: poisoned memory that the simulator knows, and arguments of packing an operand into residues, of their products and of
 * what combines those, for crt_kernels and exact_kernels. */
#ifndef HT_CRT_OPERAND_H
#define HT_CRT_OPERAND_H

#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi64.h"
#include "crt_kernels.h"

enum { POISON = 0x5a };

static void *memory(size_t bytes) {
    unsigned char *p = (unsigned char *)aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(p, POISON, (bytes + 255) / 256 * 256);
    ht_sim_register(p, bytes);
    return p;
}

static ht_crt_pack_args to_pack(const double *x, int rows, int k, int k_contiguous, long long ld, int batch,
                                long long stride, int moduli) {
    ht_crt_pack_args g = {};
    const long long row_blocks = (rows + 63) / 64, segments = (k + 511) / 512;
    g.src = x;
    g.ld = ld;
    g.src_stride = stride;
    g.rows = rows;
    g.k = k;
    g.k_blocks = (k + 127) / 128;
    g.k_contiguous = k_contiguous;
    g.batch = batch;
    g.modulus_stride = row_blocks * g.k_blocks * 8192;
    g.panel_stride = g.modulus_stride * moduli;
    g.exponent_stride = row_blocks * 64;
    g.measured_stride = row_blocks * 64 * segments;
    g.panels = (unsigned char *)memory((size_t)(g.panel_stride * batch));
    g.exponents = (int *)memory((size_t)(g.exponent_stride * batch) * sizeof(int));
    g.measured = (unsigned long long *)memory((size_t)(g.measured_stride * batch) * sizeof(long long));
    return g;
}

static ht_crt_gemm_args to_multiply(const ht_crt_pack_args *both, int moduli) {
    ht_crt_gemm_args g = {};
    const long long tiles = (long long)((both[0].rows + crt_part_shape.bm - 1) / crt_part_shape.bm) *
                            ((both[1].rows + crt_part_shape.bn - 1) / crt_part_shape.bn);
    g.a_panels = both[0].panels;
    g.b_panels = both[1].panels;
    g.a_modulus_stride = both[0].modulus_stride;
    g.b_modulus_stride = both[1].modulus_stride;
    g.a_stride = both[0].panel_stride;
    g.b_stride = both[1].panel_stride;
    g.plane_modulus_stride = tiles * crt_part_shape.bm * crt_part_shape.bn;
    g.plane_stride = g.plane_modulus_stride * moduli;
    g.planes = (unsigned char *)memory((size_t)(g.plane_stride * both[0].batch));
    g.m = both[0].rows;
    g.n = both[1].rows;
    g.k_blocks = both[0].k_blocks;
    g.spans = both[0].spans;
    g.batch = both[0].batch;
    return g;
}

/* C is ldc x g.n; with an odd number of rows alpha and beta go by way of the device. */
static ht_crt_combine_args to_combine(const ht_crt_gemm_args &g, const ht_crt_pack_args *both, double *c, long long ldc, double alpha,
                                      double beta) {
    ht_crt_combine_args last = {};
    last.planes = g.planes;
    last.plane_modulus_stride = g.plane_modulus_stride;
    last.plane_stride = g.plane_stride;
    last.a_row_exponents = both[0].exponents;
    last.b_col_exponents = both[1].exponents;
    last.a_exponent_stride = both[0].exponent_stride;
    last.b_exponent_stride = both[1].exponent_stride;
    last.counts = g.counts;
    last.c = c;
    last.ldc = ldc;
    last.c_stride = ldc * g.n;
    last.m = g.m;
    last.n = g.n;
    last.batch = g.batch;
    last.alpha = alpha;
    last.beta = beta;
    if (g.m % 2 != 0) {
        double *by = (double *)memory(2 * sizeof(double));
        by[0] = alpha;
        by[1] = beta;
        last.alpha_ptr = by;
        last.beta_ptr = by + 1;
        last.alpha = last.beta = 0;
    }
    return last;
}

#endif
