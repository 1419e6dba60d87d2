/* mma_warp: packed panels by mma.sync or MFMA; a step is taken apart into pipes. Its step as text:
 * mma_warp_step.c.
 *
 * The space. bm, bn: whole panel atoms of 64 rows, powers of two as in both papers. bk: one or two atoms, at
 * most 64 unless one atom is wider (INT8: 128). An even number of fragment steps, because fragments are
 * double-buffered. wm, wn: whole fragments, as one load brings them. A block has 1 to 16 warps, and its
 * threads copy a stage in whole 16-byte parts. Without an asynchronous copy a stage passes through registers,
 * so that more than two buffers have no use; with it at least two are needed for anything to be in flight.
 *
 * A kernel runs its blocks in waves; in a wave each SM advances its resident blocks one bk step at a time.
 *   busy      slowest of tensor pipe, fragment loads, instruction issue; + stage fill + FP32 adds: a warp
 *             issues in order, so copies and adds hold back the MMAs behind them
 *   latency   busy of a block that is alone + barrier + what copies still need when they are waited for
 * The one shape-cost formula (runtime/ht_cost.h) takes them; there L2 bounds each wave, here device memory
 * the whole product. Clocks are fixed point, x256. */
#include <limits.h>

#include "family/rows.h"

enum {
    WARPS_MAX = 16, K_MAX = 64,
    COPY_BYTES = 16,                /* per thread and copy instruction */
    LOAD_BYTES = 16,                /* per thread and ldmatrix.x4 (ds_read_b128) */
    LOOP_INSTRUCTIONS = 40, /* counters, ring offsets, address sums, barrier of a step: our estimate */
    CHAINS_OUTSIDE = 2,     /* MMAs in flight of a chain that is added outside the tensor core */
    WARP_OTHER_REGISTERS = 24,      /* beside sums, fragments and copies */
    COPY_REGISTERS = 2,             /* of each copy of a step: addresses */
    SECOND_SUM_REGISTERS = 16,      /* a second set of sums costs this beside itself */
    EACH_MMA_REGISTERS = 24,        /* results on their way to FP32 adds, for each fragment step but one */
    EACH_MMA_STAGED_REGISTERS = 16, /* more of them where copies pass through registers */
    TILE_SCALE_REGISTERS = 20, /* addresses of scales of tiles, two of them multiplied, the data check */
    INSTRUCTION_BYTES = 16,         /* SASS since sm_70 */
    INSTRUCTION_BYTES_AMD = 8,      /* MFMA and DS instructions */
    RESULTS_AMD = 128 /* hipcc 5.2: warps of 128 x 128 spilled 56 scalar registers, of 128 x 64 none */
};

const struct fit_source fit_mma_warp = {"h200-a800set-tiles-fit.tsv h200-a800set-schemes-fit.tsv",
    "NVIDIA H200, clock not read",
    "bench/model_check.py bench/results/h200-a800set-tiles-fit.tsv out/mma.gpu",
    "rank correlation 0.09, 0.96, 0.93 at 1024, 4096, 8192; picks lose nothing"};
enum {
    BARRIER_CYCLES = 160, /* of a step whose scheduler has one warp: to the last warp, the next fragments */
    LOADED_LATENCY = 2, /* idle latencies grow under load by this factor */
    PORT_BYTES = 64, /* that an SM takes from L2 in a cycle; that this adds to the MMAs' time is fitted */
    MISS_SHARE = 2, /* one cycle of so many that device memory spends on a wave's panels is felt */
    INTERFERENCE_SHARE = 16, /* one of so many that the less busy of tensor pipe and shared memory works */
    WARP_MMA_CYCLES = 8, /* a warp issues an MMA this often at most */
    BLOCK_START_CYCLES = 2900, /* besides device memory's latency */
    STORE_SLOWDOWN = 2 /* direct stores: 1 / this of copy speed */
};

/* Whether the warp tile is made of whole fragments and divides the block into 1 to 16 warps. */
static bool warps_divide(const struct tile *t, const struct mma_shape *mma) {
    return t->bm % t->wm + t->bn % t->wn + t->wm % mma->m + t->wn % (mma->n * mma->b_tiles) == 0 &&
           tile_warps(t) <= WARPS_MAX;
}

