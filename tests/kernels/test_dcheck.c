/* test_dcheck: halftone_dgemm's default and bits=N, where the model takes residues and the data decide element by element which
 * results are theirs and which native64's. What certifies an element is computed here again, from the rule of bench/ACCURACY64.md,
 * section 18: each element must have the bits of the one scheme or of the other, run by name, and all of them must be within the
 * bound. Native kernels are made to look slow, so that small products are certified on every set. */
#include "../../runtime/ht_call.h"
#include "../../runtime/ht_crt.h"
#include "operand64.h"
#include "../unit/fp64_reference.c"

enum { M = 70, N = 40, K = 256 };

/* A row: all products are M x N. accuracy: or a scheme. */
#define CHECKED(numbers, asked, op_a, op_b, depth, times, with_c, entries, is_shared, at_least, at_most)     \
    {                                                                                                        \
        .family = numbers, .accuracy = asked, .ta = op_a, .tb = op_b, .m = M, .n = N, .k = depth,            \
        .alpha = times, .beta = with_c, .batch = entries, .shares_a = is_shared, .least = at_least,          \
        .most = at_most                                                                                      \
    }

static double normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += 0.5 * uniform();
    return sum;
}

/* (rand - 1/2) exp(phi randn) */
static double wide(double phi) {
    const double x = 0.5 * uniform();
    return x * exp(phi * normal());
}

static double scaled(bool is_a, int64_t k, int span) { /* A D, D^-1 B */
    const int d = (int)(k * 37 % (2 * span + 1)) - span;
    return ldexp(1.5 + 0.5 * uniform(), is_a ? d : -d);
}

/* check/crt_sample.cuh */
static bool is_sampled_row(int64_t row, int64_t rows) {
    bool is = false;
    for (int i = 1; i < 16; i += 2)
        is = is || row == i * rows / 16;
    return is;
}

static double element(const struct problem *p, bool is_a, int64_t row, int64_t k) {
    const char *const family = p->family;
    const double x = uniform();
    if (strncmp(family, "phi", 3) == 0)
        return wide(strtod(family + 3, NULL));
    if (strcmp(family, "normal") == 0)
        return normal();
    if (strcmp(family, "relu") == 0)
        return is_a && x < 0 ? 0 : x;
    if (strcmp(family, "D300") == 0)
        return scaled(is_a, k, 300);
    if (strcmp(family, "D1") == 0)
        return scaled(is_a, k, 1);
    if (strcmp(family, "hidden") == 0) /* of eight rows that look better than all others */
        return is_sampled_row(row, is_a ? M : N) ? wide(2) : scaled(is_a, k, 300);
    if (strcmp(family, "tiny") == 0)
        return ldexp(x, is_a ? -1070 : 1000);
    if (strcmp(family, "below") == 0) /* products that FP64 rounds to 0 */
        return ldexp(x, -600);
    if (strcmp(family, "above") == 0)
        return ldexp(1 + x, 520);
    if (strcmp(family, "cancel") == 0) /* of the sums 2^-40 is left */
        return is_a ? (double)(1 + row % 3) : (k % 2 ? -1 : 1 + 0x1p-40) * (1.25 + (double)(row % 4) / 16);
    if (strcmp(family, "apart") == 0) /* nothing of A meets anything of B */
        return (k % 2 == 0) == is_a ? x : 0;
    if (strcmp(family, "nonfinite") == 0 && row % 16 == 2 && k == row % 3)
        return row % 32 == 2 ? NAN : INFINITY;
    if (strcmp(family, "zeros") == 0 && row % 8 == 3)
        return 0;
    if (strcmp(family, "one") == 0 && row == (is_a ? 5 : 7)) /* they do not meet */
        return k == (is_a ? 9 : 10) ? 1e30 : x;
    if (strcmp(family, "meet") == 0 && row == (is_a ? 5 : 7)) /* digits are too short for their product, which is large */
        return k == 9 ? 1e30 : x;
    return x;
}

/* ---- the rule ---- */

static double units_of(const struct problem *p) {
    int bits = 0;
    return sscanf(p->accuracy, "bits=%d", &bits) == 1 ? ldexp(1, 53 - bits) : (double)p->k;
}

/* Elements of a row that are at least 2^e scaled; of zeros enough, with NaN or Inf none that helps. `halftone check` counts the same. */
static int64_t count_of(const struct operand *x, int64_t entry, int64_t row, int64_t k, int moduli, int e) {
    const double *const from = place(x, entry, row, 0);
    const int64_t step = x->k_contiguous ? 1 : x->ld;
    const int s = fp64_row_exponent(moduli, from, step, (int)k);
    int64_t count = 0, zeros = 0;
    struct ht_certificate c = {e, (int)(2 * k)};
    const struct residue_row said = residue_of_row(moduli, &c, from, step, k);
    for (int64_t h = 0; h < k; h++) {
        if (!isfinite(from[h * step])) {
            assert_true(said.count == RESIDUE_NONE);
            return -100 * k;
        }
        count += fabs(from[h * step]) >= fmax(ldexp(1, e - s), 0x1p-1022);
        zeros += from[h * step] == 0;
    }
    assert_true(said.large == count && said.zeros == zeros && said.count == (zeros == k ? 2 * k : count));
    return zeros == k ? 2 * k : count;
}

static int exponent_of(int moduli, int64_t k, double units) {
    double log2_limit = -1;
    for (int l = 0; l < moduli; l++)
        log2_limit += log2(ht_crt_moduli[l]);
    return (int)ceil((110 + log2_limit - log2((double)k) - 2 * log2(units - 1)) / 4);
}

/* ---- results ---- */

static void check_bound(const struct problem *p, const struct operand *a, const struct operand *b, int64_t entry, int64_t row, int64_t col,
                        double old, double got) {
    const struct sum sum = sum_of(p, a, b, entry, row, col);
    const double with_c = p->beta != 0 ? p->beta * old : 0;
    if (!isfinite(sum.plain)) {
        assert_true(isnan(sum.plain) ? isnan(got) : got == p->alpha * sum.plain);
        return;
    }
    const double most = fmax(units_of(p), (double)p->k + 4), off = got - (p->alpha * (sum.high + sum.low) + with_c);
    if (!(fabs(off) <= most * 0x1p-53 * (fabs(p->alpha) * sum.magnitude + fabs(with_c)) + (double)p->k * 0x1p-1074))
        fail_msg("%s: (%lld, %lld): off by %g, |A||B| %g", p->family, (long long)row, (long long)col, off, sum.magnitude);
    if (strcmp(p->family, "apart") == 0 && p->beta == 0)
        assert_true(got == 0);
}

