/* ht_workspace.c: layouts of packed operands and of the workspace, and the three sources of its memory. */
#include "ht_call.h"

static struct packed_layout packed_layout_of(const struct ht_scheme_desc *s, int64_t rows, int64_t k,
                                             int64_t entries) {
    struct packed_layout o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    o.k = k;
    o.entries = entries;
    int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS);
    o.exchange_ints =
        s->scales == HT_SCALES_ROWS ? round_up(ht_exchange_ints(s, rows, k), HT_ATOM_ROWS) : 0;
    o.absmax_stride = ht_add(ht_scale_ints(s, rows, k), o.exchange_ints);
    o.panel_stride = ht_mul(ht_mul(row_blocks, ht_k_blocks(s, k)), HT_ATOM_BYTES);
    o.absmax_bytes = round_up(ht_mul(ht_mul(o.absmax_stride, (int64_t)sizeof(int)), entries), WS_ALIGNMENT);
    o.panel_bytes = round_up(ht_mul(o.panel_stride, entries), WS_ALIGNMENT);
    return o;
}

/* What packing with the certificate exchanges besides. */
static void widen_exchange(const struct ht_scheme_desc *s, struct packed_layout *o) {
    o->exchange_ints += o->exchange_ints > 0 ? round_up(ht_sum_ints(o->rows), HT_ATOM_ROWS) : 0;
    o->absmax_stride = ht_add(ht_scale_ints(s, o->rows, o->k), o->exchange_ints);
    o->absmax_bytes = round_up(ht_mul(ht_mul(o->absmax_stride, (int64_t)sizeof(int)), o->entries), WS_ALIGNMENT);
}

/* What the certificate adds to an operand of a call or, if is_kept, to one that the caller keeps and may
 * multiply with any other: there the matrix itself is needed as well. */
static void add_certificate(const struct ht_scheme_desc *s, bool is_kept, struct packed_layout *o) {
    const int64_t row_blocks = ht_ceil_div(o->rows, HT_ATOM_ROWS);
    widen_exchange(s, o);
    o->sums_stride = ht_row_sums_ints(o->rows);
    o->copy_stride = is_kept ? ht_mul(row_blocks * HT_ATOM_ROWS, ht_padded_k(s, o->k)) : 0;
    o->sums_bytes = round_up(ht_add(ht_mul(ht_mul(o->sums_stride, (int64_t)sizeof(int)), o->entries), FLAG_BYTES),
                             WS_ALIGNMENT);
    o->copy_bytes =
        round_up(ht_mul(ht_mul(o->copy_stride, (int64_t)sizeof(float)), o->entries), WS_ALIGNMENT);
}

/* The panels of a scheme that can be certified lie at one place, asked by name or by `auto`, whose operands serve both. */
struct packed_layout ht_operand_layout(const halftone *h, const struct ht_scheme_desc *s, int64_t rows,
                                       int64_t k) {
    struct packed_layout o = packed_layout_of(s, rows, k, 1);
    if (ht_has_check(h, s))
        add_certificate(s, true, &o);
    else if (ht_can_check(h->set, s))
        widen_exchange(s, &o);
    return o;
}

int64_t ht_layout_bytes(const struct packed_layout *o) {
    return ht_add(ht_add(ht_add(o->absmax_bytes, o->panel_bytes), ht_add(o->sums_bytes, o->copy_bytes)), o->count_bytes);
}

struct packed_place ht_place_in_block(const struct packed_layout *o, char *block) {
    struct packed_place at;
    memset(&at, 0, sizeof at);
    at.absmax = block;
    at.panels = at.absmax + o->absmax_bytes;
    if (o->sums_bytes > 0) {
        at.flag = at.row_sums = at.panels + o->panel_bytes;
        at.counts = at.row_sums + o->sums_bytes;
        at.copy = o->copy_bytes > 0 ? at.counts + o->count_bytes : NULL;
    }
    return at;
}

struct packed_place ht_place_in_workspace(const struct plan *p, char *workspace, int side) {
    struct packed_place at;
    memset(&at, 0, sizeof at);
    at.absmax = workspace + p->at[WS_A_ABSMAX + side];
    at.panels = workspace + p->at[WS_A_PANELS + side];
    if ((side == 0 ? &p->a : &p->b)->sums_bytes > 0) {
        at.flag = workspace + p->at[WS_FLAGS] + side * FLAG_BYTES;
        at.row_sums = workspace + p->at[WS_A_SUMS + side];
        at.counts = workspace + p->at[WS_A_COUNTS + side];
    }
    return at;
}

