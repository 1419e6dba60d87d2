/* ht_lend.c: tells a device that shares the memory of the process which of it a call touches. The simulator
 * does; a GPU has no ht_dev_info.lend. */
#include "ht_call.h"

enum { LENT_MOST = 6 };

struct lent {
    struct {
        const void *at;
        int64_t bytes;
    } extent[LENT_MOST];
    int count;
};

static void add_bytes(struct lent *l, const void *at, int64_t bytes) {
    if (at == NULL || bytes <= 0)
        return;
    l->extent[l->count].at = at;
    l->extent[l->count++].bytes = bytes;
}

static void add_matrix(struct lent *l, const struct call *c, const void *at, int64_t ld, int64_t rows,
                       int64_t cols, int64_t stride) {
    add_bytes(l, at, ht_mul(ht_extent_of(ld, rows, cols, stride, c->batch), (int64_t)element_bytes(c)));
}

static void add_operand(struct lent *l, const struct call *c, int side) {
    const struct call_operand *const o = &c->of[side];
    const bool along_k = k_contiguous(c, side); /* columns as stored are of k */
    add_matrix(l, c, o->src, o->ld, along_k ? c->k : rows_of(c, side), along_k ? rows_of(c, side) : c->k,
               o->stride);
}

static int lend_all(halftone *h, const struct lent *l, bool back) {
    int code = HALFTONE_OK;
    for (int i = 0; i < l->count && (back || code == HALFTONE_OK); i++)
        code =
            ht_fail_device(h, h->device.lend(l->extent[i].at, (size_t)l->extent[i].bytes, h->stream, back));
    return code;
}

int ht_lend_call(const struct call *c, bool back) {
    halftone *const h = c->h;
    struct lent l;
    memset(&l, 0, sizeof l);
    if (h->device.lend == NULL)
        return HALFTONE_OK;
    add_matrix(&l, c, c->c, c->ldc, c->m, c->n, c->stride_c);
    for (int side = 0; side < 2 && c->effect == EFFECT_PRODUCT; side++) {
        if (c->is_packed)
            add_bytes(&l, c->of[side].packed, c->of[side].packed_bytes);
        else
            add_operand(&l, c, side);
    }
    if (h->pointer_mode == HALFTONE_DEVICE) {
        add_bytes(&l, c->alpha, (int64_t)element_bytes(c));
        add_bytes(&l, c->beta, (int64_t)element_bytes(c));
    }
    add_bytes(&l, h->has_user ? h->user : NULL, (int64_t)h->user_bytes);
    return lend_all(h, &l, back);
}

int ht_lend_packing(const struct call *c, const int64_t bytes[2], bool back) {
    struct lent l;
    memset(&l, 0, sizeof l);
    if (c->h->device.lend == NULL)
        return HALFTONE_OK;
    for (int side = 0; side < 2; side++) {
        if (bytes[side] > 0)
            add_operand(&l, c, side);
        add_bytes(&l, c->of[side].packed, bytes[side]);
    }
    return lend_all(c->h, &l, back);
}
