#include "sample_thin.h" //@drop
// ---- geometry: a matrix and a few vectors; C's columns (or rows) are up to BN. Nothing but device memory limits this, so all that
// matters is how much of P is on its way: a warp asks for LINES lines of P at once, eight lanes of 16 bytes each, AHEAD times
// before it multiplies. Lines are rows of P where k is contiguous, else k:
//
//   lines of k:     BM rows, SPREAD warps side by side along k           lines of rows:  32 rows, 32 k, the warps' one after the other
//   (BM = 8)        row  k 0..31   k 32..63   k 64..95   k 96..127                        k       row 0..31
//                   0-3  warp 0    warp 2     warp 4     warp 6                            0-3     warp 0
//                   4-7  warp 1    warp 3     warp 5     warp 7                            4-7     warp 1 ...
//
// Q is small: it comes from the caches. FP32 multiply-adds, 32 * SPREAD chains for each result: one for each remainder of k. They
// are added up in the same order both ways, so the bits do not depend on how P lies.
constexpr int THREADS = 256, WARPS = THREADS / WAVE;
constexpr int LANES = 8, LINES = WAVE / LANES; // lanes of a line, lines of a warp
constexpr int LINE = 4 * LANES, AHEAD = BK / LINE;
constexpr int WARPS_M = BM / LINES, SPREAD = WARPS / WARPS_M, FEW = SPREAD;
template <bool P_K> constexpr int ROWS = P_K ? BM : LINE;             // of a block
template <bool P_K> constexpr int SETS = P_K ? 1 : SPREAD;            // of sums in a thread, one load after the other
template <bool P_K> constexpr int NEXT = P_K ? LINE * SPREAD : LINE;  // k from load to load
template <bool P_K> constexpr int STEP = NEXT<P_K> *AHEAD;            // k of a block at once
constexpr int SMEM_BYTES = 4 * SPREAD * LANES * BN * LINE;
static_assert(WARPS * LINES == LINE && WARPS % WARPS_M == 0 && AHEAD % SPREAD == 0, "32 k, whole sets");
static_assert(LINE * BN <= THREADS, "a thread of the block for each result");

// What a thread reads: its row (or four) of P and the block's of Q, up to k = end.
struct thin_task {
    const float *p, *q;
    long long p_k, q_k, q_col; // elements from k to k, from column to column
    int cols, rows;            // of Q and, where rows lie side by side, of P: that there are
    int end;
    bool wide; // P's lines begin at multiples of 16 bytes
};

// How numbers of Q are loaded where a load of P has four k: those of a column at once, those of four columns, or one by one.
constexpr int Q_BY_K = 0, Q_BY_COLUMNS = 1, Q_BY_ONE = 2;
template <int Q> constexpr int LOADS = Q == Q_BY_K || BN == 1 ? AHEAD : AHEAD / 2; // of P at once: Q's places need registers too

HT_DEVICE void load_four(float *v, const float *from)
{
    const uint4 x = ht_ld16_once(from);
    v[0] = ht_as_float(x.x);
    v[1] = ht_as_float(x.y);
    v[2] = ht_as_float(x.z);
    v[3] = ht_as_float(x.w);
}

// Up to four numbers `step` apart; `there` of them exist.
HT_DEVICE void load_some(float *v, const float *from, long long step, int there)
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        v[e] = there > e ? ht_ldg4(from + e * step) : 0.0f;
    }
}

// Where k is contiguous in both, and all of it is there: a load of P times what it meets in each column of Q.
HT_DEVICE void multiply_by_four(ht_acc (*sum)[4], const float *p, const float *q, const thin_task &t)
{
    const long long q_col = ht_anew(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
        const uint4 x = ht_ld16(q);
        sum[c][0] = __fmaf_rn(p[0], ht_as_float(x.x), sum[c][0]);
        sum[c][1] = __fmaf_rn(p[1], ht_as_float(x.y), sum[c][1]);
        sum[c][2] = __fmaf_rn(p[2], ht_as_float(x.z), sum[c][2]);
        sum[c][3] = __fmaf_rn(p[3], ht_as_float(x.w), sum[c][3]);
        q += c + 1 < t.cols ? q_col : 0; // of one too many the result is not stored
    }
}

