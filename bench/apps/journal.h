/* journal: the runs of a search, on disk as they are made, so that the same search goes on where it was interrupted: it asks for the
 * same runs in the same order, and gets those that are there without running anything. */
#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include <stdio.h>

#include "apps/lowering.h"

struct journal {
    const char *path;
    FILE *stream;
    int sites, known, next; /* runs that the file had; the one that is asked for next */
    int (*level)[LOWERING_SITES];
    struct lowering_run *run;
};

/* head: comment lines that a journal must begin with to be continued; a new file gets them. A last line without its end is cut off. */
int journal_open(struct journal *j, const char *path, const char *head, int sites, struct cli_error *f);
/* 1: this run was made before, *out is what it said; 0: it must be made; -1: the file is of another search. */
int journal_find(struct journal *j, const int *level, struct lowering_run *out, struct cli_error *f);
/* Of the run that was made; on the disk when it returns 0. */
int journal_append(struct journal *j, const int *level, const struct lowering_run *run, struct cli_error *f);
void journal_close(struct journal *j);

#endif
