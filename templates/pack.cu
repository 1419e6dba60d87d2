#include "sample.h" //@drop
// ---- packing: one or two operands into panel atoms in one launch -------------------------------------------------
// A block takes a tile of 64 rows x 64 k of the user's matrix, in whichever direction it is contiguous, to shared memory
// and writes it out split and swizzled into atoms of 64 rows x 128 bytes. Rows and k beyond the matrix become zeros. Atoms
// are ordered row block, k block of ATOM_K, group of ATOM_SLICES slices, which lie side by side in an atom's rows:
//
//   two 16-bit slices, ATOM_SLICES 2:     [ 32 hi | 32 lo ]      16-byte chunk c of row r is stored as chunk c ^ (r & 7)
//   three 8-bit slices, ATOM_SLICES 1:    [ 128 first digits ], atom of the second digits, atom of the third
//
// Schemes that scale rows must know a row's largest magnitude before its first element can be written, and reading the
// matrix twice from device memory would cost half again as much. So a block keeps PACK_TILES tiles in shared memory,
// publishes what it measured, and collects what the other blocks of its row block published:
//
//   row block r:  [ block rP+0: load, publish, collect, write ][ block rP+1: load, ... ]  ...  [ block rP+P-1 ]
//
// They have neighbouring numbers and run side by side, so the wait is short. It is also bounded: should the others not
// get a place on the GPU (many such kernels at once), a block measures the whole rows by itself and goes on.
// Every published number travels alone in its own word, so no fence is needed.
constexpr int PACK_THREADS = 256;
constexpr int PACK_LD = 65;                                     // floats: rows one bank apart, no conflicts either way
constexpr int TILE_BYTES = 64 * PACK_LD * 4;
constexpr int ROOM_BYTES = 64 * 4 * 4;                          // one number for each row and quarter of the block
constexpr int PACK_SMEM_BYTES = PACK_TILES * TILE_BYTES + ROOM_BYTES;
constexpr int GROUP = SLICES / ATOM_SLICES;                     // atoms of one k block
constexpr int CHUNK_K = 16 / SLICE_BYTES;                       // k of a 16-byte chunk
constexpr int WORD_K = 4 / SLICE_BYTES;                         // k of a word
constexpr int ATOM_CHUNKS = ATOM_K / CHUNK_K;                   // chunks of one slice in an atom's row
constexpr int TILE_CHUNKS = 64 / CHUNK_K;                       // chunks of one slice in a tile's row
constexpr int RUN = ATOM_CHUNKS < TILE_CHUNKS ? ATOM_CHUNKS : TILE_CHUNKS; // of them, those in one atom
constexpr int UNITS = 64 * TILE_CHUNKS / PACK_THREADS;          // chunks of all slices that a thread writes for a tile
constexpr int WAIT_TURNS = 4096;                                // a few milliseconds
constexpr int AHEAD = 8;                                        // loads under way while waiting

struct pack_pair {
    ht_pack_args operand[2];
};

// Everything a block must know about its place.
struct pack_place {
    const float *src;
    int *exponents;
    int row_blocks, row_block, row0, rows; // rows: those left from row0 on
    int pieces, piece, k_tile, tiles;      // pieces: blocks of a row block
};

HT_DEVICE int row_blocks_of(const ht_pack_args &g)
{
    return (g.rows + 63) / 64;
}

// 64 x 64 tiles along k.
HT_DEVICE int k_tiles_of(const ht_pack_args &g)
{
    return g.k_blocks / GROUP * ATOM_K / 64;
}

HT_DEVICE pack_place find_place(const ht_pack_args &g, long long entry)
{
    pack_place at;
    const int k_tiles = k_tiles_of(g);
    at.src = g.src + entry * g.src_stride;
    at.exponents = g.exponents + entry * g.exponent_stride;
    at.pieces = (k_tiles + PACK_TILES - 1) / PACK_TILES;
    at.row_blocks = row_blocks_of(g);
    at.row_block = (int)blockIdx.x / at.pieces;
    at.row0 = at.row_block * 64;
    at.rows = g.rows - at.row0;
    at.piece = (int)blockIdx.x % at.pieces;
    at.k_tile = at.piece * PACK_TILES;
    at.tiles = k_tiles - at.k_tile < PACK_TILES ? k_tiles - at.k_tile : PACK_TILES;
    return at;
}

