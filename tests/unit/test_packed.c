/* test_packed: packed operands, and who computes what fails the data check. Without generator, simulator or GPU: fake_set.h. */
#include "fake_set.h"

/* ---- who computes what fails the data check ---- */

static bool says(const struct halftone_plan *plan, const char *what) {
    return strstr(plan->range, what) != NULL;
}

/* n x n x k of auto: whether the product computes what it does not clear, or as many kernels behind it, with where it left its bits. */
static void fallback_by(halftone *h, int n, int k, int behind, bool is_packed) {
    float one = 1, zero = 0, x = 0;
    struct halftone_plan plan = HALFTONE_PLAN_INIT, named = HALFTONE_PLAN_INIT;
    size_t bytes = 0;
    halftone *twin = NULL;
    OK(halftone_create(&twin));
    OK(halftone_query(twin, 'N', 'N', n, n, k, 1, &named));
    OK(halftone_destroy(twin));
    OK(halftone_query(h, 'N', 'N', n, n, k, 1, &plan));
    assert_memory_equal(&plan, &named, sizeof plan); /* its texts outlive a handle */
    assert_string_equal(plan.kernel, "ht_fake_falls_back");
    assert_true(says(&plan, "any input"));
    OK(halftone_set_scheme(h, "f16x3") + halftone_query(h, 'N', 'N', n, n, k, 1, &named));
    OK(halftone_set_scheme(h, "auto"));
    assert_int_equal(plan.kernel_ns - named.kernel_ns, behind > 1 ? 6000 : 3000); /* a launch, or what the fallback inside costs */
    assert_int_equal(plan.bound_units - named.bound_units, 17);
    OK(halftone_packed_bytes(h, 'A', n, k, 1, &bytes));
    void *blob = kept((bytes + HALFTONE_ALIGNMENT) / HALFTONE_ALIGNMENT * HALFTONE_ALIGNMENT);
    memset(dev.launched, 0, sizeof dev.launched);
    OK(is_packed ? halftone_sgemm_packed(h, n, n, k, &one, blob, blob, &zero, &x, n) : halftone_sgemm(h, 'T',
       'N', n, n, k, &one, &x, k, &x, k, &zero, &x, n));
    EQUAL({dev.launched[5], 1}, {dev.launched[6], behind > 0},
          {dev.launched[7], behind > 1}); /* blocks with many, first */
    const struct ht_gemm_args *g = &dev.last_args;
    assert_int_equal(g->fallback_in_kernel, behind == 0);
    assert_true(g->failed != NULL && g->a_packed.row_sums != NULL && g->b_packed.row_sums != NULL && g->a_packed.any_flag != NULL && g->a.src != NULL);
    assert_int_equal(g->sample != NULL, behind > 1);
    assert_int_equal(dev.pack_log[0].sample_alone, is_packed && behind > 1);
    assert_true(g->a.k == k && g->a.ld >= k && g->a.k_contiguous == 1);
}

TEST(test_the_product_computes_what_it_does_not_clear_where_a_launch_counts) {
    halftone *h = checked_handle();
    dev.dry = true;
    for (int is_packed = 0; is_packed < 2; is_packed++) { /* back and forth: a handle remembers its last answer */
        fallback_by(h, 1024, 1024, 0, is_packed);
        fallback_by(h, 800, 11000, 1, is_packed);
        fallback_by(h, 2000, 2000, 2, is_packed); /* a sample may leave all to the first */
        fallback_by(h, 3000, 3000, 2, is_packed);
    }
    fallback_by(h, 1024, 1024, 0, false);
    OK(halftone_destroy(h));
}

/* ---- packed operands ---- */

