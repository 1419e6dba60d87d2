#include "../samples/wgmma_ss.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of C. Its last warpgroup copies operand panels into a ring of RING_STAGES stages, the others multiply:
// warpgroup w has WN columns of C, in N_SUBTILES parts of 64, and all BM rows. The tensor core sees C transposed, 64 columns of
// C by BM rows, so that a thread's results are neighbours in memory.
//
//   stage: [ A atoms: BM/64 row blocks ][ B atoms: BN/64 row blocks ]     8192 bytes each; GROUP stages hold all slices of BK
//         BM 32: half of an A atom, 4096 bytes
//
//   producer     copy stage 0 | copy 1 | copy 2 | ...               waits for EMPTY, announces FULL
//   next to it   scales of the tile's rows and columns |           one warp; waits for SCALES_EMPTY, announces SCALES_FULL
//   warpgroup 0  [chunk 0     ] add |  [chunk 1     ] add |        a chunk is PROMOTE_TILES times BK: one chain of the tensor core,
//   warpgroup 1        wait     [chunk 0     ] add |  [chunk 1]    then added up in FP32 while another warpgroup multiplies
//
// Warpgroups take turns in issuing chunks: they stay in step, and so do the blocks of the GPU that share panels in L2.
// A warpgroup that is alone takes two chunks at once and adds up one while the unit has the other.
// Blocks are persistent: each takes every SMS-th work item, and copies of the next begin while the last is stored.
//
// CLUSTER 2: two blocks take neighbouring tiles together and share the panels that both need, those of B (SHARES_B: the tiles
// are neighbours along m) or of A (along n). Each copies half of every shared atom to both:
//
//   block 0, stage: [ own A ][ B, upper halves: own copy | lower halves: from block 1 ]
//   block 1, stage: [ own A ][ B, upper halves: from block 0 | lower halves: own copy ]
//
// so a stage is full when both have copied, and empty when the consumers of both have said so to both (lane r of a warp to
// block r). A block that has no tile, at an odd edge, takes part with the last panels and stores nothing.
constexpr int CONSUMER_WARPGROUPS = BN / WN, N_SUBTILES = WN / 64, ACC_REGS = BM / 2; // ACC_REGS: results of a thread in 64 columns
constexpr int THREADS = (CONSUMER_WARPGROUPS + 1) * 128;
constexpr int A_BLOCKS = (BM + 63) / 64, B_BLOCKS = BN / 64;
constexpr int PART_ROWS = BM < 64 ? BM : 64; // of an atom, and of 64 columns of results
constexpr int A_BYTES = BM * 128; //@mutate a-bytes
constexpr int STAGE_BYTES = (BM + BN) * 128;
constexpr int CLUSTER_M = SHARES_B ? CLUSTER * BM : BM, CLUSTER_N = SHARES_A ? CLUSTER * BN : BN; // of C
constexpr int GROUP = SLICES / ATOM_SLICES;     // stages of one BK
constexpr int RING_STAGES = STAGES * GROUP, PROMOTE_STAGES = PROMOTE_TILES * GROUP;
constexpr int EPI_BUFFER_BYTES = 16 * PART_ROWS * 4; // 16 columns of FP32: the epilogue
constexpr int EPI_BUFFERS = RING_STAGES * STAGE_BYTES;       // offset: one for each warp that multiplies
constexpr int SCALES = EPI_BUFFERS + CONSUMER_WARPGROUPS * 4 * EPI_BUFFER_BYTES; // of BM rows, BN columns, FP32, and two words: load_scales
constexpr int THRESHOLDS = SCALES + (SCALES_ROWS ? (BM + BN) * 4 + 8 : 0); // of BM rows, FP32
constexpr int FULL = THRESHOLDS + (SCALES_ROWS && CHECKS ? BM * 4 : 0); // offsets of the barriers, 8 bytes each
constexpr int EMPTY = FULL + RING_STAGES * 8, ORDER = EMPTY + RING_STAGES * 8, SCALES_FULL = ORDER + CONSUMER_WARPGROUPS * 8, SCALES_EMPTY = SCALES_FULL + SCALES_ROWS * 8;
constexpr int SMEM_BYTES = SCALES_EMPTY + SCALES_ROWS * 8;
// The smallest blocks leave room beside them for one of packing, which then starts while the product before it ends, and is followed by
// blocks that are there already; but not for another of their own, which would share an SM while others are idle.
constexpr int BOUND = BM < 64 ? 384 : THREADS; // threads among which registers are shared out
constexpr int PRODUCER_REGISTERS = CONSUMER_WARPGROUPS == 2 || BM < 64 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = BM < 64 ? 216 : CONSUMER_WARPGROUPS > 2 ? 160 : CONSUMER_WARPGROUPS > 1 ? 232 : 248; //@mutate registers
static_assert((PRODUCER_REGISTERS + CONSUMER_WARPGROUPS * CONSUMER_REGISTERS) * 128 <= 65536 / BOUND / 8 * 8 * THREADS, "what a block starts with"); //@mutate registers-fit
constexpr int CHAIN_REGS = PROMOTES ? ACC_REGS : 1;

// One work item: a tile of C, or one split's part of it; of a cluster, its blocks' tiles.
struct work_tile {
    int m0, n0, entry, split, first, chunks;
};

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that run together
// share panels in L2.
HT_DEVICE work_tile next_tile(const ht_gemm_args &g, int item)
{
    const int none = (int)ht_opaque(0); // so that nothing is kept from item to item: the producer has few registers
    const int tiles_m = (g.m + none + CLUSTER_M - 1) / CLUSTER_M, tiles_n = (g.n + none + CLUSTER_N - 1) / CLUSTER_N;
    const int tiles = tiles_m * tiles_n;
    const int whole = g.splits > 1 ? item / g.splits : item, entry = g.batch > 1 ? whole / tiles : 0;
    const int tile = whole - entry * tiles, per_group = RASTER * tiles_n;
    const int row = tile / per_group * RASTER, inside = tile % per_group;
    const int height = tiles_m - row < RASTER ? tiles_m - row : RASTER;
    const int total = g.k_blocks / PROMOTE_STAGES;
    work_tile w;
    w.m0 = (row + inside % height) * CLUSTER_M + (SHARES_B ? ht_cluster_rank() * BM : 0); //@mutate tile-of-block
    w.n0 = inside / height * CLUSTER_N + (SHARES_A ? ht_cluster_rank() * BN : 0);
    w.entry = entry;
    w.split = item - whole * g.splits;
    w.first = 0;
    w.chunks = total;
    if (g.splits > 1) { // 64-bit divisions take as long as a chunk
        w.first = (int)((long long)total * w.split / g.splits);
        w.chunks = (int)((long long)total * (w.split + 1) / g.splits) - w.first;
    }
    return w;
}

