/* ht_abi.h: what a generated kernel, its set and the runtime know of each other. Pure C, no vendor header.
 *
 * The text between the shared and the abi marks is copied into every generated file, so that a vendored kernel needs no header of
 * this project; HT_ABI_VERSION changes with it. Below: the contracts of launchers, the descriptors of kernels, schemes and
 * sets, and what packing and runtime count alike. */
#ifndef HT_ABI_H
#define HT_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ht_ieee.h"

/* Initializes a struct to zeros in either language. */
#ifdef __cplusplus
#define HT_ZERO {}
#else
#define HT_ZERO {0}
#endif

/*@shared*/
#ifndef HT_ABI_VERSION
#define HT_ABI_VERSION 16
/* An operand as the caller has it, floats or doubles: element (row, k) is src[row * ld + k] when k_contiguous, else
 * src[k * ld + row]; rows are those of A, or columns of B. */
struct ht_view {
    const void *src;
    long long ld, stride; /* elements; stride: between batch entries, 0: all share one */
    int rows, k, k_contiguous;
};
struct ht_scalar {
    const void *at; /* on the device; NULL: the value of the matrices' type */
    union {
        float f32;
        double f64;
    };
};
/* C(m x n, column-major) = alpha * product + beta * C. beta == 0 does not read C, alpha == 0 ignores A and B. */
struct ht_result {
    void *c;
    long long ldc, stride; /* elements; stride: between batch entries */
    struct ht_scalar alpha, beta;
};
/* Whether an unpacked kernel swaps A and B, so that B's columns are the rows of its bm x bn tiles: where that
 * takes fewer tiles (1 x n). share: by more than one tile in so many, since C is then stored in runs of bn
 * elements, not bm; 0: by any. */
static inline int ht_swap_ab(long long m, long long n, int bm, int bn, int share) {
    const long long straight = ((m + bm - 1) / bm) * ((n + bn - 1) / bn);
    const long long swapped = ((n + bm - 1) / bm) * ((m + bn - 1) / bn);
    return swapped + (share > 0 ? straight / share : 0) < straight;
}
#endif
/*@end*/
/*@abi*/
#ifndef HT_ABI32
#define HT_ABI32
/* An operand as packing leaves it. Panels: atoms of 64 rows x 128 bytes,
 * ordered row-block, k-block, group of slices; inside an atom row r, 16-byte chunk c lies at r * 128 + ((c ^ (r & 7)) *
 * 16); a row holds atom_slices slices side by side ([32 hi | 32 lo] for two 16-bit slices, [64] for one; of three 8-bit
 * slices [128 of one], and the atoms of the second and the third follow). */
struct ht_packed {
    unsigned char *panels; /* ceil(rows / 64) x k_blocks atoms; packing of fixed point: NULL: absmax alone is wanted, of no more rows than there are */
    /* Per row its largest finite magnitude as the bits of a float, from which the row's scale follows
     * (ht_row_exponent), rows rounded up to 64; NULL without scaling. With scales of tiles the scales, powers of two or
     * NaN as the bits of a float: of 16 rows x 32 k of A, [64 rows][32 k][4], of 32 k x 8 columns of B [64
     * columns][32 k][8]. */
    int *row_absmax;
    /* What splitting loses (pack/row_sums); NULL: not wanted. For each row, padded to 64,
     * the sum of what its elements below 2^-2, scaled, lose beyond 2^-23 of themselves and by the alignment of FP16
     * subnormals, in 2^-34, scaled; negative: one is NaN or Inf. Then four ints for each 64 rows, to be added up:
     * elements from 2^-14 on, scaled, less 8 for each row that has a finite nonzero element. With scales of tiles all
     * must be 0 before, and the first of the four becomes -1 where a tile has an outlier. */
    int *row_sums;
    /* Two ints, aligned to 8 bytes. Packing sets the first to its `epoch`, and the second where a sum of a row is not 0
     * or a number of 64 rows negative: they are equal if it found anything. NULL: as if equal. */
    int *any_flag;
    long long stride;                     /* bytes between batch entries of the panels; 0: all share one, as below */
    long long absmax_stride, sums_stride; /* elements */
};
/* A matrix of BF16 (is_bf16) or FP16 becomes floats: lines are the direction in which it is contiguous, `to` is aligned to 16 bytes, to_ld and
 * to_stride are multiples of 8. */
