/* unpacked_tile: the caller's FP32 matrices as three BF16 slices by wgmma or mma.sync, as FP32 by MFMA or
 * FMAs (templates/skeletons/unpacked_tile.cu). */
#include "family/rows.h"

enum {
    TILE_OTHER_REGISTERS = 52, /* 44 to 74 in ptxas' code where there is room */
    TILE_WGMMA_REGISTERS = 42, /* 41 to 44 */
    TILE_MFMA_REGISTERS = 36,  /* hipcc with FP32 MMAs; what is uniform has registers of its own: 31 to 44 */
    /* of 16 bytes in flight: load 1, 3 stores, 2 addresses, and for each pair of elements 3 conversions, 4 to
     * expand, 4 subtractions, 4 to look at them; where FP32 is stored as it is; and of a step: counters,
     * offsets, barrier. Counted in the code of nvcc 13.0 for sm_80 */
    PART_INSTRUCTIONS = 36, COPY_INSTRUCTIONS = 5, LOOP_INSTRUCTIONS = 40,
    NUMBER_INSTRUCTIONS = 8, STEP_INSTRUCTIONS = 150, /* unpacked_wgmma: for each element, and besides */
    BANK_ROUNDS = 2 /* of 32 lanes' loads: rows r and r + 8 of 16 lie in one bank (stage/global_f32.cuh) */
};

#define FOLDS_TILE                                                                                           \
    .folds = "MI NI K_STEPS ROWS_AT_ONCE ROW_GROUPS B_PAIRS SETS D_REGS D_ROWS FP32_STEPS A_PER_LANE "     \
             "B_PER_LANE FMA_ROWS TRANSPOSED"
#define SLICED(chain_k_)                                                                                     \
    .arithmetic = "three BF16 slices cut on the way, six products; FP32 FFMA up to k = 16, and in "          \
                  "tiles where numbers below 2^-50 may cost bits or results are not finite",                 \
    .accuracy = "inputs keep all 24 bits, products below 2^-24 of the whole left out; chains of " chain_k_   \
                " k, added in FP32 to nearest; FFMA in chains of 2 or 32 k, added with compensation"

#define PARAMS_SLICED PARAMS_UNPACKED " PRODUCTS *PRODUCT_A *PRODUCT_B A_FROM_REGISTERS PINGPONG_GROUPS"

const struct fit_unpacked fit_unpacked_mma = {{NO_DMMA, "25 %"}, .pipe_percent = 120, .arrival_percent = 55,
    .block_start_cycles = 1410, .sum_cycles = 220, .stream_percent = 59};
const struct fit_unpacked fit_unpacked_fp32 = {{NO_DMMA, "none: unpacked_mma's row, and pipes that overlap"},
    .pipe_percent = 100, .arrival_percent = 55, .block_start_cycles = 1410, .sum_cycles = 220, .stream_percent
    = 59};
const struct fit_unpacked fit_unpacked_wgmma = {{SPLITS, "14 %"}, .pipe_percent = 100, .step_cycles = 188,
    .misaligned_cycles = 28, .block_start_cycles = 3547, .sum_cycles = 64, .scalar_store_row_cycles = 9,
    .stream_percent = 81};

/* Unpacked warpgroups: 64 rows, all columns each; threads split eights of Q, so 128 rows need 64 columns. */
static bool takes_unpacked_wgmma(const struct target *on, const struct tile *t) {
    (void)on;
    return t->wn == t->bn && t->bm <= 2 * t->bn;
}

/* 4 or 8 warps and steps of 32 k, so that a thread always moves the same place of a line; rows down to one
 * MMA tile's columns for skinny GEMMs. Of a tile that warpgroups have, too, --tiles gives theirs. */
static bool takes_unpacked_mma(const struct target *on, const struct tile *t) {
    return t->wn >= on->mma->n && t->wn <= t->bn && (tile_warps(t) == 4 || tile_warps(t) == 8);
}

/* Of unpacked_mma in FP32, of a warp and step: FMAs or MMAs, and loads of a number for each lane.
 * FMAs: rows are shared by 4 lanes, columns by the others. Worked example: 64x64, warps of 32x32,
 * gfx90a: 2 * 2 tiles, 8 MMAs of 4 k: 32, and 32 loads. */
