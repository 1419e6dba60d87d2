/* ht_host_copy.c: what a handle keeps for products of matrices in host memory, and the copies between the
 * caller's memory and the device through pinned buffers, by threads. */
#include "ht_host.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* ---- what the handle keeps ---- */

void ht_host_wait_all(halftone *h) {
    (void)ht_dev_stream_sync(h->host->stream[HOST_IN]);
    (void)ht_dev_stream_sync(h->stream);
    (void)ht_dev_stream_sync(h->host->stream[HOST_OUT]);
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
    for (int i = 0; i < HOST_STREAMS; i++)
        if (p->stream[i] != NULL) {
            (void)ht_dev_stream_sync(p->stream[i]);
            (void)ht_dev_stream_destroy(p->stream[i]);
        }
    for (int i = 0; i < HOST_EVENTS; i++)
        if (p->event[i] != NULL)
            (void)ht_dev_event_destroy(p->event[i]);
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
    int code = HT_DEV_OK;
    for (int i = 0; i < HOST_STREAMS && code == HT_DEV_OK; i++)
        code = ht_dev_stream_create(&p->stream[i]);
    for (int i = 0; i < HOST_EVENTS && code == HT_DEV_OK; i++)
        code = ht_dev_event_create(&p->event[i]);
    code = ht_fail_device(h, code);
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

/* ---- threads: one core moves about 10 GB/s between pageable and pinned memory, a fifth of what a PCIe 5
 * bus takes; a few move all of it ---- */

/* Part `part` of `parts` of some work. */
typedef void ht_team_work(void *work, int part, int parts);

struct ht_team_thread {
    struct ht_team *team;
    pthread_t thread;
    int part; /* from 1 on; 0 is the caller's */
};

/* Threads of one call, joined before it returns: none of ours is left in the caller's process. They take
 * no signals. */
struct ht_team {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    struct ht_team_thread thread[HOST_THREADS_MOST]; /* the first is none */
    int parts;                                       /* the caller's among them */
    unsigned round;
    int busy;
    bool is_over;
    ht_team_work *function;
    void *work;
};

static void *team_thread(void *data) {
    struct ht_team_thread *const own = (struct ht_team_thread *)data;
    struct ht_team *const t = own->team;
    (void)pthread_mutex_lock(&t->lock);
    for (unsigned seen = 0;;) {
        while (t->round == seen && !t->is_over)
            (void)pthread_cond_wait(&t->begun, &t->lock);
        if (t->is_over)
            break;
        seen = t->round;
        ht_team_work *const function = t->function;
        void *const work = t->work;
        const int parts = t->parts;
        (void)pthread_mutex_unlock(&t->lock);
        function(work, own->part, parts);
        (void)pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            (void)pthread_cond_signal(&t->ended);
    }
    (void)pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void team_open(struct ht_team *team, int threads) {
    sigset_t all, before;
    memset(team, 0, sizeof *team);
    team->parts = 1;
    (void)pthread_mutex_init(&team->lock, NULL);
    (void)pthread_cond_init(&team->begun, NULL);
    (void)pthread_cond_init(&team->ended, NULL);
    (void)sigfillset(&all);
    const bool is_masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0; /* which the threads inherit */
    while (is_masked && team->parts < threads && team->parts < HOST_THREADS_MOST) {
        struct ht_team_thread *const next = &team->thread[team->parts];
        next->team = team;
        next->part = team->parts;
        if (pthread_create(&next->thread, NULL, team_thread, next) != 0)
            break;
        team->parts++;
    }
    if (is_masked)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void team_run(struct ht_team *team, ht_team_work *function, void *work) {
    (void)pthread_mutex_lock(&team->lock);
    team->function = function;
    team->work = work;
    team->busy = team->parts - 1;
    team->round++;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->lock);
    function(work, 0, team->parts);
    (void)pthread_mutex_lock(&team->lock);
    while (team->busy > 0)
        (void)pthread_cond_wait(&team->ended, &team->lock);
    (void)pthread_mutex_unlock(&team->lock);
}

static void team_close(struct ht_team *team) {
    (void)pthread_mutex_lock(&team->lock);
    team->is_over = true;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->lock);
    for (int i = 1; i < team->parts; i++)
        (void)pthread_join(team->thread[i].thread, NULL);
    (void)pthread_cond_destroy(&team->ended);
    (void)pthread_cond_destroy(&team->begun);
    (void)pthread_mutex_destroy(&team->lock);
}

int ht_host_with_team(halftone *h, struct host_job *j, int threads,
                      int (*run)(halftone *h, struct host_job *j)) {
    struct ht_team team;
    team_open(&team, threads);
    j->team = &team;
    const int code = run(h, j);
    team_close(&team);
    return code;
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
    void *const in = p->stream[HOST_IN];
    const size_t each = element_bytes(&j->x);
    const int64_t most = (int64_t)(p->stage_bytes / each);
    int code = HT_DEV_OK;
    for (int64_t at = 0, some; at < rows * cols && code == HT_DEV_OK; at += some) {
        const int turn = j->stage_turn ^= 1;
        some = least_of(rows * cols - at, most);
        struct host_gathering g = {j, p->stage[turn], block, ld, rows, at, some};
        code = ht_dev_event_sync(p->event[HOST_STAGE_FREE + turn]);
        if (code == HT_DEV_OK)
            team_run(j->team, host_gather, &g);
        AND_THEN(code, ht_dev_copy_in(to + (size_t)at * each, p->stage[turn], (size_t)some * each, in));
        AND_THEN(code, ht_dev_event_record(p->event[HOST_STAGE_FREE + turn], in));
    }
    AND_THEN(code, ht_dev_event_record(p->event[HOST_FULL], in));
    AND_THEN(code, ht_dev_stream_wait(h->stream, p->event[HOST_FULL]));
    return ht_fail_device(h, code);
}

struct host_taking {
    const struct host_job *job;
    const struct host_block *tile;
    const char *result;
};

/* Columns [first, last) of a tile as rows of C's other triangle, in squares whose lines a cache keeps. */
static void host_mirror_columns(const struct host_taking *g, int64_t first, int64_t last) {
    const struct host_job *const j = g->job;
    const struct host_block *const t = g->tile;
    const bool is_fp64 = j->x.is_fp64; /* for copies of a size that the compiler knows */
    for (int64_t at = first; at < last; at += HOST_MIRRORED)
        for (int64_t row = 0; row < t->rows; row++) {
            const int64_t end = least_of(least_of(at + HOST_MIRRORED, last), t->row + row - t->col);
            for (int64_t col = at; col < end; col++) {
                char *const to = host_at(j, j->x.c, j->x.ldc, t->col + col, t->row + row);
                const char *const from = host_at(j, g->result, t->rows, row, col);
                memcpy(to, from, is_fp64 ? sizeof(double) : sizeof(float));
            }
        }
}

/* Some columns of a tile. */
static void host_take_columns(void *work, int part, int parts) {
    const struct host_taking *const g = (const struct host_taking *)work;
    const struct host_job *const j = g->job;
    const struct host_block *const t = g->tile;
    const int64_t from = host_part(t->cols, part, parts), to = host_part(t->cols, part + 1, parts);
    for (int64_t col = from; col < to; col++) {
        int64_t first, last;
        host_rows_of_column(j, t, col, &first, &last);
        if (first < last)
            memcpy(host_at(j, j->x.c, j->x.ldc, t->row + first, t->col + col),
                   host_at(j, g->result, t->rows, first, col), (size_t)(last - first) * element_bytes(&j->x));
    }
    if (j->mirrors)
        host_mirror_columns(g, from, to);
}

int ht_host_take(halftone *h, struct host_job *j) {
    struct ht_host *const p = h->host;
    const int turn = (int)(j->taken % HOST_TURNS);
    struct host_taking taking = {j, &j->given[turn], p->result[turn]};
    const int code = ht_fail_device(h, ht_dev_event_sync(p->event[HOST_RESULT_FULL + turn]));
    if (code != HALFTONE_OK)
        return code;
    team_run(j->team, host_take_columns, &taking);
    j->taken++;
    return HALFTONE_OK;
}