struct ht_widen_args {
    const void *src;
    float *to;
    long long ld, src_stride, to_ld, to_stride; /* elements; strides: between batch entries */
    int length, lines, batch, is_bf16;
};
/* C = alpha * A * B + beta * C from packed operands or, in unpacked kernels, from the matrices. */
struct ht_gemm_args {
    struct ht_packed a_packed, b_packed;
    int m, n;
    int k_blocks; /* atoms of a row block: along k, all slices */
    int splits;   /* ordered split-K slices of k */
    int batch;
    int fma_only; /* unpacked kernels use FFMA from the start, whatever the data */
    struct ht_result to;
    /* Split-K partials, splits > 1: [batch][split][n][m] before alpha and beta; else unused. Floats, or for
     * schemes with exact sums 64-bit integers, not yet scaled. */
    float *partial;
    struct ht_view a, b; /* of unpacked kernels, and of what the certificate leaves */
    /* The certificate (check/certificate), NULL: none. What is not cleared is not
     * stored but has its bit set: [batch][column block][row block] of 64 x 64 results, 128 words each: column c has words
     * 2 c, of its first 32 rows, and 2 c + 1. The launch behind the product computes it from a and b. */
    unsigned *failed;
    int fallback_in_kernel; /* of kernels that can (ht_kernel_desc): they compute what they do not clear themselves */
    int scales_tiles; /* 1: scales are of tiles, and only numbers of 64 rows say what is not cleared, all of theirs */
    /* The list of bits that are set, each by its number from `failed` on, and how many there are. Those beyond failed_capacity are only counted, and the
     * launch behind the product then looks at all bits; so it does without a count, NULL. The count must be 0 before the product. */
    unsigned *failed_list;
    int *failed_count;
    int failed_capacity;
    long long *recomputed; /* two numbers that grow by what is computed again: results alone, and in blocks; NULL: nobody asks */
    /* What packing has told of a sample of the data, HT_SAMPLES numbers; NULL: nobody asked. Where they come to more than sample_most the product
     * ends at once and leaves all results, as if none were cleared. */
    const int *sample;
    int sample_most;
};
/* Places of C that a sample has, each HT_SAMPLE_SIDE x HT_SAMPLE_SIDE results of one 64 x 64 block; what it tells of a place: none is left; all are; some,
 * as in most blocks, then. */
enum { HT_SAMPLES = 16, HT_SAMPLE_SIDE = 4, HT_SAMPLE_ALL = 1, HT_SAMPLE_SOME = 8 };
/* Tiles of 64 rows x 64 k of a packing block: at most `most`, of which blocks_per_sm blocks fit an SM, and
 * never more than four (their registers). `most` where that makes more than two waves: then memory decides.
 * Else what takes least, a wave as long as its blocks' tiles and one more for the exchange of row absmax.
 * row_blocks: of both operands.
 *
 * Worked example (a test holds it), 132 SMs, most 4, 3 blocks an SM: n = 1024, 32 row blocks of 16 tiles: 512
 * blocks of one tile on 528 slots, one wave: 1. n = 1536, 48 x 24: 3 tiles 384 blocks, one wave of 4. n =
 * 2048, 64 x 32: 4 tiles 512 blocks on 396 slots, two waves of 5; 2 tiles 1024 blocks on 528, two of 3: 2. n =
 * 4096, 128 x 64: 2048 blocks of 4 tiles are six waves: 4. */
