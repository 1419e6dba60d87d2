/* ht_desc.h: what a generated kernel tells the runtime, and the only shape-cost formula. Pure C, no vendor header.
 *
 * The text between the abi marks is copied into every generated file, so that a vendored kernel needs no header of
 * this project; HT_ABI_VERSION changes with it. */
#ifndef HT_DESC_H
#define HT_DESC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*@abi*/
#ifndef HT_ABI_VERSION
#define HT_ABI_VERSION 6
/* C(m x n, column-major, ldc) = alpha * A * B + beta * C from packed operands. Panels: atoms of 64 rows x 128 bytes,
 * ordered row-block, k-block, group of slices; inside an atom row r, 16-byte chunk c lies at r * 128 + ((c ^ (r & 7)) *
 * 16); a row holds atom_slices slices side by side ([32 hi | 32 lo] for two 16-bit slices, [64] for one; of three 8-bit
 * slices [128 of one], and the atoms of the second and the third follow). */
struct ht_gemm_args {
    const unsigned char *a_panels; /* ceil(m / 64) x k_blocks atoms */
    const unsigned char *b_panels; /* ceil(n / 64) x k_blocks atoms */
    const int
        *a_exponents; /* per row of A: its largest finite magnitude as the bits of a float, from which the
                             * row's scale follows (ht_row_exponent); unused without scaling */
    const int *b_exponents; /* per column of B */
    float *c;
    float *partial; /* splits > 1: [batch][split][n][m] before alpha and beta; else unused. Floats, or for
                             * schemes with exact sums 64-bit integers, not yet scaled */
    const float *alpha_ptr; /* device pointers that win over the values below; NULL: use the values */
    const float *beta_ptr;
    long long ldc, c_stride;                        /* elements */
    long long a_stride, b_stride;                   /* bytes between batch entries of the panels; 0: shared */
    long long a_exponent_stride, b_exponent_stride; /* elements */
    int m, n;
    int k_blocks; /* atoms of a row block: along k, all slices */
    int splits;   /* k is cut into this many ordered parts */
    int batch;
    float alpha, beta;
    /* Kernels that read the operands as they are, instead of panels: element (row, k) is src[row * ld + k] when
     * k_contiguous, else src[k * ld + row]; rows are those of A, or columns of B. */
    const float *a_src, *b_src;
    long long a_ld, b_ld, a_src_stride, b_src_stride; /* elements; strides between batch entries */
    int a_k_contiguous, b_k_contiguous, k;
    int fma_only; /* they multiply in FP32 from the start, without looking at the data */
    /* Data check, NULL: none. For 64 rows of A (columns of B) and each piece of k what pack counted (hooks_tame). Kernels
     * that read panels leave blocks of 64 x 64 alone that are not tame; those that read the operands all others. */
    const int *a_tame, *b_tame;
    long long a_tame_stride, b_tame_stride; /* elements between batch entries */
    const int *a_alarm, *b_alarm; /* two ints, equal if any number of the operand may be negative; NULL: as if equal */
    int pieces, parts; /* of k; numbers of a piece: 1, or 4 of 16 rows each, of which the least counts */
    int rescues; /* with a check, of kernels that can (ht_kernel_desc): they compute blocks that are not tame from the operands */
};
/* Whether a kernel that reads the operands as they are takes B's columns as the rows of its bm x bn tiles, because that are
 * fewer tiles: 1 x n. share: more than one of so many fewer, since C is then stored by lines of bn numbers, not bm; 0: any. */
