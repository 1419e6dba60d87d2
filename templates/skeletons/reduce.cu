#include "../samples/mma_warp.h" //@drop
// ---- split-K reduction: C = alpha * (part 0 + part 1 + ...) + beta * C, parts added in order, so the result does not
// depend on timing, and rounded once: each addition's error is kept. Parts that are exact integers are rounded and scaled here (SCALES_SUMS). splits == 0 means no product at all (alpha or k is zero): C = beta * C.
//
// A thread has one element and loads many of its parts before it adds the first: where C is small, the time is that of waiting. Of more
// parts than one thread loads at once four lanes of a warp take every fourth, eight elements a warp, and lane 0 .. 7 adds up what they have.
constexpr int REDUCE_THREADS = 128, SPLITK_PREFETCH = 16, SHARING = 4, SHARED_ELEMENTS = 8;

// Under the data check the rows of a column are rounded up to whole warps (64 lanes on gfx90a): a warp then has rows of one block of
// 64 and asks for one verdict, which all its lanes must do together.
HT_DEVICE int rows_of(const ht_gemm_args &g)
{
    return CHECKS && g.a_range_counts ? (g.m + WAVE - 1) / WAVE * WAVE : g.m;
}

// Parts `from`, from + step, ... of the element whose part 0 lies at `first`.
HT_DEVICE void add_parts(const ht_gemm_args &g, long long first, int from, int step, ht_sum *sum, ht_sum *compensation)
{
    const long long size = (long long)g.m * g.n;
    for (int s = from; s < g.splits; s += SPLITK_PREFETCH * step) {
        ht_sum part[SPLITK_PREFETCH];
        for (int i = 0; i < SPLITK_PREFETCH; i++)
            part[i] = s + i * step < g.splits ? ht_ldg_sum(g.partial, first + (s + i * step) * size) : 0;
        for (int i = 0; i < SPLITK_PREFETCH && s + i * step < g.splits; i++)
            ht_add_partial(sum, compensation, part[i]);
    }
}

// What the lane `lanes` away has joins this one's.
HT_DEVICE void add_other(int lanes, ht_sum *sum, ht_sum *compensation)
{
    const ht_sum other = ht_shfl_sum(*sum, lanes), left = ht_shfl_sum(*compensation, lanes);
    ht_add_partial(sum, compensation, other);
    *compensation += left;
}

// Whether the element is there and the data check leaves it to the product, which the lanes of a warp find out together.
HT_DEVICE bool is_left(const ht_gemm_args &g, int row, int col)
{
    return !(CHECKS && ht_range_check_needed(g) && !ht_block_in_range(g, blockIdx.z, row / 64, col / 64)) && row < g.m;
}

static __global__ void __launch_bounds__(REDUCE_THREADS) reduce(const ht_gemm_args g)
{
    const bool shared = g.splits > SPLITK_PREFETCH;
    const int tid = (int)threadIdx.x, rows = rows_of(g), lane = shared ? tid / SHARED_ELEMENTS % SHARING : 0;
    const int element = shared ? tid / (SHARED_ELEMENTS * SHARING) * SHARED_ELEMENTS + tid % SHARED_ELEMENTS : tid;
    const long long count = (long long)rows * g.n, at = (long long)blockIdx.x * (REDUCE_THREADS / (shared ? SHARING : 1)) + element;
    const int col = count <= 0x7fffffff ? (int)((unsigned)at / (unsigned)rows) : (int)(at / rows); // the short division is faster
    const int row = (int)(at - (long long)col * rows);
    const long long first = blockIdx.z * g.splits * ((long long)g.m * g.n) + (long long)col * g.m + row;
    ht_pdl_wait(); // what comes before is worked out while the parts are
    ht_pdl_trigger();
    const bool ours = at < count && is_left(g, row, col);
    ht_sum sum = 0, compensation = 0;
    if (ours)
        add_parts(g, first, lane, shared ? SHARING : 1, &sum, &compensation);
    if (shared) { // all of the warp
        add_other(SHARED_ELEMENTS, &sum, &compensation);
        add_other(2 * SHARED_ELEMENTS, &sum, &compensation);
    }
    if (!ours || lane != 0)
        return;
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    sum = ht_sum_of(sum, compensation);
    int exponent = 0;
    if (SCALES_SUMS && g.splits > 0)
        exponent = ht_row_exponent(ht_ldg_i32(g.a_row_absmax + blockIdx.z * g.a_absmax_stride + row)) +
                   ht_row_exponent(ht_ldg_i32(g.b_col_absmax + blockIdx.z * g.b_absmax_stride + col));
    float v = ht_finish(sum, exponent);
    float *c = g.c + (long long)blockIdx.z * g.c_stride + (long long)col * g.ldc + row;
    v = alpha != 0.0f && g.splits > 0 ? __fmul_rn(alpha, v) : 0.0f;
    if (beta != 0.0f)
        v = __fmaf_rn(beta, ht_ldg4(c), v);
    ht_stg4(c, v);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const long long count = (long long)((g.m + WAVE - 1) / WAVE * WAVE) * g.n; // enough for both countings of rows
    const int each = g.splits > SPLITK_PREFETCH ? REDUCE_THREADS / SHARING : REDUCE_THREADS;
    return ht_launch_dependent(reduce, (unsigned)((count + each - 1) / each), 1, (unsigned)g.batch,
                               REDUCE_THREADS, 0, stream, g);
}
