/* test_check: the data check from inside, by the descriptors: what packing counts, and which blocks of C the kernels and the
 * reduction leave alone. What users see of it: test_auto. Links with the CUDA library or the simulator, like test_product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_pick.h"
#include "../../runtime/ht_dev.h"
#include "block.h"
#include "choose.h"
#include "fp64_sum.h"
#include "handle.h"

enum { EMPTY = 0x7fffffff, WILD = -0x7fffffff }; /* ht_pack_args, range_counts */
enum { CALL = 12 };

static const struct ht_set_desc *set;
static const struct ht_scheme_desc *f16x3;

static struct block floats(int64_t count) {
    return block_make((size_t)count * sizeof(float));
}

static struct block ints(int64_t count) {
    return block_make((size_t)count * sizeof(int));
}

/* ---- what packing counts */

struct packing {
    int64_t rows, k, pad;
    int k_contiguous, tiles;
};

static uint64_t bits_at(uint64_t stream, int64_t row, int64_t k) {
    return family_bits(11, stream, (uint64_t)row, (uint64_t)k);
}

/* Elements of all sizes; every third row block has pieces of zeros, in one row or in all; NaN and Inf at single places. */
static float element(int64_t row, int64_t k) {
    const int sparse = row / 64 % 3 == 1, size = (int)(bits_at(0, row, k) % 12);
    if (row == 5 && k == 70)
        return NAN;
    if (row == 64 + 9 && k == 3)
        return -INFINITY;
    if (row == 12 && k == 40) /* a row's largest that not all of the block's warps have seen */
        return 24.0f;
    if (size == 7) /* about 2^7 when scaled: just large, just not, and just large when rounded */
        return (k % 3 == 0 ? 0x1p-7f : k % 3 == 1 ? 0x1.ffcp-8f : 0x1.fff8p-8f);
    if (sparse && (k / 64 % 2 == 1 || row % 5 == 0))
        return k % 2 ? -0.0f : 0.0f;
    return ldexpf((float)(1 + family_uniform(bits_at(1, row, k))), -size) * (bits_at(2, row, k) & 1 ? 1.0f : -1.0f);
}

/* Scaled so that the row's largest is in [2^14, 2^15) and rounded to 11 bits, as FP16 holds it. */
static int is_large(double x, double most) {
    const double y = fabs(ldexp(x, 14 - ilogb(most)));
    const double unit = y > 0 ? ldexp(1, ilogb(y) - 10) : 1;
    return nearbyint(y / unit) * unit >= 128;
}

static int row_count(int64_t row, int64_t k0, int64_t k1, double most) {
    int count = 0;
    for (int64_t k = k0; k < k1; k++) {
        if (!isfinite(element(row, k)))
            return WILD;
        count += most > 0 && is_large((double)element(row, k), most);
    }
    return count;
}

static int expected_number(const struct packing *p, int64_t row0, int64_t rows, int64_t k0, int64_t k1) {
    int least = INT32_MAX, live = 0;
    for (int64_t row = row0; row < row0 + rows && row < p->rows; row++) {
        double most = 0;
        for (int64_t k = 0; k < p->k; k++)
            most = isfinite(element(row, k)) ? fmax(most, fabs((double)element(row, k))) : most;
        for (int64_t k = k0; k < k1 && k < p->k; k++)
            live |= element(row, k) != 0.0f;
        const int count = row_count(row, k0, k1 < p->k ? k1 : p->k, most);
        least = count < least ? count : least;
    }
    const int length = (int)((k1 < p->k ? k1 : p->k) - k0);
    return least == WILD ? WILD : live ? 8 * least - 5 * length : EMPTY;
}

/* The matrix packed; range_counts and copy may be empty. */
struct packed {
    struct block src, panels, exponents, exchange, range_counts, copy, flag;
};

