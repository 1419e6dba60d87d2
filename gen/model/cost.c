/* cost: what the models of tiles share, the caller's chains of MMAs and times of a formula; see model.h. */
#include "model/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void model_reject(struct cost *cost, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(cost->reason, sizeof cost->reason, format, args);
    va_end(args);
    cost->kind = (int)strcspn(cost->reason, ":");
    cost->fits = false;
}

bool model_has_threads(const struct gpu *g, struct cost *cost) {
    if (cost->threads > g->threads_per_block_max)
        model_reject(cost, "threads: %d > " I64 " per block", cost->threads, g->threads_per_block_max);
    return cost->fits;
}

bool footprint_fits(const struct target *on, struct cost *cost) {
    const struct gpu *g = on->g;
    const int warps = cost->threads / on->isa->wave_size;
    const char *limit = "";
    if (!model_has_threads(g, cost))
        return false;
    if (cost->regs_per_thread > g->registers_per_thread_max)
        model_reject(cost,
                     "registers: sums %d + fragments and copies %d + other %d = %d > " I64 " per thread",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, cost->regs_per_thread,
                     g->registers_per_thread_max);
    else if (cost->smem_bytes > cost->smem_limit)
        model_reject(cost, "shared memory: %d > " I64 " bytes per block", cost->smem_bytes, cost->smem_limit);
    else if ((cost->blocks_per_sm =
                  model_occupancy(g, on->isa, warps, cost->regs_per_thread, cost->smem_bytes, &limit)) < 1)
        model_reject(cost,
                     "occupancy: not one block of %d warps x %d registers, %d bytes fits an SM, %s run out",
                     warps, cost->regs_per_thread, cost->smem_bytes, limit);
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

int model_promote_k(const struct target *on, int accumulator) {
    const int promote = on->s->promote[accumulator];
    if (promote == PROMOTE_NEVER)
        return 0;
    return promote == PROMOTE_EACH_MMA ? target_mma_k(on)
           : promote == PROMOTE_ISA    ? on->isa->promote_k[on->s->slice]
                                       : promote;
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

int model_fragment_registers(const struct target *on, const struct tile *t) {
    return (int)ht_ceil_div((t->wm + t->wn) * target_fragment_k(on) * scheme_slice_bytes(on->s),
                            on->isa->wave_size * 4);
}

/* A raster group's tile rows and as many tile columns as that takes, `k` deep. */
int64_t model_wave_bytes(const struct target *on, const struct tile *t, int64_t rows, int64_t blocks,
                         int64_t k) {
    const int64_t most = model_raster_rows(on->g, t), high = rows < most ? rows : most;
    const int64_t edge = high * t->bm + ht_ceil_div(blocks, high) * t->bn;
    return ht_mul(edge, ht_mul(k, (int64_t)on->s->slices * scheme_slice_bytes(on->s)));
}

/* Device memory, ns. The blocks of one wave cover a raster group's tile rows and as many tile columns as
 * that takes; each wave reads those rows of A and columns of B once (L2 keeps the k range in use), and C
 * is written once. Never less than reading A and B once. Worked example: A800, f16x3, 128x128 tiles, 4096^3,
 * 1 block per SM, 2039 GB/s: a wave of 108 blocks = 8 x 14 tiles reads 22 * 128 * 4096 * 4 = 46,137,344
 * bytes; 1024 / 108 waves: 437,450,373 + C 67,108,864 = 504,559,237 bytes = 247,454 ns. */
int64_t model_mma_dram_ns(const struct target *on, const struct tile *t, const struct shape *shape,
                               int blocks_per_sm) {
    const int64_t rows = ht_ceil_div(shape->m, t->bm), columns = ht_ceil_div(shape->n, t->bn);
    const int64_t element_bytes = (int64_t)on->s->slices * scheme_slice_bytes(on->s);
    const int64_t blocks = ht_mul(rows, columns), slots = on->g->sms * blocks_per_sm;
    const int64_t wave = blocks < slots ? blocks : slots;
    const int64_t once = ht_mul(ht_add(shape->m, shape->n), ht_mul(shape->k, element_bytes));
    const int64_t waves = ht_mul(model_wave_bytes(on, t, rows, wave, shape->k), blocks) / wave,
                  reads = model_largest(once, waves);
    return ht_mul(ht_add(reads, ht_mul(4 * shape->m, shape->n)), scheme_alike(on->s)) / on->g->dram_gbps;
}
