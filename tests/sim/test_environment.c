/* test_environment: whatever floating-point environment the caller computes in, products have the bits, and
 * questions the answers, of the default one; the caller's stays. Every scheme of a set, in the simulator. */
#include <fenv.h>
#include <limits.h>

#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/sim_api.h"
#include "../kernels/handle.h"
#include "../kernels/exact_families.h"
#include "../test.h"

enum { M = 37, N = 21, K = 70, BYTES = M * N * (int)sizeof(double), WAYS = 3 };

/* ---- environments */

struct environment {
    const char *name;
    int rounding;
    bool without_subnormals; /* flushed to zero, as operands and as results */
};

static const struct environment environments[] = {
    {"to nearest", FE_TONEAREST, false},
    {"upward", FE_UPWARD, false},
    {"downward", FE_DOWNWARD, false},
    {"toward zero", FE_TOWARDZERO, false},
#if defined(__x86_64__)
    {"flushing subnormal numbers", FE_TONEAREST, true},
    {"flushing subnormal numbers, upward", FE_UPWARD, true},
#endif
};
enum { ENVIRONMENTS = sizeof environments / sizeof *environments };

/* One flag is up, which a call may neither lower nor join by another. */
static void enter(const struct environment *e) {
    assert_int_equal(fesetenv(FE_DFL_ENV), 0);
    assert_int_equal(fesetround(e->rounding), 0);
    assert_int_equal(feraiseexcept(FE_DIVBYZERO), 0);
#if defined(__x86_64__)
    if (e->without_subnormals)
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
}

static void leave(const struct environment *e, const char *what) {
    const int rounding = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
    bool flushes = false;
#if defined(__x86_64__)
    flushes = (__builtin_ia32_stmxcsr() & 0x8040u) == 0x8040u;
#endif
    assert_int_equal(fesetenv(FE_DFL_ENV), 0);
    if (rounding != e->rounding || flags != FE_DIVBYZERO || flushes != e->without_subnormals)
        fail_msg("%s, %s: it has become rounding %d (was %d), flags %x (were %x), flushing %d", what, e->name,
                 rounding, e->rounding, (unsigned)flags, (unsigned)FE_DIVBYZERO, flushes);
}

/* ---- products */

/* Of one type, in device memory. */
struct matrices {
    void *a, *b, *c, *stream;
    double alpha, beta;
    float alpha32, beta32; /* the same: a conversion would compute in the environment */
};

static struct matrices single, twice; /* of FP32 and of FP64 */

static size_t element_bytes_of(bool is_fp64) {
    return is_fp64 ? sizeof(double) : sizeof(float);
}

static void set_element(void *to, bool is_fp64, int i, double x) {
    if (is_fp64)
        ((double *)to)[i] = x;
    else
        ((float *)to)[i] = (float)x;
}

/* Every eighth element is subnormal. */
static void *filled(bool is_fp64, int count) {
    const double tiny = is_fp64 ? 0x1p-1030 : 0x1p-130;
    void *memory = NULL;
    assert_int_equal(ht_dev_alloc(&memory, (size_t)count * element_bytes_of(is_fp64)), HT_DEV_OK);
    for (int i = 0; i < count; i++)
        set_element(memory, is_fp64, i, i % 8 == 7 ? tiny : 0.3 * random_uniform());
    return memory;
}

static void open_matrices(struct matrices *x, bool is_fp64) {
    x->a = filled(is_fp64, M * K);
    x->b = filled(is_fp64, K * N);
    x->c = filled(is_fp64, M * N);
    assert_int_equal(ht_dev_stream_create(&x->stream), HT_DEV_OK);
}

static void close_matrices(struct matrices *x) {
    void *const memory[] = {x->a, x->b, x->c};
    for (int i = 0; i < 3; i++)
        assert_int_equal(ht_dev_free(memory[i]), HT_DEV_OK);
    assert_int_equal(ht_dev_stream_destroy(x->stream), HT_DEV_OK);
}

static int call64(const struct matrices *x, bool on_host) {
    return (on_host ? halftone_dgemm_host : halftone_dgemm)(handle, 'N', 'N', M, N, K, &x->alpha, x->a, M, x->b, K,
                                                            &x->beta, x->c, M);
}

static int call32(const struct matrices *x, bool on_host) {
    return (on_host ? halftone_sgemm_host : halftone_sgemm)(handle, 'N', 'N', M, N, K, &x->alpha32, x->a, M, x->b, K,
                                                            &x->beta32, x->c, M);
}

/* Way 0: at once; 1: on a stream that is held; 2: of host memory. */
static int product(const struct matrices *x, bool is_fp64, int way) {
    int code = halftone_set_stream(handle, x->stream);
    if (way == 1)
        (void)ht_sim_hold(x->stream);
    if (code == HALFTONE_OK)
        code = is_fp64 ? call64(x, way == 2) : call32(x, way == 2);
    if (way == 1)
        ht_sim_let_go(x->stream);
    return code;
}

