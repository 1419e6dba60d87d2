// pack_rows: few short rows whole (ht_packs_rows), in schemes that scale them. A block takes 16 rows with all their k, so that it knows
// their largest magnitudes by itself. Elements wait for that in registers, ROWS_LOADS x 4 of a thread, all on their way from device
// memory at once. A load is 16 bytes of a lane in the direction in which the matrix is contiguous:
//
//   k contiguous      a load of a warp: 4 rows x 32 k, 8 lanes to a row; every fourth part of the block's warps has rows of its own
//   rows contiguous   four loads of a warp: 32 k x 16 rows, 4 lanes to a k; a lane's four k lie one after another
//
// So a thread comes to hold four k of a row, which in an atom are 16 bytes of a 32-bit slice, 8 of a 16-bit one, 4 of an 8-bit one:
// eight lanes store whole sectors of 32 bytes. Unrolled code that runs once takes long to be fetched: each four has 20 instructions
// (f16x3), and their places are offsets of constants.
constexpr int ROWS_OF_BLOCK = 16, ROW_BLOCKS = 4; // of a row block
constexpr int ROWS_LOADS = 16;
constexpr int ROWS_WARPS = 16;              // on an SM, by their registers
constexpr int ROWS_SEEN = 8 * ROWS_OF_BLOCK; // ints of shared memory: magnitudes in up to eight parts, then what they have seen
constexpr int ROWS_BYTES = 2 * ROWS_SEEN * 4;
constexpr int WORDS = SLICE_BYTES;          // of four k in a slice

// How a block of WARPS warps divides its rows: FAR k from a thread's load (where rows are contiguous: four) to its next.
template <bool K_CONTIGUOUS, int WARPS> struct rows_shape {
    static constexpr int HALVES = WARPS / 4; // warps that share rows where k is contiguous
    static constexpr int FAR = K_CONTIGUOUS ? HALVES * 32 : WARPS * 32;
    static constexpr int PER = K_CONTIGUOUS ? 1 : 4; // loads of the same four k, and rows of a thread
    static constexpr int PARTS = K_CONTIGUOUS ? HALVES : WARPS; // of a row, each of 8 lanes
};

// A block's place, and a thread's.
struct rows_place {
    const float *src, *from;          // from: the thread's first element
    unsigned char *to;                // where its first four k go, but for their chunk
    long long entry;
    int row0, row, k;                 // of the row block; of the thread in it, the first; the thread's first
    int chunk;                        // of its first row, as it is stored
    int padded;                       // k
    int part, leads;                  // of its rows' PARTS; whether it speaks for the lanes of the part
    unsigned room;                    // shared memory
};

template <bool K_CONTIGUOUS, int WARPS> HT_DEVICE rows_place find_rows(const ht_pack_args &g, long long entry)
{
    using shape = rows_shape<K_CONTIGUOUS, WARPS>;
    const int row_block = (int)blockIdx.x / ROW_BLOCKS, first = (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    rows_place at;
    at.entry = entry;
    at.src = g.src + entry * g.src_stride;
    at.row0 = row_block * 64;
    at.padded = k_tiles_of(g) * 64;
    at.row = first + (K_CONTIGUOUS ? warp / shape::HALVES * 4 + lane / 8 : lane % 4 * 4);
    at.k = K_CONTIGUOUS ? warp % shape::HALVES * 32 + lane % 8 * 4 : warp * 32 + lane / 4 * 4;
    at.from = at.src + (K_CONTIGUOUS ? (at.row0 + at.row) * g.ld + at.k : at.k * g.ld + at.row0 + at.row);
    at.to = g.panels + entry * g.panel_stride + (long long)row_block * g.k_blocks * 8192 + at.k / ATOM_K * (GROUP * 8192) +
            at.row * 128 + at.k % CHUNK_K * SLICE_BYTES;
    at.chunk = at.k % ATOM_K / CHUNK_K ^ (at.row & 7);
    at.part = K_CONTIGUOUS ? warp % shape::HALVES : warp;
    at.leads = K_CONTIGUOUS ? lane % 8 == 0 : lane < 4;
    at.room = ht_smem_base<ROWS_BYTES>();
    return at;
}

// Load i: its k from the thread's first on, and where it begins.
template <class SHAPE> HT_DEVICE int load_k(int i)
{
    return i / SHAPE::PER * SHAPE::FAR + i % SHAPE::PER;
}

template <class SHAPE> HT_DEVICE const float *load_from(const ht_pack_args &g, const rows_place &at, int i)
{
    return at.from + (SHAPE::PER == 1 ? load_k<SHAPE>(i) : load_k<SHAPE>(i) * g.ld);
}

// Where all rows are there and aligned: x[i] as it is loaded, zeros behind k.
template <class SHAPE> HT_DEVICE void load_rows(const ht_pack_args &g, const rows_place &at, uint4 *x)
{
    const int left = g.k - at.k;
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i++) {
        x[i] = make_uint4(0, 0, 0, 0);
        if (load_k<SHAPE>(i) < left)
            x[i] = ht_ldg16(load_from<SHAPE>(g, at, i));
    }
}

