/* model_halftone: our own tile model, of the kernels that skeleton tile_mma makes. This room must not know
 * the papers' models.
 *
 * A kernel runs its blocks in waves; in a wave each SM advances its resident blocks one bk step at a time.
 *   busy      slowest of tensor pipe, fragment loads, instruction issue; + stage fill + FP32 adds: a warp
 *             issues in order, so copies and adds hold back the MMAs behind them
 *   latency   busy of a block that is alone + barrier + what copies still need when they are waited for
 *   n blocks of an SM: n * busy + (latency - busy) / n^2, they fill each other's gaps.
 * busy and latency are the coefficients of ht_cost_ns (runtime/ht_cost.h), the one shape-cost formula; there
 * L2 bounds each wave, here device memory the whole product. Clocks are fixed point, x256.
 *
 * "Fitted": on bench/results/h200-a800set-tiles-fit.tsv (15 tiles, three sizes) and -schemes-fit.tsv, the
 * form of the formula (the square, what adds and what overlaps) chosen on the same data among dozens of
 * variants. Refitted without a size: rank correlation 0.96, 0.89, 0.89 there (1024, 4096, 8192), the pick
 * still the best tile; without a tile: its time is 2.8 % off in the mean, 8.6 % at worst. The clock was not
 * read, and constants move with it. That run issued copies up to the wait. Other GPUs: a guess. */
#include "model/model.h"
#include "../../runtime/ht_cost.h"

#include <limits.h>
#include <stdio.h>

enum {
    /* Fitted to ptxas, see registers(). */
    OTHER_REGISTERS = 24,           /* beside sums, fragments and copies */
    COPY_REGISTERS = 2,             /* of each copy of a step: addresses */
    SECOND_SUM_REGISTERS = 16,      /* a second set of sums costs this beside itself */
    EACH_MMA_REGISTERS = 24,        /* results on their way to FP32 adds, for each fragment step but one */
    EACH_MMA_STAGED_REGISTERS = 16, /* more of them where copies pass through registers */
    COPY_BYTES = 16,                /* per thread and copy instruction */
    LOAD_BYTES = 16,                /* per thread and ldmatrix.x4 (ds_read_b128) */
    /* Counters, ring offsets, address sums, barrier of a step: our estimate. */
    LOOP_INSTRUCTIONS = 40,
    INSTRUCTION_BYTES = 16,    /* SASS since sm_70 */
    INSTRUCTION_BYTES_AMD = 8, /* MFMA and DS instructions */
    RESULTS_AMD = 128, /* hipcc 5.2: warps of 128 x 128 spilled 56 scalar registers, of 128 x 64 none */
    /* A step's barrier where a scheduler has one warp: nothing to issue until the last warp has come and the next
     * fragments are there. Fitted on results/h200-a800set-tiles-fit.tsv (110 to 180 as data are held out); that two
     * warps hide most of it was read off h200-native-tiles-held-out.tsv and the schedule trials. */
    BARRIER_CLOCKS = 160,
    LOADED_LATENCY = 2, /* idle latencies grow under load: fitted, 2 to 3 on h200-native-tiles-held-out.tsv */
    /* An SM takes 64 bytes per clock from L2 (Jia et al. 2018, 2019; quoted from memory). That this time adds to
     * the MMAs' is fitted; left free: 62 to 71 bytes as data are held out, 89 if the clock was 1755. */
    PORT_BYTES = 64,
    MISS_SHARE = 2, /* one clock of this many that device memory spends on a wave's panels is felt: fitted */
    /* Of the clocks that the less busy of tensor pipe and shared memory works, one in this many is lost:
       fitted. */
    INTERFERENCE = 16,
    WARP_MMA_CLOCKS =
        8, /* one warp issues an MMA this often at most: fitted, tiles with a warp per scheduler */
    CHAINS_OUTSIDE = 2,        /* MMAs in flight of a chain that is added outside the matrix unit */
    BLOCK_START_CLOCKS = 2900, /* + memory latency: 3.6k in bench/decisions/016; fit 3.3 to 4.1k with n = 1024 */
    STORE_SLOWDOWN = 2 /* direct stores: half the copy speed (bench/decisions/016: 13-16k clocks for 128x256) */
};

