/* scheme: the table of emulation schemes; see scheme.h. Knows no tiles, GPUs or text.
 *
 * split_units: how far the kept products can be from a * b, in units u = 2^-24 of |a||b|, summed exactly:
 * bench/ACCURACY.md, sections 1 (FP16), 9 (BF16, TF32), 8 and 16 (integers). Of one slice it is twice what
 * rounding loses and the product of both losses: half and tf32 2 x 8192 + 4, bf16 2 x 65536 + 257. They hold
 * while slices are normal numbers or lose nothing by being subnormal; range_text says where that ends
 * (section 6). */
#include "facts/scheme.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../runtime/ht_abi.h"

#define BY(recipe_) .recipe = &recipe_table[RECIPE_##recipe_]
#define AS(role_) .roles = 1u << HT_ROLE_##role_

/* Fixed point in signed 8-bit digits: x = 2^e (d0 + d1 2^-8 + d2 2^-16 + ...), the row's largest in [63.75,
 * 127.5) in units of 2^e: 8-bit digits from -128 to 127 reach 0x7f7f7f... in units of the last, less than 128
 * by 0x10101 of 2^-23 of 64, hence scale_room. A power of two, so that small whole numbers are exact. Level
 * i + j has an accumulator of its own; levels from `digits` on are left out: bench/ACCURACY.md, section 8. */
#define FIXED_POINT(name_, count_, digits_, atom_slices_, products_, levels_, units_, step_, floor_, ...)    \
    {                                                                                                        \
        .name = name_,                                                                                       \
        .paper = "halftone: fixed point relative to the largest of the row (column), " count_                \
                 " signed 8-bit digits, exact integer sums by level, rounded once",                          \
        .hooks = "scheme/i8", BY(FIXED_POINT), .in = NUMBER_F32, .out = NUMBER_F32, .sum = NUMBER_S32,       \
        .unit_exponent = -24,                                                                                \
        .slice = SLICE_S8, .slices = digits_, .atom_slices = atom_slices_,                                   \
        .split = SPLIT_DIGITS, .scale = SCALE_ROW, .scale_low = 6, .scale_high = 6, .scale_room = 0x10101,   \
        .products = products_, .product = {__VA_ARGS__}, .accumulators = levels_,                            \
        .carry_interval_k = 32768, .exact_k = 131072, .split_units = units_, .range = "FIXED",               \
        .bound_text = "relative to k times the largest of the row of A times the largest of the column of "  \
                      "B, not to |A||B|; exact sums, rounded once: the same bits on every machine",          \
        .range_text = "every element has an absolute error of at most " step_ " of the largest in its row "  \
                      "of A (column of B), " floor_ " where that is below 2^-120, so use it where "          \
                      "elements are not much smaller than that; a row (column) with NaN or Inf gives "       \
                      "NaN throughout; k at most 2^24"                                                       \
    }

/* All products of the first so many levels. */
#define LEVELS_2 {0, 0, 0}, {0, 1, 1}, {1, 0, 1}
#define LEVELS_3 LEVELS_2, {0, 2, 2}, {1, 1, 2}, {2, 0, 2}
#define LEVELS_4 LEVELS_3, {0, 3, 3}, {1, 2, 3}, {2, 1, 3}, {3, 0, 3}
#define LEVELS_6                                                                                             \
    LEVELS_4, {0, 4, 4}, {1, 3, 4}, {2, 2, 4}, {3, 1, 4}, {4, 0, 4}, {0, 5, 5}, {1, 4, 5}, {2, 3, 5},        \
        {3, 2, 5}, {4, 1, 5}, {5, 0, 5}
#define LEVELS_7 LEVELS_6, {0, 6, 6}, {1, 5, 6}, {2, 4, 6}, {3, 3, 6}, {4, 2, 6}, {5, 1, 6}, {6, 0, 6}

/* MixPert (LCTES 2024, eqs. 2, 7, 8): x = 2^e (a0 + a1 2^-7 + a2 2^-14), three segments of 7 bits, each with
 * x's sign, rounded to nearest at the last; the tile's largest in [64, 128) in units of 2^e, below 128 when
 * it is rounded, too. l and r: last segment of A and of B. Exactness, split_units: bench/ACCURACY.md, section
 * 16. */
