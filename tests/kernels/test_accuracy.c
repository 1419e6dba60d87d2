/* test_accuracy: what halftone_set_accuracy gives with real kernels, for each set: held to the manual's table by a second
 * choice made here from halftone_query alone, and to measured errors. How texts are read and refused: test_choices.c. */
#include <math.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../bench/halftone/accuracy/reference.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_bound.h"
#include "../../runtime/ht_dev.h"
#include "../test.h"
#include "handle.h"

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
    int64_t m, n, k;
    float *a, *b, *c; /* host; A is m x k, B k x n, dense */
    float *da, *db, *dc;
    struct reference truth;
};

static float *device(const float *host, int64_t count) {
    void *p = NULL;
    assert_int_equal(ht_dev_alloc(&p, (size_t)count * 4), HT_DEV_OK);
    if (host != NULL)
        assert_int_equal(ht_dev_upload(p, host, (size_t)count * 4), HT_DEV_OK);
    return p;
}

/* family NULL: magnitudes 2^-40 to 2^40 anywhere; "scaled": A D, inv(D) B, D = 2^-100 to 2^100. */
static void fill(struct data *x, const char *family, char side, float *out) {
    const bool is_a = side == 'A', scaled = family != NULL && strcmp(family, "scaled") == 0;
    const int64_t rows = is_a ? x->m : x->k, cols = is_a ? x->k : x->n;
    if (family != NULL && !scaled) {
        family_fill(family_find(family), 5, side, x->m, x->n, x->k, out, rows);
        return;
    }
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

static void open_data(struct data *x, const char *family, int64_t m, int64_t n, int64_t k) {
    memset(x, 0, sizeof *x);
    x->m = m, x->n = n, x->k = k;
    x->a = malloc((size_t)(m * k) * 4), x->b = malloc((size_t)(k * n) * 4), x->c = malloc((size_t)(m * n) * 4);
    assert_true(x->a != NULL && x->b != NULL && x->c != NULL);
    fill(x, family, 'A', x->a);
    fill(x, family, 'B', x->b);
    assert_int_equal(reference_make(&x->truth, 'N', 'N', m, n, k, x->a, m, x->b, k, 0, 1), 0);
    x->da = device(x->a, m * k), x->db = device(x->b, k * n), x->dc = device(NULL, m * n);
}

static void close_data(struct data *x) {
    free(x->a), free(x->b), free(x->c);
    ht_dev_free(x->da), ht_dev_free(x->db), ht_dev_free(x->dc);
    reference_free(&x->truth);
}

static void multiply(struct data *x) {
    const float one = 1, zero = 0;
    const int code = halftone_sgemm(handle, 'N', 'N', x->m, x->n, x->k, &one, x->da, x->m, x->db, x->k, &zero,
                                    x->dc, x->m);
    if (code != HALFTONE_OK)
        fail_msg("%s: %s", halftone_strerror(code), halftone_last_detail(handle));
    assert_int_equal(ht_dev_stream_sync(NULL), HT_DEV_OK);
    assert_int_equal(ht_dev_download(x->c, x->dc, (size_t)(x->m * x->n) * 4), HT_DEV_OK);
}

/* max |C - R| in units of 2^-24 |A||B|, beside what the range of all schemes takes off: products below 2^-126, and on
 * units that flush them 2^-119 for each k. */
static double grade(const struct data *x) {
    double most = 0;
    for (int64_t i = 0; i < x->m * x->n; i++) {
        const double floor_of = fmax(x->truth.magnitude[i], ldexp(1, -126));
        const double flushed = set->arch == 0x90a ? ldexp((double)x->k, -119) : 0;
        most = fmax(most, (fabs((double)x->c[i] - x->truth.exact[i]) - flushed) / ldexp(floor_of, -24));
        if (!isfinite(x->c[i]))
            return INFINITY;
    }
    return most;
}

/* Every number of bits on random data, each scheme computed once. */
TEST(errors_keep_every_number_of_bits) {
    static const char *const families[] = {"uniform", "llm", "normal", "phi4", "scaled", NULL};
    static const int64_t ks[] = {16, 48, 300};
    int reached = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
            struct data x;
            open_data(&x, families[f], 35, 20, ks[i]);
            const struct shape s = {x.m, x.n, x.k, 1};
            char computed[32] = "";
            double error = 0;
            for (int bits = 8; bits <= 24; bits++) {
                struct halftone_plan plan = HALFTONE_PLAN_INIT;
                if (ask_bits(bits, &s, &plan) != HALFTONE_OK)
                    continue;
                if (strcmp(chosen(&plan), computed) != 0) {
                    multiply(&x);
                    error = grade(&x);
                    snprintf(computed, sizeof computed, "%s", chosen(&plan));
                }
                if (error > (double)plan.bound_units || error > ldexp(1, 24 - bits))
                    fail_msg("bits=%d, %s, k = %lld: %s is off by %g units", bits,
                             families[f] != NULL ? families[f] : "anything", (long long)x.k, plan.scheme, error);
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
    struct data x;
    open_data(&x, "uniform", 70, 66, 130);
    const struct shape s = {x.m, x.n, x.k, 1};
    float *first = malloc((size_t)(x.m * x.n) * 4);
    assert_non_null(first);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        if (ask(texts[i], &s, &plan) != HALFTONE_OK)
            continue;
        multiply(&x);
        assert_true(plan.fixed_point || grade(&x) <= (double)plan.bound_units);
        memcpy(first, x.c, (size_t)(x.m * x.n) * 4);
        assert_int_equal(halftone_set_scheme(handle, strcmp(texts[i], "fp32") == 0 ? "auto" : chosen(&plan)),
                         HALFTONE_OK);
        multiply(&x);
        assert_memory_equal(first, x.c, (size_t)(x.m * x.n) * 4);
    }
    free(first);
    close_data(&x);
}

/* || |A||B| ||_F / ||A B||_F in FP64. */
static double rho_of(const struct data *x) {
    double with = 0, without = 0;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            double magnitude = 0, sum = 0;
            for (int64_t l = 0; l < x->k; l++) {
                const double product = (double)x->a[l * x->m + i] * (double)x->b[j * x->k + l];
                magnitude += fabs(product);
                sum += product;
            }
            with += magnitude * magnitude;
            without += sum * sum;
        }
    return sqrt(with / without);
}

