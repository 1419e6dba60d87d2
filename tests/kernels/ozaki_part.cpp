/* ozaki_part: one of the templates of FP64 by FP16 slices, TEMPLATE, compiled by itself; PART says which: 0 packing, 1 the product,
 * 2 the combination. */
#include "ozaki_kernels.h"

namespace part {
#include TEMPLATE
}

#if PART == 0
int ozaki_part_pack(const ht_ozaki_pack_args *args) {
    const int code = part::init();
    return code != 0 ? code : part::launch(*args, nullptr);
}
#elif PART == 1
static int row_of(int at) {
    return part::ht_crt_row(at / 4 % part::THREADS, at / (4 * part::THREADS) * 4 + at % 4);
}
static int column_of(int at) {
    return part::ht_crt_column(at / 4 % part::THREADS, at / (4 * part::THREADS) * 4 + at % 4);
}
const ozaki_part_constants ozaki_part_shape = {part::BM, part::BN, row_of, column_of};
int ozaki_part_product(const ht_ozaki_gemm_args *g) {
    const int code = part::init();
    return code != 0 ? code : part::launch(*g, nullptr);
}
#else
int ozaki_part_combine(const ht_ozaki_combine_args *g) {
    return part::launch(*g, nullptr);
}
#endif
