/* ht_host_copy.c: what a handle keeps for products of matrices in host memory, and the copies between the
 * caller's memory and the device through pinned buffers. */
#include "ht_host.h"

#include <stdlib.h>

/* ---- what the handle keeps ---- */

void ht_host_wait_all(halftone *h) {
    (void)ht_dev_stream_sync(h->host->in);
    (void)ht_dev_stream_sync(h->stream);
    (void)ht_dev_stream_sync(h->host->out);
}

static void host_free_pinned(char *memory[HOST_TURNS], size_t *bytes) {
    for (int i = 0; i < HOST_TURNS; i++) {
        (void)ht_dev_host_free(memory[i]);
        memory[i] = NULL;
    }
    *bytes = 0;
}

static void host_close(halftone *h) {
    struct ht_host *const p = h->host;
    if (p == NULL)
        return;
    void *const event[] = {
        p->full,          p->product,       p->resident_free,  p->operand_free[0], p->operand_free[1],
        p->stage_free[0], p->stage_free[1], p->result_full[0], p->result_full[1]};
    void *const stream[] = {p->in, p->out};
    for (size_t i = 0; i < sizeof stream / sizeof *stream; i++)
        if (stream[i] != NULL) {
            (void)ht_dev_stream_sync(stream[i]);
            (void)ht_dev_stream_destroy(stream[i]);
        }
    for (size_t i = 0; i < sizeof event / sizeof *event; i++)
        if (event[i] != NULL)
            (void)ht_dev_event_destroy(event[i]);
    host_free_pinned(p->stage, &p->stage_bytes);
    host_free_pinned(p->result, &p->result_bytes);
    (void)ht_dev_free(p->device);
    free(p);
    h->host = NULL;
}

int ht_host_open(halftone *h) {
    if (h->host != NULL)
        return HALFTONE_OK;
    struct ht_host *const p = (struct ht_host *)calloc(1, sizeof *p);
    if (p == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    h->host = p;
    h->close_host = host_close;
    void **const event[] = {
        &p->full,          &p->product,       &p->resident_free,  &p->operand_free[0], &p->operand_free[1],
        &p->stage_free[0], &p->stage_free[1], &p->result_full[0], &p->result_full[1]};
    int code = ht_fail_device(h, ht_dev_stream_create(&p->in));
    if (code == HALFTONE_OK)
        code = ht_fail_device(h, ht_dev_stream_create(&p->out));
    for (size_t i = 0; i < sizeof event / sizeof *event && code == HALFTONE_OK; i++)
        code = ht_fail_device(h, ht_dev_event_create(event[i]));
    if (code != HALFTONE_OK)
        host_close(h);
    return code;
}

int ht_host_pin(halftone *h, char *memory[HOST_TURNS], size_t *bytes, size_t wanted) {
    if (*bytes >= wanted)
        return HALFTONE_OK;
    host_free_pinned(memory, bytes);
    int code = HT_DEV_OK;
    for (int i = 0; i < HOST_TURNS && code == HT_DEV_OK; i++) {
        void *got = NULL;
        code = ht_dev_host_alloc(&got, wanted);
        memory[i] = (char *)got;
    }
    *bytes = wanted;
    if (code != HT_DEV_OK)
        host_free_pinned(memory, bytes);
    return code == HT_DEV_MEMORY ? ht_fail(h, HALFTONE_OUT_OF_HOST_MEMORY, "%s", ht_dev_detail())
                                 : ht_fail_device(h, code);
}

/* ---- copies ---- */

/* A part of what one pinned buffer takes: elements numbered from `from` on, column by column, of a block
 * of `rows` rows. */
struct host_gathering {
    const struct host_job *job;
    char *to;
    const void *block;
    int64_t ld, rows, from, count;
};

/* Of `count`, part `part` of `parts` begins here. */
static int64_t host_part(int64_t count, int part, int parts) {
    return count / parts * part + count % parts * part / parts;
}

static void host_gather(void *work, int part, int parts) {
    const struct host_gathering *const g = (const struct host_gathering *)work;
    const size_t each = element_bytes(&g->job->x);
    const int64_t first = host_part(g->count, part, parts), last = host_part(g->count, part + 1, parts);
    int64_t col = (g->from + first) / g->rows, row = (g->from + first) % g->rows;
    for (int64_t at = first, some; at < last; at += some, col++, row = 0) {
        some = least_of(g->rows - row, last - at);
        memcpy(g->to + (size_t)at * each, host_at(g->job, g->block, g->ld, row, col), (size_t)some * each);
    }
}

int ht_host_copy_in(halftone *h, struct host_job *j, char *to, const void *block, int64_t ld, int64_t rows,
                    int64_t cols) {
    struct ht_host *const p = h->host;
    const size_t each = element_bytes(&j->x);
    const int64_t most = (int64_t)(p->stage_bytes / each);
    int code = HT_DEV_OK;
    for (int64_t at = 0; at < rows * cols && code == HT_DEV_OK;) {
        const int64_t some = least_of(rows * cols - at, most);
        const int turn = j->stage_turn ^= 1;
        code = ht_dev_event_sync(p->stage_free[turn]);
        if (code == HT_DEV_OK) {
            struct host_gathering g = {j, p->stage[turn], block, ld, rows, at, some};
            ht_team_run(j->team, host_gather, &g);
            code = ht_dev_copy_in(to + (size_t)at * each, p->stage[turn], (size_t)some * each, p->in);
        }
        if (code == HT_DEV_OK)
            code = ht_dev_event_record(p->stage_free[turn], p->in);
        at += some;
    }
    if (code == HT_DEV_OK)
        code = ht_dev_event_record(p->full, p->in);
    if (code == HT_DEV_OK)
        code = ht_dev_stream_wait(h->stream, p->full);
    return ht_fail_device(h, code);
}

struct host_taking {
    const struct host_job *job;
    const struct host_block *tile;
    const char *result;
};

/* Some columns of a tile. */
static void host_take_columns(void *work, int part, int parts) {
    const struct host_taking *const g = (const struct host_taking *)work;
    const struct host_job *const j = g->job;
    const struct host_block *const t = g->tile;
    for (int64_t col = host_part(t->cols, part, parts); col < host_part(t->cols, part + 1, parts); col++) {
        int64_t first, last;
        host_rows_of_column(j, t, col, &first, &last);
        if (first < last)
            memcpy(host_at(j, j->x.c, j->x.ldc, t->row + first, t->col + col),
                   host_at(j, g->result, t->rows, first, col), (size_t)(last - first) * element_bytes(&j->x));
    }
}

int ht_host_take(halftone *h, struct host_job *j) {
    struct ht_host *const p = h->host;
    const int turn = (int)(j->taken % HOST_TURNS);
    struct host_taking taking = {j, &j->given[turn], p->result[turn]};
    const int code = ht_fail_device(h, ht_dev_event_sync(p->result_full[turn]));
    if (code != HALFTONE_OK)
        return code;
    ht_team_run(j->team, host_take_columns, &taking);
    j->taken++;
    return HALFTONE_OK;
}
