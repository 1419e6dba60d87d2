/* test_dgemm: halftone_dgemm with each set's kernels, in the simulator or on a GPU. Results are held to sums in twice the precision:
 * integers exactly, the rest within the bound that halftone_dquery reports, fp64-exact bit for bit, NaN and Inf in their places. What no call may touch
 * holds NaN before and after. How it fails without kernels: test_choices.c. */
#include "../../runtime/ht_abi64.h"
#include "exact_families.h"
#include "exact_sum.h"
#include "operand64.h"

static double norm_bound; /* > 0: results are within that times k max|a| max|b| of a row and a column */

static bool is_exact; /* results are correctly rounded, elements those of exact_families.h */

static double element(const struct problem *p, bool is_a, int64_t row, int64_t k) {
    const char *const family = p->family;
    const double x = uniform();
    if (is_exact)
        return exact_element(family, is_a ? 'A' : 'B', (int)row, (int)k, (int)p->k);
    if (strcmp(family, "integers") == 0)
        return floor(x * 1000);
    if (strcmp(family, "wide") == 0)
        return ldexp(x, (int)(uniform() * 400));
    if (strcmp(family, "tiny") == 0)
        return ldexp(x, -537); /* products are subnormal */
    if (strcmp(family, "nonfinite") == 0 && row % 7 == 2 && k == row % 3)
        return row % 2 ? NAN : INFINITY;
    return x;
}

static void check_element(const struct problem *p, const struct operand *a, const struct operand *b, int64_t entry, int64_t row,
                          int64_t col, double old, double got) {
    if (is_exact) {
        const double correct = exact_dot_product(p->k, p->alpha, place(a, entry, row, 0), a->k_contiguous ? 1 : a->ld,
                                                 place(b, entry, col, 0), b->k_contiguous ? 1 : b->ld, p->beta, old);
        if (isnan(correct) ? !isnan(got) : memcmp(&got, &correct, sizeof got) != 0)
            fail_msg("%s: (%lld, %lld): %a, not %a", p->family, (long long)row, (long long)col, got, correct);
        return;
    }
    const struct sum sum = p->alpha != 0 ? sum_of(p, a, b, entry, row, col) : (struct sum){0, 0, 0, 0, 0, 0};
    const double with_c = p->beta != 0 ? p->beta * old : 0, expected = p->alpha * sum.plain + with_c;
    if (!isfinite(expected)) {
        if (isnan(expected) ? !isnan(got) : got != expected)
            fail_msg("%s: (%lld, %lld): %a, not %a", p->family, (long long)row, (long long)col, got, expected);
        return;
    }
    const double exact = p->alpha * (sum.high + sum.low) + with_c;
    const double size = norm_bound > 0 ? norm_bound * 0x1p53 * sum.largest_a * sum.largest_b * (double)p->k / (double)(p->k + 4) : sum.magnitude;
    const double absolute = strcmp(p->family, "integers") == 0 ? 0 : (double)p->k * 0x1p-1074;
    const double bound = absolute == 0 ? 0 : absolute + (double)(p->k + 4) * 0x1p-53 * (fabs(p->alpha) * size + fabs(with_c));
    if (!(fabs(got - exact) <= bound))
        fail_msg("%s %c%c %lldx%lldx%lld: (%lld, %lld): %a, not %a", p->family, p->ta, p->tb, (long long)p->m, (long long)p->n,
                 (long long)p->k, (long long)row, (long long)col, got, exact);
}

/* kernel: NULL, or one alone. */
static void check(const struct problem *p, const struct ht_kernel_desc *kernel) {
    const size_t before = kept_count;
    struct operand a = operand_of(p, true), b = operand_of(p, false), c = c_of(p);
    c.device = on_device(c.at, c.count);
    const struct ht_native64_args args = {
        .a = {a.device, a.ld, a.stride, (int)p->m, (int)p->k, a.k_contiguous}, .b = {b.device, b.ld, b.stride, (int)p->n, (int)p->k, b.k_contiguous},
        .to = {.c = c.device, .ldc = c.ld, .stride = c.stride, .alpha.f64 = p->alpha, .beta.f64 = p->beta},
        .m = (int)p->m, .n = (int)p->n, .splits = 1, .batch = (int)p->batch};
    if (kernel != NULL)
        OK(ht_dev_check(HT_LAUNCHER(kernel, HT_PRODUCT, ht_native64_args)(&args, NULL)));
    const double *const got = kernel != NULL ? result_of(&c, p->m) : run(p, &a, &b, &c);
    for (int64_t i = 0; i < c.count; i++)
        if (i % c.ld < p->m)
            check_element(p, &a, &b, i / c.stride, i % c.ld, i % c.stride / c.ld, c.at[i], got[i]);
    drop_kept(before);
}

/* ---- results ---- */

TEST(right_in_all_transposes_sizes_and_families) {
    static const struct problem problems[] = {
        PROBLEM("integers", 'N', 'N', 70, 66, 33, 1, 1, 0, false), PROBLEM("uniform", 'T', 'N', 65, 3, 50, 1, -0.5, 0, false),
        PROBLEM("wide", 'N', 'T', 3, 130, 17, 1, 1, 0, false),     PROBLEM("integers", 'T', 'T', 66, 65, 40, 1, 2, -1, false),
        PROBLEM("uniform", 'C', 'N', 20, 30, 15, 1, 0.3, -1.7, false), PROBLEM("tiny", 'N', 'T', 33, 20, 30, 1, 1, 0, false),
        PROBLEM("nonfinite", 'N', 'N', 40, 40, 20, 1, 1, 0, false), PROBLEM("nonfinite", 'N', 'T', 40, 40, 20, 1, 0, 2, false),
        PROBLEM("uniform", 'N', 'N', 1, 1, 1, 1, 1, 1, false),     PROBLEM("uniform", 'T', 'N', 1, 1, 1001, 1, 1, 0.5, false),
        PROBLEM("integers", 'N', 'N', 200, 1, 7, 1, 1, 1, false),  PROBLEM("integers", 'N', 'N', 20, 20, 0, 1, 1, 3, false)};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        state = i + 1;
        check(&problems[i], NULL);
    }
}

TEST(right_with_each_kernel) {
    const struct ht_set_desc *set = set_of_handle()->fp64;
    assert_non_null(set);
    for (int i = 0; i < set->kernels; i++) {
        if (set->kernel[i].recipe != HT_RECIPE_NATIVE64)
            continue;
        const struct problem whole = PROBLEM("integers", 'N', 'T', 129, 70, 35, 2, 1, 1, false),
                             apart = PROBLEM("uniform", 'T', 'N', 5, 67, 16, 1, 1, 0, false);
        OK(ht_dev_check(set->kernel[i].init()));
        check(&whole, &set->kernel[i]);
        check(&apart, &set->kernel[i]);
    }
}

