#include "../samples/mma_warp.h" //@drop
#include "../hooks/stage/panel_ring.cuh" //@drop
// ---- geometry -------------------------------------------------------------------------------------------------
// A block computes BM x BN of C in steps of BK, a warp WM x WN of it, from packed panels (stage/panel_ring).
constexpr int D_ROWS = D_REGS / D_COLS;         // rows and columns of a lane in one MMA tile
constexpr int MASTERS = PROMOTE_STEPS > 0 ? MI : 1;

// Which of a warp's results are not cleared: of a lane's column, a bit for each row.
constexpr int FAILED_WORDS = (WM + 31) / 32;
static_assert(!CHECKS || WM % 32 == 0, "a word has 32 rows of a column");

// Lanes that share the column put theirs together. row0: of the warp.
HT_DEVICE void store_failed(const ht_gemm_args &g, const unsigned *failed, int row0, int col, int lane)
{
#pragma unroll
    for (int w = 0; w < FAILED_WORDS; w++) {
        unsigned word = failed[w];
        for (int m = ROW_LANES_STEP; m < ROW_LANES_END; m *= 2)
            word |= (unsigned)ht_shfl_xor((int)word, m); //@mutate store-failed
        const int row = row0 + w * 32;
        if (lane % ROW_LANES_END / ROW_LANES_STEP == 0 && row < g.m && col < g.n) {
            unsigned *const to = ht_failed_word(g, blockIdx.z, row, col);
            ht_stg_i32((int *)to, (int)word);
            ht_list_failed(g, to, word); //@mutate list-word
        }
    }
}

HT_DEVICE float *element_of(const ht_gemm_args &g, int row, int col)
{
    return (float *)g.to.c + (long long)blockIdx.z * g.to.stride + (long long)col * g.to.ldc + row;
}

// One result: unscaled, then stored as a split-K part or combined with what C was.
HT_DEVICE void store_result(const ht_gemm_args &g, ht_sum sum, int row, int col, int exponent, float alpha, float beta, float old)
{
    if (row >= g.m || col >= g.n)
        return;
    sum = ht_partial(sum, exponent);
    if (g.splits > 1) {
        const long long part = (long long)blockIdx.z * g.splits + blockIdx.y;
        ht_stg_sum(g.partial, (part * g.n + col) * g.m + row, sum);
        return;
    }
    ht_stg4(element_of(g, row, col), ht_axpby(alpha, ht_finish(sum, exponent), beta, old));
}

HT_DEVICE int exponent_of(const int *absmax, long long at, int row, int rows)
{
    return SCALES_ROWS && row < rows ? ht_row_exponent(ht_ldg_i32(absmax + at + row)) : 0;
}

