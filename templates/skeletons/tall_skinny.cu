#include "../samples/tall_skinny.h" //@drop
// ---- geometry: a tall matrix with few k, times up to BN columns of Q. Every row is short, so what is done once for a row counts, and a
// block takes BM of them, with all their k. Of each 32 k a thread multiplies four neighbours, its class, in four rows:
//
//   lines of k:    8 threads a row, 32 rows side by side, four times     lines of rows:   32 threads beside each other, 4 rows each
//                  k   0..3 4..7 ... 28..31                                               row     0..3 4..7 ... 124..127
//                  row 0   thread 0 1 ... 7                                               k 0-3   thread 0    1   ...  31
//                  row 1   thread 8 9 ... 15                                              k 4-7   thread 32  33   ...  63
//
// Either way a line is read in pieces of 16 bytes by threads side by side, AHEAD lines of 32 k at once. Results are the same bits: a class has
// a chain of multiply-adds for each BK of k, the chains are added up, then the eight classes through shared memory.
constexpr int THREADS = 256, CLASSES = 8, OWN = 4; // OWN: rows of a thread, k of a class
constexpr int LINE = CLASSES * OWN, AHEAD = BK / LINE;
constexpr int BESIDE = THREADS / CLASSES;          // threads of a class
// Of a block of SETS sets of rows: rows, a class's sums in shared memory (4: classes of neighbouring threads in other banks), bytes of all.
template <int SETS> constexpr int ROWS = SETS * BM;
template <int SETS> constexpr int PITCH = BN * ROWS<SETS> + 4;
template <int SETS> constexpr int SMEM_BYTES = 4 * CLASSES * PITCH<SETS>;
static_assert(BM == BESIDE * OWN, "each class has all rows");

// What a thread reads.
struct tall_task {
    const float *p, *q;           // of the batch entry, the block's first row and column
    long long p_line, q_k, q_col; // elements from line to line of P, from k to k and from column to column of Q
    int rows, cols;               // of P and Q, from there on
    int member, own_k;            // which of its class it is; its first k of each 32
    int end;                      // k
};

// The thread's row i of a set, from the block's first on. Where rows lie side by side and are loaded by fours they are neighbours.
template <bool P_K, bool WIDE> HT_DEVICE int row_of(const tall_task &t, int set, int i)
{
    return set * BM + (!P_K && WIDE ? t.member * OWN + i : t.member + i * BESIDE);
}

// The same, or the last that is there instead: its result is not stored.
template <bool P_K, bool WIDE> HT_DEVICE int near_row(const tall_task &t, int set, int i)
{
    const int row = row_of<P_K, WIDE>(t, set, i);
    return row < t.rows ? row : t.rows - 1;
}

// Four k of the thread's rows from k on, of which `there` exist: v[row][k] where lines are k, else v[k][row]. WIDE: lines are there by fours.
template <bool P_K, bool WIDE> HT_DEVICE void load_rows(float (*v)[OWN], const tall_task &t, int set, int k, int there)
{
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        v[i][0] = v[i][1] = v[i][2] = v[i][3] = 0.0f;
        if (WIDE) {
            const float *from = P_K ? t.p + near_row<P_K, WIDE>(t, set, i) * t.p_line + k : t.p + (k + i) * t.p_line + row_of<P_K, WIDE>(t, set, 0);
            if (there > (P_K ? 0 : i))
                ht_numbers_of(v[i], ht_ld16_once(from, true));
        } else {
#pragma unroll
            for (int e = 0; e < OWN; e++) {
                const int row = near_row<P_K, WIDE>(t, set, P_K ? i : e), at = P_K ? e : i;
                if (there > at)
                    v[i][e] = ht_ldg4(t.p + (P_K ? row * t.p_line + k + at : (k + at) * t.p_line + row));
            }
        }
    }
}

// The same k of a column of Q, one by one: few threads have different ones.
HT_DEVICE void load_column(float *v, const float *from, long long q_k, int there)
{
#pragma unroll
    for (int e = 0; e < OWN; e++) {
        v[e] = there > e ? ht_ldg4(from) : 0.0f;
        from += q_k;
    }
}

