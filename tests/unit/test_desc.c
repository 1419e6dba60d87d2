/* test_desc: the worked lines of runtime/ht_abi.h, ht_cost.h and ht_bound.h and the choice of kernels by ht_pick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_bound.h"
#include "../../runtime/ht_cost.h"
#include "../../runtime/ht_pick.h"
#include <stdlib.h>

/* 128 x 128 x 32 of f16x3 on an A100, as in the worked lines. */
static const struct ht_cost_coefficients WORKED = {
    .blocks_per_sm = 1,
    .step_busy_x256 = 1536 * 256,
    .step_latency_x256 = 700 * 256,
    .fixed_cycles = 2000,
    .step_bytes = 32768,
    .step_k = 32,
};

static void test_cost_worked_lines(void **state) {
    (void)state;
    assert_int_equal(ht_cost_ns(&WORKED, 128, 128, 108, 1410, 4000, 2000, 3000, 4096, 4096, 4096, 1, 1),
                     1408567);
    assert_int_equal(ht_cost_ns(&WORKED, 128, 128, 108, 1410, 2000, 2000, 3000, 4096, 4096, 4096, 1, 1),
                     2192046);
    assert_int_equal(ht_cost_ns(&WORKED, 128, 128, 108, 1410, 4000, 2000, 3000, 512, 512, 4096, 1, 4), 43996);
    struct ht_cost_coefficients c = WORKED;
    c.part_cycles = 262;
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1410, 4000, 2000, 3000, 512, 512, 4096, 1, 4), 43996 + 743);
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1410, 4000, 2000, 3000, 512, 512, 4096, 1, 1),
                     ht_cost_ns(&WORKED, 128, 128, 108, 1410, 4000, 2000, 3000, 512, 512, 4096, 1, 1));
}

static void test_narrow_stores_worked_lines(void **state) {
    (void)state;
    struct ht_cost_coefficients c = WORKED;
    c.start_cycles = 1500;
    c.narrow_cycles = 7680;
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1410, 4000, 2000, 3000, 513, 4096, 32, 1, 1), 16973);
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1410, 4000, 2000, 3000, 512, 4096, 32, 1, 1), 6079);
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1000, 4000, 2000, 3000, 63, 63, 32, 1, 1), 1500 + 2000 + 1860 + 1536);
    assert_int_equal(ht_cost_ns(&c, 128, 128, 108, 1000, 4000, 2000, 3000, 64, 63, 32, 1, 1), 1500 + 2000 + 1536);
}

/* Whatever the library accepts: never less than nothing, never less than a smaller product takes, at most HT_NS_MOST. The
 * kernels: of panels, of a matrix and a vector, of a tall matrix whose columns are exchanged; a slow clock. */
static void test_absurd_sizes_saturate(void **state) {
    (void)state;
    struct ht_cost_coefficients panels = WORKED, thin = WORKED, tall = WORKED;
    panels.start_cycles = 1500;
    panels.narrow_cycles = 7680;
    thin.stream_gbps = 4000;
    thin.row_parts = 8;
    thin.blocks_per_sm = 3;
    tall.stream_gbps = 1000;
    tall.swapped_percent = 230;
    tall.blocks_per_sm = 2;
    const struct ht_cost_coefficients *const kernels[] = {&panels, &thin, &tall};
    static const int tiles[][2] = {{128, 128}, {8, 1}, {64, 1}};
    static const int64_t clocks[] = {500, 1410};
    const int64_t most = INT64_C(2146435072);
    for (int kernel = 0; kernel < 3; kernel++)
        for (int clock = 0; clock < 2; clock++)
            for (int shape = 0; shape < 16; shape++) {
                const int64_t large_m = shape & 1 ? most : 3, large_n = shape & 2 ? most : 5, large_k = shape & 4 ? most : 64;
                const int64_t batch = shape & 8 ? most : 1;
                int64_t before = 0;
                for (int shift = 31; shift >= 0; shift--) {
                    const int64_t ns =
                        ht_cost_ns(kernels[kernel], tiles[kernel][0], tiles[kernel][1], 108, clocks[clock], 4000, 2000, 3000,
                                   large_m, large_n, large_k, (batch >> shift) + (batch == 1 || shift == 31), 1);
                    assert_true(ns > 0 && ns >= before && ns <= HT_NS_MOST);
                    before = ns;
                }
            }
    for (int kernel = 0; kernel < 3; kernel++)
        for (int splits = 1; splits < 129; splits += 127)
            assert_int_equal(ht_cost_ns(kernels[kernel], tiles[kernel][0], tiles[kernel][1], 108, 500, 4000, 2000, 3000, most, most, most,
                                        most, splits), HT_NS_MOST);
}

