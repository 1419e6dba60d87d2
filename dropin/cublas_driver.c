/* cublas_driver.c: the driver, which a process that uses cuBLAS has loaded: asked for by name, never loaded here. */
#include <dlfcn.h>
#include <string.h>

#include "cublas_face.h"

typedef int get_device(int *device);
typedef int is_capturing(void *stream, int *status);

static void *of_driver(const char *name) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    void *const driver = dropin_loaded(names); /* kept: programs do not unload it */
    return driver != NULL ? dlsym(driver, name) : NULL;
}

int cublas_device(void) {
    static get_device *function; /* equal words, whichever thread writes them */
    get_device *f = __atomic_load_n(&function, __ATOMIC_RELAXED);
    int device = 0;
    if (f == NULL) {
        void *const found = of_driver("cuCtxGetDevice");
        memcpy(&f, &found, sizeof f);
        __atomic_store_n(&function, f, __ATOMIC_RELAXED);
    }
    return f != NULL && f(&device) == 0 ? device : 0;
}

/* Asked for once per device, before its first handle is made. */
bool cublas_is_capturing(void *stream) {
    is_capturing *f;
    int status = 0;
    void *const found = of_driver("cuStreamIsCapturing");
    memcpy(&f, &found, sizeof f);
    return f != NULL && (f(stream, &status) != 0 || status != 0);
}
