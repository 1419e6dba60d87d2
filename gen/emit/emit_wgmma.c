/* emit_wgmma.c: one chunk of a warpgroup, unrolled; see emit/holes.h and the drawing in
 * templates/skeletons/wgmma_ss.cu. */
#include "emit/holes.h"

#include <string.h>

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

int emit_wgmma_count(const struct plan *p) {
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
    emit_product_text(out, p->on.s, product, (block * k_steps(p) + k) * depth, depth);
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

bool emit_wgmma_hole(void *context, const char *name, struct text *out, int indent) {
    const bool is_mine = strcmp(name, "chunks") == 0;
    if (is_mine)
        write_chunks(out, indent, ((const struct hole *)context)->plan);
    return is_mine;
}
