#include "../samples/digits_mma_warp.h" //@drop
// ---- geometry: FP64 products of a few digits of INT8, by mma.sync or MFMA, in one kernel
// A block computes BM x BN of C in steps of BK, a warp WM x WN of it. Digit p of A times digit q of B adds to the sums of
// level p + q; levels from ACCS on are left out. Panels are those of crt_pack, one digit to an atom (64 rows x 128 k); a
// stage has BK k of each digit, rows of 32 bytes:
//
//   stage: [ digit 0 of A: BM rows | digit 1 | ... ][ digit 0 of B: BN rows | digit 1 | ... ]
//
// In every other four rows the second 16-byte chunk of a row comes first, so that the eight rows of an ldmatrix meet no bank
// twice. A thread copies one such chunk of a row of A or B (two where THREADS are few) for all digits. STAGES buffers form a ring.
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN;
constexpr int THREADS = WARPS_M * WARPS_N * WAVE;
constexpr int MI = WM / MMA_M, NI = WN / MMA_N; // MMA tiles of a warp
constexpr int A_REGS = MMA_M * FRAGMENT_K / 4 / WAVE; // of a fragment
constexpr int B_REGS = MMA_N * FRAGMENT_K / 4 / WAVE;
constexpr int ATOM_STEPS = 128 / BK; // stages of an atom
constexpr int A_BYTES = SLICES * BM * BK, STAGE_BYTES = SLICES * (BM + BN) * BK;
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;
constexpr int ROW_CHUNKS = 2 * (BM + BN) / THREADS; // 16 bytes each, of a thread
constexpr int SUMS = MI * NI * D_REGS;          // of a thread, of each level
static_assert(BK == 32 && FRAGMENT_K == BK && ROW_CHUNKS * THREADS == 2 * (BM + BN), "a thread copies whole chunks of rows");
static_assert(BM * BN * CRT_VALUE_WORDS * 4 <= SMEM_BYTES, "results lie where stages did");

// The half of a row that a thread copies: where its digits come from and go to.
struct half_row {
    const unsigned char *from; // the row in the first atom
    long long digit_from;
    unsigned to, digit_to; // in a stage
    int half, swizzle;
};

// Rows beyond the matrix are those of its last block, whose results are never stored.
HT_DEVICE half_row half_row_of(const ht_crt_args &g, int entry, int tile_m, int tile_n, int at)
{
    const bool of_a = at / 2 < BM;
    const int own = of_a ? at / 2 : at / 2 - BM, first = of_a ? tile_m * BM : tile_n * BN,
              last = ((of_a ? g.m : g.n) + 63) / 64 - 1;
    const int row = first + own, block = row / 64 < last ? row / 64 : last;
    half_row x;
    x.half = at % 2;
    x.swizzle = row & 7;
    x.from = (of_a ? g.a_packed.panels + entry * g.a_packed.stride : g.b_packed.panels + entry * g.b_packed.stride) +
             (long long)block * g.k_blocks * 8192 + row % 64 * 128;
    x.digit_from = of_a ? g.a_packed.modulus_stride : g.b_packed.modulus_stride;
    x.to = (unsigned)((of_a ? 0 : A_BYTES) + own * BK + ((x.half ^ (own >> 2 & 1)) << 4));
    x.digit_to = (unsigned)((of_a ? BM : BN) * BK);
    return x;
}

// Where a thread's values wait for their end, word w of element e.
HT_DEVICE unsigned value_at(unsigned smem, int e, int w)
{
    return smem + (unsigned)((e * CRT_VALUE_WORDS + w) * THREADS + (int)threadIdx.x) * 4;
}

HT_DEVICE int scale_of(const ht_crt_args &g, int row, int col)
{
    return ht_ldg_i32(g.a_packed.exponents + blockIdx.z * g.a_packed.exponent_stride + row) +
           ht_ldg_i32(g.b_packed.exponents + blockIdx.z * g.b_packed.exponent_stride + col) - CRT_LEFT_OUT_BITS;
}

