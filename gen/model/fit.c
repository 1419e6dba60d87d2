/* fit: the rows; see fit.h. Tables lie in bench/results. A fit on one card is a guess elsewhere. How the rows
 * of unpacked kernels were searched for: bench/decisions/043. */
#include "model/fit.h"

#define AGAIN "out/h200/halftone-sim tune --again bench/results/"
#define SPLITS "tune-h200-splits.tsv", "NVIDIA H200, 1980 MHz", AGAIN "tune-h200-splits.tsv"
/* Of sets without DMMA: the budget h200 with fp64_fma_per_cycle = 2. */
#define NO_DMMA                                                                                              \
    "tune-h200-random-fit.tsv tune-h200-direct-fit.tsv tune-h200-tall-fit.tsv", "NVIDIA H200, 1980 MHz",     \
        AGAIN "tune-h200-random-fit.tsv"

const struct fits fitted = {
    .mma_warp = {{"h200-a800set-tiles-fit.tsv h200-a800set-schemes-fit.tsv", "NVIDIA H200, clock not read",
                  "bench/model_check.py bench/results/h200-a800set-tiles-fit.tsv h200",
                  "rank correlation 0.96, 0.89, 0.89 at 1024, 4096, 8192, each held out of the fit"},
                 .barrier_cycles = 160, .loaded_latency = 2, .port_bytes = 64, .miss_share = 2,
                 .interference_share = 16, .warp_mma_cycles = 8, .block_start_cycles = 2900,
                 .store_slowdown = 2},
    .wgmma_ss = {{"tune-h200.tsv", "NVIDIA H200, 1425 MHz", AGAIN "tune-h200.tsv", "14 %"},
                 .turn_cycles = 100, .slot_cycles = 75, .unit_share = 32, .unit_share_of_pair = 64,
                 .fed_share = 32, .copy_cycles = 160, .launch_cycles = 1200, .cluster_cycles = 100,
                 .tile_cycles = 2000, .store_cycles_per_kb = 30, .scalar_stores = 2},
    .unpacked_mma = {{NO_DMMA, "25 %"}, .pipe_percent = 120, .arrival_percent = 55,
                     .block_start_cycles = 1410, .sum_cycles = 220, .stream_percent = 59},
    .unpacked_fp32 = {{NO_DMMA, "none: unpacked_mma's row, and pipes that overlap"}, .pipe_percent = 100,
                      .arrival_percent = 55, .block_start_cycles = 1410, .sum_cycles = 220,
                      .stream_percent = 59},
    .unpacked_wgmma = {{SPLITS, "14 %"}, .pipe_percent = 100, .step_cycles = 188, .misaligned_cycles = 28,
                       .block_start_cycles = 3547, .sum_cycles = 64, .scalar_store_row_cycles = 9,
                       .stream_percent = 81},
    .dmma = {{SPLITS, "15 %"}, .pipe_percent = 116, .step_cycles = 107, .alone_cycles_per_kb = 90,
             .misaligned_cycles = 51, .block_start_cycles = 1169, .sum_cycles = 64, .serial_cycles = 330,
             .serial_cycles_per_1024 = 62, .tall_swap_percent = 119, .stream_percent = 88},
    .fp64_mma_tile = {{"h100-fp64-tiles.tsv h200-fp64-waves.tsv", "NVIDIA H100 and H200, 700 W",
                       "out/bin/halftone-gen explain --gpu h200 --scheme native64 --shape 4096x4096x4096",
                       "6 % of what was picked on the H200, 1024 to 4096; starts and sums are dmma's"},
                      .pipe_percent = 90, .alone_cycles = 30, .block_start_cycles = 1169,
                      .sum_cycles = 64, .serial_cycles = 760, .serial_cycles_per_1024 = 62,
                      .stream_percent = 88},
    .fp64_tile = {{"none", "no card", "none", "unknown: dmma's row, less what only that has, and the data "
                                              "sheets' FMAs, beside which the rest issues"},
                  .pipe_percent = 100, .step_cycles = 107, .alone_cycles_per_kb = 90,
                  .block_start_cycles = 1169, .sum_cycles = 64, .serial_cycles = 330,
                  .serial_cycles_per_1024 = 62, .stream_percent = 88},
    .simt_small_k = {{NO_DMMA, "18 %"}, .pipe_percent = 165, .narrow_pipe_percent = 145, .alone_cycles = 985,
                     .block_start_cycles = 325, .sum_cycles = 125, .stream_percent = 49},
    .gemv = {{SPLITS, "14 %"}, .launch_cycles = 15, .tile_cycles = 2407, .tile_column_cycles = 415,
             .port_bytes = 64, .fma_per_cycle = 39, .alone_cycles = 64, .dram_step_cycles = 510,
             .misaligned_cycles = 1134, .pdl_overlap_cycles = 2643, .stream_percent = 101,
             .stream_column_percent = 0},
    .tall_skinny = {{SPLITS, "26 %"}, .launch_cycles = 2149, .tile_cycles = 34, .port_bytes = 62,
                    .fma_per_cycle = 20, .dram_step_cycles = 98, .misaligned_cycles = 227,
                    .stream_percent = 108, .stream_column_percent = 9},
    .reduce = {{"h200-a800set-tiles-fit.tsv", "NVIDIA H200, clock not read", "none: no kernel there splits k",
                "unknown"},
               .partial_latency_share = 1},
    .reduce_behind_wgmma = {{"tune-h200.tsv", "NVIDIA H200, 1425 MHz", AGAIN "tune-h200.tsv",
                             "14 % with the kernels; 128 x 128 x 32768 in 32 slices 21 to 75 % too slow"},
                            .partial_latency_share = 2},
};
