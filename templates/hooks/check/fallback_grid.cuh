// check/fallback_grid: how the launch between packing and a product with a data check goes over C: mostly nothing is to be done and the alarms say
// so, so few blocks look, and the product comes first thing.
constexpr int TILES_PER_BLOCK = 2; // tiles of a block at least: the fewer blocks, the sooner all find a place behind packing's
constexpr int PREFETCH_COUNTS = 8;  // numbers of packing that a thread reads at once

// Whether one of this thread's share of an entry's numbers is negative: then the entry is out of range as a whole.
HT_DEVICE bool ht_any_out_of_range(const ht_gemm_args &g, int entry, int threads)
{
    const int numbers = g.k_segments * g.counts_per_block, a_count = (g.m + 63) / 64 * numbers, count = a_count + (g.n + 63) / 64 * numbers; //@mutate out-of-range
    const int *a = g.a_range_counts + entry * g.a_range_stride, *b = g.b_range_counts + entry * g.b_range_stride - a_count;
    int least = g.a_range_counts ? 0 : -1;
    for (int first = (int)threadIdx.x; least == 0 && first < count; first += threads * PREFETCH_COUNTS) {
        int look[PREFETCH_COUNTS];
        for (int i = 0; i < PREFETCH_COUNTS; i++) {
            const int at = first + i * threads;
            look[i] = at < count ? ht_ldg_i32((at < a_count ? a : b) + at) : 0;
        }
        for (int i = 0; i < PREFETCH_COUNTS; i++)
            least = look[i] < least ? look[i] : least;
    }
    return least < 0;
}

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
