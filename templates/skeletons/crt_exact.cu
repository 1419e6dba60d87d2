#include "../samples/crt_exact.h" //@drop
// ---- geometry: residues of all moduli into C, each element correctly rounded
// In two launches instead of crt_combine's one:
//
//   combine  as crt_combine; where packing rounded anything the residues' integer X is within `error` of
//            what it stands for, and decides the element if X - error and X + error round to one
//            number. Else a bit says that it did not, and C stays. Where it rounded nothing, there may be
//            residues of fewer moduli, whose constants are read, not known
//   settle   a warp for each bit: the element from A and B, exactly (epilogue/exact_dot)
//
// A thread of `combine` takes TAKEN elements (epilogue/crt_elements), so BIT_THREADS have an int of bits together.
constexpr int BIT_THREADS = 32 / TAKEN, BLOCK_INTS = CRT_THREADS / BIT_THREADS; // ints of bits of a block of `combine`
constexpr unsigned long long NORM_LOST = 0x8000000000000000ull; // beside a norm: integers were rounded
constexpr int SETTLE_THREADS = 64, SETTLE_WARPS = SETTLE_THREADS / WAVE,
              SETTLE_BYTES = SETTLE_WARPS * EXACT_ARRAY * 4, TILE_INTS = BM * BN / 32; // of bits
static_assert(CRT_THREADS % BIT_THREADS == 0, "a block has whole ints of bits");
static_assert(TILE_INTS % SETTLE_THREADS == 0, "a block looks at one tile");
static_assert(CRT_VALUE_WORDS >= 4, "an error is added to the second word and those above it");

// ---- combine
// How far X may be from what it stands for, in units of 2^32, which are those of norms: half of the other's norm for each side
// that was rounded, and a quarter for each k where both were, which is less than a unit.
HT_DEVICE unsigned long long error_of(unsigned long long a, unsigned long long b)
{
    const unsigned long long size_a = a & ~NORM_LOST, size_b = b & ~NORM_LOST;
    if (size_a == 0 || size_b == 0 || ((a | b) & NORM_LOST) == 0) // of zeros, or exact
        return 0;
    return ((a & NORM_LOST ? size_b : 0) + (b & NORM_LOST ? size_a : 0) + 2) >> 1;
}

// to = value + error 2^32 256^DIGITS, or minus.
template <int DIGITS>
HT_DEVICE void shifted(const unsigned *value, unsigned long long error, bool minus, unsigned *to)
{
    const unsigned flip = minus ? 0xffffffffu : 0u;
    const unsigned long long high = DIGITS > 0 ? error >> (64 - DIGITS * 8) % 64 : 0;
    const unsigned word[3] = {(unsigned)(error << DIGITS * 8), (unsigned)(error << DIGITS * 8 >> 32), (unsigned)high};
    unsigned long long carry = flip & 1;
    to[0] = value[0];
#pragma unroll
    for (int w = 1; w < CRT_VALUE_WORDS; w++) {
        carry += (unsigned long long)value[w] + ((w < 4 ? word[w < 4 ? w - 1 : 0] : 0) ^ flip);
        to[w] = (unsigned)carry;
        carry >>= 32;
    }
}

// Of element e of a thread's.
HT_DEVICE unsigned long long error_at(const ht_crt_args &g, const taken &x, int e)
{
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    const unsigned long long *const a = g.a_packed.norms + x.entry * g.a_packed.measured_stride + (row < g.m ? row : g.m - 1),
                             *const b = g.b_packed.norms + x.entry * g.b_packed.measured_stride + (col < g.n ? col : g.n - 1);
    return error_of((unsigned long long)ht_ldg_i64((const long long *)(const void *)a),
                    (unsigned long long)ht_ldg_i64((const long long *)(const void *)b));
}

// What residues are of.
struct residues_of {
    int moduli;
    ht_crt_fewer constants;
};

HT_DEVICE residues_of residues_of_block(const ht_crt_args &g)
{
    return {ht_crt_moduli(g.spans), {ht_smem_base<CRT_FEWER_BYTES>()}};
}