// Where the columns of Q lie side by side, and four are there: a load for each k.
HT_DEVICE void multiply_by_columns(ht_acc (*sum)[4], const float *p, const float *q, const thin_task &t)
{
    const long long q_k = ht_anew(t.q_k);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const uint4 four = ht_ld16(q);
        const float x[4] = {ht_as_float(four.x), ht_as_float(four.y), ht_as_float(four.z), ht_as_float(four.w)};
#pragma unroll
        for (int c = 0; c < BN; c++) {
            sum[c][e] = __fmaf_rn(p[e], x[c % 4], sum[c][e]);
        }
        q += q_k;
    }
}

// However Q lies, where all four k are there.
HT_DEVICE void multiply_by_each(ht_acc (*sum)[4], const float *p, const float *q, const thin_task &t)
{
    const long long q_k = ht_anew(t.q_k), q_col = ht_anew(t.q_col);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const float *at = q;
#pragma unroll
        for (int c = 0; c < BN; c++) {
            sum[c][e] = __fmaf_rn(p[e], ht_ldg4(at), sum[c][e]);
            at += c + 1 < t.cols ? q_col : 0;
        }
        q += q_k;
    }
}

// Where a load of P has one k.
HT_DEVICE void multiply_by_one(ht_acc (*sum)[4], const float *p, const float *q, const thin_task &t)
{
    const long long q_col = ht_anew(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
        const float x = ht_ldg4(q);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            sum[c][e] = __fmaf_rn(p[e], x, sum[c][e]);
        }
        q += c + 1 < t.cols ? q_col : 0;
    }
}

// However Q lies; `there` of the load's k exist.
template <bool P_K> HT_DEVICE void multiply_by_any(ht_acc (*sum)[4], const float *p, const float *q, const thin_task &t, int there)
{
    const long long q_col = ht_anew(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int k = P_K ? e : 0;
            sum[c][e] = __fmaf_rn(p[e], there > k ? ht_ldg4(q + k * t.q_k) : 0.0f, sum[c][e]);
        }
        q += c + 1 < t.cols ? q_col : 0;
    }
}

// LOADS loads of P, from k on, times Q. WIDE: P's are one of 16 bytes each, else four. WHOLE: all is there; else the first load is, and
// instead of one that is not all there the last that is comes again, and is left out of the sums: no load waits for a branch.
template <bool P_K, bool WIDE, int Q, bool WHOLE> HT_DEVICE void multiply_ahead(ht_acc (*sum)[BN][4], const thin_task &t, int k)
{
    const long long p_step = NEXT<P_K> * (P_K ? 1 : ht_anew(t.p_k)), q_step = NEXT<P_K> * (P_K && Q == Q_BY_K ? 1 : ht_anew(t.q_k));
    const float *from = t.p + (P_K ? k : k * t.p_k), *q = t.q + (P_K && Q == Q_BY_K ? k : k * t.q_k);
    const int last = (t.end - k - (P_K ? 4 : 1)) / NEXT<P_K>; // load that is all there
    float p[AHEAD][4];
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        if (u < LOADS<Q>) {
            if (WIDE)
                load_four(p[u], from);
            else
                load_some(p[u], from, 1, 4);
            from += WHOLE || u < last ? p_step : 0;
        }
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        if (u < LOADS<Q> && (WHOLE || u <= last)) {
            if (!P_K)
                multiply_by_one(sum[u % SETS<P_K>], p[u], q, t);
            else if (Q == Q_BY_K)
                multiply_by_four(sum[0], p[u], q, t);
            else if (Q == Q_BY_COLUMNS)
                multiply_by_columns(sum[0], p[u], q, t);
            else
                multiply_by_each(sum[0], p[u], q, t);
        }
        q += q_step;
    }
}

// FEW loads, whatever there is of them. Less is on its way, but there is not as much code of all these cases.
template <bool P_K> HT_DEVICE void multiply_few(ht_acc (*sum)[BN][4], const thin_task &t, int k)
{
    float p[FEW][4];
#pragma unroll
    for (int u = 0; u < FEW; u++) {
        const int at = k + u * NEXT<P_K>, there = P_K ? t.end - at : at < t.end ? t.rows : 0;
        const float *from = t.p + (P_K ? at : at * t.p_k);
        if (t.wide && there >= 4) {
            load_four(p[u], from);
        } else {
            load_some(p[u], from, 1, there);
        }
    }
#pragma unroll
    for (int u = 0; u < FEW; u++) {
        const int at = k + u * NEXT<P_K>;
        multiply_by_any<P_K>(sum[u % SETS<P_K>], p[u], t.q + at * t.q_k, t, t.end - at);
    }
}

