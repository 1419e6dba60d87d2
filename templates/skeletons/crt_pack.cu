#include "../samples/crt_mma_warp.h" //@drop
// ---- geometry: FP64 operands into panels of residues
// Two launches. `measure` finds of each row and CRT_SEGMENT k the largest binade and, relative to it, an
// upper bound of the sum of squares, in integers, so that no order of additions shows. `split` finds each
// row's exponent from those and writes the residues of its elements: it reads them once for all moduli.
//
//   measure: 32 rows x 512 k a block; a thread holds the upper words of 64 elements (subnormal: read again)
//   split:   64 rows x 64 k a block: device memory -> shared memory, in two words -> 16 k of a row in
//            each thread -> 16 bytes of each panel
//
// Shared memory holds row r, k c of a block at word r * ROW_PITCH + c / 16 * CHUNK_PITCH + c % 16: eight
// threads that read 16 bytes each of two rows and four chunks meet no bank twice.
constexpr int PACK_THREADS = 256, PACK_WARPS = PACK_THREADS / WAVE;
constexpr int MEASURE_ROWS = 32,
              MEASURE_HELD = MEASURE_ROWS * CRT_SEGMENT / PACK_THREADS; // elements of a thread
constexpr int SPLIT_ROWS = 64, SPLIT_K = 64, SPLIT_ELEMENTS = SPLIT_ROWS * SPLIT_K / PACK_THREADS;
constexpr int CHUNK_PITCH = 20, ROW_PITCH = 4 * CHUNK_PITCH, PLANE_BYTES = SPLIT_ROWS * ROW_PITCH * 4;
constexpr int SPLIT_BYTES = 2 * PLANE_BYTES, MEASURE_BYTES = 3 * PACK_THREADS * 4;
static_assert(SPLIT_ELEMENTS == 16 && MEASURE_HELD == 64, "a thread has a chunk");

struct crt_pack_pair {
    ht_crt_pack_args operand[2];
    int blocks[2]; // of an entry of each operand
};

HT_DEVICE int row_blocks_of(const ht_crt_pack_args &g)
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

HT_DEVICE unsigned load_shared(unsigned s)
{
    return ht_as_uint(ht_lds4(s));
}

// ---- measure
// -----------------------------------------------------------------------------------------------------------
// A row of a block is measured by eight threads: `share` is which. K_MAJOR: neighbouring lanes, which
// take neighbouring k; else one of each warp (two of each wavefront of 64), whose lanes take neighbouring
// rows.
template <bool K_MAJOR> HT_DEVICE int row_of_thread(void)
{
    return K_MAJOR ? (int)threadIdx.x / 8 : (int)threadIdx.x % MEASURE_ROWS;
}

template <bool K_MAJOR> HT_DEVICE int share_of_thread(void)
{
    return K_MAJOR ? (int)threadIdx.x % 8 : (int)threadIdx.x / MEASURE_ROWS;
}

// Elements of a thread that the matrix has: every eighth k from `at` on while there are any of `left` k.
struct measured_row {
    const long long *at;
    long long step; // from one to the next
    int left;
};

// Of elements that are all subnormal, from the matrix once more. The binade of the largest is that of all
// their bits together.
HT_DEVICE int binade_of_subnormal(const measured_row &x)
{
    unsigned long long all = 0;
#pragma unroll 1
    for (int i = 0; i < MEASURE_HELD && i * 8 < x.left; i++)
        all |= (unsigned long long)ht_ldg_i64(x.at + i * x.step);
    return ht_crt_binade((unsigned)all, (unsigned)(all >> 32) & 0x7fffffffu);
}

HT_DEVICE unsigned long long sum_of_subnormal(const measured_row &x, int binade)
{
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = 0; i < MEASURE_HELD && i * 8 < x.left; i++) {
        const unsigned long long bits = (unsigned long long)ht_ldg_i64(x.at + i * x.step);
        const unsigned long long part = ht_crt_part_subnormal((unsigned)bits, (unsigned)(bits >> 32), binade);
        sum += part * part;
    }
    return sum;
}

