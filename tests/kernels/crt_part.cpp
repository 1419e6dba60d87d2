/* crt_part: one of the templates of FP64 by residues, TEMPLATE, compiled by itself; PART says which: 0
 * packing, 1 the product, by digits with the combination, 2 the combination, 3 correctly rounded results. */
#include "crt_kernels.h"

namespace part {
#include TEMPLATE
}

#if PART == 0
int crt_part_pack(const ht_crt_pack_args *operands, int count) {
    const int code = part::init();
    return code != 0 ? code : part::launch(operands, count, nullptr);
}
#elif PART == 1
const crt_part_constants crt_part_shape = {part::CRT_MODULI, part::BM, part::BN};
int crt_part_product(const ht_crt_args *g) {
    const int code = part::init();
    return code != 0 ? code : part::launch(*g, nullptr);
}
#elif PART == 3
int crt_part_exact(const ht_crt_args *g) {
    return part::launch(*g, nullptr);
}
#else
int crt_part_combine(const ht_crt_args *g) {
    return part::launch(*g, nullptr);
}
#endif
