/* reach: see reach.h. Names decide, not types: what is kept may be too much, never too little. */
#include "emit/reach.h"

#include <stdlib.h>
#include <string.h>

#include "emit/tpl_expr.h"

enum { BUCKETS = 256 };

struct item {
    size_t first, end; /* tokens; end is the next item's first */
    size_t name;       /* token, or TPL_NONE: no function */
    size_t next;       /* item in the same bucket, plus one; 0: none */
    bool kept;
};

struct reach {
    struct tpl_source source;
    struct item *items;
    size_t count, bucket[BUCKETS]; /* item plus one */
};

static bool is(const struct reach *r, size_t i, const char *list) {
    return tpl_is(&r->source, i, list);
}

static size_t behind(const struct reach *r, size_t i) {
    const size_t match = r->source.tokens[i].match;
    return match != TPL_NONE && match > i ? match + 1 : i + 1;
}

/* The item that begins at token i. A macro's call with nothing behind it on its line is one by itself. */
static struct item read_item(const struct reach *r, size_t i) {
    const struct tpl_token *t = r->source.tokens;
    struct item item = {.first = i, .name = TPL_NONE};
    size_t name = TPL_NONE;
    if (t[i].kind == TPL_DIRECTIVE)
        return item.end = i + 1, item;
    for (; t[i].kind != TPL_END && t[i].kind != TPL_DIRECTIVE && !is(r, i, ";");) {
        const size_t open = i, first = item.first;
        if (is(r, i, "(") && i > 0 && t[i - 1].kind == TPL_NAME)
            name = i - 1;
        i = behind(r, i);
        if (is(r, open, "(") && open == first + 1 && tpl_column(&r->source, t[i].at) == 0 && !is(r, i, ";"))
            return item.end = i, item;
        if (open > 0 && is(r, open, "{") && is(r, open - 1, ")"))
            return item.name = name, item.end = i, item;
    }
    return item.end = i + is(r, i, ";"), item;
}

static size_t *bucket_of(struct reach *r, const char *name, size_t len) {
    return &r->bucket[text_checksum(TEXT_CHECKSUM_SEED, name, len) % BUCKETS];
}

/* Keeps the functions of this name, and what they name. */
static void keep(struct reach *r, const char *name, size_t len);

static void keep_words(struct reach *r, const char *bytes, size_t len) {
    for (size_t at = 0, n; at < len; at += n ? n : 1) {
        for (n = 0; at + n < len && tpl_is_word(bytes[at + n]);)
            n++;
        if (n > 0)
            keep(r, bytes + at, n);
    }
}

static void keep_item(struct reach *r, struct item *item) {
    item->kept = true;
    for (size_t i = item->first; i < item->end; i++) {
        const struct tpl_token *t = &r->source.tokens[i];
        if (t->kind == TPL_NAME)
            keep(r, r->source.bytes + t->at, t->len);
        else if (t->kind == TPL_DIRECTIVE)
            keep_words(r, r->source.bytes + t->at, t->len);
    }
}

static void keep(struct reach *r, const char *name, size_t len) {
    for (size_t i = *bucket_of(r, name, len); i != 0; i = r->items[i - 1].next) {
        struct item *item = &r->items[i - 1];
        const struct tpl_token *t = &r->source.tokens[item->name];
        if (!item->kept && t->len == len && memcmp(r->source.bytes + t->at, name, len) == 0)
            keep_item(r, item);
    }
}

static void read_items(struct reach *r) {
    for (size_t i = 0; r->source.tokens[i].kind != TPL_END; i = r->items[r->count - 1].end) {
        const struct item item = r->items[r->count++] = read_item(r, i);
        if (item.name == TPL_NONE)
            continue;
        const struct tpl_token *t = &r->source.tokens[item.name];
        size_t *bucket = bucket_of(r, r->source.bytes + t->at, t->len);
        r->items[r->count - 1].next = *bucket;
        *bucket = r->count;
    }
}

/* Where the comment right above byte `to`, the start of a line, begins: behind the last empty line. */
static size_t own_comment(const char *p, size_t from, size_t to) {
    for (size_t at = to; at > from; at--)
        if (p[at - 1] == '\n' && (at - 1 == from || p[at - 2] == '\n'))
            return at;
    return from;
}

/* `heading` is what stands between items and right above none: it waits for the first kept one below it. */
static void write_items(struct text *out, const struct reach *r) {
    const char *p = r->source.bytes, *heading = NULL;
    size_t headed = 0;
    for (size_t i = 0, from = 0, to; i < r->count; i++, from = to) {
        const struct tpl_token *last = &r->source.tokens[r->items[i].end - 1];
        const size_t start = tpl_line_start(&r->source, r->source.tokens[r->items[i].first].at);
        const size_t own = own_comment(p, from, start < from ? from : start), end = last->at + last->len;
        const char *newline = memchr(p + end, '\n', r->source.len - end);
        to = newline ? (size_t)(newline + 1 - p) : r->source.len;
        if (headed == 0 || strspn(p + from, "\n") < own - from)
            heading = p + from, headed = own - from;
        if (r->items[i].kept) {
            text_add_bytes(out, heading, headed);
            text_add_bytes(out, p + own, to - own);
            headed = 0;
        }
    }
}

void reach_add(struct text *out, const struct text *code, const struct text *callers) {
    struct reach r = {0};
    size_t tokens = 1;
    if (tpl_lex(&r.source, code->data, code->len)) {
        while (r.source.tokens[tokens - 1].kind != TPL_END)
            tokens++;
        r.items = calloc(tokens, sizeof *r.items);
    }
    if (!r.items || code->failed || callers->failed) {
        out->failed = true;
    } else {
        read_items(&r);
        keep_words(&r, callers->data, callers->len);
        for (size_t i = 0; i < r.count; i++)
            if (r.items[i].name == TPL_NONE)
                keep_item(&r, &r.items[i]);
        write_items(out, &r);
    }
    free(r.items);
    free(r.source.tokens);
}