struct fp32_work {
    int64_t multiplies, loads;
};
static struct fp32_work fp32_work(const struct target *on, const struct tile *t) {
    const int64_t lanes = on->isa->wave_size, mi = t->wm / on->mma->m, ni = t->wn / on->mma->n,
                  steps = t->bk / ISA_FP32_MMA_K;
    if (on->isa->mfma_f32)
        return (struct fp32_work){mi * ni * steps, (mi + ni) * steps};
    return (struct fp32_work){(int64_t)t->wm * t->wn * t->bk / lanes,
                              (t->wm * 4 + t->wn * lanes / 4) * t->bk / lanes};
}

static int copied_parts(const struct target *on, const struct tile *t) {
    const int threads = tile_threads(t, on);
    return (int)(ht_ceil_div(t->bm * t->bk / 4, threads) + ht_ceil_div(t->bn * t->bk / 4, threads));
}

static struct model_counts mfma_counts(const struct target *on, const struct tile *t) {
    const struct fp32_work w = fp32_work(on, t);
    return on->isa->mfma_f32
               ? (struct model_counts){(int)w.multiplies, (int)w.loads, 2 * copied_parts(on, t)}
               : (struct model_counts){0};
}

/* Steps that threads of unpacked_mma have in flight in registers, SETS of the template; MMA row tiles that a
 * warp multiplies together, ROWS_AT_ONCE there. */
static int sets_of(const struct target *on, const struct tile *t) {
    enum { PARTS_MOST = 8 };
    return copied_parts(on, t) > PARTS_MOST ? 1 : 2;
}

static int rows_at_once(const struct target *on, const struct tile *t) {
    const int mi = t->wm / on->mma->m, ni = t->wn / on->mma->n;
    return mi * ni > 8 ? 1 : mi;
}

/* Bytes of an operand's rows in a stage of FP32: lines of k or lines of rows, whichever takes more
 * (stage/global_f32.cuh). */
static int fp32_bytes(const struct tile *t, int rows) {
    const int by_k = rows * (t->bk + 4), by_rows = t->bk * ((rows + 31) / 32 * 32 + 8);
    return 4 * (by_k > by_rows ? by_k : by_rows);
}

/* Examples: 64x64, two groups: sums, large ones and two of small ones 32 each, two sets of fragments of
 * 24, 16 numbers of P and 16 of Q, 42 = 250 (253); 64x32: 64 + 48 + 16 + 8 + 42 = 178 (187). P's slices are
 * in registers, and Q's in rings. */
static void footprint_unpacked_wgmma(const struct target *on, const struct tile *t, struct cost *cost) {
    enum { RING = 3 };
    const int sums = t->wm * t->wn / on->isa->wave_size, group = cost->threads / tile_groups(t, on),
              slices = on->s->slices;
    const int fragments = 2 * slices * t->wm * t->bk / 2 / on->isa->wave_size,
              numbers = t->wm * t->bk / on->isa->wave_size + t->bn * t->bk / group;
    cost->regs_chains = 3 * sums;
    cost->regs_accumulators = 4 * sums;
    cost->regs_fragments = fragments + numbers;
    cost->regs_other = TILE_WGMMA_REGISTERS;
    const int fp32 = t->stages * (fp32_bytes(t, t->bm) + fp32_bytes(t, t->bn));
    const int rings = tile_groups(t, on) * RING * slices * t->bn * t->bk * 2;
    cost->smem_bytes = fp32 > rings ? fp32 : rings;
}

/* Examples: 64x64, warps 32x32: 32 sums, 32 in chains, 24 + 24 for fragments, 2 * 8 parts of 4, 52 = 228
 * (243 where 255 are allowed); 64x32, warps 32x16: 16 + 16 + 36 + 48 + 52 = 168 (166); 128x8, warps 32x8, one
 * set: 8 + 8 + 36 + 36 + 52 = 140 (156). FMAs: sums twice, a row and a column of numbers, one set of
 * parts. FP32 MMAs: half of a step's loads; 64x64, warps of 32x32, gfx90a: 16 + 16 + 16 + 16 + 36 = 100
 * (hipcc: 108). Slices may lie in FP32's place (stage/split_in_smem.cuh). */
