/* recipe: see recipe.h. */
#include "facts/recipe.h"

#include <stddef.h>

#define ONE "*args"
#define PRODUCT(args_) [KERNEL_PRODUCT] = {.args = "const struct " args_ " *args", .values = ONE}
#define PACK(args_, values_, family_, params_, what_)                                                        \
    [KERNEL_PACK] = {"const struct " args_, values_, "pack", false, family_, params_, what_}
#define PACK_BYTES(params_)                                                                                  \
    PACK("ht_crt_pack_args *operands, int count", "operands, count", "crt_pack", params_,            \
         "Residues of one or two FP64 operands, or digits, as panel atoms, one for each of them.")
#define OF_TILE "BM BN BK WM WN MIN_BLOCKS WAVE MMA_M MMA_N FRAGMENT_K B_TILES D_COLS "
#define FROM_TILE(kind_, word_, args_, family_, what_)                                                       \
    [kind_] = {"const struct " args_ " *args", ONE, word_, true, family_, OF_TILE, what_}
#define COMBINE_RESIDUES                                                                                     \
    FROM_TILE(KERNEL_COMBINE, "combine", "ht_crt_args", "crt_combine",                       \
              "C = alpha X + beta C, rounded once, of the integers X that residues say.")
#define REDUCE(args_, family_)                                                                               \
    [KERNEL_REDUCE] = {                                                                                      \
        "const struct " args_ " *args", ONE, "reduce", false, family_,                                       \
        "WAVE SCALES_SUMS SCALES_ROWS ACCS SCALE_LOW SCALE_HIGH SCALE_ROOM CHECKS",                          \
        "Adds split-K parts in an order that only their number decides: C = alpha * sum + beta * C."}
#define PACK_SLICES                                                                                          \
    PACK("ht_pack_args *operands, int count", "operands, count", "pack",                             \
         "SLICES SLICE_BYTES ATOM_SLICES ATOM_K ACCS SCALES_ROWS SCALE_LOW SCALE_HIGH SCALE_ROOM CHECKS "    \
         "FLUSHES_SUBNORMALS HAS_NAN_ROWS SCALES_TILES PACK_TILES PACK_BLOCKS_PER_SM SMS SMEM_PER_SM "       \
         "SMEM_PER_BLOCK L2_BYTES WAVE",                                                                     \
         "Splits one or two operands into slices and writes them as panel atoms.")
#define WIDEN                                                                                                \
    [KERNEL_WIDEN] = {"const struct ht_widen_args *matrices, int count", "matrices, count", "widen", false,  \
                      "widen", "", "Matrices of BF16 or FP16 become floats, exactly."}
#define FEW_ROWS                                                                                             \
    [KERNEL_FEW_ROWS] = {"const struct ht_pack_args *w, const struct ht_gemm_args *args", "*w, *args",       \
                         "few_rows", false, "few_rows",                                                      \
                         "SLICES SLICE_BYTES ATOM_SLICES ATOM_K ACCS SCALES_ROWS SCALE_LOW SCALE_HIGH "      \
                         "SCALE_ROOM SCALES_TILES HAS_NAN_ROWS WAVE L2_BYTES COPIES_ASYNC SMEM_PER_SM "      \
                         "SMEM_RESERVED SMEM_PER_BLOCK",                                                     \
                         "Few packed rows times a matrix that is cut into slices as it is read."}
#define ONE_ROW                                                                                              \
    [KERNEL_ONE_ROW] = {"const struct ht_gemm_args *args", ONE, "one_row", false, "one_row",                 \
                        "SLICES SLICE_BYTES ATOM_SLICES ATOM_K ACCS SCALES_ROWS SCALE_LOW SCALE_HIGH "       \
                        "SCALE_ROOM SCALES_TILES HAS_NAN_ROWS WAVE COPIES_ASYNC SMEM_PER_BLOCK ONE_ROW_K",   \
                        "A row times a matrix, both cut into slices as they are read."}
#define RESIDUES                                                                                             \
    .packs = PACKS_BYTES, .run = HT_RECIPE_RESIDUES,                                                         \
    .plan = "INT8 products of residues, all moduli in one launch", .element = "pack/crt_element",            \
    .partial = "accum/partial_f64"

const struct recipe recipe_table[RECIPES] = {
    [RECIPE_ANY] = {.partial = "accum/partial_f32", .kernel = {REDUCE("ht_gemm_args", "reduce"), WIDEN}},
    [RECIPE_SLICES] = {.packs = PACKS_SLICES, .run = HT_RECIPE_SLICES, .partial = "accum/partial_f32",
                       .kernel = {PRODUCT("ht_gemm_args"), PACK_SLICES}},
    [RECIPE_FIXED_POINT] = {.packs = PACKS_SLICES, .run = HT_RECIPE_SLICES, .fixed_point = true,
                            .partial = "accum/partial_i64",
                            .kernel = {PRODUCT("ht_gemm_args"), PACK_SLICES,
                                       REDUCE("ht_gemm_args", "reduce"), FEW_ROWS, ONE_ROW}},
    [RECIPE_UNPACKED] = {.run = HT_RECIPE_UNPACKED, .partial = "accum/partial_f32",
                         .kernel = {PRODUCT("ht_gemm_args")}},
    [RECIPE_NATIVE64] = {.run = HT_RECIPE_NATIVE64, .partial = "accum/partial_f64",
                         .kernel = {PRODUCT("ht_native64_args"),
                                    REDUCE("ht_native64_args", "fp64_reduce")}},
    [RECIPE_RESIDUES] = {RESIDUES,
                         .kernel = {PRODUCT("ht_crt_args"), PACK_BYTES("WAVE"), COMBINE_RESIDUES}},
    [RECIPE_RESIDUES_ROUNDED] =
        {RESIDUES, .kernel = {PRODUCT("ht_crt_args"), PACK_BYTES("WAVE"), COMBINE_RESIDUES,
                              FROM_TILE(KERNEL_ROUND, "exact", "ht_crt_args", "crt_exact",
                                        "C = alpha A B + beta C, each element correctly rounded.")}},
    [RECIPE_DIGITS] = {.packs = PACKS_BYTES, .run = HT_RECIPE_DIGITS, .fixed_point = true,
                       .element = "pack/digit_element",
                       .plan = "INT8 products of digits, and C, in one launch",
                       .partial = "accum/partial_i64",
                       .kernel = {PRODUCT("ht_crt_args"), PACK_BYTES("WAVE SLICES ACCS")}},
    [RECIPE_OZAKI] = {.packs = PACKS_PLANES, .run = HT_RECIPE_OZAKI,
                      .plan = "FP16 products of slices, all pairs in one launch",
                      .element = "pack/digit_element", .partial = "accum/partial_f64",
                      .kernel = {PRODUCT("ht_ozaki_args"),
                                 PACK("ht_ozaki_pack_args *args", ONE, "ozaki_pack", "WAVE",
                                      "Two FP64 operands as FP16 slices in panel atoms, as many as their "
                                      "data need."),
                                 FROM_TILE(KERNEL_COMBINE, "combine", "ht_ozaki_args",
                                           "ozaki_combine",
                                           "C = alpha S + beta C, where S is the sum of all products of "
                                           "slices.")}},
};
