/* contrast.c: rows of a comparison, and turning points found by trying values. Decides nothing: every verdict
 * is model_better's on a changed copy of the budget. */
#include "cli/contrast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

struct rows {
    struct contrast_row *row;
    int count;
};

static struct contrast_row *add_row(struct rows *r, const char *what) {
    struct contrast_row *row = &r->row[r->count++];
    memset(row, 0, sizeof *row);
    row->what = what;
    return row;
}

/* right / left with three digits. */
static void set_ratio(struct contrast_row *row, int64_t left, int64_t right) {
    if (left > 0)
        snprintf(row->ratio, sizeof row->ratio, "%" PRId64 ".%03d", right / left,
                 (int)(ht_mul(right % left, 1000) / left));
}

static void milli_row(struct rows *r, const char *what, int64_t left, int64_t right) {
    struct contrast_row *row = add_row(r, what);
    snprintf(row->left, sizeof row->left, "%" PRId64 ".%03d", left / 1000, (int)(left % 1000));
    snprintf(row->right, sizeof row->right, "%" PRId64 ".%03d", right / 1000, (int)(right % 1000));
    set_ratio(row, left, right);
}

static void count_row(struct rows *r, const char *what, int64_t left, int64_t right) {
    struct contrast_row *row = add_row(r, what);
    snprintf(row->left, sizeof row->left, "%" PRId64, left);
    snprintf(row->right, sizeof row->right, "%" PRId64, right);
    set_ratio(row, left, right);
}

static void text_row(struct rows *r, const char *what, const char *left, const char *right) {
    struct contrast_row *row = add_row(r, what);
    snprintf(row->left, sizeof row->left, "%s", left);
    snprintf(row->right, sizeof row->right, "%s", right);
}

static void tile_cell(char cell[CONTRAST_CELL_MAX], const struct listing *l) {
    char name[EXPLAIN_TILE_MAX] = "none fits";
    if (l->fits > 0)
        explain_tile_name(name, l, &l->item[0].tile);
    snprintf(cell, CONTRAST_CELL_MAX, "%s", name);
}

/* Whatever k the instruction sets' MMAs have. */
static bool same_geometry(const struct tile *x, const struct tile *y) {
    struct tile z = *y;
    z.wk = x->wk;
    return tile_compare(x, &z) == 0;
}

/* How the pick of `of` fares in the ranking `in`. */
static void fate_cell(char cell[CONTRAST_CELL_MAX], const struct listing *of, const struct listing *in) {
    int at = 0;
    if (of->fits == 0) {
        snprintf(cell, CONTRAST_CELL_MAX, "-");
        return;
    }
    while (at < in->count && !same_geometry(&of->item[0].tile, &in->item[at].tile))
        at++;
    if (at == 0 && in->fits > 0)
        snprintf(cell, CONTRAST_CELL_MAX, "the pick too");
    else if (at == in->count)
        snprintf(cell, CONTRAST_CELL_MAX, "not a candidate");
    else if (at >= in->fits)
        snprintf(cell, CONTRAST_CELL_MAX, "rejected by %.*s",
                 (int)explain_kind_length(in->item[at].cost.reason), in->item[at].cost.reason);
    else {
        const int64_t best = in->item[0].cost.predicted_ns, own = in->item[at].cost.predicted_ns;
        const int64_t more = best > 0 && own > best ? ht_mul(own - best, 1000) / best : 0;
        snprintf(cell, CONTRAST_CELL_MAX, "rank %d of %d, %" PRId64 ".%d %% slower", at + 1, in->fits,
                 more / 10, (int)(more % 10));
    }
}

static int64_t share_milli(const struct listing *l) {
    const int64_t ceiling = explain_ceiling_gflops(l->g, l->s);
    return ht_mul(explain_milli_tflops(&l->shape, l->item[0].cost.predicted_ns), 100000) / ceiling;
}

static void pick_rows(struct rows *r, const struct listing *left, const struct listing *right) {
    const struct cost *x = &left->item[0].cost, *y = &right->item[0].cost;
    struct contrast_row *row = add_row(r, "pick");
    tile_cell(row->left, left);
    tile_cell(row->right, right);
    if (left->fits == 0 || right->fits == 0)
        return;
    row = add_row(r, "the other side's pick here");
    fate_cell(row->left, right, left);
    fate_cell(row->right, left, right);
    milli_row(r, "predicted time, us", x->predicted_ns, y->predicted_ns);
    milli_row(r, "TFLOPS", explain_milli_tflops(&left->shape, x->predicted_ns),
              explain_milli_tflops(&right->shape, y->predicted_ns));
    milli_row(r, "ceiling, TFLOPS", explain_ceiling_gflops(left->g, left->s),
              explain_ceiling_gflops(right->g, right->s));
    milli_row(r, "% of the ceiling", share_milli(left), share_milli(right));
    text_row(r, "bound by", x->binding, y->binding);
    count_row(r, "registers per thread", x->regs_per_thread, y->regs_per_thread);
    count_row(r, "shared memory, bytes per block", x->smem_bytes, y->smem_bytes);
    count_row(r, "blocks per SM", x->blocks_per_sm, y->blocks_per_sm);
    milli_row(r, "waves", x->waves_milli, y->waves_milli);
    count_row(r, "tiles that fit", left->fits, right->fits);
}

