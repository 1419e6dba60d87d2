/* fake_amd.c: a librocblas with every name of the AMD face's table, or with -DHIPBLAS a libhipblas whose functions call those, as the
 * real one's do. Loops on host memory, FP32 alone; other types are counted and left alone. A handle is three ints and a stream. */
#include <stddef.h>
#include <stdint.h>

#include "../../runtime/dropin/hip_names.h"

struct handle {
    void *stream;
    int mode, math;
};

extern int fake_rocblas_calls;

#ifndef HIPBLAS
int fake_rocblas_calls;

static void loops(int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                  const float *c, int64_t ldc, float *d, int64_t ldd) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += a[ta == HIP_OP_N ? i + l * lda : l + i * lda] * b[tb == HIP_OP_N ? l + j * ldb : j + l * ldb];
            d[i + j * ldd] = alpha * sum + (beta != 0 ? beta * c[i + j * ldc] : 0);
        }
}

#define RUN(a_type, batch, sa, sb, sc, sd, d, ldd)                                                                     \
    fake_rocblas_calls++;                                                                                              \
    if (m < 0 || handle == NULL)                                                                                       \
        return 3;                                                                                                      \
    for (int64_t i = 0; a_type == HIP_TYPE_OLD_R_32F && i < batch; i++)                                                \
        loops(op_a, op_b, m, n, k, *(const float *)alpha, (const float *)a + i * sa, lda, (const float *)b + i * sb, ldb, \
              *(const float *)beta, (const float *)c + i * sc, ldc, (float *)d + i * sd, ldd);                         \
    return 0;
#define UNUSED_EX (void)b_type, (void)c_type, (void)d_type, (void)compute, (void)algo, (void)solution, (void)flags;
#define BODY_SGEMM RUN(HIP_TYPE_OLD_R_32F, 1, 0, 0, 0, 0, c, ldc)
#define BODY_SGEMM_STRIDED RUN(HIP_TYPE_OLD_R_32F, batch, stride_a, stride_b, stride_c, stride_c, c, ldc)
#define BODY_ROC_GEMM_EX UNUSED_EX RUN(a_type, 1, 0, 0, 0, 0, d, ldd)
#define BODY_ROC_GEMM_STRIDED_EX UNUSED_EX RUN(a_type, batch, stride_a, stride_b, stride_c, stride_d, d, ldd)
#define DEFINE_rocblas(name, form, S)                                                                                  \
    int name(HIP_##form(S));                                                                                           \
    int name(HIP_##form(S)) {                                                                                          \
        BODY_##form                                                                                                    \
    }
#define DEFINE_hipblas(name, form, S)
int rocblas_get_stream(struct handle *h, void **stream);
int rocblas_get_pointer_mode(struct handle *h, int *mode);
int rocblas_get_math_mode(struct handle *h, int *math);
#define GET_STREAM rocblas_get_stream
#define GET_MODE rocblas_get_pointer_mode
#define GET_MATH rocblas_get_math_mode
#else
int rocblas_sgemm_64(HIP_SGEMM(int64_t));
int rocblas_sgemm_strided_batched_64(HIP_SGEMM_STRIDED(int64_t));
int rocblas_gemm_ex_64(HIP_ROC_GEMM_EX(int64_t));
int rocblas_gemm_strided_batched_ex_64(HIP_ROC_GEMM_STRIDED_EX(int64_t));
#define ROC_TYPE(t) ((t) == HIP_TYPE_R_32F ? HIP_TYPE_OLD_R_32F : (t))
#define BODY_SGEMM return rocblas_sgemm_64(HIP_SGEMM_PASS(int64_t));
#define BODY_SGEMM_STRIDED return rocblas_sgemm_strided_batched_64(HIP_SGEMM_STRIDED_PASS(int64_t));
#define BODY_GEMM_EX                                                                                                   \
    return rocblas_gemm_ex_64(handle, op_a, op_b, m, n, k, alpha, a, ROC_TYPE(a_type), lda, b, b_type, ldb, beta, c, c_type, ldc, c, c_type, ldc, \
                              compute, algo, 0, 0);
#define BODY_GEMM_STRIDED_EX                                                                                           \
    return rocblas_gemm_strided_batched_ex_64(handle, op_a, op_b, m, n, k, alpha, a, ROC_TYPE(a_type), lda, stride_a, b, b_type, ldb, stride_b, beta, \
                                              c, c_type, ldc, stride_c, c, c_type, ldc, stride_c, batch, compute, algo, 0, 0);
#define DEFINE_hipblas(name, form, S)                                                                                  \
    int name(HIP_##form(S));                                                                                           \
    int name(HIP_##form(S)) {                                                                                          \
        BODY_##form                                                                                                    \
    }
#define DEFINE_rocblas(name, form, S)
int hipblasGetStream(struct handle *h, void **stream);
int hipblasGetPointerMode(struct handle *h, int *mode);
int hipblasGetMathMode(struct handle *h, int *math);
#define GET_STREAM hipblasGetStream
#define GET_MODE hipblasGetPointerMode
#define GET_MATH hipblasGetMathMode
#endif

#define DEFINE(X, name, library, form, S) DEFINE_##library(name, form, S)
HIP_BLAS_NAMES(DEFINE, )

int GET_STREAM(struct handle *h, void **stream) {
    *stream = h->stream;
    return 0;
}
int GET_MODE(struct handle *h, int *mode) {
    *mode = h->mode;
    return 0;
}
int GET_MATH(struct handle *h, int *math) {
    *math = h->math;
    return 0;
}
