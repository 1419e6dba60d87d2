/* call_log: see call_log.h. The columns are those of runtime/dropin/common_log.c, by their names. */
#include "apps/call_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/shapes.h"

enum { SITE, API, OP, M, N, K, BATCH, SERVED, NS, USED, LINE_BYTES = 4096, COLUMNS_MOST = 32 };
static const char *const used_names[USED] = {"site", "api", "op", "m", "n", "k", "batch", "served", "predicted_ns"};

/* Cells of a line, which is cut at its tabs. */
static int cut(char *line, char *cell[COLUMNS_MOST]) {
    int count = 0;
    for (char *at = line; at != NULL && count < COLUMNS_MOST; count++) {
        char *const tab = strchr(at, '\t');
        cell[count] = at;
        at = tab != NULL ? tab + 1 : NULL;
        if (tab != NULL)
            *tab = '\0';
    }
    return count;
}

static int find_columns(char *cell[COLUMNS_MOST], int count, int column[USED]) {
    for (int i = 0; i < USED; i++) {
        column[i] = -1;
        for (int j = 0; j < count; j++)
            column[i] = strcmp(cell[j], used_names[i]) == 0 ? j : column[i];
        if (column[i] < 0)
            return -1;
    }
    return 0;
}

static int add(struct call_log *l, const char *name, double seconds, struct cli_error *f) {
    for (int i = 0; i < l->sites; i++)
        if (strcmp(l->site[i].name, name) == 0) {
            l->site[i].seconds += seconds;
            return 0;
        }
    if (l->sites == l->capacity) {
        const int capacity = l->capacity > 0 ? 2 * l->capacity : 64;
        struct call_log_site *const grown = realloc(l->site, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return cli_error_memory(f, (double)capacity * (double)sizeof *grown, "a log");
        l->site = grown;
        l->capacity = capacity;
    }
    struct call_log_site *const s = &l->site[l->sites++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->seconds = seconds;
    return 0;
}

static int take_line(struct call_log *l, char *line, const int column[USED], struct cli_error *f) {
    char *cell[COLUMNS_MOST], name[SITE_NAME_BYTES];
    const int count = cut(line, cell);
    for (int i = 0; i < USED; i++)
        if (column[i] >= count)
            return 0; /* a program may have been stopped while it wrote */
    if (strcmp(cell[column[SERVED]], "1") != 0)
        return 0;
    snprintf(name, sizeof name, "site=%.63s api=%.63s op=%.2s m=%.20s n=%.20s k=%.20s batch=%.20s", cell[column[SITE]], cell[column[API]],
             cell[column[OP]], cell[column[M]], cell[column[N]], cell[column[K]], cell[column[BATCH]]);
    return add(l, name, 1e-9 * strtod(cell[column[NS]], NULL), f);
}

int call_log_read(struct call_log *l, const char *path, struct cli_error *f) {
    char line[LINE_BYTES], *cell[COLUMNS_MOST];
    int column[USED], status = 0;
    memset(l, 0, sizeof *l);
    FILE *const in = fopen(path, "r");
    if (in == NULL)
        return errno == ENOENT ? 0 : cli_error_set(f, "%s: cannot be read: %s", path, strerror(errno));
    enum line_kind kind = line_read(in, line, sizeof line);
    if (kind != LINE_END && find_columns(cell, cut(line, cell), column) != 0)
        status = cli_error_set(f, "%s: is not the log of this version's drop-in; install command and drop-in together", path);
    while (status == 0 && (kind = line_read(in, line, sizeof line)) != LINE_END)
        status = kind == LINE_WHOLE ? take_line(l, line, column, f) : 0;
    fclose(in);
    if (status != 0)
        call_log_free(l);
    return status;
}

void call_log_keep(struct call_log *l, int most) {
    while (l->sites > most) {
        int shortest = 0;
        for (int i = 1; i < l->sites; i++)
            shortest = l->site[i].seconds < l->site[shortest].seconds ? i : shortest;
        memmove(&l->site[shortest], &l->site[shortest + 1], (size_t)(l->sites - shortest - 1) * sizeof *l->site);
        l->sites--;
    }
}

void call_log_free(struct call_log *l) {
    free(l->site);
    memset(l, 0, sizeof *l);
}
