/* reach: see tpl.h. Names decide, not types: what is kept may be too much, never too little. */
#include "emit/tpl.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "emit/tpl_expr.h"

enum { BUCKETS = 256, GROUPS_MAX = 8 };

/* Where items of the library go, in the order of the text: in front of the rest types, constants, functions
 * that the compiler evaluates and declarations of all others; kernels beside the rest; behind it functions. A
 * line of #if or #endif goes wherever something between the two does. */
enum place { PLACE_FRONT, PLACE_MIDDLE, PLACE_BACK, PLACE_GROUP };

struct item {
    size_t first, end;     /* tokens; end is the next item's first */
    size_t name;           /* token, or TPL_NONE: neither function nor table */
    size_t next;           /* item in the same bucket, plus one; 0: none */
    size_t from, own, to;  /* bytes: behind the item before, of the comment right above, behind the item */
    size_t heading;        /* item below which stands what heads this one */
    enum place place, headed_at; /* headed_at: place of what it heads, the last of several */
    bool kept, is_written; /* is_written: as a heading */
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
    struct item item = {.first = i, .name = is(r, i, "HT_TABLE") ? i + 2 : TPL_NONE}; /* TABLE TYPE NAME */
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

/* Keeps the functions and tables of this name, and what they name. */
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

/* The { of a function. */
static size_t body_of(const struct reach *r, const struct item *item) {
    return r->source.tokens[item->end - 1].match;
}

static enum place place_of(const struct reach *r, const struct item *item, size_t library) {
    const struct tpl_token *t = &r->source.tokens[item->first];
    const char *text = r->source.bytes + t->at;
    enum place place = item->name == TPL_NONE ? PLACE_FRONT : PLACE_BACK;
    if (t->at >= library)
        return PLACE_MIDDLE;
    if (t->kind == TPL_DIRECTIVE && (strncmp(text, "#if", 3) == 0 || strncmp(text, "#e", 2) == 0))
        return PLACE_GROUP; /* #else, #endif */
    for (size_t i = item->first; place == PLACE_BACK && i < body_of(r, item); i++) /* =: a default argument */
        place = is(r, i, "constexpr =") ? PLACE_FRONT : is(r, i, "__global__") ? PLACE_MIDDLE : place;
    return place;
}

static void read_items(struct reach *r, size_t library) {
    for (size_t i = 0; r->source.tokens[i].kind != TPL_END; i = r->items[r->count - 1].end) {
        struct item *item = &r->items[r->count++];
        *item = read_item(r, i);
        item->place = place_of(r, item, library);
        if (item->name == TPL_NONE)
            continue;
        const struct tpl_token *t = &r->source.tokens[item->name];
        size_t *bucket = bucket_of(r, r->source.bytes + t->at, t->len);
        item->next = *bucket;
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

/* Bytes of each item, and what heads it: what stands between items and right above none. */
static void measure_items(struct reach *r) {
    const char *p = r->source.bytes;
    for (size_t i = 0, from = 0; i < r->count; from = r->items[i++].to) {
        struct item *item = &r->items[i];
        const struct tpl_token *last = &r->source.tokens[item->end - 1];
        const size_t start = tpl_line_start(&r->source, r->source.tokens[item->first].at);
        const size_t end = last->at + last->len;
        const char *newline = memchr(p + end, '\n', r->source.len - end);
        item->from = from;
        item->own = item->place == PLACE_GROUP ? start : own_comment(p, from, start < from ? from : start);
        item->to = newline ? (size_t)(newline + 1 - p) : r->source.len;
        const bool is_headed = i == 0 || strspn(p + from, "\n") < item->own - from;
        item->heading = is_headed ? i : r->items[i - 1].heading;
        struct item *heading = &r->items[item->heading];
        if (item->kept && item->place != PLACE_GROUP && item->place > heading->headed_at)
            heading->headed_at = item->place;
    }
}

/* The function's line or lines before its body. */
static void declare(struct text *out, const struct reach *r, const struct item *item) {
    const struct tpl_token *t = r->source.tokens, *last = &t[body_of(r, item) - 1];
    const size_t at = t[item->first].at;
    text_add_bytes(out, r->source.bytes + at, last->at + last->len - at);
    text_add(out, ";\n");
}

/* Writing the items of one place: the lines of #if around an item, the first `opened` of them written. */
struct writer {
    struct text *out;
    struct reach *r;
    enum place place;
    const struct item *group[GROUPS_MAX];
    size_t groups, opened;
    const struct item *closed; /* the last written group's #if, and how long the text was behind it */
    size_t closed_at;
};

static void write_item(const struct writer *w, const struct item *item) {
    text_add_bytes(w->out, w->r->source.bytes + item->own, item->to - item->own);
}

/* A group that begins where one of the same condition has just ended goes on with it. */
static void open_group(struct writer *w, const struct item *item) {
    const size_t len = item->to - item->own;
    const char *line = w->r->source.bytes + item->own;
    const struct item *last = w->closed;
    if (last && w->out->len == w->closed_at && last->to - last->own == len &&
        memcmp(w->r->source.bytes + last->own, line, len) == 0)
        w->out->data[w->out->len -= strlen("#endif\n")] = 0;
    else
        write_item(w, item);
}

static void pass_group(struct writer *w, const struct item *item) {
    const char *line = w->r->source.bytes + w->r->source.tokens[item->first].at;
    const bool begins = line[1] == 'i';
    if (line[2] == 'l' || (begins ? w->groups == GROUPS_MAX : w->groups == 0))
        err_bug("of #if, #else and #endif hooks have #if and #endif alone between functions, in pairs");
    if (begins)
        w->group[w->groups++] = item;
    else if (w->opened == w->groups--) {
        write_item(w, item);
        w->closed = w->group[--w->opened];
        w->closed_at = w->out->len;
    }
}

/* A heading stands where the last of what it heads does. */
static void write_items(struct writer *w) {
    for (size_t i = 0; i < w->r->count; i++) {
        struct item *item = &w->r->items[i], *heading = &w->r->items[item->heading];
        const bool declares = w->place == PLACE_FRONT && item->place == PLACE_BACK;
        if (item->place == PLACE_GROUP)
            pass_group(w, item);
        if (item->place == PLACE_GROUP || !item->kept || (item->place != w->place && !declares))
            continue;
        if (heading->headed_at == w->place && !heading->is_written)
            text_add_bytes(w->out, w->r->source.bytes + heading->from, heading->own - heading->from);
        else if (!declares && item->own > item->from)
            text_add(w->out, "\n");
        heading->is_written = heading->is_written || heading->headed_at == w->place;
        for (; w->opened < w->groups; w->opened++)
            open_group(w, w->group[w->opened]);
        if (declares)
            declare(w->out, w->r, item);
        else
            write_item(w, item);
    }
}

void reach_add(struct text *out, const struct text *code, size_t library, const struct text *callers) {
    static const char *const titles[] = {"// ---- what the kernel is made of; functions stand behind it\n",
                                         "\n// ---- the kernel\n", "\n// ---- functions that it calls\n"};
    struct reach r = {0};
    size_t tokens = 1;
    tpl_lex(&r.source, code->data, code->len);
    while (r.source.tokens[tokens - 1].kind != TPL_END)
        tokens++;
    r.items = text_memory(NULL, tokens * sizeof *r.items);
    read_items(&r, library);
    keep_words(&r, callers->data, callers->len);
    for (size_t i = 0; i < r.count; i++)
        if (r.items[i].name == TPL_NONE)
            keep_item(&r, &r.items[i]);
    measure_items(&r);
    for (enum place place = PLACE_FRONT; place <= PLACE_BACK; place++) {
        struct writer w = {.out = out, .r = &r, .place = place};
        text_add(out, library > 0 ? titles[place] : "");
        write_items(&w);
    }
    free(r.items);
    free(r.source.tokens);
}
