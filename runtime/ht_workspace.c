/* ht_workspace.c: where parts of packed operands and regions of a call's workspace lie, and the three
 * sources of its memory. */
#include "ht_call.h"

int64_t ht_layout_bytes(const struct packed_layout *o) {
    return ht_add(ht_add(ht_add(o->absmax_bytes, o->panel_bytes), ht_add(o->sums_bytes, o->copy_bytes)),
                  o->count_bytes);
}

struct packed_place ht_place_in_block(const struct packed_layout *o, char *block) {
    struct packed_place at = HT_ZERO;
    at.absmax = block;
    at.panels = at.absmax + o->absmax_bytes;
    if (o->sums_bytes > 0) {
        at.flag = at.row_sums = at.panels + o->panel_bytes;
        at.counts = at.row_sums + o->sums_bytes;
        at.copy = o->copy_bytes > 0 ? at.counts + o->count_bytes : NULL;
    }
    return at;
}

static struct packed_place place_in_workspace(const struct call *c, int side) {
    struct packed_place at = HT_ZERO;
    at.absmax = region_of(c, WS_ABSMAX + side);
    at.panels = region_of(c, WS_PANELS + side);
    if (c->plan->layout[side].sums_bytes > 0) {
        at.flag = region_of(c, WS_FLAGS) + side * FLAG_BYTES;
        at.row_sums = region_of(c, WS_SUMS + side);
        at.counts = region_of(c, WS_COUNTS + side);
    }
    return at;
}

struct ht_view ht_view_of(const struct call *c, int side, int64_t entry) {
    const struct call_operand *const of = &c->of[side];
    struct ht_view view = {
        of->src, of->ld, of->stride, (int)rows_of(c, side), (int)c->k, k_contiguous(c, side)};
    if (c->narrow != 0) {
        view.ld = wide_ld(c, side);
        view.stride = of->stride == 0 ? 0 : view.ld * stored_cols(c, side);
        view.src = region_of(c, WS_WIDE + side) + entry * view.stride * (int64_t)sizeof(float);
    } else if (of->src != NULL) /* there is none where k is 0, or panels are all that is read */
        view.src = (const char *)of->src + entry * of->stride * (int64_t)element_bytes(c);
    return view;
}

static struct ht_scalar scalar_to(const struct call *c, const void *scalar) {
    struct ht_scalar to = HT_ZERO;
    if (c->h->pointer_mode == HALFTONE_DEVICE)
        to.at = scalar;
    else if (c->is_fp64)
        to.f64 = scalar_of(c, scalar);
    else
        to.f32 = *(const float *)scalar;
    return to;
}

struct ht_result ht_result_of(const struct call *c, int64_t entry) {
    const struct ht_result to = {(char *)c->c + entry * c->stride_c * (int64_t)element_bytes(c), c->ldc,
                                 c->stride_c, scalar_to(c, c->alpha), scalar_to(c, c->beta)};
    return to;
}

struct ht_crt_counts ht_counts_of(const struct call *c, int64_t entry) {
    const struct plan *const p = c->plan;
    struct ht_crt_counts counts = HT_ZERO;
    if (!p->checked)
        return counts;
    counts.a_stride = p->layout[0].entries > 1 ? p->layout[0].count_stride : 0;
    counts.b_stride = p->layout[1].entries > 1 ? p->layout[1].count_stride : 0;
    counts.a = (int *)(void *)c->of[0].place.counts + entry * counts.a_stride;
    counts.b = (int *)(void *)c->of[1].place.counts + entry * counts.b_stride;
    counts.needed = p->certificate.needed;
    counts.second = p->is_second;
    return counts;
}

int64_t ht_failed_blocks(const struct call *c) {
    return ht_mul(ht_ceil_div(c->m, HT_ATOM_ROWS), ht_ceil_div(c->n, HT_ATOM_ROWS));
}

int64_t ht_failed_words(const struct call *c) {
    return ht_mul(ht_failed_blocks(c), HT_FAILED_BYTES / (int64_t)sizeof(unsigned));
}

