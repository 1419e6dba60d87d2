/* model_fma: MODEL_HALFTONE for kernels that read the operands as they are and have multiply-adds for all of it
 * (templates/fma_direct.cu, thin_direct.cu, tall_direct.cu). The first wait for shared memory and for C's way out, the second for P's way in. */
#include "model/model.h"

#include <string.h>

enum {
    FMA_OTHER_REGISTERS = 20,  /* beside sums, numbers on their way and operands of one k; ptxas: 128 and 80 with 128 x 64 and 64 x 64 */
    THIN_OTHER_REGISTERS = 22, /* ptxas: 80 with one column, 128 with four, where that is what there is */
    COLUMN_REGISTERS = 10,     /* of Q's columns: an address, and what meets two loads */
    L2_HALVES = 2,             /* what all SMs read is kept in each: tall kernels' lone blocks take 484 clocks a line (median) up to 32 MB, 1,105 beyond */
    FMA_ROW_LANES = 16, THIN_LANES = 8, THIN_LINE = 32, /* lanes of a warp with different rows; lanes and numbers of a line that it loads */
    /* Fitted to the H200 at 1980 MHz. Tiles: results/tune-h200-random-fit.tsv, -direct-fit and -tall-fit, where a kernel takes less than 1.5 times the fastest
     * one's time, root mean square error 18 %; vectors and tall ones as model_dmma: 14 and 18 %. */
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
    TALL_OWN = 4, TALL_LINE = 32, /* rows of a thread, and k of each line */
    TALL_COLUMN_REGISTERS = 12, TALL_OTHER_REGISTERS = 16, /* for each of Q's columns; ptxas: 64, 80 and, where that is what there is, 128 with four */
    TALL_RAGGED_CLOCKS = 177,  /* more of a line that begins anywhere */
    TALL_START_CLOCKS = 1933, TALL_TILE_CLOCKS = 234, /* of a launch; of a block */
    TALL_BYTES = 63, TALL_COLUMN_CLOCKS = 207, /* of an SM in a clock; of a line for each of Q's columns */
    TALL_STREAM_PERCENT = 109, TALL_COLUMN_STREAM_PERCENT = 10, /* of device memory's rate, less for each column more: much of it comes from L2 */
    /* Where P is B and A has several rows, which lie side by side: 2 x 8192 x 8192, 4 x 4096 x 4096; 102 x 560 x 2. */
    THIN_SWAPPED_PERCENT = 101, TALL_SWAPPED_PERCENT = 106
};

/* Warps of a thin block that have the same rows: SPREAD of the template. */
static int spread(const struct isa *isa, const struct tile *t) {
    return tile_threads(t, isa) / THIN_LANES / t->bm;
}

/* Numbers that a lane reads from shared memory for each k. */
static int operands(const struct isa *isa, const struct tile *t) {
    return t->wm / FMA_ROW_LANES + t->wn * FMA_ROW_LANES / isa->wave_size;
}

/* Worked lines: 128x64x16, warps 128x16: 64 sums, 16 + 8 numbers on their way, 8 + 8 operands, 20 = 124; thin 8x1x256: 4 sets of 4
 * sums, 8 loads of 4, 10 for Q, 22 = 80; 16x4x256: 32 + 32 + 40 + 22 = 126; tall 128x2x64: 8 + 32 + 24 + 16 = 80. */