HT_DEVICE int tile_count(const ht_gemm_args &g)
{
    const int none = (int)ht_opaque(0);
    return ((g.m + none + CLUSTER_M - 1) / CLUSTER_M) * ((g.n + none + CLUSTER_N - 1) / CLUSTER_N) * g.splits * g.batch;
}

// The atom of k block 0 of a row block, counted from the panels' start; blocks beyond the matrix read its last one, their results are
// never stored.
HT_DEVICE unsigned panel_row(int block, int rows, int k_blocks)
{
    const int last = (rows + 63) / 64 - 1;
    return (unsigned)((block < last ? block : last) * k_blocks); //@mutate last-panel
}

// An atom of a stage, BYTES of it; of one that the cluster shares this block's part, for all.
template <int BYTES> HT_DEVICE void copy_atom(int shared, unsigned to, const unsigned char *from, unsigned full)
{
    constexpr int PART = BYTES / CLUSTER;
    if (shared)
        ht_bulk_copy_multicast(to + (unsigned)(ht_cluster_rank() * PART), from + ht_cluster_rank() * PART, PART, full); //@mutate half-of-panel
    else
        ht_bulk_copy(to, from, BYTES, full);
}

// ---- the producer: one thread that keeps the ring full ------------------------------------------------------------
// ELECT_PRODUCER: as fast as it can, where the unit is done with a stage before the copies of the next could be given out at their usual pace,
// some 100 clocks apart (arch/sm90). Where it is not that pace is better: copies that arrive all at once take shared memory from the unit.
HT_DEVICE void produce(const ht_gemm_args &g, unsigned smem)
{
    int stage = 0;
    unsigned phase = 1; // nobody has to empty the first round //@mutate producer-phase
    for (int item = (int)blockIdx.x / CLUSTER; item < tile_count(g); item += (int)gridDim.x / CLUSTER) {
        const work_tile w = next_tile(g, item); //@mutate producer-work
        const unsigned char *const a_panels = g.a_packed.panels + w.entry * g.a_packed.stride + (BM < 64 ? w.m0 % 64 * 128 : 0); //@mutate produce-2
        const unsigned char *const b_panels = g.b_packed.panels + w.entry * g.b_packed.stride;
        unsigned src[A_BLOCKS + B_BLOCKS];
#pragma unroll
        for (int i = 0; i < A_BLOCKS; i++) {
            src[i] = panel_row(w.m0 / 64 + i, g.m, g.k_blocks) + (unsigned)(w.first * PROMOTE_STAGES);
        }
#pragma unroll
        for (int i = 0; i < B_BLOCKS; i++) {
            src[A_BLOCKS + i] = panel_row(w.n0 / 64 + i, g.n, g.k_blocks) + (unsigned)(w.first * PROMOTE_STAGES);
        }
        ht_pdl_wait(); // for packing, only the first time; what comes before is worked out while it ends //@mutate produce
        ht_pdl_trigger();
#pragma unroll 1
        for (int k = 0; k < w.chunks * PROMOTE_STAGES; k++) {
            const unsigned to = smem + (unsigned)stage * STAGE_BYTES, full = smem + FULL + (unsigned)stage * 8; //@mutate stage
            ht_mbar_wait(smem + EMPTY + (unsigned)stage * 8, phase); //@mutate wait-empty
            ht_mbar_arrive_expect_tx(full, STAGE_BYTES); //@mutate announce
#pragma unroll
            for (int i = 0; i < A_BLOCKS; i++) {
                copy_atom<PART_ROWS * 128>(SHARES_A, to + i * 8192, a_panels + (src[i] + (unsigned)k) * 8192ull, full);
            }
#pragma unroll
            for (int i = 0; i < B_BLOCKS; i++) { //@mutate copies
                copy_atom<8192>(SHARES_B, to + A_BYTES + i * 8192, b_panels + (src[A_BLOCKS + i] + (unsigned)k) * 8192ull, full); //@mutate copy
            }
            stage = stage + 1 == RING_STAGES ? 0 : stage + 1;
            phase ^= stage == 0;
        }
    }
#pragma unroll 1
    for (int s = 0; CLUSTER > 1 && s < RING_STAGES; s++) { // the block stays until the other has arrived for the last time //@mutate stay
        ht_mbar_wait(smem + EMPTY + (unsigned)stage * 8, phase); //@mutate wait-empty
        stage = stage + 1 == RING_STAGES ? 0 : stage + 1;
        phase ^= stage == 0;
    }
}

// ---- scales: what the epilogue undoes, found by a warp beside the producer while the others multiply ---------------------
// Exponents between -SAFE_EXPONENT and SAFE_EXPONENT are far from the ends of FP32's range: multiplying by one scale after the other cannot
// lose anything.
constexpr int SAFE_EXPONENT = 62;

HT_DEVICE bool is_safe_exponent(int exponent)
{
    return exponent >= -SAFE_EXPONENT && exponent <= SAFE_EXPONENT;
}

HT_DEVICE unsigned or_of_lanes(unsigned x)
{
    for (int m = 16; m > 0; m /= 2)
        x |= (unsigned)ht_shfl_xor((int)x, m);
    return x;
}

// Exponent of the scale of row `at` of one operand; 0 beyond its rows, and for rows of zeros, whose sums are zeros: any scale is safe.
HT_DEVICE int exponent_of_magnitude(int magnitude)
{
    return magnitude == 0 ? 0 : ht_row_exponent(magnitude);
}

