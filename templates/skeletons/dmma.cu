#include "../samples/machine.h" //@drop
constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, STAGES = 4; //@drop
constexpr int WAVE = 32, MIN_BLOCKS = 4, SMS = 132, SMEM_PER_SM = 233472, SMEM_RESERVED = 1024, SWAP_AB_MIN_GAIN = 8, SCALES_ROWS = 0, SCALE_LOW = 0, SCALE_HIGH = 0, SCALE_ROOM = 0; //@drop
#include "../hooks/launch/stream.cuh" //@drop
#include "../hooks/arch/sm90_dmma.cuh" //@drop
#include "../samples/sums.h" //@drop
#include "../hooks/stage/real_f32.cuh" //@drop
#include "../hooks/stage/operand_view.cuh" //@drop
#include "../hooks/stage/cp_async_tile.cuh" //@drop
// ---- geometry: a few dozen k and more, a large C; DMMA from shared memory ----------------------------------------
// A block computes BM x BN of the product of P (rows x k) and Q (k x columns), in steps of BK; a warp WM x WN of it:
//
//   device memory -> shared memory, STAGES - 1 steps ahead -> registers, widened to FP64 -> MMAs -> shared memory -> C
//
// DMMA has the rate of FFMA, and ask shared memory for a quarter of what those ask for. Products of FP32 numbers
// are exact in FP64, so a result is the exact one rounded once, but for k times 2^-53 of the largest partial sum.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, WARPS = WARPS_M * WARPS_N, THREADS = WARPS * WAVE;
constexpr int MI = WM / 8, NI = WN / 8, ROW_TILES = MI / 2; // rows and columns of a lane in a fragment, eight apart
constexpr int MMA_K = 8, K_PER_LANE = MMA_K / 4; // k of an MMA, and a lane's of them, four apart; with 16 there would be three blocks an SM, not four
constexpr int P_BYTES = ht_copy_bytes<BM>, STAGE_BYTES = P_BYTES + ht_copy_bytes<BN>;
constexpr int SMEM_UNIT = 128; // in which shared memory is given
// The tile of sums, as lines of what is contiguous in C: what a warp stores meets no bank twice.
template <bool SWAP_AB> constexpr int SUM_PITCH = SWAP_AB ? BN + 8 : BM + 4; //@mutate sum-pitch
constexpr int SUM_BYTES = 4 * (BN * SUM_PITCH<false> > BM * SUM_PITCH<true> ? BN * SUM_PITCH<false> : BM * SUM_PITCH<true>);
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES > SUM_BYTES ? STAGES * STAGE_BYTES : SUM_BYTES;
static_assert(BK == 2 * MMA_K && MI % 2 == 0, "a step is two MMAs deep");
static_assert(BM % 32 == 0 && BN % 32 == 0, "lines of a stage lie eight banks apart");
static_assert(BN <= NEAR_ROWS, "Q's lines are not copied past their beginnings");
static_assert(P_BYTES % 16 == 0 && STAGE_BYTES % 16 == 0, "pieces are aligned");

// Begins to copy a step of an operand. k: its first; depth: that are left from there on.
template <int ROWS, bool K_MAJOR> HT_DEVICE void copy_operand(unsigned stage, const ht_operand_view &s, int row0, int k, int depth)
{
    const float *const start = s.src + (long long)blockIdx.z * s.stride, *const from = start + row0 * s.row_step + k * s.k_step;
    const long long ld = K_MAJOR ? s.row_step : s.k_step;
    const int used = depth > MMA_K ? BK : MMA_K;
    if (s.wide)
        ht_copy_vectors<ROWS, K_MAJOR, THREADS, 4>(stage, from, ld, s.rows - row0, depth, used);
    else if constexpr (ht_copies_misaligned<ROWS, K_MAJOR>)
        ht_copy_misaligned<ROWS, THREADS>(stage, from, ld, s.rows - row0, depth, start);
    else
        ht_copy_vectors<ROWS, K_MAJOR, THREADS, 1>(stage, from, ld, s.rows - row0, depth, used);
}

// The same of both, as one group; an empty one behind the last step.
template <bool P_K_MAJOR, bool Q_K_MAJOR> HT_DEVICE void copy_step(unsigned stage, const unpacked_args &args, int row0, int col0, int k, int end)
{
    if (k < end) {
        copy_operand<BM, P_K_MAJOR>(stage, args.p, row0, k, end - k);
        copy_operand<BN, Q_K_MAJOR>(stage + P_BYTES, args.q, col0, k, end - k);
    }
    ht_cp_async_commit();
}

