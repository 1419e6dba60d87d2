/* tpl_lex: see tpl_lex.h. Character classes are spelled out: the locale must not matter. */
#include "tpl_lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

void tpl_clean(struct text *out, const char *bytes, size_t len, int *lines) {
    static const char drop[] = "//@drop";
    const size_t drop_len = sizeof drop - 1;
    int line = 0;
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        const size_t next = newline ? (size_t)(newline - bytes) + 1 : len;
        size_t end = newline ? next - 1 : len;
        while (end > at && is_blank(bytes[end - 1]))
            end--;
        line++;
        if (end - at < drop_len || memcmp(bytes + end - drop_len, drop, drop_len) != 0) {
            text_add_bytes(out, bytes + at, end - at);
            text_add_bytes(out, "\n", 1);
            if (lines)
                *lines++ = line;
        }
        at = next;
    }
}

/* Scanners: from the first byte of a token to behind its last; n is the length of the text p. */

static size_t scan_to_newline(const char *p, size_t i, size_t n) {
    while (i < n && (p[i] != '\n' || (i > 0 && p[i - 1] == '\\')))
        i++;
    return i;
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

static size_t scan_raw_string(const char *p, size_t i, size_t n) {
    const size_t delimiter = ++i;
    while (i < n && p[i] != '(' && p[i] != '\n')
        i++;
    const size_t len = i - delimiter;
    for (; i < n; i++)
        if (p[i] == ')' && n - i > len + 1 && memcmp(p + i + 1, p + delimiter, len) == 0 &&
            p[i + 1 + len] == '"')
            return i + len + 2;
    return n;
}

/* A directive owns its comments, also one that runs over several lines: what follows is still the directive.
 */
static size_t scan_directive(const char *p, size_t i, size_t n) {
    while (i < n && (p[i] != '\n' || p[i - 1] == '\\')) {
        const char next = i + 1 < n ? p[i + 1] : '\0';
        if (p[i] == '/' && next == '/')
            return scan_to_newline(p, i, n);
        if (p[i] == '/' && next == '*')
            i = scan_block_comment(p, i, n);
        else if (p[i] == '"')
            i = scan_quoted(p, i, n);
        else
            i++;
    }
    return i;
}

/* Preprocessing number: exponent signs and digit separators belong to it. */
static size_t scan_number(const char *p, size_t i, size_t n) {
    for (i++; i < n; i++) {
        const bool sign = (p[i] == '+' || p[i] == '-') && memchr("eEpP", p[i - 1], 4);
        const bool separator = p[i] == '\'' && i + 1 < n && is_word(p[i + 1]);
        if (!is_word(p[i]) && p[i] != '.' && !sign && !separator)
            break;
    }
    return i;
}

static bool word_in(const char *word, size_t len, const char *list) {
    for (const char *at = list; *at;) {
        const size_t n = strcspn(at, " ");
        if (n == len && memcmp(at, word, len) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static size_t scan_word(const char *p, size_t i, size_t n, enum tpl_kind *kind) {
    const size_t start = i;
    while (i < n && is_word(p[i]))
        i++;
    *kind = TPL_NAME;
    if (i < n && p[i] == '"' && word_in(p + start, i - start, "R LR uR UR u8R")) {
        *kind = TPL_STRING;
        return scan_raw_string(p, i, n);
    }
    if (i < n && (p[i] == '"' || p[i] == '\'') && word_in(p + start, i - start, "L u U u8")) {
        *kind = TPL_STRING;
        return scan_quoted(p, i, n);
    }
    return i;
}

static size_t scan_punct(const char *p, size_t i, size_t n) {
    static const char list[] = "<<= >>= ... -> ++ -- << >> <= >= == != && || += -= *= /= %= &= |= ^= ::";
    for (size_t len = 3; len > 1; len--)
        if (n - i >= len && !memchr(p + i, ' ', len) && word_in(p + i, len, list))
            return i + len;
    return i + 1;
}

static size_t scan_token(const char *p, size_t i, size_t n, bool line_start, enum tpl_kind *kind) {
    const char next = i + 1 < n ? p[i + 1] : '\0';
    if (p[i] == '#' && line_start)
        return *kind = TPL_DIRECTIVE, scan_directive(p, i + 1, n);
    if (p[i] == '/' && next == '/')
        return *kind = TPL_COMMENT, scan_to_newline(p, i, n);
    if (p[i] == '/' && next == '*')
        return *kind = TPL_COMMENT, scan_block_comment(p, i, n);
    if (p[i] == '"' || p[i] == '\'')
        return *kind = TPL_STRING, scan_quoted(p, i, n);
    if (is_digit(p[i]) || (p[i] == '.' && is_digit(next)))
        return *kind = TPL_NUMBER, scan_number(p, i, n);
    if (is_word(p[i]))
        return scan_word(p, i, n, kind);
    return *kind = TPL_PUNCT, scan_punct(p, i, n);
}

/* Partners of ( [ {. A } closes the nearest {, whatever is open inside; ) and ] do not look beyond a {. So
 * halves of #if branches in one place do not spoil the matches elsewhere, and what matches inside a block
 * stays inside. */
static void match_brackets(struct tpl_source *s, size_t *stack) {
    size_t depth = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (tpl_is(s, i, "( [ {")) {
            stack[depth++] = i;
        } else if (tpl_is(s, i, ") ] }")) {
            const char closer = s->clean.data[s->tokens[i].at];
            const char opener = closer == ')' ? '(' : closer == ']' ? '[' : '{';
            size_t d = depth;
            while (d > 0 && s->clean.data[s->tokens[stack[d - 1]].at] != opener &&
                   (closer == '}' || !tpl_is(s, stack[d - 1], "{")))
                d--;
            if (d == 0 || s->clean.data[s->tokens[stack[d - 1]].at] != opener)
                continue;
            depth = d - 1;
            s->tokens[i].match = stack[depth];
            s->tokens[stack[depth]].match = i;
        }
    }
}

/* Splits s->clean into s->tokens, which has room for one token per byte and the end. */
static void split(struct tpl_source *s, const int *lines) {
    const char *p = s->clean.data;
    const size_t n = s->clean.len;
    size_t i = 0;
    int line = 0, column = 0;
    bool line_start = true;
    for (;;) {
        while (i < n && (is_blank(p[i]) || p[i] == '\n')) {
            line_start = line_start || p[i] == '\n';
            line += p[i] == '\n';
            column = p[i] == '\n' ? 0 : p[i] == '\t' ? (column / 4 + 1) * 4 : column + 1;
            i++;
        }
        struct tpl_token t = {.kind = TPL_END, .at = i, .match = TPL_NONE, .column = column};
        t.line = n > 0 ? lines[i < n ? line : line - 1] : 1;
        t.newline_before = line_start;
        const size_t end = i < n ? scan_token(p, i, n, line_start, &t.kind) : i;
        t.len = end - i;
        s->tokens[s->count++] = t;
        if (t.kind == TPL_END)
            return;
        for (; i < end; i++) {
            line += p[i] == '\n';
            column = p[i] == '\n' ? 0 : column + 1;
        }
        line_start = false;
    }
}

bool tpl_lex(struct tpl_source *s, const char *bytes, size_t len) {
    *s = (struct tpl_source){0};
    size_t line_count = 1;
    for (size_t i = 0; i < len; i++)
        line_count += bytes[i] == '\n';
    int *lines = malloc(line_count * sizeof *lines);
    if (lines)
        tpl_clean(&s->clean, bytes, len, lines);
    const size_t room = s->clean.len + 1;
    s->tokens = malloc(room * sizeof *s->tokens);
    size_t *stack = malloc(room * sizeof *stack);
    const bool ok = lines && s->tokens && stack && !s->clean.failed;
    if (ok) {
        split(s, lines);
        match_brackets(s, stack);
    }
    free(lines);
    free(stack);
    return ok;
}

void tpl_source_free(struct tpl_source *s) {
    text_free(&s->clean);
    free(s->tokens);
    *s = (struct tpl_source){0};
}

bool tpl_is(const struct tpl_source *s, size_t i, const char *list) {
    const struct tpl_token *t = &s->tokens[i];
    return (t->kind == TPL_NAME || t->kind == TPL_PUNCT) && word_in(s->clean.data + t->at, t->len, list);
}
