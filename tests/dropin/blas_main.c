/* blas_main.c: blas_client as a program, linked to a BLAS or loaded: blas_main [--load CLIENT.so] WORDS. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef LINKED
int client(int argc, char **argv);
#endif

int main(int argc, char **argv) {
#ifdef LINKED
    return client(argc, argv);
#else
    void *const object = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    union {
        void *symbol;
        int (*call)(int, char **);
    } client = {object != NULL ? dlsym(object, "client") : NULL};
    if (client.symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    return client.call(argc - 1, argv + 1);
#endif
}
