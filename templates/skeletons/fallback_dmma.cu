#include "../samples/machine.h" //@drop
constexpr int BM = 64, BN = 64, WN = 32, WAVE = 32, MIN_BLOCKS = 2, SMS = 132, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0; //@drop
#include "../hooks/launch/pdl.cuh" //@drop
#include "../samples/sums.h" //@drop
#include "../hooks/stage/real_f32.cuh" //@drop
#include "../hooks/arch/sm90_dmma.cuh" //@drop
#include "../hooks/check/recompute.cuh" //@drop
#include "../hooks/check/fallback_tile.cuh" //@drop
#include "../hooks/check/fallback_grid.cuh" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// The launch behind a product with the certificate: what the product has not stored it computes from the caller's matrices, by whole 64 x 64
// blocks (check/fallback_tile) or one by one (check/fallback_grid). A block of four warps walks over such blocks of C; there is no shared memory.
constexpr int WARPS = 4, THREADS = WARPS * WAVE;
static_assert(BM == 64 && BN == 64, "failed results are told by 64 x 64 blocks");

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const ht_gemm_args g)
{
    ht_pdl_trigger();
    ht_pdl_wait();
#pragma unroll 1
    for (int at = ht_first_place(WARPS);;) {
        const int count = ht_failed_count(g);
        if (at >= ht_places_of(g, count, WARPS))
            return;
        if (at % WARPS != 0 || ht_barrier_any(ht_recompute_listed(g, at, count))) {
            const ht_task_behind x = ht_task_at(g, at, count, WARPS);
            if (x.whole) {
                if (threadIdx.x == 0) // before it: registers are few
                    ht_count_block(g, x.row / BM * BM, x.col / BN * BN, BM, BN);
                ht_fallback_block<2>(g, x.entry, x.row / BM * BM, x.col / BN * BN);
            }
        } else
            at += WARPS - 1;
        at = ht_next_place(at, !ht_is_listed(g), WARPS);
    }
}

static int init(void)
{
    return ht_prefer_smem(gemm, 0); // as the kernels around it
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const int high = (g.m + BM - 1) / BM;
    const long long tiles = (long long)high * ((g.n + BN - 1) / BN);
    if (tiles * g.batch * WARPS > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than a grid can count
    const ht_fallback_grid by = ht_fallback_grid_of(tiles, high, g.batch, SMS * MIN_BLOCKS);
    return ht_launch_dependent(gemm, by.blocks, by.groups, 1, THREADS, 0, stream, g);
}
