/* test_desc: the worked examples of runtime/ht_abi.h, ht_cost.h and ht_bound.h and the choice of kernels by ht_pick. */

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_bound.h"
#include "../../runtime/ht_cost.h"
#include "../../runtime/ht_pick.h"
#include "../test.h"

#define BATCH(...) ((struct ht_shape){__VA_ARGS__})
#define SHAPE(m, n, k) BATCH(m, n, k, 1, 1)

/* 108 SMs at 1410 MHz; at 1000, where a clock is a nanosecond. */
static const struct ht_machine GPU = {108, 1410, 4000, 2000, 3000, 0, 0, 0}, GHZ = {108, 1000, 4000, 2000, 3000, 0, 0, 0};

/* 128 x 128 x 32 of f16x3 on an A100, as in the worked examples. */
static const struct ht_tile TILE = {.bm = 128, .bn = 128, .step_k = 32, .step_bytes = 32768, .blocks_per_sm = 1, .element_bytes = 4};
static const struct ht_cost WAVES = HT_COST_TILED_WAVES(1536 * 256, 700 * 256, 2000, 0, 0, 0, 0, 0);

static int64_t ns_of(const struct ht_machine *g, const struct ht_tile *t, const struct ht_cost *c, int64_t m, int64_t n, int64_t k,
                     int64_t splits) {
    const struct ht_problem problem = {m, n, k, 1, splits};
    return ht_cost_ns(g, t, c, &problem);
}

TEST(test_tiled_waves_worked_examples) {
    struct ht_machine slow = GPU, late = GPU;
    slow.l2_gbps = 2000;
    late.splitk_partial_cycles = 262;
    assert_int_equal(ns_of(&GPU, &TILE, &WAVES, 4096, 4096, 4096, 1), 1408567);
    assert_int_equal(ns_of(&slow, &TILE, &WAVES, 4096, 4096, 4096, 1), 2192046);
    assert_int_equal(ns_of(&GPU, &TILE, &WAVES, 512, 512, 4096, 4), 43996);
    assert_int_equal(ns_of(&late, &TILE, &WAVES, 512, 512, 4096, 4), 43996 + 743);
    assert_int_equal(ns_of(&late, &TILE, &WAVES, 512, 512, 4096, 1), ns_of(&GPU, &TILE, &WAVES, 512, 512, 4096, 1));
    /* behind an unpacked kernel partials are in flight */
    struct ht_tile t = TILE;
    struct ht_cost c = WAVES;
    c.waves.dram_stream_gbps = 2000;
    t.unpacked = 1;
    assert_int_equal(ns_of(&late, &t, &c, 512, 512, 4096, 4), 43996);
    const int64_t in_32 = ns_of(&late, &t, &c, 512, 512, 4096, 32);
    late.l2_latency_cycles = 320;
    assert_int_equal(ns_of(&late, &t, &c, 512, 512, 4096, 4), 43996 + 56);
    assert_int_equal(ns_of(&late, &t, &c, 512, 512, 4096, 32), in_32 + 8 * 20 * 1000 / 1410);
}

TEST(test_scalar_stores_worked_examples) {
    const struct ht_cost c = HT_COST_TILED_WAVES(1536 * 256, 700 * 256, 1500, 2000, 7680, 0, 0, 0);
    struct ht_tile t = TILE;
    t.persistent = 1;
    assert_int_equal(ns_of(&GPU, &t, &c, 513, 4096, 32, 1), 16973);
    assert_int_equal(ns_of(&GPU, &t, &c, 512, 4096, 32, 1), 6079);
    assert_int_equal(ns_of(&GHZ, &t, &c, 63, 63, 32, 1), 1500 + 2000 + 1860 + 1536);
    assert_int_equal(ns_of(&GHZ, &t, &c, 64, 63, 32, 1), 1500 + 2000 + 1536);
    /* the reduction starts as the kernel does: 1500 of 1410 MHz */
    assert_int_equal(ns_of(&GPU, &t, &c, 512, 512, 4096, 4), ns_of(&GPU, &TILE, &WAVES, 512, 512, 4096, 4) + 2 * 1063);
}

/* Whatever the library accepts: never less than nothing, never less than a smaller product takes, at most HT_NS_MOST. The
 * kernels: packed, of a matrix and a vector, of a tall matrix, unpacked tiles; a slow clock. */