// Any element, from its residues in memory. Whether they decide it; then it is stored.
template <bool POWER>
HT_DEVICE bool store_element(const ht_crt_args &g, const scalars &by, const residues_of &r, const taken &x, int e)
{
    unsigned residues[GROUPS], value[CRT_VALUE_WORDS];
    const bool has_product = POWER || !ht_crt_is_zero(by.alpha);
    const int own_scale = scale_of(g, x, e), scale = own_scale + ht_crt_shift_of(r.constants);
    if (has_product && own_scale >= CRT_POISONED / 2)
        return false;
    long long *const c = element_of(g, x, e);
    const unsigned long long error = has_product && r.moduli == CRT_MODULI ? error_at(g, x, e) : 0,
                             old = POWER || by.is_power || ht_crt_is_zero(by.beta) ? 0 : (unsigned long long)ht_ldg_i64(c);
    unsigned long long result = 0, other = 0;
    load_element(g, x, e, residues, r.moduli);
    ht_crt_value(residues, value, r.constants);
#pragma unroll 1
    for (int side = error != 0 ? 2 : 1; side > 0; side--) {
        unsigned near[CRT_VALUE_WORDS];
        other = result;
        shifted<0>(value, error, side == 1, near);
        result = POWER || by.is_power ? ht_crt_to_fp64(near, scale - by.shift, by.sign)
                                      : ht_crt_axpby(near, scale, by.alpha, by.beta, old);
    }
    if (error != 0 && result != other)
        return false;
    ht_stg_i64(c, (long long)result);
    return true;
}

// X + error of a thread's element e, or minus, where that is a normal result: its words.
HT_DEVICE bool round_normal(const unsigned *value, unsigned long long error, bool minus, int scale, unsigned sign, unsigned *low,
                            unsigned *high)
{
    unsigned near[CRT_VALUE_WORDS];
    shifted<CRT_FREE_DIGITS>(value, error, minus, near);
    return ht_crt_normal(near, scale, sign, low, high);
}

// As crt_combine's where alpha is a power of two and beta 0: elements whose results are normal. Which are left: a bit each.
HT_DEVICE unsigned store_normal(const ht_crt_args &g, const scalars &by, const taken &x)
{
    unsigned residues[TAKEN][GROUPS], value[TAKEN][CRT_VALUE_WORDS], left = 0;
    int scale[TAKEN];
    unsigned long long error[TAKEN];
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        scale[e] = scale_of(g, x, e) - by.shift;
        error[e] = error_at(g, x, e);
    }
    load_elements(g, x, residues);
    ht_crt_aligned_values<TAKEN>(residues, value);
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        unsigned low, high, other_low, other_high;
        bool decided = round_normal(value[e], error[e], false, scale[e], by.sign, &low, &high);
        if (error[e] != 0)
            decided = round_normal(value[e], error[e], true, scale[e], by.sign, &other_low, &other_high) && decided && low == other_low &&
                      high == other_high;
        left |= (decided ? 0u : 1u) << e;
        if (decided && is_of_matrix(g, x, e))
            ht_stg8(element_of(g, x, e), low, high);
    }
    return left;
}

// The same of fewer moduli, which leave no error.
HT_DEVICE unsigned store_whole(const ht_crt_args &g, const scalars &by, const residues_of &r, const taken &x)
{
    unsigned residues[TAKEN][GROUPS], value[TAKEN][CRT_VALUE_WORDS], left = 0;
    int scale[TAKEN];
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        scale[e] = scale_of(g, x, e) + ht_crt_shift_of(r.constants) - by.shift;
    }
    load_elements(g, x, residues, r.moduli);
    ht_crt_aligned_values<TAKEN>(residues, value, r.constants);
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        unsigned low, high;
        const bool normal = ht_crt_normal(value[e], scale[e], by.sign, &low, &high);
        left |= (normal ? 0u : 1u) << e;
        if (normal && is_of_matrix(g, x, e))
            ht_stg8(element_of(g, x, e), low, high);
    }
    return left;
}

template <bool POWER>
static __global__ void __launch_bounds__(CRT_THREADS, ht_bound(CRT_THREADS, 512 / CRT_THREADS))
    combine(const ht_crt_args g)
{
    const taken x = taken_by(g, (int)blockIdx.x, (int)threadIdx.x);
    unsigned left = (1u << TAKEN) - 1, undecided = 0;
    {
        const residues_of r = residues_of_block(g);
        const scalars by = load_alpha_beta(g.to);
        ht_crt_copy_fewer<CRT_THREADS>(r.constants, r.moduli);
        ht_barrier();
        if (POWER || by.is_power)
            left = CRT_HAS_FEWER && r.moduli < CRT_MODULI ? store_whole(g, by, r, x) : store_normal(g, by, x);
    }
#pragma unroll 1
    for (int e = 0; left >> e != 0; e++) {
        const ht_crt_args &again = ht_reload_args(g);
        if ((left >> e & 1) != 0 && is_of_matrix(again, x, e) &&
            !store_element<POWER>(again, load_alpha_beta(again.to), residues_of_block(again), x, e))
            undecided |= 1u << e;
    }
    const int place = (int)threadIdx.x % BIT_THREADS;
    int bits = (int)(undecided << place * TAKEN);
    for (int lanes = 1; lanes < BIT_THREADS; lanes *= 2)
        bits |= ht_shfl_xor(bits, lanes);
    if (place == 0)
        ht_stg_i32(g.undecided + x.entry * g.undecided_stride +
                       ((long long)blockIdx.x * CRT_THREADS + (int)threadIdx.x) / BIT_THREADS,
                   bits);
}

