/* wgmma_ss: packed panels by wgmma, both operands from shared memory: one persistent block per SM; a producer
 * fills a ring of slots, consumer warpgroups take turns in multiplying chunks of them. And the same for
 * residues. */
#include <string.h>

#include "family/rows.h"

enum {
    PART_COLUMNS = 64,
    REGISTERS_MOST = 248,     /* that setmaxnreg gives; one consumer warpgroup has it */
    PRODUCER_REGISTERS = 40, PRODUCER_REGISTERS_LEAST = 32, /* beside one or three */
    CONSUMER_REGISTERS = 232, /* of two. The same numbers in templates/skeletons/wgmma_ss.cu */
    CONSUMER_REGISTERS_OF_THREE = 160,
    CONSUMER_REGISTERS_OF_HALF = 216, /* of a block that leaves room for packing */
    HALF_BOUND = 384,                 /* threads among which its registers are shared out */
    RING_OTHER_REGISTERS = 40,        /* addresses, descriptors, barriers, the epilogue's temporaries */
    STORE_REGISTERS = 56, /* beside all sums, while one of several parts is stored: 192 + 56 spilled 1 KB */
    BARRIER_BYTES = 16,   /* full and empty of a slot */
    TURN_BYTES = 8,
    SLAB_ROW_BYTES = 64 * 4, /* of a warpgroup: results on their way to C, up to 64 rows */
    BESIDE_BYTES = 2048, /* the driver's of two blocks; what packing takes beyond half (pack_row_resident) */
    SCALES_BYTES = 8 + 16 /* beside the scales of rows and columns: what they say together, two barriers */
};

const struct fit_wgmma_ss fit_wgmma_ss = {{"tune-h200.tsv", "NVIDIA H200, 1425 MHz", FIT_AGAIN
    "tune-h200.tsv", "14 %"}, .turn_cycles = 100, .slot_cycles = 75, .unit_share = 32, .unit_share_of_pair =
    64, .fed_share = 32, .copy_cycles = 160, .launch_cycles = 1200, .cluster_cycles = 100, .tile_cycles =
    2000, .store_cycles_per_kb = 30, .scalar_stores = 2};

/* A warpgroup multiplies 64 columns of C at a time with all bm rows (one wgmma: up to 256); a stage is one
 * atom of k. 32 rows, half an atom, only with the fewest columns and alone: for fewer tiles than there are
 * SMs. */
static void tile_space_wgmma_ss(const struct target *on, tile_visit *visit, void *context) {
    enum { ROWS_MIN = HT_ATOM_ROWS / 2, ROWS_MAX = 256, WARPGROUPS_MAX = 3, PARTS_MAX = 2 };
    struct tile t = {.wk = target_mma_k(on), .bk = scheme_atom_k(on->s)};
    for (t.bm = ROWS_MIN; t.bm <= ROWS_MAX; t.bm = t.bm < HT_ATOM_ROWS ? HT_ATOM_ROWS : t.bm + HT_ATOM_ROWS) {
        const int columns = t.bm < HT_ATOM_ROWS ? PART_COLUMNS : WARPGROUPS_MAX * PARTS_MAX * PART_COLUMNS;
        t.wm = t.bm;
        for (t.bn = PART_COLUMNS; t.bn <= columns; t.bn += PART_COLUMNS) {
            for (t.wn = PART_COLUMNS; t.wn <= PARTS_MAX * PART_COLUMNS; t.wn += PART_COLUMNS) {
                if (t.bn % t.wn != 0 || tile_warpgroups(&t) > WARPGROUPS_MAX)
                    continue;
                for (t.stages = 2; t.stages <= TILE_RING_MAX; t.stages++) {
                    for (t.cluster = 1; t.cluster <= (t.bm < HT_ATOM_ROWS ? 1 : TILE_CLUSTER_MAX);
                         t.cluster++)
                        visit(context, &t);
                }
            }
        }
    }
}

/* ---- registers and shared memory */

/* Blocks of half an atom leave room for packing beside them. */
static bool is_half(const struct tile *t) {
    return t->bm < HT_ATOM_ROWS;
}

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
    else if (deeper <= TILE_RING_MAX && ring_bytes(on, t, deeper) <= cost->smem_limit)
        model_reject(cost, "ring: %d stages where %d fit; nothing else wants the room", t->stages, deeper);
    else
        ring_registers(on, t, cost);
}

