#include "../samples/machine.h" //@drop
constexpr int SLICES = 3, SLICE_BYTES = 1, ATOM_SLICES = 1, ATOM_K = 128, ACCS = 3, WAVE = 32, COPIES_ASYNC = 1, SMEM_PER_BLOCK = 101376, ONE_ROW_K = 14336; //@drop
constexpr int SCALES_ROWS = 1, SCALE_LOW = 6, SCALE_HIGH = 6, SCALE_ROOM = 65793, SCALES_TILES = 0, HAS_NAN_ROWS = 1; //@drop
#include "../hooks/launch/stream.cuh" //@drop
#include "../hooks/scheme/row_scale.cuh" //@drop
#include "../hooks/scheme/i8.cuh" //@drop
#include "../hooks/pack/split_i8x4.cuh" //@drop
#include "../hooks/pack/common.cuh" //@drop
#include "../hooks/accum/partial_i64.cuh" //@drop
#include "../hooks/stage/real_f32.cuh" //@drop
#include "../hooks/stage/cp_async.cuh" //@drop
// ---- one row: a matrix W times one row x, both with k contiguous, in one launch: what is read is cut into digits at once ----
// A block takes a row of W whole, as many warps as hold its k in registers, then the row gridDim.x further on, and so on:
//
//   k:   [ warp 0: load 0: 128 | load 1: 128 | ... ][ warp 1: ... ] ...   a lane has four k of each 128
//
// So one barrier a row finds its largest element, and blocks of an SM are at different steps: while some cut and multiply, others load. cp.async
// fetches a lane's next row to where only the lane itself reads it. x is cut first, as rows of W are; its digits stay in shared memory, where again
// each lane reads its own. Digits, sums and rounding are those of packing and its products, and so are the bits.
//
// Where both are packed, a lane has the same k, and reads their digits from the panels: four of a digit at once.
constexpr int LOADS = 8, LOAD_K = WAVE * 4, WARP_K = LOADS * LOAD_K, MOST_WARPS = ONE_ROW_K / WARP_K;
constexpr int ABSMAX_AT = 0, SUMS_AT = 2 * MOST_WARPS * 4, EARLY_AT = (SUMS_AT + 2 * MOST_WARPS * 8 + 15) / 16 * 16; // of the warps, for two rows
constexpr int EARLY_BYTES = COPIES_ASYNC * LOADS * WAVE * 16, BYTES_OF_WARP = EARLY_BYTES + LOADS * SLICES * WAVE * 4;
constexpr int MOST_BYTES = EARLY_AT + MOST_WARPS * BYTES_OF_WARP;
static_assert(MOST_BYTES <= SMEM_PER_BLOCK, "what model_one_row_k leaves");
constexpr int LOAD_ATOMS = LOAD_K / ATOM_K * GROUP; // of a row block, that a load's k have

struct one_row_args {
    const float *w, *x;
    long long ld;
    int rows, k;
    int of_b;  // W is B
    int whole; // both are aligned to 16 bytes, and rows of W
    ht_result to;
    ht_packed w_packed, x_packed; // else panels are NULL
    int k_blocks;
};

// A thread's place.
struct lane_place {
    int lane, warp, warps;
    int k, left; // the lane's first, and those that there are from it on
    unsigned early, digits;
};

HT_DEVICE lane_place place_of(const one_row_args &p)
{
    lane_place at;
    at.lane = (int)threadIdx.x % WAVE;
    at.warp = (int)threadIdx.x / WAVE;
    at.warps = (int)blockDim.x / WAVE;
    at.k = at.warp * WARP_K + at.lane * 4;
    at.left = p.k - at.k;
    at.early = ht_smem_base<EARLY_AT>() + (unsigned)(EARLY_AT + at.warp * BYTES_OF_WARP + at.lane * 16);
    at.digits = at.early + (unsigned)(EARLY_BYTES - at.lane * 12);
    return at;
}

HT_DEVICE unsigned early_at(const lane_place &at, int i)
{
    return at.early + (unsigned)(i * WAVE * 16);
}

HT_DEVICE unsigned digits_at(const lane_place &at, int i, int slice)
{
    return at.digits + (unsigned)((i * SLICES + slice) * WAVE * 4);
}

// Where the warps leave absmax and sums, one row's and the next one's in turns: 0 and 1.
HT_DEVICE unsigned absmax_at(int turn, int warp)
{
    return ht_smem_base<EARLY_AT>() + (unsigned)(ABSMAX_AT + (turn * MOST_WARPS + warp) * 4);
}

HT_DEVICE unsigned sum_at(int turn, int warp)
{
    return ht_smem_base<EARLY_AT>() + (unsigned)(SUMS_AT + (turn * MOST_WARPS + warp) * 8);
}

// from: the lane's first k of a row.
HT_DEVICE void begin_row(const one_row_args &p, const lane_place &at, const float *from)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        if (COPIES_ASYNC != 0 && p.whole && i * LOAD_K < at.left)
            ht_stage_copy_issue(nullptr, early_at(at, i), (const unsigned char *)(from + i * LOAD_K));
    }
    ht_stage_commit();
}

