/* test_reproducible: the fixed-point schemes give the same bits everywhere. Everywhere is the function `reference` below, a
 * computation in 64-bit integers on the CPU that shares no line with the kernels; every kernel, split, transpose and
 * batch position is held to it bit for bit, on each set of kernels and on a GPU. Also their limits: data that would
 * overflow 32 bits, k beyond one part, k beyond all, NaN and Inf, and the bound. */
#include <math.h>

#include "../../runtime/ht_cost.h"
#include "../../runtime/ht_pick.h"
#include "product32.h"

static int small;

/* ---- the schemes, from their definition (gen/facts/scheme.c, FIXED_POINT) ---- */

static int digits_of(const struct ht_scheme_desc *s) {
    return s->slices;
}

/* The scale of a row: a power of two that puts its largest below what rounds to 0x7f7f80 of 2^-16, 127.498; INT32_MAX: the row has NaN or Inf. */
static int row_scale(const float *x, int64_t count, int64_t step) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i * step]))
            return INT32_MAX;
        most = fmax(most, fabs((double)x[i * step]));
    }
    int e = -126;
    while (e < 122 && !(most < ldexp(8355711.5 / 65536, e)))
        e++;
    return e;
}

/* Whole digits of the row's elements, the first slice first, [digit][element]. */
static void row_digits(int digits, int scale, const float *x, int64_t count, int64_t step, int8_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t rest =
            scale == INT32_MAX ? 0 : (int64_t)rint(ldexp((double)x[i * step], 8 * (digits - 1) - scale));
        for (int d = digits - 1; d >= 0; d--) {
            int64_t digit = rest & 255;
            digit -= digit > 127 ? 256 : 0;
            out[d * count + i] = (int8_t)digit;
            rest = (rest - digit) / 256;
        }
        assert_int_equal(rest, 0); /* the first digit held the rest */
    }
}

static float scaled(float v, int e) {
    const int half = e >= 0 ? e / 2 : -((1 - e) / 2);
    return (float)ldexp((double)(float)ldexp((double)v, half), e - half);
}

/* C = alpha A B + beta C in integers: the sum of all digit products of levels below `digits`, rounded to FP32 once. */
static float *reference(const struct ht_scheme_desc *s, const struct product *p) {
    const int digits = digits_of(s);
    float *const c = host_floats(p->m * p->n);
    int8_t *da = kept((size_t)(p->m * p->k * digits)), *db = kept((size_t)(p->n * p->k * digits));
    int *ea = kept((size_t)p->m * sizeof *ea), *eb = kept((size_t)p->n * sizeof *eb);
    for (int64_t i = 0; i < p->m; i++) {
        ea[i] = row_scale(p->a + i, p->k, p->m);
        row_digits(digits, ea[i], p->a + i, p->k, p->m, da + i * p->k * digits);
    }
    for (int64_t j = 0; j < p->n; j++) {
        eb[j] = row_scale(p->b + j * p->k, p->k, 1);
        row_digits(digits, eb[j], p->b + j * p->k, p->k, 1, db + j * p->k * digits);
    }
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            int64_t sum = 0;
            for (int x = 0; x < digits; x++) {
                for (int y = 0; x + y < digits; y++) {
                    const int8_t *u = da + (i * digits + x) * p->k, *v = db + (j * digits + y) * p->k;
                    int64_t level = 0;
                    for (int64_t l = 0; l < p->k; l++)
                        level += u[l] * v[l];
                    sum += level * (INT64_C(1) << (8 * (digits - 1 - x - y)));
                }
            }
            const bool poisoned = ea[i] == INT32_MAX || eb[j] == INT32_MAX;
            float v =
                poisoned ? NAN : scaled((float)ldexp((double)(float)sum, -8 * (digits - 1)), ea[i] + eb[j]);
            v *= p->alpha;
            c[j * p->m + i] = p->beta != 0 ? fmaf(p->beta, p->c[j * p->m + i], v) : v;
        }
    }
    return c;
}

static void compare(const char *what, const struct product *p, const float *want, const float *got) {
    for (int64_t i = 0; i < p->m * p->n; i++) {
        if (!same_or_nan(want[i], got[i]))
            fail_msg("%s, %lldx%lldx%lld: element %lld is %a, in integers %a", what, (long long)p->m,
                     (long long)p->n, (long long)p->k, (long long)i, (double)got[i], (double)want[i]);
    }
}

/* ---- ways to compute it ---- */

/* Both operands packed by the library; a blob is exponents and where blocks meet, rounded up to 1024 bytes, then panels. */
struct packed {
    char *a, *b;
    int64_t a_panels, b_panels; /* bytes into the blobs */
};

static int64_t panels_at(const struct ht_scheme_desc *s, int64_t rows, int64_t k) {
    const int64_t meeting = ht_ceil_div(ht_exchange_ints(s, rows, k), 64) * 64;
    return ht_ceil_div((ht_ceil_div(rows, 64) * 64 + meeting) * 4, 1024) * 1024;
}

static struct packed pack(const struct ht_scheme_desc *s, const struct product *p) {
    size_t bytes_a, bytes_b;
    struct packed x = {.a_panels = panels_at(s, p->m, p->k), .b_panels = panels_at(s, p->n, p->k)};
    check_code(halftone_packed_bytes(handle, 'A', p->m, p->k, 1, &bytes_a), "bytes of A");
    check_code(halftone_packed_bytes(handle, 'B', p->n, p->k, 1, &bytes_b), "bytes of B");
    x.a = kept_on_device(bytes_a);
    x.b = kept_on_device(bytes_b);
    float *a = on_device(p->a, p->m * p->k), *b = on_device(p->b, p->k * p->n);
    check_code(halftone_pack_ab(handle, 'N', 'N', p->m, p->n, p->k, a, p->m, b, p->k, x.a, x.b), "pack");
    return x;
}

