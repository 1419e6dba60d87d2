/* ht_workspace.c: layouts of packed operands and of the workspace, and the handle's own device memory. */
#include "ht_call.h"

#include <stdlib.h>

static struct packed_layout packed_layout_of(const struct ht_scheme_desc *s, int64_t rows, int64_t k,
                                             int64_t entries) {
    struct packed_layout o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    o.k = k;
    o.entries = entries;
    int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS);
    o.exchange_ints = s->scales_rows ? round_up(ht_meeting_ints(s, rows, k), HT_ATOM_ROWS) : 0;
    o.absmax_stride = s->scales_rows ? ht_add(row_blocks * HT_ATOM_ROWS, o.exchange_ints) : 0;
    o.panel_stride = ht_mul(ht_mul(row_blocks, ht_k_blocks(s, k)), HT_ATOM_BYTES);
    o.absmax_bytes = round_up(ht_mul(ht_mul(o.absmax_stride, (int64_t)sizeof(int)), entries), WS_ALIGNMENT);
    o.panel_bytes = round_up(ht_mul(o.panel_stride, entries), WS_ALIGNMENT);
    return o;
}

/* What the data check adds to an operand of a call or, if is_kept, to one that the caller keeps and may
 * multiply with any other: there the matrix itself is needed as well. */
static void add_range_check(const struct ht_scheme_desc *s, int tiles, bool is_kept,
                            struct packed_layout *o) {
    const int64_t row_blocks = ht_ceil_div(o->rows, HT_ATOM_ROWS);
    o->range_stride = ht_mul(row_blocks, ht_checked_pieces(s, tiles, o->k) * ht_checked_parts(tiles));
    o->copy_stride = is_kept ? ht_mul(row_blocks * HT_ATOM_ROWS, ht_padded_k(s, o->k)) : 0;
    o->range_bytes = round_up(
        ht_add(ht_mul(ht_mul(o->range_stride, (int64_t)sizeof(int)), o->entries), FLAG_BYTES), WS_ALIGNMENT);
    o->copy_bytes =
        round_up(ht_mul(ht_mul(o->copy_stride, (int64_t)sizeof(float)), o->entries), WS_ALIGNMENT);
}

struct packed_layout ht_operand_layout(const halftone *h, const struct ht_scheme_desc *s, int64_t rows,
                                       int64_t k) {
    struct packed_layout o = packed_layout_of(s, rows, k, 1);
    if (ht_has_check(h, s))
        add_range_check(s, ht_checked_tiles(s, h->set->sms, k), true, &o);
    return o;
}

int64_t ht_layout_bytes(const struct packed_layout *o) {
    return ht_add(ht_add(o->absmax_bytes, o->panel_bytes), ht_add(o->range_bytes, o->copy_bytes));
}

struct packed_place ht_place_in_block(const struct packed_layout *o, char *block) {
    struct packed_place at;
    memset(&at, 0, sizeof at);
    at.absmax = block;
    at.panels = at.absmax + o->absmax_bytes;
    if (o->range_bytes > 0) {
        at.flag = at.range_counts = at.panels + o->panel_bytes;
        at.copy = at.range_counts + o->range_bytes;
    }
    return at;
}

struct packed_place ht_place_in_workspace(const struct plan *p, char *workspace, int side) {
    struct packed_place at;
    memset(&at, 0, sizeof at);
    at.absmax = workspace + p->at[WS_A_ABSMAX + side];
    at.panels = workspace + p->at[WS_A_PANELS + side];
    if (p->checked) {
        at.flag = workspace + p->at[WS_FLAGS] + side * FLAG_BYTES;
        at.range_counts = workspace + p->at[WS_A_RANGE + side];
    }
    return at;
}

/* Operands that were packed apart do not know of each other. */
static int checked_tiles(const halftone *h, const struct plan *p, int64_t k) {
    const int64_t a = ht_mul(ht_ceil_div(p->a.rows, HT_ATOM_ROWS), p->a.entries);
    const int64_t b = ht_mul(ht_ceil_div(p->b.rows, HT_ATOM_ROWS), p->b.entries);
    return a > 0 && b > 0 ? ht_checked_call_tiles(p->scheme, h->set->sms, ht_add(a, b), k)
                          : ht_checked_tiles(p->scheme, h->set->sms, k);
}

