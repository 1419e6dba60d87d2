// check/fallback_grid: how the launch behind a product goes over C: mostly nothing is to be done and the flags
// say so, so few blocks look.
constexpr int TILES_PER_BLOCK = 2; // tiles of a block at least: the fewer blocks, the sooner all find a place behind packing's

static bool have_common_divisor(long long x, long long y)
{
    while (y > 0) {
        const long long rest = x % y;
        x = y;
        y = rest;
    }
    return x > 1;
}

// Blocks that share an entry, and groups of them.
struct ht_fallback_grid {
    unsigned blocks, groups;
};

// For `tiles` of each entry, `high` of them above one another, and `room` blocks at once. Tiles of one row or column of tiles tend to
// fail together: these fall to different blocks.
static ht_fallback_grid ht_fallback_grid_of(long long tiles, int high, int batch, int room)
{
    const long long share = (tiles * batch + TILES_PER_BLOCK - 1) / TILES_PER_BLOCK, most = share < room ? share : room;
    const long long groups = batch < most ? batch : most;
    long long blocks = tiles < most / groups ? tiles : most / groups;
    while (blocks < tiles && have_common_divisor(blocks, high))
        blocks--;
    return {(unsigned)blocks, (unsigned)groups};
}

// ---- what the launch behind a product does with results that the certificate has not cleared: one by one (check/recompute), or by whole
// blocks, where these have many.
constexpr int ELEMENTS_MOST = 16; // of 64 x 64: more, and the block is computed by the kernel's own tile

// A word of the block at (row0, col0): nobody has written those beyond C.
HT_DEVICE unsigned ht_load_failed(const ht_gemm_args &g, const unsigned *words, int row0, int col0, int word)
{
    return row0 + word % 2 * 32 < g.m && col0 + word / 2 < g.n ? (unsigned)ht_ldg_i32((const int *)words + word) : 0; //@mutate load-failed
}

// Results of the block that are not there; the same in all lanes.
HT_DEVICE int ht_count_failed(const ht_gemm_args &g, const unsigned *words, int row0, int col0)
{
    int count = 0;
    for (int word = (int)threadIdx.x % WAVE; word < HT_FAILED_WORDS; word += WAVE)
        count += ht_count_bits(ht_load_failed(g, words, row0, col0, word));
    for (int m = 1; m < WAVE; m *= 2)
        count += ht_shfl_xor(count, m);
    return count;
}

// All that the block lacks, by the kernel's warps in turn.
HT_DEVICE void ht_recompute_elements(const ht_gemm_args &g, long long entry, int row0, int col0, const unsigned *words, int warps)
{
    int turn = 0;
    for (int word = 0; word < HT_FAILED_WORDS; word++) {
        for (unsigned left = ht_load_failed(g, words, row0, col0, word); left != 0; left &= left - 1) {
            const int row = row0 + word % 2 * 32 + ht_count_bits((left & (0u - left)) - 1), col = col0 + word / 2;
            if (turn++ % warps == (int)threadIdx.x / WAVE)
                ht_recompute(g, entry, row, col);
        }
    }
}
