#include "../samples/planes_mma_warp.h" //@drop
// ---- geometry: FP64 operands into panels of residues
// A block has TILE_ROWS x TILE_K elements, in shared memory. It measures them: of each row and CRT_SEGMENT k the
// largest binade and, relative to it, an upper bound of the sum of squares, in integers, so that no order of
// additions shows. And it splits them: each row's exponent follows from what all blocks of the row have measured,
// then each element's residues. Blocks of a row meet in between where they are a cluster or one block; else there
// are two launches, each of which reads the operand. Where counts are asked for, SPLITS finds them tile by tile, and
// another launch, `verdict`, adds them up and finds the least of all rows. Where they are too few a scheme of more moduli splits the
// operand again, as it was measured, and has digits of absolute values beside residues (check/crt_abs).
//
// Where results are to be correctly rounded MEASURES is a launch of its own that finds sums of absolute values and last bits as well,
// and `norms`, between it and SPLITS, what they come to of each row, and of the largest row how many moduli the product takes.
//
//   MEASURES: a row's segment by 16 lanes; a thread holds the upper words of 32 elements
//   SPLITS:   device memory -> shared memory -> 16 k of a row in each thread, twice -> 16 bytes of each panel
//
// Row r of the tile has its pairs of k at 16-byte places, k / 2 ^ r % 8: eight threads that read 16 bytes of eight
// rows, or of eight neighbours of one, meet no bank twice.
constexpr int PACK_THREADS = 256, PACK_WARPS = PACK_THREADS / WAVE;
constexpr int VERDICT_THREADS = 1024, VERDICT_WARPS = VERDICT_THREADS / WAVE, VERDICT_BYTES = VERDICT_WARPS * 4;
constexpr int NORM_THREADS = 256, NORM_SHIFT = 32; // norms are in units of 2^NORM_SHIFT of the scaled integers
constexpr unsigned long long NORM_LOST = 0x8000000000000000ull; // beside a norm: integers were rounded
constexpr int TILE_ROWS = 8, TILE_K = 2 * CRT_SEGMENT, TILE_BYTES = TILE_ROWS * TILE_K * 8;
constexpr int LANES = 16, HELD = CRT_SEGMENT / LANES; // of a row's segment; elements of each
constexpr int AT_ONCE = 16;                           // loads of a thread
static_assert(PACK_THREADS == TILE_ROWS * 2 * LANES && TILE_ROWS * TILE_K == 2 * AT_ONCE * PACK_THREADS, "all take part");

struct crt_pack_pair {
    ht_crt_pack_args operand[2];
    int blocks[2]; // of an entry of each operand
    int pieces;    // blocks of a row
};

static __host__ __device__ __forceinline__ int row_blocks_of(const ht_crt_pack_args &g)
{
    return (g.of.rows + 63) / 64;
}

HT_DEVICE int segments_of(const ht_crt_pack_args &g)
{
    return (g.of.k + CRT_SEGMENT - 1) / CRT_SEGMENT;
}

HT_DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

HT_DEVICE int smaller(int x, int y)
{
    return x < y ? x : y;
}

// Where element (row, k) is, in 64-bit words; K_MAJOR: k is what lies together.
template <bool K_MAJOR>
HT_DEVICE const long long *element_at(const ht_crt_pack_args &g, long long entry, int row, int k)
{
    return (const long long *)g.of.src + entry * g.of.stride + (K_MAJOR ? row * g.of.ld + k : k * g.of.ld + row);
}

// Where the words of element (row, k) of the tile are.
HT_DEVICE unsigned word_at(int row, int k)
{
    return (unsigned)(row * (TILE_K * 8) + ((k / 2) ^ (row % 8)) * 16 + k % 2 * 8);
}

// A block's tile: blocks of one row follow each other, as many as `pieces`; some may have no k.
struct pack_tile {
    long long entry;
    int row0, k0;
    int rows, k; // that the matrix has from there on; none: 0 or less
};

HT_DEVICE pack_tile tile_of(const ht_crt_pack_args &g, long long entry, int pieces, int block)
{
    pack_tile t;
    t.entry = entry;
    t.row0 = block / pieces * TILE_ROWS;
    t.k0 = g.k_first + block % pieces * TILE_K;
    t.rows = g.of.rows - t.row0;
    t.k = g.of.k - t.k0;
    return t;
}

