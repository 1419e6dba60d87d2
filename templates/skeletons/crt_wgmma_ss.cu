#include "../samples/crt_wgmma_ss.h" //@drop
// ---- geometry: INT8 products of residues by wgmma, one for each modulus
// A block computes BM x BN sums of one modulus at a time; its last warpgroup copies panels into a ring of
// stages, the others multiply, each WN columns, in N_SUBTILES parts of 64, and all BM rows. As in
// wgmma_ss the unit sees C transposed. Blocks are persistent: work items are tiles, modulus after modulus,
// so that panels of one stay in L2, and copies of the next item begin while sums of the last become
// residues.
//
//   stage: [ A atoms: BM/64 row blocks ][ B atoms: BN/64 row blocks ]     8192 bytes each, 128 k
//
//   producer     copy stage 0 | copy 1 | ...            waits for EMPTY, announces FULL
//   warpgroups   [stage 0][stage 1] ...                  one stage's MMAs in flight while the next are issued:
//                                                      a stage is released when the one behind it is begun
constexpr int CONSUMER_WARPGROUPS = BN / WN, N_SUBTILES = WN / 64;
constexpr int ACC_REGS = BM / 2; // sums of a thread in 64 columns
constexpr int THREADS = (CONSUMER_WARPGROUPS + 1) * 128;
constexpr int A_BLOCKS = BM / 64, B_BLOCKS = BN / 64;
constexpr int A_BYTES = BM * 128, STAGE_BYTES = (BM + BN) * 128;
constexpr int FULL = STAGES * STAGE_BYTES, EMPTY = FULL + STAGES * 8, SMEM_BYTES = EMPTY + STAGES * 8;
constexpr int PRODUCER_REGISTERS = CONSUMER_WARPGROUPS == 2 ? 40 : 32;
constexpr int CONSUMER_REGISTERS = CONSUMER_WARPGROUPS > 2 ? 160 : CONSUMER_WARPGROUPS > 1 ? 232 : 248;
constexpr int EXACT_STAGES = CRT_EXACT_K / 128; // after which INT32 could overflow
static_assert((PRODUCER_REGISTERS + CONSUMER_WARPGROUPS * CONSUMER_REGISTERS) * 128 <= 65536, "of a block");
static_assert(N_SUBTILES * ACC_REGS % 16 == 0, "a thread stores whole 16 bytes");

// Beyond PART_K of k a wave of tiles reads more than L2 keeps, so that blocks which drift apart may not find what
// the others have read: then k is cut, and each launch adds to the residues of those before it.
constexpr int PART_K = 8192;

struct product_part {
    ht_crt_args whole;
    int first, count; // blocks of 128 k
};

struct work {
    int m0, n0, modulus, entry; // modulus CRT_MODULI: absolute values
    long long tile;
    bool skips; // a modulus that the product does not take, or an entry that is not this scheme's
};

static __host__ __device__ __forceinline__ int passes_of(const ht_crt_args &g)
{
    return g.tests ? 1 : CRT_MODULI;
}

HT_DEVICE bool is_idle(const ht_crt_args &g, int entry)
{
    return ht_crt_is_idle(g.counts, entry) || ht_crt_gives_up(g.failed, entry, g.tests != 0);
}

// Tiles are numbered in groups of RASTER tile rows, column by column inside a group, so that blocks that run
// together share panels in L2.
HT_DEVICE work next_tile(const ht_crt_args &g, int item, int moduli)
{
    const int tiles_m = (g.m + BM - 1) / BM, tiles_n = (g.n + BN - 1) / BN, tiles = tiles_m * tiles_n;
    const int whole = item / tiles, inside_all = item - whole * tiles, per_group = RASTER * tiles_n;
    const int first = inside_all / per_group * RASTER, inside = inside_all % per_group;
    const int height = tiles_m - first < RASTER ? tiles_m - first : RASTER;
    const int tile_m = first + inside % height, tile_n = inside / height;
    work w;
    w.m0 = tile_m * BM;
    w.n0 = tile_n * BN;
    w.entry = whole / passes_of(g);
    w.modulus = g.tests ? CRT_MODULI : whole - w.entry * CRT_MODULI;
    w.skips = (CRT_HAS_FEWER && !g.tests && w.modulus >= moduli) || (g.batch > 1 && is_idle(g, w.entry));
    w.tile = (long long)tile_n * tiles_m + tile_m;
    return w;
}

