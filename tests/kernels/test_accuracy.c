/* test_accuracy: what halftone_set_accuracy gives with real kernels, for each set: held to the manual's table by a second
 * choice made here from halftone_query alone, and to measured errors. How texts are read and refused: test_choices.c. */
#include <math.h>

#include "../../bench/halftone/accuracy/reference.h"
#include "../../runtime/ht_bound.h"
#include "product32.h"

static const struct ht_set_desc *set;

struct shape {
    int64_t m, n, k, batch;
};

/* Neighbours that differ in one size only, so that a choice remembered for the wrong shape shows. */
static const struct shape shapes[] = {
    {1, 1, 1, 1},         {64, 64, 64, 1},        {64, 64, 65536, 1},    {64, 2048, 65536, 1},
    {512, 512, 512, 1},   {2048, 512, 512, 1},    {4096, 4096, 4096, 1}, {33, 4000, 17, 1},
    {4096, 16, 4096, 1},  {100, 100, 100, 1},     {100, 100, 100, 500},  {2000, 2000, 1000000, 1},
    {2000, 2000, 16, 1},  {64, 4096, 64, 1},      {4096, 4096, 64, 1},   {4096, 64, 64, 1}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], BITS_MOST = 26 };

/* Code of asking for the accuracy and then for the shape's plan. */
static int ask(const char *text, const struct shape *s, struct halftone_plan *plan) {
    const int code = halftone_set_accuracy(handle, text);
    return code != HALFTONE_OK ? code
                               : halftone_query(handle, 'N', 'T', s->m, s->n, s->k, s->batch, plan);
}

static int ask_bits(int bits, const struct shape *s, struct halftone_plan *plan) {
    char text[16];
    snprintf(text, sizeof text, "bits=%d", bits);
    return ask(text, s, plan);
}

/* ---- the manual's table (MANUAL.md, section 7) */

static bool is_one_of(const char *name, const char *list) {
    char word[32];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static const char wide[] = " bf16 bf16x3 bf16x6 bf16x9 tf32 tf32x3 bf16x6u auto ";

static bool meets(const char *text, const char *scheme, int64_t units, int64_t k) {
    const bool row = strcmp(scheme, "f16x3") == 0, slices_22 = is_one_of(scheme, " f16x3 tf32x3 bf16x6 bf16x9 bf16x6u auto ");
    if (strcmp(text, "half") == 0)
        return units <= 16448 + 2 * k && (row || strcmp(scheme, "half") == 0 || is_one_of(scheme, wide));
    if (strcmp(text, "tf32") == 0)
        return units <= 16448 + 2 * k && is_one_of(scheme, wide);
    if (strcmp(text, "fp32-fast") == 0)
        return units <= 256 + k && slices_22;
    if (strncmp(text, "bits=", 5) == 0)
        return (double)units <= ldexp(1, 24 - atoi(text + 5)) && is_one_of(scheme, wide);
    fail_msg("no rule for %s", text);
    return false;
}

/* The cheapest scheme by asking each by name, and auto; its time, or -1. auto is for all data where it looks at them or takes
 * the scheme that is. */
static int64_t cheapest(const char *text, const struct shape *s) {
    int64_t best = -1;
    const char *name = "auto";
    for (int i = 0; name != NULL; name = halftone_schemes(handle, HALFTONE_FP32, i++)) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        assert_int_equal(halftone_set_scheme(handle, name), HALFTONE_OK);
        if (halftone_query(handle, 'N', 'T', s->m, s->n, s->k, s->batch, &plan) != HALFTONE_OK || plan.fixed_point ||
            !meets(text, name, plan.bound_units, s->k))
            continue;
        if (strcmp(name, "auto") == 0 && strstr(plan.range, "any input") == NULL && strcmp(plan.scheme, "bf16x6u") != 0)
            continue;
        if (best < 0 || plan.predicted_ns < best)
            best = plan.predicted_ns;
    }
    return best;
}

/* What was chosen, as halftone_set_scheme wants it: auto may take a scheme that has a name of its own. */
static const char *chosen(const struct halftone_plan *plan) {
    static char name[32];
    const char *list = strstr(plan->why_scheme, "cheapest of ");
    return list != NULL && sscanf(list, "cheapest of %*d: %31s", name) == 1 ? name : plan->scheme;
}

