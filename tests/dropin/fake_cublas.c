/* fake_cublas: stands for libcublas.so.MAJOR: the functions that the face knows of, products as sums in FP64, and what was called.
 * FAKE_TPTTR_FAILS=N, FAKE_TRSM_FAILS=N: all calls of TPTTR, of TRSM, but the first N fail.
 * Linked as NVIDIA's: every symbol has the version node libcublas.so.MAJOR, and its own calls are bound within (-Bsymbolic). */
#include <stdlib.h>

#include "../../runtime/dropin/cublas_names.h"
#include "counted.h"

#ifndef MAJOR
#define MAJOR 13
#endif

/* Copies of different majors have their functions at different places. */
#define TEXT_OF(x) #x
#define SKIP(x) __asm__(".text\n.skip 256 * (" TEXT_OF(x) " - 10), 0xcc\n")
SKIP(MAJOR);

#define FAKE __attribute__((visibility("default")))

struct handle {
    int magic;
    void *stream, *workspace;
    size_t bytes;
    int pointer_mode, math, sm_target;
};

enum { MAGIC = 0x5eed, INVALID = 7, NOT_INITIALIZED = 1 };

FAKE int fake_cublas_major(void);
FAKE long fake_cublas_calls(void); /* products so far */

static long calls;

int fake_cublas_major(void) {
    return MAJOR;
}

long fake_cublas_calls(void) {
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

/* ---- handles ---- */

static struct handle *of(void *h) {
    return h != NULL && ((struct handle *)h)->magic == MAGIC ? (struct handle *)h : NULL;
}

#define SET_AND_GET(name, type, member)                                                                      \
    FAKE int cublasSet##name(void *h, type value);                                                           \
    FAKE int cublasGet##name(void *h, type *value);                                                          \
    int cublasSet##name(void *h, type value) {                                                               \
        if (of(h) == NULL)                                                                                   \
            return NOT_INITIALIZED;                                                                          \
        of(h)->member = value;                                                                               \
        return CU_SUCCESS;                                                                                   \
    }                                                                                                        \
    int cublasGet##name(void *h, type *value) {                                                              \
        if (of(h) == NULL)                                                                                   \
            return NOT_INITIALIZED;                                                                          \
        *value = of(h)->member;                                                                              \
        return CU_SUCCESS;                                                                                   \
    }
SET_AND_GET(Stream_v2, void *, stream)
SET_AND_GET(PointerMode_v2, int, pointer_mode)
SET_AND_GET(MathMode, int, math)
SET_AND_GET(SmCountTarget, int, sm_target)

FAKE int cublasCreate_v2(void **h);
FAKE int cublasDestroy_v2(void *h);
FAKE int cublasSetWorkspace_v2(void *h, void *workspace, size_t bytes);

int cublasCreate_v2(void **h) {
    struct handle *const made = (struct handle *)calloc(1, sizeof *made);
    if (made != NULL)
        made->magic = MAGIC;
    *h = made;
    return made != NULL ? CU_SUCCESS : 3;
}

int cublasDestroy_v2(void *h) {
    if (of(h) == NULL)
        return NOT_INITIALIZED;
    free(h);
    return CU_SUCCESS;
}

int cublasSetWorkspace_v2(void *h, void *workspace, size_t bytes) {
    if (of(h) == NULL)
        return NOT_INITIALIZED;
    of(h)->workspace = workspace;
    of(h)->bytes = bytes;
    return CU_SUCCESS;
}

/* ---- products ---- */

struct product {
    void *handle;
    int op_a, op_b;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    int types, compute;
};

static double at(const struct product *p, const void *x, int64_t i) {
    return p->types == CU_R_64F ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

enum { WHOLE = -1 }; /* else CU_LOWER, CU_UPPER: of C a triangle */

static void multiply(const struct product *p, int64_t entry, int uplo) {
    const double alpha = at(p, p->alpha, 0), beta = at(p, p->beta, 0);
    const int64_t a = entry * p->stride_a, b = entry * p->stride_b, c = entry * p->stride_c;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double sum = 0;
            if ((uplo == CU_LOWER && i < j) || (uplo == CU_UPPER && i > j))
                continue;
            for (int64_t x = 0; alpha != 0 && x < p->k; x++)
                sum += at(p, p->a, a + (p->op_a == CU_OP_N ? i + x * p->lda : x + i * p->lda)) * at(p, p->b, b + (p->op_b == CU_OP_N ? x + j * p->ldb : j + x * p->ldb));
            sum = alpha * sum + (beta != 0 ? beta * at(p, p->c, c + i + j * p->ldc) : 0);
            if (p->types == CU_R_64F)
                ((double *)p->c)[c + i + j * p->ldc] = sum;
            else
                ((float *)p->c)[c + i + j * p->ldc] = (float)sum;
        }
}

