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
constexpr int FULL = SLOTS * SLOT_BYTES;        // offsets of the barriers, 8 bytes each
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

// Rows from here to the first that begins at a multiple of 16 bytes.
HT_DEVICE int rows_to_vector(const float *c)
{
    return (int)((0 - ((unsigned long long)c >> 2)) & 3);
}

// Four sums of one column, rows row .. row + 3: stored as a split-K part or combined with C. beta == 0 does not read C.
// exponent: of the row's and the column's scale together.
HT_DEVICE void store_four(const ht_gemm_args &g, const work &w, const scalars &by, ht_sum *sum, const int *exponent, int row,
                          int col)
{
    if (row >= g.m || col >= g.n)
        return;
    for (int q = 0; q < 4; q++)
        sum[q] = ht_part(sum[q], exponent[q]);
    if (g.splits > 1) {
        const long long part = (((long long)w.entry * g.splits + w.split) * g.n + col) * g.m + row;
        if (g.m % 4 == 0) {
            ht_stg_four_sums(g.partial, part, sum);
            return;
        }
        for (int q = 0; q < 4 && row + q < g.m; q++)
            ht_stg_sum(g.partial, part + q, sum[q]);
        return;
    }
    float *c = g.c + (long long)w.entry * g.c_stride + (long long)col * g.ldc + row;
    float r[4];
    for (int q = 0; q < 4; q++) // alpha == 0 ignores A and B, NaN included
        r[q] = by.alpha != 0.0f ? __fmul_rn(by.alpha, ht_finish(sum[q], exponent[q])) : 0.0f;
    if (rows_to_vector(c) == 0 && row + 3 < g.m) {
        if (by.beta != 0.0f) {
            const uint4 old = ht_ld16(c);
            r[0] = __fmaf_rn(by.beta, ht_as_float(old.x), r[0]);
            r[1] = __fmaf_rn(by.beta, ht_as_float(old.y), r[1]);
            r[2] = __fmaf_rn(by.beta, ht_as_float(old.z), r[2]);
            r[3] = __fmaf_rn(by.beta, ht_as_float(old.w), r[3]);
        }
        ht_stg16(c, make_uint4(ht_as_uint(r[0]), ht_as_uint(r[1]), ht_as_uint(r[2]), ht_as_uint(r[3])));
        return;
    }
    for (int q = 0; q < 4 && row + q < g.m; q++)
        ht_stg4(c + q, by.beta != 0.0f ? __fmaf_rn(by.beta, ht_ldg4(c + q), r[q]) : r[q]);
}

HT_DEVICE int exponent_of(const int *magnitudes, long long at, int col, int cols)
{
    return SCALES_ROWS && col < cols ? ht_row_exponent(ht_ldg_i32(magnitudes + at + col)) : 0;
}

// Exponents of the rows row .. row + 3 of A; pack fills magnitudes up to a multiple of 64 rows.
HT_DEVICE void exponents_of_four(const ht_gemm_args &g, const work &w, int row, int *e)
{
    const bool inside = SCALES_ROWS && row < g.m;
    const uint4 x = inside ? ht_ld16(g.a_exponents + w.entry * g.a_exponent_stride + row) : make_uint4(0, 0, 0, 0);
    e[0] = ht_row_exponent((int)x.x);
    e[1] = ht_row_exponent((int)x.y);
    e[2] = ht_row_exponent((int)x.z);
    e[3] = ht_row_exponent((int)x.w);
}

// One element of all accumulators, combined as the scheme says; accumulator l lies SUBS * REGS elements after l - 1.
HT_DEVICE ht_sum result_of(const ht_acc *acc)
{
    ht_acc v[ACCS];
    for (int l = 0; l < ACCS; l++)
        v[l] = acc[l * SUBS * REGS];
    return ht_combine(v);
}

// Two 8 x 8 groups of one column: lane t = lane % 4 holds rows 2t, 2t + 1 of both. Even lanes give away their part of the
// second group for the neighbour's of the first, so that each has four rows in sequence.
HT_DEVICE void gather_four(const ht_acc *first, const ht_acc *second, int odd, ht_sum *v)
{
    const ht_sum a0 = result_of(first), a1 = result_of(first + 1), b0 = result_of(second), b1 = result_of(second + 1);
    const ht_sum got0 = ht_shfl_sum(odd ? a0 : b0, 1), got1 = ht_shfl_sum(odd ? a1 : b1, 1);
    v[0] = odd ? got0 : a0;
    v[1] = odd ? got1 : a1;
    v[2] = odd ? b0 : got0;
    v[3] = odd ? b1 : got1;
}

