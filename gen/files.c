/* files.c: temporary folder, then rename. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

enum { PATH_BYTES = 4096 };

struct text *files_add(struct files *f, const char *name) {
    if (f->count == FILES_MAX)
        err_bug("more generated files than FILES_MAX");
    snprintf(f->name[f->count], sizeof f->name[0], "%s", name);
    return &f->text[f->count++];
}

void files_free(struct files *f) {
    for (int i = 0; i < f->count; i++)
        text_free(&f->text[i]);
    f->count = 0;
}

static bool join(char *path, const char *folder, const char *suffix, const char *name) {
    const int n = snprintf(path, PATH_BYTES, "%s%s%s%s", folder, suffix, name[0] ? "/" : "", name);
    return n > 0 && n < PATH_BYTES;
}

static void remove_temporary(const struct files *f, const char *folder) {
    char path[PATH_BYTES];
    for (int i = 0; i < f->count; i++) {
        if (join(path, folder, ".tmp", f->name[i]))
            unlink(path);
    }
    if (join(path, folder, ".tmp", ""))
        rmdir(path);
}

static bool write_temporary(const struct files *f, const char *folder) {
    char path[PATH_BYTES];
    if (!join(path, folder, ".tmp", "") || (mkdir(path, 0777) != 0 && errno != EEXIST)) {
        err_user(folder, 0,
                 "cannot make the folder %s.tmp: %s; name a folder whose parent exists and is writable",
                 folder, strerror(errno));
        return false;
    }
    for (int i = 0; i < f->count; i++) {
        if (!join(path, folder, ".tmp", f->name[i]) || f->text[i].failed ||
            !text_write_file(&f->text[i], path)) {
            err_user(path, 0, "cannot write: %s; nothing was changed", strerror(errno));
            return false;
        }
    }
    return true;
}

static bool same_content(const char *path, const struct text *text) {
    struct text old = {0};
    const bool same = text_read_file(&old, path) && old.len == text->len &&
                      (old.len == 0 || memcmp(old.data, text->data, old.len) == 0);
    text_free(&old);
    return same;
}

static bool move_file(const char *folder, const char *name, const struct text *text) {
    char from[PATH_BYTES], to[PATH_BYTES];
    if (!join(from, folder, ".tmp", name) || !join(to, folder, "", name))
        return false;
    return same_content(to, text) ? unlink(from) == 0 : rename(from, to) == 0;
}

static bool is_in_set(const struct files *f, const char *name) {
    for (int i = 0; i < f->count; i++) {
        if (strcmp(f->name[i], name) == 0)
            return true;
    }
    return false;
}

/* Kernels of an earlier set: ht_*.cu and ht_*.hip, nothing else. */
static void remove_stale(const struct files *f, const char *folder) {
    char path[PATH_BYTES];
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        const bool kernel =
            strncmp(entry->d_name, "ht_", 3) == 0 && dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".hip"));
        if (kernel && !is_in_set(f, entry->d_name) && join(path, folder, "", entry->d_name))
            unlink(path);
    }
    if (dir)
        closedir(dir);
}

bool files_write(const struct files *f, const char *folder) {
    char path[PATH_BYTES];
    struct stat status;
    bool ok = write_temporary(f, folder);
    if (ok && stat(folder, &status) != 0) {
        ok = join(path, folder, ".tmp", "") && rename(path, folder) == 0;
        if (!ok)
            err_user(folder, 0, "cannot make this folder: %s", strerror(errno));
    } else if (ok) {
        for (int i = 0; i < f->count && ok; i++)
            ok = move_file(folder, f->name[i], &f->text[i]);
        if (!ok)
            err_user(folder, 0, "cannot move a file here: %s; is it a writable folder?", strerror(errno));
        else
            remove_stale(f, folder);
    }
    remove_temporary(f, folder);
    return ok;
}

bool files_write_one(const struct text *text, const char *path) {
    char temporary[PATH_BYTES];
    struct stat status;
    const bool named = join(temporary, path, ".tmp", "");
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        err_user(
            path, 0,
            "is no ordinary file and stays as it is; name another"); /* a rename would replace a device */
        return false;
    }
    if (named && text_write_file(text, temporary) && rename(temporary, path) == 0)
        return true;
    err_user(path, 0, "cannot write here: %s; name a file in a folder that exists and is writable",
             named ? strerror(errno) : "the name is too long");
    if (named)
        unlink(temporary);
    return false;
}
