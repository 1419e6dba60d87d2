/* The simulator's arithmetic: FP16 conversions and the model of the matrix units, against hand-worked cases
 * and an independent reference in floating point. */
#include "../../runtime/sim/sim_f16.h"
#include "../../runtime/sim/sim_mma.h"
#include "../test.h"

#include <float.h>
#include <math.h>

static uint64_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- FP16 ---- */

/* By the definition of the format, in double arithmetic. */
static double f16_reference_value(uint16_t h) {
    int biased = (h >> 10) & 31;
    double magnitude = biased != 0 ? ldexp(1024 + (h & 1023), biased - 25) : ldexp(h & 1023, -24);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

/* The conversion by counting units of the last place in double arithmetic, then looking the code up by its
 * value. */
static uint16_t f16_reference(float x, int nearest) {
    if (isnan(x))
        return 0x7fff;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double magnitude = fabs((double)x);
    if (isinf(x))
        return (uint16_t)(sign | 0x7c00);
    int exponent = magnitude < ldexp(1, -14) ? -14 : ilogb(magnitude);
    double ulp = ldexp(1, exponent - 10);
    double steps = floor(magnitude / ulp), rest = magnitude / ulp - steps;
    if (nearest && (rest > 0.5 || (rest == 0.5 && fmod(steps, 2) == 1)))
        steps++;
    double rounded = steps * ulp;
    if (rounded >= 65536)
        return (uint16_t)(sign | (nearest ? 0x7c00 : 0x7bff));
    int low = 0, high = 0x7bff; /* positive codes are in the order of their values */
    while (low < high) {
        int middle = (low + high) / 2;
        if (f16_reference_value((uint16_t)middle) < rounded)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint16_t)(sign | low);
}

TEST(f16_all_values) {
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i;
        float value = sim_f16_value(h);
        if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0) {
            assert_int_equal(bits_of(value), 0x7fffffff);
            assert_int_equal(sim_f16_rn(value), 0x7fff);
            assert_int_equal(sim_f16_rz(value), 0x7fff);
            continue;
        }
        if ((h & 0x7c00) == 0x7c00)
            assert_true(isinf(value) && !signbit(value) == (h < 0x8000));
        else
            assert_true((double)value == f16_reference_value(h) && !signbit(value) == (h < 0x8000));
        assert_int_equal(sim_f16_rn(value), h);
        assert_int_equal(sim_f16_rz(value), h);
    }
}

static void check_narrowing(float x) {
    assert_int_equal(sim_f16_rn(x), f16_reference(x, 1));
    assert_int_equal(sim_f16_rz(x), f16_reference(x, 0));
}

TEST(f16_narrowing) {
    /* Every value, every midpoint to the next one, and the floats next to both, with both signs. */
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float low = sim_f16_value((uint16_t)h);
        float high = h + 1 < 0x7c00 ? sim_f16_value((uint16_t)(h + 1)) : 65536.0f;
        float points[] = {low, (low + high) / 2};
        for (int i = 0; i < 2; i++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                float x = (float)sign * points[i];
                check_narrowing(x);
                check_narrowing(nextafterf(x, INFINITY));
                check_narrowing(nextafterf(x, -INFINITY));
            }
        }
    }
    for (int i = 0; i < 500000; i++)
        check_narrowing(float_of(random_bits()));
    assert_int_equal(sim_f16_rn(65519.996f), 0x7bff);
    assert_int_equal(sim_f16_rn(65520.0f), 0x7c00);
    assert_int_equal(sim_f16_rz(1e30f), 0x7bff);
    assert_int_equal(sim_f16_rz(-INFINITY), 0xfc00);
    assert_int_equal(sim_f16_rn(0x1p-25f), 0x0000); /* tie to even */
    assert_int_equal(sim_f16_rn(0x1.8p-24f), 0x0002);
    assert_int_equal(sim_f16_rn(-0x1p-149f), 0x8000);
}

/* ---- the model, by hand ---- */

