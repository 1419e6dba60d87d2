/* manifest: the files that tie the kernels of one GPU together. Level 4.
 *   manifest    a table of every kernel for people and scripts
 *   dispatch.c  the same as data for the runtime (struct ht_set_desc ht_set)
 *   rules.mk    the list of sources and the compile flags for make */
#ifndef HT_MANIFEST_H
#define HT_MANIFEST_H

#include "emit.h"

void manifest_table(struct text *out, const struct emit_context *c, const struct plan_set *set);
void manifest_dispatch(struct text *out, const struct emit_context *c, const struct plan_set *set);
void manifest_rules(struct text *out, const struct emit_context *c, const struct plan_set *set);
#endif