TEST(test_absurd_sizes_saturate) {
    const struct ht_tile tiles[] = {
        {.bm = 128, .bn = 128, .step_k = 32, .step_bytes = 32768, .blocks_per_sm = 1, .element_bytes = 4, .persistent = 1},
        {.bm = 8, .bn = 1, .step_k = 32, .step_bytes = 32768, .blocks_per_sm = 3, .element_bytes = 4, .unpacked = 1, .in_block_k_splits = 8},
        {.bm = 64, .bn = 1, .step_k = 32, .step_bytes = 32768, .blocks_per_sm = 2, .element_bytes = 4, .unpacked = 1},
        {.bm = 64, .bn = 64, .step_k = 32, .step_bytes = 32768, .blocks_per_sm = 1, .element_bytes = 4, .unpacked = 1}};
    const struct ht_cost costs[] = {HT_COST_TILED_WAVES(1536 * 256, 700 * 256, 1500, 2000, 7680, 0, 0, 0),
                                    HT_COST_STREAMING(1536 * 256, 700 * 256, 2000, 0, 700, 1000, 4000, 300),
                                    HT_COST_STREAMING(1536 * 256, 700 * 256, 2000, 0, 0, 0, 1000, 300),
                                    HT_COST_TILED_WAVES(1536 * 256, 700 * 256, 2000, 300, 900, 70, 122, 1000)};
    static const int64_t clocks[] = {500, 1410};
    const int64_t most = INT64_C(2146435072);
    for (int kernel = 0; kernel < 4; kernel++)
        for (int clock = 0; clock < 2; clock++)
            for (int shape = 0; shape < 16; shape++) {
                const int64_t batch = shape & 8 ? most : 1;
                struct ht_machine g = GPU;
                struct ht_problem p = {shape & 1 ? most : 3, shape & 2 ? most : 5, shape & 4 ? most : 64, 1, 1};
                int64_t before = 0;
                g.clock_mhz = clocks[clock];
                for (int shift = 31; shift >= 0; shift--) {
                    p.batch = (batch >> shift) + (batch == 1 || shift == 31);
                    const int64_t ns = ht_cost_ns(&g, &tiles[kernel], &costs[kernel], &p);
                    assert_true(ns > 0 && ns >= before && ns <= HT_NS_MOST);
                    before = ns;
                }
                p = (struct ht_problem){most, most, most, most, shape + 1};
                assert_int_equal(ht_cost_ns(&g, &tiles[kernel], &costs[kernel], &p), HT_NS_MOST);
            }
}

TEST(test_streaming_worked_examples) {
    struct ht_tile t = {.bm = 8, .bn = 1, .step_k = 256, .blocks_per_sm = 1, .element_bytes = 4, .unpacked = 1};
    struct ht_cost c = HT_COST_STREAMING(100 * 256, 500 * 256, 1000, 2000, 0, 0, 4000, 0);
    assert_int_equal(ns_of(&GHZ, &t, &c, 800, 1, 1024, 1), 5000);
    assert_int_equal(ns_of(&GHZ, &t, &c, 2, 64, 1024, 1), 5000);
    c.stream.misaligned_cycles = 1600;
    assert_int_equal(ns_of(&GHZ, &t, &c, 800, 1, 1024, 1), 5000);
    assert_int_equal(ns_of(&GHZ, &t, &c, 798, 1, 1024, 1), 11400);
    assert_int_equal(ns_of(&GHZ, &t, &c, 798, 1, 64, 1), 3500 + 400);
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 800, 1023, 1), 3000 + 4 * 500 + 4 * 1600); /* B's columns */
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 1, 1023, 1), 5000);                        /* one column: it is aligned */
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 1, 16384, 1), 35000);
    t.in_block_k_splits = 8;
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 1, 16384, 1), 7000);
    assert_int_equal(ns_of(&GHZ, &t, &c, 4, 1, 16384, 1), 3000 + 32 * 500);
    t.blocks_per_sm = 3;
    assert_int_equal(ns_of(&GHZ, &t, &c, 8192, 1, 256, 1), 3000 + 4 * 500); /* a block alone waits four times as long, too */
    c.stream.step_latency_x256 = 125 * 256;
    assert_int_equal(ns_of(&GHZ, &t, &c, 8192, 1, 256, 1), 4211);
    assert_int_equal(ns_of(&GHZ, &t, &c, 3025, 1, 256, 1), 3825);
    assert_int_equal(ns_of(&GHZ, &t, &c, 3024, 1, 256, 1), 3500); /* 95 tiles */
    c.stream.step_latency_x256 = 500 * 256;
    assert_int_equal(ns_of(&GHZ, &t, &c, 3, 1, 256, 1), 3500 + 1600);  /* few rows: element by element */
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 800, 1024, 1), 5000);      /* B's columns, whole */
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 3, 253, 1), 3500);         /* and along k they are contiguous */
    t.blocks_per_sm = 1;
    t.in_block_k_splits = 0;
    assert_int_equal(ns_of(&GHZ, &t, &c, 1, 64, 1024, 1), 5000);
    /* PDL hides a part of a reduction's launch */
    const int64_t whole = ns_of(&GHZ, &t, &c, 64, 2, 1024, 2);
    c.stream.pdl_overlap_cycles = 1000;
    assert_int_equal(ns_of(&GHZ, &t, &c, 64, 2, 1024, 2), whole - 1000);
    assert_int_equal(ns_of(&GHZ, &t, &c, 64, 2, 1024, 1), 5000);
}

TEST(test_a_block_alone_waits_for_what_l2_does_not_keep) {
    const struct ht_tile t = {.bm = 128, .bn = 1, .step_k = 32, .blocks_per_sm = 4, .element_bytes = 4, .unpacked = 1, .no_split_k = 1};
    const struct ht_cost c = HT_COST_STREAMING(100 * 256, 100 * 256, 1000, 0, 0, 0, 40000, 300);
    struct ht_machine g = GHZ;
    g.l2_resident_bytes = 4 << 20;
    assert_int_equal(ns_of(&g, &t, &c, 8192, 1, 64, 1), 1200);
    assert_int_equal(ns_of(&g, &t, &c, 8192, 1, 128, 1), 2600);
    g.l2_resident_bytes = 5 << 20;
    assert_int_equal(ns_of(&g, &t, &c, 8192, 1, 128, 1), 1400);
}

