#include "../samples/machine.h" //@drop
constexpr int BM = 64, BN = 64, BK = 32, WM = 32, WN = 32, STAGES = 2; //@drop
constexpr int WAVE = 32, MMA_M = 16, MMA_N = 8, FRAGMENT_K = 16, D_COLS = 2; //@drop
constexpr int SLICES = 3, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0, MIN_BLOCKS = 2, SMS = 108; //@drop
constexpr int PRODUCTS = 6, PRODUCT_A = 2 | 1 << 2 | 0 << 4 | 1 << 6 | 0 << 8 | 0 << 10; // slices, two bits for each product //@drop
constexpr int PRODUCT_B = 0 | 1 << 2 | 2 << 4 | 0 << 6 | 1 << 8 | 0 << 10; //@drop
constexpr int FAST = 1, IS_FALLBACK = 1, A_FROM_REGISTERS = 0, PINGPONG_GROUPS = 1; //@drop
#include "../hooks/launch/stream.cuh" //@drop
#include "../hooks/frag/simt.cuh" //@drop
#include "../hooks/arch/sm80_bf16.cuh" //@drop
#include "../hooks/accum/clear.cuh" //@drop
#include "../hooks/accum/promote.cuh" //@drop
#include "../samples/sums.h" //@drop
#include "../hooks/stage/real_f32.cuh" //@drop
#include "../hooks/scheme/bf16x6u.cuh" //@drop
#include "../hooks/epilogue/lane_transpose.cuh" //@drop
#include "../hooks/stage/global_f32.cuh" //@drop
#include "../hooks/stage/split_in_smem.cuh" //@drop
#include "../hooks/check/recompute.cuh" //@drop
#include "../hooks/check/fallback_grid.cuh" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of the product of P (rows x k) and Q (k x columns) in steps of BK; a warp WM x WN of it. P is
// A and Q is B, or the other way round where that takes fewer blocks (C is then written transposed). The operands come
// straight from the caller's matrices:
//
//   device memory -> registers, SETS steps ahead -> cut into slices, in one of two stages -> fragments
//
// (A_FROM_REGISTERS: by warpgroups, as drawn further down; here is what both do alike.)
//
// The numbers are looked at as they are cut, and so are the results. Where slices could not hold one of them, the block
// multiplies again with FFMA, which know NaN, Inf and the ends of the range.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, WARPS = WARPS_M * WARPS_N * PINGPONG_GROUPS;
constexpr int THREADS = WARPS * WAVE, GROUP_THREADS = THREADS / PINGPONG_GROUPS; // groups share a tile: its steps, or all but the first look on
constexpr int MI = WM / MMA_M, NI = WN / MMA_N; // 16 x 8 tiles of a warp
constexpr int K_STEPS = BK / FRAGMENT_K;        // MMAs of a product per step
constexpr int COMPENSATED = IS_FALLBACK;                  // keep beside each sum what it rounds off
constexpr int ROWS_AT_ONCE = MI * NI > 8 ? 1 : MI, ROW_GROUPS = MI / ROWS_AT_ONCE; // up to eight chains at once
constexpr int B_PAIRS = (NI + 1) / 2;           // loads of B's fragments: two column tiles each; one alone is loaded twice
constexpr int D_ROWS = D_REGS / D_COLS;         // rows and columns of a lane in one tile
constexpr int FMA_ROWS = MI * D_ROWS;           // of a lane
constexpr int A_PARTS = (BM * BK / 4 + THREADS - 1) / THREADS; // 16-byte parts of a thread per stage
constexpr int B_PARTS = (BN * BK / 4 + THREADS - 1) / THREADS;
constexpr int SETS = A_PARTS + B_PARTS > 8 || COMPENSATED ? 1 : 2; // steps that are in flight in registers, where these suffice
constexpr int A_BYTES = ht_stage_bytes<BM>, A_SLICES_BYTES = A_FROM_REGISTERS ? 0 : ht_slices_bytes<BM>; // P is cut in shared memory, or in registers
constexpr int FP32_BYTES = A_BYTES + ht_stage_bytes<BN>, SLICES_BYTES = A_SLICES_BYTES + ht_slices_bytes<BN>;
constexpr int STAGE_BYTES = FP32_BYTES > SLICES_BYTES ? FP32_BYTES : SLICES_BYTES;
constexpr int RING_BYTES = PINGPONG_GROUPS * (A_FROM_REGISTERS ? 3 : 2) * SLICES_BYTES; // of warpgroups, each group its own
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES > RING_BYTES ? STAGES * STAGE_BYTES : RING_BYTES;
constexpr int SHORT_CHAIN = 2; // FFMA that follow one another where k is short
constexpr bool TAKES_BLOCKS = A_FROM_REGISTERS && PINGPONG_GROUPS == 1; // with args.g.failed it computes blocks with many failed results, and nothing else
static_assert((!IS_FALLBACK || BM == 64) && (!(IS_FALLBACK || TAKES_BLOCKS) || (BM % 64 == 0 && BN == 64)), "failed results are told by 64 x 64 blocks");
static_assert(PRODUCT_A >> 2 * (PRODUCTS - 1) == 0 && PRODUCT_B >> 2 * (PRODUCTS - 1) == 0, "the leading product is the last");
static_assert(STAGES == 2, "one stage is multiplied while the other is filled");
static_assert(STAGE_BYTES % 128 == 0 && A_SLICES_BYTES % 128 == 0, "pieces are exchanged within 128 bytes");

// What each block asks for first lies together: each further line of constants comes late.
struct unpacked_args {
    int k, splits;                // as g has them
    int part_steps, longer_parts; // of BK in a split-K slice, of which the first few have one more
    int swap_ab;                  // P is B, Q is A
    ht_view p, q;
    ht_gemm_args g;
};

// Which part of C: the tile's row and column among the tiles of P and Q, the split-K slice, the entry of the batch.
struct ht_tile_coord {
    int row, col, split, entry;
};

