/* model_direct: MODEL_HALFTONE for kernels that read the operands as they are (templates/tile_direct.cu). Level 2.
 *
 * A warp loads its fragments as FP32, cuts them into slices and multiplies those, so that instruction issue, not the matrix
 * unit, is what a large product waits for; a small one waits for its data. A block loads one step ahead and no more: a step
 * cannot be shorter than the way of its data.
 *
 * Constants were counted in the code of nvcc 13.0 for sm_90a (64x64, warps of 32x32) or are guesses where they say so: no
 * GPU has run these kernels yet. */
#include "model.h"

#include <limits.h>
#include <stdio.h>

enum {
    CUT_INSTRUCTIONS_X2 = 18, /* of a number that becomes part of a fragment, twice: 1 load, 2 ands, 2 subtractions, half of
                               * three packings; the rest addresses: 1050 in a step of 64 numbers a lane less 144 MMAs, 136 of
                               * parts, 72 of the loop and promotion = 11 a number; 2 of those are loads for odd matrices */
    PART_INSTRUCTIONS = 17,   /* of 16 bytes on their way: load, store, addresses, 3 for each number that is looked at */
    LOOP_INSTRUCTIONS = 40,   /* as model_halftone: counters, offsets, barrier */
    MMA_SYNC_PERCENT = 75, /* of the unit's rate: 78 measured on the H200 (bench/NOTES.md, schedule); elsewhere a guess */
    OTHER_REGISTERS = 40,  /* beside sums, fragments and parts; the numbers of a fragment before they are cut come on top */
    STEP_CLOCKS = 200,     /* barrier, first loads and cuts of a step, before the first MMA: a guess */
    BLOCK_START_CLOCKS = 2900, /* as model_halftone */
    PORT_BYTES = 64            /* as model_halftone: an SM takes this many bytes per clock from L2 */
};

static int64_t largest(int64_t x, int64_t y) {
    return x > y ? x : y;
}

static bool has_mma(const struct isa *isa) {
    return isa->direct_mma != NULL;
}

/* 16-byte parts of a stage that a thread moves. */
static int parts_of(const struct isa *isa, const struct tile *t) {
    const int threads = tile_threads(t, isa);
    return (int)(ht_ceil_div(t->bm * t->bk / 4, threads) + ht_ceil_div(t->bn * t->bk / 4, threads));
}

/* Worked line, ptxas' own number in brackets: 64x64, warps 32x32: 2 * 32 sums, 2 * 48 for fragments, 8 parts of 4, 40 = 232
 * (247 where 255 are allowed); 64x32, warps 32x16: 32 + 72 + 24 + 40 = 168 (168); 128x8, warps 32x8: 16 + 60 + 36 + 40 =
 * 152 (160). */
