/* tpl_loop: which loops are unrolled: reads the pragma and the header, and looks whether the body declares
 * names. Writes nothing. */
#include "tpl_expander.h"

#include <stdarg.h>
#include <stdio.h>

#include "err.h"

void tpl_refuse(struct tpl_expander *x, size_t token, const char *format, ...) {
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

enum tpl_pragma tpl_pragma_of(const struct tpl_expander *x, size_t i) {
    if (kind_of(x, i) != TPL_DIRECTIVE)
        return TPL_PRAGMA_NONE;
    static const char *const words[] = {"#", "pragma", "unroll"};
    const char *p = spelling(x, i), *end = p + x->source.tokens[i].len;
    for (size_t w = 0; w < 3; w++) {
        const size_t len = strlen(words[w]);
        if ((size_t)(end - p) < len || memcmp(p, words[w], len) != 0)
            return TPL_PRAGMA_NONE;
        p += len;
        if (w > 0 && p < end && !strchr(" \t(/\\", *p))
            return TPL_PRAGMA_NONE; /* a longer word, such as unroll_and_jam */
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
    }
    if (p == end || (*p == '/' && end - p > 1))
        return TPL_PRAGMA_UNROLL;
    return *p == '1' && end - p == 1 ? TPL_PRAGMA_KEEP : TPL_PRAGMA_OTHER;
}

/* Behind `<...>` from its opening token, or i when it does not look like template arguments. */
static size_t behind_template_arguments(const struct tpl_expander *x, size_t i) {
    int depth = 0;
    for (size_t j = i; !is(x, j, "; { } && ||") && kind_of(x, j) != TPL_END; j++) {
        depth += is(x, j, "<") ? 1 : is(x, j, ">") ? -1 : is(x, j, ">>") ? -2 : 0;
        if (depth <= 0)
            return code_after(x, j);
    }
    return i;
}

/* Whether the statement at token i may declare a name. */
static bool declares_name(const struct tpl_expander *x, size_t i) {
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

bool tpl_body_declares(struct tpl_expander *x, const struct tpl_loop *loop) {
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
static bool constant(struct tpl_expander *x, size_t at, size_t end, const char *what, int *value) {
    struct tpl_eval e = {.source = &x->source, .scope = &x->scope, .at = at};
    const bool ok = tpl_eval(&e, value);
    if (ok && e.at == end)
        return true;
    const char *fault = ok ? "is not part of a constant expression" : e.fault;
    tpl_refuse(x, e.at, "%s of the unrolled loop: `%.*s` %s", what, shown_len(x, e.at), spelling(x, e.at),
               fault);
    return false;
}

/* The condition and the step, given the value of loop->first; fills step and count. */
static bool read_range(struct tpl_expander *x, struct tpl_loop *loop, size_t condition, size_t step,
                       size_t close) {
    const size_t compare = code_after(x, condition), second = code_after(x, step);
    const char *name = spelling(x, loop->index);
    const int len = shown_len(x, loop->index);
    const struct tpl_scope own = {.index = {{.token = loop->index}}, .depth = 1};
    int limit;
    if (tpl_find_index(&own, &x->source, condition) < 0 || !is(x, compare, "< <="))
        return tpl_refuse(x, condition, "an unrolled loop ends by `%.*s < N` or `%.*s <= N`", len, name, len,
                          name),
               false;
    if (!constant(x, code_after(x, compare), code_before(x, step), "end", &limit))
        return false;
    const bool plain = (tpl_find_index(&own, &x->source, step) == 0 && is(x, second, "++")) ||
                       (is(x, step, "++") && tpl_find_index(&own, &x->source, second) == 0);
    loop->step = 1;
    if (plain ? code_after(x, second) != close
              : tpl_find_index(&own, &x->source, step) < 0 || !is(x, second, "+="))
        return tpl_refuse(x, step, "an unrolled loop counts by `%.*s++`, `++%.*s` or `%.*s += N`", len, name,
                          len, name, len, name),
               false;
    if (!plain && !constant(x, code_after(x, second), close, "step", &loop->step))
        return false;
    if (loop->step <= 0)
        return tpl_refuse(x, step, "step %d of the unrolled loop is not positive", loop->step), false;
    const long long span = (long long)limit - loop->first + is(x, compare, "<=");
    const long long count = span <= 0 ? 0 : (span + loop->step - 1) / loop->step;
    if (count > TPL_ITERATIONS_MAX)
        return tpl_refuse(x, condition, "the unrolled loop runs %lld times, more than %d: keep it rolled",
                          count, TPL_ITERATIONS_MAX),
               false;
    loop->count = (int)count;
    return true;
}

bool tpl_read_loop(struct tpl_expander *x, size_t pragma, struct tpl_loop *loop) {
    *loop = (struct tpl_loop){.index = TPL_NONE, .open = TPL_NONE, .first = 1, .step = 1, .count = 1};
    const size_t word = code_after(x, pragma), open = code_after(x, word);
    const size_t close = x->source.tokens[open].match;
    if (tpl_pragma_of(x, pragma) == TPL_PRAGMA_OTHER)
        return tpl_refuse(x, pragma,
                          "only `#pragma unroll` (all of it) and `#pragma unroll 1` (kept as it is)"),
               false;
    if (before_is(x, pragma, ") else do"))
        return tpl_refuse(x, pragma,
                          "the unrolled loop is all of another statement's body: put it in braces"),
               false;
    if (!is(x, word, "for") || !is(x, open, "(") || close == TPL_NONE)
        return tpl_refuse(x, pragma,
                          "`#pragma unroll` has to stand before a `for (int i = A; i < B; i++) {`"),
               false;
    const size_t brace = code_after(x, close);
    if (!is(x, brace, "{") || x->source.tokens[brace].match == TPL_NONE)
        return tpl_refuse(x, word, "the unrolled loop has no braces: write `{ ... }` around its body"), false;
    loop->open = brace;
    loop->close = x->source.tokens[brace].match;
    const size_t type = code_after(x, open), name = code_after(x, type), equals = code_after(x, name);
    if (!is(x, type, "int") || kind_of(x, name) != TPL_NAME || !is(x, equals, "="))
        return tpl_refuse(x, type, "an unrolled loop begins with `for (int i = A;`"), false;
    loop->index = name;
    if (tpl_find_param(&x->scope, &x->source, name) || tpl_find_index(&x->scope, &x->source, name) >= 0)
        return tpl_refuse(x, name,
                          "the index `%.*s` has the name of a parameter or an enclosing index: rename it",
                          shown_len(x, name), spelling(x, name)),
               false;
    const size_t condition = behind_semicolon(x, equals, close), step = behind_semicolon(x, condition, close);
    if (condition >= close || step >= close)
        return tpl_refuse(x, word, "the unrolled loop's header lacks its end or its step"), false;
    int first;
    if (!constant(x, code_after(x, equals), condition - 1, "start", &first))
        return false;
    loop->first = first;
    return read_range(x, loop, code_from(x, condition), code_from(x, step), close);
}