int contrast_rows(const struct listing *left, const struct listing *right,
                  struct contrast_row rows[CONTRAST_ROWS_MAX]) {
    struct rows r = {.row = rows};
    pick_rows(&r, left, right);
    const int picks = r.count;
    if (strcmp(left->isa->name, right->isa->name) != 0)
        text_row(&r, "isa", left->isa->name, right->isa->name);
    for (int i = 0; i < gpu_number_count() && r.count < CONTRAST_ROWS_MAX; i++) {
        const int64_t x = gpu_number(left->g, i), y = gpu_number(right->g, i);
        if (x != y)
            count_row(&r, gpu_number_name(i), x, y);
    }
    for (int i = picks; i < r.count; i++)
        rows[i].is_budget = true;
    return r.count;
}

void contrast_print(struct text *out, const struct listing *left, const struct listing *right,
                    const char *left_name, const char *right_name) {
    struct contrast_row rows[CONTRAST_ROWS_MAX];
    const int count = contrast_rows(left, right, rows);
    text_addf(out, "Scheme %s, model %s, %" PRId64 " x %" PRId64 " x %" PRId64 "\n\n", left->s->name,
              model_name(left->kind), left->shape.m, left->shape.n, left->shape.k);
    text_addf(out, "%-32s %-34s %-34s %s\n", "", left_name, right_name, "ratio");
    for (int i = 0; i < count; i++) {
        if (rows[i].is_budget && !rows[i - 1].is_budget)
            text_add(out, "budget values that differ\n");
        text_addf(out, "%s%-*s %-34s ", rows[i].is_budget ? "  " : "", rows[i].is_budget ? 30 : 32,
                  rows[i].what, rows[i].left);
        text_addf(out, rows[i].ratio[0] ? "%-34s %s\n" : "%s%s\n", rows[i].right, rows[i].ratio);
    }
}

/* ---- turning points ---- */

struct duel {
    const struct listing *l;
    const struct candidate *pick, *rival;
    struct gpu gpu; /* the changed copy */
};

static bool rival_wins(struct duel *d, int key, int64_t value) {
    const struct listing *l = d->l;
    struct cost x, y;
    d->gpu = *l->g;
    if (!gpu_number_set(&d->gpu, key, value))
        return false;
    struct target pick = d->pick->on, rival = d->rival->on;
    pick.g = rival.g = &d->gpu;
    model_cost(l->kind, &pick, &d->pick->tile, &l->shape, &x);
    model_cost(l->kind, &rival, &d->rival->tile, &l->shape, &y);
    return y.fits && (!x.fits || model_better(l->kind, &y, &d->rival->tile, &x, &d->pick->tile));
}

/* Nearest value in one direction (up: true) at which the rival wins; 0: none within a factor of four. Sixteen
 * steps first, since the answer need not change only once, then bisection inside the step. */
static int64_t nearest(struct duel *d, int key, bool up) {
    enum { STEPS = 16, REACH = 4 };
    const int64_t now = gpu_number(d->l->g, key);
    const int64_t range = up ? now * (REACH - 1) : now - now / REACH;
    int64_t keeps = now;
    for (int i = 1; i <= STEPS; i++) {
        const int64_t value = up ? now + range * i / STEPS : now - range * i / STEPS;
        if (value == keeps || value < 1)
            continue;
        if (!rival_wins(d, key, value)) {
            keeps = value;
            continue;
        }
        int64_t wins = value;
        while (wins - keeps > 1 || keeps - wins > 1) {
            const int64_t middle = keeps + (wins - keeps) / 2;
            if (rival_wins(d, key, middle))
                wins = middle;
            else
                keeps = middle;
        }
        return wins;
    }
    return 0;
}

static void keep_nearer(struct duel *d, int key, int64_t then, struct turning *t) {
    const int64_t now = gpu_number(d->l->g, key);
    if (then == 0)
        return;
    const int64_t factor = then > now ? ht_mul(then, 1000) / now : ht_mul(now, 1000) / then;
    if (t->key && t->factor_milli <= factor)
        return;
    *t = (struct turning){gpu_number_name(key), now, then, factor, d->rival->tile, false};
}

/* Who is the pick there: a full ranking. */
static bool name_winner(struct duel *d, int key, struct turning *t) {
    struct listing there = *d->l;
    d->gpu = *d->l->g;
    gpu_number_set(&d->gpu, key, t->then);
    there.g = &d->gpu;
    there.item = NULL;
    there.count = there.capacity = there.fits = 0;
    const bool ok = explain_rank(&there);
    if (ok && there.fits > 0)
        t->winner = there.item[0].tile;
    t->rival_wins = tile_compare(&t->winner, &d->rival->tile) == 0;
    explain_free(&there);
    return ok;
}

int contrast_turnings(const struct listing *l, int rival, struct turning out[TURNINGS_MAX]) {
    struct duel d = {.l = l, .pick = &l->item[0], .rival = &l->item[rival]};
    int count = 0;
    for (int key = 0; key < gpu_number_count() && count < TURNINGS_MAX; key++) {
        struct turning t = {0};
        keep_nearer(&d, key, nearest(&d, key, false), &t);
        keep_nearer(&d, key, nearest(&d, key, true), &t);
        if (!t.key)
            continue;
        if (!name_winner(&d, key, &t))
            return -1;
        int at = count++;
        for (; at > 0 && out[at - 1].factor_milli > t.factor_milli; at--)
            out[at] = out[at - 1];
        out[at] = t;
    }
    return count;
}

int contrast_other_tile(const struct listing *l) {
    const struct tile *p = &l->item[0].tile;
    for (int i = 1; i < l->fits; i++) {
        const struct tile *t = &l->item[i].tile;
        if (t->bm != p->bm || t->bn != p->bn || t->bk != p->bk)
            return i;
    }
    return 0;
}
