#include "../samples/machine.h" //@drop
constexpr int SLICES = 3, SLICE_BYTES = 1, ATOM_SLICES = 1, ATOM_K = 128, ACCS = 3, WAVE = 32, L2_BYTES = 41943040; //@drop
constexpr int SCALES_ROWS = 1, SCALE_LOW = 6, SCALE_HIGH = 6, SCALE_ROOM = 65793, SCALES_TILES = 0, HAS_NAN_ROWS = 1; //@drop
constexpr int COPIES_ASYNC = 1, SMEM_PER_SM = 167936, SMEM_PER_BLOCK = 101376, SMEM_RESERVED = 1024, STAGES = 2; //@drop
#include "../hooks/launch/stream.cuh" //@drop
#include "../hooks/scheme/row_scale.cuh" //@drop
#include "../hooks/scheme/i8.cuh" //@drop
#include "../hooks/pack/split_i8x4.cuh" //@drop
#include "../hooks/pack/common.cuh" //@drop
#include "../hooks/pack/absmax_exchange.cuh" //@drop
#include "../hooks/accum/partial_i64.cuh" //@drop
#include "../hooks/stage/real_f32.cuh" //@drop
#include "../hooks/stage/cp_async.cuh" //@drop
#include "../hooks/arch/sm80_s8.cuh" //@drop
// ---- few rows: a large matrix W, read once as it is, times a few rows x that are packed. W is A or B, and x the other ----
// A block holds a piece of W, 32 rows x 512 k, in registers. It tells the blocks of the same rows what it has measured (absmax_exchange), as
// packing by strips does. Once it knows its rows' largest it cuts what it holds into digits, where it lies:
//
//   rows r .. r + 31:  [ piece 0: load, publish, collect, cut, multiply ][ piece 1: load, ... ]  ...       a split-K part each
//
// A warp has 64 k of all 32 rows. A lane loads what it has in fragments of m16n8k32 (arch/*_s8): four k of a row make a register of each digit.
// Let g = lane / 4 and t = lane % 4. Of each 16 k it has k 4 t .. 4 t + 3 of four rows:
//
//   lines of k: rows g, g + 8, g + 16, g + 24, a load of four k each       lines of rows: rows 4 g .. 4 g + 3, four loads of one k each
//
// So neither operand passes from lane to lane: warps add up their sums alone in shared memory, 64-bit integers, in any order. Digits, sums and
// rounding are those of packing and its products, and so are the bits.
//
// With at most STREAMED_ROWS rows of x, and cp.async, the grid is what the device holds at once, and a block takes piece blockIdx.x, + gridDim.x, ...
// Meanwhile cp.async fetches the first EARLY of a lane's loads of the next piece; the others are plain loads at its turn.
constexpr int FEW_WARPS = PACK_THREADS / 32, PIECE_ROWS = 32, PIECE_K = 512;
constexpr int WARP_K = PIECE_K / FEW_WARPS, STEPS = WARP_K / 32, TILES = PIECE_ROWS / 16; // of a warp: k, MMAs along k and rows
constexpr int FOURS = WARP_K / 16, LOADS = 4 * FOURS;                                     // of a lane: fours of k, loads
constexpr bool IS_AHEAD = ACCS <= 3; // x arrives before it is multiplied; i8x10's digits leave no registers for that
constexpr int COLS = 8, PITCH = PIECE_ROWS + 4; // rows of x at once; 64-bit sums from one of them to the next
constexpr int ROOM_BYTES = FEW_WARPS * PIECE_ROWS * 4;
constexpr int SUM_BYTES = FEW_WARPS * COLS * PITCH * 8, SUMS_AT = 2 * ROOM_BYTES;
constexpr int FEW_SHARE = SMEM_PER_SM / 2 - SMEM_RESERVED, FEW_MOST = FEW_SHARE < SMEM_PER_BLOCK ? FEW_SHARE : SMEM_PER_BLOCK; // of two blocks an SM
constexpr int FEW_SUMS = FEW_MOST < SUMS_AT + 2 * SUM_BYTES ? 1 : 2; // with two, a warp leaves sums while others still read those before
constexpr int EARLY_AT = SUMS_AT + FEW_SUMS * SUM_BYTES, EARLY_BYTES = PACK_THREADS * 16; // bytes of one load of all lanes
constexpr int EARLY_ROOM = COPIES_ASYNC * (FEW_MOST - EARLY_AT) / EARLY_BYTES;
constexpr int STREAMED = EARLY_ROOM < LOADS / 2 ? 0 : EARLY_ROOM < LOADS ? EARLY_ROOM : LOADS, STREAMED_ROWS = 16; // else too little is early
constexpr int ROOM_MEASURED = 0, ROOM_FOUND = 1; // magnitudes of rows: of the block's warps, of all pieces
constexpr int MEETING_PREFETCH = 2;

