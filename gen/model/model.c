/* model: names, dispatch and what the three tile models share; see model.h. Knows no plans and no files.
 * Integers only; every quantity carries its unit in its name. */
#include "model/family.h"
#include "model/fit.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const model_names[] = {"halftone", "egemm", "legemm"};
enum { MODEL_COUNT = sizeof model_names / sizeof model_names[0] };

const char *model_name(enum model_kind kind) {
    return model_names[kind];
}

bool model_from_name(const char *name, enum model_kind *kind) {
    const size_t i = TEXT_ROW(name, model_names);
    if (i < MODEL_COUNT)
        *kind = (enum model_kind)i;
    return i < MODEL_COUNT;
}

void model_reject(struct cost *cost, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(cost->reason, sizeof cost->reason, format, args);
    va_end(args);
    cost->fits = false;
}

int64_t model_clock_mhz(const struct gpu *g) {
    return g->sustained_clock_mhz;
}

int64_t model_clocks_at_boost(const struct gpu *g, int64_t clocks) {
    const struct isa *isa = isa_find(g->isa);
    return isa && isa->mma_bf16 ? clocks * g->sustained_clock_mhz / g->clock_mhz : clocks;
}

/* A scheme that has FP32 FMAs in the place of MMAs is as fast as those: their rate for all products
 * together. */
int64_t model_fma_per_cycle(const struct gpu *g, const struct scheme *s) {
    const struct isa *isa = isa_find(g->isa);
    /* Budgets state FP64's matrices: AMD's vectors have half that (CDNA 2: 22.6 of 45.3 TFLOPS); NVIDIA's
     * without have 2 a clock, 7.5 to 12.0 (CUDA C++ Programming Guide, arithmetic instructions). */
    if (s->in == NUMBER_F64 && !s->recipe->packs)
        return g->fp64_fma_per_cycle < 1 ? 2 : g->fp64_fma_per_cycle / (isa && isa->fp64_mma ? 1 : 2);
    if (!s->recipe->packs && isa && !isa->mma_bf16)
        return (isa->mfma_f32 ? g->native_fp32_gflops * 1000 / (2 * g->sms * g->clock_mhz)
                              : g->fp32_fma_per_cycle) *
               s->products;
    const int64_t rates[SLICE_TYPES] = {[SLICE_F16] = g->f16_fma_per_cycle,
                                        [SLICE_BF16] = g->bf16_fma_per_cycle,
                                        [SLICE_TF32] = g->tf32_fma_per_cycle,
                                        [SLICE_S8] = g->s8_fma_per_cycle};
    return rates[s->slice];
}

int64_t model_lane_fmas(const struct target *on) {
    return on->s->in == NUMBER_F64 ? model_fma_per_cycle(on->g, on->s) / (on->isa->fp64_mma ? 2 : 1)
                                   : on->g->fp32_fma_per_cycle;
}

bool model_has_unit(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    return (!s->recipe->packs || isa->mma_hooks[s->slice]) && model_fma_per_cycle(g, s) > 0;
}

int model_promote_k(const struct target *on, int accumulator) {
    const int promote = on->s->promote[accumulator];
    if (promote == PROMOTE_NEVER)
        return 0;
    return promote == PROMOTE_EACH_MMA ? target_mma_k(on)
           : promote == PROMOTE_ISA    ? on->isa->promote_k[on->s->slice]
                                       : promote;
}

/* Source: CUDA occupancy calculator; CDNA2 ISA guide. Example: 232 registers a thread on sm_75: 232 * 32
 * = 7424 = 29 units of 256, nothing to round; 230 -> 7360 -> 7424 as well. */
int64_t model_warp_registers(const struct isa *isa, int64_t regs) {
    return ht_ceil_div(regs * isa->wave_size, isa->register_unit) * isa->register_unit;
}

/* Source: CUDA occupancy calculator: each scheduler owns its share of the register file and of the warps;
 * shared memory is allocated in units, plus what the driver keeps per block. Worked example: A800 (65,536
 * registers, 4 schedulers), 8 warps of 228 registers: 232 * 32 = 7424 a warp, 16384 / 7424 = 2 warps a
 * scheduler, 8 warps: 1 block. */