static int32_t clamp32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* ---- registers and instructions ---- */

struct model_counts model_halftone_counts(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    struct model_counts i;
    i.mma = s->products * (t->wm / isa->mi) * (t->wn / isa->ni) * (t->bk / isa_mma_k(isa, s->slice));
    i.load = (int)ht_ceil_div(s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(s),
                              isa->wave_size * LOAD_BYTES);
    i.copy = (int)ht_ceil_div(tile_stage_bytes(t, s), tile_threads(t, isa) * COPY_BYTES);
    if (!isa->async_copy)
        i.copy *= 2; /* load to registers, store to shared memory */
    return i;
}

int model_fragment_registers(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    return (int)ht_ceil_div((t->wm + t->wn) * isa_fragment_k(isa, s->slice) * scheme_slice_bytes(s),
                            isa->wave_size * 4);
}

/* Registers of a thread: sums (accumulators, FP32 masters of those promoted at an interval) of wm * wn /
 * wave_size; a fragment set for each slice and one more, as the next k step's arrive when this one's leave;
 * copies, with their data where a stage passes through registers. With asynchronous copies ptxas gives the
 * extra set back when it must. Worked lines, ptxas' own number in brackets: f16x3 on sm_80, 128x128x32, warps
 * 64x32: 64 + 64 + 16, 3 * 24, 24 + 8 * 2: 256, squeezed to 255 (238). egemm there: 64 + 72 + 40 = 176 (172);
 * on sm_75: 64, 72 + 8 * 4 staged, 40: 208 (208). Held against ptxas 13.0: the 134 kernels of the a800, t4,
 * h100, rtx3090 and l40s sets use at most 8 more and 30 less; beyond them two two-stage tiles of 32x32 warps
 * used 10 and 14 more. All that spilled are refused. */
static void registers(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                      const struct tile *t, struct cost *cost) {
    const int sum = t->wm * t->wn / isa->wave_size, set = model_fragment_registers(isa, s, t);
    const int copies = (int)ht_ceil_div(tile_stage_bytes(t, s), cost->threads * COPY_BYTES);
    int sums = s->accumulators, outside = 0, chains = s->accumulators;
    for (int a = 0; a < s->accumulators; a++) {
        chains -= s->promote[a] == PROMOTE_EACH_MMA;
        if (s->promote[a] == PROMOTE_EACH_MMA)
            outside = EACH_MMA_REGISTERS * (t->bk / isa_fragment_k(isa, s->slice) - 1) +
                      (isa->async_copy ? 0 : EACH_MMA_STAGED_REGISTERS) + (s->accumulators > 1 ? isa->outside_registers : 0);
        else
            sums += model_promote_k(s, isa, a) > 0;
    }
    if (sums > 1 && outside == 0 && isa->async_copy)
        outside = SECOND_SUM_REGISTERS;
    cost->regs_accumulators = sums * sum + outside;
    cost->regs_chains = chains * sum;
    cost->regs_fragments = (s->slices + 1) * set + (isa->async_copy ? 0 : copies * COPY_BYTES / 4);
    cost->regs_other = OTHER_REGISTERS + COPY_REGISTERS * copies;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
    const int over = cost->regs_per_thread - (int)g->registers_per_thread_max;
    if (over > 0 && over <= set && isa->async_copy) {
        cost->regs_given_back = over;
        cost->regs_fragments -= over;
        cost->regs_per_thread -= over;
    }
}

static int products_into(const struct scheme *s, int accumulator) {
    int count = 0;
    for (int p = 0; p < s->products; p++)
        count += s->product[p].acc == accumulator;
    return count;
}

/* FP32 adds for each element of C per bk step, x256: after each MMA, or one per promotion interval. Worked
 * line: f16x3, bk 32, interval 32: one add, 256. */
