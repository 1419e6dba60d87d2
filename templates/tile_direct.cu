#include "sample_direct.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of the product of P (rows x k) and Q (k x columns) in steps of BK; a warp WM x WN of it. P is
// A and Q is B, or the other way round where that takes fewer blocks (C is then written transposed). The operands come
// straight from the caller's matrices:
//
//   device memory -> registers (while the step before is multiplied) -> one of two stages of FP32 -> fragments of slices
//
// While they pass, every number is looked at. Where slices could not hold one (ht_is_calm), the block multiplies again
// with the multiply-adds of FP32, which know NaN, Inf and the ends of the range.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, WARPS = WARPS_M * WARPS_N;
constexpr int THREADS = WARPS * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N; // 16 x 8 tiles of a warp
constexpr int K_STEPS = BK / FRAGMENT_K;        // MMAs of a product per step
constexpr int D_ROWS = D_REGS / D_COLS;         // rows and columns of a lane in one tile
constexpr int FMA_ROWS = MI * D_ROWS, FMA_COLS = NI * D_COLS; // of a lane
constexpr int A_PARTS = (BM * BK / 4 + THREADS - 1) / THREADS; // 16-byte parts of a thread per stage
constexpr int B_PARTS = (BN * BK / 4 + THREADS - 1) / THREADS;
constexpr int A_BYTES = ht_stage_bytes<BM>;
constexpr int STAGE_BYTES = A_BYTES + ht_stage_bytes<BN>;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int ROW_BLOCKS = (BM + 63) / 64, COLUMN_BLOCKS = (BN + 63) / 64; // of 64 x 64, for the data check
static_assert(STAGES == 2, "one stage is multiplied while the other is filled");

struct direct_args {
    ht_gemm_args g;
    int swapped; // P is B, Q is A
};

// Where a warp's lane finds its fragments, in bytes from the start of a stage.
struct ht_place {
    unsigned a, b;                       // fragments of the MMA: row g, k t
    unsigned fma_a, fma_b;               // the lane's first row and column, k 0
    int a_row, a_k, b_row, b_k;          // bytes from row to row, from k to k
};

HT_DEVICE ht_place place_of(const ht_source &p, const ht_source &q, int warp, int lane)
{
    const int row = warp % WARPS_M * WM, col = warp / WARPS_M * WN, g = lane >> 2, t = lane & 3;
    ht_place at;
    at.a_row = p.row_bytes;
    at.a_k = p.k_bytes;
    at.b_row = q.row_bytes;
    at.b_k = q.k_bytes;
    at.a = (unsigned)((row + g) * p.row_bytes + t * p.k_bytes);
    at.b = (unsigned)(A_BYTES + (col + g) * q.row_bytes + t * q.k_bytes);
    at.fma_a = (unsigned)((row + ht_d_row(lane, 0)) * p.row_bytes);
    at.fma_b = (unsigned)(A_BYTES + (col + ht_d_col(lane, 0)) * q.row_bytes);
    return at;
}

// A step of 16 k of one row of a warp's tiles: nine products, the small ones first, in a chain of their own. Each MMA cuts what
// lies below the sum's last bits, so a chain may meet its large product once: nothing that grows with k is cut.
HT_DEVICE void multiply_row(ht_acc (*sum)[D_REGS], unsigned (*a)[4], unsigned (*b)[NI][2])
{
    ht_acc chain[NI][D_REGS];
#pragma unroll
    for (int j = 0; j < NI; j++) {
        ht_clear(chain[j]);
    }
    //@emit products
#pragma unroll
    for (int j = 0; j < NI; j++) {
        ht_mma(chain[j], a[2], b[2][j]);
        ht_mma(chain[j], a[2], b[1][j]);
        ht_mma(chain[j], a[1], b[2][j]);
        ht_mma(chain[j], a[2], b[0][j]);
        ht_mma(chain[j], a[1], b[1][j]);
        ht_mma(chain[j], a[0], b[2][j]);
        ht_mma(chain[j], a[1], b[0][j]);
        ht_mma(chain[j], a[0], b[1][j]);
        ht_mma(chain[j], a[0], b[0][j]);
    }
    //@end
#pragma unroll
    for (int j = 0; j < NI; j++) {
        ht_promote(sum[j], chain[j]);
    }
}