int model_occupancy(const struct gpu *g, const struct isa *isa, int warps, int64_t regs_per_thread,
                    int64_t smem_bytes, const char **limit) {
    int64_t scheduler_registers = g->registers_per_sm / g->schedulers_per_sm;
    int64_t warps_by_registers =
        scheduler_registers / model_warp_registers(isa, regs_per_thread) * g->schedulers_per_sm;
    int64_t unit = isa->smem_unit_bytes;
    int64_t smem = ht_ceil_div(smem_bytes + g->smem_reserved_per_block_bytes, unit) * unit;
    const struct {
        const char *name;
        int64_t blocks;
    } bounds[] = {{"registers", warps_by_registers / warps},
                  {"shared memory", smem > 0 ? g->smem_per_sm_bytes / smem : g->blocks_per_sm},
                  {"warps", g->warps_per_sm / warps},
                  {"block slots", g->blocks_per_sm}};
    int least = 0;
    for (int i = 1; i < (int)(sizeof bounds / sizeof bounds[0]); i++) {
        if (bounds[i].blocks < bounds[least].blocks)
            least = i;
    }
    if (limit)
        *limit = bounds[least].name;
    return (int)bounds[least].blocks;
}

bool model_has_threads(const struct gpu *g, struct cost *cost) {
    if (cost->threads > g->threads_per_block_max)
        model_reject(cost, "threads: %d > " I64 " per block", cost->threads, g->threads_per_block_max);
    return cost->fits;
}

bool model_occupies(const struct target *on, const struct tile *t, struct cost *cost, const char *block) {
    const char *limit;
    cost->blocks_per_sm =
        model_occupancy(on->g, on->isa, tile_warps(t), cost->regs_per_thread, cost->smem_bytes, &limit);
    if (cost->blocks_per_sm < 1)
        model_reject(cost, "occupancy: not one %s fits an SM, %s run out", block, limit);
    return cost->fits;
}

enum { L2_HALVES = 2 }; /* what all SMs read is kept in each */

struct ht_machine model_machine(const struct gpu *g) {
    const bool wgmma = isa_has(isa_find(g->isa), ISA_WGMMA);
    const struct fit_reduce *behind = wgmma ? &fitted.reduce_behind_wgmma : &fitted.reduce;
    return (struct ht_machine){g->sms, model_clock_mhz(g), g->l2_gbps, g->dram_gbps, g->launch_ns,
                               g->l2_bytes / L2_HALVES, g->l2_latency_cycles,
                               g->l2_latency_cycles / behind->partial_latency_share};
}

int64_t model_ns(const struct target *on, const struct shape *shape, const struct cost *cost) {
    const struct ht_machine machine = model_machine(on->g);
    const struct ht_problem problem = {shape->m, shape->n, shape->k, scheme_alike(on->s), 1};
    return ht_cost_ns(&machine, &cost->walk, &cost->formula, &problem);
}

int64_t model_best_ns(const struct target *on, const struct shape *shape, const struct cost *cost,
                      int64_t partial_bytes, int *splits) {
    const struct ht_machine machine = model_machine(on->g);
    struct ht_problem problem = {shape->m, shape->n, shape->k, scheme_alike(on->s), 1};
    const int64_t ns = ht_best_split(&machine, &cost->walk, &cost->formula, &problem, partial_bytes);
    *splits = (int)problem.splits;
    return ns;
}

struct model_cycles model_cycles(const struct cost *cost) {
    const struct ht_tiled_waves *w = &cost->formula.waves;
    const struct ht_streaming *s = &cost->formula.stream;
    if (cost->formula.form == HT_STREAMING)
        return (struct model_cycles){s->step_busy_x256, s->step_latency_x256, s->launch_cycles,
                                     s->tile_overhead_cycles, 0};
    const bool once = cost->walk.persistent;
    return (struct model_cycles){w->step_busy_x256, w->step_latency_x256, once ? w->tile_overhead_cycles : 0,
                                 once ? w->block_overhead_cycles : w->tile_overhead_cycles,
                                 w->scalar_store_cycles};
}

bool model_promotes(const struct target *on) {
    return model_promote_k(on, 0) > 0 && !on->s->recipe->fixed_point;
}

bool model_refills_after_barrier(const struct target *on, const struct tile *t) {
    return on->isa->async_copy && t->stages > 1 && on->s->promote[0] == PROMOTE_ISA && model_promotes(on) &&
           model_promote_k(on, 0) <= t->bk;
}

/* Longer chains stay in registers from chunk to chunk: a ring has to hold two chunks. */
enum { CHUNK_K_MAX = 64 };