// Load i of a matrix that begins anywhere: where, at which word of 16 bytes, how many elements of its line are left, and whether both
// 16-byte pieces that it needs lie in the line.
struct ragged_four {
    const float *from;
    int first, left;
    bool wide;
};

template <class SHAPE> HT_DEVICE ragged_four find_four(const ht_pack_args &g, const rows_place &at, int i)
{
    const int k = at.k + load_k<SHAPE>(i), row = at.row0 + at.row, place = SHAPE::PER == 1 ? k : row;
    ragged_four r;
    r.from = load_from<SHAPE>(g, at, i);
    r.first = (int)((unsigned long long)r.from >> 2) & 3;
    r.left = SHAPE::PER == 1 ? row < g.rows ? g.k - k : 0 : k < g.k ? g.rows - row : 0;
    r.wide = place >= r.first && r.left >= 8 - r.first;
    return r;
}

// Anywhere: as load_ragged_tiles goes, four loads at a time.
template <class SHAPE> HT_DEVICE void load_ragged_rows(const ht_pack_args &g, const rows_place &at, uint4 *x)
{
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i += 4) {
        four_ahead ahead[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const ragged_four r = find_four<SHAPE>(g, at, i + j);
            ahead[j] = r.wide ? load_four(r.from, r.first) : four_ahead{};
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const ragged_four r = find_four<SHAPE>(g, at, i + j);
            x[i + j] = r.wide ? shifted(ahead[j], r.first) : load_some(r.from, r.left);
        }
    }
}

HT_DEVICE unsigned room_at(const rows_place &at, int kind, int part, int row)
{
    return at.room + (unsigned)(kind * ROWS_SEEN + part * ROWS_OF_BLOCK + row % ROWS_OF_BLOCK) * 4;
}

// Largest magnitudes of the thread's rows, as far as the lanes of its part know, into shared memory.
template <class SHAPE> HT_DEVICE void measure_rows(const rows_place &at, const uint4 *x)
{
    unsigned most[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i++) {
        if (SHAPE::PER == 1) {
            most[0] = larger_key(most[0], key_of_four(x[i]));
        } else {
            most[0] = larger_key(most[0], x[i].x * 2 + KEY_OF_ZERO);
            most[1] = larger_key(most[1], x[i].y * 2 + KEY_OF_ZERO);
            most[2] = larger_key(most[2], x[i].z * 2 + KEY_OF_ZERO);
            most[3] = larger_key(most[3], x[i].w * 2 + KEY_OF_ZERO);
        }
    }
#pragma unroll
    for (int j = 0; j < SHAPE::PER; j++) {
        for (int m = SHAPE::PER; m < SHAPE::PER * 8; m *= 2)
            most[j] = larger_key_across(most[j], m);
        if (at.leads)
            ht_sts4(room_at(at, 0, at.part, at.row + j), ht_as_float((unsigned)magnitude_of_key(most[j])));
    }
}

