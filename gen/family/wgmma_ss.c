/* wgmma_ss: packed panels by wgmma, both operands from shared memory: one persistent block per SM; a producer
 * fills a ring of stages, consumer warpgroups take turns in multiplying chunks of them. And the same for
 * residues. */
#include <string.h>

#include "family/rows.h"

enum {
    RING_MAX = 8,             /* stages */
    REGISTERS_MOST = 248,     /* that setmaxnreg gives; one consumer warpgroup has it */
    PRODUCER_REGISTERS = 40, PRODUCER_REGISTERS_LEAST = 32, /* beside one or three */
    CONSUMER_REGISTERS = 232, /* of two. The same numbers in templates/skeletons/wgmma_ss.cu */
    CONSUMER_REGISTERS_OF_THREE = 160,
    CONSUMER_REGISTERS_OF_HALF = 216, /* of a block that leaves room for packing */
    HALF_BOUND = 384,                 /* threads among which its registers are shared out */
    RING_OTHER_REGISTERS = 40,        /* addresses, descriptors, barriers, the epilogue's temporaries */
    STORE_REGISTERS = 56, /* beside all sums, while one of several parts is stored: 192 + 56 spilled 1 KB */
    BARRIER_BYTES = 16,   /* full and empty of a stage */
    TURN_BYTES = 8,
    SLAB_ROW_BYTES = 64 * 4, /* of a warpgroup: results on their way to C, up to 64 rows */
    BESIDE_BYTES = 2048, /* the driver's of two blocks; what packing takes beyond half (pack/row_resident) */
    SCALES_BYTES = 8 + 16 /* beside the scales of rows and columns: what they say together, two barriers */
};

const struct fit_source fit_wgmma_ss = {"tune-h200.tsv", "NVIDIA H200, 1425 MHz",
    FIT_AGAIN "tune-h200.tsv", "14 %"};
enum {
    TURN_CYCLES = 100,        /* last result of a chunk to first MMA of the next, additions apart */
    STAGE_CYCLES = 75,        /* of each stage, whatever its size: waiting, issuing, the turn */
    UNIT_SHARE = 32,          /* one part in so many that the tensor core is slower than its data sheet, */
    UNIT_SHARE_OF_PAIR = 64,  /* and where two blocks share panels: less power for L2, more for the clock */
    FED_SHARE = 32,           /* one part in so many more where shared memory is as busy as the tensor core */
    COPY_CYCLES = 160,        /* of the tensor core for each atom copied, below which the producer is tight */
    LAUNCH_CYCLES = 1200,     /* launch to first copy, and from the last store to the next launch */
    CLUSTER_CYCLES = 100,     /* more of it where two blocks start together */
    TILE_CYCLES = 2000,       /* of each tile of a block: first copies, and the turn to the epilogue */
    STORE_CYCLES_PER_KB = 30, /* epilogue of all SMs at once */
    SCALAR_STORES = 2         /* more of these where C is stored by elements */
};

/* Blocks of half an atom leave room for packing beside them. */
static bool is_half(const struct tile *t) {
    return t->bm < HT_ATOM_ROWS;
}

/* A warpgroup multiplies 64 columns of C at a time with all bm rows (one wgmma: up to 256); a stage is one
 * atom of k. 32 rows, half an atom, only with the fewest columns and alone: for fewer tiles than there are
 * SMs. */
static bool takes_wgmma_ss(const struct target *on, const struct tile *t) {
    enum { WARPGROUPS_MAX = 3 };
    (void)on;
    return t->wm == t->bm && t->bn % t->wn == 0 && tile_warpgroups(t) <= WARPGROUPS_MAX &&
           (!is_half(t) || (t->bn == PART_COLUMNS && t->cluster == 1));
}

/* ---- registers and shared memory */

