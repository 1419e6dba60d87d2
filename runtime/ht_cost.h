/* ht_cost.h: the only shape-cost formula: what a kernel of a set, its split-K reduction and packing are predicted to take. Integers
 * alone, the same in generator, runtime and tests. */
#ifndef HT_COST_H
#define HT_COST_H

#include "ht_abi.h"

/* The longest time that is predicted, 36 years: a call that takes longer is said to take this, and sums of a few predictions
 * still fit 64 bits. */
#define HT_NS_MOST (INT64_C(1) << 60)
static inline int64_t ht_cycles_ns(int64_t cycles, int64_t clock_mhz) {
    return cycles > INT64_MAX / 1000 ? ht_mul(cycles / clock_mhz, 1000) : cycles * 1000 / clock_mhz;
}

/* Bytes of an element of a part: exact sums are 64-bit integers. */
static inline int64_t ht_partial_size(int exact_k) {
    return exact_k > 0 ? 8 : 4;
}

/* Bytes of the split-K partial sums of one call; 0 without split. */
static inline int64_t ht_partial_bytes(int64_t m, int64_t n, int64_t batch, int64_t splits,
                                       int64_t part_bytes) {
    return splits > 1 ? ht_mul(ht_mul(ht_mul(m, n), ht_mul(batch, splits)), part_bytes) : 0;
}

/* Tiles along one side of C, in whole clusters. */
static inline int64_t ht_tiles(int64_t length, int tile, int cluster) {
    const int64_t blocks = cluster > 1 ? cluster : 1;
    return ht_mul(ht_ceil_div(length, tile * blocks), blocks);
}

/* Parts of k in the rows of a tile of bm rows, of which the operand has `rows`. */
static inline int64_t ht_row_parts(const struct ht_cost_coefficients *c, int64_t rows, int bm) {
    const int64_t parts = bm / (rows > 2 ? 4 : rows);
    return rows > 4 || c->row_parts == 0 ? 1 : parts < c->row_parts ? parts : c->row_parts;
}