// What a block multiplies: rows from row0 of P, columns from col0 of Q, k from k0, `steps` steps.
struct ht_task {
    const float *p, *q;
    long long p_ld, q_ld;
    bool p_k_major, q_k_major;
    int row0, rows, col0, cols, k0, k, steps;
    int tid, lane, warp_row, warp_col;
    bool leaves_early; // where its first step has numbers that slices could not hold: nobody wants its sums then
};

HT_DEVICE ht_source open_p(const ht_task &t, bool k_major)
{
    return ht_open_source<BM, THREADS>(t.p, t.p_ld, k_major, t.row0, t.rows, t.k0, t.k, t.tid);
}

HT_DEVICE ht_source open_q(const ht_task &t, bool k_major)
{
    return ht_open_source<BN, THREADS>(t.q, t.q_ld, k_major, t.col0, t.cols, t.k0, t.k, t.tid);
}

HT_DEVICE void clear_sums(ht_acc (*sum)[NI][D_REGS])
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < D_REGS; q++) {
                sum[i][j][q] = 0.0f;
            }
        }
    }
}

HT_DEVICE void close_chains(ht_acc (*sum)[NI][D_REGS], ht_acc (*compensation)[NI][D_REGS])
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_promote_compensation(sum[i][j], compensation[i][j]);
        }
    }
}

//@emit slices
// A step of 16 k of a few rows of a warp's tiles: the scheme's products, that of the high slices last, in chains of their own.
// Each MMA cuts what lies below its sum's last bits, so a chain may meet its leading product once: nothing that grows with k is
// cut. COMPENSATED: the leading product has the chain to itself, which joins `sum` with nothing lost; the others go to `compensation`, behind
// what was rounded off.
HT_DEVICE void multiply_rows(ht_acc (*sum)[NI][D_REGS], ht_acc (*compensation)[NI][D_REGS], unsigned (*a)[SLICES][4],
                             unsigned (*b)[2 * B_PAIRS][2])
{
    ht_acc chain[ROWS_AT_ONCE][NI][D_REGS];
    ht_acc(*const corrections)[NI][D_REGS] = COMPENSATED ? compensation : chain; // of all products but the leading one
#pragma unroll
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_clear(chain[i][j]);
        }
    }
    // corrections, 16 k each, in the order listed at the top: a[row][slice of A], b[slice of B][column]
#pragma unroll
    for (int p = 0; p < PRODUCTS - 1; p++) {
#pragma unroll
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
#pragma unroll
            for (int j = 0; j < NI; j++) {
                ht_mma(corrections[i][j], a[i][PRODUCT_A >> 2 * p & 3], b[PRODUCT_B >> 2 * p & 3][j]);
            }
        }
    }
    // the leading product: A.0 * B.0, 16 k
#pragma unroll
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_mma(chain[i][j], a[i][0], b[0][j]);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            if (COMPENSATED)
                ht_twosum_join(sum[i][j], compensation[i][j], chain[i][j]);
            else
                ht_promote(sum[i][j], chain[i][j]);
        }
    }
}

// 16 k of a stage, from `k` on. a and b: this lane's pieces of the warp's first fragments.
template <bool P_K_MAJOR, bool Q_K_MAJOR> HT_DEVICE void multiply_slices(ht_acc (*sum)[NI][D_REGS], ht_acc (*compensation)[NI][D_REGS], unsigned at_a, unsigned at_b, int k)
{
    unsigned b[SLICES][2 * B_PAIRS][2];
#pragma unroll
    for (int j = 0; j < B_PAIRS; j++) {
        ht_load_matrices<BN, Q_K_MAJOR, 4 * B_PAIRS>(&b[0][2 * j][0], ht_matrix_on<BN, Q_K_MAJOR>(at_b, j * 2 * MMA_N, k));
    }
#pragma unroll
    for (int g = 0; g < ROW_GROUPS; g++) {
        unsigned a[ROWS_AT_ONCE][SLICES][4];
#pragma unroll
        for (int i = 0; i < ROWS_AT_ONCE; i++) {
            ht_load_matrices<BM, P_K_MAJOR, 4>(&a[i][0][0], ht_matrix_on<BM, P_K_MAJOR>(at_a, (g * ROWS_AT_ONCE + i) * MMA_M, k));
        }
        multiply_rows(sum + g * ROWS_AT_ONCE, compensation + g * ROWS_AT_ONCE, a, b);
    }
}