static void test_thin_worked_lines(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 1, .step_busy_x256 = 100 * 256, .step_latency_x256 = 500 * 256,
                                     .fixed_cycles = 1000, .start_cycles = 2000, .step_k = 256, .stream_gbps = 4000};
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 800, 1, 1024, 1, 1), 5000);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 2, 64, 1024, 1, 1), 5000);
    c.ragged_cycles = 1600;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 800, 1, 1024, 1, 1), 5000);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 798, 1, 1024, 1, 1), 11400);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 798, 1, 64, 1, 1), 3500 + 400);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 800, 1023, 1, 1), 3000 + 4 * 500 + 4 * 1600); /* lines of B */
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 1, 1023, 1, 1), 5000); /* one line: it begins well */
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 1, 16384, 1, 1), 35000);
    c.row_parts = 8;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 1, 16384, 1, 1), 7000);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 4, 1, 16384, 1, 1), 3000 + 32 * 500);
    c.blocks_per_sm = 3;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 8192, 1, 256, 1, 1), 3000 + 4 * 500); /* a block alone waits four times as long, too */
    c.step_latency_x256 = 125 * 256;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 8192, 1, 256, 1, 1), 4211);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 3025, 1, 256, 1, 1), 3825);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 3024, 1, 256, 1, 1), 3500); /* 95 tiles */
    c.step_latency_x256 = 500 * 256;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 3, 1, 256, 1, 1), 3500 + 1600); /* few rows: number by number */
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 800, 1024, 1, 1), 5000); /* lines of B are rows, whole */
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 3, 253, 1, 1), 3500); /* and lines of k are read side by side */
    c.blocks_per_sm = 1;
    c.row_parts = 0;
    c.swapped_percent = 230;
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 2, 64, 1024, 1, 1), 11500);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 1, 64, 1024, 1, 1), 5000);
    assert_int_equal(ht_cost_ns(&c, 8, 1, 108, 1000, 4000, 2000, 3000, 64, 2, 1024, 1, 1), 5000);
}

static void test_a_block_alone_waits_for_what_l2_does_not_keep(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 4, .step_busy_x256 = 100 * 256, .step_latency_x256 = 100 * 256, .fixed_cycles = 1000,
                                     .step_k = 32, .stream_gbps = 40000, .whole_k = 1, .near_bytes = 4 << 20, .far_cycles = 300};
    assert_int_equal(ht_cost_ns(&c, 128, 1, 108, 1000, 4000, 2000, 3000, 8192, 1, 64, 1, 1), 1200);
    assert_int_equal(ht_cost_ns(&c, 128, 1, 108, 1000, 4000, 2000, 3000, 8192, 1, 128, 1, 1), 2600);
    c.near_bytes = 5 << 20;
    assert_int_equal(ht_cost_ns(&c, 128, 1, 108, 1000, 4000, 2000, 3000, 8192, 1, 128, 1, 1), 1400);
}

static void test_a_block_alone_waits_for_what_it_reads_again(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 1, .step_busy_x256 = 256, .step_latency_x256 = 256, .fixed_cycles = 1000,
                                     .step_bytes = 16384, .step_k = 32, .stream_gbps = 1000};
    assert_int_equal(ht_cost_ns(&c, 64, 64, 108, 1000, 4000, 2000, 3000, 128, 128, 4096, 1, 1), 6291);
    assert_int_equal(ht_cost_ns(&c, 64, 64, 108, 1000, 4000, 2000, 3000, 64, 64, 4096, 1, 1), 2113 + 1000); /* all of it once */
    c.blocks_per_sm = 2;
    assert_int_equal(ht_cost_ns(&c, 64, 64, 108, 1000, 4000, 2000, 3000, 128, 128, 4096, 1, 1), 5259);
}

static void test_columns_that_read_a_matrix_again(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 4, .step_busy_x256 = 256, .step_latency_x256 = 256, .whole_k = 1,
                                     .step_bytes = 129 * 32 * 4, .step_k = 32, .stream_gbps = 1000};
    assert_int_equal(ht_cost_ns(&c, 128, 1, 108, 1000, 4000, 2000, 3000, 128000, 2, 64, 1, 1), 66047);
    assert_int_equal(ht_cost_ns(&c, 128, 2, 108, 1000, 4000, 2000, 3000, 128000, 2, 64, 1, 1), 33792);
}

static void test_blocks_that_others_wait_for(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 4, .step_busy_x256 = 256 * 100, .step_latency_x256 = 256 * 100, .fixed_cycles = 1000,
                                     .step_bytes = 1, .step_k = 16, .stream_gbps = 1000000, .block_cycles = 300, .swap_share = 8};
    assert_int_equal(ht_cost_ns(&c, 64, 64, 108, 1000, 4000, 2000, 3000, 64, 64, 16, 1, 1), 1000 + 300 + 100);
    assert_int_equal(ht_cost_ns(&c, 64, 64, 1, 1000, 4000, 2000, 3000, 256, 128, 16, 1, 1), 1000 + 250 + 2 * (4 * 300 + 4 * 100));
    assert_int_equal(ht_cost_ns(&c, 128, 32, 1, 1000, 4000, 2000, 3000, 32, 96, 16, 1, 1), 1000 + 300 + 100); /* exchanged: one tile, not three */
}