static int64_t adds_per_element_x256(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    int64_t adds = 0;
    for (int a = 0; a < s->accumulators; a++) {
        int k = model_promote_k(s, isa, a);
        if (k > 0)
            adds += (s->promote[a] == PROMOTE_EACH_MMA ? products_into(s, a) : 1) * (int64_t)t->bk * 256 / k;
    }
    return adds;
}

/* Instructions of the unrolled body of one step; promotion is in the text once even when it runs every other
 * step. Worked line: f16x3, sm_80, 128x128x32, 64x32: 96 MMAs + 24 ldmatrix + 8 copies + 64 adds + 40 = 232.
 */
int model_halftone_instructions(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    const struct model_counts i = model_halftone_counts(isa, s, t);
    int64_t adds = adds_per_element_x256(isa, s, t);
    if (adds > 0 && adds < 256)
        adds = 256;
    return i.mma + i.load + i.copy + (int)(adds * t->wm * t->wn / isa->wave_size / 256) + LOOP_INSTRUCTIONS;
}

/* ---- clocks of a step ---- */

/* MMAs of one warp in a step. Inside a chain each waits for the one before it; a warp's other tiles fill that
 * time, so the chain is the products of one element. A chain that is added outside the matrix unit keeps only
 * CHAINS_OUTSIDE results in flight, over all tiles of the warp. And a warp has its own pace. Worked line:
 * f16x3, sm_80, 64x32 warps, bk 32, latency 33: 3 * 2 * 33 = 198 clocks of chain, 96 MMAs * 8 = 768. */
static int64_t chain_clocks(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                            const struct tile *t) {
    int64_t clocks = (int64_t)model_halftone_counts(isa, s, t).mma * WARP_MMA_CLOCKS;
    for (int a = 0; a < s->accumulators; a++) {
        int64_t mmas = (int64_t)products_into(s, a) * (t->bk / isa_mma_k(isa, s->slice));
        if (s->promote[a] == PROMOTE_EACH_MMA)
            mmas = mmas * (t->wm / isa->mi) * (t->wn / isa->ni) / CHAINS_OUTSIDE;
        clocks = model_largest(clocks, mmas * g->mma_latency_cycles / isa->latency_divisor);
    }
    return clocks;
}

/* Bytes of A and B that the blocks of one wave need in all: a raster group's tile rows and as many tile columns as that takes, `k` deep. */
static int64_t wave_bytes(const struct gpu *g, const struct scheme *s, const struct tile *t, int64_t rows, int64_t blocks, int64_t k) {
    const int64_t most = model_raster_rows(g, t), high = rows < most ? rows : most;
    const int64_t edge = high * t->bm + ht_ceil_div(blocks, high) * t->bn;
    return ht_mul(edge, ht_mul(k, (int64_t)s->slices * scheme_slice_bytes(s)));
}

/* Worked lines (unit test: 108 SMs at 1410 MHz, f16x3, 128x128x32, 8 warps of 64x32, 3 stages, 1024 FMA and
 * 128 smem bytes a clock, 4 schedulers, 64 FP32 FMA, latencies 29 / 262 / 500 clocks, 2039 GB/s): tensor 3 * 524288 / 1024 = 1536;
 * smem 8 * 2 * 96 * 32 * 2 / 128 = 768; issue 8 * (96 + 24 + 8 + 64 + 40) / 4 = 464; fp32 16384 / 64 = 256; chain 768; fill 32768 / 64 =
 * 512, and a wave's (8 + 14) * 128 * 32 * 4 = 360448 bytes from device memory take 249 clocks, half of them felt: 636; exposed 40 (two
 * warps per scheduler; 160 with one); copy ((262 + 500) / 2 + 29) * 2 = 820 less two steps of 1536: 0. */
