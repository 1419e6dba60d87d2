/* files: a set of generated files that appears as a whole or not at all. Level 4. */
#ifndef HT_FILES_H
#define HT_FILES_H

#include <stdbool.h>

#include "text.h"

enum { FILES_MAX = 1100, FILE_NAME_MAX = 128 };

struct files {
    int count;
    char name[FILES_MAX][FILE_NAME_MAX];
    struct text text[FILES_MAX];
};

/* Next empty file; the name is copied. */
struct text *files_add(struct files *f, const char *name);
void files_free(struct files *f);

/* Writes all files to folder.tmp first; only when every byte is on disk they move to folder. Files there that are equal
 * keep their time stamp (make rebuilds only what changed); generated files of an earlier set that are not in this one
 * are removed. False after err_user, with folder as it was. */
bool files_write(const struct files *f, const char *folder);

/* One file, whole or not at all: PATH.tmp, then a rename. False after err_user. */
bool files_write_one(const struct text *text, const char *path);
#endif