// How far into a stage's line its first number is: of an operand's row, from `k` on.
template <int ROWS, bool K_MAJOR> HT_DEVICE int misalignment_of(const ht_operand_view &s, int row, int k)
{
    if (!ht_copies_misaligned<ROWS, K_MAJOR> || s.wide)
        return 0;
    return ht_misalign16(s.src + (long long)blockIdx.z * s.stride + row * s.row_step + k);
}

// k of an MMA. p, q: where this lane's first row and column are at its first k.
template <bool P_K_MAJOR, bool Q_K_MAJOR> HT_DEVICE void multiply_fragments(double (*sum)[NI][4], unsigned p, unsigned q)
{
    constexpr unsigned P_ROW = P_K_MAJOR ? ht_copy_pitch<BM, P_K_MAJOR> * 4 : 4, P_DEEP = P_K_MAJOR ? 4 : ht_copy_pitch<BM, P_K_MAJOR> * 4;
    constexpr unsigned Q_ROW = Q_K_MAJOR ? ht_copy_pitch<BN, Q_K_MAJOR> * 4 : 4, Q_DEEP = Q_K_MAJOR ? 4 : ht_copy_pitch<BN, Q_K_MAJOR> * 4;
    double x[ROW_TILES][2 * K_PER_LANE];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int h = 0; h < K_PER_LANE; h++) {
            x[i / 2][h * 2 + i % 2] = (double)ht_lds4(p + i * 8 * P_ROW + h * 4 * P_DEEP);
        }
    }
#pragma unroll
    for (int j = 0; j < NI; j++) {
        double y[K_PER_LANE];
#pragma unroll
        for (int h = 0; h < K_PER_LANE; h++) {
            y[h] = (double)ht_lds4(q + j * 8 * Q_ROW + h * 4 * Q_DEEP);
        }
#pragma unroll
        for (int i = 0; i < ROW_TILES; i++) {
            // rows 16 i .. 16 i + 15 times columns 8 j .. 8 j + 7: sum[i][j], 8 k in FP64
            ht_mma_f64_1688(sum[i][j], x[i], y);
        }
    }
}

// All of the block's k: the product is in `sum` afterwards.
template <bool P_K_MAJOR, bool Q_K_MAJOR> HT_DEVICE void multiply(double (*sum)[NI][4], const unpacked_args &args, const ht_tile_coord &place, unsigned smem)
{
    const int row0 = place.p_tile * BM, col0 = place.q_tile * BN;
    const ht_k_range range = ht_k_range_of(args, place.split);
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int row = warp % WARPS_M * WM + lane / 4, col = warp / WARPS_M * WN + lane / 4, own = lane % 4;
    constexpr int P_PITCH = ht_copy_pitch<BM, P_K_MAJOR>, Q_PITCH = ht_copy_pitch<BN, Q_K_MAJOR>;
    const int past = misalignment_of<BM, P_K_MAJOR>(args.p, row0 + row, range.begin); // of all this lane's rows: they are eight apart
    const unsigned at_p = (unsigned)((P_K_MAJOR ? row * P_PITCH + own : own * P_PITCH + row) + past) * 4; //@mutate multiply-7
    const unsigned at_q = P_BYTES + (unsigned)(Q_K_MAJOR ? col * Q_PITCH + own : own * Q_PITCH + col) * 4;
    unsigned write = smem, read = smem;
    int next = range.begin; // k that is copied next
    ht_pdl_wait(); // what comes before is worked out while the launch before this one ends //@mutate dmma-multiply
    ht_pdl_trigger();
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) {
        copy_step<P_K_MAJOR, Q_K_MAJOR>(write, args, row0, col0, next, range.end);
        write += STAGE_BYTES;
        next += BK;
    }
#pragma unroll 1
    for (int k = range.begin; k < range.end; k += BK) {
        ht_cp_async_wait<STAGES - 2>(); //@mutate multiply-4
        ht_barrier(); // the stage is there, and everyone has read the one before it //@mutate multiply-3
        copy_step<P_K_MAJOR, Q_K_MAJOR>(write, args, row0, col0, next, range.end); //@mutate multiply-5
        next += BK;
        multiply_fragments<P_K_MAJOR, Q_K_MAJOR>(sum, read + at_p, read + at_q);
        if (range.end - k > MMA_K) // else there are zeros //@mutate multiply-6
            multiply_fragments<P_K_MAJOR, Q_K_MAJOR>(sum, read + at_p + MMA_K * (P_K_MAJOR ? 4 : P_PITCH * 4), read + at_q + MMA_K * (Q_K_MAJOR ? 4 : Q_PITCH * 4)); //@mutate multiply-8
        write = write == smem + (STAGES - 1) * STAGE_BYTES ? smem : write + STAGE_BYTES;
        read = read == smem + (STAGES - 1) * STAGE_BYTES ? smem : read + STAGE_BYTES;
    }
    ht_cp_async_wait<0>();
    ht_barrier(); // everyone has read the last stage
}