// All of this block's k on the tensor cores: C's tile is in `sum` afterwards, and `value_range` covers every number. P_K_MAJOR, Q_K_MAJOR: k is
// contiguous.
template <bool P_K_MAJOR, bool Q_K_MAJOR>
HT_DEVICE void multiply_sliced(ht_acc (*sum)[NI][D_REGS], ht_acc (*compensation)[NI][D_REGS], ht_value_range *value_range, const ht_task &t, unsigned smem)
{
    uint4 part_p[SETS][A_PARTS], part_q[SETS][B_PARTS];
    ht_source p = open_p(t, P_K_MAJOR), q = open_q(t, Q_K_MAJOR);
    const int m = t.lane >> 3, r = t.lane & 7; // ldmatrix: this lane's matrix, and row of it
    const unsigned at_a = ht_matrix_at<BM, P_K_MAJOR>(t.warp_row + (m & 1) * 8 + (P_K_MAJOR ? r : 0), (m >> 1) * 8 + (P_K_MAJOR ? 0 : r));
    const unsigned at_b = A_SLICES_BYTES + ht_matrix_at<BN, Q_K_MAJOR>(t.warp_col + (NI > 1 ? m >> 1 : 0) * 8 + (Q_K_MAJOR ? r : 0),
                                                             (m & 1) * 8 + (Q_K_MAJOR ? 0 : r));
    unsigned read = smem, write = smem + STAGE_BYTES;
    ht_load_vectors<BM, A_PARTS>(part_p[0], &p);
    ht_load_vectors<BN, B_PARTS>(part_q[0], &q);
    ht_split_vectors<BM, A_PARTS, THREADS, P_K_MAJOR>(read, part_p[0], p, value_range);
    ht_split_vectors<BN, B_PARTS, THREADS, Q_K_MAJOR>(read + A_SLICES_BYTES, part_q[0], q, value_range);
    if (SETS > 1) {
        ht_load_vectors<BM, A_PARTS>(part_p[0], &p);
        ht_load_vectors<BN, B_PARTS>(part_q[0], &q);
    }
    for (int step = 0; step < t.steps; step += SETS) {
#pragma unroll
        for (int set = 0; set < SETS; set++) {
            if (step + set < t.steps) {
                ht_barrier(); // the stage is there, and everyone has read the other one
                ht_load_vectors<BM, A_PARTS>(part_p[(set + 1) % SETS], &p);
                if (SETS > 1)
                    ht_load_vectors<BN, B_PARTS>(part_q[(set + 1) % SETS], &q);
                multiply_slices<P_K_MAJOR, Q_K_MAJOR>(sum, compensation, read + at_a, read + at_b, 0);
                ht_split_vectors<BM, A_PARTS, THREADS, P_K_MAJOR>(write, part_p[set], p, value_range); // beyond the last step zeros
                if (SETS == 1) // in the registers that P has left
                    ht_load_vectors<BN, B_PARTS>(part_q[0], &q);
                multiply_slices<P_K_MAJOR, Q_K_MAJOR>(sum, compensation, read + at_a, read + at_b, FRAGMENT_K);
                ht_split_vectors<BN, B_PARTS, THREADS, Q_K_MAJOR>(write + A_SLICES_BYTES, part_q[set], q, value_range);
                const unsigned other = read;
                read = write;
                write = other;
            }
        }
    }
}
//@end

// Where a lane's first row and column are in a stage of FP32, and how far it is to the next row and k, in bytes.
struct ht_smem_offsets {
    unsigned a, b;
    int a_row, a_k, b_row, b_k;
};

HT_DEVICE ht_smem_offsets smem_offsets_of(const ht_source &p, const ht_source &q, const ht_task &t)
{
    ht_smem_offsets at;
    at.a_row = p.row_bytes;
    at.a_k = p.k_bytes;
    at.b_row = q.row_bytes;
    at.b_k = q.k_bytes;
    at.a = (unsigned)((t.warp_row + ht_lane_row(t.lane, 0)) * p.row_bytes + ht_lane_k(t.lane) * p.k_bytes);
    at.b = (unsigned)(A_BYTES + (t.warp_col + ht_lane_col(t.lane, 0)) * q.row_bytes + ht_lane_k(t.lane) * q.k_bytes);
    return at;
}

// `depth` k of a stage in FP32, k in its order, in chains of `chain_k` that begin with what was rounded off when the one before
// joined `sum`.
HT_DEVICE void multiply_stage(ht_acc (*sum)[NI][D_REGS], ht_acc (*compensation)[NI][D_REGS], unsigned stage, const ht_smem_offsets &at,
                              int depth, int chain_k)
{
    unsigned from_a = stage + at.a, from_b = stage + at.b;
    const int end = FP32_STEPS * FP32_K < BK ? depth : BK; // beyond k there are zeros
#pragma unroll 1
    for (int k = 0; k < end; k += FP32_STEPS * FP32_K) {
#pragma unroll
        for (int h = 0; h < FP32_STEPS; h++) {
            float x[MI * A_PER_LANE], y[NI * B_PER_LANE];
#pragma unroll
            for (int i = 0; i < MI * A_PER_LANE; i++) {
                x[i] = ht_lds4(from_a + (unsigned)((i / A_PER_LANE * MMA_M + ht_lane_row(0, i % A_PER_LANE)) * at.a_row + h * FP32_K * at.a_k));
            }
#pragma unroll
            for (int j = 0; j < NI * B_PER_LANE; j++) {
                y[j] = ht_lds4(from_b + (unsigned)((j / B_PER_LANE * MMA_N + ht_lane_col(0, j % B_PER_LANE)) * at.b_row + h * FP32_K * at.b_k));
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    ht_multiply(compensation[i][j], x + i * A_PER_LANE, y + j * B_PER_LANE);
                }
            }
        }
        from_a += (unsigned)(FP32_STEPS * FP32_K * at.a_k);
        from_b += (unsigned)(FP32_STEPS * FP32_K * at.b_k);
        const int done = k + FP32_STEPS * FP32_K;
        if (done % chain_k == 0 || done >= end)
            close_chains(sum, compensation);
    }
}

// All of this block's k in FP32.
HT_DEVICE void multiply_fp32(ht_acc (*sum)[NI][D_REGS], const ht_task &t, bool p_k, bool q_k, unsigned smem, int chain_k)
{
    ht_acc compensation[MI][NI][D_REGS];
    clear_sums(compensation);
    uint4 part_p[A_PARTS], part_q[B_PARTS];
    ht_source p = open_p(t, p_k), q = open_q(t, q_k);
    const ht_smem_offsets at = smem_offsets_of(p, q, t);
    unsigned read = smem, write = smem + STAGE_BYTES;
    ht_load_vectors<BM, A_PARTS>(part_p, &p);
    ht_load_vectors<BN, B_PARTS>(part_q, &q);
    ht_store_vectors<BM, A_PARTS>(read, part_p, p);
    ht_store_vectors<BN, B_PARTS>(read + A_BYTES, part_q, q);
    for (int step = 0; step < t.steps; step++) {
        const bool more = step + 1 < t.steps;
        const int left = t.k - t.k0 - step * BK;
        ht_barrier(); // the stage is there, and everyone has read the other one //@mutate multiply-fp32
        if (!FAST && more) { // beside slices this is for special data and one step, and registers are short
            ht_load_vectors<BM, A_PARTS>(part_p, &p);
            ht_load_vectors<BN, B_PARTS>(part_q, &q);
        }
        multiply_stage(sum, compensation, read, at, left < BK ? left : BK, chain_k);
        if (FAST && more) {
            ht_load_vectors<BM, A_PARTS>(part_p, &p);
            ht_load_vectors<BN, B_PARTS>(part_q, &q);
        }
        if (more) {
            ht_store_vectors<BM, A_PARTS>(write, part_p, p); //@mutate multiply-fp32-2
            ht_store_vectors<BN, B_PARTS>(write + A_BYTES, part_q, q);
        }
        const unsigned other = read;
        read = write;
        write = other;
    }
}