static void test_cost_latency_and_residency(void **state) {
    (void)state;
    struct ht_cost_coefficients c = WORKED;
    c.step_latency_x256 = 4000 * 256; /* one block: latency decides */
    int64_t one = ht_cost_ns(&c, 128, 128, 108, 1000, 100000, 2000, 0, 128, 128, 32, 1, 1);
    assert_int_equal(one, 2000 + 4000);
    /* three blocks on an SM share its busy pipe and fill each other's gaps: 3 x 1536 + (4000 - 1536) / 9 */
    c.blocks_per_sm = 3;
    int64_t three = ht_cost_ns(&c, 128, 128, 1, 1000, 100000, 2000, 0, 3 * 128, 128, 32, 1, 1);
    assert_int_equal(three, 2000 + 4881);
    c.step_latency_x256 = 8000 * 256; /* 4608 + 718 would be less than one block's own latency */
    assert_int_equal(ht_cost_ns(&c, 128, 128, 1, 1000, 100000, 2000, 0, 3 * 128, 128, 32, 1, 1), 2000 + 8000);
    c.step_latency_x256 = 4000 * 256;
    /* a batch is more tiles */
    int64_t batch = ht_cost_ns(&c, 128, 128, 1, 1000, 100000, 2000, 0, 128, 128, 32, 3, 1);
    assert_int_equal(batch, three);
}

static void test_clusters_run_whole(void **state) {
    (void)state;
    struct ht_cost_coefficients c = WORKED;
    const int64_t four = ht_cost_ns(&c, 128, 128, 3, 1000, 100000, 2000, 0, 4 * 128, 128, 32, 1, 1);
    const int64_t three = ht_cost_ns(&c, 128, 128, 3, 1000, 100000, 2000, 0, 3 * 128, 128, 32, 1, 1);
    c.cluster_m = 2, c.cluster_n = 1; /* the fourth tile of three: a block without work */
    assert_int_equal(ht_cost_ns(&c, 128, 128, 3, 1000, 100000, 2000, 0, 3 * 128, 128, 32, 1, 1), four);
    c.cluster_m = 1, c.cluster_n = 2;
    assert_int_equal(ht_cost_ns(&c, 128, 128, 3, 1000, 100000, 2000, 0, 128, 3 * 128, 32, 1, 1), four);
    assert_true(three < four);
}

static void test_absurd_shapes_saturate(void **state) {
    (void)state;
    int64_t big = INT64_C(2146435072);
    int64_t ns = ht_cost_ns(&WORKED, 128, 128, 108, 1410, 4000, 2000, 3000, big, big, big, big, 128);
    assert_true(ns > INT64_MAX / 2000);
    assert_true(ht_pack_ns(4, 1600, big, big, big) > 0);
    assert_int_equal(ht_partial_bytes(big, big, big, 2, 4), INT64_MAX);
    assert_int_equal(ht_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(ht_mul(INT64_MAX / 2, 3), INT64_MAX);
    assert_int_equal(ht_mul(0, INT64_MAX), 0);
    assert_int_equal(ht_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

static void test_exact_sums_limit_parts(void **state) {
    (void)state;
    struct ht_cost_coefficients c = WORKED;
    assert_int_equal(ht_min_splits(&c, INT64_C(1) << 40), 1);
    c.exact_k = 131072;
    c.step_k = 128;
    assert_int_equal(ht_min_splits(&c, 131072), 1);
    assert_int_equal(ht_min_splits(&c, 131073), 2);
    assert_int_equal(ht_min_splits(&c, 400000), 4);
    assert_int_equal(ht_min_splits(&c, 1 << 24), 128);
    assert_true(ht_min_splits(&c, (1 << 24) + 1) > HT_PICK_SPLITS_MAX);
    /* the least is taken even where partial sums find no room; they have 8 bytes */
    int splits = 0;
    ht_best_split(&c, 128, 128, 108, 1410, 4000, 2000, 3000, 4096, 4096, 400000, 1, 0, &splits);
    assert_int_equal(splits, 4);
    assert_int_equal(ht_partial_bytes(3, 5, 2, 4, ht_partial_size(c.exact_k)), 3 * 5 * 2 * 4 * 8);
}

static void test_pack_worked_line(void **state) {
    (void)state;
    assert_int_equal(ht_pack_ns(4, 1600, 4096, 4096, 1), 83886);
    /* one row of one element still writes an atom pair: 64 x 64 x 4 bytes */
    assert_int_equal(ht_pack_ns(4, 1, 1, 1, 1), 4 + 64 * 64 * 4);
}

static void test_bound_worked_line(void **state) {
    (void)state;
    struct ht_scheme_desc s = {
        .products = 3, .mma_k = 16, .align_units = 10, .split_units = 8, .promote_k = 64};
    assert_int_equal(ht_bound_units(&s, 4096), 119);
    assert_int_equal(ht_bound_units(&s, 64), 8 + 40 + 1 + 4);
    assert_int_equal(ht_bound_units(&s, 16), 8 + 10 + 4);
    s.promote_k = 0; /* one chain over all of k */
    assert_int_equal(ht_bound_units(&s, 4096), 8 + 2560 + 102 + 4);
}

/* ---- ht_pick ---- */

static struct ht_kernel_desc kernel_of(const char *scheme, const char *variant, int bm, int bn) {
    struct ht_kernel_desc k = {
        .name = "k", .scheme = scheme, .variant = variant, .bm = bm, .bn = bn, .bk = 32};
    k.cost = WORKED;
    k.cost.step_busy_x256 = 3 * bm * bn * 32 / 1024 * 256;
    k.cost.step_bytes = (bm + bn) * 32 * 4;
    return k;
}

static struct ht_set_desc set_of(const struct ht_kernel_desc *kernel, int kernels) {
    struct ht_set_desc set = {
        .sms = 108, .clock_mhz = 1410, .l2_gbps = 4000, .dram_gbps = 2000, .launch_ns = 3000};
    set.kernel = kernel;
    set.kernels = kernels;
    return set;
}

/* A kernel that reads the operands as they are: device memory bounds it, and operands change places. 1000 MHz, 1 byte/ns. */
static void test_direct_cost_worked_lines(void **state) {
    (void)state;
    struct ht_cost_coefficients c = {.blocks_per_sm = 1,
                                     .step_busy_x256 = 1000 * 256,
                                     .step_latency_x256 = 1000 * 256,
                                     .fixed_cycles = 500,
                                     .step_bytes = 1,
                                     .step_k = 32};
    /* 64 steps in one tile of 128 x 8 */
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1, 0, 100, 1, 2048, 1, 1), 64500);
    c.stream_gbps = 1; /* 4 * 101 * 2048 bytes, C 400, start 500 */
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1, 0, 100, 1, 2048, 1, 1), 4 * 101 * 2048 + 400 + 500);
    c.stream_gbps = 1000000;
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1000000, 0, 100, 1, 2048, 1, 1), 64500);
    /* 1 x 100: 13 tiles as it stands, 1 the other way round */
    assert_int_equal(ht_swap_ab(1, 100, 128, 8, 0), 1);
    assert_int_equal(ht_swap_ab(100, 1, 128, 8, 0), 0);
    assert_int_equal(ht_swap_ab(100, 100, 64, 64, 0), 0);
    assert_int_equal(ht_swap_ab(6175, 9704, 128, 32, 0), 1); /* 14896 tiles, or 14668 */
    assert_int_equal(ht_swap_ab(6175, 9704, 128, 32, 8), 0);
    assert_int_equal(ht_swap_ab(32, 1024, 128, 32, 8), 1); /* 32, or 8 */
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1000000, 0, 1, 100, 2048, 1, 1), 64500);
    /* 2000 x 8: 16 tiles on 10 slots are two waves; with two blocks on each of 4 SMs too, the second at half the start, steps
     * of both 2000 clocks long, as an SM has two of them */
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1000000, 0, 2000, 8, 2048, 1, 1), 2 * 64500);
    c.blocks_per_sm = 2;
    assert_int_equal(ht_cost_ns(&c, 128, 8, 4, 1000, 1000, 1000000, 0, 2000, 8, 2048, 1, 1), 2 * 128000 + 500 + 250);
    c.blocks_per_sm = 1;
    c.stream_gbps = 0; /* panels stay where they are: two waves on 10 SMs */
    assert_int_equal(ht_cost_ns(&c, 128, 8, 10, 1000, 1000, 1000000, 0, 1, 100, 2048, 1, 1), 2 * 64500);
}

