/* tpl_lex: CUDA C++ text as tokens with matched brackets. Level 4, below tpl_eval and tpl; knows only text.
 *
 * It does not judge: any bytes give tokens. Unclosed strings end with their line, unclosed comments with the
 * text. */
#ifndef HT_TPL_LEX_H
#define HT_TPL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

enum tpl_kind { TPL_NAME, TPL_NUMBER, TPL_STRING, TPL_PUNCT, TPL_COMMENT, TPL_DIRECTIVE, TPL_END };
#define TPL_NONE SIZE_MAX

struct tpl_token {
    enum tpl_kind kind;
    size_t at, len; /* in clean */
    size_t match;   /* token of the partner bracket, or TPL_NONE */
    int line;       /* in the original text, from 1 */
    int column;     /* from 0; a tab goes to the next multiple of 4 */
    bool newline_before;
    bool refused; /* for the reader: this token was already complained about */
};

struct tpl_source {
    struct text clean; /* no trailing white space, no dropped lines, LF ends */
    struct tpl_token *tokens;
    size_t count; /* the last token is TPL_END */
};

/* False when memory ran out; tpl_source_free is due in either case. */
bool tpl_lex(struct tpl_source *s, const char *bytes, size_t len);
void tpl_source_free(struct tpl_source *s);

/* Appends the lines without trailing white space and without those that end in the drop mark. `lines`, if not
 * NULL, gets the original number of each line written and must have room for one more than there are LF
 * bytes. */
void tpl_clean(struct text *out, const char *bytes, size_t len, int *lines);

/* Whether token i is one of the names or punctuators in `list`, which are separated by one space. */
bool tpl_is(const struct tpl_source *s, size_t i, const char *list);

#endif
