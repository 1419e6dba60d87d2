/* files.c: temporary folder, then rename. */
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

enum { PATH_BYTES = 4096, NAMES_TRIED = 100 };

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

int files_index(const struct files *f, const char *name) {
    for (int i = 0; i < f->count; i++) {
        if (strcmp(f->name[i], name) == 0)
            return i;
    }
    return -1;
}

static bool join(char *path, const char *folder, const char *name) {
    const int n = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return n > 0 && n < PATH_BYTES;
}

bool files_read_in(struct text *out, const char *folder, const char *name) {
    char path[PATH_BYTES];
    return join(path, folder, name) && text_read_file(out, path);
}

/* ---- one writer at a time */

/* Signals that end the program wait while files are written. */
static void hold_signals(sigset_t *before) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, before);
}

static bool is_interrupted(void) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP);
}

/* The lock is on the folder above, so that it leaves nothing behind and also holds while the folder does not
 * exist. */
static int lock_folder(const char *folder) {
    enum { TRIES = 600, WAIT_NS = 50000000 };
    const struct timespec wait = {0, WAIT_NS};
    char parent[PATH_BYTES];
    const char *slash = strrchr(folder, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - folder) + 1 : 1, slash ? folder : ".");
    const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) {
        if (is_interrupted())
            break;
        if (i == TRIES) {
            err_user(folder, 0, "another program holds a lock on the folder above; nothing was changed");
            break;
        }
        nanosleep(&wait, NULL);
    }
    return fd;
}

/* Makes the missing folders above it. Length of the first one's path; 0: all were there. */
static size_t make_parents(const char *folder) {
    char path[PATH_BYTES];
    size_t first = 0;
    for (size_t i = 1; i < PATH_BYTES && folder[i - 1] && folder[i]; i++) {
        snprintf(path, sizeof path, "%.*s", (int)i, folder);
        if (folder[i] == '/' && mkdir(path, 0777) == 0 && first == 0)
            first = i;
    }
    return first;
}

/* Those that make_parents made, the innermost first; one in which somebody put a file stays. */
static void remove_parents(const char *folder, size_t first) {
    char path[PATH_BYTES];
    for (size_t i = first > 0 ? strlen(folder) : 0; i > 0 && i >= first; i--) {
        snprintf(path, sizeof path, "%.*s", (int)i, folder);
        if (folder[i] == '/')
            rmdir(path);
    }
}

/* ---- what is there already */

