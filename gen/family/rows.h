/* rows: what rows of families share, words and functions; for files of this folder. */
#ifndef HT_FAMILY_ROWS_H
#define HT_FAMILY_ROWS_H

#include "base/text.h"
#include "family/family.h"

enum { GEMV_LANES = 8 }; /* of gemv and tall_skinny, lanes of a warp that load a line */

/* ---- fitted constants, which stand in the files of families. Cycles are those of an SM at the clock that
 * the source names. A fit on one card is a guess elsewhere. How the rows of unpacked kernels were searched
 * for: bench/decisions/043. */

/* Tables of bench/results. NO_DMMA: of sets without DMMA, the budget h200 with fp64_fma_per_cycle = 2. */
#define SPLITS "tune-h200-splits.tsv", "NVIDIA H200, 1980 MHz", FIT_AGAIN "tune-h200-splits.tsv"
#define NO_DMMA                                                                                              \
    "tune-h200-random-fit.tsv tune-h200-direct-fit.tsv tune-h200-tall-fit.tsv", "NVIDIA H200, 1980 MHz",     \
        FIT_AGAIN "tune-h200-random-fit.tsv"

/* unpacked_mma, the same without BF16, unpacked_wgmma, dmma, fp64_mma_tile, fp64_tile, simt_small_k; 0: the
 * family has no such term. */
struct fit_unpacked {
    struct fit_source source;
    int pipe_percent;        /* of what the pipes need: their sum, or the busiest one */
    int narrow_pipe_percent; /* the same of tiles of few columns */
    int step_cycles;         /* more of a step: barriers, copies, loads */
    /* more of a step of a block that is alone: of L2's and device memory's latency; besides; for each KB */
    int arrival_percent, alone_cycles, alone_cycles_per_kb;
    int misaligned_cycles;              /* more of a step */
    int block_start_cycles, sum_cycles; /* launch, first loads; for each sum of a lane: clear, check, store */
    /* of a block that the SM's other blocks wait for, and for each 1024 elements that it stores */
    int serial_cycles, serial_cycles_per_1024;
    int scalar_store_row_cycles; /* more for each row of a tile where C is stored by elements */
    int tall_swap_percent;       /* of a product with A and B swapped, in tiles of more than 64 rows */
    int stream_percent;          /* of device memory's rate */
};

/* gemv, tall_skinny. */
struct fit_streaming {
    struct fit_source source;
    int launch_cycles, tile_cycles, tile_column_cycles; /* of a launch; of a block; for each of its columns */
    int port_bytes, fma_per_cycle; /* of an SM: from L2; FMAs with what they load of the N side */
    int alone_cycles;              /* more of a step of a block that is alone */
    int dram_step_cycles;          /* and where L2 does not keep the matrix: too little is in flight */
    int misaligned_cycles;         /* more of a step */
    int pdl_overlap_cycles;        /* of a split-K reduction's launch, hidden where it is a dependent one */
    int stream_percent, stream_column_percent; /* of device memory's rate, less for each column more */
};

extern const struct fit_source fit_mma_warp, fit_wgmma_ss;
extern const struct fit_unpacked fit_unpacked_mma, fit_unpacked_fp32, fit_unpacked_wgmma, fit_dmma,
    fit_fp64_mma_tile, fit_fp64_tile, fit_simt_small_k;
extern const struct fit_streaming fit_gemv, fit_tall_skinny;

/* ---- words of rows */

/* Hooks and foldable constants. */
#define SUMS "scheme/row_scale", "=two_sum", "=partial", "check/certificate"
#define FP32_SUMS SUMS, "stage/real_f32"
#define OF_FMAS(real_) "=launch", "stage/real_" real_, SUMS, "stage/operand_view"
#define FOLDS_SIMT .folds = "MI NI P_PARTS Q_PARTS PREFETCH K_WARPS PER_THREAD GUARDED_LOADS VEC K_SETS"
#define FOLDS_RING                                                                                           \
    .folds = "THREADS MI NI K_STEPS GROUP K_ATOMS K_PAIRS CHUNK_GROUPS D_REGS D_ROWS A_BLOCKS B_BLOCKS "     \
             "STAGE_BYTES PARTS PREFETCH_STAGES SUMS SUMS_AT_ONCE ROW_CHUNKS"
