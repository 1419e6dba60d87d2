/* probe.c: medians, and the budget file with a source for every value. See probe.h. */
#include "profile/probe.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_WORDS(name, unit, words) words,
const char *const probe_words[PROBE_COUNT] = {PROBE_MEASUREMENTS(PROBE_WORDS)};
#define PROBE_UNIT(name, unit, words) unit,
const char *const probe_units[PROBE_COUNT] = {PROBE_MEASUREMENTS(PROBE_UNIT)};

/* ---- measuring ---- */

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double probe_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int measure_pass(const struct probe_device *device, enum probe_what what, double *repeat,
                        struct cli_error *f) {
    for (int i = 0; i < PROBE_REPEATS; i++) {
        const int status = device->measure(what, &repeat[i], f);
        if (status != 0)
            return status;
        if (!(repeat[i] > 0) || !isfinite(repeat[i]))
            return cli_error_set(f, "measuring %s gave %g %s; the driver or the clock of this device misbehaves",
                             probe_words[what], repeat[i], probe_units[what]);
    }
    return 0;
}

static void summarise(struct probe_value *v, double all[PROBE_PASSES][PROBE_REPEATS]) {
    for (int p = 0; p < PROBE_PASSES; p++)
        v->pass[p] = probe_median(all[p], PROBE_REPEATS);
    v->value = probe_median(all[0], PROBE_PASSES * PROBE_REPEATS); /* sorts all of them */
    v->present = 1;
    v->spread_percent = 100 * (all[PROBE_PASSES - 1][PROBE_REPEATS - 1] - all[0][0]) / v->value;
    v->drift_percent = 100 * (v->pass[PROBE_PASSES - 1] / v->pass[0] - 1);
}

int probe_run(const struct probe_device *device, struct probe_result *result,
              void (*step)(void *context, const char *what), void *context, struct cli_error *f) {
    double all[PROBE_COUNT][PROBE_PASSES][PROBE_REPEATS];
    memset(result, 0, sizeof *result);
    result->noisiest = -1;
    int status = device->facts(&result->facts, f);
    for (int pass = 0; pass < PROBE_PASSES && status == 0; pass++) {
        for (int what = 0; what < PROBE_COUNT && status == 0; what++) {
            if (step)
                step(context, probe_words[what]);
            const int code = measure_pass(device, (enum probe_what)what, all[what][pass], f);
            result->value[what].present = code == 0;
            status = code < 0 ? code : 0;
        }
    }
    for (int what = 0; what < PROBE_COUNT && status == 0; what++) {
        struct probe_value *v = &result->value[what];
        if (!v->present)
            continue;
        summarise(v, all[what]);
        if (result->noisiest < 0 ||
            fabs(v->drift_percent) > fabs(result->value[result->noisiest].drift_percent))
            result->noisiest = what;
    }
    return status;
}

/* ---- the file ---- */

struct sheet {
    FILE *out;
    const struct probe_result *r;
    int missing; /* probe_what that a budget cannot do without, or -1 */
};

__attribute__((format(printf, 4, 5))) static void put(struct sheet *s, const char *key, int64_t value,
                                                      const char *source, ...) {
    char text[96];
    va_list arguments;
    snprintf(text, sizeof text, "%s = %lld", key, (long long)value);
    fprintf(s->out, "%-42s # ", text);
    va_start(arguments, source);
    vfprintf(s->out, source, arguments);
    va_end(arguments);
    fputc('\n', s->out);
}

static void put_word(struct sheet *s, const char *key, const char *value, const char *source) {
    char text[128];
    snprintf(text, sizeof text, "%s = %s", key, value);
    fprintf(s->out, "%-42s # %s\n", text, source);
}

static int64_t whole(double value) {
    return (int64_t)floor(value + 0.5);
}

static const struct probe_value *measured(struct sheet *s, enum probe_what what) {
    const struct probe_value *v = &s->r->value[what];
    if (!v->present && s->missing < 0)
        s->missing = (int)what;
    return v;
}