// Loaded now: zeros where there is no k.
HT_DEVICE void load_row(const one_row_args &p, const lane_place &at, const float *from, uint4 *v)
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int left = at.left - i * LOAD_K;
        v[i] = p.whole && left > 0 ? ht_ldg16(from + i * LOAD_K) : load_guarded(from + i * LOAD_K, left); //@mutate one-guard
    }
}

// Begun before.
HT_DEVICE void collect_row(const one_row_args &p, const lane_place &at, const float *from, uint4 *v)
{
    if (COPIES_ASYNC == 0 || !p.whole) {
        load_row(p, at, from, v);
        return;
    }
    ht_stage_wait<0>();
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        v[i] = i * LOAD_K < at.left ? ht_lds16(early_at(at, i)) : make_uint4(0, 0, 0, 0); //@mutate one-early
    }
}

// Absmax of the warp's k.
HT_DEVICE int measure_row(const uint4 *v)
{
    unsigned most = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        most = larger_key(most, key_of_four(v[i]));
    }
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2)
        most = larger_key_across(most, lanes); //@mutate one-across
    return magnitude_of_key(most);
}

// Exponent of the row, from what all warps have. What they leave for a row stays until they meet at the next but one.
HT_DEVICE int meet(const lane_place &at, int turn, int measured)
{
    int most = 0;
    if (at.lane == 0)
        ht_sts4(absmax_at(turn, at.warp), ht_as_float((unsigned)measured));
    ht_barrier();
    for (int warp = 0; warp < at.warps; warp++)
        most = larger(most, (int)ht_as_uint(ht_lds4(absmax_at(turn, warp)))); //@mutate one-meet
    return ht_row_exponent(most);
}

HT_DEVICE void cut(unsigned (*digits)[1], uint4 v, float factor)
{
    const float four[4] = {scaled(v.x, factor), scaled(v.y, factor), scaled(v.z, factor), scaled(v.w, factor)};
    ht_split_four<1>(digits, 0, four);
}

HT_DEVICE void keep_digits(const lane_place &at, int i, const unsigned (*digits)[1])
{
#pragma unroll
    for (int s = 0; s < SLICES; s++) {
        ht_sts4(digits_at(at, i, s), ht_as_float(digits[s][0])); //@mutate one-keep
    }
}

// x's exponent; its digits stay.
HT_DEVICE int cut_x(const one_row_args &p, const lane_place &at)
{
    uint4 v[LOADS];
    load_row(p, at, p.x + at.k, v);
    const int exponent = meet(at, 0, measure_row(v));
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        unsigned digits[SLICES][1];
        cut(digits, v[i], ht_pow2(-exponent));
        keep_digits(at, i, digits);
    }
    return exponent;
}

// What the lane has of four k times x's adds to acc.
HT_DEVICE void multiply(const lane_place &at, int i, const unsigned (*digits)[1], int *acc)
{
#pragma unroll
    for (int q = 0; q < SLICES; q++) {
        const unsigned x = ht_as_uint(ht_lds4(digits_at(at, i, q)));
#pragma unroll
        for (int s = 0; s < SLICES - q; s++) {
            acc[s + q] = ht_dp4a(digits[s][0], x, acc[s + q]);
        }
    }
}

// The warp's part of a result: for the thread that stores it.
HT_DEVICE void leave_sum(const lane_place &at, int turn, const int *acc)
{
    long long sum = ht_combine(acc);
    for (int lanes = WAVE / 2; lanes > 0; lanes /= 2)
        sum += ht_shfl_sum(sum, lanes);
    if (at.lane == 0)
        ht_sts_sum(sum_at(turn, at.warp), sum); //@mutate one-leave
}

HT_DEVICE void multiply_row(const lane_place &at, int turn, const uint4 *v, int exponent)
{
    int acc[ACCS] = {};
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        unsigned digits[SLICES][1];
        cut(digits, v[i], ht_pow2(-exponent));
        multiply(at, i, digits, acc);
    }
    leave_sum(at, turn, acc);
}

// After the barrier behind them: the sums of all warps, to C.
HT_DEVICE void store_row(const one_row_args &p, const lane_place &at, int turn, int row, int exponent)
{
    long long sum = 0;
    for (int warp = 0; warp < at.warps; warp++)
        sum += ht_lds_sum(sum_at(turn, warp));
    float *const c = (float *)p.to.c + row * (p.of_b ? p.to.ldc : 1); //@mutate one-place
    ht_stg4(c, ht_axpby(ht_value_of(p.to.alpha), ht_finish(sum, exponent), ht_value_of(p.to.beta), c));
}