/* One kernel with a split of our choice, launched as the library launches it. */
static const float *by_kernel(const struct ht_scheme_desc *s, const struct ht_kernel_desc *kernel, const struct product *p,
                              const struct packed *x, int splits) {
    void *partial = kept_on_device((size_t)(p->m * p->n * splits) * 8);
    float *dc = on_device(p->c, p->m * p->n);
    struct ht_gemm_args g = {.a_packed = {.panels = (unsigned char *)x->a + x->a_panels, .row_absmax = (int *)(void *)x->a},
                             .b_packed = {.panels = (unsigned char *)x->b + x->b_panels, .row_absmax = (int *)(void *)x->b},
                             .to = {.c = dc, .ldc = p->m, .alpha.f32 = p->alpha, .beta.f32 = p->beta},
                             .partial = partial,
                             .m = (int)p->m,
                             .n = (int)p->n,
                             .k_blocks = (int)ht_k_blocks(s, p->k),
                             .splits = splits,
                             .batch = 1};
    int code = ht_dev_check(kernel->init());
    if (code == HT_DEV_OK)
        code = ht_dev_check(ht_launch_gemm(kernel, &g, NULL));
    if (code == HT_DEV_OK && splits > 1)
        code = ht_dev_check(s->reduce(&g, NULL));
    if (code != HT_DEV_OK)
        fail_msg("%s: %s", kernel->name, ht_dev_detail());
    return download(host_floats(p->m * p->n), dc, p->m * p->n);
}

/* The next scheme with exact sums from index *i on, selected by the name of its class; NULL: no more. */
static const struct ht_scheme_desc *next_scheme(int *i) {
    for (; *i < ht_sets[0]->schemes; (*i)++) {
        const struct ht_scheme_desc *s = &ht_sets[0]->scheme[*i];
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        char text[32];
        if (s->exact_k == 0)
            continue;
        snprintf(text, sizeof text, "reproducible:%d", s->products);
        check_code(halftone_set_accuracy(handle, text), text);
        check_code(halftone_query(handle, 'N', 'N', 1, 1, 1, 1, &plan), text);
        assert_string_equal(plan.scheme, s->name);
        (*i)++;
        return s;
    }
    return NULL;
}

/* Class `reproducible` without a number is i8x6. */
TEST(the_class_is_the_scheme_of_six_products) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check_code(halftone_set_accuracy(handle, "reproducible"), "reproducible");
    check_code(halftone_query(handle, 'N', 'N', 9, 9, 9, 1, &plan), "query");
    assert_string_equal(plan.scheme, "i8x6");
    assert_true(plan.fixed_point);
}

/* ---- tests ---- */

TEST(families_and_transposes) {
    static const char *const families[] = {"uniform",  "llm",       "normal",    "phi2",    "integers",
                                           "hugetiny", "rowscales", "subnormal", "dscaled", "zeros"};
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
            struct product p = product_of(f & 1 ? 'T' : 'N', f & 2 ? 'T' : 'N', 67, 35, f % 2 ? 131 : 300, families[f]);
            p.alpha = 1.25f;
            p.beta = f % 3 ? 0 : -0.5f;
            compare(families[f], &p, reference(s, &p), run(&p, families[f]));
            product_free(&p);
        }
    }
}

TEST(every_kernel_and_split) {
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        struct product p = PRODUCT('N', 'N', 140, 70, 900, 0, -3, 2, "normal");
        product_fill(&p);
        struct packed x = pack(s, &p);
        const float *const want = reference(s, &p);
        for (int k = 0; k < ht_sets[0]->kernels; k++) {
            if (strcmp(ht_sets[0]->kernel[k].scheme, s->name) != 0)
                continue;
            for (int splits = 1; splits <= 7; splits += 2)
                compare(ht_sets[0]->kernel[k].name, &p, want, by_kernel(s, &ht_sets[0]->kernel[k], &p, &x, splits));
        }
        product_free(&p);
    }
}

/* All elements are 0x7f7f7f...: every digit is 127, every level grows as fast as it can. */
static struct product of_largest(int64_t k) {
    struct product p = product_of('N', 'N', 1, 1, k, NULL);
    for (int64_t i = 0; i < p.m * p.k; i++)
        p.a[i] = ldexpf(0x7f7f7fp0f, -23);
    for (int64_t i = 0; i < p.k * p.n; i++)
        p.b[i] = -0x7f7f7fp0f;
    return p;
}

static const struct ht_kernel_desc *first_kernel(const struct ht_scheme_desc *s) {
    for (int k = 0; k < ht_sets[0]->kernels; k++) {
        if (strcmp(ht_sets[0]->kernel[k].scheme, s->name) == 0 && ht_sets[0]->kernel[k].variant[0] == 0)
            return &ht_sets[0]->kernel[k];
    }
    return NULL;
}

static int64_t pieces_of(const struct ht_scheme_desc *s, int64_t k) {
    return ht_ceil_div(ht_padded_k(s, k), HT_FEW_ROWS_K);
}