/* By halftone_set_kernel: where its scheme does, and results are right; products of other schemes are refused in words. */
TEST(a_kernel_by_name_runs_where_its_scheme_does) {
    const struct ht_set_desc *const set = set_of_handle()->fp64;
    const struct problem p = PROBLEM("integers", 'N', 'T', 70, 66, 130, 1, 2, -1, false);
    const char *name = NULL;
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *const k = &set->kernel[i];
        struct halftone_plan other = HALFTONE_PLAN_INIT;
        if (k->recipe == HT_RECIPE_OZAKI)
            continue;
        check_code(halftone_set_kernel(handle, k->name), k->name);
        check_code(halftone_get_kernel(handle, &name), "get");
        assert_string_equal(name, k->name);
        check_code(halftone_set_scheme(handle, k->scheme), k->scheme);
        const struct halftone_plan plan = plan_of(&p);
        assert_string_equal(plan.kernel, k->name);
        norm_bound = plan.fixed_point ? plan.error_bound : 0;
        check(&p, NULL);
        norm_bound = 0;
        const char *const another = strcmp(k->scheme, "native64") == 0 ? set->scheme[0].name : "native64";
        if (strcmp(another, k->scheme) != 0 && halftone_set_scheme(handle, another) == HALFTONE_OK) {
            assert_int_equal(halftone_dquery(handle, p.ta, p.tb, p.m, p.n, p.k, p.batch, &other), HALFTONE_NOT_SUPPORTED);
            assert_non_null(strstr(halftone_last_detail(handle), k->name));
            assert_non_null(strstr(halftone_last_detail(handle), another));
        }
    }
    check_code(halftone_set_kernel(handle, NULL), "no kernel");
    check_code(halftone_get_kernel(handle, &name), "get");
    assert_null(name);
}

static void nonfinite_rows_are_nan(const char *name) {
    double a[3] = {1, NAN, 2}, b[2] = {INFINITY, 3}, c[6] = {0};
    const double one = 1, zero = 0;
    double *da = on_device(a, 3), *db = on_device(b, 2), *dc = on_device(c, 6);
    check_code(halftone_dgemm(handle, 'N', 'N', 3, 2, 1, &one, da, 3, db, 1, &zero, dc, 3), name);
    download(c, dc, sizeof c / sizeof *c);
    assert_true(isnan(c[0]) && isnan(c[1]) && isnan(c[2]) && c[3] == 3 && isnan(c[4]) && c[5] == 6);
}

/* Integers exactly; the rest within the bound that the query reports. That the bits are the reference's: test_crt_kernels.py. */
TEST(by_residues) {
    static const struct problem problems[] = {
        PROBLEM("integers", 'N', 'N', 70, 66, 33, 1, 1, 0, false),   PROBLEM("integers", 'T', 'N', 130, 3, 600, 1, 2, -1, false),
        PROBLEM("integers", 'N', 'T', 5, 67, 130, 3, -0.5, 1, true), PROBLEM("integers", 'T', 'T', 65, 129, 40, 2, 1, 0, false),
        PROBLEM("uniform", 'N', 'N', 33, 40, 300, 1, 0.3, -1.7, false), PROBLEM("wide", 'T', 'T', 20, 66, 70, 1, 1, 0, false)};
    int found = 0;
    const char *name;
    for (int i = 0; (name = halftone_schemes(handle, HALFTONE_FP64, i)) != NULL; i++) {
        if (strncmp(name, "crt", 3) != 0 && strcmp(name, "i8x28") != 0) /* digits, whose calls and results are like those */
            continue;
        found++;
        check_code(halftone_set_scheme(handle, name), name);
        for (size_t j = 0; j < sizeof problems / sizeof *problems; j++) {
            const struct problem *p = &problems[j];
            const struct halftone_plan plan = plan_of(p);
            assert_true(strcmp(plan.scheme, name) == 0 && plan.fixed_point && plan.workspace_bytes > 0 && plan.pack_ns > 0);
            norm_bound = plan.error_bound;
            state = j + 1;
            check(p, NULL);
        }
        nonfinite_rows_are_nan(name);
    }
    if (found == 0)
        skip();
}

static bool has_fp64(const char *wanted) {
    return has_scheme(HALFTONE_FP64, wanted);
}

/* Every family, and what differs from call to call besides; how broken kernels are noticed: test_exact_kernels.py. */
TEST(exact_results_are_correctly_rounded) {
    static const struct problem more[] = {
        PROBLEM("phi2", 'T', 'N', 30, 40, 70, 1, 0.3, -1.7, false), PROBLEM("everything", 'N', 'T', 70, 5, 30, 3, 1, 0, true),
        PROBLEM("uniform", 'N', 'N', 5, 6, 1100, 1, -4, 0, false),  PROBLEM("scaled", 'N', 'N', 20, 66, 33, 2, 3, 1e-200, false),
        PROBLEM("integers", 'N', 'N', 20, 20, 0, 1, 1, 3, false),   PROBLEM("phi1", 'N', 'N', 20, 20, 5, 1, 0, 0.1, false),
        PROBLEM("fixed", 'T', 'N', 30, 20, 70, 3, 1, 0, true)};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const char *text;
    const int code = halftone_set_accuracy(handle, "fp64-exact");
    if (!has_fp64("crt20")) { /* never in a lesser way */
        assert_int_equal(code, HALFTONE_ACCURACY);
        assert_non_null(strstr(halftone_last_detail(handle), "without scheme 'crt20'"));
    } else {
        check_code(code, "fp64-exact");
        check_code(halftone_get_accuracy(handle, HALFTONE_FP64, &text), "get");
        assert_string_equal(text, "fp64-exact");
        check_code(halftone_dquery(handle, 'N', 'N', 64, 64, 64, 1, &plan), "query");
        assert_true(strcmp(plan.scheme, "crt20") == 0 && plan.error_bound == 0x1p-53 && !plan.fixed_point);
        is_exact = true;
        for (size_t i = 0; i < sizeof exact_families / sizeof *exact_families; i++) {
            const struct problem p = PROBLEM(exact_families[i], i % 2 ? 'T' : 'N', i % 3 ? 'N' : 'T', 33, 20, 60 + (int64_t)(i % 2), 1, 1, 0, false);
            check(&p, NULL);
        }
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            check(&more[i], NULL);
        is_exact = false;
    }
}

/* More entries than keep their residues at once: 16 MB, of 64 x 64 elements by 14 moduli 292. */
TEST(batches_of_residues_are_cut) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const struct problem p = PROBLEM("integers", 'N', 'N', 2, 1, 2, 300, 1, 1, false);
    if (halftone_set_scheme(handle, "crt14") != HALFTONE_OK)
        skip();
    check_code(halftone_dquery(handle, 'N', 'N', 2, 1, 2, 300, &plan), "query");
    assert_true(plan.workspace_bytes < (16 << 20) + 600 * (14 * 8192 + 2048) && plan.workspace_bytes > 8 << 20);
    check(&p, NULL);
    check_code(halftone_dquery(handle, 'N', 'N', 2, 1, 1024, 1, &plan), "query");
    const double expected = 64 * 0x1p-54 * 0.66876 + 0x1p-53; /* 2^-54.5804: bench/ACCURACY64.md, section 14 */
    assert_true(plan.error_bound > 0.99 * expected && plan.error_bound < 1.01 * expected + 0x1p-53);
}

