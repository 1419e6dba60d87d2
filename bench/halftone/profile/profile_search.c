/* profile_search.c: see profile_search.h. */
#include "profile/profile_search.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void count(struct profile_verdict *v, int tile, int row, int column, uint32_t unit, uint32_t model) {
    if (v->failed++ == 0)
        *v = (struct profile_verdict){1, tile, row, column, unit, model};
}

/* One host thread's share of the tiles: every `step`-th from `first` on. */
struct share {
    const struct profile_tiles *t;
    const struct profile_model *model;
    struct profile_decoded *decoded;
    struct profile_verdict verdict;
    int first, step;
};

/* A tile counts once, at its first difference. */
static void judge_tile(struct share *s, int tile) {
    const struct profile_tiles *t = s->t;
    const uint32_t *c = t->c + (size_t)tile * t->values, *d = t->d + (size_t)tile * t->values;
    uint32_t bits[PROFILE_MOST_ROWS * PROFILE_COLUMNS];
    const int period = profile_tile_period(t, tile);
    profile_decode(s->decoded, t->unit, s->model, (period + PROFILE_COLUMNS - 1) / PROFILE_COLUMNS,
                   t->a + (size_t)tile * t->a_bytes, t->b + (size_t)tile * t->b_bytes);
    for (int i = 0; i < (int)t->values; i++) {
        const int row = i / PROFILE_COLUMNS, column = i % PROFILE_COLUMNS;
        bits[i] = i < period ? profile_dot(s->decoded, row, column, c[i]) : bits[i - period];
        if (bits[i] != d[i]) {
            count(&s->verdict, tile, row, column, d[i], bits[i]);
            return;
        }
    }
}

static void *judge_share(void *share) {
    struct share *s = share;
    for (int tile = s->first; tile < s->t->count; tile += s->step)
        judge_tile(s, tile);
    return NULL;
}

enum { THREADS_MOST = 16 };
struct judges {
    int count;
    struct profile_decoded *decoded[THREADS_MOST];
};

static int open_judges(struct judges *j, struct cli_error *f) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int wanted = cores < 1 ? 1 : cores < THREADS_MOST ? (int)cores : THREADS_MOST;
    for (j->count = 0; j->count < wanted; j->count++)
        if ((j->decoded[j->count] = profile_decoded_new()) == NULL)
            break;
    return j->count > 0 ? 0 : cli_error_memory(f, 1e5, "a decoded tile");
}

static void close_judges(struct judges *j) {
    while (j->count > 0)
        profile_decoded_free(j->decoded[--j->count]);
}

/* A share whose thread does not start is done here. */
static void judge(struct profile_verdict *v, const struct profile_tiles *t, const struct profile_model *model,
                  const struct judges *j) {
    struct share share[THREADS_MOST];
    pthread_t thread[THREADS_MOST];
    int started[THREADS_MOST] = {0}, failed = 0;
    memset(v, 0, sizeof *v);
    for (int i = 0; i < j->count; i++) {
        share[i] = (struct share){t, model, j->decoded[i], {0, 0, 0, 0, 0, 0}, i, j->count};
        started[i] = i > 0 && pthread_create(&thread[i], NULL, judge_share, &share[i]) == 0;
    }
    for (int i = 0; i < j->count; i++) {
        if (started[i])
            (void)pthread_join(thread[i], NULL);
        else
            judge_share(&share[i]);
        const struct profile_verdict *s = &share[i].verdict;
        failed += s->failed;
        if (s->failed > 0 && (v->failed == 0 || s->tile < v->tile))
            *v = *s;
    }
    v->failed = failed;
}

/* ---- the simulator ---- */

/* Rows of one block of a tile, as mma.sync has them; an overflowing integer sum wraps. */
static void simulate(const struct profile_unit *u, const struct sim_mma_model *model, int rows, uint32_t *d,
                     const unsigned char *a, const unsigned char *b) {
    enum { MOST = 16 * PROFILE_COLUMNS };
    uint32_t words_a[16 * 8], words_b[8 * 8];
    uint16_t halves_a[16 * 16], halves_b[8 * 16];
    float f[MOST];
    const size_t bytes_a = (size_t)(rows * u->k * profile_element_bytes(u->type));
    const size_t bytes_b = (size_t)(PROFILE_COLUMNS * u->k * profile_element_bytes(u->type));
    if (u->type == PROFILE_S8) {
        int8_t sa[16 * PROFILE_MOST_K], sb[8 * PROFILE_MOST_K];
        int32_t sums[MOST];
        memcpy(sa, a, bytes_a);
        memcpy(sb, b, bytes_b);
        memcpy(sums, d, sizeof *sums * (size_t)(rows * PROFILE_COLUMNS));
        (void)sim_mma_s8(rows, u->k, sums, sa, sb);
        memcpy(d, sums, sizeof *sums * (size_t)(rows * PROFILE_COLUMNS));
        return;
    }
    memcpy(f, d, sizeof f);
    if (u->type == PROFILE_TF32) {
        memcpy(words_a, a, bytes_a);
        memcpy(words_b, b, bytes_b);
        (void)sim_mma_tf32(model, u->k, f, words_a, words_b);
    } else {
        memcpy(halves_a, a, bytes_a);
        memcpy(halves_b, b, bytes_b);
        (void)(u->type == PROFILE_F16 ? sim_mma_f16 : sim_mma_bf16)(model, u->k, f, halves_a, halves_b);
    }
    memcpy(d, f, sizeof f);
}