/* Whether counts suffice for a product. */
static bool has_enough(const struct problem *p, const char *scheme, const struct operand *a, const struct operand *b, int64_t entry) {
    const int moduli = atoi(scheme + 3), e = exponent_of(moduli, p->k, units_of(p));
    struct ht_certificate c_of;
    assert_true(ht_crt_certify(&c_of, moduli, p->k, units_of(p), HT_CRT_COUNT_HALF_BINADES) && c_of.exponent == e && 4 * c_of.needed >= 5 * p->k && 4 * c_of.needed < 5 * p->k + 4);
    int64_t least[2] = {INT64_MAX, INT64_MAX};
    for (int64_t row = 0; row < M + N; row++) {
        const int side = row >= M;
        const int64_t count = count_of(side ? b : a, entry, side ? row - M : row, p->k, moduli, e);
        least[side] = count < least[side] ? count : least[side];
    }
    return 4 * (least[0] + least[1]) >= 5 * p->k;
}

/* Where counts suffice the first scheme's bits; else the second's, but for those that FP64 arithmetic has computed, which are counted.
 * Problems say how many residues keep by 16 moduli; more moduli may keep all. */
static void check_elements(const struct problem *p, const char *scheme, const char *behind, const struct operand *a, const struct operand *b,
                           const struct operand *c, const double *got, const double *first, const double *second) {
    int64_t others = 0;
    struct halftone_checked checked;
    check_code(halftone_last_check(handle, &checked), "last_check");
    for (int64_t entry = 0; entry < p->batch; entry++) {
        const bool enough = has_enough(p, scheme, a, b, entry);
        for (int64_t at = entry * c->stride; at < entry * c->stride + (N - 1) * c->ld + M; at++) {
            const int64_t row = (at - entry * c->stride) % c->ld, col = (at - entry * c->stride) / c->ld;
            if (row >= M)
                continue;
            const bool same = same_or_nan(got[at], (enough ? first : second)[at]);
            if (enough && !same)
                fail_msg("%s: (%lld, %lld): %a, not %a", p->family, (long long)row, (long long)col, got[at], first[at]);
            others += !same;
            check_bound(p, a, b, entry, row, col, c->at[at], got[at]);
        }
    }
    const int64_t left = checked.alone + checked.in_blocks;
    const double percent = 100.0 - 100.0 * (double)left / (double)(M * N * p->batch);
    if (others > left || percent < p->least || (percent > p->most && atoi(behind + 3) <= 16))
        fail_msg("%s: residues keep %g percent, %lld are others' and %lld were counted", p->family, percent, (long long)others, (long long)left);
}

/* The handle's kernels, native ones slow. */
static struct ht_set_desc slow;
static struct ht_kernel_desc slow_kernels[64];

static void check(const struct problem *p) {
    const size_t before = kept_count;
    struct operand a = operand_of(p, true), b = operand_of(p, false), c = c_of(p);
    struct halftone_checked before_it;
    check_code(halftone_set_accuracy(handle, p->accuracy), p->accuracy);
    const struct halftone_plan plan = plan_of(p);
    if (plan.moduli == 0)
        fail_msg("%s: %s runs %s", p->family, p->accuracy, plan.scheme);
    const struct call x = call_of(handle, true, p->ta, p->tb, M, N, p->k, p->batch);
    const struct plan *inner = NULL;
    check_code(ht_plan_call(&x, &inner), "plan");
    assert_true(inner->second.scheme != NULL);
    const char *const behind = inner->second.scheme->name;
    char why[80];
    snprintf(why, sizeof why, ", else %s where each element is tested, native64 for the rest;", behind);
    assert_non_null(strstr(plan.why_scheme, why));
    double *const again = run(p, &a, &b, &c);
    check_code(halftone_last_check(handle, NULL), "last_check");
    check_code(halftone_last_check(handle, &before_it), "last_check");
    double *const got = run(p, &a, &b, &c);
    check_code(halftone_set_scheme(handle, plan.scheme), plan.scheme);
    double *const first = run(p, &a, &b, &c);
    check_code(halftone_set_scheme(handle, behind), behind);
    double *const second = run(p, &a, &b, &c);
    check_elements(p, plan.scheme, behind, &a, &b, &c, got, first, second);
    for (int64_t i = 0; i < c.count; i++)
        assert_true(same_or_nan(got[i], again[i]));
    drop_kept(before);
}

/* ---- tests ---- */

static bool has_scheme64(const char *wanted) {
    return has_scheme(HALFTONE_FP64, wanted);
}

static bool can_certify(void) {
    return has_scheme64("crt15") || has_scheme64("crt16");
}

TEST(data_decide_element_by_element) {
    static const struct problem problems[] = {
        CHECKED("uniform", "fp64", 'N', 'N', K, 1, 0, 1, false, 100, 100), CHECKED("normal", "fp64", 'T', 'N', K, -0.3, 1.7, 1, false, 100, 100),
        CHECKED("phi4", "fp64", 'N', 'T', K, 1, 1, 1, false, 80, 99),       CHECKED("D300", "fp64", 'T', 'T', K, 1, 0, 1, false, 0, 0),
        CHECKED("D1", "fp64", 'N', 'N', K, 1, 0, 1, false, 100, 100),      CHECKED("tiny", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0),
        CHECKED("cancel", "fp64", 'N', 'N', K, 1, 0, 1, false, 100, 100),  CHECKED("apart", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0),
        CHECKED("nonfinite", "fp64", 'T', 'N', K, 1, 0, 1, false, 80, 95), CHECKED("zeros", "fp64", 'N', 'N', K, 2, 0, 1, false, 100, 100),
        CHECKED("one", "fp64", 'N', 'N', K, 1, 1, 1, false, 99, 99.99),    CHECKED("meet", "fp64", 'N', 'N', K, 0.3, 1, 1, false, 100, 100),
        CHECKED("relu", "fp64", 'N', 'N', K, 1, 0, 1, false, 100, 100)};
    if (!can_certify())
        skip();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        state = i + 1;
        check(&problems[i]);
    }
}

TEST(longer_sums_and_fewer_bits_certify_more) {
    static const struct problem problems[] = {CHECKED("phi1", "fp64", 'T', 'N', 1300, 1, 0, 1, false, 100, 100),
                                              CHECKED("phi4", "fp64", 'N', 'N', 452, 1, 0, 1, false, 80, 99), /* crt16 begins, and tests */
                                              CHECKED("phi1", "bits=36", 'T', 'N', K, 1, 0, 1, false, 100, 100)};
    if (!can_certify())
        skip();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        state = 100 + i;
        check(&problems[i]);
    }
}

TEST(batches_have_counts_of_their_own) {
    static const struct problem shared = CHECKED("one", "fp64", 'T', 'N', K, 1, -1.5, 3, true, 99, 99.99),
                                own = CHECKED("nonfinite", "fp64", 'N', 'T', K, 1, 0, 2, false, 80, 95);
    if (!can_certify())
        skip();
    check(&shared);
    check(&own);
}