#define ONE 0x3c00
#define MINUS_ONE 0xbc00
#define TWO_TO(e) ((uint16_t)(((e) + 15) << 10)) /* -14 <= e <= 15 */
#define INF 0x7c00
#define NAN_F16 0x7e00

static float dot(const char *model, float c, const uint16_t a[16], const uint16_t b[16]) {
    const struct sim_mma_model *m = sim_mma_find(model);
    assert_non_null(m);
    return sim_dot_f16(m, 16, c, a, b);
}

TEST(table_has_its_rows) {
    static const char *const names[] = {"sm75", "sm80", "sm86", "sm89", "sm90", "sm100_assumed", "sm120_assumed"};
    for (size_t i = 0; i < 7; i++) {
        const struct sim_mma_model *m = sim_mma_find(names[i]);
        assert_non_null(m);
        EQUAL({m->fraction_bits, i < 4 ? 24 : 25}, {m->group_k, i < 4 ? 8 : 16});
    }
    assert_null(sim_mma_find("sm70"));
    assert_null(sim_mma_find(""));
}

TEST(alignment_keeps_f_bits) {
    /* 1 + 2 * 2^-24: the last bit that F = 24 keeps; both together reach FP32's last bit. */
    uint16_t a[16] = {TWO_TO(-12), TWO_TO(-12)}, b[16] = {TWO_TO(-12), TWO_TO(-12)};
    assert_true(dot("sm80", 1, a, b) == 1 + 0x1p-23f);
    /* One alone is cut at the end. */
    b[1] = 0;
    assert_true(dot("sm80", 1, a, b) == 1);
    /* 1 + 4 * 2^-25: dropped one by one by F = 24, kept by F = 25. */
    for (int i = 0; i < 4; i++) {
        a[i] = TWO_TO(-12);
        b[i] = TWO_TO(-13);
    }
    assert_true(dot("sm75", 1, a, b) == 1);
    assert_true(dot("sm80", 1, a, b) == 1);
    assert_true(dot("sm90", 1, a, b) == 1 + 0x1p-23f);
}

TEST(truncation_is_of_the_magnitude) {
    uint16_t a[16] = {0x8000 | TWO_TO(-12)}, b[16] = {TWO_TO(-13)};
    assert_true(dot("sm80", 1, a, b) == 1);            /* -2^-25 becomes 0; flooring would give 1 - 2^-24 */
    assert_true(dot("sm90", 1, a, b) == 1 - 0x1p-24f); /* 1 - 2^-25 is kept by F = 25, then cut to 24 bits */
    b[0] = TWO_TO(-12);
    assert_true(dot("sm80", 1, a, b) == 1 - 0x1p-24f);
    assert_true(dot("sm80", -1, a, b) == -1); /* -1 - 2^-24 is cut toward zero */
    /* The addend is cut too: c = -(2^-24 + 2^-47) beside 1: kept -2^-24. */
    uint16_t one[16] = {ONE};
    assert_true(dot("sm80", -(0x1p-24f + 0x1p-47f), one, one) == 1 - 0x1p-24f);
    assert_true(dot("sm80", -0x1.fffffep-25f, one, one) == 1);
}

TEST(groups_run_in_order) {
    uint16_t a[16] = {0}, b[16] = {0};
    a[0] = a[8] = b[0] = b[8] = TWO_TO(-12);
    assert_true(dot("sm80", 1, a, b) == 1);            /* each group ends with 1 + 2^-24, cut to 1 */
    assert_true(dot("sm90", 1, a, b) == 1 + 0x1p-23f); /* one group adds both */
    /* 2^-28 survives after 1 - 1 and not before it. */
    uint16_t c[16] = {ONE, MINUS_ONE}, d[16] = {ONE, ONE};
    c[8] = d[8] = TWO_TO(-14);
    assert_true(dot("sm80", 0, c, d) == 0x1p-28f);
    assert_true(dot("sm90", 0, c, d) == 0); /* beside them, in one group */
    uint16_t e[16] = {TWO_TO(-14)}, f[16] = {TWO_TO(-14)};
    e[8] = f[8] = f[9] = ONE;
    e[9] = MINUS_ONE;
    assert_true(dot("sm80", 0, e, f) == 0);
}

