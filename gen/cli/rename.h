/* rename: gives copied text another prefix. Knows text and tokens. What becomes of which name: vendor.h. */
#ifndef HT_RENAME_H
#define HT_RENAME_H

#include "base/text.h"

enum { RENAME_PREFIX_MAX = 48 };

struct rename {
    bool active;                       /* false: text is copied as it is */
    char prefix[RENAME_PREFIX_MAX];    /* "halftone_" */
    char upper[RENAME_PREFIX_MAX];     /* "HALFTONE_" */
    char stem[RENAME_PREFIX_MAX];      /* "halftone": the handle's type, header and library */
    const char *shared;                /* names that kernels share with the runtime: of rename_names */
};

/* RENAME_ALL: every name. RENAME_TABLE: but "halftone" alone, which in tables is the name of a model.
 * RENAME_KERNEL: names that begin with the kernel's own, and those in `shared`. */
enum rename_scope { RENAME_ALL, RENAME_TABLE, RENAME_KERNEL };

/* Adds each ht_ and HT_ name of the code once, those in comments aside. Tokens count, not how a name is
 * declared. */
void rename_names(struct text *out, const char *code, size_t len);

/* prefix NULL: none. `shared` must live as long. */
void rename_init(struct rename *r, const char *prefix, const char *shared);

/* Appends the text; `kernel` is for RENAME_KERNEL. Lines that hold "Recreate:" stay as they are. */
void rename_text(struct text *out, const struct rename *r, const char *bytes, size_t len,
                 enum rename_scope scope, const char *kernel);
#endif
