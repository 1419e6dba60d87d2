/* model: (Gpu, Isa, Scheme, Tile, Shape) -> Cost or reason of rejection. Pure functions, integer
 * arithmetic only; every formula names its source and carries a worked example that is also a unit test. */
#ifndef HT_MODEL_H
#define HT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_cost.h"
#include "facts/gpu.h"
#include "model/tile.h"

enum { MODEL_REASON_MAX = 160 };

struct shape {
    int64_t m, n, k;
};
static inline int64_t shape_flops(const struct shape *s) {
    return ht_mul(2, ht_mul(ht_mul(s->m, s->n), s->k));
}

struct cost {
    bool fits;
    char reason[MODEL_REASON_MAX]; /* why rejected, "kind: numbers"; empty when it fits */
    int kind; /* bytes of the reason's kind */
    char binding[32]; /* resource that limits the accepted tile: tensor, smem, l2, dram, latency, ... */
    int threads, regs_per_thread, smem_bytes, blocks_per_sm;
    int regs_accumulators, regs_fragments, regs_other; /* parts of regs_per_thread */
    int regs_chains;      /* part of regs_accumulators: sums that only MMAs touch until they are drained */
    int regs_producer, regs_consumer; /* after setmaxnreg; 0: all threads have what they start with */
    int regs_spilled_fragments;  /* fragments that find no registers ahead of their use */
    int64_t waves_milli;  /* waves of the shape, thousandths */
    int64_t predicted_ns; /* kernel only, for the shape */
    int64_t smem_limit;   /* bytes that a block may have */
    int64_t score;    /* the model's own objective: larger is better; ties by tile_compare, smaller first */
    const char *unit; /* what binds it where memory does not (MODEL_HALFTONE) */
    struct ht_tile walk; /* what the runtime's ht_cost_ns needs (MODEL_HALFTONE) */
    struct ht_cost formula;
};

/* Tile rows of a raster group, so that what a wave reads of A and B is about square: 8 or 16, the one below
 * the root of SMs * bn / bm. Example: 132 SMs, 128x128: 11.5, 8 (bench/decisions/016: 8, 16, 32 rows 228,
 * 220, 217 TFLOPS); 128x256: 16.2, 16 (bench/decisions/026). */
static inline int model_raster_rows(const struct gpu *g, const struct tile *t) {
    return g->sms * t->bn >= 256 * t->bm ? 16 : 8;
}

/* The four limits alone: threads, registers and shared memory of a block, and whether one fits an SM. */
bool footprint_fits(const struct target *on, struct cost *cost);

/* Rules that models share, each with what it rejects: the most threads of a block, and whether one fits an
 * SM; `block` is the model's word for it. */
bool model_has_threads(const struct gpu *g, struct cost *cost);
bool model_occupies(const struct target *on, const struct tile *t, struct cost *cost, const char *block);

static inline int64_t model_largest(int64_t x, int64_t y) {
    return x > y ? x : y;
}

/* Clock of every time prediction: the one a long matrix product holds. Sets carry the same one for
 * ht_cost_ns. */
static inline int64_t model_clock_mhz(const struct gpu *g) { return g->sustained_clock_mhz; }

/* Clocks of a kernel that leaves the power limit alone, as clocks at model_clock_mhz: kernels that read
 * the operands as they are run at 1980 MHz (results/h200-native-skinny.tsv), f16x3 at 8192 at 1485
 * (results/h200-native-schemes.tsv). Where FP32 does all the work it is what heats. */
int64_t model_clocks_at_boost(const struct gpu *g, int64_t clocks);

/* The budget's rate of each slice type's matrix unit. */
extern const enum gpu_key model_rate_key[SLICE_TYPES];
/* FMAs per SM and clock of the matrix unit that the scheme's slices need; 0: the GPU has none. */
int64_t model_fma_per_cycle(const struct gpu *g, const struct scheme *s);
/* Of 4,096 results of FP64, so many take as long by dot products, which read L2, as all in a tile. */
int model_alone_most(const struct gpu *g, const struct scheme *s);
/* Of an SM's lanes, in the type of the scheme's matrices. */
int64_t model_lane_fmas(const struct target *on);
/* Whether budget and isa row have that unit; without it every tile is rejected. */
bool model_has_unit(const struct gpu *g, const struct isa *isa, const struct scheme *s);

