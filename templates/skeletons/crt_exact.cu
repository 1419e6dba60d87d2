#include "../samples/crt_exact.h" //@drop
// ---- geometry: residues of all moduli into C, each element correctly rounded
// In three launches instead of crt_combine's one:
//
//   norms, sum_norms  of each row of A and column of B an upper bound of its 1-norm, and whether making
//                     integers of it lost anything
//   combine           as crt_combine; where something was lost the residues' integer X is within `error` of
//                     what it stands for, and decides the element if X - error and X + error round to one
//                     number. Else a bit says that it did not, and C stays
//   settle            a warp for each bit: the element from A and B, exactly (epilogue/exact_dot)
//
// A thread of `combine` takes TAKEN elements (epilogue/crt_elements), so BIT_THREADS have an int of bits together.
constexpr int BIT_THREADS = 32 / TAKEN;
constexpr int NORM_THREADS = 256, NORM_ROWS = 32, NORM_AHEAD = 8, NORM_BYTES = 2 * NORM_THREADS * 4;
constexpr int NORM_SHIFT = 32; // norms are in units of 2^NORM_SHIFT of the scaled integers
constexpr unsigned long long NORM_LOST = 0x8000000000000000ull; // beside a norm: integers were rounded
constexpr int SETTLE_THREADS = 64, SETTLE_WARPS = SETTLE_THREADS / WAVE,
              SETTLE_BYTES = SETTLE_WARPS * EXACT_ARRAY * 4;
static_assert(CRT_VALUE_WORDS >= 4, "an error is added to the second word and those above it");

// ---- norms
struct norm_operand {
    const double *src;
    const int *exponents;
    unsigned long long *norms;
    long long ld, stride, exponent_stride, norm_stride;
    int rows, k, k_contiguous, batch;
};

HT_DEVICE norm_operand operand_of(const ht_crt_exact_args &g, bool second)
{
    norm_operand x;
    x.src = second ? g.b : g.a;
    x.exponents = second ? g.to.b_col_exponents : g.to.a_row_exponents;
    x.norms = second ? g.b_norms : g.a_norms;
    x.ld = second ? g.b_ld : g.a_ld;
    x.stride = second ? g.b_stride : g.a_stride;
    x.exponent_stride = second ? g.to.b_exponent_stride : g.to.a_exponent_stride;
    x.norm_stride = second ? g.b_norm_stride : g.a_norm_stride;
    x.rows = second ? g.to.n : g.to.m;
    x.k = g.k;
    x.k_contiguous = second ? g.b_k_contiguous : g.a_k_contiguous;
    x.batch = x.norm_stride == 0 ? 1 : g.to.batch;
    return x;
}

HT_DEVICE int norm_pitch(const norm_operand &x)
{
    return (x.rows + 63) / 64 * 64;
}

HT_DEVICE int norm_segments(const norm_operand &x)
{
    return (x.k + CRT_SEGMENT - 1) / CRT_SEGMENT;
}

// |x| 2^s in units of 2^NORM_SHIFT, rounded up; lost: x 2^s is no integer.
HT_DEVICE unsigned long long magnitude_of(unsigned long long x, int s, unsigned *lost)
{
    int exponent;
    const unsigned long long mantissa = ht_crt_mantissa_of(x, &exponent);
    const int below = -(exponent + s), right = below + NORM_SHIFT; // of the mantissa's last bit
    if (below > 0)
        *lost |= below > 63 ? mantissa != 0 : mantissa << (64 - below) != 0;
    if (right > 63)
        return mantissa != 0;
    return right <= 0 ? mantissa << -right : (mantissa + (1ull << right) - 1) >> right;
}

