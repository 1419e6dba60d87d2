/* model_halftone: our own tile model, of the kernels that skeleton tile_mma makes. This room must not know
 * the papers' models.
 *
 * A kernel runs its blocks in waves. In a wave each SM advances its resident blocks one bk step at a time, at
 * the pace of the slowest of: tensor pipe, shared memory, instruction issue, FP32 adds (promotion), L2, and
 * what nothing hides (barriers, dependent MMAs, copies in flight). These become the coefficients of
 * ht_cost_ns (runtime/ht_desc.h), the one shape-cost formula; device memory is a bound over the whole
 * product. Clocks are fixed point, x256. */
#include "model.h"

#include <limits.h>
#include <stdio.h>

enum {
    /* Results on their way to FP32 adds after each MMA: six 16 x 8 tiles; calibrated as isa.c says. */
    EACH_MMA_REGISTERS = 24,
    /* Slice sets of one k step that ptxas keeps: the next one arrives as the last one leaves. */
    FRAGMENT_SETS_MIN = 2,
    COPY_BYTES = 16, /* per thread and copy instruction */
    LOAD_BYTES = 16, /* per thread and ldmatrix.x4 (ds_read_b128) */
    /* Counters, ring offsets, address sums, barrier of a step: our estimate. */
    LOOP_INSTRUCTIONS = 40,
    INSTRUCTION_BYTES = 16,    /* SASS since sm_70 */
    INSTRUCTION_BYTES_AMD = 8, /* MFMA and DS instructions */
    /* A barrier among warps that arrive nearly together: our estimate, to be measured. */
    BARRIER_CLOCKS = 30,
    /* In-flight time of a copy under load, in unloaded device-memory latencies. Ours: CUTLASS' default sm_80
     * tiles (256x128x32 with 3 stages, 128x128x32 with 5) keep about 2000 clocks on their way, 3 to 4
     * latencies. */
    LOADED_LATENCY = 3,
    /* Pipes overlap, but not perfectly: of the clocks the other pipes work, one in this many is lost. Ours,
     * to be measured; it makes a tile that moves less better than one that is equal by its busiest pipe. */
    INTERFERENCE = 16,
    CHAINS_OUTSIDE = 2,        /* MMAs in flight of a chain that is added outside the matrix unit */
    BLOCK_START_CLOCKS = 2000, /* HOPPER-TRIAL.md: start 3.6k clocks, of it one fill of the pipeline */
    STORE_SLOWDOWN = 2 /* direct stores: half the copy speed (HOPPER-TRIAL.md: 13-16k clocks for 128x256) */
};

static int64_t largest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int32_t clamp32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* ---- registers and instructions ---- */

/* Registers of a thread. An accumulator (and the FP32 master of one that is promoted at an interval) is wm *
 * wn / wave_size; one slice's fragments of a k step are (wm + wn) * fragment_k * 2 / (4 * wave_size); without
 * async copies a whole stage passes through registers. Worked line: f16x3 on sm_80, 128x128x32, warps 64x32:
 * accumulators 64 + master 64, fragments 2 * 24 = 48, other 52: 228 (ptxas: 227). On sm_75, one product chain
 * of egemm: 64 + 48 + 46 and 32 staged: 190 (ptxas: 190). On sm_90a, both k steps whole: 128 + 96 + 30 = 254
 * (ptxas: 254). */
