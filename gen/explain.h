/* explain: prints what a tile model thinks of every candidate. Level 3. Reads budgets, rows and costs,
 * decides nothing: the pick is model_better's. */
#ifndef HT_EXPLAIN_H
#define HT_EXPLAIN_H

#include <stdbool.h>

#include "gpu.h"
#include "isa.h"
#include "model.h"
#include "scheme.h"
#include "text.h"

/* Appends the report for one GPU, scheme and model to out. shape NULL: 4096 x 4096 x 4096. tsv: a header line
 * and one row per candidate, in rank order, then the rejected ones in tile order; without it, a text for
 * people. */
void explain_print(struct text *out, const struct gpu *g, const struct isa *isa, const struct scheme *s,
                   enum model_kind kind, const struct shape *shape, bool tsv);
#endif
