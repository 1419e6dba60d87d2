/* gpu: the resource budget of one GPU, parsed from `gen/gpus/NAME.gpu`.
 *
 * A budget file has one `key = value  # source` per line, `#` comment lines and blank lines. Keys carry their
 * units. Every numeric key and `name`, `title`, `isa` are mandatory, none may appear twice, none may be
 * unknown; every number, `isa` and `compute_capability` name their source, and a source that begins with
 * "estimate" marks the value as one. All faults of a file are reported before it is rejected. Knows nothing
 * of tiles or schemes. */
#ifndef HT_GPU_H
#define HT_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* After a name that no budget has, here and in the Makefile. */
#define GPU_OTHER "; a budget for another GPU takes ten minutes: bench/A-GPU-YOU-DO-NOT-HAVE.md"

enum { GPU_NAME_MAX = 32, GPU_TITLE_MAX = 64, GPU_CARDS_MAX = 160, GPU_CAPABILITY_MAX = 8 };

/* Numeric keys: field, smallest and largest sane value, meaning. Fields are int64_t; the budget key is
 * spelled like the field. This list is the only place that names them: parser, checker, listing and
 * documentation expand it. */
#define GPU_NUMBER_KEYS(X)                                                                                   \
    X(sms, 1, 1024, "streaming multiprocessors (NVIDIA) or compute units (AMD)")                             \
    X(clock_mhz, 100, 10000, "boost clock of the SMs")                                                       \
    X(sustained_clock_mhz, 100, 10000,                                                                       \
      "clock held under a long matrix product (power limit); boost if unknown")                              \
    X(registers_per_sm, 1024, 1048576, "32-bit registers per SM")                                            \
    X(registers_per_thread_max, 16, 512, "most 32-bit registers one thread can address")                     \
    X(smem_per_sm_bytes, 1024, 1048576, "shared memory (LDS) per SM")                                        \
    X(smem_per_block_bytes, 1024, 1048576, "most shared memory one block can ask for")                       \
    X(smem_reserved_per_block_bytes, 0, 65536, "shared memory the driver keeps for each resident block")     \
    X(smem_bytes_per_cycle, 16, 1024, "shared-memory bandwidth per SM and clock")                            \
    X(warps_per_sm, 1, 128, "most resident warps (wavefronts) per SM")                                       \
    X(blocks_per_sm, 1, 64, "most resident blocks per SM")                                                   \
    X(threads_per_block_max, 32, 2048, "most threads in one block")                                          \
    X(schedulers_per_sm, 1, 8, "warp schedulers (SIMDs) per SM")                                             \
    X(instruction_cache_bytes, 4096, 1048576,                                                                \
      "instruction cache that a main loop should fit (L1.5 / L2 of I$)")                                     \
    X(l2_bytes, 65536, 1073741824, "L2 cache")                                                               \
    X(l2_gbps, 10, 100000, "L2 to SM bandwidth, all SMs")                                                    \
    X(dram_gbps, 10, 100000, "device-memory bandwidth by the data sheet")                                    \
    X(copy_gbps, 10, 100000, "what a large device copy reaches, read plus write")                            \
    X(f16_fma_per_cycle, 16, 65536,                                                                          \
      "FP16 matrix FMAs per SM and clock, FP32 accumulate, this instruction set's MMA")                      \
    X(bf16_fma_per_cycle, 0, 65536, "BF16 matrix FMAs per SM and clock; 0: none")                            \
    X(tf32_fma_per_cycle, 0, 65536, "TF32 matrix FMAs per SM and clock; 0: none")                            \
    X(s8_fma_per_cycle, 0, 65536, "INT8 matrix FMAs per SM and clock; 0: none")                              \
    X(fp64_fma_per_cycle, 0, 4096, "FP64 matrix FMAs per SM and clock; 0: none")                             \
    X(fp32_fma_per_cycle, 1, 4096, "FP32 vector FMAs per SM and clock")                                      \
    X(native_fp32_gflops, 100, 1000000, "native FP32 matrix-product peak by the data sheet")                 \
    X(mma_latency_cycles, 1, 1000, "issue to result of one MMA in a dependent chain")                        \
    X(smem_latency_cycles, 1, 1000, "issue to result of a shared-memory load")                               \
    X(l2_latency_cycles, 1, 5000, "issue to result of a load that hits L2")                                  \
    X(dram_latency_cycles, 1, 10000, "issue to result of a load from device memory")                         \
    X(launch_ns, 100, 100000, "cost of one more kernel in a stream")                                         \
    X(hmma_1688_millicycles, 100, 1000000,                                                                   \
      "EGEMM-TC T_HMMA: thousandths of a clock one HMMA.1688.F32 occupies a tensor core")                    \
    X(ldg_128_millicycles, 100, 1000000,                                                                     \
      "EGEMM-TC T_LDG.128: thousandths of a clock per warp-wide 128-bit global load")                        \
    X(sts_128_millicycles, 100, 1000000,                                                                     \
      "EGEMM-TC T_STS.128: thousandths of a clock per warp-wide 128-bit shared store")                       \
    X(lds_32_millicycles, 100, 1000000,                                                                      \
      "EGEMM-TC T_LDS.32: thousandths of a clock per warp-wide 32-bit shared load")

