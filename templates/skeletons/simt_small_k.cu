#include "../samples/simt_small_k.h" //@drop
// ---- geometry: few k, or a few dozen rows or columns; FMAs from shared memory. Where k is short C's stores are all
// there is to wait for: a warp stores 64 bytes of two columns at once, and several blocks of an SM load while others store. A block
// computes BM x BN of the product of P (rows x k) and Q (k x columns), in steps of BK; a warp WM x WN of it:
//
//   device memory -> registers, one step ahead -> shared memory, [k][row] in one of two stages -> FMAs
//
// A lane has every ROW_LANES-th row of its warp and NI contiguous columns. What shared memory returns, four bytes to a lane and
// clock however many lanes ask for the same, is what MI * NI FMAs wait for: MI + NI numbers. Chains of chain_k are
// added up; the sums wait in shared memory, because beside the chains there are no registers for them. Only a long k of FP32 needs that.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, WARPS = WARPS_M * WARPS_N, THREADS = WARPS * WAVE;
constexpr int VEC = 16 / ELEMENT_BYTES, SECTOR = 32 / ELEMENT_BYTES; // numbers that are read or stored at once, of a sector of memory
constexpr bool ONE_CHAIN = ELEMENT_BYTES == 8; // of all k, as FP64 tiles have it
constexpr int ROW_LANES = 16, MI = WM / ROW_LANES, NI = WN / (WAVE / ROW_LANES); // rows and columns of a lane
constexpr int P_PARTS = BM * BK / THREADS, Q_PARTS = (BN * BK + THREADS - 1) / THREADS; // numbers that a thread loads for a step
// SMALL_CHAIN_K in a small C of short k, where cuBLAS adds up no more in a row (n = 64, 257; at 1024 it does); memory decides there.
constexpr int CHAIN_K = 32, SMALL_CHAIN_K = 4, SMALL_C = 1 << 19;
// Numbers from k to k: 16 lanes along k meet 16 banks (of FP64 8 lanes 8 pairs), as many more their neighbours; Q is read by 16 bytes.
constexpr int P_PITCH = BM + 2, Q_PITCH = BN + VEC; //@mutate p-pitch
constexpr int P_BYTES = BK * P_PITCH * ELEMENT_BYTES, STAGE_BYTES = P_BYTES + BK * Q_PITCH * ELEMENT_BYTES;
constexpr int SHORT_BYTES = STAGES * STAGE_BYTES, SMEM_BYTES = SHORT_BYTES + (ONE_CHAIN ? 0 : ELEMENT_BYTES * BM * BN);
static_assert(BM * BK % THREADS == 0 && STAGES == 2 && P_BYTES % 16 == 0, "stages are whole");
static_assert(NI % VEC == 0, "columns of a lane are read by 16 bytes");
static_assert(THREADS >= BM, "threads take whole lines of rows");
static_assert(MI % 2 == 0, "rows of a lane are stored in twos");

// One operand's way into shared memory, for one thread: the same place of every THREADS / width-th line. What follows from the
// thread and the launch alone is worked out where it is needed: registers are short.
struct source {
    const ht_real *at; // first number of the step that is loaded next
    int there;         // parts that exist, from the first on
};

// The thread's place in its line, that line, and how far it is to its next one: widths are powers of two, never divided by.
struct ht_line {
    int across, line, lines;
};

template <int ROWS> HT_DEVICE ht_line line_of(const ht_operand_view &s)
{
    const int tid = (int)threadIdx.x;
    return s.k_major ? ht_line{tid % BK, tid / BK, THREADS / BK} : ht_line{tid % ROWS, tid / ROWS, THREADS / ROWS};
}

// How many parts exist where `left` k are left.
template <int ROWS> HT_DEVICE int parts_there(const ht_operand_view &s, int row0, int left)
{
    const ht_line own = line_of<ROWS>(s);
    const int rows = s.rows - row0 < ROWS ? s.rows - row0 : ROWS, depth = left < BK ? left : BK;
    const int last = (s.k_major ? rows : depth) - 1 - own.line; // lines from the first on
    const int more = s.k_major ? last / (THREADS / BK) : last / (THREADS / ROWS);
    return last < 0 || own.across >= (s.k_major ? depth : rows) ? 0 : more + 1;
}

