#include "../samples/mma_warp.h" //@drop
#include "../hooks/pack/split_f32x4.cuh" //@drop
#include "../hooks/pack/common.cuh" //@drop
#include "../hooks/pack/row_sums.cuh" //@drop
#include "../hooks/pack/absmax_exchange.cuh" //@drop
#include "../hooks/pack/outlier_tiles.cuh" //@drop
#include "../hooks/pack/row_resident.cuh" //@drop
#include "../hooks/pack/strip_32x512.cuh" //@drop
// ---- packing: one or two operands into panel atoms in one launch -------------------------------------------------
// A block takes a tile of 64 rows x 64 k of the user's matrix, in whichever direction it is contiguous, to shared memory
// and writes it out split and swizzled into atoms of 64 rows x 128 bytes. Rows and k beyond the matrix become zeros. Atoms
// are ordered row block, k block of ATOM_K, group of ATOM_SLICES slices, which are contiguous in an atom's rows:
//
//   two 16-bit slices, ATOM_SLICES 2:     [ 32 hi | 32 lo ]      16-byte chunk c of row r is stored as chunk c ^ (r & 7)
//   three 8-bit slices, ATOM_SLICES 1:    [ 128 first digits ], atom of the second digits, atom of the third
//
// Schemes that scale rows must know a row's absmax before its first element can be written, and reading the
// matrix twice from device memory would cost half again as much. So a block keeps PACK_TILES tiles in shared memory,
// publishes what it measured, and collects what the other blocks of its row block published:
//
//   row block r, of P blocks:  [ block rP: load, publish, collect, write ][ block rP+1: load, ... ]  ...  [ block rP+P-1 ]
//
// They have neighbouring numbers and run together, so the wait is short. It is also bounded: should the others not
// get a place on the GPU (many such kernels at once), a block measures the whole rows by itself and goes on.
// Few rows of some hundred k are packed whole instead (pack_rows), everything longer than 256 k by strips or, where k is contiguous, a
// few whole rows a block (pack_strips): these tiles are for schemes that scale nothing, short k, and operands that carry a copy of the
// matrix or are checked alone.
// CHECK 1 also adds up, for the certificate, what each row loses (pack/row_sums); CHECK 2 copies the matrix as well, for products of packed
// operands.
constexpr int PACK_BLOCKS = 4;                                   // on an SM, by their registers, as ht_pack_tiles counts on
constexpr int COPY_BLOCKS = 2;                                   // those that copy the matrix as well
constexpr int TILE_BYTES = 64 * 64 * 4;
// Numbers for each row: this block's, in up to eight parts; what the quarters of the block have collected from all pieces;
// what the eight parts come to.
constexpr int ROOM_FOUND = 8, ROOM_OWN = ROOM_FOUND + 4, ROOM_BYTES = (ROOM_OWN + 1) * 64 * 4;
constexpr int TILE_CHUNKS = 64 / CHUNK_K;                       // chunks of one slice in a tile's row
constexpr int RUN = ATOM_CHUNKS < TILE_CHUNKS ? ATOM_CHUNKS : TILE_CHUNKS; // of them, those in one atom
constexpr int UNITS = 64 * TILE_CHUNKS / PACK_THREADS;          // chunks of all slices that a thread writes for a tile
constexpr int ROWS = 64 * RUN / PACK_THREADS;                   // rows that a thread writes of each tile
constexpr int LANES = RUN;                                      // neighbouring lanes that write one row
constexpr int CLEANED = 4;                                      // ints that one thread makes clean
constexpr int PREFETCH_LOADS = 1;                                  // tiles under way from device memory
constexpr int HT_NAN_SCALE = 0x7fffffff;                        // of a tile with NaN or Inf, as bits: its results become NaN
static_assert(!SCALES_TILES || (PACK_TILES == 1 && UNITS == 1 && CHUNK_K == 16), "scale_tile: a tile, in which a thread has one chunk");

// Everything a block must know about its place.
struct pack_tile {
    const float *src;
    int *exponents;
    float *copy;                           // with CHECK 2: of this row block
    int copy_ld;
    absmax_exchange exchange;                  // of this row block
    int row_blocks, row_block, row0, rows; // rows: those left from row0 on
    int k_tile, tiles;
    unsigned tile, room;                   // shared memory: tiles, and numbers for each row
};