TEST(test_a_block_alone_waits_for_what_it_reads_again) {
    struct ht_tile t = {.bm = 64, .bn = 64, .step_k = 32, .step_bytes = 16384, .blocks_per_sm = 1, .element_bytes = 4, .unpacked = 1};
    const struct ht_cost c = HT_COST_TILED_WAVES(256, 256, 1000, 0, 0, 0, 0, 1000);
    assert_int_equal(ns_of(&GHZ, &t, &c, 128, 128, 4096, 1), 6291);
    assert_int_equal(ns_of(&GHZ, &t, &c, 64, 64, 4096, 1), 2113 + 1000); /* all of it once */
    t.blocks_per_sm = 2;
    assert_int_equal(ns_of(&GHZ, &t, &c, 128, 128, 4096, 1), 5259);
}

TEST(test_columns_that_read_a_matrix_again) {
    struct ht_tile t = {.bm = 128, .bn = 1, .step_k = 32, .step_bytes = 129 * 32 * 4, .blocks_per_sm = 4, .element_bytes = 4, .unpacked = 1, .no_split_k = 1};
    const struct ht_cost c = HT_COST_STREAMING(256, 256, 0, 0, 0, 0, 1000, 0);
    assert_int_equal(ns_of(&GHZ, &t, &c, 128000, 2, 64, 1), 66047);
    t.bn = 2;
    assert_int_equal(ns_of(&GHZ, &t, &c, 128000, 2, 64, 1), 33792);
}

TEST(test_blocks_that_others_wait_for) {
    struct ht_tile t = {.bm = 64, .bn = 64, .step_k = 16, .step_bytes = 1, .blocks_per_sm = 4, .element_bytes = 4, .unpacked = 1, .swap_ab_min_gain = 8};
    struct ht_cost c = HT_COST_TILED_WAVES(256 * 100, 256 * 100, 1000, 300, 0, 0, 0, 1000000);
    struct ht_machine one = GHZ;
    one.sms = 1;
    assert_int_equal(ns_of(&GHZ, &t, &c, 64, 64, 16, 1), 1000 + 300 + 100);
    assert_int_equal(ns_of(&one, &t, &c, 256, 128, 16, 1), 1000 + 250 + 2 * (4 * 300 + 4 * 100));
    c.waves.misaligned_cycles = 70; /* of the M-side operand; of a step that is not full its share */
    assert_int_equal(ns_of(&GHZ, &t, &c, 63, 64, 16, 1), 1000 + 300 + 100 + 70);
    assert_int_equal(ns_of(&GHZ, &t, &c, 63, 64, 8, 1), 1000 + 300 + 100 + 35);
    t.bm = 128, t.bn = 32;
    assert_int_equal(ns_of(&one, &t, &c, 32, 96, 16, 1), 1000 + 300 + 100); /* swapped: one tile, not three */
    assert_int_equal(ns_of(&one, &t, &c, 32, 96, 15, 1), 1000 + 300 + 100 + 65);
    c.waves.swap_ab_percent = 230;
    assert_int_equal(ns_of(&one, &t, &c, 32, 96, 16, 1), 1400 * 230 / 100);
    assert_int_equal(ns_of(&one, &t, &c, 1, 96, 16, 1), 1400); /* one row is contiguous either way */
    assert_int_equal(ns_of(&one, &t, &c, 96, 32, 16, 1), 1400);
}

/* 108 SMs or so many at 1000 MHz, whose L2 and launches take no time. */
static struct ht_machine machine_of(int sms) {
    const struct ht_machine g = {sms, 1000, 100000, 2000, 0, 0, 0, 0};
    return g;
}

TEST(test_cost_latency_and_residency) {
    const struct ht_machine many = machine_of(108), single = machine_of(1);
    struct ht_tile t = TILE;
    struct ht_cost c = WAVES;
    c.waves.step_latency_x256 = 4000 * 256; /* one block: latency decides */
    assert_int_equal(ns_of(&many, &t, &c, 128, 128, 32, 1), 2000 + 4000);
    /* three blocks on an SM share its busy pipe and fill each other's gaps: 3 x 1536 + (4000 - 1536) / 9 */
    t.blocks_per_sm = 3;
    assert_int_equal(ns_of(&single, &t, &c, 3 * 128, 128, 32, 1), 2000 + 4881);
    const struct ht_problem batch = {128, 128, 32, 3, 1}; /* a batch is more tiles */
    assert_int_equal(ht_cost_ns(&single, &t, &c, &batch), 2000 + 4881);
    c.waves.step_latency_x256 = 8000 * 256; /* 4608 + 718 would be less than one block's own latency */
    assert_int_equal(ns_of(&single, &t, &c, 3 * 128, 128, 32, 1), 2000 + 8000);
}

TEST(test_clusters_run_whole) {
    const struct ht_machine g = machine_of(3);
    struct ht_tile t = TILE;
    const int64_t four = ns_of(&g, &t, &WAVES, 4 * 128, 128, 32, 1), three = ns_of(&g, &t, &WAVES, 3 * 128, 128, 32, 1);
    t.cluster_m = 2, t.cluster_n = 1; /* the fourth tile of three: a block without work */
    assert_int_equal(ns_of(&g, &t, &WAVES, 3 * 128, 128, 32, 1), four);
    t.cluster_m = 1, t.cluster_n = 2;
    assert_int_equal(ns_of(&g, &t, &WAVES, 128, 3 * 128, 32, 1), four);
    assert_true(three < four);
}