template <int ROWS> HT_DEVICE source open_source(const ht_operand_view &s, int row0, ht_k_range k)
{
    const ht_line own = line_of<ROWS>(s);
    const int row = s.k_major ? own.line : own.across, l = s.k_major ? own.across : own.line;
    source from;
    from.at = s.src + (long long)blockIdx.z * s.stride + (row0 + row) * s.row_step + (k.begin + l) * s.k_step;
    from.there = parts_there<ROWS>(s, row0, k.end - k.begin);
    return from;
}

// Loads this thread's numbers of a step and moves on to the next one, of which `left` k are there. Beyond the matrix are zeros.
template <int ROWS, int PARTS> HT_DEVICE void load_parts(ht_real *part, source *from, const ht_operand_view &s, int row0, int left)
{
    const long long stride = ht_opaque(line_of<ROWS>(s).lines * (s.k_major ? s.row_step : s.k_step));
    const ht_real *at = from->at;
    for (int i = 0; i < PARTS; i++) {
        part[i] = i < from->there ? ht_load(at) : 0;
        at += stride;
    }
    from->at += BK * s.k_step;
    if (left < BK)
        from->there = parts_there<ROWS>(s, row0, left);
}

template <int ROWS, int PARTS, int PITCH> HT_DEVICE void store_parts(unsigned stage, const ht_real *part, const ht_operand_view &s)
{
    const ht_line own = line_of<ROWS>(s);
    const unsigned to = stage + (unsigned)(s.k_major ? own.across * PITCH + own.line : own.line * PITCH + own.across) * ELEMENT_BYTES;
    const int step = s.k_major ? THREADS / BK : THREADS / ROWS * PITCH;
    for (int i = 0; i < PARTS; i++) {
        if (ROWS * BK % THREADS == 0 || (int)threadIdx.x + i * THREADS < ROWS * BK)
            ht_smem_store(to + (unsigned)(i * step) * ELEMENT_BYTES, part[i]);
    }
}

// A lane's first row and column in the block's tile.
HT_DEVICE int lane_row(int tid)
{
    return tid / WAVE % WARPS_M * WM + tid % ROW_LANES;
}

HT_DEVICE int lane_column(int tid)
{
    return tid / WAVE / WARPS_M * WN + tid % WAVE / ROW_LANES * NI;
}

// The first `depth` k of a stage. p, q: where this lane's first row and column are.
HT_DEVICE void multiply_stage(ht_acc (*sum)[NI], unsigned p, unsigned q, int depth)
{
#pragma unroll 1
    for (int k = 0; k < depth; k += 2) { // beyond k there are zeros
#pragma unroll
        for (int h = 0; h < 2; h++) {
            ht_real x[MI], y[NI];
#pragma unroll
            for (int i = 0; i < MI; i++) {
                x[i] = ht_smem_load(p + (unsigned)(h * P_PITCH + i * ROW_LANES) * ELEMENT_BYTES);
            }
#pragma unroll
            for (int j = 0; j < NI / VEC; j++) {
                ht_unpack(y + VEC * j, ht_lds16(q + (unsigned)(h * Q_PITCH + j * VEC) * ELEMENT_BYTES));
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    sum[i][j] = ht_fma(x[i], y[j], sum[i][j]);
                }
            }
        }
        p += 2 * P_PITCH * ELEMENT_BYTES;
        q += 2 * Q_PITCH * ELEMENT_BYTES;
    }
}

