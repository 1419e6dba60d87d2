/* baseline_cublas: cuBLAS through dlopen. See baseline_cublas.h. Prototypes and numbers: cuBLAS' documentation
 * ("cublasGemmEx", "cublasMath_t", "cublasComputeType_t") and CUDA's ("cudaDataType_t"). */
#include "measure/baseline_cublas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/ht_dev.h"

/* What cuBLAS advises for Hopper ("cublasSetWorkspace"); other GPUs need less. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

enum {
    OP_N = 0,
    OP_T = 1,
    MATH_DEFAULT = 0,
    MATH_TF32 = 3,
    MATH_BF16X9 = 4,
    R_32F = 0,
    R_16F = 2,
    R_16BF = 14,
    COMPUTE_32F = 68,
    GEMM_DEFAULT = -1
};

const char *const baseline_names[BASELINE_MODES] = {"cublas-sgemm", "cublas-tf32", "cublas-fp16",
                                                      "cublas-bf16", "cublas-bf16x9"};

struct baseline {
    void *library, *handle, *workspace;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*version)(void *handle, int *version);
    int (*set_math)(void *handle, int mode);
    int (*set_workspace)(void *handle, void *memory, size_t bytes);
    int (*sgemm)(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*dgemm)(void *handle, int trans_a, int trans_b, int m, int n, int k, const double *alpha, const double *a, int lda, const double *b,
                 int ldb, const double *beta, double *c, int ldc); /* NULL: not there */
    int (*gemm_ex)(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
                   const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,
                   void *c, int c_type, int ldc, int compute, int algorithm);
    int (*sgemm_batch)(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                       long long stride_a, const float *b, int ldb, long long stride_b, const float *beta, float *c, int ldc,
                       long long stride_c, int batch);
};

/* ISO C has no cast from void * to a function pointer; POSIX guarantees that they have the same
 * representation. */
