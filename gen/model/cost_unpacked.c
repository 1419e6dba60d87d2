/* cost_unpacked: time of kernels that read the caller's matrices and multiply tiles of both: form tiled
 * waves, or device memory's stream, whichever takes longer. Fitted constants: model/fit.c. Instructions
 * were counted in the code of nvcc 13.0 for sm_80. */
#include "model/family.h"
#include "model/fit.h"

enum {
    PORT_BYTES = 64, /* from L2 to an SM in a clock */
    /* unpacked_mma: of 16 bytes in flight: load 1, 3 stores, 2 addresses, and for each pair of elements 3
     * conversions, 4 to expand, 4 subtractions, 4 to look at them; where FP32 is stored as it is; and of a
     * step: counters, offsets, barrier. */
    PART_INSTRUCTIONS = 36, COPY_INSTRUCTIONS = 5, LOOP_INSTRUCTIONS = 40,
    NUMBER_INSTRUCTIONS = 8, STEP_INSTRUCTIONS = 150, /* unpacked_wgmma: for each element, and besides */
    BANK_ROUNDS = 2, /* of 32 lanes' loads: rows r and r + 8 of 16 lie in one bank (stage/global_f32.cuh) */
    DMMA_K_LANES = 4, DMMA_LINES = 8, /* lanes of the 8 k of an MMA; how far apart a lane's rows lie */
    /* of FP32 to FP64, of an SM in a clock: CUDA C++ Programming Guide, arithmetic instructions, 9.0 */
    DMMA_CONVERSIONS = 16,
    /* of m16n8k8; of a warp's step: addresses, barrier; of 16 bytes; of an instruction, power included */
    FP64_MMA_FMAS = 1024, FP64_STEP_INSTRUCTIONS = 40, FP64_COPY_CLOCKS = 7, FP64_ISSUE_X256 = 320,
    NARROW_COLUMNS = 16, TALL_ROWS = 64, SIMT_CHAIN = 32 /* k after which a sum waits in shared memory */
};

/* Clocks x256 that a step of one block needs of an SM's pipes where it has so many schedulers. */
typedef int64_t pipes_of(const struct target *on, const struct tile *t, int64_t schedulers);

static int64_t busy(const struct target *on, const struct tile *t, const struct fit_unpacked *f,
                    pipes_of *pipes, int blocks) {
    const int64_t warps = (int64_t)tile_warps(t) * blocks, most = on->g->schedulers_per_sm;
    const int64_t port = (int64_t)(t->bm + t->bn) * t->bk * number_bytes(on->s->in) * 256 / PORT_BYTES;
    const int percent =
        t->bn <= NARROW_COLUMNS && f->narrow_pipe_percent > 0 ? f->narrow_pipe_percent : f->pipe_percent;
    return model_largest(pipes(on, t, warps < most ? warps : most) * percent / 100 + f->step_cycles * 256,
                         port);
}

/* The coefficients. chain: clocks x256 of a step's MMAs that depend on one another. */
static void waves(const struct target *on, const struct tile *t, struct cost *cost,
                  const struct fit_unpacked *f, pipes_of *pipes, int64_t chain, const char *unit) {
    cost->unit = unit;
    const int64_t sums = (int64_t)t->wm * t->wn / on->isa->wave_size,
                  bytes = (int64_t)(t->bm + t->bn) * t->bk * number_bytes(on->s->in);
    const int64_t latency = on->g->l2_latency_cycles + on->g->dram_latency_cycles;
    const int64_t arrival =
        latency * f->arrival_percent * 256 / 100 / (on->isa->mma_bf16 ? model_unpacked_sets(on, t) : 1);
    const int64_t alone = f->alone_cycles * 256 + f->alone_cycles_per_kb * bytes * 256 / 1024 + arrival;
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = at_boost(on, busy(on, t, f, pipes, cost->blocks_per_sm)),
        .step_latency_x256 = at_boost(on, model_largest(busy(on, t, f, pipes, 1), chain) + alone),
        .tile_overhead_cycles = at_boost(on, f->block_start_cycles + f->sum_cycles * sums),
        .block_overhead_cycles =
            at_boost(on, f->serial_cycles + f->serial_cycles_per_1024 * t->bm * t->bn / 1024),
        .scalar_store_cycles = at_boost(on, f->scalar_store_row_cycles * t->bm),
        .misaligned_cycles = at_boost(on, f->misaligned_cycles),
        .swap_ab_percent = t->bm > TALL_ROWS ? f->tall_swap_percent : 0,
        .dram_stream_gbps = (int)on->g->dram_gbps * f->stream_percent / 100,
    };
}

/* The function of a family's row where the pipes say all. */
#define TIME_OF(name, pipes, unit)                                                                           \
    void time_##name(const struct target *on, const struct tile *t, struct cost *cost) {                     \
        waves(on, t, cost, &fitted.name, pipes, 0, unit); }

