#include "sample.h" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of C in steps of BK; a warp WM x WN of it. Operands arrive as panel atoms (64 rows x 128
// bytes, swizzled) and are copied to shared memory as they are:
//
//   stage: [ A atoms: BM/64 row blocks x K_ATOMS ][ B atoms: BN/64 row blocks x K_ATOMS ]     8192 bytes each
//
// STAGES buffers form a ring; LOOKAHEAD stages are on their way while one is multiplied.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN;
constexpr int THREADS = WARPS_M * WARPS_N * 32;
constexpr int MI = WM / 16, NI = WN / 8;        // MMA tiles of a warp
constexpr int FRAGMENT_K = 32 / SLICE_BYTES;    // k of one fragment load: 32 bytes
constexpr int K_STEPS = BK / FRAGMENT_K;        // fragment loads per stage
constexpr int GROUP = SLICES / ATOM_SLICES;     // atoms of one row block and ATOM_K
constexpr int K_ATOMS = BK / ATOM_K * GROUP;    // atoms of one row block per stage
constexpr int K_PAIRS = ATOM_K / FRAGMENT_K;    // fragment loads per atom and slice
constexpr int A_BLOCKS = BM / 64, B_BLOCKS = BN / 64;
constexpr int A_BYTES = A_BLOCKS * K_ATOMS * 8192;
constexpr int STAGE_BYTES = (A_BLOCKS + B_BLOCKS) * K_ATOMS * 8192;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int PARTS = STAGE_BYTES / (THREADS * 16); // 16-byte copies of a thread per stage
constexpr int LOOKAHEAD = STAGES > 1 ? STAGES - 1 : 1;
constexpr int MASTERS = PROMOTE_STEPS > 0 ? MI : 1;

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that run together
// share panels in L2.
HT_DEVICE void place_tile(const ht_gemm_args &g, int *tile_m, int *tile_n)
{
    const int tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN;
    const int per_group = RASTER * tiles_n;
    const int first = (int)blockIdx.x / per_group * RASTER, inside = (int)blockIdx.x % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    *tile_m = first + inside % height;
    *tile_n = inside / height;
}

// First atom of a row block; blocks beyond the matrix read its last one, their results are never stored.
HT_DEVICE const unsigned char *panel_row(const unsigned char *panels, int block, int rows, int k_blocks, int k_block)
{
    const int last = (rows + 63) / 64 - 1;
    return panels + ((long long)(block < last ? block : last) * k_blocks + k_block) * 8192;
}

// Offset of a row inside a stage's operand.
HT_DEVICE unsigned stage_row(int row)
{
    return (unsigned)(row / 64 * (K_ATOMS * 8192) + row % 64 * 128);
}

// One result: unscaled, then stored as a split-K part or combined with C. beta == 0 does not read C.
HT_DEVICE void store_result(const ht_gemm_args &g, ht_sum sum, int row, int col, int exponent, float alpha, float beta)
{
    if (row >= g.m || col >= g.n)
        return;
    sum = ht_part(sum, exponent);
    if (g.splits > 1) {
        const long long part = (long long)blockIdx.z * g.splits + blockIdx.y;
        ht_stg_sum(g.partial, (part * g.n + col) * g.m + row, sum);
        return;
    }
    float *c = g.c + (long long)blockIdx.z * g.c_stride + (long long)col * g.ldc + row;
    float v = ht_finish(sum, exponent);
    v = alpha != 0.0f ? __fmul_rn(alpha, v) : 0.0f; // alpha == 0 ignores A and B, NaN included
    if (beta != 0.0f)
        v = __fmaf_rn(beta, ht_ldg4(c), v);
    ht_stg4(c, v);
}

HT_DEVICE int exponent_of(const int *magnitudes, long long at, int row, int rows)
{
    return SCALES_ROWS && row < rows ? ht_row_exponent(ht_ldg_i32(magnitudes + at + row)) : 0;
}

// One element of all accumulators, combined as the scheme says; accumulator l lies MI * NI * 4 floats after l - 1.
HT_DEVICE ht_sum result_of(const ht_acc *acc)
{
    ht_acc v[ACCS];
    for (int l = 0; l < ACCS; l++)
        v[l] = acc[l * MI * NI * 4];
    return ht_combine(v);
}

