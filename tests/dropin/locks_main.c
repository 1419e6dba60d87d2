/* locks_main.c: a thread holds every lock of a face, the process divides, and the child takes each of them. Ends with 0 where it could. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/dropin/common.h"

static volatile int holds;

static void *hold_all(void *data) {
    for (int i = 0; i < DROPIN_LOCKS; i++)
        if (i != DROPIN_LOCK_OBJECTS) /* for which fork() waits */
            dropin_lock((enum dropin_lock)i);
    holds = 1;
    (void)pause();
    return data;
}

int main(void) {
    pthread_t thread;
    int status = 0;
    if (pthread_create(&thread, NULL, hold_all, NULL) != 0)
        return 2;
    while (holds == 0)
        usleep(1000);
    const pid_t child = fork();
    if (child == 0) {
        alarm(5);
        for (int i = 0; i < DROPIN_LOCKS; i++)
            dropin_lock((enum dropin_lock)i);
        _exit(0);
    }
    dropin_lock(DROPIN_LOCK_OBJECTS); /* given back */
    return waitpid(child, &status, 0) != child || status != 0;
}
