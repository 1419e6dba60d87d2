/* child: a command as a program: it prints a line "error NUMBER" and, for each of its sites, "site NAME SECONDS", and reads its
 * accuracies from the site table that the environment variable HALFTONE_SITES names (`halftone app` does, and a program under a
 * drop-in whose sites it prints). Other lines are its own. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include "apps/lowering.h"
#include "apps/site_table.h"

struct child {
    char **command; /* ends in NULL */
    int sites;
    char site[PRODUCTS_SITES][SITE_NAME_BYTES];
};

/* Runs it once with table `path` (NULL: without one). The first run, in which `sites` is 0, finds the sites; later ones must
 * have the same. Nonzero exit, no error, other sites: a fault. */
int child_run(struct child *c, const char *path, struct lowering_run *out, struct cli_error *f);

#endif
