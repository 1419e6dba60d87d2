#include "../samples/crt_mma_warp.h" //@drop
// ---- geometry: INT8 products of residues by mma.sync or MFMA, one for each modulus
// The main loop is mma_warp's. A block computes BM x BN sums of one modulus in steps of BK, a warp WM x WN of
// them, and leaves their residues, a byte each. Panels of residues are packed as INT8 slices are, one to an
// atom; moduli are the slowest index of blocks, so that panels of one stay in L2.
//
//   stage: [ A atoms: BM/64 row blocks x K_ATOMS ][ B atoms: BN/64 row blocks x K_ATOMS ]     8192 bytes each
//   plane of a modulus: [ tile 0: 16 bytes of each thread | the next 16 of each | ... ][ tile 1 ] ...
// Tiles lie by columns of tiles.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN;
constexpr int THREADS = WARPS_M * WARPS_N * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N;       // MMA tiles of a warp
constexpr int K_STEPS = BK / FRAGMENT_K;              // fragment loads per stage
constexpr int A_REGS = MMA_M * FRAGMENT_K / 4 / WAVE; // of a fragment
constexpr int B_REGS = MMA_N * FRAGMENT_K / 4 / WAVE;
constexpr int ATOM_K = 128, K_ATOMS = BK / ATOM_K; // atoms of one row block per stage
constexpr int K_PAIRS = ATOM_K / FRAGMENT_K;       // fragment loads per atom
constexpr int A_BLOCKS = BM / 64, B_BLOCKS = BN / 64;
constexpr int A_BYTES = A_BLOCKS * K_ATOMS * 8192;
constexpr int STAGE_BYTES = (A_BLOCKS + B_BLOCKS) * K_ATOMS * 8192;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int PARTS = STAGE_BYTES / (THREADS * 16); // 16-byte copies of a thread per stage
constexpr int PREFETCH_STAGES = STAGES > 1 ? STAGES - 1 + REFILL_AFTER_BARRIER : 1;
constexpr int EXACT_STEPS = CRT_EXACT_K / BK; // after which INT32 could overflow
constexpr int SUMS = MI * NI * D_REGS;        // of a thread
static_assert(SUMS % 16 == 0, "a thread stores whole 16 bytes");

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that
// run together share panels in L2.
HT_DEVICE void raster_tile(const ht_crt_gemm_args &g, int *tile_m, int *tile_n)
{
    const int tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN;
    const int per_group = RASTER * tiles_n;
    const int first = (int)blockIdx.x / per_group * RASTER, inside = (int)blockIdx.x % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    *tile_m = first + inside % height;
    *tile_n = inside / height;
}

// First atom of a row block; blocks beyond the matrix read its last one, whose results nobody reads.
HT_DEVICE const unsigned char *panel_row(const unsigned char *panels, int block, int rows, int k_blocks)
{
    const int last = (rows + 63) / 64 - 1;
    return panels + (long long)(block < last ? block : last) * k_blocks * 8192;
}

