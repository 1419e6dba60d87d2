#include "../samples/gemv.h" //@drop
// ---- geometry: a matrix and a few vectors; C's columns (or rows) are up to BN. Nothing but device memory limits this, so all that
// matters is how much of P is in flight: a warp asks for LINES lines of P at once, eight lanes of 16 bytes each, PREFETCH times
// before it multiplies. Lines are rows of P where k is contiguous, else k. Of FP32 (of FP64 a line has half as many elements):
//
//   lines of k:     BM rows, K_WARPS warps side by side along k           lines of rows:  32 rows, 32 k, the warps' one after the other
//   (BM = 8)        row  k 0..31   k 32..63   k 64..95   k 96..127                        k       row 0..31
//                   0-3  warp 0    warp 2     warp 4     warp 6                            0-3     warp 0
//                   4-7  warp 1    warp 3     warp 5     warp 7                            4-7     warp 1 ...
//
// Where rows of k are misaligned, or Q does not lie along k, a warp reads its four lines one after the other, lanes side by side. Where lines
// of rows are misaligned a block has MISALIGNED_ROWS rows: eight pieces of 16 bytes hold them, however a line begins, and sums go back to their rows
// at the end.
//
// Where P has up to four rows, which a block would hold more than once, the rest of its rows are further splits of k instead: dot
// products. Q is small: it comes from the caches. FMAs, LINE * K_WARPS chains for each result: one for each remainder of k. They
// are added up in the same order both ways, so the bits do not depend on how P lies.
constexpr int THREADS = 256, WARPS = THREADS / WAVE;
constexpr int LANES = 8, LINES = WAVE / LANES; // lanes of a line, lines of a warp
constexpr int VEC = 16 / ELEMENT_BYTES, LINE = VEC * LANES, PREFETCH = BK / LINE; // elements of a lane's load, of a line
constexpr int K_LINES = WARPS * LINES; // where lines are k, those that a block loads at once
constexpr int WARPS_M = BM / LINES, K_WARPS = WARPS / WARPS_M, GUARDED_LOADS = K_WARPS;
constexpr int K_SETS = K_WARPS * LINE / K_LINES;                               // of sums in a thread, where lines are k
template <bool P_K_MAJOR> constexpr int ROWS = P_K_MAJOR ? BM : LINE;             // of a block
constexpr int MISALIGNED_ROWS = LINE - VEC;                                    // rows of a block where lines are k and are misaligned
template <bool P_K_MAJOR> constexpr int SETS = P_K_MAJOR ? 1 : K_SETS; // of sums in a thread, one load after the other
template <bool P_K_MAJOR> constexpr int NEXT = P_K_MAJOR ? LINE * K_WARPS : K_LINES; // k from load to load
template <bool P_K_MAJOR> constexpr int STEP = NEXT<P_K_MAJOR> *PREFETCH;            // k of a block at once
constexpr int PREFETCH_LINES = BN == 1 ? PREFETCH : PREFETCH / 2; // loads of a line at once, of four lines: registers are short
constexpr int SMEM_BYTES = ELEMENT_BYTES * K_WARPS * LANES * BN * LINE;
static_assert(K_WARPS * LINE % K_LINES == 0 && WARPS % WARPS_M == 0 && PREFETCH % K_WARPS == 0, "whole sets");
constexpr int FEW_ROWS = 4, MAX_K_SPLITS = LANES; // of P, and of k in a block's rows
static_assert(LINE * BN <= THREADS, "a thread of the block for each result");

// Rows of a block. Where lines are k and are misaligned it reads as many numbers of each, from a multiple of 16 bytes on.
template <bool P_K_MAJOR> static __host__ __device__ inline int block_rows(const ht_operand_view &p)
{
    return P_K_MAJOR || p.wide != 0 || p.rows <= FEW_ROWS ? ROWS<P_K_MAJOR> : MISALIGNED_ROWS; //@mutate block-rows
}

// What a thread reads: its row (or VEC) of P and the block's of Q, up to k = end.
struct gemv_task {
    const ht_real *p, *q;
    long long p_k, p_line, q_k, q_col; // elements from k to k, from row to row of P, from column to column
    int cols, rows;                    // of Q and of P: that there are from there on
    int begin, end;                    // k; before `begin` there is a line whose first `head_gap` numbers are not the matrix's
    int head_gap;
    bool wide;  // P, and Q where k is contiguous in P, is read by 16 bytes at multiples of them
    bool lines; // else P is read line by line, the warp's one after the other
};

