/* template_part: one of the templates of FP64 by residues or slices, TEMPLATE, compiled by itself; PART says which: of residues 0 packing, 1 the
 * product, by digits with the combination, 2 the combination, 3 correctly rounded results; of FP16 slices 5 packing, 6 the product, 7 the
 * combination. */
#include "template_part.h"

namespace part {
#include TEMPLATE
}

/* A launch behind init, where the template has one. */
#define LAUNCH(...)                                                                                          \
    {                                                                                                        \
        const int code = part::init();                                                                       \
        return code != 0 ? code : part::launch(__VA_ARGS__, nullptr);                                        \
    }

#if PART == 0
int crt_part_pack(const ht_crt_pack_args *operands, int count) LAUNCH(operands, count)
#elif PART == 1
const crt_part_constants crt_part_shape = {part::CRT_MODULI, part::BM, part::BN};
int crt_part_product(const ht_crt_args *g) LAUNCH(*g)
#elif PART == 2
int crt_part_combine(const ht_crt_args *g) {
    return part::launch(*g, nullptr);
}
#elif PART == 3
int crt_part_exact(const ht_crt_args *g) {
    return part::launch(*g, nullptr);
}
#elif PART == 5
int ozaki_part_pack(const ht_ozaki_pack_args *args) LAUNCH(*args)
#elif PART == 6
static int row_of(int at) {
    return part::ht_crt_row(at / 4 % part::THREADS, at / (4 * part::THREADS) * 4 + at % 4);
}
static int column_of(int at) {
    return part::ht_crt_column(at / 4 % part::THREADS, at / (4 * part::THREADS) * 4 + at % 4);
}
const ozaki_part_constants ozaki_part_shape = {part::BM, part::BN, row_of, column_of};
int ozaki_part_product(const ht_ozaki_args *g) LAUNCH(*g)
#else
int ozaki_part_combine(const ht_ozaki_args *g) {
    return part::launch(*g, nullptr);
}
#endif