static int run_part(const struct product *p, int uplo) {
    const int64_t rows_a = p->op_a == CU_OP_N ? p->m : p->k, rows_b = p->op_b == CU_OP_N ? p->k : p->n;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (of(p->handle) == NULL)
        return NOT_INITIALIZED;
    if (uplo < WHOLE || uplo > CU_UPPER || p->op_a < 0 || p->op_a > CU_OP_C || p->op_b < 0 || p->op_b > CU_OP_C || p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0)
        return INVALID;
    if (p->lda < (rows_a > 1 ? rows_a : 1) || p->ldb < (rows_b > 1 ? rows_b : 1) || p->ldc < (p->m > 1 ? p->m : 1) || p->alpha == NULL || p->beta == NULL)
        return INVALID;
    const int is_fp64 = p->compute == CU_COMPUTE_64F || p->compute == CU_COMPUTE_64F_PEDANTIC || p->compute == CU_COMPUTE_64F_EMULATED_FIXEDPOINT;
    if (p->types != is_fp64 || p->compute < 64)
        return CU_NOT_SUPPORTED;
    for (int64_t i = 0; i < p->batch; i++)
        multiply(p, i, uplo);
    return CU_SUCCESS;
}

static int run(const struct product *p) {
    return run_part(p, WHOLE);
}

/* Type and compute type, as two words. */
#define TYPE_OF(T) _Generic((T)0, float: CU_R_32F, double: CU_R_64F), _Generic((T)0, float: CU_COMPUTE_32F, double: CU_COMPUTE_64F)

/* Where it is linked to a cuBLASLt: algo 77 calls that, as NVIDIA's does, through the dynamic linker. */
#ifdef USES_LT
int cublasLtMatmul(CUBLASLT_MATMUL_ARGS);
#endif
static int run_by(const struct product *p, int algo) {
#ifdef USES_LT
    if (algo == 77)
        return cublasLtMatmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
#endif
    (void)algo;
    return run(p);
}

/* Arrays of pointers: one product after the other, as one call. */
static int run_arrays(const struct product *of, const void *const *a, const void *const *b, void *const *c) {
    struct product p = *of;
    int status = of->batch < 0 ? INVALID : CU_SUCCESS;
    int64_t i = 0;
    p.batch = 1;
    for (; status == CU_SUCCESS && i < of->batch; i++) {
        p.a = a[i], p.b = b[i], p.c = c[i];
        status = run(&p);
    }
    __atomic_fetch_add(&calls, 1 - i, __ATOMIC_RELAXED);
    return status;
}

/* A function of cuBLAS: its product p, and what it returns. */
#define FUNCTION(name, parameters, status, ...)                                                              \
    FAKE int name parameters;                                                                                \
    int name parameters {                                                                                    \
        const struct product p = {__VA_ARGS__};                                                              \
        return status;                                                                                       \
    }
#define WHAT handle, op_a, op_b, m, n, k, alpha, a, b, beta, c, lda, ldb, ldc
#define WHAT_OF_ARRAYS handle, op_a, op_b, m, n, k, alpha, NULL, NULL, beta, NULL, lda, ldb, ldc, 0, 0, 0, batch
#define OTHER_OP (op_a == CU_OP_N ? CU_OP_T : op_a > CU_OP_C ? op_a : CU_OP_N)
#define ONE_TYPE (a_type == b_type && b_type == c_type ? a_type : -1)
#define OF_ARRAYS run_arrays(&p, (const void *const *)a, (const void *const *)b, (void *const *)c)
#define GEMM(name, T, S) FUNCTION(name, (CUBLAS_GEMM_ARGS(T, S)), run(&p), WHAT, 0, 0, 0, 1, TYPE_OF(T))
#define GEMM_STRIDED(name, T, S) \
    FUNCTION(name, (CUBLAS_GEMM_STRIDED_ARGS(T, S)), run(&p), WHAT, stride_a, stride_b, stride_c, batch, TYPE_OF(T))