/* From one-signed data, where nothing cancels, to a millionth being left; what the handle is set to does not matter and stays. */
TEST(rho_is_estimated) {
    static const char *const families[] = {"llm", "uniform", "rowscales", "cancel1e2", "cancel1e4", "cancel1e6"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        struct data x;
        double rho = 0, again = 0;
        open_data(&x, families[i], 70, 90, 300);
        assert_int_equal(halftone_set_accuracy(handle, "bits=12"), HALFTONE_OK);
        assert_int_equal(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), HALFTONE_OK);
        assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', x.m, x.n, x.k, x.da, x.m, x.db, x.k, &rho), HALFTONE_OK);
        assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', x.m, x.n, x.k, x.da, x.m, x.db, x.k, &again), HALFTONE_OK);
        assert_int_equal(halftone_set_pointer_mode(handle, HALFTONE_HOST), HALFTONE_OK);
        fprintf(stderr, "%s: rho %.4g, estimated %.4g\n", families[i], rho_of(&x), rho);
        assert_true(rho == again && rho > 0.5 * rho_of(&x) && rho < 4 * rho_of(&x));
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        assert_int_equal(halftone_query(handle, 'N', 'N', x.m, x.n, x.k, 1, &plan), HALFTONE_OK);
        assert_non_null(strstr(plan.why_scheme, "bits=12"));
        close_data(&x);
    }
}

/* Elements near both ends of FP32's range, whose norms overflow or vanish in FP32: the ratio is that of ordinary ones. */
TEST(rho_at_the_ends_of_the_range) {
    static const double scales[][2] = {{0x1p126, 1}, {1, 0x1p126}, {0x1p126, 0x1p126}, {0x1p-118, 1},
                                       {1, 0x1p-118}, {0x1p-118, 0x1p-118}, {0x1p126, 0x1p-118}};
    struct data x;
    double plain = 0, rho = 0;
    open_data(&x, "uniform", 40, 50, 300);
    float *const a = malloc(40 * 300 * sizeof *a), *const b = malloc(300 * 50 * sizeof *b);
    assert_true(a != NULL && b != NULL);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', x.m, x.n, x.k, x.da, x.m, x.db, x.k, &plain), HALFTONE_OK);
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        for (int i = 0; i < 40 * 300; i++)
            a[i] = (float)((double)x.a[i] * scales[s][0]);
        for (int i = 0; i < 300 * 50; i++)
            b[i] = (float)((double)x.b[i] * scales[s][1]);
        assert_int_equal(ht_dev_upload(x.da, a, 40 * 300 * sizeof *a) + ht_dev_upload(x.db, b, 300 * 50 * sizeof *b), HT_DEV_OK);
        check_code(halftone_estimate_rho(handle, 'N', 'N', x.m, x.n, x.k, x.da, x.m, x.db, x.k, &rho), "rho");
        if (!(rho > 0.999 * plain && rho < 1.001 * plain))
            fail_msg("A times %g, B times %g: rho %g, not %g", scales[s][0], scales[s][1], rho, plain);
    }
    free(a);
    free(b);
    close_data(&x);
}

TEST(rho_of_nothing) {
    struct data x;
    double rho = 0;
    open_data(&x, "uniform", 5, 6, 7);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 0, NULL, 5, NULL, 1, &rho), HALFTONE_OK);
    assert_true(rho == 1);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, NULL, 5, x.db, 7, &rho), -7);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.da, 4, x.db, 7, &rho), -8);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.da, 5, x.db, 7, NULL), -18);
    for (int i = 0; i < 5 * 7; i++)
        x.a[i] = i == 3 ? NAN : 1;
    assert_int_equal(ht_dev_upload(x.da, x.a, 5 * 7 * sizeof(float)), HT_DEV_OK);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.da, 5, x.db, 7, &rho), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(handle), "A holds NaN or Inf: it has no norm");
    assert_true(isinf(rho));
    memset(x.a, 0, 5 * 7 * sizeof(float));
    assert_int_equal(ht_dev_upload(x.da, x.a, 5 * 7 * sizeof(float)), HT_DEV_OK);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', 5, 6, 7, x.da, 5, x.db, 7, &rho), HALFTONE_OK);
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
    struct data x;
    char text[64];
    double rho = 0, error = 0, size = 0;
    open_data(&x, "cancel1e2", 60, 50, 300);
    assert_int_equal(halftone_estimate_rho(handle, 'N', 'N', x.m, x.n, x.k, x.da, x.m, x.db, x.k, &rho), HALFTONE_OK);
    snprintf(text, sizeof text, "relative=0.25:rho=%.6g", rho);
    assert_int_equal(halftone_set_accuracy(handle, text), HALFTONE_OK);
    multiply(&x);
    for (int64_t at = 0; at < x.m * x.n; at++) {
        double sum = 0;
        for (int64_t l = 0; l < x.k; l++)
            sum += (double)x.a[l * x.m + at % x.m] * (double)x.b[at / x.m * x.k + l];
        error += ((double)x.c[at] - sum) * ((double)x.c[at] - sum);
        size += sum * sum;
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
