/* fake_driver: stands for libcuda.so.1: one device, whose memory is the host's; work is done at once. FAKE_CAPTURING=1: every stream
 * is being captured; FAKE_CONTEXTS=1: each question for the context has another answer. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int cuCtxGetDevice(int *device);
int cuCtxGetCurrent(void **context);
int cuStreamIsCapturing(void *stream, int *status);
int cuMemsetD32Async(unsigned long long memory, unsigned value, size_t words, void *stream);
int cuMemAllocAsync(unsigned long long *memory, size_t bytes, void *stream);
int cuMemFreeAsync(unsigned long long memory, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream);
int cuStreamSynchronize(void *stream);

struct copy { /* CUDA_MEMCPY2D */
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    unsigned long long src_device;
    void *src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    unsigned long long dst_device;
    void *dst_array;
    size_t dst_pitch, width, height;
};
int cuMemcpy2DAsync_v2(const struct copy *copy, void *stream);

int cuCtxGetDevice(int *device) {
    *device = 0;
    return 0;
}

int cuCtxGetCurrent(void **context) {
    static char contexts[1000];
    static int asked;
    *context = &contexts[getenv("FAKE_CONTEXTS") != NULL ? ++asked % 1000 : 0];
    return 0;
}

int cuStreamIsCapturing(void *stream, int *status) {
    const char *const text = getenv("FAKE_CAPTURING");
    (void)stream;
    *status = text != NULL && text[0] == '1';
    return 0;
}

int cuMemsetD32Async(unsigned long long memory, unsigned value, size_t words, void *stream) {
    (void)stream;
    for (size_t i = 0; i < words; i++)
        ((unsigned *)memory)[i] = value;
    return 0;
}

int cuMemcpy2DAsync_v2(const struct copy *c, void *stream) {
    (void)stream;
    if (c->src_type != 2 || c->dst_type != 2 || c->width > c->src_pitch || c->width > c->dst_pitch || c->src_x + c->src_y + c->dst_x + c->dst_y > 0)
        return 1;
    for (size_t i = 0; i < c->height; i++)
        memmove((char *)c->dst_device + i * c->dst_pitch, (const char *)c->src_device + i * c->src_pitch, c->width);
    return 0;
}

/* The faces' library plays the device, and must know its memory: a function of it. */
static int tell(const char *name, void *memory, size_t bytes) {
    const char *const path = getenv("HALFTONE_LIBRARY");
    void *const simulator = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *const at = simulator != NULL ? dlsym(simulator, name) : NULL;
    int (*function)(void *memory, size_t bytes);
    memcpy(&function, &at, sizeof function);
    return at != NULL ? function(memory, bytes) : 0;
}

int cuMemAllocAsync(unsigned long long *memory, size_t bytes, void *stream) {
    (void)stream;
    void *const made = getenv("FAKE_NO_MEMORY") == NULL ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
    if (made != NULL) {
        memset(made, 0xff, bytes); /* NaN */
        (void)tell("ht_sim_register", made, bytes);
    }
    *memory = (unsigned long long)made;
    return made == NULL;
}

int cuMemFreeAsync(unsigned long long memory, void *stream) {
    (void)stream;
    (void)tell("ht_sim_unregister", (void *)memory, 0);
    free((void *)memory);
    return 0;
}

/* What is read is there when the stream was waited for. */
static void *reads_to[8];
static unsigned long long reads_from[8];
static size_t reads_bytes[8];
static int reads;

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
    (void)stream;
    if (reads == 8)
        return 1;
    reads_to[reads] = to;
    reads_from[reads] = from;
    reads_bytes[reads++] = bytes;
    return 0;
}

int cuStreamSynchronize(void *stream) {
    (void)stream;
    while (reads > 0) {
        reads--;
        memcpy(reads_to[reads], (const void *)reads_from[reads], reads_bytes[reads]);
    }
    return 0;
}