static inline int ht_direct_swaps(long long m, long long n, int bm, int bn, int share) {
    const long long straight = ((m + bm - 1) / bm) * ((n + bn - 1) / bn);
    const long long swapped = ((n + bm - 1) / bm) * ((m + bn - 1) / bn);
    return swapped + (share > 0 ? straight / share : 0) < straight;
}
/* Tiles of 64 rows x 64 k of a packing block: at most `most`, of which `together` blocks fit an SM, and never more than
 * four (their registers). Blocks of `most` where more than two rounds of them are needed: then memory decides. Else what takes least, a
 * round as long as its blocks' tiles and one more for their exchange of magnitudes. row_blocks: of both operands.
 *
 * Worked lines (a test holds them), 132 SMs, most 4, together 3: n = 1024, 32 row blocks of 16 tiles: 512 blocks of one tile find
 * 528 places, one round: 1. n = 1536, 48 x 24: 3 tiles 384 blocks, one round of 4. n = 2048, 64 x 32: 4 tiles 512 blocks on 396
 * places, two rounds of 5; 2 tiles 1024 blocks on 528, two of 3: 2. n = 4096, 128 x 64: 2048 blocks of 4 tiles are six rounds: 4. */
static inline int ht_pack_tiles(long long row_blocks, long long k_tiles, int sms, int most, int together) {
    int best = most;
    long long least = 0;
    if (most <= 1 || row_blocks > 2LL * sms * together / ((k_tiles + most - 1) / most))
        return most;
    for (int tiles = most; tiles > 0; tiles--) {
        const int room = most * together / tiles, places = sms * (room < 4 ? room : 4);
        const long long blocks = row_blocks * ((k_tiles + tiles - 1) / tiles), rounds = (blocks + places - 1) / places;
        if (least == 0 || rounds * (tiles + 1) < least) {
            least = rounds * (tiles + 1);
            best = tiles;
        }
    }
    return best;
}
/* Whether packing that scales rows takes 16 of them whole in each block, k_tiles of 64 k: where one block of tiles has not all k and
 * registers have, and all blocks fit the SMs side by side: one of
 * 8 warps, or two that hold as much as 4 of those. row_blocks: of all operands.
 *
 * Worked lines (a test holds them), 132 SMs: n = 1024, 32 row blocks of 16 tiles: 128 blocks: yes. 2048 x 2048 x 1024, 64
 * x 16: 256 blocks, no. 2048 x 2048 x 512: 256 blocks of half as much, yes. */
static inline int ht_packs_rows(long long row_blocks, long long k_tiles, int sms) {
    const long long warps = k_tiles > 8 ? 8 : 4;
    return k_tiles > 4 && k_tiles <= 16 && row_blocks <= 8LL * sms / (4 * warps);
}
/* Whether packing that scales rows and does not take them whole goes by strips of 32 rows x 512 k, which wait in registers: where one block
 * of tiles has not all k. On the H200 strips take 0.80 to 1.02 of the time that tiles take. */
static inline int ht_packs_strips(long long k_tiles) {
    return k_tiles > 4;
}
/* One operand into panels: element (row, k) is src[row * ld + k] when k_contiguous, else src[k * ld + row]. */
struct ht_pack_args {
    const float *src;
    unsigned char *panels;
    int *exponents; /* schemes that scale rows: the rows' magnitudes, rows rounded up to 64; NULL for the others */
    int *meeting; /* schemes that scale rows: ht_meeting_ints ints, used while packing. Between launches all hold -1
                             * if meeting_clean (the kernel leaves them so); else the launcher writes that first */
    long long ld;   /* elements */
    long long src_stride;   /* elements between batch entries */
    long long panel_stride; /* bytes */
    long long exponent_stride, meeting_stride;
    int rows, k;
    int k_blocks; /* atoms of a row block: ht_k_blocks */
    int k_contiguous;
    int batch;
    int meeting_clean; /* the same for both operands of a launch */
    /* The data check, the same for both operands but for addresses; NULL: none. For each 64 rows and piece of 64 * tiles k
     * one number: 8 times how many of the piece's elements are large beside their row's largest, in the row that has
     * fewest, less 5 times the piece's k; 0x7fffffff: all are zero; -0x7fffffff: one is NaN or Inf. Where rows are packed
     * whole, or by strips, it is four numbers, one for each 16 rows, and a strip's 512 k are a piece. */
    int *tame;
    float *copy; /* the matrix again, k contiguous, rows and k padded to 64 with zeros; NULL: not wanted */
    long long tame_stride, copy_stride; /* elements between batch entries */
    int *alarm; /* the first int becomes `call`, and the second where a number is negative. Aligned to 8 bytes */
    int call;   /* another in each call, so that nobody has to clear the second */
    int tiles; /* 64 x 64 tiles of a packing block, at most the scheme's pack_tiles; -1: whole rows; -2: strips; 0: as the launcher likes */
};
#endif
/*@end*/

