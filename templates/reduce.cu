#include "sample.h" //@drop
// ---- split-K reduction: C = alpha * (part 0 + part 1 + ...) + beta * C, parts added in order, so the result does not
// depend on timing, and rounded once: each addition's error is kept. Parts that are exact integers are rounded and scaled here (SCALES_SUMS). splits == 0 means no product at all (alpha or k is zero): C = beta * C.
//
// A thread has one element and loads many of its parts before it adds the first: where C is small, the time is that of waiting.
constexpr int REDUCE_THREADS = 128, PARTS_AHEAD = 16;

// Under the data check a warp has rows of one block of 64, so that it asks for one verdict: the last rows of a column are empty.
HT_DEVICE int rows_of(const ht_gemm_args &g)
{
    return CHECKS && g.a_tame ? (g.m + 31) / 32 * 32 : g.m;
}

static __global__ void __launch_bounds__(REDUCE_THREADS) reduce(const ht_gemm_args g)
{
    ht_grid_wait();
    ht_grid_release();
    const int rows = rows_of(g);
    const long long count = (long long)rows * g.n, at = (long long)blockIdx.x * REDUCE_THREADS + (int)threadIdx.x;
    if (at >= count)
        return;
    const int col = count <= 0x7fffffff ? (int)((unsigned)at / (unsigned)rows) : (int)(at / rows); // the short division is faster
    const int row = (int)(at - (long long)col * rows);
    if (CHECKS && ht_asks(g) && !ht_is_tame(g, blockIdx.z, row / 64, col / 64))
        return;
    if (row >= g.m)
        return;
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const long long size = (long long)g.m * g.n, first = blockIdx.z * g.splits * size + (long long)col * g.m + row;
    ht_sum sum = 0, rest = 0;
    for (int s = 0; s < g.splits; s += PARTS_AHEAD) {
        ht_sum part[PARTS_AHEAD];
        for (int i = 0; i < PARTS_AHEAD; i++)
            part[i] = s + i < g.splits ? ht_ldg_sum(g.partial, first + (s + i) * size) : 0;
        for (int i = 0; i < PARTS_AHEAD && s + i < g.splits; i++)
            ht_add_part(&sum, &rest, part[i]);
    }
    sum = ht_sum_of(sum, rest);
    int exponent = 0;
    if (SCALES_SUMS && g.splits > 0)
        exponent = ht_row_exponent(ht_ldg_i32(g.a_exponents + blockIdx.z * g.a_exponent_stride + row)) +
                   ht_row_exponent(ht_ldg_i32(g.b_exponents + blockIdx.z * g.b_exponent_stride + col));
    float v = ht_finish(sum, exponent);
    float *c = g.c + (long long)blockIdx.z * g.c_stride + (long long)col * g.ldc + row;
    v = alpha != 0.0f && g.splits > 0 ? __fmul_rn(alpha, v) : 0.0f;
    if (beta != 0.0f)
        v = __fmaf_rn(beta, ht_ldg4(c), v);
    ht_stg4(c, v);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const long long count = (long long)((g.m + 31) / 32 * 32) * g.n; // enough for both countings of rows
    return ht_launch_dependent(reduce, (unsigned)((count + REDUCE_THREADS - 1) / REDUCE_THREADS), 1, (unsigned)g.batch,
                               REDUCE_THREADS, 0, stream, g);
}
