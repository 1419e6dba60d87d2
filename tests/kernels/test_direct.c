/* test_direct: scheme bf16x6u, whose kernels read the caller's matrices (templates/skeletons/unpacked_tile.cu). Links with the CUDA library
 * or the simulator. Where FP32 FMAs do the work the results are compared with a loop over them bit for bit; exact
 * products exactly; the rest of the scheme's promises is in test_product. */
#include <math.h>

#include "../../runtime/ht_pick.h"
#include "exact_sum.h"
#include "product32.h"

enum { CHAIN = 32, SHORT_K = 16, SHORT_CHAIN = 2 }; /* k of a chain; up to k = SHORT_K shorter ones */

/* Adds v to *sum; returns what that rounded off. */
static float add_exact(float *sum, float v) {
    const float s = *sum + v, b = s - *sum, off = (*sum - (s - b)) + (v - b);
    *sum = s;
    return off * 0 == 0 ? off : 0;
}

/* How a kernel adds up: FMAs in the order of k, in chains; what joining them rounds off begins the next one, or is lost.
 * chain 0: in another order, or in parts. fp64: by DMMA, rounded once. */
struct order {
    int64_t chain;
    int keeps, fp64;
};

static const struct ht_kernel_desc *kernel_named(const char *name) {
    int i = 0;
    while (strcmp(ht_sets[0]->kernel[i].name, name) != 0)
        i++;
    return &ht_sets[0]->kernel[i];
}

static int has_fp64_sums(const struct ht_kernel_desc *k) {
    return strncmp(k->name, "ht_dmma_", 8) == 0;
}

/* Of the kernel that runs p: tiles with MMAs; those of FMAs alone, which take fewer k at once; or a matrix and a few
 * vectors, which share k out to their lanes. AMD's MFMAs take a step at once. */
static struct order order_of(const struct product *p) {
    const struct halftone_plan plan = plan_of(p);
    if (plan.bk > CHAIN || plan.splits > 1)
        return (struct order){0, 0, 0};
    if (has_fp64_sums(kernel_named(plan.kernel)))
        return (struct order){0, 0, 1};
    if (plan.bk < CHAIN) /* simt_small_k.cu: SMALL_CHAIN_K */
        return (struct order){p->k <= CHAIN && p->m * p->n < 1 << 19 ? 4 : CHAIN, 0, 0};
    return (struct order){p->k <= SHORT_K && strstr(plan.kernel, "_gfx90a") == NULL ? SHORT_CHAIN : CHAIN, 1, 0};
}

static float multiply_adds(const struct product *p, struct order order, int64_t i, int64_t j) {
    const int64_t length = order.chain > 0 ? order.chain : CHAIN;
    float sum = 0, chain = 0;
    for (int64_t l = 0; l < p->k; l++) {
        chain = fmaf(p->a[l * p->m + i], p->b[j * p->k + l], chain);
        if (l % length == length - 1 || l + 1 == p->k) {
            const float rest = add_exact(&sum, chain);
            chain = order.keeps ? rest : 0;
        }
    }
    const float v = p->alpha * sum;
    return p->beta != 0.0f ? fmaf(p->beta, p->c[j * p->m + i], v) : v;
}

static void expect(const char *what, const struct product *p, int64_t at, float got, float want) {
    if (!same_or_nan(got, want))
        fail_msg("%s, %c%c %lldx%lldx%lld: element %lld is %a, not %a", what, p->ta, p->tb, (long long)p->m, (long long)p->n,
                 (long long)p->k, (long long)at, (double)got, (double)want);
}

enum { FEW_UNITS = 5 };

/* The same sum in another order: NaN, Inf and overflow are where they are in order, the rest is a few roundings away. */
static void expect_reordered(const char *what, const struct product *p, int64_t at, float got, float want) {
    double magnitude = p->beta != 0.0f ? fabs((double)p->beta * (double)p->c[at]) : 0;
    for (int64_t l = 0; l < p->k; l++)
        magnitude += fabs((double)p->alpha * (double)p->a[l * p->m + at % p->m] * (double)p->b[at / p->m * p->k + l]);
    if (!isfinite(want) || !isfinite(got))
        expect(what, p, at, got, want);
    else if (fabs((double)got - (double)want) > (double)FEW_UNITS * ldexp(magnitude, -24) + (double)p->k * 0x1p-149)
        fail_msg("%s, %c%c %lldx%lldx%lld: element %lld is %a, not about %a", what, p->ta, p->tb, (long long)p->m,
                 (long long)p->n, (long long)p->k, (long long)at, (double)got, (double)want);
}

/* The sum of an element's products, in FP64. */
static struct fp64_sum sum_of(const struct product *p, int64_t row, int64_t col) {
    struct fp64_sum sum = {0, 0, 0};
    for (int64_t l = 0; l < p->k; l++)
        fp64_add(&sum, p->a[l * p->m + row], p->b[col * p->k + l]);
    return sum;
}

static void expect_rounded_once(const char *what, const struct product *p, const float *c) {
    for (int64_t at = 0; at < p->m * p->n; at++) {
        const struct fp64_sum sum = sum_of(p, at % p->m, at / p->m);
        if (!fp64_is(&sum, p->alpha, p->beta, p->c[at], c[at]))
            expect(what, p, at, c[at], fp64_result(sum.value, p->alpha, p->beta, p->c[at]));
    }
}

static void expect_multiply_adds(const char *what, const struct product *p) {
    const struct order order = order_of(p);
    float *c = run(p, "bf16x6u");
    if (order.fp64) {
        expect_rounded_once(what, p, c);
    } else {
        for (int64_t at = 0; at < p->m * p->n; at++)
            (order.chain > 0 ? expect : expect_reordered)(what, p, at, c[at], multiply_adds(p, order, at % p->m, at / p->m));
    }
}

/* Up to k = 16 there are FMAs alone, in the order of k: every transpose, edge, ld, alignment, exchange of operands. */
TEST(short_k_is_a_loop_of_multiply_adds) {
    static const struct {
        int64_t m, n, k, pad, offset;
        float alpha, beta;
    } rows[] = {{1, 1, 1, 0, 0, 1, 0},   {17, 33, 15, 3, 0, 1, 0},  {66, 65, 15, 1, 1, -0.5f, 2}, {1, 150, 16, 0, 0, 1, 1},
                {150, 1, 7, 2, 3, 3, 0}, {9, 140, 8, 4, 0, 1, -1}, {128, 64, 16, 0, 0, 1, 0},   {140, 9, 5, 0, 2, 1, 0.25f}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int t = 0; t < 4; t++) {
            struct product p = product_of(t & 1 ? 'T' : 'N', t & 2 ? 'T' : 'N', rows[i].m, rows[i].n, rows[i].k, "normal");
            p.pad = rows[i].pad;
            p.offset = rows[i].offset;
            p.alpha = rows[i].alpha;
            p.beta = rows[i].beta;
            expect_multiply_adds("short k", &p);
            product_free(&p);
        }
    }
}

