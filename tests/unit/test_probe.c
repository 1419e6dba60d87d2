/* test_probe: medians, spread and drift of fake measurements, and the file: the generator's own parser must read it. */

#include <math.h>

#include "../../bench/halftone/profile/probe.h"
#include "../../gen/base/err.h"
#include "../../gen/facts/gpu.h"
#include "../test.h"

/* A fictional GPU; the second pass reads L2 2 % faster. */
static struct {
    struct probe_facts facts;
    double value[PROBE_COUNT]; /* 0: absent */
    int calls[PROBE_COUNT];
    enum probe_what fails, drifts;
} fake;

static void set_up(void) {
    static const struct {
        enum probe_what what;
        double value;
    } values[] = {{PROBE_CLOCK_MHZ, 1349.6}, {PROBE_COPY_GBPS, 1730},   {PROBE_L2_GBPS, 4800},
                  {PROBE_SMEM_BYTES, 127.8}, {PROBE_F16_K8, 640},       {PROBE_F16_K16, 1023.7},
                  {PROBE_BF16_K16, 1023.8},  {PROBE_TF32_K4, 400},      {PROBE_TF32_K8, 511.9},
                  {PROBE_S8_M8, 700},        {PROBE_S8_K16, 1500},      {PROBE_S8_K32, 2047},
                  {PROBE_FP32, 63.9},        {PROBE_MMA_LATENCY, 25.2}, {PROBE_SMEM_LATENCY, 29},
                  {PROBE_L2_LATENCY, 262},   {PROBE_DRAM_LATENCY, 466}, {PROBE_LAUNCH_NS, 2204.4},
                  {PROBE_WGMMA_F16, 0}};
    memset(&fake, 0, sizeof fake);
    fake.facts = (struct probe_facts){.name = "NVIDIA \"Fiction\" 9\\*",
                                      .driver = "CUDA 13.0",
                                      .capability = 80,
                                      .sms = 108,
                                      .clock_khz = 1410000,
                                      .memory_khz = 1593000,
                                      .memory_bits = 5120,
                                      .fp64_share = 2,
                                      .registers_per_sm = 65536,
                                      .smem_per_sm = 167936,
                                      .smem_per_block = 166912,
                                      .smem_reserved = 1024,
                                      .threads_per_sm = 2048,
                                      .blocks_per_sm = 32,
                                      .threads_per_block = 1024,
                                      .l2_bytes = 41943040};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fake.value[values[i].what] = values[i].value;
    fake.fails = PROBE_COUNT;
    fake.drifts = PROBE_L2_GBPS;
}

static int fake_facts(struct probe_facts *facts, struct cli_error *f) {
    (void)f;
    *facts = fake.facts;
    return 0;
}

/* Repeats of a pass: 1, 1.01, 0.99, 1.004, 0.998 of the value, so their median is the value. */
static int fake_measure(enum probe_what what, double *value, struct cli_error *f) {
    static const double wobble[PROBE_REPEATS] = {1, 1.01, 0.99, 1.004, 0.998};
    const int call = fake.calls[what]++;
    if (what == fake.fails)
        return cli_error_set(f, "measuring: the device fell off the bus");
    if (fake.value[what] == 0)
        return PROBE_ABSENT;
    *value = fake.value[what] * wobble[call % PROBE_REPEATS];
    if (what == fake.drifts && call >= PROBE_REPEATS)
        *value *= 1.02;
    return 0;
}

static void fake_close(void) {
}

static const struct probe_device device = {fake_facts, fake_measure, fake_close};

static int written(const struct probe_result *r, char **text, struct cli_error *f) {
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    assert_non_null(out);
    const int status = probe_write(out, r, "fiction", f);
    fclose(out);
    return status;
}

/* What the fake device measures, as text and as the generator reads it. */
static const char *budget_of_fake(struct gpu *g) {
    struct probe_result r;
    struct cli_error f = {EXIT_OK, ""};
    char *text = NULL;
    OK(probe_run(&device, &r, NULL, NULL, &f));
    OK(written(&r, &text, &f));
    assert_true(gpu_parse(g, "fiction.gpu", text, strlen(text)));
    return keep(text, free);
}

TEST(test_medians) {
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_true(probe_median(odd, 3) == 2);
    assert_true(probe_median(even, 4) == 2.5);
}

TEST(test_run_takes_medians_of_two_passes) {
    struct probe_result r;
    struct cli_error f = {EXIT_OK, ""};
    set_up();
    assert_int_equal(probe_run(&device, &r, NULL, NULL, &f), 0);
    const struct probe_value *v = &r.value[PROBE_F16_K16];
    assert_true(v->present && v->value == 1023.7 && v->pass[0] == 1023.7 && v->drift_percent == 0);
    assert_true(fabs(v->spread_percent - 2) < 1e-9);
    assert_false(r.value[PROBE_WGMMA_F16].present);
    assert_int_equal(r.noisiest, PROBE_L2_GBPS);
    assert_true(fabs(r.value[PROBE_L2_GBPS].drift_percent - 2) < 1e-9);
    assert_int_equal(fake.calls[PROBE_FP32], PROBE_PASSES * PROBE_REPEATS);
}

