/* tune.c: the table on disk and its summary. See tune.h. */
#define _POSIX_C_SOURCE 200809L
#include "cmd/tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char tune_columns[] =
    "m\tn\tk\tscheme\tkernel\tvariant\tsplits\tpick\tpredicted_us\tmeasured_us\tleast_us\tmost_"
    "us\tclock_mhz\n";
enum { LINE_BYTES = 640 };

/* ---- rows ---- */

static int remember(struct tune_log *log, const struct tune_row *row, struct cli_error *f) {
    if (log->rows == log->capacity) {
        const int capacity = log->capacity > 0 ? 2 * log->capacity : 256;
        struct tune_row *grown = realloc(log->row, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return cli_error_memory(f, (double)capacity * (double)sizeof *grown, "a tuning table");
        log->row = grown;
        log->capacity = capacity;
    }
    log->row[log->rows++] = *row;
    return 0;
}

/* 0 when the line is a row and nothing else. */
static int parse_row(const char *line, struct tune_row *r) {
    long long m, n, k;
    char clock[32];
    int used = 0;
    memset(r, 0, sizeof *r);
    const int fields =
        sscanf(line, "%lld\t%lld\t%lld\t%111[^\t]\t%111[^\t]\t%111[^\t]\t%d\t%d\t%lf\t%lf\t%lf\t%lf\t%31s%n",
               &m, &n, &k, r->scheme, r->kernel, r->variant, &r->splits, &r->is_pick, &r->predicted_us,
               &r->measured_us, &r->least_us, &r->most_us, clock, &used);
    if (fields != 13 || line[used] != '\0' || m < 1 || n < 1 || k < 1 || r->splits < 1 ||
        !(r->measured_us > 0))
        return -1;
    r->shape = (struct shape){m, n, k};
    r->clock_mhz = strcmp(clock, "n/a") == 0 ? -1 : strtod(clock, NULL);
    return 0;
}

static void print_row(FILE *out, const struct tune_row *r) {
    fprintf(out, "%lld\t%lld\t%lld\t%s\t%s\t%s\t%d\t%d\t%.6g\t%.6g\t%.6g\t%.6g\t", (long long)r->shape.m,
            (long long)r->shape.n, (long long)r->shape.k, r->scheme, r->kernel, r->variant, r->splits,
            r->is_pick, r->predicted_us, r->measured_us, r->least_us, r->most_us);
    if (r->clock_mhz < 0)
        fputs("n/a\n", out);
    else
        fprintf(out, "%.4g\n", r->clock_mhz);
}

/* ---- the file ---- */

static int write_failed(const struct tune_log *log, struct cli_error *f) {
    return cli_error_set(f,
                     "%s: writing failed: %s; what was measured is kept, the same command goes on from there",
                     log->path, strerror(errno));
}

static int start_file(struct tune_log *log, const char *head, struct cli_error *f) {
    if (ftruncate(fileno(log->stream), 0) != 0 || fseek(log->stream, 0, SEEK_SET) != 0)
        return write_failed(log, f);
    fputs(head, log->stream);
    fputs(tune_columns, log->stream);
    return fflush(log->stream) == 0 && !ferror(log->stream) ? 0 : write_failed(log, f);
}

/* Whether the file starts with these lines; short: it ends inside them, as an interrupted start leaves it. */
static int starts_with(FILE *in, const char *text, int *is_short) {
    for (; *text != '\0'; text++) {
        const int c = fgetc(in);
        *is_short = c == EOF;
        if (c != (unsigned char)*text)
            return 0;
    }
    return 1;
}

static int read_rows(struct tune_log *log, const char *head, struct cli_error *f) {
    char line[LINE_BYTES];
    int number = 2;
    for (const char *c = head; *c != '\0'; c++)
        number += *c == '\n';
    long end = ftell(log->stream);
    for (; fgets(line, sizeof line, log->stream) != NULL; number++) {
        struct tune_row row;
        char *newline = strchr(line, '\n');
        if (newline == NULL && feof(log->stream))
            break; /* cut off below */
        if (newline != NULL)
            *newline = '\0';
        if (newline == NULL || parse_row(line, &row) != 0)
            return cli_error_set(f, "%s:%d: not a row of a tuning table; remove the line or the file", log->path,
                             number);
        if (remember(log, &row, f) != 0)
            return -1;
        end = ftell(log->stream);
    }
    if (ferror(log->stream) || fseek(log->stream, end, SEEK_SET) != 0 ||
        ftruncate(fileno(log->stream), end) != 0)
        return cli_error_set(f, "%s: cannot be read or changed: %s", log->path, strerror(errno));
    return 0;
}

int tune_open(struct tune_log *log, const char *path, const char *head, struct cli_error *f) {
    int is_short = 0, status;
    memset(log, 0, sizeof *log);
    log->path = path;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return cli_error_set(f, "%s: is no ordinary file, and a table that is continued must be one; name another", path);
    log->stream = fopen(path, "r+");
    if (log->stream == NULL && errno == ENOENT)
        log->stream = fopen(path, "w+");
    if (log->stream == NULL)
        return cli_error_set(
            f, "%s: cannot write here: %s; name a file in a folder that exists and that you may write to",
            path, strerror(errno));
    const int is_ours =
        starts_with(log->stream, head, &is_short) && starts_with(log->stream, tune_columns, &is_short);
    if (is_ours)
        status = read_rows(log, head, f);
    else if (is_short)
        status = start_file(log, head, f);
    else
        status = cli_error_set(
            f,
            "%s: is no table of this set, device and version, so it is not continued; name another file or "
            "move it away",
            path);
    if (status != 0)
        tune_close(log);
    return status;
}

int tune_read(struct tune_log *log, const char *path, char *head, size_t size, struct cli_error *f) {
    char line[LINE_BYTES];
    size_t used = 0;
    int status = 0;
    memset(log, 0, sizeof *log);
    log->path = path;
    log->stream = fopen(path, "r");
    if (log->stream == NULL)
        return cli_error_set(f, "%s: cannot be read: %s", path, strerror(errno));
    head[0] = '\0';
    for (int number = 1; status == 0 && fgets(line, sizeof line, log->stream) != NULL; number++) {
        struct tune_row row;
        if (line[0] == '#' && used + strlen(line) < size) {
            strcpy(head + used, line);
            used += strlen(line);
        }
        if (line[0] == '#' || strcmp(line, tune_columns) == 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        status = parse_row(line, &row) == 0
                     ? remember(log, &row, f)
                     : cli_error_set(f, "%s:%d: not a row of a tuning table", path, number);
    }
    if (status == 0 && ferror(log->stream))
        status = cli_error_set(f, "%s: cannot be read: %s; name a table that tune wrote", path, strerror(errno));
    if (status == 0 && log->rows == 0)
        status = cli_error_set(f, "%s: holds no times; name a table that tune wrote", path);
    if (status != 0)
        tune_close(log);
    return status;
}

int tune_append(struct tune_log *log, const struct tune_row *row, struct cli_error *f) {
    print_row(log->stream, row);
    if (fflush(log->stream) != 0 || ferror(log->stream) || fsync(fileno(log->stream)) != 0)
        return write_failed(log, f);
    return remember(log, row, f);
}

void tune_print(const struct tune_log *log, const char *head, FILE *out) {
    fputs(head, out);
    fputs(tune_columns, out);
    for (int i = 0; i < log->rows; i++)
        print_row(out, &log->row[i]);
}

void tune_close(struct tune_log *log) {
    if (log->stream != NULL)
        fclose(log->stream); /* every row was flushed when it was added */
    free(log->row);
    memset(log, 0, sizeof *log);
}

static int same_shape(const struct shape *x, const struct shape *y) {
    return x->m == y->m && x->n == y->n && x->k == y->k;
}

const struct tune_row *tune_find(const struct tune_log *log, const struct shape *shape, const char *kernel, int splits) {
    for (int i = 0; i < log->rows; i++)
        if (same_shape(&log->row[i].shape, shape) && strcmp(log->row[i].kernel, kernel) == 0 &&
            (splits == 0 || log->row[i].splits == splits))
            return &log->row[i];
    return NULL;
}

/* ---- what it says ---- */

static struct tune_case *case_of(struct tune_case *cases, int count, const struct tune_row *r) {
    for (int i = 0; i < count; i++)
        if (same_shape(&cases[i].best->shape, &r->shape) && strcmp(cases[i].best->scheme, r->scheme) == 0)
            return &cases[i];
    return NULL;
}

struct tune_case *tune_cases(const struct tune_log *log, int *count) {
    struct tune_case *cases = malloc(((size_t)log->rows + 1) * sizeof *cases);
    *count = 0;
    for (int i = 0; cases != NULL && i < log->rows; i++) {
        const struct tune_row *r = &log->row[i];
        if (strcmp(r->variant, "-") != 0)
            continue;
        struct tune_case *c = case_of(cases, *count, r);
        if (c == NULL) {
            c = &cases[(*count)++];
            *c = (struct tune_case){NULL, r, 0, 0};
        }
        c->kernels++;
        c->best = r->measured_us < c->best->measured_us ? r : c->best;
        c->pick = r->is_pick ? r : c->pick;
    }
    int kept = 0;
    for (int i = 0; cases != NULL && i < *count; i++) { /* an interrupted run may lack the pick */
        if (cases[i].pick == NULL)
            continue;
        cases[kept] = cases[i];
        cases[kept].speed = cases[i].best->measured_us / cases[i].pick->measured_us;
        kept++;
    }
    *count = kept;
    return cases;
}

struct tune_summary tune_summarise(const struct tune_case *cases, int count, const char *scheme) {
    struct tune_summary s = {0, 0, 1, {NULL, NULL, 0, 0}};
    double logs = 0;
    for (int i = 0; i < count; i++) {
        if (scheme != NULL && strcmp(cases[i].pick->scheme, scheme) != 0)
            continue;
        logs += log(cases[i].speed);
        if (s.cases == 0 || cases[i].speed < s.worst) {
            s.worst = cases[i].speed;
            s.worst_case = cases[i];
        }
        s.cases++;
    }
    s.geometric_mean = s.cases > 0 ? exp(logs / s.cases) : 0;
    return s;
}
