#include "../samples/fp64_tile.h" //@drop
// ---- geometry: FP64 products by FP64 arithmetic, from the caller's matrices
// A block computes BM x BN of C in steps of BK, a warp WM x WN of it. A thread loads elements of the next
// step while the block multiplies this one, and stores them to the other of two buffers:
//
//   buffer: [ A: pairs of k, BM + 2 rows each ][ B: the same, BN + 2 columns ]   16 bytes a row and pair of k
//
// so eight lanes that load 16 bytes each, two rows and four pairs of k, meet no bank twice. Which rows,
// columns and pairs a lane multiplies, and which sums it has, is its arithmetic's business (arch/*64).
constexpr int WARPS_M = BM / WM, THREADS = WARPS_M * (BN / WN) * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N, PAIRS = BK / 2;
constexpr int A_BYTES = PAIRS * (BM + 2) * 16, BUFFER_BYTES = A_BYTES + PAIRS * (BN + 2) * 16;
constexpr int SMEM_BYTES = 2 * BUFFER_BYTES;
static_assert(PAIRS % LANE_PAIRS == 0 && BM * PAIRS % THREADS == 0 && BN * PAIRS % THREADS == 0,
              "whole loads");

HT_DEVICE void load_pair(double *x, unsigned from) {
    const uint4 v = ht_lds16(from);
    __builtin_memcpy(x, &v, sizeof v);
}

// A step from a buffer.
HT_DEVICE void multiply(double (*sum)[NI][D_REGS], unsigned buffer) {
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int row0 = warp % WARPS_M * WM, col0 = warp / WARPS_M * WN;
#pragma unroll
    for (int s = 0; s < PAIRS / LANE_PAIRS; s++) {
        const int pair = s * LANE_PAIRS + ht_lane_pair(lane);
        double x[MI][LANE_ROWS][2];
#pragma unroll
        for (int i = 0; i < MI * LANE_ROWS; i++) {
            const int row = row0 + i / LANE_ROWS * MMA_M + ht_lane_row(lane, i % LANE_ROWS);
            load_pair(x[i / LANE_ROWS][i % LANE_ROWS], buffer + (unsigned)(pair * (BM + 2) + row) * 16);
        }
#pragma unroll
        for (int j = 0; j < NI; j++) {
            double y[LANE_COLUMNS][2];
#pragma unroll
            for (int c = 0; c < LANE_COLUMNS; c++) {
                const int col = col0 + j * MMA_N + ht_lane_column(lane, c);
                load_pair(y[c], buffer + A_BYTES + (unsigned)(pair * (BN + 2) + col) * 16);
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
                ht_multiply64(sum[i][j], x[i], y);
            }
        }
    }
}

// CHECKED: of C only what residues leave (check/crt_rest); a kernel of its own.
template <bool CHECKED>
static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS))
    gemm(const unpacked_args args) {
    const ht_native64_args &g = args.g;
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const long long entry = blockIdx.z;
    const int split = (int)blockIdx.y;
    const ht_k_range range = ht_k_range_of(args, split);
    const ht_operand64 a = ht_operand64_of(g.a, entry);
    const ht_operand64 b = ht_operand64_of(g.b, entry);
    const int tiles_m = (g.m + BM - 1) / BM;
    const int m0 = (int)blockIdx.x % tiles_m * BM, n0 = (int)blockIdx.x / tiles_m * BN;
    if (CHECKED && !ht_rest_takes_tile<BM, BN>(g, entry, m0, n0))
        return;
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
    uint4 rows[BM * PAIRS / THREADS], cols[BN * PAIRS / THREADS];
    ht_load_step64<BM, PAIRS, THREADS>(a, m0, range.begin, range.end, rows);
    ht_load_step64<BN, PAIRS, THREADS>(b, n0, range.begin, range.end, cols);
    unsigned buffer = smem, other = smem + BUFFER_BYTES;
    for (int k = range.begin; k < range.end; k += BK) {
        ht_store_step64<BM, PAIRS, THREADS>(a, buffer, rows);
        ht_store_step64<BN, PAIRS, THREADS>(b, buffer + A_BYTES, cols);
        ht_barrier(); // the buffer is filled, and everyone has read the other one
        ht_load_step64<BM, PAIRS, THREADS>(a, m0, k + BK, range.end, rows);
        ht_load_step64<BN, PAIRS, THREADS>(b, n0, k + BK, range.end, cols);
        multiply(sum, buffer);
        const unsigned next = other;
        other = buffer;
        buffer = next;
    }
    const ht_output_view to = ht_output_view_of(args, split); // of a part alpha is 1, beta 0
    const bool all = !CHECKED || ht_rest_is_whole(g, entry);
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
                double *const c = to.c + col * to.col_step + row;
                if (row < g.m && col < g.n && (!CHECKED || all || ht_rest_has(g, entry, row, col)))
                    ht_store(c, ht_axpby(to.alpha, sum[i][j][q], to.beta, c));
            }
        }
    }
}

static __global__ void __launch_bounds__(THREADS) alone(const unpacked_args args) {
    ht_rest_compute_alone<BM, BN, THREADS / WAVE>(args.g);
}

static int init(void) {
    const int code = ht_allow_smem(gemm<false>, SMEM_BYTES);
    return code != 0 ? code : ht_allow_smem(gemm<true>, SMEM_BYTES);
}

static int launch(const ht_native64_args &g, void *stream) {
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    if (g.counts.a && g.failed.bits) {
        const int code = ht_launch(alone, tiles, 1, (unsigned)g.batch, THREADS, 0, stream, ht_unpacked_args(g, 0));
        if (code != 0)
            return code;
    }
    return ht_launch(g.counts.a ? gemm<true> : gemm<false>, tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS,
                     SMEM_BYTES, stream, ht_unpacked_args(g, 0));
}