HT_DEVICE int exponent_of(const int *absmax, long long entry, int at, int rows)
{
    return exponent_of_magnitude(SCALES_ROWS && at < rows ? ht_ldg_i32(absmax + entry + at) : 0);
}

// The larger of two thresholds, as bits: what is negative asks for nothing, and NaN is larger than all others.
HT_DEVICE unsigned larger_threshold(unsigned most, float threshold)
{
    const unsigned own = threshold < 0.0f ? 0 : ht_as_uint(threshold);
    return own > most ? own : most;
}

HT_DEVICE float largest_of_lanes(unsigned most)
{
    for (int m = 16; m > 0; m /= 2)
        most = larger_threshold(most, ht_as_float((unsigned)ht_shfl_xor((int)most, m)));
    return ht_as_float(most);
}

// What a warp has found of a tile's rows, or columns: a bit for each 16 whose exponents are not all safe, and the largest threshold.
struct side_of_tile {
    unsigned unsafe;
    float most;
};

// COUNT rows of an operand from `first` on: 2^exponent of each to `scales`. sums: nullptr where nothing is tested; thresholds: where those of
// rows go, but for 64 rows with too few elements, or 0.
template <int COUNT>
HT_DEVICE side_of_tile load_side(const int *absmax, const int *sums, int first, int rows, unsigned scales, unsigned thresholds)
{
    constexpr int AT_ONCE = COUNT < 128 ? COUNT / 32 : COUNT % 128 == 0 ? 4 : 3; // rows of a lane, whose loads are in flight together
    static_assert(COUNT % (32 * AT_ONCE) == 0, "a lane has whole groups of rows");
    const int lane = (int)threadIdx.x & 31;
    unsigned unsafe = 0, most = 0;
    if (sums != nullptr && lane * 64 < COUNT && first + lane * 64 < rows && ht_is_sparse(sums, first + lane * 64, rows))
        most = HT_NAN_BITS; //@mutate sparse-tile
#pragma unroll 1
    for (int i = 0; i < COUNT; i += 32 * AT_ONCE) {
        int magnitude[AT_ONCE], lost[AT_ONCE];
        for (int q = 0; q < AT_ONCE; q++) {
            const int row = first + i + q * 32 + lane;
            magnitude[q] = row < rows ? ht_ldg_i32(absmax + row) : 0;
            lost[q] = sums != nullptr && row < rows ? ht_ldg_i32(sums + row) : 0;
        }
        for (int q = 0; q < AT_ONCE; q++) {
            const int e = exponent_of_magnitude(magnitude[q]), at = i + q * 32 + lane;
            const float threshold = ht_threshold_of(lost[q], magnitude[q]);
            unsafe |= is_safe_exponent(e) ? 0 : 1u << at / 16;
            most = larger_threshold(most, threshold); //@mutate largest-threshold
            ht_sts4(scales + (unsigned)at * 4, ht_pow2(e));
            if (CHECKS && thresholds != 0)
                ht_sts4(thresholds + (unsigned)at * 4, threshold);
        }
    }
    return {or_of_lanes(unsafe), largest_of_lanes(most)};
}

// 2^exponent of the tile's rows and columns, one word with a bit for each 16 columns whose exponents are safe, if all rows are, and one with what
// results of the tile must reach for the certificate; negative: nothing is tested.
HT_DEVICE void load_scales(const ht_gemm_args &g, unsigned smem)
{
    const unsigned rows = smem + SCALES, columns = rows + BM * 4, words = columns + BN * 4;
    unsigned phase = 1; // nobody has to use the first //@mutate producer-phase
    for (int item = (int)blockIdx.x / CLUSTER; item < tile_count(g); item += (int)gridDim.x / CLUSTER) {
        const work_tile w = next_tile(g, item);
        ht_pdl_wait(); //@mutate find-scales
        ht_pdl_trigger();
        const bool may_test = CHECKS && g.failed && g.splits == 1; // split-K partials are stored in any case, the reduction tests
        const bool tests = may_test && ht_certificate_needed(g);
        if (threadIdx.x % 32 == 0)
            ht_mbar_wait(smem + SCALES_EMPTY, phase); // most of a tile's time: one lane asks //@mutate wait-spent
        ht_warp_sync();
        phase ^= 1;
        const side_of_tile a = load_side<BM>(g.a_packed.row_absmax + w.entry * g.a_packed.absmax_stride, may_test ? g.a_packed.row_sums + w.entry * g.a_packed.sums_stride : nullptr,
                                             w.m0, g.m, rows, smem + THRESHOLDS); //@mutate scales-of-rows
        const side_of_tile b = load_side<BN>(g.b_packed.row_absmax + w.entry * g.b_packed.absmax_stride, may_test ? g.b_packed.row_sums + w.entry * g.b_packed.sums_stride : nullptr,
                                             w.n0, g.n, columns, 0); //@mutate scales-of-columns
        const float most = __fadd_rn(a.most, b.most); //@mutate largest-of-sides
        if (threadIdx.x % 32 == 0)
            ht_sts8(words, a.unsafe == 0 ? ~b.unsafe : 0, ht_as_uint(tests ? most : -1.0f));
        ht_mbar_arrive(smem + SCALES_FULL); // each lane, for what it has stored
    }
}

// ---- the epilogue -----------------------------------------------------------------------------------------------
// A warp holds 16 columns of each 64, in a tensor core's order. They go through an epilogue buffer of shared memory, 64 rows at a time, and
// leave it as they lie in C. The way out is there once, for all parts of a tile: code that runs once a tile takes longer to be
// fetched than to run.
//
//   buffer: 16 columns of PART_ROWS; row r of column c in place r ^ 8 (c mod 4), so that neither the stores (8 columns x 2 rows
//   a lane) nor the loads (rows in sequence) meet a bank twice; columns of 16 64-bit sums have two places only
constexpr int PARTS = N_SUBTILES * A_BLOCKS;                   // of a warpgroup's results: 64 columns x PART_ROWS
constexpr int SUM_ROWS = EPI_BUFFER_BYTES / 16 / (int)sizeof(ht_sum); // of an epilogue buffer of sums, where they leave as they are
constexpr int VEC4_LANES = PART_ROWS / 4, VEC4_COLUMNS = 32 / VEC4_LANES; // four rows a lane: of a column, that a warp stores at once