TEST(products_are_not_normalised) {
    /* 1.5 * 1.5 = 2.25 aligns as exponent 0: four 2^-24 survive and add up to FP32's last place at 2. */
    uint16_t a[16] = {0x3e00}, b[16] = {0x3e00};
    for (int i = 1; i < 5; i++)
        a[i] = b[i] = TWO_TO(-12);
    assert_true(dot("sm80", 0, a, b) == 2.25f + 0x1p-22f);
    /* The same value as c = 2.25 has exponent 1: they are dropped. */
    a[0] = 0;
    assert_true(dot("sm80", 2.25f, a, b) == 2.25f);
}

TEST(subnormals_count_with_the_least_exponent) {
    /* 2^-24 (subnormal, exponent -14) * 1 aligns at -14: 2^-48 from two subnormals is below 2^-38 and lost.
     */
    uint16_t a[16] = {0x0001, 0x0001}, b[16] = {ONE, 0x0001};
    assert_true(dot("sm80", 0, a, b) == 0x1p-24f);
    a[0] = 0;
    assert_true(dot("sm80", 0, a, b) == 0x1p-48f);
    /* FP32 subnormals go in and come out; a zero product does not take part in the alignment. */
    uint16_t zero[16] = {0}, big[16] = {TWO_TO(15)};
    assert_int_equal(bits_of(dot("sm80", 0x1p-149f, zero, big)), 1);
    assert_int_equal(bits_of(dot("sm90", -0x1.8p-140f, zero, big)), bits_of(-0x1.8p-140f));
    assert_int_equal(bits_of(dot("sm80", 0x1.fffffep+127f, zero, big)), bits_of(FLT_MAX));
}

TEST(zero_sums_are_positive) {
    uint16_t a[16] = {ONE, ONE}, b[16] = {ONE, MINUS_ONE}, zero[16] = {0}, minus_zero[16] = {0x8000};
    assert_int_equal(bits_of(dot("sm80", 0, a, b)), 0);
    assert_int_equal(bits_of(dot("sm80", -0.0f, zero, zero)), 0);
    assert_int_equal(bits_of(dot("sm80", -0.0f, minus_zero, a)), 0);
}

TEST(infinities_and_nans) {
    uint16_t one[16] = {ONE, ONE}, inf[16] = {INF}, both[16] = {INF, 0xfc00}, nan[16] = {NAN_F16},
             zero[16] = {0};
    uint16_t minus_one[16] = {MINUS_ONE};
    uint16_t late[16] = {0};
    late[15] = INF;
    uint16_t ones[16];
    for (int i = 0; i < 16; i++)
        ones[i] = ONE;
    assert_true(dot("sm80", 0, inf, one) == INFINITY);
    assert_int_equal(bits_of(dot("sm80", 0, inf, minus_one)), 0xff800000u);
    assert_int_equal(bits_of(dot("sm80", 0, both, one)), 0x7fffffffu);
    assert_int_equal(bits_of(dot("sm80", 0, inf, zero)), 0x7fffffffu);
    assert_int_equal(bits_of(dot("sm80", 0, nan, one)), 0x7fffffffu);
    assert_int_equal(bits_of(dot("sm80", float_of(0xffc00001u), zero, zero)), 0x7fffffffu);
    assert_true(dot("sm90", -INFINITY, one, one) == -INFINITY);
    assert_int_equal(bits_of(dot("sm90", -INFINITY, inf, one)), 0x7fffffffu);
    assert_int_equal(bits_of(dot("sm80", -INFINITY, late, ones)), 0x7fffffffu);
    assert_true(dot("sm80", -1, late, ones) == INFINITY);
}

