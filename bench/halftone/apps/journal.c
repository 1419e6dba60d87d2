/* journal: a line a run: levels by number, then the error and the seconds of each site, with all bits. See journal.h. */
#define _POSIX_C_SOURCE 200809L
#include "apps/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 64 * LOWERING_SITES };

static int remember(struct journal *j, const int *level, const struct lowering_run *run, struct cli_error *f) {
    void *const levels = realloc(j->level, ((size_t)j->known + 1) * sizeof *j->level);
    j->level = levels != NULL ? levels : j->level;
    void *const runs = levels == NULL ? NULL : realloc(j->run, ((size_t)j->known + 1) * sizeof *j->run);
    j->run = runs != NULL ? runs : j->run;
    void *const asked = runs == NULL ? NULL : realloc(j->is_asked, (size_t)j->known + 1);
    if (asked == NULL)
        return cli_error_memory(f, (double)sizeof *j->run * j->known, "a journal");
    j->is_asked = asked;
    memcpy(j->level[j->known], level, sizeof *j->level);
    j->is_asked[j->known] = 0;
    j->run[j->known++] = *run;
    return 0;
}

/* 0 where the line is a run and nothing else. */
static int parse(const char *at, int sites, int *level, struct lowering_run *run) {
    char *end;
    memset(level, 0, LOWERING_SITES * sizeof *level);
    memset(run, 0, sizeof *run);
    for (int i = 0; i < sites; i++, at = end + 1) {
        const long number = strtol(at, &end, 10);
        if (end == at || number < 0 || number >= LOWERING_LEVELS || *end != '\t')
            return -1;
        level[i] = (int)number;
    }
    for (int i = -1; i < sites; i++, at = end + 1) {
        const double number = strtod(at, &end);
        if (end == at || *end != (i + 1 < sites ? '\t' : '\0'))
            return -1;
        *(i < 0 ? &run->error : &run->seconds[i]) = number;
    }
    return 0;
}

static int write_failed(const struct journal *j, struct cli_error *f) {
    return cli_error_set(f, "%s: writing failed: %s; what was measured is kept, the same command goes on from there", j->path, strerror(errno));
}

static int start_file(struct journal *j, const char *head, struct cli_error *f) {
    if (ftruncate(fileno(j->stream), 0) != 0 || fseek(j->stream, 0, SEEK_SET) != 0)
        return write_failed(j, f);
    fputs(head, j->stream);
    return fflush(j->stream) == 0 && !ferror(j->stream) ? 0 : write_failed(j, f);
}

/* 1: the file begins with it; 0: it ends inside it, as an interrupted start leaves it; -1: neither. */
static int begins_with(FILE *in, const char *text) {
    for (; *text != '\0'; text++) {
        const int c = fgetc(in);
        if (c != (unsigned char)*text)
            return c == EOF ? 0 : -1;
    }
    return 1;
}

static int read_runs(struct journal *j, const char *head, struct cli_error *f) {
    char line[LINE_BYTES];
    int number = 1;
    for (const char *c = head; *c != '\0'; c++)
        number += *c == '\n';
    long end = ftell(j->stream);
    for (; fgets(line, sizeof line, j->stream) != NULL; number++) {
        int level[LOWERING_SITES];
        struct lowering_run run;
        char *const newline = strchr(line, '\n');
        if (newline == NULL && feof(j->stream))
            break; /* cut off below */
        if (newline != NULL)
            *newline = '\0';
        if (newline == NULL || parse(line, j->sites, level, &run) != 0)
            return cli_error_set(f, "%s:%d: not a run of a search; remove the line or the file", j->path, number);
        if (remember(j, level, &run, f) != 0)
            return -1;
        end = ftell(j->stream);
    }
    if (ferror(j->stream) || fseek(j->stream, end, SEEK_SET) != 0 || ftruncate(fileno(j->stream), end) != 0)
        return cli_error_set(f, "%s: cannot be read or changed: %s", j->path, strerror(errno));
    return 0;
}

static int not_ours(const struct journal *j, struct cli_error *f) {
    return cli_error_set(f, "%s: holds the runs of another search (program, options, levels, set or device), so it is not continued; "
                            "name another table by --out, or move it away",
                         j->path);
}

int journal_open(struct journal *j, const char *path, const char *head, int sites, struct cli_error *f) {
    struct stat info;
    memset(j, 0, sizeof *j);
    j->path = path;
    j->sites = sites;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return cli_error_set(f, "%s: is no ordinary file, and runs that are continued must be in one; name another table by --out", path);
    j->stream = fopen(path, "r+");
    if (j->stream == NULL && errno == ENOENT)
        j->stream = fopen(path, "w+");
    if (j->stream == NULL)
        return cli_error_set(f, "%s: cannot write here: %s; name a file in a folder that exists and that you may write to", path,
                             strerror(errno));
    const int begins = begins_with(j->stream, head);
    const int status = begins > 0 ? read_runs(j, head, f) : begins == 0 ? start_file(j, head, f) : not_ours(j, f);
    if (status != 0)
        journal_close(j);
    return status;
}

void journal_restart(struct journal *j) {
    if (j->known > 0)
        memset(j->is_asked, 0, (size_t)j->known);
}

int journal_find(struct journal *j, const int *level, struct lowering_run *out) {
    for (int i = 0; i < j->known; i++)
        if (!j->is_asked[i] && memcmp(j->level[i], level, (size_t)j->sites * sizeof *level) == 0) {
            j->is_asked[i] = 1;
            *out = j->run[i];
            return 1;
        }
    return 0;
}

int journal_append(struct journal *j, const int *level, const struct lowering_run *run, struct cli_error *f) {
    for (int i = 0; i < j->sites; i++)
        fprintf(j->stream, "%d\t", level[i]);
    fprintf(j->stream, "%.17g", run->error);
    for (int i = 0; i < j->sites; i++)
        fprintf(j->stream, "\t%.17g", run->seconds[i]);
    fputc('\n', j->stream);
    if (fflush(j->stream) != 0 || ferror(j->stream) || fsync(fileno(j->stream)) != 0)
        return write_failed(j, f);
    int whole[LOWERING_SITES] = {0};
    memcpy(whole, level, (size_t)j->sites * sizeof *level);
    if (remember(j, whole, run, f) != 0)
        return -1;
    j->is_asked[j->known - 1] = 1;
    return 0;
}

void journal_close(struct journal *j) {
    if (j->stream != NULL)
        fclose(j->stream); /* every run was flushed when it was added */
    free(j->level);
    free(j->run);
    free(j->is_asked);
    memset(j, 0, sizeof *j);
}