static struct packed pack_matrix(const struct packing *p, int checks, int copies) {
    const int64_t row_blocks = ht_ceil_div(p->rows, 64), k_blocks = ht_k_blocks(f16x3, p->k), k_tiles = ht_ceil_div(p->k, 64);
    const int64_t ld = (p->k_contiguous ? p->k : p->rows) + p->pad;
    struct packed x = {floats(ld * (p->k_contiguous ? p->rows : p->k)), block_make((size_t)(row_blocks * k_blocks) * 8192),
                       ints(row_blocks * 64), ints(ht_exchange_ints(f16x3, p->rows, p->k) + 1), ints(row_blocks * (k_tiles + HT_COUNTS_PER_BLOCK)),
                       floats(row_blocks * 64 * k_tiles * 64), ints(2)};
    for (int64_t row = 0; row < p->rows; row++) {
        for (int64_t k = 0; k < p->k; k++)
            ((float *)x.src.host)[p->k_contiguous ? row * ld + k : k * ld + row] = element(row, k);
    }
    block_up(&x.src);
    block_up(&x.exchange);
    block_up(&x.range_counts); /* read back whole, as the flag is */
    block_up(&x.flag);
    block_up(&x.copy);
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = x.src.device;
    args.panels = x.panels.device;
    args.row_absmax = x.exponents.device;
    args.absmax_exchange = x.exchange.device;
    args.ld = ld;
    args.rows = (int)p->rows;
    args.k = (int)p->k;
    args.k_blocks = (int)k_blocks;
    args.k_contiguous = p->k_contiguous;
    args.batch = args.exchange_is_reset = 1;
    args.tiles = p->tiles;
    args.range_counts = checks ? x.range_counts.device : NULL;
    args.copy = copies ? x.copy.device : NULL;
    args.any_flag = x.flag.device;
    args.epoch = CALL;
    assert_int_equal(ht_dev_check(f16x3->pack_init()), HT_DEV_OK);
    assert_int_equal(ht_dev_check(f16x3->pack(&args, 1, NULL)), HT_DEV_OK);
    struct block *const out[] = {&x.panels, &x.exponents, &x.range_counts, &x.copy, &x.flag};
    for (int i = 0; i < 5; i++)
        block_down(out[i]);
    return x;
}

static void packed_free(struct packed *x) {
    struct block *const all[] = {&x->src, &x->panels, &x->exponents, &x->exchange, &x->range_counts, &x->copy, &x->flag};
    for (int i = 0; i < 7; i++)
        block_free(all[i]);
}

static void check_copy(const struct packing *p, const struct packed *x) {
    const int64_t ld = ht_ceil_div(p->k, 64) * 64;
    for (int64_t i = 0; i < ht_ceil_div(p->rows, 64) * 64 * ld; i++) {
        const int inside = i / ld < p->rows && i % ld < p->k;
        const float want = inside ? element(i / ld, i % ld) : 0.0f, got = ((const float *)x->copy.host)[i];
        if (memcmp(&want, &got, sizeof want) != 0)
            fail_msg("the copy of row %lld, k %lld is %a, not %a", (long long)(i / ld), (long long)(i % ld), (double)got,
                     (double)want);
    }
}