// The same; with FP32_APART there is code for each orientation, whose strides in shared memory are constants.
HT_DEVICE void multiply_in_fp32(ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem, int chain_k)
{
    if (!FP32_APART)
        multiply_fp32(sum, t, t.p_k_major, t.q_k_major, smem, chain_k);
    else if (t.p_k_major && t.q_k_major)
        multiply_fp32(sum, t, true, true, smem, chain_k);
    else if (t.p_k_major)
        multiply_fp32(sum, t, true, false, smem, chain_k);
    else if (t.q_k_major)
        multiply_fp32(sum, t, false, true, smem, chain_k);
    else
        multiply_fp32(sum, t, false, false, smem, chain_k);
}

// Where a lane's results go: rows or columns of P and Q are contiguous, the others ld apart.
struct ht_output_view {
    float *c; // of the first one
    long long ld;
    int rows, cols; // that there are, from the first one on
    const unsigned *failed; // of the fallback: a 64 x 64 block's bits of results to be stored; NULL: all are
    int row, col;           // of the first one, in the block
};

HT_DEVICE ht_output_view output_view_of(const unpacked_args &args, const ht_task &t, const ht_tile_coord &spot)
{
    const ht_gemm_args &g = args.g;
    const bool whole = g.splits == 1;
    const int row = t.row0 + t.warp_row + ht_d_row(t.lane, 0), col = t.col0 + t.warp_col + ht_d_col(t.lane, 0);
    ht_output_view to;
    to.ld = ht_opaque(whole ? g.to.ldc : (long long)g.m); // else its multiples wait in registers while the block multiplies
    to.rows = t.rows - row;
    to.cols = t.cols - col;
    to.c = whole ? (float *)g.to.c + (long long)spot.entry * g.to.stride
                 : g.partial + ((long long)spot.entry * g.splits + spot.split) * g.n * to.ld;
    to.c += args.swap_ab ? row * to.ld + col : row + col * to.ld;
    to.failed = nullptr;
    if ((IS_FALLBACK || TAKES_BLOCKS) && g.failed)
        to.failed = ht_failed_block(g, spot.entry, (args.swap_ab ? col : row) / 64, (args.swap_ab ? row : col) / 64);
    to.row = row % 64;
    to.col = col % 64;
    return to;
}

template <bool SWAP_AB> HT_DEVICE float *address_of(const ht_output_view &to, int row, int col)
{
    return to.c + (SWAP_AB ? row * to.ld + col : row + col * to.ld);
}

// Whether a result is stored.
template <bool SWAP_AB> HT_DEVICE bool is_stored(const ht_output_view &to, int row, int col)
{
    return row < to.rows && col < to.cols &&
           (to.failed == nullptr || ht_has_failed(to.failed, SWAP_AB ? to.col + col : to.row + row, SWAP_AB ? to.row + row : to.col + col));
}

// What the launch adds the product to. All of it is asked for before it is added to.
template <bool SWAP_AB> HT_DEVICE void add_to_sums(const ht_output_view &to, ht_acc (*sum)[NI][D_REGS], float beta)
{
#pragma unroll
    for (int j = 0; j < NI; j++) {
#pragma unroll
        for (int h = 0; h < D_COLS; h++) {
            const int col = j * MMA_N + h;
#pragma unroll
            for (int i = 0; i < FMA_ROWS; i++) {
                const int row = i / D_ROWS * MMA_M + ht_d_row(0, i % D_ROWS);
                const float old = row < to.rows && col < to.cols ? ht_ldg4(address_of<SWAP_AB>(to, row, col)) : 0.0f;
                ht_acc *const v = &sum[i / D_ROWS][j][i % D_ROWS * D_COLS + h];
                *v = __fmaf_rn(beta, old, *v);
            }
        }
    }
}

// Two neighbours in memory at once where they can be: of a row of Q (SWAP_AB), or of P where a lane has such rows.
constexpr bool HAS_PAIRS = A_FROM_REGISTERS && D_ROWS == 2 && D_COLS == 2;

template <bool SWAP_AB> HT_DEVICE void put_pairs(const ht_output_view &to, ht_acc (*sum)[NI][D_REGS])
{
#pragma unroll
    for (int j = 0; j < NI; j++) {
#pragma unroll
        for (int i = 0; i < FMA_ROWS; i++) {
            const int row = SWAP_AB ? i / D_ROWS * MMA_M + ht_d_row(0, i % D_ROWS) : i / D_ROWS * MMA_M;
            const int col = j * MMA_N + (SWAP_AB ? 0 : i % D_ROWS);
            const ht_acc *const v = sum[i / D_ROWS][j];
            const ht_pair two = {v[SWAP_AB ? i % D_ROWS * 2 : i % D_ROWS], v[SWAP_AB ? i % D_ROWS * 2 + 1 : i % D_ROWS + 2]};
            if (row < to.rows && col < to.cols)
                ht_stg8(address_of<SWAP_AB>(to, row, col), two);
        }
    }
}

template <bool SWAP_AB> HT_DEVICE void put_sums(const ht_output_view &to, ht_acc (*sum)[NI][D_REGS])
{
#pragma unroll
    for (int j = 0; j < NI; j++) {
#pragma unroll
        for (int h = 0; h < D_COLS; h++) {
            const int col = j * MMA_N + h;
#pragma unroll
            for (int i = 0; i < FMA_ROWS; i++) {
                const int row = i / D_ROWS * MMA_M + ht_d_row(0, i % D_ROWS);
                if (is_stored<SWAP_AB>(to, row, col))
                    ht_stg4(address_of<SWAP_AB>(to, row, col), sum[i / D_ROWS][j][i % D_ROWS * D_COLS + h]);
            }
        }
    }
}

