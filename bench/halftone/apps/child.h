/* child: a command as a program. It prints a line "error NUMBER", and reads its accuracies from the site table that the environment
 * variable HALFTONE_SITES names. Its sites are
 *
 *   - what it prints: a line "site NAME SECONDS" for each (`halftone app` does); or, where it prints none,
 *   - what a drop-in has served (`halftone run -- COMMAND`), as HALFTONE_LOG has it with HALFTONE=record: calls of one
 *     place in the program, function, op, m, n, k and batch are one site; its time is the model's. Of more than LOWERING_SITES those
 *     that take longest.
 *
 * Other lines are its own. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include "apps/lowering.h"
#include "apps/site_table.h"

struct child {
    char **command; /* ends in NULL */
    char *folder;   /* ours alone, for the two files */
    char *table_path, *log_path; /* its site table, and the drop-in's log, by their whole names */
    int sites, by_log;
    char site[LOWERING_SITES][SITE_NAME_BYTES];
};

/* Takes a folder beside the file `path`. */
int child_open(struct child *c, char **command, const char *path, struct cli_error *f);
void child_close(struct child *c);
/* Runs it once, with the table at table_path or without one. The first run, in which `sites` is 0, finds the sites; later ones
 * must have the same. Nonzero exit, no error, other sites: a fault. */
int child_run(struct child *c, int has_table, struct lowering_run *out, struct cli_error *f);

#endif
