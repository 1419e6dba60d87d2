/* ozaki_kernels.h: the three kernels of FP64 by FP16 slices, from the templates that ozaki_part.cpp was compiled with. */
#ifndef HT_OZAKI_KERNELS_H
#define HT_OZAKI_KERNELS_H

#include "../../runtime/ht_abi64.h"

struct ozaki_part_constants {
    int bm, bn;
    int (*row)(int at), (*column)(int at); /* of the at-th sum of a tile in a plane */
};
extern const struct ozaki_part_constants ozaki_part_shape;
int ozaki_part_pack(const ht_ozaki_pack_args *args);
int ozaki_part_product(const ht_ozaki_gemm_args *g);
int ozaki_part_combine(const ht_ozaki_combine_args *g);

#endif
