/* probe: a GPU's budget file from what the device says of itself and from measurements. This half knows no vendor: it
 * asks a struct probe_device, takes medians and writes the file; probe_kernels.cu holds the only real one, tests have
 * a fake. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <stdio.h>

#include "io/cli_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything that is measured: unit, and words for the comment. Rates are FMAs per SM and clock. */
#define PROBE_MEASUREMENTS(X)                                                                                \
    X(CLOCK_MHZ, "MHz", "clock counter against wall clock while every SM runs MMAs and shared-memory loads") \
    X(COPY_GBPS, "GB/s", "large device-to-device copy, read plus written")                                   \
    X(L2_GBPS, "GB/s", "every SM reads a quarter of L2 again and again, past L1")                            \
    X(L2_BULK_GBPS, "GB/s", "the same by bulk copies of 8 KB into shared memory, 16 under way on each SM")   \
    X(SMEM_BYTES, "bytes per clock", "32 warps of an SM load 16 bytes per thread without conflicts")         \
    X(F16_K8, "FMA", "mma.sync m16n8k8 f16, FP32 sums")                                                      \
    X(F16_K16, "FMA", "mma.sync m16n8k16 f16, FP32 sums")                                                    \
    X(BF16_K16, "FMA", "mma.sync m16n8k16 bf16, FP32 sums")                                                  \
    X(TF32_K4, "FMA", "mma.sync m16n8k4 tf32, FP32 sums")                                                    \
    X(TF32_K8, "FMA", "mma.sync m16n8k8 tf32, FP32 sums")                                                    \
    X(S8_M8, "FMA", "mma.sync m8n8k16 s8")                                                                   \
    X(S8_K16, "FMA", "mma.sync m16n8k16 s8")                                                                 \
    X(S8_K32, "FMA", "mma.sync m16n8k32 s8")                                                                 \
    X(FP32, "FMA", "FP32 FMAs of 32 warps, eight chains each")                                               \
    X(MMA_LATENCY, "clocks", "dependent chain of mma.sync f16 of one warp")                                  \
    X(SMEM_LATENCY, "clocks", "pointer chase in shared memory")                                              \
    X(L2_LATENCY, "clocks", "pointer chase over 2 MB, past L1")                                              \
    X(DRAM_LATENCY, "clocks", "pointer chase over lines that are in no cache")                               \
    X(LAUNCH_NS, "ns", "empty kernels back to back in one stream")                                           \
    X(WGMMA_F16, "FMA", "wgmma m64n256k16 f16, both operands in shared memory, FP32 sums")                   \
    X(WGMMA_BF16, "FMA", "wgmma m64n256k16 bf16, both operands in shared memory, FP32 sums")                 \
    X(WGMMA_TF32, "FMA", "wgmma m64n256k8 tf32, both operands in shared memory, FP32 sums")                  \
    X(WGMMA_S8, "FMA", "wgmma m64n256k32 s8, both operands in shared memory")

enum probe_what {
#define PROBE_ENUM(name, unit, words) PROBE_##name,
    PROBE_MEASUREMENTS(PROBE_ENUM)
#undef PROBE_ENUM
        PROBE_COUNT
};

/* What the driver tells; 0: it does not. */
struct probe_facts {
    char name[256], driver[96];
    int capability; /* 80 for 8.0 */
    int sms, clock_khz, memory_khz, memory_bits, fp64_share; /* the last: FP32's rate over FP64's, without matrix units */
    int registers_per_sm, smem_per_sm, smem_per_block, smem_reserved, threads_per_sm, blocks_per_sm,
        threads_per_block;
    long long l2_bytes;
};

enum { PROBE_ABSENT = 1 };
struct probe_device {
    int (*facts)(struct probe_facts *facts, struct cli_error *f);
    /* One measurement. 0; PROBE_ABSENT: this device cannot do it; -1 and the fault. */
    int (*measure)(enum probe_what what, double *value, struct cli_error *f);
    void (*close)(void);
};

/* In builds for a GPU; NULL address in the simulator's. */
extern const struct probe_device probe_device_cuda __attribute__((weak));

enum { PROBE_PASSES = 2, PROBE_REPEATS = 5 };

struct probe_value {
    int present;
    double value;              /* median of all repeats of all passes */
    double pass[PROBE_PASSES]; /* medians of the passes */
    double spread_percent;     /* (largest - smallest) / median over all repeats */
    double drift_percent;      /* second pass against the first */
};

struct probe_result {
    struct probe_facts facts;
    struct probe_value value[PROBE_COUNT];
    int noisiest; /* largest drift; -1: nothing was measured */
};

extern const char *const probe_words[PROBE_COUNT], *const probe_units[PROBE_COUNT];

/* Passes one after the other, so that what drifts shows; step (may be NULL) is called before each measurement. */
int probe_run(const struct probe_device *device, struct probe_result *result,
              void (*step)(void *context, const char *what), void *context, struct cli_error *f);

double probe_median(double *values, int count); /* sorts them */

/* The budget file `NAME.gpu`; -1 when a value that a budget needs could not be measured or named. */
int probe_write(FILE *out, const struct probe_result *result, const char *name, struct cli_error *f);

#ifdef __cplusplus
}
#endif
#endif
