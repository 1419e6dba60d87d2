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

/* ---- rename.c: copied text with another prefix; what becomes of which name is said above */

enum { RENAME_PREFIX_MAX = 48 };

struct rename {
    bool active;                       /* false: text is copied as it is */
    char prefix[RENAME_PREFIX_MAX];    /* "halftone_" */
    char upper[RENAME_PREFIX_MAX];     /* "HALFTONE_" */
    char stem[RENAME_PREFIX_MAX];      /* "halftone": the handle's type, header and library */
    const char *shared;                /* names that kernels share with the runtime: of rename_names */
};

/* RENAME_ALL: every name. RENAME_TABLE: but "halftone" alone, which in tables is the name of a model.
 * RENAME_KERNEL: names that begin with the kernel's own, and those in `shared`. */
enum rename_scope { RENAME_ALL, RENAME_TABLE, RENAME_KERNEL };

/* Adds each ht_ and HT_ name of the code once, those in comments aside. Tokens count, not how a name is
 * declared. */
void rename_names(struct text *out, const char *code, size_t len);

/* prefix NULL: none. `shared` must live as long. */
void rename_init(struct rename *r, const char *prefix, const char *shared);

/* Appends the text; `kernel` is for RENAME_KERNEL. Lines that hold "Recreate:" stay as they are. */
void rename_text(struct text *out, const struct rename *r, const char *bytes, size_t len,
                 enum rename_scope scope, const char *kernel);

#endif