/* halftone.h: of packed operands a call needs workspace only for split-K sums, and with auto a bit for each element of C. */
TEST(test_packed_operands_of_auto_need_little_workspace) {
    enum { N = 3000, EACH = HT_FAILED_BYTES + HT_FAILED_CAPACITY * 4, BITS = (N + 63) / 64 * ((N + 63) / 64) * EACH, BLOCK = (BITS + 4095) / 4096 * 4096 };
    halftone *h = checked_handle();
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const float one = 1, zero = 0;
    float x = 0;
    void *block = kept(BLOCK);
    dev.dry = true;
    OK(halftone_query(h, 'N', 'N', N, N, N, 1, &plan));
    assert_true(plan.splits == 1 && says(&plan, "any input"));
    OK(halftone_set_workspace(h, block, HALFTONE_ALIGNMENT));
    REFUSED(halftone_sgemm_packed(h, N, N, N, &one, block, block, &zero, &x, N), HALFTONE_WORKSPACE);
    OK(halftone_set_workspace(h, block, BLOCK));
    OK(halftone_sgemm_packed(h, N, N, N, &one, block, block, &zero, &x, N));
    assert_int_equal(dev.launched[5], 1);
    OK(halftone_destroy(h));
}

API_TEST(test_packed_equals_unpacked) {
    packed_equals_unpacked(h, 'N', 'N', 70, 30, 50);
    packed_equals_unpacked(h, 'T', 'N', 5, 130, 33);
    packed_equals_unpacked(h, 'N', 'T', 64, 64, 64);
    packed_equals_unpacked(h, 'C', 'C', 3, 4, 9000); /* split-K */
    assert_true(dev.last_splits > 1);
    OK(halftone_set_scheme(h, "half"));
    size_t bytes, three;
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes));
    assert_int_equal(bytes, 2 * 2 * HT_ATOM_BYTES); /* no exponents */
    OK(halftone_packed_bytes(h, 'A', 65, 65, 3, &three));
    assert_int_equal(three, 3 * bytes);
}

API_TEST(test_packed_needs_no_workspace_without_split) {
    size_t bytes;
    float one = 1, zero = 0, x[4] = {1, 2, 3, 4}, c[4];
    OK(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes));
    assert_int_equal(bytes, 1024 + 2 * HT_ATOM_BYTES); /* exponents, then 64 rows x 64 k of two slices */
    char *pa = kept(bytes), *pb = kept(bytes);
    OK(halftone_pack_a(h, 'N', 2, 2, x, 2, pa));
    OK(halftone_pack_b(h, 'N', 2, 2, x, 2, pb));
    assert_ptr_equal(dev.pack_log[0].to.panels, pb + 1024);
    OK(halftone_sgemm_packed(h, 2, 2, 2, &one, pa, pb, &zero, c, 2));
    assert_true(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, pa + 4, pb, &zero, c, 2), -7);
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, 2, &one, pa, pb + 4, &zero, c, 2), -9);
    /* nothing to multiply: blobs are not looked at */
    OK(halftone_sgemm_packed(h, 2, 2, 2, &zero, NULL, NULL, &zero, c, 2));
    OK(halftone_pack_a(h, 'N', 0, 2, NULL, 1, NULL));
    assert_int_equal(dev.allocs, 0);
}

/* The code and the words of a product of 2 x 2 x k of two operands. */
static void assert_packed(halftone *h, int64_t k, void *a, void *b, int code, const char *words) {
    float one = 1, zero = 0, c[4];
    assert_int_equal(halftone_sgemm_packed(h, 2, 2, k, &one, a, b, &zero, c, 2), code);
    if (code != HALFTONE_OK)
        assert_string_equal(halftone_last_detail(h), words);
}

