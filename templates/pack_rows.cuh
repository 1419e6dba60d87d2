// pack_rows: short rows whole (ht_packs_rows), in schemes that scale them. A block takes 16 rows with all their k, so that it knows
// their largest magnitudes by itself. Elements wait for that in registers, ROWS_LOADS x 4 of a thread, all on their way from device
// memory at once. A load is 16 bytes of a lane in the direction in which the matrix is contiguous:
//
//   k contiguous      a load of a warp: 4 rows x 32 k, 8 lanes to a row; every fourth part of the block's warps has rows of its own
//   rows contiguous   four loads of a warp: 32 k x 16 rows, 4 lanes to a k; a lane's four k lie one after another
//
// So a thread comes to hold four k of a row, which in an atom are 16 bytes of a 32-bit slice, 8 of a 16-bit one, 4 of an 8-bit one: eight lanes store
// whole sectors of 32 bytes.
constexpr int ROWS_OF_BLOCK = 16, ROW_BLOCKS = 4; // of a row block
constexpr int ROWS_LOADS = 16;
constexpr int ROWS_THREADS = 256;           // where half of that has all k, half of them
constexpr int ROWS_SHORT_TILES = 8;         // tiles of 64 k that 128 threads hold
constexpr int ROWS_BLOCKS = 2;              // on an SM, by their registers
constexpr int ROWS_SEEN = 8 * ROWS_OF_BLOCK; // ints of shared memory: magnitudes in up to eight parts, then what they have seen
constexpr int ROWS_BYTES = 2 * ROWS_SEEN * 4;
constexpr int WORDS = SLICE_BYTES;          // of four k in a slice

// A block's place, and a thread's: elements i x load_step and, of a load where rows are contiguous, each k x k_step from `from` on.
struct rows_place {
    const float *src, *from;
    unsigned char *atoms;             // of the row block
    float *copy;                      // with CHECK 2: of the row block
    long long entry, load_step, k_step;
    int row0, row, k, far;            // row: the thread's first, in the row block; k: its first; far: from load to load
    int warps, warp, lane, halves;    // halves: warps that share rows where k is contiguous
    int padded;                       // k
    unsigned room;                    // shared memory
};

HT_DEVICE rows_place find_rows(const ht_pack_args &g, long long entry, int warps)
{
    rows_place at;
    const int row_block = (int)blockIdx.x / ROW_BLOCKS, first = (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK;
    at.warps = warps;
    at.warp = (int)threadIdx.x / 32;
    at.lane = (int)threadIdx.x % 32;
    at.halves = warps / 4;
    at.entry = entry;
    at.src = g.src + entry * g.src_stride;
    at.row0 = row_block * 64;
    at.padded = k_tiles_of(g) * 64;
    at.atoms = g.panels + entry * g.panel_stride + (long long)row_block * g.k_blocks * 8192;
    at.copy = g.copy + entry * g.copy_stride + (long long)at.row0 * at.padded;
    if (g.k_contiguous) {
        at.row = first + at.warp / at.halves * 4 + at.lane / 8;
        at.k = at.warp % at.halves * 32 + at.lane % 8 * 4;
        at.far = at.halves * 32;
        at.from = at.src + (at.row0 + at.row) * g.ld + at.k;
        at.load_step = at.far;
        at.k_step = 1;
    } else {
        at.row = first + at.lane % 4 * 4;
        at.k = at.warp * 32 + at.lane / 4 * 4;
        at.far = warps * 32;
        at.from = at.src + at.k * g.ld + at.row0 + at.row;
        at.load_step = at.far * g.ld;
        at.k_step = g.ld;
    }
    at.room = ht_smem_base<ROWS_BYTES>();
    return at;
}

// Where all rows are there and aligned: x[i] as it is loaded, zeros behind k.
template <bool K_CONTIGUOUS> HT_DEVICE void load_rows(const ht_pack_args &g, const rows_place &at, uint4 *x)
{
    constexpr int PER = K_CONTIGUOUS ? 1 : 4; // loads of the same four k
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i++) {
        x[i] = make_uint4(0, 0, 0, 0);
        if (at.k + i / PER * at.far + i % PER < g.k)
            x[i] = ht_ldg16(at.from + i / PER * at.load_step + i % PER * at.k_step);
    }
}