// The tile into shared memory, zeros beyond the matrix. K_MAJOR: a warp takes neighbouring k of one row; else each
// eight threads the rows of one k. WHOLE: the matrix has all of it. Of a thread's elements AT_ONCE follow each other
// at the same distance here, and so do they in device memory, or PER_ROW of them.
template <bool K_MAJOR, bool WHOLE>
HT_DEVICE void load_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    constexpr int PER_ROW = K_MAJOR ? TILE_K / PACK_THREADS : 2 * AT_ONCE,
                  STEP_K = K_MAJOR ? PACK_THREADS : PACK_THREADS / TILE_ROWS; // from one to the next
    const int thread = (int)threadIdx.x, thread_row = K_MAJOR ? 0 : thread % TILE_ROWS,
              thread_k = K_MAJOR ? thread : thread / TILE_ROWS;
    const long long *at = element_at<K_MAJOR>(g, t.entry, t.row0 + thread_row, t.k0 + thread_k);
    const long long step = K_MAJOR ? STEP_K : STEP_K * g.of.ld;
#pragma unroll 1
    for (int first = 0; first < 2 * AT_ONCE; first += AT_ONCE) {
        const int row = thread_row + (K_MAJOR ? first / PER_ROW : 0), k = thread_k + (K_MAJOR ? 0 : first * STEP_K);
        unsigned long long x[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const bool there = WHOLE || (row + i / PER_ROW < t.rows && k + i % PER_ROW * STEP_K < t.k);
            x[i] = there ? (unsigned long long)ht_ldg_i64(at + i % PER_ROW * step) : 0;
            at += i % PER_ROW == PER_ROW - 1 ? g.of.ld : 0;
        }
        at += K_MAJOR ? 0 : AT_ONCE * step;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            ht_sts8(smem + word_at(row + i / PER_ROW, k) + i % PER_ROW * (STEP_K * 8), (unsigned)x[i],
                    (unsigned)(x[i] >> 32));
        }
    }
}

// ---- measure
// Of elements that are all subnormal.
HT_DEVICE int binade_of_subnormal(unsigned smem, int row, int pair)
{
    unsigned long long largest = 0;
#pragma unroll 1
    for (int i = 0; i < HELD; i++) {
        const uint4 x = ht_lds16(smem + word_at(row, (pair + i / 2 * LANES) * 2));
        const unsigned long long size =
            (unsigned long long)((i % 2 == 0 ? x.y : x.w) & 0x7fffffffu) << 32 | (i % 2 == 0 ? x.x : x.z);
        largest = size > largest ? size : largest;
    }
    return ht_crt_binade((unsigned)largest, (unsigned)(largest >> 32));
}

HT_DEVICE unsigned long long sum_of_subnormal(unsigned smem, int row, int pair, int binade, unsigned *ones)
{
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = 0; i < HELD / 2; i++) {
        const uint4 x = ht_lds16(smem + word_at(row, (pair + i * LANES) * 2));
        const unsigned long long parts[2] = {ht_crt_part_subnormal(x.x, x.y, binade),
                                             ht_crt_part_subnormal(x.z, x.w, binade)};
        sum += parts[0] * parts[0] + parts[1] * parts[1];
        *ones += (unsigned)(parts[0] + parts[1]);
    }
    return sum;
}

// Elements of a lane's that the matrix has, of `left` k of the segment: pairs lane, lane + LANES, ...
HT_DEVICE int elements_of_lane(int left, int lane)
{
    const int whole = left < CRT_SEGMENT ? left / 2 : CRT_SEGMENT / 2; // pairs
    const int pairs = (whole - lane + LANES - 1) / LANES;
    return pairs * 2 + (left < CRT_SEGMENT && left % 2 != 0 && whole % LANES == lane ? 1 : 0);
}

// Where a row's segment has its square and, behind those of all, the sum of absolute values below the last bit.
HT_DEVICE long long segment_at(const ht_crt_pack_args &g, long long entry, int segment, int row)
{
    return entry * g.to.measured_stride + (long long)segment * (row_blocks_of(g) * 64) + row;
}

// Of a lane's elements.
HT_DEVICE int last_bit(unsigned smem, int row, int pair)
{
    int last = CRT_NO_BIT;
#pragma unroll 1
    for (int first = 0; first < HELD / 2; first += 4) {
        const unsigned from = smem + word_at(row, (pair + first * LANES) * 2);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint4 x = ht_lds16(from + i * (LANES * 16));
            last = smaller(last, smaller(ht_crt_last_bit(x.x, x.y), ht_crt_last_bit(x.z, x.w)));
        }
    }
    return last;
}

// What correctly rounded results ask for of a row's segment: its sum of magnitudes and its last bit, of the lanes' shares.
HT_DEVICE void store_sums(const ht_crt_pack_args &g, const pack_tile &t, bool stores, int segment, int row, int most, unsigned ones,
                          int last)
{
    for (int lanes = 1; lanes < LANES; lanes *= 2)
        last = smaller(last, ht_shfl_xor(last, lanes));
    last = most == CRT_NONFINITE_BINADE ? 0 : last; // below all others
    if (stores)
        ht_stg_i64((long long *)(void *)g.to.measured + segment_at(g, t.entry, segments_of(g) + segment, t.row0 + row),
                   (long long)last << 32 | (long long)(most == -1075 ? 0 : ones));
}

