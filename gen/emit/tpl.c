/* tpl: see tpl.h. Copies the text around unrolled loops as byte ranges, minds the marks, and writes the
 * bodies of unrolled loops anew, once per iteration. */
#include "emit/tpl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "emit/tpl_expr.h"

/* WORK_MAX, in tokens written plus iterations, is against templates that run long without writing much. */
enum { NAME_MAX_BYTES = 64 /* see read_mark */, SHOWN_MAX = 40, WORK_MAX = 1 << 22 };

struct expander {
    const struct tpl_options *options;
    struct tpl_source source; /* all size_t called i, open, pragma ... are tokens of it */
    struct tpl_scope scope;
    struct text out; /* before tpl_clean */
    size_t copied;   /* bytes of the source that are dealt with */
    size_t work;
    int refusals;
    int blocks; /* around us */
    int loops;  /* in the innermost unrolled body around us, so that a break has one to leave */
    bool later; /* some enclosing unrolled loop is past its first iteration: no comments */
    bool stop;  /* a limit is passed: unwind */
};

struct loop {
    size_t index, open, close;
    int first, step, count;
};

static bool is(const struct expander *x, size_t i, const char *list) {
    return tpl_is(&x->source, i, list);
}

static enum tpl_kind kind_of(const struct expander *x, size_t i) {
    return x->source.tokens[i].kind;
}

static size_t match_of(const struct expander *x, size_t i) {
    return x->source.tokens[i].match;
}

static size_t end_of(const struct expander *x, size_t i) {
    return x->source.tokens[i].at + x->source.tokens[i].len;
}

/* Reports `TOKEN`, the message behind it. */
static void refuse(struct expander *x, size_t i, const char *message) {
    const struct tpl_token *t = &x->source.tokens[i];
    int line = 1, shown = 0;
    for (size_t at = 0; at < t->at; at++)
        line += x->source.bytes[at] == '\n';
    for (size_t at = t->at; at < end_of(x, i) && shown < SHOWN_MAX && x->source.bytes[at] != '\n'; at++)
        shown++;
    x->refusals++;
    err_user(x->options->path, line, "`%.*s` %s", shown, x->source.bytes + t->at, message);
}

static bool in_line(const struct expander *x) {
    return x->out.len > 0 && x->out.data[x->out.len - 1] != '\n';
}

static void end_line(struct expander *x) {
    if (in_line(x))
        text_add(&x->out, "\n");
}

static void start_line(struct expander *x, int indent, const char *s) {
    end_line(x);
    text_addf(&x->out, "%*s%s", indent, "", s);
}

/* ---- which loops are unrolled ---- */

/* What token i has behind `#pragma unroll`: 0 for nothing, '1', or '?' for all else; -1 when it is another
 * token. */
static int unroll_argument(const struct expander *x, size_t i) {
    const struct tpl_token *t = &x->source.tokens[i];
    char line[SHOWN_MAX];
    int end = -1;
    if (t->kind != TPL_DIRECTIVE)
        return -1;
    snprintf(line, sizeof line, "%.*s", (int)t->len, x->source.bytes + t->at);
    sscanf(line, "# pragma unroll %n", &end);
    return end < 0 ? -1 : !line[end] ? 0 : strcmp(line + end, "1") == 0 ? '1' : '?';
}

/* `#pragma unroll 1` is left alone. */
static bool is_unroll(const struct expander *x, size_t i) {
    const int argument = unroll_argument(x, i);
    return argument == 0 || argument == '?';
}

static bool expect(struct expander *x, size_t i, bool good) {
    if (!good)
        refuse(x, i,
               "is in the way: `#pragma unroll` wants `for (int i = A; i < B; i += C) { ... }` behind it; "
               "`<=`, `i++` and `++i` will do too");
    return good;
}