/* By FP16 slices: integers and what cancels exactly, in several blocks of C too; bits: test_ozaki.py. */
TEST(by_slices) {
    static const struct problem problems[] = {
        PROBLEM("integers", 'N', 'N', 70, 66, 33, 1, 1, 0, false),   PROBLEM("integers", 'T', 'N', 130, 3, 200, 1, 2, -1, false),
        PROBLEM("integers", 'N', 'T', 5, 67, 130, 3, -0.5, 1, true), PROBLEM("integers", 'T', 'T', 65, 129, 40, 2, 1, 0, false),
        PROBLEM("uniform", 'N', 'N', 33, 40, 300, 1, 0.3, -1.7, false)};
    static const char *const names[] = {"ozaki", "ozaki-cr", "ozaki:d=9", "ozaki-cr:d=30"}, *const bad[] = {"ozaki:", "ozaki:d=0",
        "ozaki:d=129", "ozaki:d=7x", "ozaki-dp", "ozaki-cr:7", "ozakis", "ozaki:d= 9", "ozaki-cr:d=+9"};
    const char *name;
    if (halftone_set_scheme(handle, "ozaki") != HALFTONE_OK)
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(halftone_set_scheme(handle, bad[i]), HALFTONE_UNKNOWN_SCHEME);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_code(halftone_set_scheme(handle, names[i]), names[i]);
        check_code(halftone_get_scheme(handle, HALFTONE_FP64, &name), names[i]);
        assert_string_equal(name, names[i]);
        for (size_t j = 0; j < sizeof problems / sizeof *problems; j++) {
            const struct problem *p = &problems[j];
            const struct halftone_plan plan = plan_of(p);
            assert_true(strcmp(plan.scheme, "ozaki") == 0 && plan.fixed_point && plan.workspace_bytes > 0 && plan.pack_ns > 0);
            norm_bound = i == 0 ? 64 * 0x1p-53 : plan.error_bound; /* ozaki promises none for each element: what it does here */
            state = j + 1;
            check(p, NULL);
        }
        nonfinite_rows_are_nan(names[i]);
    }
    norm_bound = 0;
    const double one = 1, zero = 0; /* a row that needs a slice for each of its 40 elements */
    double far[80], got = 0;
    for (int i = 0; i < 40; i++) {
        far[i] = ldexp(1, -13 * i);
        far[40 + i] = 1;
    }
    double *x = on_device(far, 80);
    check_code(halftone_set_scheme(handle, "ozaki-cr"), "far");
    check_code(halftone_dgemm(handle, 'T', 'N', 1, 1, 40, &one, x, 40, x + 40, 40, &zero, x, 1), "far");
    OK(ht_dev_download(&got, x, sizeof got));
    assert_true(isnan(got)); /* never a guess */
    check_code(halftone_set_scheme(handle, "ozaki-cr:d=40"), "far");
    OK(ht_dev_upload(x, far, sizeof far));
    check_code(halftone_dgemm(handle, 'T', 'N', 1, 1, 40, &one, x, 40, x + 40, 40, &zero, x, 1), "far");
    OK(ht_dev_download(&got, x, sizeof got));
    assert_true(got == 1 + 0x1p-13 + 0x1p-26 + 0x1p-39 + 0x1p-52); /* 2^-65 is less than half of the last bit */
    const struct problem blocks = PROBLEM("integers", 'N', 'N', 150, 300, 2, 1, 1, 0, false);
    check_code(halftone_set_scheme(handle, "ozaki-cr:d=100"), "blocks");
    check(&blocks, NULL); /* 2^30 bytes are the sums of 10,000 pairs of 128 x 128 elements */
    size_t bytes;
    assert_int_equal(halftone_dworkspace_bytes(handle, 'N', 'N', 1, 1, (1 << 18) + 1, 1, &bytes), HALFTONE_TOO_LARGE);
    check_code(halftone_dworkspace_bytes(handle, 'N', 'N', 10240, 10240, 10240, 1, &bytes), "bytes");
}

/* What fp64 may choose: FP64 units, or residues of the fewest moduli that keep its bound, or of more where the set lacks those. */
static bool is_certified(const char *name) {
    const int moduli = strncmp(name, "crt", 3) == 0 ? atoi(name + 3) : 0, most = has_fp64("crt15") || has_fp64("crt16") ? 16 : 20;
    return strcmp(name, "native64") == 0 || (moduli >= 15 && moduli <= most);
}

static const char *scheme_by(const char *accuracy, int64_t k, int *code) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    *code = halftone_set_accuracy(handle, accuracy);
    if (*code == HALFTONE_OK)
        *code = halftone_dquery(handle, 'N', 'N', 8192, 8192, k, 1, &plan);
    return *code == HALFTONE_OK ? plan.scheme : "";
}

TEST(accuracies_choose_schemes) {
    int code;
    const char *text = "";
    const char *certified = scheme_by("fp64", 8192, &code); /* crt14 has too few bits for k u */
    assert_true(is_certified(certified));
    if (strcmp(halftone_gpu(handle), "t4") == 0 && has_fp64("crt15"))
        assert_string_equal(certified, "crt15"); /* whose FP64 has 1/32 of FP32's rate */
    assert_string_equal(scheme_by("fp64", 1, &code), "native64");
    certified = scheme_by("bits=40", 8188, &code); /* (8188 + 4) 2^-53 is 2^-40 */
    assert_true(is_certified(certified));
    check_code(halftone_get_accuracy(handle, HALFTONE_FP64, &text), "get");
    assert_string_equal(text, "bits=40");
    assert_string_equal(scheme_by("bits=40", 8189, &code), "");
    assert_int_equal(code, HALFTONE_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, "bits=51"), HALFTONE_ACCURACY); /* (1 + 4) 2^-53 is above 2^-51 */
    assert_int_equal(halftone_set_accuracy(handle, "fp64:fp32"), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, "bits=4x"), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, "bits= 4"), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, "bits=+4"), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, NULL), HALFTONE_UNKNOWN_ACCURACY);
    check_code(halftone_get_accuracy(handle, HALFTONE_FP64, &text), "get");
    assert_string_equal(text, "bits=40"); /* a failure changes nothing */
    assert_string_equal(scheme_by("fp64:reproducible", 64, &code), has_fp64("crt16") ? "crt16" : "");
    assert_int_equal(code, has_fp64("crt16") ? HALFTONE_OK : HALFTONE_ACCURACY);
    const char *fast = scheme_by("fp64-fast", 8192, &code);
    assert_true(strcmp(fast, "native64") == 0 || strcmp(fast, "crt14") == 0 || strcmp(fast, "i8x28") == 0 || (!has_fp64("crt14") && is_certified(fast)));
    if (strcmp(halftone_gpu(handle), "t4") == 0 && has_fp64("crt14"))
        assert_string_equal(fast, "crt14");
    assert_string_equal(scheme_by("fp64-fast", 1, &code), "native64"); /* packing and planes for nothing */
    assert_int_equal(halftone_set_scheme(handle, "fp64:f16x3"), HALFTONE_UNKNOWN_SCHEME);
    check_code(halftone_set_scheme(handle, "native64"), "native64");
    check_code(halftone_get_accuracy(handle, HALFTONE_FP64, &text), "get");
    assert_null(text);
    check_code(halftone_get_scheme(handle, HALFTONE_FP64, &text), "get");
    assert_string_equal(text, "native64");
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_code(halftone_get_scheme(handle, HALFTONE_FP64, &text), "get");
    assert_string_equal(text, "auto");
    check_code(halftone_get_accuracy(handle, HALFTONE_FP64, &text), "get");
    assert_null(text);
}