// 16 lanes have a row's segment. NORMS: what correctly rounded results ask for, too.
template <bool NORMS>
HT_DEVICE void measure_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    const int thread = (int)threadIdx.x, lane = thread % LANES, row = thread / LANES % TILE_ROWS,
              part = thread / (LANES * TILE_ROWS), pair = part * (CRT_SEGMENT / 2) + lane,
              left = t.k - part * CRT_SEGMENT;
    const unsigned from = smem + word_at(row, pair * 2); // each next pair LANES places behind
    unsigned high[HELD]; // upper words without their signs
    unsigned largest = 0, ones = 0;
    int last = NORMS ? last_bit(smem, row, pair) : 0;
#pragma unroll
    for (int i = 0; i < HELD; i += 2) {
        const uint4 x = ht_lds16(from + i / 2 * (LANES * 16));
        high[i] = x.y & 0x7fffffffu;
        high[i + 1] = x.w & 0x7fffffffu;
        largest = high[i] > largest ? high[i] : largest;
        largest = high[i + 1] > largest ? high[i + 1] : largest;
    }
    int most = largest >> 20 != 0 ? ht_crt_normal_binade(largest) : binade_of_subnormal(smem, row, pair); // -1075: zeros alone
    for (int lanes = 1; lanes < LANES; lanes *= 2) {
        const int other = ht_shfl_xor(most, lanes);
        most = other > most ? other : most;
    }
    unsigned long long sum = 0;
    if (most >= -1022) {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const unsigned part_of = ht_crt_part(high[i], most);
            sum += part_of * part_of; // at most 2^15: no overflow
            ones += part_of;
        }
    } else if (most > -1075) {
        sum = sum_of_subnormal(smem, row, pair, most, &ones);
    }
    const unsigned added = (unsigned)(HELD - (left > 0 ? elements_of_lane(left, lane) : 0)); // a 1 where the matrix has none
    sum -= added;
    ones -= added;
    for (int lanes = 1; lanes < LANES; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)sum, lanes),
                       upper = (unsigned)ht_shfl_xor((int)(unsigned)(sum >> 32), lanes);
        sum += (unsigned long long)upper << 32 | low;
        ones += (unsigned)ht_shfl_xor((int)ones, lanes);
    }
    const unsigned long long measured = most == CRT_NONFINITE_BINADE ? (unsigned long long)CRT_MEASURED_NONFINITE << 52
                                        : most == -1075              ? 0
                                                                     : ht_crt_measured(most, sum, ones);
    const int segment = t.k0 / CRT_SEGMENT + part;
    if (lane == 0 && left > 0)
        ht_stg_i64((long long *)(void *)g.to.measured + segment_at(g, t.entry, segment, t.row0 + row), (long long)measured);
    if (NORMS)
        store_sums(g, t, lane == 0 && left > 0, segment, row, most, ones, last);
}

// ---- norms
// A row's segments, added up.
struct row_norms {
    int field; // of `measured`, of the largest
    int last;
    unsigned long long squares, ones; // in units of 4^(binade - 14) and 2^(binade - 14)
};

HT_DEVICE row_norms add_segments(const ht_crt_pack_args &g, long long entry, int row)
{
    const long long *const from = (const long long *)(const void *)g.to.measured + segment_at(g, entry, 0, row),
                           behind = (long long)segments_of(g) * (row_blocks_of(g) * 64);
    row_norms x = {0, CRT_NO_BIT, 0, 0};
#pragma unroll 1
    for (long long at = 0; at < behind; at += row_blocks_of(g) * 64) {
        const int field = (int)((unsigned long long)ht_ldg_i64(from + at) >> 52);
        x.field = field > x.field ? field : x.field;
    }
#pragma unroll 1
    for (long long at = 0; at < behind; at += row_blocks_of(g) * 64) {
        const unsigned long long measured = (unsigned long long)ht_ldg_i64(from + at),
                                 span = (unsigned long long)ht_ldg_i64(from + behind + at);
        const int below = x.field - (int)(measured >> 52);
        x.last = smaller(x.last, (int)(span >> 32));
        x.squares += ht_crt_aligned(measured, x.field);
        x.ones += ((unsigned)span >> (below < 31 ? below : 31)) + 1;
    }
    return x;
}

