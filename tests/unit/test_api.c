/* test_api: products of the runtime (ht_*.c) against a naive reference, and arguments that are wrong. Without generator, simulator or GPU: fake_set.h. */
#include <limits.h>
#include <math.h>

#include "fake_set.h"

/* ---- products ---- */

API_TEST(test_transposes_sizes_and_ld) {
    static const char ops[] = "NTCntc";
    static const int sizes[][3] = {{1, 1, 1}, {64, 64, 64}, {65, 3, 70}, {7, 129, 33}, {130, 66, 100}};
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                if (s > 1 && (i > 2 || j > 2))
                    continue;
                struct problem p =
                    problem_of(ops[i], ops[j], sizes[s][0], sizes[s][1], sizes[s][2], s % 2 * 3);
                check(h, &p);
            }
}

API_TEST(test_alpha_and_beta) {
    static const float values[] = {0.0f, 1.0f, -2.0f, 0.5f};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            struct problem p = problem_of('N', 'T', 33, 17, 40, 2);
            p.alpha = values[i];
            p.beta = values[j];
            check(h, &p);
        }
}

API_TEST(test_a_scheme_without_exponents) {
    OK(halftone_set_scheme(h, "half"));
    struct problem p = problem_of('T', 'N', 70, 65, 130, 1);
    check(h, &p);
    assert_int_equal(dev.last_kernel, 3);
    p.batch = 3;
    p.stride_a = 70 * 131 + 5;
    p.stride_c = 71 * 65;
    check(h, &p);
}

/* What the manual tells callers with row-major matrices to do, word by word (test_house compares): all four transposes, rows with
 * room behind them. */
API_TEST(test_row_major) {
    enum { m = 7, n = 70, k = 45, lda = 50, ldb = 75, ldc = 73 };
    const float alpha = 2, beta = -1;
    for (int t = 0; t < 4; t++) {
        const char transa = t & 1 ? 'T' : 'N', transb = t & 2 ? 'T' : 'N';
        float *A = matrix(lda * 75), *B = matrix(ldb * 75), *C = matrix(m * ldc), *want = kept(m * ldc * sizeof *want);
        memcpy(want, C, m * ldc * sizeof *C);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int l = 0; l < k; l++)
                    sum += (t & 1 ? A[l * lda + i] : A[i * lda + l]) * (t & 2 ? B[j * ldb + l] : B[l * ldb + j]);
                want[i * ldc + j] = alpha * sum + beta * want[i * ldc + j];
            }
        int code =
            halftone_sgemm(h, transb, transa, n, m, k, &alpha, B, ldb, A, lda, &beta, C, ldc);
        OK(code);
        assert_memory_equal(C, want, m * ldc * sizeof *C);
    }
}

API_TEST(test_split_k) {
    struct problem p = problem_of('N', 'N', 3, 5, 10000, 1);
    p.batch = 3;
    p.stride_b = p.ldb * 5;
    p.stride_c = 4 * 5 + 2;
    p.beta = 3.0f;
    check(h, &p);
    assert_true(dev.last_splits > 1);
    assert_int_equal(dev.reduces, 1);
    p = problem_of('N', 'N', 10, 12, 20000, 0);
    p.alpha = 2.0f;
    p.beta = -1.0f;
    check(h, &p);
    assert_true(dev.last_splits > 1);
}

API_TEST(test_batches) {
    static const char ops[] = "NT";
    for (int shared = 0; shared < 4; shared++)
        for (int t = 0; t < 4; t++) {
            struct problem p = problem_of(ops[t & 1], ops[t >> 1], 65, 30, 40, 1);
            p.batch = 4;
            p.stride_a = shared & 1 ? 0 : p.lda * 70 + 3;
            p.stride_b = shared & 2 ? 0 : p.ldb * 45 + 1;
            p.stride_c = p.ldc * p.n + 7;
            p.beta = 2.0f;
            long entries = (shared & 1 ? 1 : 4) + (shared & 2 ? 1 : 4);
            dev.packed_entries = 0;
            check(h, &p);
            assert_int_equal(dev.packed_entries, entries); /* a shared operand is packed once */
        }
}