/* Contracts that both sides of the ABI rely on:
 * - A launcher takes any m, n >= 1 and batch <= HT_GRID_BATCH (pack: both operands' batches together); the
 *   runtime cuts what is larger. A launcher returns 0 or the backend's error code, waits for nothing and allocates
 *   nothing.
 * - beta == 0 (by value or through beta_ptr) never reads C. alpha == 0 makes the product vanish, NaN and Inf
 *   included; the runtime launches no product when it can see that on the host, kernel and reduction test the
 *   value behind alpha_ptr.
 * - Split-K: part i holds the bk steps [total * i / splits, total * (i + 1) / splits), or, where the operands are read as they are,
 *   total / splits steps, and in total % splits of the parts one more; splits == 1 applies alpha and beta in the
 *   kernel and needs no partials.
 * - reduce with splits >= 1 adds the parts in an order that depends on nothing but splits and applies alpha and beta once. reduce with
 *   splits == 0 is C = beta * C without partials, A, B or alpha; with beta == 0 it writes zeros. */
enum {
    HT_ATOM_ROWS = 64,
    HT_ATOM_BYTES = 8192,
    HT_ROW_PARTS = 4, /* numbers of the data check for 64 rows where packing takes whole rows or strips */
    HT_WHOLE_ROWS = -1, HT_STRIPS = -2, /* instead of a packing block's tiles */
    HT_STRIP_TILES = 8, /* of 64 k in a strip */
    HT_K_PAD = 64, /* k is padded with zeros to a multiple of this, or of an atom's k where that is more */
    HT_PARTS_AHEAD = 16,  /* parts that the split-K reduction loads before it adds the first; of more, threads share out an element's */
    HT_PARTS_SHARING = 4, /* so many threads */
    HT_GRID_BATCH = 65535 /* what the y or z extent of a grid can hold */
};

/* Integer cost coefficients of one kernel: filled by the generator's model, evaluated by ht_cost_ns. Clocks
 * are SM clocks at clock_mhz of the set; "x256" means fixed point with 8 fraction bits. */
struct ht_cost_coefficients {
    int32_t blocks_per_sm;     /* resident blocks */
    int32_t step_busy_x256;    /* clocks of the busiest SM pipe for one bk step of one block */
    int32_t step_latency_x256; /* least clocks of one bk step of a block that is alone on its SM */
    int32_t fixed_cycles;      /* prologue, drain and epilogue of a tile */
    int32_t step_bytes; /* bytes a block reads from L2 per bk step: (bm + bn) * bk * slices * slice bytes, less what other
                         * blocks of its cluster read for it */
    int32_t step_k;     /* bk */
    int32_t exact_k;    /* exact integer sums: most k of one part; 0: FP32 sums */
    int32_t start_cycles;  /* once a launch: persistent blocks start only once */
    int32_t narrow_cycles; /* more for a whole tile where C's rows cannot be stored by fours: m is no multiple of 4 */
    int32_t part_cycles;   /* of the split-K reduction for each part that a thread reads: HT_PARTS_AHEAD, then it waits */
    int32_t stream_gbps;   /* kernels that read the operands as they are: how fast they draw them from device memory and store
                            * C; 0: panels */
    int32_t cluster_m, cluster_n; /* blocks along m and n that run together; 0 as 1 */
    int32_t swapped_percent; /* what the product takes where B's columns are the rows of tiles (ht_direct_swaps) and A has several rows,
                              * which lie side by side unless A is transposed, as is not asked; 0 as 100 */
    int32_t ragged_cycles;   /* more for a step where lines of that operand whose rows are the rows of tiles begin anywhere; with row_parts, only
                              * where it has up to four rows, which lie side by side */
    int32_t row_parts; /* where that operand has up to four rows, a tile's other rows are further parts of k, up to so many; of more rows that
                        * lie side by side a tile has four times so many, not bm, if that is more, less HT_LINE_LOSS where lines begin
                        * anywhere; 0: they are idle */
    int32_t hidden_cycles; /* of the launch of the split-K reduction, behind the kernel */
    int32_t block_cycles; /* of a block that an SM's other blocks wait for: its start, its stores */
    int32_t swap_share;   /* the kernel's share of tiles in ht_direct_swaps */
    int32_t near_bytes, far_cycles; /* where A, B and C are more than L2 keeps for all SMs: more for a step of a block that is alone; 0: not asked */
    int32_t whole_k; /* 1: k is never split, and a matrix that further columns read again comes no faster than the first time (kernels of
                      * a tall matrix, and the rescue, which only ever has all of k) */
};

