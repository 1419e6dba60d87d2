/* cost_stream: time of kernels that read the caller's matrices: steps of a block, or device memory's stream, whichever takes longer.
 *
 * Constants were fitted on the H200 at 1980 MHz, where a kernel takes less than 1.5 times the fastest one's time; each family says on
 * which tables, with which root mean square error. Instructions were counted in the code of nvcc 13.0 for sm_80. */
#include "model/family.h"

#include <stdio.h>
#include <string.h>

enum { PORT_BYTES = 64 }; /* from L2 to an SM in a clock */

/* What all of them have alike. `hidden`: clocks of a split-K reduction's launch behind the kernel, where it is a dependent one. */
static struct ht_cost_coefficients *streamed(const struct target *on, const struct tile *t, struct cost *cost, int percent, int64_t hidden) {
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_bytes = (t->bm + t->bn) * t->bk * 4;
    c->step_k = t->bk;
    c->stream_gbps = (int)on->g->dram_gbps * percent / 100;
    c->part_cycles = (int)on->g->l2_latency_cycles / HT_SPLITK_PREFETCH;
    c->hidden_cycles = strcmp(on->isa->launch, "launch/pdl") == 0 ? (int)model_cool_clocks(on->g, hidden) : 0;
    return c;
}

static void predict(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost, const char *unit) {
    cost->predicted_ns = model_ns(on, t, shape, cost);
    const int64_t bytes = ht_mul(ht_mul(ht_add(shape->m, shape->n), shape->k), 4);
    snprintf(cost->binding, sizeof cost->binding, "%s", 2 * (bytes / on->g->dram_gbps) > cost->predicted_ns ? "dram" : unit);
}

static int64_t active(const struct target *on, int64_t warps) {
    return warps < on->g->schedulers_per_sm ? warps : on->g->schedulers_per_sm;
}

/* ---- unpacked_mma, unpacked_wgmma (templates/skeletons/unpacked_tile.cu). A block cuts each number of a stage once into slices, in shared memory;
 * warps load fragments and multiply. A large product waits for mma.sync, which is slower than the unit, a small one for the way of its
 * data, a skinny one for memory. Where the unit multiplies FP32 (gfx90a) it does so in the place of the multiply-adds, and nothing is cut. */
enum {
    PART_INSTRUCTIONS = 36,    /* of 16 bytes on their way: load 1, 3 stores, 2 addresses, and for each pair of numbers 3
                                * conversions, 4 to expand, 4 subtractions, 4 to look at them */
    COPY_INSTRUCTIONS = 5,     /* where FP32 is stored as it is */
    LOOP_INSTRUCTIONS = 40,    /* as model_mma: counters, offsets, barrier */
    NUMBER_INSTRUCTIONS = 8,    /* of theirs for each number */
    STEP_INSTRUCTIONS = 150,   /* and besides */
    BANK_ROUNDS = 2,           /* of 32 lanes' loads for them: rows r and r + 8 of 16 lie in one bank (stage/global_f32.cuh) */
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
    HIDDEN_CLOCKS = 2000, WARPGROUP_HIDDEN_CLOCKS = 179 /* of a reduction's launch */
};

/* Clocks x256 of one step of a block on the instructions and shared memory of FP32 multiply-adds, or MMAs. */
static int64_t fma_busy(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), lanes = on->isa->wave_size, area = (int64_t)t->wm * t->wn;
    const struct fp32_work w = model_fp32_work(on, t);
    const int64_t issue = w.multiplies + 2 * w.loads + model_unpacked_parts(on, t) * COPY_INSTRUCTIONS + LOOP_INSTRUCTIONS + area / lanes;
    const int64_t unit =
        (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s) * on->g->schedulers_per_sm / schedulers;
    const int64_t rounds = on->isa->mfma_f32 ? BANK_ROUNDS : 1;
    const int64_t smem = rounds * warps * w.loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(warps * issue * 256 / schedulers, unit), smem);
}

/* The same on the matrix unit. Worked line: 64x64x32, 4 warps of 32x32, sm_90a: a warp has 96 MMAs, 24 loads of fragments, 64
 * sums to add to, 8 parts: 96 + 24 + 64 + 8 * 36 + 40 = 512 instructions, four warps on four schedulers; unit 6 * 64 * 64 * 32 /
 * 2048 / 0.62 = 619; shared memory 4 * 64 rows read and 128 written, 192 bytes each, 128 a clock: 576; 120 % of the sum is 2049. */
