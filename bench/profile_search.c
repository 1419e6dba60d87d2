/* profile_search.c: see profile_search.h. */
#include "profile_search.h"

#include <string.h>

static void count(struct profile_verdict *v, int tile, int row, int column, uint32_t unit, uint32_t model) {
    if (v->failed++ == 0)
        *v = (struct profile_verdict){1, tile, row, column, unit, model};
}

/* A tile counts once, at its first difference. */
static void judge(struct profile_verdict *v, const struct profile_tiles *t, const struct profile_model *model,
                  struct profile_decoded *decoded) {
    memset(v, 0, sizeof *v);
    for (int tile = 0; tile < t->count; tile++) {
        const size_t first = (size_t)tile * t->values;
        profile_decode(decoded, t->unit, model, t->a + (size_t)tile * t->a_bytes,
                       t->b + (size_t)tile * t->b_bytes);
        for (size_t i = 0; i < t->values; i++) {
            const int row = (int)i / PROFILE_COLUMNS, column = (int)i % PROFILE_COLUMNS;
            const uint32_t bits = profile_dot(decoded, row, column, t->c[first + i]);
            if (bits == t->d[first + i])
                continue;
            count(v, tile, row, column, t->d[first + i], bits);
            break;
        }
    }
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
    struct profile_decoded *decoded;
};

static void try_model(struct searching *x, const struct profile_model *model) {
    struct profile_search *s = x->s;
    for (int i = 0; i < s->count; i++)
        if (memcmp(&s->candidate[i].model, model, sizeof *model) == 0)
            return;
    if (s->count == PROFILE_CANDIDATES_MOST)
        return;
    struct profile_candidate *made = &s->candidate[s->count];
    made->model = *model;
    judge(&made->verdict, x->t, model, x->decoded);
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

/* Does the dimension say anything of a model of this kind? */
static int matters(const struct profile_model *model, enum profile_dimension d) {
    return model->choice[DIM_KIND] == KIND_ALIGNED || d == DIM_KIND || d == DIM_INPUT_SUBNORMAL ||
           d == DIM_NAN || d == DIM_LOW_BITS || d == DIM_LOW_NAN;
}

static void try_neighbours(struct searching *x, const struct profile_model *from) {
    for (int i = 0; i < PROFILE_DIMENSIONS; i++) {
        const enum profile_dimension d = (enum profile_dimension)i;
        for (int value = 0; value < profile_model_values(x->t->unit, d); value++) {
            struct profile_model model = *from;
            model.choice[d] = value;
            if (matters(from, d))
                try_model(x, &model);
        }
    }
}

int profile_search(struct profile_search *s, const struct profile_tiles *t, struct fault *f) {
    struct searching x = {s, t, profile_decoded_new()};
    struct profile_model model = {{0}};
    int from = -1;
    memset(s, 0, sizeof *s);
    if (x.decoded == NULL)
        return fault_memory(f, 1e5, "a decoded tile");
    try_main(&x, &model, 0);
    while (from != s->best) { /* ends: each round has fewer failed tiles */
        from = s->best;
        model = s->candidate[from].model;
        try_neighbours(&x, &model);
    }
    profile_decoded_free(x.decoded);
    return 0;
}
