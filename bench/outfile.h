/* outfile: a file that appears whole or not at all. Everything is written to a temporary neighbour and
 * renamed at the end. Knows nothing of what is written. */
#ifndef BENCH_OUTFILE_H
#define BENCH_OUTFILE_H

#include <stdio.h>

#include "fault.h"

struct outfile {
    FILE *stream;
    char *path, *temporary;
};

int outfile_open(struct outfile *o, const char *path, struct fault *f);
/* Flushes and renames; on any earlier write error removes the temporary file and fails. */
int outfile_commit(struct outfile *o, struct fault *f);
void outfile_discard(struct outfile *o);
/* mkdir -p for one level of missing folders at a time; an existing folder is fine. */
int outfile_folder(const char *path, struct fault *f);
char *outfile_join(const char *folder, const char *name); /* malloc'ed "folder/name", NULL without memory */

#endif