static inline int ht_pack_tiles(long long row_blocks, long long k_tiles, int sms, int most,
                                int blocks_per_sm) {
    int best = most;
    long long least = 0;
    if (most <= 1 || row_blocks > 2LL * sms * blocks_per_sm / ((k_tiles + most - 1) / most))
        return most;
    for (int tiles = most; tiles > 0; tiles--) {
        const int room = most * blocks_per_sm / tiles, slots = sms * (room < 4 ? room : 4);
        const long long blocks = row_blocks * ((k_tiles + tiles - 1) / tiles);
        const long long waves = (blocks + slots - 1) / slots;
        if (least == 0 || waves * (tiles + 1) < least) {
            least = waves * (tiles + 1);
            best = tiles;
        }
    }
    return best;
}
/* How packing that scales rows divides an operand among blocks; other schemes' packing goes by tiles. Values
 * stand where a number of tiles could (ht_pack_args, tiles). */
enum ht_pack_mode {
    HT_PACK_TILES = 0,  /* of 64 rows x 64 k, ht_pack_tiles of them a block */
    HT_PACK_ROWS = -1,  /* 16 rows whole, resident in registers */
    HT_PACK_STRIPS = -2 /* 32 rows x 512 k, resident in registers */
};
/* k_tiles of 64 k; row_blocks: of all operands. Rows where a block of tiles has not all of k, registers have, and
 * all blocks are resident at once: one of 8 warps an SM, or two of 4. Strips where rows do not fit so: on the H200
 * they take 0.80 to 1.02 of the time that tiles take.
 *
 * Worked example (a test holds it), 132 SMs: n = 1024, 32 row blocks of 16 tiles: 128 blocks: rows. 2048 x 2048 x
 * 1024, 64 x 16: 256 blocks, strips. 2048 x 2048 x 512: 256 blocks of half as much, rows. k = 256: tiles. */
static inline int ht_pack_mode_of(long long row_blocks, long long k_tiles, int sms) {
    const long long warps = k_tiles > 8 ? 8 : 4;
    if (k_tiles <= 4)
        return HT_PACK_TILES;
    return k_tiles <= 16 && row_blocks <= 8LL * sms / (4 * warps) ? HT_PACK_ROWS : HT_PACK_STRIPS;
}
/* One operand into panels: element (row, k) is src[row * ld + k] when k_contiguous, else src[k * ld + row]. No ht_view,
 * so that k_blocks lies beside the sizes: else compilers spill registers of packing. */
struct ht_pack_args {
    const float *src;
    long long ld, src_stride; /* elements; src_stride: between batch entries */
    int rows, k;
    int k_blocks; /* atoms of a row block: ht_k_blocks */
    int k_contiguous;
    struct ht_packed to;
    /* Schemes that scale rows: ht_exchange_ints ints through which blocks exchange row absmax, with row_sums behind
     * ht_sum_ints for those. Between launches all hold -1 if exchange_is_reset (the kernel leaves them so); else the
     * launcher writes that first. */
    int *absmax_exchange;
    union {
        float *copy; /* the matrix again, k contiguous, rows and k padded to 64 with zeros; NULL: not wanted */
        /* Fixed point, which is not checked: absmax of all k, of which other ranks have the rest, for the rows that there are. A row with
         * a larger exponent than that gets HT_FOREIGN_ROW. NULL: this is all of k. */
        const int *absmax_of_all;
    };
    long long exchange_stride, copy_stride; /* elements between batch entries */
    int batch;
    int exchange_is_reset; /* the same for both operands of a launch */
    int epoch; /* another in each call, so that nobody has to clear the second int of any_flag */
    int *failed_count; /* becomes 0 (ht_gemm_args); NULL: there is none */
    /* 64 x 64 tiles of a packing block, at most the scheme's pack_tiles; below 0 an ht_pack_mode; 0: the launcher
     * chooses. */
    int tiles;
    int scale_rows; /* with scales of tiles: rows that share one, 16 of A, columns 8 of B */
    int sample_alone; /* 1: nothing is packed */
    int *sample; /* ht_gemm_args, of one entry in strips, or alone; the same for both operands; NULL: nobody asks */
};
#endif
/*@end*/

