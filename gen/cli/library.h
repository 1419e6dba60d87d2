/* library: what one library is made of: the kernel sets of one or several GPUs and the sources they need,
 * each source once. Two GPUs of one instruction set may plan the same kernel: its code is the same up to what
 * fits launches to the number of SMs, so the first GPU's is taken for both. */
#ifndef HT_LIBRARY_H
#define HT_LIBRARY_H

#include "cli/options.h"
#include "cli/tuned.h"
#include "emit/emit.h"

enum { LIBRARY_SETS_MAX = 16, LIBRARY_UNITS_MAX = 1024, LIBRARY_ISAS_MAX = 32 };

struct kernel_set {
    struct gpu gpu;
    struct isa changed; /* the instruction set of an ablation, with its texts */
    char suffix[32], ablation[64];
    struct emit_context context;
    struct plan_set plans;
};

/* One source: its name is also the file's without extension, and the launcher's. */
struct unit {
    enum kernel_kind kind;
    const struct emit_context *context;
    const struct plan *plan; /* whose scheme's it is; NULL: the reduction of any scheme's FP32 sums */
    char name[PLAN_NAME_MAX];
};

struct library {
    struct text recreate; /* the command that makes it again, behind "halftone-gen " */
    int sets, units;
    struct tuned tuned; /* of the one set that the table was measured with; empty: none */
    struct kernel_set set[LIBRARY_SETS_MAX];
    struct unit unit[LIBRARY_UNITS_MAX];
    int isas; /* instruction sets of the units, each once */
    const struct isa *isa[LIBRARY_ISAS_MAX];
};

/* The row of a budget's isa, if its code runs on the budget's compute capability; NULL after err_user about
 * `place`. */
const struct isa *library_isa(const struct gpu *g, const char *place);

/* A list of schemes with `auto` replaced by what the library's auto is made of. */
void library_expand_schemes(struct text *out, const char *list);
/* Whether a GPU has kernels of the scheme; if not, says why where that is not NULL. */
bool library_has(struct text *why, const struct gpu *g, const struct isa *isa, const struct scheme *s);
/* The row of a scheme's name for a GPU; NULL after err_user: unknown, or no kernels there. */
const struct scheme *library_scheme(const char *name, const struct gpu *g, const struct isa *isa);

/* Loads budgets and plans everything that `command` (emit, vendor) was asked for, into a library of zeros
 * that must not move afterwards. False after err_user. */
bool library_plan(struct library *l, const struct options *o, const char *command);

/* ---- manifest.c: the files that tie the kernels of a library together.
 *   manifest    a table of every kernel for people and scripts, GPU by GPU
 *   dispatch.c  the same as data for the runtime: a struct ht_set_desc for each GPU, and ht_sets, their list
 *   halftone.h  a copy of the public header
 *   rules.mk    the list of sources and the compile flags for make */

/* The comment on top of copied text: origin, licence, the command that copies it again. */
void manifest_banner(struct text *out, const struct library *l, const char *licence);
/* halftone.h under that; false after err_user */
bool manifest_header(struct text *out, const struct library *l);
void manifest_table(struct text *out, const struct library *l);
void manifest_dispatch(struct text *out, const struct library *l);
void manifest_rules(struct text *out, const struct library *l);

#endif
