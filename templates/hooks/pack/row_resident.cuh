// pack/row_resident: rows whole, in schemes that scale them: few short ones (ht_pack_mode), and what packing by strips takes whole. A block takes 16
// rows, or fewer longer ones, with all their k, so that it knows their absmax by itself. Elements wait for that in registers,
// LOADS x 4 of a thread, all in flight from device memory at once. A load is 16 bytes of a lane in the direction in which the matrix is
// contiguous:
//
//   k contiguous      8 lanes to a row, 4 rows a warp (of fewer rows all 32); a lane has up to 8 k in sequence, two loads
//   rows contiguous   4 rows a lane, 4 or 8 lanes to a k; a lane's next loads are the next k, as many as 16 bytes of a slice have
//
// So a thread comes to hold runs of k, in one row or in four: each store is 8 or 16 bytes of a lane, and neighbouring lanes store 64 or
// 128 bytes of a row. Unrolled code that runs once takes long to be fetched: places are offsets of constants.
constexpr int ROWS_OF_BLOCK = 16, ROW_BLOCKS = 4; // of a row block
constexpr int ROWS_LOADS = 16, FEW_LOADS = 8; // the latter up to 512 k: half as much code, which one pass fetches cold
constexpr int ROWS_WARPS = 8, SM_WARPS = 16;  // of a block; on an SM, by their registers

// How a block of WARPS warps divides ROWS rows, each thread with LOADS loads. A run: k of a thread, one after another.
template <bool K_MAJOR, int WARPS, int ROWS, int NUMBER> struct rows_shape {
    static constexpr bool BY_K = K_MAJOR;
    static constexpr int HEIGHT = ROWS, LOADS = NUMBER;
    static constexpr int LANES = K_MAJOR ? (ROWS < 4 ? ROWS : 4) : ROWS / 4; // lanes of a load across rows
    static constexpr int ALONG = 32 / LANES;                  // and along k
    static constexpr int STEP = K_MAJOR ? 1 : LANES;     // from a lane to its neighbour along k
    static constexpr int PARTS = K_MAJOR && ROWS > 4 ? WARPS / (ROWS / 4) : WARPS; // of a row, each of ALONG lanes: warps that share it
    static constexpr int LOAD_K = K_MAJOR ? 4 : 1;       // of a load
    static constexpr int RUN = CHUNK_K > 8 && (K_MAJOR || LOADS < CHUNK_K) ? 8 : CHUNK_K; // k
    static constexpr int RUN_LOADS = RUN / LOAD_K, RUNS = LOADS / RUN_LOADS;
    static constexpr int FAR = PARTS * ALONG * RUN;           // k from a thread's run to its next
    static constexpr int PER = K_MAJOR ? 1 : 4;          // rows of a thread
};

// A block's place, and a thread's.
struct rows_tile {
    const float *src, *from;          // from: the thread's first element
    unsigned char *to;                // where its first run goes, but for its chunk
    long long entry;
    int row0, row, k;                 // of the block; of the thread in its row block, the first; the thread's first
    int chunk;                        // of its first row, as it is stored
    int padded;                       // k
    int part, leads;                  // of its rows' PARTS; whether it speaks for the lanes of the part
    unsigned room;                    // shared memory
};

// Numbers for each row in shared memory: what parts of it have measured; what they have seen for the certificate; what others have found.
constexpr int ROOM_MEASURED = 0, ROOM_SEEN = 1, ROOM_OTHERS = 2;
constexpr int ROOM_PARTS = 8;

template <class SHAPE> HT_DEVICE unsigned room_at(const rows_tile &at, int kind, int part, int row)
{
    return at.room + (unsigned)((kind * ROOM_PARTS + part) * SHAPE::HEIGHT + row % SHAPE::HEIGHT) * 4;
}

constexpr int ROWS_BYTES = 2 * ROOM_PARTS * ROWS_OF_BLOCK * 4;

