/* ht_cost.h: the only shape-cost formula: what a kernel of a set, its split-K reduction and packing are
 * predicted to take. Integers alone, the same in generator, runtime and tests. */
#ifndef HT_COST_H
#define HT_COST_H

#include "ht_abi.h"

/* The longest time that is predicted, 36 years: a call that takes longer is said to take this, and sums of
 * a few predictions still fit 64 bits. */
#define HT_NS_MOST (INT64_C(1) << 60)
static inline int64_t ht_cycles_ns(int64_t cycles, int64_t clock_mhz) {
    return cycles > INT64_MAX / 1000 ? ht_mul(cycles / clock_mhz, 1000) : cycles * 1000 / clock_mhz;
}

/* What the formula asks of a GPU. */
struct ht_machine {
    int64_t sms, clock_mhz, l2_gbps, dram_gbps;
    int64_t launch_ns;         /* of a kernel behind another */
    int64_t l2_resident_bytes; /* that L2 keeps for all SMs */
    int64_t l2_latency_cycles;
    int64_t splitk_partial_cycles; /* of a reduction behind a packed kernel, for each partial */
};

static inline struct ht_machine ht_machine_of(const struct ht_set_desc *set) {
    const struct ht_machine machine = {
        set->sms,       set->clock_mhz,         set->l2_gbps,           set->dram_gbps,
        set->launch_ns, set->l2_resident_bytes, set->l2_latency_cycles, set->splitk_partial_cycles};
    return machine;
}

struct ht_problem {
    int64_t m, n, k, batch;
    int64_t splits; /* of k; 1: none */
};

/* Bytes of an element of a split-K partial: exact sums are 64-bit integers. */
static inline int64_t ht_partial_size(int exact_k) {
    return exact_k > 0 ? 8 : 4;
}

/* The same of a kernel: as wide as its sums. */
static inline int64_t ht_tile_partial_size(const struct ht_tile *t) {
    return t->element_bytes == 8 ? 8 : ht_partial_size(t->exact_k);
}

/* Bytes of the split-K partials of one call; 0 without split. */
static inline int64_t ht_partial_bytes(int64_t m, int64_t n, int64_t batch, int64_t splits,
                                       int64_t element_bytes) {
    return splits > 1 ? ht_mul(ht_mul(ht_mul(m, n), ht_mul(batch, splits)), element_bytes) : 0;
}

/* Tiles along one side of C, in whole clusters. */
static inline int64_t ht_tiles(int64_t length, int64_t tile, int cluster) {
    const int64_t blocks = cluster > 1 ? cluster : 1;
    return ht_mul(ht_ceil_div(length, tile * blocks), blocks);
}

/* ---- A launch: blocks in waves over sms * blocks_per_sm slots ---- */

/* How a kernel covers a problem. M-side operand: A, or B where the kernel swaps A and B. */
struct ht_walk {
    int swap_ab;
    int64_t bm, bn;       /* of C as it stands */
    int64_t tiles, steps; /* of all blocks; of each */
    int64_t full, rest;   /* waves of all slots, blocks of the last one */
    int misaligned;       /* the M-side operand's contiguous elements begin at no multiple of 16 bytes */
    int64_t once;         /* bytes of A, B and C */
};

/* Elements of 16 bytes. */
static inline int64_t ht_vector(const struct ht_tile *t) {
    return 16 / t->element_bytes;
}

static inline struct ht_walk ht_walk_of(const struct ht_machine *g, const struct ht_tile *t,
                                        const struct ht_problem *p, int64_t high) {
    struct ht_walk w;
    w.swap_ab = t->unpacked && ht_swap_ab(p->m, p->n, t->bm, t->bn, t->swap_ab_min_gain);
    w.bm = w.swap_ab ? t->bn : high;
    w.bn = w.swap_ab ? t->bm : t->bn;
    w.tiles = ht_mul(ht_mul(ht_tiles(p->m, w.bm, t->cluster_m), ht_tiles(p->n, w.bn, t->cluster_n)),
                     ht_mul(p->batch, p->splits));
    w.steps = ht_ceil_div(ht_ceil_div(p->k, t->step_k), p->splits);
    w.full = w.tiles / (g->sms * t->blocks_per_sm);
    w.rest = w.tiles % (g->sms * t->blocks_per_sm);
    w.misaligned = (w.swap_ab ? p->n : p->m) > 1 && (w.swap_ab ? p->k : p->m) % ht_vector(t) != 0;
    w.once = ht_mul(ht_mul(ht_add(ht_mul(ht_add(p->m, p->n), p->k), ht_mul(p->m, p->n)), t->element_bytes),
                    p->batch);
    return w;
}

