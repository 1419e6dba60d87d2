/* cost_mma: time of kernels that multiply packed panels, form tiled waves: mma_warp, whose step is taken
 * apart into pipes, and wgmma_ss, a ring that a producer fills. Fitted constants: model/fit.c. This file must
 * not know the papers' models.
 *
 * A kernel runs its blocks in waves; in a wave each SM advances its resident blocks one bk step at a time.
 *   busy      slowest of tensor pipe, fragment loads, instruction issue; + stage fill + FP32 adds: a warp
 *             issues in order, so copies and adds hold back the MMAs behind them
 *   latency   busy of a block that is alone + barrier + what copies still need when they are waited for
 * The one shape-cost formula (runtime/ht_cost.h) takes them; there L2 bounds each wave, here device memory
 * the whole product. Clocks are fixed point, x256. */
#include "model/family.h"
#include "model/fit.h"

#include <limits.h>

enum {
    COPY_BYTES = 16,        /* per thread and copy instruction */
    LOAD_BYTES = 16,        /* per thread and ldmatrix.x4 (ds_read_b128) */
    LOOP_INSTRUCTIONS = 40, /* counters, ring offsets, address sums, barrier of a step: our estimate */
    ELEMENT_INSTRUCTIONS = 520, /* of FP64 by digits: counted in the machine code of sm_89, not measured */
    CHAINS_OUTSIDE = 2      /* MMAs in flight of a chain that is added outside the tensor core */
};

static int32_t clamp32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* ---- mma_warp: instructions ---- */

