#include "sample_wgmma.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of C. Its last warpgroup copies operand panels into a ring of SLOTS slots, the others multiply:
// warpgroup w has WN columns of C, in SUBS parts of 64, and all BM rows. The matrix unit sees C transposed, 64 columns of
// C by BM rows, so that a thread's results are neighbours in memory.
//
//   slot: [ A atoms: BM/64 row blocks ][ B atoms: BN/64 row blocks ]     8192 bytes each; GROUP slots hold all slices of BK
//
//   producer     copy slot 0 | copy 1 | copy 2 | ...               waits for `empty`, announces `full`
//   warpgroup 0  [chunk 0     ] add |  [chunk 1     ] add |        a chunk is CHUNK times BK: one chain of the matrix unit,
//   warpgroup 1        wait     [chunk 0     ] add |  [chunk 1]    then added up in FP32 while another warpgroup multiplies
//
// Warpgroups take turns in issuing chunks: they stay in step, and so do the blocks of the GPU that share panels in L2.
// Blocks are persistent: each takes every SMS-th work item, and copies of the next begin while the last is stored.
//
// CLUSTER 2: two blocks take neighbouring tiles together and share the panels that both need, those of B (SHARES_B: the tiles
// are neighbours along m) or of A (along n). Each copies half of every shared atom to both:
//
//   block 0, slot: [ own A ][ B, upper halves: own copy | lower halves: from block 1 ]
//   block 1, slot: [ own A ][ B, upper halves: from block 0 | lower halves: own copy ]
//
// so a slot is full when both have copied, and empty when the consumers of both have said so to both (lane r of a warp to
// block r). A block that has no tile, at an odd edge, takes part with the last panels and stores nothing.
constexpr int WGS = BN / WN, SUBS = WN / 64, REGS = BM / 2; // REGS: results of a thread in 64 columns
constexpr int THREADS = (WGS + 1) * 128;
constexpr int A_BLOCKS = BM / 64, B_BLOCKS = BN / 64;
constexpr int A_BYTES = A_BLOCKS * 8192;
constexpr int SLOT_BYTES = (A_BLOCKS + B_BLOCKS) * 8192;
constexpr int CLUSTER_M = SHARES_B ? CLUSTER * BM : BM, CLUSTER_N = SHARES_A ? CLUSTER * BN : BN; // of C
constexpr int GROUP = SLICES / ATOM_SLICES;     // slots of one BK
constexpr int SLOTS = STAGES * GROUP, CHUNK_SLOTS = CHUNK * GROUP;
constexpr int SLAB_BYTES = 4096, SLAB_ROWS = SLAB_BYTES / 16 / (int)sizeof(ht_sum); // of 16 columns: the epilogue
constexpr int SLABS = SLOTS * SLOT_BYTES;       // offset: one for each warp that multiplies
constexpr int FULL = SLABS + WGS * 4 * SLAB_BYTES; // offsets of the barriers, 8 bytes each
constexpr int EMPTY = FULL + SLOTS * 8, TURN = EMPTY + SLOTS * 8;
constexpr int SMEM_BYTES = TURN + WGS * 8;
constexpr int PRODUCER_REGISTERS = WGS > 2 ? 32 : 24, CONSUMER_REGISTERS = WGS > 2 ? 160 : WGS > 1 ? 240 : 248;
constexpr int TEMPS = PROMOTES ? REGS : 1;

// One work item: a tile of C, or one split's part of it; of a cluster, its blocks' tiles.
struct work {
    int m0, n0, entry, split, first, chunks;
};

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that run together
// share panels in L2.
HT_DEVICE work find_work(const ht_gemm_args &g, int item)
{
    const int tiles_m = (g.m + CLUSTER_M - 1) / CLUSTER_M, tiles_n = (g.n + CLUSTER_N - 1) / CLUSTER_N;
    const int tile = item / g.splits % (tiles_m * tiles_n), per_group = RASTER * tiles_n;
    const int row = tile / per_group * RASTER, inside = tile % per_group;
    const int height = tiles_m - row < RASTER ? tiles_m - row : RASTER;
    const int total = g.k_blocks / CHUNK_SLOTS;
    work w;
    w.m0 = (row + inside % height) * CLUSTER_M + (SHARES_B ? ht_cluster_rank() * BM : 0);
    w.n0 = inside / height * CLUSTER_N + (SHARES_A ? ht_cluster_rank() * BN : 0);
    w.entry = item / g.splits / (tiles_m * tiles_n);
    w.split = item % g.splits;
    w.first = (int)((long long)total * w.split / g.splits);
    w.chunks = (int)((long long)total * (w.split + 1) / g.splits) - w.first;
    return w;
}