/* No element may be further from the product than `units` of 2^-24 |A||B|. A slice or a product that is lost, in a wrong place or
 * counted twice costs more than a few where k is short. */
static void expect_units(const char *what, const struct product *p, double units) {
    float *c = run(p, "bf16x6u");
    for (int64_t at = 0; at < p->m * p->n; at++) {
        const struct fp64_sum sum = sum_of(p, at % p->m, at / p->m);
        if (!(fabs((double)c[at] - sum.value) <= units * ldexp(sum.magnitude, -24)))
            fail_msg("%s, %c%c %lldx%lldx%lld: element %lld is %a, not %a", what, p->ta, p->tb, (long long)p->m,
                     (long long)p->n, (long long)p->k, (long long)at, (double)c[at], sum.value);
    }
}

/* The order of additions does not depend on how the operands lie, with 16 bytes at once or without. k is whole steps and a rest. */
static void same_bits_either_way(const struct ht_kernel_desc *kernel, int64_t m, int64_t n) {
    const int64_t k = 4 * kernel->bk - 24;
    float *first = NULL;
    for (int t = 0; t < 8; t++) {
        struct product p = product_of(t & 1 ? 'T' : 'N', t & 2 ? 'T' : 'N', m, n, k, "normal");
        p.pad = t & 4 ? 1 : 0;
        float *c = run(&p, "bf16x6u");
        if (t == 0)
            expect_units(kernel->name, &p, FEW_UNITS);
        for (int64_t at = 0; first && at < m * n; at++)
            expect(kernel->name, &p, at, c[at], first[at]);
        if (!first)
            first = c;
    }
}

/* What a kernel is launched with, k whole, and C for so many entries of one product. */
static struct ht_gemm_args args_of(const struct product *p, int batch) {
    const struct operand a = stored(p, 'A', p->ta), b = stored(p, 'B', p->tb);
    struct ht_gemm_args args;
    memset(&args, 0, sizeof args);
    args.a = (struct ht_view){.src = a.device, .ld = a.ld, .rows = (int)p->m, .k = (int)p->k, .k_contiguous = a.k_contiguous};
    args.b = (struct ht_view){.src = b.device, .ld = b.ld, .rows = (int)p->n, .k = (int)p->k, .k_contiguous = b.k_contiguous};
    args.to = (struct ht_result){.c = kept_on_device((size_t)(p->m * p->n * batch) * sizeof(float)), .ldc = p->m, .stride = p->m * p->n,
                                 .alpha.f32 = p->alpha, .beta.f32 = p->beta};
    args.m = (int)p->m;
    args.n = (int)p->n;
    args.splits = 1;
    args.batch = batch;
    return args;
}

static void launch(const struct ht_kernel_desc *kernel, const struct ht_gemm_args *args) {
    OK(kernel->init());
    OK(ht_dev_check(ht_launch_gemm(kernel, args, NULL)));
}

static float *launched(const struct ht_kernel_desc *kernel, const struct product *p) {
    const struct ht_gemm_args args = args_of(p, 1);
    launch(kernel, &args);
    return download(host_floats(p->m * p->n), args.to.c, p->m * p->n);
}

/* One large product, then only such as are lost when they, or a chain of them, are added to it in FP32; half of the results
 * begin with the small ones. In parts of k as a call has it, and whole. */
static void small_products_are_not_lost(int64_t k, float small, float scale, const struct ht_kernel_desc *kernel) {
    enum { SIZE = 8 };
    struct product p = product_of('N', 'N', SIZE, SIZE, k, "uniform");
    for (int64_t i = 0; i < SIZE * k; i++) {
        p.a[i] = small * scale;
        p.b[i] = small;
    }
    for (int64_t i = 0; i < SIZE; i++) {
        p.a[(i % 2 ? k - 1 : 0) * SIZE + i] = (i % 2 ? -1.0f : 1.0f) * scale;
        p.b[i * k] = p.b[i * k + k - 1] = 1;
    }
    if (kernel == NULL) {
        const bool loses = plan_of(&p).bk != CHAIN; /* kernels of a matrix and a few vectors lose some within their parts */
        expect_units("parts of small products", &p, loses ? (double)FEW_UNITS : 1.01);
    } else {
        float *c = launched(kernel, &p);
        for (int64_t at = 0; at < SIZE * SIZE; at++) {
            const double large = at % SIZE % 2 ? -1.0 : 1.0, other = (double)small; /* one of them meets 1 in B */
            const double exact = (large + other + (double)(k - 2) * (double)small * (double)small) * (double)scale;
            assert_true(fabs((double)c[at] - exact) <= 1.01 * 0x1p-24 * fabs(exact));
        }
    }
}

/* Of chains of FMAs in tiles with MMAs, of parts of k, and in the kernel behind the data check everywhere. */
TEST(sums_keep_what_is_rounded_off) {
    const struct ht_set_desc *set = ht_sets[0];
    for (int i = 0; i < set->kernels; i++) {
        const int is_fallback = strcmp(set->kernel[i].variant, "fallback") == 0;
        if (!set->kernel[i].tile.unpacked || (set->kernel[i].bk != CHAIN && !is_fallback))
            continue;
        if (is_fallback)
            small_products_are_not_lost(4096, 0x1p-15f, 1, &set->kernel[i]);
        small_products_are_not_lost(4096, 0x1p-15f, 0x1p-100f, &set->kernel[i]); /* by FMAs */
    }
    small_products_are_not_lost(65536, 0x1p-18f, 1, NULL);
}

/* Every tile of the set, with operands in their places and exchanged, each way they can lie and both ways of loading them. */
/* Several warps and tiles along either side, C's columns as they come: even, odd, by fours or anywhere. */
static void stored_by_every_warp(const char *name, int64_t m, int64_t n) {
    for (int t = 0; t < 4; t++) {
        struct product p = product_of('N', 'N', m + t, n, 20, "uniform");
        p.pad = t == 3 ? 1 : 0;
        expect_units(name, &p, FEW_UNITS);
        product_free(&p);
    }
}

