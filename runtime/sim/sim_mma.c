/* sim_mma: see the header for the model and its sources. */
#include "sim_mma.h"

#include <stddef.h>
#include <string.h>

/* m16n8k16 is two ordered groups of 8 up to sm_89 and one of 16 on sm_90. */
/* Shared memory of sm_90 everywhere: sets also run with another unit's arithmetic. */
enum { NVIDIA_LANES = 32, NVIDIA_SMEM = 227 * 1024, AMD_LANES = 64, AMD_SMEM = 64 * 1024 };

/* Name, fraction bits, k of a group, least exponent, lanes, shared memory. Least exponents: sm_90's is the H200's
 * (bench/results/profile-h200.txt); those of sm_80, sm_86 and sm_89 are the ones that Khattak and Mikaitis give their models
 * of A100, A2, Ada and L40S (MATLAB-tensor-core, min_exp_limit: -132, and -133 for H100 and H200). sm_75 has FP16 alone,
 * whose products do not get there. */
static const struct sim_mma_model model_table[] = {
    {"sm75", 24, 8, -132, NVIDIA_LANES, NVIDIA_SMEM},  /* Turing */
    {"sm80", 24, 8, -132, NVIDIA_LANES, NVIDIA_SMEM},  /* Ampere, A100 */
    {"sm86", 24, 8, -132, NVIDIA_LANES, NVIDIA_SMEM},  /* Ampere, GA10x */
    {"sm89", 24, 8, -132, NVIDIA_LANES, NVIDIA_SMEM},  /* Ada */
    {"sm90", 25, 16, -133, NVIDIA_LANES, NVIDIA_SMEM}, /* Hopper, mma.sync and wgmma */
    /* Not seen by this project: MMA-Sim and Khattak and Mikaitis publish sm_90's numbers of B200, MMA-Sim also of RTX Blackwell. */
    {"sm100_assumed", 25, 16, -133, NVIDIA_LANES, NVIDIA_SMEM},
    {"sm120_assumed", 25, 16, -133, NVIDIA_LANES, NVIDIA_SMEM},
    {"gfx90a", 0, 4, 0, AMD_LANES, AMD_SMEM},          /* CDNA 2: sim_mfma.h */
};

const struct sim_format sim_format_f16 = {5, 10};
const struct sim_format sim_format_bf16 = {8, 7};
const struct sim_format sim_format_tf32 = {8, 10};
const struct sim_format sim_format_f32 = {8, 23};

static const uint32_t f32_nan = 0x7fffffffu, f32_infinity = 0x7f800000u;
enum { F32_MIN_EXPONENT = -126, F32_MAX_EXPONENT = 127 };

const struct sim_mma_model *sim_mma_find(const char *name) {
    for (size_t i = 0; i < sizeof model_table / sizeof model_table[0]; i++)
        if (strcmp(model_table[i].name, name) == 0)
            return &model_table[i];
    return NULL;
}

struct sim_term sim_mma_decode(struct sim_format format, uint32_t bits) {
    uint32_t fraction = bits & ((1u << format.fraction_bits) - 1u);
    int top = (1 << format.exponent_bits) - 1;
    int biased = (int)(bits >> format.fraction_bits) & top;
    bool negative = ((bits >> (format.fraction_bits + format.exponent_bits)) & 1u) != 0;
    int bias = top >> 1;
    struct sim_term term;
    if (biased == top) {
        term.significand = 1;
        term.exponent = fraction != 0 ? SIM_NAN_EXPONENT : SIM_INFINITY_EXPONENT;
    } else if (biased != 0) {
        term.significand = (int32_t)(fraction | (1u << format.fraction_bits));
        term.exponent = biased - bias;
    } else {
        term.significand = (int32_t)fraction;
        term.exponent = fraction != 0 ? 1 - bias : SIM_ZERO_EXPONENT;
    }
    if (negative)
        term.significand = -term.significand;
    return term;
}

static bool is_special(struct sim_term term) {
    return term.exponent >= SIM_INFINITY_EXPONENT;
}

