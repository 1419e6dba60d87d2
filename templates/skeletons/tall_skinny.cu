#include "../samples/tall_skinny.h" //@drop
// ---- geometry: a tall matrix with few k, times up to BN columns of Q. Every row is short, so what is done once for a row counts, and a
// block takes BM of them, with all their k. Of each 32 k a thread multiplies four neighbours, its class, in four rows (of FP64 two of 16 k
// in two rows: half as many of all below):
//
//   lines of k:    8 threads a row, 32 rows side by side, four times     lines of rows:   32 threads beside each other, 4 rows each
//                  k   0..3 4..7 ... 28..31                                               row     0..3 4..7 ... 124..127
//                  row 0   thread 0 1 ... 7                                               k 0-3   thread 0    1   ...  31
//                  row 1   thread 8 9 ... 15                                              k 4-7   thread 32  33   ...  63
//
// Either way a line is read in pieces of 16 bytes by threads side by side, PREFETCH lines of 32 k at once. Results are the same bits: a class has
// a chain of FFMA for each BK of k, the chains are added up, then the eight classes through shared memory.
constexpr int THREADS = 256, K_LANES = 8, PER_THREAD = 16 / ELEMENT_BYTES; // PER_THREAD: rows of a thread, k of a class
constexpr int LINE = K_LANES * PER_THREAD, PREFETCH = BK / LINE;
constexpr int MANY_SETS = PREFETCH * BN > 8 ? PREFETCH / 2 : PREFETCH; // of rows of a block that has many: 33 KB of sums at most
constexpr int THREADS_PER_K_LANE = THREADS / K_LANES;          // threads of a class
// Of a block of SETS sets of rows: rows, a class's sums in shared memory (16 bytes more: classes of neighbouring threads in other banks), bytes of all.
template <int SETS> constexpr int ROWS = SETS * BM;
template <int SETS> constexpr int PITCH = BN * ROWS<SETS> + PER_THREAD;
template <int SETS> constexpr int SMEM_BYTES = ELEMENT_BYTES * K_LANES * PITCH<SETS>;
static_assert(BM == THREADS_PER_K_LANE * PER_THREAD, "each class has all rows");

// What a thread reads.
struct tall_skinny_task {
    const ht_real *p, *q;         // of the batch entry, the block's first row and column
    long long p_line, q_k, q_col; // elements from line to line of P, from k to k and from column to column of Q
    int rows, cols;               // of P and Q, from there on
    int lane_in_group, lane_k;            // which of its class it is; its first k of each LINE
    int end;                      // k
};

// The thread's row i of a set, from the block's first on. Where rows are contiguous and are loaded by fours they are neighbours.
template <bool P_K_MAJOR, bool WIDE> HT_DEVICE int row_of(const tall_skinny_task &t, int set, int i)
{
    return set * BM + (!P_K_MAJOR && WIDE ? t.lane_in_group * PER_THREAD + i : t.lane_in_group + i * THREADS_PER_K_LANE);
}

// The same, or the last that is there instead: its result is not stored.
template <bool P_K_MAJOR, bool WIDE> HT_DEVICE int nearest_row(const tall_skinny_task &t, int set, int i)
{
    const int row = row_of<P_K_MAJOR, WIDE>(t, set, i);
    return row < t.rows ? row : t.rows - 1; //@mutate near-row
}

// The class's k of the thread's rows from k on, of which `there` exist: v[row][k] where lines are k, else v[k][row]. WIDE: lines are there by 16 bytes.
template <bool P_K_MAJOR, bool WIDE> HT_DEVICE void load_rows(ht_real (*v)[PER_THREAD], const tall_skinny_task &t, int set, int k, int there)
{
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        ht_clear_vec(v[i]);
        if (WIDE) {
            const ht_real *from = P_K_MAJOR ? t.p + nearest_row<P_K_MAJOR, WIDE>(t, set, i) * t.p_line + k : t.p + (k + i) * t.p_line + row_of<P_K_MAJOR, WIDE>(t, set, 0);
            if (there > (P_K_MAJOR ? 0 : i))
                ht_unpack(v[i], ht_ld16_once(from, true));
        } else {
#pragma unroll
            for (int e = 0; e < PER_THREAD; e++) {
                const int row = nearest_row<P_K_MAJOR, WIDE>(t, set, P_K_MAJOR ? i : e), at = P_K_MAJOR ? e : i;
                if (there > at)
                    v[i][e] = ht_load(t.p + (P_K_MAJOR ? row * t.p_line + k + at : (k + at) * t.p_line + row));
            }
        }
    }
}