static int look_up(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void *load_first(const char *const *names) {
    void *library = NULL;
    for (; *names != NULL && library == NULL; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* So that cuBLAS may cut k in every call, whatever it allocates by itself; without it cuBLAS does that. */
static void give_workspace(struct baseline *y) {
    if (look_up(y->library, "cublasSetWorkspace_v2", &y->set_workspace) &&
        ht_dev_alloc(&y->workspace, WORKSPACE_BYTES) == HT_DEV_OK)
        (void)y->set_workspace(y->handle, y->workspace, WORKSPACE_BYTES);
}

struct baseline *baseline_open(const char **why) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so", NULL};
    struct baseline *y = calloc(1, sizeof *y);
    *why = "out of memory";
    if (y == NULL)
        return NULL;
    *why = "libcublas.so.13, .12 or .11 not found; put its folder into LD_LIBRARY_PATH";
    y->library = load_first(names);
    if (y->library != NULL) {
        *why = "libcublas lacks a function";
        int whole = look_up(y->library, "cublasCreate_v2", &y->create) &&
                    look_up(y->library, "cublasDestroy_v2", &y->destroy) &&
                    look_up(y->library, "cublasGetVersion_v2", &y->version) &&
                    look_up(y->library, "cublasSetMathMode", &y->set_math) &&
                    look_up(y->library, "cublasSgemm_v2", &y->sgemm) &&
                    look_up(y->library, "cublasSgemmStridedBatched", &y->sgemm_batch) &&
                    look_up(y->library, "cublasGemmEx", &y->gemm_ex);
        if (whole) {
            *why = "cublasCreate failed";
            (void)look_up(y->library, "cublasDgemm_v2", &y->dgemm);
            if (y->create(&y->handle) == 0) {
                give_workspace(y);
                return y;
            }
        }
        dlclose(y->library);
    }
    free(y);
    return NULL;
}

void baseline_close(struct baseline *y) {
    if (y == NULL)
        return;
    y->destroy(y->handle);
    (void)ht_dev_free(y->workspace);
    dlclose(y->library);
    free(y);
}

int baseline_version(const struct baseline *y) {
    int version = 0;
    if (y != NULL && y->version(y->handle, &version) != 0)
        version = 0;
    return version;
}

static int dgemm(struct baseline *y, const struct session_problem *p, int trans_a, int trans_b) {
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    return y->dgemm == NULL ? BASELINE_LACKS
                            : y->dgemm(y->handle, trans_a, trans_b, (int)p->m, (int)p->n, (int)p->k, &alpha, p->a, (int)p->lda, p->b,
                                       (int)p->ldb, &beta, p->c, (int)p->m);
}

int baseline_multiply(struct baseline *y, enum baseline_mode mode, const struct session_problem *p, const struct cast16 *cast) {
    const int ta = p->trans_a == 'N' ? OP_N : OP_T, tb = p->trans_b == 'N' ? OP_N : OP_T, type = mode == BASELINE_FP16 ? R_16F : R_16BF;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb;
    const int status = y->set_math(y->handle, mode == BASELINE_TF32     ? MATH_TF32
                                              : mode == BASELINE_BF16X9 ? MATH_BF16X9
                                                                        : MATH_DEFAULT);
    if (status != 0)
        return status;
    if (p->type == HALFTONE_FP64)
        return dgemm(y, p, ta, tb);
    if (p->batch > 1)
        return y->sgemm_batch(y->handle, ta, tb, m, n, k, &p->alpha, p->a, lda, p->m * p->k, p->b, ldb, p->k * p->n, &p->beta, p->c, m,
                              p->m * p->n, (int)p->batch);
    if (cast != NULL)
        return y->gemm_ex(y->handle, ta, tb, m, n, k, &p->alpha, cast->a, type, lda, cast->b, type, ldb, &p->beta, p->c, R_32F, m, COMPUTE_32F,
                          GEMM_DEFAULT);
    return y->sgemm(y->handle, ta, tb, m, n, k, &p->alpha, p->a, lda, p->b, ldb, &p->beta, p->c, m);
}

int baseline_sgemm(struct baseline *y, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                    float *c, int64_t ldc) {
    int status = y->set_math(y->handle, MATH_DEFAULT);
    if (status != 0)
        return status;
    return y->sgemm(y->handle, trans_a == 'N' ? OP_N : OP_T, trans_b == 'N' ? OP_N : OP_T, (int)m, (int)n,
                    (int)k, &alpha, a, (int)lda, b, (int)ldb, &beta, c, (int)ldc);
}

const char *baseline_fp32_name(const struct baseline *y) {
    return y != NULL ? baseline_names[BASELINE_SGEMM] : "cpu-fp32";
}

int baseline_fp32_sample(struct baseline *y, const struct session_problem *p, const struct reference *r,
                  float *whole, float *out, struct cli_error *f) {
    if (y == NULL) {
        memcpy(out, r->single, (size_t)(r->rows * r->cols) * sizeof *out);
        return 0;
    }
    const int status = baseline_multiply(y, BASELINE_SGEMM, p, NULL);
    if (status != 0)
        return cli_error_set(f, "cuBLAS SGEMM failed with status %d; check that this cuBLAS fits the driver",
                         status);
    if (session_problem_result(p, whole, f) != 0)
        return -1;
    reference_sample(r, whole, p->m, out);
    return 0;
}

static uint16_t to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102) /* below half of 2^-24 */
        return sign;
    uint32_t shift = exponent < 113 ? 126 - exponent : 13; /* subnormal halves keep fewer bits */
    uint32_t mantissa = exponent < 113 ? (magnitude & 0x7fffffu) | 0x800000u : magnitude - (112u << 23);
    uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1);
    kept += lost > half || (lost == half && (kept & 1u));
    return (uint16_t)(sign | kept);
}

void baseline_to_half(const float *in, uint16_t *out, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = to_half(in[i]);
}

void baseline_to_bf16(const float *in, uint16_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        out[i] = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
}

/* ---- operands in 16 bits */

static int upload_cast(void **device, enum baseline_mode mode, const float *host, int64_t count, struct cli_error *f) {
    const size_t bytes = (size_t)count * sizeof(uint16_t);
    uint16_t *numbers = malloc(bytes + 1);
    if (numbers == NULL)
        return cli_error_memory(f, (double)bytes, "16-bit inputs");
    if (mode == BASELINE_FP16)
        baseline_to_half(host, numbers, (size_t)count);
    else
        baseline_to_bf16(host, numbers, (size_t)count);
    int status = session_device_check(ht_dev_alloc(device, bytes), "device memory", f);
    AND_THEN(status, session_device_check(ht_dev_upload(*device, numbers, bytes), "copy to the device", f));
    free(numbers);
    return status;
}

int cast16_open(struct cast16 *n, enum baseline_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct cli_error *f) {
    n->a = n->b = NULL;
    return upload_cast(&n->a, mode, a, a_count, f) == 0 ? upload_cast(&n->b, mode, b, b_count, f) : -1;
}

void cast16_close(struct cast16 *n) {
    (void)ht_dev_free(n->a);
    (void)ht_dev_free(n->b);
    n->a = n->b = NULL;
}