HT_DEVICE pack_tile find_tile(const ht_pack_args &g, long long entry, int tiles, int pieces)
{
    pack_tile at;
    const int k_tiles = k_tiles_of(g);
    at.src = g.src + entry * g.src_stride;
    at.exponents = g.to.row_absmax + entry * g.to.absmax_stride;
    at.exchange.pieces = pieces;
    at.exchange.piece_k = tiles * 64;
    at.row_blocks = row_blocks_of(g);
    at.row_block = (int)blockIdx.x / pieces;
    at.row0 = at.row_block * 64;
    at.rows = g.rows - at.row0;
    at.exchange.piece = (int)blockIdx.x - at.row_block * pieces;
    at.k_tile = at.exchange.piece * tiles;
    at.copy_ld = k_tiles * 64;
    at.copy = g.copy + entry * g.copy_stride + (long long)at.row0 * at.copy_ld;
    at.tiles = k_tiles - at.k_tile < tiles ? k_tiles - at.k_tile : tiles;
    at.exchange.published = exchange_of(g, entry) + (long long)at.row_block * pieces * 64;
    at.exchange.arrived = exchange_of(g, entry) + (long long)at.row_blocks * pieces * 64 + at.row_block;
    at.tile = ht_smem_base<PACK_TILES * TILE_BYTES + ROOM_BYTES>();
    at.room = at.tile + (unsigned)(tiles * TILE_BYTES);
    return at;
}

// Where four k from k4 * 4 on of a row lie in a tile: 16-byte units of a row, exchanged so that neither 8 rows 4 apart
// (stores of row-contiguous matrices) nor two neighbouring rows with every other unit (loads of write_chunk) meet in a bank.
HT_DEVICE unsigned unit_at(int row, int k4)
{
    return (unsigned)(row * 256 + (k4 ^ (row >> 2 & 7) ^ (row & 1)) * 16);
}

// The 4 x 4 elements of a thread into one tile, as four rows of four k, and the rows' absmax so far.
// k contiguous: x[i] is row slow + 16 i, k fast .. fast + 3; else x[i] is k 4 slow + i, rows fast .. fast + 3.
template <bool K_MAJOR> HT_DEVICE void store_block(unsigned tile, const uint4 *x, int fast, int slow, unsigned *most)
{
    if (K_MAJOR) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            ht_sts16(tile + unit_at(slow + i * 16, fast / 4), x[i]);
            if (SCALES_ROWS)
                most[i] = larger_key(most[i], key_of_four(x[i]));
        }
    } else {
        const uint4 transposed[4] = {make_uint4(x[0].x, x[1].x, x[2].x, x[3].x), make_uint4(x[0].y, x[1].y, x[2].y, x[3].y),
                                 make_uint4(x[0].z, x[1].z, x[2].z, x[3].z), make_uint4(x[0].w, x[1].w, x[2].w, x[3].w)};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            ht_sts16(tile + unit_at(fast + i, slow), transposed[i]);
            if (SCALES_ROWS)
                most[i] = larger_key(most[i], key_of_four(transposed[i]));
        }
    }
}

// What the threads have found to be their rows' absmax into at.room; in how many parts.
template <bool K_MAJOR> HT_DEVICE int leave_magnitudes(const pack_tile &at, unsigned *most)
{
    const int fast = (int)threadIdx.x % 16 * 4, slow = (int)threadIdx.x / 16, lane = (int)threadIdx.x % 32;
    if (!SCALES_ROWS)
        return 0;
    // k contiguous: a row's 16 threads are neighbours; else a row has two in each of the eight warps
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (K_MAJOR) {
            most[i] = larger_key_across(most[i], 8);
            most[i] = larger_key_across(most[i], 4);
            most[i] = larger_key_across(most[i], 2);
            most[i] = larger_key_across(most[i], 1);
        } else {
            most[i] = larger_key_across(most[i], 16);
        }
    }
    if (K_MAJOR ? lane % 16 == 0 : lane < 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = K_MAJOR ? slow + i * 16 : (int)threadIdx.x / 32 * 64 + fast + i;
            ht_sts4(at.room + (unsigned)row * 4, ht_as_float((unsigned)magnitude_of_key(most[i])));
        }
    }
    return K_MAJOR ? 1 : 8;
}