TEST(test_absurd_shapes_saturate) {
    int64_t big = INT64_C(2146435072);
    const struct ht_problem all = {big, big, big, big, 128};
    int64_t ns = ht_cost_ns(&GPU, &TILE, &WAVES, &all);
    assert_true(ns > INT64_MAX / 2000);
    assert_true(ht_pack_ns(4, 1600, big, big, big) > 0);
    assert_int_equal(ht_partial_bytes(big, big, big, 2, 4), INT64_MAX);
    assert_int_equal(ht_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(ht_mul(INT64_MAX / 2, 3), INT64_MAX);
    assert_int_equal(ht_mul(0, INT64_MAX), 0);
    assert_int_equal(ht_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

TEST(test_exact_sums_limit_parts) {
    struct ht_tile t = TILE;
    assert_int_equal(ht_min_splits(&t, INT64_C(1) << 40), 1);
    t.exact_k = 131072;
    t.step_k = 128;
    assert_int_equal(ht_min_splits(&t, 131072), 1);
    assert_int_equal(ht_min_splits(&t, 131073), 2);
    assert_int_equal(ht_min_splits(&t, 400000), 4);
    assert_int_equal(ht_min_splits(&t, 1 << 24), 128);
    assert_true(ht_min_splits(&t, (1 << 24) + 1) > HT_PICK_SPLITS_MAX);
    /* the least is taken even where partials find no room; they have 8 bytes */
    struct ht_problem p = {4096, 4096, 400000, 1, 1};
    ht_best_split(&GPU, &t, &WAVES, &p, 0);
    assert_int_equal(p.splits, 4);
    assert_int_equal(ht_partial_bytes(3, 5, 2, 4, ht_partial_size(t.exact_k)), 3 * 5 * 2 * 4 * 8);
}

TEST(test_pack_worked_line) {
    const struct ht_problem cube = {1024, 1024, 1024, 1, 1};
    assert_int_equal(ht_pack_ns(4, 1600, 4096, 4096, 1), 83886);
    assert_int_equal(ht_residue_steps_ns(1600, 3000, 15, 1, &cube), 64705);
    /* one row of one element still writes an atom pair: 64 x 64 x 4 bytes */
    assert_int_equal(ht_pack_ns(4, 1, 1, 1, 1), 4 + 64 * 64 * 4);
}

TEST(test_bound_worked_line) {
    struct ht_scheme_desc s = {
        .products = 3, .mma_k = 16, .align_units = 10, .split_units = 8, .promote_k = 64};
    EQUAL({ht_bound_units(&s, 4096), 119}, {ht_bound_units(&s, 64), 8 + 40 + 1 + 4},
          {ht_bound_units(&s, 16), 8 + 10 + 4});
    s.promote_k = 0; /* one chain over all of k */
    assert_int_equal(ht_bound_units(&s, 4096), 8 + 2560 + 102 + 4);
}

/* ---- ht_pick ---- */

static struct ht_kernel_desc kernel_of(const char *scheme, const char *variant, int bm, int bn) {
    struct ht_kernel_desc k = {
        .name = "k", .scheme = scheme, .variant = variant, .tile = TILE, .bk = 32, .cost = WAVES};
    k.tile.bm = bm, k.tile.bn = bn;
    k.cost.waves.step_busy_x256 = 3 * bm * bn * 32 / 1024 * 256;
    k.tile.step_bytes = (bm + bn) * 32 * 4;
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
TEST(test_direct_cost_worked_lines) {
    struct ht_machine g = {10, 1000, 1000, 1000000, 0, 0, 0, 0};
    struct ht_tile t = {.bm = 128, .bn = 8, .step_k = 32, .step_bytes = 1, .blocks_per_sm = 1, .element_bytes = 4};
    struct ht_cost c = HT_COST_TILED_WAVES(1000 * 256, 1000 * 256, 500, 0, 0, 0, 0, 1);
    /* 64 steps in one tile of 128 x 8 */
    assert_int_equal(ns_of(&g, &t, &c, 100, 1, 2048, 1), 64500);
    t.unpacked = 1; /* 4 * 101 * 2048 bytes, C 400, start 500 */
    assert_int_equal(ns_of(&g, &t, &c, 100, 1, 2048, 1), 4 * 101 * 2048 + 400 + 500);
    c.waves.dram_stream_gbps = 1000000;
    assert_int_equal(ns_of(&g, &t, &c, 100, 1, 2048, 1), 64500);
    /* 1 x 100: 13 tiles as it stands, 1 the other way round */
    assert_int_equal(ht_swap_ab(1, 100, 128, 8, 0), 1);
    assert_int_equal(ht_swap_ab(100, 1, 128, 8, 0), 0);
    assert_int_equal(ht_swap_ab(100, 100, 64, 64, 0), 0);
    assert_int_equal(ht_swap_ab(6175, 9704, 128, 32, 0), 1); /* 14896 tiles, or 14668 */
    assert_int_equal(ht_swap_ab(6175, 9704, 128, 32, 8), 0);
    assert_int_equal(ht_swap_ab(32, 1024, 128, 32, 8), 1); /* 32, or 8 */
    assert_int_equal(ns_of(&g, &t, &c, 1, 100, 2048, 1), 64500);
    /* 2000 x 8: 16 tiles on 10 slots are two waves; with two blocks on each of 4 SMs too, the second at half the start, steps
     * of both 2000 clocks long, as an SM has two of them */
    assert_int_equal(ns_of(&g, &t, &c, 2000, 8, 2048, 1), 2 * 64500);
    t.blocks_per_sm = 2;
    g.sms = 4;
    assert_int_equal(ns_of(&g, &t, &c, 2000, 8, 2048, 1), 2 * 128000 + 500 + 250);
    g.sms = 10;
    t.blocks_per_sm = 1;
    t.unpacked = 0; /* panels stay where they are: two waves on 10 SMs */
    assert_int_equal(ns_of(&g, &t, &c, 1, 100, 2048, 1), 2 * 64500);
}

static int pack_nothing(const struct ht_pack_args *operands, int count, void *stream) {
    (void)operands;
    (void)count;
    (void)stream;
    return 0;
}

static int few_rows_of_nothing(const struct ht_pack_args *w, const struct ht_gemm_args *args, void *stream) {
    (void)w;
    (void)args;
    (void)stream;
    return 0;
}

/* ht_pick.c's worked example; not with batches, many rows, or schemes that cannot; in launches whose parts
 * fit, two for each. */
TEST(test_few_rows) {
    const struct ht_scheme_desc scheme = {.name = "i8x6", .slices = 3, .slice_bytes = 1, .atom_k = 128, .exact_k = 131072, .few_rows = few_rows_of_nothing};
    struct ht_set_desc set = set_of(NULL, 0);
    set.copy_gbps = 2000;
    set.l2_gbps = 7565;
    set.launch_ns = 2500;
    set.sms = 128;
#define WEIGHED(...) ht_weigh_few_rows(&set, &scheme, SHAPE(__VA_ARGS__), INT64_MAX)
    const struct ht_few_rows one = WEIGHED(4096, 1, 4096), other = WEIGHED(1, 4096, 4096);
    EQUAL({one.splits, 8}, {one.pack_ns, 2606}, {one.kernel_ns, 33554 + 8 * 2 * 500 + 2500 + 2500 + 262}, {other.splits, 8}, {other.pack_ns, 2606}, {other.kernel_ns, one.kernel_ns});
    EQUAL({WEIGHED(4096, 64, 4096).splits, 8}, {WEIGHED(4096, 65, 4096).splits, 0}, {WEIGHED(4096, 1, 65536).splits, 128}, {WEIGHED(4096, 1, 65537).splits, 0},
          {ht_weigh_few_rows(&set, &scheme, BATCH(4096, 1, 4096, 2, 1), INT64_MAX).splits, 0},
          {ht_weigh_few_rows(&set, &scheme, SHAPE(4096, 1, 4096), 8 * 8 * 63).splits, 0}, {ht_weigh_few_rows(&set, &scheme, SHAPE(4096, 1, 500), 0).splits, 1});
    const struct ht_few_rows cut = ht_weigh_few_rows(&set, &scheme, SHAPE(4096, 1, 4096), 8 * 32768 - 1);
    EQUAL({one.rows, 4096}, {cut.rows, 4032}, {cut.kernel_ns, one.kernel_ns + 2 * 2500});
    const struct ht_scheme_desc without = {.name = "f16x3", .slices = 2, .slice_bytes = 2, .atom_k = 32};
    assert_int_equal(ht_weigh_few_rows(&set, &without, SHAPE(4096, 1, 4096), INT64_MAX).splits, 0);
#undef WEIGHED
}

static int one_row_of_nothing(const struct ht_gemm_args *args, void *stream) {
    (void)args;
    (void)stream;
    return 0;
}

/* The matrix is read once, of panels three quarters as much, or rows take their time; not with batches, more rows, more k, or schemes that cannot. */
TEST(test_one_row) {
    const struct ht_scheme_desc scheme = {.name = "i8x6", .slices = 3, .slice_bytes = 1, .atom_k = 128, .one_row = one_row_of_nothing, .one_row_k = 14336}, without = {.name = "f16x3", .slices = 2};
    struct ht_set_desc set = set_of(NULL, 0);
    set.copy_gbps = 2000;
    set.launch_ns = 2500;
    set.sms = 128;
#define NS(x, is_packed) ht_one_row_ns(&set, &scheme, x, is_packed)
    EQUAL({NS(SHAPE(4096, 1, 4096), false), 33554 + 2500}, {NS(SHAPE(1, 4096, 4096), true), 4096 * 4096 * 3 / 2000 + 2500}, {NS(SHAPE(4096, 2, 4096), false), INT64_MAX},
          {NS(SHAPE(128000, 1, 16), false), 1000 * 120 + 2500}, {NS(SHAPE(128000, 1, 16), true), 1000 * 60 + 2500}, {NS(SHAPE(4096, 1, 14336), false), 117440 + 2500},
          {NS(SHAPE(4096, 1, 14337), false), INT64_MAX}, {NS(BATCH(4096, 1, 4096, 2, 1), false), INT64_MAX}, {ht_one_row_ns(&set, &without, SHAPE(4096, 1, 4096), false), INT64_MAX});
#undef NS
}

/* Packing and its launches count where there are panels. */
TEST(test_total_time) {
    struct ht_kernel_desc kernel[2] = {kernel_of("f16x3", "", 128, 128), kernel_of("bf16x6u", "", 64, 64)};
    const int64_t some = 4096;
    const struct ht_scheme_desc scheme[2] = {
        {.name = "f16x3", .slices = 2, .slice_bytes = 2, .scales = HT_SCALES_ROWS, .pack = pack_nothing}, {.name = "bf16x6u", .simt_k_max = 64}};
    struct ht_set_desc set = set_of(kernel, 2);
    set.schemes = 2;
    set.copy_gbps = 1600;
    set.scheme = scheme;
    const int64_t pack = ht_pack_ns(4, set.copy_gbps, some, some, 1);
    const struct ht_choice panels = ht_pick(&set, "f16x3", SHAPE(some, some, some), 0),
                           direct = ht_pick(&set, "bf16x6u", SHAPE(some, some, some), 0);
    assert_int_equal(ht_total_ns(&set, &panels, SHAPE(some, some, some)), panels.predicted_ns + 2 * pack + set.launch_ns);
    assert_int_equal(ht_total_ns(&set, &direct, SHAPE(some, some, some)), direct.predicted_ns);
    /* the product computes what it does not clear itself where a launch is more than a 64th of all, and its kernel can, of all of k:
     * 63 L > what the call takes without packing's own */
    const int64_t rest = ht_total_ns(&set, &panels, SHAPE(some, some, some)) - set.launch_ns;
    set.launch_ns = rest / 63 + 2;
    assert_false(ht_fallback_in_kernel(&set, &panels, SHAPE(some, some, some)));
    kernel[0].fallback_in_kernel = 1;
    assert_true(ht_fallback_in_kernel(&set, &panels, SHAPE(some, some, some)));
    struct ht_choice in_parts = panels;
    in_parts.splits = 2;
    assert_false(ht_fallback_in_kernel(&set, &in_parts, SHAPE(some, some, some)));
    set.launch_ns = rest / 63 - 2;
    assert_false(ht_fallback_in_kernel(&set, &panels, SHAPE(some, some, some)));
    /* a launch for blocks with many where two are at most a 64th: by kernels of the operands that can, where slices are used at all */
    kernel[1].tile.unpacked = 1;
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, some), false), -1);
    set.launch_ns = rest / 127 - 1; /* 2 L <= (rest + L) / 64 */
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, some), false), -1);
    kernel[1].fallback_in_kernel = 1;
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, some), false), 1);
    assert_int_equal(ht_pick_blocks(&set, "f16x3", &panels, SHAPE(some, some, some), false), -1);
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, 64), false), -1);
    set.launch_ns = rest / 127 + 2;
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, some), false), -1);
    /* whatever it takes where a sample may leave it all of C */
    assert_int_equal(ht_pick_blocks(&set, "bf16x6u", &panels, SHAPE(some, some, some), true), 1);
    /* few short rows: all in L2 */
    const struct ht_scheme_desc packed = {.name = "f16x3", .slices = 2, .slice_bytes = 2, .atom_k = 32, .scales = HT_SCALES_ROWS, .pack = pack_nothing};
    set.scheme = &packed;
    set.schemes = 1;
    set.sms = 132;
    set.l2_gbps = 8500;
    set.launch_ns = 2500;
    assert_int_equal(ht_packing_ns(&set, "f16x3", SHAPE(1024, 1024, 1024)), 2500 + 2 * ht_pack_ns(4, 8500, 1024, 1024, 1));
    assert_int_equal(ht_packing_ns(&set, "f16x3", SHAPE(2048, 1024, 1024)),
                     2500 + ht_pack_ns(4, 1600, 2048, 1024, 1) + ht_pack_ns(4, 1600, 1024, 1024, 1));
    /* up to simt_k_max a rounding for each k */
    EQUAL({ht_bound_units(&scheme[1], 1), 5}, {ht_bound_units(&scheme[1], 64), 68});
}

