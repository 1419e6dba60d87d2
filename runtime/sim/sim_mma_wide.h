/* sim_mma_wide: sim_mma's arithmetic for eight columns at once, on processors with AVX2. It computes what occurs in ordinary data and
 * leaves the rest to sim_mma. The tests hold the two together bit by bit. */
#ifndef HT_SIM_MMA_WIDE_H
#define HT_SIM_MMA_WIDE_H

#include "sim_mma.h"

#include <stdbool.h>

enum { SIM_WIDE_COLUMNS = 8, SIM_WIDE_ROWS = 16 };

/* An operand as it comes: 16-bit formats, or TF32 without the 13 bits that the unit ignores. */
struct sim_operands {
    struct sim_format format;
    int k, group;      /* group: products added together */
    const uint32_t *a; /* SIM_WIDE_ROWS x k, row-major */
    const uint32_t *b; /* k x SIM_WIDE_COLUMNS, row-major */
};

/* d (16 x 8, row-major) += a * b. False, and d as it was, where a number is infinite or NaN, a result subnormal, the model's sums
 * exceed 32 bits, or the processor is another. */
bool sim_mma_wide(const struct sim_mma_model *model, const struct sim_operands *x, float *d);

/* sim_mma_s8 for k <= SIM_WIDE_S8_K; *code is what it returns. False, and d as it was, on another processor. */
enum { SIM_WIDE_S8_K = 32 };
bool sim_mma_s8_wide(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b, int *code);

#endif