// Of a finite row that is not all zeros, scaled by 2^s.
HT_DEVICE unsigned long long norm_of(const row_norms &x, int s)
{
    const int right = NORM_SHIFT - (x.field - CRT_MEASURED_BIAS - 14 + s);
    const unsigned long long norm = right > 0 ? (x.ones >> (right < 63 ? right : 63)) + 1 : x.ones << -right;
    return norm | (x.last - 1075 + s < 0 ? NORM_LOST : 0);
}

// The size of the largest row of each operand is found by all blocks together.
template <bool HAS_FEWER> static __global__ void __launch_bounds__(NORM_THREADS) norms(const crt_pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const int row = (int)(blockIdx.x * NORM_THREADS + threadIdx.x);
    ht_pdl_wait();
    ht_pdl_trigger();
    int size = 0;
    if (row < g.of.rows) {
        const row_norms x = add_segments(g, entry, row);
        const bool has_norm = x.field != 0 && x.field != CRT_MEASURED_NONFINITE;
        const unsigned long long norm = has_norm ? norm_of(x, ht_crt_exponent(x.field, x.squares)) : 0;
        ht_stg_i64((long long *)(void *)g.to.norms + entry * g.to.measured_stride + row, (long long)norm);
        size = has_norm ? ht_crt_size(x.squares, x.field - CRT_MEASURED_BIAS - 14 + 1075 - x.last) : 0;
    }
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        size = larger(size, ht_shfl_xor(size, lanes));
    if (HAS_FEWER && g.spans && (int)threadIdx.x % WAVE == 0)
        ht_max_relaxed_i32(g.spans + second, size);
}

// ---- sample
// One block, before all others: rows of both operands, and the products of theirs.
static __global__ void __launch_bounds__(SAMPLE_THREADS) sample(const crt_pack_pair p)
{
    const unsigned smem = ht_smem_base<SAMPLE_BYTES>();
    const int warp = (int)threadIdx.x / WAVE, lane = (int)threadIdx.x % WAVE;
    const ht_crt_pack_args &g = p.operand[0];
    ht_pdl_wait();
    ht_pdl_trigger();
#pragma unroll 1
    for (int row = warp; row < 2 * SAMPLE_ROWS; row += SAMPLE_WARPS) {
        const ht_crt_pack_args &own = p.operand[row / SAMPLE_ROWS];
        const int at = (int)((2ll * (row % SAMPLE_ROWS) + 1) * own.of.rows / (2 * SAMPLE_ROWS));
        unsigned high[SAMPLE_HELD]; // upper words without their signs
#pragma unroll
        for (int i = 0; i < SAMPLE_HELD; i++) {
            const int k = ht_sample_place(i * WAVE + lane, own.of.k);
            const long long *const from = own.of.k_contiguous ? element_at<true>(own, 0, at, k) : element_at<false>(own, 0, at, k);
            high[i] = k < own.of.k ? (unsigned)((unsigned long long)ht_ldg_i64(from) >> 32) & 0x7fffffffu : 0;
        }
        ht_sample_row(g, high, smem, row, lane);
    }
    ht_barrier();
    int fails = 0;
#pragma unroll 1
    for (int pair = warp; g.sample.factor > 0 && pair < SAMPLE_ROWS * SAMPLE_ROWS; pair += SAMPLE_WARPS)
        fails += ht_sample_fails(g, smem, pair / SAMPLE_ROWS, SAMPLE_ROWS + pair % SAMPLE_ROWS, lane);
    if (lane == 0)
        ht_sts4(smem + SAMPLE_FAILS + (unsigned)warp * 4, (float)fails);
    ht_barrier();
    if (threadIdx.x != 0)
        return;
    const int route = ht_sample_verdict(g, smem);
    ht_stg_i32(g.counts + HT_CRT_COUNTS_ROUTE, route);
    ht_stg_i32(p.operand[1].counts + HT_CRT_COUNTS_ROUTE, route);
}

// ---- split
// What another block may have measured since this one began.
HT_DEVICE unsigned long long load_measured(const unsigned long long *at)
{
    const int *const words = (const int *)(const void *)at;
    return (unsigned long long)(unsigned)ht_ld_relaxed_i32(words + 1) << 32 | (unsigned)ht_ld_relaxed_i32(words);
}

// A row's scale: its exponent, and where absolute values are asked for what ht_crt_packed has of them.
struct row_scale {
    int exponent;
    float sum;
};

// ones: in units of 2^(field - CRT_MEASURED_BIAS - 1); made larger by more than k / 4 and what rounding to a float takes.
HT_DEVICE float sum_of(int field, unsigned ones, int s)
{
    if (field == 0)
        return CRT_SUM_OF_ZEROS;
    if (field == CRT_MEASURED_NONFINITE)
        return ht_as_float(0x7fc00000u);
    const float unit = ht_as_float((unsigned)(127 + field - CRT_MEASURED_BIAS - 1 + s) << 23);
    return __fmul_rn((float)(ones + (ones >> 16) + 1), unit);
}

