/* model_direct: MODEL_HALFTONE for kernels that read the operands as they are (templates/tile_direct.cu).
 *
 * A block cuts each number of a stage once into slices, in shared memory; warps load fragments and multiply. A large product
 * waits for mma.sync, which is slower than the unit, a small one for the way of its data, a skinny one for memory.
 *
 * Where the unit multiplies FP32 (gfx90a) it does so in the place of the multiply-adds, and nothing is cut.
 *
 * Instructions were counted in the code of nvcc 13.0 for sm_80 (64x64, warps of 32x32: 510 in a step). */
#include "model/model.h"

#include <limits.h>
#include <string.h>

enum {
    PART_INSTRUCTIONS = 36,    /* of 16 bytes on their way: load 1, 3 stores, 2 addresses, and for each pair of numbers 3
                                * conversions, 4 to expand, 4 subtractions, 4 to look at them */
    COPY_INSTRUCTIONS = 5,     /* where FP32 is stored as it is */
    LOOP_INSTRUCTIONS = 40,    /* as model_halftone: counters, offsets, barrier */
    OTHER_REGISTERS = 52,      /* beside sums, chains, fragments and parts: 44 to 74 in ptxas' code where there is room */
    WARPGROUP_REGISTERS = 42,  /* the same of warpgroups: 41 to 44 */
    NUMBER_INSTRUCTIONS = 8,    /* of theirs for each number */
    STEP_INSTRUCTIONS = 150,   /* and besides */
    MMA_REGISTERS = 36,        /* the same of hipcc 5.2 with FP32 MMAs; what is uniform has registers of its own: 31 to 44 */
    BANK_ROUNDS = 2,           /* of 32 lanes' loads for them: rows r and r + 8 of 16 lie in one bank (stage_direct.cuh) */
    /* Fitted to three tiles on the H200 (results/tune-h200-random-fit.tsv, -direct-fit and -tall-fit, clocks at 1980 MHz), where they take less than 1.5 times
     * the fastest kernel's time: root mean square error 21 %. */
    OVERLAP_PERCENT = 120,     /* of the sum of what the pipes need: two or three blocks of four warps hide nothing, and wait */
    ARRIVAL_PERCENT = 55,      /* of L2's and device memory's latency: what a step of a block that is alone waits for its numbers */
    BLOCK_START_CLOCKS = 1410, /* of a block: launch, first loads, checks */
    SUM_CLOCKS = 220,          /* of a block for each sum of a lane: clear, check, store */
    STREAM_PERCENT = 59,       /* of device memory's rate; 2.8 TB/s */
    /* Warpgroups, three tiles, on the shapes of model_dmma: 14 %. */
    STEP_WAIT_CLOCKS = 154,    /* of a step, for barriers and loads: the block is alone, and its pipes follow one another */
    WARPGROUP_START_CLOCKS = 3775, WARPGROUP_SUM_CLOCKS = 49,
    WARPGROUP_STREAM_PERCENT = 83, /* of device memory's rate; 4.0 TB/s */
    WARPGROUP_RAGGED_CLOCKS = 99,  /* more of a step where lines of P begin anywhere */
    WARPGROUP_NARROW_CLOCKS = 10,  /* more of a block, for each of its rows, where columns begin anywhere */
    HIDDEN_CLOCKS = 2000, WARPGROUP_HIDDEN_CLOCKS = 179, PORT_BYTES = 64 /* of a reduction's launch that is a dependent one, behind the kernel; from L2 to an SM in a clock */
};

static bool has_mma(const struct isa *isa) {
    return isa->direct_mma != NULL;
}

/* In FP32, of a warp and step: multiply-adds or MMAs, and loads of a number for each lane. Multiply-adds: rows are shared by 4
 * lanes, columns by the others. Worked line: 64x64, warps of 32x32, gfx90a: 2 * 2 tiles, 8 MMAs of 4 k: 32, and 32 loads. */
struct fp32_work {
    int64_t multiplies, loads;
};

static struct fp32_work fp32_work_of(const struct isa *isa, const struct tile *t) {
    const int64_t lanes = isa->wave_size, mi = t->wm / isa->mi, ni = t->wn / isa->ni, steps = t->bk / ISA_FP32_MMA_K;
    if (isa->fp32_mma)
        return (struct fp32_work){mi * ni * steps, (mi + ni) * steps};
    return (struct fp32_work){(int64_t)t->wm * t->wn * t->bk / lanes, (t->wm * 4 + t->wn * lanes / 4) * t->bk / lanes};
}

