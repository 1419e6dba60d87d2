/* ht_api.c: the products of halftone.h, of either type, and what frees all that they left. */
#include "ht_call.h"

/* All but h and c's scalars, operands and C is there. */
static int multiply_of(halftone *h, struct call c, const void *alpha, const void *beta, void *result,
                       int64_t ldc, int64_t stride_c) {
    const int code = ht_begin(h);
    if (code != HALFTONE_OK)
        return code;
    c.alpha = alpha;
    c.beta = beta;
    c.c = result;
    c.ldc = ldc;
    c.stride_c = stride_c;
    return ht_run_gemm(&c);
}

static struct call packed_of(halftone *h, bool is_fp64, int64_t m, int64_t n, int64_t k, const void *a,
                             const void *b) {
    struct call c = call_of(h, is_fp64, 'N', 'N', m, n, k, 1);
    c.is_packed = true;
    c.of[0].packed = (const char *)a;
    c.of[1].packed = (const char *)b;
    return c;
}

int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
    const struct call sizes = call_of(handle, false, transa, transb, m, n, k, batch);
    return multiply_of(handle, with_operands(sizes, a, lda, stride_a, b, ldb, stride_b), alpha, beta, c, ldc,
                       stride_c);
}

int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *beta, float *c, int64_t ldc) {
    const struct call sizes = call_of(handle, false, transa, transb, m, n, k, 1);
    return multiply_of(handle, with_operands(sizes, a, lda, 0, b, ldb, 0), alpha, beta, c, ldc, 0);
}

int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha,
                          const void *packed_a, const void *packed_b, const float *beta, float *c,
                          int64_t ldc) {
    return multiply_of(handle, packed_of(handle, false, m, n, k, packed_a, packed_b), alpha, beta, c, ldc, 0);
}

int halftone_dgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const double *alpha, const double *a, int64_t lda,
                                   int64_t stride_a, const double *b, int64_t ldb, int64_t stride_b,
                                   const double *beta, double *c, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
    const struct call sizes = call_of(handle, true, transa, transb, m, n, k, batch);
    return multiply_of(handle, with_operands(sizes, a, lda, stride_a, b, ldb, stride_b), alpha, beta, c, ldc,
                       stride_c);
}

int halftone_dgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const double *alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                   const double *beta, double *c, int64_t ldc) {
    const struct call sizes = call_of(handle, true, transa, transb, m, n, k, 1);
    return multiply_of(handle, with_operands(sizes, a, lda, 0, b, ldb, 0), alpha, beta, c, ldc, 0);
}

int halftone_dgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const double *alpha,
                          const void *packed_a, const void *packed_b, const double *beta, double *c,
                          int64_t ldc) {
    return multiply_of(handle, packed_of(handle, true, m, n, k, packed_a, packed_b), alpha, beta, c, ldc, 0);
}

/* ---- memory ---- */

int halftone_trim(halftone *handle) {
    int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    code = ht_ask_capture(handle);
    if (code == HALFTONE_OK && handle->capture != CAPTURE_NONE)
        return ht_fail(handle, HALFTONE_NOT_SUPPORTED,
                       "the stream is being captured: nothing can be freed now");
    if (code == HALFTONE_OK)
        code = ht_free_memory(handle);
    if (code == HALFTONE_OK && handle->close_host != NULL)
        handle->close_host(handle);
    if (code == HALFTONE_OK)
        ht_forget_packed32(handle);
    if (code == HALFTONE_OK && handle->pool != NULL)
        code = ht_fail_device(handle, ht_dev_pool_trim(handle->pool));
    return code;
}