struct few_rows_args {
    ht_pack_args w; // as packing takes it
    ht_gemm_args g; // panels of W are NULL; splits: pieces of the same rows
    int of_b;       // W is B
    int passes;     // W is more than L2 keeps: what plain loads bring goes first
    int pieces;     // of all rows
};

// A block's place, and a thread's.
struct piece_place {
    int row0, piece, warp, group, quad;
    int k; // the lane's first
    unsigned smem;
};

HT_DEVICE piece_place place_of(const few_rows_args &p, int number)
{
    const int lane = (int)threadIdx.x % 32, strip = number / p.g.splits;
    piece_place at;
    at.row0 = strip * PIECE_ROWS;
    at.piece = number - strip * p.g.splits;
    at.warp = (int)threadIdx.x / 32;
    at.group = lane / 4;
    at.quad = lane % 4;
    at.k = at.piece * PIECE_K + at.warp * WARP_K + at.quad * 4;
    at.smem = ht_smem_base<EARLY_AT>();
    return at;
}

// The lane's row i of four, from the block's first on.
template <bool K_MAJOR> HT_DEVICE int row_of(const piece_place &at, int i)
{
    return K_MAJOR ? at.group + i * 8 : at.group * 4 + i; //@mutate few-row-of
}

// Row and k of load i, 4 k of one row or 4 rows of one k, from the block's and the lane's first on.
template <bool K_MAJOR> HT_DEVICE int load_row(const piece_place &at, int i)
{
    return row_of<K_MAJOR>(at, K_MAJOR ? i / FOURS : 0);
}

template <bool K_MAJOR> HT_DEVICE int load_k(int i)
{
    return K_MAJOR ? i % FOURS * 16 : i / 4 * 16 + i % 4;
}

template <bool K_MAJOR> HT_DEVICE const float *first_load(const few_rows_args &p, const piece_place &at)
{
    const long long row = at.row0 + row_of<K_MAJOR>(at, 0), k = at.k;
    return p.w.src + (K_MAJOR ? row * p.w.ld + k : k * p.w.ld + row);
}

// From load i to load i + 1, elements.
template <bool K_MAJOR> HT_DEVICE long long next_load(const few_rows_args &p, int i)
{
    return K_MAJOR ? (i % FOURS < FOURS - 1 ? 16 : 8 * p.w.ld - 16 * (FOURS - 1)) : (i % 4 < 3 ? 1 : 13) * p.w.ld; //@mutate few-line
}

// Whether all that the lane loads is there, and can be loaded by fours.
HT_DEVICE bool is_whole(const ht_pack_args &w, const piece_place &at)
{
    return is_aligned(w, w.src) && at.row0 + PIECE_ROWS <= w.rows && at.k + WARP_K - 16 + 3 < w.k; //@mutate few-whole
}

// Where one of the lane's own loads lies, which no other reads. What is contiguous in W stays so, by 32 bytes, and eight lanes meet no bank twice.
template <bool K_MAJOR> HT_DEVICE unsigned early_at(const piece_place &at, int i)
{
    const int place = K_MAJOR ? at.group * 4 + at.quad : at.quad * 8 + (at.group ^ at.quad * 2);
    return at.smem + (unsigned)(EARLY_AT + i * EARLY_BYTES + at.warp * 512 + place * 16);
}

template <bool K_MAJOR, int EARLY> HT_DEVICE void begin_piece(const few_rows_args &p, const piece_place &at)
{
    const float *from = first_load<K_MAJOR>(p, at);
    if (EARLY > 0 && is_whole(p.w, at)) {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (i < EARLY)
                ht_stage_copy_issue(nullptr, early_at<K_MAJOR>(at, i), (const unsigned char *)from);
            from += next_load<K_MAJOR>(p, i);
        }
    }
    ht_stage_commit();
}

