/* ht_site_line.c: reads lines of a site table; see ht_site_line.h. */
#include "ht_site_line.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which of `names` the text is, or begins with; each has its NUL, since an array of pointers would cost a process that a face is
 * preloaded into a relocation a name. -1: none. */
static int site_name(const char *names, const char *text, bool is_prefix) {
    for (int i = 0; names[0] != '\0'; names += strlen(names) + 1, i++)
        if (is_prefix ? strncmp(text, names, strlen(names)) == 0 : strcmp(text, names) == 0)
            return i;
    return -1;
}

/* ---- numbers, which no locale changes ---- */

static bool site_number(const char **at, int64_t *number) {
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return *number < INT64_MAX; /* where digits are too many it is that */
}

int ht_read_count(const char *text) {
    int64_t count;
    return strlen(text) <= 3 && site_number(&text, &count) && *text == '\0' ? (int)count : 0;
}

/* "12", "0.5", "1e-5"; false: not a number. */
static bool site_decimal(const char **at, double *value) {
    double power = 1;
    int scale = 0;
    bool any = false, is_fraction = false;
    for (*value = 0; (**at >= '0' && **at <= '9') || (**at == '.' && !is_fraction); ++*at)
        if (**at != '.') {
            *value = *value * 10 + (**at - '0');
            scale -= is_fraction;
            any = true;
        } else
            is_fraction = true;
    if (any && (**at | 32) == 'e' && (*at)[1] > ' ') {
        char *end;
        const long exponent = (long)strtoll(*at + 1, &end, 10);
        any = end > *at + 1 && exponent > -400 && exponent < 400;
        scale += any ? (int)exponent : 0;
        *at = end;
    }
    for (int i = scale < 0 ? -scale : scale; i > 0; i--)
        power *= 10; /* exact up to 10^22: one rounding in all for what people write */
    *value = scale < 0 ? *value / power : *value * power;
    return any;
}

/* Of which form with a number a text is; -1: none. */
static int site_form(const char *text) {
    return site_name("bits=\0bound=\0relative=\0", text, true);
}

/* Of "relative=X:rho=Y" X / Y: where |C-R| <= X/Y |A||B|, ||C-R|| <= X/Y || |A||B| || = X ||AB||. */
double ht_site_bound(const char *text) {
    enum { BITS, BOUND, RELATIVE };
    const int form = site_form(text);
    double bound = 1, rho = 1;
    if (form < 0 || strlen(text) >= HT_ACCURACY_TEXT_BYTES)
        return 0;
    text = strchr(text, '=') + 1;
    if (form == BITS) {
        const int bits = ht_read_count(text);
        for (int i = 0; i < bits; i++)
            bound /= 2;
        return bits > 0 ? bound : 0;
    }
    bool good = site_decimal(&text, &bound);
    if (form == RELATIVE) {
        good = good && strncmp(text, ":rho=", 5) == 0;
        text += good ? 5 : 0;
        good = good && site_decimal(&text, &rho);
    }
    bound = good && *text == '\0' && rho >= 1 ? bound / rho : 0;
    return bound <= 1 ? bound : 0;
}

/* ---- names ---- */

unsigned ht_site_types(const char **text) {
    const int type = site_name("fp32:\0fp64:\0", *text, true);
    *text += type >= 0 ? strlen("fp32:") : 0;
    return type >= 0 ? 1u << type : (unsigned)HT_OF_BOTH;
}

#define SITE_NAME(text, ...) text "\0"
#define SITE_OF(text, of, ...) of,
#define SITE_INVARIANT(text, of, is_auto, units, each, split, ranges, products, bound, role) \
    (products) > 0 || (role) == HT_ROLE_EXACT,

/* The class of that name, behind all of them "auto"; -1: none. */
static int site_class(const char *text) {
    return site_name(HT_ACCURACY_CLASSES(SITE_NAME) "auto\0", text, false);
}