void ht_lay_out_operands(const halftone *h, const struct plan_key *key, struct plan *p) {
    if (h->set->kernel[p->kernel].direct)
        return;
    p->a = packed_layout_of(p->scheme, key->m, key->k, key->a_entries);
    p->b = packed_layout_of(p->scheme, key->n, key->k, key->b_entries);
    p->k_blocks = (int)ht_k_blocks(p->scheme, key->k);
    if (!p->checked)
        return;
    p->tiles = checked_tiles(h, p, key->k);
    add_range_check(p->scheme, p->tiles, false, &p->a);
    add_range_check(p->scheme, p->tiles, false, &p->b);
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

/* The handle's own exchange block grows up to this: two square operands of n = 16384. Larger ones use the
 * workspace. */
enum { EXCHANGE_BYTES_MAX = 34 << 20, EXCHANGE_UNIT = 1 << 20 };

int ht_look_at_stream(halftone *h) {
    int capturing = 0;
    const int code = ht_fail_device(h, ht_dev_is_capturing(h->stream, &capturing));
    h->capturing = capturing != 0;
    return code;
}

/* Keeps a block that a graph may still write until the handle is destroyed. */
static int retire(halftone *h, void *block) {
    void **const longer = (void **)realloc(h->retired, (h->retired_count + 1) * sizeof *longer);
    if (longer == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    h->retired = longer;
    h->retired[h->retired_count++] = block;
    return HALFTONE_OK;
}

/* The stream may still be using the block. */
static int release_own(halftone *h) {
    int code = HALFTONE_OK;
    if (h->own_captured)
        code = retire(h, h->own);
    else if (h->own != NULL)
        code = ht_fail_device(h, ht_dev_stream_sync(h->stream));
    if (code != HALFTONE_OK)
        return code;
    code = h->own_captured ? HALFTONE_OK : ht_fail_device(h, ht_dev_free(h->own));
    h->own = NULL;
    h->own_bytes = 0;
    h->own_captured = false;
    return code;
}

static int grow_own(halftone *h, size_t bytes) {
    if (h->capturing)
        return ht_fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu there, and the stream is being captured",
                       bytes, h->own_bytes);
    int code = release_own(h);
    if (code != HALFTONE_OK)
        return code;
    void *memory = NULL;
    code = ht_fail_device(h, ht_dev_alloc(&memory, bytes));
    if (code != HALFTONE_OK)
        return code;
    h->own = (char *)memory;
    h->own_bytes = bytes;
    /* the product reads flags that packing may not have raised: any value will do, but a sanitizer asks
     * for one */
    return ht_fail_device(h, ht_dev_memset_async(memory, 0, WS_ALIGNMENT, h->stream));
}

int ht_get_workspace(halftone *h, size_t bytes, char **workspace) {
    *workspace = NULL;
    if (bytes == 0)
        return HALFTONE_OK;
    if (h->has_user) {
        if (h->user_bytes < bytes)
            return ht_fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu given", bytes, h->user_bytes);
        *workspace = h->user;
        return HALFTONE_OK;
    }
    int code = ht_look_at_stream(h);
    if (code == HALFTONE_OK && h->own_bytes < bytes)
        code = grow_own(h, bytes);
    h->own_captured = h->own_captured || (code == HALFTONE_OK && h->capturing);
    *workspace = h->own;
    return code;
}

/* ---- where packing blocks exchange absmax ---- */

/* Earlier calls may still use the old one, and graphs always. */
static bool grow_exchange(halftone *h, size_t bytes) {
    void *memory = NULL;
    if (ht_dev_stream_sync(h->stream) != HT_DEV_OK || ht_dev_alloc(&memory, bytes) != HT_DEV_OK)
        return false;
    if (h->exchange_captured && retire(h, h->exchange) != HALFTONE_OK) {
        (void)ht_dev_free(memory);
        return false;
    }
    const int freed = h->exchange_captured ? HT_DEV_OK : ht_dev_free(h->exchange);
    h->exchange = (int *)memory;
    h->exchange_bytes = bytes;
    h->exchange_is_reset = h->exchange_captured = false;
    return freed == HT_DEV_OK;
}

/* Whether the handle's own block is reset and large enough; false: use the workspace. A workspace of the
 * user's means that calls of one handle may run in several streams at once, which must not exchange with
 * each other. */
static bool ensure_exchange(halftone *h, int64_t bytes) {
    const bool fits = (int64_t)h->exchange_bytes >= bytes;
    if (h->has_user || bytes > EXCHANGE_BYTES_MAX)
        return false;
    if (h->capturing) { /* nothing may grow, and a graph would reset it later, and again */
        h->exchange_captured = h->exchange_captured || (fits && h->exchange_is_reset);
        return fits && h->exchange_is_reset;
    }
    if (!fits && !grow_exchange(h, (size_t)round_up(bytes, EXCHANGE_UNIT)))
        return false;
    if (!h->exchange_is_reset)
        h->exchange_is_reset =
            ht_dev_memset_async(h->exchange, 0xff, h->exchange_bytes, h->stream) == HT_DEV_OK;
    return h->exchange_is_reset;
}

void ht_attach_exchange(halftone *h, const struct pack_source *x, struct ht_pack_args *args, int count) {
    int64_t ints = 0;
    for (int i = 0; i < count; i++)
        ints = ht_add(ints, ht_mul(x[i].layout->exchange_ints, args[i].batch));
    if (args[0].meeting == NULL || (ints > 0 && !ensure_exchange(h, ht_mul(ints, (int64_t)sizeof(int)))))
        return;
    for (int i = 0; i < count; i++)
        args[i].meeting_clean = 1;
    for (int i = 0, at = 0; ints > 0 && i < count; i++) {
        args[i].meeting = h->exchange + at;
        args[i].meeting_stride = x[i].layout->exchange_ints;
        at += (int)x[i].layout->exchange_ints * args[i].batch;
    }
}

int ht_free_memory(halftone *h) {
    void *const blocks[] = {h->own, h->exchange};
    const bool has_blocks = h->own != NULL || h->exchange != NULL || h->retired_count > 0;
    int code = has_blocks ? ht_fail_device(h, ht_dev_stream_sync(h->stream)) : HALFTONE_OK;
    for (size_t i = 0; i < 2 + h->retired_count; i++) {
        int freed = ht_fail_device(h, ht_dev_free(i < 2 ? blocks[i] : h->retired[i - 2]));
        code = code != HALFTONE_OK ? code : freed;
    }
    free(h->retired);
    return code;
}