static void one_kernel(const char *name, int exchanged) {
    const int64_t m = exchanged ? 9 : 270, n = exchanged ? 270 : 9;
    stored_by_every_warp(name, exchanged ? 69 : 133, exchanged ? 133 : 69);
    struct product p = product_of('N', 'T', m, n, 14, "uniform");
    expect_multiply_adds(name, &p);
    p = product_of('T', 'N', m, n, 100, "subnormal");
    expect_multiply_adds(name, &p);
    p = product_of(exchanged ? 'N' : 'T', exchanged ? 'N' : 'T', m, n, 1, "uniform"); /* lines shorter than what is read at once */
    expect_multiply_adds(name, &p);
    for (int t = 0; t < 8; t++) {
        const int64_t more = t & 4 ? 0 : 3; /* 12: 16 bytes of C at once */
        p = product_of(t & 1 ? 'T' : 'N', t & 2 ? 'T' : 'N', exchanged ? m + more : m, n, t % 3 ? 20 : 100, "uniform");
        p.pad = t & 4 ? 3 : 0;
        p.offset = t & 4 ? 1 : 0;
        expect_units(name, &p, FEW_UNITS);
        product_free(&p);
    }
}

/* Runs `test` with each kernel that reads the matrices, set by name; how many they are. */
static int with_each_kernel(void (*test)(const struct ht_kernel_desc *)) {
    const struct ht_set_desc *set = ht_sets[0];
    int seen = 0;
    for (int i = 0; i < set->kernels; i++) {
        if (!set->kernel[i].tile.unpacked)
            continue;
        seen++;
        check_code(halftone_set_kernel(handle, set->kernel[i].name), "kernel");
        test(&set->kernel[i]);
    }
    return seen;
}

static void one_kernel_of_all(const struct ht_kernel_desc *kernel) {
    for (int exchanged = 0; exchanged < 2; exchanged++)
        if (!only_part() || exchanged == (int)(kernel - ht_sets[0]->kernel) % 2)
            one_kernel(kernel->name, exchanged);
    same_bits_either_way(kernel, 36, 4);
    same_bits_either_way(kernel, 4, 36);
    same_bits_either_way(kernel, 36, 1);
    for (int few = 1; few <= 4; few++) /* rows, which thin kernels fill up with parts of k */
        same_bits_either_way(kernel, few, 5 - few);
}

TEST(every_kernel_of_the_scheme) {
    assert_true(with_each_kernel(one_kernel_of_all) >= (only_part() ? 3 : 4)); /* 3: of the smallest tiles of an MI210 */
}

/* Kernels of a tall matrix take rows in sets where there are many and k is a line at most (tall_skinny.cu): no bit of a row's results is
 * another than where rows are few. Two tiles of Q, the second of one column. */
static void sets_of_rows(const struct ht_kernel_desc *kernel, int64_t m, char trans_a, int64_t pad) {
    enum { FEW = 150 };
    struct product many = product_of(trans_a, 'N', m, kernel->tile.bn + 1, 29, "normal"), few = product_of(trans_a, 'N', FEW, many.n, many.k, "normal");
    many.pad = few.pad = pad;
    for (int64_t l = 0; l < few.k; l++)
        memcpy(few.a + l * FEW, many.a + l * m + m - FEW, FEW * sizeof *few.a);
    memcpy(few.b, many.b, (size_t)(few.k * few.n) * sizeof *few.b);
    expect_units(kernel->name, &many, FEW_UNITS);
    float *c = run(&many, "bf16x6u"), *last = run(&few, "bf16x6u");
    for (int64_t at = 0; at < FEW * few.n; at++)
        expect(kernel->name, &few, at, c[at / FEW * m + m - FEW + at % FEW], last[at]);
}

static void many_rows_of(const struct ht_kernel_desc *kernel) {
    enum { TALL_ROWS = 128, TALL_STEP_K = 64, SETS_FROM = 2 }; /* blocks an SM */
    const int64_t m = SETS_FROM * TALL_ROWS * ht_sets[0]->sms + 300; /* whole blocks and a rest */
    if (kernel->tile.bm != TALL_ROWS || kernel->bk != TALL_STEP_K)
        return;
    sets_of_rows(kernel, m, 'N', 0);
    sets_of_rows(kernel, m, 'T', 3);
    sets_of_rows(kernel, m + 1, kernel->tile.bn > 1 ? 'T' : 'N', 1);
}

TEST(many_rows_of_few_k) {
    with_each_kernel(many_rows_of);
}

/* More tiles of columns than a grid's y extent can count: of a square tile nothing else asks for an exchange. */
TEST(more_columns_than_a_grid_is_high) {
    const struct ht_set_desc *set = ht_sets[0];
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *kernel = &set->kernel[i];
        if (!kernel->tile.unpacked || kernel->variant[0] != '\0' || kernel->tile.bm != kernel->tile.bn || kernel->bk != CHAIN)
            continue;
        check_code(halftone_set_kernel(handle, kernel->name), "kernel");
        struct product p = product_of('T', 'N', 1, (int64_t)HT_GRID_BATCH * kernel->tile.bn + 1, 1, "normal");
        expect_multiply_adds(kernel->name, &p);
        return;
    }
}

/* ---- numbers that slices may not hold: which tiles are a loop of FMAs, whatever k (bench/ACCURACY.md, section 9, "Small numbers") */

enum { EDGE = 32, CHAIN_UNITS = 22 }; /* of the smallest tile; what a chain may lose, so that all may */

/* Blocks of C all of whose bits are the loop's. */
static int64_t blocks_by_multiply_adds(const struct product *p, const float *c) {
    const struct order keeps = {CHAIN, 1, 0};
    int64_t blocks = 0;
    for (int64_t col = 0; col < p->n; col += EDGE) {
        for (int64_t row = 0; row < p->m; row += EDGE) {
            bool same = true;
            for (int64_t j = col; same && j < col + EDGE && j < p->n; j++) {
                for (int64_t i = row; same && i < row + EDGE && i < p->m; i++) {
                    const float own = multiply_adds(p, keeps, i, j), got = c[j * p->m + i];
                    same = memcmp(&own, &got, sizeof own) == 0 || (isnan(own) && isnan(got));
                }
            }
            blocks += same;
        }
    }
    return blocks;
}

/* All blocks are the loop's, or none is, and results are then as good as of other numbers. */
static void expect_way(const char *what, const struct ht_kernel_desc *kernel, const struct product *p, bool by_multiply_adds) {
    const int64_t all = ht_ceil_div(p->m, EDGE) * ht_ceil_div(p->n, EDGE);
    float *c = launched(kernel, p);
    const int64_t blocks = blocks_by_multiply_adds(p, c);
    if (blocks != (by_multiply_adds ? all : 0))
        fail_msg("%s: %s, %c%c: %lld of %lld blocks by FMAs", kernel->name, what, p->ta, p->tb, (long long)blocks, (long long)all);
    for (int64_t at = 0; !by_multiply_adds && at < p->m * p->n; at++) {
        const struct fp64_sum sum = sum_of(p, at % p->m, at / p->m);
        if (!(fabs((double)c[at] - sum.value) <= (double)CHAIN_UNITS * ldexp(sum.magnitude, -24)))
            fail_msg("%s: %s, %c%c: element %lld is %a, not %a", kernel->name, what, p->ta, p->tb, (long long)at, (double)c[at], sum.value);
    }
}

