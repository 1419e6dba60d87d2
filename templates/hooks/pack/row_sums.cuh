// pack/row_sums: what splitting loses beyond the scheme's relative bound, for each row (the notes on error bounds, section 15). Small
// elements, below 2^-2 scaled, do not keep 22 bits, and FP16's subnormals align as 2^-14 on the matrix unit. Their shares, in 2^-34, add
// up to a row's sum; certificate.c of the command has the same in plain C. Whether an element is small takes two instructions.
constexpr int LOST_MOST = 512, LOST_ALIGNMENT = 1; // of an element
constexpr int ENOUGH_NONZEROS = 8;                    // as many nonzero elements a row, on average over 64 rows, are wanted

// Magnitudes as keys that order zero behind all others.
HT_DEVICE unsigned small_key(unsigned bits)
{
    return bits * 2 - 1;
}

// The key of 2^-2, scaled by a row's factor: smaller ones are small.
HT_DEVICE unsigned key_of_limit(int exponent)
{
    return small_key(ht_as_uint(__fmul_rn(ht_pow2(exponent), 0.25f))); //@mutate key-of-limit
}

HT_DEVICE float magnitude(float x)
{
    return ht_as_float(ht_as_uint(x) & 0x7fffffffu);
}

// Of a small element, scaled. Where the unit flushes subnormals, the most that any loses.
HT_DEVICE int lost_of(float y)
{
    const float high = ht_f16_value(ht_f16_rn(y)), rest = __fadd_rn(y, -high);
    const float error = magnitude(__fadd_rn(rest, -ht_f16_value(ht_f16_rn(rest))));
    const float lost = __fmul_rn(__fmaf_rn(magnitude(y), -1.0f / 8388608.0f, error), 17179869184.0f); // exact, but for the excess's last bits
    const int whole = (int)lost, up = lost > 0.0f ? whole + ((float)whole < lost) : 0; //@mutate lost-of
    return (FLUSHES_SUBNORMALS ? LOST_MOST : up) + LOST_ALIGNMENT; //@mutate lost-alignment
}

// Of `count` elements that a thread holds, as bits: mostly none is small.
template <int COUNT> HT_DEVICE void observe_small(const unsigned *bits, float factor, large_counts *large_count)
{
    unsigned least = 0xffffffffu;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const unsigned key = small_key(bits[i]);
        least = key < least ? key : least;
    }
    if (least >= large_count->small)
        return;
    unsigned rest[COUNT + 1]; // each element moves to the front: a loop that is not unrolled could not number registers
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        rest[i] = bits[i];
#pragma unroll 1
    for (int n = 0; n < COUNT; n++) {
        large_count->lost += small_key(rest[0]) < large_count->small ? lost_of(__fmul_rn(ht_as_float(rest[0]), factor)) : 0;
        rest[COUNT] = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            rest[i] = rest[i + 1];
    }
}

// ---- blocks that hold pieces of a row add up what they have found, each by one addition to a word of 64 bits, whose upper bits count them: who
// completes the count has the sum, and makes the word as it was. Additions of integers depend on no order, and no fence is needed. A word holds -1
// between launches.
constexpr int SUM_SHIFT = 47;                   // of the count
constexpr int NONFINITE_SHIFT = 31;             // pieces with NaN or Inf, above a row's sum
constexpr int BIAS = ENOUGH_NONZEROS * 64;         // makes a piece's number of 64 rows positive

// Words of a row block: 64 of rows, then one for each 32 rows.
HT_DEVICE long long *sum_words(const ht_pack_args &g, long long entry, int row_block)
{
    return (long long *)(g.absmax_exchange + entry * g.exchange_stride) + (long long)row_block * SUM_WORDS;
}

// Where the exchange of row absmax begins: behind the words.
HT_DEVICE int *exchange_of(const ht_pack_args &g, long long entry)
{
    return g.absmax_exchange + entry * g.exchange_stride + (g.row_sums ? row_blocks_of(g) * (2 * SUM_WORDS) : 0);
}

// Adds v, at least 0, to what others have. Whether all `pieces` now have: then *sum is what they come to.
HT_DEVICE bool add_up(long long *word, int pieces, long long v, long long *sum)
{
    const long long one = (1ll << SUM_SHIFT) + v, now = pieces > 1 ? ht_add_relaxed_i64(word, one) + 1 + one : one; //@mutate add-up
    *sum = now & ((1ll << SUM_SHIFT) - 1);
    if (now >> SUM_SHIFT != pieces)
        return false;
    if (pieces > 1)
        ht_add_relaxed_i64(word, -now); //@mutate add-up-2
    return true;
}

HT_DEVICE void raise_flag(const ht_pack_args &g, bool is_raised)
{
    if (is_raised)
        ht_stg_i32(g.any_flag + 1, g.epoch);
}

// What one thread of an operand writes: the call's number, and that nothing has failed so far.
HT_DEVICE void begin_flags(const ht_pack_args &g)
{
    ht_stg_i32(g.any_flag, g.epoch);
    if (g.failed_count)
        ht_stg_i32(g.failed_count, 0); //@mutate begin-flags
}

// Of one row, by one thread: what the block's threads have lost and counted (counted_by).
HT_DEVICE void store_row_sum(const ht_pack_args &g, long long entry, int row, int pieces, int lost, int counted)
{
    long long sum;
    const long long v = lost + ((long long)(counted >= 0x10000) << NONFINITE_SHIFT); //@mutate store-row-sum
    if (!add_up(sum_words(g, entry, row / 64) + row % 64, pieces, v, &sum))
        return;
    const int number = sum >> NONFINITE_SHIFT ? -1 : (int)sum;
    ht_stg_i32(g.row_sums + entry * g.sums_stride + row, number);
    raise_flag(g, number != 0);
}

// A row's part of the number of its 64 rows. live: in the first piece of a row that has a finite nonzero element.
HT_DEVICE int products_of(int counted, bool live)
{
    return counted % 0x10000 - (live ? ENOUGH_NONZEROS : 0);
}

// Of `rows` rows from row0 on, 16, 32 or 64, by one thread: their part of four numbers.
HT_DEVICE void store_products(const ht_pack_args &g, long long entry, int row0, int rows, int pieces, int products)
{
    long long sum;
    if (!add_up(sum_words(g, entry, row0 / 64) + 64 + row0 % 64 / 32, pieces, products + BIAS, &sum))
        return;
    int *to = g.row_sums + entry * g.sums_stride + row_blocks_of(g) * 64 + row0 / 16;
    const int number = (int)(sum - (long long)BIAS * pieces); //@mutate store-products
    for (int i = 0; i < rows / 16; i++)
        ht_stg_i32(to + i, i == 0 ? number : 0);
    raise_flag(g, number < 0); //@mutate store-products-2
}