static int is_entry(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* One line for all foreign entries. */
static void refuse(const struct files_writer *w, struct dirent **entry, int count) {
    enum { NAMED = 3 };
    struct text names = {0};
    int foreign = 0;
    for (int i = 0; i < count; i++) {
        if (w->judge(w, entry[i]->d_name) == FILES_FOREIGN && ++foreign <= NAMED)
            text_addf(&names, "%s%s", foreign > 1 ? ", " : "", entry[i]->d_name);
    }
    for (size_t i = 0; i < names.len; i++) { /* a terminal may obey control bytes */
        if ((unsigned char)names.data[i] < ' ' || names.data[i] == 127)
            names.data[i] = '?';
    }
    if (foreign > NAMED)
        text_addf(&names, " and %d more", foreign - NAMED);
    if (foreign > 0)
        err_user(
            w->folder, 0,
            "%s: not written by halftone-gen %s, or edited since; nothing was changed: move %s away, or name "
            "another folder",
            names.data ? names.data : "", w->verb, foreign > 1 ? "them" : "it");
    text_free(&names);
}

/* The verdicts before anything changes; -1 after err_user. */
static int judge_entries(const struct files_writer *w, struct dirent ***entry) {
    const int count = scandir(w->folder, entry, is_entry, alphasort);
    if (count < 0 && errno != ENOENT)
        err_user(w->folder, 0, "cannot read this folder: %s; nothing was changed", strerror(errno));
    else
        refuse(w, *entry, count);
    return err_count() > 0 ? -1 : count < 0 ? 0 : count;
}

/* ---- writing */

static bool make_temporary(char *path, const char *folder) {
    for (int i = 0; i < NAMES_TRIED; i++) {
        const int n = snprintf(path, PATH_BYTES, "%s.tmp-%ld-%d", folder, (long)getpid(), i);
        if (n > 0 && n < PATH_BYTES && mkdir(path, 0777) == 0)
            return true;
        if (n >= PATH_BYTES)
            errno = ENAMETOOLONG;
        if (errno != EEXIST)
            break;
    }
    err_user(folder, 0, "cannot make a folder beside it: %s; name one in a folder that is writable",
             strerror(errno));
    path[0] = 0;
    return false;
}

static void remove_temporary(const struct files *f, const char *temporary) {
    char path[PATH_BYTES];
    for (int i = 0; temporary[0] && i < f->count; i++) {
        if (join(path, temporary, f->name[i]))
            unlink(path);
    }
    if (temporary[0])
        rmdir(temporary);
}

static bool write_temporary(const struct files *f, const char *temporary) {
    char path[PATH_BYTES];
    for (int i = 0; i < f->count; i++) {
        if (is_interrupted())
            return false;
        if (!join(path, temporary, f->name[i]) || !text_write_file(&f->text[i], path))
            return err_user(path, 0, "cannot write: %s; nothing was changed", strerror(errno));
    }
    return true;
}

static bool same_content(const char *path, const struct text *text) {
    struct text old = {0};
    const bool same = text_read_file(&old, path) && text_same(&old, text);
    text_free(&old);
    return same;
}

static bool move_files(const struct files_writer *w, const char *temporary, int first, int end) {
    char from[PATH_BYTES], to[PATH_BYTES];
    for (int i = first; i < end; i++) {
        const char *name = w->files->name[i];
        if (!join(from, temporary, name) || !join(to, w->folder, name) ||
            (same_content(to, &w->files->text[i]) ? unlink(from) : rename(from, to)) != 0)
            return err_user(w->folder, 0, "cannot move a file here: %s; is it a writable folder?",
                            strerror(errno));
    }
    return true;
}

/* The writer's files that the new set lacks. */
static bool remove_stale(const struct files_writer *w, struct dirent **entry, int count) {
    char path[PATH_BYTES];
    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name;
        if (files_index(w->files, name) < 0 && w->judge(w, name) == FILES_OWN &&
            (!join(path, w->folder, name) || unlink(path) != 0))
            return err_user(w->folder, 0, "cannot remove %s, which the new set lacks: %s", name,
                            strerror(errno));
    }
    return true;
}

static bool write_all(const struct files_writer *w) {
    char temporary[PATH_BYTES] = "";
    struct stat status;
    struct dirent **entry = NULL;
    const int count = judge_entries(w, &entry), last = w->files->count - 1;
    bool ok = count >= 0 && make_temporary(temporary, w->folder) && write_temporary(w->files, temporary);
    if (ok && lstat(w->folder, &status) != 0) {
        ok = rename(temporary, w->folder) == 0;
        if (!ok)
            err_user(w->folder, 0, "cannot make this folder: %s", strerror(errno));
    } else
        ok = ok && move_files(w, temporary, 0, last) && remove_stale(w, entry, count) &&
             /* a run that is killed before leaves the old manifest to go by */
             move_files(w, temporary, last, last + 1);
    remove_temporary(w->files, temporary);
    for (int i = 0; i < count; i++)
        free(entry[i]);
    free(entry);
    return ok;
}

bool files_write(const struct files_writer *asked) {
    struct files_writer w = *asked;
    struct text manifest = {0};
    sigset_t before;
    if (err_count() > 0)
        return false;
    hold_signals(&before);
    const size_t made = make_parents(w.folder);
    const int lock = lock_folder(w.folder);
    files_read_in(&manifest, w.folder, "manifest");
    w.manifest = &manifest;
    const bool ok = err_count() == 0 && write_all(&w);
    if (!ok)
        remove_parents(w.folder, made);
    if (lock >= 0)
        close(lock);
    text_free(&manifest);
    sigprocmask(SIG_SETMASK, &before, NULL); /* a signal that came ends the program here */
    return ok;
}