static int pack_nothing(const struct ht_pack_args *operands, int count, void *stream) {
    (void)operands;
    (void)count;
    (void)stream;
    return 0;
}

/* Packing and its launches count where there are panels. */
static void test_total_time(void **state) {
    (void)state;
    struct ht_kernel_desc kernel[2] = {kernel_of("f16x3", "", 128, 128), kernel_of("bf16x6u", "", 64, 64)};
    const int64_t some = 4096;
    const struct ht_scheme_desc scheme[2] = {
        {.name = "f16x3", .slices = 2, .slice_bytes = 2, .scales_rows = 1, .pack = pack_nothing}, {.name = "bf16x6u", .simt_k_max = 64}};
    struct ht_set_desc set = set_of(kernel, 2);
    set.schemes = 2;
    set.copy_gbps = 1600;
    set.scheme = scheme;
    const int64_t pack = ht_pack_ns(4, set.copy_gbps, some, some, 1);
    const struct ht_choice panels = ht_pick(&set, "f16x3", some, some, some, 1, 0),
                           direct = ht_pick(&set, "bf16x6u", some, some, some, 1, 0);
    assert_int_equal(ht_total_ns(&set, &panels, some, some, some, 1), panels.predicted_ns + 2 * pack + set.launch_ns);
    assert_int_equal(ht_total_ns(&set, &direct, some, some, some, 1), direct.predicted_ns);
    /* the product falls back itself where a launch is more than a 64th of all, and its kernel can: 63 L > what the call takes without
     * packing's own */
    const int64_t rest = ht_total_ns(&set, &panels, some, some, some, 1) - set.launch_ns;
    set.launch_ns = rest / 63 + 2;
    assert_false(ht_fallback_in_kernel(&set, &panels, some, some, some, 1));
    kernel[0].fallback_in_kernel = 1;
    assert_true(ht_fallback_in_kernel(&set, &panels, some, some, some, 1));
    set.launch_ns = rest / 63 - 2;
    assert_false(ht_fallback_in_kernel(&set, &panels, some, some, some, 1));
    /* few short rows: all in L2 */
    const struct ht_scheme_desc packed = {.name = "f16x3", .slices = 2, .slice_bytes = 2, .atom_k = 32, .scales_rows = 1, .pack = pack_nothing};
    set.scheme = &packed;
    set.schemes = 1;
    set.sms = 132;
    set.l2_gbps = 8500;
    set.launch_ns = 2500;
    assert_int_equal(ht_packing_ns(&set, "f16x3", 1024, 1024, 1024, 1), 2500 + 2 * ht_pack_ns(4, 8500, 1024, 1024, 1));
    assert_int_equal(ht_packing_ns(&set, "f16x3", 2048, 1024, 1024, 1),
                     2500 + ht_pack_ns(4, 1600, 2048, 1024, 1) + ht_pack_ns(4, 1600, 1024, 1024, 1));
    /* up to simt_k_max a rounding for each k */
    assert_int_equal(ht_bound_units(&scheme[1], 1), 5);
    assert_int_equal(ht_bound_units(&scheme[1], 64), 68);
}