HT_DEVICE void store_element(const ht_crt_args &g, const scalars &by, unsigned smem, int e, int row, int col)
{
    unsigned value[CRT_VALUE_WORDS];
#pragma unroll
    for (int w = 0; w < CRT_VALUE_WORDS; w++) {
        value[w] = ht_as_uint(ht_lds4(value_at(smem, e, w)));
    }
    long long *const c = (long long *)g.to.c + blockIdx.z * g.to.stride + col * g.to.ldc + row;
    const int scale = scale_of(g, row, col);
    unsigned long long result;
    if (by.is_power && scale < CRT_POISONED / 2)
        result = ht_crt_to_fp64(value, scale - by.shift, by.sign);
    else
        result = ht_crt_axpby(value, scale, by.alpha, by.beta,
                              ht_crt_is_zero(by.beta) ? 0 : (unsigned long long)ht_ldg_i64(c));
    ht_stg_i64(c, (long long)result);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) product(const ht_crt_args g)
{
    const int tid = (int)threadIdx.x, lane = tid & (WAVE - 1), warp = (int)(threadIdx.x / WAVE);
    int tile_m, tile_n;
    ht_raster_tile(g.m, g.n, &tile_m, &tile_n);
    const int steps = (g.a.k + BK - 1) / BK;
    const unsigned smem = ht_smem_base<SMEM_BYTES>();

    half_row own[ROW_CHUNKS];
#pragma unroll
    for (int i = 0; i < ROW_CHUNKS; i++) {
        own[i] = half_row_of(g, (int)blockIdx.z, tile_m, tile_n, i * THREADS + tid);
    }

    // Fragment addresses: digits and MMA tiles are immediates.
    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    const int a_row = warp_row + ht_a_row(lane), b_row = warp_col + ht_b_row(lane);
    const unsigned a_at = smem + (unsigned)(a_row * BK + ((ht_a_chunk(lane) ^ (a_row >> 2 & 1)) << 4));
    const unsigned b_at = smem + (unsigned)(A_BYTES + b_row * BK + ((ht_b_chunk(lane) ^ (b_row >> 2 & 1)) << 4));

    uint4 staged[ROW_CHUNKS][SLICES]; // only for architectures whose copies pass through registers
    unsigned b[SLICES][NI][B_REGS];
    int acc[ACCS][MI][NI][D_REGS];
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

    // ---- one stage per turn; STAGES - 1 are in flight ahead of it, the first of which begin in turns before the first
    int carry = 0; // steps since sums were small; after PROMOTE_STEPS INT32 could overflow
    for (int step = 1 - STAGES; step < steps; step++) {
        const int ahead = step + STAGES - 1;
        const bool fetch = ahead < steps;
        const unsigned write = smem + (unsigned)(ahead % STAGES) * STAGE_BYTES;
        if (step >= 0) {
            ht_stage_wait<STAGES - 2>();
            ht_barrier(); // this stage is there, and everyone has read the one that is filled next
        }
        if (fetch) {
            const int k16 = ahead % ATOM_STEPS * 2; // of the atom's row, 16 bytes each
#pragma unroll
            for (int i = 0; i < ROW_CHUNKS; i++) {
                const unsigned char *const from =
                    own[i].from + (long long)(ahead / ATOM_STEPS) * 8192 + ((k16 + own[i].half) ^ own[i].swizzle) * 16;
#pragma unroll
                for (int p = 0; p < SLICES; p++) {
                    ht_stage_copy_issue(&staged[i][p], write + own[i].to + p * own[i].digit_to,
                                        from + p * own[i].digit_from);
                }
            }
        }
        ht_stage_commit();
        if (step >= 0) {
            const unsigned read = (unsigned)(step % STAGES) * STAGE_BYTES;
#pragma unroll
            for (int q = 0; q < SLICES; q++) {
#pragma unroll
                for (int j = 0; j < NI; j += B_TILES) {
                    ht_load_b(b[q][j], b_at + read + (q * BN + j * MMA_N) * BK);
                }
            }
#pragma unroll
            for (int p = 0; p < SLICES; p++) {
                unsigned a[MI][A_REGS];
#pragma unroll
                for (int i = 0; i < MI; i++) {
                    ht_load_a(a[i], a_at + read + (p * BM + i * MMA_M) * BK);
                }
#pragma unroll
                for (int q = 0; q < SLICES; q++) {
                    if (p + q < ACCS) {
#pragma unroll
                        for (int i = 0; i < MI; i++) {
#pragma unroll
                            for (int j = 0; j < NI; j++) {
                                ht_mma(acc[p + q][i][j], a[i], b[q][j]);
                            }
                        }
                    }
                }
            }
            if (++carry == PROMOTE_STEPS) {
                carry = 0;
#pragma unroll
                for (int h = 0; h < ACCS - 1; h++) { // from the last level up
#pragma unroll
                    for (int i = 0; i < MI; i++) {
#pragma unroll
                        for (int j = 0; j < NI; j++) {
                            ht_carry(acc[ACCS - 2 - h][i][j], acc[ACCS - 1 - h][i][j]);
                        }
                    }
                }
            }
        }
        if (fetch) {
#pragma unroll
            for (int i = 0; i < ROW_CHUNKS; i++) {
#pragma unroll
                for (int p = 0; p < SLICES; p++) {
                    ht_stage_copy_complete(&staged[i][p], write + own[i].to + p * own[i].digit_to);
                }
            }
        }
    }
    ht_stage_wait<0>();
    ht_barrier(); // stages are read: their memory is free

    // ---- epilogue: the integer of each element, into shared memory of its own thread, then one after the other into C
#pragma unroll
    for (int e = 0; e < SUMS; e++) {
        int sum[ACCS];
        unsigned value[CRT_VALUE_WORDS];
#pragma unroll
        for (int l = 0; l < ACCS; l++) {
            sum[l] = acc[l][e / D_REGS / NI][e / D_REGS % NI][e % D_REGS];
        }
        ht_crt_sum_levels(sum, value);
#pragma unroll
        for (int w = 0; w < CRT_VALUE_WORDS; w++) {
            ht_sts4(value_at(smem, e, w), ht_as_float(value[w]));
        }
    }
    const scalars by = load_alpha_beta(g.to);
#pragma unroll 1
    for (int e = 0; e < SUMS; e++) {
        const int row = tile_m * BM + ht_crt_row(tid, e), col = tile_n * BN + ht_crt_column(tid, e);
        if (row < g.m && col < g.n)
            store_element(g, by, smem, e, row, col);
    }
}

static int init(void)
{
    return ht_allow_smem(product, SMEM_BYTES);
}

static int launch(const ht_crt_args &g, void *stream)
{
    return ht_launch(product, ht_tile_count(g.m, g.n), 1, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, g);
}