// Load i of a matrix that begins anywhere: where, at which word of 16 bytes, how many elements of its line are left, and whether both
// 16-byte pieces that it needs lie in the line.
struct ragged_four {
    const float *from;
    int first, left;
    bool wide;
};

template <bool K_CONTIGUOUS> HT_DEVICE ragged_four find_four(const ht_pack_args &g, const rows_place &at, int i)
{
    constexpr int PER = K_CONTIGUOUS ? 1 : 4;
    const int k = at.k + i / PER * at.far + i % PER, row = at.row0 + at.row, place = K_CONTIGUOUS ? k : row;
    ragged_four r;
    r.from = at.from + i / PER * at.load_step + i % PER * at.k_step;
    r.first = (int)((unsigned long long)r.from >> 2) & 3;
    r.left = K_CONTIGUOUS ? row < g.rows ? g.k - k : 0 : k < g.k ? g.rows - row : 0;
    r.wide = place >= r.first && r.left >= 8 - r.first;
    return r;
}

// Anywhere: as load_ragged_tiles goes, four loads at a time.
template <bool K_CONTIGUOUS> HT_DEVICE void load_ragged_rows(const ht_pack_args &g, const rows_place &at, uint4 *x)
{
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i += 4) {
        four_ahead ahead[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const ragged_four r = find_four<K_CONTIGUOUS>(g, at, i + j);
            ahead[j] = r.wide ? load_four(r.from, r.first) : four_ahead{};
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const ragged_four r = find_four<K_CONTIGUOUS>(g, at, i + j);
            x[i + j] = r.wide ? shifted(ahead[j], r.first) : load_some(r.from, r.left);
        }
    }
}

// Largest magnitudes, of the rows of four lanes where rows are contiguous, into at.room: how many parts of 16 rows.
template <bool K_CONTIGUOUS> HT_DEVICE int measure_rows(const rows_place &at, const uint4 *x)
{
    unsigned most[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < ROWS_LOADS; i++) {
        if (K_CONTIGUOUS) {
            most[0] = larger_key(most[0], key_of_four(x[i]));
        } else {
            most[0] = larger_key(most[0], x[i].x * 2 + KEY_OF_ZERO);
            most[1] = larger_key(most[1], x[i].y * 2 + KEY_OF_ZERO);
            most[2] = larger_key(most[2], x[i].z * 2 + KEY_OF_ZERO);
            most[3] = larger_key(most[3], x[i].w * 2 + KEY_OF_ZERO);
        }
    }
    const int part = K_CONTIGUOUS ? at.warp % at.halves : at.warp;
    const unsigned to = at.room + (unsigned)(part * ROWS_OF_BLOCK + at.row % ROWS_OF_BLOCK) * 4;
#pragma unroll
    for (int j = 0; j < (K_CONTIGUOUS ? 1 : 4); j++) {
        for (int m = K_CONTIGUOUS ? 1 : 4; m < (K_CONTIGUOUS ? 8 : 32); m *= 2)
            most[j] = larger_key_across(most[j], m);
        if (K_CONTIGUOUS ? at.lane % 8 == 0 : at.lane < 4)
            ht_sts4(to + j * 4, ht_as_float((unsigned)magnitude_of_key(most[j])));
    }
    return K_CONTIGUOUS ? at.halves : at.warps;
}

// Of one of the block's rows, from all parts.
HT_DEVICE int magnitude_of_parts(const rows_place &at, int row, int parts)
{
    int most = 0;
    for (int p = 0; p < parts; p++)
        most = larger(most, (int)ht_as_uint(ht_lds4(at.room + (unsigned)(p * ROWS_OF_BLOCK + row) * 4)));
    return most;
}