static void *filled(size_t bytes, int byte) {
    void *const there = kept_on_device(bytes), *const here = memset(kept(bytes), byte, bytes);
    OK(ht_dev_upload(there, here, bytes));
    return there;
}

/* One side packed by the library, the other (0: A) read as it is; parts and what is written before C hold no zeros. */
static const float *by_few_rows(const struct ht_scheme_desc *s, const struct product *p, int large) {
    const struct operand x[2] = {stored(p, 'A', p->ta), stored(p, 'B', p->tb)}, c = stored_c(p), *const w = &x[large];
    const int64_t rows = large == 0 ? p->m : p->n, few = large == 0 ? p->n : p->m, splits = pieces_of(s, p->k);
    const size_t ints = (size_t)(ht_ceil_div(rows, 32) * (32 * splits + 1));
    size_t bytes;
    check_code(halftone_packed_bytes(handle, large == 0 ? 'B' : 'A', few, p->k, 1, &bytes), "bytes");
    char *const blob = kept_on_device(bytes);
    check_code(large == 0 ? halftone_pack_b(handle, p->tb, p->k, p->n, x[1].device, x[1].ld, blob)
                          : halftone_pack_a(handle, p->ta, p->m, p->k, x[0].device, x[0].ld, blob), "pack");
    const struct ht_packed packed = {.panels = (unsigned char *)blob + panels_at(s, few, p->k), .row_absmax = (int *)(void *)blob},
                           as_it_is = {.row_absmax = filled((size_t)ht_ceil_div(rows, 64) * 64 * sizeof(int), 0x55)};
    const struct ht_pack_args args = {.src = w->device, .ld = w->ld, .rows = (int)rows, .k = (int)p->k, .k_blocks = (int)ht_k_blocks(s, p->k),
                                      .k_contiguous = w->k_contiguous, .to = as_it_is, .absmax_exchange = filled(ints * sizeof(int), 0xff), .batch = 1};
    const struct ht_gemm_args g = {.a_packed = large == 0 ? as_it_is : packed, .b_packed = large == 0 ? packed : as_it_is, .m = (int)p->m, .n = (int)p->n,
                                   .k_blocks = args.k_blocks, .splits = (int)splits, .batch = 1,
                                   .to = {.c = c.device, .ldc = c.ld, .alpha.f32 = p->alpha, .beta.f32 = p->beta},
                                   .partial = filled((size_t)(p->m * p->n * splits) * 8, 0x55)};
    int code = ht_dev_check(s->few_rows(&args, &g, NULL));
    if (code == HT_DEV_OK && splits > 1)
        code = ht_dev_check(s->reduce(&g, NULL));
    if (code != HT_DEV_OK)
        fail_msg("%s: %s", s->few_rows_name, ht_dev_detail());
    int *const left = kept(ints * sizeof *left);
    OK(ht_dev_download(left, args.absmax_exchange, ints * sizeof *left));
    for (size_t i = 0; i < ints; i++)
        assert_int_equal(left[i], -1); /* as the next launch wants it */
    return dense_result(p, &c);
}

/* Whatever the layout: aligned or not, whole pieces and their ends, one piece and more than a thread collects at once, more than there are blocks. */
TEST(few_rows_by_either_side) {
    struct product table[] = {
        PRODUCT('N', 'N', 1, 40, 520, 0, 1, 0, "normal"),       PRODUCT('T', 'N', 64, 7, 1100, 4, -3, 2, "uniform"),
        PRODUCT('T', 'T', 33, 9, 1030, 3, 1, 0, "rowscales"),   PRODUCT('N', 'N', 68, 17, 600, 4, 1.5f, -0.5f, "hugetiny"),
        PRODUCT('N', 'T', 5, 97, 513, 0, 1, 1, "subnormal"),    PRODUCT('N', 'T', 3, 64, 2048, 0, 1, 0, "llm"),
        PRODUCT('T', 'N', 31, 2, 60, 1, 0.5f, 3, "integers"),   PRODUCT('N', 'N', 2, 33, 8900, 0, 1, 0, "dscaled"),
        PRODUCT('N', 'T', 70, 66, 450, 2, -1, 0.25f, "normal"), PRODUCT('T', 'N', 128, 3, 1024, 0, 1, 0, "normal"),
        PRODUCT('T', 'N', 40, 1, 1536, 0, 1, 0, "zeros"),       PRODUCT('T', 'T', 70, 16, 600, 2, 1, 0, "uniform"),
        PRODUCT('N', 'N', 128, 15, 1100, 4, 1.5f, -0.5f, "hugetiny")};
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        assert_int_equal(s->few_rows == NULL, strncmp(ht_sets[0]->isa, "gfx", 3) == 0);
        for (size_t t = 0; t < sizeof table / sizeof *table && s->few_rows != NULL; t++) {
            struct product p = table[t];
            p.offset = (int64_t)t % 3; /* of each matrix: 16 bytes' multiples and not */
            product_fill(&p);
            if (t % 4 == 1) {
                p.a[p.m - 1 + 400 * p.m] = -INFINITY;
                p.b[(p.n - 1) * p.k + 5] = NAN;
            }
            const float *const want = reference(s, &p);
            compare("few rows of B", &p, want, by_few_rows(s, &p, 0));
            compare("few rows of A", &p, want, by_few_rows(s, &p, 1));
            product_free(&p);
        }
    }
}

