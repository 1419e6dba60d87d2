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

// Results of the block that are not there, and BEFORE times those of them before bit `bit` of the block; the same in all lanes.
constexpr int BEFORE = 1 << 16;
HT_DEVICE int ht_count_failed(const ht_gemm_args &g, const unsigned *words, int row0, int col0, int bit)
{
    int count = 0;
#pragma unroll
    for (int i = 0; i < HT_FAILED_WORDS / WAVE; i++) { // all are in flight before the first is waited for
        const int word = i * WAVE + (int)threadIdx.x % WAVE;
        const unsigned bits = ht_load_failed(g, words, row0, col0, word);
        const unsigned before = word < bit / 32 ? bits : word > bit / 32 ? 0 : bits & ((1u << bit % 32) - 1);
        count += ht_count_bits(bits) + BEFORE * ht_count_bits(before);
    }
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
            const int row = row0 + word % 2 * 32 + ht_lowest_bit(left), col = col0 + word / 2;
            if (turn++ % warps == (int)threadIdx.x / WAVE)
                ht_recompute(g, entry, row, col);
        }
    }
}

// A block of C that is computed whole, and a result that may be computed alone: what the launch looks at next.
struct ht_task_behind {
    int entry, row, col; // of the result, or of the block's first
    bool alone, whole;
};

// How many blocks of C there are.
HT_DEVICE int ht_tiles_of(const ht_gemm_args &g)
{
    return ((g.m + (int)ht_opaque(0) + 63) / 64) * ((g.n + 63) / 64) * g.batch; // worked out again for each, not kept in registers
}

// Block `tile` of C, where the list does not have all that has failed: few of its results are computed here, by all warps.
HT_DEVICE ht_task_behind ht_look_at_tile(const ht_gemm_args &g, int tile, int warps)
{
    const int high = (g.m + (int)ht_opaque(0) + 63) / 64, wide = (g.n + 63) / 64;
    ht_task_behind x = {tile / high / wide, tile % high * 64, tile / high % wide * 64, false, true}; //@mutate tile-at
    if (g.failed == nullptr)
        return x;
    const unsigned *words = g.failed + (unsigned long long)tile * HT_FAILED_WORDS;
    const int count = ht_count_failed(g, words, x.row, x.col, 0);
    x.whole = count > ELEMENTS_MOST; //@mutate tile-whole
    if (count > 0 && count <= ELEMENTS_MOST) //@mutate tile-of-few
        ht_recompute_elements(g, x.entry, x.row, x.col, words, warps);
    return x;
}

// Entry `at` of the list, by all lanes of a warp; behind its end nothing is to be done. As without a list its block decides: of one with many
// results its first entry has it computed whole, so that a result's bits do not depend on other blocks.
HT_DEVICE ht_task_behind ht_look_up(const ht_gemm_args &g, int at, int count)
{
    ht_task_behind x = {0, 0, 0, false, false};
    if (at >= count)
        return x;
    const unsigned bit = (unsigned)ht_ldg_i32((const int *)g.failed_list + at);
    const unsigned block = bit / (HT_FAILED_WORDS * 32u);
    const ht_place place = ht_place_of(g, bit);
    x.entry = place.entry;
    x.row = place.row;
    x.col = place.col;
    const int failed = ht_count_failed(g, g.failed + (unsigned long long)block * HT_FAILED_WORDS, x.row / 64 * 64, x.col / 64 * 64, (int)(bit % (HT_FAILED_WORDS * 32u)));
    x.alone = failed % BEFORE > 0 && failed % BEFORE <= ELEMENTS_MOST; // 0: a launch before this one has computed the block //@mutate listed-alone
    x.whole = failed % BEFORE > ELEMENTS_MOST && failed / BEFORE == 0; //@mutate listed-whole
    return x;
}

// The launch's blocks take turns: one has as many entries of the list as a block has warps, or a block of C in the first of as many places. One
// number is all that is kept while a block of C is computed.
HT_DEVICE int ht_first_place(int warps)
{
    return (int)(blockIdx.y * gridDim.x + blockIdx.x) * warps; //@mutate first-place
}

// What follows place `at`; turn_is_over: nothing of its turn does.
HT_DEVICE int ht_next_place(int at, bool turn_is_over, int warps)
{
    const int next = turn_is_over ? at + warps - at % warps : at + 1;
    return next % warps == 0 ? next + ((int)(gridDim.x * gridDim.y) - 1) * warps : next; //@mutate next-place
}

HT_DEVICE int ht_places_of(const ht_gemm_args &g, int count, int warps)
{
    return count > g.failed_capacity ? ht_tiles_of(g) * warps : count; //@mutate places-of
}

// Where a turn begins, by each warp: computes its entry's result, unless the result's block is computed whole. Whether this entry is to have it,
// and without a list whether there is a block of C.
HT_DEVICE bool ht_recompute_listed(const ht_gemm_args &g, int at, int count)
{
    if (count > g.failed_capacity) //@mutate is-listed
        return true;
    const ht_task_behind x = ht_look_up(g, at + (int)threadIdx.x / WAVE, count);
    if (x.alone)
        ht_recompute(g, x.entry, x.row, x.col);
    return x.whole;
}

// What may have to be computed whole, in place `at`.
HT_DEVICE ht_task_behind ht_task_at(const ht_gemm_args &g, int at, int count, int warps)
{
    return count > g.failed_capacity ? ht_look_at_tile(g, at / warps, warps) : ht_look_up(g, at, count);
}