/* Every count as a few lines of C find it; panels and magnitudes are those of packing without a check. */
static void packing_counts_what_is_large(void **state) {
    (void)state;
    if (f16x3->pack_tiles == 0)
        skip();
    static const struct packing cases[] = {{70, 200, 1, 1, 1}, {70, 200, 3, 0, 3}, {128, 448, 0, 1, 3}, {192, 320, 0, 0, 2},
                                           {200, 448, 4, 1, 1}, {1, 64, 0, 1, 1},  {130, 130, 2, 0, 2},
                                           {128, 1024, 0, 0, -1}, {33, 777, 1, 1, -1}, {100, 513, 3, 0, -1}, {70, 500, 1, 1, -1},
                                           {192, 320, 0, 0, -1}, {130, 1088, 0, 1, 3},
                                           {128, 1024, 0, 0, -2}, {70, 1100, 1, 1, -2}, {33, 1500, 3, 0, -2},
                                           {96, 2048, 0, 1, -2}, {64, 500, 0, 1, -2}, {40, 640, 4, 0, -2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct packing *p = &cases[i];
        const struct packing copying = {p->rows, p->k, p->pad, p->k_contiguous, p->tiles < 0 ? 2 : p->tiles};
        struct packed plain = pack_matrix(p, 0, 0), checked = pack_matrix(p, 1, 0), copied = pack_matrix(&copying, 1, 1);
        const int64_t length = p->tiles == HT_PACK_ROWS ? p->k : 64 * (p->tiles == HT_PACK_STRIPS ? HT_STRIP_TILES : p->tiles);
        const int64_t pieces = ht_ceil_div(p->k, length), parts = ht_checked_counts(p->tiles), rows = 64 / parts;
        const int64_t numbers = ht_ceil_div(p->rows, 64) * parts * pieces;
        int negative = 0;
        for (int64_t at = 0; at < numbers; at++) {
            const int64_t k0 = at / parts % pieces * length, row0 = at / parts / pieces * 64 + at % parts * rows;
            const int want = expected_number(p, row0, rows, k0, k0 + length);
            const int got = ((const int *)checked.range_counts.host)[at];
            if (got != want)
                fail_msg("%lldx%lld, tiles %d: rows from %lld, k from %lld: packing has %d, not %d", (long long)p->rows,
                         (long long)p->k, p->tiles, (long long)row0, (long long)k0, got, want);
        }
        for (int64_t at = 0; at < numbers; at++)
            negative |= ((const int *)checked.range_counts.host)[at] < 0;
        const int *flag = checked.flag.host;
        if (flag[0] != CALL || (flag[1] == CALL) != negative)
            fail_msg("%lldx%lld: the flag is %d %d", (long long)p->rows, (long long)p->k, flag[0], flag[1]);
        check_copy(p, &copied);
        if (p->tiles > 0)
            assert_memory_equal(checked.range_counts.host, copied.range_counts.host, (size_t)numbers * sizeof(int));
        assert_memory_equal(plain.panels.host, checked.panels.host, plain.panels.bytes);
        assert_memory_equal(plain.panels.host, copied.panels.host, plain.panels.bytes);
        assert_memory_equal(plain.exponents.host, checked.exponents.host, plain.exponents.bytes);
        packed_free(&plain);
        packed_free(&checked);
        packed_free(&copied);
    }
}

/* ---- which blocks are stored */

enum { M = 200, N = 100, K = 160, BATCH = 2, PIECES = 3, PIECE_K = 64 };
enum { A_BLOCKS = (M + 63) / 64, B_BLOCKS = (N + 63) / 64 };

/* Numbers as packing could leave them, whatever the data: EMPTY and WILD among them. */
static void fill_counts(int *counts, int64_t blocks, uint64_t stream) {
    for (int64_t i = 0; i < blocks * PIECES; i++) {
        const int64_t p = i % PIECES;
        const int length = K - p * PIECE_K < PIECE_K ? (int)(K - p * PIECE_K) : PIECE_K;
        const uint64_t bits = family_bits(5, stream, (uint64_t)(i / PIECES), (uint64_t)p);
        const int count = length / 4 + (int)(bits / 128 % (uint64_t)(3 * length / 4));
        counts[i] = bits % 9 == 0 ? EMPTY : bits % 67 == 1 ? WILD : 8 * count - 5 * length;
    }
}

/* left_out: a piece that is not looked at; PIECES: none. */
static int is_in_range(const int *a, const int *b, int left_out) {
    int spare = 0;
    for (int p = 0; p < PIECES; p++) {
        if (p == left_out)
            continue;
        if (a[p] == WILD || b[p] == WILD)
            return 0;
        if (a[p] != EMPTY && b[p] != EMPTY)
            spare += a[p] + b[p];
    }
    return spare >= 0;
}

struct guard {
    struct packed a, b;
    struct block a_range_counts, b_range_counts, a_many, b_many, partial, whole, guarded, fallback, flags; /* many: as packing by whole rows leaves them */
    struct ht_gemm_args args;
};

/* Each number as the least of four, at any place of them. */
static void spread(const struct block *numbers, const struct block *many) {
    for (size_t i = 0; i < numbers->bytes / sizeof(int); i++) {
        const int number = ((const int *)numbers->host)[i];
        for (size_t part = 0; part < HT_COUNTS_PER_BLOCK; part++)
            ((int *)many->host)[i * HT_COUNTS_PER_BLOCK + part] =
                part == i % HT_COUNTS_PER_BLOCK ? number : part % 2 == 1 ? EMPTY : number < 0 ? 0 : number;
    }
    block_up(many);
}

/* With the flags that packing would have written. */
static void numbers_up(const struct guard *g, int a_rings, int b_rings) {
    int *const flags = g->flags.host;
    flags[0] = flags[2] = CALL;
    flags[1] = a_rings ? CALL : CALL - 1;
    flags[3] = b_rings ? CALL : CALL - 1;
    block_up(&g->flags);
    block_up(&g->a_range_counts);
    block_up(&g->b_range_counts);
    spread(&g->a_range_counts, &g->a_many);
    spread(&g->b_range_counts, &g->b_many);
}

/* Where columns of op(A) and rows of op(B) lie: k contiguous, and how much more than needed a line has. short_by: how many k fewer
 * those have who read the matrices. */
struct layout {
    int a_k, a_pad, b_k, b_pad, short_by;
};
static const struct layout BY_K = {1, 0, 1, 0, 0};

static struct guard guard_open(const struct layout *l) {
    const struct packing pa = {M, K, l->a_pad, l->a_k, 0}, pb = {N, K, l->b_pad, l->b_k, 0};
    struct guard g;
    memset(&g, 0, sizeof g);
    g.a = pack_matrix(&pa, 0, 0);
    g.b = pack_matrix(&pb, 0, 0);
    g.a_range_counts = ints(BATCH * A_BLOCKS * PIECES);
    g.b_range_counts = ints(B_BLOCKS * PIECES); /* shared by the batch */
    g.a_many = ints(BATCH * A_BLOCKS * PIECES * HT_COUNTS_PER_BLOCK);
    g.b_many = ints(B_BLOCKS * PIECES * HT_COUNTS_PER_BLOCK);
    g.args.counts_per_block = 1;
    g.partial = floats((int64_t)BATCH * 2 * M * N);
    g.whole = floats((int64_t)BATCH * M * N);
    g.guarded = floats((int64_t)BATCH * M * N);
    g.fallback = floats((int64_t)BATCH * M * N);
    g.flags = ints(4);
    fill_counts(g.a_range_counts.host, BATCH * A_BLOCKS, 1);
    fill_counts(g.b_range_counts.host, B_BLOCKS, 2);
    numbers_up(&g, 1, 1);
    g.args.a_panels = g.a.panels.device;
    g.args.b_panels = g.b.panels.device;
    g.args.a_row_absmax = g.a.exponents.device;
    g.args.b_col_absmax = g.b.exponents.device;
    g.args.partial = g.partial.device;
    g.args.ldc = g.args.m = M;
    g.args.c_stride = M * N;
    g.args.n = N;
    g.args.k_blocks = (int)ht_k_blocks(f16x3, K);
    g.args.batch = BATCH;
    g.args.alpha = 1;
    g.args.a_src = g.a.src.device;
    g.args.b_src = g.b.src.device;
    g.args.k = K - l->short_by;
    g.args.a_ld = (l->a_k ? K : M) + l->a_pad;
    g.args.b_ld = (l->b_k ? K : N) + l->b_pad;
    g.args.a_k_contiguous = l->a_k;
    g.args.b_k_contiguous = l->b_k;
    return g;
}

static void guard_close(struct guard *g) {
    struct block *const all[] = {&g->a_range_counts,  &g->b_range_counts, &g->a_many,  &g->b_many, &g->partial,
                                 &g->whole, &g->guarded, &g->fallback, &g->flags};
    packed_free(&g->a);
    packed_free(&g->b);
    for (int i = 0; i < 9; i++)
        block_free(all[i]);
}

/* C before a launch, where it is read. */
static float old_element(int64_t i) {
    return (float)(i % 7 - 3) * 0.25f;
}

/* kernel, fallback: NULL: not launched. */
static void guard_run(const struct guard *g, const struct ht_kernel_desc *kernel, int splits, int checks,
                      const struct ht_kernel_desc *fallback, const struct block *c) {
    struct ht_gemm_args args = g->args;
    memset(c->host, 0xff, c->bytes);
    for (int64_t i = 0; args.beta != 0 && i < (int64_t)BATCH * M * N; i++)
        ((float *)c->host)[i] = old_element(i);
    block_up(c);
    args.c = c->device;
    args.splits = splits;
    if (checks) {
        args.a_range_counts = args.counts_per_block > 1 ? g->a_many.device : g->a_range_counts.device;
        args.b_range_counts = args.counts_per_block > 1 ? g->b_many.device : g->b_range_counts.device;
        args.a_range_stride = A_BLOCKS * PIECES * args.counts_per_block;
        args.k_segments = PIECES;
        args.a_any_flag = g->flags.device;
        args.b_any_flag = (const int *)g->flags.device + 2;
    }
    if (kernel != NULL)
        assert_int_equal(ht_dev_check(kernel->init()) + ht_dev_check(kernel->launch(&args, NULL)), HT_DEV_OK);
    if (splits > 1)
        assert_int_equal(ht_dev_check(set->reduce(&args, NULL)), HT_DEV_OK);
    args.splits = 1;
    if (fallback != NULL)
        assert_int_equal(ht_dev_check(fallback->init()) + ht_dev_check(fallback->launch(&args, NULL)), HT_DEV_OK);
    block_down(c);
}

/* Blocks out of range keep their mark, all others have the bits of the launch without a check. */
static void guard_compare(const struct guard *g, const char *name, int splits) {
    int stored = 0, left = 0, decided[PIECES] = {0};
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int64_t entry = i / (M * N), row = i % M, col = i / M % N;
        const int *a = (const int *)g->a_range_counts.host + (entry * A_BLOCKS + row / 64) * PIECES;
        const int *b = (const int *)g->b_range_counts.host + col / 64 * PIECES;
        const int in_range = is_in_range(a, b, PIECES);
        uint32_t whole, got;
        memcpy(&whole, (const float *)g->whole.host + i, sizeof whole);
        memcpy(&got, (const float *)g->guarded.host + i, sizeof got);
        if (got != (in_range ? whole : UINT32_MAX))
            fail_msg("%s in %d parts: entry %lld, (%lld, %lld) is %s and holds %08x, without a check %08x", name, splits,
                     (long long)entry, (long long)row, (long long)col, in_range ? "in range" : "out of range", got, whole);
        stored += in_range;
        left += !in_range;
        for (int p = 0; p < PIECES; p++)
            decided[p] += is_in_range(a, b, p) != in_range;
    }
    assert_true(stored > M * N / 5 && left > M * N / 5); /* the data decides nothing otherwise, nor each piece */
    assert_true(decided[0] > 0 && decided[1] > 0 && decided[2] > 0);
}