/* Under another scheme, whoever asks for it, or of another size an operand is refused, until another one is packed there. */
API_TEST(test_packed_operands_know_what_they_are_for) {
    const float src[] = {1, 2, 3, 4};
    char *a = kept(65536), *b = kept(65536), *copy = kept(65536);
    assert_true(a != NULL && b != NULL && copy != NULL);
    memset(copy, 0, 65536);
    OK(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b));
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    assert_packed(h, 2, b, a, HALFTONE_OK, ""); /* on either side */
    OK(halftone_set_site(h, "site=first scheme=half") + halftone_at_site(h, "first"));
    assert_packed(h, 2, a, b, -7, "A was packed for scheme f16x3, and the product asks for half");
    assert_packed(h, 2, copy, b, -9, "B was packed for scheme f16x3, and the product asks for half"); /* the handle knows nothing of the copy */
    OK(halftone_pack_a(h, 'N', 2, 2, src, 2, a) + halftone_pack_b(h, 'N', 2, 2, src, 2, b));
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    OK(halftone_at_site(h, NULL));
    assert_packed(h, 2, a, b, -7, "A was packed for scheme half, and the product asks for f16x3");
    OK(halftone_set_kernel(h, "ht_fake_half"));
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
    OK(halftone_set_kernel(h, NULL));
    dev.launch_code = 1; /* packing fails: nothing is known */
    assert_int_not_equal(halftone_pack_a(h, 'N', 2, 2, src, 2, a), HALFTONE_OK);
    dev.launch_code = 0;
    assert_packed(h, 2, a, b, -9, "B was packed for scheme half, and the product asks for f16x3");
    OK(halftone_trim(h));
    dev.dry = true;
    assert_packed(h, 2, a, b, HALFTONE_OK, "");
}

/* One launch packs both, so one would spoil the other; the last byte decides, and what was packed there stays known. */
API_TEST(test_overlapping_packed_operands_are_refused) {
    const float src[] = {1, 2, 3, 4};
    size_t bytes = 0;
    OK(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes));
    const size_t apart = (bytes + HALFTONE_ALIGNMENT - 1) / HALFTONE_ALIGNMENT * HALFTONE_ALIGNMENT;
    char *const at = kept(65536), *const behind = at + apart, *const inside = behind - HALFTONE_ALIGNMENT;
    assert_true(at != NULL && bytes <= 30000);
    OK(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, behind, at));
    const long packs = dev.packs;
    char *const pairs[][2] = {{at, at}, {at, inside}, {inside, at}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        REFUSED_FOR(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, pairs[i][0], pairs[i][1]), -18,
                    "overlap");
    }
    assert_int_equal(dev.packs, packs);
    OK(halftone_set_scheme(h, "half"));
    assert_packed(h, 2, at, behind, -7, "A was packed for scheme f16x3, and the product asks for half");
    OK(halftone_pack_ab(h, 'N', 'N', 2, 0, 2, src, 2, src, 2, at, at)); /* B is empty */
}

/* Each of many operands is known, and a call that packs nothing forgets none. */
API_TEST(test_no_packed_operand_is_lost) {
    enum { OPERANDS = 300, EACH = 20480 };
    const float src[] = {1, 2, 3, 4};
    size_t bytes = 0;
    char *const at = kept((size_t)OPERANDS * EACH);
    assert_true(at != NULL);
    OK(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes));
    assert_in_range(bytes, 1, EACH);
    for (int i = 0; i < OPERANDS; i++)
        OK(halftone_pack_a(h, 'N', 2, 2, src, 2, at + (size_t)(i * 7 % OPERANDS) * EACH));
    assert_int_equal(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 1, at, at + EACH), -10);
    OK(halftone_set_scheme(h, "half"));
    for (int i = 0; i < OPERANDS; i++) {
        char *const one = at + (size_t)i * EACH;
        assert_packed(h, 2, one, one, -7, "A was packed for scheme f16x3, and the product asks for half");
    }
}

