/* cublas_main: a program that is linked to a fake libcublas. Each argument is a call's words; others:
 *     threads=T   the rest in T threads at once, each on its own, their lines behind one another
 *     fork        the rest in a child, which is waited for
 *     exit=CODE   ends at once by _exit
 *     atexit      the rest when main has returned
 *     accuracy=X  of this thread, from here on */
#include <dlfcn.h>
#include <pthread.h>
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