/* ---- emit */

/* Whether emit wrote the file: its recreating command. */
static bool is_emitted(const char *folder, const char *name) {
    struct text bytes = {0};
    const bool found =
        files_read_in(&bytes, folder, name) && bytes.len > 0 && strstr(bytes.data, "halftone-gen emit ");
    text_free(&bytes);
    return found;
}

/* In a folder of emit's (its manifest or, after an interrupted run, the list of sources says so) others may
 * lie too. */
static enum files_verdict judge_emitted(const struct files_writer *w, const char *name) {
    const char *dot = strrchr(name, '.');
    const bool kernel = strncmp(name, "ht_", 3) == 0 && dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".hip"));
    const bool taken = files_index(w->files, name) >= 0;
    if ((taken || kernel) && is_emitted(w->folder, name))
        return FILES_OWN;
    return !taken && (is_emitted(w->folder, "manifest") || is_emitted(w->folder, "rules.mk")) ? FILES_PASSED
                                                                                              : FILES_FOREIGN;
}

bool files_emit(const struct files *f, const char *folder) {
    return files_write(&(struct files_writer){"emit", judge_emitted, f, folder, NULL});
}

/* ---- one file */

/* Where `path` leads: a link stays, the file behind it is replaced. False after err_user. */
static bool find_target(const char *path, char *target, bool *exists, struct stat *status) {
    char *const real = realpath(path, NULL);
    const bool is_link = lstat(path, status) == 0 && S_ISLNK(status->st_mode);
    *exists = real != NULL && stat(real, status) == 0;
    const int n = snprintf(target, PATH_BYTES, "%s", real ? real : path);
    free(real);
    if (*exists ? S_ISREG(status->st_mode) && access(target, W_OK) == 0 : !is_link && n < PATH_BYTES)
        return true;
    return err_user(path, 0, "%s and stays as it is; name another",
                    !*exists ? is_link ? "is a link that leads to no file" : "has too long a name"
                    : S_ISREG(status->st_mode) ? "may not be written" /* but by a rename */
                                               : "is no ordinary file");
}

/* A file with a name of its own beside `target`, with that one's permissions, or those of any new file. */
static bool make_neighbour(char *temporary, const char *target, const struct stat *old) {
    const char *slash = strrchr(target, '/');
    const int n = snprintf(temporary, PATH_BYTES, "%.*s.halftone-XXXXXX",
                           slash ? (int)(slash - target) + 1 : 0, target);
    const int file = n < PATH_BYTES ? mkstemp(temporary) : -1;
    const mode_t mask = umask(0);
    umask(mask);
    return file >= 0 && fchmod(file, old ? old->st_mode & 0777 : 0666 & ~mask) == 0 && close(file) == 0;
}

static bool begin_one(const char *path, char *target, char *temporary) {
    struct stat status;
    bool exists;
    temporary[0] = '\0';
    if (!find_target(path, target, &exists, &status))
        return false;
    if (make_neighbour(temporary, target, exists ? &status : NULL))
        return true;
    err_user(path, 0, "cannot write here: %s; name a file in a folder that exists and is writable",
             strerror(errno));
    if (temporary[0] != '\0')
        unlink(temporary);
    return false;
}

bool files_check_one(const char *path) {
    char target[PATH_BYTES], temporary[PATH_BYTES];
    return begin_one(path, target, temporary) && unlink(temporary) == 0;
}

bool files_write_one(const struct text *text, const char *path) {
    char target[PATH_BYTES], temporary[PATH_BYTES];
    if (!begin_one(path, target, temporary))
        return false;
    if (text_write_file(text, temporary) && rename(temporary, target) == 0)
        return true;
    err_user(path, 0, "cannot write here: %s; is there room left?", strerror(errno));
    unlink(temporary);
    return false;
}
