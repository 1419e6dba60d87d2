/* fit: the form of families' fitted constants; they stand in the files of families. Cycles are those of an SM
 * at the clock that the source names. A fit on one card is a guess elsewhere. How the rows of unpacked
 * kernels were searched for: bench/decisions/043. */
#ifndef HT_FAMILY_FIT_H
#define HT_FAMILY_FIT_H

#include "model/fit.h"

/* Tables of bench/results. NO_DMMA: of sets without DMMA, the budget h200 with fp64_fma_per_cycle = 2. */
#define SPLITS "tune-h200-splits.tsv", "NVIDIA H200, 1980 MHz", FIT_AGAIN "tune-h200-splits.tsv"
#define NO_DMMA                                                                                              \
    "tune-h200-random-fit.tsv tune-h200-direct-fit.tsv tune-h200-tall-fit.tsv", "NVIDIA H200, 1980 MHz",     \
        FIT_AGAIN "tune-h200-random-fit.tsv"

struct fit_mma_warp {
    struct fit_source source;
    int barrier_cycles;  /* of a step whose scheduler has one warp: to the last warp and the next fragments */
    int loaded_latency;  /* idle latencies grow under load by this factor */
    int port_bytes;      /* that an SM takes from L2 in a cycle; that this adds to the MMAs' time is fitted */
    int miss_share;      /* one cycle of so many that device memory spends on a wave's panels is felt */
    int interference_share; /* one of so many that the less busy of tensor pipe and shared memory works */
    int warp_mma_cycles;    /* a warp issues an MMA this often at most */
    int block_start_cycles; /* besides device memory's latency */
    int store_slowdown;     /* direct stores: 1 / this of copy speed */
};

struct fit_wgmma_ss {
    struct fit_source source;
    int turn_cycles;         /* last result of a chunk to first MMA of the next, additions apart */
    int slot_cycles;         /* of each slot, whatever its size: waiting, issuing, the turn */
    int unit_share;          /* one part in so many that the tensor core is slower than its data sheet, */
    int unit_share_of_pair;  /* and where two blocks share panels: less power for L2, more for the clock */
    int fed_share;           /* one part in so many more where shared memory is as busy as the tensor core */
    int copy_cycles;         /* of the tensor core for each atom copied, below which the producer is tight */
    int launch_cycles;       /* launch to first copy, and from the last store to the next launch */
    int cluster_cycles;      /* more of it where two blocks start together */
    int tile_cycles;         /* of each tile of a block: first copies, and the turn to the epilogue */
    int store_cycles_per_kb; /* epilogue of all SMs at once */
    int scalar_stores;       /* more of these where C is stored by elements */
};

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

extern const struct fit_mma_warp fit_mma_warp;
extern const struct fit_wgmma_ss fit_wgmma_ss;
extern const struct fit_unpacked fit_unpacked_mma, fit_unpacked_fp32, fit_unpacked_wgmma, fit_dmma,
    fit_fp64_mma_tile, fit_fp64_tile, fit_simt_small_k;
extern const struct fit_streaming fit_gemv, fit_tall_skinny;

#endif