static void check_choice(const char *text, const struct shape *s) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const int64_t ns = cheapest(text, s);
    const int code = ask(text, s, &plan);
    if (ns < 0) {
        assert_int_equal(code, HALFTONE_ACCURACY);
        assert_non_null(strstr(halftone_last_detail(handle), text));
        return;
    }
    if (code != HALFTONE_OK)
        fail_msg("%s: %s", text, halftone_last_detail(handle));
    if (plan.predicted_ns != ns || !meets(text, chosen(&plan), plan.bound_units, s->k))
        fail_msg("%s at %lldx%lldx%lld: %s in %lld ns, but %lld ns suffice", text, (long long)s->m,
                 (long long)s->n, (long long)s->k, plan.scheme, (long long)plan.predicted_ns, (long long)ns);
    double us = 0; /* the line tells the time by which it was chosen */
    const char *list = strstr(plan.why_scheme, "cheapest of ");
    assert_true(list != NULL && sscanf(list, "cheapest of %*d: %*s (%*d units, %*g; %lf us)", &us) == 1);
    assert_true(fabs(us * 1000 - (double)plan.predicted_ns) < 1e-3 * (double)plan.predicted_ns);
    assert_int_equal(strncmp(plan.why_scheme, text, strlen(text)), 0);
    assert_true(plan.error_bound == ldexp((double)plan.bound_units, -24));
}

TEST(the_cheapest_that_meets_it) {
    static const char *const classes[] = {"half", "tf32", "fp32-fast"};
    for (int s = 0; s < SHAPES; s++) {
        char text[16];
        for (int i = 0; i < 3; i++)
            check_choice(classes[i], &shapes[s]);
        for (int bits = 1; bits <= BITS_MOST; bits++) {
            snprintf(text, sizeof text, "bits=%d", bits);
            check_choice(text, &shapes[s]);
        }
    }
}

/* Every scheme that rounds inputs to 11 bits is in its class at every k, f16x3 always in fp32-fast. */
TEST(classes_hold_what_they_are_named_after) {
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *d = &set->scheme[i];
        const bool is_11_bits = is_one_of(d->name, " half tf32 "), is_22_bits = strcmp(d->name, "f16x3") == 0;
        for (int64_t k = 1; k < INT64_C(1) << 31 && (is_11_bits || is_22_bits); k += k / 9 + 1)
            assert_true(meets(is_11_bits ? d->name : "fp32-fast", d->name, ht_bound_units(d, k), k));
        for (int64_t k = 1; k < INT64_C(1) << 24; k += k / 9 + 1) /* what halftone_set_accuracy relies on */
            assert_true(ht_bound_units(d, k) >= ht_bound_units(d, 1));
    }
}

/* More bits: never a larger bound, never less time, and once out of reach always. */
TEST(more_bits_never_give_less) {
    for (int s = 0; s < SHAPES; s++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT, before = {.bound_units = INT64_MAX};
        int code = HALFTONE_OK;
        for (int bits = 1; bits <= BITS_MOST; bits++) {
            const int now = ask_bits(bits, &shapes[s], &plan);
            assert_true(now == HALFTONE_ACCURACY || (now == HALFTONE_OK && code == HALFTONE_OK));
            code = now;
            if (code != HALFTONE_OK)
                continue;
            assert_true(plan.bound_units <= before.bound_units && plan.predicted_ns >= before.predicted_ns);
            before = plan;
        }
        assert_int_equal(code, HALFTONE_ACCURACY); /* FP32 itself has 24 */
    }
}

