/* files: a set of generated files that appears as a whole or not at all. */
#ifndef HT_FILES_H
#define HT_FILES_H

#include <stdbool.h>

#include "base/text.h"

enum { FILES_MAX = 1100, FILE_NAME_MAX = 128 };

struct files {
    int count;
    char name[FILES_MAX][FILE_NAME_MAX];
    struct text text[FILES_MAX];
};

/* Next empty file; the name is copied. */
struct text *files_add(struct files *f, const char *name);
void files_free(struct files *f);
int files_index(const struct files *f, const char *name); /* -1: not among them */
bool files_read_in(struct text *out, const char *folder, const char *name); /* false: it cannot be read */

/* What an entry of a folder is to who writes there: it stands in the way; it is the writer's own, to be
 * replaced or, where the new set lacks it, removed; it stays as it is. */
enum files_verdict { FILES_FOREIGN, FILES_OWN, FILES_PASSED };

struct files_writer {
    const char *verb; /* of halftone-gen, for messages */
    enum files_verdict (*judge)(const struct files_writer *w, const char *name);
    const struct files *files;
    const char *folder;
    const struct text *manifest; /* files_write's: what an earlier run left in the folder */
};

/* Writes the set to the folder; folders above it that are missing are made. Where an entry is foreign nothing
 * is changed. All bytes are first written to a folder of its own beside it, whose name nobody has; one rename
 * makes a new folder of that, an existing one gets the files one by one, the last of the set last. Equal ones
 * keep their time stamps (make rebuilds only what changed). Runs that write beside each other wait for each
 * other: from before they look at what is there to the end. A signal that ends the program is taken before or
 * after the writing. False after err_user; then the folders above that it made are gone again. */
bool files_write(const struct files_writer *w);

/* For `emit`: a new or empty folder, or one that holds what emit wrote. Whatever else lies there stays. */
bool files_emit(const struct files *f, const char *folder);

/* One file, whole or not at all; behind a link its target is replaced. check: whether it can be, before long
 * work. False after err_user. */
bool files_check_one(const char *path);
bool files_write_one(const struct text *text, const char *path);
#endif