// Tiles into shared memory, element (row, k) of tile t at t * TILE_BYTES + (row * PACK_LD + k) * 4. Everything lies inside
// and is aligned: 16-byte loads along the contiguous direction, one tile ahead of the stores.
HT_DEVICE void load_whole_tiles(const ht_pack_args &g, const pack_place &at, unsigned smem)
{
    const int fast = (int)threadIdx.x % 16 * 4, slow = (int)threadIdx.x / 16;
    const long long row_step = g.k_contiguous ? g.ld : 1, k_step = g.k_contiguous ? 1 : g.ld;
    const float *corner = at.src + at.row0 * row_step + at.k_tile * 64 * k_step + slow * g.ld + fast;
    const int along = g.k_contiguous ? 4 : PACK_LD * 4, across = g.k_contiguous ? PACK_LD * 4 : 4; // bytes
    uint4 x[2][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[0][i] = ht_ldg16(corner + i * 16 * g.ld);
    }
#pragma unroll
    for (int t = 0; t < PACK_TILES; t++) {
        if (t + 1 < at.tiles) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                x[(t + 1) % 2][i] = ht_ldg16(corner + (t + 1) * 64 * k_step + i * 16 * g.ld);
            }
        }
        if (t < at.tiles) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned to = smem + (unsigned)(t * TILE_BYTES + fast * along + (slow + i * 16) * across);
                ht_sts4(to, ht_as_float(x[t % 2][i].x));
                ht_sts4(to + along, ht_as_float(x[t % 2][i].y));
                ht_sts4(to + along * 2, ht_as_float(x[t % 2][i].z));
                ht_sts4(to + along * 3, ht_as_float(x[t % 2][i].w));
            }
        }
    }
}

// The same at edges and for any alignment: single elements, zeros beyond the matrix.
HT_DEVICE void load_ragged_tiles(const ht_pack_args &g, const pack_place &at, unsigned smem)
{
    const int fast = (int)threadIdx.x % 64, slow = (int)threadIdx.x / 64;
    const long long row_step = g.k_contiguous ? g.ld : 1, k_step = g.k_contiguous ? 1 : g.ld;
    for (int t = 0; t < at.tiles; t++) {
        const int k0 = (at.k_tile + t) * 64;
        const float *corner = at.src + at.row0 * row_step + k0 * k_step;
        float x[16];
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int row = g.k_contiguous ? slow + i * 4 : fast, k = g.k_contiguous ? fast : slow + i * 4;
            x[i] = row < at.rows && k0 + k < g.k ? ht_ldg4(corner + row * row_step + k * k_step) : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int row = g.k_contiguous ? slow + i * 4 : fast, k = g.k_contiguous ? fast : slow + i * 4;
            ht_sts4(smem + (unsigned)(t * TILE_BYTES + (row * PACK_LD + k) * 4), x[i]);
        }
    }
}

HT_DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

// Magnitude as the bits of a float, which compare like the floats; Inf and NaN do not count, or poison the row.
HT_DEVICE int magnitude(float x)
{
    const int bits = (int)(ht_as_uint(x) & 0x7fffffffu);
    return bits < HT_INFINITE ? bits : POISONS_ROWS ? HT_INFINITE : 0;
}

// Largest magnitude of this block's part of a row; four threads share a row, a quarter of each tile's k each.
HT_DEVICE int measure_tiles(unsigned smem, int tiles)
{
    const int row = (int)threadIdx.x % 64, quarter = (int)threadIdx.x / 64;
    int most = 0;
    for (int t = 0; t < tiles; t++) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int at = t * TILE_BYTES + (row * PACK_LD + quarter * 16 + i) * 4;
            most = larger(most, magnitude(ht_lds4(smem + (unsigned)at)));
        }
    }
    return most;
}