// A step: AHEAD lines of P from k on, times Q, in a chain for each result. WHOLE: all of their k are there.
template <bool P_K, bool WIDE, bool WHOLE> HT_DEVICE void multiply_step(ht_acc (*sum)[OWN], const tall_task &t, int k)
{
    float x[AHEAD][OWN][OWN];
    const int own = k + t.own_k;
#pragma unroll
    for (int l = 0; l < AHEAD; l++) {
        load_rows<P_K, WIDE>(x[l], t, 0, own + l * LINE, WHOLE ? OWN : t.end - own - l * LINE);
    }
    const float *column = t.q + own * t.q_k;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        float chain[OWN] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int l = 0; l < AHEAD; l++) {
            float y[OWN];
            load_column(y, column + l * LINE * t.q_k, t.q_k, WHOLE ? OWN : t.end - own - l * LINE);
#pragma unroll
            for (int e = 0; e < OWN; e++) {
#pragma unroll
                for (int i = 0; i < OWN; i++) {
                    chain[i] = __fmaf_rn(P_K ? x[l][i][e] : x[l][e][i], y[e], chain[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            sum[c][i] = __fadd_rn(sum[c][i], chain[i]);
        }
        column += c + 1 < t.cols ? t.q_col : 0; // of one too many the result is not stored
    }
}

// All k, then a class's sums of the thread's rows into shared memory.
template <bool P_K, bool WIDE> HT_DEVICE void multiply_steps(const tall_task &t, unsigned to)
{
    ht_acc sum[BN][OWN];
#pragma unroll
    for (int c = 0; c < BN; c++) {
        sum[c][0] = sum[c][1] = sum[c][2] = sum[c][3] = 0.0f;
    }
    int k = 0;
#pragma unroll 1
    for (; k + BK <= t.end; k += BK)
        multiply_step<P_K, WIDE, true>(sum, t, k);
    if (k < t.end)
        multiply_step<P_K, WIDE, false>(sum, t, k);
#pragma unroll
    for (int c = 0; c < BN; c++) {
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            ht_sts4(to + (unsigned)(c * BM + row_of<P_K, WIDE>(t, 0, i)) * 4, sum[c][i]);
        }
    }
}

// The same where k is one line at most, in a block of AHEAD sets of rows: COUNT of them at once from set `first` on.
template <bool P_K, bool WIDE, int COUNT> HT_DEVICE void multiply_sets(const tall_task &t, int first, unsigned to)
{
    float x[COUNT][OWN][OWN];
    for (int s = 0; s < COUNT; s++)
        load_rows<P_K, WIDE>(x[s], t, first + s, t.own_k, t.end - t.own_k);
    const float *column = t.q + t.own_k * t.q_k;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        float y[OWN];
        load_column(y, column, t.q_k, t.end - t.own_k);
        for (int s = 0; s < COUNT; s++) {
#pragma unroll
            for (int i = 0; i < OWN; i++) {
                float chain = 0.0f;
#pragma unroll
                for (int e = 0; e < OWN; e++) {
                    chain = __fmaf_rn(P_K ? x[s][i][e] : x[s][e][i], y[e], chain);
                }
                ht_sts4(to + (unsigned)(c * AHEAD * BM + row_of<P_K, WIDE>(t, first + s, i)) * 4, chain);
            }
        }
        column += c + 1 < t.cols ? t.q_col : 0;
    }
}

