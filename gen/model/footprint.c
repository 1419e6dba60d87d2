/* footprint: registers and shared memory of a tile of each kernel family; the limits for them are in
 * cost.c.
 *
 * A thread's registers are those of its sums, of fragments and copies, and others; what "others" come to
 * was fitted to ptxas 13.0 (hipcc 5.2), whose own number stands in brackets behind a worked example. */
#include "model/family.h"

#include "base/text.h"

enum {
    COPY_BYTES = 16, /* per thread and copy instruction */
    /* mma_warp */
    WARP_OTHER_REGISTERS = 24,      /* beside sums, fragments and copies */
    UNSCHEDULED_REGISTERS = 40,
    COPY_REGISTERS = 2,             /* of each copy of a step: addresses */
    SECOND_SUM_REGISTERS = 16,      /* a second set of sums costs this beside itself */
    EACH_MMA_REGISTERS = 24,        /* results on their way to FP32 adds, for each fragment step but one */
    EACH_MMA_STAGED_REGISTERS = 16, /* more of them where copies pass through registers */
    TILE_SCALE_REGISTERS = 20, /* addresses of scales of tiles, two of them multiplied, the data check */
    INSTRUCTION_BYTES = 16,         /* SASS since sm_70 */
    INSTRUCTION_BYTES_AMD = 8,      /* MFMA and DS instructions */
    RESULTS_AMD = 128, /* hipcc 5.2: warps of 128 x 128 spilled 56 scalar registers, of 128 x 64 none */
    /* wgmma_ss */
    REGISTERS_MOST = 248,     /* that setmaxnreg gives; one consumer warpgroup has it */
    PRODUCER_REGISTERS = 40, PRODUCER_REGISTERS_LEAST = 32, /* beside one or three */
    CONSUMER_REGISTERS = 232, /* of two. The same numbers in templates/skeletons/wgmma_ss.cu */
    CONSUMER_REGISTERS_OF_THREE = 160,
    CONSUMER_REGISTERS_OF_HALF = 216, /* of a block that leaves room for packing */
    HALF_BOUND = 384,                 /* threads among which its registers are shared out */
    RING_OTHER_REGISTERS = 40,        /* addresses, descriptors, barriers, the epilogue's temporaries */
    STORE_REGISTERS = 56, /* beside all sums, while one of several parts is stored: 192 + 56 spilled 1 KB */
    BARRIER_BYTES = 16,   /* full and empty of a slot */
    TURN_BYTES = 8,
    SLAB_ROW_BYTES = 64 * 4, /* of a warpgroup: results on their way to C, up to 64 rows */
    BESIDE_BYTES = 2048, /* the driver's of two blocks; what packing takes beyond half (pack_row_resident) */
    SCALES_BYTES = 8 + 16, /* beside the scales of rows and columns: what they say together, two barriers */
    /* unpacked_mma, unpacked_wgmma */
    TILE_OTHER_REGISTERS = 52, /* 44 to 74 in ptxas' code where there is room */
    TILE_WGMMA_REGISTERS = 42, /* 41 to 44 */
    TILE_MFMA_REGISTERS = 36,  /* hipcc with FP32 MMAs; what is uniform has registers of its own: 31 to 44 */
    /* dmma */
    DMMA_K_OF_LANE = 2, DMMA_LINES = 8, DMMA_OTHER_REGISTERS = 34,
    DMMA_SUMS_BESIDE = 3, /* and one more for so many sums */
    /* simt_small_k, gemv, tall_skinny */
    SIMT_OTHER_REGISTERS = 20,  /* ptxas: 128 and 80 with 128 x 64 and 64 x 64 */
    SIMT_OTHER_REGISTERS_64 = 24, /* and more with sums; ptxas: 82, 108, 146, 142 of 8 to 64 columns */
    GEMV_OTHER_REGISTERS = 22,  /* ptxas: 80 with one column, 128 with four, where that is what there is */
    GEMV_COLUMN_REGISTERS = 10, /* of Q's columns: an address, and what meets two loads */
    TALL_COLUMN_REGISTERS = 12, TALL_AHEAD_REGISTERS = 48, /* for each of Q's columns; all of FP64's */
    TALL_OTHER_REGISTERS = 16,  /* ptxas: 64, 80; 128: four columns, two of FP64 (sm_86 spilled with 80) */
    FALLBACK_REGISTERS = 254, /* all of them */
    FP64_MMA_OTHER_REGISTERS = 30, FP64_MMA_48_REGISTERS = 24, /* more: warps of 48 rows, ptxas 216 to 254 */
    FP64_TILE_OTHER_REGISTERS = 68 /* ptxas: addresses of loads that are in flight */
};

