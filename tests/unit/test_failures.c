/* test_failures: what a call leaves behind where memory, a launch or the GPU is not to be had. Without generator, simulator or GPU: fake_set.h. */
#include "fake_set.h"

/* Each allocation of a sequence fails once: a code, and from then on all is as it should be. */
TEST(test_every_allocation_may_fail) {
    struct problem p = problem_of('N', 'N', 5, 4, 70, 0), larger = problem_of('N', 'N', 70, 3, 70, 0);
    char streams[40];
    dev.has_pool = true;
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++)
        for (long fail = 1, failed = 1; failed > 0; fail++) {
            halftone *h = NULL;
            failed = 0;
            memset(dev.inits, 0, sizeof dev.inits);
            OK(halftone_create(&h));
            OK(halftone_set_workspace_source(h, source));
            dev.fail_after = fail;
            for (int i = 0; i < 48; i++) {
                const struct problem *x = i % 3 == 2 ? &larger : &p;
                OK(halftone_set_stream(h, &streams[i < 8 ? i % 2 : i % 40]));
                dev.capturing = i % 4 == 3;
                const int code = run_and_compare(h, x);
                assert_true(code == HALFTONE_OK || code == HALFTONE_OUT_OF_DEVICE_MEMORY);
                assert_int_equal(halftone_last_detail(h)[0] != '\0', code != HALFTONE_OK);
                failed += code != HALFTONE_OK;
                if (code != HALFTONE_OK)
                    check(h, x);
                dev.capturing = false;
            }
            failed += dev.fail_after == 0; /* of the exchange, whose failure no call sees */
            dev.fail_after = 0;
            OK(halftone_destroy(h));
            assert_true(dev.allocs == dev.frees && dev.pool_allocs == dev.pool_frees && dev.pools == 0);
        }
}

API_TEST(test_out_of_memory_leaves_the_handle_usable) {
    struct problem small = problem_of('N', 'N', 20, 20, 20, 0);
    check(h, &small);
    dev.limit_bytes = 100000;
    float one = 1, zero = 0, *x = matrix(200 * 200), *c = matrix(200 * 200), *old = kept(200 * 200 * 4);
    memcpy(old, c, 200 * 200 * 4);
    long launches = dev.launches;
    REFUSED(halftone_sgemm(h, 'N', 'N', 200, 200, 200, &one, x, 200, x, 200, &zero, c, 200),
            HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(halftone_last_detail(h), "fake card is full");
    assert_memory_equal(c, old, 200 * 200 * 4);
    assert_int_equal(dev.launches, launches);
    check(h, &small);
    dev.limit_bytes = (size_t)64 << 20;
    OK(halftone_sgemm(h, 'N', 'N', 200, 200, 200, &one, x, 200, x, 200, &zero, c, 200));
}

API_TEST(test_device_errors_become_codes) {
    float one = 1, zero = 0, a = 2, b = 3, c = 0;
    dev.launch_code = HT_DEV_FAILED;
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_DEVICE_ERROR);
    assert_string_equal(halftone_last_detail(h), "fake launch failed");
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &zero, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_DEVICE_ERROR);
    dev.launch_code = HT_DEV_VIOLATION;
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1), HALFTONE_SIM_VIOLATION);
    dev.launch_code = 0;
    OK(halftone_sgemm(h, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1));
    assert_true(c == 6.0f);
    halftone *fresh = NULL; /* a kernel that cannot be prepared is tried again next time */
    OK(halftone_create(&fresh));
    memset(dev.inits, 0, sizeof dev.inits);
    dev.init_code = HT_DEV_FAILED;
    REFUSED(halftone_sgemm(fresh, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1),
            HALFTONE_DEVICE_ERROR);
    dev.init_code = 0;
    memset(dev.inits, 0, sizeof dev.inits);
    OK(halftone_sgemm(fresh, 'N', 'N', 1, 1, 1, &one, &a, 1, &b, 1, &zero, &c, 1));
    OK(halftone_destroy(fresh));
}

