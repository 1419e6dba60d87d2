/* test_choices: schemes, kernels and accuracies by name, and what a handle answers. Without generator, simulator or GPU: fake_set.h. */
#include <locale.h>
#include <math.h>

#include "../../runtime/ht_accuracy.h"
#include "fake_set.h"

/* ---- choices and questions ---- */

TEST(test_a_kernel_that_does_not_fit_is_refused_by_name) {
    halftone *h = NULL;
    dev.smem_per_block = 65535; /* each asks for 65536 */
    OK(halftone_create(&h));
    REFUSED(halftone_set_kernel(h, "ht_fake_big"), HALFTONE_NOT_SUPPORTED);
    assert_string_equal(halftone_last_detail(h), "kernel 'ht_fake_big' needs more shared memory than this GPU has");
    REFUSED(halftone_set_kernel(h, "nonsense"), HALFTONE_UNKNOWN_KERNEL);
    OK(halftone_destroy(h));
}

API_TEST(test_schemes_and_kernels_by_name) {
    struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
    REFUSED(halftone_set_scheme(h, "nonsense"), HALFTONE_UNKNOWN_SCHEME);
    REFUSED(halftone_set_scheme(h, NULL), HALFTONE_UNKNOWN_SCHEME);
    REFUSED(halftone_set_kernel(h, "nonsense"), HALFTONE_UNKNOWN_KERNEL);
    OK(halftone_set_kernel(h, "ht_fake_plain"));
    check(h, &p);
    assert_int_equal(dev.last_kernel, 2); /* ablations run by name only */
    OK(halftone_set_kernel(h, "ht_fake_half"));
    check(h, &p);
    assert_int_equal(dev.last_kernel, 3); /* and bring their scheme */
    OK(halftone_set_kernel(h, NULL));
    check(h, &p);
    assert_int_equal(dev.last_kernel, 1);
    OK(halftone_set_scheme(h, "orphan"));
    float one = 1;
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &one, 1, &one, 1, &one, &one, 1),
            HALFTONE_NOT_SUPPORTED);
    OK(halftone_set_scheme(h, "auto"));
    check(h, &p);
    assert_string_equal(halftone_schemes(h, HALFTONE_FP32, 1), "f16x3");
    assert_string_equal(halftone_schemes(h, 0, 1), "f16x3");
    assert_null(halftone_schemes(NULL, HALFTONE_FP32, 4));
    assert_null(halftone_schemes(h, 0, -1));
    assert_null(halftone_schemes(h, HALFTONE_FP64, 0)); /* this library has none */
    assert_null(halftone_schemes(h, 16, 0));
    assert_string_equal(halftone_kernels(NULL, 3), "ht_fake_half");
    assert_null(halftone_kernels(h, 5));
    assert_string_equal(halftone_version(), "1.2.3");
    assert_string_equal(halftone_gpu(NULL), "fake");
    assert_string_equal(halftone_gpus(0), "fake");
    assert_string_equal(halftone_gpus(1), "exact");
    assert_string_equal(halftone_gpus(2), "checked");
    assert_null(halftone_gpus(3));
    assert_null(halftone_gpus(-1));
}

/* The numbers, the text and the #if of the header agree; that of a generated set is the same: test_accuracy. */
TEST(test_version) {
    char text[32];
#if HALFTONE_VERSION < 100 || HALFTONE_VERSION != HALFTONE_VERSION_MAJOR * 10000 + HALFTONE_VERSION_MINOR * 100 + HALFTONE_VERSION_PATCH
#error HALFTONE_VERSION is no number for the preprocessor
#endif
    snprintf(text, sizeof text, "%d.%d.%d", HALFTONE_VERSION_MAJOR, HALFTONE_VERSION_MINOR, HALFTONE_VERSION_PATCH);
    assert_string_equal(text, HALFTONE_VERSION_TEXT);
}

