#include "../samples/planes_sums.h" //@drop
// ---- geometry: FP64 or FP32 operands into panels of FP16 slices, by algorithms 1 and 3 (Mukunoki et al. 2020)
// A list of launches, which the mode decides; nothing waits for the host.
//
//   start    an operand, whichever way it lies, as rows of k: what is left to split (rest)
//   weights  |B| e, over the power of two below B's largest (algorithm 3)
//   split    rows by algorithm 1: slice after slice until nothing is left, or algorithm 3 is enough, or so many as
//            another launch has chosen; goes on where an earlier one stopped
//   choose   what all rows together ask: slices of A and of B, d, fast mode
//
// split: a block has OZ_ROWS rows, of which all get as many slices; OZ_LANES threads take 8 k each of a row by turns:
// 16 bytes of a panel. The largest that is left of a row, which the next slice's tau needs, is found on the way.
constexpr int OZ_THREADS = 256, OZ_ROWS = 4, OZ_LANES = OZ_THREADS / OZ_ROWS, OZ_WARPS = OZ_LANES / WAVE;
constexpr int START_ROWS = 64, START_K = 32, START_PITCH = START_K + 1;
constexpr int START_BYTES = START_ROWS * START_PITCH * 8, SPLIT_BYTES = OZ_THREADS / WAVE * 8;
static_assert(OZ_WARPS >= 1 && START_ROWS * START_K == 8 * OZ_THREADS, "a thread has a row, and 8 elements");

struct split_rule {
    int first, operands;  // of the two
    bool resumes;         // goes on behind another launch
    bool weighs;          // algorithm 3 may stop it
    bool stops_at_nothing; // when nothing is left of its rows, behind the first slice
    bool needs_all;       // what is left at the end poisons the row
    int limit;            // slices: chosen[limit]; less than 0: most
};

struct split_args {
    ht_ozaki_pack_args g;
    split_rule rule;
};

HT_DEVICE unsigned word_of(unsigned s)
{
    return ht_as_uint(ht_lds4(s));
}

HT_DEVICE unsigned long long pair_of(unsigned s)
{
    return (unsigned long long)word_of(s + 4) << 32 | word_of(s);
}

HT_DEVICE void store_pair(unsigned s, unsigned long long x)
{
    ht_sts4(s, ht_as_float((unsigned)x));
    ht_sts4(s + 4, ht_as_float((unsigned)(x >> 32)));
}

// The largest of a block's.
HT_DEVICE int largest_of_block(int x, unsigned smem)
{
    const int tid = (int)threadIdx.x;
    for (int lanes = 1; lanes < WAVE; lanes *= 2) {
        const int other = ht_shfl_xor(x, lanes);
        x = other > x ? other : x;
    }
    ht_barrier(); // what is there was read
    if (tid % WAVE == 0)
        ht_sts4(smem + (unsigned)(tid / WAVE) * 4, ht_as_float((unsigned)x));
    ht_barrier();
    for (int i = 0; i < OZ_THREADS / WAVE; i++) {
        const int other = (int)word_of(smem + (unsigned)i * 4);
        x = other > x ? other : x;
    }
    return x;
}

// ---- start

static __global__ void __launch_bounds__(OZ_THREADS) start(const ht_ozaki_pack_args g)
{
    const ht_ozaki_operand &o = g.operand[blockIdx.z];
    const int steps = g.k_blocks * 2, row0 = (int)blockIdx.x / steps * START_ROWS,
              k0 = (int)blockIdx.x % steps * START_K, tid = (int)threadIdx.x;
    if (row0 >= o.padded)
        return; // the other operand has more
    const unsigned smem = ht_smem_base<START_BYTES>();
    int field = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int row = o.of.k_contiguous ? tid / START_K + i * 8 : tid % START_ROWS,
                  k = o.of.k_contiguous ? tid % START_K : tid / START_ROWS + i * 4;
        const bool there = row0 + row < o.of.rows && k0 + k < o.of.k;
        const long long at = o.of.k_contiguous ? (row0 + row) * o.of.ld + k0 + k : (k0 + k) * o.of.ld + row0 + row;
        const unsigned long long x = there ? ht_oz_bits(ht_oz_element(o.of.src, at, g.of_floats)) : 0;
        const int own = (int)(x >> 52 & 0x7ff);
        field = own > field && own < 0x7ff ? own : field;
        store_pair(smem + (unsigned)(row * START_PITCH + k) * 8, x);
    }
    ht_barrier();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int row = tid / START_K + i * 8, k = tid % START_K;
        ht_stg_i64((long long *)(void *)(o.rest + (long long)(row0 + row) * (g.k_blocks * 64) + k0 + k),
                   (long long)pair_of(smem + (unsigned)(row * START_PITCH + k) * 8));
    }
    if (blockIdx.z == 0)
        return;
    field = largest_of_block(field, smem);
    if (tid == 0)
        ht_stg_i32(g.fields + (int)blockIdx.x, field);
}

