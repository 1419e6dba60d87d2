/* lt_main: a program of cuBLASLt. Each argument is the words of a call (`words_of`; what is missing is 0, sizes 40, order columns,
 * compute type 68, epilogue 1; fp64=1: all of FP64, compute type 70), or "searches": for algorithms, so far. Prints "STATUS ERROR SERVED ORIGINAL": error: the largest difference of D from a sum in FP64, over
 * 2^-24, of FP64 2^-53, times (|A||B| + |beta C| + |bias|); "spoilt" where something beside D was written; of a failed call "-". The original's products
 * count the face's second pass over D, too. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/cublas_names.h"
#include "cublas_client.h"

int cublasLtCreate(void **handle);
lt_create_desc cublasLtMatmulDescCreate;
lt_create_layout cublasLtMatrixLayoutCreate;
lt_set_attribute cublasLtMatmulDescSetAttribute, cublasLtMatrixLayoutSetAttribute;
lt_matmul cublasLtMatmul;
long fake_lt_calls(void), fake_lt_searches(void);
int cuCtxGetDevice(int *device);

enum { M, N, K, OPA, OPB, ORDER, EPILOGUE, COMPUTE, BATCH, OTHER_C, POINTERS, WORKSPACE, TYPE_A, TYPE_D, SCALE, DESC, VALUE, LAYOUT, ORDER_C, NO_BIAS, PAD, FP64, NUMBERS };
static const char *const words_of[NUMBERS] = {"m", "n", "k", "opa", "opb", "order", "epilogue", "compute", "batch", "c", "pointers", "workspace", "ta", "td",
                                              "scale", "desc", "value", "layout", "orderc", "nobias", "pad", "fp64"};
enum { ELEMENTS = 1 << 16, BYTES = ELEMENTS * 8 };

static void *buffer[5]; /* A, B, C, D, bias; then a workspace, scalars */
static void *workspace, *scalars;
static double before[ELEMENTS];