static void registers(const struct isa *isa, const struct scheme *s, const struct tile *t,
                      struct cost *cost) {
    const int accumulator = t->wm * t->wn / isa->wave_size;
    int accumulators = s->accumulators * accumulator, outside = 0;
    for (int a = 0; a < s->accumulators; a++) {
        if (s->promote[a] == PROMOTE_EACH_MMA)
            outside = EACH_MMA_REGISTERS;
        else if (model_promote_k(s, isa, a) > 0)
            accumulators += accumulator;
    }
    int sets = s->slices > FRAGMENT_SETS_MIN ? s->slices : FRAGMENT_SETS_MIN;
    if (isa->doubles_fragments)
        sets = 2 * s->slices;
    const int set =
        (int)ht_ceil_div((t->wm + t->wn) * isa->fragment_k * scheme_slice_bytes(s), isa->wave_size * 4);
    const int staged = isa->async_copy ? 0 : (int)ht_ceil_div(tile_stage_bytes(t, s), cost->threads * 4);
    cost->regs_accumulators = accumulators + outside;
    cost->regs_fragments = sets * set + staged;
    cost->regs_other = isa->other_registers;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

static int products_into(const struct scheme *s, int accumulator) {
    int count = 0;
    for (int p = 0; p < s->products; p++)
        count += s->product[p].acc == accumulator;
    return count;
}

/* FP32 adds for each element of C per bk step, x256: after each MMA, or one per promotion interval. Worked
 * line: f16x3, bk 32, interval 64: half an add, 128. */
static int64_t adds_per_element_x256(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    int64_t adds = 0;
    for (int a = 0; a < s->accumulators; a++) {
        int k = model_promote_k(s, isa, a);
        if (k > 0)
            adds += (s->promote[a] == PROMOTE_EACH_MMA ? products_into(s, a) : 1) * (int64_t)t->bk * 256 / k;
    }
    return adds;
}

struct instructions {
    int mma, load, copy; /* of one warp in one bk step */
};

static struct instructions count_instructions(const struct isa *isa, const struct scheme *s,
                                              const struct tile *t) {
    struct instructions i;
    i.mma = s->products * (t->wm / isa->mi) * (t->wn / isa->ni) * (t->bk / isa->ki);
    i.load = (int)ht_ceil_div(s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(s),
                              isa->wave_size * LOAD_BYTES);
    i.copy = (int)ht_ceil_div(tile_stage_bytes(t, s), tile_threads(t, isa) * COPY_BYTES);
    if (!isa->async_copy)
        i.copy *= 2; /* load to registers, store to shared memory */
    return i;
}

/* Instructions of the unrolled body of one step; promotion is in the text once even when it runs every other
 * step. Worked line: f16x3, sm_80, 128x128x32, 64x32: 96 MMAs + 24 ldmatrix + 8 copies + 64 adds + 40 = 232.
 */
int model_halftone_instructions(const struct isa *isa, const struct scheme *s, const struct tile *t) {
    const struct instructions i = count_instructions(isa, s, t);
    int64_t adds = adds_per_element_x256(isa, s, t);
    if (adds > 0 && adds < 256)
        adds = 256;
    return i.mma + i.load + i.copy + (int)(adds * t->wm * t->wn / isa->wave_size / 256) + LOOP_INSTRUCTIONS;
}

/* ---- clocks of a step ---- */

/* Dependent MMAs of one warp in a step. Inside a chain each MMA waits for the one before it; a warp's other
 * tiles fill that time, so the chain is the products of one element. A chain that is added outside the matrix
 * unit keeps only CHAINS_OUTSIDE results in flight, over all tiles of the warp. Worked line: f16x3, sm_80, bk
 * 32, latency 33: 3 * 2 * 33 = 198 clocks. */
static int64_t chain_clocks(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                            const struct tile *t) {
    int64_t clocks = 0;
    for (int a = 0; a < s->accumulators; a++) {
        int64_t mmas = (int64_t)products_into(s, a) * (t->bk / isa->ki);
        if (s->promote[a] == PROMOTE_EACH_MMA)
            mmas = mmas * (t->wm / isa->mi) * (t->wn / isa->ni) / CHAINS_OUTSIDE;
        clocks = largest(clocks, mmas * g->mma_latency_cycles);
    }
    return clocks;
}

/* Worked lines (unit test: 108 SMs at 1410 MHz, l2 5120 GB/s, f16x3, 128x128x32, 8 warps of 64x32, 1024 FMA
 * and 128 smem bytes a clock, 4 schedulers, 64 FP32 FMA, latencies 33 / 29 / 500 clocks, 3 stages): tensor 3
 * * 524288 / 1024 = 1536; smem (8 * 2 * 96 * 32 * 2 + 32768) / 128 = 1024; issue 8 * (96 + 24 + 8 + 32 + 40)
 * / 4 = 400; fp32 16384 / 2 / 64 = 128; fill 32768 * 108 * 1410 / 5120000 = 974; chain 198; exposed 30; copy
 * 3 * 500 / 2 = 750. */
struct model_step model_halftone_step(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                                      const struct tile *t, int blocks_per_sm) {
    const struct instructions i = count_instructions(isa, s, t);
    const int64_t warps = tile_warps(t), stage_bytes = tile_stage_bytes(t, s);
    const int64_t area = (int64_t)t->bm * t->bn, adds = adds_per_element_x256(isa, s, t);
    /* Each scheduler has its own matrix unit: with fewer warps than schedulers the others stand still. */
    const int64_t resident = warps * blocks_per_sm;
    const int64_t active = resident < g->schedulers_per_sm ? resident : g->schedulers_per_sm;
    const int64_t fragment_bytes = warps * s->slices * (t->wm + t->wn) * t->bk * scheme_slice_bytes(s);
    const int64_t write_x256 = stage_bytes * 256 / g->smem_bytes_per_cycle;
    struct model_step step;
    step.tensor = s->products * area * t->bk * 256 / g->f16_fma_per_cycle * g->schedulers_per_sm / active;
    step.smem = fragment_bytes * 256 / g->smem_bytes_per_cycle + write_x256;
    step.issue = warps *
                 ((i.mma + i.load + i.copy + LOOP_INSTRUCTIONS) * (int64_t)256 +
                  adds * t->wm * t->wn / isa->wave_size) /
                 active;
    step.fp32 = area * adds / g->fp32_fma_per_cycle;
    step.chain = chain_clocks(g, isa, s, t) * 256;
    step.fill = stage_bytes * 256 * g->sms * model_clock_mhz(g) / (g->l2_gbps * 1000);
    /* The step's last MMAs follow the barrier and cover the latency of the next fragments. */
    step.exposed = BARRIER_CLOCKS * 256;
    if (!isa->async_copy) /* a second barrier, and the stores between the two */
        step.exposed += BARRIER_CLOCKS * 256 + write_x256;
    const int lookahead = isa->async_copy && t->stages > 1 ? t->stages - 1 : 1;
    step.copy = LOADED_LATENCY * g->dram_latency_cycles * 256 / lookahead;
    return step;
}

/* Clocks x256 of the busiest pipe, and what the others cost it. Worked line (the step above): 1536 + (1024 +
 * 400 + 128
 * + 974) / 16 = 1693. */
static int64_t busy(const struct model_step *s) {
    int64_t most = largest(largest(s->tensor, s->smem), largest(s->issue, s->fp32));
    return most + (s->tensor + s->smem + s->issue + s->fp32 + s->fill - most) / INTERFERENCE;
}

/* ---- the whole product ---- */

/* Device memory, ns. The blocks of one wave cover MODEL_RASTER_ROWS tile rows and as many tile columns as
 * that takes; each wave reads those rows of A and columns of B once (L2 keeps the k range in use), and C is
 * written once. Never less than reading A and B once. Worked line: A800, f16x3, 128x128 tiles, 4096^3, 1
 * block per SM, 2039 GB/s: a wave of 108 blocks = 8 x 14 tiles reads 22 * 128 * 4096 * 4 = 46,137,344 bytes;
 * 1024 / 108 waves: 437,450,373 + C 67,108,864 = 504,559,237 bytes = 247,454 ns. */
int64_t model_halftone_dram_ns(const struct gpu *g, const struct scheme *s, const struct tile *t,
                               const struct shape *shape, int blocks_per_sm) {
    const int64_t rows = ht_ceil_div(shape->m, t->bm), columns = ht_ceil_div(shape->n, t->bn);
    const int64_t element_bytes = (int64_t)s->slices * scheme_slice_bytes(s);
    const int64_t blocks = ht_mul(rows, columns), slots = g->sms * blocks_per_sm;
    const int64_t wave = blocks < slots ? blocks : slots;
    const int64_t high = rows < MODEL_RASTER_ROWS ? rows : MODEL_RASTER_ROWS;
    const int64_t wide = ht_ceil_div(wave, high);
    const int64_t wave_bytes = ht_mul(high * t->bm + wide * t->bn, ht_mul(shape->k, element_bytes));
    const int64_t once = ht_mul(ht_add(shape->m, shape->n), ht_mul(shape->k, element_bytes));
    const int64_t reads = largest(once, ht_mul(wave_bytes, blocks) / wave);
    return ht_add(reads, ht_mul(ht_mul(shape->m, shape->n), 4)) / g->dram_gbps;
}

/* Prologue (start, first copies) and epilogue (C stored by all resident blocks at once, this SM's share of
 * device memory). Worked line: A800, 128x128, 1 block, 500 clocks latency, 2039 GB/s, 1410 MHz: 2000 + 500 +
 * 65536 * 2 * 108 * 1410 / 2039000 = 9788 -> 12288. */
static int64_t fixed_clocks(const struct gpu *g, const struct tile *t, int blocks_per_sm) {
    int64_t bytes = (int64_t)t->bm * t->bn * 4 * STORE_SLOWDOWN * blocks_per_sm;
    return BLOCK_START_CLOCKS + g->dram_latency_cycles +
           bytes * g->sms * model_clock_mhz(g) / (g->dram_gbps * 1000);
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                         const struct tile *t, struct cost *cost) {
    const struct model_step shared = model_halftone_step(g, isa, s, t, cost->blocks_per_sm);
    const struct model_step alone = model_halftone_step(g, isa, s, t, 1);
    int64_t latency = largest(busy(&alone), alone.chain) + alone.exposed;
    cost->coefficients.blocks_per_sm = cost->blocks_per_sm;
    cost->coefficients.step_busy_x256 = clamp32(busy(&shared));
    cost->coefficients.step_latency_x256 = clamp32(largest(latency, alone.copy));
    cost->coefficients.fixed_cycles = clamp32(fixed_clocks(g, t, cost->blocks_per_sm));
    cost->coefficients.step_bytes = tile_stage_bytes(t, s);
    cost->coefficients.step_k = t->bk;
}

/* The largest term of a wave, as full as the shape makes it. "latency" is what one block cannot hide: a chain
 * of MMAs, the barrier and first fragments, or copies that arrive late. */
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
    } terms[] = {{"tensor", per_sm * step.tensor},
                 {"smem", per_sm * step.smem},
                 {"issue", per_sm * step.issue},
                 {"fp32", per_sm * step.fp32},
                 {"l2", l2},
                 {"latency", largest(largest(step.chain, step.exposed), step.copy)}};
    int most = 0;
    for (int i = 1; i < (int)(sizeof terms / sizeof terms[0]); i++) {
        if (terms[i].clocks > terms[most].clocks)
            most = i;
    }
    snprintf(cost->binding, sizeof cost->binding, "%s", dram_bound ? "dram" : terms[most].name);
}