static bool takes_mma_warp(const struct target *on, const struct tile *t) {
    /* Integer sums have up to four accumulators, which leave room for few columns, of registers or of the
     * instruction cache; 128 columns of 8-wide fragments leave no registers at all. */
    const int wn_min = on->s->slice == SLICE_S8 ? 16 : 32, wn_max = on->mma->n >= 16 ? 128 : 64;
    const int stages_min = on->isa->async_copy ? 2 : 1, stages_max = on->isa->async_copy ? 5 : 2;
    return (t->bk <= K_MAX || t->bk == scheme_atom_k(on->s)) && t->bk % (2 * target_fragment_k(on)) == 0 &&
           t->wn >= wn_min && t->wn <= wn_max && t->stages >= stages_min && t->stages <= stages_max &&
           warps_divide(t, on->mma) &&
           tile_stage_bytes(t, on->s) % (tile_threads(t, on) * COPY_BYTES) == 0;
}

/* ---- instructions of a step */

static struct model_counts model_mma_counts(const struct target *on, const struct tile *t) {
    struct model_counts i;
    i.mma = on->s->products * (t->wm / on->mma->m) * (t->wn / on->mma->n) * (t->bk / target_mma_k(on));
    i.load = (int)ht_ceil_div(on->s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(on->s),
                              on->isa->wave_size * LOAD_BYTES);
    i.copy = (int)ht_ceil_div(tile_stage_bytes(t, on->s), tile_threads(t, on) * COPY_BYTES);
    if (!on->isa->async_copy)
        i.copy *= 2; /* load to registers, store to shared memory */
    return i;
}

static int products_into(const struct scheme *s, int accumulator) {
    int count = 0;
    for (int p = 0; p < s->products; p++)
        count += s->product[p].acc == accumulator;
    return count;
}

/* FP32 adds for each element of C per bk step, x256: after each MMA, or one per promotion interval. Worked
 * example: f16x3, bk 32, interval 32: one add, 256. */
static int64_t adds_per_element_x256(const struct target *on, const struct tile *t) {
    int64_t adds = 0;
    if (on->s->scale == SCALE_TILE) /* each level becomes FP32 and is added, each 32 k (accum/tile_levels) */
        return (int64_t)2 * scheme_levels(on->s) * t->bk * 256 / SCALE_TILE_K;
    for (int a = 0; a < on->s->accumulators; a++) {
        int k = model_promote_k(on, a);
        if (k > 0)
            adds += (on->s->promote[a] == PROMOTE_EACH_MMA ? products_into(on->s, a) : 1) * (int64_t)t->bk *
                    256 / k;
    }
    return adds;
}

/* Instructions of the unrolled body of one step; promotion is in the text once even when it runs every other
 * step. Example: f16x3, sm_80, 128x128x32, 64x32: 96 MMAs + 24 ldmatrix + 8 copies + 64 adds + 40 = 232.
 */
static int instructions(const struct target *on, const struct tile *t) {
    const struct model_counts i = model_mma_counts(on, t);
    int64_t adds = adds_per_element_x256(on, t);
    if (adds > 0 && adds < 256)
        adds = 256;
    return i.mma + i.load + i.copy + (int)(adds * t->wm * t->wn / on->isa->wave_size / 256) +
           LOOP_INSTRUCTIONS;
}

/* ---- registers and shared memory. A thread's registers are those of its sums, of fragments and copies, and
 * others; what "others" come to was fitted to ptxas 13.0 (hipcc 5.2), whose own number stands in brackets
 * after a worked example, here and in other families. */

/* With scales of tiles: levels of one MMA tile, beside them those of the next where that is small, and the
 * scales of 32 k. The levels alone are what MMAs add into. */
static int level_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const int results = on->mma->m * on->mma->n / on->isa->wave_size;
    const int b_scales = on->mma->d_cols > 4 ? on->mma->d_cols / 4 : 1; /* accum/tile_levels, B_SCALES */
    cost->regs_chains = scheme_levels(on->s) * results * (results > 4 ? 1 : 2);
    return cost->regs_chains + t->wm / on->mma->m + t->wn / on->mma->n * b_scales + TILE_SCALE_REGISTERS;
}

/* Sums (accumulators, FP32 masters of those promoted at an interval) of wm * wn / wave_size; a fragment set
 * for each slice and one more, as the next k step's arrive when this one's leave; copies, with their data
 * where a stage passes through registers. With asynchronous copies ptxas gives the extra set back when it
 * must. Worked examples: f16x3 on sm_80, 128x128x32, warps 64x32: 64 + 64 + 16, 3 * 24, 24 + 8 * 2: 256,
 * squeezed to 255 (238). egemm there: 64 + 72 + 40 = 176 (172); on sm_75: 64, 72 + 8 * 4 staged, 40: 208
 * (208). Held against ptxas 13.0: the 134 kernels of the a800, t4, h100, rtx3090 and l40s sets use at most 8
 * more and 30 less; beyond them two two-stage tiles of 32x32 warps used 10 and 14 more. All that spilled are
 * refused. */
