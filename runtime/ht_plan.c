/* ht_plan.c: the plan of a call: what a handle remembers, and a limit of the workspace. Calls that need
 * more are cut into blocks of the batch, of rows and of columns, each a call of its own: ht_product.c.
 * Nothing else changes: a block's plan is that of a call of its size. Schemes of residues pack less k at
 * once as well: residues of all k add up, so that the bits stay. */
#include "ht_call.h"

/* Blocks of rows and columns are halved down to this; multiples of it but for what is left at the end. */
static const int64_t LEAST_BLOCK = 256;

/* The same of k that residues are packed of at once; rows of an atom, below which blocks take no less; k
 * so long that launches and additions of residues count little beside their products. */
enum { LEAST_K = 2 * HT_CRT_SEGMENT, LEAST_ROWS = HT_ATOM_ROWS, LONG_K = 2048 };

/* At most `least` stays. */
static bool halve(int64_t *size, int64_t least, int64_t unit) {
    if (*size <= least)
        return false;
    *size = round_up(ht_ceil_div(*size, 2), unit);
    return true;
}

static bool halve_k(struct call *block, const struct plan *p, int64_t least) {
    int64_t part = p->k_part;
    if (!halve(&part, least, LEAST_K)) /* 0: the scheme cannot cut k */
        return false;
    block->k_part = part;
    return true;
}

/* The next smaller block than that of plan `p`; false: there is none. Packing k in parts costs additions
 * of residues, smaller blocks of rows and columns pack operands again. */
static bool shrink(struct call *block, const struct plan *p) {
    if (block->batch > 1) {
        block->batch = ht_ceil_div(block->batch, 2);
        return true;
    }
    int64_t *const larger = block->m > block->n ? &block->m : &block->n;
    const bool panels_weigh = ht_add(p->layout[0].panel_bytes, p->layout[1].panel_bytes) > p->plane_stride;
    if ((panels_weigh && halve_k(block, p, LONG_K)) || halve(larger, LEAST_BLOCK, LEAST_BLOCK) ||
        halve_k(block, p, LEAST_K))
        return true;
    return p->k_part > 0 && halve(larger, LEAST_ROWS, LEAST_ROWS);
}

/* By enum ht_recipe. */
static int (*const lay_out[HT_RECIPES])(const struct call *c, struct plan *p) = {
    ht_lay_out_slices,   ht_lay_out_slices,   ht_lay_out_native64,
    ht_lay_out_residues, ht_lay_out_residues, ht_lay_out_ozaki};

static int make_plan(const struct call *c, struct plan *p) {
    int code = ht_select(c, p);
    if (code == HALFTONE_OK && c->narrow != 0)
        ht_add_widening(c, p);
    return AND_THEN(code, lay_out[p->set->kernel[p->kernel].recipe](c, p));
}

static bool fits(const halftone *h, const struct plan *p) {
    return h->workspace_limit == 0 || p->bytes <= h->workspace_limit;
}

static int plan_within_limit(const struct call *c, struct plan *p);

/* The plan of so much of a call as one of its own, which blocks are. */
static int plan_part(const struct call *whole, int64_t m, int64_t n, int64_t batch, struct plan *p) {
    struct call part = *whole;
    part.m = m;
    part.n = n;
    part.batch = batch;
    return plan_within_limit(&part, p);
}

/* Blocks have plans of their own, and so has what is left at the ends, which may run another scheme or
 * pack more of k at once: all of them must do with the workspace that p names. A block that would be cut
 * again is cut so at once. */