/* The library takes it where it is predicted to be faster, with the workspace that it asks for, one call like the next. */
TEST(few_rows_have_the_bits_of_packed_operands) {
    static const struct product table[] = {PRODUCT('T', 'N', 2048, 12, 1100, 0, 1, 0, "normal"), PRODUCT('N', 'T', 11, 2100, 1024, 0, -2, 1, "llm"),
                                           PRODUCT('T', 'N', 1728, 2, 2500, 0, 1, 0, "normal"), /* more pieces than a card holds at once */
                                           PRODUCT('T', 'T', 3, 4352, 1024, 0, 1, 0.5f, "uniform")};
    const struct ht_scheme_desc *s;
    int could = 0, taken = 0;
    for (int i = 0; (s = next_scheme(&i)) != NULL && !small;) {
        for (size_t t = 0; t < sizeof table / sizeof *table && s->few_rows != NULL; t++) {
            struct product p = table[t];
            product_fill(&p);
            const struct halftone_plan plan = plan_of(&p);
            could++;
            if (strcmp(plan.kernel, s->few_rows_name) != 0) { /* of a whole set another may be faster */
                product_free(&p);
                continue;
            }
            taken++;
            EQUAL({plan.splits, pieces_of(s, p.k)}, {plan.bk, HT_FEW_ROWS_K}, {halftone_set_kernel(handle, plan.kernel), HALFTONE_UNKNOWN_KERNEL});
            assert_non_null(strstr(halftone_last_detail(handle), "can be set: a product's shape chooses it"));
            const float *const want = reference(s, &p);
            for (int own = 0; own < 3; own++) {
                check_code(halftone_set_workspace(handle, own == 2 ? kept_on_device(plan.workspace_bytes) : NULL, own == 2 ? plan.workspace_bytes : 0), "workspace");
                compare(plan.kernel, &p, want, run(&p, plan.kernel));
            }
            check_code(halftone_set_workspace(handle, NULL, 0), "workspace");
            check_code(halftone_set_workspace_limit(handle, 960000), "limit"); /* two launches, where memory is slow enough */
            const struct halftone_plan less = plan_of(&p);
            assert_true(less.blocks == 1 ? strcmp(less.kernel, s->few_rows_name) == 0 : strcmp(ht_sets[0]->gpu, "t4") != 0 || t > 1);
            compare("some rows at once", &p, want, run(&p, "some rows at once"));
            check_code(halftone_set_workspace_limit(handle, 0), "limit");
            check_code(halftone_set_kernel(handle, first_kernel(s)->name), "kernel");
            compare("the packed operands", &p, want, run(&p, first_kernel(s)->name));
            check_code(halftone_set_kernel(handle, NULL), "kernel");
            product_free(&p);
        }
    }
    assert_true(could == 0 || taken > 0);
}

static const float *by_packed_operands(const struct ht_scheme_desc *s, const struct product *p) {
    const struct packed x = pack(s, p);
    const struct operand c = stored_c(p);
    check_code(halftone_sgemm_packed(handle, p->m, p->n, p->k, &p->alpha, x.a, x.b, &p->beta, c.device, c.ld), "packed operands");
    return dense_result(p, &c);
}

/* One row or column, where k is contiguous in both: fewer rows than blocks and more, also of a card, one warp and all, misaligned, and any k. */
TEST(one_row_has_the_bits_of_packed_operands) {
    struct product table[] = {PRODUCT('T', 'N', 20, 1, 1030, 0, 1, 0, "normal"),     PRODUCT('T', 'N', 1, 133, 2500, 4, -3, 2, "uniform"),
                              PRODUCT('T', 'T', 7, 1, 1024, 0, 1.5f, 0, "rowscales"), PRODUCT('T', 'N', 1, 13, 4100, 8, 1, 0.5f, "hugetiny"),
                              PRODUCT('T', 'N', 1, 1, 5, 3, 1, 0, "integers"),        PRODUCT('T', 'N', 5, 1, 0, 0, 1, 0, "llm"),
                              PRODUCT('N', 'N', 1, 70, 66, 0, 1, 1, "subnormal"),     PRODUCT('T', 'N', 26, 1, 700, 4, 1, 0, "zeros"),
                              PRODUCT('T', 'N', 19, 1, 2047, 1, 2, 0, "dscaled"),     PRODUCT('T', 'N', 40, 1, 1536, 0, 1, 0, "normal"),
                              PRODUCT('T', 'N', 2200, 1, 1028, 0, 1, 0, "normal"),  PRODUCT('T', 'N', 1, 950, 4100, 0, 1, 0, "phi2")};
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        for (size_t t = 0; t < sizeof table / sizeof *table && s->one_row != NULL; t++) {
            struct product p = table[t];
            p.k = p.k > 0 ? p.k : s->one_row_k;
            p.offset = t % 4 == 3 ? 4 : (int64_t)t % 4; /* 16 bytes' multiples and not */
            product_fill(&p);
            if (t % 4 == 1) /* of the matrix, and once of the row */
                *(p.m > 1 ? &p.a[3 * p.m] : &p.b[3]) = t < 8 ? INFINITY : NAN;
            if (t == 2)
                p.b[900] = NAN;
            const struct halftone_plan plan = plan_of(&p);
            if (p.m == 1 ? p.ta != 'N' : p.tb == 'N') { /* else only a call knows it, by its ld */
                assert_string_equal(plan.kernel, s->one_row_name);
                EQUAL({plan.splits, 1}, {plan.pack_ns, 0}, {halftone_set_kernel(handle, plan.kernel), HALFTONE_UNKNOWN_KERNEL});
            }
            const float *const want = reference(s, &p);
            compare(plan.kernel, &p, want, run(&p, plan.kernel));
            compare("packed operands", &p, want, by_packed_operands(s, &p));
            product_free(&p);
        }
        const struct product others[] = {PRODUCT('T', 'N', 4, 1, s->one_row_k + 1, 0, 1, 0, NULL), PRODUCT('N', 'N', 4, 1, 64, 0, 1, 0, NULL),
                                         PRODUCT('T', 'T', 4, 1, 64, 1, 1, 0, NULL), PRODUCT('T', 'N', 4, 2, 64, 0, 1, 0, NULL)};
        for (size_t t = 0; t < sizeof others / sizeof *others; t++)
            assert_null(strstr(plan_of(&others[t]).kernel, "_one_row_"));
    }
}