static void expect_same_bits(bool is_fp64, const char *what) {
    struct matrices *const x = is_fp64 ? &twice : &single;
    static unsigned char before[BYTES], expected[BYTES], got[BYTES];
    static const char *const ways[WAYS] = {"at once", "held", "of host memory"};
    const size_t bytes = M * N * element_bytes_of(is_fp64);
    char text[160];
    memcpy(before, x->c, bytes);
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < ENVIRONMENTS; i++) {
            snprintf(text, sizeof text, "%s, alpha %g, beta %g, %s", what, x->alpha, x->beta, ways[way]);
            memcpy(x->c, before, bytes);
            enter(&environments[i]);
            const int code = product(x, is_fp64, way);
            leave(&environments[i], text);
            check_code(code, text);
            assert_string_equal(ht_sim_error(), "");
            memcpy(i == 0 ? expected : got, x->c, bytes);
            if (i > 0 && memcmp(got, expected, bytes) != 0)
                fail_msg("%s: other bits, %s", text, environments[i].name);
        }
    }
    memcpy(x->c, before, bytes);
}

/* Scalars whose product with anything is rounded; such as a host that flushes subnormal numbers takes for 0. */
static void expect_of_scalars(bool is_fp64, const char *what) {
    struct matrices *const x = is_fp64 ? &twice : &single;
    const double tiny = is_fp64 ? 0x1p-1040 : 0x1p-140, third = 0x1.555556p-2; /* floats if they must */
    const double scalars[][2] = {{third, 2 * third}, {tiny, 1}, {0, tiny}, {0, third}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        x->alpha = scalars[i][0];
        x->beta = scalars[i][1];
        x->alpha32 = (float)x->alpha;
        x->beta32 = (float)x->beta;
        expect_same_bits(is_fp64, what);
    }
}

static void expect_of_schemes(bool is_fp64) {
    const char *name = "auto";
    for (int i = 0; name != NULL; name = halftone_schemes(handle, is_fp64 ? HALFTONE_FP64 : HALFTONE_FP32, i++)) {
        check_code(halftone_set_scheme(handle, name), name);
        expect_of_scalars(is_fp64, name);
    }
    check_code(halftone_set_scheme(handle, "auto"), "auto");
}

TEST(test_products_of_fp32) {
    expect_of_schemes(false);
}

TEST(test_products_of_fp64) {
    expect_of_schemes(true);
}

/* ---- questions */

enum { ANSWERS = 4096 };

static void add_plan(char *to, int code, const struct halftone_plan *p) {
    const size_t used = strlen(to);
    snprintf(to + used, ANSWERS - used, "%d %s %s %d %lld %a %d %s\n", code, p->scheme, p->kernel, p->splits,
             (long long)p->bound_units, p->error_bound, p->fixed_point, p->why_scheme);
}

/* What the library says of sizes, accuracies and matrices. */
static void ask(const struct environment *e, char *answers) {
    static const char *const accuracies[] = {"fp32", "bits=12", "bound=3e-5", "relative=1.1e-5:rho=1.3",
                                             "reproducible"};
    static const char *const accuracies64[] = {"fp64", "fp64:bits=40", "fp64:bound=1.1e-12", "fp64-fast"};
    struct halftone_plan plans[16];
    int codes[16], asked = 0;
    double rho = 0;
    enter(e);
    for (size_t i = 0; i < sizeof accuracies / sizeof *accuracies; i++, asked++) {
        plans[asked] = (struct halftone_plan)HALFTONE_PLAN_INIT;
        codes[asked] = halftone_set_accuracy(handle, accuracies[i]);
        codes[asked] += halftone_query(handle, 'N', 'T', 1000, 700, 3000, 1, &plans[asked]);
    }
    for (size_t i = 0; i < sizeof accuracies64 / sizeof *accuracies64; i++, asked++) {
        plans[asked] = (struct halftone_plan)HALFTONE_PLAN_INIT;
        codes[asked] = halftone_set_accuracy(handle, accuracies64[i]);
        codes[asked] += halftone_dquery(handle, 'N', 'T', 1000, 700, 3000, 1, &plans[asked]);
    }
    codes[asked] = halftone_estimate_rho(handle, 'N', 'N', M, N, K, single.a, M, single.b, K, &rho);
    leave(e, "questions");
    answers[0] = '\0';
    for (int i = 0; i < asked; i++)
        add_plan(answers, codes[i], &plans[i]);
    check_code(codes[asked], "estimate_rho");
    snprintf(answers + strlen(answers), ANSWERS - strlen(answers), "rho %a\n", rho);
}

TEST(test_questions) {
    static char expected[ANSWERS], got[ANSWERS];
    for (int i = 0; i < ENVIRONMENTS; i++) {
        ask(&environments[i], i == 0 ? expected : got);
        size_t same = 0;
        while (i > 0 && got[same] != '\0' && got[same] == expected[same])
            same++;
        if (i > 0 && got[same] != expected[same])
            fail_msg("%s: from '%.40s' on, instead of '%.40s'", environments[i].name, got + same, expected + same);
    }
    check_code(halftone_set_scheme(handle, "auto"), "auto");
}

/* ---- */

static int open_all(void **state) {
    (void)state;
    open_matrices(&single, false);
    open_matrices(&twice, true);
    return create_handle();
}

static int close_all(void **state) {
    const int code = close_handle(state);
    close_matrices(&single);
    close_matrices(&twice);
    return code;
}

FOR_ALL(open_all, close_all)
