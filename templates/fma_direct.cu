#include "sample_fma.h" //@drop
// ---- few k, or a few dozen rows or columns: FP32 multiply-adds from shared memory. Where k is short C's stores are all there is
// to wait for, so a warp stores 128 bytes of a column at once, and blocks are many and small enough that some store while others
// load. A block computes BM x BN of the product of P (rows x k) and Q (k x columns), in steps of BK; a warp WM x WN of it:
//
//   device memory -> registers, one step ahead -> shared memory, [k][row] in one of two stages -> multiply-adds
//
// A lane has rows lane, lane + WAVE, ... and all columns of its warp. Chains of CHAIN_K k are added up; the sums wait in
// shared memory, because beside the chains there are no registers for them. Only a long k needs that memory.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, WARPS = WARPS_M * WARPS_N, THREADS = WARPS * WAVE;
constexpr int MI = WM / WAVE, NI = WN;                                                 // rows and columns of a lane
constexpr int P_PARTS = BM * BK / THREADS, Q_PARTS = (BN * BK + THREADS - 1) / THREADS; // numbers that a thread loads for a step
constexpr int CHAIN_K = 32, CHAIN_STEPS = CHAIN_K / BK;
// Numbers from k to k: 16 lanes along k meet 16 banks, 16 more their neighbours; Q is read by fours.
constexpr int P_PITCH = BM + 2, Q_PITCH = BN + 4;
constexpr int P_BYTES = BK * P_PITCH * 4, STAGE_BYTES = P_BYTES + BK * Q_PITCH * 4;
constexpr int SHORT_BYTES = STAGES * STAGE_BYTES, SMEM_BYTES = SHORT_BYTES + 4 * BM * BN;
constexpr int ROW_BLOCKS = (BM + 63) / 64, COLUMN_BLOCKS = (BN + 63) / 64;
static_assert(BM * BK % THREADS == 0 && STAGES == 2 && P_BYTES % 16 == 0, "stages are whole");
static_assert(NI % 4 == 0 && 64 % NI == 0, "columns of a lane are read by fours, and are of one block of the data check");

// One operand's way into shared memory, for one thread: the same place of every `lines`-th line.
struct source {
    const float *at;                    // first number of the step that is loaded next
    long long part_stride, step_stride; // elements from part to part, from step to step
    int line, lines;                    // of the first part; from part to part
    int across, lines_left, across_left; // where in the line; what exists from the step's first on
    unsigned to, part_bytes;            // in a stage: first part, from part to part
    bool k_contiguous;
};

template <int ROWS, int PITCH> HT_DEVICE source open_source(const ht_side &s, int row0, ht_part_k k, int tid)
{
    const int width = s.k_contiguous ? BK : ROWS;
    source from;
    from.k_contiguous = s.k_contiguous != 0;
    from.line = tid / width;
    from.lines = THREADS / width;
    from.across = tid % width;
    const int row = s.k_contiguous ? from.line : from.across, l = s.k_contiguous ? from.across : from.line;
    from.at = s.src + (long long)blockIdx.z * s.stride + (row0 + row) * s.row_step + (k.begin + l) * s.k_step;
    from.part_stride = from.lines * (s.k_contiguous ? s.row_step : s.k_step);
    from.step_stride = BK * s.k_step;
    from.lines_left = (s.k_contiguous ? s.rows - row0 : k.end - k.begin);
    from.across_left = (s.k_contiguous ? k.end - k.begin : s.rows - row0);
    from.to = (unsigned)(l * PITCH + row) * 4;
    from.part_bytes = (unsigned)(from.lines * (s.k_contiguous ? 1 : PITCH)) * 4;
    return from;
}