// One stage on the matrix unit: numbers are cut into slices as they become fragments.
HT_DEVICE void multiply_slices(ht_acc (*sum)[NI][D_REGS], unsigned stage, const ht_place &at)
{
#pragma unroll
    for (int s = 0; s < K_STEPS; s++) {
        unsigned b[SLICES][NI][2];
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_load_row<1, NI * 2>(&b[0][j][0], stage + at.b + (unsigned)(j * MMA_N * at.b_row + s * FRAGMENT_K * at.b_k),
                                   at.b_k);
        }
#pragma unroll
        for (int i = 0; i < MI; i++) {
            unsigned a[SLICES][4];
            ht_load_row<2, 4>(&a[0][0], stage + at.a + (unsigned)(i * MMA_M * at.a_row + s * FRAGMENT_K * at.a_k), at.a_k);
            ht_load_row<2, 4>(&a[0][1], stage + at.a + (unsigned)((i * MMA_M + 8) * at.a_row + s * FRAGMENT_K * at.a_k),
                              at.a_k);
            multiply_row(sum[i], a, b);
        }
    }
}

// One stage by multiply-adds of FP32, k in its order, in a chain of its own.
HT_DEVICE void multiply_fp32(ht_acc (*sum)[NI][D_REGS], unsigned stage, const ht_place &at)
{
    unsigned from_a = stage + at.fma_a, from_b = stage + at.fma_b;
    ht_acc chain[MI][NI][D_REGS];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_clear(chain[i][j]);
        }
    }
    for (int k = 0; k < BK; k++) {
        float x[FMA_ROWS], y[FMA_COLS];
#pragma unroll
        for (int i = 0; i < FMA_ROWS; i++) {
            x[i] = ht_lds4(from_a + (unsigned)((i / D_ROWS * MMA_M + i % D_ROWS * (WAVE / 4)) * at.a_row));
        }
#pragma unroll
        for (int j = 0; j < FMA_COLS; j++) {
            y[j] = ht_lds4(from_b + (unsigned)((j / D_COLS * MMA_N + j % D_COLS) * at.b_row));
        }
#pragma unroll
        for (int i = 0; i < FMA_ROWS; i++) {
#pragma unroll
            for (int j = 0; j < FMA_COLS; j++) {
                chain[i / D_ROWS][j / D_COLS][i % D_ROWS * D_COLS + j % D_COLS] =
                    __fmaf_rn(x[i], y[j], chain[i / D_ROWS][j / D_COLS][i % D_ROWS * D_COLS + j % D_COLS]);
            }
        }
        from_a += (unsigned)at.a_k;
        from_b += (unsigned)at.b_k;
    }
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_promote(sum[i][j], chain[i][j]);
        }
    }
}

// All of this block's k: C's tile is in `sum` afterwards, and `seen` has seen every number.
template <bool FMA>
HT_DEVICE void multiply(ht_acc (*sum)[NI][D_REGS], ht_span *seen, ht_source p, ht_source q, int steps, unsigned smem,
                        const ht_place &at)
{
    uint4 part_p[A_PARTS], part_q[B_PARTS];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_clear(sum[i][j]);
        }
    }
    unsigned read = smem, write = smem + STAGE_BYTES;
    ht_load_parts<BM, A_PARTS>(part_p, &p);
    ht_load_parts<BN, B_PARTS>(part_q, &q);
    ht_store_parts<BM, A_PARTS>(read, part_p, p);
    ht_store_parts<BN, B_PARTS>(read + A_BYTES, part_q, q);
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;
        if (!FMA) {
            ht_look_at_parts<A_PARTS>(seen, part_p);
            ht_look_at_parts<B_PARTS>(seen, part_q);
        }
        ht_barrier(); // the stage is there, and everyone has read the other one
        if (more) {
            ht_load_parts<BM, A_PARTS>(part_p, &p);
            ht_load_parts<BN, B_PARTS>(part_q, &q);
        }
        if (FMA)
            multiply_fp32(sum, read, at);
        else
            multiply_slices(sum, read, at);
        if (more) {
            ht_store_parts<BM, A_PARTS>(write, part_p, p);
            ht_store_parts<BN, B_PARTS>(write + A_BYTES, part_q, q);
        }
        const unsigned other = read;
        read = write;
        write = other;
    }
}

// Whether any thread of the block says yes. The stages are free for it.
HT_DEVICE bool any_of_block(bool yes, unsigned smem, int warp, int lane)
{
    int any = yes;
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2)
        any |= ht_shfl_xor(any, lanes);
    ht_barrier();
    if (lane == 0)
        ht_sts4(smem + (unsigned)warp * 4, any ? 1.0f : 0.0f);
    ht_barrier();
    float sum = 0;
    for (int w = 0; w < WARPS; w++)
        sum = __fadd_rn(sum, ht_lds4(smem + (unsigned)w * 4));
    ht_barrier();
    return sum > 0.0f;
}