// Offset of a row inside a stage's operand.
HT_DEVICE unsigned stage_row(int row)
{
    return (unsigned)(row / 64 * (K_ATOMS * 8192) + row % 64 * 128);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS))
    residues(const ht_crt_gemm_args g)
{
    const int tid = (int)threadIdx.x, lane = tid & (WAVE - 1), warp = (int)(threadIdx.x / WAVE);
    int tile_m, tile_n;
    raster_tile(g, &tile_m, &tile_n);

    const int modulus = (int)blockIdx.z % CRT_MODULI, entry = (int)blockIdx.z / CRT_MODULI;
    if (ht_crt_keeps_none(g.counts, entry))
        return; // no element of the entry is kept
    if (CRT_HAS_FEWER && modulus >= ht_crt_moduli(g.spans))
        return; // the product does not take it
    const int steps = g.k_blocks / K_ATOMS;
    const unsigned char *const a_panels = g.a_panels + entry * g.a_stride + modulus * g.a_modulus_stride;
    const unsigned char *const b_panels = g.b_panels + entry * g.b_stride + modulus * g.b_modulus_stride;

    // Where this thread's 16-byte copies come from and go to.
    const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
    for (int i = 0; i < A_BLOCKS; i++) {
        src[i] = panel_row(a_panels, tile_m * A_BLOCKS + i, g.m, g.k_blocks) + tid * 16;
    }
#pragma unroll
    for (int i = 0; i < B_BLOCKS; i++) {
        src[A_BLOCKS + i] = panel_row(b_panels, tile_n * B_BLOCKS + i, g.n, g.k_blocks) + tid * 16;
    }
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const unsigned copy_to = smem + (unsigned)tid * 16;
    long long copy_from = 0; // bytes along k

    // Fragment addresses. The lanes of a load take two or four neighbouring 16-byte chunks of their rows;
    // the swizzle (chunk ^ row % 8) depends on the lane alone, so the chunk groups of a row are a few
    // registers and everything else is an immediate.
    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    const unsigned a_swizzle = (unsigned)(ht_a_chunk(lane) ^ (lane & 7)) << 4;
    const unsigned b_swizzle = (unsigned)(ht_b_chunk(lane) ^ (lane & 7)) << 4;
    const unsigned a_row = smem + stage_row(warp_row) + (unsigned)ht_a_row(lane) * 128;
    const unsigned b_row = smem + A_BYTES + stage_row(warp_col) + (unsigned)ht_b_row(lane) * 128;
    unsigned a_at[K_PAIRS], b_at[K_PAIRS];
#pragma unroll
    for (int c = 0; c < K_PAIRS; c++) {
        a_at[c] = a_row + ((unsigned)(c * FRAGMENT_K) ^ a_swizzle);
        b_at[c] = b_row + ((unsigned)(c * FRAGMENT_K) ^ b_swizzle);
    }

    uint4 staged[PARTS];       // only for architectures whose copies pass through registers
    unsigned a[2][MI][A_REGS]; // fragments of this and the next k step
    unsigned b[2][NI][B_REGS];
    int acc[MI][NI][D_REGS];
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < D_REGS; q++) {
                acc[i][j][q] = 0;
            }
        }
    }

    // ---- prologue: PREFETCH_STAGES stages in flight, the first one landed
    //@emit prologue