HT_DEVICE int count_work(const ht_gemm_args &g)
{
    return ((g.m + CLUSTER_M - 1) / CLUSTER_M) * ((g.n + CLUSTER_N - 1) / CLUSTER_N) * g.splits * g.batch;
}

// First atom of a row block; blocks beyond the matrix read its last one, their results are never stored.
HT_DEVICE const unsigned char *panel_row(const unsigned char *panels, int block, int rows, int k_blocks, int k_block)
{
    const int last = (rows + 63) / 64 - 1;
    return panels + ((long long)(block < last ? block : last) * k_blocks + k_block) * 8192;
}

// An atom of a slot; of one that the cluster shares this block's part, for all.
HT_DEVICE void copy_atom(int shared, unsigned to, const unsigned char *from, unsigned full)
{
    constexpr int PART = 8192 / CLUSTER;
    if (shared)
        ht_bulk_copy_all(to + (unsigned)(ht_cluster_rank() * PART), from + ht_cluster_rank() * PART, PART, full);
    else
        ht_bulk_copy(to, from, 8192, full);
}

// ---- the producer: one thread that keeps the ring full ------------------------------------------------------------
HT_DEVICE void produce(const ht_gemm_args &g, unsigned smem)
{
    const int items = count_work(g);
    int slot = 0;
    unsigned phase = 1; // nobody has to empty the first round
    for (int item = (int)blockIdx.x / CLUSTER; item < items; item += (int)gridDim.x / CLUSTER) {
        const work w = find_work(g, item);
        const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
        for (int i = 0; i < A_BLOCKS; i++) {
            src[i] = panel_row(g.a_panels + w.entry * g.a_stride, w.m0 / 64 + i, g.m, g.k_blocks, w.first * CHUNK_SLOTS);
        }
#pragma unroll
        for (int i = 0; i < B_BLOCKS; i++) {
            src[A_BLOCKS + i] =
                panel_row(g.b_panels + w.entry * g.b_stride, w.n0 / 64 + i, g.n, g.k_blocks, w.first * CHUNK_SLOTS);
        }
        for (int k = 0; k < w.chunks * CHUNK_SLOTS; k++) {
            const unsigned to = smem + (unsigned)slot * SLOT_BYTES, full = smem + FULL + (unsigned)slot * 8;
            ht_mbar_wait(smem + EMPTY + (unsigned)slot * 8, phase);
            ht_mbar_expect(full, SLOT_BYTES);
#pragma unroll
            for (int i = 0; i < A_BLOCKS; i++) {
                copy_atom(SHARES_A, to + i * 8192, src[i] + (long long)k * 8192, full);
            }
#pragma unroll
            for (int i = 0; i < B_BLOCKS; i++) {
                copy_atom(SHARES_B, to + A_BYTES + i * 8192, src[A_BLOCKS + i] + (long long)k * 8192, full);
            }
            slot = slot + 1 == SLOTS ? 0 : slot + 1;
            phase ^= slot == 0;
        }
    }
    for (int s = 0; CLUSTER > 1 && s < SLOTS; s++) { // the block stays until the other has arrived for the last time
        ht_mbar_wait(smem + EMPTY + (unsigned)slot * 8, phase);
        slot = slot + 1 == SLOTS ? 0 : slot + 1;
        phase ^= slot == 0;
    }
}

// ---- the epilogue -----------------------------------------------------------------------------------------------
// A warp holds 16 columns of each 64, in a matrix unit's order. They go through a slab of shared memory, SLAB_ROWS rows at a time,
// and leave it as they lie in C, by one short loop for all of them: unrolled, code that runs once a tile takes longer to be
// fetched than to run.
//
//   slab: 16 columns of 256 bytes; row r of column c in place r ^ 8 (c mod 4), so that neither the stores (8 columns x 2 rows
//   a lane) nor the loads (rows in sequence) meet a bank twice
struct scalars {
    float alpha, beta;
};

HT_DEVICE scalars read_scalars(const ht_gemm_args &g)
{
    scalars by;
    by.alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    by.beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    return by;
}