/* Where all that is done are FP32 multiply-adds, kernels of slices are not picked, however fast they seem. */
static void test_pick_leaves_short_k_to_multiply_adds(void **state) {
    (void)state;
    struct ht_kernel_desc kernel[2] = {kernel_of("bf16x6u", "", 64, 64), kernel_of("bf16x6u", "", 64, 64)};
    const struct ht_scheme_desc scheme = {.name = "bf16x6u", .simt_k_max = 16};
    struct ht_set_desc set = set_of(kernel, 2);
    set.schemes = 1;
    set.scheme = &scheme;
    kernel[0].family = HT_FAMILY_UNPACKED_WGMMA;
    kernel[1].family = HT_FAMILY_UNPACKED_MMA;
    kernel[1].cost.fixed_cycles = kernel[0].cost.fixed_cycles + 1000;
    assert_int_equal(ht_pick(&set, "bf16x6u", 512, 512, 17, 1, 0).kernel, 0);
    assert_int_equal(ht_pick(&set, "bf16x6u", 512, 512, 16, 1, 0).kernel, 1);
}

static const int64_t PLENTY = INT64_C(1) << 40;

static void test_pick_takes_the_cheapest_of_the_scheme(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[] = {kernel_of("other", "", 64, 64),
                                            kernel_of("f16x3", "plain", 64, 64),
                                            kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 4);
    /* Large: the big tile needs less from L2. One small tile: the small tile has less to do. */
    assert_int_equal(ht_pick(&set, "f16x3", 8192, 8192, 4096, 1, 0).kernel, 2);
    assert_int_equal(ht_pick(&set, "f16x3", 64, 64, 64, 1, 0).kernel, 3);
    assert_int_equal(ht_pick(&set, "other", 8192, 8192, 4096, 1, 0).kernel, 0);
    assert_int_equal(ht_pick(&set, "none", 64, 64, 64, 1, 0).kernel, -1);
}

static void test_pick_predicts_what_it_compares(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 2);
    for (int64_t n = 1; n <= 4096; n *= 2) {
        struct ht_choice best = ht_pick(&set, "f16x3", n, 512, 4096, 1, PLENTY);
        for (int i = 0; i < 2; i++)
            for (int splits = 1; splits <= 32; splits *= 2) {
                int64_t ns = ht_cost_ns(&kernel[i].cost, kernel[i].bm, kernel[i].bn, 108, 1410, 4000, 2000,
                                        3000, n, 512, 4096, 1, splits);
                assert_true(best.predicted_ns <= ns);
            }
    }
}

static void test_pick_ties_go_to_the_first(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128),
                                            kernel_of("f16x3", "", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 2);
    struct ht_choice choice = ht_pick(&set, "f16x3", 4096, 4096, 4096, 1, PLENTY);
    assert_int_equal(choice.kernel, 0);
    assert_int_equal(choice.splits, 1);
    /* Splitting costs nothing and wins nothing: the smaller split. */
    struct ht_kernel_desc free_kernel = kernel[0];
    free_kernel.cost.step_busy_x256 = free_kernel.cost.step_latency_x256 = free_kernel.cost.step_bytes = 0;
    struct ht_set_desc free_set = set_of(&free_kernel, 1);
    free_set.launch_ns = 0;
    assert_int_equal(ht_pick(&free_set, "f16x3", 1, 1, 65536, 1, PLENTY).splits, 1);
}

static void test_pick_splits_long_k_of_few_tiles(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 1);
    assert_true(ht_pick(&set, "f16x3", 128, 128, 65536, 1, PLENTY).splits >= 32);
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 65536, 1, 0).splits, 1);
    /* no more parts than the partial sums have room for: 4 * 128 * 128 * 4 bytes */
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 65536, 1, 4 * 65536).splits, 4);
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 65536, 1, 4 * 65536 - 1).splits, 3);
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 65536, 2, 4 * 65536).splits, 2);
    /* at least HT_PICK_STEPS steps of 32 each; launching a reduction costs nothing here */
    set.launch_ns = 0;
    set.dram_gbps = 1000000;
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 2 * HT_PICK_STEPS * 32, 1, PLENTY).splits, 2);
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, (2 * HT_PICK_STEPS - 1) * 32, 1, PLENTY).splits, 1);
    assert_true(ht_pick(&set, "f16x3", 1, 1, INT64_C(2146435072), 1, PLENTY).splits <= HT_PICK_SPLITS_MAX);
    /* many tiles: nothing to win */
    assert_int_equal(ht_pick(&set, "f16x3", 8192, 8192, 65536, 1, PLENTY).splits, 1);
}