/* ---- mma_warp */

int model_fragment_registers(const struct target *on, const struct tile *t) {
    return (int)ht_ceil_div((t->wm + t->wn) * target_fragment_k(on) * scheme_slice_bytes(on->s),
                            on->isa->wave_size * 4);
}

/* With scales of tiles: levels of one MMA tile, beside them those of the next where that is small, and the
 * scales of 32 k. The levels alone are what MMAs add into. */
static int level_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const int results = on->mma->m * on->mma->n / on->isa->wave_size;
    const int b_scales = on->mma->d_cols > 4 ? on->mma->d_cols / 4 : 1; /* accum/tile_levels, B_SCALES */
    cost->regs_chains = scheme_levels(on->s) * results * (results > 4 ? 1 : 2);
    return cost->regs_chains + t->wm / on->mma->m + t->wn / on->mma->n * b_scales + TILE_SCALE_REGISTERS;
}

/* Sums (accumulators, FP32 masters of those promoted at an interval) of wm * wn / wave_size; a fragment set
 * for each slice and one more, as the next k step's arrive when this one's leave; copies, with their data
 * where a stage passes through registers. With asynchronous copies ptxas gives the extra set back when it
 * must. Worked examples: f16x3 on sm_80, 128x128x32, warps 64x32: 64 + 64 + 16, 3 * 24, 24 + 8 * 2: 256,
 * squeezed to 255 (238). egemm there: 64 + 72 + 40 = 176 (172); on sm_75: 64, 72 + 8 * 4 staged, 40: 208
 * (208). Held against ptxas 13.0: the 134 kernels of the a800, t4, h100, rtx3090 and l40s sets use at most 8
 * more and 30 less; beyond them two two-stage tiles of 32x32 warps used 10 and 14 more. All that spilled are
 * refused. */
static void warp_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const struct scheme *s = on->s;
    const int sum = t->wm * t->wn / on->isa->wave_size, set = model_fragment_registers(on, t);
    const int copies = (int)ht_ceil_div(tile_stage_bytes(t, s), cost->threads * COPY_BYTES);
    int sums = s->accumulators, outside = 0, chains = s->accumulators;
    for (int a = 0; a < s->accumulators; a++) {
        chains -= s->promote[a] == PROMOTE_EACH_MMA;
        if (s->promote[a] == PROMOTE_EACH_MMA)
            outside = EACH_MMA_REGISTERS * (t->bk / target_fragment_k(on) - 1) +
                      (on->isa->async_copy ? 0 : EACH_MMA_STAGED_REGISTERS) +
                      (s->accumulators > 1 ? on->isa->outside_registers : 0);
        else
            sums += model_promote_k(on, a) > 0;
    }
    cost->regs_chains = chains * sum;
    if (s->scale == SCALE_TILE)
        outside = level_registers(on, t, cost);
    if (sums > 1 && outside == 0 && on->isa->async_copy)
        outside = SECOND_SUM_REGISTERS;
    cost->regs_accumulators = sums * sum + outside;
    cost->regs_fragments = (s->slices + 1) * set + (on->isa->async_copy ? 0 : copies * COPY_BYTES / 4);
    cost->regs_other = WARP_OTHER_REGISTERS + COPY_REGISTERS * copies;
    const int over = cost->regs_accumulators + cost->regs_fragments + cost->regs_other -
                     (int)on->g->registers_per_thread_max;
    if (over > 0 && over <= set && on->isa->async_copy) {
        cost->regs_spilled_fragments = over;
        cost->regs_fragments -= over;
    }
}