/* Elements of an array of the call's type. */
static double get(const long long *is, const void *x, long long i) {
    return is[FP64] ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void put(const long long *is, void *x, long long i, double value) {
    if (is[FP64])
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static void make_memory(void) {
    const char *const path = getenv("HALFTONE_LIBRARY");
    void *const simulator = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *const at = simulator != NULL ? dlsym(simulator, "ht_sim_register") : NULL;
    int (*add)(void *p, size_t bytes);
    memcpy(&add, &at, sizeof add);
    void **const all[7] = {&buffer[0], &buffer[1], &buffer[2], &buffer[3], &buffer[4], &workspace, &scalars};
    for (int i = 0; i < 7; i++) {
        *all[i] = aligned_alloc(1024, BYTES);
        if (*all[i] == NULL || (add != NULL && add(*all[i], BYTES) != 0))
            abort();
    }
}

static long long ld_of(const long long *is, int which) {
    const long long rows[4] = {is[OPA] == 0 ? is[M] : is[K], is[OPB] == 0 ? is[K] : is[N], is[M], is[M]};
    const long long cols[4] = {is[OPA] == 0 ? is[K] : is[M], is[OPB] == 0 ? is[N] : is[K], is[N], is[N]};
    const long long order = which == 2 && is[ORDER_C] ? !is[ORDER] : is[ORDER];
    return (order ? cols[which] : rows[which]) + 2 + (which == 2 && is[OTHER_C]) - is[PAD];
}

static long long place(const long long *is, int which, long long i, long long j) {
    return is[ORDER] ? i * ld_of(is, which) + j : i + j * ld_of(is, which);
}

enum { STRIDE = 9000 };

static double activation(long long epilogue, double x) {
    if (epilogue & LT_EPILOGUE_RELU)
        return x > 0 ? x : 0;
    return epilogue & LT_EPILOGUE_GELU ? 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) : x;
}

static double error_of(const long long *is, double alpha, double beta, long long entry, long long i, long long j) {
    const long long at = entry * STRIDE;
    long double sum = 0, size = 0;
    for (long long p = 0; p < is[K]; p++) {
        const long double term = (long double)get(is, buffer[0], at + (is[OPA] == 0 ? place(is, 0, i, p) : place(is, 0, p, i))) *
                                 get(is, buffer[1], at + (is[OPB] == 0 ? place(is, 1, p, j) : place(is, 1, j, p)));
        sum += term;
        size += fabsl(term);
    }
    const long double old = beta != 0 ? beta * (long double)get(is, is[OTHER_C] ? buffer[2] : before, at + place(is, is[OTHER_C] ? 2 : 3, i, j)) : 0;
    const long double bias = is[EPILOGUE] & LT_EPILOGUE_BIAS ? get(is, buffer[4], i) : 0, all = (long double)alpha * sum + old + bias;
    const long double expected = is[EPILOGUE] == LT_EPILOGUE_NONE ? all : activation(is[EPILOGUE], (double)all);
    size = fabs(alpha) * size + fabsl(old) + fabsl(bias);
    return (double)(fabsl(get(is, buffer[3], at + place(is, 3, i, j)) - expected) / (size * (is[FP64] ? 0x1p-53L : 0x1p-24L)));
}

static void write_error(const long long *is, double alpha, double beta, int status, char text[32]) {
    static char in_d[ELEMENTS];
    const size_t width = is[FP64] ? sizeof(double) : sizeof(float);
    double worst = 0;
    memset(in_d, 0, sizeof in_d);
    for (long long e = 0; status == CU_SUCCESS && e < is[BATCH]; e++)
        for (long long j = 0; j < is[N]; j++)
            for (long long i = 0; i < is[M]; i++) {
                in_d[e * STRIDE + place(is, 3, i, j)] = 1;
                const double error = error_of(is, alpha, beta, e, i, j);
                worst = error > worst || isnan(error) ? error : worst;
            }
    snprintf(text, 32, status == CU_SUCCESS ? "%.3g" : "-", worst);
    for (size_t i = 0; i < ELEMENTS; i++)
        if (!in_d[i] && memcmp((char *)buffer[3] + i * width, (char *)before + i * width, width) != 0)
            snprintf(text, 32, "spoilt");
}

static void describe(const long long *is, void **desc, void *layout[4]) {
    const int32_t op_a = (int32_t)is[OPA], op_b = (int32_t)is[OPB], epilogue = (int32_t)is[EPILOGUE], pointers = (int32_t)is[POINTERS], batch = (int32_t)is[BATCH];
    const long long rows[4] = {is[OPA] == 0 ? is[M] : is[K], is[OPB] == 0 ? is[K] : is[N], is[M], is[M]};
    const long long cols[4] = {is[OPA] == 0 ? is[K] : is[M], is[OPB] == 0 ? is[N] : is[K], is[N], is[N]};
    const int64_t stride = STRIDE;
    (void)cublasLtMatmulDescCreate(desc, (int)is[COMPUTE], (int)is[SCALE]);
    (void)cublasLtMatmulDescSetAttribute(*desc, LT_TRANS_A, &op_a, 4);
    (void)cublasLtMatmulDescSetAttribute(*desc, LT_TRANS_B, &op_b, 4);
    (void)cublasLtMatmulDescSetAttribute(*desc, LT_EPILOGUE, &epilogue, 4);
    (void)cublasLtMatmulDescSetAttribute(*desc, LT_POINTER_MODE, &pointers, 4);
    if (!is[NO_BIAS] && is[EPILOGUE] & LT_EPILOGUE_BIAS)
        (void)cublasLtMatmulDescSetAttribute(*desc, LT_BIAS_POINTER, &buffer[4], 8);
    if (is[DESC] > 0)
        (void)cublasLtMatmulDescSetAttribute(*desc, (int)is[DESC], &is[VALUE], 8);
    for (int i = 0; i < 4; i++) {
        const int32_t order = (int32_t)(i == 2 && is[ORDER_C] ? !is[ORDER] : is[ORDER]);
        (void)cublasLtMatrixLayoutCreate(&layout[i], (int)(i == 0 && is[TYPE_A] ? is[TYPE_A] : i == 3 && is[TYPE_D] ? is[TYPE_D] : is[FP64]), (uint64_t)rows[i], (uint64_t)cols[i], ld_of(is, i));
        (void)cublasLtMatrixLayoutSetAttribute(layout[i], LT_ORDER, &order, 4);
        (void)cublasLtMatrixLayoutSetAttribute(layout[i], LT_BATCH_COUNT, &batch, 4);
        (void)cublasLtMatrixLayoutSetAttribute(layout[i], LT_BATCH_STRIDE, &stride, 8);
        if (i == 0 && is[LAYOUT] > 0)
            (void)cublasLtMatrixLayoutSetAttribute(layout[i], (int)is[LAYOUT], &is[VALUE], 8);
    }
}

static int call(const char *words) {
    long long is[NUMBERS] = {40, 40, 40, 0, 0, 0, 1, 0, 1};
    double alpha = 1, beta = 0;
    is[COMPUTE] = -1;
    char text[512], *rest = NULL, error[32];
    uint64_t state = 1;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *const value = strchr(word, '=');
        int known = 0;
        *value = '\0';
        for (int i = 0; i < NUMBERS; i++)
            if (strcmp(word, words_of[i]) == 0)
                known = 1, is[i] = atoll(value + 1);
        if (strcmp(word, "alpha") == 0)
            known = 1, alpha = atof(value + 1);
        if (strcmp(word, "beta") == 0)
            known = 1, beta = atof(value + 1);
        if (!known)
            return 1;
    }
    if (is[COMPUTE] == -1)
        is[COMPUTE] = is[FP64] ? CU_COMPUTE_64F : CU_COMPUTE_32F;
    if (is[FP64])
        is[SCALE] = !is[SCALE];
    for (int b = 0; b < 5; b++)
        for (int i = 0; i < ELEMENTS; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            put(is, buffer[b], i, b == 3 && beta == 0 ? (double)NAN : (double)(state >> 11) * 0x1p-52 - 1);
        }
    memset(workspace, 0xff, BYTES); /* NaN */
    memcpy(before, buffer[3], sizeof before);
    double host[2];
    put(is, host, 0, alpha);
    put(is, host, 1, beta);
    memcpy(scalars, host, sizeof host);
    const size_t width = is[FP64] ? sizeof(double) : sizeof(float);
    char *const given = is[POINTERS] ? (char *)scalars : (char *)host;
    void *handle, *desc, *layout[4];
    (void)cublasLtCreate(&handle);
    describe(is, &desc, layout);
    const uint64_t served = served_so_far();
    const long original = fake_lt_calls();
    const int status = cublasLtMatmul(handle, desc, given, buffer[0], layout[0], buffer[1], layout[1], given + width,
                                      is[OTHER_C] ? buffer[2] : buffer[3], layout[2], buffer[3], layout[3], NULL, is[WORKSPACE] ? workspace : NULL, (size_t)is[WORKSPACE], NULL);
    write_error(is, alpha, beta, status, error);
    printf("%d %s %llu %ld\n", status, error, (unsigned long long)(served_so_far() - served), fake_lt_calls() - original);
    return 0;
}

int main(int argc, char **argv) {
    int device;
    if (getenv("WITHOUT_DRIVER") == NULL)
        (void)cuCtxGetDevice(&device);
    make_memory();
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "searches") == 0)
            printf("%ld\n", fake_lt_searches());
        else if (call(argv[i]) != 0)
            return 2;
    return 0;
}
