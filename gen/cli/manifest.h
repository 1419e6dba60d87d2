/* manifest: the files that tie the kernels of a library together.
 *   manifest    a table of every kernel for people and scripts, GPU by GPU
 *   dispatch.c  the same as data for the runtime: a struct ht_set_desc for each GPU, and ht_sets, their list
 *   halftone.h  a copy of the public header
 *   rules.mk    the list of sources and the compile flags for make */
#ifndef HT_MANIFEST_H
#define HT_MANIFEST_H

#include "cli/library.h"

/* The comment on top of copied text: origin, licence, the command that copies it again. */
void manifest_banner(struct text *out, const struct library *l, const char *licence);
/* halftone.h under that; false after err_user */
bool manifest_header(struct text *out, const struct library *l);
void manifest_table(struct text *out, const struct library *l);
void manifest_dispatch(struct text *out, const struct library *l);
void manifest_rules(struct text *out, const struct library *l);
#endif
