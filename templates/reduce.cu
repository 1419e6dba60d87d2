#include "sample.h" //@drop
// ---- split-K reduction: C = alpha * (part 0 + part 1 + ...) + beta * C, parts added in order, so the result does not
// depend on timing. Parts that are exact integers are rounded and scaled here (SCALES_SUMS). splits == 0 means no product at all (alpha or k is zero): C = beta * C.
constexpr int REDUCE_THREADS = 256, REDUCE_COLUMNS = 4;

static __global__ void __launch_bounds__(REDUCE_THREADS) reduce(const ht_gemm_args g)
{
    ht_grid_wait();
    ht_grid_release();
    const int row = (int)blockIdx.x * REDUCE_THREADS + (int)threadIdx.x;
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const bool inside = row < g.m, checked = CHECKS && g.a_tame;
    if (row / 32 * 32 >= g.m) // warps stay together for the data check's verdict
        return;
    const bool scaled = SCALES_SUMS && g.splits > 0 && inside;
    const int *column_magnitudes = g.b_exponents + blockIdx.z * g.b_exponent_stride;
    const int row_exponent =
        scaled ? ht_row_exponent(ht_ldg_i32(g.a_exponents + blockIdx.z * g.a_exponent_stride + row)) : 0;
    for (int col = (int)blockIdx.y * REDUCE_COLUMNS; col < g.n; col += (int)gridDim.y * REDUCE_COLUMNS) {
        if (checked && !ht_is_tame(g, blockIdx.z, row / 64, col / 64))
            continue;
        for (int q = 0; q < REDUCE_COLUMNS && col + q < g.n && inside; q++) {
            ht_sum sum = 0;
            for (int s = 0; s < g.splits; s++) {
                const long long part = (long long)blockIdx.z * g.splits + s;
                sum = ht_add_sums(sum, ht_ldg_sum(g.partial, (part * g.n + col + q) * g.m + row));
            }
            float v = ht_finish(sum, scaled ? row_exponent + ht_row_exponent(ht_ldg_i32(column_magnitudes + col + q)) : 0);
            float *c = g.c + (long long)blockIdx.z * g.c_stride + (long long)(col + q) * g.ldc + row;
            v = alpha != 0.0f && g.splits > 0 ? __fmul_rn(alpha, v) : 0.0f;
            if (beta != 0.0f)
                v = __fmaf_rn(beta, ht_ldg4(c), v);
            ht_stg4(c, v);
        }
    }
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const unsigned columns = (unsigned)((g.n + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS);
    return ht_launch_dependent(reduce, (unsigned)((g.m + REDUCE_THREADS - 1) / REDUCE_THREADS), columns < 65535 ? columns : 65535,
                     (unsigned)g.batch, REDUCE_THREADS, 0, stream, g);
}
