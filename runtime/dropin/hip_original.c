/* hip_original.c: what a caller would have called without the AMD face, and the HIP runtime, which the process has loaded. */
#include <dlfcn.h>
#include <string.h>

#include "hip_face.h"

/* A caller that is linked to neither: it has looked the function up. */
static void *find_loaded(enum hip_library library, const char *name, const void *own) {
    static const char *const names[] = {"libhipblas.so.3\0libhipblas.so.2\0libhipblas.so.1\0libhipblas.so.0\0libhipblas.so\0",
                                        "librocblas.so.5\0librocblas.so.4\0librocblas.so.3\0librocblas.so.0\0librocblas.so\0"};
    void *const object = dropin_loaded(names[library]);
    void *const found = object != NULL ? dlsym(object, name) : NULL;
    if (object != NULL)
        (void)dlclose(object);
    return found != own ? found : NULL;
}

static void *find(enum hip_library library, const void *address, const char *name, const void *own, bool *nested) {
    struct dropin_caller caller;
    void *found = NULL;
    const bool known = dropin_find_caller(address, &caller);
    const char *const base = known ? dropin_base_name(caller.path) : "";
    *nested = strncmp(base, "libhipblas", 10) == 0 || strncmp(base, "librocblas", 10) == 0;
    if (known)
        found = dropin_next_symbol(&caller, name, own);
    return found != NULL ? found : find_loaded(library, name, own);
}

void *hip_original(enum hip_library library, const void *caller, const char *name, const void *own, bool *nested) {
    struct dropin_found *const found = dropin_recall(caller, name);
    if (found->what == NULL)
        found->what = find(library, caller, name, own, &found->nested);
    *nested = found->nested;
    return (void *)(uintptr_t)found->what;
}

/* ---- the runtime: what cublas_product.c asks of a driver ---- */

typedef int get_device(int *device);
typedef int is_capturing(void *stream, int *status);

static void *of_runtime(const char *name) {
    void *const runtime = dropin_loaded("libamdhip64.so.7\0libamdhip64.so.6\0libamdhip64.so.5\0libamdhip64.so\0"); /* kept: programs do not unload it */
    return runtime != NULL ? dlsym(runtime, name) : NULL;
}

int cublas_device(void) {
    get_device *f;
    int device = 0;
    void *const found = of_runtime("hipGetDevice");
    memcpy(&f, &found, sizeof f);
    return f != NULL && f(&device) == 0 ? device : 0;
}

bool cublas_is_capturing(void *stream) {
    is_capturing *f;
    int status = 0;
    void *const found = of_runtime("hipStreamIsCapturing");
    memcpy(&f, &found, sizeof f);
    return f != NULL && (f(stream, &status) != 0 || status != 0);
}