/* Formats with FP32's range reach what FP16 cannot: overflow, and terms below FP32's subnormals. */
TEST(wide_formats) {
    const struct sim_format bf16 = {8, 7};
    const struct sim_mma_model *m = sim_mma_find("sm80");
    struct sim_term a = sim_mma_decode(bf16, 0x7f00); /* 2^127 */
    struct sim_term two = sim_mma_decode(bf16, 0x4000), minus_two = sim_mma_decode(bf16, 0xc000);
    struct sim_term one = sim_mma_decode(bf16, 0x3f80), tiny = sim_mma_decode(bf16, 0x0001); /* 2^-133 */
    struct sim_term half = sim_mma_decode(bf16, 0x3f00);
    assert_int_equal(tiny.exponent, -126);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0, &a, &one), 0x7f000000u);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0, &a, &two), 0x7f800000u);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0, &a, &minus_two), 0xff800000u);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0, &tiny, &one), 1u << 16);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0x00800000u, &tiny, &half), 0x00808000u);
    assert_int_equal(sim_mma_dot(m, bf16, 8, 1, 0, &tiny, &tiny), 0);
}

/* A zero c does not hold the alignment at -126, a subnormal one does (bits of the H200: sim_mma.h). */
/* Terms align at a least exponent or above, whatever c is: -133 on the H200 (bench/results/profile-h200.txt), -132 in the models
 * of A100, A2, Ada and L40S that Khattak and Mikaitis publish (MATLAB-tensor-core, min_exp_limit). */
TEST(the_least_exponent_of_the_alignment) {
    static const char *const names[] = {"sm80", "sm86", "sm89", "sm90"};
    for (int i = 0; i < 4; i++) {
        const struct sim_mma_model *m = sim_mma_find(names[i]);
        const int f = m->fraction_bits, e = i < 3 ? -132 : -133;
        const struct sim_term a[2] = {sim_mma_decode(sim_format_tf32, 0x3f800000u >> 13),
                                      sim_mma_decode(sim_format_tf32, 0xbf800000u >> 13)};
        /* 2^e - 2^(e - f): kept, so FP32 cuts the difference to 2^e - 2^-149. */
        const struct sim_term at[2] = {{1 << 10, e}, {1 << 10, e - f}};
        assert_int_equal(sim_mma_dot(m, sim_format_tf32, 4, 2, 0, a, at), (1u << (149 + e)) - 1);
        assert_int_equal(sim_mma_dot(m, sim_format_tf32, 4, 2, 0x80000000u, a, at), (1u << (149 + e)) - 1);
        /* 2^(e - 1) - 2^(e - 1 - f): the small one is below the last bit. */
        const struct sim_term below[2] = {{1 << 10, e - 1}, {1 << 10, e - 1 - f}};
        assert_int_equal(sim_mma_dot(m, sim_format_tf32, 4, 2, 0, a, below), 1u << (148 + e));
        assert_int_equal(sim_mma_dot(m, sim_format_tf32, 4, 2, 1u, a, below), (1u << (148 + e)) + 1);
        /* What is cut to nothing is +0, whatever its sign was. */
        const struct sim_term far[2] = {{1 << 10, -240}, {1 << 10, -150}};
        assert_int_equal(sim_mma_dot(m, sim_format_tf32, 4, 2, 0, a, far), 0);
    }
}

/* The same through whole MMAs of BF16: 255 * 2^-157 and 2^-157 make 2^-149 where nothing is cut. */
TEST(the_least_exponent_of_whole_mmas) {
    static const char *const names[] = {"sm80", "sm86", "sm89", "sm90"};
    for (int i = 0; i < 4; i++) {
        uint16_t a[16 * 16] = {0x1b7f, 0x1780}, b[8 * 16] = {0x1900, 0x1900};
        float d[16 * 8] = {0};
        assert_int_equal(sim_mma_bf16(sim_mma_find(names[i]), 16, d, a, b), 0);
        assert_int_equal(bits_of(d[0]), i < 3 ? 0 : 1);
    }
}

/* ---- the model against an independent reference ---- */