API_TEST(test_getters) {
    static _Alignas(HALFTONE_ALIGNMENT) char memory[512];
    void *stream = memory, *workspace = memory;
    const char *text = "";
    size_t bytes = 1;
    int mode = -1;
    expect_set(h, "auto", NULL, NULL);
    assert_int_equal(halftone_get_stream(h, &stream) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(stream == NULL && workspace == NULL && bytes == 0);
    assert_int_equal(halftone_set_stream(h, &mode) + halftone_set_workspace(h, memory, 512), 0);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_DEVICE) + halftone_get_pointer_mode(h, &mode), 0);
    assert_int_equal(halftone_get_stream(h, &stream) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(stream == &mode && workspace == memory && bytes == 512 && mode == HALFTONE_DEVICE);
    assert_int_equal(halftone_set_workspace(h, NULL, 0) + halftone_get_workspace(h, &workspace, &bytes), 0);
    assert_true(workspace == NULL && bytes == 0);
    OK(halftone_set_scheme(h, "half"));
    expect_set(h, "half", NULL, NULL);
    OK(halftone_set_accuracy(h, "bits=12") + halftone_set_kernel(h, "ht_fake_plain"));
    expect_set(h, NULL, "bits=12", "ht_fake_plain");
    OK(halftone_set_kernel(h, NULL) + halftone_set_scheme(h, "auto"));
    expect_set(h, "auto", NULL, NULL);
    assert_int_equal(halftone_set_recompute(h, HALFTONE_RECOMPUTE_NOTHING) + halftone_get_recompute(h, &mode), 0);
    assert_int_equal(mode, HALFTONE_RECOMPUTE_NOTHING);
    REFUSED(halftone_set_recompute(h, 2), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_get_recompute(h, &mode) + halftone_set_recompute(h, HALFTONE_RECOMPUTE_ALL), 0);
    assert_int_equal(mode, HALFTONE_RECOMPUTE_NOTHING);
    REFUSED(halftone_get_recompute(h, NULL), -18);
    REFUSED(halftone_get_recompute(NULL, &mode), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_recompute(NULL, 0), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_last_check(NULL, NULL), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_stream(h, NULL), -18);
    REFUSED(halftone_get_workspace(h, &workspace, NULL), -18);
    REFUSED(halftone_get_workspace(h, NULL, &bytes), -18);
    REFUSED(halftone_get_scheme(h, HALFTONE_FP32, NULL), -18);
    REFUSED(halftone_get_accuracy(h, HALFTONE_FP64, NULL), -18);
    REFUSED(halftone_get_scheme(h, 0, &text), -18);
    REFUSED(halftone_get_accuracy(h, 16, &text), -18);
    assert_string_equal(halftone_last_detail(h), "type 16 is neither HALFTONE_FP32 nor HALFTONE_FP64");
    REFUSED(halftone_get_pointer_mode(h, NULL), -18);
    REFUSED(halftone_get_kernel(h, NULL), -18);
    REFUSED(halftone_get_stream(NULL, &stream), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_workspace(NULL, &workspace, &bytes), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_scheme(NULL, HALFTONE_FP32, &text), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_accuracy(NULL, HALFTONE_FP64, &text), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_pointer_mode(NULL, &mode), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_kernel(NULL, &text), HALFTONE_NULL_HANDLE);
}

/* No more is written than the program says it has, and nothing where it says nothing. */
API_TEST(test_a_plan_has_its_size) {
    struct {
        struct halftone_plan plan;
        char behind[64];
    } x, before;
    static const size_t wrong[] = {0, 1, sizeof(void *), sizeof x.plan - 1, (size_t)1 << 20, SIZE_MAX};
    memset(&x, 0x5a, sizeof x);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        x.plan.size = wrong[i];
        memcpy(&before, &x, sizeof x);
        REFUSED_FOR(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &x.plan), -18, "HALFTONE_PLAN_INIT");
        assert_memory_equal(&before, &x, sizeof x);
    }
    for (size_t more = 0; more <= sizeof x.behind; more += sizeof x.behind) { /* a newer program's struct may be longer */
        memset(&x, 0x5a, sizeof x);
        x.plan.size = sizeof x.plan + more;
        OK(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &x.plan));
        assert_true(x.plan.size == sizeof x.plan + more && strcmp(x.plan.scheme, "f16x3") == 0);
        assert_memory_equal(x.behind, before.behind, sizeof x.behind);
    }
}

