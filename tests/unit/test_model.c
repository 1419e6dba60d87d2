/* test_model: the worked examples of all three tile models, the papers' tables, and what must hold for every
 * budget. Build with
 * gen/{base,facts,model,family,plan}, gen/cli/explain.c and -lcmocka.
 * HALFTONE_ROOT (default ".") is the repository. */

#include "../../gen/cli/explain.h"
#include "../../gen/cli/library.h"
#include "../../gen/family/rows.h"
#include "../../runtime/ht_cost.h"
#include "cases.h"

static const char *const budgets[] = {"t4",      "titanrtx", "rtx6000", "a100", "a800",  "rtx3090",
                                      "rtx4090", "l40s",     "h100",    "h200", "mi210", "mi250x"};
enum { BUDGETS = sizeof budgets / sizeof budgets[0], MODELS = 3, CANDIDATES_MAX = 1500 };
static const struct shape cube = {4096, 4096, 4096};

static struct gpu budget(const char *name) {
    const char *root = getenv("HALFTONE_ROOT");
    struct gpu g;
    assert_true(gpu_load(&g, root ? root : ".", name));
    return g;
}

/* The budgets of the worked examples: fixed here, so that better measurements in the files do not move them. */
static struct gpu worked_a800(void) {
    struct gpu g = budget("a800");
    g.sms = 108;
    g.sustained_clock_mhz = 1410;
    g.l2_gbps = 5120;
    g.dram_gbps = 2039;
    g.f16_fma_per_cycle = 1024;
    g.fp32_fma_per_cycle = 64;
    g.mma_latency_cycles = 33;
    g.smem_latency_cycles = 29;
    g.l2_latency_cycles = 262;
    g.dram_latency_cycles = 500;
    return g;
}

static struct gpu worked_t4(void) {
    struct gpu g = budget("t4");
    g.hmma_1688_millicycles = 8000;
    g.ldg_128_millicycles = 16000;
    g.sts_128_millicycles = 10000;
    g.lds_32_millicycles = 2110;
    return g;
}

/* A target of a family; the next ones that a caller needs at once stay. */
static const struct target *of(const struct gpu *g, const char *family, const char *scheme) {
    static struct target kept[8];
    static int at;
    at = (at + 1) % 8;
    kept[at] = target_of(g, isa_find(g->isa), family_of(family), scheme_find(scheme));
    return &kept[at];
}

struct all {
    const struct gpu *g;
    const struct isa *isa;
    const struct scheme *s;
    enum model_kind kind;
    struct shape shape;
    struct target at; /* while collecting */
    int count, fits, pick;
    struct target on[CANDIDATES_MAX]; /* whose MMA shape the tile has */
    struct tile tile[CANDIDATES_MAX];
    struct cost cost[CANDIDATES_MAX];
};

static void collect(struct all *a, const struct tile *t) {
    assert_true(a->count < CANDIDATES_MAX);
    struct cost *c = &a->cost[a->count];
    a->on[a->count] = a->at;
    a->tile[a->count] = *t;
    model_cost(a->kind, &a->at, t, &a->shape, c);
    if (c->fits) {
        a->fits++;
        if (a->pick < 0 || model_better(a->kind, c, t, &a->cost[a->pick], &a->tile[a->pick]))
            a->pick = a->count;
    }
    a->count++;
}

static struct all *evaluate(const struct gpu *g, const char *scheme, enum model_kind kind) {
    static struct all a;
    a = (struct all){.g = g, .isa = isa_find(g->isa), .kind = kind, .shape = cube, .pick = -1};
    a.s = scheme_for(scheme, a.isa->flushes_subnormals);
    a.at = model_target(kind, g, a.isa, a.s);
    struct tile t;
    do
        for (int at = 0; tile_next(&a.at, &at, &t);)
            collect(&a, &t);
    while (target_next(&a.at));
    return &a;
}

static void assert_tile(const struct tile *t, int bm, int bn, int bk) {
    EQUAL({t->bm, bm}, {t->bn, bn}, {t->bk, bk});
}

/* ---- worked examples ---- */

