#include "../samples/crt_mma_warp.h" //@drop
// ---- geometry: FP64 operands into panels of residues
// A block has TILE_ROWS x TILE_K elements, in shared memory. It measures them: of each row and CRT_SEGMENT k the
// largest binade and, relative to it, an upper bound of the sum of squares, in integers, so that no order of
// additions shows. And it splits them: each row's exponent follows from what all blocks of the row have measured,
// then each element's residues. Blocks of a row meet in between where they are a cluster or one block; else there
// are two launches, each of which reads the operand. Where counts are asked for, `split` finds them tile by tile, and
// another launch, `verdict`, adds them up and finds the least and most of all rows, and of thresholds the least.
//
//   measure: a row's segment by 16 lanes; a thread holds the upper words of 32 elements
//   split:   device memory -> shared memory -> 16 k of a row in each thread, twice -> 16 bytes of each panel
//
// Row r of the tile has its pairs of k at 16-byte places, k / 2 ^ r % 8: eight threads that read 16 bytes of eight
// rows, or of eight neighbours of one, meet no bank twice.
constexpr int PACK_THREADS = 256, PACK_WARPS = PACK_THREADS / WAVE;
constexpr int VERDICT_THREADS = 1024, VERDICT_WARPS = VERDICT_THREADS / WAVE, FOUND = 3,
              VERDICT_BYTES = VERDICT_WARPS * FOUND * 4;
constexpr int TILE_ROWS = 8, TILE_K = 2 * CRT_SEGMENT, TILE_BYTES = TILE_ROWS * TILE_K * 8;
constexpr int LANES = 16, HELD = CRT_SEGMENT / LANES; // of a row's segment; elements of each
constexpr int AT_ONCE = 16;                           // loads of a thread
constexpr int NEGATIVE_AT = 48;                       // above sums of parts, less than 2^45: lanes that have seen a negative element
static_assert(PACK_THREADS == TILE_ROWS * 2 * LANES && TILE_ROWS * TILE_K == 2 * AT_ONCE * PACK_THREADS, "all take part");

struct crt_pack_pair {
    ht_crt_pack_args operand[2];
    int blocks[2]; // of an entry of each operand
    int pieces;    // blocks of a row
};

static __host__ __device__ __forceinline__ int row_blocks_of(const ht_crt_pack_args &g)
{
    return (g.rows + 63) / 64;
}

HT_DEVICE int segments_of(const ht_crt_pack_args &g)
{
    return (g.k + CRT_SEGMENT - 1) / CRT_SEGMENT;
}