// What has been begun, and the rest: all in flight at once, also where they are loaded one by one.
template <bool K_MAJOR, int EARLY> HT_DEVICE void load_piece(const few_rows_args &p, const piece_place &at, uint4 *x)
{
    const ht_pack_args &w = p.w;
    const unsigned long long policy = ht_l2_policy(p.passes != 0);
    const float *from = first_load<K_MAJOR>(p, at);
    if (is_whole(w, at)) {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (i >= EARLY)
                x[i] = ht_ldg16_by(from, policy);
            from += next_load<K_MAJOR>(p, i);
        }
        ht_stage_wait<0>();
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (i < EARLY)
                x[i] = ht_lds16(early_at<K_MAJOR>(at, i));
        }
    } else {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int rows = w.rows - at.row0 - load_row<K_MAJOR>(at, i), left = w.k - at.k - load_k<K_MAJOR>(i);
            x[i] = load_guarded(from, K_MAJOR ? rows > 0 ? left : 0 : left > 0 ? rows : 0); //@mutate few-guard
            from += next_load<K_MAJOR>(p, i);
        }
    }
}

HT_DEVICE unsigned component(uint4 v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Element e of the lane's four f of k, in its row i.
template <bool K_MAJOR> HT_DEVICE unsigned element(const uint4 *x, int i, int f, int e)
{
    return K_MAJOR ? component(x[i * FOURS + f], e) : component(x[f * 4 + e], i);
}

HT_DEVICE unsigned room_at(const piece_place &at, int kind, int part, int row)
{
    return at.smem + (unsigned)(kind * ROOM_BYTES + (part * PIECE_ROWS + row) * 4);
}

// Absmax of the warp's k, row by row.
template <bool K_MAJOR> HT_DEVICE void measure_piece(const piece_place &at, const uint4 *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned most = 0;
#pragma unroll
        for (int f = 0; f < FOURS; f++) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                most = larger_key(most, element<K_MAJOR>(x, i, f, e) * 2 + KEY_OF_ZERO);
            }
        }
        most = larger_key_across(most, 1);
        most = larger_key_across(most, 2); //@mutate few-measure
        if (at.quad == 0)
            ht_sts4(room_at(at, ROOM_MEASURED, at.warp, row_of<K_MAJOR>(at, i)), ht_as_float((unsigned)magnitude_of_key(most)));
    }
}

HT_DEVICE int magnitude_of_row(const piece_place &at, int kind, int row)
{
    int most = 0;
    for (int part = 0; part < FEW_WARPS; part++)
        most = larger(most, (int)ht_as_uint(ht_lds4(room_at(at, kind, part, row))));
    return most;
}

// ht_opaque: else compilers keep places of the exchange from one piece to the next, and spill.
HT_DEVICE absmax_exchange exchange_of(const few_rows_args &p, const piece_place &at)
{
    const int strips = ((int)ht_opaque(p.w.rows) + PIECE_ROWS - 1) / PIECE_ROWS, strip = at.row0 / PIECE_ROWS;
    return {p.w.absmax_exchange + (long long)strip * p.g.splits * PIECE_ROWS, p.w.absmax_exchange + (long long)strips * p.g.splits * PIECE_ROWS + strip,
            p.g.splits, at.piece, PIECE_K};
}

HT_DEVICE void publish(const few_rows_args &p, const piece_place &at)
{
    const int row = (int)threadIdx.x % PIECE_ROWS, part = (int)threadIdx.x / PIECE_ROWS;
    if (part == 0 && p.g.splits > 1)
        ht_st_relaxed_i32(exchange_of(p, at).published + at.piece * PIECE_ROWS + row, magnitude_of_row(at, ROOM_MEASURED, row)); //@mutate few-publish
}

// Leaves what all pieces of the rows have; returns what leave_exchange asks for.
HT_DEVICE int meet(const few_rows_args &p, const piece_place &at)
{
    const int row = (int)threadIdx.x % PIECE_ROWS, part = (int)threadIdx.x / PIECE_ROWS;
    const bool alone = p.g.splits == 1;
    const int found = alone ? magnitude_of_row(at, ROOM_MEASURED, row)
                            : collect<PIECE_ROWS, PACK_THREADS, MEETING_PREFETCH>(p.w, p.w.src, at.row0, exchange_of(p, at));
    ht_sts4(room_at(at, ROOM_FOUND, part, row), ht_as_float((unsigned)found));
    ht_barrier();
    return !alone && threadIdx.x == 0 ? ht_add_relaxed_i32(exchange_of(p, at).arrived, 1) : 0;
}

// Digits of all that the lane holds, as fragments: its row i is in tile i / 2 of 16 rows, its four f of k in step f / 2 of 32.
template <bool K_MAJOR> HT_DEVICE void cut_piece(const piece_place &at, const uint4 *x, unsigned (*digits)[STEPS][SLICES][4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float factor = ht_pow2(-ht_row_exponent(magnitude_of_row(at, ROOM_FOUND, row_of<K_MAJOR>(at, i))));
#pragma unroll
        for (int f = 0; f < FOURS; f++) {
            float four[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                four[e] = scaled(element<K_MAJOR>(x, i, f, e), factor);
            }
            ht_split_four<4>(digits[i / 2][f / 2], i % 2 + f % 2 * 2, four); //@mutate few-fragment
        }
    }
}

