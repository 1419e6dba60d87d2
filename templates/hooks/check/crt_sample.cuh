// check/crt_sample: what becomes of a product that is certified (ht_crt_counts), guessed before packing from SAMPLE_K places of SAMPLE_ROWS
// rows of each operand: it saves packing, and products of data that leave too much. Each route keeps the bound, so rows' norms are guesses
// that favour residues: whatever fails here by a lower limit fails there. Integers, and floats in one order: a rule of the data alone.
constexpr int SAMPLE_ROWS = 8, SAMPLE_K = 512, SAMPLE_HELD = SAMPLE_K / WAVE;
constexpr int SAMPLE_THREADS = 512, SAMPLE_WARPS = SAMPLE_THREADS / WAVE;
// Of each row |x|, the largest of which are 1 to 2; then of each row their squares' exponent, their sum, and how many are counted; then of
// each warp how many pairs of rows fail.
constexpr int SAMPLE_ROW_BYTES = 16, SAMPLE_ABOUT = 2 * SAMPLE_ROWS * SAMPLE_K * 4, SAMPLE_FAILS = SAMPLE_ABOUT + 2 * SAMPLE_ROWS * SAMPLE_ROW_BYTES;
constexpr int SAMPLE_BYTES = SAMPLE_FAILS + SAMPLE_WARPS * 4;
constexpr int SAMPLE_NONFINITE = -(1 << 20), SAMPLE_ZERO = -1; // counted; squares' exponent

HT_DEVICE int ht_sample_route(const ht_crt_pack_args &g)
{
    const int *const counts = g.to.sums ? g.asked.a : g.counts;
    return g.sample.asked ? ht_ldg_i32(counts + HT_CRT_COUNTS_ROUTE) : 0;
}

// Groups of four, evenly spread; of few k all, and none beyond.
HT_DEVICE int ht_sample_place(int i, int k)
{
    return k <= SAMPLE_K ? i : i / 4 * (k / (SAMPLE_K / 4)) + i % 4;
}

HT_DEVICE int ht_sample_length(int k)
{
    return k < SAMPLE_K ? k : SAMPLE_K;
}

// What a sum over a row has to be multiplied by.
HT_DEVICE float ht_sample_times(int k)
{
    return k > SAMPLE_K ? (float)k / SAMPLE_K : 1.0f;
}

HT_DEVICE float ht_sample_sum(float x)
{
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        x = __fadd_rn(x, ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(x), lanes)));
    return x;
}

HT_DEVICE float ht_sample_power(int exponent) // 0 far below
{
    return exponent < -126 ? 0.0f : ht_as_float((unsigned)(exponent + 127) << 23);
}

// The most that a row may be scaled by, over its largest binade.
HT_DEVICE int ht_sample_scale(int squares, int limit)
{
    return (limit - squares) >> 1;
}

// A warp's row.
HT_DEVICE void ht_sample_row(const ht_crt_pack_args &g, const unsigned (&high)[SAMPLE_HELD], unsigned smem, int row, int lane)
{
    const int length = ht_sample_length(g.of.k);
    int largest = 0;
#pragma unroll
    for (int i = 0; i < SAMPLE_HELD; i++) {
        largest = (int)high[i] > largest ? (int)high[i] : largest;
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2) {
        const int other = ht_shfl_xor(largest, lanes);
        largest = other > largest ? other : largest;
    }
    const int top = largest >> 20;
    float x[SAMPLE_HELD], squares = 0.0f, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SAMPLE_HELD; i++) {
        const int field = (int)(high[i] >> 20) - top + 127;
        x[i] = high[i] >> 20 != 0 && field > 0 ? ht_as_float((unsigned)field << 23 | (high[i] & 0xfffff) << 3) : 0.0f;
        ht_sts4(smem + (unsigned)((row * SAMPLE_K + i * WAVE + lane) * 4), x[i]);
        squares = __fadd_rn(squares, __fmul_rn(x[i], x[i]));
        sum = __fadd_rn(sum, x[i]);
    }
    squares = __fmul_rn(ht_sample_sum(squares), ht_sample_times(g.of.k));
    sum = __fmul_rn(ht_sample_sum(sum), ht_sample_times(g.of.k));
    const int exponent = top == 0 ? SAMPLE_ZERO : (int)(ht_as_uint(squares) >> 23) - 127;
    const float from = ht_sample_power(g.count_exponent - ht_sample_scale(exponent, g.sample.limit[0]));
    int counted = 0;