API_TEST(test_interleaved_batch) {
    struct problem p = problem_of('N', 'N', 5, 6, 7, 0);
    p.batch = 3;
    p.ldc = 15; /* columns of the entries take turns */
    p.stride_c = 5;
    p.stride_a = 35;
    check(h, &p);
}

API_TEST(test_large_batches_are_cut) {
    enum { BATCH = HT_GRID_BATCH * 2 + 10 };
    float a = 3.0f, b = 5.0f, one = 1.0f, *c = matrix(BATCH), *old = kept(BATCH * sizeof *old);
    memcpy(old, c, BATCH * sizeof *c);
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &one, &a, 1, 0, &b, 1, 0, &one, c, 1, 1, BATCH));
    EQUAL({dev.gemms, 3}, {dev.largest_batch, HT_GRID_BATCH});
    for (int i = 0; i < BATCH; i++)
        assert_true(c[i] == old[i] + 15.0f);
    float two = 2.0f, zero = 0.0f; /* scaling is cut as well */
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &zero, &a, 1, 0, &b, 1, 0, &two, c, 1, 1, BATCH));
    assert_int_equal(dev.reduces, 3);
    for (int i = 0; i < BATCH; i++)
        assert_true(c[i] == 2.0f * (old[i] + 15.0f));
}

/* The second piece continues `blocks` blocks of 64 rows x 64 k further, in a matrix or from matrix to matrix.
 */
static void assert_pieces(const struct ht_pack_args *first, const struct ht_pack_args *second, long blocks) {
    assert_int_equal(second->to.panels - first->to.panels, blocks * 2 * HT_ATOM_BYTES);
    assert_int_equal(second->to.row_absmax - first->to.row_absmax, blocks * 64);
    assert_int_equal(second->src - first->src, blocks * (second->batch > 1 ? 1 : 64));
}

API_TEST(test_large_batches_are_packed_in_pieces) {
    dev.dry = true;
    dev.limit_bytes = (size_t)8 << 30;
    float one = 1.0f, zero = 0.0f, *a = matrix(HT_GRID_BATCH + 100), b = 1.0f,
          *c = kept((HT_GRID_BATCH + 100) * 4);
    const int64_t batch = HT_GRID_BATCH + 5;
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 1, 1, 1, &one, a, 1, 1, &b, 1, 0, &zero, c, 1, 1, batch));
    EQUAL({dev.packs, 3}, {dev.largest_pack_batch, HT_GRID_BATCH}, {dev.packed_entries, batch + 1});
    assert_pieces(&dev.pack_log[2], &dev.pack_log[1], HT_GRID_BATCH);
}

API_TEST(test_nan_in_c_vanishes_with_beta_zero) {
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {NAN, NAN, NAN, NAN}, one = 1, zero = 0;
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2));
    assert_memory_equal(c, a, sizeof a);
    for (int i = 0; i < 4; i++)
        c[i] = NAN;
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &zero, a, 2, b, 2, &zero, c, 2));
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 0.0f);
}

API_TEST(test_a_and_b_are_not_read_without_a_product) {
    float bad[4] = {NAN, NAN, INFINITY, NAN}, c[4] = {1, 2, 3, 4}, zero = 0, one = 1, two = 2;
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &zero, bad, 2, bad, 2, &two, c, 2));
    assert_true(c[0] == 2 && c[1] == 4 && c[2] == 6 && c[3] == 8);
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &zero, NULL, 2, NULL, 2, &two, c, 2));
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 0, &one, NULL, 2, NULL, 1, &two, c, 2));
    assert_true(c[0] == 8 && c[1] == 16 && c[2] == 24 && c[3] == 32);
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 0, &one, NULL, 2, NULL, 1, &zero, c, 2));
    assert_true(c[0] == 0 && c[3] == 0);
    assert_int_equal(dev.packs + dev.gemms + dev.allocs, 0);
    /* beta 1: nothing at all to do */
    long calls = dev.calls;
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &zero, NULL, 2, NULL, 2, &one, c, 2));
    assert_int_equal(dev.calls, calls);
}

