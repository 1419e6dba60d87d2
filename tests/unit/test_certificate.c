/* test_certificate: the a-posteriori certificate of f16x3 on the host: what small elements lose, that what
 * passes keeps its bound, and an adversary that tries to pass with a larger error. CERTIFICATE_SEARCH=N makes
 * N products of it (default 30000). */

#include <float.h>
#include <math.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/ht_bound.h"
#include "../test.h"
#include "f16x3_host.c"

enum { UNITS = 2, K_MOST = 1024 };

/* Chains of f16x3 and what its bound is made of (ACCURACY.md, the table of the top). */
static const struct f16x3_host unit[UNITS] = {{"sm80", 32, 0}, {"sm90", 64, 1}};
static const struct ht_scheme_desc scheme[UNITS] = {
    {.products = 3, .mma_k = 16, .align_units = 54, .split_units = -27, .promote_k = 32},
    {.products = 3, .mma_k = 16, .align_units = 30, .split_units = -11, .promote_k = 64}};

static uint64_t random_state = 1;
static uint64_t random_bits(void) {
    return family_bits(77, 1, 0, random_state++);
}
static int below(int n) {
    return (int)(random_bits() % (uint64_t)n);
}

/* ---- one element */

/* What a scaled element loses beyond 2 units of itself, exactly. */
static double excess_of(float y) {
    float slice[2];
    certificate_split(y, slice);
    return fmax(0, fabs((double)y - (double)slice[0] - (double)slice[1]) - 0x1p-23 * fabs((double)y));
}

TEST(elements_lose_what_is_counted) {
    int lossy = 0, lossless = 0;
    for (int e = -149; e < 15; e++)
        for (int i = 0; i < 2000; i++) {
            const float y =
                ldexpf(1.0f + (float)(random_bits() & 0x7fffff) * 0x1p-23f, e) * (i % 2 ? -1.0f : 1.0f);
            const double excess = excess_of(y), counted = certificate_lost(y, 0, CERTIFICATE_KEEPS) * 0x1p-34;
            if (e >= -2) {
                assert_true(excess == 0 && counted == 0);
            } else {
                assert_true(counted >= excess + 0x1p-34 && counted < excess + 0x1.01p-33 &&
                            counted <= 0x1.01p-25);
                lossy += excess > 0;
                lossless += excess == 0;
            }
            assert_int_equal(certificate_lost(y, 0, CERTIFICATE_FLUSHES), e >= -2 ? 0 : 513);
        }
    assert_true(lossy > 10000 && lossless > 100);
    /* Half of FP16's last place is the most; whole places lose nothing but their alignment. */
    assert_int_equal(certificate_lost(0x1p-25f, 0, CERTIFICATE_KEEPS), 512 + 1);
    assert_int_equal(certificate_lost(0x1p-24f, 0, CERTIFICATE_KEEPS), 1);
    assert_int_equal(certificate_lost(0.0f, 0, CERTIFICATE_KEEPS), 0);
}

/* What is nearest: where two residuals are, the one away from zero, which an element in four has; elsewhere what rounding to nearest
 * gives, so numbers of up to 22 bits are kept, and no element is off by more than before. */
TEST(ties_go_away_from_zero) {
    for (int e = -149; e < 15; e++) {
        int away = 0;
        for (uint32_t i = 0; i < 6144; i++) { /* of 12 bits, of 22, any */
            const uint32_t fraction = i < 2048 ? i << 12 : (uint32_t)random_bits() & (i < 3072 ? 0x7ffffcu : 0x7fffffu);
            const float size = ldexpf(1.0f + (float)fraction * 0x1p-23f, e), y = i % 2 ? -size : size;
            float slice[2];
            certificate_split(y, slice);
            const float rest = y - slice[0], nearest = sim_f16_value(sim_f16_rn(rest));
            const double error = (double)slice[0] + (double)slice[1] - (double)y;
            assert_true(slice[0] == sim_f16_value(sim_f16_rn(y)) && fabs(error) == fabs((double)nearest - (double)rest));
            assert_true(fabsf(slice[1]) <= 0x1p-11f * fabsf(y));
            if (e >= -2)
                assert_true(error == 0 || (i >= 3072 && error * (double)y > 0 && fabs(error) == ldexp(1, e - 23)));
            else
                assert_true(slice[1] == nearest || error * (double)y > 0);
            if (e <= -14)
                assert_true(slice[1] == 0);
            away += error != 0;
        }
        assert_true(e < -1 || (away > 3072 / 4 - 200 && away < 3072 / 4 + 200));
    }
}

