/* tune: the table of `halftone tune`: one row per shape and kernel, or number of parts of k of one, appended as it is measured, read again to go on
 * where a run was interrupted, and what it says of the analytic pick. Knows nothing of devices. */
#ifndef BENCH_TUNE_H
#define BENCH_TUNE_H

#include <stdio.h>

#include "io/cli_error.h"
#include "io/shapes.h"

enum { TUNE_NAME_BYTES = 112 };

struct tune_row {
    struct shape shape;
    char scheme[TUNE_NAME_BYTES], kernel[TUNE_NAME_BYTES],
        variant[TUNE_NAME_BYTES]; /* variant "-": dispatchable */
    int splits, is_pick;          /* is_pick: the analytic choice */
    double predicted_us, measured_us, least_us, most_us;
    double clock_mhz; /* negative: unknown */
};

struct tune_log {
    const char *path;
    FILE *stream;
    struct tune_row *row;
    int rows, capacity;
};

/* Names of the columns, tab-separated, with the line's end. */
extern const char tune_columns[];

/* Opens the table for appending. head: comment lines that a table must begin with to be continued; a new file gets
 * them. A last line without its end, left by an interruption, is cut off. */
int tune_open(struct tune_log *log, const char *path, const char *head, struct cli_error *f);
/* Reads a whole table of whatever set and model and leaves the file as it is; head: its comment lines, cut to size. */
int tune_read(struct tune_log *log, const char *path, char *head, size_t size, struct cli_error *f);
/* splits 0: in any number of parts. */
const struct tune_row *tune_find(const struct tune_log *log, const struct shape *shape, const char *kernel, int splits);
/* On the disk when it returns 0. */
int tune_append(struct tune_log *log, const struct tune_row *row, struct cli_error *f);
/* The rows that the log has now, as a table. */
void tune_print(const struct tune_log *log, const char *head, FILE *out);
void tune_close(struct tune_log *log);

/* One shape and scheme whose analytic pick was measured. Ablation variants, which the library never picks, do not
 * count. */
struct tune_case {
    const struct tune_row *pick, *best;
    int kernels;
    double speed; /* best time / pick's time, at most 1 */
};

struct tune_summary {
    int cases;
    double geometric_mean, worst;
    struct tune_case worst_case;
};

/* Cases in the order of the table; malloc'ed, NULL without memory. */
struct tune_case *tune_cases(const struct tune_log *log, int *count);
/* scheme NULL: all. */
struct tune_summary tune_summarise(const struct tune_case *cases, int count, const char *scheme);
#endif
