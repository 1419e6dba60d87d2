/* outfile: a temporary file, then a rename; or straight into what cannot be replaced. See outfile.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".halftone-XXXXXX"

enum {
    LINKS_MOST = 40,      /* as the kernel's own limit */
    LINK_BYTES = 4096,
    DESCRIPTORS_MOST = 9, /* what a shell can redirect */
    NEW_MODE = 0666
};

/* What a name leads to. */
struct target {
    char *path;     /* of a regular file, every link followed; NULL: written through */
    int descriptor; /* ours, open on that very file; -1 */
    int exists;
    struct stat info;
};

static int cannot_write(struct cli_error *f, const char *path, const char *why) {
    return cli_error_set(f, "%s: cannot write here: %s; name a file in a folder that exists and that you may write to", path,
                     why);
}

/* A standard stream, or another descriptor that a shell opened, on this very file; -1: none. */
static int find_descriptor(const struct stat *info) {
    for (int i = STDOUT_FILENO; i <= DESCRIPTORS_MOST; i++) {
        struct stat open;
        const int flags = fcntl(i, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(i, &open) == 0 && open.st_dev == info->st_dev &&
            open.st_ino == info->st_ino)
            return i;
    }
    return -1;
}

/* `link` is where the file named `at` leads. */
static char *leads_to(const char *at, const char *link) {
    const char *slash = strrchr(at, '/');
    const size_t folder = link[0] == '/' || slash == NULL ? 0 : (size_t)(slash - at) + 1, length = strlen(link);
    char *next = malloc(folder + length + 1);
    if (next != NULL) {
        memcpy(next, at, folder);
        memcpy(next + folder, link, length + 1);
    }
    return next;
}

/* The name behind all links, whether or not there is such a file; malloc'ed. NULL: errno says why. */
static char *follow_links(const char *path) {
    char link[LINK_BYTES];
    char *at = leads_to("", path);
    for (int i = 0; at != NULL && i < LINKS_MOST; i++) {
        const ssize_t length = readlink(at, link, sizeof link - 1);
        if (length < 0)
            return at;
        link[length] = '\0';
        char *next = leads_to(at, link);
        free(at);
        at = next;
    }
    if (at != NULL)
        errno = ELOOP;
    free(at);
    return NULL;
}

/* The links of /proc/self/fd name files that may have gone: then `path` alone leads there. */
static int is_same_file(const char *path, const struct stat *info) {
    struct stat other;
    return lstat(path, &other) == 0 && other.st_dev == info->st_dev && other.st_ino == info->st_ino;
}

static int find_target(struct target *t, const char *path, struct cli_error *f) {
    memset(t, 0, sizeof *t);
    t->descriptor = -1;
    t->exists = stat(path, &t->info) == 0;
    if (path[0] == '\0' || (!t->exists && errno != ENOENT))
        return cannot_write(f, path, strerror(path[0] == '\0' ? ENOENT : errno));
    if (t->exists && S_ISDIR(t->info.st_mode))
        return cli_error_set(f, "%s: is a folder; name a file in it", path);
    if (t->exists && (t->descriptor = find_descriptor(&t->info)) >= 0)
        return 0;
    if (t->exists && access(path, W_OK) != 0)
        return cannot_write(f, path, strerror(errno));
    if (t->exists && !S_ISREG(t->info.st_mode))
        return 0;
    t->path = follow_links(path);
    if (t->path == NULL)
        return cannot_write(f, path, strerror(errno));
    if (t->exists && !is_same_file(t->path, &t->info)) {
        free(t->path);
        t->path = NULL;
    }
    return 0;
}

static void release(struct outfile *o) {
    free(o->path);
    free(o->temporary);
    memset(o, 0, sizeof *o);
}

/* mkstemp makes the file private; it gets what the file in its place had, else what the user's umask gives. */
static void set_permissions(int descriptor, const struct target *t) {
    const mode_t mask = umask(0);
    umask(mask);
    if (t->exists && fchown(descriptor, t->info.st_uid, t->info.st_gid) != 0)
        errno = 0; /* only root can give a file to another user */
    (void)fchmod(descriptor, t->exists ? t->info.st_mode & 0777 : (mode_t)(NEW_MODE & ~mask));
}

/* A file with a name of its own beside the target; -1: errno says why. */
static int open_temporary(struct outfile *o, const struct target *t) {
    o->temporary = leads_to(t->path, TEMPORARY);
    const int descriptor = o->temporary != NULL ? mkstemp(o->temporary) : -1;
    if (descriptor >= 0)
        set_permissions(descriptor, t);
    return descriptor;
}