API_TEST(test_query) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes;
    OK(halftone_query(h, 'N', 'T', 4096, 4096, 4096, 1, &plan));
    assert_string_equal(plan.scheme, "f16x3");
    assert_string_equal(plan.kernel, "ht_fake_big");
    EQUAL({plan.bm, 128}, {plan.splits, 1}, {plan.bound_units, 119}, {plan.kernel_ns, 1408567},
          {plan.pack_ns, 2 * 83886 + 3000}, {plan.predicted_ns, plan.pack_ns + plan.kernel_ns});
    assert_string_equal(plan.why, "because");
    assert_string_equal(plan.range, "all");
    assert_int_equal(plan.workspace_bytes,
                     2 * 1041 * 1024 + 2 * 4096 * 4096 * 4); /* 4096 magnitudes, 64 * 4097 ints to meet; panels */
    OK(halftone_workspace_bytes(h, 'N', 'T', 4096, 4096, 4096, 1, &bytes));
    assert_int_equal(bytes, plan.workspace_bytes);
    OK(halftone_query(h, 'N', 'T', 5, 5, 0, 1, &plan));
    assert_string_equal(plan.kernel, "");
    assert_int_equal(plan.workspace_bytes, 0);
    OK(halftone_query(h, 'N', 'N', 128, 128, 65536, 1, &plan));
    assert_true(plan.splits > 1);
    REFUSED(halftone_query(h, '?', 'N', 1, 1, 1, 1, &plan), -1);
    assert_int_equal(dev.calls, 0);
}

API_TEST(test_query_tells_what_runs) {
    dev.dry = true;
    float one = 1, zero = 0, *x = matrix(1 << 16);
    for (int i = 0; i < 40; i++) {
        int64_t m = 1 + next_random() % 200, n = 1 + next_random() % 200, k = 1 + next_random() % 200;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        OK(halftone_query(h, 'N', 'N', m, n, k, 1, &plan));
        OK(halftone_sgemm(h, 'N', 'N', m, n, k, &one, x, m, x, k, &zero, x, m));
        assert_string_equal(plan.kernel, fake_set.kernel[dev.last_kernel].name);
        assert_int_equal(plan.splits, dev.last_splits);
    }
}

/* ---- accuracies; what real sets choose: test_accuracy.c ---- */

static void assert_query(halftone *h, int64_t k, const char *scheme) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    OK(halftone_query(h, 'N', 'N', 30, 30, k, 1, &plan));
    assert_string_equal(plan.scheme, scheme);
}

API_TEST(test_an_accuracy_is_a_cheapest_scheme) {
    static const char *const expected[][2] = {
        {"half", "half"},     {"tf32", "wide"},    {"fp32-fast", "f16x3"},
        {"bits=12", "wide"},  {"bits=17", "wide"}, {"bound=1", "wide"},    {"bound=1e-5", "wide"},
        {"bits=1", "wide"}};
    struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        OK(halftone_set_accuracy(h, expected[i][0]));
        assert_query(h, 30, expected[i][1]);
        assert_query(h, 0, expected[i][1]); /* also where nothing is run */
        check(h, &p);
        assert_string_equal(fake_kernels[dev.last_kernel].scheme, expected[i][1]);
    }
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    OK(halftone_set_accuracy(h, "fp32-fast"));
    OK(halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &plan));
    assert_true(plan.error_bound == 119 * 0x1p-24);
    assert_string_equal(plan.why_scheme, "fp32-fast: at most 4352 units; cheapest of 2: f16x3 (119 units, "
                                         "7.09e-06; 1579 us), then wide (154 units, 9.18e-06; 5054 us)");
    assert_string_equal(halftone_accuracies(0, 0), "half");
    assert_string_equal(halftone_accuracies(HALFTONE_FP32, 4), "invariant");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 0), "fp64");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 3), "invariant");
    assert_string_equal(halftone_accuracies(HALFTONE_FP64, 5), "bits=N");
    assert_null(halftone_accuracies(HALFTONE_FP64, 8));
    assert_null(halftone_accuracies(0, 18));
    OK(halftone_set_scheme(h, "half"));
    OK(halftone_query(h, 'N', 'N', 9, 9, 9, 1, &plan));
    assert_string_equal(plan.why_scheme, "set by name");
    assert_null(halftone_accuracies(0, -1));
    assert_null(halftone_accuracies(16, 0));
}