/* The result of a group in which something is infinite or NaN. */
static uint32_t special_sum(int k, struct sim_term c, const struct sim_term *a, const struct sim_term *b) {
    bool nan = c.exponent == SIM_NAN_EXPONENT;
    bool plus = c.exponent == SIM_INFINITY_EXPONENT && c.significand > 0;
    bool minus = c.exponent == SIM_INFINITY_EXPONENT && c.significand < 0;
    for (int i = 0; i < k; i++) {
        if (!is_special(a[i]) && !is_special(b[i]))
            continue;
        bool zero = a[i].significand == 0 || b[i].significand == 0;
        nan = nan || zero || a[i].exponent == SIM_NAN_EXPONENT || b[i].exponent == SIM_NAN_EXPONENT;
        bool negative = (a[i].significand < 0) != (b[i].significand < 0);
        minus = minus || negative;
        plus = plus || !negative;
    }
    if (nan || (plus && minus))
        return f32_nan;
    return f32_infinity | (minus ? 0x80000000u : 0u);
}

/* significand * 2^up, then cut toward zero by `down` bits. */
static inline int64_t shift_cut(int64_t significand, int up, int down) {
    int64_t sign = significand >> 63;
    int64_t magnitude = (significand ^ sign) - sign;
    magnitude = (magnitude << up) >> (down < 62 ? down : 62);
    return (magnitude ^ sign) - sign;
}

/* sum * 2^unit as FP32 bits, cut toward zero. */
static uint32_t round_sum(int64_t sum, int unit) {
    if (sum == 0)
        return 0;
    uint32_t sign = sum < 0 ? 0x80000000u : 0u;
    uint64_t magnitude = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    int top = 63 - __builtin_clzll(magnitude);
    int exponent = unit + top;
    if (exponent > F32_MAX_EXPONENT)
        return sign | f32_infinity;
    int last =
        exponent > F32_MIN_EXPONENT ? exponent - 23 : F32_MIN_EXPONENT - 23; /* weight of the last bit kept */
    int down = last - unit;
    uint32_t kept = (uint32_t)(down > 63 ? 0 : down >= 0 ? magnitude >> down : magnitude << -down);
    /* A normal number's leading one adds 1 to the exponent field. */
    uint32_t field = exponent >= F32_MIN_EXPONENT ? (uint32_t)(exponent - F32_MIN_EXPONENT) : 0u;
    const uint32_t bits = (field << 23) + kept;
    return bits == 0 ? 0 : sign | bits; /* a sum that is cut to nothing is +0 */
}

/* One group of k products and c, all finite. */
static inline uint32_t finite_group(const struct sim_mma_model *model, int product_bits, int k,
                                    struct sim_term c, const struct sim_term *a, const struct sim_term *b) {
    const int fraction_bits = model->fraction_bits;
    int emax = c.exponent > model->least_exponent ? c.exponent : model->least_exponent;
    for (int i = 0; i < k; i++) {
        int e = a[i].exponent + b[i].exponent;
        emax = e > emax ? e : emax;
    }
    int up = fraction_bits > product_bits ? fraction_bits - product_bits : 0;
    int extra = product_bits > fraction_bits ? product_bits - fraction_bits : 0;
    int64_t sum = shift_cut(c.significand, fraction_bits - 23 > 0 ? fraction_bits - 23 : 0,
                            emax - c.exponent + (fraction_bits < 23 ? 23 - fraction_bits : 0));
    for (int i = 0; i < k; i++)
        sum += shift_cut((int64_t)a[i].significand * b[i].significand, up,
                         emax - (a[i].exponent + b[i].exponent) + extra);
    return round_sum(sum, emax - fraction_bits);
}

static inline uint32_t dot(const struct sim_mma_model *model, int product_bits, int group, int k, uint32_t c,
                           bool special, const struct sim_term *a, const struct sim_term *b) {
    for (int first = 0; first < k; first += group) {
        int count = k - first < group ? k - first : group;
        struct sim_term addend = sim_mma_decode(sim_format_f32, c);
        bool any = is_special(addend);
        for (int i = first; special && i < first + count; i++)
            any = any || is_special(a[i]) || is_special(b[i]);
        c = any ? special_sum(count, addend, a + first, b + first)
                : finite_group(model, product_bits, count, addend, a + first, b + first);
    }
    return c;
}

