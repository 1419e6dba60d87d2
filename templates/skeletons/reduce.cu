#include "../samples/reduce.h" //@drop
// ---- split-K reduction: C = alpha * (part 0 + part 1 + ...) + beta * C, parts added in order, so the result does not
// depend on timing, and rounded once: each addition's error is kept. Parts that are exact integers are rounded and scaled here (SCALES_SUMS). splits == 0 means no product at all (alpha or k is zero): C = beta * C; below 0 that C is mirrored.
//
// A thread has one element and loads many of its parts before it adds the first: where C is small, the time is that of waiting. Of more
// parts than one thread loads at once four lanes of a warp take every fourth, eight elements a warp, and lane 0 .. 7 adds up what they have.
constexpr int REDUCE_THREADS = 128, SPLITK_PREFETCH = 16, SHARING = 4, SHARED_ELEMENTS = 8;

// With the certificate the rows of a column are rounded up to 32: a warp then has a whole word of failed results, or a byte of one.
template <class ARGS> HT_DEVICE int rows_of(const ARGS &g)
{
    if constexpr (CHECKS != 0) {
        if (g.failed && g.splits > 0)
            return (g.m + WAVE - 1) / WAVE * WAVE;
    }
    return g.m;
}

// Parts `from`, from + step, ... of the element whose part 0 lies at `first`.
HT_DEVICE void add_parts(const ht_product_args &g, long long first, int from, int step, ht_sum *sum, ht_sum *compensation)
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

// Whether an element's sum, its scales undone, is cleared; with scales of tiles, whatever it is, whether its row and column are.
template <class ARGS, class SUM> HT_DEVICE bool is_cleared(const ARGS &g, SUM sum, int row, int col)
{
    int e = 0;
    if (!g.scales_tiles)
        e = ht_row_exponent(ht_ldg_i32(g.a_packed.row_absmax + blockIdx.z * g.a_packed.absmax_stride + row)) +
            ht_row_exponent(ht_ldg_i32(g.b_packed.row_absmax + blockIdx.z * g.b_packed.absmax_stride + col));
    return ht_is_cleared(g.scales_tiles ? 0.0f : ht_scale_pow2(sum, -e), ht_row_threshold(g, blockIdx.z, row), ht_column_threshold(g, blockIdx.z, col)); //@mutate reduce-cleared
}

// Which of its elements a warp has not stored, by all lanes: `elements` of them, rows of a column, one or more a byte.
template <class ARGS> HT_DEVICE void store_failed(const ARGS &g, bool fails, int row, int col, int elements, bool stores)
{
    unsigned bits = fails ? 1u << row % 32 : 0;
    for (int m = 1; m < elements && m < 32; m *= 2)
        bits |= (unsigned)ht_shfl_xor((int)bits, m);
    if (!stores || row % (elements < 32 ? elements : 32) != 0 || row >= (g.m + 31) / 32 * 32)
        return;
    unsigned *word = ht_failed_word(g, blockIdx.z, row, col);
    ht_list_failed(g, word, bits); //@mutate list-bits
    if (elements >= 32)
        ht_stg_i32((int *)word, (int)bits);
    else
        ht_stg_u8((unsigned char *)word + row % 32 / 8, (unsigned char)(bits >> row % 32)); //@mutate failed-byte
}

// Whether the product has left all, so that there are no parts.
template <class ARGS> HT_DEVICE bool has_no_parts(const ARGS &g)
{
    if constexpr (CHECKS != 0)
        return ht_is_refused(g);
    return false;
}

template <class ARGS> HT_DEVICE bool tests_results(const ARGS &g)
{
    if constexpr (CHECKS != 0)
        return g.splits > 0 && ht_certificate_needed(g);
    return false;
}

// Whether the warp leaves the element to the fallback; all its lanes come here.
template <class ARGS> HT_DEVICE bool leaves_failed(const ARGS &g, ht_sum sum, bool ours, int row, int col, int elements, bool stores)
{
    if constexpr (CHECKS != 0) {
        const bool fails = ours && !is_cleared(ht_reload_args(g), (float)sum, row, col);
        store_failed(ht_reload_args(g), fails, row, col, elements, stores);
        return fails;
    }
    return false;
}

// Of exact sums the exponent of their unit; alpha becomes 0 where ranks had no k at all.
template <class ARGS> HT_DEVICE int exponent_of(const ARGS &g, int row, int col, ht_real *alpha)
{
    if constexpr (SCALES_SUMS != 0) {
        if (g.splits > 0)
            return ht_exponent_of_sum(g, row, col, alpha);
    }
    return 0;
}

// Whether exact sums stay so, for ranks that have other k (to.ldc == 0): then nothing else is stored.
template <class ARGS> HT_DEVICE bool keeps_sum(const ARGS &g, long long at, ht_sum sum, bool stores)
{
    if constexpr (SCALES_SUMS != 0) {
        if (g.to.ldc == 0 && stores)
            ht_keep_sum(g, at, sum);
        return g.to.ldc == 0;
    }
    return false;
}

