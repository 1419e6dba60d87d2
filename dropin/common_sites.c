/* common_sites.c: the site table, HALFTONE_SITES=FILE. A line is conditions and, last, what is done where all of them hold;
 * of the lines that hold the first counts:
 *
 *     site=libtorch_cuda.so+* m=4096 n=1-64 accuracy=fp32-fast
 *     api=cublasSgemm_v2* op=NT k=65536- original
 *     ordinal=3 scheme=i8x6
 *
 * site and api are patterns of the shell; m, n, k, batch and ordinal are N, N-M, N- or -M; '#' begins a comment. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_state.h"

static const char *const ranges[] = {"m", "n", "k", "batch", "ordinal"};
enum { RANGES = 5, ORDINAL = 4 };

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
        return copy_text(line->text, sizeof line->text, text) && (word[0] == 's' || dropin_is_accuracy(text));
    }
    if (strcmp(word, "site") == 0)
        return copy_text(line->site, sizeof line->site, text);
    if (strcmp(word, "api") == 0)
        return copy_text(line->api, sizeof line->api, text);
    if (strcmp(word, "op") == 0)
        return read_op(line->op, text);
    for (int i = 0; i < RANGES; i++)
        if (strcmp(word, ranges[i]) == 0)
            return read_range(text, &line->least[i], &line->most[i]);
    return false;
}

/* 1: a line, 0: nothing on it, -1: wrong, `wrong` is the word. */
static int read_line(char *text, struct dropin_site_line *line, char wrong[DROPIN_TEXT]) {
    char *rest = NULL, word[DROPIN_TEXT] = "";
    bool done = false;
    memset(line, 0, sizeof *line);
    for (int i = 0; i < RANGES; i++)
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

static bool add_line(struct dropin_state *s, const struct dropin_site_line *line) {
    struct dropin_site_line *const grown =
        (struct dropin_site_line *)realloc(s->site, ((size_t)s->sites + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    s->site = grown;
    s->site[s->sites++] = *line;
    s->sites_ask_ordinal =
        s->sites_ask_ordinal || line->least[ORDINAL] > 0 || line->most[ORDINAL] < INT64_MAX;
    return true;
}

bool dropin_read_sites(struct dropin_state *s) {
    if (s->settings.sites[0] == '\0')
        return true;
    FILE *const file = fopen(s->settings.sites, "re");
    if (file == NULL) {
        dropin_say("HALFTONE_SITES=%.200s: %s; nothing is served in this process", s->settings.sites,
                   strerror(errno));
        return false;
    }
    char text[DROPIN_LINE], wrong[DROPIN_TEXT];
    bool good = true;
    for (int number = 1; good && fgets(text, sizeof text, file) != NULL; number++) {
        struct dropin_site_line line;
        const int found = strlen(text) == sizeof text - 1 ? -1 : read_line(text, &line, wrong);
        good = found >= 0 && (found == 0 || add_line(s, &line));
        if (!good)
            dropin_say("%.200s:%d: '%s' is wrong or out of place: conditions site= api= op= m= n= k= batch= "
                       "ordinal=, then one of "
                       "original, accuracy=, scheme=; nothing is served in this process",
                       s->settings.sites, number, found < 0 ? wrong : "out of memory");
    }
    (void)fclose(file);
    return good;
}

static bool holds(const struct dropin_site_line *line, const struct dropin_call *call, int64_t ordinal) {
    const int64_t is[RANGES] = {call->m, call->n, call->k, call->batch, ordinal};
    for (int i = 0; i < RANGES; i++)
        if (is[i] < line->least[i] || is[i] > line->most[i])
            return false;
    if (line->op[0] != '\0' && (line->op[0] != call->op_a || line->op[1] != call->op_b))
        return false;
    if (line->api[0] != '\0' && fnmatch(line->api, dropin_api_name(call->api), 0) != 0)
        return false;
    if (line->site[0] == '\0')
        return true;
    char site[DROPIN_LINE];
    dropin_site(call->caller, site, sizeof site);
    return fnmatch(line->site, site, 0) == 0;
}

const struct dropin_site_line *dropin_match_site(const struct dropin_call *call, int64_t ordinal) {
    const struct dropin_state *const s = &halftone_dropin_state;
    for (int i = 0; i < s->sites; i++)
        if (holds(&s->site[i], call, ordinal))
            return &s->site[i];
    return NULL;
}