/* A ring of stages and their two barriers; sums become residues where they are. */
static void footprint_crt_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    cost->smem_bytes = t->stages * (tile_stage_bytes(t, on->s) + BARRIER_BYTES);
    ring_registers(on, t, cost);
}

/* ---- time. What an SM can be waiting for while a slot is multiplied: the matrix unit; shared memory, from
 * which it reads both operands (A once for each 64 columns, B once for each bm rows); or what is not hidden
 * between two chunks of the same warpgroup: waiting for the unit, adding up the chain, taking the turn. With
 * a second warpgroup the unit works on its chunk meanwhile (bench/decisions/004). */

/* Clocks x256 of one slot. Worked example: f16x3, 192 x 128 x 32, 2048 FMAs and 128 bytes a clock:
 * unit 3 * 192 * 128 * 32 / 2048 = 1152, with a thirty-second and 75 more 1263; shared memory: 2 parts * 2
 * k16 * 3 products * (2048 + 192 * 32) / 128 = 768. 64 x 128 x 32, a pair: unit 384, shared memory 2 * 2 *
 * 3 * (2048 + 2048) / 128 = 384 too: 384 + 384 / 64 + 384 / 32 + 75 = 477. */
static int64_t slot_busy(const struct target *on, const struct tile *t) {
    const struct fit_wgmma_ss *f = &fit_wgmma_ss;
    const int64_t unit =
        (int64_t)on->s->products * t->bm * t->bn * t->bk * 256 / model_fma_per_cycle(on->g, on->s);
    const int64_t bytes = (int64_t)t->bn / HT_ATOM_ROWS * on->s->products * (t->bm + HT_ATOM_ROWS) * t->bk *
                          scheme_slice_bytes(on->s);
    const int64_t smem = bytes * 256 / on->g->smem_bytes_per_cycle;
    const int64_t share = t->cluster > 1 ? f->unit_share_of_pair : f->unit_share,
                  fed = smem < unit ? 0 : unit / f->fed_share;
    const int64_t own = unit + unit / share + fed + (int64_t)f->slot_cycles * scheme_atom_group(on->s) * 256;
    return model_largest(own, smem);
}

/* Worked example: f16x3, 64 x 128 x 32: 384 clocks for 3 atoms, 128 each: yes; 128 x 256 x 32: 1536 for 6,
 * 256: no. */
bool model_producer_is_tight(const struct target *on, const struct tile *t) {
    const int64_t unit = (int64_t)on->s->products * t->bm * t->bn * t->bk / model_fma_per_cycle(on->g, on->s);
    const int atoms =
        ((t->bm + HT_ATOM_ROWS - 1) / HT_ATOM_ROWS + t->bn / HT_ATOM_ROWS) * scheme_atom_group(on->s);
    return unit < (int64_t)atoms * fit_wgmma_ss.copy_cycles;
}

/* What one warpgroup does between two chunks while its unit has nothing of it: x256 per slot. Additions:
 * one for each result, four warps at one instruction a clock each. */
static int64_t slot_gap(const struct target *on, const struct tile *t) {
    const int adds = model_promotes(on) ? tile_part_registers(t) : 0;
    const int batches = on->s->promote[0] == PROMOTE_EACH_MMA ? t->bk / target_mma_k(on) : 1;
    const int64_t turn = fit_wgmma_ss.turn_cycles + adds;
    return turn * batches * tile_parts(t) * 256 / model_promote_tiles(on, t);
}

static void time_wgmma_ss(const struct target *on, const struct tile *t, struct cost *cost) {
    const struct fit_wgmma_ss *f = &fit_wgmma_ss;
    const int64_t busy = slot_busy(on, t), gap = slot_gap(on, t), groups = tile_warpgroups(t);
    /* A warpgroup has busy / groups of work per slot; the others' work covers its gap if there is enough
     * of it, one that takes two chunks at once has only the second one's. */
    const int64_t own = busy / groups + (model_has_two_intervals(on, t) ? gap / 2 : gap);
    const int32_t step = (int32_t)model_largest(busy, own);
    const int store = (int)((int64_t)t->bm * t->bn * 4 * f->store_cycles_per_kb / 1024);
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = step,
        .step_latency_x256 = step,
        .tile_overhead_cycles = f->launch_cycles + (t->cluster > 1 ? f->cluster_cycles : 0),
        .block_overhead_cycles = f->tile_cycles + store,
        .scalar_store_cycles = f->scalar_stores * store,
    };
    cost->unit = own <= busy ? "tensor" : "latency";
}