// Tiles into shared memory where everything lies inside the matrix and is aligned: 16-byte loads along the contiguous
// direction, PREFETCH_LOADS tiles ahead of the stores. Leaves the rows' absmax in at.room, returns in how many parts.
template <bool K_MAJOR> HT_DEVICE int load_whole_tiles(const ht_pack_args &g, const pack_tile &at)
{
    const int fast = (int)threadIdx.x % 16 * 4, slow = (int)threadIdx.x / 16;
    const long long step = K_MAJOR ? 16 * g.ld : g.ld;                          // from x[i] to x[i + 1]
    const long long tile_step = K_MAJOR ? 64 : 64 * g.ld;
    const float *corner = K_MAJOR ? at.src + (at.row0 + slow) * g.ld + at.k_tile * 64 + fast
                                       : at.src + at.row0 + fast + (at.k_tile * 64 + slow * 4) * g.ld;
    uint4 x[PREFETCH_LOADS + 1][4];
    unsigned most[4] = {0, 0, 0, 0};
#pragma unroll
    for (int t = 0; t < PREFETCH_LOADS; t++) {
        if (t < at.tiles) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[t][i] = ht_ldg16(corner + t * tile_step + i * step);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < PACK_TILES; t++) {
        if (t + PREFETCH_LOADS < at.tiles) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[(t + PREFETCH_LOADS) % (PREFETCH_LOADS + 1)][i] = ht_ldg16(corner + (t + PREFETCH_LOADS) * tile_step + i * step);
            }
        }
        if (t < at.tiles)
            store_block<K_MAJOR>(at.tile + t * TILE_BYTES, x[t % (PREFETCH_LOADS + 1)], fast, slow, most);
    }
    return leave_magnitudes<K_MAJOR>(at, most);
}

// Four elements of a line, in flight: the two aligned 16-byte pieces that they lie in. A line is the direction in which
// the matrix is contiguous.
struct misaligned_vec4 {
    uint4 low, high;
};

// From word `first` of a piece on. Both pieces must lie in the line; the second is not read where the first has all.
HT_DEVICE misaligned_vec4 load_four(const float *p, int first)
{
    misaligned_vec4 x;
    x.low = ht_ldg16(p - first);
    x.high = first != 0 ? ht_ldg16(p - first + 4) : x.low;
    return x;
}

HT_DEVICE uint4 shifted(const misaligned_vec4 &x, int first)
{
    const bool by_two = (first & 2) != 0, by_one = (first & 1) != 0;
    const unsigned a = by_two ? x.low.z : x.low.x, b = by_two ? x.low.w : x.low.y, c = by_two ? x.high.x : x.low.z,
                   d = by_two ? x.high.y : x.low.w, e = by_two ? x.high.z : x.high.x; //@mutate shifted
    return make_uint4(by_one ? b : a, by_one ? c : b, by_one ? d : c, by_one ? e : d);
}

// The same at edges and for any alignment, zeros beyond the matrix. Lines are misaligned in 16 bytes, each elsewhere. No
// element outside a line is read, though it may lie in the same 16 bytes: tiles at the ends of lines are read one by one.
template <bool K_MAJOR> HT_DEVICE int load_ragged_tiles(const ht_pack_args &g, const pack_tile &at)
{
    constexpr int FURTHER = K_MAJOR ? 16 : 1; // lines from one of a thread's four to the next: 16 shift alike
    const int fast = (int)threadIdx.x % 16 * 4, slow = (int)threadIdx.x / 16;
    const int length = K_MAJOR ? g.k : g.rows, lines = K_MAJOR ? g.rows : g.k;
    unsigned most[4] = {0, 0, 0, 0};
    for (int t = 0; t < at.tiles; t++) {
        const int k0 = (at.k_tile + t) * 64, start = K_MAJOR ? k0 : at.row0, line0 = K_MAJOR ? at.row0 : k0;
        const bool inside = start > 0 && start + 64 + 4 <= length && line0 + 64 <= lines; //@mutate load-ragged-tiles-2
        const int line = line0 + (K_MAJOR ? slow : slow * 4), left = length - start - fast;
        const float *from = at.src + line * g.ld + start + fast;
        uint4 four[4];
        if (inside) {
            const int first = (int)((unsigned long long)from >> 2) & 3, shift = K_MAJOR ? 0 : (int)g.ld; //@mutate load-ragged-tiles
            misaligned_vec4 x[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[i] = load_four(from + i * FURTHER * g.ld, (first + i * shift) & 3);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                four[i] = shifted(x[i], (first + i * shift) & 3);
            }
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                four[i] = load_guarded(from + i * FURTHER * g.ld, line + i * FURTHER < lines ? left : 0);
            }
        }
        store_block<K_MAJOR>(at.tile + (unsigned)(t * TILE_BYTES), four, fast, slow, most);
    }
    return leave_magnitudes<K_MAJOR>(at, most);
}