bool model_has_two_intervals(const struct target *on, const struct tile *t) {
    const int chunk = model_promote_tiles(on, t), part = tile_part_registers(t);
    const int chains = 2 * model_promotes(on);
    const bool whole = !model_promotes(on) ||
                       model_promote_k(on, 0) <= chunk * t->bk; /* a chain is no longer than a chunk */
    return tile_warpgroups(t) == 1 && tile_parts(t) == 1 && on->s->promote[0] != PROMOTE_EACH_MMA && whole &&
           t->stages >= 4 * chunk &&
           (on->s->accumulators + chains) * part + RING_OTHER_REGISTERS <= REGISTERS_MOST;
}

/* Worked example: f16x3, 192 x 128, warpgroups of 64: 96 sums + 96 of the chain + 40 = 232 of 232. */
static void ring_registers(const struct target *on, const struct tile *t, struct cost *cost) {
    const int part = tile_part_registers(t), groups = tile_warpgroups(t);
    cost->regs_accumulators = on->s->accumulators * tile_parts(t) * part;
    cost->regs_fragments = model_promotes(on) ? part * (model_has_two_intervals(on, t) ? 2 : 1) : 0;
    cost->regs_other = RING_OTHER_REGISTERS;
    const int alone = is_half(t) ? CONSUMER_REGISTERS_OF_HALF : REGISTERS_MOST;
    const int most = groups > 2 ? CONSUMER_REGISTERS_OF_THREE : groups > 1 ? CONSUMER_REGISTERS : alone;
    const int need = cost->regs_accumulators + cost->regs_fragments + cost->regs_other;
    if (need > most)
        model_reject(cost, "registers: accumulators %d + chain %d + other %d = %d > %d of a consumer",
                     cost->regs_accumulators, cost->regs_fragments, cost->regs_other, need, most);
    else if (tile_parts(t) > 1 && cost->regs_accumulators + STORE_REGISTERS > most)
        model_reject(cost, "registers: accumulators %d + %d to store one of %d parts > %d of a consumer",
                     cost->regs_accumulators, STORE_REGISTERS, tile_parts(t), most);
    cost->regs_consumer = most;
    cost->regs_producer = groups == 2 || is_half(t) ? PRODUCER_REGISTERS : PRODUCER_REGISTERS_LEAST;
    /* what the block is launched with: everything, evenly, in eights */
    const int even = 65536 / (is_half(t) ? HALF_BOUND : cost->threads) / 8 * 8;
    cost->regs_per_thread = even > REGISTERS_MOST ? REGISTERS_MOST : even;
}

static int ring_bytes(const struct target *on, const struct tile *t, int stages) {
    const int words = t->bm * (1 + on->s->checked) + t->bn; /* checked: thresholds of rows, too */
    const int scales = on->s->scale == SCALE_ROW ? words * 4 + SCALES_BYTES : 0;
    const int slab = SLAB_ROW_BYTES * tile_part_rows(t);
    return stages * (tile_stage_bytes(t, on->s) + scheme_atom_group(on->s) * BARRIER_BYTES) +
           tile_warpgroups(t) * (TURN_BYTES + slab) + scales;
}

static void footprint_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    const int chunk = model_promote_tiles(on, t), promote_k = model_promote_k(on, 0);
    const int deeper = t->stages + chunk;
    if (is_half(t))
        cost->smem_limit = on->g->smem_per_sm_bytes / 2 - BESIDE_BYTES;
    cost->smem_bytes = ring_bytes(on, t, t->stages);
    if (promote_k > chunk * t->bk && model_promotes(on) && tile_parts(t) > 1)
        model_reject(cost, "registers: %d parts cannot keep chains of %d k, longer than a chunk",
                     tile_parts(t), promote_k);
    else if (t->stages % chunk != 0)
        model_reject(cost, "ring: %d stages are not whole chunks of %d (%d k between promotions)", t->stages,
                     chunk, chunk * t->bk);
    else if (t->stages < 2 * chunk)
        model_reject(cost, "ring: %d stages hold one chunk of %d, nothing is copied while it is multiplied",
                     t->stages, chunk);
    else if (deeper <= RING_MAX && ring_bytes(on, t, deeper) <= cost->smem_limit)
        model_reject(cost, "ring: %d stages where %d fit; nothing else wants the room", t->stages, deeper);
    else
        ring_registers(on, t, cost);
}

