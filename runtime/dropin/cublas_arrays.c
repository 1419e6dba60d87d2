/* cublas_arrays.c: batches as arrays of pointers, which lie on the device: they are read, which waits for the stream. Matrices
 * that lie evenly apart (a broadcast product of CuPy) are one batch by strides; else each is a product of its own. */
#include <stdlib.h>

#include "cublas_face.h"

/* Of uneven ones; each must be worth a call. */
enum { UNEVEN_MOST = 64, EVEN_MOST = 1 << 16 };
static const double LEAST_OF_UNEVEN = 128.0 * 128.0 * 128.0;

/* Bytes from each matrix to the next; -1: uneven, or not whole elements of `size` bytes. */
static int64_t even_distance(const uintptr_t *at, int64_t batch, size_t size) {
    const int64_t distance = batch > 1 ? (int64_t)(at[1] - at[0]) : 0;
    for (int64_t i = 2; i < batch; i++)
        if ((int64_t)(at[i] - at[i - 1]) != distance)
            return -1;
    return distance >= 0 && distance % (int64_t)size == 0 ? distance : -1;
}

static int run_even(const struct cublas_run *run, const struct cublas_gemm *g, const uintptr_t *at, size_t size) {
    struct cublas_gemm strided = *g;
    const int64_t n = g->batch, whole = (int64_t)size;
    strided.a = (const void *)at[0];
    strided.b = (const void *)at[n];
    strided.c = (void *)at[2 * n];
    strided.stride_a = even_distance(at, n, size) / whole;
    strided.stride_b = even_distance(at + n, n, size) / whole;
    strided.stride_c = even_distance(at + 2 * n, n, size) / whole;
    const int code = cublas_run_prepared(run, &strided);
    *g->done = code == HALFTONE_OK ? n : 0;
    return code;
}

static int run_one_by_one(const struct cublas_run *run, const struct cublas_gemm *g, const uintptr_t *at) {
    int64_t *const done = g->done;
    struct cublas_gemm one = *g;
    int code = HALFTONE_OK;
    one.batch = 1;
    for (*done = 0; *done < g->batch; ++*done) {
        one.a = (const void *)at[*done];
        one.b = (const void *)at[g->batch + *done];
        one.c = (void *)at[2 * g->batch + *done];
        code = cublas_run_prepared(run, &one);
        if (code != HALFTONE_OK)
            break;
    }
    return code;
}

static bool read_arrays(uintptr_t *to, const struct cublas_gemm *g, void *stream) {
    const size_t bytes = (size_t)g->batch * sizeof *to;
    const void *const from[3] = {g->a, g->b, g->c};
    bool good = true;
    for (int i = 0; good && i < 3; i++)
        good = from[i] != NULL && cublas_read(to + i * g->batch, from[i], bytes, stream);
    return good && cublas_wait(stream);
}

enum dropin_reason cublas_run_arrays(const struct cublas_run *run, const struct cublas_gemm *g, int *code) {
    const size_t size = cublas_element_bytes(run->call->kind);
    const double work = (double)g->m * (double)g->n * (double)g->k;
    enum dropin_reason why = DROPIN_SERVED;
    if (g->batch < 1 || g->batch > EVEN_MOST)
        return DROPIN_NO_FORM;
    if (cublas_is_capturing(run->setting->stream))
        return DROPIN_CAPTURE;
    uintptr_t *const at = (uintptr_t *)malloc((size_t)g->batch * 3 * sizeof *at);
    if (at == NULL || !read_arrays(at, g, run->setting->stream))
        why = DROPIN_NO_DRIVER;
    else if (even_distance(at, g->batch, size) >= 0 && even_distance(at + g->batch, g->batch, size) >= 0 &&
             even_distance(at + 2 * g->batch, g->batch, size) >= (g->batch > 1))
        *code = run_even(run, g, at, size);
    else if (g->batch <= UNEVEN_MOST && (dropin_settings()->eager || work >= LEAST_OF_UNEVEN))
        *code = run_one_by_one(run, g, at);
    else
        why = DROPIN_NO_FORM;
    free(at);
    return why;
}