#define MIXPERT(level_, text_, slices_, products_, units_, lost_, ...)                                       \
    {                                                                                                        \
        .name = "mixpert" level_,                                                                            \
        .paper = "MixPert (LCTES 2024), level " text_ ", scales of tiles by operand",                        \
        .on_request = true, .checked = true, .hooks = "scheme/mixpert", BY(SLICES), OF_FP32,                 \
        .slice = SLICE_S8, .slices = slices_, .atom_slices = 1,                                              \
        .split = SPLIT_SEGMENTS, .scale = SCALE_TILE, .scale_low = 6, .scale_high = 6, .scale_room = 4,      \
        .products = products_, .product = {__VA_ARGS__}, .accumulators = 1,                                  \
        .promote = {PROMOTE_EACH_MMA}, .split_units = units_, .range = "TILE",                               \
        .bound_text = "relative to A' B', where each element has the largest magnitude of its tile (16 x "   \
                      "32 of A, 32 x 8 of B); products of 32 k are exact integers, added in FP32",           \
        .range_text = "an element has an absolute error of at most " lost_ " of the largest in its tile, "   \
                      "2^-141 where that is below 2^-120, so use it where elements are not much smaller "    \
                      "than that; a tile with NaN or Inf gives NaN in all of its rows (columns); the "       \
                      "product of two tiles' largest must be below 2^139"                                    \
    }

#define OF_FP64(sum_) .in = NUMBER_F64, .out = NUMBER_F64, .sum = sum_, .unit_exponent = -53
#define ONE_PRODUCT .slices = 1, .atom_slices = 1, .products = 1, .accumulators = 1
/* FP64 by residues (Ozaki-II): bench/ACCURACY64.md, section 14. */
#define RESIDUES(name_, moduli_, bits_, ...)                                                                 \
    {                                                                                                        \
        .name = name_,                                                                                       \
        .paper = "Ozaki-II: rows and columns as integers, a power of two each, their product by INT8 "       \
                 "residues, put together by CRT and rounded once",                                           \
        OF_FP64(NUMBER_S32), ONE_PRODUCT, .slice = SLICE_S8,                                                \
        .recipe = &recipe_table[moduli_ == 20 ? RECIPE_RESIDUES_ROUNDED : RECIPE_RESIDUES],                  \
        .moduli = moduli_, __VA_ARGS__, .range = "FIXED",                                      \
        .bound_text = "2^-" bits_ " (|a|_2 |b|_1 + |a|_1 |b|_2) of a row a of A and a column b of B, not "   \
                      "of |A||B|, and one rounding; the same bits on every machine",                         \
        .range_text = "every finite number; elements far below their row's (column's) norm lose bits; a "    \
                      "row (column) with NaN or Inf gives NaN throughout"                                    \
    }

/* FP32 from end to end; bounds count units of its roundoff. */
#define OF_FP32 .in = NUMBER_F32, .out = NUMBER_F32, .sum = NUMBER_F32, .unit_exponent = -24

/* Types with FP32's exponents need no scale but at the ends of the range: the last slice of a small number
 * would be a BF16 or TF32 subnormal without its last bits, and rounding a number near 2^128 would give Inf.
 * Rows below 2^-40 are scaled up to it, rows from 2^127 on by 1/2. A row that is scaled up and any other
 * cannot overflow together unless the result does: 2^-39 * 2^127 * k < 2^128. */
#define WIDE_RANGE .scale_low = -40, .scale_high = 126
#define WIDE_RANGE_TEXT                                                                                      \
    "where all products of an element of C are below 2^-126 the error is absolute, as if they were that; "   \
    "Inf gives NaN"
#define FLUSHED_PRODUCTS_TEXT "products of slices below 2^-126 become 0, at most 2^-119 for each k"
/* Elements of at least 2^-least_ keep their bits; in rows that are scaled up, of 2^-below_ of the largest. */
#define RANGE_DOWN_TO(least_, below_)                                                                        \
    "elements of at least 2^-" least_                                                                        \
    ", in a row of A (column of B) whose largest is below 2^-40 2^-" below_ " of that; smaller ones lose "