// Where element (row, k) is, in 64-bit words; K_MAJOR: k is what lies together.
template <bool K_MAJOR>
HT_DEVICE const long long *element_at(const ht_crt_pack_args &g, long long entry, int row, int k)
{
    return (const long long *)(const void *)(g.src + entry * g.src_stride) +
           (K_MAJOR ? row * g.ld + k : k * g.ld + row);
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

HT_DEVICE pack_tile tile_of(const ht_crt_pack_args &g, long long entry, int pieces)
{
    pack_tile t;
    t.entry = entry;
    t.row0 = (int)blockIdx.x / pieces * TILE_ROWS;
    t.k0 = g.k_first + (int)blockIdx.x % pieces * TILE_K;
    t.rows = g.rows - t.row0;
    t.k = g.k - t.k0;
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
    const long long step = K_MAJOR ? STEP_K : STEP_K * g.ld;
#pragma unroll 1
    for (int first = 0; first < 2 * AT_ONCE; first += AT_ONCE) {
        const int row = thread_row + (K_MAJOR ? first / PER_ROW : 0), k = thread_k + (K_MAJOR ? 0 : first * STEP_K);
        unsigned long long x[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const bool there = WHOLE || (row + i / PER_ROW < t.rows && k + i % PER_ROW * STEP_K < t.k);
            x[i] = there ? (unsigned long long)ht_ldg_i64(at + i % PER_ROW * step) : 0;
            at += i % PER_ROW == PER_ROW - 1 ? g.ld : 0;
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

HT_DEVICE unsigned long long sum_of_subnormal(unsigned smem, int row, int pair, int binade, unsigned *of_parts)
{
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = 0; i < HELD / 2; i++) {
        const uint4 x = ht_lds16(smem + word_at(row, (pair + i * LANES) * 2));
        const unsigned long long parts[2] = {ht_crt_part_subnormal(x.x, x.y, binade),
                                             ht_crt_part_subnormal(x.z, x.w, binade)};
        sum += parts[0] * parts[0] + parts[1] * parts[1];
        *of_parts += (unsigned)(parts[0] + parts[1]);
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

// 16 lanes have a row's segment.
HT_DEVICE void measure_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    const int thread = (int)threadIdx.x, lane = thread % LANES, row = thread / LANES % TILE_ROWS,
              part = thread / (LANES * TILE_ROWS), pair = part * (CRT_SEGMENT / 2) + lane,
              left = t.k - part * CRT_SEGMENT;
    const unsigned from = smem + word_at(row, pair * 2); // each next pair LANES places behind
    unsigned high[HELD]; // upper words without their signs
    unsigned largest = 0, signs = 0, parts = 0;
#pragma unroll
    for (int i = 0; i < HELD; i += 2) {
        const uint4 x = ht_lds16(from + i / 2 * (LANES * 16));
        high[i] = x.y & 0x7fffffffu;
        high[i + 1] = x.w & 0x7fffffffu;
        signs |= x.y | x.w;
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
            parts += part_of;
        }
    } else if (most > -1075) {
        sum = sum_of_subnormal(smem, row, pair, most, &parts);
    }
    sum -= (unsigned)(HELD - (left > 0 ? elements_of_lane(left, lane) : 0)); // where the matrix has none a 1 was added
    for (int lanes = 1; lanes < LANES; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)sum, lanes),
                       upper = (unsigned)ht_shfl_xor((int)(unsigned)(sum >> 32), lanes);
        sum += (unsigned long long)upper << 32 | low;
        parts += (unsigned)ht_shfl_xor((int)parts, lanes);
        signs |= (unsigned)ht_shfl_xor((int)signs, lanes);
    }
    const unsigned long long measured = most == CRT_NONFINITE_BINADE ? (unsigned long long)CRT_MEASURED_NONFINITE << 52
                                        : most == -1075              ? 0
                                                                     : ht_crt_measured(most, signs >> 31, parts, sum);
    if (lane == 0 && left > 0)
        ht_stg_i64((long long *)(void *)(g.measured + t.entry * g.measured_stride) +
                       (long long)(t.k0 / CRT_SEGMENT + part) * (row_blocks_of(g) * 64) + t.row0 + row,
                   (long long)measured);
}

// ---- split
// What another block may have measured since this one began.
HT_DEVICE unsigned long long load_measured(const unsigned long long *at)
{
    const int *const words = (const int *)(const void *)at;
    return (unsigned long long)(unsigned)ht_ld_relaxed_i32(words + 1) << 32 | (unsigned)ht_ld_relaxed_i32(words);
}

HT_DEVICE unsigned long long sum_of_lanes(unsigned long long sum)
{
    for (int lanes = TILE_ROWS; lanes < 4 * TILE_ROWS; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)sum, lanes),
                       high = (unsigned)ht_shfl_xor((int)(unsigned)(sum >> 32), lanes);
        sum += (unsigned long long)high << 32 | low;
    }
    return sum;
}

// The exponent of a row, by four lanes together, TILE_ROWS apart, and its threshold.
HT_DEVICE int exponent_of(const ht_crt_pack_args &g, long long entry, int row, int *threshold)
{
    const long long pitch = row_blocks_of(g) * 64;
    const unsigned long long *const from = g.measured + entry * g.measured_stride + row;
    const int segments = segments_of(g), share = (int)threadIdx.x / TILE_ROWS % 4;
    int field = 0;
    unsigned long long sum = 0, parts = 0;
    bool negative = false;
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
        parts += ht_crt_aligned_parts(measured, field);
        negative = negative || ht_crt_has_negative(measured);
    }
    sum = sum_of_lanes(sum);
    parts = sum_of_lanes(parts + ((unsigned long long)negative << NEGATIVE_AT));
    const int s = ht_crt_exponent(field, sum);
    const bool likely = parts >> NEGATIVE_AT == 0 && ht_crt_is_spread(parts, sum, g.k);
    *threshold = g.threshold_factor == 0 || !(likely || g.asked == HT_CRT_ASK_ALL)
                     ? HT_CRT_NO_THRESHOLD
                     : ht_crt_threshold(parts & ((1ull << NEGATIVE_AT) - 1), field, s, g.threshold_factor, g.threshold_exponent);
    return s;
}