TEST(names) {
    enum model_kind kind;
    for (int i = 0; i < MODELS; i++) {
        assert_true(model_from_name(model_name((enum model_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    assert_false(model_from_name("origami", &kind));
}

TEST(worked_shared) {
    const struct isa *sm75 = isa_find("sm_75"), *sm80 = isa_find("sm_80");
    const struct gpu g = worked_a800();
    const char *limit;
    EQUAL({model_warp_registers(sm75, 232), 7424}, {model_warp_registers(sm75, 230), 7424});
    assert_int_equal(model_warp_registers(isa_find("gfx90a"), 9), 1024);
    assert_int_equal(model_occupancy(&g, sm80, 8, 228, 98304, &limit), 1);
    assert_string_equal(limit, "registers");
    assert_int_equal(model_occupancy(&g, sm80, 4, 64, 98304, &limit), 1);
    assert_string_equal(limit, "shared memory");
    assert_int_equal(model_occupancy(&g, sm80, 16, 32, 1024, &limit), 4);
    assert_string_equal(limit, "registers");
    assert_int_equal(model_occupancy(&g, sm80, 16, 255, 1024, &limit), 0);
    const struct tile t = {128, 128, 32, 64, 32, 16, 3, 1};
    assert_int_equal(model_waves_milli(&g, &t, &cube, 1), 9482);
    assert_int_equal(model_promote_k(of(&g, "mma_warp", "f16x3"), 0), 32);
    assert_int_equal(model_promote_k(of(&g, "mma_warp", "bf16x6"), 0), 64);
    assert_int_equal(model_promote_k(of(&g, "mma_warp", "ootomo"), 0), 16);
    assert_int_equal(model_promote_k(of(&g, "mma_warp", "ootomo"), 1), 0);
}

static struct model_step step_of(const struct target *on, const struct tile *t, int blocks_per_sm) {
    return on->family->step(on, t, blocks_per_sm);
}

static bool is_tight(const struct target *on, const struct tile *t) {
    return on->family->is_tight(on, t);
}

TEST(who_refills) {
    const struct {
        const char *isa, *scheme;
        int bk, stages;
        bool refills;
    } cases[] = {{"sm_80", "f16x3", 32, 3, true},   {"sm_80", "f16x3", 32, 1, false}, {"sm_75", "f16x3", 32, 2, false},
                 {"sm_89", "bf16x6", 64, 2, true},  {"sm_80", "bf16x3", 32, 3, false}, /* a chain is two steps */
                 {"sm_80", "ootomo", 32, 3, false}, {"sm_80", "egemm", 64, 2, false}, {"sm_80", "i8x6", 128, 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tile t = {128, 128, cases[i].bk, 64, 32, 16, cases[i].stages, 1};
        const struct target on = target_main(NULL, isa_find(cases[i].isa), scheme_find(cases[i].scheme));
        assert_int_equal(model_refills_after_barrier(&on, &t), cases[i].refills);
    }
}

TEST(worked_halftone) {
    const struct gpu g = worked_a800();
    const struct target *f16x3 = of(&g, "mma_warp", "f16x3");
    struct tile t = {128, 128, 32, 64, 32, 16, 2, 1};
    const struct tile short_step = {64, 64, 32, 32, 32, 16, 2, 1}; /* 384 clocks, half of them before the wait, or all: refilled */
    assert_int_equal(step_of(of(&g, "mma_warp", "legemm"), &short_step, 1).copy, (820 - 192) * 256);
    assert_int_equal(step_of(f16x3, &short_step, 1).copy, (820 - 384) * 256);
    assert_int_equal(step_of(f16x3, &short_step, 1).exposed, 160 * 256);
    t.stages = 3;
    const struct model_step step = step_of(f16x3, &t, 1);
    EQUAL({step.tensor, 1536 * 256}, {step.smem, 768 * 256}, {step.issue, 464 * 256}, {step.fp32, 256 * 256},
          {step.fill / 256, 512 + 124}, {step.chain, 768 * 256},
          {step.exposed, 40 * 256}, /* two warps per scheduler */
          {step.copy, 0}, {step.instructions, 232},
          {model_mma_dram_ns(f16x3, &t, &cube, 1), 247454});

    struct cost c;
    model_cost(MODEL_HALFTONE, f16x3, &t, &cube, &c);
    assert_true(c.fits);
    EQUAL({c.regs_accumulators, 144}, {c.regs_fragments, 71}, {c.regs_per_thread, 255}, {c.smem_bytes, 98304},
          {c.blocks_per_sm, 1}, {c.waves_milli, 9482});
    assert_string_equal(c.binding, "tensor");
    EQUAL({c.formula.waves.step_busy_x256 / 256, 2476 + 32}, /* 1 of 24 */
          {c.formula.waves.step_latency_x256 / 256, 2476 + 32 + 40},
          {c.formula.waves.tile_overhead_cycles, 13188}, {c.walk.step_bytes, 32768}, {c.walk.step_k, 32});
    const struct ht_machine machine = {108, 1410, 5120, 2039, g.launch_ns, 0, 0, g.l2_latency_cycles};
    const struct ht_problem problem = {4096, 4096, 4096, 1, 1};
    EQUAL({c.predicted_ns, ht_cost_ns(&machine, &c.walk, &c.formula, &problem)}, {c.score, -c.predicted_ns});

    const struct gpu t4 = worked_t4();
    const struct tile turing = {128, 128, 32, 64, 32, 8, 1, 1};
    model_cost(MODEL_HALFTONE, of(&t4, "mma_warp", "egemm"), &turing, &cube, &c);
    assert_true(c.fits);
    EQUAL({c.regs_fragments, 72 + 32}, {c.regs_per_thread, 208});
    model_cost(MODEL_HALFTONE, of(&g, "mma_warp", "egemm"), &t, &cube, &c);
    assert_int_equal(c.regs_per_thread, 176);
    const struct tile big = {128, 128, 64, 64, 64, 16, 2, 1};
    model_cost(MODEL_HALFTONE, of(&g, "mma_warp", "half"), &big, &cube, &c);
    assert_int_equal(c.regs_per_thread, 248); /* ptxas: 244 */
    /* these spilled: a set of fragments is all that can be given back */
    const struct tile spills = {128, 64, 64, 64, 32, 16, 2, 1};
    model_cost(MODEL_HALFTONE, of(&g, "mma_warp", "legemm"), &spills, &cube, &c);
    assert_false(c.fits);
    model_cost(MODEL_HALFTONE, of(&g, "mma_warp", "ootomo"), &spills, &cube, &c);
    assert_false(c.fits);
    /* one warp leaves three of four matrix units idle */
    const struct tile lonely = {64, 64, 32, 64, 64, 16, 2, 1};
    assert_int_equal(step_of(f16x3, &lonely, 1).tensor,
                     4 * step_of(f16x3, &lonely, 4).tensor);
}

/* Clocks at boost as clocks under load, of the h200 budget. */
static int64_t boosted(int64_t clocks) {
    const struct gpu g = budget("h200");
    return clocks * g.sustained_clock_mhz / g.clock_mhz;
}

/* A fit says where it comes from, and its tables are there. */
TEST(fits_have_sources) {
    const struct fit_source *const sources[] = {
        &fit_mma_warp, &fit_wgmma_ss, &fit_unpacked_mma.source, &fit_unpacked_fp32.source,
        &fit_unpacked_wgmma.source, &fit_dmma.source,   &fit_simt_small_k.source, &fit_gemv.source,
        &fit_tall_skinny.source,  &fit_reduce.source,   &fit_reduce_behind_wgmma.source};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        assert_true(sources[i]->card[0] && sources[i]->command[0] && sources[i]->error[0]);
        for (const char *at = sources[i]->tables; *at;) {
            const char *root = getenv("HALFTONE_ROOT");
            char path[512];
            const int length = (int)strcspn(at, " ");
            snprintf(path, sizeof path, "%s/bench/results/%.*s", root ? root : ".", length, at);
            FILE *table = fopen(path, "r");
            if (!table)
                fail_msg("%s is not there", path);
            fclose(table);
            at += length + (at[length] == ' ');
        }
    }
}

/* What the formula asks of a GPU; PDL hides a part of a launch on Hopper alone. */
TEST(machines) {
    const struct gpu h200 = budget("h200"), a800 = budget("a800");
    const struct tile t = {8, 1, 256, 1, 1, 16, 1, 1};
    struct cost pdl, plain;
    const struct ht_machine h = model_machine(&h200), a = model_machine(&a800);
    assert_int_equal(h.clock_mhz, h200.sustained_clock_mhz);
    assert_int_equal(h.splitk_partial_cycles, h200.l2_latency_cycles / fit_reduce_behind_wgmma.partial_latency_share);
    assert_int_equal(a.splitk_partial_cycles, a800.l2_latency_cycles / fit_reduce.partial_latency_share);
    model_cost(MODEL_HALFTONE, of(&h200, "gemv", "bf16x6u"), &t, &cube, &pdl);
    model_cost(MODEL_HALFTONE, of(&a800, "gemv", "bf16x6u"), &t, &cube, &plain);
    assert_int_equal(pdl.formula.stream.pdl_overlap_cycles, boosted(fit_gemv.pdl_overlap_cycles));
    assert_true(plain.fits && plain.formula.stream.pdl_overlap_cycles == 0);
}

/* Unpacked kernels, gen/family/unpacked_tile.c. */
TEST(worked_direct) {
    const struct gpu h200 = budget("h200"), t4 = budget("t4");
    const struct scheme *s = scheme_find("bf16x6u");
    const struct tile t = {64, 64, 32, 32, 32, 16, 2, 1}, slim = {128, 8, 32, 32, 8, 16, 2, 1};
    const struct shape vector = {8192, 1, 8192};
    struct cost c;
    model_cost(MODEL_HALFTONE, of(&h200, "unpacked_mma", "bf16x6u"), &t, &cube, &c);
    assert_true(c.fits);
    EQUAL({c.regs_per_thread, 228}, {c.smem_bytes, 49152}, {c.blocks_per_sm, 2},
          {c.formula.waves.step_busy_x256 / 256, boosted(1708 * fit_unpacked_mma.pipe_percent / 100)},
          {c.walk.step_bytes, 16384},
          {c.formula.waves.dram_stream_gbps, h200.dram_gbps * fit_unpacked_mma.stream_percent / 100});
    assert_string_equal(c.binding, "tensor");
    model_cost(MODEL_HALFTONE, of(&h200, "unpacked_mma", "bf16x6u"), &slim, &vector, &c);
    EQUAL({c.regs_per_thread, 140}, {c.blocks_per_sm, 3});
    assert_true(c.predicted_ns >= 8192 * INT64_C(8193) * 4 / h200.dram_gbps); /* never faster than its bytes */
    /* Without BF16 units FMAs of FP32: 64 a clock on an SM of Turing */
    assert_int_equal(model_fma_per_cycle(&t4, s), 6 * t4.fp32_fma_per_cycle);
    model_cost(MODEL_HALFTONE, of(&t4, "unpacked_mma", "bf16x6u"), &t, &cube, &c);
    assert_string_equal(c.binding, "fp32");
    assert_true(c.formula.waves.step_busy_x256 >= 64 * 64 * 32 / 64 * 256);
    model_cost(MODEL_EGEMM, of(&h200, "unpacked_mma", "bf16x6u"), &t, &cube, &c);
    assert_false(c.fits);
}

/* The same by warpgroups: two side by side, or taking turns. */
TEST(worked_direct_wgmma) {
    const struct gpu h200 = budget("h200");
    const struct target *on = of(&h200, "unpacked_wgmma", "bf16x6u");
    const struct tile wide = {128, 64, 32, 16, 64, 16, 2, 1}, even = {64, 64, 32, 16, 64, 16, 2, 1}, few = {64, 32, 32, 16, 32, 16, 2, 1};
    struct cost c;
    model_cost(MODEL_HALFTONE, on, &wide, &cube, &c);
    assert_true(c.fits);
    EQUAL({tile_groups(&wide, on), 1}, {tile_threads(&wide, on), 256}, {c.regs_per_thread, 242},
          {c.smem_bytes, 2 * (18432 + 9216)}, /* two stages of FP32 are more than three of Q's slices */
          {c.blocks_per_sm, 1},
          {c.formula.waves.step_busy_x256 / 256, boosted(1932 + fit_unpacked_wgmma.step_cycles)},
          {c.formula.waves.step_latency_x256, c.formula.waves.step_busy_x256}); /* nothing is beside the block */
    model_cost(MODEL_HALFTONE, on, &even, &cube, &c);
    EQUAL({tile_groups(&even, on), 2}, {tile_threads(&even, on), 256}, {c.regs_per_thread, 250},
          {c.smem_bytes, 2 * 3 * 3 * 64 * 32 * 2});
    model_cost(MODEL_HALFTONE, on, &few, &cube, &c);
    assert_int_equal(c.regs_per_thread, 178);
    assert_true(c.formula.waves.scalar_store_cycles > 0);
}

/* The worked examples of gen/family/wgmma_ss.c: f16x3, 192 x 128 x 32, one block or two that share panels. */
TEST(worked_wgmma) {
    const struct gpu h200 = budget("h200");
    const struct target *s = of(&h200, "wgmma_ss", "f16x3"), *i8x6 = of(&h200, "wgmma_ss", "i8x6");
    for (int cluster = 1; cluster <= 2; cluster++) {
        const struct tile t = {192, 128, 32, 192, 64, 16, 4, cluster};
        struct cost c;
        model_cost(MODEL_HALFTONE, s, &t, &cube, &c);
        assert_true(c.fits);
        assert_int_equal(c.regs_accumulators + c.regs_fragments + c.regs_other, 232);
        assert_int_equal(c.smem_bytes, 4 * (40960 + 16) + 2 * (8 + 16384) + (2 * 192 + 128) * 4 + 8 + 16);
        assert_int_equal(c.formula.waves.step_busy_x256, (cluster == 1 ? 1263 : 1245) * 256);
    }
    const struct tile low = {64, 128, 32, 64, 64, 16, 8, 2};
    struct cost c;
    model_cost(MODEL_HALFTONE, s, &low, &cube, &c);
    assert_true(c.fits);
    assert_int_equal(c.formula.waves.step_busy_x256, 477 * 256);
    const struct tile alone = {64, 64, 32, 64, 64, 16, 8, 1}, wide = {128, 256, 32, 128, 128, 16, 4, 2};
    assert_true(model_has_two_intervals(s, &alone) && !model_has_two_intervals(s, &low));
    assert_false(model_has_two_intervals(of(&h200, "wgmma_ss", "ootomo"), &alone)); /* each MMA is waited for */
    assert_true(is_tight(s, &low) && !is_tight(s, &wide));
    const struct tile half = {32, 64, 32, 32, 64, 16, 8, 1};
    model_cost(MODEL_HALFTONE, s, &half, &cube, &c);
    assert_true(c.fits && model_has_two_intervals(s, &half) && is_tight(s, &half));
    assert_int_equal(c.regs_per_thread, 168); /* so that two do not fit an SM, and a block of packing fits beside one */
    assert_int_equal(c.smem_bytes, 8 * (12288 + 16) + 8 + 8192 + (2 * 32 + 64) * 4 + 8 + 16);
    assert_true(c.smem_bytes + 1024 <= h200.smem_per_sm_bytes - (h200.smem_per_sm_bytes / 2 + 1 + 1024));
    const struct tile deep = {32, 64, 128, 32, 64, 32, 3, 1}; /* fits an SM, but not half of one */
    model_cost(MODEL_HALFTONE, i8x6, &deep, &cube, &c);
    assert_false(c.fits);
    assert_non_null(strstr(c.reason, "shared memory: "));
}

/* Kernels of FMAs, gen/family/simt_small_k.c and streaming.c. */
TEST(worked_fma) {
    const struct gpu h200 = budget("h200");
    const struct target *fma = of(&h200, "simt_small_k", "bf16x6u"), *thin = of(&h200, "gemv", "bf16x6u");
    const struct tile t = {128, 64, 16, 128, 16, 16, 2, 1}, one = {8, 1, 256, 1, 1, 16, 1, 1}, four = {16, 4, 256, 2, 4, 16, 1, 1};
    const struct shape vector = {8192, 1, 8192};
    struct cost c;
    model_cost(MODEL_HALFTONE, fma, &t, &cube, &c);
    assert_true(c.fits);
    EQUAL({c.regs_per_thread, 124}, {c.smem_bytes, 2 * 16 * 4 * (130 + 68) + 4 * 128 * 64},
          {c.formula.waves.step_busy_x256 / 256, boosted(1280 * fit_simt_small_k.pipe_percent / 100)});
    assert_string_equal(c.binding, "fp32");
    model_cost(MODEL_HALFTONE, thin, &one, &vector, &c);
    EQUAL({c.regs_per_thread, 80}, {c.smem_bytes, 4096});
    const int port = fit_gemv.port_bytes, fma_rate = fit_gemv.fma_per_cycle;
    assert_int_equal(c.formula.form, HT_STREAMING);
    assert_int_equal(c.formula.stream.step_busy_x256 / 256, boosted(8192 * fma_rate + 2048 * port) / (port * fma_rate));
    assert_true(c.formula.stream.launch_cycles > 0 && c.formula.stream.misaligned_cycles > 0);
    assert_true(c.walk.in_block_k_splits == 8 && !c.walk.no_split_k);
    assert_string_equal(c.binding, "dram");
    assert_true(c.predicted_ns >= 8192 * INT64_C(8193) * 4 / h200.dram_gbps);
    model_cost(MODEL_HALFTONE, thin, &four, &vector, &c);
    EQUAL({c.regs_per_thread, 126}, {c.blocks_per_sm, 2});
}

/* DMMA kernels, gen/family/dmma.c. */
TEST(worked_dmma) {
    const struct gpu h200 = budget("h200");
    const struct target *dmma = of(&h200, "dmma", "bf16x6u");
    const struct tile large = {64, 64, 16, 32, 32, 16, 4, 1}, high = {128, 32, 16, 32, 32, 16, 4, 1}, small = {32, 32, 16, 16, 16, 16, 4, 1};
    const struct shape few_k = {4096, 4096, 64};
    struct cost c;
    model_cost(MODEL_HALFTONE, dmma, &large, &few_k, &c);
    EQUAL({c.regs_per_thread, 128}, {c.blocks_per_sm, 4}, {c.smem_bytes, 4 * 2 * 64 * 20 * 4});
    const struct fit_unpacked *f = &fit_dmma;
    const int busy = 512 * 256 * f->pipe_percent / 100 + f->step_cycles * 256;
    assert_int_equal(c.formula.waves.step_busy_x256, boosted(busy));
    assert_int_equal(c.formula.waves.step_latency_x256, boosted(busy + f->alone_cycles_per_kb * 8 * 256));
    assert_int_equal(c.formula.waves.block_overhead_cycles, boosted(f->serial_cycles + f->serial_cycles_per_1024 * 4));
    assert_true(c.walk.swap_ab_min_gain == 8 && c.formula.waves.swap_ab_percent == 0);
    assert_string_equal(c.binding, "fp64");
    model_cost(MODEL_HALFTONE, dmma, &high, &few_k, &c);
    EQUAL({c.smem_bytes, 4 * (128 + 32) * 20 * 4}, {c.formula.waves.swap_ab_percent, f->tall_swap_percent});
    model_cost(MODEL_HALFTONE, dmma, &small, &few_k, &c);
    EQUAL({c.regs_per_thread, 64}, {c.blocks_per_sm, 8});
}

TEST(worked_tall) {
    const struct gpu h200 = budget("h200");
    const struct target *tall = of(&h200, "tall_skinny", "bf16x6u");
    const struct tile one = {128, 1, 64, 16, 1, 16, 1, 1}, two = {128, 2, 64, 16, 2, 16, 1, 1};
    const struct shape points = {1000000, 1, 64};
    struct cost c;
    model_cost(MODEL_HALFTONE, tall, &one, &points, &c);
    EQUAL({c.regs_per_thread, 64}, {c.smem_bytes, 4 * 8 * (128 + 4)}, {c.blocks_per_sm, 4});
    const struct fit_streaming *f = &fit_tall_skinny;
    assert_int_equal(c.formula.stream.step_busy_x256 / 256, boosted(16384 * f->fma_per_cycle + 4096 * f->port_bytes) / (f->port_bytes * f->fma_per_cycle));
    assert_int_equal(c.formula.stream.dram_step_cycles, boosted(f->dram_step_cycles));
    assert_int_equal(model_machine(&h200).l2_resident_bytes, 30 << 20);
    assert_true(c.walk.no_split_k && c.walk.step_k == 32 && c.walk.step_bytes == 129 * 32 * 4);
    assert_string_equal(c.binding, "dram");
    model_cost(MODEL_HALFTONE, tall, &two, &points, &c);
    EQUAL({c.regs_per_thread, 80}, {c.blocks_per_sm, 3});
}

/* FP64 by FMAs: two a clock on an SM that has no FP64 matrices, which nothing that issues beside them slows; whole squares are then tiles'. */
TEST(worked_fp64_fma) {
    const struct gpu t4 = budget("t4"), h200 = budget("h200"), rtx4090 = budget("rtx4090");
    const struct tile few = {128, 16, 8, 32, 16, 16, 2, 1}, tall = {64, 4, 64, 8, 4, 16, 1, 1}, four = {16, 4, 128, 2, 4, 16, 1, 1},
                      large = {64, 64, 16, 32, 32, 16, 2, 1};
    const struct shape points = {1000000, 4, 16}, skinny = {65536, 16, 256};
    struct cost c, other;
    model_cost(MODEL_HALFTONE, of(&t4, "fp64_small_k", "native64"), &few, &skinny, &c);
    assert_true(c.fits);
    EQUAL({c.regs_per_thread, 32 + 38 + 24 + 24}, {c.smem_bytes, 2 * 8 * 8 * (130 + 18)},
          {c.formula.waves.step_busy_x256, (128 * 16 * 8 / 2 + fit_fp64_tile.step_cycles) * 256});
    assert_string_equal(c.binding, "fp64");
    assert_true(c.predicted_ns * 2 * 40 * 94 / 100 >= skinny.m * skinny.n * skinny.k); /* no faster than 40 SMs' FMAs at 0.94 GHz */
    model_cost(MODEL_HALFTONE, of(&h200, "fp64_tall", "native64"), &tall, &points, &c);
    EQUAL({c.regs_per_thread, 16 + 32 + 48 + 16 + 12}, {c.smem_bytes, 8 * (8 * 4 * 64 + 16)});
    assert_true(c.walk.no_split_k && c.walk.step_k == 16 && c.walk.element_bytes == 8);
    assert_true(c.predicted_ns >= 20 * points.m * 8 / h200.dram_gbps);
    const struct gpu *const poor[] = {&t4, &rtx4090};
    for (int i = 0; i < 2; i++) {
        model_cost(MODEL_HALFTONE, of(poor[i], "fp64_gemv", "native64"), &four, &cube, &c);
        model_cost(MODEL_HALFTONE, of(poor[i], "fp64_tile", "native64"), &large, &cube, &other);
        assert_true(other.fits && other.predicted_ns < c.predicted_ns);
    }
    /* of a line of 16 k the classes' sums are half as many additions more */
    model_cost(MODEL_HALFTONE, of(&t4, "fp64_tall", "native64"), &tall, &points, &c);
    assert_true(c.formula.stream.step_busy_x256 >= 64 * 4 * (16 + 8) / 2 * 256);
}

/* On gfx90a the matrix unit multiplies FP32: 45.3 TFLOPS on 104 CUs at 1.7 GHz are 128 FMAs a clock. */
TEST(worked_direct_fp32_mma) {
    const struct gpu mi210 = budget("mi210");
    const struct target *on = of(&mi210, "unpacked_mma", "bf16x6u");
    const struct scheme *s = scheme_find("bf16x6u");
    const struct tile t = {64, 64, 32, 32, 32, 16, 2, 1};
    struct cost c;
    assert_int_equal(model_fma_per_cycle(&mi210, s), 6 * 128);
    model_cost(MODEL_HALFTONE, on, &t, &cube, &c);
    assert_true(c.fits);
    EQUAL({c.regs_per_thread, 100}, {c.smem_bytes, 36864},
          {c.formula.waves.step_busy_x256 / 256, 64 * 64 * 32 / 128});
    assert_string_equal(c.binding, "tensor");
    const struct gpu t4 = budget("t4");
    const struct model_counts counts = model_step_counts(on, &t), none = model_step_counts(of(&t4, "unpacked_mma", "bf16x6u"), &t);
    EQUAL({counts.mma, 32}, {counts.load, 32},
          {counts.copy, 8}, /* 2 * 64 * 32 numbers, four at once, of 256 threads; each is loaded and stored */
          {none.mma + none.load + none.copy, 0});
}

TEST(worked_egemm) {
    const struct gpu g = worked_t4();
    const struct tile t = {128, 128, 32, 64, 32, 8, 1, 1};
    const struct model_egemm_terms e = model_egemm_terms(of(&g, "mma_warp", "egemm"), &t);
    EQUAL({e.ratio_milli, 128000}, {e.register_bytes, 98304}, {e.frag_registers, 192}, {e.smem_bytes, 36864},
          {e.smem_bytes_eq8, 40960}, {e.comp_milli, 4096000}, {e.mem1_milli, 1664000},
          {e.mem2_milli, 1620480});
}

TEST(worked_legemm) {
    const struct gpu g = worked_a800();
    const struct tile t = {128, 256, 32, 32, 64, 16, 2, 1};
    const struct model_legemm_terms l =
        model_legemm_terms(of(&g, "mma_warp", "legemm"), &t, &cube);
    EQUAL({l.tlp, 262144}, {l.tlp_limit, 221184}, {l.memory_bytes, 49152}, {l.flops, 6291456},
          {l.ratio_milli, 128000}, {l.work_dl_milli, 88000}, {l.work_cp, 64}, {l.registers, 88},
          {l.registers_two_accumulators, 152});
    /* the contradiction: two whole accumulators of 128 x 256 at 256 threads */
    const struct tile wide = {128, 256, 32, 64, 64, 16, 2, 1};
    const struct scheme *s = scheme_find("legemm");
    assert_int_equal(s->accumulators * wide.bm * wide.bn / tile_threads(&wide, of(&g, "mma_warp", "legemm")), 256);
    assert_int_equal(s->accumulators * wide.bm * wide.bn, 65536);
}

/* ---- the papers' tables ---- */

TEST(egemm_picks_table_4) {
    const struct gpu g = budget("t4");
    const struct all *a = evaluate(&g, "egemm", MODEL_EGEMM);
    assert_true(a->pick >= 0);
    const struct tile *t = &a->tile[a->pick];
    const struct cost *c = &a->cost[a->pick];
    assert_tile(t, 128, 128, 32);
    EQUAL({t->wm, 64}, {t->wn, 32}, {t->wk, 8}, {tile_warps(t), 8}, {c->smem_bytes, 36 * 1024},
          {c->regs_per_thread, 232}, {c->blocks_per_sm, 1});
}

/* Eq. 8's register line admits (256,128,32); FRAG caching of the whole block rejects it, whatever the warps.
 */
TEST(frag_caching_rejects_256x128) {
    const struct gpu g = budget("t4");
    struct tile t = {256, 128, 32, 64, 32, 8, 1, 1};
    assert_int_equal(model_egemm_terms(of(&g, "mma_warp", "egemm"), &t).register_bytes, 180224);
    struct cost c;
    model_cost(MODEL_EGEMM, of(&g, "mma_warp", "egemm"), &t, &cube, &c);
    assert_false(c.fits);
    assert_string_equal(c.reason,
                        "FRAG caching, block: 16 warps x 32 x 232 = 118784 > 65536 registers per SM");
    const struct all *a = evaluate(&g, "egemm", MODEL_EGEMM);
    for (int i = 0; i < a->count; i++)
        assert_false(a->cost[i].fits && (int64_t)a->tile[i].bm * a->tile[i].bn > 128 * 128);
}

/* Padding 4 or 8 makes no difference to any verdict on the T4. */
TEST(egemm_padding_decides_nothing) {
    const struct gpu g = budget("t4");
    const struct all *a = evaluate(&g, "egemm", MODEL_EGEMM);
    for (int i = 0; i < a->count; i++) {
        const struct model_egemm_terms e = model_egemm_terms(&a->on[i], &a->tile[i]);
        if (a->cost[i].fits)
            assert_true(e.smem_bytes_eq8 <= g.smem_per_block_bytes);
    }
}

TEST(legemm_accepts_table_2) {
    const struct gpu a800 = budget("a800");
    const struct all *a = evaluate(&a800, "legemm", MODEL_LEGEMM);
    assert_true(a->pick >= 0);
    assert_tile(&a->tile[a->pick], 128, 256, 32);
    assert_int_equal(a->cost[a->pick].threads, 512);
    for (int i = 0; i < a->count; i++) { /* T_K = 64 does not fit: it had to give way */
        if (a->tile[i].bm == 128 && a->tile[i].bn == 256 && a->tile[i].bk == 64)
            assert_false(a->cost[i].fits);
    }
    const struct gpu mi210 = budget("mi210");
    a = evaluate(&mi210, "legemm", MODEL_LEGEMM);
    assert_true(a->pick >= 0);
    assert_tile(&a->tile[a->pick], 128, 128, 32);
    assert_int_equal(a->cost[a->pick].smem_bytes, 65536);
    /* our own model refuses two whole accumulators of 128 x 256 on the A800 */
    a = evaluate(&a800, "legemm", MODEL_HALFTONE);
    for (int i = 0; i < a->count; i++)
        assert_false(a->cost[i].fits && a->tile[i].bm == 128 && a->tile[i].bn == 256);
}

/* ---- what must hold everywhere ---- */

static void check_candidate(const struct all *a, int i) {
    const struct cost *c = &a->cost[i];
    const struct gpu *g = a->g;
    assert_int_equal(c->threads, tile_threads(&a->tile[i], &a->on[i]));
    if (!c->fits) {
        assert_non_null(strchr(c->reason, ':'));
        assert_true(strlen(c->reason) < MODEL_REASON_MAX - 1);
        return;
    }
    assert_int_equal(c->reason[0], 0);
    assert_true(c->binding[0] != 0);
    assert_true(c->threads <= g->threads_per_block_max);
    assert_true(c->regs_per_thread > 0 && c->regs_per_thread <= g->registers_per_thread_max);
    assert_true(c->smem_bytes > 0 && c->smem_bytes <= g->smem_per_block_bytes);
    assert_true(c->blocks_per_sm >= 1 && c->blocks_per_sm <= g->blocks_per_sm);
    int64_t warps = (int64_t)c->blocks_per_sm * c->threads / a->isa->wave_size;
    assert_true(warps <= g->warps_per_sm);
    assert_true(warps * model_warp_registers(a->on[i].isa, c->regs_per_thread) <= g->registers_per_sm);
    assert_true(c->blocks_per_sm * (c->smem_bytes + g->smem_reserved_per_block_bytes) <=
                g->smem_per_sm_bytes);
    if (a->on[i].family->persistent) /* a block is launched with the whole file, evenly; consumers then take from the producer */
        assert_int_equal(c->regs_per_thread, a->tile[i].bm < 64 || c->threads == 384 ? 168 : c->threads == 256 ? 248 : 128); /* half atoms leave room */
    else
        assert_int_equal(c->regs_per_thread, c->regs_accumulators + c->regs_fragments + c->regs_other);
    assert_true(c->predicted_ns > 0);
    /* nothing is faster than the matrix unit */
    int64_t fma = INT64_C(4096) * 4096 * 4096 * a->s->products;
    const int64_t mhz = a->s->in == NUMBER_F64 ? g->clock_mhz : model_clock_mhz(g); /* FP64's stays below the power limit */
    int64_t ideal_ns = fma / (g->sms * model_fma_per_cycle(g, a->s)) * 1000 / mhz;
    if (a->kind != MODEL_EGEMM || a->s->slice == SLICE_F16) /* EGEMM-TC's times are those of FP16 instructions */
        assert_true(c->predicted_ns >= ideal_ns);
}

static void check_order(const struct all *a) {
    for (int i = 0; i < a->count; i += 3) {
        for (int j = 0; j < a->count; j += 2) {
            if (!a->cost[i].fits || !a->cost[j].fits)
                continue;
            bool less = model_better(a->kind, &a->cost[i], &a->tile[i], &a->cost[j], &a->tile[j]);
            bool more = model_better(a->kind, &a->cost[j], &a->tile[j], &a->cost[i], &a->tile[i]);
            assert_true(i == j ? !less && !more : less != more);
        }
    }
}

/* Warpgroups' kernels have neither scales of tiles nor planes of FP16 slices nor digits of FP64: mma.sync's beside them do. */
static void check_family(const struct gpu *g, const struct scheme *s) {
    const struct isa *isa = isa_find(g->isa), *its = target_main(g, isa, s).isa;
    const bool beside = s->scale == SCALE_TILE || s->split == SPLIT_OZAKI ||
                        (s->split == SPLIT_DIGITS && s->in == NUMBER_F64);
    assert_ptr_equal(its, beside && isa->wgmma ? isa_find("sm_90a_mma") : isa);
}

TEST(every_budget_scheme_and_model) {
    for (int b = 0; b < BUDGETS; b++) {
        const struct gpu g = budget(budgets[b]);
        for (int s = 0; s < scheme_count; s++) {
            check_family(&g, &scheme_table[s]);
            for (int m = 0; m < MODELS; m++) {
                const struct all *a = evaluate(&g, scheme_table[s].name, (enum model_kind)m);
                for (int i = 0; i < a->count; i++)
                    check_candidate(a, i);
                check_order(a);
                /* EGEMM-TC's time constraint may leave nothing on other GPUs; both papers are about packed FP16
                   of FP32 matrices */
                if (m == MODEL_HALFTONE ||
                    (m == MODEL_LEGEMM && a->s->slice == SLICE_F16 && a->s->in == NUMBER_F32 && a->s->recipe->packs))
                    assert_int_equal(a->fits > 0, model_has_unit(&g, isa_find(g.isa), a->s));
                assert_int_equal(a->pick >= 0, a->fits > 0);
            }
        }
    }
}

static int count_lines_starting(const char *text, const char *prefix) {
    int count = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        count += strncmp(line, prefix, strlen(prefix)) == 0;
    return count;
}

/* Types and units are read from the row: twice as wide elements leave half the tiles, integer sums lose nothing, and what is small enough to lose only itself depends on the unit. */
TEST(columns_of_a_scheme_decide) {
    struct gpu g = budget("a800");
    const struct isa *isa = isa_find("sm_80");
    struct scheme s = *scheme_find("bf16x6");
    const int64_t units = plan_bound_units(&s, isa, 1024);
    g.smem_per_sm_bytes = g.smem_per_block_bytes = 64 * 64 * 4 * 4 + 13 * 64 * 4;
    g.smem_reserved_per_block_bytes = 64 * 64 * 4;
    assert_int_equal(model_pack_tiles(&g, &s), 4);
    s.in = NUMBER_F64;
    assert_int_equal(model_pack_tiles(&g, &s), 2);
    assert_int_equal(plan_bound_units(&s, isa, 1024), -1); /* no family reads FP64 */
    s.in = NUMBER_F32;
    s.unit_exponent = -16;
    assert_true(plan_bound_units(&s, isa, 1024) < units);
    s.sum = NUMBER_S32;
    s.recipe = &recipe_table[RECIPE_FIXED_POINT];
    assert_int_equal(plan_bound_units(&s, isa, 1024), plan_bound_units(&s, isa, 4096));
    s.recipe = &recipe_table[RECIPE_OZAKI];
    assert_null(target_main(&g, isa, &s).isa);
}

static void report(struct text *out, const struct gpu *g, const struct scheme *s, enum model_kind kind, bool tsv) {
    struct listing l = {.g = g, .isa = isa_find(g->isa), .s = s, .kind = kind, .shape = cube};
    explain_rank(&l);
    if (tsv)
        explain_table(out, &l);
    else
        explain_print(out, &l);
    explain_free(&l);
}

TEST(explain_has_one_pick_and_repeats) {
    for (int b = 0; b < BUDGETS; b++) {
        const struct gpu g = budget(budgets[b]);
        for (int s = 0; s < scheme_count; s++) {
            const bool flushes = isa_find(g.isa)->flushes_subnormals;
            if (scheme_for(scheme_table[s].name, flushes) != &scheme_table[s])
                continue;
            for (int m = 0; m < MODELS; m++) {
                const int fits = evaluate(&g, scheme_table[s].name, (enum model_kind)m)->fits;
                for (int tsv = 0; tsv < 2; tsv++) {
                    TEXT once = {0}, again = {0};
                    report(&once, &g, &scheme_table[s], (enum model_kind)m, tsv);
                    report(&again, &g, &scheme_table[s], (enum model_kind)m, tsv);
                    assert_string_equal(once.data, again.data);
                    const int picks = count_lines_starting(once.data, tsv ? "pick\t" : "Pick: ");
                    assert_int_equal(picks - count_lines_starting(once.data, "Pick: none"), fits > 0);
                    if (tsv)
                        assert_int_equal(count_lines_starting(once.data, "fit\t"), fits > 0 ? fits - 1 : 0);
                }
            }
        }
    }
}

/* A unit whose rounding nobody has seen: its bounds must not be smaller than any other NVIDIA row's. */
TEST(unverified_rows_take_the_worst) {
    int unverified = 0;
    for (int i = 0; i < isa_count; i++) {
        const struct isa *x = &isa_table[i];
        if (!x->unverified)
            continue;
        unverified++;
        for (int j = 0; j < isa_count; j++) {
            const struct isa *y = &isa_table[j];
            if (strcmp(y->vendor, x->vendor) != 0)
                continue;
            for (int t = 0; t < SLICE_TYPES; t++)
                assert_true(x->align_units[t] >= y->align_units[t]);
            assert_true(x->tiny_units >= y->tiny_units && x->group_units >= y->group_units && x->native_k >= y->native_k);
        }
        assert_non_null(strstr(x->sim_model, "_assumed"));
    }
    assert_int_equal(unverified, 2);
    assert_ptr_equal(isa_of_capability(121), isa_find("sm_120"));
    assert_ptr_equal(isa_of_capability(103), isa_find("sm_100"));
    assert_ptr_equal(isa_of_capability(90), isa_find("sm_90a"));
    assert_null(isa_of_capability(70));
}

TEST(explain_says_what_it_must) {
    TEXT t4 = {0}, a800 = {0}, mi210 = {0}, tsv = {0};
    struct gpu g = budget("t4");
    report(&t4, &g, scheme_find("egemm"), MODEL_EGEMM, false);
    report(&tsv, &g, scheme_find("egemm"), MODEL_EGEMM, true);
    assert_non_null(strstr(t4.data, "EGEMM-TC Table 4: (128,128,32) is accepted, rank 1 of"));
    assert_non_null(strstr(t4.data, "Rejected by FRAG caching, block:"));
    assert_non_null(strstr(t4.data, "padding 8: 40960"));
    assert_int_equal(
        count_lines_starting(tsv.data, "verdict\tbm\tbn\tbk\twm\twn\twk\tstages\tthreads\tregs_per_thread\t"
                                       "smem_bytes\tblocks_per_sm\twaves\tpredicted_us\tbinding\treason"),
        1);
    assert_int_equal(
        count_lines_starting(tsv.data, "pick\t128\t128\t32\t64\t32\t8\t1\t256\t232\t36864\t1\t25.600\t"), 1);
    g = budget("a800");
    report(&a800, &g, scheme_find("legemm"), MODEL_LEGEMM, false);
    assert_non_null(strstr(a800.data, "LE-GEMM Table 2: (128,256,32) is accepted, rank 1 of"));
    assert_non_null(strstr(a800.data, "Eq. 17 counts one accumulator; algorithm 1 keeps two."));
    g = budget("mi210");
    report(&mi210, &g, scheme_for("f16x3", true), MODEL_HALFTONE, false);
    assert_non_null(strstr(mi210.data, "LE-GEMM Table 2, two buffers: (128,128,32) is accepted, rank "));
    assert_non_null(strstr(mi210.data, "As 128x128x32_w64x"));
    assert_non_null(
        strstr(t4.data, "  second is 128x128x32_w32x64_s1: as good, behind by the tie rule\n"));
    assert_non_null(strstr(a800.data, "objective is 75 % of the pick's\n"));
    text_free(&t4);
    g = budget("h200");
    report(&t4, &g, scheme_find("egemm"), MODEL_EGEMM, false);
    assert_non_null(
        strstr(t4.data, "Pick: none. Model egemm accepts no tile of scheme egemm on this budget, because"));
    assert_non_null(strstr(t4.data, " fail eq. 8 time, such as T_Mem1 "));
    text_free(&t4);
    report(&t4, &g, scheme_find("f16x3"), MODEL_HALFTONE, false);
    assert_non_null(strstr(t4.data, " % slower, because "));
    assert_non_null(
        strstr(mi210.data, "60.347 TFLOPS; native FP32 is 45.300 TFLOPS: at most 1.33 times native"));
}

/* ---- directions ---- */

/* Tightening a budget never lets a tile in; loosening never throws one out. */
TEST(tighter_budgets_admit_less) {
    for (int m = 0; m < MODELS; m++) {
        for (int what = 0; what < 3; what++) {
            const struct gpu wide = budget("a800");
            struct gpu tight = wide;
            if (what == 0) {
                tight.smem_per_block_bytes = 65536;
                tight.smem_per_sm_bytes = 66560;
            } else if (what == 1) {
                tight.registers_per_thread_max = 128;
            } else {
                tight.registers_per_sm = 32768;
            }
            int lost = 0;
            const struct all before = *evaluate(&wide, "f16x3", (enum model_kind)m);
            const struct all *after = evaluate(&tight, "f16x3", (enum model_kind)m);
            for (int i = 0; i < before.count; i++) {
                assert_false(after->cost[i].fits && !before.cost[i].fits);
                lost += before.cost[i].fits && !after->cost[i].fits;
            }
            assert_true(before.fits == 0 || lost > 0);
        }
    }
}

static int most_stages(const struct all *a) {
    int most = 0;
    for (int i = 0; i < a->count; i++) {
        if (a->cost[i].fits && a->tile[i].bm == 128 && a->tile[i].bn == 128 && a->tile[i].stages > most)
            most = a->tile[i].stages;
    }
    return most;
}

TEST(less_shared_memory_never_means_more_stages) {
    struct gpu g = budget("a800");
    int before = most_stages(evaluate(&g, "f16x3", MODEL_HALFTONE));
    assert_int_equal(before, 5);
    for (g.smem_per_block_bytes = 160000; g.smem_per_block_bytes > 65000; g.smem_per_block_bytes -= 8000) {
        int now = most_stages(evaluate(&g, "f16x3", MODEL_HALFTONE));
        assert_true(now <= before);
        before = now;
    }
    assert_int_equal(before, 2);
}

static int64_t best_ns(const struct gpu *g) {
    const struct all *a = evaluate(g, "f16x3", MODEL_HALFTONE);
    assert_true(a->pick >= 0);
    return a->cost[a->pick].predicted_ns;
}

/* A faster part never makes the best tile slower, and the part that binds makes it faster. */
TEST(faster_parts_help) {
    const struct gpu base = budget("a800");
    const int64_t before = best_ns(&base);
    struct gpu g = base;
    g.f16_fma_per_cycle *= 2;
    assert_true(best_ns(&g) < before);
    g = base;
    g.l2_gbps /= 4;
    assert_true(best_ns(&g) > before);
    assert_string_equal(evaluate(&g, "f16x3", MODEL_HALFTONE)->cost[0].binding, "l2");
    g = base;
    g.dram_gbps /= 16;
    assert_true(best_ns(&g) > before);
    g = base;
    g.smem_bytes_per_cycle /= 4;
    assert_true(best_ns(&g) > before);
    g = base;
    g.dram_latency_cycles *= 8;
    assert_true(best_ns(&g) > before);
    g = base;
    g.sms *= 2;
    assert_true(best_ns(&g) < before);
    /* EGEMM-TC: a slower global load closes the time constraint; LE-GEMM: a smaller GPU lowers T_TLP's limit
     */
    g = budget("t4");
    g.ldg_128_millicycles *= 4;
    assert_int_equal(evaluate(&g, "egemm", MODEL_EGEMM)->fits, 0);
    g = budget("mi210");
    g.smem_per_block_bytes = 49152;
    const struct all *a = evaluate(&g, "legemm", MODEL_LEGEMM);
    assert_true(a->pick >= 0 && a->tile[a->pick].bm + a->tile[a->pick].bn == 192);
}

/* Absurd shapes must not overflow. */
TEST(huge_shapes_stay_positive) {
    const struct shape huge = {INT64_C(1) << 40, INT64_C(1) << 40, INT64_C(1) << 40};
    const struct gpu g = budget("h200");
    const struct tile t = {128, 128, 32, 64, 32, 16, 3, 1};
    for (int m = 0; m < MODELS; m++) {
        struct cost c;
        const struct target on = model_target((enum model_kind)m, &g, isa_find(g.isa), scheme_find("f16x3"));
        model_cost((enum model_kind)m, &on, &t, &huge, &c);
        assert_true(c.predicted_ns >= 0 && c.waves_milli >= 0);
    }
}