struct model_step model_halftone_step(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                                      const struct tile *t, int blocks_per_sm) {
    const struct model_counts i = model_halftone_counts(isa, s, t);
    const int64_t warps = tile_warps(t), stage_bytes = tile_stage_bytes(t, s);
    const int64_t area = (int64_t)t->bm * t->bn, adds = adds_per_element_x256(isa, s, t);
    /* Each scheduler has its own matrix unit: with fewer warps than schedulers the others stand still. */
    const int64_t resident = warps * blocks_per_sm, slots = g->sms * blocks_per_sm;
    const int64_t active = resident < g->schedulers_per_sm ? resident : g->schedulers_per_sm;
    const int64_t fragment_bytes = warps * s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(s);
    const int64_t missed = wave_bytes(g, s, t, model_raster_rows(g, t), slots, t->bk) / blocks_per_sm / MISS_SHARE;
    struct model_step step;
    step.tensor = s->products * area * t->bk * 256 / model_fma_per_cycle(g, s) * g->schedulers_per_sm / active;
    step.smem = fragment_bytes * 256 / g->smem_bytes_per_cycle;
    step.issue = warps *
                 ((i.mma + i.load + i.copy + LOOP_INSTRUCTIONS) * (int64_t)256 +
                  adds * t->wm * t->wn / isa->wave_size) /
                 active;
    step.fp32 = area * adds / g->fp32_fma_per_cycle;
    step.chain = chain_clocks(g, isa, s, t) * 256;
    step.fill = stage_bytes * 256 / PORT_BYTES + missed * 256 * model_clock_mhz(g) / (g->dram_gbps * 1000);
    /* A scheduler with two warps of the block has MMAs to issue while one waits at the barrier and for its next
     * fragments; with one it has none. */
    step.exposed = (warps >= 2 * g->schedulers_per_sm ? BARRIER_CLOCKS / 4 : BARRIER_CLOCKS) * 256;
    if (!isa->async_copy) /* a second barrier, and the stores between the two */
        step.exposed += BARRIER_CLOCKS * 256 + stage_bytes * 256 / g->smem_bytes_per_cycle;
    /* Half of the copies find their line in L2. A stage is issued in the first half of a step (sched.c) and waited
     * for whole steps after the step's end, or issued near the end of the step before that. */
    const bool refills = model_refills(s, isa, t);
    const int steps_ahead = isa->async_copy && t->stages > 1 ? t->stages - 2 + refills : 0;
    const int64_t arrival = (g->l2_latency_cycles + g->dram_latency_cycles) / 2 + g->smem_latency_cycles;
    step.copy = model_largest(arrival * LOADED_LATENCY * 256 - steps_ahead * step.tensor - (refills ? 0 : step.tensor / 2), 0);
    return step;
}

/* Clocks x256 that a step keeps the SM busy. Worked line (the step above): 1536 + 636 + 256 + 768 / 16 =
 * 2476. */
static int64_t busy(const struct model_step *s) {
    const int64_t pipes = model_largest(s->tensor, s->smem);
    return model_largest(pipes, s->issue) + s->fill + s->fp32 + (s->tensor + s->smem - pipes) / INTERFERENCE;
}

/* ---- the whole product ---- */

/* Device memory, ns. The blocks of one wave cover a raster group's tile rows and as many tile columns as that takes; each wave reads
 * those rows of A and columns of B once (L2 keeps the k range in use), and C is written once. Never less than reading A and B once. Worked
 * line: A800, f16x3, 128x128 tiles, 4096^3, 1 block per SM, 2039 GB/s: a wave of 108 blocks = 8 x 14 tiles reads
 * 22 * 128 * 4096 * 4 = 46,137,344 bytes; 1024 / 108 waves: 437,450,373 + C 67,108,864 = 504,559,237 bytes = 247,454 ns. */