// The warp's k of COLS rows of x, from q0 on, as fragments. own: ht_opaque, else the compiler keeps an address for each load.
HT_DEVICE void load_columns(const few_rows_args &p, const piece_place &at, int q0, unsigned (*b)[SLICES][2])
{
    const int k = at.piece * PIECE_K + at.warp * WARP_K, own = (int)ht_opaque(k % ATOM_K / 16 ^ at.group);
    const long long atom = (long long)(q0 / 64) * p.g.k_blocks + k / ATOM_K * GROUP;
    const unsigned char *const panel = (p.of_b ? p.g.a_packed : p.g.b_packed).panels + atom * 8192 + (q0 % 64 + at.group) * 128 + at.quad * 4; //@mutate few-panel
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
        for (int s = 0; s < SLICES; s++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int from = own ^ step * 2 + half + s % ATOM_SLICES * ATOM_CHUNKS; //@mutate few-chunk
                b[step][s][half] = (unsigned)ht_ldg_i32((const int *)(const void *)(panel + s / ATOM_SLICES * 8192 + from * 16));
            }
        }
    }
}

// What the warp has of its k times those rows adds to acc.
HT_DEVICE void multiply_columns(const unsigned (*digits)[STEPS][SLICES][4], const unsigned (*b)[SLICES][2], int (*acc)[ACCS][4])
{
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
        for (int s = 0; s < SLICES; s++) {
#pragma unroll
            for (int q = 0; q < SLICES - s; q++) {
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    ht_mma(acc[tile][s + q], digits[tile][step][s], b[step][q]);
                }
            }
        }
    }
}

HT_DEVICE unsigned sum_at(const piece_place &at, int q0, int warp, int col, int row)
{
    return at.smem + (unsigned)(SUMS_AT + q0 / COLS % FEW_SUMS * SUM_BYTES + ((warp * COLS + col) * PITCH + row) * 8);
}

// A lane has rows g and g + 8 of a tile, columns 2 t and 2 t + 1.
template <bool K_MAJOR> HT_DEVICE void leave_sums(const piece_place &at, int q0, const int (*acc)[ACCS][4])
{
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
        for (int r = 0; r < 4; r++) {
            int level[ACCS];
            for (int l = 0; l < ACCS; l++)
                level[l] = acc[tile][l][r];
            ht_sts_sum(sum_at(at, q0, at.warp, at.quad * 2 + r % 2, row_of<K_MAJOR>(at, tile * 2 + r / 2)), ht_combine(level)); //@mutate few-leave
        }
    }
}

// A result of the block from all its warps: to C, or as a part.
HT_DEVICE void store_sum(const few_rows_args &p, const piece_place &at, int q0)
{
    const int tid = (int)threadIdx.x, row = p.of_b ? tid / COLS : tid % PIECE_ROWS, col = p.of_b ? tid % COLS : tid / PIECE_ROWS;
    const ht_gemm_args &g = p.g;
    const int i = p.of_b ? q0 + col : at.row0 + row, j = p.of_b ? at.row0 + row : q0 + col;
    long long sum = 0;
    for (int warp = 0; warp < FEW_WARPS; warp++)
        sum += ht_lds_sum(sum_at(at, q0, warp, col, row));
    if (i >= g.m || j >= g.n)
        return;
    if (g.splits > 1) {
        ht_stg_sum(g.partial, ((long long)at.piece * g.n + j) * g.m + i, sum); //@mutate few-part
        return;
    }
    const int other = ht_ldg_i32(p.of_b ? g.a_packed.row_absmax + i : g.b_packed.row_absmax + j);
    const int exponent = ht_row_exponent(magnitude_of_row(at, ROOM_FOUND, row)) + ht_row_exponent(other);
    float *c = (float *)g.to.c + j * g.to.ldc + i;
    ht_stg4(c, ht_axpby(ht_value_of(g.to.alpha), ht_finish(sum, exponent), ht_value_of(g.to.beta), c));
}