// A thread's share of k from `first` on, as far as all of LOADS loads is there; returns where it ends.
template <bool P_K, bool WIDE, int Q> HT_DEVICE int multiply_whole(ht_acc (*sum)[BN][4], const thin_task &t, int first)
{
    const int reach = (LOADS<Q> - 1) * NEXT<P_K> + (P_K ? 4 : 1); // k of a thread at once
    int k = first;
#pragma unroll 1
    for (; k + reach <= t.end; k += LOADS<Q> * NEXT<P_K>)
        multiply_ahead<P_K, WIDE, Q, true>(sum, t, k);
    return k;
}

// The rest of it, where P and Q lie well.
template <bool P_K> HT_DEVICE void multiply_rest(ht_acc (*sum)[BN][4], const thin_task &t, int k)
{
    if (k + (P_K ? 4 : 1) <= t.end)
        multiply_ahead<P_K, true, Q_BY_K, false>(sum, t, k);
    if constexpr (P_K) { // up to three k are left to one lane
        while (k + 4 <= t.end)
            k += NEXT<P_K>;
        if (k < t.end)
            multiply_few<P_K>(sum, t, k);
    }
}

// All of it. q_wide: lines of Q begin at multiples of 16 bytes.
template <bool P_K> HT_DEVICE void multiply_all(ht_acc (*sum)[BN][4], const thin_task &t, int first, bool q_wide)
{
    int k = first;
    if (t.wide && (!P_K || (q_wide && t.q_k == 1))) {
        multiply_rest<P_K>(sum, t, multiply_whole<P_K, true, Q_BY_K>(sum, t, first));
        return;
    }
    if (P_K && t.wide)
        k = BN == 4 && q_wide && t.cols >= 4 ? multiply_whole<P_K, true, Q_BY_COLUMNS>(sum, t, first)
                                             : multiply_whole<P_K, true, Q_BY_ONE>(sum, t, first);
    else if (P_K || t.rows >= 4)
        k = multiply_whole<P_K, false, Q_BY_ONE>(sum, t, first);
#pragma unroll 1
    for (; k < t.end; k += STEP<P_K>) {
#pragma unroll 1
        for (int u = 0; u < AHEAD; u += FEW)
            multiply_few<P_K>(sum, t, k + u * NEXT<P_K>);
    }
}

HT_DEVICE float add_lanes(float v, int lanes)
{
    return __fadd_rn(v, ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(v), lanes)));
}

// Where a sum waits in shared memory: [spread][lanes of a line, if they are not added up yet][column][row].
template <bool P_K> HT_DEVICE unsigned sum_at(unsigned smem, int spread, int group, int c, int row)
{
    return smem + (unsigned)(((P_K ? spread : spread * LANES + group) * BN + c) * ROWS<P_K> + row) * 4;
}

// A thread's sums where a row's k are four of its numbers and eight lanes: added up here.
HT_DEVICE void leave_k_sums(unsigned smem, ht_acc (*sum)[BN][4], int warp, int lane)
{
    const int row = warp % WARPS_M * LINES + lane / LANES;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        float v = __fadd_rn(__fadd_rn(sum[0][c][0], sum[0][c][1]), __fadd_rn(sum[0][c][2], sum[0][c][3]));
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
            v = add_lanes(v, lanes);
        if (lane % LANES == 0)
            ht_sts4(sum_at<true>(smem, warp / WARPS_M, 0, c, row), v);
    }
}

// Where they are four lines and eight groups of those, not all in one warp: the lines are added up here.
HT_DEVICE void leave_row_sums(unsigned smem, ht_acc (*sum)[BN][4], int warp, int lane)
{
    const int line = lane / LANES, group = (warp * LINES + line) / 4;
#pragma unroll
    for (int set = 0; set < SPREAD; set++) {
#pragma unroll
        for (int c = 0; c < BN; c++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float v = add_lanes(add_lanes(sum[set][c][e], LANES), 2 * LANES);
                if (line % 4 == 0)
                    ht_sts4(sum_at<false>(smem, set, group, c, lane % LANES * 4 + e), v);
            }
        }
    }
}

// One result from what waits in shared memory.
template <bool P_K> HT_DEVICE float add_warps(unsigned smem, int c, int row)
{
    float sum = 0.0f;
    for (int spread = 0; spread < SPREAD; spread++) {
        float v[LANES];
        if (P_K) {
            v[0] = ht_lds4(sum_at<true>(smem, spread, 0, c, row));
        } else { // as the lanes of leave_k_sums
            for (int i = 0; i < LANES; i++)
                v[i] = ht_lds4(sum_at<false>(smem, spread, i, c, row));
            for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
                for (int i = 0; i < lanes; i++)
                    v[i] = __fadd_rn(v[i], v[i + lanes]);
        }
        sum = __fadd_rn(sum, v[0]);
    }
    return sum;
}