/* Kernels that cut numbers into slices: those of a set whose uniform data are not the loop's. */
static bool has_slices(const struct ht_kernel_desc *kernel) {
    if (strncmp(kernel->name, "ht_bf16x6u_", 11) != 0)
        return false;
    struct product p = product_of('N', 'N', EDGE, EDGE, 128, "uniform");
    float *c = launched(kernel, &p);
    const bool sliced = blocks_by_multiply_adds(&p, c) == 0;
    return sliced;
}

/* Calls `test` for each of them; only sets without BF16 MMAs have none. */
static void for_each_with_slices(void (*test)(const struct ht_kernel_desc *)) {
    const struct ht_set_desc *set = ht_sets[0];
    int seen = 0;
    for (int i = 0; i < set->kernels; i++) {
        if (has_slices(&set->kernel[i])) {
            test(&set->kernel[i]);
            seen++;
        }
    }
    const char *first = set->kernel[0].name;
    assert_true(seen > 0 || strstr(first, "_sm75") || strstr(first, "_gfx90a"));
}

enum { SMALL_M = 31, SMALL_N = 30, SMALL_K = 150, ONE = 7, OTHER = 18 }; /* the k of lines that cases scale; C is inside one tile */

/* Magnitudes in [1, 2), times powers of two: all of A and B, and their lines ONE and OTHER of k. zero: column 3 of B is. */
static const struct small_case {
    const char *what;
    int a, b, a_one, b_one, a_other, b_other;
    bool zero, by_multiply_adds;
} small_cases[] = {
    {"a small line in A", 0, 0, -80, 0, 0, 0, false, false},
    {"a small line in B", 0, 0, 0, -80, 0, 0, false, false},
    {"products that are just large enough", 0, 0, -60, 0, 0, -56, true, false},
    {"products that are just too small", 0, 0, -60, 0, 0, -57, true, true},
    {"the same, but results are large", 0, 0, -60, 0, 0, -57, false, false},
    {"the least that A's slices hold", 0, 0, -110, 0, 0, 0, true, false},
    {"less than they hold", 0, 0, -111, 0, 0, 0, true, true},
    {"the least that B's slices hold", 0, 0, 0, -110, 0, 0, true, false},
    {"less than they hold", 0, 0, 0, -111, 0, 0, true, true},
    {"less, and small products", 0, 8, -111, 0, 0, 0, true, true},
    {"less, and results are large", 0, 0, -111, 0, 0, 0, false, false},
    {"results that just outweigh small products", -55, -65, -54, -45, 0, 0, false, false},
    {"results that do not", -55, -67, -54, -43, 0, 0, false, true},
    {"subnormal numbers in A beside large results", 0, 0, -140, 0, 0, 0, false, false},
    {"subnormal numbers in B", 0, 0, 0, -140, 0, 0, false, false},
    {"in both", 0, 0, -140, 0, 0, -145, false, false},
    {"beside large numbers", -60, 40, -80, 0, 0, 0, false, false},
    {"in A, with results that just outweigh them", -99, 0, -41, 0, 0, 0, false, false},
    {"in A, with results that do not", -103, 0, -37, 0, 0, 0, false, true},
    {"in B, with results that just outweigh them", 0, -99, 0, -41, 0, 0, false, false},
    {"in B, with results that do not", 0, -103, 0, -37, 0, 0, false, true},
    {"in A, whose large numbers meet small ones", 0, 0, -140, 0, 110, -110, false, false},
    {"in B, whose large numbers meet small ones", 0, 0, 0, -140, -110, 110, false, false},
    {"in A, whose small numbers meet large ones", 0, 0, -140, 110, 0, 0, false, true},
    {"in B, whose small numbers meet large ones", 0, 0, 110, -140, 0, 0, false, true},
    {"in both, where A's meet large ones", 0, 0, -140, 110, 0, -140, false, true},
    {"in both, where B's meet large ones", 0, 0, 110, -140, -140, 0, false, true},
    {"nothing but small products", -80, -60, 0, 0, 0, 0, false, true},
};

static struct product small_problem(const struct small_case *of, int64_t k) {
    struct product p = product_of('N', 'N', SMALL_M, SMALL_N, k, "uniform");
    for (int64_t i = 0; i < SMALL_M * k; i++) {
        const int64_t l = i / SMALL_M;
        p.a[i] = ldexpf(1 + fabsf(p.a[i]) * 0x1.fffffep-1f, of->a + (l == ONE ? of->a_one : l == OTHER ? of->a_other : 0));
    }
    for (int64_t i = 0; i < k * SMALL_N; i++) {
        const int64_t l = i % k;
        p.b[i] = of->zero && i / k == 3 ? 0 : ldexpf(1 + fabsf(p.b[i]) * 0x1.fffffep-1f, of->b + (l == ONE ? of->b_one : l == OTHER ? of->b_other : 0));
    }
    return p;
}

static void small_cases_of(const struct ht_kernel_desc *kernel) {
    for (size_t i = 0; i < sizeof small_cases / sizeof *small_cases; i++) {
        struct product p = small_problem(&small_cases[i], SMALL_K);
        expect_way(small_cases[i].what, kernel, &p, small_cases[i].by_multiply_adds);
        product_free(&p);
    }
    const struct small_case subnormal = {"", 0, 0, -140, 0, 0, 0, false, false};
    struct product p = small_problem(&subnormal, SMALL_K);
    for (int64_t l = 0; l < SMALL_K; l++)
        p.a[l * SMALL_M + SMALL_M - 1] = ldexpf(p.a[l * SMALL_M + SMALL_M - 1], -105);
    expect_way("a row of small results", kernel, &p, true);
    p = small_problem(&small_cases[0], SMALL_K);
    p.a[SMALL_M * SMALL_K - 1] = INFINITY;
    expect_way("Inf beside small numbers", kernel, &p, true);
    const struct small_case outweighed = {"", 0, 0, -60, 0, 0, -57, false, false};
    p = small_problem(&outweighed, 20); /* a second group of warps has no step */
    expect_way("results of one step", kernel, &p, false);
}

TEST(small_numbers_do_no_harm_or_leave_the_slices) {
    for_each_with_slices(small_cases_of);
}