/* The constant from token *at up to one in `ends`, and moves behind that. */
static bool constant(struct expander *x, size_t *at, const char *ends, int *value) {
    struct tpl_eval e = {.source = &x->source, .scope = &x->scope, .at = *at};
    if (!tpl_eval(&e, value))
        return refuse(x, e.at, e.fault), false;
    *at = e.at + 1;
    return expect(x, e.at, is(x, e.at, ends));
}

/* Reads `int i = A; i < B; i++)` into *loop, whose index is known; false after a refusal. */
static bool read_header(struct expander *x, struct loop *loop) {
    const struct tpl_scope own = {.index = {{.token = loop->index}}, .depth = 1};
    const struct tpl_source *s = &x->source;
    size_t at = loop->index + 2;
    int limit;
    if (!expect(x, at - 3, is(x, at - 3, "int")) || !expect(x, at - 2, kind_of(x, at - 2) == TPL_NAME) ||
        !expect(x, at - 1, is(x, at - 1, "=")))
        return false;
    if (tpl_find_param(&x->scope, s, loop->index) || tpl_find_index(&x->scope, s, loop->index) >= 0)
        return refuse(x, loop->index, "is a parameter or an enclosing index too: rename the index"), false;
    if (!constant(x, &at, ";", &loop->first) || !expect(x, at, tpl_find_index(&own, s, at) == 0))
        return false;
    const size_t compare = at + 1;
    at += 2;
    if (!expect(x, compare, is(x, compare, "< <=")) || !constant(x, &at, ";", &limit))
        return false;
    const bool prefix = is(x, at, "++"), adds = !prefix && is(x, at + 1, "+=");
    loop->step = 1;
    if (!expect(x, at + prefix, tpl_find_index(&own, s, at + prefix) == 0) ||
        !expect(x, at + 1, prefix || is(x, at + 1, "++ +=")))
        return false;
    at += 2;
    if (adds ? !constant(x, &at, ")", &loop->step) : !expect(x, at, is(x, at, ")")))
        return false;
    if (loop->step <= 0)
        return refuse(x, at - 2, "is the step of an unrolled loop: it has to be positive"), false;
    const int64_t span = (int64_t)limit - loop->first + is(x, compare, "<=");
    const int64_t count = span <= 0 ? 0 : (span + loop->step - 1) / loop->step;
    loop->count = count > TPL_ITERATIONS_MAX ? TPL_ITERATIONS_MAX : (int)count;
    if (count > loop->count)
        refuse(x, compare,
               "ends the unrolled loop after more than TPL_ITERATIONS_MAX rounds: keep it rolled");
    return count == loop->count;
}

/* Finds the loop behind the pragma. False after a refusal, when there is none; a refused header counts to
 * one, for the refusals inside. */
static bool read_loop(struct expander *x, size_t pragma, struct loop *loop) {
    const size_t head = pragma + 1;
    size_t before = pragma;
    while (before > 0 && (kind_of(x, before - 1) == TPL_MARK || kind_of(x, before - 1) == TPL_DIRECTIVE))
        before--;
    if (unroll_argument(x, pragma) != 0)
        return refuse(x, pragma,
                      "is neither `#pragma unroll` (all of it) nor `#pragma unroll 1` (left alone)"),
               false;
    if (before > 0 && is(x, before - 1, ") else do"))
        return refuse(x, pragma, "is all of another statement's body: put the loop in braces"), false;
    if (!expect(x, head, is(x, head, "for")) ||
        !expect(x, head + 1, is(x, head + 1, "(") && match_of(x, head + 1) != TPL_NONE))
        return false;
    loop->open = match_of(x, head + 1) + 1;
    if (!expect(x, loop->open, is(x, loop->open, "{") && match_of(x, loop->open) != TPL_NONE))
        return false;
    loop->close = match_of(x, loop->open);
    loop->index = head + 3;
    if (!read_header(x, loop))
        loop->first = loop->step = loop->count = 1;
    return true;
}

