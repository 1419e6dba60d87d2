/* cublas_main: a program that is linked to a fake libcublas. Each argument is a call's words; others:
 *     threads=T   the rest in T threads at once, each on its own, their lines behind one another
 *     fork        the rest in a child, which is waited for
 *     while=FILE  the rest in a thread, and, as soon as FILE is there, in a child; FILE.go is made when the child has ended
 *     storm=N     the rest in four threads again and again, meanwhile in N children, one after the other
 *     exit=CODE   ends at once by _exit
 *     atexit      the rest when main has returned
 *     accuracy=X  of this thread, from here on */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cublas_client.h"

struct rest {
    int argc;
    char **argv;
};

static void *run_rest(void *data) {
    const struct rest *const r = (const struct rest *)data;
    for (int i = 0; i < r->argc; i++)
        if (client_call(r->argv[i]) != 0)
            exit(2);
    return NULL;
}

static struct rest last;

static void run_last(void) {
    (void)run_rest(&last);
    (void)fflush(stdout);
}

static int run_threads(int count, struct rest *rest) {
    pthread_t thread[16];
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, run_rest, rest) != 0)
            return 2;
    for (int i = 0; i < count; i++)
        (void)pthread_join(thread[i], NULL);
    return 0;
}

/* The rest in a child, which a hang ends; 0: well. busy: other threads may hold locks of the simulator. */
static int run_child(struct rest *rest, bool busy) {
    (void)fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        alarm(10);
        if (busy)
            client_is_child();
        (void)run_rest(rest);
        (void)fflush(stdout);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int run_while(const char *file, struct rest *rest) {
    char go[4096];
    pthread_t thread;
    snprintf(go, sizeof go, "%s.go", file);
    if (pthread_create(&thread, NULL, run_rest, rest) != 0)
        return 2;
    while (access(file, F_OK) != 0)
        usleep(1000);
    const int bad = run_child(rest, false);
    (void)close(open(go, O_WRONLY | O_CREAT, 0600));
    (void)pthread_join(thread, NULL);
    return bad;
}

static bool is_over;

static void *run_on(void *data) {
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        (void)run_rest(data);
    return NULL;
}

static int run_storm(int children, struct rest *rest) {
    pthread_t thread[4];
    int bad = 0;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, run_on, rest) != 0)
            return 2;
    while (children-- > 0)
        bad += run_child(rest, true);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(thread[i], NULL);
    return bad;
}

static void set_accuracy(const char *text) {
    int (*set)(const char *text);
    void *const at = dlsym(RTLD_DEFAULT, "halftone_dropin_accuracy");
    memcpy(&set, &at, sizeof set);
    if (set != NULL)
        (void)set(text);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct rest rest = {argc - i - 1, argv + i + 1};
        if (strncmp(argv[i], "threads=", 8) == 0)
            return run_threads(atoi(argv[i] + 8), &rest);
        if (strncmp(argv[i], "while=", 6) == 0)
            return run_while(argv[i] + 6, &rest);
        if (strncmp(argv[i], "storm=", 6) == 0)
            return run_storm(atoi(argv[i] + 6), &rest);
        if (strncmp(argv[i], "exit=", 5) == 0) {
            (void)fflush(stdout);
            _exit(atoi(argv[i] + 5));
        }
        if (strcmp(argv[i], "atexit") == 0) {
            last = rest;
            return atexit(run_last);
        }
        if (strncmp(argv[i], "accuracy=", 9) == 0) {
            set_accuracy(argv[i] + 9);
            continue;
        }
        if (strcmp(argv[i], "fork") == 0) {
            (void)fflush(stdout);
            const pid_t child = fork();
            int status = 0;
            if (child != 0)
                return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
            continue;
        }
        if (client_call(argv[i]) != 0)
            return 2;
    }
    return 0;
}
