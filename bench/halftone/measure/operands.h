/* operands: a folder of stored operand pairs, .npy files with a manifest `operands.tsv` (bench/data/real_data.py
 * writes such):
 *
 *     # products: 2
 *     product <tab> a <tab> trans_a <tab> b <tab> trans_b <tab> batch
 *     layer0.q        <tab> x0.npy <tab> N <tab> wq0.npy <tab> N <tab> 1
 *     layer0.scores   <tab> q0.npy <tab> N <tab> k0.npy  <tab> T <tab> 768
 *
 * The count is what tells a manifest that was cut short. Lines that begin with # are remarks. Files are names
 * in the same folder; one may serve several products. A batch stands in its files below each other. */
#ifndef BENCH_OPERANDS_H
#define BENCH_OPERANDS_H

#include "measure/pair.h"

enum { OPERANDS_NAME_BYTES = 64 };

struct operands_product {
    char name[OPERANDS_NAME_BYTES], file[2][OPERANDS_NAME_BYTES];
    int transposed[2];
    int64_t batch;
};

struct operands {
    const char *folder;
    struct operands_product *product;
    int count, is_wide; /* wide: of FP64 */
};

/* The manifest, and every file's header, type, length and extents: what is wrong is told before anything runs. */
int operands_read(struct operands *o, const char *folder, int is_wide, struct cli_error *f);
void operands_free(struct operands *o);
/* The matrices of product i; pair_free. */
int operands_load(const struct operands *o, int i, struct pair *out, struct cli_error *f);

#endif