/* The handle is set to this, for FP32 and for FP64. */
static void expect_set(const char *scheme32, const char *accuracy32, const char *scheme64, const char *accuracy64) {
    const char *const wanted[] = {scheme32, accuracy32, scheme64, accuracy64}, *text[4] = {"", "", "", ""};
    for (int i = 0; i < 4; i++) {
        const int type = i < 2 ? HALFTONE_FP32 : HALFTONE_FP64;
        check_code((i % 2 == 0 ? halftone_get_scheme : halftone_get_accuracy)(handle, type, &text[i]), "get");
        if (wanted[i] == NULL ? text[i] != NULL : text[i] == NULL || strcmp(text[i], wanted[i]) != 0)
            fail_msg("%s, %s, %s, %s", text[0], text[1], text[2], text[3]);
    }
}

/* A name sets the type that it is of, one of both sets both, a prefix chooses; what fails sets neither. */
TEST(one_setter_takes_both_types) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (!has_scheme(HALFTONE_FP32, "bf16x6u") || !has_scheme(HALFTONE_FP32, "f16x3"))
        skip();
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    expect_set("auto", NULL, "auto", NULL);
    check_code(halftone_set_accuracy(handle, "fp64"), "FP64's");
    expect_set("auto", NULL, "auto", "fp64");
    check_code(halftone_set_scheme(handle, "f16x3"), "FP32's");
    check_code(halftone_set_scheme(handle, "native64"), "FP64's");
    expect_set("f16x3", NULL, "native64", NULL);
    check_code(halftone_set_accuracy(handle, "bits=12"), "both");
    expect_set(NULL, "bits=12", NULL, "bits=12");
    check_code(halftone_set_accuracy(handle, "fp64:bound=1e-9"), "a prefix");
    check_code(halftone_set_scheme(handle, "fp32:auto"), "a prefix");
    expect_set("auto", NULL, NULL, "bound=1e-9");
    assert_int_equal(halftone_set_accuracy(handle, "bits=60"), HALFTONE_ACCURACY); /* neither: both are said */
    assert_non_null(strstr(halftone_last_detail(handle), "; for FP64 bits=60: at k = 1 scheme native64 keeps bits=50"));
    assert_int_equal(strncmp(halftone_last_detail(handle), "bits=60 is at most ", 19), 0);
    assert_int_equal(halftone_set_accuracy(handle, "fp32:bits=40"), HALFTONE_ACCURACY);
    assert_int_equal(halftone_set_accuracy(handle, "nonsense"), HALFTONE_UNKNOWN_ACCURACY);
    assert_int_equal(halftone_set_scheme(handle, "nonsense"), HALFTONE_UNKNOWN_SCHEME);
    assert_non_null(strstr(halftone_last_detail(handle), "; for FP64 auto, "));
    expect_set("auto", NULL, NULL, "bound=1e-9");
    check_code(halftone_set_accuracy(handle, "bits=40"), "FP64 can"); /* and FP32 is not computed in another way */
    expect_set(NULL, "bits=40", NULL, "bits=40");
    check_code(halftone_dquery(handle, 'N', 'N', 33, 34, 20, 1, &plan), "query");
    assert_int_equal(halftone_query(handle, 'N', 'N', 33, 34, 20, 1, &plan), HALFTONE_ACCURACY);
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_code(halftone_set_site(handle, "m=33 accuracy=bits=40"), "a line");
    check_code(halftone_dquery(handle, 'N', 'N', 33, 34, 20, 1, &plan), "query");
    assert_int_equal(halftone_query(handle, 'N', 'N', 33, 34, 20, 1, &plan), HALFTONE_ACCURACY);
    check_code(halftone_set_site(handle, NULL), "no line");
    check_code(halftone_set_site(handle, "m=33 accuracy=fp64:bits=40"), "a line");
    check_code(halftone_query(handle, 'N', 'N', 33, 34, 20, 1, &plan), "of the other type");
    assert_int_equal(plan.site, 0);
}

/* A bound is kept as bits are: what a query told is met by what it was told of, and not by less. */
TEST(a_bound_is_kept) {
    for (int64_t k = 1; k < 1000000; k *= 7) {
        char text[40];
        int code;
        snprintf(text, sizeof text, "fp64:bound=%.12e", ((double)k + 4) * 0x1p-53);
        assert_true(scheme_by(text, k, &code)[0] != 0 && code == HALFTONE_OK);
        snprintf(text, sizeof text, "fp64:bound=%.12e", ((double)k + 4) * 0x1p-53 * 0.999999999);
        assert_string_equal(scheme_by(text, k, &code), "");
        assert_int_equal(code, HALFTONE_ACCURACY);
    }
}

/* Lines of the site table are of FP64 products, of FP32's, or of both; what a line asks and the library lacks is not done otherwise. */
TEST(sites_choose_schemes) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const struct problem narrow = PROBLEM("integers", 'N', 'N', 33, 34, 20, 1, 1, 0, false), wide = PROBLEM("integers", 'N', 'N', 70, 34, 20, 1, 1, 0, false);
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_code(halftone_set_site(handle, "m=70 scheme=native64"), "FP64's");
    const int fp32 = halftone_set_site(handle, "m=70 scheme=bf16x6u"); /* a set of FP64 alone knows no such line */
    assert_int_equal(fp32, has_scheme(HALFTONE_FP32, "bf16x6u") ? HALFTONE_OK : HALFTONE_UNKNOWN_SCHEME);
    const int both = halftone_set_site(handle, "m=33 accuracy=reproducible");
    check_code(halftone_dquery(handle, 'N', 'N', 70, 34, 20, 1, &plan), "query");
    assert_int_equal(plan.site, 1);
    assert_string_equal(plan.scheme, "native64");
    if (fp32 == HALFTONE_OK) {
        check_code(halftone_query(handle, 'N', 'N', 70, 34, 20, 1, &plan), "query");
        assert_int_equal(plan.site, 2);
        check_code(halftone_query(handle, 'N', 'N', 71, 34, 20, 1, &plan), "query");
        assert_int_equal(plan.site, 0);
    }
    check(&wide, NULL);
    assert_int_equal(halftone_last_site(handle), 1);
    if (both == HALFTONE_OK && has_fp64("crt16")) {
        check_code(halftone_dquery(handle, 'N', 'N', 33, 34, 20, 1, &plan), "query");
        assert_string_equal(plan.scheme, "crt16");
        check(&narrow, NULL);
        assert_int_equal(halftone_last_site(handle), fp32 == HALFTONE_OK ? 3 : 2);
    } else if (both == HALFTONE_OK) {
        assert_int_equal(halftone_dquery(handle, 'N', 'N', 33, 34, 20, 1, &plan), HALFTONE_ACCURACY);
        assert_non_null(strstr(halftone_last_detail(handle), "without scheme 'crt16', which FP64 products need for this accuracy"));
    } else {
        assert_int_equal(both, HALFTONE_ACCURACY); /* the library has neither type's scheme */
    }
    check_code(halftone_set_site(handle, NULL), "no lines");
    check_code(halftone_dquery(handle, 'N', 'N', 33, 34, 20, 1, &plan), "query");
    assert_int_equal(plan.site, 0);
}