// Up to VEC elements `step` apart; `there` of them exist, but for the first `head_gap`.
HT_DEVICE void load_guarded(ht_real *v, const ht_real *from, long long step, int there, int head_gap = 0)
{
#pragma unroll
    for (int e = 0; e < VEC; e++) {
        v[e] = there > e && e >= head_gap ? ht_load(from + e * step) : 0;
    }
}

// Where k is contiguous in both, and all of it is there: a load of P times what it meets in each column of Q.
HT_DEVICE void multiply_by_vector(ht_acc (*sum)[VEC], const ht_real *p, const ht_real *q, const gemv_task &t)
{
    const long long q_col = ht_opaque(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_real x[VEC];
        ht_unpack(x, ht_ld16(q));
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            sum[c][e] = ht_fma(p[e], x[e], sum[c][e]);
        }
        q += c + 1 < t.cols ? q_col : 0; // of one too many the result is not stored
    }
}

// Where a load of P has one k.
HT_DEVICE void multiply_by_one(ht_acc (*sum)[VEC], const ht_real *p, const ht_real *q, const gemv_task &t)
{
    const long long q_col = ht_opaque(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
        const ht_real x = ht_load(q);
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            sum[c][e] = ht_fma(p[e], x, sum[c][e]);
        }
        q += c + 1 < t.cols ? q_col : 0;
    }
}

// However Q lies; `there` of the load's k exist.
template <bool P_K_MAJOR> HT_DEVICE void multiply_by_any(ht_acc (*sum)[VEC], const ht_real *p, const ht_real *q, const gemv_task &t, int there)
{
    const long long q_col = ht_opaque(t.q_col);
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_real x[VEC];
        load_guarded(x, q, t.q_k, P_K_MAJOR ? there : there > 0);
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            sum[c][e] = ht_fma(p[e], x[P_K_MAJOR ? e : 0], sum[c][e]);
        }
        q += c + 1 < t.cols ? q_col : 0;
    }
}

// PREFETCH loads of P, from k on, times Q, where both lie well. WHOLE: all is there; else the first load is, and those that are not all there
// are left out.
template <bool P_K_MAJOR, bool WHOLE> HT_DEVICE void multiply_prefetched(ht_acc (*sum)[BN][VEC], const gemv_task &t, int k)
{
    const long long p_step = NEXT<P_K_MAJOR> * (P_K_MAJOR ? 1 : ht_opaque(t.p_k)), q_step = NEXT<P_K_MAJOR> * (P_K_MAJOR ? 1 : ht_opaque(t.q_k));
    const ht_real *from = t.p + k * t.p_k, *q = t.q + k * t.q_k;
    const int last = (t.end - k - (P_K_MAJOR ? VEC : 1)) / NEXT<P_K_MAJOR>; // load that is all there //@mutate multiply-ahead
    const bool late = !P_K_MAJOR && k < t.begin;
    ht_real p[PREFETCH][VEC];
#pragma unroll
    for (int u = 0; u < PREFETCH; u++) {
        ht_unpack(p[u], ht_ld16_once(from, (WHOLE || u <= last) && !(u == 0 && late)));
        from += p_step;
    }
    if (late)
        load_guarded(p[0], t.p + k * t.p_k, 1, VEC, t.head_gap);
#pragma unroll
    for (int u = 0; u < PREFETCH; u++) {
        if (WHOLE || u <= last) {
            if (P_K_MAJOR)
                multiply_by_vector(sum[0], p[u], q, t);
            else
                multiply_by_one(sum[u % SETS<P_K_MAJOR>], p[u], q, t);
        }
        q += q_step;
    }
}

