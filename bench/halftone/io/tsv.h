/* tsv: a table of text cells, printed aligned for people and as tab-separated values for programs. The
 * process never calls setlocale, so numbers are written in the C locale. Knows nothing of what the cells
 * mean. */
#ifndef BENCH_TSV_H
#define BENCH_TSV_H

#include <stdio.h>

#include "io/cli_error.h"

enum { TSV_COLUMNS_MOST = 40 };

struct tsv_column {
    const char *name;
    int shown; /* also in the aligned table, not only in the file */
};

struct tsv {
    const struct tsv_column *column;
    int columns, rows, capacity; /* capacity in cells */
    char **cell;
    int filled; /* cells of the row being written */
    int failed; /* out of memory, or a row with the wrong number of cells; sticky */
};

void tsv_init(struct tsv *t, const struct tsv_column *columns, int count);
/* Cells of the current row, left to right. A NaN is written "nan", a negative `missing` number as "n/a". */
void tsv_text(struct tsv *t, const char *text);
void tsv_integer(struct tsv *t, long long value);
void tsv_real(struct tsv *t, double value, int digits);     /* significant digits */
void tsv_measured(struct tsv *t, double value, int digits); /* the same; negative means "n/a" */
void tsv_end_row(struct tsv *t);
/* All rows, aligned; text left, numbers right. Long text in the last column goes on below itself. */
int tsv_print(const struct tsv *t, FILE *out, struct cli_error *f);
/* Comment lines (each "# key: value", may be NULL), a header line, the rows with every column, tab-separated. */
int tsv_print_raw(const struct tsv *t, FILE *out, const char *comments, struct cli_error *f);
/* The same into a file, whole or not at all. */
int tsv_write(const struct tsv *t, const char *path, const char *comments, struct cli_error *f);
/* Prints it after a run that ended so: what was measured before a failure is shown too. Returns `status`, or -1 where printing fails. */
int tsv_show(const struct tsv *t, int status, struct cli_error *f);
/* tsv_write where there is a path, and says so. */
int tsv_save(const struct tsv *t, const char *path, const char *comments, struct cli_error *f);
void tsv_free(struct tsv *t);

/* ---- quotients for people */

enum { RATIO_BYTES = 48 };

#if defined(__GNUC__)
#define RATIO_FORMAT __attribute__((format(printf, 2, 0)))
#else
#define RATIO_FORMAT
#endif

/* part / whole in `format`, which has one number and may have its unit; "n/a" where there is no such number. Returns `out`. */
const char *ratio_text(char out[RATIO_BYTES], const char *format, double part, double whole) RATIO_FORMAT;

#endif
