/* tpl_body: writes the bodies of unrolled loops anew, statement by statement, once per iteration. */
#include "tpl_expander.h"

/* WORK_MAX, in tokens written plus iterations, is against templates that run long without writing much. */
enum { WORK_MAX = 1 << 22, STATEMENT_DEPTH_MAX = 64 };

/* ---- writing tokens ---- */

static void line(struct tpl_expander *x, int indent, const char *s) {
    start_line(x, indent);
    text_add(&x->out, s);
    text_add(&x->out, "\n");
}

static void add_token(struct tpl_expander *x, size_t i) {
    text_add_bytes(&x->out, spelling(x, i), x->source.tokens[i].len);
}

/* Whether comment i is to be written; marks are refused, since holes end where loops begin. */
static bool shows_comment(struct tpl_expander *x, size_t i) {
    if (is_mark(x, i))
        tpl_refuse(x, i, "`%.*s` inside an unrolled loop: put the whole loop between //@emit and //@end",
                   shown_len(x, i), spelling(x, i));
    return !x->later;
}

/* A comment of several lines moves as a block: by as many columns as its first line moved to get to `column`.
 */
static void add_comment(struct tpl_expander *x, size_t i, int column) {
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

static void comment_line(struct tpl_expander *x, size_t i, int indent) {
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

static void add_gap(struct tpl_expander *x, size_t i, const struct gap *gap) {
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
static void check_index_use(struct tpl_expander *x, size_t i) {
    static const char operators[] =
        "return case else do goto sizeof throw co_return co_yield and or not xor bitand bitor";
    const size_t before = code_before(x, i), after = code_after(x, i);
    const int len = shown_len(x, i);
    const char *name = spelling(x, i);
    const bool declares = kind_of(x, before) == TPL_NAME && !is(x, before, operators);
    const bool declares_pointer =
        is(x, before, "* & &&") && before_is(x, before, "int float double char bool auto half");
    if (declares || declares_pointer)
        tpl_refuse(x, i, "`%.*s` is declared again inside the unrolled loop that counts with it: rename one",
                   len, name);
    else if (is(x, after, "= += -= *= /= %= <<= >>= &= |= ^= ++ --") || is(x, before, "++ --"))
        tpl_refuse(
            x, i, "the index `%.*s` is changed in the body of its unrolled loop: count with another variable",
            len, name);
    else if (is(x, before, "&") && kind_of(x, before - 1) == TPL_PUNCT && !is(x, before - 1, ") ]"))
        tpl_refuse(x, i, "the index `%.*s` becomes a literal and has no address: copy it to a variable", len,
                   name);
}

static void add_name(struct tpl_expander *x, size_t i) {
    if (is(x, i, "static __shared__"))
        tpl_refuse(
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
static size_t fold(struct tpl_expander *x, size_t i) {
    struct tpl_eval e = {.source = &x->source, .scope = &x->scope, .folding = true, .at = i};
    int value;
    if (!tpl_eval(&e, &value) || !e.saw_index || !is(x, e.at, ", ) ] }"))
        return i;
    text_addf(&x->out, "%d", value);
    return e.at;
}

/* Writes the tokens [from, to) of one statement; the caller has begun the line and ends it. */
static void add_tokens(struct tpl_expander *x, size_t from, size_t to, int indent) {
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
            tpl_refuse(x, i, "preprocessor line inside an unrolled loop: move it out of the loop");
        else if (is(x, i, "\\ #"))
            tpl_refuse(x, i, "`%.*s` inside an unrolled loop: write the code without it", shown_len(x, i),
                       spelling(x, i));
        else if (is(x, i, "( [ { ) ] }") && x->source.tokens[i].match == TPL_NONE)
            tpl_refuse(x, i, "`%.*s` has no partner inside the unrolled loop", shown_len(x, i),
                       spelling(x, i));
        if (kind == TPL_NAME)
            add_name(x, i);
        else
            add_token(x, i);
        brackets += is(x, i, "( [ {") ? 1 : is(x, i, ") ] }") ? -1 : 0;
        piece = is(x, i, "( [ {") || (brackets > 0 && is(x, i, ","));
    }
}

/* ---- statements ---- */

static size_t statement(struct tpl_expander *x, size_t i, size_t end, int indent);

static void block(struct tpl_expander *x, size_t i, size_t end, int indent) {
    while (i < end && !x->stop)
        i = statement(x, i, end, indent);
}

/* Ends the line, taking along a comment that stands behind token i-1 on its line; returns the next token. */
static size_t end_line(struct tpl_expander *x, size_t i, size_t end) {
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
static size_t braced(struct tpl_expander *x, size_t open, int indent) {
    const size_t close = x->source.tokens[open].match;
    text_add(&x->out, "{");
    block(x, end_line(x, open + 1, close), close, indent + 4);
    start_line(x, indent);
    text_add(&x->out, "}");
    return close + 1;
}

/* The statement below an if, else, for, ... from token i; comments before it go inside. Sets *open_line when
 * the line behind its brace is still to be ended. */
static size_t substatement(struct tpl_expander *x, size_t i, size_t end, int indent, bool *open_line) {
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
static size_t header(struct tpl_expander *x, size_t i, size_t end, int indent) {
    size_t open = code_after(x, i);
    if (is(x, open, "constexpr"))
        open = code_after(x, open);
    if (open >= end || !is(x, open, "(") || x->source.tokens[open].match == TPL_NONE) {
        tpl_refuse(x, i, "`%.*s` without a condition in parentheses", shown_len(x, i), spelling(x, i));
        return TPL_NONE;
    }
    const size_t behind = x->source.tokens[open].match + 1;
    add_tokens(x, i, behind, indent);
    return behind;
}

/* Gets from behind a substatement to the `else` or `while` at token `to`: on the brace's line unless comments
 * from token i on stand between. */
static void next_part(struct tpl_expander *x, size_t i, size_t to, int indent, bool open_line) {
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

static size_t if_statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
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
static size_t headed_statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
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

static size_t do_statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
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
static size_t case_label(struct tpl_expander *x, size_t i, size_t end, int indent) {
    size_t colon = i;
    while (colon < end && !is(x, colon, ": ; { }"))
        colon++;
    const size_t behind = colon < end ? colon + 1 : end;
    start_line(x, indent - 4);
    add_tokens(x, i, behind, indent - 4);
    return end_line(x, behind, end);
}

static size_t simple_statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
    const size_t after = code_after(x, i);
    if ((is(x, i, "break") && !x->breaks) || (is(x, i, "continue") && !x->continues))
        tpl_refuse(x, i, "`%.*s` would leave an unrolled loop: put the rest of the body into an if",
                   shown_len(x, i), spelling(x, i));
    if (kind_of(x, i) == TPL_NAME && is(x, after, ":"))
        tpl_refuse(x, i,
                   "label `%.*s` inside an unrolled loop would be defined once per iteration: do without it",
                   shown_len(x, i), spelling(x, i));
    const size_t behind = behind_semicolon(x, i, end);
    start_line(x, indent);
    add_tokens(x, i, behind, indent);
    return end_line(x, behind, end);
}

static size_t directive(struct tpl_expander *x, size_t i, int indent) {
    if (tpl_pragma_of(x, i) == TPL_PRAGMA_KEEP) {
        line(x, indent, "#pragma unroll 1");
        return i + 1;
    }
    if (tpl_pragma_of(x, i) != TPL_PRAGMA_NONE)
        return tpl_unroll(x, i, indent);
    tpl_refuse(x, i, "preprocessor line inside an unrolled loop: move it out of the loop");
    return i + 1;
}

static size_t nested_statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
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
static size_t statement(struct tpl_expander *x, size_t i, size_t end, int indent) {
    if (x->depth >= STATEMENT_DEPTH_MAX) {
        tpl_refuse(x, i, "more than %d statements inside each other: use functions", STATEMENT_DEPTH_MAX);
        return end;
    }
    x->work++;
    x->depth++;
    const size_t behind = nested_statement(x, i, end, indent);
    x->depth--;
    return behind;
}

/* ---- unrolled loops ---- */

void tpl_check_limits(struct tpl_expander *x, size_t pragma) {
    x->work++;
    if (!x->stop && (x->out.len > TPL_OUTPUT_MAX_BYTES || x->work > WORK_MAX)) {
        tpl_refuse(x, pragma, "the expansion passes %d MB or %d steps: keep a loop rolled",
                   TPL_OUTPUT_MAX_BYTES >> 20, WORK_MAX);
        x->stop = true;
    }
}

/* After a refusal one iteration is still gone through, for the refusals inside. */
size_t tpl_unroll(struct tpl_expander *x, size_t pragma, int indent) {
    struct tpl_loop loop;
    const bool ok = tpl_read_loop(x, pragma, &loop);
    if (loop.open == TPL_NONE)
        return pragma + 1;
    if (x->scope.depth == TPL_NEST_MAX) {
        tpl_refuse(x, pragma, "more than %d unrolled loops inside each other", TPL_NEST_MAX);
        return loop.close + 1;
    }
    if (!ok)
        loop.first = loop.step = loop.count = 1;
    for (size_t i = pragma + 1; i < loop.open; i++)
        if (kind_of(x, i) == TPL_COMMENT)
            comment_line(x, i, indent);
    const bool later = x->later, braces = tpl_body_declares(x, &loop);
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
        tpl_check_limits(x, pragma);
    }
    x->later = later;
    x->scope.depth = depth;
    x->breaks = breaks;
    x->continues = continues;
    return loop.close + 1;
}
