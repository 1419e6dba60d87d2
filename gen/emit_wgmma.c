/* emit_wgmma.c: one chunk of a warpgroup, unrolled; see emit_wgmma.h and the drawing in templates/tile_wgmma.cu. */
#include "emit_wgmma.h"

#include <string.h>

enum { ATOM_UNITS = 8192 / 16, MMA_UNITS = 32 / 16 }; /* descriptors count 16 bytes; an MMA takes 32 bytes of each row */

static bool is_promoted(const struct plan *p, int accumulator) {
    return p->scheme->promote[accumulator] != PROMOTE_NEVER;
}

static bool each_mma(const struct plan *p) {
    return p->scheme->promote[0] == PROMOTE_EACH_MMA;
}

static int k_steps(const struct plan *p) {
    return p->tile.bk / p->isa->ki;
}

static int slot_units(const struct plan *p) {
    return tile_stage_bytes(&p->tile, p->scheme) / 16;
}

int emit_wgmma_count(const struct plan *p) {
    return model_chunk(p->scheme, p->isa, &p->tile) * k_steps(p) * p->scheme->products * tile_parts(&p->tile);
}

static void write_mma(struct text *out, int indent, const struct plan *p, int part, int slot, int k, int product,
                      bool first) {
    const struct product *q = &p->scheme->product[product];
    const int slice_units = scheme_atom_k(p->scheme) * scheme_slice_bytes(p->scheme) / 16;
    const int at = slot * slot_units(p) + k * MMA_UNITS;
    const int b = at + part * ATOM_UNITS + q->b * slice_units, a = at + q->a * slice_units;
    text_addf(out, "%*sht_wgmma_f16(ht_width<BM>(), ", indent, "");
    if (is_promoted(p, q->acc))
        text_addf(out, "temp, rows + at + %d, cols + at + %d, %d);\n", b, a, first ? 0 : 1);
    else
        text_addf(out, "acc[%d][%d], rows + at + %d, cols + at + %d, 1);\n", q->acc, part, b, a);
}

/* Products of one k step into promoted accumulators start from zero when `first`. */
static void write_k_step(struct text *out, int indent, const struct plan *p, int part, int slot, int k, bool first) {
    for (int i = 0; i < p->scheme->products; i++) {
        const bool promoted = is_promoted(p, p->scheme->product[i].acc);
        write_mma(out, indent, p, part, slot, k, i, promoted && first);
        first = first && !promoted;
    }
}

static void write_wait(struct text *out, int indent, const struct plan *p, int part) {
    text_addf(out, "%*sht_wgmma_wait<0>();\n", indent, "");
    for (int l = 0; l < p->scheme->accumulators; l++) {
        if (is_promoted(p, l))
            text_addf(out, "%*sht_wgmma_pin<REGS>(temp);\n", indent, "");
        else
            text_addf(out, "%*sht_wgmma_pin<REGS>(acc[%d][%d]);\n", indent, "", l, part);
    }
}

/* Before the first MMA on a slot; the slots of a chunk stay until its last part is done. */
static void write_slot_wait(struct text *out, int indent, int part, int slot) {
    if (part == 0)
        text_addf(out, "%*sht_mbar_wait(smem + FULL + (slot + %d) * 8, phase);\n", indent, "", slot);
    if (part == 0 || slot == 0)
        text_addf(out, "%*sht_wgmma_fence();\n", indent, "");
}

static void write_turn(struct text *out, int indent, int part) {
    text_addf(out, "%*s// -- columns %d to %d: the warpgroup's turn\n", indent, "", part * 64, part * 64 + 63);
    text_addf(out, "%*sht_mbar_wait(turn, turn_phase);\n%*sturn_phase ^= 1;\n", indent, "", indent, "");
}

static void write_pass(struct text *out, int indent) {
    text_addf(out, "%*sif (lane == 0)\n%*sht_mbar_arrive(next_turn);\n", indent, "", indent + 4, "");
}

static void write_release(struct text *out, int indent, const struct plan *p, int part) {
    if (part + 1 < tile_parts(&p->tile))
        return;
    text_addf(out, "%*sif (lane == 0) {\n", indent, "");
    for (int slot = 0; slot < model_chunk(p->scheme, p->isa, &p->tile); slot++)
        text_addf(out, "%*sht_mbar_arrive(smem + EMPTY + (slot + %d) * 8);\n", indent + 4, "", slot);
    text_addf(out, "%*s}\n", indent, "");
}

/* A whole chunk in flight at once. */
static void write_chunk_part(struct text *out, int indent, const struct plan *p, int part) {
    const int chunk = model_chunk(p->scheme, p->isa, &p->tile);
    write_turn(out, indent, part);
    for (int slot = 0; slot < chunk; slot++) {
        write_slot_wait(out, indent, part, slot);
        for (int k = 0; k < k_steps(p); k++)
            write_k_step(out, indent, p, part, slot, k, slot == 0 && k == 0);
    }
    text_addf(out, "%*sht_wgmma_commit();\n", indent, "");
    write_pass(out, indent);
    write_wait(out, indent, p, part);
    write_release(out, indent, p, part);
    if (is_promoted(p, 0))
        text_addf(out, "%*sht_promote_chain<REGS>(acc[0][%d], temp);\n", indent, "", part);
}

/* Every main product is added up outside the unit (Ootomo & Yokota 2022): one k step in flight. */
static void write_each_mma_part(struct text *out, int indent, const struct plan *p, int part) {
    write_turn(out, indent, part);
    write_slot_wait(out, indent, part, 0);
    for (int k = 0; k < k_steps(p); k++) {
        if (k > 0)
            text_addf(out, "%*sht_wgmma_fence();\n", indent, "");
        write_k_step(out, indent, p, part, 0, k, true);
        text_addf(out, "%*sht_wgmma_commit();\n", indent, "");
        if (k + 1 == k_steps(p))
            write_pass(out, indent);
        write_wait(out, indent, p, part);
        if (k + 1 == k_steps(p))
            write_release(out, indent, p, part);
        text_addf(out, "%*sht_promote_chain<REGS>(acc[0][%d], temp);\n", indent, "", part);
    }
}

bool emit_wgmma_hole(const struct plan *p, const char *name, struct text *out, int indent) {
    if (strcmp(name, "chunk") != 0)
        return false;
    for (int part = 0; part < tile_parts(&p->tile); part++)
        (each_mma(p) ? write_each_mma_part : write_chunk_part)(out, indent, p, part);
    return true;
}