TEST(powers_of_two_change_exponents_alone) {
    const struct problem p = CHECKED("one", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 100);
    if (!can_certify())
        skip();
    struct operand a = operand_of(&p, true), b = operand_of(&p, false), c = c_of(&p);
    double *const plain = run(&p, &a, &b, &c);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t row = 0; row < M; row++)
            *place(&a, 0, row, k) *= ldexp(1, (int)(row * 7 % 200) - 100);
        for (int64_t col = 0; col < N; col++)
            *place(&b, 0, col, k) *= ldexp(1, (int)(col * 11 % 300) - 150);
    }
    upload(a.device, a.at, a.count);
    upload(b.device, b.at, b.count);
    double *const other = run(&p, &a, &b, &c);
    for (int64_t col = 0; col < N; col++)
        for (int64_t row = 0; row < M; row++)
            assert_true(other[col * c.ld + row] ==
                        ldexp(plain[col * c.ld + row], (int)(row * 7 % 200) - 100 + (int)(col * 11 % 300) - 150));
}

TEST(queries_say_who_certifies) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (!can_certify())
        skip();
    check_code(halftone_set_accuracy(handle, "fp64"), "fp64");
    check_code(halftone_dquery(handle, 'N', 'N', M, N, K, 1, &plan), "query");
    assert_true(plan.bound_units == K + 4 && plan.error_bound == (K + 4) * 0x1p-53 && plan.fixed_point == 0 && plan.unit_exponent == -53);
    assert_true(plan.moduli >= 15 && plan.native_ns > plan.predicted_ns && plan.blocks == 1 && plan.workspace_bytes > 0);
    assert_non_null(strstr(plan.why_scheme, "native64 for the rest"));
    assert_non_null(strstr(plan.range, "FP64 arithmetic"));
    check_code(halftone_dquery(handle, 'N', 'N', M, N, 1, 1, &plan), "query"); /* too short for any certificate */
    assert_string_equal(plan.scheme, "native64");
}

/* A kernel of native64 that was set by name computes what residues leave, or the call says why not. */
TEST(a_tile_by_name_computes_the_rest) {
    int tile_count = 0;
    if (!can_certify())
        skip();
    check_code(halftone_set_accuracy(handle, "fp64"), "fp64");
    for (int i = 0; i < slow.kernels; i++) {
        const struct ht_kernel_desc *const k = &slow.kernel[i];
        const bool is_tile = k->alone_most > 0;
        const struct call x = call_of(handle, true, 'N', 'N', M, N, K, 1);
        const struct plan *plan = NULL;
        if (strcmp(k->scheme, "native64") != 0)
            continue;
        check_code(halftone_set_kernel(handle, k->name), k->name);
        const int code = ht_plan_call(&x, &plan);
        if (code == HALFTONE_OK && is_tile) {
            assert_true(plan->checked && plan->fallback == i && plan->step[plan->steps - 1].kernel == i);
            tile_count++;
            continue;
        }
        assert_int_equal(code, HALFTONE_NOT_SUPPORTED);
        assert_true(!is_tile && strstr(halftone_last_detail(handle), k->name) != NULL && strstr(halftone_last_detail(handle), "takes vectors") != NULL);
    }
    assert_true(tile_count > 0);
}

/* ---- a limit of the workspace ---- */

enum { ROWS = 300, COLUMNS = 20, DEPTH = 40, BATCH = 3 };

/* C = A B of BATCH entries with different data; fp32: by halftone_sgemm. */
static void *product(bool fp32, double *a, double *b) {
    const int64_t bytes = fp32 ? 4 : 8, count = ROWS * COLUMNS * BATCH;
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    void *const c = keep(calloc((size_t)count, 8), free);
    double *const device = on_device(c, count);
    assert_non_null(c);
    check_code(fp32 ? halftone_sgemm_strided_batched(handle, 'T', 'N', ROWS, COLUMNS, DEPTH, &one32, (float *)(void *)a, DEPTH, ROWS * DEPTH,
                                                     (float *)(void *)b, DEPTH, COLUMNS * DEPTH, &zero32, (float *)(void *)device, ROWS,
                                                     ROWS * COLUMNS, BATCH)
                    : halftone_dgemm_strided_batched(handle, 'T', 'N', ROWS, COLUMNS, DEPTH, &one, a, DEPTH, ROWS * DEPTH, b, DEPTH,
                                                     COLUMNS * DEPTH, &zero, device, ROWS, ROWS * COLUMNS, BATCH),
               "product");
    OK(ht_dev_download(c, device, (size_t)(count * bytes)));
    return c;
}

static struct halftone_plan limited_plan(bool fp32, int64_t batch, int64_t k, int *code) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    *code = (fp32 ? halftone_query : halftone_dquery)(handle, 'T', 'N', ROWS, COLUMNS, k, batch, &plan);
    return plan;
}

/* A kernel that is set: so few columns are few_rows', which has a workspace of its own. */
static void set_a_kernel_of(const char *scheme) {
    const struct ht_set_desc *const set = handle->half[0].set;
    int i = 0;
    while (strcmp(set->kernel[i].scheme, scheme) != 0)
        i++;
    check_code(halftone_set_kernel(handle, set->kernel[i].name), scheme);
}

/* The same bits with no limit, with one that cuts the batch, and with one that cuts rows too. */
static void check_limits(bool fp32, const char *scheme) {
    double *const host = allocated((ROWS + COLUMNS) * DEPTH * BATCH);
    int code;
    size_t asked = 0;
    for (int64_t i = 0; i < (ROWS + COLUMNS) * DEPTH * BATCH; i++) {
        host[i] = uniform();
        if (fp32)
            ((float *)(void *)host)[i] = (float)host[i];
    }
    double *const a = on_device(host, ROWS * DEPTH * BATCH), *const b = on_device(host + 7, COLUMNS * DEPTH * BATCH);
    check_code(halftone_set_scheme(handle, scheme), scheme);
    if (fp32)
        set_a_kernel_of(scheme);
    const struct halftone_plan whole = limited_plan(fp32, BATCH, DEPTH, &code), one = limited_plan(fp32, 1, DEPTH, &code);
    void *const expected = product(fp32, a, b);
    assert_true(whole.blocks == 1 && one.workspace_bytes < whole.workspace_bytes);
    for (int cut = 0; cut < 2; cut++) {
        const size_t limit = one.workspace_bytes - (cut == 0 ? 0 : 1024);
        check_code(halftone_set_workspace_limit(handle, limit), "limit");
        const struct halftone_plan plan = limited_plan(fp32, BATCH, DEPTH, &code);
        assert_true(code == HALFTONE_OK && plan.blocks == (cut == 0 ? BATCH : 2 * BATCH) && plan.workspace_bytes <= limit);
        void *const got = product(fp32, a, b);
        assert_memory_equal(got, expected, ROWS * COLUMNS * BATCH * (fp32 ? 4 : 8));
    }
    check_code(halftone_set_workspace_limit(handle, 4096), "limit");
    check_code(halftone_get_workspace_limit(handle, &asked), "limit");
    assert_int_equal(asked, 4096);
    (void)limited_plan(fp32, 1, DEPTH, &code);
    assert_int_equal(code, HALFTONE_WORKSPACE);
    assert_non_null(strstr(halftone_last_detail(handle), "the limit is 4096"));
    check_code(halftone_set_workspace_limit(handle, 0), "limit");
    check_code(halftone_set_kernel(handle, NULL), "kernel");
}

