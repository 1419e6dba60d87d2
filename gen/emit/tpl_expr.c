/* tpl_expr: see tpl_expr.h. Character classes are spelled out: the locale must not matter. */
#include "emit/tpl_expr.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { EVAL_DEPTH_MAX = 64 };

/* ---- characters and lines ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool tpl_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

bool tpl_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

size_t tpl_line_start(const struct tpl_source *s, size_t at) {
    while (at > 0 && s->bytes[at - 1] != '\n')
        at--;
    return at;
}

bool tpl_first_on_line(const struct tpl_source *s, size_t at) {
    while (at > 0 && tpl_is_blank(s->bytes[at - 1]))
        at--;
    return at == 0 || s->bytes[at - 1] == '\n';
}

int tpl_column(const struct tpl_source *s, size_t at) {
    int column = 0;
    for (size_t i = tpl_line_start(s, at); i < at; i++)
        column = s->bytes[i] == '\t' ? (column / 4 + 1) * 4 : column + 1;
    return column;
}

/* Behind the line's last byte that is not blank; *next is the start of the next line. */
static size_t line_end(const char *p, size_t at, size_t n, size_t *next) {
    const char *newline = at < n ? memchr(p + at, '\n', n - at) : NULL;
    size_t end = newline ? (size_t)(newline - p) : n;
    *next = newline ? end + 1 : n;
    while (end > at && tpl_is_blank(p[end - 1]))
        end--;
    return end;
}

static bool is_dropped(const char *p, size_t start, size_t end) {
    return end - start >= 7 && memcmp(p + end - 7, "//@drop", 7) == 0;
}

void tpl_clean(struct text *out, const char *bytes, size_t len) {
    for (size_t at = 0, next; at < len; at = next) {
        const size_t end = line_end(bytes, at, len, &next);
        if (is_dropped(bytes, at, end))
            continue;
        text_add_bytes(out, bytes + at, end - at);
        text_add(out, "\n");
    }
}

/* ---- tokens. Scanners go from the first byte of something to behind its last. ---- */

/* To the newline of a line that no backslash continues. */
static size_t scan_line(const char *p, size_t i, size_t n) {
    for (size_t next;; i = next) {
        const size_t end = line_end(p, i, n, &next);
        if (next == n || end == i || p[end - 1] != '\\')
            return end;
    }
}

static size_t scan_block_comment(const char *p, size_t i, size_t n) {
    for (i += 2; i < n; i++)
        if (p[i] == '*' && i + 1 < n && p[i + 1] == '/')
            return i + 2;
    return n;
}

static size_t scan_quoted(const char *p, size_t i, size_t n) {
    const char quote = p[i++];
    while (i < n && p[i] != '\n') {
        if (p[i] == '\\' && i + 1 < n)
            i++;
        else if (p[i] == quote)
            return i + 1;
        i++;
    }
    return i;
}

/* Names and preprocessing numbers, digit separators included. */
static size_t scan_word(const char *p, size_t i, size_t n) {
    const bool number = !tpl_is_word(p[i]) || is_digit(p[i]);
    for (i++; i < n; i++) {
        const bool separator = p[i] == '\'' && i + 1 < n && tpl_is_word(p[i + 1]);
        if (!tpl_is_word(p[i]) && !(number && (p[i] == '.' || separator)))
            break;
    }
    return i;
}

static size_t scan_punct(const char *p, size_t i, size_t n) {
    static const char list[] = "<<= >>= ... -> ++ -- << >> <= >= == != && || += -= *= /= %= &= |= ^= ::";
    for (size_t len = 3; len > 1; len--)
        if (n - i >= len && !memchr(p + i, ' ', len) && text_has_word(list, p + i, len))
            return i + len;
    return i + 1;
}

