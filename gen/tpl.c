/* tpl: see tpl.h. Text outside of unrolled loops is copied as byte ranges; the body of an unrolled loop is
 * walked statement by statement, once per iteration, and written anew. */
#include "tpl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "tpl_eval.h"
#include "tpl_lex.h"

/* Against templates that run long without writing much: tokens written plus iterations. */
enum { WORK_MAX = 1 << 24, STATEMENT_DEPTH_MAX = 64, NAME_MAX_BYTES = 64 };

struct expander {
    const struct tpl_options *options;
    struct tpl_source source;
    struct tpl_scope scope;
    struct text out;
    size_t copied; /* bytes of source.clean that are dealt with */
    size_t work;
    int refusals;
    int depth; /* of statements */
    int breaks,
        continues; /* statements around us, inside the innermost unrolled body, that these would bind to */
    bool later;    /* some enclosing unrolled loop is past its first iteration: no comments */
    bool stop;     /* a limit is passed: unwind */
};

struct loop {
    size_t index, open, close; /* tokens; TPL_NONE where there is none */
    int first, step, count;
};

static void refuse(struct expander *x, size_t token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One complaint per token, however often its statement is written. */
static void refuse(struct expander *x, size_t token, const char *format, ...) {
    struct tpl_token *t = &x->source.tokens[token];
    x->refusals++;
    if (t->refused)
        return;
    t->refused = true;
    char message[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    err_user(x->options->path, t->line, "%s", message);
}

static bool is(const struct expander *x, size_t i, const char *list) {
    return tpl_is(&x->source, i, list);
}

static enum tpl_kind kind_of(const struct expander *x, size_t i) {
    return x->source.tokens[i].kind;
}

/* A token's spelling for messages, shortened: "%.*s" wants both. */
static int shown_len(const struct expander *x, size_t i) {
    const size_t len = x->source.tokens[i].len;
    return len < 40 ? (int)len : 40;
}

static const char *spelling(const struct expander *x, size_t i) {
    return kind_of(x, i) == TPL_END ? "" : x->source.clean.data + x->source.tokens[i].at;
}

static size_t code_from(const struct expander *x, size_t i) {
    while (kind_of(x, i) == TPL_COMMENT)
        i++;
    return i;
}

static size_t code_after(const struct expander *x, size_t i) {
    return kind_of(x, i) == TPL_END ? i : code_from(x, i + 1);
}

/* TPL_NONE at the start of the text. */
static size_t code_before(const struct expander *x, size_t i) {
    while (i-- > 0)
        if (kind_of(x, i) != TPL_COMMENT && kind_of(x, i) != TPL_DIRECTIVE)
            return i;
    return TPL_NONE;
}

static bool before_is(const struct expander *x, size_t i, const char *list) {
    const size_t before = code_before(x, i);
    return before != TPL_NONE && is(x, before, list);
}

static bool is_mark(const struct expander *x, size_t i) {
    return kind_of(x, i) == TPL_COMMENT && strncmp(spelling(x, i), "//@", 3) == 0;
}

enum pragma { PRAGMA_NONE, PRAGMA_UNROLL, PRAGMA_KEEP, PRAGMA_OTHER };

/* PRAGMA_KEEP: `#pragma unroll 1`; PRAGMA_OTHER: any other argument. */
static enum pragma pragma_of(const struct expander *x, size_t i) {
    if (kind_of(x, i) != TPL_DIRECTIVE)
        return PRAGMA_NONE;
    static const char *const words[] = {"#", "pragma", "unroll"};
    const char *p = spelling(x, i), *end = p + x->source.tokens[i].len;
    for (size_t w = 0; w < 3; w++) {
        const size_t len = strlen(words[w]);
        if ((size_t)(end - p) < len || memcmp(p, words[w], len) != 0)
            return PRAGMA_NONE;
        p += len;
        if (w > 0 && p < end && !strchr(" \t(/\\", *p))
            return PRAGMA_NONE; /* a longer word, such as unroll_and_jam */
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
    }
    if (p == end || (*p == '/' && end - p > 1))
        return PRAGMA_UNROLL;
    return *p == '1' && end - p == 1 ? PRAGMA_KEEP : PRAGMA_OTHER;
}

/* ---- writing tokens ---- */

static void start_line(struct expander *x, int indent) {
    text_addf(&x->out, "%*s", indent > 0 ? indent : 0, "");
}

static void line(struct expander *x, int indent, const char *s) {
    start_line(x, indent);
    text_add(&x->out, s);
    text_add(&x->out, "\n");
}

static void add_token(struct expander *x, size_t i) {
    text_add_bytes(&x->out, spelling(x, i), x->source.tokens[i].len);
}

/* Whether comment i is to be written; marks are refused, since holes end where loops begin. */
static bool shows_comment(struct expander *x, size_t i) {
    if (is_mark(x, i))
        refuse(x, i, "`%.*s` inside an unrolled loop: put the whole loop between //@emit and //@end",
               shown_len(x, i), spelling(x, i));
    return !x->later;
}

/* A comment of several lines moves as a block: by as many columns as its first line moved to get to `column`.
 */
static void add_comment(struct expander *x, size_t i, int column) {
    const struct tpl_token *t = &x->source.tokens[i];
    const char *p = spelling(x, i), *end = p + t->len;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *next = newline ? newline + 1 : end;
        text_add_bytes(&x->out, p, (size_t)(next - p));
        int blanks = 0;
        for (p = next; p < end && *p == ' '; p++)
            blanks++;
        const int moved = blanks + column - t->column;
        if (newline && p < end && *p != '\n')
            start_line(x, moved);
    }
}

static void comment_line(struct expander *x, size_t i, int indent) {
    if (!shows_comment(x, i))
        return;
    start_line(x, indent);
    add_comment(x, i, indent);
    text_add(&x->out, "\n");
}

/* The place of a token in its statement, for line breaks inside. */
struct gap {
    int indent, column; /* of the statement: written, and in the source */
    bool lost;          /* comments before the token were left out */
    int lost_column;    /* of one that began a line; -1: none */
};

static void add_gap(struct expander *x, size_t i, const struct gap *gap) {
    const struct tpl_token *t = &x->source.tokens[i], *before = t - 1;
    const size_t at = before->at + before->len;
    if (t->newline_before || gap->lost_column >= 0) {
        const int moved = (t->newline_before ? t->column : gap->lost_column) - gap->column;
        text_add(&x->out, "\n");
        start_line(x, gap->indent + (moved > 0 || (moved == 0 && is(x, i, ") ] }")) ? moved : 8));
    } else if (!gap->lost) {
        text_add_bytes(&x->out, x->source.clean.data + at, t->at - at);
    } else if (!is(x, i, ", ; ) ]")) {
        text_add(&x->out, " ");
    }
}

/* Refuses uses of the index at token i that a literal cannot stand in for. */
static void check_index_use(struct expander *x, size_t i) {
    static const char operators[] =
        "return case else do goto sizeof throw co_return co_yield and or not xor bitand bitor";
    const size_t before = code_before(x, i), after = code_after(x, i);
    const int len = shown_len(x, i);
    const char *name = spelling(x, i);
    const bool declares = kind_of(x, before) == TPL_NAME && !is(x, before, operators);
    const bool declares_pointer =
        is(x, before, "* & &&") && before_is(x, before, "int float double char bool auto half");
    if (declares || declares_pointer)
        refuse(x, i, "`%.*s` is declared again inside the unrolled loop that counts with it: rename one", len,
               name);
    else if (is(x, after, "= += -= *= /= %= <<= >>= &= |= ^= ++ --") || is(x, before, "++ --"))
        refuse(x, i,
               "the index `%.*s` is changed in the body of its unrolled loop: count with another variable",
               len, name);
    else if (is(x, before, "&") && kind_of(x, before - 1) == TPL_PUNCT && !is(x, before - 1, ") ]"))
        refuse(x, i, "the index `%.*s` becomes a literal and has no address: copy it to a variable", len,
               name);
}

static void add_name(struct expander *x, size_t i) {
    if (is(x, i, "static __shared__"))
        refuse(
            x, i,
            "`%.*s` inside an unrolled loop would become one object per iteration: move it out of the loop",
            shown_len(x, i), spelling(x, i));
    const int index = tpl_find_index(&x->scope, &x->source, i);
    if (index < 0 || before_is(x, i, ". -> ::")) {
        add_token(x, i);
        return;
    }
    check_index_use(x, i);
    const int value = x->scope.index[index].value;
    text_addf(&x->out, value < 0 ? "(%d)" : "%d", value);
}

/* Writes the piece from token i to the next , or closing bracket as one literal if that is all it is; returns
 * the token behind it, or i. */
static size_t fold(struct expander *x, size_t i) {
    struct tpl_eval e = {.source = &x->source, .scope = &x->scope, .folding = true, .at = i};
    int value;
    if (!tpl_eval(&e, &value) || !e.saw_index || !is(x, e.at, ", ) ] }"))
        return i;
    text_addf(&x->out, "%d", value);
    return e.at;
}

/* Writes the tokens [from, to) of one statement; the caller has begun the line and ends it. */
static void add_tokens(struct expander *x, size_t from, size_t to, int indent) {
    struct gap gap = {indent, x->source.tokens[from].column, false, -1};
    int brackets = 0;
    bool piece = false;
    for (size_t i = from; i < to; i++) {
        const enum tpl_kind kind = kind_of(x, i);
        x->work++;
        if (kind == TPL_COMMENT && !shows_comment(x, i)) {
            gap.lost = true;
            if (x->source.tokens[i].newline_before)
                gap.lost_column = x->source.tokens[i].column;
            continue;
        }
        if (i > from)
            add_gap(x, i, &gap);
        gap.lost = false;
        gap.lost_column = -1;
        if (kind == TPL_COMMENT) {
            add_comment(x, i, x->source.tokens[i].column);
            continue;
        }
        const size_t folded = piece ? fold(x, i) : i;
        if (folded > i) {
            piece = false;
            i = folded - 1;
            continue;
        }
        if (kind == TPL_DIRECTIVE)
            refuse(x, i, "preprocessor line inside an unrolled loop: move it out of the loop");
        else if (is(x, i, "\\ #"))
            refuse(x, i, "`%.*s` inside an unrolled loop: write the code without it", shown_len(x, i),
                   spelling(x, i));
        else if (is(x, i, "( [ { ) ] }") && x->source.tokens[i].match == TPL_NONE)
            refuse(x, i, "`%.*s` has no partner inside the unrolled loop", shown_len(x, i), spelling(x, i));
        if (kind == TPL_NAME)
            add_name(x, i);
        else
            add_token(x, i);
        brackets += is(x, i, "( [ {") ? 1 : is(x, i, ") ] }") ? -1 : 0;
        piece = is(x, i, "( [ {") || (brackets > 0 && is(x, i, ","));
    }
}

/* ---- statements ---- */

static size_t statement(struct expander *x, size_t i, size_t end, int indent);

static void block(struct expander *x, size_t i, size_t end, int indent) {
    while (i < end && !x->stop)
        i = statement(x, i, end, indent);
}

/* Ends the line, taking along a comment that stands behind token i-1 on its line; returns the next token. */
static size_t end_line(struct expander *x, size_t i, size_t end) {
    const struct tpl_token *t = &x->source.tokens[i];
    const bool comment = i < end && t->kind == TPL_COMMENT && !t->newline_before;
    if (comment && shows_comment(x, i)) {
        text_add(&x->out, " ");
        add_comment(x, i, t->column);
    }
    text_add(&x->out, "\n");
    return comment ? i + 1 : i;
}

/* `{ ... }` with the line already begun and left open behind the brace; returns the token behind it. */
static size_t braced(struct expander *x, size_t open, int indent) {
    const size_t close = x->source.tokens[open].match;
    text_add(&x->out, "{");
    block(x, end_line(x, open + 1, close), close, indent + 4);
    start_line(x, indent);
    text_add(&x->out, "}");
    return close + 1;
}

/* The statement below an if, else, for, ... from token i; comments before it go inside. Sets *open_line when
 * the line behind its brace is still to be ended. */
static size_t substatement(struct expander *x, size_t i, size_t end, int indent, bool *open_line) {
    const size_t body = code_from(x, i);
    *open_line = body < end && is(x, body, "{") && x->source.tokens[body].match != TPL_NONE;
    if (!*open_line) {
        text_add(&x->out, "\n");
        while (i < body && i < end)
            i = statement(x, i, end, indent + 4);
        return body < end ? statement(x, body, end, indent + 4) : end;
    }
    if (i == body) {
        text_add(&x->out, " ");
        return braced(x, body, indent);
    }
    const size_t close = x->source.tokens[body].match;
    text_add(&x->out, " {\n");
    block(x, i, body, indent + 4);
    block(x, body + 1, close, indent + 4);
    start_line(x, indent);
    text_add(&x->out, "}");
    return close + 1;
}

/* Writes `if (...)` and its like up to the closing parenthesis; TPL_NONE when there is none. */
static size_t header(struct expander *x, size_t i, size_t end, int indent) {
    size_t open = code_after(x, i);
    if (is(x, open, "constexpr"))
        open = code_after(x, open);
    if (open >= end || !is(x, open, "(") || x->source.tokens[open].match == TPL_NONE) {
        refuse(x, i, "`%.*s` without a condition in parentheses", shown_len(x, i), spelling(x, i));
        return TPL_NONE;
    }
    const size_t behind = x->source.tokens[open].match + 1;
    add_tokens(x, i, behind, indent);
    return behind;
}

/* Gets from behind a substatement to the `else` or `while` at token `to`: on the brace's line unless comments
 * from token i on stand between. */
static void next_part(struct expander *x, size_t i, size_t to, int indent, bool open_line) {
    if (open_line && i == to) {
        text_add(&x->out, " ");
        return;
    }
    if (open_line)
        text_add(&x->out, "\n");
    for (; i < to; i++)
        comment_line(x, i, indent);
    start_line(x, indent);
}

static size_t if_statement(struct expander *x, size_t i, size_t end, int indent) {
    bool open_line;
    for (;;) {
        size_t at = header(x, i, end, indent);
        if (at == TPL_NONE)
            return i + 1;
        at = substatement(x, at, end, indent, &open_line);
        const size_t otherwise = code_from(x, at);
        if (otherwise >= end || !is(x, otherwise, "else"))
            return open_line ? end_line(x, at, end) : at;
        next_part(x, at, otherwise, indent, open_line);
        text_add(&x->out, "else");
        at = otherwise + 1;
        i = code_from(x, at);
        if (i >= end || !is(x, i, "if") || i > at) {
            at = substatement(x, at, end, indent, &open_line);
            return open_line ? end_line(x, at, end) : at;
        }
        text_add(&x->out, " ");
    }
}

/* for, while, switch */
static size_t headed_statement(struct expander *x, size_t i, size_t end, int indent) {
    const int loop = !is(x, i, "switch");
    bool open_line;
    size_t at = header(x, i, end, indent);
    if (at == TPL_NONE)
        return i + 1;
    x->breaks++;
    x->continues += loop;
    at = substatement(x, at, end, indent, &open_line);
    x->breaks--;
    x->continues -= loop;
    return open_line ? end_line(x, at, end) : at;
}

/* Up to and with the ; that ends the statement, but not beyond end. */
static size_t behind_semicolon(const struct expander *x, size_t i, size_t end) {
    while (i < end && !is(x, i, ";")) {
        const size_t match = x->source.tokens[i].match;
        i = match != TPL_NONE && match > i ? match + 1 : i + 1;
    }
    return i < end ? i + 1 : end;
}

static size_t do_statement(struct expander *x, size_t i, size_t end, int indent) {
    bool open_line;
    x->breaks++;
    x->continues++;
    text_add(&x->out, "do");
    size_t at = substatement(x, i + 1, end, indent, &open_line);
    x->breaks--;
    x->continues--;
    const size_t tail = code_from(x, at);
    if (tail >= end)
        return open_line ? end_line(x, at, end) : at;
    next_part(x, at, tail, indent, open_line);
    const size_t behind = behind_semicolon(x, tail, end);
    add_tokens(x, tail, behind, indent);
    return end_line(x, behind, end);
}

/* `case ...:` and `default:` stand at the column of their switch. */
static size_t case_label(struct expander *x, size_t i, size_t end, int indent) {
    size_t colon = i;
    while (colon < end && !is(x, colon, ": ; { }"))
        colon++;
    const size_t behind = colon < end ? colon + 1 : end;
    start_line(x, indent - 4);
    add_tokens(x, i, behind, indent - 4);
    return end_line(x, behind, end);
}

static size_t simple_statement(struct expander *x, size_t i, size_t end, int indent) {
    const size_t after = code_after(x, i);
    if ((is(x, i, "break") && !x->breaks) || (is(x, i, "continue") && !x->continues))
        refuse(x, i, "`%.*s` would leave an unrolled loop: put the rest of the body into an if",
               shown_len(x, i), spelling(x, i));
    if (kind_of(x, i) == TPL_NAME && is(x, after, ":"))
        refuse(x, i,
               "label `%.*s` inside an unrolled loop would be defined once per iteration: do without it",
               shown_len(x, i), spelling(x, i));
    const size_t behind = behind_semicolon(x, i, end);
    start_line(x, indent);
    add_tokens(x, i, behind, indent);
    return end_line(x, behind, end);
}

static size_t unroll(struct expander *x, size_t pragma, int indent);

static size_t directive(struct expander *x, size_t i, int indent) {
    if (pragma_of(x, i) == PRAGMA_KEEP) {
        line(x, indent, "#pragma unroll 1");
        return i + 1;
    }
    if (pragma_of(x, i) != PRAGMA_NONE)
        return unroll(x, i, indent);
    refuse(x, i, "preprocessor line inside an unrolled loop: move it out of the loop");
    return i + 1;
}

static size_t nested_statement(struct expander *x, size_t i, size_t end, int indent) {
    if (kind_of(x, i) == TPL_COMMENT)
        return comment_line(x, i, indent), i + 1;
    if (kind_of(x, i) == TPL_DIRECTIVE)
        return directive(x, i, indent);
    if (is(x, i, "case default"))
        return case_label(x, i, end, indent);
    const bool is_block = is(x, i, "{") && x->source.tokens[i].match != TPL_NONE;
    if (!is_block && !is(x, i, "if for while switch do"))
        return simple_statement(x, i, end, indent);
    start_line(x, indent);
    if (is_block)
        return end_line(x, braced(x, i, indent), end);
    if (is(x, i, "if"))
        return if_statement(x, i, end, indent);
    if (is(x, i, "do"))
        return do_statement(x, i, end, indent);
    return headed_statement(x, i, end, indent);
}

/* Writes the statement, comment or directive at token i < end; returns the token behind it. */
static size_t statement(struct expander *x, size_t i, size_t end, int indent) {
    if (x->depth >= STATEMENT_DEPTH_MAX) {
        refuse(x, i, "more than %d statements inside each other: use functions", STATEMENT_DEPTH_MAX);
        return end;
    }
    x->work++;
    x->depth++;
    const size_t behind = nested_statement(x, i, end, indent);
    x->depth--;
    return behind;
}

/* ---- unrolled loops ---- */

/* Behind `<...>` from its opening token, or i when it does not look like template arguments. */
static size_t behind_template_arguments(const struct expander *x, size_t i) {
    int depth = 0;
    for (size_t j = i; !is(x, j, "; { } && ||") && kind_of(x, j) != TPL_END; j++) {
        depth += is(x, j, "<") ? 1 : is(x, j, ">") ? -1 : is(x, j, ">>") ? -2 : 0;
        if (depth <= 0)
            return code_after(x, j);
    }
    return i;
}

/* Whether the statement at token i may declare a name; in doubt, yes: it only costs a pair of braces. */
static bool declares_name(const struct expander *x, size_t i) {
    static const char declaring[] =
        "[ auto int unsigned signed long short char bool float double const constexpr struct "
        "decltype alignas __align__ __attribute__";
    static const char other[] =
        "if else for while do switch case default return break continue goto asm __asm__ throw "
        "delete";
    if (is(x, i, declaring))
        return true;
    if ((kind_of(x, i) != TPL_NAME && !is(x, i, "::")) || is(x, i, other))
        return false;
    size_t at = is(x, i, "::") ? i : code_after(x, i);
    while (is(x, at, ":: <")) {
        const size_t next =
            is(x, at, "<") ? behind_template_arguments(x, at) : code_after(x, code_after(x, at));
        if (next == at)
            return false;
        at = next;
    }
    return kind_of(x, at) == TPL_NAME || is(x, at, "* & &&");
}

static bool body_declares(struct expander *x, const struct loop *loop) {
    bool starts = true;
    for (size_t i = loop->open + 1; i < loop->close; x->work++) {
        if (starts && kind_of(x, i) != TPL_COMMENT && kind_of(x, i) != TPL_DIRECTIVE) {
            if (declares_name(x, i))
                return true;
            starts = false;
        }
        const size_t match = x->source.tokens[i].match;
        const bool block_end = is(x, i, "{") && match != TPL_NONE;
        starts = starts || block_end || is(x, i, ";");
        i = match != TPL_NONE && match > i ? match + 1 : i + 1;
    }
    return false;
}

/* The constant from token `at` up to token `end`; complains at the token that is in the way. */
static bool constant(struct expander *x, size_t at, size_t end, const char *what, int *value) {
    struct tpl_eval e = {.source = &x->source, .scope = &x->scope, .at = at};
    const bool ok = tpl_eval(&e, value);
    if (ok && e.at == end)
        return true;
    const char *fault = ok ? "is not part of a constant expression" : e.fault;
    refuse(x, e.at, "%s of the unrolled loop: `%.*s` %s", what, shown_len(x, e.at), spelling(x, e.at), fault);
    return false;
}

/* The condition and the step, given the value of loop->first; fills step and count. */
static bool read_range(struct expander *x, struct loop *loop, size_t condition, size_t step, size_t close) {
    const size_t compare = code_after(x, condition), second = code_after(x, step);
    const char *name = spelling(x, loop->index);
    const int len = shown_len(x, loop->index);
    const struct tpl_scope own = {.index = {{.token = loop->index}}, .depth = 1};
    int limit;
    if (tpl_find_index(&own, &x->source, condition) < 0 || !is(x, compare, "< <="))
        return refuse(x, condition, "an unrolled loop ends by `%.*s < N` or `%.*s <= N`", len, name, len,
                      name),
               false;
    if (!constant(x, code_after(x, compare), code_before(x, step), "end", &limit))
        return false;
    const bool plain = (tpl_find_index(&own, &x->source, step) == 0 && is(x, second, "++")) ||
                       (is(x, step, "++") && tpl_find_index(&own, &x->source, second) == 0);
    loop->step = 1;
    if (plain ? code_after(x, second) != close
              : tpl_find_index(&own, &x->source, step) < 0 || !is(x, second, "+="))
        return refuse(x, step, "an unrolled loop counts by `%.*s++`, `++%.*s` or `%.*s += N`", len, name, len,
                      name, len, name),
               false;
    if (!plain && !constant(x, code_after(x, second), close, "step", &loop->step))
        return false;
    if (loop->step <= 0)
        return refuse(x, step, "step %d of the unrolled loop is not positive", loop->step), false;
    const long long span = (long long)limit - loop->first + is(x, compare, "<=");
    const long long count = span <= 0 ? 0 : (span + loop->step - 1) / loop->step;
    if (count > TPL_ITERATIONS_MAX)
        return refuse(x, condition, "the unrolled loop runs %lld times, more than %d: keep it rolled", count,
                      TPL_ITERATIONS_MAX),
               false;
    loop->count = (int)count;
    return true;
}

/* Reads `for (int i = A; ...; ...) {`; what of it is there is in *loop even when it is refused. */
static bool read_loop(struct expander *x, size_t pragma, struct loop *loop) {
    *loop = (struct loop){.index = TPL_NONE, .open = TPL_NONE, .first = 1, .step = 1, .count = 1};
    const size_t word = code_after(x, pragma), open = code_after(x, word);
    const size_t close = x->source.tokens[open].match;
    if (pragma_of(x, pragma) == PRAGMA_OTHER)
        return refuse(x, pragma, "only `#pragma unroll` (all of it) and `#pragma unroll 1` (kept as it is)"),
               false;
    if (before_is(x, pragma, ") else do"))
        return refuse(x, pragma, "the unrolled loop is all of another statement's body: put it in braces"),
               false;
    if (!is(x, word, "for") || !is(x, open, "(") || close == TPL_NONE)
        return refuse(x, pragma, "`#pragma unroll` has to stand before a `for (int i = A; i < B; i++) {`"),
               false;
    const size_t brace = code_after(x, close);
    if (!is(x, brace, "{") || x->source.tokens[brace].match == TPL_NONE)
        return refuse(x, word, "the unrolled loop has no braces: write `{ ... }` around its body"), false;
    loop->open = brace;
    loop->close = x->source.tokens[brace].match;
    const size_t type = code_after(x, open), name = code_after(x, type), equals = code_after(x, name);
    if (!is(x, type, "int") || kind_of(x, name) != TPL_NAME || !is(x, equals, "="))
        return refuse(x, type, "an unrolled loop begins with `for (int i = A;`"), false;
    loop->index = name;
    if (tpl_find_param(&x->scope, &x->source, name) || tpl_find_index(&x->scope, &x->source, name) >= 0)
        return refuse(x, name,
                      "the index `%.*s` has the name of a parameter or an enclosing index: rename it",
                      shown_len(x, name), spelling(x, name)),
               false;
    const size_t condition = behind_semicolon(x, equals, close), step = behind_semicolon(x, condition, close);
    if (condition >= close || step >= close)
        return refuse(x, word, "the unrolled loop's header lacks its end or its step"), false;
    int first;
    if (!constant(x, code_after(x, equals), condition - 1, "start", &first))
        return false;
    loop->first = first;
    return read_range(x, loop, code_from(x, condition), code_from(x, step), close);
}

static void check_limits(struct expander *x, size_t pragma) {
    x->work++;
    if (!x->stop && (x->out.len > TPL_OUTPUT_MAX_BYTES || x->work > WORK_MAX)) {
        refuse(x, pragma, "the expansion passes %d MB or %d steps: keep a loop rolled",
               TPL_OUTPUT_MAX_BYTES >> 20, WORK_MAX);
        x->stop = true;
    }
}

/* Writes all iterations of the loop behind the pragma; returns the token behind the loop. After a refusal one
 * iteration is still gone through, for the refusals inside. */
static size_t unroll(struct expander *x, size_t pragma, int indent) {
    struct loop loop;
    const bool ok = read_loop(x, pragma, &loop);
    if (loop.open == TPL_NONE)
        return pragma + 1;
    if (x->scope.depth == TPL_NEST_MAX) {
        refuse(x, pragma, "more than %d unrolled loops inside each other", TPL_NEST_MAX);
        return loop.close + 1;
    }
    if (!ok)
        loop.first = loop.step = loop.count = 1;
    for (size_t i = pragma + 1; i < loop.open; i++)
        if (kind_of(x, i) == TPL_COMMENT)
            comment_line(x, i, indent);
    const bool later = x->later, braces = body_declares(x, &loop);
    const int depth = x->scope.depth, breaks = x->breaks, continues = x->continues;
    const int refusals = x->refusals;
    x->breaks = x->continues = 0;
    for (int n = 0; n < loop.count && !x->stop && x->refusals == refusals; n++) {
        if (loop.index != TPL_NONE) {
            x->scope.index[depth].token = loop.index;
            x->scope.index[depth].value = loop.first + n * loop.step;
            x->scope.depth = depth + 1;
        }
        if (braces)
            line(x, indent, "{");
        block(x, loop.open + 1, loop.close, braces ? indent + 4 : indent);
        if (braces)
            line(x, indent, "}");
        x->later = true;
        check_limits(x, pragma);
    }
    x->later = later;
    x->scope.depth = depth;
    x->breaks = breaks;
    x->continues = continues;
    return loop.close + 1;
}

/* ---- the text around ---- */

static size_t line_start(const struct expander *x, size_t at) {
    while (at > 0 && x->source.clean.data[at - 1] != '\n')
        at--;
    return at;
}

static void copy_to(struct expander *x, size_t at) {
    if (at > x->copied)
        text_add_bytes(&x->out, x->source.clean.data + x->copied, at - x->copied);
    x->copied = at;
}

/* An unrolled loop in copied text: the whole lines from its pragma to its closing brace. */
static size_t outer_loop(struct expander *x, size_t pragma) {
    const size_t word = code_after(x, pragma);
    const int indent = x->source.tokens[word].column;
    copy_to(x, line_start(x, x->source.tokens[pragma].at));
    const size_t next = unroll(x, pragma, indent);
    const struct tpl_token *last = &x->source.tokens[next - 1], *t = &x->source.tokens[next];
    x->copied = last->at + last->len;
    if (next == pragma + 1)
        return next;
    if (t->newline_before) {
        x->copied++; /* the expansion ends its last line itself */
    } else {
        x->copied = t->at;
        start_line(x, indent);
    }
    return next;
}

static bool is_end_mark(const struct expander *x, size_t i) {
    return is_mark(x, i) && x->source.tokens[i].len == 6 && memcmp(spelling(x, i), "//@end", 6) == 0;
}

/* The end mark of the hole that token i opens, or TPL_NONE. */
static size_t hole_end(const struct expander *x, size_t i) {
    do
        i++;
    while (kind_of(x, i) != TPL_END && !is_mark(x, i));
    return is_end_mark(x, i) && x->source.tokens[i].newline_before ? i : TPL_NONE;
}

/* Lets the callback write the hole [mark, end]; false: the code in it stays. */
static bool replace_hole(struct expander *x, size_t mark, const char *name) {
    if (!x->options->emit)
        return false;
    struct text lines = {0};
    const bool replaced = x->options->emit(x->options->context, name, &lines, x->source.tokens[mark].column);
    if (replaced)
        tpl_clean(&x->out, lines.data, lines.len, NULL);
    x->out.failed = x->out.failed || lines.failed;
    text_free(&lines);
    return replaced;
}

/* Moves on to the line behind mark i, which is not written. */
static void skip_mark(struct expander *x, size_t i) {
    copy_to(x, line_start(x, x->source.tokens[i].at));
    x->copied = x->source.tokens[i].at + x->source.tokens[i].len + 1;
}

static size_t open_hole(struct expander *x, size_t mark, size_t *hole) {
    const char *p = spelling(x, mark);
    const size_t len = x->source.tokens[mark].len, word = strlen("//@emit ");
    char name[NAME_MAX_BYTES];
    if (len <= word || len - word >= sizeof name || memchr(p + word, ' ', len - word) ||
        memchr(p, '\n', len)) {
        refuse(x, mark, "`//@emit NAME` wants one name of at most %d bytes", NAME_MAX_BYTES - 1);
        return mark + 1;
    }
    memcpy(name, p + word, len - word);
    name[len - word] = '\0';
    const size_t end = hole_end(x, mark);
    *hole = mark;
    if (end == TPL_NONE)
        return mark + 1; /* refused at the next mark or at the end of the text */
    for (size_t i = mark; i < end; i++) {
        const size_t match = x->source.tokens[i].match;
        if (is(x, i, "( [ { ) ] }") && (match < mark || match > end)) {
            refuse(x, i, "`%.*s` has no partner in its hole: holes hold whole statements", shown_len(x, i),
                   spelling(x, i));
            return mark + 1;
        }
    }
    skip_mark(x, mark);
    if (!replace_hole(x, mark, name))
        return mark + 1;
    *hole = TPL_NONE;
    x->copied = x->source.tokens[end].at + x->source.tokens[end].len + 1;
    return end + 1;
}

/* A //@ comment in copied text; *hole is the mark of the hole we are in. */
static size_t mark(struct expander *x, size_t i, size_t *hole) {
    const char *p = spelling(x, i);
    const size_t len = x->source.tokens[i].len;
    const bool emits = len >= 7 && memcmp(p, "//@emit", 7) == 0 && (len == 7 || p[7] == ' ');
    if (!x->source.tokens[i].newline_before)
        refuse(x, i, "`%.*s` has to be alone on its line", shown_len(x, i), p);
    else if (emits && *hole != TPL_NONE)
        refuse(x, i, "hole inside the hole of line %d: close that one with //@end first",
               x->source.tokens[*hole].line);
    else if (emits)
        return open_hole(x, i, hole);
    else if (!is_end_mark(x, i))
        refuse(x, i, "unknown mark `%.*s`: there are //@emit NAME, //@end and //@drop", shown_len(x, i), p);
    else if (*hole == TPL_NONE)
        refuse(x, i, "//@end without //@emit");
    else {
        skip_mark(x, i);
        *hole = TPL_NONE;
    }
    return i + 1;
}

static void expand(struct expander *x) {
    size_t hole = TPL_NONE, i = 0;
    while (kind_of(x, i) != TPL_END) {
        const enum pragma pragma = pragma_of(x, i);
        if (pragma == PRAGMA_UNROLL || pragma == PRAGMA_OTHER)
            i = outer_loop(x, i);
        else
            i = is_mark(x, i) ? mark(x, i, &hole) : i + 1;
    }
    if (hole != TPL_NONE)
        refuse(x, hole, "hole without //@end");
    copy_to(x, x->source.clean.len);
    check_limits(x, i);
}

bool tpl_expand(struct text *out, const char *bytes, size_t len, const struct tpl_options *options) {
    struct expander x = {.options = options};
    x.scope.params = options->params;
    x.scope.param_count = options->param_count;
    const bool lexed = tpl_lex(&x.source, bytes, len);
    if (lexed)
        expand(&x);
    if (!lexed || x.out.failed)
        out->failed = true;
    else if (x.refusals == 0 && x.out.len > 0)
        text_add_bytes(out, x.out.data, x.out.len);
    tpl_source_free(&x.source);
    text_free(&x.out);
    return x.refusals == 0 && !out->failed;
}

bool tpl_section(struct text *out, const char *path, const char *bytes, size_t len, const char *name) {
    struct text clean = {0}, begin = {0};
    tpl_clean(&clean, bytes, len, NULL);
    text_addf(&begin, "/*@%s*/\n", name);
    size_t from = TPL_NONE, to = TPL_NONE;
    int found = 0;
    if (clean.failed || begin.failed)
        out->failed = true;
    for (size_t at = 0, next; at < clean.len && !out->failed; at = next) {
        next = (size_t)((const char *)memchr(clean.data + at, '\n', clean.len - at) - clean.data) + 1;
        if (next - at == begin.len && memcmp(clean.data + at, begin.data, begin.len) == 0) {
            from = next;
            found++;
        } else if (from != TPL_NONE && to == TPL_NONE && next - at == 9 &&
                   memcmp(clean.data + at, "/*@end*/\n", 9) == 0) {
            to = at;
        }
    }
    const bool ok = found == 1 && to != TPL_NONE;
    if (ok)
        text_add_bytes(out, clean.data + from, to - from);
    else if (!out->failed)
        err_user(path, 0, "wants one section between the lines /*@%s*/ and /*@end*/", name);
    text_free(&clean);
    text_free(&begin);
    return ok && !out->failed;
}