/* Rows less of a tile whose lines are read from multiples of 16 bytes on (row_parts). */
enum { HT_LINE_LOSS = 4 };

struct ht_kernel_desc {
    const char *name;    /* ht_f16x3_128x128x32_w64x32_s4_sm80 */
    const char *scheme;  /* row of the scheme table */
    const char *variant; /* "" dispatchable; "plain", "manual", "nointerleave": ablations, run by name only; "rescue": of
                          * those that read the operands, the one for ht_pick_rescue */
    const char *why;     /* one line of the plan: binding resource and runner-up */
    int bm, bn, bk, wm, wn, stages, threads, smem_bytes, regs_planned;
    int direct; /* reads a_src, b_src; 0: panels */
    int rescues; /* 1: of the blocks that a data check lets it leave out it computes what args.rescues asks for */
    struct ht_cost_coefficients cost;
    int (*init)(void); /* raises the kernel's shared-memory limit, once per device; 0 or the backend's code */
    int (*launch)(const struct ht_gemm_args *args, void *stream);
};

/* ht_kernel_desc.direct: of kernels that read the operands as they are, one that is slow at FP32 multiply-adds, not for fma_only; and one
 * whose sums are of FP64, rounded once. */
enum { HT_DIRECT = 1, HT_DIRECT_SLICES, HT_DIRECT_DMMA };

/* For which inputs a scheme's bound holds, roughly; range_text has the numbers. The order means nothing. */
enum ht_range {
    HT_RANGE_ALL,  /* every finite input */
    HT_RANGE_FP32, /* FP32's exponents: magnitudes from 2^-102 to below 2^128 - 2^119, whatever stands beside them */
    HT_RANGE_ROW,  /* any exponent, elements down to 2^-16 of the largest in their row of A (column of B) */
    HT_RANGE_FP16, /* magnitudes that a normal FP16 number can have */
    HT_RANGE_PART, /* part of those: slices of an FP16 split lose more below than FP16 itself */
    HT_RANGE_FIXED /* fixed point: the bound is not relative to |A||B| (exact_k > 0) */
};