HT_DEVICE void multiply_either(double (*sum)[NI][4], const unpacked_args &args, const ht_tile_coord &place, unsigned smem)
{
    if (args.p.k_major && args.q.k_major)
        multiply<true, true>(sum, args, place, smem);
    else if (args.p.k_major)
        multiply<true, false>(sum, args, place, smem);
    else if (args.q.k_major)
        multiply<false, true>(sum, args, place, smem);
    else
        multiply<false, false>(sum, args, place, smem);
}

// This lane's sums, rounded and times alpha, to the block's tile of them. alpha == 0 ignores A and B, NaN included.
template <bool SWAP_AB> HT_DEVICE void share_sums(double (*sum)[NI][4], float alpha, unsigned smem)
{
    const int lane = (int)threadIdx.x % WAVE, warp = (int)threadIdx.x / WAVE;
    const int row = warp % WARPS_M * WM + lane / 4, col = warp / WARPS_M * WN + lane % 4 * 2; //@mutate share-sums
    constexpr int PITCH = SUM_PITCH<SWAP_AB>;
    const unsigned to = smem + (unsigned)(SWAP_AB ? row * PITCH + col : col * PITCH + row) * 4;
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            const float x = alpha != 0.0f ? __fmul_rn(alpha, (float)sum[i / 2][j][i % 2 * 2]) : 0.0f;
            const float y = alpha != 0.0f ? __fmul_rn(alpha, (float)sum[i / 2][j][i % 2 * 2 + 1]) : 0.0f;
            if (SWAP_AB) {
                ht_sts8(to + (unsigned)(i * 8 * PITCH + j * 8) * 4, ht_as_uint(x), ht_as_uint(y));
            } else {
                ht_sts4(to + (unsigned)(j * 8 * PITCH + i * 8) * 4, x);
                ht_sts4(to + (unsigned)((j * 8 + 1) * PITCH + i * 8) * 4, y);
            }
        }
    }
}

// What is stored at once: a number, or four.
HT_DEVICE void smem_load(float *piece, unsigned from)
{
    *piece = ht_lds4(from);
}

HT_DEVICE void smem_load(uint4 *piece, unsigned from)
{
    *piece = ht_lds16(from);
}

HT_DEVICE float axpby(float v, float old, float beta)
{
    return __fmaf_rn(beta, old, v);
}

HT_DEVICE uint4 axpby(uint4 v, const uint4 &old, float beta)
{
    return make_uint4(ht_as_uint(__fmaf_rn(beta, ht_as_float(old.x), ht_as_float(v.x))),
                      ht_as_uint(__fmaf_rn(beta, ht_as_float(old.y), ht_as_float(v.y))),
                      ht_as_uint(__fmaf_rn(beta, ht_as_float(old.z), ht_as_float(v.z))),
                      ht_as_uint(__fmaf_rn(beta, ht_as_float(old.w), ht_as_float(v.w))));
}

HT_DEVICE void global_load(float *v, const float *c)
{
    *v = ht_ldg4(c);
}

HT_DEVICE void global_load(uint4 *v, const float *c)
{
    *v = ht_ld16(c);
}

HT_DEVICE void global_store(float *c, float v)
{
    ht_stg4(c, v);
}

HT_DEVICE void global_store(float *c, uint4 v)
{
    ht_stg16(c, v);
}

// The block's tile of C from shared memory, line by line of what is contiguous, a few pieces ahead. ADDS: to beta times C, which nobody
// reads otherwise.
template <bool SWAP_AB, bool ADDS, class PIECE> HT_DEVICE void store_lines(const ht_output_view &to, int along, int lines, unsigned smem)
{
    constexpr int ALONG = SWAP_AB ? BN : BM, LINES = SWAP_AB ? BM : BN, PITCH = SUM_PITCH<SWAP_AB>, NUMBERS = (int)sizeof(PIECE) / 4;
    constexpr int PER_LINE = ALONG / NUMBERS, AT_ONCE = THREADS / PER_LINE, ROUNDS = LINES / AT_ONCE, MOST = NUMBERS > 1 ? 4 : 8;
    constexpr int PREFETCH = ROUNDS < MOST ? ROUNDS : MOST;
    static_assert(THREADS % PER_LINE == 0 && LINES % AT_ONCE == 0 && ROUNDS % PREFETCH == 0, "threads take whole lines");
    const int line = (int)threadIdx.x / PER_LINE, across = (int)threadIdx.x % PER_LINE * NUMBERS;
    const int there = across < along ? (lines < LINES ? lines : LINES) - line : 0; //@mutate store-lines
    const long long ld = SWAP_AB ? to.row_step : to.col_step, step = ht_opaque(ld * AT_ONCE);
    float *c = to.c + line * ld + across;
    unsigned from = smem + (unsigned)(line * PITCH + across) * 4;
#pragma unroll 1
    for (int l = 0; l < there; l += PREFETCH * AT_ONCE, from += PREFETCH * AT_ONCE * PITCH * 4) {
        PIECE v[PREFETCH], old[PREFETCH] = {};
        for (int x = 0; x < PREFETCH; x++) {
            if (ADDS && l + x * AT_ONCE < there)
                global_load(&old[x], c + x * step);
        }
        for (int x = 0; x < PREFETCH; x++)
            smem_load(&v[x], from + (unsigned)(x * AT_ONCE * PITCH) * 4);
        for (int x = 0; x < PREFETCH; x++, c += step) {
            if (l + x * AT_ONCE < there)
                global_store(c, ADDS ? axpby(v[x], old[x], to.beta) : v[x]);
        }
    }
}