struct alpha_beta {
    float alpha, beta;
};

HT_DEVICE alpha_beta load_alpha_beta(const ht_gemm_args &g)
{
    return {ht_value_of(g.to.alpha), ht_value_of(g.to.beta)};
}

template <class NUMBER> HT_DEVICE unsigned epi_buffer_address(unsigned epi_buffer, int column, int row)
{
    constexpr int PLACES = EPI_BUFFER_BYTES / 16 / (int)sizeof(NUMBER) < 32 ? 1 : 3;
    return epi_buffer + (unsigned)(column * (EPI_BUFFER_BYTES / 16) + (row ^ (column & PLACES) * 8) * (int)sizeof(NUMBER));
}

// One element of all accumulators, combined as the scheme says; accumulator l lies N_SUBTILES * ACC_REGS elements after l - 1.
HT_DEVICE ht_sum result_of(const ht_acc *acc)
{
    ht_acc v[ACCS];
    for (int l = 0; l < ACCS; l++)
        v[l] = acc[l * N_SUBTILES * ACC_REGS];
    return ht_combine(v);
}

// What a warp needs to know while its results leave.
struct epilogue_ctx {
    const ht_gemm_args &g;
    const work_tile &w;
    alpha_beta by;
    unsigned epi_buffer, scales; // this warp's, the tile's
    int lane;
    bool tests; // for the certificate
};

// Where an epilogue buffer belongs: its first row and column of C.
struct tile_coord {
    int row, col;
};

HT_DEVICE float scaled(float v, float scale)
{
    return SCALES_ROWS ? __fmul_rn(v, scale) : v;
}

// PART_ROWS rows from registers, scaled by their columns: lane (q = lane / 4, t = lane % 4) holds columns q and q + 8, whose scales are
// across[0] and [1], and in each group of eight rows rows 2t and 2t + 1.
HT_DEVICE void fill_scaled(const epilogue_ctx &o, const float *v, const float *across)
{
    const int column = o.lane / 4, row = o.lane % 4 * 2; //@mutate rows-of-lane
#pragma unroll
    for (int i = 0; i < PART_ROWS / 8; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            ht_sts_two(epi_buffer_address<float>(o.epi_buffer, column + h * 8, i * 8 + row), scaled(v[i * 4 + h * 2], across[h]), //@mutate columns-of-half
                       scaled(v[i * 4 + h * 2 + 1], across[h]));
        }
    }
}

// SUM_ROWS rows as they are.
HT_DEVICE void fill_sums(const epilogue_ctx &o, const ht_acc *acc)
{
    const int column = o.lane / 4, row = o.lane % 4 * 2; //@mutate rows-of-lane
#pragma unroll
    for (int i = 0; i < SUM_ROWS / 8; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            ht_sts_two(epi_buffer_address<ht_sum>(o.epi_buffer, column + h * 8, i * 8 + row), result_of(acc + i * 4 + h * 2), //@mutate columns-of-half
                       result_of(acc + i * 4 + h * 2 + 1));
        }
    }
}

// Where a tile's results go: C, or a split-K slice of its own.
struct output_view {
    float *c;
    long long ld;
    float alpha, beta;
};

HT_DEVICE output_view output_view_of(const epilogue_ctx &o)
{
    const ht_gemm_args &g = o.g;
    if (g.splits > 1)
        return {g.partial + ((long long)o.w.entry * g.splits + o.w.split) * g.n * g.m, g.m, 1.0f, 0.0f};
    return {(float *)g.to.c + (long long)o.w.entry * g.to.stride, g.to.ldc, o.by.alpha, o.by.beta};
}

// What load_scales has left of a row or column of C, or of four rows.
HT_DEVICE float scale_of_row(const epilogue_ctx &o, int row)
{
    return SCALES_ROWS ? ht_lds4(o.scales + (unsigned)(row - o.w.m0) * 4) : 1.0f;
}

HT_DEVICE float scale_of_column(const epilogue_ctx &o, int col)
{
    return SCALES_ROWS ? ht_lds4(o.scales + (unsigned)(BM + col - o.w.n0) * 4) : 1.0f;
}

struct row_scales {
    float of[4];
};

HT_DEVICE row_scales scales_of_rows(const epilogue_ctx &o, int row)
{
    row_scales s = {{1.0f, 1.0f, 1.0f, 1.0f}};
    if (SCALES_ROWS)
        ht_lds_four(o.scales + (unsigned)(row - o.w.m0) * 4, s.of);
    return s;
}

// Exponent of the scale of any row or column of C.
HT_DEVICE int row_exponent(const epilogue_ctx &o, int row)
{
    return exponent_of(o.g.a_packed.row_absmax, o.w.entry * o.g.a_packed.absmax_stride, row, o.g.m);
}

HT_DEVICE int column_exponent(const epilogue_ctx &o, int col)
{
    return exponent_of(o.g.b_packed.row_absmax, o.w.entry * o.g.b_packed.absmax_stride, col, o.g.n);
}

// Safe scales, which a part of FP32 sums has undone as C has. All of the epilogue buffer inside C, columns that begin at multiples of 16 bytes:
// four rows a lane.
HT_DEVICE void store_vec4(const epilogue_ctx &o, const output_view &to, const tile_coord &at)
{
    const int row = o.lane % VEC4_LANES * 4, first = o.lane / VEC4_LANES;
    float *c = to.c + (long long)(at.col + first) * to.ld + at.row + row;
    const row_scales along = scales_of_rows(o, at.row + row);
#pragma unroll
    for (int column = 0; column < 16; column += 4 * VEC4_COLUMNS) { // four of each lane's columns in flight
        float v[4][4];
        for (int i = 0; i < 4; i++)
            ht_lds_four(epi_buffer_address<float>(o.epi_buffer, column + i * VEC4_COLUMNS + first, row), v[i]);
        for (int i = 0; i < 4; i++) {
            for (int q = 0; q < 4; q++)
                v[i][q] = __fmul_rn(to.alpha, scaled(v[i][q], along.of[q]));
            ht_stg16(c, make_uint4(ht_as_uint(v[i][0]), ht_as_uint(v[i][1]), ht_as_uint(v[i][2]), ht_as_uint(v[i][3])));
            c += VEC4_COLUMNS * to.ld;
        }
    }
}

