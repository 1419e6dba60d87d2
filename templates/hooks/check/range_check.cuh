// check/range_check: the data check's verdict. Where rows and columns hold too few elements that are large beside the largest, the
// small ones' absolute errors could show in C; the notes on error bounds, section 11, have the proof. Packing has counted
// (ht_pack_args, range_counts); all kernels that decide how a block of C is computed, and which launch stores it, ask here.
constexpr int HT_RANGE_ALL_ZERO = 0x7fffffff, HT_RANGE_NONFINITE = -0x7fffffff;

// Of 64 rows: the least of those that packing has counted by whole rows.
HT_DEVICE int ht_least_count(const int *numbers, int parts)
{
    if (parts == 1)
        return ht_ldg_i32(numbers);
    const uint4 x = ht_ldg16(numbers);
    const int first = (int)x.x < (int)x.y ? (int)x.x : (int)x.y, second = (int)x.z < (int)x.w ? (int)x.z : (int)x.w;
    return first < second ? first : second; //@mutate least-number
}

// Whether rows 64 row_block .. + 63 and columns 64 col_block .. + 63 of C suit the scheme that was packed for: of each row
// and column that meet, large elements are 5/4 of k together, pieces left out where one of the two has only zeros. Packing's
// number of a piece is 8 times its large elements less 5 times its k, so the sum of both sides must not be negative; mostly
// no single number is. Asked by 32 lanes together, which take neighbouring segments.
HT_DEVICE bool ht_block_in_range(const ht_gemm_args &g, long long entry, int row_block, int col_block)
{
    const int *a = g.a_range_counts + entry * g.a_range_stride + (long long)row_block * g.k_segments * g.counts_per_block;
    const int *b = g.b_range_counts + entry * g.b_range_stride + (long long)col_block * g.k_segments * g.counts_per_block;
    int spare = 0, least = 0;
#pragma unroll 1 // mostly one round; hipcc would make sixteen, and spill
    for (int p = (int)threadIdx.x % 32; p < g.k_segments; p += 32) { //@mutate in-range-2
        const int x = ht_least_count(a + p * g.counts_per_block, g.counts_per_block), y = ht_least_count(b + p * g.counts_per_block, g.counts_per_block), less = x < y ? x : y;
        least = less < least ? less : least;
        if (x != HT_RANGE_ALL_ZERO && y != HT_RANGE_ALL_ZERO && less != HT_RANGE_NONFINITE)
            spare += x + y;
    }
    for (int m = 16; m > 0; m /= 2) {
        const int other = ht_shfl_xor(least, m);
        least = other < least ? other : least;
    }
    if (least >= 0 || least == HT_RANGE_NONFINITE) //@mutate one-shortage
        return least >= 0;
    for (int m = 16; m > 0; m /= 2)
        spare += ht_shfl_xor(spare, m);
    return spare >= 0; //@mutate in-range
}

// Whether there is anything to ask: mostly no number of either operand is negative, which its alarm tells.
HT_DEVICE bool ht_flag_is_set(const int *alarm)
{
    const long long both = alarm ? ht_ldg_i64((const long long *)alarm) : 0;
    return (int)both == (int)(both >> 32);
}

HT_DEVICE bool ht_range_check_needed(const ht_gemm_args &g)
{
    return g.a_range_counts && (ht_flag_is_set(g.a_any_flag) + ht_flag_is_set(g.b_any_flag) > 0); // both loads at once //@mutate asks
}

// Brings what ht_range_check_needed will read close.
HT_DEVICE void ht_prefetch_flags(const ht_gemm_args &g)
{
    if (g.a_any_flag) {
        ht_prefetch(g.a_any_flag);
        ht_prefetch(g.b_any_flag);
    }
}