void footprint_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool amd = on->isa->wave_size == 64;
    const int results = t->wm * t->wn / on->isa->wave_size;
    const int code_bytes =
        model_mma_instructions(on, t) * (amd ? INSTRUCTION_BYTES_AMD : INSTRUCTION_BYTES);
    warp_registers(on, t, cost);
    cost->smem_bytes = t->stages * tile_stage_bytes(t, on->s);
    const int regs = cost->regs_accumulators + cost->regs_fragments + cost->regs_other,
              most = (int)on->g->registers_per_thread_max;
    const int chains = on->s->recipe->fixed_point ? 0 : cost->regs_chains; /* carries: on vectors */
    if (amd && results > RESULTS_AMD)
        model_reject(cost, "scalar registers: hipcc spills them where a thread stores %d > %d results",
                     results, RESULTS_AMD);
    else if (regs <= most && regs - chains > most - on->isa->accumulation_registers)
        model_reject(cost, "vector registers: %d without the chains' %d > %d per thread", regs - chains,
                     chains, most - on->isa->accumulation_registers);
    else if (code_bytes > on->g->instruction_cache_bytes)
        model_reject(cost, "instructions: loop body of %d > " I64 " bytes of instruction cache", code_bytes,
                     on->g->instruction_cache_bytes);
}

/* As its template has loads and MMAs, unscheduled, ptxas takes more: 128x128x128, warps of 64x32, sm_80: 192
 * (210); 64x64x128, warps of 32x32: 144 (128). */
void footprint_crt_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    footprint_mma_warp(on, t, cost);
    cost->regs_other += UNSCHEDULED_REGISTERS;
}

/* B's fragments and two of A's: 64x64x32, warps of 32x16, sm_80: 112 + 28 + 16 + 52 = 208 (209), sm_75: 28
 * staged, 236 (237); 32x32x32, warps of 16x16: 56 + 28 + 8 + 24 = 116 (112), sm_75: 144 (141). */
void footprint_digits_mma_warp(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = (on->s->slices * t->wn + 2 * t->wm) * target_fragment_k(on);
    cost->regs_accumulators = on->s->accumulators * t->wm * t->wn / on->isa->wave_size;
    cost->smem_bytes = t->stages * tile_stage_bytes(t, on->s);
    cost->regs_fragments = bytes / 4 / on->isa->wave_size;
    if (!on->isa->async_copy)
        cost->regs_fragments += tile_stage_bytes(t, on->s) / cost->threads / 4;
    cost->regs_other = cost->regs_accumulators / 2 - 4;
}

/* ---- wgmma_ss */

/* Blocks of half an atom leave room for packing beside them. */
static bool is_half(const struct tile *t) {
    return t->bm < HT_ATOM_ROWS;
}

bool model_has_two_intervals(const struct target *on, const struct tile *t) {
    const int chunk = model_promote_tiles(on, t), part = tile_part_registers(t);
    const int chains = 2 * model_promotes(on);
    const bool whole = !model_promotes(on) ||
                       model_promote_k(on, 0) <= chunk * t->bk; /* a chain is no longer than a chunk */
    return tile_warpgroups(t) == 1 && tile_parts(t) == 1 && on->s->promote[0] != PROMOTE_EACH_MMA && whole &&
           t->stages >= 4 * chunk &&
           (on->s->accumulators + chains) * part + RING_OTHER_REGISTERS <= REGISTERS_MOST;
}

