/* racing_plugin.c: a plugin that multiplies while it is loaded: a thread of its constructor's, and the constructor itself, which the dynamic linker
 * runs with its own lock held. As a program (-DMAIN) it loads the plugin that is named. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#ifdef MAIN
int main(int argc, char **argv) {
    void *const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    union {
        void *symbol;
        void (*call)(void);
    } ends = {plugin != NULL ? dlsym(plugin, "racing_plugin_ends") : NULL};
    if (ends.symbol == NULL)
        return fprintf(stderr, "%s\n", dlerror()) > 0 ? 2 : 3;
    ends.call();
    return 0;
}
#else

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

void racing_plugin_ends(void);
void racing_plugin_ends(void) {
    (void)pthread_join(thread, NULL);
}
#endif