// Of one of the block's rows, from all parts.
template <class SHAPE> HT_DEVICE int magnitude_of_parts(const rows_place &at, int row)
{
    int most = 0;
#pragma unroll
    for (int p = 0; p < SHAPE::PARTS; p++)
        most = larger(most, (int)ht_as_uint(ht_lds4(room_at(at, 0, p, row))));
    return most;
}

HT_DEVICE unsigned word_of(uint4 v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Four k, `k` behind the thread's first, of its row j, in all slices. All that moves a chunk within a row is a power of two that the
// thread's own chunk has not: exclusive or adds it.
template <int CHECK>
HT_DEVICE void write_four(const rows_place &at, int j, int k, uint4 four, float factor, pack_tally *tally)
{
    const unsigned bits[4] = {four.x, four.y, four.z, four.w};
    unsigned packed[SLICES][WORDS];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        unsigned slice[SLICES];
        ht_split(__fmul_rn(ht_as_float(bits[e]), factor), slice);
        for (int s = 0; s < SLICES; s++)
            packed[s][e / WORD_K] = e % WORD_K ? packed[s][e / WORD_K] | slice[s] << (e % WORD_K * SLICE_BYTES * 8) : slice[s];
    }
    for (int i = 0; CHECK > 0 && i < WORDS; i++)
        ht_tally_f16x2(&tally->count, &tally->odd, packed[0][i], TALLY_LEAST);
    for (int s = 0; s < SLICES; s++) {
        const int chunk = at.chunk ^ j ^ k % ATOM_K / CHUNK_K ^ s % ATOM_SLICES * ATOM_CHUNKS;
        unsigned char *to = at.to + chunk * 16 + (k / ATOM_K * GROUP + s / ATOM_SLICES) * 8192 + j * 128;
        const unsigned *w = packed[s];
        if (WORDS == 1)
            ht_stg_i32((int *)to, (int)w[0]);
        else if (WORDS == 2)
            ht_stg8(to, w[0], w[WORDS - 1]);
        else
            ht_stg16(to, make_uint4(w[0], w[WORDS / 4], w[WORDS / 2], w[WORDS - 1]));
    }
}

// Scales and writes what a thread holds, and leaves what it has seen of its rows beside their magnitudes.
template <class SHAPE, int CHECK> HT_DEVICE void write_rows(const ht_pack_args &g, const rows_place &at, const uint4 *x)
{
    constexpr int PER = SHAPE::PER;
    float factor[PER];
    pack_tally tally[PER] = {};
#pragma unroll
    for (int j = 0; j < PER; j++) {
        const int most = magnitude_of_parts<SHAPE>(at, at.row + j);
        factor[j] = ht_pow2(-ht_row_exponent(most));
        if (at.k < 4)
            ht_stg_i32(g.exponents + at.entry * g.exponent_stride + at.row0 + at.row + j, most);
    }
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i += PER) {
        const int k = load_k<SHAPE>(i);
        if (k < at.padded - at.k) {
#pragma unroll
            for (int j = 0; j < PER; j++) {
                const uint4 turned = make_uint4(word_of(x[i], j), word_of(x[i + PER / 4], j), word_of(x[i + PER / 2], j),
                                                word_of(x[i + PER - 1], j));
                write_four<CHECK>(at, j, k, PER == 1 ? x[i] : turned, factor[j], tally + j);
            }
        }
    }
#pragma unroll
    for (int j = 0; CHECK > 0 && j < PER; j++) {
        int seen = seen_by(tally[j]);
        for (int m = PER; m < PER * 8; m *= 2)
            seen += ht_shfl_xor(seen, m);
        if (at.leads)
            ht_sts4(room_at(at, 1, at.part, at.row + j), ht_as_float((unsigned)seen));
    }
}