/* One whose decimal point is a comma, made for this test. */
static bool use_commas(void) {
    char folder[] = "/tmp/halftone-locale-XXXXXX", command[200];
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n' >def && localedef -c -i def ./xx_XX 2>log",
             folder);
    (void)!system(command); /* it warns of what the locale lacks */
    const bool is_set = setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_NUMERIC, "xx_XX") != NULL;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && is_set;
}

API_TEST(test_texts_are_of_no_locale) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT, again = HALFTONE_PLAN_INIT;
    char said[200], number[16];
    OK(halftone_set_accuracy(h, "bound=0.001"));
    OK(halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &plan));
    REFUSED(halftone_set_accuracy(h, "bits=24"), HALFTONE_ACCURACY);
    snprintf(said, sizeof said, "%s", halftone_last_detail(h));
    assert_true(use_commas());
    snprintf(number, sizeof number, "%g", 1.5);
    const int codes[] = {halftone_set_accuracy(h, "bound=0.001"), halftone_query(h, 'N', 'N', 4096, 4096, 4096, 1, &again), halftone_set_accuracy(h, "bits=24")};
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(number, "1,5");
    assert_true(codes[0] == HALFTONE_OK && codes[1] == HALFTONE_OK && codes[2] == HALFTONE_ACCURACY);
    assert_string_equal(again.why_scheme, plan.why_scheme);
    assert_non_null(strchr(plan.why_scheme, '.'));
    assert_string_equal(halftone_last_detail(h), said);
}

/* With large k a short split hides behind the chain's worst case, but not in its common case: fp32-fast refuses it. */
TEST(test_fp32_fast_wants_its_inputs) {
    struct ht_scheme_desc schemes[4];
    struct ht_set_desc set = fake_set;
    struct ht_accuracy fast;
    memcpy(schemes, fake_schemes, sizeof schemes);
    set.scheme = schemes;
    assert_int_equal(ht_accuracy_parse("fp32-fast", &fast), 0);
    schemes[1].split_units = 32;
    assert_string_equal(ht_accuracy_choose(&set, &fast, (struct ht_shape){64, 64, 4096, 1, 1}, 0, NULL).first.name, "f16x3");
    schemes[1].split_units = 33;
    assert_string_equal(ht_accuracy_choose(&set, &fast, (struct ht_shape){64, 64, 4096, 1, 1}, 0, NULL).first.name, "wide");
}

/* Arguments are looked at first, and a call that does nothing needs no kernel. With kernels: tests/kernels/test_dgemm.c. */
API_TEST(test_fp64_products_need_their_kernels) {
    double x[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    size_t bytes = 7;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 0, x, 1, &zero, x + 1, 1), -8);
    OK(halftone_dgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 1, &one, x + 1, 1));
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(h), "without scheme 'native64'"));
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    REFUSED(halftone_dquery(h, 'N', 'N', 1, 1, 1, 1, &plan), HALFTONE_NOT_SUPPORTED);
    REFUSED(halftone_dworkspace_bytes(h, 'N', 'N', 1, 1, 1, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    assert_true(x[1] == 2 && bytes == 7 && dev.launches == 0);
}

API_TEST(test_the_later_of_scheme_and_accuracy_holds) {
    OK(halftone_set_accuracy(h, "bits=12"));
    assert_query(h, 64, "wide");
    OK(halftone_set_scheme(h, "auto"));
    assert_query(h, 64, "f16x3");
    OK(halftone_set_accuracy(h, "half"));
    assert_query(h, 64, "half");
    OK(halftone_set_scheme(h, "wide"));
    assert_query(h, 64, "wide");
    OK(halftone_set_accuracy(h, "fp32-fast"));
    assert_query(h, 64, "f16x3");
    OK(halftone_set_accuracy(h, "bits=12"));
    OK(halftone_set_kernel(h, "ht_fake_half")); /* wins over both */
    assert_query(h, 64, "half");
    OK(halftone_set_kernel(h, NULL));
    assert_query(h, 64, "wide");
}

static void assert_why(halftone *h, int64_t n, const char *why) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    OK(halftone_query(h, 'N', 'N', n, n, n, 1, &plan));
    assert_string_equal(plan.why_scheme, why);
}

