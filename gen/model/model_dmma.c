/* model_dmma: MODEL_HALFTONE for kernels that read the operands as they are and multiply by DMMA, FP64 tensor cores (templates/dmma.cu).
 * Where k is a few dozen they wait for C's way out, then for the unit. */
#include "model/model.h"

#include <string.h>

enum {
    OWN_K = 2, K_LANES = 4, LINES = 8, /* k of a lane in an MMA of 8 k, lanes that share them out; its rows and columns lie so far apart */
    OTHER_REGISTERS = 34, SUMS_BESIDE = 3, /* beside sums and operands, and one more for so many sums */
    CONVERSIONS = 16,          /* of FP32 to FP64, of an SM in a clock: CUDA C++ Programming Guide, arithmetic instructions, 9.0 */
    NEAR_ROWS = 64,            /* of the template cp_async_tile */
    SWAP_SHARE = 8,            /* an exchange of the operands must save one of so many tiles */
    /* Fitted to the H200 at 1980 MHz: every split of 392 shapes (results/tune-h200-splits.tsv; bench/decisions/043), where a kernel
     * takes less than 1.5 times the fastest one's time: root mean square error 14 %. An MMA lets nothing else issue: UNIT_PERCENT. */
    UNIT_PERCENT = 117, STEP_CLOCKS = 106, /* of what the busiest pipe needs, and more of a step: a barrier, copies */
    WAIT_CLOCKS = 15, ARRIVAL_CLOCKS = 86, /* more of a step of a block that is alone, and for each KiB that it copies */
    RAGGED_CLOCKS = 65,        /* more of a step where lines of P are copied by four bytes */
    START_CLOCKS = 1218, SUM_CLOCKS = 70, /* of a block: launch, first loads; and for each sum of a lane, its way out */
    BLOCK_CLOCKS = 387, STORE_CLOCKS = 31, /* of a block that the SM's other blocks wait for, and for each 1024 numbers that it stores */
    FAR_PERCENT = 122,         /* where lines of more than NEAR_ROWS of P are of k */
    STREAM_PERCENT = 101,      /* of device memory's rate; 4.8 TB/s */
    HIDDEN_CLOCKS = 1005       /* of the reduction's launch, where it is a dependent one, behind the kernel */
};

/* Worked lines, ptxas' number in brackets where that is what there is: 64x64x16, warps of 32x32: 32 sums of two registers, 8 + 2 operands of
 * two, 34 + 10 = 128 (126); 128x32 the same (128); 32x32x16, warps of 16x16: 16 + 12 + 36 = 64 (64). */
static void registers(const struct isa *isa, const struct tile *t, struct cost *cost) {
    cost->regs_accumulators = 2 * t->wm * t->wn / isa->wave_size;
    cost->regs_fragments = 2 * OWN_K * (t->wm / LINES + 1);
    cost->regs_other = OTHER_REGISTERS + cost->regs_accumulators / 2 / SUMS_BESIDE;
    cost->regs_per_thread = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
}

/* As the template lays it out: stages, in whose place the tile of sums lies afterwards. */
static int smem_bytes(const struct tile *t) {
    const int stages = t->stages * 4 * (t->bm + t->bn) * (t->bk + 4);
    const int straight = 4 * t->bn * (t->bm + 4), swapped = 4 * t->bm * (t->bn + 8), sums = straight > swapped ? straight : swapped;
    return stages > sums ? stages : sums;
}

/* Clocks x256 of a step of a block that has `active` schedulers. Worked line: 64x64x16, four warps of 32x32: 65536 / 128 = 512; 4 x 32 x 32
 * conversions, 16 a clock, 256; shared memory 4 x 32 x 128 bytes / 128, 128; 512 * 1.17 + 106 = 705. */
static int64_t busy(const struct gpu *g, const struct isa *isa, const struct tile *t, int64_t active) {
    const int64_t lanes = isa->wave_size, loads = tile_warps(t) * (int64_t)(t->wm + t->wn) / LINES * t->bk / K_LANES;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / g->fp64_fma_per_cycle * g->schedulers_per_sm / active;
    const int64_t widen = loads * lanes * 256 / CONVERSIONS * g->schedulers_per_sm / active;
    const int64_t smem = loads * lanes * 4 * 256 / g->smem_bytes_per_cycle;
    return model_largest(model_largest(unit, widen), smem) * UNIT_PERCENT / 100 + STEP_CLOCKS * 256;
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct tile *t, struct cost *cost) {
    const int64_t all = g->schedulers_per_sm, warps = tile_warps(t), resident = warps * cost->blocks_per_sm;
    const int64_t sums = (int64_t)t->wm * t->wn / isa->wave_size, bytes = (int64_t)(t->bm + t->bn) * t->bk * 4;
    const int64_t wait = (WAIT_CLOCKS * 1024 + ARRIVAL_CLOCKS * bytes) * 256 / 1024;
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = cost->blocks_per_sm;
    c->step_busy_x256 = (int32_t)model_cool_clocks(g, busy(g, isa, t, resident < all ? resident : all));
    c->step_latency_x256 = (int32_t)model_cool_clocks(g, busy(g, isa, t, warps < all ? warps : all) + wait);
    c->fixed_cycles = (int)model_cool_clocks(g, START_CLOCKS + SUM_CLOCKS * sums);
    c->ragged_cycles = (int)model_cool_clocks(g, RAGGED_CLOCKS);
    c->swapped_percent = t->bm > NEAR_ROWS ? FAR_PERCENT : 0;
    c->block_cycles = (int)model_cool_clocks(g, BLOCK_CLOCKS + STORE_CLOCKS * t->bm * t->bn / 1024);
    c->swap_share = SWAP_SHARE;
    c->hidden_cycles = strcmp(isa->launch, "launch_dependent") == 0 ? (int)model_cool_clocks(g, HIDDEN_CLOCKS) : 0;
    c->step_bytes = (int)bytes;
    c->step_k = t->bk;
    c->stream_gbps = (int)g->dram_gbps * STREAM_PERCENT / 100;
    c->part_cycles = (int)g->l2_latency_cycles / HT_PARTS_AHEAD;
}

void model_dmma(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t, const struct shape *shape,
               struct cost *cost) {
    (void)s;
    if (g->fp64_fma_per_cycle < 1) {
        model_reject(cost, "unit: %s multiplies no FP64 matrices", g->name);
        return;
    }
    registers(isa, t, cost);
    cost->smem_bytes = smem_bytes(t);
    if (!model_resides(g, isa, t, cost))
        return;
    coefficients(g, isa, t, cost);
    model_predict_direct(g, t, shape, cost, "fp64");
}