// For the row threadIdx.x % 64: publishes what this block has found, in `parts` parts in room, and leaves in room what this
// thread's quarter of the block has collected.
HT_DEVICE void exchange_magnitudes(const ht_pack_args &g, const pack_tile &at, int parts)
{
    const int row = (int)threadIdx.x % 64, quarter = (int)threadIdx.x / 64;
    int most = 0;
    for (int p = 0; p < parts; p++)
        most = larger(most, (int)ht_as_uint(ht_lds4(at.room + (unsigned)(p * 64 + row) * 4)));
    if (quarter == 0) {
        ht_sts4(at.room + (unsigned)(ROOM_OWN * 64 + row) * 4, ht_as_float((unsigned)most));
        if (at.exchange.pieces > 1)
            ht_st_relaxed_i32(at.exchange.published + at.exchange.piece * 64 + row, most);
    }
    const int found = at.exchange.pieces > 1 ? collect<64, PACK_THREADS, 8>(g, at.src, at.row0, at.exchange) : most;
    ht_sts4(at.room + (unsigned)((ROOM_FOUND + quarter) * 64 + row) * 4, ht_as_float((unsigned)found));
}

// A row's absmax over all of k, from what the quarters have collected.
HT_DEVICE int magnitude_of_row(const pack_tile &at, int row)
{
    int most = 0;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        most = larger(most, (int)ht_as_uint(ht_lds4(at.room + (unsigned)((ROOM_FOUND + q) * 64 + row) * 4)));
    }
    return most;
}

// What is seen in a chunk's elements, but for NaN and Inf.
HT_DEVICE unsigned seen_in_chunk(const uint4 *fours, float factor, const large_counts &large_count, unsigned small)
{
    const uint4 zeros = make_uint4(0, 0, 0, 0);
    if (all_are_large(large_count, CHUNK_K))
        return CHUNK_K * COUNTED;
    return seen_in_some(fours[0], fours[CHUNK_K / 4 - 1], zeros, zeros, factor, small);
}

// Chunk `chunk` of a tile's row in all slices; `at`: the same chunk counted from k = 0. factor: a power of two.
template <int CHECK>
HT_DEVICE void write_chunk(const pack_tile &place, unsigned char *atoms, int at, unsigned tile, int row, int chunk,
                           float factor, unsigned small, large_counts *large_count, unsigned *seen)
{
    unsigned packed[SLICES][4];
    uint4 fours[CHUNK_K / 4];
    large_count->count = 0;
#pragma unroll
    for (int u = 0; u < CHUNK_K / 4; u++) {
        const uint4 four = ht_lds16(tile + unit_at(row, chunk * (CHUNK_K / 4) + u));
        if (CHECK == SUMS_AND_COPY)
            ht_stg16(place.copy + (long long)row * place.copy_ld + at * CHUNK_K + u * 4, four);
        fours[u] = four;
        const float x[4] = {scaled(four.x, factor), scaled(four.y, factor), scaled(four.z, factor), scaled(four.w, factor)};
        ht_split_four<4>(packed, u * SLICE_BYTES, x);
    }
    observe_slices<CHECK, 4>(packed[0], large_count);
    if (CHECK > 0 && !SCALES_TILES)
        *seen += seen_in_chunk(fours, factor, *large_count, small);
    unsigned char *atom = atoms + (long long)(at / ATOM_CHUNKS) * (GROUP * 8192) + row * 128;
    for (int s = 0; s < SLICES; s++) {
        const int c = s % ATOM_SLICES * ATOM_CHUNKS + at % ATOM_CHUNKS;
        ht_stg16(atom + s / ATOM_SLICES * 8192 + ((c ^ (row & 7)) * 16),
                 make_uint4(packed[s][0], packed[s][1], packed[s][2], packed[s][3]));
    }
}