static int64_t mma_busy(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), sums = (int64_t)t->wm * t->wn / on->isa->wave_size, steps = t->bk / on->mma->fragment_k;
    const int64_t mmas = (int64_t)on->s->products * (t->wm / on->mma->m) * (t->wn / on->mma->n) * steps;
    const int64_t loads = on->s->slices * (t->wm / on->mma->m + (t->wn + 15) / 16) * steps;
    const int64_t issue = mmas + loads + sums * steps + model_unpacked_parts(on, t) * PART_INSTRUCTIONS + LOOP_INSTRUCTIONS;
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s) * on->g->schedulers_per_sm /
                         schedulers * 100 / on->isa->mma_sync_rate_percent;
    const int64_t rows = warps * (t->wm + t->wn) + t->bm + t->bn;
    const int64_t smem = rows * t->bk * on->s->slices * 2 * 256 / on->g->smem_bytes_per_cycle;
    return (warps * issue * 256 / schedulers + unit + smem) * OVERLAP_PERCENT / 100;
}

/* The same of warpgroups, of whose groups one takes the step. Worked line: 128x64x32, 8 warps, two on a scheduler: 24 numbers of a
 * thread, 2 x (24 x 8 + 150) = 684 instructions; unit 6 * 128 * 64 * 32 / 2048 = 768; shared memory: each warpgroup reads six slices of
 * Q, of which the block stores three, (2 x 6 + 3) x 64 x 64 bytes / 128 = 480; and 154: 2086. */
static int64_t warpgroup_busy(const struct target *on, const struct tile *t) {
    const int64_t threads = tile_threads(t, on) / tile_groups(t, on), warps = threads / on->isa->wave_size;
    const int64_t numbers = (int64_t)(t->bm + t->bn) * t->bk / threads, warpgroups = t->bm / 64;
    const int64_t issue = warps * (numbers * NUMBER_INSTRUCTIONS + STEP_INSTRUCTIONS) * 256 / on->g->schedulers_per_sm;
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t smem = (warpgroups * on->s->products + on->s->slices) * t->bn * t->bk * 2 * 256 / on->g->smem_bytes_per_cycle;
    return issue + unit + smem + STEP_WAIT_CLOCKS * 256;
}

/* Clocks x256 of one step of a block beside blocks_per_sm - 1 others. */
static int64_t tile_busy(const struct target *on, const struct tile *t, int blocks_per_sm) {
    const int64_t schedulers = active(on, (int64_t)tile_warps(t) * blocks_per_sm), port = (int64_t)(t->bm + t->bn) * t->bk * 4 * 256 / PORT_BYTES;
    return model_largest(on->isa->mma_bf16 ? mma_busy(on, t, schedulers) : fma_busy(on, t, schedulers), port);
}

/* Clocks x256 of the MMAs of a step that depend on one another. */
static int64_t step_chain(const struct target *on, const struct tile *t) {
    const int64_t groups = t->wm / on->mma->m / model_unpacked_rows(on, t) * (t->bk / on->mma->fragment_k);
    const int64_t mmas = on->isa->mma_bf16 ? groups * on->s->products : on->isa->mfma_f32 ? t->bk / ISA_FP32_MMA_K : 0;
    return mmas * on->g->mma_latency_cycles / on->mma->latency_divisor * 256;
}

void time_unpacked_mma(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t sets = on->isa->mma_bf16 ? model_unpacked_sets(on, t) : 1, sums = (int64_t)t->wm * t->wn / on->isa->wave_size;
    const int64_t arrival = (on->g->l2_latency_cycles + on->g->dram_latency_cycles) * ARRIVAL_PERCENT * 256 / 100 / sets;
    struct ht_cost_coefficients *c = streamed(on, t, cost, STREAM_PERCENT, HIDDEN_CLOCKS);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, tile_busy(on, t, cost->blocks_per_sm));
    c->step_latency_x256 = (int32_t)model_cool_clocks(on->g, model_largest(tile_busy(on, t, 1), step_chain(on, t)) + arrival);
    c->fixed_cycles = (int)model_cool_clocks(on->g, BLOCK_START_CLOCKS + SUM_CLOCKS * sums);
    predict(on, t, shape, cost, on->isa->mma_bf16 || on->isa->mfma_f32 ? "tensor" : "fp32");
}