/* What a block does in a step, and in all. */
struct ht_work {
    int64_t busy_x256, latency_x256; /* cycles of the slowest pipe; of a block that is alone */
    int64_t bytes, overhead;         /* from L2; cycles of each block */
};

/* Cycles of a wave of so many blocks. An SM with p blocks needs p x busy + (latency - busy) / p^2 for a
 * step, and never less than latency: blocks fill each other's gaps (the square is fitted to measurements);
 * nor less than L2 needs for all blocks' bytes. */
static inline int64_t ht_wave_cycles(const struct ht_machine *g, const struct ht_work *w, int64_t steps,
                                     int64_t blocks) {
    const int64_t per_sm = ht_ceil_div(blocks, g->sms), stall = w->latency_x256 - w->busy_x256;
    const int64_t busy = per_sm * w->busy_x256 + (stall > 0 ? stall / (per_sm * per_sm) : 0);
    /* bytes / (GB/s) = ns; ns * MHz / 1000 = cycles */
    const int64_t l2 = blocks * w->bytes * 256 / g->l2_gbps * g->clock_mhz / 1000;
    const int64_t step = busy > w->latency_x256 ? busy : w->latency_x256;
    return ht_add(per_sm * w->overhead, ht_mul(steps, l2 > step ? l2 : step) / 256);
}

/* Of all waves; without what a launch takes once. */
static inline int64_t ht_waves_cycles(const struct ht_machine *g, const struct ht_tile *t,
                                      const struct ht_walk *w, const struct ht_work *work) {
    const int64_t full =
        w->full > 0 ? ht_mul(w->full, ht_wave_cycles(g, work, w->steps, g->sms * t->blocks_per_sm)) : 0;
    return ht_add(full, w->rest > 0 ? ht_wave_cycles(g, work, w->steps, w->rest) : 0);
}

/* What so many cycles take `waves` times. Unpacked kernels' blocks of one SM are not at the same place:
 * after the first wave one starts beside another. */
static inline int64_t ht_wave_starts(const struct ht_tile *t, const struct ht_walk *w, int64_t cycles) {
    const int64_t waves = w->full + (w->rest > 0), first = t->persistent || t->unpacked ? 1 : waves;
    return ht_add(ht_mul(first, cycles),
                  t->persistent ? 0 : ht_mul(waves - first, cycles / t->blocks_per_sm));
}

/* Of what the blocks read in all, the bytes that they read again. */
static inline int64_t ht_reread_bytes(const struct ht_walk *w, int64_t step_bytes) {
    const int64_t read = ht_mul(ht_mul(w->tiles, w->steps), step_bytes);
    return read > w->once ? read - w->once : 0;
}

/* ---- Form 1: tiled waves, of kernels whose blocks multiply tiles of both operands ----
 *
 * A wave advances one step in the longer of what its SMs and what L2 need. An unpacked kernel cannot end
 * before device memory has delivered its operands once and taken C, and a block that is alone on its SM waits
 * for what it reads again, from L2, too.
 *
 * Worked example (as all, held by a test): 108 SMs at 1410 MHz, 1 block an SM, f16x3, tile
 * 128x128x32: step_busy 1536 cycles (3 * 128 * 128 * 32 / 1024), step_latency 700, tile_overhead 2000,
 * step_bytes 32768, L2 4000 GB/s, m = n = k = 4096. L2 feeds a full wave in 108 * 32768 / 4000 = 884.7 ns =
 * 1247 cycles, so the pipe decides; 1024 tiles = 9 full waves + 52 blocks; 10 x (2000 + 128 x 1536) = 1986080
 * cycles = 1408567 ns. With L2 2000 GB/s L2 decides the full waves: 2494.9 cycles a step; 9 x (2000 + 319353)
 * + (2000 + 196608) = 3090785 cycles = 2192046 ns. The test has one of each other case. */