size_t tpl_blank_end(const struct tpl_source *s, size_t at) {
    const char *p = s->bytes;
    const size_t n = s->len, from = at;
    const char next = at + 1 < n ? p[at + 1] : '\0';
    size_t next_line;
    if (at < n && (at == 0 || p[at - 1] == '\n') && is_dropped(p, at, line_end(p, at, n, &next_line)))
        return next_line;
    while (at < n && tpl_is_blank(p[at]))
        at++;
    if (at > from || at == n)
        return at;
    if (p[at] == '/' && next == '*')
        return scan_block_comment(p, at, n);
    if (p[at] == '/' && next == '/' && !(at + 2 < n && p[at + 2] == '@'))
        return scan_line(p, at, n);
    return p[at] == '\n' ? at + 1 : at;
}

static size_t scan_token(const struct tpl_source *s, size_t i, enum tpl_kind *kind) {
    const char *p = s->bytes, next = i + 1 < s->len ? p[i + 1] : '\0';
    if (p[i] == '#' && tpl_first_on_line(s, i))
        return *kind = TPL_DIRECTIVE, scan_line(p, i, s->len);
    if (p[i] == '/' && next == '/')
        return *kind = TPL_MARK, scan_line(p, i, s->len);
    if (p[i] == '"' || p[i] == '\'')
        return *kind = TPL_STRING, scan_quoted(p, i, s->len);
    if (is_digit(p[i]) || (p[i] == '.' && is_digit(next)))
        return *kind = TPL_NUMBER, scan_word(p, i, s->len);
    if (tpl_is_word(p[i]))
        return *kind = TPL_NAME, scan_word(p, i, s->len);
    return *kind = TPL_PUNCT, scan_punct(p, i, s->len);
}

/* Partners of ( [ {. A } closes the nearest {, whatever is open inside; ) and ] do not look beyond a {. So
 * halves of #if branches in one place do not spoil the matches elsewhere, and what matches inside a block
 * stays inside. `stack` has room for all tokens. */
static void match_brackets(struct tpl_source *s, size_t *stack) {
    size_t depth = 0;
    for (size_t i = 0; s->tokens[i].kind != TPL_END; i++) {
        if (tpl_is(s, i, "( [ {"))
            stack[depth++] = i;
        if (!tpl_is(s, i, ") ] }"))
            continue;
        const char *opener = tpl_is(s, i, ")") ? "(" : tpl_is(s, i, "]") ? "[" : "{";
        size_t d = depth;
        while (d > 0 && !tpl_is(s, stack[d - 1], opener) &&
               (tpl_is(s, i, "}") || !tpl_is(s, stack[d - 1], "{")))
            d--;
        if (d > 0 && tpl_is(s, stack[d - 1], opener)) {
            depth = d - 1;
            s->tokens[i].match = stack[depth];
            s->tokens[stack[depth]].match = i;
        }
    }
}

void tpl_lex(struct tpl_source *s, const char *bytes, size_t len) {
    *s = (struct tpl_source){bytes, len, text_memory(NULL, (len + 1) * sizeof *s->tokens)};
    size_t *stack = text_memory(NULL, (len + 1) * sizeof *stack), count = 0;
    for (size_t at = 0, end; at < len; at = end) {
        struct tpl_token t = {.at = at, .match = TPL_NONE};
        end = tpl_blank_end(s, at);
        if (end > at)
            continue;
        end = scan_token(s, at, &t.kind);
        t.len = end - at;
        s->tokens[count++] = t;
    }
    s->tokens[count] = (struct tpl_token){TPL_END, len, 0, TPL_NONE};
    match_brackets(s, stack);
    free(stack);
}

bool tpl_is(const struct tpl_source *s, size_t i, const char *list) {
    const struct tpl_token *t = &s->tokens[i];
    return (t->kind == TPL_NAME || t->kind == TPL_PUNCT) && text_has_word(list, s->bytes + t->at, t->len);
}

/* ---- constants: precedence climbing over the tokens ---- */

static bool same_spelling(const struct tpl_source *s, size_t i, const char *name, size_t len) {
    const struct tpl_token *t = &s->tokens[i];
    return t->kind == TPL_NAME && t->len == len && memcmp(s->bytes + t->at, name, len) == 0;
}