/* Accuracy fp32 is for every input, so it is refused where nothing looks at the data: no call runs f16x3 in its place. */
API_TEST(test_fp32_needs_the_check) {
    static const char unchecked[] = "auto, unchecked: nothing looks at the data, because this library lacks scheme bf16x6u",
                      checked[] = "auto: data are checked; f16x3 for what suits it, bf16x6u for the rest and where it is faster";
    assert_why(h, 9, unchecked);
    OK(halftone_set_accuracy(h, "half"));
    REFUSED(halftone_set_accuracy(h, "fp32"), HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "fp32 needs scheme bf16x6u, which this library lacks");
    assert_null(strstr(halftone_strerror(HALFTONE_ACCURACY), " k"));
    assert_query(h, 64, "half"); /* as it was */
    OK(halftone_set_scheme(h, "auto"));
    assert_why(h, 9, unchecked);
    h = checked_handle();
    char by_auto[HALFTONE_WHY_BYTES];
    snprintf(by_auto, sizeof by_auto, "fp32 by %s", checked);
    assert_why(h, 4096, checked);
    assert_why(h, 256, "auto: bf16x6u, which takes every input, is predicted faster here, or nearly so, than f16x3, whose data are checked");
    assert_why(h, 255, "auto: bf16x6u, which takes every input; f16x3, whose data are checked, is for k from 256 to 2097152");
    OK(halftone_set_accuracy(h, "fp32"));
    assert_why(h, 4096, by_auto);
    REFUSED(halftone_set_scheme(h, "fp32"), HALFTONE_UNKNOWN_SCHEME); /* an accuracy */
    OK(halftone_set_scheme(h, "bf16x6u"));
    assert_query(h, 64, "bf16x6u");
    assert_why(h, 9, "set by name");
    OK(halftone_destroy(h));
}

static void assert_takes(halftone *h, int64_t k, const char *scheme) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    OK(halftone_query(h, 'N', 'N', 640, 640, k, 1, &plan));
    assert_string_equal(plan.scheme, scheme);
}

/* Data may be computed twice where auto tries slices, so these must save more than a tenth. */
TEST(test_auto_tries_slices_where_they_save_enough) {
    halftone *h = checked_handle();
    struct halftone_plan tried = HALFTONE_PLAN_INIT, all = HALFTONE_PLAN_INIT;
    int nearly = 0, kept = 0;
    for (int64_t k = 256; k <= 4096; k += 32) {
        OK(halftone_set_scheme(h, "bf16x6u"));
        OK(halftone_query(h, 'N', 'N', 640, 640, k, 1, &all));
        OK(halftone_set_scheme(h, "f16x3"));
        OK(halftone_query(h, 'N', 'N', 640, 640, k, 1, &tried));
        tried.predicted_ns += fake_checked_set.launch_ns; /* the certificate's */
        const bool saves = tried.predicted_ns <= all.predicted_ns, enough = tried.predicted_ns <= all.predicted_ns - all.predicted_ns / 10;
        OK(halftone_set_scheme(h, "auto"));
        assert_takes(h, k, enough ? "f16x3" : "bf16x6u");
        nearly += saves && !enough;
        kept += enough;
        OK(halftone_set_recompute(h, HALFTONE_RECOMPUTE_NOTHING)); /* nothing is computed twice */
        assert_takes(h, k, tried.predicted_ns - fake_checked_set.launch_ns <= all.predicted_ns ? "f16x3" : "bf16x6u");
        OK(halftone_set_recompute(h, HALFTONE_RECOMPUTE_ALL));
    }
    assert_true(nearly > 0 && kept > 0);
    OK(halftone_destroy(h));
}