// Of the rows from row0 on, k from k0 on.
template <class SHAPE> HT_DEVICE rows_tile find_rows(const ht_pack_args &g, long long entry, int row0, int k0)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    rows_tile at;
    at.entry = entry;
    at.src = g.src + entry * g.src_stride;
    at.row0 = row0;
    at.padded = only_measures(g) ? 0 : k_tiles_of(g) * 64;
    at.part = SHAPE::BY_K ? warp % SHAPE::PARTS : warp;
    at.row = row0 % 64 + (SHAPE::BY_K ? warp / SHAPE::PARTS * 4 + lane / SHAPE::ALONG : lane % SHAPE::LANES * 4); //@mutate find-rows
    at.k = k0 + (at.part * SHAPE::ALONG + (SHAPE::BY_K ? lane % SHAPE::ALONG : lane / SHAPE::LANES)) * SHAPE::RUN;
    at.leads = SHAPE::BY_K ? lane % SHAPE::ALONG == 0 : lane < SHAPE::LANES;
    const int row_block = row0 / 64;
    const long long row = row_block * 64 + at.row;
    at.from = at.src + (SHAPE::BY_K ? row * g.ld + at.k : at.k * g.ld + row);
    at.to = g.to.panels + entry * g.to.stride + ((long long)row_block * g.k_blocks + at.k / ATOM_K * GROUP) * 8192 + at.row * 128 +
            at.k % CHUNK_K * SLICE_BYTES;
    at.chunk = at.k % ATOM_K / CHUNK_K ^ (at.row & 7);
    return at;
}

// Load i: its k from the thread's first on, and where it begins.
template <class SHAPE> HT_DEVICE int load_k(int i)
{
    return i / SHAPE::RUN_LOADS * SHAPE::FAR + i % SHAPE::RUN_LOADS * SHAPE::LOAD_K;
}

template <class SHAPE> HT_DEVICE const float *load_from(const ht_pack_args &g, const rows_tile &at, int i)
{
    return at.from + (SHAPE::BY_K ? load_k<SHAPE>(i) : load_k<SHAPE>(i) * g.ld);
}

// Where all rows are there and aligned: x[i] as it is loaded. INSIDE: all k are there as well; else zeros behind them.
template <class SHAPE, bool INSIDE> HT_DEVICE void load_rows(const ht_pack_args &g, const rows_tile &at, bool passes, uint4 *x)
{
    const int left = g.k - at.k;
    const unsigned long long policy = ht_l2_policy(passes);
#pragma unroll
    for (int i = 0; i < SHAPE::LOADS; i++) {
        if (!INSIDE)
            x[i] = make_uint4(0, 0, 0, 0);
        if (INSIDE || load_k<SHAPE>(i) < left)
            x[i] = ht_ldg16_by(load_from<SHAPE>(g, at, i), policy);
    }
}

// Anywhere, element by element: all are in flight at once, and each goes where it stays. Those of a line are neighbours in time as well,
// so L1 has the others when the first has come.
template <class SHAPE> HT_DEVICE void load_ragged_rows(const ht_pack_args &g, const rows_tile &at, uint4 *x)
{
    const int row = at.row0 / 64 * 64 + at.row;
#pragma unroll
    for (int i = 0; i < SHAPE::LOADS; i++) {
        const int k = g.k - at.k - load_k<SHAPE>(i), rows = g.rows - row; // there, from here on
        x[i] = load_guarded(load_from<SHAPE>(g, at, i), SHAPE::BY_K ? rows > 0 ? k : 0 : k > 0 ? rows : 0); //@mutate load-ragged-rows
    }
}

