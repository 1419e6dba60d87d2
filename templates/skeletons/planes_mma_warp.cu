#include "../samples/planes_mma_warp.h" //@drop
#include "../hooks/stage/panel_ring.cuh" //@drop
// ---- geometry: passes of FP64 products by mma.sync or MFMA, one for each modulus or pair of slices
// A block computes BM x BN sums of one pass in steps of BK, a warp WM x WN of them, from packed panels (stage/panel_ring), and leaves
// them in a plane (epilogue/planes_residues, epilogue/planes_sums). Passes are the slowest index of blocks. Tiles lie by columns of tiles,
// sums in the order in which a thread holds them.
constexpr int SUMS = MI * NI * D_REGS; // of a thread
static_assert(SUMS % SUMS_AT_ONCE == 0, "a thread stores whole 16 bytes");

static __global__ void __launch_bounds__(THREADS, ht_bound(THREADS, MIN_BLOCKS)) product(const ht_pass_args g)
{
    const int tid = (int)threadIdx.x, lane = tid & (WAVE - 1), warp = (int)(threadIdx.x / WAVE);
    int tile_m, tile_n;
    ht_raster_tile(g.m, g.n, &tile_m, &tile_n);

    const ht_pass pass = ht_pass_of(g);
    if (ht_lacks_first(g, pass) || ht_lacks_second(g, pass) || ht_lacks_third(g, pass))
        return; // the product does not take it
    const int steps = g.k_blocks / K_ATOMS;
    const unsigned char *const a_panels = ht_panels_of_a(g, pass);
    const unsigned char *const b_panels = ht_panels_of_b(g, pass);

    // Where this thread's 16-byte copies come from and go to.
    const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
    for (int i = 0; i < A_BLOCKS; i++) {
        src[i] = ht_panel_row(a_panels, tile_m * A_BLOCKS + i, g.m, g.k_blocks, 0) + tid * 16;
    }
#pragma unroll
    for (int i = 0; i < B_BLOCKS; i++) {
        src[A_BLOCKS + i] = ht_panel_row(b_panels, tile_n * B_BLOCKS + i, g.n, g.k_blocks, 0) + tid * 16;
    }
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    const unsigned copy_to = smem + (unsigned)tid * 16;
    long long copy_from = 0; // bytes along k

    const int warp_row = warp % WARPS_M * WM, warp_col = warp / WARPS_M * WN;
    unsigned a_at[CHUNK_GROUPS], b_at[CHUNK_GROUPS]; // of fragments in a stage
    ht_fragment_addresses(a_at, b_at, smem, warp_row, warp_col, lane);

    uint4 staged[PARTS];       // only for architectures whose copies pass through registers
    unsigned a[2][MI][A_REGS]; // fragments of this and the next k step
    unsigned b[2][NI][B_REGS];
    ht_pass_sum acc[MI][NI][D_REGS];
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
    copy_from = ht_ring_fill(staged, copy_to, src, steps);

    unsigned read = 0;                                             // offset of the stage being multiplied
    unsigned write = (unsigned)(PREFETCH_STAGES % STAGES) * STAGE_BYTES; // offset of the stage being filled
    int exact = 0;                                                 // steps since sums were zero or shortened
    ht_load_fragments(a[0], b[0], a_at[0], b_at[0], 0);

    // ---- steady state: one stage per turn. The next fragments are loaded and the next stage is copied
    // between the MMAs.
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;          // there is a next stage to read
        const bool fetch = step + PREFETCH_STAGES < steps; // there is a stage to copy
        const unsigned wrapped = ht_ring_next(read);
        const unsigned next = more ? wrapped : read; // the last turn reloads what it has: valid, and unused
#pragma unroll
        for (int s = 0; s < K_STEPS; s++) {
            if (s == 0 && fetch && !REFILL_AFTER_BARRIER)
                ht_ring_issue(staged, copy_to + write, src, copy_from);
            if (s == K_STEPS - 1)
                ht_ring_advance(staged, copy_to + write, src, copy_from, fetch);
            const int n = (s + 1) % K_STEPS, half = (s + 1) % 2;
            const unsigned from = (s == K_STEPS - 1 ? next : read) + n / K_PAIRS * 8192;
            ht_load_fragments(a[half], b[half], a_at[n % K_PAIRS], b_at[n % K_PAIRS], from);
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
                    ht_mma(acc[i][j], a[s % 2][i], b[s % 2][j]);
                }
            }
        }
        if (EXACT_STEPS > 0 && ++exact == EXACT_STEPS) {
            exact = 0;
#pragma unroll
            for (int i = 0; i < MI; i++) {
#pragma unroll
                for (int j = 0; j < NI; j++) {
#pragma unroll
                    for (int q = 0; q < D_REGS; q++) {
                        acc[i][j][q] = ht_shortened(acc[i][j][q], pass);
                    }
                }
            }
        }
        read = wrapped;
        write = ht_ring_next(write);
        copy_from += K_ATOMS * 8192;
    }
    ht_stage_wait<0>();

    // ---- epilogue: the sums, in the order in which this thread holds them
    const long long tile = (long long)tile_n * ((g.m + BM - 1) / BM) + tile_m;
    auto *const to = ht_plane_of(g, pass, tile, tid);
#pragma unroll
    for (int i = 0; i < SUMS / SUMS_AT_ONCE; i++) {
        ht_pass_sum sum[SUMS_AT_ONCE];
#pragma unroll
        for (int e = i * SUMS_AT_ONCE; e < i * SUMS_AT_ONCE + SUMS_AT_ONCE; e++) {
            sum[e % SUMS_AT_ONCE] = acc[e / D_REGS / NI][e / D_REGS % NI][e % D_REGS];
        }
        ht_store_sums(g, pass, tile_m * BM, tile_n * BN, tid, i * SUMS_AT_ONCE, to + i * THREADS * SUMS_AT_ONCE, sum);
    }
}

static int init(void)
{
    return ht_allow_smem(product, SMEM_BYTES);
}

static int launch(const ht_pass_args &g, void *stream)
{
    return ht_launch(product, ht_tile_count(g.m, g.n), 1, ht_pass_count(g), THREADS, SMEM_BYTES, stream, g);
}