static int settle_blocks(const struct call *whole, struct call *block, struct plan *p) {
    int code = plan_part(whole, block->m, block->n, block->batch, p);
    while (code == HALFTONE_OK && p->blocks > 1) {
        block->m = p->block_m;
        block->n = p->block_n;
        block->batch = p->block_batch;
        code = plan_part(whole, block->m, block->n, block->batch, p);
    }
    const int64_t m[] = {block->m, whole->m % block->m}, n[] = {block->n, whole->n % block->n},
                  batch[] = {block->batch, whole->batch % block->batch};
    for (int i = 1; i < 8 && code == HALFTONE_OK; i++) {
        struct plan end;
        if (m[i & 1] == 0 || n[i >> 1 & 1] == 0 || batch[i >> 2] == 0)
            continue;
        code = plan_part(whole, m[i & 1], n[i >> 1 & 1], batch[i >> 2], &end);
        p->bytes = code == HALFTONE_OK && end.bytes > p->bytes ? end.bytes : p->bytes;
    }
    return code;
}

/* Times of all blocks together. */
static void count_blocks(const struct call *whole, const struct call *block, struct plan *p) {
    p->block_m = block->m;
    p->block_n = block->n;
    p->block_batch = block->batch;
    p->blocks = ht_mul(ht_mul(ht_ceil_div(whole->m, block->m), ht_ceil_div(whole->n, block->n)),
                       ht_ceil_div(whole->batch, block->batch));
    p->kernel_ns = ht_mul(p->kernel_ns, p->blocks);
    p->pack_ns = ht_mul(p->pack_ns, p->blocks);
}

/* The plan of a call that needs no more than the handle's limit, or of the blocks of which it then
 * consists. */
static int plan_within_limit(const struct call *c, struct plan *p) {
    halftone *const h = c->h;
    struct call block = *c;
    int code = make_plan(c, p);
    const int64_t whole = code == HALFTONE_OK ? p->bytes : 0;
    while (code == HALFTONE_OK && !fits(h, p) && !c->is_packed && shrink(&block, p))
        code = make_plan(&block, p);
    if (code == HALFTONE_OK && whole > 0 && (p->bytes == 0 || !fits(h, p))) { /* what needs none is not cut */
        struct plan other;
        struct call without = *c;
        without.without_workspace = true;
        if (make_plan(&without, &other) == HALFTONE_OK && other.bytes == 0) {
            *p = other;
            block = *c;
        }
    }
    if (code == HALFTONE_OK && !fits(h, p))
        return ht_fail(h, HALFTONE_WORKSPACE,
                       "%lld bytes needed, %lld in the smallest blocks, and the limit is %lld",
                       (long long)whole, (long long)p->bytes, (long long)h->workspace_limit);
    if (code == HALFTONE_OK && (block.m < c->m || block.n < c->n || block.batch < c->batch))
        code = settle_blocks(c, &block, p);
    if (code == HALFTONE_OK)
        count_blocks(c, &block, p);
    return code;
}

static void key_of(const struct call *c, struct plan_key *key) {
    memset(key, 0, sizeof *key); /* padding too */
    key->is_fp64 = c->is_fp64;
    key->of_floats = c->of_floats;
    key->is_narrow = c->narrow != 0;
    key->m = c->m;
    key->n = c->n;
    key->k = c->k;
    key->batch = c->batch;
    key->a_entries = entries_of(c, 0);
    key->b_entries = entries_of(c, 1);
    key->scheme = c->asked->scheme;
    key->forced = c->half->forced;
    key->is_auto = c->asked->is_auto;
    key->epoch = c->h->epoch;
    key->site = c->site;
    key->recompute = c->h->recompute;
    key->lines[0] = lies_along_k(c, 0);
    key->lines[1] = lies_along_k(c, 1);
}

int ht_plan_call(const struct call *c, const struct plan **plan) {
    halftone *const h = c->h;
    struct plan_key now;
    key_of(c, &now);
    const int slot = slot_of(&now, sizeof now, PLANS);
    *plan = &h->remembered[slot].plan;
    if (memcmp(&now, &h->remembered[slot].key, sizeof now) == 0)
        return HALFTONE_OK;
    h->remembered[slot].key.m = 0;
    const int code = plan_within_limit(c, &h->remembered[slot].plan);
    if (code == HALFTONE_OK)
        memcpy(&h->remembered[slot].key, &now, sizeof now);
    return code;
}
