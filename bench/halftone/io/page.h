/* page: pages drawn by python3 and pages.py from a table. The script lies in ../share/halftone of the command's folder `bin`,
 * or in bench/ of the sources whose out/ holds the command: never in the current folder. Knows nothing of what pages show. */
#ifndef BENCH_PAGE_H
#define BENCH_PAGE_H

#include <stdio.h>

#include "io/cli_error.h"

/* Whether a page could be written there, before a long measurement: its place, the script, python3. NULL: none is asked for. */
int page_check(const char *path, struct cli_error *f);
FILE *page_table(struct cli_error *f); /* an empty file for a page's table; fclose it */
/* One self-contained page, whole or not at all; table: a file that is read from its start; kind: pages.py's word. */
int page_write(const char *kind, FILE *table, const char *path, struct cli_error *f);

#endif