#define SGEMM_EX(name, S) FUNCTION(name, (CUBLAS_SGEMM_EX_ARGS(S)), run(&p), WHAT, 0, 0, 0, 1, ONE_TYPE, CU_COMPUTE_32F)
#define GEMM_EX(name, S) FUNCTION(name, (CUBLAS_GEMM_EX_ARGS(S)), run_by(&p, algo), WHAT, 0, 0, 0, 1, ONE_TYPE, compute)
#define GEMM_BATCHED(name, T, S) FUNCTION(name, (CUBLAS_GEMM_BATCHED_ARGS(T, S)), OF_ARRAYS, WHAT_OF_ARRAYS, TYPE_OF(T))
#define GEMM_BATCHED_EX(name, S) \
    FUNCTION(name, (CUBLAS_GEMM_BATCHED_EX_ARGS(S)), ((void)algo, OF_ARRAYS), WHAT_OF_ARRAYS, ONE_TYPE, compute)
#define GEMM_STRIDED_EX(name, S)                                                                             \
    FUNCTION(name, (CUBLAS_GEMM_STRIDED_EX_ARGS(S)), ((void)algo, run(&p)), WHAT, stride_a, stride_b, stride_c, batch, \
             ONE_TYPE, compute)
#define SYRK(name, T, S)                                                                                     \
    FUNCTION(name, (CUBLAS_SYRK_ARGS(T, S)), run_part(&p, uplo), handle, op_a, OTHER_OP, n, n, k, alpha, a, a, beta, c, lda, \
             lda, ldc, 0, 0, 0, 1, TYPE_OF(T))
#define SYRKX(name, T, S)                                                                                    \
    FUNCTION(name, (CUBLAS_SYRKX_ARGS(T, S)), run_part(&p, uplo), handle, op_a, OTHER_OP, n, n, k, alpha, a, b, beta, c, lda, \
             ldb, ldc, 0, 0, 0, 1, TYPE_OF(T))

/* ---- TRSM, by substitution ---- */

/* T x = alpha b for columns of B on the left, for rows on the right, where T is op(A), or its transpose. */
struct system {
    const float *a;
    int64_t lda, rows;
    int is_turned, is_lower, has_unit;
};

static void substitute(const struct system *t, double alpha, float *b, int64_t step, double *x) {
    for (int64_t k = 0; k < t->rows; k++) {
        const int64_t i = t->is_lower ? k : t->rows - 1 - k;
        x[i] = alpha * (double)b[i * step];
        for (int64_t j = t->is_lower ? 0 : i + 1; j < (t->is_lower ? i : t->rows); j++)
            x[i] -= (double)t->a[t->is_turned ? j + i * t->lda : i + j * t->lda] * x[j];
        if (!t->has_unit)
            x[i] /= (double)t->a[i + i * t->lda];
    }
    for (int64_t i = 0; i < t->rows; i++)
        b[i * step] = (float)x[i];
}

static int solve(int side, int uplo, int op, int diag, int64_t m, int64_t n, const float *alpha, const float *a, int64_t lda, float *b, int64_t ldb) {
    const int left = side == CU_LEFT, is_turned = (op != CU_OP_N) == left;
    const struct system t = {a, lda, left ? m : n, is_turned, (uplo == CU_LOWER) != is_turned, diag == CU_UNIT};
    if (side < 0 || side > 1 || uplo < 0 || uplo > 1 || op < 0 || op > CU_OP_C || diag < 0 || diag > 1 || m < 0 || n < 0 || alpha == NULL ||
        lda < (t.rows > 1 ? t.rows : 1) || ldb < (m > 1 ? m : 1))
        return INVALID;
    double *const x = (double *)malloc((size_t)(t.rows + 1) * sizeof *x);
    for (int64_t j = 0; *alpha == 0 && j < n; j++)
        for (int64_t i = 0; i < m; i++)
            b[i + j * ldb] = 0;
    for (int64_t i = 0; *alpha != 0 && i < (left ? n : m); i++)
        substitute(&t, (double)*alpha, b + (left ? i * ldb : i), left ? 1 : ldb, x);
    free(x);
    return CU_SUCCESS;
}