static void kernels_leave_blocks_that_are_not_tame(void **state) {
    (void)state;
    if (f16x3->pack_tiles == 0)
        skip();
    struct guard g = guard_open(&BY_K);
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *kernel = &set->kernel[i];
        if (strcmp(kernel->scheme, "f16x3") != 0)
            continue;
        for (int splits = 1; splits <= 2; splits++) {
            guard_run(&g, kernel, splits, 0, NULL, &g.whole);
            for (g.args.counts_per_block = 1; g.args.counts_per_block <= HT_COUNTS_PER_BLOCK; g.args.counts_per_block += HT_COUNTS_PER_BLOCK - 1) {
                guard_run(&g, kernel, splits, 1, NULL, &g.guarded);
                guard_compare(&g, kernel->name, splits);
            }
        }
    }
    guard_close(&g);
}

/* The lanes of a warp of the reduction have rows of one 64 x 64 block: one row block has nothing to add up, the next one has. M has
 * an odd number of 32 rows, so that the columns of a warp of 64 lanes would meet where they are not rounded up to it. */
static void a_warp_of_the_reduction_asks_for_one_verdict(void **state) {
    (void)state;
    if (f16x3->pack_tiles == 0)
        skip();
    assert_int_equal((M + 31) / 32 % 2, 1);
    struct guard g = guard_open(&BY_K);
    memset(g.a_range_counts.host, 0, g.a_range_counts.bytes);
    memset(g.b_range_counts.host, 0, g.b_range_counts.bytes);
    ((int *)g.a_range_counts.host)[(A_BLOCKS - 1) * PIECES] = -1; /* the last rows of entry 0 */
    numbers_up(&g, 1, 0);
    const struct ht_kernel_desc *kernel = set->kernel;
    while (strcmp(kernel->scheme, "f16x3") != 0)
        kernel++;
    guard_run(&g, kernel, 2, 0, NULL, &g.whole);
    guard_run(&g, kernel, 2, 1, NULL, &g.guarded);
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int left_out = i < M * N && i % M / 64 == A_BLOCKS - 1;
        const uint32_t want = left_out ? UINT32_MAX : ((const uint32_t *)g.whole.host)[i];
        assert_int_equal(((const uint32_t *)g.guarded.host)[i], want);
    }
    guard_close(&g);
}