struct ht_scheme_desc {
    const char *name, *range_text, *bound_text;
    int slices, atom_k, slice_bytes;
    int scales_rows;                  /* exponents are produced and needed */
    int products, mma_k, align_units; /* products per MMA step; k of one MMA; see ht_bound_units */
    int split_units; /* lost once: by the split, less what a chain's first step spares; may be negative */
    int promote_k;   /* of the main accumulator; 0: one chain over all of k; else at least mma_k */
    int flush_exponent; /* the unit flushes subnormals: an element that is a normal number of the slice type loses up
                         * to 2^flush_exponent, a smaller one may vanish; 0: it keeps them */
    const char *pack_name;
    int (*pack_init)(void); /* once per device */
    /* operands: 1 or 2, packed in one launch; NULL, as is pack_init: the kernels read the operands as they are */
    int (*pack)(const struct ht_pack_args *operands, int count, void *stream);
    int atom_slices; /* slices side by side in an atom's rows */
    /* Fixed point with exact sums: most k of one part. The bound is then relative to k * largest of the row of A * largest
     * of the column of B, and NaN or Inf in a row make its results NaN. 0: FP32 sums */
    int exact_k;
    int (*reduce)(const struct ht_gemm_args *args, void *stream); /* of split-K; NULL: the set's */
    int fma_k; /* up to this k fma_only is set: an FP32 multiply-add for each product. 0: the kernels read panels */
    int pack_tiles; /* most tiles of 64 k of a packing block if packing can check the data; 0: it cannot */
    /* Of a scheme whose packing checks the data: from this k on its errors on uniform and normal data are no larger than
     * those of native FP32, and on all that passes no more than twice (measured: notes on error bounds, section 11) */
    int native_k;
    enum ht_range range;
    int pack_together; /* with pack_tiles: packing blocks of so many tiles that fit an SM */
};

/* What `halftone tune` measured to be fastest for one shape without batch; kernel: index into the set, whose scheme it
 * serves. */
struct ht_tuned {
    int64_t m, n, k;
    int kernel, splits;
};

struct ht_set_desc {
    const char *gpu, *isa, *version, *sim_model;
    int arch;       /* compute capability x 100 that the code needs at least: 750, 800, 900; gfx90a: 0x90a */
    int arch_exact; /* 1: runs on that architecture only (sm_90a, gfx90a) */
    int sms, clock_mhz;
    int64_t copy_gbps, l2_gbps, dram_gbps, launch_ns;
    int kernels, schemes;
    const struct ht_kernel_desc *kernel;
    const struct ht_scheme_desc *scheme;
    int (*reduce)(const struct ht_gemm_args *args, void *stream); /* see the contracts above */
    int tuned_count; /* 0 unless the set was built with TUNED= */
    const struct ht_tuned *tuned;
};

/* Linkage of what the files of the runtime share: static in an amalgamation, where the definition of ht_sets comes
 * before its uses. */
#ifndef HT_LOCAL
#define HT_LOCAL
/* The sets of this library, NULL behind the last; at least one. The generated dispatch.c defines it. */
extern const struct ht_set_desc *const ht_sets[];
#endif

/* The scheme that a name means wherever one is taken: earlier names of schemes are kept here, any other name is its own. */
static inline const char *ht_scheme_meant(const char *name) {
    static const struct {
        const char *earlier, *name;
    } renamed[] = {{"fp32", "bf16x6u"}};
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(renamed[i].earlier, name) == 0)
            return renamed[i].name;
    return name;
}

static inline int64_t ht_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/* Sums and products of numbers >= 0 that stop at INT64_MAX: no shape, however absurd, may overflow a cost. */
static inline int64_t ht_add(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}
static inline int64_t ht_mul(int64_t a, int64_t b) {
    return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}

/* The longest time that is predicted, 36 years: a call that takes longer is said to take this, and sums of a few predictions
 * still fit 64 bits. */
#define HT_NS_MOST (INT64_C(1) << 60)
static inline int64_t ht_cycles_ns(int64_t cycles, int64_t clock_mhz) {
    return cycles > INT64_MAX / 1000 ? ht_mul(cycles / clock_mhz, 1000) : cycles * 1000 / clock_mhz;
}

/* k as it is packed, and the atoms of one row block. */
static inline int64_t ht_padded_k(const struct ht_scheme_desc *s, int64_t k) {
    const int64_t unit = s->atom_k > HT_K_PAD ? s->atom_k : HT_K_PAD;
    return ht_mul(ht_ceil_div(k, unit), unit);
}
static inline int64_t ht_k_blocks(const struct ht_scheme_desc *s, int64_t k) {
    return ht_mul(ht_padded_k(s, k) / s->atom_k, s->slices / s->atom_slices);
}