/* Contracts that both sides of the ABI rely on:
 * - A launcher takes any m, n >= 1 and batch <= HT_GRID_BATCH (pack: both operands' batches together); the
 *   runtime cuts what is larger. A launcher returns 0 or the backend's error code, waits for nothing and allocates
 *   nothing.
 * - beta == 0 (by value or on the device) never reads C. alpha == 0 makes the product vanish, NaN and Inf
 *   included; the runtime launches no product when it can see that on the host, kernel and reduction test the
 *   value that alpha has on the device.
 * - Split-K: slice i holds the bk steps [total * i / splits, total * (i + 1) / splits), or, in unpacked kernels,
 *   total / splits steps, and in total % splits of the slices one more; splits == 1 applies alpha and beta in the
 *   kernel and needs no partials.
 * - reduce with splits >= 1 adds the partials in an order that depends on nothing but splits and applies alpha
 *   and beta once. reduce with splits == 0 is C = beta * C without partials, A, B or alpha; with beta == 0 it
 *   writes zeros. With splits < 0 the set's own, of FP32, copies the lower triangle of C, m x m, to the upper one; with beta != 0 it leaves C.
 * - Exact sums where ranks share k (halftone_sgemm_partial): reduce with to.ldc == 0 stores them as 64-bit integers, with
 *   words that tell scales and k behind (accum/partial_i64); with splits == 1 it makes C of what such calls stored, added up. */
enum {
    HT_ATOM_ROWS = 64,
    HT_ATOM_BYTES = 8192,
    HT_COUNTS_PER_BLOCK = 4, /* numbers of nonzero elements of 64 rows (ht_packed, row_sums) */
    HT_FAILED_BYTES = 512, /* a bit for each element of 64 x 64 of C (ht_gemm_args, failed) */
    HT_FAILED_CAPACITY = 16,   /* entries of the list for as many: one element in 256 */
    HT_SUM_WORDS = HT_ATOM_ROWS + 2, /* through which packing blocks add up what 64 rows lose (pack/row_sums) */
    HT_K_PAD = 64, /* k is padded with zeros to a multiple of this, or of an atom's k where that is more */
    HT_SPLITK_PREFETCH = 16, /* partials that a thread of the reduction loads before it adds the first */
    HT_SPLITK_LANES = 4,     /* threads that share out the partials of an element where there are more */
    HT_FEW_ROWS = 64, HT_FEW_ROWS_K = 512, /* most rows for which a scheme's few_rows is weighed; k of its parts */
    HT_GRID_BATCH = 65535 /* what the y or z extent of a grid can hold */
};

/* How a kernel walks over C and k: facts of its template and tile, for ht_cost.h. */
struct ht_tile {
    int32_t bm, bn;               /* of C; of C transposed where the kernel swaps A and B */
    int32_t step_k, step_bytes;   /* k of a step; bytes that a block then reads from L2, less what others of its cluster read for it */
    int32_t blocks_per_sm;        /* resident */
    int32_t cluster_m, cluster_n; /* blocks along m and n that run together */
    int32_t unpacked;             /* 1: reads the caller's matrices, and may swap A and B (ht_swap_ab, with swap_ab_min_gain) */
    int32_t swap_ab_min_gain;
    int32_t persistent;           /* 1: one block of an SM walks over tiles */
    int32_t exact_k;              /* exact integer sums: most k of one split-K slice; 0: FP32 sums */
    int32_t no_split_k;           /* 1: k is never split */
    int32_t in_block_k_splits;    /* of a tile's rows that an M-side operand of up to four rows leaves idle up to so many share k; where more rows
                                   * are contiguous a tile has 16 bytes' times so many, if that is more than bm, less 16 bytes' where they
                                   * begin at no multiple of those; 0: they stay idle */
    int32_t element_bytes;        /* of A, B and C */
};

