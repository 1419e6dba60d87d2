/* call_log: the log of a drop-in (HALFTONE_LOG) as sites and times. */
#ifndef BENCH_CALL_LOG_H
#define BENCH_CALL_LOG_H

#include "apps/site_table.h"

struct call_log_site {
    char name[SITE_NAME_BYTES]; /* conditions of a site table's line */
    double seconds;             /* predicted, of all of its calls */
};

struct call_log {
    struct call_log_site *site; /* in the order of their first calls */
    int sites, capacity;
};

/* Of calls that were served. A file that is not there has none. */
int call_log_read(struct call_log *l, const char *path, struct cli_error *f);
/* Drops the shortest beyond `most`. */
void call_log_keep(struct call_log *l, int most);
void call_log_free(struct call_log *l);

#endif