// The same for the whole row, from the matrix: what a thread does that waited in vain.
HT_DEVICE int measure_row(const ht_pack_args &g, const pack_place &at)
{
    const int row = (int)threadIdx.x % 64;
    const long long r = at.row0 + row;
    int most = 0;
    for (int k = 0; k < g.k && row < at.rows; k++)
        most = larger(most, magnitude(ht_ldg4(at.src + (g.k_contiguous ? r * g.ld + k : k * g.ld + r))));
    return most;
}

// What the four threads of a row have found, combined: the largest, or -1 if one of them has -1.
HT_DEVICE int combine_quarters(unsigned room, int found)
{
    const int row = (int)threadIdx.x % 64, quarter = (int)threadIdx.x / 64;
    int most = 0;
    bool all = true;
    ht_barrier();
    ht_sts4(room + (unsigned)(quarter * 64 + row) * 4, ht_as_float((unsigned)found));
    ht_barrier();
#pragma unroll
    for (int q = 0; q < 4; q++) {
        const int one = (int)ht_as_uint(ht_lds4(room + (unsigned)(q * 64 + row) * 4));
        all = all && one >= 0;
        most = larger(most, one);
    }
    return all ? most : -1;
}

// Collects the pieces' numbers for this thread's row, every fourth piece; -1: some never came. AHEAD loads are under way
// at once: one after the other, their latencies would add up to more than the block's own loads take.
HT_DEVICE int collect(const int *published, int pieces)
{
    const int *own = published + (int)threadIdx.x % 64;
    int most = 0, turns = 0;
    bool vain = false;
    for (int first = (int)threadIdx.x / 64; first < pieces; first += 4 * AHEAD) {
        int one[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            one[i] = first + i * 4 < pieces ? ht_ld_relaxed_i32(own + (first + i * 4) * 64) : 0;
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            while (one[i] < 0 && turns < WAIT_TURNS) {
                turns++;
                one[i] = ht_ld_relaxed_i32(own + (first + i * 4) * 64);
            }
            vain = vain || one[i] < 0;
            most = larger(most, one[i]);
        }
    }
    return vain ? -1 : most;
}

// The row's largest magnitude over all of k, for the row threadIdx.x % 64.
HT_DEVICE int agree_on_magnitude(const ht_pack_args &g, const pack_place &at, unsigned smem)
{
    const unsigned room = smem + PACK_TILES * TILE_BYTES;
    int *published = at.exponents + at.row_blocks * 64 + (long long)at.row_block * at.pieces * 64;
    int most = combine_quarters(room, measure_tiles(smem, at.tiles));
    if (at.pieces == 1)
        return most;
    if (threadIdx.x < 64)
        ht_st_relaxed_i32(published + at.piece * 64 + (int)threadIdx.x, most);
    most = combine_quarters(room, collect(published, at.pieces));
    if (most < 0)
        most = measure_row(g, at);
    return most;
}

// Chunk `chunk` of a tile's row in all slices; `at`: the same chunk counted from k = 0.
HT_DEVICE void write_chunk(unsigned char *atoms, int at, unsigned tile, int row, int chunk, int exponent)
{
    unsigned packed[SLICES][4];
#pragma unroll
    for (int e = 0; e < CHUNK_K; e++) {
        float x = ht_lds4(tile + (unsigned)(row * PACK_LD + chunk * CHUNK_K + e) * 4);
        if (SCALES_ROWS)
            x = ht_scale_pow2(x, exponent);
        unsigned slice[SLICES];
        ht_split(x, slice);
        for (int s = 0; s < SLICES; s++)
            packed[s][e / WORD_K] =
                e % WORD_K ? packed[s][e / WORD_K] | slice[s] << (e % WORD_K * SLICE_BYTES * 8) : slice[s];
    }
    unsigned char *atom = atoms + (long long)(at / ATOM_CHUNKS) * (GROUP * 8192) + row * 128;
    for (int s = 0; s < SLICES; s++) {
        const int c = s % ATOM_SLICES * ATOM_CHUNKS + at % ATOM_CHUNKS;
        ht_stg16(atom + s / ATOM_SLICES * 8192 + ((c ^ (row & 7)) * 16),
                 make_uint4(packed[s][0], packed[s][1], packed[s][2], packed[s][3]));
    }
}