/* A ring of stages and their two barriers; sums become residues where they are. */
static void footprint_crt_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    cost->smem_bytes = t->stages * (tile_stage_bytes(t, on->s) + BARRIER_BYTES);
    ring_registers(on, t, cost);
}

/* ---- time. What an SM can be waiting for while a step is multiplied: the matrix unit; shared memory, from
 * which it reads both operands (A once for each 64 columns, B once for each bm rows); or what is not hidden
 * between two chunks of the same warpgroup: waiting for the unit, adding up the chain, taking the turn. With
 * a second warpgroup the unit works on its chunk meanwhile (bench/decisions/004). */

/* Clocks x256 of one step. Worked example: f16x3, 192 x 128 x 32, 2048 FMAs and 128 bytes a clock:
 * unit 3 * 192 * 128 * 32 / 2048 = 1152, with a thirty-second and 75 more 1263; shared memory: 2 parts * 2
 * k16 * 3 products * (2048 + 192 * 32) / 128 = 768. 64 x 128 x 32, a pair: unit 384, shared memory 2 * 2 *
 * 3 * (2048 + 2048) / 128 = 384 too: 384 + 384 / 64 + 384 / 32 + 75 = 477. */
static int64_t step_busy(const struct target *on, const struct tile *t) {
    const int64_t unit = on->s->products * tile_fmas(t) * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t bytes = (int64_t)t->bn / HT_ATOM_ROWS * on->s->products * (t->bm + HT_ATOM_ROWS) * t->bk *
                          scheme_slice_bytes(on->s);
    const int64_t smem = bytes * 256 / on->g->smem_bytes_per_cycle;
    const int64_t share = t->cluster > 1 ? UNIT_SHARE_OF_PAIR : UNIT_SHARE,
                  fed = smem < unit ? 0 : unit / FED_SHARE;
    const int64_t own = unit + unit / share + fed + (int64_t)STAGE_CYCLES * scheme_atom_group(on->s) * 256;
    return model_largest(own, smem);
}

/* It must give out copies faster than one in 100 clocks or so.
 * Worked example: f16x3, 64 x 128 x 32: 384 clocks for 3 atoms, 128 each: yes; 128 x 256 x 32: 1536 for 6,
 * 256: no. */
static bool producer_is_tight(const struct target *on, const struct tile *t) {
    const int64_t unit = on->s->products * tile_fmas(t) / model_fma_per_cycle(on->g, on->s);
    const int atoms =
        ((t->bm + HT_ATOM_ROWS - 1) / HT_ATOM_ROWS + t->bn / HT_ATOM_ROWS) * scheme_atom_group(on->s);
    return unit < (int64_t)atoms * COPY_CYCLES;
}

/* What one warpgroup does between two chunks while its unit has nothing of it: x256 per step. Additions:
 * one for each result, four warps at one instruction a clock each. */
static int64_t step_gap(const struct target *on, const struct tile *t) {
    const int adds = model_promotes(on) ? tile_part_registers(t) : 0;
    const int batches = on->s->promote[0] == PROMOTE_EACH_MMA ? t->bk / target_mma_k(on) : 1;
    const int64_t turn = TURN_CYCLES + adds;
    return turn * batches * tile_parts(t) * 256 / model_promote_tiles(on, t);
}