int tpl_find_index(const struct tpl_scope *scope, const struct tpl_source *s, size_t i) {
    int d = scope->depth - 1;
    for (; d >= 0; d--) {
        const struct tpl_token *t = &s->tokens[scope->index[d].token];
        if (same_spelling(s, i, s->bytes + t->at, t->len))
            break;
    }
    return d;
}

const struct tpl_param *tpl_find_param(const struct tpl_scope *scope, const struct tpl_source *s, size_t i) {
    for (int p = 0; p < scope->param_count; p++) {
        const struct tpl_param *param = &scope->params[p];
        if (same_spelling(s, i, param->name, param->length > 0 ? param->length : strlen(param->name)))
            return param;
    }
    return NULL;
}

static bool fail(struct tpl_eval *e, const char *fault) {
    e->fault = fault;
    return false;
}

static bool in_range(struct tpl_eval *e, int64_t wide, int *value) {
    if (wide > INT_MAX || wide <= INT_MIN)
        return fail(e, "does not fit an int");
    *value = (int)wide;
    return true;
}

static bool literal(struct tpl_eval *e, int *value) {
    const struct tpl_token *t = &e->source->tokens[e->at];
    const char *p = e->source->bytes + t->at;
    int64_t wide = 0;
    for (size_t i = 0; i < t->len && wide <= INT_MAX; i++) {
        if (!is_digit(p[i]) || (i > 0 && p[0] == '0'))
            return fail(e, "is not a plain decimal literal");
        wide = wide * 10 + (p[i] - '0');
    }
    return in_range(e, wide, value);
}

static bool named(struct tpl_eval *e, int *value) {
    const int index = tpl_find_index(e->scope, e->source, e->at);
    const struct tpl_param *param = tpl_find_param(e->scope, e->source, e->at);
    e->saw_index = e->saw_index || index >= 0;
    if (index < 0 && (!param || (e->folding && !param->foldable)))
        return fail(e, "is not a constant here: use literals, parameters and enclosing unrolled indices");
    return in_range(e, index >= 0 ? e->scope->index[index].value : param->value, value);
}

static bool conditional(struct tpl_eval *e, int *value);

/* A literal, a name, a parenthesis, or one of these behind a sign. */
static bool unary(struct tpl_eval *e, int *value) {
    static const char what[] = "is not part of a constant: literals, names, ( ) + - * / % << >> & | ^ ~";
    const struct tpl_source *s = e->source;
    const size_t at = e->at;
    const bool number = s->tokens[at].kind == TPL_NUMBER, parenthesis = tpl_is(s, at, "(");
    if (number || s->tokens[at].kind == TPL_NAME) {
        const bool ok = number ? literal(e, value) : named(e, value);
        e->at += ok;
        return ok;
    }
    if (!tpl_is(s, at, "( - + ~") || e->depth == EVAL_DEPTH_MAX)
        return fail(e, e->depth == EVAL_DEPTH_MAX ? "nests too deep" : what);
    e->at++;
    e->depth++;
    if (!(parenthesis ? conditional(e, value) : unary(e, value)))
        return false;
    if (parenthesis && !tpl_is(s, e->at, ")"))
        return fail(e, what);
    e->at += parenthesis;
    e->depth--;
    const int64_t x = *value;
    return in_range(e, tpl_is(s, at, "-") ? -x : tpl_is(s, at, "~") ? ~x : x, value);
}

