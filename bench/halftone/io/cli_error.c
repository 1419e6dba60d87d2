/* cli_error: formats the one line a user sees. See cli_error.h. */
#include "io/cli_error.h"

#include <stdarg.h>
#include <stdio.h>

int cli_error_set(struct cli_error *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
    f->code = EXIT_FAULT;
    return -1;
}

int cli_error_usage(struct cli_error *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
    f->code = EXIT_USAGE;
    return -1;
}

int cli_error_memory(struct cli_error *f, double bytes, const char *what) {
    return cli_error_set(f, "not enough memory for %s (%.1f MiB); use smaller sizes or close other programs",
                     what, bytes / 1048576.0);
}