void ht_lay_out_operands(const halftone *h, const struct plan_key *key, struct plan *p) {
    if (ht_is_unpacked(h->set->kernel[p->kernel].family))
        return;
    p->a = packed_layout_of(p->scheme, key->m, key->k, key->a_entries);
    p->b = packed_layout_of(p->scheme, key->n, key->k, key->b_entries);
    p->k_blocks = (int)ht_k_blocks(p->scheme, key->k);
    if (!p->checked)
        return;
    add_certificate(p->scheme, false, &p->a);
    add_certificate(p->scheme, false, &p->b);
    p->failed_blocks = ht_mul(ht_mul(ht_ceil_div(key->m, HT_ATOM_ROWS), ht_ceil_div(key->n, HT_ATOM_ROWS)), grid_batch(key->batch));
    const int64_t entries = p->fallback != NO_KERNEL ? ht_failed_capacity(p->failed_blocks) : 0;
    p->failed_bytes = round_up(ht_add(ht_mul(p->failed_blocks, HT_FAILED_BYTES), entries * (int64_t)sizeof(int)), WS_ALIGNMENT);
}

struct step *ht_add_step(struct plan *p, enum step_kind kind, int kernel) {
    struct step *s = &p->step[p->steps++];
    s->kind = kind;
    s->kernel = kernel;
    return s;
}

struct step *ht_add_packing(struct plan *p, enum step_kind kind) {
    struct step *s = ht_add_step(p, kind, NO_KERNEL);
    s->needs[WS_A_ABSMAX] = p->a.absmax_bytes;
    s->needs[WS_B_ABSMAX] = p->b.absmax_bytes;
    s->needs[WS_A_PANELS] = p->a.panel_bytes;
    s->needs[WS_B_PANELS] = p->b.panel_bytes;
    s->needs[WS_A_SUMS] = p->a.sums_bytes;
    s->needs[WS_B_SUMS] = p->b.sums_bytes;
    return s;
}

/* Puts a region of the workspace behind the others. */
static int64_t ws_reserve(int64_t *end, int64_t bytes) {
    int64_t at = *end;
    *end = ht_add(at, bytes);
    return at;
}

int ht_lay_out_workspace(halftone *h, struct plan *p) {
    for (int region = 0; region < WS_REGIONS; region++) {
        int64_t most = 0;
        for (int i = 0; i < p->steps; i++)
            most = p->step[i].needs[region] > most ? p->step[i].needs[region] : most;
        p->at[region] = ws_reserve(&p->bytes, most);
    }
    return ht_check_bytes(h, p->bytes);
}

/* ---- memory ---- */

/* The caller's block. */
static int open_callers(halftone *h, size_t bytes, struct workspace *w) {
    if (h->user_bytes < bytes)
        return ht_fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu given", bytes, h->user_bytes);
    w->at = h->user;
    return HALFTONE_OK;
}

/* Stream-ordered memory: of the call alone, or of the graph that it is captured for. */
static int open_pool(halftone *h, size_t bytes, struct workspace *w) {
    void *memory = NULL;
    const int code = ht_fail_device(h, ht_dev_pool_alloc(h->pool, &memory, bytes, h->stream));
    w->at = (char *)memory;
    w->source = SOURCE_POOL;
    return code;
}

/* The handle's, which grows; in a capture, which forbids that, the pool serves. */
static int open_handles(halftone *h, size_t bytes, struct workspace *w) {
    const int code = ht_own_workspace(h, bytes, &w->at);
    if (code != HALFTONE_OK || w->at != NULL)
        return code;
    if (h->device.has_pool && h->capture == CAPTURE_ACTIVE)
        return open_pool(h, bytes, w);
    return ht_fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, the handle keeps fewer for this stream, and %s",
                   bytes,
                   h->capture == CAPTURE_ELSEWHERE
                       ? "the capture of another stream forbids the null stream's use"
                       : "the stream is being captured on a device without stream-ordered memory");
}

static int close_kept(halftone *h, struct workspace *w) {
    (void)h, (void)w;
    return HALFTONE_OK;
}

static int close_pool(halftone *h, struct workspace *w) {
    return ht_fail_device(h, ht_dev_pool_free(w->at, h->stream));
}

/* By enum ws_source. A call opens the source that the handle is set to, and closes what it got. */
static const struct {
    int (*open)(halftone *h, size_t bytes, struct workspace *w);
    int (*close)(halftone *h, struct workspace *w);
} sources[] = {{open_handles, close_kept}, {open_pool, close_pool}, {open_callers, close_kept}};

enum ws_source ht_workspace_source(const halftone *h) {
    return h->has_user ? SOURCE_CALLER : h->own_source;
}

int ht_open_workspace(halftone *h, size_t bytes, struct workspace *w) {
    if (h->of_blocks.at != NULL) {
        *w = h->of_blocks;
        w->is_shared = true;
        return HALFTONE_OK;
    }
    w->source = ht_workspace_source(h);
    w->at = NULL;
    w->is_shared = false;
    return bytes == 0 ? HALFTONE_OK : sources[w->source].open(h, bytes, w);
}

int ht_close_workspace(halftone *h, struct workspace *w, int code) {
    if (w->at == NULL || w->is_shared)
        return code;
    if (code == HALFTONE_OK)
        return sources[w->source].close(h, w);
    char detail[DETAIL_MAX]; /* of what failed first */
    memcpy(detail, h->detail, sizeof detail);
    (void)sources[w->source].close(h, w);
    memcpy(h->detail, detail, sizeof detail);
    return code;
}