// One result from the sums of its classes.
template <int SETS> HT_DEVICE float add_classes(unsigned from)
{
    float v[CLASSES];
    for (int i = 0; i < CLASSES; i++)
        v[i] = ht_lds4(from + (unsigned)(i * PITCH<SETS>) * 4);
    for (int half = CLASSES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            v[i] = __fadd_rn(v[i], v[i + half]);
    return v[0];
}

// The first row of P and column of Q of a block. args.folded counts tiles of Q here: the next block has the next columns, so that it reads from
// L2 what this one has read of P. zero: added to what says which block it is.
struct tall_place {
    int row0, col0;
};

template <int SETS> HT_DEVICE tall_place find_place(const direct_args &args, int zero)
{
    const int x = (int)blockIdx.x + zero, q_tiles = args.folded, p_tile = q_tiles > 1 ? x / q_tiles : x;
    return {p_tile * ROWS<SETS>, (x - p_tile * q_tiles) * BN};
}

// From a class's sums to C.
template <int SETS> HT_DEVICE void store_tile(const direct_args &args, const tall_place &place, unsigned smem)
{
    const ht_target to = ht_target_of(args, 0);
    const int rows = args.p.rows - place.row0, cols = args.q.rows - place.col0;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < ROWS<SETS> * BN; i += THREADS) {
        const int row = i % ROWS<SETS>, col = i / ROWS<SETS>;
        if (row < rows && col < cols) {
            float *at = to.c + (place.row0 + row) * to.row_step + (place.col0 + col) * to.col_step;
            ht_stg4(at, ht_element(to, at, add_classes<SETS>(smem + (unsigned)i * 4)));
        }
    }
}

template <bool P_K, int SETS> HT_DEVICE void multiply_tile(const direct_args &args, unsigned smem)
{
    const tall_place place = find_place<SETS>(args, 0);
    const int tid = (int)threadIdx.x, own_class = P_K ? tid % CLASSES : tid / BESIDE;
    tall_task t;
    t.p_line = P_K ? args.p.row_step : args.p.k_step;
    t.q_k = args.q.k_step;
    t.q_col = args.q.row_step;
    t.p = args.p.src + (long long)blockIdx.z * args.p.stride + place.row0 * (P_K ? t.p_line : 1);
    t.q = args.q.src + (long long)blockIdx.z * args.q.stride + place.col0 * t.q_col;
    t.rows = args.p.rows - place.row0;
    t.cols = args.q.rows - place.col0;
    t.member = P_K ? tid / CLASSES : tid % BESIDE;
    t.own_k = own_class * OWN;
    t.end = args.k;
    const unsigned to = smem + (unsigned)(own_class * PITCH<SETS>) * 4;
    const bool wide = args.p.wide != 0 && (P_K ? t.end % OWN == 0 : t.rows >= ROWS<SETS>);
    ht_grid_wait(); // what comes before is worked out while the launch before this one ends
    ht_grid_release();
    if constexpr (SETS > 1) {
        if (wide)
            multiply_sets<P_K, true, SETS>(t, 0, to);
        for (int set = 0; !wide && set < SETS; set++)
            multiply_sets<P_K, false, 1>(t, set, to);
    } else {
        if (wide)
            multiply_steps<P_K, true>(t, to);
        else
            multiply_steps<P_K, false>(t, to);
    }
    ht_barrier();
    store_tile<SETS>(args, find_place<SETS>(args, (int)ht_anew(0)), smem); // found again: no registers for it in between
}

template <int SETS> static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const direct_args args)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES<SETS>>();
    if (args.p.k_contiguous)
        multiply_tile<true, SETS>(args, smem);
    else
        multiply_tile<false, SETS>(args, smem);
}

static int init(void)
{
    const int code = ht_allow_smem(gemm<1>, SMEM_BYTES<1>);
    return code != 0 ? code : ht_allow_smem(gemm<AHEAD>, SMEM_BYTES<AHEAD>);
}

template <int SETS> static int launch_sets(direct_args args, unsigned batch, void *stream)
{
    const unsigned p_tiles = (unsigned)((args.p.rows + ROWS<SETS> - 1) / ROWS<SETS>), q_tiles = (unsigned)((args.q.rows + BN - 1) / BN);
    args.folded = (int)q_tiles;
    return ht_launch_dependent(gemm<SETS>, p_tiles * q_tiles, 1, batch, THREADS, SMEM_BYTES<SETS>, stream, args);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    constexpr long long MANY_ROWS = 2LL * BM * SMS; // two blocks an SM: more come one after the other
    const direct_args args = ht_direct_args(g, ht_swap_ab(g.m, g.n, BM, BN, 0));
    return args.k <= LINE && args.p.rows > MANY_ROWS ? launch_sets<AHEAD>(args, (unsigned)g.batch, stream)
                                                     : launch_sets<1>(args, (unsigned)g.batch, stream);
}