/* The choice follows from the shape, not from what was asked before. */
TEST(the_same_shape_gives_the_same_scheme) {
    static const char *const texts[] = {"bits=9", "half", "bits=14", "tf32"};
    for (int t = 0; t < 4; t++) {
        const char *first[SHAPES];
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        for (int i = 0; i < SHAPES; i++)
            first[i] = ask(texts[t], &shapes[i], &plan) == HALFTONE_OK ? plan.kernel : "";
        if (halftone_set_accuracy(handle, texts[t]) != HALFTONE_OK)
            continue;
        for (int i = 0; i < 3 * SHAPES; i++) { /* forth, back, forth, some twice */
            const struct shape *s = &shapes[i / SHAPES == 1 ? 2 * SHAPES - 1 - i : i % SHAPES];
            const int code = halftone_query(handle, 'T', 'N', s->m, s->n, s->k, s->batch, &plan);
            assert_string_equal(first[s - shapes], code == HALFTONE_OK ? plan.kernel : "");
        }
    }
}

/* ---- products */

struct data {
    struct product p;
    struct operand a, b;
    float *c; /* the result, dense */
    struct reference truth;
};

/* Magnitudes 2^-40 to 2^40 anywhere; scaled: A D, inv(D) B, D = 2^-100 to 2^100. */
static void fill(const struct product *p, bool scaled, char side, float *out) {
    const bool is_a = side == 'A';
    const int64_t rows = is_a ? p->m : p->k, cols = is_a ? p->k : p->n;
    for (int64_t col = 0; col < cols; col++) {
        for (int64_t row = 0; row < rows; row++) {
            const uint64_t bits = family_bits(7, (uint64_t)side, (uint64_t)row, (uint64_t)col);
            const int64_t inner = is_a ? col : row;
            const int d = (int)(family_bits(8, 0, 0, (uint64_t)inner) % 201) - 100;
            const int e = scaled ? (is_a ? d : -d) : (int)(bits % 81) - 40;
            const double v = ldexp(0.5 + family_uniform(bits) / 2, e);
            out[col * rows + row] = (float)(bits & 1 ? -v : v);
        }
    }
}

/* family: one of families.h, "anything" or "scaled". */
static struct data open_data(const char *family, int64_t m, int64_t n, int64_t k) {
    const bool scaled = strcmp(family, "scaled") == 0, own = scaled || strcmp(family, "anything") == 0;
    struct data x = {.p = product_of('N', 'N', m, n, k, own ? NULL : family)};
    for (int i = 0; own && i < 2; i++)
        fill(&x.p, scaled, "AB"[i], i == 0 ? x.p.a : x.p.b);
    OK(reference_make(&x.truth, 'N', 'N', m, n, k, x.p.a, m, x.p.b, k, 0, 1));
    x.a = stored(&x.p, 'A', 'N');
    x.b = stored(&x.p, 'B', 'N');
    return x;
}

static void close_data(struct data *x) {
    reference_free(&x->truth);
    product_free(&x->p);
}

static void multiply_data(struct data *x) {
    x->c = run(&x->p, "the accuracy's");
}

static int estimate_rho(const struct data *x, double *rho) {
    return halftone_estimate_rho(handle, 'N', 'N', x->p.m, x->p.n, x->p.k, x->a.device, x->a.ld, x->b.device, x->b.ld, rho);
}

/* max |C - R| in units of 2^-24 |A||B|, beside what the range of all schemes takes off: products below 2^-126, and on
 * units that flush them 2^-119 for each k. */
static double grade(const struct data *x) {
    double most = 0;
    for (int64_t i = 0; i < x->p.m * x->p.n; i++) {
        const double floor_of = fmax(x->truth.magnitude[i], ldexp(1, -126));
        const double flushed = set->arch == 0x90a ? ldexp((double)x->p.k, -119) : 0;
        most = fmax(most, (fabs((double)x->c[i] - x->truth.exact[i]) - flushed) / ldexp(floor_of, -24));
        if (!isfinite(x->c[i]))
            return INFINITY;
    }
    return most;
}