struct model_counts model_mma_counts(const struct target *on, const struct tile *t) {
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
int model_mma_instructions(const struct target *on, const struct tile *t) {
    const struct model_counts i = model_mma_counts(on, t);
    int64_t adds = adds_per_element_x256(on, t);
    if (adds > 0 && adds < 256)
        adds = 256;
    return i.mma + i.load + i.copy + (int)(adds * t->wm * t->wn / on->isa->wave_size / 256) +
           LOOP_INSTRUCTIONS;
}

/* ---- clocks of a step ---- */

/* MMAs of one warp in a step. Inside a chain each waits for the one before it; a warp's other tiles fill that
 * time, so the chain is the products of one element. A chain that is added outside the matrix unit keeps only
 * CHAINS_OUTSIDE results in flight, over all tiles of the warp. And a warp has its own pace. Worked example:
 * f16x3, sm_80, 64x32 warps, bk 32, latency 33: 3 * 2 * 33 = 198 clocks of chain, 96 MMAs * 8 = 768. */
static int64_t chain_clocks(const struct target *on, const struct tile *t) {
    int64_t clocks = (int64_t)model_mma_counts(on, t).mma * fitted.mma_warp.warp_mma_cycles;
    for (int a = 0; a < on->s->accumulators; a++) {
        int64_t mmas = (int64_t)products_into(on->s, a) * (t->bk / target_mma_k(on));
        if (on->s->promote[a] == PROMOTE_EACH_MMA)
            mmas = mmas * (t->wm / on->mma->m) * (t->wn / on->mma->n) / CHAINS_OUTSIDE;
        clocks = model_largest(clocks, mmas * on->g->mma_latency_cycles / on->mma->latency_divisor);
    }
    return clocks;
}

/* Bytes of A and B that the blocks of one wave need in all: a raster group's tile rows and as many tile
 * columns as that takes, `k` deep. */
static int64_t wave_bytes(const struct target *on, const struct tile *t, int64_t rows, int64_t blocks,
                          int64_t k) {
    const int64_t most = model_raster_rows(on->g, t), high = rows < most ? rows : most;
    const int64_t edge = high * t->bm + ht_ceil_div(blocks, high) * t->bn;
    return ht_mul(edge, ht_mul(k, (int64_t)on->s->slices * scheme_slice_bytes(on->s)));
}

/* Worked examples (unit test: 108 SMs at 1410 MHz, f16x3, 128x128x32, 8 warps of 64x32, 3 stages, 1024 FMA
 * and 128 smem bytes a clock, 4 schedulers, 64 FP32 FMA, latencies 29 / 262 / 500 clocks, 2039 GB/s):
 * tensor 3 * 524288 / 1024 = 1536; smem 8 * 2 * 96 * 32 * 2 / 128 = 768; issue 8 * (96 + 24 + 8 + 64 + 40)
 * / 4 = 464; fp32 16384 / 64 = 256; chain 768; fill 32768 / 64 = 512, and a wave's (8 + 14) * 128 * 32 * 4
 * = 360448 bytes from device memory take 249 clocks, half of them felt: 636; exposed 40 (two warps per
 * scheduler; 160 with one); copy ((262 + 500) / 2 + 29) * 2 = 820 less two steps of 1536: 0. */
struct model_step model_mma_step(const struct target *on, const struct tile *t, int blocks_per_sm) {
    const struct model_counts i = model_mma_counts(on, t);
    const int64_t warps = tile_warps(t), stage_bytes = tile_stage_bytes(t, on->s);
    const int64_t area = (int64_t)t->bm * t->bn, adds = adds_per_element_x256(on, t);
    /* Each scheduler has its own matrix unit: with fewer warps than schedulers the others stand still. */
    const int64_t resident = warps * blocks_per_sm, slots = on->g->sms * blocks_per_sm;
    const int64_t active = resident < on->g->schedulers_per_sm ? resident : on->g->schedulers_per_sm;
    const int64_t fragment_bytes =
        warps * on->s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(on->s);
    const int64_t missed = wave_bytes(on, t, model_raster_rows(on->g, t), slots, t->bk) / blocks_per_sm /
                           fitted.mma_warp.miss_share;
    struct model_step step;
    step.tensor = on->s->products * area * t->bk * 256 / model_fma_per_cycle(on->g, on->s) * 100 /
                  on->isa->mma_sync_rate_percent * on->g->schedulers_per_sm / active;
    step.smem = fragment_bytes * 256 / on->g->smem_bytes_per_cycle;
    step.issue = warps *
                 ((i.mma + i.load + i.copy + LOOP_INSTRUCTIONS) * (int64_t)256 +
                  adds * t->wm * t->wn / on->isa->wave_size) /
                 active;
    step.fp32 = area * adds / on->g->fp32_fma_per_cycle;
    step.chain = chain_clocks(on, t) * 256;
    step.fill = stage_bytes * 256 / fitted.mma_warp.port_bytes +
                missed * 256 * model_clock_mhz(on->g) / (on->g->dram_gbps * 1000);
    /* A scheduler with two warps of the block has MMAs to issue while one waits at the barrier and for its
     * next fragments; with one it has none. */
    const int barrier = fitted.mma_warp.barrier_cycles;
    step.exposed = (warps >= 2 * on->g->schedulers_per_sm ? barrier / 4 : barrier) * 256;
    if (!on->isa->async_copy) /* a second barrier, and the stores between the two */
        step.exposed += barrier * 256 + stage_bytes * 256 / on->g->smem_bytes_per_cycle;
    /* Half of the copies find their line in L2. A stage is issued in the first half of a step (sched.c)
     * and waited for whole steps after the step's end, or issued near the end of the step before that. */
    const bool refills = model_refills_after_barrier(on, t);
    const int steps_ahead = on->isa->async_copy && t->stages > 1 ? t->stages - 2 + refills : 0;
    const int64_t arrival =
        (on->g->l2_latency_cycles + on->g->dram_latency_cycles) / 2 + on->g->smem_latency_cycles;
    step.copy = model_largest(arrival * fitted.mma_warp.loaded_latency * 256 - steps_ahead * step.tensor -
                                  (refills ? 0 : step.tensor / 2),
                              0);
    return step;
}

/* Clocks x256 that a step keeps the SM busy. Worked example (the step above): 1536 + 636 + 256 + 768 / 16 =
 * 2476. */
static int64_t busy(const struct model_step *s) {
    const int64_t pipes = model_largest(s->tensor, s->smem);
    return model_largest(pipes, s->issue) + s->fill + s->fp32 +
           (s->tensor + s->smem - pipes) / fitted.mma_warp.interference_share;
}

/* ---- the whole product ---- */

/* Device memory, ns. The blocks of one wave cover a raster group's tile rows and as many tile columns as
 * that takes; each wave reads those rows of A and columns of B once (L2 keeps the k range in use), and C
 * is written once. Never less than reading A and B once. Worked example: A800, f16x3, 128x128 tiles, 4096^3,
 * 1 block per SM, 2039 GB/s: a wave of 108 blocks = 8 x 14 tiles reads 22 * 128 * 4096 * 4 = 46,137,344
 * bytes; 1024 / 108 waves: 437,450,373 + C 67,108,864 = 504,559,237 bytes = 247,454 ns. */
int64_t model_mma_dram_ns(const struct target *on, const struct tile *t, const struct shape *shape,
                               int blocks_per_sm) {
    const int64_t rows = ht_ceil_div(shape->m, t->bm), columns = ht_ceil_div(shape->n, t->bn);
    const int64_t element_bytes = (int64_t)on->s->slices * scheme_slice_bytes(on->s);
    const int64_t blocks = ht_mul(rows, columns), slots = on->g->sms * blocks_per_sm;
    const int64_t wave = blocks < slots ? blocks : slots;
    const int64_t once = ht_mul(ht_add(shape->m, shape->n), ht_mul(shape->k, element_bytes));
    const int64_t reads = model_largest(once, ht_mul(wave_bytes(on, t, rows, wave, shape->k), blocks) / wave);
    return ht_mul(ht_add(reads, ht_mul(4 * shape->m, shape->n)), scheme_alike(on->s)) / on->g->dram_gbps;
}

/* Prologue (start, first copies) and epilogue (C stored by all resident blocks at once, this SM's share of
 * device memory). Example: A800, 128x128, 1 block, 500 clocks latency, 2039 GB/s, 1410 MHz: 2900 + 500 +
 * 65536 * 2 * 108 * 1410 / 2039000 = 9788 -> 13188. */
static int64_t fixed_clocks(const struct gpu *g, const struct tile *t, int blocks_per_sm) {
    int64_t bytes = (int64_t)t->bm * t->bn * 4 * fitted.mma_warp.store_slowdown * blocks_per_sm;
    return fitted.mma_warp.block_start_cycles + g->dram_latency_cycles +
           bytes * g->sms * model_clock_mhz(g) / (g->dram_gbps * 1000);
}

/* Fragments without registers of their own are loaded when the MMAs before them are done: that share of
 * the loads does not overlap. Worked example: egemm, A800, 256x128x32, warps 64x64: 272 registers, 17 of a
 * set of 32 too many; loads 1024 clocks: 544. Measured on the H200 (h200-ablations.tsv): 96 TFLOPS where
 * 128x128x32 with warps 64x32 has 110. */
static int64_t unhidden(const struct model_step *step, int given_back, int set) {
    const int64_t loads = step->smem < step->tensor ? step->smem : step->tensor;
    return loads * given_back / set;
}

void time_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const int set = model_fragment_registers(on, t), back = cost->regs_spilled_fragments;
    const struct model_step shared = model_mma_step(on, t, cost->blocks_per_sm);
    struct model_step alone = model_mma_step(on, t, 1);
    alone.tensor = model_largest(alone.tensor, alone.chain);
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = clamp32(busy(&shared) + unhidden(&shared, back, set)),
        .step_latency_x256 = clamp32(busy(&alone) + unhidden(&alone, back, set) + alone.exposed + alone.copy),
        .tile_overhead_cycles = clamp32(fixed_clocks(on->g, t, cost->blocks_per_sm)),
    };
}

