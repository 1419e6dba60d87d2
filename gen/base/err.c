/* err: see err.h. The three variables below are the only state of the generator that outlives a call. */
#include "base/err.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static int user_errors;
static void (*line_sink)(void *context, const char *line);
static void *line_sink_context;

static void line_out(const char *line) {
    if (line_sink != NULL)
        line_sink(line_sink_context, line);
    else
        fprintf(stderr, "%s\n", line);
}

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
    line_out(text.data);
    text_free(&text);
    return false;
}

int err_count(void) {
    return user_errors;
}

void err_reset(void) {
    user_errors = 0;
}

void err_set_sink(void (*sink)(void *context, const char *line), void *context) {
    line_sink = sink;
    line_sink_context = context;
}

_Noreturn void err_bug_at(const char *file, int line, const char *message) {
    fprintf(stderr, "%s:%d: bug in halftone-gen: %s\n", file, line, message);
    abort();
}