static void test_splits_double_and_stop_halfway(void **state) {
    (void)state;
    static const int expected[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    for (size_t i = 0; i + 1 < sizeof expected / sizeof *expected; i++)
        assert_int_equal(ht_split_series(expected[i]), expected[i + 1]);
}

static void test_pick_splits_runs_any_variant(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "plain", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 1);
    assert_int_equal(ht_pick(&set, "f16x3", 128, 128, 65536, 1, PLENTY).kernel, -1);
    assert_int_equal(ht_pick_splits(&set, 0, 128, 128, 65536, 1, PLENTY).kernel, 0);
    assert_true(ht_pick_splits(&set, 0, 128, 128, 65536, 1, PLENTY).splits > 1);
}

/* A tuned shape takes its kernel and split whatever the model says, but only that scheme, without batch, and while the
 * partial sums fit. */
static void test_tuned_shape_wins(void **state) {
    (void)state;
    const struct ht_kernel_desc kernel[2] = {kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 2);
    const struct ht_choice model = ht_pick(&set, "f16x3", 4096, 4096, 4096, 1, 0);
    const struct ht_tuned tuned[] = {{4096, 4096, 4000, model.kernel, 1}, {4096, 4096, 4096, 1 - model.kernel, 2}};
    set.tuned = tuned;
    set.tuned_count = 2;
    struct ht_choice c = ht_pick(&set, "f16x3", 4096, 4096, 4096, 1, INT64_MAX);
    assert_int_equal(c.kernel, 1 - model.kernel);
    assert_int_equal(c.splits, 2);
    const struct ht_kernel_desc *k = &kernel[c.kernel];
    assert_int_equal(c.predicted_ns, ht_cost_ns(&k->cost, k->bm, k->bn, set.sms, set.clock_mhz, set.l2_gbps,
                                                set.dram_gbps, set.launch_ns, 4096, 4096, 4096, 1, 2));
    assert_int_equal(ht_pick(&set, "f16x3", 4096, 4096, 4096, 1, 0).kernel, model.kernel); /* no room for partials */
    assert_int_equal(ht_pick(&set, "f16x3", 4096, 4096, 4096, 2, 0).kernel,
                     ht_pick(&set, "f16x3", 4096, 4096, 4096, 2, INT64_MAX).kernel);
    assert_int_equal(ht_pick(&set, "f16x3", 4096, 4096, 4097, 1, 0).kernel, model.kernel);
    assert_int_equal(ht_pick(&set, "half", 4096, 4096, 4096, 1, INT64_MAX).kernel, -1);
}

/* Code for an older capability may ask for more shared memory than a later GPU has: a800's set on an RTX 3090. */
static void test_kernels_that_do_not_fit_are_not_picked(void **state) {
    (void)state;
    const struct ht_cost_coefficients cost = {.blocks_per_sm = 1, .step_busy_x256 = 256000, .step_latency_x256 = 256000, .fixed_cycles = 1000, .step_bytes = 16384, .step_k = 32};
    struct ht_kernel_desc kernels[] = {
        {.name = "large", .scheme = "half", .variant = "", .bm = 256, .bn = 128, .bk = 32, .smem_bytes = 147456, .cost = cost},
        {.name = "small", .scheme = "half", .variant = "", .bm = 64, .bn = 64, .bk = 32, .smem_bytes = 49152, .cost = cost},
        {.name = "only", .scheme = "tf32", .variant = "", .bm = 256, .bn = 128, .bk = 32, .smem_bytes = 147456, .cost = cost}};
    const struct ht_tuned tuned[] = {{.m = 512, .n = 512, .k = 512, .kernel = 0, .splits = 1}};
    const struct ht_set_desc set = {.gpu = "a800", .arch = 800, .sms = 108, .clock_mhz = 1350, .l2_gbps = 4800, .dram_gbps = 2039,
                                    .launch_ns = 2200, .kernels = 3, .kernel = kernels, .tuned_count = 1, .tuned = tuned};
    void *owned = &owned;
    assert_ptr_equal(ht_fit_set(&set, 166912, &owned), &set);
    assert_null(owned);
    assert_ptr_equal(ht_fit_set(&set, 0, &owned), &set); /* not known */
    assert_int_equal(ht_pick(&set, "half", 4096, 4096, 4096, 1, 0).kernel, 0);
    const struct ht_set_desc *fitted = ht_fit_set(&set, 101376, &owned);
    assert_non_null(owned);
    assert_int_equal(ht_pick(fitted, "half", 4096, 4096, 4096, 1, 0).kernel, 1);
    assert_int_equal(ht_pick(fitted, "half", 512, 512, 512, 1, 0).kernel, 1); /* the tuned one does not fit */
    assert_int_equal(ht_pick(fitted, "tf32", 4096, 4096, 4096, 1, 0).kernel, -1);
    assert_string_equal(fitted->kernel[0].name, "large");
    assert_string_equal(set.kernel[0].scheme, "half");
    free(owned);
}