// The same where C is read: registers are left for two columns.
HT_DEVICE void add_vec4(const epilogue_ctx &o, const output_view &to, const tile_coord &at)
{
    const int row = o.lane % VEC4_LANES * 4, first = o.lane / VEC4_LANES;
    float *c = to.c + (long long)(at.col + first) * to.ld + at.row + row;
    const row_scales along = scales_of_rows(o, at.row + row);
#pragma unroll 1
    for (int column = 0; column < 16; column += 2 * VEC4_COLUMNS) {
        float v[2][4];
        uint4 old[2];
        for (int i = 0; i < 2; i++)
            old[i] = ht_ldg16(c + i * VEC4_COLUMNS * to.ld);
        for (int i = 0; i < 2; i++)
            ht_lds_four(epi_buffer_address<float>(o.epi_buffer, column + i * VEC4_COLUMNS + first, row), v[i]);
        for (int i = 0; i < 2; i++) {
            const unsigned bits[4] = {old[i].x, old[i].y, old[i].z, old[i].w};
            for (int q = 0; q < 4; q++)
                v[i][q] = __fmaf_rn(to.beta, ht_as_float(bits[q]), __fmul_rn(to.alpha, scaled(v[i][q], along.of[q]))); //@mutate vec4-old
            ht_stg16(c, make_uint4(ht_as_uint(v[i][0]), ht_as_uint(v[i][1]), ht_as_uint(v[i][2]), ht_as_uint(v[i][3])));
            c += VEC4_COLUMNS * to.ld;
        }
    }
}

// The same at C's edges and wherever a column begins: a row a lane, columns by fours, so that one does not wait for the other's loads. keeps: what is
// not cleared stays as it is, since C is read.
HT_DEVICE void store_scalar(const epilogue_ctx &o, const output_view &to, const tile_coord &at, bool keeps)
{
    const int columns = o.g.n - at.col;
#pragma unroll 1
    for (int row = o.lane; row < PART_ROWS && at.row + row < o.g.m; row += 32) { //@mutate rows-of-part
        const float along = scale_of_row(o, at.row + row);
        float *c = to.c + at.col * to.ld + at.row + row;
#pragma unroll 1
        for (int column = 0; column < 16; column += 4) {
            float v[4], old[4];
            bool stays[4];
            for (int q = 0; q < 4; q++) {
                const bool there = column + q < columns; //@mutate columns-of-part
                stays[q] = !there || (keeps && ht_ldg_i32((const int *)ht_failed_word(o.g, o.w.entry, at.row + row, at.col + column + q)) >> row % 32 & 1);
                old[q] = there && to.beta != 0.0f ? ht_ldg4(c + q * to.ld) : 0.0f;
            }
            for (int q = 0; q < 4; q++)
                ht_lds_one(epi_buffer_address<float>(o.epi_buffer, column + q, row), &v[q]);
            for (int q = 0; q < 4; q++) {
                v[q] = __fmul_rn(to.alpha, scaled(v[q], along));
                if (!stays[q])
                    ht_stg4(c, to.beta != 0.0f ? __fmaf_rn(to.beta, old[q], v[q]) : v[q]);
                c += to.ld;
            }
        }
    }
}

// One element, stored as a split-K part or combined with C. beta == 0 does not read C. exponent: of the row's and the column's
// scale together.
HT_DEVICE void store_one(const epilogue_ctx &o, ht_sum sum, int exponent, int row, int col)
{
    const ht_gemm_args &g = o.g;
    const ht_sum part = ht_partial(sum, exponent);
    if (g.splits > 1) {
        ht_stg_sum(g.partial, (((long long)o.w.entry * g.splits + o.w.split) * g.n + col) * g.m + row, part);
        return;
    }
    float *c = (float *)g.to.c + (long long)o.w.entry * g.to.stride + (long long)col * g.to.ldc + row;
    ht_stg4(c, ht_axpby(o.by.alpha, ht_finish(part, exponent), o.by.beta, c));
}

// A column's bits of 32 rows, of each lane its own.
HT_DEVICE unsigned failed_word(const epilogue_ctx &o, bool fails)
{
    unsigned word = fails ? 1u << o.lane : 0;
    for (int m = 1; m < 32; m *= 2)
        word |= (unsigned)ht_shfl_xor((int)word, m);
    return word;
}

// Those of four columns from `col` on, of which lane q has column q's.
HT_DEVICE void store_failed(const epilogue_ctx &o, unsigned word, int row, int col)
{
    if (o.lane >= 4 || row >= o.g.m || col + o.lane >= o.g.n)
        return;
    unsigned *const to = ht_failed_word(o.g, o.w.entry, row, col + o.lane);
    ht_stg_i32((int *)to, (int)word); //@mutate wgmma-store-failed
    ht_list_failed(o.g, to, word); //@mutate wgmma-list
}

