/* outfile: write to a temporary neighbour, then rename. See outfile.h. */
#define _POSIX_C_SOURCE 200809L
#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct outfile *o) {
    free(o->path);
    free(o->temporary);
    memset(o, 0, sizeof *o);
}

/* mkstemp makes the file private; give it what the user's umask would have given. */
static void open_permissions(int descriptor) {
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, (mode_t)(0666 & ~mask));
}

int outfile_open(struct outfile *o, const char *path, struct fault *f) {
    static const char suffix[] = ".XXXXXX";
    size_t length = strlen(path);
    memset(o, 0, sizeof *o);
    o->path = malloc(length + 1);
    o->temporary = malloc(length + sizeof suffix);
    if (o->path == NULL || o->temporary == NULL) {
        release(o);
        return fault_memory(f, (double)length, "a file name");
    }
    memcpy(o->path, path, length + 1);
    memcpy(o->temporary, path, length);
    memcpy(o->temporary + length, suffix, sizeof suffix);
    int descriptor = mkstemp(o->temporary);
    if (descriptor >= 0) {
        open_permissions(descriptor);
        o->stream = fdopen(descriptor, "wb");
    }
    if (o->stream != NULL)
        return 0;
    fault_set(f, "%s: cannot write here: %s; name a folder that exists and that you may write to", path,
              strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
        unlink(o->temporary);
    }
    release(o);
    return -1;
}

void outfile_discard(struct outfile *o) {
    if (o->stream != NULL)
        fclose(o->stream);
    if (o->temporary != NULL)
        unlink(o->temporary);
    release(o);
}

int outfile_commit(struct outfile *o, struct fault *f) {
    int failed = ferror(o->stream) != 0;
    if (fclose(o->stream) != 0)
        failed = 1;
    o->stream = NULL;
    if (!failed && rename(o->temporary, o->path) != 0)
        failed = 1;
    if (failed) {
        fault_set(f, "%s: writing failed: %s; check the free space and permissions of its folder", o->path,
                  errno ? strerror(errno) : "short write");
        outfile_discard(o);
        return -1;
    }
    release(o);
    return 0;
}

int outfile_folder(const char *path, struct fault *f) {
    size_t length = strlen(path);
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return fault_memory(f, (double)length, "a folder name");
    memcpy(copy, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (copy[i] != '/' && copy[i] != '\0')
            continue;
        char kept = copy[i];
        copy[i] = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            fault_set(f, "%s: cannot create this folder: %s; choose another with --out", copy,
                      strerror(errno));
            free(copy);
            return -1;
        }
        copy[i] = kept;
    }
    free(copy);
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return fault_set(f, "%s: is not a folder; choose another with --out", path);
    return 0;
}

char *outfile_join(const char *folder, const char *name) {
    size_t a = strlen(folder), b = strlen(name);
    char *joined = malloc(a + b + 2);
    if (joined == NULL)
        return NULL;
    memcpy(joined, folder, a);
    joined[a] = '/';
    memcpy(joined + a + 1, name, b + 1);
    return joined;
}