/* What a handle remembers of a product is of how k lies in both matrices. */
TEST(one_row_is_remembered_as_it_lies) {
    const struct product table[] = {PRODUCT('T', 'N', 64, 1, 64, 0, 1, 0, "normal"), PRODUCT('N', 'N', 64, 1, 64, 0, 1, 0, "normal"),
                                    PRODUCT('T', 'N', 64, 1, 64, 0, 1, 0, "normal"), PRODUCT('N', 'N', 1, 140, 960, 0, 1, 0, "normal"),
                                    PRODUCT('N', 'N', 1, 140, 960, 1, 1, 0, "normal"), PRODUCT('N', 'T', 1, 140, 960, 0, 1, 0, "normal"),
                                    PRODUCT('N', 'N', 1, 140, 960, 0, 1, 0, "normal")};
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
            struct product p = table[t];
            product_fill(&p);
            compare("the same sizes, lying otherwise", &p, reference(s, &p), run(&p, "the same sizes"));
            product_free(&p);
        }
    }
}

/* x is widened to a leading dimension of its own. */
TEST(one_row_of_16_bits) {
    const float one = 1, zero = 0;
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        struct product p = PRODUCT('N', 'N', 1, 140, 960, 0, 1, 0, "integers");
        product_fill(&p);
        const struct operand x[] = {stored(&p, 'A', 'N'), stored(&p, 'B', 'N')}, c = stored_c(&p);
        void *const narrow[] = {narrow_copy(HALFTONE_BF16, &x[0], 0), narrow_copy(HALFTONE_BF16, &x[1], 0)};
        check_code(halftone_gemm_ex(handle, 'N', 'N', p.m, p.n, p.k, &one, narrow[0], x[0].ld, 0, narrow[1], x[1].ld, 0, &zero, c.device, c.ld, 0, 1, HALFTONE_BF16), "BF16");
        compare("one row of BF16", &p, reference(s, &p), dense_result(&p, &c));
        product_free(&p);
    }
}

/* Without carries the last level overflows 32 bits from k = 2^31 / (digits * 127 * 127) on; the first nearly does in the
 * longest part of k (the simulator reports what hardware would wrap). The longest is tried with the cheapest scheme. */
TEST(one_part_holds_what_it_promises) {
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL && !small;) {
        const int64_t overflow_k = (INT64_C(1) << 31) / (digits_of(s) * 127 * 127);
        const struct product p = of_largest(digits_of(s) == 2 ? s->exact_k : overflow_k + 128);
        const struct packed x = pack(s, &p);
        compare("the largest digits", &p, reference(s, &p), by_kernel(s, first_kernel(s), &p, &x, 1));
        product_free(&p);
    }
}

/* Longer k is cut into parts; past 2^24 it is refused before anything runs. */
TEST(long_k_is_cut_or_refused) {
    const struct ht_scheme_desc *s;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        const int64_t most = (int64_t)s->exact_k * HT_PICK_SPLITS_MAX, large = 20000;
        check_code(halftone_query(handle, 'N', 'N', large, large, s->exact_k, 1, &plan), "query");
        EQUAL({plan.splits, 1}, {plan.fixed_point, 1});
        for (int64_t k = s->exact_k + 1; k <= most; k = 2 * k > most && k < most ? most : 2 * k) {
            check_code(halftone_query(handle, 'N', 'N', large, large, k, 1, &plan), "query");
            const int64_t steps = ht_ceil_div(ht_ceil_div(k, plan.bk), plan.splits);
            assert_true(steps * plan.bk <= s->exact_k);
            assert_true(plan.workspace_bytes >= (size_t)(large * large * plan.splits * 8));
        }
        assert_int_equal(halftone_query(handle, 'N', 'N', 1, 1, most + 1, 1, &plan), HALFTONE_TOO_LARGE);
        assert_non_null(strstr(halftone_last_detail(handle), s->name));
        if (small || digits_of(s) > 2) /* the cutting is the same for all */
            continue;
        const struct product p = product_of('N', 'N', 2, 3, s->exact_k + 1000, "llm");
        compare("k of several parts", &p, reference(s, &p), run(&p, "k of several parts"));
        product_free(&p);
    }
}

