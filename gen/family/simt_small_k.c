/* simt_small_k: the caller's FP32 or FP64 matrices by FMAs from shared memory
 * (templates/skeletons/simt_small_k.cu). It waits for shared memory and for C's way out. */
#include "family/rows.h"

enum {
    ROW_LANES = 16,       /* lanes of a warp with different rows */
    CHAIN = 32,           /* k after which a sum waits in shared memory */
    OTHER_REGISTERS = 20, /* ptxas: 128 and 80 with 128 x 64 and 64 x 64 */
    OTHER_REGISTERS_64 = 24 /* and more with sums; ptxas: 82, 108, 146, 142 of 8 to 64 columns */
};

#define SMALL_K(label_, real_)                                                                               \
    UNPACKED("simt_small_k", label_), .sets_min_blocks_by_registers = true, OF_WARPS, FOLDS_SIMT,            \
    .hooks = {OF_FMAS(real_), "epilogue/lane_transpose"}

const struct fit_unpacked fit_simt_small_k = {{NO_DMMA, "18 %"}, .pipe_percent = 165, .narrow_pipe_percent =
    145, .alone_cycles = 985, .block_start_cycles = 325, .sum_cycles = 125, .stream_percent = 49};

/* Elements that a lane reads from shared memory for each k. */
static int operands(const struct target *on, const struct tile *t) {
    return t->wm / ROW_LANES + t->wn * ROW_LANES / on->isa->wave_size;
}

/* Example: 128x64x16, warps 128x16: 64 sums, 16 + 8 numbers on their way, 8 + 8 operands, 20 = 124. Two
 * stages and, for a long k of FP32, a tile of sums. */
static void footprint_simt_small_k(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), words = bytes / 4, parts = t->bm * t->bk / cost->threads;
    cost->regs_accumulators = words * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = words * (parts + (int)ht_ceil_div(t->bn * t->bk, cost->threads) +
                                    operands(on, t));
    cost->regs_other = words > 1 ? OTHER_REGISTERS_64 + cost->regs_accumulators * 3 / 4
                                 : OTHER_REGISTERS;
    cost->smem_bytes = t->stages * t->bk * bytes * (t->bm + 2 + t->bn + 16 / bytes) +
                       (words > 1 ? 0 : bytes * t->bm * t->bn);
}

/* Clocks x256 of a step of a block that has so many schedulers. Worked example: 128x64x16, warps of 128x16,
 * sm_90a: for each k a lane has 64 FMAs and reads 16 numbers: 4 warps x 16 k x 80 / 4 = 1280
 * instructions; shared memory returns 4 bytes a lane and clock: 4 x 16 x 16, and 128 / 2 x 4 for sums that
 * wait = 1280. */
static int64_t simt_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size, warps = tile_warps(t);
    const int64_t sums = (int64_t)t->wm * t->wn / lanes, loads = operands(on, t);
    const bool fp64 = on->s->in == NUMBER_F64;
    const int64_t waiting = fp64 ? 0 : 2 * sums * t->bk / CHAIN, bytes = number_bytes(on->s->in);
    const int64_t issue = warps * t->bk * (sums + loads) * 256 / schedulers;
    const int64_t unit = unit_clocks(on, tile_fmas(t), model_lane_fmas(on), schedulers);
    const int64_t smem = warps * (t->bk * loads + waiting) * lanes * bytes * 256 /
                         on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(issue, unit), smem);
}

/* Of device memory's rate tiles of fewer columns get a little less, so that ties go to the widest; others
 * read A again. */
static void time_simt_small_k(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool fp64 = on->s->in == NUMBER_F64;
    const struct fit_unpacked *f = fp64 ? &fit_fp64_tile : &fit_simt_small_k;
    const int stream = f->stream_percent - (t->bn < 64) - (t->bn < 32);
    time_unpacked(on, t, cost, f, simt_pipes, 0, 1, fp64 ? "fp64" : "fp32");
    cost->formula.waves.dram_stream_gbps = (int)on->g->dram_gbps * stream / 100;
}

const struct family family_simt_small_k = {
    FUNCTIONS(simt_small_k), READS(PARAMS_UNPACKED),
    SMALL_K("simt", "f32"), SIMT_FP32("chains of 32 k, in a small C of short k of 4"),
    .tiles = {{128, 64, 16, 128, 16, 2, UNLESS_DMMA, "FFMA; small K, or few columns"},
              {64, 64, 16, 64, 16, 2, UNLESS_DMMA, "FFMA; small K, or few tiles"},
              {128, 32, 16, 64, 16, 2, UNLESS_DMMA, "FFMA; small K, up to 32 columns"},
              {128, 16, 16, 32, 16, 2, UNLESS_DMMA, "FFMA; small K, up to 16 columns"}}
};

const struct family family_fp64_small_k = {
    FUNCTIONS(simt_small_k), READS(PARAMS_UNPACKED),
    SMALL_K("simt64", "f64"), SIMT_FP64("one chain, but for parts of a split k"), .needs = ISA_FP64_FMA_ALONE,
    .has_tiles_of_all_shapes = true,
    .tiles = {{64, 64, 8, 64, 16, 2, ALWAYS, "FP64 FMA; small K, or few tiles"},
              {128, 32, 8, 64, 16, 2, ALWAYS, "FP64 FMA; small K, up to 32 columns"},
              {128, 16, 8, 32, 16, 2, ALWAYS, "FP64 FMA; small K, up to 16 columns"},
              {128, 8, 8, 32, 8, 2, ALWAYS, "FP64 FMA; small K, up to eight columns"}}
};
