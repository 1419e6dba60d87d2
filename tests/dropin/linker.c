/* linker.c: objects and programs for tests of fork() and the dynamic linker, one of them by -D:
 *     SLOW_LIBRARY    libhalftone.so that can be caught at the moment: HOLD=load holds in its constructor, HOLD=create in its first halftone_create.
 *                     Either makes the file HOLD_FILE, then waits for the file HOLD_FILE.go, or 5 s. HOLD=linker: the first halftone_create waits for
 *                     HOLD_FILE.go and then comes to the dynamic linker. All else is the library's that this is linked to.
 *     SLOW_OBJECTS    dl_iterate_phdr that takes 20 ms, preloaded: so a fork() meets a thread in it
 *     FIRST, LAST     two objects with one function each of the same name; the first adds 1 to what RTLD_NEXT finds from its place
 *     PLUGIN          multiplies while it is loaded: a thread of its constructor's, and the constructor itself, which the dynamic linker runs with its
 *                     own lock held; BLAS, too: by that
 *     CALLS="NAME"    a program that loads the object named first and gives the words behind to this function of it
 *     LOCKS           a thread holds every lock of a face, the process divides, and the child takes each of them. Ends with 0 where it could. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(SLOW_LIBRARY)
struct halftone;
int halftone_create(struct halftone **h);

static bool is_asked(const char *where) {
    const char *const hold = getenv("HOLD");
    return hold != NULL && strcmp(hold, where) == 0;
}

static void hold(void) {
    char go[4096];
    const int file = open(getenv("HOLD_FILE"), O_WRONLY | O_CREAT, 0600);
    (void)close(file);
    snprintf(go, sizeof go, "%s.go", getenv("HOLD_FILE"));
    for (int i = 0; i < 500 && access(go, F_OK) != 0; i++)
        usleep(10000);
}

__attribute__((constructor)) static void loads(void) {
    if (is_asked("load"))
        hold();
}

int halftone_create(struct halftone **h) {
    static bool was_here;
    union {
        void *symbol;
        int (*call)(struct halftone **h);
    } real = {dlsym(RTLD_NEXT, "halftone_create")};
    const bool is_first = !__atomic_exchange_n(&was_here, true, __ATOMIC_RELAXED);
    if (is_first && (is_asked("create") || is_asked("linker")))
        hold();
    if (is_first && is_asked("linker"))
        (void)dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
    return real.call(h);
}

#elif defined(SLOW_OBJECTS)
typedef int each_object(struct dl_phdr_info *object, size_t size, void *data);

struct walk {
    each_object *look;
    void *data;
    int objects;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    struct walk *const w = (struct walk *)data;
    if (w->objects++ == 0)
        usleep(20000);
    return w->look(object, size, w->data);
}

int dl_iterate_phdr(each_object *callback, void *data) {
    union {
        void *symbol;
        int (*call)(each_object *callback, void *data);
    } real = {dlsym(RTLD_NEXT, "dl_iterate_phdr")};
    struct walk w = {callback, data, 0};
    return real.call(look, &w);
}

#elif defined(FIRST) || defined(LAST)
int counted(void);

int counted(void) {
#ifdef LAST
    return 10;
#else
    union {
        void *symbol;
        int (*call)(void);
    } next = {dlsym(RTLD_NEXT, "counted")};
    return next.symbol != NULL ? next.call() + 1 : -1;
#endif
}

#elif defined(PLUGIN)
#ifdef BLAS
int client(int argc, char **argv);
static void client_begin(void) {
}
static void multiply(void) {
    char name[] = "client", what[] = "sgemm_";
    char *words[] = {name, what, NULL};
    (void)client(2, words);
}
#else
#include "cublas_client.h"
static void multiply(void) {
    (void)client_call("api=Sgemm_v2");
}
#endif

static pthread_t thread;

static void *run(void *data) {
    multiply();
    return data;
}

__attribute__((constructor)) static void loads(void) {
    client_begin();
    (void)pthread_create(&thread, NULL, run, NULL);
    usleep(300000);
    multiply();
}

int plugin_ends(int argc, char **argv);
int plugin_ends(int argc, char **argv) {
    return argc > 0 && argv != NULL ? pthread_join(thread, NULL) : 1;
}

#elif defined(CALLS)
int main(int argc, char **argv) {
    void *const object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    union {
        void *symbol;
        int (*call)(int, char **);
    } found = {object != NULL ? dlsym(object, CALLS) : NULL};
    if (found.symbol == NULL)
        return fprintf(stderr, "%s\n", dlerror()) > 0 ? 2 : 3;
    return found.call(argc - 1, argv + 1);
}

#elif defined(LOCKS)
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
#endif