void profile_simulator(struct profile_verdict *v, const struct profile_tiles *t,
                       const struct sim_mma_model *model) {
    const struct profile_unit *u = t->unit;
    const int rows = u->rows < 16 ? u->rows : 16;
    memset(v, 0, sizeof *v);
    for (int tile = 0; tile < t->count; tile++) {
        uint32_t d[PROFILE_MOST_ROWS * PROFILE_COLUMNS];
        const uint32_t *unit = t->d + (size_t)tile * t->values;
        memcpy(d, t->c + (size_t)tile * t->values, t->values * sizeof *d);
        for (int row = 0; row < u->rows; row += rows)
            simulate(u, model, rows, d + row * PROFILE_COLUMNS,
                     t->a + (size_t)tile * t->a_bytes + (size_t)(row * u->k * profile_element_bytes(u->type)),
                     t->b + (size_t)tile * t->b_bytes);
        size_t i = 0;
        while (i < t->values && d[i] == unit[i])
            i++;
        if (i < t->values)
            count(v, tile, (int)i / PROFILE_COLUMNS, (int)i % PROFILE_COLUMNS, unit[i], d[i]);
    }
}

/* ---- the search ---- */

struct searching {
    struct profile_search *s;
    const struct profile_tiles *t;
    struct judges judges;
};

/* Models that differ only in what says nothing of them are one. */
static void try_model(struct searching *x, const struct profile_model *asked) {
    struct profile_search *s = x->s;
    struct profile_model model = *asked;
    for (int i = 0; i < PROFILE_DIMENSIONS; i++)
        if (!profile_model_matters(x->t->unit, asked, (enum profile_dimension)i))
            model.choice[i] = 0;
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->candidate[i].model, &model, sizeof model) == 0)
            return;
    if (s->count == PROFILE_CANDIDATES_MOST)
        return;
    struct profile_candidate *made = &s->candidate[s->count];
    made->model = model;
    judge(&made->verdict, x->t, &model, &x->judges);
    if (s->count == 0 || made->verdict.failed < s->candidate[s->best].verdict.failed)
        s->best = s->count;
    s->count++;
}

/* Every combination of the main dimensions from `dimension` on. */
static void try_main(struct searching *x, struct profile_model *model, int dimension) {
    if (dimension == PROFILE_DIMENSIONS) {
        try_model(x, model);
        return;
    }
    const enum profile_dimension d = (enum profile_dimension)dimension;
    const int values = profile_model_is_main(d) ? profile_model_values(x->t->unit, d) : 0;
    for (int i = 0; i == 0 || i < values; i++) {
        model->choice[d] = i;
        try_main(x, model, dimension + 1);
    }
    model->choice[d] = 0;
}

static void try_neighbours(struct searching *x, const struct profile_model *from) {
    for (int i = 0; i < PROFILE_DIMENSIONS; i++) {
        const enum profile_dimension d = (enum profile_dimension)i;
        for (int value = 0; value < profile_model_values(x->t->unit, d); value++) {
            struct profile_model model = *from;
            model.choice[d] = value;
            try_model(x, &model);
        }
    }
}

int profile_search(struct profile_search *s, const struct profile_tiles *t, struct cli_error *f) {
    struct searching x = {s, t, {0, {NULL}}};
    struct profile_model model = {{0}};
    int from = -1;
    memset(s, 0, sizeof *s);
    if (open_judges(&x.judges, f) != 0)
        return -1;
    try_main(&x, &model, 0);
    while (from != s->best) { /* ends: each round has fewer failed tiles */
        from = s->best;
        model = s->candidate[from].model;
        try_neighbours(&x, &model);
    }
    close_judges(&x.judges);
    return 0;
}
