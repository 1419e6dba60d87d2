/* rows: see rows.h. */
#include "family/rows.h"

/* The family's planned tiles. Stages beyond two are for asynchronous copies, which have no use for fewer. */
static void visit_planned(const struct target *on, tile_visit *visit, void *context) {
    for (int i = 0; i < FAMILY_TILES_MAX && on->family->tiles[i].why; i++) {
        const struct planned_tile *row = &on->family->tiles[i];
        const struct tile t = {row->bm, row->bn, row->bk, row->wm, row->wn, target_mma_k(on), row->stages, 1};
        const bool whole = row->wm % on->mma->m + row->wn % on->mma->n + row->bk % target_fragment_k(on) == 0;
        if ((row->stages > 2) == on->isa->async_copy && whole)
            visit(context, &t);
    }
}

/* The tiles of the family's grid whose sides before this one are those of *t. */
static void visit_grid(const struct target *on, tile_visit *visit, void *context, struct tile *t, int side) {
    int *const sides[TILE_SIDES] = {&t->bm, &t->bn, &t->bk, &t->wm, &t->wn, &t->stages, &t->cluster};
    const int unit = side == SIDE_BK && !on->family->unpacked ? scheme_atom_k(on->s) : 1;
    if (side == TILE_SIDES && on->family->takes(on, t))
        visit(context, t);
    for (const int *at = on->family->grid[side]; side < TILE_SIDES && *at > 0; at++) {
        *sides[side] = *at * unit;
        visit_grid(on, visit, context, t, side + 1);
    }
}

void tile_enumerate(const struct target *on, tile_visit *visit, void *context) {
    struct tile t = {.wk = target_mma_k(on)};
    if (on->family->takes)
        visit_grid(on, visit, context, &t, SIDE_BM);
    else
        visit_planned(on, visit, context);
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