/* A row of A or column of B with NaN or Inf gives NaN, nothing else does; alpha == 0 makes it vanish. */
TEST(non_finite_rows_are_poisoned) {
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        for (int split = 0; split < 2; split++) {
            struct product p = product_of('N', 'T', 9, 7, split ? 4096 : 70, "uniform");
            p.a[4 + 5 * p.m] = NAN;
            p.a[6] = -INFINITY;
            p.b[2 * p.k + 69] = INFINITY;
            p.b[3 * p.k] = 3.0e38f; /* finite: no poison */
            const float *got = run(&p, "NaN and Inf");
            compare("NaN and Inf", &p, reference(s, &p), got);
            for (int64_t e = 0; e < p.m * p.n; e++)
                assert_int_equal(isnan(got[e]), e % p.m == 4 || e % p.m == 6 || e / p.m == 2);
            p.alpha = 0;
            p.beta = 1;
            got = run(&p, "alpha 0");
            for (int64_t e = 0; e < p.m * p.n; e++)
                assert_true(got[e] == p.c[e]);
            product_free(&p);
        }
    }
}

/* Rows whose largest is as small as it can be in its binade, all others just below with every digit but the first -128 and
 * half a unit of the last digit rounded away, in the direction of what is left out (bench/ACCURACY.md, section 8). */
TEST(adversaries_keep_the_bound) {
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        struct product p = product_of('N', 'N', 1, 1, 2048, NULL);
        int64_t last = 64; /* 64, -128, -128, ... in units of the last digit */
        for (int d = 1; d < digits_of(s); d++)
            last = last * 256 - 128;
        const double unit = ldexp(1, -8 * (digits_of(s) - 1)), half = digits_of(s) < 4 ? 0.5 : 0;
        for (int64_t l = 0; l < p.k; l++)
            p.a[l] = p.b[l] = l == 0 ? 0x1.fdfdfep5f : (float)(((double)last + half) * unit);
        double exact = 0;
        for (int64_t l = 0; l < p.k; l++)
            exact += (double)p.a[l] * (double)p.b[l];
        const double allowed = (double)plan_of(&p).bound_units * ldexp((double)p.k * (double)p.a[0] * (double)p.b[0], -24);
        const double share = fabs((double)run(&p, s->name)[0] - exact) / allowed;
        fprintf(stderr, "an adversary reaches %.2f of the bound of %s\n", share, s->name);
        assert_true(share <= 1);
        product_free(&p);
    }
}

/* ---- ranks share k; here one handle plays all, and the host reduces */

enum { RANKS_MOST = 7 };

struct ranks {
    int count;
    int64_t cut[RANKS_MOST + 1];
    const char *accuracy[RANKS_MOST]; /* of a rank, if it is another */
    int64_t row, column;              /* whose maxima a rank takes times `wrong`; -1: none */
    float wrong[RANKS_MOST + 1]; /* behind those of ranks: when they finish */
    int64_t more_k; /* that a further rank says it had */
};

static float *part_of(const struct operand *x, int64_t k) {
    return x->device + (x->k_contiguous ? k : k * x->ld);
}

/* All-reduced MAX of rows of A or columns of B, by their bits. */
static int32_t *maxima(const struct product *p, const struct ranks *r, const struct operand *a, const struct operand *b, int side) {
    const int64_t rows = side == 0 ? p->m : p->n;
    int32_t *const most = kept((size_t)rows * sizeof *most);
    memset(most, 0, (size_t)rows * sizeof *most);
    for (int i = 0; i < r->count; i++) {
        float one[256], *const to = kept_on_device((size_t)rows * sizeof *to);
        check_code(halftone_sgemm_maxima(handle, p->ta, p->tb, p->m, p->n, r->cut[i + 1] - r->cut[i], part_of(a, r->cut[i]), a->ld,
                                         part_of(b, r->cut[i]), b->ld, side == 0 ? to : NULL, side == 1 ? to : NULL),
                   "maxima");
        download(one, to, rows);
        for (int64_t j = 0; j < rows; j++) {
            int32_t bits;
            memcpy(&bits, &one[j], sizeof bits);
            most[j] = bits > most[j] ? bits : most[j];
        }
    }
    return most;
}

/* On the device, for one rank. */
static float *given(const int32_t *most, int64_t rows, int64_t at, float wrong) {
    float *const x = memcpy(host_floats(rows), most, (size_t)rows * sizeof *most);
    if (at >= 0)
        x[at] *= wrong;
    return on_device(x, rows);
}

static int64_t *all_sums; /* of the last product */

static float *over_ranks(const struct product *p, const struct ranks *r) {
    const struct operand a = stored(p, 'A', p->ta), b = stored(p, 'B', p->tb), c = stored_c(p);
    const size_t words = (size_t)HALFTONE_PARTIAL_WORDS(p->m, p->n), bytes = words * sizeof(int64_t);
    int64_t *const all = memset(kept(bytes), 0, bytes), *const one = kept(bytes), *const partial = kept_on_device(bytes);
    const int32_t *const rows = maxima(p, r, &a, &b, 0), *const columns = maxima(p, r, &a, &b, 1);
    const char *own = NULL;
    char kept_accuracy[32];
    check_code(halftone_get_accuracy(handle, HALFTONE_FP32, &own), "accuracy");
    snprintf(kept_accuracy, sizeof kept_accuracy, "fp32:%s", own);
    for (int i = 0; i < r->count; i++) {
        check_code(halftone_set_accuracy(handle, r->accuracy[i] != NULL ? r->accuracy[i] : kept_accuracy), "accuracy");
        check_code(halftone_sgemm_partial(handle, p->ta, p->tb, p->m, p->n, r->cut[i + 1] - r->cut[i], part_of(&a, r->cut[i]), a.ld,
                                          part_of(&b, r->cut[i]), b.ld, given(rows, p->m, r->row, r->wrong[i]),
                                          given(columns, p->n, r->column, r->wrong[i]), partial),
                   "partial");
        OK(ht_dev_download(one, partial, bytes));
        for (size_t w = 0; w < words; w++)
            all[w] += one[w];
    }
    all[words - 1] += r->more_k * (INT64_C(1) << 24);
    all_sums = all;
    check_code(halftone_set_accuracy(handle, kept_accuracy), "accuracy");
    OK(ht_dev_upload(partial, all, bytes));
    check_code(halftone_sgemm_finish(handle, p->m, p->n, &p->alpha, partial, given(rows, p->m, r->row, r->wrong[RANKS_MOST]),
                                     given(columns, p->n, r->column, r->wrong[RANKS_MOST]),
                                     &p->beta, c.device, c.ld),
               "finish");
    return dense_result(p, &c);
}

