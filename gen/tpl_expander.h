/* tpl_expander: what the parts of the expander share: tpl_loop (reads loop headers), tpl_body (writes bodies)
 * and tpl (the text around). Level 4; no other room includes it. Positions are token numbers of `source`. */
#ifndef HT_TPL_EXPANDER_H
#define HT_TPL_EXPANDER_H

#include <string.h>

#include "tpl_eval.h"
#include "tpl_lex.h"

struct tpl_expander {
    const struct tpl_options *options;
    struct tpl_source source;
    struct tpl_scope scope;
    struct text out;
    size_t copied; /* bytes of source.clean that are dealt with */
    size_t work;
    int refusals;
    int depth;     /* of statements */
    int breaks;    /* statements inside the innermost unrolled body that a break here would bind to */
    int continues; /* the same for continue */
    bool later;    /* some enclosing unrolled loop is past its first iteration: no comments */
    bool stop;     /* a limit is passed: unwind */
};

struct tpl_loop {
    size_t index, open, close; /* tokens; TPL_NONE where there is none */
    int first, step, count;
};

/* One complaint per token, however often its statement is written. */
void tpl_refuse(struct tpl_expander *x, size_t token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* TPL_PRAGMA_UNROLL: `#pragma unroll`; TPL_PRAGMA_KEEP: `#pragma unroll 1`; TPL_PRAGMA_OTHER: any other
 * argument. */
enum tpl_pragma { TPL_PRAGMA_NONE, TPL_PRAGMA_UNROLL, TPL_PRAGMA_KEEP, TPL_PRAGMA_OTHER };
enum tpl_pragma tpl_pragma_of(const struct tpl_expander *x, size_t i);

/* Reads `for (int i = A; ...; ...) {` behind the pragma; false after a refusal, with what there is of it in
 * *loop. */
bool tpl_read_loop(struct tpl_expander *x, size_t pragma, struct tpl_loop *loop);

/* Whether a statement of the body may declare a name; in doubt, yes: it only costs a pair of braces. */
bool tpl_body_declares(struct tpl_expander *x, const struct tpl_loop *loop);

/* Writes all iterations of the loop behind the pragma at column `indent`; returns the token behind the loop,
 * or behind the pragma where there is no loop. */
size_t tpl_unroll(struct tpl_expander *x, size_t pragma, int indent);

/* Refuses and sets stop when the output or the work is too large. */
void tpl_check_limits(struct tpl_expander *x, size_t pragma);

static inline bool is(const struct tpl_expander *x, size_t i, const char *list) {
    return tpl_is(&x->source, i, list);
}

static inline enum tpl_kind kind_of(const struct tpl_expander *x, size_t i) {
    return x->source.tokens[i].kind;
}

/* A token's spelling for messages, shortened: "%.*s" wants both. */
static inline int shown_len(const struct tpl_expander *x, size_t i) {
    const size_t len = x->source.tokens[i].len;
    return len < 40 ? (int)len : 40;
}

static inline const char *spelling(const struct tpl_expander *x, size_t i) {
    return kind_of(x, i) == TPL_END ? "" : x->source.clean.data + x->source.tokens[i].at;
}

static inline size_t code_from(const struct tpl_expander *x, size_t i) {
    while (kind_of(x, i) == TPL_COMMENT)
        i++;
    return i;
}

static inline size_t code_after(const struct tpl_expander *x, size_t i) {
    return kind_of(x, i) == TPL_END ? i : code_from(x, i + 1);
}

/* TPL_NONE at the start of the text. */
static inline size_t code_before(const struct tpl_expander *x, size_t i) {
    while (i-- > 0)
        if (kind_of(x, i) != TPL_COMMENT && kind_of(x, i) != TPL_DIRECTIVE)
            return i;
    return TPL_NONE;
}

static inline bool before_is(const struct tpl_expander *x, size_t i, const char *list) {
    const size_t before = code_before(x, i);
    return before != TPL_NONE && is(x, before, list);
}

static inline bool is_mark(const struct tpl_expander *x, size_t i) {
    return kind_of(x, i) == TPL_COMMENT && strncmp(spelling(x, i), "//@", 3) == 0;
}

/* Up to and with the ; that ends the statement, but not beyond end. */
static inline size_t behind_semicolon(const struct tpl_expander *x, size_t i, size_t end) {
    while (i < end && !is(x, i, ";")) {
        const size_t match = x->source.tokens[i].match;
        i = match != TPL_NONE && match > i ? match + 1 : i + 1;
    }
    return i < end ? i + 1 : end;
}

static inline void start_line(struct tpl_expander *x, int indent) {
    text_addf(&x->out, "%*s", indent > 0 ? indent : 0, "");
}

#endif