/* The definition in double arithmetic, one group: every step below is exact in 53 bits. */
static float reference_group(int fraction_bits, int k, float c, const uint16_t *a, const uint16_t *b) {
    int ec = c == 0 ? -10000 : ilogbf(c) < -126 ? -126 : ilogbf(c);
    int emax = ec, e[16];
    double p[16];
    for (int i = 0; i < k; i++) {
        double x = f16_reference_value(a[i]), y = f16_reference_value(b[i]);
        p[i] = x * y;
        if (p[i] == 0)
            continue;
        e[i] = (fabs(x) < 0x1p-14 ? -14 : ilogb(x)) + (fabs(y) < 0x1p-14 ? -14 : ilogb(y));
        emax = e[i] > emax ? e[i] : emax;
    }
    if (emax == -10000)
        return 0;
    double sum = trunc(ldexp(c, fraction_bits - emax));
    for (int i = 0; i < k; i++)
        sum += trunc(ldexp(p[i], fraction_bits - emax));
    if (sum == 0)
        return 0;
    int top = ilogb(sum) + emax - fraction_bits;
    int last = top < -126 ? -149 : top - 23;
    double cut = trunc(ldexp(sum, emax - fraction_bits - last));
    return (float)ldexp(cut, last);
}

static float reference_dot(const struct sim_mma_model *m, int k, float c, const uint16_t *a,
                           const uint16_t *b) {
    for (int first = 0; first < k; first += m->group_k) {
        int count = k - first < m->group_k ? k - first : m->group_k;
        c = reference_group(m->fraction_bits, count, c, a + first, b + first);
    }
    return c;
}

/* A finite FP16 number: any bits, or an exponent from a narrow band, so that terms overlap. */
static uint16_t random_f16(uint32_t kind) {
    uint32_t bits = random_bits();
    uint16_t h = (uint16_t)(bits & 0x83ffu);
    uint32_t exponent = kind == 0 ? (bits >> 16) % 31 : kind == 1 ? 10 + (bits >> 16) % 10 : (bits >> 16) % 4;
    if (kind == 3 && (bits >> 28) < 8)
        return (uint16_t)(bits & 0x8000u); /* zeros of both signs */
    return (uint16_t)(h | (exponent << 10));
}

static float random_addend(uint32_t kind) {
    uint32_t bits = random_bits();
    uint32_t exponent = kind == 0 ? bits >> 24 : 100 + (bits >> 24) % 50;
    if (exponent == 255)
        exponent = 1;
    return float_of((random_bits() & 0x807fffffu) | (exponent << 23));
}

TEST(random_dots) {
    static const char *const names[] = {"sm75", "sm80", "sm90"};
    for (int round = 0; round < 120000; round++) {
        const struct sim_mma_model *m = sim_mma_find(names[round % 3]);
        int k = (round / 3) % 2 == 0 ? 16 : 8;
        uint32_t kind = (uint32_t)(round / 6) % 4;
        uint16_t a[16], b[16];
        for (int i = 0; i < 16; i++) {
            a[i] = random_f16(kind);
            b[i] = random_f16(kind);
        }
        float c = round % 7 == 0 ? 0.0f : random_addend(kind);
        if (round % 5 == 0) { /* cancellation: the last product undoes the first, c undoes another */
            a[k - 1] = a[0] ^ 0x8000;
            b[k - 1] = b[0];
            c = -(sim_f16_value(a[1]) * sim_f16_value(b[1]));
        }
        assert_int_equal(bits_of(sim_dot_f16(m, k, c, a, b)), bits_of(reference_dot(m, k, c, a, b)));
    }
}

/* sim_mma_f16 is 128 dots, special values among them. */
TEST(matrices_are_dots) {
    for (int round = 0; round < 300; round++) {
        const struct sim_mma_model *m = sim_mma_find(round % 2 == 0 ? "sm80" : "sm90");
        int k = round % 3 == 0 ? 8 : 16;
        uint16_t a[16 * 16], b[8 * 16];
        float d[16 * 8], c[16 * 8];
        for (int i = 0; i < 16 * k; i++)
            a[i] = random_f16(1);
        for (int i = 0; i < 8 * k; i++)
            b[i] = random_f16(1);
        if (round % 4 == 0)
            a[random_bits() % (uint32_t)(16 * k)] = round % 8 == 0 ? INF : NAN_F16;
        for (int i = 0; i < 16 * 8; i++)
            c[i] = d[i] = random_addend(1);
        assert_int_equal(sim_mma_f16(m, k, d, a, b), 0);
        for (int i = 0; i < 16 * 8; i++)
            assert_int_equal(bits_of(d[i]), bits_of(sim_dot_f16(m, k, c[i], &a[i / 8 * k], &b[i % 8 * k])));
    }
    assert_int_equal(sim_mma_f16(sim_mma_find("sm80"), 4, NULL, NULL, NULL), -1);
}