/* A sample is asked beside strips of enough rows, of one entry; what it may tell: the share that is saved. */
TEST(test_sample) {
    static const struct ht_kernel_desc kernel[2] = {{.scheme = "f16x3"}, {.scheme = "bf16x6u"}};
    const struct ht_scheme_desc rows = {.name = "f16x3", .atom_k = 32, .scales = HT_SCALES_ROWS};
    const struct ht_scheme_desc tiles = {.name = "f16x3", .atom_k = 32, .scales = HT_SCALES_TILES};
    struct ht_set_desc set = set_of(kernel, 2);
    set.sms = 132;
    struct ht_choice some = {0, 1, 72000}; /* 24 launches of 3000 ns */
    assert_true(ht_asks_sample(&set, &rows, &some, SHAPE(2048, 64, 2048)));
    assert_false(ht_asks_sample(&set, &rows, &some, SHAPE(2047, 64, 2048)));
    assert_false(ht_asks_sample(&set, &tiles, &some, SHAPE(2048, 64, 2048)));
    assert_false(ht_asks_sample(&set, &rows, &some, SHAPE(2048, 2048, 256)));
    const struct ht_shape batch = {2048, 2048, 2048, 2, 1};
    assert_false(ht_asks_sample(&set, &rows, &some, batch));
    some.predicted_ns--;
    assert_false(ht_asks_sample(&set, &rows, &some, SHAPE(2048, 64, 2048)));
    const struct ht_choice choice = {0, 1, 800}, slow = {0, 1, 2000}, rest = {1, 1, 2000};
    EQUAL({ht_sample_most(&set, &choice, &rest, batch), 9}, {ht_sample_most(&set, &slow, &rest, batch), 0});
}

