/* explain: prints what a tile model thinks of every candidate. Reads budgets, rows and costs,
 * decides nothing: the pick is model_better's. */
#ifndef HT_EXPLAIN_H
#define HT_EXPLAIN_H

#include "plan/plan.h"

struct candidate {
    struct target on; /* whose MMA shape and family the tile is of */
    struct tile tile;
    struct cost cost;
};

/* Every tile with its cost under one model. Filled in by the caller: up to shape. */
struct listing {
    const struct gpu *g;
    const char *name;      /* of what is compared with another one */
    const struct isa *isa; /* the unit's row */
    const struct scheme *s;
    enum model_kind kind;
    struct shape shape;
    struct target on;       /* set by explain_rank: of the model; while collecting, of the next space */
    struct candidate *item; /* fitting ones first, by rank; then the rejected ones in tile order */
    int count, capacity, fits;
};

/* The same question of another GPU of the instruction set, or of another scheme; nothing is collected yet. */
static inline struct listing explain_beside(const struct listing *l, const struct gpu *g,
                                            const struct scheme *s) {
    return (struct listing){.g = g, .isa = l->isa, .s = s, .kind = l->kind, .shape = l->shape};
}

/* Collects and ranks; explain_free behind it. */
void explain_rank(struct listing *l);
void explain_free(struct listing *l);

/* Rank (from 0) of the first tile that is slower than the pick, or of the last when all are as good; 0:
 * none. */
int explain_runner_up(const struct listing *l);

/* Said where the model sees another family than the scheme's kernels are of; else empty. */
const char *explain_seen_note(const struct listing *l);

/* What a tile takes of the budget. */
enum { EXPLAIN_USES = 5 };
struct explain_use {
    const char *what;
    int64_t used, limit;
};
void explain_uses(const struct listing *l, const struct candidate *c, struct explain_use use[EXPLAIN_USES]);

/* Where the predicted time of a tile goes, in clocks of an SM: ht_cost_ns taken apart. Model halftone
 * only. */
enum { EXPLAIN_PARTS = 6 };
extern const char *const explain_part_names[EXPLAIN_PARTS];
void explain_take_apart(const struct listing *l, const struct candidate *c, int64_t part[EXPLAIN_PARTS]);

/* In GFLOPS, thousandths of a TFLOPS: what the pick is predicted to reach, and the scheme's ceiling. */
int64_t explain_pick_gflops(const struct listing *l);
int64_t explain_ceiling_gflops(const struct listing *l);

/* A tile by the name that --tiles and TILES= take; one of the other MMA shape, which they do not take, says
 * so behind it. */
void explain_add_tile(struct text *out, const struct listing *l, const struct tile *t);

/* Sentences of text and page: what the kernels multiply with and what is unverified; the ceiling; whether the
 * pick is faster than native FP32; which of the budget's values are estimates. */
void explain_add_kernels(struct text *out, const struct listing *l);
void explain_add_ceiling(struct text *out, const struct listing *l);
void explain_add_verdict(struct text *out, const struct listing *l);
void explain_add_estimates(struct text *out, const struct gpu *g);

/* A header line and one row per candidate, in rank order, then the rejected ones in tile order. */
void explain_table(struct text *out, const struct listing *l);

/* The report for people of a ranked listing. */
void explain_print(struct text *out, const struct listing *l);

/* ---- explain_fp64.c: of a scheme of residues, what `fp64` has of them; else nothing */
void explain_add_fp64(struct text *out, const struct listing *l);

/* ---- explain_compare.c: another budget beside it, or the same one with values replaced */

/* Rows "what, 1: a key of the budgets, right / left where that means something, left, right" with tabs
 * between: on the picks first, then every budget key in which the two differ. Both are ranked. */
void compare_rows(struct text *out, const struct listing *left, const struct listing *right);

/* The rows as text; the names head the columns. */
void compare_print(struct text *out, const struct listing *left, const struct listing *right);

/* ---- page.c: one self-contained HTML page: no scripts, nothing fetched, prints on paper */

/* Draws the page with python3 and bench/pages.py below root, and writes it whole or not at all. other: the
 * changed budget or another GPU; NULL: none. False after err_user. */
bool page_write(const struct listing *l, const struct listing *other, const char *root, const char *path);

#endif