static __global__ void __launch_bounds__(REDUCE_THREADS) reduce(const ht_product_args g)
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
    if (has_no_parts(g)) //@mutate no-parts
        return;
    const bool tests = tests_results(g), ours = at < count && row < g.m;
    ht_sum sum = 0, compensation = 0;
    if (ours)
        add_parts(g, first, lane, shared ? SHARING : 1, &sum, &compensation);
    if (shared) { // all of the warp
        add_other(SHARED_ELEMENTS, &sum, &compensation);
        add_other(2 * SHARED_ELEMENTS, &sum, &compensation);
    }
    sum = ht_sum_of(sum, compensation);
    if (tests && leaves_failed(g, sum, ours, row, col, shared ? SHARED_ELEMENTS : WAVE, at < count && lane == 0))
        return;
    if (keeps_sum(g, at, sum, lane == 0) || !ours || lane != 0)
        return;
    ht_real alpha = g.splits <= 0 ? 0 : ht_value_of(g.to.alpha);
    const ht_real beta = ht_value_of(g.to.beta);
    const ht_real v = ht_finish(sum, exponent_of(g, row, col, &alpha));
    ht_real *c = (ht_real *)g.to.c + (long long)blockIdx.z * g.to.stride + (long long)col * g.to.ldc + row;
    ht_store(c, ht_axpby(alpha, v, beta, c));
}

// Of X X^T, splits < 0: the upper triangle becomes the lower one's, so that C is symmetric in bits: sums of slices depend on which operand
// comes first. A block has one place of MIRROR_SIDE x MIRROR_SIDE in the lower triangle. Where the product was added to C nothing is done.
constexpr int MIRROR_SIDE = 64, MIRROR_STEP = REDUCE_THREADS / MIRROR_SIDE; // columns at once
constexpr int MIRROR_PITCH = MIRROR_SIDE + 1, MIRROR_BYTES = MIRROR_SIDE * MIRROR_PITCH * 4; // read across without bank conflicts
template <class ARGS> static __global__ void __launch_bounds__(REDUCE_THREADS) mirror(const ARGS g)
{
    const unsigned smem = ht_smem_base<MIRROR_BYTES>();
    const int places = (g.n + MIRROR_SIDE - 1) / MIRROR_SIDE, along = (int)threadIdx.x % MIRROR_SIDE, across = (int)threadIdx.x / MIRROR_SIDE;
    const int row0 = (int)blockIdx.x % places * MIRROR_SIDE, col0 = (int)blockIdx.x / places * MIRROR_SIDE;
    ht_real *const c = (ht_real *)g.to.c + (long long)blockIdx.z * g.to.stride;
    ht_pdl_wait();
    ht_pdl_trigger();
    if (row0 < col0 || ht_value_of(g.to.beta) != 0)
        return;
#pragma unroll 1
    for (int first = across; first < MIRROR_SIDE; first += 16 * MIRROR_STEP) {
        ht_real x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int row = row0 + along, col = col0 + first + i * MIRROR_STEP;
            x[i] = row < g.n && col < g.n ? ht_load(c + (long long)col * g.to.ldc + row) : 0;
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            ht_sts4(smem + (unsigned)(((first + i * MIRROR_STEP) * MIRROR_PITCH + along) * 4), x[i]);
        }
    }
    ht_barrier(); //@mutate mirror-read
    for (int i = across; i < MIRROR_SIDE; i += MIRROR_STEP) {
        const int row = col0 + along, col = row0 + i; // above the diagonal
        if (row < col && col < g.n) //@mutate mirror-above
            ht_stg4(c + (long long)col * g.to.ldc + row, ht_lds4(smem + (unsigned)((along * MIRROR_PITCH + i) * 4)));
    }
}

// FP64's sums and those of fixed point are symmetric without it.
template <class ARGS> static int launch_mirror(const ARGS &g, void *stream)
{
    const unsigned places = (unsigned)((g.n + MIRROR_SIDE - 1) / MIRROR_SIDE);
    if constexpr (SCALES_SUMS == 0 && sizeof(ht_real) == 4)
        return ht_launch_dependent(mirror<ARGS>, places * places, 1, (unsigned)g.batch, REDUCE_THREADS, MIRROR_BYTES, stream, g);
    return 0;
}

static int launch(const ht_product_args &g, void *stream)
{
    if (g.splits < 0)
        return launch_mirror(g, stream);
    const long long words = SCALES_SUMS != 0 && g.to.ldc == 0 ? (long long)g.m + g.n + 1 : 0;
    const long long count = (long long)((g.m + WAVE - 1) / WAVE * WAVE) * g.n + words; // enough for both countings of rows
    const int each = g.splits > SPLITK_PREFETCH ? REDUCE_THREADS / SHARING : REDUCE_THREADS;
    return ht_launch_dependent(reduce, (unsigned)((count + each - 1) / each), 1, (unsigned)g.batch,
                               REDUCE_THREADS, 0, stream, g);
}