/* Where all that is done are FP32 FMAs, kernels of slices are not picked, however fast they seem. */
TEST(test_pick_leaves_short_k_to_multiply_adds) {
    struct ht_kernel_desc kernel[2] = {kernel_of("bf16x6u", "", 64, 64), kernel_of("bf16x6u", "", 64, 64)};
    const struct ht_scheme_desc scheme = {.name = "bf16x6u", .simt_k_max = 16};
    struct ht_set_desc set = set_of(kernel, 2);
    set.schemes = 1;
    set.scheme = &scheme;
    kernel[0].has_slices_alone = 1;
    kernel[1].cost.waves.tile_overhead_cycles += 1000;
    assert_int_equal(ht_pick(&set, "bf16x6u", SHAPE(512, 512, 17), 0).kernel, 0);
    assert_int_equal(ht_pick(&set, "bf16x6u", SHAPE(512, 512, 16), 0).kernel, 1);
}

static const int64_t PLENTY = INT64_C(1) << 40;

TEST(test_pick_takes_the_cheapest_of_the_scheme) {
    const struct ht_kernel_desc kernel[] = {kernel_of("other", "", 64, 64),
                                            kernel_of("f16x3", "plain", 64, 64),
                                            kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 4);
    /* Large: the big tile needs less from L2. One small tile: the small tile has less to do. */
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(8192, 8192, 4096), 0).kernel, 2);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(64, 64, 64), 0).kernel, 3);
    assert_int_equal(ht_pick(&set, "other", SHAPE(8192, 8192, 4096), 0).kernel, 0);
    assert_int_equal(ht_pick(&set, "none", SHAPE(64, 64, 64), 0).kernel, -1);
}