// Loads this thread's numbers of a step and moves on to the next one. Beyond the matrix there are zeros.
template <int ROWS, int PARTS> HT_DEVICE void load_parts(float *part, source *s)
{
    const int own = s->k_contiguous ? ROWS : BK;
    const int lines = s->across < s->across_left ? (s->lines_left < own ? s->lines_left : own) : 0;
    const long long stride = ht_anew(s->part_stride);
    const float *from = s->at;
    for (int i = 0; i < PARTS; i++) {
        part[i] = s->line + i * s->lines < lines ? ht_ldg4(from) : 0.0f;
        from += stride;
    }
    s->at += s->step_stride;
    s->lines_left -= s->k_contiguous ? 0 : BK;
    s->across_left -= s->k_contiguous ? BK : 0;
}

template <int ROWS, int PARTS> HT_DEVICE void store_parts(unsigned stage, const float *part, const source &s)
{
    const int own = s.k_contiguous ? ROWS : BK;
    for (int i = 0; i < PARTS; i++) {
        if (ROWS * BK % THREADS == 0 || s.line + i * s.lines < own)
            ht_sts4(stage + s.to + (unsigned)i * s.part_bytes, part[i]);
    }
}

// The first `depth` k of a stage. p, q: where this lane's first row and the warp's first column are.
HT_DEVICE void multiply_stage(ht_acc (*sum)[NI], unsigned p, unsigned q, int depth)
{
#pragma unroll 1
    for (int k = 0; k < depth; k += 4) { // beyond k there are zeros
#pragma unroll
        for (int h = 0; h < 4; h++) {
            float x[MI], y[NI];
#pragma unroll
            for (int i = 0; i < MI; i++) {
                x[i] = ht_lds4(p + (unsigned)(h * P_PITCH + i * WAVE) * 4);
            }
#pragma unroll
            for (int j = 0; j < NI / 4; j++) {
                const uint4 four = ht_lds16(q + (unsigned)(h * Q_PITCH + j * 4) * 4);
                y[4 * j] = ht_as_float(four.x);
                y[4 * j + 1] = ht_as_float(four.y);
                y[4 * j + 2] = ht_as_float(four.z);
                y[4 * j + 3] = ht_as_float(four.w);
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    sum[i][j] = __fmaf_rn(x[i], y[j], sum[i][j]);
                }
            }
        }
        p += 4 * P_PITCH * 4;
        q += 4 * Q_PITCH * 4;
    }
}

// Adds the chains to the sums that wait, or to zeros. `rest`: this thread's first; keep: they wait on, and the chains begin anew.
HT_DEVICE void add_chains(ht_acc (*chain)[NI], unsigned rest, bool first, bool keep)
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            const unsigned at = rest + (unsigned)((i * NI + j) * THREADS) * 4;
            const float v = __fadd_rn(first ? 0.0f : ht_lds4(at), chain[i][j]);
            if (keep)
                ht_sts4(at, v);
            chain[i][j] = keep ? 0.0f : v;
        }
    }
}

// All of the block's k: the product is in `sum` afterwards.
HT_DEVICE void multiply(ht_acc (*sum)[NI], const direct_args &args, int row0, int col0, unsigned smem)
{
    const ht_part_k range = ht_part_of(args.g);
    const int tid = (int)threadIdx.x, warp = tid / WAVE, steps = (range.end - range.begin + BK - 1) / BK;
    source p = open_source<BM, P_PITCH>(args.p, row0, range, tid), q = open_source<BN, Q_PITCH>(args.q, col0, range, tid);
    const unsigned at_p = (unsigned)(warp % WARPS_M * WM + tid % WAVE) * 4, at_q = P_BYTES + (unsigned)(warp / WARPS_M * WN) * 4;
    const unsigned rest = smem + SHORT_BYTES + (unsigned)tid * 4;
    unsigned read = smem, write = smem + STAGE_BYTES;
    float part_p[P_PARTS], part_q[Q_PARTS];
    load_parts<BM, P_PARTS>(part_p, &p);
    load_parts<BN, Q_PARTS>(part_q, &q);
    store_parts<BM, P_PARTS>(read, part_p, p);
    store_parts<BN, Q_PARTS>(read + P_BYTES, part_q, q);
    for (int step = 0; step < steps; step++) {
        const int left = range.end - range.begin - step * BK;
        ht_barrier(); // the stage is there, and everyone has read the other one
        if (left > BK) {
            load_parts<BM, P_PARTS>(part_p, &p);
            load_parts<BN, Q_PARTS>(part_q, &q);
        }
        if (step > 0 && step % CHAIN_STEPS == 0)
            add_chains(sum, rest, step == CHAIN_STEPS, true);
        multiply_stage(sum, read + at_p, read + at_q, left < BK ? left : BK);
        if (left > BK) {
            store_parts<BM, P_PARTS>(write, part_p, p);
            store_parts<BN, Q_PARTS>(write + P_BYTES, part_q, q);
        }
        const unsigned other = read;
        read = write;
        write = other;
    }
    add_chains(sum, rest, steps <= CHAIN_STEPS, false);
}

