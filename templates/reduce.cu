#include "sample.h" //@drop
// ---- split-K reduction: C = alpha * (part 0 + part 1 + ...) + beta * C, parts added in order, so the result does not
// depend on timing. splits == 0 means no product at all (alpha or k is zero): C = beta * C.
constexpr int REDUCE_THREADS = 256, REDUCE_COLUMNS = 4;

__global__ void __launch_bounds__(REDUCE_THREADS) reduce(const ht_gemm_args g)
{
    ht_grid_wait();
    ht_grid_release();
    const int row = (int)blockIdx.x * REDUCE_THREADS + (int)threadIdx.x;
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    if (row >= g.m)
        return;
    for (int col = (int)blockIdx.y * REDUCE_COLUMNS; col < g.n; col += (int)gridDim.y * REDUCE_COLUMNS) {
        for (int q = 0; q < REDUCE_COLUMNS && col + q < g.n; q++) {
            float v = 0.0f;
            for (int s = 0; s < g.splits; s++) {
                const long long part = (long long)blockIdx.z * g.splits + s;
                v = __fadd_rn(v, ht_ldg4(g.partial + (part * g.n + col + q) * g.m + row));
            }
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