static inline int64_t ht_tiled_waves_ns(const struct ht_machine *g, const struct ht_tile *t,
                                        const struct ht_tiled_waves *c, const struct ht_problem *p) {
    const struct ht_walk w = ht_walk_of(g, t, p, t->bm);
    const int64_t stored = (p->m < w.bm ? p->m : w.bm) * (p->n < w.bn ? p->n : w.bn);
    const int64_t shallow = p->k < t->step_k ? p->k : t->step_k;
    const int64_t misaligned = w.misaligned ? c->misaligned_cycles * INT64_C(256) * shallow / t->step_k : 0;
    const int64_t scalar_store = p->m % ht_vector(t) != 0 ? c->scalar_store_cycles * stored / (w.bm * w.bn) : 0;
    const struct ht_work work = {c->step_busy_x256, c->step_latency_x256 + misaligned, t->step_bytes,
                                 c->block_overhead_cycles + scalar_store};
    const int64_t cycles =
        ht_add(ht_wave_starts(t, &w, c->tile_overhead_cycles), ht_waves_cycles(g, t, &w, &work));
    const int64_t ns = ht_cycles_ns(cycles, g->clock_mhz);
    if (!t->unpacked)
        return ns;
    const int64_t again = t->blocks_per_sm == 1 ? ht_reread_bytes(&w, t->step_bytes) / g->l2_gbps : 0;
    const int64_t dram =
        ht_add(w.once / c->dram_stream_gbps + again, ht_cycles_ns(c->tile_overhead_cycles, g->clock_mhz));
    const int64_t most = ns > dram ? ns : dram;
    if (!w.swap_ab || p->m == 1 || c->swap_ab_percent == 0)
        return most;
    return ht_add(ht_mul(most / 100, c->swap_ab_percent),
                  most % 100 * c->swap_ab_percent / 100); /* no overflow */
}

/* ---- Form 2: streaming, of kernels that read one operand once for a few columns of the other ----
 *
 * Device memory bounds them as it does unpacked tiles; what further columns read again counts always. The
 * M-side operand of up to four rows leaves a tile's other rows to shares of k (in_block_k_splits).
 *
 * Worked example, 108 SMs at 1000 MHz, tiles of 8 x 1, launch 2000, tile_overhead 1000, step_busy 100,
 * step_latency 500, step_k 256, dram_stream 4000 GB/s: m = 800, n = 1, k = 1024: 100 tiles, 2000 + 1000 + 4 x
 * 500 = 5000 ns. The test has one of each other case. */

/* Rows of a tile of bm rows that share k: where the M-side operand has up to four. */
static inline int64_t ht_in_block_splits(const struct ht_tile *t, int64_t rows, int64_t bm) {
    const int64_t splits = bm / (rows > 2 ? 4 : rows);
    return rows > 4 || t->in_block_k_splits == 0 ? 1
           : splits < t->in_block_k_splits       ? splits
                                                 : t->in_block_k_splits;
}

/* Rows of a tile are as many times bm, where more than four rows of A are contiguous along m. */
static inline int64_t ht_row_sets(const struct ht_tile *t, const struct ht_problem *p, int swap_ab) {
    const int64_t rows = ht_vector(t) * t->in_block_k_splits;
    return rows > t->bm && !swap_ab && p->m > 4 ? rows / t->bm : 1;
}

static inline int64_t ht_streaming_ns(const struct ht_machine *g, const struct ht_tile *t,
                                      const struct ht_streaming *c, const struct ht_problem *p) {
    const int swap_ab = ht_swap_ab(p->m, p->n, t->bm, t->bn, t->swap_ab_min_gain),
              gemv = t->in_block_k_splits > 0;
    const int64_t sets = ht_row_sets(t, p, swap_ab);
    struct ht_walk w =
        ht_walk_of(g, t, p, t->bm * sets - (sets > 1 && p->m % ht_vector(t) != 0 ? ht_vector(t) : 0));
    w.steps = ht_ceil_div(w.steps, ht_in_block_splits(t, swap_ab ? p->n : p->m, swap_ab ? w.bn : w.bm));
    const int misaligned = w.misaligned && (!gemv || (p->m <= 4 && !swap_ab));
    const int64_t shallow = p->k < t->step_k ? p->k : t->step_k;
    const int64_t far = w.once > g->l2_resident_bytes ? c->dram_step_cycles * INT64_C(256) : 0;
    const struct ht_work work = {
        c->step_busy_x256 * sets,
        (c->step_latency_x256 + far) * sets +
            (misaligned ? c->misaligned_cycles * INT64_C(256) * shallow / t->step_k : 0),
        t->step_bytes * sets, 0};
    const int64_t starts = ht_add(c->launch_cycles, ht_wave_starts(t, &w, c->tile_overhead_cycles));
    const int64_t ns = ht_cycles_ns(ht_add(starts, ht_waves_cycles(g, t, &w, &work)), g->clock_mhz);
    /* gemv's blocks load, then add up; what further columns read again comes from L2, but no faster than
     * the first time where k is whole */
    const int64_t again = ht_reread_bytes(&w, work.bytes) / (gemv ? g->l2_gbps : c->dram_stream_gbps);
    const int64_t start =
        c->launch_cycles > c->tile_overhead_cycles ? c->launch_cycles : c->tile_overhead_cycles;
    const int64_t idle = ht_add(start, gemv ? ht_mul(w.full, c->tile_overhead_cycles) : 0);
    const int64_t dram = ht_add(w.once / c->dram_stream_gbps + again, ht_cycles_ns(idle, g->clock_mhz));
    return ns > dram ? ns : dram;
}