// ---- weights

// Of 32 k a block; what is not finite counts nothing, its column is NaN in any case.
static __global__ void __launch_bounds__(OZ_THREADS) weigh(const ht_ozaki_pack_args g)
{
    const ht_ozaki_operand &o = g.operand[1];
    const int lane = (int)threadIdx.x / 32, k = (int)blockIdx.x * 32 + (int)threadIdx.x % 32;
    const unsigned smem = ht_smem_base<OZ_THREADS * 8>(), own = smem + threadIdx.x * 8;
    const int field = ht_ldg_i32(g.chosen + HT_OZAKI_FIELD);
    const ht_oz_scale down = ht_oz_scale_of(1023 - field);
    double sum = 0.0;
    for (int row = lane; row < o.of.rows; row += 8) {
        const unsigned long long x = ht_oz_magnitude(ht_oz_load(o.rest + (long long)row * (g.k_blocks * 64) + k));
        sum += ht_oz_is_finite(x) ? ht_oz_double(x) * down.first * down.second : 0.0;
    }
    store_pair(own, ht_oz_bits(sum));
    ht_barrier();
    if (lane != 0)
        return;
    sum = 0.0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum += ht_oz_double(pair_of(own + (unsigned)i * 32 * 8));
    }
    ht_stg_i64((long long *)(void *)(g.weights + k), (long long)ht_oz_bits(sum));
}

// ---- split

// The largest of a row's threads, or the sum of their doubles, for all of them. As in a tree, so the order does not
// depend on WAVE.
template <bool ADDS> HT_DEVICE unsigned long long join(unsigned long long x, unsigned long long y)
{
    return ADDS ? ht_oz_bits(ht_oz_double(x) + ht_oz_double(y)) : x > y ? x : y;
}

template <bool ADDS> HT_DEVICE unsigned long long join_row(unsigned long long x, unsigned smem)
{
    for (int lanes = 1; lanes < WAVE; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)x, lanes),
                       high = (unsigned)ht_shfl_xor((int)(unsigned)(x >> 32), lanes);
        x = join<ADDS>(x, (unsigned long long)high << 32 | low);
    }
    const int warp = (int)threadIdx.x / WAVE;
    ht_barrier(); // what is there was read
    if ((int)threadIdx.x % WAVE == 0)
        store_pair(smem + (unsigned)warp * 8, x);
    ht_barrier();
    const unsigned from = smem + (unsigned)(warp / OZ_WARPS * OZ_WARPS) * 8;
    x = pair_of(from);
    for (int i = 1; i < OZ_WARPS; i++)
        x = join<ADDS>(x, pair_of(from + (unsigned)i * 8));
    return x;
}

// One row, of which a thread has every OZ_LANES-th 8 k from `lane` on.
struct row_of_block {
    double *rest;
    unsigned char *panel; // of the next slice
    int row, lane, chunks;
};

HT_DEVICE void load_rest(const row_of_block &r, int chunk, double *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint4 v = ht_ld16(r.rest + chunk * 8 + i * 2);
        x[i * 2] = ht_oz_double((unsigned long long)v.y << 32 | v.x);
        x[i * 2 + 1] = ht_oz_double((unsigned long long)v.w << 32 | v.z);
    }
}

