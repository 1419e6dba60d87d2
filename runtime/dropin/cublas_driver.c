/* cublas_driver.c: the driver, which a process that uses cuBLAS has loaded: asked for by name, never loaded here. */
#include <dlfcn.h>
#include <string.h>

#include "cublas_face.h"

typedef int get_device(int *device);
typedef int get_context(void **context);
typedef int is_capturing(void *stream, int *status);
struct copy_2d;
typedef int copy_2d(const struct copy_2d *copy, void *stream);
typedef int set_words(unsigned long long memory, unsigned value, size_t words, void *stream);
typedef int allocate(unsigned long long *memory, size_t bytes, void *stream);
typedef int read_memory(void *to, unsigned long long from, size_t bytes, void *stream);
typedef int wait_for(void *stream);
typedef int give_back(unsigned long long memory, void *stream);

/* What is asked of it; X(name). */
#define DRIVER_FUNCTIONS(X)                                                                                  \
    X(cuCtxGetDevice) X(cuCtxGetCurrent) X(cuStreamIsCapturing) X(cuMemcpy2DAsync_v2) X(cuMemsetD32Async)    \
    X(cuMemAllocAsync) X(cuMemFreeAsync) X(cuMemcpyDtoHAsync_v2) X(cuStreamSynchronize)
#define NUMBER(name) DRIVER_##name,
enum driver_function { DRIVER_FUNCTIONS(NUMBER) DRIVER_COUNT };

/* Looked up once; equal words, whichever thread writes them. A driver that is not loaded may be loaded later. */
static void (*of_driver(enum driver_function function))(void) {
#define NAME(name) #name "\0"
    static const char names[] = DRIVER_FUNCTIONS(NAME);
    static void *known[DRIVER_COUNT];
    void *found = __atomic_load_n(&known[function], __ATOMIC_RELAXED);
    if (found == NULL) {
        void *const driver = dropin_loaded("libcuda.so.1\0"); /* kept: programs do not unload it */
        found = driver != NULL ? dropin_dlsym(driver, dropin_text_at(names, (int)function)) : NULL;
        __atomic_store_n(&known[function], found, __ATOMIC_RELAXED);
    }
    void (*as)(void);
    memcpy(&as, &found, sizeof found);
    return as;
}

/* The function as its type, or NULL. */
#define DRIVER(type, name) ((type *)of_driver(DRIVER_##name))

int cublas_device(void) {
    static void *first[DROPIN_DEVICES];
    get_device *const device_of = DRIVER(get_device, cuCtxGetDevice);
    get_context *const context_of = DRIVER(get_context, cuCtxGetCurrent);
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
    is_capturing *const f = DRIVER(is_capturing, cuStreamIsCapturing);
    int status = 0;
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

bool cublas_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t rows, void *stream) {
    copy_2d *const f = DRIVER(copy_2d, cuMemcpy2DAsync_v2);
    const struct copy_2d copy = {.from_kind = 2,
                                 .from = (uintptr_t)from,
                                 .from_pitch = from_pitch,
                                 .to_kind = 2,
                                 .to = (uintptr_t)to,
                                 .to_pitch = to_pitch,
                                 .width = width,
                                 .rows = rows};
    return f != NULL && f(&copy, stream) == 0;
}

bool cublas_fill(void *memory, float number, size_t floats, void *stream) {
    unsigned bits;
    memcpy(&bits, &number, sizeof bits);
    set_words *const f = DRIVER(set_words, cuMemsetD32Async);
    return f != NULL && f((uintptr_t)memory, bits, floats, stream) == 0;
}

void *cublas_allocate(size_t bytes, void *stream) {
    allocate *const f = DRIVER(allocate, cuMemAllocAsync);
    unsigned long long memory = 0;
    return f != NULL && f(&memory, bytes, stream) == 0 ? (void *)(uintptr_t)memory : NULL;
}

void cublas_free(void *memory, void *stream) {
    give_back *const f = DRIVER(give_back, cuMemFreeAsync);
    if (f != NULL && memory != NULL)
        (void)f((uintptr_t)memory, stream);
}

bool cublas_read(void *to, const void *from, size_t bytes, void *stream) {
    read_memory *const f = DRIVER(read_memory, cuMemcpyDtoHAsync_v2);
    return f != NULL && f(to, (uintptr_t)from, bytes, stream) == 0;
}

bool cublas_wait(void *stream) {
    wait_for *const f = DRIVER(wait_for, cuStreamSynchronize);
    return f != NULL && f(stream) == 0;
}