#define BF16_RANGE(least_, below_, flushed_least_, flushed_below_)                                           \
    .range_text = RANGE_DOWN_TO(least_, below_) "bits; " WIDE_RANGE_TEXT,                                    \
    .flushed_range_text = RANGE_DOWN_TO(flushed_least_, flushed_below_)                                      \
        "up to 2^-126 each (scaled); " FLUSHED_PRODUCTS_TEXT "; Inf gives NaN"
/* Several BF16 slices of scaled rows, one chain. */
#define BF16_SLICES(count_, in_atom_)                                                                        \
    .hooks = "scheme/bf16", BY(SLICES), OF_FP32, .slice = SLICE_BF16, .slices = count_,                      \
    .atom_slices = in_atom_,                                                                                 \
    .split = SPLIT_ROUND, .scale = SCALE_ROW, WIDE_RANGE, .accumulators = 1, .promote = {PROMOTE_ISA},       \
    .range = "FP32"
#define SCALED_TO_14 .scale = SCALE_ROW, .scale_low = 14, .scale_high = 14, .range = "ROW"
#define F16_PAIR BY(SLICES), OF_FP32, .slice = SLICE_F16, .slices = 2, .atom_slices = 2
#define F16X3_RANGE                                                                                          \
    "finite input of any exponent; elements down to 2^-16 of the largest in their "                          \
    "row of A (column of B), and to 2^-128, keep 22 bits, below that an absolute "                           \
    "error of at most 2^-39 of that largest (2^-151 where it is below 2^-112)"

#define OZAKI_RANGE                                                                                          \
    "every finite number; a row of A (column of B) with NaN or Inf, or which needs more slices than there "  \
    "may be, gives NaN throughout"

/* Slice 0 is the high part, slice 1 the low part. Products are listed as issued: the small ones first, so
 * that they are added before the large one can push them out (bench/decisions/016).
 */