// Bits of PART_ROWS x 16 results in an epilogue buffer, scaled by their columns: a lane has a word, 32 rows of a column. Whether any has a bit: it is
// computed again. Where C is not read all results are stored.
HT_DEVICE bool test_part(const epilogue_ctx &o, const tile_coord &at)
{
    const int column = o.lane / 2, col = at.col + column, first = o.lane % 2 * 32, row0 = at.row + first;
    const bool inside = first < PART_ROWS && row0 < o.g.m && col < o.g.n;
    unsigned word = 0;
    if (inside) {
        const float of_column = ht_column_threshold_inside(o.g, o.w.entry, col); // whatever the rows are: all loads are in flight together
        const float asked = ht_is_sparse(o.g.a_packed.row_sums + o.w.entry * o.g.a_packed.sums_stride, row0, o.g.m) ? ht_as_float(HT_NAN_BITS) : of_column;
        const float undo = ht_as_float(0x7f000000u - ht_as_uint(scale_of_column(o, col))); // 1 / scale
#pragma unroll 1
        for (int from = 0; from < 32; from += 4) { // four at once: one does not wait for the other's loads
            float v[4], threshold[4];
            for (int q = 0; q < 4; q++) {
                const int row = (int)((unsigned)(from + q + o.lane) % 32); // each lane another bank's
                ht_lds_one(epi_buffer_address<float>(o.epi_buffer, column, first + row), &v[q]);
                threshold[q] = ht_lds4(o.scales + (unsigned)(THRESHOLDS - SCALES + (row0 + row - o.w.m0) * 4));
            }
            for (int q = 0; q < 4; q++) {
                const int row = (int)((unsigned)(from + q + o.lane) % 32);
                if (row0 + row < o.g.m && !ht_is_cleared(__fmul_rn(v[q], undo), threshold[q], asked)) //@mutate wgmma-part
                    word |= 1u << row;
            }
        }
        unsigned *const to = ht_failed_word(o.g, o.w.entry, row0, col);
        ht_stg_i32((int *)to, (int)word); //@mutate wgmma-store-part
        ht_list_failed(o.g, to, word); //@mutate wgmma-list-part
    }
    return or_of_lanes(word) != 0;
}

// Everything else, as store_scalar goes, from an epilogue buffer of sums; what the certificate does not clear stays as it is.
HT_DEVICE void store_sums(const epilogue_ctx &o, const tile_coord &at)
{
#pragma unroll 1
    for (int first = 0; first < SUM_ROWS && at.row + first < o.g.m; first += 32) {
        const int row = first + o.lane % SUM_ROWS, inside = at.row + row < o.g.m && o.lane < SUM_ROWS; //@mutate rows-of-c
        const int along = row_exponent(o, at.row + row);
        const float threshold = CHECKS && o.tests ? ht_row_threshold(o.g, o.w.entry, at.row + row) : 0.0f;
#pragma unroll 1
        for (int column = 0; column < 16; column += 4) { // four at once: one does not wait for the other's loads
            int exponent[4];
            ht_sum v[4];
            for (int q = 0; q < 4; q++) {
                exponent[q] = along + column_exponent(o, at.col + column + q); //@mutate scale-of-column
                ht_lds_one(epi_buffer_address<ht_sum>(o.epi_buffer, column + q, row), &v[q]);
            }
            unsigned own = 0;
            for (int q = 0; q < 4; q++) {
                const int col = at.col + column + q;
                bool fails = false;
                if (CHECKS && o.tests) {
                    fails = inside && col < o.g.n && !ht_is_cleared((float)v[q], threshold, ht_column_threshold(o.g, o.w.entry, col)); //@mutate wgmma-cleared
                    const unsigned word = failed_word(o, fails);
                    own = o.lane == q ? word : own;
                }
                if (inside && col < o.g.n && !fails) //@mutate columns-of-sums
                    store_one(o, v[q], exponent[q], at.row + row, col);
            }
            if (CHECKS && o.tests)
                store_failed(o, own, at.row + first, at.col + column);
        }
    }
}

// A bit for each part of which the warp has a result below what the largest thresholds of the tile ask for: mostly none.
HT_DEVICE unsigned parts_to_test(const float *v, float most)
{
    unsigned parts = 0;
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
        bool all = true;
        for (int i = 0; i < PART_ROWS / 2; i++)
            all &= ht_is_cleared(v[p * (PART_ROWS / 2) + i], most, 0.0f); //@mutate all-cleared
        parts |= all ? 0 : 1u << p;
    }
    return or_of_lanes(parts);
}

// Of PART_ROWS x 16 results none has failed.
HT_DEVICE void store_none_failed(const epilogue_ctx &o, const tile_coord &at)
{
    const int column = o.lane / 2, row = at.row + o.lane % 2 * 32;
    if (o.lane % 2 * 32 < PART_ROWS && row < o.g.m && at.col + column < o.g.n)
        ht_stg_i32((int *)ht_failed_word(o.g, o.w.entry, row, at.col + column), 0); //@mutate none-failed
}

// PART_ROWS x 16 results at `at`, part `part` of the thread's, whose scales are all safe. may_fail: some may not be cleared. Whether some are not.
HT_DEVICE bool store_scaled_part(const epilogue_ctx &o, const output_view &to, const float *v, int part, const tile_coord &at, bool may_fail)
{
    const int column = at.col + o.lane / 4; //@mutate first-column
    const float across[2] = {ht_round_scale(scale_of_column(o, column)), ht_round_scale(scale_of_column(o, column + 8))};
#pragma unroll
    for (int p = 0; p < PARTS; p++) { // registers have no addresses
        if (p == part)
            fill_scaled(o, v + p * (PART_ROWS / 2), across); //@mutate part-scaled
    }
    ht_warp_sync();
    bool fails = false;
    if (CHECKS && may_fail)
        fails = test_part(o, at);
    else if (CHECKS && o.tests)
        store_none_failed(o, at);
    const bool keeps = fails && to.beta != 0.0f; //@mutate part-keeps
    if (keeps)
        ht_warp_sync(); // each lane reads bits that others have stored
    if (keeps || at.row + PART_ROWS > o.g.m || at.col + 16 > o.g.n || ((unsigned long long)to.c & 15) != 0 || to.ld % 4 != 0)
        store_scalar(o, to, at, keeps);
    else if (to.beta != 0.0f)
        add_vec4(o, to, at);
    else
        store_vec4(o, to, at);
    ht_warp_sync(); //@mutate part-written
    return fails;
}

// Where part `part` of a warpgroup's results begins, its first row and column of C; n0: of the warpgroup's columns.
HT_DEVICE tile_coord part_at(const work_tile &w, int n0, int part)
{
    return {w.m0 + part % A_BLOCKS * 64, n0 + part / A_BLOCKS * 64};
}