/* Correct programs put operands, by copies, graphs and other handles, where a handle knew others. */
API_TEST(test_what_a_handle_cannot_know_is_not_refused) {
    enum { BYTES = 65536, INSIDE = HALFTONE_ALIGNMENT };
    const float src[] = {1, 2, 3, 4};
    char *a = kept(BYTES), *b = kept(BYTES), *saved = kept(BYTES);
    size_t bytes = 0;
    assert_true(a != NULL && b != NULL && saved != NULL);
    OK(halftone_packed_bytes(h, 'A', 2, 2, 1, &bytes));
    assert_in_range(bytes, INSIDE + 1, BYTES - INSIDE);

    for (int i = 0; i < 2; i++) { /* put aside, and back where one of another size was packed */
        OK(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b));
        memcpy(saved, a, bytes);
        OK(halftone_set_scheme(h, "half"));
        OK(halftone_pack_a(h, 'N', 1 + i, 2 - i, src, 2, a));
        OK(halftone_set_scheme(h, "f16x3"));
        memcpy(a, saved, bytes);
        assert_packed(h, 2, a, b, HALFTONE_OK, "");
    }

    OK(halftone_pack_a(h, 'N', 2, 2, src, 2, a + INSIDE));
    OK(halftone_set_scheme(h, "half"));
    OK(halftone_pack_ab(h, 'N', 'N', 2, 2, 2, src, 2, src, 2, a, b)); /* over it */
    memmove(a + INSIDE, a, bytes);
    assert_packed(h, 2, a + INSIDE, b, HALFTONE_OK, "");

    OK(halftone_set_scheme(h, "f16x3"));
    dev.capturing = true;
    OK(halftone_pack_a(h, 'N', 2, 2, src, 2, a));
    dev.capturing = false;
    OK(halftone_set_scheme(h, "half"));
    assert_packed(h, 2, a, b, HALFTONE_OK, ""); /* another graph packed it since */
}

/* What auto packs has more behind the same panels, of any size: blocks that pack parts of one row exchange more under it. */
TEST(test_panels_of_auto_lie_where_its_first_scheme_has_them) {
    static const int64_t rows[] = {2, 65, 300}, k[] = {64, 400, 5000};
    halftone *h = checked_handle();
    float x = 0;
    dev.dry = true;
    for (int i = 0; i < 9; i++) {
        const int64_t m = rows[i / 3], deep = k[i % 3];
        size_t bytes = 0, fewer = 0;
        OK(halftone_set_scheme(h, "auto"));
        OK(halftone_packed_bytes(h, 'A', m, deep, 1, &bytes));
        char *const blob = kept((bytes + 1023) / 1024 * 1024);
        OK(halftone_pack_a(h, 'T', m, deep, &x, deep, blob));
        const unsigned char *const panels = dev.pack_log[0].to.panels;
        OK(halftone_set_scheme(h, "f16x3"));
        OK(halftone_packed_bytes(h, 'A', m, deep, 1, &fewer));
        OK(halftone_pack_a(h, 'T', m, deep, &x, deep, blob));
        assert_ptr_equal(dev.pack_log[0].to.panels, panels);
        assert_true(fewer < bytes);
    }
    OK(halftone_destroy(h));
}

TEST(test_what_auto_packed_serves_its_first_scheme) {
    enum { N = 1024 };
    halftone *h = checked_handle();
    float x = 0;
    size_t bytes = 0;
    dev.dry = true;
    OK(halftone_packed_bytes(h, 'A', 2, N, 1, &bytes));
    char *const blob = kept((bytes + 1023) / 1024 * 1024);
    OK(halftone_pack_a(h, 'T', 2, N, &x, N, blob));
    assert_packed(h, N, blob, blob, HALFTONE_OK, "");
    OK(halftone_set_scheme(h, "f16x3"));
    assert_packed(h, N, blob, blob, HALFTONE_OK, "");
    OK(halftone_pack_a(h, 'T', 2, N, &x, N, blob));
    OK(halftone_set_scheme(h, "auto"));
    assert_packed(h, N, blob, blob, -7, "A was packed for scheme f16x3, and the product asks for f16x3 of auto");
    OK(halftone_destroy(h));
}
