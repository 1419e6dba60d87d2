/* crt_operand.h: poisoned memory that the simulator knows, and what packs an operand into residues, for crt_kernels
 * and exact_kernels. */
#ifndef HT_CRT_OPERAND_H
#define HT_CRT_OPERAND_H

#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi64.h"

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

#endif