static void decide_wgmma_ss(struct plan *p) {
    p->two_intervals = model_has_two_intervals(&p->on, &p->tile);
    p->hurries_copies = model_producer_is_tight(&p->on, &p->tile);
}

/* ---- text: one chunk of a warpgroup, unrolled; see the drawing in templates/skeletons/wgmma_ss.cu */

/* Descriptors count 16 bytes; an MMA takes 32 bytes of each row, whatever the slices are. */
enum { ROW_BYTES = 128, ATOM_UNITS = 8192 / 16, MMA_BYTES = 32, MMA_UNITS = MMA_BYTES / 16 };

/* Chunks of one chain; above 1 the chain stays in `temp` between them. */
static int chain_chunks(const struct plan *p) {
    return p->promoted[0] ? p->promote_steps / p->chunk : 1;
}

static int k_steps(const struct plan *p) {
    return ROW_BYTES / p->on.s->atom_slices / MMA_BYTES;
}

/* Slots of a chunk, and which of one k block holds a slice. */
static int chunk_stages(const struct plan *p) {
    return p->chunk * scheme_atom_group(p->on.s);
}

static int stage_of(const struct plan *p, int slice) {
    return slice / p->on.s->atom_slices;
}

static int wgmma_count(const struct plan *p) {
    return p->chunk * k_steps(p) * p->on.s->products * tile_parts(&p->tile);
}

/* Where k step `k` of a slice lies, k block's first stage `first`. */
static int slice_units(const struct plan *p, int first, int k, int slice) {
    const int beside = slice % p->on.s->atom_slices * (ROW_BYTES / p->on.s->atom_slices);
    const int stage_units = tile_stage_bytes(&p->tile, p->on.s) / scheme_atom_group(p->on.s) / 16;
    return (first + stage_of(p, slice)) * stage_units + beside / 16 + k * MMA_UNITS;
}

/* `chain`: where promoted products go. */
static void write_mma(struct text *out, int indent, const struct plan *p, const char *chain, int part,
                      int first, int k, int product, bool from_zero) {
    const struct product *q = &p->on.s->product[product];
    const int b = slice_units(p, first, k, q->b) + part * ATOM_UNITS, a = slice_units(p, first, k, q->a);
    const int depth = MMA_BYTES / scheme_slice_bytes(p->on.s);
    text_addf(out, "%*sht_wgmma(ht_width<BM>(), ", indent, "");
    if (p->promoted[q->acc])
        text_addf(out, "%s, b_desc + at + %d, a_desc + at + %d, %s);", chain, b, a,
                  !from_zero ? "1" : chain_chunks(p) > 1 ? "chain > 0" : "0");
    else
        text_addf(out, "acc[%d][%d], b_desc + at + %d, a_desc + at + %d, 1);", q->acc, part, b, a);
    text_add(out, " // ");
    const int block = first / scheme_atom_group(p->on.s);
    family_product_text(out, p->on.s, product, (block * k_steps(p) + k) * depth, depth);
    text_add(out, "\n");
}

/* Whether a product can be formed when stage `stage` of its k block has come, and not before. */
static bool is_ready(const struct plan *p, int product, int stage) {
    const int a = stage_of(p, p->on.s->product[product].a), b = stage_of(p, p->on.s->product[product].b);
    return (a > b ? a : b) == stage;
}

/* Products of one k step that stage `stage` of the k block completes; those into promoted accumulators start
 * `from_zero`. */
static void write_k_step(struct text *out, int indent, const struct plan *p, const char *chain, int part,
                         int first, int stage, int k, bool from_zero) {
    for (int i = 0; i < p->on.s->products; i++) {
        if (!is_ready(p, i, stage))
            continue;
        const bool promoted = p->promoted[p->on.s->product[i].acc];
        write_mma(out, indent, p, chain, part, first, k, i, promoted && from_zero);
        from_zero = from_zero && !promoted;
    }
}