API_TEST(test_what_no_scheme_reaches_is_refused) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    float one = 1, two = 2, *x = matrix(4096), c = 3;
    OK(halftone_set_accuracy(h, "half"));
    REFUSED(halftone_set_accuracy(h, "bits=24"), HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "bits=24 is at most 1 units of 2^-24 |A||B|; at k = 1 the best in "
                                                 "range here is wide with 26 (1.55e-06)");
    REFUSED_FOR(halftone_set_accuracy(h, "reproducible"), HALFTONE_ACCURACY,
                "fixed-point scheme of 6 products");
    assert_query(h, 64, "half"); /* as it was */
    OK(halftone_set_accuracy(h, "bits=17"));
    assert_query(h, 64, "wide");
    REFUSED(halftone_query(h, 'N', 'N', 30, 30, 4096, 1, &plan), HALFTONE_ACCURACY);
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, 4096, &one, x, 1, x, 4096, &two, &c, 1), HALFTONE_ACCURACY);
    assert_string_equal(halftone_last_detail(h), "bits=17 is at most 128 units of 2^-24 |A||B|; at k = 4096 the "
                                                 "best in range here is wide with 154 (9.18e-06)");
    assert_int_equal(dev.launches + dev.allocs, 0);
    assert_true(c == 3);
    OK(halftone_sgemm(h, 'N', 'N', 1, 1, 0, &one, x, 1, x, 4096, &two, &c, 1));
    assert_true(c == 6); /* no product, nothing to be inaccurate */
}

/* What it says: test_accuracy.c. Where it cannot, nothing is left behind. */
API_TEST(test_rho_needs_memory_and_no_capture) {
    float a[6] = {1, 2, 3, 4, 5, 6};
    double rho = -1;
    const size_t limit = dev.limit_bytes;
    dev.limit_bytes = 100; /* the first block fits, 3 x 16 numbers do not */
    const long before = dev.allocs - dev.frees;
    REFUSED(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(dev.allocs - dev.frees, before);
    dev.limit_bytes = limit;
    dev.capturing = true;
    REFUSED(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_NOT_SUPPORTED);
    dev.capturing = false;
    assert_true(isinf(rho));
    rho = 1;
    REFUSED(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 1, a, 2, &rho), -8);
    assert_true(isinf(rho)); /* never the most hopeful value */
    REFUSED(halftone_estimate_rho(NULL, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho), HALFTONE_NULL_HANDLE);
    dev.stream = &rho;
    OK(halftone_set_stream(h, dev.stream));
    OK(halftone_estimate_rho(h, 'N', 'T', 2, 2, 3, a, 2, a, 2, &rho));
    assert_true(dev.uploads_elsewhere == 0 && rho >= 1 && rho < 2); /* one-signed: nothing cancels */
}

