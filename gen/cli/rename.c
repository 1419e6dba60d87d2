/* rename.c: word by word; see vendor.h. */
#include "cli/vendor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/tpl_expr.h"

void rename_init(struct rename *r, const char *prefix, const char *shared) {
    *r = (struct rename){.active = prefix != NULL, .shared = shared};
    snprintf(r->prefix, sizeof r->prefix, "%s", prefix ? prefix : "halftone_");
    for (size_t i = 0; i < sizeof r->upper; i++)
        r->upper[i] = (char)toupper((unsigned char)r->prefix[i]);
    snprintf(r->stem, sizeof r->stem, "%.*s", (int)strlen(r->prefix) - 1, r->prefix);
}

static bool begins(const char *word, size_t len, const char *start) {
    return len >= strlen(start) && memcmp(word, start, strlen(start)) == 0;
}

/* Length of the word at the text; 0: none begins there. */
static size_t word_length(const char *at, const char *end) {
    size_t len = 0;
    while (at + len < end && tpl_is_word(at[len]))
        len++;
    return len;
}

void rename_names(struct text *out, const char *code, size_t len) {
    struct tpl_source source = {0};
    tpl_lex(&source, code, len);
    for (size_t i = 0; source.tokens[i].kind != TPL_END; i++) {
        const char *at = code + source.tokens[i].at, *end = at + source.tokens[i].len;
        for (size_t n; at < end && strncmp(at, "/*", 2) != 0; at += n ? n : 1) { /* a directive's comment */
            n = word_length(at, end);
            if ((begins(at, n, "ht_") || begins(at, n, "HT_")) && !text_has_word(out->data, at, n))
                text_addf(out, "%.*s ", (int)n, at);
        }
    }
    free(source.tokens);
}

static bool is_renamed(const struct rename *r, const char *word, size_t len, enum rename_scope scope,
                       const char *kernel) {
    /* of the compiler's command line: one name whatever the prefix; the last two are refused there */
    static const char switches[] = "HT_SIMULATOR HT_JOIN HT_JOINING HT_MORE_SETS HT_SETS_ELSEWHERE";
    if (text_has_word(switches, word, len) || begins(word, len, "ht_sim_") || begins(word, len, "HT_SIM_"))
        return false; /* the simulator, local wherever it is */
    return scope != RENAME_KERNEL || begins(word, len, kernel) || text_has_word(r->shared, word, len);
}

static void add_word(struct text *out, const struct rename *r, const char *word, size_t len, char next,
                     enum rename_scope scope, const char *kernel) {
    const bool internal = begins(word, len, "ht_"), macro = begins(word, len, "HT_");
    if ((internal || macro) && is_renamed(r, word, len, scope, kernel)) {
        text_add(out, internal ? r->prefix : r->upper);
        text_add_bytes(out, word, len);
    } else if (scope != RENAME_KERNEL && begins(word, len, "halftone_")) {
        text_add(out, r->prefix);
        text_add_bytes(out, word + 9, len - 9);
    } else if (scope != RENAME_KERNEL && begins(word, len, "HALFTONE_")) {
        text_add(out, r->upper);
        text_add_bytes(out, word + 9, len - 9);
    } else if (scope == RENAME_ALL && len == 8 && begins(word, len, "halftone") && next != '-') {
        text_add(out, r->stem); /* but halftone-gen is a program */
    } else {
        text_add_bytes(out, word, len);
    }
}

static bool stays(const char *line, size_t len) {
    static const char mark[] = "Recreate:";
    for (size_t i = 0; i + sizeof mark <= len; i++) {
        if (memcmp(line + i, mark, sizeof mark - 1) == 0)
            return true;
    }
    return false;
}

static void rename_line(struct text *out, const struct rename *r, const char *line, size_t len,
                        enum rename_scope scope, const char *kernel) {
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = word_length(line + i, line + len);
        if (n > 0)
            add_word(out, r, line + i, n, i + n < len ? line[i + n] : 0, scope, kernel);
        else
            text_add_bytes(out, line + i, 1);
    }
}

void rename_text(struct text *out, const struct rename *r, const char *bytes, size_t len,
                 enum rename_scope scope, const char *kernel) {
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        const size_t end = newline ? (size_t)(newline - bytes) + 1 : len;
        if (!r->active || stays(bytes + at, end - at))
            text_add_bytes(out, bytes + at, end - at);
        else
            rename_line(out, r, bytes + at, end - at, scope, kernel);
        at = end;
    }
}