// The same where k is contiguous in P, but lines or Q lie anyhow: sum[column][line] of VEC lines, one load after the other, in which LINE lanes have
// neighbouring k. k: this lane's.
template <bool WHOLE> HT_DEVICE void multiply_lines(ht_acc (*sum)[VEC], const gemv_task &t, int k)
{
    const long long p_line = ht_opaque(t.p_line), q_step = NEXT<true> * ht_opaque(t.q_k), q_col = ht_opaque(t.q_col);
    const ht_real *from = t.p + k, *q = t.q + k * t.q_k;
    const int last = (t.end - 1 - k) / NEXT<true>;
    ht_real p[PREFETCH_LINES][VEC];
#pragma unroll
    for (int e = 0; e < VEC; e++) {
        for (int u = 0; u < PREFETCH_LINES; u++) {
            p[u][e] = WHOLE || u <= last ? ht_load(from + u * NEXT<true>) : 0;
        }
        from += e + 1 < t.rows ? p_line : 0; // of one too many the result is not stored
    }
    for (int u = 0; u < PREFETCH_LINES; u++) {
        if (WHOLE || u <= last) {
            const ht_real *column = q;
#pragma unroll
            for (int c = 0; c < BN; c++) {
                const ht_real x = ht_load(column); //@mutate multiply-lines
#pragma unroll
                for (int e = 0; e < VEC; e++) {
                    sum[c][e] = ht_fma(p[u][e], x, sum[c][e]);
                }
                column += c + 1 < t.cols ? q_col : 0;
            }
        }
        q += q_step; //@mutate multiply-lines-2
    }
}

// GUARDED_LOADS loads, whatever there is of them. Less is in flight, but there is not as much code of all these cases.
template <bool P_K_MAJOR> HT_DEVICE void multiply_guarded(ht_acc (*sum)[BN][VEC], const gemv_task &t, int k)
{
    ht_real p[GUARDED_LOADS][VEC];
#pragma unroll
    for (int u = 0; u < GUARDED_LOADS; u++) {
        const int at = k + u * NEXT<P_K_MAJOR>, there = P_K_MAJOR ? t.end - at : at < t.end ? t.rows : 0;
        const ht_real *from = t.p + at * t.p_k;
        if (t.wide && there >= VEC) {
            ht_unpack(p[u], ht_ld16_once(from, true));
        } else {
            load_guarded(p[u], from, 1, there);
        }
    }
#pragma unroll
    for (int u = 0; u < GUARDED_LOADS; u++) {
        const int at = k + u * NEXT<P_K_MAJOR>;
        multiply_by_any<P_K_MAJOR>(sum[u % SETS<P_K_MAJOR>], p[u], t.q + at * t.q_k, t, t.end - at);
    }
}

// This thread's share of k from `first` on, PREFETCH loads at once, but for the last k, fewer than VEC, which are left to one lane.
template <bool P_K_MAJOR> HT_DEVICE void multiply_most(ht_acc (*sum)[BN][VEC], const gemv_task &t, int first)
{
    const int reach = (PREFETCH - 1) * NEXT<P_K_MAJOR> + (P_K_MAJOR ? VEC : 1); // k of a thread at once
    int k = first;
#pragma unroll 1
    for (; k + reach <= t.end; k += STEP<P_K_MAJOR>)
        multiply_prefetched<P_K_MAJOR, true>(sum, t, k);
    if (k + (P_K_MAJOR ? VEC : 1) <= t.end)
        multiply_prefetched<P_K_MAJOR, false>(sum, t, k);
    const int left = (t.end - first) % NEXT<P_K_MAJOR>; // from the last of the thread's places on
    if (P_K_MAJOR && first < t.end && left > 0 && left < VEC)
        multiply_guarded<P_K_MAJOR>(sum, t, t.end - left);
}

// The same, line by line.
HT_DEVICE void multiply_by_lines(ht_acc (*sum)[BN][VEC], const gemv_task &t, int first)
{
    int k = first;
#pragma unroll 1
    for (; k + (PREFETCH_LINES - 1) * NEXT<true> < t.end; k += NEXT<true> * PREFETCH_LINES)
        multiply_lines<true>(sum[0], t, k);
    if (k < t.end)
        multiply_lines<false>(sum[0], t, k);
}

// The same, however both lie.
template <bool P_K_MAJOR> HT_DEVICE void multiply_all(ht_acc (*sum)[BN][VEC], const gemv_task &t, int first)
{
    if (t.wide) {
        multiply_most<P_K_MAJOR>(sum, t, first);
    } else if (t.lines) {
        multiply_by_lines(sum, t, first);
    } else {
#pragma unroll 1
        for (int k = first; k < t.end; k += GUARDED_LOADS * NEXT<P_K_MAJOR>)
            multiply_guarded<P_K_MAJOR>(sum, t, k);
    }
}