/* ---- unpacked_mma, unpacked_wgmma (templates/skeletons/unpacked_tile.cu). A block splits each element of
 * a stage once, in shared memory; warps load fragments and multiply. A large product waits for mma.sync,
 * which is slower than the tensor core, a small one for the way of its data, a skinny one for memory.
 * Where the tensor core multiplies FP32 (gfx90a) nothing is split. */

/* Clocks x256 of one step of a block on the instructions and shared memory of FP32 FMAs, or MMAs. */
static int64_t fp32_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), lanes = on->isa->wave_size, area = (int64_t)t->wm * t->wn;
    const struct fp32_work w = model_fp32_work(on, t);
    const int64_t issue = w.multiplies + 2 * w.loads + model_unpacked_parts(on, t) * COPY_INSTRUCTIONS +
                          LOOP_INSTRUCTIONS + area / lanes;
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 /
                         model_fma_per_cycle(on->g, on->s) * on->g->schedulers_per_sm / schedulers;
    const int64_t rounds = on->isa->mfma_f32 ? BANK_ROUNDS : 1;
    const int64_t smem = rounds * warps * w.loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(warps * issue * 256 / schedulers, unit), smem);
}

/* The same on the matrix unit. Worked example: 64x64x32, 4 warps of 32x32, sm_90a: a warp has 96 MMAs, 24
 * loads of fragments, 64 sums to add to, 8 parts: 96 + 24 + 64 + 8 * 36 + 40 = 512 instructions, four
 * warps on four schedulers; unit 6 * 64 * 64 * 32 / 2048 / 0.62 = 619; shared memory 4 * 64 rows read and
 * 128 written, 192 bytes each, 128 a clock: 576; the sum is 1708. */
static int64_t mma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), sums = (int64_t)t->wm * t->wn / on->isa->wave_size,
                  steps = t->bk / on->mma->fragment_k;
    const int64_t mmas = (int64_t)on->s->products * (t->wm / on->mma->m) * (t->wn / on->mma->n) * steps;
    const int64_t loads = on->s->slices * (t->wm / on->mma->m + (t->wn + 15) / 16) * steps;
    const int64_t issue =
        mmas + loads + sums * steps + model_unpacked_parts(on, t) * PART_INSTRUCTIONS + LOOP_INSTRUCTIONS;
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 /
                         model_fma_per_cycle(on->g, on->s) * on->g->schedulers_per_sm / schedulers * 100 /
                         on->isa->mma_sync_rate_percent;
    const int64_t rows = warps * (t->wm + t->wn) + t->bm + t->bn;
    const int64_t smem = rows * t->bk * on->s->slices * 2 * 256 / on->g->smem_bytes_per_cycle;
    return warps * issue * 256 / schedulers + unit + smem;
}

/* The same of warpgroups, of whose groups one takes the step. Worked example: 128x64x32, 8 warps, two on a
 * scheduler: 24 numbers of a thread, 2 x (24 x 8 + 150) = 684 instructions; unit 6 * 128 * 64 * 32 / 2048
 * = 768; shared memory: each warpgroup reads six slices of Q, of which the block stores three, (2 x 6 + 3)
 * x 64 x 64 bytes / 128 = 480: 1932. */
static int64_t warpgroup_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t threads = tile_threads(t, on) / tile_groups(t, on), warps = threads / on->isa->wave_size;
    const int64_t numbers = (int64_t)(t->bm + t->bn) * t->bk / threads, warpgroups = t->bm / 64;
    const int64_t issue = warps * (numbers * NUMBER_INSTRUCTIONS + STEP_INSTRUCTIONS) * 256 / schedulers;
    const int64_t unit =
        (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t smem = (warpgroups * on->s->products + on->s->slices) * t->bn * t->bk * 2 * 256 /
                         on->g->smem_bytes_per_cycle;
    return issue + unit + smem;
}

/* Clocks x256 of the MMAs of a step that depend on one another. */
static int64_t step_chain(const struct target *on, const struct tile *t) {
    const int64_t groups = t->wm / on->mma->m / model_unpacked_rows(on, t) * (t->bk / on->mma->fragment_k);
    const int64_t mmas = on->isa->mma_bf16   ? groups * on->s->products
                         : on->isa->mfma_f32 ? t->bk / ISA_FP32_MMA_K
                                             : 0;
    return mmas * on->g->mma_latency_cycles / on->mma->latency_divisor * 256;
}

void time_unpacked_mma(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool bf16 = on->isa->mma_bf16 != NULL;
    waves(on, t, cost, bf16 ? &fitted.unpacked_mma : &fitted.unpacked_fp32, bf16 ? mma_pipes : fp32_pipes,
          step_chain(on, t), bf16 || on->isa->mfma_f32 ? "tensor" : "fp32");
}

TIME_OF(unpacked_wgmma, warpgroup_pipes, "tensor")

/* ---- dmma (templates/skeletons/dmma.cu). Where k is small it waits for C's way out, then for the tensor
 * core. An MMA lets nothing else issue. */