/* The two forms of the cost formula (ht_cost.h) and their coefficients, which the generator's model fills in: integers; cycles are those of
 * an SM at the set's clock_mhz, "x256" is fixed point with 8 fraction bits. */
enum ht_cost_form { HT_TILED_WAVES = 1, HT_STREAMING };

struct ht_tiled_waves {
    int32_t step_busy_x256;        /* of the busiest SM pipe for one step of one block */
    int32_t step_latency_x256;     /* least of one step of a block that is alone on its SM */
    int32_t tile_overhead_cycles;  /* start, first loads, drain: of a wave; of a launch where blocks are persistent */
    int32_t block_overhead_cycles; /* of each block of an SM, one after the other: its stores */
    int32_t scalar_store_cycles;   /* more for a whole tile where m is no multiple of 4 */
    int32_t misaligned_cycles;     /* more of a step where the M-side operand is misaligned */
    int32_t swap_ab_percent;       /* what a product with A and B swapped takes where A has several rows; 0 as 100 */
    int32_t dram_stream_gbps;      /* how fast unpacked kernels draw their operands from device memory and store C */
};

struct ht_streaming {
    int32_t step_busy_x256, step_latency_x256; /* as above */
    int32_t tile_overhead_cycles;              /* of a wave */
    int32_t launch_cycles;                     /* once */
    int32_t misaligned_cycles;                 /* more of a step; with in_block_k_splits only where the M-side operand has up to four rows */
    int32_t pdl_overlap_cycles; /* of the split-K reduction's launch, hidden behind the kernel */
    int32_t dram_stream_gbps;
    int32_t dram_step_cycles; /* more of a step of a block that is alone where L2 does not keep A, B and C */
};

struct ht_cost {
    int32_t form;                /* enum ht_cost_form: which of the two below counts */
    struct ht_tiled_waves waves;
    struct ht_streaming stream;
};
/* Coefficients in the order of their struct. */
#define HT_COST_TILED_WAVES(...) {HT_TILED_WAVES, {__VA_ARGS__}, {0, 0, 0, 0, 0, 0, 0, 0}}
#define HT_COST_STREAMING(...) {HT_STREAMING, {0, 0, 0, 0, 0, 0, 0, 0}, {__VA_ARGS__}}

/* Of which kernels a product consists, and what their launchers take before the stream (pointers to ht_abi64.h's, but for
 * ht_gemm_args): the rows of the runtime, ht_recipe_*.c. Of FP32 products the scheme has what packs. */
enum ht_recipe {
    HT_RECIPE_SLICES,   /* product ht_gemm_args */
    HT_RECIPE_UNPACKED, /* product ht_gemm_args */
    HT_RECIPE_NATIVE64, /* product ht_native64_args */
    HT_RECIPE_RESIDUES, /* pack ht_crt_pack_args and their number; product, combine or in its place round ht_crt_args */
    HT_RECIPE_DIGITS,   /* the same without combine */
    HT_RECIPE_OZAKI,    /* pack ht_ozaki_pack_args; product, combine ht_ozaki_args */
    HT_RECIPES
};
enum ht_launcher { HT_PRODUCT, HT_PACK, HT_COMBINE, HT_ROUND, HT_LAUNCHERS };
/* Any launcher, and one as its recipe calls it. */
typedef void ht_any_launcher(void);
#define HT_ANY_LAUNCHER(launcher) ((ht_any_launcher *)(launcher))
#define HT_LAUNCHER(kernel, which, args) ((int (*)(const struct args *, void *))(kernel)->launch[which])

