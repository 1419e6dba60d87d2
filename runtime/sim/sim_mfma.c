/* sim_mfma: see the header for layouts, arithmetic and their sources. */
#include "sim_mfma.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
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

/* Rows of the wavefront's operands, and B's the other way round: loops over columns become vector instructions. */
struct operands {
    float a[SIDE_MAX][K_MAX], b[K_MAX][SIDE_MAX];
};

static inline float flush(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

static inline float add(float x, float y) {
    return flush(x + y);
}

/* Compiled twice, for processors with and without FMA. The bits are the same. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !(defined(__clang__) && defined(HT_SIM_LOCAL)) /* clang's would be global */
#define WIDE __attribute__((target_clones("fma", "default")))
#else
#define WIDE
#endif

/* A row of c + a . b, groups of four k in order. */
WIDE static void dot(int side, int k, float *c, const float *a, float b[][SIDE_MAX]) {
    for (int col = 0; col < side; col++)
        c[col] = fabsf(c[col]) < FLT_MIN && c[col] != 0.0f ? 0.0f : c[col];
    for (int g = 0; g < k; g += GROUP) {
        for (int col = 0; col < side; col++) {
            const float low = add(flush(a[g] * b[g][col]), flush(a[g + 1] * b[g + 1][col]));
            const float high = add(flush(a[g + 2] * b[g + 2][col]), flush(a[g + 3] * b[g + 3][col]));
            c[col] = add(c[col], add(low, high));
        }
    }
}

WIDE static void multiply_adds(int side, int k, float *c, const float *a, float b[][SIDE_MAX]) {
    for (int i = 0; i < k; i++) {
        for (int col = 0; col < side; col++)
            c[col] = fmaf(a[i], b[i][col], c[col]);
    }
}

WIDE static void dot_exact(int side, int k, uint32_t *c, const float *a, float b[][SIDE_MAX]) {
    for (int i = 0; i < k; i++) {
        const int32_t x = (int32_t)a[i];
        for (int col = 0; col < side; col++)
            c[col] += (uint32_t)(x * (int32_t)b[i][col]);
    }
}

static void gather(const struct sim_mfma *s, const unsigned *const *a, const unsigned *const *b, struct operands *to) {
    int row, k;
    for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
        for (int e = 0; e < sim_mfma_k_lane(s); e++) {
            sim_mfma_operand(s, lane, e, &row, &k);
            to->a[row][k] = operand_value(s->type, a[lane], e);
            to->b[k][row] = operand_value(s->type, b[lane], e);
        }
    }
}

/* Registers of all lanes from the rows of C or D, or to them: 32 bits each, whatever they hold. side: s->m, a constant where this is
 * called, so that places need no division. */
static inline __attribute__((always_inline)) void move(const struct sim_mfma *s, int side, void *const *d, uint32_t rows[][SIDE_MAX],
                                                       bool back) {
    const struct sim_mfma square = {s->name, side, side, s->k, s->type};
    int row, col;
    for (int lane = 0; lane < SIM_MFMA_LANES; lane++) {
        for (int r = 0; r < side * side / SIM_MFMA_LANES; r++) {
            sim_mfma_result(&square, lane, r, &row, &col);
            uint32_t *held = (uint32_t *)d[lane] + r, *there = &rows[row][col];
            memcpy(back ? held : there, back ? there : held, sizeof *held);
        }
    }
}

static void move_any(const struct sim_mfma *s, void *const *d, uint32_t rows[][SIDE_MAX], bool back) {
    if (s->m == SIDE_MAX)
        move(s, SIDE_MAX, d, rows, back);
    else
        move(s, SIDE_MAX / 2, d, rows, back);
}

void sim_mfma_run(const struct sim_mfma *s, void *const *d, const unsigned *const *a,
                  const unsigned *const *b) {
    struct operands x;
    uint32_t rows[SIDE_MAX][SIDE_MAX];
    gather(s, a, b, &x);
    move_any(s, d, rows, false);
    for (int row = 0; row < s->m; row++) {
        float c[SIDE_MAX];
        if (s->type == SIM_MFMA_I8) {
            dot_exact(s->n, s->k, rows[row], x.a[row], x.b);
            continue;
        }
        memcpy(c, rows[row], sizeof c);
        (s->type == SIM_MFMA_F32 ? multiply_adds : dot)(s->n, s->k, c, x.a[row], x.b);
        memcpy(rows[row], c, sizeof c);
    }
    move_any(s, d, rows, true);
}