// None where a product, not a batch, is not this scheme's.
HT_DEVICE int tile_count(const ht_crt_args &g)
{
    if (g.batch == 1 && is_idle(g, 0))
        return 0;
    return ((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN) * passes_of(g) * g.batch;
}

// First atom of a row block; blocks beyond the matrix read its last one, whose results nobody reads.
HT_DEVICE long long panel_row(int block, int rows, int k_blocks)
{
    const int last = (rows + 63) / 64 - 1;
    return (long long)(block < last ? block : last) * k_blocks * 8192;
}

HT_DEVICE void produce(const product_part &part, unsigned smem)
{
    const ht_crt_args &g = part.whole;
    int stage = 0;
    unsigned phase = 1; // nobody has to empty the first round
    ht_pdl_wait();
    ht_pdl_trigger();
    const int items = tile_count(g), moduli = ht_crt_moduli(g.spans);
    for (int item = (int)blockIdx.x; item < items; item += (int)gridDim.x) {
        const work w = next_tile(g, item, moduli);
        if (w.skips)
            continue;
        const unsigned char *src[A_BLOCKS + B_BLOCKS];
#pragma unroll
        for (int i = 0; i < A_BLOCKS; i++) {
            src[i] = g.a_packed.panels + w.entry * g.a_packed.stride + w.modulus * g.a_packed.modulus_stride +
                     panel_row(w.m0 / 64 + i, g.m, g.k_blocks) + part.first * 8192ll;
        }
#pragma unroll
        for (int i = 0; i < B_BLOCKS; i++) {
            src[A_BLOCKS + i] = g.b_packed.panels + w.entry * g.b_packed.stride + w.modulus * g.b_packed.modulus_stride +
                                panel_row(w.n0 / 64 + i, g.n, g.k_blocks) + part.first * 8192ll;
        }
#pragma unroll 1
        for (int k = 0; k < part.count; k++) {
            const unsigned to = smem + (unsigned)stage * STAGE_BYTES, full = smem + FULL + (unsigned)stage * 8;
            ht_mbar_wait(smem + EMPTY + (unsigned)stage * 8, phase);
            ht_mbar_arrive_expect_tx(full, STAGE_BYTES);
#pragma unroll
            for (int i = 0; i < A_BLOCKS + B_BLOCKS; i++) {
                ht_bulk_copy(to + i * 8192, src[i] + k * 8192ll, 8192, full);
            }
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            phase ^= stage == 0;
        }
    }
}

// A byte for each sum, in the order in which this thread holds them (epilogue/crt_order_wgmma).
HT_DEVICE void store_residues(const ht_crt_args &g, const work &w, bool adds, int *sum)
{
    unsigned char *to = g.planes + w.entry * g.plane_stride + w.modulus * g.plane_modulus_stride +
                        w.tile * (BM * BN) + (int)threadIdx.x * 16;
    if (w.modulus == CRT_MODULI) {
#pragma unroll
        for (int i = 0; i < N_SUBTILES * ACC_REGS; i += 16) {
            ht_crt_store_failed(g, w.entry, w.m0, w.n0, (int)threadIdx.x, i, to + i * (CONSUMER_WARPGROUPS * 128), sum + i);
        }
        return;
    }
    const unsigned p = CRT_MODULUS[w.modulus], barrett = CRT_BARRETT[w.modulus];
#pragma unroll
    for (int i = 0; i < N_SUBTILES * ACC_REGS; i += 16) {
        ht_crt_store_residues(to + i * (CONSUMER_WARPGROUPS * 128), sum + i, adds, p, barrett);
    }
}

HT_DEVICE void release_stage(unsigned smem, int stage)
{
    if (threadIdx.x % 32 == 0)
        ht_mbar_arrive(smem + EMPTY + (unsigned)stage * 8);
}

HT_DEVICE void consume(const product_part &part, unsigned smem)
{
    const ht_crt_args &g = part.whole;
    const int wg = ht_uniform((int)threadIdx.x / 128);
    const unsigned a_desc = ht_operand(smem), b_desc = ht_operand(smem + A_BYTES + wg * N_SUBTILES * 8192);
    int stage = 0;
    unsigned phase = 0;
    int acc[N_SUBTILES][ACC_REGS];
    ht_pdl_wait();
    ht_pdl_trigger();
    const int items = tile_count(g), moduli = ht_crt_moduli(g.spans);
    for (int item = (int)blockIdx.x; item < items; item += (int)gridDim.x) {
        const work w = next_tile(g, item, moduli);
        if (w.skips)
            continue;
        int exact = 0,
            last = -1; // stages since sums began or were residues; the stage whose MMAs are in flight
        for (int k = 0; k < part.count; k++) {
            const unsigned at = (unsigned)stage * (STAGE_BYTES / 16);
            ht_mbar_wait(smem + FULL + (unsigned)stage * 8, phase);
            ht_wgmma_fence();
#pragma unroll
            for (int s = 0; s < N_SUBTILES; s++) {
#pragma unroll
                for (int i = 0; i < 4; i++) { // 32 k
                    ht_wgmma(ht_width<BM>(), acc[s], b_desc + at + s * 512 + i * 2, a_desc + at + i * 2,
                             k + i > 0);
                }
            }
            ht_wgmma_commit();
            if (last >= 0) {
                ht_wgmma_wait<1>();
                release_stage(smem, last);
            }
            last = stage;
            if (++exact == EXACT_STAGES && !g.tests) {
                exact = 0;
                ht_wgmma_wait<0>();
#pragma unroll
                for (int s = 0; s < N_SUBTILES; s++) {
                    ht_wgmma_fence_operand<ACC_REGS>(acc[s]);
#pragma unroll
                    for (int i = 0; i < ACC_REGS; i++) {
                        acc[s][i] = ht_crt_residue(acc[s][i], CRT_MODULUS[w.modulus], CRT_BARRETT[w.modulus]);
                    }
                }
            }
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            phase ^= stage == 0;
        }
        ht_wgmma_wait<0>();
#pragma unroll
        for (int s = 0; s < N_SUBTILES; s++) {
            ht_wgmma_fence_operand<ACC_REGS>(acc[s]);
        }
        release_stage(smem, last);
        store_residues(g, w, part.first > 0 || g.adds, acc[0]);
    }
}

static __global__ void __launch_bounds__(THREADS, 1) residues(const product_part part)
{
    const unsigned smem = ht_smem_base<SMEM_BYTES>();
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ht_mbar_init(smem + FULL + s * 8, 1);
            ht_mbar_init(smem + EMPTY + s * 8, CONSUMER_WARPGROUPS * 4); // one arrival of each consumer warp
        }
        ht_mbar_init_done();
    }
    ht_barrier();
    if (ht_uniform((int)threadIdx.x / 128) == CONSUMER_WARPGROUPS) {
        ht_reg_dealloc<PRODUCER_REGISTERS>();
        if (ht_uniform((int)threadIdx.x / 32) == CONSUMER_WARPGROUPS * 4) {
            if (threadIdx.x % 32 == 0)
                produce(part, smem);
        }
    } else {
        ht_reg_alloc<CONSUMER_REGISTERS>();
        consume(part, smem);
    }
}

static int init(void)
{
    return ht_prefer_smem(residues, SMEM_BYTES);
}

static int launch(const ht_crt_args &g, void *stream)
{
    const long long items = (long long)((g.m + BM - 1) / BM) * ((g.n + BN - 1) / BN) * passes_of(g) * g.batch;
    if (items > 0x7fffffff)
        return 1; // cudaErrorInvalidValue: more tiles than the kernel can count
    const long long tiles = items / passes_of(g) / g.batch;
    const int parts = tiles > SMS && !g.tests ? (g.k_blocks + PART_K / 128 - 1) / (PART_K / 128) : 1;
    product_part part = {g, 0, (g.k_blocks + parts - 1) / parts};
    for (; part.first < g.k_blocks; part.first += part.count) {
        part.count = part.count < g.k_blocks - part.first ? part.count : g.k_blocks - part.first;
        const int code = ht_launch_dependent(residues, (unsigned)(items < SMS ? items : SMS), 1, 1, THREADS,
                                             SMEM_BYTES, stream, part);
        if (code != 0)
            return code;
    }
    return 0;
}
