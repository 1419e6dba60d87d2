/* rows: see rows.h. */
#include "family/rows.h"

/* Whether DMMA is worth having: not where it is cut down (H20, H800). */
static bool has_dmma(const struct target *on) {
    return isa_has(on->isa, ISA_DMMA) && 2 * on->g->fp64_fma_per_cycle >= on->g->fp32_fma_per_cycle;
}

/* Of the caller's matrices, where no family does better. */
static bool is_served(const struct target *on, enum unless unless) {
    const struct family *k = on->family;
    if (k->in != on->s->in || !isa_has(on->isa, k->needs) ||
        (k->needs == ISA_DMMA && !has_dmma(on)))
        return false;
    if (on->isa->only_tiled)
        return k->has_tiles_of_all_shapes;
    return !(unless == UNLESS_WGMMA_RS && isa_has(on->isa, ISA_WGMMA_RS_BF16)) &&
           !(unless == UNLESS_DMMA && has_dmma(on)) && unless != ONLY_TILED;
}

/* Of panels; stages beyond two are for asynchronous copies, which have no use for fewer. */
static bool is_whole(const struct target *on, const struct planned_tile *row) {
    return row->wm % on->mma->m + row->wn % on->mma->n + row->bk % target_fragment_k(on) == 0 &&
           (row->stages > 2) == on->isa->async_copy;
}

bool family_plans(const struct target *on, int i, struct tile *t) {
    enum { THREADS = 256 };
    const struct planned_tile *row = &on->family->tiles[i];
    const int wm = row->wm > 0 ? row->wm : row->bm * on->isa->wave_size / THREADS;
    const int wn = on->family->searched && row->wn < on->mma->n ? on->mma->n : row->wn;
    *t = (struct tile){row->bm, row->bn < wn ? wn : row->bn, row->bk,     wm,
                       wn,      target_mma_k(on),            row->stages, 1};
    return row->why && (on->family->unpacked ? is_served(on, row->unless) : is_whole(on, row));
}

bool tile_next(const struct target *on, int *at, struct tile *t) {
    int *const sides[TILE_SIDES] = {&t->bm, &t->bn, &t->bk, &t->wm, &t->wn, &t->stages, &t->cluster};
    const struct family *const k = on->family;
    while (!k->takes && *at < FAMILY_TILES_MAX)
        if (family_plans(on, (*at)++, t))
            return true;
    for (int rest = 0; k->takes && rest == 0;) { /* of the place, once each side has its digit of it */
        rest = (*at)++;
        for (int side = TILE_SIDES - 1; side >= 0; side--) {
            int count = 0;
            while (count < GRID_MOST && k->grid[side][count] > 0)
                count++;
            *sides[side] = k->grid[side][rest % count];
            rest /= count;
        }
        t->bk *= k->unpacked ? 1 : scheme_atom_k(on->s);
        t->wk = target_mma_k(on);
        if (rest == 0 && k->takes(on, t))
            return true;
    }
    return false;
}

bool family_fallback_in_kernel(const struct plan *p) {
    const struct family *k = p->on.family;
    return (k->has_dmma_fallback && p->on.s->checked) || p->tile.bm == k->group_rows;
}

static void add_slice(struct text *out, char operand, const struct scheme *s, int slice) {
    text_addf(out, "%c", operand);
    if (s->slices == 2)
        text_add(out, slice == 0 ? ".hi" : ".lo");
    else if (s->slices > 2)
        text_addf(out, ".%d", slice);
}

void family_slices_text(struct text *out, const struct scheme *s, int product) {
    add_slice(out, 'A', s, s->product[product].a);
    text_add(out, " * ");
    add_slice(out, 'B', s, s->product[product].b);
}

void family_product_text(struct text *out, const struct scheme *s, int product, int k, int depth) {
    family_slices_text(out, s, product);
    text_addf(out, ", k %d..%d", k, k + depth - 1);
}