// Whether a lane's columns lie side by side in C, where it has its operands exchanged, and 16 bytes of them can be stored at once.
HT_DEVICE bool stores_fours(const ht_target &to)
{
    return to.col_step == 1 && to.row_step % 4 == 0 && (unsigned long long)to.c % 16 == 0;
}

HT_DEVICE void store_sums(const direct_args &args, ht_acc (*sum)[NI], int row0, int col0, unsigned wanted)
{
    const int warp = (int)threadIdx.x / WAVE, row = warp % WARPS_M * WM + (int)threadIdx.x % WAVE, col = warp / WARPS_M * WN;
    const int columns = args.q.rows - col0 - col; // that are left
    const ht_target to = ht_target_of(args);
    const bool fours = stores_fours(to) && columns >= NI;
    float *c = to.c + (row0 + row) * to.row_step + (col0 + col) * to.col_step;
#pragma unroll
    for (int i = 0; i < MI; i++) {
        float *at = c;
        if (row0 + row + i * WAVE < args.p.rows && (wanted >> ((row + i * WAVE) / 64 * COLUMN_BLOCKS + col / 64) & 1u)) {
#pragma unroll
            for (int j = 0; j < NI; j++) {
                sum[i][j] = j < columns ? ht_element(to, at, sum[i][j]) : 0.0f;
                if (!fours && j < columns)
                    ht_stg4(at, sum[i][j]);
                at += to.col_step;
            }
#pragma unroll
            for (int j = 0; j < NI / 4; j++) {
                if (fours)
                    ht_stg16(c + 4 * j, make_uint4(ht_as_uint(sum[i][4 * j]), ht_as_uint(sum[i][4 * j + 1]),
                                                   ht_as_uint(sum[i][4 * j + 2]), ht_as_uint(sum[i][4 * j + 3])));
            }
        }
        c += WAVE * to.row_step;
    }
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const direct_args args)
{
    ht_grid_wait();
    ht_grid_release();
    const int tiles = (args.p.rows + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles * BM, col0 = (int)blockIdx.x / tiles * BN;
    const unsigned wanted = ht_wanted<ROW_BLOCKS, COLUMN_BLOCKS>(args, row0, col0);
    if (wanted == 0)
        return;
    ht_acc sum[MI][NI];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            sum[i][j] = 0.0f;
        }
    }
    multiply(sum, args, row0, col0, ht_smem_base<SMEM_BYTES>());
    store_sums(args, sum, row0, col0, wanted);
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const direct_args args = ht_direct_args(g, ht_direct_swaps(g.m, g.n, BM, BN));
    const unsigned tiles = (unsigned)((args.p.rows + BM - 1) / BM) * (unsigned)((args.q.rows + BN - 1) / BN);
    const int bytes = g.k <= CHAIN_K * g.splits ? SHORT_BYTES : SMEM_BYTES;
    return ht_launch_dependent(gemm, tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS, bytes, stream, args);
}