// The same k of a column of Q, one by one: few threads have different ones.
HT_DEVICE void load_column(ht_real *v, const ht_real *from, long long q_k, int there)
{
#pragma unroll
    for (int e = 0; e < PER_THREAD; e++) {
        v[e] = there > e ? ht_load(from) : 0;
        from += q_k;
    }
}

// A step: PREFETCH lines of P from k on, times Q, in a chain for each result. WHOLE: all of their k are there.
template <bool P_K_MAJOR, bool WIDE, bool WHOLE> HT_DEVICE void multiply_step(ht_acc (*sum)[PER_THREAD], const tall_skinny_task &t, int k)
{
    ht_real x[PREFETCH][PER_THREAD][PER_THREAD];
    const int own = k + t.lane_k;
#pragma unroll
    for (int l = 0; l < PREFETCH; l++) {
        load_rows<P_K_MAJOR, WIDE>(x[l], t, 0, own + l * LINE, WHOLE ? PER_THREAD : t.end - own - l * LINE);
    }
    const ht_real *column = t.q + own * t.q_k;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_acc chain[PER_THREAD] = {};
#pragma unroll
        for (int l = 0; l < PREFETCH; l++) {
            ht_real y[PER_THREAD];
            load_column(y, column + l * LINE * t.q_k, t.q_k, WHOLE ? PER_THREAD : t.end - own - l * LINE);
#pragma unroll
            for (int e = 0; e < PER_THREAD; e++) {
#pragma unroll
                for (int i = 0; i < PER_THREAD; i++) {
                    chain[i] = ht_fma(P_K_MAJOR ? x[l][i][e] : x[l][e][i], y[e], chain[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
            sum[c][i] = ht_add(sum[c][i], chain[i]);
        }
        column += c + 1 < t.cols ? t.q_col : 0; // of one too many the result is not stored
    }
}

// All k, then a class's sums of the thread's rows into shared memory.
template <bool P_K_MAJOR, bool WIDE> HT_DEVICE void multiply_steps(const tall_skinny_task &t, unsigned to)
{
    ht_acc sum[BN][PER_THREAD];
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_clear_vec(sum[c]);
    }
    int k = 0;
#pragma unroll 1
    for (; k + BK <= t.end; k += BK)
        multiply_step<P_K_MAJOR, WIDE, true>(sum, t, k);
    if (k < t.end)
        multiply_step<P_K_MAJOR, WIDE, false>(sum, t, k);
#pragma unroll
    for (int c = 0; c < BN; c++) {
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++) {
            ht_smem_store(to + (unsigned)(c * BM + row_of<P_K_MAJOR, WIDE>(t, 0, i)) * ELEMENT_BYTES, sum[c][i]);
        }
    }
}

// The same where k is one line at most, in a block of MANY_SETS sets of rows: COUNT of them at once from set `first` on.
template <bool P_K_MAJOR, bool WIDE, int COUNT> HT_DEVICE void multiply_sets(const tall_skinny_task &t, int first, unsigned to)
{
    ht_real x[COUNT][PER_THREAD][PER_THREAD];
    for (int s = 0; s < COUNT; s++)
        load_rows<P_K_MAJOR, WIDE>(x[s], t, first + s, t.lane_k, t.end - t.lane_k);
    const ht_real *column = t.q + t.lane_k * t.q_k;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_real y[PER_THREAD];
        load_column(y, column, t.q_k, t.end - t.lane_k);
        for (int s = 0; s < COUNT; s++) {
#pragma unroll
            for (int i = 0; i < PER_THREAD; i++) {
                ht_acc chain = 0;
#pragma unroll
                for (int e = 0; e < PER_THREAD; e++) {
                    chain = ht_fma(P_K_MAJOR ? x[s][i][e] : x[s][e][i], y[e], chain);
                }
                ht_smem_store(to + (unsigned)(c * MANY_SETS * BM + row_of<P_K_MAJOR, WIDE>(t, first + s, i)) * ELEMENT_BYTES, chain);
            }
        }
        column += c + 1 < t.cols ? t.q_col : 0;
    }
}