TEST(a_limit_cuts_calls_into_blocks) {
    int found = 0;
    const char *name;
    for (int i = 0; (name = halftone_schemes(handle, HALFTONE_FP64, i)) != NULL; i++)
        if (strncmp(name, "crt", 3) == 0 && found++ == 0)
            check_limits(false, name);
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    for (int i = 0; (name = halftone_schemes(handle, HALFTONE_FP32, i)) != NULL; i++) {
        if (strcmp(name, "i8x6") == 0) {
            check_limits(true, name);
            (void)halftone_set_scheme(handle, "auto"); /* which a small set may lack */
        }
    }
    if (found == 0)
        skip();
}

static const int64_t large[][3] = {{8192, 8192, 8192}, {16384, 16384, 16384}, {100000, 70, 200001}, {64, 64, 1 << 22}, {4096, 4096, 1 << 20}};

static void ask_for(const struct problem *p) {
    check_code((strncmp(p->accuracy, "crt", 3) == 0 ? halftone_set_scheme : halftone_set_accuracy)(handle, p->accuracy),
               p->accuracy);
}

/* Bits with k in parts are those of all k at once, down to the least limit that there is an answer for. */
static void check_parts_of_k(const struct problem *p) {
    struct operand a = operand_of(p, true), b = operand_of(p, false), c = c_of(p);
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int parts = 1, code;
    size_t limit;
    /* where counts are too few a part may clear what all k clear, or not */
    const bool keeps_bound_alone = strcmp(p->accuracy, "fp64") == 0 && strcmp(p->family, "normal") != 0;
    ask_for(p);
    check_code(halftone_dquery(handle, p->ta, p->tb, M, N, p->k, 1, &plan), "query");
    assert_true(plan.moduli > 0 && plan.splits == 1);
    double *const expected = run(p, &a, &b, &c);
    for (limit = plan.workspace_bytes - 1;; limit = plan.workspace_bytes - 1) {
        check_code(halftone_set_workspace_limit(handle, limit), "limit");
        code = halftone_dquery(handle, p->ta, p->tb, M, N, p->k, 1, &plan);
        if (code != HALFTONE_OK || plan.moduli == 0)
            break;
        assert_true(plan.workspace_bytes <= limit);
        if (plan.splits == parts)
            continue;
        parts = plan.splits;
        double *const got = run(p, &a, &b, &c);
        for (int64_t i = 0; i < c.count; i++) {
            if (keeps_bound_alone && i % c.ld < M)
                check_bound(p, &a, &b, 0, i % c.ld, i / c.ld, c.at[i], got[i]);
            else if (!same_or_nan(got[i], expected[i]))
                fail_msg("%s %s k %lld in %d parts, %lld blocks: element %lld: %a, not %a", p->family, p->accuracy, (long long)p->k, plan.splits,
                         (long long)plan.blocks, (long long)i, got[i], expected[i]);
        }
    }
    assert_true(code == HALFTONE_OK || code == HALFTONE_WORKSPACE);
    assert_int_equal(parts, (p->k + 1023) / 1024);
    check_code(halftone_set_workspace_limit(handle, 0), "limit");
}

/* k below 2,049, or beyond what a cluster packs: stacks of a larger cluster are more than the simulator may have mapped. 9 s. */
TEST(a_limit_cuts_k_and_the_bits_stay) {
    static const struct problem problems[] = {
        CHECKED("normal", "fp64", 'T', 'N', 1500, -0.3, 1.7, 1, false, 0, 0), CHECKED("nonfinite", "fp64", 'N', 'T', 1025, 1, 0, 1, false, 0, 0),
        CHECKED("one", "fp64", 'N', 'N', 2048, 1, 1, 1, false, 0, 0),         CHECKED("phi4", "crt14", 'T', 'T', 9217, 1, 0, 1, false, 0, 0),
        CHECKED("D300", "reproducible", 'N', 'N', 2000, 2, -1, 1, false, 0, 0)};
    static const struct problem exact[] = {CHECKED("cancel", "fp64-exact", 'N', 'N', 1100, 1, 0, 1, false, 0, 0),
                                           CHECKED("phi4", "fp64-exact", 'T', 'N', 2048, 0.3, 0.7, 1, false, 0, 0)};
    if (!can_certify() || !has_scheme64("crt14") || !has_scheme64("crt16"))
        skip();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        check_parts_of_k(&problems[i]);
    for (size_t i = 0; has_scheme64("crt20") && i < sizeof exact / sizeof *exact; i++)
        check_parts_of_k(&exact[i]);
}

/* Every scheme of residues and every accuracy, in 256 MB; k from 2^27 on measures of rows alone take more. */
TEST(any_size_fits_in_256_megabytes) {
    static const char *const accuracies[] = {"fp64-fast", "fp64-exact", "reproducible", "bits=20"};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const char *name;
    check_code(halftone_set_workspace_limit(handle, 256 << 20), "limit");
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        for (int j = 0; (name = halftone_schemes(handle, HALFTONE_FP64, j)) != NULL; j++) {
            if (strncmp(name, "crt", 3) != 0)
                continue;
            check_code(halftone_set_scheme(handle, name), name);
            check_code(halftone_dquery(handle, 'N', 'N', large[i][0], large[i][1], large[i][2], 1, &plan), name);
            assert_true(plan.moduli > 0 && plan.workspace_bytes <= 256 << 20);
            check_code(halftone_dquery(handle, 'T', 'N', 1, 1, 1 << 26, 1, &plan), name);
            assert_true(plan.moduli > 0 && plan.workspace_bytes <= 256 << 20);
            assert_int_equal(halftone_dquery(handle, 'T', 'N', 1, 1, 1 << 28, 1, &plan), HALFTONE_WORKSPACE);
        }
        for (size_t j = 0; j < sizeof accuracies / sizeof *accuracies; j++) {
            char text[40];
            snprintf(text, sizeof text, "fp64:%s", accuracies[j]);
            if (halftone_set_accuracy(handle, text) == HALFTONE_ACCURACY)
                continue; /* the set lacks its scheme */
            check_code(halftone_dquery(handle, 'N', 'N', large[i][0], large[i][1], large[i][2], 1, &plan), text);
            assert_true(plan.workspace_bytes <= 256 << 20);
            check_code(halftone_dquery(handle, 'T', 'N', 1, 1, 1 << 25, 1, &plan), text);
        }
    }
}

/* ---- packed operands ---- */

static void *packed_memory(int64_t rows, int64_t k) {
    size_t bytes = 0;
    void *at = NULL;
    check_code(halftone_dpacked_bytes(handle, 'A', rows, k, 1, &bytes), "packed bytes");
    at = kept_on_device(bytes);
    OK(ht_dev_memset_async(at, 0x5a, bytes, NULL));
    return at;
}

/* All of C as a product of packed operands. */
static double *run_packed(const struct problem *p, void *packed_a, void *packed_b, const struct operand *c) {
    struct operand x = *c;
    x.device = on_device(c->at, c->count);
    check_code(halftone_dgemm_packed(handle, M, N, p->k, &p->alpha, packed_a, packed_b, &p->beta, x.device, x.ld), p->family);
    return result_of(&x, M);
}