/* A subnormal number on one side, and the largest one on the other, wherever it is and however the matrices lie. */
static void large_beside_small(const struct ht_kernel_desc *kernel) {
    static const struct small_case sides[] = {{"", 0, 0, -140, 0, 0, 0, false, true}, {"", 0, 0, 0, -140, 0, 0, false, true}};
    for (int at = 0; at < 16; at++) {
        const bool in_b = at % 2 == 0;
        struct product p = small_problem(&sides[!in_b], SMALL_K);
        const int64_t l = at & 2 ? SMALL_K - 1 : 0, line = at & 4 ? (in_b ? SMALL_N : SMALL_M) - 1 : 0;
        p.ta = at & 8 ? 'T' : 'N';
        p.tb = (at & 8) / 2 == (at & 4) ? 'N' : 'T';
        p.pad = at & 8 ? 1 : 0;
        *(in_b ? &p.b[line * SMALL_K + l] : &p.a[l * SMALL_M + line]) = 0x1p120f;
        expect_way("one large number", kernel, &p, true);
        product_free(&p);
    }
}

TEST(the_largest_number_is_found) {
    for_each_with_slices(large_beside_small);
}

/* Rows of a softmax, whose elements reach 2^-110 or FP32's end: no tile is the loop's. */
static void softmax_of(const struct ht_kernel_desc *kernel) {
    static const struct {
        const char *family;
        int64_t k;
    } rows[] = {{"softmax", 20}, {"softmax", 512}, {"softmax16", 700}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct product p = product_of('N', 'N', 70, 40, rows[i].k, rows[i].family);
        expect_way(rows[i].family, kernel, &p, false);
        product_free(&p);
    }
    static const char *const small[] = {"subnormal", "hugetiny"};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct product p = product_of('N', 'N', 70, 40, 150, small[i]);
        expect_way(small[i], kernel, &p, true);
        product_free(&p);
    }
}

TEST(no_tile_of_a_softmax_leaves_the_slices) {
    for_each_with_slices(softmax_of);
}

/* The whole range of 8 randn: k = 8192, in one kernel. */
TEST(a_long_softmax) {
    const struct ht_set_desc *set = ht_sets[0];
    int i = 0;
    while (i < set->kernels && !has_slices(&set->kernel[i]))
        i++;
    if (i == set->kernels)
        skip();
    struct product p = product_of('T', 'N', 40, 20, 8192, "softmax");
    expect_way("softmax", &set->kernel[i], &p, false);
}

/* Large numbers stay with the slices as long as no slice and no sum leaves the range; one that does, whatever follows, makes
 * the tile a loop of FMAs. FLT_MAX rounds to an infinite slice, though no product of it overflows here. */
TEST(large_numbers) {
    struct product p = product_of('N', 'T', 40, 30, 150, "huge");
    expect_units("huge", &p, FEW_UNITS);
    p = product_of('T', 'N', 30, 8, 70, "uniform");
    p.a[5] = 0x1p100f;
    expect_units("one large number", &p, FEW_UNITS);
    p.a[5] = 0x1.fffffep127f;
    expect_multiply_adds("the largest number", &p);
    p.b[5 / 30 * 70] = 0; /* nothing is left of it in column 0 */
    expect_multiply_adds("the largest number by zero", &p);
}

/* The smallest numbers that are calm: slices, not FMAs, beside large ones. */
TEST(the_ends_of_calm_data) {
    struct product p = product_of('N', 'N', 20, 20, 128, "uniform");
    for (int64_t i = 0; i < 20 * 128; i++) {
        p.a[i] = ldexpf(1 + 0x1.fffffep-1f * fabsf(p.a[i]), i % 2 ? -50 : 49);
        p.b[i] = ldexpf(1 + 0x1.fffffep-1f * fabsf(p.b[i]), i % 2 ? -50 : 49);
    }
    expect_units("the ends of calm data", &p, FEW_UNITS);
}

/* Same places of NaN and Inf as a sequential loop, at every kind of place; elements without them keep their values. */
TEST(nan_and_inf_are_where_native_has_them) {
    static const float special[] = {NAN, INFINITY, -INFINITY};
    enum { M = 40, N = 20, K = 100 };
    for (int i = 0; i < 3; i++) {
        struct product p = product_of('N', i == 1 ? 'T' : 'N', M, N, K, "normal");
        p.a[(i * 37) % K * M + (i * 13 + 3) % M] = special[i];
        p.b[(i * 5 + 1) % N * K + (i * 29 + 50) % K] = special[(i + 1) % 3];
        p.a[7 * M + 9] = 0x1.8p127f;
        p.b[9 * K + 7] = 4.0f;   /* overflows in one product */
        p.b[10 * K + 37] = 0.0f; /* 0 * Inf for row 16 where i == 1 */
        expect_multiply_adds("NaN and Inf", &p);
        product_free(&p);
    }
}

/* A permutation, the identity and one-hot vectors move FP32 numbers without touching a bit, also where slices do it. */
TEST(permutations_are_exact) {
    for (int side = 0; side < 2; side++) {
        for (int stride = 1; stride <= 7; stride += 6) { /* 1: the identity */
            struct product p = product_of(side ? 'T' : 'N', 'N', 130, 130, 130, "normal");
            float *x = side ? p.a : p.b, *other = side ? p.b : p.a;
            memset(x, 0, 130 * 130 * sizeof *x);
            for (int64_t i = 0; i < 130; i++)
                x[i * 130 + i * stride % 130] = 1;
            float *c = run(&p, "bf16x6u");
            for (int64_t at = 0; at < 130 * 130; at++) {
                const int64_t i = at % 130, j = at / 130;
                int64_t l = 0; /* the row of column i (column j) that holds the one */
                while (l < 130 && (side ? l * stride % 130 : j * stride % 130) != (side ? i : l))
                    l++;
                expect("permutation", &p, at, c[at], side ? other[j * 130 + l] : other[l * 130 + i]);
            }
            product_free(&p);
        }
    }
}

/* Few tiles and a long k: parts, each on its own way, and only the part that meets a number out of range leaves the slices. The fallback and kernels of
 * tall matrices have all of k. */
static void split_k(const struct ht_kernel_desc *kernel) {
    const bool is_short = kernel->bk <= CHAIN;
    const int64_t m = is_short ? 20 : 3, n = is_short ? 12 : kernel->tile.bn + 1, k = is_short ? 4130 : 32768; /* 4130: not shared out evenly */
    struct product p = product_of('T', 'N', m, n, k, "uniform");
    const struct halftone_plan plan = plan_of(&p);
    assert_true(!kernel->tile.no_split_k ? plan.splits > 1 && plan.workspace_bytes > 0 : plan.splits == 1);
    p.a[(k - 96) * m + m / 6] = 1e30f;
    p.b[n / 2 * k + 100] = NAN;
    float *c = run(&p, "bf16x6u");
    for (int64_t at = 0; at < m * n; at++) {
        const struct fp64_sum sum = sum_of(&p, at % m, at / m);
        assert_int_equal(isnan(c[at]) != 0, at / m == n / 2);
        assert_true(at / m == n / 2 || fabs((double)c[at] - sum.value) <= (double)plan.bound_units * ldexp(sum.magnitude, -24));
    }
}

