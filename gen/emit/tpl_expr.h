/* tpl_expr: CUDA C++ text as tokens with matched brackets, and the int constants they spell. Below
 * tpl. Judges nothing: any bytes give tokens, and what is no constant has no value. */
#ifndef HT_TPL_EXPR_H
#define HT_TPL_EXPR_H

#include <stdint.h>

#include "emit/tpl.h"

#define TPL_NONE SIZE_MAX
enum { TPL_NEST_MAX = 16 };

/* A mark is a `//@` comment alone or behind code. Other comments belong to the blanks between tokens. */
enum tpl_kind { TPL_NAME, TPL_NUMBER, TPL_STRING, TPL_PUNCT, TPL_MARK, TPL_DIRECTIVE, TPL_END };

struct tpl_token {
    enum tpl_kind kind;
    size_t at, len; /* in the source */
    size_t match;   /* token of the partner bracket, or TPL_NONE */
};

struct tpl_source {
    const char *bytes;
    size_t len;
    struct tpl_token *tokens; /* the last is TPL_END; free() it */
};

void tpl_lex(struct tpl_source *s, const char *bytes, size_t len);

/* Whether token i is one of the names or punctuators in `list`, which are separated by one space. */
bool tpl_is(const struct tpl_source *s, size_t i, const char *list);

/* Behind the blanks, the newline, the comment or the dropped line that begins at byte `at`; `at` itself where
 * a token begins. Of these only newlines and dropped lines end in '\n'. */
size_t tpl_blank_end(const struct tpl_source *s, size_t at);

bool tpl_is_blank(char c);
bool tpl_is_word(char c);
size_t tpl_line_start(const struct tpl_source *s, size_t at);
bool tpl_first_on_line(const struct tpl_source *s, size_t at);
int tpl_column(const struct tpl_source *s, size_t at); /* from 0; a tab goes to the next multiple of 4 */

/* Appends the lines without trailing white space, and without those that end in the drop mark. */
void tpl_clean(struct text *out, const char *bytes, size_t len);

/* What names mean at one place: the parameters, and the indices of the unrolled loops around it. */
struct tpl_scope {
    const struct tpl_param *params;
    int param_count;
    struct {
        size_t token; /* that spells the index */
        int value;
    } index[TPL_NEST_MAX + 1];
    int depth;
};

/* The innermost index spelled like token i, or -1. The parameter spelled so, or NULL. */
int tpl_find_index(const struct tpl_scope *scope, const struct tpl_source *s, size_t i);
const struct tpl_param *tpl_find_param(const struct tpl_scope *scope, const struct tpl_source *s, size_t i);

struct tpl_eval {
    const struct tpl_source *source;
    const struct tpl_scope *scope;
    bool folding;      /* only foldable parameters */
    size_t at;         /* in: first token; out: the first one that does not belong to the expression */
    bool saw_index;    /* out */
    const char *fault; /* out: why there is no value; `at` is the token in the way */
    int depth;
};

/* Arithmetic is that of a 32-bit int as the compiler would do it; what overflows, divides by zero or shifts
 * out of range is not a constant (nor is INT_MIN, which has no literal). */
bool tpl_eval(struct tpl_eval *e, int *value);

#endif