#pragma unroll
    for (int s = 0; s < PREFETCH_STAGES; s++) {
        if (s < steps) {
#pragma unroll
            for (int p = 0; p < PARTS; p++) {
                ht_stage_copy_issue(&staged[p], copy_to + s * STAGE_BYTES + p * THREADS * 16,
                               src[p * THREADS * 16 / 8192 / K_ATOMS] + copy_from +
                                   p * THREADS * 16 / 8192 % K_ATOMS * 8192 + p * THREADS * 16 % 8192);
            }
#pragma unroll
            for (int p = 0; p < PARTS; p++) {
                ht_stage_copy_complete(&staged[p], copy_to + s * STAGE_BYTES + p * THREADS * 16);
            }
        }
        ht_stage_commit();
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<PREFETCH_STAGES - 1>();
    ht_barrier();
    //@end

    unsigned read = 0;                                             // offset of the stage being multiplied
    unsigned write = (unsigned)(PREFETCH_STAGES % STAGES) * STAGE_BYTES; // offset of the stage being filled
    int exact = 0;                                                 // steps since sums were zero or residues

    //@emit first
#pragma unroll
    for (int i = 0; i < MI; i++) {
        ht_load_a(a[0][i], a_at[0] + stage_row(i * MMA_M));
    }
#pragma unroll
    for (int j = 0; j < NI; j += B_TILES) {
        ht_load_b(b[0][j], b_at[0] + stage_row(j * MMA_N));
    }
    //@end

    // ---- steady state: one stage per turn. The next fragments are loaded and the next stage is copied
    // between the MMAs.
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;          // there is a next stage to read
        const bool fetch = step + PREFETCH_STAGES < steps; // there is a stage to copy
        const unsigned wrapped = read + STAGE_BYTES == SMEM_BYTES ? 0 : read + STAGE_BYTES;
        const unsigned next = more ? wrapped : read; // the last turn reloads what it has: valid, and unused
                                                     //@emit step
#pragma unroll
        for (int s = 0; s < K_STEPS; s++) {
            if (s == 0 && fetch && !REFILL_AFTER_BARRIER) {
#pragma unroll
                for (int p = 0; p < PARTS; p++) {
                    ht_stage_copy_issue(&staged[p], copy_to + write + p * THREADS * 16,
                                   src[p * THREADS * 16 / 8192 / K_ATOMS] + copy_from +
                                       p * THREADS * 16 / 8192 % K_ATOMS * 8192 + p * THREADS * 16 % 8192);
                }
            }
            if (s == K_STEPS - 1) {
                ht_stage_release();
                if (fetch) {
#pragma unroll
                    for (int p = 0; p < PARTS; p++) {
                        ht_stage_copy_complete(&staged[p], copy_to + write + p * THREADS * 16);
                    }
                }
                if (!REFILL_AFTER_BARRIER)
                    ht_stage_commit();
                ht_stage_wait<PREFETCH_STAGES - 1 - REFILL_AFTER_BARRIER>();
                ht_barrier();
                if (fetch && REFILL_AFTER_BARRIER) {
#pragma unroll
                    for (int p = 0; p < PARTS; p++) {
                        ht_stage_copy_issue(&staged[p], copy_to + write + p * THREADS * 16,
                                       src[p * THREADS * 16 / 8192 / K_ATOMS] + copy_from +
                                           p * THREADS * 16 / 8192 % K_ATOMS * 8192 +
                                           p * THREADS * 16 % 8192);
                    }
                }
                if (REFILL_AFTER_BARRIER)
                    ht_stage_commit();
            }
            const int n = (s + 1) % K_STEPS, half = (s + 1) % 2;
            const unsigned from = (s == K_STEPS - 1 ? next : read) + n / K_PAIRS * 8192;
#pragma unroll
            for (int i = 0; i < MI; i++) {
                ht_load_a(a[half][i], a_at[n % K_PAIRS] + from + stage_row(i * MMA_M));
            }
#pragma unroll
            for (int j = 0; j < NI; j += B_TILES) {
                ht_load_b(b[half][j], b_at[n % K_PAIRS] + from + stage_row(j * MMA_N));
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    ht_mma(acc[i][j], a[s % 2][i], b[s % 2][j]);
                }
            }
        }
        //@end
        if (++exact == EXACT_STEPS) {
            exact = 0;
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
#pragma unroll
                    for (int q = 0; q < D_REGS; q++) {
                        acc[i][j][q] =
                            ht_crt_residue(acc[i][j][q], CRT_MODULUS[modulus], CRT_BARRETT[modulus]);
                    }
                }
            }
        }
        read = wrapped;
        write = write + STAGE_BYTES == SMEM_BYTES ? 0 : write + STAGE_BYTES;
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<0>();

    // ---- epilogue: a byte for each sum, in the order in which this thread holds them
    const long long tile = (long long)tile_n * ((g.m + BM - 1) / BM) + tile_m;
    unsigned char *to =
        g.planes + entry * g.plane_stride + modulus * g.plane_modulus_stride + tile * (BM * BN) + tid * 16;
    const unsigned p = CRT_MODULUS[modulus], barrett = CRT_BARRETT[modulus];
#pragma unroll
    for (int i = 0; i < SUMS / 16; i++) {
        int sum[16];
#pragma unroll
        for (int e = 0; e < 16; e++) {
            sum[e] = acc[(i * 16 + e) / D_REGS / NI][(i * 16 + e) / D_REGS % NI][(i * 16 + e) % D_REGS];
        }
        ht_crt_store_residues(to + i * THREADS * 16, sum, g.adds != 0, p, barrett);
    }
}

static int init(void)
{
    return ht_allow_smem(residues, SMEM_BYTES);
}

static int launch(const ht_crt_gemm_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    return ht_launch(residues, tiles, 1, (unsigned)(CRT_MODULI * g.batch), THREADS, SMEM_BYTES, stream, g);
}