API_TEST(test_accuracy_texts) {
    static const char *const wrong[] = {
        "",        "Half",    "fp32 ",      "fp64:",    "fp64:half", "fp32:fp64", "fp64:fp64:fp64", "reproducible:", "reproducible:4", "bits",
        "bits=",   "bits=0",  "bits=-3",    "bits=1.5", "bits=1000",     "bits=12 ",       "bound=",
        "bound=0", "bound=-1", "bound=1.01", "bound=nan", "bound=inf",   "bound=1e",       "bound=1e-",
        "bound=.", "bound=1e-3x", "bound=0x1p-3", "bound=1e999", "bound=1e-9999", "bound=1,5",
        "bound=0.0000000000000000000000000000000000000000000001"};
    static const char *const same[] = {"bound=0.001", "bound=1e-3", "bound=1E-03", "bound=.001", "bound=0.1e-2",
                                       "bound=10e-4", "bound=0.00010e+1"};
    OK(halftone_set_accuracy(h, "half"));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REFUSED(halftone_set_accuracy(h, wrong[i]), HALFTONE_UNKNOWN_ACCURACY);
        const char *const list = strncmp(wrong[i], "fp64:", 5) == 0   ? "' for FP64 products is none of fp64, fp64-fast, fp64-exact, invariant, reproducible, bits=N"
                                 : strncmp(wrong[i], "fp32:", 5) == 0 ? "' for FP32 products is none of half, tf32, fp32-fast, fp32, invariant"
                                                                      : "' is none of half, tf32, fp32-fast, fp32, fp64, fp64-fast, fp64-exact, invariant";
        assert_non_null(strstr(halftone_last_detail(h), list));
        assert_null(strchr(halftone_last_detail(h), '\n'));
    }
    REFUSED(halftone_set_accuracy(h, NULL), HALFTONE_UNKNOWN_ACCURACY);
    REFUSED(halftone_set_accuracy(h, "fp32:auto"), HALFTONE_UNKNOWN_ACCURACY);
    assert_non_null(strstr(halftone_last_detail(h), "'auto' is a scheme"));
    REFUSED(halftone_set_scheme(h, "fp64-exact"), HALFTONE_UNKNOWN_SCHEME);
    assert_non_null(strstr(halftone_last_detail(h), "'fp64-exact' is an accuracy"));
    assert_query(h, 64, "half");
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        OK(halftone_set_accuracy(h, same[i]));
        OK(halftone_query(h, 'N', 'N', 8, 8, 8, 1, &plan));
        assert_non_null(strstr(plan.why_scheme, ": at most 16777.2 units;"));
    }
    /* a bound that query told is met by what it was told of, and not by less */
    for (int64_t k = 1; k < 100000; k *= 7) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT, again = HALFTONE_PLAN_INIT;
        char text[40];
        OK(halftone_set_scheme(h, "wide"));
        OK(halftone_query(h, 'N', 'N', 8, 8, k, 1, &plan));
        snprintf(text, sizeof text, "bound=%.12e", plan.error_bound);
        OK(halftone_set_accuracy(h, text));
        OK(halftone_query(h, 'N', 'N', 8, 8, k, 1, &again));
        assert_int_equal(again.bound_units, plan.bound_units);
        snprintf(text, sizeof text, "bound=%.12e", plan.error_bound * 0.999999999);
        int code = halftone_set_accuracy(h, text); /* one step of the chain is its least: refused here already */
        if (code == HALFTONE_OK)
            code = halftone_query(h, 'N', 'N', 8, 8, k, 1, &again);
        assert_int_equal(code, HALFTONE_ACCURACY);
    }
}

/* A blob knows one size of a product: it cannot follow a choice by shape. */
API_TEST(test_packed_operands_want_one_scheme) {
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, c[4];
    size_t bytes = 0;
    char *blob = kept(1 << 16);
    OK(halftone_set_accuracy(h, "bits=12"));
    REFUSED_FOR(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes), HALFTONE_NOT_SUPPORTED,
                "halftone_set_scheme");
    REFUSED(halftone_pack_a(h, 'N', 2, 2, x, 2, blob), HALFTONE_NOT_SUPPORTED);
    REFUSED(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, x, 2, x, 2, blob, blob), HALFTONE_NOT_SUPPORTED);
    REFUSED(halftone_sgemm_packed(h, 2, 2, 2, &one, blob, blob, &zero, c, 2), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(dev.launches, 0);
    halftone *checked = checked_handle();
    OK(halftone_set_accuracy(checked, "fp32"));
    OK(halftone_packed_bytes(checked, 'A', 2, 2, 1, &bytes));
    assert_true(bytes <= 1 << 16);
    OK(halftone_pack_a(checked, 'N', 2, 2, x, 2, blob));
    OK(halftone_destroy(checked));
}