struct ht_kernel_desc {
    const char *name;    /* ht_f16x3_mma_128x128x32_w64x32_s4_sm80 */
    const char *scheme;  /* row of the scheme table */
    const char *variant; /* "" dispatchable; "nopipeline", "handpicked", "nointerleave": ablations, run by name only; "fallback": of
                          * those that read the operands, the one for ht_pick_fallback */
    const char *why;     /* one line: the shape that this tile was planned for, and what limits it there */
    struct ht_tile tile;
    int bk, wm, wn, stages, threads, smem_bytes, regs_planned;
    /* 1: it does what args.fallback_in_kernel asks for; of those that read the operands: where args.failed is set, it computes 64 x 64 blocks
     * with many failed results, unless slices cannot hold the data, and clears the bits of those, as a launch before the fallback */
    int fallback_in_kernel;
    int has_slices_alone; /* 1: not for k up to the scheme's simt_k_max, which other kernels have */
    /* FP64 arithmetic for what args.counts leave, where that is asked for: of 4,096 elements so many take as long one by one as all
     * take as tiles; 0: it does not */
    int alone_most;
    struct ht_cost cost;
    int recipe;             /* enum ht_recipe */
    int panels;             /* that packing makes of an operand: moduli or digits; 0: by the scheme's launcher, or none */
    int (*init)(void);      /* raises the kernel's shared-memory limit, once per device; 0 or the backend's code */
    int (*pack_init)(void); /* the same of packing; NULL: by the scheme's, or none */
    ht_any_launcher *launch[HT_LAUNCHERS]; /* NULL: there is none */
};

static inline int ht_launch_gemm(const struct ht_kernel_desc *kernel, const struct ht_gemm_args *args, void *stream) {
    return HT_LAUNCHER(kernel, HT_PRODUCT, ht_gemm_args)(args, stream);
}

/* For which inputs a scheme's bound holds, roughly; range_text has the numbers. The order means nothing. */
enum ht_range {
    HT_RANGE_ALL,  /* every finite input */
    HT_RANGE_FP32, /* FP32's exponents: magnitudes from 2^-102 to below 2^128 - 2^119, whatever stands beside them */
    HT_RANGE_ROW,  /* any exponent, elements down to 2^-16 of the largest in their row of A (column of B) */
    HT_RANGE_FP16, /* magnitudes that a normal FP16 number can have */
    HT_RANGE_PART, /* part of those: slices of an FP16 split lose more below than FP16 itself */
    HT_RANGE_FIXED, /* fixed point: the bound is not relative to |A||B| (exact_k > 0) */
    HT_RANGE_TILE   /* the same by tiles: relative to A' B' (HT_SCALES_TILES) */
};

/* What packing scales. With tiles (16 rows x 32 k of A, 32 k x 8 columns of B) the bound counts units of 2^-24 A' B',
 * where each element of A' and B' is the largest magnitude of its tile. */
enum ht_scales { HT_SCALES_NONE, HT_SCALES_ROWS, HT_SCALES_TILES };
enum { HT_SCALE_TILE_K = 32, HT_SCALE_A_ROWS = 16, HT_SCALE_B_COLS = 8 };