#define FRAGMENTS "=launch", "launch/raster", "=stage", "=fragment", "=mma", "accum/clear"
#define PANELS FRAGMENTS, "+stage/panel_ring"
#define OF_FP64 .in = NUMBER_F64, .out = NUMBER_F64
#define TO_C "epilogue/crt_round", "epilogue/crt_axpby", "epilogue/crt_scalars"
#define OF_RESIDUES "check/crt_spans", "check/crt_counts", "check/crt_abs", "epilogue/crt_residue"
#define CRT_TO_C TO_C, "epilogue/crt_value", "epilogue/crt_elements"
#define OF_WARPS .team = "warp", .workers = "warps", .holds = "fragments"
/* Kernels of the caller's matrices. */
#define UNPACKED_OF(form_, file_, label_)                                                                    \
    .file = file_, .label = label_, .unpacked = true, .has_init = true, .cost_form = form_
#define UNPACKED(file_, label_) UNPACKED_OF(HT_TILED_WAVES, file_, label_)
#define SIMT_FP64(chains_)                                                                                   \
    OF_FP64, .arithmetic = "FP64 FMA alone", .accuracy = chains_ "; off by at most k 2^-53 of |A||B|"
#define SIMT_FP32(chains_)                                                                                   \
    .arithmetic = "FP32 FFMA, no matrix unit",                                                               \
    .accuracy = "inputs keep all 24 bits; " chains_ ", added in FP32 to nearest"

/* Parameters. */
#define PARAMS_OF_ATOM "SLICES SLICE_BYTES ATOM_SLICES ATOM_K "
#define PARAMS_OF_SCHEME PARAMS_OF_ATOM "ACCS SCALES_ROWS SCALE_LOW SCALE_HIGH SCALE_ROOM CHECKS"
#define PARAMS_OF_TILE "BM BN BK WM WN STAGES " PARAMS_OF_SCHEME " "
#define PARAMS_OF_WARPS "MIN_BLOCKS WAVE MMA_M MMA_N FRAGMENT_K B_TILES D_COLS "
#define PARAMS_UNPACKED PARAMS_OF_TILE PARAMS_OF_WARPS "FAST IS_FALLBACK SMS ELEMENT_BYTES"
#define PARAMS_OF_RING "BM BN BK WM WN STAGES " PARAMS_OF_WARPS "RASTER "

#define FUNCTIONS(name) .footprint = footprint_##name, .time = time_##name
#define READS(params_) .params = params_, .holes = holes_unpacked

/* Of mma_warp, for those that do as it does. */
void footprint_mma_warp(const struct target *on, const struct tile *t, struct cost *cost);
void time_mma_warp(const struct target *on, const struct tile *t, struct cost *cost);
const char *binding_mma_warp(const struct target *on, const struct tile *t, const struct shape *shape,
                             const struct cost *cost);
bool holes_mma_warp(void *context, const char *name, struct text *out, int indent);
void banner_mma_warp(struct text *out, const struct plan *p);

/* ---- kernels that read the caller's matrices (unpacked.c) */

bool holes_unpacked(void *context, const char *name, struct text *out, int indent);
/* Clocks x256 that a step of one block needs of an SM's pipes where it has so many schedulers. */
typedef int64_t pipes_of(const struct target *on, const struct tile *t, int64_t schedulers);
/* The coefficients. chain: clocks x256 of a step's MMAs that depend on one another; sets: steps on their way.
 * */
void time_unpacked(const struct target *on, const struct tile *t, struct cost *cost,
                   const struct fit_unpacked *f, pipes_of *pipes, int64_t chain, int sets, const char *unit);
/* The function of a family's row where the pipes say all. */
#define TIME_OF(name, pipes, unit)                                                                           \
    static void time_##name(const struct target *on, const struct tile *t, struct cost *cost) {              \
        time_unpacked(on, t, cost, &fit_##name, pipes, 0, 1, unit); }
static inline int64_t tile_fmas(const struct tile *t) {
    return (int64_t)t->bm * t->bn * t->bk;
}
/* Clocks x256 of so much work, `rate` of it a clock, for those schedulers' share of an SM. */
static inline int64_t unit_clocks(const struct target *on, int64_t work, int64_t rate, int64_t schedulers) {
    return work * 256 / rate * on->g->schedulers_per_sm / schedulers;
}
/* Clocks, x256 or not, of a kernel below the power limit, as clocks at the set's. */
static inline int32_t at_boost(const struct target *on, int64_t clocks) {
    return (int32_t)model_clocks_at_boost(on->g, clocks);
}

#endif
