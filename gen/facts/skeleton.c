/* skeleton: the table of kernel families; see skeleton.h. Operands may be swapped, so a planned 64 x 32 is 32
 * x 64 as well. What others do better is left out: beside DMMA FFMA and mma.sync were worth 0.2 % of 212
 * shapes on the H200 (bench/decisions/040). */
#include "facts/skeleton.h"

#include <stddef.h>
#include <string.h>

#define SUMS "scheme/row_scale", "=two_sum", "=partial", "check/certificate"
#define OF_FMAS "=launch", "=real", SUMS, "stage/operand_view"
#define FOLDS_SIMT .folds = "MI NI P_PARTS Q_PARTS PREFETCH K_WARPS PER_THREAD GUARDED_LOADS VEC K_SETS"
#define FOLDS_TILE                                                                                           \
    .folds = "MI NI K_STEPS ROWS_AT_ONCE ROW_GROUPS B_PAIRS SETS D_REGS D_ROWS FP32_STEPS A_PER_LANE "     \
             "B_PER_LANE FMA_ROWS TRANSPOSED"
#define FOLDS_RING                                                                                           \
    .folds = "THREADS MI NI K_STEPS GROUP K_ATOMS K_PAIRS CHUNK_GROUPS D_REGS D_ROWS A_BLOCKS B_BLOCKS "     \
             "STAGE_BYTES PARTS PREFETCH_STAGES SUMS SUMS_AT_ONCE ROW_CHUNKS"
#define FRAGMENTS "=launch", "launch/raster", "=stage", "=fragment", "=mma", "accum/clear"
#define PANELS FRAGMENTS, "+stage/panel_ring"
#define OF_FP64 .in = NUMBER_F64, .out = NUMBER_F64
#define TO_C "epilogue/crt_round", "epilogue/crt_axpby", "epilogue/crt_scalars"
#define OF_RESIDUES "check/crt_spans", "check/crt_counts", "epilogue/crt_residue"
#define CRT_TO_C TO_C, "epilogue/crt_value", "epilogue/crt_elements"
#define OF_WARPS .team = "warp", .workers = "warps", .holds = "fragments"
/* Kernels of the caller's matrices. */
#define UNPACKED_OF(form_, file_, label_)                                                                    \
    .file = file_, .label = label_, .unpacked = true, .has_init = true, .cost_form = form_
#define UNPACKED(file_, label_) UNPACKED_OF(HT_TILED_WAVES, file_, label_)
#define STREAMING(file_, label_)                                                                             \
    UNPACKED_OF(HT_STREAMING, file_, label_), OF_WARPS, FOLDS_SIMT, .hooks = {OF_FMAS}
#define SMALL_K(label_)                                                                                      \
    UNPACKED("simt_small_k", label_), .sets_min_blocks_by_registers = true, OF_WARPS, FOLDS_SIMT,            \
    .hooks = {OF_FMAS, "epilogue/lane_transpose"}
/* FP64 by INT8 or FP16 in panels, by mma.sync or MFMA. */
#define PANELS_OF_FP64                                                                                       \
    .label = "_mma", .searched = true, OF_FP64, .needs = ISA_FRAGMENTS, .has_init = true,                    \
    .cost_form = HT_TILED_WAVES, .no_split_k = true, OF_WARPS, FOLDS_RING
#define PLANES .file = "planes_mma_warp", PANELS_OF_FP64, .forms_passes = true
#define ROUNDED_ONCE                                                                                         \
    .arithmetic = "exact products by DMMA, FP64 tensor cores",                                               \
    .accuracy = "sums in FP64, off by at most k 2^-53 of |A||B|; rounded to FP32 once, or once for each "    \
                "part of a split k, and the parts added with compensation"
#define SIMT_FP64(chains_)                                                                                   \
    OF_FP64, .arithmetic = "FP64 FMA alone", .accuracy = chains_ "; off by at most k 2^-53 of |A||B|"
#define SIMT_FP32(chains_)                                                                                   \
    .arithmetic = "FP32 FFMA, no matrix unit",                                                               \
    .accuracy = "inputs keep all 24 bits; " chains_ ", added in FP32 to nearest"
#define SLICED(chain_k_)                                                                                     \
    .arithmetic = "three BF16 slices cut on the way, six products; FP32 FFMA up to k = 16, and in "          \
                  "tiles where numbers below 2^-50 may cost bits or results are not finite",                 \
    .accuracy = "inputs keep all 24 bits, products below 2^-24 of the whole left out; chains of " chain_k_   \
                " k, added in FP32 to nearest; FFMA in chains of 2 or 32 k, added with compensation"