// 16 k of a row from shared memory, as digits; how many count. USUAL: of a usual row.
template <bool USUAL>
HT_DEVICE int load_digits(unsigned smem, int row, int k, int s, unsigned count_from, unsigned (*digit)[CRT_DIGIT_WORDS])
{
    int count = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint4 x = ht_lds16(smem + word_at(row, k + i * 2));
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
    ht_stg_i32(g.counts + t.entry * g.count_stride + HT_CRT_COUNTS_AT + (2 + t.k0 / TILE_K) * pitch + t.row0 + own, count);
}

// The tile as it is, for calls that need more than its residues.
HT_DEVICE void copy_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    const long long pitch = (g.k + 1ll) / 2; // pairs
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < TILE_ROWS * TILE_K / 2; i += PACK_THREADS) {
        const int row = i / (TILE_K / 2), pair = i % (TILE_K / 2);
        if (pair * 2 < t.k)
            ht_stg16(g.copy + ((t.row0 + row) * pitch + t.k0 / 2 + pair) * 2, ht_lds16(smem + word_at(row, pair * 2)));
    }
}

HT_DEVICE void split_tile(const ht_crt_pack_args &g, const pack_tile &t, unsigned smem)
{
    if (g.copy)
        copy_tile(g, t, smem);
    const int own = (int)threadIdx.x % TILE_ROWS, row = t.row0 + own;
    int threshold;
    const int s = exponent_of(g, t.entry, row, &threshold);
    if (t.k0 == 0 && (int)threadIdx.x < TILE_ROWS) {
        ht_stg_i32(g.exponents + t.entry * g.exponent_stride + row, s);
        if (g.counts)
            ht_stg_i32(g.counts + t.entry * g.count_stride + HT_CRT_COUNTS_AT + row_blocks_of(g) * 64 + row, threshold);
    }
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
            count += load_digits<true>(smem, own, chunk * 16, s, count_from, digit);
        else
            count += load_digits<false>(smem, own, chunk * 16, s, count_from, digit);
        unsigned char *to = g.panels + t.entry * g.panel_stride + ((long long)(row / 64) * g.k_blocks + block) * 8192 +
                            row % 64 * 128 + (c ^ (row & 7)) * 16;
#pragma unroll 1
        for (int l = 0; l < CRT_MODULI; l++) {
            ht_stg16(to, make_uint4(ht_crt_residues(l, digit), ht_crt_residues(l, digit + 4),
                                    ht_crt_residues(l, digit + 8), ht_crt_residues(l, digit + 12)));
            to += g.modulus_stride;
        }
    }
    if (g.counts)
        store_counts(g, t, smem, count);
}

// MEASURES, SPLITS: what of both; both: the blocks of a row meet.
template <bool MEASURES, bool SPLITS>
static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, 3)) pack(const crt_pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= p.blocks[second])
        return; // the other operand has more
    const unsigned smem = ht_smem_base<TILE_BYTES>();
    const pack_tile t = tile_of(g, (int)blockIdx.z - (second ? p.operand[0].batch : 0), p.pieces);
    ht_pdl_wait();
    ht_pdl_trigger();
    const bool whole = t.rows >= TILE_ROWS && t.k >= TILE_K;
    if (g.k_contiguous && whole)
        load_tile<true, true>(g, t, smem);
    else if (g.k_contiguous)
        load_tile<true, false>(g, t, smem);
    else if (whole)
        load_tile<false, true>(g, t, smem);
    else
        load_tile<false, false>(g, t, smem);
    ht_barrier();
    if (MEASURES)
        measure_tile(g, t, smem);
    if (MEASURES && SPLITS)
        ht_together_meet();
    if (SPLITS)
        split_tile(g, t, smem);
}

// ---- verdict
// A row with NaN or Inf has fewer than any sum makes up for; one of zeros, whose results are exact, as many as are needed.
HT_DEVICE int final_count(const ht_crt_pack_args &g, long long entry, int row)
{
    const long long pitch = row_blocks_of(g) * 64;
    const int *const tiles = g.counts + entry * g.count_stride + HT_CRT_COUNTS_AT + 2 * pitch + row;
    int counted = 0;
    for (int i = 0; i < (g.k + TILE_K - 1) / TILE_K; i++)
        counted += ht_ldg_i32(tiles + i * pitch);
    const long long *const from = (const long long *)(const void *)(g.measured + entry * g.measured_stride) + row;
    if (ht_ldg_i32(g.exponents + entry * g.exponent_stride + row) == CRT_POISONED)
        return -(1 << 30);
    long long any = counted;
    for (int i = 0; i < segments_of(g) && any == 0; i++)
        any = ht_ldg_i64(from + i * pitch);
    return any == 0 ? g.count_needed : counted;
}

