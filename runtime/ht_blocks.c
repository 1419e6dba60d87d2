/* ht_blocks.c: runs a call that the limit of the workspace cuts into blocks (ht_plan.c), each a call of its own. */
#include "ht_call.h"

/* The block that begins at a row, a column and an entry. */
static struct gemm_call block_at(const struct gemm_call *x, const struct plan *p, int64_t row, int64_t col,
                                 int64_t entry) {
    const int64_t bytes = (int64_t)element_bytes(x);
    struct gemm_call y = *x;
    y.m = least_of(p->block_m, x->m - row);
    y.n = least_of(p->block_n, x->n - col);
    y.batch = least_of(p->block_batch, x->batch - entry);
    y.a = (const char *)x->a + (row * (is_trans(x->transa) ? x->lda : 1) + entry * x->stride_a) * bytes;
    y.b = (const char *)x->b + (col * (is_trans(x->transb) ? 1 : x->ldb) + entry * x->stride_b) * bytes;
    y.c = (char *)x->c + (row + col * x->ldc + entry * x->stride_c) * bytes;
    return y;
}

/* The kernels of blocks of all sizes, those at the ends too, which may be cut again. */
static int ready_blocks(halftone *h, const struct gemm_call *x, const struct plan *of) {
    const struct plan p = *of; /* blocks have plans of their own, for which the handle may forget this one */
    const int64_t row[] = {0, (x->m - 1) / p.block_m * p.block_m}, col[] = {0, (x->n - 1) / p.block_n * p.block_n},
                  entry[] = {0, (x->batch - 1) / p.block_batch * p.block_batch};
    int code = HALFTONE_OK;
    for (int i = 0; i < 8 && code == HALFTONE_OK; i++) {
        const struct gemm_call y = block_at(x, &p, row[i & 1], col[i >> 1 & 1], entry[i >> 2]);
        const struct plan *own = NULL;
        code = ht_plan_call(h, &y, entries_of(&y, y.stride_a), entries_of(&y, y.stride_b), &own);
        if (code == HALFTONE_OK)
            code = own->blocks > 1 ? ready_blocks(h, &y, own) : ht_ready_plan(h, own);
    }
    return code;
}

int ht_run_blocks(halftone *h, const struct gemm_call *x, const struct plan *plan,
                  int (*run)(halftone *h, const struct gemm_call *x)) {
    const struct plan p = *plan; /* as in ready_blocks */
    const struct workspace outer = h->of_blocks; /* of the call of which x is a block that is cut again */
    struct workspace w;
    int code = ready_blocks(h, x, &p);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(h, (size_t)p.bytes, &w);
    if (code != HALFTONE_OK)
        return code;
    h->of_blocks = w;
    for (int64_t entry = 0; entry < x->batch && code == HALFTONE_OK; entry += p.block_batch) {
        for (int64_t col = 0; col < x->n && code == HALFTONE_OK; col += p.block_n) {
            for (int64_t row = 0; row < x->m && code == HALFTONE_OK; row += p.block_m) {
                const struct gemm_call y = block_at(x, &p, row, col, entry);
                code = run(h, &y);
            }
        }
    }
    h->of_blocks = outer;
    return ht_close_workspace(h, &w, code);
}