// A row's segment by eight threads, neighbours where k lies together, else lanes of eight warps.
template <bool K_MAJOR> HT_DEVICE void norm_segment(const norm_operand &x, long long entry, int block)
{
    const unsigned smem = ht_smem_base<NORM_BYTES>();
    const int thread = (int)threadIdx.x, strips = norm_pitch(x) / NORM_ROWS, segment = block / strips,
              own = K_MAJOR ? thread / 8 : thread % NORM_ROWS, share = K_MAJOR ? thread % 8 : thread / NORM_ROWS,
              row = block % strips * NORM_ROWS + own, k0 = segment * CRT_SEGMENT,
              s = row < x.rows ? ht_ldg_i32(x.exponents + entry * x.exponent_stride + row) : CRT_POISONED;
    const int left = x.k - k0 < CRT_SEGMENT ? x.k - k0 : CRT_SEGMENT;
    const long long *const at = (const long long *)(const void *)(x.src + entry * x.stride) +
                                (K_MAJOR ? row * x.ld + k0 : k0 * x.ld + row);
    unsigned long long sum = 0;
    unsigned lost = 0;
    if (s < CRT_POISONED / 2) {
#pragma unroll 1
        for (int k = share; k < left; k += 8 * NORM_AHEAD) {
            unsigned long long bits[NORM_AHEAD];
#pragma unroll
            for (int i = 0; i < NORM_AHEAD; i++) {
                bits[i] = k + i * 8 < left ? (unsigned long long)ht_ldg_i64(at + (k + i * 8) * (K_MAJOR ? 1 : x.ld)) : 0;
            }
#pragma unroll
            for (int i = 0; i < NORM_AHEAD; i++) {
                sum += magnitude_of(bits[i], s, &lost);
            }
        }
    }
    const unsigned to = smem + (unsigned)(own * 8 + share) * 8;
    ht_sts4(to, ht_as_float((unsigned)sum));
    ht_sts4(to + 4, ht_as_float((unsigned)(sum >> 32) | (lost ? (unsigned)(NORM_LOST >> 32) : 0u)));
    ht_barrier();
    if (share != 0)
        return;
    sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned low = ht_as_uint(ht_lds4(smem + (unsigned)(own * 8 + i) * 8)),
                       high = ht_as_uint(ht_lds4(smem + (unsigned)(own * 8 + i) * 8 + 4));
        const unsigned long long part = (unsigned long long)high << 32 | low;
        sum = (sum + (part & ~NORM_LOST)) | (part & NORM_LOST);
    }
    ht_stg_i64((long long *)(void *)(x.norms + entry * x.norm_stride) + (long long)segment * norm_pitch(x) + row,
               (long long)sum);
}

static __global__ void __launch_bounds__(NORM_THREADS) norms(const ht_crt_exact_args g)
{
    const norm_operand x = operand_of(g, blockIdx.y != 0);
    const int block = (int)blockIdx.x;
    if (block >= norm_pitch(x) / NORM_ROWS * norm_segments(x) || (int)blockIdx.z >= x.batch)
        return;
    if (x.k_contiguous)
        norm_segment<true>(x, blockIdx.z, block);
    else
        norm_segment<false>(x, blockIdx.z, block);
}

// Of all segments, in the first.
static __global__ void __launch_bounds__(NORM_THREADS) sum_norms(const ht_crt_exact_args g)
{
    const norm_operand x = operand_of(g, blockIdx.y != 0);
    const int row = (int)(blockIdx.x * NORM_THREADS + threadIdx.x);
    if (row >= x.rows || (int)blockIdx.z >= x.batch)
        return;
    long long *const at = (long long *)(void *)(x.norms + (long long)blockIdx.z * x.norm_stride) + row;
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = 0; i < norm_segments(x); i++) {
        const unsigned long long part = (unsigned long long)ht_ldg_i64(at + (long long)i * norm_pitch(x));
        sum = ((sum & ~NORM_LOST) + (part & ~NORM_LOST)) | ((sum | part) & NORM_LOST);
    }
    ht_stg_i64(at, (long long)sum);
}

// ---- combine
// How far X may be from what it stands for, in units of 2^NORM_SHIFT: half of the other's norm for each side
// that was rounded, and a quarter for each k where both were, which is less than a unit.
HT_DEVICE unsigned long long error_of(unsigned long long a, unsigned long long b)
{
    const unsigned long long size_a = a & ~NORM_LOST, size_b = b & ~NORM_LOST;
    if (size_a == 0 || size_b == 0 || ((a | b) & NORM_LOST) == 0) // of zeros, or exact
        return 0;
    return ((a & NORM_LOST ? size_b : 0) + (b & NORM_LOST ? size_a : 0) + 2) >> 1;
}