/* ---- Both ---- */

/* The split-K reduction: its launch, its traffic, and what the kernel writes for it.
 *
 * Worked example: form 1's first, m = n = 512, k = 4096, splits 4, device memory 2000 GB/s, launch 3000
 * ns: 64 blocks, one wave of 2000 + 32 x 1536 = 51152 cycles = 36278 ns; + 3000, + 5 x 1048576 / 2000 for
 * its traffic and 4 x 1048576 / 2000 for the partials: 43996 ns. Behind an
 * unpacked kernel a thread's partials are in flight together. (Constants of packed kernels were fitted when one
 * thread read all of them in turn.) After a persistent kernel it starts as that does. */
static inline int64_t ht_reduction_ns(const struct ht_machine *g, const struct ht_tile *t,
                                      const struct ht_cost *cost, const struct ht_problem *p) {
    const int64_t partial = ht_mul(ht_mul(p->m, p->n), ht_mul(p->batch, ht_tile_partial_size(t)));
    const int64_t start = t->persistent ? cost->waves.tile_overhead_cycles : 0; /* as the kernel does */
    const int64_t overlap = cost->form == HT_STREAMING ? cost->stream.pdl_overlap_cycles : 0;
    const int64_t reads =
        p->splits > HT_SPLITK_PREFETCH ? ht_ceil_div(p->splits, HT_SPLITK_LANES) : p->splits;
    const int64_t partials = t->unpacked ? reads * (g->l2_latency_cycles / HT_SPLITK_PREFETCH)
                                         : p->splits * g->splitk_partial_cycles;
    const int64_t cycles = start - overlap + partials;
    const int64_t traffic =
        ht_add(ht_mul(p->splits + 1, partial) / g->dram_gbps, ht_mul(p->splits, partial) / g->dram_gbps);
    return ht_add(g->launch_ns + cycles * 1000 / g->clock_mhz, traffic);
}

/* ns of one launch, split-K reduction included, packing excluded. At most HT_NS_MOST. */
static inline int64_t ht_cost_ns(const struct ht_machine *g, const struct ht_tile *t,
                                 const struct ht_cost *cost, const struct ht_problem *p) {
    int64_t ns = cost->form == HT_STREAMING ? ht_streaming_ns(g, t, &cost->stream, p)
                                            : ht_tiled_waves_ns(g, t, &cost->waves, p);
    ns = p->splits > 1 ? ht_add(ns, ht_reduction_ns(g, t, cost, p)) : ns;
    return ns < HT_NS_MOST ? ns : HT_NS_MOST;
}

/* The same of a kernel of a set. */
static inline int64_t ht_kernel_ns(const struct ht_set_desc *set, const struct ht_kernel_desc *kernel,
                                   const struct ht_problem *p) {
    const struct ht_machine machine = ht_machine_of(set);
    return ht_cost_ns(&machine, &kernel->tile, &kernel->cost, p);
}

/* Most bytes of split-K sums. A constant, never what the workspace happens to hold: the split, and with it
 * the last bits of C, must depend on the shape alone. Four waves of 128 x 128 tiles on 132 SMs take 35 MB. */
enum { HT_PARTIAL_LIMIT_BYTES = 64 << 20 };

enum { HT_PICK_STEPS = 4, HT_PICK_K = 256, HT_PICK_SPLITS_MAX = 128 };

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: powers of two and the points halfway between them. */
static inline int ht_split_series(int splits) {
    if (splits == 1)
        return 2;
    return (splits & (splits - 1)) == 0 ? splits / 2 * 3 : splits / 3 * 4;
}

