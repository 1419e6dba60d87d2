/* common_locks.c: every lock of the faces, and fork(). A child begins with locks that nobody holds: whoever
 * held one in its parent is not there. */
#include <string.h>
#include <time.h>

#include "common_state.h"

static pthread_mutex_t *lock_of(enum dropin_lock which) {
    return &halftone_dropin_state.lock[which];
}

/* The settings come first, as with them fork() is watched. */
void dropin_lock(enum dropin_lock which) {
    (void)dropin_settings();
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
    s->forked = s->begun;
    memset(s->lock, 0, sizeof s->lock); /* as initialised: pthread_mutex_init would be one function more to bind */
}

/* What pthread_atfork is in glibc, whose own copy of it would be the only function that a face calls through a
 * PLT: four sections more. By the object glibc forgets functions of what is unloaded, which a face never is. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object);

void dropin_watch_fork(void) {
    (void)__register_atfork(fork_begins, fork_ends, child_begins, NULL);
}