HT_DEVICE unsigned word_of(uint4 v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Four k of a row of the row block from k on, in all slices.
template <int CHECK>
HT_DEVICE void write_four(const rows_place &at, int row, int k, uint4 four, float factor, pack_tally *tally)
{
    const unsigned bits[4] = {four.x, four.y, four.z, four.w};
    unsigned packed[SLICES][WORDS];
    if (CHECK == 2)
        ht_stg16(at.copy + (long long)row * at.padded + k, four);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        unsigned slice[SLICES];
        ht_split(__fmul_rn(ht_as_float(bits[e]), factor), slice);
        for (int s = 0; s < SLICES; s++)
            packed[s][e / WORD_K] = e % WORD_K ? packed[s][e / WORD_K] | slice[s] << (e % WORD_K * SLICE_BYTES * 8) : slice[s];
    }
    for (int i = 0; CHECK > 0 && i < WORDS; i++)
        ht_tally_f16x2(&tally->count, &tally->odd, packed[0][i], TALLY_LEAST);
    unsigned char *line = at.atoms + (long long)(k / ATOM_K) * (GROUP * 8192) + row * 128;
    for (int s = 0; s < SLICES; s++) {
        const int chunk = (s % ATOM_SLICES * ATOM_CHUNKS + k % ATOM_K / CHUNK_K) ^ (row & 7);
        unsigned char *to = line + s / ATOM_SLICES * 8192 + chunk * 16 + k % CHUNK_K * SLICE_BYTES;
        const unsigned *w = packed[s];
        if (WORDS == 1)
            ht_stg_i32((int *)to, (int)w[0]);
        else if (WORDS == 2)
            ht_stg_i64((long long *)to, (long long)((unsigned long long)w[WORDS - 1] << 32 | w[0]));
        else
            ht_stg16(to, make_uint4(w[0], w[WORDS / 4], w[WORDS / 2], w[WORDS - 1]));
    }
}

// Scales and writes what a thread holds. seen[j]: of its rows.
template <bool K_CONTIGUOUS, int CHECK>
HT_DEVICE void write_rows(const ht_pack_args &g, const rows_place &at, const uint4 *x, int parts, int *seen)
{
    constexpr int LINES = K_CONTIGUOUS ? 1 : 4;
    float factor[LINES];
    pack_tally tally[LINES] = {};
    for (int j = 0; j < LINES; j++) {
        const int most = magnitude_of_parts(at, at.row % ROWS_OF_BLOCK + j, parts);
        factor[j] = ht_pow2(-ht_row_exponent(most));
        if (at.k < 4)
            ht_stg_i32(g.exponents + at.entry * g.exponent_stride + at.row0 + at.row + j, most);
    }
#pragma unroll
    for (int i = 0; i < ROWS_LOADS / LINES; i++) {
        const int k = at.k + i * at.far;
#pragma unroll
        for (int j = 0; j < LINES && k < at.padded; j++) {
            const uint4 four = K_CONTIGUOUS ? x[i] : make_uint4(word_of(x[i * LINES], j), word_of(x[i * LINES + LINES / 4], j),
                                                               word_of(x[i * LINES + LINES / 2], j), word_of(x[i * LINES + LINES - 1], j));
            write_four<CHECK>(at, at.row + j, k, four, factor[j], tally + j);
        }
    }
    for (int j = 0; CHECK > 0 && j < LINES; j++)
        seen[j] = seen_by(tally[j]);
}

// The block's number for the data check: its rows' counts beside their magnitudes in shared memory, then the first 16 threads.
template <bool K_CONTIGUOUS> HT_DEVICE void leave_seen(const rows_place &at, int *seen)
{
    const int part = K_CONTIGUOUS ? at.warp % at.halves : at.warp;
    const unsigned to = at.room + (unsigned)(ROWS_SEEN + part * ROWS_OF_BLOCK + at.row % ROWS_OF_BLOCK) * 4;
#pragma unroll
    for (int j = 0; j < (K_CONTIGUOUS ? 1 : 4); j++) {
        for (int m = K_CONTIGUOUS ? 1 : 4; m < (K_CONTIGUOUS ? 8 : 32); m *= 2)
            seen[j] += ht_shfl_xor(seen[j], m);
        if (K_CONTIGUOUS ? at.lane % 8 == 0 : at.lane < 4)
            ht_sts4(to + j * 4, ht_as_float((unsigned)seen[j]));
    }
}

