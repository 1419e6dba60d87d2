/* progress: stderr lines of long runs. See progress.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS 5.0

double progress_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_start(struct progress *p, int total) {
    memset(p, 0, sizeof *p);
    p->total = total;
    p->terminal = isatty(STDERR_FILENO);
    p->last_seconds = progress_clock();
}

void progress_step(struct progress *p, const char *what) {
    double now = progress_clock();
    p->done++;
    if (p->terminal) {
        fprintf(stderr, "\r\033[K[%d/%d] %s", p->done, p->total, what);
        p->shown = 1;
    } else if (now - p->last_seconds >= QUIET_SECONDS) {
        fprintf(stderr, "[%d/%d] %s\n", p->done, p->total, what);
        p->last_seconds = now;
    }
}

void progress_end(struct progress *p) {
    if (p->terminal && p->shown)
        fputs("\r\033[K", stderr);
}