/* Kernel time in ns of one launch, split-K reduction included, packing excluded. Blocks run in waves over
 * sms * blocks_per_sm slots; a wave advances one bk step in the longer of what its SMs and what L2 need. An SM
 * with p blocks needs p x busy + (latency - busy) / p^2, and never less than latency: blocks fill each other's
 * gaps (the square is fitted to measurements).
 *
 * A kernel that reads the operands as they are (stream_gbps) may exchange them (ht_swap_ab), and cannot end before
 * device memory has delivered them once and taken C; of a matrix and a few vectors (row_parts), what further columns read again comes from L2
 * then, of a tall one (whole_k) no faster than the first time. Its waves after the first count fixed / blocks_per_sm.
 *
 * Worked line (a test holds it): 108 SMs at 1410 MHz, 1 block/SM, f16x3 tile 128x128x32: step_busy 1536 clocks
 * (3 * 128 * 128 * 32 / 1024 per clock), step_latency 700, fixed 2000, step_bytes 32768, l2 4000 GB/s,
 * m = n = k = 4096. L2 feeds a full wave in 108 * 32768 / 4000 = 884.7 ns = 1247 clocks, so the busy pipe
 * decides; 1024 tiles = 9 full waves + 52 blocks; 10 x (2000 + 128 x 1536) = 1986080 clocks = 1408567 ns.
 * With l2 2000 GB/s L2 decides the full waves: 2494.9 clocks a step; 9 x (2000 + 319353) + (2000 + 196608)
 * = 3090785 clocks = 2192046 ns.
 *
 * Worked line, split-K: the same GPU, m = n = 512, k = 4096, splits 4, dram 2000 GB/s, launch 3000 ns:
 * 64 blocks, one wave of 2000 + 32 x 1536 = 51152 clocks = 36278 ns; + 3000 for the reduction's launch,
 * + 5 x 1048576 / 2000 for its traffic and 4 x 1048576 / 2000 for the partial sums: 43996 ns; with 262 clocks a part
 * 4 x 262 = 1048 clocks = 743 ns more. The reduction of panels starts as the kernel does: start 1500 is 1063 ns more, twice.
 *
 * Worked line, persistent blocks that store by fours: the same GPU, m = 513, n = 4096, k = 32, start 1500, narrow 7680: 5 x
 * 32 tiles are two waves; 1500 + 2 x (2000 + 7680 + 1536) = 23932 clocks = 16973 ns, and with m = 512, 4 x 32 tiles, 1500 +
 * 2 x 3536 = 8572 clocks = 6079 ns. Of a tile that C does not fill only the stored part counts: m = n = 63, 7680 x 63 x 63 /
 * 16384 = 1860.
 *
 * Worked line, a matrix and a vector: tiles of 8 x 1, 108 SMs at 1000 MHz, start 2000, fixed 1000, busy 100, latency 500, step_k 256, stream
 * 4000 GB/s: m = 800, n = 1, k = 1024: 100 tiles, 2000 + 1000 + 4 x 500 = 5000 ns; with m = 798, whose columns begin anywhere, and 1600
 * more for that, 11400; m = 2, n = 64 is exchanged, 16 tiles, 5000, with 230 % 11500; k = 64: a quarter of those 1600, once.
 * m = n = 1, k = 16384: 64 steps, 35000; shared out among 8 rows 8 steps, 7000 (row_parts 8), which makes tiles of 32 rows
 * where rows lie side by side, each four times as long: m = 8192, n = 1, k = 256 are 256 tiles, three to an SM, 2000 + 1000 + 4 x 500 = 5000 ns, with
 * latency 125 2000 + 1000 + 3 x 400 + 100 / 9 = 4211. Of 28 rows where
 * they begin anywhere: m = 3025 are 109 tiles, two to an SM, 2000 + 1000 + 2 x 400 + 100 / 4 = 3825.
 *
 * Worked line, a block that is alone on its SM and waits for what it reads again, from L2, too: tiles of 64 x 64 x 32, 108 SMs at 1000 MHz, fixed
 * 1000, busy 1, stream 1000 GB/s, l2 4000: m = n = 128, k = 4096: A, B and C are 4259840 bytes, 4259 ns; 4 x 128 steps of 16384 bytes are
 * 4128768 more, 1032 ns; with 1000 6291 ns. With two blocks an SM 5259.
 *
 * Worked line, a block that is alone and reads what L2 does not keep: tiles of 128 x 1, 108 SMs at 1000 MHz, fixed 1000, busy and latency 100, step_k 32, stream 40000
 * GB/s, near 4194304 bytes, far 300: m = 8192, n = 1, k = 64: 64 tiles, 1000 + 2 x 100 = 1200 ns; k = 128 are 4227584 bytes, 1000 + 4 x (100 + 300) = 2600.
 *
 * Worked line, blocks that an SM's others wait for: tiles of 64 x 64 x 16, one SM at 1000 MHz, 4 blocks/SM, fixed 1000, block 300, busy 100: m = 256,
 * n = 128, k = 16: 8 tiles are two waves of four, 1000 + 250 + 2 x (4 x 300 + 4 x 100) = 4450 ns.
 *
 * Worked line, columns that read a matrix again: tiles of 128 x 1, 108 SMs at 1000 MHz, whole_k, step_k 32, busy 1, stream 1000 GB/s,
 * m = 128000, n = 2, k = 64: A, B and C are 33792512 bytes, 33792 ns; 2000 tiles of two steps, 16512 bytes each, read
 * 32255488 more, 32255: 66047.
 *
 * At most HT_NS_MOST. */