/* Value from one measurement, no larger than `most` (0: no such limit), which the comment then says. */
static int64_t put_measured(struct sheet *s, const char *key, enum probe_what what, int64_t most,
                            const char *limit) {
    const struct probe_value *v = measured(s, what);
    const int64_t value = whole(v->value), kept = most > 0 && value > most ? most : value;
    char cut[128] = "";
    if (kept != value)
        snprintf(cut, sizeof cut, "; measured %lld, cut to %s", (long long)value, limit);
    put(s, key, kept, "measured: %s: %.5g %s, spread %.2g %%, second pass %+.2g %%%s", probe_words[what],
        v->value, probe_units[what], v->spread_percent, v->drift_percent, cut);
    return kept;
}

/* The fastest of several shapes of one type; 0 when the device has none. */
static int64_t put_rate(struct sheet *s, const char *key, const enum probe_what *shape, int shapes,
                        int is_needed) {
    int best = -1;
    for (int i = 0; i < shapes; i++) {
        const struct probe_value *v = &s->r->value[shape[i]];
        if (v->present && (best < 0 || v->value > s->r->value[shape[best]].value))
            best = i;
    }
    if (best >= 0)
        return put_measured(s, key, shape[best], 0, "");
    if (is_needed)
        (void)measured(s, shape[0]);
    put(s, key, 0, "this device has no such instruction");
    return 0;
}

/* Budgets know these instruction sets; what lies between runs the code of the next lower one. */
static const char *isa_of(int capability) {
    return capability >= 120  ? "sm_120"
           : capability >= 100 ? "sm_100"
           : capability >= 90 ? "sm_90a"
           : capability >= 89 ? "sm_89"
           : capability >= 86 ? "sm_86"
           : capability >= 80 ? "sm_80"
           : capability >= 75 ? "sm_75"
                              : NULL;
}

/* Printable ASCII that a budget's title may hold. */
static void clean_title(char title[64], const char *name) {
    size_t used = 0;
    for (; *name != '\0' && used < 63; name++)
        if (*name >= ' ' && *name <= '~' && strchr("\"\\*", *name) == NULL)
            title[used++] = *name;
    title[used] = '\0';
}

static void write_head(struct sheet *s, const char *name) {
    const struct probe_facts *d = &s->r->facts;
    char title[64], source[96], capability[32];
    clean_title(title, d->name);
    fprintf(s->out, "# Resource budget of one %s. Keys, units and ranges: gen/facts/gpu.h.\n", title);
    fprintf(s->out,
            "# Written by `halftone probe`; driver %s. \"device\" is what the driver says of the GPU, "
            "\"measured\" the\n"
            "# median of %d runs in two passes, its spread and how the second pass differs from the first.\n",
            d->driver, PROBE_PASSES * PROBE_REPEATS);
    if (s->r->noisiest >= 0)
        fprintf(s->out, "# Noise: the second pass differs most, by %+.2g %%, in: %s.\n",
                s->r->value[s->r->noisiest].drift_percent, probe_words[s->r->noisiest]);
    fputs("# MMA rates of every type and shape, FMAs per SM and clock:\n", s->out);
    for (int what = 0; what < PROBE_COUNT; what++) {
        const struct probe_value *v = &s->r->value[what];
        if (v->present && strcmp(probe_units[what], "FMA") == 0)
            fprintf(s->out, "#   %8.1f  %s (second pass %+.2g %%)\n", v->value, probe_words[what],
                    v->drift_percent);
    }
    fputc('\n', s->out);
    put_word(s, "name", name, "file name");
    put_word(s, "title", title, "device: name");
    snprintf(source, sizeof source, "device: compute capability %d.%d", d->capability / 10,
             d->capability % 10);
    snprintf(capability, sizeof capability, "%d.%d", d->capability / 10, d->capability % 10);
    put_word(s, "compute_capability", capability, "device");
    put_word(s, "isa", isa_of(d->capability), source);
}