// Whether the warp's results, 16 of each 64 columns from column `first` on, can be scaled one step after the other. One row whose scale is not safe
// sends all of the tile the general way.
HT_DEVICE bool has_safe_scales(const epilogue_ctx &o, unsigned safe_columns, int first)
{
    for (int s = 0; s < N_SUBTILES; s++) {
        if (!(safe_columns >> ((first - o.w.n0) / 16 + s * 4) & 1))
            return false;
    }
    return o.g.splits > 1 ? sizeof(ht_sum) == 4 : o.by.alpha != 0.0f;
}

// A warp's results. phase: of the tile's scales. Whether some may not be cleared.
HT_DEVICE bool store_results(const ht_gemm_args &g, const work_tile &w, unsigned smem, unsigned phase, const ht_acc *acc)
{
    const int thread = (int)threadIdx.x + (int)ht_opaque(0), warp = thread / 32; // worked out here, not kept in registers before
    unsigned safe_columns = 0xffffffffu; // a bit for each 16 (load_scales)
    float most = -1.0f; // what results must reach
    if (SCALES_ROWS) {
        ht_mbar_wait(smem + SCALES_FULL, phase); //@mutate wait-scaled
        safe_columns = ht_as_uint(ht_lds4(smem + SCALES + (BM + BN) * 4));
        most = ht_lds4(smem + SCALES + (BM + BN) * 4 + 4);
    }
    const bool tests = CHECKS && !(most < 0.0f);
    const epilogue_ctx o = {g, w, load_alpha_beta(g), smem + EPI_BUFFERS + (unsigned)warp * EPI_BUFFER_BYTES, smem + SCALES, thread % 32, tests}; //@mutate epi_buffer
    const int n0 = w.n0 + warp / 4 * WN, column = warp % 4 * 16; // of the warp, in each 64
    if (has_safe_scales(o, safe_columns, n0 + column)) {
        const output_view to = output_view_of(o);
        float v[N_SUBTILES * ACC_REGS];
        for (int i = 0; i < N_SUBTILES * ACC_REGS; i++)
            v[i] = ht_round(result_of(acc + i));
        const unsigned may_fail = CHECKS && !(most <= 0.0f) ? parts_to_test(v, most) : 0;
        bool fails = false;
#pragma unroll 1
        for (int part = 0; part < PARTS; part++) {
            const tile_coord at = part_at(w, n0, part);
            fails |= store_scaled_part(o, to, v, part, {at.row, at.col + column}, (may_fail >> part & 1) != 0);
        }
        return fails;
    }
#pragma unroll
    for (int p = 0; p < PARTS * PART_ROWS / SUM_ROWS; p++) { // unrolled: accumulators that have left are room for what the others need
        const tile_coord at = part_at(w, n0, p * SUM_ROWS / PART_ROWS);
        fill_sums(o, acc + p * (SUM_ROWS / 2)); //@mutate part-sums
        ht_warp_sync();
        store_sums(o, {at.row + p * SUM_ROWS % PART_ROWS, at.col + column});
        ht_warp_sync(); //@mutate part-written
    }
    return tests;
}

// What no warp has cleared of all the block's tiles, where that is worth no launch: behind the last, so that nothing of it stands between them. left:
// this warp has some.
HT_DEVICE void fallback(const ht_gemm_args &g, unsigned smem, bool left)
{
    constexpr int WARPS = CONSUMER_WARPGROUPS * 4, BLOCKS = A_BLOCKS * B_BLOCKS, TERM_BUFFERS = ht_term_buffers<RING_STAGES * STAGE_BYTES / WARPS>;
    const int warp = (int)threadIdx.x / 32, cluster = (int)blockIdx.x / CLUSTER, clusters = (int)gridDim.x / CLUSTER;
    const ht_notes notes = {smem + EPI_BUFFERS, EPI_BUFFER_BYTES, smem + (unsigned)(warp * TERM_BUFFERS * TERM_BYTES)}; // all tiles have left the ring
    if (!ht_any_of_warps<WARPS>(notes, left))
        return;
    const int blocks = (tile_count(g) - cluster + clusters - 1) / clusters * BLOCKS;
#pragma unroll 1
    for (int first = 0; first < blocks; first += WARPS * NOTED_BLOCKS_MOST) { //@mutate inside-rounds
        ht_noted_counts counts = {0, 0};
#pragma unroll 1
        for (int at = first + warp; at < blocks && at < first + WARPS * NOTED_BLOCKS_MOST; at += WARPS) {
            const work_tile w = next_tile(g, cluster + at / BLOCKS * clusters); //@mutate inside-tile
            const int row = w.m0 + at % A_BLOCKS * 64, col = w.n0 + at % BLOCKS / A_BLOCKS * 64; //@mutate inside-block
            if (row < g.m && col < g.n)
                ht_note_block<PART_ROWS>(g, w.entry, row, col, ht_notes_of(notes, warp), &counts);
        }
        ht_fallback_noted<WARPS, PART_ROWS, TERM_BUFFERS>(g, notes, counts);
    }
}