// Adds the chains to the sums that wait, or to zeros. `rest`: this thread's first; keep: they wait on, and the chains begin anew.
HT_DEVICE void add_chains(ht_acc (*chain)[NI], unsigned rest, bool first, bool keep)
{
    if (!first) {
#pragma unroll
        for (int i = 0; i < MI; i++) {
#pragma unroll
            for (int j = 0; j < NI; j++) {
                chain[i][j] = ht_add(ht_smem_load(rest + (unsigned)((i * NI + j) * THREADS) * ELEMENT_BYTES), chain[i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            const ht_acc v = ht_add(0, chain[i][j]);
            if (keep)
                ht_smem_store(rest + (unsigned)((i * NI + j) * THREADS) * ELEMENT_BYTES, v);
            chain[i][j] = keep ? 0 : v;
        }
    }
}

// All of the block's k: the product is in `sum` afterwards.
HT_DEVICE void multiply(ht_acc (*sum)[NI], const unpacked_args &args, unsigned smem)
{
    const ht_tile_coord place = ht_tile_coord_of(args, 0);
    const int row0 = place.p_tile * BM, col0 = place.q_tile * BN;
    const ht_k_range range = ht_k_range_of(args, place.split);
    const int tid = (int)threadIdx.x;
    const unsigned at_p = (unsigned)lane_row(tid) * ELEMENT_BYTES, at_q = P_BYTES + (unsigned)lane_column(tid) * ELEMENT_BYTES;
    const unsigned rest = smem + SHORT_BYTES + (unsigned)tid * ELEMENT_BYTES;
    unsigned read = smem;
    ht_real part_p[P_PARTS], part_q[Q_PARTS];
    source p = open_source<BM>(args.p, row0, range), q = open_source<BN>(args.q, col0, range);
    int left = range.end - range.begin; // k, from the stage that is multiplied on
    const int depth = args.chain_k < BK ? args.chain_k : BK;
    ht_pdl_wait(); // what comes before is worked out while the launch before this one ends
    ht_pdl_trigger();
    load_parts<BM, P_PARTS>(part_p, &p, args.p, row0, left - BK);
    load_parts<BN, Q_PARTS>(part_q, &q, args.q, col0, left - BK);
    store_parts<BM, P_PARTS, P_PITCH>(read, part_p, args.p);
    store_parts<BN, Q_PARTS, Q_PITCH>(read + P_BYTES, part_q, args.q);
    int done = 0; // k
#pragma unroll 1
    for (; left > 0; left -= BK) {
        ht_barrier(); // the stage is there, and everyone has read the other one //@mutate multiply
        if (left > BK) {
            load_parts<BM, P_PARTS>(part_p, &p, args.p, row0, left - 2 * BK);
            load_parts<BN, Q_PARTS>(part_q, &q, args.q, col0, left - 2 * BK);
        }
#pragma unroll 1
        for (int k = 0; k < BK && k < left; k += depth) {
            if (!ONE_CHAIN && done > 0 && done % args.chain_k == 0)
                add_chains(sum, rest, done == args.chain_k, true);
            multiply_stage(sum, read + at_p + (unsigned)(k * P_PITCH * ELEMENT_BYTES), read + at_q + (unsigned)(k * Q_PITCH * ELEMENT_BYTES),
                           left - k < depth ? left - k : depth);
            done += depth;
        }
        const unsigned write = 2 * smem + STAGE_BYTES - read;
        if (left > BK) {
            store_parts<BM, P_PARTS, P_PITCH>(write, part_p, args.p); //@mutate multiply-2
            store_parts<BN, Q_PARTS, Q_PITCH>(write + P_BYTES, part_q, args.q);
        }
        read = write;
    }
    if (!ONE_CHAIN)
        add_chains(sum, rest, done <= args.chain_k, false);
}

// Whether a lane's columns are contiguous in C, where it has its operands exchanged, and 16 bytes of them can be stored at once.
HT_DEVICE bool stores_vectors(const ht_output_view &to)
{
    return to.col_step == 1 && to.row_step % VEC == 0 && (unsigned long long)to.c % 16 == 0;
}

// A lane's NI numbers of C, `count` of which exist, `step` apart from c on. A branch for each row, not for each element: those took longer than multiplying a few k.
HT_DEVICE void store_some(const ht_output_view &to, ht_real *c, ht_acc *sum, int count, bool vectors, long long apart)
{
    const long long step = ht_opaque(apart); // else multiples of it are kept from row to row
    if (ht_scales(to.alpha)) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            sum[j] = to.alpha != 0 ? ht_mul(to.alpha, sum[j]) : ht_no_product(to.beta); // alpha == 0 ignores A and B, NaN included
        }
    }
    if (to.beta != 0) { // else C is not read
#pragma unroll
        for (int j = 0; j < NI; j++) {
            sum[j] = ht_fma(to.beta, j < count ? ht_load(c + j * step) : 0, sum[j]);
        }
    }
    if (vectors) {
#pragma unroll
        for (int j = 0; j < NI / VEC; j++) {
            if (count > 0)
                ht_stg16(c + VEC * j, ht_pack(sum + VEC * j));
        }
    } else {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            if (j < count)
                ht_store(c + j * step, sum[j]);
        }
    }
}