/* Fewest split-K slices that a kernel with exact sums may have; 1 for the others. Beyond
 * HT_PICK_SPLITS_MAX: k is too large for it. Worked example (a test holds it): exact_k 131072, step_k 128:
 * k = 131072 -> 1, 131073 -> 2, 400000 -> 4, 2^24 -> 128. */
static inline int ht_min_splits(const struct ht_tile *t, int64_t k) {
    const int64_t steps = ht_ceil_div(k, t->step_k), most = t->exact_k > 0 ? t->exact_k / t->step_k : steps;
    int splits = 1;
    while (splits <= HT_PICK_SPLITS_MAX && ht_ceil_div(steps, splits) > most)
        splits = ht_split_series(splits);
    return splits;
}

/* The number of slices that is weighed after `splits`, after 0 the first; 0: no more. No fewer than
 * ht_min_splits; beyond that every slice keeps at least HT_PICK_STEPS steps, of unpacked kernels as many
 * as have HT_PICK_K k if that is less, and the partials fit partial_bytes; none where k is never split.
 * p->splits is not asked. */
static inline int ht_next_split(const struct ht_tile *t, const struct ht_problem *p, int64_t partial_bytes,
                                int splits) {
    if (splits == 0)
        return ht_min_splits(t, p->k);
    const int next = ht_split_series(splits);
    int64_t least = HT_PICK_STEPS;
    if (t->unpacked && t->step_k * HT_PICK_STEPS > HT_PICK_K)
        least = ht_ceil_div(HT_PICK_K, t->step_k);
    const int fits =
        ht_partial_bytes(p->m, p->n, p->batch, next, ht_tile_partial_size(t)) <= partial_bytes;
    return next <= HT_PICK_SPLITS_MAX && ht_ceil_div(p->k, t->step_k) / next >= least && fits &&
                   !t->no_split_k
               ? next
               : 0;
}

/* ht_cost_ns with the best split-K, which is written to p->splits. Ties go to the smaller split. */
static inline int64_t ht_best_split(const struct ht_machine *g, const struct ht_tile *t,
                                    const struct ht_cost *cost, struct ht_problem *p, int64_t partial_bytes) {
    struct ht_problem tried = *p;
    int64_t best = INT64_MAX;
    for (int splits = 0; (splits = ht_next_split(t, p, partial_bytes, splits)) > 0;) {
        tried.splits = splits;
        const int64_t ns = ht_cost_ns(g, t, cost, &tried);
        if (ns < best) {
            best = ns;
            p->splits = splits;
        }
    }
    return best;
}

/* Packing time in ns of one operand of rows x k elements without launches: read once, panels written once
 * (the padding of rows to 64 and of k to 64 included), at the speed of a large copy. Both operands share one
 * launch, whose blocks exchange the rows' magnitudes.
 *
 * Worked example (a test holds it): 4096 x 4096, two 16-bit slices, copy 1600 GB/s: 2 x 67108864 bytes =
 * 83886 ns. */
static inline int64_t ht_pack_ns(int64_t slice_bytes_per_element, int64_t copy_gbps, int64_t rows, int64_t k,
                                 int64_t batch) {
    int64_t padded =
        ht_mul(ht_ceil_div(rows, HT_ATOM_ROWS) * HT_ATOM_ROWS, ht_ceil_div(k, HT_K_PAD) * HT_K_PAD);
    int64_t bytes = ht_add(ht_mul(4, ht_mul(rows, k)), ht_mul(padded, slice_bytes_per_element));
    return ht_mul(bytes, batch) / copy_gbps;
}

/* FP64 by residues or digits, beside products: packing, which reads twice, and what puts planes of results together. Digits have no
 * planes, and one launch less.
 *
 * Worked example (a test holds it): 1024 x 1024 x 1024, 15 panels, copy 1600 GB/s, launch 3000 ns: 2 x 31 MiB and 23 MiB, 64705 ns. */
static inline int64_t ht_residue_steps_ns(int64_t copy_gbps, int64_t launch_ns, int panels, int has_planes,
                                          const struct ht_problem *p) {
    const int64_t operands = ht_mul(ht_mul(ht_add(p->m, p->n), p->k), 16 + panels),
                  result = has_planes ? ht_mul(ht_mul(p->m, p->n), 8 + panels) : 0;
    return ht_add(ht_mul(ht_add(operands, result), p->batch) / copy_gbps, (has_planes ? 3 : 2) * launch_ns);
}

#endif