int64_t model_halftone_dram_ns(const struct gpu *g, const struct scheme *s, const struct tile *t,
                               const struct shape *shape, int blocks_per_sm) {
    const int64_t rows = ht_ceil_div(shape->m, t->bm), columns = ht_ceil_div(shape->n, t->bn);
    const int64_t element_bytes = (int64_t)s->slices * scheme_slice_bytes(s);
    const int64_t blocks = ht_mul(rows, columns), slots = g->sms * blocks_per_sm;
    const int64_t wave = blocks < slots ? blocks : slots;
    const int64_t once = ht_mul(ht_add(shape->m, shape->n), ht_mul(shape->k, element_bytes));
    const int64_t reads = model_largest(once, ht_mul(wave_bytes(g, s, t, rows, wave, shape->k), blocks) / wave);
    return ht_add(reads, ht_mul(ht_mul(shape->m, shape->n), 4)) / g->dram_gbps;
}

/* Prologue (start, first copies) and epilogue (C stored by all resident blocks at once, this SM's share of
 * device memory). Worked line: A800, 128x128, 1 block, 500 clocks latency, 2039 GB/s, 1410 MHz: 2900 + 500 +
 * 65536 * 2 * 108 * 1410 / 2039000 = 9788 -> 13188. */
static int64_t fixed_clocks(const struct gpu *g, const struct tile *t, int blocks_per_sm) {
    int64_t bytes = (int64_t)t->bm * t->bn * 4 * STORE_SLOWDOWN * blocks_per_sm;
    return BLOCK_START_CLOCKS + g->dram_latency_cycles +
           bytes * g->sms * model_clock_mhz(g) / (g->dram_gbps * 1000);
}

/* Fragments without registers of their own are loaded when the MMAs before them are done: that share of the loads does
 * not overlap. Worked line: egemm, A800, 256x128x32, warps 64x64: 272 registers, 17 of a set of 32 too many; loads 1024
 * clocks: 544. Measured on the H200 (h200-ablations.tsv): 96 TFLOPS where 128x128x32 with warps 64x32 has 110. */
static int64_t unhidden(const struct model_step *step, int given_back, int set) {
    const int64_t loads = step->smem < step->tensor ? step->smem : step->tensor;
    return loads * given_back / set;
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                         const struct tile *t, struct cost *cost) {
    const struct model_step shared = model_halftone_step(g, isa, s, t, cost->blocks_per_sm);
    struct model_step alone = model_halftone_step(g, isa, s, t, 1);
    alone.tensor = model_largest(alone.tensor, alone.chain);
    cost->coefficients.blocks_per_sm = cost->blocks_per_sm;
    const int set = model_fragment_registers(isa, s, t), back = cost->regs_given_back;
    cost->coefficients.step_busy_x256 = clamp32(busy(&shared) + unhidden(&shared, back, set));
    cost->coefficients.step_latency_x256 =
        clamp32(busy(&alone) + unhidden(&alone, back, set) + alone.exposed + alone.copy);
    cost->coefficients.fixed_cycles = clamp32(fixed_clocks(g, t, cost->blocks_per_sm));
    cost->coefficients.step_bytes = tile_stage_bytes(t, s);
    cost->coefficients.step_k = t->bk;
    cost->coefficients.exact_k = s->exact_k;
    cost->coefficients.part_cycles = (int)g->l2_latency_cycles;
}

/* L2 if it is what a wave waits for, else the largest part of the SM's step, in a wave as full as the shape
 * makes it. "fill" is the stage's way into the SM; "latency" is what one block cannot hide: a chain of MMAs,
 * the barrier, or copies that arrive late. */
static void name_binding(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                         const struct tile *t, const struct shape *shape, bool dram_bound,
                         struct cost *cost) {
    const struct model_step step = model_halftone_step(g, isa, s, t, cost->blocks_per_sm);
    const int64_t blocks = ht_mul(ht_ceil_div(shape->m, t->bm), ht_ceil_div(shape->n, t->bn));
    const int64_t slots = g->sms * cost->blocks_per_sm, wave = blocks < slots ? blocks : slots;
    const int64_t per_sm = ht_ceil_div(wave, g->sms);
    const int64_t l2 = wave * tile_stage_bytes(t, s) * 256 / g->l2_gbps * model_clock_mhz(g) / 1000;
    const struct {
        const char *name;
        int64_t clocks;
    } terms[] = {
        {"tensor", per_sm * step.tensor}, {"smem", per_sm * step.smem},
        {"issue", per_sm * step.issue},   {"fp32", per_sm * step.fp32},
        {"fill", per_sm * step.fill},     {"latency", model_largest(step.chain, step.exposed + step.copy)}};
    int most = 0;
    for (int i = 1; i < (int)(sizeof terms / sizeof terms[0]); i++) {
        if (terms[i].clocks > terms[most].clocks)
            most = i;
    }
    const char *name = l2 > per_sm * busy(&step) ? "l2" : terms[most].name;
    snprintf(cost->binding, sizeof cost->binding, "%s", dram_bound ? "dram" : name);
}

