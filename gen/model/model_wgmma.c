/* model_wgmma: MODEL_HALFTONE for warpgroup kernels (templates/tile_wgmma.cu). One persistent block per SM; a
 * producer fills a ring of slots, consumer warpgroups take turns in multiplying chunks of them.
 *
 * What an SM can be waiting for while a slot is multiplied: the matrix unit; shared memory, from which it reads both
 * operands (A once for each 64 columns, B once for each bm rows); or what is not hidden between two chunks of the same
 * warpgroup: waiting for the unit, adding up the chain, taking the turn. With a second warpgroup the unit works on its
 * chunk meanwhile. Constants that name no source were fitted on bench/results (bench/decisions/004). */
#include "model/model.h"
#include "../../runtime/ht_cost.h"

#include <stdio.h>

enum {
    REGISTERS_MOST = 248, /* that setmaxnreg gives; one consumer warpgroup has it */
    CONSUMER_REGISTERS = 232, /* of two. The same numbers in templates/tile_wgmma.cu */
    CONSUMER_REGISTERS_OF_THREE = 160,
    CONSUMER_REGISTERS_OF_HALF = 216, /* of a block that leaves room for packing */
    HALF_BOUND = 384, /* threads among which its registers are shared out */
    OTHER_REGISTERS = 40, /* addresses, descriptors, barriers, the epilogue's temporaries */
    STORE_REGISTERS = 56, /* beside all sums, while one of several parts is stored: 192 + 56 spilled 1 KB (ptxas 13.0) */
    BARRIER_BYTES = 16, /* full and empty of a slot */
    TURN_BYTES = 8,
    SLAB_ROW_BYTES = 64 * 4, /* of a warpgroup: results on their way to C, up to 64 rows */
    BESIDE_BYTES = 2048, /* two blocks' shared memory that is the driver's, and what packing takes more than half (pack_rows, even_share) */
    SCALES_BYTES = 8 + 16, /* beside the scales of rows and columns: what they say together, and two barriers */
    TURN_CLOCKS = 100,  /* last result of a chunk to first MMA of the next, additions apart */
    SLOT_CLOCKS = 75,    /* of each slot, whatever its size: waiting, issuing, the turn */
    UNIT_SHARE = 32,     /* one part in this many that the unit is slower than its data sheet, */
    UNIT_SHARE_OF_PAIR = 64, /* and where two blocks share panels: less power goes into L2, more into the clock */
    FED_SHARE = 32, /* one part in this many more where shared memory is as busy as the unit */
    COPY_CLOCKS = 160, /* of the unit for each atom copied, below which the producer hurries (bench/decisions/021) */
    START_CLOCKS = 1200, /* launch to first copy, and from the last store to the next launch */
    CLUSTER_CLOCKS = 100, /* more of it where two blocks start together */
    TILE_CLOCKS = 2000, /* of each tile of a block: first copies, which nothing hides, and the turn to the epilogue */
    STORE_CLOCKS_PER_KB = 30, /* epilogue of all SMs at once; bench/decisions/016 has 6-8k for 128 KB */
    NARROW_STORES = 2 /* more of these, where C's columns do not begin at a multiple of 16 bytes: 4 bytes at a time, not 16 */
};

/* Blocks of half an atom leave room for packing beside them. */
static bool is_half(const struct tile *t) {
    return t->bm < HT_ATOM_ROWS;
}

bool model_pairs_chunks(const struct scheme *s, const struct isa *isa, const struct tile *t) {
    const int chunk = model_chunk(s, isa, t), part = tile_part_registers(t), chains = model_promotes(s, isa) ? 2 : 0;
    const bool whole = !model_promotes(s, isa) || model_promote_k(s, isa, 0) <= chunk * t->bk; /* a chain is no longer than a chunk */
    return tile_warpgroups(t) == 1 && tile_parts(t) == 1 && s->promote[0] != PROMOTE_EACH_MMA && whole &&
           t->stages >= 4 * chunk && (s->accumulators + chains) * part + OTHER_REGISTERS <= REGISTERS_MOST;
}

