/* blas_original.c: the BLAS behind the face. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "blas_call.h"

/* Where a call comes from no object (ctypes), or from one that leaves its BLAS to the program. */
static const char known[] = "libblas.so.3\0libopenblas.so.0\0libopenblas.so\0libcblas.so.3\0libmkl_rt.so.2\0libmkl_rt.so.1\0libblis.so.4\0libflexiblas.so.3\0";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *named; /* of HALFTONE_BLAS_CPU */

static void open_named(void) {
    const char *const path = getenv("HALFTONE_BLAS_CPU");
    if (path == NULL || path[0] == '\0')
        return;
    named = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (named == NULL)
        dropin_say("HALFTONE_BLAS_CPU: %.400s", dlerror());
}

void *blas_original(const struct blas_call *x, const char *name) {
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
        (void)pthread_once(&once, open_named);
        found = named != NULL ? dlsym(named, name) : NULL;
    }
    return found != x->own ? found : NULL;
}