template <bool SWAP_AB> HT_DEVICE void store_sums(const unpacked_args &args, const ht_tile_coord &place, double (*sum)[NI][4], unsigned smem)
{
    ht_output_view to = ht_output_view_of(args, place.split);
    const int row0 = place.p_tile * BM, col0 = place.q_tile * BN, rows = args.p.rows - row0, cols = args.q.rows - col0;
    const int along = SWAP_AB ? cols : rows, lines = SWAP_AB ? rows : cols;
    const long long ld = SWAP_AB ? to.row_step : to.col_step;
    to.c += row0 * to.row_step + col0 * to.col_step;
    share_sums<SWAP_AB>(sum, to.alpha, smem);
    ht_barrier(); // all sums are there //@mutate store-sums
    const bool fours = ld % 4 == 0 && along % 4 == 0 && (unsigned long long)to.c % 16 == 0;
    if (fours && to.beta != 0.0f)
        store_lines<SWAP_AB, true, uint4>(to, along, lines, smem);
    else if (fours)
        store_lines<SWAP_AB, false, uint4>(to, along, lines, smem);
    else if (to.beta != 0.0f)
        store_lines<SWAP_AB, true, float>(to, along, lines, smem);
    else
        store_lines<SWAP_AB, false, float>(to, along, lines, smem);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    double sum[ROW_TILES][NI][4];
#pragma unroll
    for (int i = 0; i < ROW_TILES; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                sum[i][j][q] = 0.0;
            }
        }
    }
    multiply_either(sum, args, ht_tile_coord_of(args, 0), smem);
    const ht_tile_coord place = ht_tile_coord_of(args, (int)ht_opaque(0)); // worked out once more: it is not kept meanwhile
    if (args.swap_ab)
        store_sums<true>(args, place, sum, smem);
    else
        store_sums<false>(args, place, sum, smem);
}

// Shared memory of so few blocks that an SM could hold more of them than its share: as much as keeps the others out. Blocks of a dependent
// launch else gather where room is first, while SMs stay idle (300 x 300 x 300 in two parts: 12 us; in one 7).
static int smem_of(long long blocks)
{
    const int share = blocks < (long long)SMS * MIN_BLOCKS ? (int)((blocks + SMS - 1) / SMS) : MIN_BLOCKS;
    const int alone = SMEM_PER_SM / (share + 1) - SMEM_RESERVED + SMEM_UNIT;
    return share < MIN_BLOCKS && alone > SMEM_BYTES ? alone : SMEM_BYTES;
}

static int init(void)
{
    return ht_allow_smem(gemm, smem_of(1));
}

// Whether every line of an operand is whole pieces of 16 bytes, none of which is copied in part.
static int is_wide(const unpacked_args &args, const ht_operand_view &s)
{
    return s.wide && (s.k_major ? args.k : s.rows) % 4 == 0;
}

static int launch(const ht_gemm_args &g, void *stream)
{
    unpacked_args args = ht_unpacked_args(g, ht_swap_ab(g.m, g.n, BM, BN, SWAP_AB_MIN_GAIN));
    args.p.wide = is_wide(args, args.p);
    args.q.wide = is_wide(args, args.q);
    const ht_tile_grid grid = ht_grid_of(&args, (unsigned)((args.p.rows + BM - 1) / BM), (unsigned)((args.q.rows + BN - 1) / BN));
    return ht_launch_dependent(gemm, grid.x, grid.y, (unsigned)g.batch, THREADS, smem_of((long long)grid.x * grid.y * g.batch), stream, args);
}
