// check/certificate: which results are as accurate as the scheme promises, told from themselves: |C_ij| bounds (|A||B|)_ij from below, so what
// splitting has lost (pack/row_sums) is harmless wherever a result, scaled, is large beside it. ACCURACY.md, section 15, has
// the proof. What is not cleared is not stored but leaves a bit, and an entry of a list; a launch behind the product computes it from the caller's matrices.
constexpr float HT_FLOAT_MOST = 3.402823466e38f;
constexpr unsigned HT_NAN_BITS = 0x7fc00000u;
constexpr int HT_FAILED_WORDS = 128; // of 64 x 64 results: column c has words 2 c and 2 c + 1, of 32 rows each

// Whether there is anything to test: mostly both operands' flags say that no row has lost anything.
HT_DEVICE bool ht_flag_is_set(const int *flag)
{
    const long long both = flag ? ht_ldg_i64((const long long *)flag) : 0;
    return (int)both == (int)(both >> 32);
}

HT_DEVICE bool ht_certificate_needed(const ht_gemm_args &g)
{
    return g.failed && (ht_flag_is_set(g.a_packed.any_flag) + ht_flag_is_set(g.b_packed.any_flag) > 0); // both loads at once //@mutate certificate-needed
}

HT_DEVICE int ht_count_bits(unsigned x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return (int)((((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}

HT_DEVICE int ht_lowest_bit(unsigned x)
{
    return ht_count_bits((x & (0u - x)) - 1);
}

// A bit among all of C's words.
HT_DEVICE unsigned ht_bit_of(const ht_gemm_args &g, const unsigned *word, int bit)
{
    return (unsigned)(word - g.failed) * 32u + (unsigned)bit;
}

// Lists the set ones of the bits of 32 rows of a column, while the list has space: nobody adds to the count once there are too many.
HT_DEVICE void ht_list_failed(const ht_gemm_args &g, const unsigned *word, unsigned bits)
{
    if (bits == 0 || g.failed_count == nullptr || ht_ld_relaxed_i32(g.failed_count) > g.failed_capacity)
        return;
    int at = ht_add_relaxed_i32(g.failed_count, ht_count_bits(bits)); //@mutate list-count
#pragma unroll 1
    for (; bits != 0 && at < g.failed_capacity; bits &= bits - 1, at++) //@mutate list-capacity
        ht_stg_i32((int *)g.failed_list + at, (int)ht_bit_of(g, word, ht_lowest_bit(bits))); //@mutate list-entry
}

// How many results the product has left; more than g.failed_capacity: the list has not all of them. Read each time, not kept in a register.
HT_DEVICE int ht_failed_count(const ht_gemm_args &g)
{
    if (g.failed && g.failed_count)
        return ht_ldg_i32(g.failed_count + ht_opaque(0)); //@mutate failed-count
    return g.failed == nullptr || ht_certificate_needed(g) ? g.failed_capacity + 1 : 0;
}

HT_DEVICE bool ht_is_listed(const ht_gemm_args &g)
{
    return ht_failed_count(g) <= g.failed_capacity;
}

// Brings what ht_certificate_needed will read close.
HT_DEVICE void ht_prefetch_flags(const ht_gemm_args &g)
{
    if (g.a_packed.any_flag) {
        ht_prefetch(g.a_packed.any_flag);
        ht_prefetch(g.b_packed.any_flag);
    }
}

// What a result must reach, together with what its other side asks: 2^5 / 16 times what the row has lost, rounded up. NaN, which nothing reaches,
// where a row has NaN or Inf; a row of zeros asks for nothing, whatever the other side does.
HT_DEVICE float ht_threshold_of(int lost, int absmax)
{
    const float near = (float)lost, up = (long long)near < lost ? ht_as_float(ht_as_uint(near) + 1) : near;
    const float t = absmax == 0 ? -HT_FLOAT_MOST : __fmul_rn(up, 2.0f);
    return lost < 0 ? ht_as_float(HT_NAN_BITS) : t; //@mutate threshold
}

// Whether the 64 rows around `row` have too few elements: nothing is cleared there.
HT_DEVICE bool ht_is_sparse(const int *sums, int row, int rows)
{
    const uint4 four = ht_ld16(sums + (rows + 63) / 64 * 64 + row / 64 * 4);
    return (int)(four.x + four.y + four.z + four.w) < 0; //@mutate is-sparse
}

// Of a row that is there. absmax: nullptr with scales of tiles, where a row has none.
HT_DEVICE float ht_threshold(const int *sums, const int *absmax, int row, int rows)
{
    const float t = ht_threshold_of(ht_ldg_i32(sums + row), absmax ? ht_ldg_i32(absmax + row) : 1);
    return ht_is_sparse(sums, row, rows) ? ht_as_float(HT_NAN_BITS) : t;
}

HT_DEVICE float ht_row_threshold(const ht_gemm_args &g, long long entry, int row)
{
    const int *absmax = g.scales_tiles ? nullptr : g.a_packed.row_absmax + entry * g.a_packed.absmax_stride;
    return row < g.m ? ht_threshold(g.a_packed.row_sums + entry * g.a_packed.sums_stride, absmax, row, g.m) : 0.0f;
}

HT_DEVICE float ht_column_threshold_inside(const ht_gemm_args &g, long long entry, int col)
{
    return ht_threshold(g.b_packed.row_sums + entry * g.b_packed.sums_stride, g.scales_tiles ? nullptr : g.b_packed.row_absmax + entry * g.b_packed.absmax_stride, col, g.n);
}

HT_DEVICE float ht_column_threshold(const ht_gemm_args &g, long long entry, int col)
{
    return col < g.n ? ht_column_threshold_inside(g, entry, col) : 0.0f;
}

// v: a result, scaled as its row and column are. "Not less" would let NaN pass.
HT_DEVICE bool ht_is_cleared(float v, float row_threshold, float column_threshold)
{
    return (v < 0.0f ? -v : v) >= __fadd_rn(row_threshold, column_threshold); //@mutate is-cleared
}

// Counts what has been computed again, for who asks: results alone, or those of a block. By one thread.
HT_DEVICE void ht_count_recomputed(const ht_gemm_args &g, bool alone, int rows, int columns)
{
    if (g.recomputed)
        ht_add_relaxed_i64(g.recomputed + !alone, (long long)rows * columns); //@mutate count-recomputed
}

// The same of a block of at most height x width results from (row, col) on.
HT_DEVICE void ht_count_block(const ht_gemm_args &g, int row, int col, int height, int width)
{
    ht_count_recomputed(g, false, g.m - row < height ? g.m - row : height, g.n - col < width ? g.n - col : width); //@mutate count-block
}

// The words of a 64 x 64 block of C.
HT_DEVICE unsigned *ht_failed_block(const ht_gemm_args &g, long long entry, int row_block, int col_block)
{
    return g.failed + ((entry * ((g.n + 63) / 64) + col_block) * ((g.m + 63) / 64) + row_block) * HT_FAILED_WORDS;
}

// The word of 32 rows of a column.
HT_DEVICE unsigned *ht_failed_word(const ht_gemm_args &g, long long entry, int row, int col)
{
    return ht_failed_block(g, entry, row / 64, col / 64) + col % 64 * 2 + row % 64 / 32;
}

// Whether the bit of a result of the block is set.
HT_DEVICE bool ht_has_failed(const unsigned *words, int row, int col)
{
    return (unsigned)ht_ldg_i32((const int *)words + col * 2 + row / 32) >> row % 32 & 1;
}

// Whether a sample of the data (pack/row_sums) tells that most results would be left.
HT_DEVICE bool ht_is_refused(const ht_gemm_args &g)
{
    int told = 0;
    for (int i = 0; g.sample && i < HT_SAMPLES; i += 4) {
        const uint4 four = ht_ld16(g.sample + i);
        told += (int)(four.x + four.y + four.z + four.w);
    }
    return g.sample && told > g.sample_most; //@mutate is-refused
}

// Where a product begins, by all its threads, THREADS of a block: whether the sample refuses it. Then all results are left, more than a list holds.
template <int THREADS> HT_DEVICE bool ht_leaves_all(const ht_gemm_args &g)
{
    if (g.sample == nullptr)
        return false;
    ht_pdl_wait();
    if (!ht_is_refused(g))
        return false;
    const int high = (g.m + 63) / 64, words = high * ((g.n + 63) / 64) * HT_FAILED_WORDS, block = (int)(blockIdx.y * gridDim.x + blockIdx.x);
#pragma unroll 1
    for (int i = block * THREADS + (int)threadIdx.x; i < words; i += (int)(gridDim.x * gridDim.y) * THREADS) {
        const int rows = g.m - i / HT_FAILED_WORDS % high * 64 - i % 2 * 32;
        ht_stg_i32((int *)g.failed + i, rows < 32 ? (1 << (rows > 0 ? rows : 0)) - 1 : -1);
    }
    if (block == 0 && threadIdx.x == 0)
        ht_stg_i32(g.failed_count, g.failed_capacity + 1); //@mutate left-count
    return true;
}