/* Whether the statement at token i may declare a name; in doubt, yes: it only costs a pair of braces. */
static bool may_declare(const struct expander *x, size_t i) {
    static const char declaring[] =
        "[ :: auto int unsigned signed long short char bool float double decltype alignas __align__ "
        "__attribute__";
    static const char other[] = "if else for while do return break continue asm __asm__ throw delete";
    return is(x, i, declaring) || (kind_of(x, i) == TPL_NAME && !is(x, i, other) &&
                                   (kind_of(x, i + 1) == TPL_NAME || is(x, i + 1, ":: < * & && {")));
}

static bool body_declares(struct expander *x, const struct loop *loop) {
    bool starts = true;
    for (size_t i = loop->open + 1; i < loop->close; x->work++) {
        if (starts && may_declare(x, i))
            return true;
        starts = is(x, i, "; {") || kind_of(x, i) == TPL_DIRECTIVE;
        i = match_of(x, i) != TPL_NONE && match_of(x, i) > i ? match_of(x, i) + 1 : i + 1;
    }
    return false;
}

/* ---- what stands between tokens ---- */

/* Writes the comments before a token that begins a line of the output. */
static void comments(struct expander *x, size_t i, int indent) {
    const struct tpl_source *s = &x->source;
    bool newline = !in_line(x);
    for (size_t at = end_of(x, i - 1), next; at < s->tokens[i].at; at = next) {
        next = tpl_blank_end(s, at);
        if (s->bytes[next - 1] == '\n') {
            newline = true;
        } else if (s->bytes[at] == '/' && !x->later) {
            if (newline)
                start_line(x, indent, "");
            else
                text_add(&x->out, " ");
            text_add_bytes(&x->out, s->bytes + at, next - at);
            newline = false;
        }
    }
}

/* Writes the blanks or the line break before a token inside a statement, which begins at column `indent` here
 * and `column` in the source: continuation lines keep their distance. Comments there go. */
static void gap(struct expander *x, size_t i, int indent, int column) {
    const struct tpl_source *s = &x->source;
    const size_t from = end_of(x, i - 1), to = s->tokens[i].at;
    bool newline = false, comment = false;
    for (size_t at = from, next; at < to; at = next) {
        next = tpl_blank_end(s, at);
        newline = newline || s->bytes[next - 1] == '\n';
        comment = comment || s->bytes[at] == '/';
    }
    const int moved = tpl_column(s, to) - column;
    if (newline)
        start_line(x, indent + (moved > 0 || (moved == 0 && is(x, i, ") ] }")) ? moved : 8), "");
    else if (comment)
        text_add(&x->out, " ");
    else
        text_add_bytes(&x->out, s->bytes + from, to - from);
}

/* ---- tokens ---- */

/* Whether the index at token i is used as a literal cannot be: declared again, changed or pointed to. */
static bool is_misused_index(const struct expander *x, size_t i) {
    static const char operators[] = "return else do sizeof throw and or not xor bitand bitor";
    const bool declares = kind_of(x, i - 1) == TPL_NAME && !is(x, i - 1, operators);
    const bool declares_pointer =
        is(x, i - 1, "* & &&") && is(x, i - 2, "int float double char bool auto half");
    const bool has_address = is(x, i - 1, "&") && kind_of(x, i - 2) == TPL_PUNCT && !is(x, i - 2, ") ]");
    return declares || declares_pointer || has_address || is(x, i - 1, "++ --") ||
           is(x, i + 1, "= += -= *= /= %= <<= >>= &= |= ^= ++ --");
}