/* A product of what was packed together or apart, at once or twice, has the bits of the same call without packing. */
static void check_packed(const struct problem *p) {
    struct operand a = operand_of(p, true), b = operand_of(p, false), c = c_of(p);
    ask_for(p);
    double *const expected = run(p, &a, &b, &c);
    void *const packed_a = packed_memory(M, p->k), *const packed_b = packed_memory(N, p->k);
    for (int apart = 0; apart < 2; apart++) {
        if (apart == 0) {
            check_code(halftone_dpack_ab(handle, p->ta, p->tb, M, N, p->k, a.device, a.ld, b.device, b.ld, packed_a, packed_b), "pack");
        } else {
            check_code(halftone_dpack_a(handle, p->ta, M, p->k, a.device, a.ld, packed_a), "pack A");
            check_code(halftone_dpack_b(handle, p->tb, p->k, N, b.device, b.ld, packed_b), "pack B");
            upload(a.device, allocated(a.count), a.count); /* who needs A itself has kept it */
        }
        for (int repeat = 0; repeat < 2; repeat++) {
            double *const got = run_packed(p, packed_a, packed_b, &c);
            for (int64_t i = 0; i < c.count; i++)
                if (!same_or_nan(got[i], expected[i]))
                    fail_msg("%s %s, packed%s: element %lld: %a, not %a", p->family, p->accuracy, apart ? " apart" : "", (long long)i, got[i],
                             expected[i]);
        }
    }
}

TEST(packed_operands_give_the_same_bits) {
    static const struct problem problems[] = {
        CHECKED("uniform", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0),  CHECKED("nonfinite", "fp64", 'T', 'N', 255, -0.3, 1.7, 1, false, 0, 0),
        CHECKED("one", "fp64", 'N', 'T', 1301, 1, 1, 1, false, 0, 0),   CHECKED("phi4", "fp64", 'T', 'T', K, 1, 0, 1, false, 0, 0),
        CHECKED("zeros", "bits=30", 'N', 'N', K, 2, 0, 1, false, 0, 0), CHECKED("wide", "crt14", 'T', 'T', 33, 1, 0, 1, false, 0, 0),
        CHECKED("nonfinite", "reproducible", 'N', 'N', 40, 1, -1, 1, false, 0, 0), CHECKED("cancel", "fp64-exact", 'N', 'N', 77, 1, 0, 1, false, 0, 0),
        CHECKED("D300", "fp64-exact", 'T', 'N', 200, 0.3, 0.7, 1, false, 0, 0),
        CHECKED("below", "crt14", 'N', 'T', K, 0x1p200, 0, 1, false, 0, 0), CHECKED("above", "reproducible", 'T', 'N', K, 0x1p-200, 1, 1, false, 0, 0)};
    if (!can_certify() || !has_scheme64("crt14") || !has_scheme64("crt16"))
        skip();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (strcmp(problems[i].accuracy, "fp64-exact") != 0 || has_scheme64("crt20"))
            check_packed(&problems[i]);
}

/* What the default gives of a product, plain by native64 or packed. */
static double *by_default(const struct problem *p, const struct operand *a, const struct operand *b, const struct operand *c, bool is_packed) {
    if (!is_packed) {
        check_code(halftone_set_scheme(handle, "fp64:native64"), "native64");
        return run(p, a, b, c);
    }
    check_code(halftone_set_accuracy(handle, "fp64"), "fp64");
    void *const packed_a = packed_memory(M, p->k), *const packed_b = packed_memory(N, p->k);
    check_code(halftone_dpack_ab(handle, p->ta, p->tb, M, N, p->k, a->device, a->ld, b->device, b->ld, packed_a, packed_b), "pack");
    return run_packed(p, packed_a, packed_b, c);
}

/* Where plain is by native64 and packed by residues both keep the bound and neither has the other's bits. Of products beyond FP64's range
 * native64 gives 0 or Inf; residues keep the bound of alpha A B, which is the same call's with A and B within it. */
TEST(plain_and_packed_differ_within_the_bound) {
    static const struct {
        struct problem p;
        int up; /* A and B times 2^up are in range */
        double native;
    } cases[] = {{CHECKED("normal", "fp64", 'T', 'N', K, -0.3, 1.7, 1, false, 0, 0), 0, 1},
                 {CHECKED("below", "fp64", 'N', 'T', K, 0x1p200, 0, 1, false, 0, 0), 550, 0},
                 {CHECKED("above", "fp64", 'N', 'N', K, 0x1p-200, 0, 1, false, 0, 0), -500, INFINITY}};
    if (!can_certify())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem within = cases[i].p;
        struct operand a = operand_of(&within, true), b = operand_of(&within, false), c = c_of(&within);
        double *const plain = by_default(&within, &a, &b, &c, false), *const packed = by_default(&within, &a, &b, &c, true);
        int differ = 0;
        for (int64_t j = 0; j < a.count; j++)
            a.at[j] = ldexp(a.at[j], cases[i].up);
        for (int64_t j = 0; j < b.count; j++)
            b.at[j] = ldexp(b.at[j], cases[i].up);
        within.alpha = ldexp(within.alpha, -2 * cases[i].up);
        for (int64_t col = 0; col < N; col++) {
            for (int64_t row = 0; row < M; row++) {
                const int64_t at = col * c.ld + row;
                check_bound(&within, &a, &b, 0, row, col, c.at[at], packed[at]);
                if (cases[i].up == 0)
                    check_bound(&within, &a, &b, 0, row, col, c.at[at], plain[at]);
                else if (plain[at] != cases[i].native)
                    fail_msg("%s: native64 gives %a, not %g", within.family, plain[at], cases[i].native);
                differ += !same_or_nan(plain[at], packed[at]);
            }
        }
        assert_true(differ > 0);
    }
}

static void check_refused(int code, int expected, const char *words) {
    if (code != expected || strstr(halftone_last_detail(handle), words) == NULL)
        fail_msg("code %d, not %d: \"%s\", not \"%s\"", code, expected, halftone_last_detail(handle), words);
}