/* `of`: HT_OF_FP32 or HT_OF_FP64. */
static bool site_is_accuracy(const char *text, unsigned of) {
    static const unsigned char types[] = {HT_ACCURACY_CLASSES(SITE_OF) HT_OF_BOTH};
    const int found = site_class(text);
    return (found >= 0 && (types[found] & of) != 0) || ht_site_bound(text) > 0;
}

bool ht_site_is_invariant(const char *text) {
    static const bool is[] = {HT_ACCURACY_CLASSES(SITE_INVARIANT) false};
    const int found = site_class(text);
    return found >= 0 && is[found];
}

bool ht_site_is_accuracy(const char *text) {
    return site_is_accuracy(text, HT_OF_FP32);
}

bool ht_site_is_accuracy64(const char *text) {
    return site_is_accuracy(text, HT_OF_FP64);
}

#define SITE_SCHEME(text, of) text "\0"
#define SITE_SCHEME_OF(text, of) of,

static unsigned site_types_of_scheme(const char *name) {
    static const unsigned char types[] = {HT_SCHEME_TYPES(SITE_SCHEME_OF)};
    const int found = site_name(HT_SCHEME_TYPES(SITE_SCHEME), name, true);
    if (strcmp(name, "auto") == 0)
        return HT_OF_BOTH;
    return found >= 0 ? types[found] : (unsigned)HT_OF_FP32;
}

bool ht_site_line_is_of(const struct ht_site_line *line, bool fp64) {
    const unsigned type = 1u << fp64;
    return (line->of & type) != 0 &&
           (line->verb == 'o' ||
            (line->verb == 's' ? (site_types_of_scheme(line->text) & type) != 0 : site_is_accuracy(line->text, type)));
}

static bool site_copy(char *to, size_t room, const char *from) {
    if (from[0] == '\0' || strlen(from) >= room)
        return false;
    strcpy(to, from);
    return true;
}

static bool site_range(const char *text, int64_t *least, int64_t *most) {
    const bool has_least = site_number(&text, least);
    if (*text == '\0') {
        *most = *least;
        return has_least;
    }
    if (*text++ != '-')
        return false;
    const bool has_most = site_number(&text, most);
    return *text == '\0' && (has_least || has_most) && *least <= *most;
}

/* Behind enum ht_site_range. */
enum { SITE_SITE = HT_SITE_RANGES, SITE_API, SITE_OP };

/* -1: none. */
static int site_condition(const char *word) {
    return site_name("m\0n\0k\0batch\0ordinal\0site\0api\0op\0", word, false);
}

static bool site_take(struct ht_site_line *line, int condition, const char *text) {
    switch (condition) {
    case SITE_SITE:
        return site_copy(line->site, sizeof line->site, text);
    case SITE_API:
        return site_copy(line->api, sizeof line->api, text);
    case SITE_OP:
        return strspn(text, "NT") == 2 && site_copy(line->op, sizeof line->op, text);
    default:
        return site_range(text, &line->least[condition], &line->most[condition]);
    }
}

static bool site_is_of_any(const struct ht_site_line *line) {
    return ht_site_line_is_of(line, false) || ht_site_line_is_of(line, true);
}

/* One word; *seen: bits of the conditions before it; *done: it was what is done. */
static bool site_word(struct ht_site_line *line, char *word, unsigned *seen, bool *done) {
    char *const value = strchr(word, '=');
    if (value == NULL) {
        line->verb = 'o';
        *done = true;
        return strcmp(word, "original") == 0;
    }
    *value = '\0';
    const char *text = value + 1;
    if (site_name("accuracy\0scheme\0", word, false) >= 0) {
        line->verb = word[0];
        *done = true;
        line->of = ht_site_types(&text);
        return site_copy(line->text, sizeof line->text, text) &&
               (word[0] == 's' || site_is_of_any(line) || site_form(text) >= 0); /* whose numbers the library tells of better */
    }
    const int condition = site_condition(word);
    if (condition < 0 || (*seen >> condition & 1) != 0)
        return false;
    *seen |= 1u << condition;
    return site_take(line, condition, text);
}

