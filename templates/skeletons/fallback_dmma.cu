#include "../samples/fallback_dmma.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// The launch between packing and a product with a data check: of each 64 x 64 block of C that the product will leave out it computes the
// results from the caller's matrices (check/fallback_tile). A block of four warps walks over such blocks of C; there is no shared memory.
constexpr int WARPS = 4, THREADS = WARPS * WAVE;
static_assert(BM == 64 && BN == 64, "the data check is of 64 x 64 blocks");

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const ht_gemm_args g)
{
    ht_pdl_trigger();
    ht_pdl_wait(); // every block: the product relies on packing's end through this launch's
    if (g.a_range_counts && !ht_range_check_needed(g))
        return;
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha, beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const int high = (g.m + BM - 1) / BM, tiles = high * ((g.n + BN - 1) / BN);
    for (int entry = (int)blockIdx.y; entry < g.batch; entry += (int)gridDim.y) {
        const bool skipped = !ht_barrier_any(ht_any_out_of_range(g, entry, THREADS)); //@mutate gemm-2
        for (int tile = (int)blockIdx.x; !skipped && tile < tiles; tile += (int)gridDim.x) { //@mutate gemm
            const int row = tile % high, col = tile / high; //@mutate gemm-3
            if (!g.a_range_counts || !ht_block_in_range(g, entry, row, col))
                ht_fallback_block<2>(g, alpha, beta, entry, row * BM, col * BN);
        }
    }
}

static int init(void)
{
    return 0;
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const int high = (g.m + BM - 1) / BM;
    const long long tiles = (long long)high * ((g.n + BN - 1) / BN);
    if (tiles > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than a grid can count
    const ht_fallback_grid by = ht_fallback_grid_of(tiles, high, g.batch, SMS * MIN_BLOCKS);
    return ht_launch_dependent(gemm, by.blocks, by.groups, 1, THREADS, 0, stream, g);
}
