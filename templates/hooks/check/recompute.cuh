// check/recompute: one result that the certificate has not cleared: a dot product of the caller's row and column by one warp, both errors of
// every term kept, rounded once.
HT_DEVICE float ht_recomputed(const ht_gemm_args &g, long long entry, int row, int col)
{
    constexpr int K_AT_ONCE = 8; // of a lane
    const float *a = g.a_src + entry * g.a_src_stride + (g.a_k_contiguous ? row * g.a_ld : row);
    const float *b = g.b_src + entry * g.b_src_stride + (g.b_k_contiguous ? col * g.b_ld : col);
    const long long a_step = g.a_k_contiguous ? 1 : g.a_ld, b_step = g.b_k_contiguous ? 1 : g.b_ld;
    float sum = 0.0f, rest = 0.0f;
#pragma unroll 1
    for (int k0 = (int)threadIdx.x % WAVE; k0 < g.k; k0 += K_AT_ONCE * WAVE) { //@mutate recomputed
        float x[K_AT_ONCE], y[K_AT_ONCE]; // all are in flight before the first is waited for
#pragma unroll
        for (int i = 0; i < K_AT_ONCE; i++) {
            const int k = k0 + i * WAVE;
            x[i] = k < g.k ? ht_ldg4(a + k * a_step) : 0.0f;
            y[i] = k < g.k ? ht_ldg4(b + k * b_step) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < K_AT_ONCE; i++) {
            const float product = __fmul_rn(x[i], y[i]);
            rest = __fadd_rn(rest, __fadd_rn(ht_add_exact(&sum, product), __fmaf_rn(x[i], y[i], -product))); //@mutate recomputed-2
        }
    }
    for (int m = 1; m < WAVE; m *= 2) {
        const float other = ht_shfl_sum(sum, m), left = ht_shfl_sum(rest, m);
        rest = __fadd_rn(__fadd_rn(rest, left), ht_add_exact(&sum, other));
    }
    return ht_sum_of(sum, rest);
}

// Computes one result again, by all lanes of a warp.
HT_DEVICE void ht_recompute(const ht_gemm_args &g, long long entry, int row, int col)
{
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha, beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const float sum = ht_recomputed(g, entry, row, col);
    float *c = g.c + entry * g.c_stride + (long long)col * g.ldc + row;
    const float v = alpha != 0.0f ? __fmul_rn(alpha, sum) : 0.0f; // alpha == 0 ignores A and B, NaN included
    if (threadIdx.x % WAVE != 0)
        return;
    ht_stg4(c, beta != 0.0f ? __fmaf_rn(beta, ht_ldg4(c), v) : v); //@mutate recompute-store
    ht_count_recomputed(g, true, 1, 1);
}
