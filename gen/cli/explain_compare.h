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
#endif