// Exponents between -CALM and CALM are far from the ends of FP32's range: multiplying by one scale after the other cannot
// lose anything.
constexpr int CALM = 62;

HT_DEVICE bool is_calm(int exponent)
{
    return exponent >= -CALM && exponent <= CALM;
}

// Whether it holds for all lanes of the warp.
HT_DEVICE bool all_lanes(bool x)
{
    int all = x;
    all &= ht_shfl_xor(all, 16);
    all &= ht_shfl_xor(all, 8);
    all &= ht_shfl_xor(all, 4);
    all &= ht_shfl_xor(all, 2);
    all &= ht_shfl_xor(all, 1);
    return all != 0;
}

// Exponent of the scale of row `at` of one operand; 0 beyond its rows.
HT_DEVICE int exponent_of(const int *magnitudes, long long entry, int at, int rows)
{
    return SCALES_ROWS && at < rows ? ht_row_exponent(ht_ldg_i32(magnitudes + entry + at)) : 0;
}

HT_DEVICE unsigned slab_address(unsigned slab, int column, int row)
{
    return slab + (unsigned)(column * (SLAB_BYTES / 16) + (row ^ (column & 3) * 8) * (int)sizeof(ht_sum));
}

// One element of all accumulators, combined as the scheme says; accumulator l lies SUBS * REGS elements after l - 1.
HT_DEVICE ht_sum result_of(const ht_acc *acc)
{
    ht_acc v[ACCS];
    for (int l = 0; l < ACCS; l++)
        v[l] = acc[l * SUBS * REGS];
    return ht_combine(v);
}

// SLAB_ROWS rows from registers: lane (g = lane / 4, t = lane % 4) holds columns g and g + 8, and in each group of eight rows
// rows 2t and 2t + 1.
HT_DEVICE void fill_slab(unsigned slab, const ht_acc *acc)
{
    const int column = (int)threadIdx.x >> 2 & 7, row = ((int)threadIdx.x & 3) * 2;
#pragma unroll
    for (int i = 0; i < SLAB_ROWS / 8; i++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            ht_sts_two(slab_address(slab, column + h * 8, i * 8 + row), result_of(acc + i * 4 + h * 2),
                       result_of(acc + i * 4 + h * 2 + 1));
        }
    }
}

// Where a slab belongs: its first row and column of C.
struct place {
    int row, col;
};

// Where a tile's results go: C, or a part of k of its own.
struct target {
    float *c;
    long long ld;
    float alpha;
};

HT_DEVICE target target_of(const ht_gemm_args &g, const work &w, const scalars &by)
{
    if (g.splits > 1)
        return {g.partial + ((long long)w.entry * g.splits + w.split) * g.n * g.m, g.m, 1.0f};
    return {g.c + (long long)w.entry * g.c_stride, g.ldc, by.alpha};
}

// Calm scales, which a part of FP32 sums has undone as C has, and nothing read from C. All of the slab inside C, columns that begin at
// multiples of 16 bytes: four rows a lane, LANES lanes a column.
constexpr int LANES = SLAB_ROWS / 4, AT_ONCE = 32 / LANES;

HT_DEVICE void store_calm(const ht_gemm_args &g, const work &w, const target &to, unsigned slab, const place &at,
                          const int *exponent)
{
    const int lane = (int)threadIdx.x & 31, row = lane % LANES * 4, first = lane / LANES;
    const float scale[4] = {ht_pow2(exponent[0]), ht_pow2(exponent[1]), ht_pow2(exponent[2]), ht_pow2(exponent[3])};
    float *c = to.c + (long long)(at.col + first) * to.ld + at.row + row;
    for (int column = first; column < 16; column += AT_ONCE) {
        const float across = ht_pow2(exponent_of(g.b_exponents, w.entry * g.b_exponent_stride, at.col + column, g.n));
        ht_sum v[4];
        ht_lds_four(slab_address(slab, column, row), v);
        float r[4];
        for (int q = 0; q < 4; q++)
            r[q] = __fmul_rn(to.alpha, ht_finish_calm(v[q], scale[q], across));
        ht_stg16(c, make_uint4(ht_as_uint(r[0]), ht_as_uint(r[1]), ht_as_uint(r[2]), ht_as_uint(r[3])));
        c += AT_ONCE * to.ld;
    }
}