struct ht_scheme_desc {
    const char *name, *range_text, *bound_text;
    int slices, atom_k, slice_bytes;
    int scales;                       /* enum ht_scales: exponents are produced and needed */
    int products, mma_k, align_units; /* products per MMA step; k of one MMA; see ht_bound_units */
    int split_units; /* lost once: by the split, less what a chain's first step spares; may be negative */
    int promote_k;   /* of the main accumulator; 0: one chain over all of k; else at least mma_k */
    int flush_exponent; /* the unit flushes subnormals: an element that is a normal number of the slice type loses up
                         * to 2^flush_exponent, a smaller one may vanish; 0: it keeps them */
    int (*pack_init)(void); /* once per device */
    /* operands: 1 or 2, packed in one launch; NULL, as is pack_init: the kernels read the operands as they are */
    int (*pack)(const struct ht_pack_args *operands, int count, void *stream);
    int atom_slices; /* slices side by side in an atom's rows */
    /* Fixed point with exact sums: most k of one part. The bound is then relative to k * largest of the row of A * largest
     * of the column of B, and NaN or Inf in a row make its results NaN. 0: FP32 sums */
    int exact_k;
    int (*reduce)(const struct ht_gemm_args *args, void *stream); /* of split-K; NULL: the set's */
    int simt_k_max; /* up to this k fma_only is set: an FP32 FMA for each product. 0: the kernels read panels */
    int pack_tiles; /* most tiles of 64 k of a packing block if packing can check the data; 0: it cannot */
    /* Of a scheme whose packing checks the data: from this k on its errors on uniform and normal data are no larger than
     * those of native FP32, and on all that passes no more than twice (measured: ACCURACY.md, section 11) */
    int native_k;
    enum ht_range range;
    int pack_blocks_per_sm; /* with pack_tiles: packing blocks of so many tiles that fit an SM */
    /* Of exact sums, without batch: few rows of A or B, packed, times the other matrix as it is, whose panels in args are NULL and whose
     * exchange in w is as large as HT_PACK_STRIPS needs it, and holds -1. args->splits: one for each HT_FEW_ROWS_K of w's padded k. It writes row_absmax of
     * w, and C or parts. NULL: none */
    const char *few_rows_name;
    int (*few_rows)(const struct ht_pack_args *w, const struct ht_gemm_args *args, void *stream);
    /* Of these, one row of A or column of B, and no more than one_row_k of k: it writes C, from args->a and ->b if k is contiguous in both, or
     * from panels if both have them. */
    const char *one_row_name;
    int (*one_row)(const struct ht_gemm_args *args, void *stream);
    int one_row_k;
};

/* What `halftone tune` measured to be fastest for one shape without batch; kernel: index into the set, whose scheme it
 * serves. */
struct ht_tuned {
    int64_t m, n, k;
    int kernel, splits;
};

/* What a scheme is taken for, as the scheme table says. FP32 products: the first two; the others are FP64's. */
enum ht_role {
    HT_ROLE_AUTO,         /* `auto` starts from it: its packing checks the data, */
    HT_ROLE_FALLBACK,     /* and gives this blocks of C whose data are outside the first one's range, and small K */
    HT_ROLE_NATIVE,       /* FP64 arithmetic: `fp64` for what the data do not certify, */
    HT_ROLE_FAST,         /* `fp64-fast` where this is predicted faster, */
    HT_ROLE_FAST_DIGITS,  /* or this, where its bound is no larger than the former's */
    HT_ROLE_REPRODUCIBLE, /* `reproducible` */
    HT_ROLE_EXACT,        /* `fp64-exact` */
    HT_ROLE_MODES,        /* modes stand behind its name: NAME-cr, NAME:d=7 */
    HT_ROLES
};

struct ht_native64_args; /* ht_abi64.h */
struct ht_set_desc {
    const char *gpu, *isa, *version, *sim_model;
    int arch;       /* compute capability x 100 that the code needs at least: 750, 800, 900; gfx90a: 0x90a */
    int arch_exact; /* 1: runs on that architecture only (sm_90a, gfx90a) */
    int sms, clock_mhz;
    int64_t copy_gbps, l2_gbps, dram_gbps, launch_ns, l2_resident_bytes, l2_latency_cycles, splitk_partial_cycles; /* of ht_machine */
    int kernels, schemes;
    const struct ht_kernel_desc *kernel;
    const struct ht_scheme_desc *scheme;
    int (*reduce)(const struct ht_gemm_args *args, void *stream); /* see the contracts above */
    int (*widen)(const struct ht_widen_args *matrices, int count, void *stream); /* one or two, batches together as of pack */
    int tuned_count; /* 0 unless the set was built with TUNED= */
    const struct ht_tuned *tuned;
    const char *role[HT_ROLES]; /* names of schemes; the set may lack any */
    int fast_moduli;            /* of HT_ROLE_FAST, also where the set lacks it */
    /* Kernels and schemes of FP64 products, as a set with the same machine; NULL: the library was generated without. */
    const struct ht_set_desc *fp64;
    /* Of such a set, where schemes read the matrices: what adds split-K partials. Else NULL. */
    int (*reduce64)(const struct ht_native64_args *args, void *stream);
};