// to = value + error 2^NORM_SHIFT 256^DIGITS, or minus.
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
HT_DEVICE unsigned long long error_at(const ht_crt_exact_args &g, const taken &x, int e)
{
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    const unsigned long long *const a = g.a_norms + x.entry * g.a_norm_stride + (row < g.to.m ? row : g.to.m - 1),
                             *const b = g.b_norms + x.entry * g.b_norm_stride + (col < g.to.n ? col : g.to.n - 1);
    return error_of((unsigned long long)ht_ldg_i64((const long long *)(const void *)a),
                    (unsigned long long)ht_ldg_i64((const long long *)(const void *)b));
}

// Any element, from its residues in memory. Whether they decide it; then it is stored.
template <bool POWER>
HT_DEVICE bool store_element(const ht_crt_exact_args &g, const scalars &by, const taken &x, int e)
{
    unsigned residues[GROUPS], value[CRT_VALUE_WORDS];
    const int scale = scale_of(g.to, x, e);
    const bool has_product = POWER || !ht_crt_is_zero(by.alpha);
    if (has_product && scale >= CRT_POISONED / 2)
        return false;
    long long *const c = element_of(g.to, x, e);
    const unsigned long long error = has_product ? error_at(g, x, e) : 0,
                             old = POWER || by.is_power || ht_crt_is_zero(by.beta) ? 0 : (unsigned long long)ht_ldg_i64(c);
    unsigned long long result = 0, other = 0;
    load_element(g.to, x, e, residues);
    ht_crt_value(residues, value);
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

// As crt_combine's where alpha is a power of two and beta 0: elements whose results are normal. Which are left: a bit each.
HT_DEVICE unsigned store_normal(const ht_crt_exact_args &g, const scalars &by, const taken &x)
{
    unsigned residues[TAKEN][GROUPS], value[TAKEN][CRT_VALUE_WORDS], left = 0;
    int scale[TAKEN];
    unsigned long long error[TAKEN];
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        scale[e] = scale_of(g.to, x, e) - by.shift;
        error[e] = error_at(g, x, e);
    }
    load_elements(g.to, x, residues);
    ht_crt_aligned_values<TAKEN>(residues, value);
#pragma unroll
    for (int e = 0; e < TAKEN; e++) {
        unsigned near[CRT_VALUE_WORDS], low, high, other_low, other_high;
        shifted<CRT_FREE_DIGITS>(value[e], error[e], false, near);
        bool decided = ht_crt_normal(near, scale[e], by.sign, &low, &high);
        if (error[e] != 0) {
            shifted<CRT_FREE_DIGITS>(value[e], error[e], true, near);
            decided = ht_crt_normal(near, scale[e], by.sign, &other_low, &other_high) && decided && low == other_low &&
                      high == other_high;
        }
        left |= (decided ? 0u : 1u) << e;
        if (decided && is_of_matrix(g.to, x, e))
            ht_stg8(element_of(g.to, x, e), low, high);
    }
    return left;
}

