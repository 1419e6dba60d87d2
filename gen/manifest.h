/* manifest: the files that tie the kernels of a library together. Level 4.
 *   manifest    a table of every kernel for people and scripts, GPU by GPU
 *   dispatch.c  the same as data for the runtime: a struct ht_set_desc for each GPU, and ht_sets, the list of them
 *   rules.mk    the list of sources and the compile flags for make */
#ifndef HT_MANIFEST_H
#define HT_MANIFEST_H

#include "library.h"

void manifest_table(struct text *out, const struct library *l);
void manifest_dispatch(struct text *out, const struct library *l);
void manifest_rules(struct text *out, const struct library *l);
#endif