static uint32_t bits_of(const struct block *c, int64_t i) {
    return ((const uint32_t *)c->host)[i];
}

/* Every element comes from one of the two launches, as the verdict says. */
static void fallback_compare(const struct guard *g, const char *what) {
    int fallback = 0;
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int64_t entry = i / (M * N), row = i % M, col = i / M % N;
        const int in_range = is_in_range((const int *)g->a_range_counts.host + (entry * A_BLOCKS + row / 64) * PIECES,
                                 (const int *)g->b_range_counts.host + col / 64 * PIECES, PIECES);
        const uint32_t want = bits_of(in_range ? &g->whole : &g->fallback, i), got = bits_of(&g->guarded, i);
        if (got != want || got == UINT32_MAX)
            fail_msg("%s: entry %lld, (%lld, %lld) is %s and holds %08x, not %08x", what, (long long)entry, (long long)row,
                     (long long)col, in_range ? "in range" : "out of range", got, want);
        fallback += !in_range;
    }
    assert_true(fallback > 0);
}

/* Numbers of which only the last entry's, or only B's last, says no: whoever looks at part of them sees nothing. */
static void fill_one(const struct guard *g, int in_b) {
    memset(g->a_range_counts.host, 0, g->a_range_counts.bytes);
    memset(g->b_range_counts.host, 0, g->b_range_counts.bytes);
    int *const a = g->a_range_counts.host, *const b = g->b_range_counts.host;
    *(in_b ? &b[B_BLOCKS * PIECES - 1] : &a[BATCH * A_BLOCKS * PIECES - 1]) = in_b ? -1 : WILD;
    numbers_up(g, !in_b, in_b);
}

