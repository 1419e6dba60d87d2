/* cases.h: a file of cases below tests/unit. Each is a line `==== NAME`, what goes in, a line `----` and what
 * has to come out, byte for byte; a line `\ no newline` takes away the newline before it. What is said of a line may stand behind it,
 * as ` //! WORDS`, once or more; it comes out as `FILE:LINE: WORDS`, before what stands behind `----`. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H
#include "../../gen/base/text.h"
#include "../test.h"

#define CASES_SAID " //! "
enum { CASES_MAX = 64 };

/* A text until its block ends. */
#define TEXT __attribute__((cleanup(text_free))) struct text

struct one_case {
    char name[64];
    struct text in, want;
};
struct cases {
    struct one_case list[CASES_MAX];
    int count;
};

static inline const char *cases_root(void) {
    const char *root = getenv("HALFTONE_ROOT");
    return root != NULL ? root : ".";
}

/* The next thing that is said of the line from `at` on, or its end. */
static inline const char *cases_said(const char *at, const char *end) {
    const char *const said = strstr(at, CASES_SAID);
    return said != NULL && said < end ? said : end;
}

/* A line of what goes in, without what is said of it; that has to come out. */
static inline void cases_add_line(struct one_case *one, const char *line, const char *end, const char *in_file) {
    const char *said = cases_said(line, end);
    int number = 1;
    text_add_bytes(&one->in, line, (size_t)(said - line));
    for (size_t i = 0; i < one->in.len; i++)
        number += one->in.data[i] == '\n';
    while (said < end) {
        const char *const words = said + strlen(CASES_SAID);
        said = cases_said(words, end);
        text_addf(&one->want, "%s:%d: %.*s\n", in_file, number, (int)(said - words), words);
    }
}

static inline void cases_read(struct cases *cases, const char *file, const char *in_file) {
    struct text path = {0}, all = {0}, *into = NULL;
    text_addf(&path, "%s/tests/unit/%s", cases_root(), file);
    if (!text_read_file(&all, path.data))
        fail_msg("cannot read %s", path.data);
    const char *const end = all.data + all.len;
    for (const char *line = all.data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const size_t length = (size_t)((newline != NULL ? newline : end) - line);
        struct one_case *last = cases->list + cases->count - 1;
        if (strncmp(line, "==== ", 5) == 0) {
            assert_true(cases->count < CASES_MAX && length < sizeof last->name);
            last = cases->list + cases->count++;
            snprintf(last->name, sizeof last->name, "%.*s", (int)length - 5, line + 5);
            into = &last->in;
        } else if (length == 4 && memcmp(line, "----", 4) == 0 && into != NULL) {
            into = &last->want;
        } else if (strncmp(line, "\\ no newline\n", 13) == 0 && into != NULL) {
            into->data[--into->len] = '\0';
        } else if (into != NULL && into == &last->in) {
            cases_add_line(last, line, line + length, in_file);
            text_add_bytes(into, "\n", newline != NULL);
        } else if (into != NULL) {
            text_add_bytes(into, line, length + (newline != NULL));
        }
        line += length + (newline != NULL);
    }
    text_free_all(&path, &all);
}

static inline void cases_free(struct cases *cases) {
    for (; cases->count > 0; cases->count--)
        text_free_all(&cases->list[cases->count - 1].in, &cases->list[cases->count - 1].want);
    *cases = (struct cases){.count = 0};
}

/* Whether this is what has to come out; if not, prints both. */
static inline int cases_same(const struct one_case *one, const struct text *got) {
    if (text_same(&one->want, got))
        return 1;
    print_error("%s:\n--- wanted\n%s--- got\n%s---\n", one->name, one->want.data ? one->want.data : "",
                got->data ? got->data : "");
    return 0;
}
#endif
