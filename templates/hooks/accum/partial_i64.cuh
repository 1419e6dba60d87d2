// accum/partial_i64: what split-K partials add up to: exact integers in units of the last digit's level, rounded to
// FP32 once, when all parts are together. So neither tile nor split nor machine shows in the result.
typedef int ht_acc;       // element of a chain
typedef long long ht_sum; // element of a part

HT_DEVICE void ht_add_partial(ht_sum *sum, ht_sum *compensation, ht_sum part)
{
    (void)compensation;
    *sum += part;
}

HT_DEVICE ht_sum ht_sum_of(ht_sum sum, ht_sum compensation)
{
    (void)compensation;
    return sum;
}

HT_DEVICE ht_sum ht_shfl_sum(ht_sum v, int lanes)
{
    const unsigned low = (unsigned)ht_shfl_xor((int)v, lanes), high = (unsigned)ht_shfl_xor((int)(v >> 32), lanes);
    return (long long)((unsigned long long)high << 32 | low);
}

// In shared memory.
HT_DEVICE ht_sum ht_lds_sum(unsigned s)
{
    const unsigned low = ht_as_uint(ht_lds4(s)), high = ht_as_uint(ht_lds4(s + 4));
    return (long long)((unsigned long long)high << 32 | low);
}

HT_DEVICE void ht_sts_sum(unsigned s, ht_sum v)
{
    ht_sts8(s, (unsigned)v, (unsigned)(v >> 32));
}

HT_DEVICE ht_sum ht_ldg_sum(const float *parts, long long at)
{
    return ht_ldg_i64((const long long *)(const void *)parts + at);
}

HT_DEVICE void ht_stg_sum(float *parts, long long at, ht_sum v)
{
    ht_stg_i64((long long *)(void *)parts + at, v);
}

HT_DEVICE ht_sum ht_partial(ht_sum v, int exponent)
{
    (void)exponent;
    return v;
}

// One rounding, to nearest even; the powers of two are exact unless the result is subnormal or overflows.
HT_DEVICE float ht_finish(ht_sum v, int exponent)
{
    if (exponent >= HT_NAN_ROW / 2) // the other exponent may be negative
        return ht_as_float(0x7fffffffu);
    return ht_scale_pow2(__fmul_rn(__ll2float_rn(v), ht_pow2(-8 * (ACCS - 1))), exponent);
}

// ht_finish in steps, for scales far from the ends of FP32's range: the same bits. The number that is left to scale by its column, whose
// scale takes the last digit's unit along, and its row.
HT_DEVICE float ht_round(ht_sum v)
{
    return __ll2float_rn(v);
}

HT_DEVICE float ht_round_scale(float column_scale)
{
    return __fmul_rn(column_scale, ht_pow2(-8 * (ACCS - 1)));
}

// ---- Ranks that share k add up their sums as integers, [n][m], and behind them words, [m + n + 1], that tell whether they belong together:
// of each row's scale, of each column's, and of k.
constexpr long long RANKS_MOST = 4095, RANKS_K_MOST = 1 << 24; // RANKS_K_MOST: what 64 bits hold, of all ranks

// A number c for a scale, as c + 2^24 c^2. If numbers add up to as much as so many equal ones, their squares do only if all are equal.
HT_DEVICE long long ht_word_of_scale(int absmax)
{
    const int exponent = absmax < HT_INFINITE ? ht_row_exponent(absmax) : 128;
    const long long c = absmax <= HT_INFINITE ? ACCS * 256 + 127 + exponent : RANKS_MOST; //@mutate word-of-scale
    return c + (c * c << 24); //@mutate square-of-scale
}

// Sum number `at`, or a word; those behind are nobody's.
template <class ARGS> HT_DEVICE void ht_keep_sum(const ARGS &g, long long at, long long sum)
{
    const long long word = at - (long long)g.m * g.n;
    if (word > g.m + g.n)
        return;
    if (word == g.m + g.n)
        sum = ((long long)g.a.k << 24) + 1; // and one rank
    else if (word >= 0)
        sum = ht_word_of_scale(ht_ldg_i32(word < g.m ? g.a_packed.row_absmax + word : g.b_packed.row_absmax + (word - g.m)));
    ht_stg_i64((long long *)g.to.c + at, sum);
}

// The exponent of an element's unit, that of NaN where ranks' sums do not belong together. splits == 1: g.partial is what ranks kept, added up.
template <class ARGS, class REAL> HT_DEVICE int ht_exponent_of_sum(const ARGS &g, int row, int col, REAL *alpha)
{
    const int a = ht_ldg_i32(g.a_packed.row_absmax + blockIdx.z * g.a_packed.absmax_stride + row);
    const int b = ht_ldg_i32(g.b_packed.row_absmax + blockIdx.z * g.b_packed.absmax_stride + col);
    if (g.splits == 1) {
        const long long *words = (const long long *)(const void *)g.partial + (long long)g.m * g.n;
        const long long all = ht_ldg_i64(words + g.m + g.n), ranks = all & 0xffffff, k = all >> 24;
        if (ranks < 1 || ranks > RANKS_MOST || k > RANKS_K_MOST || ht_ldg_i64(words + row) != ranks * ht_word_of_scale(a) || //@mutate joined-rows
            ht_ldg_i64(words + g.m + col) != ranks * ht_word_of_scale(b)) //@mutate joined-columns
            return HT_NAN_ROW;
        if (k == 0)
            *alpha = 0;
    }
    return ht_row_exponent(a) + ht_row_exponent(b);
}