/* Worked example: f16x3, 192 x 128, warpgroups of 64: 96 sums + 96 of the chain + 40 = 232 of 232. */
static void ring_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const int part = tile_part_registers(t), groups = tile_warpgroups(t);
    cost->regs_accumulators = on->s->accumulators * tile_parts(t) * part;
    cost->regs_fragments = model_promotes(on) ? part * (model_has_two_intervals(on, t) ? 2 : 1) : 0;
    cost->regs_other = RING_OTHER_REGISTERS;
    const int alone = is_half(t) ? CONSUMER_REGISTERS_OF_HALF : REGISTERS_MOST;
    const int most = groups > 2 ? CONSUMER_REGISTERS_OF_THREE : groups > 1 ? CONSUMER_REGISTERS : alone;
    const int need = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
    if (need > most)
        model_reject(cost, "registers: accumulators %d + chain %d + other %d = %d > %d of a consumer",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, need, most);
    else if (tile_parts(t) > 1 && cost->regs_accumulators + STORE_REGISTERS > most)
        model_reject(cost, "registers: accumulators %d + %d to store one of %d parts > %d of a consumer",
                     cost->regs_accumulators, STORE_REGISTERS, tile_parts(t), most);
    cost->regs_consumer = most;
    cost->regs_producer = groups == 2 || is_half(t) ? PRODUCER_REGISTERS : PRODUCER_REGISTERS_LEAST;
    /* what the block is launched with: everything, evenly, in eights */
    const int even = 65536 / (is_half(t) ? HALF_BOUND : cost->threads) / 8 * 8;
    cost->regs_per_thread = even > REGISTERS_MOST ? REGISTERS_MOST : even;
}

static int ring_bytes(const struct target *on, const struct tile *t, int stages) {
    const int words = t->bm * (1 + on->s->checked) + t->bn; /* checked: thresholds of rows, too */
    const int scales = on->s->scale == SCALE_ROW ? words * 4 + SCALES_BYTES : 0;
    const int slab = SLAB_ROW_BYTES * tile_part_rows(t);
    return stages * (tile_stage_bytes(t, on->s) + scheme_atom_group(on->s) * BARRIER_BYTES) +
           tile_warpgroups(t) * (TURN_BYTES + slab) + scales;
}

void footprint_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    const int chunk = model_promote_tiles(on, t), promote_k = model_promote_k(on, 0);
    const int deeper = t->stages + chunk;
    if (is_half(t))
        cost->smem_limit = on->g->smem_per_sm_bytes / 2 - BESIDE_BYTES;
    cost->smem_bytes = ring_bytes(on, t, t->stages);
    if (promote_k > chunk * t->bk && model_promotes(on) && tile_parts(t) > 1)
        model_reject(cost, "registers: %d parts cannot keep chains of %d k, longer than a chunk",
                     tile_parts(t), promote_k);
    else if (t->stages % chunk != 0)
        model_reject(cost, "ring: %d stages are not whole chunks of %d (%d k between promotions)", t->stages,
                     chunk, chunk * t->bk);
    else if (t->stages < 2 * chunk)
        model_reject(cost, "ring: %d stages hold one chunk of %d, nothing is copied while it is multiplied",
                     t->stages, chunk);
    else if (deeper <= TILE_RING_MAX && ring_bytes(on, t, deeper) <= cost->smem_limit)
        model_reject(cost, "ring: %d stages where %d fit; nothing else wants the room", t->stages, deeper);
    else
        ring_registers(on, t, cost);
}

/* A ring of stages and their two barriers; sums become residues where they are. */
void footprint_crt_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    cost->smem_bytes = t->stages * (tile_stage_bytes(t, on->s) + BARRIER_BYTES);
    ring_registers(on, t, cost);
}

/* ---- unpacked_mma, unpacked_wgmma */

struct fp32_work model_fp32_work(const struct target *on, const struct tile *t) {
    const int64_t lanes = on->isa->wave_size, mi = t->wm / on->mma->m, ni = t->wn / on->mma->n,
                  steps = t->bk / ISA_FP32_MMA_K;
    if (on->isa->mfma_f32)
        return (struct fp32_work){mi * ni * steps, (mi + ni) * steps};
    return (struct fp32_work){(int64_t)t->wm * t->wn * t->bk / lanes,
                              (t->wm * 4 + t->wn * lanes / 4) * t->bk / lanes};
}

int model_unpacked_parts(const struct target *on, const struct tile *t) {
    const int threads = tile_threads(t, on);
    return (int)(ht_ceil_div(t->bm * t->bk / 4, threads) + ht_ceil_div(t->bn * t->bk / 4, threads));
}