static void write_chip(struct sheet *s, int64_t *clock) {
    const struct probe_facts *d = &s->r->facts;
    const int64_t boost = d->clock_khz / 1000;
    fputs("\n# the chip\n", s->out);
    put(s, "sms", d->sms, "device: multiprocessors");
    put(s, "clock_mhz", boost, "device: clock rate");
    *clock = put_measured(s, "sustained_clock_mhz", PROBE_CLOCK_MHZ, boost, "clock_mhz");
    fputs("\n# one SM\n", s->out);
    put(s, "registers_per_sm", d->registers_per_sm, "device: registers per multiprocessor");
    put(s, "registers_per_thread_max", 255, "CUDA C++ Programming Guide, all capabilities since 3.5");
    put(s, "smem_per_sm_bytes", d->smem_per_sm, "device: shared memory per multiprocessor");
    put(s, "smem_per_block_bytes", d->smem_per_block, "device: shared memory per block, opted in");
    put(s, "smem_reserved_per_block_bytes", d->smem_reserved, "device: shared memory reserved per block");
    put_measured(s, "smem_bytes_per_cycle", PROBE_SMEM_BYTES, 0, "");
    put(s, "warps_per_sm", d->threads_per_sm / 32, "device: %d threads per multiprocessor",
        d->threads_per_sm);
    put(s, "blocks_per_sm", d->blocks_per_sm, "device: blocks per multiprocessor");
    put(s, "threads_per_block_max", d->threads_per_block, "device: threads per block");
    put(s, "schedulers_per_sm", 4,
        "NVIDIA whitepapers, 7.0 and later: four processing blocks, one scheduler each");
}

/* By the way in which the kernels of the instruction set fetch: what other loads draw is another number. */
static int64_t write_l2(struct sheet *s) {
    const struct probe_value *loads = measured(s, PROBE_L2_GBPS);
    if (!s->r->value[PROBE_L2_BULK_GBPS].present)
        return put_measured(s, "l2_gbps", PROBE_L2_GBPS, 0, "");
    fprintf(s->out, "# l2_gbps: by bulk copies, as the kernels fetch; 16-byte loads draw %.5g GB/s\n", loads->value);
    return put_measured(s, "l2_gbps", PROBE_L2_BULK_GBPS, 0, "");
}

static int64_t write_memory(struct sheet *s) {
    const struct probe_facts *d = &s->r->facts;
    const double sheet_gbps = 2.0 * d->memory_khz * (d->memory_bits / 8.0) / 1e6;
    int64_t dram = whole(sheet_gbps);
    fputs("\n# memory\n", s->out);
    put(s, "instruction_cache_bytes", 131072, "estimate: 128 KB as in Volta (Jia et al. 2018); not measured");
    put(s, "l2_bytes", d->l2_bytes, "device: L2 cache");
    const int64_t l2 = write_l2(s);
    if (dram > 0)
        put(s, "dram_gbps", dram, "device: 2 x %d MHz x %d bits", d->memory_khz / 1000, d->memory_bits);
    else {
        dram = whole(measured(s, PROBE_COPY_GBPS)->value / 0.9);
        put(s, "dram_gbps", dram,
            "estimate: the device names no memory clock; copies reach nine tenths elsewhere");
    }
    put_measured(s, "copy_gbps", PROBE_COPY_GBPS, dram, "dram_gbps");
    return l2;
}