/* All but the last `pending` batches are done; what they left may be used. */
static void write_wait(struct text *out, int indent, const struct plan *p, const char *chain, int part,
                       int pending) {
    text_line(out, indent, "ht_wgmma_wait<%d>();", pending);
    for (int l = 0; l < p->on.s->accumulators; l++) {
        if (p->promoted[l])
            text_line(out, indent, "ht_wgmma_fence_operand<ACC_REGS>(%s);", chain);
        else if (pending == 0)
            text_line(out, indent, "ht_wgmma_fence_operand<ACC_REGS>(acc[%d][%d]);", l, part);
    }
}

/* Before the first MMA on a stage; the slots of a chunk stay until its last part is done. */
static void write_stage_wait(struct text *out, int indent, int part, int stage) {
    if (part == 0)
        text_line(out, indent, "ht_mbar_wait(smem + FULL + (stage + %d) * 8, phase);", stage);
    if (part == 0 || stage == 0)
        text_line(out, indent, "ht_wgmma_fence();");
}

/* A warpgroup that is alone has every turn. */
static bool is_alone(const struct plan *p) {
    return tile_warpgroups(&p->tile) == 1;
}

static void write_order_wait(struct text *out, int indent, const struct plan *p, int part) {
    if (is_alone(p))
        return;
    text_line(out, indent, "// -- columns %d to %d: the warpgroup's turn", part * 64, part * 64 + 63);
    text_addf(out, "%*sht_mbar_wait(order_barrier, order_phase);\n%*sorder_phase ^= 1;\n", indent, "", indent,
              "");
}

static void write_order_arrive(struct text *out, int indent, const struct plan *p) {
    if (!is_alone(p))
        text_addf(out, "%*sif (lane == 0)\n%*sht_mbar_arrive(next_order_barrier);\n", indent, "", indent + 4,
                  "");
}

/* `first`: the chunk's first stage. */
static void write_release(struct text *out, int indent, const struct plan *p, const char *first, int part) {
    if (part + 1 < tile_parts(&p->tile))
        return;
    text_addf(out, "%*sif (lane < CLUSTER) {\n%*sconst unsigned block = ht_cluster_address(smem, lane);\n",
              indent, "", indent + 4, "");
    for (int stage = 0; stage < chunk_stages(p); stage++)
        text_line(out, indent + 4, "ht_mbar_arrive_cluster(block + EMPTY + (%s + %d) * 8);", first, stage);
    text_line(out, indent, "}");
}

/* Exact sums: what exceeds a digit moves up before a level overflows, by the next `chunks` at the latest. */
static void write_carry(struct text *out, int indent, const struct plan *p, int part, int chunks) {
    text_line(out, indent, "if (chain + %d > PROMOTE_STEPS) {", chunks);
    for (int l = p->on.s->accumulators - 1; l > 0; l--)
        text_line(out, indent + 4, "ht_carry_chain<ACC_REGS>(acc[%d][%d], acc[%d][%d]);", l - 1, part, l,
                  part);
    if (part + 1 == tile_parts(&p->tile))
        text_line(out, indent + 4, "chain = 0;");
    text_line(out, indent, "}");
}

/* Slot by stage as they come. */
static void write_by_stage(struct text *out, int indent, const struct plan *p, const char *chain, int part) {
    const int group = scheme_atom_group(p->on.s);
    for (int stage = 0; stage < chunk_stages(p); stage++) {
        write_stage_wait(out, indent, part, stage);
        for (int k = 0; k < k_steps(p); k++)
            write_k_step(out, indent, p, chain, part, stage / group * group, stage % group, k,
                         stage == 0 && k == 0);
    }
}

/* A chunk that is one chain: the last product listed, the main one, comes after the others of the whole
 * chunk, which are added while the sum is small and the unit cuts less of them. Halves the error on the H200
 * (bench/decisions/016: 2.6e-7 to 1.5e-7) and costs nothing. */
static void write_main_last(struct text *out, int indent, const struct plan *p, const char *chain, int part) {
    const int group = scheme_atom_group(p->on.s), last = p->on.s->products - 1;
    bool from_zero = true;
    for (int stage = 0; stage < chunk_stages(p); stage += group) {
        for (int g = 0; g < group; g++)
            write_stage_wait(out, indent, part, stage + g);
        for (int k = 0; k < k_steps(p); k++) {
            for (int i = 0; i < last; i++, from_zero = false)
                write_mma(out, indent, p, chain, part, stage, k, i, from_zero);
        }
    }
    for (int stage = 0; stage < chunk_stages(p); stage += group) {
        for (int k = 0; k < k_steps(p); k++, from_zero = false)
            write_mma(out, indent, p, chain, part, stage, k, last, from_zero);
    }
}

