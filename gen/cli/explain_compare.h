/* explain_compare: two rankings side by side: another budget, or the same one with values replaced. */
#ifndef HT_EXPLAIN_COMPARE_H
#define HT_EXPLAIN_COMPARE_H

#include "cli/explain.h"

/* Rows "what, 1: a key of the budgets, right / left where that means something, left, right" with tabs
 * between: on the picks first, then every budget key in which the two differ. Both are ranked. */
void compare_rows(struct text *out, const struct listing *left, const struct listing *right);

/* The rows as text; the names head the columns. */
void compare_print(struct text *out, const struct listing *left, const struct listing *right,
                    const char *left_name, const char *right_name);

/* The smallest change of one budget value after which `rival` (index into the ranking) beats the pick. */
enum { TURNINGS_MAX = 64 };
struct turning {
    const char *key;
    int64_t now, then;
    int64_t factor_milli; /* how far: the larger of the two over the smaller, in thousandths */
    struct tile winner;   /* the pick there; may be a third tile */
    bool rival_wins;
};

/* Keys within a factor of four, the smallest change first; how many. */
int compare_turnings(const struct listing *l, int rival, struct turning out[TURNINGS_MAX]);

/* Rank of the best tile with another bm, bn or bk than the pick; 0: none. */
int compare_other_tile(const struct listing *l);
#endif
