/* sim_mma_wide: sim_mma's arithmetic for eight columns at once, on processors with AVX2. It computes what occurs in ordinary data and
 * leaves the rest to sim_mma. The tests hold the two together bit by bit. The steps of sim_mma.h have the same numbers here. */
#include "sim_mma.h"

#if defined(__x86_64__)
#include <string.h>

/* Vectors go by address: by value they would be passed as the processor's least common denominator says. */
#define WIDE_INLINE __attribute__((target("avx2"), always_inline)) static inline

typedef int32_t ints __attribute__((vector_size(4 * SIM_WIDE_COLUMNS)));
typedef uint32_t words __attribute__((vector_size(4 * SIM_WIDE_COLUMNS)));
typedef float floats __attribute__((vector_size(4 * SIM_WIDE_COLUMNS)));
typedef int64_t longs __attribute__((vector_size(8 * SIM_WIDE_COLUMNS)));
typedef double doubles __attribute__((vector_size(8 * SIM_WIDE_COLUMNS)));

/* No enum: C++ does not let those meet vectors. */
static const int F32_FRACTION = 23, F32_TOP = 255, F32_LEAST = -126, F64_FRACTION = 52, F64_BIAS = 1023,
                 F64_DROPPED = 52 - 23, MAGNITUDE_BITS = 31;

/* As struct sim_term has them; of the columns side by side. */
struct terms {
    ints significand, exponent;
};

/* x where the mask is all ones, `other` where it is zero. */
WIDE_INLINE void keep(ints *x, const ints *mask, const ints *other) {
    *x = (*x & *mask) | (*other & ~*mask);
}

WIDE_INLINE bool any(const ints *mask) {
    int32_t found = 0;
    for (int i = 0; i < SIM_WIDE_COLUMNS; i++)
        found |= (*mask)[i];
    return found != 0;
}

/* sim_mma_decode; *special gets ones where a number is infinite or NaN. */
WIDE_INLINE void decode(struct sim_format format, const ints *bits, struct terms *to, ints *special) {
    const int f = format.fraction_bits, top = (1 << format.exponent_bits) - 1, leading = 1 << f, low = leading - 1;
    const ints none = {0}, zero_exponent = none + (int)SIM_ZERO_EXPONENT;
    const ints biased = *bits >> f & top, fraction = *bits & low, normal = biased != 0;
    const ints sign = -(*bits >> (f + format.exponent_bits) & 1), magnitude = fraction | (normal & leading);
    const ints nonzero = magnitude != 0;
    *special |= biased == top;
    to->significand = (magnitude ^ sign) - sign;
    to->exponent = biased + 1 + normal - (top >> 1);
    keep(&to->exponent, &nonzero, &zero_exponent);
}

/* Step 3: significand * 2^up, cut toward zero by `down` bits. */
WIDE_INLINE void shift_cut(const ints *significand, int up, const ints *down, ints *cut) {
    const ints none = {0}, most = none + MAGNITUDE_BITS, few = *down < most, sign = *significand >> 31;
    ints by = *down;
    keep(&by, &few, &most);
    *cut = ((*significand ^ sign) - sign) << up >> by;
    *cut = (*cut ^ sign) - sign;
}

/* One group of a row and c, to FP32 bits. *outside gets ones where the result is infinite or may be subnormal. */
WIDE_INLINE void add_group(const struct sim_mma_model *model, const struct sim_operands *x, const struct sim_term *a, const struct terms *b,
                    const struct terms *c, ints *result, ints *outside) {
    const int kept = model->fraction_bits, up = kept - 2 * x->format.fraction_bits;
    const ints none = {0}, least = none + model->least_exponent, above = c->exponent > least;
    ints most = c->exponent, exponent[SIM_MAX_K], sum = {0}, cut;
    keep(&most, &above, &least);
    for (int i = 0; i < x->group; i++) { /* step 2 */
        exponent[i] = b[i].exponent + a[i].exponent;
        const ints more = most > exponent[i];
        keep(&most, &more, &exponent[i]);
    }
    for (int i = 0; i < x->group; i++) { /* steps 1 and 3 */
        const ints product = b[i].significand * a[i].significand, down = most - exponent[i];
        shift_cut(&product, up, &down, &cut);
        sum += cut;
    }
    const ints down = most - c->exponent;
    shift_cut(&c->significand, kept - F32_FRACTION, &down, &cut);

    /* Step 4: the sum is exact in FP64, whose last bits go; a power of two scales it exactly. */
    const doubles total = __builtin_convertvector(sum, doubles) + __builtin_convertvector(cut, doubles);
    const longs head = (longs)total >> F64_DROPPED << F64_DROPPED;
    const longs unit = __builtin_convertvector(most - kept + F64_BIAS, longs) << F64_FRACTION;
    *result = (ints)__builtin_convertvector((doubles)head * (doubles)unit, floats);
    *outside |= (((sum | cut) != 0) & (most - kept < F32_LEAST)) | ((*result >> F32_FRACTION & F32_TOP) == F32_TOP);
}