/* An element that the scale takes below FP32's least number is not zero: what it meets would be lost unseen.
 */
TEST(an_element_is_zero_before_it_is_scaled) {
    const float row[3] = {0x1p127f, 0.0f, 0x1p-149f};
    assert_int_equal(certificate_exponent(row[0]), 113);
    assert_true(ldexpf(row[2], -113) == 0.0f && certificate_lost(row[2], 113, CERTIFICATE_KEEPS) > 0);
    const struct certificate_row r = certificate_of_row(row, 3, 1, CERTIFICATE_KEEPS);
    assert_true(r.nonzero == 2 && r.small == 1 && r.lost >= 1 && r.exponent == 113);
    /* met by {0, 1, 1}: the result is 2^-149, the scheme's 0 */
    const float t = certificate_threshold(r.lost, r.is_zero, r.is_finite, CERTIFICATE_TAU);
    assert_false(certificate_passes(0.0f, t, certificate_threshold(0, 0, 1, CERTIFICATE_TAU)));
}

TEST(exponents) {
    for (int e = -149; e < 128; e++) {
        const float most = ldexpf(1.0f, e), y = most * ldexpf(1.0f, -certificate_exponent(most));
        assert_true(e < -112 ? certificate_exponent(most) == -126 : y == 0x1p14f);
    }
    assert_int_equal(certificate_exponent(0x1.fffffep14f), 0);
    assert_int_equal(certificate_exponent(0.0f), -126);
}

TEST(thresholds) {
    const float zero = certificate_threshold(0, 1, 1, 16), clean = certificate_threshold(0, 0, 1, 16),
                bad = certificate_threshold(0, 0, 0, 16);
    assert_true(clean == 0.0f && isnan(bad));
    assert_true(certificate_passes(0.0f, clean, clean) && certificate_passes(-0.0f, zero, zero));
    for (int64_t lost = 1; lost < INT64_C(1) << 31; lost = lost * 3 + 1) {
        const float t = certificate_threshold(lost, 0, 1, 16);
        assert_true((double)t >= 2.0 * (double)lost && (double)t <= 2.0 * (double)lost * (1 + 0x1p-23));
        assert_true(certificate_passes(-t, t, clean) && !certificate_passes(nextafterf(t, 0), clean, t));
        assert_true(certificate_passes(0.0f, zero, t) && !certificate_passes(NAN, zero, t));
    }
    for (int i = 0; i < 3; i++)
        assert_false(
            certificate_passes(i == 0 ? INFINITY : 1e30f, i == 1 ? zero : bad, i == 1 ? bad : clean));
    assert_false(certificate_passes(NAN, zero, zero));
}

TEST(few_products_are_left_alone) {
    assert_true(certificate_is_sparse(64, 64) && certificate_is_sparse(511, 64) &&
                !certificate_is_sparse(512, 64));
    assert_true(!certificate_is_sparse(0, 0) && certificate_is_sparse(7, 1) &&
                !certificate_is_sparse(1024, 64));
}

/* ---- products */

struct product {
    int k;
    float a[K_MOST], b[K_MOST];
};

struct outcome {
    double units; /* error over 2^-24 |A||B| */
    int passes;
    double share; /* |acc| over its threshold; at least 1 where it passes */
};

static double threshold_of(const float *x, int k) {
    int64_t lost = 0;
    for (int i = 0; i < k; i++)
        lost += certificate_lost(x[i], 0, CERTIFICATE_KEEPS);
    return (double)certificate_threshold(lost, 0, 1, CERTIFICATE_TAU);
}

/* Both are scaled already: their largest is in [2^14, 2^15). */
static struct outcome evaluate(const struct f16x3_host *u, const struct product *p) {
    struct outcome o = {0, 0, 0};
    double exact = 0, rest = 0, magnitude = 0;
    const float acc = f16x3_host_dot(u, p->a, p->b, p->k);
    for (int i = 0; i < p->k; i++) { /* twice the digits: what cancels must not show */
        const double term = (double)p->a[i] * (double)p->b[i], sum = exact + term, back = sum - exact;
        rest += (exact - (sum - back)) + (term - back);
        exact = sum;
        magnitude += fabs(term);
    }
    const double ta = threshold_of(p->a, p->k), tb = threshold_of(p->b, p->k);
    const double error = fabs(((double)acc - exact) - rest);
    o.units = error == 0 ? 0 : error / (0x1p-24 * magnitude);
    o.passes = certificate_passes(acc, (float)ta, (float)tb);
    o.share = ta + tb > 0 ? fmin(1, fabs((double)acc) / (ta + tb)) : 1;
    return o;
}

