/* blas_original.c: the BLAS behind the face. */
#include <dlfcn.h>
#include <stdlib.h>

#include "blas_call.h"

/* Where a call comes from no object (ctypes), or from one that leaves its BLAS to the program. */
static const char known[] = "libblas.so.3\0libopenblas.so.0\0libopenblas.so\0libcblas.so.3\0libmkl_rt.so.2\0libmkl_rt.so.1\0libblis.so.4\0libflexiblas.so.3\0";

/* HALFTONE_BLAS_CPU's. Threads that come before the first is done open it each: the dynamic linker makes them wait. */
static void *open_named(void) {
    static void *named;
    static bool is_open, said;
    const char *const path = getenv("HALFTONE_BLAS_CPU");
    if (path == NULL || path[0] == '\0' || __atomic_load_n(&is_open, __ATOMIC_ACQUIRE))
        return named;
    void *const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened != NULL)
        named = opened;
    else if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        dropin_say("HALFTONE_BLAS_CPU: %.400s", dlerror());
    __atomic_store_n(&is_open, true, __ATOMIC_RELEASE);
    return opened;
}

static void *find(const struct blas_call *x, const char *name) {
    struct dropin_caller caller;
    void *found = NULL;
    if (dropin_find_caller(x->caller, &caller))
        found = dropin_next_symbol(&caller, name, x->own);
    if (found == NULL)
        found = dlsym(RTLD_NEXT, name);
    for (const char *at = known; found == NULL && at[0] != '\0'; at = dropin_text_at(at, 1)) {
        void *const object = dlopen(at, RTLD_LAZY | RTLD_NOLOAD);
        found = object != NULL ? dlsym(object, name) : NULL;
        if (object != NULL)
            (void)dlclose(object);
    }
    if (found == NULL) {
        void *const named = open_named();
        found = named != NULL ? dlsym(named, name) : NULL;
    }
    return found != x->own ? found : NULL;
}

void *blas_original(const struct blas_call *x, const char *name) {
    struct dropin_found *const found = dropin_recall(x->caller, name);
    if (found->what == NULL)
        found->what = find(x, name);
    return (void *)(uintptr_t)found->what;
}