/* A product of 700 x 500 in blocks of 256, with the matrices of all that may fail; beta is 1. */
static int run_in_blocks(halftone *h, float *c, const float *x) {
    const float one = 1;
    return halftone_sgemm(h, 'N', 'N', 700, 500, 70, &one, x, 700, x, 70, &one, c, 700);
}

/* Blocks of a call that is cut find workspace and kernels, or C stays as it is. */
TEST(test_blocks_have_all_they_need_before_the_first) {
    halftone *h = NULL;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    dev.has_pool = true;
    float *x = matrix(700 * 500), *c = matrix(700 * 500), *old = kept(700 * 500 * sizeof *old);
    memcpy(old, c, 700 * 500 * sizeof *c);
    for (int source = HALFTONE_OWN; source <= HALFTONE_POOL; source++) {
        memset(dev.inits, 0, sizeof dev.inits);
        OK(halftone_create(&h));
        OK(halftone_set_workspace_source(h, source));
        OK(halftone_query(h, 'N', 'N', 256, 256, 70, 1, &plan));
        OK(halftone_set_workspace_limit(h, plan.workspace_bytes));
        OK(halftone_query(h, 'N', 'N', 700, 500, 70, 1, &plan));
        assert_true(plan.blocks > 1);
        for (int fail = 0; fail < 2; fail++) { /* without a kernel, then without memory */
            dev.fail_init = fail == 0;
            dev.fail_after = fail == 1;
            assert_int_equal(run_in_blocks(h, c, x), HALFTONE_OUT_OF_DEVICE_MEMORY);
            assert_int_equal(halftone_changed_c(h), 0);
            assert_memory_equal(c, old, 700 * 500 * sizeof *c);
        }
        const long before = dev.pool_allocs;
        OK(run_in_blocks(h, c, x));
        assert_int_equal(dev.pool_allocs - before, source == HALFTONE_POOL); /* one for all of them */
        memcpy(c, old, 700 * 500 * sizeof *c);
        OK(halftone_destroy(h));
    }
}

/* A product of rows and columns alike under a limit. */
static int run_square(halftone *h, int n) {
    const float one = 1;
    float x = 0;
    return halftone_sgemm(h, 'N', 'N', n, n, 70, &one, &x, n, &x, 70, &one, &x, n);
}

/* What is left at the ends may be cut again, before other blocks of the call: none of them asks for memory once more. */
TEST(test_blocks_within_blocks_have_one_workspace) {
    halftone *h = NULL;
    float x = 0, one = 1;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    dev.dry = dev.has_pool = true;
    OK(halftone_create(&h));
    OK(halftone_set_workspace_source(h, HALFTONE_POOL));
    OK(halftone_set_workspace_limit(h, 4064841));
    OK(halftone_query(h, 'N', 'N', 3417, 444, 853, 2, &plan));
    dev.fail_after = 2;
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 3417, 444, 853, &one, &x, 3417, 0, &x, 853, 0, &one, &x,
       3417, 3417 * 444, 2));
    assert_true(dev.gemms > plan.blocks); /* some were cut again */
    assert_true(dev.pool_allocs == 1 && dev.fail_after == 1);
    dev.fail_after = 0;
    OK(halftone_destroy(h));
}

/* Where what is left at the ends runs another kernel than the first block. */
API_TEST(test_kernels_of_all_blocks_are_ready_before_the_first) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int n = 2048;
    dev.dry = true;
    OK(halftone_query(h, 'N', 'N', 2048, 2048, 70, 1, &plan));
    OK(halftone_set_workspace_limit(h, plan.workspace_bytes));
    for (bool both = false; !both; both = dev.launched[0] > 0 && dev.launched[1] > 0) {
        memset(dev.launched, 0, sizeof dev.launched);
        n += 64;
        assert_in_range(n, 2048, 16384);
        OK(run_square(h, n));
    }
    memset(dev.inits, 0, sizeof dev.inits);
    dev.gemms = 0;
    OK(halftone_create(&h));
    OK(halftone_set_workspace_limit(h, plan.workspace_bytes));
    dev.fail_init = 2;
    assert_int_equal(run_square(h, n), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_true(dev.fail_init == 0 && dev.gemms == 0 && halftone_changed_c(h) == 0);
    OK(run_square(h, n));
    OK(halftone_destroy(h));
}