// By four lanes together, TILE_ROWS apart.
template <bool ABS> HT_DEVICE row_scale scale_of(const ht_crt_pack_args &g, long long entry, int row)
{
    const long long pitch = row_blocks_of(g) * 64;
    const unsigned long long *const from = g.to.measured + entry * g.to.measured_stride + row;
    const int segments = segments_of(g), share = (int)threadIdx.x / TILE_ROWS % 4;
    int field = 0;
    unsigned ones = 0;
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = share; i < segments; i += 4) {
        const int other = (int)(load_measured(from + i * pitch) >> 52);
        field = other > field ? other : field;
    }
    for (int lanes = TILE_ROWS; lanes < 4 * TILE_ROWS; lanes *= 2) {
        const int other = ht_shfl_xor(field, lanes);
        field = other > field ? other : field;
    }
#pragma unroll 1
    for (int i = share; i < segments; i += 4) {
        const unsigned long long measured = load_measured(from + i * pitch);
        sum += ht_crt_aligned(measured, field);
        ones += ABS ? ht_crt_aligned_ones(measured, field) : 0;
    }
    for (int lanes = TILE_ROWS; lanes < 4 * TILE_ROWS; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)sum, lanes),
                       high = (unsigned)ht_shfl_xor((int)(unsigned)(sum >> 32), lanes);
        sum += (unsigned long long)high << 32 | low;
        ones += ABS ? (unsigned)ht_shfl_xor((int)ones, lanes) : 0;
    }
    const int s = ht_crt_exponent(field, sum);
    return {s, ABS ? sum_of(field, ones, s) : 0.0f};
}

// The exponent of a row that makes its last bit 1, by four lanes as above.
HT_DEVICE int least_exponent_of(const ht_crt_pack_args &g, long long entry, int row)
{
    const int segments = segments_of(g);
    int last = CRT_NO_BIT;
#pragma unroll 1
    for (int i = (int)threadIdx.x / TILE_ROWS % 4; i < segments; i += 4)
        last = smaller(last, (int)(load_measured(g.to.measured + segment_at(g, entry, segments + i, row)) >> 32));
    for (int lanes = TILE_ROWS; lanes < 4 * TILE_ROWS; lanes *= 2)
        last = smaller(last, ht_shfl_xor(last, lanes));
    return last == 0 ? CRT_POISONED : last == CRT_NO_BIT ? 0 : 1075 - last;
}

// A row's digits of absolute values.
struct abs_digits {
    int right; // ht_crt_abs_digit's
    unsigned most, digit[4];
};

// 16 k of a row from shared memory, as digits; how many count. USUAL: of a usual row.
template <bool USUAL, bool ABS>
HT_DEVICE int load_digits(unsigned smem, int row, int k, int s, unsigned count_from, unsigned (*digit)[CRT_DIGIT_WORDS], abs_digits &m)
{
    int count = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint4 x = ht_lds16(smem + word_at(row, k + i * 2));
        if (ABS) {
            const unsigned both = ht_crt_abs_digit(x.y, m.right, m.most) | ht_crt_abs_digit(x.w, m.right, m.most) << 8;
            m.digit[i / 2] = i % 2 == 0 ? both : m.digit[i / 2] | both << 16;
        }
        count += ht_crt_is_counted(x.y, count_from) + ht_crt_is_counted(x.w, count_from);
        if (USUAL) {
            ht_crt_usual_digits(x.x, x.y, s, digit[i * 2]);
            ht_crt_usual_digits(x.z, x.w, s, digit[i * 2 + 1]);
        } else {
            ht_crt_digits(x.x, x.y, s, digit[i * 2]);
            ht_crt_digits(x.z, x.w, s, digit[i * 2 + 1]);
        }
    }
    return count;
}

// Counts of a tile's rows, of which each thread has some of one.
HT_DEVICE void store_counts(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem, int count)
{
    const int thread = (int)threadIdx.x, own = thread % TILE_ROWS;
    const long long pitch = row_blocks_of(g) * 64;
    for (int lanes = TILE_ROWS; lanes < WAVE; lanes *= 2)
        count += ht_shfl_xor(count, lanes);
    ht_barrier(); // the tile is read: its memory is free
    if (thread % WAVE < TILE_ROWS)
        ht_sts4(smem + (unsigned)(thread / WAVE * TILE_ROWS + own) * 4, ht_as_float((unsigned)count));
    ht_barrier();
    if (thread >= TILE_ROWS || t.k <= 0)
        return;
    for (int i = 1; i < PACK_WARPS; i++)
        count += (int)ht_as_uint(ht_lds4(smem + (unsigned)(i * TILE_ROWS + own) * 4));
    ht_stg_i32(g.counts + t.entry * g.count_stride + HT_CRT_COUNTS_AT + t.k0 / TILE_K * pitch + t.row0 + own, count);
}