static void registers(const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    const int slices = has_mma(isa) ? s->slices : 1;
    cost->regs_accumulators = 2 * t->wm * t->wn / isa->wave_size;
    cost->regs_chains = 0;
    cost->regs_fragments = 2 * slices * (t->wm + t->wn) / 4 + 4 * parts_of(isa, t);
    cost->regs_other = OTHER_REGISTERS;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

/* Bytes of an operand's rows in a stage: lines of k or lines of rows, whichever takes more (templates/stage_direct.cuh). */
static int stage_bytes(const struct tile *t, int rows) {
    const int by_k = rows * (t->bk + 4), by_rows = t->bk * ((rows + 31) / 32 * 32 + 8);
    return 4 * (by_k > by_rows ? by_k : by_rows);
}

/* Clocks x256 of one step of a block beside blocks_per_sm - 1 others. Worked line: 64x64x32, 4 warps of 32x32, sm_90a, 2
 * blocks: a warp has 64 numbers a lane to cut and 144 MMAs: 576 + 144 + 8 * 17 + 40 + 16 = 912 instructions, four warps on
 * four schedulers; unit 9 * 64 * 64 * 32 / 2048 * 4 / 3 = 768; from L2 16384 / 64 = 256 clocks. */
static int64_t step_busy(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                         int blocks_per_sm) {
    const int64_t warps = tile_warps(t), resident = warps * blocks_per_sm, lanes = isa->wave_size;
    const int64_t active = resident < g->schedulers_per_sm ? resident : g->schedulers_per_sm;
    const int64_t area = (int64_t)t->wm * t->wn, numbers = (int64_t)(t->wm + t->wn) * t->bk / lanes;
    const int64_t mmas = (int64_t)s->products * (t->wm / isa->mi) * (t->wn / isa->ni) * (t->bk / isa->fragment_k);
    const int64_t own = parts_of(isa, t) * PART_INSTRUCTIONS + LOOP_INSTRUCTIONS + area / lanes / 2;
    const int64_t fma_loads = (t->wm * 4 + t->wn * lanes / 4) * t->bk / lanes; /* rows are shared by 4 lanes, columns by the others */
    const int64_t issue =
        has_mma(isa) ? numbers * CUT_INSTRUCTIONS_X2 / 2 + mmas + own : area * t->bk / lanes + 2 * fma_loads + own;
    const int64_t unit = (int64_t)s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(g, s) * g->schedulers_per_sm /
                         active * 100 / (has_mma(isa) ? MMA_SYNC_PERCENT : 100);
    const int64_t loads = has_mma(isa) ? numbers : fma_loads;
    const int64_t smem = warps * loads * lanes * 4 * 256 / g->smem_bytes_per_cycle;
    const int64_t port = (int64_t)(t->bm + t->bn) * t->bk * 4 * 256 / PORT_BYTES;
    return largest(largest(warps * issue * 256 / active, unit), largest(smem, port));
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                         struct cost *cost) {
    const int64_t arrival = (g->l2_latency_cycles + g->dram_latency_cycles) * 256; /* loaded: twice their mean */
    const int64_t alone = step_busy(g, isa, s, t, 1) + STEP_CLOCKS * 256;
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_busy_x256 = (int32_t)step_busy(g, isa, s, t, cost->blocks_per_sm);
    c->step_latency_x256 = (int32_t)largest(alone, arrival + STEP_CLOCKS * 256);
    c->fixed_cycles = BLOCK_START_CLOCKS + (int)g->dram_latency_cycles +
                      (int)((int64_t)t->bm * t->bn * 8 * cost->blocks_per_sm * g->sms * model_clock_mhz(g) /
                            (g->dram_gbps * 1000)); /* C, at half the speed of memory */
    c->step_bytes = (t->bm + t->bn) * t->bk * 4;
    c->step_k = t->bk;
    c->element_bytes = 4;
}

static void check(const struct gpu *g, const struct isa *isa, const struct tile *t, struct cost *cost) {
    const char *limit = "";
    cost->smem_bytes = t->stages * (stage_bytes(t, t->bm) + stage_bytes(t, t->bn));
    if (cost->threads > g->threads_per_block_max)
        model_reject(cost, "threads: %d > %lld per block", cost->threads, (long long)g->threads_per_block_max);
    else if (cost->regs_per_thread > g->registers_per_thread_max)
        model_reject(cost, "registers: sums %d + fragments and copies %d + other %d = %d > %lld per thread",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, cost->regs_per_thread,
                     (long long)g->registers_per_thread_max);
    else if (cost->smem_bytes > g->smem_per_block_bytes)
        model_reject(cost, "shared memory: two stages = %d > %lld bytes per block", cost->smem_bytes,
                     (long long)g->smem_per_block_bytes);
    if (!cost->fits)
        return;
    cost->blocks_per_sm = model_occupancy(g, isa, tile_warps(t), cost->regs_per_thread, cost->smem_bytes, &limit);
    if (cost->blocks_per_sm < 1)
        model_reject(cost, "occupancy: not one block of %d warps x %d registers fits an SM, %s run out", tile_warps(t),
                     cost->regs_per_thread, limit);
}

void model_direct(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                  const struct shape *shape, struct cost *cost) {
    registers(isa, s, t, cost);
    check(g, isa, t, cost);
    if (!cost->fits)
        return;
    coefficients(g, isa, s, t, cost);
    const struct ht_cost_coefficients *c = &cost->coefficients;
    cost->predicted_ns = ht_cost_ns(c, t->bm, t->bn, g->sms, model_clock_mhz(g), g->l2_gbps, g->dram_gbps, g->launch_ns,
                                    shape->m, shape->n, shape->k, 1, 1);
    cost->score = -cost->predicted_ns;
    const int64_t bytes = ht_mul(ht_mul(ht_add(shape->m, shape->n), shape->k), 4);
    snprintf(cost->binding, sizeof cost->binding, "%s",
             2 * (bytes / g->dram_gbps) > cost->predicted_ns ? "dram"
             : has_mma(isa)                                  ? "issue"
                                                             : "fp32");
}
