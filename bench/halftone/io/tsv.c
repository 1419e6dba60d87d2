/* tsv: tables for people and programs. See tsv.h. */
#include "io/tsv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/outfile.h"

enum { LINE_COLUMNS = 110, LEAST_COLUMNS = 30 };

void tsv_init(struct tsv *t, const struct tsv_column *columns, int count) {
    memset(t, 0, sizeof *t);
    t->column = columns;
    t->columns = count;
}

void tsv_text(struct tsv *t, const char *text) {
    int used = t->rows * t->columns + t->filled;
    if (t->failed || t->filled == t->columns) {
        t->failed = 1;
        return;
    }
    if (used == t->capacity) {
        int capacity = t->capacity > 0 ? 2 * t->capacity : 256;
        char **grown = realloc(t->cell, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            t->failed = 1;
            return;
        }
        t->cell = grown;
        t->capacity = capacity;
    }
    size_t length = strlen(text);
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        t->failed = 1;
        return;
    }
    for (size_t i = 0; i <= length; i++)
        copy[i] = text[i] == '\t' || text[i] == '\n' ? ' ' : text[i];
    t->cell[used] = copy;
    t->filled++;
}

void tsv_integer(struct tsv *t, long long value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    tsv_text(t, text);
}

void tsv_real(struct tsv *t, double value, int digits) {
    char text[48];
    if (isnan(value))
        snprintf(text, sizeof text, "nan"); /* never "-nan" */
    else
        snprintf(text, sizeof text, "%.*g", digits, value);
    tsv_text(t, text);
}

void tsv_measured(struct tsv *t, double value, int digits) {
    if (value < 0)
        tsv_text(t, "n/a");
    else
        tsv_real(t, value, digits);
}

void tsv_end_row(struct tsv *t) {
    if (t->filled != t->columns)
        t->failed = 1;
    if (t->failed)
        return;
    t->rows++;
    t->filled = 0;
}

static const char *cell_at(const struct tsv *t, int row, int column) {
    return row < 0 ? t->column[column].name : t->cell[row * t->columns + column];
}

static int is_number(const char *text) {
    char *end = NULL;
    strtod(text, &end);
    return (end != text && *end == '\0') || strcmp(text, "n/a") == 0;
}

static int failed(const struct tsv *t, struct cli_error *f) {
    return t->failed ? cli_error_memory(f, (double)t->capacity * 16, "a table") : 0;
}

/* Words from column `start` on, in lines that end before LINE_COLUMNS where they can. */
static void print_wrapped(FILE *out, const char *text, int start) {
    const size_t room = start < LINE_COLUMNS - LEAST_COLUMNS ? (size_t)(LINE_COLUMNS - start) : LEAST_COLUMNS;
    while (strlen(text) > room) {
        size_t end = room;
        while (end > 0 && text[end] != ' ')
            end--;
        if (end == 0)
            end = strcspn(text, " "); /* one word is longer than a line */
        if (text[end] == '\0')
            break;
        fprintf(out, "%.*s\n%*s", (int)end, text, start, "");
        text += end + 1;
    }
    fputs(text, out);
}

int tsv_print(const struct tsv *t, FILE *out, struct cli_error *f) {
    int width[TSV_COLUMNS_MOST] = {0}, right[TSV_COLUMNS_MOST] = {0};
    if (failed(t, f) != 0)
        return -1;
    for (int c = 0; c < t->columns; c++)
        for (int r = -1; r < t->rows; r++) {
            int length = (int)strlen(cell_at(t, r, c));
            width[c] = length > width[c] ? length : width[c];
            right[c] = r < 0 || (right[c] && is_number(cell_at(t, r, c)));
        }
    for (int r = -1; r < t->rows; r++) {
        const char *gap = "";
        int start = 0;
        for (int c = 0; c < t->columns; c++) {
            if (!t->column[c].shown)
                continue;
            int last = c + 1;
            while (last < t->columns && !t->column[last].shown)
                last++;
            fputs(gap, out);
            start += (int)strlen(gap);
            gap = "  ";
            if (last == t->columns && !right[c]) /* no blanks at the end of a line */
                print_wrapped(out, cell_at(t, r, c), start);
            else
                fprintf(out, "%*s", right[c] ? width[c] : -width[c], cell_at(t, r, c));
            start += width[c];
        }
        fputc('\n', out);
    }
    return 0;
}

int tsv_print_raw(const struct tsv *t, FILE *out, const char *comments, struct cli_error *f) {
    if (failed(t, f) != 0)
        return -1;
    if (comments != NULL)
        fputs(comments, out);
    for (int r = -1; r < t->rows; r++)
        for (int c = 0; c < t->columns; c++)
            fprintf(out, "%s%c", cell_at(t, r, c), c + 1 < t->columns ? '\t' : '\n');
    return 0;
}

int tsv_write(const struct tsv *t, const char *path, const char *comments, struct cli_error *f) {
    struct outfile o;
    if (outfile_open(&o, path, f) != 0)
        return -1;
    if (tsv_print_raw(t, o.stream, comments, f) == 0)
        return outfile_commit(&o, f);
    outfile_discard(&o);
    return -1;
}

int tsv_show(const struct tsv *t, int status, struct cli_error *f) {
    struct cli_error fault;
    if (tsv_print(t, stdout, &fault) == 0 || status != 0)
        return status;
    *f = fault;
    return -1;
}

int tsv_save(const struct tsv *t, const char *path, const char *comments, struct cli_error *f) {
    if (path == NULL)
        return 0;
    if (tsv_write(t, path, comments, f) != 0)
        return -1;
    fprintf(outfile_remarks(path), "wrote %s\n", path);
    return 0;
}

void tsv_free(struct tsv *t) {
    for (int i = 0; i < t->rows * t->columns + t->filled; i++)
        free(t->cell[i]);
    free(t->cell);
    memset(t, 0, sizeof *t);
}

const char *ratio_text(char out[RATIO_BYTES], const char *format, double part, double whole) {
    if (whole != 0 && isfinite(part / whole))
        snprintf(out, RATIO_BYTES, format, part / whole);
    else
        snprintf(out, RATIO_BYTES, "n/a");
    return out;
}