// The tile as it is, for calls that need more than its residues.
HT_DEVICE void copy_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    const long long pitch = (g.of.k + 1ll) / 2; // pairs
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < TILE_ROWS * TILE_K / 2; i += PACK_THREADS) {
        const int row = i / (TILE_K / 2), pair = i % (TILE_K / 2);
        if (pair * 2 < t.k)
            ht_stg16(g.copy + ((t.row0 + row) * pitch + t.k0 / 2 + pair) * 2, ht_lds16(smem + word_at(row, pair * 2)));
    }
}

// Bits of elements that fail, and how many: none yet, or too many. By all blocks of an entry of A's first k.
HT_DEVICE void clear_failed(const ht_crt_pack_args &g, long long entry, int blocks, bool gives_up)
{
    const long long words = g.failed.stride * g.failed_entries;
#pragma unroll 1
    for (long long i = (int)(blockIdx.x * PACK_THREADS + threadIdx.x); i < words; i += (long long)blocks * PACK_THREADS)
        ht_stg_i32((int *)g.failed.bits + entry * words + i, 0);
    for (int i = (int)threadIdx.x; g.failed.left && blockIdx.x == 0 && i < g.failed_entries; i += PACK_THREADS)
        ht_stg_i64(g.failed.left + entry * g.failed_entries + i, gives_up ? CRT_ALL_FAIL : 0);
}

template <bool ABS> HT_DEVICE void split_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    if (!ABS && g.copy) // a second scheme's calls have it already
        copy_tile(g, t, smem);
    const int own = (int)threadIdx.x % TILE_ROWS, row = t.row0 + own;
    const int moduli = !ABS && CRT_HAS_FEWER && g.spans ? ht_crt_find_moduli(g.spans) : CRT_MODULI;
    const bool has_least = CRT_HAS_FEWER && moduli < CRT_MODULI;
    const row_scale scale = has_least ? row_scale{least_exponent_of(g, t.entry, row), 0.0f} : scale_of<ABS>(g, t.entry, row);
    const int s = scale.exponent;
    if (!ABS && CRT_HAS_FEWER && g.spans && blockIdx.x == 0 && blockIdx.z == 0 && threadIdx.x == 0)
        ht_stg_i32(g.spans + HT_CRT_SPANS_MODULI, moduli);
    if (t.k0 == 0 && (int)threadIdx.x < TILE_ROWS) {
        ht_stg_i32(g.to.exponents + t.entry * g.to.exponent_stride + row, s);
        if (ABS)
            ht_stg4(g.to.sums + t.entry * g.to.exponent_stride + row, scale.sum);
    }
    abs_digits m = {1043 - s + ht_crt_abs_exponent(scale.sum, g.of.k), ht_crt_abs_most(g.of.k), {}};
    // From 16 moduli on both ways are the same: ptxas has registers enough for two, hipcc for one.
    const bool usual = (CRT_MODULI < 16 || WAVE == 32) && ht_crt_is_usual(s);
    const unsigned count_from = ht_crt_count_from(s, g.count_exponent);
    int count = 0;
#pragma unroll 1
    for (int chunk = (int)threadIdx.x / TILE_ROWS; chunk < TILE_K / 16; chunk += PACK_THREADS / TILE_ROWS) {
        const int block = (t.k0 - g.k_first) / 128 + chunk / 8, c = chunk % 8; // of the atom's row: 16 bytes
        if (block >= g.k_blocks)
            break;
        unsigned digit[16][CRT_DIGIT_WORDS];
        if (usual)
            count += load_digits<true, ABS>(smem, own, chunk * 16, s, count_from, digit, m);
        else
            count += load_digits<false, ABS>(smem, own, chunk * 16, s, count_from, digit, m);
        unsigned char *to = g.to.panels + t.entry * g.to.stride + ((long long)(row / 64) * g.k_blocks + block) * 8192 +
                            row % 64 * 128 + (c ^ (row & 7)) * 16;
#pragma unroll 1
        for (int l = 0; l < moduli; l++) {
            ht_stg16(to, make_uint4(ht_crt_residues(l, digit), ht_crt_residues(l, digit + 4),
                                    ht_crt_residues(l, digit + 8), ht_crt_residues(l, digit + 12)));
            to += g.to.modulus_stride;
        }
        if (ABS)
            ht_stg16(to, make_uint4(m.digit[0], m.digit[1], m.digit[2], m.digit[3]));
    }
    if (!ABS && g.counts)
        store_counts(g, t, smem, count);
}