template <bool K_MAJOR> HT_DEVICE void measure_segment(const ht_crt_pack_args &g, long long entry, int block)
{
    const unsigned smem = ht_smem_base<MEASURE_BYTES>();
    const int strips = row_blocks_of(g) * (64 / MEASURE_ROWS), segment = block / strips,
              k0 = segment * CRT_SEGMENT;
    const int own = row_of_thread<K_MAJOR>(), share = share_of_thread<K_MAJOR>(),
              row = block % strips * MEASURE_ROWS + own;
    const unsigned at = smem + (unsigned)(own * 8 + share) * 4;
    const measured_row x = {element_at<K_MAJOR>(g, entry, row, k0 + share), 8 * (K_MAJOR ? 1 : g.ld),
                            row < g.rows ? g.k - k0 - share : 0};
    unsigned high[MEASURE_HELD]; // upper words without their signs
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < MEASURE_HELD; i++) {
        high[i] = i * 8 < x.left
                      ? (unsigned)ht_ldg_i32((const int *)(const void *)(x.at + i * x.step) + 1) & 0x7fffffffu
                      : 0;
        largest = high[i] > largest ? high[i] : largest;
    }
    int most =
        largest >> 20 != 0 ? (int)(largest >> 20) - 1023 : binade_of_subnormal(x); // -1075: zeros alone
    ht_sts4(at, ht_as_float((unsigned)most));
    ht_barrier();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int other = (int)load_shared(smem + (unsigned)(own * 8 + i) * 4);
        most = other > most ? other : most;
    }
    unsigned long long sum = 0;
    if (most >= -1022) {
#pragma unroll
        for (int i = 0; i < MEASURE_HELD; i++) {
            const unsigned part = ht_crt_part(high[i], most);
            sum += part * part; // at most 2^15: no overflow
        }
        // Where the matrix has no element a 1 was added. A condition for each would take 128 scalar registers on AMD.
        const int has = (x.left + 7) / 8;
        sum -= (unsigned)(x.left <= 0 ? MEASURE_HELD : has < MEASURE_HELD ? MEASURE_HELD - has : 0);
    } else if (most > -1075) {
        sum = sum_of_subnormal(x, most);
    }
    ht_sts4(at + PACK_THREADS * 4, ht_as_float((unsigned)sum));
    ht_sts4(at + 2 * PACK_THREADS * 4, ht_as_float((unsigned)(sum >> 32)));
    ht_barrier();
    if (share != 0)
        return;
    sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned from = smem + (unsigned)(PACK_THREADS + own * 8 + i) * 4;
        sum += (unsigned long long)load_shared(from + PACK_THREADS * 4) << 32 | load_shared(from);
    }
    const unsigned long long measured = most == 1024    ? (unsigned long long)CRT_MEASURED_NONFINITE << 52
                                        : most == -1075 ? 0
                                                        : ht_crt_measured(most, sum);
    ht_stg_i64((long long *)(void *)(g.measured + entry * g.measured_stride) +
                   (long long)segment * (row_blocks_of(g) * 64) + row,
               (long long)measured);
}

static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, 2))
    measure(const crt_pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= p.blocks[second])
        return; // the other operand has more
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    if (g.k_contiguous)
        measure_segment<true>(g, entry, (int)blockIdx.x);
    else
        measure_segment<false>(g, entry, (int)blockIdx.x);
}

// ---- split
HT_DEVICE unsigned word_at(int row, int k)
{
    return (unsigned)(row * ROW_PITCH + k / 16 * CHUNK_PITCH + k % 16) * 4;
}

// A block's elements into shared memory. Where rows are contiguous a warp takes pieces of four, 32 bytes:
// of neighbouring k they are in banks of their own.
template <bool K_MAJOR>
HT_DEVICE void load_block(const ht_crt_pack_args &g, long long entry, int row0, int k0, unsigned smem)
{
    const int thread = (int)threadIdx.x;
    const int row = K_MAJOR ? thread / SPLIT_K : thread % 4,
              k = K_MAJOR ? thread % SPLIT_K : thread / 4; // and each fourth row
    const long long *const at = element_at<K_MAJOR>(g, entry, row0 + row, k0 + k);
    const long long step = K_MAJOR ? 4 * g.ld : 4;
    const int left = k0 + k < g.k ? g.rows - row0 - row : 0;
    const unsigned to = smem + word_at(row, k);
    unsigned long long x[SPLIT_ELEMENTS];
#pragma unroll
    for (int i = 0; i < SPLIT_ELEMENTS; i++) {
        x[i] = i * 4 < left ? (unsigned long long)ht_ldg_i64(at + i * step) : 0;
    }
#pragma unroll
    for (int i = 0; i < SPLIT_ELEMENTS; i++) {
        ht_sts4(to + word_at(i * 4, 0), ht_as_float((unsigned)x[i]));
        ht_sts4(to + word_at(i * 4, 0) + PLANE_BYTES, ht_as_float((unsigned)(x[i] >> 32)));
    }
}