// What cannot be stored by pairs goes where its neighbours go, one lane beside the other. Contiguous rows of P: two lanes, one row each of
// both their columns. Contiguous columns of Q (SWAP_AB): as many rows' lanes as there are columns, which turn them into one row after the other.
constexpr bool HAS_TRANSPOSE = D_ROWS == 2 && D_COLS == 2 && !IS_FALLBACK;
constexpr int TRANSPOSED = NI > 3 ? 8 : NI * 2; // columns that lanes turn at once

template <bool SWAP_AB> HT_DEVICE ht_output_view transposed_view(ht_output_view to, int lane)
{
    const int own = SWAP_AB ? (lane >> 2) % TRANSPOSED : lane & 1;
    const int row = SWAP_AB ? -ht_d_row(own * 4, 0) : ht_d_row(0, own), col = SWAP_AB ? own / 2 * MMA_N + own % 2 : own * -2; //@mutate turned-target
    to.rows -= row;
    to.cols -= col;
    to.c += SWAP_AB ? row * to.ld + col : row + col * to.ld;
    return to;
}

HT_DEVICE void put_transposed_rows(const ht_output_view &to, ht_acc (*sum)[NI][D_REGS])
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float v[2] = {sum[i][j][h], sum[i][j][2 + h]};
                ht_lane_transpose<2, 1>(v);
#pragma unroll
                for (int x = 0; x < 2; x++) {
                    if (i * MMA_M < to.rows && j * MMA_N + 2 * x + h < to.cols)
                        ht_stg4(address_of<false>(to, i * MMA_M, j * MMA_N + 2 * x + h), v[x]);
                }
            }
        }
    }
}

HT_DEVICE void put_transposed_columns(const ht_output_view &to, ht_acc (*sum)[NI][D_REGS])
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int x = 0; x < 2; x++) {
#pragma unroll
            for (int j = 0; j < NI * 2 / TRANSPOSED; j++) {
                float v[TRANSPOSED];
#pragma unroll
                for (int e = 0; e < TRANSPOSED; e++) {
                    v[e] = sum[i][j * TRANSPOSED / 2 + e / 2][x * 2 + e % 2];
                }
                ht_lane_transpose<TRANSPOSED, 4>(v);
#pragma unroll
                for (int e = 0; e < TRANSPOSED; e++) {
                    if (i * MMA_M + ht_d_row(e * 4, x) < to.rows && j * TRANSPOSED * MMA_N / 2 < to.cols)
                        ht_stg4(address_of<true>(to, i * MMA_M + ht_d_row(e * 4, x), j * TRANSPOSED * MMA_N / 2), v[e]);
                }
            }
        }
    }
}

// C's tile, or a part of it. beta == 0 does not read C; alpha == 0 ignores A and B, NaN included.
HT_DEVICE void store_sums(const unpacked_args &args, const ht_task &t, ht_acc (*sum)[NI][D_REGS], const ht_tile_coord &spot)
{
    const ht_gemm_args &g = args.g;
    const ht_output_view to = output_view_of(args, t, spot);
    if (g.splits == 1) {
        const float alpha = ht_value_of(g.to.alpha), beta = ht_value_of(g.to.beta);
#pragma unroll
        for (int i = 0; i < MI; i++) {
#pragma unroll
            for (int j = 0; j < NI; j++) {
#pragma unroll
                for (int q = 0; q < D_REGS; q++) {
                    sum[i][j][q] = alpha != 0.0f ? __fmul_rn(alpha, sum[i][j][q]) : 0.0f;
                }
            }
        }
        if (beta != 0.0f && args.swap_ab)
            add_to_sums<true>(to, sum, beta);
        else if (beta != 0.0f)
            add_to_sums<false>(to, sum, beta);
    }
    const int beside = args.swap_ab ? t.cols : t.rows; // numbers that are contiguous
    const bool all = !IS_FALLBACK && to.failed == nullptr;
    const bool pairs = HAS_PAIRS && all && beside % 2 == 0 && to.ld % 2 == 0 && (unsigned long long)to.c % 8 == 0;
    if (pairs && args.swap_ab)
        put_pairs<true>(to, sum);
    else if (pairs)
        put_pairs<false>(to, sum);
    else if (HAS_TRANSPOSE && all && args.swap_ab)
        put_transposed_columns(transposed_view<true>(to, t.lane), sum);
    else if (HAS_TRANSPOSE && all)
        put_transposed_rows(transposed_view<false>(to, t.lane), sum);
    else if (args.swap_ab)
        put_sums<true>(to, sum);
    else
        put_sums<false>(to, sum);
}

// The least of what the block's threads hold.
HT_DEVICE unsigned least_of_block(unsigned v, unsigned smem, int tid)
{
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2) {
        const unsigned other = (unsigned)ht_shfl_xor((int)v, lanes);
        v = other < v ? other : v;
    }
    ht_barrier(); // the stages have been read
    if (tid % WAVE == 0)
        ht_sts4(smem + (unsigned)(tid / WAVE) * 4, ht_as_float(v));
    ht_barrier();
    for (int w = 0; w < WARPS; w++) {
        const unsigned other = ht_as_uint(ht_lds4(smem + (unsigned)w * 4));
        v = other < v ? other : v; //@mutate least-of-block
    }
    ht_barrier();
    return v;
}

// What an operand's numbers in a block's k extend over: as ht_value_range has the least, and twice the bits of the largest absolute value.
struct ht_extent {
    unsigned least, largest;
};