void time_unpacked_wgmma(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t port = (int64_t)(t->bm + t->bn) * t->bk * 4 * 256 / PORT_BYTES, sums = (int64_t)t->wm * t->wn / on->isa->wave_size;
    struct ht_cost_coefficients *c = streamed(on, t, cost, WARPGROUP_STREAM_PERCENT, WARPGROUP_HIDDEN_CLOCKS);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, model_largest(warpgroup_busy(on, t), port));
    c->step_latency_x256 = c->step_busy_x256; /* its steps wait for what they do */
    c->fixed_cycles = (int)model_cool_clocks(on->g, WARPGROUP_START_CLOCKS + WARPGROUP_SUM_CLOCKS * sums);
    c->ragged_cycles = (int)model_cool_clocks(on->g, WARPGROUP_RAGGED_CLOCKS);
    c->narrow_cycles = (int)model_cool_clocks(on->g, WARPGROUP_NARROW_CLOCKS * t->bm);
    predict(on, t, shape, cost, "tensor");
}

/* ---- dmma (templates/skeletons/dmma.cu). Where k is a few dozen it waits for C's way out, then for the unit. */
enum {
    DMMA_K_LANES = 4, DMMA_LINES = 8,    /* lanes that share out the 8 k of an MMA; a lane's rows and columns lie so far apart */
    DMMA_CONVERSIONS = 16,          /* of FP32 to FP64, of an SM in a clock: CUDA C++ Programming Guide, arithmetic instructions, 9.0 */
    DMMA_NEAR_ROWS = 64,            /* of the template stage/cp_async_tile */
    DMMA_SWAP_SHARE = 8,            /* an exchange of the operands must save one of so many tiles */
    /* Fitted to the H200 at 1980 MHz: every split of 392 shapes (results/tune-h200-splits.tsv; bench/decisions/043), where a kernel
     * takes less than 1.5 times the fastest one's time: root mean square error 14 %. An MMA lets nothing else issue: DMMA_UNIT_PERCENT. */
    DMMA_UNIT_PERCENT = 117, DMMA_STEP_CLOCKS = 106, /* of what the busiest pipe needs, and more of a step: a barrier, copies */
    DMMA_WAIT_CLOCKS = 15, DMMA_ARRIVAL_CLOCKS = 86, /* more of a step of a block that is alone, and for each KiB that it copies */
    DMMA_RAGGED_CLOCKS = 65,        /* more of a step where lines of P are copied by four bytes */
    DMMA_START_CLOCKS = 1218, DMMA_SUM_CLOCKS = 70, /* of a block: launch, first loads; and for each sum of a lane, its way out */
    DMMA_BLOCK_CLOCKS = 387, DMMA_STORE_CLOCKS = 31, /* of a block that the SM's other blocks wait for, and for each 1024 numbers that it stores */
    DMMA_FAR_PERCENT = 122,         /* where lines of more than DMMA_NEAR_ROWS of P are of k */
    DMMA_STREAM_PERCENT = 101,      /* of device memory's rate; 4.8 TB/s */
    DMMA_HIDDEN_CLOCKS = 1005       /* of the reduction's launch, where it is a dependent one, behind the kernel */
};

/* Clocks x256 of a step of a block that has `schedulers` schedulers. Worked line: 64x64x16, four warps of 32x32: 65536 / 128 = 512; 4 x 32 x 32
 * conversions, 16 a clock, 256; shared memory 4 x 32 x 128 bytes / 128, 128; 512 * 1.17 + 106 = 705. */
static int64_t dmma_busy(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size, loads = tile_warps(t) * (int64_t)(t->wm + t->wn) / DMMA_LINES * t->bk / DMMA_K_LANES;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / on->g->fp64_fma_per_cycle * on->g->schedulers_per_sm / schedulers;
    const int64_t widen = loads * lanes * 256 / DMMA_CONVERSIONS * on->g->schedulers_per_sm / schedulers;
    const int64_t smem = loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(unit, widen), smem) * DMMA_UNIT_PERCENT / 100 + DMMA_STEP_CLOCKS * 256;
}

void time_dmma(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t warps = tile_warps(t), sums = (int64_t)t->wm * t->wn / on->isa->wave_size, bytes = (int64_t)(t->bm + t->bn) * t->bk * 4;
    const int64_t wait = (DMMA_WAIT_CLOCKS * 1024 + DMMA_ARRIVAL_CLOCKS * bytes) * 256 / 1024;
    struct ht_cost_coefficients *c = streamed(on, t, cost, DMMA_STREAM_PERCENT, DMMA_HIDDEN_CLOCKS);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, dmma_busy(on, t, active(on, warps * cost->blocks_per_sm)));
    c->step_latency_x256 = (int32_t)model_cool_clocks(on->g, dmma_busy(on, t, active(on, warps)) + wait);
    c->fixed_cycles = (int)model_cool_clocks(on->g, DMMA_START_CLOCKS + DMMA_SUM_CLOCKS * sums);
    c->ragged_cycles = (int)model_cool_clocks(on->g, DMMA_RAGGED_CLOCKS);
    c->swapped_percent = t->bm > DMMA_NEAR_ROWS ? DMMA_FAR_PERCENT : 0;
    c->block_cycles = (int)model_cool_clocks(on->g, DMMA_BLOCK_CLOCKS + DMMA_STORE_CLOCKS * t->bm * t->bn / 1024);
    c->swap_share = DMMA_SWAP_SHARE;
    predict(on, t, shape, cost, "fp64");
}

