/* ht_context.c: the handle's own device memory, which belongs to one stream each: contexts, and what
 * becomes of blocks that are outgrown. */
#include "ht_call.h"

#include <stdlib.h>

int ht_ask_capture(halftone *h) {
    int capturing = 0;
    if (h->capture != CAPTURE_NOT_ASKED)
        return HALFTONE_OK;
    const int code = ht_fail_device(h, ht_dev_is_capturing(h->stream, &capturing));
    if (code == HALFTONE_OK)
        h->capture = capturing == 0 ? CAPTURE_NONE : capturing == 1 ? CAPTURE_ACTIVE : CAPTURE_ELSEWHERE;
    return code;
}

/* ---- blocks ---- */

/* Room for one more block that is kept for graphs. */
static int reserve_retired(halftone *h) {
    void **const longer = (void **)realloc(h->retired, (h->retired_count + 1) * sizeof *longer);
    if (longer == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    h->retired = longer;
    return HALFTONE_OK;
}

static void retire(halftone *h, struct own_block *b) {
    h->retired[h->retired_count++] = b->at;
    h->retired_bytes += b->bytes;
    b->outgrown += b->bytes;
    b->at = NULL;
    b->bytes = 0;
    b->in_graph = b->is_reset = false;
}

static int allocate(halftone *h, size_t bytes, struct own_block *b) {
    void *memory = NULL;
    const int code = ht_fail_device(h, ht_dev_alloc(&memory, bytes));
    if (code != HALFTONE_OK)
        return code;
    b->at = (char *)memory;
    b->bytes = bytes;
    return HALFTONE_OK;
}

/* A block that a graph may hold stays as it is until there is another. Blocks kept so are never more than
 * the one in use: it is at least as large as they are together, unless the device has no room for that. */
static int replace(halftone *h, struct own_block *b, size_t bytes) {
    const size_t kept = b->outgrown + b->bytes;
    struct own_block larger = *b;
    int code = reserve_retired(h);
    AND_THEN(code, allocate(h, bytes > kept ? bytes : kept, &larger));
    if (code == HALFTONE_OUT_OF_DEVICE_MEMORY && bytes < kept)
        code = allocate(h, bytes, &larger);
    if (code != HALFTONE_OK)
        return code;
    retire(h, b);
    b->at = larger.at;
    b->bytes = larger.bytes;
    return HALFTONE_OK;
}

/* The stream may still be using the block. */
static int free_block(halftone *h, struct own_block *b) {
    if (b->at == NULL)
        return HALFTONE_OK;
    int code = ht_fail_device(h, ht_dev_stream_sync(h->stream));
    if (code != HALFTONE_OK)
        return code;
    code = ht_fail_device(h, ht_dev_free(b->at));
    b->at = NULL;
    b->bytes = 0;
    return code;
}

static int grow(halftone *h, struct own_block *b, size_t bytes) {
    int code = HALFTONE_OK;
    if (b->in_graph) {
        code = replace(h, b, bytes);
    } else {
        code = free_block(h, b);
        AND_THEN(code, allocate(h, bytes, b));
    }
    if (code == HALFTONE_OUT_OF_DEVICE_MEMORY && h->retired_bytes > 0) {
        const size_t used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used,
                 "; the handle keeps %zu bytes that it has outgrown, for graphs: see halftone_trim",
                 h->retired_bytes);
    }
    return code;
}

/* Called for each use. Whether the stream is captured matters when the block changes hands: where the
 * handle is used on one stream, that is when it is outgrown, and instead of asking in each call the block
 * is kept then. */
static int note_use(halftone *h, struct own_block *b) {
    if (b->in_graph)
        return HALFTONE_OK;
    if (h->capture == CAPTURE_NOT_ASKED && h->contexts == 1) {
        b->in_graph = true;
        return HALFTONE_OK;
    }
    const int code = ht_ask_capture(h);
    b->in_graph = code == HALFTONE_OK && h->capture != CAPTURE_NONE;
    return code;
}

/* ---- contexts ---- */

/* Gives the context that was used least recently to the present stream, when all its work is done: its own
 * stream may be gone. What graphs may hold does not go along. */
static int take_over(halftone *h, struct context *c) {
    int code = ht_fail_device(h, ht_dev_sync());
    for (int i = 0; i < OWN_BLOCKS; i++) {
        if (code == HALFTONE_OK && c->block[i].in_graph && (code = reserve_retired(h)) == HALFTONE_OK)
            retire(h, &c->block[i]);
    }
    if (code != HALFTONE_OK)
        return code;
    c->block[OWN_WORKSPACE].outgrown = c->block[OWN_EXCHANGE].outgrown = 0;
    c->stream = h->stream;
    return HALFTONE_OK;
}

/* The context of the handle's stream. NULL: the table is full, and in a capture nobody can wait for
 * another stream. */