API_TEST(test_empty_calls_return_at_once) {
    float one = 1;
    long calls = dev.calls;
    OK(halftone_sgemm(h, 'N', 'N', 0, 5, 5, &one, NULL, 1, NULL, 5, &one, NULL, 1));
    OK(halftone_sgemm(h, 'N', 'N', 5, 0, 5, &one, NULL, 5, NULL, 5, &one, NULL, 5));
    OK(halftone_sgemm_strided_batched(h, 'N', 'N', 5, 5, 5, &one, NULL, 5, 25, NULL, 5, 25, &one, NULL, 5, 25,
       0));
    assert_int_equal(dev.calls, calls);
}

/* Every call with every choice of sizes that are 0, on a set without a data check and on one with it. */
static void zero_sizes(halftone *h) {
    float s = 1, x[256] = {0};
    char *blob = kept(1 << 18);
    for (int zeros = 1; zeros < 16; zeros++) {
        const int64_t m = zeros & 1 ? 0 : 3, n = zeros & 2 ? 0 : 5, k = zeros & 4 ? 0 : 7, batch = zeros & 8 ? 0 : 1;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        size_t bytes = 1;
        double rho = 0;
        OK(halftone_sgemm_strided_batched(h, 'T', 'N', m, n, k, &s, x, 7, 21, x, 7, 35, &s, x, 3, 15, batch));
        OK(halftone_packed_bytes(h, 'A', m, k, batch, &bytes));
        assert_true(batch > 0 || bytes == 0);
        OK(halftone_packed_bytes(h, 'B', n, k, batch, &bytes));
        OK(halftone_pack_a(h, 'T', m, k, x, 7, blob));
        OK(halftone_pack_b(h, 'N', k, n, x, 7, blob));
        OK(halftone_pack_ab(h, 'T', 'N', m, n, k, x, 7, x, 7, blob, blob + (1 << 17)));
        OK(halftone_query(h, 'N', 'N', m, n, k, batch, &plan));
        assert_string_equal(plan.kernel, "");
        OK(halftone_workspace_bytes(h, 'N', 'N', m, n, k, batch, &bytes));
        assert_int_equal(bytes, 0);
        if (zeros == 8)
            continue; /* what follows knows no batch */
        OK(halftone_sgemm(h, 'T', 'N', m, n, k, &s, x, 7, x, 7, &s, x, 3));
        OK(halftone_sgemm_packed(h, m, n, k, &s, blob, blob, &s, x, 3));
        OK(halftone_estimate_rho(h, 'T', 'N', m, n, k, x, 7, x, 7, &rho));
        assert_true(rho == 1);
    }
    assert_int_equal(dev.gemms, 0);
}

TEST(test_zero_sizes) {
    dev.dry = true; /* one side of a pack call may have something to pack */
    zero_sizes(*test_state);
    halftone *h = checked_handle();
    zero_sizes(h);
    OK(halftone_destroy(h));
}

API_TEST(test_device_pointer_mode) {
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {1, 1, 1, 1}, alpha = 3, beta = 2;
    OK(halftone_set_pointer_mode(h, HALFTONE_DEVICE));
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, a, 2, b, 2, &beta, c, 2));
    assert_true(c[0] == 5 && c[1] == 8 && c[2] == 11 && c[3] == 14);
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 0, &alpha, NULL, 2, NULL, 2, &beta, c, 2));
    assert_true(c[0] == 10 && c[3] == 28);
    /* the host may not look at the scalars: A is needed whatever they are */
    alpha = 0;
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, NULL, 2, b, 2, &beta, c, 2), -7);
    REFUSED(halftone_set_pointer_mode(h, 7), HALFTONE_NOT_SUPPORTED);
    OK(halftone_set_pointer_mode(h, HALFTONE_HOST));
    OK(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &alpha, NULL, 2, NULL, 2, &beta, c, 2));
}

/* ---- wrong arguments ---- */