// ---- consumers ----------------------------------------------------------------------------------------------------
HT_DEVICE void consume(const ht_gemm_args &g, unsigned smem)
{
    const int wg = ht_uniform((int)threadIdx.x / 128), lane = (int)threadIdx.x & 31;
    const unsigned order_barrier = smem + ORDER + (unsigned)wg * 8, next_order_barrier = smem + ORDER + (unsigned)((wg + 1) % CONSUMER_WARPGROUPS) * 8;
    const unsigned a_desc = ht_operand(smem), b_desc = ht_operand(smem + A_BYTES + wg * N_SUBTILES * 8192);
    int stage = 0;
    unsigned phase = 0, order_phase = wg == 0, scales_phase = 0; // the first turn is warpgroup 0's //@mutate consumer-phase
    ht_acc acc[ACCS][N_SUBTILES][ACC_REGS];
    ht_acc temp[CHAIN_REGS]; // the chain of a chunk, where chains are promoted
    bool left = false; // of this warp's results, that may not be cleared
    for (int item = (int)blockIdx.x / CLUSTER; item < tile_count(g); item += (int)gridDim.x / CLUSTER) {
        const work_tile w = next_tile(g, item); //@mutate consumer-work
#pragma unroll
        for (int l = 0; l < ACCS; l++) {
#pragma unroll
            for (int s = 0; s < N_SUBTILES; s++) {
                for (int i = 0; i < ACC_REGS; i++)
                    acc[l][s][i] = 0;
            }
        }
        int chain = 0; // chunks since exact sums were carried
        ht_pdl_wait();
        ht_pdl_trigger();
        //@emit chunks
        for (int chunk = 0; chunk < w.chunks; chunk++) {
            const unsigned at = (unsigned)stage * (STAGE_BYTES / 16);
#pragma unroll
            for (int s = 0; s < N_SUBTILES; s++) {
                ht_mbar_wait(order_barrier, order_phase);
                order_phase ^= 1;
#pragma unroll
                for (int c = 0; c < PROMOTE_TILES; c++) { // corrections of the whole chunk first, while the sum is small
                    if (s == 0) //@mutate wait-full
                        ht_mbar_wait(smem + FULL + (stage + c) * 8, phase); //@mutate wait-full
                    ht_wgmma_fence(); //@mutate fence
#pragma unroll
                    for (int k = 0; k < BK / 16; k++) {
                        const unsigned a = a_desc + at + c * (STAGE_BYTES / 16) + k * 2;
                        const unsigned b = b_desc + at + c * (STAGE_BYTES / 16) + s * 512 + k * 2; //@mutate descriptor-b
                        ht_wgmma(ht_width<BM>(), temp, b, a + 4, c + k > 0); //@mutate mma-ab
                        ht_wgmma(ht_width<BM>(), temp, b + 4, a, 1); //@mutate mma-ba
                    }
                }
#pragma unroll
                for (int c = 0; c < PROMOTE_TILES; c++) {
#pragma unroll
                    for (int k = 0; k < BK / 16; k++) {
                        const unsigned a = a_desc + at + c * (STAGE_BYTES / 16) + k * 2;
                        const unsigned b = b_desc + at + c * (STAGE_BYTES / 16) + s * 512 + k * 2; //@mutate descriptor-b
                        ht_wgmma(ht_width<BM>(), temp, b, a, 1); //@mutate mma-hi
                    }
                }
                ht_wgmma_commit(); //@mutate commit
                if (lane == 0) //@mutate turn-lane
                    ht_mbar_arrive(next_order_barrier); //@mutate turn
                ht_wgmma_wait<0>(); //@mutate wait-chain
                ht_wgmma_fence_operand<ACC_REGS>(temp); //@mutate pin
                if (s == N_SUBTILES - 1 && lane < CLUSTER) { //@mutate who-releases
                    const unsigned block = ht_cluster_address(smem, lane); //@mutate release-to
#pragma unroll
                    for (int c = 0; c < PROMOTE_TILES; c++) {
                        ht_mbar_arrive_cluster(block + EMPTY + (stage + c) * 8); //@mutate release
                    }
                }
                ht_promote_chain<ACC_REGS>(acc[0][s], temp); //@mutate promote
            }
            stage = stage + PROMOTE_STAGES == RING_STAGES ? 0 : stage + PROMOTE_STAGES;
            phase ^= stage == 0; //@mutate consumer-parity
        }
        //@end
        left = store_results(g, w, smem, scales_phase, acc[0][0]) || left;
        scales_phase ^= 1; //@mutate scales-parity
        ht_warp_sync();
        if (SCALES_ROWS && lane == 0)
            ht_mbar_arrive(smem + SCALES_EMPTY); //@mutate spent
    }
    if (CHECKS && g.fallback_in_kernel)
        fallback(g, smem, left);
}

static __global__ void __launch_bounds__(BOUND, 1) gemm(const ht_gemm_args g)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    if (threadIdx.x == 0) {
        for (int s = 0; s < RING_STAGES; s++) {
            ht_mbar_init(smem + FULL + s * 8, 1);
            ht_mbar_init(smem + EMPTY + s * 8, CONSUMER_WARPGROUPS * 4 * CLUSTER); // one arrival of each consumer warp //@mutate arrivals-of-stage
        }
        for (int w = 0; w < CONSUMER_WARPGROUPS; w++)
            ht_mbar_init(smem + ORDER + w * 8, 4);
        if (SCALES_ROWS) {
            ht_mbar_init(smem + SCALES_FULL, 32);
            ht_mbar_init(smem + SCALES_EMPTY, CONSUMER_WARPGROUPS * 4);
        }
        ht_mbar_init_done(); //@mutate published
    }
    ht_cluster_barrier(); //@mutate meet
    if (CHECKS && ht_leaves_all<THREADS>(g)) // all of a cluster alike
        return;
    if (ht_uniform((int)threadIdx.x / 128) == CONSUMER_WARPGROUPS) {
        ht_reg_dealloc<PRODUCER_REGISTERS>();
        const int warp = ht_uniform((int)threadIdx.x / 32) - CONSUMER_WARPGROUPS * 4;
        if (warp == 0) {
            if (ELECT_PRODUCER ? ht_elect() : threadIdx.x % 32 == 0)
                produce(g, smem);
        } else if (SCALES_ROWS && warp == 1)
            load_scales(g, smem);
    } else {
        ht_reg_alloc<CONSUMER_REGISTERS>();
        consume(g, smem); //@mutate consumers
    }
}

static int init(void)
{
    return ht_prefer_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const long long tiles = (long long)((g.m + CLUSTER_M - 1) / CLUSTER_M) * ((g.n + CLUSTER_N - 1) / CLUSTER_N);
    const long long items = tiles * g.splits * g.batch, most = SMS / CLUSTER;
    if (items > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than the kernel can count
    return ht_launch_dependent(gemm, (unsigned)(items < most ? items : most) * CLUSTER, 1, 1, THREADS, SMEM_BYTES, stream, g, CLUSTER); //@mutate grid
}