int model_promote_tiles(const struct target *on, const struct tile *t) {
    const int k = on->s->promote[0] == PROMOTE_EACH_MMA ? 0 : model_promote_k(on, 0);
    const int chunk_k = k < CHUNK_K_MAX ? k : CHUNK_K_MAX;
    return chunk_k > t->bk ? chunk_k / t->bk : 1;
}

/* Worked example: 4096 x 4096 in 128 x 128 tiles = 1024 blocks on 108 SMs, one each: 9.482 waves. */
int64_t model_waves_milli(const struct gpu *g, const struct tile *t, const struct shape *shape,
                          int blocks_per_sm) {
    int64_t blocks = ht_mul(ht_ceil_div(shape->m, t->bm), ht_ceil_div(shape->n, t->bn));
    int64_t slots = g->sms * (blocks_per_sm > 0 ? blocks_per_sm : 1);
    return ht_ceil_div(ht_mul(blocks, 1000), slots);
}

struct target model_target(enum model_kind kind, const struct gpu *g, const struct isa *isa,
                           const struct scheme *s) {
    if (kind == MODEL_HALFTONE || s->in == NUMBER_F64)
        return target_main(g, isa, s);
    return target_of(g, isa, !s->recipe->packs ? HT_FAMILY_UNPACKED_MMA : HT_FAMILY_MMA_WARP, s);
}

/* Our own: what the family's functions say. */
static void model_mma(const struct target *on, const struct tile *t, const struct shape *shape,
                           struct cost *cost) {
    const int interval = on->s->promote[0] == PROMOTE_ISA ? model_promote_k(on, 0) : 0;
    if (interval % t->bk != 0) {
        model_reject(cost, "promotion: every %d k is not after whole steps of %d", interval, t->bk);
        return;
    }
    if (!footprint(on, t, cost))
        return;
    const struct family_model *family = family_model(on);
    const bool packed = !on->skeleton->unpacked;
    cost->walk = tile_walk(on, t, cost->blocks_per_sm);
    cost->formula.form = (int32_t)on->skeleton->cost_form;
    family->time(on, t, cost);
    const int64_t ns = model_ns(on, shape, cost),
                  bytes = ht_mul(ht_mul(ht_add(shape->m, shape->n), shape->k), number_bytes(on->s->in));
    const int64_t dram_ns =
        packed ? model_mma_dram_ns(on, t, shape, cost->blocks_per_sm) : 2 * (bytes / on->g->dram_gbps);
    cost->predicted_ns = packed ? model_largest(ns, dram_ns) : ns;
    cost->score = -cost->predicted_ns;
    const char *unit = family->binding ? family->binding(on, t, shape, cost) : cost->unit;
    snprintf(cost->binding, sizeof cost->binding, "%s", dram_ns > ns ? "dram" : unit);
}

void model_cost(enum model_kind kind, const struct target *on, const struct tile *t,
                const struct shape *shape, struct cost *cost) {
    static void (*const models[])(const struct target *, const struct tile *, const struct shape *,
                                  struct cost *) = {
        [MODEL_HALFTONE] = model_mma, [MODEL_EGEMM] = model_egemm, [MODEL_LEGEMM] = model_legemm};
    memset(cost, 0, sizeof *cost);
    cost->fits = true;
    cost->threads = tile_threads(t, on);
    if (!model_has_unit(on->g, on->isa, on->s))
        model_reject(cost, "unit: there are no %s kernels for %s", slice_title(on->s->slice), on->isa->name);
    else if ((on->skeleton->unpacked || on->s->in == NUMBER_F64) && kind != MODEL_HALFTONE)
        model_reject(cost, "operands: model %s knows no kernels that read them as they are",
                     model_name(kind));
    else
        models[kind](on, t, shape, cost);
    cost->waves_milli = model_waves_milli(on->g, t, shape, cost->blocks_per_sm) * scheme_alike(on->s);
}

/* Tiles of 64 x 64 elements that a packing block keeps in shared memory: large pieces make the exchange of
 * magnitudes cheap, several blocks on an SM load and write while others wait. Three blocks where each then
 * has at least four tiles, else two, else one. Measured on the H200 (bench/decisions/006). */
enum { PACK_ENOUGH = 4, PACK_FEW = 3, PACK_TILE = 64 * 64, PACK_ROOM = 13 * 64 };
static int64_t pack_tiles_in(const struct scheme *s, int64_t bytes) {
    return (bytes - PACK_ROOM * number_bytes(s->scale_type)) / (PACK_TILE * number_bytes(s->in));
}