static void the_fallback_computes_the_rest(void **state) {
    (void)state;
    if (f16x3->pack_tiles == 0 || ht_pick_fallback(set, "bf16x6u") < 0)
        skip();
    const struct ht_kernel_desc *kernel = &set->kernel[ht_pick(set, "f16x3", M, N, K, BATCH, 0).kernel];
    const struct ht_kernel_desc *fallback = &set->kernel[ht_pick_fallback(set, "bf16x6u")];
    struct guard g = guard_open(&BY_K);
    guard_run(&g, kernel, 1, 0, NULL, &g.whole);
    guard_run(&g, NULL, 1, 0, fallback, &g.fallback);
    guard_run(&g, kernel, 1, 1, fallback, &g.guarded);
    fallback_compare(&g, "all kinds of numbers");
    g.args.counts_per_block = HT_COUNTS_PER_BLOCK;
    guard_run(&g, kernel, 1, 1, fallback, &g.guarded);
    fallback_compare(&g, "numbers of 16 rows");
    for (int in_b = 0; in_b < 2; in_b++) {
        fill_one(&g, in_b);
        guard_run(&g, kernel, 1, 1, fallback, &g.guarded);
        fallback_compare(&g, in_b ? "B's last number" : "the last entry's number");
    }
    numbers_up(&g, 0, 0); /* nobody looks at numbers when no flag rings */
    guard_run(&g, kernel, 1, 1, fallback, &g.guarded);
    assert_memory_equal(g.guarded.host, g.whole.host, g.whole.bytes);
    guard_close(&g);
}

/* ---- the fallback inside a product's kernel */

static struct fp64_sum in_fp64(int64_t row, int64_t col, int length) {
    struct fp64_sum sum = {0, 0, 0};
    for (int64_t k = 0; k < length; k++)
        fp64_add(&sum, element(row, k), element(col, k));
    return sum;
}

