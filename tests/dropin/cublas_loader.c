/* cublas_loader: a program without cuBLAS that loads objects which have it: an argument is
 *     +PATH       loads an object (RTLD_NOW | RTLD_LOCAL)     +lazy:PATH  RTLD_LAZY     +global:PATH  RTLD_GLOBAL
 *     -           unloads the last one that is loaded
 *     N:WORDS     client_call of the N-th that is loaded, from 0; before its line "MAJOR " of its cuBLAS
 *     dlsym:PATH:WORDS   loads a fake cuBLAS by itself and calls its cublasSgemm_v2 by what dlsym gives: prints the status, how many calls
 *                        were served and how many products the fake saw */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/cublas_names.h"
#include "cublas_client.h"

static void *object[16];
static int objects;

static void *find(void *in, const char *name) {
    void *const at = dlsym(in, name);
    if (at == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return at;
}

static void load(const char *path) {
    int flags = RTLD_NOW | RTLD_LOCAL;
    if (strncmp(path, "lazy:", 5) == 0)
        flags = RTLD_LAZY | RTLD_LOCAL, path += 5;
    else if (strncmp(path, "global:", 7) == 0)
        flags = RTLD_NOW | RTLD_GLOBAL, path += 7;
    object[objects] = dlopen(path, flags);
    if (object[objects++] == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
}

static void call_client(void *in, const char *words) {
    int (*major)(void), (*call)(const char *words);
    void *const at[2] = {find(in, "client_major"), find(in, "client_call")};
    memcpy(&major, &at[0], sizeof major);
    memcpy(&call, &at[1], sizeof call);
    printf("%d ", major());
    if (call(words) != 0)
        exit(2);
}

static void call_by_dlsym(const char *path) {
    int (*create)(void **handle), (*sgemm)(CUBLAS_SGEMM_ARGS(int));
    long (*calls)(void);
    void *const in = dlopen(path, RTLD_NOW | RTLD_LOCAL), *handle = NULL;
    if (in == NULL)
        exit(2);
    void *const at[3] = {find(in, "cublasCreate_v2"), find(in, "cublasSgemm_v2"), find(in, "fake_cublas_calls")};
    memcpy(&create, &at[0], sizeof create);
    memcpy(&sgemm, &at[1], sizeof sgemm);
    memcpy(&calls, &at[2], sizeof calls);
    const float one = 1, zero = 0;
    float c = 3;
    if (create(&handle) != 0)
        exit(2);
    const uint64_t served = served_so_far();
    const long original = calls();
    const int status = sgemm(handle, 0, 0, 0, 1, 1, &one, &one, 1, &one, 1, &zero, &c, 1); /* m = 0: touches no memory */
    printf("%d %llu %ld\n", status, (unsigned long long)(served_so_far() - served), calls() - original);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '+')
            load(argv[i] + 1);
        else if (strcmp(argv[i], "-") == 0)
            (void)dlclose(object[--objects]);
        else if (strncmp(argv[i], "dlsym:", 6) == 0)
            call_by_dlsym(argv[i] + 6);
        else
            call_client(object[atoi(argv[i])], strchr(argv[i], ':') + 1);
    }
    return 0;
}