// One element of all accumulators, combined as the scheme says; accumulator l lies MI * NI * D_REGS numbers after l - 1.
HT_DEVICE ht_sum result_of(const ht_acc *acc)
{
    ht_acc v[ACCS];
    for (int l = 0; l < ACCS; l++)
        v[l] = acc[l * MI * NI * D_REGS];
    return ht_combine(v);
}

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) gemm(const ht_gemm_args g)
{
    if (CHECKS && ht_leaves_all<THREADS>(g))
        return;
    const int tid = (int)threadIdx.x, lane = tid & (WAVE - 1), warp = (int)(threadIdx.x / WAVE);
    int tile_m, tile_n;
    ht_raster_tile(g.m, g.n, &tile_m, &tile_n);

    // This split's share of the k steps.
    const int total = g.k_blocks / K_ATOMS;
    const int begin = (int)((long long)total * (int)blockIdx.y / g.splits);
    const int steps = (int)((long long)total * ((int)blockIdx.y + 1) / g.splits) - begin;

    // Where this thread's 16-byte copies come from and go to.
    const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
    for (int i = 0; i < A_BLOCKS; i++) {
        src[i] = ht_panel_row(g.a_packed.panels + (long long)blockIdx.z * g.a_packed.stride, tile_m * A_BLOCKS + i, g.m, g.k_blocks,
                              begin * K_ATOMS) + tid * 16;
    }
#pragma unroll
    for (int i = 0; i < B_BLOCKS; i++) {
        src[A_BLOCKS + i] = ht_panel_row(g.b_packed.panels + (long long)blockIdx.z * g.b_packed.stride, tile_n * B_BLOCKS + i, g.n,
                                         g.k_blocks, begin * K_ATOMS) + tid * 16;
    }
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const unsigned copy_to = smem + (unsigned)tid * 16;
    long long copy_from = 0; // bytes along k

    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    unsigned a_at[CHUNK_GROUPS], b_at[CHUNK_GROUPS]; // of fragments in a stage
    ht_fragment_addresses(a_at, b_at, smem, warp_row, warp_col, lane);

    if (CHECKS)
        ht_prefetch_flags(g);

    uint4 staged[PARTS];         // only for architectures whose copies pass through registers
    unsigned a[2][SLICES][MI][A_REGS]; // fragments of this and the next k step
    unsigned b[2][SLICES][NI][B_REGS];
    ht_acc acc[ACCS][MI][NI][D_REGS]; // chains on the tensor cores
    ht_acc master[MASTERS][NI][D_REGS]; // where closed chains of acc[0] are added up; unused without promotion
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

    //@emit scales
    //@end
    // ---- prologue: PREFETCH_STAGES stages in flight, the first one landed
    //@emit prologue
    copy_from = ht_ring_fill(staged, copy_to, src, steps);
    //@end

    unsigned read = 0;                                         // offset of the stage being multiplied
    unsigned write = (unsigned)(PREFETCH_STAGES % STAGES) * STAGE_BYTES; // offset of the stage being filled
    int chain = 0;                                             // steps since the last promotion

    //@emit first
#pragma unroll
    for (int s = 0; s < SLICES; s++) {
        ht_load_fragments(a[0][s], b[0][s], a_at[s % ATOM_SLICES * K_PAIRS], b_at[s % ATOM_SLICES * K_PAIRS],
                          s / ATOM_SLICES * 8192);
    }
    //@end

    // ---- steady state: one stage per turn. The next fragments are loaded and the next stage is copied between the MMAs.
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;         // there is a next stage to read
        const bool fetch = step + PREFETCH_STAGES < steps; // there is a stage to copy
        const unsigned wrapped = ht_ring_next(read);
        const unsigned next = more ? wrapped : read; // the last turn reloads what it has: valid, and unused
        //@emit step
#pragma unroll
        for (int s = 0; s < K_STEPS; s++) {
            if (s == 0 && fetch && !REFILL_AFTER_BARRIER)
                ht_ring_issue(staged, copy_to + write, src, copy_from);
            if (s == K_STEPS - 1)
                ht_ring_advance(staged, copy_to + write, src, copy_from, fetch);
            const int n = (s + 1) % K_STEPS, half = (s + 1) % 2;
            const unsigned from = (s == K_STEPS - 1 ? next : read) + n / K_PAIRS * GROUP * 8192;
#pragma unroll
            for (int l = 0; l < SLICES; l++) {
                const int chunk = l % ATOM_SLICES * K_PAIRS + n % K_PAIRS;
                ht_load_fragments(a[half][l], b[half][l], a_at[chunk], b_at[chunk], from + l / ATOM_SLICES * 8192);
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
        write = ht_ring_next(write);
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<0>();

    // ---- drain and epilogue. Where a lane's accumulators lie in a tile is the architecture's business (ht_d_row, ht_d_col).
    //@emit drain
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) {
            ht_drain(acc[0][i][j], master[i][j]);
        }
    }
    //@end
    const ht_gemm_args &late = ht_reload_args(g);
    const float alpha = ht_value_of(late.to.alpha), beta = ht_value_of(late.to.beta);
    const int row0 = tile_m * BM + warp_row, col0 = tile_n * BN + warp_col;
    const bool reads = late.splits == 1 && beta != 0.0f;
    const bool tests = CHECKS && late.splits == 1 && ht_certificate_needed(late); // split-K partials are stored in any case, the reduction tests
    int ea[MI * D_ROWS], eb[NI * D_COLS]; // exponents of this lane's rows and columns
#pragma unroll
    for (int i = 0; i < MI * D_ROWS; i++) {
        ea[i] = exponent_of(late.a_packed.row_absmax, (long long)blockIdx.z * late.a_packed.absmax_stride,
                            row0 + i / D_ROWS * MMA_M + ht_d_row(lane, i % D_ROWS), late.m);
    }
#pragma unroll
    for (int j = 0; j < NI * D_COLS; j++) {
        eb[j] = exponent_of(late.b_packed.row_absmax, (long long)blockIdx.z * late.b_packed.absmax_stride,
                            col0 + j / D_COLS * MMA_N + ht_d_col(lane, j % D_COLS), late.n);
    }
    float ta[MI * D_ROWS] = {}; // what this lane's rows ask for
#pragma unroll
    for (int i = 0; i < MI * D_ROWS; i++) {
        if (tests)
            ta[i] = ht_row_threshold(late, blockIdx.z, row0 + i / D_ROWS * MMA_M + ht_d_row(lane, i % D_ROWS));
    }
#pragma unroll
    for (int j = 0; j < NI * D_COLS; j++) {
        const int col = col0 + j / D_COLS * MMA_N + ht_d_col(lane, j % D_COLS);
        const float tb = tests ? ht_column_threshold(late, blockIdx.z, col) : 0.0f;
        unsigned failed[FAILED_WORDS] = {};
        float old[MI * D_ROWS] = {}; // all of a column's before one is stored
#pragma unroll
        for (int i = 0; i < MI * D_ROWS; i++) {
            const int row = row0 + i / D_ROWS * MMA_M + ht_d_row(lane, i % D_ROWS);
            if (reads && row < late.m && col < late.n)
                old[i] = ht_ldg4(element_of(late, row, col)); //@mutate mma-old
        }
#pragma unroll
        for (int i = 0; i < MI * D_ROWS; i++) {
            const int row = i / D_ROWS * MMA_M + ht_d_row(lane, i % D_ROWS);
            const ht_sum sum = result_of(&acc[0][i / D_ROWS][j / D_COLS][i % D_ROWS * D_COLS + j % D_COLS]);
            if (!tests || ht_is_cleared(SCALES_ROWS ? (float)sum : 0.0f, ta[i], tb)) // with scales of tiles only rows and columns matter
                store_result(late, sum, row0 + row, col, ea[i] + eb[j], alpha, beta, old[i]);
            else if (row0 + row < late.m)
                failed[i / D_ROWS * MMA_M / 32] |= 1u << row % 32; //@mutate failed-bit
        }
        if (tests)
            store_failed(late, failed, row0, col, lane);
    }
}

static int init(void)
{
    return ht_allow_smem(gemm, SMEM_BYTES);
}

static int launch(const ht_gemm_args &g, void *stream)
{
    return ht_launch(gemm, ht_tile_count(g.m, g.n), (unsigned)g.splits, (unsigned)g.batch, THREADS, SMEM_BYTES, stream, g);
}
