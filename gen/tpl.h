/* tpl: expands templates by executing `#pragma unroll`. Level 4.
 *
 * A template is ordinary CUDA C++ that compiles by itself; there is no template language. This room knows
 * text and err, nothing of tiles, schemes or GPUs. Outside of what follows, text is kept byte for byte
 * (trailing white space stripped, LF line ends).
 *
 * Unrolled loops: `#pragma unroll` before `for (int i = A; i < B; i++) { ... }`; also `<=`, `++i`, `i += C`.
 * A, B, C are built from integer literals without suffix, parameters, indices of enclosing unrolled loops,
 * parentheses,
 * ?: and the C operators on int. `#pragma unroll 1` keeps its loop and stays as text, like a `for` without
 * pragma.
 * - The body is written once per iteration, in braces of its own where it declares names. (A name declared by
 * a macro is not seen: give such a body braces of its own.)
 * - The index becomes a literal wherever it is a whole identifier: not in strings and comments, nor after .
 * -> ::
 * - What stands between ( [ { or a comma and the next comma or ) ] } is folded to one literal when it holds
 * an index, else only literals and foldable parameters, and the operators are + - * / % << >> & | ^ ~. All
 * else stays text: comparisons, ?:, `if (i + 1 < 4)`, template arguments, parameters that are not foldable.
 * - One statement per line, 4 spaces per brace level; continuation lines keep their distance to the
 * statement's start, or get 8. Blank lines go. Comments appear in the first iteration only.
 *
 * Holes: the lines `//@emit NAME` and `//@end`. The code between them is the hole's meaning; the callback may
 * write other lines in its place. Holes neither nest nor stand inside unrolled loops. A line ending in
 * `//@drop` goes.
 *
 * Anything else after the pragma is refused with path:line and the cure, all refusals at once; see tests/tpl.
 */
#ifndef HT_TPL_H
#define HT_TPL_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

struct tpl_param {
    const char *name;
    long value;    /* has to fit an int, as it does in the template */
    bool foldable; /* its value may be written in place of its name; loop bounds know every parameter */
};

struct tpl_options {
    const char *path; /* for messages only */
    const struct tpl_param *params;
    int param_count;
    /* Writes the replacement of hole NAME as whole lines, the first at column `indent`; false: keep the code
     * that stands in the hole (what was written is forgotten). NULL: keep all. */
    bool (*emit)(void *context, const char *name, struct text *out, int indent);
    void *context;
};

enum { TPL_ITERATIONS_MAX = 4096, TPL_OUTPUT_MAX_BYTES = 4 << 20 };

/* Appends the expansion. False, with nothing appended and every refusal reported by err_user, if there was
 * one; false with out->failed when memory ran out. */
bool tpl_expand(struct text *out, const char *bytes, size_t len, const struct tpl_options *options);

/* Appends the lines between the lines `/ *@NAME* /` and `/ *@end* /` (without the blanks); false after
 * err_user when there is not exactly one such section. */
bool tpl_section(struct text *out, const char *path, const char *bytes, size_t len, const char *name);

#endif
