/* streaming: gemv and tall_skinny (templates/skeletons), the caller's FP32 or FP64 matrices and a few
 * vectors: form streaming, FMAs that wait for the M-side operand's way in. */
#include <string.h>

#include "family/rows.h"

enum {
    LINE_BYTES = 128, LOAD_BYTES = 16, /* of a line that a warp loads, of a load */
    TALL_OWN = 4,                      /* registers of a thread's rows of tall_skinny */
    GEMV_OTHER_REGISTERS = 22,  /* ptxas: 80 with one column, 128 with four, where that is what there is */
    GEMV_COLUMN_REGISTERS = 10, /* of Q's columns: an address, and what meets two loads */
    TALL_COLUMN_REGISTERS = 12, TALL_AHEAD_REGISTERS = 48, /* for each of Q's columns; all of FP64's */
    TALL_OTHER_REGISTERS = 16   /* ptxas: 64, 80; 128: four columns, two of FP64 (sm_86 spilled with 80) */
};

#define STREAMING(file_, label_, real_)                                                                      \
    UNPACKED_OF(HT_STREAMING, file_, label_), OF_WARPS, FOLDS_SIMT, .hooks = {OF_FMAS(real_)}

const struct fit_streaming fit_gemv = {{SPLITS, "14 %"}, .launch_cycles = 15, .tile_cycles = 2407,
    .tile_column_cycles = 415, .port_bytes = 64, .fma_per_cycle = 39, .alone_cycles = 64, .dram_step_cycles =
    510, .misaligned_cycles = 1134, .pdl_overlap_cycles = 2643, .stream_percent = 101, .stream_column_percent
    = 0};
const struct fit_streaming fit_tall_skinny = {{SPLITS, "26 %"}, .launch_cycles = 2149, .tile_cycles = 34,
    .port_bytes = 62, .fma_per_cycle = 20, .dram_step_cycles = 98, .misaligned_cycles = 227, .stream_percent =
    108, .stream_column_percent = 9};

enum { TALL_DRAM_STEP64 = 234 }; /* FP64's: tune-h200-fp64.tsv, with native64's tiles */

/* Warps of a block that have the same rows (K_WARPS of the template). */
static int gemv_spread(const struct target *on, const struct tile *t) {
    return tile_threads(t, on) / GEMV_LANES / t->bm;
}

/* Worked examples: 8x1x256: 4 sets of 4 sums, 8 loads of 4, 10 for Q, 22 = 80; 16x4x256: 32 + 32 + 40 + 22 =
 * 126. Shared memory: the warps' results. */
static void footprint_gemv(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), line = LINE_BYTES / bytes;
    cost->regs_accumulators = 4 * 4 * t->bn * gemv_spread(on, t) / bytes;
    cost->regs_fragments = 4 * t->bk / line + GEMV_COLUMN_REGISTERS * t->bn;
    cost->regs_other = GEMV_OTHER_REGISTERS;
    cost->smem_bytes = LINE_BYTES * t->bn * GEMV_LANES * gemv_spread(on, t);
}

/* Worked examples: 128x2x64: 8 + 32 + 24 + 16 = 80; FP64, 64x2x64: 8 + 56 + 16 + 24 = 104. */
static void footprint_tall_skinny(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), ahead = bytes > 4 ? TALL_AHEAD_REGISTERS / t->bn : 0;
    cost->regs_accumulators = TALL_OWN * t->bn;
    cost->regs_fragments = bytes / 4 * t->bm * t->bk / cost->threads + TALL_COLUMN_REGISTERS * t->bn;
    cost->regs_other = TALL_OTHER_REGISTERS + (t->bn == 1 ? on->isa->outside_registers : ahead);
    cost->smem_bytes = GEMV_LANES * (bytes * t->bn * t->bm + LOAD_BYTES);
}

/* Worked examples, steps: 8x1x256, 64 bytes and 36 FMAs a cycle: 8192 / 64 + 2048 / 36 = 184
 * cycles; 128x1, a line of 32 k, 61 and 18: 16384 / 61 + 4096 / 18 = 496. Of FP64
 * (predicted) FMAs load twice as much, and are no faster than its units: adds: what they add up besides in a
 * step, for each result. */