// Blocks of an SM. Compiled for Blackwell itself, not from PTX for sm_80 as its sets are, three of 17 moduli and more spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int PACK_BLOCKS = CRT_MODULI > 16 ? 2 : 3;
#else
constexpr int PACK_BLOCKS = 3;
#endif

// MEASURES, SPLITS: what of both; both: the blocks of a row meet. NORMS: for correctly rounded results. ABS: of the scheme that
// computes what has too few counts. Schemes of fewer than 14 panels never do; with two blocks of an SM theirs compiles without spills.
template <bool MEASURES, bool SPLITS, bool NORMS = false, bool ABS = false>
static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, ABS && (CRT_MODULI > 16 || CRT_MODULI < 14) ? 2 : PACK_BLOCKS)) pack(const crt_pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    int block = (int)blockIdx.x;
    if (block >= p.blocks[second])
        return; // the other operand has more
    const unsigned smem = ht_smem_base<TILE_BYTES>();
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    ht_pdl_wait();
    ht_pdl_trigger();
    if (ABS && ht_crt_is_idle(g.asked, entry))
        return;
    const int route = ht_sample_route(g);
    if (ABS && !second && g.k_first == 0)
        clear_failed(g, entry, smaller((int)gridDim.x, p.blocks[0]), route == HT_CRT_ROUTE_NONE);
    if (route == HT_CRT_ROUTE_NONE || (!MEASURES && !ABS && route != 0))
        return;
    do {
        const ht_crt_pack_args &own = (ABS ? ht_reload_args(p) : p).operand[second];
        const pack_tile t = tile_of(own, entry, p.pieces, block);
        const bool whole = t.rows >= TILE_ROWS && t.k >= TILE_K;
        if (own.of.k_contiguous && whole)
            load_tile<true, true>(own, t, smem);
        else if (own.of.k_contiguous)
            load_tile<true, false>(own, t, smem);
        else if (whole)
            load_tile<false, true>(own, t, smem);
        else
            load_tile<false, false>(own, t, smem);
        ht_barrier();
        if (NORMS && own.spans && block == 0 && entry == 0 && threadIdx.x == 0)
            ht_stg_i32(own.spans + second, 0);
        if (MEASURES)
            measure_tile<NORMS>(own, t, smem);
        if (MEASURES && SPLITS && route == 0)
            ht_together_meet();
        if (SPLITS && (!MEASURES || route == 0))
            split_tile<ABS>(own, t, smem);
        if (ABS)
            ht_barrier(); // before the next tile's loads
        block += (int)gridDim.x;
    } while (ABS && block < p.blocks[second]);
}

// ---- verdict
// A row with NaN or Inf has fewer than any sum makes up for; one of zeros, whose results are exact, as many as are needed.
HT_DEVICE int final_count(const ht_crt_pack_args &g, long long entry, int row)
{
    const long long pitch = row_blocks_of(g) * 64;
    const int *const tiles = g.counts + entry * g.count_stride + HT_CRT_COUNTS_AT + row;
    int counted = 0;
    for (int i = 0; i < (g.of.k + TILE_K - 1) / TILE_K; i++)
        counted += ht_ldg_i32(tiles + i * pitch);
    const long long *const from = (const long long *)(const void *)(g.to.measured + entry * g.to.measured_stride) + row;
    if (ht_ldg_i32(g.to.exponents + entry * g.to.exponent_stride + row) == CRT_POISONED)
        return -(1 << 30);
    long long any = counted;
    for (int i = 0; i < segments_of(g) && any == 0; i++)
        any = ht_ldg_i64(from + i * pitch);
    return any == 0 ? g.count_needed : counted;
}

// One block an entry.
static __global__ void __launch_bounds__(VERDICT_THREADS) verdict(const crt_pack_pair p)
{
    const unsigned smem = ht_smem_base<VERDICT_BYTES>();
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    ht_pdl_wait();
    ht_pdl_trigger();
    const bool is_known = ht_sample_route(g) != 0;
    int least = is_known ? -(1 << 30) : 0x7fffffff;
    for (int row = is_known ? g.of.rows : (int)threadIdx.x; row < g.of.rows; row += VERDICT_THREADS)
        least = smaller(least, final_count(g, entry, row));
    for (int lanes = 1; lanes < WAVE; lanes *= 2)
        least = smaller(least, ht_shfl_xor(least, lanes));
    if ((int)threadIdx.x % WAVE == 0)
        ht_sts4(smem + (unsigned)((int)threadIdx.x / WAVE) * 4, ht_as_float((unsigned)least));
    ht_barrier();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < VERDICT_WARPS; i++)
        least = smaller(least, (int)ht_as_uint(ht_lds4(smem + (unsigned)i * 4)));
    ht_stg_i32(g.counts + entry * g.count_stride, least);
}

