/* test_profile: the search of `halftone profile` on made-up units, each computed by one candidate: that one must be named,
 * whatever dimension it changes; a unit that computes as none must be refused. And the candidates' arithmetic by hand. */

#include "../../bench/halftone/profile/profile_search.h"
#include "../test.h"

enum { RANDOM = 24 };

static const struct profile_unit *unit_of(const char *name) {
    for (int i = 0; i < PROFILE_UNITS; i++)
        if (strcmp(profile_units[i].name, name) == 0)
            return &profile_units[i];
    fail_msg("no unit %s", name);
    return NULL;
}

static void make_tiles(struct profile_tiles *t, const char *unit) {
    struct cli_error f = {EXIT_OK, ""};
    assert_int_equal(profile_tiles_make(t, unit_of(unit), RANDOM, 7, 1, &f), 0);
    assert_int_equal(t->count, t->directed + RANDOM);
}

/* The unit's results as this model has them. */
static void compute(struct profile_tiles *t, const struct profile_model *model) {
    struct profile_decoded *d = profile_decoded_new();
    assert_non_null(d);
    for (int tile = 0; tile < t->count; tile++) {
        profile_decode(d, t->unit, model, t->unit->rows, t->a + (size_t)tile * t->a_bytes,
                       t->b + (size_t)tile * t->b_bytes);
        for (size_t i = 0; i < t->values; i++)
            t->d[(size_t)tile * t->values + i] = profile_dot(
                d, (int)i / PROFILE_COLUMNS, (int)i % PROFILE_COLUMNS, t->c[(size_t)tile * t->values + i]);
    }
    profile_decoded_free(d);
}

struct change {
    enum profile_dimension dimension;
    int choice;
};
enum { CHANGES = 3 };

/* Hopper's model (25 bits, cut, all k at once) with some choices changed. */
static struct profile_model changed(const struct profile_unit *u, const struct change *changes) {
    struct profile_model m = {{0}};
    m.choice[DIM_WIDTH] = 2;
    m.choice[DIM_GROUP] = profile_model_values(u, DIM_GROUP) - 1;
    for (int i = 0; i < CHANGES && changes[i].dimension != DIM_KIND; i++)
        m.choice[changes[i].dimension] = changes[i].choice;
    return m;
}

static struct profile_search search;

static void assert_named(struct profile_tiles *t, const struct profile_model *model, int alone) {
    struct cli_error f = {EXIT_OK, ""};
    char wanted[512], found[512];
    compute(t, model);
    assert_int_equal(profile_search(&search, t, &f), 0);
    const struct profile_candidate *best = &search.candidate[search.best];
    profile_model_name(t->unit, model, wanted, sizeof wanted);
    profile_model_name(t->unit, &best->model, found, sizeof found);
    assert_string_equal(found, wanted);
    assert_int_equal(best->verdict.failed, 0);
    /* And nothing else is as good; what is changed in two places may make a third irrelevant. */
    for (int i = 0; i < search.count && alone; i++) {
        profile_model_name(t->unit, &search.candidate[i].model, found, sizeof found);
        if (i != search.best && search.candidate[i].verdict.failed == 0)
            fail_msg("%s is not told from %s", found, wanted);
    }
}

static void assert_all_named(const char *unit, const struct change (*units)[CHANGES], size_t count) {
    struct profile_tiles t;
    make_tiles(&t, unit);
    for (size_t i = 0; i < count; i++) {
        const struct profile_model m = changed(t.unit, units[i]);
        assert_named(&t, &m, units[i][0].dimension == DIM_KIND || units[i][1].dimension == DIM_KIND);
    }
    profile_tiles_free(&t);
}

/* FP16: what its range lets a unit do differently. {DIM_KIND, 0} ends a list. */
TEST(half_units_are_named) {
    static const struct change units[][CHANGES] = {
        {{DIM_KIND, 0}},
        {{DIM_CUT, 2}, {DIM_GROUP, 0}, {DIM_ORDER, 1}},
        {{DIM_GROUP, 1}, {DIM_ORDER, 2}, {DIM_PRODUCT, 1}},
        {{DIM_WIDTH, 4}, {DIM_CUT, 1}, {DIM_ZERO, 1}},
        {{DIM_INPUT_SUBNORMAL, 2}, {DIM_NAN, 1}, {DIM_ADDEND_SUBNORMAL, 1}},
    };
    assert_all_named("mma.sync m16n8k8 f16", units, sizeof units / sizeof *units);
}