/* Ints through which the blocks that pack one matrix tell each other their rows' magnitudes: one for each row and 64 k, and
 * one for each 64 rows; none where one block has whole rows of any matrix. Packing by strips needs less. */
static inline int64_t ht_meeting_ints(const struct ht_scheme_desc *s, int64_t rows, int64_t k) {
    const int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS), tiles = ht_padded_k(s, k) / HT_K_PAD;
    return tiles > 1 ? ht_mul(row_blocks, ht_add(ht_mul(HT_ATOM_ROWS, tiles), 1)) : 0;
}

/* Tiles of 64 k that a packing block takes when it checks the data: as many as a launch with two square operands would give
 * it by itself, and a function of k alone, because pieces of operands that are packed apart must match. k == 0, of which there
 * are no tiles to share out (ht_pack_tiles divides by their blocks): the most. */
static inline int ht_checked_tiles(const struct ht_scheme_desc *s, int64_t sms, int64_t k) {
    const int64_t tiles = ht_padded_k(s, k) / HT_K_PAD;
    return tiles > 0 ? ht_pack_tiles(2 * tiles, tiles, (int)sms, s->pack_tiles, s->pack_together) : s->pack_tiles;
}

/* The same (ht_pack_args, tiles) for both operands of a call that packs them together. row_blocks: of both. */
static inline int ht_checked_call_tiles(const struct ht_scheme_desc *s, int64_t sms, int64_t row_blocks, int64_t k) {
    const int64_t tiles = ht_padded_k(s, k) / HT_K_PAD;
    return ht_packs_rows(row_blocks, tiles, (int)sms) ? HT_WHOLE_ROWS
           : ht_packs_strips(tiles)                   ? HT_STRIPS
                                                      : ht_checked_tiles(s, sms, k);
}

/* Pieces of k for which the data check counts, a packing block each, and in how many numbers for 64 rows. */
static inline int64_t ht_checked_pieces(const struct ht_scheme_desc *s, int tiles, int64_t k) {
    const int64_t each = tiles == HT_STRIPS ? HT_STRIP_TILES : tiles;
    return tiles == HT_WHOLE_ROWS ? 1 : ht_ceil_div(ht_padded_k(s, k) / HT_K_PAD, each);
}
static inline int ht_checked_parts(int tiles) {
    return tiles < 0 ? HT_ROW_PARTS : 1;
}