// The same at C's edges and wherever a column begins: a row a lane, columns by fours, so that one does not wait for the other's loads.
HT_DEVICE void store_narrow(const ht_gemm_args &g, const work &w, const target &to, unsigned slab, const place &at)
{
    const int lane = (int)threadIdx.x & 31, columns = g.n - at.col;
    for (int row = lane; row < SLAB_ROWS && at.row + row < g.m; row += 32) {
        const float scale = ht_pow2(exponent_of(g.a_exponents, w.entry * g.a_exponent_stride, at.row + row, g.m));
        float *c = to.c + at.col * to.ld + at.row + row;
        for (int column = 0; column < 16; column += 4) {
            float across[4];
            ht_sum v[4];
            for (int q = 0; q < 4; q++) {
                across[q] = ht_pow2(exponent_of(g.b_exponents, w.entry * g.b_exponent_stride, at.col + column + q, g.n));
                ht_lds_one(slab_address(slab, column + q, row), &v[q]);
            }
            for (int q = 0; q < 4; q++) {
                if (column + q < columns)
                    ht_stg4(c, __fmul_rn(to.alpha, ht_finish_calm(v[q], scale, across[q])));
                c += to.ld;
            }
        }
    }
}

// One element, stored as a split-K part or combined with C. beta == 0 does not read C. exponent: of the row's and the column's
// scale together.
HT_DEVICE void store_one(const ht_gemm_args &g, const work &w, const scalars &by, ht_sum sum, int exponent, int row, int col)
{
    const ht_sum part = ht_part(sum, exponent);
    if (g.splits > 1) {
        ht_stg_sum(g.partial, (((long long)w.entry * g.splits + w.split) * g.n + col) * g.m + row, part);
        return;
    }
    float *c = g.c + (long long)w.entry * g.c_stride + (long long)col * g.ldc + row;
    const float r = by.alpha != 0.0f ? __fmul_rn(by.alpha, ht_finish(part, exponent)) : 0.0f; // ignores A and B, NaN included
    ht_stg4(c, by.beta != 0.0f ? __fmaf_rn(by.beta, ht_ldg4(c), r) : r);
}

// Everything else, as store_narrow goes.
HT_DEVICE void store_any(const ht_gemm_args &g, const work &w, const scalars &by, unsigned slab, const place &at)
{
    const int lane = (int)threadIdx.x & 31;
    for (int row = lane; row < SLAB_ROWS && at.row + row < g.m; row += 32) {
        const int along = exponent_of(g.a_exponents, w.entry * g.a_exponent_stride, at.row + row, g.m);
        for (int column = 0; column < 16; column += 4) { // four at once: one does not wait for the other's loads
            int exponent[4];
            ht_sum v[4];
            for (int q = 0; q < 4; q++) {
                exponent[q] = along + exponent_of(g.b_exponents, w.entry * g.b_exponent_stride, at.col + column + q, g.n);
                ht_lds_one(slab_address(slab, column + q, row), &v[q]);
            }
            for (int q = 0; q < 4; q++) {
                if (at.col + column + q < g.n)
                    store_one(g, w, by, v[q], exponent[q], at.row + row, at.col + column + q);
            }
        }
    }
}

HT_DEVICE void store_slab(const ht_gemm_args &g, const work &w, const scalars &by, unsigned slab, const place &at)
{
    const int lane = (int)threadIdx.x & 31, row = at.row + lane % LANES * 4;
    const target to = target_of(g, w, by);
    const bool inside = at.row + SLAB_ROWS <= g.m && at.col + 16 <= g.n;
    const bool wide = ((unsigned long long)to.c & 15) == 0 && to.ld % 4 == 0;
    bool calm = g.splits > 1 ? sizeof(ht_sum) == 4 : by.beta == 0.0f && by.alpha != 0.0f;
    int e[4];
#pragma unroll
    for (int q = 0; q < 4; q++) {
        e[q] = exponent_of(g.a_exponents, w.entry * g.a_exponent_stride, row + q, g.m);
        calm = calm && is_calm(e[q]);
    }
    calm = calm && is_calm(exponent_of(g.b_exponents, w.entry * g.b_exponent_stride, at.col + lane % 16, g.n));
    if (!all_lanes(calm))
        store_any(g, w, by, slab, at);
    else if (inside && wide)
        store_calm(g, w, to, slab, at, e);
    else
        store_narrow(g, w, to, slab, at);
}

