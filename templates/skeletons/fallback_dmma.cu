#include "../samples/fallback_dmma.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// The launch behind a product with the certificate: what the product has not stored it computes from the caller's matrices, by whole 64 x 64
// blocks (check/fallback_tile) or one by one (check/fallback_grid). A block of four warps walks over such blocks of C; there is no shared memory.
constexpr int WARPS = 4, THREADS = WARPS * WAVE;
static_assert(BM == 64 && BN == 64, "failed results are told by 64 x 64 blocks");

// Blocks of C above one another; worked out again for each, not kept in registers.
HT_DEVICE int high_of(const ht_gemm_args &g)
{
    return (g.m + (int)ht_opaque(0) + BM - 1) / BM;
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const ht_gemm_args g)
{
    ht_pdl_trigger();
    ht_pdl_wait();
    if (g.failed && !ht_any_failed(g))
        return;
    for (int entry = (int)blockIdx.y; entry < g.batch; entry += (int)gridDim.y) {
        for (int tile = (int)blockIdx.x; tile < high_of(g) * ((g.n + BN - 1) / BN); tile += (int)gridDim.x) { //@mutate gemm
            const int high = high_of(g), row = tile % high * BM, col = tile / high * BN; //@mutate gemm-3
            const unsigned *words = g.failed ? ht_failed_block(g, entry, row / 64, col / 64) : nullptr;
            const int count = words ? ht_count_failed(g, words, row, col) : BM * BN;
            if (count > ELEMENTS_MOST) //@mutate gemm-2
                ht_fallback_block<2>(g, entry, row, col);
            else if (count > 0)
                ht_recompute_elements(g, entry, row, col, words, WARPS);
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