static int64_t pack_tiles_beside(const struct gpu *g, const struct scheme *s, int blocks) {
    return pack_tiles_in(s, g->smem_per_sm_bytes / blocks - g->smem_reserved_per_block_bytes);
}

int model_pack_blocks_per_sm(const struct gpu *g, const struct scheme *s) {
    return pack_tiles_beside(g, s, 3) >= PACK_ENOUGH ? 3 : pack_tiles_beside(g, s, 2) >= PACK_FEW ? 2 : 1;
}

long model_pack_tiles(const struct gpu *g, const struct scheme *s) {
    if (s->scale != SCALE_ROW)
        return 1; /* no block waits for another */
    const int blocks = model_pack_blocks_per_sm(g, s);
    const int64_t tiles =
        blocks > 1 ? pack_tiles_beside(g, s, blocks) : pack_tiles_in(s, g->smem_per_block_bytes);
    return (long)(tiles > PACK_ENOUGH ? PACK_ENOUGH : tiles < 1 ? 1 : tiles);
}

/* Shared memory that a packing block may ask for: kernels for sm_80 run on sm_86 and sm_89 too, which have 99
 * KB for a block (CUDA C++ Programming Guide, technical specifications per compute capability). */
long model_pack_smem_most(const struct gpu *g, const struct isa *isa) {
    enum { LEAST_OF_AMPERE = 101376 };
    const long own = (long)g->smem_per_block_bytes;
    return isa_is_exact(isa) || own < LEAST_OF_AMPERE ? own : LEAST_OF_AMPERE;
}

/* +1: x larger, -1: y larger, 0: equal. */
static int larger(int64_t x, int64_t y) {
    return (x > y) - (x < y);
}

/* EGEMM-TC ties, in order: larger w_m * w_n ("we aim to increase (w_m, w_n)", section 6.2); smaller w_m + w_n
 * (less T_Mem2 at equal area, eq. 7); larger b_k (ours: eq. 4 does not depend on it, and each b_k costs one
 * barrier and one burst of STS; the paper asks for a small b_k only where that buys a larger b_m, b_n); fewer
 * stages (ours: the paper has one buffer); larger w_m (ours: C is column-major, so a taller warp tile stores
 * longer runs). */
static int egemm_ties(const struct tile *x, const struct tile *y) {
    const int order[] = {larger((int64_t)x->wm * x->wn, (int64_t)y->wm * y->wn),
                         larger(y->wm + y->wn, x->wm + x->wn), larger(x->bk, y->bk),
                         larger(y->stages, x->stages), larger(x->wm, y->wm)};
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++) {
        if (order[i] != 0)
            return order[i];
    }
    return 0;
}

/* LE-GEMM ties: larger T_K (section 4.3: it is reduced only to prevent overflow); less work per thread ("to
 * avoid excessive workload", section 4.2). */
static int legemm_ties(const struct cost *x, const struct tile *tx, const struct cost *y,
                       const struct tile *ty) {
    int k = larger(tx->bk, ty->bk);
    return k != 0 ? k : larger(y->regs_per_thread, x->regs_per_thread);
}

/* Ours, measured on the H200: a third stage never lost and more gained nothing (bench/decisions/001); the
 * taller warp is 0.4 to 1.5 % ahead at 32 k. */
static int halftone_ties(const struct tile *x, const struct tile *y) {
    enum { ENOUGH_STAGES = 3 };
    const int sx = x->stages < ENOUGH_STAGES ? x->stages : ENOUGH_STAGES;
    const int sy = y->stages < ENOUGH_STAGES ? y->stages : ENOUGH_STAGES;
    return sx != sy ? larger(sx, sy) : larger(x->wm, y->wm);
}

bool model_better(enum model_kind kind, const struct cost *x, const struct tile *tx, const struct cost *y,
                  const struct tile *ty) {
    int order = larger(x->score, y->score);
    if (order == 0 && kind == MODEL_EGEMM)
        order = egemm_ties(tx, ty);
    if (order == 0 && kind == MODEL_HALFTONE)
        order = halftone_ties(tx, ty);
    if (order == 0 && kind == MODEL_LEGEMM)
        order = legemm_ties(x, tx, y, ty);
    return order != 0 ? order > 0 : tile_compare(tx, ty) < 0;
}