static void warp_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const struct scheme *s = on->s;
    const int sum = t->wm * t->wn / on->isa->wave_size, set = model_fragment_registers(on, t);
    const int copies = (int)ht_ceil_div(tile_stage_bytes(t, s), cost->threads * COPY_BYTES);
    int sums = s->accumulators, outside = 0, chains = s->accumulators;
    for (int a = 0; a < s->accumulators; a++) {
        chains -= s->promote[a] == PROMOTE_EACH_MMA;
        if (s->promote[a] == PROMOTE_EACH_MMA)
            outside = EACH_MMA_REGISTERS * (t->bk / target_fragment_k(on) - 1) +
                      (on->isa->async_copy ? 0 : EACH_MMA_STAGED_REGISTERS) +
                      (s->accumulators > 1 ? on->isa->outside_registers : 0);
        else
            sums += model_promote_k(on, a) > 0;
    }
    cost->regs_chains = chains * sum;
    if (s->scale == SCALE_TILE)
        outside = level_registers(on, t, cost);
    if (sums > 1 && outside == 0 && on->isa->async_copy)
        outside = SECOND_SUM_REGISTERS;
    cost->regs_accumulators = sums * sum + outside;
    cost->regs_fragments = (s->slices + 1) * set + (on->isa->async_copy ? 0 : copies * COPY_BYTES / 4);
    cost->regs_other = WARP_OTHER_REGISTERS + COPY_REGISTERS * copies;
    const int over = cost->regs_accumulators + cost->regs_fragments + cost->regs_other -
                     (int)on->g->registers_per_thread_max;
    if (over > 0 && over <= set && on->isa->async_copy) {
        cost->regs_spilled_fragments = over;
        cost->regs_fragments -= over;
    }
}

void footprint_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool amd = on->isa->wave_size == 64;
    const int results = t->wm * t->wn / on->isa->wave_size;
    const int code_bytes =
        instructions(on, t) * (amd ? INSTRUCTION_BYTES_AMD : INSTRUCTION_BYTES);
    warp_registers(on, t, cost);
    cost->smem_bytes = t->stages * tile_stage_bytes(t, on->s);
    const int regs = cost->regs_accumulators + cost->regs_fragments + cost->regs_other,
              most = (int)on->g->registers_per_thread_max;
    const int chains = on->s->recipe->fixed_point ? 0 : cost->regs_chains; /* carries: on vectors */
    if (amd && results > RESULTS_AMD)
        model_reject(cost, "scalar registers: hipcc spills them where a thread stores %d > %d results",
                     results, RESULTS_AMD);
    else if (regs <= most && regs - chains > most - on->isa->accumulation_registers)
        model_reject(cost, "vector registers: %d without the chains' %d > %d per thread", regs - chains,
                     chains, most - on->isa->accumulation_registers);
    else if (code_bytes > on->g->instruction_cache_bytes)
        model_reject(cost, "instructions: loop body of %d > " I64 " bytes of instruction cache", code_bytes,
                     on->g->instruction_cache_bytes);
}

/* ---- clocks of a step */

static int32_t clamp32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* MMAs of one warp in a step. Inside a chain each waits for the one before it; a warp's other tiles fill that
 * time, so the chain is the products of one element. A chain that is added outside the matrix unit keeps only
 * CHAINS_OUTSIDE results in flight, over all tiles of the warp. And a warp has its own pace. Worked example:
 * f16x3, sm_80, 64x32 warps, bk 32, latency 33: 3 * 2 * 33 = 198 clocks of chain, 96 MMAs * 8 = 768. */
static int64_t chain_clocks(const struct target *on, const struct tile *t) {
    int64_t clocks = (int64_t)model_mma_counts(on, t).mma * WARP_MMA_CYCLES;
    for (int a = 0; a < on->s->accumulators; a++) {
        int64_t mmas = (int64_t)products_into(on->s, a) * (t->bk / target_mma_k(on));
        if (on->s->promote[a] == PROMOTE_EACH_MMA)
            mmas = mmas * (t->wm / on->mma->m) * (t->wn / on->mma->n) / CHAINS_OUTSIDE;
        clocks = model_largest(clocks, mmas * on->g->mma_latency_cycles / on->mma->latency_divisor);
    }
    return clocks;
}