/* ---- simt_small_k, gemv, tall_skinny (templates/skeletons/simt_small_k.cu, gemv.cu, tall_skinny.cu): multiply-adds for all of it. The first
 * waits for shared memory and for C's way out, the others for P's way in. */
enum {
    L2_HALVES = 2,             /* what all SMs read is kept in each: tall kernels' lone blocks take 484 clocks a line (median) up to 32 MB, 1,105 beyond */
    /* Fitted to the H200 at 1980 MHz. Tiles: results/tune-h200-random-fit.tsv, -direct-fit and -tall-fit, where a kernel takes less than 1.5 times the fastest
     * one's time, root mean square error 18 %; vectors and tall ones as dmma: 14 and 18 %. */
    FMA_BUSY_PERCENT = 165, FMA_SLIM_COLUMNS = 16, FMA_SLIM_BUSY_PERCENT = 145, /* of what the busiest pipe needs; of so many columns */
    FMA_STEP_CLOCKS = 985,     /* more of a step of a block that is alone */
    FMA_START_CLOCKS = 325,    /* of a block: launch, first loads */
    FMA_SUM_CLOCKS = 125,      /* of a block for each sum of a lane: its way out */
    FMA_STREAM_PERCENT = 49,   /* of device memory's rate, where C is most of it; 2.3 TB/s */
    FMA_CHAIN = 32,            /* k after which a sum waits in shared memory */
    THIN_START_CLOCKS = 290, THIN_TILE_CLOCKS = 2474, THIN_COLUMN_TILE_CLOCKS = 253, /* of a launch, of a block, for each of Q's columns */
    THIN_BYTES = 64, THIN_FMA = 36, /* of an SM in a clock: P from L2; multiply-adds, each with what it loads of Q */
    THIN_STREAM_PERCENT = 101, THIN_COLUMN_STREAM_PERCENT = 2, /* of device memory's rate, 4.8 TB/s; less for each of Q's columns more */
    THIN_WAIT_CLOCKS = 55,     /* more of a step of a block that is alone */
    THIN_FAR_CLOCKS = 464, TALL_FAR_CLOCKS = 650, /* more of a step of a block that is alone where L2 does not keep the matrix: too little is on its way */
    THIN_RAGGED_CLOCKS = 1042, /* more of a step where P's few rows lie side by side and begin anywhere: 2 x 2 x 14855 */
    FMA_HIDDEN_CLOCKS = 2000, THIN_HIDDEN_CLOCKS = 2243, /* of the reduction's launch, where it is a dependent one, behind the kernel */
    TALL_LINE = 32,            /* k of each line of tall_skinny */
    TALL_RAGGED_CLOCKS = 177,  /* more of a line that begins anywhere */
    TALL_START_CLOCKS = 1933, TALL_TILE_CLOCKS = 234, /* of a launch; of a block */
    TALL_BYTES = 63, TALL_COLUMN_CLOCKS = 207, /* of an SM in a clock; of a line for each of Q's columns */
    TALL_STREAM_PERCENT = 109, TALL_COLUMN_STREAM_PERCENT = 10, /* of device memory's rate, less for each column more: much of it comes from L2 */
    /* Where P is B and A has several rows, which lie side by side: 2 x 8192 x 8192, 4 x 4096 x 4096; 102 x 560 x 2. */
    THIN_SWAPPED_PERCENT = 101, TALL_SWAPPED_PERCENT = 106
};

/* Clocks x256 of a step of a block that has so many schedulers. Worked line: 128x64x16, warps of 128x16, sm_90a: for each k a lane has
 * 64 multiply-adds and reads 16 numbers: 4 warps x 16 k x 80 / 4 = 1280 instructions; shared memory returns 4 bytes a lane and clock:
 * 4 x 16 x 16, and 128 / 2 x 4 for sums that wait = 1280; 1280 * 1.65 = 2112. */