static void registers(const struct isa *isa, const struct tile *t, struct cost *cost) {
    const int threads = tile_threads(t, isa);
    if (isa->direct == DIRECT_TALL) {
        cost->regs_accumulators = TALL_OWN * t->bn;
        cost->regs_fragments = t->bm * t->bk / threads + TALL_COLUMN_REGISTERS * t->bn;
        cost->regs_other = TALL_OTHER_REGISTERS + (t->bn == 1 ? isa->outside_registers : 0);
    } else if (isa->direct == DIRECT_THIN) {
        cost->regs_accumulators = 4 * t->bn * spread(isa, t);
        cost->regs_fragments = 4 * t->bk / THIN_LINE + COLUMN_REGISTERS * t->bn;
        cost->regs_other = THIN_OTHER_REGISTERS;
    } else {
        cost->regs_accumulators = t->wm * t->wn / isa->wave_size;
        cost->regs_fragments = t->bm * t->bk / threads + (int)ht_ceil_div(t->bn * t->bk, threads) + operands(isa, t);
        cost->regs_other = FMA_OTHER_REGISTERS;
    }
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

/* As the templates lay it out: two stages and, for a long k, a tile of sums; or the warps' results. */
static int smem_bytes(const struct isa *isa, const struct tile *t) {
    if (isa->direct == DIRECT_TALL)
        return 4 * THIN_LANES * (t->bn * t->bm + TALL_OWN);
    if (isa->direct == DIRECT_THIN)
        return 4 * t->bn * THIN_LINE * THIN_LANES * spread(isa, t);
    return t->stages * t->bk * 4 * (t->bm + 2 + t->bn + 4) + 4 * t->bm * t->bn;
}

/* Clocks x256 of a step of a block that has `active` schedulers. Worked line, fma: 128x64x16, warps of 128x16, sm_90a: for each k a
 * lane has 64 multiply-adds and reads 16 numbers: 4 warps x 16 k x 80 / 4 = 1280 instructions; shared memory returns 4 bytes a lane and
 * clock: 4 x 16 x 16, and 128 / 2 x 4 for sums that wait = 1280; 1280 * 1.65 = 2112. Thin, 8x1x256: 8192 bytes / 64 + 2048 / 36 = 184. */
static int64_t busy(const struct gpu *g, const struct isa *isa, const struct tile *t, int64_t active) {
    const int64_t lanes = isa->wave_size, warps = tile_warps(t);
    if (isa->direct == DIRECT_THIN)
        return (int64_t)t->bm * t->bk * 256 * (4 * THIN_FMA + t->bn * THIN_BYTES) / (THIN_BYTES * THIN_FMA);
    const int64_t sums = (int64_t)t->wm * t->wn / lanes, loads = operands(isa, t);
    const int64_t issue = warps * t->bk * (sums + loads) * 256 / active;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / g->fp32_fma_per_cycle * g->schedulers_per_sm / active;
    const int64_t smem = warps * (t->bk * loads + 2 * sums * t->bk / FMA_CHAIN) * lanes * 4 * 256 / g->smem_bytes_per_cycle;
    return model_largest(model_largest(issue, unit), smem) * (t->bn > FMA_SLIM_COLUMNS ? FMA_BUSY_PERCENT : FMA_SLIM_BUSY_PERCENT) / 100;
}

/* What a kernel gets of device memory's rate: tiles of 64, 32 and 16 columns 49, 48 and 47 %, so that ties go to the widest; others read A again. */
static int stream_percent(const struct isa *isa, const struct tile *t) {
    if (isa->direct == DIRECT_THIN)
        return THIN_STREAM_PERCENT - THIN_COLUMN_STREAM_PERCENT * (t->bn - 1);
    return FMA_STREAM_PERCENT - (t->bn < 64) - (t->bn < 32);
}

/* What a step of a block that is alone waits longer for what L2 does not keep. */
static void wait_for_memory(const struct gpu *g, int64_t clocks, struct ht_cost_coefficients *c) {
    c->near_bytes = (int)g->l2_bytes / L2_HALVES;
    c->far_cycles = (int)model_cool_clocks(g, clocks);
}

/* A step is a line of each row, 32 k. Worked line, 128x1: 16384 bytes / 63 + 207 = 467 clocks. */
static void tall_coefficients(const struct gpu *g, const struct tile *t, struct cost *cost) {
    const int64_t line = 256 * ((int64_t)t->bm * TALL_LINE * 4 / TALL_BYTES + TALL_COLUMN_CLOCKS * t->bn);
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_busy_x256 = (int32_t)model_cool_clocks(g, line);
    c->step_latency_x256 = c->step_busy_x256;
    wait_for_memory(g, TALL_FAR_CLOCKS, c);
    c->fixed_cycles = (int)model_cool_clocks(g, TALL_TILE_CLOCKS);
    c->start_cycles = (int)model_cool_clocks(g, TALL_START_CLOCKS);
    c->swapped_percent = TALL_SWAPPED_PERCENT;
    c->ragged_cycles = (int)model_cool_clocks(g, TALL_RAGGED_CLOCKS);
    c->whole_k = 1;
    c->step_bytes = (t->bm + t->bn) * TALL_LINE * 4;
    c->step_k = TALL_LINE;
    c->stream_gbps = (int)g->dram_gbps * (TALL_STREAM_PERCENT - TALL_COLUMN_STREAM_PERCENT * (t->bn - 1)) / 100;
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct tile *t, struct cost *cost) {
    const bool thin = isa->direct == DIRECT_THIN;
    const int64_t all = g->schedulers_per_sm, warps = tile_warps(t), resident = warps * cost->blocks_per_sm;
    const int64_t alone = busy(g, isa, t, warps < all ? warps : all);
    const int64_t latency = alone + (thin ? THIN_WAIT_CLOCKS : FMA_STEP_CLOCKS) * 256;
    const int64_t tile = thin ? THIN_TILE_CLOCKS + THIN_COLUMN_TILE_CLOCKS * t->bn
                              : FMA_START_CLOCKS + FMA_SUM_CLOCKS * t->wm * t->wn / isa->wave_size;
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_busy_x256 = (int32_t)model_cool_clocks(g, busy(g, isa, t, resident < all ? resident : all));
    c->step_latency_x256 = (int32_t)model_cool_clocks(g, latency);
    c->fixed_cycles = (int)model_cool_clocks(g, tile);
    c->start_cycles = thin ? (int)model_cool_clocks(g, THIN_START_CLOCKS) : 0;
    c->swapped_percent = thin ? THIN_SWAPPED_PERCENT : 0;
    c->ragged_cycles = thin ? (int)model_cool_clocks(g, THIN_RAGGED_CLOCKS) : 0;
    c->row_parts = thin ? THIN_LANES : 0;
    if (thin)
        wait_for_memory(g, THIN_FAR_CLOCKS, c);
    c->hidden_cycles = strcmp(isa->launch, "launch_dependent") == 0 ? (int)model_cool_clocks(g, thin ? THIN_HIDDEN_CLOCKS : FMA_HIDDEN_CLOCKS) : 0;
    c->step_bytes = (t->bm + t->bn) * t->bk * 4;
    c->step_k = t->bk;
    c->stream_gbps = (int)g->dram_gbps * stream_percent(isa, t) / 100;
    c->part_cycles = (int)g->l2_latency_cycles / HT_PARTS_AHEAD;
}

void model_fma(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, const struct shape *shape,
               struct cost *cost) {
    (void)s;
    registers(isa, t, cost);
    cost->smem_bytes = smem_bytes(isa, t);
    if (!model_resides(g, isa, t, cost))
        return;
    if (isa->direct == DIRECT_TALL)
        tall_coefficients(g, t, cost);
    else
        coefficients(g, isa, t, cost);
    model_predict_direct(g, t, shape, cost, "fp32");
}