TEST(test_pick_predicts_what_it_compares) {
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 2);
    for (int64_t n = 1; n <= 4096; n *= 2) {
        struct ht_choice best = ht_pick(&set, "f16x3", SHAPE(n, 512, 4096), PLENTY);
        for (int i = 0; i < 2; i++)
            for (int splits = 1; splits <= 32; splits *= 2) {
                assert_true(best.predicted_ns <= ns_of(&GPU, &kernel[i].tile, &kernel[i].cost, n, 512, 4096, splits));
            }
    }
}

TEST(test_pick_ties_go_to_the_first) {
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128),
                                            kernel_of("f16x3", "", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 2);
    struct ht_choice choice = ht_pick(&set, "f16x3", SHAPE(4096, 4096, 4096), PLENTY);
    EQUAL({choice.kernel, 0}, {choice.splits, 1});
    /* Splitting costs nothing and wins nothing: the smaller split. */
    struct ht_kernel_desc free_kernel = kernel[0];
    free_kernel.cost.waves.step_busy_x256 = free_kernel.cost.waves.step_latency_x256 = free_kernel.tile.step_bytes = 0;
    struct ht_set_desc free_set = set_of(&free_kernel, 1);
    free_set.launch_ns = 0;
    assert_int_equal(ht_pick(&free_set, "f16x3", SHAPE(1, 1, 65536), PLENTY).splits, 1);
}

TEST(test_pick_splits_long_k_of_few_tiles) {
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 1);
    assert_true(ht_pick(&set, "f16x3", SHAPE(128, 128, 65536), PLENTY).splits >= 32);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, 65536), 0).splits, 1);
    /* no more parts than the partial sums have room for: 4 * 128 * 128 * 4 bytes */
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, 65536), 4 * 65536).splits, 4);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, 65536), 4 * 65536 - 1).splits, 3);
    assert_int_equal(ht_pick(&set, "f16x3", BATCH(128, 128, 65536, 2, 1), 4 * 65536).splits, 2);
    /* at least HT_PICK_STEPS steps of 32 each; launching a reduction costs nothing here */
    set.launch_ns = 0;
    set.dram_gbps = 1000000;
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, 2 * HT_PICK_STEPS * 32), PLENTY).splits, 2);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, (2 * HT_PICK_STEPS - 1) * 32), PLENTY).splits, 1);
    assert_true(ht_pick(&set, "f16x3", SHAPE(1, 1, INT64_C(2146435072)), PLENTY).splits <= HT_PICK_SPLITS_MAX);
    /* many tiles: nothing to win */
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(8192, 8192, 65536), PLENTY).splits, 1);
}

TEST(test_splits_double_and_stop_halfway) {
    static const int expected[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    for (size_t i = 0; i + 1 < sizeof expected / sizeof *expected; i++)
        assert_int_equal(ht_split_series(expected[i]), expected[i + 1]);
}

TEST(test_pick_splits_runs_any_variant) {
    const struct ht_kernel_desc kernel[] = {kernel_of("f16x3", "plain", 128, 128)};
    struct ht_set_desc set = set_of(kernel, 1);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(128, 128, 65536), PLENTY).kernel, -1);
    assert_int_equal(ht_pick_splits(&set, 0, SHAPE(128, 128, 65536), PLENTY).kernel, 0);
    assert_true(ht_pick_splits(&set, 0, SHAPE(128, 128, 65536), PLENTY).splits > 1);
}

/* A tuned shape takes its kernel and split whatever the model says, but only that scheme, without batch, and while the
 * partial sums fit. */
