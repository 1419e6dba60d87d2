/* sim_mfma: see the header for layouts, arithmetic and their sources. */
#include "sim_mfma.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim_f16.h"

const struct sim_mfma sim_mfma_table[SIM_MFMA_COUNT] = {
    {"ht_mfma_f32_32x32x8f16", 32, 32, 8, SIM_MFMA_F16},
    {"ht_mfma_f32_16x16x16f16", 16, 16, 16, SIM_MFMA_F16},
    {"ht_mfma_f32_32x32x8bf16_1k", 32, 32, 8, SIM_MFMA_BF16},
    {"ht_mfma_i32_32x32x8i8", 32, 32, 8, SIM_MFMA_I8},
    {"ht_mfma_f32_16x16x16bf16_1k", 16, 16, 16, SIM_MFMA_BF16},
    {"ht_mfma_i32_16x16x16i8", 16, 16, 16, SIM_MFMA_I8},
    {"ht_mfma_f32_16x16x4f32", 16, 16, 4, SIM_MFMA_F32},
};

enum { SIDE_MAX = 32, K_MAX = 16, GROUP = 4 };

int sim_mfma_k_lane(const struct sim_mfma *s) {
    return s->k * s->m / SIM_MFMA_LANES;
}

void sim_mfma_operand(const struct sim_mfma *s, int lane, int e, int *row, int *k) {
    *row = lane % s->m; /* all are square */
    *k = lane / s->m * sim_mfma_k_lane(s) + e;
}

void sim_mfma_result(const struct sim_mfma *s, int lane, int r, int *row, int *col) {
    *col = lane % s->n;
    *row = r % 4 + lane / s->n * 4 + r / 4 * (4 * SIM_MFMA_LANES / s->n);
}

/* Element e of a lane's operand as a number; every INT8 is one. */
static float operand_value(enum sim_mfma_type type, const unsigned *registers, int e) {
    float value;
    if (type == SIM_MFMA_F32) {
        memcpy(&value, &registers[e], sizeof value);
        return value;
    }
    const unsigned bits =
        registers[type == SIM_MFMA_I8 ? 0 : e / 2] >> (type == SIM_MFMA_I8 ? e * 8 : e % 2 * 16);
    if (type == SIM_MFMA_I8)
        return (float)(int8_t)(bits & 0xffu);
    const uint32_t wide = (bits & 0xffffu) << 16;
    const unsigned exponent = bits & (type == SIM_MFMA_F16 ? 0x7c00u : 0x7f80u);
    if (exponent == 0)
        return 0.0f;
    if (type == SIM_MFMA_F16)
        return sim_f16_value((uint16_t)bits);
    memcpy(&value, &wide, sizeof value);
    return value;
}

static float flush(float x) {
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x;
}

static float add(float x, float y) {
    return flush(x + y);
}

/* c + a . b, groups of four in order. */
static float dot(int k, float c, const float *a, const float *b) {
    c = fpclassify(c) == FP_SUBNORMAL ? 0.0f : c;
    for (int g = 0; g < k; g += GROUP) {
        float p[GROUP];
        for (int i = 0; i < GROUP; i++)
            p[i] = flush(a[g + i] * b[g + i]);
        c = add(c, add(add(p[0], p[1]), add(p[2], p[3])));
    }
    return c;
}

static float multiply_adds(int k, float c, const float *a, const float *b) {
    for (int i = 0; i < k; i++)
        c = fmaf(a[i], b[i], c);
    return c;
}

static int32_t dot_exact(int k, int32_t c, const float *a, const float *b) {
    uint32_t sum = (uint32_t)c;
    for (int i = 0; i < k; i++)
        sum += (uint32_t)((int32_t)a[i] * (int32_t)b[i]);
    memcpy(&c, &sum, sizeof c);
    return c;
}

void sim_mfma_run(const struct sim_mfma *s, void *const *d, const unsigned *const *a,
                  const unsigned *const *b) {
    float rows[SIDE_MAX][K_MAX], columns[SIDE_MAX][K_MAX];
    int row, col, k;
    for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
        for (int e = 0; e < sim_mfma_k_lane(s); e++) {
            sim_mfma_operand(s, lane, e, &row, &k);
            rows[row][k] = operand_value(s->type, a[lane], e);
            sim_mfma_operand(s, lane, e, &col, &k);
            columns[col][k] = operand_value(s->type, b[lane], e);
        }
    }
    for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
        for (int r = 0; r < s->m * s->n / SIM_MFMA_LANES; r++) {
            sim_mfma_result(s, lane, r, &row, &col);
            if (s->type == SIM_MFMA_I8) {
                int32_t *c = (int32_t *)d[lane] + r;
                *c = dot_exact(s->k, *c, rows[row], columns[col]);
            } else {
                float *c = (float *)d[lane] + r;
                *c = (s->type == SIM_MFMA_F32 ? multiply_adds : dot)(s->k, *c, rows[row], columns[col]);
            }
        }
    }
}