// The tile's chunks into the row block's atoms, from chunk `first` of k on. Eight rows and up to four chunks of one atom lie
// side by side in a warp: each store covers whole sectors. factor: of the rows that this thread writes.
template <int CHECK>
HT_DEVICE void write_tile(const pack_tile &at, unsigned char *atoms, int first, unsigned tile, const float *factor,
                          unsigned small, large_counts *large_count, unsigned *seen)
{
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        const int unit = i * PACK_THREADS + (int)threadIdx.x;
        const int row = unit % (64 * RUN) / RUN;
        const int chunk = unit / (64 * RUN) * RUN + unit % RUN;
        write_chunk<CHECK>(at, atoms, first + chunk, tile, row, chunk, factor[i % ROWS], small, large_count, seen);
    }
}

// The chunk of a tile that this thread writes, CHUNK_K k of a row; with scales of tiles it has one (write_tile).
HT_DEVICE void load_chunk(unsigned tile, uint4 *four)
{
    const int row = (int)threadIdx.x / RUN, chunk = (int)threadIdx.x % RUN;
#pragma unroll
    for (int u = 0; u < CHUNK_K / 4; u++) {
        four[u] = ht_lds16(tile + unit_at(row, chunk * (CHUNK_K / 4) + u));
    }
}

// Scales of tiles (SCALES_TILES), of 16 rows x 32 k or 8 rows x 32 k: a power of two brings a tile's largest into [64, 128).
// The scale goes to the product; its inverse, of the tile of this thread's chunk (write_tile), is returned. Four lanes have
// the chunks of a row, 32 lanes eight rows.
HT_DEVICE float scale_tile(const ht_pack_args &g, const pack_tile &at, unsigned tile, int k_tile)
{
    const int row = (int)threadIdx.x / RUN, chunk = (int)threadIdx.x % RUN, half = chunk / (32 / CHUNK_K);
    unsigned most = KEY_OF_ZERO;
    uint4 four[CHUNK_K / 4];
    load_chunk(tile, four);
#pragma unroll
    for (int u = 0; u < CHUNK_K / 4; u++) {
        most = larger_key(most, key_of_four(four[u]));
    }
    most = larger_key_across(most, 1);
    for (int lanes = RUN; lanes < 32; lanes *= 2)
        most = larger_key_across(most, lanes);
    const unsigned eighths = at.room + (unsigned)half * 4; // behind the tile: the largest of eight rows and 32 k, 8 bytes apart
    if (row % 8 == 0 && chunk % (32 / CHUNK_K) == 0)
        ht_sts4(eighths + (unsigned)(row / 8 * 8), ht_as_float(most));
    ht_barrier();
    if (g.scale_rows == 16)
        most = larger_key(most, ht_as_uint(ht_lds4(eighths + (unsigned)((row / 8 ^ 1) * 8))));
    const int e = ht_row_exponent(magnitude_of_key(most));
    const long long first = ((long long)at.row_block * k_tiles_of(g) + at.k_tile + k_tile) * 2 + half;
    if (row % g.scale_rows == 0 && chunk % (32 / CHUNK_K) == 0)
        ht_stg_i32(at.exponents + first * (64 / g.scale_rows) + row / g.scale_rows,
                   e == HT_NAN_ROW ? HT_NAN_SCALE : (int)ht_as_uint(ht_pow2(e)));
    return ht_pow2(-e);
}

// A warp's number, when parts of absmax are needed no more.
HT_DEVICE unsigned number_of_warp(const pack_tile &at, int warp)
{
    return at.room + (unsigned)(128 + warp) * 4;
}