struct model_counts model_mfma_counts(const struct target *on, const struct tile *t) {
    const struct fp32_work w = model_fp32_work(on, t);
    return on->isa->mfma_f32
               ? (struct model_counts){(int)w.multiplies, (int)w.loads, 2 * model_unpacked_parts(on, t)}
               : (struct model_counts){0};
}

int model_unpacked_sets(const struct target *on, const struct tile *t) {
    enum { PARTS_MOST = 8 };
    return model_unpacked_parts(on, t) > PARTS_MOST ? 1 : 2;
}

int model_unpacked_rows(const struct target *on, const struct tile *t) {
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
void footprint_unpacked_wgmma(const struct target *on, const struct tile *t, struct cost *cost) {
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
void footprint_unpacked_mma(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool slices = on->isa->mma_bf16 != NULL;
    const int lanes = on->isa->wave_size, sums = t->wm * t->wn / lanes, parts = model_unpacked_parts(on, t);
    const int rows = model_unpacked_rows(on, t) * on->mma->m, cols = (t->wn + 15) / 16 * 16;
    cost->regs_chains = slices ? rows * t->wn / lanes : sums;
    cost->regs_accumulators = sums + cost->regs_chains;
    const int numbers = on->isa->mfma_f32 ? (int)model_fp32_work(on, t).loads / 2 : (t->wm + t->wn) / 2;
    cost->regs_fragments = slices ? on->s->slices * (rows + cols) / 4 + 4 * parts * model_unpacked_sets(on, t)
                                  : numbers + 4 * parts;
    cost->regs_other =
        on->isa->mfma_f32 ? TILE_MFMA_REGISTERS : TILE_OTHER_REGISTERS + on->isa->outside_registers / 4;
    const int fp32 = fp32_bytes(t, t->bm) + fp32_bytes(t, t->bn),
              cut = slices ? on->s->slices * (t->bm + t->bn) * t->bk * 2 : 0;
    cost->smem_bytes = t->stages * (fp32 > cut ? fp32 : cut);
}

/* ---- dmma */

/* Worked examples, ptxas' number where that is what there is: 64x64x16, warps of 32x32: 32 sums of two
 * registers, 8 + 2 operands of two, 34 + 10 = 128 (126); 128x32 the same (128); 32x32x16, warps of 16x16: 16
 * + 12 + 36 = 64 (64). Shared memory: stages, in whose place the tile of sums lies afterwards. */
void footprint_dmma(const struct target *on, const struct tile *t, struct cost *cost) {
    if (on->g->fp64_fma_per_cycle < 1)
        model_reject(cost, "unit: %s multiplies no FP64 matrices", on->g->name);
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 2 * DMMA_K_OF_LANE * (t->wm / DMMA_LINES + 1);
    cost->regs_other = DMMA_OTHER_REGISTERS + cost->regs_accumulators / 2 / DMMA_SUMS_BESIDE;
    const int stages = t->stages * 4 * (t->bm + t->bn) * (t->bk + 4);
    const int straight = 4 * t->bn * (t->bm + 4), swapped = 4 * t->bm * (t->bn + 8),
              sums = straight > swapped ? straight : swapped;
    cost->smem_bytes = stages > sums ? stages : sums;
}

/* From registers alone (templates/skeletons/fallback_dmma.cu). */
void footprint_fallback(const struct target *on, const struct tile *t, struct cost *cost) {
    (void)on, (void)t;
    cost->regs_other = FALLBACK_REGISTERS;
}

/* ---- fp64_mma_tile */

/* Worked example: 128x128x16, warps of 64x32: 64 sums of two registers, two sets of 16 + 8 numbers, 30 = 254
 * (254). */
void footprint_fp64_mma_tile(const struct target *on, const struct tile *t, struct cost *cost) {
    enum { SETS = 2, GROUP_K = 8 };
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 2 * SETS * GROUP_K * (t->wm + t->wn) / on->isa->wave_size;
    cost->regs_other = FP64_MMA_OTHER_REGISTERS + (t->wm == 48 ? FP64_MMA_48_REGISTERS : 0);
    cost->smem_bytes = t->stages * (t->bm + t->bn) * t->bk * number_bytes(on->s->in);
}

/* ---- fp64_tile */

/* Worked example: 128x64x16, warps of 32x32, FMA, sm_75: 32 sums of two registers, 4 + 2 copies of four,
 * 4 + 8 pairs of k of a lane (arch/fma64), 68 = 204 (202). */
void footprint_fp64_tile(const struct target *on, const struct tile *t, struct cost *cost) {
    enum { PAIR_BYTES = 16, PAD = 2 };
    const int pairs = t->bk / 2, fma_lanes = 4 + 256 / on->isa->wave_size;
    cost->regs_accumulators = 2 * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = 4 * (t->bm + t->bn) * pairs / cost->threads +
                           4 * fma_lanes;
    cost->regs_other = FP64_TILE_OTHER_REGISTERS;
    cost->smem_bytes = t->stages * pairs * PAIR_BYTES * (t->bm + t->bn + 2 * PAD);
}

/* ---- simt_small_k, gemv, tall_skinny */

int model_gemv_spread(const struct target *on, const struct tile *t) {
    return tile_threads(t, on) / GEMV_LANES / t->bm;
}

int model_simt_operands(const struct target *on, const struct tile *t) {
    return t->wm / SIMT_ROW_LANES + t->wn * SIMT_ROW_LANES / on->isa->wave_size;
}

/* Example: 128x64x16, warps 128x16: 64 sums, 16 + 8 numbers on their way, 8 + 8 operands, 20 = 124. Two
 * stages and, for a long k of FP32, a tile of sums. */
void footprint_simt_small_k(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), words = bytes / 4, parts = t->bm * t->bk / cost->threads;
    cost->regs_accumulators = words * t->wm * t->wn / on->isa->wave_size;
    cost->regs_fragments = words * (parts + (int)ht_ceil_div(t->bn * t->bk, cost->threads) +
                                    model_simt_operands(on, t));
    cost->regs_other = words > 1 ? SIMT_OTHER_REGISTERS_64 + cost->regs_accumulators * 3 / 4
                                 : SIMT_OTHER_REGISTERS;
    cost->smem_bytes = t->stages * t->bk * bytes * (t->bm + 2 + t->bn + 16 / bytes) +
                       (words > 1 ? 0 : bytes * t->bm * t->bn);
}

/* Worked examples: 8x1x256: 4 sets of 4 sums, 8 loads of 4, 10 for Q, 22 = 80; 16x4x256: 32 + 32 + 40 + 22 =
 * 126. Shared memory: the warps' results. */
void footprint_gemv(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), line = GEMV_LINE_BYTES / bytes;
    cost->regs_accumulators = 4 * 4 * t->bn * model_gemv_spread(on, t) / bytes;
    cost->regs_fragments = 4 * t->bk / line + GEMV_COLUMN_REGISTERS * t->bn;
    cost->regs_other = GEMV_OTHER_REGISTERS;
    cost->smem_bytes = GEMV_LINE_BYTES * t->bn * GEMV_LANES * model_gemv_spread(on, t);
}

/* Worked examples: 128x2x64: 8 + 32 + 24 + 16 = 80; FP64, 64x2x64: 8 + 56 + 16 + 24 = 104. */
void footprint_tall_skinny(const struct target *on, const struct tile *t, struct cost *cost) {
    const int bytes = number_bytes(on->s->in), ahead = bytes > 4 ? TALL_AHEAD_REGISTERS / t->bn : 0;
    cost->regs_accumulators = TALL_OWN * t->bn;
    cost->regs_fragments = bytes / 4 * t->bm * t->bk / cost->threads + TALL_COLUMN_REGISTERS * t->bn;
    cost->regs_other = TALL_OTHER_REGISTERS + (t->bn == 1 ? on->isa->outside_registers : ahead);
    cost->smem_bytes = GEMV_LANES * (bytes * t->bn * t->bm + GEMV_LOAD_BYTES);
}
