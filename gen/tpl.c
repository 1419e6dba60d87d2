/* tpl: see tpl.h. Copies the text around unrolled loops as byte ranges, and minds the marks. */
#include "tpl.h"

#include <string.h>

#include "err.h"
#include "tpl_expander.h"

enum { NAME_MAX_BYTES = 64 };

static size_t line_start(const struct tpl_expander *x, size_t at) {
    while (at > 0 && x->source.clean.data[at - 1] != '\n')
        at--;
    return at;
}

static void copy_to(struct tpl_expander *x, size_t at) {
    if (at > x->copied)
        text_add_bytes(&x->out, x->source.clean.data + x->copied, at - x->copied);
    x->copied = at;
}

/* An unrolled loop in copied text: the whole lines from its pragma to its closing brace. */
static size_t outer_loop(struct tpl_expander *x, size_t pragma) {
    const size_t word = code_after(x, pragma);
    const int indent = x->source.tokens[word].column;
    copy_to(x, line_start(x, x->source.tokens[pragma].at));
    const size_t next = tpl_unroll(x, pragma, indent);
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

static bool is_end_mark(const struct tpl_expander *x, size_t i) {
    return is_mark(x, i) && x->source.tokens[i].len == 6 && memcmp(spelling(x, i), "//@end", 6) == 0;
}

/* The end mark of the hole that token i opens, or TPL_NONE. */
static size_t hole_end(const struct tpl_expander *x, size_t i) {
    do
        i++;
    while (kind_of(x, i) != TPL_END && !is_mark(x, i));
    return is_end_mark(x, i) && x->source.tokens[i].newline_before ? i : TPL_NONE;
}

/* Lets the callback write the hole [mark, end]; false: the code in it stays. */
static bool replace_hole(struct tpl_expander *x, size_t mark, const char *name) {
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
static void skip_mark(struct tpl_expander *x, size_t i) {
    copy_to(x, line_start(x, x->source.tokens[i].at));
    x->copied = x->source.tokens[i].at + x->source.tokens[i].len + 1;
}

static size_t open_hole(struct tpl_expander *x, size_t mark, size_t *hole) {
    const char *p = spelling(x, mark);
    const size_t len = x->source.tokens[mark].len, word = strlen("//@emit ");
    char name[NAME_MAX_BYTES];
    if (len <= word || len - word >= sizeof name || memchr(p + word, ' ', len - word) ||
        memchr(p, '\n', len)) {
        tpl_refuse(x, mark, "`//@emit NAME` wants one name of at most %d bytes", NAME_MAX_BYTES - 1);
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
            tpl_refuse(x, i, "`%.*s` has no partner in its hole: holes hold whole statements",
                       shown_len(x, i), spelling(x, i));
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
static size_t mark(struct tpl_expander *x, size_t i, size_t *hole) {
    const char *p = spelling(x, i);
    const size_t len = x->source.tokens[i].len;
    const bool emits = len >= 7 && memcmp(p, "//@emit", 7) == 0 && (len == 7 || p[7] == ' ');
    if (!x->source.tokens[i].newline_before)
        tpl_refuse(x, i, "`%.*s` has to be alone on its line", shown_len(x, i), p);
    else if (emits && *hole != TPL_NONE)
        tpl_refuse(x, i, "hole inside the hole of line %d: close that one with //@end first",
                   x->source.tokens[*hole].line);
    else if (emits)
        return open_hole(x, i, hole);
    else if (!is_end_mark(x, i))
        tpl_refuse(x, i, "unknown mark `%.*s`: there are //@emit NAME, //@end and //@drop", shown_len(x, i),
                   p);
    else if (*hole == TPL_NONE)
        tpl_refuse(x, i, "//@end without //@emit");
    else {
        skip_mark(x, i);
        *hole = TPL_NONE;
    }
    return i + 1;
}

static void expand(struct tpl_expander *x) {
    size_t hole = TPL_NONE, i = 0;
    while (kind_of(x, i) != TPL_END) {
        const enum tpl_pragma pragma = tpl_pragma_of(x, i);
        if (pragma == TPL_PRAGMA_UNROLL || pragma == TPL_PRAGMA_OTHER)
            i = outer_loop(x, i);
        else
            i = is_mark(x, i) ? mark(x, i, &hole) : i + 1;
    }
    if (hole != TPL_NONE)
        tpl_refuse(x, hole, "hole without //@end");
    copy_to(x, x->source.clean.len);
    tpl_check_limits(x, i);
}

bool tpl_expand(struct text *out, const char *bytes, size_t len, const struct tpl_options *options) {
    struct tpl_expander x = {.options = options};
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
