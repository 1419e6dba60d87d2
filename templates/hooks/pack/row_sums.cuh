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

// ---- sample: whether what follows would fail, before the product, from HT_SAMPLES places of C. Up to SAMPLE_K k of a place's rows and columns are
// measured, and their products tested as all will be. A function of shape and data, whatever the layout. Eight groups of 32 threads, one for
// each row and column. Of longer rows, of r times as many k, the sample has SAMPLE_GROUPS groups of 32, evenly spread. All of such a row lose
// r times as much, but sums of both signs are larger by the root of r alone. So what the sample lost is taken root times (sample_root).
// Few that fail are found by those near them: NEARBY times as many fail a test NEARBY times as hard.
//
//   shared memory: of each line [ threshold ], [ factor ], [ elements that count, less those wanted ], then of each group [ fails ]
constexpr int SAMPLE_LINES = 2 * HT_SAMPLE_SIDE, SAMPLE_PREFETCH = 16, SAMPLE_GROUPS = 32, SAMPLE_K = 32 * SAMPLE_GROUPS, SAMPLE_BYTES = 4 * SAMPLE_LINES * 4;
constexpr int SAMPLE_NEAR = 256, NEARBY = 16; // of [ fails ]: one that does not pass the harder test

// Row i of a place: all of a place are of 64 rows.
HT_DEVICE int sample_row(int rows, int place, int i)
{
    const int block = (int)((2ll * place + 1) * rows / (2 * HT_SAMPLES)) / 64 * 64, row = block + (i * (64 / HT_SAMPLE_SIDE) + place * 5) % 64;
    return row < rows ? row : rows - 1;
}

// Of a row along k; those behind the last are zeros.
struct sample_line {
    const float *at;
    long long step, apart; // from k to k, from group to group
    int k;
};

HT_DEVICE sample_line sample_line_of(const ht_pack_args &g, int row)
{
    const long long step = g.k_contiguous ? 1 : g.ld;
    return {g.src + (g.k_contiguous ? row * g.ld : row), step, step * (g.k < SAMPLE_K ? 32 : g.k / SAMPLE_GROUPS), g.k};
}

// Of groups from `first` on.
template <int GROUPS> HT_DEVICE void load_sample(unsigned *bits, const sample_line &l, int first, int lane)
{
    const float *const at = l.at + first * l.apart + lane * l.step;
#pragma unroll
    for (int i = 0; i < GROUPS; i++) // all are in flight before the first is waited for
        bits[i] = (first + i) * 32 + lane < l.k ? ht_as_uint(ht_ldg4(at + i * l.apart)) : 0;
}

// About the root of how many times all k are those of a sample.
HT_DEVICE int sample_root(int k)
{
    int root = 1;
    for (int times = k / SAMPLE_K; times > 2; times /= 4)
        root *= 2;
    return root;
}

HT_DEVICE unsigned sample_word(unsigned smem, int kind, int line)
{
    return smem + (unsigned)(kind * SAMPLE_LINES + line) * 4;
}

HT_DEVICE int sample_told(unsigned smem, int kind, int line)
{
    return (int)ht_as_uint(ht_lds4(sample_word(smem, kind, line)));
}

HT_DEVICE uint4 sample_four(const unsigned *bits)
{
    return make_uint4(bits[0], bits[1], bits[2], bits[3]);
}

// By a group: its row, or column.
HT_DEVICE void measure_sample(const sample_line &l, unsigned smem, int line, int lane)
{
    unsigned most = 0, bits[SAMPLE_GROUPS];
    int counted = 0, lost = 0, nonfinite = 0;
    load_sample<SAMPLE_GROUPS>(bits, l, 0, lane);
#pragma unroll
    for (int i = 0; i < SAMPLE_GROUPS; i++) {
        most = larger_key(most, bits[i] * 2 + KEY_OF_ZERO);
        nonfinite |= bits[i] * 2 >= 0xff000000u;
    }
    for (int m = 16; m > 0; m /= 2)
        most = larger_key_across(most, m);
    const int absmax = magnitude_of_key(most), exponent = ht_row_exponent(absmax);
    const float factor = ht_pow2(-exponent);
#pragma unroll
    for (int i = 0; i < SAMPLE_GROUPS; i += 16) {
        const unsigned seen = seen_in_some(sample_four(bits + i), sample_four(bits + i + 4), sample_four(bits + i + 8), sample_four(bits + i + 12), factor, key_of_limit(exponent));
        counted += (int)(seen / COUNTED);
        lost += (int)(seen % COUNTED);
    }
    for (int m = 16; m > 0; m /= 2) {
        counted += ht_shfl_xor(counted, m);
        lost += ht_shfl_xor(lost, m);
        nonfinite |= ht_shfl_xor(nonfinite, m);
    }
    if (lane != 0)
        return;
    counted *= l.k > SAMPLE_K ? l.k / SAMPLE_K : 1;
    ht_sts4(sample_word(smem, 0, line), ht_threshold_of(nonfinite ? -1 : lost * sample_root(l.k), absmax));
    ht_sts4(sample_word(smem, 1, line), factor);
    ht_sts4(sample_word(smem, 2, line), ht_as_float((unsigned)(counted - (absmax != 0 ? ENOUGH_NONZEROS / 2 : 0)))); // half: it favours the product //@mutate sample-sparse
}