// Where this lane's results lie: lane (g = lane / 4, t = lane % 4) of warp w holds columns 16 w + g and 8 more of 64, and in
// each group of eight rows rows 2t, 2t + 1; after gather_four rows first_row() to + 3 of each 16.
HT_DEVICE int first_row(const work &w)
{
    return w.m0 + ((int)threadIdx.x & 3) * 2 + ((int)threadIdx.x & 1) * 6;
}

HT_DEVICE int first_column(int n0)
{
    return n0 + ((int)threadIdx.x >> 5 & 3) * 16 + ((int)threadIdx.x >> 2 & 7);
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

// Rows first_row() + j * 16 to + 3 of a column, scaled, for calm scales.
HT_DEVICE void calm_four(const scalars &by, const ht_acc *first, const ht_acc *second, const float *row, float column, float *r)
{
    ht_sum v[4];
    gather_four(first, second, (int)threadIdx.x & 1, v);
#pragma unroll
    for (int q = 0; q < 4; q++) {
        r[q] = __fmul_rn(by.alpha, ht_finish_calm(v[q], row[q], column));
    }
}

// Columns of C that do not begin at a multiple of 16 bytes: the vectors that do begin there are `shift` rows further down, so a
// lane stores the lower rows of its four and the upper ones of the next four. Lanes t = 0, 2, 1, 3 hold fours in sequence;
// after lane 3 comes lane 0 of the 16 rows before which this part is stored, `after`.
//
//   rows       0 1 2 3 | 4 5 6 7 | 8 9 ...       shift 3, lane 0: row 3 of its own, rows 4, 5, 6 of lane 2
//   vectors  . . . 0 0   0 0 2 2   2 2 1 ...     the first and the last rows of the tile: one by one
HT_DEVICE void store_shifted(float *c, const float *r, float *after, bool is_first, bool is_last)
{
    const int shift = rows_to_vector(c);
    const int t = (int)threadIdx.x & 3, next = t < 2 ? 2 : 3; // next ^ t: the lane that holds the next four
    float x[7] = {r[0], r[1], r[2], r[3]};
#pragma unroll
    for (int q = 0; q < 3; q++) {
        const float got = ht_as_float((unsigned)ht_shfl_xor((int)ht_as_uint(r[q]), next));
        x[4 + q] = t == 3 ? after[q] : got;
        after[q] = got;
    }
    for (int q = 0; q < 4; q++) {
        if ((is_first && t == 0 && q < shift) || (is_last && t == 3 && q >= shift && shift > 0))
            ht_stg4(c + q, r[q]);
    }
    if (is_last && t == 3 && shift > 0)
        return;
    for (int q = 0; q < 5; q++)
        x[q] = shift & 2 ? x[q + 2] : x[q];
    for (int q = 0; q < 4; q++)
        x[q] = shift & 1 ? x[q + 1] : x[q];
    ht_stg16(c + shift, make_uint4(ht_as_uint(x[0]), ht_as_uint(x[1]), ht_as_uint(x[2]), ht_as_uint(x[3])));
}

// All of the tile inside C, nothing read from C, no parts, calm scales: no questions but whether columns begin at vectors.
HT_DEVICE void store_calm_part(const ht_gemm_args &g, const work &w, const scalars &by, const int *column_exponent,
                               const ht_acc *acc, int n0)
{
    const float column[2] = {ht_pow2(column_exponent[0]), ht_pow2(column_exponent[1])};
    float *c = g.c + (long long)w.entry * g.c_stride + (long long)first_column(n0) * g.ldc + first_row(w);
    const bool wide = all_lanes(rows_to_vector(c) == 0 && g.ldc % 4 == 0); // four rows can be written at once
    float after[2][3];
#pragma unroll
    for (int i = 0; i < BM / 16; i++) {
        const int j = BM / 16 - 1 - i; // from the last rows to the first: store_shifted
        int e[4];
        exponents_of_four(g, w, first_row(w) + j * 16, e);
        const float row[4] = {ht_pow2(e[0]), ht_pow2(e[1]), ht_pow2(e[2]), ht_pow2(e[3])};
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float r[4];
            calm_four(by, acc + j * 8 + h * 2, acc + j * 8 + 4 + h * 2, row, column[h], r);
            if (wide)
                ht_stg16(c + h * 8 * g.ldc + j * 16,
                         make_uint4(ht_as_uint(r[0]), ht_as_uint(r[1]), ht_as_uint(r[2]), ht_as_uint(r[3])));
            else
                store_shifted(c + h * 8 * g.ldc + j * 16, r, after[h], j == 0, j == BM / 16 - 1);
        }
    }
}