/* Why token i may not stand in the body of an unrolled loop, and the cure; NULL if it may. */
static const char *fault_of(const struct expander *x, size_t i) {
    if (kind_of(x, i) == TPL_MARK)
        return "inside an unrolled loop: put the whole loop between //@emit and //@end";
    if (kind_of(x, i) == TPL_DIRECTIVE || is(x, i, "\\ #"))
        return "inside an unrolled loop: move it out of the loop, or put the loop that it unrolls in braces";
    if (is(x, i, "static __shared__ switch goto"))
        return "inside an unrolled loop would not mean the same: move it out of the loop, or use if";
    if (is(x, i, "( [ { ) ] }") && match_of(x, i) == TPL_NONE)
        return "has no partner inside the unrolled loop";
    if (is(x, i, "break continue") && x->loops == 0)
        return "would leave an unrolled loop: put the rest of the body into an if, or braces around the loop "
               "it is for";
    return NULL;
}

static void token(struct expander *x, size_t i) {
    const struct tpl_source *s = &x->source;
    const char *fault = fault_of(x, i);
    const int index = is(x, i - 1, ". -> ::") ? -1 : tpl_find_index(&x->scope, s, i);
    if (fault)
        refuse(x, i, fault);
    if (index < 0) {
        text_add_bytes(&x->out, s->bytes + s->tokens[i].at, s->tokens[i].len);
        return;
    }
    const int value = x->scope.index[index].value;
    text_addf(&x->out, value < 0 ? "(%d)" : "%d", value);
    if (is_misused_index(x, i))
        refuse(
            x, i,
            "counts an unrolled loop, so it is a literal here, not to be declared again, changed or pointed "
            "to: use another variable");
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

/* ---- statements ---- */

static void block(struct expander *x, size_t open, int indent);

/* Whether { at token i opens a block, at the start of a statement or in it: no initialiser, no struct. */
static bool opens_block(const struct expander *x, size_t i, size_t first) {
    return is(x, i, "{") && match_of(x, i) != TPL_NONE && (i == first || is(x, i - 1, ") else do"));
}

/* `{ ... }`, of which the line is begun; returns the token behind it. */
static size_t braces(struct expander *x, size_t open, int indent) {
    const size_t before = open - 1;
    const size_t head =
        is(x, before, ")") && match_of(x, before) != TPL_NONE ? match_of(x, before) - 1 : before;
    const bool loops = is(x, head, "for while do");
    text_add(&x->out, "{");
    x->loops += loops;
    block(x, open, indent + 4);
    x->loops -= loops;
    start_line(x, indent, "}");
    return match_of(x, open) + 1;
}

/* Whether the statement goes on at token i, behind its closing brace. */
static bool goes_on(const struct expander *x, size_t i) {
    const size_t from = end_of(x, i - 1);
    return is(x, i, "else while ; ,") && !memchr(x->source.bytes + from, '\n', x->source.tokens[i].at - from);
}

/* Writes the statement at token `first`, as far as to a ; or } that ends a line; returns the token behind
 * that. */
static size_t statement(struct expander *x, size_t first, size_t end, int indent) {
    const int column = tpl_column(&x->source, x->source.tokens[first].at);
    int brackets = 0;
    bool folds = false; /* a piece begins here that may be folded */
    comments(x, first, indent);
    start_line(x, indent, "");
    for (size_t i = first, next; i < end; i = next) {
        x->work++;
        if (i > first)
            gap(x, i, indent, column);
        if (brackets == 0 && opens_block(x, i, first)) {
            next = braces(x, i, indent);
            if (!goes_on(x, next))
                return next;
            continue;
        }
        next = folds ? fold(x, i) : i;
        folds = next == i && (is(x, i, "( [ {") || (brackets > 0 && is(x, i, ",")));
        if (next > i)
            continue;
        token(x, i);
        next = i + 1;
        brackets += is(x, i, "( [ {") ? 1 : is(x, i, ") ] }") ? -1 : 0;
        if (brackets == 0 && is(x, i, ";"))
            return next;
    }
    return end;
}

static size_t unrolled(struct expander *x, size_t pragma, int indent);

/* Writes the statements of the block that token `open` opens, and the comments behind them. */
static void block(struct expander *x, size_t open, int indent) {
    const size_t close = match_of(x, open);
    if (x->blocks == TPL_NEST_MAX) {
        refuse(x, open, "opens more than TPL_NEST_MAX blocks inside each other: use functions");
        return;
    }
    x->blocks++;
    for (size_t i = open + 1; i < close && !x->stop;)
        i = is_unroll(x, i) ? unrolled(x, i, indent) : statement(x, i, close, indent);
    comments(x, close, indent);
    x->blocks--;
}

/* Writes all iterations of the loop behind the pragma; returns the token behind the loop, or behind the
 * pragma where there is no loop. After a refusal one iteration is still gone through, for the refusals
 * inside. */
static size_t unrolled(struct expander *x, size_t pragma, int indent) {
    struct loop loop;
    if (!read_loop(x, pragma, &loop))
        return pragma + 1;
    for (size_t i = pragma + 1; i <= loop.open; i++)
        comments(x, i, indent);
    const bool later = x->later, declares = loop.count > 0 && body_declares(x, &loop);
    const int depth = x->scope.depth, loops = x->loops, refusals = x->refusals;
    x->loops = 0;
    x->scope.depth = depth + 1;
    x->scope.index[depth].token = loop.index;
    end_line(x);
    for (int n = 0; n < loop.count && !x->stop && x->refusals == refusals; n++) {
        x->scope.index[depth].value = loop.first + n * loop.step;
        if (declares)
            start_line(x, indent, "{");
        block(x, loop.open, declares ? indent + 4 : indent);
        if (declares)
            start_line(x, indent, "}");
        end_line(x);
        x->later = true;
        x->work++;
        if (!x->stop && (x->out.len > TPL_OUTPUT_MAX_BYTES || x->work > WORK_MAX)) {
            refuse(x, pragma,
                   "expands to more than TPL_OUTPUT_MAX_BYTES, or takes too long: keep a loop rolled");
            x->stop = true;
        }
    }
    x->later = later;
    x->scope.depth = depth;
    x->loops = loops;
    return loop.close + 1;
}

/* ---- the text around ---- */

static void copy_to(struct expander *x, size_t at) {
    if (at > x->copied)
        text_add_bytes(&x->out, x->source.bytes + x->copied, at - x->copied);
    x->copied = at;
}

/* Goes on behind token i, and behind the newline there: what was written ended its last line itself. */
static void resume(struct expander *x, size_t i) {
    size_t at = end_of(x, i);
    while (at < x->source.len && tpl_is_blank(x->source.bytes[at]))
        at++;
    x->copied = at + (at < x->source.len && x->source.bytes[at] == '\n');
}

/* An unrolled loop in copied text: the whole lines from its pragma to its closing brace. */
static size_t outer_loop(struct expander *x, size_t pragma) {
    copy_to(x, tpl_line_start(&x->source, x->source.tokens[pragma].at));
    const size_t next = unrolled(x, pragma, tpl_column(&x->source, x->source.tokens[pragma + 1].at));
    resume(x, next - 1);
    return next;
}

/* Reads the name of the hole that mark i opens, or "" if it ends one; false when it is neither. */
static bool read_mark(const struct expander *x, size_t i, char name[NAME_MAX_BYTES]) {
    char mark[NAME_MAX_BYTES + sizeof "//@emit "] = {0};
    const size_t len = x->source.tokens[i].len;
    int used = 0;
    if (kind_of(x, i) != TPL_MARK || len >= sizeof mark)
        return false;
    memcpy(mark, x->source.bytes + x->source.tokens[i].at, len);
    name[0] = '\0';
    return strcmp(mark, "//@end") == 0 ||
           (mark[7] == ' ' && sscanf(mark, "//@emit %63s%n", name, &used) == 1 && (size_t)used == len);
}

/* The hole between marks i and end: false when the code in it stays. */
static bool replace_hole(struct expander *x, size_t i, size_t end, const char *name) {
    const struct tpl_token *tokens = x->source.tokens;
    const size_t before = x->out.len;
    for (size_t b = i; b < end; b++)
        if (is(x, b, "( [ { ) ] }") && (tokens[b].match < i || tokens[b].match > end))
            refuse(x, b, "has no partner in its hole: holes hold whole statements");
    if (x->options->emit &&
        x->options->emit(x->options->context, name, &x->out, tpl_column(&x->source, tokens[i].at))) {
        end_line(x);
        return true;
    }
    x->out.len = before;
    return false;
}

/* A //@ comment in copied text; *open is the mark of the hole we are in, or TPL_NONE. Returns the token to go
 * on with: behind the hole if it was replaced. */
static size_t mark(struct expander *x, size_t i, size_t *open) {
    const size_t at = x->source.tokens[i].at;
    char name[NAME_MAX_BYTES], end_name[NAME_MAX_BYTES];
    if (!tpl_first_on_line(&x->source, at) || !read_mark(x, i, name)) {
        refuse(x, i, "is no mark: `//@emit NAME` and `//@end` stand alone on a line, `//@drop` ends one");
        return i + 1;
    }
    const bool ends = !*name;
    if (ends == (*open == TPL_NONE))
        refuse(x, i, "comes out of turn: every hole is one //@emit NAME, then one //@end");
    copy_to(x, tpl_line_start(&x->source, at));
    resume(x, i);
    *open = ends ? TPL_NONE : i;
    size_t end = i + 1;
    while (kind_of(x, end) != TPL_END && kind_of(x, end) != TPL_MARK)
        end++;
    if (ends || !read_mark(x, end, end_name) || *end_name || !replace_hole(x, i, end, name))
        return i + 1; /* a missing end is refused at the next mark or at the end of the text */
    *open = TPL_NONE;
    resume(x, end);
    return end + 1;
}

static void expand(struct expander *x) {
    const struct tpl_token *t = x->source.tokens;
    size_t open = TPL_NONE;
    for (size_t i = 0; t[i].kind != TPL_END; i++)
        if (is(x, i, "R LR uR UR u8R") && t[i + 1].kind == TPL_STRING && t[i + 1].at == end_of(x, i))
            refuse(x, i, "begins a raw string, which could hide anything: write an ordinary one");
    for (size_t i = 0; t[i].kind != TPL_END;) {
        if (is_unroll(x, i))
            i = outer_loop(x, i);
        else
            i = t[i].kind == TPL_MARK ? mark(x, i, &open) : i + 1;
    }
    if (open != TPL_NONE)
        refuse(x, open, "lacks its //@end");
    copy_to(x, x->source.len);
}

bool tpl_expand(struct text *out, const char *bytes, size_t len, const struct tpl_options *options) {
    struct expander x = {.options = options};
    x.scope.params = options->params;
    x.scope.param_count = options->param_count;
    tpl_lex(&x.source, bytes, len);
    expand(&x);
    if (x.refusals == 0)
        tpl_clean(out, x.out.data, x.out.len);
    free(x.source.tokens);
    text_free(&x.out);
    return x.refusals == 0;
}

bool tpl_section(struct text *out, const char *path, const char *bytes, size_t len, const char *name) {
    struct text clean = {0}, begin = {0};
    text_add(&clean, "\n");
    tpl_clean(&clean, bytes, len);
    text_addf(&begin, "\n/*@%s*/\n", name);
    const char *from = strstr(clean.data, begin.data);
    const char *to = from ? strstr(from + begin.len - 1, "\n/*@end*/\n") : NULL;
    const bool ok = to && !strstr(from + 1, begin.data);
    if (ok)
        text_add_bytes(out, from + begin.len, (size_t)(to + 1 - from) - begin.len);
    else
        err_user(path, 0, "wants one section between the lines /*@%s*/ and /*@end*/", name);
    text_free_all(&clean, &begin);
    return ok;
}