int ht_site_line_read(char *text, struct ht_site_line *line, char wrong[HT_SITE_TEXT]) {
    bool done = false;
    unsigned seen = 0;
    memset(line, 0, sizeof *line);
    line->of = HT_OF_BOTH;
    wrong[0] = '\0';
    for (int i = 0; i < HT_SITE_RANGES; i++)
        line->most[i] = INT64_MAX;
    text[strcspn(text, "#\n")] = '\0';
    for (char *at = text + strspn(text, " \t\r"), *next; *at != '\0'; at = next) {
        next = at + strcspn(at, " \t\r");
        if (*next != '\0')
            *next++ = '\0';
        next += strspn(next, " \t\r");
        snprintf(wrong, HT_SITE_TEXT, "%.*s", HT_SITE_TEXT - 1, at);
        if (done || !site_word(line, at, &seen, &done))
            return -1;
    }
    return done ? 1 : wrong[0] != '\0' ? -1 : 0;
}

/* As ht_site_line_read, of a line of a file; one that is longer than HT_SITE_LINE is wrong, unless only its comment is. */
static int site_file_line(char *text, struct ht_site_line *line, int number, const char *path, char *fault) {
    char wrong[HT_SITE_TEXT] = "";
    const bool is_whole = strcspn(text, "#\n") < HT_SITE_LINE - 1;
    int found = is_whole ? ht_site_line_read(text, line, wrong) : -1;
    if (found > 0 && line->verb == 'a' && !site_is_of_any(line)) {
        strcpy(wrong, line->text);
        found = -1;
    }
    if (found < 0)
        snprintf(fault, HT_SITE_LINE, "%.200s:%d: '%s' " HT_SITE_LINE_CURE, path, number, is_whole ? wrong : "a line of this length");
    line->number = number;
    return found;
}

int ht_site_file_read(const char *path, ht_site_taker *take, void *context, char *fault) {
    char text[HT_SITE_LINE], cut[HT_SITE_LINE];
    struct ht_site_line line;
    int status = 0;
    bool goes_on = false; /* the line before, whose comment is longer than `text` */
    FILE *const file = fopen(path, "r");
    if (file == NULL) {
        snprintf(fault, HT_SITE_LINE, "%.200s: cannot be read: %s", path, strerror(errno));
        return -1;
    }
    for (int number = 1; status == 0 && fgets(text, sizeof text, file) != NULL; number += !goes_on) {
        if (!goes_on) {
            const int found = site_file_line(strcpy(cut, text), &line, number, path, fault);
            status = found > 0 ? take(context, &line, text) : found;
        }
        goes_on = strchr(text, '\n') == NULL;
    }
    if (status == 0 && ferror(file)) {
        snprintf(fault, HT_SITE_LINE, "%.200s: cannot be read: %s", path, strerror(errno));
        status = -1;
    }
    (void)fclose(file);
    return status;
}

bool ht_site_line_holds(const struct ht_site_line *line, const struct ht_site_call *call) {
    for (int i = 0; i < HT_SITE_RANGES; i++)
        if (call->is[i] < line->least[i] || call->is[i] > line->most[i])
            return false;
    if (line->op[0] != '\0' && (line->op[0] != call->op_a || line->op[1] != call->op_b))
        return false;
    return line->api[0] == '\0' || fnmatch(line->api, call->api, 0) == 0;
}

bool ht_site_line_names(const struct ht_site_line *line, const char *name) {
    return line->site[0] == '\0' || fnmatch(line->site, name, 0) == 0;
}

bool ht_site_line_asks_range(const struct ht_site_line *line, enum ht_site_range range) {
    return line->least[range] > 0 || line->most[range] < INT64_MAX;
}
