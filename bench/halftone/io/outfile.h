/* outfile: output files of the command. Knows nothing of what is written.
 *
 * A regular file appears whole or not at all: everything goes to a temporary file in its folder, which is renamed at the
 * end. Of a symbolic link the file that it leads to is replaced, and the link stays. What is no regular file (a device, a
 * pipe, a terminal), or is open already as one of the standard streams, is written through. */
#ifndef BENCH_OUTFILE_H
#define BENCH_OUTFILE_H

#include <stdio.h>

#include "io/cli_error.h"

struct outfile {
    FILE *stream;
    char *path, *temporary; /* temporary NULL: written through */
};

int outfile_open(struct outfile *o, const char *path, struct cli_error *f);
/* Flushes and renames; on any earlier write error removes the temporary file and fails. */
int outfile_commit(struct outfile *o, struct cli_error *f);
void outfile_discard(struct outfile *o);
/* Whether outfile_open would find a place to write, before a long measurement; leaves everything as it is. NULL: fine. */
int outfile_check(const char *path, struct cli_error *f);
/* Not 0: what was written there cannot be replaced, so that a table is written once, at the end. */
int outfile_is_stream(const char *path);
/* Where remarks for people go: stderr when `path` (NULL: no file) is where stdout goes, else stdout. */
FILE *outfile_remarks(const char *path);
/* A fault where the paths of two options, through links, lead to one file, or to one place for a file that is not there yet. NULL or what
 * is written through: fine. */
int outfile_apart(const char *option, const char *path, const char *other_option, const char *other, struct cli_error *f);
/* A new folder beside the file that outfile_open would write for `path`, for us alone, by its whole name; malloc'ed. rmdir it. */
char *outfile_work_folder(const char *path, struct cli_error *f);
/* mkdir -p for one level of missing folders at a time; an existing folder is fine. */
int outfile_folder(const char *path, struct cli_error *f);
char *outfile_join(const char *folder, const char *name); /* malloc'ed "folder/name", NULL without memory */

#endif
