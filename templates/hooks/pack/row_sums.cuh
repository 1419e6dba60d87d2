// pack/row_sums: what splitting loses beyond the scheme's relative bound, for each row (ACCURACY.md, section 15). Small
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

// Of a small element, scaled; a tie is as far off either way. Where the unit flushes subnormals, the most that any loses.
HT_DEVICE int lost_of(float y)
{
    const float high = ht_f16_value(ht_f16_rn(y)), rest = __fadd_rn(y, -high);
    const float error = magnitude(__fadd_rn(rest, -ht_f16_value(ht_f16_rn(rest))));
    const float lost = __fmul_rn(__fmaf_rn(magnitude(y), -1.0f / 8388608.0f, error), 17179869184.0f); // exact, but for the excess's last bits
    const int whole = (int)lost, up = lost > 0.0f ? whole + ((float)whole < lost) : 0; //@mutate lost-of
    return (FLUSHES_SUBNORMALS ? LOST_MOST : up) + LOST_ALIGNMENT; //@mutate lost-alignment
}

// What threads and parts of a block tell of a row, in one word: what is lost, NONFINITE more for each that has met NaN or Inf, and from COUNTED on elements that
// count: those from 2^-14 on, scaled, in FP16.
constexpr unsigned COUNTED = 1u << 22, NONFINITE = 263168; // what 512 elements lose is less
static_assert(512 * (LOST_MOST + LOST_ALIGNMENT) < NONFINITE && 8 * NONFINITE < COUNTED, "of up to 8 lanes with up to 64 elements each");

HT_DEVICE unsigned seen_in_one(unsigned bits, float factor, unsigned small)
{
    const float y = __fmul_rn(ht_as_float(bits), factor);
    const unsigned least = FLUSHES_SUBNORMALS ? 0x38800000u : 0x0400u, high = FLUSHES_SUBNORMALS ? ht_as_uint(y) & 0x7fffffffu : ht_f16_rn(y) & 0x7fffu; //@mutate counts-least
    const bool counts = high >= least && high <= (FLUSHES_SUBNORMALS ? 0x7f800000u : 0x7c00u);
    return (counts ? COUNTED : 0) + (small_key(bits) < small ? (unsigned)lost_of(y) : 0);
}

// Whether an element is finite and not small.
HT_DEVICE bool is_large(unsigned bits, unsigned small)
{
    return small_key(bits) - small < 0xfeffffffu - small; //@mutate is-large
}

// Of 16 elements, or fewer and zeros. There once in a kernel, and called: cold code takes longer to be fetched than to run.
HT_OUTLINED unsigned seen_in_some(uint4 a, uint4 b, uint4 c, uint4 d, float factor, unsigned small)
{
    unsigned seen = 0;
#pragma unroll 1
    for (int i = 0; i < 4; i++) { // each moves to the front: a loop that is not unrolled could not number registers
        if (is_large(a.x, small) && is_large(a.y, small) && is_large(a.z, small) && is_large(a.w, small))
            seen += 4 * COUNTED;
        else
            seen += seen_in_one(a.x, factor, small) + seen_in_one(a.y, factor, small) + seen_in_one(a.z, factor, small) + seen_in_one(a.w, factor, small);
        a = b;
        b = c;
        c = d;
        d = make_uint4(0, 0, 0, 0);
    }
    return seen;
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
    return g.absmax_exchange + entry * g.exchange_stride + (g.to.row_sums ? row_blocks_of(g) * (2 * SUM_WORDS) : 0);
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
        ht_stg_i32(g.to.any_flag + 1, g.epoch);
}

// What one thread of an operand writes: the call's number, and that nothing has failed so far.
HT_DEVICE void begin_flags(const ht_pack_args &g)
{
    ht_stg_i32(g.to.any_flag, g.epoch);
    if (g.failed_count)
        ht_stg_i32(g.failed_count, 0); //@mutate begin-flags
}

// All that the block's parts tell of a row.
struct seen_of_row {
    int counted, lost;
    bool nonfinite;
};

HT_DEVICE void add_part(seen_of_row *row, unsigned part)
{
    const int lost = (int)(part % COUNTED);
    row->counted += (int)(part / COUNTED);
    row->lost += lost;
    row->nonfinite = row->nonfinite || lost >= (int)NONFINITE; //@mutate add-part
}

// Of one row, by one thread.
HT_DEVICE void store_row_sum(const ht_pack_args &g, long long entry, int row, int pieces, const seen_of_row &seen)
{
    long long sum;
    const long long v = seen.nonfinite ? 1ll << NONFINITE_SHIFT : seen.lost; //@mutate store-row-sum
    if (!add_up(sum_words(g, entry, row / 64) + row % 64, pieces, v, &sum))
        return;
    const int number = sum >> NONFINITE_SHIFT ? -1 : (int)sum;
    ht_stg_i32(g.to.row_sums + entry * g.to.sums_stride + row, number);
    raise_flag(g, number != 0);
}

// A row's part of the number of its 64 rows. live: in the first piece of a row that has a finite nonzero element.
HT_DEVICE int products_of(const seen_of_row &seen, bool live)
{
    return seen.counted - (live ? ENOUGH_NONZEROS : 0);
}

// Of `rows` rows from row0 on, 16, 32 or 64, by one thread: their part of four numbers.
HT_DEVICE void store_products(const ht_pack_args &g, long long entry, int row0, int rows, int pieces, int products)
{
    long long sum;
    if (!add_up(sum_words(g, entry, row0 / 64) + 64 + row0 % 64 / 32, pieces, products + BIAS, &sum))
        return;
    int *to = g.to.row_sums + entry * g.to.sums_stride + row_blocks_of(g) * 64 + row0 / 16;
    const int number = (int)(sum - (long long)BIAS * pieces); //@mutate store-products
    for (int i = 0; i < rows / 16; i++)
        ht_stg_i32(to + i, i == 0 ? number : 0);
    raise_flag(g, number < 0); //@mutate store-products-2
}