/* Worked examples (unit test: 108 SMs at 1410 MHz, f16x3, 128x128x32, 8 warps of 64x32, 3 stages, 1024 FMA
 * and 128 smem bytes a clock, 4 schedulers, 64 FP32 FMA, latencies 29 / 262 / 500 clocks, 2039 GB/s):
 * tensor 3 * 524288 / 1024 = 1536; smem 8 * 2 * 96 * 32 * 2 / 128 = 768; issue 8 * (96 + 24 + 8 + 64 + 40)
 * / 4 = 464; fp32 16384 / 64 = 256; chain 768; fill 32768 / 64 = 512, and a wave's (8 + 14) * 128 * 32 * 4
 * = 360448 bytes from device memory take 249 clocks, half of them felt: 636; exposed 40 (two warps per
 * scheduler; 160 with one); copy ((262 + 500) / 2 + 29) * 2 = 820 less two steps of 1536: 0. */
static struct model_step step_of(const struct target *on, const struct tile *t, int blocks_per_sm) {
    const struct model_counts i = model_mma_counts(on, t);
    const int64_t warps = tile_warps(t), stage_bytes = tile_stage_bytes(t, on->s);
    const int64_t area = (int64_t)t->bm * t->bn, adds = adds_per_element_x256(on, t);
    /* Each scheduler has its own matrix unit: with fewer warps than schedulers the others stand still. */
    const int64_t resident = warps * blocks_per_sm, slots = on->g->sms * blocks_per_sm;
    const int64_t active = resident < on->g->schedulers_per_sm ? resident : on->g->schedulers_per_sm;
    const int64_t fragment_bytes =
        warps * on->s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(on->s);
    const int64_t wave = model_wave_bytes(on, t, model_raster_rows(on->g, t), slots, t->bk),
                  missed = wave / blocks_per_sm / MISS_SHARE;
    struct model_step step = {.instructions = instructions(on, t)};
    step.tensor = on->s->products * area * t->bk * 256 / model_fma_per_cycle(on->g, on->s) * 100 /
                  on->isa->mma_sync_rate_percent * on->g->schedulers_per_sm / active;
    step.smem = fragment_bytes * 256 / on->g->smem_bytes_per_cycle;
    step.issue = warps *
                 ((i.mma + i.load + i.copy + LOOP_INSTRUCTIONS) * (int64_t)256 +
                  adds * t->wm * t->wn / on->isa->wave_size) /
                 active;
    step.fp32 = area * adds / on->g->fp32_fma_per_cycle;
    step.chain = chain_clocks(on, t) * 256;
    step.fill = stage_bytes * 256 / PORT_BYTES +
                missed * 256 * model_clock_mhz(on->g) / (on->g->dram_gbps * 1000);
    /* A scheduler with two warps of the block has MMAs to issue while one waits at the barrier and for its
     * next fragments; with one it has none. */
    step.exposed = (warps >= 2 * on->g->schedulers_per_sm ? BARRIER_CYCLES / 4 : BARRIER_CYCLES) * 256;
    if (!on->isa->async_copy) /* a second barrier, and the stores between the two */
        step.exposed += BARRIER_CYCLES * 256 + stage_bytes * 256 / on->g->smem_bytes_per_cycle;
    /* Half of the copies find their line in L2. A stage is issued in the first half of a step
     * (mma_warp_step.c) and waited for whole steps after the step's end, or issued near the end of the step
     * before that. */
    const bool refills = model_refills_after_barrier(on, t);
    const int steps_ahead = on->isa->async_copy && t->stages > 1 ? t->stages - 2 + refills : 0;
    const int64_t arrival =
        (on->g->l2_latency_cycles + on->g->dram_latency_cycles) / 2 + on->g->smem_latency_cycles;
    step.copy = model_largest(arrival * LOADED_LATENCY * 256 - steps_ahead * step.tensor -
                                  (refills ? 0 : step.tensor / 2),
                              0);
    return step;
}

/* Clocks x256 that a step keeps the SM busy. Worked example (the step above): 1536 + 636 + 256 + 768 / 16 =
 * 2476. */
static int64_t busy(const struct model_step *s) {
    const int64_t pipes = model_largest(s->tensor, s->smem);
    return model_largest(pipes, s->issue) + s->fill + s->fp32 +
           (s->tensor + s->smem - pipes) / INTERFERENCE_SHARE;
}

