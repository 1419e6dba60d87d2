/* err: prints or hands on one line for each fault of the user, counts them, and aborts on a bug of ours.
 *
 *
 * The three variables below are the only state of the generator that outlives a call: the number of faults
 * decides the exit code, and the sink lets tests read the lines. Knows nothing of budgets, tiles or
 * templates. */
#include "base/err.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_BYTES = 1024 }; /* longer lines are formatted on the heap */

static int user_errors;
static void (*line_sink)(void *context, const char *line);
static void *line_sink_context;

static void line_out(const char *line) {
    if (line_sink != NULL)
        line_sink(line_sink_context, line);
    else
        fprintf(stderr, "%s\n", line);
}

/* "path:line: ", "path: " or "halftone-gen: "; returns its length, which may exceed `size`. */
static int prefix_format(char *out, size_t size, const char *path, int line) {
    if (path == NULL)
        return snprintf(out, size, "halftone-gen: ");
    if (line == 0)
        return snprintf(out, size, "%s: ", path);
    return snprintf(out, size, "%s:%d: ", path, line);
}

/* Formats prefix and message into `out`; returns the length of both, or -1. Never writes past `size`. */
static __attribute__((format(printf, 5, 0))) int
line_format(char *out, size_t size, const char *path, int line, const char *format, va_list arguments) {
    int prefix = prefix_format(out, size, path, line);
    if (prefix < 0)
        return -1;
    size_t used = (size_t)prefix < size ? (size_t)prefix : size;
    int message = vsnprintf(out + used, size - used, format, arguments);
    return message < 0 || message > INT_MAX - prefix ? -1 : prefix + message;
}

void err_user(const char *path, int line, const char *format, ...) {
    char fixed[LINE_BYTES];
    va_list arguments, again;

    if (user_errors < INT_MAX)
        user_errors++;
    va_start(arguments, format);
    va_copy(again, arguments);
    int len = line_format(fixed, sizeof fixed, path, line, format, arguments);
    char *heap = len >= LINE_BYTES ? malloc((size_t)len + 1) : NULL;
    if (heap != NULL)
        line_format(heap, (size_t)len + 1, path, line, format, again);
    va_end(again);
    va_end(arguments);
    if (len < 0)
        line_out("halftone-gen: a message could not be formatted");
    else
        line_out(heap != NULL ? heap : fixed); /* out of memory: the cut line is better than none */
    free(heap);
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
