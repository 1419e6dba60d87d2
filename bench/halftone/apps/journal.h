/* journal: the runs of searches, on disk as they are made, so that a search goes on where it was interrupted, and one with another
 * threshold takes what was run before: a run's levels say all of it. A search that asks for the same levels twice gets two runs. */
#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include <stdio.h>

#include "apps/lowering.h"

struct journal {
    const char *path;
    FILE *stream;
    int sites, known; /* runs that it has */
    char *is_asked;   /* of each: this search had it */
    int (*level)[LOWERING_SITES];
    struct lowering_run *run;
};

/* head: comment lines that a journal must begin with to be continued; a new file gets them. A last line without its end is cut off. */
int journal_open(struct journal *j, const char *path, const char *head, int sites, struct cli_error *f);
/* Another search begins: it may ask for every run. */
void journal_restart(struct journal *j);
/* 1: such a run is there, *out is what it said; 0: it must be made. */
int journal_find(struct journal *j, const int *level, struct lowering_run *out);
/* Of the run that was made; on the disk when it returns 0. */
int journal_append(struct journal *j, const int *level, const struct lowering_run *run, struct cli_error *f);
void journal_close(struct journal *j);

#endif