/* The chunk's chain is complete, or one of several chunks, or the last there is. */
static void write_promotion(struct text *out, int indent, const struct plan *p, const char *chain, int part) {
    const int chunks = chain_chunks(p);
    if (chunks > 1)
        text_addf(out, "%*sif (++chain == %d || chunk + 1 == w.chunks) {\n%*schain = 0;\n", indent, "",
                  chunks, indent + 4, "");
    text_line(out, chunks > 1 ? indent + 4 : indent, "ht_promote_chain<ACC_REGS>(acc[0][%d], %s);", part,
              chain);
    if (chunks > 1)
        text_line(out, indent, "}");
}

/* A whole chunk in flight at once: its MMAs, and what becomes of it. */
static void write_chunk_mmas(struct text *out, int indent, const struct plan *p, const char *chain,
                             int part) {
    if (part == 0 && p->on.s->recipe->fixed_point)
        text_line(out, indent, "chain++;");
    (p->promoted[0] ? write_main_last : write_by_stage)(out, indent, p, chain, part);
    text_line(out, indent, "ht_wgmma_commit();");
}

static void write_chunk_end(struct text *out, int indent, const struct plan *p, const char *chain,
                            const char *first, int part, int pending) {
    write_wait(out, indent, p, chain, part, pending);
    write_release(out, indent, p, first, part);
    if (p->promoted[0])
        write_promotion(out, indent, p, chain, part);
}

static void write_chunk_part(struct text *out, int indent, const struct plan *p, int part) {
    write_order_wait(out, indent, p, part);
    write_chunk_mmas(out, indent, p, "temp", part);
    write_order_arrive(out, indent, p);
    write_chunk_end(out, indent, p, "temp", "stage", part, 0);
    if (p->on.s->recipe->fixed_point)
        write_carry(out, indent, p, part, 1);
}

/* Every main product is added up outside the unit (Ootomo & Yokota 2022): one k step in flight. */
static void write_each_mma_part(struct text *out, int indent, const struct plan *p, int part) {
    write_order_wait(out, indent, p, part);
    write_stage_wait(out, indent, part, 0);
    for (int k = 0; k < k_steps(p); k++) {
        if (k > 0)
            text_line(out, indent, "ht_wgmma_fence();");
        write_k_step(out, indent, p, "temp", part, 0, 0, k, true);
        text_line(out, indent, "ht_wgmma_commit();");
        if (k + 1 == k_steps(p))
            write_order_arrive(out, indent, p);
        write_wait(out, indent, p, "temp", part, 0);
        if (k + 1 == k_steps(p))
            write_release(out, indent, p, "stage", part);
        text_line(out, indent, "ht_promote_chain<ACC_REGS>(acc[0][%d], temp);", part);
    }
}

static void write_start(struct text *out, int indent, const char *type) {
    text_line(out, indent, "%sat = (unsigned)stage * (STAGE_BYTES / 16);", type);
}

static void write_next(struct text *out, int indent) {
    text_addf(out,
              "%*sstage = stage + PROMOTE_STAGES == RING_STAGES ? 0 : stage + PROMOTE_STAGES;\n"
              "%*sphase ^= stage == 0;\n",
              indent, "", indent, "");
}

static void write_chunk(struct text *out, int indent, const struct plan *p) {
    write_start(out, indent, "const unsigned ");
    for (int part = 0; part < tile_parts(&p->tile); part++)
        (p->on.s->promote[0] == PROMOTE_EACH_MMA ? write_each_mma_part : write_chunk_part)(out, indent, p,
                                                                                           part);
    write_next(out, indent);
}

/* Two chunks in flight, no branch between them: with one, or with an MMA in flight from round to round, ptxas
 * 13.0 waits behind each MMA (C7514, C7518). */