// Of row `line` of the place and two columns from HT_SAMPLE_SIDE + `column` on, by a group: how many fail.
HT_DEVICE int multiply_sample(const sample_line &a, const sample_line *b, unsigned smem, int line, int column, int lane)
{
    const float along = ht_lds4(sample_word(smem, 1, line));
    const float across[2] = {ht_lds4(sample_word(smem, 1, HT_SAMPLE_SIDE + column)), ht_lds4(sample_word(smem, 1, HT_SAMPLE_SIDE + column + 1))};
    unsigned x[SAMPLE_PREFETCH], y[2][SAMPLE_PREFETCH];
    float sum[2] = {0.0f, 0.0f};
#pragma unroll 1
    for (int first = 0; first < SAMPLE_GROUPS && first * 32 < a.k; first += SAMPLE_PREFETCH) {
        load_sample<SAMPLE_PREFETCH>(x, a, first, lane);
        load_sample<SAMPLE_PREFETCH>(y[0], b[0], first, lane);
        load_sample<SAMPLE_PREFETCH>(y[1], b[1], first, lane);
#pragma unroll
        for (int i = 0; i < SAMPLE_PREFETCH; i++) {
#pragma unroll
            for (int j = 0; j < 2; j++)
                sum[j] = __fmaf_rn(__fmul_rn(ht_as_float(x[i]), along), __fmul_rn(ht_as_float(y[j][i]), across[j]), sum[j]);
        }
    }
    int fails = 0;
    for (int j = 0; j < 2; j++) {
        for (int m = 16; m > 0; m /= 2)
            sum[j] = __fadd_rn(sum[j], ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(sum[j]), m)));
        const float of_row = ht_lds4(sample_word(smem, 0, line)), of_column = ht_lds4(sample_word(smem, 0, HT_SAMPLE_SIDE + column + j));
        fails += !ht_is_cleared(sum[j], of_row, of_column); //@mutate sample-cleared
        fails += ht_is_cleared(sum[j] / NEARBY, of_row, of_column) ? 0 : SAMPLE_NEAR; //@mutate sample-near
    }
    return fails;
}

// What a place tells, of what all groups have left.
HT_DEVICE int told_of_place(unsigned smem)
{
    int fails = 0, counted[2] = {0, 0};
    for (int line = 0; line < SAMPLE_LINES; line++) {
        counted[line / HT_SAMPLE_SIDE] += sample_told(smem, 2, line);
        fails += sample_told(smem, 3, line);
    }
    if (counted[0] < 0 || counted[1] < 0)
        fails = HT_SAMPLE_SIDE * HT_SAMPLE_SIDE;
    return fails % SAMPLE_NEAR == HT_SAMPLE_SIDE * HT_SAMPLE_SIDE ? HT_SAMPLE_ALL : fails > 0 ? HT_SAMPLE_SOME : 0; //@mutate sample-some
}

// A place, by a block. Columns are of another place than rows, else one of few blocks would be on the diagonal.
HT_DEVICE void sample_place(const pack_pair &p, int place, unsigned smem)
{
    const int group = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, line = group % HT_SAMPLE_SIDE, column = group / HT_SAMPLE_SIDE * 2;
    const int across = (place * 5 + 3) % HT_SAMPLES;
    const ht_pack_args &a = p.operand[0], &b = p.operand[1];
    ht_pdl_wait();
    ht_pdl_trigger();
    measure_sample(group < HT_SAMPLE_SIDE ? sample_line_of(a, sample_row(a.rows, place, line)) : sample_line_of(b, sample_row(b.rows, across, line)), smem, group, lane);
    ht_barrier();
    const sample_line columns[2] = {sample_line_of(b, sample_row(b.rows, across, column)), sample_line_of(b, sample_row(b.rows, across, column + 1))};
    const int fails = multiply_sample(sample_line_of(a, sample_row(a.rows, place, line)), columns, smem, line, column, lane);
    if (lane == 0)
        ht_sts4(sample_word(smem, 3, group), ht_as_float((unsigned)fails));
    ht_barrier();
    if (threadIdx.x == 0)
        ht_stg_i32(a.sample + place, told_of_place(smem));
}