TEST(packed_operands_of_other_products_are_refused) {
    const struct problem p = CHECKED("uniform", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0);
    const double one = 1, zero = 0;
    size_t bytes = 0;
    if (!can_certify() || !has_scheme64("crt14"))
        skip();
    struct operand a = operand_of(&p, true), b = operand_of(&p, false);
    check_code(halftone_set_scheme(handle, "native64"), "native64");
    check_refused(halftone_dpacked_bytes(handle, 'A', M, K, 1, &bytes), HALFTONE_NOT_SUPPORTED, "scheme 'native64' has no packed operands");
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_refused(halftone_dpacked_bytes(handle, 'A', M, 1, 1, &bytes), HALFTONE_NOT_SUPPORTED, "at k = 1");
    check_refused(halftone_dpacked_bytes(handle, 'A', M, 0, 1, &bytes), HALFTONE_NOT_SUPPORTED, "at k = 0");
    check_refused(halftone_dpacked_bytes(handle, 'C', M, K, 1, &bytes), -18, "which");
    check_refused(halftone_dpacked_bytes(handle, 'B', M, K, 1, NULL), -18, "NULL");
    void *const packed_a = packed_memory(M, K), *const packed_b = packed_memory(N, K);
    double *const c = on_device(a.at, M * N);
    check_refused(halftone_dpack_a(handle, 'N', M, K, a.device, M - 1, packed_a), -8, "lda");
    check_refused(halftone_dpack_b(handle, 'N', K, N, b.device, b.ld, NULL), -18, "packed");
    check_refused(halftone_dpack_ab(handle, 'N', 'N', M, N, K, a.device, a.ld, b.device, b.ld, packed_a, (char *)packed_a + 256), -18, "overlap");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, (char *)packed_a + 256, packed_b, &zero, c, M), -7, "packed nothing there");
    check_code(halftone_dpack_ab(handle, 'N', 'N', M, N, K, a.device, a.ld, b.device, b.ld, packed_a, packed_b), "pack");
    check_refused(halftone_dgemm_packed(handle, M, N, K - 1, &one, packed_a, packed_b, &zero, c, M), -7, "k = 256, and the product has 70 of k = 255");
    check_refused(halftone_dgemm_packed(handle, M, N + 1, K, &one, packed_a, packed_b, &zero, c, M), -9, "B was packed as 40 rows");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, (char *)packed_b + 256, &zero, c, M), -9, "packed nothing there");
    check_code(halftone_set_scheme(handle, "crt14"), "crt14");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "and the product asks for crt14");
    check_code(halftone_set_accuracy(handle, "bits=20"), "bits");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "certified, and the product asks for");
    check_code(halftone_set_scheme(handle, "auto"), "auto");
    check_code(halftone_set_workspace_limit(handle, 4096), "limit");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), HALFTONE_WORKSPACE, "the limit is 4096");
    check_code(halftone_set_workspace_limit(handle, 0), "limit");
    check_code(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), "product");
    check_code(halftone_dgemm_packed(handle, M, N, K, &zero, NULL, NULL, &zero, c, M), "alpha 0 reads no operand");
    check_code(halftone_dgemm_packed(handle, M, N, 0, &one, NULL, NULL, &zero, c, M), "k = 0 reads no operand");
    check_code(halftone_dpack_b(handle, 'N', K, N, b.device, b.ld, packed_a), "pack over A");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "A was packed as 40 rows");
    check_code(halftone_dgemm_packed(handle, N, N, K, &one, packed_a, packed_b, &zero, c, M), "either side");
    check_code(halftone_set_site(handle, "site=weights scheme=crt14"), "a line of the site table");
    check_code(halftone_at_site(handle, "weights"), "a name");
    check_refused(halftone_dgemm_packed(handle, N, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "and the product asks for crt14");
    check_code(halftone_dpack_ab(handle, 'N', 'N', M, N, K, a.device, a.ld, b.device, b.ld, packed_a, packed_b), "pack at a site");
    check_code(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), "a product at a site");
    assert_int_equal(halftone_last_site(handle), 1);
    check_code(halftone_at_site(handle, NULL), "no name");
    check_refused(halftone_dgemm_packed(handle, M, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "A was packed for scheme crt14");
    check_code(halftone_set_site(handle, NULL), "an empty site table");
    check_code(halftone_dpack_b(handle, 'N', K, N, b.device, b.ld, packed_a), "pack over A");
    check_code(halftone_dpack_b(handle, 'N', K, N, b.device, b.ld, packed_b), "pack B");
    if (halftone_packed_bytes(handle, 'A', N, K, 1, &bytes) == HALFTONE_OK) {
        const float *const single = (const float *)(const void *)a.device;
        assert_int_equal(halftone_pack_ab(handle, 'N', 'N', N, N, K, single, N, NULL, K, packed_a, packed_b), -9);
        check_code(halftone_dgemm_packed(handle, N, N, K, &one, packed_a, packed_b, &zero, c, M), "FP32 has packed nothing");
        check_code(halftone_pack_a(handle, 'N', N, K, single, N, packed_a), "pack FP32 over A");
        check_refused(halftone_dgemm_packed(handle, N, N, K, &one, packed_a, packed_b, &zero, c, M), -7, "packed nothing there");
        check_code(halftone_dpack_b(handle, 'N', K, N, b.device, b.ld, packed_a), "pack over A");
    }
    halftone *other = NULL;
    assert_int_equal(halftone_create(&other), HALFTONE_OK);
    assert_int_equal(halftone_dgemm_packed(other, N, N, K, &one, packed_a, packed_b, &zero, c, M), -7);
    assert_int_equal(halftone_destroy(other), HALFTONE_OK);
}

/* Operands of KNOWN_ROWS x K that lie one behind the other. */
enum { KNOWN = 40, KNOWN_ROWS = 3 };

static int multiply_known(char *at) {
    const double one = 1, zero = 0;
    const double nothing[KNOWN_ROWS * KNOWN_ROWS] = {0};
    double *const c = on_device(nothing, KNOWN_ROWS * KNOWN_ROWS);
    const int code = halftone_dgemm_packed(handle, KNOWN_ROWS, KNOWN_ROWS, K, &one, at, at, &zero, c, KNOWN_ROWS);
    return code;
}

TEST(each_packed_operand_is_known_until_packed_over) {
    const struct problem p = CHECKED("uniform", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0);
    size_t bytes = 0;
    if (!can_certify() || !has_scheme64("crt14"))
        skip();
    struct operand a = operand_of(&p, true);
    check_code(halftone_dpacked_bytes(handle, 'A', KNOWN_ROWS, K, 1, &bytes), "bytes");
    void *memory = kept_on_device(KNOWN * bytes);
    char *const at = memory;
    for (int i = 0; i < KNOWN; i++) /* in another order than they lie */
        check_code(halftone_dpack_a(handle, 'N', KNOWN_ROWS, K, a.device, a.ld, at + (size_t)(i * 7 % KNOWN) * bytes), "pack");
    check_code(halftone_trim(handle), "trim forgets none of FP64");
    for (int i = 0; i < KNOWN; i++)
        check_code(multiply_known(at + (size_t)i * bytes), "one of them");
    assert_true(bytes > HALFTONE_ALIGNMENT);
    check_refused(multiply_known(at + 5 * bytes + HALFTONE_ALIGNMENT), -7, "packed nothing there");
    check_code(halftone_dpack_a(handle, 'N', KNOWN_ROWS, K, a.device, a.ld, at + 5 * bytes + HALFTONE_ALIGNMENT), "over two of them");
    check_code(multiply_known(at + 5 * bytes + HALFTONE_ALIGNMENT), "the new one");
    for (int i = 4; i < 8; i++)
        assert_int_equal(multiply_known(at + (size_t)i * bytes), i == 5 || i == 6 ? -7 : HALFTONE_OK);
}