TEST(test_tuned_shape_wins) {
    const struct ht_kernel_desc kernel[2] = {kernel_of("f16x3", "", 128, 128), kernel_of("f16x3", "", 64, 64)};
    struct ht_set_desc set = set_of(kernel, 2);
    const struct ht_choice model = ht_pick(&set, "f16x3", SHAPE(4096, 4096, 4096), 0);
    const struct ht_tuned tuned[] = {{4096, 4096, 4000, model.kernel, 1}, {4096, 4096, 4096, 1 - model.kernel, 2}};
    set.tuned = tuned;
    set.tuned_count = 2;
    struct ht_choice c = ht_pick(&set, "f16x3", SHAPE(4096, 4096, 4096), INT64_MAX);
    EQUAL({c.kernel, 1 - model.kernel}, {c.splits, 2});
    const struct ht_kernel_desc *k = &kernel[c.kernel];
    assert_int_equal(c.predicted_ns, ns_of(&GPU, &k->tile, &k->cost, 4096, 4096, 4096, 2));
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(4096, 4096, 4096), 0).kernel, model.kernel); /* no room for partials */
    assert_int_equal(ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 2, 1), 0).kernel,
                     ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 2, 1), INT64_MAX).kernel);
    assert_int_equal(ht_pick(&set, "f16x3", SHAPE(4096, 4096, 4097), 0).kernel, model.kernel);
    assert_int_equal(ht_pick(&set, "half", SHAPE(4096, 4096, 4096), INT64_MAX).kernel, -1);
    c = ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 1, 15), INT64_MAX); /* of moduli, in one launch: no batch */
    EQUAL({c.kernel, 1 - model.kernel}, {c.splits, 2});
    assert_int_equal(ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 1, 15), 15 * 2 * 4 * INT64_C(4096) * 4096 - 1).kernel,
                     ht_pick(&set, "f16x3", BATCH(4096, 4096, 4097, 1, 15), 0).kernel);
    assert_int_equal(ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 2, 15), 0).kernel,
                     ht_pick(&set, "f16x3", BATCH(4096, 4096, 4096, 2, 15), INT64_MAX).kernel);
}

/* Code for an older capability may ask for more shared memory than a later GPU has: a800's set on an RTX 3090. */
TEST(test_kernels_that_do_not_fit_are_not_picked) {
    struct ht_kernel_desc kernels[] = {kernel_of("half", "", 256, 128), kernel_of("half", "", 64, 64), kernel_of("tf32", "", 256, 128)};
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"large", "small", "only"};
        kernels[i].name = names[i];
        kernels[i].tile.step_bytes = 16384;
        kernels[i].cost = (struct ht_cost)HT_COST_TILED_WAVES(256000, 256000, 1000, 0, 0, 0, 0, 0);
        kernels[i].smem_bytes = i == 1 ? 49152 : 147456;
    }
    const struct ht_tuned tuned[] = {{.m = 512, .n = 512, .k = 512, .kernel = 0, .splits = 1}};
    const struct ht_set_desc set = {.gpu = "a800", .arch = 800, .sms = 108, .clock_mhz = 1350, .l2_gbps = 4800, .dram_gbps = 2039,
                                    .launch_ns = 2200, .kernels = 3, .kernel = kernels, .tuned_count = 1, .tuned = tuned};
    void *owned = &owned;
    assert_ptr_equal(ht_fit_set(&set, 166912, &owned), &set);
    assert_null(owned);
    assert_ptr_equal(ht_fit_set(&set, 0, &owned), &set); /* not known */
    assert_int_equal(ht_pick(&set, "half", SHAPE(4096, 4096, 4096), 0).kernel, 0);
    const struct ht_set_desc *fitted = ht_fit_set(&set, 101376, &owned);
    assert_non_null(owned);
    assert_int_equal(ht_pick(fitted, "half", SHAPE(4096, 4096, 4096), 0).kernel, 1);
    assert_int_equal(ht_pick(fitted, "half", SHAPE(512, 512, 512), 0).kernel, 1); /* the tuned one does not fit */
    assert_int_equal(ht_pick(fitted, "tf32", SHAPE(4096, 4096, 4096), 0).kernel, -1);
    assert_string_equal(fitted->kernel[0].name, "large");
    assert_string_equal(set.kernel[0].scheme, "half");
    free(owned);
}

TEST(test_pick_set_by_device) {
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

/* The worked examples of ht_pack_tiles; that an operand which is kept gets the same; absurd
 * shapes. */
TEST(test_pack_tiles) {
    static const struct {
        int n, tiles;
    } worked[] = {{64, 1}, {512, 1}, {1024, 1}, {1025, 2}, {1536, 3}, {2048, 2}, {3072, 4}, {4096, 4}};
    const struct ht_scheme_desc s = {.atom_k = 32, .pack_tiles = 4, .pack_blocks_per_sm = 3};
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        const int side = (worked[i].n + 63) / 64;
        assert_int_equal(ht_pack_tiles(2 * side, side, 132, 4, 3), worked[i].tiles);
        assert_int_equal(ht_kept_tiles(&s, 132, worked[i].n), worked[i].tiles);
    }
    assert_int_equal(ht_kept_tiles(&s, 132, INT64_C(1) << 31), 4);
    assert_int_equal(ht_pack_tiles(INT64_C(1) << 50, INT64_C(1) << 40, 132, 4, 3), 4);
    assert_int_equal(ht_pack_tiles(32, 16, 132, 1, 3), 1);
    /* whole rows from 257 to 1024 k, if they are few; else strips of 512 k */
    for (int64_t k = 256; k <= 1088; k += 64) {
        const int whole = k > 256 && k <= 1024;
        const int otherwise = k > 256 ? HT_PACK_STRIPS : HT_PACK_TILES;
        assert_int_equal(ht_pack_mode_of(32, k / 64, 132), whole ? HT_PACK_ROWS : otherwise);
        assert_int_equal(ht_pack_mode_of(64, k / 64, 132), whole && k <= 512 ? HT_PACK_ROWS : otherwise);
        assert_int_equal(ht_pack_mode_of(67, k / 64, 132), otherwise);
    }
}