static int64_t below(int64_t limit) {
    static uint64_t state = 43;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((state >> 33) % (uint64_t)limit);
}

/* Parts of any size, some without any k. */
static struct ranks cut_into(int count, int64_t k) {
    struct ranks r = {.count = count, .row = -1, .column = -1};
    for (int i = 1; i < count; i++) {
        int64_t at = below(k + 1);
        int j = i;
        for (; j > 1 && r.cut[j - 1] > at; j--)
            r.cut[j] = r.cut[j - 1];
        r.cut[j] = at;
    }
    r.cut[count] = k;
    return r;
}

static void hold_ranks(const struct ht_scheme_desc *s, const struct product *p, int count) {
    const struct ranks r = cut_into(count, p->k);
    const float *const got = over_ranks(p, &r);
    compare("ranks, and one", p, run(p, "one rank"), got);
    if (p->alpha != 0)
        compare("ranks", p, reference(s, p), got);
}

TEST(ranks_have_the_bits_of_one) {
    static const char *const families[] = {"normal", "llm", "hugetiny", "rowscales", "subnormal", "dscaled", "zeros"};
    static const float scalars[] = {1, 0, -0.75f, 3};
    const struct ht_scheme_desc *s;
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        for (int round = 0; round < (small ? 4 : 12); round++) {
            struct product p = PRODUCT("NT"[below(2)], "NT"[below(2)], 1 + below(90), 1 + below(90), below(round % 4 ? 300 : 1400), below(3),
                                       scalars[below(4)], scalars[below(4)], families[below(7)]);
            p.offset = below(4);
            product_fill(&p);
            for (int64_t spoiled = below(4); spoiled > 1 && p.k > 0; spoiled--) {
                p.a[below(p.m * p.k)] = below(2) ? NAN : -INFINITY;
                p.b[below(p.n * p.k)] = below(2) ? NAN : INFINITY;
            }
            hold_ranks(s, &p, 1 + (int)below(RANKS_MOST));
            product_free(&p);
        }
        for (int way = 0; way < 2 && !small && digits_of(s) == 2; way++) { /* strips, whole rows, and more partials than a thread loads at once */
            const struct product p = product_of("NT"[way], "TN"[way], 33, 3, 4000 + 30000 * way, "normal");
            hold_ranks(s, &p, 2);
            product_free(&p);
        }
    }
}

/* Rows, columns or all are NaN, nothing else is another. */
static void expect_nan(const char *what, const struct product *p, const float *want, const struct ranks *r, bool all) {
    const float *const got = over_ranks(p, r);
    for (int64_t e = 0; e < p->m * p->n; e++) {
        const bool is_nan = all || e % p->m == r->row || e / p->m == r->column;
        if (is_nan ? !isnan(got[e]) : !same_bits(got[e], want[e]))
            fail_msg("%s: element %lld is %a, and was %a", what, (long long)e, (double)got[e], (double)want[e]);
    }
}

/* What tells scheme, scales and k (accum/partial_i64): so schemes cannot be mixed up, of which this library may have one. */
static void expect_words(const struct ht_scheme_desc *s, const struct product *p, int ranks) {
    const int64_t *const words = all_sums + p->m * p->n;
    for (int64_t i = 0; i < p->m + p->n; i++) {
        const bool is_row = i < p->m;
        const int64_t j = is_row ? i : i - p->m;
        const int e = row_scale(is_row ? p->a + j : p->b + j * p->k, p->k, is_row ? p->m : 1);
        const int64_t c = digits_of(s) * 256 + 127 + e;
        assert_int_equal(words[i], ranks * (c + c * c * (INT64_C(1) << 24)));
    }
    assert_int_equal(words[p->m + p->n], p->k * (INT64_C(1) << 24) + ranks);
}