static int64_t simt_busy(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size, warps = tile_warps(t);
    const int64_t sums = (int64_t)t->wm * t->wn / lanes, loads = model_simt_operands(on, t);
    const int64_t issue = warps * t->bk * (sums + loads) * 256 / schedulers;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / on->g->fp32_fma_per_cycle * on->g->schedulers_per_sm / schedulers;
    const int64_t smem = warps * (t->bk * loads + 2 * sums * t->bk / FMA_CHAIN) * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(issue, unit), smem) * (t->bn > FMA_SLIM_COLUMNS ? FMA_BUSY_PERCENT : FMA_SLIM_BUSY_PERCENT) / 100;
}

/* Of device memory's rate tiles of 64, 32 and 16 columns get 49, 48 and 47 %, so that ties go to the widest; others read A again. */
void time_simt_small_k(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t warps = tile_warps(t);
    struct ht_cost_coefficients *c = streamed(on, t, cost, FMA_STREAM_PERCENT - (t->bn < 64) - (t->bn < 32), FMA_HIDDEN_CLOCKS);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, simt_busy(on, t, active(on, warps * cost->blocks_per_sm)));
    c->step_latency_x256 = (int32_t)model_cool_clocks(on->g, simt_busy(on, t, active(on, warps)) + FMA_STEP_CLOCKS * 256);
    c->fixed_cycles = (int)model_cool_clocks(on->g, FMA_START_CLOCKS + FMA_SUM_CLOCKS * t->wm * t->wn / on->isa->wave_size);
    predict(on, t, shape, cost, "fp32");
}

/* What a step of a block that is alone waits longer for what L2 does not keep. */
static void wait_for_memory(const struct gpu *g, int64_t clocks, struct ht_cost_coefficients *c) {
    c->near_bytes = (int)g->l2_bytes / L2_HALVES;
    c->far_cycles = (int)model_cool_clocks(g, clocks);
}

/* Worked line, a step of 8x1x256: 8192 bytes / 64 + 2048 / 36 = 184. */
void time_gemv(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t busy = (int64_t)t->bm * t->bk * 256 * (4 * THIN_FMA + t->bn * THIN_BYTES) / (THIN_BYTES * THIN_FMA);
    struct ht_cost_coefficients *c =
        streamed(on, t, cost, THIN_STREAM_PERCENT - THIN_COLUMN_STREAM_PERCENT * (t->bn - 1), THIN_HIDDEN_CLOCKS);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, busy);
    c->step_latency_x256 = (int32_t)model_cool_clocks(on->g, busy + THIN_WAIT_CLOCKS * 256);
    c->fixed_cycles = (int)model_cool_clocks(on->g, THIN_TILE_CLOCKS + THIN_COLUMN_TILE_CLOCKS * t->bn);
    c->start_cycles = (int)model_cool_clocks(on->g, THIN_START_CLOCKS);
    c->swapped_percent = THIN_SWAPPED_PERCENT;
    c->ragged_cycles = (int)model_cool_clocks(on->g, THIN_RAGGED_CLOCKS);
    c->row_parts = GEMV_LANES;
    wait_for_memory(on->g, THIN_FAR_CLOCKS, c);
    predict(on, t, shape, cost, "fp32");
}

/* A step is a line of each row, 32 k, and k is not split. Worked line, 128x1: 16384 bytes / 63 + 207 = 467 clocks. */
void time_tall_skinny(const struct target *on, const struct tile *t, const struct shape *shape, struct cost *cost) {
    const int64_t line = 256 * ((int64_t)t->bm * TALL_LINE * 4 / TALL_BYTES + TALL_COLUMN_CLOCKS * t->bn);
    struct ht_cost_coefficients *c = streamed(on, t, cost, TALL_STREAM_PERCENT - TALL_COLUMN_STREAM_PERCENT * (t->bn - 1), 0);
    c->step_busy_x256 = (int32_t)model_cool_clocks(on->g, line);
    c->step_latency_x256 = c->step_busy_x256;
    wait_for_memory(on->g, TALL_FAR_CLOCKS, c);
    c->fixed_cycles = (int)model_cool_clocks(on->g, TALL_TILE_CLOCKS);
    c->start_cycles = (int)model_cool_clocks(on->g, TALL_START_CLOCKS);
    c->swapped_percent = TALL_SWAPPED_PERCENT;
    c->ragged_cycles = (int)model_cool_clocks(on->g, TALL_RAGGED_CLOCKS);
    c->whole_k = 1;
    c->part_cycles = 0;
    c->step_bytes = (t->bm + t->bn) * TALL_LINE * 4;
    c->step_k = TALL_LINE;
    predict(on, t, shape, cost, "fp32");
}