// Several steps are in flight at once; beyond the last one there are zeros.
template <int ROWS, int PARTS> HT_DEVICE ht_extent extent_of(ht_source from, const ht_task &t, unsigned smem)
{
    constexpr int AT_ONCE = 4;
    ht_value_range range = {~0u};
    unsigned largest = 0;
#pragma unroll 1
    for (int step = 0; step < t.steps; step += AT_ONCE) { //@mutate extent-steps
        uint4 part[AT_ONCE * PARTS];
        for (int i = 0; i < AT_ONCE; i++)
            ht_load_vectors<ROWS, PARTS>(part + i * PARTS, &from);
        for (int i = 0; i < AT_ONCE * PARTS; i++) {
            const unsigned v[4] = {part[i].x, part[i].y, part[i].z, part[i].w};
            for (int e = 0; e < 4; e++) {
                ht_observe(&range, v[e]);
                largest = v[e] << 1 > largest ? v[e] << 1 : largest;
            }
        }
    }
    return {least_of_block(range.least, smem, t.tid), ~least_of_block(~largest, smem, t.tid)};
}

// Whether the magnitudes of all results of the block that C has are at least `floor`.
HT_DEVICE bool all_results_from(float floor, ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem)
{
    const int rows = t.rows - t.row0 - t.warp_row - ht_d_row(t.lane, 0), cols = t.cols - t.col0 - t.warp_col - ht_d_col(t.lane, 0);
    const unsigned least = ht_as_uint(floor) << 1;
    bool all = true;
#pragma unroll
    for (int j = 0; j < NI * D_COLS; j++) {
#pragma unroll
        for (int i = 0; i < FMA_ROWS; i++) {
            const bool there = i / D_ROWS * MMA_M + ht_d_row(0, i % D_ROWS) < rows && j / D_COLS * MMA_N + j % D_COLS < cols;
            all = all && (!there || ht_as_uint(sum[i / D_ROWS][j / D_COLS][i % D_ROWS * D_COLS + j % D_COLS]) << 1 >= least); //@mutate results-from
        }
    }
    const bool has_results = PINGPONG_GROUPS == 1 || t.tid < GROUP_THREADS; //@mutate has-results
    return !ht_any_of_block<WARPS>(has_results && !all, smem, t.tid);
}

// Whether slices have done for a tile, as its own numbers and results tell: all numbers are calm, or slices hold them and results outweigh what sums
// may have lost.
HT_DEVICE bool have_slices_done(const ht_value_range &value_range, ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem)
{
    const bool is_finite = ht_all_finite<MI * NI * D_REGS>(&sum[0][0][0]);
    if (!ht_any_of_block<WARPS>(!is_finite || !ht_is_safe_range(value_range), smem, t.tid))
        return true;
    return !ht_any_of_block<WARPS>(!is_finite || !ht_is_from(value_range.least, EXACT_EXPONENT), smem, t.tid) &&
           all_results_from(ht_floor_of(0, t.k - t.k0), sum, t, smem);
}

// Else: whether products are large enough, or all results outweigh what slices lost, too. `least` is that of the numbers, which are read again.
HT_DEVICE bool is_small_harmless(unsigned least, ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem)
{
    const bool is_exact = ht_is_from(least_of_block(least, smem, t.tid), EXACT_EXPONENT);
    const ht_extent q = extent_of<BN, B_PARTS>(open_q(t, t.q_k_major), t, smem);
    unsigned beside = q.largest; // the largest that numbers meet which slices do not hold
    if (is_exact || !ht_is_from(q.least, EXACT_EXPONENT)) { //@mutate is-beside-p
        const ht_extent p = extent_of<BM, A_PARTS>(open_p(t, t.p_k_major), t, smem);
        if (is_exact)
            return ht_are_safe_products(p.least, q.least);
        beside = ht_is_from(p.least, EXACT_EXPONENT) || p.largest > beside ? p.largest : beside; //@mutate beside-both
    }
    return all_results_from(ht_floor_of(beside, t.k - t.k0), sum, t, smem); //@mutate beside
}

// By slices, with the range of the numbers that they were cut from.
HT_DEVICE ht_value_range multiply_by_slices(ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem)
{
    ht_value_range value_range = {~0u};
    ht_acc compensation[MI][NI][D_REGS];
    clear_sums(compensation);
    if (t.p_k_major && t.q_k_major)
        multiply_sliced<true, true>(sum, compensation, &value_range, t, smem);
    else if (t.p_k_major)
        multiply_sliced<true, false>(sum, compensation, &value_range, t, smem);
    else if (t.q_k_major)
        multiply_sliced<false, true>(sum, compensation, &value_range, t, smem);
    else
        multiply_sliced<false, false>(sum, compensation, &value_range, t, smem);
    if (COMPENSATED)
        close_chains(sum, compensation);
    return value_range;
}

// Whether slices could hold the block's numbers; no: `sum` is worth nothing.
HT_DEVICE bool slices_suffice(const ht_value_range &value_range, ht_acc (*sum)[NI][D_REGS], const ht_task &t, unsigned smem)
{
    return have_slices_done(value_range, sum, t, smem) ||
           (!ht_any_of_block<WARPS>(!ht_all_finite<MI * NI * D_REGS>(&sum[0][0][0]), smem, t.tid) && //@mutate is-finite
            is_small_harmless(value_range.least, sum, t, smem));
}

// The step that part `split` begins with; no division, which would take longer than some products.
HT_DEVICE int first_step(const unpacked_args &args, int split)
{
    return args.part_steps * split + (split < args.longer_parts ? split : args.longer_parts);
}

// This block's share; `zero` is added to what says which it is.
HT_DEVICE ht_task task_of(const unpacked_args &args, const ht_tile_coord &spot, int zero)
{
    const int tid = (int)threadIdx.x + zero, split = spot.split + zero, warp = tid / WAVE;
    const int begin = first_step(args, split), end = first_step(args, split + 1);
    ht_task t;
    t.p = (const float *)args.p.src + (spot.entry + zero) * args.p.stride;
    t.q = (const float *)args.q.src + (spot.entry + zero) * args.q.stride;
    t.p_ld = args.p.ld;
    t.q_ld = args.q.ld;
    t.p_k_major = args.p.k_contiguous;
    t.q_k_major = args.q.k_contiguous;
    t.rows = args.p.rows;
    t.cols = args.q.rows;
    t.row0 = (spot.row + zero) * BM;
    t.col0 = (spot.col + zero) * BN;
    t.k0 = begin * BK;
    t.k = end * BK < args.k ? end * BK : args.k;
    t.steps = end - begin;
    t.tid = tid;
    t.lane = tid & (WAVE - 1);
    t.warp_row = warp % WARPS_M * WM;
    t.warp_col = warp / WARPS_M % WARPS_N * WN;
    t.leaves_early = false;
    return t;
}