/* BF16 and TF32: the formats and group lengths that reach the arithmetic tested above. */
TEST(other_types_are_dots) {
    static const char *const names[] = {"sm80", "sm90"};
    for (int round = 0; round < 400; round++) {
        const struct sim_mma_model *m = sim_mma_find(names[round % 2]);
        const int tf32 = round / 2 % 2;
        const int k = tf32 ? 8 : 16, group = m->group_k / (tf32 ? 2 : 1);
        const struct sim_format format = tf32 ? sim_format_tf32 : sim_format_bf16;
        uint32_t a32[16 * 8], b32[8 * 8];
        uint16_t a16[16 * 16], b16[8 * 16];
        float c[16 * 8], d[16 * 8];
        struct sim_term ta[16 * 16], tb[8 * 16];
        for (int i = 0; i < 24 * k;
             i++) { /* a few binades around 1, any sign; low bits of TF32 must not count */
            const uint32_t bits = (random_bits() & 0x87ffffffu) | 0x38000000u;
            struct sim_term *term = i < 16 * k ? &ta[i] : &tb[i - 16 * k];
            if (tf32)
                *(i < 16 * k ? &a32[i] : &b32[i - 16 * k]) = bits;
            else
                *(i < 16 * k ? &a16[i] : &b16[i - 16 * k]) = (uint16_t)(bits >> 16);
            *term = sim_mma_decode(format, bits >> (tf32 ? 13 : 16));
        }
        for (int i = 0; i < 16 * 8; i++)
            c[i] = d[i] = random_addend(1);
        assert_int_equal(tf32 ? sim_mma_tf32(m, k, d, a32, b32) : sim_mma_bf16(m, k, d, a16, b16), 0);
        for (int i = 0; i < 16 * 8; i++)
            assert_int_equal(bits_of(d[i]),
                             sim_mma_dot(m, format, group, k, bits_of(c[i]), &ta[i / 8 * k], &tb[i % 8 * k]));
    }
    assert_int_equal(sim_mma_bf16(sim_mma_find("sm80"), 4, NULL, NULL, NULL), -1);
    assert_int_equal(sim_mma_tf32(sim_mma_find("sm80"), 16, NULL, NULL, NULL), -1);
}

TEST(integers_are_exact_or_refused) {
    int8_t a[16 * 32], b[8 * 32];
    int32_t c[16 * 8], d[16 * 8];
    for (int round = 0; round < 200; round++) {
        const int rows = round % 2 ? 16 : 8, k = round % 2 ? 32 : 16;
        for (int i = 0; i < 16 * 32; i++)
            a[i] = (int8_t)random_bits();
        for (int i = 0; i < 8 * 32; i++)
            b[i] = (int8_t)random_bits();
        for (int i = 0; i < 16 * 8; i++)
            c[i] = d[i] = (int32_t)(random_bits() >> 2);
        assert_int_equal(sim_mma_s8(rows, k, d, a, b), 0);
        for (int i = 0; i < rows * 8; i++) {
            int64_t sum = c[i];
            for (int l = 0; l < k; l++)
                sum += a[i / 8 * k + l] * b[i % 8 * k + l];
            assert_int_equal(d[i], sum);
        }
    }
    memset(a, -128, sizeof a);
    memset(b, -128, sizeof b);
    memset(d, 0, sizeof d);
    d[77] = INT32_MAX - 32 * 128 * 128;
    assert_int_equal(sim_mma_s8(16, 32, d, a, b), 0);
    assert_int_equal(d[77], INT32_MAX);
    assert_int_equal(sim_mma_s8(16, 32, d, a, b), -1);
}