/* Digits: one launch behind packing, no planes, a limit of k. */
TEST(digits_are_for_small_products) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT, crt = HALFTONE_PLAN_INIT;
    if (!has_fp64("i8x28") || !has_fp64("crt14"))
        return;
    check_code(halftone_set_scheme(handle, "crt14"), "crt14");
    check_code(halftone_dquery(handle, 'N', 'N', 256, 256, 256, 1, &crt), "query");
    check_code(halftone_set_scheme(handle, "i8x28"), "i8x28");
    check_code(halftone_dquery(handle, 'N', 'N', 256, 256, 256, 1, &plan), "query");
    assert_string_equal(plan.scheme, "i8x28");
    EQUAL({plan.bound_units, 5}, {plan.fixed_point, 1}, {plan.moduli, 0});
    assert_true(plan.workspace_bytes < crt.workspace_bytes / 2);
    check_code(halftone_dquery(handle, 'N', 'N', 8, 8, 131072, 1, &plan), "query");
    assert_int_equal(halftone_dquery(handle, 'N', 'N', 8, 8, 131073, 1, &plan), HALFTONE_TOO_LARGE);
    check_code(halftone_set_accuracy(handle, "fp64-fast"), "fp64-fast");
    check_code(halftone_dquery(handle, 'N', 'N', 256, 256, 256, 1, &plan), "query");
    if (strcmp(halftone_gpu(handle), "t4") == 0) /* whose FP64 has 1/32 of FP32's rate */
        assert_string_equal(plan.scheme, "i8x28");
    check_code(halftone_dquery(handle, 'N', 'N', 256, 256, 35, 1, &plan), "query");
    assert_string_not_equal(plan.scheme, "i8x28"); /* crt14's bound is the smaller */
    check_code(halftone_set_accuracy(handle, "reproducible"), "reproducible");
    if (has_fp64("crt16")) {
        check_code(halftone_dquery(handle, 'N', 'N', 256, 256, 256, 1, &plan), "query");
        assert_string_equal(plan.scheme, "crt16"); /* on every GPU */
    }
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_code(halftone_set_site(handle, "m=70 scheme=i8x28"), "FP64's");
    check_code(halftone_dquery(handle, 'N', 'N', 70, 8, 8, 1, &plan), "query");
    assert_string_equal(plan.scheme, "i8x28");
}

TEST(batches_take_each_entry) {
    const struct problem own = PROBLEM("integers", 'N', 'N', 33, 34, 20, 3, 1, 1, false),
                         shared = PROBLEM("integers", 'T', 'T', 33, 34, 20, 3, 1, 0, true),
                         beyond_a_grid = PROBLEM("integers", 'N', 'N', 1, 1, 2, HT_GRID_BATCH + 2, 1, 0, false);
    check(&own, NULL);
    check(&shared, NULL);
    check(&beyond_a_grid, NULL);
}

TEST(a_long_k_is_split) {
    static const struct problem problems[] = {PROBLEM("integers", 'N', 'N', 33, 34, 6001, 1, 1, 0, false),
                                              PROBLEM("uniform", 'T', 'N', 20, 17, 5003, 1, -0.5, 2, false),
                                              PROBLEM("integers", 'N', 'T', 3, 1, 20011, 1, 2, 1, false),
                                              PROBLEM("integers", 'T', 'T', 33, 34, 5000, 3, 1, 0, true)};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check_code(halftone_set_scheme(handle, "native64"), "native64");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *const p = &problems[i];
        plan = plan_of(p);
        assert_true(plan.splits > 1 && plan.workspace_bytes >= (size_t)(p->m * p->n * p->batch * plan.splits * 8));
        check(p, NULL);
    }
    check_code(halftone_set_workspace_limit(handle, 1), "limit"); /* then k is whole */
    check_code(halftone_dquery(handle, 'N', 'N', 33, 34, 6001, 1, &plan), "query");
    assert_true(plan.splits == 1 && plan.workspace_bytes == 0);
    check(&problems[0], NULL);
}

/* Where the device reads it, too. */
static void check_alpha_of_zero(const char *name, const double *scalars) {
    const double a[2] = {NAN, INFINITY}, old[2] = {5, -7};
    double *const da = on_device(a, 2), *const c = on_device(old, 2), got[2];
    check_code(halftone_dgemm(handle, 'N', 'N', 2, 1, 1, scalars, da, 2, da, 1, scalars + 1, c, 2), name);
    download(got, c, sizeof got / sizeof *got);
    if (got[0] != -15 || got[1] != 21)
        fail_msg("%s: %g and %g, not -3 C", name, got[0], got[1]);
}

TEST(alpha_of_zero_ignores_the_product) {
    static const char *const names[] = {"ozaki-cr", "ozaki:d=3"};
    const double host[2] = {0, -3};
    double *const scalars = on_device(host, 2);
    const char *name;
    check_code(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), "mode");
    for (int i = 0; (name = halftone_schemes(handle, HALFTONE_FP64, i)) != NULL; i++) {
        check_code(halftone_set_scheme(handle, name), name);
        check_alpha_of_zero(name, scalars);
    }
    for (int i = 0; i < 2 && has_fp64("ozaki"); i++) {
        check_code(halftone_set_scheme(handle, names[i]), names[i]);
        check_alpha_of_zero(names[i], scalars);
    }
    check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "mode");
}

/* ---- the sign of zero where no product is added ---- */

enum { ZEROS = 3, ZERO_K = 40, ZERO_WAYS = 8 }; /* bits of a way: scalars on the device, two entries, packed; or host memory: 8 */

/* ZEROS elements of a type, and scalars behind them. */
struct zeros {
    bool fp64;
    const char *name;
    int64_t k;
    double alpha, beta;
};