/* Every number of bits on random data, each scheme computed once. */
TEST(errors_keep_every_number_of_bits) {
    static const char *const families[] = {"uniform", "llm", "normal", "phi4", "scaled", "anything"};
    static const int64_t ks[] = {16, 48, 300};
    int reached = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
            struct data x = open_data(families[f], 35, 20, ks[i]);
            const struct shape s = {35, 20, ks[i], 1};
            char computed[32] = "";
            double error = 0;
            for (int bits = 8; bits <= 24; bits++) {
                struct halftone_plan plan = HALFTONE_PLAN_INIT;
                if (ask_bits(bits, &s, &plan) != HALFTONE_OK)
                    continue;
                if (strcmp(chosen(&plan), computed) != 0) {
                    multiply_data(&x);
                    error = grade(&x);
                    snprintf(computed, sizeof computed, "%s", chosen(&plan));
                }
                if (error > (double)plan.bound_units || error > ldexp(1, 24 - bits))
                    fail_msg("bits=%d, %s, k = %lld: %s is off by %g units", bits, families[f], (long long)ks[i], plan.scheme, error);
                reached = bits > reached ? bits : reached;
            }
            close_data(&x);
        }
    }
    fprintf(stderr, "up to %d bits on all exponents\n", reached);
    assert_true(reached >= 16 || ask_bits(8, &shapes[1], &(struct halftone_plan)HALFTONE_PLAN_INIT) == HALFTONE_ACCURACY);
}

/* What query names is what runs: the same bits as that scheme asked for by name, for the classes also within their bound. */
TEST(query_names_what_runs) {
    static const char *const texts[] = {"half",           "tf32",    "fp32-fast", "fp32", "reproducible",
                                        "reproducible:3", "bits=12", "bits=15"};
    struct data x = open_data("uniform", 70, 66, 130);
    const struct shape s = {70, 66, 130, 1};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        if (ask(texts[i], &s, &plan) != HALFTONE_OK)
            continue;
        multiply_data(&x);
        assert_true(plan.fixed_point || grade(&x) <= (double)plan.bound_units);
        const float *const first = x.c;
        assert_int_equal(halftone_set_scheme(handle, strcmp(texts[i], "fp32") == 0 ? "auto" : chosen(&plan)),
                         HALFTONE_OK);
        multiply_data(&x);
        expect_bits(texts[i], first, x.c, 70 * 66);
    }
    close_data(&x);
}

/* || |A||B| ||_F / ||A B||_F in FP64. */
static double rho_of(const struct data *x) {
    double with = 0, without = 0;
    for (int64_t at = 0; at < x->p.m * x->p.n; at++) {
        with += x->truth.magnitude[at] * x->truth.magnitude[at];
        without += x->truth.exact[at] * x->truth.exact[at];
    }
    return sqrt(with / without);
}

/* From one-signed data, where nothing cancels, to a millionth being left; what the handle is set to does not matter and stays. */
TEST(rho_is_estimated) {
    static const char *const families[] = {"llm", "uniform", "rowscales", "cancel1e2", "cancel1e4", "cancel1e6"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct data x = open_data(families[i], 70, 90, 300);
        double rho = 0, again = 0;
        assert_int_equal(halftone_set_accuracy(handle, "bits=12"), HALFTONE_OK);
        assert_int_equal(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), HALFTONE_OK);
        assert_int_equal(estimate_rho(&x, &rho), HALFTONE_OK);
        assert_int_equal(estimate_rho(&x, &again), HALFTONE_OK);
        assert_int_equal(halftone_set_pointer_mode(handle, HALFTONE_HOST), HALFTONE_OK);
        fprintf(stderr, "%s: rho %.4g, estimated %.4g\n", families[i], rho_of(&x), rho);
        assert_true(rho == again && rho > 0.5 * rho_of(&x) && rho < 4 * rho_of(&x));
        assert_non_null(strstr(plan_of(&x.p).why_scheme, "bits=12"));
        close_data(&x);
    }
}