HT_DEVICE void store_rest(const row_of_block &r, int chunk, const double *x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned long long first = ht_oz_bits(x[i * 2]), second = ht_oz_bits(x[i * 2 + 1]);
        ht_stg16(r.rest + chunk * 8 + i * 2, make_uint4((unsigned)first, (unsigned)(first >> 32),
                                                        (unsigned)second, (unsigned)(second >> 32)));
    }
}

// |x| of the largest; of a row that is not finite what is left becomes 0.
HT_DEVICE unsigned long long largest_of(const row_of_block &r, unsigned smem)
{
    unsigned long long most = 0;
    double x[8];
#pragma unroll 1
    for (int chunk = r.lane; chunk < r.chunks; chunk += OZ_LANES) {
        load_rest(r, chunk, x);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            most = join<false>(most, ht_oz_magnitude(x[i]));
        }
    }
    most = join_row<false>(most, smem);
    if (ht_oz_is_finite(most))
        return most;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x[i] = 0.0;
    }
#pragma unroll 1
    for (int chunk = r.lane; chunk < r.chunks; chunk += OZ_LANES)
        store_rest(r, chunk, x);
    return most;
}

// Sums of a thread over its k: of what the first slice is of, and of the last slice.
struct weighed {
    double row, slice;
};

// The next slice of a row into its panel; the largest of what is left then.
template <bool WEIGHS>
HT_DEVICE unsigned long long split_row(const row_of_block &r, const double *weights, const ht_oz_step &step,
                                       bool is_first, weighed *sums)
{
    unsigned long long most = 0;
    sums->slice = 0.0;
#pragma unroll 1
    for (int chunk = r.lane; chunk < r.chunks; chunk += OZ_LANES) {
        double x[8];
        unsigned half[8];
        load_rest(r, chunk, x);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const double weight = WEIGHS ? ht_oz_load(weights + chunk * 8 + i) : 0.0;
            if (WEIGHS && is_first)
                sums->row =
                    __fma_rn(ht_oz_double(ht_oz_magnitude(x[i] * step.down.first * step.down.second)),
                             weight, sums->row);
            const double slice = ht_oz_take(&x[i], step);
            if (WEIGHS)
                sums->slice = __fma_rn(ht_oz_double(ht_oz_magnitude(slice)), weight, sums->slice);
            half[i] = ht_f16_rn((float)slice);
            most = join<false>(most, ht_oz_magnitude(x[i]));
        }
        store_rest(r, chunk, x);
        ht_stg16(r.panel + chunk / 8 * 8192 + (chunk % 8 ^ (r.row & 7)) * 16,
                 make_uint4(half[1] << 16 | half[0], half[3] << 16 | half[2], half[5] << 16 | half[4],
                            half[7] << 16 | half[6]));
    }
    return most;
}

// Whether d slices of a row are enough, by algorithm 3; `below`: tau of the last slice relative to the first.
HT_DEVICE bool are_enough(const ht_ozaki_pack_args &g, double row, double slice, int below, int d)
{
    return slice == 0.0 || (below >= -1000 && g.limit * row > (d + 1) * slice * ht_oz_pow2(below));
}