static void test_pick_set_by_device(void **state) {
    static const struct ht_set_desc t4 = {.gpu = "t4", .arch = 750, .sms = 40},
                                    a800 = {.gpu = "a800", .arch = 800, .sms = 108},
                                    rtx4090 = {.gpu = "rtx4090", .arch = 890, .sms = 128},
                                    l40s = {.gpu = "l40s", .arch = 890, .sms = 142},
                                    h200 = {.gpu = "h200", .arch = 900, .arch_exact = 1, .sms = 132},
                                    b200 = {.gpu = "b200", .arch = 1000, .sms = 148},
                                    rtx5090 = {.gpu = "rtx5090", .arch = 1200, .sms = 170},
                                    gb10 = {.gpu = "gb10", .arch = 1200, .sms = 48};
    const struct ht_set_desc *const all[] = {&t4, &a800, &rtx4090, &l40s, &h200, NULL};
    const struct ht_set_desc *const blackwell[] = {&h200, &b200, &rtx4090, &rtx5090, &gb10, NULL};
    const struct {
        int capability, sms;
        const struct ht_set_desc *set;
    } expected[] = {
        {700, 80, NULL},      {750, 72, &t4},      {800, 108, &a800},    {860, 82, &a800},
        {890, 128, &rtx4090}, {890, 76, &rtx4090}, {890, 135, &rtx4090}, /* as near to both: the earlier */
        {890, 142, &l40s},    {900, 114, &h200},   {1000, 148, &l40s}, /* through PTX; h200's code does not run */
    };
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_ptr_equal(ht_pick_set(all, expected[i].capability, expected[i].sms), expected[i].set);
    assert_null(ht_pick_set(&all[4], 800, 108));
    const struct {
        int capability, sms;
        const struct ht_set_desc *set;
    } later[] = {{900, 132, &h200},     {1000, 148, &b200},  {1030, 160, &b200}, {1100, 20, &b200}, /* 11.0 by PTX */
                 {1200, 170, &rtx5090}, {1200, 84, &gb10},   {1210, 48, &gb10},  {890, 128, &rtx4090}};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        assert_ptr_equal(ht_pick_set(blackwell, later[i].capability, later[i].sms), later[i].set);
    const struct ht_set_desc *const hopper[] = {&h200, NULL};
    for (int capability = 1000; capability <= 1210; capability += 10)
        assert_null(ht_pick_set(hopper, capability, 148)); /* sm_90a's code runs on 9.0 alone */
}

/* The worked lines of ht_pack_tiles; that a call with checked data asks the same and the other operand has no say; absurd
 * shapes. */
static void test_pack_tiles(void **state) {
    static const struct {
        int n, tiles;
    } worked[] = {{64, 1}, {512, 1}, {1024, 1}, {1025, 2}, {1536, 3}, {2048, 2}, {3072, 4}, {4096, 4}};
    const struct ht_scheme_desc s = {.atom_k = 32, .pack_tiles = 4, .pack_blocks_per_sm = 3};
    (void)state;
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        const int side = (worked[i].n + 63) / 64;
        assert_int_equal(ht_pack_tiles(2 * side, side, 132, 4, 3), worked[i].tiles);
        assert_int_equal(ht_checked_tiles(&s, 132, worked[i].n), worked[i].tiles);
    }
    assert_int_equal(ht_checked_tiles(&s, 132, INT64_C(1) << 31), 4);
    assert_int_equal(ht_pack_tiles(INT64_C(1) << 50, INT64_C(1) << 40, 132, 4, 3), 4);
    assert_int_equal(ht_pack_tiles(32, 16, 132, 1, 3), 1);
    /* whole rows from 257 to 1024 k, if they are few: one piece, four numbers for 64 rows; else strips of 512 k */
    for (int64_t k = 256; k <= 1088; k += 64) {
        const int whole = k > 256 && k <= 1024;
        const int otherwise = k > 256 ? HT_PACK_STRIPS : HT_PACK_TILES;
        assert_int_equal(ht_pack_mode_of(32, k / 64, 132), whole ? HT_PACK_ROWS : otherwise);
        assert_int_equal(ht_pack_mode_of(64, k / 64, 132), whole && k <= 512 ? HT_PACK_ROWS : otherwise);
        assert_int_equal(ht_pack_mode_of(67, k / 64, 132), otherwise);
        for (int64_t row_blocks = 32; row_blocks <= 67; row_blocks += 35) {
            const int tiles = ht_checked_call_tiles(&s, 132, row_blocks, k);
            const int expected = whole && row_blocks == 32 ? HT_PACK_ROWS : k > 256 ? HT_PACK_STRIPS : ht_checked_tiles(&s, 132, k);
            assert_int_equal(tiles, expected);
            assert_int_equal(ht_checked_counts(tiles), tiles < 0 ? 4 : 1);
            assert_int_equal(ht_checked_segments(&s, tiles, k),
                             tiles == HT_PACK_ROWS ? 1 : ht_ceil_div(k, tiles == HT_PACK_STRIPS ? 512 : 64 * tiles));
        }
    }
}

