// check/crt_rest: what FP64 arithmetic computes of a product for which counts are too few: all of it, or elements that have a bit
// (ht_crt_failed), one by one where a tile has few.

// Whether it computes all elements, not those that have a bit.
HT_DEVICE bool ht_rest_is_whole(const ht_native64_args &g, long long entry)
{
    return g.failed.bits == nullptr || ht_crt_gives_up(g.failed, entry);
}

HT_DEVICE bool ht_rest_has(const ht_native64_args &g, long long entry, int row, int col)
{
    const int at = col + (int)ht_opaque(0); // each address by itself: together they take registers that sums have
    return (unsigned)ht_ldg_i32((const int *)ht_crt_failed_word(g.failed, entry, g.m, row, at)) >> row % 32 & 1;
}

// Bits of the tile's i-th 32 rows of a column, or fewer rows.
template <int ROWS> HT_DEVICE unsigned ht_rest_bits(const ht_native64_args &g, long long entry, int m0, int n0, int i, int *row, int *col)
{
    constexpr int HIGH = (ROWS + 31) / 32;
    *row = m0 + i % HIGH * 32;
    *col = n0 + i / HIGH;
    if (*row >= g.m || *col >= g.n)
        return 0;
    const unsigned bits = (unsigned)ht_ldg_i32((const int *)ht_crt_failed_word(g.failed, entry, g.m, *row, *col)) >> *row % 32;
    return ROWS % 32 != 0 ? bits & ((1u << ROWS % 32) - 1) : bits;
}

template <int ROWS, int COLUMNS> HT_DEVICE int ht_rest_count(const ht_native64_args &g, long long entry, int m0, int n0)
{
    int count = 0, row, col;
#pragma unroll 1
    for (int i = (int)threadIdx.x % WAVE; i < (ROWS + 31) / 32 * COLUMNS; i += WAVE) {
        for (unsigned bits = ht_rest_bits<ROWS>(g, entry, m0, n0, i, &row, &col); bits != 0; bits &= bits - 1)
            count++;
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        count += ht_shfl_xor(count, lanes);
    return count;
}

HT_DEVICE void ht_rest_note(const ht_native64_args &g, bool alone, int count)
{
    if (g.recomputed)
        ht_add_relaxed_i64(g.recomputed + !alone, count);
}

// One element, by a warp: lane l has k = l, l + WAVE, ...
HT_DEVICE void ht_rest_compute(const ht_native64_args &g, long long entry, int row, int col)
{
    constexpr int AT_ONCE = 4; // loads of a lane
    const long long a_step = g.a.k_contiguous ? 1 : g.a.ld, b_step = g.b.k_contiguous ? 1 : g.b.ld;
    const double *const a = (const double *)g.a.src + entry * g.a.stride + row * (g.a.k_contiguous ? g.a.ld : 1),
                 *const b = (const double *)g.b.src + entry * g.b.stride + col * (g.b.k_contiguous ? g.b.ld : 1);
    double sum = 0.0;
#pragma unroll 1
    for (int k0 = (int)threadIdx.x % WAVE; k0 < g.a.k; k0 += AT_ONCE * WAVE) {
        double x[AT_ONCE], y[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int k = k0 + i * WAVE;
            x[i] = k < g.a.k ? ht_load(a + k * a_step) : 0.0;
            y[i] = k < g.a.k ? ht_load(b + k * b_step) : 0.0;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            sum = ht_fma(x[i], y[i], sum);
        }
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2) {
        const long long bits = ht_bits_of(sum);
        const unsigned low = (unsigned)ht_shfl_xor((int)bits, lanes), high = (unsigned)ht_shfl_xor((int)(bits >> 32), lanes);
        sum = ht_add(sum, ht_real_of((long long)((unsigned long long)high << 32 | low)));
    }
    if (threadIdx.x % WAVE != 0)
        return;
    const double alpha = ht_value_of(g.to.alpha), beta = ht_value_of(g.to.beta);
    double *const c = (double *)g.to.c + entry * g.to.stride + col * g.to.ldc + row;
    ht_store(c, ht_axpby(alpha, sum, beta, c));
    ht_rest_note(g, true, 1);
}

// All that the tile lacks, by the block's warps in turn.
template <int ROWS, int COLUMNS, int WARPS> HT_DEVICE void ht_rest_compute_all(const ht_native64_args &g, long long entry, int m0, int n0)
{
    int turn = 0, row, col;
#pragma unroll 1
    for (int i = 0; i < (ROWS + 31) / 32 * COLUMNS; i++) {
        unsigned bits = ht_rest_bits<ROWS>(g, entry, m0, n0, i, &row, &col);
#pragma unroll 1
        for (; bits != 0; bits >>= 1, row++) {
            if ((bits & 1) != 0 && turn++ % WARPS == (int)threadIdx.x / WAVE)
                ht_rest_compute(g, entry, row, col);
        }
    }
}

// How many elements of a tile are FP64 arithmetic's. ALONE_MOST: of 4,096 elements, so many take as long alone as the tile does.
template <int ROWS, int COLUMNS> HT_DEVICE int ht_rest_of(const ht_native64_args &g, long long entry, int m0, int n0)
{
    const int rows = g.m - m0 < ROWS ? g.m - m0 : ROWS, columns = g.n - n0 < COLUMNS ? g.n - n0 : COLUMNS;
    if (!ht_crt_asks(g.counts, entry))
        return 0;
    return ht_rest_is_whole(g, entry) ? rows * columns : ht_rest_count<ROWS, COLUMNS>(g, entry, m0, n0);
}

template <int ROWS, int COLUMNS> HT_DEVICE bool ht_rest_is_alone(const ht_native64_args &g, long long entry, int count)
{
    return !ht_rest_is_whole(g, entry) && count * 64 <= ALONE_MOST * (ROWS * COLUMNS / 64);
}

// Whether the block computes its tile, whose elements are too many to be computed alone.
template <int ROWS, int COLUMNS> HT_DEVICE bool ht_rest_takes_tile(const ht_native64_args &g, long long entry, int m0, int n0)
{
    const int count = ht_rest_of<ROWS, COLUMNS>(g, entry, m0, n0);
    if (count == 0 || ht_rest_is_alone<ROWS, COLUMNS>(g, entry, count))
        return false;
    if (threadIdx.x == 0)
        ht_rest_note(g, false, count);
    return true;
}

// The others, by a launch before.
template <int ROWS, int COLUMNS, int WARPS> HT_DEVICE void ht_rest_compute_alone(const ht_native64_args &g)
{
    const int tiles_m = (g.m + ROWS - 1) / ROWS, m0 = (int)blockIdx.x % tiles_m * ROWS, n0 = (int)blockIdx.x / tiles_m * COLUMNS;
    const int count = ht_rest_of<ROWS, COLUMNS>(g, blockIdx.z, m0, n0);
    if (count > 0 && ht_rest_is_alone<ROWS, COLUMNS>(g, blockIdx.z, count))
        ht_rest_compute_all<ROWS, COLUMNS, WARPS>(g, blockIdx.z, m0, n0);
}