template <bool WEIGHS> static __global__ void __launch_bounds__(OZ_THREADS, ht_bound(OZ_THREADS, 2))
    split(const split_args s)
{
    const ht_ozaki_pack_args &g = s.g;
    const ht_ozaki_operand &o = g.operand[s.rule.first + (int)blockIdx.z];
    if ((int)blockIdx.x * OZ_ROWS >= o.padded)
        return; // the other operand has more
    const unsigned smem = ht_smem_base<SPLIT_BYTES>();
    const int row = (int)blockIdx.x * OZ_ROWS + (int)threadIdx.x / OZ_LANES;
    row_of_block r = {o.rest + (long long)row * (g.k_blocks * 64),
                      o.panels + (long long)(row / 64) * g.k_blocks * 8192 + row % 64 * 128, row,
                      (int)threadIdx.x % OZ_LANES, g.k_blocks * 8};
    const int limit = s.rule.limit < 0 ? g.most : ht_ldg_i32(g.chosen + s.rule.limit);
    int slices = s.rule.resumes ? ht_ldg_i32(o.slices + row) & (HT_OZAKI_LEFT - 1) : 0, tau = 0, first = 0;
    unsigned long long left = largest_of(r, smem);
    bool poisoned = !ht_oz_is_finite(left), enough = true;
    left = poisoned ? 0 : left;
    weighed sums = {0.0, 0.0};
    if (slices > 0)
        tau = ht_ldg_i32(o.exponents + (slices - 1) * (long long)o.padded + row);
    tau = tau == HT_OZAKI_POISONED ? 0 : tau;
    r.panel += slices * o.slice_stride;
#pragma unroll 1
    while (slices < limit && !(s.rule.stops_at_nothing && slices > 0 && largest_of_block(left != 0, smem) == 0)) {
        tau = left != 0 ? ht_oz_ceil_log2(left) : tau; // behind the end: as the last
        first = slices == 0 ? tau : first;
        if (r.lane == 0)
            ht_stg_i32(o.exponents + slices * (long long)o.padded + row, tau);
        left = split_row<WEIGHS>(r, g.weights, ht_oz_step_of(tau, g.bits), slices == 0, &sums);
        left = join_row<false>(left, smem);
        r.panel += o.slice_stride;
        slices++;
        if (WEIGHS) {
            const double whole = ht_oz_double(join_row<true>(ht_oz_bits(sums.row), smem)),
                         slice = ht_oz_double(join_row<true>(ht_oz_bits(sums.slice), smem));
            enough = are_enough(g, whole, slice, tau - first, slices);
            if (slices >= 2 && largest_of_block(!enough, smem) == 0)
                break;
        }
    }
    poisoned = poisoned || (s.rule.needs_all && left != 0) || (WEIGHS && !enough);
    if (r.lane != 0)
        return;
    ht_stg_i32(o.slices + row, slices | (left != 0 ? HT_OZAKI_LEFT : 0));
    if (poisoned)
        ht_stg_i32(o.exponents + row, HT_OZAKI_POISONED);
}

// ---- choose: one block

enum { CHOOSE_FIELD, CHOOSE_D, CHOOSE_FAST, CHOOSE_B, CHOOSE_BOTH };

struct choose_args {
    ht_ozaki_pack_args g;
    int what;
};

HT_DEVICE int largest_in(const int *from, int count, int mask, unsigned smem)
{
    int most = 0;
    for (int i = (int)threadIdx.x; i < count; i += OZ_THREADS) {
        const int own = ht_ldg_i32(from + i) & mask;
        most = own > most ? own : most;
    }
    return largest_of_block(most, smem);
}

static __global__ void __launch_bounds__(OZ_THREADS) choose(const choose_args c)
{
    const ht_ozaki_pack_args &g = c.g;
    const ht_ozaki_operand &a = g.operand[0], &b = g.operand[1];
    const unsigned smem = ht_smem_base<SPLIT_BYTES>();
    const bool is_writer = threadIdx.x == 0;
    if (c.what == CHOOSE_FIELD) {
        const int field = largest_in(g.fields, b.padded / 64 * g.k_blocks * 2, ~0, smem);
        if (is_writer)
            ht_stg_i32(g.chosen + HT_OZAKI_FIELD, field);
        return;
    }
    const bool of_a = c.what != CHOOSE_B, of_b = c.what == CHOOSE_B || c.what == CHOOSE_BOTH;
    const int slices_a = of_a ? largest_in(a.slices, a.padded, HT_OZAKI_LEFT - 1, smem) : 0,
              slices_b = of_b ? largest_in(b.slices, b.padded, HT_OZAKI_LEFT - 1, smem) : 0,
              left = c.what == CHOOSE_FAST ? largest_in(a.slices, a.padded, HT_OZAKI_LEFT, smem) : 0;
    if (!is_writer)
        return;
    if (of_a)
        ht_stg_i32(g.chosen + HT_OZAKI_A, slices_a);
    if (of_b)
        ht_stg_i32(g.chosen + HT_OZAKI_B, slices_b);
    if (c.what == CHOOSE_D)
        ht_stg_i32(g.chosen + HT_OZAKI_D, slices_a);
    if (c.what == CHOOSE_FAST) { // A split to its end: all products, and B as far as it goes
        ht_stg_i32(g.chosen + HT_OZAKI_LEVELS, left != 0 ? slices_a : 2 * g.most);
        ht_stg_i32(g.chosen + HT_OZAKI_B, left != 0 ? slices_a : g.most);
    }
    if (c.what == CHOOSE_BOTH) {
        ht_stg_i32(g.chosen + HT_OZAKI_D, g.most);
        ht_stg_i32(g.chosen + HT_OZAKI_LEVELS, g.mode == HT_OZAKI_FIXED ? g.most : 2 * g.most);
    }
}