API_TEST(test_each_wrong_argument_has_its_number) {
    float s = 1, x[64] = {0};
    char *odd = (char *)x + 1;
    float *crooked = (float *)(void *)odd;
    REFUSED(halftone_sgemm(h, 'X', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x, 2), -1);
    REFUSED(halftone_sgemm(h, 'N', '\0', 2, 3, 4, &s, x, 2, x, 4, &s, x, 2), -2);
    REFUSED(halftone_sgemm(h, 'N', 'N', -1, 3, 4, &s, x, 2, x, 4, &s, x, 2), -3);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, -3, 4, &s, x, 2, x, 4, &s, x, 2), -4);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, INT64_MIN, &s, x, 2, x, 4, &s, x, 2), -5);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, NULL, x, 2, x, 4, &s, x, 2), -6);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, NULL, 2, x, 4, &s, x, 2), -7);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, crooked, 2, x, 4, &s, x, 2), -7);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 1, x, 4, &s, x, 2), -8);
    REFUSED(halftone_sgemm(h, 'T', 'N', 2, 3, 4, &s, x, 3, x, 4, &s, x, 2), -8);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, NULL, 4, &s, x, 2), -9);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 3, &s, x, 2), -10);
    REFUSED(halftone_sgemm(h, 'N', 'T', 2, 3, 4, &s, x, 2, x, 2, &s, x, 2), -10);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, NULL, x, 2), -11);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, NULL, 2), -12);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x, 1), -13);
    REFUSED(halftone_sgemm(h, 'N', 'N', 0, 0, 0, &s, x, 0, x, 1, &s, x, 1), -8);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, -1, x, 4, 0, &s, x, 2, 6, 2), -14);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, -1, &s, x, 2, 6, 2), -15);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, 0, &s, x, 2, 1, 2), -16);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 3, 4, &s, x, 2, 0, x, 4, 0, &s, x, 2, 6, -1), -17);
    REFUSED(halftone_sgemm_packed(h, 2, 3, 4, &s, NULL, x, &s, x, 2), -7);
    REFUSED(halftone_pack_a(h, 'N', 2, 4, NULL, 2, x), -7);
    REFUSED(halftone_pack_a(h, 'N', 2, 4, x, 1, x), -8);
    REFUSED(halftone_pack_a(h, 'N', 2, 4, x, 2, NULL), -18);
    REFUSED(halftone_pack_b(h, 'Q', 4, 3, x, 4, x), -2);
    REFUSED(halftone_pack_b(h, 'N', -4, 3, x, 4, x), -5);
    REFUSED(halftone_pack_b(h, 'T', 4, 3, x, 2, x), -10);
    REFUSED(halftone_packed_bytes(h, 'C', 1, 1, 1, &(size_t){0}), -18);
    REFUSED(halftone_packed_bytes(h, 'B', -1, 1, 1, &(size_t){0}), -4);
    REFUSED(halftone_query(h, 'N', 'N', 1, 1, 1, 1, NULL), -18);
    REFUSED(halftone_workspace_bytes(h, 'N', 'N', 1, 1, 1, -1, &(size_t){0}), -17);
    REFUSED(halftone_set_workspace(h, NULL, 10), -18);
    REFUSED(halftone_create(NULL), -18);
    assert_int_equal(dev.launches, 0);
}

API_TEST(test_error_texts) {
    float s = 1, x[64] = {0};
    assert_string_equal(halftone_strerror(-8),
                        "argument 8 (lda): leading dimension is smaller than the rows of A as stored");
    for (int code = -18; code <= HALFTONE_ACCURACY; code++) {
        const char *text = halftone_strerror(code);
        assert_string_not_equal(text, "not a code of halftone");
        char begin[32];
        snprintf(begin, sizeof begin, "argument %d (", -code);
        assert_int_equal(strncmp(text, begin, strlen(begin)) == 0, code < 0);
    }
    assert_string_equal(halftone_strerror(-20), "not a code of halftone");
    assert_string_equal(halftone_strerror(INT_MAX), "not a code of halftone");
    REFUSED(halftone_sgemm(h, 'T', 'N', 2, 3, 4, &s, x, 3, x, 4, &s, x, 2), -8);
    assert_string_equal(halftone_last_detail(h), "lda = 3 is smaller than 4");
    OK(halftone_sgemm(h, 'N', 'N', 2, 3, 4, &s, x, 2, x, 4, &s, x + 32, 2));
    assert_string_equal(halftone_last_detail(h), "");
}