HT_DEVICE void store_tame_rows(const ht_pack_args &g, const rows_place &at, int parts)
{
    const int row = at.lane % ROWS_OF_BLOCK, sub = (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK;
    int seen = 0;
    for (int p = 0; p < parts; p++)
        seen += (int)ht_as_uint(ht_lds4(at.room + (unsigned)(ROWS_SEEN + p * ROWS_OF_BLOCK + row) * 4));
    const int count = at.row0 + sub + row < g.rows ? count_of(seen) : g.k; // rows beyond the matrix do not matter
    unsigned both = (unsigned)(count - NONFINITE) * 2 + (magnitude_of_parts(at, row, parts) != 0), least = both;
    for (int m = 1; m < ROWS_OF_BLOCK; m *= 2) {
        const unsigned other = (unsigned)ht_shfl_xor((int)least, m);
        least = other < least ? other : least;
        both |= (unsigned)ht_shfl_xor((int)both, m);
    }
    if (threadIdx.x == 0)
        store_number(g, g.tame + at.entry * g.tame_stride + blockIdx.x, least, both & 1, g.k);
}

template <bool K_CONTIGUOUS, int CHECK> HT_DEVICE void pack_these_rows(const ht_pack_args &g, const rows_place &at)
{
    const bool aligned = g.ld % 4 == 0 && ((unsigned long long)at.src & 15) == 0;
    const bool whole = aligned && at.row0 + (int)blockIdx.x % ROW_BLOCKS * ROWS_OF_BLOCK + ROWS_OF_BLOCK <= g.rows;
    uint4 x[ROWS_LOADS];
    int seen[4];
    if (whole && (!K_CONTIGUOUS || g.k % 4 == 0))
        load_rows<K_CONTIGUOUS>(g, at, x);
    else
        load_ragged_rows<K_CONTIGUOUS>(g, at, x);
    const int parts = measure_rows<K_CONTIGUOUS>(at, x);
    ht_barrier();
    write_rows<K_CONTIGUOUS, CHECK>(g, at, x, parts, seen);
    if (CHECK == 0)
        return;
    leave_seen<K_CONTIGUOUS>(at, seen);
    ht_barrier();
    if (at.warp == 0)
        store_tame_rows(g, at, parts);
}

template <int CHECK>
static __global__ void __launch_bounds__(ROWS_THREADS, ht_bound(ROWS_THREADS, ROWS_BLOCKS)) pack_rows(const pack_pair p)
{
    const bool second = (int)blockIdx.z >= p.operand[0].batch;
    const ht_pack_args &g = p.operand[second];
    if ((int)blockIdx.x >= row_blocks_of(g) * ROW_BLOCKS)
        return; // the other operand has more
    ht_grid_wait();
    ht_grid_release();
    const int warps = p.k_tiles > ROWS_SHORT_TILES ? ROWS_THREADS / 32 : ROWS_THREADS / 64;
    const rows_place at = find_rows(g, (int)blockIdx.z - (second ? p.operand[0].batch : 0), warps);
    if (g.k_contiguous)
        pack_these_rows<true, CHECK>(g, at);
    else
        pack_these_rows<false, CHECK>(g, at);
}

template <int CHECK> static int launch_rows(const pack_pair &p, unsigned blocks, unsigned batch, void *stream)
{
    const unsigned threads = p.k_tiles > ROWS_SHORT_TILES ? ROWS_THREADS : ROWS_THREADS / 2;
    return ht_launch_dependent(pack_rows<CHECK>, blocks, 1, batch, threads, ROWS_BYTES, stream, p);
}