TEST(long_k_is_split) {
    with_each_kernel(split_k);
}

/* Batch entries are single products of the same kernel, bit for bit; one of them holds Inf, and A may be shared. */
static void batch_of(const struct ht_kernel_desc *kernel) {
    enum { M = 37, N = 21, K = 90, BATCH = 3 };
    const float one = 1, zero = 0;
    struct product p = product_of('N', 'N', M, N * BATCH, K, "normal");
    p.b[N * K + 11] = INFINITY;
    for (int shared = 0; shared < 2; shared++) {
        float *many = host_floats(M * K * BATCH), *c = host_floats(M * N * BATCH), *single = host_floats(M * N);
        for (int64_t i = 0; i < M * K * BATCH; i++)
            many[i] = p.a[i % (M * K)] * (shared ? 1 : (float)(1 + i / (M * K)));
        float *a = on_device(many, M * K * BATCH), *b = on_device(p.b, K * N * BATCH), *dc = on_device(c, M * N * BATCH);
        float *ds = on_device(single, M * N);
        check_code(halftone_sgemm_strided_batched(handle, 'N', 'N', M, N, K, &one, a, M, shared ? 0 : M * K, b, K, K * N,
                                                  &zero, dc, M, M * N, BATCH),
                   "batch");
        download(c, dc, M * N * BATCH);
        for (int i = 0; i < BATCH; i++) {
            check_code(halftone_sgemm(handle, 'N', 'N', M, N, K, &one, a + (shared ? 0 : i * M * K), M, b + i * K * N, K,
                                      &zero, ds, M),
                       "single");
            download(single, ds, M * N);
            for (int64_t at = 0; at < M * N; at++)
                expect(kernel->name, &p, at, c[i * M * N + at], single[at]);
        }
    }
}

TEST(batches) {
    with_each_kernel(batch_of);
}

/* Which results a product may not have stored: of three blocks of 64 x 64 one has none, one a few, one every other; of many entries few have any. */
static int kind_of_block(int64_t row, int64_t col, int64_t entry) {
    return entry > 40 && entry % 16 != 0 ? 0 : (int)((row / 64 + col / 64 + entry) % 3);
}

static int has_failed(int64_t row, int64_t col, int64_t entry) {
    const int kind = kind_of_block(row, col, entry);
    return kind == 1 ? (row % 64 * 64 + col % 64) % 1009 == 5 : kind == 2 && (row ^ col >> 1) % 2 == 0;
}

/* As ht_gemm_args has them; those beyond C are set. */
static unsigned *failed_words(int64_t m, int64_t n, int batch) {
    const int64_t high = ht_ceil_div(m, 64), wide = ht_ceil_div(n, 64), block = HT_FAILED_BYTES / 4;
    unsigned *words = kept((size_t)(high * wide * batch) * HT_FAILED_BYTES);
    memset(words, 0xff, (size_t)(high * wide * batch) * HT_FAILED_BYTES);
    for (int64_t i = 0; i < m * n * batch; i++) {
        const int64_t row = i % m, col = i / m % n, entry = i / (m * n);
        unsigned *word = &words[((entry * wide + col / 64) * high + row / 64) * block + col % 64 * 2 + row % 64 / 32];
        if (!has_failed(row, col, entry))
            *word &= ~(1u << row % 32);
    }
    for (int64_t i = 0; i < high * wide * batch * block; i++) /* of the last rows' words: no product sets what C has not */
        if (m % 32 != 0 && i / block % high == m / 64 && i % 2 == m % 64 / 32)
            words[i] &= (1u << m % 32) - 1;
    return words;
}

/* The list of those that have failed, the last ones first; *count: of them. On the device. */
static unsigned *failed_list(int64_t m, int64_t n, int batch, int *count) {
    const int64_t high = ht_ceil_div(m, 64), wide = ht_ceil_div(n, 64);
    unsigned *list = keep(calloc((size_t)(m * n * batch), sizeof *list), free);
    *count = 0;
    for (int64_t i = m * n * batch - 1; i >= 0; i--) {
        const int64_t row = i % m, col = i / m % n, block = (i / (m * n) * wide + col / 64) * high + row / 64;
        if (has_failed(row, col, i / (m * n)))
            list[(*count)++] = (unsigned)(block * 4096 + col % 64 * 64 + row % 64);
    }
    void *there = kept_on_device((size_t)*count * sizeof *list);
    OK(ht_dev_upload(there, list, (size_t)*count * sizeof *list));
    return there;
}

/* One launch behind a product, with C -7 before. */
static void launch_behind(const struct ht_kernel_desc *kernel, const struct ht_gemm_args *args, float *c, int64_t elements) {
    for (int64_t i = 0; i < elements; i++)
        c[i] = -7;
    upload(args->to.c, c, elements);
    launch(kernel, args);
    download(c, args->to.c, elements);
}

/* Whether it was added up in FP64 and rounded once, with C -7 before. */
static bool is_in_fp64(const struct product *p, int64_t row, int64_t col, float got) {
    const struct fp64_sum sum = sum_of(p, row, col);
    return fp64_is(&sum, 1, p->beta, -7, got);
}

static void compare_behind(const struct ht_kernel_desc *kernel, const struct product *p, int batch, const float *whole, const float *c) {
    for (int64_t i = 0; i < p->m * p->n * batch; i++) {
        const int64_t row = i % p->m, col = i / p->m % p->n, entry = i / (p->m * p->n);
        if (has_fp64_sums(kernel) && strcmp(kernel->variant, "fallback") == 0 && !is_in_fp64(p, row, col, whole[i]))
            fail_msg("%s: (%lld, %lld) is %a", kernel->name, (long long)row, (long long)col, (double)whole[i]);
        if (kind_of_block(row, col, entry) == 1 && has_failed(row, col, entry)) { /* rounded once */
            expect(kernel->name, p, i, c[i], fp64_result(sum_of(p, row, col).value, 1, p->beta, -7));
        } else {
            expect(kernel->name, p, i, c[i], has_failed(row, col, entry) ? whole[i] : -7.0f);
        }
    }
}

/* What a product has left: bits and their list, on the device, and the arguments of launches behind it, which know of none yet. */
struct left {
    struct ht_gemm_args args;
    unsigned *words; /* the bits, on the host */
    size_t bytes;
    void *failed, *numbers; /* two flags, 0, and how many entries the list has */
    unsigned *list;
    int count;
};

