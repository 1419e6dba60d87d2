/* fault: formats the one line a user sees. See fault.h. */
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
    f->code = EXIT_FAULT;
    return -1;
}

int fault_usage(struct fault *f, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(f->text, sizeof f->text, format, list);
    va_end(list);
    f->code = EXIT_USAGE;
    return -1;
}

int fault_memory(struct fault *f, double bytes, const char *what) {
    return fault_set(f, "not enough memory for %s (%.1f MiB); use smaller sizes or close other programs",
                     what, bytes / 1048576.0);
}
