#include "../samples/planes_mma_warp.h" //@drop
// ---- geometry: residues of all moduli into C
// A thread takes four elements of those that a thread of the product holds (crt_order_*): a word from the
// plane of each modulus, then element by element the residues of four moduli to a word, the integer that has
// them, and its one rounding. Where that result is normal, as almost all are, 64 bits of the integer are
// enough (ht_crt_normal); the others are computed again, one after the other, by code for any of them.

// A bit for each of a thread's elements that residues make; doubtful: for those of which it takes the element itself to say whether they do.
HT_DEVICE int find_kept(const ht_crt_args &g, const taken &x, int *doubtful) {
    const unsigned failed = g.a_packed.sums ? load_residues(g, x, CRT_MODULI) : 0;
    int kept = 0;
    *doubtful = 0;
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        const int bit = is_of_matrix(g, x, e) ? 1 << e : 0, fails = (failed >> e * 8 & 1) != 0;
        kept |= fails ? 0 : bit;
        *doubtful |= fails ? bit : 0;
    }
    return kept;
}

// Whether an element, which has this value, is left for FP64 arithmetic's kernel: it then has a bit.
HT_DEVICE bool leaves_element(const ht_crt_args &g, const taken &x, int e, const unsigned *value) {
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    const float *const rows = g.a_packed.sums + x.entry * g.a_packed.exponent_stride, *const cols = g.b_packed.sums + x.entry * g.b_packed.exponent_stride;
    if (ht_crt_is_large(value, ht_ldg4(rows + row), ht_ldg4(cols + col), g.failed.factor))
        return false;
    ht_crt_set_failed(g.failed, x.entry, g.m, row, col);
    return true;
}

// Any element of a thread's, from its residues in memory: what the fast way leaves, one after the other.
template <bool POWER>
HT_DEVICE void store_element(const ht_crt_args &g, const scalars &by, const taken &x, int e, bool is_doubtful) {
    unsigned residues[GROUPS], value[CRT_VALUE_WORDS];
    load_element(g, x, e, residues);
    long long *const c = element_of(g, x, e);
    const int scale = scale_of(g, x, e);
    unsigned long long result;
    ht_crt_value(residues, value);
    if (is_doubtful && leaves_element(g, x, e, value))
        return;
    if (POWER || (by.is_power && scale < CRT_POISONED / 2))
        result = scale < CRT_POISONED / 2 ? ht_crt_to_fp64(value, scale - by.shift, by.sign) : CRT_NAN;
    else
        result = ht_crt_axpby(value, scale, by.alpha, by.beta,
                              ht_crt_is_zero(by.beta) ? 0 : (unsigned long long)ht_ldg_i64(c));
    ht_stg_i64(c, (long long)result);
}

// All of C is read before some is stored; crt19's and crt20's words leave no registers for that.
constexpr bool IS_OLD_AHEAD = CRT_MODULI < 19;

HT_DEVICE unsigned long long load_old(const ht_crt_args &g, const scalars &by, const taken &x, int e, bool is_kept) {
    return by.adds && is_kept ? (unsigned long long)ht_ldg_i64(element_of(g, x, e)) : 0;
}

// beta C, of an exponent and a sign, added to X, which has `scale`; false where that is not a sum of words.
HT_DEVICE bool add_old(const scalars &by, unsigned long long old, int scale, unsigned *value) {
    return ht_crt_add_aligned(value, old, (int)(by.beta >> 52 & 0x7ff) - 1023 + scale + CRT_FREE_DIGITS * 8,
                              ht_crt_sign(by.beta) ^ by.sign);
}

// alpha X + beta C of a thread's kept elements where alpha is a power of two, and so is beta, or it is 0, as it must be
// without ADDS. Which are left: a bit each.
template <bool ADDS>
HT_DEVICE int store_normal(const ht_crt_args &g, const scalars &by, const taken &x, int kept) {
    unsigned residues[TAKEN][GROUPS], value[TAKEN][CRT_VALUE_WORDS];
    unsigned long long old[TAKEN] = {};
    int scale[TAKEN], left = 0;
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        scale[e] = scale_of(g, x, e) - by.shift;
    }
    load_elements(g, x, residues);
    ht_crt_aligned_values<TAKEN>(residues, value);
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        if (ADDS && IS_OLD_AHEAD)
            old[e] = load_old(g, by, x, e, (kept >> e & 1) != 0);
    }
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        unsigned low, high;
        const bool is_kept = (kept >> e & 1) != 0;
        if (ADDS && !IS_OLD_AHEAD)
            old[e] = load_old(g, by, x, e, is_kept);
        const bool added = !ADDS || !by.adds || !is_kept || add_old(by, old[e], scale[e], value[e]);
        const bool normal = ht_crt_normal(value[e], scale[e], by.sign, &low, &high) && added;
        left |= (normal || !is_kept ? 0 : 1) << e;
        if (is_kept && (normal || !ADDS))
            ht_stg8(element_of(g, x, e), low, high);
    }
    return left;
}

// All of a thread's elements.
template <bool POWER> HT_DEVICE void combine_taken(const ht_crt_args &g, const scalars &by, const taken &x) {
    int doubtful, left = find_kept(g, x, &doubtful);
    if (POWER)
        left = store_normal<false>(g, by, x, left);
    else if (by.is_power || by.adds)
        left = store_normal<true>(g, by, x, left);
    left |= doubtful;
#pragma unroll 1
    for (int e = 0; left >> e != 0; e++) {
        const ht_crt_args &again = ht_reload_args(g);
        if ((left >> e & 1) != 0)
            store_element<POWER>(again, load_alpha_beta(again.to), x, e, (doubtful >> e & 1) != 0);
    }
}

static __host__ __device__ __forceinline__ unsigned pieces_of(const ht_crt_args &g) {
    return (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN) * PIECES;
}

// POWER: alpha and beta are known to be such that no product but X's is needed; a kernel of its own, since
// the other one is longer.
template <bool POWER>
static __global__ void __launch_bounds__(CRT_THREADS, ht_bound(CRT_THREADS, (CRT_MODULI > 15 ? 512 : POWER ? 768 : CRT_RESIDENT) / CRT_THREADS))
    combine(const ht_crt_args g) {
    ht_pdl_wait();
    ht_pdl_trigger();
    if (ht_crt_is_idle(g.counts, blockIdx.z) || ht_crt_gives_up(g.failed, blockIdx.z))
        return;
    const scalars by = load_alpha_beta(g.to);
#pragma unroll 1
    for (unsigned piece = blockIdx.x; piece < pieces_of(g); piece += gridDim.x) {
        const ht_crt_args &own = ht_reload_args(g);
        combine_taken<POWER>(own, by, taken_by(own, (int)piece, (int)threadIdx.x));
    }
}

// Of a second scheme, which is mostly idle, a block takes several pieces: to begin and end so many takes longer than all else.
static int launch(const ht_crt_args &g, void *stream) {
    constexpr unsigned OF_SECOND = 8;
    const unsigned pieces = pieces_of(g);
    return ht_launch_dependent(is_known_power(g.to) ? combine<true> : combine<false>,
                               g.a_packed.sums ? (pieces + OF_SECOND - 1) / OF_SECOND : pieces, 1, (unsigned)g.batch,
                               CRT_THREADS, 0, stream, g);
}