/* 16-byte parts of a stage that a thread moves. */
static int parts_of(const struct isa *isa, const struct tile *t) {
    const int threads = tile_threads(t, isa);
    return (int)(ht_ceil_div(t->bm * t->bk / 4, threads) + ht_ceil_div(t->bn * t->bk / 4, threads));
}

struct model_counts model_direct_counts(const struct isa *isa, const struct tile *t) {
    const struct fp32_work w = fp32_work_of(isa, t);
    return isa->fp32_mma ? (struct model_counts){(int)w.multiplies, (int)w.loads, 2 * parts_of(isa, t)} : (struct model_counts){0};
}

int model_direct_sets(const struct isa *isa, const struct tile *t) {
    enum { PARTS_MOST = 8 };
    return parts_of(isa, t) > PARTS_MOST ? 1 : 2;
}

/* MMA row tiles that a warp multiplies together. */
int model_direct_rows(const struct isa *isa, const struct tile *t) {
    const int mi = t->wm / isa->mi, ni = t->wn / isa->ni;
    return mi * ni > 8 ? 1 : mi;
}

/* Warpgroups, worked line with ptxas' number in brackets: 64x64, two groups: sums, large ones and two of small ones 32 each, two sets of
 * fragments of 24, 16 numbers of P and 16 of Q, 42 = 250 (253); 64x32: 64 + 48 + 16 + 8 + 42 = 178 (187). */