// What is contiguous in C goes to neighbouring lanes. Rows of P, where columns of C are misaligned: two halves of a warp give each other one of
// two rows' numbers, so that each has 16 of the same 32 rows and all store 128 bytes of a column at once, not 64 bytes of two: sectors that are
// stored in parts cost a fifth (and the exchange 8 % where there are none). Columns of Q that cannot be stored by 16 bytes: NI lanes turn theirs, so that
// each has one column of NI rows; one by one, each in a line of its own, they took four times as long.
struct ht_lane_tile {
    int row, col;   // in the block's tile, of the lane's first number
    bool halves, transposed;
};

HT_DEVICE ht_lane_tile lane_tile_of(const ht_output_view &to, int tid)
{
    ht_lane_tile own;
    own.halves = to.row_step == 1 && (to.col_step % SECTOR != 0 || (unsigned long long)to.c % 32 != 0);
    own.transposed = !own.halves && to.col_step == 1 && !stores_vectors(to);
    const int half = tid / ROW_LANES & 1, lane = tid % NI;
    own.row = lane_row(tid) + (own.halves ? half * ROW_LANES : own.transposed ? -lane : 0); //@mutate own-numbers
    own.col = lane_column(tid) + (own.halves ? -half * NI : own.transposed ? lane : 0);
    return own;
}

HT_DEVICE void exchange_halves(ht_acc *v, ht_acc *w)
{
#pragma unroll
    for (int j = 0; j < NI; j++) {
        ht_acc both[2] = {v[j], w[j]};
        ht_lane_transpose<2, ROW_LANES>(both);
        v[j] = both[0];
        w[j] = both[1];
    }
}

HT_DEVICE void exchange(ht_acc (*sum)[NI], const ht_lane_tile &own)
{
    if (own.halves) {
#pragma unroll
        for (int i = 0; i < MI / 2; i++) {
            exchange_halves(sum[2 * i], sum[2 * i + 1]);
        }
    }
    if (own.transposed) {
#pragma unroll
        for (int i = 0; i < MI; i++) {
            ht_lane_transpose<NI, 1>(sum[i]);
        }
    }
}

HT_DEVICE void store_sums(const unpacked_args &args, ht_acc (*sum)[NI])
{
    const int zero = (int)ht_opaque(0), tid = (int)threadIdx.x + zero; // worked out once more: a place is not kept meanwhile
    const ht_tile_coord place = ht_tile_coord_of(args, zero);
    const ht_output_view to = ht_output_view_of(args, place.split);
    const ht_lane_tile own = lane_tile_of(to, tid);
    const int row = place.p_tile * BM + own.row, col = place.q_tile * BN + own.col;
    const bool vectors = stores_vectors(to) && args.q.rows - col >= NI;
    ht_real *const c = to.c + row * to.row_step + col * to.col_step;
    exchange(sum, own);
#pragma unroll
    for (int i = 0; i < MI; i++) {
        const int down = (own.halves ? i / 2 * 2 : i) * ROW_LANES, across = own.halves ? i % 2 * NI : 0;
        const int rows = args.p.rows - row - down, columns = args.q.rows - col - across; // that are left
        const int count = (own.transposed ? columns : rows) <= 0 ? 0 : own.transposed ? rows : columns;
        store_some(to, c + down * to.row_step + across * to.col_step, sum[i], count, vectors, own.transposed ? to.row_step : to.col_step);
    }
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    ht_acc sum[MI][NI];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            sum[i][j] = 0;
        }
    }
    multiply(sum, args, ht_smem_base<SMEM_BYTES>());
    store_sums(args, sum);
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_product_args &g, void *stream)
{
    unpacked_args args = ht_unpacked_args(g, ht_swap_ab(g.m, g.n, BM, BN, 0));
    args.chain_k = g.a.k <= CHAIN_K && (long long)g.m * g.n < SMALL_C ? SMALL_CHAIN_K : CHAIN_K;
    const ht_tile_grid grid = ht_grid_of(&args, (unsigned)((args.p.rows + BM - 1) / BM), (unsigned)((args.q.rows + BN - 1) / BN));
    const int bytes = ONE_CHAIN || g.a.k <= args.chain_k * g.splits ? SHORT_BYTES : SMEM_BYTES;
    return ht_launch_dependent(gemm, grid.x, grid.y, (unsigned)g.batch, THREADS, bytes, stream, args);
}