static struct left left_of(const struct product *p, int batch) {
    struct left x;
    memset(&x, 0, sizeof x);
    x.args = args_of(p, batch);
    x.words = failed_words(p->m, p->n, batch);
    x.bytes = (size_t)(ht_ceil_div(p->m, 64) * ht_ceil_div(p->n, 64) * batch) * HT_FAILED_BYTES;
    x.list = failed_list(p->m, p->n, batch, &x.count);
    const int numbers[] = {12, 12, 0, x.count};
    x.failed = kept_on_device(x.bytes);
    x.numbers = kept_on_device(sizeof numbers);
    OK(ht_dev_upload(x.numbers, numbers, sizeof numbers));
    return x;
}

/* Ways in which launches behind a product learn of what it has left. */
enum told { BY_BITS, BY_A_SHORT_LIST, BY_LIST, BY_NOTHING };

static void tell(struct left *x, enum told told) {
    x->args.failed = x->failed;
    x->args.a_packed.any_flag = x->args.b_packed.any_flag = x->numbers;
    x->args.failed_count = told == BY_BITS ? NULL : (int *)x->numbers + (told == BY_NOTHING ? 2 : 3);
    x->args.failed_capacity = told == BY_BITS ? 0 : x->count - (told == BY_A_SHORT_LIST);
    x->args.failed_list = told == BY_A_SHORT_LIST ? NULL : x->list;
    assert_int_equal(ht_dev_upload(x->failed, x->words, x->bytes), HT_DEV_OK);
}

/* Behind a product the fallback computes what failed, one by one or by blocks, and leaves the others alone: from the list, from the bits where
 * the list is too short, and without a count; nothing where the count is 0. */
static void failed_results_alone(const struct ht_kernel_desc *kernel, int64_t m, int64_t n, int k, int batch) {
    struct product p = product_of('N', 'N', m, n, k, "uniform");
    float *c = host_floats(m * n * batch), *whole = host_floats(m * n * batch);
    p.beta = batch == 1 ? 0.5f : 0.0f;
    struct left x = left_of(&p, batch);
    launch_behind(kernel, &x.args, whole, m * n * batch);
    for (enum told told = BY_BITS; told <= BY_LIST; told++) {
        tell(&x, told);
        launch_behind(kernel, &x.args, c, m * n * batch);
        compare_behind(kernel, &p, batch, whole, c);
    }
    tell(&x, BY_NOTHING);
    launch_behind(kernel, &x.args, c, m * n * batch);
    for (int64_t i = 0; i < m * n * batch; i++)
        expect(kernel->name, &p, i, c[i], -7.0f);
}

TEST(what_a_product_has_not_stored) {
    const int fallback = ht_pick_fallback(ht_sets[0], "bf16x6u");
    if (fallback < 0)
        skip();
    const struct ht_kernel_desc *kernel = &ht_sets[0]->kernel[fallback];
    failed_results_alone(kernel, 130, 140, 70, 1);
    failed_results_alone(kernel, 70, 200, 71, 2);
    failed_results_alone(kernel, 192, 128, 72, 1);
    failed_results_alone(kernel, 1090, 1030, 70, 1); /* more tiles than blocks, and more entries */
    failed_results_alone(kernel, 66, 100, 600, 1);  /* several rounds of k; 2 x 36 results at the corner, of which not a few fail */
    failed_results_alone(kernel, 100, 300, 80, 40); /* whole steps of rows that end with A */
}

/* The kernel that computes blocks with many in a launch before the fallback. */
static const struct ht_kernel_desc *kernel_of_blocks(void) {
    const struct ht_set_desc *set = ht_sets[0];
    for (int i = 0; i < set->kernels; i++)
        if (set->kernel[i].tile.unpacked && set->kernel[i].fallback_in_kernel)
            return &set->kernel[i];
    return NULL;
}

/* Rows with a number that slices cannot hold, at the first k and at the last; with a small one, which the results outweigh. */
enum { ALONE_MOST = 16, TINY_ROW = 70, LATE_ROW = 300, SMALL_ROW = 500 };

/* Blocks of C with many failed results: `left` has the bits behind the launch for them. Elsewhere none is taken; rows far from those that slices
 * cannot hold have none of theirs. Counts results of blocks and of others. */
static void compare_bits(const struct left *x, const unsigned *left, int64_t m, int64_t n, int batch, int64_t *of_blocks, int64_t *of_others) {
    const int64_t high = ht_ceil_div(m, 64), wide = ht_ceil_div(n, 64), block = HT_FAILED_BYTES / 4;
    of_blocks[0] = of_others[0] = 0;
    for (int64_t b = 0; b < high * wide * batch; b++) {
        const int64_t row = b % high * 64, col = b / high % wide * 64, rows = m - row < 64 ? m - row : 64, cols = n - col < 64 ? n - col : 64;
        int64_t count = 0;
        for (int64_t w = 0; w < cols * 2; w++)
            for (unsigned v = w % 2 * 32 < rows ? x->words[b * block + w] : 0; v != 0; v &= v - 1)
                count++;
        const int is_same = memcmp(left + b * block, x->words + b * block, (size_t)cols * 8) == 0;
        int is_empty = 1;
        for (int64_t w = 0; w < cols * 2; w++)
            is_empty = is_empty && left[b * block + w] == 0;
        const int has_tiny = (TINY_ROW < m && row / 64 == TINY_ROW / 64) || (LATE_ROW < m && row / 64 == LATE_ROW / 64);
        const int far = m <= TINY_ROW || ((row > TINY_ROW + 128 || row + 192 < TINY_ROW) && (row > LATE_ROW + 128 || row + 192 < LATE_ROW));
        assert_true(is_same || is_empty);
        assert_true(is_same || (count > ALONE_MOST && !has_tiny));
        assert_true(is_empty || count <= ALONE_MOST || !far);
        of_blocks[0] += is_empty && !is_same ? rows * cols : 0;
        of_others[0] += is_empty && !is_same ? 0 : count > ALONE_MOST ? rows * cols : count;
    }
}

/* Blocks with many, as tiles of their own, then the fallback: a result has the bits of the product by slices where the first launch has taken its bit, else those
 * of the fallback; C's old value is added once, and what is computed again is counted. */