static void inside_compare(const struct guard *g, const struct fp64_sum *exact, const char *name, int splits) {
    int fallback = 0;
    for (int64_t i = 0; i < (int64_t)BATCH * M * N; i++) {
        const int64_t entry = i / (M * N), row = i % M, col = i / M % N;
        const int in_range = is_in_range((const int *)g->a_range_counts.host + (entry * A_BLOCKS + row / 64) * PIECES,
                                 (const int *)g->b_range_counts.host + col / 64 * PIECES, PIECES);
        const struct fp64_sum *sum = &exact[i % (M * N)];
        const float whole = ((const float *)g->whole.host)[i], got = ((const float *)g->guarded.host)[i];
        const int same = memcmp(&whole, &got, sizeof got) == 0 || (isnan(whole) && isnan(got));
        if (!(in_range ? same : fp64_is(sum, g->args.alpha, g->args.beta, old_element(i), got)))
            fail_msg("%s in %d parts: entry %lld, (%lld, %lld) is %s and holds %a, not %a", name, splits, (long long)entry,
                     (long long)row, (long long)col, in_range ? "in range" : "out of range", (double)got,
                     in_range ? (double)whole : (double)fp64_result(sum->value, g->args.alpha, g->args.beta, old_element(i)));
        fallback += !in_range;
    }
    assert_true(fallback > M * N / 5);
}

static void fallback_inside(const struct ht_kernel_desc *kernel, const struct layout *l, const struct fp64_sum *exact, int splits) {
    struct guard g = guard_open(l);
    g.args.alpha = 1.5f;
    g.args.beta = -0.5f; /* an element that two blocks store shows */
    guard_run(&g, kernel, splits, 0, NULL, &g.whole);
    g.args.fallback_in_kernel = 1;
    g.args.counts_per_block = l->a_k ? HT_COUNTS_PER_BLOCK : 1;
    guard_run(&g, kernel, splits, 1, NULL, &g.guarded);
    inside_compare(&g, exact, kernel->name, splits);
    guard_close(&g);
}

/* Every kernel, whole and split; lines of all kinds: of 16 bytes and of others, with and without room behind them. */
static void the_product_computes_the_rest_itself(void **state) {
    (void)state;
    enum { LAYOUTS = 4, SHORT_BY = 3 };
    static const struct layout layouts[LAYOUTS] = {{1, 0, 1, 4, SHORT_BY}, {0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {0, 3, 1, 0, 0}};
    static struct fp64_sum exact[2][M * N];
    int kernels = 0;
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *kernel = &set->kernel[i];
        if (!kernel->fallback_in_kernel)
            continue;
        for (int64_t at = 0; kernels == 0 && at < M * N; at++) {
            exact[0][at] = in_fp64(at % M, at / M, K);
            exact[1][at] = in_fp64(at % M, at / M, K - SHORT_BY);
        }
        for (int j = 0; j < LAYOUTS; j++) {
            if (kernels == 0 || j == kernels % LAYOUTS)
                fallback_inside(kernel, &layouts[j], exact[layouts[j].short_by > 0], 1 + (kernels + j) % 2);
        }
        kernels++;
    }
    if (kernels == 0)
        skip();
}

static int open_handle(void **state) {
    (void)state;
    if (create_handle() != 0)
        return -1;
    set = set_of_handle();
    for (int i = 0; set != NULL && i < set->schemes; i++)
        f16x3 = strcmp(set->scheme[i].name, "f16x3") == 0 ? &set->scheme[i] : f16x3;
    return set == NULL || f16x3 == NULL;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_counts_what_is_large),
        cmocka_unit_test(kernels_leave_blocks_that_are_not_tame),
        cmocka_unit_test(a_warp_of_the_reduction_asks_for_one_verdict),
        cmocka_unit_test(the_fallback_computes_the_rest),
        cmocka_unit_test(the_product_computes_the_rest_itself),
    };
    const struct choice all = CHOICE(tests);
    const int code = choose_tests(argc, argv, &all, 1);
    return code != CHOOSE_RUN ? code : cmocka_run_group_tests(tests, open_handle, close_handle);
}
