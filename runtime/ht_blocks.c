/* ht_blocks.c: a limit of the workspace: calls that need more are cut into blocks of the batch, of rows and of
 * columns, each a call of its own. Nothing else changes: a block's plan is that of a call of its size. Schemes of
 * residues pack less k at once as well: residues of all k add up, so that the bits stay. */
#include "ht_call.h"

/* Blocks of rows and columns are halved down to this; multiples of it but for what is left at the end. */
static const int64_t LEAST_BLOCK = 256;

/* The same of k that residues are packed of at once; rows of an atom, below which blocks take no less; k so long that
 * launches and additions of residues count little beside their products. */
enum { LEAST_K = 2 * HT_CRT_SEGMENT, LEAST_ROWS = HT_ATOM_ROWS, LONG_K = 2048 };

/* At most `least` stays. */
static bool halve(int64_t *size, int64_t least, int64_t unit) {
    if (*size <= least)
        return false;
    *size = round_up(ht_ceil_div(*size, 2), unit);
    return true;
}

static int64_t least_of(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static bool halve_k(struct plan_key *key, const struct plan *p, int64_t least) {
    int64_t part = p->k_part;
    if (!halve(&part, least, LEAST_K)) /* 0: the scheme cannot cut k */
        return false;
    key->k_part = part;
    return true;
}

/* The next smaller block than that of plan `p`; false: there is none. Packing k in parts costs additions of residues, smaller
 * blocks of rows and columns pack operands again. */
static bool shrink(struct plan_key *key, const struct plan *p) {
    if (key->batch > 1) {
        key->batch = ht_ceil_div(key->batch, 2);
        key->a_entries = least_of(key->a_entries, key->batch);
        key->b_entries = least_of(key->b_entries, key->batch);
        return true;
    }
    int64_t *const larger = key->m > key->n ? &key->m : &key->n;
    const bool panels_weigh = ht_add(p->a.panel_bytes, p->b.panel_bytes) > p->plane_stride;
    if ((panels_weigh && halve_k(key, p, LONG_K)) || halve(larger, LEAST_BLOCK, LEAST_BLOCK) || halve_k(key, p, LEAST_K))
        return true;
    return p->k_part > 0 && halve(larger, LEAST_ROWS, LEAST_ROWS);
}

static bool fits(const halftone *h, const struct plan *p) {
    return h->workspace_limit == 0 || p->bytes <= h->workspace_limit;
}

/* The plan of so much of a call as one of its own, which blocks are. */
static int plan_part(halftone *h, const struct plan_key *whole, int64_t m, int64_t n, int64_t batch, ht_planner *make, struct plan *p) {
    struct plan_key part = *whole;
    part.m = m;
    part.n = n;
    part.batch = batch;
    part.a_entries = least_of(whole->a_entries, batch);
    part.b_entries = least_of(whole->b_entries, batch);
    return ht_plan_within_limit(h, &part, make, p);
}

/* Blocks have plans of their own, and so has what is left at the ends, which may run another scheme or pack more of k at once: all of them
 * must do with the workspace that p names. A block that would be cut again is cut so at once. */
static int settle_blocks(halftone *h, const struct plan_key *whole, ht_planner *make, struct plan_key *block, struct plan *p) {
    int code = plan_part(h, whole, block->m, block->n, block->batch, make, p);
    while (code == HALFTONE_OK && p->blocks > 1) {
        block->m = p->block_m;
        block->n = p->block_n;
        block->batch = p->block_batch;
        code = plan_part(h, whole, block->m, block->n, block->batch, make, p);
    }
    const int64_t m[] = {block->m, whole->m % block->m}, n[] = {block->n, whole->n % block->n},
                  batch[] = {block->batch, whole->batch % block->batch};
    for (int i = 1; i < 8 && code == HALFTONE_OK; i++) {
        struct plan end;
        if (m[i & 1] == 0 || n[i >> 1 & 1] == 0 || batch[i >> 2] == 0)
            continue;
        code = plan_part(h, whole, m[i & 1], n[i >> 1 & 1], batch[i >> 2], make, &end);
        p->bytes = code == HALFTONE_OK && end.bytes > p->bytes ? end.bytes : p->bytes;
    }
    return code;
}

/* Times of all blocks together. */
static void count_blocks(const struct plan_key *whole, const struct plan_key *block, struct plan *p) {
    p->block_m = block->m;
    p->block_n = block->n;
    p->block_batch = block->batch;
    p->blocks = ht_mul(ht_mul(ht_ceil_div(whole->m, block->m), ht_ceil_div(whole->n, block->n)),
                       ht_ceil_div(whole->batch, block->batch));
    p->kernel_ns = ht_mul(p->kernel_ns, p->blocks);
    p->pack_ns = ht_mul(p->pack_ns, p->blocks);
}

int ht_plan_within_limit(halftone *h, const struct plan_key *key, ht_planner *make, struct plan *p) {
    struct plan_key block = *key;
    int code = make(h, key, p);
    const int64_t whole = code == HALFTONE_OK ? p->bytes : 0;
    while (code == HALFTONE_OK && !fits(h, p) && key->a_entries > 0 && shrink(&block, p))
        code = make(h, &block, p);
    if (code == HALFTONE_OK && whole > 0 && (p->bytes == 0 || !fits(h, p))) { /* what needs none is not cut */
        struct plan other;
        h->without_workspace = true;
        if (make(h, key, &other) == HALFTONE_OK && other.bytes == 0) {
            *p = other;
            block = *key;
        }
        h->without_workspace = false;
    }
    if (code == HALFTONE_OK && !fits(h, p))
        return ht_fail(h, HALFTONE_WORKSPACE, "%lld bytes needed, %lld in the smallest blocks, and the limit is %lld",
                       (long long)whole, (long long)p->bytes, (long long)h->workspace_limit);
    if (code == HALFTONE_OK && (block.m < key->m || block.n < key->n || block.batch < key->batch))
        code = settle_blocks(h, key, make, &block, p);
    if (code == HALFTONE_OK)
        count_blocks(key, &block, p);
    return code;
}

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

int halftone_set_workspace_limit(halftone *handle, size_t bytes) {
    const int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    handle->workspace_limit = bytes > (size_t)INT64_MAX ? INT64_MAX : (int64_t)bytes;
    handle->accuracies++; /* plans were made for another limit */
    return HALFTONE_OK;
}

int halftone_get_workspace_limit(halftone *handle, size_t *bytes) {
    const int code = ht_begin(handle);
    if (code == HALFTONE_OK && bytes == NULL)
        return ht_fail(handle, -18, "the result is NULL");
    if (code == HALFTONE_OK)
        *bytes = (size_t)handle->workspace_limit;
    return code;
}