static size_t size_of(const struct zeros *z) {
    return z->fp64 ? sizeof(double) : sizeof(float);
}

/* So many elements in host memory. */
static void *typed(const struct zeros *z, const double *x, int count) {
    void *const at = keep(calloc((size_t)count, sizeof(double)), free);
    for (int i = 0; i < count; i++) {
        const float rounded = (float)x[i];
        memcpy((char *)at + (size_t)i * size_of(z), z->fp64 ? (const void *)&x[i] : &rounded, size_of(z));
    }
    return at;
}

static void *loaded(const struct zeros *z, const double *x, int count) {
    void *const host = typed(z, x, count), *const at = kept_on_device((size_t)count * size_of(z));
    OK(ht_dev_upload(at, host, (size_t)count * size_of(z)));
    return at;
}

/* C = alpha A B + beta C by packed operands; a code that is not success: there are none of this scheme. */
static int by_packed(const struct zeros *z, const void *alpha, const void *ab, const void *beta, void *c) {
    size_t bytes[2];
    void *packed[2] = {NULL, NULL};
    int code = HALFTONE_OK;
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++)
        code = (z->fp64 ? halftone_dpacked_bytes : halftone_packed_bytes)(handle, "AB"[i], i == 0 ? ZEROS : 1, z->k, 1, &bytes[i]);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++)
        packed[i] = kept_on_device(bytes[i] + 1);
    if (code == HALFTONE_OK)
        code = z->fp64 ? halftone_dpack_ab(handle, 'N', 'N', ZEROS, 1, z->k, ab, ZEROS, ab, ZERO_K, packed[0], packed[1])
                       : halftone_pack_ab(handle, 'N', 'N', ZEROS, 1, z->k, ab, ZEROS, ab, ZERO_K, packed[0], packed[1]);
    if (code == HALFTONE_OK)
        code = z->fp64 ? halftone_dgemm_packed(handle, ZEROS, 1, z->k, alpha, packed[0], packed[1], beta, c, ZEROS)
                       : halftone_sgemm_packed(handle, ZEROS, 1, z->k, alpha, packed[0], packed[1], beta, c, ZEROS);
    return code;
}

static int by_entries(const struct zeros *z, int batch, const void *alpha, const void *ab, const void *beta, void *c) {
    return z->fp64 ? halftone_dgemm_strided_batched(handle, 'N', 'N', ZEROS, 1, z->k, alpha, ab, ZEROS, 0, ab, ZERO_K, 0, beta, c, ZEROS, ZEROS, batch)
                   : halftone_sgemm_strided_batched(handle, 'N', 'N', ZEROS, 1, z->k, alpha, ab, ZEROS, 0, ab, ZERO_K, 0, beta, c, ZEROS, ZEROS, batch);
}

static int by_host(const struct zeros *z, const void *alpha, const void *ab, const void *beta, void *c) {
    return z->fp64 ? halftone_dgemm_host(handle, 'N', 'N', ZEROS, 1, z->k, alpha, ab, ZEROS, ab, ZERO_K, beta, c, ZEROS)
                   : halftone_sgemm_host(handle, 'N', 'N', ZEROS, 1, z->k, alpha, ab, ZEROS, ab, ZERO_K, beta, c, ZEROS);
}

/* What C is then, by one of the ways; false: the scheme has no packed operands. */
static bool zeros_by(const struct zeros *z, int way, const double *old, double *got) {
    double ab[ZEROS * ZERO_K], scalars[2] = {z->alpha, z->beta}, twice[2 * ZEROS];
    const bool is_host = way == ZERO_WAYS, on_device = (way & 1) != 0 && !is_host;
    for (int i = 0; i < ZEROS * ZERO_K; i++)
        ab[i] = i % 7 + 1;
    for (int i = 0; i < 2 * ZEROS; i++)
        twice[i] = old[i % ZEROS];
    void *const operands = (is_host ? typed : loaded)(z, ab, ZEROS * ZERO_K), *const c = (is_host ? typed : loaded)(z, twice, 2 * ZEROS),
               *const factors = (on_device ? loaded : typed)(z, scalars, 2);
    const void *const alpha = factors, *const beta = (char *)factors + size_of(z);
    check_code(halftone_set_pointer_mode(handle, on_device ? HALFTONE_DEVICE : HALFTONE_HOST), "mode");
    const int code = is_host ? by_host(z, alpha, operands, beta, c)
                     : (way & 4) != 0 ? by_packed(z, alpha, operands, beta, c) : by_entries(z, way & 2 ? 2 : 1, alpha, operands, beta, c);
    check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "mode");
    char after[sizeof twice];
    if (is_host)
        memcpy(after, c, 2 * ZEROS * size_of(z));
    else
        OK(ht_dev_download(after, c, 2 * ZEROS * size_of(z)));
    for (int i = 0; i < ZEROS; i++) {
        float single;
        memcpy(&single, after + (size_t)i * sizeof single, sizeof single);
        memcpy(&got[i], after + (size_t)i * sizeof *got, sizeof *got);
        got[i] = z->fp64 ? got[i] : (double)single;
    }
    if (code != HALFTONE_OK && ((way & 4) == 0 || code != HALFTONE_NOT_SUPPORTED))
        check_code(code, z->name);
    return code == HALFTONE_OK;
}

/* Exact sums have a zero as +0; others keep its sign, in FP32 where nothing is to be done. */
static void check_zeros(const struct zeros *z, bool is_exact_sum) {
    const double old[ZEROS] = {-0.0, 0.0, 5};
    const bool keeps = !is_exact_sum && (z->fp64 || z->beta == 1);
    for (int way = 0; way <= ZERO_WAYS; way++) {
        double got[ZEROS];
        const bool on_device = (way & 1) != 0 && way < ZERO_WAYS;
        /* FP32's kernels, and residues that the data certify, add 0 to C where only they can see that nothing is to be done */
        const bool may_add = !is_exact_sum && on_device && (z->fp64 ? strcmp(z->name, "fp64") == 0 : z->beta == 1);
        if ((way & 6) == 6 || may_add || !zeros_by(z, way, old, got))
            continue;
        for (int i = 0; i < ZEROS; i++) {
            const double wanted = old[i] == 0 && !keeps ? 0.0 : z->beta * old[i];
            if (memcmp(&got[i], &wanted, sizeof wanted) != 0)
                fail_msg("%s, k = %d, alpha %g, beta %g, way %d: %g, not %g of %g", z->name, (int)z->k, z->alpha, z->beta, way, got[i], wanted, old[i]);
        }
    }
}