/* Bytes of an element of a part: exact sums are 64-bit integers. */
static inline int64_t ht_part_bytes(int exact_k) {
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
 * A kernel that reads the operands as they are (stream_gbps) may exchange them (ht_direct_swaps), and cannot end before
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
    const int swapped = c->stream_gbps > 0 && ht_direct_swaps(m, n, bm, bn, c->swap_share), rows = swapped ? bn : bm;
    const int tall = 4 * c->row_parts > bm && !swapped && m > 4 ? 4 * c->row_parts / bm : 1; /* lines of A are k: nothing transposed */
    bn = swapped ? bm : bn;
    bm = rows * tall - (tall > 1 && m % 4 != 0 ? HT_LINE_LOSS : 0);
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
        int64_t part = ht_mul(ht_mul(m, n), ht_mul(batch, ht_part_bytes(c->exact_k)));
        const int64_t start = c->stream_gbps > 0 ? 0 : c->start_cycles; /* of the reduction; those kernels' figures have it */
        /* parts that a thread reads; figures of kernels that read panels were fitted when it read all of them */
        const int64_t read = splits > HT_PARTS_AHEAD && c->stream_gbps > 0 ? ht_ceil_div(splits, HT_PARTS_SHARING) : splits;
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
static inline int ht_next_splits(int splits) {
    if (splits == 1)
        return 2;
    return (splits & (splits - 1)) == 0 ? splits / 2 * 3 : splits / 3 * 4;
}

/* Fewest parts that a kernel with exact sums may have; 1 for the others. Beyond HT_PICK_SPLITS_MAX: k is too large for
 * it. Worked line (a test holds it): exact_k 131072, bk 128: k = 131072 -> 1, 131073 -> 2, 400000 -> 4, 2^24 -> 128. */
static inline int ht_least_splits(const struct ht_cost_coefficients *c, int64_t k) {
    const int64_t steps = ht_ceil_div(k, c->step_k), most = c->exact_k > 0 ? c->exact_k / c->step_k : steps;
    int splits = 1;
    while (splits <= HT_PICK_SPLITS_MAX && ht_ceil_div(steps, splits) > most)
        splits = ht_next_splits(splits);
    return splits;
}

/* The number of parts that is weighed after `splits`, after 0 the first; 0: no more. No fewer than ht_least_splits; beyond that every part keeps
 * at least HT_PICK_STEPS bk steps, of kernels that read the operands as they are as many as have HT_PICK_K k if that is less, and the
 * partial sums fit partial_bytes; none where k is taken whole. */
static inline int ht_splits_after(const struct ht_cost_coefficients *c, int64_t m, int64_t n, int64_t k, int64_t batch,
                                  int64_t partial_bytes, int splits) {
    if (splits == 0)
        return ht_least_splits(c, k);
    const int next = ht_next_splits(splits);
    int64_t part = HT_PICK_STEPS;
    if (c->stream_gbps > 0 && c->step_k * HT_PICK_STEPS > HT_PICK_K)
        part = ht_ceil_div(HT_PICK_K, c->step_k);
    const int fits = ht_partial_bytes(m, n, batch, next, ht_part_bytes(c->exact_k)) <= partial_bytes;
    return next <= HT_PICK_SPLITS_MAX && ht_ceil_div(k, c->step_k) / next >= part && fits && !c->whole_k ? next : 0;
}

/* ht_cost_ns with the best split-K, and how many parts that has. Ties go to the smaller split. */
static inline int64_t ht_best_ns(const struct ht_cost_coefficients *c, int bm, int bn, int64_t sms,
                                 int64_t clock_mhz, int64_t l2_gbps, int64_t dram_gbps, int64_t launch_ns,
                                 int64_t m, int64_t n, int64_t k, int64_t batch, int64_t partial_bytes,
                                 int *best_splits) {
    const int least = ht_splits_after(c, m, n, k, batch, partial_bytes, 0);
    int64_t best =
        ht_cost_ns(c, bm, bn, sms, clock_mhz, l2_gbps, dram_gbps, launch_ns, m, n, k, batch, least);
    *best_splits = least;
    for (int splits = least; (splits = ht_splits_after(c, m, n, k, batch, partial_bytes, splits)) > 0;) {
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

/* A-priori error bound: |C - (alpha A B + beta C0)| <= units * 2^-24 |alpha| |A||B| + 2^-24 |beta C0|, componentwise,
 * for one product of length k, split-K included. Derivation, range, absolute terms: the project's notes. With exact
 * sums (exact_k > 0) |A||B| stands for k * largest of the row of A * largest of the column of B.
 *   align_units: what the chain of the main accumulator loses per mma_k, all its products together, relative to the
 *   running sum of magnitudes;
 *   an addition outside the matrix unit rounds by one unit of its result: one for each interval but the first;
 *   1/25 more: slices are up to 2^-9 larger than what they stand for, and corrections with an accumulator of their
 *   own lose at most 1/28 unit per mma_k;
 *   4: alpha, beta, the accumulators' combination, and everything that stays below one unit.
 *
 * Worked line (a test holds it): split_units 8, mma_k 16, align_units 10, promote 64, k = 4096: a chain of 4 steps loses
 * 40, 64 intervals are 63 additions; 8 + 103 + 103 / 25 + 4 = 119. */
static inline int64_t ht_bound_units(const struct ht_scheme_desc *s, int64_t k) {
    if (s->exact_k > 0) /* no chain loses anything */
        return s->split_units + 4;
    if (k <= s->fma_k) /* k rounded multiply-adds; one more addition and alpha, beta */
        return k + 4;
    int64_t chain_k = s->promote_k > 0 && s->promote_k < k ? s->promote_k : k;
    int64_t chain = (int64_t)s->align_units * ht_ceil_div(chain_k, s->mma_k);
    int64_t adds = s->promote_k > 0 ? ht_ceil_div(k, s->promote_k) - 1 : 0;
    int64_t lost = chain + adds;
    return s->split_units + lost + lost / 25 + 4;
}

struct ht_choice {
    int kernel; /* index into set->kernel, -1: none */
    int splits;
    int64_t predicted_ns; /* kernel and reduction */
};

/* The scheme of that name; NULL: the set has none. */
HT_LOCAL const struct ht_scheme_desc *ht_find_scheme(const struct ht_set_desc *set, const char *name);

/* The tuned kernel where the set has one for this shape and its partial sums fit partial_bytes, else the cheapest
 * dispatchable kernel of `scheme` by the model; splits only while the partial sums fit partial_bytes. Pure: depends on
 * nothing but its arguments. Ties go to the earlier kernel and the smaller split. kernel -1: the set has none of the
 * scheme. */
HT_LOCAL struct ht_choice ht_pick(const struct ht_set_desc *set, const char *scheme, int64_t m, int64_t n,
                                  int64_t k, int64_t batch, int64_t partial_bytes);

/* ns of all a call needs but the launch of its kernel: choice.predicted_ns, and packing with its launches where the kernel
 * reads panels. What schemes are compared by. */
HT_LOCAL int64_t ht_total_ns(const struct ht_set_desc *set, const struct ht_choice *choice, int64_t m, int64_t n,
                             int64_t k, int64_t batch);

/* The packing in it; 0 where nothing is packed. */
HT_LOCAL int64_t ht_packing_ns(const struct ht_set_desc *set, const char *scheme, int64_t m, int64_t n, int64_t k,
                               int64_t batch);

/* The same for one kernel, whatever its variant: only the split is chosen. */
HT_LOCAL struct ht_choice ht_pick_splits(const struct ht_set_desc *set, int kernel, int64_t m, int64_t n,
                                         int64_t k, int64_t batch, int64_t partial_bytes);

/* The kernel of `scheme` that computes what a data check leaves out: its variant "rescue"; -1: the set has none. Launched
 * without splits between packing and the product, which store different blocks of C; unless ht_rescues_inside. */
HT_LOCAL int ht_pick_rescue(const struct ht_set_desc *set, const char *scheme);

/* Whether the product of a checked call computes what it leaves out itself, instead of a rescue's launch before it: where its
 * kernel can, and that launch were more than 1/HT_RESCUE_SHARE of the call. Inside, blocks that fail cost as much where
 * all do, and more where they are few and all fall to one SM (the project's notes); all others cost nothing. By shape alone: bits must not depend on data of other blocks or calls. */
enum { HT_RESCUE_SHARE = 64 };
HT_LOCAL int ht_rescues_inside(const struct ht_set_desc *set, const struct ht_choice *choice, int64_t m, int64_t n, int64_t k,
                               int64_t batch);

/* The set that suits a device best; NULL: none runs on it. Of those that run, the one made for the newest
 * instruction set wins, then one for exactly that capability, then the one whose number of SMs is nearest, then
 * the earlier. */
HT_LOCAL const struct ht_set_desc *ht_pick_set(const struct ht_set_desc *const *sets, int capability,
                                               int sms);

/* The set as a device with so much shared memory for a block (0: not known) can run it, since code for an older capability
 * may ask for more than a newer GPU of another line has (sm_80: 163 KB, 8.6, 8.9 and 12.x: 99 KB). The set itself where all
 * kernels fit; else a copy, in *owned for free(), in which those that do not belong to no scheme, so that nothing picks them
 * and every kernel keeps its number. NULL: no memory. */
HT_LOCAL const struct ht_set_desc *ht_fit_set(const struct ht_set_desc *set, int64_t smem_bytes, void **owned);

#endif