static void streaming(const struct target *on, const struct tile *t, const struct fit_streaming *f,
                      int adds, struct cost *cost) {
    const bool fp64 = on->s->in == NUMBER_F64;
    const int64_t bytes = cost->walk.element_bytes, loads = f->fma_per_cycle * 4 / bytes,
                  port = f->port_bytes, unit = model_lane_fmas(on), fma = fp64 && unit < loads ? unit : loads;
    const int64_t all = fp64 && unit < loads ? adds : 0;
    const int64_t busy = (int64_t)t->bm * 256 * (bytes * fma * cost->walk.step_k +
                                                 t->bn * port * (cost->walk.step_k + all)) / (port * fma);
    const int stream = f->stream_percent - f->stream_column_percent * (t->bn - 1);
    cost->formula.stream = (struct ht_streaming){
        .step_busy_x256 = at_boost(on, busy),
        .step_latency_x256 = at_boost(on, busy + f->alone_cycles * 256),
        .tile_overhead_cycles = at_boost(on, f->tile_cycles + f->tile_column_cycles * t->bn),
        .launch_cycles = at_boost(on, f->launch_cycles),
        .misaligned_cycles = at_boost(on, f->misaligned_cycles),
        .pdl_overlap_cycles =
            strcmp(on->isa->launch, "launch/pdl") == 0 ? at_boost(on, f->pdl_overlap_cycles) : 0,
        .dram_stream_gbps = (int)on->g->dram_gbps * stream / 100,
        .dram_step_cycles = at_boost(on, f->dram_step_cycles),
    };
    cost->unit = fp64 ? "fp64" : "fp32";
}

static void time_gemv(const struct target *on, const struct tile *t, struct cost *cost) {
    streaming(on, t, &fit_gemv, 0, cost);
}

static void time_tall_skinny(const struct target *on, const struct tile *t, struct cost *cost) {
    struct ht_streaming *const s = &cost->formula.stream;
    streaming(on, t, &fit_tall_skinny, GEMV_LANES, cost);
    if (on->s->in != NUMBER_F64)
        return;
    s->dram_step_cycles = at_boost(on, TALL_DRAM_STEP64);
    if (s->dram_stream_gbps > on->g->dram_gbps)
        s->dram_stream_gbps = (int32_t)on->g->dram_gbps; /* FP32's fit is for its cards */
}

const struct family family_gemv = {
    FUNCTIONS(gemv), READS(PARAMS_UNPACKED),
    STREAMING("gemv", "gemv", "f32"), .in_block_k_splits = GEMV_LANES,
    SIMT_FP32("at least 32 chains, one for each remainder of k"),
    .tiles = {{8, 1, 256, 0, 1, 1, ALWAYS, "FFMA; one column a block"},
              {16, 4, 256, 0, 4, 1, ALWAYS, "FFMA; four columns a block"}}
};

const struct family family_fp64_gemv = {
    FUNCTIONS(gemv), READS(PARAMS_UNPACKED),
    STREAMING("gemv", "gemv64", "f64"), .in_block_k_splits = GEMV_LANES,
    SIMT_FP64("at least 32 chains, one for each remainder of k"),
    .tiles = {{8, 1, 128, 0, 1, 1, ALWAYS, "FP64 FMA; one column a block"},
              {16, 4, 128, 0, 4, 1, ALWAYS, "FP64 FMA; four columns a block"}}
};

const struct family family_tall_skinny = {
    FUNCTIONS(tall_skinny), READS(PARAMS_UNPACKED),
    STREAMING("tall_skinny", "tall_skinny", "f32"), .no_split_k = true, .line_k = 32,
    SIMT_FP32("chains of at most 8 k"), .smem = "SMEM_BYTES<1>",
    .tiles = {{128, 1, 64, 0, 1, 1, ALWAYS, "FFMA; small K, one column a block"},
              {128, 2, 64, 0, 2, 1, ALWAYS, "FFMA; small K, two columns a block"},
              {128, 4, 64, 0, 4, 1, ALWAYS, "FFMA; small K, four columns a block"}}
};

const struct family family_fp64_tall = {
    FUNCTIONS(tall_skinny), READS(PARAMS_UNPACKED),
    STREAMING("tall_skinny", "tall_skinny64", "f64"), .no_split_k = true, .line_k = 16,
    SIMT_FP64("chains of at most 8 k"), .smem = "SMEM_BYTES<1>",
    .tiles = {{64, 1, 64, 0, 1, 1, ALWAYS, "FP64 FMA; small K, one column a block"},
              {64, 2, 64, 0, 2, 1, ALWAYS, "FP64 FMA; small K, two columns a block"},
              {64, 4, 64, 0, 4, 1, ALWAYS, "FP64 FMA; small K, four columns a block"}}
};
