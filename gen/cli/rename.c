/* rename.c: word by word; see rename.h. */
#include "cli/rename.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void rename_init(struct rename *r, const char *prefix, const char *abi) {
    *r = (struct rename){.active = prefix != NULL, .abi = abi};
    snprintf(r->prefix, sizeof r->prefix, "%s", prefix ? prefix : "halftone_");
    for (size_t i = 0; i < sizeof r->upper; i++)
        r->upper[i] = (char)toupper((unsigned char)r->prefix[i]);
    snprintf(r->stem, sizeof r->stem, "%.*s", (int)strlen(r->prefix) - 1, r->prefix);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins(const char *word, size_t len, const char *start) {
    return len >= strlen(start) && memcmp(word, start, strlen(start)) == 0;
}

/* Whether the abi text declares the word; an enumerator begins a line and has its value behind it. */
static bool is_declared(const struct rename *r, const char *word, size_t len) {
    static const char *const forms[] = {"struct %.*s {", "#define %.*s ", "static inline int %.*s(",
                                        "enum %.*s {", "\n    %.*s = "};
    char text[128];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, forms[i], (int)len, word);
        if (strstr(r->abi, text))
            return true;
    }
    return false;
}

static bool is_renamed(const struct rename *r, const char *word, size_t len, enum rename_scope scope,
                       const char *kernel) {
    /* of the compiler's command line: one name whatever the prefix; the last two are refused there */
    static const char *const switches[] = {"HT_SIMULATOR", "HT_JOIN", "HT_JOINING", "HT_MORE_SETS",
                                           "HT_SETS_ELSEWHERE"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (len == strlen(switches[i]) && begins(word, len, switches[i]))
            return false;
    if (begins(word, len, "ht_sim_") || begins(word, len, "HT_SIM_"))
        return false; /* the simulator, local wherever it is */
    return scope != RENAME_KERNEL || begins(word, len, kernel) || is_declared(r, word, len);
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
    for (size_t i = 0; i < len;) {
        size_t end = i;
        while (end < len && is_word(line[end]))
            end++;
        if (end > i)
            add_word(out, r, line + i, end - i, end < len ? line[end] : 0, scope, kernel);
        else
            text_add_bytes(out, line + end++, 1);
        i = end;
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