// Blocks of the larger operand where each row has `pieces` of them.
static unsigned blocks_of(crt_pack_pair *p, int pieces)
{
    unsigned most = 0;
    p->pieces = pieces;
    for (int i = 0; i < 2; i++) {
        p->blocks[i] = row_blocks_of(p->operand[i]) * (64 / TILE_ROWS) * pieces;
        most = (unsigned)p->blocks[i] > most ? (unsigned)p->blocks[i] : most;
    }
    return most;
}

// Measures, and where norms are asked for those. FEWER: a template's argument, or nvcc asks for kernels that it then leaves out.
template <bool FEWER>
static int measure_all(crt_pack_pair *p, int pieces, unsigned batch, void *stream)
{
    const unsigned blocks = blocks_of(p, pieces);
    const int rows = p->operand[0].of.rows > p->operand[1].of.rows ? p->operand[0].of.rows : p->operand[1].of.rows;
    if constexpr (FEWER) {
        if (p->operand[0].to.norms) {
            const int code = ht_launch_dependent(pack<true, false, FEWER>, blocks, 1, batch, PACK_THREADS, TILE_BYTES, stream, *p);
            return code != 0 ? code
                             : ht_launch_dependent(norms<FEWER>, (unsigned)((rows + NORM_THREADS - 1) / NORM_THREADS), 1, batch,
                                                   NORM_THREADS, 0, stream, *p);
        }
    }
    (void)rows;
    return ht_launch_dependent(pack<true, false>, blocks, 1, batch, PACK_THREADS, TILE_BYTES, stream, *p);
}

static int launch(const ht_crt_pack_args *operands, int count, void *stream)
{
    crt_pack_pair p = {{operands[0], operands[count - 1]}, {0, 0}, 1};
    const ht_crt_pack_args &g = operands[0]; // both have the same k
    const unsigned batch = (unsigned)(g.batch + (count > 1 ? operands[1].batch : 0));
    const int pieces = (g.of.k + TILE_K - 1) / TILE_K, own = (g.k_blocks * 128 + TILE_K - 1) / TILE_K; // own: the panels'
    int code = 0, together = 1; // clusters are of powers of two
    while (together < pieces)
        together *= 2;
    if (g.to.sums) // mostly idle: a block takes several tiles, since to begin and end so many takes longer than all else
        return ht_launch_dependent(pack<false, true, false, true>, (blocks_of(&p, own) + 3) / 4, 1, batch, PACK_THREADS, TILE_BYTES, stream, p);
    if (g.sample.asked)
        code = ht_launch_dependent(sample, 1, 1, 1, SAMPLE_THREADS, SAMPLE_BYTES, stream, p);
    if (code != 0)
        return code;
    if (own == pieces && pieces <= HT_TOGETHER_MOST && !g.to.norms) {
        const unsigned blocks = blocks_of(&p, together);
        code = ht_launch_together(pack<true, true>, blocks, batch, PACK_THREADS, TILE_BYTES, stream, p, together);
    } else {
        if (g.k_first == 0)
            code = measure_all<CRT_HAS_FEWER>(&p, pieces, batch, stream);
        const unsigned blocks = blocks_of(&p, own);
        code = code != 0 ? code : ht_launch_dependent(pack<false, true>, blocks, 1, batch, PACK_THREADS, TILE_BYTES, stream, p);
    }
    if (code != 0 || !g.counts || g.k_first + g.k_blocks * 128ll < g.of.k)
        return code;
    return ht_launch_dependent(verdict, 1, 1, batch, VERDICT_THREADS, VERDICT_BYTES, stream, p);
}

template <bool FEWER>
static int prefer_smem(void)
{
    int code = ht_prefer_smem(pack<true, true>, TILE_BYTES);
    code = code != 0 ? code : ht_prefer_smem(pack<false, true, false, true>, TILE_BYTES);
    code = code != 0 ? code : ht_prefer_smem(pack<true, false>, TILE_BYTES);
    if constexpr (FEWER)
        code = code != 0 ? code : ht_prefer_smem(pack<true, false, FEWER>, TILE_BYTES);
    return code != 0 ? code : ht_prefer_smem(pack<false, true>, TILE_BYTES);
}

static int init(void)
{
    return prefer_smem<CRT_HAS_FEWER>();
}
