#include "../samples/fp64_tile.h" //@drop
// ---- geometry: FP64 products by FP64 arithmetic, from the caller's matrices
// A block computes BM x BN of C in steps of BK, a warp WM x WN of it, while the next STAGES - 1 steps are
// copied (stage/*_f64) to the other buffers of a ring:
//
//   buffer: [ A: pairs of k of BM rows ][ B: the same of BN columns ]   16 bytes a row and pair of k
//
// where eight lanes that load 16 bytes each, two rows and four pairs of k, meet no bank twice (ht_layout64). Which rows,
// columns and pairs a lane multiplies, and which sums it has, is its arithmetic's business (arch/*64).
constexpr int WARPS_M = BM / WM, THREADS = WARPS_M * (BN / WN) * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N, PAIRS = BK / 2;
constexpr int A_BYTES = PAIRS * (BM + 2) * 16, BUFFER_BYTES = A_BYTES + PAIRS * (BN + 2) * 16;
constexpr int SMEM_BYTES = STAGES * BUFFER_BYTES;
constexpr int RASTER = 8; // tile rows of a group: its blocks, which run together, share rows and columns in L2
static_assert(PAIRS % LANE_PAIRS == 0, "whole MMAs");

HT_DEVICE void load_pair(double *x, unsigned from) {
    const uint4 v = ht_lds16(from);
    __builtin_memcpy(x, &v, sizeof v);
}

// A step from a buffer.
HT_DEVICE void multiply(double (*sum)[NI][D_REGS], unsigned buffer, const ht_layout64 &a, const ht_layout64 &b) {
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int row0 = warp % WARPS_M * WM, col0 = warp / WARPS_M * WN;
#pragma unroll
    for (int s = 0; s < PAIRS / LANE_PAIRS; s++) {
        const int pair = s * LANE_PAIRS + ht_lane_pair(lane);
        double x[MI][LANE_ROWS][2];
#pragma unroll
        for (int i = 0; i < MI * LANE_ROWS; i++) {
            const int row = row0 + i / LANE_ROWS * MMA_M + ht_lane_row(lane, i % LANE_ROWS);
            load_pair(x[i / LANE_ROWS][i % LANE_ROWS], buffer + ht_pair_at64(a, row, pair));
        }
#pragma unroll
        for (int j = 0; j < NI; j++) {
            double y[LANE_COLUMNS][2];
#pragma unroll
            for (int c = 0; c < LANE_COLUMNS; c++) {
                const int col = col0 + j * MMA_N + ht_lane_column(lane, c);
                load_pair(y[c], buffer + A_BYTES + ht_pair_at64(b, col, pair));
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
                ht_multiply64(sum[i][j], x[i], y);
            }
        }
    }
}

// The next step of both operands.
template <class A, class B> HT_DEVICE void issue(A &a, B &b, unsigned to) {
    ht_stage64_issue(a, to);
    ht_stage64_issue(b, to + A_BYTES);
    ht_stage64_close();
}

HT_DEVICE double bits_as_double(long long bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

HT_DEVICE double read_scalar(const double *pointer, double value) {
    return pointer ? bits_as_double(ht_ldg_i64((const long long *)(const void *)pointer)) : value;
}

// alpha times the sum plus beta times C. alpha == 0 ignores A and B, NaN included; beta == 0 does not read C.
HT_DEVICE void store_element(double *c, double sum, double alpha, double beta) {
    double v = alpha != 0.0 ? alpha * sum : 0.0;
    long long bits;
    if (beta != 0.0) {
        const double old = bits_as_double(ht_ldg_i64((const long long *)(const void *)c));
        v = alpha != 0.0 ? __fma_rn(beta, old, v) : beta * old;
    }
    __builtin_memcpy(&bits, &v, sizeof bits);
    ht_stg_i64((long long *)(void *)c, bits);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS))
    gemm(const ht_native64_args g) {
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const long long entry = blockIdx.z;
    const int tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN, per_group = RASTER * tiles_n;
    const int first = (int)blockIdx.x / per_group * RASTER, inside = (int)blockIdx.x % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    const int m0 = (first + inside % height) * BM, n0 = inside / height * BN;
    auto a = ht_stage64_of<BM, PAIRS, THREADS>(g.a + entry * g.a_stride, g.a_ld, m0, g.m, g.k, g.a_k_contiguous);
    auto b = ht_stage64_of<BN, PAIRS, THREADS>(g.b + entry * g.b_stride, g.b_ld, n0, g.n, g.k, g.b_k_contiguous);
    const ht_layout64 a_layout = ht_layout64_of<BM, PAIRS>(g.a_k_contiguous),
                      b_layout = ht_layout64_of<BN, PAIRS>(g.b_k_contiguous);
    double sum[MI][NI][D_REGS];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < D_REGS; q++) {
                sum[i][j][q] = 0.0;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) {
        issue(a, b, smem + i * BUFFER_BYTES);
    }
    unsigned buffer = smem, next = smem + (STAGES - 1) * BUFFER_BYTES;
#pragma unroll 1
    for (int k = 0; k < g.k; k += BK) {
        ht_stage64_land(a, buffer);
        ht_stage64_land(b, buffer + A_BYTES);
        ht_stage64_wait<STAGES - 2>();
        ht_barrier(); // this buffer is filled, and everyone has read the one before
        issue(a, b, next);
        multiply(sum, buffer, a_layout, b_layout);
        next = buffer;
        buffer = buffer + BUFFER_BYTES == smem + SMEM_BYTES ? smem : buffer + BUFFER_BYTES;
    }
    ht_stage64_wait<0>();
    const double alpha = read_scalar(g.alpha_ptr, g.alpha), beta = read_scalar(g.beta_ptr, g.beta);
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int row0 = m0 + warp % WARPS_M * WM, col0 = n0 + warp / WARPS_M * WN;
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < D_REGS; q++) {
                const int row = row0 + i * MMA_M + ht_sum_row(lane, q),
                          col = col0 + j * MMA_N + ht_sum_column(lane, q);
                if (row < g.m && col < g.n)
                    store_element(g.c + entry * g.c_stride + col * g.ldc + row, sum[i][j][q], alpha, beta);
            }
        }
    }
}

static int init(void) {
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_native64_args &g, void *stream) {
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    return ht_launch(gemm, tiles, 1, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, g);
}