/* Clocks x256 of a step of a block that has `schedulers` schedulers. Worked example: 64x64x16, four warps of
 * 32x32: 65536 / 128 = 512; 4 x 32 x 32 conversions, 16 a clock, 256; shared memory 4 x 32 x 128 bytes /
 * 128, 128. */
static int64_t dmma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size,
                  loads = tile_warps(t) * (int64_t)(t->wm + t->wn) / DMMA_LINES * t->bk / DMMA_K_LANES;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / on->g->fp64_fma_per_cycle *
                         on->g->schedulers_per_sm / schedulers;
    const int64_t widen = loads * lanes * 256 / DMMA_CONVERSIONS * on->g->schedulers_per_sm / schedulers;
    const int64_t smem = loads * lanes * 4 * 256 / on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(unit, widen), smem);
}

TIME_OF(dmma, dmma_pipes, "fp64")

/* ---- fp64_mma_tile and fp64_tile (templates/skeletons). They wait for FP64's unit, or issue. */

/* Clocks x256 of a step of a block that has so many schedulers. Worked line: 64x64x16, sm_80: 65536 / 64 =
 * 1024; shared memory 4 x 64 pairs of 16 bytes for each 2 k, 8 x 4096 / 128, 256. */
static int64_t fp64_tile_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s) *
                         on->g->schedulers_per_sm / schedulers;
    const int64_t smem = tile_warps(t) * (int64_t)(t->wm + t->wn) * t->bk * number_bytes(on->s->in) * 256 /
                         on->g->smem_bytes_per_cycle;
    return model_largest(unit, smem);
}

/* The same and what issues beside no MMA (bench/decisions/040), of a warp. Worked example, sm_90a: 64x64x16,
 * warps of 32x32: 32 loads, 8 copies of 7, 16 MMAs of 3 / 2, 40: 152 (in code 111 to 121, a copy 5 / 2: what
 * a byte from L2 costs of the power limit is in it). */
static int64_t fp64_mma_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t warps = tile_warps(t), loads = (int64_t)(t->wm + t->wn) / 8 * t->bk / 4;
    const int64_t copies = (int64_t)(t->bm + t->bn) * t->bk / 2 / tile_threads(t, on),
                  mmas = (int64_t)t->wm * t->wn * t->bk / FP64_MMA_FMAS;
    const int64_t issue = loads + copies * FP64_COPY_CLOCKS + mmas * 3 / 2 + FP64_STEP_INSTRUCTIONS;
    return fp64_tile_pipes(on, t, schedulers) + warps * issue * FP64_ISSUE_X256 / schedulers;
}

TIME_OF(fp64_tile, fp64_tile_pipes, "fp64") TIME_OF(fp64_mma_tile, fp64_mma_pipes, "fp64")

/* ---- simt_small_k (templates/skeletons/simt_small_k.cu). It waits for shared memory and for C's way out. */

/* Clocks x256 of a step of a block that has so many schedulers. Worked example: 128x64x16, warps of 128x16,
 * sm_90a: for each k a lane has 64 FMAs and reads 16 numbers: 4 warps x 16 k x 80 / 4 = 1280
 * instructions; shared memory returns 4 bytes a lane and clock: 4 x 16 x 16, and 128 / 2 x 4 for sums that
 * wait = 1280. */
static int64_t simt_pipes(const struct target *on, const struct tile *t, int64_t schedulers) {
    const int64_t lanes = on->isa->wave_size, warps = tile_warps(t);
    const int64_t sums = (int64_t)t->wm * t->wn / lanes, loads = model_simt_operands(on, t);
    const bool fp64 = on->s->in == NUMBER_F64;
    const int64_t waiting = fp64 ? 0 : 2 * sums * t->bk / SIMT_CHAIN, bytes = number_bytes(on->s->in);
    const int64_t issue = warps * t->bk * (sums + loads) * 256 / schedulers;
    const int64_t unit = (int64_t)t->bm * t->bn * t->bk * 256 / model_lane_fmas(on) *
                         on->g->schedulers_per_sm / schedulers;
    const int64_t smem = warps * (t->bk * loads + waiting) * lanes * bytes * 256 /
                         on->g->smem_bytes_per_cycle;
    return model_largest(model_largest(issue, unit), smem);
}

/* Of device memory's rate tiles of fewer columns get a little less, so that ties go to the widest; others
 * read A again. */
void time_simt_small_k(const struct target *on, const struct tile *t, struct cost *cost) {
    const bool fp64 = on->s->in == NUMBER_F64;
    const struct fit_unpacked *f = fp64 ? &fitted.fp64_tile : &fitted.simt_small_k;
    const int stream = f->stream_percent - (t->bn < 64) - (t->bn < 32);
    waves(on, t, cost, f, simt_pipes, 0, fp64 ? "fp64" : "fp32");
    cost->formula.waves.dram_stream_gbps = (int)on->g->dram_gbps * stream / 100;
}