static void time_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    const int64_t busy = step_busy(on, t), gap = step_gap(on, t), groups = tile_warpgroups(t);
    /* A warpgroup has busy / groups of work per step; the others' work covers its gap if there is enough
     * of it, one that takes two chunks at once has only the second one's. */
    const int64_t own = busy / groups + (model_has_two_intervals(on, t) ? gap / 2 : gap);
    const int32_t step = (int32_t)model_largest(busy, own);
    const int store = (int)((int64_t)t->bm * t->bn * 4 * STORE_CYCLES_PER_KB / 1024);
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = step,
        .step_latency_x256 = step,
        .tile_overhead_cycles = LAUNCH_CYCLES + (t->cluster > 1 ? CLUSTER_CYCLES : 0),
        .block_overhead_cycles = TILE_CYCLES + store,
        .scalar_store_cycles = SCALAR_STORES * store,
    };
    cost->unit = own <= busy ? "tensor" : "latency";
}

/* ---- text: one chunk of a warpgroup, unrolled; see the drawing in templates/skeletons/wgmma_ss.cu */

/* Descriptors count 16 bytes; an MMA takes 32 bytes of each row, whatever the slices are. */
enum { ROW_BYTES = 128, ATOM_UNITS = 8192 / 16, MMA_BYTES = 32, MMA_UNITS = MMA_BYTES / 16 };

/* Where text of a chunk goes: its part of 64 columns, and the chain into which promoted products go. */
struct writer {
    struct text *out;
    int indent;
    const struct plan *p;
    const struct scheme *s;
    int group, k_steps; /* ring stages of a k block, MMAs of one */
    int stages, chunks; /* stages of a chunk; chunks of one chain, above 1 it stays in `temp` between them */
    bool is_alone;      /* the warpgroup: it has every turn */
    bool is_last_part;
    int part;
    const char *chain;
};

static struct writer writer_of(const struct plan *p, struct text *out, int indent) {
    const struct scheme *s = p->on.s;
    const int group = scheme_atom_group(s);
    return (struct writer){.out = out, .indent = indent, .p = p, .s = s, .group = group, .chain = "temp",
                           .k_steps = ROW_BYTES / s->atom_slices / MMA_BYTES, .stages = p->chunk * group,
                           .chunks = p->promoted[0] ? p->promote_steps / p->chunk : 1,
                           .is_alone = tile_warpgroups(&p->tile) == 1,
                           .is_last_part = tile_parts(&p->tile) == 1};
}

/* Where k step `k` of a slice lies, k block's first stage `first`. */
static int slice_units(const struct writer *w, int first, int k, int slice) {
    const int beside = slice % w->s->atom_slices * (ROW_BYTES / w->s->atom_slices);
    const int stage_units = tile_stage_bytes(&w->p->tile, w->s) / w->group / 16;
    return (first + slice / w->s->atom_slices) * stage_units + beside / 16 + k * MMA_UNITS;
}

#define LINE(w, ...) text_line((w)->out, (w)->indent, __VA_ARGS__)
#define INNER(w, ...) text_line((w)->out, (w)->indent + 4, __VA_ARGS__)

static void write_mma(const struct writer *w, int first, int k, int product, bool from_zero) {
    const struct product *q = &w->s->product[product];
    const int b = slice_units(w, first, k, q->b) + w->part * ATOM_UNITS, a = slice_units(w, first, k, q->a);
    const int depth = MMA_BYTES / scheme_slice_bytes(w->s), block = first / w->group;
    text_addf(w->out, "%*sht_wgmma(ht_width<BM>(), ", w->indent, "");
    if (w->p->promoted[q->acc])
        text_addf(w->out, "%s, b_desc + at + %d, a_desc + at + %d, %s);", w->chain, b, a,
                  !from_zero ? "1" : w->chunks > 1 ? "chain > 0" : "0");
    else
        text_addf(w->out, "acc[%d][%d], b_desc + at + %d, a_desc + at + %d, 1);", q->acc, w->part, b, a);
    text_add(w->out, " // ");
    family_product_text(w->out, w->s, product, (block * w->k_steps + k) * depth, depth);
    text_add(w->out, "\n");
}

/* Products of one k step that stage `stage` of the k block completes; those into promoted accumulators start
 * `from_zero`. */
