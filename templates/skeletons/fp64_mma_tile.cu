#include "../samples/fp64_mma_tile.h" //@drop
// ---- geometry: FP64 products by FP64 tensor cores, from the caller's matrices
// A block computes BM x BN of C in steps of BK, a warp WM x WN of it, while the next STAGES - 1 steps are copied (stage/tile_f64) to the other
// buffers of a ring:
//
//   buffer: [ A: BM rows x BK ][ B: BN columns x BK ]   lines as the matrix has them: a kernel for each pair of forms
//
// A step is multiplied in groups of FRAGMENT_K; a group's elements are loaded while the group before is multiplied, those of a step's first
// group beside the last of the step before, so that the barrier between steps has a group's MMAs to hide behind.
constexpr int FRAGMENT_K = 8, WARPS_M = BM / WM, THREADS = WARPS_M * (BN / WN) * WAVE;
constexpr int MI = WM / 16, NI = WN / 8, GROUPS = BK / FRAGMENT_K, QUADS = FRAGMENT_K / 4; // quads: four k, one of each lane
constexpr int A_BYTES = BM * BK * 8, BUFFER_BYTES = A_BYTES + BN * BK * 8, SMEM_BYTES = STAGES * BUFFER_BYTES;
constexpr int RASTER = 8; // tile rows of a group: its blocks, which run together, share rows and columns in L2
static_assert(GROUPS % 2 == 0, "two sets of registers take turns");

// What a lane multiplies of a group: rows g and g + 8, columns g (g = lane / 4) at k = lane % 4 of each quad.
struct fragments {
    double a[MI][QUADS * 2], b[NI][QUADS];
};

template <bool A_K, bool B_K> HT_DEVICE void load(fragments &x, unsigned a, unsigned b, int group)
{
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
#pragma unroll
        for (int i = 0; i < MI * 2; i++) {
            x.a[i / 2][q * 2 + i % 2] = ht_lds_f64(ht_element_behind64<BM, BK, A_K>(a, i, group * QUADS + q));
        }
#pragma unroll
        for (int j = 0; j < NI; j++) {
            x.b[j][q] = ht_lds_f64(ht_element_behind64<BN, BK, B_K>(b, j, group * QUADS + q));
        }
    }
}

HT_DEVICE void multiply(double (*sum)[NI][4], const fragments &x)
{
#pragma unroll
    for (int j = 0; j < NI; j++) {
#pragma unroll
        for (int i = 0; i < MI; i++) {
            ht_multiply_1688(sum[i][j], x.a[i], x.b[j]);
        }
    }
}

// Multiplies a step, whose first group is loaded, and loads that of the next; starts the copies of the one that is STAGES - 1 behind it.
template <bool WHOLE, bool A_K, bool B_K>
HT_DEVICE void step(double (*sum)[NI][4], fragments *x, ht_copy64<BM, BK, THREADS, A_K> &a, ht_copy64<BN, BK, THREADS, B_K> &b, unsigned a_lane,
                    unsigned b_lane, unsigned smem, unsigned &buffer, unsigned &other)
{
    ht_copy64_issue<WHOLE>(a, b, other);
    ht_cp_async_commit();
#pragma unroll
    for (int s = 0; s < GROUPS - 1; s++) {
        load<A_K, B_K>(x[(s + 1) % 2], buffer + a_lane, buffer + b_lane, s + 1);
        multiply(sum, x[s % 2]);
    }
    other = buffer;
    buffer = buffer + BUFFER_BYTES == smem + SMEM_BYTES ? smem : buffer + BUFFER_BYTES;
    ht_cp_async_wait<STAGES - 2>();
    ht_barrier(); // the buffer is filled, and everyone has loaded what the other holds
    load<A_K, B_K>(x[0], buffer + a_lane, buffer + b_lane, 0);
    multiply(sum, x[1]);
}

// C = alpha times the sums plus beta times C, from `row` and `col` of the lane's first sum on. alpha == 0 ignores A and B, NaN included; beta == 0
// does not read C, else all rows of eight columns are read before one is stored.
// all: or what residues have left alone.
template <bool READS_C, bool CHECKED>
HT_DEVICE void store(const double (*sum)[NI][4], const ht_native64_args &g, const ht_output_view &to, int row, int col, bool all)
{
    double *const c = to.c;
    const double alpha = to.alpha, beta = to.beta;
#pragma unroll
    for (int j = 0; j < NI; j++) {
        double v[MI][4];
#pragma unroll
        for (int i = 0; i < MI; i++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const int at = row + i * 16 + q / 2 * 8, across = col + j * 8 + q % 2;
                v[i][q] = READS_C && at < g.m && across < g.n ? ht_load(c + across * to.col_step + at) : 0.0;
            }
        }
#pragma unroll
        for (int i = 0; i < MI; i++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                const int at = row + i * 16 + q / 2 * 8, across = col + j * 8 + q % 2;
                const double product = alpha != 0.0 ? alpha * sum[i][j][q] : 0.0;
                const double value = !READS_C ? product : alpha != 0.0 ? __fma_rn(beta, v[i][q], product) : beta * v[i][q];
                if (at < g.m && across < g.n && (!CHECKED || all || ht_rest_has(g, blockIdx.z, at, across)))
                    ht_store(c + across * to.col_step + at, value);
            }
        }
    }
}