#pragma unroll
    for (int i = 0; i < SAMPLE_HELD; i++) {
        counted += x[i] >= from && x[i] > 0.0f;
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        counted += ht_shfl_xor(counted, lanes);
    counted = top == 0 ? 2 * length : top == 0x7ff ? SAMPLE_NONFINITE : counted;
    if (lane == 0) {
        const unsigned at = smem + (unsigned)(SAMPLE_ABOUT + row * SAMPLE_ROW_BYTES);
        ht_sts4(at, ht_as_float((unsigned)exponent));
        ht_sts4(at + 4, sum);
        ht_sts4(at + 8, ht_as_float((unsigned)counted));
    }
}

// Whether what residues keep by magnitudes (check/crt_abs) leaves the product of a row of A and a column of B.
HT_DEVICE int ht_sample_fails(const ht_crt_pack_args &g, unsigned smem, int row, int col, int lane)
{
    const unsigned at[2] = {smem + (unsigned)(SAMPLE_ABOUT + row * SAMPLE_ROW_BYTES), smem + (unsigned)(SAMPLE_ABOUT + col * SAMPLE_ROW_BYTES)};
    const int exponent[2] = {(int)ht_as_uint(ht_lds4(at[0])), (int)ht_as_uint(ht_lds4(at[1]))};
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < SAMPLE_HELD; i++) {
        sum = __fadd_rn(sum, __fmul_rn(ht_lds4(smem + (unsigned)((row * SAMPLE_K + i * WAVE + lane) * 4)),
                                       ht_lds4(smem + (unsigned)((col * SAMPLE_K + i * WAVE + lane) * 4))));
    }
    sum = __fmul_rn(ht_sample_sum(sum), ht_sample_times(g.of.k));
    if (exponent[0] == SAMPLE_ZERO || exponent[1] == SAMPLE_ZERO)
        return 0;
    const float by[2] = {ht_sample_power(-ht_sample_scale(exponent[0], g.sample.limit[1])), ht_sample_power(-ht_sample_scale(exponent[1], g.sample.limit[1]))};
    const float norms = __fadd_rn(__fmul_rn(ht_lds4(at[0] + 4), by[1]), __fmul_rn(ht_lds4(at[1] + 4), by[0]));
    const float both = __fadd_rn(norms, __fmul_rn(__fmul_rn(0.5f * (float)g.of.k, by[0]), by[1]));
    return !(sum > __fmul_rn(both, g.sample.factor));
}

// Counts may be a 25th fewer than in all of a row, that chance decides nothing.
HT_DEVICE int ht_sample_verdict(const ht_crt_pack_args &g, unsigned smem)
{
    int least[2] = {0x7fffffff, 0x7fffffff}, fails = 0;
    for (int row = 0; row < 2 * SAMPLE_ROWS; row++) {
        const int counted = (int)ht_as_uint(ht_lds4(smem + (unsigned)(SAMPLE_ABOUT + row * SAMPLE_ROW_BYTES + 8)));
        least[row / SAMPLE_ROWS] = counted < least[row / SAMPLE_ROWS] ? counted : least[row / SAMPLE_ROWS];
    }
    for (int warp = 0; warp < SAMPLE_WARPS; warp++)
        fails += (int)ht_lds4(smem + (unsigned)(SAMPLE_FAILS + warp * 4));
    if (5 * (least[0] + least[1]) >= 6 * ht_sample_length(g.of.k))
        return 0;
    return g.sample.factor > 0 && fails <= g.sample.most ? HT_CRT_ROUTE_SECOND : HT_CRT_ROUTE_NONE;
}
