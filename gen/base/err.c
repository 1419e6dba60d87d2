/* err: see err.h. The two variables below are the only state of the generator that outlives a call. */
#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static int user_errors;
static struct text *kept; /* NULL: lines go to stderr */

bool err_user(const char *path, int line, const char *format, ...) {
    struct text text = {0};
    va_list arguments;
    user_errors += user_errors < INT_MAX;
    text_add(&text, path ? path : "halftone-gen");
    if (path && line > 0)
        text_addf(&text, ":%d", line);
    text_add(&text, ": ");
    va_start(arguments, format);
    text_addv(&text, format, arguments);
    va_end(arguments);
    text_add(&text, "\n");
    if (kept)
        text_add(kept, text.data);
    else
        fputs(text.data, stderr);
    text_free(&text);
    return false;
}

int err_count(void) {
    return user_errors;
}

void err_reset(void) {
    user_errors = 0;
}

void err_keep(struct text *lines) {
    kept = lines;
}

_Noreturn void err_bug_at(const char *file, int line, const char *message) {
    fprintf(stderr, "%s:%d: bug in halftone-gen: %s\n", file, line, message);
    abort();
}