int outfile_open(struct outfile *o, const char *path, struct cli_error *f) {
    struct target t;
    memset(o, 0, sizeof *o);
    if (find_target(&t, path, f) != 0)
        return -1;
    o->path = t.path != NULL ? t.path : leads_to("", path);
    fflush(stdout); /* what was printed stands before what is written there */
    const int descriptor = o->path == NULL       ? -1
                           : t.path != NULL      ? open_temporary(o, &t)
                           : t.descriptor >= 0   ? dup(t.descriptor)
                                                 : open(path, O_WRONLY | O_TRUNC | O_NOCTTY);
    if (descriptor >= 0)
        o->stream = fdopen(descriptor, "wb");
    if (o->stream != NULL)
        return 0;
    cannot_write(f, path, strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
        if (o->temporary != NULL)
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

int outfile_commit(struct outfile *o, struct cli_error *f) {
    errno = 0;
    int failed = fflush(o->stream) != 0 || ferror(o->stream) != 0, reason = errno;
    if (fclose(o->stream) != 0 && !failed) {
        failed = 1;
        reason = errno;
    }
    o->stream = NULL;
    if (!failed && o->temporary != NULL && rename(o->temporary, o->path) != 0) {
        failed = 1;
        reason = errno;
    }
    if (failed) {
        cli_error_set(f, "%s: writing failed: %s; check the free space and permissions of its folder", o->path,
                  reason != 0 ? strerror(reason) : "short write");
        outfile_discard(o);
        return -1;
    }
    release(o);
    return 0;
}

int outfile_check(const char *path, struct cli_error *f) {
    struct target t;
    struct outfile o = {NULL, NULL, NULL};
    if (path == NULL)
        return 0;
    if (find_target(&t, path, f) != 0)
        return -1;
    if (t.path == NULL)
        return 0;
    const int descriptor = open_temporary(&o, &t);
    const int status = descriptor >= 0 ? 0 : cannot_write(f, path, strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
        unlink(o.temporary);
    }
    free(t.path);
    release(&o);
    return status;
}

int outfile_is_stream(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && (!S_ISREG(info.st_mode) || find_descriptor(&info) >= 0);
}

/* The folder of a name without links, and the name in it. */
static int find_place(const char *at, struct stat *folder, const char **name) {
    const char *const slash = strrchr(at, '/');
    char *const parent = slash != NULL ? leads_to(at, ".") : NULL;
    const int status = slash != NULL && parent == NULL ? -1 : stat(parent != NULL ? parent : ".", folder);
    *name = slash != NULL ? slash + 1 : at;
    free(parent);
    return status;
}

static int is_same_place(const char *path, const char *other) {
    struct stat info[2];
    const char *name[2];
    if (stat(path, &info[0]) == 0 && stat(other, &info[1]) == 0)
        return info[0].st_dev == info[1].st_dev && info[0].st_ino == info[1].st_ino;
    char *const at[2] = {follow_links(path), follow_links(other)};
    const int is_same = at[0] != NULL && at[1] != NULL && find_place(at[0], &info[0], &name[0]) == 0 &&
                        find_place(at[1], &info[1], &name[1]) == 0 && info[0].st_dev == info[1].st_dev &&
                        info[0].st_ino == info[1].st_ino && strcmp(name[0], name[1]) == 0;
    free(at[0]);
    free(at[1]);
    return is_same;
}

int outfile_apart(const char *option, const char *path, const char *other_option, const char *other, struct cli_error *f) {
    if (path == NULL || other == NULL || outfile_is_stream(path) || !is_same_place(path, other))
        return 0;
    return cli_error_usage(f, "%s and %s name one file, %s: give each its own", option, other_option, path);
}

char *outfile_work_folder(const char *path, struct cli_error *f) {
    char *const at = follow_links(path), *const made = at != NULL ? leads_to(at, TEMPORARY) : NULL;
    char *const whole = made != NULL && mkdtemp(made) != NULL ? realpath(made, NULL) : NULL;
    if (whole == NULL)
        cannot_write(f, path, strerror(errno));
    free(at);
    free(made);
    return whole;
}

FILE *outfile_remarks(const char *path) {
    struct stat named, standard;
    return path != NULL && stat(path, &named) == 0 && fstat(STDOUT_FILENO, &standard) == 0 &&
                   named.st_dev == standard.st_dev && named.st_ino == standard.st_ino
               ? stderr
               : stdout;
}

int outfile_folder(const char *path, struct cli_error *f) {
    size_t length = strlen(path);
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return cli_error_memory(f, (double)length, "a folder name");
    memcpy(copy, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (copy[i] != '/' && copy[i] != '\0')
            continue;
        char kept = copy[i];
        copy[i] = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            cli_error_set(f, "%s: cannot create this folder: %s; choose another with --out", copy,
                      strerror(errno));
            free(copy);
            return -1;
        }
        copy[i] = kept;
    }
    free(copy);
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return cli_error_set(f, "%s: is not a folder; choose another with --out", path);
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