static double bound_of(int u, int k) {
    return (double)ht_bound_units(&scheme[u], k) + (double)CERTIFICATE_TAU + 1;
}

/* What subnormals' alignment alone does: no element loses a bit in splitting, and the error is four times the
 * scheme's bound. */
TEST(alignment_is_counted) {
    struct product p = {.k = 1024};
    for (int i = 0; i < p.k; i++) {
        p.a[i] = i == 5 ? 0x1.8p14f : i % 64 == 0 ? 0x1p-24f : 0.0f;
        p.b[i] = i == 5 ? 0.0f : 0x1.0099fap14f; /* its products are just below where sums are cut */
    }
    for (int u = 0; u < UNITS; u++) {
        const struct outcome o = evaluate(&unit[u], &p);
        print_message("%s: %.0f units where the bound is %lld\n", unit[u].model, o.units,
                      (long long)ht_bound_units(&scheme[u], p.k));
        assert_true(o.units > 2 * bound_of(u, p.k) && !o.passes);
    }
}

static float random_fraction(int e) {
    return ldexpf(1.0f + (float)(random_bits() & 0x7fffff) * 0x1p-23f, e);
}

/* Values that matter: of every exponent, few digits or many, half a last place of FP16, just below a power of
 * two, zero. */
static float random_value(int wide) {
    const int kind = below(8), e = wide ? below(40) - 25 : below(12) + 3;
    const float sign = random_bits() & 1 ? 1.0f : -1.0f;
    switch (kind) {
    case 0:
        return 0.0f;
    case 1:
        return sign * ldexpf(1.0f, e);
    case 2:
        return sign * ldexpf(2.0f - 0x1p-23f, e);
    case 3:
        return sign * ldexpf(1.0f + 0x1p-11f, e);
    case 4:
        return sign * (float)(1 + below(1 << 13)) * 0x1p-25f;
    default:
        return sign * random_fraction(e);
    }
}

/* Keeps the largest in [2^14, 2^15). */
static void make_scaled(float *x, int k) {
    float most = 0;
    for (int i = 0; i < k; i++) {
        if (fabsf(x[i]) >= 0x1p15f)
            x[i] = copysignf(0x1.fffffep14f, x[i]);
        most = fmaxf(most, fabsf(x[i]));
    }
    if (most < 0x1p14f)
        x[below(k)] = 0x1p14f;
}

static void start(struct product *p, int k) {
    const int kind = below(8), scale = below(24);
    p->k = k;
    for (int i = 0; i < k; i++) {
        p->a[i] = random_value(kind != 0);
        p->b[i] = random_value(kind == 1);
        if (kind == 2) { /* large ones meet zeros or small ones */
            p->a[i] = i % 4 == 0 ? random_value(0) : random_value(1) * 0x1p-12f;
            p->b[i] = i % 4 == 0 ? random_value(1) * 0x1p-12f : random_value(0);
        }
        if (kind == 3) { /* one sign: cuts add up */
            p->a[i] = fabsf(p->a[i]);
            p->b[i] = fabsf(p->b[i]);
        }
        if (kind == 4) { /* one product outweighs all others, which lose what is below its last place */
            p->a[i] = i == 0 ? 0x1p14f : random_fraction(below(3) + 6);
            p->b[i] = i == 0 ? 0x1p14f : random_fraction(below(3) + 6);
        }
        if (kind == 5) { /* the largest meets zero, and the result is made of small ones */
            p->a[i] = i == 0 ? 0x1p14f : random_value(1) * 0x1p-14f;
            p->b[i] = i == 0 ? 0.0f : random_value(0);
        }
        if (kind == 6) { /* pairs of large products cancel to about what the test asks, beside small elements */
            p->a[i] = i % 3 == 2 ? random_fraction(-4 - below(20)) : (i % 3 == 0 ? 0x1p14f : -0x1p14f) * (1 + (float)below(64) * ldexpf(1, -6 - scale));
            p->b[i] = i % 3 == 2 ? random_value(1) : 0x1p14f;
        }
        if (kind == 7) { /* small ones alone, each beside a large one of the other side */
            p->a[i] = i == 0 ? 0x1p14f : i % 2 ? random_fraction(-12 - below(14)) : random_fraction(14);
            p->b[i] = i % 2 ? random_fraction(14) : random_fraction(-12 - below(14));
        }
    }
    make_scaled(p->a, k);
    make_scaled(p->b, k);
}

