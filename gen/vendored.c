/* vendored.c: folders that exist already: may they be replaced, are they as they were written. See vendor.h. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "vendor.h"

enum { PATH_BYTES = 4096 };

static bool read_in(struct text *out, const char *folder, const char *name) {
    char path[PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && n < PATH_BYTES && text_read_file(out, path);
}

static int index_of(const struct files *f, const char *name) {
    for (int i = 0; i < f->count; i++) {
        if (strcmp(f->name[i], name) == 0)
            return i;
    }
    return -1;
}

static bool same(const struct text *x, const struct text *y) {
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

/* Whether the manifest lists the file with the checksum of these bytes. */
static bool is_as_written(const struct text *manifest, const char *name, const struct text *bytes) {
    struct text line = {0};
    text_addf(&line, "# checksum %016" PRIx64 " %s\n",
              text_checksum(TEXT_CHECKSUM_SEED, bytes->data, bytes->len), name);
    const bool found = manifest->data && line.data && strstr(manifest->data, line.data);
    text_free(&line);
    return found;
}

/* What stands in the way of writing to the folder: a file that vendor did not write or somebody edited. What an
 * interrupted run already wrote is equal to the new text. */
static bool may_replace(const struct files *f, const char *folder, const char *name,
                        const struct text *manifest) {
    struct text bytes = {0};
    const int at = index_of(f, name);
    bool ok = strcmp(name, "manifest") == 0 && manifest->data &&
              strstr(manifest->data, "# Recreate: halftone-gen vendor ");
    if (!ok) {
        ok = read_in(&bytes, folder, name) &&
             (is_as_written(manifest, name, &bytes) || (at >= 0 && same(&bytes, &f->text[at])));
        if (!ok)
            err_user(
                folder, 0,
                "%s was not written by vendor, or was edited since; nothing was changed: move it away, or "
                "name another folder",
                name);
    }
    text_free(&bytes);
    return ok;
}

/* Calls visit for every entry of a folder; true when there is none to visit. */
static bool each_entry(const struct files *f, const char *folder, const struct text *manifest,
                       bool (*visit)(const struct files *f, const char *folder, const char *name,
                                     const struct text *manifest)) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool ok = true;
    while (dir && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = visit(f, folder, entry->d_name, manifest) && ok;
    }
    if (dir)
        closedir(dir);
    return ok;
}

static bool remove_stale(const struct files *f, const char *folder, const char *name,
                         const struct text *manifest) {
    char path[PATH_BYTES];
    (void)manifest;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return index_of(f, name) >= 0 || (n > 0 && n < PATH_BYTES && unlink(path) == 0);
}

bool vendor_write(const struct files *f, const char *folder) {
    struct text manifest = {0};
    read_in(&manifest, folder, "manifest");
    const bool ok = each_entry(f, folder, &manifest, may_replace) && files_write(f, folder) &&
                    each_entry(f, folder, &manifest, remove_stale);
    text_free(&manifest);
    return ok;
}

bool vendor_command(struct text *out, const char *folder) {
    static const char mark[] = "# Recreate: halftone-gen vendor ";
    struct text manifest = {0};
    const bool ok = read_in(&manifest, folder, "manifest") && manifest.len > 0 &&
                    strncmp(manifest.data, mark, strlen(mark)) == 0;
    if (ok) {
        const char *command = manifest.data + strlen(mark);
        text_add_bytes(out, command, strcspn(command, "\n"));
    } else {
        err_user(
            folder, 0,
            "has no manifest that begins with '%s...': not a vendored folder, or its manifest was edited",
            mark);
    }
    text_free(&manifest);
    return ok;
}

bool vendor_compare(const struct files *f, const char *folder) {
    struct text manifest = {0};
    const int before = err_count();
    read_in(&manifest, folder, "manifest");
    for (int i = 0; i < f->count; i++) {
        struct text bytes = {0};
        const char *name = f->name[i];
        if (!read_in(&bytes, folder, name))
            err_user(folder, 0, "%s is missing", name);
        else if (!same(&bytes, &f->text[i]) && is_as_written(&manifest, name, &bytes))
            err_user(folder, 0, "%s is as it was written, but halftone-gen %s writes it differently", name,
                     HT_GENERATOR_VERSION);
        else if (!same(&bytes, &f->text[i]))
            err_user(folder, 0, "%s was edited", name);
        text_free(&bytes);
    }
    text_free(&manifest);
    return err_count() == before;
}
