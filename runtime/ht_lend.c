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

static void add_matrix(struct lent *l, const struct gemm_call *x, const void *at, int64_t ld, int64_t rows, int64_t cols, int64_t stride) {
    add_bytes(l, at, ht_mul(ht_extent_of(ld, rows, cols, stride, x->batch), (int64_t)element_bytes(x)));
}

static void add_operand(struct lent *l, const struct gemm_call *x, bool is_b) {
    const bool along_k = is_b != is_trans(is_b ? x->transb : x->transa); /* columns as stored are of k */
    const int64_t rows = is_b ? x->n : x->m;
    add_matrix(l, x, is_b ? x->b : x->a, is_b ? x->ldb : x->lda, along_k ? x->k : rows, along_k ? rows : x->k,
               is_b ? x->stride_b : x->stride_a);
}

static int lend_all(halftone *h, const struct lent *l, bool back) {
    int code = HALFTONE_OK;
    for (int i = 0; i < l->count && (back || code == HALFTONE_OK); i++)
        code = ht_fail_device(h, h->device.lend(l->extent[i].at, (size_t)l->extent[i].bytes, h->stream, back));
    return code;
}

int ht_lend_call(halftone *h, const struct gemm_call *x, bool is_packed, enum call_effect effect, bool back) {
    struct lent l;
    memset(&l, 0, sizeof l);
    if (h->device.lend == NULL)
        return HALFTONE_OK;
    add_matrix(&l, x, x->c, x->ldc, x->m, x->n, x->stride_c);
    if (effect == EFFECT_PRODUCT) {
        for (int is_b = 0; is_b < 2; is_b++) {
            if (is_packed)
                add_bytes(&l, is_b ? x->packed_b : x->packed_a, x->packed_bytes[is_b]);
            else
                add_operand(&l, x, is_b);
        }
    }
    if (h->pointer_mode == HALFTONE_DEVICE) {
        add_bytes(&l, x->alpha, (int64_t)element_bytes(x));
        add_bytes(&l, x->beta, (int64_t)element_bytes(x));
    }
    add_bytes(&l, h->has_user ? h->user : NULL, (int64_t)h->user_bytes);
    return lend_all(h, &l, back);
}

int ht_lend_packing(halftone *h, const struct gemm_call *x, int64_t a_bytes, int64_t b_bytes, bool back) {
    struct lent l;
    memset(&l, 0, sizeof l);
    if (h->device.lend == NULL)
        return HALFTONE_OK;
    if (a_bytes > 0)
        add_operand(&l, x, false);
    if (b_bytes > 0)
        add_operand(&l, x, true);
    add_bytes(&l, x->packed_a, a_bytes);
    add_bytes(&l, x->packed_b, b_bytes);
    return lend_all(h, &l, back);
}