static void change(struct product *p) {
    float *x = random_bits() & 1 ? p->a : p->b;
    const int at = below(p->k), other = below(p->k);
    const float kept = x[at];
    switch (below(9)) {
    case 0:
        x[at] = -x[at];
        break;
    case 6:
    case 7:
        x[at] = kept != 0 ? copysignf(random_fraction(ilogbf(kept)), kept) : 0.0f;
        break;
    case 1:
        x[at] *= random_bits() & 1 ? 2.0f : 0.5f;
        break;
    case 2:
        x[at] = random_value(1);
        break;
    case 3:
        x[at] = x[other], x[other] = kept;
        break;
    case 4:
        x[at] = nextafterf(x[at], random_bits() & 1 ? FLT_MAX : 0.0f);
        break;
    case 5: /* the same in all of a group */
        for (int i = at / 8 * 8; i < at / 8 * 8 + 8 && i < p->k; i++)
            x[i] = kept;
        break;
    default: /* both sides at one place */
        p->a[at] = random_value(1);
        p->b[at] = random_value(1);
    }
    make_scaled(p->a, p->k);
    make_scaled(p->b, p->k);
}

/* Larger is worse for us: the error in units, less where the test stops it. */
static double score(const struct outcome *o) {
    return o->units * o->share * o->share;
}

struct search {
    double passed, refused; /* largest error of a product that passes, that does not, over the bound */
    long long products, passes;
};

static void note(struct search *s, int u, const struct product *p, const struct outcome *o) {
    const double share = o->units / bound_of(u, p->k);
    s->products++;
    s->passes += o->passes;
    if (o->passes)
        s->passed = fmax(s->passed, share);
    else
        s->refused = fmax(s->refused, share);
    if (o->passes && share > 1)
        fail_msg("%s k = %d: %.3f units pass, %.0f are promised", unit[u].model, p->k, o->units,
                 bound_of(u, p->k));
}

static void climb(struct search *s, int u, int k, int steps) {
    static struct product best, tried;
    start(&best, k);
    struct outcome at = evaluate(&unit[u], &best);
    note(s, u, &best, &at);
    for (int i = 0; i < steps; i++) {
        tried = best;
        for (int c = 1 + below(3); c > 0; c--)
            change(&tried);
        const struct outcome o = evaluate(&unit[u], &tried);
        note(s, u, &tried, &o);
        if (score(&o) >= score(&at)) {
            best = tried;
            at = o;
        }
    }
}

/* Hill climbing over signs, exponents, digits and places. */
TEST(no_adversary_passes_beyond_the_bound) {
    static const int ks[] = {16, 40, 64, 128, 256, 1, 7, 33, 96, 512, 1024};
    enum { KS = sizeof ks / sizeof *ks };
    const char *wanted = getenv("CERTIFICATE_SEARCH"), *seed = getenv("CERTIFICATE_SEED");
    const long long products = wanted != NULL ? atoll(wanted) : 30000;
    const int steps = products >= 500000 ? 3000 : 400;
    struct search s[UNITS] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    random_state = seed != NULL ? (uint64_t)atoll(seed) : random_state;
    for (int round = 0; s[0].products + s[1].products < products; round++)
        climb(&s[round % UNITS], round % UNITS, ks[round / UNITS % KS], steps);
    for (int u = 0; u < UNITS; u++) {
        print_message("%s: %lld products, %lld pass; largest error over the promised one: %.3f of what "
                      "passes, %.1f of what does not\n",
                      unit[u].model, s[u].products, s[u].passes, s[u].passed, s[u].refused);
        assert_true(s[u].passes > s[u].products / 50 && s[u].passes < s[u].products);
        assert_true(s[u].passed > 0.15 && s[u].refused > 5); /* it does find large errors */
    }
}
