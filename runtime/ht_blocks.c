/* ht_blocks.c: runs a call that the limit of the workspace cuts into blocks (ht_plan.c), each a call of
 * its own. */
#include "ht_call.h"

/* The block that begins at a row, a column and an entry. */
static struct call block_at(const struct call *c, const struct plan *p, int64_t row, int64_t col,
                            int64_t entry) {
    const int64_t bytes = (int64_t)element_bytes(c), first[2] = {row, col};
    struct call y = *c;
    y.m = least_of(p->block_m, c->m - row);
    y.n = least_of(p->block_n, c->n - col);
    y.batch = least_of(p->block_batch, c->batch - entry);
    for (int side = 0; side < 2; side++) {
        const struct call_operand *const o = &c->of[side];
        y.of[side].src = (const char *)o->src +
                         (first[side] * (k_contiguous(c, side) ? o->ld : 1) + entry * o->stride) * bytes;
    }
    y.c = (char *)c->c + (row + col * c->ldc + entry * c->stride_c) * bytes;
    y.outer = &c->workspace;
    return y;
}

/* The kernels of blocks of all sizes, those at the ends too, which may be cut again. */
static int ready_blocks(const struct call *c) {
    const struct plan p =
        *c->plan; /* blocks have plans of their own, for which the handle may forget this one */
    const int64_t row[] = {0, (c->m - 1) / p.block_m * p.block_m},
                  col[] = {0, (c->n - 1) / p.block_n * p.block_n},
                  entry[] = {0, (c->batch - 1) / p.block_batch * p.block_batch};
    int code = HALFTONE_OK;
    for (int i = 0; i < 8 && code == HALFTONE_OK; i++) {
        struct call y = block_at(c, &p, row[i & 1], col[i >> 1 & 1], entry[i >> 2]);
        code = ht_plan_call(&y, &y.plan);
        if (code == HALFTONE_OK)
            code = y.plan->blocks > 1 ? ready_blocks(&y) : ht_ready_steps(&y);
    }
    return code;
}

int ht_run_blocks(const struct call *of, int (*run)(struct call *block)) {
    const struct plan p = *of->plan; /* as in ready_blocks */
    struct call whole = *of, *const c = &whole;
    c->plan = &p;
    int code = ready_blocks(c);
    if (code == HALFTONE_OK)
        code = ht_open_workspace(c);
    if (code != HALFTONE_OK)
        return code;
    for (int64_t entry = 0; entry < c->batch && code == HALFTONE_OK; entry += p.block_batch) {
        for (int64_t col = 0; col < c->n && code == HALFTONE_OK; col += p.block_n) {
            for (int64_t row = 0; row < c->m && code == HALFTONE_OK; row += p.block_m) {
                struct call y = block_at(c, &p, row, col, entry);
                code = run(&y);
            }
        }
    }
    return ht_close_workspace(c, code);
}