TEST(test_the_file_is_a_budget) {
    struct gpu g;
    set_up();
    const char *text = budget_of_fake(&g);
    assert_string_equal(g.name, "fiction");
    assert_string_equal(g.title, "NVIDIA Fiction 9");
    assert_string_equal(g.isa, "sm_80");
    EQUAL({g.sms, 108}, {g.sustained_clock_mhz, 1350}, {g.dram_gbps, 2039}); /* 2 x 1593 MHz x 640 bytes */
    assert_int_equal(g.l2_gbps, 4848);   /* of ten, the middle two are 4847.04 and 4848 */
    EQUAL({g.f16_fma_per_cycle, 1024}, {g.tf32_fma_per_cycle, 512}, {g.s8_fma_per_cycle, 2047},
          {g.fp64_fma_per_cycle, 64}, {g.native_fp32_gflops, 2 * 64 * 108 * 1410 / 1000},
          {g.warps_per_sm, 64}, {g.hmma_1688_millicycles, 4000},
          {g.ldg_128_millicycles, (512 * 108 * 1350 + 4848 / 2) / 4848});
    assert_non_null(strstr(text, "# Noise: the second pass differs most, by +2 %, in: every SM reads"));
    assert_non_null(strstr(text, "mma.sync m16n8k8 f16")); /* rates that did not become values */
    assert_null(strstr(text, "wgmma"));
}

/* A clock above boost or a copy above the data sheet would not parse: cut, and said. */
TEST(test_impossible_values_are_cut_and_said) {
    struct gpu g;
    set_up();
    fake.value[PROBE_CLOCK_MHZ] = 1425;
    fake.value[PROBE_COPY_GBPS] = 2100;
    fake.facts.capability = 120;
    const char *text = budget_of_fake(&g);
    EQUAL({g.sustained_clock_mhz, 1410}, {g.copy_gbps, g.dram_gbps});
    assert_non_null(strstr(text, "measured 1425, cut to clock_mhz"));
    assert_string_equal(g.isa, "sm_120"); /* never sm_90a, which later GPUs do not run */
    assert_int_equal(gpu_capability(&g), 120);
}

/* Hopper: the instruction set's own MMA is wgmma. */
TEST(test_the_fastest_shape_is_the_rate) {
    struct gpu g;
    set_up();
    fake.facts.capability = 90;
    fake.value[PROBE_WGMMA_F16] = 2040;
    fake.value[PROBE_WGMMA_BF16] = 2041;
    fake.value[PROBE_WGMMA_TF32] = 1020;
    fake.value[PROBE_WGMMA_S8] = 4090;
    fake.value[PROBE_L2_BULK_GBPS] = 4500;
    const char *text = budget_of_fake(&g);
    assert_string_equal(g.isa, "sm_90a");
    EQUAL({g.f16_fma_per_cycle, 2040}, {g.bf16_fma_per_cycle, 2041}, {g.tf32_fma_per_cycle, 1020},
          {g.s8_fma_per_cycle, 4090}, {g.l2_gbps, 4500}); /* as its kernels fetch, though loads draw 4848 */
    assert_non_null(strstr(text, "by bulk copies, as the kernels fetch; 16-byte loads draw 48"));
}

/* Turing: m16n8k8 and m8n8k16 only, no memory clock named. */
TEST(test_what_is_absent_is_zero_or_estimated) {
    static const enum probe_what gone[] = {PROBE_F16_K16, PROBE_BF16_K16, PROBE_TF32_K4,
                                           PROBE_TF32_K8, PROBE_S8_K16,   PROBE_S8_K32};
    struct gpu g;
    set_up();
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        fake.value[gone[i]] = 0;
    fake.facts.capability = 75;
    fake.facts.memory_khz = 0;
    const char *text = budget_of_fake(&g);
    assert_string_equal(g.isa, "sm_75");
    EQUAL({g.f16_fma_per_cycle, 640}, {g.bf16_fma_per_cycle, 0}, {g.s8_fma_per_cycle, 700},
          {g.fp64_fma_per_cycle, 0}, {g.dram_gbps, 1922});
    assert_non_null(strstr(text, "estimate: the device names no memory clock"));
}

TEST(test_failures_are_one_line) {
    struct probe_result r;
    struct cli_error f = {EXIT_OK, ""};
    char *text = NULL;
    set_up();
    fake.fails = PROBE_SMEM_LATENCY;
    assert_int_equal(probe_run(&device, &r, NULL, NULL, &f), -1);
    assert_non_null(strstr(f.text, "fell off the bus"));
    set_up();
    fake.value[PROBE_LAUNCH_NS] = -1;
    assert_int_equal(probe_run(&device, &r, NULL, NULL, &f), -1);
    assert_non_null(strstr(f.text, "back to back"));
    set_up();
    fake.value[PROBE_L2_GBPS] = 0; /* absent, but a budget needs it */
    assert_int_equal(probe_run(&device, &r, NULL, NULL, &f), 0);
    assert_int_equal(written(&r, &text, &f), -1);
    assert_non_null(strstr(f.text, "past L1"));
    free(text);
    set_up();
    fake.facts.capability = 70;
    assert_int_equal(probe_run(&device, &r, NULL, NULL, &f), 0);
    assert_int_equal(written(&r, &text, &f), -1);
    assert_non_null(strstr(f.text, "7.5"));
    free(text);
}