template <bool POWER>
static __global__ void __launch_bounds__(CRT_THREADS, ht_bound(CRT_THREADS, 512 / CRT_THREADS))
    combine(const ht_crt_exact_args g)
{
    const taken x = taken_by(g.to, (int)blockIdx.x, (int)threadIdx.x);
    const scalars by = load_alpha_beta(g.to);
    const unsigned left = POWER || by.is_power ? store_normal(g, by, x) : (1u << TAKEN) - 1;
    unsigned undecided = 0;
#pragma unroll 1
    for (int e = 0; left >> e != 0; e++) {
        const ht_crt_exact_args &again = ht_reload_args(g);
        if ((left >> e & 1) != 0 && is_of_matrix(again.to, x, e) &&
            !store_element<POWER>(again, load_alpha_beta(again.to), x, e))
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
HT_DEVICE void settle_element(const ht_crt_exact_args &g, const exact_scalars &scalars, const taken &x, int e,
                              unsigned smem)
{
    const int row = x.row + row_of(e), col = x.col + column_of(e);
    const long long a_row = g.a_k_contiguous ? g.a_ld : 1, b_row = g.b_k_contiguous ? g.b_ld : 1;
    const exact_vectors v = {(const long long *)(const void *)(g.a + x.entry * g.a_stride + row * a_row),
                             (const long long *)(const void *)(g.b + x.entry * g.b_stride + col * b_row),
                             g.a_k_contiguous ? 1 : g.a_ld, g.b_k_contiguous ? 1 : g.b_ld, g.k};
    long long *const c = element_of(g.to, x, e);
    exact_scalars by = scalars;
    if (threadIdx.x % WAVE == 0 && !ht_crt_is_zero(by.beta))
        by.c = (unsigned long long)ht_ldg_i64(c);
    const unsigned long long result = exact_dot(v, scale_of(g.to, x, e), by, smem);
    if (threadIdx.x % WAVE == 0)
        ht_stg_i64(c, (long long)result);
}

// A warp looks at WAVE ints of bits, one after the other. Blocks are small, so that one whose warps find nothing
// gives way at once.
static __global__ void __launch_bounds__(SETTLE_THREADS) settle(const ht_crt_exact_args g)
{
    const unsigned smem = ht_smem_base<SETTLE_BYTES>() + threadIdx.x / WAVE * (EXACT_ARRAY * 4);
    const int lane = (int)threadIdx.x % WAVE, first = (int)(blockIdx.x * SETTLE_THREADS + threadIdx.x) - lane,
              count = (g.to.m + BM - 1) / BM * ((g.to.n + BN - 1) / BN) * PIECES * (CRT_THREADS / BIT_THREADS);
    const exact_scalars by = {read_scalar(g.to.alpha_ptr, g.to.alpha), read_scalar(g.to.beta_ptr, g.to.beta), 0};
    unsigned mine = first + lane < count ? (unsigned)ht_ldg_i32(g.undecided + blockIdx.z * g.undecided_stride + first + lane) : 0;
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
        const int thread = (first + next / 32) * BIT_THREADS + next % 32 / TAKEN;
        settle_element(g, by, taken_by(g.to, thread / CRT_THREADS, thread % CRT_THREADS), next % TAKEN, smem);
    }
}

static int launch(const ht_crt_exact_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.to.m + BM - 1) / BM) * (unsigned)((g.to.n + BN - 1) / BN);
    const int rows = g.to.m > g.to.n ? g.to.m : g.to.n;
    const unsigned strips = (unsigned)((rows + 63) / 64 * (64 / NORM_ROWS)),
                   segments = (unsigned)((g.k + CRT_SEGMENT - 1) / CRT_SEGMENT), batch = (unsigned)g.to.batch;
    unsigned long long alpha, beta;
    __builtin_memcpy(&alpha, &g.to.alpha, sizeof alpha);
    __builtin_memcpy(&beta, &g.to.beta, sizeof beta);
    const bool power = !g.to.alpha_ptr && !g.to.beta_ptr && is_power_of_two(alpha, beta);
    int code = ht_launch(norms, strips * segments, 2, batch, NORM_THREADS, NORM_BYTES, stream, g);
    if (code == 0)
        code = ht_launch(sum_norms, (unsigned)((rows + NORM_THREADS - 1) / NORM_THREADS), 2, batch, NORM_THREADS, 0,
                         stream, g);
    if (code == 0)
        code = ht_launch(power ? combine<true> : combine<false>, tiles * PIECES, 1, batch, CRT_THREADS, 0, stream, g);
    return code != 0 ? code
                     : ht_launch(settle, (tiles * (BM * BN / 32) + SETTLE_THREADS - 1) / SETTLE_THREADS, 1, batch, SETTLE_THREADS, SETTLE_BYTES, stream, g);
}