#define TRSM(name, S)                                                                                        \
    FAKE int name(CUBLAS_TRSM_ARGS(float, S));                                                               \
    int name(CUBLAS_TRSM_ARGS(float, S)) {                                                                   \
        static int count;                                                                                    \
        const char *const most = getenv("FAKE_TRSM_FAILS");                                                  \
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);                                                     \
        if (of(handle) == NULL)                                                                              \
            return NOT_INITIALIZED;                                                                          \
        if (most != NULL && count++ >= atoi(most))                                                           \
            return INVALID;                                                                                  \
        return solve(side, uplo, op, diag, m, n, alpha, a, lda, b, ldb);                                     \
    }
/* Between a triangle of a matrix and its columns one after the other. */
#define PACKED(to, from, T)                                                                                  \
    FAKE int to(void *handle, int uplo, int n, const T *a, int lda, T *packed);                              \
    FAKE int from(void *handle, int uplo, int n, const T *packed, T *a, int lda);                            \
    int to(void *handle, int uplo, int n, const T *a, int lda, T *packed) {                                  \
        for (int64_t j = 0; j < n; j++)                                                                      \
            for (int64_t i = uplo == CU_LOWER ? j : 0; i < (uplo == CU_LOWER ? n : j + 1); i++)              \
                *packed++ = a[i + j * lda];                                                                  \
        return of(handle) == NULL;                                                                           \
    }                                                                                                        \
    int from(void *handle, int uplo, int n, const T *packed, T *a, int lda) {                                \
        static int count;                                                                                    \
        const char *const most = getenv("FAKE_TPTTR_FAILS");                                                 \
        if (most != NULL && count++ >= atoi(most))                                                           \
            return INVALID;                                                                                  \
        for (int64_t j = 0; j < n; j++)                                                                      \
            for (int64_t i = uplo == CU_LOWER ? j : 0; i < (uplo == CU_LOWER ? n : j + 1); i++)              \
                a[i + j * lda] = *packed++;                                                                  \
        return of(handle) == NULL;                                                                           \
    }
PACKED(cublasStrttp, cublasStpttr, float)
PACKED(cublasDtrttp, cublasDtpttr, double)
#if MAJOR >= 12
#define BOTH(FORM, name, T) FORM(name, T, int) FORM(name##_64, T, int64_t)
#define BOTH_EX(FORM, name) FORM(name, int) FORM(name##_64, int64_t)
#else
#define BOTH(FORM, name, T) FORM(name, T, int)
#define BOTH_EX(FORM, name) FORM(name, int)
#endif
BOTH(SYRK, cublasSsyrk_v2, float)
BOTH(SYRK, cublasDsyrk_v2, double)
BOTH(SYRKX, cublasSsyrkx, float)
SYRKX(cublasDsyrkx, double, int)
BOTH_EX(TRSM, cublasStrsm_v2)
BOTH(GEMM, cublasSgemm_v2, float)
BOTH(GEMM, cublasDgemm_v2, double)
BOTH(GEMM_STRIDED, cublasSgemmStridedBatched, float)
BOTH(GEMM_STRIDED, cublasDgemmStridedBatched, double)
BOTH(GEMM_BATCHED, cublasSgemmBatched, float)
BOTH(GEMM_BATCHED, cublasDgemmBatched, double)
BOTH_EX(SGEMM_EX, cublasSgemmEx)
BOTH_EX(GEMM_EX, cublasGemmEx)
BOTH_EX(GEMM_BATCHED_EX, cublasGemmBatchedEx)
BOTH_EX(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)

/* ---- what is counted alone: the status tells which arguments came */

#define COUNTED(X, name, why, form, S)                                                                       \
    FAKE int name(PARAMETERS_##form(S));                                                                     \
    int name(PARAMETERS_##form(S)) {                                                                         \
        const long long values[] = {VALUES_##form};                                                          \
        __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);                                                     \
        return hash_of(values, (int)(sizeof values / sizeof *values));                                       \
    }
CUBLAS_COUNTED(COUNTED, )