// The tile's chunks into the row block's atoms, from chunk `first` of k on. Eight rows and up to four chunks of one atom lie
// side by side in a warp: each store covers whole sectors. room: the rows' magnitudes.
HT_DEVICE void write_tile(unsigned char *atoms, int first, unsigned tile, unsigned room)
{
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        const int unit = i * PACK_THREADS + (int)threadIdx.x;
        const int row = unit % (64 * RUN) / RUN;
        const int chunk = unit / (64 * RUN) * RUN + unit % RUN;
        const int exponent = SCALES_ROWS ? -ht_row_exponent((int)ht_as_uint(ht_lds4(room + (unsigned)row * 4))) : 0;
        write_chunk(atoms, first + chunk, tile, row, chunk, exponent);
    }
}

// exponents: [ magnitude of each row, rows rounded up to 64 | row block, piece: 64 published magnitudes, -1 before ]
__global__ void __launch_bounds__(PACK_THREADS) pack(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const pack_place at = find_place(g, entry);
    if (at.row_block >= at.row_blocks)
        return; // the other operand has more
    const unsigned smem = ht_smem_base(), room = smem + PACK_TILES * TILE_BYTES;
    const bool aligned = g.ld % 4 == 0 && ((unsigned long long)at.src & 15) == 0;
    if (aligned && at.rows >= 64 && (at.k_tile + at.tiles) * 64 <= g.k)
        load_whole_tiles(g, at, smem);
    else
        load_ragged_tiles(g, at, smem);
    ht_barrier();
    if (SCALES_ROWS) {
        const int most = agree_on_magnitude(g, at, smem);
        ht_barrier();
        if (threadIdx.x < 64) {
            ht_sts4(room + threadIdx.x * 4, ht_as_float((unsigned)most));
            if (at.piece == 0)
                ht_stg_i32(at.exponents + at.row0 + (int)threadIdx.x, most);
        }
        ht_barrier();
    }
    unsigned char *atoms = g.panels + entry * g.panel_stride + (long long)at.row_block * g.k_blocks * 8192;
    for (int t = 0; t < at.tiles; t++)
        write_tile(atoms, (at.k_tile + t) * TILE_CHUNKS, smem + (unsigned)(t * TILE_BYTES), room);
}

// Numbers that are not published yet.
__global__ void __launch_bounds__(PACK_THREADS) clear_published(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    const long long entry = (int)blockIdx.z - (second ? p.operand[0].batch : 0);
    const int pieces = (k_tiles_of(g) + PACK_TILES - 1) / PACK_TILES;
    const long long at = (long long)blockIdx.x * PACK_THREADS + threadIdx.x, rows = (long long)row_blocks_of(g) * 64;
    if (at < rows * pieces)
        ht_stg_i32(g.exponents + entry * g.exponent_stride + rows + at, -1);
}

static int launch(const ht_pack_args *operands, int count, void *stream)
{
    pack_pair p = {};
    long long blocks = 0;
    unsigned batch = 0;
    for (int i = 0; i < count; i++) {
        p.operand[i] = operands[i];
        const long long high = (operands[i].rows + 63) / 64;
        const long long wide = (operands[i].k_blocks / GROUP * ATOM_K / 64 + PACK_TILES - 1) / PACK_TILES;
        blocks = high * wide > blocks ? high * wide : blocks;
        batch += (unsigned)operands[i].batch;
    }
    if (blocks > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than a grid can count
    int code = ht_allow_smem(pack, PACK_SMEM_BYTES);
    if (SCALES_ROWS && code == 0)
        code = ht_launch(clear_published, (unsigned)((blocks * 64 + PACK_THREADS - 1) / PACK_THREADS), 1, batch,
                         PACK_THREADS, 0, stream, p);
    if (code == 0)
        code = ht_launch(pack, (unsigned)blocks, 1, batch, PACK_THREADS, PACK_SMEM_BYTES, stream, p);
    return code;
}