// Which 64 rows of a part of 64 columns the data check leaves to this kernel: bit i for rows m0 + 64 i. Parts of k are
// stored in any case, the reduction asks again.
HT_DEVICE unsigned tame_rows(const ht_gemm_args &g, const work &w, int n0, bool asks)
{
    unsigned tame = (1u << A_BLOCKS) - 1;
    for (int i = 0; asks && n0 < g.n && i < A_BLOCKS && w.m0 + i * 64 < g.m; i++) {
        if (!ht_is_tame(g, w.entry, w.m0 / 64 + i, n0 / 64))
            tame &= ~(1u << i);
    }
    return tame;
}

// Scales of the tile into L1, so that the epilogue does not wait for each.
HT_DEVICE void prefetch_scales(const ht_gemm_args &g, const work &w)
{
    const int lane = (int)threadIdx.x & 31, row = w.m0 + lane * 32, col = w.n0 + lane * 32;
    if (SCALES_ROWS && lane * 32 < BM && row < g.m)
        ht_prefetch(g.a_exponents + w.entry * g.a_exponent_stride + row);
    if (SCALES_ROWS && lane * 32 < BN && col < g.n)
        ht_prefetch(g.b_exponents + w.entry * g.b_exponent_stride + col);
}

// 64 columns from n0 on.
HT_DEVICE void store_part(const ht_gemm_args &g, const work &w, const scalars &by, unsigned slab, bool asks, const ht_acc *acc,
                          int n0)
{
    const unsigned tame = tame_rows(g, w, n0, asks);
#pragma unroll
    for (int i = 0; i < BM / SLAB_ROWS; i++) {
        if (tame >> (i * SLAB_ROWS / 64) & 1) {
            const place at = {w.m0 + i * SLAB_ROWS, n0 + ((int)threadIdx.x >> 5 & 3) * 16};
            fill_slab(slab, acc + i * (SLAB_ROWS / 2));
            ht_warp_sync();
            store_slab(g, w, by, slab, at);
            ht_warp_sync();
        }
    }
}

// ---- the rescue: where it is worth no launch of its own, each warpgroup computes the blocks that it will leave out, of all its work items
// and before the first, while registers hold no sums. Of a tile's parts of k the first does it.
HT_DEVICE void rescue(const ht_gemm_args &g, int wg)
{
    const scalars by = read_scalars(g);
    const int items = count_work(g);
#pragma unroll 1
    for (int item = (int)blockIdx.x / CLUSTER; item < items; item += (int)gridDim.x / CLUSTER) {
        const work w = find_work(g, item);
#pragma unroll 1
        for (int s = 0; w.split == 0 && s < SUBS; s++) {
            const int n0 = w.n0 + wg * WN + s * 64;
            const unsigned tame = tame_rows(g, w, n0, true);
#pragma unroll 1
            for (int i = 0; i < A_BLOCKS; i++) {
                if (!(tame >> i & 1))
                    ht_rescue_block(g, by.alpha, by.beta, w.entry, w.m0 + i * 64, n0);
            }
        }
    }
}