// Bits of the tile's 64 x 64 blocks that are to be stored: all, or with a data check those that are not tame.
HT_DEVICE unsigned wanted_blocks(const ht_gemm_args &g, int swapped, int row0, int col0, int rows, int cols)
{
    if (g.a_tame == nullptr)
        return ~0u;
    unsigned wanted = 0;
    for (int i = 0; i < ROW_BLOCKS * COLUMN_BLOCKS; i++) {
        const int row = row0 / 64 + i / COLUMN_BLOCKS, col = col0 / 64 + i % COLUMN_BLOCKS;
        if (row * 64 < rows && col * 64 < cols &&
            !ht_is_tame(g, (int)blockIdx.z, swapped ? col : row, swapped ? row : col))
            wanted |= 1u << i;
    }
    return wanted;
}

// Element (i, j) of C, or of a part of it. beta == 0 does not read C.
HT_DEVICE void put_result(const ht_gemm_args &g, ht_sum v, int i, int j, float alpha, float beta)
{
    if (g.splits > 1) {
        const long long part = (long long)blockIdx.z * g.splits + blockIdx.y;
        ht_stg_sum(g.partial, (part * g.n + j) * g.m + i, v);
        return;
    }
    float *c = g.c + (long long)blockIdx.z * g.c_stride + (long long)j * g.ldc + i;
    v = alpha != 0.0f ? __fmul_rn(alpha, v) : 0.0f; // alpha == 0 ignores A and B, NaN included
    if (beta != 0.0f)
        v = __fmaf_rn(beta, ht_ldg4(c), v);
    ht_stg4(c, v);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const direct_args args)
{
    const ht_gemm_args &g = args.g;
    const int tid = (int)threadIdx.x, lane = tid & (WAVE - 1), warp = (int)(threadIdx.x / WAVE);
    const int rows = args.swapped ? g.n : g.m, cols = args.swapped ? g.m : g.n;
    const int tiles_p = (rows + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles_p * BM, col0 = (int)blockIdx.x / tiles_p * BN;
    ht_grid_wait();
    ht_grid_release();
    const unsigned wanted = wanted_blocks(g, args.swapped, row0, col0, rows, cols);
    if (wanted == 0)
        return;

    // This split's share of the k steps.
    const int total = (g.k + BK - 1) / BK;
    const int begin = (int)((long long)total * (int)blockIdx.y / g.splits);
    const int steps = (int)((long long)total * ((int)blockIdx.y + 1) / g.splits) - begin;

    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const float *a = g.a_src + (long long)blockIdx.z * g.a_src_stride;
    const float *b = g.b_src + (long long)blockIdx.z * g.b_src_stride;
    const ht_source p =
        ht_open_source<BM, THREADS>(args.swapped ? b : a, args.swapped ? g.b_ld : g.a_ld,
                                    args.swapped ? g.b_k_contiguous : g.a_k_contiguous, row0, rows, begin * BK, g.k, tid);
    const ht_source q =
        ht_open_source<BN, THREADS>(args.swapped ? a : b, args.swapped ? g.a_ld : g.b_ld,
                                    args.swapped ? g.a_k_contiguous : g.b_k_contiguous, col0, cols, begin * BK, g.k, tid);
    const ht_place at = place_of(p, q, warp, lane);
    ht_acc sum[MI][NI][D_REGS];
    ht_span seen = {0, ~0u};
    bool fma = !FAST || g.fma_only;
    if (FAST && !fma) {
        multiply<false>(sum, &seen, p, q, steps, smem, at);
        fma = any_of_block(!ht_is_calm(seen), smem, warp, lane);
    }
    if (fma)
        multiply<true>(sum, &seen, p, q, steps, smem, at);

    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int r = 0; r < D_REGS; r++) {
                const int row = warp_row + i * MMA_M + ht_d_row(lane, r / D_COLS);
                const int col = warp_col + j * MMA_N + ht_d_col(lane, r % D_COLS);
                if (row0 + row < rows && col0 + col < cols && (wanted >> (row / 64 * COLUMN_BLOCKS + col / 64) & 1u))
                    put_result(g, sum[i][j][r], args.swapped ? col0 + col : row0 + row,
                               args.swapped ? row0 + row : col0 + col, alpha, beta);
            }
        }
    }
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const direct_args args = {g, ht_direct_swaps(g.m, g.n, BM, BN)};
    const int rows = args.swapped ? g.n : g.m, cols = args.swapped ? g.m : g.n;
    const unsigned tiles = (unsigned)((rows + BM - 1) / BM) * (unsigned)((cols + BN - 1) / BN);
    return ht_launch_dependent(gemm, tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args);
}