static int find_context(halftone *h, struct context **found) {
    struct context *c = NULL, *oldest = h->context;
    int code = HALFTONE_OK;
    for (int i = 0; i < h->contexts; i++) {
        if (h->context[i].stream == h->stream)
            c = &h->context[i];
        if (h->context[i].last_use < oldest->last_use)
            oldest = &h->context[i];
    }
    if (c == NULL && h->contexts < CONTEXTS) {
        c = &h->context[h->contexts++];
        c->stream = h->stream;
    } else if (c == NULL && (code = ht_ask_capture(h)) == HALFTONE_OK && h->capture == CAPTURE_NONE) {
        c = oldest;
        code = take_over(h, c);
    }
    if (code == HALFTONE_OK && c != NULL)
        c->last_use = ++h->uses;
    *found = code == HALFTONE_OK ? c : NULL;
    return code;
}

/* The present stream's block, with what its users expect in it; *found NULL with success: it would have to
 * grow or to be written, which a graph would do later, and again. */
static int take_block(halftone *h, enum own_kind kind, size_t bytes, struct own_block **found) {
    struct context *c = NULL;
    *found = NULL;
    int code = find_context(h, &c);
    if (code != HALFTONE_OK || c == NULL)
        return code;
    struct own_block *const b = &c->block[kind];
    if (b->bytes < bytes || !b->is_reset) {
        code = ht_ask_capture(h);
        if (code != HALFTONE_OK || h->capture != CAPTURE_NONE)
            return code;
        if (b->bytes < bytes)
            code = grow(h, b, bytes);
        AND_THEN(code, kind == OWN_WORKSPACE
                           ? ht_begin_flags(h, b->at, WS_ALIGNMENT)
                           : ht_fail_device(h, ht_dev_memset_async(b->at, 0xff, b->bytes, h->stream)));
        b->is_reset = code == HALFTONE_OK;
    }
    if (AND_THEN(code, note_use(h, b)) == HALFTONE_OK)
        *found = b;
    return code;
}

int ht_begin_flags(halftone *h, char *at, size_t bytes) {
    return ht_fail_device(h, ht_dev_memset_async(at, 0, bytes, h->stream));
}

int ht_own_workspace(halftone *h, size_t bytes, char **at) {
    struct own_block *b = NULL;
    const int code = take_block(h, OWN_WORKSPACE, bytes, &b);
    *at = b != NULL ? b->at : NULL;
    return code;
}

/* ---- where packing blocks exchange absmax ---- */

/* A context's exchange grows up to this: two square operands of n = 16384. Larger ones use the workspace. */
enum { EXCHANGE_BYTES_MAX = 34 << 20, EXCHANGE_UNIT = 1 << 20 };

struct own_block *ht_attach_exchange(halftone *h, const struct pack_side *x, struct ht_pack_args *args,
                                     int count) {
    struct own_block *b = NULL;
    int64_t ints = 0;
    for (int i = 0; i < count; i++)
        ints = ht_add(ints, ht_mul(x[i].layout->exchange_ints, args[i].batch));
    if (args[0].absmax_exchange == NULL || ints > EXCHANGE_BYTES_MAX / (int64_t)sizeof(int))
        return NULL;
    if (ints > 0) {
        const int64_t bytes = round_up(ints * (int64_t)sizeof(int), EXCHANGE_UNIT);
        if (take_block(h, OWN_EXCHANGE, (size_t)bytes, &b) != HALFTONE_OK)
            h->detail[0] = '\0'; /* the call goes on without */
        if (b == NULL)
            return NULL;
    }
    for (int i = 0; i < count; i++)
        args[i].exchange_is_reset = 1;
    for (int i = 0, at = 0; ints > 0 && i < count; i++) {
        args[i].absmax_exchange = (int *)(void *)b->at + at;
        args[i].exchange_stride = x[i].layout->exchange_ints;
        at += (int)x[i].layout->exchange_ints * args[i].batch;
    }
    return b;
}

/* ---- the end ---- */

int ht_free_memory(halftone *h) {
    bool has_blocks = h->retired_count > 0;
    for (int i = 0; i < OWN_BLOCKS * h->contexts; i++)
        has_blocks = has_blocks || h->context[i / OWN_BLOCKS].block[i % OWN_BLOCKS].at != NULL;
    int code = has_blocks ? ht_fail_device(h, ht_dev_sync()) : HALFTONE_OK; /* of streams some may be gone */
    for (int i = 0; i < OWN_BLOCKS * h->contexts; i++) {
        const int freed = ht_fail_device(h, ht_dev_free(h->context[i / OWN_BLOCKS].block[i % OWN_BLOCKS].at));
        AND_THEN(code, freed);
    }
    for (size_t i = 0; i < h->retired_count; i++) {
        const int freed = ht_fail_device(h, ht_dev_free(h->retired[i]));
        AND_THEN(code, freed);
    }
    free(h->retired);
    h->retired = NULL;
    h->retired_count = h->retired_bytes = 0;
    memset(h->context, 0, sizeof h->context);
    h->contexts = 0;
    return code;
}