// The matrix's last line, where this thread has it and 16 bytes would end beyond it. first: the thread's first line.
HT_DEVICE void multiply_last(ht_acc (*sum)[BN][VEC], const gemv_task &t, int first)
{
    const int before = t.end - first, set = before / NEXT<false> % SETS<false>;
    if (before < 0 || before % NEXT<false> != 0)
        return;
    ht_real p[VEC];
    load_guarded(p, t.p + t.end * t.p_k, 1, t.rows);
#pragma unroll
    for (int s = 0; s < K_SETS; s++) {
        if (s == set)
            multiply_by_any<false>(sum[s], p, t.q + t.end * t.q_k, t, 1);
    }
}

HT_DEVICE ht_acc add_lanes(ht_acc v, int lanes)
{
    return ht_add(v, ht_shfl_sum(v, lanes));
}

// Where a sum waits in shared memory: [k_warp][lanes of a line, if they are not added up yet][column][row].
template <bool P_K_MAJOR> HT_DEVICE unsigned sum_at(unsigned smem, int k_warp, int group, int c, int row)
{
    return smem + (unsigned)(((P_K_MAJOR ? k_warp : k_warp * LANES + group) * BN + c) * ROWS<P_K_MAJOR> + row) * ELEMENT_BYTES;
}

// The sums of VEC neighbouring k, in one order everywhere: 0 + 1, 2 + 3, then both.
HT_DEVICE ht_acc add_vector(const ht_acc *v)
{
    return VEC == 2 ? ht_add(v[0], v[1]) : ht_add(ht_add(v[0], v[1]), ht_add(v[VEC - 2], v[VEC - 1]));
}

// A thread's sums where a row's k are VEC of its elements and eight lanes: added up here.
HT_DEVICE void leave_k_sums(unsigned smem, ht_acc (*sum)[BN][VEC], int warp, int lane)
{
    const int row = warp % WARPS_M * LINES + lane / LANES;
#pragma unroll
    for (int c = 0; c < BN; c++) {
        ht_acc v = add_vector(sum[0][c]);
        for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
            v = add_lanes(v, lanes); //@mutate leave-k-sums
        if (lane % LANES == 0)
            ht_smem_store(sum_at<true>(smem, warp / WARPS_M, 0, c, row), v);
    }
}

// The same where a lane has one element of each of VEC rows.
HT_DEVICE void leave_line_sums(unsigned smem, ht_acc (*sum)[VEC], int warp, int lane)
{
    const int row = warp % WARPS_M * LINES + lane / LINE * VEC;
#pragma unroll
    for (int c = 0; c < BN; c++) {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            ht_acc v = sum[c][e];
            for (int lanes = 1; lanes < VEC; lanes *= 2)
                v = add_lanes(v, lanes);
            for (int lanes = LINE / 2; lanes >= VEC; lanes /= 2)
                v = add_lanes(v, lanes); //@mutate leave-line-sums
            if (lane % LINE == e)
                ht_smem_store(sum_at<true>(smem, warp / WARPS_M, 0, c, row + e), v);
        }
    }
}

// VEC sums of a line that begins `past` numbers behind a multiple of 16 bytes, from which on they are counted: those of the rows that
// this lane has of all lines.
HT_DEVICE void move_to_rows(ht_acc *v, int past, int lane)
{
    const int next = lane % LANES < LANES - 1 ? lane + 1 : lane;
    ht_acc w[2 * VEC - 1];
    for (int e = 0; e < VEC; e++)
        w[e] = v[e];
    for (int e = 0; e < VEC - 1; e++)
        w[VEC + e] = ht_shfl_sum(v[e], lane ^ next); //@mutate move-to-rows-2
    for (int by = 1; by < VEC; by *= 2)
        for (int e = 0; e + by < 2 * VEC - 1; e++)
            w[e] = past & by ? w[e + by] : w[e]; //@mutate move-to-rows
    for (int e = 0; e < VEC; e++)
        v[e] = w[e];
}

HT_DEVICE void move_sums(ht_acc (*sum)[BN][VEC], int past, int lane)
{
#pragma unroll
    for (int set = 0; set < K_SETS; set++) {
#pragma unroll
        for (int c = 0; c < BN; c++) {
            move_to_rows(sum[set][c], past, lane);
        }
    }
}

