/* ht_lend.c: tells a device that shares the memory of the process which of it a call touches. The simulator
 * does; a GPU has no ht_dev_info.lend. */
#include "ht_call.h"

enum { LENT_MOST = 8 };

struct lent {
    struct ht_dev_lent of[LENT_MOST];
    int count;
};

static const char *const operand[] = {"A", "B"}, *const packed[] = {"packed A", "packed B"},
                         *const maxima[] = {"rowmax", "colmax"};

static void add_bytes(struct lent *l, const char *name, const void *at, int64_t bytes, bool is_written) {
    if (at == NULL || bytes <= 0)
        return;
    struct ht_dev_lent *const to = &l->of[l->count++];
    to->at = at;
    to->bytes = (size_t)bytes;
    to->name = name;
    to->is_written = is_written;
}

static int64_t matrix_bytes(const struct call *c, int64_t ld, int64_t rows, int64_t cols, int64_t stride,
                            size_t each) {
    return ht_mul(ht_extent_of(ld, rows, cols, stride, c->batch), (int64_t)each);
}

static void add_operand(struct lent *l, const struct call *c, int side) {
    const struct call_operand *const o = &c->of[side];
    const int64_t bytes = matrix_bytes(c, o->ld, stored_rows(c, side), stored_cols(c, side), o->stride,
                                       operand_bytes(c));
    add_bytes(l, operand[side], o->src, bytes, false);
}

/* After a failure nothing is lent. */
static int lend_all(halftone *h, const struct lent *l, bool back) {
    int code = HALFTONE_OK, lent = back ? l->count : 0;
    while (!back && lent < l->count &&
           (code = ht_fail_device(h, h->device.lend(&l->of[lent], h->stream, false))) == HALFTONE_OK)
        lent++;
    for (int i = 0; i < lent && (back || code != HALFTONE_OK); i++)
        (void)h->device.lend(&l->of[i], h->stream, true);
    return code;
}

int ht_lend_call(const struct call *c, bool back) {
    halftone *const h = c->h;
    struct lent l = HT_ZERO;
    if (h->device.lend == NULL)
        return HALFTONE_OK;
    add_bytes(&l, "C", c->c, matrix_bytes(c, c->ldc, c->m, c->n, c->stride_c, element_bytes(c)), true);
    for (int side = 0; side < 2 && c->effect == EFFECT_PRODUCT; side++) {
        if (c->ranks != RANKS_NONE && !c->of[side].packs)
            continue;
        if (c->is_packed)
            add_bytes(&l, packed[side], c->of[side].packed, c->of[side].packed_bytes, false);
        else
            add_operand(&l, c, side);
    }
    for (int side = 0; side < 2; side++)
        add_bytes(&l, maxima[side], c->of[side].absmax, rows_of(c, side) * (int64_t)sizeof(int),
                  c->ranks == RANKS_MAXIMA);
    if (c->partial != NULL)
        add_bytes(&l, "partial", c->partial, HALFTONE_PARTIAL_WORDS(c->m, c->n) * (int64_t)sizeof *c->partial,
                  c->ranks == RANKS_PARTIAL);
    if (h->pointer_mode == HALFTONE_DEVICE) {
        add_bytes(&l, "alpha", c->alpha, (int64_t)element_bytes(c), false);
        add_bytes(&l, "beta", c->beta, (int64_t)element_bytes(c), false);
    }
    add_bytes(&l, "the workspace", h->has_user ? h->user : NULL, (int64_t)h->user_bytes, true);
    return lend_all(h, &l, back);
}

int ht_lend_packing(const struct call *c, const int64_t bytes[2], bool back) {
    struct lent l = HT_ZERO;
    if (c->h->device.lend == NULL)
        return HALFTONE_OK;
    for (int side = 0; side < 2; side++) {
        if (bytes[side] > 0)
            add_operand(&l, c, side);
        add_bytes(&l, packed[side], c->of[side].packed, bytes[side], true);
    }
    return lend_all(c->h, &l, back);
}