// The exponent of a row, by four neighbouring lanes together.
HT_DEVICE int exponent_of(const ht_crt_pack_args &g, long long entry, int row)
{
    const long long pitch = row_blocks_of(g) * 64;
    const long long *const from =
        (const long long *)(const void *)(g.measured + entry * g.measured_stride) + row;
    const int segments = segments_of(g), share = (int)threadIdx.x % 4;
    int field = 0;
    unsigned long long sum = 0;
#pragma unroll 1
    for (int i = share; i < segments; i += 4) {
        const int other = (int)((unsigned long long)ht_ldg_i64(from + i * pitch) >> 52);
        field = other > field ? other : field;
    }
    for (int lanes = 1; lanes < 4; lanes *= 2) {
        const int other = ht_shfl_xor(field, lanes);
        field = other > field ? other : field;
    }
#pragma unroll 1
    for (int i = share; i < segments; i += 4)
        sum += ht_crt_aligned((unsigned long long)ht_ldg_i64(from + i * pitch), field);
    for (int lanes = 1; lanes < 4; lanes *= 2) {
        const unsigned low = (unsigned)ht_shfl_xor((int)(unsigned)sum, lanes),
                       high = (unsigned)ht_shfl_xor((int)(unsigned)(sum >> 32), lanes);
        sum += (unsigned long long)high << 32 | low;
    }
    return ht_crt_exponent(field, sum);
}

static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, 2)) split(const crt_pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_crt_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= p.blocks[second])
        return;
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const unsigned smem = ht_smem_base<SPLIT_BYTES>();
    const int steps = g.k_blocks * 2, row_block = (int)blockIdx.x / steps, step = (int)blockIdx.x % steps;
    if (g.k_contiguous)
        load_block<true>(g, entry, row_block * 64, step * SPLIT_K, smem);
    else
        load_block<false>(g, entry, row_block * 64, step * SPLIT_K, smem);
    const int own = (int)threadIdx.x / 4, chunk = (int)threadIdx.x % 4;
    const int s = exponent_of(g, entry, row_block * 64 + own);
    if (step == 0 && chunk == 0)
        ht_stg_i32(g.exponents + entry * g.exponent_stride + row_block * 64 + own, s);
    ht_barrier();
    unsigned digit[16][CRT_DIGIT_WORDS];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned from = smem + word_at(own, chunk * 16 + i * 4);
        const uint4 low = ht_lds16(from), high = ht_lds16(from + PLANE_BYTES);
        ht_crt_digits(low.x, high.x, s, digit[i * 4]);
        ht_crt_digits(low.y, high.y, s, digit[i * 4 + 1]);
        ht_crt_digits(low.z, high.z, s, digit[i * 4 + 2]);
        ht_crt_digits(low.w, high.w, s, digit[i * 4 + 3]);
    }
    const int c = step % 2 * 4 + chunk; // 16-byte chunk of the atom's row
    unsigned char *to = g.panels + entry * g.panel_stride +
                        ((long long)row_block * g.k_blocks + step / 2) * 8192 + own * 128 +
                        (c ^ (own & 7)) * 16;
#pragma unroll 1
    for (int l = 0; l < CRT_MODULI; l++) {
        ht_stg16(to, make_uint4(ht_crt_residues(l, digit), ht_crt_residues(l, digit + 4),
                                ht_crt_residues(l, digit + 8), ht_crt_residues(l, digit + 12)));
        to += g.modulus_stride;
    }
}

static int launch(const ht_crt_pack_args *operands, int count, void *stream)
{
    crt_pack_pair p = {{operands[0], operands[count - 1]}, {0, 0}};
    unsigned most = 0, batch = 0;
    for (int kernel = 0; kernel < 2; kernel++) {
        most = batch = 0;
        for (int i = 0; i < count; i++) {
            const ht_crt_pack_args &g = operands[i];
            p.blocks[i] = (g.rows + 63) / 64 *
                          (kernel == 0 ? 64 / MEASURE_ROWS * ((g.k + CRT_SEGMENT - 1) / CRT_SEGMENT)
                                       : g.k_blocks * 2);
            most = (unsigned)p.blocks[i] > most ? (unsigned)p.blocks[i] : most;
            batch += (unsigned)g.batch;
        }
        const int code = kernel == 0
                             ? ht_launch(measure, most, 1, batch, PACK_THREADS, MEASURE_BYTES, stream, p)
                             : ht_launch(split, most, 1, batch, PACK_THREADS, SPLIT_BYTES, stream, p);
        if (code != 0)
            return code;
    }
    return 0;
}

static int init(void)
{
    return ht_allow_smem(split, SPLIT_BYTES);
}