/* And each element becomes an integer and is rounded, one after the other. */
void time_digits_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    time_mma_warp(on, t, cost);
    cost->formula.waves.tile_overhead_cycles += ELEMENT_INSTRUCTIONS * t->bm * t->bn / on->isa->wave_size *
                                                cost->blocks_per_sm / (int)on->g->schedulers_per_sm;
}

/* L2 if it is what a wave waits for, else the largest part of the SM's step, in a wave as full as the shape
 * makes it. "fill" is the stage's way into the SM; "latency" is what one block cannot hide: a chain of MMAs,
 * the barrier, or copies that arrive late. */
const char *binding_mma_warp(const struct target *on, const struct tile *t, const struct shape *shape,
                             const struct cost *cost) {
    const struct model_step step = model_mma_step(on, t, cost->blocks_per_sm);
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

/* ---- wgmma_ss. One persistent block per SM; a producer fills a ring of slots, consumer warpgroups take
 * turns in multiplying chunks of them.
 *
 * What an SM can be waiting for while a slot is multiplied: the matrix unit; shared memory, from which it
 * reads both operands (A once for each 64 columns, B once for each bm rows); or what is not hidden between
 * two chunks of the same warpgroup: waiting for the unit, adding up the chain, taking the turn. With a
 * second warpgroup the unit works on its chunk meanwhile (bench/decisions/004). */

/* Clocks x256 of one slot. Worked example: f16x3, 192 x 128 x 32, 2048 FMAs and 128 bytes a clock:
 * unit 3 * 192 * 128 * 32 / 2048 = 1152, with a thirty-second and 75 more 1263; shared memory: 2 parts * 2
 * k16 * 3 products * (2048 + 192 * 32) / 128 = 768. 64 x 128 x 32, a pair: unit 384, shared memory 2 * 2 *
 * 3 * (2048 + 2048) / 128 = 384 too: 384 + 384 / 64 + 384 / 32 + 75 = 477. */
static int64_t slot_busy(const struct target *on, const struct tile *t) {
    const struct fit_wgmma_ss *f = &fitted.wgmma_ss;
    const int64_t unit =
        (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t bytes = (int64_t)t->bn / HT_ATOM_ROWS * on->s->products * (t->bm + HT_ATOM_ROWS) * t->bk *
                          scheme_slice_bytes(on->s);
    const int64_t smem = bytes * 256 / on->g->smem_bytes_per_cycle;
    const int64_t share = t->cluster > 1 ? f->unit_share_of_pair : f->unit_share,
                  fed = smem < unit ? 0 : unit / f->fed_share;
    const int64_t own = unit + unit / share + fed + (int64_t)f->slot_cycles * scheme_atom_group(on->s) * 256;
    return model_largest(own, smem);
}

/* Worked example: f16x3, 64 x 128 x 32: 384 clocks for 3 atoms, 128 each: yes; 128 x 256 x 32: 1536 for 6,
 * 256: no. */
bool model_producer_is_tight(const struct target *on, const struct tile *t) {
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk / model_fma_per_cycle(on->g, on->s);
    const int atoms =
        ((t->bm + HT_ATOM_ROWS - 1) / HT_ATOM_ROWS + t->bn / HT_ATOM_ROWS) * scheme_atom_group(on->s);
    return unit < (int64_t)atoms * fitted.wgmma_ss.copy_cycles;
}

/* What one warpgroup does between two chunks while its unit has nothing of it: x256 per slot. Additions:
 * one for each result, four warps at one instruction a clock each. */
static int64_t slot_gap(const struct target *on, const struct tile *t) {
    const int adds = model_promotes(on) ? tile_part_registers(t) : 0;
    const int batches = on->s->promote[0] == PROMOTE_EACH_MMA ? t->bk / target_mma_k(on) : 1;
    const int64_t turn = fitted.wgmma_ss.turn_cycles + adds;
    return turn * batches * tile_parts(t) * 256 / model_promote_tiles(on, t);
}

void time_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    const struct fit_wgmma_ss *f = &fitted.wgmma_ss;
    const int64_t busy = slot_busy(on, t), gap = slot_gap(on, t), groups = tile_warpgroups(t);
    /* A warpgroup has busy / groups of work per slot; the others' work covers its gap if there is enough
     * of it, one that takes two chunks at once has only the second one's. */
    const int64_t own = busy / groups + (model_has_two_intervals(on, t) ? gap / 2 : gap);
    const int32_t step = (int32_t)model_largest(busy, own);
    const int store = (int)((int64_t)t->bm * t->bn * 4 * f->store_cycles_per_kb / 1024);
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = step,
        .step_latency_x256 = step,
        .tile_overhead_cycles = f->launch_cycles + (t->cluster > 1 ? f->cluster_cycles : 0),
        .block_overhead_cycles = f->tile_cycles + store,
        .scalar_store_cycles = f->scalar_stores * store,
    };
    cost->unit = own <= busy ? "tensor" : "latency";
}