// The block's sums, from what its threads have seen: LANES of them each of a row.
HT_DEVICE void store_tile_sums(const ht_pack_args &g, const pack_tile &at, long long entry, unsigned seen)
{
    const int row = (int)threadIdx.x / LANES, warp = (int)threadIdx.x / 32, pieces = at.exchange.pieces;
    seen_of_row of_row = {0, 0, false};
    for (int m = 1; m < LANES; m *= 2)
        seen += (unsigned)ht_shfl_xor((int)seen, m);
    add_part(&of_row, seen);
    int products = products_of(of_row, at.exchange.piece == 0 && magnitude_of_row(at, row) != 0);
    if (threadIdx.x % LANES == 0)
        store_row_sum(g, entry, at.row0 + row, pieces, of_row);
    for (int m = LANES; m < 32; m *= 2)
        products += ht_shfl_xor(products, m);
    if (threadIdx.x % 32 == 0)
        ht_sts4(number_of_warp(at, warp), ht_as_float((unsigned)products));
    ht_barrier();
    if (threadIdx.x != 0)
        return;
    products = 0;
    for (int w = 0; w < PACK_THREADS / 32; w++)
        products += (int)ht_as_uint(ht_lds4(number_of_warp(at, w)));
    store_products(g, entry, at.row0, 64, pieces, products);
    if (blockIdx.x == 0)
        begin_flags(g);
}

template <int CHECK>
static __global__ void __launch_bounds__(PACK_THREADS, ht_bound(PACK_THREADS, (CHECK == SUMS_AND_COPY ? COPY_BLOCKS : PACK_BLOCKS) - FEWER_BLOCKS))
    pack(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const pack_tile at = find_tile(g, entry, p.tiles, p.pieces);
    if (at.row_block >= at.row_blocks)
        return; // the other operand has more
    if (!SCALES_ROWS || g.exchange_is_reset)
        ht_pdl_wait();
    else
        ht_pdl_assume_complete(); // clean has waited for all before it
    ht_pdl_trigger();
    const bool whole = is_aligned(g, at.src) && at.rows >= 64 && (at.k_tile + at.tiles) * 64 <= g.k;
    const int parts = whole ? g.k_contiguous ? load_whole_tiles<true>(g, at) : load_whole_tiles<false>(g, at)
                      : g.k_contiguous ? load_ragged_tiles<true>(g, at)
                                       : load_ragged_tiles<false>(g, at);
    int order = 0;
    float factor[ROWS] = {};
    unsigned limit = 0;
    ht_barrier();
    if (SCALES_ROWS) {
        if (!g.exchange_is_reset)
            ht_pdl_wait();
        exchange_magnitudes(g, at, parts);
        ht_barrier();
        if (at.exchange.pieces > 1 && threadIdx.x == 0)
            order = ht_add_relaxed_i32(at.exchange.arrived, 1);
        for (int i = 0; i < ROWS; i++) {
            const int row = ((int)threadIdx.x + i * PACK_THREADS) / RUN, most = common_absmax(g, at.row0 + row, magnitude_of_row(at, row));
            factor[i] = ht_pow2(-ht_row_exponent(most));
            limit = key_of_limit(ht_row_exponent(most)); // with CHECK a thread has one row
            if (at.k_tile == 0 && threadIdx.x % RUN == 0 && has_absmax(g, at.row0 + row))
                ht_stg_i32(at.exponents + at.row0 + row, most);
        }
    }
    unsigned char *atoms = g.to.panels + entry * g.to.stride + (long long)at.row_block * g.k_blocks * 8192;
    large_counts large_count = {0, 0};
    unsigned seen = 0;
    bool outlier = false;
    for (int t = 0; t < at.tiles && !only_measures(g); t++) {
        if (SCALES_TILES)
            factor[0] = scale_tile(g, at, at.tile + (unsigned)(t * TILE_BYTES), t);
        if (SCALES_TILES && CHECK > 0) {
            uint4 four[CHUNK_K / 4];
            load_chunk(at.tile, four);
            outlier = is_outlier_row(four, factor[0], g.k - at.k_tile * 64 - (int)threadIdx.x % RUN / (32 / CHUNK_K) * 32);
        }
        write_tile<CHECK>(at, atoms, (at.k_tile + t) * TILE_CHUNKS, at.tile + (unsigned)(t * TILE_BYTES), factor, limit, &large_count, &seen);
    }
    if (SCALES_TILES && CHECK > 0)
        store_outliers(g, entry, at.row_block, number_of_warp(at, 0), outlier);
    else if (CHECK > 0)
        store_tile_sums(g, at, entry, seen + (has_nonfinite(large_count) ? NONFINITE : 0));
    if (SCALES_ROWS && at.exchange.pieces > 1) { // AMD's scalar registers are too few to keep all of the place: there it is found again
        const pack_tile again = WAVE == 32 ? at : find_tile(ht_reload_args(p).operand[second], entry, p.tiles, p.pieces);
        leave_exchange<64>(again.exchange, order);
    }
}