const struct skeleton skeleton_table[HT_FAMILIES] = {
    [HT_FAMILY_WGMMA_SS] =
        {.file = "wgmma_ss", .label = "_wgmma", .searched = true, .needs = ISA_WGMMA, .has_init = true,
         .cost_form = HT_TILED_WAVES, .persistent = true, .has_dmma_fallback = true,
         .hooks = {"=launch", "=wgmma", "=dmma_inside", "=cluster", "=mma", "accum/promote_wgmma", SUMS,
                   "=copies_inside", "check/recompute", "=tile_inside", "check/fallback_notes",
                   "=fallback_inside", "=scheme"},
         .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS PART_ROWS VEC4_COLUMNS A_BLOCKS PARTS B_BLOCKS",
         .team = "warpgroup", .workers = "warpgroups and a producer",
         .holds = "of a warpgroup after setmaxnreg; chain"},
    [HT_FAMILY_MMA_WARP] =
        {.file = "mma_warp", .label = "_mma", .searched = true, .needs = ISA_FRAGMENTS, .has_init = true,
         .scales_tiles = true, .cost_form = HT_TILED_WAVES, OF_WARPS, FOLDS_RING,
         .hooks = {PANELS, "=chain", SUMS, "=scheme"}},
    [HT_FAMILY_UNPACKED_WGMMA] =
        {UNPACKED("unpacked_tile", "_wgmma"), .searched = true, .needs = ISA_WGMMA_RS_BF16,
         .inlay = "wgmma_rs_bf16x6", FOLDS_TILE, SLICED("32"),
         .hooks = {"=launch", "frag/simt", "=wgmma", "=wgmma_rs", "accum/promote_wgmma", SUMS,
                   "=fallback_grid", "=scheme", "epilogue/lane_transpose", "stage/global_f32",
                   "stage/split_in_smem"},
         .has_slices_alone = true, .group_rows = 128, .sets_min_blocks_by_registers = true, .team = "warp",
         .workers = "warps of warpgroups", .holds = "fragments",
         .tiles = {{128, 64, 32, 16, 64, 2, ALWAYS,
                    "reads the operands as they are, two warpgroups side by side; many tiles"},
                   {64, 64, 32, 16, 64, 2, ALWAYS,
                    "reads the operands as they are, two warpgroups by turns; a wave of tiles"},
                   {64, 32, 32, 16, 32, 2, ALWAYS,
                    "reads the operands as they are, two warpgroups by turns; few tiles"}}},
    [HT_FAMILY_UNPACKED_MMA] =
        {UNPACKED("unpacked_tile", "_mma"), .searched = true, OF_WARPS, FOLDS_TILE, SLICED("16"),
         .fp32_arithmetic = "FP32 products and sums of the matrices as they are",
         .fp32_accuracy = "inputs keep all 24 bits; chains of at most 32 k, added with compensation",
         .hooks = {"=launch", "=fragment_f32", "=mma_bf16", "accum/clear", "accum/promote", SUMS,
                   "check/recompute", "=fallback_grid", "=scheme", "epilogue/lane_transpose",
                   "stage/global_f32", "=cut"},
         .sets_min_blocks_by_registers = true, .has_tiles_of_all_shapes = true, .is_fallback_base = true,
         .tiles = {{128, 64, 32, 32, 32, 2, UNLESS_WGMMA_RS, "reads the operands as they are; many tiles"},
                   {64, 64, 32, 32, 32, 2, UNLESS_DMMA, "reads the operands as they are; a wave of tiles"},
                   {64, 32, 32, 32, 16, 2, UNLESS_DMMA, "reads the operands as they are; few tiles"},
                   {32, 32, 32, 16, 16, 2, UNLESS_DMMA, "reads the operands as they are; very few tiles"},
                   {128, 8, 32, 32, 8, 2, ONLY_TILED,
                    "reads the operands as they are; a matrix and up to eight vectors"}}},
    [HT_FAMILY_DMMA] =
        {UNPACKED("dmma", "dmma"), .swap_ab_min_gain = 8, .needs = ISA_DMMA, .is_fallback_base = true,
         OF_WARPS, ROUNDED_ONCE, .folds = "MI NI ROW_TILES K_PER_LANE",
         .hooks = {"=launch", "=dmma", SUMS, "=real", "stage/operand_view", "stage/cp_async_tile"},
         .tiles = {{64, 64, 16, 32, 32, 4, ALWAYS, "DMMA; a large C with few k"},
                   {128, 32, 16, 32, 32, 4, ALWAYS, "DMMA; the same, up to 32 columns"},
                   {64, 32, 16, 32, 16, 4, ALWAYS, "DMMA; the same, fewer tiles"},
                   {32, 32, 16, 16, 16, 4, ALWAYS, "DMMA; the same, few tiles"}}},
    [HT_FAMILY_SIMT_SMALL_K] =
        {SMALL_K("simt"), SIMT_FP32("chains of 32 k, in a small C of short k of 4"),
         .tiles = {{128, 64, 16, 128, 16, 2, UNLESS_DMMA, "FFMA; small K, or few columns"},
                   {64, 64, 16, 64, 16, 2, UNLESS_DMMA, "FFMA; small K, or few tiles"},
                   {128, 32, 16, 64, 16, 2, UNLESS_DMMA, "FFMA; small K, up to 32 columns"},
                   {128, 16, 16, 32, 16, 2, UNLESS_DMMA, "FFMA; small K, up to 16 columns"}}},
    [HT_FAMILY_GEMV] =
        {STREAMING("gemv", "gemv"), .in_block_k_splits = GEMV_LANES,
         SIMT_FP32("at least 32 chains, one for each remainder of k"),
         .tiles = {{8, 1, 256, 0, 1, 1, ALWAYS, "FFMA; one column a block"},
                   {16, 4, 256, 0, 4, 1, ALWAYS, "FFMA; four columns a block"}}},
    [HT_FAMILY_FP64_GEMV] =
        {STREAMING("gemv", "gemv64"), .in_block_k_splits = GEMV_LANES,
         SIMT_FP64("at least 32 chains, one for each remainder of k"),
         .tiles = {{8, 1, 128, 0, 1, 1, ALWAYS, "FP64 FMA; one column a block"},
                   {16, 4, 128, 0, 4, 1, ALWAYS, "FP64 FMA; four columns a block"}}},
    [HT_FAMILY_TALL_SKINNY] =
        {STREAMING("tall_skinny", "tall_skinny"), .no_split_k = true, .line_k = 32,
         SIMT_FP32("chains of at most 8 k"), .smem = "SMEM_BYTES<1>",
         .tiles = {{128, 1, 64, 0, 1, 1, ALWAYS, "FFMA; small K, one column a block"},
                   {128, 2, 64, 0, 2, 1, ALWAYS, "FFMA; small K, two columns a block"},
                   {128, 4, 64, 0, 4, 1, ALWAYS, "FFMA; small K, four columns a block"}}},
    [HT_FAMILY_FP64_SMALL_K] =
        {SMALL_K("simt64"), SIMT_FP64("one chain, but for parts of a split k"), .needs = ISA_FP64_FMA_ALONE,
         .has_tiles_of_all_shapes = true,
         .tiles = {{64, 64, 8, 64, 16, 2, ALWAYS, "FP64 FMA; small K, or few tiles"},
                   {128, 32, 8, 64, 16, 2, ALWAYS, "FP64 FMA; small K, up to 32 columns"},
                   {128, 16, 8, 32, 16, 2, ALWAYS, "FP64 FMA; small K, up to 16 columns"},
                   {128, 8, 8, 32, 8, 2, ALWAYS, "FP64 FMA; small K, up to eight columns"}}},
    [HT_FAMILY_FP64_TALL] =
        {STREAMING("tall_skinny", "tall_skinny64"), .no_split_k = true, .line_k = 16,
         SIMT_FP64("chains of at most 8 k"), .smem = "SMEM_BYTES<1>",
         .tiles = {{64, 1, 64, 0, 1, 1, ALWAYS, "FP64 FMA; small K, one column a block"},
                   {64, 2, 64, 0, 2, 1, ALWAYS, "FP64 FMA; small K, two columns a block"},
                   {64, 4, 64, 0, 4, 1, ALWAYS, "FP64 FMA; small K, four columns a block"}}},
    [HT_FAMILY_FP64_MMA_TILE] =
        {UNPACKED("fp64_mma_tile", ""), .searched = true, OF_FP64, OF_WARPS, .swap_ab_min_gain = 1,
         .needs = ISA_FP64_MMA, .folds = "MI NI GROUPS QUADS",
         .hooks = {"=launch", "=dmma", "=fp64_mma", "=real", "stage/operand_view", "stage/tile_f64",
                   "check/crt_counts"},
         .tiles = {{128, 128, 16, 64, 32, 4, ALWAYS, "FP64 tensor cores; many tiles"},
                   {96, 128, 16, 48, 32, 4, ALWAYS, "FP64 tensor cores; fuller waves of many tiles"},
                   {96, 64, 16, 48, 32, 4, ALWAYS, "FP64 tensor cores; fuller waves of few tiles"},
                   {64, 64, 16, 32, 32, 4, ALWAYS, "FP64 tensor cores; few tiles"},
                   {64, 16, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; up to 16 columns"},
                   {16, 64, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; up to 16 rows"},
                   {32, 32, 16, 16, 16, 4, ALWAYS, "FP64 tensor cores; very few tiles"}}},
    [HT_FAMILY_FP64_TILE] =
        {UNPACKED("fp64_tile", ""), .searched = true, OF_FP64, OF_WARPS, .swap_ab_min_gain = 1,
         .needs = ISA_FP64_FMA_ALONE, .has_tiles_of_all_shapes = true,
         .folds = "MI NI PAIRS WARPS_M THREADS MMA_M MMA_N LANE_ROWS LANE_COLUMNS LANE_PAIRS D_REGS",
         .hooks = {"=launch", "arch/fma64", "=real", "stage/operand_view", "stage/global_f64",
                   "check/crt_counts"},
         .tiles = {{128, 64, 16, 32, 32, 2, ALWAYS, "FP64 arithmetic; many tiles"},
                   {64, 64, 16, 32, 32, 2, ALWAYS, "FP64 arithmetic; few tiles"},
                   {32, 32, 8, 32, 32, 2, ALWAYS, "FP64 arithmetic; very few tiles"}}},
    [HT_FAMILY_FALLBACK] =
        {UNPACKED("fallback_dmma", "dmma"), .no_split_k = true, .needs = ISA_DMMA, OF_WARPS, ROUNDED_ONCE,
         FOLDS_SIMT, .smem = "0", .hooks = {"=launch", "=dmma", SUMS, "check/recompute",
                                            "check/fallback_tile", "check/fallback_grid"}},
    [HT_FAMILY_PACK] =
        {.file = "pack", .has_init = true, .folds = "PREFETCH_LOADS CHUNK_K UNITS",
         .hooks = {"=launch", "scheme/row_scale", "=scheme", "=split", "pack/common", "pack/row_sums",
                   "pack/absmax_exchange", "pack/outlier_tiles", "pack/row_resident", "pack/strip_32x512"}},
    [HT_FAMILY_REDUCE] = {.file = "reduce", .folds = "", .hooks = {"=launch", "=real", SUMS}},
    [HT_FAMILY_FP64_REDUCE] = {.file = "reduce", .folds = "", OF_FP64,
                               .hooks = {"=launch", "=real", "=two_sum", "=partial"}},
    [HT_FAMILY_CRT_WGMMA_SS] =
        {.file = "crt_wgmma_ss", .label = "_wgmma", .searched = true, OF_FP64,
         .forms_passes = true, .sum = NUMBER_S32, .needs = ISA_WGMMA, .has_init = true,
         .cost_form = HT_TILED_WAVES, .persistent = true, .no_split_k = true,
         .hooks = {"=launch", "=wgmma", "=mma", "=tables", OF_RESIDUES},
         .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS A_BLOCKS B_BLOCKS",
         .team = "warpgroup", .workers = "warpgroups and a producer",
         .holds = "of a warpgroup after setmaxnreg; chain",
         .tiles = {{64, 128, 128, 64, 64, 4, ALWAYS, "few"}, {128, 256, 128, 128, 128, 4, ALWAYS, "many"}}},
    [HT_FAMILY_CRT_MMA_WARP] =
        {PLANES, .sum = NUMBER_S32, .hooks = {PANELS, "=tables", OF_RESIDUES, "epilogue/planes_residues"},
         .tiles = {{64, 64, 128, 32, 32, 2, ALWAYS, "few"}, {64, 64, 128, 32, 32, 3, ALWAYS, "few"},
                   {128, 128, 128, 64, 32, 3, ALWAYS, "many"}, {128, 128, 128, 64, 64, 2, ALWAYS, "many"}}},
    [HT_FAMILY_CRT_PACK] =
        {.file = "crt_pack", OF_FP64, .has_init = true, .folds = "HELD AT_ONCE CRT_DIGIT_WORDS",
         .hooks = {"=launch", "=together", "=tables", "pack/crt_digits", "check/crt_spans", "=element"}},
    [HT_FAMILY_CRT_COMBINE] =
        {.file = "crt_combine", OF_FP64,
         .folds = "PIECES GROUPS TAKEN CRT_MODULI CRT_THREADS CRT_VALUE_WORDS",
         .hooks = {"=launch", "=fragment", "=tables", "check/crt_counts", "=crt_order", CRT_TO_C}},
    [HT_FAMILY_CRT_EXACT] =
        {.file = "crt_exact", OF_FP64, .folds = "TAKEN CRT_VALUE_WORDS",
         .hooks = {"=launch", "=fragment", "=tables", "check/crt_spans", "=crt_order", CRT_TO_C,
                   "epilogue/crt_fewer", "epilogue/exact_dot"}},
    [HT_FAMILY_DIGITS_MMA_WARP] =
        {.file = "digits_mma_warp", PANELS_OF_FP64, .sum = NUMBER_S32,
         .hooks = {FRAGMENTS, "=tables", "=chain", "epilogue/crt_order_mma", TO_C},
         .tiles = {{32, 32, 32, 16, 16, 2, ALWAYS, "few"}, {32, 32, 32, 16, 16, 3, ALWAYS, "few"},
                   {64, 64, 32, 32, 16, 2, ALWAYS, "many"}, {64, 64, 32, 32, 16, 3, ALWAYS, "many"},
                   {64, 64, 32, 32, 32, 2, ALWAYS, "MFMA"}}},
    [HT_FAMILY_OZAKI_MMA_WARP] =
        {PLANES, .sum = NUMBER_F32, .hooks = {PANELS, "epilogue/planes_sums"},
         .tiles = {{64, 64, 64, 32, 32, 2, ALWAYS, "few"}, {64, 64, 64, 32, 32, 3, ALWAYS, "few"},
                   {128, 128, 64, 64, 32, 2, ALWAYS, "many"}, {128, 128, 64, 64, 32, 3, ALWAYS, "many"},
                   {128, 128, 64, 64, 64, 2, ALWAYS, "many"}}},
    [HT_FAMILY_OZAKI_PACK] =
        {.file = "ozaki_pack", OF_FP64, .has_init = true,
         .folds = "OZ_THREADS OZ_ROWS OZ_LANES OZ_WARPS START_ROWS START_K",
         .hooks = {"=launch", "pack/ozaki_element"}},
    [HT_FAMILY_OZAKI_COMBINE] =
        {.file = "ozaki_combine", OF_FP64, .folds = "PIECES CRT_THREADS",
         .hooks = {"=launch", "=fragment", "pack/ozaki_element", "epilogue/crt_order_mma",
                   "epilogue/ozaki_sum"}},
};

bool skeleton_has_warpgroup_tiles(const struct skeleton *k) {
    return strcmp(k->team, "warpgroup") == 0;
}

struct target target_of(const struct gpu *g, const struct isa *isa, enum ht_family family,
                        const struct scheme *s) {
    const struct skeleton *skeleton = &skeleton_table[family];
    return (struct target){g, isa, skeleton, s, skeleton->unpacked ? &isa->unpacked : &isa->mma};
}

static bool is_searched(const struct isa *isa, const struct skeleton *k, const struct scheme *s) {
    const bool has_passes = scheme_passes(s) > 1 || recipe_has(s->recipe, KERNEL_COMBINE);
    return k->searched && k->unpacked == !s->recipe->packs && k->in == s->in && k->out == s->out &&
           k->forms_passes == has_passes && (k->in == NUMBER_F32 || k->unpacked || k->sum == s->sum) &&
           isa_has(isa, k->needs) && (s->scale != SCALE_TILE || k->scales_tiles);
}

static struct target first_from(const struct gpu *g, const struct isa *isa, int family,
                                const struct scheme *s) {
    while (family < HT_FAMILIES && !is_searched(isa, &skeleton_table[family], s))
        family++;
    return family < HT_FAMILIES ? target_of(g, isa, (enum ht_family)family, s)
                                : (struct target){.g = g, .s = s};
}

struct target target_main(const struct gpu *g, const struct isa *isa, const struct scheme *s) {
    const struct target on = first_from(g, isa, 0, s);
    return on.isa || !isa->warps ? on : first_from(g, isa_find(isa->warps), 0, s);
}

bool target_next(struct target *on) {
    const char *const name = on->skeleton->unpacked ? NULL : on->isa->other_shape;
    const struct isa *other = name && on->s->scale != SCALE_TILE ? isa_find(name) : NULL; /* one k step: 32 */
    const int family = (int)(on->skeleton - skeleton_table);
    *on = other ? target_of(on->g, other, (enum ht_family)family, on->s)
                : first_from(on->g, on->isa, family + 1, on->s);
    return on->isa != NULL;
}

int target_mma_k(const struct target *on) {
    return on->skeleton->unpacked ? on->mma->k : on->isa->mma_k[on->s->slice];
}

int target_fragment_k(const struct target *on) {
    return on->mma->fragment_k * slice_bytes(SLICE_F16) / scheme_slice_bytes(on->s);
}