static void footprint_unpacked_mma(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool slices = on->isa->mma_bf16 != NULL;
    const int lanes = on->isa->wave_size, sums = t->wm * t->wn / lanes, parts = copied_parts(on, t);
    const int rows = rows_at_once(on, t) * on->mma->m, cols = (t->wn + 15) / 16 * 16;
    cost->regs_chains = slices ? rows * t->wn / lanes : sums;
    cost->regs_accumulators = sums + cost->regs_chains;
    const int numbers = on->isa->mfma_f32 ? (int)fp32_work(on, t).loads / 2 : (t->wm + t->wn) / 2;
    cost->regs_fragments = slices ? on->s->slices * (rows + cols) / 4 + 4 * parts * sets_of(on, t)
                                  : numbers + 4 * parts;
    cost->regs_other =
        on->isa->mfma_f32 ? TILE_MFMA_REGISTERS : TILE_OTHER_REGISTERS + on->isa->outside_registers / 4;
    const int fp32 = fp32_bytes(t, t->bm) + fp32_bytes(t, t->bn),
              cut = slices ? on->s->slices * (t->bm + t->bn) * t->bk * 2 : 0;
    cost->smem_bytes = t->stages * (fp32 > cut ? fp32 : cut);
}

/* ---- time. A block splits each element of
 * a stage once, in shared memory; warps load fragments and multiply. A large product waits for mma.sync,
 * which is slower than the tensor core, a small one for the way of its data, a skinny one for memory.
 * Where the tensor core multiplies FP32 (gfx90a) nothing is split. */

/* Clocks x256 of one step of a block on the instructions and shared memory of FP32 FMAs, or MMAs. */
static int64_t fp32_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), lanes = on->isa->wave_size, area = (int64_t)t->wm * t->wn;
    const struct fp32_work w = fp32_work(on, t);
    const int64_t issue = w.multiplies + 2 * w.loads + copied_parts(on, t) * COPY_INSTRUCTIONS +
                          LOOP_INSTRUCTIONS + area / lanes;
    const int64_t unit =
        unit_clocks(on, on->s->products * tile_fmas(t), model_fma_per_cycle(on->g, on->s), schedulers);
    const int64_t rounds = on->isa->mfma_f32 ? BANK_ROUNDS : 1;
    const int64_t smem = rounds * warps * w.loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(warps * issue * 256 / schedulers, unit), smem);
}

/* The same on the matrix unit. Worked example: 64x64x32, 4 warps of 32x32, sm_90a: a warp has 96 MMAs, 24
 * loads of fragments, 64 sums to add to, 8 parts: 96 + 24 + 64 + 8 * 36 + 40 = 512 instructions, four
 * warps on four schedulers; unit 6 * 64 * 64 * 32 / 2048 / 0.62 = 619; shared memory 4 * 64 rows read and
 * 128 written, 192 bytes each, 128 a clock: 576; the sum is 1708. */
static int64_t mma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), sums = (int64_t)t->wm * t->wn / on->isa->wave_size,
                  steps = t->bk / on->mma->fragment_k;
    const int64_t mmas = (int64_t)on->s->products * (t->wm / on->mma->m) * (t->wn / on->mma->n) * steps;
    const int64_t loads = on->s->slices * (t->wm / on->mma->m + (t->wn + 15) / 16) * steps;
    const int64_t issue =
        mmas + loads + sums * steps + copied_parts(on, t) * PART_INSTRUCTIONS + LOOP_INSTRUCTIONS;
    const int64_t unit =
        unit_clocks(on, on->s->products * tile_fmas(t), model_fma_per_cycle(on->g, on->s), schedulers) * 100 /
        on->isa->mma_sync_rate_percent;
    const int64_t rows = warps * (t->wm + t->wn) + t->bm + t->bn;
    const int64_t smem = rows * t->bk * on->s->slices * 2 * 256 / on->g->smem_bytes_per_cycle;
    return warps * issue * 256 / schedulers + unit + smem;
}

/* The same of warpgroups, of whose groups one takes the step. Worked example: 128x64x32, 8 warps, two on a
 * scheduler: 24 numbers of a thread, 2 x (24 x 8 + 150) = 684 instructions; unit 6 * 128 * 64 * 32 / 2048
 * = 768; shared memory: each warpgroup reads six slices of Q, of which the block stores three, (2 x 6 + 3)
 * x 64 x 64 bytes / 128 = 480: 1932. */
static int64_t warpgroup_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t threads = tile_threads(t, on) / tile_groups(t, on), warps = threads / on->isa->wave_size;
    const int64_t numbers = (int64_t)(t->bm + t->bn) * t->bk / threads, warpgroups = t->bm / 64;
    const int64_t issue = warps * (numbers * NUMBER_INSTRUCTIONS + STEP_INSTRUCTIONS) * 256 / schedulers;
    const int64_t unit = on->s->products * tile_fmas(t) * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t smem = (warpgroups * on->s->products + on->s->slices) * t->bn * t->bk * 2 * 256 /
                         on->g->smem_bytes_per_cycle;
    return issue + unit + smem;
}