/* Elements near both ends of FP32's range, whose norms overflow or vanish in FP32: the ratio is that of ordinary ones. */
TEST(rho_at_the_ends_of_the_range) {
    static const double scales[][2] = {{0x1p126, 1}, {1, 0x1p126}, {0x1p126, 0x1p126}, {0x1p-118, 1},
                                       {1, 0x1p-118}, {0x1p-118, 0x1p-118}, {0x1p126, 0x1p-118}};
    struct data x = open_data("uniform", 40, 50, 300);
    double plain = 0, rho = 0;
    assert_int_equal(estimate_rho(&x, &plain), HALFTONE_OK);
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        for (int i = 0; i < 40 * 300; i++)
            x.a.at[i] = (float)((double)x.p.a[i] * scales[s][0]);
        for (int i = 0; i < 300 * 50; i++)
            x.b.at[i] = (float)((double)x.p.b[i] * scales[s][1]);
        upload(x.a.device, x.a.at, x.a.count);
        upload(x.b.device, x.b.at, x.b.count);
        check_code(estimate_rho(&x, &rho), "rho");
        if (!(rho > 0.999 * plain && rho < 1.001 * plain))
            fail_msg("A times %g, B times %g: rho %g, not %g", scales[s][0], scales[s][1], rho, plain);
    }
    close_data(&x);
}

TEST(rho_of_nothing) {
    struct data x = open_data("uniform", 5, 6, 7);
    double rho = 0;
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 0, NULL, 5, NULL, 1, &rho), HALFTONE_OK);
    assert_true(rho == 1);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, NULL, 5, x.b.device, 7, &rho), -7);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.a.device, 4, x.b.device, 7, &rho), -8);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.a.device, 5, x.b.device, 7, NULL), -18);
    for (int i = 0; i < 5 * 7; i++)
        x.a.at[i] = i == 3 ? NAN : 1;
    upload(x.a.device, x.a.at, x.a.count);
    assert_int_equal(estimate_rho(&x, &rho), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(handle), "A holds NaN or Inf: it has no norm");
    assert_true(isinf(rho));
    memset(x.a.at, 0, 5 * 7 * sizeof(float));
    upload(x.a.device, x.a.at, x.a.count);
    assert_int_equal(estimate_rho(&x, &rho), HALFTONE_OK);
    assert_true(rho == 1);
    close_data(&x);
}

/* relative=X:rho=Y is bound=X/Y, and what it promises holds. */
TEST(a_relative_target_counts_what_cancels) {
    static const char *const wrong[] = {"relative=1e-3", "relative=1e-3:rho=0.5", "relative=1e-3:rho=", "relative=:rho=2",
                                        "relative=2:rho=1", "relative=1e-3:rho=1e3x", "relative=0:rho=1"};
    const struct shape s = {500, 600, 300, 1};
    struct halftone_plan plan = HALFTONE_PLAN_INIT, same = HALFTONE_PLAN_INIT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(halftone_set_accuracy(handle, wrong[i]), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(ask("bound=0.0625", &s, &same), HALFTONE_OK);
    assert_int_equal(ask("relative=0.5:rho=8", &s, &plan), HALFTONE_OK);
    assert_string_equal(plan.scheme, same.scheme);
    assert_true(plan.error_bound <= 0.0625);
    assert_int_equal(halftone_set_accuracy(handle, "fp32:relative=1e-7:rho=1e6"), HALFTONE_ACCURACY);
    struct data x = open_data("cancel1e2", 60, 50, 300);
    char text[64];
    double rho = 0, error = 0, size = 0;
    assert_int_equal(estimate_rho(&x, &rho), HALFTONE_OK);
    snprintf(text, sizeof text, "relative=0.25:rho=%.6g", rho);
    assert_int_equal(halftone_set_accuracy(handle, text), HALFTONE_OK);
    multiply_data(&x);
    for (int64_t at = 0; at < 60 * 50; at++) {
        error += ((double)x.c[at] - x.truth.exact[at]) * ((double)x.c[at] - x.truth.exact[at]);
        size += x.truth.exact[at] * x.truth.exact[at];
    }
    assert_true(error <= 0.25 * 0.25 * size);
    close_data(&x);
}

/* Header, runtime and generated set have one version between them. */
TEST(the_version_is_the_headers) {
    assert_string_equal(halftone_version(), HALFTONE_VERSION_TEXT);
    assert_string_equal(set->version, HALFTONE_VERSION_TEXT);
}

static int open_handle(void **state) {
    (void)state;
    if (create_handle() != 0)
        return -1;
    set = set_of_handle();
    return set == NULL ? -1 : 0;
}

FOR_ALL(open_handle, close_handle)
FOR_EACH(reset_handle, NULL)