/* What one type packed is forgotten where the other packs. */
TEST(what_lies_elsewhere_now_is_not_known) {
    const struct problem p = CHECKED("uniform", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0);
    const float one = 1, zero = 0;
    if (!can_certify() || !has_scheme64("crt14") || halftone_set_scheme(handle, "half") != HALFTONE_OK)
        skip();
    struct operand a = operand_of(&p, true);
    void *const single = kept_on_device(M * K * sizeof one), *const at = packed_memory(M, K);
    OK(ht_dev_memset_async(single, 0, M * K * sizeof one, NULL));
    check_code(halftone_pack_a(handle, 'N', KNOWN_ROWS, K, single, M, at), "half");
    check_code(halftone_dpack_a(handle, 'N', KNOWN_ROWS, K, a.device, a.ld, at), "FP64 over half");
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    check_code(halftone_sgemm_packed(handle, KNOWN_ROWS, KNOWN_ROWS, K, &one, at, at, &zero, single, KNOWN_ROWS), "copied there since, by all that is known");
    check_code(halftone_pack_a(handle, 'N', KNOWN_ROWS, K, single, M, at), "FP32 over FP64");
    check_refused(multiply_known(at), -7, "packed nothing there");
}

TEST(fp64_keeps_any_limit) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (!can_certify())
        skip();
    check_code(halftone_set_accuracy(handle, "fp64"), "fp64");
    check_code(halftone_set_workspace_limit(handle, 256 << 20), "limit");
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        check_code(halftone_dquery(handle, 'N', 'N', large[i][0], large[i][1], large[i][2], 1, &plan), "query");
        assert_true(plan.workspace_bytes <= 256 << 20 && (plan.moduli > 0 || plan.blocks == 1));
        if (i == 0)
            assert_true(plan.moduli > 0 && plan.blocks > 1 && plan.splits > 1);
    }
    check_code(halftone_set_workspace_limit(handle, 1), "limit");
    check_code(halftone_dquery(handle, 'N', 'N', M, N, K, 1, &plan), "query");
    assert_true(strcmp(plan.scheme, "native64") == 0 && plan.workspace_bytes == 0 && plan.blocks == 1);
}

/* Planes of residues of about 2^63 bytes, and a bit for each element besides, though C is an extent that an address could span. */
TEST(bytes_beyond_all_addresses_are_refused) {
    static const char *const accuracies[] = {"fp64-exact", "reproducible"};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    for (size_t a = has_scheme64("crt20") ? 0 : 1; a < sizeof accuracies / sizeof *accuracies; a++) {
        check_code(halftone_set_accuracy(handle, accuracies[a]), accuracies[a]);
        assert_int_equal(halftone_dquery(handle, 'N', 'N', 2098852829, 251479672, 1, 1, &plan), HALFTONE_TOO_LARGE);
    }
}

/* No number of moduli holds them, and FP64 arithmetic does. */
TEST(sums_too_long_for_residues_are_native) {
    static const char *const accuracies[] = {"fp64", "fp64-fast", "bits=20"};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    for (size_t i = 0; i < sizeof accuracies / sizeof *accuracies; i++) {
        check_code(halftone_set_accuracy(handle, accuracies[i]), accuracies[i]);
        check_code(halftone_dquery(handle, 'N', 'N', 64, 64, HT_CRT_K_MOST + 1, 1, &plan), accuracies[i]);
        assert_string_equal(plan.scheme, "native64");
    }
}

/* Of a call that a limit cuts, a block or what is left at an end. */
static const struct plan *plan_part(int64_t m, int64_t n, int64_t k, int64_t batch) {
    const struct plan *p = NULL;
    struct call x = call_of(handle, true, 'N', 'N', m, n, k, batch);
    x.of[0].stride = x.of[1].stride = 1;
    check_code(ht_plan_call(&x, &p), "a part of a call");
    return p;
}

static void check_parts(const int64_t *size, int64_t limit) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check_code(halftone_set_workspace_limit(handle, (size_t)limit), "limit");
    check_code(halftone_dquery(handle, 'N', 'N', size[0], size[1], size[2], size[3], &plan), "query");
    const struct plan whole = *plan_part(size[0], size[1], size[2], size[3]);
    const int64_t m[] = {whole.block_m, size[0] % whole.block_m}, n[] = {whole.block_n, size[1] % whole.block_n},
                  batch[] = {whole.block_batch, size[3] % whole.block_batch};
    assert_true((int64_t)plan.workspace_bytes <= limit && plan.blocks == whole.blocks);
    for (int i = 0; i < 8; i++) {
        if (m[i & 1] == 0 || n[i >> 1 & 1] == 0 || batch[i >> 2] == 0)
            continue;
        const struct plan *const part = plan_part(m[i & 1], n[i >> 1 & 1], size[2], batch[i >> 2]);
        assert_true(part->bytes <= (int64_t)plan.workspace_bytes && (i > 0 || part->blocks == 1));
    }
}

TEST(blocks_do_with_what_query_names) {
    static const int64_t sizes[][4] = {{7519, 438, 25045, 1}, {716, 7275, 47119, 1}, {47, 1824, 10592, 32}, {902, 2, 25542, 1}, {1, 440, 12859, 1},
                                       {619, 2736, 24325, 6}};
    static const char *const accuracies[] = {"fp64", "fp64-exact", "reproducible", "bits=26"};
    for (size_t a = 0; a < sizeof accuracies / sizeof *accuracies; a++) {
        if (strcmp(accuracies[a], "fp64-exact") == 0 && !has_scheme64("crt20"))
            continue;
        check_code(halftone_set_accuracy(handle, accuracies[a]), accuracies[a]);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int64_t limit = 16 << 20; limit < 512 << 20; limit += limit / 3)
                check_parts(sizes[i], limit);
    }
}

/* A block of the caller's that does for the first blocks, and not for what is left at an end. */
TEST(too_little_workspace_is_refused_before_the_first_block) {
    enum { P = 7, Q = 407, L = 1708 };
    static double host[(P + Q) * L], before[P * Q], after[P * Q];
    const double one = 1, zero = 0;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    void *workspace = NULL;
    for (int i = 0; i < (P + Q) * L; i++)
        host[i] = uniform();
    for (int i = 0; i < P * Q; i++)
        before[i] = i;
    double *const operands = on_device(host, (P + Q) * L), *const c = on_device(before, P * Q);
    check_code(halftone_set_accuracy(handle, "reproducible"), "reproducible");
    check_code(halftone_set_workspace_limit(handle, 3881117), "limit");
    check_code(halftone_dquery(handle, 'N', 'N', P, Q, L, 1, &plan), "query");
    const struct plan whole = *plan_part(P, Q, L, 1);
    assert_true(plan.blocks > 1 && plan_part(whole.block_m, whole.block_n, L, 1)->bytes < whole.bytes);
    workspace = kept_on_device(plan.workspace_bytes);
    check_code(halftone_set_workspace(handle, workspace, plan.workspace_bytes - 1), "workspace");
    assert_int_equal(halftone_dgemm(handle, 'N', 'N', P, Q, L, &one, operands, P, operands + P * L, L, &zero, c, P),
                     HALFTONE_WORKSPACE);
    OK(ht_dev_download(after, c, sizeof after));
    assert_memory_equal(after, before, sizeof after);
    check_code(halftone_set_workspace(handle, workspace, plan.workspace_bytes), "workspace");
    check_code(halftone_dgemm(handle, 'N', 'N', P, Q, L, &one, operands, P, operands + P * L, L, &zero, c, P), "product");
}