static void write_k_step(const struct writer *w, int first, int stage, int k, bool from_zero) {
    for (int i = 0; i < w->s->products; i++) {
        const struct product *q = &w->s->product[i];
        const int a = q->a / w->s->atom_slices, b = q->b / w->s->atom_slices;
        const bool promoted = w->p->promoted[q->acc];
        if ((a > b ? a : b) != stage)
            continue;
        write_mma(w, first, k, i, promoted && from_zero);
        from_zero = from_zero && !promoted;
    }
}

/* All but the last `pending` batches are done; what they left may be used. */
static void write_wait(const struct writer *w, int pending) {
    LINE(w, "ht_wgmma_wait<%d>();", pending);
    for (int l = 0; l < w->s->accumulators; l++) {
        if (w->p->promoted[l])
            LINE(w, "ht_wgmma_fence_operand<ACC_REGS>(%s);", w->chain);
        else if (pending == 0)
            LINE(w, "ht_wgmma_fence_operand<ACC_REGS>(acc[%d][%d]);", l, w->part);
    }
}

/* Before the first MMA on a stage; those of a chunk stay until its last part is done. */
static void write_stage_wait(const struct writer *w, int stage) {
    if (w->part == 0)
        LINE(w, "ht_mbar_wait(smem + FULL + (stage + %d) * 8, phase);", stage);
    if (w->part == 0 || stage == 0)
        LINE(w, "ht_wgmma_fence();");
}

static void write_order_wait(const struct writer *w) {
    if (w->is_alone)
        return;
    LINE(w, "// -- columns %d to %d: the warpgroup's turn", w->part * 64, w->part * 64 + 63);
    LINE(w, "ht_mbar_wait(order_barrier, order_phase);");
    LINE(w, "order_phase ^= 1;");
}

static void write_order_arrive(const struct writer *w) {
    if (w->is_alone)
        return;
    LINE(w, "if (lane == 0)");
    INNER(w, "ht_mbar_arrive(next_order_barrier);");
}

/* `first`: the chunk's first stage. */
static void write_release(const struct writer *w, const char *first) {
    if (!w->is_last_part)
        return;
    LINE(w, "if (lane < CLUSTER) {");
    INNER(w, "const unsigned block = ht_cluster_address(smem, lane);");
    for (int stage = 0; stage < w->stages; stage++)
        INNER(w, "ht_mbar_arrive_cluster(block + EMPTY + (%s + %d) * 8);", first, stage);
    LINE(w, "}");
}

/* Exact sums: what exceeds a digit moves up before a level overflows, by the next `chunks` at the latest. */
static void write_carry(const struct writer *w, int chunks) {
    if (!w->s->recipe->fixed_point)
        return;
    LINE(w, "if (chain + %d > PROMOTE_STEPS) {", chunks);
    for (int l = w->s->accumulators - 1; l > 0; l--)
        INNER(w, "ht_carry_chain<ACC_REGS>(acc[%d][%d], acc[%d][%d]);", l - 1, w->part, l, w->part);
    if (w->is_last_part)
        INNER(w, "chain = 0;");
    LINE(w, "}");
}

/* Slot by stage as they come. */
static void write_by_stage(const struct writer *w) {
    for (int stage = 0; stage < w->stages; stage++) {
        write_stage_wait(w, stage);
        for (int k = 0; k < w->k_steps; k++)
            write_k_step(w, stage / w->group * w->group, stage % w->group, k, stage == 0 && k == 0);
    }
}

/* A chunk that is one chain: the last product listed, the main one, comes after the others of the whole
 * chunk, which are added while the sum is small and the unit cuts less of them. Halves the error on the H200
 * (bench/decisions/016: 2.6e-7 to 1.5e-7) and costs nothing. */