TEST(test_null_handle) {
    float s = 1;
    size_t bytes;
    REFUSED(halftone_sgemm(NULL, 'N', 'N', 1, 1, 1, &s, &s, 1, &s, 1, &s, &s, 1), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_sgemm_packed(NULL, 1, 1, 1, &s, &s, &s, &s, &s, 1), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_pack_a(NULL, 'N', 1, 1, &s, 1, &s), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_pack_b(NULL, 'N', 1, 1, &s, 1, &s), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_stream(NULL, NULL), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_scheme(NULL, "auto"), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_accuracy(NULL, "half"), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_kernel(NULL, NULL), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_workspace(NULL, NULL, 0), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_set_pointer_mode(NULL, 0), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_workspace_bytes(NULL, 'N', 'N', 1, 1, 1, 1, &bytes), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_packed_bytes(NULL, 'A', 1, 1, 1, &bytes), HALFTONE_NULL_HANDLE);
    OK(halftone_destroy(NULL));
    assert_string_equal(halftone_device(NULL), "");
}

API_TEST(test_huge_sizes_are_refused) {
    float s = 1;
    static _Alignas(HALFTONE_ALIGNMENT) float x[64];
    const int64_t big = INT64_C(1) << 31, huge = INT64_MAX, max = HALFTONE_SIZE_MAX;
    size_t bytes;
    REFUSED(halftone_sgemm(h, 'N', 'N', big, 1, 1, &s, x, big, x, 1, &s, x, big), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, huge, 1, &s, x, 1, x, 1, &s, x, 1), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm(h, 'N', 'N', 1, 1, huge, &s, x, 1, x, huge, &s, x, 1), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, huge, x, 2, &s, x, 2), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, 2, x, huge / 2, &s, x, 2), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm(h, 'N', 'N', 2, 2, 2, &s, x, 2, x, 2, &s, x, huge / 4), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &s, x, 2, 4, x, 2, huge, &s, x, 2, 4, 2),
            HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm_strided_batched(h, 'N', 'N', 2, 2, 2, &s, x, 2, 4, x, 2, 4, &s, x, 2, 4, big),
            HALFTONE_TOO_LARGE);
    REFUSED(halftone_workspace_bytes(h, 'N', 'N', max, max, max, max, &bytes), HALFTONE_TOO_LARGE);
    REFUSED(halftone_packed_bytes(h, 'A', max, max, max, &bytes), HALFTONE_TOO_LARGE);
    REFUSED(halftone_workspace_bytes(h, 'N', 'N', max, max, max, 1, &bytes), HALFTONE_TOO_LARGE);
    OK(halftone_workspace_bytes(h, 'N', 'N', max, 1, 65536, 1, &bytes));
    /* a matrix that an address could span, and blobs that none could */
    const int64_t deep = INT64_C(1) << 30;
    REFUSED(halftone_packed_bytes(h, 'A', deep, deep, 1, &bytes), HALFTONE_TOO_LARGE);
    REFUSED(halftone_pack_a(h, 'N', deep, deep, x, deep, x), HALFTONE_TOO_LARGE);
    REFUSED(halftone_pack_b(h, 'N', deep, deep, x, deep, x), HALFTONE_TOO_LARGE);
    REFUSED(halftone_pack_ab(h, 'N', 'N', 1, deep, deep, x, 1, x, deep, x, x), HALFTONE_TOO_LARGE);
    REFUSED(halftone_sgemm_packed(h, 1, deep, deep, &s, x, x, &s, x, 1), HALFTONE_TOO_LARGE);
    assert_int_equal(dev.calls, 0);
}

/* ---- fuzz ---- */