static __global__ void __launch_bounds__(MOST_WARPS *WAVE, ht_bound(MOST_WARPS *WAVE, 2)) one_row(const one_row_args p)
{
    ht_pdl_wait();
    ht_pdl_trigger();
    const lane_place at = place_of(p);
    const long long next = gridDim.x * p.ld;
    const float *from = p.w + blockIdx.x * p.ld + at.k;
    begin_row(p, at, from);
    const int x_exponent = cut_x(p, at);
    int row = (int)blockIdx.x, turn = 1, exponent = 0; // of the row before, from the second on
    for (; row < p.rows; row += (int)gridDim.x) {
        uint4 v[LOADS];
        collect_row(p, at, from, v);
        from += next;
        const int measured = measure_row(v);
        if (p.rows - row > (int)gridDim.x)
            begin_row(p, at, from); // where v has been //@mutate one-begin
        const int own = meet(at, turn, measured);
        if (threadIdx.x == 0 && row >= (int)gridDim.x)
            store_row(p, at, 1 - turn, row - (int)gridDim.x, exponent);
        multiply_row(at, turn, v, own);
        exponent = own + x_exponent; //@mutate one-exponent
        turn = 1 - turn;
    }
    ht_barrier();
    if (threadIdx.x == 0)
        store_row(p, at, 1 - turn, row - (int)gridDim.x, exponent);
}

// The same of panels.
HT_DEVICE void load_digits(const one_row_args &p, const lane_place &at, const ht_packed &of, int row, unsigned (*digits)[SLICES][1])
{
    const int atom = at.warp * LOADS * LOAD_ATOMS + at.lane * 4 / ATOM_K * GROUP;                       // of the row block, the first load's
    const int place = row % 64 * 128 + (at.lane * 4 % ATOM_K / 16 ^ row % 8) * 16 + at.lane % 4 * 4; //@mutate one-chunk
    const unsigned char *const from = of.panels + ((long long)(row / 64) * p.k_blocks + atom) * 8192; //@mutate one-panel
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#pragma unroll
        for (int s = 0; s < SLICES; s++) {
            const int own = place ^ s % ATOM_SLICES * ATOM_CHUNKS * 16;
            const bool there = atom + i * LOAD_ATOMS < p.k_blocks;
            const int *const word = (const int *)(const void *)(from + (i * LOAD_ATOMS + s / ATOM_SLICES) * 8192 + own); //@mutate one-digit
            digits[i][s][0] = there ? (unsigned)ht_ldg_i32(word) : 0;
        }
    }
}

static __global__ void __launch_bounds__(MOST_WARPS *WAVE, ht_bound(MOST_WARPS *WAVE, 2)) one_packed_row(const one_row_args p)
{
    ht_pdl_wait();
    ht_pdl_trigger();
    const lane_place at = place_of(p);
    unsigned digits[LOADS][SLICES][1];
    load_digits(p, at, p.x_packed, 0, digits);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        keep_digits(at, i, digits[i]);
    }
    const int x_exponent = ht_row_exponent(ht_ldg_i32(p.x_packed.row_absmax));
    int row = (int)blockIdx.x, turn = 1, exponent = 0;
    for (; row < p.rows; row += (int)gridDim.x) {
        load_digits(p, at, p.w_packed, row, digits);
        const int own = ht_row_exponent(ht_ldg_i32(p.w_packed.row_absmax + row));
        ht_barrier();
        if (threadIdx.x == 0 && row >= (int)gridDim.x)
            store_row(p, at, 1 - turn, row - (int)gridDim.x, exponent);
        int acc[ACCS] = {};
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            multiply(at, i, digits[i], acc);
        }
        leave_sum(at, turn, acc);
        exponent = own + x_exponent;
        turn = 1 - turn;
    }
    ht_barrier();
    if (threadIdx.x == 0)
        store_row(p, at, 1 - turn, row - (int)gridDim.x, exponent);
}

static int launch_some(void (*kernel)(one_row_args), const one_row_args &p, int warps, void *stream)
{
    const int threads = warps * WAVE, bytes = EARLY_AT + warps * BYTES_OF_WARP, most = ht_resident_blocks(kernel, threads, bytes, MOST_BYTES, 1);
    if (most == 0)
        return 1; // cudaErrorInvalidValue: no block of so many threads fits
    return ht_launch_dependent(kernel, (unsigned)(p.rows < most ? p.rows : most), 1, 1, (unsigned)threads, bytes, stream, p);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const int of_b = g.m < g.n, is_packed = g.a_packed.panels != nullptr;
    const ht_view &w = of_b ? g.b : g.a, &x = of_b ? g.a : g.b;
    const unsigned long long places = (unsigned long long)w.src | (unsigned long long)x.src;
    const one_row_args p = {(const float *)w.src, (const float *)x.src, w.ld, of_b ? g.n : g.m, w.k, of_b,
                            places % 16 == 0 && w.ld % 4 == 0 && w.k % 4 == 0, g.to, //@mutate one-whole
                            of_b ? g.b_packed : g.a_packed, of_b ? g.a_packed : g.b_packed, g.k_blocks};
    const int loads = is_packed ? (g.k_blocks + LOAD_ATOMS - 1) / LOAD_ATOMS : (w.k + LOAD_K - 1) / LOAD_K;
    return launch_some(is_packed ? one_packed_row : one_row, p, (loads + LOADS - 1) / LOADS, stream);
}
