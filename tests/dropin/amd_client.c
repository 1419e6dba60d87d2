/* amd_client.c: calls each function of the AMD face's table once, or those whose name an argument api=NAME gives. Other arguments: type=,
 * compute= (numbers of the library), ctype= (rocBLAS' C), math=, mode= (1: scalars on the device), flags=, apart=1 (rocBLAS: D is not C), opa=, opb=, m=, null=1.
 * A line for each: name, status, wrong elements, calls that the original rocBLAS saw. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/hip_names.h"

enum { M = 37, N = 21, K = 18, LDA = 40, LDB = 41, LDC = 39, BATCH = 3, EACH = 64 * 64, ALL = BATCH * EACH };
extern int fake_rocblas_calls;

static struct {
    void *stream;
    int mode, math;
} fake_handle;
static struct {
    const char *api;
    int type, compute, ctype, opa, opb, flags, apart, m, null;
} o = {NULL, -1, -1, -1, HIP_OP_N, HIP_OP_T, 0, 0, M, 0};
static float *a, *b, *c, *d, *before, *scalars;

static float *memory(size_t floats) {
    const char *const path = getenv("HALFTONE_LIBRARY");
    float *const p = aligned_alloc(1024, (floats * sizeof(float) + 1023) / 1024 * 1024);
    void *const simulator = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *const add = simulator != NULL ? dlsym(simulator, "ht_sim_register") : NULL;
    int (*registers)(void *, size_t);
    memcpy(&registers, &add, sizeof add);
    if (registers != NULL && registers(p, floats * sizeof(float)) != 0)
        exit(3);
    return p;
}

static void fill(void) {
    unsigned seed = 1;
    for (int i = 0; i < ALL; i++) {
        float *const x[] = {a + i, b + i, c + i, d + i};
        for (int j = 0; j < 4; j++) {
            seed = seed * 1664525u + 1013904223u;
            *x[j] = (float)(int)(seed >> 28) - 7;
        }
    }
    memcpy(before, c, ALL * sizeof(float));
    scalars[0] = 2, scalars[1] = 3;
}

static int compare(int batches, const float *result) {
    int wrong = 0;
    for (int e = 0; e < batches; e++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < o.m; i++) {
                float sum = 0;
                for (int l = 0; l < K; l++)
                    sum += a[e * EACH + (o.opa == HIP_OP_N ? i + l * LDA : l + i * LDA)] * b[e * EACH + (o.opb == HIP_OP_N ? l + j * LDB : j + l * LDB)];
                wrong += result[e * EACH + i + j * LDC] != 2 * sum + 3 * before[e * EACH + i + j * LDC];
            }
    return wrong;
}

#define HANDLE (o.null ? NULL : (void *)&fake_handle)
#define TYPE_OF_hipblas (o.type >= 0 ? o.type : HIP_TYPE_R_32F)
#define TYPE_OF_rocblas (o.type >= 0 ? o.type : HIP_TYPE_OLD_R_32F)
#define COMPUTE_OF_hipblas (o.compute >= 0 ? o.compute : HIP_COMPUTE_32F)
#define COMPUTE_OF_rocblas (o.compute >= 0 ? o.compute : HIP_TYPE_OLD_R_32F)
#define TO (o.apart ? d : c)
#define CALL_SGEMM(f, t, u) f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, LDA, b, LDB, scalars + 1, c, LDC)
#define CALL_SGEMM_STRIDED(f, t, u) f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, LDA, EACH, b, LDB, EACH, scalars + 1, c, LDC, EACH, BATCH)
#define CALL_GEMM_EX(f, t, u) f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, t, LDA, b, t, LDB, scalars + 1, c, t, LDC, u, 160)
#define CALL_GEMM_STRIDED_EX(f, t, u)                                                                                  \
    f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, t, LDA, EACH, b, t, LDB, EACH, scalars + 1, c, t, LDC, EACH, BATCH, u, 160)
#define CALL_ROC_GEMM_EX(f, t, u)                                                                                      \
    f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, t, LDA, b, t, LDB, scalars + 1, c, o.ctype >= 0 ? o.ctype : t, LDC, TO, t, LDC, u, 0, 0, (uint32_t)o.flags)
#define CALL_ROC_GEMM_STRIDED_EX(f, t, u)                                                                              \
    f(HANDLE, o.opa, o.opb, o.m, N, K, scalars, a, t, LDA, EACH, b, t, LDB, EACH, scalars + 1, c, o.ctype >= 0 ? o.ctype : t, LDC, EACH, TO, t, LDC, EACH, BATCH, u, 0, 0, \
      (uint32_t)o.flags)
#define BATCHES_SGEMM 1, c
#define BATCHES_SGEMM_STRIDED BATCH, c
#define BATCHES_GEMM_EX 1, c
#define BATCHES_GEMM_STRIDED_EX BATCH, c
#define BATCHES_ROC_GEMM_EX 1, TO
#define BATCHES_ROC_GEMM_STRIDED_EX BATCH, TO

#define PROTOTYPE(X, fn, library, form, S) int fn(HIP_##form(S));
HIP_BLAS_NAMES(PROTOTYPE, )

#define RUN(X, fn, library, form, S)                                                                                   \
    if (o.api == NULL || strcmp(o.api, #fn) == 0) {                                                                    \
        fill();                                                                                                        \
        fake_rocblas_calls = 0;                                                                                        \
        const int status = CALL_##form(fn, TYPE_OF_##library, COMPUTE_OF_##library);                                   \
        printf("%s %d %d %d\n", #fn, status, compare(BATCHES_##form), fake_rocblas_calls);                             \
    }

int main(int argc, char **argv) {
    const struct {
        const char *name;
        int *value;
    } words[] = {{"type=", &o.type}, {"compute=", &o.compute}, {"ctype=", &o.ctype}, {"math=", &fake_handle.math}, {"mode=", &fake_handle.mode}, {"flags=", &o.flags},
                 {"apart=", &o.apart}, {"opa=", &o.opa}, {"opb=", &o.opb}, {"m=", &o.m}, {"null=", &o.null}};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "api=", 4) == 0)
            o.api = argv[i] + 4;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (strncmp(argv[i], words[w].name, strlen(words[w].name)) == 0)
                *words[w].value = atoi(argv[i] + strlen(words[w].name));
    }
    a = memory(ALL), b = memory(ALL), c = memory(ALL), d = memory(ALL), before = memory(ALL), scalars = memory(2);
    HIP_BLAS_NAMES(RUN, )
    return 0;
}