template <bool A_K, bool B_K, bool CHECKED> static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    const ht_native64_args &g = args.g;
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const long long entry = blockIdx.z;
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    const unsigned a_lane = ht_element_at64<BM, BK, A_K>(warp_row + lane / 4, lane % 4),
                   b_lane = ht_element_at64<BN, BK, B_K>(warp_col + lane / 4, lane % 4) + A_BYTES;
    const int tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN, per_group = RASTER * tiles_n;
    const int first = (int)blockIdx.x / per_group * RASTER, inside = (int)blockIdx.x % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    const int m0 = (first + inside % height) * BM, n0 = inside / height * BN;
    if (CHECKED) {
        ht_pdl_wait();
        ht_pdl_trigger();
    }
    if (CHECKED && !ht_rest_takes_tile<BM, BN>(g, entry, m0, n0))
        return;
    const ht_k_range range = ht_k_range_of(args, (int)blockIdx.y);
    const int depth = range.end - range.begin;
    auto a = ht_copy64_of<BM, BK, THREADS, A_K>(g.a, entry, range.begin, m0, depth);
    auto b = ht_copy64_of<BN, BK, THREADS, B_K>(g.b, entry, range.begin, n0, depth);
    double sum[MI][NI][4];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                sum[i][j][q] = 0.0;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        ht_copy64_issue<false>(a, b, smem + i * BUFFER_BYTES);
        ht_cp_async_commit();
    }
    ht_cp_async_wait<STAGES - 2>();
    ht_barrier();
    fragments x[2];
    load<A_K, B_K>(x[0], smem + a_lane, smem + b_lane, 0);
    unsigned buffer = smem, other = smem + (STAGES - 1) * BUFFER_BYTES; // the other was multiplied before
    int k = 0;
#pragma unroll 1
    for (; ht_copy64_is_whole(a, b); k += BK) // nearly all steps: copies that ask nothing
        step<true>(sum, x, a, b, a_lane, b_lane, smem, buffer, other);
#pragma unroll 1
    for (; k < depth; k += BK)
        step<false>(sum, x, a, b, a_lane, b_lane, smem, buffer, other);
    ht_cp_async_wait<0>();
    const ht_output_view to = ht_output_view_of(args, (int)blockIdx.y); // of a part alpha is 1, beta 0
    const int row = m0 + warp_row + lane / 4, col = n0 + warp_col + lane % 4 * 2;
    const bool all = !CHECKED || ht_rest_is_whole(g, blockIdx.z);
    if (to.beta != 0.0)
        store<true, CHECKED>(sum, g, to, row, col, all);
    else
        store<false, CHECKED>(sum, g, to, row, col, all);
}

static __global__ void __launch_bounds__(THREADS) alone(const unpacked_args args)
{
    ht_pdl_wait();
    ht_pdl_trigger();
    ht_rest_compute_alone<BM, BN, THREADS / WAVE>(args.g);
}

using kernel64 = void (*)(const unpacked_args);
template <bool CHECKED> static kernel64 kernel_of(int a_k, int b_k)
{
    static const kernel64 kernels[2][2] = {{gemm<false, false, CHECKED>, gemm<false, true, CHECKED>},
                                           {gemm<true, false, CHECKED>, gemm<true, true, CHECKED>}};
    return kernels[a_k][b_k];
}

static int init(void)
{
    int code = 0;
    for (int i = 0; i < 4 && code == 0; i++) {
        code = ht_allow_smem(kernel_of<false>(i / 2, i % 2), SMEM_BYTES);
        code = code != 0 ? code : ht_allow_smem(kernel_of<true>(i / 2, i % 2), SMEM_BYTES);
    }
    return code;
}

static int launch(const ht_native64_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    const int a_k = g.a.k_contiguous, b_k = g.b.k_contiguous;
    const unpacked_args args = ht_unpacked_args(g, 0);
    if (g.counts.a && g.failed.bits) {
        const int code = ht_launch_dependent(alone, tiles, 1, (unsigned)g.batch, THREADS, 0, stream, args);
        if (code != 0)
            return code;
    }
    return g.counts.a ? ht_launch_dependent(kernel_of<true>(a_k, b_k), tiles, 1, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args)
                      : ht_launch(kernel_of<false>(a_k, b_k), tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args);
}
