/* common_site_line.c: reads a line of the site table; see common_site_line.h. */
#include "common_site_line.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_accuracy(const char *text) {
    static const char *const names[] = {"half",           "tf32",           "fp32-fast",
                                        "fp32",           "reproducible",   "reproducible:3",
                                        "reproducible:6", "reproducible:10"};
    static const char *const forms[] = {"bits=", "bound=", "relative="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0)
            return true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strncmp(text, forms[i], strlen(forms[i])) == 0 && text[strlen(forms[i])] != '\0')
            return true;
    return false;
}

bool dropin_is_accuracy(const char *text) {
    return strlen(text) < DROPIN_TEXT && is_accuracy(text);
}

bool dropin_is_accuracy64(const char *text) {
    return strlen(text) < DROPIN_TEXT && (strcmp(text, "fp64") == 0 || strcmp(text, "fp64-fast") == 0 || strcmp(text, "fp64-exact") == 0 || strcmp(text, "reproducible") == 0 ||
                                          (strncmp(text, "bits=", 5) == 0 && text[5] != '\0'));
}

bool dropin_site_line_is_of(const struct dropin_site_line *line, bool fp64) {
    static const char *const schemes[] = {"crt", "native64", "ozaki"};
    if (line->verb != 's')
        return line->verb == 'o' || (fp64 ? dropin_is_accuracy64(line->text) : is_accuracy(line->text));
    bool is_fp64 = false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        is_fp64 = is_fp64 || strncmp(line->text, schemes[i], strlen(schemes[i])) == 0;
    return is_fp64 == fp64;
}

static const char *const ranges[DROPIN_RANGES] = {"m", "n", "k", "batch", "ordinal"};

static bool copy_text(char *to, size_t room, const char *from) {
    if (from[0] == '\0' || strlen(from) >= room)
        return false;
    strcpy(to, from);
    return true;
}

static bool read_number(const char **at, int64_t *number) {
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    const long long value = strtoll(*at, &end, 10);
    *at = end;
    *number = value;
    return errno == 0;
}

static bool read_range(const char *text, int64_t *least, int64_t *most) {
    const bool has_least = read_number(&text, least);
    if (*text == '\0') {
        *most = *least;
        return has_least;
    }
    if (*text++ != '-')
        return false;
    const bool has_most = read_number(&text, most);
    return *text == '\0' && (has_least || has_most) && *least <= *most;
}

static bool read_op(char op[3], const char *text) {
    if (strlen(text) != 2 || strspn(text, "NT") != 2)
        return false;
    strcpy(op, text);
    return true;
}

/* One word; *done: it was what is done. */
static bool read_word(struct dropin_site_line *line, char *word, bool *done) {
    char *const value = strchr(word, '=');
    if (value == NULL) {
        line->verb = 'o';
        *done = true;
        return strcmp(word, "original") == 0;
    }
    *value = '\0';
    const char *const text = value + 1;
    if (strcmp(word, "accuracy") == 0 || strcmp(word, "scheme") == 0) {
        line->verb = word[0];
        *done = true;
        return copy_text(line->text, sizeof line->text, text) &&
               (word[0] == 's' || dropin_is_accuracy(text) || dropin_is_accuracy64(text));
    }
    if (strcmp(word, "site") == 0)
        return copy_text(line->site, sizeof line->site, text);
    if (strcmp(word, "api") == 0)
        return copy_text(line->api, sizeof line->api, text);
    if (strcmp(word, "op") == 0)
        return read_op(line->op, text);
    for (int i = 0; i < DROPIN_RANGES; i++)
        if (strcmp(word, ranges[i]) == 0)
            return read_range(text, &line->least[i], &line->most[i]);
    return false;
}

int dropin_read_site_line(char *text, struct dropin_site_line *line, char wrong[DROPIN_TEXT]) {
    char *rest = NULL, word[DROPIN_TEXT] = "";
    bool done = false;
    memset(line, 0, sizeof *line);
    for (int i = 0; i < DROPIN_RANGES; i++)
        line->most[i] = INT64_MAX;
    text[strcspn(text, "#\n")] = '\0';
    for (char *at = strtok_r(text, " \t\r", &rest); at != NULL; at = strtok_r(NULL, " \t\r", &rest)) {
        snprintf(word, sizeof word, "%s", at);
        snprintf(wrong, DROPIN_TEXT, "%s", at);
        if (done || !read_word(line, at, &done))
            return -1;
    }
    return done ? 1 : word[0] == '\0' ? 0 : -1;
}

bool dropin_site_line_holds(const struct dropin_site_line *line, const struct dropin_site_call *call) {
    for (int i = 0; i < DROPIN_RANGES; i++)
        if (call->is[i] < line->least[i] || call->is[i] > line->most[i])
            return false;
    if (line->op[0] != '\0' && (line->op[0] != call->op_a || line->op[1] != call->op_b))
        return false;
    return line->api[0] == '\0' || fnmatch(line->api, call->api, 0) == 0;
}