const struct scheme scheme_table[] = {
    {.name = "half",
     .paper = "one FP16 product, no refinement (the papers' lower baseline)",
     .hooks = "scheme/half", BY(SLICES), OF_FP32, ONE_PRODUCT, .slice = SLICE_F16, .split = SPLIT_ROUND,
     .scale = SCALE_NONE, .split_units = 16388, .range = "FP16",
     .bound_text = "each input is rounded to 11 bits: at most 2^-10 of |A||B| from the inputs, plus one "
                   "chain on the matrix unit over all of k",
     .range_text = "elements with magnitude in [2^-14, 65504] keep 11 bits; smaller ones lose bits, larger "
                   "ones become Inf",
     .flushed_range_text = "elements with magnitude in [2^-14, 65504] keep 11 bits; smaller ones become "
                           "0, larger ones Inf"},
    {.name = "markidis",
     .paper = "Markidis et al. 2018, truncation split as in EGEMM-TC fig. 4a, 4 products",
     .hooks = "scheme/markidis", F16_PAIR, .split = SPLIT_TRUNCATE, .scale = SCALE_NONE, .products = 4,
     .product = {{1, 1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .accumulators = 1,
     .split_units = 13, .range = "PART",
     .bound_text = "inputs keep 21 bits (at most 6 * 2^-24 lost each), all four products kept; one "
                   "chain on the matrix unit over all of k",
     .range_text = "full accuracy for magnitudes in [2^-3, 65504]; below 2^-3 each element may lose up to "
                   "2^-24 absolute, because the unscaled residual becomes subnormal",
     .flushed_range_text = "full accuracy for magnitudes in [2^8, 65504]; below 2^8 each element may lose "
                           "up to 2^-14 absolute, because the matrix unit flushes a subnormal residual"},
    {.name = "ootomo",
     .paper = "Ootomo & Yokota 2022, residual times 2^11, accumulation outside the tensor core, 3 products",
     .hooks = "scheme/ootomo", F16_PAIR, .split = SPLIT_ROUND_RESIDUAL, .scale = SCALE_RESIDUAL,
     .residual_shift = 11, .products = 3, .product = {{1, 0, 1}, {0, 1, 1}, {0, 0, 0}}, .accumulators = 2,
     .promote = {PROMOTE_EACH_MMA, PROMOTE_NEVER}, .split_units = 9, .range = "PART",
     .bound_text = "inputs keep 22 bits, lo*lo (2^-22) left out; main product added outside the matrix unit, "
                   "to nearest, every 16 k; corrections in a chain of their own, 2^-11 as large",
     .range_text = "full accuracy for magnitudes in [2^-13, 65504]; smaller elements keep an absolute error "
                   "of 2^-36",
     .flushed_range_text = "full accuracy for magnitudes in [2^-2, 65504]; elements in [2^-14, 2^-2) keep "
                           "an absolute error of 2^-25, smaller ones become 0 or, where the residual "
                           "remains, 2^-25 with the other sign"},
    {.name = "egemm",
     .paper = "EGEMM-TC (PPoPP 2021), round-split, 4 products",
     .hooks = "scheme/egemm", .tiles_of = PAPER_EGEMM, F16_PAIR, .split = SPLIT_ROUND, .scale = SCALE_NONE,
     .products = 4, .product = {{1, 1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .accumulators = 1,
     .promote = {PROMOTE_NEVER}, .split_units = 5, .range = "PART",
     .bound_text = "inputs keep 22 bits, all four products kept; one chain on the matrix unit over all of k",
     .range_text = "full accuracy for magnitudes in [2^-2, 65504]; below 2^-2 each element may lose up to "
                   "2^-25 absolute, because the unscaled residual becomes subnormal",
     .flushed_range_text = "full accuracy for magnitudes in [2^9, 65504]; below 2^9 each element may lose "
                           "up to 2^-14 absolute, because the matrix unit flushes a subnormal residual"},
    {.name = "legemm",
     .paper = "LE-GEMM (2025), bit-cut, residual times 2^10, 3 products, two accumulators (eq. 11)",
     .hooks = "scheme/legemm", .tiles_of = PAPER_LEGEMM, F16_PAIR, .split = SPLIT_BIT_CUT, .range = "PART",
     .scale = SCALE_RESIDUAL, .residual_shift = 10, .products = 3,
     .product = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}}, /* algorithm 1, lines 9-11 */
     .accumulators = 2, .promote = {PROMOTE_NEVER, PROMOTE_NEVER}, .split_units = 29,
     .bound_text = "inputs keep 21 bits, lo*lo (below 2^-20) left out; two chains on the matrix unit over "
                   "all of k, that of the corrections 2^-10 as large",
     .range_text = "full accuracy for magnitudes in [2^-13, 65536); elements in [2^-14, 2^-13) have an "
                   "absolute error of 2^-34; smaller ones live in the residual alone with 11 bits, and the "
                   "product of two of those is left out; 65536 and above become Inf",
     .flushed_range_text = "full accuracy for magnitudes in [2^-2, 65536); elements in [2^-14, 2^-2) have an "
                           "absolute error of 2^-24; smaller ones live in the residual alone with at most 11 "
                           "bits, and the product of two of those is left out; 65536 and above become Inf"},
    {.name = "f16x3",
     .paper = "halftone: power-of-two scale per row and column, one chain, FP32 promotion",
     AS(AUTO), .checked = true, .hooks = "scheme/f16x3", F16_PAIR, .split = SPLIT_ROUND,
     SCALED_TO_14, .products = 3, .product = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .accumulators = 1,
     .promote = {PROMOTE_ISA}, .split_units = 9,
     .bound_text = "inputs keep 22 bits, lo*lo (2^-22) left out; chains of the promotion interval, "
                   "added in FP32 to nearest",
     .range_text = F16X3_RANGE},
    /* The same where the unit flushes subnormals. An unscaled residual would be lost below 2^-5 of the row's
     * largest; times 2^11 it is a normal number for as long as NVIDIA's unscaled one is not rounded away, and
     * costs a second accumulator. */
    {.name = "f16x3",
     .paper = "halftone: power-of-two scale per row and column, residual times 2^11",
     AS(AUTO), .checked = true, .hooks = "scheme/f16x3_scaled", F16_PAIR,
     .split = SPLIT_ROUND_RESIDUAL, SCALED_TO_14, .residual_shift = 11, .products = 3,
     .product = {{1, 0, 1}, {0, 1, 1}, {0, 0, 0}}, .accumulators = 2,
     .promote = {PROMOTE_ISA, PROMOTE_NEVER}, .split_units = 9,
     .bound_text =
         "inputs keep 22 bits, lo*lo (2^-22) left out; two chains, that of the corrections 2^-11 as large",
     .range_text = F16X3_RANGE,
     .flushed_range_text = F16X3_RANGE},
    {.name = "bf16",
     .paper = "one BF16 product, no refinement",
     .hooks = "scheme/bf16", BY(SLICES), OF_FP32, ONE_PRODUCT, .slice = SLICE_BF16, .split = SPLIT_ROUND,
     .scale = SCALE_NONE, .split_units = 131329, .range = "FP32",
     .bound_text = "each input is rounded to 8 bits: at most 2^-7 of |A||B| from the inputs, plus one "
                   "chain on the matrix unit over all of k",
     .range_text = "elements with magnitude in [2^-126, 2^128 - 2^119) keep 8 bits; smaller ones lose "
                   "bits, larger ones become Inf",
     .flushed_range_text =
         "elements with magnitude in [2^-126, 2^128 - 2^119) keep 8 bits; smaller ones become 0, larger ones "
         "Inf; " FLUSHED_PRODUCTS_TEXT},
    {.name = "bf16x3",
     .paper = "halftone: two BF16 slices, lo*lo left out, FP32 promotion",
     BF16_SLICES(2, 2), .products = 3, .product = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .split_units = 769,
     .bound_text = "inputs keep 16 bits, lo*lo (2^-16) left out; chains of the promotion interval, if the "
                   "unit needs one, added in FP32 to nearest",
     BF16_RANGE("117", "78", "109", "70")},
    {.name = "bf16x6",
     .paper = "halftone: three BF16 slices, products of levels 0 to 2, smallest first, FP32 promotion",
     BF16_SLICES(3, 1), .split_units = 3, .products = 6,
     .product = {{2, 0, 0}, {1, 1, 0}, {0, 2, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}},
     .bound_text = "inputs keep all 24 bits, products from 2^-24 on left out; chains of the promotion "
                   "interval, if the unit needs one, added in FP32 to nearest",
     BF16_RANGE("109", "70", "102", "63")},
    {.name = "bf16x9",
     .paper = "halftone: three BF16 slices, all nine products, smallest first, FP32 promotion",
     BF16_SLICES(3, 1), .split_units = 0, .products = 9,
     .product =
         {{2, 2, 0}, {2, 1, 0}, {1, 2, 0}, {2, 0, 0}, {1, 1, 0}, {0, 2, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}},
     .bound_text = "inputs keep all 24 bits, nothing left out; chains of the promotion interval, if the unit "
                   "needs one, added in FP32 to nearest",
     BF16_RANGE("109", "70", "102", "63")},
    {.name = "tf32",
     .paper = "one TF32 product, inputs rounded to nearest, no refinement",
     .hooks = "scheme/tf32", BY(SLICES), OF_FP32, ONE_PRODUCT, .slice = SLICE_TF32, .split = SPLIT_ROUND,
     .scale = SCALE_NONE, .split_units = 16388, .range = "FP32",
     .bound_text = "each input is rounded to 11 bits: at most 2^-10 of |A||B| from the inputs, plus one "
                   "truncating chain over all of k",
     .range_text = "elements with magnitude in [2^-126, 2^128 - 2^116) keep 11 bits; smaller ones lose "
                   "bits, larger ones become Inf"},
    {.name = "tf32x3",
     .paper = "halftone: two TF32 slices rounded to nearest, lo*lo left out, FP32 promotion",
     .hooks = "scheme/tf32", BY(SLICES), OF_FP32, .slice = SLICE_TF32, .slices = 2, .atom_slices = 2,
     .split = SPLIT_ROUND, .scale = SCALE_ROW, WIDE_RANGE, .range = "FP32", .products = 3,
     .product = {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .accumulators = 1, .promote = {PROMOTE_ISA},
     .split_units = 9,
     .bound_text = "inputs keep 22 bits, lo*lo (2^-22) left out; chains of the promotion interval, added in "
                   "FP32 to nearest",
     .range_text = RANGE_DOWN_TO("113", "74") "bits; " WIDE_RANGE_TEXT},
    {.name = "bf16x6u",
     .paper = "halftone: the caller's matrices unpacked (u), three BF16 slices cut on the way, six products; "
              "FP32 FFMA or MFMA where slices cannot hold the data, and alone on GPUs without BF16 MMAs",
     .hooks = "scheme/bf16x6u", BY(UNPACKED), OF_FP32, .slice = SLICE_BF16, .slices = 3, .atom_slices = 1,
     .split = SPLIT_ROUND, .scale = SCALE_NONE, .range = "ALL", .products = 6,
     .product = {{2, 0, 0}, {1, 1, 0}, {0, 2, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, .accumulators = 1,
     .promote = {16}, /* each MMA meets a sum that is small, but for the last product's */
     AS(FALLBACK), .simt_k_max = 16, .split_units = 3,
     .bound_text = "inputs keep all 24 bits, products below 2^-24 of the whole left out; chains of 16 k (by "
                   "warpgroups 32), added in FP32 to nearest; up to k = 16, and in tiles where numbers "
                   "below 2^-50 may cost bits or results are not finite, FP32 FMAs in chains of 2 "
                   "or 32 k, added with what that rounds off, as parts of k and what fails auto's check "
                   "are; kernels for few k or few columns add plainly",
     .range_text = "every FP32 number; NaN, Inf, overflow and subnormal results as in native FP32; where "
                   "products are below 2^-126 the error is absolute, at most 2^-149 for each k"},
    FIXED_POINT("i8x3", "2", 2, 1, 3, 2, 2061, "2^-14", "2^-135", LEVELS_2),
    FIXED_POINT("i8x6", "3", 3, 1, 6, 3, 13, "2^-22", "2^-143", LEVELS_3),
    FIXED_POINT("i8x10", "4", 4, 2, 10, 4, 1, "2^-30", "2^-151", LEVELS_4),
    MIXPERT("1", "I (l = 1, r = 1)", 2, 4, 4097, "2^-13 (A and B)", {0, 0, 0}, {0, 1, 0}, {1, 1, 0},
            {1, 0, 0}),
    MIXPERT("2", "II (l = 1, r = 2)", 3, 6, 2057, "2^-13 (A), 2^-21 (B)", {0, 0, 0}, {0, 1, 0}, {0, 2, 0},
            {1, 2, 0}, {1, 0, 0}, {1, 1, 0}),
    MIXPERT("3", "III (l = 2, r = 1)", 3, 6, 2057, "2^-21 (A), 2^-13 (B)", {0, 0, 0}, {1, 0, 0}, {2, 0, 0},
            {2, 1, 0}, {0, 1, 0}, {1, 1, 0}),
    MIXPERT("4", "IV (l = 2, r = 2)", 3, 8, 17, "2^-21", {0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 2, 0},
            {1, 0, 0}, {1, 1, 0}, {2, 1, 0}, {2, 0, 0}),
    /* FP64 products; behind those of FP32, which halftone_sgemm knows by their places. */
    RESIDUES("crt14", 14, "54.58", AS(FAST)), RESIDUES("crt15", 15, "58.39", .on_request = false),
    RESIDUES("crt16", 16, "62.18", AS(REPRODUCIBLE)), RESIDUES("crt17", 17, "65.97", .on_request = true),
    RESIDUES("crt18", 18, "69.72", .on_request = true), RESIDUES("crt19", 19, "73.47", .on_request = true),
    RESIDUES("crt20", 20, "77.18", AS(EXACT)),
    {.name = "i8x28", /* i8x10's digits and levels, three more of each: bench/ACCURACY64.md, section 20 */
     .paper = "halftone: FP64 in fixed point relative to the largest of the row (column), seven signed 8-bit "
              "digits, exact integer sums by level, C in the product's kernel, rounded once",
     .hooks = "scheme/i8x28", AS(FAST_DIGITS), BY(DIGITS), OF_FP64(NUMBER_S32), .slice = SLICE_S8,
     .slices = 7, .atom_slices = 1, .range = "FIXED",
     .split = SPLIT_DIGITS, .products = 28, .product = {LEVELS_7}, .accumulators = 7,
     .carry_interval_k = 16384, .exact_k = 131072, .split_units = 1,
     .bound_text = "relative to k times the largest of the row of A times the largest of the column of B, "
                   "not to |A||B|; one rounding; the same bits on every machine",
     .range_text = "every finite number, absolute error 2^-55 of the largest in its row of A (column of B); "
                   "a row (column) with NaN or Inf gives NaN throughout; k at most 131072"},
    {.name = "ozaki",
     .paper = "Ozaki scheme (Mukunoki et al. 2020): rows and columns as sums of FP16 slices of so few bits "
              "that products of slices are exact in FP32, added in FP64, or exactly",
     BY(OZAKI), OF_FP64(NUMBER_F32), ONE_PRODUCT, .slice = SLICE_F16, .split = SPLIT_OZAKI,
     AS(MODES), .on_request = true, .range = "FIXED",
     .bound_text = "as many slices as the data need for 2 sqrt(k) 2^-53 (ozaki-sp: 2^-24) of the row's "
                   "|A||B| e, an estimate of DGEMM's (SGEMM's) error, not a bound of each element; ozaki-cr: "
                   "correctly rounded",
     .range_text = OZAKI_RANGE, .flushed_range_text = OZAKI_RANGE},
    {.name = "native64",
     .paper = "FP64 from end to end: FP64 FMA, or FP64 tensor cores (DMMA) where those are faster",
     AS(NATIVE), BY(NATIVE64), OF_FP64(NUMBER_F64), ONE_PRODUCT, .range = "ALL",
     .simt_k_max = INT32_MAX, /* an FMA for each product */
     .bound_text = "one rounded FP64 FMA for each k, one rounding each for alpha and beta",
     .range_text = "every FP64 number; NaN, Inf, overflow and subnormal results as in native FP64"},
};
const int scheme_count = (int)(sizeof scheme_table / sizeof scheme_table[0]);

const struct scheme *scheme_for(const char *name, bool flushes) {
    for (int i = 0; i < scheme_count; i++) {
        const struct scheme *s = &scheme_table[i];
        const bool needs_subnormals =
            s->slice == SLICE_F16 && s->recipe->packs && !s->flushed_range_text;
        if (strcmp(s->name, name) == 0 && !(flushes && needs_subnormals))
            return s;
    }
    return NULL;
}

const struct scheme *scheme_find(const char *name) {
    return scheme_for(name, false);
}

const struct scheme *scheme_of_role(enum ht_role role) {
    const struct scheme *s = scheme_table;
    while ((s->roles >> role & 1) == 0)
        s++;
    return s;
}

int scheme_flush_exponent(const struct scheme *s) {
    const int min_exponent = s->slice == SLICE_F16 ? -14 : -126;
    const bool drops_nothing = s->slice == SLICE_S8 || s->in == NUMBER_F64 || !s->recipe->packs;
    return drops_nothing ? 0 : min_exponent - s->residual_shift;
}

const char *scheme_operands(const struct scheme *s) {
    return s->in == NUMBER_F64 && !s->recipe->packs ? number_title(s->in) : slice_title(s->slice);
}

int scheme_levels(const struct scheme *s) {
    int most = 0;
    for (int i = 0; i < s->products && s->scale == SCALE_TILE; i++)
        most = s->product[i].a + s->product[i].b + 1 > most ? s->product[i].a + s->product[i].b + 1 : most;
    return most;
}

bool scheme_multiplies(const struct scheme *s, int side, int slice) {
    int i = 0;
    while (i < s->products && (side == 0 ? s->product[i].a : s->product[i].b) != slice)
        i++;
    return i < s->products;
}