/* Native kernels take so long, in the eyes of the model. */
static void slow_down(int32_t step) {
    for (int i = 0; i < slow.kernels; i++) {
        struct ht_cost *const cost = &slow_kernels[i].cost;
        if (slow.kernel[i].recipe != HT_RECIPE_NATIVE64)
            continue;
        cost->waves.step_busy_x256 = cost->waves.step_latency_x256 = step;
        cost->stream.step_busy_x256 = cost->stream.step_latency_x256 = step / 2; /* tiles ask counts, though vectors' kernels take less */
    }
}

/* Of C's elements times what residues save so many 4096ths may be left to FP64 arithmetic. */
enum { ALL = 4096 };
static void let_alone(int most) {
    for (int i = 0; i < slow.kernels; i++)
        slow_kernels[i].alone_most = slow.kernel[i].alone_most > 0 ? most : 0;
    check_code(halftone_set_accuracy(handle, "fp64"), "fp64"); /* forgets plans */
}

/* Native kernels from step to step slower, until residues are taken, and save so little that rows are sampled; `most` of C's elements
 * may be left. */
static void slow_down_a_little(const struct problem *p, int most) {
    const struct call x = call_of(handle, true, p->ta, p->tb, M, N, p->k, p->batch);
    const struct plan *plan = NULL;
    for (int32_t step = 256; step < INT32_MAX / 2; step += step / 16) {
        slow_down(step);
        let_alone(ALL);
        check_code(ht_plan_call(&x, &plan), "plan");
        if (plan->is_sampled && plan->second.most > M * N / 16)
            break;
    }
    let_alone((int)(ALL * most / plan->second.most) + 1);
}

/* Bytes of the workspace that a product has written. */
static int64_t written(const struct problem *p, const struct operand of[3], double **c) {
    const int64_t bytes = (int64_t)plan_of(p).workspace_bytes;
    unsigned char *const host = keep(malloc((size_t)bytes), free), *const at = kept_on_device((size_t)bytes);
    int64_t count = 0;
    memset(host, 0xa5, (size_t)bytes);
    OK(ht_dev_upload(at, host, (size_t)bytes));
    check_code(halftone_set_workspace(handle, at, (size_t)bytes), "workspace");
    *c = run(p, &of[0], &of[1], &of[2]);
    OK(ht_dev_download(host, at, (size_t)bytes));
    check_code(halftone_set_workspace(handle, NULL, 0), "workspace");
    for (int64_t i = 0; i < bytes; i++)
        count += host[i] != 0xa5;
    return count;
}

/* Where FP64 arithmetic takes little longer than residues, rows that are sampled decide before packing. Its verdict takes the place of the
 * counts of tiles; without a scheme nothing is packed. What computes C stays, where nothing is too much to be left. */
TEST(a_sample_spares_packing) {
    enum { ANY_BUT_0 = -2 }; /* as many pairs as the second scheme's speed allows */
    static const struct {
        struct problem p;
        int route;
    } cases[] = {{CHECKED("uniform", "fp64", 'N', 'T', K, 1, 0, 1, false, 100, 100), 0},
                 {CHECKED("phi1", "fp64", 'T', 'N', 1300, 1, 0.5, 1, false, 100, 100), 0},
                 {CHECKED("phi4", "fp64", 'T', 'T', K, 1, 0.5, 1, false, 80, 99), HT_CRT_ROUTE_SECOND},
                 {CHECKED("phi2", "fp64", 'N', 'T', 700, 1, 0, 1, false, 100, 100), HT_CRT_ROUTE_SECOND},
                 {CHECKED("D300", "fp64", 'N', 'N', K, 1, 0, 1, false, 0, 0), HT_CRT_ROUTE_NONE},
                 {CHECKED("nonfinite", "fp64", 'N', 'T', 2100, 1, 0, 1, false, 80, 95), ANY_BUT_0}};
    if (!can_certify())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct problem *const p = &cases[i].p;
        state = 7 + i;
        const struct operand of[] = {operand_of(p, true), operand_of(p, false), c_of(p)};
        double *plain, *sampled;
        check_code(halftone_set_accuracy(handle, "fp64"), "fp64");
        const int64_t before = written(p, of, &plain);
        slow_down_a_little(p, M * N * 2 / 5);
        const int64_t after = written(p, of, &sampled);
        slow_down(INT32_MAX);
        let_alone(ALL);
        const int route = after > before ? 0 : after > before / 2 ? HT_CRT_ROUTE_SECOND : after < before / 100 ? HT_CRT_ROUTE_NONE : -1;
        if (cases[i].route == ANY_BUT_0 ? route <= 0 : route != cases[i].route)
            fail_msg("%s: route %d, %lld bytes are written instead of %lld", p->family, route, (long long)after, (long long)before);
        for (int64_t at = 0; at < of[2].count; at++)
            assert_true(same_or_nan(plain[at], sampled[at]) || (cases[i].route == ANY_BUT_0 && isnan(plain[at]) == isnan(sampled[at])));
    }
}

/* The sampled rows promise that magnitudes keep all; then all but theirs fails, while blocks test them. */
TEST(a_sample_may_be_wrong) {
    static const struct problem p = CHECKED("hidden", "fp64", 'N', 'T', 700, 1, 0.5, 1, false, 0, 0);
    struct halftone_checked checked;
    double *c;
    if (!can_certify())
        skip();
    state = 5;
    const struct operand of[] = {operand_of(&p, true), operand_of(&p, false), c_of(&p)};
    slow_down_a_little(&p, 0);
    const int64_t bytes = (int64_t)plan_of(&p).workspace_bytes;
    check_code(halftone_last_check(handle, NULL), "last_check");
    assert_true(written(&p, of, &c) > bytes / 4); /* the second scheme packed */
    check_code(halftone_last_check(handle, &checked), "last_check");
    assert_int_equal(checked.in_blocks, M * N); /* by tiles */
    for (int64_t col = 0; col < N; col++) {
        for (int64_t row = 0; row < M; row++)
            check_bound(&p, &of[0], &of[1], 0, row, col, of[2].at[col * of[2].ld + row], c[col * of[2].ld + row]);
    }
    slow_down(INT32_MAX);
    let_alone(ALL);
}

static int setup(void **s) {
    (void)s;
    if (create_handle() != 0 || handle->half[1].set == NULL || handle->half[1].set->kernels > 64)
        return -1;
    slow = *handle->half[1].set;
    for (int i = 0; i < slow.kernels; i++) {
        slow_kernels[i] = slow.kernel[i];
    }
    slow_down(INT32_MAX); /* forever */
    slow.kernel = slow_kernels;
    handle->half[1].set = &slow;
    let_alone(ALL); /* nothing is too much to be left */
    return 0;
}

FOR_ALL(setup, close_handle)
FOR_EACH(reset_handle, NULL)