// An exchange that may hold anything is reset.
static __global__ void __launch_bounds__(PACK_THREADS) clean(const pack_pair p)
{
    ht_pdl_wait();
    ht_pdl_trigger();
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const long long ints = (long long)row_blocks_of(g) * (p.pieces * 64 + (p.tiles == HT_PACK_STRIPS ? 2 : 1) + (g.to.row_sums ? 2 * SUM_WORDS : 0));
    const long long first = ((long long)blockIdx.x * PACK_THREADS + threadIdx.x) * CLEANED;
    for (long long i = first; i < first + CLEANED && i < ints; i++)
        ht_stg_i32(g.absmax_exchange + entry * g.exchange_stride + i, -1);
}

// Of operands that were packed before.
template <int CHECK> static __global__ void __launch_bounds__(PACK_THREADS) sample(const pack_pair p)
{
    if (CHECK > 0)
        sample_place(p, (int)blockIdx.x, ht_smem_base<SAMPLE_BYTES>());
}

// As ht_pack_args has it: what the caller wants, or what suits.
static int tiles_of_block(const ht_pack_args *operands, long long row_blocks, int k_tiles)
{
    if (operands[0].tiles != 0)
        return operands[0].tiles;
    const int mode = SCALES_ROWS ? ht_pack_mode_of(row_blocks, k_tiles, SMS) : (int)HT_PACK_TILES;
    return mode != HT_PACK_TILES ? mode : ht_pack_tiles(row_blocks, k_tiles, SMS, PACK_TILES, PACK_BLOCKS_PER_SM);
}

// Blocks of 64 rows of an operand.
static int blocks_of_rows(const pack_pair &p, const ht_pack_args &g)
{
    if (p.tiles == HT_PACK_STRIPS)
        return p.long_rows > 0 && g.k_contiguous ? 64 / p.long_rows : 64 / STRIP_ROWS * p.pieces; //@mutate blocks-of-rows
    return p.tiles == HT_PACK_ROWS ? ROW_BLOCKS : p.pieces;
}

template <int CHECK>
static int launch_pack(const pack_pair &p, unsigned blocks, unsigned batch, void *stream)
{
    return ht_launch_dependent(pack<CHECK>, blocks, 1, batch, PACK_THREADS, p.tiles * TILE_BYTES + ROOM_BYTES, stream, p);
}

template <int CHECK>
static int init_pack(void)
{
    const int code = ht_prefer_smem(pack<CHECK>, PACK_TILES * TILE_BYTES + ROOM_BYTES), strips = ht_prefer_smem(pack_strips<CHECK>, STRIP_BYTES);
    return code != 0 ? code : strips != 0 ? strips : init_rows<CHECK>();
}

static int init(void)
{
    int code = init_pack<0>();
    if (code == 0 && CHECKS)
        code = init_pack<CHECKS>();
    return code != 0 ? code : ht_allow_smem(pack<SUMS_AND_COPY * CHECKS>, PACK_TILES * TILE_BYTES + ROOM_BYTES); // calls that want a copy
}

// Makes a meeting clean that may not be.
static int launch_clean(const pack_pair &p, unsigned blocks, unsigned batch, void *stream)
{
    const long long cleaners = (blocks * (p.operand[0].to.row_sums ? 65LL + 2 * SUM_WORDS : 65) + PACK_THREADS * CLEANED - 1) / (PACK_THREADS * CLEANED);
    return !SCALES_ROWS || p.operand[0].exchange_is_reset
               ? 0
               : ht_launch_dependent(clean, (unsigned)cleaners, 1, batch, PACK_THREADS, 0, stream, p);
}