// ---- consumers ----------------------------------------------------------------------------------------------------
HT_DEVICE void consume(const ht_gemm_args &g, unsigned smem)
{
    const int wg = ht_uniform((int)threadIdx.x / 128), lane = (int)threadIdx.x & 31, items = count_work(g);
    const unsigned turn = smem + TURN + (unsigned)wg * 8, next_turn = smem + TURN + (unsigned)((wg + 1) % WGS) * 8;
    const unsigned cols = ht_operand(smem), rows = ht_operand(smem + A_BYTES + wg * SUBS * 8192);
    int slot = 0;
    unsigned phase = 0, turn_phase = wg == 0; // the first turn is warpgroup 0's
    const bool asks = CHECKS && ht_uniform(ht_asks(g));
    if (asks && g.rescues)
        rescue(g, wg);
    ht_acc acc[ACCS][SUBS][REGS];
    ht_acc temp[TEMPS]; // the chain of a chunk, where chains are promoted
    for (int item = (int)blockIdx.x / CLUSTER; item < items; item += (int)gridDim.x / CLUSTER) {
        const work w = find_work(g, item);
#pragma unroll
        for (int l = 0; l < ACCS; l++) {
#pragma unroll
            for (int s = 0; s < SUBS; s++) {
                for (int i = 0; i < REGS; i++)
                    acc[l][s][i] = 0;
            }
        }
        int chain = 0; // chunks since exact sums were carried
        prefetch_scales(g, w);
        for (int chunk = 0; chunk < w.chunks; chunk++) {
            const unsigned at = (unsigned)slot * (SLOT_BYTES / 16);
            //@emit chunk
#pragma unroll
            for (int s = 0; s < SUBS; s++) {
                ht_mbar_wait(turn, turn_phase);
                turn_phase ^= 1;
#pragma unroll
                for (int c = 0; c < CHUNK; c++) { // corrections of the whole chunk first, while the sum is small
                    if (s == 0)
                        ht_mbar_wait(smem + FULL + (slot + c) * 8, phase);
                    ht_wgmma_fence();
#pragma unroll
                    for (int k = 0; k < BK / 16; k++) {
                        const unsigned a = cols + at + c * (SLOT_BYTES / 16) + k * 2;
                        const unsigned b = rows + at + c * (SLOT_BYTES / 16) + s * 512 + k * 2;
                        ht_wgmma(ht_width<BM>(), temp, b, a + 4, c + k > 0);
                        ht_wgmma(ht_width<BM>(), temp, b + 4, a, 1);
                    }
                }
#pragma unroll
                for (int c = 0; c < CHUNK; c++) {
#pragma unroll
                    for (int k = 0; k < BK / 16; k++) {
                        const unsigned a = cols + at + c * (SLOT_BYTES / 16) + k * 2;
                        const unsigned b = rows + at + c * (SLOT_BYTES / 16) + s * 512 + k * 2;
                        ht_wgmma(ht_width<BM>(), temp, b, a, 1);
                    }
                }
                ht_wgmma_commit();
                if (lane == 0)
                    ht_mbar_arrive(next_turn);
                ht_wgmma_wait<0>();
                ht_wgmma_pin<REGS>(temp);
                if (s == SUBS - 1 && lane < CLUSTER) {
                    const unsigned block = ht_cluster_address(smem, lane);
#pragma unroll
                    for (int c = 0; c < CHUNK; c++) {
                        ht_mbar_arrive_cluster(block + EMPTY + (slot + c) * 8);
                    }
                }
                ht_promote_chain<REGS>(acc[0][s], temp);
            }
            //@end
            slot = slot + CHUNK_SLOTS == SLOTS ? 0 : slot + CHUNK_SLOTS;
            phase ^= slot == 0;
        }
        const scalars by = read_scalars(g); // only now: no registers to spare in the loop
        const unsigned slab = smem + SLABS + (unsigned)(threadIdx.x / 32) * SLAB_BYTES;
#pragma unroll
        for (int s = 0; s < SUBS; s++) {
            store_part(g, w, by, slab, asks && g.splits == 1, acc[0][s], w.n0 + wg * WN + s * 64);
        }
    }
}

static __global__ void __launch_bounds__(THREADS, 1) gemm(const ht_gemm_args g)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    if (threadIdx.x == 0) {
        for (int s = 0; s < SLOTS; s++) {
            ht_mbar_init(smem + FULL + s * 8, 1);
            ht_mbar_init(smem + EMPTY + s * 8, WGS * 4 * CLUSTER); // one arrival of each consumer warp
        }
        for (int w = 0; w < WGS; w++)
            ht_mbar_init(smem + TURN + w * 8, 4);
        ht_mbar_init_done();
    }
    ht_cluster_barrier();
    ht_grid_wait();
    ht_grid_release();
    if (ht_uniform((int)threadIdx.x / 128) == WGS) {
        ht_give_registers<PRODUCER_REGISTERS>();
        if (threadIdx.x == WGS * 128)
            produce(g, smem);
    } else {
        ht_take_registers<CONSUMER_REGISTERS>();
        consume(g, smem);
    }
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const long long tiles = (long long)((g.m + CLUSTER_M - 1) / CLUSTER_M) * ((g.n + CLUSTER_N - 1) / CLUSTER_N);
    const long long items = tiles * g.splits * g.batch, most = SMS / CLUSTER;
    if (items > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than the kernel can count
    return ht_launch_dependent(gemm, (unsigned)(items < most ? items : most) * CLUSTER, 1, 1, THREADS, SMEM_BYTES, stream, g, CLUSTER);
}