static void warpgroup_registers(const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    const int sums = t->wm * t->wn / isa->wave_size, group = tile_threads(t, isa) / tile_groups(t, isa);
    const int fragments = 2 * s->slices * t->wm * t->bk / 2 / isa->wave_size, numbers = t->wm * t->bk / isa->wave_size + t->bn * t->bk / group;
    cost->regs_chains = 3 * sums;
    cost->regs_accumulators = 4 * sums;
    cost->regs_fragments = fragments + numbers;
    cost->regs_other = WARPGROUP_REGISTERS;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

/* Worked line, ptxas' own number in brackets: 64x64, warps 32x32: 32 sums, 32 in chains, 24 + 24 for fragments, 2 * 8 parts of
 * 4, 52 = 228 (243 where 255 are allowed); 64x32, warps 32x16: 16 + 16 + 36 + 48 + 52 = 168 (166); 128x8, warps 32x8, one set:
 * 8 + 8 + 36 + 36 + 52 = 140 (156). Multiply-adds: sums twice, a row and a column of numbers, one set of parts. FP32 MMAs: half
 * of a step's loads; 64x64, warps of 32x32, gfx90a: 16 + 16 + 16 + 16 + 36 = 100 (hipcc: 108). */
static void registers(const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    if (isa->direct == DIRECT_WGMMA) {
        warpgroup_registers(isa, s, t, cost);
        return;
    }
    const int lanes = isa->wave_size, sums = t->wm * t->wn / lanes;
    const int rows = model_direct_rows(isa, t) * isa->mi, cols = (t->wn + 15) / 16 * 16;
    cost->regs_chains = has_mma(isa) ? rows * t->wn / lanes : sums;
    cost->regs_accumulators = sums + cost->regs_chains;
    const int fp32 = isa->fp32_mma ? (int)fp32_work_of(isa, t).loads / 2 : (t->wm + t->wn) / 2;
    cost->regs_fragments = has_mma(isa) ? s->slices * (rows + cols) / 4 + 4 * parts_of(isa, t) * model_direct_sets(isa, t)
                                        : fp32 + 4 * parts_of(isa, t);
    cost->regs_other = isa->fp32_mma ? MMA_REGISTERS : OTHER_REGISTERS + isa->outside_registers / 4;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

/* Bytes of an operand's rows in a stage of FP32: lines of k or lines of rows, whichever takes more (stage_direct.cuh). */
static int fp32_bytes(const struct tile *t, int rows) {
    const int by_k = rows * (t->bk + 4), by_rows = t->bk * ((rows + 31) / 32 * 32 + 8);
    return 4 * (by_k > by_rows ? by_k : by_rows);
}

/* Of both operands; slices may lie in their place (cut_direct.cuh). */
static int stage_bytes(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    const int fp32 = fp32_bytes(t, t->bm) + fp32_bytes(t, t->bn);
    const int cut = has_mma(isa) ? s->slices * (t->bm + t->bn) * t->bk * 2 : 0;
    return fp32 > cut ? fp32 : cut;
}

/* Of a block; P's slices of warpgroups are in registers, and Q's in rings. */
static int shared_bytes(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    enum { RING = 3 };
    const int fp32 = t->stages * (fp32_bytes(t, t->bm) + fp32_bytes(t, t->bn));
    const int rings = tile_groups(t, isa) * RING * s->slices * t->bn * t->bk * 2;
    return isa->direct != DIRECT_WGMMA ? t->stages * stage_bytes(isa, s, t) : fp32 > rings ? fp32 : rings;
}

/* Clocks x256 of one step of a block on the instructions and shared memory of FP32 multiply-adds, or MMAs. */
static int64_t fma_busy(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, int64_t active) {
    const int64_t warps = tile_warps(t), lanes = isa->wave_size, area = (int64_t)t->wm * t->wn;
    const struct fp32_work w = fp32_work_of(isa, t);
    const int64_t issue = w.multiplies + 2 * w.loads + parts_of(isa, t) * COPY_INSTRUCTIONS + LOOP_INSTRUCTIONS + area / lanes;
    const int64_t unit =
        (int64_t)s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(g, s) * g->schedulers_per_sm / active;
    const int64_t rounds = isa->fp32_mma ? BANK_ROUNDS : 1;
    const int64_t smem = rounds * warps * w.loads * lanes * 4 * 256 / g->smem_bytes_per_cycle;
    return model_largest(model_largest(warps * issue * 256 / active, unit), smem);
}

/* The same on the matrix unit. Worked line: 64x64x32, 4 warps of 32x32, sm_90a: a warp has 96 MMAs, 24 loads of fragments, 64
 * sums to add to, 8 parts: 96 + 24 + 64 + 8 * 36 + 40 = 512 instructions, four warps on four schedulers; unit 6 * 64 * 64 * 32 /
 * 2048 / 0.62 = 619; shared memory 4 * 64 rows read and 128 written, 192 bytes each, 128 a clock: 576; 120 % of the sum is 2049. */
static int64_t mma_busy(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, int64_t active) {
    const int64_t warps = tile_warps(t), sums = (int64_t)t->wm * t->wn / isa->wave_size, steps = t->bk / isa->fragment_k;
    const int64_t mmas = (int64_t)s->products * (t->wm / isa->mi) * (t->wn / isa->ni) * steps;
    const int64_t loads = s->slices * (t->wm / isa->mi + (t->wn + 15) / 16) * steps;
    const int64_t issue = mmas + loads + sums * steps + parts_of(isa, t) * PART_INSTRUCTIONS + LOOP_INSTRUCTIONS;
    const int64_t unit = (int64_t)s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(g, s) * g->schedulers_per_sm /
                         active * 100 / isa->sync_percent;
    const int64_t rows = warps * (t->wm + t->wn) + t->bm + t->bn;
    const int64_t smem = rows * t->bk * s->slices * 2 * 256 / g->smem_bytes_per_cycle;
    return (warps * issue * 256 / active + unit + smem) * OVERLAP_PERCENT / 100;
}

/* The same of warpgroups, of whose groups one takes the step. Worked line: 128x64x32, 8 warps, two on a scheduler: 24 numbers of a
 * thread, 2 x (24 x 8 + 150) = 684 instructions; unit 6 * 128 * 64 * 32 / 2048 = 768; shared memory: each warpgroup reads six slices of
 * Q, of which the block stores three, (2 x 6 + 3) x 64 x 64 bytes / 128 = 480; and 154: 2086. */
static int64_t warpgroup_busy(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t) {
    const int64_t threads = tile_threads(t, isa) / tile_groups(t, isa), warps = threads / isa->wave_size;
    const int64_t numbers = (int64_t)(t->bm + t->bn) * t->bk / threads, warpgroups = t->bm / 64;
    const int64_t issue = warps * (numbers * NUMBER_INSTRUCTIONS + STEP_INSTRUCTIONS) * 256 / g->schedulers_per_sm;
    const int64_t unit = (int64_t)s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(g, s);
    const int64_t smem = (warpgroups * s->products + s->slices) * t->bn * t->bk * 2 * 256 / g->smem_bytes_per_cycle;
    return issue + unit + smem + STEP_WAIT_CLOCKS * 256;
}

/* Clocks x256 of one step of a block beside blocks_per_sm - 1 others. */
static int64_t step_busy(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                         int blocks_per_sm) {
    const int64_t resident = (int64_t)tile_warps(t) * blocks_per_sm;
    const int64_t active = resident < g->schedulers_per_sm ? resident : g->schedulers_per_sm;
    const int64_t port = (int64_t)(t->bm + t->bn) * t->bk * 4 * 256 / PORT_BYTES;
    if (isa->direct == DIRECT_WGMMA)
        return model_largest(warpgroup_busy(g, isa, s, t), port);
    return model_largest(has_mma(isa) ? mma_busy(g, isa, s, t, active) : fma_busy(g, isa, s, t, active), port);
}

/* Clocks x256 of the MMAs of a step that depend on one another. */
static int64_t step_chain(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t) {
    const int64_t groups = t->wm / isa->mi / model_direct_rows(isa, t) * (t->bk / isa->fragment_k);
    const int64_t mmas = isa->direct == DIRECT_WGMMA ? 0 : has_mma(isa) ? groups * s->products : isa->fp32_mma ? t->bk / ISA_FP32_MMA_K : 0;
    return mmas * g->mma_latency_cycles / isa->latency_divisor * 256;
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    const bool warpgroups = isa->direct == DIRECT_WGMMA; /* their steps wait for what they do */
    const int64_t sets = has_mma(isa) ? model_direct_sets(isa, t) : 1, sums = (int64_t)t->wm * t->wn / isa->wave_size;
    const int64_t arrival = warpgroups ? 0 : (g->l2_latency_cycles + g->dram_latency_cycles) * ARRIVAL_PERCENT * 256 / 100 / sets;
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_busy_x256 = (int32_t)model_cool_clocks(g, step_busy(g, isa, s, t, cost->blocks_per_sm));
    c->step_latency_x256 = (int32_t)model_cool_clocks(g, model_largest(step_busy(g, isa, s, t, 1), step_chain(g, isa, s, t)) + arrival);
    c->fixed_cycles = (int)model_cool_clocks(g, warpgroups ? WARPGROUP_START_CLOCKS + WARPGROUP_SUM_CLOCKS * sums
                                                           : BLOCK_START_CLOCKS + SUM_CLOCKS * sums);
    c->step_bytes = (t->bm + t->bn) * t->bk * 4;
    c->step_k = t->bk;
    c->ragged_cycles = warpgroups ? (int)model_cool_clocks(g, WARPGROUP_RAGGED_CLOCKS) : 0;
    c->narrow_cycles = warpgroups ? (int)model_cool_clocks(g, WARPGROUP_NARROW_CLOCKS * t->bm) : 0;
    c->stream_gbps = (int)g->dram_gbps * (warpgroups ? WARPGROUP_STREAM_PERCENT : STREAM_PERCENT) / 100;
    c->part_cycles = (int)g->l2_latency_cycles / HT_PARTS_AHEAD;
    c->hidden_cycles = strcmp(isa->launch, "launch_dependent") == 0 ? (int)model_cool_clocks(g, warpgroups ? WARPGROUP_HIDDEN_CLOCKS : HIDDEN_CLOCKS) : 0;
}

static void check(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    const char *limit = "";
    cost->smem_bytes = shared_bytes(isa, s, t);
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
    const int warps = cost->threads / isa->wave_size; /* of both groups */
    cost->blocks_per_sm = model_occupancy(g, isa, warps, cost->regs_per_thread, cost->smem_bytes, &limit);
    if (cost->blocks_per_sm < 1)
        model_reject(cost, "occupancy: not one block of %d warps x %d registers fits an SM, %s run out", warps,
                     cost->regs_per_thread, limit);
}

void model_direct(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                  const struct shape *shape, struct cost *cost) {
    registers(isa, s, t, cost);
    check(g, isa, s, t, cost);
    if (!cost->fits)
        return;
    coefficients(g, isa, s, t, cost);
    model_predict_direct(g, t, shape, cost, has_mma(isa) || isa->fp32_mma ? "tensor" : "fp32");
}