static int64_t fuzz_size(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 200, 5000, -1, 1 << 20, INT_MAX, HALFTONE_SIZE_MAX,
                                    HALFTONE_SIZE_MAX + 1, INT64_MAX, INT64_MAX / 4, INT64_MIN};
    uint32_t r = next_random();
    return r % 4 == 0 ? sizes[r / 4 % 17] : sizes[r / 4 % 8];
}

static char fuzz_op(void) {
    static const char ops[] = "NTCntcNTCNTCx\377";
    return ops[next_random() % 14];
}

static void fuzz_state(halftone *h, char *memory) {
    static const char *const accuracies[] = {"half", "fp32-fast", "fp32", "bits=15", "bits=17", "nonsense"};
    static const char *const sites[] = {NULL, "m=1-64 scheme=half", "site=m* accuracy=fp32-fast", "op=NT accuracy=reproducible", "nonsense"};
    const char *scheme = halftone_schemes(h, HALFTONE_FP32, (int)(next_random() % 5)), *kernel = halftone_kernels(h, (int)(next_random() % 6));
    dev.capturing = next_random() % 8 == 0;
    dev.limit_bytes = next_random() % 8 == 0 ? 10 : (size_t)16 << 20;
    dev.launch_code = next_random() % 8 == 0 ? (int)(next_random() % 5) : 0;
    (void)halftone_set_pointer_mode(h, (int)(next_random() % 3));
    (void)halftone_set_scheme(h, next_random() % 2 ? "auto" : scheme != NULL ? scheme : "nonsense");
    if (next_random() % 2 == 0)
        (void)halftone_set_accuracy(h, accuracies[next_random() % 6]);
    (void)halftone_set_kernel(h, next_random() % 2 ? NULL : kernel != NULL ? kernel : "nonsense");
    (void)halftone_set_workspace(h, next_random() % 4 == 0 ? memory : NULL, next_random() % 3 * 100000);
    if (next_random() % 4 == 0)
        (void)halftone_set_site(h, sites[next_random() % 5]);
    (void)halftone_at_site(h, sites[next_random() % 5]);
    (void)halftone_set_stream(h, memory + next_random() % 40);
    (void)halftone_set_workspace_source(h, (int)(next_random() % 3));
    if (next_random() % 64 == 0)
        (void)halftone_trim(h);
}

/* Dry launches: no pointer is followed, so any size may meet any pointer. What must hold: a code of the
 * table. */
static void fuzz(halftone *h, int rounds) {
    float s[2] = {1, 0}, x[1024];
    char *memory = kept(1024);
    const float *from[] = {x, x, x, x, x, NULL, (const float *)(const void *)((char *)x + 2)};
    for (int i = 0; i < rounds; i++) {
        fuzz_state(h, memory);
        int64_t v[10];
        for (int j = 0; j < 10; j++)
            v[j] = fuzz_size();
        const float *a = from[next_random() % 7], *b = from[next_random() % 7];
        float *c = next_random() % 8 == 0 ? NULL : x;
        const float *alpha = next_random() % 16 == 0 ? NULL : &s[next_random() % 2];
        const float *beta = next_random() % 16 == 0 ? NULL : &s[next_random() % 2];
        char ta = fuzz_op(), tb = fuzz_op();
        void *blob = next_random() % 8 == 0 ? NULL : memory;
        size_t bytes;
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        int code[] = {
            halftone_sgemm(h, ta, tb, v[0], v[1], v[2], alpha, a, v[3], b, v[4], beta, c, v[5]),
            halftone_sgemm_strided_batched(h, ta, tb, v[0], v[1], v[2], alpha, a, v[3], v[6], b, v[4], v[7],
                                           beta, c, v[5], v[8], v[9]),
            halftone_sgemm_packed(h, v[0], v[1], v[2], alpha, blob, blob, beta, c, v[5]),
            halftone_pack_a(h, ta, v[0], v[2], a, v[3], blob),
            halftone_pack_b(h, tb, v[2], v[1], b, v[4], blob),
            halftone_pack_ab(h, ta, tb, v[0], v[1], v[2], a, v[3], b, v[4], blob, blob),
            halftone_packed_bytes(h, "ABx"[i % 3], v[0], v[2], v[9], &bytes),
            halftone_workspace_bytes(h, ta, tb, v[0], v[1], v[2], v[9], &bytes),
            halftone_query(h, ta, tb, v[0], v[1], v[2], v[9], &plan),
        };
        for (size_t j = 0; j < sizeof code / sizeof *code; j++) {
            assert_true(code[j] >= -18 && code[j] <= HALFTONE_SITE);
            assert_true(code[j] <= 0 || code[j] == HALFTONE_OK || halftone_strerror(code[j])[0] != '\0');
        }
    }
    assert_true(dev.gemms > rounds / 40 && dev.reduces > rounds / 40 && dev.packs > rounds / 40);
    OK(halftone_set_workspace(h, NULL, 0));
    dev.capturing = false;
}