/* How many are left of each of the batch, then bits. */
struct ht_crt_failed ht_failed_of(const struct call *c, int64_t entry) {
    const struct plan *const p = c->plan;
    char *const at = region_of(c, WS_FAILED);
    struct ht_crt_failed x = HT_ZERO;
    if (p->second.scheme == NULL)
        return x;
    x.stride = ht_failed_words(c);
    x.left = p->splits == 1 ? (long long *)(void *)at + entry : NULL;
    x.bits = (unsigned *)(void *)(at + region_bytes(c->batch, sizeof(long long))) + entry * x.stride;
    x.most = p->second.most;
    x.factor = p->second.factor;
    return x;
}

struct step *ht_add_step(struct plan *p, const struct step_kind *kind, int kernel) {
    struct step *s = &p->step[p->steps++];
    s->kind = kind;
    s->kernel = kernel;
    return s;
}

struct step *ht_add_packing(struct plan *p, const struct step_kind *kind, int kernel) {
    struct step *s = ht_add_step(p, kind, kernel);
    for (int side = 0; side < 2; side++) {
        s->needs[WS_ABSMAX + side] = p->layout[side].absmax_bytes;
        s->needs[WS_PANELS + side] = p->layout[side].panel_bytes;
        s->needs[WS_SUMS + side] = p->layout[side].sums_bytes;
    }
    return s;
}

int ht_lay_out_workspace(halftone *h, struct plan *p) {
    for (int region = 0; region < WS_REGIONS; region++) {
        int64_t most = 0;
        for (int i = 0; i < p->steps; i++)
            most = p->step[i].needs[region] > most ? p->step[i].needs[region] : most;
        p->at[region] = p->bytes;
        p->bytes = ht_add(p->bytes, most);
    }
    return ht_check_bytes(h, p->bytes);
}

/* ---- memory ---- */

/* From the source that it says. The pool's is stream-ordered: of the call alone, or of the graph that it is
 * captured for. */
static int open_source(halftone *h, size_t bytes, struct workspace *w) {
    if (w->source == SOURCE_CALLER && h->user_bytes < bytes)
        return ht_fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu given", bytes, h->user_bytes);
    if (w->source == SOURCE_CALLER) {
        w->at = h->user;
        return HALFTONE_OK;
    }
    if (w->source == SOURCE_HANDLE) {
        const int code = ht_own_workspace(h, bytes, &w->at);
        if (code != HALFTONE_OK || w->at != NULL)
            return code;
        if (!h->device.has_pool ||
            h->capture != CAPTURE_ACTIVE) /* else it serves where the block may not grow */
            return ht_fail(h, HALFTONE_WORKSPACE,
                           "%zu bytes needed, the handle keeps fewer for this stream, and %s", bytes,
                           h->capture == CAPTURE_ELSEWHERE
                               ? "the capture of another stream forbids the null stream's use"
                               : "the stream is being captured on a device without stream-ordered memory");
    }
    void *memory = NULL;
    const int code = ht_fail_device(h, ht_dev_pool_alloc(h->pool, &memory, bytes, h->stream));
    w->at = (char *)memory;
    w->source = SOURCE_POOL;
    return code;
}

enum ws_source ht_workspace_source(const halftone *h) {
    return h->has_user ? SOURCE_CALLER : h->own_source;
}

int ht_open_workspace(struct call *c) {
    struct workspace *const w = &c->workspace;
    w->source = ht_workspace_source(c->h);
    w->at = NULL;
    w->is_shared = false;
    if (c->outer != NULL && c->outer->at != NULL) {
        *w = *c->outer;
        w->is_shared = true;
    } else if (c->plan->bytes > 0) {
        const int code = open_source(c->h, (size_t)c->plan->bytes, w);
        if (code != HALFTONE_OK)
            return code;
    }
    for (int side = 0; side < 2 && w->at != NULL && !c->is_packed; side++)
        c->of[side].place = place_in_workspace(c, side);
    return HALFTONE_OK;
}

int ht_close_workspace(struct call *c, int code) {
    halftone *const h = c->h;
    if (c->workspace.at == NULL || c->workspace.is_shared || c->workspace.source != SOURCE_POOL)
        return code;
    char detail[DETAIL_MAX]; /* of what failed first */
    memcpy(detail, h->detail, sizeof detail);
    const int closed = ht_fail_device(h, ht_dev_pool_free(c->workspace.at, h->stream));
    if (code == HALFTONE_OK)
        return closed;
    memcpy(h->detail, detail, sizeof detail);
    return code;
}