static void write_main_last(const struct writer *w) {
    const int last = w->s->products - 1;
    bool from_zero = true;
    for (int stage = 0; stage < w->stages; stage += w->group) {
        for (int g = 0; g < w->group; g++)
            write_stage_wait(w, stage + g);
        for (int k = 0; k < w->k_steps; k++) {
            for (int i = 0; i < last; i++, from_zero = false)
                write_mma(w, stage, k, i, from_zero);
        }
    }
    for (int stage = 0; stage < w->stages; stage += w->group) {
        for (int k = 0; k < w->k_steps; k++, from_zero = false)
            write_mma(w, stage, k, last, from_zero);
    }
}

/* The chunk's chain is complete, or one of several chunks, or the last there is. */
static void write_promotion(const struct writer *w) {
    const int inner = w->chunks > 1 ? 4 : 0;
    if (w->chunks > 1) {
        LINE(w, "if (++chain == %d || chunk + 1 == w.chunks) {", w->chunks);
        INNER(w, "chain = 0;");
    }
    text_line(w->out, w->indent + inner, "ht_promote_chain<ACC_REGS>(acc[0][%d], %s);", w->part, w->chain);
    if (w->chunks > 1)
        LINE(w, "}");
}

/* A whole chunk in flight at once: its MMAs, and what becomes of it. */
static void write_chunk_mmas(const struct writer *w) {
    if (w->part == 0 && w->s->recipe->fixed_point)
        LINE(w, "chain++;");
    (w->p->promoted[0] ? write_main_last : write_by_stage)(w);
    LINE(w, "ht_wgmma_commit();");
}

static void write_chunk_end(const struct writer *w, const char *first, int pending) {
    write_wait(w, pending);
    write_release(w, first);
    if (w->p->promoted[0])
        write_promotion(w);
}

static void write_chunk_part(const struct writer *w) {
    write_order_wait(w);
    write_chunk_mmas(w);
    write_order_arrive(w);
    write_chunk_end(w, "stage", 0);
    write_carry(w, 1);
}

/* Every main product is added up outside the unit (Ootomo & Yokota 2022): one k step in flight. */
static void write_each_mma_part(const struct writer *w) {
    write_order_wait(w);
    write_stage_wait(w, 0);
    for (int k = 0; k < w->k_steps; k++) {
        const bool last = k + 1 == w->k_steps;
        if (k > 0)
            LINE(w, "ht_wgmma_fence();");
        write_k_step(w, 0, 0, k, true);
        LINE(w, "ht_wgmma_commit();");
        if (last)
            write_order_arrive(w);
        write_wait(w, 0);
        if (last)
            write_release(w, "stage");
        LINE(w, "ht_promote_chain<ACC_REGS>(acc[0][%d], temp);", w->part);
    }
}

static void write_start(const struct writer *w, const char *type) {
    LINE(w, "%sat = (unsigned)stage * (STAGE_BYTES / 16);", type);
}

static void write_next(const struct writer *w) {
    LINE(w, "stage = stage + PROMOTE_STAGES == RING_STAGES ? 0 : stage + PROMOTE_STAGES;");
    LINE(w, "phase ^= stage == 0;");
}

static void write_chunk(struct writer w) {
    write_start(&w, "const unsigned ");
    for (; w.part < tile_parts(&w.p->tile); w.part++) {
        w.is_last_part = w.part + 1 == tile_parts(&w.p->tile);
        (w.s->promote[0] == PROMOTE_EACH_MMA ? write_each_mma_part : write_chunk_part)(&w);
    }
    write_next(&w);
}

/* Two chunks in flight, no branch between them: with one, or with an MMA in flight from round to round, ptxas
 * 13.0 waits behind each MMA (C7514, C7518). */
static void write_pair(struct writer w) {
    struct writer other = w;
    other.chain = "other";
    if (w.p->promoted[0])
        LINE(&w, "ht_acc other[ACC_REGS]; // the second chunk's chain");
    LINE(&w, "const int first = stage;");
    write_start(&w, "unsigned ");
    write_chunk_mmas(&w);
    write_next(&w);
    LINE(&w, "const int second = stage;");
    write_start(&w, "");
    write_chunk_mmas(&other);
    write_next(&w);
    write_chunk_end(&w, "first", 1);
    write_chunk_end(&other, "second", 0);
    write_carry(&w, 2);
}