/* TF32: its low bits, and everything about FP32's subnormal numbers and overflow. */
TEST(wide_units_are_named) {
    static const struct change units[][CHANGES] = {
        {{DIM_LEAST, 1}, {DIM_INPUT_SUBNORMAL, 1}, {DIM_LOW_BITS, 1}},
        {{DIM_KIND, 0}},
        {{DIM_LEAST, 2}},
        {{DIM_LEAST, 8}, {DIM_OVERFLOW, 1}, {DIM_LOW_NAN, 1}},
        {{DIM_LEAST, 12}, {DIM_ADDEND_SUBNORMAL, 2}, {DIM_LOW_BITS, 2}},
        {{DIM_RESULT_SUBNORMAL, 1}, {DIM_LOW_BITS, 3}},
        {{DIM_WIDTH, 0}, {DIM_ADDEND, 1}, {DIM_RESULT, 1}},
    };
    assert_all_named("mma.sync m16n8k8 tf32", units, sizeof units / sizeof *units);
}

/* Units that add in ordinary floating point. */
TEST(chains_are_named) {
    struct profile_tiles t;
    struct profile_model m = {{0}};
    make_tiles(&t, "mma.sync m16n8k8 f16");
    for (m.choice[DIM_KIND] = KIND_FMA_UP; m.choice[DIM_KIND] <= KIND_HALF; m.choice[DIM_KIND]++)
        assert_named(&t, &m, 1);
    profile_tiles_free(&t);
}

TEST(integer_units_are_named) {
    struct profile_tiles t;
    struct profile_model m = {{0}};
    make_tiles(&t, "mma.sync m16n8k32 s8");
    for (; m.choice[DIM_INTEGER] < profile_model_values(t.unit, DIM_INTEGER); m.choice[DIM_INTEGER]++)
        assert_named(&t, &m, 1);
    profile_tiles_free(&t);
}

/* One bit of one result of one tile. */
TEST(a_unit_of_no_model_is_refused) {
    static const struct change none[CHANGES] = {{DIM_KIND, 0}};
    struct profile_tiles t;
    struct cli_error f = {EXIT_OK, ""};
    struct profile_verdict v;
    char text[512];
    make_tiles(&t, "wgmma m64n8k16 f16");
    const struct profile_model m = changed(t.unit, none);
    const int tile = t.directed + 5;
    compute(&t, &m);
    t.d[(size_t)tile * t.values + 63 * PROFILE_COLUMNS + 2] ^= 1;
    assert_int_equal(profile_search(&search, &t, &f), 0);
    const struct profile_candidate *best = &search.candidate[search.best];
    EQUAL({best->verdict.failed, 1}, {best->verdict.tile, tile}, {best->verdict.row, 63},
          {best->verdict.column, 2}, {best->verdict.unit ^ best->verdict.model, 1});
    profile_tile_name(&t, tile, text, sizeof text);
    assert_non_null(strstr(text, "random 5, "));
    profile_tile_dot(&t, tile, 63, 2, text, sizeof text);
    assert_true(strncmp(text, "c=", 2) == 0 && strstr(text, " k15:") != NULL);
    profile_simulator(&v, &t, sim_mma_find("sm90"));
    EQUAL({v.failed, 1}, {v.tile, tile});
    profile_simulator(&v, &t, sim_mma_find("sm80"));
    assert_true(v.failed > 100);
    profile_tiles_free(&t);
}

/* ---- by hand ---- */

/* c + 2^e0 - 2^-e1 of one TF32 dot. */
static uint32_t tiny(const struct profile_model *m, int e0, int e1, uint32_t c) {
    const struct profile_unit *u = unit_of("mma.sync m16n8k8 tf32");
    static uint32_t a[16 * 8], b[8 * 8];
    struct profile_decoded *d = profile_decoded_new();
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    a[0] = (uint32_t)(127 - 60) << 23;
    b[0] = (uint32_t)(127 + e0 + 60) << 23;
    a[1] = (uint32_t)(127 - 60) << 23 | 0x80000000u;
    b[1] = (uint32_t)(127 - e1 + 60) << 23;
    profile_decode(d, u, m, 1, a, b);
    const uint32_t bits = profile_dot(d, 0, 0, c);
    profile_decoded_free(d);
    return bits;
}

TEST(least_exponent_by_hand) {
    static const struct change none[CHANGES] = {{DIM_KIND, 0}},
                               at_126[CHANGES] = {{DIM_LEAST, 1}, {DIM_KIND, 0}};
    const struct profile_unit *u = unit_of("mma.sync m16n8k8 tf32");
    const struct profile_model free_one = changed(u, none), held = changed(u, at_126);
    assert_int_equal(tiny(&free_one, -149, 160, 0), 0); /* 2^-149 - 2^-160, cut */
    assert_int_equal(tiny(&held, -149, 151, 0), 0);     /* unit 2^-151: still there */
    assert_int_equal(tiny(&held, -149, 152, 0), 1);     /* gone */
    assert_int_equal(tiny(&free_one, -149, 174, 0), 0);
    assert_int_equal(tiny(&free_one, -149, 175, 0), 1);
    assert_int_equal(tiny(&free_one, -149, 152, 1), 2); /* a subnormal c aligns as -126 */
    assert_int_equal(tiny(&free_one, 0, 25, 0), 0x3f7fffff);
    assert_int_equal(tiny(&free_one, 0, 26, 0), 0x3f800000);
}