// Where they are VEC lines and eight groups of those, not all in one warp: the lines are added up here.
HT_DEVICE void leave_row_sums(unsigned smem, ht_acc (*sum)[BN][VEC], int warp, int lane)
{
    const int line = lane / LANES, k = warp * LINES + line; //@mutate leave-row-sums
#pragma unroll
    for (int set = 0; set < K_SETS; set++) {
#pragma unroll
        for (int c = 0; c < BN; c++) {
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                ht_acc v = sum[set][c][e];
                for (int lanes = LANES; lanes < VEC * LANES; lanes *= 2)
                    v = add_lanes(v, lanes);
                if (line % VEC == 0)
                    ht_smem_store(sum_at<false>(smem, set * (K_LINES / LINE) + k / LINE, k % LINE / VEC, c, lane % LANES * VEC + e), v);
            }
        }
    }
}

// One result from what waits in shared memory.
template <bool P_K_MAJOR> HT_DEVICE ht_acc add_warps(unsigned smem, int c, int row)
{
    ht_acc sum = 0;
    for (int k_warp = 0; k_warp < K_WARPS; k_warp++) { //@mutate add-warps
        ht_acc v[LANES];
        if (P_K_MAJOR) {
            v[0] = ht_smem_load(sum_at<true>(smem, k_warp, 0, c, row));
        } else { // as the lanes of leave_k_sums
            for (int i = 0; i < LANES; i++)
                v[i] = ht_smem_load(sum_at<false>(smem, k_warp, i, c, row));
            for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
                for (int i = 0; i < lanes; i++)
                    v[i] = ht_add(v[i], v[i + lanes]);
        }
        sum = ht_add(sum, v[0]);
    }
    return sum;
}

// How a block's rows are shared out where P has few: `parts` of k, each of which has 2^shift of them.
struct k_split_map {
    int shift, parts;
};

template <bool P_K_MAJOR> HT_DEVICE k_split_map k_split_rows(int rows)
{
    const int shift = rows > 2 ? 2 : rows - 1, parts = BM >> shift;
    return {P_K_MAJOR || shift > VEC / 2 ? shift : VEC / 2, parts < MAX_K_SPLITS ? parts : MAX_K_SPLITS}; // a lane has 2^(VEC / 2) rows
}

// Part `part` of a block's k, whole lines but at the end: nothing, if there are not so many.
HT_DEVICE ht_k_range k_split_range(const ht_k_range &all, int part, int parts)
{
    const int log = parts > 4 ? 3 : parts > 2 ? 2 : 1, lines = (all.end - all.begin + LINE - 1) / LINE;
    const int each = ((lines + parts - 1) >> log) * LINE, begin = all.begin + part * each;
    return {begin, part >= parts ? begin : begin + each < all.end ? begin + each : all.end};
}

// Whether the GPU has places for more blocks than there are, but not one SM for each. Blocks of the next such launch would all
// crowd on the SMs that are done first, and wait there while other SMs have none: 84.8 instead of 64 us for 8192 x 1 x 8192.
HT_DEVICE bool underfills_gpu()
{
    const int blocks = (int)(gridDim.x * gridDim.y * gridDim.z);
    return blocks > SMS && blocks < SMS * MIN_BLOCKS;
}

// The first of VEC rows that a lane reads where rows are contiguous, of `rows` from line `from` on: its line may be misaligned, and is
// read from the last multiple of 16 bytes on. Beyond the rows it is the last piece that has some. What is not a row's is not stored.
HT_DEVICE int aligned_row(const ht_real *from, int rows, int lane)
{
    const int past = ht_misalign16(from), piece = lane % LANES, last = (rows - 1 + past) / VEC;
    return (piece < last ? piece : last) * VEC - past;
}