/* Linkage of what the files of the runtime share: static in an amalgamation, where the definition of ht_sets comes
 * before its uses. */
#ifndef HT_LOCAL
#define HT_LOCAL
/* The sets of this library, NULL behind the last; at least one. The generated dispatch.c defines it. */
extern const struct ht_set_desc *const ht_sets[];
#endif

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

/* k as it is packed, and the atoms of one row block. */
static inline int64_t ht_padded_k(const struct ht_scheme_desc *s, int64_t k) {
    const int64_t unit = s->atom_k > HT_K_PAD ? s->atom_k : HT_K_PAD;
    return ht_mul(ht_ceil_div(k, unit), unit);
}
static inline int64_t ht_k_blocks(const struct ht_scheme_desc *s, int64_t k) {
    return ht_mul(ht_padded_k(s, k) / s->atom_k, s->slices / s->atom_slices);
}

/* Ints of an operand's scales: one for each row, rounded up to 64; of tiles as many as B needs. */
static inline int64_t ht_scale_ints(const struct ht_scheme_desc *s, int64_t rows, int64_t k) {
    const int64_t padded = ht_ceil_div(rows, HT_ATOM_ROWS) * HT_ATOM_ROWS;
    return s->scales == HT_SCALES_NONE   ? 0
           : s->scales == HT_SCALES_ROWS ? padded
                                         : ht_mul(padded / HT_SCALE_B_COLS, ht_padded_k(s, k) / HT_SCALE_TILE_K);
}

/* Ints through which the blocks that pack one matrix exchange row absmax: one for each row and 64 k, and one for
 * each 64 rows; none where one block has all of k. HT_PACK_STRIPS needs less. */
static inline int64_t ht_exchange_ints(const struct ht_scheme_desc *s, int64_t rows, int64_t k) {
    const int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS), tiles = ht_padded_k(s, k) / HT_K_PAD;
    return tiles > 1 ? ht_mul(row_blocks, ht_add(ht_mul(HT_ATOM_ROWS, tiles), 1)) : 0;
}

/* Entries of the list of failed results of so many 64 x 64 blocks of C; none where 32 bits cannot number all results. */
static inline int64_t ht_failed_capacity(int64_t blocks) {
    return blocks <= 1 << 20 ? blocks * HT_FAILED_CAPACITY : 0;
}

/* Ints of one matrix's sums (ht_packed, row_sums), and those through which blocks add them up: a 64-bit word for
 * each row and two for each 64 rows. */
static inline int64_t ht_row_sums_ints(int64_t rows) {
    return ht_mul(ht_ceil_div(rows, HT_ATOM_ROWS), HT_ATOM_ROWS + HT_COUNTS_PER_BLOCK);
}
static inline int64_t ht_sum_ints(int64_t rows) {
    return ht_mul(ht_ceil_div(rows, HT_ATOM_ROWS), 2 * HT_SUM_WORDS);
}

/* Tiles of 64 k that a packing block takes of an operand that is kept and copied as well: as many as a launch with two
 * square operands would give it by itself. k == 0, of which there are no tiles to share out (ht_pack_tiles divides by their blocks): the most. */
static inline int ht_kept_tiles(const struct ht_scheme_desc *s, int64_t sms, int64_t k) {
    const int64_t tiles = ht_padded_k(s, k) / HT_K_PAD;
    return tiles > 0 ? ht_pack_tiles(2 * tiles, tiles, (int)sms, s->pack_tiles, s->pack_blocks_per_sm) : s->pack_tiles;
}

#endif
