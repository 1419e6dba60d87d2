/* cublas_driver.c: the driver, which a process that uses cuBLAS has loaded: asked for by name, never loaded here. */
#include <dlfcn.h>
#include <string.h>

#include "cublas_face.h"

typedef int get_device(int *device);
typedef int get_context(void **context);
typedef int is_capturing(void *stream, int *status);

static void *of_driver(const char *name) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    void *const driver = dropin_loaded(names); /* kept: programs do not unload it */
    return driver != NULL ? dropin_dlsym(driver, name) : NULL;
}

/* Asked for in every call, so looked up once; equal words, whichever thread writes them. */
static get_device *find_get_device(void) {
    static get_device *function;
    get_device *f = __atomic_load_n(&function, __ATOMIC_RELAXED);
    if (f == NULL) {
        void *const found = of_driver("cuCtxGetDevice");
        memcpy(&f, &found, sizeof f);
        __atomic_store_n(&function, f, __ATOMIC_RELAXED);
    }
    return f;
}

static get_context *find_get_context(void) {
    static get_context *function;
    get_context *f = __atomic_load_n(&function, __ATOMIC_RELAXED);
    if (f == NULL) {
        void *const found = of_driver("cuCtxGetCurrent");
        memcpy(&f, &found, sizeof f);
        __atomic_store_n(&function, f, __ATOMIC_RELAXED);
    }
    return f;
}

int cublas_device(void) {
    static void *first[DROPIN_DEVICES];
    get_device *const device_of = find_get_device();
    get_context *const context_of = find_get_context();
    int device = 0;
    void *context = NULL, *none = NULL;
    if (device_of == NULL || context_of == NULL || device_of(&device) != 0 || context_of(&context) != 0)
        return 0;
    if (device < 0 || device >= DROPIN_DEVICES ||
        (!__atomic_compare_exchange_n(&first[device], &none, context, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED) &&
         none != context))
        return -1;
    return device;
}

/* Asked for once per device, before its first handle is made. */
bool cublas_is_capturing(void *stream) {
    is_capturing *f;
    int status = 0;
    void *const found = of_driver("cuStreamIsCapturing");
    memcpy(&f, &found, sizeof f);
    return f != NULL && (f(stream, &status) != 0 || status != 0);
}

/* ---- memory; an absent driver does nothing ---- */

/* CUDA_MEMCPY2D; kind 2: device memory. */
struct copy_2d {
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    unsigned long long from;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_kind;
    void *to_host;
    unsigned long long to;
    void *to_array;
    size_t to_pitch, width, rows;
};

typedef int copy_2d(const struct copy_2d *copy, void *stream);
typedef int set_words(unsigned long long memory, unsigned value, size_t words, void *stream);
typedef int allocate(unsigned long long *memory, size_t bytes, void *stream);
typedef int give_back(unsigned long long memory, void *stream);

bool cublas_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t rows, void *stream) {
    copy_2d *f;
    void *const found = of_driver("cuMemcpy2DAsync_v2");
    const struct copy_2d copy = {.from_kind = 2,
                                 .from = (uintptr_t)from,
                                 .from_pitch = from_pitch,
                                 .to_kind = 2,
                                 .to = (uintptr_t)to,
                                 .to_pitch = to_pitch,
                                 .width = width,
                                 .rows = rows};
    memcpy(&f, &found, sizeof f);
    return f != NULL && f(&copy, stream) == 0;
}

bool cublas_clear(void *memory, size_t floats, void *stream) {
    set_words *f;
    void *const found = of_driver("cuMemsetD32Async");
    memcpy(&f, &found, sizeof f);
    return f != NULL && f((uintptr_t)memory, 0, floats, stream) == 0;
}

void *cublas_allocate(size_t bytes, void *stream) {
    allocate *f;
    unsigned long long memory = 0;
    void *const found = of_driver("cuMemAllocAsync");
    memcpy(&f, &found, sizeof f);
    return f != NULL && f(&memory, bytes, stream) == 0 ? (void *)(uintptr_t)memory : NULL;
}

void cublas_free(void *memory, void *stream) {
    give_back *f;
    void *const found = of_driver("cuMemFreeAsync");
    memcpy(&f, &found, sizeof f);
    if (f != NULL && memory != NULL)
        (void)f((uintptr_t)memory, stream);
}