/* What a tile needs against what there is; the first shortage is the reason. */
static void check_budget(const struct gpu *g, const struct isa *isa, const struct scheme *s,
                         const struct tile *t, struct cost *cost) {
    const bool amd = isa->wave_size == 64;
    const int code_bytes =
        model_halftone_instructions(isa, s, t) * (amd ? INSTRUCTION_BYTES_AMD : INSTRUCTION_BYTES);
    if (cost->threads > g->threads_per_block_max)
        model_reject(cost, "threads: %d > %lld per block", cost->threads,
                     (long long)g->threads_per_block_max);
    else if (cost->regs_per_thread > g->registers_per_thread_max)
        model_reject(cost, "registers: accumulators %d + fragments %d + other %d = %d > %lld per thread",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, cost->regs_per_thread,
                     (long long)g->registers_per_thread_max);
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
    registers(isa, s, t, cost);
    cost->smem_bytes = t->stages * tile_stage_bytes(t, s);
    check_budget(g, isa, s, t, cost);
    if (!cost->fits)
        return;
    coefficients(g, isa, s, t, cost);
    int64_t sm_ns = ht_cost_ns(&cost->coefficients, t->bm, t->bn, g->sms, model_clock_mhz(g), g->l2_gbps,
                               g->dram_gbps, g->launch_ns, shape->m, shape->n, shape->k, 1, 1);
    int64_t dram_ns = model_halftone_dram_ns(g, s, t, shape, cost->blocks_per_sm);
    cost->predicted_ns = largest(sm_ns, dram_ns);
    cost->score = -cost->predicted_ns;
    name_binding(g, isa, s, t, shape, dram_ns > sm_ns, cost);
}