// ---- the list

static int run_choose(const ht_ozaki_pack_args &g, int what, void *stream)
{
    const choose_args c = {g, what};
    return ht_launch(choose, 1, 1, 1, OZ_THREADS, SPLIT_BYTES, stream, c);
}

static int run_split(const ht_ozaki_pack_args &g, const split_rule &rule, void *stream)
{
    const split_args s = {g, rule};
    int padded = 0;
    for (int i = rule.first; i < rule.first + rule.operands; i++)
        padded = g.operand[i].padded > padded ? g.operand[i].padded : padded;
    return ht_launch(rule.weighs ? split<true> : split<false>, (unsigned)(padded / OZ_ROWS), 1,
                     (unsigned)rule.operands, OZ_THREADS, SPLIT_BYTES, stream, s);
}

// d from the data, then A so far; B so far, or to its end; panels of zeros where rows of B ended before.
static int run_by_data(const ht_ozaki_pack_args &g, void *stream)
{
    const split_rule until_enough = {0, 1, false, true, false, false, -1},
                     rest_of_a = {0, 1, true, false, false, false, HT_OZAKI_D},
                     whole_b = {1, 1, false, false, true, false, HT_OZAKI_B},
                     rest_of_b = {1, 1, true, false, false, false, HT_OZAKI_B};
    int code = run_choose(g, CHOOSE_FIELD, stream);
    code = code != 0 ? code
                     : ht_launch(weigh, (unsigned)g.k_blocks * 2, 1, 1, OZ_THREADS, OZ_THREADS * 8, stream, g);
    code = code != 0 ? code : run_split(g, until_enough, stream);
    code = code != 0 ? code : run_choose(g, CHOOSE_D, stream);
    code = code != 0 ? code : run_split(g, rest_of_a, stream);
    code = code != 0 ? code : run_choose(g, CHOOSE_FAST, stream);
    code = code != 0 ? code : run_split(g, whole_b, stream);
    code = code != 0 ? code : run_choose(g, CHOOSE_B, stream);
    return code != 0 ? code : run_split(g, rest_of_b, stream);
}

static int launch(const ht_ozaki_pack_args &g, void *stream)
{
    const int padded = g.operand[0].padded > g.operand[1].padded ? g.operand[0].padded : g.operand[1].padded;
    const split_rule whole = {0, 2, false, false, true, g.mode == HT_OZAKI_CR, -1},
                     rest_of_a = {0, 1, true, false, false, false, HT_OZAKI_A},
                     rest_of_b = {1, 1, true, false, false, false, HT_OZAKI_B};
    int code = ht_launch(start, (unsigned)(padded / START_ROWS * g.k_blocks * 2), 1, 2, OZ_THREADS,
                         START_BYTES, stream, g);
    if (code != 0 || g.mode == HT_OZAKI_DP)
        return code != 0 ? code : run_by_data(g, stream);
    code = run_split(g, whole, stream);
    code = code != 0 ? code : run_choose(g, CHOOSE_BOTH, stream);
    code = code != 0 ? code : run_split(g, rest_of_a, stream);
    return code != 0 ? code : run_split(g, rest_of_b, stream);
}

static int init(void)
{
    return 0;
}