HT_DEVICE void compute_tile(const unpacked_args &args, const ht_tile_coord &spot)
{
    const ht_gemm_args &g = args.g;
    const ht_task task = task_of(args, spot, IS_FALLBACK ? (int)ht_opaque(0) : 0); // not kept from tile to tile
    if (!IS_FALLBACK) { // only now: which numbers are whose does not hang on what is still being written
        ht_pdl_wait();
        ht_pdl_trigger();
    }
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    ht_acc sum[MI][NI][D_REGS];
    clear_sums(sum);
    const bool is_sliced = FAST && !g.fma_only;
    ht_value_range value_range = {~0u};
    if (is_sliced)
        value_range = multiply_by_slices(sum, task, smem);
    const ht_task again = A_FROM_REGISTERS ? task : task_of(args, spot, (int)ht_opaque(0)); // else it would wait in registers meanwhile
    if (!is_sliced || !slices_suffice(value_range, sum, again, smem)) {
        clear_sums(sum);
        multiply_in_fp32(sum, again, smem, g.fma_only ? SHORT_CHAIN : BK);
    }
    if (PINGPONG_GROUPS == 1 || again.tid < GROUP_THREADS)
        store_sums(args, again, sum, spot);
}

//@emit fallback
// ---- the fallback: the launch behind a product with the certificate, which computes what the product has not stored.
HT_DEVICE void fallback(const unpacked_args &args)
{
    ht_pdl_trigger();
    ht_pdl_wait();
#pragma unroll 1
    for (int at = ht_first_place(WARPS);;) {
        const unpacked_args &again = ht_reload_args(args);
        const int count = ht_failed_count(again.g);
        if (at >= ht_places_of(again.g, count, WARPS))
            return;
        if (at % WARPS != 0 || ht_any_of_block<WARPS>(ht_recompute_listed(again.g, at, count), ht_smem_base<SMEM_BYTES>(), (int)threadIdx.x)) {
            const ht_task_behind x = ht_task_at(again.g, at, count, WARPS);
            if (x.whole) {
                ht_barrier(); // the tile before has been read
                compute_tile(again, {(again.swap_ab ? x.col : x.row) / 64, (again.swap_ab ? x.row : x.col) / 64, 0, x.entry});
                if (threadIdx.x == 0)
                    ht_count_block(ht_reload_args(args).g, x.row / 64 * 64, x.col / 64 * 64, 64, 64);
            }
        } else
            at += WARPS - 1;
        at = ht_next_place(at, !ht_is_listed(ht_reload_args(args).g), WARPS);
    }
}

//@end
//@emit blocks
// ---- a launch between a product with the certificate and its fallback: 64 x 64 blocks with many failed results, as tiles of their own matrices. Those
// that it has computed lose their bits. A tile that slices could not hold keeps them, and is the fallback's like results of blocks with few.
// Blocks of threads have tiles that depend on nothing but the shape, so that nobody else looks at bits that one of them clears.

// Tile `place` of P and Q, of all entries.
HT_DEVICE ht_tile_coord tile_at(const unpacked_args &args, int place)
{
    const int high = (args.p.rows + (int)ht_opaque(0) + BM - 1) / BM, wide = (args.q.rows + BN - 1) / BN; // not kept from tile to tile
    return {place % high, place / high % wide, 0, place / high / wide}; //@mutate blocks-tile-at
}

// A tile's part `part` of 64 rows of P: the block of C.
struct ht_block_of_c {
    int row, col;
    bool many; // failed results; asked by all lanes of a warp
};

HT_DEVICE ht_block_of_c block_of(const unpacked_args &args, const ht_tile_coord &spot, int part)
{
    const ht_gemm_args &g = args.g;
    const int p = spot.row * BM + part * 64, q = spot.col * BN;
    ht_block_of_c x = {args.swap_ab ? q : p, args.swap_ab ? p : q, false};
    x.many = ht_count_failed(g, ht_failed_block(g, spot.entry, x.row / 64, x.col / 64), x.row, x.col, 0) > ELEMENTS_MOST; //@mutate blocks-many
    return x;
}

// Of the tiles from `place` on, one for each warp, those that have a block with many, as bits.
HT_DEVICE unsigned tiles_with_many(const unpacked_args &args, int place, int apart, int tiles)
{
    const int warp = (int)threadIdx.x / WAVE, own = place + warp * apart;
    bool many = false;
    unsigned found = 0;
#pragma unroll 1
    for (int part = 0; part < BM / 64 && own < tiles; part++) //@mutate blocks-parts
        many = block_of(args, tile_at(args, own), part).many || many;
#pragma unroll 1
    for (int w = 0; w < WARPS; w++)
        found |= (unsigned)ht_any_of_block<WARPS>(many && warp == w, ht_smem_base<SMEM_BYTES>(), (int)threadIdx.x) << w;
    return found;
}

// Stores the tile's blocks that have many, and takes their bits.
HT_DEVICE void store_blocks(const unpacked_args &args, const ht_task &t, ht_acc (*sum)[NI][D_REGS], const ht_tile_coord &spot)
{
    const ht_gemm_args &g = args.g;
    const ht_block_of_c x = block_of(args, spot, t.warp_row / 64);
    if (x.many) //@mutate blocks-stored
        store_sums(args, t, sum, spot);
    ht_barrier(); // all have looked at the bits //@mutate blocks-cleared-late
    const int thread = t.tid % (THREADS / (BM / 64));
    if (x.many)
        ht_stg_i32((int *)ht_failed_block(g, spot.entry, x.row / 64, x.col / 64) + thread, 0); //@mutate blocks-cleared
    if (x.many && thread == 0)
        ht_count_block(g, x.row, x.col, 64, 64); //@mutate blocks-counted
}