template <bool P_K_MAJOR> HT_DEVICE void multiply_tile(const unpacked_args &args, unsigned smem)
{
    const ht_tile_coord place = ht_tile_coord_of(args, 0);
    const int tid = (int)threadIdx.x, warp = tid / WAVE, lane = tid % WAVE;
    const int height = block_rows<P_K_MAJOR>(args.p), row0 = place.p_tile * height, col0 = place.q_tile * BN;
    const bool few = args.p.rows <= FEW_ROWS, q_wide = args.q.wide != 0 && args.q.k_major != 0;
    const bool lines = P_K_MAJOR && !few && !(args.p.wide != 0 && q_wide);
    const ht_real *const p = args.p.src + (long long)blockIdx.z * args.p.stride;
    ht_k_range range = ht_k_range_of(args, place.split);
    int own = row0 + (!P_K_MAJOR ? lane % LANES * VEC : warp % WARPS_M * LINES + (lines ? lane / LINE * VEC : lane / LANES));
    k_split_map shared = {0, 1};
    if (few) {
        shared = k_split_rows<P_K_MAJOR>(args.p.rows);
        range = k_split_range(range, own >> shared.shift, shared.parts);
        own &= (1 << shared.shift) - 1;
    }
    const int first = range.begin + (!P_K_MAJOR ? warp * LINES + lane / LANES : warp / WARPS_M * LINE + (lines ? lane % LINE : lane % LANES * VEC)); //@mutate multiply-tile-3
    if (P_K_MAJOR)
        own = own < args.p.rows ? own : args.p.rows - 1; // of one too many the result is not stored //@mutate multiply-tile-2
    else if (!few)
        own = row0 + aligned_row(p + row0 + first * args.p.k_step, args.p.rows - row0 < height ? args.p.rows - row0 : height, lane);
    gemv_task t;
    t.p = p + own * args.p.row_step;
    t.q = args.q.src + (long long)blockIdx.z * args.q.stride + col0 * args.q.row_step;
    t.p_k = args.p.k_step;
    t.p_line = args.p.row_step;
    t.q_k = args.q.k_step;
    t.q_col = args.q.row_step;
    t.cols = args.q.rows - col0;
    t.rows = args.p.rows - own;
    t.end = range.end;
    t.wide = P_K_MAJOR ? args.p.wide != 0 && q_wide : !few || (args.p.wide != 0 && t.rows >= VEC);
    t.lines = lines;
    t.head_gap = -own;
    t.begin = !P_K_MAJOR && !few && own < 0; // in the line that begins the matrix
    const bool ends = !P_K_MAJOR && !few && t.rows < VEC && range.end == args.k; // behind the matrix's last line there may be nothing
    if (ends) //@mutate multiply-tile-4
        t.end--; //@mutate multiply-tile-5
    ht_acc sum[SETS<P_K_MAJOR>][BN][VEC];
    for (int set = 0; set < SETS<P_K_MAJOR>; set++) {
#pragma unroll
        for (int c = 0; c < BN; c++) {
            for (int e = 0; e < VEC; e++)
                sum[set][c][e] = 0;
        }
    }
    ht_pdl_wait(); // what comes before is worked out while the launch before this one ends
    if (!underfills_gpu())
        ht_pdl_trigger(); // else at its end
    multiply_all<P_K_MAJOR>(sum, t, first);
    if (lines) {
        leave_line_sums(smem, sum[0], warp, lane);
    } else if constexpr (P_K_MAJOR) {
        leave_k_sums(smem, sum, warp, lane);
    } else {
        if (ends) //@mutate multiply-tile-6
            multiply_last(sum, t, first); //@mutate multiply-tile-7
        if (height < LINE)
            move_sums(sum, ht_misalign16(p + row0 + first * args.p.k_step), lane);
        leave_row_sums(smem, sum, warp, lane);
    }
    ht_barrier(); //@mutate multiply-tile
    const int i = tid % ROWS<P_K_MAJOR>, c = tid / ROWS<P_K_MAJOR>;
    if (c < BN && i < height && row0 + i < args.p.rows && col0 + c < args.q.rows) {
        ht_acc v = add_warps<P_K_MAJOR>(smem, c, i);
#pragma unroll 1
        for (int part = 1; part < shared.parts; part++)
            v = ht_add(v, add_warps<P_K_MAJOR>(smem, c, (part << shared.shift) + i));
        const ht_output_view to = ht_output_view_of(args, place.split);
        ht_real *at = to.c + (row0 + i) * to.row_step + (col0 + c) * to.col_step;
        ht_store(at, ht_element(to, at, v));
    }
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const unpacked_args args)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    if (args.p.k_major)
        multiply_tile<true>(args, smem);
    else
        multiply_tile<false>(args, smem);
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_product_args &g, void *stream)
{
    unpacked_args args = ht_unpacked_args(g, ht_swap_ab(g.m, g.n, BM, BN, 0));
    if (args.q.rows == 1 && args.q.k_major) // a line by itself may be of any length
        args.q.wide = ((unsigned long long)args.q.src | (unsigned long long)args.q.stride * ELEMENT_BYTES) % 16 == 0;
    const int rows = args.p.k_major ? block_rows<true>(args.p) : block_rows<false>(args.p);
    const ht_tile_grid grid = ht_grid_of(&args, (unsigned)((args.p.rows + rows - 1) / rows), (unsigned)((args.q.rows + BN - 1) / BN));
    return ht_launch_dependent(gemm, grid.x, grid.y, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, args);
}