// The block's number for the data check, by its first warp: a row a lane, twice (of 64 lanes four times).
template <class SHAPE> HT_DEVICE void store_tame_rows(const ht_pack_args &g, const rows_place &at)
{
    const int row = (int)threadIdx.x % ROWS_OF_BLOCK, first = at.row0 + (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK;
    int seen = 0;
    for (int p = 0; p < SHAPE::PARTS; p++)
        seen += (int)ht_as_uint(ht_lds4(room_at(at, 1, p, row)));
    const int count = first + row < g.rows ? count_of(seen) : g.k; // rows beyond the matrix do not matter
    unsigned both = (unsigned)(count - NONFINITE) * 2 + (magnitude_of_parts<SHAPE>(at, row) != 0), least = both;
    for (int m = 1; m < ROWS_OF_BLOCK; m *= 2) {
        const unsigned other = (unsigned)ht_shfl_xor((int)least, m);
        least = other < least ? other : least;
        both |= (unsigned)ht_shfl_xor((int)both, m);
    }
    if (threadIdx.x == 0)
        store_number(g, g.tame + at.entry * g.tame_stride + blockIdx.x, least, both & 1, g.k);
}

template <bool K_CONTIGUOUS, int WARPS, int CHECK> HT_DEVICE void pack_these_rows(const ht_pack_args &g, long long entry)
{
    using shape = rows_shape<K_CONTIGUOUS, WARPS>;
    const rows_place at = find_rows<K_CONTIGUOUS, WARPS>(g, entry);
    const bool whole = is_aligned(g, at.src) && at.row0 + (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK + ROWS_OF_BLOCK <= g.rows;
    uint4 x[ROWS_LOADS];
    if (whole && (!K_CONTIGUOUS || g.k % 4 == 0))
        load_rows<shape>(g, at, x);
    else
        load_ragged_rows<shape>(g, at, x);
    measure_rows<shape>(at, x);
    ht_barrier();
    write_rows<shape, CHECK>(g, at, x);
    if (CHECK == 0)
        return;
    ht_barrier();
    if (threadIdx.x < WAVE) // of 64 lanes, too, all must come to a shuffle
        store_tame_rows<shape>(g, at);
}

template <int WARPS, int CHECK>
static __global__ void __launch_bounds__(WARPS * 32, ht_bound(WARPS * 32, ROWS_WARPS / WARPS))
    pack_rows(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= row_blocks_of(g) * ROW_BLOCKS)
        return; // the other operand has more
    ht_grid_wait();
    ht_grid_release();
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    if (g.k_contiguous)
        pack_these_rows<true, WARPS, CHECK>(g, entry);
    else
        pack_these_rows<false, WARPS, CHECK>(g, entry);
}

// Shared memory with which no more blocks fit an SM than an even share of all: a launch finds SMs as its predecessor's blocks leave them,
// and the first would take twice as much as the last.
static int even_share(long long blocks)
{
    const long long share = (blocks + SMS - 1) / SMS, bytes = SMEM_PER_SM / share - SMEM_RESERVED;
    return (int)(bytes > SMEM_PER_BLOCK ? SMEM_PER_BLOCK : bytes < ROWS_BYTES ? ROWS_BYTES : bytes);
}

template <int WARPS, int CHECK>
static int launch_warps(const pack_pair &p, unsigned blocks, unsigned batch, int smem_bytes, void *stream)
{
    const int code = ht_allow_smem(pack_rows<WARPS, CHECK>, SMEM_PER_BLOCK);
    return code != 0 ? code
                     : ht_launch_dependent(pack_rows<WARPS, CHECK>, blocks, 1, batch, WARPS * 32, smem_bytes, stream, p);
}

// Of 4 warps up to 8 tiles of 64 k, of 8 all that ht_packs_rows lets come; such calls never copy the matrix.
template <int CHECK>
static int launch_rows(const pack_pair &p, long long row_blocks, unsigned blocks, unsigned batch, void *stream)
{
    const int smem_bytes = even_share(row_blocks * ROW_BLOCKS);
    return p.k_tiles > 8 ? launch_warps<8, CHECK>(p, blocks, batch, smem_bytes, stream)
                         : launch_warps<4, CHECK>(p, blocks, batch, smem_bytes, stream);
}
