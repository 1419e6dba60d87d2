/* crt_part: one of the templates of FP64 by residues, TEMPLATE, compiled by itself; PART says which: 0
 * packing, 1 the product, 2 the combination, 3 correctly rounded results, 4 product and combination by digits. */
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
int crt_part_product(const ht_crt_gemm_args *g) {
    const int code = part::init();
    return code != 0 ? code : part::launch(*g, nullptr);
}
#elif PART == 3
int crt_part_exact(const ht_crt_exact_args *g) {
    return part::launch(*g, nullptr);
}
#elif PART == 4
const crt_part_constants crt_part_shape = {part::CRT_MODULI, part::BM, part::BN};
int crt_part_digits(const ht_digit_args *g) {
    const int code = part::init();
    return code != 0 ? code : part::launch(*g, nullptr);
}
#else
int crt_part_combine(const ht_crt_combine_args *g) {
    return part::launch(*g, nullptr);
}
#endif