static inline int64_t ht_cost_ns(const struct ht_cost_coefficients *c, int bm, int bn, int64_t sms,
                                 int64_t clock_mhz, int64_t l2_gbps, int64_t dram_gbps, int64_t launch_ns,
                                 int64_t m, int64_t n, int64_t k, int64_t batch, int64_t splits) {
    const int swapped = c->stream_gbps > 0 && ht_swap_ab(m, n, bm, bn, c->swap_share), rows = swapped ? bn : bm;
    const int tall = 4 * c->row_parts > bm && !swapped && m > 4 ? 4 * c->row_parts / bm : 1; /* lines of A are k: nothing transposed */
    bn = swapped ? bm : bn;
    bm = rows * tall - (tall > 1 && m % 4 != 0 ? HT_MISALIGN_ROWS_LOST : 0);
    const int64_t step_busy = (int64_t)c->step_busy_x256 * tall, step_bytes = (int64_t)c->step_bytes * tall;
    int64_t tiles = ht_mul(ht_mul(ht_tiles(m, bm, c->cluster_m), ht_tiles(n, bn, c->cluster_n)), ht_mul(batch, splits));
    int64_t steps = ht_ceil_div(ht_ceil_div(ht_ceil_div(k, c->step_k), splits), ht_row_parts(c, swapped ? n : m, swapped ? bn : bm));
    int64_t slots = sms * c->blocks_per_sm;
    int64_t full = tiles / slots, rest = tiles % slots;
    int64_t stored = (m < bm ? m : bm) * (n < bn ? n : bn);
    int64_t tile = c->fixed_cycles + (m % 4 != 0 ? c->narrow_cycles * stored / ((int64_t)bm * bn) : 0);
    const int64_t lines = swapped ? n : m; /* of that operand's, dense, and nothing transposed */
    const int ragged = lines > 1 && (swapped ? k : m) % 4 != 0 && (c->row_parts == 0 || (lines <= 4 && !swapped));
    const int64_t once = ht_mul(ht_add(ht_mul(ht_mul(ht_add(m, n), k), 4), ht_mul(ht_mul(m, n), 4)), batch); /* bytes of A, B and C */
    const int64_t lone = (int64_t)c->step_latency_x256 + (once > c->near_bytes ? c->far_cycles * INT64_C(256) : 0);
    const int64_t latency = lone * tall + (ragged ? c->ragged_cycles * INT64_C(256) * (k < c->step_k ? k : c->step_k) / c->step_k : 0);
    int64_t cycles = c->start_cycles;
    for (int last = 0; last < 2; last++) {
        int64_t waves = last ? (rest > 0) : full;
        int64_t blocks = last ? rest : slots;
        if (waves == 0)
            continue;
        int64_t per_sm = ht_ceil_div(blocks, sms);
        int64_t stall = latency - step_busy;
        int64_t busy = per_sm * step_busy + (stall > 0 ? stall / (per_sm * per_sm) : 0);
        /* bytes / (GB/s) = ns; ns * MHz / 1000 = clocks */
        int64_t l2 = blocks * step_bytes * 256 / l2_gbps * clock_mhz / 1000;
        int64_t step = busy > latency ? busy : latency;
        step = l2 > step ? l2 : step;
        cycles = ht_add(cycles, ht_mul(waves, ht_add(per_sm * c->block_cycles, ht_mul(steps, step) / 256)));
        /* blocks of one SM are not at the same place: after the first wave one starts beside another */
        const int64_t whole = c->stream_gbps == 0 ? waves : last ? full == 0 : 1;
        cycles = ht_add(cycles, ht_add(ht_mul(whole, tile), ht_mul(waves - whole, tile / c->blocks_per_sm)));
    }
    int64_t ns = ht_cycles_ns(cycles, clock_mhz);
    if (c->stream_gbps > 0) {
        const int64_t read = ht_mul(ht_mul(tiles, steps), step_bytes);
        const int rereads = c->blocks_per_sm == 1 || c->row_parts > 0 || c->whole_k;
        const int64_t again = rereads && read > once ? (read - once) / (c->whole_k ? c->stream_gbps : l2_gbps) : 0;
        const int64_t start = c->start_cycles > c->fixed_cycles ? c->start_cycles : c->fixed_cycles;
        const int64_t rounds = c->row_parts > 0 ? ht_mul(full, c->fixed_cycles) : 0; /* blocks of a matrix and a vector load, then add up */
        const int64_t dram = ht_add(once / c->stream_gbps + again, ht_cycles_ns(ht_add(start, rounds), clock_mhz));
        ns = ns > dram ? ns : dram;
        if (swapped && m > 1 && c->swapped_percent > 0) /* ns * percent / 100, which may be more than 64 bits hold */
            ns = ht_add(ht_mul(ns / 100, c->swapped_percent), ns % 100 * c->swapped_percent / 100);
    }
    if (splits > 1) { /* the kernel writes the parts; the reduction reads them and writes C */
        int64_t part = ht_mul(ht_mul(m, n), ht_mul(batch, ht_partial_size(c->exact_k)));
        const int64_t start = c->stream_gbps > 0 ? 0 : c->start_cycles; /* of the reduction; those kernels' figures have it */
        /* parts that a thread reads; figures of kernels that read panels were fitted when it read all of them */
        const int64_t read = splits > HT_SPLITK_PREFETCH && c->stream_gbps > 0 ? ht_ceil_div(splits, HT_SPLITK_LANES) : splits;
        ns = ht_add(ns, launch_ns + (start - c->hidden_cycles + read * c->part_cycles) * 1000 / clock_mhz);
        ns = ht_add(ns, ht_mul(splits + 1, part) / dram_gbps);
        ns = ht_add(ns, ht_mul(splits, part) / dram_gbps);
    }
    return ns < HT_NS_MOST ? ns : HT_NS_MOST;
}