#define GPU_KEY(field, low, high, meaning) GPU_##field,
enum gpu_key { GPU_NUMBER_KEYS(GPU_KEY) GPU_NUMBERS };
#undef GPU_KEY

struct gpu {
    char name[GPU_NAME_MAX];   /* key `name`: the word after --gpu and the folder below out/ */
    char title[GPU_TITLE_MAX]; /* key `title`: the product name */
    /* key `also_for`, may be missing: entries separated by ", ". A card takes the budget that has the longest
     * entry occurring in the name that the driver gives it, capitals included. */
    char also_for[GPU_CARDS_MAX];
    /* key `compute_capability`: "8.6"; needed where isa runs on one alone */
    char compute_capability[GPU_CAPABILITY_MAX];
    char isa[GPU_NAME_MAX];    /* key `isa`: a row of the isa table */
#define GPU_FIELD(field, low, high, meaning) int64_t field;
    GPU_NUMBER_KEYS(GPU_FIELD)
#undef GPU_FIELD
    uint64_t checksum;  /* of the file's bytes, for banners */
    uint64_t estimates; /* bit i: the source of numeric key i begins with "estimate" */
};

/* Parses budget text; `path` is only for messages. False after reporting every fault with err_user. */
bool gpu_parse(struct gpu *g, const char *path, const char *bytes, size_t len);

/* Loads by name (ROOT/gen/gpus/NAME.gpu) or, when `name_or_path` holds a '/' or ends in ".gpu", by path.
 * An unknown name is reported together with the list of budgets. */
bool gpu_load(struct gpu *g, const char *root, const char *name_or_path);

/* 10 * major + minor of key compute_capability; 0: missing; -1: not like "8.6". */
int gpu_capability(const struct gpu *g);

/* Appends the names of all budgets, sorted bytewise. */
bool gpu_list(struct text *out, const char *root, const char *between);

const char *gpu_number_name(enum gpu_key key);
int64_t gpu_number(const struct gpu *g, enum gpu_key key);
bool gpu_is_estimate(const struct gpu *g, enum gpu_key key);
/* False, with nothing changed, when the value is out of the key's range. */
bool gpu_number_set(struct gpu *g, enum gpu_key key, int64_t value);

/* Replaces values of a budget by "key=value" texts, checked as the lines of a file are, between keys too.
 * False after reporting every fault with err_user. Keys that a file derives from others are not derived
 * again. */
bool gpu_override(struct gpu *g, const char *const *assignments, int count);

#endif