/* k between two promotions of an accumulator: 0 never, the MMA's k after every MMA, else the interval. */
int model_promote_k(const struct target *on, int accumulator);

/* Whether chains of accumulator 0 are closed and added up in FP32. */
bool model_promotes(const struct target *on);

/* Whether mma_warp copies into a stage as soon as everyone has read it (bench/decisions/003): asynchronous
 * copies where each step closes its chains. */
bool model_refills_after_barrier(const struct target *on, const struct tile *t);

/* bk steps between two promotions of accumulator 0: the chunk of a warpgroup kernel; 1 where nothing is
 * promoted or each MMA is. */
int model_promote_tiles(const struct target *on, const struct tile *t);

/* Registers a warp is given (all lanes together) when each thread needs `regs`: whole allocation units. */
int64_t model_warp_registers(const struct isa *isa, int64_t regs);

/* Resident blocks per SM by registers, shared memory, warps and block slots; 0: not even one. `limit` (may be
 * NULL) names the resource that runs out first. */
int model_occupancy(const struct gpu *g, const struct isa *isa, int warps, int64_t regs_per_thread,
                    int64_t smem_bytes, const char **limit);
struct ht_machine model_machine(const struct gpu *g);
/* ht_cost_ns of a tile, k not split. */
int64_t model_ns(const struct target *on, const struct shape *shape, const struct cost *cost);
/* The same with the best split-K whose partials take no more bytes than that. */
int64_t model_best_ns(const struct target *on, const struct shape *shape, const struct cost *cost,
                      int64_t partial_bytes, int *splits);

/* Waves of the shape in thousandths, rounded up: blocks over sms * blocks_per_sm. */
int64_t model_waves_milli(const struct gpu *g, const struct tile *t, const struct shape *shape,
                          int blocks_per_sm);

/* Marks the tile as rejected. Explain groups reasons by kind. */
void model_reject(struct cost *cost, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Clocks x256 that one bk step of one block keeps each pipe of its SM busy (halftone). */
struct model_step {
    int64_t tensor, smem, issue, fp32; /* pipes, shared by the resident blocks; smem: fragment loads */
    int64_t chain;                     /* MMAs of one warp, dependent or at its own pace */
    int64_t fill;    /* the stage's way into the SM; holds back the MMAs behind the copies */
    int64_t exposed; /* barriers, and stores between them: nothing overlaps within the block */
    int64_t copy;    /* what the last copies still need when they are waited for */
    int instructions; /* of its unrolled body */
};
/* Registers of a thread that hold one slice's fragments of A and B for one fragment step. */
int model_fragment_registers(const struct target *on, const struct tile *t);
/* Instructions of one warp in a bk step: MMAs, fragment loads, and copies of a thread (two each where they
 * pass through registers). */
struct model_counts {
    int mma, load, copy;
};
/* Bytes of A and B that the blocks of one wave need in all; what packed panels take of device memory. */
int64_t model_wave_bytes(const struct target *on, const struct tile *t, int64_t rows, int64_t blocks,
                         int64_t k);
int64_t model_mma_dram_ns(const struct target *on, const struct tile *t, const struct shape *shape,
                               int blocks_per_sm);

/* Where constants of the cost model come from that were fitted to measurements. What was counted in code or
 * read in a manual stands next to its formula. */
struct fit_source {
    const char *tables;  /* of bench/results */
    const char *card;    /* and its clock where the kernels ran */
    const char *command; /* that holds today's constants against them */
    const char *error;   /* of predictions there, root mean square where it does not say otherwise */
};

#define FIT_AGAIN "out/h200/halftone-sim tune --again bench/results/"

struct fit_reduce {
    struct fit_source source;
    int partial_latency_share; /* one part in so many of L2's latency for each split-K partial */
};

extern const struct fit_reduce fit_reduce, fit_reduce_behind_wgmma; /* the latter of packed kernels */

#endif