/* Worked line: f16x3, 192 x 128, warpgroups of 64: 96 sums + 96 of the chain + 40 = 232 of 232. */
static void registers(const struct isa *isa, const struct scheme *s, const struct tile *t, struct cost *cost) {
    const int part = tile_part_registers(t);
    cost->regs_accumulators = s->accumulators * tile_parts(t) * part;
    cost->regs_fragments = model_promotes(s, isa) ? part * (model_pairs_chunks(s, isa, t) ? 2 : 1) : 0;
    cost->regs_other = OTHER_REGISTERS;
    const int groups = tile_warpgroups(t);
    const int alone = is_half(t) ? CONSUMER_REGISTERS_OF_HALF : REGISTERS_MOST;
    const int most = groups > 2 ? CONSUMER_REGISTERS_OF_THREE : groups > 1 ? CONSUMER_REGISTERS : alone;
    const int need = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
    if (need > most)
        model_reject(cost, "registers: accumulators %d + chain %d + other %d = %d > %d of a consumer",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, need, most);
    else if (tile_parts(t) > 1 && cost->regs_accumulators + STORE_REGISTERS > most)
        model_reject(cost, "registers: accumulators %d + %d to store one of %d parts > %d of a consumer",
                     cost->regs_accumulators, STORE_REGISTERS, tile_parts(t), most);
    /* what the block is launched with: everything, evenly, in eights */
    const int even = 65536 / (is_half(t) ? HALF_BOUND : tile_threads(t, isa)) / 8 * 8;
    cost->regs_per_thread = even > REGISTERS_MOST ? REGISTERS_MOST : even;
}

static int ring_bytes(const struct scheme *s, const struct tile *t, int stages) {
    const int scales = s->scale == SCALE_ROW ? (t->bm + t->bn) * 4 + SCALES_BYTES : 0;
    const int slab = SLAB_ROW_BYTES * tile_part_rows(t);
    return stages * (tile_stage_bytes(t, s) + scheme_atom_group(s) * BARRIER_BYTES) + tile_warpgroups(t) * (TURN_BYTES + slab) + scales;
}

static void check(const struct gpu *g, const struct scheme *s, const struct isa *isa, const struct tile *t,
                  struct cost *cost) {
    const int chunk = model_chunk(s, isa, t), promote_k = model_promote_k(s, isa, 0), deeper = t->stages + chunk;
    const int64_t most = is_half(t) ? g->smem_per_sm_bytes / 2 - BESIDE_BYTES : g->smem_per_block_bytes;
    cost->smem_bytes = ring_bytes(s, t, t->stages);
    if (promote_k > chunk * t->bk && model_promotes(s, isa) && tile_parts(t) > 1) {
        model_reject(cost, "registers: %d parts cannot keep chains of %d k, longer than a chunk", tile_parts(t),
                     promote_k);
        return;
    }
    if (t->stages % chunk != 0)
        model_reject(cost, "ring: %d stages are not whole chunks of %d (%d k between promotions)", t->stages, chunk,
                     chunk * t->bk);
    else if (t->stages < 2 * chunk)
        model_reject(cost, "ring: %d stages hold one chunk of %d, nothing is copied while it is multiplied", t->stages,
                     chunk);
    else if (cost->smem_bytes > most)
        model_reject(cost, "shared memory: %d stages x %d and barriers = %d > %lld bytes per block", t->stages,
                     tile_stage_bytes(t, s), cost->smem_bytes, (long long)most);
    else if (deeper <= TILE_RING_MAX && ring_bytes(s, t, deeper) <= most)
        model_reject(cost, "ring: %d stages where %d fit; nothing else wants the room", t->stages, deeper);
    else
        registers(isa, s, t, cost);
}

/* Clocks x256 of one slot. Worked line: f16x3, 192 x 128 x 32, 2048 multiply-adds and 128 bytes a clock: unit 3 * 192 *
 * 128 * 32 / 2048 = 1152, with a thirty-second and 75 more 1263; shared memory: 2 parts * 2 k16 * 3 products * (2048 + 192 * 32) / 128 = 768.
 * 64 x 128 x 32, a pair: unit 384, shared memory 2 * 2 * 3 * (2048 + 2048) / 128 = 384 too: 384 + 384 / 64 + 384 / 32 + 75 = 477. */