// next: number of the piece that the block begins to load; none from p.pieces on.
template <bool K_MAJOR, int EARLY> HT_DEVICE void multiply_piece(const few_rows_args &p, const piece_place &at, int next)
{
    uint4 x[LOADS];
    load_piece<K_MAJOR, EARLY>(p, at, x);
    measure_piece<K_MAJOR>(at, x);
    ht_barrier();
    ht_pdl_wait();
    publish(p, at);
    if (EARLY > 0 && next < p.pieces)
        begin_piece<K_MAJOR, EARLY>(p, place_of(p, next)); // while the numbers travel //@mutate few-begin
    unsigned b[STEPS][SLICES][2] = {};
    const bool there = at.piece * PIECE_K + at.warp * WARP_K < p.g.k_blocks / GROUP * ATOM_K;
    if (IS_AHEAD && there)
        load_columns(p, at, 0, b);
    const int order = meet(p, at);
    unsigned digits[TILES][STEPS][SLICES][4];
    cut_piece<K_MAJOR>(at, x, digits);
    if (at.piece == 0 && threadIdx.x < PIECE_ROWS)
        ht_stg_i32(p.w.to.row_absmax + at.row0 + (int)threadIdx.x, magnitude_of_row(at, ROOM_FOUND, (int)threadIdx.x));
    const int columns = p.of_b ? p.g.m : p.g.n;
    for (int q0 = 0; q0 < columns; q0 += COLS) {
        int acc[TILES][ACCS][4] = {};
        if (!IS_AHEAD && there)
            load_columns(p, at, q0, b);
        if (there)
            multiply_columns(digits, b, acc);
        if (IS_AHEAD && there && q0 + COLS < columns)
            load_columns(p, at, q0 + COLS, b); //@mutate few-ahead
        leave_sums<K_MAJOR>(at, q0, acc);
        ht_barrier();
        store_sum(p, at, q0);
        if (FEW_SUMS == 1)
            ht_barrier();
    }
    if (p.g.splits > 1)
        leave_exchange<PIECE_ROWS>(exchange_of(p, at), order);
}

// Two blocks an SM: one multiplies what it has while the other loads. Compiled for Blackwell itself, i8x10 spills then (FEWER_BLOCKS).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int FEW_BLOCKS = ACCS > 3 ? 1 : 2;
#else
constexpr int FEW_BLOCKS = 2;
#endif

template <bool K_MAJOR, int EARLY> static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, FEW_BLOCKS)) few_rows(const few_rows_args p)
{
    if (p.w.exchange_is_reset)
        ht_pdl_assume_complete(); // packing of x has waited for all before it
    else
        ht_pdl_wait();
    ht_pdl_trigger();
    int number = (int)blockIdx.x;
    begin_piece<K_MAJOR, EARLY>(p, place_of(p, number));
    do {
        const int next = number + (int)gridDim.x;
        multiply_piece<K_MAJOR, EARLY>(p, place_of(p, number), next);
        number = next;
    } while (EARLY > 0 && number < p.pieces); //@mutate few-next
}

// Blocks that take one piece after the other, 0: better one for each piece. No block may have two pieces of the same rows, or it would wait for
// itself. A multiple of splits: the same blocks meet again each time, and the others need not wait for them.
template <bool K_MAJOR> static int streaming_blocks(const few_rows_args &p, int bytes)
{
    const int columns = p.of_b ? p.g.m : p.g.n;
    if (STREAMED == 0 || columns > STREAMED_ROWS)
        return 0;
    const int resident = ht_resident_blocks(few_rows<K_MAJOR, STREAMED>, PACK_THREADS, bytes, bytes, FEW_BLOCKS), blocks = resident - resident % p.g.splits;
    return blocks > resident / 8 * 7 && blocks < p.pieces ? blocks : 0;
}

template <bool K_MAJOR> static int launch_some(const few_rows_args &p, void *stream)
{
    constexpr int BYTES = EARLY_AT + STREAMED * EARLY_BYTES;
    const int blocks = streaming_blocks<K_MAJOR>(p, BYTES);
    return blocks > 0 ? ht_launch_dependent(few_rows<K_MAJOR, STREAMED>, (unsigned)blocks, 1, 1, PACK_THREADS, BYTES, stream, p)
                      : ht_launch_dependent(few_rows<K_MAJOR, 0>, (unsigned)p.pieces, 1, 1, PACK_THREADS, EARLY_AT, stream, p);
}

static int launch(const ht_pack_args &w, const ht_gemm_args &g, void *stream)
{
    const long long pieces = (w.rows + PIECE_ROWS - 1LL) / PIECE_ROWS * g.splits;
    const few_rows_args p = {w, g, g.b_packed.panels == nullptr, 4.0 * w.rows * w.k > 0.75 * L2_BYTES, (int)pieces};
    if (pieces > 0x3fffffff)
        return 1; // cudaErrorInvalidValue: more pieces than can be counted
    return w.k_contiguous ? launch_some<true>(p, stream) : launch_some<false>(p, stream);
}