// ---- settle
HT_DEVICE const long long *line_of(const ht_view &x, long long entry, int row)
{
    return (const long long *)x.src + entry * x.stride + row * (x.k_contiguous ? x.ld : 1);
}

HT_DEVICE void settle_element(const ht_crt_args &g, const exact_scalars &scalars, const taken &x, int e,
                              unsigned smem)
{
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    const exact_vectors v = {line_of(g.a, x.entry, row), line_of(g.b, x.entry, col), g.a.k_contiguous ? 1 : g.a.ld,
                             g.b.k_contiguous ? 1 : g.b.ld, g.a.k};
    long long *const c = element_of(g, x, e);
    exact_scalars by = scalars;
    if (threadIdx.x % WAVE == 0 && !ht_crt_is_zero(by.beta))
        by.c = (unsigned long long)ht_ldg_i64(c);
    const unsigned long long result = exact_dot(v, scale_of(g, x, e), by, smem);
    if (threadIdx.x % WAVE == 0)
        ht_stg_i64(c, (long long)result);
}

// Where a block's ints of bits begin. Tiles that are looked at together have the rows in common of the operand whose k does
// not lie together: each of its elements comes with neighbours of other rows, which L2 then keeps for those who want them.
HT_DEVICE int first_int(const ht_crt_args &g)
{
    const int at = (int)blockIdx.x * SETTLE_THREADS, tile = at / TILE_INTS, tiles_m = (g.m + BM - 1) / BM,
              tiles_n = (g.n + BN - 1) / BN;
    return (g.a.k_contiguous ? tile : tile % tiles_n * tiles_m + tile / tiles_n) * TILE_INTS + at % TILE_INTS;
}

// A warp looks at WAVE ints of bits, one after the other. Blocks are small, so that one whose warps find nothing
// gives way at once.
static __global__ void __launch_bounds__(SETTLE_THREADS) settle(const ht_crt_args g)
{
    const unsigned smem = ht_smem_base<SETTLE_BYTES>() + threadIdx.x / WAVE * (EXACT_ARRAY * 4);
    const int lane = (int)threadIdx.x % WAVE, first = first_int(g) + (int)threadIdx.x - lane;
    const exact_scalars by = {read_scalar(g.to.alpha), read_scalar(g.to.beta), 0};
    unsigned mine = (unsigned)ht_ldg_i32(g.undecided + blockIdx.z * g.undecided_stride + first + lane);
#pragma unroll 1
    for (;;) {
        int next = mine != 0 ? lane * 32 + 31 - ht_clz(mine) : WAVE * 32;
        for (int lanes = WAVE / 2; lanes > 0; lanes /= 2) {
            const int other = ht_shfl_xor(next, lanes);
            next = other < next ? other : next;
        }
        if (next == WAVE * 32)
            return;
        if (next / 32 == lane)
            mine &= ~(1u << next % 32);
        const int word = first + next / 32, thread = word % BLOCK_INTS * BIT_THREADS + next % 32 / TAKEN; // all threads may be more than 2^31
        settle_element(g, by, taken_by(g, word / BLOCK_INTS, thread), next % TAKEN, smem);
    }
}

static int launch(const ht_crt_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    const unsigned batch = (unsigned)g.batch;
    const int code = ht_launch(is_known_power(g.to) ? combine<true> : combine<false>, tiles * PIECES, 1, batch, CRT_THREADS,
                               CRT_FEWER_BYTES, stream, g);
    return code != 0 ? code
                     : ht_launch(settle, tiles * (TILE_INTS / SETTLE_THREADS), 1, batch, SETTLE_THREADS, SETTLE_BYTES, stream, g);
}