/* The same of a kernel of a set. */
static inline int64_t ht_kernel_ns(const struct ht_set_desc *set, const struct ht_kernel_desc *kernel, int64_t m, int64_t n, int64_t k,
                                   int64_t batch, int64_t splits) {
    return ht_cost_ns(&kernel->cost, kernel->bm, kernel->bn, set->sms, set->clock_mhz, set->l2_gbps, set->dram_gbps, set->launch_ns, m, n, k,
                      batch, splits);
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

/* Fewest parts that a kernel with exact sums may have; 1 for the others. Beyond HT_PICK_SPLITS_MAX: k is too large for
 * it. Worked line (a test holds it): exact_k 131072, bk 128: k = 131072 -> 1, 131073 -> 2, 400000 -> 4, 2^24 -> 128. */
static inline int ht_min_splits(const struct ht_cost_coefficients *c, int64_t k) {
    const int64_t steps = ht_ceil_div(k, c->step_k), most = c->exact_k > 0 ? c->exact_k / c->step_k : steps;
    int splits = 1;
    while (splits <= HT_PICK_SPLITS_MAX && ht_ceil_div(steps, splits) > most)
        splits = ht_split_series(splits);
    return splits;
}

/* The number of parts that is weighed after `splits`, after 0 the first; 0: no more. No fewer than ht_min_splits; beyond that every part keeps
 * at least HT_PICK_STEPS bk steps, of kernels that read the operands as they are as many as have HT_PICK_K k if that is less, and the
 * partial sums fit partial_bytes; none where k is taken whole. */
static inline int ht_next_split(const struct ht_cost_coefficients *c, int64_t m, int64_t n, int64_t k, int64_t batch,
                                  int64_t partial_bytes, int splits) {
    if (splits == 0)
        return ht_min_splits(c, k);
    const int next = ht_split_series(splits);
    int64_t part = HT_PICK_STEPS;
    if (c->stream_gbps > 0 && c->step_k * HT_PICK_STEPS > HT_PICK_K)
        part = ht_ceil_div(HT_PICK_K, c->step_k);
    const int fits = ht_partial_bytes(m, n, batch, next, ht_partial_size(c->exact_k)) <= partial_bytes;
    return next <= HT_PICK_SPLITS_MAX && ht_ceil_div(k, c->step_k) / next >= part && fits && !c->whole_k ? next : 0;
}

/* ht_cost_ns with the best split-K, and how many parts that has. Ties go to the smaller split. */
static inline int64_t ht_best_split(const struct ht_cost_coefficients *c, int bm, int bn, int64_t sms,
                                 int64_t clock_mhz, int64_t l2_gbps, int64_t dram_gbps, int64_t launch_ns,
                                 int64_t m, int64_t n, int64_t k, int64_t batch, int64_t partial_bytes,
                                 int *best_splits) {
    const int least = ht_next_split(c, m, n, k, batch, partial_bytes, 0);
    int64_t best =
        ht_cost_ns(c, bm, bn, sms, clock_mhz, l2_gbps, dram_gbps, launch_ns, m, n, k, batch, least);
    *best_splits = least;
    for (int splits = least; (splits = ht_next_split(c, m, n, k, batch, partial_bytes, splits)) > 0;) {
        int64_t ns =
            ht_cost_ns(c, bm, bn, sms, clock_mhz, l2_gbps, dram_gbps, launch_ns, m, n, k, batch, splits);
        if (ns < best) {
            *best_splits = splits;
            best = ns;
        }
    }
    return best;
}

/* Packing time in ns of one operand of rows x k elements without launches: read once, panels written once (the
 * padding of rows to 64 and of k to 64 included), at the speed of a large copy. Both operands share one
 * launch, whose blocks exchange the rows' magnitudes.
 *
 * Worked line (a test holds it): 4096 x 4096, two 16-bit slices, copy 1600 GB/s: 2 x 67108864 bytes = 83886 ns. */
static inline int64_t ht_pack_ns(int64_t slice_bytes_per_element, int64_t copy_gbps, int64_t rows, int64_t k,
                                 int64_t batch) {
    int64_t padded =
        ht_mul(ht_ceil_div(rows, HT_ATOM_ROWS) * HT_ATOM_ROWS, ht_ceil_div(k, HT_K_PAD) * HT_K_PAD);
    int64_t bytes = ht_add(ht_mul(4, ht_mul(rows, k)), ht_mul(padded, slice_bytes_per_element));
    return ht_mul(bytes, batch) / copy_gbps;
}

#endif