// The same for everything else.
HT_DEVICE void store_any_part(const ht_gemm_args &g, const work &w, const scalars &by, const int *column_exponent,
                              const ht_acc *acc, int n0, unsigned tame)
{
    const int odd = (int)threadIdx.x & 1, row = first_row(w), col = first_column(n0);
#pragma unroll
    for (int j = 0; j < BM / 16; j++) {
        if (tame >> (j / 4) & 1) {
            int ea[4];
            exponents_of_four(g, w, row + j * 16, ea);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int eb = column_exponent[h];
                const int e[4] = {ea[0] + eb, ea[1] + eb, ea[2] + eb, ea[3] + eb};
                ht_sum v[4];
                gather_four(acc + j * 8 + h * 2, acc + j * 8 + 4 + h * 2, odd, v);
                store_four(g, w, by, v, e, row + j * 16, col + h * 8);
            }
        }
    }
}

// Whether the whole tile can be stored without questions, columns apart; the warp goes one way together.
HT_DEVICE bool is_calm_tile(const ht_gemm_args &g, const work &w, const scalars &by)
{
    const bool inside = w.m0 + BM <= g.m && g.splits == 1;
    const bool plain = by.beta == 0.0f && by.alpha != 0.0f;
    bool calm = inside && plain;
    for (int j = 0; SCALES_ROWS && calm && j < BM / 16; j++) {
        int e[4];
        exponents_of_four(g, w, first_row(w) + j * 16, e);
        calm = is_calm(e[0]) && is_calm(e[1]) && is_calm(e[2]) && is_calm(e[3]);
    }
    return all_lanes(calm);
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

// Scales of the tile and the data check's alarms into L1, so that the epilogue does not wait for each.
HT_DEVICE void prefetch_scales(const ht_gemm_args &g, const work &w)
{
    const int lane = (int)threadIdx.x & 31, row = w.m0 + lane * 32, col = w.n0 + lane * 32;
    if (SCALES_ROWS && lane * 32 < BM && row < g.m)
        ht_prefetch(g.a_exponents + w.entry * g.a_exponent_stride + row);
    if (SCALES_ROWS && lane * 32 < BN && col < g.n)
        ht_prefetch(g.b_exponents + w.entry * g.b_exponent_stride + col);
    if (CHECKS)
        ht_prefetch_alarms(g);
}

// 64 columns from n0 on.
HT_DEVICE void store_part(const ht_gemm_args &g, const work &w, const scalars &by, bool calm, bool asks, const ht_acc *acc,
                          int n0)
{
    const int col = first_column(n0);
    const unsigned tame = tame_rows(g, w, n0, asks);
    const long long at = w.entry * g.b_exponent_stride;
    const int eb[2] = {exponent_of(g.b_exponents, at, col, g.n), exponent_of(g.b_exponents, at, col + 8, g.n)};
    if (all_lanes(calm && tame == (1u << A_BLOCKS) - 1 && n0 + 64 <= g.n && is_calm(eb[0]) && is_calm(eb[1])))
        store_calm_part(g, w, by, eb, acc, n0);
    else
        store_any_part(g, w, by, eb, acc, n0, tame);
}

// ---- consumers ----------------------------------------------------------------------------------------------------
HT_DEVICE void consume(const ht_gemm_args &g, unsigned smem)
{
    const int wg = ht_uniform((int)threadIdx.x / 128), lane = (int)threadIdx.x & 31, items = count_work(g);
    const unsigned turn = smem + TURN + (unsigned)wg * 8, next_turn = smem + TURN + (unsigned)((wg + 1) % WGS) * 8;
    const unsigned cols = ht_operand(smem), rows = ht_operand(smem + A_BYTES + wg * SUBS * 8192);
    int slot = 0;
    unsigned phase = 0, turn_phase = wg == 0; // the first turn is warpgroup 0's
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
        const bool asks = CHECKS && g.splits == 1 && ht_asks(g);
        const bool calm = is_calm_tile(g, w, by);
#pragma unroll
        for (int s = 0; s < SUBS; s++) {
            store_part(g, w, by, calm, asks, acc[0][s], w.n0 + wg * WN + s * 64);
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
