/* tpl: expands templates by executing `#pragma unroll`.
 *
 * A template is ordinary CUDA C++ that compiles by itself; there is no template language. Knows
 * text and err, nothing of tiles, schemes or GPUs. Outside of what follows, text is kept byte for byte
 * (trailing white space stripped, LF line ends).
 *
 * Unrolled loops: `#pragma unroll` before `for (int i = A; i < B; i++) { ... }`; also `<=`, `++i`, `i += C`.
 * A, B, C are built from decimal literals, parameters, indices of enclosing unrolled loops, ( ) + - * / % <<
 * >> & | ^ ~, comparisons, && || ?: on int. `#pragma unroll 1` stays as text, and so does its loop.
 * - The body is written once per iteration, in braces of its own where it may declare names. (A name declared
 *   by a macro is not seen: give such a body braces of its own.)
 * - The index becomes a literal wherever it is a whole identifier, but not behind . -> ::
 * - What stands between ( [ { or a comma and the next comma or ) ] } is folded to one literal when it is a
 *   constant that holds an index, of foldable parameters only. All else stays text, such as `if (i + 1 < 4)`.
 * - Lines break behind ; { } at 4 spaces per brace level, and where the source breaks them, at the same
 *   distance to the statement's start, or 8. Blank lines go. Comments between statements appear in the first
 *   iteration only, comments inside statements go.
 * - A body has no preprocessor lines, static or __shared__ objects, switch or goto, and leaves its loop only
 *   by return.
 *
 * Holes: the lines `//@emit NAME` and `//@end`. The code between them is the hole's meaning; the callback may
 * write other lines in its place. Holes neither nest nor stand inside unrolled loops. A line ending in
 * `//@drop` goes.
 *
 * Anything else after the pragma is refused with path:line and cure, all at once: tests/unit/tpl.txt.
 */
#ifndef HT_TPL_H
#define HT_TPL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct tpl_param {
    const char *name;
    size_t length; /* of the name, where other text follows it; 0: it ends */
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

/* Appends what `constexpr int NAME = ...` at the start of a line says of names that the list lacks, as far as
 * it is made of literals and names of the list; operators as in loop bounds. The names stay in `bytes`; those
 * in `folds`, one space between them, are foldable. False: the list, of `most`, is full. */
bool tpl_read_constants(const char *bytes, size_t len, const char *folds, struct tpl_param *list, int *count,
                        int most);

/* Appends the expansion. False, with nothing appended and every refusal reported by err_user, if there was
 * one. */
bool tpl_expand(struct text *out, const char *bytes, size_t len, const struct tpl_options *options);

/* Appends the lines between the lines `/ *@NAME* /` and `/ *@end* /` (without the blanks); false after
 * err_user when there is not exactly one such section. */
bool tpl_section(struct text *out, const char *path, const char *bytes, size_t len, const char *name);

/* reach.c: of the functions of a kernel file those that it calls.
 * Appends the code of one namespace in three parts: types, constants and declarations of the first `library`
 * bytes, the rest, the functions of the library. Without functions that neither `callers` nor anything else
 * that stays names; comments right above a function go with it, a heading with all that it heads. What is no
 * function stays, and so do all overloads of a name. */
void reach_add(struct text *out, const struct text *code, size_t library, const struct text *callers);

#endif
