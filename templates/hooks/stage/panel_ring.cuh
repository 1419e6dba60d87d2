// stage/panel_ring: how warps that run mma.sync or MFMA come to their fragments. Operands arrive as panel atoms (64 rows x 128 bytes,
// swizzled) and are copied to shared memory as they are:
//
//   stage: [ A atoms: BM/64 row blocks x K_ATOMS ][ B atoms: BN/64 row blocks x K_ATOMS ]     8192 bytes each
//
// STAGES buffers form a ring; copies are issued for the stage PREFETCH_STAGES steps ahead: where a step begins, or with REFILL_AFTER_BARRIER behind
// the barrier where everyone has read a stage, into that stage.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN;
constexpr int THREADS = WARPS_M * WARPS_N * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N; // MMA tiles of a warp
constexpr int K_STEPS = BK / FRAGMENT_K;        // fragment loads per stage
constexpr int A_REGS = MMA_M * FRAGMENT_K * SLICE_BYTES / 4 / WAVE; // of a fragment
constexpr int B_REGS = MMA_N * FRAGMENT_K * SLICE_BYTES / 4 / WAVE;
constexpr int GROUP = SLICES / ATOM_SLICES;     // atoms of one row block and ATOM_K
constexpr int K_ATOMS = BK / ATOM_K * GROUP;    // atoms of one row block per stage
constexpr int K_PAIRS = ATOM_K / FRAGMENT_K;    // fragment loads per atom and slice
constexpr int CHUNK_GROUPS = 128 / SLICE_BYTES / FRAGMENT_K; // fragment loads of an atom's 128-byte row
constexpr int A_BLOCKS = BM / 64, B_BLOCKS = BN / 64;
constexpr int A_BYTES = A_BLOCKS * K_ATOMS * 8192;
constexpr int STAGE_BYTES = (A_BLOCKS + B_BLOCKS) * K_ATOMS * 8192;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int PARTS = STAGE_BYTES / (THREADS * 16); // 16-byte copies of a thread per stage
constexpr int PREFETCH_STAGES = STAGES > 1 ? STAGES - 1 + REFILL_AFTER_BARRIER : 1;

// First atom of a row block; blocks beyond the matrix read its last one, their results are never stored.
HT_DEVICE const unsigned char *ht_panel_row(const unsigned char *panels, int block, int rows, int k_blocks, int k_block)
{
    const int last = (rows + 63) / 64 - 1;
    return panels + ((long long)(block < last ? block : last) * k_blocks + k_block) * 8192;
}

// Offset of a row inside a stage's operand.
HT_DEVICE unsigned ht_stage_row(int row)
{
    return (unsigned)(row / 64 * (K_ATOMS * 8192) + row % 64 * 128);
}

// Where a lane's fragments lie in the stage at `smem`. The lanes of a load take two or four neighbouring 16-byte chunks of their rows; the
// swizzle (chunk ^ row % 8) depends on the lane alone, so the chunk groups of a row are a few registers and everything else is an immediate.
HT_DEVICE void ht_fragment_addresses(unsigned *a_at, unsigned *b_at, unsigned smem, int warp_row, int warp_col, int lane)
{
    const unsigned a_swizzle = (unsigned)(ht_a_chunk(lane) ^ (lane & 7)) << 4;
    const unsigned b_swizzle = (unsigned)(ht_b_chunk(lane) ^ (lane & 7)) << 4;
    const unsigned a_row = smem + ht_stage_row(warp_row) + (unsigned)ht_a_row(lane) * 128;
    const unsigned b_row = smem + A_BYTES + ht_stage_row(warp_col) + (unsigned)ht_b_row(lane) * 128;
#pragma unroll
    for (int c = 0; c < CHUNK_GROUPS; c++) {
        a_at[c] = a_row + ((unsigned)(c * FRAGMENT_K * SLICE_BYTES) ^ a_swizzle);
        b_at[c] = b_row + ((unsigned)(c * FRAGMENT_K * SLICE_BYTES) ^ b_swizzle);
    }
}

// The stage behind the one at an offset.
HT_DEVICE unsigned ht_ring_next(unsigned offset)
{
    return offset + STAGE_BYTES == SMEM_BYTES ? 0 : offset + STAGE_BYTES;
}

// Begins to copy a thread's part of a stage. staged: only for architectures whose copies pass through registers; k: bytes along k.
HT_DEVICE void ht_ring_issue(uint4 *staged, unsigned to, const unsigned char *const *src, long long k)
{
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
        ht_stage_copy_issue(&staged[p], to + p * THREADS * 16,
                            src[p * THREADS * 16 / 8192 / K_ATOMS] + k + p * THREADS * 16 / 8192 % K_ATOMS * 8192 +
                                p * THREADS * 16 % 8192);
    }
}

// Those that passed through registers are stored.
HT_DEVICE void ht_ring_complete(const uint4 *staged, unsigned to)
{
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
        ht_stage_copy_complete(&staged[p], to + p * THREADS * 16);
    }
}

// PREFETCH_STAGES stages in flight, the first one landed; the k behind them.
HT_DEVICE long long ht_ring_fill(uint4 *staged, unsigned to, const unsigned char *const *src, int steps)
{
    long long k = 0;
#pragma unroll
    for (int s = 0; s < PREFETCH_STAGES; s++) {
        if (s < steps) {
            ht_ring_issue(staged, to + s * STAGE_BYTES, src, k);
            ht_ring_complete(staged, to + s * STAGE_BYTES);
        }
        ht_stage_commit();
        k += K_ATOMS * 8192;
    }
    ht_stage_wait<PREFETCH_STAGES - 1>();
    ht_barrier();
    return k;
}

// Behind the last load of a step: the next stage has landed, and everyone may read it. fetch: there is a stage to copy.
HT_DEVICE void ht_ring_advance(uint4 *staged, unsigned to, const unsigned char *const *src, long long k, bool fetch)
{
    ht_stage_release();
    if (fetch)
        ht_ring_complete(staged, to);
    if (!REFILL_AFTER_BARRIER)
        ht_stage_commit();
    ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>();
    ht_barrier();
    if (fetch && REFILL_AFTER_BARRIER)
        ht_ring_issue(staged, to, src, k);
    if (REFILL_AFTER_BARRIER)
        ht_stage_commit();
}

// Fragments of a warp's MMA tiles, of one slice and FRAGMENT_K, `from` bytes behind their places in the first stage.
HT_DEVICE void ht_load_fragments(unsigned (*a)[A_REGS], unsigned (*b)[B_REGS], unsigned a_at, unsigned b_at, unsigned from)
{
#pragma unroll
    for (int i = 0; i < MI; i++) {
        ht_load_a(a[i], a_at + from + ht_stage_row(i * MMA_M));
    }
#pragma unroll
    for (int j = 0; j < NI; j += B_TILES) {
        ht_load_b(b[j], b_at + from + ht_stage_row(j * MMA_N));
    }
}