static int64_t slot_busy(const struct gpu *g, const struct scheme *s, const struct tile *t) {
    const int64_t unit = (int64_t)s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(g, s);
    const int64_t bytes = (int64_t)t->bn / HT_ATOM_ROWS * s->products * (t->bm + HT_ATOM_ROWS) * t->bk * scheme_slice_bytes(s);
    const int64_t smem = bytes * 256 / g->smem_bytes_per_cycle;
    const int64_t share = t->cluster > 1 ? UNIT_SHARE_OF_PAIR : UNIT_SHARE, fed = smem < unit ? 0 : unit / FED_SHARE;
    const int64_t own = unit + unit / share + fed + (int64_t)SLOT_CLOCKS * scheme_atom_group(s) * 256;
    return model_largest(own, smem);
}

/* Worked line: f16x3, 64 x 128 x 32: 384 clocks for 3 atoms, 128 each: yes; 128 x 256 x 32: 1536 for 6, 256: no. */
bool model_hurries_copies(const struct gpu *g, const struct scheme *s, const struct tile *t) {
    const int64_t unit = (int64_t)s->products * t->bm * t->bn * t->bk / model_fma_per_cycle(g, s);
    const int atoms = ((t->bm + HT_ATOM_ROWS - 1) / HT_ATOM_ROWS + t->bn / HT_ATOM_ROWS) * scheme_atom_group(s);
    return unit < (int64_t)atoms * COPY_CLOCKS;
}

/* What one warpgroup does between two chunks while its unit has nothing of it: x256 per slot. Additions: one for each
 * result, four warps at one instruction a clock each. */
static int64_t slot_gap(const struct scheme *s, const struct isa *isa, const struct tile *t) {
    const int adds = model_promotes(s, isa) ? tile_part_registers(t) : 0;
    const int batches = s->promote[0] == PROMOTE_EACH_MMA ? t->bk / isa_mma_k(isa, s->slice) : 1;
    return (int64_t)(TURN_CLOCKS + adds) * batches * tile_parts(t) * 256 / model_chunk(s, isa, t);
}

static void coefficients(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                         struct cost *cost) {
    const int64_t busy = slot_busy(g, s, t), gap = slot_gap(s, isa, t), groups = tile_warpgroups(t);
    /* A warpgroup has busy / groups of work per slot; the others' work covers its gap if there is enough of it, one that takes two
     * chunks at once has only the second one's. */
    const int64_t own = busy / groups + (model_pairs_chunks(s, isa, t) ? gap / 2 : gap);
    struct ht_cost_coefficients *c = &cost->coefficients;
    c->blocks_per_sm = 1;
    c->step_busy_x256 = (int32_t)model_largest(busy, own);
    c->step_latency_x256 = c->step_busy_x256;
    const int store = (int)((int64_t)t->bm * t->bn * 4 * STORE_CLOCKS_PER_KB / 1024);
    c->start_cycles = START_CLOCKS + (t->cluster > 1 ? CLUSTER_CLOCKS : 0);
    c->fixed_cycles = TILE_CLOCKS + store;
    c->narrow_cycles = NARROW_STORES * store;
    c->part_cycles = (int)g->l2_latency_cycles / 2; /* where a part of the size at which this matters still lies; others are on their way */
    c->step_bytes = tile_fetched_bytes(t, s);
    c->step_k = t->bk;
    c->exact_k = s->exact_k;
    c->cluster_m = tile_cluster_m(t);
    c->cluster_n = tile_cluster_n(t);
}

void model_wgmma(const struct gpu *g, const struct isa *isa, const struct scheme *s, const struct tile *t,
                 const struct shape *shape, struct cost *cost) {
    check(g, s, isa, t, cost);
    if (!cost->fits)
        return;
    cost->blocks_per_sm = 1;
    coefficients(g, isa, s, t, cost);
    const int64_t sm_ns =
        ht_cost_ns(&cost->coefficients, t->bm, t->bn, g->sms, model_clock_mhz(g), g->l2_gbps, g->dram_gbps, g->launch_ns,
                   shape->m, shape->n, shape->k, 1, 1);
    const int64_t dram_ns = model_halftone_dram_ns(g, s, t, shape, 1);
    cost->predicted_ns = model_largest(sm_ns, dram_ns);
    cost->score = -cost->predicted_ns;
    const bool unit = cost->coefficients.step_busy_x256 == slot_busy(g, s, t);
    snprintf(cost->binding, sizeof cost->binding, "%s", dram_ns > sm_ns ? "dram" : unit ? "tensor" : "latency");
}