// All tiles of this block of threads. The loop is inside the code for one way in which operands lie: around all four ptxas spills 2.7 KB.
template <bool P_K_MAJOR, bool Q_K_MAJOR> HT_DEVICE void compute_blocks(const unpacked_args &args)
{
    const int apart = (int)(gridDim.x * gridDim.y), tiles = (args.p.rows + BM - 1) / BM * ((args.q.rows + BN - 1) / BN) * args.g.batch;
    int place = (int)(blockIdx.y * gridDim.x + blockIdx.x) - WARPS * apart; // of the first of WARPS tiles
    unsigned found = 0;
#pragma unroll 1
    for (;;) {
#pragma unroll 1
        while (found == 0) {
            place += WARPS * apart; //@mutate blocks-next
            if (place >= tiles)
                return;
            found = tiles_with_many(args, place, apart, tiles);
        }
        const ht_tile_coord spot = tile_at(args, place + ht_lowest_bit(found) * apart); //@mutate blocks-place
        ht_task task = task_of(args, spot, (int)ht_opaque(0));
        ht_acc sum[MI][NI][D_REGS];
        ht_value_range value_range = {~0u};
        found &= found - 1;
        task.leaves_early = true;
        clear_sums(sum);
        multiply_sliced<P_K_MAJOR, Q_K_MAJOR>(sum, sum, &value_range, task, ht_smem_base<SMEM_BYTES>());
        const ht_task again = task_of(args, spot, (int)ht_opaque(0));
        if (have_slices_done(value_range, sum, again, ht_smem_base<SMEM_BYTES>())) //@mutate blocks-left
            store_blocks(args, again, sum, spot);
    }
}

HT_DEVICE void compute_blocks_with_many(const unpacked_args &args)
{
    ht_pdl_trigger();
    ht_pdl_wait();
    if (ht_is_listed(args.g) && ht_failed_count(args.g) <= ELEMENTS_MOST) //@mutate blocks-few
        return;
    if (args.p.k_contiguous && args.q.k_contiguous)
        compute_blocks<true, true>(args);
    else if (args.p.k_contiguous)
        compute_blocks<true, false>(args);
    else if (args.q.k_contiguous)
        compute_blocks<false, true>(args);
    else
        compute_blocks<false, false>(args);
}

//@end
static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    //@emit blocks
    if (TAKES_BLOCKS && args.g.failed) {
        compute_blocks_with_many(args);
        return;
    }
    //@end
    //@emit fallback
    if (IS_FALLBACK) {
        fallback(args);
        return;
    }
    //@end
    const int splits = args.splits, split = splits > 1 ? (int)(blockIdx.y % (unsigned)splits) : 0;
    const int col = splits > 1 ? (int)(blockIdx.y / (unsigned)splits) : (int)blockIdx.y;
    const ht_tile_coord spot = {(int)blockIdx.x, col, split, (int)blockIdx.z};
    compute_tile(args, spot);
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

constexpr long long GRID_HIGH = 65535; // what the y extent of a grid can count

// P is what makes fewer blocks; where that is all the same and rows of P are loaded to registers, the one whose k is contiguous; and the
// other where Q would have more tiles than a grid's y extent can count. Of blocks with many failed results the shape alone decides: what is in a tile
// beside a block says who computes it, and a kept packed operand's copy lies in another way than the matrix.
static int swaps(const ht_gemm_args &g)
{
    const bool same = ht_swap_ab(g.m, g.n, BM, BN, 0) == 0 && ht_swap_ab(g.n, g.m, BM, BN, 0) == 0;
    const bool takes_b = (TAKES_BLOCKS && g.failed) || (!g.a.k_contiguous && g.b.k_contiguous); //@mutate swap-by-shape
    const int best = A_FROM_REGISTERS && same ? takes_b : ht_swap_ab(g.m, g.n, BM, BN, 0);
    const long long wide = ((best ? g.m : g.n) + BN - 1) / BN;
    return IS_FALLBACK || wide * g.splits <= GRID_HIGH ? best : !best;
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const int swap_ab = swaps(g);
    const int steps = (int)((g.a.k + (long long)BK - 1) / BK);
    const unpacked_args args = {g.a.k, g.splits, steps / g.splits, steps % g.splits, swap_ab, swap_ab ? g.b : g.a, swap_ab ? g.a : g.b, g};
    const int high = (args.p.rows + BM - 1) / BM, wide = (args.q.rows + BN - 1) / BN;
    const long long tiles = (long long)high * wide;
    if (tiles * (IS_FALLBACK || g.failed ? g.batch * WARPS : 1) > 0x7fffffff || (!IS_FALLBACK && (long long)wide * g.splits > GRID_HIGH))
        return 1; // cudaErrorInvalidValue: more tiles than a grid can count
    //@emit blocks
    if (TAKES_BLOCKS && g.failed) {
        const ht_fallback_grid by = ht_fallback_grid_of(tiles, high, g.batch, SMS * MIN_BLOCKS);
        return ht_launch_dependent(gemm, by.blocks, by.groups, 1, THREADS, SMEM_BYTES, stream, args);
    }
    //@end
    //@emit fallback
    if (IS_FALLBACK) {
        const ht_fallback_grid by = ht_fallback_grid_of(tiles, swap_ab ? wide : high, g.batch, SMS * MIN_BLOCKS);
        return ht_launch_dependent(gemm, by.blocks, by.groups, 1, THREADS, SMEM_BYTES, stream, args);
    }
    //@end
    return ht_launch_dependent(gemm, (unsigned)high, (unsigned)(wide * g.splits), (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args);
}