static __global__ void __launch_bounds__(THREADS, MIN_BLOCKS) gemm(const ht_gemm_args g)
{
    const int tid = (int)threadIdx.x, lane = tid & 31, warp = tid >> 5;
    int tile_m, tile_n;
    place_tile(g, &tile_m, &tile_n);

    // This split's share of the k steps.
    const int total = g.k_blocks / K_ATOMS;
    const int begin = (int)((long long)total * (int)blockIdx.y / g.splits);
    const int steps = (int)((long long)total * ((int)blockIdx.y + 1) / g.splits) - begin;

    // Where this thread's 16-byte copies come from and go to.
    const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
    for (int i = 0; i < A_BLOCKS; i++) {
        src[i] = panel_row(g.a_panels + (long long)blockIdx.z * g.a_stride, tile_m * A_BLOCKS + i, g.m, g.k_blocks,
                           begin * K_ATOMS) + tid * 16;
    }
#pragma unroll
    for (int i = 0; i < B_BLOCKS; i++) {
        src[A_BLOCKS + i] = panel_row(g.b_panels + (long long)blockIdx.z * g.b_stride, tile_n * B_BLOCKS + i, g.n,
                                      g.k_blocks, begin * K_ATOMS) + tid * 16;
    }
    const unsigned smem = ht_smem_base();
    const unsigned copy_to = smem + (unsigned)tid * 16;
    long long copy_from = 0; // bytes along k

    // Fragment addresses. ldmatrix.x4 takes for A rows 0-15 x two 16-byte chunks, for B two column groups of 8 x two
    // chunks; the swizzle (chunk ^ row % 8) depends on the lane alone, so the four chunk pairs of a row are four
    // registers and everything else is an immediate.
    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    const unsigned a_swizzle = (unsigned)((lane >> 4) ^ (lane & 7)) << 4;
    const unsigned b_swizzle = (unsigned)((lane >> 3 & 1) ^ (lane & 7)) << 4;
    const unsigned a_row = smem + stage_row(warp_row) + (unsigned)(lane & 15) * 128;
    const unsigned b_row = smem + A_BYTES + stage_row(warp_col) + (unsigned)((lane & 7) + (lane >> 4) * 8) * 128;
    unsigned a_at[4], b_at[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        a_at[c] = a_row + ((unsigned)(c * 32) ^ a_swizzle);
        b_at[c] = b_row + ((unsigned)(c * 32) ^ b_swizzle);
    }

    uint4 staged[PARTS];         // only for architectures whose copies pass through registers
    unsigned a[2][SLICES][MI][4]; // fragments of this and the next k step
    unsigned b[2][SLICES][NI][2];
    ht_acc acc[ACCS][MI][NI][4];    // chains on the matrix unit
    ht_acc master[MASTERS][NI][4]; // where closed chains of acc[0] are added up; unused without promotion
#pragma unroll
    for (int l = 0; l < ACCS; l++) {
#pragma unroll
        for (int i = 0; i < MI; i++) {
#pragma unroll
            for (int j = 0; j < NI; j++) {
                ht_clear(acc[l][i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < MASTERS; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_clear(master[i][j]);
        }
    }

    // ---- prologue: LOOKAHEAD stages on their way, the first one landed
    //@emit prologue
#pragma unroll
    for (int s = 0; s < LOOKAHEAD; s++) {
        if (s < steps) {
#pragma unroll
            for (int p = 0; p < PARTS; p++) {
                ht_stage_issue(&staged[p], copy_to + s * STAGE_BYTES + p * THREADS * 16,
                               src[p * THREADS * 16 / 8192 / K_ATOMS] + copy_from +
                                   p * THREADS * 16 / 8192 % K_ATOMS * 8192 + p * THREADS * 16 % 8192);
            }
#pragma unroll
            for (int p = 0; p < PARTS; p++) {
                ht_stage_land(&staged[p], copy_to + s * STAGE_BYTES + p * THREADS * 16);
            }
        }
        ht_stage_commit();
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<LOOKAHEAD - 1>();
    ht_barrier();
    //@end

    unsigned read = 0;                                         // offset of the stage being multiplied
    unsigned write = (unsigned)(LOOKAHEAD % STAGES) * STAGE_BYTES; // offset of the stage being filled
    int chain = 0;                                             // steps since the last promotion

    //@emit first
#pragma unroll
    for (int s = 0; s < SLICES; s++) {
#pragma unroll
        for (int i = 0; i < MI; i++) {
            ht_ldmatrix_x4(a[0][s][i], a_at[s % ATOM_SLICES * K_PAIRS] + s / ATOM_SLICES * 8192 + stage_row(i * 16));
        }
#pragma unroll
        for (int j = 0; j < NI; j += 2) {
            ht_ldmatrix_x4(b[0][s][j], b_at[s % ATOM_SLICES * K_PAIRS] + s / ATOM_SLICES * 8192 + stage_row(j * 8));
        }
    }
    //@end

    // ---- steady state: one stage per turn. The next fragments are loaded and the next stage is copied between the MMAs.
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;         // there is a next stage to read
        const bool fetch = step + LOOKAHEAD < steps; // there is a stage to copy
        const unsigned wrapped = read + STAGE_BYTES == SMEM_BYTES ? 0 : read + STAGE_BYTES;
        const unsigned next = more ? wrapped : read; // the last turn reloads what it has: valid, and unused
        //@emit step
#pragma unroll
        for (int s = 0; s < K_STEPS; s++) {
            if (s == 0 && fetch) {
#pragma unroll
                for (int p = 0; p < PARTS; p++) {
                    ht_stage_issue(&staged[p], copy_to + write + p * THREADS * 16,
                                   src[p * THREADS * 16 / 8192 / K_ATOMS] + copy_from +
                                       p * THREADS * 16 / 8192 % K_ATOMS * 8192 + p * THREADS * 16 % 8192);
                }
            }
            if (s == K_STEPS - 1) {
                ht_stage_free();
                if (fetch) {
#pragma unroll
                    for (int p = 0; p < PARTS; p++) {
                        ht_stage_land(&staged[p], copy_to + write + p * THREADS * 16);
                    }
                }
                ht_stage_commit();
                ht_stage_wait<LOOKAHEAD - 1>();
                ht_barrier();
            }
            const int n = (s + 1) % K_STEPS, half = (s + 1) % 2;
            const unsigned from = (s == K_STEPS - 1 ? next : read) + n / K_PAIRS * GROUP * 8192;
#pragma unroll
            for (int l = 0; l < SLICES; l++) {
#pragma unroll
                for (int i = 0; i < MI; i++) {
                    ht_ldmatrix_x4(a[half][l][i], a_at[l % ATOM_SLICES * K_PAIRS + n % K_PAIRS] + from +
                                                      l / ATOM_SLICES * 8192 + stage_row(i * 16));
                }
#pragma unroll
                for (int j = 0; j < NI; j += 2) {
                    ht_ldmatrix_x4(b[half][l][j], b_at[l % ATOM_SLICES * K_PAIRS + n % K_PAIRS] + from +
                                                      l / ATOM_SLICES * 8192 + stage_row(j * 8));
                }
            }
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    ht_mma(acc[0][i][j], a[s % 2][1][i], b[s % 2][0][j]);
                    ht_mma(acc[0][i][j], a[s % 2][0][i], b[s % 2][1][j]);
                    ht_mma(acc[0][i][j], a[s % 2][0][i], b[s % 2][0][j]);
                }
            }
        }
        //@end
        //@emit promote
        if (++chain == PROMOTE_STEPS) {
            chain = 0;
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    ht_promote(master[i][j], acc[0][i][j]);
                }
            }
        }
        //@end
        read = wrapped;
        write = write + STAGE_BYTES == SMEM_BYTES ? 0 : write + STAGE_BYTES;
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<0>();

    // ---- drain and epilogue. Lane (g = lane / 4, t = lane % 4) holds rows g, g + 8 and columns 2t, 2t + 1 of each
    // 16 x 8 tile; eight lanes write 32 contiguous bytes of a column.
    //@emit drain
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_drain(acc[0][i][j], master[i][j]);
        }
    }
    //@end
    const float alpha = g.alpha_ptr ? ht_ldg4(g.alpha_ptr) : g.alpha;
    const float beta = g.beta_ptr ? ht_ldg4(g.beta_ptr) : g.beta;
    const int row0 = tile_m * BM + warp_row + (lane >> 2), col0 = tile_n * BN + warp_col + (lane & 3) * 2;
    int ea[MI * 2], eb[NI * 2]; // exponents of this lane's rows and columns
#pragma unroll
    for (int i = 0; i < MI * 2; i++) {
        ea[i] = exponent_of(g.a_exponents, (long long)blockIdx.z * g.a_exponent_stride, row0 + i * 8, g.m);
    }
#pragma unroll
    for (int j = 0; j < NI * 2; j++) {
        eb[j] = exponent_of(g.b_exponents, (long long)blockIdx.z * g.b_exponent_stride, col0 + j / 2 * 8 + j % 2, g.n);
    }
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
#pragma unroll
            for (int q = 0; q < 4; q++) {
                store_result(g, result_of(&acc[0][i][j][q]), row0 + i * 16 + q / 2 * 8, col0 + j * 8 + q % 2,
                             ea[i * 2 + q / 2] + eb[j * 2 + q % 2], alpha, beta);
            }
        }
    }
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    return ht_launch(gemm, tiles, (unsigned)g.splits, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, g);
}