/* Clocks x256 of the MMAs of a step that depend on one another. */
static int64_t step_chain(const struct target *on, const struct tile *t) {
    const int64_t groups = t->wm / on->mma->m / rows_at_once(on, t) * (t->bk / on->mma->fragment_k);
    const int64_t mmas = on->isa->mma_bf16   ? groups * on->s->products
                         : on->isa->mfma_f32 ? t->bk / ISA_FP32_MMA_K
                                             : 0;
    return mmas * on->g->mma_latency_cycles / on->mma->latency_divisor * 256;
}

static void time_unpacked_mma(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool bf16 = on->isa->mma_bf16 != NULL;
    time_unpacked(on, t, cost, bf16 ? &fit_unpacked_mma : &fit_unpacked_fp32, bf16 ? mma_pipes : fp32_pipes,
                  step_chain(on, t), bf16 ? sets_of(on, t) : 1,
                  bf16 || on->isa->mfma_f32 ? "tensor" : "fp32");
}

TIME_OF(unpacked_wgmma, warpgroup_pipes, "tensor")

const struct family family_unpacked_wgmma = {
    FUNCTIONS(unpacked_wgmma), .takes = takes_unpacked_wgmma,
    .grid = {{64, 128}, {32, 64}, {32}, {16}, {32, 64}, {2}, {1}},
    READS(PARAMS_SLICED),
    UNPACKED("unpacked_tile", "_wgmma"), .searched = true, .needs = ISA_WGMMA_RS_BF16,
    .inlay = "wgmma_rs_bf16x6", FOLDS_TILE, SLICED("32"),
    .hooks = {"=launch", "frag/simt", "=wgmma", "=wgmma_rs", "accum/promote_wgmma", FP32_SUMS,
              "=fallback_grid", "=scheme", "epilogue/lane_transpose", "stage/global_f32",
              "stage/split_in_smem"},
    .has_slices_alone = true, .group_rows = 128, .sets_min_blocks_by_registers = true, .team = "warp",
    .workers = "warps of warpgroups", .holds = "fragments",
    .tiles = {{128, 64, 32, 16, 64, 2, ALWAYS,
               "reads the operands as they are, two warpgroups side by side; many tiles"},
              {64, 64, 32, 16, 64, 2, ALWAYS,
               "reads the operands as they are, two warpgroups by turns; a wave of tiles"},
              {64, 32, 32, 16, 32, 2, ALWAYS,
               "reads the operands as they are, two warpgroups by turns; few tiles"}}
};

const struct family family_unpacked_mma = {
    FUNCTIONS(unpacked_mma), .takes = takes_unpacked_mma,
    .grid = {{32, 64, 128, 256}, {8, 16, 32, 64}, {32}, {16, 32, 64}, {8, 16, 32}, {2}, {1}},
    .counts = mfma_counts, READS(PARAMS_SLICED),
    UNPACKED("unpacked_tile", "_mma"), .searched = true, .serves_papers = true, OF_WARPS, FOLDS_TILE,
    SLICED("16"),
    .fp32_arithmetic = "FP32 products and sums of the matrices as they are",
    .fp32_accuracy = "inputs keep all 24 bits; chains of at most 32 k, added with compensation",
    .hooks = {"=launch", "=fragment_f32", "=mma_bf16", "accum/clear", "accum/promote", FP32_SUMS,
              "check/recompute", "=fallback_grid", "=scheme", "epilogue/lane_transpose",
              "stage/global_f32", "=cut"},
    .sets_min_blocks_by_registers = true, .has_tiles_of_all_shapes = true, .is_fallback_base = true,
    .tiles = {{128, 64, 32, 32, 32, 2, UNLESS_WGMMA_RS, "reads the operands as they are; many tiles"},
              {64, 64, 32, 32, 32, 2, UNLESS_DMMA, "reads the operands as they are; a wave of tiles"},
              {64, 32, 32, 32, 16, 2, UNLESS_DMMA, "reads the operands as they are; few tiles"},
              {32, 32, 32, 16, 16, 2, UNLESS_DMMA, "reads the operands as they are; very few tiles"},
              {128, 8, 32, 32, 8, 2, ONLY_TILED,
               "reads the operands as they are; a matrix and up to eight vectors"}}
};