TEST(test_random_arguments_never_crash) {
    halftone *h = NULL;
    dev.dry = dev.has_pool = true;
    OK(halftone_create(&h));
    seed = 2026;
    fuzz(h, 40000);
    OK(halftone_destroy(h));
}

TEST(test_random_arguments_never_crash_a_checked_set) {
    halftone *h = checked_handle();
    dev.dry = true;
    seed = 2027;
    fuzz(h, 40000);
    OK(halftone_destroy(h));
}

/* Whether two entries share an element, told by marking each. */
static int entries_share(int64_t m, int64_t n, int64_t ldc, int64_t stride, int64_t batch) {
    char mark[4096] = {0};
    for (int64_t e = 0; e < batch; e++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                if (mark[e * stride + j * ldc + i]++ > 0)
                    return 1;
    return 0;
}

/* All small layouts, and large ones by which arithmetic overflows and loops do not end. */
API_TEST(test_entries_of_c_that_overlap) {
    const float zero = 0, one = 1, x = 0;
    float c[4096];
    int overlapping = 0;
    for (int64_t at = 0; at < 4 * 4 * 7 * 30 * 6; at++) {
        const int64_t m = 1 + at % 4, n = 1 + at / 4 % 4, ldc = m + at / 16 % 7, stride = at / 112 % 30, batch = 1 + at / 3360 % 6;
        const int share = entries_share(m, n, ldc, stride, batch),
                  code = halftone_sgemm_strided_batched(h, 'N', 'N', m, n, 1, &zero, &x, m, 0, &x, 1, 0, &one, c, ldc, stride, batch);
        if (code != (share ? -16 : HALFTONE_OK))
            fail_msg("m %d, n %d, ldc %d, stride %d, batch %d: %d", (int)m, (int)n, (int)ldc, (int)stride, (int)batch, code);
        overlapping += share;
    }
    assert_in_range(overlapping, 4000, 15000);
    static const struct {
        int64_t m, n, ldc, stride, batch;
        int code;
    } large[] = {{1 << 15, 1 << 15, 1 << 30, (1 << 16) + 1, 1 << 13, HALFTONE_OK},
                 {1 << 15, 1 << 15, 1 << 30, (1 << 16) + 1, 1 << 15, -16},
                 /* 2^15 rows more at each entry, one short of a column at the last */
                 {1 << 15, 1 << 15, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), (1 << 15) + 2, HALFTONE_OK},
                 {1 << 15, (1 << 15) + 2, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), (1 << 15) + 1, -16},
                 {1 << 15, (1 << 15) + 2, (1 << 30) + 1, (1 << 30) + 1 + (1 << 15), 1 << 15, HALFTONE_OK},
                 {2, 2, INT64_MAX / 64, INT64_MAX / 128, 2, HALFTONE_OK},
                 {2, 2, INT64_MAX / 64, INT64_MAX / 64 - 1, 2, -16},
                 {1, 1, INT64_MAX, 1, INT32_MAX / 2, HALFTONE_OK}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(halftone_sgemm_strided_batched(h, 'N', 'N', large[i].m, large[i].n, 1, &zero, &x,
                         large[i].m, 0, &x, 1, 0, &one, c, large[i].ldc, large[i].stride, large[i].batch),
                         large[i].code);
}