/* alpha or k of 0, seen by the host or by the device, of entries, packed operands, and matrices of the host. */
TEST(a_zero_has_one_sign_in_all_ways) {
    static const char *const accuracies[] = {"fp64-exact", "fp64:reproducible", "fp32:reproducible", "fp64"};
    const double betas[] = {1, 0.5, -1};
    for (int type = HALFTONE_FP32; type <= HALFTONE_FP64; type += HALFTONE_FP64 - HALFTONE_FP32) {
        const char *name;
        for (int i = 0; (name = halftone_schemes(handle, type, i)) != NULL; i++) {
            const bool exact = type == HALFTONE_FP32 ? strncmp(name, "i8x", 3) == 0 : strncmp(name, "crt", 3) == 0 || strcmp(name, "i8x28") == 0;
            check_code(halftone_set_scheme(handle, name), name);
            for (int j = 0; j < 6; j++)
                check_zeros(&(struct zeros){type == HALFTONE_FP64, name, j < 3 ? ZERO_K : 0, j < 3 ? 0 : 1, betas[j % 3]}, exact);
        }
    }
    for (int i = 0; i < 4; i++) {
        if (halftone_set_accuracy(handle, accuracies[i]) != HALFTONE_OK)
            continue;
        for (int j = 0; j < 6; j++)
            check_zeros(&(struct zeros){i != 2, accuracies[i], j < 3 ? ZERO_K : 0, j < 3 ? 0 : 1, betas[j % 3]}, i < 3);
    }
}

TEST(scalars_may_be_on_the_device) {
    const double scalars[2] = {2, -3}, host[4] = {1, 2, 3, 4};
    double *device = on_device(scalars, 2), *x = on_device(host, 4), got[4];
    check_code(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), "mode");
    check_code(halftone_dgemm(handle, 'N', 'N', 1, 1, 1, device, x, 1, x + 1, 1, device + 1, x + 2, 1), "product"); /* 4 - 9 */
    check_code(halftone_dgemm(handle, 'N', 'N', 1, 1, 0, device, NULL, 1, NULL, 1, device + 1, x + 3, 1), "scale");
    check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "mode");
    download(got, x, sizeof got / sizeof *got);
    assert_true(got[2] == -5 && got[3] == -12);
}

/* ---- rules ---- */

TEST(zeros_read_nothing) {
    const double zero = 0, one = 1, two = 2, host[2] = {-0.0, NAN};
    double *c = on_device(host, 2), got[2];
    check_code(halftone_dgemm(handle, 'N', 'N', 0, 5, 5, &one, NULL, 1, NULL, 5, &zero, NULL, 1), "m = 0");
    check_code(halftone_dgemm(handle, 'N', 'N', 1, 1, 5, &zero, NULL, 1, NULL, 5, &one, c, 1), "C as it is");
    check_code(halftone_dgemm(handle, 'N', 'N', 1, 1, 5, &zero, NULL, 1, NULL, 5, &two, c, 1), "scale");
    check_code(halftone_dgemm(handle, 'N', 'N', 1, 1, 0, &one, NULL, 1, NULL, 1, &zero, c + 1, 1), "zero");
    download(got, c, sizeof got / sizeof *got);
    assert_true(got[0] == 0 && signbit(got[0]) && got[1] == 0);
}

TEST(arguments_have_dgemms_numbers) {
    const double one = 1;
    double *x = on_device(&one, 1);
    const double *odd = (const double *)(const void *)((const char *)x + 4); /* a float's alignment */
    assert_int_equal(halftone_dgemm(NULL, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &one, x, 1), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_dgemm(handle, 'X', 'N', 1, 1, 1, &one, x, 1, x, 1, &one, x, 1), -1);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, 1, -1, &one, x, 1, x, 1, &one, x, 1), -5);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, 1, 1, NULL, x, 1, x, 1, &one, x, 1), -6);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, 1, 1, &one, odd, 1, x, 1, &one, x, 1), -7);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 2, 1, 1, &one, x, 1, x, 1, &one, x, 2), -8);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, 1, 1, &one, x, 1, odd, 1, &one, x, 1), -9);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &one, (double *)(uintptr_t)odd, 1), -12);
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', HALFTONE_SIZE_MAX + 1, 1, 1, &one, x, HALFTONE_SIZE_MAX + 1, x, 1, &one, x,
                                    HALFTONE_SIZE_MAX + 1), HALFTONE_TOO_LARGE);
    /* 2^28 columns of 2^31 elements are 2^59 elements: an address counts so many floats, not doubles */
    const int64_t n = INT64_C(1) << 28, ld = INT64_C(3) << 31;
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', 1, n, 1, &one, x, 1, x, 1, &one, x, ld), HALFTONE_TOO_LARGE);
}

/* Kernels of vectors and small K have no scheme in their names. */
static const char *scheme_of_kernel(const char *name) {
    const struct ht_set_desc *const set = set_of_handle()->fp64;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].name, name) == 0)
            return set->kernel[i].scheme;
    return "";
}

TEST(queries_say_what_runs) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes = 1;
    check_code(halftone_dquery(handle, 'N', 'N', 500, 500, 500, 1, &plan), "query");
    assert_true(strcmp(plan.scheme, "native64") == 0 || plan.moduli > 1); /* residues where FP64 units are few */
    assert_string_equal(scheme_of_kernel(plan.kernel), plan.scheme);
    assert_true(plan.bound_units == 504 && plan.error_bound == 504 * 0x1p-53 && plan.kernel_ns > 0);
    check_code(halftone_dworkspace_bytes(handle, 'N', 'N', 500, 500, 500, 1, &bytes), "bytes");
    assert_int_equal(bytes, plan.workspace_bytes);
    assert_int_equal(halftone_set_scheme(handle, "fp32:native64"), HALFTONE_UNKNOWN_SCHEME);
    if (halftone_schemes(handle, HALFTONE_FP32, 0) == NULL)
        return; /* a set of FP64 alone */
    check_code(halftone_query(handle, 'N', 'N', 500, 500, 500, 1, &plan), "FP32"); /* no plan is taken for the other type's */
    assert_true(strcmp(plan.scheme, "native64") != 0 && plan.error_bound == (double)plan.bound_units * 0x1p-24);
}

static int setup(void **s) {
    (void)s;
    return create_handle();
}

static int begin(void **s) {
    norm_bound = 0;
    is_exact = false;
    return reset_handle(s);
}

FOR_ALL(setup, close_handle)
FOR_EACH(begin, NULL)

/* ---- FP32 by FP16 slices ---- */

/* An FP32 product that a scheme of FP64's kernels computes; host: of matrices in host memory. */
struct floats {
    const char *name;
    char ta, tb;
    int m, n, k, batch;
    double alpha, beta;
    bool whole, on_device, host;
};

enum { FLOATS_GAP = 3 };
static int not_nearest; /* of a product's elements */

/* Column-major, `rows` of `cols`, behind each other; NaN where nothing is. */
static double *matrices_of(const struct floats *p, int rows, int cols, bool there) {
    double *const x = keep(malloc((size_t)((rows + FLOATS_GAP) * cols * p->batch) * sizeof *x), free);
    for (int i = 0; i < (rows + FLOATS_GAP) * cols * p->batch; i++) {
        const double u = uniform(), wide = u * exp(4 * uniform());
        x[i] = !there || i % (rows + FLOATS_GAP) >= rows ? NAN : p->whole ? floor(u * 1000) : (double)(float)wide;
    }
    return x;
}

