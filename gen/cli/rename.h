/* rename: gives copied text another prefix. Knows text alone. What becomes of which name: vendor.h. */
#ifndef HT_RENAME_H
#define HT_RENAME_H

#include "base/text.h"

enum { RENAME_PREFIX_MAX = 48 };

struct rename {
    bool active;                       /* false: text is copied as it is */
    char prefix[RENAME_PREFIX_MAX];    /* "halftone_" */
    char upper[RENAME_PREFIX_MAX];     /* "HALFTONE_" */
    char stem[RENAME_PREFIX_MAX];      /* "halftone": the handle's type, header and library */
    const char *abi;                   /* declarations that kernels share with the runtime */
};

/* RENAME_ALL: every name. RENAME_TABLE: but "halftone" alone, which in tables is the name of a model.
 * RENAME_KERNEL: names that begin with the kernel's own, and those declared in abi. */
enum rename_scope { RENAME_ALL, RENAME_TABLE, RENAME_KERNEL };

/* prefix NULL: none. abi must live as long. */
void rename_init(struct rename *r, const char *prefix, const char *abi);

/* Appends the text; `kernel` is for RENAME_KERNEL. Lines that hold "Recreate:" stay as they are. */
void rename_text(struct text *out, const struct rename *r, const char *bytes, size_t len,
                 enum rename_scope scope, const char *kernel);
#endif