static void blocks_then_others(const struct ht_kernel_desc *first, const struct ht_kernel_desc *fallback, char ta, char tb, int64_t m, int64_t n, int k, int batch) {
    const int64_t all = m * n * batch, high = ht_ceil_div(m, 64), wide = ht_ceil_div(n, 64);
    struct product p = product_of(ta, tb, m, n, k, "uniform");
    p.beta = batch == 1 ? 0.5f : 0.0f;
    float *by_slices = host_floats(all), *whole = host_floats(all), *c = host_floats(all);
    if (m > TINY_ROW)
        p.a[TINY_ROW] = 0x1p-120f;
    if (m > LATE_ROW)
        p.a[(k - 1) * m + LATE_ROW] = 0x1p-120f;
    if (m > SMALL_ROW)
        p.a[SMALL_ROW] = 0x1p-60f;
    struct left x = left_of(&p, batch);
    unsigned *left = kept(x.bytes);
    void *counted = kept_on_device(2 * sizeof(int64_t));
    launch_behind(first, &x.args, by_slices, all);
    launch_behind(fallback, &x.args, whole, all);
    x.args.recomputed = counted;
    for (enum told told = BY_BITS; told <= BY_LIST; told++) {
        int64_t numbers[2] = {0, 0}, of_blocks, of_others;
        tell(&x, told);
        assert_int_equal(ht_dev_upload(counted, numbers, sizeof numbers), HT_DEV_OK);
        launch_behind(first, &x.args, c, all);
        assert_int_equal(ht_dev_download(left, x.failed, x.bytes) + ht_dev_download(numbers, counted, sizeof numbers), HT_DEV_OK);
        compare_bits(&x, left, m, n, batch, &of_blocks, &of_others);
        assert_true(numbers[0] == 0 && numbers[1] == of_blocks && of_blocks > 0);
        launch(fallback, &x.args);
        download(c, x.args.to.c, all);
        OK(ht_dev_download(numbers, counted, sizeof numbers));
        assert_int_equal(numbers[0] + numbers[1], of_blocks + of_others);
        for (int64_t i = 0; i < all; i++) {
            const int64_t row = i % m, col = i / m % n, entry = i / (m * n), word = ((entry * wide + col / 64) * high + row / 64) * (HT_FAILED_BYTES / 4) + col % 64 * 2 + row % 64 / 32;
            const float alone = fp64_result(sum_of(&p, row, col).value, 1, p.beta, -7);
            const int is_left = left[word] >> row % 32 & 1;
            expect(first->name, &p, i, c[i], !has_failed(row, col, entry) ? -7.0f : !is_left ? by_slices[i] : c[i] == alone ? alone : whole[i]);
        }
    }
    tell(&x, BY_NOTHING);
    launch_behind(first, &x.args, c, all);
    for (int64_t i = 0; i < all; i++)
        expect(first->name, &p, i, c[i], -7.0f);
}

TEST(blocks_before_the_fallback) {
    const struct ht_kernel_desc *first = kernel_of_blocks();
    const int fallback = ht_pick_fallback(ht_sets[0], "bf16x6u");
    if (first == NULL || fallback < 0)
        skip();
    const struct ht_kernel_desc *kernel = &ht_sets[0]->kernel[fallback];
    for (int i = 0; i < 4; i += only_part() ? 3 : 1) {
        blocks_then_others(first, kernel, i % 2 ? 'T' : 'N', i / 2 ? 'T' : 'N', 530, 140, 70, 1);
        blocks_then_others(first, kernel, i % 2 ? 'T' : 'N', i / 2 ? 'T' : 'N', 200, 72, 36, 2);
    }
    blocks_then_others(first, kernel, 'N', 'N', 66, 600, 200, 1); /* P is B */
    blocks_then_others(first, kernel, 'T', 'N', 20, 17, 20, 1090); /* more tiles than threads' blocks look at once */
}

/* Which blocks are computed, and what comes of them, does not depend on how the matrices lie: packed operands have copies that lie in one way. */
TEST(blocks_of_matrices_that_lie_otherwise) {
    enum { SQUARE = 200, DEPTH = 40, ALL = SQUARE * SQUARE };
    const struct ht_kernel_desc *first = kernel_of_blocks();
    if (first == NULL)
        skip();
    float *c = host_floats(ALL), *expected = host_floats(ALL);
    for (int i = 0; i < 4; i++) {
        struct product p = product_of(i % 2 ? 'T' : 'N', i / 2 ? 'T' : 'N', SQUARE, SQUARE, DEPTH, "uniform");
        p.a[TINY_ROW] = 0x1p-120f;
        p.beta = 0.5f;
        struct left x = left_of(&p, 1);
        tell(&x, BY_LIST);
        launch_behind(first, &x.args, i == 0 ? expected : c, ALL);
        for (int64_t at = 0; i > 0 && at < ALL; at++)
            expect(first->name, &p, at, c[at], expected[at]);
    }
}

/* Nothing is packed, nothing needs a workspace but split sums, and calls about packed operands say so. */
TEST(there_is_nothing_to_pack) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes = 1;
    float x = 0;
    check_code(halftone_query(handle, 'N', 'N', 600, 600, 600, 1, &plan), "query");
    assert_string_equal(plan.scheme, "bf16x6u");
    assert_true(plan.pack_ns == 0 && plan.predicted_ns == plan.kernel_ns);
    check_code(halftone_query(handle, 'N', 'N', 600, 600, 16, 1, &plan), "query");
    assert_true(plan.workspace_bytes == 0 && plan.bound_units == 20);
    void *blob = kept_on_device(1024);
    assert_int_equal(halftone_packed_bytes(handle, 'A', 10, 10, 1, &bytes), HALFTONE_NOT_SUPPORTED);
    assert_non_null(strstr(halftone_last_detail(handle), "bf16x6u"));
    assert_int_equal(halftone_pack_a(handle, 'N', 1, 1, blob, 1, blob), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_pack_ab(handle, 'N', 'N', 1, 1, 1, blob, 1, blob, 1, blob, blob), HALFTONE_NOT_SUPPORTED);
    assert_int_equal(halftone_sgemm_packed(handle, 1, 1, 1, &x, blob, blob, &x, blob, 1), HALFTONE_OK); /* alpha 0: no product */
    x = 1;
    assert_int_equal(halftone_sgemm_packed(handle, 1, 1, 1, &x, blob, blob, &x, blob, 1), HALFTONE_NOT_SUPPORTED);
}

static int open_handle(void **state) {
    (void)state;
    if (create_handle() != 0)
        return -1;
    if (!has_scheme(HALFTONE_FP32, "bf16x6u"))
        exit(skip_all_tests("the set has no scheme bf16x6u"));
    fprintf(stderr, "scheme bf16x6u on %s (%s)\n", halftone_device(handle), halftone_gpu(handle));
    return 0;
}

static int by_bf16x6u(void **state) {
    return reset_handle(state) + halftone_set_scheme(handle, "bf16x6u");
}

FOR_ALL(open_handle, close_handle)
FOR_EACH(by_bf16x6u, NULL)