static void write_pair(struct text *out, int indent, const struct plan *p) {
    const bool promoted = p->promoted[0];
    if (promoted)
        text_line(out, indent, "ht_acc other[ACC_REGS]; // the second chunk's chain");
    text_line(out, indent, "const int first = stage;");
    write_start(out, indent, "unsigned ");
    write_chunk_mmas(out, indent, p, "temp", 0);
    write_next(out, indent);
    text_line(out, indent, "const int second = stage;");
    write_start(out, indent, "");
    write_chunk_mmas(out, indent, p, "other", 0);
    write_next(out, indent);
    write_chunk_end(out, indent, p, "temp", "first", 0, 1);
    write_chunk_end(out, indent, p, "other", "second", 0, 0);
    if (p->on.s->recipe->fixed_point)
        write_carry(out, indent, p, 0, 2);
}

static void write_chunks(struct text *out, int indent, const struct plan *p) {
    if (p->two_intervals) {
        text_addf(out, "%*sint chunk = 0;\n#pragma unroll 1\n%*sfor (; chunk + 1 < w.chunks; chunk += 2) {\n",
                  indent, "", indent, "");
        write_pair(out, indent + 4, p);
        text_addf(out, "%*s}\n%*sif (chunk < w.chunks) {\n", indent, "", indent, "");
    } else
        text_line(out, indent, "for (int chunk = 0; chunk < w.chunks; chunk++) {");
    write_chunk(out, indent + 4, p);
    text_line(out, indent, "}");
}

static bool holes_wgmma_ss(void *context, const char *name, struct text *out, int indent) {
    const bool is_mine = strcmp(name, "chunks") == 0;
    if (is_mine)
        write_chunks(out, indent, ((const struct family_hole *)context)->plan);
    return is_mine;
}

/* What the banner says of a step. */
static void banner_wgmma_ss(struct text *out, const struct plan *p) {
    text_addf(out, "// A warpgroup runs %d wgmmas in each chunk of %d k.\n", wgmma_count(p),
              p->chunk * p->tile.bk);
}

const struct family family_wgmma_ss = {
    .id = HT_FAMILY_WGMMA_SS, FUNCTIONS(wgmma_ss), .space = tile_space_wgmma_ss, .decide = decide_wgmma_ss,
    .params = PARAMS_OF_TILE "PROMOTE_STEPS PROMOTES PROMOTE_TILES WAVE SMS CLUSTER SHARES_A SHARES_B "
              "ELECT_PRODUCER RASTER",
    .constants = "*SUM_ROWS", .holes = holes_wgmma_ss, .banner = banner_wgmma_ss,
    .file = "wgmma_ss", .label = "_wgmma", .searched = true, .needs = ISA_WGMMA, .has_init = true,
    .cost_form = HT_TILED_WAVES, .persistent = true, .has_dmma_fallback = true,
    .hooks = {"=launch", "=wgmma", "=dmma_inside", "=cluster", "=mma", "accum/promote_wgmma", SUMS,
              "=copies_inside", "check/recompute", "=tile_inside", "check/fallback_notes",
              "=fallback_inside", "=scheme"},
    .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS PART_ROWS VEC4_COLUMNS A_BLOCKS PARTS B_BLOCKS",
    .team = "warpgroup", .workers = "warpgroups and a producer",
    .holds = "of a warpgroup after setmaxnreg; chain"
};

const struct family family_crt_wgmma_ss = {
    .id = HT_FAMILY_CRT_WGMMA_SS, .footprint = footprint_crt_wgmma_ss, .time = time_wgmma_ss,
    .space = tile_space_planned, .decide = decide_wgmma_ss, .params = "BM BN BK WM WN STAGES RASTER SMS",
    .file = "crt_wgmma_ss", .label = "_wgmma", .searched = true, OF_FP64,
    .forms_passes = true, .sum = NUMBER_S32, .needs = ISA_WGMMA, .has_init = true,
    .cost_form = HT_TILED_WAVES, .persistent = true, .no_split_k = true,
    .hooks = {"=launch", "=wgmma", "=mma", "=tables", OF_RESIDUES},
    .folds = "CONSUMER_WARPGROUPS N_SUBTILES ACC_REGS A_BLOCKS B_BLOCKS",
    .team = "warpgroup", .workers = "warpgroups and a producer",
    .holds = "of a warpgroup after setmaxnreg; chain",
    .tiles = {{64, 128, 128, 64, 64, 4, ALWAYS, "few"}, {128, 256, 128, 128, 128, 4, ALWAYS, "many"}}
};