// A thread's place in its block, and the block's in C.
struct thin_place {
    int tid, warp, lane, row0, col0;
};

// Worked out where it is needed, so that nothing of it is kept in registers while the loop has them all.
template <bool P_K> HT_DEVICE thin_place find_thin_place(const direct_args &args)
{
    const int none = (int)ht_anew(0), tiles = (args.p.rows + none + ROWS<P_K> - 1) / ROWS<P_K>;
    thin_place at;
    at.tid = (int)threadIdx.x + none;
    at.warp = at.tid / WAVE;
    at.lane = at.tid % WAVE;
    at.row0 = (int)blockIdx.x % tiles * ROWS<P_K>;
    at.col0 = (int)blockIdx.x / tiles * BN;
    return at;
}

// What a thread reads, up to the end of the block's k.
template <bool P_K> HT_DEVICE thin_task find_thin_task(const direct_args &args, const thin_place &at, int end)
{
    const int own = at.row0 + (P_K ? at.warp % WARPS_M * LINES + at.lane / LANES : at.lane % LANES * 4);
    const int row = own < args.p.rows ? own : args.p.rows - 1; // of one too many the result is not stored
    thin_task t;
    t.p = args.p.src + (long long)blockIdx.z * args.p.stride + row * args.p.row_step;
    t.q = args.q.src + (long long)blockIdx.z * args.q.stride + at.col0 * args.q.row_step;
    t.p_k = args.p.k_step;
    t.q_k = args.q.k_step;
    t.q_col = args.q.row_step;
    t.cols = args.q.rows - at.col0;
    t.rows = args.p.rows - row;
    t.end = end;
    t.wide = args.p.wide != 0 && (P_K || t.rows >= 4);
    return t;
}

template <bool P_K> HT_DEVICE void multiply_tile(const direct_args &args, unsigned smem)
{
    const ht_part_k range = ht_part_of(args.g);
    const thin_place first = find_thin_place<P_K>(args);
    const thin_task t = find_thin_task<P_K>(args, first, range.end);
    ht_acc sum[SETS<P_K>][BN][4];
    for (int set = 0; set < SETS<P_K>; set++) {
#pragma unroll
        for (int c = 0; c < BN; c++) {
            sum[set][c][0] = sum[set][c][1] = sum[set][c][2] = sum[set][c][3] = 0.0f;
        }
    }
    multiply_all<P_K>(sum, t, range.begin + (P_K ? first.warp / WARPS_M * LINE + first.lane % LANES * 4 : first.warp * LINES + first.lane / LANES),
                      args.q.wide != 0);
    const thin_place at = find_thin_place<P_K>(args);
    if constexpr (P_K)
        leave_k_sums(smem, sum, at.warp, at.lane);
    else
        leave_row_sums(smem, sum, at.warp, at.lane);
    ht_barrier();
    const int i = at.tid % ROWS<P_K>, c = at.tid / ROWS<P_K>;
    if (c < BN && at.row0 + i < args.p.rows && at.col0 + c < args.q.rows) {
        const float v = add_warps<P_K>(smem, c, i);
        const ht_target to = ht_target_of(args);
        float *element = to.c + (at.row0 + i) * to.row_step + (at.col0 + c) * to.col_step;
        ht_stg4(element, ht_element(to, element, v));
    }
}

// Whether the GPU has places for more blocks than there are, but not one SM for each. Blocks of the next such launch would all
// crowd on the SMs that are done first, and wait there while other SMs have none: 84.8 instead of 64 us for 8192 x 1 x 8192.
HT_DEVICE bool leaves_places()
{
    const int blocks = (int)(gridDim.x * gridDim.y * gridDim.z);
    return blocks > SMS && blocks < SMS * MIN_BLOCKS;
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const direct_args args)
{
    ht_grid_wait();
    if (!leaves_places())
        ht_grid_release(); // else at its end
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    if (args.p.k_contiguous)
        multiply_tile<true>(args, smem);
    else
        multiply_tile<false>(args, smem);
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const direct_args args = ht_direct_args(g, ht_direct_swaps(g.m, g.n, BM, BN));
    const int rows = args.p.k_contiguous ? ROWS<true> : ROWS<false>;
    const unsigned tiles = (unsigned)((args.p.rows + rows - 1) / rows) * (unsigned)((args.q.rows + BN - 1) / BN);
    return ht_launch_dependent(gemm, tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args);
}