/* Tables that were measured before names told the family name kernels in their own way; each finds its kernel and no other. */
static void earlier_names_of_kernels(void **state) {
    static const struct {
        const char *scheme, *earlier, *now;
    } row[] = {
        {"f16x3", "ht_f16x3_64x128x32_w64x64_s8_c2_sm90a", "ht_f16x3_wgmma_64x128x32_wg64x64_s8_c2_sm90a"},
        {"f16x3", "ht_f16x3_128x128x32_w64x32_s4_sm80", "ht_f16x3_mma_128x128x32_w64x32_s4_sm80"},
        {"bf16x6u", "ht_bf16x6u_64x64x32_w16x64_s2_sm90a", "ht_bf16x6u_wgmma_64x64x32_w16x64_s2_sm90a"},
        {"bf16x6u", "ht_bf16x6u_64x64x32_w32x32_s2_sm80", "ht_bf16x6u_mma_64x64x32_w32x32_s2_sm80"},
        {"bf16x6u", "ht_bf16x6u_64x64x16_w32x32_s4_sm90a", "ht_dmma_64x64x16_w32x32_s4_sm90a"},
        {"bf16x6u", "ht_bf16x6u_128x64x16_w128x16_s2_sm80", "ht_simt_128x64x16_w128x16_s2_sm80"},
        {"bf16x6u", "ht_bf16x6u_8x1x256_w1x1_s1_sm80", "ht_gemv_8x1x256_w1x1_s1_sm80"},
        {"bf16x6u", "ht_bf16x6u_128x2x64_w16x2_s1_sm80", "ht_tall_skinny_128x2x64_w16x2_s1_sm80"},
        {"bf16x6u", "ht_bf16x6u_64x64x16_w32x32_s1_rescue_sm90a", "ht_dmma_64x64x16_w32x32_s1_fallback_sm90a"},
        {"legemm", "ht_legemm_128x256x32_w64x64_s2_plain_sm80", "ht_legemm_mma_128x256x32_w64x64_s2_nopipeline_sm80"},
        {"legemm", "ht_legemm_128x128x32_w64x64_s2_manual_sm80", "ht_legemm_mma_128x128x32_w64x64_s2_handpicked_sm80"},
    };
    enum { ROWS = sizeof row / sizeof *row };
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROWS; j++) {
            assert_int_equal(ht_kernel_is_named(row[i].now, row[i].scheme, row[j].earlier), i == j);
            assert_int_equal(ht_kernel_is_named(row[i].now, row[i].scheme, row[j].now), i == j);
        }
        assert_false(ht_kernel_is_named(row[i].now, "half", row[i].earlier));
    }
    assert_false(ht_kernel_is_named(row[0].now, "f16x3", "ht_f16x3_64x128x32_w64x64_s8_c2_sm90"));
    assert_false(ht_kernel_is_named(row[0].now, "f16x3", "ht_f16x3_64x128x32_w64x64_s8_sm90a"));
    assert_false(ht_kernel_is_named(row[0].now, "f16x3", "ht_f16x3"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_names_of_kernels),
        cmocka_unit_test(test_pack_tiles),
        cmocka_unit_test(test_cost_worked_lines),
        cmocka_unit_test(test_narrow_stores_worked_lines),
        cmocka_unit_test(test_absurd_sizes_saturate), cmocka_unit_test(test_thin_worked_lines),
        cmocka_unit_test(test_a_block_alone_waits_for_what_l2_does_not_keep),
        cmocka_unit_test(test_a_block_alone_waits_for_what_it_reads_again),
        cmocka_unit_test(test_columns_that_read_a_matrix_again),
        cmocka_unit_test(test_blocks_that_others_wait_for),
        cmocka_unit_test(test_cost_latency_and_residency),
        cmocka_unit_test(test_clusters_run_whole),
        cmocka_unit_test(test_absurd_shapes_saturate),
        cmocka_unit_test(test_exact_sums_limit_parts),
        cmocka_unit_test(test_pack_worked_line),
        cmocka_unit_test(test_direct_cost_worked_lines),
        cmocka_unit_test(test_total_time),
        cmocka_unit_test(test_pick_leaves_short_k_to_multiply_adds),
        cmocka_unit_test(test_bound_worked_line),
        cmocka_unit_test(test_pick_takes_the_cheapest_of_the_scheme),
        cmocka_unit_test(test_pick_predicts_what_it_compares),
        cmocka_unit_test(test_pick_ties_go_to_the_first),
        cmocka_unit_test(test_pick_splits_long_k_of_few_tiles),
        cmocka_unit_test(test_splits_double_and_stop_halfway),
        cmocka_unit_test(test_pick_splits_runs_any_variant),
        cmocka_unit_test(test_tuned_shape_wins),
        cmocka_unit_test(test_kernels_that_do_not_fit_are_not_picked),
        cmocka_unit_test(test_pick_set_by_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
