/* explain_compare.c: rows of a comparison, and their text. */
#include "cli/explain.h"

#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

/* A row up to its two cells; the ratio has three digits. */
static void add_row(struct text *out, const char *what, bool is_budget, int64_t left, int64_t right) {
    text_addf(out, "%s\t%d\t", what, is_budget);
    if (left > 0)
        text_addf(out, I64 ".%03d", right / left, (int)(ht_mul(right % left, 1000) / left));
}

static void milli_row(struct text *out, const char *what, int64_t left, int64_t right) {
    add_row(out, what, false, left, right);
    text_addf(out, "\t" MILLI "\t" MILLI "\n", AS_MILLI(left), AS_MILLI(right));
}

static void count_row(struct text *out, const char *what, bool is_budget, int64_t left, int64_t right) {
    add_row(out, what, is_budget, left, right);
    text_addf(out, "\t" I64 "\t" I64 "\n", left, right);
}

static void text_row(struct text *out, const char *what, bool is_budget, const char *left,
                     const char *right) {
    add_row(out, what, is_budget, 0, 0);
    text_addf(out, "\t%s\t%s\n", left, right);
}

static void add_pick(struct text *out, const struct listing *l) {
    text_add(out, "\t");
    if (l->fits > 0)
        explain_add_tile(out, l, &l->item[0].tile);
    else
        text_add(out, "none fits");
}

/* Whatever k the instruction sets' MMAs have. */
static bool same_geometry(const struct tile *x, const struct tile *y) {
    struct tile z = *y;
    z.wk = x->wk;
    return tile_compare(x, &z) == 0;
}

/* How the pick of `of` fares in the ranking `in`. */
static void add_fate(struct text *out, const struct listing *of, const struct listing *in) {
    int at = 0;
    while (at < in->count && !same_geometry(&of->item[0].tile, &in->item[at].tile))
        at++;
    const struct cost *own = &in->item[at].cost;
    if (at == 0)
        text_add(out, "\tthe pick too");
    else if (at == in->count)
        text_add(out, "\tnot a candidate");
    else if (at >= in->fits)
        text_addf(out, "\trejected by %.*s", own->kind, own->reason);
    else {
        const int64_t best = in->item[0].cost.predicted_ns, ns = own->predicted_ns;
        const int64_t more = best > 0 && ns > best ? ht_mul(ns - best, 1000) / best : 0;
        text_addf(out, "\trank %d of %d, " I64 ".%d %% slower", at + 1, in->fits, more / 10,
                  (int)(more % 10));
    }
}

static int64_t share_milli(const struct listing *l) {
    return ht_mul(explain_pick_gflops(l), 100000) / explain_ceiling_gflops(l);
}

static void pick_rows(struct text *out, const struct listing *left, const struct listing *right) {
    const struct cost *x = &left->item[0].cost, *y = &right->item[0].cost;
    add_row(out, "pick", false, 0, 0);
    add_pick(out, left);
    add_pick(out, right);
    text_add(out, "\n");
    if (left->fits == 0 || right->fits == 0)
        return;
    add_row(out, "the other side's pick here", false, 0, 0);
    add_fate(out, right, left);
    add_fate(out, left, right);
    text_add(out, "\n");
    milli_row(out, "predicted time, us", x->predicted_ns, y->predicted_ns);
    milli_row(out, "TFLOPS", explain_pick_gflops(left), explain_pick_gflops(right));
    milli_row(out, "ceiling, TFLOPS", explain_ceiling_gflops(left), explain_ceiling_gflops(right));
    milli_row(out, "% of the ceiling", share_milli(left), share_milli(right));
    text_row(out, "bound by", false, x->binding, y->binding);
    count_row(out, "registers per thread", false, x->regs_per_thread, y->regs_per_thread);
    count_row(out, "shared memory, bytes per block", false, x->smem_bytes, y->smem_bytes);
    count_row(out, "blocks per SM", false, x->blocks_per_sm, y->blocks_per_sm);
    milli_row(out, "waves", x->waves_milli, y->waves_milli);
    count_row(out, "tiles that fit", false, left->fits, right->fits);
}

void compare_rows(struct text *out, const struct listing *left, const struct listing *right) {
    pick_rows(out, left, right);
    if (strcmp(left->isa->name, right->isa->name) != 0)
        text_row(out, "isa", true, left->isa->name, right->isa->name);
    for (enum gpu_key i = 0; i < GPU_NUMBERS; i++) {
        const int64_t x = gpu_number(left->g, i), y = gpu_number(right->g, i);
        if (x != y)
            count_row(out, gpu_number_name(i), true, x, y);
    }
}

void compare_print(struct text *out, const struct listing *left, const struct listing *right) {
    enum { WHAT, BUDGET, RATIO, LEFT, RIGHT, CELLS };
    struct text rows = {0};
    char *cell[CELLS];
    bool in_budget = false;
    compare_rows(&rows, left, right);
    text_addf(out, "Scheme %s, model %s, " I64 " x " I64 " x " I64 "\n\n", left->s->name,
              model_name(left->kind), left->shape.m, left->shape.n, left->shape.k);
    text_addf(out, "%-32s %-34s %-34s %s\n", "", left->name, right->name, "ratio");
    for (char *row = rows.data ? strtok(rows.data, "\n") : NULL; row; row = strtok(NULL, "\n")) {
        text_cells(row, cell, CELLS);
        const bool is_budget = *cell[BUDGET] == '1';
        text_add(out, is_budget && !in_budget ? "budget values that differ\n" : "");
        in_budget = is_budget;
        text_addf(out, "%s%-*s %-34s ", is_budget ? "  " : "", is_budget ? 30 : 32, cell[WHAT], cell[LEFT]);
        text_addf(out, *cell[RATIO] ? "%-34s %s\n" : "%s%s\n", cell[RIGHT], cell[RATIO]);
    }
    text_free(&rows);
}