/* Whether C had been changed, whichever launch is refused: of blocks, of split-K's partials, of what a certificate has not cleared. */
API_TEST(test_a_failure_says_whether_c_was_changed) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    float *x = matrix(20000), *c = matrix(700 * 500), *y = matrix(700 * 70), *old = kept(700 * 500 * sizeof *old), one = 1;
    assert_int_equal(halftone_changed_c(NULL), 0);
    memcpy(old, c, 700 * 500 * sizeof *c);
    for (int cut = 0; cut < 3; cut++) /* 2: by k */
        for (long fail = 1; fail <= 4; fail++) {
            OK(halftone_query(h, 'N', 'N', 256, 256, 70, 1, &plan));
            OK(halftone_set_workspace_limit(h, cut == 1 ? plan.workspace_bytes : 0));
            dev.fail_launch = fail;
            const int code = cut < 2 ? run_in_blocks(h, c, y) : halftone_sgemm(h, 'N', 'N', 3, 5, 4000, &one, x, 3, x, 4000, &one, c, 3);
            assert_int_equal(code, fail == 1 || cut == 1 || (cut == 2 && fail == 2) ? HALFTONE_DEVICE_ERROR : HALFTONE_OK);
            assert_int_equal(halftone_changed_c(h), memcmp(c, old, 700 * 500 * sizeof *c) != 0);
            assert_int_equal(halftone_changed_c(h), code == HALFTONE_OK || (cut == 1 && fail > 1));
            dev.fail_launch = 0;
            memcpy(c, old, 700 * 500 * sizeof *c);
        }
    REFUSED(halftone_sgemm(h, 'N', 'N', 3, 5, 4000, &one, x, 2, x, 4000, &one, c, 3), -8);
    assert_int_equal(halftone_changed_c(h), 0);
}

TEST(test_create_says_what_is_wrong) {
    halftone *h = (halftone *)(void *)&dev;
    dev.open_code = HT_DEV_NONE;
    REFUSED(halftone_create(&h), HALFTONE_NO_GPU);
    assert_null(h);
    assert_string_equal(halftone_last_detail(NULL), "no driver");
    dev.open_code = 0;
    dev.capability = 750;
    REFUSED(halftone_create(&h), HALFTONE_WRONG_GPU);
    assert_null(h);
    dev.capability = 900; /* newer is fine: the set is not exact */
    OK(halftone_create(&h));
    assert_string_equal(halftone_device(h), "fake device");
    assert_string_equal(halftone_gpu(h), "fake");
    OK(halftone_destroy(h));
}

API_TEST(test_create_takes_the_set_of_the_device) {
    assert_string_equal(halftone_gpu(h), "fake");
    dev.capability = 1200;
    OK(halftone_create(&h));
    assert_string_equal(halftone_gpu(h), "exact");
    assert_null(halftone_kernels(h, 3)); /* the first set has four */
    assert_non_null(halftone_kernels(NULL, 3));
    REFUSED(halftone_set_scheme(h, "orphan"), HALFTONE_UNKNOWN_SCHEME);
    OK(halftone_destroy(h));
    dev.capability = 750;
    REFUSED(halftone_create(&h), HALFTONE_WRONG_GPU);
    assert_string_equal(
        halftone_last_detail(NULL),
        "fake device has capability 7.5; this library has kernels for fake (sm_80, 8.0 or later), "
        "exact (sm_120a, 12.0 only), checked (sm_103a, 10.3 only)");
    dev.capability = 800;
    OK(halftone_create(&h));
    assert_string_equal(halftone_last_detail(NULL), "");
    OK(halftone_destroy(h));
}
