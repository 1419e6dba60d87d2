// pack/common: what packing in tiles (pack.cu), by whole rows (pack_rows) and by strips (pack_strips) share.
constexpr int GROUP = SLICES / ATOM_SLICES;                     // atoms of one k block
constexpr int CHUNK_K = 16 / SLICE_BYTES;                       // k of a 16-byte chunk
constexpr int ATOM_CHUNKS = ATOM_K / CHUNK_K;                   // chunks of one slice in an atom's row
constexpr unsigned LARGE_LEAST = 0x34013401u;                   // next to 2^-2 in FP16, twice: what surely is not small, scaled //@mutate large-least
constexpr int SUM_WORDS = 66;                                   // HT_SUM_WORDS
enum { SUMS = 1, SUMS_AND_COPY };                               // what packing does for the certificate, as templates take it; 0: nothing

struct pack_pair {
    ht_pack_args operand[2];
    int blocks[2]; // of an entry of each operand
    int pieces;    // of k, a block each for the same rows
    int tiles;     // of a block: at most PACK_TILES, or HT_PACK_ROWS, HT_PACK_STRIPS
    int long_rows; // with HT_PACK_STRIPS: rows of a block that takes them whole where k is contiguous, or 0
    int k_tiles;   // tiles of 64 k
    int passes;    // operands and panels are more than L2 keeps
};

HT_DEVICE int row_blocks_of(const ht_pack_args &g)
{
    return (g.rows + 63) / 64;
}

// Of all operands of a launch, entry by entry.
static long long all_row_blocks(const ht_pack_args *operands, int count)
{
    long long all = 0;
    for (int i = 0; i < count; i++)
        all += (operands[i].rows + 63LL) / 64 * operands[i].batch;
    return all;
}

// Whether 16 bytes of a line may be loaded from every fourth element on.
HT_DEVICE bool is_aligned(const ht_pack_args &g, const float *src)
{
    return g.ld % 4 == 0 && ((unsigned long long)src & 15) == 0;
}

// Fixed point: sums of integers join those of other k under a common scale.
constexpr bool JOINS = HAS_NAN_ROWS && SCALES_ROWS != 0;

// Blocks of an SM: compiled for Blackwell itself, not from PTX for sm_80 as its sets are, packing into ten digits spills.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int FEWER_BLOCKS = HAS_NAN_ROWS;
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 1000
constexpr int FEWER_BLOCKS = 0;
#endif

// Whether absmax is all that is wanted.
HT_DEVICE bool only_measures(const ht_pack_args &g)
{
    return JOINS && !g.to.panels;
}

// Absmax of a row whose scale is that of more k, from that of what is here.
HT_DEVICE int common_absmax(const ht_pack_args &g, int row, int most)
{
    if (!JOINS || !g.absmax_of_all || row >= g.rows)
        return most;
    const int all = ht_ldg_i32(g.absmax_of_all + row);
    return ht_row_exponent(most) > ht_row_exponent(all) ? HT_FOREIGN_ROW : all; //@mutate common-absmax
}

// Whether there is a place for a row's absmax.
HT_DEVICE bool has_absmax(const ht_pack_args &g, int row)
{
    return !only_measures(g) || row < g.rows;
}

// 64 x 64 tiles along k.
HT_DEVICE int k_tiles_of(const ht_pack_args &g)
{
    return g.k_blocks / GROUP * ATOM_K / 64;
}

HT_DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

// Magnitudes are the bits of a float without its sign, which compare like the floats; Inf and NaN do not count, or poison
// the row. While maxima are taken, a magnitude is a key that needs one instruction: shifted left and, where Inf and NaN do
// not count, raised by one exponent, so that they wrap around to less than what zero becomes.
constexpr unsigned KEY_OF_ZERO = HAS_NAN_ROWS ? 0u : 0x01000000u;

HT_DEVICE unsigned larger_key(unsigned x, unsigned y)
{
    return x > y ? x : y;
}

HT_DEVICE unsigned larger_key_across(unsigned x, int lane_mask)
{
    return larger_key(x, (unsigned)ht_shfl_xor((int)x, lane_mask));
}

HT_DEVICE unsigned key_of_four(uint4 x)
{
    return larger_key(larger_key(x.x * 2 + KEY_OF_ZERO, x.y * 2 + KEY_OF_ZERO),
                      larger_key(x.z * 2 + KEY_OF_ZERO, x.w * 2 + KEY_OF_ZERO));
}

HT_DEVICE int magnitude_of_key(unsigned key)
{
    const int bits = key > KEY_OF_ZERO ? (int)((key - KEY_OF_ZERO) >> 1) : 0;
    return bits < HT_INFINITE ? bits : HT_INFINITE;
}

// An element, in schemes with scales times its row's or tile's power of two.
HT_DEVICE float scaled(unsigned bits, float factor)
{
    return SCALES_ROWS + SCALES_TILES > 0 ? __fmul_rn(ht_as_float(bits), factor) : ht_as_float(bits);
}

// Four elements of a line, of which only the first `left` are there: one by one, zeros behind.
HT_DEVICE uint4 load_guarded(const float *p, int left)
{
    return make_uint4(left > 0 ? ht_as_uint(ht_ldg4(p)) : 0, left > 1 ? ht_as_uint(ht_ldg4(p + 1)) : 0,
                      left > 2 ? ht_as_uint(ht_ldg4(p + 2)) : 0, left > 3 ? ht_as_uint(ht_ldg4(p + 3)) : 0); //@mutate common-load-some
}

// What a thread has seen of a row: pairs of ht_count_large_f16x2.
struct large_counts {
    unsigned count, nonfinite;
};

// `packed`: WORDS words of the high slices.
template <int CHECK, int WORDS> HT_DEVICE void observe_slices(const unsigned *packed, large_counts *large_count)
{
    for (int i = 0; CHECK > 0 && !SCALES_TILES && i < WORDS; i++)
        ht_count_large_f16x2(&large_count->count, &large_count->nonfinite, packed[i], LARGE_LEAST);
}

// A power of two up to 32 in FP16, twice.
HT_DEVICE unsigned f16_pair_of(int n)
{
    return 0x3c003c00u + (n > 16 ? 5u : n > 8 ? 4u : n > 4 ? 3u : n > 2 ? 2u : n > 1 ? 1u : 0u) * 0x04000400u;
}

// Whether it has met NaN or Inf: `nonfinite` is NaN there, else still 0.
HT_DEVICE bool has_nonfinite(const large_counts &large_count)
{
    return (large_count.nonfinite & 0x7c007c00u) != 0;
}

// Whether all of `elements` are large: mostly they are.
HT_DEVICE bool all_are_large(const large_counts &large_count, int elements)
{
    return large_count.count == f16_pair_of(elements / 2) && !has_nonfinite(large_count); //@mutate all-large
}