/* One row's terms after the other's. */
WIDE_INLINE void decode_a(const struct sim_operands *x, struct sim_term *to, ints *special) {
    for (int at = 0; at < SIM_WIDE_ROWS * x->k; at += SIM_WIDE_COLUMNS) {
        ints bits;
        struct terms some;
        memcpy(&bits, x->a + at, sizeof bits);
        decode(x->format, &bits, &some, special);
        for (int i = 0; i < SIM_WIDE_COLUMNS; i++) {
            to[at + i].significand = some.significand[i];
            to[at + i].exponent = some.exponent[i];
        }
    }
}

WIDE_INLINE bool multiply(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    struct sim_term a[SIM_WIDE_ROWS * SIM_MAX_K];
    const struct sim_format f32 = {8, F32_FRACTION};
    struct terms b[SIM_MAX_K], c;
    ints sums[SIM_WIDE_ROWS], outside = {0};
    decode_a(x, a, &outside);
    for (int i = 0; i < x->k; i++) {
        ints bits;
        memcpy(&bits, x->b + i * SIM_WIDE_COLUMNS, sizeof bits);
        decode(x->format, &bits, &b[i], &outside);
    }
    memcpy(sums, d, sizeof sums);
    for (int row = 0; row < SIM_WIDE_ROWS; row++) {
        for (int first = 0; first < x->k; first += x->group) {
            decode(f32, &sums[row], &c, &outside);
            add_group(model, x, &a[row * x->k + first], &b[first], &c, &sums[row], &outside);
        }
    }
    if (any(&outside))
        return false;
    memcpy(d, sums, sizeof sums);
    return true;
}

/* Whether a group's products, cut, add up within 31 bits, and c's cut bits too. */
static bool fits(const struct sim_mma_model *model, const struct sim_operands *x) {
    const int kept = model->fraction_bits, up = kept - 2 * x->format.fraction_bits;
    const int64_t most = (2 << x->format.fraction_bits) - 1;
    return x->k % x->group == 0 && kept >= F32_FRACTION && kept < F32_FRACTION + 8 && up >= 0 && up < 16 &&
           x->group * (most * most << up) <= INT32_MAX;
}

__attribute__((target("avx2"))) static bool multiply_on_avx2(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    return multiply(model, x, d);
}

bool sim_mma_wide(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    return __builtin_cpu_supports("avx2") && fits(model, x) && multiply_on_avx2(model, x, d);
}

__attribute__((target("avx2"))) static int multiply_s8(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b) {
    ints columns[SIM_WIDE_S8_K], overflows = {0};
    for (int i = 0; i < k; i++)
        for (int col = 0; col < SIM_WIDE_COLUMNS; col++)
            columns[i][col] = b[col * k + i];
    for (int row = 0; row < rows; row++) {
        ints before, dot = {0}; /* at most 32 * 2^14 */
        for (int i = 0; i < k; i++)
            dot += columns[i] * a[row * k + i];
        memcpy(&before, d + row * SIM_WIDE_COLUMNS, sizeof before);
        const ints after = (ints)((words)before + (words)dot);
        overflows |= (before ^ after) & (dot ^ after); /* its sign is neither's */
        memcpy(d + row * SIM_WIDE_COLUMNS, &after, sizeof after);
    }
    overflows = overflows < 0;
    return any(&overflows) ? -1 : 0;
}

bool sim_mma_s8_wide(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b, int *code) {
    if (!__builtin_cpu_supports("avx2") || k > SIM_WIDE_S8_K)
        return false;
    *code = multiply_s8(rows, k, d, a, b);
    return true;
}
#else
bool sim_mma_wide(const struct sim_mma_model *model, const struct sim_operands *x, float *d) {
    (void)model, (void)x, (void)d;
    return false;
}

bool sim_mma_s8_wide(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b, int *code) {
    (void)rows, (void)k, (void)d, (void)a, (void)b, (void)code;
    return false;
}
#endif
