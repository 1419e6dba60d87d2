/* ht_api.c: the products of halftone.h, of either type, and what frees all that they left. */
#include "ht_call.h"

/* x has sizes, transposes and batch. */
static int multiply(halftone *h, bool is_fp64, struct gemm_call x, const void *alpha, const void *a, int64_t lda, int64_t stride_a,
                    const void *b, int64_t ldb, int64_t stride_b, const void *beta, void *c, int64_t ldc, int64_t stride_c) {
    const int code = ht_begin_product(h);
    if (code != HALFTONE_OK)
        return code;
    x.is_fp64 = is_fp64;
    x.alpha = alpha;
    x.a = a;
    x.lda = lda;
    x.stride_a = stride_a;
    x.b = b;
    x.ldb = ldb;
    x.stride_b = stride_b;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.stride_c = stride_c;
    return ht_run_gemm(h, &x, false);
}

int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *alpha,
                                   const float *a, int64_t lda, int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch) {
    return multiply(handle, false, gemm_call_of(transa, transb, m, n, k, batch), alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                    stride_c);
}

int halftone_dgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *alpha,
                                   const double *a, int64_t lda, int64_t stride_a, const double *b, int64_t ldb, int64_t stride_b,
                                   const double *beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch) {
    return multiply(handle, true, gemm_call_of(transa, transb, m, n, k, batch), alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                    stride_c);
}

int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *alpha, const float *a,
                   int64_t lda, const float *b, int64_t ldb, const float *beta, float *c, int64_t ldc) {
    return multiply(handle, false, gemm_call_of(transa, transb, m, n, k, 1), alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0);
}

int halftone_dgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const double *alpha, const double *a,
                   int64_t lda, const double *b, int64_t ldb, const double *beta, double *c, int64_t ldc) {
    return multiply(handle, true, gemm_call_of(transa, transb, m, n, k, 1), alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0);
}

static int multiply_packed(halftone *h, bool is_fp64, struct gemm_call x, const void *alpha, const void *packed_a, const void *packed_b,
                           const void *beta, void *c, int64_t ldc) {
    const int code = ht_begin_product(h);
    if (code != HALFTONE_OK)
        return code;
    x.is_fp64 = is_fp64;
    x.alpha = alpha;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.packed_a = (const char *)packed_a;
    x.packed_b = (const char *)packed_b;
    return ht_run_gemm(h, &x, true);
}

int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha, const void *packed_a,
                          const void *packed_b, const float *beta, float *c, int64_t ldc) {
    return multiply_packed(handle, false, gemm_call_of('N', 'N', m, n, k, 1), alpha, packed_a, packed_b, beta, c, ldc);
}

int halftone_dgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const double *alpha, const void *packed_a,
                          const void *packed_b, const double *beta, double *c, int64_t ldc) {
    return multiply_packed(handle, true, gemm_call_of('N', 'N', m, n, k, 1), alpha, packed_a, packed_b, beta, c, ldc);
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