/* Prologue (start, first copies) and epilogue (C stored by all resident blocks at once, this SM's share of
 * device memory). Example: A800, 128x128, 1 block, 500 clocks latency, 2039 GB/s, 1410 MHz: 2900 + 500 +
 * 65536 * 2 * 108 * 1410 / 2039000 = 9788 -> 13188. */
static int64_t fixed_clocks(const struct gpu *g, const struct tile *t, int blocks_per_sm) {
    int64_t bytes = (int64_t)t->bm * t->bn * 4 * STORE_SLOWDOWN * blocks_per_sm;
    return BLOCK_START_CYCLES + g->dram_latency_cycles +
           bytes * g->sms * model_clock_mhz(g) / (g->dram_gbps * 1000);
}

/* Fragments without registers of their own are loaded when the MMAs before them are done: that share of
 * the loads does not overlap. Worked example: egemm, A800, 256x128x32, warps 64x64: 272 registers, 17 of a
 * set of 32 too many; loads 1024 clocks: 544. On the H200 that tile had 0.87 of the rate of 128x128x32
 * with warps 64x32; no table has it. */
static int64_t unhidden(const struct model_step *step, int given_back, int set) {
    const int64_t loads = step->smem < step->tensor ? step->smem : step->tensor;
    return loads * given_back / set;
}

void time_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const int set = model_fragment_registers(on, t), back = cost->regs_spilled_fragments;
    const struct model_step shared = step_of(on, t, cost->blocks_per_sm);
    struct model_step alone = step_of(on, t, 1);
    alone.tensor = model_largest(alone.tensor, alone.chain);
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = clamp32(busy(&shared) + unhidden(&shared, back, set)),
        .step_latency_x256 = clamp32(busy(&alone) + unhidden(&alone, back, set) + alone.exposed + alone.copy),
        .tile_overhead_cycles = clamp32(fixed_clocks(on->g, t, cost->blocks_per_sm)),
    };
}

/* L2 if it is what a wave waits for, else the largest part of the SM's step, in a wave as full as the shape
 * makes it. "fill" is the stage's way into the SM; "latency" is what one block cannot hide: a chain of MMAs,
 * the barrier, or copies that arrive late. */
const char *binding_mma_warp(const struct target *on, const struct tile *t, const struct shape *shape,
                             const struct cost *cost) {
    const struct model_step step = step_of(on, t, cost->blocks_per_sm);
    const int64_t blocks = ht_mul(ht_ceil_div(shape->m, t->bm), ht_ceil_div(shape->n, t->bn));
    const int64_t slots = on->g->sms * cost->blocks_per_sm, wave = blocks < slots ? blocks : slots;
    const int64_t per_sm = ht_ceil_div(wave, on->g->sms);
    const int64_t l2 =
        wave * tile_stage_bytes(t, on->s) * 256 / on->g->l2_gbps * model_clock_mhz(on->g) / 1000;
    static const char *const names[] = {"tensor", "smem", "issue", "fp32", "fill", "latency"};
    const int64_t clocks[] = {per_sm * step.tensor, per_sm * step.smem,
                              per_sm * step.issue,  per_sm * step.fp32,
                              per_sm * step.fill,   model_largest(step.chain, step.exposed + step.copy)};
    int most = 0;
    for (int i = 1; i < (int)(sizeof clocks / sizeof *clocks); i++)
        most = clocks[i] > clocks[most] ? i : most;
    return l2 > per_sm * busy(&step) ? "l2" : names[most];
}

const struct family family_mma_warp = {
    FUNCTIONS(mma_warp), .takes = takes_mma_warp, .binding = binding_mma_warp,
    .grid = {{64, 128, 256}, {64, 128, 256}, {1, 2}, {32, 64, 128}, {16, 32, 64, 128}, {1, 2, 3, 4, 5}, {1}},
    .step = step_of, .counts = model_mma_counts,
    .params = PARAMS_OF_TILE "PROMOTE_STEPS " PARAMS_OF_WARPS "RASTER REFILL_AFTER_BARRIER",
    .constants = "*MASTERS", .holes = holes_mma_warp, .banner = banner_mma_warp,
    .file = "mma_warp", .label = "_mma", .searched = true, .needs = ISA_FRAGMENTS, .has_init = true,
    .scales_tiles = true, .serves_papers = true, .cost_form = HT_TILED_WAVES, OF_WARPS, FOLDS_RING,
    .hooks = {PANELS, "=chain", FP32_SUMS, "=scheme"}
};
