/* progress: what a long run is doing, on stderr: one line that overwrites itself on a terminal, a line every
 * few seconds elsewhere. Never touches stdout. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

struct progress {
    int done, total, terminal, shown;
    double last_seconds;
};

double progress_clock(void); /* seconds of a monotonic clock */
void progress_start(struct progress *p, int total);
void progress_step(struct progress *p, const char *what); /* about to start the next of `total` parts */
void progress_end(struct progress *p);

#endif