HT_DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

// One block an entry.
static __global__ void __launch_bounds__(VERDICT_THREADS) verdict(const crt_pack_pair p)
{
    const unsigned smem = ht_smem_base<VERDICT_BYTES>();
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    int *const counts = g.counts + entry * g.count_stride;
    ht_pdl_wait();
    ht_pdl_trigger();
    int found[FOUND] = {-0x7fffffff, -0x7fffffff, -HT_CRT_NO_THRESHOLD}; // the least with their signs changed
    for (int row = (int)threadIdx.x; row < g.rows; row += VERDICT_THREADS) {
        const int count = final_count(g, entry, row);
        ht_stg_i32(counts + HT_CRT_COUNTS_AT + row, count);
        found[0] = larger(found[0], -count);
        found[1] = larger(found[1], count);
    }
    const int *const thresholds = counts + HT_CRT_COUNTS_AT + row_blocks_of(g) * 64;
    for (int row = (int)threadIdx.x; row < g.rows; row += VERDICT_THREADS)
        found[2] = larger(found[2], -ht_ldg_i32(thresholds + row));
#pragma unroll
    for (int i = 0; i < FOUND; i++) {
        for (int lanes = 1; lanes < WAVE; lanes *= 2)
            found[i] = larger(found[i], ht_shfl_xor(found[i], lanes));
        if ((int)threadIdx.x % WAVE == 0)
            ht_sts4(smem + (unsigned)((int)threadIdx.x / WAVE * FOUND + i) * 4, ht_as_float((unsigned)found[i]));
    }
    ht_barrier();
    if ((int)threadIdx.x >= FOUND)
        return;
    const int own = (int)threadIdx.x;
    int result = -0x7fffffff;
    for (int i = 0; i < VERDICT_WARPS; i++)
        result = larger(result, (int)ht_as_uint(ht_lds4(smem + (unsigned)(i * FOUND + own) * 4)));
    ht_stg_i32(counts + own, own == 1 ? result : -result);
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

static int launch(const ht_crt_pack_args *operands, int count, void *stream)
{
    crt_pack_pair p = {{operands[0], operands[count - 1]}, {0, 0}, 1};
    const ht_crt_pack_args &g = operands[0]; // both have the same k
    const unsigned batch = (unsigned)(g.batch + (count > 1 ? operands[1].batch : 0));
    const int pieces = (g.k + TILE_K - 1) / TILE_K, own = (g.k_blocks * 128 + TILE_K - 1) / TILE_K; // own: the panels'
    int code = 0, together = 1; // clusters are of powers of two
    while (together < pieces)
        together *= 2;
    if (own == pieces && pieces <= HT_TOGETHER_MOST) {
        const unsigned blocks = blocks_of(&p, together);
        code = ht_launch_together(pack<true, true>, blocks, batch, PACK_THREADS, TILE_BYTES, stream, p, together);
    } else {
        if (g.k_first == 0) {
            const unsigned blocks = blocks_of(&p, pieces);
            code = ht_launch_dependent(pack<true, false>, blocks, 1, batch, PACK_THREADS, TILE_BYTES, stream, p);
        }
        const unsigned blocks = blocks_of(&p, own);
        code = code != 0 ? code : ht_launch_dependent(pack<false, true>, blocks, 1, batch, PACK_THREADS, TILE_BYTES, stream, p);
    }
    if (code != 0 || !g.counts || g.k_first + g.k_blocks * 128ll < g.k)
        return code;
    return ht_launch_dependent(verdict, 1, 1, batch, VERDICT_THREADS, VERDICT_BYTES, stream, p);
}

static int init(void)
{
    int code = ht_prefer_smem(pack<true, true>, TILE_BYTES);
    code = code != 0 ? code : ht_prefer_smem(pack<true, false>, TILE_BYTES);
    return code != 0 ? code : ht_prefer_smem(pack<false, true>, TILE_BYTES);
}