/* x OP y, the operator at token `at`. */
static bool apply(struct tpl_eval *e, size_t at, int64_t x, int64_t y, int *value) {
    const struct tpl_source *s = e->source;
    if (tpl_is(s, at, "/ %") && y == 0)
        return fail(e, "divides by zero");
    if (tpl_is(s, at, "<< >>") && (x < 0 || y < 0 || y > 31))
        return fail(e, "shifts a negative number or out of range");
    const char op = s->bytes[s->tokens[at].at];
    const int64_t result = tpl_is(s, at, "||")   ? x || y
                           : tpl_is(s, at, "&&") ? x && y
                           : tpl_is(s, at, "==") ? x == y
                           : tpl_is(s, at, "!=") ? x != y
                           : tpl_is(s, at, "<=") ? x <= y
                           : tpl_is(s, at, ">=") ? x >= y
                           : tpl_is(s, at, "<")  ? x < y
                           : tpl_is(s, at, ">")  ? x > y
                           : op == '|'           ? x | y
                           : op == '^'           ? x ^ y
                           : op == '&'           ? x & y
                           : op == '<'           ? x << y
                           : op == '>'           ? x >> y
                           : op == '+'           ? x + y
                           : op == '-'           ? x - y
                           : op == '*'           ? x * y
                           : op == '/'           ? x / y
                                                 : x % y;
    return in_range(e, result, value);
}

/* Operands joined by operators of this level and tighter ones. What yields a truth is not folded: it stays
 * text. */
static bool binary(struct tpl_eval *e, int loosest, int *value) {
    static const char *const levels[] = {"||",    "&&",        "|",     "^",   "&",
                                         "== !=", "< > <= >=", "<< >>", "+ -", "* / %"};
    const int count = sizeof levels / sizeof *levels;
    if (!unary(e, value))
        return false;
    for (;;) {
        const size_t at = e->at;
        int level = loosest, right;
        while (level < count && !tpl_is(e->source, at, levels[level]))
            level++;
        if (level == count || (e->folding && tpl_is(e->source, at, "|| && == != < > <= >=")))
            return true;
        e->at++;
        if (!binary(e, level + 1, &right))
            return false;
        const size_t after = e->at;
        e->at = at; /* where the fault is, if there is one */
        if (!apply(e, at, *value, right, value))
            return false;
        e->at = after;
    }
}

static bool conditional(struct tpl_eval *e, int *value) {
    int yes, no;
    if (!binary(e, 0, value) || e->folding || !tpl_is(e->source, e->at, "?"))
        return e->fault == NULL;
    e->at++;
    if (!conditional(e, &yes))
        return false;
    if (!tpl_is(e->source, e->at, ":"))
        return fail(e, "is in the way: ? wants a :");
    e->at++;
    if (!conditional(e, &no))
        return false;
    *value = *value ? yes : no;
    return true;
}

bool tpl_eval(struct tpl_eval *e, int *value) {
    e->saw_index = false;
    e->depth = 0;
    e->fault = NULL;
    return conditional(e, value);
}

/* Token behind the piece at token i: the next , or ; outside of brackets. */
static size_t piece_end(const struct tpl_source *s, size_t i) {
    while (s->tokens[i].kind != TPL_END && !tpl_is(s, i, ", ;"))
        i = tpl_is(s, i, "( [ {") && s->tokens[i].match != TPL_NONE ? s->tokens[i].match + 1 : i + 1;
    return i;
}

bool tpl_read_constants(const char *bytes, size_t len, const char *folds, struct tpl_param *list, int *count,
                        int most) {
    struct tpl_source s;
    tpl_lex(&s, bytes, len);
    for (size_t i = 0; s.tokens[i].kind != TPL_END; i++) {
        if (!tpl_is(&s, i, "constexpr") || tpl_column(&s, s.tokens[i].at) != 0 || !tpl_is(&s, i + 1, "int"))
            continue;
        for (i += 2; s.tokens[i].kind == TPL_NAME && tpl_is(&s, i + 1, "="); i++) {
            const struct tpl_scope scope = {.params = list, .param_count = *count};
            struct tpl_eval e = {.source = &s, .scope = &scope, .at = i + 2};
            int value;
            if (tpl_eval(&e, &value) && tpl_is(&s, e.at, ", ;") && !tpl_find_param(&scope, &s, i) &&
                *count < most)
                list[(*count)++] =
                    (struct tpl_param){bytes + s.tokens[i].at, s.tokens[i].len, value, tpl_is(&s, i, folds)};
            i = piece_end(&s, i + 2);
            if (!tpl_is(&s, i, ","))
                break;
        }
    }
    free(s.tokens);
    return *count < most;
}
