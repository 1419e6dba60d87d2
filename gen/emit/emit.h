/* emit: writes the text of generated files from plans and templates. Everything was decided before; here are
 * only the banner, the parameters and the launcher. */
#ifndef HT_EMIT_H
#define HT_EMIT_H

#include <stdbool.h>

#include "../../runtime/halftone.h"
#include "plan/plan.h"
#include "base/text.h"

#define HT_GENERATOR_VERSION HALFTONE_VERSION_TEXT /* sets are of the runtime that they are generated for */
/* in front of the command, from the repository's root */
#define HT_RECREATE "Recreate: out/bin/halftone-gen "

struct tuned;

/* What every generated file of one GPU shares. */
struct emit_context {
    const char *root;     /* folder that holds gen/ and templates/ */
    const char *recreate; /* the command that makes the file again, behind "halftone-gen " */
    bool inner;           /* the text goes into an amalgamation, which has said what all kernels share */
    const struct gpu *gpu;
    const struct isa *isa;
    const struct tuned *tuned; /* --tuned; NULL: none */
};

/* One source: a kernel of the recipe of the plan's scheme; p NULL: of RECIPE_ANY. Faults go to err_user. */
void emit_kernel(struct text *out, const struct emit_context *c, enum kernel_kind kind, const struct plan *p);
const struct recipe_kernel *emit_recipe(enum kernel_kind kind, const struct plan *p);
/* Whether the recipe has such a kernel, and the instruction set what it needs. */
bool emit_has(const struct emit_context *c, enum kernel_kind kind, const struct plan *p);
/* Of its file, namespace and launcher; "": the recipe has no such kernel. */
void emit_kernel_name(char *name, size_t size, const struct emit_context *c, enum kernel_kind kind,
                      const struct plan *p);

/* What stands before the first kernel of a file: the vendor's header and the check of the architecture. */
void emit_head(struct text *out, const struct isa *isa);

/* What the scheme's bound is made of, and that the unit's rounding is unverified where it is. */
void emit_bound_text(struct text *out, const struct scheme *s, const struct isa *isa);
/* The scheme's input range on this instruction set's matrix unit. */
const char *emit_range_text(const struct scheme *s, const struct isa *isa);

/* ROOT/FOLDER/NAME. False after err_user. */
bool emit_read(struct text *out, const char *root, const char *folder, const char *name);
/* What of the ABI kernels carry, and all headers that decide whether vendored folders fit together. */
bool emit_read_headers(struct text *abi, struct text *headers, const char *root);
#endif