// One result from the sums of its classes.
template <int SETS> HT_DEVICE ht_acc add_k_lanes(unsigned from)
{
    ht_acc v[K_LANES];
    for (int i = 0; i < K_LANES; i++)
        v[i] = ht_smem_load(from + (unsigned)(i * PITCH<SETS>) * ELEMENT_BYTES);
    for (int half = K_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            v[i] = ht_add(v[i], v[i + half]); //@mutate add-classes
    return v[0];
}

// The first row of P and column of Q of a block. args.folded counts tiles of Q here: the next block has the next columns, so that it reads from
// L2 what this one has read of P. zero: added to what says which block it is.
struct tall_skinny_tile {
    int row0, col0;
};

template <int SETS> HT_DEVICE tall_skinny_tile find_tile(const unpacked_args &args, int zero)
{
    const int x = (int)blockIdx.x + zero, q_tiles = args.folded, p_tile = q_tiles > 1 ? x / q_tiles : x;
    return {p_tile * ROWS<SETS>, (x - p_tile * q_tiles) * BN}; //@mutate find-place
}

// From a class's sums to C.
template <int SETS> HT_DEVICE void store_tile(const unpacked_args &args, const tall_skinny_tile &place, unsigned smem)
{
    const ht_output_view to = ht_output_view_of(args, 0);
    const int rows = args.p.rows - place.row0, cols = args.q.rows - place.col0;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ROWS<SETS> * BN; i += THREADS) {
        const int row = i % ROWS<SETS>, col = i / ROWS<SETS>;
        if (row < rows && col < cols) {
            ht_real *at = to.c + (place.row0 + row) * to.row_step + (place.col0 + col) * to.col_step;
            ht_store(at, ht_element(to, at, add_k_lanes<SETS>(smem + (unsigned)i * ELEMENT_BYTES)));
        }
    }
}

template <bool P_K_MAJOR, int SETS> HT_DEVICE void multiply_tile(const unpacked_args &args, unsigned smem)
{
    const tall_skinny_tile place = find_tile<SETS>(args, 0);
    const int tid = (int)threadIdx.x, k_lane = P_K_MAJOR ? tid % K_LANES : tid / THREADS_PER_K_LANE;
    tall_skinny_task t;
    t.p_line = P_K_MAJOR ? args.p.row_step : args.p.k_step;
    t.q_k = args.q.k_step;
    t.q_col = args.q.row_step;
    t.p = args.p.src + (long long)blockIdx.z * args.p.stride + place.row0 * (P_K_MAJOR ? t.p_line : 1);
    t.q = args.q.src + (long long)blockIdx.z * args.q.stride + place.col0 * t.q_col;
    t.rows = args.p.rows - place.row0;
    t.cols = args.q.rows - place.col0;
    t.lane_in_group = P_K_MAJOR ? tid / K_LANES : tid % THREADS_PER_K_LANE;
    t.lane_k = k_lane * PER_THREAD; //@mutate multiply-tile-9
    t.end = args.k;
    const unsigned to = smem + (unsigned)(k_lane * PITCH<SETS>) * ELEMENT_BYTES; //@mutate multiply-tile-8
    const bool wide = args.p.wide != 0 && (P_K_MAJOR ? t.end % PER_THREAD == 0 : t.rows >= ROWS<SETS>);
    ht_pdl_wait(); // what comes before is worked out while the launch before this one ends
    ht_pdl_trigger();
    if constexpr (SETS > 1) {
        if (wide)
            multiply_sets<P_K_MAJOR, true, SETS>(t, 0, to);
        for (int set = 0; !wide && set < SETS; set++)
            multiply_sets<P_K_MAJOR, false, 1>(t, set, to);
    } else {
        if (wide)
            multiply_steps<P_K_MAJOR, true>(t, to);
        else
            multiply_steps<P_K_MAJOR, false>(t, to);
    }
    ht_barrier(); //@mutate tall-skinny-multiply-tile
    store_tile<SETS>(args, find_tile<SETS>(args, (int)ht_opaque(0)), smem); // found again: no registers for it in between
}

template <int SETS> static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES<SETS>>();
    if (args.p.k_major)
        multiply_tile<true, SETS>(args, smem);
    else
        multiply_tile<false, SETS>(args, smem);
}

static int init(void)
{
    const int code = ht_allow_smem(gemm<1>, SMEM_BYTES<1>);
    return code != 0 ? code : ht_allow_smem(gemm<MANY_SETS>, SMEM_BYTES<MANY_SETS>);
}

template <int SETS> static int launch_sets(unpacked_args args, unsigned batch, void *stream)
{
    const unsigned p_tiles = (unsigned)((args.p.rows + ROWS<SETS> - 1) / ROWS<SETS>), q_tiles = (unsigned)((args.q.rows + BN - 1) / BN);
    args.folded = (int)q_tiles;
    return ht_launch_dependent(gemm<SETS>, p_tiles * q_tiles, 1, batch, THREADS, SMEM_BYTES<SETS>, stream, args);
}

static int launch(const ht_product_args &g, void *stream)
{
    constexpr long long MANY_ROWS = 2LL * BM * SMS; // two blocks an SM: more come one after the other
    const unpacked_args args = ht_unpacked_args(g, ht_swap_ab(g.m, g.n, BM, BN, 0));
    return args.k <= LINE && args.p.rows > MANY_ROWS ? launch_sets<MANY_SETS>(args, (unsigned)g.batch, stream)
                                                     : launch_sets<1>(args, (unsigned)g.batch, stream);
}
