// check/recompute: one result that the certificate has not cleared: a dot product of the caller's row and column by one warp, both errors of
// every term kept, rounded once. Lane l has k = l, l + WAVE, ..., in this order, however they come.
HT_DEVICE void ht_add_term(float *sum, float *rest, float x, float y)
{
    const float product = __fmul_rn(x, y);
    *rest = __fadd_rn(*rest, __fadd_rn(ht_add_exact(sum, product), __fmaf_rn(x, y, -product))); //@mutate recomputed-2
}

// What all lanes' terms come to.
HT_DEVICE float ht_sum_of_lanes(float sum, float rest)
{
    for (int m = 1; m < WAVE; m *= 2) {
        const float other = ht_shfl_sum(sum, m), left = ht_shfl_sum(rest, m);
        rest = __fadd_rn(__fadd_rn(rest, left), ht_add_exact(&sum, other));
    }
    return ht_sum_of(sum, rest);
}

// A result of C.
struct ht_place {
    int entry, row, col;
};

// Which one has a bit.
HT_DEVICE ht_place ht_place_of(const ht_gemm_args &g, unsigned bit)
{
    const int block = (int)(bit / (HT_FAILED_WORDS * 32u)), inside = (int)(bit % (HT_FAILED_WORDS * 32u));
    const int high = (g.m + 63) / 64, wide = (g.n + 63) / 64;
    return {block / high / wide, block % high * 64 + inside % 64, block / high % wide * 64 + inside / 64}; //@mutate listed-column
}

// A row of A, or a column of B, along k.
struct ht_line_along_k {
    const float *at; // k 0
    long long step;
};

HT_DEVICE ht_line_along_k ht_line_of(const ht_view &x, long long entry, int row)
{
    return {(const float *)x.src + entry * x.stride + (x.k_contiguous ? row * x.ld : row), x.k_contiguous ? 1 : x.ld};
}

HT_DEVICE float ht_recomputed(const ht_gemm_args &g, long long entry, int row, int col)
{
    constexpr int K_AT_ONCE = 8; // of a lane
    const ht_line_along_k a = ht_line_of(g.a, entry, row), b = ht_line_of(g.b, entry, col);
    float sum = 0.0f, rest = 0.0f;
#pragma unroll 1
    for (int k0 = (int)threadIdx.x % WAVE; k0 < g.a.k; k0 += K_AT_ONCE * WAVE) { //@mutate recomputed
        float x[K_AT_ONCE], y[K_AT_ONCE]; // all are in flight before the first is waited for
#pragma unroll
        for (int i = 0; i < K_AT_ONCE; i++) {
            const int k = k0 + i * WAVE;
            x[i] = k < g.a.k ? ht_ldg4(a.at + k * a.step) : 0.0f;
            y[i] = k < g.a.k ? ht_ldg4(b.at + k * b.step) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < K_AT_ONCE; i++) {
            ht_add_term(&sum, &rest, x[i], y[i]);
        }
    }
    return ht_sum_of_lanes(sum, rest);
}

// Stores a result again, by the first lane of a warp.
HT_DEVICE void ht_store_recomputed(const ht_gemm_args &g, long long entry, int row, int col, float sum)
{
    if (threadIdx.x % WAVE != 0)
        return;
    float *c = (float *)g.to.c + entry * g.to.stride + (long long)col * g.to.ldc + row;
    ht_stg4(c, ht_axpby(ht_value_of(g.to.alpha), sum, ht_value_of(g.to.beta), c)); //@mutate recompute-store
    ht_count_recomputed(g, true, 1, 1);
}

// Computes one result again, by all lanes of a warp.
HT_DEVICE void ht_recompute(const ht_gemm_args &g, long long entry, int row, int col)
{
    ht_store_recomputed(g, entry, row, col, ht_recomputed(g, entry, row, col));
}