static int64_t write_arithmetic(struct sheet *s) {
    static const enum probe_what f16[] = {PROBE_F16_K8, PROBE_F16_K16, PROBE_WGMMA_F16};
    static const enum probe_what bf16[] = {PROBE_BF16_K16, PROBE_WGMMA_BF16};
    static const enum probe_what tf32[] = {PROBE_TF32_K4, PROBE_TF32_K8, PROBE_WGMMA_TF32};
    static const enum probe_what s8[] = {PROBE_S8_M8, PROBE_S8_K16, PROBE_S8_K32, PROBE_WGMMA_S8};
    const struct probe_facts *d = &s->r->facts;
    fputs("\n# arithmetic\n", s->out);
    const int64_t rate = put_rate(s, "f16_fma_per_cycle", f16, 3, 1);
    put_rate(s, "bf16_fma_per_cycle", bf16, 2, 0);
    put_rate(s, "tf32_fma_per_cycle", tf32, 3, 0);
    put_rate(s, "s8_fma_per_cycle", s8, 4, 0);
    if ((d->capability == 80 || d->capability == 90) && d->fp64_share > 0)
        put(s, "fp64_fma_per_cycle", 2 * whole(measured(s, PROBE_FP32)->value) / d->fp64_share,
            "derived: DMMA at twice the rate of its FMAs, of which the device says 1 / %d of FP32's", d->fp64_share);
    else
        put(s, "fp64_fma_per_cycle", 0, "no FP64 tensor cores");
    const int64_t fp32 = put_measured(s, "fp32_fma_per_cycle", PROBE_FP32, 0, "");
    put(s, "native_fp32_gflops", 2 * fp32 * d->sms * (d->clock_khz / 1000) / 1000,
        "derived: 2 x fp32_fma_per_cycle x sms x clock_mhz");
    return rate;
}

static void write_latencies(struct sheet *s) {
    fputs("\n# latencies\n", s->out);
    put_measured(s, "mma_latency_cycles", PROBE_MMA_LATENCY, 0, "");
    put_measured(s, "smem_latency_cycles", PROBE_SMEM_LATENCY, 0, "");
    put_measured(s, "l2_latency_cycles", PROBE_L2_LATENCY, 0, "");
    put_measured(s, "dram_latency_cycles", PROBE_DRAM_LATENCY, 0, "");
    put_measured(s, "launch_ns", PROBE_LAUNCH_NS, 0, "");
}

int probe_write(FILE *out, const struct probe_result *result, const char *name, struct cli_error *f) {
    struct sheet s = {out, result, -1};
    int64_t clock = 0;
    if (isa_of(result->facts.capability) == NULL)
        return cli_error_set(f, "%s has compute capability %d.%d; tensor cores that halftone uses begin with 7.5",
                         result->facts.name, result->facts.capability / 10, result->facts.capability % 10);
    write_head(&s, name);
    write_chip(&s, &clock);
    const int64_t l2 = write_memory(&s), rate = write_arithmetic(&s);
    const double smem = measured(&s, PROBE_SMEM_BYTES)->value;
    write_latencies(&s);
    if (s.missing >= 0 || clock <= 0 || l2 <= 0 || rate <= 0 || smem <= 0)
        return cli_error_set(f, "a budget needs what was not measured: %s",
                         s.missing >= 0 ? probe_words[s.missing] : "a rate that is not zero");
    fputs("\n# EGEMM-TC, equations 5 to 7: clocks for which an instruction keeps its unit busy\n", out);
    put(&s, "hmma_1688_millicycles", whole(1024.0 * 4 * 1000 / (double)rate),
        "derived: 1024 FMAs / (f16_fma_per_cycle / 4) per tensor core");
    put(&s, "ldg_128_millicycles",
        whole(512.0 * 1000 * result->facts.sms * (double)clock / 1000 / (double)l2),
        "derived: 512 bytes / (l2_gbps / sms / sustained_clock_mhz)");
    put(&s, "sts_128_millicycles", whole(512.0 * 1000 / smem), "derived: 512 bytes / smem_bytes_per_cycle");
    put(&s, "lds_32_millicycles", whole(128.0 * 1000 / smem), "derived: 128 bytes / smem_bytes_per_cycle");
    return 0;
}
