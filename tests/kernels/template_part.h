/* template_part.h: the kernels of FP64 by residues, by digits and by FP16 slices, from the templates that template_part.cpp was compiled with. */
#ifndef HT_TEMPLATE_PART_H
#define HT_TEMPLATE_PART_H

#include "../../runtime/ht_abi64.h"

struct crt_part_constants {
    int moduli, bm, bn;
};
extern const struct crt_part_constants crt_part_shape;
int crt_part_pack(const ht_crt_pack_args *operands, int count);
int crt_part_product(const ht_crt_args *g); /* and combination by digits */
int crt_part_combine(const ht_crt_args *g);
int crt_part_exact(const ht_crt_args *g);

struct ozaki_part_constants {
    int bm, bn;
    int (*row)(int at), (*column)(int at); /* of the at-th sum of a tile in a plane */
};
extern const struct ozaki_part_constants ozaki_part_shape;
int ozaki_part_pack(const ht_ozaki_pack_args *args);
int ozaki_part_product(const ht_ozaki_args *g);
int ozaki_part_combine(const ht_ozaki_args *g);

#endif