static bool holes_wgmma_ss(void *context, const char *name, struct text *out, int indent) {
    const struct plan *p = ((const struct family_hole *)context)->plan;
    const struct writer w = writer_of(p, out, indent), inner = writer_of(p, out, indent + 4);
    if (strcmp(name, "chunks") != 0)
        return false;
    if (model_has_two_intervals(&p->on, &p->tile)) {
        LINE(&w, "int chunk = 0;");
        text_add(out, "#pragma unroll 1\n");
        LINE(&w, "for (; chunk + 1 < w.chunks; chunk += 2) {");
        write_pair(inner);
        LINE(&w, "}");
        LINE(&w, "if (chunk < w.chunks) {");
    } else
        LINE(&w, "for (int chunk = 0; chunk < w.chunks; chunk++) {");
    write_chunk(inner);
    LINE(&w, "}");
    return true;
}

/* What the banner says of a step. */
static void banner_wgmma_ss(struct text *out, const struct plan *p) {
    const struct writer w = writer_of(p, out, 0);
    text_addf(out, "// A warpgroup runs %d wgmmas in each chunk of %d k.\n",
              p->chunk * w.k_steps * w.s->products * tile_parts(&p->tile), p->chunk * p->tile.bk);
}

const struct family family_wgmma_ss = {
    FUNCTIONS(wgmma_ss), .is_tight = producer_is_tight,
    .takes = takes_wgmma_ss,
    .grid = {{32, 64, 128, 192, 256}, {64, 128, 192, 256, 320, 384}, {1}, {32, 64, 128, 192, 256}, {64, 128},
             {2, 3, 4, 5, 6, 7, 8}, {1, 2}},
    .params = PARAMS_OF_TILE "PROMOTE_STEPS PROMOTES PROMOTE_TILES WAVE SMS CLUSTER SHARES_A SHARES_B "
              "ELECT_PRODUCER RASTER",
    .constants = "*SUM_ROWS", .holes = holes_wgmma_ss, .banner = banner_wgmma_ss,
    .file = "wgmma_ss", .label = "_wgmma", .searched = true, .needs = ISA_WGMMA, .has_init = true,
    .cost_form = HT_TILED_WAVES, .persistent = true, .has_dmma_fallback = true,
    .hooks = {"=launch", "=wgmma", "=dmma_inside", "=cluster", "=mma", "accum/promote_wgmma", FP32_SUMS,
              "=copies_inside", "check/recompute", "=tile_inside", "check/fallback_notes",
              "=fallback_inside", "=scheme"},
    .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS PART_ROWS VEC4_COLUMNS A_BLOCKS PARTS B_BLOCKS",
    .team = "warpgroup", .workers = "warpgroups and a producer",
    .holds = "of a warpgroup after setmaxnreg; chain"
};

const struct family family_crt_wgmma_ss = {
    .footprint = footprint_crt_wgmma_ss, .time = time_wgmma_ss,
    .params = "BM BN BK WM WN STAGES RASTER SMS",
    .file = "crt_wgmma_ss", .label = "_wgmma", .searched = true, OF_FP64,
    .leaves_sums = true, .sum = NUMBER_S32, .needs = ISA_WGMMA, .has_init = true,
    .cost_form = HT_TILED_WAVES, .persistent = true, .no_split_k = true,
    .hooks = {"=launch", "=wgmma", "=mma", "=tables", OF_RESIDUES, "=crt_order", "epilogue/crt_failed"},
    .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS A_BLOCKS B_BLOCKS",
    .team = "warpgroup", .workers = "warpgroups and a producer",
    .holds = "of a warpgroup after setmaxnreg; chain",
    .tiles = {{64, 128, 128, 64, 64, 4, ALWAYS, "few"}, {128, 256, 128, 128, 128, 4, ALWAYS, "many"}}
};
