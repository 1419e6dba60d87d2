/* crt_kernels.h: the kernels of FP64 by residues, from the templates that crt_part.cpp was compiled
 * with. */
#ifndef HT_CRT_KERNELS_H
#define HT_CRT_KERNELS_H

#include "../../runtime/ht_abi64.h"

struct crt_part_constants {
    int moduli, bm, bn;
};
extern const struct crt_part_constants crt_part_shape;
int crt_part_pack(const ht_crt_pack_args *operands, int count);
int crt_part_product(const ht_crt_args *g); /* and combination by digits */
int crt_part_combine(const ht_crt_args *g);
int crt_part_exact(const ht_crt_args *g);

#endif