uint32_t sim_mma_dot(const struct sim_mma_model *model, struct sim_format format, int group, int k,
                     uint32_t c, const struct sim_term *a, const struct sim_term *b) {
    return dot(model, 2 * format.fraction_bits, group, k, c, true, a, b);
}

float sim_dot_f16(const struct sim_mma_model *model, int k, float c, const uint16_t *a, const uint16_t *b) {
    struct sim_term ta[SIM_MAX_K], tb[SIM_MAX_K];
    for (int i = 0; i < k; i++) {
        ta[i] = sim_mma_decode(sim_format_f16, a[i]);
        tb[i] = sim_mma_decode(sim_format_f16, b[i]);
    }
    uint32_t bits;
    memcpy(&bits, &c, sizeof bits);
    bits = sim_mma_dot(model, sim_format_f16, model->group_k, k, bits, ta, tb);
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* d += a * b, one number after the other. */
static void mma_each(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    const int k = x->k;
    struct sim_term a[16 * SIM_MAX_K], b[8 * SIM_MAX_K];
    bool special = false;
    for (int i = 0; i < 16 * k; i++) {
        a[i] = sim_mma_decode(x->format, x->a[i]);
        special = special || is_special(a[i]);
    }
    for (int i = 0; i < 8 * k; i++) {
        b[i] = sim_mma_decode(x->format, x->b[i % k * 8 + i / k]);
        special = special || is_special(b[i]);
    }
    for (int i = 0; i < 16 * 8; i++) {
        uint32_t bits;
        memcpy(&bits, &d[i], sizeof bits);
        bits = dot(model, 2 * x->format.fraction_bits, x->group, k, bits, special, &a[i / 8 * k], &b[i % 8 * k]);
        memcpy(&d[i], &bits, sizeof bits);
    }
}

static void mma(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    if (!sim_mma_wide(model, x, d))
        mma_each(model, x, d);
}

static int mma_16(const struct sim_mma_model *model, struct sim_format format, int k, float *d, const uint16_t *a,
                  const uint16_t *b) {
    uint32_t rows[16 * SIM_MAX_K], columns[8 * SIM_MAX_K];
    const struct sim_operands x = {format, k, model->group_k, rows, columns};
    if (k != 8 && k != 16)
        return -1;
    for (int i = 0; i < 16 * k; i++)
        rows[i] = a[i];
    for (int i = 0; i < 8 * k; i++)
        columns[i] = b[i % 8 * k + i / 8];
    mma(model, &x, d);
    return 0;
}

int sim_mma_f16(const struct sim_mma_model *model, int k, float *d, const uint16_t *a, const uint16_t *b) {
    return mma_16(model, sim_format_f16, k, d, a, b);
}

int sim_mma_bf16(const struct sim_mma_model *model, int k, float *d, const uint16_t *a, const uint16_t *b) {
    return mma_16(model, sim_format_bf16, k, d, a, b);
}

int sim_mma_tf32(const struct sim_mma_model *model, int k, float *d, const uint32_t *a, const uint32_t *b) {
    uint32_t rows[16 * SIM_MAX_K / 2], columns[8 * SIM_MAX_K / 2];
    const struct sim_operands x = {sim_format_tf32, k, model->group_k / 2, rows, columns};
    if (k != 4 && k != 8)
        return -1;
    for (int i = 0; i < 16 * k; i++)
        rows[i] = a[i] >> 13;
    for (int i = 0; i < 8 * k; i++)
        columns[i] = b[i % 8 * k + i / 8] >> 13;
    mma(model, &x, d);
    return 0;
}

int sim_mma_s8(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b) {
    int code = 0;
    if (sim_mma_s8_wide(rows, k, d, a, b, &code))
        return code;
    for (int row = 0; row < rows; row++) {
        for (int col = 0; col < 8; col++) {
            int32_t dot = 0; /* at most 32 * 2^14 */
            for (int i = 0; i < k; i++)
                dot += a[row * k + i] * b[col * k + i];
            const int64_t sum = (int64_t)d[row * 8 + col] + dot;
            code = sum > INT32_MAX || sum < INT32_MIN ? -1 : code;
            d[row * 8 + col] = (int32_t)(uint32_t)((uint64_t)sum & UINT32_MAX);
        }
    }
    return code;
}
