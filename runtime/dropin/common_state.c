/* common_state.c: what the other files stand on: the one object of state, words on stderr, every lock of the faces, and fork(). A
 * child begins with locks that nobody holds: whoever held one in its parent is not there. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common_state.h"

/* All zero, which both onces and the locks are as initialised: no byte of it lies in the file. */
DROPIN_EXPORT struct dropin_state halftone_dropin_state = {.once = PTHREAD_ONCE_INIT, .fork_once = PTHREAD_ONCE_INIT};
DROPIN_EXPORT _Thread_local struct dropin_thread halftone_dropin_thread;

/* ---- words ---- */

const char dropin_nothing[] = "; nothing is served in this process";

/* One write, so that lines of several processes do not mix. */
void dropin_say(const char *format, ...) {
    char line[DROPIN_LINE] = "halftone: ";
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(line + used, sizeof line - used - 1, format, list);
    va_end(list);
    used = length < 0 || used + (size_t)length > sizeof line - 2 ? sizeof line - 2 : used + (size_t)length;
    line[used++] = '\n';
    const int before = errno;
    if (write(STDERR_FILENO, line, used) < 0)
        errno = before; /* the program's stderr is closed: nobody to tell */
}

const char *dropin_text_at(const char *texts, int at) {
    while (at-- > 0)
        texts += strlen(texts) + 1;
    return texts;
}

/* ---- locks ---- */

static pthread_mutex_t *lock_of(enum dropin_lock which) {
    return &halftone_dropin_state.lock[which];
}

/* The dynamic linker has a lock of its own for its list of objects, which glibc does not renew in a child:
 * nobody is in the list while a process divides. */
static void fork_begins(void) {
    dropin_lock(DROPIN_LOCK_OBJECTS);
}

static void fork_ends(void) {
    dropin_unlock(DROPIN_LOCK_OBJECTS);
}

/* What its parent did on the GPU a child cannot use, nor a library that the parent was loading. */
static void child_begins(void) {
    struct dropin_state *const s = &halftone_dropin_state;
    s->forked = s->counts.begun > 0;
    memset(s->lock, 0, sizeof s->lock); /* as initialised: pthread_mutex_init would be one function more to bind */
}

/* What pthread_atfork is in glibc, whose own copy of it would be the only function that a face calls through a
 * PLT: four sections more. By the object glibc forgets functions of what is unloaded, which a face never is. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

static void watch_fork(void) {
    (void)__register_atfork(fork_begins, fork_ends, child_begins, NULL);
}

/* With the first lock fork() is watched. */
void dropin_lock(enum dropin_lock which) {
    (void)pthread_once(&halftone_dropin_state.fork_once, watch_fork);
    (void)pthread_mutex_lock(lock_of(which));
}

bool dropin_lock_within(enum dropin_lock which, int seconds) {
    struct timespec until;
    if (clock_gettime(CLOCK_REALTIME, &until) != 0)
        return false;
    until.tv_sec += seconds;
    return pthread_mutex_timedlock(lock_of(which), &until) == 0;
}

void dropin_unlock(enum dropin_lock which) {
    (void)pthread_mutex_unlock(lock_of(which));
}