TEST(sums_of_other_scales_are_nan) {
    const struct ht_scheme_desc *s;
    const struct product p = product_of('N', 'T', 9, 7, 400, "uniform");
    for (int i = 0; (s = next_scheme(&i)) != NULL;) {
        const float *const want = run(&p, "one rank");
        const struct ranks even = {.count = 3, .cut = {0, 100, 300, 400}, .row = -1, .column = -1, .wrong = {1, 1, 1, [RANKS_MOST] = 1}};
        struct ranks r = even;
        r.row = 3;
        r.wrong[1] = 8;
        expect_nan("a rank's row has another scale", &p, want, &r, false);
        r.wrong[0] = 0.125f * 64; /* 8, 8, 1/64: their exponents add up to that of 1, 1, 1 */
        r.wrong[2] = 0.015625f;
        expect_nan("scales that are right on average", &p, want, &r, false);
        r.row = -1;
        r.column = 2;
        expect_nan("the same of a column", &p, want, &r, false);
        r.wrong[0] = r.wrong[1] = r.wrong[2] = r.wrong[RANKS_MOST] = 0.25f;
        expect_nan("maxima smaller than what is there", &p, want, &r, false);
        r = even;
        r.accuracy[1] = s->products == 6 ? "invariant:3" : "invariant:6";
        if (has_scheme(HALFTONE_FP32, s->products == 6 ? "i8x3" : "i8x6"))
            expect_nan("another scheme", &p, want, &r, true);
        r = even;
        expect_nan("one scale", &p, want, &r, false);
        expect_words(s, &p, r.count);
        r.more_k = (INT64_C(1) << 24) - p.k;
        expect_nan("as much k as there may be", &p, want, &r, false);
        r.more_k++;
        expect_nan("more k than there may be", &p, want, &r, true);
        r.count = 0;
        r.more_k = 0;
        expect_nan("no rank", &p, want, &r, true);
    }
}

TEST(ranks_are_refused) {
    const float one = 1, *const f = on_device(host_floats(64), 64);
    float *const x = kept_on_device(64 * 4);
    int64_t *const sums = kept_on_device(HALFTONE_PARTIAL_WORDS(4, 4) * 8);
    check_code(halftone_set_accuracy(handle, "invariant"), "invariant");
#define MAXIMA(m, k, lda, rowmax, colmax) halftone_sgemm_maxima(handle, 'N', 'N', m, 4, k, f, lda, f, 4, rowmax, colmax)
#define PARTIAL(k, b, rowmax, partial) halftone_sgemm_partial(handle, 'N', 'N', 4, 4, k, f, 4, b, k > 4 ? k : 4, rowmax, f, partial)
#define FINISH(alpha, partial, c, ldc) halftone_sgemm_finish(handle, 4, 4, alpha, partial, f, f, &one, c, ldc)
    EQUAL({MAXIMA(4, 4, 4, NULL, NULL), -18}, {MAXIMA(4, 4, 4, (float *)(void *)((char *)x + 2), x), -18}, {MAXIMA(-1, 4, 4, x, x), -3},
          {MAXIMA(4, 4, 3, x, x), -8}, {MAXIMA(4, 4, 3, NULL, x), 0}, {MAXIMA(0, 4, 4, x, x), 0}, {MAXIMA(4, 0, 4, x, x), 0},
          {PARTIAL(4, NULL, f, sums), -9}, {PARTIAL(4, f, NULL, sums), -18}, {PARTIAL(4, f, f, NULL), -18}, {PARTIAL(-4, f, f, sums), -5},
          {PARTIAL(4, f, f, (int64_t *)(void *)((char *)sums + 4)), -18}, {PARTIAL(4, f, f, sums), 0}, {FINISH(NULL, sums, x, 4), -6},
          {FINISH(&one, NULL, x, 4), -18}, {FINISH(&one, sums, NULL, 4), -12}, {FINISH(&one, sums, x, 3), -13}, {FINISH(&one, sums, x, 4), 0},
          {halftone_sgemm_maxima(NULL, 'N', 'N', 4, 4, 4, f, 4, f, 4, x, x), HALFTONE_NULL_HANDLE},
          {PARTIAL((INT64_C(1) << 24) + 1, f, f, sums), HALFTONE_TOO_LARGE},
          {halftone_sgemm_maxima(handle, 'N', 'N', 4, 4, 4, &one, 1 << 20, f, 4, NULL, x), 0}, /* what is not read need not be there */
          {halftone_sgemm_maxima(handle, 'N', 'T', 4, 0, 4, f, 4, &one, 1 << 20, x, x), 0});
    check_code(halftone_set_workspace_limit(handle, 1), "limit");
    assert_int_equal(PARTIAL(4, f, f, sums), HALFTONE_WORKSPACE);
    check_code(halftone_set_workspace_limit(handle, 0), "limit");
    if (halftone_set_accuracy(handle, "fp32:bits=12") == HALFTONE_OK) {
        assert_int_equal(MAXIMA(4, 4, 4, x, x), HALFTONE_NOT_SUPPORTED);
        assert_string_equal(halftone_last_detail(handle), "accuracy 'bits=12' rounds sums on the way: ask for accuracy invariant");
    }
    for (int i = 0; halftone_schemes(handle, HALFTONE_FP32, i) != NULL; i++) {
        const struct ht_scheme_desc *const s = ht_find_scheme(ht_sets[0], halftone_schemes(handle, HALFTONE_FP32, i));
        check_code(halftone_set_scheme(handle, s->name), s->name);
        assert_int_equal(FINISH(&one, sums, x, 4), s->exact_k > 0 ? HALFTONE_OK : HALFTONE_NOT_SUPPORTED);
        assert_true(s->exact_k > 0 || strstr(halftone_last_detail(handle), "ask for accuracy invariant") != NULL);
    }
}

static int open_handle(void **state) {
    struct ht_dev_info info;
    (void)state;
    if (create_handle() != 0 || ht_dev_open(ht_sets[0], &info) != HT_DEV_OK)
        return -1;
    small = only_small();
    fprintf(stderr, "exact sums on %s (%s)\n", info.name, halftone_gpu(handle));
    return 0;
}

FOR_ALL(open_handle, close_handle)