/* Within 8 sqrt(k) 2^-24 of |A||B|, or nearest to an exact sum of whole numbers, rounded once. */
static void check_float(const struct floats *p, const double *a, const double *b, int a_step, int b_step, double old, float got) {
    double sum = 0, size = 0; /* exact where numbers are whole */
    for (int i = 0; i < p->k; i++) {
        sum += a[i * a_step] * b[i * b_step];
        size += fabs(a[i * a_step] * b[i * b_step]);
    }
    const double with_c = p->beta != 0 ? p->beta * old : 0, exact = p->alpha * sum + with_c;
    const double bound = p->whole ? 0 : 0x1p-24 * (8 * sqrt(p->k) * fabs(p->alpha) * size + fabs(exact));
    not_nearest += got != (float)exact;
    if (p->whole ? got != (float)exact : !(fabs((double)got - exact) <= bound))
        fail_msg("%s %c%c %dx%dx%d: %a, not %a", p->name, p->ta, p->tb, p->m, p->n, p->k, (double)got, exact);
}

static void check_floats(const struct floats *p) {
    const struct zeros type = {false, p->name, p->k, p->alpha, p->beta};
    const bool turns_a = p->ta != 'N', turns_b = p->tb != 'N';
    const int rows_a = turns_a ? p->k : p->m, rows_b = turns_b ? p->n : p->k;
    const int lda = rows_a + FLOATS_GAP, ldb = rows_b + FLOATS_GAP, ldc = p->m + FLOATS_GAP;
    const int size_a = lda * (turns_a ? p->m : p->k), size_b = ldb * (turns_b ? p->k : p->n), size_c = ldc * p->n;
    double *const a = matrices_of(p, rows_a, turns_a ? p->m : p->k, true), *const b = matrices_of(p, rows_b, turns_b ? p->k : p->n, true),
           *const c = matrices_of(p, p->m, p->n, p->beta != 0);
    void *(*const to)(const struct zeros *z, const double *x, int count) = p->host ? typed : loaded;
    const double scalars[2] = {p->alpha, p->beta};
    const float *const factors = (p->on_device ? loaded : typed)(&type, scalars, 2);
    const float *const fa = to(&type, a, size_a * p->batch), *const fb = to(&type, b, size_b * p->batch);
    float *const fc = to(&type, c, size_c * p->batch), *got = fc;
    check_code(halftone_set_pointer_mode(handle, p->on_device ? HALFTONE_DEVICE : HALFTONE_HOST), "mode");
    check_code(p->host ? halftone_sgemm_host(handle, p->ta, p->tb, p->m, p->n, p->k, factors, fa, lda, fb, ldb, factors + 1, fc, ldc)
                       : halftone_sgemm_strided_batched(handle, p->ta, p->tb, p->m, p->n, p->k, factors, fa, lda, size_a, fb, ldb, size_b,
                                                        factors + 1, fc, ldc, size_c, p->batch),
               p->name);
    check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "mode");
    if (!p->host) {
        got = keep(malloc((size_t)(size_c * p->batch) * sizeof *got), free);
        OK(ht_dev_download(got, fc, (size_t)(size_c * p->batch) * sizeof *got));
    }
    for (int i = 0; i < size_c * p->batch; i++) {
        const int entry = i / size_c, row = i % ldc, col = i % size_c / ldc;
        if (row >= p->m)
            assert_true(isnan(got[i]));
        else
            check_float(p, a + entry * size_a + (turns_a ? row * lda : row), b + entry * size_b + (turns_b ? col : col * ldb), turns_a ? 1 : lda,
                        turns_b ? ldb : 1, c[i], got[i]);
    }
}

/* By the same kernels as ozaki's, also in turns with it at the same sizes. */
TEST(floats_by_slices) {
    static const struct floats problems[] = {
        {"ozaki-sp:d=8", 'N', 'N', 70, 66, 33, 1, 1, 0, true, false, false},     {"ozaki-sp:d=8", 'T', 'N', 130, 3, 200, 1, 2, -1, true, true, false},
        {"ozaki-sp", 'N', 'T', 5, 67, 130, 3, -0.5, 1, false, false, false},     {"ozaki-sp", 'T', 'T', 65, 129, 40, 2, 1, 0, false, false, false},
        {"ozaki-sp", 'N', 'N', 33, 40, 300, 1, 0.3, -1.7, false, true, false},   {"ozaki-sp", 'T', 'T', 9, 11, 70, 1, 1, 2, false, false, true},
        {"ozaki-sp", 'N', 'N', 300, 150, 2, 1, 1, 0, true, false, false},        {"ozaki-sp:d=9", 'N', 'T', 20, 70, 64, 1, 0.5, 1, true, false, true}};
    static const char *const bad[] = {"ozaki-sp:", "ozaki-sp:d=0", "ozaki-spx", "ozaki-sp-cr", "fp64:ozaki-sp", "fp32:ozaki", "fp32:ozaki-cr"};
    const struct problem beside = PROBLEM("integers", 'N', 'N', 33, 40, 300, 1, 1, 0, false);
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const char *name;
    size_t bytes;
    if (halftone_set_scheme(handle, "ozaki") != HALFTONE_OK)
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(halftone_set_scheme(handle, bad[i]), HALFTONE_UNKNOWN_SCHEME);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct floats *const p = &problems[i];
        check_code(halftone_set_scheme(handle, p->name), p->name);
        check_code(halftone_get_scheme(handle, HALFTONE_FP32, &name), p->name);
        assert_string_equal(name, p->name);
        check_code(halftone_query(handle, p->ta, p->tb, p->m, p->n, p->k, p->batch, &plan), p->name);
        assert_true(strcmp(plan.scheme, "ozaki") == 0 && plan.fixed_point && plan.unit_exponent == -24 && plan.native_ns == 0);
        assert_true(plan.error_bound == (double)plan.bound_units * 0x1p-24 && plan.error_bound < 0.1);
        state = i + 1;
        not_nearest = 0;
        check_floats(p);
        assert_true(p->whole || not_nearest > 0); /* no more slices than SGEMM's error asks for */
        if (p->m == beside.m)
            check(&beside, NULL);
        check_floats(p);
    }
    assert_int_equal(halftone_packed_bytes(handle, 'A', 9, 9, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    const float far[3] = {INFINITY, 1, 2}, one = 1, zero = 0;
    float *const x = kept_on_device(sizeof far), got[2];
    OK(ht_dev_upload(x, far, sizeof far));
    check_code(halftone_sgemm(handle, 'N', 'N', 2, 1, 1, &one, x, 2, x + 1, 1, &zero, x, 2), "Inf"); /* a row, as FP64's */
    OK(ht_dev_download(got, x, sizeof got));
    assert_true(isnan(got[0]) && got[1] == 1);
    check_code(halftone_set_scheme(handle, "auto"), "auto");
}