/* What a tile needs against what there is; the first shortage is the reason. */
static void check_budget(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                         const struct tile *t, struct cost *cost) {
    const bool amd = isa->wave_size == 64;
    const int vector_registers = (int)g->registers_per_thread_max - isa->accumulation_registers;
    const int chains = scheme_is_exact(s) ? 0 : cost->regs_chains; /* carries are vector instructions on the sums */
    const int code_bytes =
        model_halftone_instructions(isa, s, t) * (amd ? INSTRUCTION_BYTES_AMD : INSTRUCTION_BYTES);
    if (cost->threads > g->threads_per_block_max)
        model_reject(cost, "threads: %d > %lld per block", cost->threads,
                     (long long)g->threads_per_block_max);
    else if (cost->regs_per_thread > g->registers_per_thread_max)
        model_reject(cost, "registers: accumulators %d + fragments %d + other %d = %d > %lld per thread",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, cost->regs_per_thread,
                     (long long)g->registers_per_thread_max);
    else if (amd && t->wm * t->wn / isa->wave_size > RESULTS_AMD)
        model_reject(cost, "scalar registers: hipcc spills them where a thread stores %d > %d results",
                     t->wm * t->wn / isa->wave_size, RESULTS_AMD);
    else if (cost->regs_per_thread - chains > vector_registers)
        model_reject(cost, "vector registers: %d without the chains' %d > %d per thread",
                     cost->regs_per_thread - chains, chains, vector_registers);
    else if (cost->smem_bytes > g->smem_per_block_bytes)
        model_reject(cost, "shared memory: %d stages x %d = %d > %lld bytes per block", t->stages,
                     tile_stage_bytes(t, s), cost->smem_bytes, (long long)g->smem_per_block_bytes);
    else if (code_bytes > g->instruction_cache_bytes)
        model_reject(cost, "instructions: loop body of %d > %lld bytes of instruction cache", code_bytes,
                     (long long)g->instruction_cache_bytes);
    if (!cost->fits)
        return;
    const char *limit;
    cost->blocks_per_sm =
        model_occupancy(g, isa, tile_warps(t), cost->regs_per_thread, cost->smem_bytes, &limit);
    if (cost->blocks_per_sm < 1)
        model_reject(cost, "occupancy: not one block of %d warps x %d registers fits an SM, %s run out",
                     tile_warps(t), cost->regs_per_thread, limit);
}

void model_halftone(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                    const struct shape *shape, struct cost *cost) {
    registers(g, isa, s, t, cost);
    cost->smem_bytes = t->stages * tile_stage_bytes(t, s);
    check_budget(g, isa, s, t, cost);
    if (!cost->fits)
        return;
    coefficients(g, isa, s, t, cost);
    int64_t sm_ns = ht_cost_ns(&cost->coefficients, t->bm, t->bn, g->sms, model_clock_mhz(g), g->l2_gbps,
                               g->dram_gbps, g->launch_ns, shape->m, shape->n, shape->k, 1, 1);
    int64_t dram_ns = model_halftone_dram_ns(g, s, t, shape, cost->blocks_per_sm);
    cost->predicted_ns = model_largest(sm_ns, dram_ns);
    cost->score = -cost->predicted_ns;
    name_binding(g, isa, s, t, shape, dram_ns > sm_ns, cost);
}
