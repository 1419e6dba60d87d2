/* vendor: the library as a folder of sources for other people's projects.
 *
 * The folder holds the runtime (copied as text), the generated kernels, and what builds them. Or it is an
 * amalgamation: one source, in which everything but the functions of the public header is local, and that
 * header.
 *
 * A prefix renames every name the objects export, and the files: halftone_x becomes PREFIXx, ht_x becomes
 * PREFIXht_x, macros in capitals alike, halftone itself (the handle's type) becomes the prefix without its
 * last '_'. In kernels only the launchers' names and those they share with the runtime change. Without a
 * prefix all text stays as it is. */
#ifndef HT_VENDOR_H
#define HT_VENDOR_H

#include "base/files.h"
#include "cli/library.h"

/* Adds all files of the folder; the last is "manifest", which also holds the recreating command and every
 * file's checksum. False after err_user. */
bool vendor_files(struct files *f, const struct library *l, const struct options *r);

/* Writes the files to the folder: a new one (those above it are made), an empty one, or one written by vendor
 * whose files nobody edited; files that the earlier set had and this one lacks go, with their objects. Those
 * of the others and the library that the folder's own lines made stay. Anything else is refused before a byte
 * is written. */
bool vendor_write(const struct files *f, const char *folder);

/* The recreating command in the folder's manifest, behind "halftone-gen vendor "; false after err_user. */
bool vendor_command(struct text *out, const char *folder);

/* Compares the folder with what would be written now, and reports every file that is missing, was edited, is
 * written differently by this generator, or was added and would be compiled, included or archived with the
 * rest. */
bool vendor_compare(const struct files *f, const char *folder);
#endif