// Of an operand in strips and one in whole rows, whether the second goes first: strips wait for each other, which the last blocks of many
// should not; but where all find a place nearly at once (n = 1536 on an H200) those that wait begin.
static bool swaps_operands(const pack_pair &p, int count)
{
    const long long places = (long long)SMS * (SM_WARPS / STRIP_WARPS), all = (long long)p.blocks[0] + p.blocks[1];
    if (count != 2 || p.tiles != HT_PACK_STRIPS || p.long_rows == 0 || p.operand[0].k_contiguous == p.operand[1].k_contiguous)
        return false;
    const bool whole_first = 2 * all > 3 * places;
    return p.operand[whole_first ? 1 : 0].k_contiguous != 0; // the one in whole rows is second and should be first, or the reverse
}

static void swap_operands(pack_pair *p)
{
    const ht_pack_args first = p->operand[0];
    const int blocks = p->blocks[0];
    p->operand[0] = p->operand[1];
    p->operand[1] = first;
    p->blocks[0] = p->blocks[1]; //@mutate swap-operands
    p->blocks[1] = blocks;
}

static int launch(const ht_pack_args *operands, int count, void *stream)
{
    pack_pair p = {};
    p.k_tiles = operands[0].k_blocks / GROUP * ATOM_K / 64;
    const long long row_blocks = all_row_blocks(operands, count);
    p.tiles = tiles_of_block(operands, row_blocks, p.k_tiles);
    const int each = p.tiles == HT_PACK_ROWS ? p.k_tiles : p.tiles == HT_PACK_STRIPS ? STRIP_K / 64 : p.tiles;
    const bool checks = operands[0].to.row_sums != nullptr;
    p.pieces = (p.k_tiles + each - 1) / each;
    p.long_rows = checks ? 0 : long_rows_of_block(p.k_tiles);
    long long blocks = 0;
    unsigned batch = 0;
    double bytes = 0;
    for (int i = 0; i < count; i++) {
        p.operand[i] = operands[i];
        const long long all = (operands[i].rows + 63LL) / 64 * blocks_of_rows(p, operands[i]);
        p.blocks[i] = (int)all;
        blocks = all > blocks ? all : blocks;
        batch += (unsigned)operands[i].batch;
        bytes += (double)operands[i].rows * operands[i].k * operands[i].batch * (4 + SLICES * SLICE_BYTES);
    }
    if (operands[0].sample_alone)
        return ht_launch_dependent(sample<CHECKS>, HT_SAMPLES, 1, 1, PACK_THREADS, SAMPLE_BYTES, stream, p);
    p.passes = bytes > 0.75 * L2_BYTES;
    if (swaps_operands(p, count))
        swap_operands(&p);
    if (blocks > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than a grid can count
    if (p.tiles == HT_PACK_ROWS)
        return checks ? launch_rows<CHECKS>(p, row_blocks, (unsigned)blocks, batch, stream)
                      : launch_rows<0>(p, row_blocks, (unsigned)blocks, batch, stream);
    const int code = launch_clean(p, (unsigned)blocks, batch, stream);
    if (code != 0)
        return code;
    blocks += operands[0].sample ? (int)HT_SAMPLES : 0;
    const bool stands_by = bytes <= 2.0 * L2_BYTES; // on an H200 that takes 0.5 to 1 % of longer calls //@mutate launch
    if (p.tiles == HT_PACK_STRIPS)
        return checks ? launch_strips<CHECKS>(p, (unsigned)blocks, batch, stands_by, stream)
                      : launch_strips<0>(p, (unsigned)blocks, batch, stands_by, stream);
    return !checks            ? launch_pack<0>(p, (unsigned)blocks, batch, stream)
           : operands[0].copy ? launch_pack<SUMS_AND_COPY * CHECKS>(p, (unsigned)blocks, batch, stream)
                              : launch_pack<CHECKS>(p, (unsigned)blocks, batch, stream);
}
