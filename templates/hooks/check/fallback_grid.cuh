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

// ---- what the launch behind a product does with results that the certificate has not cleared: one by one, each a dot product of
// the caller's row and column by one warp, both errors of every term kept, rounded once; or by whole blocks, where these have many.
constexpr int ELEMENTS_MOST = 16; // of 64 x 64: more, and the block is computed by the kernel's own tile

HT_DEVICE int ht_count_bits(unsigned x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return (int)(((x + (x >> 4) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}

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

// One result, by all lanes of a warp.
HT_DEVICE float ht_recomputed(const ht_gemm_args &g, long long entry, int row, int col)
{
    const float *a = g.a_src + entry * g.a_src_stride + (g.a_k_contiguous ? row * g.a_ld : row);
    const float *b = g.b_src + entry * g.b_src_stride + (g.b_k_contiguous ? col * g.b_ld : col);
    const long long a_step = g.a_k_contiguous ? 1 : g.a_ld, b_step = g.b_k_contiguous ? 1 : g.b_ld;
    float sum = 0.0f, rest = 0.0f;
#pragma unroll 4
    for (int k = (int)threadIdx.x % WAVE; k < g.k; k += WAVE) { //@mutate recomputed
        const float x = ht_ldg4(a + k * a_step), y = ht_ldg4(b + k * b_step), product = __fmul_rn(x, y);
        rest = __fadd_rn(rest, __fadd_rn(ht_add_exact(&sum, product), __fmaf_rn(x, y, -product))); //@mutate recomputed-2
    }
    for (int m = 1; m < WAVE; m *= 2) {
        const float other = ht_shfl_sum(sum, m), left = ht_shfl_sum(rest, m);
        rest = __fadd_rn(__fadd_rn(rest, left), ht_add_exact(&sum, other));
    }
    return ht_sum_of(sum, rest);
}

// All that the block lacks, by the kernel's warps in turn.
HT_DEVICE void ht_recompute_elements(const ht_gemm_args &g, long long entry, int row0, int col0, const unsigned *words, int warps)
{
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha, beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    int turn = 0;
    for (int word = 0; word < HT_FAILED_WORDS; word++) {
        for (unsigned left = ht_load_failed(g, words, row0, col0, word); left != 0; left &= left - 1) {
            const int row = row0 + word % 2 * 32 + ht_count_bits((left & (0u - left)) - 1), col = col0 + word / 2;
            if (turn++ % warps != (int)threadIdx.x / WAVE)
                continue;
            const float sum = ht_recomputed(g, entry, row, col);
            float *c = g.c + entry * g.c_stride + (long long)col * g.ldc + row;
            const float v = alpha != 0.0f ? __fmul_rn(alpha, sum) : 0.0f; // alpha == 0 ignores A and B, NaN included
            if (threadIdx.x % WAVE == 0)
                ht_stg4(c, beta != 0.0f ? __fmaf_rn(beta, ht_ldg4(c), v) : v); //@mutate recompute-store
        }
    }
}