// Absmax of the thread's rows, as far as the lanes of its part know, into shared memory.
template <class SHAPE> HT_DEVICE void measure_rows(const rows_tile &at, const uint4 *x)
{
    unsigned most[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < SHAPE::LOADS; i++) {
        if (SHAPE::BY_K) {
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
        for (int m = SHAPE::STEP; m < SHAPE::STEP * SHAPE::ALONG; m *= 2)
            most[j] = larger_key_across(most[j], m);
        if (at.leads)
            ht_sts4(room_at<SHAPE>(at, ROOM_MEASURED, at.part, at.row + j), ht_as_float((unsigned)magnitude_of_key(most[j])));
    }
}

// Of one of the block's rows, from all parts.
template <class SHAPE, int KIND, int PARTS> HT_DEVICE int magnitude_of_parts(const rows_tile &at, int row)
{
    int most = 0;
#pragma unroll
    for (int p = 0; p < PARTS; p++) //@mutate magnitude-of-parts
        most = larger(most, (int)ht_as_uint(ht_lds4(room_at<SHAPE>(at, KIND, p, row))));
    return most;
}

HT_DEVICE unsigned word_of(uint4 v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Run `run` of the thread's row j, from the loads that hold it, in all slices. All that moves a chunk within a row is a power of two that
// the thread's own chunk has not: exclusive or adds it.
template <class SHAPE, int CHECK>
HT_DEVICE void write_run(const rows_tile &at, int j, int run, const uint4 *x, float factor, large_counts *large_count)
{
    constexpr int WORDS = SHAPE::RUN * SLICE_BYTES / 4; // of the run in a slice: 2 or 4
    const int k = run * SHAPE::FAR;
    unsigned packed[SLICES][WORDS];
#pragma unroll
    for (int e = 0; e < SHAPE::RUN; e += 4) {
        float four[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const uint4 load = x[run * SHAPE::RUN_LOADS + (e + q) / SHAPE::LOAD_K];
            four[q] = scaled(word_of(load, SHAPE::BY_K ? q : j), factor);
        }
        ht_split_four<WORDS>(packed, e / 4 * SLICE_BYTES, four);
    }
    observe_slices<CHECK, WORDS>(packed[0], large_count);
    for (int s = 0; s < SLICES; s++) {
        const int chunk = at.chunk ^ j ^ k % ATOM_K / CHUNK_K ^ s % ATOM_SLICES * ATOM_CHUNKS;
        unsigned char *to = at.to + chunk * 16 + (k / ATOM_K * GROUP + s / ATOM_SLICES) * 8192 + j * 128;
        const unsigned *w = packed[s];
        if (WORDS == 2)
            ht_stg8(to, w[0], w[1]);
        else
            ht_stg16(to, make_uint4(w[0], w[1], w[WORDS / 2], w[WORDS - 1]));
    }
}

// Row j's elements of loads i to i + 3; zeros for those that are not there.
template <class SHAPE> HT_DEVICE uint4 across(const uint4 *x, int i, int j)
{
    return i < SHAPE::LOADS ? make_uint4(word_of(x[i], j), word_of(x[i + 1], j), word_of(x[i + 2], j), word_of(x[i + 3], j)) : make_uint4(0, 0, 0, 0);
}

// What the thread has seen in its elements of row j.
template <class SHAPE> HT_DEVICE unsigned seen_in_row(int j, const uint4 *x, float factor, const large_counts &large_count, unsigned small)
{
    constexpr int ELEMENTS = SHAPE::RUNS * SHAPE::RUN;
    unsigned seen = has_nonfinite(large_count) ? NONFINITE : 0;
    if (all_are_large(large_count, ELEMENTS))
        return ELEMENTS * COUNTED;
#pragma unroll
    for (int i = 0; i < SHAPE::LOADS; i += 4) {
        if (SHAPE::BY_K)
            seen += seen_in_some(x[i], x[i + 1], x[i + 2], x[i + 3], factor, small);
    }
    return SHAPE::BY_K ? seen : seen + seen_in_some(across<SHAPE>(x, 0, j), across<SHAPE>(x, 4, j), across<SHAPE>(x, 8, j), across<SHAPE>(x, 12, j), factor, small);
}

// Scales and writes what a thread holds, and leaves what it has seen of its rows beside their magnitudes, which KIND and PARTS tell.
template <class SHAPE, int CHECK, int KIND, int PARTS>
HT_DEVICE void write_rows(const ht_pack_args &g, const rows_tile &at, const uint4 *x)
{
#pragma unroll
    for (int j = 0; j < SHAPE::PER; j++) { // row by row: factors and tallies of all would not fit the registers
        const int most = common_absmax(g, at.row0 / 64 * 64 + at.row + j, magnitude_of_parts<SHAPE, KIND, PARTS>(at, at.row + j));
        const int exponent = ht_row_exponent(most);
        const float factor = ht_pow2(-exponent);
        large_counts large_count = {0, 0};
        if (at.k < SHAPE::RUN && has_absmax(g, at.row0 / 64 * 64 + at.row + j))
            ht_stg_i32(g.to.row_absmax + at.entry * g.to.absmax_stride + at.row0 / 64 * 64 + at.row + j, most);
#pragma unroll
        for (int i = 0; i < SHAPE::RUNS; i++) {
            if (i * SHAPE::FAR < at.padded - at.k) //@mutate write-rows
                write_run<SHAPE, CHECK>(at, j, i, x, factor, &large_count);
        }
        if (CHECK == 0)
            continue;
        unsigned seen = seen_in_row<SHAPE>(j, x, factor, large_count, key_of_limit(exponent));
        for (int m = SHAPE::STEP; m < SHAPE::STEP * SHAPE::ALONG; m *= 2)
            seen += (unsigned)ht_shfl_xor((int)seen, m);
        if (at.leads)
            ht_sts4(room_at<SHAPE>(at, ROOM_SEEN, at.part, at.row + j), ht_as_float(seen));
    }
}

// Of a row, what all parts have seen.
template <class SHAPE> HT_DEVICE seen_of_row seen_by_parts(const rows_tile &at, int row)
{
    seen_of_row seen = {0, 0, false};
    for (int p = 0; p < SHAPE::PARTS; p++) //@mutate sum-of-parts
        add_part(&seen, ht_as_uint(ht_lds4(room_at<SHAPE>(at, ROOM_SEEN, p, row))));
    return seen;
}

// The block's sums, by its first warp: a row a lane. MEASURED, PARTS: where the rows' absmax over all of k lie; piece: of `pieces` of k.
template <class SHAPE, int MEASURED, int PARTS> HT_DEVICE void store_row_sums(const ht_pack_args &g, const rows_tile &at, int pieces, int piece)
{
    const int row = (int)threadIdx.x % SHAPE::HEIGHT;
    const seen_of_row seen = seen_by_parts<SHAPE>(at, row);
    const bool live = piece == 0 && magnitude_of_parts<SHAPE, MEASURED, PARTS>(at, row) != 0;
    int products = products_of(seen, live);
    if ((int)threadIdx.x < SHAPE::HEIGHT)
        store_row_sum(g, at.entry, at.row0 + row, pieces, seen);
    for (int m = 1; m < SHAPE::HEIGHT; m *= 2)
        products += ht_shfl_xor(products, m);
    if (threadIdx.x == 0)
        store_products(g, at.entry, at.row0, SHAPE::HEIGHT, pieces, products);
    if (threadIdx.x == 0 && at.row0 == 0 && piece == 0)
        begin_flags(g);
}

// What a thread holds, from the matrix. k0: where the block begins.
template <class SHAPE> HT_DEVICE void load_held(const ht_pack_args &g, const rows_tile &at, int k0, bool passes, uint4 *x)
{
    const bool whole = is_aligned(g, at.src) && at.row0 + SHAPE::HEIGHT <= g.rows && (!SHAPE::BY_K || g.k % 4 == 0); //@mutate load-held
    if (whole && g.k - k0 >= SHAPE::RUNS * SHAPE::FAR)
        load_rows<SHAPE, true>(g, at, passes, x);
    else if (whole)
        load_rows<SHAPE, false>(g, at, passes, x);
    else
        load_ragged_rows<SHAPE>(g, at, x);
}

// ROWS whole rows.
template <bool K_MAJOR, int ROWS, int LOADS, int CHECK>
HT_DEVICE void pack_these_rows(const ht_pack_args &g, long long entry, bool passes)
{
    static_assert(CHECK == 0 || ROWS == ROWS_OF_BLOCK, "sums have a number for each 16 rows");
    using shape = rows_shape<K_MAJOR, ROWS_WARPS, ROWS, LOADS>;
    rows_tile at = find_rows<shape>(g, entry, (int)blockIdx.x * ROWS, 0);
    at.room = ht_smem_base<ROWS_BYTES>();
    uint4 x[LOADS];
    ht_pdl_wait(); // behind all that needs no memory
    ht_pdl_trigger();
    load_held<shape>(g, at, 0, passes, x);
    measure_rows<shape>(at, x);
    ht_barrier();
    write_rows<shape, CHECK, ROOM_MEASURED, shape::PARTS>(g, at, x);
    if (CHECK == 0)
        return;
    ht_barrier();
    if (threadIdx.x < WAVE) // of 64 lanes, too, all must come to a shuffle
        store_row_sums<shape, ROOM_MEASURED, shape::PARTS>(g, at, 1, 0);
}

// Three blocks of FEW_LOADS an SM: 80 registers, so that a block of a small product fits beside one.
template <int LOADS, int CHECK>
static __global__ void __launch_bounds__(ROWS_WARPS * 32, ht_bound(ROWS_WARPS * 32, (LOADS == FEW_LOADS ? 3 : SM_WARPS / ROWS_WARPS) - FEWER_BLOCKS))
    pack_rows(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= row_blocks_of(g) * ROW_BLOCKS)
        return; // the other operand has more
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    if (g.k_contiguous)
        pack_these_rows<true, ROWS_OF_BLOCK, LOADS, CHECK>(g, entry, false);
    else
        pack_these_rows<false, ROWS_OF_BLOCK, LOADS, CHECK>(g, entry, false);
}

// The least shared memory with which no more blocks fit an SM than an even share of all: a launch finds SMs as its predecessor's blocks
// leave them, and the first would take twice as much as the last. The least, so that small blocks of the product fit beside.
static int smem_for_even_spread(long long blocks)
{
    const long long share = (blocks + SMS - 1) / SMS, bytes = SMEM_PER_SM / (share + 1) + 1;
    return (int)(bytes > SMEM_PER_BLOCK ? SMEM_PER_BLOCK : bytes < ROWS_BYTES ? ROWS_BYTES : bytes);
}

template <int CHECK> static int init_rows(void)
{
    const int code = ht_prefer_smem(pack_rows<FEW_LOADS, CHECK>, SMEM_PER_BLOCK);
    return code != 0 ? code : ht_prefer_smem(pack_rows<ROWS_LOADS, CHECK>, SMEM_PER_BLOCK);
}

// Up to 8 tiles of 64 k, and all else that ht_pack_mode lets come; such calls never copy the matrix.
template <int CHECK>
static int launch_rows(const pack_pair &p, long long row_blocks, unsigned blocks, unsigned batch, void *stream)
{
    const int smem_bytes = smem_for_even_spread(row_blocks * ROW_BLOCKS);
    return p.k_tiles > 8 ? ht_launch_dependent(pack_rows<ROWS_LOADS, CHECK>, blocks, 1, batch, ROWS_WARPS * 32, smem_bytes, stream, p)
                         : ht_launch_dependent(pack_rows<FEW_LOADS, CHECK>, blocks, 1, batch, ROWS_WARPS * 32, smem_bytes, stream, p);
}
